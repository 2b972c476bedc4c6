// Compression of one bank as the window, the commands and the figures tell it (R9, R10): numbers worked out by hand, KL
// on a scripted trace against its closed form and its bounds, what a session says of single priors, stopping.
#include <cmath>
#include <fstream>
#include <random>

#include "model/bankcompress.h"
#include "model/banks.h"
#include "model/runner.h"
#include "tests/model/scripted.h"
#include "tests/support/banks.h"
#include "tests/support/scratch.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

/// Two alike, one of two magnitudes, one that is off; the last three are of another task.
constexpr const char* kLetters = R"({"format":"counterpoint.bank/1","name":"letters","priors":[
 {"name":"a","task":"t","quality":0.8,"delta":{"110":1.0,"111":0.5,"112":-1.5}},
 {"name":"b","task":"t","quality":0.7,"delta":{"110":0.7,"111":0.7,"112":-0.7}},
 {"name":"c","task":"u","quality":0.999,"promote":[120,121],"demote":[122],"delta_plus":2,"delta_minus":0.5},
 {"name":"off","task":"u","quality":0.2,"promote":[130]},
 {"name":"wrong","task":"u","quality":0.9,"promote":[131,"not one token"]}]})";

compute::Bank bankFrom(const char* text) {
    std::vector<std::string> warnings;
    return compute::bankFromJson(compute::OrderedJson::parse(text), "letters.bank.json", warnings);
}

CompressionInput inputOf(compute::Bank bank, int level = 3) {
    CompressionInput input;
    input.entry.bank = "letters.bank.json";
    input.entry.content = std::make_shared<const compute::Bank>(std::move(bank));
    input.tokenizer = std::make_shared<ByteTokenizer>(300);
    input.options.level = level;
    return input;
}

/// "abababa" scored by a base where all 300 tokens are as likely, or by one that differs from row to row: eight rows,
/// of which three come after a b.
struct Scored {
    Trace trace;
    explicit Scored(compute::Bank bank, double temperature = 1, bool even = true, double weight = 1) {
        Script script;
        script.logits = even ? [](std::span<const TokenId>, std::span<float>) {} : mixing(3);
        Session session = sessionOf({"model"});
        session.mode = Mode::Score;
        session.prompt = "abababa";
        session.decoding.temperature = temperature;
        BankEntry entry;
        entry.bank = "letters.bank.json";
        entry.weight = weight;
        entry.content = std::make_shared<const compute::Bank>(std::move(bank));
        session.priors.push_back(entry);
        RunOptions options;
        options.opener = opener({{"model", script}});
        trace = runSession(session, options).trace;
        trace.session.priors[0].content = entry.content;
        trace.priors = priorSetOf(trace.session, trace.tokenizer.get(), 300);
    }
    CompressionInput input() const { return compressionInput(trace.session, 0, &trace, nullptr); }
    CompressionReport report() const { return compressionReport(input()).value(); }
};

compute::Prior withEta(compute::Prior p, double eta) {
    p.eta = eta;
    return p;
}

/// KL(softmax(s) ‖ softmax(s − d)) from a uniform base of 300, s and d on some tokens.
double klOf(std::vector<double> s, const std::vector<double>& d) {
    s.resize(300, 0.0);
    double z = 0, mean = 0, other = 0;
    for (const double x : s) z += std::exp(x);
    for (std::size_t v = 0; v < s.size(); ++v) {
        const double p = std::exp(s[v]) / z, dv = v < d.size() ? d[v] : 0;
        mean += p * dv;
        other += p * std::exp(-dv);
    }
    return mean + std::log(other);
}

bool near(double a, double b, double tolerance = 1e-12) { return std::abs(a - b) <= tolerance * (1 + std::abs(b)); }

}  // namespace

class TestBankCompress : public QObject, Scratch {
    Q_OBJECT
  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    void eachPriorByHand() {
        const auto report = compressionReport(inputOf(bankFrom(kLetters))).value();
        QCOMPARE(report.name, std::string("letters"));
        QCOMPARE(report.priors.size(), 5u);
        const PriorOneBit &a = report.priors[0], &b = report.priors[1], &c = report.priors[2];
        QCOMPARE(a.name, std::string("a"));
        QCOMPARE(a.support, 3u);
        QCOMPARE(a.promoted, 2u);
        QCOMPARE(a.plus, 0.75);
        QCOMPARE(a.minus, 1.5);
        QCOMPARE(a.alpha, 1.0);
        QCOMPARE(a.squaredError, 0.5);
        QCOMPARE(a.squares, 3.5);
        QCOMPARE(a.share(), 0.5 / 3.5);
        QCOMPARE(b.alpha, 0.7);
        QCOMPARE(b.squaredError, 0.0);
        QCOMPARE(c.plus, 2.0);
        QCOMPARE(c.minus, 0.5);
        QCOMPARE(c.alpha, 1.5);
        QVERIFY(near(c.squaredError, 0.25 + 0.25 + 1) && near(c.share(), 1.5 / 8.25));
        QVERIFY(a.acts && b.acts && c.acts && !report.priors[3].acts && report.priors[4].acts);
        QVERIFY(a.problems.empty() && report.priors[4].problems.size() == 1);
        QVERIFY2(report.priors[4].problems[0].find("not one token") != std::string::npos,
                 report.priors[4].problems[0].c_str());
        QCOMPARE(report.priors[4].support, 1u);
        QVERIFY(a.exactBytes > a.bytes && a.bytes > 0);
    }

    void levelsByHand() {
        const auto report = compressionReport(inputOf(bankFrom(kLetters))).value();
        QCOMPARE(report.levels.size(), 4u);
        const std::size_t priors[] = {5, 5, 4, 3};  // a and b; then c and wrong
        for (int level = 0; level < 4; ++level) {
            const CompressionLevel& one = report.levels[std::size_t(level)];
            QCOMPARE(one.report.level, level);
            QCOMPARE(one.report.priors, priors[level]);
            QCOMPARE(one.bank->priors.size(), priors[level]);
            QCOMPARE(one.bank->level, level);
            QVERIFY(!one.onTrace);
            // The bytes are those of the file.
            const auto file = folder() / ("level" + std::to_string(level) + ".bank.safetensors");
            const ByteTokenizer tokenizer(300);
            compute::writeBank(*one.bank, file, {&tokenizer, 300, false});
            QCOMPARE(std::filesystem::file_size(file), one.report.bytes);
            std::vector<std::string> warnings;
            QVERIFY(compute::readBank(file, warnings) == *one.bank);
        }
        const double whole = double(report.levels[0].report.bytes);
        QCOMPARE(report.levels[2].report.trueRatio, whole / double(report.levels[2].report.bytes));
        // Supports 3, 3, 3, 1 by a sign each and a scale; the one that is off stays as it is.
        QVERIFY(near(report.levels[1].report.paperRatio, 32.0 * 11 / (3 * (3 + 32) + 32 + (1 + 32))));
        QVERIFY(near(report.levels[1].report.squaredError, 2.0));
        QVERIFY(near(report.levels[1].errorShare, 2.0 / (3.5 + 3 * 0.49 + 8.25 + 1)));
        QCOMPARE(report.levels[0].errorShare, 0.0);
        QVERIFY(std::isnan(report.levels[2].errorShare) && std::isnan(report.levels[3].errorShare));
        using Names = std::vector<std::vector<std::string>>;
        QCOMPARE(report.levels[2].report.merged, (Names{{"a", "b"}}));
        QCOMPARE(report.levels[3].report.merged, (Names{{"c", "wrong"}}));
    }

    /// One function makes the levels: what it says is what compress says, at every option.
    void asCompressItself() {
        std::mt19937_64 random(9);
        for (int n = 0; n < 20; ++n) {
            const compute::Bank bank = randomBank(random, 30, 9);
            CompressionInput input = inputOf(bank);
            input.tokenizer = nullptr;
            input.options.threshold = n % 2 == 0 ? 0.9 : 0.5;
            input.options.keep = n % 3 == 0 ? compute::Keep::Size : compute::Keep::Product;
            const auto report = compressionReport(input).value();
            for (int level = 1; level <= 3; ++level) {
                compute::CompressOptions options = input.options;
                options.level = level;
                const auto made = compute::compress(std::span(&bank, 1), {}, options);
                const auto& one = report.levels[std::size_t(level)];
                QVERIFY(*one.bank == made.bank);
                QCOMPARE(one.report.merged, made.levels.back().merged);
                QCOMPARE(one.report.apart, made.levels.back().apart);
                QCOMPARE(one.report.bytes, made.levels.back().bytes);
                QCOMPARE(one.report.paperRatio, made.levels.back().paperRatio);
            }
        }
    }

    void whyNot_data() {
        QTest::addColumn<QStringList>("parts");
        QTest::newRow("context") << QStringList{"'one' and 'after x'", "different contexts"};
        QTest::newRow("task") << QStringList{"'one' and 'other task'", "different tasks, '' and 'v'"};
        QTest::newRow("signs") << QStringList{"'one' and 'contrary'", "signs conflict"};
        QTest::newRow("cosine") << QStringList{"'one' and 'nearly'", "cosine 0.9)", "not above 0.9"};
    }
    void whyNot() {
        QFETCH(QStringList, parts);
        auto contrary = range(1, 10);
        contrary.push_back(-1);
        for (int& id : contrary) id = -id - 1;
        const compute::Bank bank =
            bankOf({prior("one", signs(range(0, 10))), after(prior("after x", signs(range(0, 10))), "x"),
                    prior("other task", signs(range(0, 10)), 0.75, "v"), prior("contrary", signs(contrary)),
                    prior("nearly", signs(range(1, 11)))});
        const auto report = compressionReport(inputOf(bank)).value();
        const auto& apart = report.levels[2].report.apart;
        QVERIFY(std::ranges::any_of(apart, [&](const std::string& sentence) {
            return std::ranges::all_of(
                parts, [&](const QString& part) { return QString::fromStdString(sentence).contains(part); });
        }));
    }

    /// Four tokens after a b and none elsewhere, from a uniform base.
    void klByHand() {
        for (const double temperature : {0.5, 1.0, 2.0}) {
            const compute::Prior p = withEta(after(prior("p", {{1, 2.0}, {2, 1.0}, {3, -1.0}, {4, -4.0}}), "b$"), 1.5);
            const Scored scored(bankOf({p}), temperature, true, 0.8);
            const CompressionReport report = scored.report();
            QVERIFY2(report.unmeasured.empty(), report.unmeasured.c_str());
            QCOMPARE(report.positions, 8);
            QCOMPARE(report.matched, 3);
            const double eta = 1.5 * 0.8 / temperature, alpha = 2;
            const std::vector<double> s{0, 2 * eta, eta, -eta, -4 * eta};
            const std::vector<double> d{0, 0, (1 - alpha) * eta, (-1 + alpha) * eta, (-4 + alpha) * eta};
            const double kl = klOf(s, d), norm = (d[2] * d[2] + d[3] * d[3] + d[4] * d[4]) / 4;
            const double spread = d[3] - d[4], most = spread * spread / 8;
            const LevelKl& level = *report.levels[1].onTrace;
            QVERIFY2(near(level.kl.most, kl, 1e-6), qPrintable(QString::number(level.kl.most - kl)));
            QVERIFY(near(level.kl.mean, kl * 3 / 8, 1e-6));
            QVERIFY(near(level.normBound.most, norm) && near(level.normBound.mean, norm * 3 / 8));
            QVERIFY(near(level.rangeBound.most, most) && near(level.rangeBound.mean, most * 3 / 8));
            QCOMPARE(report.levels[0].onTrace->kl.most, 0.0);
            // A prior alone stays what it is at levels 2 and 3, but for its η and Δ as one.
            QVERIFY(near(report.levels[2].onTrace->kl.mean, kl * 3 / 8, 1e-6));
            QVERIFY(near(report.levels[3].onTrace->kl.mean, kl * 3 / 8, 1e-6));
        }
    }

    void klNeverExceedsItsBounds() {
        std::mt19937_64 random(31);
        int measured = 0;
        for (int n = 0; n < 24; ++n) {
            compute::Bank bank = randomBank(random, 12, 40);
            const double temperatures[] = {0.3, 0.7, 1.0, 2.5, 0.0};
            Scored scored(bank, temperatures[n % 5], n % 2 == 0);
            CompressionInput input = scored.input();
            input.options.threshold = n % 3 == 0 ? 0.9 : 0.4;
            input.options.keep = n % 4 == 0 ? compute::Keep::Size : compute::Keep::Product;
            const CompressionReport report = compressionReport(input).value();
            for (const CompressionLevel& level : report.levels) {
                const LevelKl& on = level.onTrace.value();
                QVERIFY(on.kl.mean >= 0 && on.kl.mean <= on.normBound.mean && on.kl.mean <= on.rangeBound.mean);
                QVERIFY(on.kl.most <= on.normBound.most && on.kl.most <= on.rangeBound.most);
                QVERIFY(on.kl.mean <= on.kl.most * (1 + 1e-12) && std::isfinite(on.kl.most));
                measured += on.kl.most > 1e-3;
            }
        }
        QVERIFY2(measured > 60, qPrintable(QString::number(measured)));
    }

    /// What the session says of single priors is part of what a level joins, and of what is saved.
    void withTheSessionsSay() {
        Scored scored(bankFrom(kLetters));
        scored.trace.session.priors[0].overrides = {{"a", {{"enabled", false}}}};
        CompressionReport report = scored.report();
        QCOMPARE(report.levels[2].report.priors, 5u);  // a is off and stays apart
        QVERIFY(report.levels[1].onTrace->kl.mean > 0);
        QVERIFY(!report.priors[0].acts && !report.levels[1].bank->priors[0]->enabled);
        scored.trace.session.priors[0].overrides = {{"a", {{"eta", 0.0}}}, {"c", {{"eta", 0.0}}}};
        report = scored.report();
        QVERIFY(report.levels[1].onTrace->kl.mean < 1e-20);
        QCOMPARE(*report.levels[1].bank->priors[0]->eta, 0.0);
    }

    /// Other banks of the rack act beside the one that is compressed, and stay as they are.
    void besideOtherBanks() {
        const compute::Prior p = withEta(after(prior("p", {{1, 2.0}, {2, 1.0}}), "b$"), 1),
                             other = withEta(prior("q", {{1, 1.0}}), 3);
        Scored scored(bankOf({p}));
        BankEntry second = scored.trace.session.priors[0];
        second.content = std::make_shared<const compute::Bank>(bankOf({other}));
        scored.trace.session.priors.push_back(second);
        const double kl = klOf({0, 2 + 3, 1}, {0, 0.5, -0.5});
        const CompressionReport report = scored.report();
        QVERIFY(near(report.levels[1].onTrace->kl.most, kl, 1e-6));
        QCOMPARE(report.matched, 3);
        QVERIFY(near(report.levels[1].onTrace->rangeBound.most, 1.0 / 8));
    }

    void whyThereIsNoKl() {
        Scored scored(bankFrom(kLetters));
        const Session& session = scored.trace.session;
        const auto said = [&](const Session& s, const Trace* trace) {
            const auto report = compressionReport(compressionInput(s, 0, trace, scored.trace.tokenizer)).value();
            return report.levels[1].onTrace ? std::string("measured") : levelsPlot(report).empty;
        };
        QCOMPARE(said(session, &scored.trace), std::string("measured"));
        QVERIFY(said(session, nullptr).find("press Generate") != std::string::npos);
        Session off = session;
        off.priors[0].enabled = false;
        QVERIFY(said(off, &scored.trace).find("is off") != std::string::npos);
        off = session;
        off.priors[0].weight = 0;
        QVERIFY(said(off, &scored.trace).find("is off") != std::string::npos);
        Session more = session;
        more.specialists.emplace_back().name = "new";
        QVERIFY(said(more, &scored.trace).find("rack has changed") != std::string::npos);
    }

    void theSamePlotAndInput() {
        Scored scored(bankFrom(kLetters));
        const CompressionInput input = scored.input();
        compute::CompressOptions options = input.options;
        const auto same = [&] { return isStillOf(input, scored.trace.session, 0, &scored.trace, nullptr, options); };
        QVERIFY(same());
        options.threshold = 0.8;
        QVERIFY(!same());
        options = input.options;
        const Decoding before = scored.trace.session.decoding;
        const std::function<void(Decoding&)> dials[] = {
            [](Decoding& d) { d.temperature = 0.9; }, [](Decoding& d) { d.floor = 12; },
            [](Decoding& d) { d.topK = 5; }, [](Decoding& d) { d.klBudget = 0.5; },
            [](Decoding& d) { d.eosPolicy = compute::EosPolicy::Base; }};
        for (const auto& turn : dials) {
            turn(scored.trace.session.decoding);
            QVERIFY(!same());
            scored.trace.session.decoding = before;
        }
        QVERIFY(same());
        // What no stored row depends on: a new decode's text, length and noise.
        scored.trace.session.prompt = "another prompt is of no trace yet";
        scored.trace.session.decoding.maxNewTokens = 5;
        scored.trace.session.decoding.seed = 99;
        QVERIFY(same());
        QVERIFY(!isStillOf(input, scored.trace.session, 0, nullptr, nullptr, options));
        scored.trace.session.priors[0].overrides = {{"a", {{"eta", 1.0}}}};
        QVERIFY(!same());
        const PlotData plot = levelsPlot(compressionReport(input).value());
        QCOMPARE(plot.series.size(), 4u);
        QVERIFY(plot.empty.empty() && plot.x.title == "Bytes on disk" && plot.y.title == "Mean KL (nats)");
    }

    void itStops() {
        std::mt19937_64 random(3);
        const compute::Bank bank = randomBank(random, 200, 12);
        Scored scored(bank);
        std::stop_source first;
        first.request_stop();
        QVERIFY(!compressionReport(scored.input(), {}, first.get_token()));
        // In the middle: while it tells of level 2, and while it measures.
        for (const char* part : {"Level 2", "KL on the trace"}) {
            std::stop_source stop;
            std::vector<std::string> told;
            const auto tell = [&](const Progress& progress) {
                told.push_back(progress.what);
                if (progress.what == part) stop.request_stop();
            };
            QVERIFY(!compressionReport(scored.input(), tell, stop.get_token()));
            QCOMPARE(told.back(), std::string(part));
        }
    }

    void refused() {
        CompressionInput input = inputOf(bankFrom(kLetters));
        for (const double threshold : {-0.1, -1e-9, 1.01, double(NAN), double(INFINITY)}) {
            input.options.threshold = threshold;
            const std::string said = errorOf([&] { (void)compressionReport(input); });
            QVERIFY2(said.find("threshold") != std::string::npos && said.find("from 0 to 1") != std::string::npos,
                     said.c_str());
        }
        input = inputOf(bankFrom(kLetters));
        input.entry.content = nullptr;
        QVERIFY(errorOf([&] { (void)compressionReport(input); }).find("was not read") != std::string::npos);
        compute::Bank foreign = bankFrom(kLetters);
        foreign.tokenizer = "another";
        QVERIFY(errorOf([&] { (void)compressionReport(inputOf(foreign)); }).find("another tokenizer") !=
                std::string::npos);
    }

    void inTheSession() {
        Scored scored(bankFrom(kLetters));
        Session session = scored.trace.session;
        session.file = folder() / "s.session.json";
        session.priors[0].overrides = {{"a", {{"eta", 1.0}}}};
        const CompressionReport report = scored.report();
        std::string file = levelFile(session, 0, 2);
        QCOMPARE(file, std::string("letters.level2.bank.safetensors"));
        const Session used = withCompressed(session, 0, report.levels[2].bank, file);
        QVERIFY(used.priors[0].content == report.levels[2].bank && used.priors[0].overrides.empty());
        QCOMPARE(used.priors[0].bank, file);
        // As it acts: the same terms as the level was measured with.
        Trace trace = scored.trace;
        trace.session = used;
        const CompressionReport again = compressionReport(compressionInput(used, 0, &trace, nullptr)).value();
        QCOMPARE(again.levels[0].report.priors, report.levels[2].report.priors);
        std::ofstream(folder() / file) << "taken";
        QCOMPARE(levelFile(session, 0, 2), std::string("letters.level2.2.bank.safetensors"));
        session.priors[0].bank = "/banks/mine.bank.safetensors";
        QCOMPARE(levelFile(session, 0, 3), std::string("/banks/mine.level3.bank.safetensors"));
    }
};

QTEST_GUILESS_MAIN(TestBankCompress)
#include "tst_bankcompress.moc"
