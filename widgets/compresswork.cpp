#include "widgets/compresswork.h"

#include <mutex>
#include <utility>

#include "compute/error.h"

namespace counterpoint::widgets {

constexpr int kCompressLookMs = 50;

/// Where the lane leaves what it made.
struct CompressWork::Box {
    std::stop_source stop;
    model::CompressionInput input;
    std::mutex mutex;
    bool full = false;
    std::optional<model::CompressionReport> report;
    std::string failure;
    model::Progress progress{"Waiting for the analysis lane", -1, {}};
};

CompressWork::CompressWork(model::Document& document, QObject* parent) : QObject(parent), m_document(document) {
    m_timer.setInterval(kCompressLookMs);
    connect(&m_timer, &QTimer::timeout, this, &CompressWork::look);
}

CompressWork::~CompressWork() {
    if (m_box != nullptr) m_box->stop.request_stop();
}

void CompressWork::ask(model::CompressionInput input) {
    if (m_box != nullptr) {
        m_next = std::move(input);
        m_box->stop.request_stop();
        return;
    }
    m_failure.clear();
    m_stopped = false;
    if (input.bank != m_input.bank) m_report.reset();
    m_box = std::make_shared<Box>();
    m_box->input = std::move(input);
    m_progress = m_box->progress;
    m_document.engine().run(
        [box = m_box, engine = &m_document.engine()](const std::stop_token& lane) {
            const std::stop_callback both(lane, [&box] { box->stop.request_stop(); });
            const auto finish = [&box](std::optional<model::CompressionReport> report, std::string failure) {
                const std::scoped_lock lock(box->mutex);
                box->report = std::move(report);
                box->failure = std::move(failure);
                box->full = true;
            };
            const auto tell = [&box, engine](const model::Progress& progress) {
                {
                    const std::scoped_lock lock(box->mutex);
                    box->progress = progress;
                }
                engine->letPass();  // a dial does not wait for it
            };
            try {
                finish(model::compressionReport(box->input, tell, box->stop.get_token()), {});
            } catch (const compute::Error& error) {  // the dialog says it
                finish({}, error.sentence());
            } catch (const std::exception&) {
                finish({}, "This failed unexpectedly.");
                throw;
            }
        },
        "Compressing a bank");
    m_timer.start();
    Q_EMIT changed();
}

void CompressWork::stop() {
    m_next.reset();
    if (m_box != nullptr) m_box->stop.request_stop();
}

void CompressWork::look() {
    const bool full = [this] {
        const std::scoped_lock lock(m_box->mutex);
        m_progress = m_box->progress;
        return m_box->full;
    }();
    if (!full) return Q_EMIT progressed();
    m_timer.stop();
    const std::shared_ptr<Box> box = std::exchange(m_box, nullptr);  // the lane is done with it
    if (m_next) return ask(*std::exchange(m_next, std::nullopt));
    m_failure = box->failure;
    m_stopped = !box->report && m_failure.empty();
    if (!m_failure.empty()) m_report.reset();
    if (box->report) {
        m_report = std::make_shared<const model::CompressionReport>(std::move(*box->report));
        m_input = std::move(box->input);
    }
    Q_EMIT changed();
}

}  // namespace counterpoint::widgets
