#pragma once
// SourceRow: one source of the rack: grip, switch, name in its plot colour, activity light (R5, at the cursor), solo,
// menu (reference, move, remove), weight slider with field and reset, and what state it is in. Thread: the window
// thread.

#include <QCheckBox>
#include <QLabel>
#include <QMenu>
#include <QToolButton>
#include <QWidget>
#include <optional>

#include "model/document.h"
#include "widgets/valueslider.h"

namespace counterpoint::widgets {

class SourceRow : public QWidget {
    Q_OBJECT
  public:
    /// objectName = "source.<name>"
    SourceRow(model::Document& document, std::size_t source, QWidget* parent = nullptr);
    /// Session and source state to widgets.
    void refresh();
    /// nullopt: no step at the cursor.
    void setActivity(std::optional<double> nats, double epsilon);
    void setSolo(bool on);
    std::size_t source() const { return m_source; }
    QColor colour() const;

  Q_SIGNALS:
    void moveRequested(int by);
    void dropped(const QPoint& global);
    void soloToggled(bool on);

  protected:
    void keyPressEvent(QKeyEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void edit(const std::string& merge, const std::function<void(model::Session&, model::SourceEntry&)>& change);
    std::string weightKey() const;  ///< of its undo step and its notice
    void fillMenu();
    QString hover() const;
    model::Document& m_document;
    std::size_t m_source;
    QCheckBox* m_switch = nullptr;
    QLabel *m_name, *m_state;
    QWidget* m_light;
    QToolButton *m_solo = nullptr, *m_more = nullptr, *m_reset = nullptr;
    ValueSlider* m_weight = nullptr;
    QMenu m_menu;
    bool m_dragging = false;
};

}  // namespace counterpoint::widgets
