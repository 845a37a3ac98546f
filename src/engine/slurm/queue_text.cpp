#include "engine/slurm/queue_text.h"

#include <algorithm>
#include <cerrno>
#include <iterator>

#include "engine/slurm/job_words.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "text/duration.h"
#include "text/job_id.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

using model::JobRecord;

constexpr size_t kLongestRecord = size_t{1} << 20;

uint32_t small(std::string_view words) {
  return static_cast<uint32_t>(text::parse_unsigned(words, 0xfffffffd).value_or(0));
}
int64_t seconds(std::string_view words) {
  return static_cast<int64_t>(text::parse_unsigned(words, uint64_t{1} << 40).value_or(0));
}
// Slurm's words for nothing.
std::string words_or_none(std::string_view words) {
  for (const std::string_view nothing : {"(null)", "N/A", "n/a"}) {
    if (words == nothing) return {};
  }
  return std::string(words);
}

void set_id(JobRecord& job, std::string_view words) {
  const auto id = text::parse_job_id(words);
  if (!id) return;
  if (id->het_offset) {
    job.set_het_job_id(id->job_id);
    job.set_het_job_offset(*id->het_offset);
  } else if (id->tasks.ranges_size() > 0) {
    job.set_array_job_id(id->job_id);
    if (words.find('[') == std::string_view::npos) {
      job.set_array_task_id(id->tasks.ranges(0).first());
    } else {
      *job.mutable_array_pending() = id->tasks;
    }
  }
}

void set_least_memory(JobRecord& job, std::string_view words) {
  // "1G" for each node; with a "c" behind it for each CPU.
  const bool each_cpu = words.ends_with('c');
  if (each_cpu || words.ends_with('n')) words.remove_suffix(1);
  const auto mib = text::parse_mib(words);
  if (!mib) return;
  if (each_cpu) {
    job.mutable_spec()->set_mem_per_cpu_mib(*mib);
  } else {
    job.mutable_spec()->set_mem_per_node_mib(*mib);
  }
}

// "3:0": the code, and the signal that ended it.
void set_exit_code(JobRecord& job, std::string_view words) {
  const size_t colon = words.find(':');
  if (colon == std::string_view::npos) return;
  job.set_exit_code(static_cast<int32_t>((small(words.substr(0, colon)) & 0xff) << 8 |
                                         (small(words.substr(colon + 1)) & 0x7f)));
}

struct Column {
  const char* name;
  void (*set)(JobRecord& job, std::string_view words);
};
constexpr Column kColumns[] = {
    {"JobID", [](JobRecord& job, std::string_view words) { job.set_job_id(small(words)); }},
    {"JobArrayID", set_id},
    {"State", [](JobRecord& job, std::string_view words) { set_state_word(words, job); }},
    {"UserID", [](JobRecord& job, std::string_view words) { job.set_uid(small(words)); }},
    {"UserName", [](JobRecord& job, std::string_view words) { job.set_user_name(std::string(words)); }},
    {"GroupID", [](JobRecord& job, std::string_view words) { job.set_gid(small(words)); }},
    {"Account",
     [](JobRecord& job, std::string_view words) {
       job.set_account(words_or_none(words));
       job.mutable_spec()->set_account(job.account());
     }},
    {"QOS",
     [](JobRecord& job, std::string_view words) {
       job.set_qos(words_or_none(words));
       job.mutable_spec()->set_qos(job.qos());
     }},
    {"Partition",
     [](JobRecord& job, std::string_view words) {
       job.set_partition(std::string(words));
       job.mutable_spec()->set_partition(job.partition());
     }},
    {"Reason",
     [](JobRecord& job, std::string_view words) { set_reason(std::string(words), "", job); }},
    {"NumTasks",
     [](JobRecord& job, std::string_view words) {
       job.set_num_tasks(small(words));
       job.mutable_spec()->set_ntasks(job.num_tasks());
     }},
    {"cpus-per-task",
     [](JobRecord& job, std::string_view words) {
       if (small(words) != 0) job.mutable_spec()->set_cpus_per_task(small(words));
     }},
    {"NumCPUs", [](JobRecord& job, std::string_view words) { job.set_num_cpus(small(words)); }},
    // "2-4": at least two.
    {"NumNodes",
     [](JobRecord& job, std::string_view words) {
       job.set_num_nodes(small(words.substr(0, words.find('-'))));
       job.mutable_spec()->set_min_nodes(job.num_nodes());
     }},
    {"tres-alloc", [](JobRecord& job, std::string_view words) { set_tres(words, job); }},
    {"TimeLimit",
     [](JobRecord& job, std::string_view words) {
       job.set_time_limit_minutes(text::parse_minutes(words).value_or(text::kUnlimited));
       job.mutable_spec()->set_time_limit_minutes(job.time_limit_minutes());
     }},
    {"SubmitTime", [](JobRecord& job, std::string_view words) { job.set_submit_time(seconds(words)); }},
    {"EligibleTime", [](JobRecord& job, std::string_view words) { job.set_eligible_time(seconds(words)); }},
    {"StartTime", [](JobRecord& job, std::string_view words) { job.set_start_time(seconds(words)); }},
    {"EndTime", [](JobRecord& job, std::string_view words) { job.set_end_time(seconds(words)); }},
    {"PriorityLong", [](JobRecord& job, std::string_view words) { job.set_priority(small(words)); }},
    {"RestartCnt", [](JobRecord& job, std::string_view words) { job.set_restarts(small(words)); }},
    {"BatchHost", [](JobRecord& job, std::string_view words) { job.set_batch_host(words_or_none(words)); }},
    {"NodeList", [](JobRecord& job, std::string_view words) { set_nodes(words_or_none(words), job); }},
    {"Dependency", [](JobRecord& job, std::string_view words) { set_dependencies(words_or_none(words), job); }},
    {"tres-per-node",
     [](JobRecord& job, std::string_view words) {
       job.mutable_spec()->set_tres_per_node(words_or_none(words));
       set_tres_per_node(words_or_none(words), job);
     }},
    {"tres-per-job",
     [](JobRecord& job, std::string_view words) { set_tres_per_job(words_or_none(words), job); }},
    {"tres-per-task",
     [](JobRecord& job, std::string_view words) {
       job.mutable_spec()->set_tres_per_task(words_or_none(words));
     }},
    {"exit_code", set_exit_code},
    {"MinMemory", set_least_memory},
    {"MinCpus",
     [](JobRecord& job, std::string_view words) {
       if (small(words) != 0) job.mutable_spec()->set_min_cpus(small(words));
     }},
    {"Feature",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_constraint(words_or_none(words)); }},
    {"ReqNodes",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_node_list(words_or_none(words)); }},
    {"ExcNodes",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_exclude(words_or_none(words)); }},
    {"Licenses",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_licenses(words_or_none(words)); }},
    {"Reservation",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_reservation(words_or_none(words)); }},
    {"Command",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_command(words_or_none(words)); }},
    {"WorkDir",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_work_dir(words_or_none(words)); }},
    {"Comment",
     [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_comment(words_or_none(words)); }},
    {"Name", [](JobRecord& job, std::string_view words) { job.mutable_spec()->set_name(std::string(words)); }}};

}  // namespace

QueueSource queue_source(std::string_view version) {
  constexpr uint64_t kFirst = 2302, kLast = 2605;  // year and month
  const size_t point = version.find('.');
  const auto year = text::parse_unsigned(version.substr(0, point), 99);
  const std::string_view rest = point == std::string_view::npos ? "" : version.substr(point + 1);
  const auto month = text::parse_unsigned(rest.substr(0, rest.find_first_not_of("0123456789")), 12);
  if (!year || !month) return QueueSource::kTextOfUnknown;
  const uint64_t release = *year * 100 + *month;
  if (release < kFirst) return QueueSource::kTextOfOld;
  return release <= kLast ? QueueSource::kJson : QueueSource::kTextOfUnknown;
}

std::vector<std::string> QueueText::words() const {
  std::string format;
  for (const Column& column : kColumns)
    format.append(format.empty() ? "" : ",").append(column.name).append(1, ':').append(mark_);
  return {"squeue", "--all", "--noheader", "--states=all", "--Format=" + format};
}

Status QueueText::line(std::string_view text) {
  if (!record_.empty()) record_ += '\n';
  record_ += text;
  if (record_.size() > kLongestRecord) return failure("squeue: a job of more than 1 MiB", EFBIG);
  std::vector<std::string_view> fields;
  for (std::string_view rest = record_;;) {
    const size_t end = rest.find(mark_);
    if (end == std::string_view::npos) break;
    fields.push_back(rest.substr(0, end));
    rest.remove_prefix(end + mark_.size());
  }
  if (fields.size() < std::size(kColumns)) return {};
  JobRecord job;
  job.mutable_spec();
  for (size_t i = 0; i < std::size(kColumns); ++i) kColumns[i].set(job, fields[i]);
  record_.clear();
  if (job.job_id() == 0) return failure("squeue: a line without a job's number", EPROTO);
  if (job.state() == model::JOB_PENDING) {
    job.clear_node_list();
    job.clear_nodes();
    job.mutable_spec()->set_hold(job.priority() == 0);
    if (job.reason() == model::WAIT_TIME) job.mutable_spec()->set_begin_time(job.eligible_time());
  }
  return take_(std::move(job));
}

Status QueueText::finish() {
  if (record_.empty()) return {};
  return failure("squeue: its answer ends within a job, or lacks a column", EPROTO);
}

}  // namespace minke::engine::slurm
