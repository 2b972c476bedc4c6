// The trainer through its command line, on a toy text: the loss falls, the written model is the trained one (its loss
// through the product's own decoder equals the trainer's), runs repeat bit for bit, the gradient agrees with finite
// differences, all of it with routed experts too; and the choice of stories moves one skill and leaves the other.

#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <set>

#include "compute/files/atomicfile.h"
#include "compute/files/json.h"
#include "compute/network/train/skills.h"
#include "compute/sources/modules.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using compute::TokenId;
using namespace network::train;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kHeldOut = 8;

/// 60 small stories; which ones have speech and which have animals follows from the number, independently.
std::vector<std::string> toyStories() {
    const std::array names = {"Tom", "Lily", "Ben"}, things = {"ball", "tree", "boat"},
                     animals = {"cat", "dog", "bird"};
    std::vector<std::string> stories;
    for (std::size_t i = 0; i < 60; ++i) {
        std::string s = std::string(names[i % 3]) + " saw a " + things[i / 3 % 3] + ". ";
        if (i % 4 == 0) s += std::string("A ") + animals[i % 3] + " was there. ";
        if (i % 5 == 0) s += "\"Look at that,\" said " + std::string(names[(i + 1) % 3]) + ".\n";
        // As long as the dialogue: a choice that holds the length needs long stories without the skill.
        if (i % 3 == 1) s += "The sun was warm and all was well. ";
        stories.push_back(s + "They were happy with the " + things[i / 3 % 3] + ".");
    }
    return stories;
}

int trainer(std::vector<std::string> words) {
    words.insert(words.begin(), "counterpoint_train");
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    return compute::network().train(static_cast<int>(argv.size()), argv.data());
}

double negativeLogProb(std::span<const float> row, TokenId id) {
    const double top = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (const float x : row) sum += std::exp(x - top);
    return top + std::log(sum) - row[static_cast<std::size_t>(id)];
}

}  // namespace

class TestTrain : public QObject {
    Q_OBJECT
    QTemporaryDir m_scratch;
    fs::path m_root, m_text;

    std::vector<std::string> base(const std::string& name, const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words = {"base",
                                          "--text",
                                          m_text,
                                          "--tokenizer",
                                          m_root / "vocabulary" / "tokenizer.model",
                                          "--out",
                                          m_root / name,
                                          "--dim",
                                          "32",
                                          "--hidden",
                                          "48",
                                          "--layers",
                                          "2",
                                          "--heads",
                                          "4",
                                          "--kv-heads",
                                          "2",
                                          "--positions",
                                          "64",
                                          "--steps",
                                          "24",
                                          "--warm-up",
                                          "4",
                                          "--batch",
                                          "256",
                                          "--evaluate-every",
                                          "6",
                                          "--held-out",
                                          std::to_string(kHeldOut)};
        words.insert(words.end(), more.begin(), more.end());
        return words;
    }
    compute::OrderedJson report(const char* name) const {
        return compute::readOrderedJson(m_root / name / "training.json");
    }
    static void eachLayout() {
        QTest::addColumn<QString>("name");
        QTest::newRow("llama") << QStringLiteral("base");
        QTest::newRow("mixtral") << QStringLiteral("routed");
    }

  private Q_SLOTS:
    void initTestCase() {
        m_root = m_scratch.path().toStdString();
        m_text = m_root / "toy.txt";
        std::string text;
        for (const auto& story : toyStories()) text += story + "\n<|endoftext|>\n";
        compute::writeFile(m_text, text + "A story that is cut o");
        QCOMPARE(trainer({"vocabulary", "--text", m_text, "--out", m_root / "vocabulary", "--size", "320", "--held-out",
                          std::to_string(kHeldOut)}),
                 0);
        QCOMPARE(trainer(base("base")), 0);
        QCOMPARE(trainer(base("routed", {"--experts", "4", "--balance", "0.05"})), 0);
    }
    void init() { tests::failOnAnyWarning(); }

    void theLossFalls_data() { eachLayout(); }
    void theLossFalls() {
        QFETCH(QString, name);
        const auto points = report(name.toLatin1().constData()).at("points");
        QCOMPARE(points.size(), std::size_t{4});
        const double first = points.front().at("held_out_loss"), last = points.back().at("held_out_loss");
        QVERIFY2(last < first - 0.5, qPrintable(QStringLiteral("%1 -> %2").arg(first).arg(last)));
    }

    void theDecoderAgreesWithTheTrainingForward_data() { eachLayout(); }
    void theDecoderAgreesWithTheTrainingForward() {
        QFETCH(QString, name);
        const auto told = report(name.toLatin1().constData());
        const auto source = compute::openSource(m_root / name.toStdString(), {}, {});
        QCOMPARE(source->info().routers.has_value(), name == QLatin1String("routed"));
        const auto tokenizer = source->tokenizer();
        QCOMPARE(tokenizer->bos().value(), 1);
        QCOMPARE(source->info().stopIds, std::vector<TokenId>{2});
        const auto stories = toyStories();
        const auto width = static_cast<std::size_t>(source->info().logitWidth);
        double sum = 0;
        std::int64_t tokens = 0;
        for (std::size_t i = stories.size() - kHeldOut; i < stories.size(); ++i) {
            std::vector<TokenId> ids{1};
            const auto body = tokenizer->encode(stories[i]);
            ids.insert(ids.end(), body.begin(), body.end());
            ids.push_back(2);
            const auto rows = std::min<std::size_t>(ids.size() - 1, 64);
            std::vector<float> logits(rows * width);
            source->rewind(0);
            QVERIFY(source->forward(std::span(ids).first(rows), static_cast<std::int64_t>(rows), logits, {}) ==
                    compute::Outcome::Done);
            for (std::size_t r = 0; r < rows; ++r)
                sum += negativeLogProb(std::span(logits).subspan(r * width, width), ids[r + 1]), ++tokens;
        }
        QCOMPARE(tokens, told.at("held_out_tokens").get<std::int64_t>());
        const double expected = told.at("held_out_loss").get<double>(), found = sum / static_cast<double>(tokens);
        QVERIFY2(std::abs(found - expected) < 2e-4,
                 qPrintable(QStringLiteral("%1, trainer %2").arg(found).arg(expected)));
    }

    void bothTokenizerFilesAgree() {
        const auto fromModel = compute::spm().open(m_root / "base" / "tokenizer.model", m_root / "base");
        const auto fromJson = compute::openTokenizerJson(m_root / "base" / "tokenizer.json");
        QCOMPARE(fromJson->size(), fromModel->size());
        for (const auto& story : toyStories()) QCOMPARE(fromJson->encode(story), fromModel->encode(story));
        for (const char* text : {"", " ", "a  b", "\n\nzebra ñ 42", "Tom's “ball”"})
            QCOMPARE(fromJson->encode(text), fromModel->encode(text));
    }

    /// Weights alone; layer norms, attention and the embedding are as wide as without experts.
    void routedExpertsAreWhatTheirConfigurationSays() {
        const auto config = compute::readOrderedJson(m_root / "routed" / "config.json");
        QCOMPARE(config.at("model_type").get<std::string>(), std::string("mixtral"));
        QCOMPARE(config.at("num_local_experts").get<int>(), 4);
        QCOMPARE(config.at("num_experts_per_tok").get<int>(), 2);
        const auto parameters = [&](const char* name) { return report(name).at("parameters").get<int>(); };
        QCOMPARE(parameters("routed") - parameters("base"), 2 * (3 * 3 * 32 * 48 + 4 * 32));
        compute::requireComposable("base", *compute::openSource(m_root / "base", {}, {}), "routed",
                                   *compute::openSource(m_root / "routed", {}, {}));
    }

    void theBalancingTermEvensTheLoad() {
        const auto balance = [&](const char* name, const char* coefficient) {
            [&] { QCOMPARE(trainer(base(name, {"--experts", "4", "--balance", coefficient})), 0); }();
            return report(name).at("points").back().at("balance").get<double>();
        };
        // 1 is even; the smallest that a share of choices and a mean probability of one order can give.
        const double without = balance("unbalanced", "0"), with = balance("balanced", "1");
        QVERIFY2(with > 0.999 && with < without - 0.005,
                 qPrintable(QStringLiteral("%1 with it, %2 without").arg(with).arg(without)));
    }

    /// Noise chooses among experts and does nothing else: where all are chosen it changes nothing.
    void noiseActsOnTheChoiceAlone() {
        const auto firstLoss = [&](const char* name, const char* chosen, const char* routing) {
            [&] {
                QCOMPARE(trainer(base(
                             name, {"--experts", "3", "--chosen", chosen, "--routing", routing, "--stop-after", "1"})),
                         0);
            }();
            return report(name).at("points").front().at("train_loss").get<double>();
        };
        QVERIFY(std::abs(firstLoss("n3", "3", "independent") - firstLoss("d3", "3", "deterministic")) < 1e-6);
        QVERIFY(std::abs(firstLoss("n1", "1", "independent") - firstLoss("d1", "1", "deterministic")) > 1e-6);
    }

    /// Experts that have every channel say what the dense layer said, whoever is chosen; those with half of them do
    /// not.
    void upcyclingKeepsWhatTheDenseModelSays() {
        const auto upcycled = [&](const char* name, const char* width, const char* experts = "3",
                                  const char* chosen = "2") {
            [&] {
                QCOMPARE(trainer({"upcycle", "--text", m_text, "--from", m_root / "base", "--out", m_root / name,
                                  "--experts", experts, "--chosen", chosen, "--hidden", width, "--steps", "0",
                                  "--dtype", "float32", "--held-out", std::to_string(kHeldOut)}),
                         0);
            }();
            return report(name).at("held_out_loss").get<double>();
        };
        const double dense = report("base").at("held_out_loss").get<double>();
        QVERIFY(std::abs(upcycled("whole", "48") - dense) < 1e-5);
        const double half = upcycled("half", "24");
        QVERIFY(std::abs(half - dense) > 1e-4);
        // Sixty-four halves, each counting twice, are near the whole: 0.001 nats. Counting once they are 0.028 off.
        const double many = upcycled("many", "24", "64", "64");
        QVERIFY2(std::abs(many - dense) < 0.005, qPrintable(QString::number(many - dense)));
    }

    void aRunRepeatsBitForBit() {
        QCOMPARE(trainer(base("again")), 0);
        QCOMPARE(compute::readFile(m_root / "again" / "model.safetensors"),
                 compute::readFile(m_root / "base" / "model.safetensors"));
        QCOMPARE(trainer(base("routed again", {"--experts", "4", "--balance", "0.05"})), 0);
        QCOMPARE(compute::readFile(m_root / "routed again" / "model.safetensors"),
                 compute::readFile(m_root / "routed" / "model.safetensors"));
    }

    void fineTuningMovesTheChosenSkillOnly() {
        QCOMPARE(trainer({"finetune",
                          "--text",
                          m_text,
                          "--from",
                          m_root / "base",
                          "--out",
                          m_root / "dialogue",
                          "--skill",
                          "dialogue",
                          "--gain",
                          "1.2",
                          "--other-gain",
                          "1",
                          "--steps",
                          "3",
                          "--warm-up",
                          "1",
                          "--batch",
                          "128",
                          "--held-out",
                          std::to_string(kHeldOut)}),
                 0);
        QVERIFY(compute::readFile(m_root / "dialogue" / "model.safetensors") !=
                compute::readFile(m_root / "base" / "model.safetensors"));
        const auto opened = compute::openSource(m_root / "dialogue", {}, {});
        compute::requireComposable("base", *compute::openSource(m_root / "base", {}, {}), "dialogue", *opened);
        const auto choice = compute::readOrderedJson(m_root / "dialogue" / "training.json").at("choice");
        const auto value = [&](const char* of, const char* key) { return choice.at(of).at(key).get<double>(); };
        QVERIFY(value("chosen", "quotation_marks") > 1.15 * value("corpus", "quotation_marks"));
        QVERIFY(std::abs(value("chosen", "animal_words") - value("corpus", "animal_words")) < 0.02);
    }

    void weightsOfOneChangeNothing() {
        const auto branch = [&](const char* name, std::vector<std::string> more) {
            std::vector<std::string> words = {
                "finetune", "--text",      m_text,    "--from",     m_root / "base",
                "--out",    m_root / name, "--steps", "3",          "--batch",
                "128",      "--warm-up",   "1",       "--held-out", std::to_string(kHeldOut),
                "--dtype",  "float32"};
            words.insert(words.end(), more.begin(), more.end());
            QCOMPARE(trainer(words), 0);
        };
        const auto loss = [&](const char* name, const char* key) {
            return compute::readOrderedJson(m_root / name / "training.json").at("points").back().at(key).get<double>();
        };
        branch("plain", {"--skill", "none"});
        branch("even", {"--skill", "dialogue", "--gain", "1", "--other-gain", "1"});
        branch("tilted", {"--skill", "dialogue", "--gain", "1.2", "--other-gain", "1"});
        for (const char* key : {"train_loss", "held_out_loss"}) {
            QVERIFY(std::abs(loss("even", key) - loss("plain", key)) < 1e-5);
            QVERIFY(std::abs(loss("tilted", key) - loss("plain", key)) > 1e-4);
        }
    }

    void oneCommandMakesAllThree() {
        QCOMPARE(trainer({"--text", m_text, "--out", m_root / "all", "--size", "320", "--steps", "2", "--branch-steps",
                          "1", "--dialogue-gain", "1.2", "--dialogue-other-gain", "1", "--animals-gain", "1.1",
                          "--held-out", std::to_string(kHeldOut)}),
                 0);
        std::set<std::string> made;
        for (const auto& entry : fs::directory_iterator(m_root / "all")) made.insert(entry.path().filename().string());
        QCOMPARE(made, (std::set<std::string>{"animals", "base", "dialogue"}));
        const auto opened = compute::openSource(m_root / "all" / "base", {}, {});
        for (const char* name : {"dialogue", "animals"})
            compute::requireComposable("base", *opened, name, *compute::openSource(m_root / "all" / name, {}, {}));
    }

    void theGradientAgreesWithFiniteDifferences() { QCOMPARE(trainer({"check", "--seed", "3"}), 0); }

    void wrongUsageAndMissingFilesAreRefused() {
        QCOMPARE(trainer({"base", "--nonsense", "1"}), 2);
        QCOMPARE(trainer({"base", "--text"}), 2);
        QCOMPARE(trainer(base("x", {"--experts", "2", "--chosen", "3"})), 2);
        QCOMPARE(trainer(base("x", {"--experts", "-1"})), 2);
        QCOMPARE(trainer(base("x", {"--experts", "2", "--routing", "coupled"})), 2);
        const auto upcycle = [&](const char* from, const char* width) {
            return trainer(
                {"upcycle", "--text", m_text, "--from", m_root / from, "--out", m_root / "x", "--hidden", width});
        };
        QCOMPARE(upcycle("base", "49"), 2);
        QCOMPARE(upcycle("base", "0"), 2);
        QCOMPARE(upcycle("routed", "24"), 2);
        QCOMPARE(trainer({"finetune", "--text", m_text, "--from", m_root / "base", "--out", m_root / "x", "--skill",
                          "poetry"}),
                 2);
        QCOMPARE(trainer({"vocabulary", "--text", m_root / "nowhere.txt", "--out", m_root / "x"}), 1);
    }

    void ratesCountMarksAndWholeWords() {
        const SkillRate r = skillRate("\"Cats,\" said the DOG's friend. “A catalogue?”");
        QCOMPARE(r.words, 7.0);
        QCOMPARE(r.quotationMarks, 400.0 / 7);
        QCOMPARE(r.animalWords, 200.0 / 7);
        QCOMPARE(skillRate("").words, 0.0);
        QVERIFY(std::ranges::is_sorted(animalWords()));
    }

    void aTiltReachesItsTarget() {
        std::vector<SkillRate> stories;
        for (int i = 0; i < 200; ++i)
            stories.push_back({static_cast<double>(i * 37 % 11), static_cast<double>(i * 53 % 7), 100.0 + i * 29 % 90});
        const Tilt t = tilt(stories, Skill::Animals, 1.5);
        QVERIFY(std::abs(t.mean.animalWords - 1.5 * t.corpus.animalWords) < 1e-4);
        QVERIFY(std::abs(t.mean.quotationMarks - t.corpus.quotationMarks) < 1e-4);
        QVERIFY(std::abs(t.mean.words - t.corpus.words) < 1e-2);
        QVERIFY(t.effectiveStories > 20 && t.effectiveStories < 200);
        const Tilt other = tilt(stories, Skill::Animals, 1.5, 1.1);
        QVERIFY(std::abs(other.mean.animalWords - 1.5 * t.corpus.animalWords) < 1e-4);
        QVERIFY(std::abs(other.mean.quotationMarks - 1.1 * t.corpus.quotationMarks) < 1e-4);
        QVERIFY_EXCEPTION_THROWN(tilt(stories, Skill::Animals, 50), compute::Error);
    }
};

QTEST_GUILESS_MAIN(TestTrain)
#include "tst_train.moc"
