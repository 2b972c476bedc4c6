// The document's side of banks: reading, editing, undo, saving, and that nothing of a person's file changes until then.
#include <QTest>

#include "compute/error.h"
#include "model/diagnostics.h"
#include "model/document.h"
#include "model/driftwithout.h"
#include "tests/model/bankfolder.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

/// Of the trace's own tokens.
double logProbOf(const Trace& trace) {
    double sum = 0;
    for (const StepPtr& step : trace.steps)
        if (step->token != compute::kNoToken) sum += step->logProb;
    return sum;
}

/// The document's bank with another δ₊ of its first prior.
void edit(Document& doc, std::size_t bank, double deltaPlus) {
    Session session = doc.session();
    compute::Bank changed = *session.priors.at(bank).content;
    compute::Prior prior = *changed.priors[0];
    prior.deltaPlus = deltaPlus;
    changed.priors[0] = std::make_shared<const compute::Prior>(prior);
    session.priors[bank].content = std::make_shared<const compute::Bank>(changed);
    doc.setSession(session);
}

double deltaIn(const std::filesystem::path& file) {
    std::vector<std::string> warnings;
    return compute::readBank(file, warnings).priors[0]->deltaPlus;
}

}  // namespace

class TestDocumentBanks : public QObject {
    Q_OBJECT

    static void openSaved(Document& doc, const Session& session) {
        writeSession(session, session.file);
        doc.open(session.file);
        WAIT_UNTIL(doc.ready() && !doc.busy());
    }

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// Opening reads the bank in the worker and changes nothing that a person would have to save.
    void theDocument() {
        const Folder folder;
        Document doc(nullptr, opener(three()));
        writeSession(folder.session(), folder.path() / "s.session.json");
        doc.open(folder.path() / "s.session.json");
        WAIT_UNTIL(doc.ready() && !doc.busy());
        QVERIFY(doc.session().priors[0].content != nullptr);
        QVERIFY(!doc.modified() && !doc.canUndo() && !doc.bankModified(0));
        QCOMPARE(doc.priors()->members().size(), 4u);
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        const double before = logProbOf(*doc.trace());

        // A dial of the rack acts on the stored trace.
        Session session = doc.session();
        session.priors[0].overrides = withOverride({}, "always", {.eta = 4.0});
        doc.setSession(session, "eta");
        WAIT_UNTIL(!doc.busy());
        QVERIFY(logProbOf(*doc.trace()) != before);
        QVERIFY(doc.modified() && !doc.bankModified(0));
        QCOMPARE(doc.trace()->priors->members()[0].weight, 4.0);
        doc.undo();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(logProbOf(*doc.trace()), before);

        // An edit of the bank too, and the file stays as it was until it is saved.
        const std::string file = compute::readFile(folder.bank());
        compute::Bank bank = *doc.session().priors[0].content;
        compute::Prior changed = *bank.priors[0];
        changed.deltaPlus = 3;
        bank.priors[0] = std::make_shared<const compute::Prior>(changed);
        session = doc.session();
        session.priors[0].content = std::make_shared<const compute::Bank>(bank);
        doc.setSession(session);
        WAIT_UNTIL(!doc.busy());
        QVERIFY(doc.bankModified(0) && doc.modified());
        QVERIFY(logProbOf(*doc.trace()) != before);
        QCOMPARE(compute::readFile(folder.bank()), file);
        doc.saveBank(0);
        QVERIFY(!doc.bankModified(0));
        QVERIFY(compute::readFile(folder.bank()) != file);
        std::vector<std::string> warnings;
        QCOMPARE(compute::readBank(folder.bank(), warnings).priors[0]->deltaPlus, 3.0);
        doc.undo();
        QVERIFY(doc.bankModified(0));
        QCOMPARE(doc.session().priors[0].content->priors[0]->deltaPlus, 1.0);

        // As a file of its own: the rack names it, and a step back names the old one.
        doc.saveBank(0, folder.path() / "mine.bank.safetensors");
        QVERIFY(std::filesystem::exists(folder.path() / "mine.bank.safetensors"));
        QVERIFY(doc.session().priors[0].bank.ends_with("mine.bank.safetensors"));
        QVERIFY(!doc.bankModified(0));
    }

    /// The prior that is looked at gets its drift of every position, again after a dial was moved; not while it
    /// decodes.
    void driftWithoutThePriorLookedAt() {
        const Folder folder;
        Document doc(nullptr, opener(three()));
        openSaved(doc, folder.session());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QVERIFY(doc.trace()->driftWithout == nullptr);
        View view = doc.view();
        view.priorBank = 0;
        view.prior = "always";
        doc.setView(view);
        const auto known = [&] {
            const Trace& trace = *doc.trace();
            const auto* prior = shownPrior(trace, doc.view());
            return !doc.busy() && prior != nullptr && isOf(trace.driftWithout.get(), trace, *prior);
        };
        WAIT_UNTIL(known());
        QCOMPARE(doc.plot("prior_effect").series.size(), std::size_t{3});
        const std::vector<double> before = doc.trace()->driftWithout->drift;
        QVERIFY(before.at(5) != doc.trace()->steps[5]->diagnostics.drift);
        Session moved = doc.session();
        moved.specialists[0].weight = 0.25;
        doc.setSession(moved);
        WAIT_UNTIL(known());
        QVERIFY(doc.trace()->driftWithout->drift != before);
        doc.undo();
        WAIT_UNTIL(known());
        QCOMPARE(doc.trace()->driftWithout->drift, before);
        view.prior = "after b";
        doc.setView(view);
        WAIT_UNTIL(known());
        doc.stepOnce();
        WAIT_UNTIL(known());
        QCOMPARE(doc.trace()->driftWithout->steps.size(), doc.trace()->steps.size());
    }

    void aBankIsAdded() {
        const Folder folder;
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession(4));
        WAIT_UNTIL(doc.ready() && !doc.busy());
        doc.addBank(folder.bank());
        WAIT_UNTIL(doc.session().priors.at(0).content != nullptr);
        QVERIFY_EXCEPTION_THROWN(doc.addBank(folder.bank()), compute::Error);
        WAIT_UNTIL(doc.ready() && !doc.busy());
        doc.addBank(folder.path() / "none.bank.json");
        WAIT_UNTIL(!doc.bankProblem(1).empty());
        QVERIFY(doc.bankProblem(0).empty());
        WAIT_UNTIL(doc.ready() && !doc.busy());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QVERIFY(doc.traces().empty());  // an enabled bank that is not there
        doc.undo();
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.trace()->steps.front()->matchedPriors.front().name, std::string("always"));
    }

    void savedIsSaved() {
        const Folder folder;
        Document doc(nullptr, opener(three()));
        openSaved(doc, folder.session());
        edit(doc, 0, 3);
        QVERIFY(doc.modified());
        doc.saveBank(0);
        QVERIFY(!doc.modified() && doc.modifiedBanks().empty());
        QCOMPARE(deltaIn(folder.bank()), 3.0);
    }

    /// What is open again after a file that could not be loaded is as it was: its banks are as their files are.
    void banksOfASessionThatIsOpenAgain() {
        const Folder folder;
        Document doc(nullptr, opener(three()));
        openSaved(doc, folder.session());
        Session bad = folder.session();
        bad.specialists[1].path = "missing";
        bad.priors.clear();
        writeSession(bad, folder.path() / "bad.session.json");
        doc.open(folder.path() / "bad.session.json");
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.session().priors.size(), std::size_t{1});
        QVERIFY(!doc.bankModified(0) && !doc.modified());
        edit(doc, 0, 3);
        QVERIFY(doc.bankModified(0));
    }

    /// One file twice in a session: what is saved of one is the other's too, and changes of both are not lost.
    void oneFileTwice() {
        const Folder folder;
        Session session = folder.session();
        session.priors.push_back(session.priors[0]);
        Document doc(nullptr, opener(three()));
        openSaved(doc, session);
        edit(doc, 0, 3);
        doc.saveBank(0);
        QVERIFY(!doc.modified());
        QCOMPARE(doc.session().priors[1].content->priors[0]->deltaPlus, 3.0);
        edit(doc, 0, 4);
        edit(doc, 1, 5);
        for (const std::size_t bank : {std::size_t{0}, std::size_t{1}})
            QVERIFY_EXCEPTION_THROWN(doc.saveBank(bank), compute::Error);
        QCOMPARE(deltaIn(folder.bank()), 3.0);
        doc.saveBank(1, folder.path() / "mine.bank.json");
        doc.saveBank(0);
        QCOMPARE(deltaIn(folder.bank()), 4.0);
        QCOMPARE(deltaIn(folder.path() / "mine.bank.json"), 5.0);
        edit(doc, 1, 6);
        QVERIFY_EXCEPTION_THROWN(doc.saveBank(1, folder.bank()), compute::Error);  // the first one's
        QCOMPARE(deltaIn(folder.bank()), 4.0);
    }
};

QTEST_GUILESS_MAIN(TestDocumentBanks)
#include "tst_documentbanks.moc"
