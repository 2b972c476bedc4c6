// What the cells of the table of priors say: numbers, texts, hovers, and what is wrong with a prior. Declared in
// priorstable.h.
#include <cmath>
#include <limits>

#include "widgets/palette.h"
#include "widgets/priorstable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {

QStringList PriorsTable::problems(std::size_t index) const {
    QStringList all;
    for (const std::string& sentence : prior(index).problems) all << told(sentence);
    if (const auto* m = member(index)) {
        if (m_set && m->context < m_set->contexts().size())
            if (const std::string& why = m_set->contexts().problem(m->context); !why.empty()) all << told(why);
        for (const std::string& sentence : m->factor->problems) all << told(sentence);
    }
    const model::PriorTally::Of& of = tally(index);
    if (of.bounded > 0)
        all << tr("Its pattern takes too long at %1 steps of this trace: there it was stopped and does not match.")
                   .arg(of.bounded);
    return all;
}

QString PriorsTable::etaText(std::size_t index) const {
    const compute::Prior& p = prior(index);
    const auto* m = member(index);
    const compute::Eta derived = compute::etaOf([&] {
        compute::Prior bare;
        bare.quality = p.quality;
        return bare;
    }());
    QString text = derived.off ? tr("derived: off, since q < 0.5") : tr("derived: %1").arg(formatNumber(derived.eta));
    if (derived.capped) text += tr(" (capped; log(q/(1−q)) = %1)").arg(formatNumber(derived.raw));
    const auto said = m_overrides.find(p.name);
    if (said != m_overrides.end() && said->second.eta)
        text = tr("set by this session, ") + text;
    else if (m != nullptr && m->eta.overridden)
        text = tr("set by the bank, ") + text;
    return text;
}

double PriorsTable::number(std::size_t index, int column) const {
    const compute::Prior& p = prior(index);
    const auto* m = member(index);
    const double none = std::numeric_limits<double>::quiet_NaN();
    switch (column) {
        case Quality:
            return p.unusable ? none : p.quality;  // what could not be read is not what it would be by default
        case Confidence:
            return p.unusable ? none : p.confidence;
        case EtaColumn:
            return m == nullptr ? none : m->eta.off ? 0 : m->eta.eta;
        case Effective:
            return m == nullptr ? none : m->eta.off ? 0 : p.confidence * m->eta.eta;
        case Support:
            return m == nullptr ? none : static_cast<double>(m->factor->tokens.size());
        case Hits:
            return static_cast<double>(tally(index).hits);
        case Effect:
            return tally(index).effect();
        default:
            return none;
    }
}

QString PriorsTable::text(std::size_t index, int column) const {
    const compute::Prior& p = prior(index);
    const auto* m = member(index);
    switch (column) {
        case Name:
            return words(p.name);
        case Kind:
            return words(p.kind);
        case Task:
            return words(p.task);
        case EtaColumn:
            if (m != nullptr && m->eta.off) return tr("off");
            if (m != nullptr && m->eta.capped) return QStringLiteral("≤ ") + formatCell(m->eta.eta);
            return m == nullptr ? QStringLiteral("–") : formatCell(m->eta.eta);
        case Effective:
            return m == nullptr || m->eta.off ? QStringLiteral("–") : formatCell(number(index, column));
        case Support:
        case Hits: {
            const double value = number(index, column);
            return std::isnan(value) ? QStringLiteral("–") : QString::number(static_cast<qlonglong>(value));
        }
        default:
            return (column == Quality || column == Confidence) && p.unusable ? QStringLiteral("–")
                                                                             : formatCell(number(index, column));
    }
}

std::vector<QString> PriorsTable::texts(int column) const {
    std::vector<QString> all(total());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = text(i, column);
    return all;
}

QString PriorsTable::hover(std::size_t index, int column) const {
    const compute::Prior& p = prior(index);
    QStringList lines = {shortened(p.name, kHoverLetters)};
    if (column == EtaColumn || column == Effective) lines << etaText(index);
    if (const auto* m = member(index)) {
        lines << tr("acts %1, η %2, times the bank's weight %3")
                     .arg(told(compute::describe(p.when)), formatExact(m->eta.eta), formatExact(m->weight));
        if (!m->acts && on(index) && problems(index).isEmpty()) lines << tr("It does not act: its weight is 0.");
    }
    QStringList why = problems(index);
    constexpr int kTold = 5;
    if (why.size() > kTold) why = why.mid(0, kTold) << tr("and more: see its entries");
    for (const QString& sentence : why) lines << shortened(sentence, kHoverLetters);
    for (QString& line : lines) line = line.toHtmlEscaped();
    return lines.join(QStringLiteral("<br>"));
}

}  // namespace counterpoint::widgets
