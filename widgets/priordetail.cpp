#include "widgets/priordetail.h"

#include <QDragEnterEvent>
#include <QDropEvent>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QMimeData>
#include <QVBoxLayout>
#include <algorithm>
#include <array>

#include "compute/error.h"
#include "model/bankids.h"
#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/numbertable.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"
#include "widgets/tokenmime.h"

namespace counterpoint::widgets {
namespace {

using compute::Context;
using compute::Prior;

constexpr double kMostEtaShown = 5, kMostDeltaTyped = 1e6;
constexpr int kDetailWidth = 268, kEtaDecimals = 3;
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
    m_when = new ContextRows(*m_form, this);
    connect(m_when, &ContextRows::edited, this, &PriorDetail::editContext);
    connect(m_when, &ContextRows::refused, this, &PriorDetail::refuse);
    m_contextText = quiet("prior.contextText");
    m_form->addRow(m_contextText);
    makeEntries();
    column->addWidget(m_entries, 1);
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
                                      .fieldMinimum = -compute::kMostEta,
                                      .fieldMaximum = compute::kMostEta,
                                      .integer = false,
                                      .logarithmic = false,
                                      .slider = true});
    m_eta->setObjectName(QStringLiteral("prior.eta"));
    m_eta->setToolTip(tr("Weight η in this session: acts at once on the stored trace; the bank stays as it is"));
    m_eta->field()->setDecimals(kEtaDecimals);
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
        attemptOrRestore([&] {
            m_document.setSession(model::withEta(m_document.session(), bank(), m_prior, m_eta->value()), "prior.eta");
        });
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

void PriorDetail::makeEntries() {
    m_entries = new PriorEntries;
    connect(m_entries, &PriorEntries::added, this, [this](model::Side side, const std::string& text) {
        edit({}, [&](Prior& prior) { prior = model::withText(std::move(prior), side, text); });
    });
    connect(m_entries, &PriorEntries::selected, this, [this] {
        const model::BankPtr& bank = m_panel.table().content();
        const bool any = bank && m_prior < bank->priors.size();
        m_panel.setEntries(any ? bank->priors[m_prior] : nullptr, m_entries->selectedRows());
    });
    connect(m_entries, &PriorEntries::removed, this, [this](const std::vector<std::size_t>& rows) {
        edit({}, [&](Prior& prior) { prior = model::withoutEntries(std::move(prior), rows); });
    });
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
    const auto* member = table.member(m_prior);
    m_entries->read(member == nullptr ? nullptr : member->factor, table.set(), m_document.tokenizer().get());
    m_entries->count(table.tally(m_prior));
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
    const auto& bank = m_document.session().priors[static_cast<std::size_t>(m_panel.bank())].content;
    m_when->read(prior.name, prior.when,
                 bank ? std::span<const compute::Feature>(bank->features) : std::span<const compute::Feature>());
    const std::size_t hits = m_panel.table().tally(m_prior).hits;
    m_contextText->setText(
        tr("%1; hits in this trace: %2").arg(breakable(told(compute::describe(prior.when))), QString::number(hits)));
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
    } else if (const std::string idle = model::whyIdle(*member); !idle.empty()) {
        said = tr("It does not act: %1.").arg(words(idle));
    } else if (!model::matched(*step, *member)) {
        said = tr("Position %1: it does not match.").arg(step->position);
    } else {
        try {
            const compute::TokenId token = model::shownToken(*trace, view);
            const model::WithAndWithout at = model::withAndWithout(*trace, *member, step->position, token);
            said = tr("Position %1: adds %2 to '%3' (log p %4 with it, %5 without). Drift %6 with it, %7 without.")
                       .arg(QString::number(step->position), signedNumber(model::addedTo(*trace, *member, token)),
                            told(model::tokenLabel(trace->tokenizer.get(), token)), formatNumber(at.token),
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
    refresh();  // what was typed does not hold
}

void PriorDetail::attemptOrRestore(const std::function<void()>& change) {
    if (!attempt(m_document, change, "priors")) refresh();
}

void PriorDetail::edit(const std::string& merge, const Change& change, const std::optional<compute::Feature>& feature) {
    if (m_panel.bank() < 0 || m_prior >= m_panel.table().total()) return;
    attemptOrRestore([&] {
        Prior changed = m_panel.table().prior(m_prior);
        change(changed);
        const auto bank = static_cast<std::size_t>(m_panel.bank());
        model::Session session = m_document.session();
        if (feature) session = model::withFeature(std::move(session), bank, *feature);
        if (model::bringsIds(m_panel.table().prior(m_prior), changed))
            session = model::withIdsOf(std::move(session), bank, m_document.tokenizer().get());
        m_document.setSession(model::withPrior(std::move(session), bank, m_prior, std::move(changed)), merge);
    });
}

void PriorDetail::editContext() {
    if (m_panel.bank() < 0 || m_prior >= m_panel.table().total()) return;
    const std::optional<Context> when = m_when->context(m_panel.table().prior(m_prior).when);
    if (when)
        edit(
            {}, [&](Prior& prior) { prior.when = *when; }, m_when->feature());
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
