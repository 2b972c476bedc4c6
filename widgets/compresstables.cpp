#include "widgets/compresstables.h"

#include <QCoreApplication>
#include <QHeaderView>
#include <algorithm>
#include <array>
#include <cmath>

#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr std::size_t kShownPriors = 500;
constexpr int kLevelRows = 4;
constexpr std::array kLevelNames{"0 as it is", "1 one bit", "2 merged", "3 aggregated"};

QString tr(const char* text) { return QCoreApplication::translate("CompressDialog", text); }

QString bytes(std::uint64_t n) { return QString::number(n); }
QString percent(double share) { return formatNumber(100 * share, 2); }

/// A column of the priors: head, what it means, how it is written, by what it sorts.
struct PriorColumn {
    const char *head, *help;
    QString (*text)(const model::PriorOneBit&);
    double (*value)(const model::PriorOneBit&);
};
using Prior = model::PriorOneBit;
constexpr std::array kPriorColumns = {
    PriorColumn{"n (tokens)", "Tokens of the support", [](const Prior& p) { return QString::number(p.support); },
                [](const Prior& p) { return double(p.support); }},
    PriorColumn{"δ₊ (nats)", "Mean Δ of the promoted tokens",
                [](const Prior& p) { return p.promoted > 0 ? formatCell(p.plus) : QStringLiteral("–"); },
                [](const Prior& p) { return p.plus; }},
    PriorColumn{"δ₋ (nats)", "Mean |Δ| of the demoted tokens",
                [](const Prior& p) { return p.promoted < p.support ? formatCell(p.minus) : QStringLiteral("–"); },
                [](const Prior& p) { return p.minus; }},
    PriorColumn{"α (nats)", "Mean |Δ| over the support: the one scale that stays (R9)",
                [](const Prior& p) { return formatCell(p.alpha); }, [](const Prior& p) { return p.alpha; }},
    PriorColumn{"Sq. error", "Σ(Δ − α·sign Δ)² over the support",
                [](const Prior& p) { return formatCell(p.squaredError); },
                [](const Prior& p) { return p.squaredError; }},
    PriorColumn{"of ΣΔ² (%)", "The squared error as a share of ΣΔ²", [](const Prior& p) { return percent(p.share()); },
                [](const Prior& p) { return p.share(); }},
    PriorColumn{"Bytes exact", "What the prior takes of a .bank.safetensors as it is",
                [](const Prior& p) { return bytes(p.exactBytes); },
                [](const Prior& p) { return double(p.exactBytes); }},
    PriorColumn{"Bytes one bit", "Bytes by signs and one scale", [](const Prior& p) { return bytes(p.bytes); },
                [](const Prior& p) { return double(p.bytes); }},
};

}  // namespace

void fillLevels(QTableWidget& table, const model::CompressionReport* report) {
    const QString many = QStringLiteral("000000"), number = QStringLiteral("0.0000");
    const QString mean = tr("mean over the positions of the trace, nats"), most = tr("the largest of a position, nats");
    const auto head = [](const QString& text, const QString& help, const QString& widest) {
        return Column{.head = text, .help = help, .widest = widest};
    };
    setTableShape(table,
                  {head(tr("Level"), {}, {}), head(tr("Priors"), tr("Priors of the bank at this level"), many),
                   head(tr("Bytes"), tr("Of the whole .bank.safetensors at this level"), QStringLiteral("00000000")),
                   head(tr("Paper ratio"), tr("32n/(n + 32): signs and one scale, no indices (R9)"), number),
                   head(tr("True ratio"), tr("Bytes of the file at level 0 over bytes at this one"), number),
                   head(tr("Sq. error"), tr("Σ(Δ − α·sign Δ)² over the priors that act"), number),
                   head(tr("of ΣΔ² (%)"), tr("The squared error as a share of ΣΔ²"), number),
                   head(tr("KL mean (nats)"), tr("KL(exact‖level): ") + mean, number),
                   head(tr("max (nats)"), tr("KL(exact‖level): ") + most, number),
                   head(tr("¼‖d‖² mean (nats)"), tr("The first bound of KL: ") + mean, number),
                   head(tr("max (nats)"), tr("The first bound of KL: ") + most, number),
                   head(tr("range²/8 mean (nats)"), tr("The second bound, (max d − min d)²/8: ") + mean, number),
                   head(tr("max (nats)"), tr("The second bound, (max d − min d)²/8: ") + most, number)},
                  kLevelRows);
    for (int row = 0; row < kLevelRows; ++row) {
        setText(table, row, 0, QString::fromUtf8(kLevelNames[static_cast<std::size_t>(row)]), Ink::Normal);
        QStringList cells;
        if (report != nullptr) {
            const model::CompressionLevel& level = report->levels[static_cast<std::size_t>(row)];
            cells << QString::number(level.report.priors) << bytes(level.report.bytes)
                  << formatNumber(level.report.paperRatio, 2) << formatNumber(level.report.trueRatio, 2)
                  << formatCell(level.report.squaredError)
                  << (std::isnan(level.errorShare) ? QStringLiteral("–") : percent(level.errorShare));
            if (level.onTrace)
                for (const auto* of : {&level.onTrace->kl, &level.onTrace->normBound, &level.onTrace->rangeBound})
                    cells << formatCell(of->mean) << formatCell(of->most);
        }
        for (int column = 1; column < table.columnCount(); ++column)
            setNumber(table, row, column, column <= cells.size() ? cells[column - 1] : QStringLiteral("–"),
                      Ink::Normal);
    }
    fitColumns(table);
    constexpr int kRoom = 12;  // of a scroll bar, where columns have no room
    table.setFixedHeight(table.horizontalHeader()->sizeHint().height() + table.verticalHeader()->length() + kRoom);
}

void fillPriors(QTableWidget& table, std::span<const model::PriorOneBit> priors, int sortBy, bool descending) {
    std::vector<std::size_t> order(priors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto value = [&](std::size_t i) { return kPriorColumns[static_cast<std::size_t>(sortBy)].value(priors[i]); };
    if (sortBy >= 0)
        std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) {
            return descending ? value(b) < value(a) : value(a) < value(b);
        });
    const std::size_t rows = std::min(order.size(), kShownPriors);
    std::vector<Column> columns{
        {.head = tr("Prior"), .help = tr("Click a head to sort; this one: the bank's order"), .widest = {}}};
    for (const PriorColumn& column : kPriorColumns)
        columns.push_back({.head = QString::fromUtf8(column.head),
                           .help = QString::fromUtf8(column.help),
                           .widest = QStringLiteral("0000.00")});
    setTableShape(table, columns, static_cast<int>(rows));
    table.horizontalHeader()->setSortIndicatorShown(sortBy >= 0);
    table.horizontalHeader()->setSortIndicator(sortBy + 1, descending ? Qt::DescendingOrder : Qt::AscendingOrder);
    for (int row = 0; row < static_cast<int>(rows); ++row) {
        const model::PriorOneBit& prior = priors[order[static_cast<std::size_t>(row)]];
        const Ink ink = prior.acts ? Ink::Normal : Ink::Quiet;
        setText(table, row, 0, words(prior.name), ink);
        for (int column = 1; column < table.columnCount(); ++column)
            setNumber(table, row, column, kPriorColumns[static_cast<std::size_t>(column - 1)].text(prior), ink);
    }
    fitColumns(table);
}

}  // namespace counterpoint::widgets
