#pragma once
// RoutingDials: how each source with routed experts routes (R11, R12, R14): mode, ρ, α, windows, groups, pairs, T_r,
// seed, capacity and draws from the table of dials (dial.h), and the experts of a layer that are switched off or
// biased. Headings mark what acts at once on estimates and what needs a new decode; what changes the law of a token
// says so. The source and the layer are the view's, which the plots of routing show too. One undo step a drag; what
// else stands in a source's "routing" stays. A source whose file asks for routing it cannot have is set to route as
// published, which it needs before the session decodes. Children are named "routing.<id>". Thread: the window thread.

#include <functional>
#include <vector>

#include "compute/dial.h"
#include "model/document.h"
#include "widgets/downscroll.h"

class QComboBox;
class QGridLayout;

namespace counterpoint::widgets {

struct DialValue;

class RoutingDials : public DownScroll {
    Q_OBJECT
  public:
    explicit RoutingDials(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override { return {320, 420}; }

  protected:
    void showEvent(QShowEvent* event) override;

  private:
    /// What the widgets were built for; another one, other widgets.
    struct Shape {
        std::vector<std::string> names;       ///< of the sources that are listed
        bool dials = false, experts = false;  ///< of the one that is shown
        bool operator==(const Shape&) const = default;
    };
    Shape shape();  ///< and which source is shown
    /// The place of a source; the base's where there is none of that name.
    std::size_t place(const std::string& name) const;
    const compute::OrderedJson& routing() const;  ///< of the source that is shown
    void refresh();
    void build();
    void addSources(QGridLayout& grid, int& row);
    void addDials(QGridLayout& grid, int& row);
    void addExperts(QGridLayout& grid, int& row);
    QWidget* makeEditor(const compute::DialSpec& spec);
    QWidget* makeList(const compute::DialSpec& spec);
    void say(QGridLayout& grid, int& row, const QString& name, std::function<QString()> sentence);
    void edit(const std::string& id, const std::function<void(compute::OrderedJson&)>& change, bool drag = false);
    void asPublished(const std::string& name);
    model::Document& m_document;
    Shape m_shape;
    std::string m_shown;
    bool m_built = false;
    std::vector<std::function<void()>> m_readers;  ///< session and view to widgets
};

}  // namespace counterpoint::widgets
