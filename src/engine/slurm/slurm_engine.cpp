#include "engine/slurm/slurm_engine.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <utility>

#include "api/accounting.pb.h"
#include "api/accounts.pb.h"
#include "api/actions.pb.h"
#include "api/explanation.pb.h"
#include "api/history.pb.h"
#include "api/jobs.pb.h"
#include "api/machine.pb.h"
#include "api/measurements.pb.h"
#include "api/priorities.pb.h"
#include "api/steps.pb.h"
#include "api/submission.pb.h"
#include "base/version.h"
#include "engine/embedded/accounts/users.h"
#include "engine/slurm/show_lines.h"
#include "engine/slurm/shown_machine.h"
#include "engine/slurm/told_accounts.h"
#include "engine/slurm/told_history.h"
#include "model/cluster.pb.h"
#include "os/files.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/timestamp.h"

namespace minke::engine::slurm {
namespace {

using namespace std::chrono_literals;
using Milliseconds = SharedAnswers::Milliseconds;

constexpr int kRecordsInPart = 500;
constexpr size_t kLongestPing = 500;
constexpr size_t kMostAccountLines = 500'000;
constexpr int64_t kFirstDay = 86400;  // s since the epoch; Slurm takes 0 for no time
constexpr size_t kLongestConfiguration = size_t{16} << 20;
constexpr Milliseconds kConfigurationDoes = 10min;
constexpr Milliseconds kHistoryDoes = 6h;
constexpr Milliseconds kLoadDoes = 2min;
constexpr uint64_t kIdleThreads = 16;  // of slurmctld; with so many more the period is another one longer
constexpr uint64_t kMostPeriods = 20;

std::string setting(const api::ConfigReply& configuration, std::string_view name) {
  for (const api::Field& one : configuration.values()) {
    if (one.name() == name) return one.value();
  }
  return {};
}

// Of the cluster, as the slurm.conf of this machine says it; empty: there is none, or it does not say.
std::string name_in(const std::string& configuration) {
  const auto text = os::read_file(configuration, kLongestConfiguration);
  if (!text) return {};
  for (std::string_view line : text::split(*text, '\n')) {
    line = text::trim(line.substr(0, line.find('#')));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    if (text::equals_ignoring_case(text::trim(line.substr(0, equals)), "ClusterName"))
      return text::lower_case(text::trim(line.substr(equals + 1)));
  }
  return {};
}

// "Server thread count:  3" in what sdiag tells; 0: it does not.
uint64_t count_in(std::string_view report, std::string_view name) {
  const size_t at = report.find(name);
  if (at == std::string_view::npos) return 0;
  const std::string_view rest = report.substr(at + name.size());
  return text::parse_unsigned(text::trim(rest.substr(0, rest.find('\n')))).value_or(0);
}

}  // namespace

std::string key_of(const Place& place) {
  return place.directory + "\n" + place.cluster + "\n" + place.found_by;
}

SlurmEngine::SlurmEngine(Place place, std::chrono::seconds period)
    : programs_(std::move(place)),
      answers_(slurm::answers_directory(key_of(programs_.place())),
               polled_directory(key_of(programs_.place()))),
      period_(period) {}

SlurmEngine::SlurmEngine(Place place, std::chrono::seconds period, SharedAnswers answers)
    : programs_(std::move(place)), answers_(std::move(answers)), period_(period) {}

SlurmEngine::~SlurmEngine() = default;

SlurmEngine::Load SlurmEngine::load() {
  std::string report;
  const auto known = answers_.get({.kind = "load",
                                   .ask = [this](const SharedAnswers::TakePart& give) -> Status {
                                     const auto told = programs_.text({"sdiag"});
                                     if (!told) return failure(told.error());
                                     return give(*told);
                                   },
                                   .period = [] { return kLoadDoes; }},
                                  [&](std::string_view part) -> Status {
                                    report = part;
                                    return {};
                                  });
  if (!known) return {};
  return {.threads = count_in(report, "Server thread count:"),
          .jobs = count_in(report, "Jobs pending:") + count_in(report, "Jobs running:")};
}

Milliseconds SlurmEngine::period() {
  return Milliseconds(period_) * std::min(kMostPeriods, 1 + load().threads / kIdleThreads);
}

template <typename Reply>
Status SlurmEngine::kept_parts(const std::string& kind, const std::function<Status(const Take<Reply>&)>& ask,
                               const Take<Reply>& take) {
  Status taken;  // a complaint of who takes is none of the cluster's, and is not kept
  const auto asked = answers_.get({.kind = kind,
                                   .ask =
                                       [&](const SharedAnswers::TakePart& give) {
                                         return ask([&](Reply& part) -> Status {
                                           part.set_now(std::time(nullptr));
                                           if (const Status given = give(part.SerializeAsString()); !given)
                                             return given;
                                           if (taken) taken = take(part);
                                           return {};
                                         });
                                       },
                                   .period =
                                       [&] {
                                         return kind == "configuration" ? kConfigurationDoes
                                                : kind == "history"     ? kHistoryDoes
                                                                        : period();
                                       },
                                   .hands_on = true},
                                  [&](std::string_view bytes) -> Status {
                                    Reply part;
                                    if (!part.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
                                      return failure("what was kept of " + kind + " cannot be read", EIO);
                                    return take(part);
                                  });
  if (!asked) return failure(asked.error());
  return taken;
}

template <typename Reply>
Result<Reply> SlurmEngine::kept(const std::string& kind, const std::function<Status(Reply& reply)>& ask) {
  Reply answer;
  const Status done = kept_parts<Reply>(
      kind,
      [&](const Take<Reply>& give) -> Status {
        Reply made;
        if (const Status asked = ask(made); !asked) return asked;
        return give(made);
      },
      [&](Reply& part) -> Status {
        answer = std::move(part);
        return {};
      });
  if (!done) return failure(done.error());
  return answer;
}

// For queue.cpp.
template Status SlurmEngine::kept_parts<api::JobsReply>(
    const std::string& kind, const std::function<Status(const Take<api::JobsReply>&)>& ask,
    const Take<api::JobsReply>& take);

// For measuring.cpp.
template Status SlurmEngine::kept_parts<api::MeasurementsReply>(
    const std::string& kind, const std::function<Status(const Take<api::MeasurementsReply>&)>& ask,
    const Take<api::MeasurementsReply>& take);

// For explaining.cpp.
template Status SlurmEngine::kept_parts<api::AccountingReply>(
    const std::string& kind, const std::function<Status(const Take<api::AccountingReply>&)>& ask,
    const Take<api::AccountingReply>& take);

Status SlurmEngine::show(const char* what, const TakeRecord& take) const {
  return programs_.lines({"scontrol", "--oneliner", "--all", "show", what},
                         [&](std::string_view line) -> Status {
                           if (!line.empty()) take(line);
                           return {};
                         });
}

Status SlurmEngine::ping_controller() {
  // Its exit code is not 0 where no slurmctld is up; what it says counts.
  std::string told;
  const Status asked = programs_.lines({"scontrol", "ping"}, [&](std::string_view line) -> Status {
    if (told.size() < kLongestPing) told.append(told.empty() ? "" : "; ").append(line);
    return {};
  });
  if (told.find(" is UP") != std::string::npos) return {};
  if (told.empty()) return asked ? failure("scontrol ping says nothing", EPROTO) : asked;
  // It calls down what it cannot ask, too: other questions are told why.
  if (const auto why = programs_.text({"scontrol", "show", "config"}); !why && why.error().code == EACCES)
    return failure(why.error());
  return failure("slurmctld does not answer (" + told + ")", ECONNREFUSED);
}

Status SlurmEngine::ping_accounting() {
  const auto told =
      programs_.text({"sacctmgr", "--noheader", "--parsable2", "show", "cluster", "format=cluster"});
  if (!told) return failure(told.error());
  return {};
}

Result<Identity> SlurmEngine::identity() {
  const auto known = configuration();
  if (!known) {
    // Its name is known without slurmctld, too.
    std::string name = place().cluster.empty() ? name_in(place().found_by) : place().cluster;
    if (name.empty()) return failure(known.error());
    return Identity{.cluster = std::move(name),
                    .product = "Slurm",
                    .version = {},
                    .least_poll_seconds = static_cast<uint32_t>(period_.count())};
  }
  std::string version = setting(*known, "SLURM_VERSION");
  speak_release(nearest_release(version));  // what this process prints is as on that cluster
  return Identity{.cluster = setting(*known, "ClusterName"),
                  .product = "Slurm",
                  .version = std::move(version),
                  .least_poll_seconds = static_cast<uint32_t>(period_.count())};
}

Result<std::string> SlurmEngine::version() {
  if (const auto known = configuration(); !known) return failure(known.error());
  const auto self = identity();
  if (!self) return failure(self.error());
  return self->version;
}

Result<api::ConfigReply> SlurmEngine::configuration() {
  if (configuration_) return *configuration_;
  auto told = kept<api::ConfigReply>("configuration", [this](api::ConfigReply& reply) {
    return programs_.lines({"scontrol", "show", "config"}, [&](std::string_view line) -> Status {
      add_setting(line, reply);
      return {};
    });
  });
  if (told) configuration_ = std::make_unique<api::ConfigReply>(*told);
  return told;
}

Status SlurmEngine::nodes(const Take<api::NodesReply>& take) {
  return kept_parts<api::NodesReply>(
      "nodes",
      [this](const Take<api::NodesReply>& give) -> Status {
        api::NodesReply part;
        Status given;
        const Status shown = show("nodes", [&](std::string_view line) {
          model::NodeRecord node = node_of(ShownRecord(line));
          if (node.name().empty() || !given) return;
          *part.add_nodes() = std::move(node);
          if (part.nodes_size() < kRecordsInPart) return;
          given = give(part);
          part.Clear();
        });
        if (!shown || !given) return shown ? given : shown;
        return give(part);
      },
      take);
}

Status SlurmEngine::every_partition(const Take<api::PartitionsReply>& take) {
  return kept_parts<api::PartitionsReply>(
      "partitions",
      [this](const Take<api::PartitionsReply>& give) -> Status {
        api::PartitionsReply part;
        const Status shown = show("partitions", [&](std::string_view line) {
          model::PartitionRecord partition = partition_of(ShownRecord(line));
          if (!partition.name().empty()) *part.add_partitions() = std::move(partition);
        });
        return shown ? give(part) : shown;
      },
      take);
}

// Those of groups that this user is not in are none of his, as Slurm has it.
Status SlurmEngine::partitions(const Take<api::PartitionsReply>& take) {
  const uint32_t user = ::geteuid();
  return every_partition([&](api::PartitionsReply& part) -> Status {
    api::PartitionsReply shown;
    shown.set_now(part.now());
    for (model::PartitionRecord& one : *part.mutable_partitions()) {
      const bool own = user == 0 || one.allow_groups().empty() || is_in_group(user, one.allow_groups());
      if (own) *shown.add_partitions() = std::move(one);
    }
    return take(shown);
  });
}

Result<api::ReservationsReply> SlurmEngine::reservations() {
  return kept<api::ReservationsReply>("reservations", [this](api::ReservationsReply& reply) {
    return show("reservations", [&](std::string_view line) {
      model::ReservationRecord one = reservation_of(ShownRecord(line));
      if (!one.name().empty()) *reply.add_reservations() = std::move(one);
    });
  });
}

Result<api::LicensesReply> SlurmEngine::licenses() {
  return kept<api::LicensesReply>("licenses", [this](api::LicensesReply& reply) {
    return show("licenses", [&](std::string_view line) {
      api::License one = license_of(ShownRecord(line));
      if (!one.name().empty()) *reply.add_licenses() = std::move(one);
    });
  });
}

Result<api::HistoryReply> SlurmEngine::history(const api::QueryHistoryRequest& request) {
  const auto known = configuration();
  if (!known) return failure(known.error());
  const auto question = [&](const char* entity) {
    Words words = {"sacctmgr", "show", entity, "where",
                   "start=" + text::format_time(std::max<int64_t>(request.from(), kFirstDay))};
    if (request.until() != 0) words.push_back("end=" + text::format_time(request.until()));
    return words;
  };
  api::HistoryReply reply;
  reply.set_now(std::time(nullptr));
  if (request.node_events()) {
    Words words = question("event");
    words.push_back("cluster=" + setting(*known, "ClusterName"));  // accounts are those of all clusters
    if (!request.node_list().empty()) words.push_back("nodes=" + request.node_list());
    const auto lines = told(std::move(words), kEventColumns);
    if (!lines) return failure(lines.error());
    add_events(*lines, reply);
  }
  if (request.transactions()) {
    const auto lines = told(question("transaction"), kTransactionColumns);
    if (!lines) return failure(lines.error());
    add_transactions(*lines, reply);
  }
  return reply;
}

// What is not done yet, or not by this engine.

Result<AdministrationAbility*> SlurmEngine::administration() {
  const auto self = identity();
  if (!self) return failure(self.error());
  return failure("the cluster " + self->cluster +
                 " runs Slurm, not Minke's daemon; minke doctor says how it is");
}

Result<api::ActionReply> SlurmEngine::complete_allocation(const api::CompleteAllocationRequest& /*request*/) {
  return lacks("give allocations to this command: use its own salloc and srun");
}

Status SlurmEngine::steps(const api::QueryStepsRequest& /*request*/, const Take<api::StepsReply>& /*take*/) {
  return lacks("tell of running steps here yet: use its own squeue --steps");
}

Result<api::PrioritiesReply> SlurmEngine::priorities(const api::QueryPrioritiesRequest& /*request*/) {
  return lacks("tell here yet how priorities are made up: use its own sprio");
}

Result<std::vector<std::string>> SlurmEngine::told(Words words, const char* columns) const {
  words.insert(words.end(), {"--noheader", "--parsable2"});
  words.push_back((words.front() == "sshare" ? "--format=" : "format=") + std::string(columns));
  std::vector<std::string> lines;
  const Status read = programs_.lines(std::move(words), [&](std::string_view line) -> Status {
    if (lines.size() == kMostAccountLines)
      return failure("more than " + std::to_string(kMostAccountLines) + " associations are not read", EFBIG);
    lines.emplace_back(line);
    return {};
  });
  if (!read) return failure(read.error());
  return lines;
}

Status SlurmEngine::ask_accounts(const std::string& cluster, api::AccountsReply& reply) const {
  ToldAccounts all;
  const struct {
    Words words;
    const char* columns;
    std::vector<std::string>& into;
  } questions[] = {{{"sacctmgr", "show", "associations", "where", "cluster=" + cluster},
                    kAssociationColumns,
                    all.associations},
                   {{"sacctmgr", "show", "users"}, kUserColumns, all.users},
                   {{"sacctmgr", "show", "accounts", "withcoord"}, kAccountColumns, all.accounts},
                   {{"sacctmgr", "show", "qos"}, kQosColumns, all.qos}};
  for (const auto& question : questions) {
    auto lines = told(question.words, question.columns);
    if (!lines) return failure(lines.error());
    question.into = std::move(*lines);
  }
  add_accounts(all, reply);
  return {};
}

// Changed elsewhere: its shares and accounts are those of the last period.
Result<api::AccountsReply> SlurmEngine::accounts(const api::QueryAccountsRequest& request) {
  const auto known = configuration();
  if (!known) return failure(known.error());
  const std::string cluster = setting(*known, "ClusterName");
  if (!request.with_usage())
    return kept<api::AccountsReply>("accounts",
                                    [&](api::AccountsReply& reply) { return ask_accounts(cluster, reply); });
  auto tree = accounts(api::QueryAccountsRequest());
  if (!tree) return tree;
  return kept<api::AccountsReply>("shares", [&](api::AccountsReply& reply) -> Status {
    const auto lines = told({"sshare", "--all", "--partition"}, kShareColumns);
    if (!lines) return failure(lines.error());
    reply = *tree;
    add_shares(*lines, reply);
    const auto half_life = text::parse_seconds(setting(*known, "PriorityDecayHalfLife"));
    reply.set_usage_half_life(half_life ? static_cast<uint64_t>(*half_life) : 0);
    return {};
  });
}

Result<api::ActionReply> SlurmEngine::change_accounts(const api::UpdateAccountsRequest& /*request*/) {
  return lacks("change accounts from here: use its own sacctmgr");
}

}  // namespace minke::engine::slurm
