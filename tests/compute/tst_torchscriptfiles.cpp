// What is no TorchScript file, or no such model: one sentence each, whatever the name (HAZARDS A6, A10).
#include <fstream>
#include <functional>

#include "tests/support/fixture.h"
#include "tests/support/toyscript.h"
#include "tests/support/ziparchive.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestTorchScriptFiles : public QObject, ScriptFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        renew();
    }

    /// The content decides: a TorchScript file may be called anything that promises nothing else.
    void names_data() {
        QTest::addColumn<QString>("name");
        for (const char* name : {"toy.ts", "traced.pth", "model", "weights.bin", "a.torchscript"})
            QTest::newRow(name) << name;
    }
    void names() {
        QFETCH(QString, name);
        QCOMPARE(openScript(script(toyScript(kScriptForward), name.toStdString()))->info().kind,
                 std::string("torchscript"));
    }

    void wrongFiles_data() {
        QTest::addColumn<QString>("name");
        QTest::addColumn<std::function<void(const std::filesystem::path&)>>("write");
        QTest::addColumn<QString>("sentence");
        const auto row = [](const char* name, const char* file, std::function<void(const std::filesystem::path&)> write,
                            const char* sentence) { QTest::newRow(name) << file << write << sentence; };
        const auto text = [](const std::string& content) {
            return [content](const std::filesystem::path& f) { std::ofstream(f, std::ios::binary) << content; };
        };
        const auto whole = [](const std::filesystem::path& f) { scriptWriter().write(f, toyScript(kScriptForward)); };
        row("text", "model.pt", text("not a model"), "this is not a TorchScript file");
        row("empty", "model.ts", text(""), "found an empty file");
        row("a state dict", "model.pt", scriptWriter().writePickle,
            "this is a pickled model or state dict, which is never opened (expected a TorchScript file");
        row("an old pickle", "model.pt", text("\x80\x02}q\1."), "a pickled model or state dict");
        row("a state dict by another name", "weights", scriptWriter().writePickle, "which is never opened");
        row("an exported program", "model.pt", text(archive({.names = {"m/archive_format", "m/data.pkl"}})),
            "torch.export");
        row("another archive", "model.pt", text(archive({.names = {"word/document.xml"}})),
            "a zip archive of something else");
        row("an archive without code", "model.pt", text(archive({.names = {"m/code/x.py", "m/constants.pkl"}})),
            "it cannot be read as TorchScript: ");
        row("GGUF", "model.pt", text("GGUF...."), "this is a GGUF file (expected a TorchScript file, as its name says");
        row("TorchScript as GGUF", "model.gguf", whole, "this is a TorchScript file (expected a GGUF file");
        row("TorchScript as safetensors", "model.safetensors", whole, "expected a safetensors file");
        row(
            "cut off", "model.pt",
            [=](const std::filesystem::path& f) {
                whole(f);
                std::filesystem::resize_file(f, std::filesystem::file_size(f) - 40);
            },
            "cut off: the table at its end is missing");
        row(
            "cut in the middle", "model",
            [=](const std::filesystem::path& f) {
                whole(f);
                std::filesystem::resize_file(f, std::filesystem::file_size(f) / 2);
            },
            "copy or download it again");
        row("a table that leads nowhere", "model.pt",
            text("PK\3\4" + std::string(30, 'x') + "PK\5\6" + std::string(18, '\xFF')), "cut off");
    }
    void wrongFiles() {
        QFETCH(QString, name);
        QFETCH(std::function<void(const std::filesystem::path&)>, write);
        QFETCH(QString, sentence);
        const std::filesystem::path file = folder() / name.toStdString();
        write(file);
        const std::string found = errorOf([&] { openScript(file); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(file.string()) && found.find('\n') == std::string::npos, found.c_str());
    }

    void wrongScripts_data() {
        QTest::addColumn<QString>("methods");
        QTest::addColumn<QString>("sentence");
        const auto forward = [](const char* name, const char* body, const char* sentence) {
            QTest::newRow(name) << "def forward(self, ids: Tensor):\n    " + QString(body) << sentence;
        };
        forward("two dimensions", "return self.w[ids[0]]",
                "its 'forward' gives something else than logits (expected float [1, 2, V], found float32 [2, 300])");
        forward("the last row alone", "return self.w[ids][:, -1:]", "found float32 [1, 1, 300]");
        forward("whole numbers", "return ids.unsqueeze(2)", "found long [1, 2, 1]");
        forward("four dimensions", "return self.w[ids].unsqueeze(3)", "found float32 [1, 2, 300, 1]");
        forward("a batch of two", "return torch.cat([self.w[ids], self.w[ids]])", "found float32 [2, 2, 300]");
        forward("no columns", "return self.w[ids][:, :, :0]", "found float32 [1, 2, 0]");
        forward("a pair", "return self.w[ids], ids", "found Tuple");
        forward("nothing", "return None", "found None");
        forward("a number", "return 3", "found Int");
        forward("it throws", "assert ids.size(1) < 0, 'no such luck'\n    return self.w[ids]",
                "its 'forward' cannot be used: AssertionError: no such luck");
        forward("an operation fails", "return torch.matmul(self.w[ids], self.w[:3])", "cannot be used: ");
        QTest::newRow("more arguments") << "def forward(self, ids: Tensor, mask: Tensor):\n    return self.w[ids]"
                                        << "forward() is missing value for argument 'mask'";
        QTest::newRow("no methods") << "def other(self, ids: Tensor):\n    return self.w[ids]"
                                    << "the script has no 'forward'";
        QTest::newRow("prefill without a cache")
            << "def prefill(self, ids: Tensor):\n    return self.w[ids]\ndef step(self, ids: Tensor, cache: Tensor):\n"
               "    return self.w[ids], cache\n"
            << "its 'prefill' gives something else than (logits, cache)";
        QTest::newRow("three of them")
            << "def prefill(self, ids: Tensor):\n    return self.w[ids], ids, ids\ndef step(self, ids: Tensor, cache: "
               "Tensor):\n    return self.w[ids], cache\n"
            << "its 'prefill' gives something else than (logits, cache) (expected a tuple of two, found Tuple)";
        QTest::newRow("a step of another width")
            << "def prefill(self, ids: Tensor):\n    return self.w[ids], ids\ndef step(self, ids: Tensor, cache: "
               "Tensor):"
               "\n    return self.w[ids][:, :, :9], cache\n"
            << "its 'step' gives other logits than its 'prefill' (expected 300 numbers, found 9)";
    }
    void wrongScripts() {
        QFETCH(QString, methods);
        QFETCH(QString, sentence);
        const std::filesystem::path file = script(toyScript(methods.toStdString()));
        const std::string found = errorOf([&] { openScript(file); });
        QVERIFY2(found.find(sentence.toStdString()) != std::string::npos, found.c_str());
        QVERIFY2(found.starts_with(file.string()) && found.find('\n') == std::string::npos, found.c_str());
    }

    /// Of what the script or libtorch says the reason, short and in one line; the rest is folded away.
    void reasons_data() {
        QTest::addColumn<QString>("message");
        QTest::addColumn<QString>("shown");
        QTest::newRow("a full stop") << "'no such luck. '"
                                     << ": AssertionError: no such luck.";
        QTest::newRow("a bell") << "'no\aluck'" << ": AssertionError: no";
        QTest::newRow("a long one") << "'" + QString(400, 'a') + "'" << QString(280, 'a');
    }
    void reasons() {
        QFETCH(QString, message);
        QFETCH(QString, shown);
        const std::string body = "def forward(self, ids: Tensor):\n    assert ids.size(1) < 0, " +
                                 message.toStdString() + "\n    return self.w[ids]";
        const std::filesystem::path file = script(toyScript(body));
        QString details;
        try {
            openScript(file);
        } catch (const compute::Error& error) {
            details = QString::fromStdString(error.parts().details);
        }
        const QString found = QString::fromStdString(errorOf([&] { openScript(file); }));
        QVERIFY2(found.contains(shown) && !found.contains(".."), qPrintable(found));
        QVERIFY2(!found.contains(QChar(7)) && found.size() < 450, qPrintable(found));
        QVERIFY2(details.contains("Traceback of TorchScript"), qPrintable(details));
    }

    void whatMightHelp() {
        std::ofstream(folder() / "m.pt", std::ios::binary) << archive({.names = {"m/code/x.py", "m/constants.pkl"}});
        const std::string found = errorOf([&] { openScript(folder() / "m.pt"); });
        QVERIFY2(found.find("this is libtorch ") != std::string::npos, found.c_str());
    }

    /// libtorch begins some of its reasons with an empty line.
    void anOperationThatThisLibtorchDoesNotHave() {
        const std::filesystem::path file = checkout() / "tests/data/torchscript/attention.pt";
        const std::string found = errorOf([&] { openScript(file); });
        if (found.empty()) QSKIP("this libtorch has the operation");
        QVERIFY2(found.find("TorchScript: Unknown builtin op: aten::scaled_dot_product_attention") != std::string::npos,
                 found.c_str());
        QVERIFY2(found.find("--torch DIR") != std::string::npos, found.c_str());
    }

    void devices() {
        const std::filesystem::path file = script(toyScript(kScriptForward));
        OpenOptions options;
        options.device.clear();
        QCOMPARE(openScript(file, options)->info().device, std::string("cpu"));
        options.device = "cuda:63";
        const std::string found = errorOf([&] { openScript(file, options); });
        QVERIFY2(found.find("cuda:63") != std::string::npos && found.find("cannot be read") == std::string::npos,
                 found.c_str());
    }
};

QTEST_GUILESS_MAIN(TestTorchScriptFiles)
#include "tst_torchscriptfiles.moc"
