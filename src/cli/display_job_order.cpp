// The orders in which squeue can sort its lines: one comparison for each sort letter of cli/job_fields.h.
#include "cli/job_fields.h"

namespace minke::cli {
namespace {

using Context = DisplayContext;
using model::JobRecord;
using model::JobSpec;

template <typename Number>
int compare(Number left, Number right) {
  return left < right ? -1 : left > right ? 1 : 0;
}
int compare(const std::string& left, const std::string& right) {
  return left.compare(right);
}

template <auto value>
int by_record(const JobLine& left, const JobLine& right, const Context&) {
  return compare((left.job->*value)(), (right.job->*value)());
}
template <auto value>
int by_spec(const JobLine& left, const JobLine& right, const Context&) {
  return compare((left.job->spec().*value)(), (right.job->spec().*value)());
}

uint32_t family(const JobRecord& job) {
  return job.array_job_id() != 0 ? job.array_job_id() : job.job_id();
}
// The tasks of an array that wait together come after those with a record of their own.
uint64_t task_rank(const JobLine& line) {
  if (line.waiting_task) return *line.waiting_task;
  return line.job->has_array_task_id() ? line.job->array_task_id() : uint64_t{UINT32_MAX} + 1;
}

int by_array_id(const JobLine& left, const JobLine& right, const Context&) {
  int order = compare(family(*left.job), family(*right.job));
  return order != 0 ? order : compare(task_rank(left), task_rank(right));
}
int by_task(const JobLine& left, const JobLine& right, const Context&) {
  return compare(task_rank(left), task_rank(right));
}
int by_family(const JobLine& left, const JobLine& right, const Context&) {
  return compare(family(*left.job), family(*right.job));
}
int by_partition(const JobLine& left, const JobLine& right, const Context&) {
  return left.partition.compare(right.partition);
}
int by_state(const JobLine& left, const JobLine& right, const Context&) {
  return state_text(*left.job).compare(state_text(*right.job));
}
int by_compact_state(const JobLine& left, const JobLine& right, const Context&) {
  return state_code(*left.job).compare(state_code(*right.job));
}
int by_reason(const JobLine& left, const JobLine& right, const Context&) {
  return reason_text(*left.job).compare(reason_text(*right.job));
}
int by_memory(const JobLine& left, const JobLine& right, const Context&) {
  return compare(memory_request(*left.job).mebibytes, memory_request(*right.job).mebibytes);
}
int by_min_cpus(const JobLine& left, const JobLine& right, const Context&) {
  return compare(min_cpus_per_node(left.job->spec()), min_cpus_per_node(right.job->spec()));
}
int by_time_left(const JobLine& left, const JobLine& right, const Context& context) {
  auto seconds = [&](const JobRecord& job) {
    return job.time_limit_minutes() == kUnlimited
               ? INT64_MAX
               : int64_t{60} * job.time_limit_minutes() - elapsed_seconds(job, context.now);
  };
  return compare(seconds(*left.job), seconds(*right.job));
}
int by_time_used(const JobLine& left, const JobLine& right, const Context& context) {
  return compare(elapsed_seconds(*left.job, context.now), elapsed_seconds(*right.job, context.now));
}
int by_end(const JobLine& left, const JobLine& right, const Context&) {
  return compare(end_time(*left.job), end_time(*right.job));
}
// Jobs without a start come last.
int by_start(const JobLine& left, const JobLine& right, const Context&) {
  auto rank = [](const JobRecord& job) { return job.start_time() != 0 ? job.start_time() : INT64_MAX; };
  return compare(rank(*left.job), rank(*right.job));
}
int unordered(const JobLine&, const JobLine&, const Context&) {
  return 0;
}

}  // namespace

JobComparison job_comparison(char letter) {
  switch (letter) {
    case 'a':
      return by_record<&JobRecord::account>;
    case 'b':
    case 'z':
    case 'H':
    case 'I':
    case 'J':
    case 'E':
    case 'O':
    case 's':
    case 'h':
    case 'X':
    case 'Y':
      return unordered;
    case 'c':
      return by_min_cpus;
    case 'd':
      return by_spec<&JobSpec::tmp_mib>;
    case 'e':
      return by_end;
    case 'f':
      return by_spec<&JobSpec::constraint>;
    case 'g':
      return by_record<&JobRecord::group_name>;
    case 'i':
      return by_array_id;
    case 'j':
      return by_spec<&JobSpec::name>;
    case 'k':
      return by_spec<&JobSpec::comment>;
    case 'l':
      return by_record<&JobRecord::time_limit_minutes>;
    case 'm':
      return by_memory;
    case 'n':
      return by_spec<&JobSpec::node_list>;
    case 'o':
      return by_spec<&JobSpec::command>;
    case 'p':
    case 'Q':
      return by_record<&JobRecord::priority>;
    case 'q':
      return by_record<&JobRecord::qos>;
    case 'r':
      return by_reason;
    case 't':
      return by_compact_state;
    case 'u':
      return by_record<&JobRecord::user_name>;
    case 'v':
      return by_spec<&JobSpec::reservation>;
    case 'w':
      return by_spec<&JobSpec::wckey>;
    case 'x':
      return by_spec<&JobSpec::exclude>;
    case 'y':
      return by_spec<&JobSpec::nice>;
    case 'A':
      return by_record<&JobRecord::job_id>;
    case 'B':
      return by_record<&JobRecord::batch_host>;
    case 'C':
      return by_record<&JobRecord::num_cpus>;
    case 'D':
      return by_record<&JobRecord::num_nodes>;
    case 'F':
      return by_family;
    case 'G':
      return by_record<&JobRecord::gid>;
    case 'K':
      return by_task;
    case 'L':
      return by_time_left;
    case 'M':
      return by_time_used;
    case 'N':
    case 'R':
      return by_record<&JobRecord::node_list>;
    case 'P':
      return by_partition;
    case 'S':
      return by_start;
    case 'T':
      return by_state;
    case 'U':
      return by_record<&JobRecord::uid>;
    case 'V':
      return by_record<&JobRecord::submit_time>;
    case 'W':
      return by_spec<&JobSpec::licenses>;
    case 'Z':
      return by_spec<&JobSpec::work_dir>;
    default:
      return nullptr;
  }
}

}  // namespace minke::cli
