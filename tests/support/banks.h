#pragma once
// Small banks of ids for tests of compression.

#include <algorithm>
#include <map>
#include <random>

#include "compute/priors/hierarchy.h"
#include "tests/support/fixture.h"

namespace counterpoint::tests {

using namespace compute;

using Delta = std::vector<std::pair<TokenId, double>>;

inline Prior prior(const std::string& name, Delta delta, double quality = 0.75, const std::string& task = {}) {
    Prior out;
    out.name = name;
    out.delta = std::move(delta);
    out.quality = quality;
    out.task = task;
    return out;
}

inline Prior after(Prior out, const std::string& pattern) {
    out.when.kind = ContextKind::Regex;
    out.when.pattern = pattern;
    return out;
}

/// ±1 on ids: negative for −(id + 1).
inline Delta signs(const std::vector<int>& ids, double scale = 1) {
    Delta out;
    for (int id : ids) out.emplace_back(id < 0 ? -id - 1 : id, id < 0 ? -scale : scale);
    std::sort(out.begin(), out.end());
    return out;
}

inline std::vector<int> range(int from, int to) {
    std::vector<int> out;
    for (int i = from; i < to; ++i) out.push_back(i);
    return out;
}

inline Bank bankOf(std::vector<Prior> priors, const std::string& name = "bank") {
    Bank bank;
    bank.name = name;
    for (Prior& p : priors) bank.priors.push_back(std::make_shared<const Prior>(std::move(p)));
    return bank;
}

inline Compressed compressed(const Bank& bank, int level, Keep keep = Keep::Product) {
    CompressOptions options;
    options.level = level;
    options.keep = keep;
    return compress(std::span(&bank, 1), {}, options);
}

inline bool says(const LevelReport& level, std::initializer_list<const char*> parts) {
    return std::any_of(level.apart.begin(), level.apart.end(), [&](const std::string& sentence) {
        return std::all_of(parts.begin(), parts.end(),
                           [&](const char* part) { return sentence.find(part) != std::string::npos; });
    });
}

inline std::map<TokenId, double> asMap(const Prior& p) { return {p.delta.begin(), p.delta.end()}; }

inline Bank randomBank(std::mt19937_64& random, std::size_t count, int vocabulary, bool equalMagnitudes = false) {
    std::normal_distribution<double> normal;
    std::vector<Prior> priors;
    for (std::size_t m = 0; m < count; ++m) {
        std::map<TokenId, double> delta;
        for (std::size_t n = 1 + random() % 8; n > 0; --n) {
            const double x = normal(random);
            delta[TokenId(random() % std::size_t(vocabulary))] = equalMagnitudes ? (x < -0.7 ? -1 : 1) : x;
        }
        Prior p = prior("p" + std::to_string(m), Delta(delta.begin(), delta.end()),
                        0.55 + 0.4 * double(random() % 100) / 100, random() % 3 ? "a" : "b");
        if (random() % 6 == 0) p = after(p, random() % 2 ? "x" : "y");
        priors.push_back(p);
    }
    return bankOf(priors);
}

/// Written in both formats and read again it is the same; the report tells the bytes of the file.
inline void sameInFiles(const Compressed& result) {
    const QTemporaryDir scratch;
    const std::filesystem::path folder = scratch.path().toStdString();
    std::vector<std::string> warnings;
    for (const char* name : {"a.bank.safetensors", "a.bank.json"}) {
        writeBank(result.bank, folder / name);
        QVERIFY2(readBank(folder / name, warnings) == result.bank, name);
    }
    QCOMPARE(std::filesystem::file_size(folder / "a.bank.safetensors"), result.levels.back().bytes);
    QVERIFY(warnings.empty());
}

}  // namespace counterpoint::tests
