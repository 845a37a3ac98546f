#include "grow/carry/job_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

#include "grow/carry/utf8.h"
#include "grow/carry/waiting_jobs.h"
#include "text/array_spec.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/signal_name.h"
#include "text/tres.h"

namespace minke::grow {
namespace {

using model::JobSpec;
using nlohmann::json;

json set_number(uint64_t number) {
  return {{"set", true}, {"infinite", false}, {"number", number}};
}
json set_minutes(uint32_t minutes) {
  if (minutes == text::kUnlimited) return {{"set", true}, {"infinite", true}, {"number", 0}};
  return set_number(minutes);
}

struct TextField {
  const char* name;
  const std::string& (JobSpec::*value)() const;
};
constexpr TextField kTexts[] = {
    {"name", &JobSpec::name},
    {"comment", &JobSpec::comment},
    {"admin_comment", &JobSpec::admin_comment},
    {"wckey", &JobSpec::wckey},
    {"reservation", &JobSpec::reservation},
    {"current_working_directory", &JobSpec::work_dir},
    {"standard_input", &JobSpec::stdin_path},
    {"standard_output", &JobSpec::stdout_path},
    {"standard_error", &JobSpec::stderr_path},
    {"constraints", &JobSpec::constraint},
    {"prefer", &JobSpec::prefer},
    {"licenses", &JobSpec::licenses},
    {"mail_user", &JobSpec::mail_user},
    {"network", &JobSpec::network},
    {"container", &JobSpec::container},
    {"container_id", &JobSpec::container_id},
    {"extra", &JobSpec::extra},
    {"mcs_label", &JobSpec::mcs_label},
    {"batch_features", &JobSpec::batch_features},
    {"burst_buffer", &JobSpec::burst_buffer},
    {"cpu_frequency", &JobSpec::cpu_freq},
    {"tres_bind", &JobSpec::tres_bind},
    {"account_gather_frequency", &JobSpec::acctg_freq},
    {"required_nodes", &JobSpec::node_list},
    {"excluded_nodes", &JobSpec::exclude},
};

struct NumberField {
  const char* name;
  bool (JobSpec::*given)() const;
  uint32_t (JobSpec::*value)() const;
};
constexpr NumberField kNumbers[] = {
    {"tasks", &JobSpec::has_ntasks, &JobSpec::ntasks},
    {"cpus_per_task", &JobSpec::has_cpus_per_task, &JobSpec::cpus_per_task},
    {"tasks_per_node", &JobSpec::has_ntasks_per_node, &JobSpec::ntasks_per_node},
    {"tasks_per_core", &JobSpec::has_ntasks_per_core, &JobSpec::ntasks_per_core},
    {"tasks_per_socket", &JobSpec::has_ntasks_per_socket, &JobSpec::ntasks_per_socket},
    {"ntasks_per_tres", &JobSpec::has_ntasks_per_gpu, &JobSpec::ntasks_per_gpu},
    {"minimum_cpus_per_node", &JobSpec::has_min_cpus, &JobSpec::min_cpus},
    {"core_specification", &JobSpec::has_core_spec, &JobSpec::core_spec},
    {"thread_specification", &JobSpec::has_thread_spec, &JobSpec::thread_spec},
    {"sockets_per_node", &JobSpec::has_sockets_per_node, &JobSpec::sockets_per_node},
    {"threads_per_core", &JobSpec::has_threads_per_core, &JobSpec::threads_per_core},
    {"minimum_nodes", &JobSpec::has_min_nodes, &JobSpec::min_nodes},
    {"maximum_nodes", &JobSpec::has_max_nodes, &JobSpec::max_nodes},
    {"reserve_ports", &JobSpec::has_resv_ports, &JobSpec::resv_ports},
};

// "gres/gpu:a100:2,gres/shard:4".
std::string tres_words(std::span<const model::Gres> gres) {
  std::string out;
  for (const model::Gres& one : gres)
    out += fmt::format("{}gres/{}{}{}:{}", out.empty() ? "" : ",", one.name(), one.type().empty() ? "" : ":",
                       one.type(), one.count());
  return out;
}
template <typename List>
std::vector<model::Gres> as_vector(const List& list) {
  return {list.begin(), list.end()};
}

void add_tres(const JobSpec& spec, json& job) {
  const auto put = [&](const char* name, const std::string& words) {
    if (!words.empty()) job[name] = words;
  };
  put("tres_per_node", tres_words(as_vector(spec.gres_per_node())));
  put("tres_per_job", tres_words(as_vector(spec.gpus())));
  put("tres_per_socket", tres_words(as_vector(spec.gpus_per_socket())));
  put("tres_per_task",
      !spec.tres_per_task().empty() ? spec.tres_per_task() : tres_words(as_vector(spec.gpus_per_task())));
  if (spec.has_cpus_per_gpu() && !spec.cpus_per_gpu_by_default())
    job["cpus_per_tres"] = "gres/gpu:" + std::to_string(spec.cpus_per_gpu());
  if (spec.has_mem_per_gpu_mib() && !spec.mem_per_gpu_by_default())
    job["memory_per_tres"] = "gres/gpu:" + std::to_string(spec.mem_per_gpu_mib());
  if (spec.has_mem_per_node_mib()) job["memory_per_node"] = set_number(spec.mem_per_node_mib());
  if (spec.has_mem_per_cpu_mib()) job["memory_per_cpu"] = set_number(spec.mem_per_cpu_mib());
  if (spec.has_tmp_mib()) job["temporary_disk_per_node"] = spec.tmp_mib();
}

// As sbatch counts it: so many CPUs at least, where tasks were asked for.
void add_cpus(const JobSpec& spec, json& job) {
  const uint64_t each = std::max(1U, spec.cpus_per_task());
  if (spec.has_ntasks()) {
    job["minimum_cpus"] = spec.ntasks() * each;
  } else if (spec.has_cpus_per_task()) {
    const uint64_t tasks = uint64_t{std::max(1U, spec.min_nodes())} * std::max(1U, spec.ntasks_per_node());
    job["minimum_cpus"] = tasks * each;
  }
}

void add_times(const WaitingJob& waiting, const JobSpec& spec, json& job) {
  job["time_limit"] = set_minutes(waiting.record.time_limit_minutes());
  if (spec.has_time_min_minutes()) job["time_minimum"] = set_minutes(spec.time_min_minutes());
  if (spec.begin_time() != 0) job["begin_time"] = set_number(static_cast<uint64_t>(spec.begin_time()));
  if (spec.deadline() != 0) job["deadline"] = spec.deadline();
  if (spec.has_delay_boot_minutes()) job["delay_boot"] = spec.delay_boot_minutes() * 60;
}

void add_manners(const JobSpec& spec, json& job) {
  if (spec.open_mode() != model::OPEN_DEFAULT)
    job["open_mode"] = json::array({spec.open_mode() == model::OPEN_APPEND ? "APPEND" : "TRUNCATE"});
  if (!spec.exclusive_mode().empty()) {
    job["shared"] = json::array({spec.exclusive_mode()});
  } else if (spec.exclusive()) {
    job["shared"] = json::array({"none"});
  } else if (spec.oversubscribe()) {
    job["shared"] = json::array({"oversubscribe"});
  }
  if (spec.nice() != 0) job["nice"] = spec.nice();
  if (spec.has_requeue()) job["requeue"] = spec.requeue();
  if (spec.contiguous()) job["contiguous"] = true;
  if (spec.overcommit()) job["overcommit"] = true;
  if (spec.reboot()) job["reboot"] = true;
  if (spec.wait_all_nodes()) job["wait_all_nodes"] = true;
  if (spec.no_kill()) job["kill_on_node_fail"] = false;
  json flags = json::array();
  if (spec.has_kill_on_invalid_dependency())
    flags.push_back(spec.kill_on_invalid_dependency() ? "KILL_INVALID_DEPENDENCY"
                                                      : "NO_KILL_INVALID_DEPENDENCY");
  if (spec.spread_job()) flags.push_back("SPREAD_JOB");
  if (spec.use_min_nodes()) flags.push_back("PREFER_MINIMUM_NODE_COUNT");
  if (spec.stepmgr()) flags.push_back("STEPMGR_ENABLED");
  if (spec.gres_flags().find("disable-binding") != std::string::npos)
    flags.push_back("GRES_BINDING_DISABLED");
  if (spec.gres_flags().find("enforce-binding") != std::string::npos)
    flags.push_back("GRES_BINDING_ENFORCED");
  if (!flags.empty()) job["flags"] = std::move(flags);
  if (spec.has_switches()) {
    job["required_switches"] = set_number(spec.switches());
    job["wait_for_switch"] = spec.switches_wait_seconds();
  }
  if (spec.has_segment_size()) job["segment_size"] = set_number(spec.segment_size());
}

void add_signals(const JobSpec& spec, json& job) {
  const model::WarningSignal& warning = spec.warning_signal();
  if (warning.number() != 0) {
    job["kill_warning_signal"] = text::signal_name(warning.number());
    job["kill_warning_delay"] = set_number(warning.seconds_before_end());
    json flags = json::array();
    if (warning.batch_only()) flags.push_back("BATCH_JOB");
    if (warning.reservation()) flags.push_back("RESERVATION_JOB");
    if (!flags.empty()) job["kill_warning_flags"] = std::move(flags);
  }
  json mail = json::array();
  for (const std::string_view given : text::split(spec.mail_type(), ',')) {
    const std::string word = text::upper_case(text::trim(given));
    if (word.empty() || word == "NONE") continue;
    if (word == "ALL") {
      for (const char* one : {"BEGIN", "END", "FAIL", "INVALID_DEPENDENCY", "REQUEUE", "STAGE_OUT"})
        mail.push_back(one);
    } else if (word.starts_with("TIME_LIMIT")) {
      mail.push_back("TIME=" + (word == "TIME_LIMIT" ? "100" : word.substr(11)) + "%");
    } else {
      mail.push_back(word == "INVALID_DEPEND" ? "INVALID_DEPENDENCY" : word);
    }
  }
  if (!mail.empty()) job["mail_type"] = std::move(mail);
}

// What sbatch adds to the environment of who submits.
std::vector<std::string> additions(const JobSpec& spec) {
  std::vector<std::string> names = {"SLURM_SUBMIT_DIR=" + spec.work_dir(), "SLURM_JOB_NAME=" + spec.name(),
                                    fmt::format("SLURM_UMASK={:04o}", spec.umask()), "SLURM_PRIO_PROCESS=0"};
  if (!spec.submit_host().empty()) names.push_back("SLURM_SUBMIT_HOST=" + spec.submit_host());
  if (!spec.export_option().empty()) names.push_back("SLURM_EXPORT_ENV=" + spec.export_option());
  if (spec.get_user_env()) names.emplace_back("SLURM_GET_USER_ENV=1");
  if (spec.has_ntasks()) {
    names.push_back("SLURM_NTASKS=" + std::to_string(spec.ntasks()));
    names.push_back("SLURM_NPROCS=" + std::to_string(spec.ntasks()));
  }
  if (spec.has_ntasks_per_node())
    names.push_back("SLURM_NTASKS_PER_NODE=" + std::to_string(spec.ntasks_per_node()));
  if (spec.has_cpus_per_task())
    names.push_back("SLURM_CPUS_PER_TASK=" + std::to_string(spec.cpus_per_task()));
  if (spec.has_cpus_per_gpu()) names.push_back("SLURM_CPUS_PER_GPU=" + std::to_string(spec.cpus_per_gpu()));
  if (!spec.distribution().empty()) names.push_back("SLURM_DISTRIBUTION=" + spec.distribution());
  if (!spec.cpu_bind().empty()) names.push_back("SLURM_CPU_BIND=" + spec.cpu_bind());
  if (!spec.mem_bind().empty()) names.push_back("SLURM_MEM_BIND=" + spec.mem_bind());
  if (!spec.gpu_bind().empty()) names.push_back("SLURM_GPU_BIND=" + spec.gpu_bind());
  for (const model::ResourceLimit& one : spec.resource_limits())
    names.push_back("SLURM_RLIMIT_" + one.name() + "=" + std::to_string(one.soft()));
  return names;
}

json environment_of(const JobSpec& spec, const std::string& block, std::vector<std::string>& remarks) {
  const std::vector<std::string> added = additions(spec);
  json environment = json::array();
  for (const std::string_view line : text::split(block, '\0')) {
    const std::string_view name = line.substr(0, line.find('=') + 1);
    // Where Minke's own engine is no job of Slurm's needs to know.
    if (name.size() < 2 || name.starts_with("MINKE_") || name == "SLURM_CONF=") continue;
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const std::string& one) { return one.starts_with(name); });
    if (replaced) continue;
    if (is_utf8(line)) {
      environment.push_back(std::string(line));
    } else {
      remarks.push_back("its variable " + std::string(name.substr(0, name.size() - 1)) +
                        " is left out: it is no UTF-8");
    }
  }
  for (const std::string& one : added) environment.push_back(as_utf8(one));
  return environment;
}

}  // namespace

json job_document(const WaitingJob& waiting, const std::string& script, const std::string& environment,
                  std::vector<std::string>& remarks) {
  const model::JobRecord& record = waiting.record;
  const JobSpec& spec = record.spec();
  json job = {{"job_id", waiting.id},
              {"user_id", std::to_string(record.uid())},
              {"group_id", std::to_string(record.gid())},
              {"script", script},
              {"environment", environment_of(spec, environment, remarks)}};
  for (const auto& [name, value] : kTexts) {
    const std::string& given = (spec.*value)();
    if (given.empty()) continue;
    job[name] = as_utf8(given);
    if (!is_utf8(given)) remarks.push_back(std::string("its ") + name + " is changed: it is no UTF-8");
  }
  for (const auto& [name, given, value] : kNumbers) {
    if ((spec.*given)()) job[name] = (spec.*value)();
  }
  if (!record.account().empty()) job["account"] = record.account();
  if (!record.partition().empty()) job["partition"] = record.partition();
  if (!record.qos().empty()) job["qos"] = record.qos();
  if (record.array_pending().ranges_size() > 0)
    job["array"] = text::format_array_spec(record.array_pending());
  json argv = json::array();
  for (const std::string& word : spec.arguments()) argv.push_back(as_utf8(word));
  if (!spec.command().empty() && !argv.empty()) argv[0] = as_utf8(spec.command());
  if (!argv.empty()) job["argv"] = std::move(argv);
  add_cpus(spec, job);
  add_tres(spec, job);
  add_times(waiting, spec, job);
  add_manners(spec, job);
  add_signals(spec, job);
  return job;
}

}  // namespace minke::grow
