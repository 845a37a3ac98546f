// The sort keys of squeue: one for each sort letter of cli/job_fields.h.
#include <algorithm>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "view/job_fields.h"

namespace minke::view {
namespace {

using Context = DisplayContext;
using model::JobRecord;
using model::JobSpec;

template <auto value>
int64_t record_number(const JobLine& line, const Context&) {
  return static_cast<int64_t>((line.job->*value)());
}
template <auto value>
int64_t spec_number(const JobLine& line, const Context&) {
  return static_cast<int64_t>((line.job->spec().*value)());
}
template <const std::string& (JobRecord::*value)() const>
std::string_view record_text(const JobLine& line) {
  return (line.job->*value)();
}
template <const std::string& (JobSpec::*value)() const>
std::string_view spec_text(const JobLine& line) {
  return (line.job->spec().*value)();
}

std::string_view name(const JobLine& line) {
  return job_name(*line.job);
}
// Jobs without nodes come last.
std::string_view nodes(const JobLine& line) {
  return line.job->node_list().empty() ? std::string_view("\x7f") : std::string_view(line.job->node_list());
}
int64_t family(const JobLine& line, const Context&) {
  return line.job->array_job_id() != 0 ? line.job->array_job_id() : line.job->job_id();
}
// Tasks of an array that wait in one record come after those with a record of their own.
int64_t task(const JobLine& line, const Context&) {
  if (line.waiting_task) return *line.waiting_task;
  return line.job->has_array_task_id() ? line.job->array_task_id() : int64_t{kUnlimited} + 1;
}
int64_t array_id(const JobLine& line, const Context& context) {
  constexpr int64_t kHighestTask = (int64_t{1} << 31) - 1;
  return (family(line, context) << 31) + std::min(task(line, context), kHighestTask);
}
int64_t memory(const JobLine& line, const Context&) {
  return static_cast<int64_t>(memory_request(*line.job).mebibytes);
}
int64_t min_cpus(const JobLine& line, const Context&) {
  return min_cpus_per_node(line.job->spec());
}
int64_t time_left(const JobLine& line, const Context& context) {
  if (line.job->time_limit_minutes() == kUnlimited) return INT64_MAX;
  return int64_t{60} * line.job->time_limit_minutes() - elapsed_seconds(*line.job, context.now);
}
int64_t time_used(const JobLine& line, const Context& context) {
  return elapsed_seconds(*line.job, context.now);
}
int64_t end(const JobLine& line, const Context&) {
  return end_time(*line.job);
}
// Jobs without a start come last.
int64_t start(const JobLine& line, const Context&) {
  return line.job->start_time() != 0 ? line.job->start_time() : INT64_MAX;
}
// First by the partition's tier, if a job has a line for each of its partitions.
int64_t priority(const JobLine& line, const Context&) {
  return (int64_t{line.partition_tier} << 32) + line.job->priority();
}
std::string_view partition(const JobLine& line) {
  return line.partition;
}
std::string_view state(const JobLine& line) {
  return state_text(*line.job);
}
std::string_view compact_state(const JobLine& line) {
  return state_code(*line.job);
}
std::string_view reason(const JobLine& line) {
  return reason_text(*line.job);
}

constexpr JobSortKey by(int64_t (*number)(const JobLine&, const Context&)) {
  return {number, nullptr};
}
constexpr JobSortKey by(std::string_view (*text)(const JobLine&)) {
  return {nullptr, text};
}

// As in squeue(1), --sort.
constexpr struct {
  char letter;
  JobSortKey key;
} kSortKeys[] = {
    {'a', by(record_text<&JobRecord::account>)},
    {'c', by(min_cpus)},
    {'d', by(spec_number<&JobSpec::tmp_mib>)},
    {'e', by(end)},
    {'f', by(spec_text<&JobSpec::constraint>)},
    {'g', by(record_text<&JobRecord::group_name>)},
    {'i', by(array_id)},
    {'j', by(name)},
    {'k', by(spec_text<&JobSpec::comment>)},
    {'l', by(record_number<&JobRecord::time_limit_minutes>)},
    {'m', by(memory)},
    {'n', by(spec_text<&JobSpec::node_list>)},
    {'o', by(spec_text<&JobSpec::command>)},
    {'p', by(priority)},
    {'Q', by(record_number<&JobRecord::priority>)},
    {'q', by(record_text<&JobRecord::qos>)},
    {'r', by(reason)},
    {'t', by(compact_state)},
    {'u', by(record_text<&JobRecord::user_name>)},
    {'v', by(spec_text<&JobSpec::reservation>)},
    {'w', by(spec_text<&JobSpec::wckey>)},
    {'x', by(spec_text<&JobSpec::exclude>)},
    {'y', by(spec_number<&JobSpec::nice>)},
    {'A', by(record_number<&JobRecord::job_id>)},
    {'B', by(record_text<&JobRecord::batch_host>)},
    {'C', by(record_number<&JobRecord::num_cpus>)},
    {'D', by(record_number<&JobRecord::num_nodes>)},
    {'F', by(family)},
    {'G', by(record_number<&JobRecord::gid>)},
    {'K', by(task)},
    {'L', by(time_left)},
    {'M', by(time_used)},
    {'N', by(nodes)},
    {'R', by(nodes)},
    {'P', by(partition)},
    {'S', by(start)},
    {'T', by(state)},
    {'U', by(record_number<&JobRecord::uid>)},
    {'V', by(record_number<&JobRecord::submit_time>)},
    {'W', by(spec_text<&JobSpec::licenses>)},
    {'Z', by(spec_text<&JobSpec::work_dir>)},
};

}  // namespace

std::optional<JobSortKey> job_sort_key(char letter) {
  for (const auto& entry : kSortKeys)
    if (entry.letter == letter) return entry.key;
  // Other fields are accepted, and order nothing.
  if (find_field(job_fields(), letter) != nullptr) return JobSortKey();
  return std::nullopt;
}

}  // namespace minke::view
