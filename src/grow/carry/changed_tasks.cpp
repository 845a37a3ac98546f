#include "grow/carry/changed_tasks.h"

#include "text/duration.h"

namespace minke::grow {
namespace {

using model::JobRecord;
using model::JobSpec;

struct TextSetting {
  const char* name;
  const std::string& (JobSpec::*value)() const;
  void (JobSpec::*clear)();
};
constexpr TextSetting kTexts[] = {
    {"JobName", &JobSpec::name, &JobSpec::clear_name},
    {"Comment", &JobSpec::comment, &JobSpec::clear_comment},
    {"Features", &JobSpec::constraint, &JobSpec::clear_constraint},
    {"ReqNodeList", &JobSpec::node_list, &JobSpec::clear_node_list},
    {"ExcNodeList", &JobSpec::exclude, &JobSpec::clear_exclude},
    {"Licenses", &JobSpec::licenses, &JobSpec::clear_licenses},
    {"WCKey", &JobSpec::wckey, &JobSpec::clear_wckey},
    {"ReservationName", &JobSpec::reservation, &JobSpec::clear_reservation},
};

struct RecordSetting {
  const char* name;
  const std::string& (JobRecord::*value)() const;
};
constexpr RecordSetting kOfRecord[] = {
    {"Partition", &JobRecord::partition}, {"QOS", &JobRecord::qos}, {"Account", &JobRecord::account}};

void clear_said(JobSpec& spec) {
  for (const TextSetting& one : kTexts) (spec.*one.clear)();
  spec.clear_array();
  spec.clear_nice();
  spec.clear_begin_time();
  spec.clear_time_limit_minutes();
  spec.clear_mem_per_node_mib();
  spec.clear_mem_per_cpu_mib();
  spec.clear_partition();
  spec.clear_qos();
  spec.clear_account();
}

}  // namespace

TaskChange task_change(const JobRecord& others, const JobRecord& task) {
  TaskChange change;
  const auto set = [&](const char* name, const std::string& value) {
    change.settings.push_back(std::string(name) + "=" + value);
  };
  JobSpec before = others.spec(), now = task.spec();
  for (const TextSetting& one : kTexts)
    if ((before.*one.value)() != (now.*one.value)()) set(one.name, (now.*one.value)());
  for (const RecordSetting& one : kOfRecord)
    if ((others.*one.value)() != (task.*one.value)()) set(one.name, (task.*one.value)());
  if (others.time_limit_minutes() != task.time_limit_minutes())
    set("TimeLimit", task.time_limit_minutes() == text::kUnlimited
                         ? "UNLIMITED"
                         : std::to_string(task.time_limit_minutes()));
  if (before.nice() != now.nice()) set("Nice", std::to_string(now.nice()));
  if (before.begin_time() != now.begin_time())
    set("StartTime", now.begin_time() == 0 ? "now" : "uts" + std::to_string(now.begin_time()));
  if (now.has_mem_per_node_mib() && before.mem_per_node_mib() != now.mem_per_node_mib())
    set("MinMemoryNode", std::to_string(now.mem_per_node_mib()));
  if (now.has_mem_per_cpu_mib() && before.mem_per_cpu_mib() != now.mem_per_cpu_mib())
    set("MinMemoryCPU", std::to_string(now.mem_per_cpu_mib()));
  clear_said(before);
  clear_said(now);
  change.whole = before.SerializeAsString() == now.SerializeAsString();
  return change;
}

}  // namespace minke::grow
