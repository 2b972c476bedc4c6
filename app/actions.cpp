#include "app/actions.h"

#include <QMenu>

#include "widgets/attempt.h"

namespace counterpoint::app {

Actions::Actions(model::Document& document, QWidget* window, QMenuBar& bar)
    : m_document(document), m_window(window), m_bar(bar) {}

QMenu* Actions::menu(const QString& path) {
    QMenu*& known = m_menus[path];
    if (known != nullptr) return known;
    const auto slash = path.lastIndexOf(QLatin1Char('/'));
    const QString title = path.mid(slash + 1);
    known = slash < 0 ? m_bar.addMenu(title) : menu(path.left(slash))->addMenu(title);
    known->setObjectName(QStringLiteral("menu.") + path);
    known->setToolTipsVisible(true);
    return known;
}

void Actions::adopt(const QString& id, const QString& menuPath, QAction* action) {
    action->setObjectName(id);
    menu(menuPath)->addAction(action);
    m_byId[id] = action;
    m_path[action] = QString(menuPath).replace(QLatin1Char('/'), QStringLiteral(" › "));
    m_all.push_back(action);
}

QAction* Actions::add(ActionRow row) {
    auto* action = new QAction(row.text, m_window);
    action->setShortcut(row.keys);
    action->setCheckable(row.checkable);
    if (row.glyph) action->setIcon(widgets::lineIcon(*row.glyph));
    const QString keys = row.keys.toString(QKeySequence::NativeText);
    action->setToolTip(keys.isEmpty() ? row.help : QStringLiteral("%1 (%2)").arg(row.help, keys));
    QObject::connect(
        action, &QAction::triggered, m_window,
        [this, run = std::move(row.run), id = row.id.toStdString()] { widgets::attempt(m_document, run, id); });
    if (row.separated) menu(row.menu)->addSeparator();
    adopt(row.id, row.menu, action);
    m_window->addAction(action);
    return action;
}

QAction* Actions::action(const QString& id) const {
    const auto found = m_byId.find(id);
    return found == m_byId.end() ? nullptr : found->second;
}

std::vector<widgets::PaletteItem> Actions::paletteItems() const {
    std::vector<widgets::PaletteItem> items;
    for (QAction* action : m_all) {
        QString text = action->text();
        items.push_back({m_path.at(action) + QStringLiteral(" › ") + text.remove(QLatin1Char('&')), action});
    }
    return items;
}

}  // namespace counterpoint::app
