#include "engine/slurm/told_history.h"

#include <optional>
#include <string_view>

#include "api/history.pb.h"
#include "engine/slurm/told_fields.h"
#include "text/number.h"

namespace minke::engine::slurm {

const char* const kEventColumns = "NodeName,TimeStart,TimeEnd,State,User,TRES,Reason";
const char* const kTransactionColumns = "TimeStamp,Action,Actor,Where,Info";

namespace {

constexpr uint64_t kLatest = uint64_t{1} << 40;
constexpr size_t kMostInfo = 4096;  // bytes that are kept of a text

std::optional<int64_t> time_of(std::string_view text) {
  const auto time = text::parse_unsigned(text, kLatest);
  return time ? std::optional(static_cast<int64_t>(*time)) : std::nullopt;
}

// "root(0)".
uint32_t uid_of(std::string_view user) {
  const size_t open = user.rfind('(');
  if (open == std::string_view::npos || !user.ends_with(')')) return 0;
  return static_cast<uint32_t>(
      text::parse_unsigned(user.substr(open + 1, user.size() - open - 2), 0xffffffff).value_or(0));
}

}  // namespace

void add_events(const std::vector<std::string>& lines, api::HistoryReply& reply) {
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kEventColumns);
    const auto start = fields.empty() ? std::nullopt : time_of(fields.at("TimeStart"));
    if (!start || fields.at("NodeName").empty()) continue;
    model::NodeEvent& event = *reply.add_node_events();
    event.set_node(std::string(fields.at("NodeName")));
    event.set_start(*start);
    event.set_end(time_of(fields.at("TimeEnd")).value_or(0));  // Unknown: it lasts
    event.set_state(std::string(fields.at("State")));
    event.set_uid(uid_of(fields.at("User")));
    event.set_tres(std::string(fields.at("TRES")));
    event.set_reason(std::string(fields.at("Reason").substr(0, kMostInfo)));
  }
}

void add_transactions(const std::vector<std::string>& lines, api::HistoryReply& reply) {
  for (const std::string& line : lines) {
    const ToldFields fields = told_fields(line, kTransactionColumns);
    const auto time = fields.empty() ? std::nullopt : time_of(fields.at("TimeStamp"));
    if (!time) continue;
    model::Transaction& one = *reply.add_transactions();
    one.set_id(static_cast<uint64_t>(reply.transactions_size()));
    one.set_time(*time);
    one.set_action(std::string(fields.at("Action")));
    one.set_actor(std::string(fields.at("Actor")));
    one.set_where(std::string(fields.at("Where").substr(0, kMostInfo)));
    one.set_info(std::string(fields.at("Info").substr(0, kMostInfo)));
  }
}

}  // namespace minke::engine::slurm
