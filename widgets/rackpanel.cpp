#include "widgets/rackpanel.h"

#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {

RackPanel::RackPanel(model::Document& document, QWidget* parent) : QScrollArea(parent), m_document(document) {
    setObjectName(QStringLiteral("rackPanel"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* body = new QWidget;
    m_column = new QVBoxLayout(body);
    m_column->setContentsMargins(0, 0, 0, 0);
    m_column->setSpacing(0);
    auto* add = new QToolButton;
    add->setObjectName(QStringLiteral("addSpecialist"));
    add->setIcon(lineIcon(Glyph::Plus));
    add->setText(tr("Specialist…"));
    add->setAccessibleName(tr("Add specialist"));
    add->setToolTip(tr("Open a model directory as a further specialist; dropping a folder here does the same"));
    add->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    connect(add, &QToolButton::clicked, this, &RackPanel::addRequested);
    auto* addBank = new QToolButton;
    addBank->setObjectName(QStringLiteral("addBank"));
    addBank->setIcon(lineIcon(Glyph::Plus));
    addBank->setText(tr("Bank…"));
    addBank->setAccessibleName(tr("Open a bank"));
    addBank->setToolTip(tr("Open a bank of priors at the end of the rack; dropping a bank here does the same"));
    addBank->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    connect(addBank, &QToolButton::clicked, this, &RackPanel::addBankRequested);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::normal);
    foot->addWidget(add);
    foot->addWidget(addBank);
    foot->addStretch(1);
    m_column->addLayout(foot);
    m_column->addStretch(1);
    setWidget(body);
    using model::Document;
    connect(&m_document, &Document::sessionChanged, this, &RackPanel::refresh);
    connect(&m_document, &Document::statusChanged, this, &RackPanel::refresh);
    for (auto changed :
         {&Document::viewChanged, &Document::traceSelected, &Document::traceChanged, &Document::recomposed})
        connect(&m_document, changed, this, &RackPanel::lights);
    refresh();
}

void RackPanel::rebuild() {
    for (SourceRow* row : m_rows) {
        row->hide();
        row->deleteLater();  // a row may be the one that asked for this
    }
    m_rows.clear();
    for (std::size_t i = 0; i < m_names.size(); ++i) {
        auto* row = new SourceRow(m_document, i);
        m_column->insertWidget(static_cast<int>(i), row);
        m_rows.push_back(row);
        connect(row, &SourceRow::moveRequested, this, [this, i](int by) { move(i, static_cast<int>(i) + by); });
        connect(row, &SourceRow::soloToggled, this, [this, i](bool on) { solo(i, on); });
        connect(row, &SourceRow::dropped, this, [this, i](const QPoint& global) {
            const int y = widget()->mapFromGlobal(global).y();
            int to = 1;  // the base stays first
            for (std::size_t k = 1; k < m_rows.size(); ++k)
                if (k != i && m_rows[k]->geometry().center().y() < y) ++to;
            move(i, to);
        });
    }
}

void RackPanel::refresh() {
    std::vector<std::string> names = m_document.session().sourceNames();
    if (names != m_names) {
        m_names = std::move(names);
        rebuild();
    }
    for (SourceRow* row : m_rows) row->refresh();
    refreshBanks();
    // It scrolls down, never sideways: nothing is cut off.
    setMinimumWidth(widget()->minimumSizeHint().width() + verticalScrollBar()->sizeHint().width());
    if (!m_solo.empty()) {  // solo ends when a person switches by hand
        for (std::size_t i = 1; i < m_document.session().sourceCount(); ++i)
            if (const model::SourceEntry& s = m_document.session().source(i); s.enabled != (s.name == m_solo)) {
                m_solo.clear();
                break;
            }
    }
    for (std::size_t i = 1; i < m_rows.size(); ++i) m_rows[i]->setSolo(!m_solo.empty() && m_names[i] == m_solo);
    lights();
}

void RackPanel::refreshBanks() {
    const std::size_t count = m_document.session().priors.size();
    while (m_banks.size() > count) {
        m_banks.back()->hide();
        m_banks.back()->deleteLater();  // a row may be the one that asked for this
        m_banks.pop_back();
    }
    while (m_banks.size() < count) {
        auto* row = new BankRow(m_document, m_banks.size());
        m_column->insertWidget(static_cast<int>(m_rows.size() + m_banks.size()), row);
        m_banks.push_back(row);
    }
    for (BankRow* row : m_banks) row->refresh();
}

void RackPanel::lights() {
    const model::Trace* trace = m_document.trace();
    const compute::Step* step = trace == nullptr ? nullptr : trace->at(m_document.view().cursor);
    for (std::size_t i = 0; i < m_rows.size(); ++i) {
        std::optional<double> nats;
        if (step != nullptr) {
            const auto place = std::find(trace->sources.begin(), trace->sources.end(), m_names[i]);
            const auto at = static_cast<std::size_t>(place - trace->sources.begin());
            if (place != trace->sources.end() && at < step->diagnostics.activity.size())
                nats = step->diagnostics.activity[at];
        }
        m_rows[i]->setActivity(nats, m_document.session().decoding.activeEpsilon);
    }
}

void RackPanel::move(std::size_t source, int to) {
    const int last = static_cast<int>(m_rows.size()) - 1;
    to = std::clamp(to, 1, last);
    if (source == 0 || to == static_cast<int>(source)) return;
    attempt(m_document, [&] {
        model::Session session = m_document.session();
        const auto from = session.specialists.begin() + static_cast<std::ptrdiff_t>(source) - 1;
        model::SourceEntry entry = *from;
        session.specialists.erase(from);
        session.specialists.insert(session.specialists.begin() + to - 1, std::move(entry));
        m_document.setSession(std::move(session));
    });
    m_rows[static_cast<std::size_t>(to)]->setFocus();
}

void RackPanel::solo(std::size_t source, bool on) {
    attempt(m_document, [&] {
        model::Session session = m_document.session();
        if (on) {
            if (m_solo.empty()) {
                m_beforeSolo.clear();
                for (const model::SourceEntry& s : session.specialists) m_beforeSolo[s.name] = s.enabled;
            }
            m_solo = session.source(source).name;
            for (model::SourceEntry& s : session.specialists) s.enabled = s.name == m_solo;
        } else {
            m_solo.clear();
            for (model::SourceEntry& s : session.specialists)
                if (const auto before = m_beforeSolo.find(s.name); before != m_beforeSolo.end())
                    s.enabled = before->second;
        }
        m_document.setSession(std::move(session));
    });
}

}  // namespace counterpoint::widgets
