#include "widgets/examplesets.h"

#include <QFileDialog>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>
#include <array>

#include "widgets/exampleparts.h"
#include "widgets/numbertable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr int kTracesLetters = 80, kSourceRows = 5;

void setCheck(QTableWidget& table, int row, int column, bool checked) {
    if (table.item(row, column) == nullptr) setText(table, row, column, {}, Ink::Normal);
    table.item(row, column)->setCheckState(checked ? Qt::Checked : Qt::Unchecked);
}

}  // namespace

ExampleSets::ExampleSets(model::Document& document, ExamplesWork& work, QWidget* parent)
    : QGroupBox(tr("Two sets of texts"), parent), m_document(document), m_work(work) {
    auto* all = new QVBoxLayout(this);
    all->addLayout(makeTexts());
    all->addLayout(makeSplit());
    m_problems = sentenceLabel("examples.problems");
    all->addWidget(m_problems);
    connect(&m_document, &model::Document::traceSelected, this, &ExampleSets::refreshTraces);
    connect(&m_document, &model::Document::statusChanged, this, &ExampleSets::refreshTraces);
    connect(m_traces, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
        if (m_filling || item->column() == 0) return;
        const int trace = m_traces->item(item->row(), 0)->data(Qt::UserRole).toInt();
        const bool side = item->column() == 1;
        if (item->checkState() == Qt::Checked)
            m_work.setTrace(trace, side);
        else if (m_work.thumbOf(trace) == side)
            m_work.setTrace(trace, std::nullopt);
    });
}

QPushButton* ExampleSets::button(const char* name, const QString& text, const QString& help,
                                 std::function<void()> run) {
    return dialogButton(m_document, "priors.fromExamples", name, text, help, std::move(run));
}

QLayout* ExampleSets::makeTexts() {
    auto* row = new QHBoxLayout;
    m_sources = makeNumberTable(nullptr);
    named(m_sources, "examples.sources", tr("Files and traces that were read"));
    m_traces = makeNumberTable(nullptr);
    named(m_traces, "examples.traces", tr("Traces: a thumb up or down makes what was generated an example"));
    for (QTableWidget* table : {m_sources, m_traces}) table->setMinimumHeight(20 * kSourceRows);
    auto* buttons = new QGridLayout;
    const auto adds = [&](int at, const QString& title, const char* files, const char* folder, bool preferred) {
        buttons->addWidget(new QLabel(title), at, 0);
        buttons->addWidget(button(files, tr("Files…"), title + tr(": text files, or JSON lines"),
                                  [=, this] { ask(preferred, false); }),
                           at, 1);
        buttons->addWidget(
            button(folder, tr("Folder…"), title + tr(": the texts of a folder"), [=, this] { ask(preferred, true); }),
            at, 2);
    };
    adds(0, tr("Preferred"), "examples.addPreferred", "examples.addPreferredFolder", true);
    adds(1, tr("Not preferred"), "examples.addOther", "examples.addOtherFolder", false);
    buttons->addWidget(new QLabel(tr("Both")), 2, 0);
    buttons->addWidget(
        button("examples.addBoth", tr("Files…"), tr("JSON lines that say \"preferred\": true or false of each text"),
               [this] { ask(std::nullopt, false); }),
        2, 1);
    m_remove = button("examples.remove", tr("Remove"), tr("Take the selected texts out again"), [this] {
        const int at = m_sources->currentRow();
        if (at >= 0 && at < static_cast<int>(m_work.sources().size())) m_work.remove(static_cast<std::size_t>(at));
    });
    buttons->addWidget(m_remove, 2, 2);
    row->addLayout(buttons);
    row->addWidget(m_sources, 1);
    row->addWidget(m_traces, 1);
    return row;
}

QLayout* ExampleSets::makeSplit() {
    auto* split = new QHBoxLayout;
    m_every = named(new NumberField(2, 1000, true), "examples.every",
                    tr("Every so many-th different text of a side is held out"));
    m_every->setInteger(4);
    m_seed = named(new NumberField(0, 1e9, true), "examples.seed",
                   tr("Which of them: the seed modulo that number is the first"));
    m_seed->setInteger(0);
    for (NumberField* field : {m_every, m_seed}) {
        field->setMaximumWidth(80);
        connect(field, &NumberField::edited, this,
                [this] { m_work.setSplit(static_cast<std::size_t>(m_every->integer()), m_seed->integer()); });
    }
    m_split = sentenceLabel("examples.split");
    split->addWidget(new QLabel(tr("Held out: every")));
    split->addWidget(m_every);
    split->addWidget(new QLabel(tr("seed")));
    split->addWidget(m_seed);
    split->addWidget(m_split, 1);
    return split;
}

void ExampleSets::ask(std::optional<bool> preferred, bool folder) {
    auto* dialog = new QFileDialog(this, folder ? tr("Folder of texts") : tr("Texts"));
    dialog->setObjectName(QStringLiteral("examples.files"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setOption(QFileDialog::DontUseNativeDialog);
    dialog->setFileMode(folder ? QFileDialog::Directory : QFileDialog::ExistingFiles);
    if (!folder)
        dialog->setNameFilters(
            {preferred ? tr("Texts (*.txt *.text *.md *.jsonl *.ndjson)") : tr("JSON lines (*.jsonl *.ndjson)"),
             tr("All files (*)")});
    connect(dialog, &QFileDialog::filesSelected, this, [this, preferred](const QStringList& files) {
        for (const QString& file : files) m_work.addFile(file.toStdString(), preferred);
    });
    dialog->open();
}

void ExampleSets::refresh() {
    refreshSources();
    refreshTraces();
}

std::string ExampleSets::splitInWords() const {
    return "every " + std::to_string(m_every->integer()) + "th of seed " + std::to_string(m_seed->integer()) +
           " held out";
}

void ExampleSets::refreshSources() {
    const auto& sources = m_work.sources();
    setTableShape(*m_sources,
                  {{.head = tr("Texts"), .help = {}, .widest = {}},
                   {.head = tr("Preferred"), .help = {}, .widest = QStringLiteral("10000")},
                   {.head = tr("Not preferred"), .help = {}, .widest = QStringLiteral("10000")}},
                  static_cast<int>(sources.size()));
    QStringList problems;
    for (int row = 0; row < m_sources->rowCount(); ++row) {
        const ExamplesWork::Source& source = sources[static_cast<std::size_t>(row)];
        setText(*m_sources, row, 0, words(source.name()), Ink::Normal);
        for (const int side : {1, 2})
            setNumber(*m_sources, row, side,
                      source.read ? QString::number(source.texts(side == 1)) : QStringLiteral("–"), Ink::Normal);
        if (!source.problem.empty()) problems << words(source.problem);
        if (source.read)
            for (const std::string& problem : source.read->problems) problems << words(problem);
    }
    fitColumns(*m_sources);
    m_remove->setEnabled(!sources.empty());
    const auto& proposal = m_work.proposal();
    if (proposal && !proposal->problem.empty()) problems << words(proposal->problem);
    constexpr int kShown = 3;
    m_problems->setToolTip(shortened(problems.join(QLatin1Char('\n')), kHoverLetters).toHtmlEscaped());
    if (problems.size() > kShown) problems = problems.mid(0, kShown) << tr("%1 more.").arg(problems.size() - kShown);
    m_problems->setText(problems.join(QLatin1Char('\n')));
    m_problems->setVisible(!problems.isEmpty());
    if (proposal && proposal->problem.empty()) {
        std::array<std::array<int, 2>, 2> n{};
        for (const std::size_t i : proposal->split.training) ++n[0][proposal->texts[i].example.preferred];
        for (const std::size_t i : proposal->split.heldOut) ++n[1][proposal->texts[i].example.preferred];
        m_split->setText(tr("Training: %1 preferred, %2 not. Held out: %3 preferred, %4 not.")
                             .arg(n[0][1])
                             .arg(n[0][0])
                             .arg(n[1][1])
                             .arg(n[1][0]));
    } else {
        m_split->setText(m_work.working()  ? tr("Reading…")
                         : sources.empty() ? tr("Add texts of both kinds.")
                                           : QString());
    }
}

void ExampleSets::refreshTraces() {
    const auto& traces = m_document.traces();
    m_filling = true;
    setTableShape(*m_traces,
                  {{.head = tr("Trace"), .help = {}, .widest = {}},
                   {.head = tr("Preferred"), .help = tr("Thumb up"), .widest = QStringLiteral("0")},
                   {.head = tr("Not preferred"), .help = tr("Thumb down"), .widest = QStringLiteral("0")}},
                  static_cast<int>(traces.size()));
    for (int row = 0; row < m_traces->rowCount(); ++row) {
        const model::Trace& trace = *traces[static_cast<std::size_t>(row)];
        const QString text = words(trace.text()).simplified();
        setText(*m_traces, row, 0, words(trace.name) + QStringLiteral("  ") + shortened(text, kTracesLetters),
                Ink::Normal);
        m_traces->item(row, 0)->setData(Qt::UserRole, trace.id);
        setCheck(*m_traces, row, 1, m_work.thumbOf(trace.id) == true);
        setCheck(*m_traces, row, 2, m_work.thumbOf(trace.id) == false);
    }
    fitColumns(*m_traces);
    m_traces->setVisible(!traces.empty());
    m_filling = false;
}

}  // namespace counterpoint::widgets
