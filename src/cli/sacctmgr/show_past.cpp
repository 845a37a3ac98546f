#include "cli/sacctmgr/show_past.h"

#include <algorithm>
#include <ctime>
#include <string_view>
#include <utility>

#include "api/history.pb.h"
#include "cli/sacctmgr/matching.h"
#include "os/user_id.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/number.h"
#include "text/timestamp.h"
#include "view/text.h"

namespace minke::cli {
namespace {

bool is_wanted(const std::vector<std::string>& list, const std::string& one) {
  return list.empty() || std::find(list.begin(), list.end(), one) != list.end();
}

// Those of `name`= whose spelling may have capitals.
std::vector<std::string> given(std::span<const Word> where, std::string_view name) {
  std::vector<std::string> all;
  for (const Word& word : where) {
    if (word.name != name) continue;
    for (const std::string_view item : text::split(word.value, ',')) all.emplace_back(text::trim(item));
  }
  return all;
}

int64_t begin_of_yesterday() {
  const time_t now = time(nullptr);
  tm day = {};
  localtime_r(&now, &day);
  day.tm_mday -= 1;
  day.tm_hour = day.tm_min = day.tm_sec = 0;
  day.tm_isdst = -1;
  return mktime(&day);
}

Status set_period(std::span<const Word> where, api::QueryHistoryRequest& request) {
  const int64_t now = time(nullptr);
  for (const auto& [name, set] : {std::pair{"start", &api::QueryHistoryRequest::set_from},
                                  std::pair{"end", &api::QueryHistoryRequest::set_until}}) {
    const std::string value = value_of(where, name);
    if (value.empty()) continue;
    const auto at = text::parse_time(value, now, true);
    if (!at) return failure("Invalid time specification '" + value + "'");
    (request.*set)(*at);
  }
  return {};
}

Result<api::HistoryReply> ask(AccountingSession& session, const api::QueryHistoryRequest& request) {
  const auto past = session.engine().past();
  if (!past) return failure(past.error());
  return (*past)->history(request);
}

// As Slurm lists it, and as Slurm's bits have it.
std::pair<std::string, uint32_t> state_of(const std::string& stored) {
  constexpr uint32_t kDown = 1, kIdle = 2, kDrain = 1U << 9, kFail = 1U << 13;
  if (stored == "DOWN+DRAIN") return {"DRAIN", kDrain | kDown};
  if (stored == "DRAIN") return {"DRAIN", kDrain | kIdle};
  if (stored == "FAIL") return {"FAIL", kFail | kIdle};
  return {stored, kDown};
}

ShownLine line_of(const AccountingSession& session, const model::NodeEvent& event, int64_t now) {
  ShownLine line;
  const auto [state, bits] = state_of(event.state());
  line.here = session.cluster();
  line.node = event.node();
  line.started = text::format_time(event.start());
  line.ended = event.end() == 0 ? "Unknown" : text::format_time(event.end());
  line.duration = text::format_seconds((event.end() == 0 ? now : event.end()) - event.start());
  line.event = "Node", line.event_raw = "2";
  line.state = state, line.state_raw = std::to_string(bits);
  line.reason = event.reason();
  line.tres = event.tres();
  line.actor = view::user_name_of(event.uid()) + "(" + std::to_string(event.uid()) + ")";
  return line;
}

// Slurm's conditions on a node's event.
class EventFilter {
 public:
  explicit EventFilter(std::span<const Word> where)
      : states_(given(where, "state")),
        reasons_(given(where, "reason")),
        users_(given(where, "user")),
        kinds_(list_of(where, "event")) {
    for (const std::string& flag : list_of(where, "condflags")) {
      open_ = open_ || flag == "open";
      if (flag != "open") unknown_flag_ = flag;
    }
  }

  bool open() const { return open_; }

  Status check() const {
    for (const std::string& kind : kinds_)
      if (kind != "node" && kind != "cluster")
        return failure(" Unknown event type: '" + kind + "'  Valid events are Cluster and Node.",
                       kToldAsItIs);
    for (const std::string& user : users_) {
      if (!text::is_digits(user) && !os::user_id_of(user)) return failure("Invalid user id: " + user);
    }
    if (!unknown_flag_.empty()) return failure("Unknown condition flag " + unknown_flag_);
    constexpr std::string_view kStates = "DRAIN FAIL UNKNOWN DOWN IDLE ALLOCATED ? MIXED FUTURE ";
    for (const std::string& state : states_) {
      bool known = false;
      for (const std::string_view one : text::split(kStates, ' '))
        known = known || (!one.empty() && text::equals_ignoring_case(one, state));
      if (!known)
        return failure("Invalid state: " + state + "\nValid node states are: " + std::string(kStates) +
                           "\nsacctmgr: fatal: unrecognized job state value",
                       kToldAsItIs);
    }
    return {};
  }

  bool takes(const model::NodeEvent& event) const {
    if (open_ && event.end() != 0) return false;
    const auto any = [](const std::vector<std::string>& list, const auto& fits) {
      return list.empty() || std::any_of(list.begin(), list.end(), fits);
    };
    const std::string user = view::user_name_of(event.uid()), number = std::to_string(event.uid());
    return any(states_,
               [&](const auto& one) {
                 return text::equals_ignoring_case(one, state_of(event.state()).first);
               }) &&
           any(reasons_, [&](const auto& one) { return event.reason().find(one) != std::string::npos; }) &&
           any(users_, [&](const auto& one) { return one == user || one == number; }) &&
           any(kinds_, [](const auto& one) { return one == "node"; });
  }

 private:
  std::vector<std::string> states_, reasons_, users_, kinds_;
  std::string unknown_flag_;
  bool open_ = false;
};

// Slurm looks for the names in what a transaction says.
bool names_any(const model::Transaction& one, const std::vector<std::string>& names) {
  return names.empty() || std::any_of(names.begin(), names.end(), [&](const std::string& name) {
           return one.where() == name || one.where().find("'" + name + "'") != std::string::npos ||
                  one.info().find("'" + name + "'") != std::string::npos || one.info() == name;
         });
}

}  // namespace

Result<std::vector<ShownLine>> event_lines(AccountingSession& session, std::span<const Word> where,
                                           const std::set<std::string>& flags) {
  const EventFilter filter(where);
  if (const Status good = filter.check(); !good) return failure(good.error());
  api::QueryHistoryRequest request;
  request.set_node_events(true);
  if (const Status good = set_period(where, request); !good) return failure(good.error());
  if (request.from() == 0 && !filter.open() && !flags.contains("all_time"))
    request.set_from(begin_of_yesterday());
  request.set_node_list(value_of(where, "nodes"));
  const auto reply = ask(session, request);
  if (!reply) return failure(reply.error());
  std::vector<ShownLine> lines;
  const auto clusters = list_of(where, "cluster");
  if (!clusters.empty() && !contains(clusters, session.cluster())) return lines;  // all nodes are this one's
  for (const model::NodeEvent& event : reply->node_events()) {
    if (filter.takes(event)) lines.push_back(line_of(session, event, reply->now()));
  }
  return lines;
}

Result<std::vector<ShownLine>> transaction_lines(AccountingSession& session, std::span<const Word> where) {
  api::QueryHistoryRequest request;
  request.set_transactions(true);
  if (const Status good = set_period(where, request); !good) return failure(good.error());
  const auto reply = ask(session, request);
  if (!reply) return failure(reply.error());
  const auto actors = list_of(where, "actor"), actions = list_of(where, "action"), ids = list_of(where, "id"),
             accounts = list_of(where, "account"), users = list_of(where, "user");
  std::vector<ShownLine> lines;
  for (const model::Transaction& one : reply->transactions()) {
    if (!is_wanted(actors, one.actor()) || !is_wanted(actions, text::lower_case(one.action())) ||
        !is_wanted(ids, std::to_string(one.id())) || !names_any(one, accounts) || !names_any(one, users))
      continue;
    ShownLine& line = lines.emplace_back();
    line.started = text::format_time(one.time());
    line.action = one.action();
    line.by = one.actor();
    line.where = one.where();
    line.info = one.info();
  }
  return lines;
}

}  // namespace minke::cli
