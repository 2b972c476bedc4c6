#include "compute/network/train/train.h"

#include <ATen/Parallel.h>
#include <malloc.h>

#include <iostream>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "compute/files/sha256.h"
#include "compute/network/train/arguments.h"
#include "compute/network/train/check.h"
#include "compute/network/train/corpus.h"
#include "compute/network/train/fit.h"
#include "compute/network/train/modelfiles.h"
#include "compute/network/train/skills.h"
#include "compute/network/train/upcycle.h"
#include "compute/sources/modules.h"
#include "compute/version.h"

namespace counterpoint::network {

using namespace train;
using compute::OrderedJson;
namespace fs = std::filesystem;

namespace {

constexpr std::string_view kHelp =
    R"(counterpoint_train: small models of the Llama or the Mixtral layout, from a text of stories separated by <|endoftext|>

  counterpoint_train --text FILE --out DIR [--seed S] [--size V] [--steps N] [--branch-steps N] [--held-out N]
      [--dialogue-gain G] [--dialogue-other-gain G] [--animals-gain G] [--animals-other-gain G]
                                                                 all below: base, dialogue and animals from one trunk
  counterpoint_train vocabulary --text FILE --out DIR [--size V]
  counterpoint_train base --text FILE --tokenizer FILE --out DIR [shape] [fit]
  counterpoint_train finetune --text FILE --from DIR --skill dialogue|animals|none --out DIR [--gain G] [--other-gain G] [fit]
  counterpoint_train upcycle --text FILE --from DIR --out DIR [--experts 8] [--chosen 2] [--hidden H] [fit]
                                                                 a Mixtral model; its experts are parts of a Llama's
  counterpoint_train check [--seed S]                            gradient against finite differences

  shape: --dim 96 --hidden 256 --layers 5 --heads 4 --kv-heads 2 --positions 512 --experts 0 --chosen 2
         with experts: a Mixtral model, each of its experts as wide as --hidden, routed under noise while it is trained
  fit:   --steps N --stop-after N --warm-up N --rate R --dropout P --batch TOKENS --evaluate-every N --seed S
         --held-out 150 --balance 0.01 --routing independent|deterministic
         --dtype float32|float16|bfloat16 (of the file)

Each model directory gets training.json with the losses, the options and the hash of the text.
)";
constexpr std::string_view kFitKeys =
    "steps stop-after warm-up rate dropout balance routing batch evaluate-every seed held-out dtype";
constexpr std::size_t kHeldOut = 150;
constexpr double kDialogueGain = 2.5, kAnimalsGain = 3.0;  // of the mean rate over the corpus's
// With 1 the demo's dialogue model told of animals 0.89 ± 0.07 times as often as its base, and so did the composition.
constexpr double kDialogueOtherGain = 1.2;

struct Data {
    Corpus corpus;
    std::vector<std::vector<TokenId>> train, heldOut;
    double heldOutBytes = 0;
    std::string sha256;
};

Data readData(const Arguments& a, const compute::Tokenizer& tokenizer) {
    Data d;
    d.corpus = readCorpus(a.text("text"), a.number<std::size_t>("held-out", kHeldOut));
    d.train = encodeStories(d.corpus.train, tokenizer);
    d.heldOut = encodeStories(d.corpus.heldOut, tokenizer);
    for (const auto& story : d.corpus.heldOut) d.heldOutBytes += static_cast<double>(story.size());
    compute::Sha256 hash;
    hash.update(compute::readFile(a.text("text")));
    d.sha256 = hash.hex();
    return d;
}

compute::DType storageType(const Arguments& a) {
    const std::string name = a.text("dtype", "float16");
    for (const auto dtype : {compute::DType::F32, compute::DType::F16, compute::DType::BF16})
        if (compute::dtypeName(dtype) == name) return dtype;
    throw UsageError("argument '--dtype' is float32, float16 or bfloat16, not '" + name + "'");
}

compute::RoutingMode routingMode(const Arguments& a) {
    const std::string name = a.text("routing", "independent");
    if (name == "independent") return compute::RoutingMode::Independent;
    if (name == "deterministic") return compute::RoutingMode::Deterministic;
    throw UsageError("argument '--routing' is independent or deterministic, not '" + name + "'");
}

FitOptions fitOptions(const Arguments& a, FitOptions o) {
    o.steps = a.number("steps", o.steps);
    o.stopAfter = a.number("stop-after", o.stopAfter);
    o.warmUp = a.number("warm-up", o.warmUp);
    o.peakRate = a.number("rate", o.peakRate);
    o.finalRate = o.peakRate / 100;
    o.dropout = a.number("dropout", o.dropout);
    o.balance = a.number("balance", o.balance);
    o.routing = routingMode(a);
    o.tokensPerStep = a.number("batch", o.tokensPerStep);
    o.evaluateEvery = a.number("evaluate-every", o.evaluateEvery);
    o.seed = a.number("seed", o.seed);
    return o;
}

OrderedJson optionsJson(const FitOptions& o) {
    return {{"seed", o.seed},
            {"steps", o.steps},
            {"stop_after", o.stopAfter},
            {"tokens_per_step", o.tokensPerStep},
            {"warm_up", o.warmUp},
            {"peak_rate", o.peakRate},
            {"final_rate", o.finalRate},
            {"weight_decay", o.optimiser.weightDecay},
            {"beta1", o.optimiser.beta1},
            {"beta2", o.optimiser.beta2},
            {"momentum", o.optimiser.momentum},
            {"clip", o.optimiser.clip},
            {"dropout", o.dropout}};
}

// Fits, writes the model, and measures the held-out loss of what was written (rounded to its storage type).
OrderedJson fitAndWrite(Llama& model, const Data& data, std::span<const double> weight, const FitOptions& o,
                        const fs::path& out, compute::DType storage) {
    WindowStream stream(data.train, weight, o.seed);
    OrderedJson points = OrderedJson::array();
    const FitResult result = fit(model, stream, data.heldOut, o, [&](const FitPoint& p) {
        points.push_back(
            {{"step", p.step}, {"train_loss", p.trainLoss}, {"held_out_loss", p.heldOutLoss}, {"seconds", p.seconds}});
        if (model.shape.experts > 0) points.back()["balance"] = p.balance;
        std::cerr << out.filename().string() << " " << points.back().dump() << std::endl;
    });
    writeModel(model, out, storage);
    Llama written = readModel(out);
    const auto [loss, tokens] = heldOutLoss(written, data.heldOut);
    OrderedJson options = optionsJson(o);
    if (model.shape.experts > 0) {
        options["balance"] = o.balance;
        options["routing"] = o.routing == compute::RoutingMode::Independent ? "independent" : "deterministic";
    }
    return {{"format", "counterpoint.training/1"},
            {"parameters", model.parameterCount()},
            {"text_sha256", data.sha256},
            {"stories", data.train.size()},
            {"held_out_stories", data.heldOut.size()},
            {"held_out_loss", loss},
            {"held_out_tokens", tokens},
            {"held_out_bytes", data.heldOutBytes},
            {"kept_step", result.kept.step},
            {"epochs", result.epochs},
            {"seconds", result.seconds},
            {"threads", at::get_num_threads()},
            {"options", options},
            {"points", points}};
}

void writeReport(const fs::path& out, const OrderedJson& report) {
    compute::writeFile(out / "training.json", report.dump(1) + "\n");
}

void vocabulary(const Arguments& a) {
    const Corpus corpus = readCorpus(a.text("text"), a.number<std::size_t>("held-out", kHeldOut));
    const fs::path out = a.text("out"), lines = out / "lines.txt";
    fs::create_directories(out);
    std::string text;
    for (const auto& story : corpus.train) text += story + "\n";
    compute::writeFile(lines, text);
    compute::spm().train(lines, out / "tokenizer.model", a.number("size", 1536));
    fs::remove(lines);
}

void base(const Arguments& a) {
    const fs::path out = a.text("out"), model = a.text("tokenizer");
    ModelShape s;
    s.dim = a.number("dim", s.dim);
    s.hidden = a.number("hidden", s.hidden);
    s.layers = a.number("layers", s.layers);
    s.heads = a.number("heads", s.heads);
    s.keyValueHeads = a.number("kv-heads", s.keyValueHeads);
    s.maxPositions = a.number("positions", s.maxPositions);
    s.experts = a.number("experts", s.experts);
    s.chosen = a.number("chosen", s.chosen);
    if (s.heads < 1 || s.keyValueHeads < 1 || s.dim % (2 * s.heads) != 0 || s.heads % s.keyValueHeads != 0)
        throw UsageError("the heads must divide the dimension evenly, and the key-value heads the heads");
    if (s.experts < 0 || (s.experts > 0 && (s.chosen < 1 || s.chosen > s.experts)))
        throw UsageError("'--chosen' is from 1 to the number of '--experts'");
    writeTokenizer(model, out, s.maxPositions);
    const auto tokenizer = compute::spm().open(out / "tokenizer.model", out);
    s.vocabulary = tokenizer->size();
    const Data data = readData(a, *tokenizer);
    const FitOptions o = fitOptions(a, {.steps = 4000, .warmUp = 50, .evaluateEvery = 400, .peakRate = 1e-2});
    Llama m = initialise(s, o.seed);
    writeReport(out, fitAndWrite(m, data, {}, o, out, storageType(a)));
}

void finetune(const Arguments& a) {
    const fs::path from = a.text("from"), out = a.text("out");
    const std::string skill = a.text("skill");
    if (skill != "dialogue" && skill != "animals" && skill != "none")
        throw UsageError("argument '--skill' is dialogue, animals or none, not '" + skill + "'");
    Llama m = readModel(from);
    writeTokenizer(from / "tokenizer.model", out, m.shape.maxPositions);
    const Data data = readData(a, *compute::spm().open(out / "tokenizer.model", out));
    // Few large batches: what Muon makes of a gradient has one size however small the gradient, and so however noisy.
    const FitOptions o = fitOptions(
        a,
        {.steps = 60, .warmUp = 10, .tokensPerStep = 8192, .evaluateEvery = 60, .peakRate = 1e-3, .keepBest = false});
    OrderedJson choice;
    std::vector<double> weight;
    if (skill != "none") {
        std::vector<SkillRate> rates;
        for (const auto& story : data.corpus.train) rates.push_back(skillRate(story));
        const double gain = a.number("gain", skill == "dialogue" ? kDialogueGain : kAnimalsGain);
        const double otherGain = a.number("other-gain", skill == "dialogue" ? kDialogueOtherGain : 1.0);
        Tilt t = tilt(rates, skill == "dialogue" ? Skill::Dialogue : Skill::Animals, gain, otherGain);
        const auto rateJson = [](const SkillRate& r) {
            return OrderedJson{
                {"quotation_marks", r.quotationMarks}, {"animal_words", r.animalWords}, {"words", r.words}};
        };
        choice = {{"skill", skill},
                  {"gain", gain},
                  {"other_gain", otherGain},
                  {"effective_stories", t.effectiveStories},
                  {"corpus", rateJson(t.corpus)},
                  {"chosen", rateJson(t.mean)},
                  {"animal_words", animalWords()}};
        weight = std::move(t.weight);
    }
    OrderedJson report = fitAndWrite(m, data, weight, o, out, storageType(a));
    report["choice"] = std::move(choice);
    report["from"] = compute::readOrderedJson(from / "training.json");
    writeReport(out, report);
}

void upcycle(const Arguments& a) {
    const fs::path from = a.text("from"), out = a.text("out");
    const Llama dense = readModel(from);
    const ModelShape& s = dense.shape;
    const auto experts = a.number<std::int64_t>("experts", 8), chosen = a.number<std::int64_t>("chosen", 2),
               width = a.number("hidden", s.hidden);
    if (s.experts > 0) throw UsageError("the model of '--from' has routed experts already");
    if (experts < 1 || chosen < 1 || chosen > experts || width < 1 || width > s.hidden)
        throw UsageError("'--chosen' is from 1 to the number of '--experts', '--hidden' from 1 to " +
                         std::to_string(s.hidden));
    writeTokenizer(from / "tokenizer.model", out, s.maxPositions);
    const Data data = readData(a, *compute::spm().open(out / "tokenizer.model", out));
    const FitOptions o = fitOptions(a, {.steps = 4000, .warmUp = 50, .evaluateEvery = 400, .peakRate = 5e-3});
    Llama m = upcycled(dense, experts, chosen, width, o.seed);
    OrderedJson report = fitAndWrite(m, data, {}, o, out, storageType(a));
    report["from"] = compute::readOrderedJson(from / "training.json");
    writeReport(out, report);
}

void check(const Arguments& a) {
    for (const std::int64_t experts : {0, 5}) {
        const GradientGap gap = checkGradient(a.number<std::uint64_t>("seed", 1), experts);
        std::cout << OrderedJson{{"experts", experts},
                                 {"largest_relative_gap", gap.largest},
                                 {"tensor", gap.tensor},
                                 {"tried", gap.tried}}
                         .dump()
                  << std::endl;
        if (!(gap.largest < 1e-4))
            throw compute::Error({.where = gap.tensor,
                                  .what = "the gradient differs from finite differences",
                                  .expected = "a relative gap under 1e-4",
                                  .found = compute::number(gap.largest).dump()});
    }
}

// One part as the command line would call it.
int run(std::vector<std::string> words) {
    words.insert(words.begin(), "counterpoint_train");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return trainMain(static_cast<int>(argv.size()), argv.data());
}

// The base is the trunk fine-tuned on unweighted stories, with the batches and steps of its specialists: what more
// training does to all alike is in the base too and cancels in log p_i − log p_b.
int everything(const Arguments& a) {
    const fs::path out = a.text("out"), trunk = out / "trunk", pieces = out / "vocabulary";
    // part(name, words, keys): one call of this program; `keys` are handed on where they were given.
    using Words = std::vector<std::string>;
    const auto part = [&](const char* name, Words words, std::vector<std::pair<const char*, const char*>> keys) {
        keys.emplace_back("text", "text");
        keys.emplace_back("held-out", "held-out");
        for (const auto& [from, to] : keys)
            if (const std::string value = a.text(from, ""); !value.empty())
                words.insert(words.end(), {std::string("--") + to, value});
        words.insert(words.end(), {"--out", (out / name).string()});
        return words;
    };
    const auto branch = [&](const char* name, const char* skill, const char* gain, const char* otherGain) {
        return part(name, {"finetune", "--skill", skill, "--from", trunk.string()},
                    {{"seed", "seed"}, {"branch-steps", "steps"}, {gain, "gain"}, {otherGain, "other-gain"}});
    };
    const std::vector<Words> parts = {
        part("vocabulary", {"vocabulary"}, {{"size", "size"}}),
        part("trunk", {"base", "--dtype", "float32", "--tokenizer", (pieces / "tokenizer.model").string()},
             {{"seed", "seed"}, {"steps", "steps"}}),
        branch("base", "none", "none", "none"), branch("dialogue", "dialogue", "dialogue-gain", "dialogue-other-gain"),
        branch("animals", "animals", "animals-gain", "animals-other-gain")};
    for (const auto& words : parts)
        if (const int code = run(words); code != 0) return code;
    fs::remove_all(pieces);
    fs::remove_all(trunk);
    return 0;
}

int dispatch(int argc, char** argv) {
    const std::string_view command = argc > 1 ? argv[1] : "";
    const std::string fit = std::string(kFitKeys) + " text out ";
    if (command == "--help" || command == "-h") return std::cout << kHelp, 0;
    if (command == "vocabulary")
        vocabulary(Arguments(argc, argv, 2, "text out size held-out"));
    else if (command == "base")
        base(Arguments(argc, argv, 2, fit + "tokenizer dim hidden layers heads kv-heads positions experts chosen"));
    else if (command == "finetune")
        finetune(Arguments(argc, argv, 2, fit + "from skill gain other-gain"));
    else if (command == "upcycle")
        upcycle(Arguments(argc, argv, 2, fit + "from experts chosen hidden"));
    else if (command == "check")
        check(Arguments(argc, argv, 2, "seed"));
    else
        return everything(
            Arguments(argc, argv, 1,
                      "text out seed size steps branch-steps dialogue-gain dialogue-other-gain animals-gain "
                      "animals-other-gain held-out"));
    return 0;
}

}  // namespace

int trainMain(int argc, char** argv) {
    // One thread makes a run repeatable; big temporaries come back from the heap instead of being mapped and faulted in
    // anew.
    at::set_num_threads(1);
    mallopt(M_MMAP_THRESHOLD, 1 << 30);
    mallopt(M_TRIM_THRESHOLD, 2'000'000'000);
    try {
        return dispatch(argc, argv);
    } catch (const UsageError& e) {
        std::cerr << "counterpoint_train: " << e.what() << " (see --help)" << std::endl;
        return 2;
    } catch (const c10::Error& e) {
        std::cerr << "counterpoint_train: " << e.what_without_backtrace() << std::endl;
    } catch (const std::exception& e) {
        std::cerr << "counterpoint_train: " << e.what() << std::endl;
    }
    return 1;
}

}  // namespace counterpoint::network
