// TorchScript files run code: when it is spoken of (SPEC.md 2).

#include <QTemporaryDir>
#include <set>

#include "compute/files/atomicfile.h"
#include "model/document.h"
#include "tests/model/engineevents.h"
#include "tests/model/holding.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

class TestScripts : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void codeIsSpokenOfOnceAContent() {
        QTemporaryDir folder;
        const std::filesystem::path root = folder.path().toStdString();
        std::map<std::string, Script> scripts = three();
        scripts["model"].kind = "torchscript";
        scripts["math"] = scripts["model"];
        for (const auto& [name, script] : scripts) compute::writeFile(root / name, name == "poetry" ? "poetry" : "code");
        std::set<std::string> known;
        const auto said = [&](const std::vector<std::string>& rack) {
            Document doc(nullptr, opener(scripts));
            doc.setCodeIsNew([&](const std::string& sha256) { return known.insert(sha256).second; });
            Session session = sessionOf({(root / rack.front()).string()});
            for (std::size_t i = 1; i < rack.size(); ++i) {
                session.specialists.emplace_back();
                session.specialists.back().name = rack[i];
                session.specialists.back().path = (root / rack[i]).string();
            }
            doc.setSession(session);
            for (std::size_t i = 0; i < rack.size(); ++i)
                [&] { WAIT_UNTIL(!doc.status(i).info.weightsSha256.empty()); }();
            QStringList sentences;
            for (const Notice& n : doc.notices()) sentences << QString::fromStdString(n.sentence);
            return sentences;
        };
        const QString sentence =
            QString::fromStdString((root / "model").string()) + " is a TorchScript file: decoding with it runs code of whoever made it.";
        QCOMPARE(said({"model", "math", "poetry"}), QStringList(sentence));  // model and math are the same content
        QCOMPARE(known.size(), std::size_t{1});
        QCOMPARE(said({"model"}), QStringList());
        compute::writeFile(root / "model", "other code");
        QCOMPARE(said({"model"}), QStringList(sentence));
        {  // and where the file changes while the program runs
            Document doc(nullptr, opener(scripts));
            doc.setCodeIsNew([&](const std::string& sha256) { return known.insert(sha256).second; });
            doc.setSession(sessionOf({(root / "model").string()}));
            WAIT_UNTIL(!doc.status(0).info.weightsSha256.empty());
            QVERIFY(doc.notices().empty());
            compute::writeFile(root / "model", "code of today");
            doc.setSession(sessionOf({(root / "poetry").string()}));
            WAIT_UNTIL(doc.ready());
            doc.setSession(sessionOf({(root / "model").string()}));
            WAIT_UNTIL_EQUAL(doc.notices().size(), std::size_t{1});
        }
        known.clear();  // it could not be remembered
        QCOMPARE(said({"model"}), QStringList(sentence));
    }

    /// A script that hangs while it is opened has run: that is said, though its lane says no more. Of weights nothing
    /// is.
    void whatHangsIsSpokenOfWhereItIsAScript_data() {
        QTest::addColumn<bool>("script");
        QTest::newRow("a script") << true;
        QTest::newRow("weights") << false;
    }
    void whatHangsIsSpokenOfWhereItIsAScript() {
        QFETCH(bool, script);
        QTemporaryDir folder;
        const std::filesystem::path file = std::filesystem::path(folder.path().toStdString()) / "slow to open";
        const std::string name = "m/code/x", none(12, '\0');
        const std::string zip = "PK\3\4" + ("PK\1\2" + none + none) + char(name.size()) + std::string(17, '\0') + name +
                                "PK\5\6" + none + '\4' + std::string(5, '\0');
        compute::writeFile(file, script ? zip : "GGUF");
        Held held;
        Engine engine(held.opener(), std::chrono::milliseconds(0));
        held.hold->after(0);
        engine.load({sessionOf({file.string()}), {}, false});
        held.hold->awaitCall();
        engine.stop();
        WAIT_UNTIL(engine.stuck());
        QVERIFY(engine.restart());
        WAIT_UNTIL(!engine.analysing());
        std::vector<std::string> said;
        for (const Event& event : engine.drain())
            if (const auto* one = std::get_if<Hashed>(&event); one != nullptr && one->runsCode)
                said.push_back(one->path);
        QCOMPARE(said, script ? std::vector{file.string()} : std::vector<std::string>());
        held.hold->release();
    }
};

QTEST_GUILESS_MAIN(TestScripts)
#include "tst_scripts.moc"
