#pragma once
// Perspectives: named layouts of the docks. Each has a first layout in code and keeps what a person made of it, in
// QSettings. Rack, dials and the detail of a prior keep their width when the window changes its own. A window that was left on a screen that
// is gone comes back on one that is there (HAZARDS A32). Thread: the window thread.

#include <QMainWindow>
#include <QSettings>
#include <QStringList>
#include <map>
#include <vector>

class QDockWidget;

namespace counterpoint::app {

class Perspectives : public QObject {
    Q_OBJECT
  public:
    /// `docks` by objectName.
    Perspectives(QMainWindow& window, std::map<QString, QDockWidget*> docks);
    static QStringList names();
    static QString purpose(const QString& name);
    const QString& current() const { return m_current; }
    /// Leaves the present one (and keeps it) for `name`; unknown names give the first.
    void select(const QString& name);
    /// The first layout of the present one again.
    void reset();
    void save(QSettings& settings);
    /// Layouts and geometry as they were left; `name` empty: the perspective that was open.
    void restore(QSettings& settings, const QString& name);

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

  private:
    void takeOut();  ///< every dock leaves the window and is hidden
    void layOut(const QString& name);
    void rememberWidths();
    void keepWidths();
    void proportion();  ///< the sizes of the first layout of the present perspective
    QMainWindow& m_window;
    std::map<QString, QDockWidget*> m_docks;
    std::map<QString, QByteArray> m_states;
    QString m_current;
    bool m_first = false;                    ///< nobody has shown the first layout yet: its sizes are still due
    QSize m_size;                            ///< of the window when its docks were last laid out
    std::map<const QObject*, int> m_widths;  ///< of the docks beside the plots, as a person left them
};

/// Moves and shrinks a top-level window so that it lies on a screen; true when it had to.
bool bringOnScreen(QWidget& window);

}  // namespace counterpoint::app
