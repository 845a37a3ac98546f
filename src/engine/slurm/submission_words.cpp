#include "engine/slurm/submission_words.h"

#include <algorithm>

#include "api/submission.pb.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/duration.h"
#include "text/hex.h"
#include "text/number.h"
#include "text/signal_name.h"
#include "text/timestamp.h"
#include "text/tres.h"

namespace minke::engine::slurm {
namespace {

using model::JobSpec;
using Words = std::vector<std::string>;

struct TextOption {
  const char* option;
  const std::string& (JobSpec::*value)() const;
};
constexpr TextOption kTexts[] = {
    {"job-name", &JobSpec::name},
    {"account", &JobSpec::account},
    {"partition", &JobSpec::partition},
    {"qos", &JobSpec::qos},
    {"comment", &JobSpec::comment},
    {"wckey", &JobSpec::wckey},
    {"reservation", &JobSpec::reservation},
    {"chdir", &JobSpec::work_dir},
    {"input", &JobSpec::stdin_path},
    {"output", &JobSpec::stdout_path},
    {"error", &JobSpec::stderr_path},
    {"constraint", &JobSpec::constraint},
    {"prefer", &JobSpec::prefer},
    {"nodelist", &JobSpec::node_list},
    {"exclude", &JobSpec::exclude},
    {"licenses", &JobSpec::licenses},
    {"mail-type", &JobSpec::mail_type},
    {"mail-user", &JobSpec::mail_user},
    {"export", &JobSpec::export_option},
    {"network", &JobSpec::network},
    {"distribution", &JobSpec::distribution},
    {"gpu-bind", &JobSpec::gpu_bind},
    {"mem-bind", &JobSpec::mem_bind},
    {"hint", &JobSpec::hint},
    {"container", &JobSpec::container},
    {"container-id", &JobSpec::container_id},
    {"tres-per-task", &JobSpec::tres_per_task},
    {"gpus-per-node", &JobSpec::gpus_per_node},
    {"extra", &JobSpec::extra},
    {"mcs-label", &JobSpec::mcs_label},
    {"batch", &JobSpec::batch_features},
    {"bb", &JobSpec::burst_buffer},
    {"gres-flags", &JobSpec::gres_flags},
    {"cpu-freq", &JobSpec::cpu_freq},
    {"gpu-freq", &JobSpec::gpu_freq},
    {"tres-bind", &JobSpec::tres_bind},
    {"acctg-freq", &JobSpec::acctg_freq},
    {"profile", &JobSpec::profile},
    {"power", &JobSpec::power},
    {"mem-update", &JobSpec::mem_update},
};

struct NumberOption {
  const char* option;
  bool (JobSpec::*given)() const;
  uint32_t (JobSpec::*value)() const;
};
constexpr NumberOption kNumbers[] = {
    {"ntasks", &JobSpec::has_ntasks, &JobSpec::ntasks},
    {"ntasks-per-node", &JobSpec::has_ntasks_per_node, &JobSpec::ntasks_per_node},
    {"ntasks-per-gpu", &JobSpec::has_ntasks_per_gpu, &JobSpec::ntasks_per_gpu},
    {"ntasks-per-core", &JobSpec::has_ntasks_per_core, &JobSpec::ntasks_per_core},
    {"ntasks-per-socket", &JobSpec::has_ntasks_per_socket, &JobSpec::ntasks_per_socket},
    {"mincpus", &JobSpec::has_min_cpus, &JobSpec::min_cpus},
    {"priority", &JobSpec::has_priority, &JobSpec::priority},
    {"core-spec", &JobSpec::has_core_spec, &JobSpec::core_spec},
    {"thread-spec", &JobSpec::has_thread_spec, &JobSpec::thread_spec},
    {"sockets-per-node", &JobSpec::has_sockets_per_node, &JobSpec::sockets_per_node},
    {"cores-per-socket", &JobSpec::has_cores_per_socket, &JobSpec::cores_per_socket},
    {"threads-per-core", &JobSpec::has_threads_per_core, &JobSpec::threads_per_core},
    {"segment", &JobSpec::has_segment_size, &JobSpec::segment_size},
    {"delay-boot", &JobSpec::has_delay_boot_minutes, &JobSpec::delay_boot_minutes},
    {"resv-ports", &JobSpec::has_resv_ports, &JobSpec::resv_ports},
};

struct FlagOption {
  const char* option;
  bool (JobSpec::*value)() const;
};
constexpr FlagOption kFlags[] = {
    {"contiguous", &JobSpec::contiguous},
    {"hold", &JobSpec::hold},
    {"get-user-env", &JobSpec::get_user_env},
    {"spread-job", &JobSpec::spread_job},
    {"no-kill", &JobSpec::no_kill},
    {"overcommit", &JobSpec::overcommit},
    {"oversubscribe", &JobSpec::oversubscribe},
    {"use-min-nodes", &JobSpec::use_min_nodes},
    {"stepmgr", &JobSpec::stepmgr},
    {"reboot", &JobSpec::reboot},
    {"consolidate-segments", &JobSpec::consolidate_segments},
    {"spread-segments", &JobSpec::spread_segments},
};

std::string option(const char* name, const std::string& value) {
  return std::string("--") + name + "=" + value;
}

std::string mib(uint64_t value) {
  return value == 0 ? "0" : std::to_string(value) + "M";
}

std::string minutes(uint32_t value) {
  return value == text::kUnlimited ? "UNLIMITED" : std::to_string(value);
}

// Of GPUs without their name, as --gpus takes them: "a100:2".
std::string gpu_list(const google::protobuf::RepeatedPtrField<model::Gres>& list) {
  std::string out;
  for (const model::Gres& one : list)
    out +=
        (out.empty() ? "" : ",") + one.type() + (one.type().empty() ? "" : ":") + std::to_string(one.count());
  return out;
}

void add_times(const JobSpec& spec, Words& words) {
  if (spec.has_time_limit_minutes()) words.push_back(option("time", minutes(spec.time_limit_minutes())));
  if (spec.has_time_min_minutes()) words.push_back(option("time-min", minutes(spec.time_min_minutes())));
  if (spec.begin_time() != 0) words.push_back(option("begin", text::format_time(spec.begin_time())));
  if (spec.deadline() != 0) words.push_back(option("deadline", text::format_time(spec.deadline())));
}

void add_nodes(const JobSpec& spec, Words& words) {
  if (spec.node_counts_size() > 0) {
    std::string counts;
    for (const uint32_t one : spec.node_counts()) counts += (counts.empty() ? "" : ",") + std::to_string(one);
    words.push_back(option("nodes", counts));
    return;
  }
  if (!spec.has_min_nodes() && !spec.has_max_nodes()) return;
  const uint32_t least = spec.has_min_nodes() ? spec.min_nodes() : 1;
  std::string nodes = std::to_string(least);
  if (spec.has_max_nodes() && spec.max_nodes() != least) nodes += "-" + std::to_string(spec.max_nodes());
  words.push_back(option("nodes", nodes));
}

void add_memory(const JobSpec& spec, Words& words) {
  if (spec.has_mem_per_node_mib()) words.push_back(option("mem", mib(spec.mem_per_node_mib())));
  if (spec.has_mem_per_cpu_mib()) words.push_back(option("mem-per-cpu", mib(spec.mem_per_cpu_mib())));
  if (spec.has_mem_per_gpu_mib() && !spec.mem_per_gpu_by_default())
    words.push_back(option("mem-per-gpu", mib(spec.mem_per_gpu_mib())));
  if (spec.has_tmp_mib()) words.push_back(option("tmp", mib(spec.tmp_mib())));
}

// What --tres-per-task and --gpus-per-node say as they were given stands in the lists, too.
void add_gres(const JobSpec& spec, Words& words) {
  std::vector<model::Gres> gres(spec.gres_per_node().begin(), spec.gres_per_node().end());
  if (!spec.gpus_per_node().empty()) std::erase_if(gres, [](const auto& one) { return one.name() == "gpu"; });
  if (!gres.empty()) words.push_back(option("gres", text::format_gres_list(gres)));
  if (!spec.gpus().empty()) words.push_back(option("gpus", gpu_list(spec.gpus())));
  if (!spec.gpus_per_socket().empty())
    words.push_back(option("gpus-per-socket", gpu_list(spec.gpus_per_socket())));
  if (spec.has_cpus_per_gpu() && !spec.cpus_per_gpu_by_default())
    words.push_back(option("cpus-per-gpu", std::to_string(spec.cpus_per_gpu())));
  if (!spec.tres_per_task().empty() && !spec.tres_per_task().starts_with("gres:")) return;
  if (spec.has_cpus_per_task())
    words.push_back(option("cpus-per-task", std::to_string(spec.cpus_per_task())));
  if (!spec.gpus_per_task().empty()) words.push_back(option("gpus-per-task", gpu_list(spec.gpus_per_task())));
}

void add_manners(const JobSpec& spec, Words& words) {
  if (spec.open_mode() != model::OPEN_DEFAULT)
    words.push_back(option("open-mode", spec.open_mode() == model::OPEN_APPEND ? "append" : "truncate"));
  if (!spec.exclusive_mode().empty()) {
    words.push_back(option("exclusive", spec.exclusive_mode()));
  } else if (spec.exclusive()) {
    words.emplace_back("--exclusive");
  }
  if (spec.has_array()) words.push_back(option("array", text::format_array_spec(spec.array())));
  if (spec.dependencies_size() > 0) {
    text::DependencyList list{.terms = {spec.dependencies().begin(), spec.dependencies().end()},
                              .any = spec.dependency_any()};
    words.push_back(option("dependency", text::format_dependency_request(list, true)));
  }
  if (spec.nice() != 0) words.push_back(option("nice", std::to_string(spec.nice())));
  if (spec.has_requeue())
    words.emplace_back(spec.expedited_requeue() ? "--requeue=expedite"
                       : spec.requeue()         ? "--requeue"
                                                : "--no-requeue");
  if (spec.warning_signal().number() != 0)
    words.push_back(option("signal", text::format_warning_signal(spec.warning_signal())));
  if (spec.has_kill_on_invalid_dependency())
    words.push_back(option("kill-on-invalid-dep", spec.kill_on_invalid_dependency() ? "yes" : "no"));
  if (spec.has_switches())
    words.push_back(option("switches", std::to_string(spec.switches()) +
                                           (spec.has_switches_wait_seconds()
                                                ? "@" + text::format_seconds(spec.switches_wait_seconds())
                                                : "")));
  if (spec.wait_all_nodes()) words.push_back(option("wait-all-nodes", "1"));
  if (spec.has_oom_kill_step()) words.push_back(option("oom-kill-step", spec.oom_kill_step() ? "1" : "0"));
}

// The text between two others; empty: it is not there.
std::string_view between(std::string_view text, std::string_view before, std::string_view after) {
  const size_t at = text.find(before);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = text.substr(at + before.size());
  return rest.substr(0, rest.find(after));
}

}  // namespace

Words sbatch_options(const JobSpec& spec) {
  Words words;
  for (const auto& [name, value] : kTexts) {
    const std::string& given = (spec.*value)();
    // What --gpus-per-task says stands there for listings only.
    const bool for_listings = std::string_view(name) == "tres-per-task" && given.starts_with("gres:");
    if (!given.empty() && !for_listings) words.push_back(option(name, given));
  }
  for (const auto& [name, given, value] : kNumbers) {
    if ((spec.*given)()) words.push_back(option(name, std::to_string((spec.*value)())));
  }
  for (const auto& [name, value] : kFlags) {
    if ((spec.*value)()) words.push_back(std::string("--") + name);
  }
  add_times(spec, words);
  add_nodes(spec, words);
  add_memory(spec, words);
  add_gres(spec, words);
  add_manners(spec, words);
  return words;
}

std::string submission_mark(std::string_view key) {
  return "minke:" + text::to_hex(key);
}

std::string marked_comment(const std::string& comment, const std::string& mark) {
  return comment.empty() ? mark : comment + " " + mark;
}

bool has_mark(const model::JobRecord& job, const std::string& mark) {
  return job.spec().comment().ends_with(mark);
}

Result<uint32_t> submitted_job(std::string_view answer) {
  std::string_view line = text::trim(answer);
  if (const size_t last = line.rfind('\n'); last != std::string_view::npos) line.remove_prefix(last + 1);
  const auto id = text::parse_unsigned(line.substr(0, line.find(';')), 0xffffffff);
  if (!id || *id == 0)
    return failure("sbatch does not say which job it submitted: " + std::string(line.substr(0, 200)));
  return static_cast<uint32_t>(*id);
}

Result<api::SubmitReply> tested_job(std::string_view answer, int64_t now) {
  const auto id = text::parse_unsigned(between(answer, "Job ", " "), 0xffffffff);
  const std::string_view when = between(answer, " to start at ", " ");
  const auto cpus = text::parse_unsigned(between(answer, " using ", " "), 0xffffffff);
  const auto start = text::parse_time(when, now);
  if (!id || !cpus || !start)
    return failure("sbatch says what is not understood: " + std::string(answer.substr(0, 200)));
  api::SubmitReply reply;
  reply.set_job_id(static_cast<uint32_t>(*id));
  reply.set_start_time(*start);
  reply.set_num_cpus(static_cast<uint32_t>(*cpus));
  reply.set_node_list(std::string(between(answer, " on nodes ", " ")));
  reply.set_partition(std::string(text::trim(between(answer, " in partition ", "\n"))));
  return reply;
}

}  // namespace minke::engine::slurm
