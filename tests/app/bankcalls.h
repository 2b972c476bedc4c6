#pragma once
// `counterpoint bank …` as a child, on banks of ids and on a small session that uses one.

#include <nlohmann/json.hpp>

#include "tests/app/program.h"
#include "tests/support/toyrecording.h"

namespace counterpoint::tests {

using Json = nlohmann::ordered_json;

/// Ids from `from` on with alternating signs.
inline Json deltas(int from, int n, double magnitude) {
    Json out = Json::object();
    for (int i = 0; i < n; ++i) out[std::to_string(from + i)] = i % 2 == 0 ? magnitude : -magnitude;
    return out;
}

inline Json bankOf(const Json& priors) {
    return {{"format", "counterpoint.bank/1"}, {"name", "a bank"}, {"priors", priors}};
}

inline Json idsBank() {
    Json uneven = {{"1", 1.0}, {"2", -3.0}};
    return bankOf({{{"name", "even"}, {"quality", 0.75}, {"delta", deltas(10, 20, 0.5)}},
                   {{"name", "uneven"}, {"quality", 0.999}, {"task", "math"}, {"delta", uneven}},
                   {{"name", "as even"}, {"quality", 0.6}, {"delta", deltas(10, 20, 1)}},
                   {{"name", "certain"}, {"quality", 1}, {"task", "other"}, {"delta", deltas(100, 5, 1)}}});
}

/// The program's calls, and a folder of their files.
struct BankCalls {
    QTemporaryDir m_scratch;
    QString path(const char* name) const { return m_scratch.filePath(QString::fromLatin1(name)); }
    QString written(const char* name, const Json& bank) const {
        write(path(name), QByteArray::fromStdString(bank.dump(1)));
        return path(name);
    }
    static Finished bank(const QStringList& words) { return runProgram(QStringList{QStringLiteral("bank")} + words); }
    static Finished report(const QString& file, const QStringList& more = {}) {
        return bank(QStringList{QStringLiteral("report"), file} + more);
    }
    static Finished compress(const QString& file, const QString& out, const QStringList& more = {}) {
        return bank(QStringList{QStringLiteral("compress"), file, QStringLiteral("--out"), out} + more);
    }
    /// A recording of eight rows and a session that uses `bank` on it; overrides as JSON.
    QString session(const char* bank, const Json& more = Json::object()) const {
        ToyRecording({1, 5, 3, 7, 2, 5, 3, 8}, 120, {"base"}).write(path("r.safetensors").toStdString());
        Json entry = {{"bank", bank}};
        entry.update(more);
        const Json session = {{"format", "counterpoint.session/1"},
                              {"mode", "score"},
                              {"prompt", ""},
                              {"base", {{"name", "base"}, {"path", "r.safetensors"}, {"source", "base"}}},
                              {"priors", Json::array({entry})}};
        return written("s.session.json", session);
    }
    static QStringList demoTokenizer() { return {QStringLiteral("--tokenizer"), inCheckout("resources/demo/base")}; }
};

}  // namespace counterpoint::tests
