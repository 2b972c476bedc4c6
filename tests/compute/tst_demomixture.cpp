// The demo's Mixture-of-Experts model as it is shipped: small, composable with the demo's dense models, its greedy text
// that of transformers on the same weights, its routers' load near even.

#include <numeric>

#include "compute/files/json.h"
#include "compute/routing/metrics.h"
#include "compute/sources/modules.h"
#include "tests/support/fixture.h"

using namespace counterpoint;
using compute::TokenId;
namespace fs = std::filesystem;

namespace {

fs::path demo(const char* name) { return tests::checkout() / "resources" / "demo" / name; }

std::unique_ptr<compute::Source> openMixture() { return compute::openSource(demo("moe"), {}, {}); }

}  // namespace

class TestDemoMixture : public QObject {
    Q_OBJECT
    const compute::OrderedJson m_golden =
        compute::readOrderedJson(tests::checkout() / "tests" / "data" / "demo" / "moe.json");
    const std::vector<TokenId> m_ids = m_golden.at("ids").get<std::vector<TokenId>>();
    const std::size_t m_prompt = m_golden.at("prompt_ids").get<std::size_t>();

  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void itIsSmall() {
        std::uintmax_t bytes = 0;
        for (const auto& entry : fs::directory_iterator(demo("moe"))) bytes += entry.file_size();
        QVERIFY2(bytes <= 8'000'000, qPrintable(QString::number(bytes)));
    }

    void itIsAMixtureThatComposesWithTheDenseModels() {
        const auto source = openMixture();
        QCOMPARE(source->info().architecture, std::string("MixtralForCausalLM"));
        const compute::RouterInfo& routers = source->info().routers.value();
        QCOMPARE(routers.experts, 8);
        QCOMPARE(routers.chosen, 2);
        QVERIFY(routers.normTopkProb);
        QCOMPARE(routers.layers, (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
        for (const char* name : {"base", "dialogue", "animals"})
            QVERIFY(compute::requireComposable("moe", *source, name, *compute::openSource(demo(name), {}, {})).empty());
    }

    /// As a prompt read at once and token by token.
    void greedyIds() {
        const auto source = openMixture();
        const auto width = static_cast<std::size_t>(source->info().logitWidth);
        std::vector<float> logits(m_ids.size() * width);
        const auto best = [&](std::size_t row) {
            const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(row * width);
            return static_cast<TokenId>(std::max_element(begin, begin + static_cast<std::ptrdiff_t>(width)) - begin);
        };
        std::vector<TokenId> ids(m_ids.begin(), m_ids.begin() + static_cast<std::ptrdiff_t>(m_prompt));
        std::span<const TokenId> fresh = ids;
        while (ids.size() < m_ids.size()) {
            QVERIFY(source->forward(fresh, 1, std::span(logits).first(width), {}) == compute::Outcome::Done);
            ids.push_back(best(0));
            fresh = std::span(ids).last(1);
        }
        QCOMPARE(ids, m_ids);
        source->rewind(0);
        const auto rows = static_cast<std::int64_t>(m_ids.size());
        QVERIFY(source->forward(m_ids, rows, logits, {}) == compute::Outcome::Done);
        for (std::size_t i = m_prompt; i < m_ids.size(); ++i) QCOMPARE(best(i - 1), m_ids[i]);
        QCOMPARE(source->tokenizer()->decode(m_ids), m_golden.at("text").get<std::string>());
    }

    /// Deterministic routing of the golden text: the population's deviation over the mean of selections (R13), the mean
    /// over layers; 0.27 on held-out stories (resources/demo/README.md).
    void theLoadIsNearEven() {
        const auto source = openMixture();
        std::vector<float> logits(static_cast<std::size_t>(source->info().logitWidth));
        QVERIFY(source->forward(m_ids, 1, logits, {}) == compute::Outcome::Done);
        const std::span<const compute::RoutingRow> rows = source->routing();
        QCOMPARE(rows.size(), m_ids.size());
        double sum = 0;
        for (std::size_t layer = 0; layer < 5; ++layer) {
            std::array<double, 8> load{};
            for (const compute::RoutingRow& row : rows)
                for (std::size_t k = 0; k < 2; ++k) ++load[static_cast<std::size_t>(row.experts[2 * layer + k])];
            const double mean = 2.0 * static_cast<double>(rows.size()) / 8;
            double square = 0;
            for (const double n : load) square += (n - mean) * (n - mean) / 8;
            for (const double n : load) QVERIFY2(n > 0, "an expert is never chosen");
            sum += std::sqrt(square) / mean;
        }
        QVERIFY2(sum / 5 < 0.5, qPrintable(QString::number(sum / 5)));
    }
};

QTEST_GUILESS_MAIN(TestDemoMixture)
#include "tst_demomixture.moc"
