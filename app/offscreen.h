#pragma once
// Offscreen: the surroundings in which Qt draws figures and screenshots without a display: its own platform, a UTF-8
// locale with dot decimals, no theme or style of the desktop, folders that can be written even where the home folder
// cannot. Make it before the QApplication and keep it as long. Thread: main, before any other thread reads the
// environment.

#include <QTemporaryDir>

namespace counterpoint::app {

class Offscreen {
  public:
    Offscreen();
    ~Offscreen();
    Offscreen(const Offscreen&) = delete;
    Offscreen& operator=(const Offscreen&) = delete;

  private:
    QTemporaryDir m_folder;
};

}  // namespace counterpoint::app
