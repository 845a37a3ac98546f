// The queue as text, for long queues and for releases whose JSON lacks too much (before 23.02): squeue -O
// with a mark behind each field that nobody could have guessed and written into a job's name. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine::slurm {

// Whether the queue of a cluster of this version is read as JSON: from 23.02 on that has all that is needed.
// A release that is newer than those known may tell it otherwise; text has stayed the same.
enum class QueueSource { kJson, kTextOfOld, kTextOfUnknown };
QueueSource queue_source(std::string_view version);

class QueueText {
 public:
  using Take = std::function<Status(model::JobRecord job)>;
  QueueText(std::string mark, Take take) : mark_(std::move(mark)), take_(std::move(take)) {}

  // What squeue is to be asked with.
  std::vector<std::string> words() const;
  // The next line of its answer; a name may have the end of a line in it.
  Status line(std::string_view text);
  // After the last one.
  Status finish();

 private:
  std::string mark_;
  Take take_;
  std::string record_;
};

}  // namespace minke::engine::slurm
