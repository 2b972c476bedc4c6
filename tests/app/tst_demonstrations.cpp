// The demonstrations of banks, the seeds' tables: the committed banks are what resources/demo/make_banks.py
// says, and their session runs headless to six figures with something in each.

#include <cmath>
#include <map>
#include <set>

#include "compute/priors/hierarchy.h"
#include "tests/app/program.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

const QString kDemo = inCheckout("resources/demo/");

compute::Bank bankOf(const QString& name) {
    std::vector<std::string> warnings;
    compute::Bank bank = compute::readBank((kDemo + name + ".bank.json").toStdString(), warnings);
    if (!warnings.empty()) qWarning("%s: %s", qPrintable(name), warnings.front().c_str());  // fails the test
    return bank;
}

const compute::Tokenizer& tokenizer() {
    static const auto opened = compute::openTokenizer((kDemo + "base").toStdString());
    return *opened;
}

compute::IdSpace ids() { return {&tokenizer(), tokenizer().size(), false}; }

}  // namespace

class TestDemonstrations : public QObject {
    Q_OBJECT
    QTemporaryDir m_folder;

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void theSeedsFourKindsOfPattern() {
        const compute::Bank bank = bankOf("demo");
        QCOMPARE(bank.tokenizer, std::optional<std::string>(tokenizer().fingerprint()));
        std::map<std::string, std::size_t> kinds;
        std::set<compute::ContextKind> contexts;
        bool explicitDelta = false, twoSizes = false, off = false, capped = false;
        for (const compute::PriorPtr& prior : bank.priors) {
            ++kinds[prior->kind];
            contexts.insert(prior->when.kind);
            const compute::Factor factor = compute::resolve(*prior, ids());
            QVERIFY2(prior->problems.empty() && factor.problems.empty(), prior->name.c_str());
            QVERIFY(!factor.tokens.empty());
            explicitDelta = explicitDelta || !prior->delta.empty();
            twoSizes = twoSizes || prior->deltaPlus != prior->deltaMinus;
            off = off || compute::etaOf(*prior).off;
            capped = capped || compute::etaOf(*prior).capped;
        }
        QCOMPARE(bank.priors.size(), std::size_t{13});
        QCOMPARE(kinds,
                 (std::map<std::string, std::size_t>{
                     {"API preference", 3}, {"control flow", 3}, {"library selection", 3}, {"style convention", 4}}));
        QCOMPARE(contexts, (std::set{compute::ContextKind::Always, compute::ContextKind::Regex,
                                     compute::ContextKind::Tokens, compute::ContextKind::Feature}));
        QVERIFY(explicitDelta && twoSizes && off && capped);
    }

    /// Twelve patterns of 40 tokens, each told `copies` times, a further time with one of its signs turned.
    void banksOfGrowingRedundancy_data() {
        QTest::addColumn<int>("copies");
        for (const int copies : {1, 2, 4, 8}) QTest::addRow("%d times", copies) << copies;
    }
    void banksOfGrowingRedundancy() {
        QFETCH(int, copies);
        const compute::Bank bank = bankOf(QStringLiteral("redundant-%1").arg(copies));
        QCOMPARE(bank.tokenizer, std::optional<std::string>(tokenizer().fingerprint()));
        QCOMPARE(bank.priors.size(), static_cast<std::size_t>(12 * copies));
        for (std::size_t i = 0; i < bank.priors.size(); ++i) {
            const auto each = static_cast<std::size_t>(copies);
            const compute::Prior &first = *bank.priors[i - i % each], &prior = *bank.priors[i];
            const std::size_t copy = i % each;
            std::string name = "pattern " + std::to_string(i / each + 1);
            if (copy > 0) name += ", told again (" + std::to_string(copy) + ")";
            QCOMPARE(prior.name, name);
            QCOMPARE(prior.task, std::string(i / each % 2 == 1 ? "tone" : "plot"));
            QCOMPARE(prior.quality, 0.6);
            QCOMPARE(prior.delta.size(), std::size_t{40});
            int turned = 0;
            for (std::size_t k = 0; k < prior.delta.size(); ++k) {
                QCOMPARE(prior.delta[k].first, first.delta[k].first);
                QVERIFY(std::abs(std::abs(prior.delta[k].second) - (0.6 + 0.05 * static_cast<double>(copy))) < 1e-9);
                turned += prior.delta[k].second * first.delta[k].second < 0 ? 1 : 0;
            }
            QCOMPARE(turned, copy > 0 ? 1 : 0);
        }
        compute::CompressOptions options;
        options.level = 2;
        const compute::Compressed small = compute::compress(std::span(&bank, 1), ids(), options);
        QCOMPARE(small.levels.front().priors, bank.priors.size());
        QCOMPARE(small.levels.back().priors, std::size_t{12});
    }

    void theSessionsFigures() {
        const QString out = m_folder.filePath(QStringLiteral("run"));
        const Finished finished =
            runProgram({QStringLiteral("run"), kDemo + "priors.session.json", QStringLiteral("--out"), out,
                        QStringLiteral("--figures"), QStringLiteral("svg")});
        COMPARE_CODE(finished, 0);
        QVERIFY2(!finished.err.contains("warning"), finished.err.constData());
        for (const QByteArray& line : finished.err.split('\n'))  // a base and one specialist have no interference
            QVERIFY2(line.isEmpty() || line.contains("figure 'Interference' is left out"), line.constData());
        for (const char* id :
             {"bank_eta", "bank_onebit_error", "bank_kl_bounds", "bank_ratio", "bank_levels", "bank_merging"}) {
            const QString figure = out + QStringLiteral("/figures/") + id;
            const QByteArray svg = contents(figure + ".svg");
            QVERIFY2(svg.contains("<svg") && svg.count("<path") + svg.count("<polyline") > 3, id);
            QVERIFY2(contents(figure + ".json").contains("\"counterpoint.figure/1\""), id);
            const QList<QByteArray> rows = contents(figure + ".csv").trimmed().split('\n');
            QVERIFY2(rows.size() > 3 && rows.first().contains(','), id);
            for (const QByteArray& row : rows.mid(1)) QVERIFY2(!row.contains("nan"), id);
        }
        // 12, 24, 48 and 96 priors, and twelve of each behind level 2; of the demo's own 13 two are one.
        const QByteArray table =
            contents(out + QStringLiteral("/figures/bank_merging.csv")).replace('\r', "").trimmed();
        std::map<QByteArray, QByteArray> after;
        for (const QByteArray& row : table.split('\n').mid(1))
            if (const QList<QByteArray> cells = row.split(','); !cells.last().isEmpty())
                after[cells.first()] = cells.last();
        QCOMPARE(after, (std::map<QByteArray, QByteArray>{
                            {"12", "12"}, {"13", "12"}, {"24", "12"}, {"48", "12"}, {"96", "12"}}));
    }
};

QTEST_GUILESS_MAIN(TestDemonstrations)
#include "tst_demonstrations.moc"
