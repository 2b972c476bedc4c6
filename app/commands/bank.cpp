// counterpoint bank report BANK, counterpoint bank compress BANK --out FILE: R9 and R10 as JSON (SPEC.md 3).

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "app/commands/enginecall.h"
#include "app/commands/functions.h"
#include "compute/printable.h"
#include "compute/priors/hierarchy.h"
#include "compute/priors/onebit.h"

namespace counterpoint::app {
namespace {

using compute::number;
using compute::OrderedJson;

/// A bank with what its priors became.
struct OpenBank {
    compute::Bank bank;
    std::shared_ptr<const compute::Tokenizer> tokenizer;
    compute::IdSpace ids;
    std::vector<compute::Factor> factors;
};

std::vector<std::string> problemsOf(const compute::Prior& prior, const compute::Factor& factor) {
    std::vector<std::string> all = prior.problems;
    all.insert(all.end(), factor.problems.begin(), factor.problems.end());
    return all;
}

/// A line for each prior that has a problem, up to some.
void tellProblems(const OpenBank& open) {
    constexpr std::size_t kMost = 20;
    std::vector<std::string> lines;
    std::size_t more = 0;
    for (std::size_t i = 0; i < open.factors.size(); ++i) {
        const compute::Prior& prior = *open.bank.priors[i];
        const auto problems = problemsOf(prior, open.factors[i]);
        if (problems.empty()) continue;
        if (lines.size() == kMost) {
            ++more;
            continue;
        }
        std::string line = problems.front();  // what reading it found names it already
        if (!line.starts_with("prior '")) line = "prior '" + compute::shortened(prior.name) + "': " + line;
        if (problems.size() > 1)
            line += " (" + std::to_string(problems.size() - 1) + " more, see \"problems\" of bank report)";
        lines.push_back(line);
    }
    if (more > 0) lines.push_back(std::to_string(more) + " more priors have problems");
    tell("warning", lines);
}

OpenBank openBank(const Arguments& arguments) {
    const std::string& file = arguments.words[0];
    OpenBank open;
    std::vector<std::string> warnings;
    open.bank = compute::readBank(file, warnings);
    if (arguments.has("--tokenizer")) {
        open.tokenizer = compute::openTokenizer(arguments.required("--tokenizer"));
        open.ids.tokenizer = open.tokenizer.get();
        open.ids.size = open.tokenizer->size();
        open.ids.foreignIds = open.bank.tokenizer && *open.bank.tokenizer != open.tokenizer->fingerprint();
    }
    for (const compute::PriorPtr& prior : open.bank.priors) open.factors.push_back(resolve(*prior, open.ids));
    const bool usable = std::any_of(open.factors.begin(), open.factors.end(),
                                    [](const compute::Factor& factor) { return !factor.tokens.empty(); });
    if (!usable) {
        std::string found = "no priors";
        for (std::size_t i = open.factors.size(); i-- > 0;)
            if (const auto problems = problemsOf(*open.bank.priors[i], open.factors[i]); !problems.empty())
                found = problems.front();
        const bool blind = open.tokenizer == nullptr && !open.factors.empty();
        throw compute::Error({.where = file,
                              .what = "no prior of the bank can be used",
                              .found = std::move(found),
                              .advice = blind ? "texts become tokens with --tokenizer DIR" : ""});
    }
    tell("warning", warnings);
    tellProblems(open);
    return open;
}

void print(const OrderedJson& json) {
    std::fputs((json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n").c_str(), stdout);
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

}  // namespace

int bankReportCommand(const Arguments& arguments) {
    const OpenBank open = openBank(arguments);
    const auto exact = bytesOf(open.bank, open.ids, true), small = bytesOf(open.bank, open.ids, false);
    Sums all;
    std::vector<std::size_t> supports;
    OrderedJson priors = OrderedJson::array();
    for (std::size_t i = 0; i < open.factors.size(); ++i) {
        const compute::Prior& prior = *open.bank.priors[i];
        const compute::OneBit bit = compute::oneBit(open.factors[i].delta);
        if (!bit.sign.empty()) supports.push_back(bit.sign.size());
        Sums one;
        one.n = static_cast<double>(bit.sign.size());
        one.magnitude = one.n * bit.alpha;
        one.squaredError = bit.squaredError;
        one.eta = etaOf(prior);
        one.paperRatio = compute::paperRatio(bit.sign.size());
        one.bytes = small.prior[i];
        one.exactBytes = exact.prior[i];
        all.n += one.n;
        all.magnitude += one.magnitude;
        all.squaredError += one.squaredError;
        all.eta.eta += one.eta.eta;
        all.eta.raw += one.eta.raw;
        OrderedJson json = {{"name", prior.name}};
        one.write(json);
        json["enabled"] = prior.enabled;
        json["problems"] = problemsOf(prior, open.factors[i]);
        priors.push_back(std::move(json));
    }
    all.paperRatio = compute::paperRatio(supports);
    all.bytes = small.file;
    all.exactBytes = exact.file;
    OrderedJson bank = {{"priors", open.factors.size()}};
    all.write(bank);
    bank["level"] = open.bank.level;
    print({{"name", open.bank.name},
           {"priors", std::move(priors)},
           {"bank", std::move(bank)},
           {"counts",
            {{"paper_ratio", "32 bits a token against a sign a token and 32 bits of scale, without indices"},
             {"true_ratio",
              "exact_bytes/bytes on disk as .bank.safetensors, with ids, offsets and metadata: as the bank "
              "stands against every prior by signs and one scale; a prior's share without the file's own"},
             {"bank", "sums; alpha is the mean magnitude of all entries, ratios are of the sums"}}}});
    return 0;
}

int bankCompressCommand(const Arguments& arguments) {
    const std::filesystem::path out = arguments.required("--out");
    compute::CompressOptions options;
    options.level = static_cast<int>(arguments.integer("--level", 1, 3).value_or(options.level));
    const std::string keep = arguments.value("--keep", "product");
    if (keep != "product" && keep != "size") throw UsageError("--keep takes product or size, not '" + keep + "'");
    options.keep = keep == "size" ? compute::Keep::Size : compute::Keep::Product;
    std::error_code none;
    if (std::filesystem::equivalent(arguments.words[0], out, none))
        throw UsageError("--out is the bank itself, which compressing would lose; give another file");

    const OpenBank open = openBank(arguments);
    const compute::Compressed result = compress(std::span(&open.bank, 1), open.ids, options);
    writeBank(result.bank, out, open.ids);
    OrderedJson levels = OrderedJson::array();
    for (const compute::LevelReport& level : result.levels) {
        OrderedJson json = {{"level", level.level},
                            {"priors", level.priors},
                            {"bytes", level.bytes},
                            {"paper_ratio", number(level.paperRatio)},
                            {"true_ratio", number(level.trueRatio)}};
        if (std::isfinite(level.squaredError)) json["squared_error"] = number(level.squaredError);
        json["merged"] = level.merged;
        json["apart"] = level.apart;
        levels.push_back(std::move(json));
    }
    print({{"levels", std::move(levels)}});
    return 0;
}

}  // namespace counterpoint::app
