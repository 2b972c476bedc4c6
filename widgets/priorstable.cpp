#include "widgets/priorstable.h"

#include <QFont>
#include <QMimeData>
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "widgets/attempt.h"
#include "widgets/numberfield.h"
#include "widgets/palette.h"
#include "widgets/shortname.h"
#include "widgets/tokenmime.h"

namespace counterpoint::widgets {
namespace {

struct Head {
    const char* title;
    const char* help;
    const char* widest;
    bool editable;
};
constexpr std::array<Head, PriorsTable::kColumns> kHeads = {{
    {"Prior", "Name; the box says whether it acts. Space switches, F2 edits.", "", true},
    {"Kind", "What sort of prior it is, in the bank's own words", "weekday", true},
    {"Task", "What it was made for, in the bank's own words", "weekday", true},
    {"q", "Quality q, from 0 to 1: how often it moves probability the right way", "0.0000", true},
    {"c", "Confidence c, from 0 to 1: what δ₊ and δ₋ are multiplied by", "0.0000", true},
    {"η",
     "Weight η = log(q/(1−q)), from 0 to 4.595 (R8). Bold: set by hand in this session or in the bank; "
     "≤: the cap bites; empty gives the derived value back.",
     "≤ −0.0000", true},
    {"c·η", "c and η count reliability both: what they come to together, before the bank's weight", "−0.0000", false},
    {"n", "Tokens of the support: what its entries became with this tokenizer", "88888", false},
    {"hits", "Steps of the present trace where it matched", "88888", false},
    {"effect",
     "Mean over its hits of |η·Δ(token)/τ| in nats: what it added to the score of the token that stands there, before "
     "normalising",
     "−0.0000", false},
}};

bool isNumber(int column) { return column >= PriorsTable::Quality; }

/// Texts as people sort them, numbers by value with what is none at the end.
template <class Key, class Less>
void sortBy(std::vector<std::size_t>& order, const std::vector<Key>& keys, bool down, Less less) {
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return down ? less(keys[b], keys[a]) : less(keys[a], keys[b]);
    });
}

}  // namespace

PriorsTable::PriorsTable(model::Document& document, QObject* parent)
    : QAbstractTableModel(parent), m_document(document) {}

void PriorsTable::setBank(int bank) {
    if (bank == m_bank) return;
    beginResetModel();  // nothing of one bank is kept for another
    m_bank = bank;
    m_content.reset();
    m_set.reset();
    m_order.clear();
    endResetModel();
    read();
}

void PriorsTable::read(bool reorder) {
    const auto& entries = m_document.session().priors;
    if (m_bank >= static_cast<int>(entries.size())) m_bank = -1;
    const model::BankEntry* entry = m_bank < 0 ? nullptr : &entries[static_cast<std::size_t>(m_bank)];
    const model::BankPtr content = entry == nullptr ? nullptr : entry->content;
    const std::size_t count = content ? content->priors.size() : 0;
    const bool sameShape = m_content && content && m_content->priors.size() == count;
    if (!sameShape) beginResetModel();
    m_content = content;
    // While a rack is read its lane resolves the banks; here it would hold the window up.
    m_set = content && !m_document.loading() ? m_document.priors() : nullptr;
    m_first = 0;
    for (int b = 0; b < m_bank; ++b)
        if (const auto& before = entries[static_cast<std::size_t>(b)].content) m_first += before->priors.size();
    m_overrides.clear();
    if (entry != nullptr)
        attempt(
            m_document, [&] { m_overrides = model::readOverrides(entry->overrides, "bank '" + entry->bank + "'"); },
            "overrides");
    // Steps that are replaced come in chunks: they are counted again when the last one is in.
    if (!m_document.busy() || !m_tally.wouldRecount(m_document.trace()) ||
        (m_document.running() && m_document.trace() != nullptr))
        m_tally.follow(m_document.trace());
    if (!sameShape) {
        m_order = ordered();
        endResetModel();
        return;
    }
    if (reorder) this->reorder();
    if (!m_order.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, kColumns - 1));
}

void PriorsTable::setFilter(const QString& words, bool matchedOnly) {
    m_words = words.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    m_matchedOnly = matchedOnly;
    beginResetModel();
    m_order = ordered();
    endResetModel();
}

void PriorsTable::sort(int column, Qt::SortOrder order) {
    m_sortColumn = column;
    m_sortOrder = order;
    reorder();
}

std::vector<std::size_t> PriorsTable::ordered() const {
    std::vector<std::size_t> order(total());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!m_words.isEmpty() || m_matchedOnly)
        std::erase_if(order, [this](std::size_t i) {
            const compute::Prior& p = prior(i);
            if (m_matchedOnly && tally(i).hits == 0) return true;
            const QString all = words(p.name + '\n' + p.kind + '\n' + p.task + '\n' + p.source);
            return !std::all_of(m_words.begin(), m_words.end(),
                                [&](const QString& word) { return all.contains(word, Qt::CaseInsensitive); });
        });
    if (m_sortColumn < 0) return order;
    const bool down = m_sortOrder == Qt::DescendingOrder;
    if (isNumber(m_sortColumn)) {
        std::vector<double> keys(total());
        for (const std::size_t i : order) {
            const double value = number(i, m_sortColumn);
            keys[i] = std::isnan(value) ? (down ? -1 : 1) * std::numeric_limits<double>::infinity() : value;
        }
        sortBy(order, keys, down, std::less<>());
    } else {
        const std::vector<QString> keys = texts(m_sortColumn);
        sortBy(order, keys, down,
               [](const QString& a, const QString& b) { return a.compare(b, Qt::CaseInsensitive) < 0; });
    }
    return order;
}

void PriorsTable::reorder() {
    std::vector<std::size_t> order = ordered();
    if (order == m_order) return;
    if (order.size() != m_order.size()) {
        beginResetModel();
        m_order = std::move(order);
        return endResetModel();
    }
    Q_EMIT layoutAboutToBeChanged();
    std::vector<int> rows(total(), -1);
    for (std::size_t r = 0; r < order.size(); ++r) rows[order[r]] = static_cast<int>(r);
    for (const QModelIndex& old : persistentIndexList()) {
        const int row = rows[m_order[static_cast<std::size_t>(old.row())]];
        changePersistentIndex(old, row < 0 ? QModelIndex() : index(row, old.column()));
    }
    m_order = std::move(order);
    Q_EMIT layoutChanged();
}

std::size_t PriorsTable::total() const { return m_content ? m_content->priors.size() : 0; }

std::size_t PriorsTable::indexOf(const std::string& name) const {
    for (std::size_t i = 0; i < total(); ++i)
        if (prior(i).name == name) return i;
    return static_cast<std::size_t>(-1);
}

const compute::PriorSet::Member* PriorsTable::member(std::size_t index) const {
    if (!m_set || m_first + index >= m_set->members().size()) return nullptr;
    const compute::PriorSet::Member& m = m_set->members()[m_first + index];
    return m.prior == m_content->priors[index].get() ? &m : nullptr;
}

bool PriorsTable::on(std::size_t index) const {
    const auto said = m_overrides.find(prior(index).name);
    return model::isOn(prior(index), said == m_overrides.end() ? compute::PriorOverride{} : said->second);
}

int PriorsTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(m_order.size());
}
int PriorsTable::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : kColumns; }

QVariant PriorsTable::data(const QModelIndex& at, int role) const {
    if (!at.isValid() || at.row() >= rowCount()) return {};
    const std::size_t i = priorOf(at.row());
    const int column = at.column();
    switch (role) {
        case Qt::DisplayRole:
            return text(i, column);
        case Qt::EditRole:
            return isNumber(column) ? QVariant(NumberField::textOf(number(i, column))) : QVariant(text(i, column));
        case Qt::ToolTipRole:
            return hover(i, column);
        case Qt::CheckStateRole:
            return column == Name ? QVariant(on(i) ? Qt::Checked : Qt::Unchecked) : QVariant();
        case Qt::TextAlignmentRole:
            return QVariant((isNumber(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
        case Qt::FontRole: {
            const auto* m = member(i);
            if (column != EtaColumn || m == nullptr || !m->eta.overridden) return {};
            QFont bold;
            bold.setBold(true);
            return bold;
        }
        case Qt::ForegroundRole: {
            const auto* m = member(i);
            const Theme& t = currentTheme();
            if (column == Name && !problems(i).isEmpty()) return prior(i).unusable ? t.failure : t.warning;
            return m != nullptr && !m->acts ? QVariant(t.quiet) : QVariant();
        }
        default:
            return {};
    }
}

QVariant PriorsTable::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= kColumns) return {};
    const Head& head = kHeads[static_cast<std::size_t>(section)];
    if (role == Qt::DisplayRole) return tr(head.title);
    if (role == Qt::ToolTipRole) return tr(head.help);
    if (role == Qt::TextAlignmentRole)
        return QVariant((isNumber(section) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    return {};
}

QString PriorsTable::widest(int column) { return tr(kHeads[static_cast<std::size_t>(column)].widest); }

Qt::ItemFlags PriorsTable::flags(const QModelIndex& at) const {
    Qt::ItemFlags flags = QAbstractTableModel::flags(at);
    if (!at.isValid()) return flags;
    flags |= Qt::ItemIsDropEnabled;
    if (at.column() == Name) flags |= Qt::ItemIsUserCheckable;
    if (kHeads[static_cast<std::size_t>(at.column())].editable) flags |= Qt::ItemIsEditable;
    return flags;
}

void PriorsTable::edit(const std::function<model::Session(model::Session)>& change) {
    attempt(
        m_document, [&] { m_document.setSession(change(m_document.session())); }, "priors");
}

bool PriorsTable::setData(const QModelIndex& at, const QVariant& value, int role) {
    if (!at.isValid() || m_bank < 0) return false;
    const std::size_t i = priorOf(at.row());
    const auto bank = static_cast<std::size_t>(m_bank);
    using model::Session;
    if (role == Qt::CheckStateRole) {
        edit([&](Session s) {
            return model::withSwitched(std::move(s), bank, std::array{i}, value.toInt() == Qt::Checked);
        });
        return true;
    }
    if (role != Qt::EditRole) return false;
    const QString given = value.toString().trimmed();
    if (given == data(at, Qt::EditRole).toString()) return false;
    compute::Prior changed = prior(i);
    if (isNumber(at.column())) {
        if (at.column() == EtaColumn && given.isEmpty()) {
            edit([&](Session s) { return model::withEta(std::move(s), bank, i, std::nullopt); });
            return true;
        }
        double number = 0;
        const bool eta = at.column() == EtaColumn;
        const QString reason =
            NumberField::readNumber(given, eta ? -compute::kMostEta : 0, eta ? compute::kMostEta : 1, number);
        if (!reason.isEmpty()) {
            m_document.notify(model::Notice::Level::Warning,
                              "Prior '" + changed.name + "', " + kHeads[static_cast<std::size_t>(at.column())].title +
                                  ": " + reason.toStdString(),
                              {}, "priors");
            return false;
        }
        if (eta) {
            edit([&](Session s) { return model::withEta(std::move(s), bank, i, number); });
            return true;
        }
        (at.column() == Quality ? changed.quality : changed.confidence) = number;
    } else {
        std::string& text = at.column() == Name ? changed.name : at.column() == Kind ? changed.kind : changed.task;
        text = given.toStdString();
    }
    edit([&](Session s) { return model::withPrior(std::move(s), bank, i, std::move(changed)); });
    return true;
}

QStringList PriorsTable::mimeTypes() const { return {QLatin1String(kTokenMime)}; }

bool PriorsTable::canDropMimeData(const QMimeData* data, Qt::DropAction, int, int, const QModelIndex& parent) const {
    return parent.isValid() && tokenOf(data).has_value();
}

bool PriorsTable::dropMimeData(const QMimeData* data, Qt::DropAction action, int, int, const QModelIndex& parent) {
    const std::optional<compute::TokenId> token = tokenOf(data);
    if (!parent.isValid() || !token || parent.row() >= rowCount()) return false;
    Q_EMIT tokenDropped(priorOf(parent.row()), *token,
                        action == Qt::MoveAction ? model::Side::Demote : model::Side::Promote);
    return true;
}

}  // namespace counterpoint::widgets
