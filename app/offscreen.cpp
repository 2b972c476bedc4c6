#include "app/offscreen.h"

#include <QFileInfo>

#include "compute/error.h"

namespace counterpoint::app {
namespace {

/// Where fontconfig keeps its cache; without a writable one it complains on standard error.
bool cacheCanBeWritten() {
    const QString home = qEnvironmentVariable("HOME"), given = qEnvironmentVariable("XDG_CACHE_HOME");
    const QString cache = given.isEmpty() ? home + QStringLiteral("/.cache") : given;
    if (cache.isEmpty() || (given.isEmpty() && home.isEmpty())) return false;
    const QFileInfo folder(cache), parent(home);
    return folder.exists() ? folder.isWritable() : given.isEmpty() && parent.isWritable();
}

QtMessageHandler g_before = nullptr;

/// The offscreen platform says for every window that it passes no size hints on: nobody asked it to.
void withoutSizeHints(QtMsgType type, const QMessageLogContext& context, const QString& text) {
    if (text != QLatin1String("This plugin does not support propagateSizeHints()")) g_before(type, context, text);
}

}  // namespace

Offscreen::Offscreen() {
    if (!m_folder.isValid())
        throw compute::Error({.where = m_folder.path().toStdString(),
                              .what = "no temporary folder could be made: " + m_folder.errorString().toStdString(),
                              .advice = "set TMPDIR to a folder that can be written"});
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("LC_ALL", "C.UTF-8");
    for (const char* name : {"QT_STYLE_OVERRIDE", "QT_QPA_PLATFORMTHEME", "QT_FONT_DPI", "LANGUAGE"}) qunsetenv(name);
    if (!cacheCanBeWritten()) qputenv("XDG_CACHE_HOME", m_folder.path().toLocal8Bit());
    if (!qEnvironmentVariableIsSet("XDG_RUNTIME_DIR")) qputenv("XDG_RUNTIME_DIR", m_folder.path().toLocal8Bit());
    g_before = qInstallMessageHandler(withoutSizeHints);
}

Offscreen::~Offscreen() { qInstallMessageHandler(g_before); }

}  // namespace counterpoint::app
