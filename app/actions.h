#pragma once
// Actions: the one registry. A row is an id, a menu, words, keys and a function; menus, toolbar, command palette and
// tests follow from the rows, and each function runs through widgets::attempt. Thread: the window thread.

#include <QAction>
#include <QKeySequence>
#include <QMenuBar>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/document.h"
#include "widgets/commandpalette.h"
#include "widgets/icons.h"

namespace counterpoint::app {

struct ActionRow {
    QString id;    ///< "file.open"; the QAction's objectName
    QString menu;  ///< "File", or "View/Perspective" for a submenu
    QString text, help;
    QKeySequence keys;
    std::optional<widgets::Glyph> glyph;
    bool checkable = false, separated = false;  ///< separated: a line above it in the menu
    std::function<void()> run;
};

class Actions {
  public:
    Actions(model::Document& document, QWidget* window, QMenuBar& bar);
    QAction* add(ActionRow row);
    /// An action that exists (a dock's own); it joins menu and palette under `id`.
    void adopt(const QString& id, const QString& menu, QAction* action);
    QAction* action(const QString& id) const;
    QMenu* menu(const QString& path);
    /// In the order they were added.
    const std::vector<QAction*>& all() const { return m_all; }
    std::vector<widgets::PaletteItem> paletteItems() const;

  private:
    model::Document& m_document;
    QWidget* m_window;
    QMenuBar& m_bar;
    std::map<QString, QMenu*> m_menus;
    std::map<QString, QAction*> m_byId;
    std::map<const QAction*, QString> m_path;
    std::vector<QAction*> m_all;
};

}  // namespace counterpoint::app
