#include "widgets/examplecandidates.h"

#include <QHeaderView>
#include <QVBoxLayout>
#include <algorithm>
#include <cmath>

#include "model/diagnostics.h"
#include "widgets/exampleparts.h"
#include "widgets/numbertable.h"
#include "widgets/shortname.h"

namespace counterpoint::widgets {
namespace {

constexpr std::size_t kShownCandidates = 500;
constexpr double kDefaultZ = 1.96;

}  // namespace

ExampleCandidates::ExampleCandidates(QWidget* parent)
    : QGroupBox(tr("Candidate tokens of the training texts"), parent) {
    auto* row = new QHBoxLayout;
    m_threshold =
        named(new NumberField(0, 1000, false), "examples.threshold", tr("Ticks the tokens whose |z| is above it"));
    m_threshold->setValue(kDefaultZ);
    m_threshold->setMaximumWidth(80);
    connect(m_threshold, &NumberField::edited, this, [this] {
        tickBeyond();
        refresh();
        Q_EMIT ticksChanged();
    });
    m_count = sentenceLabel("examples.count");
    row->addWidget(new QLabel(tr("Tick |z| above")));
    row->addWidget(m_threshold);
    row->addWidget(m_count, 1);
    m_table = makeNumberTable(nullptr);
    named(m_table, "examples.candidates", tr("Candidate tokens; the ticked ones make the prior"));
    QHeaderView* head = m_table->horizontalHeader();
    head->setSectionsClickable(true);
    head->setSortIndicatorShown(true);
    connect(head, &QHeaderView::sectionClicked, this, [this](int section) {
        m_descending = section == m_sortBy ? !m_descending : section > 1;
        m_sortBy = section;
        refresh();
    });
    connect(m_table, &QTableWidget::itemChanged, this, [this](QTableWidgetItem* item) {
        if (m_filling || item->column() != 0) return;
        const compute::TokenId token = m_proposal->candidates[m_order[static_cast<std::size_t>(item->row())]].token;
        if (item->checkState() == Qt::Checked)
            m_ticks.insert(token);
        else
            m_ticks.erase(token);
        Q_EMIT ticksChanged();
    });
    auto* all = new QVBoxLayout(this);
    all->addLayout(row);
    all->addWidget(m_table, 1);
}

void ExampleCandidates::read(const ProposalPtr& proposal) {
    m_proposal = proposal;
    tickBeyond();
    refresh();
}

std::vector<compute::Candidate> ExampleCandidates::ticked() const {
    std::vector<compute::Candidate> chosen;
    for (const compute::Candidate& candidate : m_proposal->candidates)
        if (m_ticks.contains(candidate.token)) chosen.push_back(candidate);
    return chosen;
}

void ExampleCandidates::tickBeyond() {
    m_ticks.clear();
    if (!m_proposal) return;
    const auto& all = m_proposal->candidates;
    for (std::size_t i = 0; i < std::min(all.size(), kShownCandidates); ++i)
        if (std::abs(all[i].z) > m_threshold->value() && all[i].logOdds != 0) m_ticks.insert(all[i].token);
}

void ExampleCandidates::sortRows() {
    const std::size_t known = m_proposal ? m_proposal->candidates.size() : 0, shown = std::min(known, kShownCandidates);
    m_order.resize(shown);
    for (std::size_t i = 0; i < shown; ++i) m_order[i] = i;
    const auto label = [this](const compute::Candidate& c) {
        return model::tokenLabel(m_proposal->tokenizer.get(), c.token);
    };
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
        if (m_sortBy == 0) return m_descending ? label(y) < label(x) : label(x) < label(y);
        return m_descending ? value(y) < value(x) : value(x) < value(y);
    });
}

void ExampleCandidates::refresh() {
    sortRows();
    const std::size_t shown = m_order.size();
    m_filling = true;
    const QString number = QStringLiteral("−00.0000");
    setTableShape(
        *m_table,
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
    m_table->horizontalHeader()->setSortIndicator(m_sortBy, m_descending ? Qt::DescendingOrder : Qt::AscendingOrder);
    for (int row = 0; row < static_cast<int>(shown); ++row) {
        const compute::Candidate& c = m_proposal->candidates[m_order[static_cast<std::size_t>(row)]];
        setText(*m_table, row, 0, words(model::tokenLabel(m_proposal->tokenizer.get(), c.token)), Ink::Normal);
        m_table->item(row, 0)->setCheckState(m_ticks.contains(c.token) ? Qt::Checked : Qt::Unchecked);
        const QString cells[] = {QString::number(c.token),     formatCell(c.z),
                                 formatCell(c.logOdds),        formatCell(c.countPreferred),
                                 formatCell(c.countOther),     QString::number(c.textsPreferred),
                                 QString::number(c.textsOther)};
        for (int column = 1; column <= 7; ++column) setNumber(*m_table, row, column, cells[column - 1], Ink::Normal);
    }
    fitColumns(*m_table);
    m_filling = false;
}

void ExampleCandidates::sayCount() {
    const std::size_t known = m_proposal ? m_proposal->candidates.size() : 0;
    QString count = tr("%1 of %2 ticked").arg(m_ticks.size()).arg(known);
    if (known > kShownCandidates) count += tr("; the %1 of the largest |z| are shown").arg(kShownCandidates);
    m_count->setText(known > 0 ? count : QString());
}

}  // namespace counterpoint::widgets
