#include "app/lanefacts.h"

#include <mutex>

namespace counterpoint::app {

constexpr int kLookMs = 100;

struct LaneFacts::Box {
    std::mutex mutex;
    bool full = false;
    std::vector<std::pair<std::string, std::string>> versions;
    std::vector<compute::DeviceInfo> devices;
};

LaneFacts::LaneFacts(model::Document& document, QObject* parent) : QObject(parent), m_document(document) {
    m_timer.setInterval(kLookMs);
    connect(&m_timer, &QTimer::timeout, this, &LaneFacts::look);
}

void LaneFacts::ask() {
    if (m_box != nullptr) return;
    m_box = std::make_shared<Box>();
    m_document.engine().run(
        [box = m_box](std::stop_token) {
            std::vector<std::pair<std::string, std::string>> versions;
            std::vector<compute::DeviceInfo> devices;
            try {
                versions = compute::networkVersions();
                devices = compute::devices();
            } catch (const compute::Error& error) {  // an answer too: the About box says it
                versions = {{"torch", error.sentence()}};
            }
            const std::scoped_lock lock(box->mutex);
            box->versions = std::move(versions);
            box->devices = std::move(devices);
            box->full = true;
        },
        "Asking libtorch for its devices");
    m_timer.start();
}

void LaneFacts::look() {
    {
        const std::scoped_lock lock(m_box->mutex);
        if (!m_box->full) return;
        m_versions = m_box->versions;
        m_devices = m_box->devices;
    }
    m_timer.stop();
    m_known = true;
    Q_EMIT answered();
}

}  // namespace counterpoint::app
