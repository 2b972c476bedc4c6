#include "widgets/sourcerow.h"

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QVBoxLayout>
#include <cmath>
#include <utility>

#include "widgets/attempt.h"
#include "widgets/palette.h"
#include "widgets/rackparts.h"
#include "widgets/shortname.h"
#include "widgets/sourcecolours.h"

namespace counterpoint::widgets {
namespace {

constexpr double kWeightBound = 1e6;
constexpr int kLight = 10;

/// Filled in the source's colour where it is active at the cursor; hollow where it is not; absent without a step.
class Light : public QWidget {
  public:
    explicit Light(QWidget* parent) : QWidget(parent) { setFixedSize(kLight + 4, kLight + 4); }
    void set(std::optional<double> nats, double epsilon, const QColor& colour) {
        m_nats = nats;
        m_epsilon = epsilon;
        m_colour = colour;
        const QString text = nats ? tr("Activity at the cursor: %1 nats (%2)")
                                        .arg(formatNumber(*nats, 3), active() ? tr("active") : tr("not active"))
                                  : tr("No activity: there is no step at the cursor.");
        setToolTip(text);
        setAccessibleName(text);
        update();
    }

  protected:
    void paintEvent(QPaintEvent*) override {
        QPainter p(this);
        p.setRenderHint(QPainter::Antialiasing);
        const QRectF circle(2.75, 2.75, kLight - 1.5, kLight - 1.5);
        p.setPen(QPen(m_nats ? m_colour : currentTheme().line, 1.5));
        if (active()) p.setBrush(m_colour);
        p.drawEllipse(circle);
    }

  private:
    bool active() const { return m_nats && *m_nats > m_epsilon; }
    std::optional<double> m_nats;
    double m_epsilon = 0.1;
    QColor m_colour;
};

/// A name that is never cut: it ends in "…" where there is no room, and is told whole on hover.
class NameLabel : public QLabel {
  public:
    explicit NameLabel(const QString& name) : QLabel(name) {
        setObjectName(QStringLiteral("name"));
        setProperty("role", QStringLiteral("title"));
        setTextFormat(Qt::PlainText);
    }
    QSize sizeHint() const override { return QLabel::sizeHint().boundedTo({kWidest, QWIDGETSIZE_MAX}); }
    QSize minimumSizeHint() const override {
        return {std::min(sizeHint().width(), 6 * fontMetrics().averageCharWidth()), sizeHint().height()};
    }

  protected:
    static constexpr int kWidest = 400;
    void paintEvent(QPaintEvent*) override {
        QPainter p(this);
        p.setPen(isEnabled() ? currentTheme().text : currentTheme().quiet);
        p.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter,
                   fontMetrics().elidedText(text(), Qt::ElideMiddle, width()));
    }
};

/// 1.2 M
QString amount(std::int64_t n) {
    const double x = static_cast<double>(n);
    if (x >= 1e9) return formatNumber(x / 1e9, 2) + QStringLiteral(" G");
    if (x >= 1e6) return formatNumber(x / 1e6, 1) + QStringLiteral(" M");
    if (x >= 1e3) return formatNumber(x / 1e3, 0) + QStringLiteral(" k");
    return QString::number(n);
}

}  // namespace

SourceRow::SourceRow(model::Document& document, std::size_t source, QWidget* parent)
    : QWidget(parent), m_document(document), m_source(source) {
    const QString name = QString::fromStdString(document.session().source(source).name);
    setObjectName(QStringLiteral("source.") + name);
    setAccessibleName(source == 0 ? tr("Base %1").arg(name) : tr("Specialist %1").arg(name));
    setFocusPolicy(Qt::ClickFocus);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::normal, spacing::normal, spacing::normal, spacing::normal);
    column->setSpacing(spacing::tight);
    auto* head = new QHBoxLayout;
    head->setSpacing(spacing::tight);
    column->addLayout(head);
    m_name = new NameLabel(name);
    m_light = new Light(this);
    if (source > 0) {
        QToolButton* grip =
            rackButton(Glyph::Grip, QStringLiteral("grip"), tr("Drag to reorder; Alt+Up and Alt+Down do the same"));
        grip->setFixedWidth(14);
        grip->setFocusPolicy(Qt::NoFocus);
        grip->setCursor(Qt::OpenHandCursor);
        grip->installEventFilter(this);
        head->addWidget(grip);
        m_switch = new QCheckBox;
        m_switch->setObjectName(QStringLiteral("switch"));
        m_switch->setAccessibleName(tr("%1 has a say").arg(name));
        m_switch->setToolTip(tr("On: this specialist has a say. Off: muted, but still fed and shown."));
        head->addWidget(m_switch);
        connect(m_switch, &QCheckBox::clicked, this,
                [this](bool on) { edit({}, [on](model::Session&, model::SourceEntry& s) { s.enabled = on; }); });
    }
    head->addWidget(m_light);
    head->addWidget(m_name, 1);
    if (source == 0) {
        auto* role = new QLabel(tr("base"));
        role->setProperty("role", QStringLiteral("quiet"));
        role->setVisible(name != tr("base"));
        head->addWidget(role);
    } else {
        m_solo = new QToolButton;
        m_solo->setText(tr("Solo"));
        m_solo->setObjectName(QStringLiteral("solo"));
        m_solo->setCheckable(true);
        m_solo->setAccessibleName(tr("Solo %1").arg(name));
        m_solo->setToolTip(tr("Only this specialist; again: as it was"));
        m_solo->setFixedHeight(spacing::row);
        m_solo->setStyleSheet(QStringLiteral("padding: 0px 6px;"));
        head->addWidget(m_solo);
        connect(m_solo, &QToolButton::clicked, this, &SourceRow::soloToggled);
        m_more = rackButton(Glyph::More, QStringLiteral("more"), tr("More about %1").arg(shortened(name)));
        m_more->setPopupMode(QToolButton::InstantPopup);
        m_more->setMenu(&m_menu);
        head->addWidget(m_more);
        connect(&m_menu, &QMenu::aboutToShow, this, &SourceRow::fillMenu);
        auto* weights = new QHBoxLayout;
        weights->setSpacing(spacing::tight);
        column->addLayout(weights);
        m_weight = new ValueSlider(tr("Weight of %1").arg(name), {.minimum = -1,
                                                                  .maximum = 3,
                                                                  .step = 0.01,
                                                                  .fieldMinimum = -kWeightBound,
                                                                  .fieldMaximum = kWeightBound,
                                                                  .integer = false,
                                                                  .logarithmic = false,
                                                                  .slider = true});
        m_weight->setObjectName(QStringLiteral("weight"));
        m_weight->setToolTip(tr("Weight w: 1 is logit composition, 0 has no say, below 0 pushes away (R1)"));
        weights->addWidget(m_weight, 1);
        m_reset = rackButton(Glyph::Reset, QStringLiteral("reset"), tr("Weight back to 1"));
        weights->addWidget(m_reset);
        connect(m_weight, &ValueSlider::moved, this, [this] {
            edit(weightKey(), [this](model::Session&, model::SourceEntry& s) { s.weight = m_weight->value(); });
        });
        connect(m_weight, &ValueSlider::settled, this, [this] { m_document.endMerge(); });
        connect(m_weight, &ValueSlider::refused, this, [this](const QString& reason) {
            m_document.notify(model::Notice::Level::Warning,
                              "Weight of '" + m_document.session().source(m_source).name + "': " + reason.toStdString(),
                              {}, weightKey());
        });
        connect(m_reset, &QToolButton::clicked, this, [this] {
            edit({}, [](model::Session&, model::SourceEntry& s) { s.weight = model::SourceEntry{}.weight; });
        });
    }
    m_state = stateLabel();
    column->addWidget(m_state);
    refresh();
}

std::string SourceRow::weightKey() const { return "weight:" + m_document.session().source(m_source).name; }

void SourceRow::edit(const std::string& merge,
                     const std::function<void(model::Session&, model::SourceEntry&)>& change) {
    attempt(
        m_document,
        [&] {
            model::Session session = m_document.session();
            change(session, session.source(m_source));
            m_document.setSession(std::move(session), merge);
        },
        merge);
}

void SourceRow::refresh() {
    if (m_source >= m_document.session().sourceCount()) return;
    const model::SourceEntry& entry = m_document.session().source(m_source);
    if (m_switch != nullptr) {
        m_switch->setChecked(entry.enabled);
        m_weight->setValue(entry.weight);
        m_reset->setEnabled(entry.weight != model::SourceEntry{}.weight);
        m_name->setEnabled(entry.enabled);
    }
    const model::SourceStatus status = m_document.status(m_source);
    using State = model::SourceStatus::State;
    QString state;
    switch (status.state) {
        case State::Unloaded:
            state = tr("not loaded");
            break;
        case State::Loading:
            state = m_document.activity().empty()
                        ? tr("loading")
                        : tr("loading · %1").arg(QString::fromStdString(m_document.activity()));
            break;
        case State::Failed:
            state = QString::fromStdString(status.message);
            break;
        case State::Ready:
            state = status.info.kind == "recording"
                        ? tr("recording · %1 tokens · %2")
                              .arg(QString::number(status.info.maxPositions), QString::fromStdString(status.info.dtype))
                        : tr("%1 parameters · %2 · %3")
                              .arg(amount(status.info.parameters), QString::fromStdString(status.info.dtype),
                                   QString::fromStdString(status.info.device));
            break;
    }
    if (m_source > 0 && entry.reference != "base")
        state +=
            entry.reference == "none" ? tr(" · no reference") : tr(" · against %1").arg(shortened(entry.reference));
    showState(*m_state, state, status.state == State::Failed);
    setToolTip(hover());
}

QString SourceRow::hover() const {
    const model::SourceEntry& entry = m_document.session().source(m_source);
    const model::SourceStatus status = m_document.status(m_source);
    QString text = QStringLiteral("<b>%1</b><table>").arg(shortened(entry.name, kHoverLetters).toHtmlEscaped());
    const auto row = [&](const QString& name, const QString& value) { text += hoverRow(name, value); };
    row(tr("Path"), told(m_document.session().resolve(entry.path).string()));
    row(tr("Architecture"), QString::fromStdString(status.info.architecture));
    row(tr("Dtype"), QString::fromStdString(status.info.dtype));
    if (status.info.parameters > 0)
        row(tr("Parameters"), QLocale::c().toString(static_cast<qlonglong>(status.info.parameters)));
    if (status.info.tiedHead) row(tr("Head"), tr("tied to the embedding"));
    if (!status.info.positionScaling.empty()) row(tr("Positions"), QString::fromStdString(status.info.positionScaling));
    if (status.info.maxPositions > 0) row(tr("Positions"), QString::number(status.info.maxPositions));
    row(tr("Tokenizer"), QString::fromStdString(status.fingerprint).left(16));
    row(tr("Weights"), QString::fromStdString(status.info.weightsSha256).left(16));
    for (const std::string& notice : status.info.notices) row(tr("Note"), QString::fromStdString(notice));
    return text + QStringLiteral("</table>");
}

QColor SourceRow::colour() const {
    return seriesColour(currentTheme(), SourceColours::of(m_document).colour(m_name->text().toStdString()));
}

void SourceRow::setActivity(std::optional<double> nats, double epsilon) {
    static_cast<Light*>(m_light)->set(nats, epsilon, colour());
}

void SourceRow::setSolo(bool on) {
    if (m_solo != nullptr) m_solo->setChecked(on);
}

void SourceRow::fillMenu() {
    m_menu.clear();
    const model::Session& session = m_document.session();
    const std::string reference = session.source(m_source).reference;
    QMenu* references = m_menu.addMenu(tr("Reference"));
    std::vector<std::string> names = session.sourceNames();
    names[0] = "base";
    names.push_back("none");
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (i == m_source) continue;
        QAction* action = references->addAction(shortened(names[i]));
        action->setCheckable(true);
        action->setChecked(names[i] == reference);
        connect(action, &QAction::triggered, this, [this, name = names[i]] {
            edit({}, [&name](model::Session&, model::SourceEntry& s) { s.reference = name; });
        });
    }
    m_menu.addSeparator();
    QAction* up = m_menu.addAction(tr("Move up"));
    up->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Up));
    up->setEnabled(m_source > 1);
    connect(up, &QAction::triggered, this, [this] { Q_EMIT moveRequested(-1); });
    QAction* down = m_menu.addAction(tr("Move down"));
    down->setShortcut(QKeySequence(Qt::ALT | Qt::Key_Down));
    down->setEnabled(m_source + 1 < session.sourceCount());
    connect(down, &QAction::triggered, this, [this] { Q_EMIT moveRequested(1); });
    m_menu.addSeparator();
    QAction* remove = m_menu.addAction(tr("Remove from the rack"));
    connect(remove, &QAction::triggered, this, [this] {
        edit({}, [this](model::Session& s, model::SourceEntry& removed) {
            const std::string name = removed.name;  // what measured against it measures against the base again
            s.specialists.erase(s.specialists.begin() + static_cast<std::ptrdiff_t>(m_source) - 1);
            for (model::SourceEntry& other : s.specialists)
                if (other.reference == name) other.reference = "base";
        });
    });
}

void SourceRow::keyPressEvent(QKeyEvent* event) {
    const bool up = event->key() == Qt::Key_Up, down = event->key() == Qt::Key_Down;
    if (m_source > 0 && (up || down) && event->modifiers().testFlag(Qt::AltModifier))
        return Q_EMIT moveRequested(up ? -1 : 1);
    QWidget::keyPressEvent(event);
}

void SourceRow::paintEvent(QPaintEvent*) { paintRackRow(*this, colour()); }

bool SourceRow::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::MouseButtonPress) {
        m_dragging = true;
        setFocus();
        return true;
    }
    if (event->type() == QEvent::MouseButtonRelease && std::exchange(m_dragging, false)) {
        Q_EMIT dropped(static_cast<QMouseEvent*>(event)->globalPosition().toPoint());
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace counterpoint::widgets
