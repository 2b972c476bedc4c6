#include "widgets/attempt.h"

#include <new>

#include "compute/error.h"

namespace counterpoint::widgets {

bool attempt(model::Document& document, const std::function<void()>& work) {
    using Level = model::Notice::Level;
    try {
        work();
        return true;
    } catch (const compute::Error& error) {
        document.notify(Level::Failure, error.sentence(), error.parts().details);
    } catch (const std::bad_alloc&) {
        document.notify(Level::Failure, "There is not enough memory for this; what was open before is as it was.");
    } catch (const std::exception& error) {
        document.notify(Level::Failure, "This did not work; what was open before is as it was.", error.what());
    } catch (...) {
        document.notify(Level::Failure, "This did not work, and the failure did not say why.");
    }
    return false;
}

}  // namespace counterpoint::widgets
