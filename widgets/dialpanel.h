#pragma once
// DialPanel: the rule and the dials of "decoding", built from the table of DialSpec (dial.h): slider and field, a
// switch for what may be off, help with rule and range on hover, and under which heading it stands: what acts at once
// on the stored trace, what needs a new decode. One undo step a drag. Children are named "dial.<id>". Thread: the
// window thread.

#include <functional>
#include <string>
#include <vector>

#include "compute/dial.h"
#include "model/document.h"
#include "widgets/dialbinding.h"
#include "widgets/downscroll.h"

namespace counterpoint::widgets {

class DialPanel : public DownScroll {
    Q_OBJECT
  public:
    explicit DialPanel(model::Document& document, QWidget* parent = nullptr);
    QSize sizeHint() const override;

  private:
    QWidget* makeEditor(const compute::DialSpec& spec);
    void edit(const compute::DialSpec& spec, const DialValue& value, bool drag = false);
    void refresh();
    model::Document& m_document;
    std::vector<std::function<void()>> m_readers;  ///< session to widgets, one a dial
};

}  // namespace counterpoint::widgets
