// The questions of loops that ask what to try and tell what came of it, each answered; the words are in
// serve.h, which has the sockets. Blocking, for the journal; one thread.
//
// An asker is a connection. A trial belongs to the asker that got it last. If that is lost, whoever asks next
// gets the trial: it counts once, and nobody trains what another trains. An asker may tell of a trial that is
// not its own: it may have come back by another connection.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/result.h"
#include "sweep/record.h"

namespace minke::sweep {

class AskTell {
 public:
  using Asker = uint64_t;

  // `record` is steered by this process. Trials that were asked for before belong to nobody.
  explicit AskTell(Record& record);

  // One line of JSON, with its end, for any bytes. An error: the journal cannot be written, and nobody should
  // go on.
  Result<std::string> answer(const std::string& line, Asker asker);
  void lost(Asker asker);

 private:
  Record& record_;
  std::map<uint64_t, Asker> owners_;  // of trials that are being trained
  std::set<uint64_t> orphans_;        // trials whose asker is lost
};

}  // namespace minke::sweep
