// counterpoint render FIGURE.json: draws a figure again from its recipe, without a display (SPEC.md 2, 3). The recipe
// itself is never written over.

#include "app/commands/figures.h"
#include "app/commands/functions.h"
#include "compute/error.h"
#include "widgets/plotrender.h"

namespace counterpoint::app {
namespace {

widgets::FigureFormat formatOf(const std::filesystem::path& file) {
    try {
        return widgets::formatOf(file);
    } catch (const compute::Error& error) {
        throw UsageError(error.sentence());
    }
}

}  // namespace

int renderCommand(const Arguments& arguments) {
    const std::filesystem::path recipe = arguments.words[0];
    const std::filesystem::path out = arguments.has("--out") ? std::filesystem::path(arguments.required("--out"))
                                                             : std::filesystem::path(recipe).replace_extension(".pdf");
    const widgets::FigureFormat format = formatOf(out);
    model::PlotData plot;
    model::FigureStyle style;
    fromJson(compute::readOrderedJson(recipe), recipe.string(), plot, style);
    withoutDisplay([&] {
        std::vector<widgets::FigureFile> files = widgets::figureFiles(plot, style, format, out);
        std::error_code none;
        std::erase_if(files, [&](const auto& file) { return std::filesystem::equivalent(file.path, recipe, none); });
        widgets::writeFigureFiles(files);
    });
    return 0;
}

}  // namespace counterpoint::app
