#include "widgets/commandpalette.h"

#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

constexpr int kWidth = 520, kHeight = 360, kTop = 72;
constexpr int kItem = Qt::UserRole;

}  // namespace

int fuzzyScore(const QString& typed, const QString& text) {
    int score = 0;
    qsizetype at = 0, last = -2;
    for (const QChar c : typed) {
        if (c.isSpace()) continue;
        // The letter beside the last one, else the start of a word, else the next place.
        qsizetype found = -1;
        for (qsizetype i = at; i < text.size() && (found < 0 || found != last + 1); ++i) {
            if (text[i].toCaseFolded() != c.toCaseFolded()) continue;
            const bool wordStart = i == 0 || !text[i - 1].isLetterOrNumber();
            if (found < 0 || wordStart) found = i;
            if (wordStart) break;
        }
        if (found < 0) return -1;
        const bool wordStart = found == 0 || !text[found - 1].isLetterOrNumber();
        score += found == last + 1 ? 6 : wordStart ? 8 : 1;
        last = found;
        at = found + 1;
    }
    return score * 100 - static_cast<int>(text.size());
}

CommandPalette::CommandPalette(QWidget* window)
    : QFrame(window), m_field(new QLineEdit(this)), m_list(new QListWidget(this)) {
    setObjectName(QStringLiteral("commandPalette"));
    setFrameShape(QFrame::StyledPanel);
    setAutoFillBackground(true);
    hide();
    m_field->setPlaceholderText(tr("Find a command"));
    m_field->setAccessibleName(tr("Find a command"));
    m_field->setObjectName(QStringLiteral("commandPalette.field"));
    m_field->installEventFilter(this);
    m_list->setObjectName(QStringLiteral("commandPalette.list"));
    m_list->setAccessibleName(tr("Commands"));
    m_list->setFocusPolicy(Qt::NoFocus);
    m_list->setUniformItemSizes(true);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::normal);
    layout->setSpacing(spacing::normal);
    layout->addWidget(m_field);
    layout->addWidget(m_list, 1);
    connect(m_field, &QLineEdit::textChanged, this, &CommandPalette::filter);
    connect(m_list, &QListWidget::itemClicked, this, &CommandPalette::activate);
}

void CommandPalette::open(std::vector<PaletteItem> items) {
    m_items = std::move(items);
    m_field->clear();
    filter();
    const QWidget* window = parentWidget();
    const int width = std::min(kWidth, window->width() - 2 * spacing::page);
    resize(width, std::min(kHeight, window->height() - 2 * kTop));
    move((window->width() - width) / 2, kTop);
    show();
    raise();
    m_field->setFocus();
}

void CommandPalette::filter() {
    struct Hit {
        int score;
        int item;
    };
    std::vector<Hit> hits;
    for (std::size_t i = 0; i < m_items.size(); ++i)
        if (const int score = m_field->text().isEmpty() ? 0 : fuzzyScore(m_field->text(), m_items[i].text);
            score >= 0 || m_field->text().isEmpty())
            hits.push_back({score, static_cast<int>(i)});
    std::stable_sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) { return a.score > b.score; });
    m_list->clear();
    for (const Hit& hit : hits) {
        const PaletteItem& found = m_items[static_cast<std::size_t>(hit.item)];
        const QString keys = found.action->shortcut().toString(QKeySequence::NativeText);
        auto* item =
            new QListWidgetItem(keys.isEmpty() ? found.text : found.text + QStringLiteral("    ") + keys, m_list);
        item->setData(kItem, hit.item);
        if (!found.action->isEnabled()) item->setForeground(currentTheme().quiet);
    }
    m_list->setCurrentRow(0);
}

void CommandPalette::activate() {
    const QListWidgetItem* item = m_list->currentItem();
    if (item == nullptr) return;
    QAction* action = m_items[static_cast<std::size_t>(item->data(kItem).toInt())].action;
    hide();
    action->trigger();
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
    if (watched == m_field && event->type() == QEvent::FocusOut) hide();
    if (watched == m_field && event->type() == QEvent::KeyPress) {
        const int key = static_cast<QKeyEvent*>(event)->key();
        const int rows = m_list->count();
        if ((key == Qt::Key_Down || key == Qt::Key_Up) && rows > 0) {
            m_list->setCurrentRow((m_list->currentRow() + (key == Qt::Key_Down ? 1 : rows - 1)) % rows);
            return true;
        }
        if (key == Qt::Key_Return || key == Qt::Key_Enter) {
            activate();
            return true;
        }
        if (key == Qt::Key_Escape) {
            hide();
            return true;
        }
    }
    return QFrame::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
