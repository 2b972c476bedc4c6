// Banks in a session: what acts in a decode, a what-if and the ledger (R8, R4), and what a session says of them.
#include <QTest>
#include <cmath>
#include <fstream>

#include "compute/composition/compose.h"
#include "compute/files/atomicfile.h"
#include "compute/files/safetensors.h"
#include "model/diagnostics.h"
#include "model/document.h"
#include "model/runner.h"
#include "tests/model/bankfolder.h"
#include "tests/model/engineevents.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

const double kNine = std::log(9.0), kFour = std::log(4.0);

/// log p of stage priors of a step's row, by hand.
double byHand(const TraceStarted& trace, const compute::Recipe& recipe, Position p, TokenId token,
              const std::map<TokenId, double>& push) {
    compute::Stages<double> stages;
    compute::SourceRows<double> rows;
    std::vector<std::vector<double>> data;
    const auto stored = trace.store->rows(p);
    for (const auto& row : stored.rows) data.emplace_back(row.begin(), row.end());
    for (const auto& row : data) rows.rows.emplace_back(row);
    rows.position = p;
    compute::compose<double>(recipe, {}, rows, stages);
    double mass = 0, own = 0;
    for (std::size_t v = 0; v < stages.composed.size(); ++v) {
        const auto at = push.find(static_cast<TokenId>(v));
        const double x = stages.composed[v] + (at == push.end() ? 0 : at->second);
        mass += std::exp(x / recipe.temperature);
        if (static_cast<TokenId>(v) == token) own = x / recipe.temperature;
    }
    return own - std::log(mass);
}

}  // namespace

class TestPriors : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// Every step of a decode is composed with what matches there, and says what that was.
    void aDecode() {
        const Folder folder;
        Engine engine(opener(three()));
        const Said said = decode(engine, request(folder.session(40)));
        QVERIFY2(said.failures.empty(), said.failures.empty() ? "" : said.failures[0].sentence.c_str());
        const compute::Recipe recipe = toRecipe(folder.session(), {2}, 0);
        int after = 0;
        for (const StepPtr& step : said.steps) {
            const auto& tokens = said.tokens();
            const bool b = tokens[static_cast<std::size_t>(step->position) - 1] == 3 + 'b';
            std::map<TokenId, double> push{{110, kNine}, {111, kNine}, {120, -kNine}};
            if (b) push[3 + 'c'] += 0.5 * kFour;
            std::vector<compute::PriorName> names{{0, "always"}};
            if (b) names.push_back({0, "after b"});
            after += b ? 1 : 0;
            QCOMPARE(step->matchedPriors, names);
            const double wanted = byHand(said.started[0], recipe, step->position, step->token, push);
            QVERIFY2(std::abs(step->logProb - wanted) < 2e-5 * (1 + std::abs(wanted)),
                     qPrintable(QString::number(step->position)));
        }
        QVERIFY(after > 0);  // the prompt ends with b
        QCOMPARE(said.banks.size(), 1u);
        const auto broken = [](const std::string& s) { return s.find("'broken'") != std::string::npos; };
        QVERIFY(std::any_of(said.loaded.at(0).notices.begin(), said.loaded.at(0).notices.end(), broken));
    }

    /// What a run cannot do as it is written it says: a pattern that is given up, an override of nothing.
    void aRunSaysWhatDoesNotAct() {
        const Folder folder;
        compute::writeFile(folder.bank(), R"({"format":"counterpoint.bank/1","priors":[{"name":"slow","quality":0.9,
            "promote":[110],"when":{"kind":"regex","pattern":"(a+)+$","chars":100000}}]})");
        Session session = folder.session(3);
        session.prompt = std::string(60, 'a') + "!";
        session.priors[0].overrides = {{"nobody", {{"eta", 1.5}}}};
        RunOptions options;
        options.opener = opener(three());
        std::vector<std::string> notices = runSession(session, options).notices;
        const auto said = [&](const char* words) {
            return std::ranges::count_if(notices,
                                         [&](const auto& one) { return one.find(words) != std::string::npos; });
        };
        QCOMPARE(said("Prior 'slow' of bank 'letters.bank.json': its pattern took too many steps at"), 1);
        QCOMPARE(said("it has no prior 'nobody'"), 1);
        QCOMPARE(said("override"), 1);
        for (const double weight : {1.0, 0.0}) {  // the same bank again
            session.priors.resize(1);
            session.priors.push_back({.bank = "letters.bank.json", .weight = weight});
            notices = runSession(session, options).notices;
            QCOMPARE(said("stands in the session more than once and acts each time"), weight == 0 ? 0 : 1);
        }
    }

    /// `run --dump log_prob` holds the rows that were drawn from, with what the priors did to them.
    void theDumpHoldsWhatWasDrawnFrom() {
        const Folder folder;
        RunOptions options;
        options.opener = opener(three());
        options.dumps = {"log_prob"};
        const RunResult result = runSession(folder.session(40), options);
        writeRun(result, folder.path() / "run", options.dumps);
        const auto file = compute::Safetensors::openFile(folder.path() / "run" / "log_prob.safetensors");
        const compute::TensorView* rows = file.find("log_prob");
        QCOMPARE(rows->shape, (std::vector<std::int64_t>{static_cast<std::int64_t>(result.trace.steps.size()), 300}));
        const auto* values = reinterpret_cast<const float*>(rows->bytes.data());
        std::size_t after = 0;
        for (std::size_t i = 0; i < result.trace.steps.size(); ++i) {
            const compute::Step& step = *result.trace.steps[i];
            for (const compute::TopToken& top : step.top)
                QCOMPARE(values[i * 300 + static_cast<std::size_t>(top.token)], top.temperature);
            after += step.matchedPriors.size() > 1 ? 1 : 0;
        }
        QVERIFY(after > 0);
    }

    /// A dial of a prior moved while a decode runs acts from the next step on.
    void aDialDuringADecode() {
        const Folder folder;
        auto scripts = three();
        auto gate = std::make_shared<Gate>();
        scripts["math"].onForward = [gate](std::span<const TokenId>) { gate->arrive(); };
        Engine engine(opener(scripts));
        Session session = folder.session(6);
        gate->pass(3);
        engine.decode(request(session));
        gate->awaitArrival(4);
        session.priors[0].overrides = {{"always", {{"enabled", false}}}};
        engine.setRecipeSession(session);
        gate->pass(100);
        const Said said = wait(engine);
        QCOMPARE(said.steps.size(), std::size_t{8});
        for (std::size_t i = 0; i < said.steps.size(); ++i) {
            const auto& names = said.steps[i]->matchedPriors;
            QCOMPARE(std::find(names.begin(), names.end(), compute::PriorName{0, "always"}) != names.end(), i < 6);
        }
    }

    /// Moved dials of priors on the stored trace are what a decode with them would have found.
    void aWhatIf() {
        const Folder folder;
        Engine engine(opener(three()));
        const Session session = folder.session();
        const Said said = decode(engine, request(session));
        Session moved = session;
        moved.priors[0].weight = 0.5;
        moved.priors[0].overrides = {
            {"always", {{"eta", -1.0}}}, {"after b", {{"enabled", false}}}, {"doubtful", {{"eta", 2.0}}}};
        moved.priors[0].content = said.banks.at(0).file.bank;
        RecomposeRequest what = again(moved, said);
        for (std::size_t i = 0; i < what.tokens.size(); ++i)
            what.tokenBytes.push_back(standingBytes(what.tokenizer.get(), what.tokens, i));
        what.priors = said.started.at(0).priors;
        engine.recompose(what);
        const Said after = wait(engine);
        QVERIFY(after.failures.empty());
        // What the entries became is the trace's: the first what-if does not ask the tokenizer again.
        QVERIFY(after.recomposed.at(0).priors->members()[0].factor == what.priors->members()[0].factor);
        std::size_t steps = 0;
        const compute::Recipe recipe = toRecipe(moved, {2}, 0);
        for (const Recomposed& part : after.recomposed) {
            QVERIFY(part.priors != nullptr);
            for (const StepPtr& step : part.steps) {
                QCOMPARE(step->matchedPriors, (std::vector<compute::PriorName>{{0, "always"}, {0, "doubtful"}}));
                if (step->token == kNoToken) continue;
                const double wanted = byHand(said.started[0], recipe, step->position, step->token,
                                             {{110, -0.5}, {111, -0.5}, {120, 0.5}, {112, 1.0}});
                QVERIFY(std::abs(step->logProb - wanted) < 2e-5 * (1 + std::abs(wanted)));
                ++steps;
            }
        }
        QVERIFY(steps >= said.steps.size());
    }

    /// The ledger names what the priors added, and its terms sum to the token's log p̂.
    void theLedger() {
        const Folder folder;
        RunOptions options;
        options.opener = opener(three());
        const RunResult run = runSession(folder.session(), options);
        const Trace& trace = run.trace;
        const StepPtr& step = trace.steps.front();
        const LedgerAt at = ledgerAt(trace, step->position, 110);
        QVERIFY(at.priors.size() >= 1);
        QCOMPARE(trace.priors->members()[at.priors[0]].prior->name, std::string("always"));
        QVERIFY(std::abs(at.split.prior[0] - kNine / trace.session.decoding.temperature) < 1e-9);
        double sum = at.split.base + at.split.shift + at.split.eos + at.split.clamp - at.split.logNormaliser;
        for (const double x : at.split.source) sum += x;
        for (const double x : at.split.prior) sum += x;
        QVERIFY(std::abs(sum - at.split.total) < 1e-9);
        View view;
        view.cursor = step->position;
        view.token = 110;
        const PlotData plot = diagnostic("ledger").make(trace, view);
        QVERIFY(std::find(plot.x.categories.begin(), plot.x.categories.end(), "always") != plot.x.categories.end());
        view.token = 115;  // nobody's
        const PlotData other = diagnostic("ledger").make(trace, view);
        QVERIFY(std::find(other.x.categories.begin(), other.x.categories.end(), "always") == other.x.categories.end());
    }

    /// A bank that cannot be read ends a decode that needs it, and only such a one.
    void aBankThatCannotBeRead() {
        const Folder folder;
        for (const bool there : {false, true}) {
            if (there)
                compute::writeFile(folder.bank(), "{\"format\":\"something else\"}");
            else
                std::filesystem::remove(folder.bank());
            Engine engine(opener(three()));
            Session session = folder.session();
            const Said said = decode(engine, request(session));
            QCOMPARE(said.failures.size(), 1u);
            QVERIFY2(said.failures[0].sentence.find("bank 'letters.bank.json'") != std::string::npos,
                     said.failures[0].sentence.c_str());
            QVERIFY2(said.failures[0].sentence.find("switch the bank off") != std::string::npos,
                     said.failures[0].sentence.c_str());
            QVERIFY(said.started.empty());
            session.priors[0].enabled = false;
            QVERIFY(decode(engine, request(session)).failures.empty());
        }
    }

    void badOverrides_data() {
        QTest::addColumn<QByteArray>("overrides");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("no object") << QByteArray(R"({"always":3})") << QByteArray("an object");
        QTest::newRow("eta is text") << QByteArray(R"({"always":{"eta":"much"}})") << QByteArray("\"eta\"");
        QTest::newRow("eta is infinite") << QByteArray(R"({"always":{"eta":"inf"}})")
                                         << QByteArray("a number from -1000000");
        QTest::newRow("enabled is a number") << QByteArray(R"({"always":{"enabled":1}})") << QByteArray("true, false");
    }
    void badOverrides() {
        QFETCH(QByteArray, overrides);
        QFETCH(QByteArray, says);
        const std::string text =
            R"({"format":"counterpoint.session/1","base":{"path":"m"},"priors":[{"bank":"b","overrides":)" +
            overrides.toStdString() + "}]}";
        std::vector<std::string> warnings;
        try {
            sessionFromJson(compute::parseOrderedJson(text, "s"), "/s.session.json", warnings);
            QFAIL("it was accepted");
        } catch (const compute::Error& error) {
            QVERIFY2(error.sentence().find(says.toStdString()) != std::string::npos, error.what());
            QVERIFY2(error.sentence().find("always") != std::string::npos, error.what());
        }
    }

    void unknownKeysOfAnOverrideAreTold() {
        const std::string text =
            R"({"format":"counterpoint.session/1","base":{"path":"m"},"priors":[{"bank":"b","overrides":)"
            R"({"always":{"eta":1.5,"etta":2,"enabled":null}}}]})";
        std::vector<std::string> warnings;
        const Session session = sessionFromJson(compute::parseOrderedJson(text, "s"), "/s.session.json", warnings);
        QCOMPARE(warnings.size(), 1u);
        QVERIFY2(warnings[0].find("\"always\": the key \"etta\" is unknown; it is kept") != std::string::npos,
                 warnings[0].c_str());
        QCOMPARE(session.priors[0].overrides["always"]["etta"], OrderedJson(2));
    }

    void oneOverrideAmongOthers() {
        const OrderedJson before = {{"a", {{"eta", 1.5}, {"note", "mine"}}}, {"b", {{"enabled", false}}}};
        OrderedJson after = withOverride(before, "a", {.enabled = true});
        QCOMPARE(after.dump(), std::string(R"({"a":{"note":"mine","enabled":true},"b":{"enabled":false}})"));
        after = withOverride(after, "b", {});
        QVERIFY(!after.contains("b"));
        QVERIFY(withOverride({}, "c", {.eta = 2.0}).dump() == R"({"c":{"eta":2.0}})");
        QCOMPARE(readOverrides(before, "s").at("a").eta.value(), 1.5);
    }
};

QTEST_GUILESS_MAIN(TestPriors)
#include "tst_priors.moc"
