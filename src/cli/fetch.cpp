#include "cli/fetch.h"

#include <pwd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <utility>

#include "cli/write_bytes.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::cli {
namespace {

// Streams the answers to `request`; `take` finds in each message the reply, and `records_of` the records in
// it.
template <typename Reply, typename Record>
Result<Records<Reply, Record>> fetch(Client& client, rpc::ClientMessage request, auto take, auto records_of) {
  Records<Reply, Record> result;
  Status status = client.stream(std::move(request), [&](rpc::ServerMessage& message) -> Status {
    Reply* reply = take(message);
    if (reply == nullptr) return failure("unexpected answer from the daemon");
    result.now = reply->now();
    result.replies.push_back(std::move(*reply));
    return {};
  });
  if (!status) return failure(std::move(status.error()));
  for (const Reply& reply : result.replies)
    for (const Record& record : records_of(reply)) result.records.push_back(&record);
  return result;
}

}  // namespace

Result<JobRecords> fetch_jobs(Client& client, rpc::JobFilter filter, bool with_start_forecast, bool brief) {
  rpc::ClientMessage request;
  *request.mutable_query_jobs()->mutable_filter() = std::move(filter);
  request.mutable_query_jobs()->set_with_start_forecast(with_start_forecast);
  request.mutable_query_jobs()->set_brief(brief);
  return fetch<rpc::JobsReply, model::JobRecord>(
      client, std::move(request),
      [](rpc::ServerMessage& message) { return message.has_jobs() ? message.mutable_jobs() : nullptr; },
      [](const rpc::JobsReply& reply) -> const auto& { return reply.jobs(); });
}

Result<StepRecords> fetch_steps(Client& client, rpc::JobFilter filter) {
  rpc::ClientMessage request;
  *request.mutable_query_steps()->mutable_filter() = std::move(filter);
  return fetch<rpc::StepsReply, model::StepRecord>(
      client, std::move(request),
      [](rpc::ServerMessage& message) { return message.has_steps() ? message.mutable_steps() : nullptr; },
      [](const rpc::StepsReply& reply) -> const auto& { return reply.steps(); });
}

Result<NodeRecords> fetch_nodes(Client& client) {
  rpc::ClientMessage request;
  request.mutable_query_nodes();
  return fetch<rpc::NodesReply, model::NodeRecord>(
      client, std::move(request),
      [](rpc::ServerMessage& message) { return message.has_nodes() ? message.mutable_nodes() : nullptr; },
      [](const rpc::NodesReply& reply) -> const auto& { return reply.nodes(); });
}

Result<PartitionRecords> fetch_partitions(Client& client) {
  rpc::ClientMessage request;
  request.mutable_query_partitions();
  return fetch<rpc::PartitionsReply, model::PartitionRecord>(
      client, std::move(request),
      [](rpc::ServerMessage& message) {
        return message.has_partitions() ? message.mutable_partitions() : nullptr;
      },
      [](const rpc::PartitionsReply& reply) -> const auto& { return reply.partitions(); });
}

Result<AccountingRecords> fetch_accounting(Client& client, rpc::QueryAccountingRequest query) {
  rpc::ClientMessage request;
  *request.mutable_query_accounting() = std::move(query);
  return fetch<rpc::AccountingReply, rpc::AccountedJob>(
      client, std::move(request),
      [](rpc::ServerMessage& message) {
        return message.has_accounting() ? message.mutable_accounting() : nullptr;
      },
      [](const rpc::AccountingReply& reply) -> const auto& { return reply.jobs(); });
}

Result<int64_t> for_each_accounted(Client& client, rpc::QueryAccountingRequest query,
                                   const std::function<void(const rpc::AccountedJob&)>& take) {
  rpc::ClientMessage request;
  *request.mutable_query_accounting() = std::move(query);
  int64_t now = 0;
  const Status outcome = client.stream(std::move(request), [&](rpc::ServerMessage& message) -> Status {
    if (!message.has_accounting()) return failure("unexpected answer from the daemon");
    now = message.accounting().now();
    for (const rpc::AccountedJob& job : message.accounting().jobs()) take(job);
    return {};
  });
  if (!outcome) return failure(outcome.error());
  return now;
}

std::string fetch_cluster_name(Client& client) {
  rpc::ClientMessage request;
  request.mutable_status();
  Result<rpc::ServerMessage> answer = client.call(std::move(request));
  return answer && answer->has_status() ? answer->status().cluster_name() : std::string();
}

rpc::JobSelector selector_of(const text::JobReference& job) {
  rpc::JobSelector selector;
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

std::string date_line(int64_t now) {
  time_t time = now;
  tm parts;
  localtime_r(&time, &parts);
  char text[64];
  return std::string(text, std::strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y\n", &parts));
}

}  // namespace minke::cli
