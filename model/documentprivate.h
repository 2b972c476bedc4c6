#pragma once
// What Document keeps beside its header: undo list, source states, the decode under way, the timer. Thread: the window's.

#include <QElapsedTimer>
#include <QTimer>
#include <map>
#include <mutex>

#include "model/document.h"
#include "model/driftwithout.h"
#include "model/routingpicture.h"

namespace counterpoint::model {

constexpr int kTickMs = 34;      ///< at most 30 times a second
constexpr int kFirstTickMs = 3;  ///< after a rest: the visible position of a what-if is there by then

/// What the next TraceStarted of an id becomes.
struct PendingTrace {
    Session session;
    int parent = -1;
    compute::Position branchedAt = 0;
    std::vector<StepPtr> steps;    ///< the parent's, left of the branch
};

/// What was open before another file was: it is open again when that file's sources cannot be.
struct OpenBefore {
    Session session, saved;
    View view;
    std::vector<Session> undo, redo;
    std::vector<std::shared_ptr<Trace>> traces;
    int selected = -1;
    bool follow = true;
    std::map<std::string, BankFile> banks;
};

/// A DriftWithout that is under way.
struct DriftAsked {
    int trace = -1;
    DriftQuestion question;
    std::stop_source stop;
    std::mutex mutex;
    std::shared_ptr<const DriftWithout> answer;
    bool over = false;  ///< the window's: the lane has done with it
};

/// A RoutingPicture that is under way.
struct RoutingAsked {
    int trace = -1;
    RoutingSubject of;
    std::size_t layer = 0;
    QElapsedTimer since;
    std::stop_source stop;
    std::mutex mutex;
    RoutingPicturePtr answer;             ///< the newest that was not taken
    double share = 0, rate = 0;           ///< of the draws; a second
    bool done = false;                    ///< the lane's
    bool answered = false, over = false;  ///< the window's: something was taken; all of it was
};

struct Document::Private {
    std::optional<OpenBefore> before;   ///< while a file that was opened is loading
    // Undo: the states before the present one and those after it.
    std::vector<Session> undo, redo;
    std::string merge;             ///< key of the drag that the newest undo step belongs to
    Session saved;

    std::map<std::string, SourceStatus> sources;   ///< by Session::sourceKey
    std::map<std::string, BankFile> banks;         ///< as their files are, by resolved path
    std::shared_ptr<const compute::Tokenizer> tokenizer, priorsTokenizer;   ///< of what is loaded; of `priors`
    PriorSetPtr priors;                            ///< of priorsOf
    std::vector<BankEntry> priorsOf;
    std::map<std::string, std::string> hashes;     ///< by resolved path

    std::map<int, PendingTrace> pending;
    int selected = -1, nextTrace = 1, decoding = -1, nextNotice = 1;
    std::uint64_t generation = 0;
    bool dialsMoved = false;       ///< a what-if waits for the decode to end
    std::optional<Session> recomposing;   ///< dials of the generation under way

    std::shared_ptr<DriftAsked> drift;  ///< the newest
    std::shared_ptr<RoutingAsked> routing;  ///< the newest; failed or stopped it stays, and is not asked again
    bool routingWanted = false;
    std::string routingActivity, activityBefore;  ///< what is told of estimates, and what it stands in the place of

    bool stuck = false;            ///< and the person was told
    std::function<bool(const std::string&)> codeIsNew;

    QTimer timer;
    QElapsedTimer sinceTick;       ///< since the last one
    QElapsedTimer rateClock;       ///< since the last shown rate; invalid until steps are timed
    std::int64_t rateTokens = 0;   ///< since then
    std::int64_t decoded = 0;      ///< steps of this decode
    QElapsedTimer loadClock;       ///< since the load began
    std::string doing;             ///< of the load, without the seconds it takes

    // What this tick has to tell.
    bool tellStatus = false, tellTrace = false, tellSelected = false, tellView = false, tellRecomposed = false, tellBanks = false;
};

}  // namespace counterpoint::model
