#include "model/runner.h"

#include <QtGlobal>
#include <algorithm>
#include <sstream>
#include <thread>
#include <utility>

#include "compute/printable.h"
#include "compute/version.h"

namespace counterpoint::model {

namespace {

constexpr std::chrono::milliseconds kLook{100};  // nothing is said of a call that does not return

/// Reads the engine's events into a result until its trace has ended and both lanes are idle.
class Collector {
  public:
    Collector(RunResult& result, const RunOptions& options) : m_result(result), m_options(options) {}

    bool finished() const { return m_ended && m_idle; }
    const std::optional<Failure>& failure() const { return m_failure; }
    const std::vector<compute::SourceInfo>& infos() const { return m_infos; }
    const std::map<std::string, std::string>& hashes() const { return m_hashes; }

    void operator()(const SourceLoaded& e) { m_infos.push_back(e.info); }
    void operator()(const BankLoaded& e) {
        m_result.notices.insert(m_result.notices.end(), e.file.warnings.begin(), e.file.warnings.end());
        m_banks[e.file.path] = e.file.bank;
    }
    const std::map<std::string, BankPtr>& banks() const { return m_banks; }
    void operator()(const Loaded& e) { m_result.notices.insert(m_result.notices.end(), e.notices.begin(), e.notices.end()); }
    void operator()(const Progress& e) {
        if (m_options.progress) m_options.progress(e);
    }
    /// It could not be loaded as asked: what the lane decodes all the same is not the run.
    bool failedToLoad() const { return m_failedToLoad; }
    void operator()(const Failure& e) {
        if (!m_failure) m_failure = e;
        m_failedToLoad = m_failedToLoad || !m_started;
    }
    void operator()(const TraceStarted& e) {
        m_started = true;
        Trace& t = m_result.trace;
        t.tokens = e.tokens;
        t.tokenBytes = e.tokenBytes;
        t.promptLength = e.promptLength;
        t.sources = e.sources;
        t.store = e.store;
        t.tokenizer = e.tokenizer;
        t.stopIds = e.stopIds;
        t.priors = e.priors;
        t.routers = e.routers;
    }
    void operator()(const StepDone& e) { appendStep(m_result.trace, e.step); }
    void operator()(const TraceEnded& e) {
        Trace& t = m_result.trace;
        t.stop = e.stop;
        if (e.stopId != compute::kNoToken) t.stopId = e.stopId;
        t.tokensPerSecond = e.tokensPerSecond;
        m_ended = true;
        m_idle = false;  // an Idle heard before, the load's, is old; a Failure stands between this and the next
    }
    void operator()(const Recomposed&) {}
    void operator()(const Hashed& e) {
        m_hashes[e.path] = e.sha256;
    }
    void operator()(const Idle& e) { m_idle = e.decode && e.analysis; }

  private:
    RunResult& m_result;
    const RunOptions& m_options;
    std::optional<Failure> m_failure;
    std::vector<compute::SourceInfo> m_infos;
    std::map<std::string, std::string> m_hashes;
    std::map<std::string, BankPtr> m_banks;
    bool m_started = false, m_failedToLoad = false, m_ended = false, m_idle = false;
};

void recordHashes(RunResult& result, const std::map<std::string, std::string>& hashes) {
    Session& session = result.trace.session;
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        SourceEntry& s = session.source(i);
        const auto found = hashes.find(session.resolve(s.path).string());
        if (found == hashes.end()) continue;
        if (!s.sha256.empty() && s.sha256 != found->second)
            result.notices.push_back("Source '" + s.name + "': its weights are not those the session was saved with (SHA-256 " +
                                     found->second.substr(0, 12) + " instead of " + s.sha256.substr(0, 12) + ").");
        s.sha256 = found->second;
        result.sha256[s.name] = found->second;
    }
    result.trace.decodedWith = session;
}

}  // namespace

void raise(const Failure& failure, const Session& session) {
    std::string what = failure.sentence, where = session.file.string();
    while (what.ends_with('.')) what.pop_back();
    if (what.find(where) != std::string::npos) where.clear();
    throw compute::Error({.where = where, .what = what, .expected = {}, .found = {}, .advice = {}, .details = failure.details});
}

RunResult runSession(const Session& session, const RunOptions& options) {
    RunResult result;
    result.trace.session = session;
    result.trace.sources = session.sourceNames();  // a run that is stopped while it loads has them too
    result.threads = options.threads > 0 ? options.threads : static_cast<int>(std::max(1u, std::thread::hardware_concurrency() - 1));
    result.device = options.device.empty() ? "cpu" : options.device;
    result.dtype = options.dtype;
    Collector collector(result, options);
    {
        Engine engine(options.opener, options.patience);
        const std::stop_callback onStop(options.stop, [&engine] { engine.stop(); });
        compute::OpenOptions open;
        open.device = result.device;
        open.dtype = options.dtype;
        open.threads = options.threads;
        open.cache = options.cache;
        engine.load({session, std::move(open), true});
        DecodeRequest request;
        request.session = session;
        request.feedAll = false;
        request.everyRow = options.dumps.contains("sources");
        engine.decode(std::move(request));
        if (options.stop.stop_requested()) engine.stop();
        bool stopped = false;
        std::vector<std::string> left;
        while (!collector.finished()) {
            engine.waitForEvents(kLook);
            if (const auto call = engine.stuck(); call && engine.restart())
                left.push_back(overdue(*call) + " and does not stop; it is left behind.");
            for (Event& event : engine.drain()) std::visit(collector, event);
            if (collector.failedToLoad() && !std::exchange(stopped, true)) engine.stop();
            if (options.progress && !result.trace.steps.empty() && result.trace.stop.empty()) {
                const auto made = static_cast<double>(result.trace.tokens.size()) - static_cast<double>(result.trace.promptLength);
                const auto wanted = static_cast<double>(std::max<std::int64_t>(1, session.decoding.maxNewTokens));
                options.progress({"Decoding", std::min(1.0, made / wanted), {}});
            }
        }
        result.notices.insert(result.notices.end(), left.begin(), left.end());
    }
    result.failure = collector.failure();
    if (result.failure && (collector.failedToLoad() || result.trace.steps.empty())) raise(*result.failure, session);
    fillBanks(result.trace.session, [&](const std::string& path) {
        const auto found = collector.banks().find(path);
        return found == collector.banks().end() ? nullptr : found->second;
    });
    recordHashes(result, collector.hashes());
    std::map<std::pair<std::size_t, std::string>, std::size_t> bounded;
    for (const StepPtr& step : result.trace.steps)
        for (const compute::PriorName& prior : step->boundedPriors) ++bounded[{prior.bank, prior.name}];
    for (const auto& [prior, times] : bounded)
        result.notices.push_back(compute::printable(
            "Prior '" + prior.second + "' of bank '" + result.trace.session.priors.at(prior.first).bank +
            "': its pattern took too many steps at " + std::to_string(times) +
            (times == 1 ? " position" : " positions") + " and did not match there; write it so that it needs fewer."));
    result.versions = {{"counterpoint", compute::version()}, {"qt", qVersion()}};
    if (!collector.infos().empty()) {
        result.device = collector.infos().front().device;
        result.dtype.clear();
        std::vector<std::string> dtypes;
        for (const compute::SourceInfo& info : collector.infos()) {
            std::istringstream own(info.dtype);
            for (std::string dtype; std::getline(own, dtype, ',');)
                if (std::find(dtypes.begin(), dtypes.end(), dtype) == dtypes.end()) dtypes.push_back(dtype);
        }
        for (const std::string& dtype : dtypes) result.dtype += (result.dtype.empty() ? "" : ",") + dtype;
        if (std::any_of(collector.infos().begin(), collector.infos().end(), [](const compute::SourceInfo& i) { return i.libtorch; }))
            for (auto& version : compute::networkVersions())  // "threads" is this run's own, and said beside the versions
                if (version.first != "threads") result.versions.push_back(std::move(version));
    }
    return result;
}

}  // namespace counterpoint::model
