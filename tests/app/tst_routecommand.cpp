// `counterpoint route`: its JSON against the estimates it is made of, the identity of R14 on it, planted router logits,
// runs, a signal.

#include "compute/routing/copula.h"
#include "compute/routing/inclusion.h"
#include "tests/app/routed.h"
#include "tests/app/terminal.h"

using namespace counterpoint::tests;

namespace {

QStringList keysOf(const OrderedJson& object) {
    QStringList keys;
    for (const auto& [key, value] : object.items()) keys += QString::fromStdString(key);
    return keys;
}

const char* const kMetrics[] = {"coherence", "boundary", "boundary_paired", "boundary_unpaired",
                                "distinct",  "cv",       "overflow",        "load_variance"};

}  // namespace

class TestRouteCommand : public QObject, RouteFolder {
    Q_OBJECT

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    /// Every number is that of the estimates on the same logits and dials.
    void itsNumbers() {
        const auto logits = someLogits(2 * kT * kE);
        const Finished finished =
            route(saved(routed(logits)), QStringLiteral("--seed 20 --router-temperature 1.5 --capacity 0.9"));
        COMPARE_CODE(finished, 0);
        QVERIFY2(finished.err.isEmpty(), finished.err.constData());
        const OrderedJson json = reported(finished);
        EstimateQuestion q = questionOf(std::span(logits).first(kT * kE), kE, kK, 4, 0.6, 0.7, 60);
        q.layers[0].layer = 0;
        q.layers[0].law.temperature = 1.5;
        q.layers.push_back(q.layers[0]);
        q.layers[1].layer = 5;
        q.layers[1].logits = std::span(logits).last(kT * kE);
        q.capacityFactor = 0.9;
        const Estimates current = lastOf(q);
        const auto published = deterministicRouting(q);
        q.coupling = flatOf(q.coupling);
        const Estimates flat = lastOf(q);

        QCOMPARE(keysOf(json), (QStringList{"dials", "layers", "pooled", "scope"}));
        const OrderedJson dials = {{"source", "base"},
                                   {"rho", 0.6},
                                   {"alpha", 0.7},
                                   {"window", 4},
                                   {"pairs", nullptr},
                                   {"draws", 60},
                                   {"seed", 20},
                                   {"router_temperature", 1.5},
                                   {"capacity", 0.9},
                                   {"positions", 22},
                                   {"experts", 6},
                                   {"experts_per_token", 2},
                                   {"norm_topk_prob", false},
                                   {"changes_the_law", true}};
        QCOMPARE(QString::fromStdString(json["dials"].dump()), QString::fromStdString(dials.dump()));
        const auto check = [&](const OrderedJson& part, const MetricEstimates& of, const MetricEstimates& flatOf) {
            const Estimate wanted[] = {of.coherence, of.boundary, of.boundaryPaired, of.boundaryUnpaired,
                                       of.distinct,  of.cv,       of.overflow,       of.loadVariance};
            for (std::size_t i = 0; i < 8; ++i) QVERIFY2(same(part[kMetrics[i]], wanted[i]), kMetrics[i]);
            QVERIFY(same(part["flat_load_variance"], flatOf.loadVariance));
        };
        QCOMPARE(json["layers"].size(), std::size_t{2});
        double variances = 0;
        for (std::size_t l = 0; l < 2; ++l) {
            const OrderedJson& layer = json["layers"][l];
            QVERIFY(layer["layer"] == OrderedJson(l == 0 ? 0 : 5));
            check(layer, current.layers[l].metrics, flat.layers[l].metrics);
            const IndependentForm form = independentForm(q.layers[l].law, q.layers[l].logits, kE, q.layers[l].layer, 1);
            variances += form.loadVariance / 2;
            QVERIFY(same(layer["independent_load_variance"], {form.loadVariance, 0}));
            QVERIFY(layer["independent_load"] == OrderedJson(form.load));
            QVERIFY(layer["load"].size() == kE && layer["load_se"].size() == kE);
            for (std::size_t e = 0; e < kE; ++e) {
                QCOMPARE(layer["load"][e].get<double>(), current.layers[l].load[e].mean);
                QCOMPARE(layer["load_se"][e].get<double>(), current.layers[l].load[e].se);
            }
            QVERIFY(layer["deterministic"]["load"] == OrderedJson(published[l].load));
            QCOMPARE(layer["deterministic"]["cv"].get<double>(), published[l].metrics.cv);
            QCOMPARE(layer["deterministic"]["overflow"].get<double>(), published[l].metrics.overflow);
        }
        const OrderedJson& pooled = json["pooled"];
        check(pooled, current.pooled, flat.pooled);
        QVERIFY(same(pooled["independent_load_variance"], {variances, 0}));
        QVERIFY(!pooled.contains("load") && !pooled.contains("independent_load"));
        QCOMPARE(pooled["deterministic"]["cv"].get<double>(), (published[0].metrics.cv + published[1].metrics.cv) / 2);
        QCOMPARE(pooled["deterministic"]["overflow"].get<double>(),
                 (published[0].metrics.overflow + published[1].metrics.overflow) / 2);
    }

    /// R14: Σ_e [Var N_e − Σ_t π̂(1 − π̂)] = Σ_{t≠t'} (mean|S∩S'| − Σ_e π̂π̂'), the right side and π̂ from draws made one by
    /// one by their addresses, Var from the report.
    void theIdentity() {
        constexpr std::uint32_t D = 60;
        const auto logits = someLogits(2 * kT * kE, 9);
        const Finished finished = route(saved(routed(logits)), QStringLiteral("--seed 20"));
        COMPARE_CODE(finished, 0);
        const OrderedJson json = reported(finished);
        const Coupling coupling = questionOf(logits, kE, kK, 4, 0.6, 0.7, 1).coupling;
        for (std::size_t l = 0; l < 2; ++l) {
            std::vector<double> pi(kT * kE), met(kT * kT), load(kE);
            for (std::uint32_t d = 1; d <= D; ++d) {
                std::vector<std::vector<ExpertId>> sets(kT, std::vector<ExpertId>(kK));
                for (std::size_t t = 0; t < kT; ++t) {
                    GroupMemory memory;
                    std::vector<double> scores(kE);
                    routingNoise({20, d, l == 0 ? 0u : 5u}, placementAt(coupling, Position(t)), Position(t), memory,
                                 scores);
                    for (std::size_t e = 0; e < kE; ++e) scores[e] += logits[(l * kT + t) * kE + e];
                    topK(scores, sets[t]);
                    for (const ExpertId e : sets[t])
                        pi[t * kE + std::size_t(e)] += 1.0 / D, load[std::size_t(e)] += 1.0 / D;
                }
                for (std::size_t t = 0; t < kT; ++t)
                    for (std::size_t u = 0; u < kT; ++u)
                        for (const ExpertId e : sets[t])
                            met[t * kT + u] += double(std::count(sets[u].begin(), sets[u].end(), e)) / D;
            }
            const OrderedJson& layer = json["layers"][l];
            double left = layer["load_variance"]["mean"].get<double>() * (D - 1) / D, right = 0;
            for (const double p : pi) left -= p * (1 - p);
            for (std::size_t t = 0; t < kT; ++t)
                for (std::size_t u = 0; u < kT; ++u) {
                    if (t == u) continue;
                    right += met[t * kT + u];
                    for (std::size_t e = 0; e < kE; ++e) right -= pi[t * kE + e] * pi[u * kE + e];
                }
            QVERIFY2(std::abs(left - right) < 1e-9 && std::abs(left) > 0.1, qPrintable(QString::number(left - right)));
            for (std::size_t e = 0; e < kE; ++e) QVERIFY(std::abs(layer["load"][e].get<double>() - load[e]) < 1e-12);
        }
    }

    void theSameBytesForAnyThreads() {
        const QString file = saved(routed(someLogits(2 * kT * kE)));
        const Finished one = route(file, QStringLiteral("--threads 1"));
        COMPARE_CODE(one, 0);
        for (const char* threads : {"--threads 2", "--threads=5", ""})
            QCOMPARE(route(file, QLatin1String(threads)).out, one.out);
        QCOMPARE(route(file, QStringLiteral("--seed 7")).out, one.out);
        QVERIFY(route(file, QStringLiteral("--seed 8")).out != one.out);
    }

    /// Layer 0: experts 1 and 4 are sixty nats above the rest, so that no noise moves them. Layer 5: equal logits, the
    /// row of PAPERS.md 5.4 for ρ = 0.5, α = 0.5, two windows of 8.
    void plantedLogits() {
        std::vector<float> logits(2 * 16 * 8);
        for (std::size_t t = 0; t < 16; ++t) logits[t * 8 + 1] = logits[t * 8 + 4] = 60;
        const Finished finished = route(saved(routed(logits, 16, 8)),
                                        QStringLiteral("--rho 0.5 --alpha 0.5 --window 8 --draws 4000 --seed 20"));
        COMPARE_CODE(finished, 0);
        const OrderedJson json = reported(finished);
        const OrderedJson &sure = json["layers"][0], &even = json["layers"][1];
        for (const char* one : {"coherence", "boundary", "boundary_paired"}) QVERIFY(same(sure[one], {1, 0}));
        QVERIFY(same(sure["boundary_unpaired"], {NAN, NAN}));
        QVERIFY(same(sure["distinct"], {2, 0}));
        for (const char* none : {"load_variance", "independent_load_variance", "flat_load_variance"})
            QVERIFY2(std::abs(sure[none]["mean"].get<double>()) < 1e-20, none);
        QVERIFY(sure["load"] == OrderedJson({0.0, 16.0, 0.0, 0.0, 16.0, 0.0, 0.0, 0.0}));
        QVERIFY(sure["independent_load"] == sure["load"]);
        QVERIFY(same(sure["overflow"], {2 * (16 - 4), 0}) &&
                std::abs(sure["cv"]["mean"].get<double>() - std::sqrt(3.0)) < 1e-12);
        const auto near = [&](const char* key, double wanted, double digit) {
            const Estimate found{even[key]["mean"], even[key]["se"]};
            QVERIFY2(found.se > 0 && std::abs(found.mean - wanted) <= 4 * found.se + digit,
                     qPrintable(told(key, found, wanted, digit)));
        };
        near("coherence", .3623, 5e-5);
        near("boundary", .1127, 5e-5);
        near("distinct", 5.355, 5e-4);
        near("load_variance", 49.6, 0.05);
        near("flat_load_variance", 71.9, 0.05);
        QVERIFY(std::abs(even["independent_load_variance"]["mean"].get<double>() - 24) < 1e-9);
        QVERIFY(even["deterministic"]["load"] == OrderedJson({16, 16, 0, 0, 0, 0, 0, 0}));  // ties to the lower index
        QVERIFY(json["dials"]["changes_the_law"] == OrderedJson(false));
    }

    /// A run directory is the recording that --dump sources left there.
    void runs() {
        const QString file = saved(routed(someLogits(2 * kT * kE)));
        const QDir folder(m_scratch.path());
        QVERIFY(folder.mkpath(QStringLiteral("run")) && folder.mkpath(QStringLiteral("bare")) &&
                folder.mkpath(QStringLiteral("other")));
        QVERIFY(QFile::copy(file, path(QStringLiteral("run/sources.safetensors"))));
        QCOMPARE(route(path(QStringLiteral("run"))).out, route(file).out);
        write(path(QStringLiteral("bare/trace.jsonl")), "");
        for (const auto& [name, says] :
             {std::pair{"bare", "this run was not made with --dump sources, so it holds no router logits"},
              {"other", "this folder is no run that was made with --dump sources"}}) {
            const Finished finished = route(path(QLatin1String(name)));
            COMPARE_CODE(finished, 1);
            QCOMPARE(finished.errorLines(), 1);
            QVERIFY2(finished.err.contains(says) && finished.err.contains("run the session again with --dump sources"),
                     finished.err.constData());
        }
    }

    /// Experts that a run's session switches off or biases are so in its estimates too; a bare recording has none.
    void switchedExperts() {
        const auto logits = someLogits(2 * kT * kE);
        const QString file = saved(routed(logits));
        QVERIFY(QDir(m_scratch.path()).mkpath(QStringLiteral("switched")));
        QVERIFY(QFile::copy(file, path(QStringLiteral("switched/sources.safetensors"))));
        const auto session = [&](const char* experts) {
            write(path(QStringLiteral("switched/session.json")),
                  QByteArray(R"({"format":"counterpoint.session/1","base":{"path":"m","routing":{"experts":)") +
                      experts + "}}}");
            return route(path(QStringLiteral("switched")), QStringLiteral("--seed 20"));
        };
        const Finished finished = session(R"({"5":{"off":[1],"bias":{"3":0.5}}})");
        COMPARE_CODE(finished, 0);
        const OrderedJson json = reported(finished);
        EstimateQuestion q = questionOf(std::span(logits).last(kT * kE), kE, kK, 4, 0.6, 0.7, 60);
        q.layers[0].layer = 5;
        q.layers[0].law.bias = {0, -INFINITY, 0, 0.5, 0, 0};
        const Estimates wanted = lastOf(q);
        QVERIFY(same(json["layers"][1]["coherence"], wanted.layers[0].metrics.coherence));
        QCOMPARE(json["layers"][1]["load"][1].get<double>(), 0.0);
        QVERIFY(json["layers"][0] == reported(route(file, QStringLiteral("--seed 20")))["layers"][0]);
        QVERIFY(json["dials"]["changes_the_law"] == OrderedJson(true));
        QCOMPARE(QString::fromStdString(json["dials"]["switched_experts"].dump()),
                 QStringLiteral(R"({"5":{"off":[1],"bias":{"3":0.5}}})"));
        const Finished refused = session(R"({"4":{"off":[1]}})");
        COMPARE_CODE(refused, 1);
        QVERIFY2(refused.err.contains("layer 4: there are no routed experts in this layer"), refused.err.constData());
        QVERIFY(!reported(route(file))["dials"].contains("switched_experts"));
    }

    void interrupted() {
        const QByteArray shown =
            interruptedProgram(words(QStringLiteral("route %1 --rho 0.5 --alpha 0.5 --window 8 --draws 1000000")
                                         .arg(saved(routed(someLogits(2 * 400 * 64), 400, 64, 8)))),
                               "routing under the dials, 0 %, ");
        QVERIFY2(shown.contains("stopped by a signal; nothing is reported") && !shown.startsWith("not as"),
                 shown.constData());
    }
};

QTEST_GUILESS_MAIN(TestRouteCommand)
#include "tst_routecommand.moc"
