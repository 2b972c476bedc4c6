// What a config.json that says little stands for, and rotary frequencies at the ends of their scalings: expected values
// are those of transformers 5.24 (the defaults of its config classes, layer_types and ROPE_INIT_FUNCTIONS of the same
// settings). HAZARDS A11, A12, A13.
#include <array>
#include <cmath>

#include "compute/network/architectures.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using compute::Json;
using network::Activation;
using network::Shape;

namespace {

Shape shapeOf(const QString& architecture, const QString& patch) {
    Json json = {{"vocab_size", 300},      {"hidden_size", 64},        {"intermediate_size", 64},
                 {"num_hidden_layers", 8}, {"num_attention_heads", 4}, {"max_position_embeddings", 8192}};
    if (architecture == "GPT2LMHeadModel") json = {{"vocab_size", 300}, {"n_embd", 64}, {"n_layer", 2}, {"n_head", 4}};
    json.update(Json::parse(patch.toStdString()));
    for (const network::Architecture* row : network::architectures())
        if (row->name == architecture.toStdString()) return row->shape({json, "config.json"});
    return {};
}

/// The windows of all layers: "4096 0 4096".
QString windows(const Shape& s) {
    QStringList all;
    for (const network::LayerKind& kind : s.kinds) all << QString::number(kind.window);
    return all.join(' ');
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

}  // namespace

class TestNetworkShapes : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void defaults_data() {
        QTest::addColumn<QString>("architecture");
        QTest::addColumn<std::function<bool(const Shape&)>>("holds");
        const auto row = [](const char* architecture, std::function<bool(const Shape&)> holds) {
            QTest::newRow(architecture) << architecture << holds;
        };
        row("LlamaForCausalLM", [](const Shape& s) {
            return s.normEpsilon == 1e-6F && !s.tiedHead && s.rotaries[0].base == 10'000.0 && s.keyValueHeads == 4 &&
                   !s.queryKeyValueBias && !s.outputBias && !s.mlpBias && s.activation == Activation::Silu;
        });
        row("Qwen2ForCausalLM", [](const Shape& s) { return s.queryKeyValueBias && !s.outputBias && !s.tiedHead; });
        row("Qwen3ForCausalLM", [](const Shape& s) { return s.headDim == 128 && !s.queryKeyValueBias; });
        row("SmolLM3ForCausalLM", [](const Shape& s) {
            return s.tiedHead && s.rotaries[0].base == 2'000'000.0 && s.kinds[2].rotary == 0 &&
                   s.kinds[3].rotary == -1 && s.kinds[4].rotary == 0 && s.kinds[7].rotary == -1;
        });
        row("Phi3ForCausalLM", [](const Shape& s) { return s.normEpsilon == 1e-5F && !s.tiedHead; });
        row("Gemma2ForCausalLM", [](const Shape& s) {
            return s.headDim == 256 && s.attentionScale == 1.0F / 16.0F && s.attentionCap == 50.0F &&
                   s.logitCap == 30.0F && s.tiedHead && s.activation == Activation::GeluTanh;
        });
        row("Gemma3ForCausalLM", [](const Shape& s) {
            return s.headDim == 256 && s.attentionScale == 1.0F / 16.0F && s.attentionCap == 0.0F &&
                   s.logitCap == 0.0F && s.rotaries[0].base == 1'000'000.0 && s.rotaries[1].base == 10'000.0 &&
                   s.kinds[4].rotary == 1 && s.kinds[5].rotary == 0;
        });
        row("GPT2LMHeadModel", [](const Shape& s) {
            return s.maxPositions == 1024 && s.normEpsilon == 1e-5F && s.activation == Activation::GeluTanh &&
                   s.tiedHead && s.attentionScale == 0.25F && s.intermediate == 256;
        });
        row("GPTNeoXForCausalLM", [](const Shape& s) {
            return s.rotaries[0].frequencies.size() == 2 && s.parallelResidual && s.activation == Activation::Gelu &&
                   s.normEpsilon == 1e-5F && s.queryKeyValueBias && s.outputBias && !s.tiedHead;
        });
    }
    void defaults() {
        QFETCH(QString, architecture);
        QFETCH(std::function<bool(const Shape&)>, holds);
        QVERIFY(holds(shapeOf(architecture, "{}")));
    }

    void defaultsOfMixtures_data() {
        QTest::addColumn<QString>("architecture");
        QTest::addColumn<std::function<bool(const Shape&)>>("holds");
        const auto row = [](const char* architecture, std::function<bool(const Shape&)> holds) {
            QTest::newRow(architecture) << architecture << holds;
        };
        const auto is = [](const network::Mixture& m, std::array<std::int64_t, 4> sizes, bool normTopkProb) {
            return std::array{m.experts, m.chosen, m.width, m.sharedWidth} == sizes && m.normTopkProb == normTopkProb;
        };
        row("MixtralForCausalLM", [=](const Shape& s) {
            return is(s.mixture, {8, 2, 64, 0}, true) && s.normEpsilon == 1e-5F && s.rotaries[0].base == 1'000'000.0;
        });
        row("OlmoeForCausalLM", [=](const Shape& s) {
            return is(s.mixture, {64, 8, 64, 0}, false) && s.normEpsilon == 1e-5F && s.headNormsAsOne;
        });
        row("Qwen2MoeForCausalLM", [=](const Shape& s) {
            return is(s.mixture, {60, 4, 1408, 5632}, false) && s.queryKeyValueBias && !s.outputBias;
        });
        row("Qwen3MoeForCausalLM", [=](const Shape& s) {
            return is(s.mixture, {128, 8, 768, 0}, false) && s.headDim == 16 && !s.queryKeyValueBias;
        });
    }
    void defaultsOfMixtures() {
        QFETCH(QString, architecture);
        QFETCH(std::function<bool(const Shape&)>, holds);
        const Shape s = shapeOf(architecture, "{}");
        QVERIFY(holds(s));
        for (const network::LayerKind& kind : s.kinds) QVERIFY(kind.routed);
    }

    /// Which layers are routed: every n-th, and none that is named as an MLP only.
    void routedLayers() {
        const auto routed = [](const char* patch) {
            QString layers;
            for (const network::LayerKind& kind : shapeOf("Qwen3MoeForCausalLM", patch).kinds)
                layers += kind.routed ? '1' : '0';
            return layers;
        };
        QCOMPARE(routed(R"({"decoder_sparse_step":3})"), QString("00100100"));
        QCOMPARE(routed(R"({"decoder_sparse_step":2,"mlp_only_layers":[0,3,9]})"), QString("01000101"));
        QCOMPARE(routed(R"({"num_experts":4,"num_local_experts":4,"num_experts_per_tok":4})"), QString("11111111"));
        // without a routed layer there is nothing to route
        QCOMPARE(shapeOf("Qwen2MoeForCausalLM", R"({"decoder_sparse_step":9})").mixture.experts, std::int64_t{0});
    }

    void windows_data() {
        QTest::addColumn<QString>("architecture");
        QTest::addColumn<QString>("patch");
        QTest::addColumn<QString>("expected");
        const auto row = [](const char* name, const char* architecture, const char* patch, const char* expected) {
            QTest::newRow(name) << architecture << patch << expected;
        };
        row("Mistral", "MistralForCausalLM", R"({"num_hidden_layers":2})", "4096 4096");
        row("Mistral, none", "MistralForCausalLM", R"({"num_hidden_layers":2,"sliding_window":null})", "0 0");
        row("Mistral, all positions", "MistralForCausalLM", R"({"num_hidden_layers":2,"sliding_window":8192})", "0 0");
        row("Llama, all positions", "LlamaForCausalLM", R"({"num_hidden_layers":2,"sliding_window":8192})", "0 0");
        row("Qwen2, not in use", "Qwen2ForCausalLM",
            R"({"num_hidden_layers":2,"sliding_window":64,"max_window_layers":0})", "0 0");
        row("Qwen2, from layer 0", "Qwen2ForCausalLM",
            R"({"num_hidden_layers":2,"use_sliding_window":true,"max_window_layers":0})", "4096 4096");
        row("Qwen2, from layer 28", "Qwen2ForCausalLM", R"({"num_hidden_layers":30,"use_sliding_window":true})",
            "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4096 4096");
        row("SmolLM3", "SmolLM3ForCausalLM", R"({"use_sliding_window":true,"sliding_window":8})", "0 0 0 8 0 0 0 8");
        row("SmolLM3, not in use", "SmolLM3ForCausalLM", R"({"sliding_window":8})", "0 0 0 0 0 0 0 0");
        row("Mixtral", "MixtralForCausalLM", R"({"num_hidden_layers":2})", "0 0");
        row("Mixtral, a window", "MixtralForCausalLM", R"({"num_hidden_layers":2,"sliding_window":64})", "64 64");
        row("Qwen2-MoE", "Qwen2MoeForCausalLM", R"({"sliding_window":0,"max_window_layers":4})", "0 0 0 0 0 0 0 0");
        row("Qwen2-MoE, in use", "Qwen2MoeForCausalLM", R"({"use_sliding_window":true,"max_window_layers":4})",
            "4096 0 4096 0 0 0 0 0");
        row("Qwen3-MoE, in use", "Qwen3MoeForCausalLM", R"({"num_hidden_layers":2,"use_sliding_window":true})",
            "4096 4096");
        row("Gemma 2", "Gemma2ForCausalLM", R"({"num_hidden_layers":3})", "4096 0 4096");
        row("Gemma 3", "Gemma3ForCausalLM", R"({"num_hidden_layers":7})", "4096 4096 4096 4096 4096 0 4096");
    }
    void windows() {
        QFETCH(QString, architecture);
        QFETCH(QString, patch);
        QFETCH(QString, expected);
        QCOMPARE(::windows(shapeOf(architecture, patch)), expected);
    }

    void frequencies_data() {
        QTest::addColumn<QString>("settings");
        QTest::addColumn<QVector<double>>("expected");
        QTest::newRow("yarn, the ramp begins at channel 0")
            << R"("rope_parameters":{"rope_type":"yarn","rope_theta":10000,"factor":4,"original_max_position_embeddings":128})"
            << QVector<double>{1.0, 0.2371708, 0.05, 0.007905695, 0.0025, 0.0007905695, 0.00025, 7.905695e-05};
        QTest::newRow("yarn, the ramp ends beyond the channels")
            << R"("rope_parameters":{"rope_type":"yarn","rope_theta":10,"factor":4,"original_max_position_embeddings":500})"
            << QVector<double>{1.0, 0.7498942, 0.5623413, 0.4216965, 0.2964635, 0.2074952, 0.1444852, 0.1000141};
        QTest::newRow("yarn, a ramp of one point")
            << R"("rope_parameters":{"rope_type":"yarn","rope_theta":10000,"factor":4,"original_max_position_embeddings":6})"
            << QVector<double>{1.0, 0.07905694, 0.025, 0.007905695, 0.0025, 0.0007905695, 0.00025, 7.905695e-05};
        QTest::newRow("llama3")
            << R"("rope_parameters":{"rope_type":"llama3","rope_theta":10000,"factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64})"
            << QVector<double>{1.0, 0.2443846, 0.01304226, 0.003952847, 0.00125, 0.0003952847, 0.000125, 3.952847e-05};
        QTest::newRow("llama3, the original length beside the settings")
            << R"("rope_parameters":{"rope_type":"llama3","rope_theta":10000,"factor":8,"low_freq_factor":1,"high_freq_factor":4,"original_max_position_embeddings":64},"original_max_position_embeddings":128)"
            << QVector<double>{1.0, 0.3162278, 0.04275118, 0.003952847, 0.00125, 0.0003952847, 0.000125, 3.952847e-05};
    }
    void frequencies() {
        QFETCH(QString, settings);
        QFETCH(QVector<double>, expected);
        const std::vector<double> found =
            shapeOf("LlamaForCausalLM", R"({"head_dim":16,)" + settings + "}").rotaries[0].frequencies;
        QCOMPARE(found.size(), static_cast<std::size_t>(expected.size()));
        for (std::size_t i = 0; i < found.size(); ++i)
            QVERIFY2(close(found[i], expected[static_cast<int>(i)]),
                     qPrintable(QString("channel %1: %2").arg(i).arg(found[i], 0, 'g', 9)));
    }

    void refused_data() {
        QTest::addColumn<QString>("patch");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("yarn of a base that shrinks nothing")
            << R"({"rope_theta":1,"rope_scaling":{"rope_type":"yarn","factor":4}})"
            << "the base of yarn's rotary positions is not usable";
        QTest::newRow("yarn without a ramp")
            << R"({"rope_scaling":{"rope_type":"yarn","factor":4,"beta_fast":2,"beta_slow":2}})"
            << "the ramp of yarn has no extent";
        QTest::newRow("two experts") << R"({"num_local_experts":2})"
                                     << "a mixture of experts is not supported";
    }
    void refused() {
        QFETCH(QString, patch);
        QFETCH(QString, sentence);
        const std::string found = tests::errorOf([&] { shapeOf("LlamaForCausalLM", patch); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
    }
    /// One expert is no mixture.
    void oneExpert() { QCOMPARE(shapeOf("LlamaForCausalLM", R"({"num_local_experts":1})").heads, std::int64_t{4}); }
};

QTEST_GUILESS_MAIN(TestNetworkShapes)
#include "tst_network_shapes.moc"
