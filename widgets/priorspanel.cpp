#include "widgets/priorspanel.h"

#include <QAction>
#include <QApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr int kRowHeight = 20, kCellPadding = 12, kLeastName = 110, kMostName = 360;
constexpr double kMostWeight = 1e6;

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

QString fileName(const model::Session& session, std::size_t bank) {
    return QString::fromStdString(session.resolve(session.priors[bank].bank).filename().string());
}

}  // namespace

bool isBank(const std::filesystem::path& file) {
    const std::string name = file.filename().string();
    return name.ends_with(".bank.json") || name.ends_with(".bank.safetensors");
}

std::filesystem::path bankPath(const std::filesystem::path& file) {
    if (isBank(file)) return file;
    std::filesystem::path path = file;
    const bool compressed = path.extension() == ".safetensors";
    if (compressed || path.extension() == ".json") path.replace_extension();
    if (path.extension() == ".bank") path.replace_extension();
    path += compressed ? ".bank.safetensors" : ".bank.json";
    return path;
}

PriorsPanel::PriorsPanel(model::Document& document, QWidget* parent)
    : QWidget(parent), m_document(document), m_table(document), m_limiter(this, [this] { traceChanged(); }) {
    setObjectName(QStringLiteral("priorsPanel"));
    m_body = new QWidget;
    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeBankLine());
    m_problem = new QLabel;
    m_problem->setObjectName(QStringLiteral("bank.problem"));
    m_problem->setProperty("role", QStringLiteral("failure"));
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setWordWrap(true);
    m_problem->setContentsMargins(spacing::normal, 0, spacing::normal, spacing::tight);
    column->addWidget(m_problem);
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

QSize PriorsPanel::minimumSizeHint() const { return {kLeastName + 240, 150}; }

QWidget* PriorsPanel::makeBankLine() {
    auto* line = new QWidget;
    auto* row = new QHBoxLayout(line);
    row->setContentsMargins(spacing::normal, spacing::tight, spacing::normal, spacing::tight);
    row->setSpacing(spacing::normal);
    m_switch = new QCheckBox;
    m_switch->setObjectName(QStringLiteral("bank.switch"));
    m_switch->setAccessibleName(tr("This bank acts"));
    m_switch->setToolTip(tr("On: the priors of this bank act. Off: the bank stays in the rack and is silent."));
    row->addWidget(m_switch);
    m_banks = new QComboBox;
    m_banks->setObjectName(QStringLiteral("banks"));
    m_banks->setAccessibleName(tr("Bank"));
    m_banks->setToolTip(tr("Bank of the rack whose priors are shown; ● it has changes that are not saved"));
    m_banks->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_banks->setMinimumContentsLength(12);
    row->addWidget(m_banks, 2);
    m_weight = new ValueSlider(tr("Weight of this bank"), {.minimum = 0,
                                                           .maximum = 2,
                                                           .step = 0.01,
                                                           .fieldMinimum = -kMostWeight,
                                                           .fieldMaximum = kMostWeight,
                                                           .integer = false,
                                                           .logarithmic = false,
                                                           .slider = true});
    m_weight->setObjectName(QStringLiteral("bank.weight"));
    m_weight->setToolTip(tr("Weight of the bank: every η in it is multiplied by it"));
    row->addWidget(m_weight, 2);
    m_bankButtons = new QHBoxLayout;
    m_bankButtons->setSpacing(0);
    row->addLayout(m_bankButtons);
    connect(m_switch, &QCheckBox::clicked, this,
            [this](bool on) { editBank({}, [on](model::BankEntry& entry) { entry.enabled = on; }); });
    connect(m_banks, &QComboBox::activated, this, &PriorsPanel::choose);
    connect(m_weight, &ValueSlider::moved, this, [this] {
        editBank("bank.weight:" + std::to_string(bank()),
                 [this](model::BankEntry& entry) { entry.weight = m_weight->value(); });
    });
    connect(m_weight, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(m_weight, &ValueSlider::refused, this, [this](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, "Weight of the bank: " + reason.toStdString(), {}, "priors");
    });
    return line;
}

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
    m_matched->setText(tr("Matched"));
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
        const std::vector<std::size_t> before = selected();
        m_table.setFilter(m_search->text(), m_matched->isChecked());
        select(before);
        countRows();
    };
    connect(m_search, &QLineEdit::textChanged, this, filter);
    connect(m_matched, &QToolButton::toggled, this, filter);
    return line;
}

void PriorsPanel::makeTable() {
    m_view = new QTableView;
    m_view->setObjectName(QStringLiteral("priors.table"));
    m_view->setAccessibleName(tr("Priors of the bank"));
    m_view->setModel(&m_table);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_view->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    m_view->setShowGrid(false);
    m_view->setWordWrap(false);
    m_view->setTabKeyNavigation(false);
    m_view->setFrameShape(QFrame::NoFrame);
    m_view->setTextElideMode(Qt::ElideMiddle);
    m_view->setFont(numberFont(m_view->font()));
    m_view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->setAcceptDrops(true);
    m_view->setDragDropMode(QAbstractItemView::DropOnly);
    m_view->setDropIndicatorShown(true);
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->installEventFilter(this);
    m_view->viewport()->installEventFilter(this);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_view->verticalHeader()->setMinimumSectionSize(kRowHeight);
    m_view->verticalHeader()->setDefaultSectionSize(kRowHeight);
    QHeaderView* heads = m_view->horizontalHeader();
    heads->setHighlightSections(false);
    heads->setMinimumSectionSize(24);
    heads->setSectionResizeMode(QHeaderView::Interactive);
    const QFontMetrics numbers(m_view->font()), words(heads->font());
    constexpr int kArrow = 10;  // of the column that sorts
    for (int c = PriorsTable::Kind; c < PriorsTable::kColumns; ++c) {
        const QString head = m_table.headerData(c, Qt::Horizontal, Qt::DisplayRole).toString();
        heads->resizeSection(c, kCellPadding + std::max(numbers.horizontalAdvance(PriorsTable::widest(c)),
                                                        words.horizontalAdvance(head) + kArrow));
    }
    heads->setSortIndicatorClearable(true);
    heads->setSortIndicator(-1, Qt::AscendingOrder);
    m_view->setSortingEnabled(true);
    m_table.sort(-1, Qt::AscendingOrder);
    connect(m_view->selectionModel(), &QItemSelectionModel::currentChanged, this, &PriorsPanel::currentChanged);
    connect(m_view->selectionModel(), &QItemSelectionModel::selectionChanged, this, &PriorsPanel::commandsChanged);
    connect(heads, &QHeaderView::sortIndicatorChanged, this, &PriorsPanel::commandsChanged);
    connect(m_view, &QWidget::customContextMenuRequested, this, [this](const QPoint& at) {
        if (m_menu != nullptr) m_menu->popup(m_view->viewport()->mapToGlobal(at));
    });
}

void PriorsPanel::setActions(const Offered& actions) {
    m_menu = new QMenu(this);
    m_menu->setToolTipsVisible(true);
    for (QAction* action : actions.menu) action == nullptr ? void(m_menu->addSeparator()) : m_menu->addAction(action);
    for (QAction* action : actions.bank) m_bankButtons->addWidget(actionButton(action, false));
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
    readBanks();
    const std::vector<std::size_t> before = selected();
    const bool ended = !m_document.busy();
    m_table.read(ended && m_document.trace() != nullptr && m_matched->isChecked());
    readBank();
    if (m_view->selectionModel()->selectedRows().isEmpty()) select(before);
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

void PriorsPanel::readBanks() {
    const model::Session& session = m_document.session();
    const int count = static_cast<int>(session.priors.size());
    while (m_banks->count() > count) m_banks->removeItem(m_banks->count() - 1);
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        QString text = shortened(fileName(session, at));
        if (m_document.bankModified(at)) text += QStringLiteral(" ●");
        if (!session.priors[at].enabled) text += tr(" (off)");
        if (i == m_banks->count())
            m_banks->addItem(text);
        else if (m_banks->itemText(i) != text)
            m_banks->setItemText(i, text);
        m_banks->setItemData(i, QString::fromStdString(session.resolve(session.priors[at].bank).string()),
                             Qt::ToolTipRole);
    }
    const int wanted = m_document.view().priorBank;
    const int bank = wanted >= 0 && wanted < count ? wanted
                     : count == 0                  ? -1
                                                   : std::clamp(m_table.bank(), 0, count - 1);
    m_table.setBank(bank);
    m_banks->setCurrentIndex(bank);
}

void PriorsPanel::readBank() {
    if (bank() < 0) return;
    const auto at = static_cast<std::size_t>(bank());
    const model::BankEntry& entry = m_document.session().priors[at];
    m_switch->setChecked(entry.enabled);
    m_weight->setValue(entry.weight);
    QString problem = QString::fromStdString(m_document.bankProblem(at));
    if (problem.isEmpty() && entry.content && entry.content->tokenizer && m_document.tokenizer() &&
        *entry.content->tokenizer != m_document.tokenizer()->fingerprint())
        problem =
            tr("This bank was made for another tokenizer: its ids mean other tokens and do not act; its texts are "
               "read anew.");
    m_problem->setText(breakable(problem));
    m_problem->setVisible(!problem.isEmpty());
}

void PriorsPanel::countRows() {
    const std::size_t shown = static_cast<std::size_t>(m_table.rowCount()), all = m_table.total();
    m_count->setText(shown == all ? QString::number(all) : tr("%1 of %2").arg(shown).arg(all));
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

void PriorsPanel::choose(int bank) {
    model::View view = m_document.view();
    view.priorBank = bank;
    view.prior.clear();
    m_document.setView(view);
}

void PriorsPanel::followView() {
    if (m_following || !seen()) return;
    m_following = true;
    const model::View& view = m_document.view();
    if (view.priorBank >= 0 && view.priorBank != bank() &&
        view.priorBank < static_cast<int>(m_document.session().priors.size())) {
        readBanks();
        readBank();
        countRows();
    }
    const std::size_t now = current(), named = view.prior.empty() ? kNone : m_table.indexOf(view.prior);
    if (named != kNone && (now == kNone || m_table.prior(now).name != view.prior)) {
        select({named});
    } else if (named == kNone && now != kNone) {  // it was renamed, or taken out
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
    const std::size_t now = current();
    if (now == kNone) return;
    m_following = true;
    model::View view = m_document.view();
    view.priorBank = bank();
    view.prior = m_table.prior(now).name;
    m_document.setView(view);
    m_following = false;
    Q_EMIT shown();
}

std::size_t PriorsPanel::current() const {
    const QModelIndex at = m_view->currentIndex();
    return at.isValid() && at.row() < m_table.rowCount() ? m_table.priorOf(at.row()) : kNone;
}

std::vector<std::size_t> PriorsPanel::selected() const {
    std::vector<std::size_t> all;
    for (const QItemSelectionRange& range : m_view->selectionModel()->selection())
        for (int row = range.top(); row <= range.bottom() && row < m_table.rowCount(); ++row)
            all.push_back(m_table.priorOf(row));
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

void PriorsPanel::select(const std::vector<std::size_t>& priors) {
    std::vector<int> rows(m_table.total(), -1);
    for (int row = 0; row < m_table.rowCount(); ++row) rows[m_table.priorOf(row)] = row;
    QItemSelection selection;
    QModelIndex first;
    for (const std::size_t prior : priors) {
        const int row = prior < rows.size() ? rows[prior] : -1;
        if (row < 0) continue;
        const QModelIndex at = m_table.index(row, PriorsTable::Name);
        if (!first.isValid()) first = at;
        selection.select(at, m_table.index(row, PriorsTable::kColumns - 1));
    }
    if (!first.isValid()) return;
    m_view->setCurrentIndex(first);
    m_view->selectionModel()->select(selection, QItemSelectionModel::ClearAndSelect);
    m_view->scrollTo(first);
}

void PriorsPanel::search() {
    m_search->setFocus();
    m_search->selectAll();
}

// -- what is done -----------------------------------------------------------------------------------------------------

void PriorsPanel::apply(model::Session session) { m_document.setSession(std::move(session)); }

void PriorsPanel::editBank(const std::string& merge, const std::function<void(model::BankEntry&)>& change) {
    if (bank() < 0) return;
    attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            change(session.priors.at(static_cast<std::size_t>(bank())));
            m_document.setSession(std::move(session), merge);
        },
        "priors");
}

compute::TokenId PriorsPanel::shownToken() const {
    return m_document.trace() == nullptr ? compute::kNoToken
                                         : model::shownToken(*m_document.trace(), m_document.view());
}

bool PriorsPanel::can(Command command) const {
    const model::Session& session = m_document.session();
    if (bank() < 0 || bank() >= static_cast<int>(session.priors.size())) return false;
    if (command == Command::RemoveBank) return true;
    if (!session.priors[static_cast<std::size_t>(bank())].content) return false;
    if (command == Command::New) return true;
    const std::size_t now = current();
    if (now == kNone || selected().empty()) return false;
    switch (command) {
        case Command::Up:
        case Command::Down:
            return m_view->horizontalHeader()->sortIndicatorSection() < 0 &&
                   m_table.rowCount() == static_cast<int>(m_table.total());
        case Command::Merge:
            return selected().size() > 1;
        case Command::Split:
            return !m_table.prior(now).promote.empty() && !m_table.prior(now).demote.empty();
        case Command::Promote:
        case Command::Demote:
            return shownToken() != compute::kNoToken;
        default:
            return true;
    }
}

void PriorsPanel::run(Command command) {
    if (!can(command)) return;
    const auto at = static_cast<std::size_t>(bank());
    std::vector<std::size_t> rows = selected();
    const std::size_t now = current();
    model::Session session = m_document.session();
    using namespace model;
    switch (command) {
        case Command::New: {
            const std::size_t place = rows.empty() ? m_table.total() : rows.back() + 1;
            compute::Prior prior;
            prior.name = "new prior";
            prior.quality = 0.75;
            m_search->clear();
            m_matched->setChecked(false);
            apply(withNewPrior(std::move(session), at, place, std::move(prior)));
            select({place});
            return m_view->edit(m_view->currentIndex());
        }
        case Command::Duplicate: {
            const std::size_t place = rows.back() + 1;
            apply(withDuplicates(std::move(session), at, rows));
            std::vector<std::size_t> copies;
            for (std::size_t i = 0; i < rows.size(); ++i) copies.push_back(place + i);
            return select(copies);
        }
        case Command::Delete:
            apply(withoutPriors(std::move(session), at, rows));
            if (m_table.total() > 0) select({std::min(rows.front(), m_table.total() - 1)});
            return;
        case Command::Merge: {
            const auto& tokenizer = m_document.tokenizer();
            const compute::Bank& content = bankAt(session, at);
            const bool foreign = tokenizer && content.tokenizer && *content.tokenizer != tokenizer->fingerprint();
            apply(withMerged(std::move(session), at, rows,
                             {tokenizer.get(), tokenizer ? tokenizer->size() : -1, foreign}));
            return select({rows.front()});
        }
        case Command::Split: {
            const compute::Prior& whole = m_table.prior(now);
            std::vector<std::size_t> demoted;
            for (std::size_t i = 0; i < whole.demote.size(); ++i) demoted.push_back(whole.promote.size() + i);
            apply(withSplit(std::move(session), at, now, demoted));
            return select({now, now + 1});
        }
        case Command::Solo:
            return solo(rows);
        case Command::Mute: {
            const auto on = [&](std::size_t i) {
                return isOn(m_table.prior(i), overrideOf(session.priors[at], m_table.prior(i).name));
            };
            const bool any = std::any_of(rows.begin(), rows.end(), on);
            return apply(withSwitched(std::move(session), at, rows, !any));
        }
        case Command::Up:
        case Command::Down:
            apply(withPriorsMoved(std::move(session), at, rows, command == Command::Up ? -1 : 1));
            return select(rows);
        case Command::ResetEta:
            return resetEta(rows);
        case Command::Promote:
        case Command::Demote:
            return put(now, shownToken(), command == Command::Promote ? Side::Promote : Side::Demote);
        case Command::RemoveBank:
            session.priors.erase(session.priors.begin() + static_cast<std::ptrdiff_t>(at));
            return apply(std::move(session));
    }
}

void PriorsPanel::resetEta(const std::vector<std::size_t>& priors) {
    const auto at = static_cast<std::size_t>(bank());
    model::Session session = m_document.session();
    for (const std::size_t i : priors) {
        session = model::withEta(std::move(session), at, i, std::nullopt);
        if (!m_table.prior(i).eta || m_table.prior(i).unusable) continue;
        compute::Prior own = m_table.prior(i);
        own.eta.reset();
        session = model::withPrior(std::move(session), at, i, std::move(own));
    }
    apply(std::move(session));
}

void PriorsPanel::put(std::size_t prior, compute::TokenId token, model::Side side) {
    attempt(
        m_document,
        [&] {
            apply(model::withPrior(m_document.session(), static_cast<std::size_t>(bank()), prior,
                                   model::withToken(m_table.prior(prior), side, token)));
        },
        "priors");
}

void PriorsPanel::solo(const std::vector<std::size_t>& priors) {
    const model::Session session = m_document.session();
    const auto at = static_cast<std::size_t>(bank());
    const std::vector<bool> now = model::switchesOf(session, at);
    std::vector<bool> wanted(now.size(), false);
    for (const std::size_t i : priors) wanted.at(i) = true;
    model::Session changed = session;
    for (std::size_t b = 0; b < changed.priors.size(); ++b) changed.priors[b].enabled = b == at;
    changed = model::withSwitches(std::move(changed), at, wanted);
    if (changed != session) {
        if (!m_beforeSolo) {
            m_beforeSolo.emplace();
            for (const model::BankEntry& entry : session.priors) m_beforeSolo->banks[entry.bank] = entry.enabled;
            for (std::size_t i = 0; i < now.size(); ++i) m_beforeSolo->priors[m_table.prior(i).name] = now[i];
        }
        return apply(std::move(changed));
    }
    if (!m_beforeSolo) return;
    for (model::BankEntry& entry : changed.priors)  // again: as it was
        if (const auto before = m_beforeSolo->banks.find(entry.bank); before != m_beforeSolo->banks.end())
            entry.enabled = before->second;
    for (std::size_t i = 0; i < wanted.size(); ++i)
        if (const auto before = m_beforeSolo->priors.find(m_table.prior(i).name); before != m_beforeSolo->priors.end())
            wanted[i] = before->second;
    m_beforeSolo.reset();
    apply(model::withSwitches(std::move(changed), at, wanted));
}

bool PriorsPanel::eventFilter(QObject* watched, QEvent* event) {
    if (m_view == nullptr) return QWidget::eventFilter(watched, event);      // the search line is made before the table
    if (watched == m_view->viewport() && event->type() == QEvent::Resize) {  // names take what the numbers leave
        QHeaderView* heads = m_view->horizontalHeader();
        const int others = heads->length() - heads->sectionSize(PriorsTable::Name);
        heads->resizeSection(PriorsTable::Name,
                             std::clamp(m_view->viewport()->width() - others, kLeastName, kMostName));
    }
    if (event->type() != QEvent::KeyPress || watched == m_view->viewport()) return QWidget::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (watched == m_search) {
        if (key->key() == Qt::Key_Escape && !m_search->text().isEmpty()) {
            m_search->clear();
            return true;
        }
        if (key->key() == Qt::Key_Down && m_table.rowCount() > 0) {
            m_view->setFocus();
            if (current() == kNone) select({m_table.priorOf(0)});
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
