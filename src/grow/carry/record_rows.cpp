#include "grow/carry/record_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "api/accounting.pb.h"
#include "grow/carry/database.h"
#include "model/job_record.pb.h"
#include "model/nobody.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"
#include "text/hostlist.h"
#include "text/tres.h"
#include "view/metered.h"
#include "view/text.h"

namespace minke::grow {
namespace {

using model::JobRecord;
using view::Metered;
using view::Reach;

constexpr uint64_t kNoValue = 4294967294;        // NO_VAL
constexpr uint64_t kPerCpu = uint64_t{1} << 63;  // MEM_PER_CPU
constexpr uint64_t kStartReceived = 16;  // SLURMDB_JOB_FLAG_START_R: of a job without a start, it never began
constexpr uint64_t kBytesOfKib = 1024;
constexpr uint32_t kHighestReason = 10;  // WAIT_LICENSES

std::string num(uint64_t value) {
  return std::to_string(value);
}
std::string time_of(int64_t value) {
  return std::to_string(std::max<int64_t>(0, value));
}
std::string text_or_null(const std::string& text) {
  return text.empty() ? "NULL" : sql_text(text);
}

std::map<std::string, uint64_t> names_of(const text::TresAmounts& amounts, uint64_t billing) {
  std::map<std::string, uint64_t> names;
  const auto add = [&](const std::string& name, uint64_t count) {
    if (count > 0) names[name] += count;
  };
  add("cpu", amounts.cpus);
  add("mem", amounts.memory_mib);
  add("node", amounts.nodes);
  add("billing", billing);
  for (const model::Gres& one : amounts.gres) {
    add("gres/" + one.name(), one.count());
    if (!one.type().empty()) add("gres/" + one.name() + ":" + one.type(), one.count());
  }
  return names;
}

bool ever_began(const JobRecord& job) {
  return !job.node_list().empty() || !job.nodes().empty();
}

// What it waited for last; slurmdbd does not keep why a job failed. Later reasons have other numbers from
// release to release.
uint32_t reason_of(const JobRecord& job) {
  const auto reason = static_cast<uint32_t>(job.reason());
  return reason <= kHighestReason ? reason : 0;
}

uint64_t memory_asked(const JobRecord& job) {
  const view::MemoryRequest asked = view::memory_request(job);
  return asked.per_cpu ? kPerCpu | asked.mebibytes : asked.mebibytes;
}

void add_identity(const JobRecord& job, const SlurmNumbers& numbers, SqlRow& row) {
  const bool of_array = job.array_job_id() != 0;
  const bool some_tasks = of_array && !job.has_array_task_id();
  row.emplace_back("id_job", num(job.job_id()));
  row.emplace_back("id_array_job", num(job.array_job_id()));
  row.emplace_back("id_array_task",
                   of_array && job.has_array_task_id() ? num(job.array_task_id()) : num(kNoValue));
  if (some_tasks) {
    row.emplace_back("array_task_str", sql_text(text::format_array_tasks(job.array_pending(), 0)));
    row.emplace_back("array_task_pending", num(text::count_indices(job.array_pending())));
    row.emplace_back("array_max_tasks", num(job.array_pending().max_running()));
  }
  row.emplace_back("het_job_id", num(job.het_job_id()));
  row.emplace_back("het_job_offset", job.het_job_id() != 0 ? num(job.het_job_offset()) : num(kNoValue));
  row.emplace_back("id_user", num(job.uid()));
  row.emplace_back("id_group", num(job.gid()));
  row.emplace_back("id_assoc", num(numbers.association_of(job.account(), job.user_name(), job.partition())));
  const auto qos = numbers.qos.find(job.qos());
  row.emplace_back("id_qos", num(qos == numbers.qos.end() ? 0 : qos->second));
  row.emplace_back("id_resv", "0");
  row.emplace_back("id_wckey", "0");
}

void add_request(const JobRecord& job, const model::JobSpec& spec, SqlRow& row) {
  row.emplace_back("account", sql_text(job.account()));
  row.emplace_back("job_name", sql_text(spec.name()));
  row.emplace_back("partition", sql_text(job.partition()));
  row.emplace_back("priority", num(job.priority()));
  row.emplace_back("cpus_req", num(job.num_cpus()));
  row.emplace_back("mem_req", num(memory_asked(job)));
  row.emplace_back("timelimit", num(job.time_limit_minutes()));
  row.emplace_back("constraints", sql_text(spec.constraint()));
  row.emplace_back("container", text_or_null(spec.container()));
  row.emplace_back("licenses", text_or_null(spec.licenses()));
  row.emplace_back("mcs_label", sql_text(spec.mcs_label()));
  row.emplace_back("qos_req", text_or_null(spec.qos()));
  row.emplace_back("resv_req", text_or_null(spec.reservation()));
  row.emplace_back("segment_size", num(spec.segment_size()));
  row.emplace_back("work_dir", sql_text(spec.work_dir()));
  row.emplace_back("std_in", sql_text(job.stdin_path()));
  row.emplace_back("std_out", sql_text(job.stdout_path()));
  row.emplace_back("std_err", sql_text(job.stderr_path()));
  row.emplace_back("submit_line", text_or_null(spec.submit_line()));
  const model::RecordNotes& notes = job.notes();
  row.emplace_back("derived_es", text_or_null(notes.has_comment() ? notes.comment() : spec.comment()));
  row.emplace_back("admin_comment",
                   text_or_null(notes.has_admin_comment() ? notes.admin_comment() : spec.admin_comment()));
  row.emplace_back("system_comment", text_or_null(notes.system_comment()));
  row.emplace_back("extra", text_or_null(notes.has_extra() ? notes.extra() : spec.extra()));
  row.emplace_back("wckey", sql_text(notes.has_wckey() ? notes.wckey() : spec.wckey()));
}

void add_outcome(const JobRecord& job, int64_t submitted, SqlRow& row) {
  row.emplace_back("state", num(static_cast<uint32_t>(job.state())));
  row.emplace_back("state_reason_prev", num(reason_of(job)));
  row.emplace_back("exit_code", num(static_cast<uint32_t>(view::accounted_exit_code(job))));
  row.emplace_back("derived_ec", num(static_cast<uint32_t>(job.derived_exit_code())));
  const bool by_somebody = job.state() == model::JOB_CANCELLED && job.cancelled_by_uid() != model::kNobody;
  row.emplace_back("kill_requid", by_somebody ? num(job.cancelled_by_uid()) : "NULL");
  row.emplace_back("flags", num(kStartReceived));
  row.emplace_back("restart_cnt", num(std::min(job.restarts(), 65535U)));
  row.emplace_back("time_submit", time_of(submitted));
  row.emplace_back("time_eligible", time_of(job.eligible_time()));
  row.emplace_back("time_start", time_of(job.start_time()));
  row.emplace_back("time_end", time_of(job.end_time()));
  row.emplace_back("time_suspended", time_of(job.suspended_seconds()));
  row.emplace_back("nodelist", ever_began(job) ? sql_text(job.node_list()) : "'None assigned'");
  row.emplace_back("nodes_alloc", num(ever_began(job) ? job.num_nodes() : 0));
}

// Which of the nodes of a step it is; the first one where it is not told.
uint64_t index_of(const std::string& node, const std::vector<std::string>& nodes) {
  const auto found = std::find(nodes.begin(), nodes.end(), node);
  return found == nodes.end() ? 0 : static_cast<uint64_t>(found - nodes.begin());
}

struct Measure {
  Metered what;
  const char* tres;
  uint64_t unit_numerator, unit_denominator;  // of Slurm's: ms, bytes
};
constexpr Measure kIn[] = {{Metered::kCpu, "cpu", 1, 1000},
                           {Metered::kRss, "mem", kBytesOfKib, 1},
                           {Metered::kRead, "fs/disk", 1, 1},
                           {Metered::kFaults, "pages", 1, 1}};
constexpr Measure kOut[] = {{Metered::kWrite, "fs/disk", 1, 1}};

// One column for all measures: "1=120,2=4096".
template <typename Value>
std::string each(std::span<const Measure> measures, const SlurmNumbers& numbers, Value value) {
  std::map<std::string, uint64_t> amounts;
  for (const Measure& one : measures) amounts[one.tres] = value(one);
  return sql_text(tres_numbers(amounts, numbers));
}

void add_measures(const model::StepRecord& step, std::span<const Measure> measures, const std::string& head,
                  const SlurmNumbers& numbers, SqlRow& out) {
  const auto nodes = text::expand_hostlist(step.node_list()).value_or(std::vector<std::string>());
  const auto scaled = [](const Measure& one, uint64_t amount) {
    return amount / one.unit_denominator * one.unit_numerator;
  };
  out.emplace_back(head + "_ave", each(measures, numbers, [&](const Measure& one) {
                     return scaled(one, view::average_usage(step, one.what));
                   }));
  out.emplace_back(head + "_tot", each(measures, numbers, [&](const Measure& one) {
                     return scaled(one, view::total_usage(step, one.what));
                   }));
  for (const auto& [name, reach] : {std::pair{"_max", Reach::kMost}, std::pair{"_min", Reach::kLeast}}) {
    const auto extreme = [&, reach = reach](const Measure& one) {
      return view::extreme_usage(step, one.what, reach);
    };
    out.emplace_back(head + name, each(measures, numbers, [&](const Measure& one) {
                       return scaled(one, extreme(one).value());
                     }));
    out.emplace_back(head + name + "_taskid", each(measures, numbers, [&](const Measure& one) {
                       return uint64_t{extreme(one).task()};
                     }));
    out.emplace_back(head + name + "_nodeid", each(measures, numbers, [&](const Measure& one) {
                       return index_of(extreme(one).node(), nodes);
                     }));
  }
}

// The numbers of SLURM_DIST_….
uint32_t distribution_number(const model::StepRecord& step) {
  if (step.kind() != model::STEP_NORMAL) return 0;
  const std::string& word = step.distribution();
  return word == "Cyclic" ? 1 : word == "Arbitrary" ? 3 : word == "Plane" ? 4 : 2;
}

// A batch script and its like have numbers of their own, below 0.
int64_t step_number(const model::StepRecord& step) {
  switch (step.kind()) {
    case model::STEP_BATCH:
      return -5;
    case model::STEP_EXTERN:
      return -4;
    case model::STEP_INTERACTIVE:
      return -6;
    default:
      return step.step_id();
  }
}

}  // namespace

uint32_t SlurmNumbers::association_of(const std::string& account, const std::string& user,
                                      const std::string& partition) const {
  for (const std::string& where : {partition, std::string()}) {
    if (const auto found = associations.find({account, user, where}); found != associations.end())
      return found->second;
  }
  return 0;
}

std::string tres_numbers(const std::map<std::string, uint64_t>& amounts, const SlurmNumbers& numbers,
                         std::map<std::string, uint64_t>* unknown) {
  std::map<uint32_t, uint64_t> by_number;
  for (const auto& [name, amount] : amounts) {
    if (const auto number = numbers.tres.find(name); number != numbers.tres.end()) {
      by_number[number->second] = amount;
    } else if (unknown != nullptr) {
      ++(*unknown)[name];
    }
  }
  std::string out;
  for (const auto& [number, amount] : by_number)
    out += fmt::format("{}{}={}", out.empty() ? "" : ",", number, amount);
  return out;
}

std::map<std::string, uint64_t> tres_names(const api::AccountedJob& job) {
  const JobRecord& record = job.job();
  const text::TresAmounts amounts = view::tres_of(record);
  return names_of(amounts, amounts.billing.value_or(amounts.cpus));
}

int64_t submission_of(const api::AccountedJob& job, int64_t before, int64_t end_before) {
  const int64_t own = job.job().submit_time();
  return before == 0 || own > before ? own : std::max(end_before, before + 1);
}

SqlRow job_row(const api::AccountedJob& job, int64_t submitted, const SlurmNumbers& numbers, int64_t now) {
  const JobRecord& record = job.job();
  SqlRow row;
  row.emplace_back("mod_time", time_of(now));
  add_identity(record, numbers, row);
  add_request(record, record.spec(), row);
  add_outcome(record, submitted, row);
  const std::string tres = sql_text(tres_numbers(tres_names(job), numbers));
  row.emplace_back("tres_req", tres);
  row.emplace_back("tres_alloc", ever_began(record) ? tres : "''");
  return row;
}

SqlRow step_row(const model::StepRecord& step, const SlurmNumbers& numbers) {
  SqlRow row;
  const model::Usage& used = step.usage();
  constexpr uint64_t kMicro = 1'000'000;
  row.emplace_back("id_step", std::to_string(step_number(step)));
  row.emplace_back("step_name", sql_text(step.name()));
  row.emplace_back("state", num(static_cast<uint32_t>(step.state())));
  row.emplace_back("exit_code", num(static_cast<uint32_t>(step.exit_code())));
  row.emplace_back("nodelist", sql_text(step.node_list()));
  row.emplace_back("nodes_alloc", num(step.num_nodes()));
  row.emplace_back("task_cnt", num(step.num_tasks()));
  row.emplace_back("task_dist", num(distribution_number(step)));
  row.emplace_back("time_start", time_of(step.start_time()));
  row.emplace_back("time_end", time_of(step.end_time()));
  row.emplace_back("timelimit", num(step.has_time_limit_minutes() ? step.time_limit_minutes() : 0));
  row.emplace_back("user_sec", num(used.user_microseconds() / kMicro));
  row.emplace_back("user_usec", num(used.user_microseconds() % kMicro));
  row.emplace_back("sys_sec", num(used.system_microseconds() / kMicro));
  row.emplace_back("sys_usec", num(used.system_microseconds() % kMicro));
  row.emplace_back("consumed_energy", num(used.energy_joules()));
  const uint64_t frequency = step.kind() == model::STEP_NORMAL ? kNoValue : 0;
  for (const char* name : {"req_cpufreq_min", "req_cpufreq", "req_cpufreq_gov"})
    row.emplace_back(name, num(frequency));
  row.emplace_back("submit_line", text_or_null(step.submit_line()));
  row.emplace_back("tres_alloc", sql_text(tres_numbers(names_of(view::tres_of(step), 0), numbers)));
  add_measures(step, kIn, "tres_usage_in", numbers, row);
  add_measures(step, kOut, "tres_usage_out", numbers, row);
  return row;
}

}  // namespace minke::grow
