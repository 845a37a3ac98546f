#include "submit/update.h"

#include <algorithm>
#include <optional>
#include <string>

#include "model/error.h"
#include "model/job_spec.pb.h"
#include "model/job_terms.pb.h"
#include "submit/job_request.h"
#include "submit/setters.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/mail_address.h"
#include "text/mail_type.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/timestamp.h"
#include "text/tres.h"

namespace minke::submit {
namespace {

struct Change {
  model::JobSpec& spec;
  std::string_view name, value;
  int64_t now;
  int64_t start;  // of a running job; else 0

  tl::unexpected<Error> invalid(int code) const {
    return failure("Invalid " + std::string(name) + " value: " + std::string(value), code);
  }
  tl::unexpected<Error> of_slurm(model::SlurmError code) const {
    return failure(std::string(model::slurm_error_text(code)), code);
  }
};
using Applier = Status (*)(const Change&);

template <std::string* (model::JobSpec::*Field)()>
Status text(const Change& change) {
  *(change.spec.*Field)() = change.value;
  return {};
}

constexpr uint64_t kMaxNumber = 2147483647;

template <void (model::JobSpec::*Field)(uint32_t)>
Status number(const Change& change) {
  auto value = text::parse_unsigned(text::skip_blanks_and_plus(change.value), kMaxNumber);
  if (!value || *value == 0) return change.invalid(model::kInvalidTres);
  (change.spec.*Field)(static_cast<uint32_t>(*value));
  return {};
}

// "3", "2-4"; the upper bound stays unset if only the least counts.
Status node_count(const Change& change) {
  size_t dash = change.value.find('-');
  auto least = text::parse_unsigned(change.value.substr(0, dash), kMaxNumber);
  auto most = dash == std::string_view::npos
                  ? least
                  : text::parse_unsigned(change.value.substr(dash + 1), kMaxNumber);
  if (!least || !most || *most < *least || *most == 0) return change.of_slurm(model::kInvalidNodeCount);
  change.spec.clear_node_counts();
  change.spec.set_min_nodes(static_cast<uint32_t>(*least == 0 ? 1 : *least));
  change.spec.clear_max_nodes();  // "2" is as -N 2, not as -N 2-2
  if (dash != std::string_view::npos) change.spec.set_max_nodes(static_cast<uint32_t>(*most));
  return {};
}

// NumCPUs: at least so many, on any number of nodes; tasks are reduced only if they need more.
Status cpu_count(const Change& change) {
  const std::string_view least = change.value.substr(0, change.value.find('-'));
  auto cpus = text::parse_unsigned(text::skip_blanks_and_plus(least), kMaxNumber);
  if (!cpus || *cpus == 0) return change.invalid(model::kInvalidCpuCount);
  const uint64_t each = change.spec.has_cpus_per_task() ? change.spec.cpus_per_task() : 1;
  const uint64_t nodes = std::max(1u, change.spec.min_nodes());
  const uint64_t tasks = change.spec.has_ntasks()
                             ? change.spec.ntasks()
                             : nodes * std::max<uint64_t>(1, change.spec.ntasks_per_node());
  if (tasks * each > *cpus) change.spec.set_ntasks(static_cast<uint32_t>((*cpus + each - 1) / each));
  change.spec.set_min_cpus(static_cast<uint32_t>((*cpus + nodes - 1) / nodes));
  return {};
}

Status time_limit(const Change& change) {
  char sign = change.value.empty() ? '\0' : change.value[0];
  bool relative = (sign == '+' || sign == '-') && change.value != "-1";
  auto minutes = text::parse_minutes(relative ? change.value.substr(1) : change.value);
  if (!minutes) return failure("Invalid TimeLimit value", model::kInvalidTimeLimit);
  uint64_t limit = *minutes == 0 ? text::kUnlimited : *minutes;
  if (relative) {
    uint64_t before =
        change.spec.has_time_limit_minutes() ? change.spec.time_limit_minutes() : text::kUnlimited;
    if (before == text::kUnlimited || *minutes == text::kUnlimited) {
      return failure("TimeLimit cannot be changed by an amount: there is no limit now",
                     model::kInvalidTimeLimit);
    }
    if (sign == '-' && *minutes >= before) {
      return failure("TimeLimit decrement larger than current time limit (" + std::to_string(*minutes) +
                         " > " + std::to_string(before) + ")",
                     model::kInvalidTimeLimit);
    }
    limit = sign == '+' ? before + *minutes : before - *minutes;
    if (limit >= text::kUnlimited) return failure("Invalid TimeLimit value", model::kInvalidTimeLimit);
  }
  change.spec.set_time_limit_minutes(static_cast<uint32_t>(limit));
  return {};
}

Status time_min(const Change& change) {
  auto minutes = text::parse_minutes(change.value);
  if (!minutes) return failure("Invalid TimeMin value", model::kInvalidTimeLimit);
  if (*minutes == text::kUnlimited) return change.of_slurm(model::kInvalidTimeMin);  // above any limit
  change.spec.clear_time_min_minutes();
  if (*minutes != 0) change.spec.set_time_min_minutes(*minutes);
  return {};
}

template <void (model::JobSpec::*Field)(int64_t)>
Status moment(const Change& change) {
  auto time = text::parse_time(change.value, change.now);
  if (!time) return failure(time.error().message, model::kInvalidTimeValue);
  (change.spec.*Field)(*time);
  return {};
}

Status dependency(const Change& change) {
  auto list = text::parse_dependencies(change.value);
  if (!list) return change.of_slurm(model::kDependency);
  change.spec.mutable_dependencies()->Assign(list->terms.begin(), list->terms.end());
  change.spec.set_dependency_any(list->any);
  return {};
}

Status nice(const Change& change) {
  constexpr uint64_t kMaxNice = 2147483645;
  constexpr int32_t kDefaultNice = 100;
  std::string_view digits = change.value;
  bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  if (change.value.empty()) {
    change.spec.set_nice(kDefaultNice);
    return {};
  }
  auto value = text::parse_unsigned(digits, kMaxNice);
  if (!value)
    return failure("Invalid Nice value, must be between -2147483645 and 2147483645", model::kInvalidNice);
  auto amount = static_cast<int32_t>(*value);
  change.spec.set_nice(negative ? -amount : amount);
  return {};
}

Status priority(const Change& change) {
  auto value = text::parse_unsigned(text::skip_blanks_and_plus(change.value), 4294967293);
  if (!value) return change.invalid(model::kInvalidTres);
  change.spec.set_priority(static_cast<uint32_t>(*value));
  return {};
}

Status memory(const Change& change, bool per_cpu) {
  const std::string_view amount = text::skip_blanks_and_plus(change.value);
  const auto mib = amount.empty() ? Result<uint64_t>(0) : text::parse_mib(amount);
  if (!mib) return change.invalid(model::kInvalidTaskMemory);
  change.spec.clear_mem_per_node_mib();
  change.spec.clear_mem_per_cpu_mib();
  change.spec.clear_mem_per_gpu_mib();
  change.spec.clear_mem_per_gpu_by_default();
  if (per_cpu) {
    change.spec.set_mem_per_cpu_mib(*mib);
  } else {
    change.spec.set_mem_per_node_mib(*mib);
  }
  return {};
}
Status memory_per_node(const Change& change) {
  return memory(change, false);
}
Status memory_per_cpu(const Change& change) {
  return memory(change, true);
}

Status tmp_disk(const Change& change) {
  auto mib = text::parse_mib(text::skip_blanks_and_plus(change.value));
  if (!mib) return change.invalid(model::kInvalidTres);
  change.spec.set_tmp_mib(*mib);
  return {};
}

// "gpu:2", "gres:gpu:2". Clears the text of the request that listings show, which no longer holds.
Status gpu_list(const Change& change, google::protobuf::RepeatedPtrField<model::Gres>* field,
                std::string* given) {
  auto list = text::parse_gres_list(change.value);
  if (!list) return change.of_slurm(model::kInvalidGres);
  if (std::any_of(list->begin(), list->end(), [](const model::Gres& one) { return one.name() != "gpu"; }))
    return change.of_slurm(model::kInvalidGres);  // by job, socket and task only GPUs exist
  field->Assign(list->begin(), list->end());
  given->clear();
  return {};
}
Status gres(const Change& change) {
  auto list = text::parse_gres_list(change.value);
  if (!list && spoken_release() >= kSlurm24) list = set::current_gres_list(change.value);
  if (!list) return change.of_slurm(model::kInvalidGres);
  change.spec.mutable_gres_per_node()->Assign(list->begin(), list->end());
  change.spec.clear_tres_per_node();
  change.spec.clear_gpus_per_node();
  return {};
}

Status gpus_of_job(const Change& change) {
  return gpu_list(change, change.spec.mutable_gpus(), change.spec.mutable_tres_per_job());
}
Status gpus_per_socket(const Change& change) {
  return gpu_list(change, change.spec.mutable_gpus_per_socket(), change.spec.mutable_tres_per_socket());
}
Status gpus_per_task(const Change& change) {
  return gpu_list(change, change.spec.mutable_gpus_per_task(), change.spec.mutable_tres_per_task());
}

// "gpu:4", of CPUs or of memory: an empty text means none.
Result<std::optional<uint64_t>> for_each_gpu(const Change& change) {
  if (change.value.empty()) return std::optional<uint64_t>();
  const auto list = text::parse_gres_list(change.value);
  if (!list || list->size() != 1 || list->front().name() != "gpu" || !list->front().type().empty())
    return change.of_slurm(model::kInvalidGres);
  return std::optional<uint64_t>(list->front().count());
}
// Instead of those that came with each GPU.
Status cpus_per_task(const Change& change) {
  if (const Status set = number<&model::JobSpec::set_cpus_per_task>(change); !set) return set;
  if (!change.spec.cpus_per_gpu_by_default()) return {};
  change.spec.clear_cpus_per_gpu();
  change.spec.clear_cpus_per_gpu_by_default();
  return {};
}
Status cpus_per_gpu(const Change& change) {
  const auto count = for_each_gpu(change);
  if (!count) return failure(count.error());
  if (*count > kMaxNumber) return change.of_slurm(model::kInvalidGres);
  change.spec.clear_cpus_per_gpu();
  change.spec.clear_cpus_per_gpu_by_default();
  if (*count) change.spec.set_cpus_per_gpu(static_cast<uint32_t>(**count));
  return {};
}
Status memory_per_gpu(const Change& change) {
  const auto mebibytes = for_each_gpu(change);
  if (!mebibytes) return failure(mebibytes.error());
  change.spec.clear_mem_per_gpu_mib();
  change.spec.clear_mem_per_gpu_by_default();
  if (!*mebibytes) return {};
  if (change.spec.has_mem_per_cpu_mib() || change.spec.has_mem_per_node_mib())
    return change.of_slurm(model::kInvalidGres);  // each job has one memory request
  change.spec.set_mem_per_gpu_mib(**mebibytes);
  return {};
}

Status tres_bind(const Change& change) {
  const bool fine = change.value.empty() || spoken_release() < kSlurm24 || set::is_tres_bind(change.value);
  if (!fine) return change.invalid(model::kInvalidTres);
  change.spec.set_tres_bind(std::string(change.value));
  return {};
}

// "gpu:low". Other words are kept unchanged for bindings, and are not frequencies.
Status gpu_freq(const Change& change) {
  constexpr std::string_view kOfGpus = "gpu:";
  std::string_view value = change.value;
  if (!value.empty() && !text::starts_with_ignoring_case(value, kOfGpus))
    return change.invalid(model::kInvalidTres);
  if (!value.empty()) value.remove_prefix(kOfGpus.size());
  change.spec.set_gpu_freq(std::string(value));
  return {};
}

// "2", "2@10" (minutes): the waiting time stays if it is not given. 0: any number.
Status switches(const Change& change) {
  const size_t at = change.value.find('@');
  const auto count = text::parse_unsigned(change.value.substr(0, at), kMaxNumber);
  const auto minutes =
      at == std::string_view::npos ? Result<uint32_t>(0) : text::parse_minutes(change.value.substr(at + 1));
  if (!count || !minutes) return change.invalid(model::kInvalidTres);
  if (*count == 0) {
    change.spec.clear_switches();
    change.spec.clear_switches_wait_seconds();
    return {};
  }
  if (!change.spec.has_switches_wait_seconds()) change.spec.set_switches_wait_seconds(kMaxSwitchWait);
  change.spec.set_switches(static_cast<uint32_t>(*count));
  if (at != std::string_view::npos)
    change.spec.set_switches_wait_seconds(
        static_cast<uint32_t>(std::min<uint64_t>(uint64_t{*minutes} * 60, kMaxSwitchWait)));
  return {};
}
Status switches_wait(const Change& change) {
  const auto seconds = text::parse_unsigned(change.value, kMaxNumber);
  if (!seconds) return change.invalid(model::kInvalidTres);
  change.spec.set_switches_wait_seconds(static_cast<uint32_t>(std::min<uint64_t>(*seconds, kMaxSwitchWait)));
  return {};
}

Status delay_boot(const Change& change) {
  const auto minutes = text::parse_minutes(change.value);
  if (!minutes) return failure("Invalid DelayBoot value", model::kInvalidTimeValue);
  change.spec.set_delay_boot_minutes(*minutes);
  return {};
}

// The end of a running job is its time limit, counted from its start, which the caller knows.
Status end_time(const Change& change) {
  if (change.start == 0) return change.of_slurm(model::kJobNotRunning);
  const auto time = text::parse_time(change.value, change.now);
  if (!time) return failure(time.error().message, model::kInvalidTimeValue);
  const int64_t seconds = std::max<int64_t>(1, *time - change.start);
  change.spec.set_time_limit_minutes(
      static_cast<uint32_t>(std::min<int64_t>((seconds + 59) / 60, text::kUnlimited - 1)));
  return {};
}

Status denied(const Change& change) {
  return change.of_slurm(model::kAccessDenied);
}
// Nothing here boots nodes, and no other cluster takes over a job.
Status not_here(const Change& change) {
  return change.of_slurm(model::kNotSupported);
}

// "yes", "no", or a number; from 2 on it is left to the partition, which current releases take for "yes".
Status oversubscribe(const Change& change) {
  const auto number = text::parse_unsigned(change.value, 0xffff);
  const bool some = !change.value.empty();
  const bool yes = some && text::starts_with_ignoring_case("yes", change.value);
  const bool no = some && text::starts_with_ignoring_case("no", change.value);
  if (!number && !yes && !no) return change.invalid(model::kInvalidTres);
  change.spec.clear_oversubscribe();
  if (yes || number == 1 || (number > 1 && spoken_release() >= kSlurm26)) change.spec.set_oversubscribe(true);
  if (no || number == 0) change.spec.set_oversubscribe(false);
  return {};
}

template <std::string* (model::JobSpec::*Field)()>
Status hosts(const Change& change) {
  if (!text::expand_hostlist(change.value)) return change.of_slurm(model::kInvalidNodeName);
  *(change.spec.*Field)() = change.value;
  return {};
}

Status throttle(const Change& change) {
  auto value = text::parse_unsigned(text::skip_blanks_and_plus(change.value), text::kMaxArrayIndex);
  if (!value) return change.invalid(model::kInvalidArray);
  if (change.spec.array().ranges_size() == 0) return change.of_slurm(model::kInvalidArray);
  change.spec.mutable_array()->set_max_running(static_cast<uint32_t>(*value));
  return {};
}

// 0, 1, and words that begin with yes or no.
template <void (model::JobSpec::*Field)(bool)>
Status yes_or_no(const Change& change) {
  const bool some = !change.value.empty();
  bool yes = change.value == "1" || (some && text::starts_with_ignoring_case("yes", change.value));
  bool no = change.value == "0" || (some && text::starts_with_ignoring_case("no", change.value));
  if (!yes && !no) return change.invalid(model::kInvalidTres);
  (change.spec.*Field)(yes);
  return {};
}

// Any number, of which 0 and none mean no; and words.
Status requeue(const Change& change) {
  const std::string_view digits = text::skip_blanks_and_plus(change.value);
  const auto number = digits.empty() ? std::optional<uint64_t>(0) : text::parse_unsigned(digits, 0xffff);
  if (!number) return yes_or_no<&model::JobSpec::set_requeue>(change);
  change.spec.set_requeue(*number != 0);
  return {};
}

Status mail_type(const Change& change) {
  for (std::string_view word : text::split(change.value, ',')) {
    if (!text::is_mail_type(word)) return failure("Invalid MailType: " + std::string(change.value));
  }
  change.spec.set_mail_type(text::upper_case(change.value));
  return {};
}

Status mail_user(const Change& change) {
  if (Status harmless = text::check_mail_user(change.value); !harmless) return harmless;
  change.spec.set_mail_user(std::string(change.value));
  return {};
}

struct Field {
  std::string_view name;
  size_t shortest;  // the number of letters that are enough
  Updated updated;
  Applier apply;
};

// The shortest forms are Slurm's, so that scripts with shortened names work.
constexpr Field kFields[] = {
    {"Account", 3, Updated::kOther, text<&model::JobSpec::mutable_account>},
    {"AdminComment", 3, Updated::kOther, text<&model::JobSpec::mutable_admin_comment>},
    {"ArrayTaskThrottle", 10, Updated::kArrayThrottle, throttle},
    {"BurstBuffer", 1, Updated::kOther, not_here},
    {"ClusterFeatures", 8, Updated::kOther, not_here},
    {"Clusters", 8, Updated::kOther, not_here},
    {"Comment", 3, Updated::kOther, text<&model::JobSpec::mutable_comment>},
    {"Contiguous", 3, Updated::kResources, yes_or_no<&model::JobSpec::set_contiguous>},
    {"CoreSpec", 4, Updated::kResources, denied},
    {"CPUsPerTask", 9, Updated::kResources, cpus_per_task},
    {"CPUs/Task", 9, Updated::kResources, cpus_per_task},
    {"CpusPerTres", 9, Updated::kResources, cpus_per_gpu},
    {"Deadline", 3, Updated::kOther, moment<&model::JobSpec::set_deadline>},
    {"DelayBoot", 5, Updated::kOther, delay_boot},
    {"Dependency", 3, Updated::kDependency, dependency},
    {"EligibleTime", 3, Updated::kBeginTime, moment<&model::JobSpec::set_begin_time>},
    {"EndTime", 2, Updated::kTimeLimit, end_time},
    {"ExcNodeList", 3, Updated::kResources, hosts<&model::JobSpec::mutable_exclude>},
    {"Extra", 3, Updated::kOther, text<&model::JobSpec::mutable_extra>},
    {"Features", 1, Updated::kResources, text<&model::JobSpec::mutable_constraint>},
    {"Gres", 2, Updated::kResources, gres},
    {"JobName", 4, Updated::kOther, text<&model::JobSpec::mutable_name>},
    {"Licenses", 3, Updated::kResources, text<&model::JobSpec::mutable_licenses>},
    {"MailType", 5, Updated::kOther, mail_type},
    {"MailUser", 5, Updated::kOther, mail_user},
    {"MemPerTres", 5, Updated::kResources, memory_per_gpu},
    {"MinCPUsNode", 4, Updated::kResources, number<&model::JobSpec::set_min_cpus>},
    {"MinMemoryCPU", 10, Updated::kResources, memory_per_cpu},
    {"MinMemoryNode", 10, Updated::kResources, memory_per_node},
    {"MinTmpDiskNode", 4, Updated::kResources, tmp_disk},
    {"Name", 2, Updated::kOther, text<&model::JobSpec::mutable_name>},
    {"Nice", 2, Updated::kPriority, nice},
    {"NodeList", 5, Updated::kResources, hosts<&model::JobSpec::mutable_node_list>},
    {"NumCPUs", 4, Updated::kResources, cpu_count},
    {"NumNodes", 4, Updated::kResources, node_count},
    {"NumTasks", 8, Updated::kResources, number<&model::JobSpec::set_ntasks>},
    {"OverSubscribe", 3, Updated::kOther, oversubscribe},
    {"Partition", 2, Updated::kResources, text<&model::JobSpec::mutable_partition>},
    {"Prefer", 3, Updated::kResources, text<&model::JobSpec::mutable_prefer>},
    {"Priority", 2, Updated::kPriority, priority},
    {"QOS", 3, Updated::kOther, text<&model::JobSpec::mutable_qos>},
    {"Reboot", 3, Updated::kOther, not_here},
    {"ReqCPUs", 4, Updated::kResources, cpu_count},
    {"ReqCores", 4, Updated::kResources, number<&model::JobSpec::set_cores_per_socket>},
    {"ReqNodeList", 8, Updated::kResources, hosts<&model::JobSpec::mutable_node_list>},
    {"ReqNodes", 8, Updated::kResources, node_count},
    {"ReqProcs", 8, Updated::kResources, cpu_count},
    {"ReqSockets", 4, Updated::kResources, number<&model::JobSpec::set_sockets_per_node>},
    {"ReqThreads", 4, Updated::kResources, number<&model::JobSpec::set_threads_per_core>},
    {"Requeue", 4, Updated::kOther, requeue},
    {"ReservationName", 3, Updated::kResources, text<&model::JobSpec::mutable_reservation>},
    {"Shared", 2, Updated::kOther, oversubscribe},
    {"StartTime", 2, Updated::kBeginTime, moment<&model::JobSpec::set_begin_time>},
    {"StdErr", 6, Updated::kOther, text<&model::JobSpec::mutable_stderr_path>},
    {"StdIn", 5, Updated::kOther, text<&model::JobSpec::mutable_stdin_path>},
    {"StdOut", 6, Updated::kOther, text<&model::JobSpec::mutable_stdout_path>},
    {"Switches", 5, Updated::kOther, switches},
    {"TasksPerNode", 2, Updated::kResources, number<&model::JobSpec::set_ntasks_per_node>},
    {"ThreadSpec", 4, Updated::kResources, denied},
    {"TimeLimit", 5, Updated::kTimeLimit, time_limit},
    {"TimeMin", 5, Updated::kOther, time_min},
    {"TresBind", 5, Updated::kOther, tres_bind},
    {"TresFreq", 5, Updated::kOther, gpu_freq},
    {"TresPerJob", 8, Updated::kResources, gpus_of_job},
    {"TresPerNode", 8, Updated::kResources, gres},
    {"TresPerSocket", 8, Updated::kResources, gpus_per_socket},
    {"TresPerTask", 8, Updated::kResources, gpus_per_task},
    {"wait-for-switch", 5, Updated::kOther, switches_wait},
    {"WCKey", 1, Updated::kOther, text<&model::JobSpec::mutable_wckey>},
    {"WorkDir", 2, Updated::kOther, text<&model::JobSpec::mutable_work_dir>},
};

// Returns the first field that `name` abbreviates; a full name wins.
const Field* find(std::string_view name) {
  const Field* found = nullptr;
  for (const Field& field : kFields) {
    if (text::equals_ignoring_case(field.name, name)) return &field;
    bool matches = name.size() >= field.shortest && text::starts_with_ignoring_case(field.name, name);
    if (matches && found == nullptr) found = &field;
  }
  return found;
}

}  // namespace

Result<Updated> apply_update(model::JobSpec& spec, std::string_view name, std::string_view value, int64_t now,
                             int64_t start) {
  const Field* field = find(name);
  if (field == nullptr) {
    std::string message = "Update of this parameter is not supported: " + std::string(name);
    return failure(message.append("=").append(value), model::kNotSupported);
  }
  Status done = field->apply(Change{spec, field->name, value, now, start});
  if (!done) return failure(done.error());
  return field->updated;
}

}  // namespace minke::submit
