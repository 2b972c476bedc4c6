// The document's files: names, opening and saving, what stays open where a session cannot be loaded, the device of the first load.

#include <QSignalSpy>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "model/document.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestDocumentFiles : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void aNameThatNoFileCouldHoldIsRefused() {
        QTemporaryDir folder;
        const std::filesystem::path none = std::filesystem::path(folder.path().toStdString()) / "none";
        std::filesystem::create_directories(none);
        compute::writeFile(none / "config.json", "{}");
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession());
        QVERIFY_EXCEPTION_THROWN(doc.addSpecialist(none), compute::Error);
        QCOMPARE(doc.session().specialists.size(), std::size_t{2});
    }

    void opensAndSaves() {
        QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession(4));
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QVERIFY(doc.modified());
        doc.save(root / "s.session.json");
        QVERIFY(!doc.modified());
        doc.setSession(weighted(doc.session(), 0.25));
        QVERIFY(doc.modified());
        WAIT_UNTIL(!doc.busy());
        for (const char* name : {"x.bank.json", "x.safetensors", "x.pt", "x.txt", "x.json", "nothing"}) {
            if (std::string(name) != "nothing") compute::writeFile(root / name, "{}");
            QVERIFY_EXCEPTION_THROWN(doc.open(root / name), compute::Error);
            QCOMPARE(doc.session().specialists[0].weight, 0.25);
            QCOMPARE(doc.traces().size(), std::size_t{1});
        }
        doc.open(root / "s.session.json");
        QCOMPARE(doc.session().specialists[0].weight, 1.0);
        QVERIFY(doc.traces().empty() && !doc.canUndo() && !doc.modified());
        WAIT_UNTIL(doc.ready());
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.trace()->steps.size(), std::size_t{6});
    }

    // A session that can be read and not be loaded: all that was open is open again.
    void aSessionThatCannotBeLoadedLeavesTheOldOne() {
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "bad.session.json";
        Document doc(nullptr, opener(three()));
        doc.setSession(threeSession(4));
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        doc.setSession(weighted(doc.session(), 0.25));
        WAIT_UNTIL(!doc.busy());
        const Session before = doc.session();
        const View view = doc.view();
        const Trace* trace = doc.trace();
        const auto stored = std::vector<StepPtr>(trace->steps);
        Session bad = threeSession(4);
        bad.specialists[1].path = "missing";
        writeSession(bad, file);
        QSignalSpy selected(&doc, &Document::traceSelected);
        doc.open(file);
        QCOMPARE(doc.trace(), nullptr);
        WAIT_UNTIL(!doc.busy());
        QVERIFY(selected.size() >= 2);
        QCOMPARE(doc.notices().back().level, Notice::Level::Failure);
        QCOMPARE(doc.session(), before);
        QCOMPARE(doc.view(), view);
        QCOMPARE(doc.trace(), trace);
        QCOMPARE(doc.trace()->steps, stored);
        QVERIFY(doc.ready() && doc.canUndo() && doc.modified());
        doc.undo();
        QCOMPARE(doc.session().specialists[0].weight, 1.0);
        doc.generate();
        WAIT_UNTIL(!doc.busy());
        QCOMPARE(doc.traces().size(), std::size_t{2});
        QCOMPARE(doc.trace()->steps.size(), std::size_t{6});
    }

    // A device that is chosen before anything is open is where the first load happens, and the only one.
    void deviceBeforeFiles() {
        auto devices = std::make_shared<std::vector<std::string>>();
        const SourceOpener scripted = opener(three());
        Document doc(nullptr, [=](const std::filesystem::path& path, const compute::OpenOptions& options, std::stop_token stop) {
            devices->push_back(options.device);
            return scripted(path, options, stop);
        });
        doc.setDevice("cuda");
        QVERIFY(!doc.busy());
        doc.setSession(threeSession());
        WAIT_UNTIL(doc.ready() && !doc.busy());
        QCOMPARE(*devices, std::vector<std::string>(3, "cuda"));
    }
};

QTEST_GUILESS_MAIN(TestDocumentFiles)
#include "tst_documentfiles.moc"
