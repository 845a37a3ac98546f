// scancel: signals or cancels jobs, arrays, tasks of arrays and steps.
#include <getopt.h>
#include <pwd.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "base/version.h"
#include "cli/client.h"
#include "cli/commands.h"
#include "model/error.h"
#include "text/job_id.h"
#include "text/signal_name.h"
#include "text/state.h"

namespace minke::cli {

namespace {

struct Options {
  rpc::SignalRequest request;
  bool quiet = false;
  bool verbose = false;
  bool interactive = false;
};

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
    "  -s, --signal=name | integer     signal to send, default is SIGKILL by way of SIGTERM\n"
    "  -t, --state=states              act only on jobs in this state: PENDING, RUNNING, SUSPENDED\n"
    "  -u, --user=user_name            act only on jobs of this user\n"
    "  -V, --version                   output version information and exit\n"
    "  -v, --verbose                   say what is done\n"
    "  -w, --nodelist                  act only on jobs on these nodes\n";

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

// The result: an exit status to end with.
std::optional<int> read_options(int argc, char** argv, Options& options) {
  constexpr int kMe = 1000;
  const option kLong[] = {{"account", required_argument, nullptr, 'A'},
                          {"batch", no_argument, nullptr, 'b'},
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
                          {"signal", required_argument, nullptr, 's'},
                          {"state", required_argument, nullptr, 't'},
                          {"user", required_argument, nullptr, 'u'},
                          {"verbose", no_argument, nullptr, 'v'},
                          {"version", no_argument, nullptr, 'V'},
                          {"wckey", required_argument, nullptr, 'W'},
                          {"help", no_argument, nullptr, 'h'},
                          {"usage", no_argument, nullptr, 'h'},
                          {nullptr, 0, nullptr, 0}};
  rpc::JobFilter& filter = *options.request.mutable_filter();
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
        return complain("there are no reservations");
      case 's': {
        const auto number = text::parse_signal(optarg);
        if (!number) {
          std::fprintf(stderr, "Unknown job signal: %s\n", optarg);
          return 1;
        }
        options.request.set_signal(*number);
        break;
      }
      case 't': {
        std::optional<int> bad;
        for_each_word(optarg, [&](const std::string& word) {
          const auto state = text::parse_job_state(word);
          if (!state || !state->state || *state->state > model::JOB_SUSPENDED) {
            std::fprintf(stderr, "Invalid job state specified: %s\n", word.c_str());
            bad = 1;
            return;
          }
          filter.add_states(*state->state);
        });
        if (bad) return bad;
        break;
      }
      case 'u': {
        if (getpwnam(optarg) == nullptr &&
            std::string_view(optarg).find_first_not_of("0123456789") != std::string::npos) {
          std::fprintf(stderr, "Invalid user name: %s\n", optarg);
          return 1;
        }
        filter.add_users(optarg);
        break;
      }
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
      case 'W':
        break;  // nothing to be done for them on one cluster
      case 'h':
        std::fputs(kUsage, stdout);
        return 0;
      default:
        std::fputs("Try \"scancel --help\" for more information\n", stderr);
        return 1;
    }
  }
  return std::nullopt;
}

bool names_anything(const rpc::JobFilter& filter) {
  return filter.accounts_size() + filter.names_size() + filter.partitions_size() + filter.qos_size() +
             filter.states_size() + filter.users_size() + filter.uids_size() + filter.nodes_size() >
         0;
}

bool confirmed(const std::string& job) {
  std::printf("Cancel job_id=%s [y/n]? ", job.c_str());
  std::fflush(stdout);
  char answer[16];
  return std::fgets(answer, sizeof(answer), stdin) != nullptr && (answer[0] == 'y' || answer[0] == 'Y');
}

int send(Client& client, const Options& options, const rpc::SignalRequest& request) {
  rpc::ClientMessage message;
  *message.mutable_signal() = request;
  const auto answer = client.call(message);
  if (!answer) return complain(answer.error().message);
  int status = 0;
  for (const auto& failed : answer->action().failures()) {
    // As in Slurm: said, but no failure, for there is nothing to cancel. One that is over is spoken of on
    // request.
    const bool over = failed.code() == model::kAlreadyDone;
    if (!over && failed.code() != model::kInvalidJobId) status = 1;
    if (options.quiet || (over && !options.verbose)) continue;
    std::fprintf(stderr, "scancel: error: Kill job error on job id %s: %s\n", failed.job().c_str(),
                 failed.message().c_str());
  }
  return options.quiet ? 0 : status;
}

}  // namespace

int scancel_main(int argc, char** argv) {
  Options options;
  if (const auto status = read_options(argc, argv, options)) return *status;
  if (optind == argc && !names_anything(options.request.filter())) {
    std::fputs("scancel: error: No job identification provided\n", stderr);
    return 1;
  }
  std::vector<text::JobReference> ids;
  for (int i = optind; i < argc; ++i) {
    auto parsed = text::parse_job_id_list(argv[i]);
    if (!parsed) {
      std::fprintf(stderr, "scancel: error: Invalid job id %s\n", argv[i]);
      return 1;
    }
    for (auto& id : *parsed) ids.push_back(std::move(id));
  }
  auto client = Client::connect();
  if (!client) return complain(client.error().message);
  if (ids.empty()) return send(*client, options, options.request);
  int status = 0;
  for (const text::JobReference& id : ids) {
    if (options.interactive && !confirmed(text::format_job_id(id))) continue;
    rpc::SignalRequest request = options.request;
    rpc::JobSelector& selector = *request.mutable_filter()->add_jobs();
    selector.set_job_id(id.job_id);
    for (const auto& range : id.tasks.ranges()) *selector.add_tasks() = range;
    if (id.step) {
      if (id.step->kind == model::STEP_NORMAL) {
        request.set_step_id(id.step->step_id);
      } else {
        request.set_batch_only(true);
      }
    }
    status = std::max(status, send(*client, options, request));
  }
  return status;
}

}  // namespace minke::cli
