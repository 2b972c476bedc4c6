#pragma once
// Line icons, 1.5 px in a 16 px square, drawn by QPainter in the present theme's colour at any scale: no plugin is
// loaded for them (a dlopen on the window thread waits while torch loads) and a change of theme needs no new icons.
// Thread: the window thread.

#include <QIcon>
#include <QString>

namespace counterpoint::widgets {

enum class Glyph {
    Open,
    Save,
    Play,
    Step,
    Pause,
    Stop,
    Undo,
    Redo,
    Palette,
    Export,
    Theme,
    Reset,
    More,
    Grip,
    Plus,
    Close,
    Copy,
    Float,
    Chevron,
    Compress
};

QIcon lineIcon(Glyph glyph);
/// The program's own mark: two voices that part and meet again.
QIcon applicationIcon();

}  // namespace counterpoint::widgets
