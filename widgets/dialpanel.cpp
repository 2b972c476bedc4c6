#include "widgets/dialpanel.h"

#include <QCheckBox>
#include <QComboBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <algorithm>

#include "widgets/attempt.h"
#include "widgets/dialtext.h"
#include "widgets/palette.h"

namespace counterpoint::widgets {
namespace {

using compute::DialActs;
using compute::DialKind;
using compute::DialSpec;

/// Where a slider is of use; the field takes the whole range.
struct SliderSpan {
    std::string_view id;
    double maximum;
};
constexpr SliderSpan kSpans[] = {{"temperature", 2}, {"top_k", 1000},       {"floor", 100},
                                 {"kl_budget", 5},   {"active_epsilon", 2}, {"max_new_tokens", 4096}};

/// One undo step a drag, and one notice.
std::string keyOf(const DialSpec& spec) { return "dial:" + std::string(spec.id); }

}  // namespace

DialPanel::DialPanel(model::Document& document, QWidget* parent)
    : DownScroll("dialPanel", parent), m_document(document) {
    auto* body = new QWidget;
    auto* grid = new QGridLayout(body);
    grid->setContentsMargins(spacing::wide, spacing::wide, spacing::wide, spacing::wide);
    grid->setHorizontalSpacing(spacing::normal);
    grid->setVerticalSpacing(6);
    grid->setColumnStretch(1, 1);
    int row = 0;
    for (const DialActs acts : {DialActs::Stored, DialActs::Decode}) {
        if (row > 0) grid->setRowMinimumHeight(row++, spacing::normal);
        grid->addWidget(headingOf(acts), row++, 0, 1, 2);
        for (const DialSpec& spec : compute::decodingDials()) {
            if (spec.acts != acts) continue;
            auto* label = new QLabel(titleOf(spec));
            label->setToolTip(helpOf(spec));
            QWidget* editor = makeEditor(spec);
            describe(*editor, spec, QStringLiteral("dial.") + textOf(spec.id));
            label->setBuddy(editor);
            grid->addWidget(label, row, 0);
            grid->addWidget(editor, row++, 1);
        }
    }
    grid->setRowStretch(row, 1);
    setWidget(body);
    connect(&m_document, &model::Document::sessionChanged, this, &DialPanel::refresh);
    refresh();
}

QSize DialPanel::sizeHint() const { return {320, 420}; }

void DialPanel::edit(const DialSpec& spec, const DialValue& value, bool drag) {
    const std::string dial = keyOf(spec);
    attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            setDialValue(session, spec.id, value);
            m_document.setSession(std::move(session), drag ? dial : std::string());
        },
        dial);
}

QWidget* DialPanel::makeEditor(const DialSpec& spec) {
    const auto current = [this, &spec] { return dialValue(m_document.session(), spec.id); };
    if (spec.kind == DialKind::Choice) {
        auto* combo = new QComboBox;
        combo->addItems(textOf(spec.choices).split(QLatin1Char('|')));
        connect(combo, &QComboBox::activated, this,
                [this, &spec](int index) { edit(spec, {.real = static_cast<double>(index)}); });
        m_readers.push_back([combo, current] { combo->setCurrentIndex(static_cast<int>(current().real)); });
        return combo;
    }
    if (spec.kind == DialKind::Switch) {
        auto* box = new QCheckBox;
        connect(box, &QCheckBox::clicked, this, [this, &spec](bool on) { edit(spec, {.real = on ? 1.0 : 0.0}); });
        m_readers.push_back([box, current] { box->setChecked(current().real != 0); });
        return box;
    }
    const auto span =
        std::find_if(std::begin(kSpans), std::end(kSpans), [&](const SliderSpan& s) { return s.id == spec.id; });
    const bool integer = spec.kind == DialKind::Integer;
    const double whole = integer ? 0 : spec.maximum;
    ValueSlider* value = sliderOf(spec, span != std::end(kSpans) ? span->maximum : whole);
    const auto shown = [value, current] {  // what the widgets say, the rest as it stands
        DialValue v = current();
        v.real = value->value();
        v.integer = value->integer();
        return v;
    };
    connect(value, &ValueSlider::moved, this, [this, &spec, shown] { edit(spec, shown(), true); });
    connect(value, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
    connect(value, &ValueSlider::refused, this, [this, &spec](const QString& reason) {
        m_document.notify(model::Notice::Level::Warning, std::string(spec.title) + ": " + reason.toStdString(), {},
                          keyOf(spec));
    });
    const auto show = [value, integer](const DialValue& v) {
        if (integer)
            value->setInteger(v.integer);
        else
            value->setValue(v.real);
    };
    if (!spec.optional) {
        m_readers.push_back([current, show] { show(current()); });
        return value;
    }
    auto* editor = new QWidget;
    auto* rows = new QGridLayout(editor);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setHorizontalSpacing(spacing::tight);
    rows->setVerticalSpacing(spacing::tight);
    rows->setColumnStretch(1, 1);
    auto* box = new QCheckBox;
    box->setObjectName(QStringLiteral("switch"));
    box->setAccessibleName(tr("%1 on").arg(textOf(spec.title)));
    rows->addWidget(box, 0, 0);
    rows->addWidget(value, 0, 1);
    editor->setFocusProxy(box);
    connect(box, &QCheckBox::clicked, this, [this, &spec, shown](bool on) {
        DialValue v = shown();
        v.on = on;
        edit(spec, v);
    });
    m_readers.push_back([box, value, current, show] {
        const DialValue v = current();
        box->setChecked(v.on);
        value->setEnabled(v.on);
        show(v);
    });
    if (spec.choices.empty()) return editor;
    auto* kind = new QComboBox;
    kind->setObjectName(QStringLiteral("kind"));
    kind->setAccessibleName(tr("Kind of %1").arg(textOf(spec.title)));
    kind->setToolTip(helpOf(spec));
    kind->addItems(textOf(spec.choices).split(QLatin1Char('|')));
    rows->addWidget(kind, 1, 1);
    connect(kind, &QComboBox::activated, this, [this, &spec, shown](int index) {
        DialValue v = shown();
        v.choice = index;
        edit(spec, v);
    });
    m_readers.push_back([kind, current] {
        const DialValue v = current();
        kind->setEnabled(v.on);
        if (v.on) kind->setCurrentIndex(v.choice);
    });
    return editor;
}

void DialPanel::refresh() {
    for (const auto& read : m_readers) read();
}

}  // namespace counterpoint::widgets
