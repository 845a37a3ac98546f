// A sweep as its directory holds it: its file, its settings, and its journal replayed into a search.
//
// DIR/sweep.yaml      the sweep file
// DIR/settings.json   what was said beside it: working directory, seed, jobs at a time, sbatch's options
// DIR/journal.jsonl   what happened (journal.h)
// DIR/lock            held by the one process that steers the sweep
// DIR/stop            somebody asks that process to end the sweep
// DIR/trials/N/       of trial N: output.log, parameters.json, checkpoint/, and what the training writes
// there
//
// Everybody with the rights may read; changes are the lock holder's. One thread; blocking.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "os/fd.h"
#include "search/sweep_file.h"
#include "sweep/journal.h"

namespace minke::sweep {

struct Settings {
  std::string work_dir;  // absolute
  uint64_t seed = 0;
  uint64_t jobs = 1;    // at a time
  uint64_t trials = 0;  // 0: as the file has it
  std::vector<std::string> sbatch;
};

// One submission for a trial. A trial has several where the cluster ended one, and one for each piece of its
// training.
struct Run {
  std::string key;   // of the submission, in hex
  uint32_t job = 0;  // 0: not known to be submitted
  bool ended = false;
};

struct TrialRecord {
  std::vector<Run> runs;
  size_t lost_runs = 0;            // of the present piece, which the cluster ended
  bool stopping = false;           // we stop it, because others are better
  std::optional<uint64_t> source;  // the trial whose state it takes over before its next run begins
  std::string reason;              // why it failed
  int64_t asked = 0, told = 0;     // s since the epoch
};

class Record {
 public:
  // Makes a new sweep. Fails with EEXIST if there is one, that of another file or other settings.
  static Result<std::unique_ptr<Record>> create(const std::string& directory, const std::string& file_text,
                                                const Settings& settings);
  static Result<std::unique_ptr<Record>> open(const std::string& directory);
  // Takes the lock, to change it. Fails if another process steers it.
  Status steer();

  const std::string& directory() const { return directory_; }
  const search::SweepFile& file() const { return file_; }
  const Settings& settings() const { return settings_; }
  search::Search& search() { return *search_; }
  const search::Search& search() const { return *search_; }
  const std::map<uint64_t, TrialRecord>& trials() const { return trials_; }
  std::string trial_directory(uint64_t trial) const {
    return directory_ + "/trials/" + std::to_string(trial);
  }
  std::string stop_path() const { return directory_ + "/stop"; }

  // Each is on the disk when it returns.
  Status ask(const search::Assignment& assignment, int64_t now);
  Status begin_run(uint64_t trial, const std::string& key);
  Status submitted(uint64_t trial, uint32_t job);
  Status run_lost(uint64_t trial, const std::string& reason);
  Status stopping(uint64_t trial);
  Status tell(uint64_t trial, search::Search::End end, std::optional<double> value, const std::string& reason,
              int64_t now);

 private:
  Status load();
  Status replay(const std::string& line);
  Status write(const std::string& line);

  std::string directory_;
  search::SweepFile file_;
  Settings settings_;
  std::unique_ptr<search::Search> search_;
  std::map<uint64_t, TrialRecord> trials_;
  os::UniqueFd lock_;
  std::optional<Journal> journal_;
};

}  // namespace minke::sweep
