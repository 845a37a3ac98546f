// What squeue can sort its lines by: one key for each sort letter of cli/job_fields.h.
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
// Those without nodes come last.
std::string_view nodes(const JobLine& line) {
  return line.job->node_list().empty() ? std::string_view("\x7f") : std::string_view(line.job->node_list());
}
int64_t family(const JobLine& line, const Context&) {
  return line.job->array_job_id() != 0 ? line.job->array_job_id() : line.job->job_id();
}
// The tasks of an array that wait together come after those with a record of their own.
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
// First by the partition's tier, where a job has a line for each of its partitions.
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

}  // namespace

std::optional<JobSortKey> job_sort_key(char letter) {
  switch (letter) {
    case 'a':
      return by(record_text<&JobRecord::account>);
    case 'c':
      return by(min_cpus);
    case 'd':
      return by(spec_number<&JobSpec::tmp_mib>);
    case 'e':
      return by(end);
    case 'f':
      return by(spec_text<&JobSpec::constraint>);
    case 'g':
      return by(record_text<&JobRecord::group_name>);
    case 'i':
      return by(array_id);
    case 'j':
      return by(name);
    case 'k':
      return by(spec_text<&JobSpec::comment>);
    case 'l':
      return by(record_number<&JobRecord::time_limit_minutes>);
    case 'm':
      return by(memory);
    case 'n':
      return by(spec_text<&JobSpec::node_list>);
    case 'o':
      return by(spec_text<&JobSpec::command>);
    case 'p':
      return by(priority);
    case 'Q':
      return by(record_number<&JobRecord::priority>);
    case 'q':
      return by(record_text<&JobRecord::qos>);
    case 'r':
      return by(reason);
    case 't':
      return by(compact_state);
    case 'u':
      return by(record_text<&JobRecord::user_name>);
    case 'v':
      return by(spec_text<&JobSpec::reservation>);
    case 'w':
      return by(spec_text<&JobSpec::wckey>);
    case 'x':
      return by(spec_text<&JobSpec::exclude>);
    case 'y':
      return by(spec_number<&JobSpec::nice>);
    case 'A':
      return by(record_number<&JobRecord::job_id>);
    case 'B':
      return by(record_text<&JobRecord::batch_host>);
    case 'C':
      return by(record_number<&JobRecord::num_cpus>);
    case 'D':
      return by(record_number<&JobRecord::num_nodes>);
    case 'F':
      return by(family);
    case 'G':
      return by(record_number<&JobRecord::gid>);
    case 'K':
      return by(task);
    case 'L':
      return by(time_left);
    case 'M':
      return by(time_used);
    case 'N':
    case 'R':
      return by(nodes);
    case 'P':
      return by(partition);
    case 'S':
      return by(start);
    case 'T':
      return by(state);
    case 'U':
      return by(record_number<&JobRecord::uid>);
    case 'V':
      return by(record_number<&JobRecord::submit_time>);
    case 'W':
      return by(spec_text<&JobSpec::licenses>);
    case 'Z':
      return by(spec_text<&JobSpec::work_dir>);
    default:
      break;
  }
  // Other fields are accepted, and order nothing.
  if (find_field(job_fields(), letter) != nullptr) return JobSortKey();
  return std::nullopt;
}

}  // namespace minke::view
