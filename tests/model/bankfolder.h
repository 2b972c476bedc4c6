#pragma once
// A folder with a bank, and a session that uses it on three scripted sources.

#include <QTemporaryDir>

#include "compute/files/atomicfile.h"
#include "tests/model/scripted.h"

namespace counterpoint::tests {

/// 'a' is id 100. Priors: always on; after "b"; off by its quality; one that cannot be read.
constexpr const char* kBank = R"({"format":"counterpoint.bank/1","name":"letters","tokenizer":null,"priors":[
 {"name":"always","quality":0.9,"promote":[110,111],"demote":[120],"when":{"kind":"always"}},
 {"name":"after b","quality":0.8,"confidence":0.5,"promote":["c"],"policy":"single token","when":{"kind":"regex","pattern":"b$"}},
 {"name":"doubtful","quality":0.3,"promote":[112],"when":{"kind":"always"}},
 {"name":"broken","quality":7,"promote":[113],"when":{"kind":"always"}}]})";

class Folder {
  public:
    Folder() { compute::writeFile(bank(), kBank); }
    std::filesystem::path bank() const { return path() / "letters.bank.json"; }
    std::filesystem::path path() const { return m_dir.path().toStdString(); }
    model::Session session(std::int64_t newTokens = 12) const {
        model::Session s = threeSession(newTokens);
        s.file = path() / "s.session.json";
        model::BankEntry entry;
        entry.bank = "letters.bank.json";
        s.priors.push_back(entry);
        return s;
    }

  private:
    QTemporaryDir m_dir;
};

}  // namespace counterpoint::tests
