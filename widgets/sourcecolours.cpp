#include "widgets/sourcecolours.h"

#include <algorithm>
#include <set>

namespace counterpoint::widgets {

SourceColours::SourceColours(model::Document& document) : QObject(&document), m_document(document) {}

SourceColours& SourceColours::of(model::Document& document) {
    auto* known = document.findChild<SourceColours*>(QString(), Qt::FindDirectChildrenOnly);
    return known != nullptr ? *known : *new SourceColours(document);
}

void SourceColours::update() {
    // Nothing to undo, nothing to redo: a session as it was opened.
    if (!m_document.canUndo() && !m_document.canRedo()) m_colours.clear();
    std::set<int> taken{0};
    std::vector<std::string> without;
    for (const model::SourceEntry& s : m_document.session().specialists) {
        const auto known = m_colours.find(s.name);
        // One that comes back may find its colour given away.
        if (known == m_colours.end() || !taken.insert(known->second).second) without.push_back(s.name);
    }
    for (const std::string& name : without) {
        int colour = 1;
        while (!taken.insert(colour).second) ++colour;
        m_colours[name] = colour;
    }
    m_colours[m_document.session().base.name] = 0;
}

int SourceColours::colour(const std::string& source) {
    update();
    const auto known = m_colours.find(source);
    return known == m_colours.end() ? 0 : known->second;
}

std::vector<int> SourceColours::coloursOf(const model::Trace& trace) {
    update();
    std::vector<int> colours;
    for (const std::string& name : trace.sources) {
        const auto known = m_colours.find(name);
        const int place = static_cast<int>(colours.size());
        colours.push_back(place == 0 || known == m_colours.end() ? place : known->second);
    }
    return colours;
}

void SourceColours::recolour(model::PlotData& plot, const model::Trace& trace) {
    const std::vector<int> colours = coloursOf(trace);
    const auto put = [&](int& colour, const std::string& name) {
        const auto place = static_cast<std::size_t>(std::max(colour, 0));
        if (place > 0 && place < colours.size() && name.starts_with(trace.sources[place])) colour = colours[place];
    };
    for (model::Series& series : plot.series) {
        put(series.colour, series.name);
        for (std::size_t i = 0; i < std::min(series.pointColours.size(), plot.x.categories.size()); ++i)
            put(series.pointColours[i], plot.x.categories[i]);
    }
}

}  // namespace counterpoint::widgets
