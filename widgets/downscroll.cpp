#include "widgets/downscroll.h"

#include <QScrollBar>

namespace counterpoint::widgets {

DownScroll::DownScroll(const char* name, QWidget* parent) : QScrollArea(parent) {
    setObjectName(QLatin1String(name));
    setFrameShape(QFrame::NoFrame);
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

QSize DownScroll::minimumSizeHint() const {
    const int width = widget() == nullptr ? 0 : widget()->minimumSizeHint().width();
    return {width + verticalScrollBar()->sizeHint().width(), QScrollArea::minimumSizeHint().height()};
}

}  // namespace counterpoint::widgets
