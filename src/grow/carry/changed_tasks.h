// A task of an array that was changed on its own, and what makes the same of another task of the array. Pure.
#pragma once

#include <string>
#include <vector>

#include "model/job_record.pb.h"

namespace minke::grow {

struct TaskChange {
  std::vector<std::string> settings;  // of scontrol update
  bool whole = true;                  // false: something differs that no setting says
};
TaskChange task_change(const model::JobRecord& others, const model::JobRecord& task);

}  // namespace minke::grow
