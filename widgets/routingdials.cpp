#include "widgets/routingdials.h"

#include <QComboBox>
#include <QGridLayout>
#include <QLineEdit>
#include <QPushButton>
#include <QVBoxLayout>
#include <algorithm>

#include "model/sourcerouting.h"
#include "widgets/attempt.h"
#include "widgets/dialtext.h"
#include "widgets/expertswitches.h"
#include "widgets/palette.h"
#include "widgets/routingbinding.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

using compute::DialActs;
using compute::DialKind;
using compute::DialSpec;
using compute::OrderedJson;

/// Where a routing dial's slider ends; the field takes the whole range.
constexpr std::pair<std::string_view, double> kRoutingSpans[] = {{"rho", 1},         {"alpha", 1},    {"window", 256},
                                                                 {"temperature", 4}, {"capacity", 4}, {"draws", 4096}};
constexpr int kSourceLetters = 20;

double spanOf(const DialSpec& spec) {
    for (const auto& [id, span] : kRoutingSpans)
        if (id == spec.id) return span;
    return 0;
}

QString listOf(const DialSpec& spec, const OrderedJson& routing) {
    return spec.id == "groups" ? groupList(routing) : pairList(routing);
}

bool isPublished(const OrderedJson& routing) { return asPublished(model::sourceRouting(routing, {})); }

}  // namespace

RoutingDials::RoutingDials(model::Document& document, QWidget* parent)
    : DownScroll("routingPanel", parent), m_document(document) {
    for (auto changed : {&model::Document::sessionChanged, &model::Document::statusChanged,
                         &model::Document::viewChanged, &model::Document::traceSelected})
        connect(&m_document, changed, this, &RoutingDials::refresh);
    refresh();
}

void RoutingDials::showEvent(QShowEvent* event) {
    refresh();
    DownScroll::showEvent(event);
}

RoutingDials::Shape RoutingDials::shape() {
    const model::Session& session = m_document.session();
    Shape shape;
    std::size_t shown = session.sourceCount();
    for (std::size_t i = 0; i < session.sourceCount(); ++i) {
        const model::SourceEntry& entry = session.source(i);
        if (!m_document.status(i).info.routers && entry.routing.is_null()) continue;
        if (shown == session.sourceCount() || m_document.view().source == static_cast<int>(i)) shown = i;
        shape.names.push_back(entry.name);
    }
    if (shape.names.empty()) return shape;
    m_shown = session.source(shown).name;
    const model::SourceStatus status = m_document.status(shown);
    shape.experts = status.info.routers.has_value();
    // Known to have none: its settings only stand in the way.
    shape.dials = shape.experts || (status.state != model::SourceStatus::State::Ready &&
                                    status.state != model::SourceStatus::State::Failed);
    return shape;
}

std::size_t RoutingDials::place(const std::string& name) const {
    const model::Session& session = m_document.session();
    std::size_t i = 0;
    while (i < session.sourceCount() && session.source(i).name != name) ++i;
    return i < session.sourceCount() ? i : 0;
}

const OrderedJson& RoutingDials::routing() const { return m_document.session().source(place(m_shown)).routing; }

void RoutingDials::refresh() {
    Shape now = shape();
    const bool none = now.names.empty();
    // What nobody sees is made when it is looked at; a note costs nothing.
    if (!isVisible()) now = {};
    if (m_built && !isVisible() && (!none || m_shape.names.empty())) return;
    if (!m_built || now != m_shape) {
        m_shape = std::move(now);
        build();
    }
    for (const auto& read : m_readers) read();
}

void RoutingDials::build() {
    m_readers.clear();
    auto* body = new QWidget;
    body->setBackgroundRole(QPalette::Base);
    body->setAutoFillBackground(true);
    auto* grid = new QGridLayout(body);
    grid->setContentsMargins(spacing::wide, spacing::wide, spacing::wide, spacing::wide);
    grid->setHorizontalSpacing(spacing::normal);
    grid->setVerticalSpacing(6);
    grid->setColumnStretch(1, 1);
    int row = 0;
    if (m_shape.names.empty()) {
        say(*grid, row, QStringLiteral("routing.none"), [] {
            return tr(
                "No source of this session has routed experts. Add a mixture of experts (Mixtral, OLMoE, "
                "Qwen2-MoE or Qwen3-MoE), or a recording with router logits, to the rack.");
        });
    } else {
        addSources(*grid, row);
        if (m_shape.dials) addDials(*grid, row);
        if (m_shape.dials && m_shape.experts) addExperts(*grid, row);
    }
    grid->setRowStretch(row, 1);
    if (QWidget* old = takeWidget()) old->deleteLater();  // one of its buttons may be what was clicked
    setWidget(body);
    updateGeometry();  // it may need to be wider than what stood here
    m_built = true;
}

void RoutingDials::say(QGridLayout& grid, int& row, const QString& name, std::function<QString()> sentence) {
    auto* label = new QLabel;
    label->setObjectName(name);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setProperty("role", QStringLiteral("quiet"));
    grid.addWidget(label, row++, 0, 1, 2);
    m_readers.push_back([label, sentence = std::move(sentence)] {
        const QString text = sentence();
        if (label->text() != text) label->setText(text);
        label->setVisible(!text.isEmpty());
    });
}

void RoutingDials::addSources(QGridLayout& grid, int& row) {
    auto* combo = new QComboBox;
    combo->setObjectName(QStringLiteral("routing.source"));
    combo->setAccessibleName(tr("Source"));
    combo->setToolTip(tr("The source whose routing is set here and shown in the plots of routing"));
    combo->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const std::string& name : m_shape.names) combo->addItem(shortened(name), QString::fromStdString(name));
    connect(combo, &QComboBox::activated, this, [this, combo](int index) {
        model::View view = m_document.view();
        view.source = static_cast<int>(place(combo->itemData(index).toString().toStdString()));
        m_document.setView(view);
    });
    m_readers.push_back([this, combo] { combo->setCurrentIndex(combo->findData(QString::fromStdString(m_shown))); });
    auto* title = new QLabel(tr("Source"));
    title->setBuddy(combo);
    grid.addWidget(title, row, 0);
    grid.addWidget(combo, row++, 1);
    for (const std::string& name : m_shape.names) {
        const auto written = [this, name]() -> const OrderedJson& {
            return m_document.session().source(place(name)).routing;
        };
        say(grid, row, QStringLiteral("routing.written.") + QString::fromStdString(name), [this, written, name] {
            if (m_shape.experts && name == m_shown) return QString();  // its dials say it
            return shortened(name) + QStringLiteral(": ") +
                   (isPublished(written()) ? tr("as published") : routingText(written()));
        });
        auto* button = new QPushButton(tr("Route %1 as published").arg(shortened(name, kSourceLetters)));
        button->setObjectName(QStringLiteral("asPublished.") + QString::fromStdString(name));
        button->setToolTip(tr("Sets its mode to deterministic and every expert free: as the model was published"));
        connect(button, &QPushButton::clicked, this, [this, name] { asPublished(name); });
        m_readers.push_back([button, written] { button->setVisible(!isPublished(written())); });
        grid.addWidget(button, row++, 0, 1, 2, Qt::AlignLeft);
    }
    say(grid, row, QStringLiteral("routing.dense"), [this] {
        return m_shape.dials ? QString()
                             : tr("%1 has no routed experts: what its entry says of routing has no place there.")
                                   .arg(shortened(m_shown));
    });
    say(grid, row, QStringLiteral("routing.law"), [this] {
        const std::string law = model::lawOf(m_document.session());
        return law == "exact" ? tr("A token's own law is kept.")
               : law == "scored only"
                   ? tr("A token's own law is kept for scored text and redrawn noise; in generation a token that was "
                        "drawn depends on the noise its group shares.")
                   : tr("A token's own law is changed: noise under a router temperature, or experts off or biased.");
    });
    say(grid, row, QStringLiteral("routing.stale"), [this] {
        const model::Trace* trace = m_document.trace();
        if (trace == nullptr) return QString();
        for (std::size_t i = 0; i < trace->decodedWith.sourceCount(); ++i)
            if (trace->decodedWith.source(i).name == m_shown &&
                model::sourceRouting(trace->decodedWith.source(i).routing, {}) != model::sourceRouting(routing(), {}))
                return tr("This trace was decoded with other settings: %1. Generate decodes it anew.")
                    .arg(isPublished(trace->decodedWith.source(i).routing)
                             ? tr("as published")
                             : routingText(trace->decodedWith.source(i).routing));
        return QString();
    });
}

void RoutingDials::addDials(QGridLayout& grid, int& row) {
    const auto part = [&](QLabel* title, const std::function<bool(const DialSpec&)>& belongs) {
        grid.setRowMinimumHeight(row++, spacing::tight);
        grid.addWidget(title, row++, 0, 1, 2);
        for (const DialSpec& spec : compute::routingDials()) {
            if (!belongs(spec)) continue;
            auto* label = new QLabel(titleOf(spec));
            label->setToolTip(helpOf(spec));
            QWidget* editor = makeEditor(spec);
            describe(*editor, spec, QStringLiteral("routing.") + textOf(spec.id));
            label->setBuddy(editor);
            grid.addWidget(label, row, 0, Qt::AlignTop | Qt::AlignLeft);
            label->setMinimumHeight(spacing::row);
            grid.addWidget(editor, row++, 1);
        }
    };
    for (const DialActs acts : {DialActs::Estimates, DialActs::Stored})
        part(headingOf(acts), [acts](const DialSpec& spec) { return spec.acts == acts && !spec.changesLaw; });
    QLabel* law = headingOf(DialActs::Estimates);
    law->setText(tr("◐  changes the law"));
    law->setToolTip(tr("A token's own law is no longer that of the model. ") + law->toolTip());
    part(law, [](const DialSpec& spec) { return spec.changesLaw; });
}

void RoutingDials::edit(const std::string& id, const std::function<void(OrderedJson&)>& change, bool drag) {
    const std::string about = "routing:" + m_shown + ":" + id;
    const bool went = attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            model::SourceEntry& entry = session.source(place(m_shown));
            change(entry.routing);
            const std::string where = "source '" + entry.name + "', \"routing\"";
            const compute::SourceRouting read = model::sourceRouting(entry.routing, where);
            if (const auto routers = m_document.status(place(m_shown)).info.routers)
                (void)model::fitted(read, *routers, where);
            m_document.setSession(std::move(session), drag ? about : std::string());
        },
        about);
    if (!went) refresh();  // what was refused goes back
}

QWidget* RoutingDials::makeEditor(const DialSpec& spec) {
    const std::string id(spec.id);
    if (spec.kind == DialKind::Choice) {
        auto* combo = new QComboBox;
        combo->addItems(textOf(spec.choices).split(QLatin1Char('|')));
        connect(combo, &QComboBox::activated, this, [this, id](int index) {
            edit(id, [&](OrderedJson& json) { setRoutingValue(json, id, {.real = static_cast<double>(index)}); });
        });
        m_readers.push_back([this, combo, id] {
            combo->setCurrentIndex(static_cast<int>(routingValue(routing(), id).real));
            // What was recorded went where it went; its estimates ask for no mode.
            if (id == "mode") combo->setEnabled(m_document.status(place(m_shown)).info.kind != "recording");
        });
        if (id == "mode") return combo;
        combo->setObjectName(QStringLiteral("kind"));
        combo->setAccessibleName(textOf(spec.title));
        combo->setToolTip(helpOf(spec));
        auto* both = new QWidget;
        auto* column = new QVBoxLayout(both);
        column->setContentsMargins(0, 0, 0, 0);
        column->setSpacing(spacing::tight);
        column->addWidget(combo);
        column->addWidget(makeList(spec));
        both->setFocusProxy(combo);
        return both;
    }
    ValueSlider* value = sliderOf(spec, spanOf(spec));
    const bool integer = spec.kind == DialKind::Integer;
    connect(value, &ValueSlider::moved, this, [this, value, id] {
        edit(
            id,
            [&](OrderedJson& json) {
                setRoutingValue(json, id, {.real = value->value(), .integer = value->integer()});
            },
            true);
    });
    connect(value, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(value, &ValueSlider::refused, this, [this, &spec](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, std::string(spec.title) + ": " + reason.toStdString(), {},
                          "routing:" + m_shown + ":" + std::string(spec.id));
    });
    m_readers.push_back([this, value, id, integer] {
        const DialValue now = routingValue(routing(), id);
        if (integer)
            value->setInteger(now.integer);
        else
            value->setValue(now.real);
        if (id == "window") value->setEnabled(routingValue(routing(), "groups").real == 0);
    });
    return value;
}

QWidget* RoutingDials::makeList(const DialSpec& spec) {
    auto* list = new QLineEdit;
    list->setObjectName(QStringLiteral("list"));
    list->setAccessibleName(tr("List of %1").arg(textOf(spec.title).toLower()));
    list->setToolTip(helpOf(spec));
    list->setFixedHeight(spacing::row);
    const std::string id(spec.id);
    connect(list, &QLineEdit::editingFinished, this, [this, list, id] {
        if (!list->isModified()) return;
        list->setModified(false);
        edit(id, [&](OrderedJson& json) {
            id == "groups" ? setGroupList(json, list->text()) : setPairList(json, list->text());
        });
    });
    m_readers.push_back([this, list, &spec, id] {
        const auto last = static_cast<double>(textOf(spec.choices).count(QLatin1Char('|')));
        list->setVisible(routingValue(routing(), id).real == last);
        if (const QString text = listOf(spec, routing()); !list->isModified() && list->text() != text) {
            list->setText(text);
            list->setCursorPosition(0);
        }
    });
    return list;
}

void RoutingDials::addExperts(QGridLayout& grid, int& row) {
    auto* experts = new ExpertSwitches;
    grid.addWidget(experts, row++, 0, 1, 2);
    connect(experts, &ExpertSwitches::layerChosen, this, [this](int layer) {
        model::View view = m_document.view();
        view.routingLayer = layer;
        m_document.setView(view);
    });
    connect(experts, &ExpertSwitches::biasAsked, this, [this](qint64 layer, qint64 expert, double bias) {
        edit("experts", [&](OrderedJson& json) { setExpertBias(json, layer, expert, bias); });
    });
    connect(experts, &ExpertSwitches::refused, this, [this](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, reason.toStdString(), {}, "routing:" + m_shown + ":experts");
    });
    m_readers.push_back([this, experts] {
        if (const auto routers = m_document.status(place(m_shown)).info.routers)
            experts->show(*routers, m_document.view().routingLayer, routing());
    });
}

void RoutingDials::asPublished(const std::string& name) {
    attempt(m_document, [&] {
        model::Session session = m_document.session();
        OrderedJson& routing = session.source(place(name)).routing;
        routing["mode"] = "deterministic";
        routing.erase("experts");
        m_document.setSession(std::move(session));
        m_document.loadSources();
    });
}

}  // namespace counterpoint::widgets
