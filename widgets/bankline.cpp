#include "widgets/bankline.h"

#include <QHBoxLayout>
#include <QVBoxLayout>

#include "widgets/attempt.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

QString bankFileName(const model::Session& session, std::size_t bank) {
    return told(session.resolve(session.priors[bank].bank).filename().string());
}

}  // namespace

BankLine::BankLine(model::Document& document, QWidget* parent) : QWidget(parent), m_document(document) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(makeLine());
    m_problem = new QLabel;
    m_problem->setObjectName(QStringLiteral("bank.problem"));
    m_problem->setProperty("role", QStringLiteral("failure"));
    m_problem->setTextFormat(Qt::PlainText);
    m_problem->setWordWrap(true);
    m_problem->setContentsMargins(spacing::normal, 0, spacing::normal, spacing::tight);
    column->addWidget(m_problem);
}

QWidget* BankLine::makeLine() {
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
                                                           .fieldMinimum = -model::kMostBankWeight,
                                                           .fieldMaximum = model::kMostBankWeight,
                                                           .integer = false,
                                                           .logarithmic = false,
                                                           .slider = true});
    m_weight->setObjectName(QStringLiteral("bank.weight"));
    m_weight->setToolTip(tr("Weight of the bank: every η in it is multiplied by it"));
    row->addWidget(m_weight, 2);
    m_buttons = new QHBoxLayout;
    m_buttons->setSpacing(0);
    row->addLayout(m_buttons);
    connect(m_switch, &QCheckBox::clicked, this,
            [this](bool on) { edit({}, [on](model::BankEntry& entry) { entry.enabled = on; }); });
    connect(m_banks, &QComboBox::activated, this, &BankLine::choose);
    connect(m_weight, &ValueSlider::moved, this, [this] {
        edit("bank.weight:" + std::to_string(m_bank),
             [this](model::BankEntry& entry) { entry.weight = m_weight->value(); });
    });
    connect(m_weight, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(m_weight, &ValueSlider::refused, this, [this](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, "Weight of the bank: " + reason.toStdString(), {}, "priors");
    });
    return line;
}

void BankLine::read(int bank) {
    m_bank = bank;
    readBanks();
    readBank();
}

void BankLine::readBanks() {
    const model::Session& session = m_document.session();
    const int count = static_cast<int>(session.priors.size());
    while (m_banks->count() > count) m_banks->removeItem(m_banks->count() - 1);
    for (int i = 0; i < count; ++i) {
        const auto at = static_cast<std::size_t>(i);
        QString text = shortened(bankFileName(session, at));
        if (m_document.bankModified(at)) text += QStringLiteral(" ●");
        if (!session.priors[at].enabled) text += tr(" (off)");
        if (i == m_banks->count())
            m_banks->addItem(text);
        else if (m_banks->itemText(i) != text)
            m_banks->setItemText(i, text);
        m_banks->setItemData(i, QString::fromStdString(session.resolve(session.priors[at].bank).string()),
                             Qt::ToolTipRole);
    }
    m_banks->setCurrentIndex(m_bank);
}

void BankLine::readBank() {
    if (m_bank < 0) return;
    const auto at = static_cast<std::size_t>(m_bank);
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

void BankLine::choose(int bank) {
    model::View view = m_document.view();
    view.priorBank = bank;
    view.prior.clear();
    m_document.setView(view);
}

void BankLine::edit(const std::string& merge, const std::function<void(model::BankEntry&)>& change) {
    if (m_bank < 0) return;
    attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            change(session.priors.at(static_cast<std::size_t>(m_bank)));
            m_document.setSession(std::move(session), merge);
        },
        "priors");
}

}  // namespace counterpoint::widgets
