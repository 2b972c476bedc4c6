// TorchScript files as sources (SPEC.md 2): the contract of a source, and the same texts as the model directory
// (HAZARDS A6, A7). Files that are no such thing: tst_torchscriptfiles.
#include <algorithm>
#include <cmath>

#include "compute/decode/ensemble.h"
#include "tests/support/fixture.h"
#include "tests/support/toyscript.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

constexpr std::int64_t V = kScriptWidth;
const char* const kScript = "models/stories260K/torchscript/stories260K.ts.pt";
const char* const kFolder = "models/stories260K/hf";

}  // namespace

class TestTorchScript : public QObject, tests::ScriptFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        tests::failOnAnyWarning();
        renew();
    }

    void logits_data() {
        QTest::addColumn<QString>("methods");
        QTest::addColumn<bool>("cache");
        QTest::newRow("forward") << kScriptForward << true;
        QTest::newRow("prefill and step") << kScriptSteps << true;
        const QString steps(kScriptSteps);
        QTest::newRow("forward and prefill") << QString(kScriptForward) + steps.left(steps.indexOf("def step")) << true;
        QTest::newRow("forward and step") << QString(kScriptForward) + steps.mid(steps.indexOf("def step")) << true;
        QTest::newRow("all three, with the cache") << QString(kScriptForward) + kScriptSteps << true;
        QTest::newRow("all three, without") << QString(kScriptForward) + kScriptSteps << false;
    }
    /// All at once, in pieces and token by token the same numbers; after a rewind too, and a fork has its own state.
    void logits() {
        QFETCH(QString, methods);
        QFETCH(bool, cache);
        OpenOptions options;
        options.cache = cache;
        const auto source = openScript(script(toyScript(methods.toStdString())), options);
        const std::vector<TokenId> ids = tests::someIds(40);
        const std::vector<double> wanted = scriptRows(ids);
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
            const std::vector<double> all = scriptRows(other);
            const auto from = all.begin() + static_cast<std::ptrdiff_t>(t) * V;
            QVERIFY(apart(row, {from, from + V}) < 1e-4);
        }
    }

    void oneMoreTokenGoesThroughStep() {
        const auto source = openScript(script(toyScript(std::string(kScriptForward) + kScriptSteps, 100.0F)));
        std::vector<float> row(static_cast<std::size_t>(V));
        const std::vector<TokenId> ids = tests::someIds(6);
        const std::vector<double> wanted = scriptRows(ids);
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

    void withoutTheCacheNothingGoesThroughStep() {
        OpenOptions options;
        options.cache = false;
        const auto source = openScript(script(toyScript(std::string(kScriptForward) + kScriptSteps, 100.0F)), options);
        const std::vector<TokenId> ids = tests::someIds(6);
        QVERIFY(apart(allRows(*source, ids, 1), scriptRows(ids)) < 1e-4);
    }

    /// The first token alone is read, not stepped to.
    void oneTokenBegins() {
        const auto source = openScript(script(toyScript(kScriptSteps, 100.0F)));
        std::vector<float> row(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(std::vector<TokenId>{4}, 1, row, {}), Outcome::Done);
        QVERIFY(apart(row, scriptRows({4})) < 1e-4);
    }

    void whatItSaysOfItself() {
        ScriptText text = toyScript(kScriptForward);
        text.maxPositions = 30;
        text.positions = true;
        const auto source = openScript(script(text));
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
        QCOMPARE(info.notices.size(), std::size_t{1});
        QVERIFY(info.notices[0].find("its tokens are ids") != std::string::npos);
        std::vector<float> rows(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(tests::someIds(30), 1, rows, {}), Outcome::Done);
        QVERIFY(errorOf([&] {
                    (void)source->forward(std::vector<TokenId>{1}, 1, rows, {});
                }).find("longer than the model can read (expected at most 30 tokens, found 31)") != std::string::npos);
    }

    void limitThatIsNone() {
        for (const int limit : {0, -8}) {
            ScriptText text = toyScript(kScriptForward);
            text.maxPositions = limit;
            const std::string said = errorOf([&] { (void)openScript(script(text)); });
            QVERIFY2(said.ends_with(": its attribute 'max_positions' is no limit of a text (expected a whole number "
                                    "from 1, or no such attribute, found " +
                                    std::to_string(limit) + ")."),
                     said.c_str());
        }
    }

    void dtypes_data() {
        QTest::addColumn<bool>("half");
        QTest::addColumn<QString>("asked");
        QTest::addColumn<QString>("dtype");
        QTest::addColumn<double>("bound");
        QTest::addColumn<bool>("told");
        QTest::newRow("own") << false << ""
                             << "float32" << 1e-4 << false;
        QTest::newRow("bfloat16") << false << "bfloat16"
                                  << "bfloat16" << 0.05 << false;
        QTest::newRow("float16 on the processor") << false << "float16"
                                                  << "float32" << 1e-4 << true;
        QTest::newRow("float16 of its own") << true << ""
                                            << "float32" << 0.01 << true;
        QTest::newRow("float16 of its own, widened") << true << "float32"
                                                     << "float32" << 0.01 << false;
    }
    void dtypes() {
        QFETCH(bool, half);
        QFETCH(QString, asked);
        QFETCH(QString, dtype);
        QFETCH(double, bound);
        QFETCH(bool, told);
        ScriptText text = toyScript(kScriptForward);
        text.half = half;
        text.positions = true;  // an integer stays one
        text.methods =
            "def forward(self, ids: Tensor) -> Tensor:\n    assert not self.positions.is_floating_point()\n"
            "    x = self.w[ids]\n    return x + 0.1 * torch.cumsum(x, 1)\n";
        OpenOptions options;
        options.dtype = asked.toStdString();
        const auto source = openScript(script(text), options);
        QCOMPARE(QString::fromStdString(source->info().dtype), dtype);
        QCOMPARE(source->info().notices.front().starts_with("scripts compute float16 in float32"), told);
        const std::vector<TokenId> ids = tests::someIds(8);
        const double found = apart(allRows(*source, ids, 0), scriptRows(ids));
        QVERIFY2(found < bound && (dtype == "float32" || found > 1e-4), qPrintable(QString::number(found)));
    }

    void stopped() {
        const auto source = openScript(script(toyScript(kScriptSteps)));
        std::vector<float> row(static_cast<std::size_t>(V));
        QCOMPARE(source->forward(tests::someIds(4), 1, row, {}), Outcome::Done);
        std::stop_source stop;
        stop.request_stop();
        QCOMPARE(source->forward(std::vector<TokenId>{1}, 1, row, stop.get_token()), Outcome::Cancelled);
        QCOMPARE(source->length(), 4);
        QVERIFY(compute::openSource(folder() / "toy.pt", {}, stop.get_token()) == nullptr);
        // Asked for while the script is read; and before a call, which then is not made.
        std::stop_source soon;
        std::vector<double> fractions;
        OpenOptions options;
        options.progress = [&](double fraction, std::string_view) {
            fractions.push_back(fraction);
            soon.request_stop();
        };
        QVERIFY(compute::openSource(folder() / "toy.pt", options, soon.get_token()) == nullptr);
        QCOMPARE(fractions, std::vector<double>{0.0});
        QVERIFY(compute::openSource(folder() / "toy.pt", options, {}) != nullptr);
        QCOMPARE(fractions, (std::vector<double>{0.0, 0.0, 1.0}));
        const auto failing = openScript(script(
            toyScript("def forward(self, ids: Tensor):\n    assert ids.size(1) < 5, 'five'\n    return self.w[ids]")));
        QCOMPARE(failing->forward(tests::someIds(6), 1, row, stop.get_token()), Outcome::Cancelled);
        QCOMPARE(failing->forward(tests::someIds(6), 0, {}, {}), Outcome::Done);  // no row, no call
    }

    /// The entry's folder, else what lies beside the file; its end token and generation_config.json make the stop set.
    void tokenizers() {
        const std::filesystem::path file = script(toyScript(kScriptForward)), other = folder() / "other";
        std::filesystem::create_directory(other);
        tests::writeJson(other / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(290)));
        tests::writeJson(other / "generation_config.json", {{"eos_token_id", {2, 7}}});
        OpenOptions options;
        options.tokenizer = other.string();
        const auto named = openScript(file, options);
        QCOMPARE(named->tokenizer()->size(), std::int64_t{290});
        QCOMPARE(named->info().stopIds, (std::vector<TokenId>{2, 7}));
        std::vector<compute::EnsembleMember> members;
        members.push_back({.name = "base", .source = named->fork(), .prefix = {}});
        const std::string told = compute::Ensemble(std::move(members)).notices().back();
        QVERIFY(told.find("10 rows of logits beyond the tokenizer's 290") != std::string::npos);
        tests::writeJson(folder() / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(300)));
        QCOMPARE(openScript(file)->tokenizer()->size(), std::int64_t{300});
        QVERIFY(openScript(file)->info().notices.empty());
        tests::writeJson(folder() / "tokenizer.json", tests::tokenizerOf(tests::toyPieces(301)));
        QVERIFY(errorOf([&] { openScript(file); }).find("fewer logits than the tokenizer has tokens") !=
                std::string::npos);
        options.tokenizer = (folder() / "none").string();
        QVERIFY(!errorOf([&] { openScript(file, options); }).empty());
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
        const auto source = openScript(script(toyScript("def forward(self, ids: Tensor):\n    " + body.toStdString())));
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
        const auto source = openScript(script(toyScript(R"(
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
        const std::vector<double> wanted = scriptRows(ids);
        QVERIFY(apart(row, {wanted.end() - V, wanted.end()}) < 1e-4);
    }

    /// Model directory and TorchScript: the same greedy ids, which the GGUF has too (tst_network_gguf).
    void goldenStories() {
        REQUIRE_SHARED(kScript);
        OpenOptions options;
        options.tokenizer = tests::shared(kFolder).string();
        const auto source = openScript(tests::shared(kScript), options);
        QCOMPARE(source->info().stopIds, std::vector<TokenId>{2});
        QCOMPARE(source->info().architecture, std::string("LM"));
        QVERIFY(source->info().notices.empty());
        const auto folder = openScript(tests::shared(kFolder));
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
