// The trainer through its command line, on a toy text: the loss falls, the written model is the trained one (its loss
// through the product's own decoder equals the trainer's), runs repeat bit for bit, the gradient agrees with finite
// differences; and the choice of stories moves one skill and leaves the other.

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

    std::vector<std::string> base(const std::string& name) const {
        return {"base",
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
    }
    void init() { tests::failOnAnyWarning(); }

    void theLossFalls() {
        const auto points = compute::readOrderedJson(m_root / "base" / "training.json").at("points");
        QCOMPARE(points.size(), std::size_t{4});
        const double first = points.front().at("held_out_loss"), last = points.back().at("held_out_loss");
        QVERIFY2(last < first - 0.5, qPrintable(QStringLiteral("%1 -> %2").arg(first).arg(last)));
    }

    void theDecoderAgreesWithTheTrainingForward() {
        const auto report = compute::readOrderedJson(m_root / "base" / "training.json");
        const auto source = compute::openSource(m_root / "base", {}, {});
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
        QCOMPARE(tokens, report.at("held_out_tokens").get<std::int64_t>());
        const double expected = report.at("held_out_loss").get<double>(), found = sum / static_cast<double>(tokens);
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

    void aRunRepeatsBitForBit() {
        QCOMPARE(trainer(base("again")), 0);
        QCOMPARE(compute::readFile(m_root / "again" / "model.safetensors"),
                 compute::readFile(m_root / "base" / "model.safetensors"));
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
