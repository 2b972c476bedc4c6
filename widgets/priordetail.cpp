#include "widgets/priordetail.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMimeData>
#include <QScrollBar>
#include <QVBoxLayout>
#include <algorithm>
#include <array>
#include <cmath>

#include "compute/error.h"
#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/numbertable.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"
#include "widgets/tokenmime.h"

namespace counterpoint::widgets {
namespace {

using compute::Context;
using compute::ContextKind;
using compute::Prior;

constexpr double kMostEtaShown = 5, kMostEtaTyped = 1e6, kMostDeltaTyped = 1e6, kMostChars = 1e6;
constexpr int kFewestRows = 6, kDetailWidth = 268;
enum ContextRow { PatternRow, CharsRow, IdsRow, LanguageRow, FeatureRow };

struct KindRow {
    ContextKind kind;
    const char* title;
    std::initializer_list<ContextRow> rows;
};
const KindRow kKinds[] = {{ContextKind::Always, "always", {}},
                          {ContextKind::Regex, "text matches", {PatternRow, CharsRow}},
                          {ContextKind::Tokens, "ends with tokens", {IdsRow}},
                          {ContextKind::CodeBlock, "inside code", {LanguageRow}},
                          {ContextKind::Feature, "inside feature", {FeatureRow}}};

constexpr std::array kPolicies = {compute::Policy::ExactId, compute::Policy::SingleToken,
                                  compute::Policy::SingleTokenSpace, compute::Policy::FirstToken,
                                  compute::Policy::FirstTokenSpace};

QLabel* quiet(const char* name) {
    auto* label = new QLabel;
    label->setObjectName(QLatin1String(name));
    label->setProperty("role", QStringLiteral("quiet"));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    return label;
}

QString signedNumber(double value) { return (value > 0 ? QStringLiteral("+") : QString()) + formatNumber(value); }

}  // namespace

PriorDetail::PriorDetail(model::Document& document, PriorsPanel& panel, QWidget* parent)
    : QScrollArea(parent), m_document(document), m_panel(panel), m_limiter(this, [this] { readCursor(); }) {
    setObjectName(QStringLiteral("priorDetail"));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setAcceptDrops(true);
    auto* page = new QWidget;
    page->setBackgroundRole(QPalette::Base);
    page->setAutoFillBackground(true);
    auto* all = new QVBoxLayout(page);
    all->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::normal);
    m_nothing = quiet("prior.nothing");
    m_nothing->setAlignment(Qt::AlignCenter);
    m_nothing->setText(tr("Select a prior in the Priors panel to see and edit it here."));
    all->addWidget(m_nothing);
    m_body = new QWidget;
    all->addWidget(m_body, 1);
    auto* column = new QVBoxLayout(m_body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::normal);
    m_name = new QLabel;
    m_name->setObjectName(QStringLiteral("prior.name"));
    m_name->setProperty("role", QStringLiteral("title"));
    m_name->setTextFormat(Qt::PlainText);
    m_name->setWordWrap(true);
    column->addWidget(m_name);
    m_problem = quiet("prior.problem");
    m_problem->setProperty("role", QStringLiteral("failure"));
    column->addWidget(m_problem);
    m_cursor = quiet("prior.cursor");
    column->addWidget(m_cursor);
    m_form = new QFormLayout;
    m_form->setHorizontalSpacing(spacing::normal);
    m_form->setVerticalSpacing(spacing::tight);
    column->addLayout(m_form);
    makeWeights(*m_form);
    makeContext(*m_form);
    column->addWidget(makeEntries(), 1);
    m_source = quiet("prior.source");
    column->addWidget(m_source);
    setWidget(page);

    using model::Document;
    connect(&m_panel, &PriorsPanel::shown, this, &PriorDetail::refresh);
    for (auto changed : {&Document::viewChanged, &Document::traceChanged, &Document::recomposed})
        connect(&m_document, changed, this, [this] { m_limiter.request(); });
    m_panel.setCompanion(this);
    refresh();
}

QSize PriorDetail::minimumSizeHint() const { return {kDetailWidth, 150}; }

// -- made once --------------------------------------------------------------------------------------------------------

ValueSlider* PriorDetail::number(const QString& name, const char* id, const QString& help, double Prior::*field,
                                 const ValueRange& range) {
    auto* value = new ValueSlider(name, range);
    value->setObjectName(QLatin1String(id));
    value->setToolTip(help);
    connect(value, &ValueSlider::moved, this, [this, value, field, key = std::string(id)] {
        edit(key, [&](Prior& prior) { prior.*field = value->value(); });
    });
    connect(value, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(value, &ValueSlider::refused, this, [this, name](const QString& reason) { refuse(name, reason); });
    m_readers.push_back([value, field](const Prior& prior) { value->setValue(prior.*field); });
    m_form->addRow(name, value);
    return value;
}

void PriorDetail::makeWeights(QFormLayout& form) {
    auto* eta = new QWidget;
    auto* row = new QHBoxLayout(eta);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(spacing::tight);
    m_eta = new ValueSlider(tr("η"), {.minimum = 0,
                                      .maximum = kMostEtaShown,
                                      .step = 0.01,
                                      .fieldMinimum = -kMostEtaTyped,
                                      .fieldMaximum = kMostEtaTyped,
                                      .integer = false,
                                      .logarithmic = false,
                                      .slider = true});
    m_eta->setObjectName(QStringLiteral("prior.eta"));
    m_eta->setToolTip(tr("Weight η in this session: acts at once on the stored trace; the bank stays as it is"));
    row->addWidget(m_eta, 1);
    m_reset = new QToolButton;
    m_reset->setObjectName(QStringLiteral("prior.reset"));
    m_reset->setIcon(lineIcon(Glyph::Reset));
    m_reset->setIconSize({14, 14});
    m_reset->setFixedSize(spacing::row, spacing::row);
    m_reset->setStyleSheet(QStringLiteral("padding: 0px;"));
    m_reset->setAccessibleName(tr("η as derived"));
    m_reset->setToolTip(tr("η is derived from q again"));
    row->addWidget(m_reset);
    form.addRow(tr("η"), eta);
    m_etaText = quiet("prior.etaText");
    form.addRow(m_etaText);
    const auto bank = [this] { return static_cast<std::size_t>(m_panel.bank()); };
    connect(m_eta, &ValueSlider::moved, this, [this, bank] {
        attempt(
            m_document,
            [&] {
                m_document.setSession(model::withEta(m_document.session(), bank(), m_prior, m_eta->value()),
                                      "prior.eta");
            },
            "priors");
    });
    connect(m_eta, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(m_eta, &ValueSlider::refused, this, [this](const QString& reason) { refuse(tr("η"), reason); });
    connect(m_reset, &QToolButton::clicked, this, [this] {
        attempt(
            m_document, [&] { m_panel.resetEta({m_prior}); }, "priors");
    });
    const ValueRange fraction = {.minimum = 0, .maximum = 1, .step = 0.01, .fieldMinimum = 0, .fieldMaximum = 1};
    ValueRange size = {.minimum = 0, .maximum = 4, .step = 0.01, .fieldMinimum = 0, .fieldMaximum = kMostDeltaTyped};
    number(tr("q"), "prior.quality", tr("Quality q: η = log(q/(1−q)); below 0.5 the prior is off"), &Prior::quality,
           fraction);
    number(tr("c"), "prior.confidence", tr("Confidence c: Δ = c·δ₊ and −c·δ₋"), &Prior::confidence, fraction);
    number(tr("δ₊"), "prior.deltaPlus", tr("What promoted tokens gain, before c and η"), &Prior::deltaPlus, size);
    number(tr("δ₋"), "prior.deltaMinus", tr("What demoted tokens lose, before c and η"), &Prior::deltaMinus, size);
    m_policy = new QComboBox;
    m_policy->setObjectName(QStringLiteral("prior.policy"));
    m_policy->setAccessibleName(tr("Policy"));
    m_policy->setToolTip(tr("How a text becomes one token"));
    m_policy->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const compute::Policy policy : kPolicies) m_policy->addItem(words(std::string(compute::policyName(policy))));
    connect(m_policy, &QComboBox::activated, this, [this](int row) {
        edit({}, [row](Prior& prior) { prior.policy = kPolicies.at(static_cast<std::size_t>(row)); });
    });
    m_readers.push_back([this](const Prior& prior) {
        m_policy->setCurrentIndex(
            static_cast<int>(std::find(kPolicies.begin(), kPolicies.end(), prior.policy) - kPolicies.begin()));
    });
    form.addRow(tr("Texts"), m_policy);
}

QLineEdit* PriorDetail::line(const QString& name, const char* id, const QString& help) {
    auto* edit = new QLineEdit;
    edit->setObjectName(QLatin1String(id));
    edit->setAccessibleName(name);
    edit->setToolTip(help);
    edit->setFixedHeight(spacing::row);
    connect(edit, &QLineEdit::editingFinished, this, [this, edit] {
        if (edit->isModified()) editContext();
        edit->setModified(false);
    });
    return edit;
}

void PriorDetail::makeContext(QFormLayout& form) {
    m_kind = new QComboBox;
    m_kind->setObjectName(QStringLiteral("prior.context"));
    m_kind->setAccessibleName(tr("Context"));
    m_kind->setToolTip(tr("Where the prior acts: on the prompt and the text before a token"));
    m_kind->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const KindRow& row : kKinds) m_kind->addItem(tr(row.title));
    connect(m_kind, &QComboBox::activated, this, &PriorDetail::editContext);
    form.addRow(tr("Acts"), m_kind);
    m_pattern = line(tr("Pattern"), "prior.pattern",
                     tr("Regular expression, found anywhere in the last characters; $ is the end"));
    m_pattern->setFont(numberFont(m_pattern->font()));
    m_chars = new ValueSlider(tr("Characters"), {.minimum = 1,
                                                 .maximum = kMostChars,
                                                 .step = 1,
                                                 .fieldMinimum = 1,
                                                 .fieldMaximum = kMostChars,
                                                 .integer = true,
                                                 .logarithmic = false,
                                                 .slider = false});
    m_chars->setObjectName(QStringLiteral("prior.chars"));
    m_chars->setToolTip(tr("How many characters before the token are looked at"));
    connect(m_chars, &ValueSlider::moved, this, &PriorDetail::editContext);
    connect(m_chars, &ValueSlider::refused, this, [this](const QString& reason) { refuse(tr("Characters"), reason); });
    m_ids = line(tr("Ids"), "prior.ids", tr("Token ids with spaces between; the sequence ends with them"));
    m_language = line(tr("Language"), "prior.language", tr("Of the fence; empty: any"));
    m_feature = new QComboBox;
    m_feature->setObjectName(QStringLiteral("prior.feature"));
    m_feature->setAccessibleName(tr("Feature"));
    m_feature->setToolTip(tr("A feature of the bank: inside is an open without its close"));
    connect(m_feature, &QComboBox::activated, this, &PriorDetail::editContext);
    const std::pair<QString, QWidget*> rows[] = {{tr("Pattern"), m_pattern},
                                                 {tr("within"), m_chars},
                                                 {tr("Ids"), m_ids},
                                                 {tr("Language"), m_language},
                                                 {tr("Feature"), m_feature}};
    int at = 0;
    for (const auto& [name, widget] : rows) {
        form.addRow(name, widget);
        m_contextRows[at++] = widget;
    }
    m_contextText = quiet("prior.contextText");
    form.addRow(m_contextText);
}

QWidget* PriorDetail::makeEntries() {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
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
        connect(button, &QToolButton::clicked, this, [this, side] { addEntry(side); });
        row->addWidget(button);
    }
    column->addLayout(row);
    m_entries = makeNumberTable(this);
    m_entries->setObjectName(QStringLiteral("prior.entries"));
    m_entries->setAccessibleName(tr("Tokens promoted and demoted"));
    m_entries->setToolTip(tr("What each entry became; Delete takes it out"));
    m_entries->setSelectionMode(QAbstractItemView::ExtendedSelection);
    m_entries->setMinimumHeight(kFewestRows * m_entries->verticalHeader()->defaultSectionSize());
    m_entries->installEventFilter(this);
    column->addWidget(m_entries, 1);
    return box;
}

// -- what is shown ----------------------------------------------------------------------------------------------------

void PriorDetail::showEvent(QShowEvent* event) {
    QScrollArea::showEvent(event);
    m_panel.refresh();
}

void PriorDetail::refresh() {
    if (!isVisible()) return;
    const PriorsTable& table = m_panel.table();
    m_prior = table.indexOf(m_document.view().prior);
    const bool any = m_panel.bank() >= 0 && m_prior < table.total() && !m_document.view().prior.empty();
    m_body->setVisible(any);
    m_nothing->setVisible(!any);
    if (!any) return;
    const Prior& prior = table.prior(m_prior);
    m_name->setText(breakable(shortened(prior.name, kHoverLetters)));
    QStringList problems = table.problems(m_prior);
    constexpr int kTold = 4;  // the entries say theirs themselves
    if (problems.size() > kTold) problems = problems.mid(0, kTold) << tr("and more: see its entries");
    m_problem->setText(breakable(shortened(problems.join(QLatin1Char('\n')), 4 * kHoverLetters)));
    m_problem->setVisible(!problems.isEmpty());
    for (const auto& read : m_readers) read(prior);
    readWeights(prior);
    readContext(prior);
    readEntries(prior);
    QStringList from;
    if (!prior.source.empty()) from << tr("Source: %1").arg(shortened(prior.source, kHoverLetters));
    if (!prior.merged.empty()) {
        QStringList names;
        for (const std::string& name : prior.merged) names << shortened(name);
        from << tr("Merged from: %1").arg(shortened(names.join(QStringLiteral(", ")), kHoverLetters));
    }
    m_source->setText(breakable(from.join(QLatin1Char('\n'))));
    m_source->setVisible(!from.isEmpty());
    readCursor();
}

void PriorDetail::readWeights(const Prior& prior) {
    const auto* member = m_panel.table().member(m_prior);
    const double eta = member == nullptr || member->eta.off ? 0 : member->eta.eta;
    m_eta->setValue(eta);
    m_reset->setEnabled(member != nullptr && member->eta.overridden);
    QString said = m_panel.table().etaText(m_prior);
    if (member != nullptr)
        said += tr("; c·η = %1; acts with %2").arg(formatNumber(prior.confidence * eta), formatNumber(member->weight));
    m_etaText->setText(said);
}

void PriorDetail::readContext(const Prior& prior) {
    const Context& when = prior.when;
    const auto write = [](QLineEdit* edit, const QString& said) {
        if ((edit->hasFocus() && edit->isModified()) || edit->text() == said) return;
        edit->setText(said);
        edit->setCursorPosition(0);
    };
    for (int k = 0; k < static_cast<int>(std::size(kKinds)); ++k) {
        if (kKinds[k].kind != when.kind) continue;
        m_kind->setCurrentIndex(k);
        for (int row = PatternRow; row <= FeatureRow; ++row) {
            const bool here = std::find(kKinds[k].rows.begin(), kKinds[k].rows.end(), row) != kKinds[k].rows.end();
            m_contextRows[row]->setVisible(here);
            if (QWidget* label = m_form->labelForField(m_contextRows[row])) label->setVisible(here);
        }
    }
    write(m_pattern, words(when.pattern));
    m_chars->setInteger(static_cast<std::uint64_t>(std::max<std::int64_t>(0, when.chars)));
    QStringList ids;
    for (const compute::TokenId id : when.ids) ids << QString::number(id);
    write(m_ids, ids.join(QLatin1Char(' ')));
    write(m_language, words(when.language));
    m_feature->clear();
    const model::Session& session = m_document.session();
    const auto& bank = session.priors[static_cast<std::size_t>(m_panel.bank())].content;
    if (bank)
        for (const compute::Feature& feature : bank->features) m_feature->addItem(words(feature.name));
    if (const int at = m_feature->findText(words(when.name)); at >= 0)
        m_feature->setCurrentIndex(at);
    else if (!when.name.empty()) {
        m_feature->addItem(words(when.name));
        m_feature->setCurrentIndex(m_feature->count() - 1);
    }
    const std::size_t hits = m_panel.table().tally().of(prior.name).hits;
    m_contextText->setText(tr("%1; hits in this trace: %2").arg(breakable(words(compute::describe(when)))).arg(hits));
}

void PriorDetail::readEntries(const Prior&) {
    const auto* member = m_panel.table().member(m_prior);
    const compute::Factor* factor = member == nullptr ? nullptr : member->factor;
    if (factor == m_shown && factor != nullptr) return;
    m_shown = factor;
    m_shownSet = m_panel.table().set();
    const int rows = factor != nullptr ? static_cast<int>(factor->entries.size()) : 0;
    setTableShape(*m_entries,
                  {{tr("Entry"), tr("As it is written"), {}},
                   {tr("token"), tr("What it became with this tokenizer"), QStringLiteral("mmmmmmmm")},
                   {tr("Δ"), tr("log φ of the token, nats, before η"), QStringLiteral("−0.0000")}},
                  rows);
    for (int row = 0; row < rows; ++row) {
        const compute::Became& became = factor->entries[static_cast<std::size_t>(row)];
        const bool acts = became.problem.empty();
        const Ink ink = acts ? Ink::Normal : Ink::Quiet;
        setText(*m_entries, row, 0, words(became.entry), ink);
        setNumber(*m_entries, row, 1,
                  became.token == compute::kNoToken
                      ? QStringLiteral("–")
                      : words(model::tokenLabel(m_document.tokenizer().get(), became.token)),
                  ink);
        setNumber(*m_entries, row, 2, acts ? formatCell(became.delta) : QStringLiteral("–"), ink);
        const QString why = acts ? tr("id %1").arg(became.token) : words(became.problem);
        for (int column = 0; column < 3; ++column)
            m_entries->item(row, column)->setToolTip(shortened(why, kHoverLetters).toHtmlEscaped());
    }
    fitColumns(*m_entries);
}

void PriorDetail::readCursor() {
    if (!isVisible() || m_prior >= m_panel.table().total()) return;
    const model::Trace* trace = m_document.trace();
    const model::View& view = m_document.view();
    const compute::Step* step = trace == nullptr ? nullptr : trace->at(view.cursor);
    QString said;
    if (step == nullptr) {
        said = tr("There is no step at the cursor.");
    } else if (const auto* member = model::shownPrior(*trace, view); member == nullptr) {
        said = tr("It was not in the rack when this trace was composed.");
    } else if (!model::matched(*step, view.prior)) {
        said = tr("Position %1: it does not match.").arg(step->position);
    } else {
        try {
            const compute::TokenId token = model::shownToken(*trace, view);
            const model::WithAndWithout at = model::withAndWithout(*trace, *member, step->position, token);
            said = tr("Position %1: adds %2 to '%3' (log p %4 with it, %5 without). Drift %6 with it, %7 without.")
                       .arg(QString::number(step->position), signedNumber(model::addedTo(*trace, *member, token)),
                            words(model::tokenLabel(trace->tokenizer.get(), token)), formatNumber(at.token),
                            formatNumber(at.tokenWithout), formatNumber(at.with), formatNumber(at.without));
        } catch (const compute::Error& error) {
            said = words(error.sentence());
        }
    }
    m_cursor->setText(breakable(said));
}

// -- what is done -----------------------------------------------------------------------------------------------------

void PriorDetail::refuse(const QString& what, const QString& reason) {
    m_document.notify(model::Notice::Level::Warning, (what + QStringLiteral(": ") + reason).toStdString(), {},
                      "priors");
}

void PriorDetail::edit(const std::string& merge, const Change& change) {
    if (m_panel.bank() < 0 || m_prior >= m_panel.table().total()) return;
    attempt(
        m_document,
        [&] {
            Prior changed = m_panel.table().prior(m_prior);
            change(changed);
            m_document.setSession(model::withPrior(m_document.session(), static_cast<std::size_t>(m_panel.bank()),
                                                   m_prior, std::move(changed)),
                                  merge);
        },
        "priors");
}

void PriorDetail::editContext() {
    std::vector<compute::TokenId> ids;
    for (const QString& word : m_ids->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        bool ok = false;
        ids.push_back(word.toInt(&ok));
        if (!ok) return refuse(tr("Ids"), tr("'%1' is not a token's id.").arg(word));
    }
    edit({}, [&](Prior& prior) {
        Context& when = prior.when;
        when.kind = kKinds[std::max(0, m_kind->currentIndex())].kind;
        when.pattern = m_pattern->text().toStdString();
        when.chars = static_cast<std::int64_t>(m_chars->integer());
        when.ids = std::move(ids);
        when.language = m_language->text().toStdString();
        when.name = m_feature->currentText().toStdString();
    });
}

void PriorDetail::addEntry(model::Side side) {
    const std::string entry = m_entry->text().toStdString();
    if (entry.empty()) return;
    edit({}, [&](Prior& prior) { prior = model::withText(std::move(prior), side, entry); });
    m_entry->clear();
}

void PriorDetail::removeEntries() {
    std::vector<std::size_t> rows;
    for (const QModelIndex& at : m_entries->selectionModel()->selectedRows())
        rows.push_back(static_cast<std::size_t>(at.row()));
    std::sort(rows.begin(), rows.end());
    if (!rows.empty()) edit({}, [&](Prior& prior) { prior = model::withoutEntries(std::move(prior), rows); });
}

bool PriorDetail::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QScrollArea::eventFilter(watched, event);
    const auto* key = static_cast<QKeyEvent*>(event);
    if (watched == m_entries && key->key() == Qt::Key_Delete) {
        removeEntries();
        return true;
    }
    if (watched == m_entry && (key->key() == Qt::Key_Return || key->key() == Qt::Key_Enter)) {
        addEntry(key->modifiers().testFlag(Qt::ShiftModifier) ? model::Side::Demote : model::Side::Promote);
        return true;
    }
    return QScrollArea::eventFilter(watched, event);
}

void PriorDetail::dragEnterEvent(QDragEnterEvent* event) {
    if (tokenOf(event->mimeData()) && m_prior < m_panel.table().total()) event->acceptProposedAction();
}

void PriorDetail::dropEvent(QDropEvent* event) {
    const std::optional<compute::TokenId> token = tokenOf(event->mimeData());
    if (!token || m_prior >= m_panel.table().total()) return;
    m_panel.put(m_prior, *token, event->dropAction() == Qt::MoveAction ? model::Side::Demote : model::Side::Promote);
    event->acceptProposedAction();
}

}  // namespace counterpoint::widgets
