// scancel: signals or cancels jobs, arrays, tasks of arrays and steps.
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/actions.pb.h"
#include "api/field.pb.h"
#include "api/job_filter.pb.h"
#include "api/updates.pb.h"
#include "cli/clusters.h"
#include "cli/commands.h"
#include "cli/described_commands.h"
#include "cli/read_command.h"
#include "cli/stored_names.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
#include "options/values.h"
#include "os/user_id.h"
#include "text/job_id.h"
#include "text/number.h"
#include "text/printable.h"
#include "text/signal_name.h"
#include "text/state.h"

namespace minke::cli {

namespace {

struct Options {
  api::SignalRequest request;
  bool quiet = false;
  bool verbose = false;
  bool interactive = false;
  std::optional<std::string> admin_comment, clusters;
};
using options::Given;
using enum options::ArgumentKind;
using Ended = std::optional<int>;

constexpr std::string_view kUsage =
    "Usage: scancel [-A account] [--batch] [--full] [--hurry] [--interactive] [--me]\n"
    "               [-n job_name] [-p partition] [-q qos] [-Q] [-R reservation]\n"
    "               [-s signal | integer] [-t PENDING | RUNNING | SUSPENDED] [--usage]\n"
    "               [-u user_name] [-v] [-V] [-w hosts...] [--wckey=wckey]\n"
    "               [job_id[_array_id][.step_id]]\n";
int complain(const std::string& message) {
  std::fprintf(stderr, "scancel: error: %s\n", message.c_str());
  return 1;
}

template <typename Add>
void for_each_word(std::string_view list, Add add) {
  while (!list.empty()) {
    const std::string_view word = list.substr(0, list.find(','));
    list.remove_prefix(std::min(list.size(), word.size() + 1));
    if (!word.empty()) add(std::string(word));
  }
}

Ended states(Options& asked, const Given& given) {
  api::JobFilter& filter = *asked.request.mutable_filter();
  if (given.from_environment && !filter.states().empty()) return std::nullopt;
  bool known = true;
  for_each_word(given.text(), [&](const std::string& word) {
    const auto state = text::parse_job_state(word);
    if (state && state->state && *state->state <= model::JOB_SUSPENDED) {
      filter.add_states(*state->state);
      return;
    }
    known = false;
  });
  if (known) return std::nullopt;
  std::fprintf(stderr,
               "Invalid job state specified: %s\nValid job states are PENDING, RUNNING, and SUSPENDED\n",
               given.text().c_str());
  return 1;
}

Ended user(Options& asked, const Given& given) {
  api::JobFilter& filter = *asked.request.mutable_filter();
  if (given.from_environment && (given.text().empty() || !filter.uids().empty())) return std::nullopt;
  const auto uid = os::user_id_of(given.text());
  if (!uid) return complain("Invalid user name: " + given.text());
  filter.add_uids(*uid);
  return std::nullopt;
}

Ended me(Options& asked, const Given&) {
  asked.request.mutable_filter()->add_uids(getuid());
  return std::nullopt;
}

Ended signal(Options& asked, const Given& given) {
  const auto number = text::parse_signal(given.text());
  if (!number) {
    std::fprintf(stderr, "Unknown job signal: %s\n", given.text().c_str());
    return 1;
  }
  asked.request.set_signal(*number);
  return std::nullopt;
}

// A list of the filter. A variable counts if the command line names nothing.
using Words = google::protobuf::RepeatedPtrField<std::string>;
template <Words* (api::JobFilter::*kList)()>
Ended words(Options& asked, const Given& given) {
  Words& list = *(asked.request.mutable_filter()->*kList)();
  if (!given.from_environment || list.empty())
    for_each_word(given.text(), [&](std::string word) { *list.Add() = std::move(word); });
  return std::nullopt;
}

template <Words* (api::JobFilter::*kList)()>
Ended accounting_names(Options& asked, const Given& given) {
  words<kList>(asked, given);
  Words& list = *(asked.request.mutable_filter()->*kList)();
  const std::vector<std::string> names = with_stored_names({list.begin(), list.end()});
  list.Assign(names.begin(), names.end());
  return std::nullopt;
}

// A switch's variable is on for "true" or "t".
bool is_on(const Given& given) {
  return !given.from_environment || text::equals_ignoring_case(given.text(), "true") ||
         text::equals_ignoring_case(given.text(), "t");
}
template <auto kMember>
Ended flag(Options& asked, const Given& given) {
  asked.*kMember = asked.*kMember || is_on(given);
  return std::nullopt;
}
template <void (api::SignalRequest::*kSet)(bool)>
Ended request_flag(Options& asked, const Given& given) {
  if (is_on(given)) (asked.request.*kSet)(true);
  return std::nullopt;
}

constexpr auto kIgnored = &options::ignored<Options>;  // nothing to be done for them on one cluster
constexpr auto kNames = &words<&api::JobFilter::mutable_names>;

// Columns: see options::Option.
constexpr options::Row<Options> kRows[] = {
    {{"account", 'A', kRequired, "account", "act only on jobs charging this account", options::kAccountNames,
      "SCANCEL_ACCOUNT"},
     accounting_names<&api::JobFilter::mutable_accounts>},
    {{"admin-comment", '\0', kRequired, "text", "what the record of each job is to say of it (operators)"},
     options::keep<&Options::admin_comment>},
    {{"batch", 'b', kNone, "", "signal batch shell for specified job", "", "SCANCEL_BATCH"},
     request_flag<&api::SignalRequest::set_batch_only>},
    {{"cron", 'c', kNone, "", "cancel jobs of crontabs, too", "", "SCANCEL_CRON"},
     request_flag<&api::SignalRequest::set_cron>},
    {{"ctld", '\0', kNone}, options::ignored<Options, 1>},
    {{"full", 'f', kNone, "", "signal batch shell and all steps for specified job", "", "SCANCEL_FULL"},
     request_flag<&api::SignalRequest::set_full>},
    {{"hurry", 'H', kNone, "", "accepted"}, kIgnored},
    {{"interactive", 'i', kNone, "", "require response from user for each job", "", "SCANCEL_INTERACTIVE"},
     flag<&Options::interactive>},
    {{"clusters", 'M', kRequired, "names", "cluster to issue commands to", "", "SLURM_CLUSTERS"},
     clusters<&Options::clusters>},
    {{"me", '\0', kNone, "", "act only on jobs of the user who asks"}, me},
    {{"name", 'n', kRequired, "job_name", "act only on jobs with this name", "", "SCANCEL_NAME"}, kNames},
    {{"jobname", '\0', kRequired}, kNames},
    {{"nodelist", 'w', kRequired, "hosts", "act only on jobs on these nodes", options::kNodeNames},
     words<&api::JobFilter::mutable_nodes>},
    {{"partition", 'p', kRequired, "partition", "act only on jobs in this partition",
      options::kPartitionNames, "SCANCEL_PARTITION"},
     words<&api::JobFilter::mutable_partitions>},
    {{"qos", 'q', kRequired, "qos", "act only on jobs with this quality of service", options::kQosNames,
      "SCANCEL_QOS"},
     accounting_names<&api::JobFilter::mutable_qos>},
    {{"quiet", 'Q', kNone, "", "do not complain of jobs that cannot be signalled"}, flag<&Options::quiet>},
    {{"reservation", 'R', kRequired, "reservation", "act only on jobs in this reservation",
      options::kReservationNames},
     words<&api::JobFilter::mutable_reservations>},
    {{"sibling", '\0', kRequired}, kIgnored},
    {{"signal", 's', kRequired, "name | integer", "signal to send, default is SIGKILL by way of SIGTERM",
      "HUP INT QUIT KILL TERM USR1 USR2 STOP CONT"},
     signal},
    {{"state", 't', kRequired, "states", "act only on jobs in this state: PENDING, RUNNING, SUSPENDED",
      "PENDING RUNNING SUSPENDED", "SCANCEL_STATE"},
     states},
    {{"user", 'u', kRequired, "user_name", "act only on jobs of this user", options::kUserNames,
      "SCANCEL_USER"},
     user},
    {{"verbose", 'v', kNone, "", "say what is done", "", "SCANCEL_VERBOSE"}, flag<&Options::verbose>},
    {{"version", 'V', kNone, "", "output version information and exit"}, show_version<Options>},
    {{"wckey", 'W', kRequired, "wckey", "act only on jobs with this workload characterization key", "",
      "SCANCEL_WCKEY"},
     words<&api::JobFilter::mutable_wckeys>},
    {{"help", 'h', kNone, "", "show this help message"}, show_help<Options>},
    {{"usage", '\0', kNone, "", "display brief usage message"}, show_usage<Options>},
};

const options::Table<Options>& table() {
  static const auto* const kTable =
      new options::Table<Options>({.name = "scancel",
                                   .purpose = "signals and cancels jobs, arrays and steps",
                                   .operands = "[job_id[_array_id][.step_id]]",
                                   .operand_values = options::kJobIds,
                                   .usage = kUsage,
                                   .environment_last = true},
                                  kRows);
  return *kTable;
}

bool names_anything(const api::JobFilter& filter) {
  return filter.accounts_size() + filter.names_size() + filter.partitions_size() + filter.qos_size() +
             filter.states_size() + filter.users_size() + filter.uids_size() + filter.nodes_size() +
             filter.wckeys_size() + filter.reservations_size() >
         0;
}

// Returns the filters as text: "job_name=train user_id=1000 ".
std::string filters_text(const api::JobFilter& filter) {
  std::string out;
  const auto add = [&](const char* name, const auto& words) {
    for (const auto& word : words) out += std::string(name) + "=" + word + " ";
  };
  add("account", filter.accounts());
  add("job_name", filter.names());
  add("partition", filter.partitions());
  add("qos", filter.qos());
  add("reservation", filter.reservations());
  for (const int state : filter.states())
    out += "state=" + std::string(text::job_state_name(static_cast<model::JobState>(state))) + " ";
  for (const uint32_t uid : filter.uids()) out += "user_id=" + std::to_string(uid) + " ";
  add("wckey", filter.wckeys());
  add("nodelist", filter.nodes());
  return out;
}

bool confirmed(const std::string& what) {
  std::printf("%s [y/n]? ", text::printable(what).c_str());
  std::fflush(stdout);
  char answer[16];
  return std::fgets(answer, sizeof(answer), stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
}

int send(engine::Engine& cluster, const Options& options, const api::SignalRequest& request) {
  const auto answer = cluster.signal(request);
  if (!answer) return complain(answer.error().message);
  int status = 0;
  for (const auto& failed : answer->failures()) {
    // As in Slurm: a job that does not exist, or is over, is reported only on request, and is no failure.
    const bool over = !request.has_step_id() &&
                      (failed.code() == model::kAlreadyDone || failed.code() == model::kInvalidJobId);
    // A job that is over needs no cancelling, but cannot be signalled.
    const bool ends_it = request.signal() == 0 || request.signal() == SIGKILL;
    const bool asks_no_more = request.full() ? request.signal() == 0 : ends_it;
    const bool no_failure = over && asks_no_more && !request.batch_only();
    if (!no_failure) status = 1;
    if (!options.quiet && no_failure && !options.verbose && ::isatty(STDERR_FILENO) == 1) {
      std::fprintf(stderr, "scancel: note: nothing was done to job %s: %s (minke jobs lists yours)\n",
                   failed.job().c_str(),
                   failed.message().c_str());  // people want to know it, programs do not
    }
    if (options.quiet || (no_failure && !options.verbose)) continue;
    const std::string step = request.has_step_id() ? "." + std::to_string(request.step_id()) : std::string();
    std::fprintf(stderr, "scancel: error: Kill job error on %s id %s%s: %s\n",
                 step.empty() ? "job" : "job step", failed.job().c_str(), step.c_str(),
                 failed.message().c_str());
  }
  return options.quiet ? 0 : status;
}

// Before the end: what is said of a job that waits or runs lasts as long as its record.
Status comment_on(engine::Engine& cluster, const std::string& comment, const text::JobReference& id) {
  api::UpdateJobRequest request;
  *request.mutable_job() = engine::selector_of(id);
  api::Field& field = *request.add_fields();
  field.set_name("AdminComment");
  field.set_value(comment);
  const auto answer = cluster.update(request);
  if (!answer) return failure(answer.error());
  for (const auto& failed : answer->failures())
    if (failed.code() != model::kAlreadyDone && failed.code() != model::kInvalidJobId)
      return failure(failed.message());
  return {};
}

// Acts on one job, array, task or step that was named, or found by the filters.
int act_on(engine::Engine& cluster, const Options& options, const text::JobReference& id) {
  api::SignalRequest request = options.request;
  api::JobSelector& selector = *request.mutable_filter()->add_jobs();
  selector = engine::selector_of(id);
  if (id.step) {
    if (id.step->kind == model::STEP_NORMAL) {
      request.set_step_id(id.step->step_id);
    } else {
      request.set_batch_only(true);
    }
  }
  const std::string what = std::string(id.step ? "step " : "job ") + text::format_job_id(id);
  if (options.verbose && request.signal() == 0) {
    std::fprintf(stderr, "scancel: Terminating %s\n", what.c_str());
  } else if (options.verbose) {
    std::fprintf(stderr, "scancel: Signal %u to %s%s\n", request.signal(),
                 request.batch_only() && !id.step ? "batch " : "", what.c_str());
  }
  if (options.admin_comment && !id.step) {
    const Status said = comment_on(cluster, *options.admin_comment, id);
    if (!said) return complain("--admin-comment for " + what + ": " + said.error().message);
  }
  return send(cluster, options, request);
}

// --interactive and --verbose report each job: returns those that match the filters, one by one. `any_lives`
// tells whether any of them has not ended.
Result<std::vector<text::JobReference>> find_jobs(engine::Engine& cluster, const Options& options,
                                                  const std::vector<text::JobReference>& ids,
                                                  bool& any_lives) {
  api::JobFilter filter = options.request.filter();
  for (const text::JobReference& id : ids) *filter.add_jobs() = engine::selector_of(id);
  const auto jobs = engine::fetch_jobs(cluster, filter);
  if (!jobs) return failure(jobs.error());
  std::vector<text::JobReference> found;
  for (const model::JobRecord* job : jobs->records) {
    if (job->completing()) continue;  // it has ended; its processes are being cleared away
    any_lives = true;
    const auto reference = text::parse_job_id(text::format_job_id(*job, ~size_t{0}));
    if (!reference) continue;
    const std::string question = (options.request.signal() == 0 ? "Cancel" : "Signal") +
                                 (" job_id=" + text::format_job_id(*job) + " name=" + job->spec().name() +
                                  " partition=" + job->partition());
    if (!options.interactive || confirmed(question)) found.push_back(*reference);
  }
  return found;
}

// Returns the jobs and steps that the operands name.
Result<std::vector<text::JobReference>> named_jobs(const std::vector<std::string>& operands) {
  std::vector<text::JobReference> ids;
  for (const std::string& operand : operands) {
    auto parsed = text::parse_job_id_list(operand);
    if (!parsed)
      return failure("Invalid job id " + operand +
                     (!operand.empty() && !text::is_digit(operand.front())
                          ? " (of jobs by name: scancel --name=" + operand + ")"
                          : " (write 12, 12_3 for a task of an array, 12.0 for a step)"));
    for (auto& id : *parsed) ids.push_back(std::move(id));
  }
  return ids;
}

// Keeps the jobs and steps that the user confirms, if any of them is a step.
void confirm_each(std::vector<text::JobReference>& ids) {
  std::erase_if(ids, [](const text::JobReference& id) {
    return !confirmed("Cancel " + std::string(id.step ? "step_id=" : "job_id=") + text::format_job_id(id));
  });
}

// Puts the jobs that match the filters, and that the user confirms, into `ids`. Returns an exit status if
// there is none to act on.
Ended choose_jobs(engine::Engine& cluster, const Options& options, std::vector<text::JobReference>& ids) {
  bool any_lives = false;
  auto found = find_jobs(cluster, options, ids, any_lives);
  if (!found && found.error().code != model::kInvalidJobId) return complain(found.error().message);
  // For named jobs, Slurm reports this only when it asks.
  if (!any_lives && options.interactive && !ids.empty()) {
    return complain(
        "Kill job error on job id " + text::format_job_id(ids.front()) + ": " +
        (found ? std::string(model::slurm_error_text(model::kAlreadyDone)) : found.error().message));
  }
  const bool none = !found || found->empty();
  if (none && ids.empty() && options.verbose && !options.interactive)
    complain("No active jobs match ALL job filters, including: " + filters_text(options.request.filter()));
  ids = found ? std::move(*found) : std::vector<text::JobReference>();
  return std::nullopt;
}

}  // namespace

const options::Command& scancel_command() {
  return table().command;
}

int scancel_main(int argc, char** argv) {
  Options options;
  const CommandRead read = read_command(table(), argc, argv, options);
  if (read.status) return *read.status;
  if (read.operands.empty() && !names_anything(options.request.filter()))
    return complain("No job identification provided");
  auto ids = named_jobs(read.operands);
  if (!ids) return complain(ids.error().message);
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  if (!check_clusters(**cluster, "scancel", options.clusters)) return 1;
  if (ids->empty() && !options.interactive && !options.verbose && !options.admin_comment)
    return send(**cluster, options, options.request);
  const bool any_step =
      std::any_of(ids->begin(), ids->end(), [](const text::JobReference& id) { return id.step.has_value(); });
  if (options.interactive && any_step) {
    confirm_each(*ids);
  } else if (options.interactive || ids->empty()) {
    if (const Ended ended = choose_jobs(**cluster, options, *ids)) return *ended;
  }
  int status = 0;
  for (const text::JobReference& id : *ids) status = std::max(status, act_on(**cluster, options, id));
  return status;
}

}  // namespace minke::cli
