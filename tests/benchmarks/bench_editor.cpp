// The bank editor's figures as JSON: a bank of 10,000 priors of 100 tokens on a trace of 256 positions, V = 50,257
// (bench_priors has what the lanes take of it): the Priors perspective from the click to its first finished frame; an η
// edited in the table and dragged by the slider of the detail pane, to the finished frame that shows the visible
// position's new step.
//   bench_editor [ROUNDS]     offscreen or on a display; a scripted source stands for the model

#include <unistd.h>

#include <QSettings>
#include <QTableView>
#include <QTemporaryDir>
#include <cstdio>
#include <cstdlib>

#include "app/mainwindow.h"
#include "tests/benchmarks/frames.h"
#include "tests/benchmarks/priorbank.h"
#include "tests/model/scripted.h"
#include "widgets/palette.h"
#include "widgets/priordetail.h"
#include "widgets/priorstable.h"

using namespace counterpoint;
using namespace counterpoint::benchmarks;
using widgets::PriorsTable;

namespace {

constexpr std::int64_t kVocabulary = 50'257, kPositions = 256;
constexpr int kPauseMs = 400;  // between two edits: the whole trace has been composed again

tests::Script script() {
    tests::Script script;
    script.vocabulary = kVocabulary;
    script.logits = [](std::span<const compute::TokenId> read, std::span<float> out) {
        std::uint32_t state = 1 + static_cast<std::uint32_t>(read.size()) * 7919;
        for (float& x : out)
            x = 4.0f * static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / 16777216.0f;
        out[read.size() % 5 == 0 ? 3 + ' ' : 3 + 'a'] = 30;  // words, so that the context that should match does
    };
    return script;
}

model::Session session() {
    model::Session s = tests::sessionOf({"model"});
    s.prompt = "word other word";
    s.priors.push_back({.bank = "large.bank.json", .content = largeBank(kVocabulary)});
    s.decoding.maxNewTokens = kPositions;
    s.decoding.stopIds = std::vector<compute::TokenId>{};
    return s;
}

/// From `edit` to the end of the first frame painted after the visible position has its new step. −1: it never came.
double answered(Application& application, model::Document& document, const std::function<void()>& edit) {
    const auto stepOf = [&] {
        for (const model::StepPtr& step : document.trace()->steps)
            if (step->position == document.view().cursor) return step;
        return model::StepPtr();
    };
    const model::StepPtr before = stepOf();
    const double from = monotonicMs();
    edit();
    while (stepOf() == before && monotonicMs() < from + 2000) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    if (stepOf() == before) return -1;
    const std::size_t painted = application.works.size();
    while (application.works.size() == painted && monotonicMs() < from + 2000)
        QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    return application.works.size() == painted ? -1 : monotonicMs() - from;
}

}  // namespace

int main(int argc, char** argv) {
    setenv("OMP_WAIT_POLICY", "passive", 0);  // as the program does
    Application application(argc, argv);
    const int rounds = argc > 1 ? std::clamp(std::atoi(argv[1]), 2, 10'000) : 31;
    widgets::applyTheme(application, widgets::ThemeKind::Light);
    QTemporaryDir folder;
    QSettings settings(folder.filePath("bench.ini"), QSettings::IniFormat);
    model::Document document(nullptr, tests::opener({{"model", script()}}));
    app::MainWindow window(document, settings);
    window.restore({});
    window.resize(1440, 900);
    window.show();
    document.setSession(session());
    document.loadSources();
    while (!document.ready()) turn(10);
    document.generate();
    while (document.busy()) turn(10);
    document.setCursor(kPositions / 2);
    turn(200);
    application.watched = &window;

    std::vector<double> opening, edited, dragged;
    for (int i = 0; i < rounds; ++i) {
        window.showPerspective(QStringLiteral("Compose"));
        turn(100);
        const std::size_t painted = application.works.size();
        const double from = monotonicMs();
        window.showPerspective(QStringLiteral("Priors"));
        while (application.works.size() == painted) QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
        opening.push_back(monotonicMs() - from);
        turn(50);
    }
    auto* view = window.findChild<QTableView*>(QStringLiteral("priors.table"));
    view->setCurrentIndex(view->model()->index(7, PriorsTable::EtaColumn));
    turn(kPauseMs);
    for (int i = 0; i < rounds; ++i) {
        edited.push_back(answered(application, document, [&] {
            view->model()->setData(view->model()->index(7, PriorsTable::EtaColumn), 0.5 + 0.01 * i);
        }));
        turn(kPauseMs);
    }
    auto* slider =
        window.findChild<widgets::PriorDetail*>(QStringLiteral("priorDetail"))->findChild<widgets::ValueSlider*>(QStringLiteral("prior.eta"))->slider();
    slider->setSliderDown(true);
    for (int i = 0; i < rounds; ++i)  // one tick after the other, as a hand moves it: the rest of the trace is under way
        dragged.push_back(answered(application, document, [&] { slider->setSliderPosition(100 + i); }));
    slider->setSliderDown(false);
    while (document.busy()) turn(10);

    const Json out{{"vocabulary", kVocabulary},
                   {"positions", document.trace()->steps.size()},
                   {"priors", kPriors},
                   {"matching", document.trace()->steps[kPositions / 2]->matchedPriors.size()},
                   {"opening_ms", summary(opening)},
                   {"edited_ms", summary(edited)},
                   {"dragged_ms", summary(dragged)},
                   {"conditions",
                    {{"platform", QApplication::platformName().toStdString()},
                     {"cores", sysconf(_SC_NPROCESSORS_ONLN)},
                     {"load", loadAverage()},
                     {"rounds", rounds},
                     {"window", {window.width(), window.height()}}}}};
    std::printf("%s\n", out.dump(2).c_str());
    return 0;
}
