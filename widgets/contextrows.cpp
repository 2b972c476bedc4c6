#include "widgets/contextrows.h"

#include <algorithm>

#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr double kMostChars = 1e6;
enum ContextRow { PatternRow, CharsRow, IdsRow, LanguageRow, FeatureRow, OpenRow, CloseRow };

struct KindRow {
    compute::ContextKind kind;
    const char* title;
    std::initializer_list<ContextRow> rows;
};
const KindRow kKinds[] = {{compute::ContextKind::Always, "always", {}},
                          {compute::ContextKind::Regex, "text matches", {PatternRow, CharsRow}},
                          {compute::ContextKind::Tokens, "ends with tokens", {IdsRow}},
                          {compute::ContextKind::CodeBlock, "inside code", {LanguageRow}},
                          {compute::ContextKind::Feature, "inside feature", {FeatureRow, OpenRow, CloseRow}}};

}  // namespace

ContextRows::ContextRows(QFormLayout& form, QObject* parent) : QObject(parent), m_form(form) {
    m_kind = new QComboBox;
    m_kind->setObjectName(QStringLiteral("prior.context"));
    m_kind->setAccessibleName(tr("Context"));
    m_kind->setToolTip(tr("Where the prior acts: on the prompt and the text before a token"));
    m_kind->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    for (const KindRow& row : kKinds) m_kind->addItem(tr(row.title));
    connect(m_kind, &QComboBox::activated, this, &ContextRows::choose);
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
    connect(m_chars, &ValueSlider::moved, this, &ContextRows::edited);
    connect(m_chars, &ValueSlider::refused, this,
            [this](const QString& reason) { Q_EMIT refused(tr("Characters"), reason); });
    m_ids = line(tr("Ids"), "prior.ids", tr("Token ids with spaces between; the sequence ends with them"));
    m_language = line(tr("Language"), "prior.language", tr("Of the fence; empty: any"));
    m_feature = new QComboBox;
    m_feature->setObjectName(QStringLiteral("prior.feature"));
    m_feature->setAccessibleName(tr("Feature"));
    m_feature->setToolTip(
        tr("A feature of the bank; another name makes a new one. Inside is an open without its close"));
    m_feature->setEditable(true);
    m_feature->setInsertPolicy(QComboBox::NoInsert);
    m_feature->setCompleter(nullptr);
    m_feature->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    m_feature->lineEdit()->setAccessibleName(tr("Feature"));
    connect(m_feature, &QComboBox::textActivated, this, &ContextRows::chooseFeature);
    connect(m_feature->lineEdit(), &QLineEdit::editingFinished, this, [this] {
        if (m_feature->lineEdit()->isModified()) chooseFeature(m_feature->currentText());
    });
    m_open = line(tr("Opens"), "prior.open", tr("Regular expression that opens the feature, for every prior in it"));
    m_close =
        line(tr("Closes"), "prior.close", tr("Regular expression that closes the feature, for every prior in it"));
    for (QLineEdit* edit : {m_open, m_close}) edit->setFont(m_pattern->font());
    const std::pair<QString, QWidget*> rows[] = {
        {tr("Pattern"), m_pattern}, {tr("within"), m_chars}, {tr("Ids"), m_ids},     {tr("Language"), m_language},
        {tr("Feature"), m_feature}, {tr("opens"), m_open},   {tr("closes"), m_close}};
    int at = 0;
    for (const auto& [name, widget] : rows) {
        form.addRow(name, widget);
        m_rows[at++] = widget;
    }
}

QLineEdit* ContextRows::line(const QString& name, const char* id, const QString& help) {
    auto* edit = new QLineEdit;
    edit->setObjectName(QLatin1String(id));
    edit->setAccessibleName(name);
    edit->setToolTip(help);
    edit->setFixedHeight(spacing::row);
    connect(edit, &QLineEdit::editingFinished, this, [this, edit] {
        if (!edit->isModified()) return;
        edit->setModified(false);  // taken or refused: what holds is written back
        // What was emptied is refused; what still lacks another line waits for it.
        if (QWidget* next = missing(); next != nullptr && next != edit) return waitFor(*next);
        Q_EMIT edited();
    });
    return edit;
}

void ContextRows::showRows(int kind) {
    for (int row = PatternRow; row <= CloseRow; ++row) {
        const auto& rows = kKinds[kind].rows;
        const bool here = std::find(rows.begin(), rows.end(), row) != rows.end();
        m_rows[row]->setVisible(here);
        if (QWidget* label = m_form.labelForField(m_rows[row])) label->setVisible(here);
    }
}

QWidget* ContextRows::missing() const {
    switch (kKinds[std::max(0, m_kind->currentIndex())].kind) {
        case compute::ContextKind::Regex:
            return m_pattern->text().isEmpty() ? m_pattern : nullptr;
        case compute::ContextKind::Tokens:
            return m_ids->text().trimmed().isEmpty() ? m_ids : nullptr;
        case compute::ContextKind::Feature:
            if (m_feature->currentText().isEmpty()) return m_feature;
            return m_open->text().isEmpty() ? m_open : m_close->text().isEmpty() ? m_close : nullptr;
        default:
            return nullptr;
    }
}

/// A kind without what it asks for is no context: saved, it could not be read again. It waits for that.
void ContextRows::choose(int kind) {
    QWidget* first = missing();
    m_waiting = false;
    if (first == nullptr) return Q_EMIT edited();
    showRows(kind);
    waitFor(*first);
}

void ContextRows::waitFor(QWidget& row) {
    m_waiting = true;
    row.setFocus();
}

/// One of the bank's brings its patterns; a new one begins with those that stand here, and waits where there are none.
void ContextRows::chooseFeature(const QString& name) {
    m_feature->lineEdit()->setModified(false);
    const auto known = std::ranges::find(m_features, name.toStdString(), &compute::Feature::name);
    if (known != m_features.end()) {
        m_open->setText(words(known->open));
        m_close->setText(words(known->close));
    }
    if (QWidget* first = missing()) return waitFor(*first);
    Q_EMIT edited();
}

void ContextRows::read(const std::string& of, const compute::Context& when,
                       std::span<const compute::Feature> features) {
    const auto write = [](QLineEdit* edit, const QString& said) {
        if ((edit->hasFocus() && edit->isModified()) || edit->text() == said) return;
        edit->setText(said);
        edit->setCursorPosition(0);
    };
    m_waiting = m_waiting && of == m_of && when == m_when;
    m_of = of;
    m_when = when;
    if (m_waiting) return;
    for (int k = 0; k < static_cast<int>(std::size(kKinds)); ++k) {
        if (kKinds[k].kind != when.kind) continue;
        m_kind->setCurrentIndex(k);
        showRows(k);
    }
    write(m_pattern, words(when.pattern));
    m_chars->setInteger(static_cast<std::uint64_t>(std::max<std::int64_t>(0, when.chars)));
    QStringList ids;
    for (const compute::TokenId id : when.ids) ids << QString::number(id);
    write(m_ids, ids.join(QLatin1Char(' ')));
    write(m_language, words(when.language));
    if (m_feature->lineEdit()->hasFocus() && m_feature->lineEdit()->isModified()) return;
    m_features.assign(features.begin(), features.end());
    m_feature->clear();
    for (const compute::Feature& feature : features) m_feature->addItem(words(feature.name));
    const auto own = std::ranges::find(features, when.name, &compute::Feature::name);
    const compute::Feature shown = own != features.end()                    ? *own
                                   : when.name.empty() && !features.empty() ? features.front()
                                                                            : compute::Feature{when.name, {}, {}};
    m_feature->setCurrentText(words(shown.name));
    write(m_open, words(shown.open));
    write(m_close, words(shown.close));
}

std::optional<compute::Context> ContextRows::context(compute::Context when) {
    std::vector<compute::TokenId> ids;
    for (const QString& word : m_ids->text().split(QLatin1Char(' '), Qt::SkipEmptyParts)) {
        bool ok = false;
        ids.push_back(word.toInt(&ok));
        if (!ok || ids.back() < 0) {
            Q_EMIT refused(tr("Ids"), tr("'%1' is not a token's id.").arg(word));
            return std::nullopt;
        }
    }
    if (const QWidget* row = missing()) {
        Q_EMIT refused(tr("Context"), row == m_ids       ? tr("A token's id is needed.")
                                      : row == m_feature ? tr("A feature's name is needed.")
                                                         : tr("A pattern is needed."));
        return std::nullopt;
    }
    when.kind = kKinds[std::max(0, m_kind->currentIndex())].kind;
    when.pattern = m_pattern->text().toStdString();
    when.chars = static_cast<std::int64_t>(m_chars->integer());
    when.ids = std::move(ids);
    when.language = m_language->text().toStdString();
    if (when.kind == compute::ContextKind::Feature) when.name = m_feature->currentText().toStdString();
    return when;
}

std::optional<compute::Feature> ContextRows::feature() const {
    if (kKinds[std::max(0, m_kind->currentIndex())].kind != compute::ContextKind::Feature) return std::nullopt;
    return compute::Feature{m_feature->currentText().toStdString(), m_open->text().toStdString(),
                            m_close->text().toStdString()};
}

}  // namespace counterpoint::widgets
