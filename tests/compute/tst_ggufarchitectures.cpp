// Every architecture that a GGUF file may name: the toy models of tests/data/architectures, written as llama.cpp's
// converter writes them (names, turned and fused matrices, query and key rows in pairs, 1 + w), against the logits that
// transformers gives for their directories.
#include <cmath>

#include "tests/support/fixture.h"
#include "tests/support/ggufsource.h"
#include "tests/support/goldenmodel.h"

using namespace counterpoint;
using compute::Json;
using compute::TokenId;
using tests::allRows;
using tests::GgufWriter;
using tests::GoldenModel;

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

const Pairs kLlamaNames = {{"model.layers.", "blk."},           {"model.embed_tokens", "token_embd"},
                           {"model.norm", "output_norm"},       {"lm_head", "output"},
                           {"input_layernorm", "attn_norm"},    {"post_attention_layernorm", "ffn_norm"},
                           {"self_attn.qkv_proj", "attn_qkv"},  {"self_attn.q_proj", "attn_q"},
                           {"self_attn.k_proj", "attn_k"},      {"self_attn.v_proj", "attn_v"},
                           {"self_attn.o_proj", "attn_output"}, {"self_attn.q_norm", "attn_q_norm"},
                           {"self_attn.k_norm", "attn_k_norm"}, {"mlp.gate_up_proj", "ffn_up"},
                           {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
                           {"mlp.down_proj", "ffn_down"}};
const Pairs kGemmaNames = {{"post_attention_layernorm", "post_attention_norm"},
                           {"pre_feedforward_layernorm", "ffn_norm"},
                           {"post_feedforward_layernorm", "post_ffw_norm"}};
const Pairs kGpt2Names = {{"transformer.h.", "blk."},
                          {"transformer.wte", "token_embd"},
                          {"transformer.wpe", "position_embd"},
                          {"transformer.ln_f", "output_norm"},
                          {"lm_head", "output"},
                          {"ln_1", "attn_norm"},
                          {"ln_2", "ffn_norm"},
                          {"attn.c_attn", "attn_qkv"},
                          {"attn.c_proj", "attn_output"},
                          {"mlp.c_fc", "ffn_up"},
                          {"mlp.c_proj", "ffn_down"}};
const Pairs kNeoxNames = {{"gpt_neox.layers.", "blk."},
                          {"gpt_neox.embed_in", "token_embd"},
                          {"gpt_neox.final_layer_norm", "output_norm"},
                          {"embed_out", "output"},
                          {"input_layernorm", "attn_norm"},
                          {"post_attention_layernorm", "ffn_norm"},
                          {"attention.query_key_value", "attn_qkv"},
                          {"attention.dense", "attn_output"},
                          {"mlp.dense_h_to_4h", "ffn_up"},
                          {"mlp.dense_4h_to_h", "ffn_down"}};

std::string renamed(std::string name, const Pairs& pairs) {
    for (const auto& [from, to] : pairs)
        if (const std::size_t at = name.find(from); at != std::string::npos) name.replace(at, from.size(), to);
    return name;
}

std::vector<float> numbersOf(const tests::ToyTensor& tensor) {
    std::vector<float> numbers(tensor.bytes.size() / sizeof(float));
    std::memcpy(numbers.data(), tensor.bytes.data(), tensor.bytes.size());
    return numbers;
}

std::vector<float> turned(const std::vector<float>& rows, std::int64_t columns) {
    const std::int64_t count = static_cast<std::int64_t>(rows.size()) / columns;
    std::vector<float> out;
    for (std::int64_t c = 0; c < columns; ++c)
        for (std::int64_t r = 0; r < count; ++r) out.push_back(rows[static_cast<std::size_t>(r * columns + c)]);
    return out;
}

/// [H][3][D] rows -> all queries, all keys, all values.
std::vector<float> inBlocks(const std::vector<float>& rows, std::int64_t H, std::int64_t D, std::int64_t columns) {
    std::vector<float> out;
    for (std::int64_t part = 0; part < 3; ++part)
        for (std::int64_t h = 0; h < H; ++h) {
            const auto from = rows.begin() + (h * 3 + part) * D * columns;
            out.insert(out.end(), from, from + D * columns);
        }
    return out;
}

class Converter {
  public:
    Converter(const GoldenModel& model, std::string architecture)
        : m_model(model), m_config(model.config()), m_name(std::move(architecture)) {}

    GgufWriter write() {
        m_to.text("general.architecture", m_name);
        metadata();
        tests::GgufTokens tokens;
        tokens.add("<unk>", tests::GgufTokens::kUnknown);
        for (std::int64_t id = 1; id < m_model.vocabulary(); ++id) tokens.add("w" + std::to_string(id));
        tokens.write(m_to);
        for (const tests::ToyTensor& tensor : m_model.tensors()) convert(tensor);
        return std::move(m_to);
    }

  private:
    const GoldenModel& m_model;
    const Json& m_config;
    std::string m_name;
    GgufWriter m_to;

    bool is(const char* name) const { return m_name == name; }
    bool gemma() const { return m_name.starts_with("gemma"); }
    std::int64_t at(const char* key, const char* other = "") const {
        return m_config.value(key, m_config.value(other, std::int64_t{0}));
    }
    std::int64_t heads() const { return at("num_attention_heads", "n_head"); }
    std::int64_t headDim() const { return m_config.value("head_dim", at("hidden_size", "n_embd") / heads()); }

    void whole(const char* key, std::int64_t value) {
        if (value > 0) m_to.whole(m_name + "." + key, static_cast<std::uint32_t>(value));
    }
    void number(const char* key, const char* of) {
        if (m_config.contains(of) && m_config.at(of).is_number())
            m_to.number(m_name + "." + key, m_config.at(of).get<float>());
    }

    void metadata() {
        const std::int64_t C = at("hidden_size", "n_embd");
        whole("block_count", at("num_hidden_layers", "n_layer"));
        whole("context_length", at("max_position_embeddings", "n_positions"));
        whole("embedding_length", C);
        whole("feed_forward_length", is("gpt2") ? 4 * C : at("intermediate_size"));
        whole("attention.head_count", heads());
        whole("attention.head_count_kv", at("num_key_value_heads"));
        whole("attention.key_length", at("head_dim"));
        whole("attention.value_length", at("head_dim"));
        number("attention.layer_norm_rms_epsilon", "rms_norm_eps");
        number("attention.layer_norm_epsilon", "layer_norm_eps");
        number("attention.layer_norm_epsilon", "layer_norm_epsilon");
        number("rope.freq_base", "rope_theta");
        number("rope.freq_base_swa", "rope_local_base_freq");
        number("attn_logit_softcapping", "attn_logit_softcapping");
        number("final_logit_softcapping", "final_logit_softcapping");
        if (is("gptneox")) m_to.flag("gptneox.use_parallel_residual", m_config.at("use_parallel_residual"));
        const double part = m_config.value("rotary_pct", m_config.value("partial_rotary_factor", 1.0));
        if (!is("gpt2")) whole("rope.dimension_count", std::llround(part * static_cast<double>(headDim())));
        if (gemma()) whole("attention.sliding_window", at("sliding_window"));
        if (is("phi3")) {  // written as 0 where there is none
            const Json& window = m_config.at("sliding_window");
            m_to.whole("phi3.attention.sliding_window", window.is_null() ? 0 : window.get<std::uint32_t>());
            whole("rope.scaling.original_context_length", at("max_position_embeddings"));
        }
        if (is("gemma3")) {
            whole("attention.sliding_window_pattern", at("sliding_window_pattern"));
            m_to.text("gemma3.rope.scaling.type", "linear");
            m_to.number("gemma3.rope.scaling.factor", m_config.at("rope_scaling").at("factor").get<float>());
        }
    }

    void convert(const tests::ToyTensor& tensor) {
        Pairs names = gemma() ? kGemmaNames : Pairs();
        const Pairs& more = is("gpt2") ? kGpt2Names : is("gptneox") ? kNeoxNames : kLlamaNames;
        names.insert(names.end(), more.begin(), more.end());
        const std::string name = renamed(tensor.name, names);
        std::vector<float> numbers = numbersOf(tensor);
        std::vector<std::uint64_t> shape(tensor.shape.begin(), tensor.shape.end());
        const std::int64_t columns = shape.size() == 1 ? 1 : tensor.shape.back();
        if (is("llama") && tests::standsInPairs(tensor.name)) numbers = tests::inPairs(numbers, headDim(), columns);
        if (is("gpt2") && shape.size() == 2 && name.starts_with("blk.")) {
            numbers = turned(numbers, columns);
            std::swap(shape[0], shape[1]);
        }
        if (is("gptneox") && name.find("attn_qkv") != std::string::npos)
            numbers = inBlocks(numbers, heads(), headDim(), columns);
        if (gemma() && name.find("norm") != std::string::npos)
            for (float& w : numbers) w += 1.0F;
        // These files have no query_pre_attn_scalar but the size of a head: the toys' is another, so their queries are
        // made as much larger.
        if (name.find(is("gemma3") ? "attn_q_norm" : is("gemma2") ? "attn_q." : "none") != std::string::npos)
            for (float& w : numbers)
                w *= static_cast<float>(
                    std::sqrt(static_cast<double>(headDim()) / m_config.at("query_pre_attn_scalar").get<double>()));
        m_to.tensor(name, shape, numbers);
    }
};

}  // namespace

class TestGgufArchitectures : public QObject, tests::GgufFolder {
    Q_OBJECT

    std::unique_ptr<compute::Source> openAs(const GoldenModel& model, const std::string& architecture) const {
        return tests::openGguf(file(architecture, Converter(model, architecture).write()));
    }

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void goldenLogits_data() {
        QTest::addColumn<QString>("toy");
        QTest::addColumn<QString>("architecture");
        QTest::addColumn<QString>("name");
        const auto row = [](const char* toy, const char* architecture, const char* name) {
            QTest::newRow(toy) << toy << architecture << name;
        };
        row("llama", "llama", "LlamaForCausalLM");
        row("llama-tied-biases", "llama", "LlamaForCausalLM");
        row("mistral", "llama", "LlamaForCausalLM");
        row("smollm", "llama", "LlamaForCausalLM");
        row("qwen2", "qwen2", "Qwen2ForCausalLM");
        row("qwen3", "qwen3", "Qwen3ForCausalLM");
        row("gemma2", "gemma2", "Gemma2ForCausalLM");
        row("gemma3", "gemma3", "Gemma3ForCausalLM");
        row("gpt2", "gpt2", "GPT2LMHeadModel");
        row("gpt-neox", "gptneox", "GPTNeoXForCausalLM");
        row("phi3", "phi3", "Phi3ForCausalLM");
        row("phi3-plain", "phi3", "Phi3ForCausalLM");
    }
    void goldenLogits() {
        QFETCH(QString, toy);
        QFETCH(QString, architecture);
        QFETCH(QString, name);
        const GoldenModel model(toy.toStdString());
        const auto source = openAs(model, architecture.toStdString());
        QCOMPARE(QString::fromStdString(source->info().architecture), name);
        QVERIFY2(source->info().notices.empty(),
                 source->info().notices.empty() ? "" : source->info().notices[0].c_str());
        const double distance = model.distance(allRows(*source, model.ids(), 0), "float32");
        QVERIFY2(distance < 3e-5, qPrintable(QString::number(distance)));
    }

    /// What no golden model can tell in these files: against the directory with the same changed key.
    void neoxOptions_data() {
        QTest::addColumn<QString>("key");
        QTest::addColumn<QString>("value");
        QTest::newRow("sequential residuals") << "use_parallel_residual"
                                              << "false";
        QTest::newRow("the whole head turned") << "rotary_pct"
                                               << "1.0";
    }
    void neoxOptions() {
        QFETCH(QString, key);
        QFETCH(QString, value);
        GoldenModel model("gpt-neox");
        const std::vector<TokenId> ids(tests::someIds(60, static_cast<TokenId>(model.vocabulary())));
        const std::vector<float> before = allRows(*openAs(model, "gptneox"), ids, 0);
        model.config()[key.toStdString()] = Json::parse(value.toStdString());
        model.write(folder("directory"));
        const auto directory = tests::open(folder("directory"), {}, model.vocabulary());
        const std::vector<float> found = allRows(*openAs(model, "gptneox"), ids, 0);
        QCOMPARE(found, allRows(*directory, ids, 0));
        QVERIFY(found != before);
    }
};

QTEST_GUILESS_MAIN(TestGgufArchitectures)
#include "tst_ggufarchitectures.moc"
