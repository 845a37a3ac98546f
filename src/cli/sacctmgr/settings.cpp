#include "cli/sacctmgr/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <optional>
#include <span>

#include "base/version.h"
#include "model/accounts.pb.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/number.h"

namespace minke::cli {
namespace {

using model::Limits;
using TresLimits = google::protobuf::RepeatedPtrField<model::Tres>;

bool takes_away(std::string_view value) {
  return value == "-1";
}

// Slurm has made the value lower case by then.
tl::unexpected<Error> bad_value(std::string_view title, const Word& word) {
  const std::string value = text::lower_case(word.value);
  Word told = word;
  if (const size_t equals = told.text.find('='); equals != std::string::npos)
    told.text = told.text.substr(0, equals + 1) + value;
  return failure(
      fmt::format("sacctmgr: error: Invalid value for {} ({})\n{}", title, value, unknown_option(told)),
      kBadNumber);
}

// Sets one count; a negative one, and Slurm's two largest numbers, clear it. Nothing is 0.
template <typename Set, typename Clear>
Result<bool> count(const Word& word, std::string_view title, Set set, Clear clear) {
  constexpr uint32_t kNone = 0xfffffffe;
  const std::string_view digits = text::skip_blanks_and_plus(word.value);
  const bool negative = digits.starts_with('-');
  const std::string_view amount = digits.substr(negative ? 1 : 0);
  const auto value = amount.empty() && !negative ? std::optional<uint64_t>(0) : text::parse_unsigned(amount);
  if (!value) return bad_value(title, word);
  const auto kept = static_cast<uint32_t>(*value);  // Slurm's 32 bits
  if (negative || kept >= kNone) {
    clear();
  } else {
    set(kept);
  }
  return true;
}

template <typename Set, typename Clear>
Result<bool> minutes(const Word& word, std::string_view title, Set set, Clear clear) {
  if (takes_away(word.value)) {
    clear();
    return true;
  }
  const auto value = text::parse_minutes(word.value);
  if (!value)
    return failure(fmt::format(" Bad {} time format: {}\n{}", title, word.text, unknown_option(word)));
  *value == text::kUnlimited ? clear() : set(*value);
  return true;
}

Result<bool> tres(TresLimits& limits, const Word& word, std::string_view prefix = {}) {
  const Status done = set_tres(limits, std::string(prefix) + word.value);
  if (word.value.empty() && prefix.empty()) return failure(unknown_option(word));
  if (!done) return failure("sacctmgr: error: " + done.error().message + "\n" + unknown_option(word));
  return true;
}

#define MINKE_COUNT(field, title) \
  count(                          \
      word, title, [&](uint32_t v) { limits.set_##field(v); }, [&] { limits.clear_##field(); })
#define MINKE_MINUTES(field, title) \
  minutes(                          \
      word, title, [&](uint32_t v) { limits.set_##field(v); }, [&] { limits.clear_##field(); })

// A limit by its word: some take any TRES, some only one ("cpu=").
struct TresLimit {
  std::string_view name;
  TresLimits* (Limits::*list)();
  std::string_view unit;
};
struct NumberLimit {
  std::string_view name;
  Result<bool> (*set)(Limits& limits, const Word& word);
};
#define MINKE_LIMIT(name, how, field, title)                                 \
  {                                                                          \
    name, [](Limits& limits, const Word& word) { return how(field, title); } \
  }

// Returns whether the word is one of these, and sets the limit.
Result<bool> set_listed(Limits& limits, const Word& word, std::span<const TresLimit> of_tres,
                        std::span<const NumberLimit> of_numbers) {
  for (const TresLimit& one : of_tres)
    if (word.name == one.name) return tres(*(limits.*one.list)(), word, one.unit);
  for (const NumberLimit& one : of_numbers)
    if (word.name == one.name) return one.set(limits, word);
  return false;
}

// The limits that associations and QOS share.
constexpr TresLimit kTresLimits[] = {
    {"grptres", &Limits::mutable_grp_tres, ""},
    {"grpcpus", &Limits::mutable_grp_tres, "cpu="},
    {"grpnodes", &Limits::mutable_grp_tres, "node="},
    {"grpmemory", &Limits::mutable_grp_tres, "mem="},
    {"grptresmins", &Limits::mutable_grp_tres_mins, ""},
    {"grpcpumins", &Limits::mutable_grp_tres_mins, "cpu="},
    {"grptresrunmins", &Limits::mutable_grp_tres_run_mins, ""},
    {"grpcpurunmins", &Limits::mutable_grp_tres_run_mins, "cpu="},
    {"maxtres", &Limits::mutable_max_tres, ""},
    {"maxcpus", &Limits::mutable_max_tres, "cpu="},
    {"maxnodes", &Limits::mutable_max_tres, "node="},
    {"maxtrespernode", &Limits::mutable_max_tres_per_node, ""},
    {"maxtresmins", &Limits::mutable_max_tres_mins, ""},
    {"maxcpumins", &Limits::mutable_max_tres_mins, "cpu="},
};
constexpr NumberLimit kNumberLimits[] = {
    MINKE_LIMIT("grpjobs", MINKE_COUNT, grp_jobs, "GrpJobs"),
    MINKE_LIMIT("grpjobsaccrue", MINKE_COUNT, grp_jobs_accrue, "GrpJobsAccrue"),
    MINKE_LIMIT("grpsubmitjobs", MINKE_COUNT, grp_submit_jobs, "GrpSubmitJobs"),
    MINKE_LIMIT("grpwall", MINKE_MINUTES, grp_wall, "GrpWall"),
    MINKE_LIMIT("maxwall", MINKE_MINUTES, max_wall, "MaxWall"),
    MINKE_LIMIT("minpriothreshold", MINKE_COUNT, min_priority, "MinPrioThresh"),
};

Result<bool> set_limit(Limits& limits, const Word& word) {
  return set_listed(limits, word, kTresLimits, kNumberLimits);
}

std::string known_qos(const accounts::AccountBook& book) {
  std::string names;
  for (const auto& [id, one] : book.qos()) names += (names.empty() ? "" : ",") + one.name();
  return names;
}

// The name as it stands in the list, where its letters may be larger.
std::string as_written(std::string_view list, std::string_view name) {
  for (std::string_view item : text::split(list, ',')) {
    item = text::trim(item);
    if (item.starts_with('+') || item.starts_with('-')) item.remove_prefix(1);
    if (text::equals_ignoring_case(item, name)) return std::string(item);
  }
  return std::string(name);
}

// "a,b" replaces the list; "+=a", "-=a" and "+a" change it.
Result<bool> qos_list(google::protobuf::RepeatedPtrField<std::string>& list, const Word& word,
                      const accounts::AccountBook& book) {
  std::vector<std::string> given = lower_list(word.value);
  for (std::string& name : given) {
    std::string plain = name;
    if (plain[0] == '+' || plain[0] == '-') plain = plain.substr(1);
    if (book.qos(plain) == nullptr)
      return failure("sacctmgr: error: You gave a bad qos '" + as_written(word.value, plain) +
                     "'. Valid QOS's are " + known_qos(book) + "\n" + unknown_option(word));
    if (word.sign != '=' && name == plain) name = std::string(1, word.sign) + plain;
  }
  const bool replaces = std::any_of(given.begin(), given.end(),
                                    [](const std::string& name) { return name[0] != '+' && name[0] != '-'; });
  if (replaces || given.empty()) list.Clear();
  for (const std::string& name : given) {
    const bool changes = name[0] == '+' || name[0] == '-';
    const std::string plain = changes ? name.substr(1) : name;
    const bool absolute = std::any_of(list.begin(), list.end(),
                                      [](const std::string& one) { return one[0] != '+' && one[0] != '-'; });
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const std::string& one) {
                                return one == plain || one == "+" + plain || one == "-" + plain;
                              }),
               list.end());
    if (changes && absolute) {
      if (name[0] == '+') *list.Add() = plain;
    } else {
      *list.Add() = name;
    }
  }
  return true;
}

// Slurm's names of flags, in its order; those without effect here are kept, and a warning tells so.
constexpr std::string_view kFlags[] = {
    "DenyOnLimit", "EnforceUsageThreshold", "NoReserve",           "PartitionMaxNodes", "PartitionMinNodes",
    "OverPartQOS", "PartitionTimeLimit",    "RequiresReservation", "NoDecay",           "UsageFactorSafe",
    "Relative"};

std::string known_flags() {
  if (spoken_release() < kSlurm24)
    return "DenyOnLimit,EnforceUsageThreshold,NoReserve,PartitionMaxNodes,PartitionMinNodes,OverPartQOS,"
           "PartitionTimeLimit,RequiresReservation,NoDecay,UsageFactorSafe";
  if (spoken_release() < kSlurm26)
    return "DenyOnLimit,EnforceUsageThreshold,NoReserve,PartitionMaxNodes,PartitionMinNodes,OverPartQOS,"
           "PartitionTimeLimit,RequiresReservation,NoDecay,Relative,UsageFactorSafe";
  return "DenyOnLimit,EnforceUsageThreshold,PartitionMinNodes,PartitionMaxNodes,PartitionTimeLimit,"
         "RequiresReservation,OverPartQOS,NoReserve,NoDecay,Relative,UsageFactorSafe";
}

Result<bool> set_flags(model::QosRecord& record, const Word& word) {
  auto& list = *record.mutable_flags();
  if (word.sign == '=') list.Clear();
  if (takes_away(word.value)) return true;
  for (const std::string& name : lower_list(word.value)) {
    const auto same = [&](std::string_view flag) { return text::equals_ignoring_case(flag, name); };
    const auto* flag = std::find_if(std::begin(kFlags), std::end(kFlags), same);
    if (flag == std::end(kFlags))
      return failure(" Unknown QOS flag used in:\n  '" + word.value + "'\n Valid QOS flags are\n  '" +
                         known_flags() + "'",
                     kToldAsAnswer);
    list.erase(std::remove(list.begin(), list.end(), std::string(*flag)), list.end());
    if (word.sign != '-') *list.Add() = std::string(*flag);
  }
  std::sort(list.begin(), list.end());
  return true;
}

Result<bool> real(const Word& word, std::string_view title,
                  const std::function<void(std::optional<double>)>& set) {
  char* end = nullptr;
  const double value = word.value.empty() ? 0 : std::strtod(word.value.c_str(), &end);  // nothing is 0
  const bool bad = !word.value.empty() && (*end != '\0' || value > 1e9 || value != value);
  if (bad && spoken_release() >= kSlurm26)
    return failure(fmt::format("sacctmgr: error: {} value ({}) is not a valid number", title,
                               text::lower_case(word.value)),
                   kBadNumber);
  if (bad) return bad_value(title, word);
  value < 0 ? set(std::nullopt) : set(value);
  return true;
}

// The QOS that this one preempts, by name.
Result<bool> set_preempt(model::QosRecord& record, const Word& word, const accounts::AccountBook& book) {
  Word plain = word;
  if (plain.value == "-1") plain.value.clear();
  auto done = qos_list(*record.mutable_preempt(), plain, book);
  for (std::string& one : *record.mutable_preempt()) {
    if (one[0] == '+') one = one.substr(1);
  }
  auto& list = *record.mutable_preempt();
  list.erase(std::remove_if(list.begin(), list.end(), [](const std::string& one) { return one[0] == '-'; }),
             list.end());
  return done;
}

Result<bool> set_preempt_mode(model::QosRecord& record, const Word& word) {
  const std::string mode = text::lower_case(word.value);
  if (mode != "off" && mode != "cancel" && mode != "requeue" && mode != "suspend" && mode != "cluster")
    return failure(" Bad Preempt Mode given: " + word.text);
  record.set_preempt_mode(mode == "cluster" ? std::string() : mode);
  return true;
}

Result<bool> set_exempt_time(model::QosRecord& record, const Word& word) {
  if (takes_away(word.value)) {
    record.clear_preempt_exempt_seconds();
    return true;
  }
  const auto seconds = text::parse_seconds(word.value);
  if (!seconds || *seconds < 0) return failure(" Bad PreemptExemptTime format: " + word.text);
  record.set_preempt_exempt_seconds(static_cast<uint32_t>(std::min<int64_t>(*seconds, 0xfffffffd)));
  return true;
}

// The limits that only a QOS has.
constexpr TresLimit kQosTresLimits[] = {
    {"maxtrespu", &Limits::mutable_max_tres_per_user, ""},
    {"maxcpuspu", &Limits::mutable_max_tres_per_user, "cpu="},
    {"maxnodespu", &Limits::mutable_max_tres_per_user, "node="},
    {"maxtrespa", &Limits::mutable_max_tres_per_account, ""},
    {"mintres", &Limits::mutable_min_tres, ""},
    {"mincpus", &Limits::mutable_min_tres, "cpu="},
};
constexpr NumberLimit kQosNumberLimits[] = {
    MINKE_LIMIT("maxjobspu", MINKE_COUNT, max_jobs, "MaxJobsPU"),
    MINKE_LIMIT("maxjobs", MINKE_COUNT, max_jobs, "MaxJobsPU"),
    MINKE_LIMIT("maxjobspa", MINKE_COUNT, max_jobs_per_account, "MaxJobsPA"),
    MINKE_LIMIT("maxjobsaccruepu", MINKE_COUNT, max_jobs_accrue, "MaxJobsAccruePU"),
    MINKE_LIMIT("maxjobsaccrue", MINKE_COUNT, max_jobs_accrue, "MaxJobsAccruePU"),
    MINKE_LIMIT("maxjobsaccruepa", MINKE_COUNT, max_jobs_accrue_per_account, "MaxJobsAccruePA"),
    MINKE_LIMIT("maxsubmitpu", MINKE_COUNT, max_submit_jobs, "MaxSubmitJobsPU"),
    MINKE_LIMIT("maxsubmitjobs", MINKE_COUNT, max_submit_jobs, "MaxSubmitJobsPU"),
    MINKE_LIMIT("maxsubmitpa", MINKE_COUNT, max_submit_jobs_per_account, "MaxSubmitJobsPA"),
};

}  // namespace

Status set_tres(TresLimits& limits, std::string_view value) {
  for (const std::string_view item : text::split(value, ',')) {
    const size_t equals = item.rfind('=');
    if (equals == std::string_view::npos || equals == 0)
      return failure("slurmdb_format_tres_str: no TRES id found for " + std::string(item));
    const std::string name = text::lower_case(text::trim(item.substr(0, equals)));
    const std::string_view given = text::skip_blanks_and_plus(text::trim(item.substr(equals + 1)));
    const std::string_view amount = given.empty() ? "0" : given;
    if (tres_rank(name) == 8 && !name.starts_with("gres/") && !name.starts_with("license/") &&
        !name.starts_with("bb/"))
      return failure("slurmdb_format_tres_str: no TRES known by type " + name);
    limits.erase(std::remove_if(limits.begin(), limits.end(),
                                [&](const model::Tres& one) { return one.name() == name; }),
                 limits.end());
    if (takes_away(amount)) continue;
    model::Tres limit;
    limit.set_name(name);
    if (name == "mem") {
      const auto mib = text::parse_mib(amount);
      if (!mib) return failure("invalid value '" + std::string(amount) + "' for mem");
      limit.set_count(*mib);
    } else {
      const auto number = text::parse_unsigned(amount, uint64_t{1} << 62);
      if (!number) return failure("invalid value '" + std::string(amount) + "' for " + name);
      limit.set_count(*number);
    }
    *limits.Add() = limit;
  }
  std::sort(limits.begin(), limits.end(), [](const model::Tres& a, const model::Tres& b) {
    return std::pair(tres_rank(a.name()), a.name()) < std::pair(tres_rank(b.name()), b.name());
  });
  return {};
}

Result<bool> set_association(model::AssociationRecord& record, const Word& word,
                             const accounts::AccountBook& book) {
  Limits& limits = *record.mutable_limits();
  if (word.name == "fairshare") {
    if (text::equals_ignoring_case(word.value, "parent")) {
      record.set_shares(accounts::kSharesAsParent);
      return true;
    }
    return count(
        word, "FairShare",
        [&](uint32_t value) { record.set_shares(std::min(value, accounts::kSharesAsParent)); },
        [&] { record.set_shares(1); });
  }
  if (word.name == "maxjobs") return MINKE_COUNT(max_jobs, "MaxJobs");
  if (word.name == "maxjobsaccrue") return MINKE_COUNT(max_jobs_accrue, "MaxJobsAccrue");
  if (word.name == "maxsubmitjobs") return MINKE_COUNT(max_submit_jobs, "MaxSubmitJobs");
  if (word.name == "priority")
    return count(
        word, "Priority", [&](uint32_t v) { record.set_priority(v); }, [&] { record.clear_priority(); });
  if (word.name == "qos") return qos_list(*record.mutable_qos(), word, book);
  if (word.name == "comment") {
    record.set_comment(word.value);
    return true;
  }
  if (word.name == "coreyears" || word.name == "rguyears") {
    const bool cores = word.name == "coreyears";
    return real(word, cores ? "CoreYears" : "RGUYears", [&](std::optional<double> value) {
      cores ? record.set_core_years(value.value_or(0)) : record.set_rgu_years(value.value_or(0));
    });
  }
  if (word.name == "defaultqos") {
    if (takes_away(word.value) || word.value.empty()) {
      record.clear_default_qos();
      return true;
    }
    const std::string name = text::lower_case(word.value);
    if (book.qos(name) == nullptr)
      return failure("You gave a bad default qos '" + word.value +
                     "'.  Use 'list qos' to get complete list.");
    record.set_default_qos(name);
    return true;
  }
  auto done = set_limit(limits, word);
  if (limits.ByteSizeLong() == 0) record.clear_limits();
  return done;
}

Result<bool> set_qos(model::QosRecord& record, const Word& word, const accounts::AccountBook& book) {
  Limits& limits = *record.mutable_limits();
  const std::string& name = word.name;
  if (name == "description") {
    record.set_description(text::lower_case(word.value));
    return true;
  }
  if (name == "flags") return set_flags(record, word);
  if (name == "priority")
    return count(
        word, "Priority", [&](uint32_t v) { record.set_priority(v); }, [&] { record.clear_priority(); });
  if (name == "gracetime")
    return count(
        word, "GraceTime", [&](uint32_t v) { record.set_grace_seconds(v); },
        [&] { record.clear_grace_seconds(); });
  if (name == "preempt") return set_preempt(record, word, book);
  if (name == "preemptmode") return set_preempt_mode(record, word);
  if (name == "usagefactor")
    return real(word, "UsageFactor", [&](std::optional<double> value) {
      value ? record.set_usage_factor(*value) : record.clear_usage_factor();
    });
  // These are kept, and change nothing here.
  if (name == "usagethreshold")
    return real(word, "UsageThreshold", [&](std::optional<double> value) {
      value ? record.set_usage_threshold(*value) : record.clear_usage_threshold();
    });
  if (name == "limitfactor")
    return real(word, "LimitFactor", [&](std::optional<double> value) {
      value.value_or(0) > 0 ? record.set_limit_factor(*value) : record.clear_limit_factor();
    });
  if (name == "preemptexempttime") return set_exempt_time(record, word);
  auto done = set_listed(limits, word, kQosTresLimits, kQosNumberLimits);
  if (done && !*done) done = set_limit(limits, word);
  if (limits.ByteSizeLong() == 0) record.clear_limits();
  return done;
}

}  // namespace minke::cli
