// What has been done of a plan: a directory with the plan and a file that only grows, so that whoever was
// killed, at whatever moment, goes on where that was, and can go all the way back.
//
// A line is on the disk before the work that it announces begins ("begin", with what was there before), or
// after what it tells is so ("done", "undone"). A line that was cut off by a crash is as if it had never been
// written. Only root reads the directory: it has keys and passwords. Blocking; one thread; one process, by a
// lock.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "base/result.h"
#include "os/fd.h"

namespace minke::grow {

enum class StepState { kNew, kBegun, kDone, kUndone };

struct StepRecord {
  StepState state = StepState::kNew;
  std::string before;
};

class Journal {
 public:
  // Makes the directory. EWOULDBLOCK: another process has it.
  static Result<Journal> open(const std::string& directory);

  const std::string& directory() const { return directory_; }
  // The plan that is under way; none: there is none.
  Result<std::optional<std::string>> plan() const;
  Status keep_plan(const std::string& json);

  StepRecord step(const std::string& id) const;
  bool confirmed() const { return confirmed_; }
  Status begin(const std::string& id, const std::string& before);
  Status done(const std::string& id);
  Status undone(const std::string& id);
  Status confirm();
  // All is undone: the next plan is a new one.
  Status forget();

 private:
  Journal() = default;
  std::string path() const { return directory_ + "/journal"; }
  std::string plan_path() const { return directory_ + "/plan.json"; }
  Status load();
  Status append(const std::string& line);
  void take(const std::string& line);

  std::string directory_;
  os::UniqueFd lock_;
  std::map<std::string, StepRecord> steps_;
  bool confirmed_ = false;
};

}  // namespace minke::grow
