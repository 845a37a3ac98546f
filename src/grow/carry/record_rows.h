// Ended jobs and their steps as rows of slurmdbd's tables CLUSTER_job_table and CLUSTER_step_table: column by
// column, each value as SQL. Slurm's releases have different columns: the caller leaves out those that the
// tables lack. Pure.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace minke::model {
class StepRecord;
}  // namespace minke::model

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::grow {

// The numbers that the new Slurm gives to names.
struct SlurmNumbers {
  using Place = std::tuple<std::string, std::string, std::string>;  // account, user, partition
  std::map<std::string, uint32_t, std::less<>> tres;                // "cpu", "gres/gpu:a100"
  std::map<Place, uint32_t> associations;
  std::map<std::string, uint32_t, std::less<>> qos;

  // 0: none.
  uint32_t association_of(const std::string& account, const std::string& user,
                          const std::string& partition) const;
};

using SqlRow = std::vector<std::pair<std::string, std::string>>;

// `submitted`: what tells this run from the other runs of the job. `now`: of the change.
SqlRow job_row(const api::AccountedJob& job, int64_t submitted, const SlurmNumbers& numbers, int64_t now);
// Without job_db_inx, the number that the data base gives to the job's row.
SqlRow step_row(const model::StepRecord& step, const SlurmNumbers& numbers);

// When each run of a job counts as submitted: a requeued one when the run before it ended. Slurm tells them
// apart by that alone. `before`: of the run before, as this function gave it; 0: it is the first.
int64_t submission_of(const api::AccountedJob& job, int64_t before, int64_t end_before);

// "1=4,2=4096": amounts by number. Names that Slurm does not count are added to `unknown`.
std::string tres_numbers(const std::map<std::string, uint64_t>& amounts, const SlurmNumbers& numbers,
                         std::map<std::string, uint64_t>* unknown = nullptr);
// What a job got, or asked for.
std::map<std::string, uint64_t> tres_names(const api::AccountedJob& job);

}  // namespace minke::grow
