#pragma once
// CommandPalette: a field and a list over any number of commands; fuzzy: the letters typed must occur in order, the
// start of words counts most. Up, Down, Enter, Escape; it closes
// when the focus goes elsewhere. A child of the window, not a window: no platform has to place it. Knows no registry:
// open() gives it what to find. Thread: the window thread.

#include <QAction>
#include <QFrame>
#include <QLineEdit>
#include <QListWidget>
#include <vector>

namespace counterpoint::widgets {

struct PaletteItem {
    QString text;  ///< "File › Save as"
    QAction* action = nullptr;
};

/// How well `typed` fits `text`: < 0 not at all, larger is better. "gen" finds "Decode › Generate".
int fuzzyScore(const QString& typed, const QString& text);

class CommandPalette : public QFrame {
    Q_OBJECT
  public:
    explicit CommandPalette(QWidget* window);
    void open(std::vector<PaletteItem> items);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void filter();
    void activate();
    QLineEdit* m_field;
    QListWidget* m_list;
    std::vector<PaletteItem> m_items;
};

}  // namespace counterpoint::widgets
