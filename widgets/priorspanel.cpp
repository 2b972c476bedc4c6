#include "widgets/priorspanel.h"

#include <QAction>
#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

QToolButton* actionButton(QAction* action, bool words) {
    auto* button = new QToolButton;
    button->setDefaultAction(action);
    button->setObjectName(QStringLiteral("button.") + action->objectName());
    button->setAccessibleName(action->text());
    button->setIconSize({14, 14});
    button->setFixedHeight(spacing::row);
    button->setStyleSheet(QStringLiteral("padding: 0px 6px;"));
    button->setToolButtonStyle(action->icon().isNull() ? Qt::ToolButtonTextOnly
                               : words                 ? Qt::ToolButtonTextBesideIcon
                                                       : Qt::ToolButtonIconOnly);
    return button;
}

}  // namespace

PriorsPanel::PriorsPanel(model::Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_table(document), m_limiter(this, [this] { traceChanged(); }) {
    setObjectName(QStringLiteral("priorsPanel"));
    constexpr int kLookMs = 30;
    m_importLook.setInterval(kLookMs);
    connect(&m_importLook, &QTimer::timeout, this, &PriorsPanel::lookForImport);
    m_body = new QWidget;
    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    m_bankLine = new BankLine(m_document);
    column->addWidget(m_bankLine);
    column->addWidget(makeSearchLine());
    makeTable();
    column->addWidget(m_view, 1);
    m_none = new QLabel;
    m_none->setObjectName(QStringLiteral("priors.none"));
    m_none->setProperty("role", QStringLiteral("quiet"));
    m_none->setAlignment(Qt::AlignCenter);
    m_none->setWordWrap(true);
    column->addWidget(m_none, 1);

    m_nothing = new QWidget;
    auto* empty = new QVBoxLayout(m_nothing);
    empty->addStretch(1);
    auto* why = new QLabel(tr("This session has no bank of priors. Open one to weigh tokens where a context matches."));
    why->setObjectName(QStringLiteral("priors.empty"));
    why->setProperty("role", QStringLiteral("quiet"));
    why->setAlignment(Qt::AlignCenter);
    why->setWordWrap(true);
    empty->addWidget(why);
    m_emptyButtons = new QHBoxLayout;
    m_emptyButtons->addStretch(1);
    m_emptyButtons->addStretch(1);
    empty->addLayout(m_emptyButtons);
    empty->addStretch(2);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(m_body);
    all->addWidget(m_nothing);
    setFocusProxy(m_view);
    for (QWidget* page : {m_body, m_nothing}) {
        page->setBackgroundRole(QPalette::Base);
        page->setAutoFillBackground(true);
    }

    using model::Document;
    connect(&m_document, &Document::sessionChanged, this, &PriorsPanel::refresh);
    connect(&m_document, &Document::statusChanged, this, [this] {
        if (std::exchange(m_wasBusy, m_document.busy()) && !m_document.busy()) refresh();
    });
    for (auto changed : {&Document::traceChanged, &Document::traceSelected, &Document::recomposed})
        connect(&m_document, changed, this, [this] { m_limiter.request(); });
    connect(&m_document, &Document::viewChanged, this, &PriorsPanel::followView);
    connect(&m_table, &PriorsTable::tokenDropped, this, &PriorsPanel::put);
    refresh();
}

PriorsPanel::~PriorsPanel() = default;

QSize PriorsPanel::minimumSizeHint() const { return {kLeastNameWidth + 240, 150}; }

QWidget* PriorsPanel::makeSearchLine() {
    auto* line = new QWidget;
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(spacing::normal, 0, spacing::normal, spacing::tight);
    row->setSpacing(spacing::tight);
    m_search = new QLineEdit;
    m_search->setObjectName(QStringLiteral("priors.search"));
    m_search->setAccessibleName(tr("Find priors"));
    m_search->setPlaceholderText(tr("Find by name, kind, task or source"));
    m_search->setToolTip(tr("Shows the priors that hold all these words in name, kind, task or source"));
    m_search->setClearButtonEnabled(true);
    m_search->setFixedHeight(spacing::row);
    m_search->installEventFilter(this);
    row->addWidget(m_search, 1);
    m_matched = new QToolButton;
    m_matched->setObjectName(QStringLiteral("priors.matched"));
    m_matched->setText(tr("Matched only"));
    m_matched->setAccessibleName(tr("Only priors that matched"));
    m_matched->setToolTip(tr("Shows only the priors that matched in the present trace"));
    m_matched->setCheckable(true);
    m_matched->setFixedHeight(spacing::row);
    m_matched->setStyleSheet(QStringLiteral("padding: 0px 6px;"));
    row->addWidget(m_matched);
    m_count = new QLabel;
    m_count->setObjectName(QStringLiteral("priors.count"));
    m_count->setProperty("role", QStringLiteral("quiet"));
    row->addWidget(m_count);
    m_priorButtons = new QHBoxLayout;
    m_priorButtons->setSpacing(0);
    row->addLayout(m_priorButtons);
    const auto filter = [this] {
        const std::vector<std::size_t> before = m_view->selected();
        m_table.setFilter(m_search->text(), m_matched->isChecked());
        m_view->select(before);
        countRows();
    };
    connect(m_search, &QLineEdit::textChanged, this, filter);
    connect(m_matched, &QToolButton::toggled, this, filter);
    return line;
}

void PriorsPanel::makeTable() {
    m_view = new PriorsView(m_table);
    m_view->installEventFilter(this);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this, &PriorsPanel::currentChanged);
    connect(m_view->selectionModel(), &QItemSelectionModel::selectionChanged, this, &PriorsPanel::commandsChanged);
    connect(m_view->horizontalHeader(), &QHeaderView::sortIndicatorChanged, this, &PriorsPanel::commandsChanged);
    connect(m_view, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        if (m_menu != nullptr) m_menu->popup(m_view->viewport()->mapToGlobal(at));
    });
}

void PriorsPanel::setActions(const Offered& actions) {
    m_menu = new QMenu(this);
    m_menu->setToolTipsVisible(true);
    for (QAction* action : actions.menu) action == nullptr ? void(m_menu->addSeparator()) : m_menu->addAction(action);
    for (QAction* action : actions.bank) m_bankLine->buttons().addWidget(actionButton(action, false));
    for (QAction* action : actions.priors) m_priorButtons->addWidget(actionButton(action, false));
    auto* more = new QToolButton;
    more->setObjectName(QStringLiteral("priors.more"));
    more->setIcon(lineIcon(Glyph::More));
    more->setIconSize({14, 14});
    more->setFixedSize(spacing::row, spacing::row);
    more->setAccessibleName(tr("More for these priors"));
    more->setToolTip(tr("Everything that can be done with the selected priors and with the bank"));
    more->setPopupMode(QToolButton::InstantPopup);
    more->setMenu(m_menu);
    more->setStyleSheet(QStringLiteral("QToolButton { padding: 0px; } QToolButton::menu-indicator { image: none; }"));
    m_priorButtons->addWidget(more);
    for (QAction* action : actions.empty)
        m_emptyButtons->insertWidget(m_emptyButtons->count() - 1, actionButton(action, true));
}

// -- what is shown ----------------------------------------------------------------------------------------------------

void PriorsPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (m_stale) refresh();
}

void PriorsPanel::refresh() {
    m_stale = !seen();
    const bool any = !m_document.session().priors.empty();
    m_body->setVisible(any);
    m_nothing->setVisible(!any);
    if (m_stale && any && bank() >= 0) return Q_EMIT commandsChanged();
    readBank();
    const std::vector<std::size_t> before = m_view->selected();
    const bool ended = !m_document.busy();
    m_table.read(ended && m_document.trace() != nullptr && m_matched->isChecked());
    if (m_view->selectionModel()->selectedRows().isEmpty()) m_view->select(before);
    followView();
    countRows();
    Q_EMIT commandsChanged();
    Q_EMIT shown();
}

void PriorsPanel::traceChanged() {
    if (!seen()) {
        m_stale = true;
        return;
    }
    m_table.read(false);
    countRows();
    Q_EMIT shown();
}

void PriorsPanel::readBank() {
    const int count = static_cast<int>(m_document.session().priors.size()), wanted = m_document.view().priorBank;
    m_table.setBank(wanted >= 0 && wanted < count ? wanted
                    : count == 0                  ? -1
                                                  : std::clamp(m_table.bank(), 0, count - 1));
    m_bankLine->read(bank());
}

void PriorsPanel::countRows() {
    const std::size_t shown = static_cast<std::size_t>(m_table.rowCount()), all = m_table.total();
    m_count->setText(shown < all ? tr("%1 of %2").arg(shown).arg(all)
                     : all == 1  ? tr("1 prior")
                                 : tr("%1 priors").arg(all));
    m_count->setToolTip(tr("Priors shown, and how many the bank has"));
    const bool loading = bank() >= 0 && !m_document.session().priors[static_cast<std::size_t>(bank())].content &&
                         m_document.bankProblem(static_cast<std::size_t>(bank())).empty();
    m_view->setVisible(shown > 0);
    m_none->setVisible(shown == 0);
    m_none->setText(loading    ? tr("The bank is being read.")
                    : all == 0 ? tr("This bank has no priors yet.")
                    : m_matched->isChecked() && m_search->text().isEmpty()
                        ? tr("None of its %1 priors matched in the present trace.").arg(all)
                        : tr("None of its %1 priors is found by these words.").arg(all));
}

void PriorsPanel::followView() {
    if (m_following || !seen()) return;
    m_following = true;
    const model::View& view = m_document.view();
    if (view.priorBank >= 0 && view.priorBank != bank() &&
        view.priorBank < static_cast<int>(m_document.session().priors.size())) {
        readBank();
        countRows();
    }
    const std::size_t now = m_view->current(), named = view.prior.empty() ? kNoPrior : m_table.indexOf(view.prior);
    if (named != kNoPrior && (now == kNoPrior || m_table.prior(now).name != view.prior)) {
        m_view->select({named});
    } else if (named == kNoPrior && now != kNoPrior) {  // it was renamed, or taken out
        model::View changed = view;
        changed.priorBank = bank();
        changed.prior = m_table.prior(now).name;
        m_document.setView(std::move(changed));
    }
    m_following = false;
    Q_EMIT commandsChanged();
    Q_EMIT shown();
}

void PriorsPanel::currentChanged() {
    if (m_following) return;
    const std::size_t now = m_view->current();
    if (now == kNoPrior) return;
    m_following = true;
    model::View view = m_document.view();
    view.priorBank = bank();
    view.prior = m_table.prior(now).name;
    m_document.setView(view);
    m_following = false;
    Q_EMIT shown();
}

void PriorsPanel::search() {
    m_search->setFocus();
    m_search->selectAll();
}

// -- what is done -----------------------------------------------------------------------------------------------------

bool PriorsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (m_view == nullptr) return QWidget::eventFilter(watched, event);  // the search line is made before the table
    if (event->type() != QEvent::KeyPress) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (watched == m_search) {
        if (key->key() == Qt::Key_Escape && !m_search->text().isEmpty()) {
            m_search->clear();
            return true;
        }
        if (key->key() == Qt::Key_Down && m_table.rowCount() > 0) {
            m_view->setFocus();
            if (m_view->current() == kNoPrior) m_view->select({m_table.priorOf(0)});
            return true;
        }
        return false;
    }
    const QWidget* focus = QApplication::focusWidget();
    if (focus != nullptr && focus != m_view && m_view->isAncestorOf(focus)) return false;  // a cell's editor has it
    const auto act = [&](Command command) {
        attempt(
            m_document, [&] { run(command); }, "priors");
        return true;
    };
    const bool alt = key->modifiers().testFlag(Qt::AltModifier);
    switch (key->key()) {
        case Qt::Key_Space:
            return act(Command::Mute);
        case Qt::Key_Delete:
            return act(Command::Delete);
        case Qt::Key_Up:
            return alt && act(Command::Up);
        case Qt::Key_Down:
            return alt && act(Command::Down);
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (m_view->currentIndex().isValid()) m_view->edit(m_view->currentIndex());
            return true;
        default:
            return false;
    }
}

}  // namespace counterpoint::widgets
