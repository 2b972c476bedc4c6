#include "widgets/exampleform.h"

#include <QFormLayout>
#include <QRegularExpression>
#include <array>
#include <charconv>

#include "widgets/exampleparts.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

struct WhenRow {
    compute::ContextKind kind;
    const char *name, *hint;
};
constexpr std::array kWhens = {
    WhenRow{compute::ContextKind::Always, "always", ""},
    WhenRow{compute::ContextKind::Regex, "after a regular expression", "found in the last code points before a token"},
    WhenRow{compute::ContextKind::Tokens, "after tokens", "ids, with blanks between them"},
    WhenRow{compute::ContextKind::CodeBlock, "inside a code block", "language; empty: any"},
    WhenRow{compute::ContextKind::Feature, "inside a feature of the bank", "name of the feature"},
};

/// Ids with blanks or commas between them; nullopt: something else stands there, or nothing.
std::optional<std::vector<compute::TokenId>> idsFrom(const QString& text) {
    std::vector<compute::TokenId> ids;
    for (const QString& part : text.split(QRegularExpression(QStringLiteral("[\\s,]+")), Qt::SkipEmptyParts)) {
        const std::string word = part.toStdString();
        compute::TokenId id = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || end != word.data() + word.size() || id < 0) return std::nullopt;
        ids.push_back(id);
    }
    if (ids.empty()) return std::nullopt;
    return ids;
}

}  // namespace

ExampleForm::ExampleForm(QWidget* parent) : QGroupBox(tr("The prior"), parent) {
    auto* columns = new QHBoxLayout(this);
    auto *left = new QFormLayout, *right = new QFormLayout;
    columns->addLayout(left, 1);
    columns->addLayout(right, 1);
    makeNames(*left);
    makeDelta(*right);
    makeContext(*right);
    for (QLineEdit* field : {m_name, m_kind, m_task})
        connect(field, &QLineEdit::textChanged, this, &ExampleForm::renamed);
    for (QComboBox* choice : {m_delta, m_when})
        connect(choice, &QComboBox::currentIndexChanged, this, &ExampleForm::edited);
    for (NumberField* field : {m_plus, m_minus, m_chars}) {
        field->setMaximumWidth(80);
        connect(field, &NumberField::edited, this, &ExampleForm::edited);
    }
    connect(m_pattern, &QLineEdit::textChanged, this, &ExampleForm::edited);
}

void ExampleForm::makeNames(QFormLayout& form) {
    m_name = named(new QLineEdit(tr("from examples")), "examples.name", tr("Name of the prior"));
    m_kind = named(new QLineEdit, "examples.kind", tr("Kind, as one likes"));
    m_task = named(new QLineEdit, "examples.task", tr("Task: priors of one task and context may be merged"));
    form.addRow(tr("Name"), m_name);
    form.addRow(tr("Kind"), m_kind);
    form.addRow(tr("Task"), m_task);
}

void ExampleForm::makeDelta(QFormLayout& form) {
    m_delta = named(new QComboBox, "examples.delta", tr("Δ of the ticked tokens"));
    m_delta->addItems({tr("log-odds, shrunk"), tr("c·δ₊ and −c·δ₋")});
    m_plus = named(new NumberField(0, 100, false), "examples.plus", tr("δ₊ of promoted tokens"));
    m_minus = named(new NumberField(0, 100, false), "examples.minus", tr("δ₋ of demoted tokens"));
    m_plus->setValue(1);
    m_minus->setValue(1);
    auto* delta = new QHBoxLayout;
    delta->addWidget(m_delta, 1);
    delta->addWidget(new QLabel(tr("δ₊")));
    delta->addWidget(m_plus);
    delta->addWidget(new QLabel(tr("δ₋")));
    delta->addWidget(m_minus);
    form.addRow(tr("Δ"), delta);
}

void ExampleForm::makeContext(QFormLayout& form) {
    m_when = named(new QComboBox, "examples.context", tr("Where the prior acts"));
    for (const WhenRow& row : kWhens) m_when->addItem(QString::fromUtf8(row.name));
    m_pattern = named(new QLineEdit, "examples.pattern", tr("What the context asks for"));
    m_chars =
        named(new NumberField(1, 100000, true), "examples.chars", tr("Code points that the regular expression sees"));
    m_chars->setInteger(200);
    m_chars->setMaximumWidth(80);
    auto* when = new QHBoxLayout;
    when->addWidget(m_when);
    when->addWidget(m_pattern, 1);
    when->addWidget(m_chars);
    form.addRow(tr("Where"), when);
    m_contextSaid = sentenceLabel("examples.contextProblem");
    form.addRow(QString(), m_contextSaid);
}

std::string ExampleForm::refresh(std::span<const compute::Feature> features) {
    const WhenRow& row = kWhens[static_cast<std::size_t>(m_when->currentIndex())];
    m_pattern->setVisible(row.kind != compute::ContextKind::Always);
    m_pattern->setPlaceholderText(QString::fromUtf8(row.hint));
    m_chars->setVisible(row.kind == compute::ContextKind::Regex);
    m_plus->setEnabled(m_delta->currentIndex() == 1);
    m_minus->setEnabled(m_delta->currentIndex() == 1);
    std::string problem = contextProblem(features);
    m_contextSaid->setText(words(problem));
    m_contextSaid->setVisible(!problem.empty());
    return problem;
}

model::ExamplePrior ExampleForm::options() const {
    model::ExamplePrior options;
    options.name = m_name->text().toStdString();
    options.kind = m_kind->text().toStdString();
    options.task = m_task->text().toStdString();
    options.explicitDelta = m_delta->currentIndex() == 0;
    options.deltaPlus = m_plus->value();
    options.deltaMinus = m_minus->value();
    options.when = context();
    return options;
}

compute::Context ExampleForm::context() const {
    compute::Context when;
    when.kind = kWhens[static_cast<std::size_t>(m_when->currentIndex())].kind;
    const std::string text = m_pattern->text().toStdString();
    switch (when.kind) {
        case compute::ContextKind::Always:
            break;
        case compute::ContextKind::Regex:
            when.pattern = text;
            when.chars = static_cast<std::int64_t>(m_chars->integer());
            break;
        case compute::ContextKind::Tokens:
            when.ids = idsFrom(m_pattern->text()).value_or(std::vector<compute::TokenId>());
            break;
        case compute::ContextKind::CodeBlock:
            when.language = text;
            break;
        case compute::ContextKind::Feature:
            when.name = text;
            break;
    }
    return when;
}

std::string ExampleForm::contextProblem(std::span<const compute::Feature> features) const {
    const compute::Context when = context();
    if (when.kind == compute::ContextKind::Tokens && when.ids.empty())
        return tr("Write the ids of the tokens, with blanks between them.").toStdString();
    compute::Contexts contexts;
    const std::size_t i = contexts.add(when, features);
    return contexts.problem(i);
}

}  // namespace counterpoint::widgets
