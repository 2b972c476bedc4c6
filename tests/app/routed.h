#pragma once
// Recordings with router logits, and `counterpoint route` on them.

#include <cmath>

#include "tests/app/program.h"
#include "tests/support/routing.h"
#include "tests/support/toyrecording.h"

namespace counterpoint::tests {

constexpr std::size_t kT = 22, kE = 6;
constexpr int kK = 2;

/// A text of 22 tokens; the base's router in layers 0 and 5, and that of "math" in the same.
inline ToyRecording routed(const std::vector<float>& base, std::size_t T = kT, std::size_t E = kE, int K = kK) {
    ToyRecording toy(std::vector<std::int64_t>(T, 1), 4, {"base", "math", "dense"});
    const std::vector<std::int64_t> shape{2, std::int64_t(T), std::int64_t(E)};
    toy.tensors.push_back(floatTensor("router_logits.base", shape, base));
    toy.tensors.push_back(randomTensor("router_logits.math", shape, 77, 1));
    toy.metadata.insert(
        {{"router_layers", "0,5"}, {"experts_per_token", std::to_string(K)}, {"norm_topk_prob", "false"}});
    return toy;
}

inline QStringList words(const QString& text) { return text.split(QLatin1Char(' '), Qt::SkipEmptyParts); }

inline bool same(const OrderedJson& found, const Estimate& wanted) {
    const auto equal = [](const OrderedJson& x, double y) {
        return std::isnan(y) ? x == OrderedJson("nan") : x.is_number() && x.get<double>() == y;
    };
    return found.size() == 2 && equal(found["mean"], wanted.mean) && equal(found["se"], wanted.se);
}

/// A folder of recordings.
class RouteFolder {
  protected:
    QTemporaryDir m_scratch;
    QString path(const QString& name) const { return m_scratch.filePath(name); }
    QString saved(const ToyRecording& toy, const QString& name = QStringLiteral("r.safetensors")) const {
        toy.write(path(name).toStdString());
        return path(name);
    }
    static Finished route(const QString& file, const QString& more = {}, const QStringList& last = {}) {
        QStringList all{QStringLiteral("route"), file};
        const QStringList given = words(more);
        for (const auto& [option, value] :
             {std::pair{"--rho", "0.6"}, {"--alpha", "0.7"}, {"--window", "4"}, {"--draws", "60"}})
            if (!given.contains(QLatin1String(option))) all += {QLatin1String(option), QLatin1String(value)};
        return runProgram(all + given + last);
    }
    static OrderedJson reported(const Finished& finished) {
        return finished.code == 0 ? OrderedJson::parse(finished.out.toStdString()) : OrderedJson();
    }
};

}  // namespace counterpoint::tests
