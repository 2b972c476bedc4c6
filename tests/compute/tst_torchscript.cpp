// TorchScript files as sources (SPEC.md 2): the contract of a source, the same texts as the model directory, and one
// sentence for everything that is not such a file or does not do what it should (HAZARDS A6, A7, A10).
#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>

#include "compute/sources/source.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/scripts.h"
#include "tests/support/toyfiles.h"
#include "tests/support/toysource.h"

using namespace counterpoint;
using compute::OpenOptions;
using compute::Outcome;
using compute::TokenId;
using tests::allRows;
using tests::errorOf;
using tests::ScriptText;

namespace {

constexpr std::int64_t V = 300;
const char* const kScript = "models/stories260K/torchscript/stories260K.ts.pt";
const char* const kFolder = "models/stories260K/hf";

/// logits after token t: w[id_t] + 0.1 · the sum of w[id_s] over s ≤ t.
const char* const kForward = R"(
def forward(self, ids: Tensor) -> Tensor:
    x = self.w[ids]
    return x + 0.1 * torch.cumsum(x, 1)
)";
/// The same with a cache; `step` adds `self.mark`, so that a test sees who has spoken.
const char* const kSteps = R"(
def prefill(self, ids: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    s = torch.cumsum(x, 1)
    return x + 0.1 * s, s[:, -1:]
def step(self, ids: Tensor, cache: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    s = cache + x
    return x + 0.1 * s + self.mark, s
)";

ScriptText toy(std::string methods, float mark = 0.0F) {
    ScriptText text;
    text.methods = std::move(methods);
    text.parameters = {{"w", {V, V}, tests::toyNumbers(static_cast<std::size_t>(V * V), 3, 1.0F)},
                       {"mark", {1}, {mark}}};
    return text;
}

/// What the toy's formula gives, in float64.
std::vector<double> expected(const std::vector<TokenId>& ids) {
    const std::vector<float> w = tests::toyNumbers(static_cast<std::size_t>(V * V), 3, 1.0F);
    std::vector<double> sum(static_cast<std::size_t>(V)), rows;
    for (const TokenId id : ids)
        for (std::size_t v = 0; v < sum.size(); ++v) {
            const double x = w[static_cast<std::size_t>(id) * sum.size() + v];
            sum[v] += x;
            rows.push_back(x + 0.1 * sum[v]);
        }
    return rows;
}

double apart(const std::vector<float>& rows, const std::vector<double>& wanted) {
    double worst = rows.size() == wanted.size() ? 0.0 : 1e9;
    for (std::size_t i = 0; i < rows.size() && i < wanted.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(rows[i]) - wanted[i]));
    return worst;
}

std::string archive(const std::vector<std::string>& names) {
    std::string all, table;
    const auto number = [](auto n) { return std::string(reinterpret_cast<const char*>(&n), sizeof n); };
    for (const std::string& name : names) {
        const auto offset = static_cast<std::uint32_t>(all.size());
        const std::string facts = number(std::uint16_t(20)) + std::string(8, '\0') + std::string(12, '\0') +
                                  number(static_cast<std::uint16_t>(name.size())) + std::string(2, '\0');
        all += "PK\3\4" + facts + name;
        table +=
            std::string("PK\1\2") + number(std::uint16_t(20)) + facts + std::string(10, '\0') + number(offset) + name;
    }
    const auto count = static_cast<std::uint16_t>(names.size());
    return all + table + std::string("PK\5\6") + std::string(4, '\0') + number(count) + number(count) +
           number(static_cast<std::uint32_t>(table.size())) + number(static_cast<std::uint32_t>(all.size())) +
           std::string(2, '\0');
}

}  // namespace

class TestTorchScript : public QObject, tests::Scratch {
    Q_OBJECT

    std::filesystem::path script(const ScriptText& text, const std::string& name = "toy.pt") const {
        tests::scriptWriter().write(folder() / name, text);
        return folder() / name;
    }
    static std::unique_ptr<compute::Source> open(const std::filesystem::path& file, const OpenOptions& options = {}) {
        return compute::openSource(file, options, {});
    }

  private Q_SLOTS:
    void init() {
        tests::failOnAnyWarning();
        renew();
    }

    void logits_data() {
        QTest::addColumn<QString>("methods");
        QTest::addColumn<bool>("cache");
        QTest::newRow("forward") << kForward << true;
        QTest::newRow("prefill and step") << kSteps << true;
        QTest::newRow("all three, with the cache") << QString(kForward) + kSteps << true;
        QTest::newRow("all three, without") << QString(kForward) + kSteps << false;
    }
    /// All at once, in pieces and token by token the same numbers; after a rewind too, and a fork has its own state.
    void logits() {
        QFETCH(QString, methods);
        QFETCH(bool, cache);
        OpenOptions options;
        options.cache = cache;
        const auto source = open(script(toy(methods.toStdString())), options);
        const std::vector<TokenId> ids = tests::someIds(40);
        const std::vector<double> wanted = expected(ids);
        for (const std::size_t step : {0, 1, 7}) {
            source->rewind(0);
            QVERIFY(apart(allRows(*source, ids, step), wanted) < 1e-4);
        }
        source->rewind(25);
        QCOMPARE(source->length(), 25);
        const std::unique_ptr<compute::Source> fork = source->fork();
        QCOMPARE(fork->length(), 0);
        std::vector<TokenId> other(ids.begin(), ids.begin() + 25);
        other.insert(other.end(), {5, 6, 7, 8});
        std::vector<float> row(static_cast<std::size_t>(V)), of(row.size());
        QCOMPARE(source->forward(std::span(other).subspan(25, 2), 1, row, {}), Outcome::Done);
        QCOMPARE(fork->forward(std::span(ids).first(3), 0, {}, {}), Outcome::Done);  // no row: nothing is computed yet
        QCOMPARE(fork->forward(std::span(ids).subspan(3, 1), 1, of, {}), Outcome::Done);
        QVERIFY(apart(of, {wanted.begin() + 3 * V, wanted.begin() + 4 * V}) < 1e-4);
        for (const std::size_t t : {27, 28}) {
            QCOMPARE(source->forward(std::span(other).subspan(t, 1), 1, row, {}), Outcome::Done);
            const std::vector<double> all = expected(other);
            const auto from = all.begin() + static_cast<std::ptrdiff_t>(t) * V;
            QVERIFY(apart(row, {from, from + V}) < 1e-4);
        }
    }

    void oneMoreTokenGoesThroughStep() {
        const auto source = open(script(toy(std::string(kForward) + kSteps, 100.0F)));
        std::vector<float> row(static_cast<std::size_t>(V));
        const std::vector<TokenId> ids = tests::someIds(6);
        const std::vector<double> wanted = expected(ids);
        const auto mark = [&](std::size_t from, std::size_t n) {
            if (source->forward(std::span(ids).subspan(from, n), 1, row, {}) != Outcome::Done) return -1.0;
            return std::round(row[0] - wanted[(from + n - 1) * static_cast<std::size_t>(V)]);
        };
        QCOMPARE(mark(0, 3), 0.0);
        QCOMPARE(mark(3, 1), 100.0);
        QCOMPARE(mark(4, 2), 0.0);  // more than one: read anew
        source->rewind(5);
        QCOMPARE(mark(5, 1), 0.0);  // the cache held six
    }

    void whatItSaysOfItself() {
        ScriptText text = toy(kForward);
        text.maxPositions = 30;
        text.positions = true;
        const auto source = open(script(text));
        const compute::SourceInfo& info = source->info();
        QCOMPARE(info.kind, std::string("torchscript"));
        QCOMPARE(info.architecture, std::string("ToyScript"));
        QCOMPARE(info.dtype, std::string("float32"));
        QCOMPARE(info.device, std::string("cpu"));
        QCOMPARE(info.logitWidth, V);
        QCOMPARE(info.parameters, V * V + 1);
        QCOMPARE(info.weightBytes, 4 * (V * V + 1) + 8 * 8);
        QCOMPARE(info.maxPositions, 30);
        QVERIFY(info.libtorch && info.stopIds.empty());
        QCOMPARE(source->tokenizer(), nullptr);
        QCOMPARE(info.notices.size(), std::size_t{2});
        QVERIFY(info.notices[0].find("runs code of whoever made it") != std::string::npos);
        QVERIFY(info.notices[1].find("its tokens are ids") != std::string::npos);
        std::vector<float> rows(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(tests::someIds(30), 1, rows, {}), Outcome::Done);
        QVERIFY(errorOf([&] {
                    (void)source->forward(std::vector<TokenId>{1}, 1, rows, {});
                }).find("longer than the model can read (expected at most 30 tokens, found 31)") != std::string::npos);
    }

    void dtypes_data() {
        QTest::addColumn<bool>("half");
        QTest::addColumn<QString>("asked");
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<double>("bound");
        QTest::newRow("own") << false << ""
                             << "float32" << 1e-4;
        QTest::newRow("bfloat16") << false << "bfloat16"
                                  << "bfloat16" << 0.05;
        QTest::newRow("float16 on the processor") << false << "float16"
                                                  << "float32" << 1e-4;
        QTest::newRow("float16 of its own") << true << ""
                                            << "float32" << 0.01;
    }
    void dtypes() {
        QFETCH(bool, half);
        QFETCH(QString, asked);
        QFETCH(QString, dtype);
        QFETCH(double, bound);
        ScriptText text = toy(kForward);
        text.half = half;
        text.positions = true;  // an integer stays one
        text.methods =
            "def forward(self, ids: Tensor) -> Tensor:\n    assert not self.positions.is_floating_point()\n"
            "    x = self.w[ids]\n    return x + 0.1 * torch.cumsum(x, 1)\n";
        OpenOptions options;
        options.dtype = asked.toStdString();
        const auto source = open(script(text), options);
        QCOMPARE(QString::fromStdString(source->info().dtype), dtype);
        const std::vector<TokenId> ids = tests::someIds(8);
        const double found = apart(allRows(*source, ids, 0), expected(ids));
        QVERIFY2(found < bound && (dtype == "float32" || found > 1e-4), qPrintable(QString::number(found)));
    }

    void stopped() {
        const auto source = open(script(toy(kSteps)));
        std::vector<float> row(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(tests::someIds(4), 1, row, {}), Outcome::Done);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(source->forward(std::vector<TokenId>{1}, 1, row, stop.get_token()), Outcome::Cancelled);
        QCOMPARE(source->length(), 4);
        QVERIFY(compute::openSource(folder() / "toy.pt", {}, stop.get_token()) == nullptr);
    }

    /// The entry's folder, else what lies beside the file; its end token and generation_config.json make the stop set.
    void tokenizers() {
        const std::filesystem::path file = script(toy(kForward)), other = folder() / "other";
        std::filesystem::create_directory(other);
        tests::writeJson(other / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(290)));
        tests::writeJson(other / "generation_config.json", {{"eos_token_id", {2, 7}}});
        OpenOptions options;
        options.tokenizer = other.string();
        const auto named = open(file, options);
        QCOMPARE(named->tokenizer()->size(), std::int64_t{290});
        QCOMPARE(named->info().stopIds, (std::vector<TokenId>{2, 7}));
        std::vector<compute::EnsembleMember> members;
        members.push_back({.name = "base", .source = named->fork(), .prefix = {}});
        const std::string told = compute::Ensemble(std::move(members)).notices().back();
        QVERIFY(told.find("10 rows of logits beyond the tokenizer's 290") != std::string::npos);
        tests::writeJson(folder() / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(300)));
        QCOMPARE(open(file)->tokenizer()->size(), std::int64_t{300});
        QCOMPARE(open(file)->info().notices.size(), std::size_t{1});
        tests::writeJson(folder() / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(301)));
        QVERIFY(errorOf([&] { open(file); }).find("fewer logits than the tokenizer has tokens") != std::string::npos);
        options.tokenizer = (folder() / "none").string();
        QVERIFY(!errorOf([&] { open(file, options); }).empty());
    }

    /// The content decides: a TorchScript file may be called anything that promises nothing else.
    void names_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"toy.ts", "traced.pth", "model", "weights.bin", "a.torchscript"})
            QTest::newRow(name) << name;
    }
    void names() {
        QFETCH(QString, name);
        QCOMPARE(open(script(toy(kForward), name.toStdString()))->info().kind, std::string("torchscript"));
    }

    void wrongFiles_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<std::function<void(const std::filesystem::path&)>>("write");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const char* file, std::function<void(const std::filesystem::path&)> write,
                            const char* sentence) { QTest::newRow(name) << file << write << sentence; };
        const auto text = [](const std::string& content) {
            return [content](const std::filesystem::path& f) { std::ofstream(f, std::ios::binary) << content; };
        };
        const auto whole = [](const std::filesystem::path& f) { tests::scriptWriter().write(f, toy(kForward)); };
        row("text", "model.pt", text("not a model"), "this is not a TorchScript file");
        row("empty", "model.ts", text(""), "found an empty file");
        row("a state dict", "model.pt", tests::scriptWriter().writePickle,
            "this is a pickled model or state dict, which is never opened (expected a TorchScript file");
        row("an old pickle", "model.pt", text("\x80\x02}q\1."), "a pickled model or state dict");
        row("a state dict by another name", "weights", tests::scriptWriter().writePickle, "which is never opened");
        row("an exported program", "model.pt", text(archive({"m/archive_format", "m/data.pkl"})), "torch.export");
        row("another archive", "model.pt", text(archive({"word/document.xml"})), "a zip archive of something else");
        row("an archive without code", "model.pt", text(archive({"m/code/x.py", "m/constants.pkl"})),
            "it cannot be read as TorchScript: ");
        row("GGUF", "model.pt", text("GGUF...."), "this is a GGUF file (expected a TorchScript file, as its name says");
        row("TorchScript as GGUF", "model.gguf", whole, "this is a TorchScript file (expected a GGUF file");
        row("TorchScript as safetensors", "model.safetensors", whole, "expected a safetensors file");
        row(
            "cut off", "model.pt",
            [=](const std::filesystem::path& f) {
                whole(f);
                std::filesystem::resize_file(f, std::filesystem::file_size(f) - 40);
            },
            "cut off: the table at its end is missing");
        row(
            "cut in the middle", "model",
            [=](const std::filesystem::path& f) {
                whole(f);
                std::filesystem::resize_file(f, std::filesystem::file_size(f) / 2);
            },
            "copy or download it again");
        row("a table that leads nowhere", "model.pt",
            text("PK\3\4" + std::string(30, 'x') + "PK\5\6" + std::string(18, '\xFF')), "cut off");
    }
    void wrongFiles() {
        QFETCH(QString, name);
        QFETCH(std::function<void(const std::filesystem::path&)>, write);
        QFETCH(QString, sentence);
        const std::filesystem::path file = folder() / name.toStdString();
        write(file);
        const std::string found = errorOf([&] { open(file); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(file.string()) && found.find('\n') == std::string::npos, found.c_str());
    }

    void wrongScripts_data() {
        QTest::addColumn<QString>("methods");
        QTest::addColumn<QString>("sentence");
        const auto forward = [](const char* name, const char* body, const char* sentence) {
            QTest::newRow(name) << "def forward(self, ids: Tensor):\n    " + QString(body) << sentence;
        };
        forward("two dimensions", "return self.w[ids[0]]",
                "its 'forward' gives something else than logits (expected float [1, 2, V], found float32 [2, 300])");
        forward("the last row alone", "return self.w[ids][:, -1:]", "found float32 [1, 1, 300]");
        forward("whole numbers", "return ids.unsqueeze(2)", "found long [1, 2, 1]");
        forward("no columns", "return self.w[ids][:, :, :0]", "found float32 [1, 2, 0]");
        forward("a pair", "return self.w[ids], ids", "found Tuple");
        forward("nothing", "return None", "found None");
        forward("a number", "return 3", "found Int");
        forward("it throws", "assert ids.size(1) < 0, 'no such luck'\n    return self.w[ids]",
                "its 'forward' cannot be used: AssertionError: no such luck");
        forward("an operation fails", "return torch.matmul(self.w[ids], self.w[:3])", "cannot be used: ");
        QTest::newRow("more arguments") << "def forward(self, ids: Tensor, mask: Tensor):\n    return self.w[ids]"
                                        << "forward() is missing value for argument 'mask'";
        QTest::newRow("no methods") << "def other(self, ids: Tensor):\n    return self.w[ids]"
                                    << "the script has no 'forward'";
        QTest::newRow("prefill without a cache")
            << "def prefill(self, ids: Tensor):\n    return self.w[ids]\ndef step(self, ids: Tensor, cache: Tensor):\n"
               "    return self.w[ids], cache\n"
            << "its 'prefill' gives something else than (logits, cache)";
        QTest::newRow("a step of another width")
            << "def prefill(self, ids: Tensor):\n    return self.w[ids], ids\ndef step(self, ids: Tensor, cache: "
               "Tensor):"
               "\n    return self.w[ids][:, :, :9], cache\n"
            << "its 'step' gives other logits than its 'prefill' (expected 300 numbers, found 9)";
    }
    void wrongScripts() {
        QFETCH(QString, methods);
        QFETCH(QString, sentence);
        const std::filesystem::path file = script(toy(methods.toStdString()));
        const std::string found = errorOf([&] { open(file); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(file.string()) && found.find('\n') == std::string::npos, found.c_str());
    }

    /// HAZARDS A6: at the fifth token, twenty times; what was read before stays usable.
    void failsLater_data() {
        QTest::addColumn<QString>("body");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("throws") << "assert ids.size(1) < 5, 'five is too many'\n    return self.w[ids]"
                                << "its 'forward' failed on 5 tokens: ";
        QTest::newRow("another width") << "return self.w[ids][:, :, :300 if ids.size(1) < 5 else 299]"
                                       << "(expected float [1, 5, 300], found float32 [1, 5, 299])";
    }
    void failsLater() {
        QFETCH(QString, body);
        QFETCH(QString, sentence);
        const auto source = open(script(toy("def forward(self, ids: Tensor):\n    " + body.toStdString())));
        std::vector<float> row(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(tests::someIds(4), 1, row, {}), Outcome::Done);
        for (int i = 0; i < 20; ++i) {
            const std::string found = errorOf([&] { (void)source->forward(std::vector<TokenId>{1}, 1, row, {}); });
            QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
            QCOMPARE(source->length(), 4);
        }
        source->rewind(3);
        QCOMPARE(source->forward(std::vector<TokenId>{1}, 1, row, {}), Outcome::Done);
    }

    /// A step that spoils its cache in place and then fails is not gone on from.
    void spoiledCacheIsMadeAgain() {
        const auto source = open(script(toy(R"(
def prefill(self, ids: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    s = torch.cumsum(x, 1)
    return x + 0.1 * s, s[:, -1:].clone()
def step(self, ids: Tensor, cache: Tensor) -> Tuple[Tensor, Tensor]:
    x = self.w[ids]
    cache.add_(x)
    assert int(ids[0, 0]) != 9, "nine"
    return x + 0.1 * cache, cache
)")));
        std::vector<float> row(static_cast<std::size_t>(V));
        const std::vector<TokenId> ids = {1, 2, 3, 4};
        QCOMPARE(source->forward(std::span(ids).first(3), 1, row, {}), Outcome::Done);
        QVERIFY(!errorOf([&] { (void)source->forward(std::vector<TokenId>{9}, 1, row, {}); }).empty());
        QCOMPARE(source->forward(std::span(ids).last(1), 1, row, {}), Outcome::Done);
        const std::vector<double> wanted = expected(ids);
        QVERIFY(apart(row, {wanted.end() - V, wanted.end()}) < 1e-4);
    }

    /// Model directory and TorchScript: the same greedy ids, which the GGUF has too (tst_network_gguf).
    void goldenStories() {
        REQUIRE_SHARED(kScript);
        OpenOptions options;
        options.tokenizer = tests::shared(kFolder).string();
        const auto source = open(tests::shared(kScript), options);
        QCOMPARE(source->info().stopIds, std::vector<TokenId>{2});
        QCOMPARE(source->info().architecture, std::string("LM"));
        QCOMPARE(source->info().notices.size(), std::size_t{1});
        const auto folder = open(tests::shared(kFolder));
        QVERIFY(compute::requireComposable("base", *folder, "script", *source).empty());
        int checked = 0;
        const compute::Json golden = compute::readJson(tests::shared("models/stories260K/golden.json"));
        for (const compute::Json& entry : golden["cases"]) {
            const std::vector<TokenId> prompt = entry["prompt_ids"], ids = entry["ids"];
            source->rewind(0);
            std::vector<float> row(512);
            std::vector<TokenId> found = prompt;
            while (found.size() < ids.size()) {
                const std::size_t n = found.size() == prompt.size() ? found.size() : 1;
                QCOMPARE(source->forward(std::span(found).last(n), 1, row, {}), Outcome::Done);
                found.push_back(static_cast<TokenId>(std::max_element(row.begin(), row.end()) - row.begin()));
            }
            QCOMPARE(found, ids);
            ++checked;
        }
        QCOMPARE(checked, 5);
    }
};

QTEST_GUILESS_MAIN(TestTorchScript)
#include "tst_torchscript.moc"
