// What a picture of the window waits for before it is taken (counterpoint --screenshot).
#include <QTimer>
#include <algorithm>
#include <atomic>
#include <thread>

#include "app/window.h"
#include "tests/app/editor.h"
#include "widgets/palette.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestWindowPicture : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { widgets::applyTheme(*qApp, widgets::ThemeKind::Light); }
    void init() { failOnAnyWarning(); }

    /// A picture waits for the analysis lane, which has the drift without the prior, as long as it is worth it.
    void aPictureWaitsForTheDriftWithoutIt() {
        const BankFolder folder;
        Editor o(folder);
        o.decode();
        o.settle();
        constexpr std::chrono::milliseconds patience(kPatienceMs);
        o.click(1, PriorsTable::Name);
        QVERIFY(app::waitForAnalysis(o.document, patience));
        const auto held = std::make_shared<std::atomic<bool>>(true);
        o.document.engine().run(
            [held](const std::stop_token& stop) {
                while (*held && !stop.stop_requested()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
            },
            "holding the lane");
        o.click(0, PriorsTable::Name);  // another prior is looked at
        const auto known = [&] {
            const model::PlotData plot = o.document.plot("prior_effect");
            return std::ranges::any_of(plot.series, [](const auto& s) { return s.name == "drift without it"; });
        };
        QVERIFY(!app::waitForAnalysis(o.document, std::chrono::milliseconds(60)) && !known());
        bool asked = false;
        QVERIFY(!app::waitForAnalysis(o.document, patience, [&] { return std::exchange(asked, true); }) && !known());
        QTimer::singleShot(30, o.window.get(), [held] { *held = false; });
        QVERIFY(app::waitForAnalysis(o.document, patience) && known());
    }
};

QTEST_MAIN(TestWindowPicture)
#include "tst_windowpicture.moc"
