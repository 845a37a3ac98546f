// check(), and its parts for accounts and usage.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "accounts/fair_tree.h"
#include "grow/carry/accounts_there.h"
#include "grow/carry/check_parts.h"
#include "grow/carry/controller.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr double kNoise = 0.02;  // of usage, which decays between two looks
constexpr double kRounding = 2;  // s

std::string counted(size_t count, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", count, count == 1 ? one : several);
}

std::string or_nothing(const std::string& value) {
  return value.empty() ? "not set" : value;
}

}  // namespace

Status check_accounts(const Snapshot& snapshot, const Commands& commands, Comparison& comparison) {
  const AccountsState wanted = wanted_accounts(snapshot);
  const auto there = accounts_there(commands, snapshot.cluster().name);
  if (!there) return failure(there.error());
  std::vector<Difference> found = compare(wanted, *there);
  if (found.empty()) {
    comparison.equal.push_back(counted(wanted.accounts.size(), "account", "accounts"));
    comparison.equal.push_back(counted(wanted.users.size(), "user", "users"));
    comparison.equal.push_back(counted(wanted.associations.size(), "association", "associations"));
    comparison.equal.push_back(counted(wanted.qos.size(), "QOS", "QOS"));
  }
  comparison.differences.insert(comparison.differences.end(), found.begin(), found.end());
  for (const std::string& one : snapshot.left_out) comparison.remarks.push_back("not carried: " + one);
  return {};
}

Status check_usage(const Snapshot& snapshot, const Commands& commands, Comparison& comparison) {
  const auto rows = commands.table({"sshare", "-nPa", "-o", "Account,User,Partition,RawUsage"}, 4);
  if (!rows) return failure(rows.error());
  std::map<AccountsState::Place, double> now_used;
  for (const auto& row : *rows)
    now_used[{std::string(text::trim(row[0])), std::string(text::trim(row[1])),
              std::string(text::trim(row[2]))}] =
        static_cast<double>(text::parse_unsigned(text::trim(row[3])).value_or(0));
  const auto now = static_cast<int64_t>(std::time(nullptr));
  size_t equal = 0;
  for (const model::AssociationRecord& one : snapshot.associations) {
    const auto used = snapshot.usage.find(one.id());
    if (used == snapshot.usage.end() || (one.user().empty() && used->second.raw() <= 0)) continue;
    const AccountsState::Place place{one.account(), one.user().empty() ? kRemovedPeople : one.user(),
                                     one.partition()};
    const double before = accounts::decayed_usage(
        used->second.raw(), static_cast<double>(std::max<int64_t>(0, now - used->second.time())),
        static_cast<double>(snapshot.cluster().half_life));
    const auto there = now_used.find(place);
    // More of it may have been used since.
    if (there != now_used.end() && there->second + kRounding >= before * (1 - kNoise)) {
      ++equal;
    } else {
      comparison.differences.push_back(
          {in_words(place), "RawUsage", fmt::format("{:.0f}", before),
           there == now_used.end() ? "none" : fmt::format("{:.0f}", there->second)});
    }
  }
  comparison.equal.push_back("usage of " + counted(equal, "association", "associations"));
  return {};
}

namespace {

Status check_next_number(const Snapshot& snapshot, const NewSlurm& slurm, Comparison& comparison) {
  const auto controller = Controller::find(slurm);
  if (!controller) return failure(controller.error());
  const std::string next = controller->setting("NEXT_JOB_ID");
  const auto number = text::parse_unsigned(next, 0xffffffff);
  if (number && *number <= snapshot.highest_job_id())
    comparison.differences.push_back({"the next job", "JobId",
                                      "above " + std::to_string(snapshot.highest_job_id()),
                                      next + " (set FirstJobId in slurm.conf, and restart slurmctld)"});
  return {};
}

}  // namespace

Result<Comparison> check(const std::string& directory, const NewSlurm& slurm) {
  const auto snapshot = Snapshot::open(directory);
  if (!snapshot) return failure(snapshot.error());
  const Commands commands(slurm);
  Comparison comparison;
  for (const auto part : {check_accounts, check_usage, check_record, check_queue}) {
    if (const Status done = part(*snapshot, commands, comparison); !done) return failure(done.error());
  }
  if (const Status done = check_next_number(*snapshot, slurm, comparison); !done)
    return failure(done.error());
  return comparison;
}

std::string in_words(const Comparison& comparison) {
  std::string out;
  for (const Difference& one : comparison.differences) {
    out += one.field == "it" ? fmt::format("{}: was {}, is {}\n", one.what, one.before, one.now)
                             : fmt::format("{}: {} was {}, is {}\n", one.what, one.field,
                                           or_nothing(one.before), or_nothing(one.now));
  }
  for (const std::string& one : comparison.remarks) out += one + "\n";
  const size_t count = comparison.differences.size();
  out += count == 0 ? "all equal: " : counted(count, "difference", "differences") + "; equal: ";
  for (size_t i = 0; i < comparison.equal.size(); ++i) out += (i == 0 ? "" : ", ") + comparison.equal[i];
  return out + "\n";
}

}  // namespace minke::grow
