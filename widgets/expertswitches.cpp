#include "widgets/expertswitches.h"

#include <QHeaderView>
#include <QLabel>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>
#include <limits>

#include "widgets/numberfield.h"
#include "widgets/numbertable.h"
#include "widgets/routingbinding.h"

namespace counterpoint::widgets {

constexpr double kMostBias = 1e6;  // nats
constexpr int kFewestExperts = 4, kMostExperts = 10;

ExpertSwitches::ExpertSwitches(QWidget* parent)
    : QWidget(parent), m_layers(new QComboBox), m_table(makeNumberTable(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::tight);
    m_layers->setObjectName(QStringLiteral("routing.layer"));
    m_layers->setAccessibleName(tr("Layer of the experts"));
    m_layers->setToolTip(tr("The layer whose experts are listed, and which the plots of routing show"));
    column->addWidget(m_layers);
    m_table->setObjectName(QStringLiteral("routing.experts"));
    m_table->setAccessibleName(tr("Experts of the layer"));
    m_table->setToolTip(
        tr("<p>An expert that is switched off is never chosen; a bias is added to its router logit. Both "
           "change the law of a token.</p><p>Space switches, a double click or F2 edits the bias.</p>"
           "<p>R12 · estimates at once, text anew</p>"));
    m_table->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                             QAbstractItemView::AnyKeyPressed);
    m_table->setSelectionMode(QAbstractItemView::SingleSelection);
    m_table->setSelectionBehavior(QAbstractItemView::SelectItems);
    column->addWidget(m_table);
    connect(m_layers, &QComboBox::activated, this, &ExpertSwitches::layerChosen);
    connect(m_table, &QTableWidget::itemChanged, this, [this](const QTableWidgetItem* item) { changed(*item); });
}

void ExpertSwitches::show(const compute::RouterInfo& routers, int layer, const compute::OrderedJson& routing) {
    const bool same = routers.layers == m_routers.layers && routers.experts == m_routers.experts;
    if (same && layer == m_asked && routing == m_routing) return;
    m_asked = layer;
    const int layers = static_cast<int>(routers.layers.size());
    if (!same) {
        m_layers->clear();
        for (const std::int64_t l : routers.layers) m_layers->addItem(tr("Layer %1").arg(l));
    }
    m_routers = routers;
    m_routing = routing;
    m_layer = std::clamp(layer, 0, std::max(0, layers - 1));
    m_layers->setCurrentIndex(m_layer);
    write();
}

void ExpertSwitches::write() {
    const QSignalBlocker quiet(m_table);
    const int experts = m_routers.layers.empty() ? 0 : static_cast<int>(m_routers.experts);
    setTableShape(*m_table,
                  {{tr("Expert"), tr("Ticked: it can be chosen"), {}},
                   {tr("Bias (nats)"), tr("Added to its router logit"), QStringLiteral("−1000.00")}},
                  experts);
    for (int e = 0; e < m_table->rowCount(); ++e) {
        const double bias = expertBias(m_routing, m_routers.layers[static_cast<std::size_t>(m_layer)], e);
        const bool off = std::isinf(bias);
        setText(*m_table, e, 0, QString::number(e), off ? Ink::Quiet : Ink::Normal);
        setNumber(*m_table, e, 1,
                  off         ? tr("off")
                  : bias == 0 ? QStringLiteral("0")
                              : NumberField::textOf(bias),
                  off || bias == 0 ? Ink::Quiet : Ink::Normal, !off && bias != 0);
        QTableWidgetItem *name = m_table->item(e, 0), *number = m_table->item(e, 1);
        name->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsUserCheckable);
        name->setCheckState(off ? Qt::Unchecked : Qt::Checked);
        name->setData(Qt::AccessibleTextRole, off ? tr("Expert %1, off").arg(e) : tr("Expert %1").arg(e));
        number->setFlags(off ? Qt::ItemIsEnabled | Qt::ItemIsSelectable
                             : Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable);
        number->setData(Qt::AccessibleTextRole, tr("Bias of expert %1").arg(e));
    }
    const int rows = std::clamp(experts, kFewestExperts, kMostExperts);
    m_table->setFixedHeight(m_table->horizontalHeader()->sizeHint().height() +
                            rows * m_table->verticalHeader()->defaultSectionSize());
    fitColumns(*m_table);
}

void ExpertSwitches::changed(const QTableWidgetItem& item) {
    const std::int64_t layer = m_routers.layers.at(static_cast<std::size_t>(m_layer)), expert = item.row();
    const double before = expertBias(m_routing, layer, expert);
    double bias = 0;
    if (item.column() == 0) {
        const bool on = item.checkState() == Qt::Checked;
        if (on != std::isinf(before)) return;  // it was not the switch that changed
        bias = on ? 0 : -std::numeric_limits<double>::infinity();
    } else if (const QString why = NumberField::readNumber(item.text(), -kMostBias, kMostBias, bias); !why.isEmpty()) {
        write();
        return Q_EMIT refused(tr("Bias of expert %1: %2").arg(expert).arg(why));
    }
    if (bias != before) Q_EMIT biasAsked(layer, expert, bias);
    write();  // as it stands now: what was asked for may have been refused
}

}  // namespace counterpoint::widgets
