// scancel: signals or cancels jobs, arrays, tasks of arrays and steps.
#include <getopt.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "api/actions.pb.h"
#include "api/job_filter.pb.h"
#include "base/version.h"
#include "cli/commands.h"
#include "engine/engine.h"
#include "engine/fetch.h"
#include "engine/open.h"
#include "model/error.h"
#include "model/job_record.pb.h"
#include "model/job_state.pb.h"
#include "model/step_record.pb.h"
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
};

constexpr char kShortUsage[] =
    "Usage: scancel [-A account] [--batch] [--full] [--hurry] [--interactive] [--me]\n"
    "               [-n job_name] [-p partition] [-q qos] [-Q] [-R reservation]\n"
    "               [-s signal | integer] [-t PENDING | RUNNING | SUSPENDED] [--usage]\n"
    "               [-u user_name] [-v] [-V] [-w hosts...] [--wckey=wckey]\n"
    "               [job_id[_array_id][.step_id]]\n";
constexpr char kUsage[] =
    "Usage: scancel [OPTIONS] [job_id[_array_id][.step_id]]\n"
    "  -A, --account=account           act only on jobs charging this account\n"
    "  -b, --batch                     signal batch shell for specified job\n"
    "  -f, --full                      signal batch shell and all steps for specified job\n"
    "  -H, --hurry                     accepted\n"
    "  -i, --interactive               require response from user for each job\n"
    "  -M, --clusters                  accepted\n"
    "      --me                        act only on jobs of the user who asks\n"
    "  -n, --name=job_name             act only on jobs with this name\n"
    "  -p, --partition=partition       act only on jobs in this partition\n"
    "  -Q, --quiet                     do not complain of jobs that cannot be signalled\n"
    "  -q, --qos=qos                   act only on jobs with this quality of service\n"
    "  -R, --reservation=reservation   act only on jobs in this reservation\n"
    "  -s, --signal=name | integer     signal to send, default is SIGKILL by way of SIGTERM\n"
    "  -t, --state=states              act only on jobs in this state: PENDING, RUNNING, SUSPENDED\n"
    "  -u, --user=user_name            act only on jobs of this user\n"
    "  -V, --version                   output version information and exit\n"
    "  -v, --verbose                   say what is done\n"
    "  -w, --nodelist                  act only on jobs on these nodes\n"
    "      --wckey=wckey               act only on jobs with this workload characterization key\n"
    "\nHelp options:\n"
    "      --help                      show this help message\n"
    "      --usage                     display brief usage message\n";

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

bool add_states(std::string_view list, api::JobFilter& filter) {
  bool known = true;
  for_each_word(list, [&](const std::string& word) {
    const auto state = text::parse_job_state(word);
    if (state && state->state && *state->state <= model::JOB_SUSPENDED) {
      filter.add_states(*state->state);
      return;
    }
    known = false;
  });
  if (!known) {
    std::fprintf(stderr,
                 "Invalid job state specified: %s\nValid job states are PENDING, RUNNING, and SUSPENDED\n",
                 std::string(list).c_str());
  }
  return known;
}

bool add_user(const std::string& user, api::JobFilter& filter) {
  const auto uid = os::user_id_of(user);
  if (uid) {
    filter.add_uids(*uid);
  } else {
    std::fprintf(stderr, "scancel: error: Invalid user name: %s\n", user.c_str());
  }
  return uid.has_value();
}

// What the environment asks for where the command line does not.
bool read_environment(Options& options) {
  api::SignalRequest& request = options.request;
  api::JobFilter& filter = *request.mutable_filter();
  const auto value = [](const char* name) -> std::string {
    const char* found = std::getenv(name);
    return found == nullptr ? "" : found;
  };
  const auto yes = [&](const char* name) {
    const std::string word = value(name);
    return text::equals_ignoring_case(word, "true") || text::equals_ignoring_case(word, "t");
  };
  const auto words = [&](const char* name, const auto& list, auto add) {
    if (list.empty()) for_each_word(value(name), add);
  };
  words("SCANCEL_ACCOUNT", filter.accounts(), [&](std::string word) { filter.add_accounts(word); });
  words("SCANCEL_NAME", filter.names(), [&](std::string word) { filter.add_names(word); });
  words("SCANCEL_PARTITION", filter.partitions(), [&](std::string word) { filter.add_partitions(word); });
  words("SCANCEL_QOS", filter.qos(), [&](std::string word) { filter.add_qos(word); });
  words("SCANCEL_WCKEY", filter.wckeys(), [&](std::string word) { filter.add_wckeys(word); });
  if (yes("SCANCEL_BATCH")) request.set_batch_only(true);
  if (yes("SCANCEL_FULL")) request.set_full(true);
  options.interactive |= yes("SCANCEL_INTERACTIVE");
  options.verbose |= yes("SCANCEL_VERBOSE");
  if (filter.states().empty() && !add_states(value("SCANCEL_STATE"), filter)) return false;
  return !filter.uids().empty() || value("SCANCEL_USER").empty() || add_user(value("SCANCEL_USER"), filter);
}

// The result: an exit status to end with.
std::optional<int> read_options(int argc, char** argv, Options& options) {
  constexpr int kMe = 1000, kSibling = 1001, kShort = 1002;
  const option kLong[] = {{"account", required_argument, nullptr, 'A'},
                          {"batch", no_argument, nullptr, 'b'},
                          {"cron", no_argument, nullptr, 'H'},
                          {"ctld", no_argument, nullptr, 'c'},
                          {"full", no_argument, nullptr, 'f'},
                          {"hurry", no_argument, nullptr, 'H'},
                          {"interactive", no_argument, nullptr, 'i'},
                          {"clusters", required_argument, nullptr, 'M'},
                          {"me", no_argument, nullptr, kMe},
                          {"name", required_argument, nullptr, 'n'},
                          {"jobname", required_argument, nullptr, 'n'},
                          {"nodelist", required_argument, nullptr, 'w'},
                          {"partition", required_argument, nullptr, 'p'},
                          {"qos", required_argument, nullptr, 'q'},
                          {"quiet", no_argument, nullptr, 'Q'},
                          {"reservation", required_argument, nullptr, 'R'},
                          {"sibling", required_argument, nullptr, kSibling},
                          {"signal", required_argument, nullptr, 's'},
                          {"state", required_argument, nullptr, 't'},
                          {"user", required_argument, nullptr, 'u'},
                          {"verbose", no_argument, nullptr, 'v'},
                          {"version", no_argument, nullptr, 'V'},
                          {"wckey", required_argument, nullptr, 'W'},
                          {"help", no_argument, nullptr, 'h'},
                          {"usage", no_argument, nullptr, kShort},
                          {nullptr, 0, nullptr, 0}};
  api::JobFilter& filter = *options.request.mutable_filter();
  optind = 0;
  int letter;
  while ((letter = getopt_long(argc, argv, "A:bcfHiM:n:p:Qq:R:s:t:u:vVw:W:h", kLong, nullptr)) != -1) {
    switch (letter) {
      case 'A':
        for_each_word(optarg, [&](std::string word) { filter.add_accounts(word); });
        break;
      case 'b':
        options.request.set_batch_only(true);
        break;
      case 'f':
        options.request.set_full(true);
        break;
      case 'i':
        options.interactive = true;
        break;
      case kMe:
        filter.add_uids(getuid());
        break;
      case 'n':
        for_each_word(optarg, [&](std::string word) { filter.add_names(word); });
        break;
      case 'p':
        for_each_word(optarg, [&](std::string word) { filter.add_partitions(word); });
        break;
      case 'Q':
        options.quiet = true;
        break;
      case 'q':
        for_each_word(optarg, [&](std::string word) { filter.add_qos(word); });
        break;
      case 'R':
        for_each_word(optarg, [&](std::string word) { filter.add_reservations(word); });
        break;
      case 'W':
        for_each_word(optarg, [&](std::string word) { filter.add_wckeys(word); });
        break;
      case 's': {
        const auto number = text::parse_signal(optarg);
        if (!number) {
          std::fprintf(stderr, "Unknown job signal: %s\n", optarg);
          return 1;
        }
        options.request.set_signal(*number);
        break;
      }
      case 't':
        if (!add_states(optarg, filter)) return 1;
        break;
      case 'u':
        if (!add_user(optarg, filter)) return 1;
        break;
      case 'v':
        options.verbose = true;
        break;
      case 'V':
        std::printf("slurm %s\n", kSlurmVersion);
        return 0;
      case 'w':
        for_each_word(optarg, [&](std::string word) { filter.add_nodes(word); });
        break;
      case 'c':
      case 'H':
      case 'M':
      case kSibling:
        break;  // nothing to be done for them on one cluster
      case 'h':
      case kShort:
        std::fputs(letter == kShort ? kShortUsage : kUsage, stdout);
        return 0;
      default:
        std::fputs("Try \"scancel --help\" for more information\n", stderr);
        return 1;
    }
  }
  return std::nullopt;
}

bool names_anything(const api::JobFilter& filter) {
  return filter.accounts_size() + filter.names_size() + filter.partitions_size() + filter.qos_size() +
             filter.states_size() + filter.users_size() + filter.uids_size() + filter.nodes_size() +
             filter.wckeys_size() + filter.reservations_size() >
         0;
}

// "job_name=train user_id=1000 ": what was asked for.
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
    // As in Slurm: what is not there, or over, is spoken of on request, and no failure.
    const bool over = !request.has_step_id() &&
                      (failed.code() == model::kAlreadyDone || failed.code() == model::kInvalidJobId);
    // What is over needs no cancelling, but cannot be signalled.
    const bool ends_it = request.signal() == 0 || request.signal() == SIGKILL;
    const bool no_failure = over && (request.full() || (ends_it && !request.batch_only()));
    if (!no_failure) status = 1;
    if (options.quiet || (no_failure && !options.verbose)) continue;
    const std::string step = request.has_step_id() ? "." + std::to_string(request.step_id()) : std::string();
    std::fprintf(stderr, "scancel: error: Kill job error on %s id %s%s: %s\n",
                 step.empty() ? "job" : "job step", failed.job().c_str(), step.c_str(),
                 failed.message().c_str());
  }
  return options.quiet ? 0 : status;
}

// One job, array, task or step that was named, or found by the filters.
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
  return send(cluster, options, request);
}

// --interactive and --verbose speak of each job: those that the filters mean, one by one. `any_lives`:
// whether there is one that has not ended.
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

}  // namespace

int scancel_main(int argc, char** argv) {
  Options options;
  if (const auto status = read_options(argc, argv, options)) return *status;
  if (!read_environment(options)) return 1;
  if (optind == argc && !names_anything(options.request.filter())) {
    std::fputs("scancel: error: No job identification provided\n", stderr);
    return 1;
  }
  std::vector<text::JobReference> ids;
  bool any_step = false;
  for (int i = optind; i < argc; ++i) {
    auto parsed = text::parse_job_id_list(argv[i]);
    if (!parsed) {
      std::fprintf(stderr, "scancel: error: Invalid job id %s\n", argv[i]);
      return 1;
    }
    for (auto& id : *parsed) {
      any_step = any_step || id.step;
      ids.push_back(std::move(id));
    }
  }
  auto cluster = engine::open();
  if (!cluster) return complain(cluster.error().message);
  if (ids.empty() && !options.interactive && !options.verbose)
    return send(**cluster, options, options.request);
  if (options.interactive && any_step) {
    std::erase_if(ids, [](const text::JobReference& id) {
      return !confirmed("Cancel " + std::string(id.step ? "step_id=" : "job_id=") + text::format_job_id(id));
    });
  } else if (options.interactive || ids.empty()) {
    bool any_lives = false;
    auto found = find_jobs(**cluster, options, ids, any_lives);
    if (!found && found.error().code != model::kInvalidJobId) return complain(found.error().message);
    const bool none = !found || found->empty();
    // Of jobs that were named, Slurm says so only when it asks.
    if (!any_lives && options.interactive && !ids.empty()) {
      return complain(
          "Kill job error on job id " + text::format_job_id(ids.front()) + ": " +
          (found ? std::string(model::slurm_error_text(model::kAlreadyDone)) : found.error().message));
    }
    if (none && ids.empty() && options.verbose && !options.interactive)
      complain("No active jobs match ALL job filters, including: " + filters_text(options.request.filter()));
    ids = found ? std::move(*found) : std::vector<text::JobReference>();
  }
  int status = 0;
  for (const text::JobReference& id : ids) status = std::max(status, act_on(**cluster, options, id));
  return status;
}

}  // namespace minke::cli
