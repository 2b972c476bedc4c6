// R8 `when`: every kind of context against what it should match, its bounds, and the text it looks at.
#include <chrono>
#include <ctime>

#include "compute/priors/context.h"
#include "tests/support/fixture.h"

using namespace counterpoint::compute;
using namespace counterpoint::tests;

namespace {

using Answer = Contexts::Answer;

/// A text as one token a byte, ids being the bytes.
ContextText textOf(std::string_view bytes) {
    ContextText text;
    for (const char c : bytes) text.push(static_cast<unsigned char>(c), std::string_view(&c, 1));
    return text;
}

Context regex(std::string pattern, std::int64_t chars = 200) {
    Context c;
    c.kind = ContextKind::Regex;
    c.pattern = std::move(pattern);
    c.chars = chars;
    return c;
}
Context code(std::string language = {}) {
    Context c;
    c.kind = ContextKind::CodeBlock;
    c.language = std::move(language);
    return c;
}
Context tokens(std::vector<TokenId> ids) {
    Context c;
    c.kind = ContextKind::Tokens;
    c.ids = std::move(ids);
    return c;
}
Context feature(std::string name = "quote") {
    Context c;
    c.kind = ContextKind::Feature;
    c.name = std::move(name);
    return c;
}
const std::vector<Feature> kQuote{{"quote", "<q>", "</q>"}};

Answer at(const Context& context, std::string_view text, const std::vector<Feature>& features = kQuote) {
    Contexts contexts;
    contexts.add(context, features);
    const ContextText whole = textOf(text);
    return contexts.match(0, whole, whole.length());
}

}  // namespace

Q_DECLARE_METATYPE(Context)

class TestContext : public QObject {
    Q_OBJECT
  private Q_SLOTS:
    void init() { failOnAnyWarning(); }

    void matches_data() {
        QTest::addColumn<Context>("context");
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<bool>("wanted");
        const auto row = [](const char* name, const Context& context, const char* text, bool wanted) {
            QTest::newRow(name) << context << QByteArray(text) << wanted;
        };
        row("always", {}, "", true);
        row("regex, anywhere", regex("try"), "a try:\n  b", true);
        row("regex, nowhere", regex("try"), "a trial", false);
        row("regex, $ is the end", regex("try:$"), "try: and more", false);
        row("regex, $ is the end and not the line's", regex("try:$"), "try:\n", false);
        row("regex, $ at the end", regex("try:$"), "and try:", true);
        row("regex, $ is not a line's end", regex("try:$"), "try:\nmore", false);
        row("regex, $ of a line where asked", regex("(?m)try:$"), "try:\nmore", true);
        row("regex, the last characters only", regex("try", 5), "try 1234", false);
        row("regex, just inside the last characters", regex("try", 7), "try 123", true);
        row("regex, characters are code points", regex("é", 3), "éaé", true);
        row("regex, code points and not bytes", regex("^é", 2), "\xC3\xA9\xC3\xA9", true);
        row("regex, Unicode's letters", regex("\\w$"), "\xC3\xA9", true);
        row("regex, empty text", regex("^$"), "", true);
        row("regex that cannot be read", regex("(try"), "(try", false);
        row("tokens at the end", tokens({'a', 'b'}), "xab", true);
        row("tokens not at the end", tokens({'a', 'b'}), "abx", false);
        row("tokens in another order", tokens({'b', 'a'}), "xab", false);
        row("more tokens than there are", tokens({'x', 'a', 'b'}), "ab", false);
        row("no tokens", tokens({}), "ab", false);
        row("code: no fence", code(), "a b\n", false);
        row("code: open", code(), "a\n```\nb", true);
        row("code: closed", code(), "a\n```\nb\n```\nc", false);
        row("code: opened again", code(), "```\nb\n```\n```\nc", true);
        row("code: the fence's line is not over", code(), "a\n```", false);
        row("code: the closing line is not over", code(), "```\nb\n```", true);
        row("code: any language", code(), "```python\nb", true);
        row("code: its language", code("python"), "```python\nb", true);
        row("code: its language in capitals", code("python"), "```Python\nb", true);
        row("code: another language", code("python"), "```cpp\nb", false);
        row("code: no language where one is asked", code("python"), "```\nb", false);
        row("code: more behind the language", code("python"), "``` python {.x}\nb", true);
        row("code: the second block's language", code("python"), "```cpp\nb\n```\n```python\nc", true);
        row("code: two marks are no fence", code(), "``\nb", false);
        row("code: in a line", code(), "a ```b``` c\n", false);
        row("code: tildes", code(), "~~~\nb", true);
        row("code: another mark does not close", code(), "```\nb\n~~~\nc", true);
        row("code: a shorter fence does not close", code(), "````\nb\n```\nc", true);
        row("code: a longer one does", code(), "```\nb\n````\nc", false);
        row("code: a fence with words does not close", code(), "```\nb\n``` c\nd", true);
        row("code: four blanks are no fence", code(), "    ```\nb", false);
        row("code: Windows' line ends", code("py"), "```py\r\nb", true);
        row("feature: outside", feature(), "a b", false);
        row("feature: inside", feature(), "a <q>b", true);
        row("feature: closed", feature(), "a <q>b</q>", false);
        row("feature: opened again", feature(), "<q>b</q> <q>", true);
        row("feature: two opens and one close", feature(), "<q><q>b</q>", false);
        row("feature: a close before any open", feature(), "</q><q>", true);
        row("feature that the bank does not have", feature("other"), "<q>", false);
    }
    void matches() {
        QFETCH(Context, context);
        QFETCH(QByteArray, text);
        QFETCH(bool, wanted);
        QCOMPARE(at(context, text.toStdString()) == Answer::Yes, wanted);
    }

    /// An open and a close that look alike take turns; one of no characters moves on.
    void delimitersThatAreTheSame() {
        const std::vector<Feature> quotes{{"quote", "\"", "\""}}, empty{{"quote", "x*", "y"}};
        QCOMPARE(at(feature(), "say \"a", quotes), Answer::Yes);
        QCOMPARE(at(feature(), "say \"a\" b", quotes), Answer::No);
        QCOMPARE(at(feature(), "say \"a\" b \"", quotes), Answer::Yes);
        QCOMPARE(at(feature(), "ab", empty), Answer::Yes);
    }

    /// A pattern that would never end stops at its bound, says so, and soon.
    void bounded() {
        const auto start = std::chrono::steady_clock::now();
        const std::string text(150, 'a');
        QCOMPARE(at(regex("(a+)+$"), text + "b"), Answer::Bound);
        const std::vector<Feature> endless{{"quote", "(a+)+$", "b"}};
        QCOMPARE(at(feature(), text + "b", endless), Answer::Bound);
        std::string many;
        for (int i = 0; i < Contexts::kSearches; ++i) many += "<q></q>";
        QCOMPARE(at(feature(), many), Answer::Bound);
        const auto spent = std::chrono::steady_clock::now() - start;
        QVERIFY2(spent < std::chrono::seconds(5), "a bounded search took long");
    }

    /// Work that every place does a little of is work too: all places of a search, and all searches of a feature, share
    /// it.
    void boundedTogether_data() {
        QTest::addColumn<Context>("context");
        QTest::addColumn<QByteArray>("text");
        const QByteArray line(600, 'a');
        QTest::newRow("regex") << regex("\\w.*\\w.*[=~]", 1'000'000) << line;
        QTest::newRow("feature") << feature() << (line + '\n').repeated(100);
    }
    void boundedTogether() {
        QFETCH(Context, context);
        QFETCH(QByteArray, text);
        const std::vector<Feature> slow{{"quote", "\\w.*\\w.*[=~]", "b"}};
        const std::clock_t start = std::clock();
        QCOMPARE(at(context, text.toStdString(), slow), Answer::Bound);
        const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
        QVERIFY2(seconds < 0.3, qPrintable(QString::number(seconds)));
    }

    /// A place that needs more than its share gets it, and those behind it are still looked at.
    void aPlaceMayTakeMore() {
        std::string text = "a";
        for (int i = 0; i < 70; ++i) text += "bc";
        text += "xé acd.";
        Contexts contexts;
        const std::size_t i = contexts.add(regex("a[^x]*c[^x]*d"), {});
        ContextText whole;
        whole.push(0, text);
        QVERIFY(contexts.match(i, whole, 1) == Answer::Yes);
        QCOMPARE(contexts.where(i, whole, 1), Contexts::Span(text.size() - 4, text.size() - 1));
        const std::size_t none = contexts.add(regex("a[^x]*c[^x]*e"), {});
        QVERIFY(contexts.match(none, whole, 1) == Answer::No);
    }

    /// What opened before the last 64 KiB is not seen.
    void farAway() {
        const std::string filler(Contexts::kFeatureBytes, '.');
        QCOMPARE(at(feature(), "<q>" + filler), Answer::No);
        QCOMPARE(at(feature(), filler + "<q>"), Answer::Yes);
    }

    void whyItNeverMatches() {
        Contexts contexts;
        QVERIFY(contexts.problem(contexts.add({}, {})).empty());
        const std::string& pattern = contexts.problem(contexts.add(regex("(try"), {}));
        QVERIFY2(pattern.find("cannot be read") != std::string::npos && pattern.ends_with('.'), pattern.c_str());
        const std::string& missing = contexts.problem(contexts.add(feature("other"), kQuote));
        QVERIFY2(missing.find("'other'") != std::string::npos, missing.c_str());
    }

    /// Equal contexts are one; of features those that are defined alike.
    void distinct() {
        Contexts contexts;
        const std::size_t first = contexts.add(regex("a"), {});
        QCOMPARE(contexts.add(regex("a"), kQuote), first);
        QVERIFY(contexts.add(regex("a", 100), {}) != first);
        QVERIFY(contexts.add(regex("b"), {}) != first);
        const std::size_t quote = contexts.add(feature(), kQuote);
        QCOMPARE(contexts.add(feature(), kQuote), quote);
        const std::vector<Feature> otherwise{{"quote", "<q>", "<q/>"}};
        QVERIFY(contexts.add(feature(), otherwise) != quote);
        QVERIFY(contexts.add(tokens({1, 2}), {}) != contexts.add(tokens({12}), {}));
        QCOMPARE(contexts.size(), 7u);
    }

    void whereItMatches() {
        Contexts contexts;
        const std::size_t pattern = contexts.add(regex("t[a-z]+y"), {}), end = contexts.add(tokens({'b'}), {}),
                          inside = contexts.add(feature(), kQuote), always = contexts.add({}, {});
        const ContextText text = textOf("a try <q>b");
        const auto span = [&](std::size_t i) { return contexts.where(i, text, text.length()); };
        QCOMPARE(span(pattern), Contexts::Span(2, 5));
        QCOMPARE(span(end), Contexts::Span(9, 10));
        QCOMPARE(span(inside), Contexts::Span(6, 10));
        QCOMPARE(span(always), Contexts::Span(0, 0));
        QCOMPARE(contexts.where(pattern, text, 3), Contexts::Span(0, 0));
    }

    /// A position sees what is before it, an unfinished character not at all.
    void theTextBefore() {
        ContextText text;
        QCOMPARE(text.before(0), std::string_view());
        text.push(7, "a");
        text.push(8, "\xC3");
        text.push(9, "\xA9");
        text.push(1, "");
        text.push(10, "\xFF");
        QCOMPARE(text.length(), 5);
        QCOMPARE(text.before(1), std::string_view("a"));
        QCOMPARE(text.before(2), std::string_view("a"));
        QCOMPARE(text.before(3), std::string_view("a\xC3\xA9"));
        QCOMPARE(text.before(4), std::string_view("a\xC3\xA9"));
        QCOMPARE(text.before(5), std::string_view("a\xC3\xA9\xEF\xBF\xBD"));
        QCOMPARE(std::vector<TokenId>(text.ids(2).begin(), text.ids(2).end()), (std::vector<TokenId>{7, 8}));
    }
};

QTEST_GUILESS_MAIN(TestContext)
#include "tst_context.moc"
