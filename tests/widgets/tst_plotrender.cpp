// Figures as files: right size, right resolution, nothing a screen decides, the same bytes twice (HAZARDS A29).
// Called with "--draw FOLDER" the program draws one figure in every format and ends: the child of the scaling test.
#include "tests/support/fixture.h"
#include "tests/support/plots.h"
#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "widgets/plotrender.h"

#include <QApplication>
#include <QImage>
#include <QProcess>
#include <QStandardPaths>
#include <QXmlStreamReader>

using namespace counterpoint;
using namespace counterpoint::widgets;

namespace {

const model::FigureStyle kStyle{};
constexpr FigureFormat kDrawn[] = {FigureFormat::Pdf, FigureFormat::Svg, FigureFormat::Png};

std::string nameOf(FigureFormat format) { return "figure." + std::string(extensionOf(format)); }

QByteArray bytesOf(const QString& path) {
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

/// Output of a tool that must succeed.
QByteArray run(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    if (!process.waitForFinished(60000) || process.exitCode() != 0) return {};
    return process.readAllStandardOutput();
}

bool isBlank(const QImage& image) {
    int dark = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) dark += qGray(image.pixel(x, y)) < 200 ? 1 : 0;
    return dark < 200;
}

}  // namespace
Q_DECLARE_METATYPE(counterpoint::model::PlotData)

class TestPlotRender : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { tests::failOnAnyWarning(); }

    void theSecondTimeIsByteEqual_data() {
        QTest::addColumn<model::PlotData>("plot");
        QTest::newRow("trace") << tests::tracePlot(60);
        QTest::newRow("activity") << tests::activityPlot(60);
        QTest::newRow("bars") << tests::barsPlot();
        QTest::newRow("waterfall") << tests::waterfallPlot();
        QTest::newRow("gaps") << tests::linePlot({0.1, INFINITY, NAN, 0.2});
        QTest::newRow("huge") << tests::linePlot({1e-300, 1e300});
        QTest::newRow("heat, rectangles") << tests::heatPlot(8, 60);
        QTest::newRow("heat, a picture") << tests::heatPlot(16, 400, true);
    }
    void theSecondTimeIsByteEqual() {
        QFETCH(model::PlotData, plot);
        for (const FigureFormat format : kDrawn) {
            const std::string first = drawFigure(plot, kStyle, format);
            QVERIFY(first.size() > 500);
            QVERIFY2(first == drawFigure(plot, kStyle, format), std::string(extensionOf(format)).c_str());
        }
    }

    void noScreenScaleChangesIt() {
        QByteArrayList reference;
        for (const char* scale : {"1", "1.25", "2"}) {
            QTemporaryDir folder;
            QProcess child;
            QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
            environment.insert("QT_SCALE_FACTOR", scale);
            child.setProcessEnvironment(environment);
            child.start(QCoreApplication::applicationFilePath(), {"--draw", folder.path()});
            QVERIFY(child.waitForFinished(60000));
            QCOMPARE(child.exitCode(), 0);
            QByteArrayList files;
            for (const FigureFormat format : kDrawn) files << bytesOf(folder.filePath(QString::fromStdString(nameOf(format))));
            for (const QByteArray& file : files) QVERIFY(!file.isEmpty());
            if (reference.isEmpty()) reference = files;
            for (int i = 0; i < files.size(); ++i) QVERIFY2(files[i] == reference[i], scale);
        }
    }

    void pngHasTheSizeAndTheResolution() {
        model::FigureStyle style;
        style.widthMm = 135.4667;  // 1600 pixels at 300 dpi
        style.heightMm = 84.6667;
        const std::string bytes = drawFigure(tests::tracePlot(40), style, FigureFormat::Png);
        const QImage image = QImage::fromData(QByteArray::fromStdString(bytes), "PNG");
        QCOMPARE(image.size(), QSize(1600, 1000));
        QCOMPARE(image.dotsPerMeterX(), 11811);
        QCOMPARE(QColor(image.pixel(0, 0)), QColor(Qt::white));
        QVERIFY(!isBlank(image));
    }

    /// Grid lines are as thick as each other wherever they fall between the pixels, and thinner than the data's.
    void gridLinesAreEqual() {
        model::FigureStyle style;
        style.pngDpi = 300;
        model::PlotData plot = tests::linePlot(std::vector<double>(124, 0.0));  // the data lie on the axis
        plot.series[0].y[0] = 10;
        const std::string bytes = drawFigure(plot, style, FigureFormat::Png);
        const QImage image = QImage::fromData(QByteArray::fromStdString(bytes), "PNG");
        const int y = image.height() * 2 / 5;  // between two lines across
        std::vector<int> inks;
        int ink = 0;
        for (int x = image.width() / 4; x < image.width() - 40; ++x) {
            const int dark = 255 - qGray(image.pixel(x, y));
            ink += dark;
            if (dark == 0 && ink > 0) inks.push_back(std::exchange(ink, 0));
        }
        QVERIFY2(inks.size() >= 4, qPrintable(QString::number(inks.size())));
        const auto [least, most] = std::minmax_element(inks.begin(), inks.end());
        QVERIFY2(*most <= *least + 4, qPrintable(QString("%1 to %2").arg(*least).arg(*most)));
        // 0.3 pt at 300 dpi in the grid's colour.
        const double wanted = 0.3 / 72 * 300 * (255 - 0xDD);
        QVERIFY2(std::abs(*least - wanted) <= 0.2 * wanted, qPrintable(QString::number(*least)));
    }

    void svgHasTheSizeAndStaysInside() {
        const QByteArray svg = QByteArray::fromStdString(drawFigure(tests::tracePlot(40), kStyle, FigureFormat::Svg));
        QXmlStreamReader xml(svg);
        QVERIFY(xml.readNextStartElement());
        QVERIFY(std::abs(xml.attributes().value("width").toString().remove("mm").toDouble() - 85) < 0.05);
        const QStringList box = xml.attributes().value("viewBox").toString().split(' ');
        const double width = box.value(2).toDouble(), height = box.value(3).toDouble();
        QVERIFY(width > 100 && height > 100);
        // No line thinner than a quarter point, no coordinate outside the picture (an SVG has no clipping).
        double stroke = 1e9;
        while (!xml.atEnd()) {
            xml.readNext();
            if (!xml.isStartElement()) continue;
            // Widths stand on groups; those around a text draw no stroke.
            if (xml.attributes().hasAttribute("stroke-width"))
                stroke = xml.attributes().value("stroke") == QLatin1String("none") ? 1e9 : xml.attributes().value("stroke-width").toDouble();
            if (xml.name() == QLatin1String("polyline") || xml.name() == QLatin1String("path"))
                QVERIFY2(stroke >= 2.5, qPrintable(QString::number(stroke)));
            const auto points = xml.attributes().value("points").toString().split(QRegularExpression("[ ,]"), Qt::SkipEmptyParts);
            for (qsizetype i = 0; i + 1 < points.size(); i += 2) {
                QVERIFY(points[i].toDouble() >= 0 && points[i].toDouble() <= width);
                QVERIFY(points[i + 1].toDouble() >= 0 && points[i + 1].toDouble() <= height);
            }
        }
        QVERIFY(!xml.hasError());
        QVERIFY(svg.contains("DejaVu Sans"));
    }

    void otherProgramsReadThem() {
        QTemporaryDir folder;
        const auto path = [&](const char* name) { return folder.filePath(name); };
        for (const FigureFormat format : kDrawn)
            renderFigure(tests::tracePlot(60), kStyle, format, path(nameOf(format).c_str()).toStdString());
        if (QStandardPaths::findExecutable("pdftoppm").isEmpty() || QStandardPaths::findExecutable("pdffonts").isEmpty() ||
            QStandardPaths::findExecutable("rsvg-convert").isEmpty())
            QSKIP("pdftoppm, pdffonts or rsvg-convert is not installed: this check did not run");
        run("pdftoppm", {"-r", "150", "-png", "-singlefile", path("figure.pdf"), path("fromPdf")});
        const QImage pdf(path("fromPdf.png"));
        QVERIFY2(std::abs(pdf.width() - 85 / 25.4 * 150) <= 2 && std::abs(pdf.height() - 60 / 25.4 * 150) <= 2,
                 qPrintable(QString("%1 x %2").arg(pdf.width()).arg(pdf.height())));
        QVERIFY(!isBlank(pdf));
        const QByteArray fonts = run("pdffonts", {path("figure.pdf")});
        QVERIFY2(fonts.contains("TrueType") && !fonts.contains("Type 3") && QString::fromLatin1(fonts).contains(QRegularExpression("Identity-H +yes")), fonts.constData());
        const QByteArray info = run("pdfinfo", {path("figure.pdf")});
        QVERIFY2(info.contains("Pages:") && info.contains("2000"), info.constData());
        run("rsvg-convert", {"-w", "600", "-o", path("fromSvg.png"), path("figure.svg")});
        QVERIFY(!isBlank(QImage(path("fromSvg.png"))));
        const QString keep = qEnvironmentVariable("COUNTERPOINT_PICTURES");
        if (!keep.isEmpty()) {
            pdf.save(keep + "/figure-pdf.png");
            QImage(path("fromSvg.png")).save(keep + "/figure-svg.png");
        }
    }

    void aHeatMapHasNoSeams_data() {
        QTest::addColumn<int>("columns");
        QTest::newRow("rectangles") << 61;
        QTest::newRow("rectangles finer than a point") << 499;  // of 1,996 cells
        QTest::newRow("a picture") << 1501;
    }
    /// All cells are dark: no pixel of the map may be light, at any resolution, in any program.
    void aHeatMapHasNoSeams() {
        QFETCH(int, columns);
        model::PlotData plot = tests::heatPlot(4, static_cast<std::size_t>(columns));
        for (std::size_t i = 0; i < plot.heat->values.size(); ++i) plot.heat->values[i] = i % 2 == 0 ? 0.0F : 0.08F;
        plot.heat->marked.clear();
        QTemporaryDir folder;
        const auto path = [&](const char* name) { return folder.filePath(name); };
        for (const FigureFormat format : kDrawn)
            renderFigure(plot, kStyle, format, path(nameOf(format).c_str()).toStdString());
        std::vector<QImage> images = {QImage(path("figure.png"))};
        if (!QStandardPaths::findExecutable("pdftoppm").isEmpty())
            for (const char* dpi : {"97", "211"}) {
                run("pdftoppm", {"-r", dpi, "-png", "-singlefile", path("figure.pdf"), path("pdf")});
                images.push_back(QImage(path("pdf.png")));
            }
        if (!QStandardPaths::findExecutable("rsvg-convert").isEmpty())
            for (const char* width : {"331", "777"}) {
                run("rsvg-convert", {"-w", width, "-o", path("svg.png"), path("figure.svg")});
                images.push_back(QImage(path("svg.png")));
            }
        for (const QImage& image : images) {
            QVERIFY(!image.isNull());
            const auto dark = [&](int x, int y) { return qGray(image.pixel(x, y)) < 110; };
            const QPoint middle(image.width() / 2, image.height() / 2);
            QVERIFY(dark(middle.x(), middle.y()));
            QRect map(middle, middle);
            while (dark(map.left() - 1, middle.y())) map.setLeft(map.left() - 1);
            while (dark(map.right() + 1, middle.y())) map.setRight(map.right() + 1);
            while (dark(middle.x(), map.top() - 1)) map.setTop(map.top() - 1);
            while (dark(middle.x(), map.bottom() + 1)) map.setBottom(map.bottom() + 1);
            QVERIFY2(map.width() > 0.6 * image.width() && map.height() > 0.6 * image.height(),
                     qPrintable(QString("%1 x %2 of %3 x %4")
                                    .arg(map.width())
                                    .arg(map.height())
                                    .arg(image.width())
                                    .arg(image.height())));
            map.adjust(1, 1, -1, -1);
            for (int y = map.top(); y <= map.bottom(); ++y)
                for (int x = map.left(); x <= map.right(); ++x)
                    if (!dark(x, y))
                        QFAIL(qPrintable(
                            QString("light at %1, %2: %3").arg(x).arg(y).arg(QColor(image.pixel(x, y)).name())));
        }
    }

    /// What an SVG does not cut off stays inside by itself; a picture in a PDF loses nothing.
    void aHeatMapStaysInsideAndWhole() {
        for (const std::size_t columns : {60u, 900u}) {
            const QByteArray svg =
                QByteArray::fromStdString(drawFigure(tests::heatPlot(8, columns), kStyle, FigureFormat::Svg));
            QXmlStreamReader xml(svg);
            QVERIFY(xml.readNextStartElement());
            const QStringList box = xml.attributes().value("viewBox").toString().split(' ');
            int images = 0, rectangles = 0;
            while (!xml.atEnd()) {
                xml.readNext();
                if (!xml.isStartElement()) continue;
                images += xml.name() == QLatin1String("image");
                if (xml.name() != QLatin1String("rect")) continue;
                ++rectangles;
                const auto number = [&](const char* name) {
                    return xml.attributes().value(QLatin1String(name)).toDouble();
                };
                QVERIFY(number("x") >= 0 && number("x") + number("width") <= box.value(2).toDouble() + 0.5);
                QVERIFY(number("y") >= 0 && number("y") + number("height") <= box.value(3).toDouble() + 0.5);
            }
            QVERIFY(!xml.hasError());
            QCOMPARE(images, columns == 60 ? 0 : 1);
            QVERIFY2(columns != 60 || rectangles > 300, qPrintable(QString::number(rectangles)));
        }
        const std::string pdf = drawFigure(tests::heatPlot(8, 900), kStyle, FigureFormat::Pdf);
        QVERIFY(pdf.find("DCTDecode") == std::string::npos && pdf.find("/Image") != std::string::npos);
    }

    void tableAndRecipeStandBesideIt() {
        QTemporaryDir folder;
        const std::filesystem::path target = folder.filePath("drift.svg").toStdString();
        const model::PlotData plot = tests::tracePlot(20);
        renderFigure(plot, kStyle, FigureFormat::Svg, target);
        QCOMPARE(bytesOf(folder.filePath("drift.csv")).toStdString(), model::toCsv(plot));
        model::PlotData again;
        model::FigureStyle style;
        const QByteArray json = bytesOf(folder.filePath("drift.json"));
        model::fromJson(compute::OrderedJson::parse(json.constData()), "drift.json", again, style);
        QCOMPARE(drawFigure(again, style, FigureFormat::Svg), drawFigure(plot, kStyle, FigureFormat::Svg));
    }

    /// The dialog asked about the figure's name alone: a session or a table of the same name stays what it is.
    void nothingElseIsWrittenOver_data() {
        QTest::addColumn<QString>("there");
        QTest::addColumn<QString>("says");
        QTest::newRow("a session") << "own.json"
                                   << "the figure's own recipe would take its place";
        QTest::newRow("a table") << "own.csv"
                                 << "the figure's own table would take its place";
    }
    void nothingElseIsWrittenOver() {
        QFETCH(QString, there);
        QFETCH(QString, says);
        const QTemporaryDir folder;
        const auto path = [&](const char* name) { return folder.filePath(QString::fromLatin1(name)); };
        const std::filesystem::path target = path("own.pdf").toStdString();
        const QByteArray mine = "{\"format\":\"counterpoint.session/1\"}";
        compute::writeFile(path(qPrintable(there)).toStdString(), mine.toStdString());
        std::string said;
        try {
            renderFigure(tests::tracePlot(60), kStyle, FigureFormat::Pdf, target);
        } catch (const compute::Error& error) {
            said = error.sentence();
        }
        QVERIFY2(QString::fromStdString(said).contains(says) && QString::fromStdString(said).contains(there),
                 said.c_str());
        QCOMPARE(bytesOf(path(qPrintable(there))), mine);
        QVERIFY(!std::filesystem::exists(target));
        QVERIFY(QFile::remove(path(qPrintable(there))));
        renderFigure(tests::tracePlot(60), kStyle, FigureFormat::Pdf, target);
        renderFigure(tests::tracePlot(50), kStyle, FigureFormat::Pdf, target);  // its own it does write over
        QCOMPARE(bytesOf(path("own.csv")), QByteArray::fromStdString(model::toCsv(tests::tracePlot(50))));
    }

    void nothingToDrawIsSaidAndNoFileIsMade() {
        QTemporaryDir folder;
        const std::filesystem::path target = folder.filePath("empty.pdf").toStdString();
        model::PlotData plot = tests::linePlot({});
        plot.series.clear();
        plot.empty = "Nothing decoded yet.";
        QVERIFY_EXCEPTION_THROWN(renderFigure(plot, kStyle, FigureFormat::Pdf, target), compute::Error);
        QVERIFY(!std::filesystem::exists(target));
        QVERIFY_EXCEPTION_THROWN(formatOf("figure.bmp"), compute::Error);
        model::FigureStyle wrong;
        wrong.widthMm = NAN;
        QVERIFY_EXCEPTION_THROWN(drawFigure(tests::tracePlot(5), wrong, FigureFormat::Png), compute::Error);
    }
};

int main(int argc, char** argv) {
    QHashSeed::setDeterministicGlobalSeed();
    QApplication application(argc, argv);
    if (argc == 3 && QByteArray(argv[1]) == "--draw") {
        for (const FigureFormat format : kDrawn)
            renderFigure(tests::tracePlot(60), kStyle, format, std::filesystem::path(argv[2]) / nameOf(format));
        return 0;
    }
    TestPlotRender test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_plotrender.moc"
