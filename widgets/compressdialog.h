#pragma once
// CompressDialog: what compressing a bank of the rack keeps and costs (R9, R10): the levels with bytes, ratios, error
// and KL on the present trace beside its bounds, each prior's α, what was joined and what was not and why, KL against
// bytes. A level is saved as a file, or put into the session in the bank's place as one undo step. The bank's own file
// never changes. It computes when it is asked to; where bank, trace or dials have moved since, it says that it is out
// of date. Beside the window, never in its way: the work is the analysis lane's and lets what-ifs pass. Thread: the
// window thread.

#include <QComboBox>
#include <QDialog>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTabWidget>
#include <QTableWidget>
#include <filesystem>
#include <map>
#include <span>

#include "widgets/compresswork.h"
#include "widgets/numberfield.h"
#include "widgets/plotpanel.h"

namespace counterpoint::widgets {

class CompressDialog : public QDialog {
    Q_OBJECT
  public:
    explicit CompressDialog(model::Document& document, QWidget* parent = nullptr);
    CompressWork& work() { return *m_work; }
    /// Which bank of the rack; computes where its report is not there.
    void openOn(std::size_t bank);
    QSize sizeHint() const override { return {1180, 720}; }

  private:
    QWidget* makeAsked();
    QWidget* makeShown();
    QWidget* makeEnd();
    QPushButton* button(const char* name, const QString& text, const QString& help, std::function<void()> run);
    void compute();
    void refresh();
    void refreshBanks();
    void refreshState();
    void refreshLevels();
    void refreshPriors();
    void refreshProblems();
    QString state(bool old) const;  ///< old: of a bank, trace or dials that have moved
    int bank() const { return m_bank->currentIndex(); }
    compute::CompressOptions options() const;
    bool outOfDate() const;
    std::span<const model::PriorOneBit> priors() const;
    bool bankAsItWas() const;  ///< the report's bank is the one that stands in the rack
    int level() const;         ///< of the selected row; -1: none, or one that is as it was
    void askFile();
    void save(int level, const std::filesystem::path& file);
    void use();

    model::Document& m_document;
    CompressWork* m_work;
    std::shared_ptr<const model::CompressionReport> m_shown;
    std::map<int, std::filesystem::path> m_saved;  ///< where levels of the report were saved
    int m_sortBy = -1;                             ///< column of the priors; -1: the bank's order
    bool m_descending = true;
    QComboBox *m_bank, *m_keep;
    NumberField* m_threshold;
    QPushButton *m_compute, *m_stop, *m_save, *m_use;
    QProgressBar* m_progress;
    QLabel *m_state, *m_problems, *m_said, *m_count;
    QTableWidget *m_levels, *m_priors;
    QPlainTextEdit* m_merges;
    PlotPanel* m_plot;
    QTabWidget* m_tabs;
};

/// The one of `parent`, in front, on a bank of the rack; made where there is none.
void openCompressDialog(model::Document& document, std::size_t bank, QWidget* parent);

}  // namespace counterpoint::widgets
