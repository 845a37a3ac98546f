#include "view/job_fields.h"

#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "text/array_spec.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/sluid.h"
#include "text/state.h"
#include "view/sharing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>

namespace minke::view {
namespace {

using Context = DisplayContext;
using model::JobRecord;
using model::JobSpec;

// Fields that jobs here never have, in Slurm's words for that.
void null(const JobLine&, const Context&, std::string& out) {
  out += "(null)";
}
void not_available(const JobLine&, const Context&, std::string& out) {
  out += "N/A";
}
void no_federation(const JobLine&, const Context&, std::string& out) {
  out += "NA";
}
template <uint32_t (JobSpec::*number)() const, bool (JobSpec::*has)() const>
void number_or_any(const JobLine& line, const Context&, std::string& out) {
  if ((line.job->spec().*has)()) {
    append_number(out, (line.job->spec().*number)());
  } else {
    out += '*';
  }
}
constexpr auto kSockets = number_or_any<&JobSpec::sockets_per_node, &JobSpec::has_sockets_per_node>;
constexpr auto kCores = number_or_any<&JobSpec::cores_per_socket, &JobSpec::has_cores_per_socket>;
constexpr auto kThreads = number_or_any<&JobSpec::threads_per_core, &JobSpec::has_threads_per_core>;
void zero(const JobLine&, const Context&, std::string& out) {
  out += '0';
}
void nothing(const JobLine&, const Context&, std::string&) {}

const uint32_t* waiting_task(const JobLine& line) {
  return line.waiting_task ? &*line.waiting_task : nullptr;
}

template <const std::string& (JobRecord::*text)() const>
void record_text(const JobLine& line, const Context&, std::string& out) {
  append_or_null(out, (line.job->*text)());
}
template <const std::string& (JobSpec::*text)() const>
void spec_text(const JobLine& line, const Context&, std::string& out) {
  append_or_null(out, (line.job->spec().*text)());
}
template <uint32_t (JobRecord::*number)() const>
void record_number(const JobLine& line, const Context&, std::string& out) {
  append_number(out, (line.job->*number)());
}
template <int64_t (JobRecord::*time)() const>
void record_time(const JobLine& line, const Context& context, std::string& out) {
  append_time(out, (line.job->*time)(), context);
}
template <const google::protobuf::RepeatedPtrField<model::Gres>& (JobSpec::*gres)() const,
          const std::string& (JobSpec::*given)() const>
void gres_request(const JobLine& line, const Context& context, std::string& out) {
  std::string text;
  append_tres_per(text, (line.job->spec().*given)(), (line.job->spec().*gres)(), "N/A");
  out += tres_in_words(std::move(text), context.release);
}

void array_job_id(const JobLine& line, const Context&, std::string& out) {
  append_number(out, line.job->array_job_id() != 0 ? line.job->array_job_id() : line.job->job_id());
}
// Whether the line stands for waiting tasks, of which each is to be named.
bool lists_each_task(const JobLine& line) {
  return line.lists_each_task && !line.waiting_task && line.job->array_pending().ranges_size() > 0 &&
         !line.job->has_array_task_id();
}
void array_task_id(const JobLine& line, const Context& context, std::string& out) {
  if (lists_each_task(line)) {
    out += text::list_array_tasks(line.job->array_pending(), context.task_list_limit);
    return;
  }
  append_task_ids(out, *line.job, waiting_task(line), context.task_list_limit);
}
void job_array_id(const JobLine& line, const Context& context, std::string& out) {
  if (lists_each_task(line)) {
    append_number(out, line.job->array_job_id());
    out += "_[";
    array_task_id(line, context, out);
    out += ']';
    return;
  }
  append_job_id(out, *line.job, waiting_task(line), context.task_list_limit);
}
void batch_host(const JobLine& line, const Context&, std::string& out) {
  out += line.job->batch_host().empty() ? std::string_view("n/a") : std::string_view(line.job->batch_host());
}
void batch_flag(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().interactive() ? '0' : '1';
}
void cluster(const JobLine&, const Context& context, std::string& out) {
  out += context.cluster_name;
}
void command(const JobLine& line, const Context&, std::string& out) {
  append_command(out, line.job->spec());
}
void contiguous(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().contiguous() ? '1' : '0';
}
void core_spec(const JobLine& line, const Context&, std::string& out) {
  if (line.job->spec().has_thread_spec()) {
    append_number(out, line.job->spec().thread_spec());
    out += " Threads";
  } else if (line.job->spec().has_core_spec()) {
    append_number(out, line.job->spec().core_spec());
  } else {
    out += "N/A";
  }
}
void cpus_per_task(const JobLine& line, const Context&, std::string& out) {
  append_number(out, cpus_of_a_task(line.job->spec()));
}
void cpus_per_tres(const JobLine& line, const Context& context, std::string& out) {
  if (!line.job->spec().has_cpus_per_gpu()) return not_available(line, {}, out);
  out += tres_in_words(fmt::format("gres:gpu:{}", line.job->spec().cpus_per_gpu()), context.release);
}
void mem_per_tres(const JobLine& line, const Context& context, std::string& out) {
  if (!line.job->spec().has_mem_per_gpu_mib()) return not_available(line, {}, out);
  out += tres_in_words(fmt::format("gres:gpu:{}", line.job->spec().mem_per_gpu_mib()), context.release);
}
// A number since ever; "1:0" in current releases.
void status(int32_t code, const Context& context, std::string& out) {
  if (context.release < kSlurm24) return append_number(out, code);
  out += text::format_exit_code(code);
}
void deadline(const JobLine& line, const Context& context, std::string& out) {
  append_time(out, line.job->spec().deadline(), context);
}
void delay_boot(const JobLine& line, const Context&, std::string& out) {
  append_elapsed(out, int64_t{60} * line.job->spec().delay_boot_minutes());
}
void dependency(const JobLine& line, const Context&, std::string& out) {
  append_dependencies(out, *line.job);
}
void derived_exit_code(const JobLine& line, const Context& context, std::string& out) {
  status(line.job->derived_exit_code(), context, out);
}
void end(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->time_limit_minutes() == kUnlimited && !is_finished(line.job->state()) &&
      line.job->start_time() != 0) {
    out += "NONE";
  } else {
    append_time(out, end_time(*line.job), context);
  }
}
void start(const JobLine& line, const Context& context, std::string& out) {
  append_time(out, start_time(*line.job), context);
}
void exit_code(const JobLine& line, const Context& context, std::string& out) {
  status(line.job->exit_code(), context, out);
}
void num_nodes(const JobLine& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  uint32_t nodes = least_nodes(job, context.release);
  // Of a waiting job squeue counts those over which its tasks would be spread, whatever --nodes says.
  const bool by_gpus = !job.spec().has_min_nodes() && job.spec().gpus_per_task_size() > 0 &&
                       job.spec().gres_per_node_size() > 0;
  const uint32_t each = by_gpus ? 0 : job.spec().ntasks_per_node();
  if (job.state() == model::JOB_PENDING && each != 0)
    nodes = std::max(nodes, (job.num_tasks() + each - 1) / each);
  append_number(out, nodes);
}
void max_nodes(const JobLine& line, const Context& context, std::string& out) {
  const JobSpec& spec = line.job->spec();
  const uint32_t most = line.job->state() == model::JOB_PENDING ? most_nodes(*line.job, context.release) : 0;
  const bool waits = line.job->state() == model::JOB_PENDING;
  append_number(out,
                spec.has_max_nodes() && !waits ? spec.max_nodes() : std::max(most, line.job->num_nodes()));
}
void min_cpus(const JobLine& line, const Context&, std::string& out) {
  append_number(out, min_cpus_per_node(line.job->spec()));
}
void min_memory(const JobLine& line, const Context& context, std::string& out) {
  const JobSpec& spec = line.job->spec();
  // Of each GPU, not of all of them.
  const bool of_gpu = spec.has_mem_per_gpu_mib() && context.release >= kSlurm24;
  const uint64_t mebibytes = of_gpu ? spec.mem_per_gpu_mib() : memory_request(*line.job).mebibytes;
  if (mebibytes == 0) {
    out += '0';
  } else {
    append_mebibytes(out, mebibytes, context);
  }
}
void min_time(const JobLine& line, const Context&, std::string& out) {
  append_elapsed(out, int64_t{60} * line.job->spec().time_min_minutes());
}
void min_tmp_disk(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->spec().tmp_mib() == 0) return zero(line, context, out);
  append_mebibytes(out, line.job->spec().tmp_mib(), context);
}
void nice(const JobLine& line, const Context&, std::string& out) {
  append_number(out, line.job->spec().nice());
}
void node_list(const JobLine& line, const Context&, std::string& out) {
  out += line.job->node_list();
}
template <uint32_t (JobSpec::*number)() const, bool (JobSpec::*has)() const>
void tasks_per(const JobLine& line, const Context&, std::string& out) {
  if (!(line.job->spec().*has)()) {
    out += "N/A";
  } else {
    append_number(out, (line.job->spec().*number)());
  }
}
void tasks_per_node(const JobLine& line, const Context&, std::string& out) {
  append_number(out, line.job->spec().ntasks_per_node());
}
void oversubscribe(const JobLine& line, const Context& context, std::string& out) {
  out += sharing_text(line.job->spec(), context.release);
}
void exclusive(const JobLine& line, const Context&, std::string& out) {
  out += exclusive_text(line.job->spec());
}
void licenses_alloc(const JobLine& line, const Context&, std::string& out) {
  append_or_null(out, line.job->state() == model::JOB_PENDING ? std::string()
                      : line.job->licenses_alloc().empty()    ? line.job->spec().licenses()
                                                              : line.job->licenses_alloc());
}
void cron_job(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().has_cron() && !is_finished(line.job->state()) ? "Yes" : "No";
}
void sluid(const JobLine& line, const Context&, std::string& out) {
  out += text::format_sluid(*line.job);
}
void segment_size(const JobLine& line, const Context& context, std::string& out) {
  if (!line.job->spec().has_segment_size()) return not_available(line, context, out);
  append_number(out, line.job->spec().segment_size());
}
void partition(const JobLine& line, const Context&, std::string& out) {
  out += line.partition;
}
void pending_time(const JobLine& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  bool started = job.state() != model::JOB_PENDING && job.start_time() != 0;
  append_number(out, (started ? job.start_time() : context.now) - job.submit_time());
}
void priority(const JobLine& line, const Context&, std::string& out) {
  fmt::format_to(std::back_inserter(out), "{:.14f}", line.job->priority() / double{UINT32_MAX});
}
void profile(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().profile().empty() ? "NotSet" : line.job->spec().profile();
}
void reason(const JobLine& line, const Context& context, std::string& out) {
  out += reason_text(*line.job, context.release);
}
void reason_list(const JobLine& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  bool failed = job.state() == model::JOB_FAILED || job.state() == model::JOB_TIMEOUT ||
                job.state() == model::JOB_OOM || job.state() == model::JOB_DEADLINE;
  if (job.state() == model::JOB_PENDING || (failed && !job.completing())) {
    out += '(';
    out += reason_text(job, context.release);
    out += ')';
  } else {
    out += job.node_list();
  }
}
void requested_nodes(const JobLine& line, const Context&, std::string& out) {
  // In the order of a list that the distribution follows, and with its repetitions, only scontrol shows them.
  const std::string& list = line.job->spec().node_list();
  if (!text::starts_with_ignoring_case(line.job->spec().distribution(), "arbitrary")) {
    out += list;
  } else if (auto names = text::expand_hostlist(list)) {
    out += text::compress_hostlist_sorted(std::move(*names));
  }
}
void excluded_nodes(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().exclude();
}
void requeue(const JobLine& line, const Context&, std::string& out) {
  out += line.job->requeue_allowed() ? '1' : '0';
}
void sockets_cores_threads(const JobLine& line, const Context& context, std::string& out) {
  kSockets(line, context, out);
  out += ':';
  kCores(line, context, out);
  out += ':';
  kThreads(line, context, out);
}
void het_job_id(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->het_job_id() == 0) return not_available(line, context, out);
  append_number(out, line.job->het_job_id());
}
void het_job_id_set(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->het_job_id() == 0) return not_available(line, context, out);
  out += line.job->het_job_id_set();
}
void het_job_offset(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->het_job_id() == 0) return not_available(line, context, out);
  append_number(out, line.job->het_job_offset());
}
void tres_per_task(const JobLine& line, const Context& context, std::string& out) {
  const std::string text = tres_per_task_text(line.job->spec(), context.release);
  out += text.empty() ? "N/A" : text;
}
void tres_bind(const JobLine& line, const Context& context, std::string& out) {
  const std::string text = tres_bind_text(line.job->spec(), context.release);
  out += text.empty() ? "N/A" : text;
}
void tres_freq(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().gpu_freq().empty() ? "N/A" : "gpu:" + line.job->spec().gpu_freq();
}
void association_id(const JobLine& line, const Context&, std::string& out) {
  append_number(out, line.job->association_id());
}
void switches(const JobLine& line, const Context&, std::string& out) {
  append_number(out, line.job->spec().switches());
}
void switches_wait(const JobLine& line, const Context&, std::string& out) {
  append_elapsed(out, line.job->spec().switches_wait_seconds());
}
void reboot(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().reboot() ? '1' : '0';
}
// Below the working directory, where it is relative.
void pattern(const JobSpec& spec, const std::string& given, std::string& out) {
  if (!given.starts_with('/')) out.append(spec.work_dir()).append(1, '/');
  out += given;
}
void standard_input(const JobLine& line, const Context& context, std::string& out) {
  const JobSpec& spec = line.job->spec();
  if (!context.expand_patterns && !spec.stdin_path().empty() && !spec.interactive())
    return pattern(spec, spec.stdin_path(), out);
  out += line.job->stdin_path().empty() ? std::string_view("/dev/null")
                                        : std::string_view(line.job->stdin_path());
}
void standard_output(const JobLine& line, const Context& context, std::string& out) {
  const JobSpec& spec = line.job->spec();
  if (context.expand_patterns || !line.job->has_spec() || spec.interactive()) {
    out += line.job->stdout_path();
  } else if (!spec.stdout_path().empty()) {
    pattern(spec, spec.stdout_path(), out);
  } else if (context.release < kSlurm24) {
    pattern(
        spec,
        "slurm-" +
            std::to_string(line.job->array_job_id() != 0 ? line.job->array_job_id() : line.job->job_id()) +
            ".out",
        out);
  } else {
    const std::string_view name = line.job->array_job_id() != 0 ? "slurm-%A_%a.out" : "slurm-%j.out";
    if (context.release < kSlurm26) out.append(spec.work_dir()).append(1, '/');
    out += name;
  }
}
void standard_error(const JobLine& line, const Context& context, std::string& out) {
  const JobRecord& job = *line.job;
  if (!job.has_spec() || (job.spec().stderr_path().empty() && context.release < kSlurm24)) {
    standard_output(line, context, out);
  } else if (job.spec().stderr_path().empty()) {
    out += "(null)";
  } else if (context.expand_patterns) {
    out += job.stderr_path();
  } else {
    pattern(job.spec(), job.spec().stderr_path(), out);
  }
}
void state(const JobLine& line, const Context&, std::string& out) {
  out += state_text(*line.job);
}
void compact_state(const JobLine& line, const Context&, std::string& out) {
  out += state_code(*line.job);
}
// squeue tells no limit of more than a year.
constexpr uint32_t kMinutesOfYear = 365 * 24 * 60;

void time_left(const JobLine& line, const Context& context, std::string& out) {
  if (line.job->time_limit_minutes() == kUnlimited) {
    out += "UNLIMITED";
  } else if (line.job->time_limit_minutes() > kMinutesOfYear) {
    out += "INVALID";
  } else {
    append_elapsed(out,
                   int64_t{60} * line.job->time_limit_minutes() - elapsed_seconds(*line.job, context.now));
  }
}
void time_limit(const JobLine& line, const Context&, std::string& out) {
  if (line.job->time_limit_minutes() == kUnlimited) {
    out += "UNLIMITED";
  } else if (line.job->time_limit_minutes() > kMinutesOfYear) {
    out += "INVALID";
  } else {
    append_elapsed(out, int64_t{60} * line.job->time_limit_minutes());
  }
}
void time_used(const JobLine& line, const Context& context, std::string& out) {
  append_elapsed(out, elapsed_seconds(*line.job, context.now));
}
void tres_alloc(const JobLine& line, const Context& context, std::string& out) {
  const bool waits = line.job->state() == model::JOB_PENDING;
  append_tres(out, waits ? requested_tres_of(*line.job) : tres_of(*line.job), text::TresOrder::kById,
              context);
}
void user_name(const JobLine& line, const Context&, std::string& out) {
  if (line.job->user_name().empty()) {
    append_number(out, line.job->uid());
  } else {
    out += line.job->user_name();
  }
}
void name(const JobLine& line, const Context&, std::string& out) {
  out += job_name(*line.job);
}
void work_dir(const JobLine& line, const Context&, std::string& out) {
  out += line.job->spec().work_dir();
}

constexpr Overflow kCut = Overflow::kCut;
constexpr Overflow kSpill = Overflow::kSpill;

// Letters first, in the order in which %all prints them; then the fields that only -O knows.
constexpr JobField kFields[] = {
    {'a', "account", "ACCOUNT", kCut, kCut, record_text<&JobRecord::account>},
    {'b', "tres-per-node", "TRES_PER_NODE", kCut, kCut,
     gres_request<&JobSpec::gres_per_node, &JobSpec::tres_per_node>},
    {'c', "mincpus", "MIN_CPUS", kCut, kCut, min_cpus},
    {'d', "mintmpdisk", "MIN_TMP_DISK", kCut, kCut, min_tmp_disk},
    {'e', "endtime", "END_TIME", kCut, kCut, end},
    {'f', "feature", "FEATURES", kCut, kCut, spec_text<&JobSpec::constraint>},
    {'g', "groupname", "GROUP", kCut, kCut, record_text<&JobRecord::group_name>},
    {'h', "oversubscribe", "OVER_SUBSCRIBE", kCut, kCut, oversubscribe},
    {'i', "jobarrayid", "JOBID", kCut, kCut, job_array_id},
    {'j', "name", "NAME", kCut, kCut, name},
    {'k', "comment", "COMMENT", kCut, kCut, spec_text<&JobSpec::comment>},
    {'l', "timelimit", "TIME_LIMIT", kSpill, kCut, time_limit},
    {'m', "minmemory", "MIN_MEMORY", kCut, kCut, min_memory},
    {'n', "reqnodes", "REQ_NODES", kSpill, kCut, requested_nodes},
    {'o', "command", "COMMAND", kCut, kCut, command},
    {'p', "priority", "PRIORITY", kCut, kCut, priority},
    {'q', "qos", "QOS", kCut, kCut, record_text<&JobRecord::qos>},
    {'r', "reason", "REASON", kCut, kCut, reason},
    {'s', "selectjobinfo", "", kCut, kCut, nothing},
    {'t', "statecompact", "ST", kCut, kCut, compact_state},
    {'u', "username", "USER", kCut, kCut, user_name},
    {'v', "reservation", "RESERVATION", kCut, kCut, spec_text<&JobSpec::reservation>},
    {'w', "wckey", "WCKEY", kCut, kCut, spec_text<&JobSpec::wckey>},
    {'x', "excnodes", "EXC_NODES", kSpill, kCut, excluded_nodes},
    {'y', "nice", "NICE", kCut, kCut, nice},
    {'z', "sct", "S:C:T", kCut, kCut, sockets_cores_threads},
    {'A', "jobid", "JOBID", kCut, kCut, record_number<&JobRecord::job_id>},
    {'B', "batchhost", "EXEC_HOST", kCut, kCut, batch_host},
    {'C', "numcpus", "CPUS", kCut, kCut, record_number<&JobRecord::num_cpus>},
    {'D', "numnodes", "NODES", kCut, kCut, num_nodes},
    {'E', "dependency", "DEPENDENCY", kCut, kCut, dependency},
    {'F', "arrayjobid", "ARRAY_JOB_ID", kCut, kCut, array_job_id},
    {'G', "groupid", "GROUP", kCut, kCut, record_number<&JobRecord::gid>},
    {'H', "sockets", "SOCKETS_PER_NODE", kCut, kCut, kSockets},
    {'I', "cores", "CORES_PER_SOCKET", kCut, kCut, kCores},
    {'J', "threads", "THREADS_PER_CORE", kCut, kCut, kThreads},
    {'K', "arraytaskid", "ARRAY_TASK_ID", kCut, kCut, array_task_id},
    {'L', "timeleft", "TIME_LEFT", kSpill, kCut, time_left},
    {'M', "timeused", "TIME", kSpill, kCut, time_used},
    {'N', "nodelist", "NODELIST", kSpill, kSpill, node_list},
    {'O', "contiguous", "CONTIGUOUS", kCut, kCut, contiguous},
    {'P', "partition", "PARTITION", kCut, kCut, partition},
    {'Q', "prioritylong", "PRIORITY", kCut, kCut, record_number<&JobRecord::priority>},
    {'R', "reasonlist", "NODELIST(REASON)", Overflow::kCutReason, kSpill, reason_list},
    {'S', "starttime", "START_TIME", kCut, kCut, start},
    {'T', "state", "STATE", kCut, kCut, state},
    {'U', "userid", "UID", kCut, kCut, record_number<&JobRecord::uid>},
    {'V', "submittime", "SUBMIT_TIME", kCut, kCut, record_time<&JobRecord::submit_time>},
    {'W', "licenses", "LICENSES", kCut, kCut, spec_text<&JobSpec::licenses>},
    {'X', "corespec", "CORE_SPEC", kCut, kCut, core_spec},
    {'Y', "schednodes", "SCHEDNODES", kSpill, kSpill, null},
    {'Z', "workdir", "WORK_DIR", kCut, kCut, work_dir},
    {'\0', "accruetime", "ACCRUE_TIME", kCut, kCut, record_time<&JobRecord::eligible_time>},
    {'\0', "admin_comment", "ADMIN_COMMENT", kCut, kCut, spec_text<&JobSpec::admin_comment>},
    {'\0', "allocnodes", "ALLOC_NODES", kCut, kCut, spec_text<&JobSpec::submit_host>},
    {'\0', "allocsid", "ALLOC_SID", kCut, kCut, zero},
    {'\0', "associd", "ASSOC_ID", kCut, kCut, association_id},
    {'\0', "batchflag", "BATCH_FLAG", kCut, kCut, batch_flag},
    {'\0', "boardspernode", "BOARDS_PER_NODE", kCut, kCut, zero},
    {'\0', "burstbuffer", "BURST_BUFFER", kCut, kCut, spec_text<&JobSpec::burst_buffer>},
    {'\0', "burstbufferstate", "BURST_BUFFER_STATE", kCut, kCut, null},
    {'\0', "cluster", "CLUSTER", kCut, kCut, cluster},
    {'\0', "clusterfeature", "CLUSTER_FEATURES", kCut, kCut, spec_text<&JobSpec::cluster_features>},
    {'\0', "container", "CONTAINER", kCut, kCut, spec_text<&JobSpec::container>},
    {'\0', "containerid", "CONTAINER_ID", kCut, kCut, spec_text<&JobSpec::container_id>},
    {'\0', "containertype", "CONTAINERTYPE", kCut, kCut, null},
    {'\0', "cronjob", "CRON_JOB", kCut, kCut, cron_job},
    {'\0', "cpus-per-task", "CPUS_PER_TASK", kCut, kCut, cpus_per_task},
    {'\0', "cpuspertask", "CPUS_PER_TASK", kCut, kCut, cpus_per_task},
    {'\0', "cpus-per-tres", "CPUS_PER_TRES", kCut, kCut, cpus_per_tres},
    {'\0', "deadline", "DEADLINE", kCut, kCut, deadline},
    {'\0', "delayboot", "DELAY_BOOT", kCut, kCut, delay_boot},
    {'\0', "derivedec", "DERIVED_EC", kCut, kCut, derived_exit_code},
    {'\0', "eligibletime", "ELIGIBLE_TIME", kCut, kCut, record_time<&JobRecord::eligible_time>},
    {'\0', "exclusive", "EXCLUSIVE", kCut, kCut, exclusive},
    {'\0', "exit_code", "EXIT_CODE", kCut, kCut, exit_code},
    {'\0', "extra", "EXTRA", kCut, kCut, spec_text<&JobSpec::extra>},
    {'\0', "gres", "TRES_PER_NODE", kCut, kCut,
     gres_request<&JobSpec::gres_per_node, &JobSpec::tres_per_node>},
    {'\0', "hetjobid", "HET_JOB_ID", kCut, kCut, het_job_id},
    {'\0', "hetjobidset", "HET_JOB_ID_SET", kCut, kCut, het_job_id_set},
    {'\0', "hetjoboffset", "HET_JOB_OFFSET", kCut, kCut, het_job_offset},
    {'\0', "lastschedeval", "LAST_SCHED_EVAL", kCut, kCut, not_available},
    {'\0', "licensesalloc", "LICENSES_ALLOC", kCut, kCut, licenses_alloc},
    {'\0', "maxcpus", "MAX_CPUS", kCut, kCut, record_number<&JobRecord::num_cpus>},
    {'\0', "maxnodes", "MAX_NODES", kCut, kCut, max_nodes},
    {'\0', "mcslabel", "MCSLABEL", kCut, kCut, spec_text<&JobSpec::mcs_label>},
    {'\0', "mem-per-tres", "MEM_PER_TRES", kCut, kCut, mem_per_tres},
    {'\0', "mintime", "TIME_MIN", kCut, kCut, min_time},
    {'\0', "network", "NETWORK", kCut, kCut, spec_text<&JobSpec::network>},
    {'\0', "ntperboard", "NTASKS_PER_BOARD", kCut, kCut, zero},
    {'\0', "ntpercore", "NTASKS_PER_CORE", kCut, kCut,
     tasks_per<&JobSpec::ntasks_per_core, &JobSpec::has_ntasks_per_core>},
    {'\0', "ntpernode", "NTASKS_PER_NODE", kCut, kCut, tasks_per_node},
    {'\0', "ntpersocket", "NTASKS_PER_SOCKET", kCut, kCut,
     tasks_per<&JobSpec::ntasks_per_socket, &JobSpec::has_ntasks_per_socket>},
    {'\0', "numtasks", "TASKS", kCut, kCut, record_number<&JobRecord::num_tasks>},
    {'\0', "origin", "ORIGIN", kCut, kCut, no_federation},
    {'\0', "originraw", "ORIGIN_RAW", kCut, kCut, no_federation},
    {'\0', "packjobid", "HET_JOB_ID", kCut, kCut, het_job_id},
    {'\0', "packjobidset", "HET_JOB_ID_SET", kCut, kCut, het_job_id_set},
    {'\0', "packjoboffset", "HET_JOB_OFFSET", kCut, kCut, het_job_offset},
    {'\0', "pendingtime", "PENDING_TIME", kCut, kCut, pending_time},
    {'\0', "preempttime", "PREEMPT_TIME", kCut, kCut, not_available},
    {'\0', "prefer", "PREFER", kCut, kCut, spec_text<&JobSpec::prefer>},
    {'\0', "profile", "PROFILE", kCut, kCut, profile},
    {'\0', "reboot", "REBOOT", kCut, kCut, reboot},
    {'\0', "reqswitch", "REQ_SWITCH", kCut, kCut, switches},
    {'\0', "requeue", "REQUEUE", kCut, kCut, requeue},
    {'\0', "resizetime", "RESIZE_TIME", kCut, kCut, not_available},
    {'\0', "restartcnt", "RESTART_COUNT", kCut, kCut, record_number<&JobRecord::restarts>},
    {'\0', "shared", "OVER_SUBSCRIBE", kCut, kCut, oversubscribe},
    {'\0', "siblingsactive", "ACTIVE_SIBLINGS", kCut, kCut, no_federation},
    {'\0', "siblingsactiveraw", "ACTIVE_SIBLINGS_RAW", kCut, kCut, no_federation},
    {'\0', "siblingsviable", "VIABLE_SIBLINGS", kCut, kCut, no_federation},
    {'\0', "siblingsviableraw", "VIALBLE_SIBLINGS_RAW", kCut, kCut, no_federation},  // Slurm's spelling
    {'\0', "segmentsize", "SEGMENT_SIZE", kCut, kCut, segment_size},
    {'\0', "sperboard", "SOCKETS_PER_BOARD", kCut, kCut, zero},
    {'\0', "stderr", "STDERR", kCut, kCut, standard_error},
    {'\0', "stdin", "STDIN", kCut, kCut, standard_input},
    {'\0', "stdout", "STDOUT", kCut, kCut, standard_output},
    {'\0', "system_comment", "SYSTEM_COMMENT", kCut, kCut, null},
    {'\0', "tres-alloc", "TRES_ALLOC", kCut, kCut, tres_alloc},
    {'\0', "tres", "TRES_ALLOC", kCut, kCut, tres_alloc},
    {'\0', "tres-bind", "TRES_BIND", kCut, kCut, tres_bind},
    {'\0', "tres-freq", "TRES_FREQ", kCut, kCut, tres_freq},
    {'\0', "tres-per-job", "TRES_PER_JOB", kCut, kCut, gres_request<&JobSpec::gpus, &JobSpec::tres_per_job>},
    {'\0', "tres-per-socket", "TRES_PER_SOCKET", kCut, kCut,
     gres_request<&JobSpec::gpus_per_socket, &JobSpec::tres_per_socket>},
    {'\0', "tres-per-task", "TRES_PER_TASK", kCut, kCut, tres_per_task},
    {'\0', "wait4switch", "WAIT4SWITCH", kCut, kCut, switches_wait},
};

}  // namespace

// %s is the sluid since 26.05; before, it tells nothing here.
std::span<const JobField> job_fields() {
  if (spoken_release() < kSlurm26) return kFields;
  static const auto kNewest = [] {
    auto fields = std::to_array(kFields);
    *std::find_if(fields.begin(), fields.end(), [](const JobField& field) { return field.letter == 's'; }) = {
        's', "sluid", "SLUID", kCut, kCut, sluid};
    return fields;
  }();
  return kNewest;
}

}  // namespace minke::view
