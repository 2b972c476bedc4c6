#pragma once
// ExamplesWork: what the dialog of a prior from examples has read, split and proposed, and the estimate of its quality.
// All of it is done on the analysis lane, one piece of work after the other; the window only looks whether it is there.
// Texts become tokens with the loaded tokenizer; where another one is loaded they are read again. Thread: the window
// thread.

#include <QObject>
#include <QTimer>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/document.h"
#include "model/examplequality.h"

namespace counterpoint::widgets {

class ExamplesWork : public QObject {
    Q_OBJECT
  public:
    /// `opener`: how the base is opened for the estimate (tests); empty: as ever.
    ExamplesWork(model::Document& document, model::SourceOpener opener, QObject* parent);
    ~ExamplesWork() override;

    struct Source {
        std::filesystem::path path;  ///< empty: a trace
        int trace = -1;
        std::optional<bool> preferred;                    ///< nullopt: each text says it
        std::shared_ptr<const model::ExamplesRead> read;  ///< null: not read yet, or `problem` says why not
        std::string problem;
        std::string name() const;
        int texts(bool ofPreferred) const;
    };
    struct Proposal {
        std::vector<model::ExampleText> texts;
        model::ExampleSplit split;
        std::vector<compute::Candidate> candidates;
        std::string problem;  ///< why there are none
        std::shared_ptr<const compute::Tokenizer> tokenizer;
    };

    const std::vector<Source>& sources() const { return m_sources; }
    void addFile(const std::filesystem::path& path, std::optional<bool> preferred);
    /// The thumb of a trace; nullopt takes it away.
    void setTrace(int trace, std::optional<bool> preferred);
    std::optional<bool> thumbOf(int trace) const;
    void remove(std::size_t source);
    void setSplit(std::size_t every, std::uint64_t seed);

    /// Null while it is being made, and where there is no text.
    const std::shared_ptr<const Proposal>& proposal() const { return m_proposal; }
    bool working() const { return m_box != nullptr && !m_estimating; }

    void estimate(compute::Prior prior, std::shared_ptr<const compute::Bank> bank);
    void stopEstimate();
    /// What was estimated is of a prior that is no longer asked for.
    void forgetEstimate();
    bool estimating() const { return m_estimating; }
    const model::Progress& progress() const { return m_progress; }
    const std::optional<model::QualityEstimate>& quality() const { return m_quality; }
    const std::string& failure() const { return m_failure; }  ///< of the last estimate

  Q_SIGNALS:
    void changed();     ///< sources, proposal, estimate
    void progressed();  ///< of the estimate

  private:
    struct Box;
    using Job = std::function<void(Box&, const std::stop_token&)>;
    void renew();  ///< sources or split have changed
    void start(Job job, const char* what);
    void look();
    void takeTokenizer();
    model::Document& m_document;
    model::SourceOpener m_opener;
    std::shared_ptr<const compute::Tokenizer> m_tokenizer;
    std::vector<Source> m_sources;
    std::size_t m_every = 4;
    std::uint64_t m_seed = 0;
    std::shared_ptr<const Proposal> m_proposal;
    std::shared_ptr<Box> m_box;  ///< of the work under way
    bool m_again = false;        ///< when it ends, renew
    bool m_estimating = false;
    bool m_forget = false;  ///< the estimate under way is of no use any more
    model::Progress m_progress;
    std::optional<model::QualityEstimate> m_quality;
    std::string m_failure;
    QTimer m_timer;
};

}  // namespace counterpoint::widgets
