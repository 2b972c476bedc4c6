#include "widgets/heldpanel.h"

#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "model/sourcerouting.h"
#include "widgets/attempt.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

/// "coupled, rho 0.5, window 8": what is written, in its order.
QString routingText(const compute::OrderedJson& routing) {
    QStringList parts;
    for (const auto& [key, value] : routing.items()) {
        if (value.is_null()) continue;
        const QString text = value.is_number_float()
                                 ? formatExact(value.get<double>())
                                 : QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
        parts << (key == "mode" ? text : QString::fromStdString(key) + QLatin1Char(' ') + text);
    }
    return parts.join(QStringLiteral(", "));
}

constexpr int kListedLetters = 20;

}  // namespace

HeldPanel::HeldPanel(model::Document& document, QWidget* parent) : QScrollArea(parent), m_document(document) {
    setObjectName(QStringLiteral("routingPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    connect(&m_document, &model::Document::sessionChanged, this, &HeldPanel::refresh);
    refresh();
}

void HeldPanel::refresh() {
    const model::Session& session = m_document.session();
    compute::OrderedJson held = compute::OrderedJson::array();
    for (std::size_t i = 0; i < session.sourceCount(); ++i)
        if (const model::SourceEntry& s = session.source(i); !s.routing.is_null()) held.push_back({s.name, s.routing});
    if (m_column != nullptr && held == m_shown) return;
    m_shown = std::move(held);
    auto* body = new QWidget;
    body->setBackgroundRole(QPalette::Base);
    body->setAutoFillBackground(true);
    m_column = new QVBoxLayout(body);
    m_column->setContentsMargins(spacing::wide, spacing::wide, spacing::wide, spacing::wide);
    m_column->setSpacing(spacing::normal);
    routes();
    m_column->addStretch(1);
    if (QWidget* old = takeWidget()) old->deleteLater();  // one of its switches may be what was clicked
    setWidget(body);
}

void HeldPanel::say(const QString& sentence) {
    auto* label = new QLabel(sentence);
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    label->setProperty("role", QStringLiteral("quiet"));
    m_column->addWidget(label);
}

void HeldPanel::routes() {
    if (m_shown.empty())
        return say(
            tr("No source of this session has routing settings: mixtures of experts route as they were published. A "
               "session's file can give a source \"routing\"; the window has no dials for it in this version yet."));
    say(
        tr("The session's file gives these settings, and they act in a new decode. The window has no dials for them in "
           "this version yet."));
    for (const compute::OrderedJson& entry : m_shown) {
        const std::string name = entry[0].get<std::string>();
        auto* label = new QLabel(shortened(name) + QStringLiteral(": ") + routingText(entry[1]));
        label->setTextFormat(Qt::PlainText);
        label->setWordWrap(true);
        m_column->addWidget(label);
        if (asPublished(model::sourceRouting(entry[1], {}))) continue;
        auto* button = new QPushButton(tr("Route %1 as published").arg(shortened(name, kListedLetters)));
        button->setObjectName(QStringLiteral("asPublished.") + QString::fromStdString(name));
        button->setToolTip(tr("Sets its mode to deterministic: without noise, as the model was published"));
        connect(button, &QPushButton::clicked, this, [this, name] {
            attempt(m_document, [&] {
                model::Session session = m_document.session();
                for (std::size_t i = 0; i < session.sourceCount(); ++i)
                    if (session.source(i).name == name) session.source(i).routing["mode"] = "deterministic";
                m_document.setSession(std::move(session));
                m_document.loadSources();
            });
        });
        m_column->addWidget(button, 0, Qt::AlignLeft);
    }
}

}  // namespace counterpoint::widgets
