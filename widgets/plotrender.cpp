#include "widgets/plotrender.h"

#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QSvgGenerator>
#include <array>
#include <cmath>
#include <fstream>

#include "compute/error.h"
#include "compute/files/atomicfile.h"
#include "widgets/plotscale.h"
#include "widgets/plotview.h"

namespace counterpoint::widgets {
namespace {

using model::FigureStyle;
using model::PlotData;

struct FormatRow {
    FigureFormat format;
    std::string_view extension;
};
constexpr std::array kFormats = {FormatRow{FigureFormat::Pdf, "pdf"}, FormatRow{FigureFormat::Svg, "svg"},
                                 FormatRow{FigureFormat::Png, "png"}, FormatRow{FigureFormat::Csv, "csv"}};
constexpr double kMmPerInch = 25.4, kUnitsPerInch = 72.0 * kFigureUnitsPerPoint;
constexpr std::string_view kDate = "D:20000101000000+00'00'";

int unitsOf(double mm) { return std::max(1, static_cast<int>(std::lround(mm / kMmPerInch * kUnitsPerInch))); }
QSize unitsOf(const FigureStyle& style) { return {unitsOf(style.widthMm), unitsOf(style.heightMm)}; }

void draw(QPaintDevice& device, const PlotData& plot, const FigureStyle& style) {
    const QSize units = unitsOf(style);
    if (!plot.empty.empty() || !hasDrawing(plot))
        throw compute::Error({.where = "figure '" + (plot.title.empty() ? plot.id : plot.title) + "'",
                              .what = "there is nothing to draw",
                              .expected = {},
                              .found = plot.empty,
                              .advice = {},
                              .details = {}});
    paintFigure(device, units, plot, style, theme(ThemeKind::Paper));
}

/// The date of writing is the one thing that differs between two runs: a fixed one, and the cross-reference table
/// (which gives byte offsets) moved by the difference in length.
QByteArray withFixedDate(QByteArray pdf) {
    const qsizetype at = pdf.indexOf("/CreationDate");
    if (at < 0) return pdf;
    const qsizetype from = pdf.indexOf('(', at) + 1, to = pdf.indexOf(')', from);
    const auto difference = static_cast<qsizetype>(kDate.size()) - (to - from);
    pdf.replace(from, to - from, QByteArray(kDate.data(), static_cast<qsizetype>(kDate.size())));
    const qsizetype start = pdf.lastIndexOf("startxref");
    const qsizetype numberAt = start + 10, numberEnd = pdf.indexOf('\n', numberAt);
    const qsizetype table = pdf.mid(numberAt, numberEnd - numberAt).toLongLong() + difference;
    pdf.replace(numberAt, numberEnd - numberAt, QByteArray::number(table));
    // Entries are 20 bytes: ten digits of offset, a blank, five of generation, " n" or " f".
    for (qsizetype entry = pdf.indexOf('\n', pdf.indexOf('\n', table) + 1) + 1; entry + 20 <= pdf.size(); entry += 20) {
        if (pdf.at(entry + 10) != ' ' || (pdf.at(entry + 17) != 'n' && pdf.at(entry + 17) != 'f')) break;
        const qlonglong offset = pdf.mid(entry, 10).toLongLong();
        if (offset > from) pdf.replace(entry, 10, QByteArray::number(offset + difference).rightJustified(10, '0'));
    }
    return pdf;
}

QByteArray pdfOf(const PlotData& plot, const FigureStyle& style) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    {
        QPdfWriter writer(&buffer);
        writer.setResolution(static_cast<int>(kUnitsPerInch));
        writer.setPageSize(
            QPageSize(QSizeF(style.widthMm, style.heightMm), QPageSize::Millimeter, {}, QPageSize::ExactMatch));
        writer.setPageMargins({});
        writer.setTitle(QString::fromStdString(plot.title));
        writer.setCreator(QStringLiteral("Counterpoint"));
        draw(writer, plot, style);
    }
    return withFixedDate(std::move(bytes));
}

QByteArray svgOf(const PlotData& plot, const FigureStyle& style) {
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    QSvgGenerator generator;
    generator.setOutputDevice(&buffer);
    generator.setResolution(static_cast<int>(kUnitsPerInch));
    generator.setSize(unitsOf(style));
    generator.setViewBox(QRect(QPoint(0, 0), unitsOf(style)));
    generator.setTitle(QString::fromStdString(plot.title));
    draw(generator, plot, style);
    return bytes;
}

QByteArray pngOf(const PlotData& plot, const FigureStyle& style) {
    const auto pixels = [&style](double mm) {
        return std::max(1, static_cast<int>(std::lround(mm / kMmPerInch * style.pngDpi)));
    };
    QImage image(pixels(style.widthMm), pixels(style.heightMm), QImage::Format_RGB32);
    if (image.isNull())
        throw compute::Error({.where = "figure '" + plot.title + "'",
                              .what = "the picture is too large to draw",
                              .expected = {},
                              .found = std::to_string(style.pngDpi) + " dots per inch",
                              .advice = "lower the resolution",
                              .details = {}});
    image.fill(Qt::white);
    draw(image, plot, style);
    const int perMetre = static_cast<int>(std::lround(style.pngDpi / kMmPerInch * 1000));
    image.setDotsPerMeterX(perMetre);
    image.setDotsPerMeterY(perMetre);
    QByteArray bytes;
    QBuffer buffer(&bytes);
    buffer.open(QIODevice::WriteOnly);
    image.save(&buffer, "PNG");
    return bytes;
}

void requireDrawable(const FigureStyle& style) {
    const auto inside = [](double value, double low, double high) { return value >= low && value <= high; };
    if (inside(style.widthMm, 5, 2000) && inside(style.heightMm, 5, 2000) && inside(style.fontPt, 1, 200) &&
        inside(style.lineWidthPt, 0, 50) && inside(style.pngDpi, 10, 4800))
        return;
    throw compute::Error({.where = "figure style",
                          .what = "a size is outside its range",
                          .expected = "5 to 2000 mm, fonts of 1 to 200 pt, lines up to 50 pt, 10 to 4800 dots per inch",
                          .found = {},
                          .advice = {},
                          .details = {}});
}

/// A person was asked about the figure's own name alone: what stands under the names beside it is written over only
/// where a recipe there says that it is of a figure.
void requireOwn(const std::vector<FigureFile>& files) {
    std::filesystem::path recipe = files.front().path;
    recipe.replace_extension(".json");
    std::string begin(256, '\0');
    std::ifstream in(recipe, std::ios::binary);
    in.read(begin.data(), static_cast<std::streamsize>(begin.size()));
    if (begin.find(model::kFigureFormat) != std::string::npos) return;
    std::error_code none;
    for (std::size_t i = 1; i < files.size(); ++i)
        if (std::filesystem::exists(files[i].path, none))
            throw compute::Error({.where = files[i].path.string(),
                                  .what = "nothing was written: this file is not of a figure, and the figure's own " +
                                          std::string(i + 1 == files.size() ? "recipe" : "table") +
                                          " would take its place",
                                  .expected = {},
                                  .found = {},
                                  .advice = "give the figure another name",
                                  .details = {}});
}

}  // namespace

std::string_view extensionOf(FigureFormat format) {
    for (const FormatRow& row : kFormats)
        if (row.format == format) return row.extension;
    return {};
}

FigureFormat formatOf(const std::filesystem::path& path) {
    const std::string extension = path.extension().string();
    for (const FormatRow& row : kFormats)
        if (extension.starts_with('.') && extension.substr(1) == row.extension) return row.format;
    throw compute::Error({.where = path.string(),
                          .what = "the ending of the name says no figure format",
                          .expected = ".pdf, .svg, .png or .csv",
                          .found = extension.empty() ? "no ending" : extension,
                          .advice = {},
                          .details = {}});
}

std::string drawFigure(const PlotData& plot, const FigureStyle& style, FigureFormat format) {
    requireDrawable(style);
    switch (format) {
        case FigureFormat::Pdf:
            return pdfOf(plot, style).toStdString();
        case FigureFormat::Svg:
            return svgOf(plot, style).toStdString();
        case FigureFormat::Png:
            return pngOf(plot, style).toStdString();
        case FigureFormat::Csv:
            break;
    }
    return model::toCsv(plot);
}

std::vector<FigureFile> figureFiles(const PlotData& plot, const FigureStyle& style, FigureFormat format,
                                    const std::filesystem::path& path) {
    const auto beside = [&path](const char* extension) {
        std::filesystem::path other = path;
        return other.replace_extension(extension);
    };
    std::vector<FigureFile> files = {{path, drawFigure(plot, style, format)}};
    if (format != FigureFormat::Csv) files.push_back({beside(".csv"), model::toCsv(plot)});
    files.push_back({beside(".json"), model::toJson(plot, style).dump(2) + "\n"});
    return files;
}

void writeFigureFiles(const std::vector<FigureFile>& files) {
    if (files.empty()) return;
    requireOwn(files);
    // The recipe first: it says of the others whose they are.
    for (auto file = files.rbegin(); file != files.rend(); ++file) compute::writeFile(file->path, file->bytes);
}

void renderFigure(const PlotData& plot, const FigureStyle& style, FigureFormat format,
                  const std::filesystem::path& path) {
    writeFigureFiles(figureFiles(plot, style, format, path));
}

}  // namespace counterpoint::widgets
