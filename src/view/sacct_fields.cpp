// The fields of sacct, for a job's line and for a step's. Fields that are not metered stay empty.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/nobody.h"
#include "model/step_record.pb.h"
#include "model/usage.pb.h"
#include "text/duration.h"
#include "text/sluid.h"
#include "text/state.h"
#include "view/metered.h"
#include "view/sacct.h"
#include "view/sharing.h"

namespace minke::view {
namespace {

using Line = SacctLine;
using Context = SacctContext;
using model::JobRecord;
using model::JobSpec;

void nothing(const Line&, const Context&, std::string&) {}

// --- building blocks ---
template <const std::string& (JobRecord::*text)() const>
void job_text(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += (line.job->*text)();
}
template <const std::string& (JobSpec::*text)() const>
void spec_text(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += (line.job->spec().*text)();
}
template <uint32_t (JobRecord::*number)() const>
void job_number(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) append_number(out, (line.job->*number)());
}
// A file of the job: its name, or what was asked for with its patterns, as sacct shows it since 24.05.
template <const std::string& (JobRecord::*expanded)() const>
void job_file(const Line& line, const Context& context, std::string pattern, std::string& out) {
  if (line.step != nullptr) return;
  if (context.display.expand_patterns || context.display.release < kSlurm24 || !line.job->has_spec()) {
    out += (line.job->*expanded)();
    return;
  }
  if (!pattern.empty() && !pattern.starts_with('/')) out.append(line.job->spec().work_dir()).append(1, '/');
  out += pattern;
}
void standard_output(const Line& line, const Context& context, std::string& out) {
  const JobSpec& spec = line.job->spec();
  std::string pattern = spec.stdout_path();
  if (pattern.empty() && !spec.interactive()) {
    pattern = line.job->array_job_id() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
    const bool alone = context.display.release >= kSlurm26 && !context.display.expand_patterns;
    if (alone && line.step == nullptr &&
        line.job->has_spec()) {  // the usual name is shown without its directory
      out += pattern;
      return;
    }
  }
  job_file<&JobRecord::stdout_path>(line, context, std::move(pattern), out);
}
// Empty where errors go to the file of the output.
void standard_error(const Line& line, const Context& context, std::string& out) {
  const std::string& pattern = line.job->spec().stderr_path();
  if (pattern.empty() && line.job->has_spec() && context.display.release >= kSlurm24) return;
  job_file<&JobRecord::stderr_path>(line, context, pattern, out);
}
void standard_input(const Line& line, const Context& context, std::string& out) {
  const std::string& pattern = line.job->spec().stdin_path();
  const bool none = pattern.empty() && !line.job->spec().interactive();
  job_file<&JobRecord::stdin_path>(line, context, none ? "/dev/null" : pattern, out);
}
void association_id(const Line& line, const Context&, std::string& out) {
  append_number(out, line.job->association_id());
}
void job_zero(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += '0';
}
void step_zero(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) out += '0';
}
void time_or_unknown(int64_t time, const Context& context, std::string& out) {
  append_time(out, time, context.display, "Unknown");
}

uint32_t cpus(const Line& line) {
  return line.step != nullptr ? line.step->num_cpus() : line.job->num_cpus();
}
int64_t elapsed(const Line& line, const Context& context) {
  if (line.step == nullptr) return elapsed_seconds(*line.job, context.display.now);
  if (line.step->start_time() == 0) return 0;
  int64_t end = line.step->end_time() != 0 ? line.step->end_time() : context.display.now;
  return std::max<int64_t>(0, end - line.step->start_time());
}
const model::Usage& usage(const Line& line) {
  return line.step != nullptr ? line.step->usage() : line.job->usage();
}
// Whether the job ever got its resources.
bool was_allocated(const JobRecord& job) {
  return !job.nodes().empty() || !job.node_list().empty();
}

void append_kib(uint64_t kib, const Context& context, std::string& out) {
  append_kibibytes(out, kib, context.display, context.unit);
}
void append_disk_bytes(uint64_t bytes, const Context& context, std::string& out) {
  append_bytes(out, bytes, context.display, context.unit);
}
void append_mib(uint64_t mib, const Context& context, std::string& out) {
  text::Scaling scaling = context.display.convert_units ? text::Scaling::kExact : text::Scaling::kNone;
  out += text::format_mib(mib, scaling, context.unit);
}

// --- the fields ---
void exclusive(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += exclusive_text(line.job->spec());
}
void oversubscribe(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += line.job->spec().oversubscribe() ? "YES" : "NO";
}
void segment_size(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr && line.job->spec().has_segment_size())
    append_number(out, line.job->spec().segment_size());
}
// A job that is requeued begins a record of its own: the id with which it began is that of its line.
void sluid(const Line& line, const Context&, std::string& out) {
  out += text::format_sluid(*line.job);
}
void account(const Line& line, const Context&, std::string& out) {
  out += line.job->account();
}
void alloc_cpus(const Line& line, const Context& context, std::string& out) {
  const bool nothing = line.step == nullptr && !was_allocated(*line.job);
  append_number(out, nothing && context.display.release >= kSlurm24 ? 0 : cpus(line));
}
// Whole nodes have more CPUs than requested.
uint32_t requested_cpus_of(const JobRecord& job) {
  if (!job.spec().exclusive() || job.num_tasks() == 0) return job.num_cpus();
  return job.num_tasks() * std::max(1u, job.spec().cpus_per_task());
}
void alloc_nodes(const Line& line, const Context&, std::string& out) {
  append_number(out, line.step != nullptr       ? line.step->num_nodes()
                     : was_allocated(*line.job) ? line.job->num_nodes()
                                                : 0);
}
template <bool requested>
void tres(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr ? requested : !requested && !was_allocated(*line.job)) return;
  append_tres(out, line.step != nullptr ? tres_of(*line.step) : tres_of(*line.job), text::TresOrder::kByName,
              context.display, context.unit);
}
void append_amount(Metered what, uint64_t amount, const Context& context, std::string& out) {
  switch (what) {
    case Metered::kCpu:
      return append_clock(out, static_cast<int64_t>(amount / 1000000));
    case Metered::kRss:
      return append_kib(amount, context, out);
    case Metered::kRead:
    case Metered::kWrite:
      return append_disk_bytes(amount, context, out);
    case Metered::kFaults:
      return append_number(out, static_cast<int64_t>(amount));
  }
}
template <Metered what>
void average(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) append_amount(what, average_usage(*line.step, what), context, out);
}
template <Metered what, Reach reach>
void extreme(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) append_amount(what, extreme_usage(*line.step, what, reach).value(), context, out);
}
template <Metered what, Reach reach>
void extreme_node(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) out += extreme_usage(*line.step, what, reach).node();
}
template <Metered what, Reach reach>
void extreme_task(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) append_number(out, extreme_usage(*line.step, what, reach).task());
}
void cluster(const Line&, const Context& context, std::string& out) {
  out += context.display.cluster_name;
}
void cpu_time(const Line& line, const Context& context, std::string& out) {
  append_clock(out, elapsed(line, context) * cpus(line));
}
void cpu_time_raw(const Line& line, const Context& context, std::string& out) {
  append_number(out, elapsed(line, context) * cpus(line));
}
void database_index(const Line& line, const Context&, std::string& out) {
  append_number(out, line.job->job_id());
}
void system_comment(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += line.job->notes().system_comment();
}
void derived_exit_code(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += text::format_exit_code(line.job->derived_exit_code());
}
void elapsed_text(const Line& line, const Context& context, std::string& out) {
  append_clock(out, elapsed(line, context));
}
void elapsed_raw(const Line& line, const Context& context, std::string& out) {
  append_number(out, elapsed(line, context));
}
void eligible(const Line& line, const Context& context, std::string& out) {
  time_or_unknown(line.step != nullptr ? line.step->start_time() : line.job->eligible_time(), context, out);
}
void end(const Line& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  time_or_unknown(line.step != nullptr       ? line.step->end_time()
                  : is_finished(job.state()) ? job.end_time()
                                             : 0,
                  context, out);
}
void exit_code(const Line& line, const Context&, std::string& out) {
  out +=
      text::format_exit_code(line.step != nullptr ? line.step->exit_code() : accounted_exit_code(*line.job));
}
void job_id(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) {
    append_step_id(out, *line.step, false, line.job);
  } else {
    append_job_id(out, *line.job, line.waiting_task ? &*line.waiting_task : nullptr,
                  context.display.task_list_limit);
  }
}
void job_id_raw(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) {
    append_step_id(out, *line.step, true);
  } else {
    append_number(out, line.job->job_id());
  }
}
void job_name(const Line& line, const Context&, std::string& out) {
  out += line.step != nullptr ? line.step->name() : line.job->spec().name();
}
void submit_line(const Line& line, const Context&, std::string& out) {
  out += line.step != nullptr ? line.step->submit_line() : line.job->spec().submit_line();
}
void requested_cpus(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) return alloc_cpus(line, context, out);
  append_number(out, requested_cpus_of(*line.job));
}
void layout(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) return;
  const std::string& told = line.step->distribution();
  out += line.step->kind() != model::STEP_NORMAL ? "Unknown" : told.empty() ? "Block" : told;
}
void node_count(const Line& line, const Context&, std::string& out) {
  append_number(out, line.step != nullptr ? line.step->num_nodes() : line.job->num_nodes());
}
void node_list(const Line& line, const Context&, std::string& out) {
  const std::string& nodes = line.step != nullptr ? line.step->node_list() : line.job->node_list();
  out += nodes.empty() ? std::string_view("None assigned") : std::string_view(nodes);
}
void task_count(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) append_number(out, line.step->num_tasks());
}
void qos_raw(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += '1';
}
void reason(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += reason_text(*line.job);
}
void requested_frequency(const Line& line, const Context&, std::string& out) {
  out += line.step != nullptr && line.step->kind() != model::STEP_NORMAL ? "0" : "Unknown";
}
void requested_memory(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) return;
  const JobSpec& spec = line.job->spec();
  const bool whole = spec.exclusive() && spec.mem_per_cpu_mib() != 0;  // it has more than it asked for
  append_mib(whole ? spec.mem_per_cpu_mib() * requested_cpus_of(*line.job) : line.job->memory_mib(), context,
             out);
}
int64_t planned_seconds(const Line& line, const Context& context) {
  const JobRecord& job = *line.job;
  if (job.eligible_time() == 0) return 0;
  int64_t until = job.state() == model::JOB_PENDING ? context.display.now
                  : job.start_time() != 0           ? job.start_time()
                                                    : job.end_time();
  return std::max<int64_t>(0, until - job.eligible_time());
}
template <bool raw, bool times_cpus>
void planned(const Line& line, const Context& context, std::string& out) {
  if (line.step != nullptr) return;
  int64_t seconds = planned_seconds(line, context) * (times_cpus ? cpus(line) : 1);
  raw ? append_number(out, seconds) : append_clock(out, seconds);
}
void start(const Line& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  if (line.step == nullptr && job.start_time() == 0 && is_finished(job.state())) {
    out += "None";  // it never began
    return;
  }
  time_or_unknown(line.step != nullptr                ? line.step->start_time()
                  : job.state() == model::JOB_PENDING ? 0
                                                      : job.start_time(),
                  context, out);
}
void state(const Line& line, const Context&, std::string& out) {
  model::JobState value = line.step != nullptr ? line.step->state() : line.job->state();
  out += text::job_state_name(value);
  if (line.step == nullptr && value == model::JOB_CANCELLED && line.job->cancelled_by_uid() != model::kNobody)
    fmt::format_to(std::back_inserter(out), " by {}", line.job->cancelled_by_uid());
}
void submit(const Line& line, const Context& context, std::string& out) {
  time_or_unknown(line.step != nullptr ? line.step->start_time() : line.job->submit_time(), context, out);
}
void suspended(const Line& line, const Context&, std::string& out) {
  append_clock(out, line.step != nullptr ? 0 : line.job->suspended_seconds());
}
template <bool user, bool system>
void cpu_used(const Line& line, const Context&, std::string& out) {
  const model::Usage& used = usage(line);
  append_cpu_time(out, (user ? used.user_microseconds() : 0) + (system ? used.system_microseconds() : 0));
}
void time_limit(const Line& line, const Context&, std::string& out) {
  if (line.step == nullptr) out += text::format_minutes(line.job->time_limit_minutes());
}
void time_limit_raw(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) return;
  if (line.job->time_limit_minutes() == text::kUnlimited) {
    out += "UNLIMITED";
  } else {
    append_number(out, line.job->time_limit_minutes());
  }
}
void consumed_energy(const Line& line, const Context& context, std::string& out) {
  const uint64_t joules = usage(line).energy_joules();
  if (joules == 0) return step_zero(line, context, out);
  append_joules(out, joules);
}
void consumed_energy_raw(const Line& line, const Context& context, std::string& out) {
  const uint64_t joules = usage(line).energy_joules();
  joules == 0 ? step_zero(line, context, out) : append_number(out, static_cast<int64_t>(joules));
}
// Appends "cpu=00:00:01,fs/disk=12,mem=4K,pages=0", each formatted by `amount`; GPUs are sorted in by name.
template <typename Amount>
void usage_in(const Line& line, std::string& out, Amount amount, MeasuredAs gpus = MeasuredAs::kNot) {
  if (line.step == nullptr) return;
  for (const auto& [name, what] :
       {std::pair{"cpu=", Metered::kCpu}, std::pair{",fs/disk=", Metered::kRead},
        std::pair{",mem=", Metered::kRss}, std::pair{",pages=", Metered::kFaults}}) {
    if (what == Metered::kRss) append_gpus(out, *line.step, gpus);
    out += name;
    amount(what);
  }
}
// In these lists disk bytes are plain numbers.
void append_listed(Metered what, uint64_t amount, const Context& context, std::string& out) {
  if (what == Metered::kRead || what == Metered::kWrite) {
    append_number(out, static_cast<int64_t>(amount));
  } else {
    append_amount(what, amount, context, out);
  }
}
void usage_in_average(const Line& line, const Context& context, std::string& out) {
  usage_in(
      line, out, [&](Metered what) { append_listed(what, average_usage(*line.step, what), context, out); },
      MeasuredAs::kMean);
}
void usage_in_total(const Line& line, const Context& context, std::string& out) {
  usage_in(
      line, out, [&](Metered what) { append_listed(what, total_usage(*line.step, what), context, out); },
      MeasuredAs::kTotal);
}
template <Reach reach>
void usage_in_extreme(const Line& line, const Context& context, std::string& out) {
  usage_in(
      line, out,
      [&](Metered what) {
        append_listed(what, extreme_usage(*line.step, what, reach).value(), context, out);
      },
      reach == Reach::kMost ? MeasuredAs::kMost : MeasuredAs::kNot);
}
template <Reach reach>
void usage_in_node(const Line& line, const Context&, std::string& out) {
  usage_in(line, out, [&](Metered what) { out += extreme_usage(*line.step, what, reach).node(); });
}
template <Reach reach>
void usage_in_task(const Line& line, const Context&, std::string& out) {
  usage_in(line, out,
           [&](Metered what) { append_number(out, extreme_usage(*line.step, what, reach).task()); });
}
void usage_out(const Line& line, std::string& out, uint64_t (*amount)(const model::StepRecord& step)) {
  if (line.step == nullptr) return;
  out += "fs/disk=";
  append_number(out, static_cast<int64_t>(amount(*line.step)));
}
void usage_out_average(const Line& line, const Context&, std::string& out) {
  usage_out(line, out, [](const auto& step) { return average_usage(step, Metered::kWrite); });
}
void usage_out_total(const Line& line, const Context&, std::string& out) {
  usage_out(line, out, [](const auto& step) { return total_usage(step, Metered::kWrite); });
}
template <Reach reach>
void usage_out_extreme(const Line& line, const Context&, std::string& out) {
  usage_out(line, out, [](const auto& step) { return extreme_usage(step, Metered::kWrite, reach).value(); });
}
template <Reach reach>
void usage_out_node(const Line& line, const Context&, std::string& out) {
  if (line.step != nullptr) out += "fs/disk=" + extreme_usage(*line.step, Metered::kWrite, reach).node();
}
template <Reach reach>
void usage_out_task(const Line& line, const Context&, std::string& out) {
  usage_out(line, out,
            [](const auto& step) -> uint64_t { return extreme_usage(step, Metered::kWrite, reach).task(); });
}

constexpr PrintFit kPlus = PrintFit::kPlus;
constexpr PrintFit kCut = PrintFit::kCut;
constexpr PrintFit kSpill = PrintFit::kSpill;

constexpr SacctField kFields[] = {
    {"Account", 10, kPlus, account},
    {"AdminComment", 15, kPlus, spec_text<&JobSpec::admin_comment>},
    {"AllocCPUS", 10, kSpill, alloc_cpus},
    {"AllocNodes", 10, kSpill, alloc_nodes},
    {"AllocTRES", 10, kPlus, tres<false>},
    {"AssocID", 7, kSpill, association_id},
    {"AveCPU", 10, kPlus, average<Metered::kCpu>},
    {"AveCPUFreq", 10, kPlus, step_zero},
    {"AveDiskRead", 14, kPlus, average<Metered::kRead>},
    {"AveDiskWrite", 14, kPlus, average<Metered::kWrite>},
    {"AvePages", 10, kPlus, average<Metered::kFaults>},
    {"AveRSS", 10, kPlus, average<Metered::kRss>},
    {"AveVMSize", 10, kPlus, nothing},
    {"BlockID", 16, kPlus, nothing},
    {"Cluster", 10, kPlus, cluster},
    {"Comment", 14, kPlus, spec_text<&JobSpec::comment>},
    {"Constraints", 19, kPlus, spec_text<&JobSpec::constraint>},
    {"ConsumedEnergy", 14, kPlus, consumed_energy},
    {"ConsumedEnergyRaw", 17, kPlus, consumed_energy_raw},
    {"Container", 19, kPlus, spec_text<&JobSpec::container>},
    {"CPUTime", 10, kSpill, cpu_time},
    {"CPUTimeRAW", 10, kSpill, cpu_time_raw},
    {"DBIndex", -10, kSpill, database_index},
    {"DerivedExitCode", 15, kPlus, derived_exit_code},
    {"Elapsed", 10, kSpill, elapsed_text},
    {"ElapsedRaw", 10, kSpill, elapsed_raw},
    {"Eligible", 19, kCut, eligible},
    {"End", 19, kCut, end},
    {"Exclusive", 14, kPlus, exclusive},
    {"ExitCode", 8, kPlus, exit_code},
    {"Extra", 10, kPlus, spec_text<&JobSpec::extra>},
    {"FailedNode", 8, kPlus, nothing},
    {"Flags", 19, kPlus, nothing},
    {"GID", 6, kSpill, job_number<&JobRecord::gid>},
    {"Group", 9, kPlus, job_text<&JobRecord::group_name>},
    {"JobID", -12, kPlus, job_id},
    {"JobIDRaw", -12, kPlus, job_id_raw},
    {"JobName", 10, kPlus, job_name},
    {"Layout", 9, kPlus, layout},
    {"Licenses", 10, kPlus, spec_text<&JobSpec::licenses>},
    {"MaxDiskRead", 12, kPlus, extreme<Metered::kRead, Reach::kMost>},
    {"MaxDiskReadNode", 15, kPlus, extreme_node<Metered::kRead, Reach::kMost>},
    {"MaxDiskReadTask", 15, kPlus, extreme_task<Metered::kRead, Reach::kMost>},
    {"MaxDiskWrite", 12, kPlus, extreme<Metered::kWrite, Reach::kMost>},
    {"MaxDiskWriteNode", 16, kPlus, extreme_node<Metered::kWrite, Reach::kMost>},
    {"MaxDiskWriteTask", 16, kPlus, extreme_task<Metered::kWrite, Reach::kMost>},
    {"MaxPages", 8, kPlus, extreme<Metered::kFaults, Reach::kMost>},
    {"MaxPagesNode", 12, kPlus, extreme_node<Metered::kFaults, Reach::kMost>},
    {"MaxPagesTask", 14, kPlus, extreme_task<Metered::kFaults, Reach::kMost>},
    {"MaxRSS", 10, kPlus, extreme<Metered::kRss, Reach::kMost>},
    {"MaxRSSNode", 10, kPlus, extreme_node<Metered::kRss, Reach::kMost>},
    {"MaxRSSTask", 10, kPlus, extreme_task<Metered::kRss, Reach::kMost>},
    {"MaxVMSize", 10, kPlus, nothing},
    {"MaxVMSizeNode", 14, kPlus, nothing},
    {"MaxVMSizeTask", 14, kPlus, nothing},
    {"McsLabel", 12, kPlus, spec_text<&JobSpec::mcs_label>},
    {"MinCPU", 10, kPlus, extreme<Metered::kCpu, Reach::kLeast>},
    {"MinCPUNode", 10, kPlus, extreme_node<Metered::kCpu, Reach::kLeast>},
    {"MinCPUTask", 10, kPlus, extreme_task<Metered::kCpu, Reach::kLeast>},
    {"NCPUS", 10, kSpill, alloc_cpus},
    {"NNodes", 8, kSpill, node_count},
    {"NodeList", 15, kPlus, node_list},
    {"NTasks", 8, kSpill, task_count},
    {"OriginalSLUID", 14, kPlus, sluid},
    {"OverSubscribe", 14, kPlus, oversubscribe},
    {"Partition", 10, kPlus, job_text<&JobRecord::partition>},
    {"Planned", 10, kSpill, planned<false, false>},
    {"PlannedCPU", 10, kSpill, planned<false, true>},
    {"PlannedCPURAW", 13, kSpill, planned<true, true>},
    {"Priority", 10, kSpill, job_number<&JobRecord::priority>},
    {"QOS", 10, kPlus, job_text<&JobRecord::qos>},
    {"QOSRAW", 6, kSpill, qos_raw},
    {"QOSREQ", 10, kPlus, spec_text<&JobSpec::qos>},
    {"Reason", 22, kPlus, reason},
    {"ReqCPUFreq", 10, kPlus, requested_frequency},
    {"ReqCPUFreqGov", 13, kPlus, requested_frequency},
    {"ReqCPUFreqMax", 13, kPlus, requested_frequency},
    {"ReqCPUFreqMin", 13, kPlus, requested_frequency},
    {"ReqCPUS", 8, kSpill, requested_cpus},
    {"ReqMem", 10, kPlus, requested_memory},
    {"ReqNodes", 8, kSpill, node_count},
    {"ReqTRES", 10, kPlus, tres<true>},
    {"Reservation", 20, kPlus, spec_text<&JobSpec::reservation>},
    {"ReservationId", 8, kPlus, nothing},
    {"ReqReservation", 20, kPlus, spec_text<&JobSpec::reservation>},
    {"Reserved", 10, kSpill, planned<false, false>},
    {"Restarts", 8, kSpill, job_number<&JobRecord::restarts>},
    {"ResvCPU", 10, kSpill, planned<false, true>},
    {"ResvCPURAW", 10, kSpill, planned<true, true>},
    {"SegmentSize", 11, kSpill, segment_size},
    {"SLUID", 14, kPlus, sluid},
    {"Start", 19, kCut, start},
    {"State", 10, kPlus, state},
    {"StdErr", 20, kPlus, standard_error},
    {"StdIn", 20, kPlus, standard_input},
    {"StdOut", 20, kPlus, standard_output},
    {"Submit", 19, kCut, submit},
    {"SubmitLine", 20, kPlus, submit_line},
    {"Suspended", 10, kSpill, suspended},
    {"SystemComment", 15, kPlus, system_comment},
    {"SystemCPU", 10, kPlus, cpu_used<false, true>},
    {"Timelimit", 10, kPlus, time_limit},
    {"TimelimitRaw", 10, kSpill, time_limit_raw},
    {"TotalCPU", 10, kPlus, cpu_used<true, true>},
    {"TRESUsageInAve", 14, kPlus, usage_in_average},
    {"TRESUsageInMax", 14, kPlus, usage_in_extreme<Reach::kMost>},
    {"TRESUsageInMaxNode", 18, kPlus, usage_in_node<Reach::kMost>},
    {"TRESUsageInMaxTask", 18, kPlus, usage_in_task<Reach::kMost>},
    {"TRESUsageInMin", 14, kPlus, usage_in_extreme<Reach::kLeast>},
    {"TRESUsageInMinNode", 18, kPlus, usage_in_node<Reach::kLeast>},
    {"TRESUsageInMinTask", 18, kPlus, usage_in_task<Reach::kLeast>},
    {"TRESUsageInTot", 14, kPlus, usage_in_total},
    {"TRESUsageOutAve", 15, kPlus, usage_out_average},
    {"TRESUsageOutMax", 15, kPlus, usage_out_extreme<Reach::kMost>},
    {"TRESUsageOutMaxNode", 19, kPlus, usage_out_node<Reach::kMost>},
    {"TRESUsageOutMaxTask", 19, kPlus, usage_out_task<Reach::kMost>},
    {"TRESUsageOutMin", 15, kPlus, usage_out_extreme<Reach::kLeast>},
    {"TRESUsageOutMinNode", 19, kPlus, usage_out_node<Reach::kLeast>},
    {"TRESUsageOutMinTask", 19, kPlus, usage_out_task<Reach::kLeast>},
    {"TRESUsageOutTot", 15, kPlus, usage_out_total},
    {"UID", 6, kSpill, job_number<&JobRecord::uid>},
    {"User", 9, kPlus, job_text<&JobRecord::user_name>},
    {"UserCPU", 10, kPlus, cpu_used<true, false>},
    {"WCKey", 10, kPlus, spec_text<&JobSpec::wckey>},
    {"WCKeyID", 10, kSpill, job_zero},
    {"WorkDir", 20, kPlus, spec_text<&JobSpec::work_dir>},
};

}  // namespace

// Until 22.05, Planned was Reserved.
std::span<const SacctField> sacct_fields() {
  if (spoken_release() < kSlurm24) return kFields;
  static const auto kNewer = [] {
    std::vector<SacctField> fields;
    for (const SacctField& field : kFields)
      if (field.name != "Reserved" && field.name != "ResvCPU" && field.name != "ResvCPURAW")
        fields.push_back(field);
    return fields;
  }();
  return kNewer;
}

}  // namespace minke::view
