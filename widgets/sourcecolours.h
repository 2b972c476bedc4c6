#pragma once
// SourceColours: the colour of each source of a document's session, as an index for seriesColour. The base has 0; a
// specialist begins with its place in the rack and keeps its colour while the session lives, wherever it is moved and
// whoever leaves; a new one takes the first that is free. Figures are made with the places of their trace's sources
// (model/diagnostics): of those that are of a source the colour is put in here, so that window and exports agree.
// Thread: the window thread.

#include <QObject>
#include <map>
#include <string>
#include <vector>

#include "model/document.h"

namespace counterpoint::widgets {

class SourceColours : public QObject {
    Q_OBJECT
  public:
    /// The document's own, made on first use.
    static SourceColours& of(model::Document& document);
    int colour(const std::string& source);
    /// One for each source of a trace.
    std::vector<int> coloursOf(const model::Trace& trace);
    void recolour(model::PlotData& plot, const model::Trace& trace);

  private:
    explicit SourceColours(model::Document& document);
    void update();
    model::Document& m_document;
    std::map<std::string, int> m_colours;  ///< those of sources that have left stay known
};

}  // namespace counterpoint::widgets
