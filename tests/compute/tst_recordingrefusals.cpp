// What of a recording is refused, and in which words: its own text and nothing else.
#include <cmath>
#include <limits>

#include "compute/decode/ensemble.h"
#include "tests/support/recordingfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

namespace {

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
    {"a base that is not said",
     "the metadata entry 'base' is missing (expected the name of a source with logits in it); record it again.",
     [](ToyRecording& r) { r.metadata.erase("base"); }},
    {"a name with a line end", "the name of tensor 'logits.a b' holds a line end or another control character",
     [](ToyRecording& r) { r.tensor("logits.math").name = "logits.a\nb"; }},
    {"a name with a control character", "the name of tensor 'logits.a\\x1bb' holds a line end or another control",
     [](ToyRecording& r) {
         r.tensor("logits.math").name =
             "logits.a\x1b"
             "b";
     }},
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
    {"a number below 0",
     "its metadata entry 'experts_per_token' cannot be read (expected a whole number from 0, found '-1')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "-1"}, {"norm_topk_prob", "true"}});
     }},
    {"a number with more behind it",
     "its metadata entry 'router_layers' cannot be read (expected a whole number from 0, found '2x')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2x"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
    {"neither true nor false",
     "its metadata entry 'norm_topk_prob' cannot be read (expected true or false, found 'yes')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "2"}, {"norm_topk_prob", "yes"}});
     }},
    {"fewer layers than rows", "tensor 'router_logits.math' is not one row of router logits for each layer and token",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
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
    {"no layers",
     "its metadata entry 'router_layers' does not name the layers of tensor 'router_logits.math' (expected numbers "
     "such "
     "as 0,2,4, each once and at most 1073741823, found none)",
     [](ToyRecording& r) {
         r.tensors.push_back(floatTensor("router_logits.math", {0, 5, 4}, {}));
         r.metadata.insert({{"router_layers", ""}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
    {"a layer twice", "each once and at most 1073741823, found '2,2')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "2,2"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
    {"a layer that no noise has an address for", "each once and at most 1073741823, found '0,1073741824')",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.math", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,1073741824"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
    {"router logits that are whole numbers",
     "(expected float [1, 5, E], since router_layers names 1, found int64 [1, 5, 1])",
     [](ToyRecording& r) {
         r.tensors.push_back(idTensor("router_logits.math", {1, 2, 3, 4, 5}));
         r.tensors.back().shape = {1, 5, 1};
         r.metadata.insert({{"router_layers", "0"}, {"experts_per_token", "1"}, {"norm_topk_prob", "true"}});
     }},
    {"router logits of no source",
     "tensor 'router_logits.other' belongs to no source of the recording (expected a tensor 'logits.other' beside it)",
     [](ToyRecording& r) {
         r.tensors.push_back(randomTensor("router_logits.other", {2, 5, 4}, 1));
         r.metadata.insert({{"router_layers", "0,2"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
     }},
};

}  // namespace

class TestRecordingRefusals : public QObject, RecordingFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { begin(); }

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

    /// Where the router's logits are none, or leave too few experts: said by layer, position and expert.
    void routerLogitsThatAreNone_data() {
        QTest::addColumn<float>("value");
        QTest::addColumn<int>("experts");
        QTest::addColumn<QString>("says");
        const float infinity = std::numeric_limits<float>::infinity();
        const QString number =
            "tensor 'router_logits.math' holds a router logit that is no number (expected a finite number, or "
            "-infinity "
            "for an expert that is off, found %1 at layer 6, position 3, expert 1); record it again.";
        QTest::newRow("NaN") << std::nanf("") << 1 << number.arg("NaN");
        QTest::newRow("+infinity") << infinity << 1 << number.arg("+infinity");
        QTest::newRow("two experts off") << -infinity << 2 << QString();
        QTest::newRow("three experts off")
            << -infinity << 3
            << "tensor 'router_logits.math' leaves too few experts to choose from (expected 2 or more above "
               "-infinity, found 1 at layer 6, position 3); record it again.";
    }
    void routerLogitsThatAreNone() {
        QFETCH(float, value);
        QFETCH(int, experts);
        QFETCH(QString, says);
        ToyRecording toy(kTokens, kWidth, {"base", "math"});
        std::vector<float> values = toyNumbers(2 * 5 * 4, 1, 1);
        for (int e = 1; e <= experts; ++e) values[static_cast<std::size_t>((1 * 5 + 3) * 4 + e)] = value;
        toy.tensors.push_back(floatTensor("router_logits.math", {2, 5, 4}, values));
        toy.metadata.insert({{"router_layers", "0,6"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
        toy.write(file());
        const Recording recording = readRecording(file());
        std::vector<float> read;
        const std::string found = errorOf([&] { read = readRouterLogits(recording, recording.sources[1]); });
        QCOMPARE(QString::fromStdString(found),
                 says.isEmpty() ? QString() : QString::fromStdString(file().string()) + ": " + says);
        if (says.isEmpty()) QCOMPARE(read, values);
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

QTEST_GUILESS_MAIN(TestRecordingRefusals)
#include "tst_recordingrefusals.moc"
