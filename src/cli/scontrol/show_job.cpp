// scontrol show job and show step.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <utility>
#include <vector>

#include "base/version.h"
#include "cli/scontrol/show.h"
#include "environment/job_paths.h"
#include "model/job_record.pb.h"
#include "model/job_spec.pb.h"
#include "model/job_state.pb.h"
#include "model/job_terms.pb.h"
#include "model/step_record.pb.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/mail_type.h"
#include "text/number.h"
#include "text/sluid.h"
#include "text/state.h"
#include "text/tres.h"
#include "view/block.h"
#include "view/sharing.h"
#include "view/step_requests.h"
#include "view/steps.h"
#include "view/text.h"

namespace minke::cli {
namespace {

using model::JobRecord;
using model::JobSpec;

std::string or_null(std::string_view text) {
  return text.empty() ? "(null)" : std::string(text);
}
std::string number_or(bool known, uint32_t number, const char* otherwise) {
  return known ? std::to_string(number) : otherwise;
}
std::string size_text(uint64_t mebibytes, const view::DisplayContext& context) {
  std::string out;
  if (mebibytes == 0) {
    out = "0";
  } else {
    view::append_mebibytes(out, mebibytes, context);
  }
  return out;
}
std::string time_text(int64_t time, const view::DisplayContext& context, std::string_view none = "Unknown") {
  std::string out;
  view::append_time(out, time, context, none);
  return out;
}
std::string limit_text(uint32_t minutes) {
  return text::format_minutes(minutes);
}

// "gpu:a100:1(IDX:0)", and the allocation of each node; nodes with the same one share a line.
void put_details(view::Block& block, const JobRecord& job) {
  std::vector<model::Gres> gres(job.tres_gres().begin(), job.tres_gres().end());
  block.put("JOB_GRES={}", or_null(text::format_gres_list(gres)));
  std::string previous;
  std::vector<std::string> nodes;
  auto flush = [&] {
    if (nodes.empty()) return;
    block.end();
    block.put("  Nodes={} {}", text::compress_hostlist_sorted(nodes), previous);
    nodes.clear();
  };
  for (const model::NodeAllocation& node : job.nodes()) {
    std::vector<model::GresAllocation> held(node.gres().begin(), node.gres().end());
    std::string text =
        fmt::format("CPU_IDs={} Mem={} GRES={}", node.cpu_ids().empty() ? "N/A" : node.cpu_ids(),
                    node.memory_mib(), text::format_gres_allocation(held));
    if (text != previous) flush();
    previous = std::move(text);
    nodes.push_back(node.node());
  }
  flush();
  block.end();
}

void put_identity(view::Block& block, const JobRecord& job, const uint32_t* waiting_task,
                  const view::DisplayContext& context, view::ShowOptions options) {
  block.put("JobId={}", job.job_id());
  if (job.array_job_id() != 0) {
    std::string tasks;
    view::append_task_ids(tasks, job, waiting_task, context.task_list_limit);
    block.put(" ArrayJobId={} ArrayTaskId={}", job.array_job_id(), tasks);
    if (uint32_t throttle = std::max(job.spec().array().max_running(), job.array_pending().max_running()))
      block.put(" ArrayTaskThrottle={}", throttle);
  }
  if (job.het_job_id() != 0) {
    block.put(" HetJobId={} HetJobOffset={} JobName={}", job.het_job_id(), job.het_job_offset(),
              job.spec().name());
    block.end();
    block.put("HetJobIdSet={}", job.het_job_id_set()).end();
  } else {
    block.put(" JobName={}", job.spec().name()).end();
  }
  if (options.details && context.release >= kSlurm26) block.put("SLUID={}", text::format_sluid(job)).end();
  block
      .put("UserId={}({}) GroupId={}({}) MCS_label={}", job.user_name(), job.uid(), job.group_name(),
           job.gid(), job.spec().mcs_label().empty() ? "N/A" : job.spec().mcs_label())
      .end();
  block.put("Priority={} Nice={} Account={} QOS={}", job.priority(), job.spec().nice(),
            or_null(job.account()), or_null(job.qos()));
  if (options.wckeys) block.put(" WCKey={}", job.spec().wckey());
  block.end();
}

void put_state(view::Block& block, const JobRecord& job, const view::DisplayContext& context,
               view::ShowOptions options) {
  std::string dependencies, used;
  view::append_dependencies(dependencies, job);
  std::string reason = view::reason_text(job, context.release);
  std::replace(reason.begin(), reason.end(), ' ', '_');
  block.put("JobState={} Reason={} Dependency={}", view::state_text(job), reason, dependencies).end();
  block
      .put("Requeue={} Restarts={} BatchFlag={} Reboot=0 ExitCode={}", job.requeue_allowed() ? 1 : 0,
           job.restarts(), job.spec().interactive() ? 0 : 1, text::format_exit_code(job.exit_code()))
      .end();
  if (options.details) block.put("DerivedExitCode={}", text::format_exit_code(job.derived_exit_code())).end();
  view::append_clock(used, view::elapsed_seconds(job, context.now));
  block
      .put("RunTime={} TimeLimit={} TimeMin={}", used, limit_text(job.time_limit_minutes()),
           job.spec().has_time_min_minutes() ? limit_text(job.spec().time_min_minutes()) : "N/A")
      .end();
  block
      .put("SubmitTime={} EligibleTime={}", time_text(job.submit_time(), context),
           time_text(job.eligible_time(), context))
      .end();
  block.put("AccrueTime={}", time_text(job.eligible_time(), context)).end();
  const bool endless = job.time_limit_minutes() == text::kUnlimited && !view::is_finished(job.state());
  block
      .put("StartTime={} EndTime={} Deadline={}", time_text(view::start_time(job), context),
           time_text(endless ? 0 : view::end_time(job), context),
           time_text(job.spec().deadline(), context, "N/A"))
      .end();
  if (job.spec().has_cron())
    block
        .put("{}CrontabSpec=\"{}\"", view::is_finished(job.state()) ? "" : "CronJob=Yes ",
             job.spec().cron().spec())
        .end();
  block
      .put("SuspendTime={} SecsPreSuspend={} LastSchedEval={} Scheduler=Main",
           time_text(job.suspend_time(), context, "None"), job.pre_suspend_seconds(),
           time_text(job.last_evaluation(), context))
      .end();
}

void put_placement(view::Block& block, const JobRecord& job, const view::DisplayContext& context,
                   view::ShowOptions options) {
  const JobSpec& spec = job.spec();
  block.put("Partition={} AllocNode:Sid={}:0", job.partition(), spec.submit_host()).end();
  block.put("ReqNodeList={} ExcNodeList={}", or_null(spec.node_list()), or_null(spec.exclude())).end();
  block.put("NodeList={}", job.node_list()).end();
  if (!job.spec().batch_features().empty()) {
    block.put("BatchFeatures={}", job.spec().batch_features());
    if (job.batch_host().empty()) {
      block.end();
    } else {
      block.put(" ");
    }
  }
  if (!job.batch_host().empty()) block.put("BatchHost={}", job.batch_host()).end();
  const bool waits = job.state() == model::JOB_PENDING;
  if (waits && job.spec().node_counts_size() > 0) {
    block.put("NumNodes={}", view::node_counts_text(job.spec()));
  } else {
    block.put("NumNodes={}", view::least_nodes(job, context.release));
    if (const uint32_t most = waits ? view::most_nodes(job, context.release) : 0; most != 0)
      block.put("-{}", most);
  }
  block
      .put(" NumCPUs={} NumTasks={} CPUs/Task={} ReqB:S:C:T=0:0:{}:{}", job.num_cpus(),
           number_or(job.num_tasks() != 0, job.num_tasks(), "N/A"), view::cpus_of_a_task(spec),
           number_or(spec.has_cores_per_socket(), spec.cores_per_socket(), "*"),
           number_or(spec.has_threads_per_core(), spec.threads_per_core(), "*"))
      .end();
  std::string tres;
  view::append_tres(tres, waits ? view::requested_tres_of(job) : view::tres_of(job), text::TresOrder::kById,
                    context);
  if (context.release < kSlurm24) {
    block.put("TRES={}", tres).end();
  } else {
    std::string asked;
    view::append_tres(asked, view::requested_tres_of(job), text::TresOrder::kById, context);
    block.put("ReqTRES={}", asked).end();
    block.put("AllocTRES={}", waits || job.start_time() == 0 ? "(null)" : tres).end();
  }
  block
      .put("Socks/Node={} NtasksPerN:B:S:C={}:0:{}:{} CoreSpec={}",
           number_or(spec.has_sockets_per_node(), spec.sockets_per_node(), "*"), spec.ntasks_per_node(),
           number_or(spec.has_ntasks_per_socket(), spec.ntasks_per_socket(), "*"),
           number_or(spec.has_ntasks_per_core(), spec.ntasks_per_core(), "*"),
           number_or(spec.has_core_spec(), spec.core_spec(), "*"))
      .end();
  if (options.details && !job.nodes().empty()) put_details(block, job);
  view::MemoryRequest memory = view::memory_request(job);
  const bool by_gpu = context.release >= kSlurm24 && spec.has_mem_per_gpu_mib();
  block.put("MinCPUsNode={} MinMemory{}={} MinTmpDiskNode={}", view::min_cpus_per_node(spec),
            by_gpu           ? "TRES"
            : memory.per_cpu ? "CPU"
                             : "Node",
            size_text(by_gpu ? spec.mem_per_gpu_mib() : memory.mebibytes, context),
            size_text(spec.tmp_mib(), context));
  if (context.release >= kSlurm26 && !spec.mem_update().empty()) {
    const size_t at = spec.mem_update().find('@');
    block.put(" MemUpdate={}%{}min", spec.mem_update().substr(0, at), spec.mem_update().substr(at));
  }
  block.end();
  block
      .put("Features={} DelayBoot={}", or_null(spec.constraint()),
           text::format_seconds(int64_t{60} * spec.delay_boot_minutes()))
      .end();
  if (!spec.cluster_features().empty()) block.put("ClusterFeatures={}", spec.cluster_features()).end();
  if (!spec.prefer().empty()) block.put("Prefer={}", spec.prefer()).end();
  if (!spec.reservation().empty()) block.put("Reservation={}", spec.reservation()).end();
  block.put("OverSubscribe={} ", view::sharing_text(spec, context.release));
  if (context.release >= kSlurm26) block.put("Exclusive={} ", view::exclusive_text(spec));
  block.put("Contiguous={} Licenses={} ", spec.contiguous() ? 1 : 0, or_null(spec.licenses()));
  if (context.release >= kSlurm26)
    block.put("LicensesAlloc={} ", or_null(waits                          ? ""
                                           : job.licenses_alloc().empty() ? spec.licenses()
                                                                          : job.licenses_alloc()));
  block.put("Network={}", or_null(spec.network())).end();
}

// --cpu-freq=low-high:performance, in Slurm's capitals. One frequency is the highest; a governor
// alone is not shown.
void put_frequency(view::Block& block, std::string_view given, int release) {
  const auto capital = [](std::string_view word) {
    for (const std::string_view known : {"OnDemand", "PowerSave", "SchedUtil", "UserSpace"})
      if (text::equals_ignoring_case(word, known)) return std::string(known);
    std::string out = text::lower_case(word);
    if (!out.empty()) out[0] = text::to_upper(out[0]);
    return out;
  };
  const size_t colon = given.find(':'), dash = given.substr(0, colon).find('-');
  const std::string first = capital(given.substr(0, std::min(dash, colon)));
  if (given.empty()) return;
  for (const std::string_view governor :
       {"Conservative", "Ondemand", "Performance", "Powersave", "Schedutil", "Userspace"}) {
    if (!text::equals_ignoring_case(first, governor)) continue;
    block.put("Governor={}", first).end();
    return;
  }
  if (dash == std::string_view::npos) {
    block.put("CPU_max_freq={} ", first);
  } else {
    block.put("CPU_min_freq={} CPU_max_freq={} ", first, capital(given.substr(0, colon).substr(dash + 1)));
  }
  if (colon != std::string_view::npos) {
    block.put("Governor={}", capital(given.substr(colon + 1)));
  } else if (release >= kSlurm24) {
    block.put("Governor=UserSpace");
  }
  block.end();
}

void put_power(view::Block& block, const JobSpec& spec, int release) {
  if (spec.has_switches())
    block.put("Switches={}@{}", spec.switches(), text::format_seconds(spec.switches_wait_seconds())).end();
  if (!spec.burst_buffer().empty()) block.put("BurstBuffer={}", spec.burst_buffer()).end();
  put_frequency(block, spec.cpu_freq(), release);
  if (release >= kSlurm24) return;
  std::string power = spec.power();
  for (char& letter : power) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  block.put("Power={}", power).end();
}

void put_segments(view::Block& block, const JobSpec& spec) {
  if (spec.segment_size() == 0) return;
  block.put("SegmentSize={}", spec.segment_size());
  if (spec.spread_segments()) block.put(" SpreadSegments=Yes");
  if (spec.consolidate_segments()) block.put(" ConsolidateSegments=Yes");
  block.end();
}

void put_files(view::Block& block, const JobRecord& job, const uint32_t* waiting_task, int release) {
  const JobSpec& spec = job.spec();
  std::string command;
  view::append_command(command, spec);
  block.put("Command={}", command).end();
  const bool newest = release >= kSlurm26;
  if (newest) block.put("SubmitLine={}", spec.submit_line()).end();
  block.put("WorkDir={}", spec.work_dir()).end();
  const char* behind = newest ? "" : " ";  // older ones have a blank at the end of these lines
  if (!spec.admin_comment().empty()) block.put("AdminComment={}{}", spec.admin_comment(), behind).end();
  if (!spec.comment().empty()) block.put("Comment={}{}", spec.comment(), behind).end();
  if (!spec.extra().empty() && release >= kSlurm24) block.put("Extra={}{}", spec.extra(), behind).end();
  if (spec.interactive()) {
    put_power(block, spec, release);
    return;
  }
  environment::JobPaths paths{job.stdin_path(), job.stdout_path(), job.stderr_path()};
  if (waiting_task != nullptr) {  // its record, shared with others, does not have its files
    JobRecord task = job;
    task.set_array_task_id(*waiting_task);
    paths = environment::paths_of(task);
  }
  const bool with_output = paths.error.empty() || (newest && spec.stderr_path().empty());
  block.put("StdErr={}", !with_output ? paths.error : newest ? "" : paths.out).end();
  block.put("StdIn={}", paths.in.empty() ? "/dev/null" : paths.in).end();
  block.put("StdOut={}", paths.out).end();
  if (newest) put_segments(block, spec);
  if (release >= kSlurm24 && spec.has_oom_kill_step())
    block.put("OOMKillStep={}", spec.oom_kill_step() ? 1 : 0).end();
  put_power(block, spec, release);
}

void put_requests(view::Block& block, const JobSpec& spec, const std::string& user, int release) {
  auto gres = [&](const char* name, const std::string& given,
                  const google::protobuf::RepeatedPtrField<model::Gres>& list) {
    std::string text;
    view::append_tres_per(text, given, list, "");
    if (!text.empty()) block.put("{}={}", name, view::tres_in_words(text, release)).end();
  };
  if (spec.has_kill_on_invalid_dependency()) {  // in Slurm's spelling
    const char* name = release < kSlurm26 ? "KillOInInvalidDependent" : "KillOnInvalidDependent";
    block.put("{}={}", name, spec.kill_on_invalid_dependency() ? "Yes" : "No").end();
  }
  if (spec.gres_flags().find("enforce-binding") != std::string::npos) block.put("GresEnforceBind=Yes").end();
  if (spec.gres_flags().find("disable-binding") != std::string::npos) block.put("GresEnforceBind=No").end();
  if (spec.gres_flags().find("multiple-tasks-per-sharing") != std::string::npos)
    block.put("GresOneTaskPerSharing=No").end();
  if (spec.spread_job()) block.put("SpreadJob=Yes").end();
  for (const view::RequestWord& word : view::requests_by_gpu(spec, release))
    block.put("{}={}", word.name, word.text).end();
  gres("TresPerJob", spec.tres_per_job(), spec.gpus());
  gres("TresPerNode", spec.tres_per_node(), spec.gres_per_node());
  gres("TresPerSocket", spec.tres_per_socket(), spec.gpus_per_socket());
  if (const std::string text = view::tres_per_task_text(spec, release); !text.empty())
    block.put("TresPerTask={}", text).end();
  if (const std::string kinds = text::format_mail_types(text::parse_mail_types(spec.mail_type()));
      !kinds.empty())
    block.put("MailUser={} MailType={}", spec.mail_user().empty() ? user : spec.mail_user(), kinds).end();
  if (!spec.container().empty() || !spec.container_id().empty())
    block
        .put("{}Container={}{}", release < kSlurm26 ? "" : "ContainerType=(null) ", or_null(spec.container()),
             release < kSlurm24 ? "" : " ContainerID=" + or_null(spec.container_id()))
        .end();
}

}  // namespace

void append_job_block(std::string& out, const JobRecord& job, const uint32_t* waiting_task,
                      const view::DisplayContext& context, view::ShowOptions options) {
  view::Block block(out, options);
  put_identity(block, job, waiting_task, context, options);
  put_state(block, job, context, options);
  put_placement(block, job, context, options);
  put_files(block, job, waiting_task, context.release);
  put_requests(block, job.spec(), job.user_name(), context.release);
  if (context.release >= kSlurm26)  // older ones leave the indent of one more line
    out.erase(out.find_last_not_of(" \n") + 1);
  out += options.one_line ? "\n" : "\n\n";
}

void append_step_block(std::string& out, const model::StepRecord& step, const JobRecord& job,
                       const view::DisplayContext& context, view::ShowOptions options) {
  view::Block block(out, options);
  std::string id, tres;
  view::append_step_id(id, step, false);
  view::append_tres(tres, view::tres_of(step), text::TresOrder::kByName, context);
  block
      .put("StepId={} UserId={} StartTime={} TimeLimit={}", id, job.uid(),
           time_text(step.start_time(), context),
           limit_text(step.has_time_limit_minutes() ? step.time_limit_minutes() : UINT32_MAX))
      .end();
  if (options.details && context.release >= kSlurm26) block.put("SLUID={}", text::format_sluid(job)).end();
  block
      .put("State={} Partition={} NodeList={}", view::step_state_text(step), job.partition(),
           step.node_list())
      .end();
  block
      .put("Nodes={} CPUs={} Tasks={} Name={} Network=(null)", step.num_nodes(), step.num_cpus(),
           step.num_tasks(), step.name())
      .end();
  block.put("TRES={}", or_null(tres)).end();
  block.put("ResvPorts=(null)").end();
  const std::string distribution = step.distribution().empty() ? "Block" : step.distribution();
  block.put("CPUFreqReq=Default{}", step.kind() == model::STEP_NORMAL ? " Dist=" + distribution : "").end();
  block.put("SrunHost:Pid={}:{}", or_null(step.srun_host()), step.srun_pid());
  for (const view::RequestWord& word : view::step_requests(step, job.spec(), context.release)) {
    block.end();
    block.put("{}={}", word.name, word.text);
  }
  if (context.release >= kSlurm26) {
    const view::StepLine line{&step, &job};
    const std::pair<const char*, const std::string&> streams[] = {
        {"StdIn", step.stdin_path()}, {"StdErr", step.stderr_path()}, {"StdOut", step.stdout_path()}};
    for (const auto& [name, path] : streams) {
      if (path.empty()) continue;
      block.end();
      block.put("{}={}", name, view::step_file(line, path));
    }
  }
  out += options.one_line ? "\n" : "\n\n";
}

}  // namespace minke::cli
