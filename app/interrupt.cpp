#include "app/interrupt.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <string_view>

#include "compute/error.h"

namespace counterpoint::app {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
constexpr char kSignalled = 's', kOver = 'o';
constexpr std::string_view kEnded = "counterpoint: ended by a second signal.\n";
volatile std::sig_atomic_t writeEnd = -1;
std::atomic<int> signals = 0;
std::atomic<const std::string*> lastWords = nullptr;

void send(char byte) { [[maybe_unused]] const ssize_t written = write(writeEnd, &byte, 1); }

/// A handler may do next to nothing; writing and leaving are allowed.
extern "C" void onSignal(int) {
    if (signals++ > 0) {
        const std::string* words = lastWords;
        const std::string_view said = words == nullptr ? kEnded : std::string_view(*words);
        [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, said.data(), said.size());
        _exit(1);
    }
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
    signals = 0;
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
        action.sa_flags = SA_RESTART;
        sigaction(number, &action, nullptr);
    }
}

void Interrupt::setLastWords(const std::string& sentence) {
    m_lastWords = (isatty(STDERR_FILENO) == 1 ? "\r\033[K" : "") + ("counterpoint: " + sentence) + "\n";
    lastWords = &m_lastWords;
}

Interrupt::~Interrupt() {
    for (const int number : kSignals) {
        struct sigaction now {};
        sigaction(number, nullptr, &now);
        if (now.sa_handler == onSignal) std::signal(number, SIG_DFL);
    }
    lastWords = nullptr;
    send(kOver);
    m_watcher.join();
    close(m_readEnd);
    close(writeEnd);
    writeEnd = -1;
}

}  // namespace counterpoint::app
