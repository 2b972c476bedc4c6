#pragma once
// LaneFacts: what only the torch module knows (its versions, its devices), asked for on the analysis lane and handed to
// the window thread when it is there; the window never waits. Thread: the window thread.

#include <QObject>
#include <QTimer>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/document.h"

namespace counterpoint::app {

class LaneFacts : public QObject {
    Q_OBJECT
  public:
    explicit LaneFacts(model::Document& document, QObject* parent = nullptr);
    /// Once; answered() follows. Loads the torch module where it is not yet loaded.
    void ask();
    bool known() const { return m_known; }
    const std::vector<std::pair<std::string, std::string>>& versions() const { return m_versions; }
    const std::vector<compute::DeviceInfo>& devices() const { return m_devices; }

  Q_SIGNALS:
    void answered();

  private:
    struct Box;
    void look();
    model::Document& m_document;
    std::shared_ptr<Box> m_box;
    QTimer m_timer;
    bool m_known = false;
    std::vector<std::pair<std::string, std::string>> m_versions;
    std::vector<compute::DeviceInfo> m_devices;
};

}  // namespace counterpoint::app
