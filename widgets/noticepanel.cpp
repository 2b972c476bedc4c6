#include "widgets/noticepanel.h"

#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QScrollArea>
#include <QScrollBar>
#include <QTimer>
#include <QToolButton>
#include <QVBoxLayout>
#include <algorithm>

#include "widgets/attempt.h"
#include "widgets/icons.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

using Level = model::Notice::Level;
constexpr std::size_t kShown = 3;
constexpr int kRowsAtOnce = 2;

/// As high as one line of text and its buttons.
void makeLow(QToolButton& button) {
    button.setFixedHeight(spacing::row);
    button.setStyleSheet(QStringLiteral("padding: 0px 6px;"));
}

/// One notice: a bar in the level's colour, the sentence, the folded details.
class NoticeRow : public QWidget {
  public:
    NoticeRow(const model::Notice& notice, QWidget* parent) : QWidget(parent), m_level(notice.level) {
        setObjectName(QStringLiteral("notice.%1").arg(notice.id));
        auto* column = new QVBoxLayout(this);
        column->setContentsMargins(spacing::wide, spacing::hair, spacing::tight, spacing::hair);
        column->setSpacing(spacing::tight);
        auto* line = new QHBoxLayout;
        line->setSpacing(spacing::normal);
        auto* sentence = new QLabel(told(notice.sentence));
        sentence->setTextFormat(Qt::PlainText);
        sentence->setWordWrap(true);
        sentence->setMinimumWidth(1);  // a word longer than the line leaves the buttons their place
        sentence->setTextInteractionFlags(Qt::TextSelectableByMouse);
        sentence->setObjectName(QStringLiteral("sentence"));
        line->addWidget(sentence, 1);
        column->addLayout(line);
        if (!notice.details.empty()) {
            auto* details = new QLabel(QString::fromStdString(notice.details));
            details->setTextFormat(Qt::PlainText);
            details->setWordWrap(true);
            details->setMinimumWidth(1);
            details->setTextInteractionFlags(Qt::TextSelectableByMouse);
            details->setProperty("role", QStringLiteral("quiet"));
            details->setObjectName(QStringLiteral("details"));
            details->hide();
            auto* fold = new QToolButton;
            fold->setText(tr("Details"));
            makeLow(*fold);
            fold->setCheckable(true);
            fold->setToolTip(tr("Show or hide the details"));
            fold->setAccessibleName(tr("Show details"));
            connect(fold, &QToolButton::toggled, details, &QWidget::setVisible);
            line->addWidget(fold);
            column->addWidget(details);
        }
        if (notice.restarts) {
            m_restart = new QToolButton;
            m_restart->setObjectName(QStringLiteral("restart"));
            m_restart->setText(tr("Restart engine"));
            makeLow(*m_restart);
            m_restart->setToolTip(tr("Leave the call behind"));
            m_restart->setAccessibleName(tr("Restart engine"));
            line->addWidget(m_restart);
        }
        m_close = new QToolButton;
        m_close->setObjectName(QStringLiteral("close"));
        m_close->setIcon(lineIcon(Glyph::Close));
        m_close->setIconSize({12, 12});
        makeLow(*m_close);
        m_close->setToolTip(tr("Close this notice"));
        m_close->setAccessibleName(tr("Close this notice"));
        line->addWidget(m_close);
    }
    QToolButton* closeButton() { return m_close; }
    QToolButton* restartButton() { return m_restart; }  ///< null: it has none

  protected:
    void paintEvent(QPaintEvent*) override {
        const Theme& t = currentTheme();
        QPainter painter(this);
        painter.fillRect(rect(), t.surface);
        const QColor colour = m_level == Level::Failure ? t.failure : m_level == Level::Warning ? t.warning : t.accent;
        painter.fillRect(QRect(0, 0, 3, height()), colour);
    }

  private:
    Level m_level;
    QToolButton *m_close = nullptr, *m_restart = nullptr;
};

/// The rows, as high as they are at this width but no higher than so many of one line: a window grows for a bar that is
/// higher, and a bar would take for broken text what a narrow one needs.
class Rows : public QScrollArea {
  public:
    Rows() {
        setFrameShape(QFrame::NoFrame);
        setWidgetResizable(true);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setFocusPolicy(Qt::NoFocus);
        setFixedHeight(line());
    }

  protected:
    bool event(QEvent* event) override {
        const bool done = QScrollArea::event(event);
        if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Resize) fit();
        return done;
    }

  private:
    int line() const { return std::max(spacing::row, fontMetrics().height()) + 2 * spacing::hair; }
    void fit() {
        if (widget() == nullptr || !widget()->hasHeightForWidth()) return;  // no row
        const int most = kRowsAtOnce * line() + (kRowsAtOnce - 1) * spacing::tight;
        setFixedHeight(std::min(most, std::max(line(), widget()->heightForWidth(viewport()->width()))));
    }
};

}  // namespace

NoticePanel::NoticePanel(model::Document& document, QWidget* parent, int infoMs)
    : QWidget(parent), m_document(document), m_infoMs(infoMs) {
    setObjectName(QStringLiteral("noticePanel"));
    setAccessibleName(tr("Notices"));
    m_line = new QHBoxLayout(this);
    m_line->setContentsMargins(spacing::normal, 0, spacing::normal, 0);
    m_line->setSpacing(spacing::normal);
    m_scroll = new Rows;
    auto* rows = new QWidget;
    m_rows = new QVBoxLayout(rows);
    m_rows->setContentsMargins(0, 0, 0, 0);
    m_rows->setSpacing(spacing::tight);
    m_scroll->setWidget(rows);
    m_line->addWidget(m_scroll, 1);
    connect(&m_document, &model::Document::noticesChanged, this, &NoticePanel::refresh);
    refresh();
}

void NoticePanel::goLater(int id) {
    QTimer::singleShot(m_infoMs, this, [this, id] {
        const auto* row = findChild<QWidget*>(QStringLiteral("notice.%1").arg(id));
        if (row != nullptr && row->underMouse()) return goLater(id);  // it is being read
        m_document.dismiss(id);
    });
}

void NoticePanel::refresh() {
    while (QLayoutItem* item = m_rows->takeAt(0)) {
        if (QWidget* widget = item->widget()) {
            widget->hide();
            widget->setObjectName(QString());  // goLater looks for those that are shown
            widget->deleteLater();             // a row may be closing itself
        }
        delete item;
    }
    if (m_more != nullptr) {
        m_more->hide();
        m_more->deleteLater();
        m_more = nullptr;
    }
    const auto& notices = m_document.notices();
    for (const model::Notice& notice : notices) {
        if (notice.id <= m_timed) continue;
        m_timed = notice.id;
        if (notice.level == Level::Info) goLater(notice.id);
    }
    const std::size_t shown = std::min(kShown, notices.size());
    for (std::size_t k = 0; k < shown; ++k) {
        const model::Notice& notice = notices[notices.size() - 1 - k];
        auto* row = new NoticeRow(notice, m_scroll->widget());
        connect(row->closeButton(), &QToolButton::clicked, this, [this, id = notice.id] { m_document.dismiss(id); });
        if (QToolButton* restart = row->restartButton())
            connect(restart, &QToolButton::clicked, this,
                    [this] { attempt(m_document, [this] { m_document.restartEngine(); }); });
        m_rows->addWidget(row);
    }
    m_scroll->verticalScrollBar()->setValue(0);  // the newest
    if (notices.size() > shown) {
        auto* more = new QToolButton(this);
        makeLow(*more);
        more->setObjectName(QStringLiteral("closeAll"));
        more->setToolTip(tr("Close every notice"));
        more->setText(tr("and %1 more · close all").arg(notices.size() - shown));
        connect(more, &QToolButton::clicked, this, [this] {
            const std::vector<model::Notice> all = m_document.notices();
            for (const model::Notice& notice : all) m_document.dismiss(notice.id);
        });
        m_line->addWidget(more, 0, Qt::AlignBottom);
        m_more = more;
    }
    Q_EMIT occupied(shown > 0);
}

}  // namespace counterpoint::widgets
