// Thousands of damaged files, the same in every run: each is opened or refused with one plain line; nothing crashes,
// hangs or leaks another exception. Run under the sanitizers too.
#include "compute/error.h"
#include "compute/sources/stopset.h"
#include "compute/text/tokenizer.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/randomtext.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

std::string damaged(std::string bytes, std::mt19937& random, std::size_t within) {
    constexpr std::string_view kSpice = "0123456789-[]{}\",:.eE\\u tfn";
    for (auto n = 1 + random() % 4; n > 0 && !bytes.empty(); --n) {
        const std::size_t at = random() % std::min(bytes.size(), within);
        switch (random() % 6) {
            case 0:
                bytes[at] = static_cast<char>(random() % 256);
                break;
            case 1:
                bytes[at] = kSpice[random() % kSpice.size()];
                break;
            case 2:
                bytes.erase(at, 1 + random() % 8);
                break;
            case 3:
                bytes.insert(at, 1 + random() % 3, kSpice[random() % kSpice.size()]);
                break;
            case 4:
                bytes.insert(at, bytes.substr(random() % bytes.size(), random() % 30));
                break;
            default:
                if (random() % 8 == 0)
                    bytes.resize(at);
                else
                    bytes[at] = static_cast<char>(bytes[at] ^ (1 << random() % 8));
        }
    }
    return bytes;
}

/// true: opened. An Error must be one line with words in it; anything else fails the test by escaping.
bool survives(const std::function<void()>& call) {
    try {
        call();
        return true;
    } catch (const Error& error) {
        const std::string sentence = error.sentence();
        if (sentence.size() < 10 || sentence.find('\n') != std::string::npos)
            QTest::qFail(sentence.c_str(), __FILE__, __LINE__);
        return false;
    }
}

}  // namespace

class TestMutations : public QObject, Scratch {
    Q_OBJECT

    /// Writes without fsync: thousands of files.
    void put(const char* name, const std::string& bytes) const {
        QFile file(folder() / name);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes.data(), static_cast<qint64>(bytes.size()));
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void safetensors() {
        writeTensors(folder() / "x.safetensors", {randomTensor("model.embed.weight", {4, 3}, 1),
                                                  randomTensor("b", {5}, 2),
                                                  {"half", DType::BF16, {2, 1}, std::vector<std::byte>(4)}});
        const std::string good = readFile(folder() / "x.safetensors");
        std::mt19937 random(10);
        int opened = 0;
        for (int i = 0; i < 4000; ++i) {
            put("x.safetensors", damaged(good, random, good.size() - 70));
            opened += survives([&] {
                const Safetensors read = Safetensors::openFile(folder() / "x.safetensors");
                unsigned sum = 0;  // every byte that is promised can be read
                for (const auto& [name, tensor] : read.tensors())
                    for (const std::byte b : tensor.bytes) sum += std::to_integer<unsigned>(b);
                QVERIFY(sum < 1'000'000);
            });
        }
        QVERIFY(opened > 20 && opened < 3000);
    }

    void shardIndex() {
        writeTensors(folder() / "a.safetensors", {randomTensor("a", {2}, 1)});
        const std::string good = R"({"metadata":{"total_size":8},"weight_map":{"a":"a.safetensors"}})";
        std::mt19937 random(11);
        for (int i = 0; i < 1500; ++i) {
            put("model.safetensors.index.json", damaged(good, random, good.size()));
            survives([&] { Safetensors::openDirectory(folder()); });
        }
    }

    void tokenizerJson_data() {
        QTest::addColumn<QString>("component");
        QTest::newRow("byte fallback") << "null";
        QTest::newRow("byte level") << R"({"type":"ByteLevel","add_prefix_space":true,"use_regex":true})";
        QTest::newRow("split")
            << R"({"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"a+|\\s"},"behavior":"Isolated"},{"type":"Digits"}]})";
    }
    void tokenizerJson() {
        QFETCH(QString, component);
        std::vector<std::string> pieces = toyPieces(20);
        for (const char* piece : {"a", "b", "ab", "Ġ"}) pieces.push_back(piece);
        Json json = tokenizerOf(pieces);
        json["model"]["merges"] = Json::array({"a b"});
        json["pre_tokenizer"] = parseJson(component.toStdString(), "test");
        json["normalizer"] = parseJson(R"({"type":"Replace","pattern":{"String":" "},"content":"a"})", "test");
        const std::string good = json.dump();
        std::mt19937 random(12);
        int opened = 0;
        for (int i = 0; i < 1500; ++i) {
            put("tokenizer.json", damaged(good, random, good.size()));
            opened += survives([&] {
                const auto tokenizer = openTokenizer(folder());
                const std::string text = randomText(random, 10);
                for (const TokenId id : tokenizer->encode(text, {.controlTokens = i % 2 == 0}))
                    QVERIFY(tokenizer->isToken(id));
            });
        }
        QVERIFY(opened > 20 && opened < 1400);
    }

    void configFiles() {
        writeJson(folder() / "tokenizer.json", tokenizerOf(toyPieces(20)));
        const std::string config =
            R"({"architectures":["LlamaForCausalLM"],"eos_token_id":[2,3],"hidden_size":64,"rope_theta":1e4})";
        const std::string tokens = R"({"add_bos_token":true,"bos_token":"<s>","eos_token":{"content":"</s>"}})";
        std::mt19937 random(13);
        for (int i = 0; i < 1500; ++i) {
            put("config.json", damaged(config, random, config.size()));
            put("tokenizer_config.json", damaged(tokens, random, tokens.size()));
            survives([&] {
                std::vector<std::string> notices;
                statedStopIds(folder(), *openTokenizer(folder()), notices);
            });
        }
    }
};

QTEST_GUILESS_MAIN(TestMutations)
#include "tst_mutations.moc"
