#include "view/why.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

#include "api/explanation.pb.h"
#include "model/nobody.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/signal_name.h"
#include "text/translate.h"

namespace minke::view {

using namespace model;
using text::tr;
using text::tr_count;

namespace {

std::string name_of(const JobRecord& job) {
  std::string name;
  append_job_id(name, job, nullptr, 64);
  return name;
}

std::string name_of(const api::JobInTheWay& job) {
  if (job.has_array_task_id())
    return std::to_string(job.array_job_id()) + "_" + std::to_string(job.array_task_id());
  return std::to_string(job.job_id());
}

std::string jobs_of(uint64_t count) {
  return tr_count("{} job", "{} jobs", count);
}

// "in about 3 h 10 min", "now".
std::string distance(int64_t seconds) {
  if (seconds <= 0) return tr("now");
  if (seconds < 60) return tr("in less than a minute");
  const int64_t minutes = (seconds + 30) / 60;
  const auto text = [](int64_t number) { return std::to_string(number); };
  if (minutes < 60) return tr("in about {} min", {text(minutes)});
  const int64_t hours = minutes / 60;
  if (hours < 48)
    return minutes % 60 == 0 ? tr("in about {} h", {text(hours)})
                             : tr("in about {} h {} min", {text(hours), text(minutes % 60)});
  return hours % 24 == 0 ? tr("in about {} d", {text(hours / 24)})
                         : tr("in about {} d {} h", {text(hours / 24), text(hours % 24)});
}

std::string moment(int64_t time, const DisplayContext& context) {
  std::string text;
  append_time(text, time, context);
  return text;
}

std::string when(int64_t time, const DisplayContext& context) {
  return time <= context.now ? tr("now") : distance(time - context.now) + " (" + moment(time, context) + ")";
}

std::string hold_words(const JobRecord& job) {
  if (job.reason() == WAIT_HELD_USER)
    return tr("It is held. To let it go: {}", {"scontrol release " + std::to_string(job.job_id())});
  if (job.reason() == WAIT_MAX_REQUEUE)
    return tr("It is held because it was requeued too often. To let it try again: {}",
              {"scontrol release " + std::to_string(job.job_id())});
  if (job.priority() != 0 && !job.reason_detail().empty())
    return tr("It is held until there is less on the disk: {}.", {job.reason_detail()});
  // On a real Slurm minke agent holds such jobs, and says so there.
  if (job.spec().admin_comment().starts_with("DiskQuotaExceeded"))
    return tr("It is held until there is less on the disk: {}.", {job.spec().admin_comment()});
  return tr("It is held by an administrator{}; only they can release it.",
            {job.reason_detail().empty() ? std::string() : " (" + job.reason_detail() + ")"});
}

std::string dependency_words(const JobRecord& job) {
  std::string list;
  append_dependencies(list, job);
  if (job.reason() == WAIT_DEP_INVALID)
    return tr(
        "It waits for jobs that ended in the wrong way, so it will never start: {}. Cancel it ({}), or "
        "change "
        "what it depends on.",
        {list, "scancel " + std::to_string(job.job_id())});
  return tr("It waits for other jobs: {}.", {list});
}

std::string priority_words(const api::ExplainJobReply& reply) {
  const std::string priority = tr("Its priority is {}.", {std::to_string(reply.job().priority())});
  if (reply.ahead() == 0) return priority;
  if (reply.ahead() >= 10000)
    return tr("{} jobs or more come before it. ", {std::to_string(reply.ahead())}) + priority;
  return tr_count("{} job comes before it. ", "{} jobs come before it. ", reply.ahead()) + priority;
}

// Why suitable nodes are unavailable: the reason's detail tells the kind. A real Slurm says
// "ReqNodeNotAvail, UnavailableNodes:n[1-2]".
std::string unavailable_nodes_words(const JobRecord& job) {
  constexpr std::string_view kSlurmsNames = "UnavailableNodes:";
  const std::string& detail = job.reason_detail();
  if (const size_t at = detail.find(kSlurmsNames); at != std::string::npos) {
    const std::string names = detail.substr(at + kSlurmsNames.size());
    return names.empty() ? tr("Nodes that it needs are down or drained.")
                         : tr("Nodes that it needs are down or drained: {}.", {names});
  }
  if (const size_t at = detail.find("the launcher "); at != std::string::npos)
    return tr("Nothing starts: {}. More: {}.", {detail.substr(at), "minke doctor, minke log"});
  if (detail.find("maintenance") != std::string::npos)
    return tr("Nodes that it needs are reserved for maintenance before it could end.");
  // So a real Slurm says of nodes that are drained, too.
  if (detail.find("May be reserved") != std::string::npos)
    return tr("Nodes that it needs are drained, or reserved for others before it could end.");
  if (detail.find("eserved") != std::string::npos)
    return tr("Nodes that it needs are reserved for others before it could end.");
  if (const size_t comma = detail.find(", "); comma != std::string::npos)
    return tr("It could start, but cannot be launched for now: {}. It is tried again by itself.",
              {detail.substr(comma + 2)});
  return tr("Nodes that it needs are down or drained.");
}

// Of a limit that only its name is known of, as a real Slurm tells it: where the limits can be seen.
std::string named_limit_words(const JobRecord& job) {
  const std::string reason(reason_text(job));
  if (reason.starts_with("Assoc"))
    return tr("A limit of its account holds it up, or of its user there ({}). The limits: {}",
              {reason, "sacctmgr show assoc where account=" + job.account()});
  if (reason.starts_with("QOS"))
    return tr("A limit of its QOS holds it up ({}). The limits: {}",
              {reason, "sacctmgr show qos " + job.qos()});
  return tr("It waits because of {}.", {reason});
}

std::string waits_for(const api::ExplainJobReply& reply, const DisplayContext& context) {
  const JobRecord& job = reply.job();
  switch (job.reason()) {
    case WAIT_HELD:
    case WAIT_HELD_USER:
    case WAIT_MAX_REQUEUE:
      return hold_words(job);
    case WAIT_DEPENDENCY:
    case WAIT_DEP_INVALID:
      return dependency_words(job);
    case WAIT_TIME:
      return tr("It may not begin before {}, {}.",
                {moment(job.eligible_time(), context), distance(job.eligible_time() - context.now)});
    case WAIT_ARRAY_TASK_LIMIT:
      return tr("As many tasks of its array run as its % allows. More at a time: {}",
                {"scontrol update jobid=" + std::to_string(job.array_job_id()) + " arraytaskthrottle=N"});
    case WAIT_RESOURCES:
      if (job.reason_detail().starts_with("Nodes required for job are DOWN"))
        return tr(
            "Nodes that it needs are down, drained, or reserved for jobs of partitions that come first.");
      return tr("It is the next of its partition, and waits until what it asks for is free.");
    case WAIT_PRIORITY:
      return priority_words(reply);
    case WAIT_LICENSES:
      return tr("It waits for licenses that others hold: {}.", {job.spec().licenses()});
    case WAIT_PART_DOWN:
    case WAIT_PART_INACTIVE:
      return tr("Its partition ({}) is switched off: nothing starts there for now.", {job.partition()});
    case WAIT_NODE_NOT_AVAIL:
      return unavailable_nodes_words(job);
    case WAIT_RESERVATION:
      return tr("It waits for its reservation, {}.", {job.spec().reservation()});
    case WAIT_PART_TIME_LIMIT:
      return tr("It asks for more time than its partition ({}) allows. Ask for less: {}",
                {job.partition(), "scontrol update jobid=" + std::to_string(job.job_id()) + " timelimit=…"});
    case FAIL_BAD_CONSTRAINTS:
      return tr("No nodes can ever give it what it asks for.");
    case WAIT_NO_REASON:
      if (const auto reason = reason_text(job); reason != "None")
        return tr("It waits because of {}.", {reason});
      return tr("It has just been submitted, or is about to start.");
    default:
      if (!reply.limit().empty())
        return tr("A limit holds it up ({}). {}.", {reason_text(job), reply.limit()});
      return named_limit_words(job);
  }
}

std::string size_of(const api::JobInTheWay& job) {
  std::string text = tr_count("{} CPU", "{} CPUs", job.num_cpus());
  if (job.num_gpus() > 0) text += ", " + tr_count("{} GPU", "{} GPUs", job.num_gpus());
  if (!job.node_list().empty()) return text + tr(" on {}", {job.node_list()});
  return text + (job.num_nodes() > 1 ? tr_count(" on {} node", " on {} nodes", job.num_nodes()) : "");
}

void append_job(std::string& out, const api::JobInTheWay& job, bool with_priority,
                const DisplayContext& context) {
  out += "  " + tr("{} of {}: {}", {name_of(job), job.user(), size_of(job)});
  if (!job.running() && with_priority) out += tr(", priority {}", {std::to_string(job.priority())});
  if (!job.running() && job.start_time() != 0)
    out += tr(", expected to start {}", {when(job.start_time(), context)});
  if (job.end_time() != 0) out += tr(", expected to end {}", {when(job.end_time(), context)});
  if (job.running() && job.limit_end() == 0) out += tr(", has no time limit");
  if (job.running() && job.limit_end() != 0)
    out += tr(", at the latest {}", {moment(job.limit_end(), context)});
  out += "\n";
}

void append_jobs(std::string& out, const api::ExplainJobReply& reply, bool running,
                 const std::string& heading, const DisplayContext& context) {
  bool first = true;
  for (const api::JobInTheWay& job : reply.jobs()) {
    if (job.running() != running) continue;
    if (std::exchange(first, false)) out += "\n" + heading + "\n";
    append_job(out, job, true, context);
  }
}

void append_jobs(std::string& out, const api::ExplainJobReply& reply, const DisplayContext& context) {
  switch (reply.job().reason()) {
    case WAIT_DEPENDENCY:
      for (const api::JobInTheWay& job : reply.jobs()) append_job(out, job, false, context);
      return;
    case WAIT_LICENSES:
      return append_jobs(out, reply, true, tr("These have them:"), context);
    default:
      append_jobs(out, reply, false, tr("Before it:"), context);
      append_jobs(
          out, reply, true,
          reply.limit().empty() ? tr("Running where it will start:") : tr("Running under these limits:"),
          context);
  }
}

std::string evidence(const api::ExplainJobReply& reply) {
  if (reply.runs_of_all() == 0) return tr("going by the time limits: no job has ended here yet");
  if (reply.runs_of_user() == 0)
    return tr("going by how long the last {} ran", {jobs_of(reply.runs_of_all())});
  return tr("going by how long the user's last {} ran", {jobs_of(std::min(reply.runs_of_user(), 60u))});
}

void append_start(std::string& out, const api::ExplainJobReply& reply, const DisplayContext& context) {
  if (reply.start_time() == 0) {
    out += "\n" +
           (reply.after_unlimited()
                ? tr("When it will start cannot be said: it waits for a job that has no time limit.")
                : tr("When it will start cannot be said.")) +
           "\n";
    return;
  }
  out += "\n" + tr("Expected start: {}", {when(reply.start_time(), context)});
  if (!reply.start_nodes().empty()) out += tr(" on {}", {reply.start_nodes()});
  out += ", " + evidence(reply) + ".\n";
  constexpr uint64_t kTelling = 10;  // fewer forecasts tell nothing about the next
  if (reply.judged_forecasts() >= kTelling && reply.latest() > reply.earliest() &&
      reply.start_time() > context.now)
    out += tr("Four of five such jobs start between {} and {} ({}).",
              {moment(reply.earliest(), context), moment(reply.latest(), context),
               tr_count("{} earlier forecast", "{} earlier forecasts", reply.judged_forecasts())}) +
           "\n";
  if (reply.start_by_limits() > reply.start_time())
    out += tr("If every job used all of its time: {}.", {when(reply.start_by_limits(), context)}) + "\n";
}

void append_notes(std::string& out, const api::ExplainJobReply& reply) {
  if (reply.notes_size() > 0) out += "\n" + tr("Not known here:") + "\n";
  for (const std::string& note : reply.notes()) out += "  " + text::printable(note) + "\n";
}

void append_smaller_requests(std::string& out, const api::ExplainJobReply& reply,
                             const DisplayContext& context) {
  if (reply.smaller_size() > 0) out += "\n" + tr("It would start sooner with") + "\n";
  for (const api::SmallerRequest& smaller : reply.smaller())
    out += "  " +
           tr("{} instead of {}: {}",
              {smaller.options(), smaller.instead_of(), when(smaller.start_time(), context)}) +
           "\n";
}

// Appends where, since when and until when a running or suspended job runs.
void append_run(std::string& out, const api::ExplainJobReply& reply, const DisplayContext& context) {
  const JobRecord& job = reply.job();
  out += tr("It runs on {} since {}.", {job.node_list(), moment(job.start_time(), context)}) + "\n";
  if (job.state() == JOB_SUSPENDED) out += tr("It is suspended: scontrol resume lets it go on.") + "\n";
  if (job.end_time() != 0) out += tr("Its time limit ends {}.", {when(job.end_time(), context)}) + "\n";
  if (job.end_time() == 0) out += tr("It has no time limit.") + "\n";
  if (job.state() == JOB_RUNNING && reply.runs_of_all() > 0 && reply.end_time() != 0)
    out += tr("Expected end: {}, {}.", {when(reply.end_time(), context), evidence(reply)}) + "\n";
}

// Whether it waits for its turn, so that others are ahead and a start can be expected.
bool is_in_queue(const api::ExplainJobReply& reply) {
  return reply.ahead() > 0 || reply.after_unlimited() || reply.start_time() != 0 || reply.jobs_size() > 0 ||
         reply.job().reason() == WAIT_RESOURCES || reply.job().reason() == WAIT_PRIORITY;
}

// A script that could not be started has no output, and its exit code is not its own.
bool never_ran(const JobRecord& job) {
  return job.reason() == FAIL_LAUNCH && (job.state() == JOB_FAILED || job.state() == JOB_CANCELLED);
}

std::string never_ran_words(const JobRecord& job) {
  const std::string& why = job.reason_detail();
  if (why.empty()) return tr("Its script never ran: a prolog failed, or its nodes could not be made ready.");
  std::string words = tr("Its script never ran: {}.", {why});
  if (!why.ends_with(std::strerror(ENOENT))) return words;
  for (const std::string* path : {&job.stdout_path(), &job.stderr_path()}) {
    const size_t slash = path->rfind('/');
    if (slash != std::string::npos && slash > 0 && why.find(*path) != std::string::npos)
      return words + tr(" The directory of its output must be there when it starts: {}",
                        {"mkdir -p " + path->substr(0, slash)});
  }
  return words;
}

std::string ended_words(const JobRecord& job) {
  if (never_ran(job)) return never_ran_words(job);
  const int code = (job.exit_code() >> 8) & 0xff, signal = job.exit_code() & 0x7f;
  switch (job.state()) {
    case JOB_COMPLETE:
      return tr("It ran to its end: exit code 0.");
    case JOB_TIMEOUT:
      return tr("It was stopped because its time limit ({}) was over. Ask for more with {}.",
                {text::format_minutes(job.time_limit_minutes()), "--time"});
    case JOB_CANCELLED:
      if (job.cancelled_by_uid() == model::kNobody)
        return tr("It was cancelled: what it depends on could not come about any more.");
      return job.start_time() == 0
                 ? tr("It was cancelled by {} before it had started.", {user_name_of(job.cancelled_by_uid())})
                 : tr("It was cancelled by {}.", {user_name_of(job.cancelled_by_uid())});
    case JOB_NODE_FAIL:
      return job.reason_detail().empty()
                 ? tr("The machine that it ran on failed.")
                 : tr("The machine that it ran on failed: {}.", {job.reason_detail()});
    case JOB_OOM:
      return tr("It used more memory than it had asked for. Ask for more with {}.", {"--mem"});
    case JOB_DEADLINE:
      return tr("It could not be done before its deadline.");
    case JOB_FAILED: {
      const std::string& output = job.stderr_path().empty() ? job.stdout_path() : job.stderr_path();
      if (signal != 0)
        return tr("Signal {} ({}) ended it.",
                  {std::to_string(signal), text::signal_name(static_cast<uint32_t>(signal))});
      return tr("Its script ended with exit code {}{}.",
                {std::to_string(code), code == 127
                                           ? " (" +
                                                 (job.reason_detail().empty() ? tr("a command was not found")
                                                                              : job.reason_detail()) +
                                                 ")"
                                       : code == 126 ? " (" + tr("a command could not be executed") + ")"
                                                     : std::string()}) +
             (output.empty() ? "" : tr(" What it wrote says more: {}", {output}));
    }
    default:
      return tr("It ended as {}.", {state_text(job)});
  }
}

// "1, 3-5, 9", twenty parts at most.
std::string ranges_of(const std::vector<uint32_t>& sorted) {
  constexpr size_t kMostParts = 20;
  std::string out;
  size_t parts = 0;
  for (size_t i = 0; i < sorted.size();) {
    size_t last = i;
    while (last + 1 < sorted.size() && sorted[last + 1] == sorted[last] + 1) ++last;
    if (++parts > kMostParts) return out + ", …";
    out += (out.empty() ? "" : ", ") + std::to_string(sorted[i]);
    if (last > i) out += (last == i + 1 ? ", " : "-") + std::to_string(sorted[last]);
    i = last + 1;
  }
  return out;
}

std::string heading(const JobRecord& job, const std::string& name) {
  return tr("Job {} ({}) of {}: {}",
            {name, text::printable(job.spec().name()), job.user_name(), state_text(job)}) +
         "\n";
}

nlohmann::ordered_json job_json(const JobRecord& job, const std::string& name) {
  return {{"job", name},
          {"job_id", job.job_id()},
          {"name", job.spec().name()},
          {"user", job.user_name()},
          {"partition", job.partition()},
          {"state", state_text(job)},
          {"reason", reason_text(job)}};
}

// Users' texts need not be UTF-8.
std::string dump(const nlohmann::ordered_json& value) {
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string why_report(const api::ExplainJobReply& reply, const DisplayContext& context) {
  const JobRecord& job = reply.job();
  std::string out = heading(job, reply.task().empty() ? name_of(job) : reply.task());
  if (job.state() != JOB_PENDING) {
    append_run(out, reply, context);
    return out;
  }
  out += waits_for(reply, context) + "\n";
  if (!reply.free_now().empty()) out += tr("Free now in {}: {}.", {job.partition(), reply.free_now()}) + "\n";
  if (!reply.never().empty()) out += reply.never() + "\n";
  if (reply.unavailable_nodes_size() > 0) {
    out += "\n" + tr("Nodes of its partition that take no jobs:") + "\n";
    for (const std::string& node : reply.unavailable_nodes()) out += "  " + node + "\n";
  }
  if (!is_in_queue(reply)) return out;
  append_jobs(out, reply, context);
  append_start(out, reply, context);
  append_smaller_requests(out, reply, context);
  append_notes(out, reply);
  return out;
}

std::string array_summary(const std::vector<const JobRecord*>& tasks) {
  std::vector<uint32_t> failed;
  size_t cancelled = 0;
  for (const JobRecord* task : tasks) {
    if (task->state() == JOB_CANCELLED) ++cancelled;
    if (task->state() != JOB_CANCELLED && task->state() != JOB_COMPLETE)
      failed.push_back(task->array_task_id());
  }
  std::sort(failed.begin(), failed.end());
  std::string out = tr_count("Of {} task that has ended ", "Of {} tasks that have ended ", tasks.size());
  if (failed.empty() && cancelled == 0) return out + tr("none failed.") + "\n";
  if (!failed.empty()) out += tr("{} failed: {}", {std::to_string(failed.size()), ranges_of(failed)});
  if (cancelled > 0)
    out += (failed.empty() ? "" : tr("; ")) + tr_count("{} was cancelled", "{} were cancelled", cancelled);
  return out + ".\n";
}

std::string why_ended_report(const JobRecord& job, const DisplayContext& context,
                             const EndedDetails& details) {
  std::string out = heading(job, name_of(job)) + ended_words(job) + "\n";
  if (job.start_time() != 0 && !never_ran(job))
    out += tr("It ran from {} to {}", {moment(job.start_time(), context), moment(job.end_time(), context)}) +
           (job.node_list().empty() ? "" : tr(" on {}", {job.node_list()})) + ".\n";
  if (!details.advice.empty()) out += "\n" + tr("What to do:") + "\n";
  for (const std::string& one : details.advice) out += "  - " + text::printable(one) + "\n";
  if (details.log_path.empty()) return out;
  const std::string path = text::printable(details.log_path);
  out += "\n" +
         (details.log.empty() ? tr("It wrote nothing to {}", {path}) : tr("The last lines of {}:", {path})) +
         "\n";
  for (const std::string_view line : text::split(details.log, '\n'))
    if (!line.empty()) out += "  | " + text::printable(line) + "\n";
  return out;
}

std::string why_json(const api::ExplainJobReply& reply, const DisplayContext& context) {
  const text::InEnglish english;
  const JobRecord& job = reply.job();
  nlohmann::ordered_json value = job_json(job, reply.task().empty() ? name_of(job) : reply.task());
  value["now"] = reply.now();
  if (job.state() != JOB_PENDING) {
    value["expected_end"] = reply.end_time();
    return dump(value);
  }
  value["waits_for"] = waits_for(reply, context);
  value["free_now"] = reply.free_now();
  value["limit"] = reply.limit();
  value["expected_start"] = reply.start_time();
  value["after_unlimited"] = reply.after_unlimited();
  value["nodes"] = reply.start_nodes();
  value["range"] = {
      {"earliest", reply.earliest()}, {"latest", reply.latest()}, {"forecasts", reply.judged_forecasts()}};
  value["expected_start_by_time_limits"] = reply.start_by_limits();
  value["evidence"] = {{"runs_of_user", reply.runs_of_user()}, {"runs", reply.runs_of_all()}};
  value["jobs_before"] = reply.ahead();
  auto& jobs = value["jobs"] = nlohmann::ordered_json::array();
  for (const api::JobInTheWay& other : reply.jobs())
    jobs.push_back({{"job", name_of(other)},
                    {"user", other.user()},
                    {"running", other.running()},
                    {"priority", other.priority()},
                    {"cpus", other.num_cpus()},
                    {"gpus", other.num_gpus()},
                    {"nodes", other.node_list()},
                    {"expected_start", other.start_time()},
                    {"expected_end", other.end_time()},
                    {"time_limit_end", other.limit_end()}});
  auto& smaller = value["smaller"] = nlohmann::ordered_json::array();
  for (const api::SmallerRequest& one : reply.smaller())
    smaller.push_back(
        {{"options", one.options()}, {"instead_of", one.instead_of()}, {"expected_start", one.start_time()}});
  value["unavailable_nodes"] =
      std::vector<std::string>(reply.unavailable_nodes().begin(), reply.unavailable_nodes().end());
  value["never"] = reply.never();
  if (reply.notes_size() > 0)
    value["not_known"] = std::vector<std::string>(reply.notes().begin(), reply.notes().end());
  return dump(value);
}

std::string why_ended_json(const JobRecord& job, const DisplayContext& context) {
  const text::InEnglish english;
  nlohmann::ordered_json value = job_json(job, name_of(job));
  value["now"] = context.now;
  value["ended"] = ended_words(job);
  value["start"] = job.start_time();
  value["end"] = job.end_time();
  return dump(value);
}

}  // namespace minke::view
