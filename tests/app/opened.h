#pragma once
// The window on scripted sources: 26 letters, a base and two specialists; settings in a folder of its own.

#include <QSettings>
#include <QTemporaryDir>
#include <QUrl>
#include <memory>
#include <thread>

#include "app/mainwindow.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/routedsource.h"

namespace counterpoint::tests {

using app::MainWindow;

inline constexpr std::int64_t kVocabulary = 26;

/// "missing" in a path: there is no such source. "slow" in a path: each forward takes its time, so that there is
/// something to stop. "moe": it has routed experts.
inline model::SourceOpener opener() {
    auto tokenizer = std::make_shared<FakeTokenizer>(kVocabulary);
    return [tokenizer](const std::filesystem::path& path, const compute::OpenOptions& options,
                       std::stop_token) -> std::unique_ptr<compute::Source> {
        FakeScript script;
        const std::string name = path.filename().string();
        if (name.starts_with("missing")) throw compute::Error({.where = path.string(), .what = "it is not there"});
        script.voice = static_cast<std::uint32_t>(std::hash<std::string>{}(name));
        std::unique_ptr<FakeSource> source;
        if (name.starts_with("moe"))
            source = std::make_unique<RoutedSource>(tokenizer, script);
        else
            source = std::make_unique<FakeSource>(tokenizer, script);
        auto& info = const_cast<compute::SourceInfo&>(source->info());
        info.path = path.string();
        info.device = options.device;
        if (name.starts_with("slow"))
            source->onForward = [](FakeSource&) { std::this_thread::sleep_for(std::chrono::milliseconds(5)); };
        return source;
    };
}

inline model::Session session(const std::string& base = "base", std::int64_t tokens = 24) {
    model::Session s;
    s.file = "/scripted/demo.session.json";
    s.prompt = "abc";
    s.base.path = base;
    for (const char* name : {"dialogue", "animals"}) {
        model::SourceEntry entry;
        entry.name = entry.path = name;
        s.specialists.push_back(entry);
    }
    s.decoding.maxNewTokens = tokens;
    return s;
}

/// One model with routed experts twice: as published, and under coupled noise beside it.
inline model::Session routedSession() {
    model::Session s = session("moe");
    s.specialists.resize(1);
    s.specialists[0].name = "coupled";
    s.specialists[0].path = "moe";
    s.specialists[0].routing = {{"mode", "coupled"}, {"rho", 0.5}, {"alpha", 0.5}, {"window", 4}, {"note", "kept"}};
    return s;
}

struct Opened {
    QTemporaryDir folder;
    std::unique_ptr<QSettings> settings;
    model::Document document{nullptr, opener()};
    std::unique_ptr<MainWindow> window;
    explicit Opened(model::Session s = session(), const QString& perspective = {}) {
        settings = std::make_unique<QSettings>(folder.filePath("window.ini"), QSettings::IniFormat);
        document.setSession(std::move(s));
        open(perspective);
    }
    void open(const QString& perspective = {}) {
        window = std::make_unique<MainWindow>(document, *settings);
        window->restore(perspective);
        window->resize(1280, 800);
        window->show();
    }
    template <class T>
    T* find(const char* name) {
        return window->findChild<T*>(QString::fromUtf8(name));
    }
    /// What is told next is then told alone.
    void forgetNotices() {
        const std::vector<model::Notice> told = document.notices();
        for (const model::Notice& notice : told) document.dismiss(notice.id);
    }
    void decode() {
        WAIT_UNTIL(document.ready());
        window->actions().action("decode.generate")->trigger();
        WAIT_UNTIL(
            !document.busy() && document.trace() != nullptr && document.trace()->stop == "limit");
    }
};

}  // namespace counterpoint::tests
