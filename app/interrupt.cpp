#include "app/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "compute/error.h"

namespace counterpoint::app {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
constexpr char kSignalled = 's', kOver = 'o';
volatile std::sig_atomic_t writeEnd = -1;

void send(char byte) { [[maybe_unused]] const ssize_t written = write(writeEnd, &byte, 1); }

extern "C" void onSignal(int) {
    const int before = errno;
    send(kSignalled);
    errno = before;
}

}  // namespace

Interrupt::Interrupt() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        throw compute::Error({.what = std::string("no pipe could be opened: ") + std::strerror(errno)});
    m_readEnd = ends[0];
    writeEnd = ends[1];
    m_watcher = std::jthread([stop = m_stop, readEnd = m_readEnd]() mutable {
        char byte = 0;
        while (read(readEnd, &byte, 1) < 0 && errno == EINTR) {
        }
        if (byte == kSignalled) stop.request_stop();
    });
    for (const int number : kSignals) {
        struct sigaction before {
        }, action{};
        sigaction(number, nullptr, &before);
        if (before.sa_handler == SIG_IGN) continue;
        action.sa_handler = onSignal;
        action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
        sigaction(number, &action, nullptr);
    }
}

Interrupt::~Interrupt() {
    for (const int number : kSignals) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        if (now.sa_handler == onSignal) std::signal(number, SIG_DFL);
    }
    send(kOver);
    m_watcher.join();
    close(m_readEnd);
    close(writeEnd);
    writeEnd = -1;
}

}  // namespace counterpoint::app
