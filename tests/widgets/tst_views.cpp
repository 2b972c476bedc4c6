// Distribution and ledger as tables and plots, on a real decode of scripted sources, under mouse and keys.
#include <QHeaderView>
#include <QSignalSpy>
#include <QTableWidget>
#include <cmath>
#include <numeric>

#include "compute/files/atomicfile.h"
#include "model/document.h"
#include "tests/support/fakesource.h"
#include "tests/support/fixture.h"
#include "tests/support/patience.h"
#include "tests/support/toyrecording.h"
#include "widgets/distributionview.h"
#include "widgets/ledgerview.h"
#include "widgets/numbertable.h"
#include "widgets/promptedit.h"
#include "widgets/textpanel.h"

using namespace counterpoint;
using namespace counterpoint::widgets;

namespace {

/// Base and one specialist over 26 letters, decoded; top-k 5.
struct Decoded {
    std::shared_ptr<tests::FakeTokenizer> tokenizer = std::make_shared<tests::FakeTokenizer>(26);
    model::Document document{nullptr,
                             [this](const std::filesystem::path& path, const compute::OpenOptions&,
                                    std::stop_token) -> std::unique_ptr<compute::Source> {
                                 const auto voice = static_cast<std::uint32_t>(path.filename().string().size());
                                 return std::make_unique<tests::FakeSource>(tokenizer,
                                                                            tests::FakeScript{.voice = voice});
                             }};
    Decoded() {
        model::Session s;
        s.file = "/scripted/s.session.json";
        s.prompt = "abc";
        s.base.path = "base";
        s.specialists.emplace_back();
        s.specialists[0].name = s.specialists[0].path = "dialogue";
        s.decoding.maxNewTokens = 8;
        s.decoding.topK = 5;
        document.setSession(std::move(s));
        [this] {
            WAIT_UNTIL(document.ready());
            document.generate();
            WAIT_UNTIL(!document.busy() && document.trace() != nullptr && document.trace()->stop == "limit");
        }();
        document.setCursor(6);
    }
    const compute::Step& step() { return *document.trace()->at(6); }
    void show(DistributionView& view) {
        view.show(document.trace(), document.view(), document.plot("distribution"));
        view.resize(700, 600);
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
    }
};

/// The number in a cell as it is written for eyes.
double number(const QTableWidget& table, int row, int column) {
    QString text = table.item(row, column)->text();
    return text.remove(QStringLiteral("× ")).replace(QChar(0x2212), QLatin1Char('-')).toDouble();
}

int columnOf(const QTableWidget& table, const char* head) {
    for (int c = 0; c < table.columnCount(); ++c)
        if (table.horizontalHeaderItem(c)->text() == QString::fromUtf8(head)) return c;
    return -1;
}

}  // namespace

class TestViews : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeKind::Light); }
    void init() { tests::failOnAnyWarning(); }

    void theTableShowsTheMostProbableTokens() {
        Decoded d;
        DistributionView view;
        d.show(view);
        const QTableWidget& table = view.table();
        const auto shown = model::shownTokens(d.step(), d.document.view());
        QVERIFY(table.rowCount() >= 12);
        QCOMPARE(table.rowCount(), static_cast<int>(shown.size()));
        const int composed = columnOf(table, "composed"), dialogue = columnOf(table, "dialogue"),
                  base = columnOf(table, "base"), cold = columnOf(table, "τ = 1"), kept = columnOf(table, "kept");
        for (int row = 0; row < table.rowCount(); ++row) {
            const compute::TopToken& t = shown[static_cast<std::size_t>(row)];
            QCOMPARE(table.item(row, 0)->text(), QString::fromStdString(model::tokenLabel(d.tokenizer.get(), t.token)));
            const auto same = [&](int column, float logP) {
                return std::abs(number(table, row, column) - std::exp(static_cast<double>(logP))) <= 0.5e-4 + 1e-9;
            };
            QVERIFY(same(composed, t.temperature) && same(base, t.source[0]) && same(dialogue, t.source[1]));
            QVERIFY(same(cold, t.priors));
            if (row > 0 && row < 12) QVERIFY(number(table, row, composed) <= number(table, row - 1, composed));
            // Five are kept; the others stand in quiet ink.
            QCOMPARE(!table.item(row, kept)->text().isEmpty(), t.kept);
            QCOMPARE(table.item(row, composed)->data(Qt::ForegroundRole).isValid(), !t.kept);
        }
        QCOMPARE(std::count_if(shown.begin(), shown.end(), [](const auto& t) { return t.kept; }), 5);
    }

    void theTailIsOneRowAndNothingIsLost() {
        Decoded d;
        const model::PlotData plot = d.document.plot("distribution");
        QCOMPARE(plot.x.categories.back(), std::string("others"));
        QCOMPARE(plot.series.size(), std::size_t{3});  // base, dialogue, composed
        for (const model::Series& s : plot.series) {
            QCOMPARE(s.y.size(), plot.x.categories.size());
            QVERIFY(std::abs(std::accumulate(s.y.begin(), s.y.end(), 0.0) - 1) < 1e-5);
            QVERIFY(s.grey.back());  // top-k 5: no kept token is among the others
            QCOMPARE(std::count(s.grey.begin(), s.grey.end() - 1, false), 5);
        }
    }

    void rowsAreShownWhole_data() {
        QTest::addColumn<int>("height");
        for (const int height : {401, 409, 417}) QTest::addRow("%d high", height) << height;
    }
    void rowsAreShownWhole() {
        QFETCH(int, height);
        Decoded d;
        DistributionView view;
        d.show(view);
        view.resize(420, height);
        QCoreApplication::processEvents();
        const QTableWidget& table = view.table();
        const int row = table.rowHeight(0), seen = table.viewport()->height();
        QVERIFY(seen > 2 * row && seen < table.rowCount() * row);
        QCOMPARE(seen % row, 0);
        QVERIFY(table.height() - table.horizontalHeader()->height() - seen < row + 8);  // no row fits into what is left
    }

    void aClickSelectsAndADoubleClickBranches() {
        Decoded d;
        DistributionView view;
        d.show(view);
        QSignalSpy selected(&view, &DistributionView::tokenSelected),
            branched(&view, &DistributionView::branchRequested);
        const auto shown = model::shownTokens(d.step(), d.document.view());
        const int row = view.table().currentRow() == 3 ? 4 : 3;
        const QPoint cell = view.table().visualItemRect(view.table().item(row, 1)).center();
        QTest::mouseClick(view.table().viewport(), Qt::LeftButton, {}, cell);
        QCOMPARE(selected.size(), 1);
        QCOMPARE(selected[0][0].value<compute::TokenId>(), shown[static_cast<std::size_t>(row)].token);
        QTest::mouseDClick(view.table().viewport(), Qt::LeftButton, {}, cell);
        QCOMPARE(branched.size(), 1);
        QCOMPARE(branched[0][0].value<compute::Position>(), compute::Position{6});
        QCOMPARE(branched[0][1].value<compute::TokenId>(), shown[static_cast<std::size_t>(row)].token);
        QTest::keyClick(&view.table(), Qt::Key_Down);
        QCOMPARE(selected.size(), 2);
        QTest::keyClick(&view.table(), Qt::Key_Return);
        QCOMPARE(branched.size(), 2);
        QCOMPARE(branched[1][1].value<compute::TokenId>(), shown[static_cast<std::size_t>(row) + 1].token);
    }

    void showingAgainSelectsWithoutAskingAndKeepsTheToken() {
        Decoded d;
        DistributionView view;
        d.show(view);
        QSignalSpy selected(&view, &DistributionView::tokenSelected);
        model::View look = d.document.view();
        look.token = model::shownTokens(d.step(), look)[2].token;
        d.document.setView(look);
        view.show(d.document.trace(), look, d.document.plot("distribution"));
        QCOMPARE(view.table().currentRow(), 2);
        QCOMPARE(selected.size(), 0);
    }

    void withoutAStepTheTableGoesAndThePlotSaysWhy() {
        model::Document document;  // with no source open either
        const std::string why =
            "Nothing to decode with: a source of the rack is not loaded. Open a session or a model.";
        DistributionView view;
        view.show(document.trace(), document.view(), document.plot("distribution"));
        view.show();
        QVERIFY(!view.table().isVisible());
        QCOMPARE(view.panel().view().plot().empty, why);
        LedgerView ledger;
        ledger.show(document.plot("ledger"));
        QCOMPARE(ledger.panel().view().plot().empty, why);
        for (const model::DiagnosticRow& row : model::diagnostics()) QCOMPARE(document.plot(row.id).empty, why);
    }

    /// The names' column keeps the widest name while a table lives, until a picture asks anew.
    void namesAreFittedAnew() {
        QWidget window;
        QTableWidget* table = makeNumberTable(&window);
        const auto widthWith = [&](const char* name) {
            setTableShape(*table, {{"Token", {}, {}}}, 1);
            setText(*table, 0, 0, QString::fromLatin1(name), Ink::Normal);
            fitColumns(*table);
            return table->columnWidth(0);
        };
        window.resize(400, 200);
        table->resize(400, 200);
        window.show();
        const int narrow = widthWith("a"), wide = widthWith("a name that is long");
        QVERIFY(wide > narrow);
        QCOMPARE(widthWith("a"), wide);
        fitColumnsAnew(window);
        QCOMPARE(table->columnWidth(0), narrow);
    }

    /// Rows stand whole in the table, at the end of it too and at any height.
    void lastRowsStandWhole() {
        constexpr int rows = 14;
        QWidget window;
        QTableWidget* table = makeNumberTable(&window);
        setTableShape(*table, {{"Token", {}, {}}}, rows);
        for (int row = 0; row < rows; ++row) setText(*table, row, 0, QString::number(row), Ink::Normal);
        window.resize(400, 400);
        table->resize(400, 200);
        window.show();
        table->scrollToBottom();
        for (int height = 200; height > 150; --height) {
            table->resize(400, height);
            QCoreApplication::processEvents();
            const int top = table->rowAt(0), height0 = table->rowHeight(0);
            QCOMPARE(table->rowViewportPosition(top), 0);
            QCOMPARE(table->viewport()->height() % height0, 0);
            table->scrollToItem(table->item(rows - 1, 0));
            QCOMPARE(table->rowViewportPosition(rows - 1) + height0, table->viewport()->height());
        }
    }

    void widthsAreShared() {
        using Widths = std::vector<int>;
        QCOMPARE(sharedWidths(400, {50, 50}, {90, 60}), (Widths{90, 60}));                // enough
        QCOMPARE(sharedWidths(200, {40, 40, 40}, {60, 200, 200}), (Widths{60, 70, 70}));  // the widest give
        QCOMPARE(sharedWidths(100, {40, 40, 40}, {60, 200, 200}), (Widths{40, 40, 40}));  // never less
    }

    /// ∞ has the colour of the top end, and the scale says so instead of 0.
    void infiniteValuesHaveTheirPlaceOnTheScale_data() {
        QTest::addColumn<std::string>("prompt");
        QTest::addColumn<QString>("says");
        QTest::newRow("none") << std::string("aca") << "^0 to [0-9.]+ nats$";
        QTest::newRow("some") << std::string("abca") << "^0 to [0-9.]+ nats, ∞$";
        QTest::newRow("all") << std::string("abb") << "^0 to ∞$";
    }
    void infiniteValuesHaveTheirPlaceOnTheScale() {
        QFETCH(std::string, prompt);
        QFETCH(QString, says);
        auto tokenizer = std::make_shared<tests::FakeTokenizer>(26);
        tests::FakeScript script;
        script.bias.assign(26, 0.0F);
        script.bias[1] = -std::numeric_limits<float>::infinity();  // the base excludes "b"
        model::Document document(nullptr, [&](const auto&, const auto&, std::stop_token) {
            return std::make_unique<tests::FakeSource>(tokenizer, script);
        });
        model::Session s;
        s.file = "/scripted/s.session.json";
        s.prompt = prompt;
        s.base.path = "base";
        s.decoding.maxNewTokens = 0;
        document.setSession(s);
        WAIT_UNTIL(document.ready());
        TextPanel panel(document);
        model::View view = document.view();
        view.stripMeasure = "surprise";
        document.setView(view);
        document.generate();
        WAIT_UNTIL(!document.busy() && document.trace() != nullptr && document.trace()->stop == "limit");
        const QWidget* scale = nullptr;
        for (const QWidget* child : panel.findChildren<QWidget*>())
            if (child->accessibleName() == "Scale of the token colours") scale = child;
        QVERIFY(scale != nullptr);
        QVERIFY2(QRegularExpression(says).match(scale->accessibleDescription()).hasMatch(),
                 qPrintable(scale->accessibleDescription()));
        const double infinity = std::numeric_limits<double>::infinity();
        QCOMPARE(panel.strip().colourOf(infinity), magnitudeColour(Magnitudes::Viridis, 1));
        QCOMPARE(panel.strip().colourOf(-infinity), magnitudeColour(Magnitudes::Viridis, 1));
    }

    /// A recording is scored with its own tokens: the session's prompt has no part in it.
    void aScoredRecordingShowsItsOwnText_data() {
        QTest::addColumn<bool>("alone");
        QTest::newRow("a session that says score") << false;
        QTest::newRow("the recording alone") << true;
    }
    void aScoredRecordingShowsItsOwnText() {
        QFETCH(bool, alone);
        QTemporaryDir folder;
        const std::filesystem::path recording = folder.filePath("r.safetensors").toStdString(),
                                    session = folder.filePath("r.session.json").toStdString();
        tests::ToyRecording({1, 2, 3, 4}, 8, {"base", "math"}).write(recording);
        compute::writeFile(session, R"({"format":"counterpoint.session/1","mode":"score",
            "base":{"name":"base","path":"r.safetensors","source":"base"},
            "specialists":[{"name":"math","path":"r.safetensors","source":"math"}]})");
        model::Document document;
        PromptEdit prompt(document);
        document.open(alone ? recording : session);
        QCOMPARE(prompt.toPlainText(), QString());
        QVERIFY(prompt.isReadOnly() && prompt.placeholderText().contains("recording"));
        WAIT_UNTIL(document.ready());
        document.generate();
        WAIT_UNTIL(!document.busy() && document.trace() != nullptr && document.trace()->stop == "limit");
        QCOMPARE(prompt.toPlainText(), QString("1 2 3 4"));
        QTest::keyClicks(&prompt, "x");
        QCOMPARE(prompt.toPlainText(), QString("1 2 3 4"));
        QVERIFY(!document.canUndo());
        // The last row is about no token.
        document.setCursor(4);
        QCOMPARE(document.trace()->at(4)->token, compute::kNoToken);
        const model::PlotData nobody = document.plot("ledger");
        QVERIFY2(nobody.note.starts_with("likeliest: log p"), nobody.note.c_str());
        QVERIFY2(nobody.series[0].name.find("id ") == std::string::npos, nobody.series[0].name.c_str());
        model::View look = document.view();
        look.token = 5;
        document.setView(look);
        QVERIFY(document.plot("ledger").note.starts_with("'id 5': log p"));
        look.token = compute::kNoToken;
        look.cursor = 2;
        document.setView(look);
        QVERIFY(document.plot("ledger").note.starts_with("'id 3': log p"));
    }

    void aPromptOfIdsIsNotTheDefaultText() {
        model::Document document;
        model::Session s;
        s.promptIds = {{1, 403, 7}};
        document.setSession(s);
        PromptEdit prompt(document);
        QCOMPARE(prompt.toPlainText(), QString());
        QVERIFY2(prompt.placeholderText().contains("3 ids: 1 403 7"), qPrintable(prompt.placeholderText()));
        QTest::keyClicks(&prompt, "x");
        QVERIFY(!document.session().promptIds);
        QCOMPARE(document.session().prompt, std::string("x"));
        QCOMPARE(prompt.toPlainText(), QString("x"));
    }

    void theLedgersTermsAddUp_data() {
        QTest::addColumn<int>("rank");
        QTest::newRow("the most probable token") << 0;
        QTest::newRow("a truncated token") << 8;
    }
    void theLedgersTermsAddUp() {
        QFETCH(int, rank);
        Decoded d;
        model::View look = d.document.view();
        const compute::TopToken token = model::shownTokens(d.step(), look)[static_cast<std::size_t>(rank)];
        look.token = token.token;
        d.document.setView(look);
        LedgerView view;
        view.show(d.document.plot("ledger"));
        view.show();
        const model::Series s = view.panel().view().plot().series.at(0);
        const double sum = std::accumulate(s.y.begin(), s.y.end() - 1, 0.0);
        QVERIFY(std::abs(sum - s.y.back()) < 1e-9);
        QVERIFY(std::abs(sum - static_cast<double>(token.temperature)) < 2e-5 + 2e-7 * std::abs(sum));
        for (std::size_t i = 0; i + 1 < s.y.size(); ++i)  // each bar begins where the one before it ends
            QVERIFY(std::abs(s.low[i] - (i == 0 ? 0 : s.high[i - 1])) < 1e-12);
        const auto* table = view.findChild<QTableWidget*>("ledger.table");
        const int last = table->rowCount() - 1;
        QCOMPARE(table->rowCount(), static_cast<int>(s.y.size()));
        QCOMPARE(table->item(last, 0)->text(), QString("total"));
        QCOMPARE(table->item(last, 3)->text(), table->item(last - 1, 3)->text());
        QCOMPARE(table->item(last, 1)->text(), table->item(last, 3)->text());
        QVERIFY(std::abs(number(*table, last, 2) - std::exp(sum)) <= 0.5e-4 + 1e-9);
        // The figure's title says the numbers of the table's last row.
        const QString note = QString::fromStdString(view.panel().view().plot().note);
        const QString wanted = QStringLiteral(": log p = %1, p = %2")
                                   .arg(table->item(last, 1)->text(), table->item(last, 2)->text().mid(2));
        QVERIFY2(note.endsWith(wanted), qPrintable(note + " without " + wanted));
    }
};

QTEST_MAIN(TestViews)
#include "tst_views.moc"
