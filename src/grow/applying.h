// Does a plan, step by step, and undoes it: each step is announced in the journal with what was there before,
// done, checked, and only then is it done and the next one's turn.
//
// What is done already is left alone, so that apply() goes on where an earlier one stopped, for whatever
// reason. Blocking, for as long as jobs run; one thread.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/result.h"
#include "grow/journal.h"
#include "grow/plan.h"

namespace minke::grow {

// What this program does itself. Called again where it was interrupted.
using Action = std::function<Status()>;
using Actions = std::map<std::string, Action>;
// A line for whoever watches.
using Tell = std::function<void(const std::string& line)>;

class Applying {
 public:
  Applying(Journal& journal, const KeptPlan& plan, Actions actions, Tell tell)
      : journal_(journal), plan_(plan), actions_(std::move(actions)), tell_(std::move(tell)) {}

  // `later`: also the steps that come once what is left under Minke has ended.
  Status apply(bool later = false);
  // From the last step back to the first. `discard`: also where jobs would be lost that are in Slurm alone.
  // What cannot be reached is passed over, and named by the error in the end (EHOSTUNREACH): a later call
  // finishes it. `gone`: it is given up, and told.
  Status undo_all(bool discard, bool gone = false);

 private:
  Status apply_step(const Step& step);
  Status check(const Step& step);
  Status send(const Step& step);
  Status undo_step(const Step& step, bool discard);
  Result<std::string> run(const Step& step, const std::string& host, const std::string& script,
                          const std::string& variables);
  Result<std::string> inputs_of(const Step& step);

  Journal& journal_;
  const KeptPlan& plan_;
  Actions actions_;
  Tell tell_;
};

}  // namespace minke::grow
