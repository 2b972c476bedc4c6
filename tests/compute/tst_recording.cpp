// Recordings as sources: rows in every number type, their tokenizer, the gate, an ensemble.
#include <bit>
#include <cmath>

#include "compute/composition/compose.h"
#include "compute/decode/ensemble.h"
#include "tests/support/recordingfolder.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

class TestRecording : public QObject, RecordingFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { begin(); }

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
        QCOMPARE(math->forward(std::span(ids).subspan(2, 1), 0, {}, stop.get_token()), Outcome::Cancelled);
        math->rewind(9);  // only back
        QCOMPARE(math->length(), Position{2});
    }

    void theBaseComesFirst() {
        ToyRecording recording = written();
        recording.metadata["base"] = "math";
        recording.write(file());
        const Recording read = readRecording(file());
        QCOMPARE(read.sources[0].name, std::string("math"));
        QCOMPARE(read.sources[1].name, std::string("base"));
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

    void aNameMayHaveMarksOfDirection() {
        ToyRecording recording(kTokens, kWidth, {"base", "math"});
        recording.tensor("logits.math").name = "logits.ma\u200Fth";
        recording.write(file());
        QCOMPARE(source("ma\u200Fth")->length(), Position{0});
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
        const std::vector<float> logits = toyNumbers(2 * 5 * 4, 1, 0.1F);
        QCOMPARE(readRouterLogits(read, read.sources[1]), logits);

        // As a source it tells of each token its router logits and whom they choose; settings do not move what was
        // read.
        const auto math = source("math");
        QVERIFY(!source()->info().routers && math->info().routers);
        QVERIFY(math->info().routers->layers == (std::vector<std::int64_t>{0, 2}) &&
                math->info().routers->experts == 4);
        std::vector<float> rows(kWidth);
        const std::vector<TokenId> ids(kTokens.begin(), kTokens.end());
        QCOMPARE(math->forward(std::span(ids).first(2), 1, rows, {}), Outcome::Done);
        QCOMPARE(math->routing().size(), std::size_t{2});
        QCOMPARE(math->forward(std::span(ids).subspan(2), 1, rows, {}), Outcome::Done);
        QCOMPARE(math->routing().size(), std::size_t{3});
        for (std::size_t t = 2; t < 5; ++t) {
            const RoutingRow& row = math->routing()[t - 2];
            for (std::size_t l = 0; l < 2; ++l) {
                const std::span<const float> wanted(logits.data() + (l * 5 + t) * 4, 4);
                QVERIFY(std::equal(wanted.begin(), wanted.end(), row.logits.begin() + std::ptrdiff_t(4 * l)));
                RouteMemory memory;
                Routed routed;
                route({.chosen = 2, .normTopkProb = false, .bias = {}}, wanted, {}, {}, memory, routed);
                for (std::size_t k = 0; k < 2; ++k) {
                    QCOMPARE(row.experts[2 * l + k], routed.experts[k]);
                    QCOMPARE(row.weights[2 * l + k], static_cast<float>(routed.weights[k]));
                }
            }
        }
        SourceRouting noisy;
        noisy.noise.coupling.rho = 0.25;  // a dial of estimates
        math->setRouting(noisy);
        noisy.noise.mode = RoutingMode::Coupled;
        QVERIFY(errorOf([&] { math->setRouting(noisy); }).find("was routed when it was made") != std::string::npos);
        QVERIFY(errorOf([&] { source()->setRouting(noisy); }).find("no routed experts") != std::string::npos);
    }

    /// A token whose router logits choose nobody has its other logits all the same.
    void routerLogitsThatChooseNobody() {
        ToyRecording recording({1, 2, 3}, kWidth, {"base"});
        const std::vector<float> logits{0, 1, 2, NAN, 1, 2, -INFINITY, -INFINITY, 1};
        ToyTensor tensor{
            "router_logits.base", DType::F32, {1, 3, 3}, std::vector<std::byte>(logits.size() * sizeof(float))};
        std::memcpy(tensor.bytes.data(), logits.data(), tensor.bytes.size());
        recording.tensors.push_back(tensor);
        recording.metadata.insert({{"router_layers", "0"}, {"experts_per_token", "2"}, {"norm_topk_prob", "true"}});
        recording.write(file());
        const auto base = source();
        std::vector<float> rows(3 * kWidth);
        QCOMPARE(base->forward(std::vector<TokenId>{1, 2, 3}, 3, rows, {}), Outcome::Done);
        QCOMPARE(base->routing().size(), std::size_t{3});
        QCOMPARE(base->routing()[0].experts, (std::vector<ExpertId>{2, 1}));
        QVERIFY(base->routing()[1].experts.empty() && base->routing()[2].experts.empty());
    }

    /// In 16 bits they are what those bits say: 10.00 and 10.03 are one number in bfloat16 (HAZARDS A26).
    void routerLogitsOfSixteenBits() {
        ToyRecording recording({1}, kWidth, {"base"});
        const std::uint16_t bits[] = {0x4120, 0x4120, 0xFF80, 0xBF80};
        ToyTensor tensor{"router_logits.base", DType::BF16, {1, 1, 4}, std::vector<std::byte>(sizeof bits)};
        std::memcpy(tensor.bytes.data(), bits, sizeof bits);
        recording.tensors.push_back(tensor);
        recording.metadata.insert({{"router_layers", "3"}, {"experts_per_token", "3"}, {"norm_topk_prob", "true"}});
        recording.write(file());
        const Recording read = readRecording(file());
        QCOMPARE(readRouterLogits(read, read.sources[0]), (std::vector<float>{10, 10, -INFINITY, -1}));
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

        fs::create_directories(folder() / "models");
        fs::create_symlink("base", folder() / "models/base");
        QVERIFY2(source()->info().notices[0].find("cannot be read (symbolic links go round in a circle), so its tokens "
                                                  "are shown as ids") != std::string::npos,
                 source()->info().notices[0].c_str());
        fs::remove(folder() / "models/base");

        // One file says it once, however many of its sources are in the rack.
        std::vector<EnsembleMember> members;
        for (const char* name : {"base", "math"})
            members.push_back({.name = name, .source = source(name), .prefix = {}});
        const std::vector<std::string> told = Ensemble(std::move(members)).notices();
        QCOMPARE(told, std::vector<std::string>{"'base': " + without->info().notices[0]});

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
    void normalisedRowsStay() {
        const std::vector<float> values = toyNumbers(5000, 3, 12);
        std::vector<float> once(values.size()), twice(values.size());
        logSoftmax(values, 1, once, "x", 1);
        logSoftmax(once, 1, twice, "x", 1);
        QCOMPARE(twice, once);
        // But at a temperature of its own it does not.
        const std::vector<float> certain{0, -30};
        std::vector<float> cold(2);
        logSoftmax(certain, 0.5, cold, "x", 1);
        QVERIFY(std::abs(cold[1] + 60) < 1e-4f);
        std::vector<float> shifted = once;
        for (float& x : shifted) x += 1e-4f;
        logSoftmax(shifted, 1, twice, "x", 1);
        QVERIFY(std::abs(twice[0] - once[0]) < 2e-6f);  // what is not normalised is
    }
};

QTEST_GUILESS_MAIN(TestRecording)
#include "tst_recording.moc"
