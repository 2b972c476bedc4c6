// GGUF metadata as a configuration: what each key means, and what is refused by its name (HAZARDS A9, A11, A12, A13).
#include <cmath>

#include "tests/support/fixture.h"
#include "tests/support/ggufsource.h"

using namespace counterpoint;
using tests::errorOf;
using tests::GgufWriter;
using tests::openGguf;
using tests::Toy;

namespace {

/// A file of these sizes but for the one left out, with an embedding and no other tensor.
GgufWriter sizesOnly(const std::string& architecture, int layers, std::uint32_t key, std::uint32_t value,
                     const std::string& left = {}) {
    GgufWriter w;
    w.text("general.architecture", architecture);
    const std::string prefix = architecture + ".";
    for (const auto& [name, size] : {std::pair("block_count", static_cast<std::uint32_t>(layers)),
                                     {"context_length", 640u},
                                     {"embedding_length", 64u},
                                     {"feed_forward_length", 64u},
                                     {"attention.head_count", 4u},
                                     {"attention.key_length", key},
                                     {"attention.value_length", value}})
        if (name != left) w.whole(prefix + name, size);
    w.tensor("token_embd.weight", {300, 64}, std::vector<float>(300 * 64));
    return w;
}

}  // namespace

class TestGgufConfig : public QObject, tests::GgufFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void configurations_data() {
        QTest::addColumn<std::function<void(GgufWriter&)>>("add");
        QTest::addColumn<std::function<bool(const network::Shape&)>>("holds");
        const auto row = [](const char* name, std::function<void(GgufWriter&)> add,
                            std::function<bool(const network::Shape&)> holds) { QTest::newRow(name) << add << holds; };
        row(
            "defaults", [](GgufWriter&) {},
            [](const network::Shape& s) {
                return s.tiedHead && s.vocabulary == 300 && s.headDim == 16 && s.rotaries[0].base == 10000.0 &&
                       s.normEpsilon == 1e-5F && s.rotaries[0].scaling.empty();
            });
        row(
            "rope base", [](GgufWriter& w) { w.number("llama.rope.freq_base", 500000.0F); },
            [](const network::Shape& s) { return s.rotaries[0].base == 500000.0; });
        row(
            "A11: linear",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "linear");
                w.number("llama.rope.scaling.factor", 4.0F);
            },
            [](const network::Shape& s) { return s.rotaries[0].frequencies[0] == 0.25; });
        row(
            "A11: the older key", [](GgufWriter& w) { w.number("llama.rope.scale_linear", 2.0F); },
            [](const network::Shape& s) { return s.rotaries[0].frequencies[0] == 0.5; });
        row(
            "A11: yarn",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "yarn");
                w.number("llama.rope.scaling.factor", 4.0F);
                w.whole("llama.rope.scaling.original_context_length", 320);
            },
            [](const network::Shape& s) {
                return s.rotaries[0].scaling.starts_with("yarn, factor 4") && s.maxPositions == 1280;
            });
        row(
            "A11: the newer key first",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "linear");
                w.number("llama.rope.scaling.factor", 4.0F);
                w.number("llama.rope.scale_linear", 2.0F);
            },
            [](const network::Shape& s) { return s.rotaries[0].frequencies[0] == 0.25; });
        row(
            "A11: a scaling that is none",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "none");
                w.number("llama.rope.scaling.factor", 4.0F);
            },
            [](const network::Shape& s) { return s.rotaries[0].scaling.empty(); });
        row(
            "keys that change nothing",
            [](GgufWriter& w) {
                w.number("llama.logit_scale", 1.0F);
                w.number("llama.attention.clamp_kqv", 0.0F);
                w.number("llama.rope.scale_linear", 1.0F);
                w.whole("llama.expert_count", 0);
                w.flag("llama.attention.causal", true);
                w.flag("llama.use_parallel_residual", false);
                w.whole("split.count", 1);
            },
            [](const network::Shape& s) { return s.rotaries[0].scaling.empty() && s.headDim == 16; });
        // Before the fast end of the ramp, which is channel 1 of 8 at 8 turns within 320 positions, 0 at the usual 32.
        row(
            "A11: yarn as stated",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "yarn");
                w.number("llama.rope.scaling.factor", 4.0F);
                w.number("llama.rope.scaling.attn_factor", 0.5F);
                w.number("llama.rope.scaling.yarn_beta_fast", 8.0F);
                w.whole("llama.rope.scaling.original_context_length", 320);
            },
            [](const network::Shape& s) {
                return s.rotaries[0].factor == 0.5 * (1.0 + 0.1 * std::log(4.0)) &&  // on top of yarn's own
                       s.rotaries[0].frequencies[1] == std::pow(10000.0, -1.0 / 8.0);
            });
        row(
            "A11: yarn without a factor",
            [](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "yarn");
                w.whole("llama.rope.scaling.original_context_length", 320);
            },
            [](const network::Shape& s) {
                return s.rotaries[0].factor == 1.0 && s.maxPositions == 640 &&
                       s.rotaries[0].frequencies[7] == std::pow(10000.0, -7.0 / 8.0);
            });
        row(
            "A11: a size of the channels without a scaling",
            [](GgufWriter& w) { w.number("llama.rope.scaling.attn_factor", 1.5F); },
            [](const network::Shape& s) { return s.rotaries[0].factor == 1.5; });
        // A bias counts where it is.
        for (const auto& [bias, flag] :
             {std::pair("attn_q", &network::Shape::queryKeyValueBias),
              std::pair("attn_v", &network::Shape::queryKeyValueBias),
              std::pair("attn_output", &network::Shape::outputBias), std::pair("ffn_gate", &network::Shape::mlpBias),
              std::pair("ffn_up", &network::Shape::mlpBias), std::pair("ffn_down", &network::Shape::mlpBias)})
            row(
                qPrintable(QString("a bias of %1").arg(bias)),
                [name = "blk.0." + std::string(bias) + ".bias"](GgufWriter& w) { w.tensor(name, {1}, {1}); },
                [flag = flag](const network::Shape& s) {
                    return s.*flag && s.queryKeyValueBias + s.outputBias + s.mlpBias == 1;
                });
        // llama.cpp has a cap of scores for the one and reads no such key for the other.
        for (const auto& [name, cap] : {std::pair("gemma2", 8.0F), std::pair("gemma3", 0.0F)})
            row(
                qPrintable(QString("A13: a cap of scores in %1").arg(name)),
                [name = std::string(name)](GgufWriter& w) {
                    w = sizesOnly(name, 26, 36, 36);
                    w.number(name + ".attn_logit_softcapping", 8.0F);
                },
                [cap = cap](const network::Shape& s) { return s.attentionCap == cap; });
        // The largest of each family scales by its width: 64 / 4 = 16 channels, the others by the head's 36.
        for (const auto& [name, layers, channels] : {std::tuple("gemma2", 46, 16), std::tuple("gemma2", 26, 36),
                                                     std::tuple("gemma3", 62, 16), std::tuple("gemma3", 26, 36)})
            row(
                qPrintable(QString("%1 of %2 layers").arg(name).arg(layers)),
                [name = std::string(name), layers = layers](GgufWriter& w) { w = sizesOnly(name, layers, 36, 36); },
                [channels = channels](const network::Shape& s) {
                    return s.attentionScale == static_cast<float>(1.0 / std::sqrt(static_cast<double>(channels)));
                });
        row(
            "A11: factors in the file",
            [](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, 8});
            },
            [](const network::Shape& s) {
                return s.rotaries[0].frequencies[0] == 1.0 &&
                       s.rotaries[0].frequencies[7] == std::pow(10000.0, -7.0 / 8.0) / 8.0;
            });
    }
    void configurations() {
        QFETCH(std::function<void(GgufWriter&)>, add);
        QFETCH(std::function<bool(const network::Shape&)>, holds);
        GgufWriter w = tests::ggufOf(plain());
        w.tensor("token_embd.weight", {300, 40}, std::vector<float>(12000));
        add(w);
        QVERIFY(holds(network::readGgufConfig(*parsed(w)).shape));
    }

    void refused_data() {
        QTest::addColumn<std::function<void(GgufWriter&)>>("write");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, std::function<void(GgufWriter&)> write, const char* sentence) {
            QTest::newRow(name) << write << QString(sentence);
        };
        const auto with = [](std::function<void(GgufWriter&)> more) {
            return [more](GgufWriter& w) {
                w = tests::ggufOf(ToyFolder::plain());
                more(w);
                tests::addTensors(w, ToyFolder::plain(), tests::asFloats);
            };
        };
        const auto without = [](const std::string& left, std::vector<std::int64_t> shape = {}) {
            return [=](GgufWriter& w) {
                Toy toy = ToyFolder::plain();
                shape.empty() ? void(toy.tensors.erase(left)) : void(toy.shapes[left] = shape);
                w = tests::ggufWithFloats(toy);
            };
        };
        row(
            "no architecture", [](GgufWriter& w) { w = {}; },
            "this architecture is not supported in a GGUF file (expected llama, qwen2, qwen3, gemma2, gemma3, "
            "gpt2, gptneox, phi3, found none)");
        row(
            "another architecture",
            [](GgufWriter& w) {
                w = {};
                w.text("general.architecture", "mamba");
            },
            "found mamba)");
        row("A9: no embedding", without("model.embed_tokens.weight"), "tensor 'token_embd.weight' is missing");
        row("a tensor that is not there", without("model.layers.1.mlp.up_proj.weight"),
            "tensor 'blk.1.ffn_up.weight' is missing (expected a tensor of shape [56, 40]); its metadata and its "
            "tensors are not of one model: download or convert it again.");
        row("a turned tensor that is not there", without("model.layers.1.self_attn.o_proj.weight"),
            "tensor 'blk.1.attn_output.weight' is missing");
        for (const char* left :
             {"block_count", "context_length", "embedding_length", "feed_forward_length", "attention.head_count"})
            for (const std::string architecture : {"llama", "gpt2", "gptneox"}) {
                const std::string key = architecture + "." + left;
                if (key == "gpt2.feed_forward_length" || key == "gpt2.context_length") continue;  // these have defaults
                row(("without " + key).c_str(), [=](GgufWriter& w) { w = sizesOnly(architecture, 1, 16, 16, left); },
                    ("the key '" + key + "' is missing (expected a whole number)").c_str());
            }
        row(
            "a head of odd size", [](GgufWriter& w) { w = sizesOnly("llama", 1, 15, 15); },
            "the head size is not usable (expected 'llama.attention.key_length' (or llama.embedding_length / "
            "llama.attention.head_count) a whole even number, found 15)");
        row(
            "a part of the head turned",
            [](GgufWriter& w) {
                w = sizesOnly("llama", 1, 16, 16);
                w.whole("llama.rope.dimension_count", 8);
            },
            "'llama.rope.dimension_count' is not supported by this architecture (expected all 16 channels of a head "
            "turned by position, as without it, found 8 (0.5 of 16))");
        row(
            "an odd part of the head turned",
            [](GgufWriter& w) {
                w = sizesOnly("gptneox", 1, 16, 16);
                w.whole("gptneox.rope.dimension_count", 3);
            },
            "the turned part of a head ('gptneox.rope.dimension_count') is not usable (expected an even number of "
            "channels from 2 to 16, found 3 (0.1875 of 16))");
        row("attention to what follows", with([](GgufWriter& w) { w.flag("llama.attention.causal", false); }),
            "'llama.attention.causal' is not supported by this architecture (expected true, found false)");
        row("parallel residuals", with([](GgufWriter& w) { w.flag("llama.use_parallel_residual", true); }),
            "'llama.use_parallel_residual' is not supported by this architecture (expected false, found true)");
        row("a base of the positions below 0", with([](GgufWriter& w) { w.number("llama.rope.freq_base", -1.0F); }),
            "the value of 'llama.rope.freq_base' is not usable");
        row("A12: another shape", without("model.layers.1.mlp.up_proj.weight", {40, 56}),
            "has another shape than the configuration says (expected [56, 40], found [40, 56])");
        row("A11: longrope", with([](GgufWriter& w) {
                w.text("llama.rope.scaling.type", "longrope");
                w.number("llama.rope.scaling.factor", 4.0F);
            }),
            "'longrope' in 'llama.rope.scaling.type'");
        row("A11: linear without a factor", with([](GgufWriter& w) { w.text("llama.rope.scaling.type", "linear"); }),
            "lacks the key 'llama.rope.scaling.factor'");
        row("experts", with([](GgufWriter& w) { w.whole("llama.expert_count", 4); }),
            "a mixture of experts is not supported by this architecture (expected no llama.expert_count, found 4)");
        row("a window", with([](GgufWriter& w) { w.whole("llama.attention.sliding_window", 64); }),
            "a sliding window of attention is not part of this architecture (expected none, or "
            "'llama.attention.sliding_window' of at least llama.context_length, found 64)");
        row("A13: a scale of logits", with([](GgufWriter& w) { w.number("llama.logit_scale", 0.5F); }),
            "the key llama.logit_scale is not supported by this architecture (expected none, found 0.5)");
        row("one part of many", with([](GgufWriter& w) { w.whole("split.count", 3); }),
            "this is one part of a model in 3 files; join them");
        row("one part of two", with([](GgufWriter& w) { w.whole("split.count", 2); }),
            "this is one part of a model in 2 files; join them");
        row("A11: factors of longrope",
            with([](GgufWriter& w) { w.tensor("rope_factors_long.weight", {8}, std::vector<float>(8, 1.0F)); }),
            "this scaling of rotary positions is not supported (expected none, linear or yarn, found longrope)");
        row(
            "keys and values of two sizes", [](GgufWriter& w) { w = sizesOnly("llama", 1, 16, 8); },
            "keys and values of different sizes are not supported (expected 16, found 8)");
        row(
            "an embedding that is a vector",
            [](GgufWriter& w) {
                w = tests::ggufOf(ToyFolder::plain());
                w.tensor("token_embd.weight", {300}, std::vector<float>(300));
            },
            "tensor 'token_embd.weight' is missing (expected a matrix of tokens)");
        row("a list where a number stands", with([](GgufWriter& w) {
                w.numbers("llama.rope.freq_base", {1, 2});
            }),
            "'llama.rope.freq_base' is of another kind");
        row("factors of another size", with([](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {4}, {1, 1, 1, 1});
            }),
            "tensor 'rope_freqs.weight' has another size");
        row("factors in half precision",
            with([](GgufWriter& w) { w.tensor("rope_freqs.weight", 1, {16}, std::string(32, '\x3C')); }),
            "tensor 'rope_freqs.weight' has another size");
        row("a factor without end", with([](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, INFINITY});
            }),
            "a factor in tensor 'rope_freqs.weight' is not usable (expected a number above 0, found inf)");
        for (const auto& [key, number, found] :
             {std::tuple("rope.freq_base", NAN, "nan"), std::tuple("rope.freq_base", INFINITY, "inf"),
              std::tuple("rope.freq_base", -INFINITY, "-inf"), std::tuple("rope.scaling.attn_factor", NAN, "nan"),
              std::tuple("attention.layer_norm_rms_epsilon", NAN, "nan")}) {
            const std::string name = std::string("llama.") + key;
            row((name + " " + found).c_str(),
                [name, number = number](GgufWriter& w) {
                    w = sizesOnly("llama", 1, 16, 16);
                    w.number(name, number);
                },
                ("the value of '" + name + "' is not usable (expected a number above 0, from 1e-30 to 1e30, found " +
                 found + ")")
                    .c_str());
        }
        row("A13: a scale that is no number", with([](GgufWriter& w) { w.number("llama.logit_scale", NAN); }),
            "the key llama.logit_scale is not supported by this architecture (expected none, found nan)");
        row("A13: a cap that is no number", with([](GgufWriter& w) { w.number("llama.attn_logit_softcapping", NAN); }),
            "'llama.attn_logit_softcapping' is not supported by this architecture (expected none, found nan)");
        row("one bias of three",
            with([](GgufWriter& w) { w.tensor("blk.0.attn_v.bias", {16}, std::vector<float>(16)); }),
            "tensor 'blk.0.attn_q.bias' is missing (expected a tensor of shape [64])");
        for (const char* stranger :
             {"blk.1.attn_q.bias", "blk.0.ffn_down.scale", "blk.1.attn_q_norm.weight", "blk.0.attn_sinks.weight",
              "output.bias", "output.scale", "output_norm.bias", "token_embd_norm.weight", "position_embd.weight"})
            row(stranger,
                with([name = std::string(stranger)](GgufWriter& w) { w.tensor(name, {64}, std::vector<float>(64)); }),
                ("tensor '" + std::string(stranger) +
                 "' would change what the model computes, and this architecture, "
                 "as it is configured, has no such tensor")
                    .c_str());
        row("a factor of 0", with([](GgufWriter& w) {
                w.tensor("rope_freqs.weight", {8}, {1, 1, 1, 1, 1, 1, 1, 0});
            }),
            "a factor in tensor 'rope_freqs.weight' is not usable");
    }
    void refused() {
        QFETCH(std::function<void(GgufWriter&)>, write);
        QFETCH(QString, sentence);
        GgufWriter w;
        write(w);
        const std::filesystem::path path = file("refused", w);
        const std::string found =
            errorOf([&] { network::openOnCpu(path, std::make_shared<tests::CountingTokenizer>(300), {}, {}); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(path.string()), found.c_str());
        for (const char* foreign : {"hidden_size", "num_", "model.layers", "rope_", "partial_rotary", "config.json"})
            if (sentence.indexOf(foreign) < 0) QVERIFY2(found.find(foreign) == std::string::npos, found.c_str());
    }

    void mixtureOfExpertsByItsName() {
        const std::string path = "models/stories260K-mixtral-tuned/gguf/stories260K-mixtral-tuned-f32.gguf";
        REQUIRE_SHARED(path);
        QVERIFY(errorOf([&] { openGguf(tests::shared(path)); }).find("a mixture of experts is not supported") !=
                std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestGgufConfig)
#include "tst_ggufconfig.moc"
