#include "widgets/examplesdialog.h"

#include <QFileDialog>
#include <QFormLayout>
#include <QGroupBox>
#include <QHeaderView>
#include <QSignalBlocker>
#include <array>
#include <charconv>

#include "compute/error.h"
#include "widgets/attempt.h"
#include "widgets/numbertable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr std::size_t kShownCandidates = 500;
constexpr int kTracesLetters = 80, kSourceRows = 5;
constexpr double kDefaultZ = 1.96;

struct ContextRow {
    compute::ContextKind kind;
    const char *name, *hint;
};
constexpr std::array kContexts = {
    ContextRow{compute::ContextKind::Always, "always", ""},
    ContextRow{compute::ContextKind::Regex, "after a regular expression",
               "found in the last code points before a token"},
    ContextRow{compute::ContextKind::Tokens, "after tokens", "ids, with blanks between them"},
    ContextRow{compute::ContextKind::CodeBlock, "inside a code block", "language; empty: any"},
    ContextRow{compute::ContextKind::Feature, "inside a feature of the bank", "name of the feature"},
};

/// A sentence, whole on hover.
QLabel* sentenceLabel(const char* name) {
    auto* label = new QLabel;
    label->setObjectName(QLatin1String(name));
    label->setTextFormat(Qt::PlainText);
    label->setWordWrap(true);
    return label;
}

template <class Field>
Field* named(Field* field, const char* name, const QString& help) {
    field->setObjectName(QLatin1String(name));
    field->setToolTip(help);
    field->setAccessibleName(help);
    return field;
}

void setCheck(QTableWidget& table, int row, int column, bool checked) {
    if (table.item(row, column) == nullptr) setText(table, row, column, {}, Ink::Normal);
    table.item(row, column)->setCheckState(checked ? Qt::Checked : Qt::Unchecked);
}

/// Ids with blanks or commas between them; nullopt: something else stands there, or nothing.
std::optional<std::vector<compute::TokenId>> idsFrom(const QString& text) {
    std::vector<compute::TokenId> ids;
    for (const QString& part : text.split(QRegularExpression(QStringLiteral("[\\s,]+")), Qt::SkipEmptyParts)) {
        const std::string word = part.toStdString();
        compute::TokenId id = 0;
        const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
        if (error != std::errc() || end != word.data() + word.size() || id < 0) return std::nullopt;
        ids.push_back(id);
    }
    if (ids.empty()) return std::nullopt;
    return ids;
}

}  // namespace

ExamplesDialog::ExamplesDialog(model::Document& document, QWidget* parent, model::SourceOpener opener)
    : QDialog(parent), m_document(document), m_work(new ExamplesWork(document, std::move(opener), this)) {
    setObjectName(QStringLiteral("examplesDialog"));
    setWindowTitle(tr("New prior from examples"));
    auto* column = new QVBoxLayout(this);
    column->addWidget(makeSets());
    column->addWidget(makeCandidates(), 1);
    column->addWidget(makePrior());
    column->addWidget(makeEnd());
    connect(m_work, &ExamplesWork::changed, this, &ExamplesDialog::refresh);
    connect(m_work, &ExamplesWork::progressed, this, &ExamplesDialog::refreshQuality);
    connect(&m_document, &model::Document::traceSelected, this, &ExamplesDialog::refreshTraces);
    connect(&m_document, &model::Document::statusChanged, this, &ExamplesDialog::refreshTraces);
    connect(&m_document, &model::Document::sessionChanged, this, &ExamplesDialog::refreshBanks);
    refreshTraces();
    refreshBanks();
    refresh();
}

QPushButton* ExamplesDialog::button(const char* name, const QString& text, const QString& help,
                                    std::function<void()> run) {
    auto* made = named(new QPushButton(text), name, help);
    made->setAutoDefault(false);
    connect(made, &QPushButton::clicked, this,
            [this, run = std::move(run)] { attempt(m_document, run, "priors.fromExamples"); });
    return made;
}

QWidget* ExamplesDialog::makeSets() {
    auto* box = new QGroupBox(tr("Two sets of texts"));
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
        if (at >= 0 && at < static_cast<int>(m_work->sources().size())) m_work->remove(static_cast<std::size_t>(at));
    });
    buttons->addWidget(m_remove, 2, 2);
    row->addLayout(buttons);
    row->addWidget(m_sources, 1);
    row->addWidget(m_traces, 1);

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
                [this] { m_work->setSplit(static_cast<std::size_t>(m_every->integer()), m_seed->integer()); });
    }
    m_split = sentenceLabel("examples.split");
    split->addWidget(new QLabel(tr("Held out: every")));
    split->addWidget(m_every);
    split->addWidget(new QLabel(tr("seed")));
    split->addWidget(m_seed);
    split->addWidget(m_split, 1);
    auto* all = new QVBoxLayout(box);
    all->addLayout(row);
    all->addLayout(split);
    m_problems = sentenceLabel("examples.problems");
    all->addWidget(m_problems);
    connect(m_traces, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
        if (m_filling || item->column() == 0) return;
        const int trace = m_traces->item(item->row(), 0)->data(Qt::UserRole).toInt();
        const bool side = item->column() == 1;
        if (item->checkState() == Qt::Checked)
            m_work->setTrace(trace, side);
        else if (m_work->thumbOf(trace) == side)
            m_work->setTrace(trace, std::nullopt);
    });
    return box;
}

QWidget* ExamplesDialog::makeCandidates() {
    auto* box = new QGroupBox(tr("Candidate tokens of the training texts"));
    auto* row = new QHBoxLayout;
    m_threshold =
        named(new NumberField(0, 1000, false), "examples.threshold", tr("Ticks the tokens whose |z| is above it"));
    m_threshold->setValue(kDefaultZ);
    m_threshold->setMaximumWidth(80);
    connect(m_threshold, &NumberField::edited, this, [this] {
        tickBeyond();
        refreshCandidates();
        priorEdited();
    });
    m_count = sentenceLabel("examples.count");
    row->addWidget(new QLabel(tr("Tick |z| above")));
    row->addWidget(m_threshold);
    row->addWidget(m_count, 1);
    m_candidates = makeNumberTable(nullptr);
    named(m_candidates, "examples.candidates", tr("Candidate tokens; the ticked ones make the prior"));
    QHeaderView* head = m_candidates->horizontalHeader();
    head->setSectionsClickable(true);
    head->setSortIndicatorShown(true);
    connect(head, &QHeaderView::sectionClicked, this, [this](int section) {
        m_descending = section == m_sortBy ? !m_descending : section > 1;
        m_sortBy = section;
        refreshCandidates();
    });
    connect(m_candidates, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
        if (m_filling || item->column() != 0) return;
        const compute::TokenId token = m_proposal->candidates[m_order[static_cast<std::size_t>(item->row())]].token;
        if (item->checkState() == Qt::Checked)
            m_ticks.insert(token);
        else
            m_ticks.erase(token);
        priorEdited();
    });
    auto* all = new QVBoxLayout(box);
    all->addLayout(row);
    all->addWidget(m_candidates, 1);
    return box;
}

QWidget* ExamplesDialog::makePrior() {
    auto* box = new QGroupBox(tr("The prior"));
    auto* columns = new QHBoxLayout(box);
    auto *left = new QFormLayout, *right = new QFormLayout;
    columns->addLayout(left, 1);
    columns->addLayout(right, 1);
    m_name = named(new QLineEdit(tr("from examples")), "examples.name", tr("Name of the prior"));
    m_kind = named(new QLineEdit, "examples.kind", tr("Kind, as one likes"));
    m_task = named(new QLineEdit, "examples.task", tr("Task: priors of one task and context may be merged"));
    left->addRow(tr("Name"), m_name);
    left->addRow(tr("Kind"), m_kind);
    left->addRow(tr("Task"), m_task);
    for (QLineEdit* field : {m_name, m_kind, m_task})
        connect(field, &QLineEdit::textChanged, this, [this] { refreshQuality(); });

    m_delta = named(new QComboBox, "examples.delta", tr("Δ of the ticked tokens"));
    m_delta->addItems({tr("log-odds, shrunk"), tr("c·δ₊ and −c·δ₋")});
    m_plus = named(new NumberField(0, 100, false), "examples.plus", tr("δ₊ of promoted tokens"));
    m_minus = named(new NumberField(0, 100, false), "examples.minus", tr("δ₋ of demoted tokens"));
    m_plus->setValue(1);
    m_minus->setValue(1);
    auto* delta = new QHBoxLayout;
    delta->addWidget(m_delta, 1);
    delta->addWidget(new QLabel(tr("δ₊")));
    delta->addWidget(m_plus);
    delta->addWidget(new QLabel(tr("δ₋")));
    delta->addWidget(m_minus);
    right->addRow(tr("Δ"), delta);
    m_when = named(new QComboBox, "examples.context", tr("Where the prior acts"));
    for (const ContextRow& row : kContexts) m_when->addItem(QString::fromUtf8(row.name));
    m_pattern = named(new QLineEdit, "examples.pattern", tr("What the context asks for"));
    m_chars =
        named(new NumberField(1, 100000, true), "examples.chars", tr("Code points that the regular expression sees"));
    m_chars->setInteger(200);
    m_chars->setMaximumWidth(80);
    auto* when = new QHBoxLayout;
    when->addWidget(m_when);
    when->addWidget(m_pattern, 1);
    when->addWidget(m_chars);
    right->addRow(tr("Where"), when);
    m_contextSaid = sentenceLabel("examples.contextProblem");
    right->addRow(QString(), m_contextSaid);
    for (QComboBox* box2 : {m_delta, m_when})
        connect(box2, &QComboBox::currentIndexChanged, this, &ExamplesDialog::priorEdited);
    for (NumberField* field : {m_plus, m_minus, m_chars}) {
        field->setMaximumWidth(80);
        connect(field, &NumberField::edited, this, &ExamplesDialog::priorEdited);
    }
    connect(m_pattern, &QLineEdit::textChanged, this, &ExamplesDialog::priorEdited);
    return box;
}

QWidget* ExamplesDialog::makeEnd() {
    auto* box = new QWidget;
    auto* all = new QVBoxLayout(box);
    all->setContentsMargins(0, 0, 0, 0);
    auto *first = new QHBoxLayout, *last = new QHBoxLayout;
    m_estimate = button("examples.estimate", tr("Estimate quality"),
                        tr("The base scores the held-out texts: how often the prior moves their tokens the right way"),
                        [this] { m_work->estimate(prior(), chosenBank()); });
    m_stop = button("examples.stop", tr("Stop"), tr("Stop before the next row; what was scored counts"),
                    [this] { m_work->stopEstimate(); });
    m_progress = new QProgressBar;
    m_progress->setObjectName(QStringLiteral("examples.progress"));
    m_progress->setMaximumWidth(160);
    m_quality = sentenceLabel("examples.quality");
    first->addWidget(m_estimate);
    first->addWidget(m_stop);
    first->addWidget(m_progress);
    first->addWidget(m_quality, 1);
    m_bank = named(new QComboBox, "examples.bank", tr("The bank of the session it goes into"));
    m_add = button("examples.add", tr("Add to bank"),
                   tr("Put the prior at the end of the bank; its file stays as it is until the bank is saved"),
                   [this] { add(); });
    m_said = sentenceLabel("examples.said");
    last->addWidget(new QLabel(tr("Bank")));
    last->addWidget(m_bank);
    last->addWidget(m_add);
    last->addWidget(m_said, 1);
    last->addWidget(
        button("examples.close", tr("Close"), tr("Close; what was read is forgotten"), [this] { close(); }));
    connect(m_bank, &QComboBox::currentIndexChanged, this, &ExamplesDialog::priorEdited);
    all->addLayout(first);
    all->addLayout(last);
    return box;
}

void ExamplesDialog::ask(std::optional<bool> preferred, bool folder) {
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
        for (const QString& file : files) m_work->addFile(file.toStdString(), preferred);
    });
    dialog->open();
}

void ExamplesDialog::refresh() {
    refreshSources();
    refreshTraces();
    if (m_proposal != m_work->proposal()) {
        m_proposal = m_work->proposal();
        tickBeyond();
        refreshCandidates();
    }
    refreshQuality();
}

void ExamplesDialog::refreshSources() {
    const auto& sources = m_work->sources();
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
    const auto& proposal = m_work->proposal();
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
        m_split->setText(m_work->working() ? tr("Reading…")
                         : sources.empty() ? tr("Add texts of both kinds.")
                                           : QString());
    }
}

void ExamplesDialog::refreshTraces() {
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
        setCheck(*m_traces, row, 1, m_work->thumbOf(trace.id) == true);
        setCheck(*m_traces, row, 2, m_work->thumbOf(trace.id) == false);
    }
    fitColumns(*m_traces);
    m_traces->setVisible(!traces.empty());
    m_filling = false;
}

void ExamplesDialog::tickBeyond() {
    m_ticks.clear();
    if (!m_proposal) return;
    const auto& all = m_proposal->candidates;
    for (std::size_t i = 0; i < std::min(all.size(), kShownCandidates); ++i)
        if (std::abs(all[i].z) > m_threshold->value() && all[i].logOdds != 0) m_ticks.insert(all[i].token);
}

void ExamplesDialog::refreshCandidates() {
    const std::size_t known = m_proposal ? m_proposal->candidates.size() : 0, shown = std::min(known, kShownCandidates);
    m_order.resize(shown);
    for (std::size_t i = 0; i < shown; ++i) m_order[i] = i;
    const auto piece = [this](const compute::Candidate& c) { return m_proposal->tokenizer->piece(c.token); };
    const auto value = [this](const compute::Candidate& c) -> double {
        switch (m_sortBy) {
            case 1:
                return c.token;
            case 2:
                return std::abs(c.z);
            case 3:
                return c.logOdds;
            case 4:
                return c.countPreferred;
            case 5:
                return c.countOther;
            case 6:
                return c.textsPreferred;
            default:
                return c.textsOther;
        }
    };
    std::ranges::stable_sort(m_order, [&](std::size_t a, std::size_t b) {
        const auto &x = m_proposal->candidates[a], &y = m_proposal->candidates[b];
        if (m_sortBy == 0) return m_descending ? piece(y) < piece(x) : piece(x) < piece(y);
        return m_descending ? value(y) < value(x) : value(x) < value(y);
    });
    m_filling = true;
    const QString number = QStringLiteral("−00.0000");
    setTableShape(
        *m_candidates,
        {{.head = tr("Token"), .help = tr("Ticked: in the prior"), .widest = {}},
         {.head = tr("Id"), .help = {}, .widest = QStringLiteral("000000")},
         {.head = tr("z"), .help = tr("Log-odds over their standard deviation; sorted by |z|"), .widest = number},
         {.head = tr("Log-odds"),
          .help = tr("Above 0: of the preferred; with an informative Dirichlet prior"),
          .widest = number},
         {.head = tr("Preferred"), .help = tr("How often in the preferred texts, weighted"), .widest = number},
         {.head = tr("Not"), .help = tr("How often in the others, weighted"), .widest = number},
         {.head = tr("Texts pref."), .help = tr("Preferred texts that contain it"), .widest = number},
         {.head = tr("Texts not"), .help = tr("Other texts that contain it"), .widest = number}},
        static_cast<int>(shown));
    m_candidates->horizontalHeader()->setSortIndicator(m_sortBy,
                                                       m_descending ? Qt::DescendingOrder : Qt::AscendingOrder);
    for (int row = 0; row < static_cast<int>(shown); ++row) {
        const compute::Candidate& c = m_proposal->candidates[m_order[static_cast<std::size_t>(row)]];
        setText(*m_candidates, row, 0, words(piece(c)), Ink::Normal);
        m_candidates->item(row, 0)->setCheckState(m_ticks.contains(c.token) ? Qt::Checked : Qt::Unchecked);
        const QString cells[] = {QString::number(c.token),     formatCell(c.z),
                                 formatCell(c.logOdds),        formatCell(c.countPreferred),
                                 formatCell(c.countOther),     QString::number(c.textsPreferred),
                                 QString::number(c.textsOther)};
        for (int column = 1; column <= 7; ++column)
            setNumber(*m_candidates, row, column, cells[column - 1], Ink::Normal);
    }
    fitColumns(*m_candidates);
    m_filling = false;
}

void ExamplesDialog::priorEdited() {
    m_said->clear();
    m_work->forgetEstimate();
    refreshQuality();
}

void ExamplesDialog::refreshQuality() {
    const std::size_t known = m_proposal ? m_proposal->candidates.size() : 0;
    QString count = tr("%1 of %2 ticked").arg(m_ticks.size()).arg(known);
    if (known > kShownCandidates) count += tr("; the %1 of the largest |z| are shown").arg(kShownCandidates);
    m_count->setText(known > 0 ? count : QString());

    const ContextRow& row = kContexts[static_cast<std::size_t>(m_when->currentIndex())];
    m_pattern->setVisible(row.kind != compute::ContextKind::Always);
    m_pattern->setPlaceholderText(QString::fromUtf8(row.hint));
    m_chars->setVisible(row.kind == compute::ContextKind::Regex);
    m_plus->setEnabled(m_delta->currentIndex() == 1);
    m_minus->setEnabled(m_delta->currentIndex() == 1);
    const std::string context = contextProblem();
    m_contextSaid->setText(words(context));
    m_contextSaid->setVisible(!context.empty());

    const bool can =
        m_proposal && !m_ticks.empty() && !m_name->text().isEmpty() && context.empty() && !m_work->working();
    const bool estimating = m_work->estimating();
    m_estimate->setEnabled(can && !estimating && !m_proposal->split.heldOut.empty());
    m_stop->setVisible(estimating);
    m_progress->setVisible(estimating);
    m_add->setEnabled(can && !estimating && m_bank->currentIndex() >= 0);
    m_add->setDefault(false);
    const auto& quality = m_work->quality();
    if (estimating) {
        const model::Progress& progress = m_work->progress();
        m_progress->setRange(0, progress.fraction < 0 ? 0 : 100);
        m_progress->setValue(static_cast<int>(100 * progress.fraction));
        m_quality->setText(words(progress.what + (progress.rate.empty() ? "" : ", " + progress.rate)));
    } else if (!m_work->failure().empty()) {
        m_quality->setText(words(m_work->failure()));
    } else if (quality) {
        const auto& c = quality->counted;
        compute::Prior rated;
        rated.quality = quality->q;
        const compute::Eta eta = compute::etaOf(rated);
        QString text = tr("q = %1 (95 %: %2 to %3), η = %4%5; right at %6 of %7 positions that it moves, %8 of %9 "
                          "where the text has a token of the prior")
                           .arg(formatNumber(quality->q), formatNumber(c.low), formatNumber(c.high),
                                formatNumber(eta.eta), eta.off ? tr(", off") : QString())
                           .arg(quality->right)
                           .arg(quality->seen)
                           .arg(quality->ownRight)
                           .arg(quality->ownSeen);
        if (quality->stopped) text += tr("; stopped after %1 texts").arg(quality->texts);
        m_quality->setText(text + QLatin1Char('.'));
    } else if (m_proposal && !m_proposal->split.problem.empty()) {
        m_quality->setText(words(m_proposal->split.problem));
    } else {
        m_quality->setText(tr("Not estimated: q = 0.5, so η = 0."));
    }
}

void ExamplesDialog::refreshBanks() {
    const QString before = m_bank->currentText();
    {
        const QSignalBlocker blocker(m_bank);
        m_bank->clear();
        const auto& banks = m_document.session().priors;
        for (std::size_t i = 0; i < banks.size(); ++i)
            if (banks[i].content)
                m_bank->addItem(words(banks[i].content->name.empty() ? banks[i].bank : banks[i].content->name),
                                static_cast<int>(i));
        m_bank->setCurrentIndex(std::max(m_bank->findText(before), m_bank->count() > 0 ? 0 : -1));
    }
    m_bank->setPlaceholderText(tr("open a bank first"));
    refreshQuality();
}

std::shared_ptr<const compute::Bank> ExamplesDialog::chosenBank() const {
    const auto& banks = m_document.session().priors;
    const auto at = static_cast<std::size_t>(m_bank->currentData().toInt());
    return m_bank->currentIndex() >= 0 && at < banks.size() ? banks[at].content : nullptr;
}

compute::Context ExamplesDialog::context() const {
    compute::Context when;
    when.kind = kContexts[static_cast<std::size_t>(m_when->currentIndex())].kind;
    const std::string text = m_pattern->text().toStdString();
    switch (when.kind) {
        case compute::ContextKind::Always:
            break;
        case compute::ContextKind::Regex:
            when.pattern = text;
            when.chars = static_cast<std::int64_t>(m_chars->integer());
            break;
        case compute::ContextKind::Tokens:
            when.ids = idsFrom(m_pattern->text()).value_or(std::vector<compute::TokenId>());
            break;
        case compute::ContextKind::CodeBlock:
            when.language = text;
            break;
        case compute::ContextKind::Feature:
            when.name = text;
            break;
    }
    return when;
}

std::string ExamplesDialog::contextProblem() const {
    const compute::Context when = context();
    if (when.kind == compute::ContextKind::Tokens && when.ids.empty())
        return tr("Write the ids of the tokens, with blanks between them.").toStdString();
    const auto bank = chosenBank();
    compute::Contexts contexts;
    const std::size_t i = contexts.add(
        when, bank ? std::span<const compute::Feature>(bank->features) : std::span<const compute::Feature>());
    return contexts.problem(i);
}

std::vector<compute::Candidate> ExamplesDialog::ticked() const {
    std::vector<compute::Candidate> chosen;
    for (const compute::Candidate& candidate : m_proposal->candidates)
        if (m_ticks.contains(candidate.token)) chosen.push_back(candidate);
    return chosen;
}

compute::Prior ExamplesDialog::prior() const {
    model::ExamplePrior options;
    options.name = m_name->text().toStdString();
    options.kind = m_kind->text().toStdString();
    options.task = m_task->text().toStdString();
    options.explicitDelta = m_delta->currentIndex() == 0;
    options.deltaPlus = m_plus->value();
    options.deltaMinus = m_minus->value();
    options.when = context();
    options.source = "examples:";
    for (const ExamplesWork::Source& source : m_work->sources())
        if (source.read)
            options.source += " " + source.name() + " (" + std::to_string(source.texts(true)) + " preferred, " +
                              std::to_string(source.texts(false)) + " not),";
    options.source += " every " + std::to_string(m_every->integer()) + "th of seed " +
                      std::to_string(m_seed->integer()) + " held out";
    if (const auto& quality = m_work->quality())
        options.source +=
            ", right at " + std::to_string(quality->right) + " of " + std::to_string(quality->seen) + " positions";
    compute::Prior made = model::buildPrior(ticked(), m_proposal->texts, m_proposal->split.training, options);
    if (m_work->quality()) made.quality = m_work->quality()->q;
    return made;
}

void ExamplesDialog::add() {
    const auto bank = static_cast<std::size_t>(m_bank->currentData().toInt());
    model::Session session =
        model::withExamplePrior(m_document.session(), bank, prior(), m_proposal->tokenizer->fingerprint());
    const std::string name = session.priors[bank].content->priors.back()->name;
    m_document.setSession(std::move(session));
    m_said->setText(tr("'%1' is in the bank; its file has it when the bank is saved.").arg(words(name)));
}

void openExamplesDialog(model::Document& document, QWidget* parent, model::SourceOpener opener) {
    auto* dialog = parent->findChild<ExamplesDialog*>(QStringLiteral("examplesDialog"));
    if (dialog == nullptr) {
        dialog = new ExamplesDialog(document, parent, std::move(opener));
        dialog->setAttribute(Qt::WA_DeleteOnClose);
    }
    dialog->show();
    dialog->raise();
    dialog->activateWindow();
}

}  // namespace counterpoint::widgets
