#pragma once
// CompressWork: what compressing a bank keeps and costs, made on the analysis lane; the window only looks whether it is
// there. Of what is stopped nothing is shown: the report before it stays. Thread: the window thread.

#include <QObject>
#include <QTimer>
#include <memory>
#include <optional>
#include <string>

#include "model/bankcompress.h"
#include "model/document.h"

namespace counterpoint::widgets {

class CompressWork : public QObject {
    Q_OBJECT
  public:
    CompressWork(model::Document& document, QObject* parent);
    ~CompressWork() override;

    /// Begins; what is under way is stopped, and this follows it.
    void ask(model::CompressionInput input);
    void stop();
    bool working() const { return m_box != nullptr; }
    const model::Progress& progress() const { return m_progress; }
    /// The last one of the bank that came to its end, and what it is of; null: none yet, or the last one failed.
    const std::shared_ptr<const model::CompressionReport>& report() const { return m_report; }
    const model::CompressionInput& input() const { return m_input; }
    const std::string& failure() const { return m_failure; }  ///< of the last time; its sentence
    bool stopped() const { return m_stopped; }                ///< the last time

  Q_SIGNALS:
    void changed();
    void progressed();

  private:
    struct Box;
    void look();
    model::Document& m_document;
    std::shared_ptr<Box> m_box;  ///< of the work under way
    std::optional<model::CompressionInput> m_next;
    std::shared_ptr<const model::CompressionReport> m_report;
    model::CompressionInput m_input;
    model::Progress m_progress;
    std::string m_failure;
    bool m_stopped = false;
    QTimer m_timer;
};

}  // namespace counterpoint::widgets
