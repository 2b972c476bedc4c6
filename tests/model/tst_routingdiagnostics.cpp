// The plots of routing: their numbers against the picture and the stored rows, error bars, what each says of its scope,
// and why one is empty.

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tests/model/routedtraces.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using namespace counterpoint::model;
using namespace counterpoint::tests;

namespace {

constexpr const char* kLocal[] = {"routing_heat", "routing_coherence", "routing_distinct",
                                  "routing_load", "routing_variance",  "routing_overflow"};

PlotData plotOf(const char* id, const Trace& trace, View view = {}) { return diagnostic(id).make(trace, view); }

const Series& seriesOf(const PlotData& plot, const std::string& name) {
    for (const Series& series : plot.series)
        if (series.name == name) return series;
    throw std::logic_error("no series " + name);
}
bool has(const PlotData& plot, const std::string& name) {
    return std::any_of(plot.series.begin(), plot.series.end(), [&](const Series& s) { return s.name == name; });
}

/// The estimate at i, as mean and error bar.
bool is(const Series& series, std::size_t i, const Estimate& wanted) {
    return series.y.at(i) == wanted.mean && series.low.at(i) == wanted.mean - wanted.se &&
           series.high.at(i) == wanted.mean + wanted.se;
}

View looking(int layer, const char* measure = "chosen") {
    View view;
    view.cursor = 6;
    view.source = 1;
    view.routingLayer = layer;
    view.routingMeasure = measure;
    return view;
}

}  // namespace

class TestRoutingDiagnostics : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void everyRow_data() {
        QTest::addColumn<QString>("id");
        for (const DiagnosticRow& row : diagnostics())
            if (row.dock == "routing") QTest::newRow(row.id.data()) << QString::fromUtf8(row.id.data());
    }
    void everyRow() {
        QFETCH(QString, id);
        const DiagnosticRow& row = diagnostic(id.toStdString());
        const PlotData plot = row.make(picturedTrace(), looking(1));
        QVERIFY2(plot.empty.empty(), plot.empty.c_str());
        QVERIFY(!plot.series.empty() || plot.heat);
        QCOMPARE(plot.title, std::string(row.title));
        QVERIFY(!plot.x.title.empty() && !plot.y.title.empty());
        // One scope each, never both as the plot's own.
        const bool ends = row.id == "routing_ends";
        if (ends) QVERIFY2(plot.note.find("end to end") != std::string::npos, plot.note.c_str());
        if (ends) QVERIFY(plot.note.find(kOneLayer) == std::string::npos);
        if (!ends && row.id != "routing_heat")
            QVERIFY2(plot.note.find("layer 3: one layer, given its inputs") != std::string::npos &&
                         plot.note.find("end to end") == std::string::npos,
                     plot.note.c_str());
        for (const Series& s : plot.series) {
            QVERIFY(!s.name.empty());
            QCOMPARE(s.x.size(), s.y.size());
            QVERIFY(s.low.size() == s.high.size() && (s.low.empty() || s.low.size() == s.x.size()));
            for (std::size_t i = 0; i < s.low.size(); ++i) QVERIFY(s.low[i] <= s.y[i] && s.y[i] <= s.high[i]);
        }
        // What is drawn goes there and back as a recipe.
        PlotData read;
        FigureStyle style;
        fromJson(toJson(plot, FigureStyle()), "recipe", read, style);
        QCOMPARE(toCsv(read), toCsv(plot));
    }

    void whyItIsEmpty() {
        const auto why = [](const char* id, const Trace& trace) { return plotOf(id, trace, looking(0)).empty; };
        Trace trace = picturedTrace();
        for (const char* id : kLocal) {
            QCOMPARE(why(id, Trace()), std::string(kNothingDecoded));
            Trace dense = trace;
            dense.routers = {{}, {}};
            QVERIFY(why(id, dense).starts_with("No source of this trace has routed experts."));
            Trace failed = trace;
            RoutingPicture broken = *trace.routing;
            broken.problem = "source 'noisy': no.";
            failed.routing = std::make_shared<RoutingPicture>(broken);
            Trace waiting = trace;
            waiting.routing.reset();
            if (std::string_view(id) == "routing_heat") continue;
            QCOMPARE(why(id, failed), std::string("source 'noisy': no."));
            QVERIFY(why(id, waiting).starts_with("No estimates yet"));
        }
        Trace failed = trace;
        failed.routing.reset();
        QVERIFY(plotOf("routing_heat", failed, looking(0)).empty.empty());  // where it went needs no estimate
        QVERIFY(plotOf("routing_heat", failed, looking(0, "inclusion")).empty.starts_with("No estimates yet"));
        // After its first answer a picture lacks parts: what there is is shown.
        RoutingPicture first = *picturesOf(questionOf(trace)).front();
        trace.routing = std::make_shared<RoutingPicture>(first);
        for (const char* id : kLocal) QVERIFY(plotOf(id, trace, looking(0)).empty.empty());
        QVERIFY(!plotOf("routing_heat", trace, looking(0, "difference")).empty.empty());
        QCOMPARE(plotOf("routing_variance", trace, looking(0)).series[0].x.size(), std::size_t{2});
    }

    /// Estimates that are not of the present dials say so, and stay.
    void whatIsOfEarlierDialsSaysSo() {
        Trace trace = picturedTrace();
        for (const char* id : kLocal) {
            const View view = looking(0, "inclusion");
            trace.routingStale = false;
            QVERIFY(plotOf(id, trace, view).note.find("earlier") == std::string::npos);
            trace.routingStale = true;
            const PlotData plot = plotOf(id, trace, view);
            QVERIFY2(plot.empty.empty() && plot.note.find("of earlier dials or text") != std::string::npos, id);
        }
    }

    void theNoteTellsTheDials() {
        Trace trace = picturedTrace();
        const std::string note = plotOf("routing_load", trace, looking(0)).note;
        QVERIFY2(note.find("'noisy', layer 1") == 0, note.c_str());
        QVERIFY2(note.find("coupled: ρ = 0.5, α = 0.75, windows of 4;") != std::string::npos, note.c_str());
        QVERIFY2(note.find("100 draws, ± one standard error") != std::string::npos, note.c_str());
        RoutingPicture picture = *trace.routing;
        picture.of.routing.noise.mode = RoutingMode::Deterministic;
        picture.of.routing.temperature = 2;
        trace.routing = std::make_shared<RoutingPicture>(picture);
        const std::string other = plotOf("routing_load", trace, looking(0)).note;
        QVERIFY2(other.find("router temperature 2 (changes the law) (the source itself is routed without noise)") !=
                     std::string::npos,
                 other.c_str());
    }

    void theHeatMap() {
        const Trace trace = picturedTrace();
        for (const int layer : {0, 1})
            for (const int source : {0, 1}) {
                View view = looking(layer);
                view.source = source;
                const PlotData chosen = plotOf("routing_heat", trace, view);
                view.routingMeasure = "weight";
                const PlotData weight = plotOf("routing_heat", trace, view);
                const Heat& heat = *chosen.heat;
                QCOMPARE(heat.rows, kRoutedExperts);
                QCOMPARE(heat.columns, kRoutedPositions);
                QCOMPARE(heat.firstX, 0.0);
                QVERIFY(chosen.cursorIsPosition && chosen.cursorX == 6);
                for (std::size_t t = 0; t < heat.columns; ++t) {
                    const auto row = trace.store->routing(Position(t) + 1, std::size_t(source));
                    std::vector<float> wanted(kRoutedExperts), weights(kRoutedExperts);
                    for (std::size_t k = 0; k < kRoutedChosen; ++k) {
                        const std::size_t at = std::size_t(layer) * kRoutedChosen + k;
                        wanted[std::size_t(row->experts[at])] = 1;
                        weights[std::size_t(row->experts[at])] = row->weights[at];
                    }
                    for (std::size_t e = 0; e < heat.rows; ++e) {
                        QCOMPARE(heat.values[e * heat.columns + t], wanted[e]);
                        QCOMPARE(heat.marked[e * heat.columns + t], wanted[e] == 1);
                        QCOMPARE(weight.heat->values[e * heat.columns + t], weights[e]);
                    }
                }
            }
        const PlotData inclusion = plotOf("routing_heat", trace, looking(1, "inclusion"));
        const PlotData difference = plotOf("routing_heat", trace, looking(1, "difference"));
        QVERIFY(!inclusion.heat->diverging && difference.heat->diverging);
        QVERIFY(difference.heat->low == -difference.heat->high && difference.heat->high > 0.01);
        QVERIFY2(inclusion.note.find("standard error at most 0.0500;") != std::string::npos, inclusion.note.c_str());
        float most = 0;
        for (std::size_t t = 0; t < kRoutedPositions; ++t)
            for (std::size_t e = 0; e < kRoutedExperts; ++e) {
                const float pi = trace.routing->coupled->layers[1].inclusion[t * kRoutedExperts + e];
                const auto plain = float((*trace.routing->closed)[1].inclusion[t * kRoutedExperts + e]);
                QCOMPARE(inclusion.heat->values[e * kRoutedPositions + t], pi);
                QCOMPARE(difference.heat->values[e * kRoutedPositions + t], pi - plain);
                most = std::max(most, std::abs(pi - plain));
            }
        QCOMPARE(difference.heat->high, double(most));
        QVERIFY(most < 4 * 0.05F);  // R12: the law of a position does not move
        QVERIFY(toCsv(inclusion).find("Input position,0,0 marked,1,1 marked") == 0);
        QCOMPARE(plotOf("routing_heat", trace, looking(1, "nonsense")).heat->values,
                 plotOf("routing_heat", trace, looking(1, "chosen")).heat->values);
        QCOMPARE(plotOf("routing_heat", trace, looking(99)).heat->values,
                 plotOf("routing_heat", trace, looking(1)).heat->values);
    }

    void coherenceAndBoundary() {
        const Trace trace = picturedTrace();
        const RoutingPicture& picture = *trace.routing;
        const PlotData plot = plotOf("routing_coherence", trace, looking(1));
        for (std::size_t i = 0; i < picture.againstRho.size(); ++i) {
            const MetricEstimates &rho = picture.againstRho[i].layers[1], &alpha = picture.againstAlpha[i].layers[1];
            QCOMPARE(seriesOf(plot, "coherence over ρ").x[i], picture.againstRho[i].at);
            QVERIFY(is(seriesOf(plot, "coherence over ρ"), i, rho.coherence));
            QVERIFY(is(seriesOf(plot, "boundary over ρ"), i, rho.boundary));
            QVERIFY(is(seriesOf(plot, "coherence over α"), i, alpha.coherence));
            QVERIFY(is(seriesOf(plot, "boundary over α"), i, alpha.boundary));
        }
        const MetricEstimates& now = picture.coupled->layers[1].metrics;
        for (const char* name : {"coherence now", "boundary now"}) {
            const Series& point = seriesOf(plot, name);
            QCOMPARE(point.x, (std::vector<double>{0.5, 0.75}));
            const Estimate wanted = name[0] == 'c' ? now.coherence : now.boundary;
            QVERIFY(point.kind == SeriesKind::Points && is(point, 0, wanted) && is(point, 1, wanted));
        }
    }

    /// Distinct experts of each group: independent ones by the closed form, plain ones counted.
    void distinctExperts() {
        const Trace trace = picturedTrace();
        const RoutingPicture& picture = *trace.routing;
        const PlotData plot = plotOf("routing_distinct", trace, looking(1));
        const Series& coupled = seriesOf(plot, "coupled");
        QCOMPARE(coupled.x, (std::vector<double>{0, 1, 2, 3}));
        QCOMPARE(plot.cursorX, 1.0);  // position 6
        const IndependentForm& form = (*picture.closed)[1];
        double sum = 0;
        for (std::size_t g = 0; g < 4; ++g) {
            const std::size_t from = 4 * g, to = std::min(from + 4, kRoutedPositions);
            QVERIFY(is(coupled, g, picture.coupled->layers[1].distinctOfGroup[g]));
            sum += coupled.y[g];
            double wanted = 0;
            std::set<ExpertId> plain;
            for (std::size_t e = 0; e < kRoutedExperts; ++e) {
                double none = 1;
                for (std::size_t t = from; t < to; ++t) none *= 1 - form.inclusion[t * kRoutedExperts + e];
                wanted += 1 - none;
            }
            for (std::size_t t = from; t < to; ++t)
                for (std::size_t k = 0; k < kRoutedChosen; ++k)
                    plain.insert((*picture.deterministic)[1].chosen[t * kRoutedChosen + k]);
            QVERIFY(std::abs(seriesOf(plot, "independent").y[g] - wanted) < 1e-12);
            QCOMPARE(seriesOf(plot, "deterministic").y[g], double(plain.size()));
        }
        QVERIFY(std::abs(sum / 4 - picture.coupled->layers[1].metrics.distinct.mean) < 1e-12);
        QVERIFY(coupled.high[0] > coupled.low[0]);
    }

    void load() {
        const Trace trace = picturedTrace();
        const RoutingPicture& picture = *trace.routing;
        const PlotData plot = plotOf("routing_load", trace, looking(1));
        double selections = 0;
        for (std::size_t e = 0; e < kRoutedExperts; ++e) {
            QVERIFY(is(seriesOf(plot, "coupled"), e, picture.coupled->layers[1].load[e]));
            QCOMPARE(seriesOf(plot, "independent").y[e], (*picture.closed)[1].load[e]);
            QCOMPARE(seriesOf(plot, "deterministic").y[e], double((*picture.deterministic)[1].load[e]));
            QCOMPARE(seriesOf(plot, "capacity").y[e], std::ceil(1.25 * 14 * 2 / 5));
            selections += seriesOf(plot, "coupled").y[e];
        }
        QVERIFY(std::abs(selections - 28) < 1e-9);
        QCOMPARE(plot.x.categories, (std::vector<std::string>{"0", "1", "2", "3", "4"}));
    }

    void loadVariance() {
        const Trace trace = picturedTrace();
        const RoutingPicture& picture = *trace.routing;
        const PlotData plot = plotOf("routing_variance", trace, looking(1));
        const Series& bars = plot.series.at(0);
        QCOMPARE(plot.x.categories, (std::vector<std::string>{"deterministic", "independent", "flat", "coupled"}));
        QVERIFY(is(bars, 0, {0, 0}) && is(bars, 1, {(*picture.closed)[1].loadVariance, 0}));
        QVERIFY(is(bars, 2, picture.flat->layers[1].metrics.loadVariance));
        QVERIFY(is(bars, 3, picture.coupled->layers[1].metrics.loadVariance));
        QVERIFY(bars.y[1] > 0.5 && bars.y[2] > bars.y[1]);  // coherence is paid for in variance
        QVERIFY2(plot.note.find("without noise nothing varies: 0") != std::string::npos, plot.note.c_str());
    }

    void overflow() {
        const Trace trace = picturedTrace();
        const RoutingPicture& picture = *trace.routing;
        const PlotData plot = plotOf("routing_overflow", trace, looking(1));
        const Series &coupled = seriesOf(plot, "coupled"), &plain = seriesOf(plot, "deterministic");
        for (std::size_t i = 0; i < picture.capacityFactors.size(); ++i) {
            QCOMPARE(coupled.x[i], picture.capacityFactors[i]);
            QVERIFY(is(coupled, i, picture.coupled->layers[1].overflowAt[i]));
            QVERIFY(is(seriesOf(plot, "independent"), i, picture.independent->layers[1].overflowAt[i]));
            double over = 0;
            for (const std::int32_t n : (*picture.deterministic)[1].load)
                over += std::max(0.0, n - std::ceil(picture.capacityFactors[i] * 14 * 2 / 5 * (1 - 1e-14)));
            QCOMPARE(plain.y[i], over);
            QVERIFY(i == 0 || coupled.y[i] <= coupled.y[i - 1]);
        }
        const Series& now = seriesOf(plot, "now");
        QVERIFY(now.x == std::vector<double>{1.25} && is(now, 0, picture.coupled->layers[1].metrics.overflow));
    }

    void endToEnd() {
        const Trace trace = routedTrace();  // it asks for no estimate
        const PlotData plot = plotOf("routing_ends", trace, looking(0));
        QVERIFY2(plot.empty.empty(), plot.empty.c_str());
        const Series &sets = seriesOf(plot, "expert sets that differ"), &drift = seriesOf(plot, "drift");
        const Series& apart = seriesOf(plot, "KL(noisy‖base)");
        double sum = 0;
        for (std::size_t i = 0; i < trace.steps.size(); ++i) {
            const auto one = trace.store->routing(Position(i) + 1, 0), other = trace.store->routing(Position(i) + 1, 1);
            double differ = 0;
            for (std::size_t l = 0; l < kRoutedLayers; ++l) {
                auto a = std::vector(one->experts.begin() + std::ptrdiff_t(2 * l),
                                     one->experts.begin() + std::ptrdiff_t(2 * l + 2));
                auto b = std::vector(other->experts.begin() + std::ptrdiff_t(2 * l),
                                     other->experts.begin() + std::ptrdiff_t(2 * l + 2));
                std::sort(a.begin(), a.end());
                std::sort(b.begin(), b.end());
                differ += a != b ? 0.5 : 0;
            }
            QCOMPARE(sets.x[i], double(i) + 1);
            QCOMPARE(sets.y[i], differ);
            QCOMPARE(drift.y[i], trace.steps[i]->diagnostics.drift);
            QCOMPARE(apart.y[i], trace.steps[i]->diagnostics.activity[1]);
            sum += differ;
        }
        QVERIFY(sum > 0 && sum < 14 && drift.secondAxis && apart.secondAxis && !sets.secondAxis);

        Trace other = trace;
        other.session.specialists[0].reference = "none";  // R5's activity is then not between the two
        QVERIFY(!has(plotOf("routing_ends", other, looking(0)), "KL(noisy‖base)"));
        other = trace;
        other.decodedWith.specialists[0].path = "another";
        QVERIFY(plotOf("routing_ends", other, looking(0)).empty.find("one model with routed experts twice") !=
                std::string::npos);
        other = trace;
        other.routers[0].reset();
        QVERIFY(!plotOf("routing_ends", other, looking(0)).empty.empty());
    }

    void whoseRoutingIsShown() {
        Trace trace = routedTrace();
        View view;
        view.source = 1;
        QVERIFY(routedSource(trace, view) == std::size_t{1});
        trace.routers[1].reset();
        QVERIFY(routedSource(trace, view) == std::size_t{0});
        trace.routers[0].reset();
        QVERIFY(!routedSource(trace, view));
        view.source = 9;
        QVERIFY(!routedSource(trace, view));
    }

    void theViewKeepsLayerAndMeasure() {
        View view = looking(3, "weight");
        const View read = viewFromJson(viewToJson(view, {}));
        QCOMPARE(read.routingLayer, 3);
        QCOMPARE(read.routingMeasure, std::string("weight"));
        for (const char* bad :
             {R"({"routing_layer":-1})", R"({"routing_layer":"2"})", R"({"routing_layer":1.5})", "{}"})
            QCOMPARE(viewFromJson(OrderedJson::parse(bad)).routingLayer, 0);
        QCOMPARE(routingMeasures().size(), std::size_t{4});
    }
};

QTEST_GUILESS_MAIN(TestRoutingDiagnostics)
#include "tst_routingdiagnostics.moc"
