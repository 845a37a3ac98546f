// For those who keep the cluster: who holds and uses most now, what is wrong with nodes, limits, notes, and
// who did what. What one may see and change is the cluster's to say, as everywhere: whoever asks sees what
// the commands would show him.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <set>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/history.pb.h"
#include "api/machine.pb.h"
#include "api/measurements.pb.h"
#include "api/updates.pb.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "model/accounts.pb.h"
#include "model/cluster.pb.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/nobody.h"
#include "os/minke_home.h"
#include "portal/action_log.h"
#include "portal/desk.h"
#include "portal/ended_jobs.h"
#include "portal/job_json.h"
#include "portal/node_events.h"
#include "portal/page_answers.h"
#include "portal/site.h"
#include "text/job_id.h"
#include "text/number.h"
#include "text/printable.h"
#include "view/account_settings.h"
#include "view/text.h"
#include "view/use_now.h"
#include "view/waste.h"

namespace minke::portal {
namespace {

constexpr int64_t kDay = 86400;
constexpr size_t kMostRows = 500, kMostEvents = 200, kMostLooked = 2000;

// A personal cluster is its user's own; elsewhere sacctmgr says who operates it.
bool is_operator(Call& call) {
  if (call.desk.uid() == 0) return true;
  const auto identity = call.cluster.identity();
  if (identity && identity->product == "Minke" && !os::is_shared(os::minke_home_path())) return true;
  const auto tree = call.cluster.accounts({});
  if (!tree) return false;
  return std::any_of(tree->users().begin(), tree->users().end(), [&](const model::UserRecord& one) {
    return one.name() == call.desk.user() && one.admin_level() != model::ADMIN_NONE;
  });
}

Json use_json(const view::UseNow& use) {
  const view::Waste waste = use.waste();
  return {{"jobs", use.jobs},
          {"measured_jobs", use.measured_jobs},
          {"cores", use.cores},
          {"cores_measured", use.cores_measured},
          {"cores_used", use.cores_used},
          {"memory_gib", use.memory_gib},
          {"memory_gib_measured", use.memory_gib_measured},
          {"memory_gib_used", use.memory_gib_used},
          {"memory_gib_peak", use.memory_gib_peak},
          {"gpus", use.gpus},
          {"gpus_measured", use.gpus_measured},
          {"gpus_used", use.gpus_used},
          {"watts", use.watts},
          {"cores_verdict", view::cores_verdict(waste)},
          {"memory_verdict", view::memory_verdict(waste)},
          {"gpus_verdict", view::gpus_verdict(waste)}};
}

double rank_of(const view::UseNow& use, const std::string& by) {
  return by == "gpus" ? use.gpus : by == "memory" ? use.memory_gib : use.cores;
}

Json settings_json(const view::Settings& settings) {
  Json list = Json::array();
  for (const auto& [name, value] : settings)
    list.push_back({{"name", name}, {"value", text::printable(value)}});
  return list;
}

Json note_json(std::string_view about, const std::string& name, const std::string& note,
               uint32_t job_id = 0) {
  return {
      {"about", about}, {"name", text::printable(name)}, {"note", text::printable(note)}, {"job_id", job_id}};
}

// Administrators' notes on jobs: of the newest that ended, and of those of the queue that run.
Status add_job_notes(Call& call, Json& notes) {
  const auto add = [&](const model::JobRecord& job) {
    const std::string& note = job.has_notes() && job.notes().has_admin_comment() ? job.notes().admin_comment()
                                                                                 : job.spec().admin_comment();
    if (!note.empty() && notes.size() < kMostRows)
      notes.push_back(note_json("job", text::format_job_id(job, 200) + " " + std::string(view::job_name(job)),
                                note, job.job_id()));
  };
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  api::JobFilter running;
  running.add_states(model::JOB_RUNNING);
  running.add_states(model::JOB_SUSPENDED);
  const auto queue = engine::fetch_jobs(call.cluster, std::move(running));
  if (!queue) return failure(queue.error());
  for (const model::JobRecord* job : queue->records) add(*job);
  const auto read = read_back(call.cluster, std::move(query),
                              {.most = kMostLooked, .patience = std::chrono::milliseconds(50)},
                              [&](const api::AccountedJob& one) {
                                add(one.job());
                                return true;
                              });
  return read ? Status() : failure(read.error());
}

Result<api::ActionReply> update_record(Call& call, const std::string& job, const std::string& note) {
  const auto wanted = text::parse_job_id(job);
  if (!wanted || wanted->step) return failure("\"" + job + "\" is no number of a job", EINVAL);
  api::UpdateJobRequest request;
  *request.mutable_job() = engine::selector_of(*wanted);
  api::Field& field = *request.add_fields();
  field.set_name("AdminComment");
  field.set_value(note);
  auto done = call.cluster.update(request);
  if (done && (done->changed() > 0 || done->failures_size() == 0)) return done;
  // One that has ended is in the record alone.
  api::UpdateRecordsRequest of_record;
  *of_record.add_jobs() = engine::selector_of(*wanted);
  api::Field& same = *of_record.add_fields();
  same.set_name("admincomment");
  same.set_value(note);
  return call.cluster.update(of_record);
}

Result<api::ActionReply> update_node(Call& call, const std::string& node, const std::string& note) {
  api::UpdateNodeRequest request;
  request.set_node_list(node);
  api::Field& field = *request.add_fields();
  field.set_name("Comment");
  field.set_value(note);
  return call.cluster.update(request);
}

// A line of the log: who did what to what.
Json done_json(int64_t time, const std::string& user, std::string_view what, const std::string& to,
               const std::string& more, uint32_t job_id) {
  return {{"time", time},
          {"user", user},
          {"what", what},
          {"to", text::printable(to)},
          {"more", text::printable(more)},
          {"job_id", job_id}};
}

// One's own, and, for operators, who may read it, what others changed at the shared portal.
std::vector<LoggedAction> portal_actions() {
  constexpr int64_t kOfOneRequest = 2;  // s between the two logs that have it
  std::vector<LoggedAction> all = shared_actions_logged(shared_log_file(), kMostRows);
  const size_t shared = all.size();
  for (LoggedAction& own : actions_logged(kMostRows)) {
    const bool is_there =
        std::any_of(all.begin(), all.begin() + static_cast<ptrdiff_t>(shared), [&](auto& one) {
          return one.user == own.user && one.what == own.what && one.status == own.status &&
                 std::abs(one.time - own.time) <= kOfOneRequest;
        });
    if (!is_there) all.push_back(std::move(own));
  }
  return all;
}

// What the cluster knows: who took nodes out of use, who changed accounts, and who cancelled whose job.
Status add_recorded(Call& call, int64_t since, Json& lines) {
  for (const view::NodeEvent& event : events_of_nodes(call.cluster, {}, since, std::time(nullptr)))
    if (event.since >= since && lines.size() < kMostRows)
      lines.push_back(done_json(event.since, view::user_name_of(event.uid),
                                "node_" + text::lower_case(event.state), event.node, event.reason, 0));
  api::QueryHistoryRequest changes;
  changes.set_from(since);
  changes.set_transactions(true);
  Result<api::HistoryReply> told = failure("not kept");
  if (const auto past = call.cluster.past()) told = (*past)->history(changes);
  if (told)
    for (const model::Transaction& one : told->transactions())
      if (lines.size() < kMostRows)
        lines.push_back(
            done_json(one.time(), one.actor(), "accounts", one.action() + ": " + one.where(), one.info(), 0));
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  query.mutable_filter()->add_states(model::JOB_CANCELLED);
  query.set_from(since);
  query.set_brief(true);
  const auto read = read_back(
      call.cluster, std::move(query), {.most = kMostLooked, .patience = std::chrono::milliseconds(50)},
      [&](const api::AccountedJob& one) {
        const model::JobRecord& job = one.job();
        if (job.cancelled_by_uid() == model::kNobody || lines.size() >= kMostRows) return true;
        lines.push_back(done_json(job.end_time(), view::user_name_of(job.cancelled_by_uid()), "cancel",
                                  text::format_job_id(job, 200) + " " + std::string(view::job_name(job)),
                                  job.user_name(), job.job_id()));
        return true;
      });
  return read ? Status() : failure(read.error());
}

}  // namespace

Result<Reply> show_rights(Call& call) {
  return json_reply({{"is_operator", is_operator(call)}});
}

Result<Reply> show_top(Call& call) {
  const auto ability = call.cluster.measurements();
  if (!ability) return failure(ability.error().message, ENOTSUP);
  const auto answer = (*ability)->measured({});
  if (!answer) return failure(answer.error());
  view::UseTally tally;
  for (const api::JobMeasurement& one : answer->jobs()) tally.add(one);
  auto rows = tally.rows();
  const std::string by = call.has("by") ? call.text("by") : "cores";
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const auto& a, const auto& b) { return rank_of(a.use, by) > rank_of(b.use, by); });
  Json value = {{"now", answer->now()}, {"all", use_json(tally.all())}, {"rows", Json::array()}};
  for (const view::UseTally::Row& row : rows) {
    if (value["rows"].size() == kMostRows) break;
    value["rows"].push_back({{"user", row.user}, {"use", use_json(row.use)}});
  }
  return json_reply(value);
}

// The events of nodes, and the jobs that ended with their nodes.
Result<Reply> list_node_events(Call& call) {
  const std::string name = call.text("node");
  const int64_t now = std::time(nullptr), from = now - call.number("days", 30) * kDay;
  const auto names = name.empty() ? std::set<std::string>() : std::set<std::string>{name};
  Json events = Json::array();
  for (const view::NodeEvent& event : events_of_nodes(call.cluster, names, from, now))
    if (events.size() < kMostEvents) events.push_back(node_event_json(event));
  api::QueryAccountingRequest query;
  query.mutable_filter()->set_all_states(true);
  if (!name.empty()) query.mutable_filter()->add_nodes(name);
  for (const model::JobState state : {model::JOB_NODE_FAIL, model::JOB_BOOT_FAIL})
    query.mutable_filter()->add_states(state);
  query.set_from(from);
  query.set_brief(true);
  const auto read = read_back(call.cluster, std::move(query),
                              {.most = kMostEvents, .patience = std::chrono::milliseconds(50)},
                              [&](const api::AccountedJob& one) {
                                events.push_back(failed_node_json(one.job()));
                                return true;
                              });
  return json_reply({{"now", now},
                     {"more", read && !read->is_all},
                     {"events", std::move(events)},
                     {"problem", problem_of(read)}});
}

Result<Reply> list_limits(Call& call) {
  const auto tree = call.cluster.accounts({});
  if (!tree) return failure(tree.error());
  Json associations = Json::array(), qos = Json::array();
  for (const model::AssociationRecord& one : tree->associations()) {
    Json settings = settings_json(view::settings_of(one));
    if (settings.empty() || associations.size() == kMostRows) continue;
    associations.push_back({{"account", one.account()},
                            {"user", one.user()},
                            {"partition", one.partition()},
                            {"settings", std::move(settings)}});
  }
  for (const model::QosRecord& one : tree->qos()) {
    if (qos.size() == kMostRows) break;
    qos.push_back({{"name", one.name()},
                   {"description", text::printable(one.description())},
                   {"settings", settings_json(view::settings_of(one))}});
  }
  return json_reply(
      {{"now", tree->now()}, {"associations", std::move(associations)}, {"qos", std::move(qos)}});
}

// Comments that administrators gave: the cluster keeps them, and its commands show them, too.
Result<Reply> list_notes(Call& call) {
  Json notes = Json::array();
  const auto nodes = engine::fetch_nodes(call.cluster);
  if (!nodes) return failure(nodes.error());
  for (const model::NodeRecord* node : nodes->records)
    if (!node->comment().empty() && notes.size() < kMostRows)
      notes.push_back(note_json("node", node->name(), node->comment()));
  if (const auto reply = call.cluster.reservations())
    for (const model::ReservationRecord& one : reply->reservations())
      if (!one.comment().empty() && notes.size() < kMostRows)
        notes.push_back(note_json("reservation", one.name(), one.comment()));
  if (const auto tree = call.cluster.accounts({}))
    for (const model::AssociationRecord& one : tree->associations())
      if (!one.comment().empty() && notes.size() < kMostRows)
        notes.push_back(note_json(one.user().empty() ? "account" : "user",
                                  one.user().empty() ? one.account() : one.user() + " " + one.account(),
                                  one.comment()));
  const Status added = add_job_notes(call, notes);
  return json_reply({{"notes", std::move(notes)}, {"problem", problem_of(added)}});
}

Result<Reply> write_note(Call& call) {
  const auto done = call.text("about") == "node" ? update_node(call, call.text("name"), call.text("note"))
                                                 : update_record(call, call.text("name"), call.text("note"));
  if (!done) return failure(done.error());
  if (done->failures_size() > 0) {
    const auto& first = done->failures(0);
    const int code = static_cast<int>(first.code());
    return failure(first.message().empty() ? std::string(model::slurm_error_text(code)) : first.message(),
                   code);
  }
  return json_reply({{"changed", std::max<uint64_t>(1, done->changed())}});
}

Result<Reply> show_log(Call& call) {
  const int64_t now = std::time(nullptr), since = now - call.number("days", 7) * kDay;
  Json lines = Json::array();
  for (const LoggedAction& one : portal_actions())
    if (one.time >= since)
      lines.push_back(done_json(one.time, one.user, "portal", one.what, std::to_string(one.status), 0));
  const Status added = add_recorded(call, since, lines);
  std::stable_sort(lines.begin(), lines.end(), [](const Json& a, const Json& b) {
    return a["time"].get<int64_t>() > b["time"].get<int64_t>();
  });
  if (lines.size() > kMostRows) lines.erase(lines.begin() + static_cast<ptrdiff_t>(kMostRows), lines.end());
  return json_reply(
      {{"now", now}, {"since", since}, {"lines", std::move(lines)}, {"problem", problem_of(added)}});
}

}  // namespace minke::portal
