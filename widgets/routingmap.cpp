#include "widgets/routingmap.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/dialtext.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {

RoutingMap::RoutingMap(model::Document& document, QWidget* parent)
    : QWidget(parent),
      m_document(document),
      m_panel(new PlotPanel(this)),
      m_layer(new QComboBox),
      m_measure(new QComboBox) {
    m_panel->view().setObjectName(QStringLiteral("routing_heat.plot"));
    auto* bar = new QHBoxLayout;
    bar->setContentsMargins(spacing::wide, spacing::tight, spacing::wide, 0);
    bar->setSpacing(spacing::normal);
    const auto add = [bar](QComboBox* combo, const char* name, const QString& title, const QString& help) {
        auto* label = new QLabel(title);
        label->setProperty("role", QStringLiteral("quiet"));
        label->setBuddy(combo);
        combo->setObjectName(QLatin1String(name));
        combo->setAccessibleName(title);
        combo->setToolTip(help);
        bar->addWidget(label);
        bar->addWidget(combo);
    };
    add(m_layer, "routing_heat.layer", tr("Layer"), tr("The layer that this and the other plots of routing show"));
    add(m_measure, "routing_heat.measure", tr("Shows"),
        tr("<p>Chosen experts and mixture weights are those of the decode, end to end. Inclusion probabilities are "
           "estimates: one layer, given its inputs.</p>"));
    bar->addStretch(1);
    for (const model::RoutingMeasure& measure : model::routingMeasures())
        m_measure->addItem(textOf(measure.title), textOf(measure.id));
    connect(m_layer, &QComboBox::activated, this, [this](int layer) {
        model::View view = m_document.view();
        view.routingLayer = layer;
        m_document.setView(view);
    });
    connect(m_measure, &QComboBox::activated, this, [this](int row) {
        model::View view = m_document.view();
        view.routingMeasure = m_measure->itemData(row).toString().toStdString();
        m_document.setView(view);
    });
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(bar);
    column->addWidget(m_panel, 1);
    setFocusProxy(m_panel);
    // It must not stand on the colour of the window where the plot stands on its own.
    setBackgroundRole(QPalette::Base);
    setAutoFillBackground(true);
}

void RoutingMap::show(model::PlotData plot) {
    readView();
    m_panel->setPlot(std::move(plot));
}

void RoutingMap::readView() {
    const model::Trace* trace = m_document.trace();
    const model::View& view = m_document.view();
    const auto source = trace != nullptr ? model::routedSource(*trace, view) : std::nullopt;
    QStringList layers;
    if (source)
        for (const std::int64_t layer : trace->routers[*source]->layers) layers << QString::number(layer);
    QStringList listed;
    for (int i = 0; i < m_layer->count(); ++i) listed << m_layer->itemText(i);
    if (listed != layers) {
        m_layer->clear();
        m_layer->addItems(layers);
    }
    m_layer->setEnabled(!layers.isEmpty());
    m_layer->setCurrentIndex(std::clamp(view.routingLayer, 0, std::max(0, static_cast<int>(layers.size()) - 1)));
    m_measure->setCurrentIndex(std::max(0, m_measure->findData(QString::fromStdString(view.routingMeasure))));
}

}  // namespace counterpoint::widgets
