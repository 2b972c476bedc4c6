#pragma once
// PriorsTable: the priors of one bank of the rack as rows (R8): name and switch, kind, task, q, c, η, c·η, support n,
// hits and effect on the present trace. Cells are computed when they are seen; sorting and filtering keep an order of
// indices, so that 10,000 priors cost no widget and no copy. η and switch edit the session's overrides, the rest the
// bank's own value (bankedit.h). Thread: the window thread.

#include <QAbstractTableModel>
#include <functional>
#include <vector>

#include "model/bankedit.h"
#include "model/document.h"
#include "model/priortally.h"

namespace counterpoint::widgets {

class PriorsTable : public QAbstractTableModel {
    Q_OBJECT
  public:
    enum Column { Name, Kind, Task, Quality, Confidence, EtaColumn, Effective, Support, Hits, Effect, kColumns };
    explicit PriorsTable(model::Document& document, QObject* parent = nullptr);

    /// Which bank of the rack; −1: none.
    void setBank(int bank);
    int bank() const { return m_bank; }
    /// Session, bank and trace as they are now. `reorder`: rows are sorted and filtered anew (not within a drag).
    void read(bool reorder = true);
    /// Words that name, kind, task or source must hold; only priors that matched in the trace.
    void setFilter(const QString& words, bool matchedOnly);
    std::size_t total() const;  ///< priors of the bank, shown or not
    std::size_t priorOf(int row) const { return m_order.at(static_cast<std::size_t>(row)); }
    std::size_t indexOf(const std::string& name) const;          ///< the first of that name; −1: none
    const model::BankPtr& content() const { return m_content; }  ///< null: no bank, or it is not read
    std::vector<QString> texts(int column) const;                ///< of all its priors, in the bank's order
    const compute::Prior& prior(std::size_t index) const { return *m_content->priors.at(index); }
    /// nullptr where the set is not built of this bank.
    const compute::PriorSet::Member* member(std::size_t index) const;
    const model::PriorSetPtr& set() const { return m_set; }
    /// What it did on the trace.
    const model::PriorTally::Of& tally(std::size_t index) const {
        return m_tally.of(static_cast<std::size_t>(m_bank), prior(index).name);
    }
    /// Why a prior does not act as it is written; empty: it does.
    QStringList problems(std::size_t index) const;
    /// One line on its η: where it comes from.
    QString etaText(std::size_t index) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    void sort(int column, Qt::SortOrder order) override;
    QStringList mimeTypes() const override;
    Qt::DropActions supportedDropActions() const override { return Qt::CopyAction | Qt::MoveAction; }
    bool canDropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                         const QModelIndex& parent) const override;
    /// A token of the distribution: copied it promotes, moved (Shift) it demotes.
    bool dropMimeData(const QMimeData* data, Qt::DropAction action, int row, int column,
                      const QModelIndex& parent) override;
    /// The widest text of a column, for its width.
    static QString widest(int column);

  Q_SIGNALS:
    void tokenDropped(std::size_t prior, counterpoint::compute::TokenId token, counterpoint::model::Side side);

  private:
    std::vector<std::size_t> ordered() const;
    void reorder();
    QString text(std::size_t index, int column) const;
    QString hover(std::size_t index, int column) const;
    double number(std::size_t index, int column) const;
    void edit(const std::function<model::Session(model::Session)>& change);
    bool on(std::size_t index) const;
    model::Document& m_document;
    int m_bank = -1;
    model::BankPtr m_content;
    model::PriorSetPtr m_set;
    std::size_t m_first = 0;  ///< of the bank's members in m_set
    compute::PriorOverrides m_overrides;
    model::PriorTally m_tally;
    std::vector<std::size_t> m_order;  ///< [rows]
    int m_sortColumn = -1;             ///< −1: as in the bank
    Qt::SortOrder m_sortOrder = Qt::AscendingOrder;
    QStringList m_words;
    bool m_matchedOnly = false;
};

}  // namespace counterpoint::widgets
