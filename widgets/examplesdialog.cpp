#include "widgets/examplesdialog.h"

#include <QSignalBlocker>
#include <QVBoxLayout>

#include "widgets/exampleparts.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr int kBankPath = Qt::UserRole + 1;  ///< of an entry of the choice: banks may have one name

}  // namespace

ExamplesDialog::ExamplesDialog(model::Document& document, QWidget* parent, model::SourceOpener opener)
    : QDialog(parent), m_document(document), m_work(new ExamplesWork(document, std::move(opener), this)) {
    setObjectName(QStringLiteral("examplesDialog"));
    setWindowTitle(tr("New prior from examples"));
    auto* column = new QVBoxLayout(this);
    m_sets = new ExampleSets(m_document, *m_work);
    m_candidates = new ExampleCandidates;
    m_form = new ExampleForm;
    column->addWidget(m_sets);
    column->addWidget(m_candidates, 1);
    column->addWidget(m_form);
    column->addWidget(makeEnd());
    connect(m_candidates, &ExampleCandidates::ticksChanged, this, &ExamplesDialog::priorEdited);
    connect(m_form, &ExampleForm::renamed, this, &ExamplesDialog::refreshQuality);
    connect(m_form, &ExampleForm::edited, this, &ExamplesDialog::priorEdited);
    connect(m_work, &ExamplesWork::changed, this, &ExamplesDialog::refresh);
    connect(m_work, &ExamplesWork::progressed, this, &ExamplesDialog::refreshQuality);
    connect(&m_document, &model::Document::sessionChanged, this, &ExamplesDialog::refreshBanks);
    refreshBanks();
    refresh();
}

QWidget* ExamplesDialog::makeEnd() {
    auto* box = new QWidget;
    auto* all = new QVBoxLayout(box);
    all->setContentsMargins(0, 0, 0, 0);
    const auto button = [this](const char* name, const QString& text, const QString& help, std::function<void()> run) {
        return dialogButton(m_document, "priors.fromExamples", name, text, help, std::move(run));
    };
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
    m_confidence = sentenceLabel("examples.confidence");
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
    all->addWidget(m_confidence);
    all->addLayout(first);
    all->addLayout(last);
    return box;
}

void ExamplesDialog::refresh() {
    m_sets->refresh();
    if (m_candidates->proposal() != m_work->proposal()) m_candidates->read(m_work->proposal());
    refreshConfidence();
    refreshQuality();
}

void ExamplesDialog::refreshConfidence() {
    const auto& proposal = m_candidates->proposal();
    if (!proposal || !m_candidates->anyTicked()) return m_confidence->clear();
    const double c = model::confidenceFrom(m_candidates->ticked(), proposal->texts, proposal->split.training);
    m_confidence->setText(
        tr("Confidence c = %1: the share of its own side's training texts, by their weights, that hold "
           "a ticked token, on average. %2")
            .arg(formatNumber(c), m_form->options().explicitDelta
                                      ? tr("Δ by log-odds is final: c stays beside it, not applied.")
                                      : tr("It is applied: Δ = c·δ₊ and −c·δ₋.")));
}

void ExamplesDialog::priorEdited() {
    m_said->clear();
    m_work->forgetEstimate();
    refreshConfidence();
    refreshQuality();
}

void ExamplesDialog::refreshQuality() {
    m_candidates->sayCount();
    const auto bank = chosenBank();
    const std::string context =
        m_form->refresh(bank ? std::span<const compute::Feature>(bank->features) : std::span<const compute::Feature>());
    const auto& proposal = m_candidates->proposal();
    const bool can =
        proposal && m_candidates->anyTicked() && m_form->isNamed() && context.empty() && !m_work->working();
    const bool estimating = m_work->estimating();
    m_estimate->setEnabled(can && !estimating && !proposal->split.heldOut.empty());
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
        QString text = tr("q = %1 (95 %: %2 to %3, too narrow for long texts: it counts positions, which are not "
                          "independent), η = %4%5; right at %6 of %7 positions whose token it weighs (at %8 of %9 that "
                          "it moves: what it promotes it takes from the rest); the weights of texts are not used here")
                           .arg(formatNumber(quality->q), formatNumber(c.low), formatNumber(c.high),
                                formatNumber(eta.eta), eta.off ? tr(", off") : QString())
                           .arg(quality->support().right)
                           .arg(quality->support().seen)
                           .arg(quality->everywhere.right)
                           .arg(quality->everywhere.seen);
        if (quality->stopped) text += tr("; stopped after %1 texts").arg(quality->texts);
        m_quality->setText(text + QLatin1Char('.'));
    } else if (proposal && !proposal->split.problem.empty()) {
        m_quality->setText(words(proposal->split.problem));
    } else {
        m_quality->setText(tr("Not estimated: q = 0.5, so η = 0."));
    }
}

void ExamplesDialog::refreshBanks() {
    const QVariant before = m_bank->currentData(kBankPath);
    {
        const QSignalBlocker blocker(m_bank);
        m_bank->clear();
        const auto& banks = m_document.session().priors;
        for (std::size_t i = 0; i < banks.size(); ++i)
            if (banks[i].content) {
                m_bank->addItem(told(banks[i].content->name.empty() ? banks[i].bank : banks[i].content->name),
                                static_cast<int>(i));
                m_bank->setItemData(m_bank->count() - 1, words(m_document.session().resolve(banks[i].bank).string()),
                                    kBankPath);
            }
        m_bank->setCurrentIndex(std::max(m_bank->findData(before, kBankPath), m_bank->count() > 0 ? 0 : -1));
    }
    m_bank->setPlaceholderText(tr("open a bank first"));
    refreshQuality();
}

std::shared_ptr<const compute::Bank> ExamplesDialog::chosenBank() const {
    const auto& banks = m_document.session().priors;
    const auto at = static_cast<std::size_t>(m_bank->currentData().toInt());
    return m_bank->currentIndex() >= 0 && at < banks.size() ? banks[at].content : nullptr;
}

compute::Prior ExamplesDialog::prior() const {
    model::ExamplePrior options = m_form->options();
    options.source = "examples:";
    for (const ExamplesWork::Source& source : m_work->sources())
        if (source.read)
            options.source += " " + source.name() + " (" + std::to_string(source.texts(true)) + " preferred, " +
                              std::to_string(source.texts(false)) + " not),";
    options.source += " " + m_sets->splitInWords();
    if (const auto& quality = m_work->quality())
        options.source +=
            ", right at " + std::to_string(quality->support().right) + " of " +
            std::to_string(quality->support().seen) + " positions whose token it weighs";
    const ExamplesWork::Proposal& proposal = *m_candidates->proposal();
    compute::Prior made = model::buildPrior(m_candidates->ticked(), proposal.texts, proposal.split.training, options);
    if (m_work->quality()) made.quality = m_work->quality()->q;
    return made;
}

void ExamplesDialog::add() {
    const auto bank = static_cast<std::size_t>(m_bank->currentData().toInt());
    model::Session session =
        model::withExamplePrior(m_document.session(), bank, prior(), *m_candidates->proposal()->tokenizer);
    const std::string name = session.priors[bank].content->priors.back()->name;
    m_document.setSession(std::move(session));
    m_said->setText(tr("'%1' is in the bank; its file has it when the bank is saved.").arg(told(name)));
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
