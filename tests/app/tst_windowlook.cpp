// The window as a person sees it: nothing cut off, nothing without a name, nothing empty without a word why.

#include <QAbstractButton>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QScrollArea>
#include <QScrollBar>
#include <QSlider>
#include <QTableWidget>
#include <semaphore>

#include "tests/app/opened.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;

namespace {

/// Where a widget that is drawn whole has to lie: the part of its panel that can be seen sideways.
bool wholeSideways(const QWidget& widget, const QScrollArea& panel) {
    const QPoint left = widget.mapTo(panel.viewport(), QPoint(0, 0));
    return left.x() >= 0 && left.x() + widget.width() <= panel.viewport()->width();
}

QString named(const QWidget& widget) {
    return QLatin1String(widget.metaObject()->className()) + ' ' + widget.objectName() + " in " +
           (widget.parentWidget() != nullptr ? widget.parentWidget()->objectName() : QString());
}

bool isControl(const QWidget& widget) {
    return qobject_cast<const QAbstractButton*>(&widget) != nullptr ||
           qobject_cast<const QComboBox*>(&widget) != nullptr || qobject_cast<const QLineEdit*>(&widget) != nullptr ||
           qobject_cast<const QSlider*>(&widget) != nullptr || qobject_cast<const QTableWidget*>(&widget) != nullptr;
}

/// A control's own tooltip, or that of the group it stands in.
bool isExplained(const QWidget* widget) {
    for (; widget != nullptr && !widget->isWindow(); widget = widget->parentWidget())
        if (!widget->toolTip().isEmpty()) return true;
    return false;
}

}  // namespace

class TestWindowLook : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    void nothingIsCutOff_data() {
        QTest::addColumn<QString>("perspective");
        QTest::addColumn<QSize>("size");
        for (const QString& perspective : app::Perspectives::names())
            for (const QSize& size : {QSize(1280, 800), QSize(1440, 900), QSize(2560, 1440)})
                QTest::addRow("%s %d", qPrintable(perspective), size.width()) << perspective << size;
    }
    void nothingIsCutOff() {
        QFETCH(QString, perspective);
        QFETCH(QSize, size);
        Opened o(session(), perspective);
        o.window->resize(size);
        o.decode();
        QCOMPARE(o.window->size(), size);  // the docks' smallest sizes fit
        for (const char* panel : {"rackPanel", "dialPanel"}) {
            auto* area = o.find<QScrollArea>(panel);
            if (!area->isVisible()) continue;
            for (QWidget* widget : area->widget()->findChildren<QWidget*>()) {
                if (!widget->isVisible()) continue;
                QVERIFY2(wholeSideways(*widget, *area), qPrintable(named(*widget)));
                const auto* label = qobject_cast<QLabel*>(widget);
                if (label != nullptr && !label->wordWrap())
                    QVERIFY2(label->width() >= label->sizeHint().width(), qPrintable(label->text()));
            }
        }
        for (const QTableWidget* table : o.window->findChildren<QTableWidget*>()) {
            const QFontMetrics metrics(table->horizontalHeader()->font());
            if (table->isVisible()) {  // the last number keeps its distance from the border
                QVERIFY2(table->width() - table->viewport()->geometry().right() > 4, qPrintable(table->objectName()));
                QVERIFY2(table->horizontalScrollBar()->maximum() == 0,
                         qPrintable(QStringLiteral("%1: %2 pixels are scrolled to")
                                        .arg(table->objectName())
                                        .arg(table->horizontalScrollBar()->maximum())));
            }
            for (int c = 1; c < table->columnCount() && table->isVisible(); ++c) {
                const QTableWidgetItem* head = table->horizontalHeaderItem(c);
                QVERIFY2(metrics.horizontalAdvance(head->text()) + 6 <= table->columnWidth(c),
                         qPrintable(head->text()));
                QVERIFY2(table->columnWidth(c) < 150, qPrintable(head->text()));  // not far from its token
                QVERIFY(head->textAlignment() & Qt::AlignRight);
                for (int r = 0; r < table->rowCount(); ++r) {
                    QVERIFY(table->item(r, c)->textAlignment() & Qt::AlignRight);
                    QVERIFY2(QFontMetrics(table->item(r, c)->font()).horizontalAdvance(table->item(r, c)->text()) + 6 <
                                 table->columnWidth(c),
                             qPrintable(table->item(r, c)->text()));
                }
            }
        }
        const auto* traces = o.find<QComboBox>("traces");
        QVERIFY2(traces->width() >= traces->sizeHint().width(), qPrintable(traces->currentText()));
        if (perspective == "Compose" || perspective == "Priors") {
            const auto* table = o.find<QTableWidget>("distribution.table");
            QVERIFY2(table->viewport()->height() >= 5 * table->rowHeight(0),
                     qPrintable(QString::number(table->viewport()->height())));
        }
        const QString keep = qEnvironmentVariable("COUNTERPOINT_PICTURES");
        if (!keep.isEmpty()) o.window->grab().save(keep + '/' + QTest::currentDataTag() + ".png");
    }

    /// Names of twenty letters, which differ at one end, beside each other.
    void longNamesFit_data() {
        QTest::addColumn<QString>("perspective");
        for (const QString& perspective : app::Perspectives::names())
            QTest::newRow(qPrintable(perspective)) << perspective;
    }
    void longNamesFit() {
        QFETCH(QString, perspective);
        model::Session s = session();
        s.base.name = "base-model-of-length";
        s.specialists.resize(3);
        const char* names[] = {"dialogue-specialist1", "dialogue-specialist2", "animals-and-others-x"};
        for (std::size_t i = 0; i < 3; ++i) s.specialists[i].name = s.specialists[i].path = names[i];
        Opened o(s, perspective);
        o.decode();
        QCoreApplication::processEvents();
        QCOMPARE(o.window->size(), QSize(1280, 800));
        for (const QTableWidget* table : o.window->findChildren<QTableWidget*>()) {
            if (!table->isVisible()) continue;
            QVERIFY2(table->horizontalScrollBar()->maximum() == 0,
                     qPrintable(QStringLiteral("%1: %2 pixels are scrolled to")
                                    .arg(table->objectName())
                                    .arg(table->horizontalScrollBar()->maximum())));
            QSet<QString> heads;
            const QFontMetrics metrics(table->horizontalHeader()->font());
            for (int c = 0; c < table->columnCount(); ++c) {
                const QString head = table->horizontalHeaderItem(c)->text();
                heads << metrics.elidedText(head, Qt::ElideMiddle, table->columnWidth(c) - 6);
                QVERIFY2(table->horizontalHeaderItem(c)->toolTip().contains(head) || head.size() < 20,
                         qPrintable(head));
                for (int r = 0; c > 0 && r < table->rowCount(); ++r)
                    QVERIFY2(QFontMetrics(table->item(r, c)->font()).horizontalAdvance(table->item(r, c)->text()) + 6 <
                                 table->columnWidth(c),
                             qPrintable(table->item(r, c)->text()));
            }
            QCOMPARE(heads.size(), table->columnCount());  // no two read alike
        }
    }

    /// A name as long as a page has its place like another; what is told on hover is limited too.
    void aNameOfFiveThousandLetters() {
        model::Session s = session();
        s.base.name = std::string(5000, 'b');
        s.specialists[0].name = std::string(5000, 'x');
        s.specialists[1].reference = s.specialists[0].name;
        Opened o(s);
        o.decode();
        QCoreApplication::processEvents();
        QCOMPARE(o.window->size(), QSize(1280, 800));
        constexpr int kMost = 3000;
        for (const QWidget* widget : o.window->findChildren<QWidget*>()) {
            QVERIFY2(widget->toolTip().size() < kMost, qPrintable(widget->objectName().left(40)));
            if (widget->isVisible()) QVERIFY2(widget->width() <= 1280, qPrintable(widget->objectName().left(40)));
        }
        const auto* table = o.find<QTableWidget>("distribution.table");
        for (int c = 0; c < table->columnCount(); ++c) {
            QVERIFY(table->columnWidth(c) < 200);
            QVERIFY(table->horizontalHeaderItem(c)->toolTip().size() < 400);
        }
        QCOMPARE(table->horizontalScrollBar()->maximum(), 0);
        QVERIFY(o.find<widgets::TokenStrip>("tokenStrip")->hoverText(9).size() < kMost);
        QVERIFY(o.find<QComboBox>("traces")->itemText(0).size() < 200);
    }

    /// Titles of tabs that are scrolled end in "…".
    void tabsAreNotCut() {
        Opened o(session(), "Priors");
        o.decode();
        int scrolled = 0;
        for (QTabBar* bar : o.window->findChildren<QTabBar*>()) {
            if (!bar->isVisible()) continue;
            for (int current = 0; current < bar->count(); ++current) {
                bar->setCurrentIndex(current);
                QCoreApplication::processEvents();
                for (int i = 0; i < bar->count(); ++i) {
                    const QString shown = widgets::TabEnds::shownTitle(*bar, i);
                    const QRect seen = bar->tabRect(i) & bar->rect();
                    scrolled += shown != bar->tabText(i) && !seen.isEmpty() ? 1 : 0;
                    if (!seen.isEmpty())
                        QVERIFY2(bar->fontMetrics().horizontalAdvance(shown) <= seen.width(), qPrintable(shown));
                }
            }
            const QImage picture = bar->grab().toImage();
            QVERIFY(!picture.isNull());
        }
        QVERIFY(scrolled > 0);
    }

    /// The line between prompt and tokens is whole, whatever it has to say.
    void theLineOfChoicesIsWhole_data() { nothingIsCutOff_data(); }
    void theLineOfChoicesIsWhole() {
        QFETCH(QString, perspective);
        QFETCH(QSize, size);
        Opened o(session(), perspective);
        o.window->resize(size);
        o.decode();
        model::Session hot = o.document.session();
        hot.decoding.temperature = 4;
        o.document.setSession(hot);
        WAIT_UNTIL(!o.document.busy() && o.document.trace()->flip.has_value());
        QCoreApplication::processEvents();
        const auto* panel = o.find<QDockWidget>("dock.text")->widget();
        const auto* flip = o.find<QLabel>("flip");
        QVERIFY(flip->text().contains("teacher-forced"));
        for (const QWidget* widget : flip->parentWidget()->findChildren<QWidget*>(Qt::FindDirectChildrenOnly)) {
            const int right = widget->mapTo(panel, QPoint(widget->width(), 0)).x();
            QVERIFY2(right <= panel->width(), qPrintable(named(*widget)));
            if (widget->objectName() != "traces")  // its text is told on hover too
                QVERIFY2(widget->width() >= widget->sizeHint().width(), qPrintable(named(*widget)));
        }
    }

    /// No half line at the top or at the bottom of the tokens, wherever they are scrolled to.
    void linesOfTokensAreWhole() {
        Opened o(session("base", 400));
        o.decode();
        auto* strip = o.find<widgets::TokenStrip>("tokenStrip");
        auto* bar = strip->verticalScrollBar();
        QVERIFY(bar->maximum() > 0);
        const int last = static_cast<int>(o.document.trace()->tokens.size()) - 1;
        for (const int value : {0, 7, bar->maximum() / 2 + 3, bar->maximum()}) {
            bar->setValue(value);
            QSet<int> lines;
            for (int i = 0; i <= last; ++i) {
                const QRect box = strip->tokenRect(i);
                if (strip->tokenAt(box.center()) != i) continue;
                QVERIFY2(strip->viewport()->rect().contains(box), qPrintable(QString::number(i)));
                lines << box.top();
            }
            QVERIFY2(lines.size() >= 3, qPrintable(QString::number(lines.size())));
            // What is drawn is what can be clicked: beside the lines there is only ground.
            const QImage picture = strip->viewport()->grab().toImage();
            const int top = *std::min_element(lines.begin(), lines.end()),
                      bottom = *std::max_element(lines.begin(), lines.end()) + strip->tokenRect(0).height();
            const QRgb ground = picture.pixel(1, 1);
            for (int y = 0; y < picture.height(); ++y)
                for (int x = 0; x < picture.width() && (y < top - 2 || y > bottom + 2); ++x)
                    QVERIFY2(picture.pixel(x, y) == ground, qPrintable(QString("%1 %2").arg(x).arg(y)));
        }
        QCOMPARE(strip->tokenAt(strip->tokenRect(last).center()), last);
        o.document.setCursor(0);
        QVERIFY(strip->viewport()->rect().contains(strip->tokenRect(1)));
    }

    /// A perspective is drawn for its own size before it is seen.
    void aPerspectiveIsDrawnBeforeItIsSeen() {
        Opened o(session(), QStringLiteral("Compose"));
        o.decode();
        o.window->showPerspective(QStringLiteral("Paper"));
        QTest::qWait(100);
        o.window->showPerspective(QStringLiteral("Compose"));
        const QImage first = o.window->grab().toImage();
        QTest::qWait(100);  // frames that were put off are drawn by then
        const QImage then = o.window->grab().toImage();
        int others = 0;
        for (int y = 0; y < first.height(); ++y)
            for (int x = 0; x < first.width(); ++x) others += first.pixel(x, y) != then.pixel(x, y) ? 1 : 0;
        QVERIFY2(others == 0, qPrintable(QString("%1 pixels changed after the first paint").arg(others)));
    }

    void aLoadOfUnknownLengthMoves() {
        std::counting_semaphore<3> opened(0);
        QTemporaryDir folder;
        QSettings settings(folder.filePath("window.ini"), QSettings::IniFormat);
        model::Document document(nullptr, [&opened, open = opener()](const auto& path, const auto& options,
                                                                     std::stop_token stop) {
            opened.acquire();
            return open(path, options, stop);
        });
        app::MainWindow window(document, settings);
        window.restore({});
        window.show();
        document.setSession(session());
        auto* progress = window.findChild<QProgressBar*>("status.progress");
        WAIT_UNTIL(progress->isVisible());
        QCOMPARE(progress->maximum(), 0);  // it moves by itself
        opened.release(3);
        WAIT_UNTIL(document.ready());
        WAIT_UNTIL(!progress->isVisible());
    }

    void rackAndDialsKeepTheirWidth_data() {
        QTest::addColumn<QString>("perspective");
        QTest::addColumn<QString>("side");
        QTest::newRow("Compose") << "Compose" << "dock.dials";
        QTest::newRow("Priors") << "Priors" << "dock.prior";
        QTest::newRow("Routing") << "Routing" << "dock.dials";
    }
    void rackAndDialsKeepTheirWidth() {
        QFETCH(QString, perspective);
        QFETCH(QString, side);
        Opened o(session(), perspective);
        auto *rack = o.find<QDockWidget>("dock.rack"), *dials = o.find<QDockWidget>(qPrintable(side));
        QCoreApplication::processEvents();
        const int rackWidth = rack->width(), dialsWidth = dials->width();
        QVERIFY2(rackWidth < 300 && dialsWidth < 360, qPrintable(QString("%1 %2").arg(rackWidth).arg(dialsWidth)));
        o.window->resize(2200, 1200);
        QCoreApplication::processEvents();
        QCOMPARE(rack->width(), rackWidth);
        QCOMPARE(dials->width(), dialsWidth);
        o.window->resize(2560, 1440);
        QCoreApplication::processEvents();
        QCOMPARE(rack->width(), rackWidth);
        QCOMPARE(dials->width(), dialsWidth);
        o.window->resize(2200, 1200);
        QCoreApplication::processEvents();
        // As a person would pull the border.
        o.window->resizeDocks({rack, o.find<QDockWidget>("dock.text"), dials},
                              {420, 2200 - 420 - dialsWidth, dialsWidth}, Qt::Horizontal);
        QCoreApplication::processEvents();
        const int pulled = rack->width();
        QVERIFY2(std::abs(pulled - 420) <= 2, qPrintable(QString::number(pulled)));
        o.window->resize(1600, 1000);
        QCoreApplication::processEvents();
        QVERIFY2(std::abs(rack->width() - pulled) <= 2, qPrintable(QString::number(rack->width())));
    }

    void everyControlHasANameAndAWord_data() {
        QTest::addColumn<QString>("perspective");
        for (const QString& perspective : app::Perspectives::names())
            QTest::newRow(qPrintable(perspective)) << perspective;
    }
    void everyControlHasANameAndAWord() {
        QFETCH(QString, perspective);
        Opened o(session(), perspective);
        o.decode();
        o.document.notify(model::Notice::Level::Warning, "A notice.", "With details.");
        QCoreApplication::processEvents();
        int controls = 0;
        for (const QWidget* widget : o.window->findChildren<QWidget*>()) {
            if (!widget->isVisible() || !isControl(*widget)) continue;
            if (widget->objectName().startsWith("qt_") && !widget->objectName().startsWith("qt_dockwidget")) continue;
            if (qobject_cast<const QComboBox*>(widget->parentWidget()) != nullptr) continue;
            const auto* parent = widget->parentWidget();
            if (parent->inherits("QTabBar") || parent->inherits("QTableView")) continue;  // Qt's own: scrollers, corner
            ++controls;
            const auto* button = qobject_cast<const QAbstractButton*>(widget);
            const QString name =
                widget->accessibleName().isEmpty() && button != nullptr ? button->text() : widget->accessibleName();
            QVERIFY2(!name.isEmpty(), qPrintable(named(*widget)));
            QVERIFY2(isExplained(widget), qPrintable(named(*widget)));
        }
        QVERIFY2(controls > 15, qPrintable(QString::number(controls)));
    }

    void nothingIsEmptyWithoutAWord_data() { everyControlHasANameAndAWord_data(); }
    void nothingIsEmptyWithoutAWord() {
        QFETCH(QString, perspective);
        Opened o(session(), perspective);
        WAIT_UNTIL(o.document.ready());
        int plots = 0;
        for (const QLabel* why : o.window->findChildren<QLabel*>("plot.empty")) {
            if (!why->isVisible()) continue;
            ++plots;
            QWidget* dock = why->parentWidget();
            while (dock != nullptr && qobject_cast<QDockWidget*>(dock) == nullptr) dock = dock->parentWidget();
            QVERIFY(dock != nullptr);
            dock->raise();  // one behind a tab is drawn as it comes in front
            WAIT_UNTIL_EQUAL(why->text(), QString(model::kNothingDecoded));
        }
        QVERIFY(plots >= 2);
        for (const QTableWidget* table : o.window->findChildren<QTableWidget*>()) QVERIFY(!table->isVisible());
        QCOMPARE(o.find<QComboBox>("traces")->placeholderText(), QString("no trace yet"));
        const auto* held = o.find<QScrollArea>("routingPanel");
        QCOMPARE(held->isVisible(), perspective == "Routing");
        const auto labels = held->findChildren<QLabel*>();
        QCOMPARE(labels.size(), 1);
        QVERIFY2(labels[0]->text().contains("routed experts"), qPrintable(labels[0]->text()));
        const auto* noBank = o.find<QLabel>("priors.empty");
        QCOMPARE(noBank->isVisible(), perspective == "Priors");
        QVERIFY2(noBank->text().contains("no bank of priors"), qPrintable(noBank->text()));
        const auto* noPrior = o.find<QLabel>("prior.nothing");
        QCOMPARE(noPrior->isVisible(), perspective == "Priors");
        QVERIFY2(noPrior->text().contains("Select a prior"), qPrintable(noPrior->text()));
    }
};

QTEST_MAIN(TestWindowLook)
#include "tst_windowlook.moc"
