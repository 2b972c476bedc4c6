#pragma once
// Figures as files (SPEC.md 2): PDF, SVG, PNG, each with NAME.csv (the numbers) and NAME.json (the recipe) beside it.
// Sizes, fonts and pixels are exactly those of FigureStyle, whatever the screen and its scaling (HAZARDS A29); two runs
// give the same bytes (with QHashSeed fixed as main does). Paper colours on white; no line under 0.25 pt.
// drawFigure and figureFiles: the window thread (Qt draws there), no file touched. writeFigureFiles: any thread.
// Errors: Error naming the file.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "model/figure.h"

namespace counterpoint::widgets {

enum class FigureFormat { Pdf, Svg, Png, Csv };
std::string_view extensionOf(FigureFormat format);  ///< "pdf"
/// By the path's extension; Error when it is none of them.
FigureFormat formatOf(const std::filesystem::path& path);

/// The bytes of one figure.
std::string drawFigure(const model::PlotData& plot, const model::FigureStyle& style, FigureFormat format);

struct FigureFile {
    std::filesystem::path path;
    std::string bytes;
};
/// The figure and, beside it, NAME.csv and NAME.json (for Csv: the table and the recipe).
std::vector<FigureFile> figureFiles(const model::PlotData& plot, const model::FigureStyle& style, FigureFormat format,
                                    const std::filesystem::path& path);
/// Each through the one atomic writer. Error, and nothing is written, where a table or a recipe would take the place of
/// a file that is of no figure.
void writeFigureFiles(const std::vector<FigureFile>& files);

void renderFigure(const model::PlotData& plot, const model::FigureStyle& style, FigureFormat format,
                  const std::filesystem::path& path);

}  // namespace counterpoint::widgets
