#include "view/text.h"

#include <pwd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <vector>

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/array_spec.h"
#include "text/dependency.h"
#include "text/gres_count.h"
#include "text/memory.h"
#include "text/number.h"
#include "text/state.h"
#include "text/timestamp.h"

namespace minke::view {
DisplayContext display_context_from_environment() {
  DisplayContext context;
  context.release = spoken_release();
  if (const char* format = std::getenv("SLURM_TIME_FORMAT")) context.time_format = format;
  if (const char* limit = std::getenv("SLURM_BITSTR_LEN"))
    context.task_list_limit = text::parse_unsigned(limit, 4096).value_or(context.task_list_limit);
  return context;
}

void append_number(std::string& out, int64_t value) {
  char digits[24];
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  out.append(digits, end);
}

void append_elapsed(std::string& out, int64_t seconds) {
  constexpr int64_t kHour = 3600;
  if (seconds < 0 || seconds >= kHour) {
    out += text::format_seconds_short(seconds);
    return;
  }
  // The usual case of pending and young jobs: avoids the detour through printf.
  append_number(out, seconds / 60);
  out += ':';
  out += static_cast<char>('0' + seconds % 60 / 10);
  out += static_cast<char>('0' + seconds % 10);
}
void append_clock(std::string& out, int64_t seconds) {
  out += text::format_seconds(seconds);
}

void append_time(std::string& out, int64_t time, const DisplayContext& context, std::string_view none) {
  if (time == 0) {
    out += none;
  } else {
    out += text::format_time(time, context.time_format, context.now);
  }
}

void append_mebibytes(std::string& out, uint64_t mebibytes, const DisplayContext& context) {
  out += text::format_mib(mebibytes, context.convert_units ? text::Scaling::kExact : text::Scaling::kNone);
}

void append_kibibytes(std::string& out, uint64_t kibibytes, const DisplayContext& context,
                      std::optional<text::Unit> unit) {
  if (kibibytes == 0) {
    out += '0';
  } else if (unit) {
    out += text::format_units(static_cast<double>(kibibytes), text::Unit::kKilo, text::Scaling::kExact, unit);
  } else if (!context.convert_units) {
    append_number(out, static_cast<int64_t>(kibibytes * 1024));
  } else {
    out += text::format_units(static_cast<double>(kibibytes), text::Unit::kKilo);
  }
}

void append_bytes(std::string& out, uint64_t bytes, const DisplayContext& context,
                  std::optional<text::Unit> unit) {
  if (bytes == 0) {
    out += '0';
  } else if (!context.convert_units && !unit) {
    append_number(out, static_cast<int64_t>(bytes));
  } else {
    out += text::format_units(static_cast<double>(bytes) / (1024.0 * 1024.0), text::Unit::kMega,
                              text::Scaling::kExact, unit);
  }
}

void append_or_null(std::string& out, std::string_view text) {
  out += text.empty() ? "(null)" : text;
}

void append_task_ids(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                     size_t list_limit) {
  if (waiting_task != nullptr) {
    append_number(out, *waiting_task);
  } else if (job.has_array_task_id()) {
    append_number(out, job.array_task_id());
  } else if (job.array_job_id() != 0 && job.array_pending().ranges_size() > 0) {
    out += text::format_array_tasks(job.array_pending(), list_limit);
  } else {
    out += "N/A";
  }
}

void append_job_id(std::string& out, const model::JobRecord& job, const uint32_t* waiting_task,
                   size_t list_limit) {
  if (job.het_job_id() != 0) {
    append_number(out, job.het_job_id());
    out += '+';
    append_number(out, job.het_job_offset());
    return;
  }
  bool list = waiting_task == nullptr && !job.has_array_task_id();
  if (job.array_job_id() == 0 || (list && job.array_pending().ranges_size() == 0)) {
    append_number(out, job.array_job_id() != 0 ? job.array_job_id() : job.job_id());
    return;
  }
  append_number(out, job.array_job_id());
  out += list ? "_[" : "_";
  append_task_ids(out, job, waiting_task, list_limit);
  if (list) out += ']';
}

void append_step_id(std::string& out, const model::StepRecord& step, bool raw, const model::JobRecord* job) {
  if (!raw && job != nullptr && job->het_job_id() != 0) {
    append_job_id(out, *job, nullptr, 0);
  } else if (!raw && step.array_job_id() != 0 && step.has_array_task_id()) {
    append_number(out, step.array_job_id());
    out += '_';
    append_number(out, step.array_task_id());
  } else {
    append_number(out, step.job_id());
  }
  out += '.';
  out += text::step_name(step.kind(), step.step_id());
}

void append_dependencies(std::string& out, const model::JobRecord& job) {
  if (job.spec().dependencies().empty() ||
      job.state() != model::JOB_PENDING) {  // a job that has begun waits for nothing
    out += "(null)";
    return;
  }
  text::DependencyList list;
  list.terms.assign(job.spec().dependencies().begin(), job.spec().dependencies().end());
  list.any = job.spec().dependency_any();
  append_or_null(out, text::format_dependencies(list));
}

void append_gres_request(std::string& out, const google::protobuf::RepeatedPtrField<model::Gres>& gres,
                         std::string_view none) {
  if (gres.empty()) {
    out += none;
  } else {
    out += text::format_tres_per(std::vector<model::Gres>(gres.begin(), gres.end()));
  }
}

void append_tres_per(std::string& out, const std::string& given,
                     const google::protobuf::RepeatedPtrField<model::Gres>& gres, std::string_view none) {
  if (given.empty()) {
    append_gres_request(out, gres, none);
  } else {
    out += given;
  }
}

std::string tres_in_words(std::string text, int release) {
  if (release < kSlurm24) return text;
  for (size_t at = 0; at != std::string::npos;) {
    if (text.compare(at, 5, "gres:") == 0) text[at + 4] = '/';
    at = text.find(',', at);
    if (at != std::string::npos) ++at;
  }
  return text;
}

std::string tres_per_task_text(const model::JobSpec& spec, int release) {
  std::string text;
  if (release < kSlurm24) {
    append_tres_per(text, spec.tres_per_task(), spec.gpus_per_task(), "");
    return text;
  }
  if (!spec.tres_per_task().empty() && !spec.tres_per_task().starts_with("gres:")) {
    text = tres_in_words(spec.tres_per_task(), release);
    const bool counts_cpus = text.starts_with("cpu") || text.find(",cpu") != std::string::npos;
    if (spec.has_cpus_per_task() && !counts_cpus)
      text.insert(0, "cpu=" + std::to_string(spec.cpus_per_task()) + ",");
    return text;
  }
  if (spec.has_cpus_per_task()) text = "cpu=" + std::to_string(spec.cpus_per_task());
  for (int i = spec.gpus_per_task_size(); i-- > 0;) {  // in this order
    const model::Gres& gres = spec.gpus_per_task(i);
    text.append(text.empty() ? "gres/" : ",gres/").append(gres.name());
    if (!gres.type().empty()) text.append(1, ':').append(gres.type());
    text.append(1, '=').append(std::to_string(gres.count()));
  }
  return text;
}

std::string tres_bind_text(const model::JobSpec& spec, int release) {
  if (!spec.tres_bind().empty()) return spec.tres_bind();
  const std::string before = release < kSlurm24 ? "gpu:" : "gres/gpu:";
  if (!spec.gpu_bind().empty()) return before + spec.gpu_bind();
  const uint64_t each = text::gpus_in(spec.gpus_per_task());
  if (each == 0 || release < kSlurm24) return {};
  return before + "per_task:" + std::to_string(each);
}

uint32_t least_nodes(const model::JobRecord& job, int release) {
  const model::JobSpec& spec = job.spec();
  // GPUs of nodes and of tasks give the tasks of a node; of those nodes only full ones are counted.
  const bool implied = release >= kSlurm26 && !spec.has_min_nodes() && spec.has_ntasks() &&
                       spec.gpus_per_task_size() > 0 && spec.gres_per_node_size() > 0 &&
                       spec.ntasks_per_node() > 0;
  if (!implied || job.state() != model::JOB_PENDING) return job.num_nodes();
  return std::max(1U, spec.ntasks() / spec.ntasks_per_node());
}

uint32_t most_nodes(const model::JobRecord& job, int release) {
  const model::JobSpec& spec = job.spec();
  const uint32_t least = job.num_nodes();
  if (spec.has_max_nodes()) {
    // Each node has one of the job's GPUs.
    uint32_t gpus = 0;
    for (const model::Gres& gres : spec.gpus()) gpus += gres.count();
    const bool bounded = release >= kSlurm24 && gpus != 0;
    return std::max(least, bounded ? std::min(gpus, spec.max_nodes()) : spec.max_nodes());
  }
  if (spec.spread_job() && spec.has_ntasks()) return std::max(least, job.num_tasks());
  if (release < kSlurm24) return 0;
  const bool by_cpus = spec.cpus_per_task() > 1 || (spec.has_cpus_per_gpu() && spec.gpus_per_task_size() > 0);
  // What is not held has been looked at, and has no such bound any more.
  const bool unbounded = by_cpus || spec.has_ntasks_per_core() || job.priority() != 0;
  if (release < kSlurm26) return unbounded || spec.has_ntasks_per_node() ? 0 : least;
  if (spec.has_ntasks_per_node()) return least;
  if (spec.has_ntasks()) return std::max(least, spec.ntasks());
  return unbounded ? 0 : least;
}

std::string node_counts_text(const model::JobSpec& spec) {
  std::string text;
  const auto& counts = spec.node_counts();
  for (int first = 0; first < counts.size();) {
    int last = first;
    while (last + 1 < counts.size() && counts[last + 1] == counts[last] + 1) ++last;
    text.append(text.empty() ? "" : ",").append(std::to_string(counts[first]));
    if (last > first) text.append("-").append(std::to_string(counts[last]));
    first = last + 1;
  }
  return text;
}

void append_gres_offer(std::string& out, const google::protobuf::RepeatedPtrField<model::Gres>& gres) {
  append_or_null(out, text::format_gres_offer(std::vector<model::Gres>(gres.begin(), gres.end())));
}

void append_command(std::string& out, const model::JobSpec& spec) {
  if (spec.command().empty()) {
    out += "(null)";
    return;
  }
  out += spec.command();
  if (spoken_release() >= kSlurm24) return;  // they name the script alone
  for (int i = 1; i < spec.arguments_size(); ++i) {
    out += ' ';
    out += spec.arguments(i);
  }
}

bool is_stopped(const model::JobRecord& job) {
  return job.stopped() && job.state() == model::JOB_RUNNING && !job.completing();
}

std::string_view state_text(const model::JobRecord& job) {
  if (job.special_exit() && job.state() == model::JOB_PENDING) return "SPECIAL_EXIT";
  if (job.configuring()) return "CONFIGURING";
  if (is_stopped(job)) return "STOPPED";
  return text::job_state_name(job.state(), job.completing());
}
std::string_view state_code(const model::JobRecord& job) {
  if (job.special_exit() && job.state() == model::JOB_PENDING) return "SE";
  if (job.configuring()) return "CF";
  if (is_stopped(job)) return "ST";
  return text::job_state_compact(job.state(), job.completing());
}
std::string_view reason_text(const model::JobRecord& job) {
  // A held job shows its own detail: "job requeued in held state". A real Slurm's has words that are no
  // reason's name, or a reason that no name is known of.
  const std::string& detail = job.reason_detail();
  const bool in_other_words =
      job.priority() == 0 || job.reason() == model::WAIT_HELD || job.reason() == model::WAIT_NODE_NOT_AVAIL ||
      detail.starts_with("Nodes required for job are DOWN") ||
      (job.reason() == model::WAIT_NO_REASON && detail.find(' ') == std::string::npos);
  if (job.state() == model::JOB_PENDING && in_other_words && !detail.empty()) return detail;
  return text::state_reason_name(job.reason());
}
std::string reason_text(const model::JobRecord& job, int release) {
  std::string text(reason_text(job));
  if (text == "RaisedSignal" && release >= kSlurm24 && WIFSIGNALED(job.exit_code())) {
    const int number = WTERMSIG(job.exit_code());
    text.append(1, ':')
        .append(std::to_string(number))
        .append(1, '(')
        .append(::strsignal(number))
        .append(1, ')');
  }
  return text;
}
std::string_view step_state_text(const model::StepRecord& step) {
  return text::job_state_name(step.state());
}

int64_t step_rank(const model::StepRecord& step) {
  constexpr int64_t kAfterAllNumbers = int64_t{1} << 32;
  switch (step.kind()) {
    case model::STEP_INTERACTIVE:
      return kAfterAllNumbers;
    case model::STEP_BATCH:
      return kAfterAllNumbers + 1;
    case model::STEP_EXTERN:
      return kAfterAllNumbers + 2;
    default:
      return step.step_id();
  }
}

std::string user_name_of(uint32_t uid) {
  passwd entry;
  passwd* found = nullptr;
  std::vector<char> buffer(16384);
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return found->pw_name;
  return std::to_string(uid);
}

text::TresAmounts tres_of(const model::JobRecord& job) {
  text::TresAmounts amounts;
  amounts.cpus = job.num_cpus();
  amounts.memory_mib = job.memory_mib();
  amounts.nodes = job.num_nodes();
  amounts.billing = job.billing() > 0 ? static_cast<uint64_t>(job.billing()) : job.num_cpus();
  amounts.gres.assign(job.tres_gres().begin(), job.tres_gres().end());
  amounts.licenses.assign(job.tres_licenses().begin(), job.tres_licenses().end());
  return amounts;
}

text::TresAmounts requested_tres_of(const model::JobRecord& job) {
  const model::JobSpec& spec = job.spec();
  text::TresAmounts amounts = tres_of(job);
  // Those that so many CPUs need are not asked for.
  if (job.state() == model::JOB_PENDING && spec.has_min_nodes())
    amounts.nodes = std::min<uint64_t>(amounts.nodes, std::max(1U, spec.min_nodes()));
  else if (job.state() == model::JOB_PENDING && spec.constraint().find('*') == std::string::npos &&
           (!spec.has_ntasks_per_node() || (spec.gpus_per_task_size() > 0 && spec.gres_per_node_size() > 0)))
    amounts.nodes = 1;
  if (!spec.exclusive() || job.nodes().empty()) return amounts;
  // It has whole nodes, and has asked for less.
  const uint64_t nodes = std::max(1U, job.num_nodes());
  amounts.cpus =
      std::min<uint64_t>(amounts.cpus, uint64_t{std::max(job.num_tasks(), 1U)} * cpus_of_a_task(spec));
  amounts.billing = amounts.cpus;
  const uint64_t memory = spec.has_mem_per_node_mib()  ? spec.mem_per_node_mib() * nodes
                          : spec.has_mem_per_cpu_mib() ? spec.mem_per_cpu_mib() * amounts.cpus
                                                       : 0;
  if (memory != 0) amounts.memory_mib = std::min(amounts.memory_mib, memory);
  amounts.gres.assign(spec.gpus().begin(), spec.gpus().end());
  for (const auto& [list, times] : {std::pair{&spec.gres_per_node(), nodes},
                                    std::pair{&spec.gpus_per_task(), uint64_t{job.num_tasks()}}}) {
    // Several options for GPUs are one request; other GRES add up.
    const bool has_gpus = std::any_of(amounts.gres.begin(), amounts.gres.end(),
                                      [](const model::Gres& gres) { return gres.name() == "gpu"; });
    for (model::Gres gres : *list) {
      if (has_gpus && gres.name() == "gpu") continue;
      gres.set_count(static_cast<uint32_t>(gres.count() * times));
      amounts.gres.push_back(std::move(gres));
    }
  }
  for (model::Gres& gres : amounts.gres)
    gres.set_untracked(
        std::any_of(job.tres_gres().begin(), job.tres_gres().end(),
                    [&](const model::Gres& held) { return held.name() == gres.name() && held.untracked(); }));
  return amounts;
}

text::TresAmounts tres_of(const model::StepRecord& step) {
  text::TresAmounts amounts;
  amounts.cpus = step.num_cpus();
  amounts.memory_mib = step.memory_mib();
  amounts.nodes = step.num_nodes();
  amounts.gres.assign(step.tres_gres().begin(), step.tres_gres().end());
  return amounts;
}

void append_tres(std::string& out, const text::TresAmounts& amounts, text::TresOrder order,
                 const DisplayContext& context, std::optional<text::Unit> unit) {
  // Slurm lists GPUs once, as gres/gpu, if AccountingStorageTRES names no type; a program that adds up the
  // list would otherwise count them twice.
  const char* typed = std::getenv("MINKE_TYPED_TRES");
  text::TresAmounts listed = amounts;
  if (typed == nullptr || std::string_view(typed) != "1") {
    for (model::Gres& gres : listed.gres)
      if (!gres.typed()) gres.clear_type();
  }
  std::string tres = text::format_tres(listed, order);
  if (unit || !context.convert_units) {
    size_t memory = tres.find("mem=");
    if (memory != std::string::npos) {
      memory += 4;
      text::Scaling scaling = context.convert_units ? text::Scaling::kExact : text::Scaling::kNone;
      tres.replace(memory, tres.find(',', memory) - memory,
                   text::format_mib(amounts.memory_mib, scaling, unit));
    }
  }
  out += tres;
}

int64_t elapsed_seconds(const model::JobRecord& job, int64_t now) {
  if (job.state() == model::JOB_PENDING || job.start_time() == 0) return 0;
  int64_t end = is_finished(job.state())              ? job.end_time()
                : job.state() == model::JOB_SUSPENDED ? job.suspend_time()
                                                      : now;
  if (end == 0) end = now;
  return std::max<int64_t>(0, end - job.start_time() - job.suspended_seconds());
}

bool is_finished(model::JobState state) {
  return state >= model::JOB_COMPLETE;
}

int32_t accounted_exit_code(const model::JobRecord& job) {
  switch (job.state()) {
    case model::JOB_CANCELLED:
    case model::JOB_TIMEOUT:
    case model::JOB_NODE_FAIL:
    case model::JOB_PREEMPTED:
    case model::JOB_DEADLINE:
    case model::JOB_REQUEUED:
      return 0;
    default:
      return job.exit_code();
  }
}

const std::string& job_name(const model::JobRecord& job) {
  return job.has_spec() ? job.spec().name() : job.name();
}

int64_t start_time(const model::JobRecord& job) {
  return job.start_time() == 0 && is_finished(job.state()) ? job.end_time() : job.start_time();
}

int64_t end_time(const model::JobRecord& job) {
  if (job.end_time() != 0 || is_finished(job.state())) return job.end_time();
  if (job.start_time() == 0 || job.time_limit_minutes() == kUnlimited) return 0;
  return job.start_time() + int64_t{60} * job.time_limit_minutes();
}

MemoryRequest memory_request(const model::JobRecord& job) {
  const model::JobSpec& spec = job.spec();
  if (spec.has_mem_per_node_mib()) return {spec.mem_per_node_mib(), false};
  if (spec.has_mem_per_cpu_mib()) return {spec.mem_per_cpu_mib(), spec.mem_per_cpu_mib() != 0};
  // Without a default of the partition there is none, for the node.
  if (job.memory_mib() == 0) return {0, false};
  return {job.num_cpus() == 0 ? job.memory_mib() : job.memory_mib() / job.num_cpus(), true};
}

uint32_t cpus_of_a_task(const model::JobSpec& spec) {
  // Slurm does not compute it for GPUs of a type.
  const bool by_gpus = spec.gpus_per_task_size() == 1 && spec.gpus_per_task(0).type().empty();
  if (spec.has_cpus_per_task() || !spec.has_cpus_per_gpu() || !by_gpus)
    return std::max(1U, spec.cpus_per_task());
  return static_cast<uint32_t>(
      std::min<uint64_t>(spec.gpus_per_task(0).count() * spec.cpus_per_gpu(), UINT16_MAX));
}

uint32_t min_cpus_per_node(const model::JobSpec& spec) {
  const uint32_t cpus_per_task = cpus_of_a_task(spec);
  if (spec.overcommit()) return std::max(spec.min_cpus(), cpus_per_task);
  // A single task takes only its own, however many might be on a node.
  const uint32_t tasks = spec.has_ntasks() && spec.ntasks() == 1 ? 1 : spec.ntasks_per_node();
  return std::max({spec.min_cpus(), cpus_per_task, cpus_per_task * tasks});
}

std::string date_line(int64_t now) {
  time_t time = now;
  tm parts;
  localtime_r(&time, &parts);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y\n", &parts));
}

}  // namespace minke::view
