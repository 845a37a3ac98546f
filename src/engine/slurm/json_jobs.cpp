#include "engine/slurm/json_jobs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "engine/slurm/job_words.h"
#include "engine/slurm/json_fields.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "text/array_spec.h"
#include "text/duration.h"
#include "text/tres.h"

namespace minke::engine::slurm {
namespace {

using model::JobRecord;
using model::JobSpec;
using nlohmann::json;

constexpr size_t kMostDevices = 4096;  // on one node

// The fields that need no more than their names. A name of an older release stands behind the newer one; the
// first that says something holds.
struct RecordText {
  const char* name;
  void (JobRecord::*set)(const std::string&);
};
constexpr RecordText kRecordTexts[] = {{"account", &JobRecord::set_account},
                                       {"partition", &JobRecord::set_partition},
                                       {"qos", &JobRecord::set_qos},
                                       {"user_name", &JobRecord::set_user_name},
                                       {"group_name", &JobRecord::set_group_name},
                                       {"batch_host", &JobRecord::set_batch_host},
                                       {"stdin_expanded", &JobRecord::set_stdin_path},
                                       {"stdout_expanded", &JobRecord::set_stdout_path},
                                       {"stderr_expanded", &JobRecord::set_stderr_path},
                                       {"het_job_id_set", &JobRecord::set_het_job_id_set}};
struct SpecText {
  const char* name;
  void (JobSpec::*set)(const std::string&);
};
constexpr SpecText kSpecTexts[] = {{"name", &JobSpec::set_name},
                                   {"account", &JobSpec::set_account},
                                   {"partition", &JobSpec::set_partition},
                                   {"qos", &JobSpec::set_qos},
                                   {"comment", &JobSpec::set_comment},
                                   {"admin_comment", &JobSpec::set_admin_comment},
                                   {"extra", &JobSpec::set_extra},
                                   {"wckey", &JobSpec::set_wckey},
                                   {"resv_name", &JobSpec::set_reservation},
                                   {"current_working_directory", &JobSpec::set_work_dir},
                                   {"command", &JobSpec::set_command},
                                   {"submit_line", &JobSpec::set_submit_line},
                                   {"features", &JobSpec::set_constraint},
                                   {"prefer", &JobSpec::set_prefer},
                                   {"required_nodes", &JobSpec::set_node_list},
                                   {"excluded_nodes", &JobSpec::set_exclude},
                                   {"licenses", &JobSpec::set_licenses},
                                   {"standard_input", &JobSpec::set_stdin_path},
                                   {"standard_output", &JobSpec::set_stdout_path},
                                   {"standard_error", &JobSpec::set_stderr_path},
                                   {"container", &JobSpec::set_container},
                                   {"network", &JobSpec::set_network},
                                   {"tres_per_node", &JobSpec::set_tres_per_node},
                                   {"tres_per_task", &JobSpec::set_tres_per_task}};
struct RecordTime {
  const char* name;
  void (JobRecord::*set)(int64_t);
};
constexpr RecordTime kTimes[] = {
    {"submit_time", &JobRecord::set_submit_time},   {"eligible_time", &JobRecord::set_eligible_time},
    {"start_time", &JobRecord::set_start_time},     {"end_time", &JobRecord::set_end_time},
    {"suspend_time", &JobRecord::set_suspend_time}, {"pre_sus_time", &JobRecord::set_pre_suspend_seconds}};
struct RecordNumber {
  const char* name;
  void (JobRecord::*set)(uint32_t);
};
constexpr RecordNumber kNumbers[] = {{"job_id", &JobRecord::set_job_id},
                                     {"array_job_id", &JobRecord::set_array_job_id},
                                     {"user_id", &JobRecord::set_uid},
                                     {"group_id", &JobRecord::set_gid},
                                     {"priority", &JobRecord::set_priority},
                                     {"restart_cnt", &JobRecord::set_restarts},
                                     {"node_count", &JobRecord::set_num_nodes},
                                     {"cpus", &JobRecord::set_num_cpus},
                                     {"tasks", &JobRecord::set_num_tasks},
                                     {"het_job_id", &JobRecord::set_het_job_id},
                                     {"het_job_offset", &JobRecord::set_het_job_offset},
                                     {"association_id", &JobRecord::set_association_id}};
struct SpecNumber {  // of which 0 is nothing
  const char* name;
  void (JobSpec::*set)(uint32_t);
};
constexpr SpecNumber kSpecNumbers[] = {{"cpus_per_task", &JobSpec::set_cpus_per_task},
                                       {"tasks_per_node", &JobSpec::set_ntasks_per_node},
                                       {"time_minimum", &JobSpec::set_time_min_minutes},
                                       {"minimum_cpus_per_node", &JobSpec::set_min_cpus}};

void read_texts(const json& from, JobRecord& job) {
  JobSpec& spec = *job.mutable_spec();
  for (const auto& [name, set] : kRecordTexts) {
    if (std::string value = text_of(from, name); !value.empty()) (job.*set)(value);
  }
  for (const auto& [name, set] : kSpecTexts) {
    if (std::string value = text_of(from, name); !value.empty()) (spec.*set)(value);
  }
  if (job.stdout_path().empty()) job.set_stdout_path(spec.stdout_path());
  if (job.stderr_path().empty()) job.set_stderr_path(spec.stderr_path());
}

void read_numbers(const json& from, JobRecord& job) {
  JobSpec& spec = *job.mutable_spec();
  for (const auto& [name, set] : kTimes) (job.*set)(time_of(from, name));
  for (const auto& [name, set] : kNumbers) (job.*set)(small_number(from, name));
  for (const auto& [name, set] : kSpecNumbers) {
    if (const uint32_t value = small_number(from, name); value != 0) (spec.*set)(value);
  }
  const auto limit = number(from, "time_limit");
  job.set_time_limit_minutes(limit ? static_cast<uint32_t>(*limit) : text::kUnlimited);
  spec.set_time_limit_minutes(job.time_limit_minutes());
  spec.set_nice(static_cast<int32_t>(signed_number(from, "nice")));
  if (const auto mib = number(from, "memory_per_cpu"); mib && *mib != 0) spec.set_mem_per_cpu_mib(*mib);
  if (const auto mib = number(from, "memory_per_node"); mib && !spec.has_mem_per_cpu_mib())
    spec.set_mem_per_node_mib(*mib);
  if (const auto most = number(from, "max_nodes"); most && *most != 0)
    spec.set_max_nodes(static_cast<uint32_t>(*most));
  spec.set_min_nodes(job.num_nodes());
  spec.set_ntasks(job.num_tasks());
  spec.set_deadline(time_of(from, "deadline"));
  job.set_requeue_allowed(flag(from, "requeue"));
  spec.set_contiguous(flag(from, "contiguous"));
  job.set_exit_code(wait_status(from, "exit_code"));
  job.set_derived_exit_code(wait_status(from, "derived_exit_code"));
}

// "gpu:a100:2(IDX:0-1),shard:3": the devices that it holds on one node.
void add_devices(const std::string& words, model::NodeAllocation& node) {
  for (std::string_view rest = words; !rest.empty();) {
    const size_t open = rest.find('('), comma = rest.find(',');
    const size_t close = open < comma ? rest.find(')', open) : std::string_view::npos;
    const size_t end = close == std::string_view::npos ? std::min(comma, rest.size()) : close + 1;
    const std::string_view one = rest.substr(0, end);
    rest.remove_prefix(std::min(rest.size(), end + 1));
    const auto gres = text::parse_gres_list(one.substr(0, one.find('(')));
    const size_t numbers = one.find("IDX:");
    if (!gres || gres->size() != 1) continue;
    model::GresAllocation& held = *node.add_gres();
    held.set_name(gres->front().name());
    held.set_type(gres->front().type());
    std::vector<uint32_t> indices;
    if (numbers != std::string_view::npos && close != std::string_view::npos) {
      const auto list = text::parse_index_list(one.substr(numbers + 4, one.size() - numbers - 5));
      for (int r = 0; list && r < list->ranges_size(); ++r) {
        const model::IndexRange& range = list->ranges(r);
        for (uint32_t i = range.first(); i <= range.last() && indices.size() < kMostDevices; ++i)
          indices.push_back(i);
      }
    }
    // Counted only: as many as it holds.
    while (indices.size() < std::min<size_t>(gres->front().count(), kMostDevices))
      indices.push_back(static_cast<uint32_t>(indices.size()));
    held.mutable_indices()->Add(indices.begin(), indices.end());
  }
}

// What it holds on each node, as far as this release tells it.
void read_allocation(const json& from, JobRecord& job) {
  const json& resources = field(from, "job_resources");
  const json& nodes = field(resources, "nodes");
  // A list below "nodes", or beside it where that is a text.
  const json& list = nodes.is_object() ? field(nodes, "allocation") : field(resources, "allocated_nodes");
  if (!list.is_array()) return;
  const std::vector<std::string> devices = words_of(from, "gres_detail");
  for (const json& one : list) {
    std::string name = text_of(one, "name");
    if (name.empty()) name = text_of(one, "nodename");
    if (name.empty()) continue;
    model::NodeAllocation& node = *job.add_nodes();
    node.set_node(name);
    const json& cpus = field(one, "cpus");
    node.set_cpus(cpus.is_object() && cpus.contains("count") ? small_number(cpus, "count")
                                                             : small_number(one, "cpus"));
    if (node.cpus() == 0) node.set_cpus(small_number(one, "cpus_used"));
    const json& memory = field(one, "memory");
    const auto mib = memory.is_object() && memory.contains("allocated") ? number(memory, "allocated")
                                                                        : number(one, "memory_allocated");
    node.set_memory_mib(mib.value_or(0));
    const auto number_in_job = static_cast<size_t>(job.nodes_size()) - 1;
    if (number_in_job < devices.size()) add_devices(devices[number_in_job], node);
  }
  // Older ones count the CPUs elsewhere.
  uint64_t counted = 0;
  for (const model::NodeAllocation& node : job.nodes()) counted += node.cpus();
  if (counted != job.num_cpus()) job.clear_nodes();
}

void read_array(const json& from, JobRecord& job) {
  if (job.array_job_id() == 0) return;
  if (const std::string tasks = text_of(from, "array_task_string"); !tasks.empty()) {
    if (auto array = text::parse_array_spec(tasks)) {
      *job.mutable_array_pending() = *array;
      return;
    }
  }
  if (const auto task = number(from, "array_task_id")) job.set_array_task_id(static_cast<uint32_t>(*task));
}

}  // namespace

JobRecord job_of(const json& from) {
  JobRecord job;
  if (small_number(from, "job_id") == 0) return job;
  read_numbers(from, job);
  read_texts(from, job);
  for (const std::string& word : words_of(from, "job_state")) set_state_word(word, job);
  set_reason(text_of(from, "state_reason"), text_of(from, "state_description"), job);
  const std::string allocated = text_of(from, "tres_alloc_str");
  const bool has_nodes = job.state() != model::JOB_PENDING;
  set_tres(has_nodes && !allocated.empty() ? allocated : text_of(from, "tres_req_str"), job);
  set_dependencies(text_of(from, "dependency"), job);
  set_tres_per_node(text_of(from, "tres_per_node"), job);
  set_tres_per_job(text_of(from, "tres_per_job"), job);
  if (has_nodes) {
    read_allocation(from, job);
    set_nodes(text_of(from, "nodes"), job);
  }
  read_array(from, job);
  job.mutable_spec()->set_hold(flag(from, "hold"));
  if (job.reason() == model::WAIT_TIME) job.mutable_spec()->set_begin_time(job.eligible_time());
  return job;
}

}  // namespace minke::engine::slurm
