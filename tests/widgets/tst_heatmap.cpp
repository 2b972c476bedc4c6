// Heat maps under mouse and keys, offscreen: every cell's colour at its place, what is chosen outlined, gaps grey, more
// cells than pixels as means, a frame's time. $COUNTERPOINT_PICTURES: where to keep pictures.
#include <QApplication>
#include <QPainter>
#include <QSignalSpy>
#include <QWheelEvent>
#include <ctime>
#include <limits>

#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/plots.h"
#include "widgets/plotheat.h"
#include "widgets/plotpanel.h"

using namespace counterpoint;
using namespace counterpoint::widgets;

namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void put(PlotView& view, const model::PlotData& plot, const QSize& size = {700, 360}) {
    view.resize(size);
    view.show();
    QVERIFY(QTest::qWaitForWindowExposed(&view));
    const quint64 before = view.replots();
    view.setPlot(plot);
    WAIT_UNTIL(view.replots() > before);
    QCoreApplication::processEvents();
}

QWidget* canvasOf(PlotView& view) { return view.childAt(view.rect().center()); }

/// The colour in the middle of a cell.
QColor seen(PlotView& view, const QImage& image, double x, double row) {
    return QColor(image.pixel(view.toPixel(x, row).toPoint()));
}

QColor wanted(const model::PlotData& plot, std::size_t row, std::size_t column) {
    return QColor(HeatColours(*plot.heat, currentTheme()).at(plot.heat->values[row * plot.heat->columns + column]));
}

double threadMs() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

/// A map alone on pixels, without axes.
struct Bare {
    Scene scene;
    Frame frame;
    Bare(const model::PlotData& plot, const QSizeF& size) {
        scene.look.theme = &theme(ThemeKind::Light);
        scene.plot = plot;
        scene.prepared = prepare(plot, false);
        frame.area = QRectF(QPointF(0, 0), size);
        const auto way = [](Range range, double length) {
            return [range, length](double u) { return (u - range.lower) / range.size() * length; };
        };
        frame.x = way(scene.prepared.x.range, size.width());
        frame.y = way(scene.prepared.y.range, size.height());
    }
    QImage image(HeatPicture& picture, double scale = 1) const {
        QImage image((frame.area.size() * scale).toSize(), QImage::Format_RGB32);
        image.fill(Qt::white);
        QPainter painter(&image);
        painter.scale(scale, scale);
        picture.paint(painter, scene, frame);
        return image;
    }
};

}  // namespace

class TestHeatMap : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeKind::Light); }
    void init() { tests::failOnAnyWarning(); }

    void everyCellHasItsColourAtItsPlace_data() {
        QTest::addColumn<bool>("diverging");
        QTest::addColumn<int>("kind");
        for (const bool diverging : {false, true}) {
            QTest::addRow("%s light", diverging ? "diverging" : "even")
                << diverging << static_cast<int>(ThemeKind::Light);
            QTest::addRow("%s dark", diverging ? "diverging" : "even")
                << diverging << static_cast<int>(ThemeKind::Dark);
        }
    }
    void everyCellHasItsColourAtItsPlace() {
        QFETCH(bool, diverging);
        QFETCH(int, kind);
        applyTheme(*qApp, static_cast<ThemeKind>(kind));
        const auto back = qScopeGuard([] { applyTheme(*qApp, ThemeKind::Light); });
        model::PlotData plot = tests::heatPlot(6, 40, diverging);
        plot.heat->values[2 * 40 + 7] = kNaN;
        PlotView view;
        put(view, plot);
        const QImage image = view.grab().toImage();
        for (const std::size_t row : {0u, 2u, 5u})
            for (const std::size_t column : {0u, 7u, 20u, 39u})
                QCOMPARE(seen(view, image, 1.0 + static_cast<double>(column), static_cast<double>(row)),
                         wanted(plot, row, column));
        QVERIFY(view.toPixel(1, 0).y() < view.toPixel(1, 5).y());  // the first expert on top
        QCOMPARE(wanted(plot, 2, 7), currentTheme().grey);         // a gap
        // The bar beside it goes from the lowest to the highest colour, upwards.
        const double bar = view.toPixel(40.5, 0).x() + 8 + 4;
        const auto at = [&](double row) {
            return QColor(image.pixel(QPointF(bar, view.toPixel(1, row).y()).toPoint()));
        };
        const HeatColours colours(*plot.heat, currentTheme());
        const auto near = [](const QColor& a, const QColor& b) {
            return std::abs(a.red() - b.red()) + std::abs(a.green() - b.green()) + std::abs(a.blue() - b.blue()) < 24;
        };
        QVERIFY2(near(at(-0.48), QColor(colours.at(1))), qPrintable(at(-0.48).name()));
        QVERIFY2(near(at(5.46), QColor(colours.at(static_cast<float>(plot.heat->low)))), qPrintable(at(5.46).name()));
        if (const QString folder = qEnvironmentVariable("COUNTERPOINT_PICTURES"); !folder.isEmpty())
            view.grab().save(folder + "/heat-" + QString(QTest::currentDataTag()).replace(' ', '-') + ".png");
    }

    void neutralStandsForNothing() {
        model::Heat heat;
        heat.low = -0.25;
        heat.diverging = true;
        const HeatColours colours(heat, theme(ThemeKind::Light));
        QVERIFY(QColor(colours.at(0)).saturation() < 8);
        // As far from 0, as strong, on either side.
        const auto lightness = [&](float v) { return QColor(colours.at(v)).lightness(); };
        QVERIFY2(std::abs(lightness(0.2F) - lightness(-0.2F)) <= 8,
                 qPrintable(QString("%1 %2").arg(lightness(0.2F)).arg(lightness(-0.2F))));
        QVERIFY(lightness(1) < lightness(0.2F));
        QVERIFY(QColor(colours.at(0.2F)).red() > QColor(colours.at(0.2F)).blue());
        QVERIFY(QColor(colours.at(-0.2F)).red() < QColor(colours.at(-0.2F)).blue());
    }

    void chosenCellsAreOutlinedWhereTheyAreLarge() {
        const auto different = [](std::size_t columns) {
            model::PlotData plot = tests::heatPlot(6, columns), plain = plot;
            plain.heat->marked.clear();
            HeatPicture one, other;
            return Bare(plot, {400, 120}).image(one) != Bare(plain, {400, 120}).image(other);
        };
        QVERIFY(different(20));
        QVERIFY(!different(200));  // two pixels wide: there is no room
        model::PlotData plot = tests::heatPlot(6, 20);
        HeatPicture picture;
        const QImage image = Bare(plot, {400, 120}).image(picture);
        for (std::size_t r = 0; r < 6; ++r)  // one pixel inside its edge
            for (std::size_t c = 0; c < 20; ++c) {
                const QColor edge(image.pixel(static_cast<int>(c) * 20 + 1, static_cast<int>(r) * 20 + 10));
                const bool outlined = edge == Qt::white || edge == Qt::black;
                QCOMPARE(outlined, bool(plot.heat->marked[r * 20 + c]));
                QCOMPARE(QColor(image.pixel(static_cast<int>(c) * 20, static_cast<int>(r) * 20 + 10)),
                         wanted(plot, r, c));
            }
    }

    void morePositionsThanPixelsAreMeans() {
        model::PlotData plot = tests::heatPlot(4, 2000);
        std::fill(plot.heat->values.begin(), plot.heat->values.end(), 0.0F);
        plot.heat->values[2 * 2000 + 1003] = 1;  // one of four in its pixel
        HeatPicture picture;
        const QImage image = Bare(plot, {500, 40}).image(picture);
        const HeatColours colours(*plot.heat, theme(ThemeKind::Light));
        QCOMPARE(image.pixel(250, 25), colours.at(0.25F));
        QCOMPARE(image.pixel(249, 25), colours.at(0));
        QCOMPARE(image.pixel(251, 25), colours.at(0));
        QCOMPARE(image.pixel(250, 5), colours.at(0));
        plot.heat->values[2 * 2000 + 1003] = kNaN;  // a gap among values is none
        HeatPicture again;
        QCOMPARE(Bare(plot, {500, 40}).image(again).pixel(250, 25), colours.at(0));
    }

    /// On a denser screen every pixel of it is computed.
    void aDenseScreenIsSharp() {
        const model::PlotData plot = tests::heatPlot(3, 30);
        HeatPicture one, other;
        model::PlotData plain = plot;
        plain.heat->marked.clear();
        const QImage sharp = Bare(plain, {100, 30}).image(one, 2);
        QCOMPARE(sharp, Bare(plain, {200, 60}).image(other));
    }

    void clicksKeysAndTheWheelAreThoseOfEveryPlot() {
        PlotView view;
        model::PlotData plot = tests::heatPlot(6, 200);
        plot.cursorX = 10;
        put(view, plot);
        QSignalSpy picked(&view, &PlotView::positionPicked);
        QTest::mouseClick(canvasOf(view), Qt::LeftButton, {}, view.toPixel(57, 3).toPoint());
        QCOMPARE(picked.size(), 1);
        QCOMPARE(picked[0][0].toLongLong(), 57);
        for (const Qt::Key key : {Qt::Key_Left, Qt::Key_Right, Qt::Key_Home, Qt::Key_End}) QTest::keyClick(&view, key);
        QCOMPARE(picked.size(), 5);
        QCOMPARE(picked[1][0].toLongLong(), 9);
        QCOMPARE(picked[2][0].toLongLong(), 11);
        QCOMPARE(picked[3][0].toLongLong(), 1);
        QCOMPARE(picked[4][0].toLongLong(), 200);
        const QPointF at = view.toPixel(50, 3);
        QWheelEvent wheel(at, view.mapToGlobal(at), {}, {0, 480}, Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase,
                          false);
        const quint64 before = view.replots();
        QCoreApplication::sendEvent(canvasOf(view), &wheel);
        QVERIFY(view.zoomed());
        WAIT_UNTIL(view.replots() > before);
        QCoreApplication::processEvents();
        QVERIFY(std::abs(view.xAt(at) - 50) < 0.6);
        QCOMPARE(seen(view, view.grab().toImage(), 52, 3), wanted(plot, 3, 51));  // cells went with it
        QTest::keyClick(&view, Qt::Key_0);
        QVERIFY(!view.zoomed());
        PlotPanel panel;
        panel.setPlot(plot);
        QVERIFY(!panel.menu().findChild<QAction*>("logScale")->isEnabled());
        QVERIFY(panel.menu().findChild<QAction*>("exportPdf")->isEnabled());
    }

    void hoveringTellsExpertPositionAndValue() {
        PlotView view;
        model::PlotData plot = tests::heatPlot(6, 40);
        plot.heat->values[4 * 40 + 11] = 0.123456F;
        plot.heat->marked.assign(240, false);
        plot.heat->marked[4 * 40 + 11] = true;
        plot.heat->values[5 * 40 + 11] = kNaN;
        put(view, plot);
        QCOMPARE(view.readoutAt(view.toPixel(12, 4)),
                 QString("Position 12 · expert 4\ninclusion probability: 0.1235\nchosen"));
        QCOMPARE(view.readoutAt(view.toPixel(12, 5)),
                 QString("Position 12 · expert 5\ninclusion probability: no value"));
        QVERIFY(view.readoutAt(view.toPixel(60, 4)).isEmpty());
    }

    void whatCannotBeDrawnIsSaid() {
        model::PlotData plot = tests::heatPlot(4, 30);
        plot.heat->values[5] = std::numeric_limits<float>::infinity();
        plot.heat->values[6] = kNaN;
        QCOMPARE(prepare(plot, false).gapNote, QString("1 value is infinite"));
        QVERIFY(hasDrawing(plot));
        plot.heat->values.pop_back();
        QVERIFY(!hasDrawing(plot));
        plot.heat = model::Heat{};
        QVERIFY(!hasDrawing(plot));
    }

    /// Names of rows never overlap: where there is no room for each, every second, fifth, tenth stands there.
    void rowsHaveTheirNames() {
        Scene scene;
        scene.plot = tests::heatPlot(64, 10);
        scene.prepared = prepare(scene.plot, false);
        const auto names = [&](int height) {
            QStringList out;
            for (const Tick& tick : axisTicks(scene, AxisKind::Values, scene.prepared.y.range, {300, height}))
                out << tick.label;
            return out;
        };
        const double line = scene.metrics().height();
        QCOMPARE(names(static_cast<int>(line * 80)).size(), 64);
        QCOMPARE(names(static_cast<int>(line * 40)).mid(0, 3), QStringList({"0", "2", "4"}));
        QCOMPARE(names(static_cast<int>(line * 15)).mid(0, 3), QStringList({"0", "5", "10"}));
        QCOMPARE(names(0).size(), 1);
        QCOMPARE(names(-20).size(), 1);
    }

    /// The cursor moves over a picture that is kept; a new one is made in less than a frame.
    void aFrameIsEnough() {
        const model::PlotData plot = tests::heatPlot(64, 2000);
        const Bare bare(plot, {1200, 600});
        HeatPicture kept;
        (void)bare.image(kept);
        (void)bare.image(kept);
        QCOMPARE(kept.made(), 1);
        double best = 1e9;
        for (int i = 0; i < 7; ++i) {
            HeatPicture picture;
            const double from = threadMs();
            (void)bare.image(picture);
            best = std::min(best, threadMs() - from);
        }
        PlotView view;
        put(view, plot, {1300, 700});
        double whole = 1e9;
        for (int i = 0; i < 7; ++i) {
            const double from = threadMs();
            const quint64 before = view.replots();
            model::PlotData moved = plot;
            moved.cursorX = 100 + i;
            view.setPlot(std::move(moved));
            WAIT_UNTIL(view.replots() > before);
            whole = std::min(whole, threadMs() - from);
        }
        qInfo("64 experts x 2000 positions: the map %.2f ms, the plot with a moved cursor %.2f ms", best, whole);
        QVERIFY2(best < 16 && whole < 16, qPrintable(QString("%1 and %2 ms").arg(best).arg(whole)));
    }
};

QTEST_MAIN(TestHeatMap)
#include "tst_heatmap.moc"
