#include "view/sdiag.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "api/diagnostics.pb.h"
#include "view/text.h"

namespace minke::view {
namespace {

using api::CycleStatistics;
using api::RequestStatistics;

uint64_t mean(uint64_t total, uint64_t count) {
  return count == 0 ? 0 : total / count;
}
uint64_t per_minute(uint64_t count, const api::DiagnosticsReply& reply) {
  const int64_t minutes = (reply.now() - reply.since()) / 60;
  return minutes <= 0 ? 0 : count / static_cast<uint64_t>(minutes);
}

// "Sat Nov 21 03:29:22 2026 (1795231762)"
std::string moment(int64_t time) {
  std::string text = view::date_line(time);
  text.pop_back();
  return fmt::format("{} ({})", text, time);
}

std::vector<const RequestStatistics*> sorted(
    const google::protobuf::RepeatedPtrField<RequestStatistics>& lines, RequestOrder order) {
  std::vector<const RequestStatistics*> result;
  for (const RequestStatistics& line : lines) result.push_back(&line);
  std::stable_sort(result.begin(), result.end(), [&](const auto* left, const auto* right) {
    switch (order) {
      case RequestOrder::kById:
        return left->id() < right->id();
      case RequestOrder::kByTotalTime:
        return left->total_time() > right->total_time();
      case RequestOrder::kByAverageTime:
        return mean(left->total_time(), left->count()) > mean(right->total_time(), right->count());
      default:
        return left->count() > right->count();
    }
  });
  return result;
}

}  // namespace

std::string sdiag_report(const api::DiagnosticsReply& reply, RequestOrder order) {
  std::string out;
  const auto line = [&]<typename... Values>(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out), format, std::forward<Values>(values)...);
    out += '\n';
  };
  const std::string rule(55, '*');
  const CycleStatistics& passes = reply.passes();
  const CycleStatistics& backfill = reply.backfill_passes();
  line("{}", rule);
  line("sdiag output at {}", moment(reply.now()));
  line("Data since      {}", moment(reply.since()));
  line("{}", rule);
  line("Server thread count:  {}", 3);  // the state's, and the store's writer and reader
  line("Agent queue size:     0");
  line("Agent count:          0");
  line("Agent thread count:   0");
  line("DBD Agent queue size: 0\n");
  line("Jobs submitted: {}", reply.jobs_submitted());
  line("Jobs started:   {}", reply.jobs_started());
  line("Jobs completed: {}", reply.jobs_completed());
  line("Jobs canceled:  {}", reply.jobs_canceled());
  line("Jobs failed:    {}\n", reply.jobs_failed());
  line("Job states ts:  {}", moment(reply.now()));
  line("Jobs pending:   {}", reply.jobs_pending());
  line("Jobs running:   {}\n", reply.jobs_running());
  line("Main schedule statistics (microseconds):");
  line("\tLast cycle:   {}", passes.last_time());
  line("\tMax cycle:    {}", passes.max_time());
  line("\tTotal cycles: {}", passes.count());
  if (passes.count() > 0) {
    line("\tMean cycle:   {}", mean(passes.total_time(), passes.count()));
    line("\tMean depth cycle:  {}", mean(passes.total_depth(), passes.count()));
  }
  if (reply.now() - reply.since() > 60) line("\tCycles per minute: {}", per_minute(passes.count(), reply));
  line("\tLast queue length: {}\n", passes.last_queue_length());
  line("Backfilling stats");
  line("\tTotal backfilled jobs (since last slurm start): {}", reply.backfilled_since_start());
  line("\tTotal backfilled jobs (since last stats cycle start): {}", reply.backfilled());
  line("\tTotal backfilled heterogeneous job components: 0");
  line("\tTotal cycles: {}", backfill.count());
  line("\tLast cycle when: {}", backfill.last_start() == 0 ? "N/A" : moment(backfill.last_start()));
  line("\tLast cycle: {}", backfill.last_time());
  line("\tMax cycle:  {}", backfill.max_time());
  if (backfill.count() > 0) {
    line("\tMean cycle: {}", mean(backfill.total_time(), backfill.count()));
  }
  line("\tLast depth cycle: {}", backfill.last_depth());
  line("\tLast depth cycle (try sched): {}", backfill.last_depth());
  if (backfill.count() > 0) {
    line("\tDepth Mean: {}", mean(backfill.total_depth(), backfill.count()));
    line("\tDepth Mean (try depth): {}", mean(backfill.total_depth(), backfill.count()));
  }
  line("\tLast queue length: {}", backfill.last_queue_length());
  if (backfill.count() > 0) {
    line("\tQueue length mean: {}", mean(backfill.total_queue_length(), backfill.count()));
  }
  line("\tLast table size: {}", backfill.last_queue_length());
  if (backfill.count() > 0) {
    line("\tMean table size: {}", mean(backfill.total_queue_length(), backfill.count()));
  }
  line("\nLatency for 1000 calls to gettimeofday(): {} microseconds\n", reply.gettimeofday_latency());
  line("Remote Procedure Call statistics by message type");
  for (const RequestStatistics* kind : sorted(reply.by_type(), order))
    line("\t{:<40}({:5}) count:{:<6} ave_time:{:<6} total_time:{}", kind->name(), kind->id(), kind->count(),
         mean(kind->total_time(), kind->count()), kind->total_time());
  line("\nRemote Procedure Call statistics by user");
  for (const RequestStatistics* user : sorted(reply.by_user(), order))
    line("\t{:<16}({:8}) count:{:<6} ave_time:{:<6} total_time:{}", user->name(), user->id(), user->count(),
         mean(user->total_time(), user->count()), user->total_time());
  line("\nPending RPC statistics\n\tNo pending RPCs");
  return out;
}

void describe_diagnostics(Document& document, const api::DiagnosticsReply& reply) {
  const CycleStatistics& passes = reply.passes();
  const CycleStatistics& backfill = reply.backfill_passes();
  const auto integer = [&](std::string_view key, uint64_t value) {
    document.integer(key, static_cast<int64_t>(value));
  };
  document.begin_object("statistics");
  integer("parts_packed", 1);
  document.number("req_time", reply.now());
  document.number("req_time_start", reply.since());
  integer("server_thread_count", 3);
  for (const char* key : {"agent_queue_size", "agent_count", "agent_thread_count", "dbd_agent_queue_size"})
    integer(key, 0);
  integer("gettimeofday_latency", reply.gettimeofday_latency());
  integer("schedule_cycle_max", passes.max_time());
  integer("schedule_cycle_last", passes.last_time());
  integer("schedule_cycle_sum", passes.total_time());
  integer("schedule_cycle_total", passes.count());
  integer("schedule_cycle_mean", mean(passes.total_time(), passes.count()));
  integer("schedule_cycle_mean_depth", mean(passes.total_depth(), passes.count()));
  integer("schedule_cycle_per_minute", per_minute(passes.count(), reply));
  integer("schedule_cycle_depth", passes.total_depth());
  document.begin_object("schedule_exit");
  integer("end_job_queue", passes.count());
  for (const char* key :
       {"default_queue_depth", "max_job_start", "max_rpc_cnt", "max_sched_time", "licenses"})
    integer(key, 0);
  document.end();
  integer("schedule_queue_length", passes.last_queue_length());
  integer("jobs_submitted", reply.jobs_submitted());
  integer("jobs_started", reply.jobs_started());
  integer("jobs_completed", reply.jobs_completed());
  integer("jobs_canceled", reply.jobs_canceled());
  integer("jobs_failed", reply.jobs_failed());
  integer("jobs_pending", reply.jobs_pending());
  integer("jobs_running", reply.jobs_running());
  document.number("job_states_ts", reply.now());
  integer("bf_backfilled_jobs", reply.backfilled_since_start());
  integer("bf_last_backfilled_jobs", reply.backfilled());
  integer("bf_backfilled_het_jobs", 0);
  integer("bf_cycle_counter", backfill.count());
  integer("bf_cycle_mean", mean(backfill.total_time(), backfill.count()));
  integer("bf_depth_mean", mean(backfill.total_depth(), backfill.count()));
  integer("bf_depth_mean_try", mean(backfill.total_depth(), backfill.count()));
  integer("bf_cycle_sum", backfill.total_time());
  integer("bf_cycle_last", backfill.last_time());
  integer("bf_cycle_max", backfill.max_time());
  document.begin_object("bf_exit");
  integer("end_job_queue", backfill.count());
  for (const char* key :
       {"bf_max_job_start", "bf_max_job_test", "bf_max_time", "bf_node_space_size", "state_changed"})
    integer(key, 0);
  document.end();
  integer("bf_last_depth", backfill.last_depth());
  integer("bf_last_depth_try", backfill.last_depth());
  integer("bf_depth_sum", backfill.total_depth());
  integer("bf_depth_try_sum", backfill.total_depth());
  integer("bf_queue_len", backfill.last_queue_length());
  integer("bf_queue_len_mean", mean(backfill.total_queue_length(), backfill.count()));
  integer("bf_queue_len_sum", backfill.total_queue_length());
  integer("bf_table_size", backfill.last_queue_length());
  integer("bf_table_size_sum", backfill.total_queue_length());
  integer("bf_table_size_mean", mean(backfill.total_queue_length(), backfill.count()));
  document.number("bf_when_last_cycle", backfill.last_start());
  document.boolean("bf_active", false);
  const auto requests = [&](const RequestStatistics& line, const char* name, const char* id) {
    document.begin_object();
    document.text(name, line.name());
    integer(id, line.id());
    integer("count", line.count());
    integer("total_time", line.total_time());
    document.number("average_time", static_cast<int64_t>(mean(line.total_time(), line.count())));
    document.end();
  };
  document.begin_array("rpcs_by_message_type");
  for (const RequestStatistics& line : reply.by_type()) requests(line, "message_type", "type_id");
  document.end();
  document.begin_array("rpcs_by_user");
  for (const RequestStatistics& line : reply.by_user()) requests(line, "user", "user_id");
  document.end();
  for (const char* key : {"pending_rpcs", "pending_rpcs_by_hostlist"}) {
    document.begin_array(key);
    document.end();
  }
  document.end();
}

}  // namespace minke::view
