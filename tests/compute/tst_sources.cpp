// Opening a source: the gate (A2), the stop set (A8), what is refused by its name, late modules, the hash of the
// weights.
#include <unistd.h>

#include "compute/error.h"
#include "compute/files/sha256.h"
#include "compute/sources/modules.h"
#include "compute/sources/stopset.h"
#include "tests/support/fixture.h"
#include "tests/support/scratch.h"
#include "tests/support/tokenizersource.h"
#include "tests/support/toyfiles.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;
namespace fs = std::filesystem;

class TestSources : public QObject, Scratch {
    Q_OBJECT

    TokenizerSource toy(const Json& tokenizer, std::int64_t width) const {
        writeJson(folder() / "tokenizer.json", tokenizer);
        return {openTokenizer(folder()), width};
    }
    std::string gate(const Json& base, std::int64_t baseWidth, const Json& other, std::int64_t otherWidth) const {
        const TokenizerSource a = toy(base, baseWidth), b = toy(other, otherWidth);
        return errorOf([&] { requireComposable("base", a, "math", b); });
    }

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    /// Whoever links compute and loads the torch module has pools that do not spin.
    void poolsWaitPassively() { QCOMPARE(qgetenv("OMP_WAIT_POLICY"), QByteArray("passive")); }

    void sameTokenizersCompose() {
        const TokenizerSource a = toy(tokenizerOf(toyPieces(300)), 300), b = toy(tokenizerOf(toyPieces(300)), 300);
        QVERIFY(requireComposable("base", a, "math", b).empty());
    }

    /// A2, pair 2: 300 ids against 304 rows of which the last four have no token. Who cuts them tells so: Ensemble.
    void paddedTailComposes() {
        const TokenizerSource a = toy(tokenizerOf(toyPieces(300)), 300), b = toy(tokenizerOf(toyPieces(300)), 304);
        QVERIFY(requireComposable("base", a, "math", b).empty());
    }

    void swappedIdsAreRefused() {  // A2, pair 1
        std::vector<std::string> pieces = toyPieces(300);
        std::swap(pieces[100], pieces[101]);
        const std::string found = gate(tokenizerOf(toyPieces(300)), 300, tokenizerOf(pieces), 300);
        QVERIFY2(found.find("they cannot be composed: id 100 is 'a' in 'base' and 'b' in 'math', id 101 is") !=
                     std::string::npos,
                 found.c_str());
    }

    void insertedIdIsRefused() {  // A2, pair 3
        std::vector<std::string> pieces = toyPieces(300);
        pieces.insert(pieces.begin() + 120, "inserted");
        const std::string found = gate(tokenizerOf(toyPieces(300)), 300, tokenizerOf(pieces), 301);
        QVERIFY2(found.find("id 120 is 'u' in 'base' and 'inserted' in 'math'") != std::string::npos,
                 found.c_str());
        QVERIFY2(found.find("and more") != std::string::npos, found.c_str());
    }

    void oneMoreTokenIsRefused() {
        const std::string found = gate(tokenizerOf(toyPieces(300)), 320, tokenizerOf(toyPieces(301)), 320);
        QVERIFY2(found.find("'math' has a token 'w300' at id 300, the other ends at 299") != std::string::npos,
                 found.c_str());
    }

    void specialIdsAndFlagsAreCompared() {
        const Json plain = tokenizerOf(toyPieces(300));
        Json control = plain;
        control["added_tokens"].push_back({{"id", 290}, {"content", "w290"}, {"special", true}});
        QVERIFY(gate(plain, 300, control, 300).find("id 290 is 'w290' in 'base' and 'w290' (control) in 'math'") !=
                std::string::npos);
        Json added = plain;
        added["added_tokens"].push_back({{"id", 290}, {"content", "w290"}, {"special", false}});
        QVERIFY(gate(plain, 300, added, 300).find("the added token 'w290' (id 290) is not the same in both") !=
                std::string::npos);
        QVERIFY(gate(added, 300, plain, 300).find("the added token 'w290' (id 290) is not the same in both") !=
                std::string::npos);
        Json silent = plain;
        silent["post_processor"] = nullptr;
        QVERIFY(gate(plain, 300, silent, 300).find("BOS is id 1 in one and id none in the other") != std::string::npos);
        std::vector<std::string> renamed = toyPieces(300);
        renamed[2] = "</end>";
        QVERIFY(gate(plain, 300, tokenizerOf(renamed), 300)
                    .find("id 2 is '</s>' (control) in 'base' and '</end>' (control)") != std::string::npos);
        const TokenizerSource a = toy(plain, 300);
        writeFile(folder() / "tokenizer_config.json", R"({"eos_token":"</s>"})");
        const TokenizerSource b = toy(plain, 300);
        QVERIFY(errorOf([&] { requireComposable("base", a, "math", b); }).find("EOS is id none in one and id 2") !=
                std::string::npos);
    }

    void stopSet_data() {
        QTest::addColumn<QString>("config");
        QTest::addColumn<QString>("generation");
        QTest::addColumn<QString>("eos");
        QTest::addColumn<QList<int>>("ids");
        QTest::addColumn<QStringList>("leftOut");
        const QStringList none;
        QTest::newRow("A8: all three") << R"({"eos_token_id":2})"
                                       << R"({"eos_token_id":[2,7]})"
                                       << "w5" << QList<int>{2, 5, 7} << none;
        QTest::newRow("without generation_config") << R"({"eos_token_id":2})"
                                                   << ""
                                                   << "w5" << QList<int>{2, 5} << none;
        QTest::newRow("a list in config") << R"({"eos_token_id":[9,2]})"
                                          << ""
                                          << "" << QList<int>{2, 9} << none;
        QTest::newRow("null and absent") << R"({"eos_token_id":null})"
                                         << "{}"
                                         << "" << QList<int>{} << none;
        QTest::newRow("tokenizer only") << "{}"
                                        << ""
                                        << "w5" << QList<int>{5} << none;
        QTest::newRow("-1 is none") << R"({"eos_token_id":[-1,3]})"
                                    << ""
                                    << "" << QList<int>{3} << none;
        QTest::newRow("beyond the tokenizer")
            << R"({"eos_token_id":[20,4294967298,3]})"
            << R"({"eos_token_id":-2})"
            << "" << QList<int>{3}
            << QStringList{
                   "config.json: eos_token_id 20 is left out of the stop tokens, since the vocabulary of 20 ids has no "
                   "token of that id",
                   "config.json: eos_token_id 4294967298 is left out", "generation_config.json: eos_token_id -2"};
    }
    void stopSet() {
        QFETCH(QString, config);
        QFETCH(QString, generation);
        QFETCH(QString, eos);
        QFETCH(QList<int>, ids);
        writeFile(folder() / "config.json", config.toStdString());
        if (!generation.isEmpty()) writeFile(folder() / "generation_config.json", generation.toStdString());
        if (!eos.isEmpty()) writeJson(folder() / "tokenizer_config.json", {{"eos_token", eos.toStdString()}});
        writeJson(folder() / "tokenizer.json", tokenizerOf(toyPieces(20)));
        QFETCH(QStringList, leftOut);
        std::vector<std::string> notices;
        const std::vector<TokenId> found = statedStopIds(folder(), *openTokenizer(folder()), notices);
        QCOMPARE(QList<int>(found.begin(), found.end()), ids);
        QCOMPARE(static_cast<qsizetype>(notices.size()), leftOut.size());
        for (std::size_t i = 0; i < notices.size(); ++i)
            QVERIFY2(notices[i].starts_with((folder() / leftOut[static_cast<qsizetype>(i)].toStdString()).string()),
                     notices[i].c_str());
    }
    void badStopSet_data() {
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("found");
        QTest::newRow("text") << "\"</s>\""
                              << "\"</s>\"";
        QTest::newRow("2^70") << "1180591620717411303424"
                              << "1.1805916207174113e+21";
        QTest::newRow("a list in a list") << "[[1]]"
                                          << "[[1]]";
        QTest::newRow("a text in a list") << "[1,\"a\"]"
                                          << "[1,\"a\"]";
        QTest::newRow("no whole number") << "1e9"
                                         << "1000000000.0";
        QTest::newRow("object") << "{}"
                                << "{}";
    }
    void badStopSet() {
        QFETCH(QString, value);
        QFETCH(QString, found);
        writeJson(folder() / "tokenizer.json", tokenizerOf(toyPieces(20)));
        for (const char* key : {"eos_token_id", "bos_token_id"})
            for (const char* name : {"config.json", "generation_config.json"}) {
                const fs::path file = folder() / name;
                writeFile(file, "{\"" + std::string(key) + "\":" + value.toStdString() + "}");
                std::vector<std::string> notices;
                const auto stated = [&] { statedStopIds(folder(), *openTokenizer(folder()), notices); };
                QCOMPARE(errorOf(stated), file.string() + ": " + key +
                                              " is not an id (expected a whole number from 0 to 2147483647, or a list "
                                              "of them, found " +
                                              found.toStdString() + ").");
                fs::remove(file);
            }
    }

    /// Not used, but never unsaid.
    void beginningThatIsNoToken() {
        writeJson(folder() / "tokenizer.json", tokenizerOf(toyPieces(20)));
        writeFile(folder() / "config.json", R"({"bos_token_id":1000000000})");
        writeFile(folder() / "generation_config.json", R"({"bos_token_id":[1,-1]})");
        std::vector<std::string> notices;
        QVERIFY(statedStopIds(folder(), *openTokenizer(folder()), notices).empty());
        QCOMPARE(notices, std::vector<std::string>{(folder() / "config.json").string() +
                                                   ": bos_token_id 1000000000 is not used, since the vocabulary of 20 "
                                                   "ids has no token of that id"});
    }

    /// What the system says of a folder, and not that nothing is in it.
    void tokenizersThatCannotBeRead() {
        const auto said = [&](const fs::path& path) { return errorOf([&] { openTokenizer(path); }); };
        fs::create_symlink("loop", folder() / "loop");
        QCOMPARE(said(folder() / "loop"), (folder() / "loop").string() +
                                              ": the tokenizer's folder cannot be read: symbolic links go round in a "
                                              "circle.");
        QCOMPARE(said(folder() / "nowhere"),
                 (folder() / "nowhere").string() +
                     ": there is no tokenizer: there is no such file or folder; check the path.");
        writeFile(folder() / "file.json", "{}");
        QVERIFY(said(folder() / "file.json").find("not the folder of a tokenizer but a file") != std::string::npos);
        const fs::path closed = folder() / "closed";
        fs::create_directory(closed);
        fs::permissions(closed, fs::perms::none);
        const bool root = ::geteuid() == 0;  // whom no folder is closed to
        if (root) QCOMPARE(::seteuid(65534), 0);
        const std::string found = said(closed);
        if (root) QCOMPARE(::seteuid(0), 0);
        fs::permissions(closed, fs::perms::owner_all);
        QCOMPARE(found, closed.string() + ": the tokenizer's folder cannot be read: permission is denied.");
    }

    void refusals_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QByteArray>("content");
        QTest::addColumn<QString>("sentence");
        QTest::newRow("nothing there") << "none" << QByteArray() << "there is no such file or folder; check the path.";
        QTest::newRow("GGUF") << "model.gguf" << QByteArray("GGUF") << "the file ends inside its version";
        QTest::newRow("TorchScript pt") << "model.pt" << QByteArray("x") << "this is not a TorchScript file";
        QTest::newRow("TorchScript ts") << "model.ts" << QByteArray("x") << "this is not a TorchScript file";
        QTest::newRow("bank") << "demo.bank.json" << QByteArray("{}") << "this is a bank of priors, not a source";
        QTest::newRow("session") << "a.session.json" << QByteArray("{}") << "this is a session, not a source";
        QTest::newRow("pickle") << "pytorch_model.bin" << QByteArray("x") << "pickled weights are never opened";
        QTest::newRow("text as safetensors")
            << "a.safetensors" << QByteArray("this is plain text") << "this is not a safetensors file";
        QTest::newRow("something else") << "a.txt" << QByteArray("text") << "this is not a source";
        QTest::newRow("empty folder") << "folder/" << QByteArray()
                                      << "there is no config.json in it (found an empty folder)";
        QTest::newRow("config is a list")
            << "folder/config.json" << QByteArray("[]") << "the file is not a JSON object";
        QTest::newRow("config is cut") << "folder/config.json" << QByteArray("{\"a\":") << "the JSON ends too early";
        QTest::newRow("no tokenizer") << "folder/config.json" << QByteArray("{}")
                                      << "there is no tokenizer in this folder (expected tokenizer.json or "
                                         "tokenizer.model); put the model's tokenizer in it.";
    }
    void refusals() {
        QFETCH(QString, name);
        QFETCH(QByteArray, content);
        QFETCH(QString, sentence);
        fs::path path = folder() / name.toStdString();
        if (name.startsWith("folder/")) fs::create_directory(folder() / "folder");
        if (!path.has_filename())
            path = path.parent_path();
        else if (name != "none")
            writeFile(path, content.toStdString());
        if (name == "folder/config.json") path = path.parent_path();
        const QString found = QString::fromStdString(errorOf([&] { openSource(path, {}, {}); }));
        QVERIFY2(found.contains(sentence), qPrintable(found));
        QVERIFY2(found.startsWith(QString::fromStdString(path.string())), qPrintable(found));
        QVERIFY2(!found.contains('\n'), qPrintable(found));
    }

    void weightsAlone() {
        writeTensors(folder() / "a.safetensors", {randomTensor("a", {2}, 1)});
        QVERIFY(errorOf([&] { openSource(folder() / "a.safetensors", {}, {}); }).find("holds weights only") !=
                std::string::npos);
    }

    void cancelledBeforeAnythingIsRead() {
        writeToyModel(folder() / "m", {{"architectures", {"LlamaForCausalLM"}}}, {randomTensor("a", {2}, 1)}, 20);
        std::stop_source stop;
        stop.request_stop();
        QVERIFY(openSource(folder() / "m", {}, stop.get_token()) == nullptr);
        QVERIFY(hashWeights(folder() / "m", stop.get_token()).empty());
    }

    /// A module that is not there, or is something else, is a plain Error; later calls try again.
    void modules() {
        const QByteArray before = qgetenv("COUNTERPOINT_MODULES");
        qputenv("COUNTERPOINT_MODULES", folder().c_str());
        QCOMPARE(moduleFolder(), folder());
        QVERIFY(errorOf([] { spm(); }).find("the module 'spm' is not there") != std::string::npos);
        writeFile(folder() / "counterpoint_spm.so", "not a library");
        QVERIFY(errorOf([] { spm(); }).find("the module 'spm' cannot be loaded") != std::string::npos);
        qputenv("COUNTERPOINT_MODULES", "");
        QCOMPARE(moduleFolder(), fs::canonical(buildFolder() / "bin"));
        QVERIFY(spm().open != nullptr);
        qputenv("COUNTERPOINT_MODULES", before);
    }

    void hashOfTheWeights() {
        writeFile(folder() / "one.safetensors", "abc");
        Sha256 expected;
        expected.update("abc");
        const std::string hex = expected.hex();
        QCOMPARE(hashWeights(folder() / "one.safetensors", {}), hex);
        QCOMPARE(hashWeights(folder(), {}), hex);
        writeJson(folder() / "model.safetensors.index.json",
                  {{"weight_map", {{"b", "b.safetensors"}, {"a", "a.safetensors"}}}});
        writeFile(folder() / "b.safetensors", "c");
        writeFile(folder() / "a.safetensors", "ab");
        QCOMPARE(hashWeights(folder(), {}), hex);  // in name order
    }
};

QTEST_GUILESS_MAIN(TestSources)
#include "tst_sources.moc"
