#pragma once
// PriorsPanel: the bank editor (R8): which bank of the rack, its switch, weight, file and what is wrong with it; the
// table of its priors with a search line; what can be done with the selected ones as commands, for which the window
// keeps the actions (setActions). A row that becomes the current one is the view's prior, that plots, strip and detail
// follow. Thread: the window thread.

#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPointer>
#include <QTableView>
#include <QToolButton>
#include <QWidget>
#include <filesystem>
#include <map>
#include <optional>
#include <vector>

#include "widgets/framelimiter.h"
#include "widgets/priorstable.h"
#include "widgets/valueslider.h"

class QHBoxLayout;

namespace counterpoint::widgets {

class PriorsPanel : public QWidget {
    Q_OBJECT
  public:
    explicit PriorsPanel(model::Document& document, QWidget* parent = nullptr);
    ~PriorsPanel() override;

    enum class Command { New, Duplicate, Delete, Merge, Split, Solo, Mute, Up, Down, ResetEta, Promote, Demote, RemoveBank };
    void run(Command command);  ///< throws what editing throws
    bool can(Command command) const;
    /// Of the window's registry: for buttons, menus and what is shown where there is no bank.
    struct Offered {
        std::vector<QAction*> bank, priors, menu;  ///< buttons of the two lines; all there is, nullptr: a line
        std::vector<QAction*> empty;
    };
    void setActions(const Offered& actions);

    int bank() const { return m_table.bank(); }
    std::vector<std::size_t> selected() const;  ///< of the bank, ascending
    PriorsTable& table() { return m_table; }
    QTableView& view() { return *m_view; }
    void refresh();
    /// Another widget that shows what the table knows: it is kept up to date while either is seen.
    void setCompanion(QWidget* companion) { m_companion = companion; }
    void search();  ///< the keyboard into the search line
    /// η as derived from q, in the session and in the bank.
    void resetEta(const std::vector<std::size_t>& priors);
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
    QWidget* makeBankLine();
    QWidget* makeSearchLine();
    void makeTable();
    bool seen() const { return isVisible() || (m_companion && m_companion->isVisible()); }
    void readBanks();
    void readBank();
    void traceChanged();
    void followView();
    void currentChanged();
    void countRows();
    void choose(int bank);
    void editBank(const std::string& merge, const std::function<void(model::BankEntry&)>& change);
    void select(const std::vector<std::size_t>& priors);
    void solo(const std::vector<std::size_t>& priors);
    void apply(model::Session session);
    std::size_t current() const;  ///< prior of the current row; npos
    compute::TokenId shownToken() const;
    static constexpr auto kNone = static_cast<std::size_t>(-1);

    model::Document& m_document;
    PriorsTable m_table;
    QPointer<QWidget> m_companion;
    FrameLimiter m_limiter;
    QWidget *m_body, *m_nothing;
    QHBoxLayout *m_bankButtons = nullptr, *m_priorButtons = nullptr, *m_emptyButtons = nullptr;
    QComboBox* m_banks = nullptr;
    QCheckBox* m_switch = nullptr;
    ValueSlider* m_weight = nullptr;
    QLabel *m_problem = nullptr, *m_count = nullptr, *m_none = nullptr;
    QLineEdit* m_search = nullptr;
    QToolButton* m_matched = nullptr;
    QTableView* m_view = nullptr;
    class QMenu* m_menu = nullptr;
    bool m_stale = true, m_following = false, m_wasBusy = false;
    /// What stood before solo: switches of the banks, and of the priors of the present one by name.
    struct BeforeSolo {
        std::map<std::string, bool> banks, priors;
    };
    std::optional<BeforeSolo> m_beforeSolo;
};

/// Whether a file is a bank by its name; the name a bank is saved as: with the ending of one.
bool isBank(const std::filesystem::path& file);
std::filesystem::path bankPath(const std::filesystem::path& file);

}  // namespace counterpoint::widgets
