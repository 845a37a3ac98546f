// Finds the files of a job that may have metrics, and reads what they have so far. With this process's own
// rights. One thread.
//
// A file is the job's if it lies below the job's directory (or its $SLURM_TMPDIR) and was written while the
// job ran; if some of these have the job's number in their path ("job12"), only those are. A W&B run names
// its job. If a rival may have written it as well (another job of the user there at that time), "log-12.csv"
// counts as naming its job, too; a file that no name assigns is nobody's, and disputed.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ml/metric_files.h"
#include "ml/metrics.h"
#include "model/job_record.pb.h"

namespace minke::helpers {

// Returns the user's other jobs that ran in the same place and time; `records` may have any jobs.
std::vector<model::JobRecord> rivals_of(const model::JobRecord& job,
                                        const std::vector<const model::JobRecord*>& records);

class MetricSearch {
 public:
  // `tmp_dir` is that of the running job; it may be empty.
  MetricSearch(const model::JobRecord& job, std::string work_dir, std::string tmp_dir);

  // Uses files by name, whatever they are. Fails if a file is of no known kind.
  Status use_only(const std::vector<std::string>& paths);
  void set_rivals(std::vector<model::JobRecord> rivals) { rivals_ = std::move(rivals); }
  // Looks for files, and reads their new data. Costs little if there is none.
  void update();

  // Returns all that was read; if several files have a name, the series with the later end.
  ml::MetricSet all() const;
  std::vector<std::string> paths() const;     // of the files that are the job's
  std::vector<std::string> problems() const;  // "PATH: what is wrong", for damaged files
  std::string dispute() const;                // the files whose owner is ambiguous; empty: none

 private:
  struct File {
    std::unique_ptr<ml::MetricParser> parser;
    ml::MetricSet metrics;
    uint64_t read = 0;
    ino_t inode = 0;
    int64_t written = 0;  // s since the epoch, the last time
    std::string problem;
  };
  void look_into(const std::string& directory, int depth);
  void read_file(const std::string& path, File& file);
  // The jobs named in the files' paths; computed once for all files.
  struct Names;
  enum class Owner { kJob, kAnother, kUnknown };
  Owner owner_of(const std::string& path, const File& file, const Names& names) const;
  Names names() const;
  template <typename Take>
  void for_each(Owner wanted, Take take) const;

  const model::JobRecord job_;
  const std::string work_dir_, tmp_dir_;
  std::vector<model::JobRecord> rivals_;
  bool fixed_ = false;
  size_t looked_at_ = 0;
  std::map<std::string, File> files_;
};

}  // namespace minke::helpers
