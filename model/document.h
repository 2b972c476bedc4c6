#pragma once
// Document: what the window shows and edits: session with undo, traces with branches, the cursor, notices; owns the Engine and
// the 30 Hz timer that drains it. Signals carry no payload: views read the document. Thread: the window thread only.

#include "model/diagnostics.h"
#include "model/engine.h"

#include <QObject>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace counterpoint::model {

struct Notice {
    enum class Level { Info, Warning, Failure } level = Level::Info;
    std::string sentence, details;
    int id = 0;
    std::string about;  ///< the operation it is an outcome of; empty: none
    bool restarts = false;  ///< it has a button for Document::restartEngine
};

/// What is known of a source of the rack, for lights and hover.
struct SourceStatus {
    enum class State { Unloaded, Loading, Ready, Failed } state = State::Unloaded;
    compute::SourceInfo info;
    std::string fingerprint, message;
};

class Document : public QObject {
    Q_OBJECT
  public:
    /// `opener`: how sources are opened (tests); empty: compute::openSource. `patience`: see Engine.
    explicit Document(QObject* parent = nullptr, SourceOpener opener = {},
                      std::chrono::milliseconds patience = Engine::kPatience);
    ~Document() override;

    // -- session ------------------------------------------------------------------------------------------------------
    const Session& session() const { return m_session; }
    /// One undo step; `merge` (a drag) joins consecutive changes with the same non-empty key into one step until endMerge().
    void setSession(Session session, const std::string& merge = {});
    void endMerge();
    bool canUndo() const;
    bool canRedo() const;
    void undo();
    void redo();
    bool modified() const;  ///< the session is not as it was saved, or one of its banks is not as its file
    /// A session, a model directory or a recording; throws Error, then nothing has changed. Where its sources cannot be loaded later,
    /// or are stopped loading, a notice says so and what was open and ready comes back, traces and undo included.
    void open(const std::filesystem::path& file);
    /// Asked with the SHA-256 of a file that runs code, whenever one is opened: whether this was never said of it. Empty: it is said.
    void setCodeIsNew(std::function<bool(const std::string& sha256)> isNew);
    /// Throws what open would, and changes nothing.
    static void check(const std::filesystem::path& file);
    void save(const std::filesystem::path& file);
    void addSpecialist(const std::filesystem::path& file);   ///< a model directory, or a recording with all its sources
    void beginHere();  ///< what is open was opened together: nothing to undo, nothing unsaved

    // -- engine -------------------------------------------------------------------------------------------------------
    void loadSources();                             ///< called by open and when the rack gains a source
    void setDevice(const std::string& device);
    const std::string& device() const { return m_device; }
    void generate();                                ///< a new trace from the prompt
    void stepOnce();                                ///< one more token on the present trace
    void continueDecode();                          ///< goes on from the end of the present trace
    void branch(compute::Position position, compute::TokenId token);
    void pause(bool paused);
    void stop();
    /// A call into a source still runs, the engine's patience after Stop; a notice says so until it returns.
    bool stuck() const;
    /// Leaves that call behind. The rack is loaded again, but not a source that hung while it was opened; session and traces stay.
    void restartEngine();
    bool running() const { return m_running; }
    bool paused() const { return m_paused; }
    bool busy() const { return m_running || m_loading || m_recomposing; }
    bool loading() const { return m_loading; }      ///< sources or banks of the rack are being read
    bool ready() const { return m_ready; }          ///< every used source is loaded
    const std::string& activity() const { return m_activity; }   ///< "Loading math, 43 %", "812 tokens/s"
    double progress() const { return m_progress; }               ///< < 0: none
    SourceStatus status(std::size_t source) const;

    // -- banks --------------------------------------------------------------------------------------------------------
    /// What of the session's banks acts with the loaded tokenizer; built when it is asked for after a change.
    PriorSetPtr priors() const;
    std::string bankProblem(std::size_t bank) const;   ///< why session().priors[bank] has no content; empty: it has, or is not read yet
    bool bankModified(std::size_t bank) const;         ///< it is not as its file
    std::vector<std::size_t> modifiedBanks() const;    ///< ascending
    /// Writes the bank of an entry to `file` (its own when empty); the entry names that file from then on. Throws Error.
    void saveBank(std::size_t bank, const std::filesystem::path& file = {});
    /// Writes a bank to a file that no entry of the rack names; Error where one does. An entry that gets both is not modified.
    void saveOther(const BankPtr& bank, const std::filesystem::path& file);
    /// Puts a bank's file at the end of the rack; it is read like a source. Throws Error where it is there already.
    void addBank(const std::filesystem::path& file);
    const std::shared_ptr<const compute::Tokenizer>& tokenizer() const;   ///< of what is loaded; null: none

    // -- traces and view ----------------------------------------------------------------------------------------------
    const std::vector<std::shared_ptr<Trace>>& traces() const { return m_traces; }
    const Trace* trace() const;                     ///< the present one, or nullptr
    void selectTrace(int id);
    const View& view() const { return m_view; }
    void setView(View view);
    void setCursor(compute::Position position);     ///< clamped to the trace's steps
    bool followsEnd() const { return m_follow; }    ///< the cursor follows the newest step until a person moves it
    PlotData plot(std::string_view diagnosticId) const;
    /// Whether somebody looks at routing: only then are estimates made, of the present trace under the present dials.
    void setRoutingWanted(bool wanted);
    bool estimating() const;  ///< they are under way; stop() ends them

    // -- notices ------------------------------------------------------------------------------------------------------
    const std::vector<Notice>& notices() const { return m_notices; }
    /// `about`: the operation this is the outcome of ("Exporting"): it takes the place of that operation's last one.
    void notify(Notice::Level level, std::string sentence, std::string details = {}, std::string about = {});
    void notify(Notice notice);   ///< its id is given here
    /// The operation went well and there is nothing to say of it: what it said last is over.
    void settled(std::string_view about);
    void dismiss(int id);
    /// What was closed, went by itself or was replaced, oldest first; the last hundred.
    const std::vector<Notice>& pastNotices() const { return m_past; }

    Engine& engine() { return *m_engine; }

  Q_SIGNALS:
    void sessionChanged();
    void statusChanged();       ///< source states, activity, running
    void traceChanged();        ///< steps appended or replaced, at most 30 times a second
    void traceSelected();
    void viewChanged();         ///< cursor, selected token, strip measure
    void noticesChanged();
    void recomposed();          ///< a what-if is complete

  private:
    struct Private;
    void tick();
    void wake();                    ///< starts the timer that drains the engine; it ends when nothing runs
    void dialsChanged();
    void requestRecompose();
    void startDecode(DecodeRequest request);
    void resume(std::int64_t maxNewTokens);
    void replaceSession(Session session, View view);
    void openBefore();              ///< what was open before a file that could not be loaded
    bool shows(const Session& session) const;
    /// Moves the notices that `over` says yes to to the past ones; whether there were any.
    bool retire(const std::function<bool(const Notice&)>& over);
    Trace* present();
    void followEnd();
    /// The prior that is looked at gets its DriftWithout, from the analysis lane.
    void askDrift();
    void takeDrift(bool analysisQuiet);
    /// The source whose routing is looked at gets its RoutingPicture, from the analysis lane.
    void askRouting();
    void takeRouting();
    void stopRouting();
    BankPtr bankOnDisk(const std::string& path) const;
    void writeBankFile(const BankPtr& bank, const std::filesystem::path& target);
    void watchStuck();              ///< offers to restart, and withdraws the offer
    void settle(bool decodeQuiet, bool analysisQuiet);   ///< after the outbox was emptied: what a quiet lane left open is over
    void on(const SourceLoaded& event);
    void on(const BankLoaded& event);
    void on(const Loaded& event);
    void on(const Progress& event);
    void on(const Failure& event);
    void on(const TraceStarted& event);
    void on(const StepDone& event);
    void on(const TraceEnded& event);
    void on(const Recomposed& event);
    void on(const Hashed& event);
    void on(const Idle& event);
    Session m_session;
    std::unique_ptr<Private> m_private;
    std::unique_ptr<Engine> m_engine;
    std::vector<std::shared_ptr<Trace>> m_traces;
    View m_view;
    std::vector<Notice> m_notices, m_past;
    std::string m_device = "cpu", m_activity;
    double m_progress = -1;
    bool m_running = false, m_paused = false, m_loading = false, m_recomposing = false, m_ready = false, m_follow = true;
};

}  // namespace counterpoint::model
