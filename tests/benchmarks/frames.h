#pragma once
// What the window's benchmarks measure with: finished frames of a window, an event loop that turns as in exec(), and
// summaries. Thread: the window's.

#include <QApplication>
#include <QElapsedTimer>
#include <QEvent>
#include <QEventLoop>
#include <QTimer>
#include <algorithm>
#include <cmath>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

namespace counterpoint::benchmarks {

using Json = nlohmann::ordered_json;

inline Json summary(std::vector<double> values) {
    if (values.empty()) return nullptr;
    std::sort(values.begin(), values.end());
    const auto at = [&](double q) {
        return std::round(10 * values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1))]) / 10;
    };
    return {{"n", values.size()}, {"best", at(0)}, {"median", at(0.5)}, {"p99", at(0.99)}, {"worst", at(1)}};
}

inline double monotonicMs() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e3 * static_cast<double>(now.tv_sec) + 1e-6 * static_cast<double>(now.tv_nsec);
}

inline double loadAverage() {
    double load = 0;
    std::ifstream("/proc/loadavg") >> load;
    return load;
}

/// Turns the loop as it turns in exec(): it sleeps when there is nothing to do.
inline void turn(int ms) {
    QEventLoop loop;
    QTimer::singleShot(ms, Qt::PreciseTimer, &loop, &QEventLoop::quit);
    loop.exec();
}

/// A finished frame is a paint of the whole window that has been handed to the platform: notify() has come back.
class Application final : public QApplication {
  public:
    using QApplication::QApplication;
    const QObject* watched = nullptr;
    std::vector<double> frames;  ///< from one finished frame to the next
    std::vector<double> works;   ///< of that, the paint alone
    QElapsedTimer clock;
    bool notify(QObject* receiver, QEvent* event) override {
        const bool paint = receiver == watched && event->type() == QEvent::UpdateRequest;
        const double before = paint ? monotonicMs() : 0;
        const bool handled = QApplication::notify(receiver, event);
        if (paint) {
            works.push_back(monotonicMs() - before);
            if (clock.isValid()) frames.push_back(static_cast<double>(clock.nsecsElapsed()) * 1e-6);
            clock.start();
        }
        return handled;
    }
};

}  // namespace counterpoint::benchmarks
