// counterpoint bank report BANK, counterpoint bank compress BANK --out FILE: R9 and R10 as JSON (SPEC.md 3).

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "app/interrupt.h"
#include "compute/files/gguf.h"
#include "compute/printable.h"
#include "compute/priors/onebit.h"
#include "compute/sources/filekind.h"
#include "compute/text/gguftokenizer.h"
#include "model/bankcompress.h"
#include "model/bankrows.h"
#include "model/opensession.h"
#include "model/runner.h"

namespace counterpoint::app {
namespace {

using compute::number;
using compute::OrderedJson;

/// A bank with what its priors became.
struct OpenBank {
    model::BankPtr bank;
    std::shared_ptr<const compute::Tokenizer> tokenizer;
    compute::IdSpace ids;
    std::vector<model::PriorOneBit> priors;
};

/// A line for each prior that has a problem, up to some.
void tellProblems(const std::string& file, const OpenBank& open) {
    constexpr std::size_t kMost = 20;
    std::vector<std::string> lines;
    std::size_t more = 0;
    for (const model::PriorOneBit& prior : open.priors) {
        if (prior.problems.empty()) continue;
        if (lines.size() == kMost) {
            ++more;
            continue;
        }
        std::string line = prior.problems.front();  // what reading it found names it already
        if (!line.starts_with("prior '")) line = "prior '" + compute::shortened(prior.name) + "': " + line;
        if (prior.problems.size() > 1)
            line += " (" + std::to_string(prior.problems.size() - 1) + " more, see \"problems\" of bank report)";
        lines.push_back(file + ", " + line);
    }
    if (more > 0) lines.push_back(file + ": " + std::to_string(more) + " more priors have problems");
    tell("warning", lines);
}

/// What the priors of `bank` become. `tokenizer`: null: ids alone can be used.
OpenBank resolved(const std::string& file, model::BankPtr bank, std::shared_ptr<const compute::Tokenizer> tokenizer,
                  std::int64_t vocabulary = -1) {
    OpenBank open;
    open.bank = std::move(bank);
    open.tokenizer = std::move(tokenizer);
    open.ids = model::idsFor(*open.bank, open.tokenizer.get(), vocabulary);
    open.priors = model::oneBitOfPriors(*open.bank, open.ids);
    if (open.priors.empty()) tell("warning", {file + ": the bank has no priors"});
    tellProblems(file, open);
    return open;
}

/// Error where there are priors and none of them can be used.
void requireUsable(const std::string& file, const OpenBank& open) {
    if (open.priors.empty() || std::ranges::any_of(open.priors, [](const auto& prior) { return prior.support > 0; }))
        return;
    throw compute::Error({.where = file,
                          .what = "no prior of the bank can be used, so there is nothing to compress",
                          .expected = {},
                          .found = {},
                          .advice = open.tokenizer == nullptr
                                        ? "texts become tokens with --tokenizer DIR; 'counterpoint "
                                          "bank report' says what each prior lacks"
                                        : "'counterpoint bank report' says what each prior lacks",
                          .details = {}});
}

OpenBank openBank(const std::string& file, std::shared_ptr<const compute::Tokenizer> tokenizer) {
    std::vector<std::string> warnings;
    auto bank = std::make_shared<const compute::Bank>(compute::readBank(file, warnings));
    tell("warning", warnings);
    return resolved(file, std::move(bank), std::move(tokenizer));
}

/// Before an hour of decoding rather than after it.
void requireWritable(const std::filesystem::path& file) {
    const std::filesystem::path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
    if (access(folder.c_str(), W_OK | X_OK) == 0) return;
    throw compute::Error({.where = file.string(),
                          .what = "it cannot be written there: " + std::string(std::strerror(errno)),
                          .advice = "give --out a folder that is there and can be written"});
}

std::shared_ptr<const compute::Tokenizer> tokenizerFrom(const Arguments& arguments) {
    if (!arguments.has("--tokenizer")) return nullptr;
    const std::filesystem::path from = arguments.required("--tokenizer");
    std::error_code none;
    if (std::filesystem::is_regular_file(from, none) && compute::fileKind(from) == compute::FileKind::Gguf)
        return compute::openGgufTokenizer(*compute::Gguf::open(from));
    return compute::openTokenizer(from);
}

/// Whether writing `out` would lose `file`, or a file of the folder that it is; a bank in there may be one's own
/// earlier one.
bool wouldLose(const std::filesystem::path& out, const std::filesystem::path& file) {
    std::error_code none;
    if (std::filesystem::equivalent(file, out, none)) return true;
    const std::string name = out.filename().string();
    if (name.ends_with(".bank.json") || name.ends_with(".bank.safetensors")) return false;
    if (!std::filesystem::is_directory(file, none) || !std::filesystem::exists(out, none)) return false;
    const std::filesystem::path from = std::filesystem::weakly_canonical(file, none);
    const auto relative = std::filesystem::weakly_canonical(out, none).lexically_relative(from);
    return !relative.empty() && *relative.begin() != "..";
}

/// What the session is made of is not written over.
void requireOutside(const model::Session& session, const std::filesystem::path& out) {
    const auto isIt = [&](const std::filesystem::path& file) { return wouldLose(out, file); };
    const auto refuse = [&](const std::string& what) {
        throw UsageError("--out is " + what + ", which compressing would lose; give another file");
    };
    if (isIt(session.file)) refuse("the session itself");
    for (const model::BankEntry& entry : session.priors)
        if (isIt(session.resolve(entry.bank))) refuse("a bank of the session");
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        for (const std::string& path : {session.source(i).path, session.source(i).tokenizer})
            if (!path.empty() && isIt(session.resolve(path))) refuse("a source of the session, or one of its files");
}

/// What a prior or a bank adds up to; ratios follow from it.
struct Sums {
    double n = 0, magnitude = 0, squaredError = 0;
    compute::Eta eta;
    double paperRatio = 0;
    std::uint64_t bytes = 0, exactBytes = 0;

    void write(OrderedJson& json) const {
        json["n"] = static_cast<std::int64_t>(n);
        json["alpha"] = number(n > 0 ? magnitude / n : 0);
        json["eta"] = number(eta.eta);
        json["eta_raw"] = number(eta.raw);
        json["paper_ratio"] = number(paperRatio);
        json["true_ratio"] = number(bytes > 0 ? static_cast<double>(exactBytes) / static_cast<double>(bytes) : 1);
        json["bytes"] = bytes;
        json["exact_bytes"] = exactBytes;
        json["squared_error"] = number(squaredError);
    }
};

/// The session decoded or scored to its end, and which of its banks `bank` is.
struct Measured {
    model::RunResult run;
    std::size_t bank = 0;
};

Measured decode(const std::string& file, const std::string& bank, const std::filesystem::path& out,
                const Interrupt& interrupt) {
    std::vector<std::string> warnings;
    const model::Session session = model::openSession(file, warnings);
    requireOutside(session, out);
    tell("warning", warnings);
    Measured measured;
    std::error_code none;
    const auto isIt = [&](const model::BankEntry& entry) {
        return std::filesystem::equivalent(session.resolve(entry.bank), bank, none);
    };
    const auto acts = [&](const model::BankEntry& entry) { return isIt(entry) && entry.enabled && entry.weight != 0; };
    auto entry = std::ranges::find_if(session.priors, acts);  // of one that stands twice the first that acts
    if (entry == session.priors.end()) entry = std::ranges::find_if(session.priors, isIt);
    if (entry == session.priors.end())
        throw compute::Error({.where = file,
                              .what = "the session does not use the bank that is to be compressed",
                              .expected = bank + " among its \"priors\"",
                              .found = std::to_string(session.priors.size()) + " others"});
    if (!entry->enabled || entry->weight == 0)
        throw compute::Error({.where = file,
                              .what = "the bank is off in this session, so that KL would be 0",
                              .advice = "switch it on there and give it a weight"});
    measured.bank = static_cast<std::size_t>(entry - session.priors.begin());
    tell("notice", model::codeNotices(session));  // before the first of it runs
    model::RunOptions options;
    options.stop = interrupt.token();
    ProgressLine line;
    options.progress = [&line](const model::Progress& progress) { line.show(progress); };
    measured.run = model::runSession(session, options);
    line.erase();
    if (measured.run.failure) model::raise(*measured.run.failure, session);
    if (measured.run.trace.stop == "user")
        throw compute::Error({.where = file, .what = "stopped by a signal; nothing was written"});
    if (measured.run.trace.steps.empty())
        throw compute::Error({.where = file,
                              .what = "the session makes no step that KL could be measured on",
                              .advice = "give it a longer prompt, or \"max_new_tokens\" above 0"});
    std::vector<std::string> notices = measured.run.notices;
    if (std::ranges::count_if(session.priors, acts) > 1)
        notices.push_back(
            "the bank acts more than once in this session; the first time is what is compressed and measured");
    if (!entry->overrides.empty())
        notices.push_back("the session's overrides of this bank are part of what is compressed");
    tell("notice", notices);
    return measured;
}

OrderedJson json(const model::MeanAndMost& value) {
    return {{"mean", number(value.mean)}, {"max", number(value.most)}};
}

OrderedJson json(const model::CompressionLevel& one) {
    const compute::LevelReport& level = one.report;
    OrderedJson out = {{"level", level.level},
                       {"priors", level.priors},
                       {"bytes", level.bytes},
                       {"paper_ratio", number(level.paperRatio)},
                       {"true_ratio", number(level.trueRatio)}};
    if (std::isfinite(level.squaredError)) out["squared_error"] = number(level.squaredError);
    if (one.onTrace) {
        out["kl"] = json(one.onTrace->kl);
        out["norm_bound"] = json(one.onTrace->normBound);
        out["range_bound"] = json(one.onTrace->rangeBound);
    }
    out["merged"] = level.merged;
    out["apart"] = level.apart;
    return out;
}

}  // namespace

int bankReportCommand(const Arguments& arguments) {
    const OpenBank open = openBank(arguments.words[0], tokenizerFrom(arguments));
    Sums all;
    std::vector<std::size_t> supports;
    OrderedJson priors = OrderedJson::array();
    for (std::size_t i = 0; i < open.priors.size(); ++i) {
        const compute::Prior& prior = *open.bank->priors[i];
        const model::PriorOneBit& bit = open.priors[i];
        if (bit.support > 0) supports.push_back(bit.support);
        Sums one;
        one.n = static_cast<double>(bit.support);
        one.magnitude = one.n * bit.alpha;
        one.squaredError = bit.squaredError;
        one.eta = etaOf(prior);
        one.paperRatio = compute::paperRatio(bit.support);
        one.bytes = bit.bytes;
        one.exactBytes = bit.exactBytes;
        all.n += one.n;
        all.magnitude += one.magnitude;
        all.squaredError += one.squaredError;
        all.eta.eta += one.eta.eta;
        all.eta.raw += one.eta.raw;
        OrderedJson json = {{"name", prior.name}};
        one.write(json);
        json["enabled"] = prior.enabled;
        json["problems"] = bit.problems;
        priors.push_back(std::move(json));
    }
    all.paperRatio = compute::paperRatio(supports);
    all.bytes = bytesOf(*open.bank, open.ids, false).file;
    all.exactBytes = bytesOf(*open.bank, open.ids, true).file;
    OrderedJson bank = {{"priors", open.priors.size()}};
    all.write(bank);
    bank["level"] = open.bank->level;
    const auto still = std::ranges::count_if(open.priors, [](const auto& prior) { return !prior.acts; });
    std::string sums = "sums; alpha is the mean magnitude of all entries, ratios are of the sums";
    if (still > 0)
        sums += "; all priors count, also those that do not act (" + std::to_string(still) +
                " here), which level 1 of bank compress leaves as they are: its bytes and ratios differ";
    print({{"name", open.bank->name},
           {"priors", std::move(priors)},
           {"bank", std::move(bank)},
           {"counts",
            {{"paper_ratio", "32 bits a token against a sign a token and 32 bits of scale, without indices"},
             {"true_ratio",
              "exact_bytes/bytes on disk as .bank.safetensors, with ids, offsets and metadata: as the bank "
              "stands against every prior by signs and one scale; a prior's share without the file's own"},
             {"bank", std::move(sums)}}}});
    return 0;
}

int bankCompressCommand(const Arguments& arguments) {
    Interrupt interrupt;  // first: from here on a signal is answered
    const std::string& file = arguments.words[0];
    const std::filesystem::path out = arguments.required("--out");
    compute::CompressOptions options;
    options.level = static_cast<int>(arguments.integer("--level", 1, 3).value_or(options.level));
    const std::string keep = arguments.value("--keep", "product");
    if (keep != "product" && keep != "size") throw UsageError("--keep takes product or size, not '" + keep + "'");
    options.keep = keep == "size" ? compute::Keep::Size : compute::Keep::Product;
    const std::string session = arguments.value("--session");
    if (!session.empty() && arguments.has("--tokenizer"))
        throw UsageError("--session brings the tokenizer of its models; leave --tokenizer out");
    std::error_code none;
    if (std::filesystem::equivalent(file, out, none))
        throw UsageError("--out is the bank itself, which compressing would lose; give another file");
    if (const std::string from = arguments.value("--tokenizer"); !from.empty() && wouldLose(out, from))
        throw UsageError("--out is a file of the tokenizer, which compressing would lose; give another file");
    requireWritable(out);

    model::CompressionInput input;
    compute::IdSpace ids;
    std::optional<Measured> measured;
    if (session.empty()) {
        OpenBank open = openBank(file, tokenizerFrom(arguments));
        requireUsable(file, open);
        ids = open.ids;
        input.entry.bank = file;
        input.entry.content = open.bank;
        input.tokenizer = open.tokenizer;
    } else {
        std::vector<std::string> told;  // by the run too
        auto bank = std::make_shared<const compute::Bank>(compute::readBank(file, told));
        measured = decode(session, file, out, interrupt);
        const model::Trace& trace = measured->run.trace;
        const OpenBank open = resolved(file, std::move(bank), trace.tokenizer, trace.store->vocabulary());
        requireUsable(file, open);
        ids = open.ids;
        input = compressionInput(trace.session, measured->bank, &trace, trace.tokenizer);
        if (!input.trace) throw compute::Error({.where = session, .what = input.unmeasured});
    }
    if (ids.foreignIds)
        throw compute::Error({.where = file,
                              .what = "the bank was made for another tokenizer, so that its ids mean other tokens",
                              .expected = input.entry.content->tokenizer.value_or("none"),
                              .found = ids.tokenizer->fingerprint(),
                              .advice = "compress it with the tokenizer that it was made for"});
    if (out.extension() != ".safetensors")
        tell("notice", {out.string() +
                        " is written as JSON; \"bytes\" of a level are those of the same bank as .bank.safetensors, "
                        "and those of the file stand under \"file\""});
    input.options = options;
    ProgressLine line;
    const auto report = compressionReport(
        input, [&line](const model::Progress& progress) { line.show(progress); }, interrupt.token());
    line.erase();
    if (!report) throw compute::Error({.where = out.string(), .what = "stopped by a signal; nothing was written"});
    writeBank(*report->levels.back().bank, out, ids);
    std::size_t lost = 0;
    for (const model::PriorOneBit& prior : report->priors) lost += prior.acts ? prior.unread : 0;
    if (lost > 0)
        tell("warning", {out.string() + " holds ids alone: " +
                         (lost == 1 ? "an entry that became no token is"
                                    : std::to_string(lost) + " entries that became no token are") +
                         " not in it"});
    if (report->levels.back().bank->priors.empty() && !report->priors.empty())
        tell("warning", {out.string() + " has no priors: they agree on no token at level " +
                         std::to_string(options.level) + "; a lower --level keeps some"});
    OrderedJson levels = OrderedJson::array();
    for (const model::CompressionLevel& level : report->levels) levels.push_back(json(level));
    // What stands there now: JSON may be larger than the bank that it was, where "bytes" are of .bank.safetensors.
    OrderedJson all = {{"levels", std::move(levels)},
                       {"file", {{"path", out.string()}, {"bytes", std::filesystem::file_size(out)}}}};
    if (measured) all["trace"] = {{"session", session}, {"positions", report->positions}, {"matched", report->matched}};
    print(all);
    return 0;
}

}  // namespace counterpoint::app
