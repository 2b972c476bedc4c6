// Files that are broken, short, hostile or not what their name says (HAZARDS A2, A6, A9, A10, A12, A21): `run` ends
// with exit 1, one plain sentence that names the file, and no run directory's files.

#include <functional>
#include <limits>

#include "tests/app/trio.h"

using namespace counterpoint::tests;

namespace {

/// What is done to a working folder. The session is written afterwards; null: `spoil` has written it itself, or not.
struct Case {
    const char* name;
    const char* names;  ///< must stand in the sentence
    std::function<void(const QString& folder, Json& session)> spoil;
};

QByteArray lfsPointer() {
    return "version https://git-lfs.github.com/spec/v1\n"
           "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 1052672\n";
}

void editConfig(const QString& folder, const std::function<void(Json&)>& change) {
    const QString file = folder + QStringLiteral("/base/config.json");
    Json config = readJson(file);
    change(config);
    write(file, QByteArray::fromStdString(config.dump()));
}

/// Rewrites the JSON header of base/model.safetensors, keeping the data.
void editHeader(const QString& folder, const std::function<void(Json&)>& change) {
    const QString file = folder + QStringLiteral("/base/model.safetensors");
    const QByteArray bytes = contents(file);
    quint64 length = 0;
    memcpy(&length, bytes.constData(), sizeof length);
    Json header = Json::parse(bytes.mid(8, static_cast<qsizetype>(length)).toStdString());
    change(header);
    const QByteArray text = QByteArray::fromStdString(header.dump());
    const quint64 now = static_cast<quint64>(text.size());
    write(file,
          QByteArray(reinterpret_cast<const char*>(&now), 8) + text + bytes.mid(8 + static_cast<qsizetype>(length)));
}

/// The first number of a float32 tensor of base becomes a NaN.
void putNaN(const QString& folder, const char* tensor) {
    quint64 length = 0, offset = 0;
    editHeader(folder, [&](Json& h) { offset = h[tensor]["data_offsets"][0]; });
    const QString file = folder + QStringLiteral("/base/model.safetensors");
    const QByteArray bytes = contents(file);
    memcpy(&length, bytes.constData(), sizeof length);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    write(file, QByteArray(bytes).replace(static_cast<qsizetype>(8 + length + offset), 4,
                                          QByteArray(reinterpret_cast<const char*>(&nan), 4)));
}

void rawSession(const QString& folder, Json& session, const QByteArray& text) {
    session = nullptr;
    write(folder + QStringLiteral("/bad.session.json"), text);
}

QByteArray replaced(const Json& session, const char* from, const char* to) {
    return QByteArray::fromStdString(session.dump()).replace(from, to);
}

const std::vector<Case>& cases() {
    static const std::vector<Case> all{
        // the session
        {"session is missing", "bad.session.json",
         [](auto& f, Json& s) {
             s = nullptr;
             QFile::remove(f + "/bad.session.json");
         }},
        {"session is a folder", "bad.session.json",
         [](auto& f, Json& s) {
             s = nullptr;
             QDir().mkpath(f + "/bad.session.json");
         }},
        {"session is empty", "bad.session.json", [](auto& f, Json& s) { rawSession(f, s, ""); }},
        {"session is binary", "bad.session.json",
         [](auto& f, Json& s) {
             rawSession(f, s,
                        QByteArray("\x7f"
                                   "ELF\0\1\2\xff\xfe",
                                   9));
         }},
        {"session is cut", "bad.session.json",
         [](auto& f, Json& s) { rawSession(f, s, QByteArray::fromStdString(s.dump()).chopped(9)); }},
        {"session is a list", "bad.session.json", [](auto& f, Json& s) { rawSession(f, s, "[]"); }},
        {"session of another format", "bad.session.json",
         [](auto&, Json& s) { s["format"] = "counterpoint.session/9"; }},
        {"session without base", "base", [](auto&, Json& s) { s.erase("base"); }},
        {"session with NaN", "bad.session.json",
         [](auto& f, Json& s) { rawSession(f, s, replaced(s, "\"temperature\":0.0", "\"temperature\":NaN")); }},
        {"temperature is the text nan", "temperature", [](auto&, Json& s) { s["decoding"]["temperature"] = "nan"; }},
        {"temperature is negative", "temperature", [](auto&, Json& s) { s["decoding"]["temperature"] = -1.0; }},
        {"weight is infinite", "weight", [](auto&, Json& s) { s["specialists"][0]["weight"] = "inf"; }},
        {"weight with a comma", "weight", [](auto&, Json& s) { s["specialists"][0]["weight"] = "0,75"; }},
        {"key twice", "prompt",
         [](auto& f, Json& s) { rawSession(f, s, replaced(s, "\"base\":", "\"prompt\":\"again\",\"base\":")); }},
        {"nested without end", "bad.session.json",
         [](auto& f, Json& s) { rawSession(f, s, QByteArray("{\"a\":") + QByteArray(100000, '[')); }},
        {"two sources of one name", "dialogue", [](auto&, Json& s) { s["specialists"][1]["name"] = "dialogue"; }},
        {"a source named composed", "composed", [](auto&, Json& s) { s["specialists"][1]["name"] = "composed"; }},
        {"unknown reference", "nobody", [](auto&, Json& s) { s["specialists"][1]["reference"] = "nobody"; }},
        {"SHA-256 that is none", "sha256", [](auto&, Json& s) { s["base"]["sha256"] = "abc"; }},
        {"no prompt ids", "prompt_ids is an empty list", [](auto&, Json& s) { s["prompt_ids"] = Json::array(); }},
        {"stop id outside the vocabulary", "9999", [](auto&, Json& s) { s["decoding"]["stop_ids"] = {9999}; }},
        {"weight beyond all numbers", "source 'dialogue', position 1",
         [](auto&, Json& s) { s["specialists"][0]["weight"] = 1e308; }},
        {"negative weight beyond all numbers", "source 'dialogue', position 1",
         [](auto&, Json& s) { s["specialists"][0]["weight"] = -1e308; }},
        {"prefix that is too long", "source 'animals', \"prefix\"",
         [](auto&, Json& s) {
             std::string prefix;
             for (int i = 0; i < 600; ++i) prefix += "dog ";
             s["specialists"][1]["prefix"] = prefix;
         }},
        {"unknown EOS policy", "eos_policy", [](auto&, Json& s) { s["decoding"]["eos_policy"] = "often"; }},
        // the model
        {"model folder is missing", "nowhere", [](auto&, Json& s) { s["base"]["path"] = "nowhere"; }},
        {"model path is empty", "base", [](auto&, Json& s) { s["base"]["path"] = ""; }},
        {"text named model.pt", "model.pt",
         [](auto& f, Json& s) {
             write(f + "/model.pt", "not a script\n");
             s["base"]["path"] = "model.pt";
         }},
        {"zip without code", "model.pt",
         [](auto& f, Json& s) {
             write(f + "/model.pt", QByteArray("PK\5\6") + QByteArray(18, '\0'));
             s["base"]["path"] = "model.pt";
         }},
        {"folder without config.json", "config.json", [](auto& f, Json&) { QFile::remove(f + "/base/config.json"); }},
        {"config.json is text", "config.json",
         [](auto& f, Json&) { write(f + "/base/config.json", "hidden_size = 64\n"); }},
        {"unknown architecture", "MambaForCausalLM",
         [](auto& f, Json&) {
             editConfig(f, [](Json& c) {
                 c["architectures"] = {"MambaForCausalLM"};
                 c["model_type"] = "mamba";
             });
         }},
        {"hidden size is zero", "hidden_size",
         [](auto& f, Json&) { editConfig(f, [](Json& c) { c["hidden_size"] = 0; }); }},
        {"another head size", "self_attn", [](auto& f, Json&) { editConfig(f, [](Json& c) { c["head_dim"] = 16; }); }},
        {"rotary on a part of the head", "partial_rotary_factor",
         [](auto& f, Json&) { editConfig(f, [](Json& c) { c["partial_rotary_factor"] = 0.5; }); }},
        {"control characters", "\\x1b[31mred",
         [](auto& f, Json&) { editConfig(f, [](Json& c) { c["hidden_act"] = "\x1b[31mred\xc2\x9b"; }); }},
        {"NaN in the weights", "model.safetensors holds a NaN", [](auto& f, Json&) { putNaN(f, "model.norm.weight"); }},
        {"NaN in a layer", "layer 1 of", [](auto& f, Json&) { putNaN(f, "model.layers.0.mlp.up_proj.weight"); }},
        {"NaN in a layer, its tensor", "tensor 'model.layers.0.mlp.up_proj.weight'",
         [](auto& f, Json&) { putNaN(f, "model.layers.0.mlp.up_proj.weight"); }},
        {"unknown rope scaling", "rope",
         [](auto& f, Json&) {
             editConfig(f, [](Json& c) { c["rope_scaling"] = {{"rope_type", "spiral"}, {"factor", 2.0}}; });
         }},
        {"no weights", "base", [](auto& f, Json&) { QFile::remove(f + "/base/model.safetensors"); }},
        {"weights are a Git LFS pointer", "model.safetensors",
         [](auto& f, Json&) { write(f + "/base/model.safetensors", lfsPointer()); }},
        {"weights are empty", "model.safetensors", [](auto& f, Json&) { write(f + "/base/model.safetensors", ""); }},
        {"weights are cut", "model.safetensors",
         [](auto& f, Json&) {
             const QString w = f + "/base/model.safetensors";
             write(w, contents(w).chopped(64));
         }},
        {"header of 2^63 bytes", "model.safetensors",
         [](auto& f, Json&) {
             const QString w = f + "/base/model.safetensors";
             write(w, contents(w).replace(0, 8, QByteArray("\0\0\0\0\0\0\0\x80", 8)));
         }},
        {"shape whose product wraps", "model.safetensors",
         [](auto& f, Json&) {
             editHeader(f, [](Json& h) {
                 h["model.norm.weight"]["shape"] = {4294967296, 4294967296};
                 h["model.norm.weight"]["data_offsets"] = {0, 0};
             });
         }},
        {"a tensor is missing", "model.norm.weight",
         [](auto& f, Json&) {
             editHeader(f, [](Json& h) {
                 h["model.other.weight"] = h["model.norm.weight"];
                 h.erase("model.norm.weight");
             });
         }},
        {"a shard is missing", "model-00002-of-00002.safetensors",
         [](auto& f, Json&) {
             write(f + "/base/model.safetensors.index.json",
                   R"({"weight_map":{"model.norm.weight":"model-00002-of-00002.safetensors"}})");
         }},
        {"no tokenizer", "tokenizer",
         [](auto& f, Json&) {
             QFile::remove(f + "/base/tokenizer.json");
             QFile::remove(f + "/base/tokenizer.model");
         }},
        {"tokenizer.json is cut", "tokenizer.json",
         [](auto& f, Json&) {
             const QString t = f + "/base/tokenizer.json";
             QFile::remove(f + "/base/tokenizer.model");
             write(t, contents(t).left(5000));
         }},
        {"specialist of another vocabulary", "id 400",
         [](auto& f, Json&) {
             // two ids of the base swapped: same size, other meanings
             const QString t = f + "/base/tokenizer.json";
             Json tokenizer = readJson(t);
             Json& vocabulary = tokenizer["model"]["vocab"];
             std::string first, second;
             for (auto& [piece, id] : vocabulary.items()) {
                 if (id == 400) first = piece;
                 if (id == 401) second = piece;
             }
             vocabulary[first] = 401;
             vocabulary[second] = 400;
             QFile::remove(f + "/base/tokenizer.model");
             write(t, QByteArray::fromStdString(tokenizer.dump()));
         }},
        {"device that is not there", "cuda:77", [](auto&, Json&) {}},
    };
    return all;
}

}  // namespace

class TestBadFiles : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() {
        failOnAnyWarning();
        REQUIRE_SHARED("models/stories260K/hf");
    }

    void oneSentence_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < cases().size(); ++i) QTest::newRow(cases()[i].name) << static_cast<int>(i);
    }
    void oneSentence() {
        QFETCH(int, index);
        const Case& one = cases()[static_cast<std::size_t>(index)];
        const QTemporaryDir scratch;
        const QString folder = scratch.path();
        QDir().mkpath(folder + QStringLiteral("/base"));
        for (const QFileInfo& file :
             QDir(QString::fromStdString(modelPath("stories260K"))).entryInfoList(QDir::Files)) {
            const QString copy = folder + QStringLiteral("/base/") + file.fileName();
            write(copy, contents(file.filePath()));  // the shared files may be read-only; these copies are spoiled
        }
        Json session = trioSession(2);
        session["base"]["path"] = "base";
        const QString file = folder + QStringLiteral("/bad.session.json");
        one.spoil(folder, session);
        if (!session.is_null()) writeSession(file, session);

        QStringList arguments{QStringLiteral("run"), file, QStringLiteral("--out"), folder + QStringLiteral("/out")};
        if (QByteArray(one.names).startsWith("cuda"))
            arguments += {QStringLiteral("--device"), QString::fromLatin1(one.names)};
        const Finished finished = runProgram(arguments);
        COMPARE_CODE(finished, 1);
        QVERIFY2(finished.errorLines() == 1, finished.err.constData());
        QVERIFY2(finished.err.contains(one.names), finished.err.constData());
        QVERIFY(finished.out.isEmpty());
        QVERIFY2(!finished.err.contains('\x1b') && !finished.err.contains(".."), finished.err.constData());
        QVERIFY(!QFile::exists(folder + QStringLiteral("/out")));
    }

    void theUnspoiltFolderRuns() {
        const QTemporaryDir scratch;
        const QString file = writeSession(scratch.filePath(QStringLiteral("good.session.json")), trioSession(2));
        COMPARE_CODE(
            runProgram({QStringLiteral("run"), file, QStringLiteral("--out"), scratch.filePath(QStringLiteral("out"))}),
            0);
    }
};

QTEST_GUILESS_MAIN(TestBadFiles)
#include "tst_badfiles.moc"
