#include "widgets/invariancetable.h"

#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/numbertable.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

QLabel* sentence(const char* name) {
    auto* label = new QLabel;
    label->setObjectName(QLatin1String(name));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

/// A sheet reads a property only when it is asked to.
void setRole(QLabel& label, const QString& role) {
    if (label.property("role").toString() == role) return;
    label.setProperty("role", role);
    label.style()->unpolish(&label);
    label.style()->polish(&label);
}

/// "position 12, expert 3"; a test of no single expert names none.
QString placeOf(const compute::InvarianceTest& test) {
    const QString position = InvarianceTable::tr("position %1").arg(test.position);
    return test.expert < 0 ? position : position + InvarianceTable::tr(", expert %1").arg(test.expert);
}

}  // namespace

InvarianceTable::InvarianceTable(model::Document& document, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_verdict(sentence("invariance.verdict")),
      m_scope(sentence("invariance.scope")),
      m_table(makeNumberTable(this)) {
    setObjectName(QStringLiteral("invariance"));
    setBackgroundRole(QPalette::Base);
    setAutoFillBackground(true);
    m_scope->setProperty("role", QStringLiteral("quiet"));
    m_table->setObjectName(QStringLiteral("invariance.table"));
    m_table->setAccessibleName(tr("Tests of invariance"));
    m_table->setToolTip(tr(
        "<p>Of each kind the test with the smallest p-value, corrected by Holm over all of its kind.</p><p>R15</p>"));
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::wide, spacing::normal, spacing::wide, spacing::normal);
    column->setSpacing(spacing::normal);
    column->addWidget(m_verdict);
    column->addWidget(m_table, 1);
    column->addWidget(m_scope);
    column->addStretch(0);
    for (auto changed : {&model::Document::traceChanged, &model::Document::traceSelected, &model::Document::viewChanged,
                         &model::Document::statusChanged})
        connect(&m_document, changed, this, &InvarianceTable::refresh);
    refresh();
}

void InvarianceTable::showEvent(QShowEvent* event) {
    refresh();
    QWidget::showEvent(event);
}

void InvarianceTable::refresh() {
    const model::Trace* trace = m_document.trace();
    const auto panel = trace != nullptr && trace->routing ? trace->routing->invariance : nullptr;
    m_table->setVisible(panel != nullptr);
    m_scope->setVisible(panel != nullptr);
    if (panel == nullptr) {
        // Why the estimates are not there is why this is not.
        const std::string why = m_document.plot("routing_variance").empty;
        setRole(*m_verdict, QStringLiteral("quiet"));
        m_verdict->setText(why.empty() ? tr("The tests are on their way.") : told(why));
    } else if (panel != m_shown) {
        fill(*panel);
    }
    m_shown = panel;
}

void InvarianceTable::fill(const model::InvariancePanel& panel) {
    setRole(*m_verdict, panel.holds ? QStringLiteral("title") : QStringLiteral("failure"));
    m_verdict->setText(told(panel.verdict));
    m_scope->setText(told(panel.scope));
    setTableShape(
        *m_table,
        {{tr("Test"), {}, {}},
         {tr("smallest at"), tr("Where the smallest p-value is"), QStringLiteral("position 8888, expert 88")},
         {tr("statistic"),
          tr("χ² (its degrees of freedom); of counts and weights their distance in standard deviations; "
             "the Kolmogorov–Smirnov distance"),
          QStringLiteral("000.0000 (00)")},
         {tr("tests"), tr("How many of its kind, which Holm's correction counts"), QStringLiteral("8888")},
         {tr("p (Holm)"), tr("Smallest p-value of its kind after Holm's correction"), QStringLiteral("0.0000"), true}},
        static_cast<int>(panel.rows.size()));
    for (std::size_t i = 0; i < panel.rows.size(); ++i) {
        const compute::InvarianceTest& test = panel.rows[i];
        const int row = static_cast<int>(i);
        setText(*m_table, row, 0, QString::fromUtf8(model::titleOf(test.kind)), Ink::Normal);
        setNumber(*m_table, row, 1, placeOf(test), Ink::Quiet);
        setNumber(
            *m_table, row, 2,
            formatCell(test.statistic) + (test.degrees > 0 ? QStringLiteral(" (%1)").arg(test.degrees) : QString()),
            Ink::Normal);
        setNumber(*m_table, row, 3, QString::number(test.tests), Ink::Quiet);
        setNumber(*m_table, row, 4, formatCell(test.pValue), Ink::Normal, true);
    }
    fitColumns(*m_table);
}

}  // namespace counterpoint::widgets
