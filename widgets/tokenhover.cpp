#include "widgets/tokenhover.h"

#include <cmath>

#include "model/diagnostics.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

QString row(const QString& name, double logP) {
    return QStringLiteral(
               "<tr><td>%1</td><td align='right'>&nbsp;&nbsp;%2</td><td align='right'>&nbsp;&nbsp;%3</td></tr>")
        .arg(shortened(name).toHtmlEscaped(), formatNumber(logP, 3), formatNumber(std::exp(logP), 4));
}

}  // namespace

QString tokenHover(const model::Trace& trace, std::size_t index) {
    if (index >= trace.tokens.size()) return {};
    const compute::TokenId id = trace.tokens[index];
    QString text = QStringLiteral("<b>%1</b>&nbsp; id %2 · position %3")
                       .arg(shortened(model::tokenLabel(trace.tokenizer.get(), id)).toHtmlEscaped())
                       .arg(id)
                       .arg(index);
    const compute::Step* step = trace.at(static_cast<compute::Position>(index));
    if (step == nullptr) return text + QStringLiteral("<br>given; nothing is known about it");
    text += step->prompt ? QStringLiteral(" · given") : step->forced ? QStringLiteral(" · chosen by hand") : QString();
    text += QStringLiteral("<table><tr><td></td><td align='right'>log p</td><td align='right'>p</td></tr>");
    for (std::size_t i = 0; i < step->logProbs.size(); ++i)
        text += row(i < trace.sources.size() ? told(trace.sources[i]) : QString::number(i),
                    static_cast<double>(step->logProbs[i]));
    text += row(QStringLiteral("composed"), static_cast<double>(step->composedLogProb));
    text += row(step->greedy ? QStringLiteral("composed (greedy)") : QStringLiteral("at temperature"),
                static_cast<double>(step->logProb));
    text += QStringLiteral("</table>");
    const compute::Diagnostics& d = step->diagnostics;
    text += QStringLiteral("drift %1 · entropy %2 · interference %3 nats")
                .arg(formatNumber(d.drift, 3), formatNumber(d.entropy, 3), formatNumber(d.interference, 3));
    if (step->drawn != compute::kNoToken && step->drawn != id && !step->prompt)
        text += QStringLiteral("<br>these dials would draw <b>%1</b>")
                    .arg(shortened(model::tokenLabel(trace.tokenizer.get(), step->drawn)).toHtmlEscaped());
    return text;
}

}  // namespace counterpoint::widgets
