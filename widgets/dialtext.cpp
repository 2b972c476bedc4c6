#include "widgets/dialtext.h"

#include "widgets/palette.h"

namespace counterpoint::widgets {

using compute::DialActs;
using compute::DialKind;
using compute::DialSpec;

namespace {

struct ActsRow {
    DialActs acts;
    const char* mark;
    const char* words;
    const char* hint;
};
constexpr ActsRow kActs[] = {
    {DialActs::Stored, "●", "acts at once", "These act on the stored trace without a new decode."},
    {DialActs::Estimates, "◐", "estimates at once, text anew",
     "Estimates on the stored router logits follow at once; what happens end to end needs a new decode."},
    {DialActs::Decode, "○", "needs a new decode", "These are used by the next decode."},
};

const ActsRow& rowOf(DialActs acts) {
    for (const ActsRow& row : kActs)
        if (row.acts == acts) return row;
    return kActs[0];
}

}  // namespace

QString textOf(std::string_view utf8) { return QString::fromUtf8(utf8.data(), static_cast<qsizetype>(utf8.size())); }

QString titleOf(const DialSpec& spec) {
    return spec.symbol.empty() ? textOf(spec.title) : textOf(spec.title) + QLatin1Char(' ') + textOf(spec.symbol);
}

QString helpOf(const DialSpec& spec) {
    QString help = QStringLiteral("<p><b>%1</b></p><p>%2</p>").arg(titleOf(spec), textOf(spec.help));
    if (spec.kind == DialKind::Real || spec.kind == DialKind::Integer)
        help += QStringLiteral("<p>%1 – %2 %3</p>")
                    .arg(formatExact(spec.minimum), formatExact(spec.maximum), textOf(spec.unit));
    if (spec.changesLaw) help += QLabel::tr("<p>Changes the law of a token.</p>");
    return help + QStringLiteral("<p>%1 · %2</p>").arg(textOf(spec.rule), QLabel::tr(rowOf(spec.acts).words));
}

QLabel* heading(const QString& title, const QString& hint) {
    auto* label = new QLabel(title);
    label->setProperty("role", QStringLiteral("quiet"));
    label->setToolTip(hint);
    return label;
}

QLabel* headingOf(DialActs acts) {
    const ActsRow& row = rowOf(acts);
    return heading(QString::fromUtf8(row.mark) + QStringLiteral("  ") + QLabel::tr(row.words), QLabel::tr(row.hint));
}

ValueSlider* sliderOf(const DialSpec& spec, double span) {
    return new ValueSlider(textOf(spec.title), {.minimum = spec.minimum,
                                                .maximum = span > 0 ? span : spec.maximum,
                                                .step = spec.step,
                                                .fieldMinimum = spec.minimum,
                                                .fieldMaximum = spec.maximum,
                                                .integer = spec.kind == DialKind::Integer,
                                                .logarithmic = spec.logarithmic,
                                                .slider = span > 0});
}

void describe(QWidget& editor, const DialSpec& spec, const QString& objectName) {
    editor.setObjectName(objectName);
    editor.setToolTip(helpOf(spec));
    editor.setAccessibleName(textOf(spec.title));
    editor.setAccessibleDescription(textOf(spec.help));
}

}  // namespace counterpoint::widgets
