#include "cli/fetch.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "api/accounting.pb.h"
#include "api/job_filter.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/step_usage.pb.h"
#include "cli/write_bytes.h"
#include "model/cluster.pb.h"
#include "model/job_record.pb.h"
#include "model/step_record.pb.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::cli {
namespace {

// Keeps the parts of an answer; `records_of` finds the records in each.
template <typename Reply, typename Record>
Result<Records<Reply, Record>> keep(auto ask, auto records_of) {
  Records<Reply, Record> result;
  const Status status = ask([&](Reply& part) -> Status {
    result.now = part.now();
    result.replies.push_back(std::move(part));
    return {};
  });
  if (!status) return failure(status.error());
  for (const Reply& reply : result.replies)
    for (const Record& record : records_of(reply)) result.records.push_back(&record);
  return result;
}

}  // namespace

Result<JobRecords> fetch_jobs(engine::Engine& cluster, api::JobFilter filter, bool with_start_forecast,
                              bool brief) {
  api::QueryJobsRequest request;
  *request.mutable_filter() = std::move(filter);
  request.set_with_start_forecast(with_start_forecast);
  request.set_brief(brief);
  return keep<api::JobsReply, model::JobRecord>(
      [&](const auto& take) { return cluster.jobs(request, take); },
      [](const auto& reply) -> const auto& { return reply.jobs(); });
}

Result<StepRecords> fetch_steps(engine::Engine& cluster, api::JobFilter filter) {
  api::QueryStepsRequest request;
  *request.mutable_filter() = std::move(filter);
  return keep<api::StepsReply, model::StepRecord>(
      [&](const auto& take) { return cluster.steps(request, take); },
      [](const auto& reply) -> const auto& { return reply.steps(); });
}

Result<NodeRecords> fetch_nodes(engine::Engine& cluster) {
  return keep<api::NodesReply, model::NodeRecord>([&](const auto& take) { return cluster.nodes(take); }, [
  ](const auto& reply) -> const auto& { return reply.nodes(); });
}

Result<PartitionRecords> fetch_partitions(engine::Engine& cluster) {
  return keep<api::PartitionsReply, model::PartitionRecord>(
      [&](const auto& take) { return cluster.partitions(take); },
      [](const auto& reply) -> const auto& { return reply.partitions(); });
}

Result<AccountingRecords> fetch_accounting(engine::Engine& cluster,
                                           const api::QueryAccountingRequest& query) {
  return keep<api::AccountingReply, api::AccountedJob>(
      [&](const auto& take) { return cluster.accounting(query, take); },
      [](const auto& reply) -> const auto& { return reply.jobs(); });
}

Result<int64_t> for_each_accounted(engine::Engine& cluster, const api::QueryAccountingRequest& query,
                                   const std::function<void(const api::AccountedJob&)>& take) {
  int64_t now = 0;
  const Status outcome = cluster.accounting(query, [&](api::AccountingReply& part) -> Status {
    now = part.now();
    for (const api::AccountedJob& job : part.jobs()) take(job);
    return {};
  });
  if (!outcome) return failure(outcome.error());
  return now;
}

std::string fetch_cluster_name(engine::Engine& cluster) {
  const auto identity = cluster.identity();
  return identity ? identity->cluster : std::string();
}

api::JobSelector selector_of(const text::JobReference& job) {
  api::JobSelector selector;
  selector.set_job_id(job.job_id);
  *selector.mutable_tasks() = job.tasks.ranges();
  if (job.het_offset) selector.set_het_offset(*job.het_offset);
  return selector;
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::string_view part : text::split(text, ','))
    if (!part.empty()) parts.emplace_back(part);
  return parts;
}

Result<uint32_t> user_id_of(const std::string& user) {
  if (const passwd* entry = getpwnam(user.c_str())) return entry->pw_uid;
  if (auto number = text::parse_unsigned(user, UINT32_MAX - 1)) return static_cast<uint32_t>(*number);
  return failure("Invalid user: " + user);
}

void write_out(std::string_view text) {
  write_bytes(text::printable_lines(text));
}

void write_bytes(std::string_view text) {
  std::fflush(stdout);
  while (!text.empty()) {
    ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      std::fprintf(stderr, "error: cannot write the output: %s\n", std::strerror(errno));
      std::exit(1);
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void print_error(std::string_view command, std::string_view message) {
  for (const std::string_view line : text::split(message, '\n')) {
    if (line.empty()) {
      std::fputc('\n', stderr);
      continue;
    }
    std::fprintf(stderr, "%.*s: error: %.*s\n", static_cast<int>(command.size()), command.data(),
                 static_cast<int>(line.size()), line.data());
  }
}

}  // namespace minke::cli
