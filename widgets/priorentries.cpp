#include "widgets/priorentries.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "model/diagnostics.h"
#include "widgets/numbertable.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {

constexpr int kFewestRows = 6, kHits = 3;

PriorEntries::PriorEntries(QWidget* parent) : QWidget(parent) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::tight);
    auto* row = new QHBoxLayout;
    row->setSpacing(0);
    m_entry = new QLineEdit;
    m_entry->setObjectName(QStringLiteral("prior.entry"));
    m_entry->setAccessibleName(tr("New entry"));
    m_entry->setPlaceholderText(tr("Text to promote"));
    m_entry->setToolTip(tr("A text becomes a token by the policy. Enter promotes, Shift+Enter demotes."));
    m_entry->setFixedHeight(spacing::row);
    m_entry->installEventFilter(this);
    row->addWidget(m_entry, 1);
    for (const model::Side side : {model::Side::Promote, model::Side::Demote}) {
        const bool up = side == model::Side::Promote;
        auto* button = new QToolButton;
        button->setObjectName(up ? QStringLiteral("prior.promote") : QStringLiteral("prior.demote"));
        button->setText(up ? tr("Promote") : tr("Demote"));
        button->setAccessibleName(up ? tr("Promote this text") : tr("Demote this text"));
        button->setToolTip(up ? tr("Enter: the text is promoted") : tr("Shift+Enter: the text is demoted"));
        button->setFixedHeight(spacing::row);
        button->setStyleSheet(QStringLiteral("padding: 0px 6px;"));
        connect(button, &QToolButton::clicked, this, [this, side] { add(side); });
        row->addWidget(button);
    }
    column->addLayout(row);
    m_table = makeNumberTable(this);
    m_table->setObjectName(QStringLiteral("prior.entries"));
    m_table->setAccessibleName(tr("Tokens promoted and demoted"));
    m_table->setToolTip(
        tr("What each entry became; Delete takes the selected ones out, Priors > Split selected entries makes a prior "
           "of them"));
    m_table->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_table->setMinimumHeight(kFewestRows * m_table->verticalHeader()->defaultSectionSize());
    m_table->installEventFilter(this);
    connect(m_table, &QTableWidget::itemSelectionChanged, this, &PriorEntries::selected);
    column->addWidget(m_table, 1);
}

void PriorEntries::read(const compute::Factor* factor, const model::PriorSetPtr& set,
                        const compute::Tokenizer* tokenizer) {
    if (factor == m_shown && factor != nullptr) return;
    m_shown = factor;
    m_set = set;
    m_table->clearSelection();  // it was of other entries
    const int rows = factor != nullptr ? static_cast<int>(factor->entries.size()) : 0;
    setTableShape(*m_table,
                  {{tr("Entry"), tr("As it is written"), {}},
                   {tr("token"), tr("What it became with this tokenizer"), QStringLiteral("mmmmmmmm")},
                   {tr("Δ"), tr("log φ of the token, nats, before η"), QStringLiteral("−0.0000")},
                   {tr("hits"), tr("Steps of the present trace where it stands and the prior matched"),
                    QStringLiteral("8888")}},
                  rows);
    for (int row = 0; row < rows; ++row) {
        const compute::Became& became = factor->entries[static_cast<std::size_t>(row)];
        const bool acts = became.problem.empty();
        const Ink ink = acts ? Ink::Normal : Ink::Quiet;
        setText(*m_table, row, 0, words(became.entry), ink);
        setNumber(
            *m_table, row, 1,
            became.token == compute::kNoToken ? QStringLiteral("–") : words(model::tokenLabel(tokenizer, became.token)),
            ink);
        setNumber(*m_table, row, 2, acts ? formatCell(became.delta) : QStringLiteral("–"), ink);
        const QString why = acts ? tr("id %1").arg(became.token) : words(became.problem);
        setNumber(*m_table, row, kHits, {}, ink);
        for (int column = 0; column <= kHits; ++column)
            m_table->item(row, column)->setToolTip(shortened(why, kHoverLetters).toHtmlEscaped());
    }
    fitColumns(*m_table);
}

void PriorEntries::count(const model::PriorTally::Of& tally) {
    for (int row = 0; row < m_table->rowCount(); ++row) {
        const compute::Became& became = m_shown->entries[static_cast<std::size_t>(row)];
        const auto at = tally.tokens.find(became.token);
        const QString hits = !became.problem.empty() ? QStringLiteral("–")
                                                     : QString::number(at == tally.tokens.end() ? 0 : at->second);
        if (QTableWidgetItem* item = m_table->item(row, kHits); item->text() != hits) item->setText(hits);
    }
}

std::vector<std::size_t> PriorEntries::selectedRows() const {
    std::vector<std::size_t> rows;
    for (const QModelIndex& at : m_table->selectionModel()->selectedRows())
        rows.push_back(static_cast<std::size_t>(at.row()));
    std::sort(rows.begin(), rows.end());
    return rows;
}

void PriorEntries::add(model::Side side) {
    const std::string entry = m_entry->text().toStdString();
    if (entry.empty()) return;
    Q_EMIT added(side, entry);
    m_entry->clear();
}

bool PriorEntries::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (watched == m_table && key->key() == Qt::Key_Delete) {
        if (const std::vector<std::size_t> rows = selectedRows(); !rows.empty()) Q_EMIT removed(rows);
        return true;
    }
    if (watched == m_entry && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
        add(key->modifiers().testFlag(Qt::ShiftModifier) ? model::Side::Demote : model::Side::Promote);
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
