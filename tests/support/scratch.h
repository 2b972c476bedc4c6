#pragma once
// A scratch folder for each test function, and what a call complains about.

#include <QTemporaryDir>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "compute/error.h"

namespace counterpoint::tests {

/// The sentence of the Error that `call` throws; empty: it throws none.
inline std::string errorOf(const std::function<void()>& call) {
    try {
        call();
    } catch (const compute::Error& error) {
        return error.sentence();
    }
    return {};
}

/// Base of a test class; renew() in init() gives each test function an empty folder.
class Scratch {
  protected:
    void renew() { m_dir = std::make_unique<QTemporaryDir>(); }
    std::filesystem::path folder() const { return m_dir->path().toStdString(); }

  private:
    std::unique_ptr<QTemporaryDir> m_dir;
};

}  // namespace counterpoint::tests
