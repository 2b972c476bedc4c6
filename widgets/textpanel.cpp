#include "widgets/textpanel.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QSplitter>
#include <QVBoxLayout>
#include <functional>
#include <limits>

#include "model/diagnostics.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"
#include "widgets/sourcecolours.h"

namespace counterpoint::widgets {

/// What the colours of the strip mean: 0 to the largest value (∞ has its colour too), or the names of the sources.
class ScaleBar : public QWidget {
  public:
    explicit ScaleBar(QWidget* parent) : QWidget(parent) {
        setFixedHeight(spacing::row);
        setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
        setAccessibleName(tr("Scale of the token colours"));
    }
    void setScale(const QString& right) {
        if (m_names.empty() && right == m_right) return;  // a new size lays out the whole window
        m_names.clear();
        setToolTip(tr("0 to the largest value on this trace"));
        m_right = right;
        setAccessibleDescription(tr("0 to %1").arg(right));
        updateGeometry();
        update();
    }
    void setNames(std::vector<std::pair<QString, QColor>> names) {
        QStringList all;
        for (auto& [name, colour] : names) {
            name = shortened(name);
            all << name;
        }
        setToolTip(all.join(QStringLiteral(" · ")));
        m_names = std::move(names);
        updateGeometry();
        update();
    }
    QSize sizeHint() const override {
        const QFontMetrics m = fontMetrics();
        if (m_names.empty())
            return {
                m.horizontalAdvance(QLatin1Char('0')) + kBar + 2 * spacing::tight + m.horizontalAdvance(m_right) + 4,
                spacing::row};
        int width = 0;
        for (const auto& [name, colour] : m_names) width += m.horizontalAdvance(name) + kDot + spacing::wide;
        return {width, spacing::row};
    }
    QSize minimumSizeHint() const override { return m_names.empty() ? sizeHint() : QSize(40, spacing::row); }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter p(this);
        p.setRenderHint(QPainter::Antialiasing);
        const Theme& t = currentTheme();
        p.setPen(t.quiet);
        int x = 0;
        for (const auto& [name, colour] : m_names) {
            if (x + kDot + fontMetrics().horizontalAdvance(name) > width() + 1) {
                p.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, QStringLiteral("…"));
                break;
            }
            p.fillRect(QRect(x, height() / 2 - 4, 8, 8), colour);
            const int width = fontMetrics().horizontalAdvance(name);
            p.drawText(QRect(x + kDot, 0, width + 2, height()), Qt::AlignVCenter | Qt::AlignLeft, name);
            x += kDot + width + spacing::wide;
        }
        if (!m_names.empty()) return;
        const int zero = fontMetrics().horizontalAdvance(QLatin1Char('0'));
        p.drawText(QRect(0, 0, zero + 1, height()), Qt::AlignVCenter, QStringLiteral("0"));
        for (int i = 0; i < kBar; ++i)
            p.fillRect(QRect(zero + spacing::tight + i, height() / 2 - 3, 1, 6),
                       magnitudeColour(Magnitudes::Viridis, i / (kBar - 1.0)));
        x = zero + 2 * spacing::tight + kBar;
        p.drawText(QRect(x, 0, width() - x, height()), Qt::AlignVCenter | Qt::AlignLeft, m_right);
    }

  private:
    static constexpr int kBar = 48, kDot = 12;
    QString m_right;
    std::vector<std::pair<QString, QColor>> m_names;
};

namespace {

constexpr int kListed = 28;  // letters of a name among others

/// "τ 0.7 · dialogue 1 · animals 0.5", a mixture being named first
QString dialsOf(const model::Trace& trace) {
    QString text = QStringLiteral("τ ") + formatExact(trace.session.decoding.temperature);
    if (trace.session.rule == compute::Rule::Mixture) text.prepend(TextPanel::tr("mixture · "));
    for (const model::SourceEntry& s : trace.session.specialists)
        if (s.enabled) text += QStringLiteral(" · %1 %2").arg(shortened(s.name, kListed), formatExact(s.weight));
    return text;
}

/// "1.47 nats", "1.47 nats, ∞", "∞"; the unit alone where nothing is known.
QString scaleText(const TokenStrip::Scale& scale, const QString& unit) {
    QStringList parts;
    if (scale.finite && (scale.maximum > 0 || !scale.infinite)) parts << formatNumber(scale.maximum, 2) + ' ' + unit;
    if (scale.infinite) parts << formatNumber(std::numeric_limits<double>::infinity());
    return parts.isEmpty() ? unit : parts.join(QStringLiteral(", "));
}

}  // namespace

TextPanel::TextPanel(model::Document& document, QWidget* parent) : QWidget(parent), m_document(document) {
    m_prompt = new PromptEdit(document);
    m_strip = new TokenStrip(document);
    m_traces = new QComboBox;
    m_traces->setObjectName(QStringLiteral("traces"));
    m_traces->setAccessibleName(tr("Trace"));
    m_traces->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_traces->setMinimumWidth(72);
    m_traces->setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    m_traces->setPlaceholderText(tr("no trace yet"));
    m_measure = new QComboBox;
    m_measure->setObjectName(QStringLiteral("measure"));
    m_measure->setAccessibleName(tr("Colour tokens by"));
    m_measure->setToolTip(tr("What the colours of the tokens show"));
    for (const model::StripMeasure& m : model::stripMeasures())
        m_measure->addItem(QString::fromUtf8(m.title.data(), static_cast<qsizetype>(m.title.size())),
                           QString::fromUtf8(m.id.data(), static_cast<qsizetype>(m.id.size())));
    m_scale = new ScaleBar(this);
    m_flip = new QLabel;
    m_flip->setObjectName(QStringLiteral("flip"));
    m_flip->setProperty("role", QStringLiteral("quiet"));

    const auto group = [](std::initializer_list<QWidget*> widgets) {
        auto* line = new QHBoxLayout;
        line->setSpacing(spacing::normal);
        for (QWidget* widget : widgets) line->addWidget(widget);
        line->addStretch(1);
        return line;
    };
    auto* bar = new QWidget;
    m_bar = new QBoxLayout(QBoxLayout::LeftToRight, bar);
    m_bar->setContentsMargins(spacing::wide, spacing::tight, spacing::wide, spacing::tight);
    m_bar->setSpacing(spacing::tight);
    m_bar->addLayout(group({m_traces, m_flip}), 1);
    m_bar->addLayout(group({m_measure, m_scale}));
    auto* lower = new QWidget;
    auto* column = new QVBoxLayout(lower);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(bar);
    column->addWidget(m_strip, 1);
    auto* upper = new QWidget;
    auto* pad = new QVBoxLayout(upper);
    pad->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::tight);
    pad->addWidget(m_prompt);
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->addWidget(upper);
    splitter->addWidget(lower);
    splitter->setStretchFactor(0, 0);
    splitter->setStretchFactor(1, 1);
    splitter->setChildrenCollapsible(false);
    auto* all = new QVBoxLayout(this);
    all->setContentsMargins(0, 0, 0, 0);
    all->addWidget(splitter);
    setFocusProxy(m_strip);

    using model::Document;
    connect(&m_document, &Document::traceSelected, this, &TextPanel::readTraces);
    connect(&m_document, &Document::recomposed, this, [this] {
        readTraces();
        readFlip();
    });
    connect(&m_document, &Document::traceChanged, this, &TextPanel::readFlip);
    connect(&m_document, &Document::viewChanged, this, &TextPanel::readView);
    connect(m_strip, &TokenStrip::scaleChanged, this, &TextPanel::readView);
    connect(m_traces, &QComboBox::activated, this,
            [this](int row) { m_document.selectTrace(m_traces->itemData(row).toInt()); });
    connect(m_measure, &QComboBox::activated, this, [this](int row) {
        model::View view = m_document.view();
        view.stripMeasure = m_measure->itemData(row).toString().toStdString();
        m_document.setView(view);
    });
    readTraces();
    readView();
}

void TextPanel::fitBar() {
    // In one line where it is whole there, else in two. The groups would tell what they measured before the last text.
    m_bar->invalidate();
    m_bar->activate();
    const QMargins margins = m_bar->contentsMargins();
    const int whole = m_bar->itemAt(0)->sizeHint().width() + m_bar->itemAt(1)->sizeHint().width() + spacing::wide +
                      margins.left() + margins.right();
    m_bar->setDirection(whole <= width() ? QBoxLayout::LeftToRight : QBoxLayout::TopToBottom);
}

void TextPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fitBar();
}

void TextPanel::readTraces() {
    m_traces->clear();
    const auto& traces = m_document.traces();
    const std::function<void(int, int)> below = [&](int parent, int depth) {
        for (const auto& trace : traces) {
            if (trace->parent != parent) continue;
            QString text = QString(2 * depth, QLatin1Char(' ')) + QString::fromStdString(trace->name);
            if (depth > 0) text += tr(" at %1").arg(trace->branchedAt);
            m_traces->addItem(text + QStringLiteral("   ") + dialsOf(*trace), trace->id);
            below(trace->id, depth + 1);
        }
    };
    below(-1, 0);
    m_traces->setEnabled(m_traces->count() > 0);
    for (int row = 0; row < m_traces->count(); ++row)
        m_traces->setItemData(row, m_traces->itemText(row).trimmed(), Qt::ToolTipRole);
    m_traces->setCurrentIndex(m_document.trace() == nullptr ? -1 : m_traces->findData(m_document.trace()->id));
    const QString help = tr("Traces and their branches, with the dials they were decoded with");
    m_traces->setToolTip(m_traces->currentText().isEmpty() ? help : m_traces->currentText() + QLatin1Char('\n') + help);
    readFlip();
}

void TextPanel::readFlip() {
    const model::Trace* trace = m_document.trace();
    const bool flipped = trace != nullptr && trace->flip.has_value();
    m_flip->setVisible(trace != nullptr && !trace->steps.empty());
    m_flip->setText(flipped ? tr("exact to %1 | teacher-forced").arg(*trace->flip - 1)
                    : trace != nullptr && !trace->steps.empty() ? tr("exact to %1").arg(trace->steps.back()->position)
                                                                : QString());
    m_flip->setToolTip(flipped
                           ? tr("With the present dials another token would be drawn at position %1; from there on the "
                                "stored tokens are only scored. Generate to decode with these dials.")
                                 .arg(*trace->flip)
                           : tr("The present dials draw exactly these tokens."));
    fitBar();
}

void TextPanel::readView() {
    const std::string& id = m_document.view().stripMeasure;
    const int row = std::max(0, m_measure->findData(QString::fromStdString(id)));
    m_measure->setCurrentIndex(row);
    const model::StripMeasure& measure = model::stripMeasures()[static_cast<std::size_t>(row)];
    if (!measure.categorical) {
        m_scale->setScale(scaleText(
            m_strip->scale(), QString::fromUtf8(measure.unit.data(), static_cast<qsizetype>(measure.unit.size()))));
        return fitBar();
    }
    std::vector<std::pair<QString, QColor>> names;
    const std::vector<std::string> sources =
        m_document.trace() == nullptr ? m_document.session().sourceNames() : m_document.trace()->sources;
    for (const std::string& source : sources)
        names.emplace_back(told(source),
                           seriesColour(currentTheme(), SourceColours::of(m_document).colour(source)));
    names.emplace_back(tr("several"), currentTheme().accent);
    names.emplace_back(tr("nobody"), currentTheme().grey);
    m_scale->setNames(std::move(names));
    fitBar();
}

}  // namespace counterpoint::widgets
