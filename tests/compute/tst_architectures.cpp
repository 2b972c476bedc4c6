// Every row and option of the table of architectures against the logits that transformers gives for the same toy model
// (tests/data/architectures, made by make.py), on the processor's own path and on the device's, in float32 and
// bfloat16; and that a text may be fed in any pieces. HAZARDS A9, A11, A12, A13.
#include <functional>
#include <set>
#include <tuple>

#include "compute/network/architectures.h"
#include "compute/sources/modules.h"
#include "compute/sources/source.h"
#include "tests/support/fixture.h"
#include "tests/support/goldenmodel.h"
#include "tests/support/scratch.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::DType;
using compute::OpenOptions;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::GoldenModel;

class TestArchitectures : public QObject, tests::Scratch {
    Q_OBJECT

    std::unique_ptr<compute::Source> openHere(const std::string& device = "cpu") const {
        OpenOptions options;
        options.device = device;
        return compute::openSource(folder(), options, {});
    }

    /// The distance of a model from its golden logits after `change` of its config.json. Biases that the change says
    /// there are none of are not in its files.
    double distanceWith(const std::string& name, const std::function<void(compute::Json&)>& change) {
        GoldenModel model(name);
        change(model.config());
        for (const auto& [key, part] : {std::pair("attention_bias", "self_attn."), std::pair("qkv_bias", "self_attn."),
                                        std::pair("mlp_bias", "mlp.")})
            if (model.config().value(key, compute::Json()) == false)
                model.leaveOut([part = std::string(part)](const std::string& tensor) {
                    return tensor.ends_with(".bias") && tensor.find(part) != std::string::npos;
                });
        model.write(folder());
        return model.distance(allRows(*openHere(), model.ids(), 0), "float32");
    }

  private Q_SLOTS:
    void init() {
        tests::failOnAnyWarning();
        renew();
    }

    void goldenLogits_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<QString>("device");
        QTest::addColumn<double>("bound");
        for (const std::string& name : tests::goldenNames()) {
            const QString n = QString::fromStdString(name);
            // gelu and its tanh form are 9e-5 apart in these models
            const double wide = name.starts_with("gpt") ? 3e-5 : 2e-4;
            using Way = std::tuple<const char*, const char*, const char*, double>;
            for (const auto& [also, dtype, device, bound] :
                 {Way("", "float32", "cpu", wide), Way(", bfloat16", "bfloat16", "cpu", wide),
                  Way(", ATen", "float32", "cpu-aten", wide), Way(", ATen, bfloat16", "bfloat16", "cpu-aten", 2e-2)})
                QTest::addRow("%s%s", name.c_str(), also) << n << dtype << device << bound;
        }
    }
    void goldenLogits() {
        QFETCH(QString, name);
        QFETCH(QString, dtype);
        QFETCH(QString, device);
        QFETCH(double, bound);
        const GoldenModel model(name.toStdString());
        model.write(folder(), dtype == "float32" ? DType::F32 : DType::BF16);
        const auto source = openHere(device.toStdString());
        QCOMPARE(QString::fromStdString(source->info().dtype), dtype);
        QVERIFY2(source->info().notices.empty(),
                 source->info().notices.empty() ? "" : source->info().notices[0].c_str());
        const bool normalised = device == "cpu-aten";  // the device gives log-probabilities
        const double distance = model.distance(allRows(*source, model.ids(), 0), dtype.toStdString(), normalised);
        QVERIFY2(distance < bound, qPrintable(QString::number(distance)));
    }

    /// Where rounding tips a choice of experts, one position may be far off. Over all of them, bfloat16 throughout goes
    /// no further than transformers' own does.
    void bfloat16GoesNoFurther_data() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : tests::goldenNames())
            if (GoldenModel(name).bfloat16Apart()) QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
    }
    void bfloat16GoesNoFurther() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        model.write(folder(), DType::BF16);
        const double apart = model.typicalDistance(allRows(*openHere("cpu"), model.ids(), 0),
                                                   allRows(*openHere("cpu-aten"), model.ids(), 0));
        QVERIFY2(apart > 1e-3 && apart < *model.bfloat16Apart(), qPrintable(QString::number(apart)));
    }

    /// An option changed or left out moves the logits by ten tolerances: the numbers can tell. (What it moves is the
    /// Shape, which both paths take.)
    void everyOptionMoves_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("patch");
        const auto row = [](const char* name, const char* patch) {
            QTest::addRow("%s %s", name, patch) << name << patch;
        };
        row("llama", R"({"rope_theta":10500})");
        row("llama", R"({"rms_norm_eps":0.01})");
        row("llama-tied-biases", R"({"attention_bias":false})");
        row("llama-tied-biases", R"({"mlp_bias":false})");
        row("llama-linear", R"({"rope_scaling":null})");
        row("llama-dynamic", R"({"rope_scaling":null,"max_position_embeddings":2048})");
        row("llama-dynamic", R"({"rope_scaling":{"factor":4.1}})");
        row("llama-llama3", R"({"rope_scaling":null})");
        row("llama-llama3", R"({"rope_scaling":{"factor":9}})");
        row("llama-llama3", R"({"rope_scaling":{"low_freq_factor":1.5}})");
        row("llama-llama3", R"({"rope_scaling":{"high_freq_factor":5}})");
        row("llama-llama3", R"({"rope_scaling":{"original_max_position_embeddings":128}})");
        row("llama-yarn", R"({"rope_scaling":null,"max_position_embeddings":2048})");
        row("llama-yarn", R"({"rope_scaling":{"attention_factor":1}})");
        row("llama-yarn-options", R"({"rope_parameters":{"beta_fast":null}})");
        row("llama-yarn-options", R"({"rope_parameters":{"beta_slow":null}})");
        row("llama-yarn-options", R"({"rope_parameters":{"truncate":true}})");
        row("llama-yarn-options", R"({"rope_parameters":{"mscale":null}})");
        row("llama-yarn-options", R"({"rope_parameters":{"rope_theta":500}})");
        row("llama-yarn-stated", R"({"rope_parameters":{"attention_factor":null}})");
        row("smollm", R"({"rope_theta":null})");
        row("mistral", R"({"sliding_window":1000})");
        row("mistral-window", R"({"sliding_window":null})");
        row("mistral-window", R"({"sliding_window":65})");
        row("qwen2", R"({"use_sliding_window":true,"max_window_layers":2})");
        row("qwen2-window", R"({"use_sliding_window":false})");
        row("qwen2-window", R"({"sliding_window":99})");
        row("qwen2-window", R"({"max_window_layers":1})");
        row("qwen3-layer-types", R"({"layer_types":["sliding_attention","full_attention","full_attention"]})");
        row("qwen3-layer-types", R"({"attention_bias":false})");
        row("smollm3", R"({"no_rope_layers":[1,1,1]})");
        row("gpt2", R"({"layer_norm_epsilon":0.01})");
        row("gpt2-options", R"({"scale_attn_weights":true})");
        row("gpt2-options", R"({"activation_function":"silu"})");
        row("gemma2", R"({"attn_logit_softcapping":null})");
        row("gemma2", R"({"final_logit_softcapping":null})");
        row("gemma2", R"({"query_pre_attn_scalar":16})");
        row("gemma2", R"({"sliding_window":101})");
        row("gemma2", R"({"hidden_activation":"silu"})");
        row("gemma2-uncapped", R"({"layer_types":null})");
        row("gemma2-uncapped", R"({"attention_bias":false})");
        row("gemma3", R"({"rope_scaling":null})");
        row("gemma3", R"({"rope_theta":null,"rope_local_base_freq":null})");
        row("gemma3", R"({"rope_theta":10000})");
        row("gemma3", R"({"sliding_window_pattern":2})");
        row("gemma3-layer-types", R"({"final_logit_softcapping":null})");
        row("gemma3-layer-types", R"({"rope_parameters":{"sliding_attention":{"rope_theta":20000}}})");
        row("gemma3-layer-types", R"({"rope_parameters":{"full_attention":{"rope_theta":300}}})");
        row("gpt-neox", R"({"use_parallel_residual":false})");
        row("gpt-neox", R"({"rotary_pct":0.5})");
        row("gpt-neox", R"({"rotary_emb_base":11000})");
        row("gpt-neox-options", R"({"rope_scaling":null})");
        row("gpt-neox-options", R"({"rotary_pct":null})");
        row("gpt-neox-options", R"({"use_parallel_residual":true})");
        row("phi3", R"({"partial_rotary_factor":0.5})");
        row("phi3", R"({"sliding_window":null})");
        row("mixtral", R"({"num_experts_per_tok":1})");
        row("mixtral", R"({"num_experts_per_tok":3})");
        row("mixtral", R"({"rope_theta":null})");
        row("mixtral-window", R"({"sliding_window":65})");
        row("olmoe", R"({"norm_topk_prob":true})");
        row("olmoe", R"({"num_experts_per_tok":2})");
        row("olmoe-normalised", R"({"norm_topk_prob":null})");
        row("olmoe-normalised", R"({"attention_bias":false})");
        row("qwen2-moe", R"({"norm_topk_prob":true})");
        row("qwen2-moe", R"({"qkv_bias":false})");
        row("qwen2-moe-options", R"({"norm_topk_prob":null})");
        row("qwen2-moe-options", R"({"use_sliding_window":false})");
        row("qwen2-moe-options", R"({"max_window_layers":3})");
        row("qwen3-moe", R"({"norm_topk_prob":null})");
        row("qwen3-moe", R"({"norm_topk_prob":false})");
        row("qwen3-moe-options", R"({"sliding_window":71})");
        row("qwen3-moe-options", R"({"attention_bias":false})");
    }
    void everyOptionMoves() {
        QFETCH(QString, name);
        QFETCH(QString, patch);
        const auto change = [&](compute::Json& config) {
            compute::Json merged = compute::Json::parse(patch.toStdString());
            for (const auto& [key, value] : merged.items())
                if (value.is_object())
                    for (const auto& [inner, setting] : value.items())
                        if (setting.is_object())
                            config[key][inner].update(setting);
                        else
                            config[key][inner] = setting;
                else
                    config[key] = value;
        };
        const double distance = distanceWith(name.toStdString(), change);
        QVERIFY2(distance > 2e-3, qPrintable(QString::number(distance)));
    }

    void refusedByName_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("patch");
        QTest::addColumn<QStringList>("said");
        const auto row = [](const char* name, const char* patch, QStringList said) {
            QTest::addRow("%s %s", name, patch) << name << patch << said;
        };
        row("gpt2", R"({"scale_attn_by_inverse_layer_idx":true})", {"scale_attn_by_inverse_layer_idx"});
        row("gpt2", R"({"n_head":5})", {"n_embd", "48 and 5"});
        row("gpt2", R"({"activation_function":"relu"})", {"'relu'", "activation_function"});
        row("gpt2", R"({"n_inner":100})", {"transformer.h.0.mlp.c_fc", "[48, 100]", "[48, 192]"});
        row("gpt2", R"({"n_positions":4096})", {"transformer.wpe.weight", "[4096, 48]", "[2048, 48]"});
        row("gemma2", R"({"use_bidirectional_attention":true})", {"use_bidirectional_attention"});
        row("gemma2", R"({"head_dim":null})", {"q_proj", "[1024, 48]", "[64, 48]"});  // A12: the family's own default
        row("gemma2", R"({"query_pre_attn_scalar":0})", {"query_pre_attn_scalar"});
        row("gemma3", R"({"rope_parameters":{"rope_type":"linear","factor":8}})",
            {"rope_parameters", "full_attention"});
        row("gemma3", R"({"rope_scaling":{"rope_type":"foo"}})", {"'foo'"});
        row("gpt-neox", R"({"num_key_value_heads":2})", {"heads", "2 of 16"});
        row("gpt-neox", R"({"rotary_pct":0.2})", {"turned part", "0.2 of 16"});
        row("gpt-neox", R"({"rotary_pct":1.5})", {"turned part", "1.5 of 16"});
        row("phi3", R"({"rope_scaling":{"type":"longrope"}})", {"'longrope'"});
        row("phi3", R"({"rope_scaling":{"type":"linear","factor":2}})", {"linear", "this architecture"});
        row("qwen3", R"({"rope_scaling":{"rope_type":"foo"}})", {"'foo'"});
        row("qwen3", R"({"partial_rotary_factor":0.5})", {"partial_rotary_factor", "0.5"});
        row("qwen3", R"({"num_experts":8})", {"mixture of experts"});
        row("qwen3", R"({"head_dim":12})", {"q_proj", "[48, 48]", "[64, 48]"});  // A12
        row("mistral", R"({"attention_bias":true})", {"attention_bias"});
        row("smollm3", R"({"no_rope_layers":[1,0]})", {"no_rope_layers"});
        row("llama-tied-biases", R"({"num_attention_heads":5})", {"head size", "64 / 5"});
        // Tensors that a changed option leaves no use for would change the arithmetic.
        row("llama-tied-biases", R"({"attention_bias":false})", {"self_attn.k_proj.bias", "would change"});
        row("llama-tied-biases", R"({"mlp_bias":false})", {"mlp.down_proj.bias", "would change"});
        row("qwen3-layer-types", R"({"attention_bias":false})", {"self_attn.k_proj.bias", "would change"});
        row("qwen2-moe", R"({"qkv_bias":false})", {"self_attn.k_proj.bias", "would change"});
        for (const char* name : {"gemma2-uncapped", "olmoe-normalised", "qwen3-moe-options"})
            row(name, R"({"attention_bias":false})", {"self_attn.k_proj.bias", "would change"});
        row("mixtral", R"({"norm_topk_prob":false})", {"norm_topk_prob", "sum to 1"});
        row("mixtral", R"({"num_experts_per_tok":7})", {"num_experts_per_tok", "1 to 6", "7"});
        row("mixtral", R"({"num_local_experts":0})", {"num_local_experts"});
        row("mixtral", R"({"num_local_experts":7})", {"block_sparse_moe.gate.weight", "[7, 48]", "[6, 48]"});
        row("mixtral", R"({"num_experts":4})", {"num_experts", "num_local_experts", "4 and 6"});
        row("mixtral", R"({"decoder_sparse_step":2})", {"decoder_sparse_step", "this architecture"});
        row("mixtral", R"({"attention_bias":true})", {"attention_bias"});
        row("mixtral", R"({"intermediate_size":81})", {"experts.0.w1.weight", "[81, 48]", "[80, 48]"});
        row("olmoe", R"({"clip_qkv":8.0})", {"clip_qkv", "8.0"});
        row("olmoe", R"({"mlp_only_layers":[0]})", {"mlp_only_layers", "an empty list"});
        row("olmoe", R"({"sliding_window":64})", {"sliding_window", "64"});
        row("olmoe", R"({"shared_expert_intermediate_size":64})", {"shared_expert_intermediate_size", "64"});
        row("olmoe", R"({"norm_topk_prob":1})", {"norm_topk_prob", "true or false"});
        row("olmoe", R"({"num_key_value_heads":4})", {"k_proj", "[48, 48]", "[24, 48]"});
        row("qwen2-moe", R"({"shared_expert_intermediate_size":57})", {"shared_expert.gate_proj", "[57, 48]"});
        row("qwen2-moe", R"({"mlp_only_layers":[0]})", {"model.layers.0.mlp.gate_proj.weight", "missing"});
        row("qwen2-moe", R"({"mlp_only_layers":"all"})", {"mlp_only_layers", "a list of layers"});
        row("qwen2-moe", R"({"mlp_only_layers":[-1]})", {"mlp_only_layers", "a list of layers"});
        row("qwen2-moe", R"({"decoder_sparse_step":0})", {"decoder_sparse_step"});
        row("qwen2-moe", R"({"num_experts":9})", {"mlp.gate.weight", "[9, 48]", "[8, 48]"});
        row("qwen2-moe", R"({"routed_scaling_factor":2.5})", {"routed_scaling_factor", "2.5"});
        row("qwen2-moe", R"({"attention_bias":true})", {"attention_bias"});
        row("qwen3-moe", R"({"moe_intermediate_size":null})", {"experts.0.gate_proj", "[768, 48]", "[40, 48]"});
        row("qwen3-moe", R"({"scoring_func":"sigmoid"})", {"scoring_func", "softmax", "sigmoid"});
        row("qwen3-moe", R"({"n_group":4})", {"n_group", "4"});
        row("qwen3-moe", R"({"n_shared_experts":1})", {"n_shared_experts", "1"});
        row("llama", R"({"router_logit_softcapping":30.0})", {"router_logit_softcapping"});
    }
    void refusedByName() {
        QFETCH(QString, name);
        QFETCH(QString, patch);
        QFETCH(QStringList, said);
        GoldenModel model(name.toStdString());
        model.config().update(compute::Json::parse(patch.toStdString()));
        model.write(folder());
        const std::string text = errorOf([&] { (void)openHere(); });
        for (const QString& word : said)
            QVERIFY2(text.find(word.toStdString()) != std::string::npos,
                     (text + " lacks " + word.toStdString()).c_str());
    }

    /// Files of older or other writers: names without the outer prefix, constants nobody needs, another name of the
    /// head.
    void namesOfOtherWriters_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("from");
        QTest::addColumn<QString>("to");
        QTest::addColumn<QString>("constant");
        QTest::newRow("GPT-2 without its prefix") << "gpt2"
                                                  << "transformer."
                                                  << ""
                                                  << "h.1.attn.bias";
        QTest::newRow("GPT-2 with masks") << "gpt2"
                                          << ""
                                          << ""
                                          << "transformer.h.0.attn.masked_bias";
        QTest::newRow("Qwen3 without its prefix") << "qwen3"
                                                  << "model."
                                                  << ""
                                                  << "layers.0.self_attn.rotary_emb.inv_freq";
        QTest::newRow("GPT-NeoX with a newer head") << "gpt-neox"
                                                    << "embed_out."
                                                    << "lm_head."
                                                    << "gpt_neox.layers.1.attention.bias";
    }
    void namesOfOtherWriters() {
        QFETCH(QString, name);
        QFETCH(QString, from);
        QFETCH(QString, to);
        QFETCH(QString, constant);
        const GoldenModel model(name.toStdString());
        const auto rename = [&](const std::string& tensor) {
            return tensor.starts_with(from.toStdString()) ? to.toStdString() + tensor.substr(from.toStdString().size())
                                                          : tensor;
        };
        model.write(folder(), DType::F32, rename, {tests::randomTensor(constant.toStdString(), {4}, 1)});
        const auto source = openHere();
        QVERIFY2(source->info().notices.empty(),
                 source->info().notices.empty() ? "" : source->info().notices[0].c_str());
        QVERIFY(model.distance(allRows(*source, model.ids(), 0), "float32") < 2e-4);
    }

    void scalingInUseIsShown() {
        for (const auto& [name, shown] :
             {std::pair{"llama", ""}, std::pair{"gpt2", ""},
              std::pair{"llama-llama3", "llama3, factor 8, original length 64"},
              std::pair{"llama-dynamic", "dynamic, factor 4 beyond 512"}, std::pair{"gemma3", "linear, factor 8"}}) {
            GoldenModel(name).write(folder());
            QCOMPARE(openHere()->info().positionScaling, std::string(shown));
        }
        GoldenModel("llama-dynamic").write(folder());
        QCOMPARE(openHere()->info().maxPositions, 2048);  // 4 · 512
        GoldenModel("llama-yarn").write(folder());
        QCOMPARE(openHere()->info().maxPositions, 2048);  // 8 · 256
    }

    void everyRowHasAModel() {
        std::set<std::string_view> rows, models;
        for (const network::Architecture* a : network::architectures()) rows.insert(a->name);
        std::vector<GoldenModel> kept;
        for (const std::string& name : tests::goldenNames()) kept.emplace_back(name);
        for (const GoldenModel& m : kept)
            models.insert(m.config().at("architectures").at(0).get_ref<const std::string&>());
        QVERIFY(rows == models);
    }

    /// One by one, in pieces, without a cache, after a rewind: the same bits, past windows and scaled positions too.
    void sameBitsHoweverFed_data() {
        QTest::addColumn<QString>("name");
        for (const std::string& name : tests::goldenNames())
            QTest::addRow("%s", name.c_str()) << QString::fromStdString(name);
    }
    void sameBitsHoweverFed() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        model.write(folder());
        std::vector<TokenId> ids = model.ids();
        ids.resize(name == "llama-dynamic" ? 600 : 200);
        const auto source = openHere();
        const std::vector<float> once = allRows(*source, ids, 0);
        const auto V = static_cast<std::ptrdiff_t>(model.vocabulary());
        source->rewind(0);
        QCOMPARE(allRows(*source, ids, 1), once);
        source->rewind(0);
        QCOMPARE(allRows(*source, ids, 7), once);
        source->rewind(33);
        QCOMPARE(allRows(*source, {ids.begin() + 33, ids.end()}, 65),
                 std::vector<float>(once.begin() + 33 * V, once.end()));
        OpenOptions options;
        options.cache = false;
        QCOMPARE(allRows(*compute::openSource(folder(), options, {}), ids, 50), once);
    }

    /// The device path in steps and after a rewind agrees with itself at once.
    void deviceStepsAgree_data() { sameBitsHoweverFed_data(); }
    void deviceStepsAgree() {
        QFETCH(QString, name);
        const GoldenModel model(name.toStdString());
        model.write(folder());
        std::vector<TokenId> ids = model.ids();
        ids.resize(150);
        const auto source = openHere("cpu-aten");
        const std::vector<float> once = allRows(*source, ids, 0);
        source->rewind(0);
        std::vector<float> steps = allRows(*source, {ids.begin(), ids.begin() + 120}, 50);
        source->rewind(90);
        steps.resize(90 * static_cast<std::size_t>(model.vocabulary()));
        const std::vector<float> rest = allRows(*source, {ids.begin() + 90, ids.end()}, 1);
        steps.insert(steps.end(), rest.begin(), rest.end());
        float largest = 0, worst = 0;
        for (std::size_t i = 0; i < once.size(); ++i) {
            largest = std::max(largest, std::abs(once[i]));
            worst = std::max(worst, std::abs(once[i] - steps[i]));
        }
        QVERIFY2(worst < 2e-4f * largest, qPrintable(QString::number(worst / largest)));
    }
};

QTEST_GUILESS_MAIN(TestArchitectures)
#include "tst_architectures.moc"
