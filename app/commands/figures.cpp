#include "app/commands/figures.h"

#include <QApplication>
#include <array>

#include "app/offscreen.h"
#include "compute/error.h"
#include "model/bankfigures.h"
#include "widgets/plotrender.h"

namespace counterpoint::app {
namespace {

constexpr std::array kFormats{widgets::FigureFormat::Pdf, widgets::FigureFormat::Svg, widgets::FigureFormat::Png};

}  // namespace

std::set<std::string> figureFormats(const Arguments& arguments, std::string_view option) {
    if (arguments.has(option) && arguments.value(option).find("tikz") != std::string::npos)
        throw UsageError("this version does not write TikZ");
    std::array<std::string_view, kFormats.size()> names;
    for (std::size_t i = 0; i < kFormats.size(); ++i) names[i] = widgets::extensionOf(kFormats[i]);
    return arguments.list(option, names);
}

void withoutDisplay(const std::function<void()>& draw) {
    const Offscreen surroundings;
    int count = 1;
    std::array<char, 13> name{"counterpoint"};
    std::array<char*, 2> words{name.data(), nullptr};
    const QApplication application(count, words.data());
    draw();
}

std::vector<std::string> writeFigures(const model::Trace& trace, const std::set<std::string>& formats,
                                      const std::filesystem::path& folder) {
    if (trace.steps.empty()) return {"the figures are left out: no row was decoded."};
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error)
        throw compute::Error({.where = folder.string(), .what = "the folder cannot be made: " + error.message()});
    std::vector<std::string> leftOut;
    const auto draw = [&](const model::PlotData& plot) {
        if (!plot.empty.empty()) {
            leftOut.push_back("figure '" + plot.title + "' is left out: " + plot.empty);
            return;
        }
        for (const widgets::FigureFormat format : kFormats)
            if (formats.contains(std::string(widgets::extensionOf(format))))
                widgets::renderFigure(plot, model::FigureStyle(), format,
                                      folder / (plot.id + "." + std::string(widgets::extensionOf(format))));
    };
    withoutDisplay([&] {
        for (const model::DiagnosticRow& row : model::diagnostics())
            if (row.dock == "trace") draw(row.make(trace, model::View()));
        if (!trace.session.priors.empty())
            for (const model::BankFigureRow& row : model::bankFigures()) draw(model::makeBankFigure(row, trace));
    });
    return leftOut;
}

}  // namespace counterpoint::app
