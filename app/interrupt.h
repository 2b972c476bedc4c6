#pragma once
// Interrupt: while it lives, the first SIGINT or SIGTERM asks `token()` to stop, as the Stop button does; a second one
// ends the process at once, with exit code 1 and the last words on standard error. A signal that was ignored when the
// program started (nohup) stays ignored. Thread: one object at a time, made and destroyed on the main thread; the
// token: any.

#include <stop_token>
#include <string>
#include <thread>

namespace counterpoint::app {

class Interrupt {
  public:
    Interrupt();
    ~Interrupt();
    Interrupt(const Interrupt&) = delete;
    Interrupt& operator=(const Interrupt&) = delete;

    std::stop_token token() const { return m_stop.get_token(); }
    bool asked() const { return m_stop.stop_requested(); }
    /// What a second signal leaves unfinished: "OUT: ended by a second signal, before …". Once.
    void setLastWords(const std::string& sentence);

  private:
    std::string m_lastWords;
    std::stop_source m_stop;
    int m_readEnd = -1;
    std::jthread m_watcher;  ///< a handler may do next to nothing: it writes one byte, and this thread reads it
};

}  // namespace counterpoint::app
