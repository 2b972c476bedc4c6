#pragma once
// PriorsPanel: the bank editor (R8): which bank of the rack, its switch, weight, file and what is wrong with it; the
// table of its priors with a search line; what can be done with the selected ones as commands, for which the window
// keeps the actions (setActions). A row that becomes the current one is the view's prior, that plots, strip and detail
// follow. Thread: the window thread.

#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTimer>
#include <QToolButton>
#include <QWidget>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "widgets/bankline.h"
#include "widgets/framelimiter.h"
#include "widgets/priorsview.h"

class QHBoxLayout;

namespace counterpoint::widgets {

class PriorsPanel : public QWidget {
    Q_OBJECT
  public:
    explicit PriorsPanel(model::Document& document, QWidget* parent = nullptr);
    ~PriorsPanel() override;

    enum class Command {
        New,
        Duplicate,
        Delete,
        Merge,
        Split,
        SplitEntries,
        Solo,
        Mute,
        Up,
        Down,
        ResetEta,
        Promote,
        Demote,
        RemoveBank
    };
    void run(Command command);  ///< throws what editing throws
    bool can(Command command) const;
    /// Of the window's registry: for buttons, menus and what is shown where there is no bank.
    struct Offered {
        std::vector<QAction*> bank, priors, menu;  ///< buttons of the two lines; all there is, nullptr: a line
        std::vector<QAction*> empty;
    };
    void setActions(const Offered& actions);

    int bank() const { return m_table.bank(); }
    std::vector<std::size_t> selected() const { return m_view->selected(); }  ///< of the bank, ascending
    PriorsTable& table() { return m_table; }
    PriorsView& view() { return *m_view; }
    void refresh();
    /// Another widget that shows what the table knows: it is kept up to date while either is seen.
    void setCompanion(QWidget* companion) { m_companion = companion; }
    void search();  ///< the keyboard into the search line
    /// η as derived from q, in the session and in the bank.
    void resetEta(const std::vector<std::size_t>& priors);
    /// The entries of a prior that are selected in its detail (ascending), for Command::SplitEntries.
    void setEntries(compute::PriorPtr prior, std::vector<std::size_t> entries);
    /// The selected priors as a bank of their own, as they stand in this one; the session stays. Throws.
    void exportSelected(const std::filesystem::path& file);
    /// The priors of a bank's file, read on the analysis lane, behind those of the bank that is present now; they are
    /// selected then. A notice says how it went.
    void importFrom(const std::filesystem::path& file);
    /// Puts a token into a prior of the present bank, by its id. A throw becomes a notice.
    void put(std::size_t prior, compute::TokenId token, model::Side side);
    QSize sizeHint() const override { return {640, 320}; }
    QSize minimumSizeHint() const override;

  Q_SIGNALS:
    void commandsChanged();  ///< what can() says
    void shown();            ///< the table has been read, or another prior is looked at

  protected:
    bool eventFilter(QObject* watched, QEvent* event) override;
    void showEvent(QShowEvent* event) override;

  private:
    QWidget* makeSearchLine();
    void makeTable();
    bool seen() const { return isVisible() || (m_companion && m_companion->isVisible()); }
    void readBank();
    void traceChanged();
    void followView();
    void currentChanged();
    void countRows();
    void solo(const std::vector<std::size_t>& priors);
    void apply(model::Session session);
    compute::TokenId shownToken() const;

    model::Document& m_document;
    PriorsTable m_table;
    QPointer<QWidget> m_companion;
    FrameLimiter m_limiter;
    QWidget *m_body, *m_nothing;
    BankLine* m_bankLine = nullptr;
    QHBoxLayout *m_priorButtons = nullptr, *m_emptyButtons = nullptr;
    QLabel *m_count = nullptr, *m_none = nullptr;
    QLineEdit* m_search = nullptr;
    QToolButton* m_matched = nullptr;
    PriorsView* m_view = nullptr;
    class QMenu* m_menu = nullptr;
    bool m_stale = true, m_following = false, m_wasBusy = false;
    /// Which banks of the rack are on, and which of their priors.
    struct BankSwitches {
        std::string bank;
        bool enabled = false;
        std::vector<bool> priors;
        bool operator==(const BankSwitches&) const = default;
    };
    using Switches = std::vector<BankSwitches>;
    Switches switches() const;
    compute::Factor becameOf(std::size_t prior) const;
    /// The solo that stands: what was before it, and what it left.
    struct Solo {
        Switches before, after;
    };
    std::optional<Solo> m_solo;
    struct Importing;
    void lookForImport();
    void takeImport(const Importing& of);
    std::shared_ptr<Importing> m_importing;  ///< the newest; null: none is under way
    QTimer m_importLook;
    compute::PriorPtr m_entriesOf;  ///< whose m_entries are
    std::vector<std::size_t> m_entries;
};

}  // namespace counterpoint::widgets
