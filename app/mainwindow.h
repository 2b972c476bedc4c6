#pragma once
// MainWindow: builds docks, menus, toolbar and status bar from the tables and connects them to one Document; no other
// work is done here. Thread: the window thread.

#include <QLabel>
#include <QMainWindow>
#include <QMap>
#include <QPointer>
#include <QProgressBar>
#include <QSettings>
#include <QToolButton>
#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "app/actions.h"
#include "app/perspectives.h"
#include "model/document.h"
#include "widgets/plotdock.h"
#include "widgets/priordetail.h"
#include "widgets/priorspanel.h"
#include "widgets/rackpanel.h"
#include "widgets/tabends.h"
#include "widgets/textpanel.h"

class QComboBox;
class QFileDialog;

namespace counterpoint::app {

class LaneFacts;

/// SPEC.md 2: whether it was never said of a file of this content that it runs code; from now on it was.
bool isNewCode(QSettings& settings, const std::string& sha256);

class MainWindow : public QMainWindow {
    Q_OBJECT
  public:
    explicit MainWindow(model::Document& document, QSettings& settings);
    ~MainWindow() override;
    model::Document& document() { return m_document; }
    Actions& actions() { return *m_actions; }
    Perspectives& perspectives() { return *m_perspectives; }
    /// A session or model first; further model folders join the rack. A throw becomes a notice.
    void openFiles(const std::vector<std::filesystem::path>& files);
    /// Geometry and layouts as they were left; empty: the perspective that was open.
    void restore(const QString& perspective);
    void showPerspective(const QString& name);
    /// After the first paint and before torch loads: opens every Qt plugin the window will need (a dlopen during the
    /// load would wait for its end) and makes what takes long to make, a slice a turn of the event loop; then calls
    /// `then`.
    void warmUp(std::function<void()> then);
    QFileDialog& fileDialog();

  Q_SIGNALS:
    void firstPaint();

  protected:
    void closeEvent(QCloseEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dropEvent(QDropEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void childEvent(QChildEvent* event) override;

  private:
    void inSlices(std::vector<std::function<void()>> slices);
    void buildDocks();
    void watchRouting(QDockWidget* dock);  ///< estimates are made while one of these is seen
    void buildActions();
    void buildPriorActions();
    void buildToolBar();
    void buildStatusBar();
    void refreshStatus();
    void refreshTitle();
    void refreshRecent();
    void recentFailed(const QString& path, const QString& why);
    void watchOpening();  ///< a file's sources are loaded after it was opened
    void markPerspective();
    /// A throw becomes a notice.
    void openFile(const std::filesystem::path& file);
    void remember(const std::filesystem::path& file);
    void ask(bool save, bool folder, const QString& title, const QStringList& filters,
             std::function<void(const std::filesystem::path&)> then);
    /// The same for a file that is written; `whole` gives a name the ending it needs.
    void askName(const QString& title, const QStringList& filters,
                 std::filesystem::path (*whole)(const std::filesystem::path&),
                 std::function<void(const std::filesystem::path&)> then);
    void saveTo(const std::filesystem::path& file);
    void addBank(const std::filesystem::path& file);
    void saveBank(const std::filesystem::path& file);  ///< the one that is shown; empty: its own file
    void exportPlot(const char* action);
    void applyTheme(bool dark);
    void showAbout();
    void showShortcuts();
    void showNotices();
    /// At once, or when the person has said what becomes of changes that are not saved; never where they cancel.
    void afterUnsaved(std::function<void()> then);

    model::Document& m_document;
    QSettings& m_settings;
    std::unique_ptr<Actions> m_actions;
    std::unique_ptr<Perspectives> m_perspectives;
    std::unique_ptr<LaneFacts> m_facts;
    std::map<QString, QDockWidget*> m_docks;
    std::vector<widgets::PlotDock*> m_plots;
    QPointer<widgets::PlotDock> m_lastPlot;
    std::set<QDockWidget*> m_routing;  ///< those of routing that are seen
    widgets::RackPanel* m_rack = nullptr;
    widgets::TextPanel* m_text = nullptr;
    widgets::PriorsPanel* m_priors = nullptr;
    widgets::PriorDetail* m_prior = nullptr;
    widgets::TabEnds m_tabEnds;
    widgets::CommandPalette* m_palette = nullptr;
    QFileDialog* m_dialog = nullptr;
    QMetaObject::Connection m_asked;
    QString m_opening;                       ///< the file that is being loaded; empty: none
    int m_openingSince = 0;                  ///< the newest notice when it was opened
    QMap<QString, QString> m_recentTrouble;  ///< why recent files could not be opened, the last time in this window
    QComboBox* m_device = nullptr;
    QLabel *m_activity = nullptr, *m_place = nullptr;
    QProgressBar* m_progress = nullptr;
    QToolButton* m_stop = nullptr;
    bool m_painted = false, m_discard = false;
};

}  // namespace counterpoint::app
