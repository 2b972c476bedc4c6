#include "widgets/bankrow.h"

#include <QHBoxLayout>
#include <QMouseEvent>
#include <QVBoxLayout>

#include "widgets/attempt.h"
#include "widgets/palette.h"
#include "widgets/rackparts.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr int kBankLetters = 24;

}  // namespace

BankRow::BankRow(model::Document& document, std::size_t bank, QWidget* parent)
    : QWidget(parent), m_document(document), m_bank(bank) {
    setObjectName(QStringLiteral("bankRow.%1").arg(bank));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::normal);
    column->setSpacing(spacing::tight);
    auto* head = new QHBoxLayout;
    head->setSpacing(spacing::tight);
    column->addLayout(head);
    m_switch = new QCheckBox;
    m_switch->setObjectName(QStringLiteral("bank.%1").arg(bank));
    head->addWidget(m_switch, 1);
    m_more = rackButton(Glyph::More, QStringLiteral("more"), tr("More about this bank"));
    m_more->setPopupMode(QToolButton::InstantPopup);
    m_more->setMenu(&m_menu);
    head->addWidget(m_more);
    auto* weights = new QHBoxLayout;
    weights->setSpacing(spacing::tight);
    column->addLayout(weights);
    m_weight = new ValueSlider(tr("Weight of bank %1").arg(bank + 1), {.minimum = 0,
                                                                       .maximum = 2,
                                                                       .step = 0.01,
                                                                       .fieldMinimum = -model::kMostBankWeight,
                                                                       .fieldMaximum = model::kMostBankWeight,
                                                                       .integer = false,
                                                                       .logarithmic = false,
                                                                       .slider = true});
    m_weight->setObjectName(QStringLiteral("weight"));
    m_weight->setToolTip(tr("Weight of the bank: every η in it is multiplied by it (R8)"));
    weights->addWidget(m_weight, 1);
    m_reset = rackButton(Glyph::Reset, QStringLiteral("reset"), tr("Weight back to 1"));
    weights->addWidget(m_reset);
    m_state = stateLabel();
    column->addWidget(m_state);
    connect(m_switch, &QCheckBox::clicked, this, [this](bool on) {
        edit({}, [on](model::BankEntry& entry) { entry.enabled = on; });
        // A rack that lacked this bank alone can decode now.
        if (!m_document.ready()) attempt(m_document, [this] { m_document.loadSources(); });
    });
    connect(m_weight, &ValueSlider::moved, this,
            [this] { edit(weightKey(), [this](model::BankEntry& entry) { entry.weight = m_weight->value(); }); });
    connect(m_weight, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(m_weight, &ValueSlider::refused, this, [this](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, "Weight of the bank: " + reason.toStdString(), {},
                          weightKey());
    });
    connect(m_reset, &QToolButton::clicked, this,
            [this] { edit({}, [](model::BankEntry& entry) { entry.weight = model::BankEntry{}.weight; }); });
    connect(&m_menu, &QMenu::aboutToShow, this, &BankRow::fillMenu);
    refresh();
}

std::string BankRow::weightKey() const { return "bank.weight:" + std::to_string(m_bank); }

void BankRow::edit(const std::string& merge, const std::function<void(model::BankEntry&)>& change) {
    attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            change(session.priors.at(m_bank));
            m_document.setSession(std::move(session), merge);
        },
        merge);
}

void BankRow::refresh() {
    const model::Session& session = m_document.session();
    if (m_bank >= session.priors.size()) return;
    const model::BankEntry& entry = session.priors[m_bank];
    const QString name = told(session.resolve(entry.bank).filename().string());
    m_switch->setText(shortened(name, kBankLetters));
    m_switch->setAccessibleName(tr("Bank %1 acts").arg(name));
    m_switch->setToolTip(tr("On: its priors act. Off: the bank stays in the rack and is silent."));
    m_switch->setChecked(entry.enabled);
    m_weight->setValue(entry.weight);
    m_reset->setEnabled(entry.weight != model::BankEntry{}.weight);
    const QString problem = QString::fromStdString(m_document.bankProblem(m_bank));
    QString state = problem;
    if (problem.isEmpty() && !entry.content)
        state = m_document.busy() ? tr("being read") : tr("not read");
    else if (problem.isEmpty())
        state = (entry.content->priors.size() == 1 ? tr("bank · 1 prior")
                                                   : tr("bank · %1 priors").arg(entry.content->priors.size())) +
                (m_document.bankModified(m_bank) ? tr(" · not saved") : QString());
    showState(*m_state, state, !problem.isEmpty());
    setToolTip(hover());
}

QString BankRow::hover() const {
    const model::Session& session = m_document.session();
    const model::BankEntry& entry = session.priors[m_bank];
    QString text = QStringLiteral("<table>");
    const auto row = [&](const QString& name, const QString& value) { text += hoverRow(name, value); };
    row(tr("Path"), told(session.resolve(entry.bank).string()));
    if (entry.content) {
        const compute::Bank& bank = *entry.content;
        row(tr("Name"), told(bank.name));
        static const QString kLevels[] = {tr("0, as written"), tr("1, one bit a token"), tr("2, merged"),
                                          tr("3, aggregated")};
        row(tr("Level"), bank.level >= 0 && bank.level < 4 ? kLevels[bank.level] : QString::number(bank.level));
        row(tr("Priors"), QString::number(bank.priors.size()));
        row(tr("Overrides"), entry.overrides.empty() ? QString() : QString::number(entry.overrides.size()));
        const auto& tokenizer = m_document.tokenizer();
        row(tr("Tokenizer"), !bank.tokenizer ? tr("any")
                             : !tokenizer    ? QString::fromStdString(*bank.tokenizer).left(16)
                             : *bank.tokenizer == tokenizer->fingerprint() ? tr("the one in use")
                                                                           : tr("another than the one in use"));
    }
    return text + QStringLiteral("</table>");
}

void BankRow::move(int by) {
    attempt(m_document, [&] {
        model::Session session = m_document.session();
        std::swap(session.priors.at(m_bank), session.priors.at(m_bank + static_cast<std::size_t>(by)));
        m_document.setSession(std::move(session));
    });
}

void BankRow::fillMenu() {
    m_menu.clear();
    QAction* up = m_menu.addAction(tr("Move up"));
    up->setEnabled(m_bank > 0);
    connect(up, &QAction::triggered, this, [this] { move(-1); });
    QAction* down = m_menu.addAction(tr("Move down"));
    down->setEnabled(m_bank + 1 < m_document.session().priors.size());
    connect(down, &QAction::triggered, this, [this] { move(1); });
    m_menu.addSeparator();
    connect(m_menu.addAction(tr("Remove from the rack")), &QAction::triggered, this, [this] {
        attempt(m_document, [&] {
            model::Session session = m_document.session();
            session.priors.erase(session.priors.begin() + static_cast<std::ptrdiff_t>(m_bank));
            m_document.setSession(std::move(session));
        });
    });
}

void BankRow::mousePressEvent(QMouseEvent* event) {
    QWidget::mousePressEvent(event);
    model::View view = m_document.view();
    if (view.priorBank == static_cast<int>(m_bank)) return;
    view.priorBank = static_cast<int>(m_bank);
    view.prior.clear();
    m_document.setView(view);
}

void BankRow::paintEvent(QPaintEvent*) { paintRackRow(*this, currentTheme().grey); }

}  // namespace counterpoint::widgets
