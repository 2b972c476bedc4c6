#include "widgets/exampleswork.h"

#include <mutex>

#include "compute/error.h"

namespace counterpoint::widgets {

constexpr int kExamplesLookMs = 50;

/// Where the lane leaves what it made.
struct ExamplesWork::Box {
    std::stop_source stop;
    std::mutex mutex;
    bool full = false;
    std::vector<Source> sources;
    std::shared_ptr<Proposal> proposal;
    std::optional<model::QualityEstimate> quality;
    std::string failure;
    model::Progress progress{"Waiting for the analysis lane", -1, {}};
};

std::string ExamplesWork::Source::name() const {
    return path.empty() ? read->texts.front().from : path.filename().string();
}

int ExamplesWork::Source::texts(bool ofPreferred) const {
    return read == nullptr ? 0
                           : static_cast<int>(std::ranges::count_if(read->texts, [&](const model::ExampleText& text) {
                                 return text.example.preferred == ofPreferred && !text.example.ids.empty();
                             }));
}

ExamplesWork::ExamplesWork(model::Document& document, model::SourceOpener opener, QObject* parent)
    : QObject(parent), m_document(document), m_opener(std::move(opener)), m_tokenizer(document.tokenizer()) {
    m_timer.setInterval(kExamplesLookMs);
    connect(&m_timer, &QTimer::timeout, this, &ExamplesWork::look);
    connect(&document, &model::Document::statusChanged, this, &ExamplesWork::takeTokenizer);
}

ExamplesWork::~ExamplesWork() {
    if (m_box != nullptr) m_box->stop.request_stop();
}

void ExamplesWork::takeTokenizer() {
    const auto& now = m_document.tokenizer();
    const auto known = [](const auto& tokenizer) { return tokenizer ? tokenizer->fingerprint() : std::string(); };
    if (now == m_tokenizer || known(now) == known(m_tokenizer)) return;
    m_tokenizer = now;
    // The ids of a trace are the old tokenizer's; files are read again.
    std::erase_if(m_sources, [](const Source& source) { return source.path.empty(); });
    for (Source& source : m_sources) source.read.reset();
    renew();
}

void ExamplesWork::addFile(const std::filesystem::path& path, std::optional<bool> preferred) {
    m_sources.push_back({.path = path, .preferred = preferred, .read = nullptr, .problem = {}});
    renew();
}

void ExamplesWork::setTrace(int trace, std::optional<bool> preferred) {
    if (thumbOf(trace) == preferred) return;
    std::erase_if(m_sources, [trace](const Source& source) { return source.path.empty() && source.trace == trace; });
    for (const auto& one : m_document.traces()) {
        if (one->id != trace || !preferred) continue;
        auto read = std::make_shared<model::ExamplesRead>();
        read->texts.push_back(model::exampleOf(*one, *preferred));
        m_sources.push_back(
            {.path = {}, .trace = trace, .preferred = preferred, .read = std::move(read), .problem = {}});
    }
    renew();
}

std::optional<bool> ExamplesWork::thumbOf(int trace) const {
    for (const Source& source : m_sources)
        if (source.path.empty() && source.trace == trace) return source.preferred;
    return std::nullopt;
}

void ExamplesWork::remove(std::size_t source) {
    m_sources.erase(m_sources.begin() + static_cast<std::ptrdiff_t>(source));
    renew();
}

void ExamplesWork::setSplit(std::size_t every, std::uint64_t seed) {
    if (every == m_every && seed == m_seed) return;
    m_every = every;
    m_seed = seed;
    renew();
}

void ExamplesWork::renew() {
    m_proposal.reset();
    m_quality.reset();
    m_failure.clear();
    if (m_box != nullptr) {  // what is under way is of no use any more
        m_again = true;
        m_box->stop.request_stop();
    } else if (!m_sources.empty()) {
        start(
            [sources = m_sources, session = m_document.session(), tokenizer = m_tokenizer, every = m_every,
             seed = m_seed, engine = &m_document.engine()](Box& box, const std::stop_token& stop) mutable {
                auto proposal = std::make_shared<Proposal>();
                proposal->tokenizer = tokenizer;
                for (Source& source : sources) {
                    engine->letPass();  // a dial does not wait for it
                    if (source.read == nullptr && !stop.stop_requested()) try {
                            if (tokenizer == nullptr)
                                throw compute::Error({.where = source.path.string(),
                                                      .what = "no tokenizer is loaded, so texts cannot become tokens",
                                                      .advice = "open a model first"});
                            source.problem.clear();
                            auto read = model::readExamples(source.path, source.preferred, stop);
                            model::tokenise(read, session, *tokenizer, stop, [engine] { engine->letPass(); });
                            if (!stop.stop_requested())
                                source.read = std::make_shared<const model::ExamplesRead>(std::move(read));
                        } catch (const compute::Error& error) {
                            source.problem = error.sentence();
                        }
                    if (source.read == nullptr) continue;
                    for (const model::ExampleText& text : source.read->texts)
                        if (!text.example.ids.empty()) proposal->texts.push_back(text);
                }
                try {
                    proposal->split = model::splitExamples(proposal->texts, every, seed);
                    proposal->candidates = model::proposeFrom(proposal->texts, proposal->split.training);
                } catch (const compute::Error& error) {
                    proposal->problem = error.sentence();
                }
                const std::scoped_lock lock(box.mutex);
                box.sources = std::move(sources);
                box.proposal = std::move(proposal);
            },
            "Reading examples");
    }
    Q_EMIT changed();
}

void ExamplesWork::start(Job job, const char* what) {
    m_box = std::make_shared<Box>();
    m_progress = m_box->progress;
    m_document.engine().run(
        [box = m_box, job = std::move(job)](const std::stop_token& lane) mutable {
            const std::stop_callback both(lane, [&box] { box->stop.request_stop(); });
            const auto finish = [&box](std::string failure) {
                const std::scoped_lock lock(box->mutex);
                box->failure = std::move(failure);
                box->full = true;
            };
            try {
                job(*box, box->stop.get_token());
                finish({});
            } catch (const compute::Error& error) {  // the dialog says it
                finish(error.sentence());
            } catch (const std::exception&) {
                finish("This failed unexpectedly.");
                throw;
            }
        },
        what);
    m_timer.start();
}

void ExamplesWork::estimate(compute::Prior prior, std::shared_ptr<const compute::Bank> bank) {
    if (m_box != nullptr || m_proposal == nullptr) return;
    m_quality.reset();
    m_failure.clear();
    m_estimating = true;
    m_forget = false;
    start(
        [prior = std::move(prior), bank = std::move(bank), proposal = m_proposal, session = m_document.session(),
         device = m_document.device(), opener = m_opener,
         engine = &m_document.engine()](Box& box, const std::stop_token& stop) {
            model::RunOptions options;
            options.meanwhile = [engine] { engine->letPass(); };
            options.device = device;
            options.opener = opener;
            options.stop = stop;
            options.progress = [&box](const model::Progress& progress) {
                const std::scoped_lock lock(box.mutex);
                box.progress = progress;
            };
            const auto quality =
                model::estimateQuality(prior, bank.get(), proposal->texts, proposal->split.heldOut, session, options);
            const std::scoped_lock lock(box.mutex);
            box.quality = quality;
        },
        "Estimating quality");
    Q_EMIT changed();
}

void ExamplesWork::stopEstimate() {
    if (m_estimating) m_box->stop.request_stop();
}

void ExamplesWork::forgetEstimate() {
    stopEstimate();
    m_forget = m_estimating;
    if (!m_quality && m_failure.empty()) return;
    m_quality.reset();
    m_failure.clear();
    Q_EMIT changed();
}

void ExamplesWork::look() {
    const bool full = [this] {
        const std::scoped_lock lock(m_box->mutex);
        m_progress = m_box->progress;
        return m_box->full;
    }();
    if (!full) return Q_EMIT progressed();
    m_timer.stop();
    const std::shared_ptr<Box> box = std::exchange(m_box, nullptr);  // the lane is done with it
    const bool wasEstimate = std::exchange(m_estimating, false);
    if (std::exchange(m_again, false)) return renew();
    if (wasEstimate) {
        if (std::exchange(m_forget, false)) return Q_EMIT changed();
        m_quality = box->quality;
        m_failure = box->failure;
    } else {
        m_sources = std::move(box->sources);
        m_proposal = std::move(box->proposal);
        m_failure = box->failure;
    }
    Q_EMIT changed();
}

}  // namespace counterpoint::widgets
