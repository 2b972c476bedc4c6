// The strip breaks its lines between words where the words are made of several tokens (here: letters).
#include <atomic>
#include <thread>

#include "model/diagnostics.h"
#include "model/document.h"
#include "tests/model/scripted.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "widgets/tokenstrip.h"

using namespace counterpoint;
using namespace counterpoint::tests;

class TestTokenStrip : public QObject {
    Q_OBJECT

    /// A strip of a width on a text, one token a letter, and what its lines begin with.
    struct Shown {
        model::Document document{nullptr, opener(three())};
        std::unique_ptr<widgets::TokenStrip> strip;
        std::string text;
        Shown(const std::string& prompt, int width) : text(" " + prompt) {  // BOS first
            model::Session s = sessionOf({"model"});
            s.prompt = prompt;
            s.decoding.maxNewTokens = 0;
            document.setSession(std::move(s));
            strip = std::make_unique<widgets::TokenStrip>(document);
            strip->resize(width, 4000);
            strip->show();
            document.generate();
            [this] {
                WAIT_UNTIL(!document.busy() && document.trace() != nullptr && document.trace()->stop == "limit");
            }();
        }
        int tokens() const { return static_cast<int>(document.trace()->tokens.size()); }
        std::vector<int> lineStarts() const {
            std::vector<int> starts;
            for (int i = 0; i < tokens(); ++i)
                if (i == 0 || strip->tokenRect(i).top() != strip->tokenRect(i - 1).top()) starts.push_back(i);
            return starts;
        }
        bool betweenWords(int i) const {
            return i == 0 || text[static_cast<std::size_t>(i)] == ' ' || text[static_cast<std::size_t>(i) - 1] == ' ';
        }
        /// Every token in reading order, none beyond the right end, each found where it is.
        void inOrder() const {
            for (int i = 0; i < tokens(); ++i) {
                const QRect here = strip->tokenRect(i);
                QVERIFY2(here.right() <= strip->viewport()->width(), qPrintable(QString::number(i)));
                QCOMPARE(strip->tokenAt(here.center()), i);
                if (i == 0) continue;
                const QRect before = strip->tokenRect(i - 1);
                QVERIFY2(here.top() > before.top() || (here.top() == before.top() && here.left() > before.right()),
                         qPrintable(QString::number(i)));
            }
        }
    };

  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void linesBreakBetweenWords_data() {
        QTest::addColumn<int>("width");
        for (const int width : {160, 203, 317, 420}) QTest::addRow("%d", width) << width;
    }
    void linesBreakBetweenWords() {
        QFETCH(int, width);
        std::string text;
        for (int n = 0; n < 12; ++n) text += "once upon a time there was a little girl ";
        const Shown shown(text, width);
        const std::vector<int> starts = shown.lineStarts();
        QVERIFY(starts.size() > 8);
        for (const int i : starts) QVERIFY2(shown.betweenWords(i), qPrintable(QString::number(i)));
        shown.inOrder();
        QCOMPARE(shown.strip->laidOut() % shown.tokens(), 0);
    }

    /// Before there is a text the strip and the plots say what is waited for, or what to do.
    void whileItLoadsItSaysSo() {
        std::atomic<bool> held = true;
        const model::SourceOpener letters = opener(three());
        model::Document document(nullptr, [&](const auto& path, const auto& options, std::stop_token stop) {
            while (held && !stop.stop_requested()) std::this_thread::yield();
            return letters(path, options, stop);
        });
        widgets::TokenStrip strip(document);
        QVERIFY(strip.whyEmpty().contains("is not loaded"));
        document.setSession(sessionOf({"model"}));
        QVERIFY(document.loading() && !document.ready());
        QCOMPARE(strip.whyEmpty(), QString(model::kLoading));
        QCOMPARE(document.plot("drift").empty, std::string(model::kLoading));
        held = false;
        WAIT_UNTIL(document.ready());
        QVERIFY(!document.loading());
        QVERIFY(strip.whyEmpty().contains("Press Generate"));
        QCOMPARE(document.plot("drift").empty, std::string(model::kNothingDecoded));
    }

    /// What fills more than half a line is no word to be moved: it is broken where the line ends.
    void longWordsAreBrokenAtTheEnd() {
        const Shown shown("a " + std::string(200, 'm') + " and", 300);
        QVERIFY(shown.lineStarts().size() > 5);
        QCOMPARE(shown.strip->tokenRect(3).top(), shown.strip->tokenRect(1).top());
        shown.inOrder();
    }

    /// The cursor's frame stands around its token: no stroke of the text is under it.
    void theCursorHidesNothing() {
        Shown shown("all ill will fill l", 400);
        const auto boxes = [&](int cursor) {
            shown.document.setCursor(cursor);
            return shown.strip->viewport()->grab().toImage();
        };
        const QImage away = boxes(1);
        const qreal scale = away.devicePixelRatio();
        for (int i = 2; i < shown.tokens(); ++i) {
            const QRect box = shown.strip->tokenRect(i);
            const QImage here = boxes(i);
            const auto part = [&](const QImage& image, const QRect& of) {
                return image.copy(QRectF(of.topLeft() * scale, of.size() * scale).toRect());
            };
            QVERIFY2(part(here, box) == part(away, box), qPrintable(QString::number(i)));
            QVERIFY(part(here, box.adjusted(-2, -2, 2, 2)) != part(away, box.adjusted(-2, -2, 2, 2)));
        }
    }
};

QTEST_MAIN(TestTokenStrip)
#include "tst_tokenstrip.moc"
