#include "widgets/attempt.h"

#include <new>

#include "compute/error.h"
#include "compute/files/filesystemerror.h"

namespace counterpoint::widgets {

bool attempt(model::Document& document, const std::function<void()>& work, const std::string& about) {
    const auto fail = [&](std::string sentence, std::string details = {}) {
        document.notify(model::Notice::Level::Failure, std::move(sentence), std::move(details), about);
    };
    try {
        work();
        document.settled(about);
        return true;
    } catch (const compute::Error& error) {
        fail(error.sentence(), error.parts().details);
    } catch (const std::bad_alloc&) {
        fail("There is not enough memory for this; what was open before is as it was.");
    } catch (const std::filesystem::filesystem_error& error) {
        fail(compute::sentenceOf(error));
    } catch (const std::exception& error) {
        fail("This did not work; what was open before is as it was.", error.what());
    } catch (...) {
        fail("This did not work, and the failure did not say why.");
    }
    return false;
}

}  // namespace counterpoint::widgets
