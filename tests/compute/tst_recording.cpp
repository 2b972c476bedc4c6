// Recordings as sources: rows in every number type, its own text and nothing else, what is refused by name, the gate.
#include <bit>
#include <cmath>
#include <limits>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "compute/sources/recording.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/toyrecording.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

const std::vector<std::int64_t> kTokens{1, 5, 3, 7, 2};
constexpr std::int64_t kWidth = 9;

struct Fault {
    const char* name;
    const char* sentence;
    void (*spoil)(ToyRecording&);
};
/// What cannot be read, and the words that must say it.
const Fault kFaults[] = {
    {"weights", "this is not a recording",
     [](ToyRecording& r) {
         r.metadata = {{"format", "pt"}};
     }},
    {"another version",
     "this recording is of another version (expected the metadata entry format = "
     "counterpoint.recording/1, found counterpoint.recording/2)",
     [](ToyRecording& r) { r.metadata["format"] = "counterpoint.recording/2"; }},
    {"no tokens", "tensor 'tokens' is missing", [](ToyRecording& r) { r.tensor("tokens").name = "ids"; }},
    {"tokens that are numbers",
     "tensor 'tokens' is not a list of ids (expected int64 [T], T of 1 or more, found "
     "float32 [5])",
     [](ToyRecording& r) { r.tensor("tokens") = floatTensor("tokens", {5}, std::vector<float>(5)); }},
    {"an empty text", "tensor 'tokens' is not a list of ids",
     [](ToyRecording& r) { r.tensor("tokens") = idTensor("tokens", {}); }},
    {"a negative id", "tensor 'tokens' holds a number that is no id (found -1)",
     [](ToyRecording& r) {
         r.tensor("tokens") = idTensor("tokens", {1, 5, -1, 7, 2});
     }},
    {"an id of 33 bits", "tensor 'tokens' holds a number that is no id (found 4294967297)",
     [](ToyRecording& r) {
         r.tensor("tokens") = idTensor("tokens", {1, 5, 4294967297, 7, 2});
     }},
    {"an id without a logit", "tensor 'tokens' holds an id without a logit (expected ids below 9, found 9)",
     [](ToyRecording& r) {
         r.tensor("tokens") = idTensor("tokens", {1, 5, 9, 7, 2});
     }},
    {"no base", "its base 'other' has no logits in it", [](ToyRecording& r) { r.metadata["base"] = "other"; }},
    {"a base that is not said", "its base '' has no logits in it", [](ToyRecording& r) { r.metadata.erase("base"); }},
    {"a row too few",
     "tensor 'logits.math' is not one row of logits for each token (expected float [5, V], found "
     "float32 [4, 9])",
     [](ToyRecording& r) {
         r.tensor("logits.math") = randomTensor("logits.math", {4, 9}, 1);
     }},
    {"logits that are ids", "tensor 'logits.math' is not one row of logits",
     [](ToyRecording& r) {
         r.tensor("logits.math") = idTensor("logits.math", std::vector<std::int64_t>(45));
         r.tensor("logits.math").shape = {5, 9};
     }},
    {"no columns", "tensor 'logits.base' is not one row of logits",
     [](ToyRecording& r) {
         r.tensor("logits.base") = floatTensor("logits.base", {5, 0}, {});
     }},
    {"another width", "tensor 'logits.math' has another width than the base's (expected 9, found 8)",
     [](ToyRecording& r) {
         r.tensor("logits.math") = randomTensor("logits.math", {5, 8}, 1);
     }},
    {"router logits without layers",
     "its metadata entry 'experts_per_token' cannot be read (expected a whole number "
     "from 0, found nothing)",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
     }},
    {"router logits of another text", "tensor 'router_logits.math' is not one row of router logits",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 4, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
    {"more experts than there are", "its metadata entry 'experts_per_token' does not fit",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "5"}, {"norm_topk_prob", "true"}});
     }},
    {"layers that are words",
     "its metadata entry 'router_layers' cannot be read (expected a whole number from 0, "
     "found 'two')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,two"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
};

}  // namespace

class TestRecording : public QObject, Scratch {
    Q_OBJECT

    fs::path file() const { return folder() / "r.safetensors"; }
    ToyRecording written() const {
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        recording.write(file());
        return recording;
    }
    std::unique_ptr<Source> source(const std::string& name = {}, const std::string& tokenizer = {}) const {
        OpenOptions options;
        options.sourceInFile = name;
        options.tokenizer = tokenizer;
        return openSource(file(), options, {});
    }
    static std::vector<TokenId> tokens() { return {kTokens.begin(), kTokens.end()}; }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void whatItSaysOfItself() {
        written();
        const auto base = source(), math = source("math");
        QCOMPARE(base->info().kind, std::string("recording"));
        QCOMPARE(base->info().architecture, std::string("recording of 'base'"));
        QCOMPARE(math->info().architecture, std::string("recording of 'math'"));
        QCOMPARE(base->info().logitWidth, kWidth);
        QCOMPARE(base->info().maxPositions, Position{5});
        QVERIFY(base->tokenizer() == nullptr);
        QCOMPARE(std::vector<TokenId>(base->recorded().begin(), base->recorded().end()), tokens());
        QVERIFY(errorOf([&] { source("poetry"); })
                    .ends_with("the recording has no source 'poetry' (expected 'base', 'math'); "
                               "name one of them under \"source\"."));
    }

    void itsRows() {
        ToyRecording recording = written();
        const std::vector<float> expected = recording.values("math");
        const auto math = source("math");
        std::vector<float> rows(2 * kWidth);
        const std::vector<TokenId> ids = tokens();
        // Three at once, the rows after the last two; then one more; then again after a rewind, in a fork too.
        QCOMPARE(math->forward(std::span(ids).first(3), 2, rows, {}), Outcome::Done);
        QVERIFY(std::equal(rows.begin(), rows.end(), expected.begin() + kWidth));
        QCOMPARE(math->length(), Position{3});
        const auto fork = math->fork();
        QCOMPARE(fork->length(), Position{0});
        std::vector<float> row(kWidth);
        QCOMPARE(math->forward(std::span(ids).subspan(3, 1), 1, row, {}), Outcome::Done);
        QVERIFY(std::equal(row.begin(), row.end(), expected.begin() + 3 * kWidth));
        math->rewind(1);
        QCOMPARE(math->forward(std::span(ids).subspan(1, 1), 1, row, {}), Outcome::Done);
        QVERIFY(std::equal(row.begin(), row.end(), expected.begin() + kWidth));
        QCOMPARE(fork->forward(ids, 1, row, {}), Outcome::Done);
        QVERIFY(std::equal(row.begin(), row.end(), expected.begin() + 4 * kWidth));
        std::stop_source stop;
        stop.request_stop();
        math->rewind(2);
        QCOMPARE(math->forward(std::span(ids).subspan(2, 1), 1, row, stop.get_token()), Outcome::Cancelled);
        QCOMPARE(math->length(), Position{2});
    }

    void numberTypes_data() {
        QTest::addColumn<int>("dtype");
        for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
            QTest::newRow(dtypeName(dtype).data()) << static_cast<int>(dtype);
    }
    void numberTypes() {
        QFETCH(int, dtype);
        // Numbers that every type holds exactly, float16's smallest (not normal), and -infinity.
        const std::vector<float> values{0.0f, -1.5f, 0x1p-24f, -0x1p-14f, 3.0f, 1024.0f, -0.25f, 7.0f, -INFINITY};
        ToyRecording recording({4}, kWidth, {"base"});
        ToyTensor& t = recording.tensor("logits.base");
        t.dtype = static_cast<DType>(dtype);
        t.bytes.clear();
        const auto put = [&](auto bits) {
            const auto* bytes = reinterpret_cast<const std::byte*>(&bits);
            t.bytes.insert(t.bytes.end(), bytes, bytes + sizeof bits);
        };
        const std::uint16_t halves[] = {0, 0xBE00, 0x0001, 0x8400, 0x4200, 0x6400, 0xB400, 0x4700, 0xFC00};
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (t.dtype == DType::F64) put(static_cast<double>(values[i]));
            if (t.dtype == DType::F32) put(values[i]);
            if (t.dtype == DType::F16) put(halves[i]);
            if (t.dtype == DType::BF16) put(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(values[i]) >> 16));
        }
        recording.write(file());
        std::vector<float> row(kWidth);
        const std::vector<TokenId> ids{4};
        const auto base = source();
        QCOMPARE(base->forward(ids, 1, row, {}), Outcome::Done);
        QCOMPARE(row, values);
        QCOMPARE(base->info().dtype, std::string(dtypeName(t.dtype)));
    }

    void itsOwnTextOnly() {
        written();
        const auto base = source();
        std::vector<float> row(kWidth);
        const std::vector<TokenId> other{1, 5, 4}, longer{1, 5, 3, 7, 2, 0};
        const std::string wrong = errorOf([&] { base->forward(other, 1, row, {}); });
        QVERIFY2(
            wrong.find("a recording answers for its own text only, and this is another one (expected id 3 as token 2, "
                       "found id 4); open the model itself") != std::string::npos,
            wrong.c_str());
        QCOMPARE(base->length(), Position{0});
        const std::string beyond = errorOf([&] { base->forward(longer, 1, row, {}); });
        QVERIFY2(beyond.find("the recording ends here, and a recording cannot go on (expected at most 5 tokens)") !=
                     std::string::npos,
                 beyond.c_str());
    }

    void refusals_data() {
        QTest::addColumn<int>("fault");
        for (std::size_t i = 0; i < std::size(kFaults); ++i) QTest::newRow(kFaults[i].name) << static_cast<int>(i);
    }
    void refusals() {
        QFETCH(int, fault);
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        kFaults[fault].spoil(recording);
        recording.write(file());
        const std::string found = errorOf([&] { readRecording(file()); });
        QVERIFY2(found.find(kFaults[fault].sentence) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(file().string()) && found.find('\n') == std::string::npos, found.c_str());
    }

    void routerLogits() {
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        recording.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
        recording.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "2"}, {"norm_topk_prob", "false"}});
        recording.write(file());
        const Recording read = readRecording(file());
        QVERIFY(!read.sources[0].routing && read.sources[1].routing);
        QCOMPARE(read.sources[1].routing->layers, (std::vector<std::int64_t>{0, 2}));
        QCOMPARE(read.sources[1].routing->expertsPerToken, std::int64_t{2});
        QVERIFY(!read.sources[1].routing->normTopkProb);
    }

    void itsTokenizer() {
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        recording.metadata["tokenizer"] = "models/base";
        recording.write(file());
        // What only the recording names may have stayed where it was made: its tokens are ids, and it says so.
        const auto without = source();
        QVERIFY(without->tokenizer() == nullptr);
        QCOMPARE(without->info().notices.size(), std::size_t{1});
        QVERIFY(without->info().notices[0].find("is not there, so its tokens are shown as ids") != std::string::npos);
        QVERIFY(!errorOf([&] { source({}, (folder() / "elsewhere").string()); }).empty());

        fs::create_directories(folder() / "models/base");
        writeJson(folder() / "models/base/tokenizer.json", tokenizerOf(toyPieces(9)));
        writeJson(folder() / "models/base/generation_config.json", {{"eos_token_id", {2, 7}}});
        const auto with = source();
        QVERIFY(with->tokenizer() != nullptr && with->tokenizer()->size() == 9);
        QCOMPARE(with->info().stopIds, (std::vector<TokenId>{2, 7}));
        fs::rename(folder() / "models/base", folder() / "elsewhere");
        QVERIFY(source({}, (folder() / "elsewhere").string())->tokenizer() != nullptr);
        writeJson(folder() / "elsewhere/tokenizer.json", tokenizerOf(toyPieces(10)));
        QVERIFY(errorOf([&] {
                    source({}, (folder() / "elsewhere").string());
                }).find("the recording gives fewer logits") != std::string::npos);
    }

    void gate() {
        written();
        const auto base = source(), math = source("math");
        QVERIFY(requireComposable("base", *base, "math", *math).empty());
        const auto against = [&](const std::vector<std::int64_t>& tokens, std::int64_t width, const char* tokenizer) {
            ToyRecording other(tokens, width, {"base"});
            if (tokenizer != nullptr) other.metadata["tokenizer"] = tokenizer;
            other.write(folder() / "other.safetensors");
            const auto source = openSource(folder() / "other.safetensors", {}, {});
            return errorOf([&] { requireComposable("base", *base, "other", *source); });
        };
        fs::create_directories(folder() / "t");
        writeJson(folder() / "t/tokenizer.json", tokenizerOf(toyPieces(9)));
        QCOMPARE(against({1, 5, 3}, kWidth, nullptr), std::string());  // a beginning of the same text
        QVERIFY(against({1, 5, 4, 7, 2}, kWidth, nullptr)
                    .find("they are recordings of different texts: token 2 is id 3 in "
                          "one and id 4 in the other") != std::string::npos);
        QVERIFY(against(kTokens, 8, nullptr).find("'base' has 9 ids, 'other' 8") != std::string::npos);
        QVERIFY(against(kTokens, kWidth, "t").find("nothing says what the ids of 'base' mean") != std::string::npos);
    }

    /// Without a tokenizer the width is the vocabulary; the rows are what the file's logits make.
    void inAnEnsemble() {
        ToyRecording recording = written();
        std::vector<EnsembleMember> members;
        members.push_back({.name = "base", .source = source(), .prefix = {}});
        members.push_back({.name = "math", .source = source("math"), .prefix = {}});
        Ensemble ensemble(std::move(members));
        QCOMPARE(ensemble.vocabulary(), kWidth);
        QCOMPARE(ensemble.maxPositions(), Position{5});
        std::vector<RawRows> rows;
        QCOMPARE(ensemble.forward(tokens(), 1, rows, {}), Outcome::Done);
        QCOMPARE(rows.size(), std::size_t{5});
        const std::vector<float> values = recording.values("math");
        std::vector<float> expected(kWidth);
        logSoftmax(std::span(values).subspan(3 * kWidth, kWidth), 1, expected, "math", 4);
        QCOMPARE(rows[3].rows[1], expected);
        const std::string wrong = errorOf([&] { ensemble.forward(std::vector<TokenId>{1, 5, 4}, 1, rows, {}); });
        QVERIFY2(wrong.starts_with("source 'base', position "), wrong.c_str());
    }

    /// What was normalised once stays bit for bit what it is: a recording of log-probabilities opens as it was.
    /// A row that is no row: its file, source and place, and advice about the recording.
    void rowsThatAreNone_data() {
        QTest::addColumn<float>("value");
        QTest::addColumn<int>("prefix");
        QTest::addColumn<QString>("says");
        const QString number = "a logit is not a number or +infinity";
        const float infinity = std::numeric_limits<float>::infinity();
        const QString where = "source 'sums', position %1 (%2, row 3, which is about token 4): ";
        QTest::newRow("NaN") << std::nanf("") << 0 << where.arg(4) + number;
        QTest::newRow("+inf") << infinity << 0 << where.arg(4) + number;
        QTest::newRow("all -inf") << -infinity << 0 << where.arg(4) + "every logit is -infinity, so no token is left";
        QTest::newRow("NaN behind a prefix") << std::nanf("") << 2 << where.arg(2) + number;
    }
    void rowsThatAreNone() {
        QFETCH(float, value);
        QFETCH(int, prefix);
        QFETCH(QString, says);
        ToyRecording toy(kTokens, kWidth, {"base", "math"});
        std::vector<float> values = toy.values("math");
        for (std::int64_t v = value < 0 ? 0 : 6; v < (value < 0 ? kWidth : 7); ++v)
            values[static_cast<std::size_t>(3 * kWidth + v)] = value;
        toy.tensor("logits.math") = floatTensor("logits.math", {5, kWidth}, values);
        const fs::path file = folder() / "spoilt.safetensors";
        toy.write(file);
        std::vector<EnsembleMember> members(1);
        members[0].name = "sums";
        OpenOptions options;
        options.sourceInFile = "math";
        members[0].source = openSource(file, options, {});
        members[0].prefix.assign(kTokens.begin(), kTokens.begin() + prefix);
        Ensemble ensemble(std::move(members));
        const std::vector<TokenId> ids(kTokens.begin() + prefix, kTokens.end());
        std::vector<RawRows> rows;
        const std::string found = errorOf([&] { ensemble.forward(ids, 1, rows, {}); });
        QCOMPARE(QString::fromStdString(found),
                 says.replace("%2", QString::fromStdString(file.string())) + "; record it again.");
    }

    void normalisedRowsStay() {
        const std::vector<float> values = toyNumbers(5000, 3, 12);
        std::vector<float> once(values.size()), twice(values.size());
        logSoftmax(values, 1, once, "x", 1);
        logSoftmax(once, 1, twice, "x", 1);
        QCOMPARE(twice, once);
        std::vector<float> shifted = once;
        for (float& x : shifted) x += 1e-4f;
        logSoftmax(shifted, 1, twice, "x", 1);
        QVERIFY(std::abs(twice[0] - once[0]) < 2e-6f);  // what is not normalised is
    }

    void changedWhileOpen() {
        written();
        const auto base = source();
        fs::resize_file(file(), fs::file_size(file()) - 4);
        std::vector<float> row(kWidth);
        const std::vector<TokenId> ids = tokens();
        QVERIFY(errorOf([&] { base->forward(ids, 1, row, {}); }).find("was changed while it was open") !=
                std::string::npos);
        QVERIFY(errorOf([&] { source(); }).find("the file is too short") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestRecording)
#include "tst_recording.moc"
