#include "widgets/compressdialog.h"

#include <QFileDialog>
#include <QHeaderView>
#include <QSplitter>
#include <QStyle>
#include <QVBoxLayout>
#include <algorithm>

#include "compute/error.h"
#include "widgets/attempt.h"
#include "widgets/bankname.h"
#include "widgets/compresstables.h"
#include "widgets/exampleparts.h"
#include "widgets/numbertable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr double kDefaultThreshold = 0.9;
constexpr int kDefaultLevel = 2, kLeastWidth = 1100;

QLabel* sentence(const char* name, const char* role) {
    QLabel* label = sentenceLabel(name);
    label->setProperty("role", QLatin1String(role));
    return label;
}

}  // namespace

CompressDialog::CompressDialog(model::Document& document, QWidget* parent)
    : QDialog(parent), m_document(document), m_work(new CompressWork(document, this)) {
    setObjectName(QStringLiteral("compressDialog"));
    setWindowTitle(tr("Compress bank"));
    setMinimumWidth(kLeastWidth);
    auto* column = new QVBoxLayout(this);
    column->setSpacing(spacing::normal);
    column->addWidget(makeAsked());
    column->addWidget(makeShown(), 1);
    column->addWidget(makeEnd());
    connect(m_work, &CompressWork::changed, this, &CompressDialog::refresh);
    connect(m_work, &CompressWork::progressed, this, &CompressDialog::refreshState);
    using model::Document;
    connect(&m_document, &Document::sessionChanged, this, &CompressDialog::refreshBanks);
    for (auto moved :
         {&Document::sessionChanged, &Document::statusChanged, &Document::traceChanged, &Document::traceSelected})
        connect(&m_document, moved, this, &CompressDialog::refreshState);
    refreshBanks();
    refresh();
}

QPushButton* CompressDialog::button(const char* name, const QString& text, const QString& help,
                                    std::function<void()> run) {
    return dialogButton(m_document, "priors.compress", name, text, help, std::move(run));
}

QWidget* CompressDialog::makeAsked() {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::tight);
    auto* row = new QHBoxLayout;
    row->setSpacing(spacing::normal);
    m_bank = named(new QComboBox, "compress.bank", tr("The bank of the rack that is compressed"));
    m_bank->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    m_keep = named(new QComboBox, "compress.keep",
                   tr("What level 2 keeps of the priors that it joins: their joint push (η adds up), or the size of a "
                      "mean prior"));
    m_keep->addItems({tr("product"), tr("size")});
    m_threshold = named(new NumberField(0, 1, false), "compress.threshold",
                        tr("Level 2 joins priors of one context and task whose one-bit cosine exceeds it: 0 to 1"));
    m_threshold->setValue(kDefaultThreshold);
    m_threshold->setMaximumWidth(64);
    m_compute =
        button("compress.compute", tr("Compute"),
               tr("Compress the bank to every level and measure it; while it runs: begin anew"), [this] { compute(); });
    m_stop = button("compress.stop", tr("Stop"), tr("Stop now; nothing of it is shown"), [this] { m_work->stop(); });
    m_progress = new QProgressBar;
    m_progress->setObjectName(QStringLiteral("compress.progress"));
    m_progress->setMaximumWidth(140);
    m_state = sentence("compress.state", "quiet");
    row->addWidget(new QLabel(tr("Bank")));
    row->addWidget(m_bank);
    row->addSpacing(spacing::normal);
    row->addWidget(new QLabel(tr("Keep")));
    row->addWidget(m_keep);
    row->addSpacing(spacing::normal);
    row->addWidget(new QLabel(tr("Join above cosine")));
    row->addWidget(m_threshold);
    row->addSpacing(spacing::normal);
    row->addWidget(m_compute);
    row->addWidget(m_stop);
    row->addWidget(m_progress);
    row->addWidget(m_state, 1);
    m_problems = sentence("compress.problems", "failure");
    column->addLayout(row);
    column->addWidget(m_problems);
    connect(m_bank, &QComboBox::activated, this, [this] {
        attempt(
            m_document, [this] { compute(); }, "priors.compress");
    });
    connect(m_keep, &QComboBox::currentIndexChanged, this, &CompressDialog::refreshState);
    connect(m_threshold, &NumberField::edited, this, &CompressDialog::refreshState);
    connect(m_threshold, &NumberField::refused, this, [this](const QString& why) { m_said->setText(why); });
    return box;
}

QWidget* CompressDialog::makeShown() {
    auto* box = new QWidget;
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(spacing::normal);
    m_levels = named(makeNumberTable(nullptr), "compress.levels", tr("The levels; the selected one is saved or used"));
    m_levels->setSelectionMode(QAbstractItemView::SingleSelection);
    connect(m_levels, &QTableWidget::itemSelectionChanged, this, &CompressDialog::refreshState);
    column->addWidget(m_levels);

    auto* halves = new QSplitter(Qt::Horizontal);
    m_plot = new PlotPanel;
    m_plot->view().setObjectName(QStringLiteral("compress.plot"));
    m_plot->view().setToolTip(tr("Right click: export, copy the data, logarithmic scale"));
    m_plot->writer = [this](std::vector<FigureFile> files) {
        const auto write = [&] {
            writeFigureFiles(files);
            m_document.notify(model::Notice::Level::Info, "Saved " + files.front().path.string() + ".",
                              "Beside it: the numbers (.csv) and the recipe (.json).", "Exporting");
        };
        attempt(m_document, write, "Exporting");
    };
    halves->addWidget(m_plot);
    m_tabs = new QTabWidget;
    m_tabs->setObjectName(QStringLiteral("compress.tabs"));
    m_tabs->setDocumentMode(true);
    auto* priors = new QWidget;
    auto* rows = new QVBoxLayout(priors);
    rows->setContentsMargins(0, 0, 0, 0);
    m_priors = named(makeNumberTable(nullptr), "compress.priors", tr("Each prior under one bit"));
    QHeaderView* head = m_priors->horizontalHeader();
    head->setSectionsClickable(true);
    connect(head, &QHeaderView::sectionClicked, this, [this](int section) {
        const int by = section - 1;
        m_descending = by != m_sortBy || !m_descending;
        m_sortBy = by;
        refreshPriors();
    });
    m_count = sentence("compress.count", "quiet");
    rows->addWidget(m_priors, 1);
    rows->addWidget(m_count);
    m_merges =
        named(new QPlainTextEdit, "compress.merges", tr("What was joined at each level, and what was not and why"));
    m_merges->setReadOnly(true);
    m_merges->setFrameShape(QFrame::NoFrame);
    m_tabs->addTab(priors, tr("Priors under one bit"));
    m_tabs->addTab(m_merges, tr("Joined and not joined"));
    halves->addWidget(m_tabs);
    halves->setSizes({420, 720});
    halves->setStretchFactor(1, 1);
    column->addWidget(halves, 1);
    return box;
}

QWidget* CompressDialog::makeEnd() {
    auto* box = new QWidget;
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(spacing::normal);
    m_save =
        button("compress.save", {}, tr("Write the selected level as a bank of its own; the session stays as it is"),
               [this] { askFile(); });
    m_use =
        button("compress.use", {},
               tr("The selected level acts in the place of the bank, with its overrides in it; undo brings it back"),
               [this] { use(); });
    m_said = sentence("compress.said", "quiet");
    row->addWidget(m_save);
    row->addWidget(m_use);
    row->addWidget(m_said, 1);
    row->addWidget(
        button("compress.close", tr("Close"), tr("Close; what was computed is forgotten"), [this] { close(); }));
    return box;
}

// -- what is asked ----------------------------------------------------------------------------------------------------

void CompressDialog::openOn(std::size_t bank) {
    show();
    raise();
    activateWindow();
    if (static_cast<int>(bank) == this->bank() && (m_work->working() || bankAsItWas())) return;
    m_bank->setCurrentIndex(static_cast<int>(bank));
    compute();
}

compute::CompressOptions CompressDialog::options() const {
    compute::CompressOptions options = model::CompressionInput().options;
    options.keep = m_keep->currentIndex() == 1 ? compute::Keep::Size : compute::Keep::Product;
    options.threshold = m_threshold->value();
    return options;
}

void CompressDialog::compute() {
    if (bank() < 0) return;
    m_said->clear();
    auto input = model::compressionInput(m_document.session(), static_cast<std::size_t>(bank()), m_document.trace(),
                                         m_document.tokenizer());
    input.options = options();
    m_work->ask(std::move(input));
}

bool CompressDialog::outOfDate() const {
    return m_shown && bank() >= 0 && !m_work->working() &&
           !model::isStillOf(m_work->input(), m_document.session(), static_cast<std::size_t>(bank()),
                             m_document.trace(), m_document.tokenizer(), options());
}

bool CompressDialog::bankAsItWas() const {
    const auto& input = m_work->input();
    const auto& entries = m_document.session().priors;
    return m_shown && input.bank < entries.size() && static_cast<int>(input.bank) == bank() &&
           entries[input.bank] == input.entry;
}

int CompressDialog::level() const {
    const int row = m_levels->currentRow();
    return m_shown && row > 0 && row < static_cast<int>(m_shown->levels.size()) ? row : -1;
}

void CompressDialog::askFile() {
    const int level = this->level();
    auto* dialog = new QFileDialog(this, tr("Save level %1").arg(level));
    dialog->setObjectName(QStringLiteral("compress.file"));
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setOption(QFileDialog::DontUseNativeDialog);
    dialog->setAcceptMode(QFileDialog::AcceptSave);
    dialog->setNameFilters({tr("Compressed banks (*.bank.safetensors)"), tr("Banks as JSON (*.bank.json)")});
    dialog->setDefaultSuffix(QStringLiteral("bank.safetensors"));
    const model::Session& session = m_document.session();
    const std::filesystem::path file = session.resolve(model::levelFile(session, m_work->input().bank, level));
    dialog->setDirectory(words(file.parent_path().string()));
    dialog->selectFile(words(file.filename().string()));
    connect(dialog, &QFileDialog::fileSelected, this, [this, level](const QString& chosen) {
        attempt(
            m_document,
            [&] {
                const std::filesystem::path given = chosen.toStdString(), whole = bankPath(given);
                requireFree(given, whole);
                save(level, whole);
            },
            "priors.compress");
    });
    dialog->open();
}

void CompressDialog::save(int level, const std::filesystem::path& file) {
    if (!bankAsItWas() || level >= static_cast<int>(m_shown->levels.size()))
        throw compute::Error({.where = file.string(),
                              .what = "nothing was saved: the bank has changed since it was compressed",
                              .expected = {},
                              .found = {},
                              .advice = "compute again, then save",
                              .details = {}});
    const auto& one = m_shown->levels[static_cast<std::size_t>(level)];
    m_document.saveOther(one.bank, file);
    const auto whole = std::filesystem::absolute(file).lexically_normal();
    std::erase_if(m_saved, [&](const auto& one) { return one.second == whole; });  // it held another level
    m_saved[level] = whole;
    m_said->setText(tr("Level %1 is saved as %2.").arg(QString::number(level), told(file.filename().string())));
}

void CompressDialog::use() {
    const int level = this->level();
    if (level < 0 || !bankAsItWas()) return;
    const model::Session& session = m_document.session();
    const std::size_t at = m_work->input().bank;
    const auto saved = m_saved.find(level);
    const std::string file = saved != m_saved.end() ? saved->second.string() : model::levelFile(session, at, level);
    m_document.setSession(
        model::withCompressed(session, at, m_shown->levels[static_cast<std::size_t>(level)].bank, file));
    const QString name = told(std::filesystem::path(file).filename().string());
    m_said->setText(
        saved != m_saved.end()
            ? tr("%1 acts in the bank's place; undo brings the bank back.").arg(name)
            : tr("%1 acts in the bank's place and is not saved yet (Save bank); undo brings the bank back.").arg(name));
}

// -- what is shown ----------------------------------------------------------------------------------------------------

void CompressDialog::refreshBanks() {
    const model::Session& session = m_document.session();
    const int before = std::max(bank(), 0);
    m_bank->clear();
    for (const model::BankEntry& entry : session.priors)
        m_bank->addItem(shortened(session.resolve(entry.bank).filename().string()));
    m_bank->setCurrentIndex(std::min(before, m_bank->count() - 1));
}

void CompressDialog::refresh() {
    if (m_shown != m_work->report() || m_levels->rowCount() == 0) {
        m_shown = m_work->report();
        m_saved.clear();
        refreshLevels();
        refreshPriors();
        refreshProblems();
        model::PlotData plot;
        if (m_shown) plot = model::levelsPlot(*m_shown);
        if (!m_shown) plot.empty = m_work->working() ? "Being computed." : "Nothing computed.";
        m_plot->setPlot(std::move(plot));
        m_merges->setPlainText(m_shown ? words(model::mergesText(*m_shown)) : QString());
    }
    refreshState();
}

void CompressDialog::refreshProblems() {
    QStringList problems;
    for (const model::PriorOneBit& prior : priors())
        for (const std::string& problem : prior.problems)
            problems << (problem.starts_with("prior '") ? QString() : told(prior.name) + QStringLiteral(": ")) +
                            told(problem);
    m_problems->setToolTip(shortened(problems.join(QLatin1Char('\n')), kHoverLetters).toHtmlEscaped());
    if (problems.size() > 1)
        problems = {
            tr("%1 (and %2 more that cannot be used)").arg(problems.front(), QString::number(problems.size() - 1))};
    m_problems->setText(breakable(problems.join(QString())));
    m_problems->setVisible(!problems.isEmpty());
}

std::span<const model::PriorOneBit> CompressDialog::priors() const {
    return m_shown ? std::span(m_shown->priors) : std::span<const model::PriorOneBit>();
}

QString CompressDialog::state(bool old) const {
    if (m_work->working()) {
        const model::Progress& progress = m_work->progress();
        return words(progress.what + (progress.rate.empty() ? "" : ", " + progress.rate));
    }
    if (!m_work->failure().empty()) return words(m_work->failure());
    if (bank() < 0) return tr("The session has no bank of priors.");
    QString text = m_work->stopped() ? tr("Stopped. ") : QString();
    if (!m_shown) return text + tr("Nothing computed.");
    if (old) return text + tr("Out of date: bank, trace or dials have changed since. Compute again.");
    if (!m_shown->unmeasured.empty()) return text + words(m_shown->unmeasured);
    const model::Trace& trace = *m_work->input().trace;
    return text + tr("KL on trace %1: %2 positions, a prior of the bank matched at %3; τ = %4.")
                      .arg(told(trace.name), QString::number(m_shown->positions), QString::number(m_shown->matched),
                           formatNumber(trace.session.decoding.temperature, 2));
}

void CompressDialog::refreshState() {
    const bool working = m_work->working(), old = outOfDate();
    m_state->setText(breakable(state(old)));
    const bool failed = !working && !m_work->failure().empty();
    const QString role = failed ? QStringLiteral("failure")
                         : old  ? QString()  // to be seen
                                : QStringLiteral("quiet");
    if (m_state->property("role") != role) {
        m_state->setProperty("role", role);
        m_state->style()->polish(m_state);
    }
    m_compute->setEnabled(bank() >= 0);
    m_stop->setVisible(working);
    m_progress->setVisible(working);
    const model::Progress& progress = m_work->progress();
    m_progress->setRange(0, progress.fraction < 0 ? 0 : 100);
    m_progress->setValue(static_cast<int>(100 * progress.fraction));
    const int level = this->level(), shown = level < 0 ? kDefaultLevel : level;
    m_save->setText(tr("Save level %1 as…").arg(shown));
    m_use->setText(tr("Use level %1 in the session").arg(shown));
    for (QPushButton* does : {m_save, m_use}) does->setEnabled(level >= 0 && !working && bankAsItWas());
}

void CompressDialog::refreshLevels() {
    const int selected = level() < 0 ? kDefaultLevel : level();
    fillLevels(*m_levels, m_shown.get());
    m_levels->setCurrentCell(selected, 0);
}

void CompressDialog::refreshPriors() {
    fillPriors(*m_priors, priors(), m_sortBy, m_descending);
    const auto off = std::ranges::count_if(priors(), [](const model::PriorOneBit& p) { return !p.acts; });
    QStringList said;
    if (m_priors->rowCount() < static_cast<int>(priors().size()))
        said << tr("%1 of %2 priors are shown.").arg(m_priors->rowCount()).arg(priors().size());
    if (off == 1) said << tr("Grey: it does not act and stays as it is at every level.");
    if (off > 1) said << tr("Grey: these %1 do not act and stay as they are at every level.").arg(off);
    m_count->setText(said.join(QLatin1Char(' ')));
    m_count->setVisible(!said.isEmpty());
}

void openCompressDialog(model::Document& document, std::size_t bank, QWidget* parent) {
    auto* dialog = parent->findChild<CompressDialog*>(QStringLiteral("compressDialog"));
    if (dialog == nullptr) {
        dialog = new CompressDialog(document, parent);
        dialog->setAttribute(Qt::WA_DeleteOnClose);
    }
    dialog->openOn(bank);
}

}  // namespace counterpoint::widgets
