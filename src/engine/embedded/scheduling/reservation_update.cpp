// The fields of a reservation: times, flags, permitted users, recurrence. Pure,
// except that it looks up users.
#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "api/field.pb.h"
#include "engine/embedded/scheduling/reservations.h"
#include "model/error.h"
#include "model/job_terms.pb.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/timestamp.h"
#include "text/word.h"

namespace minke::engine {

using namespace model;

namespace {

constexpr int64_t kYear = int64_t{365} * 24 * 3600;

// In the order of display. FIRST_CORES has no effect: reservations count processors, and a job gets
// particular ones only when it starts.
constexpr std::array<std::string_view, 20> kFlags = {
    "MAINT",   "FLEX",         "OVERLAP",     "IGNORE_JOBS", "HOURLY",    "DAILY",     "WEEKDAY",
    "WEEKEND", "WEEKLY",       "SPEC_NODES",  "ALL_NODES",   "ANY_NODES", "STATIC",    "PART_NODES",
    "REPLACE", "REPLACE_DOWN", "FIRST_CORES", "TIME_FLOAT",  "MAGNETIC",  "PURGE_COMP"};

Status set_flag(ReservationRecord& record, std::string_view word, bool set) {
  if (const size_t equals = word.find('='); equals != std::string_view::npos) {
    const auto seconds = text::parse_seconds(word.substr(equals + 1));
    const std::string_view name = word.substr(0, equals);
    if (name.size() < 4 || !text::starts_with_ignoring_case("PURGE_COMP", name) || !seconds ||
        *seconds <= 0 || *seconds > kYear)
      return failure("Flags=" + std::string(word), kInvalidTimeValue);
    if (const Status flagged = set_flag(record, "PURGE_COMP", set); !flagged) return flagged;
    record.set_purge_seconds(static_cast<uint32_t>(*seconds));
    return {};
  }
  const auto found = std::find_if(kFlags.begin(), kFlags.end(), [&](std::string_view flag) {
    return text::is(flag, word) || (word.size() >= 4 && text::starts_with_ignoring_case(flag, word));
  });
  if (text::is(word, "STATIC_ALLOC")) return set_flag(record, "STATIC", set);
  if (text::is(word, "LICENSE_ONLY")) return set_flag(record, "ANY_NODES", set);
  if (found == kFlags.end())
    return failure("Flags=" + std::string(word) + " is not done here", kNotSupported);
  std::vector<std::string> flags;
  for (const std::string_view flag : kFlags) {
    const bool present = has_flag(record, flag);
    if (flag == *found ? set : present) flags.emplace_back(flag);
  }
  record.mutable_flags()->Assign(flags.begin(), flags.end());
  constexpr uint32_t kPurge = 300;  // Slurm's
  if (*found == "PURGE_COMP") record.set_purge_seconds(kPurge);
  return {};
}

// "a,b" sets the names; "+a" adds one; "-a" removes one, or denies it if nothing is being changed.
void set_names(google::protobuf::RepeatedPtrField<std::string>* names, bool& denied, std::string_view value) {
  if (value.starts_with('+')) {
    for (const std::string_view name : text::split(value.substr(1), ',')) *names->Add() = name;
    return;
  }
  if (value.starts_with("--")) {  // "-=" of names
    for (const std::string_view name : text::split(value.substr(2), ',')) {
      names->erase(std::remove(names->begin(), names->end(), name), names->end());
    }
    return;
  }
  names->Clear();
  denied = false;
  for (std::string_view name : text::split(value, ',')) {
    if (name.starts_with('-')) {
      denied = true;
      name.remove_prefix(1);
    }
    if (!name.empty()) *names->Add() = name;
  }
}

Status set_duration(ReservationRecord& record, std::string_view value) {
  const char sign = value.empty() ? '\0' : value.front();
  const bool relative = sign == '+' || (sign == '-' && value != "-1");
  const auto minutes = text::parse_minutes(relative ? value.substr(1) : value);
  if (!minutes) return failure("Duration=" + std::string(value), kInvalidTimeValue);
  const int64_t seconds = *minutes == text::kUnlimited ? kYear : int64_t{*minutes} * 60;
  const int64_t before = record.end_time() - record.start_time();
  const int64_t after = sign == '+' ? before + seconds : relative ? before - seconds : seconds;
  if (after <= 0) return failure("Duration=" + std::string(value), kInvalidTimeValue);
  record.set_end_time(record.start_time() + after);
  return {};
}

// A field of the request and the record that it changes.
struct Given {
  ReservationRecord& record;
  ReservationPlace& place;
  const std::string& name;
  const std::string& value;
  int64_t now;
};

Result<int64_t> time_of(const Given& given) {
  const auto time = text::parse_time(given.value, given.now);
  if (!time) return failure(time.error().message, kInvalidTimeValue);
  return *time;
}

Status set_start(const Given& given) {
  const auto time = time_of(given);
  if (!time) return failure(time.error());
  const int64_t length = given.record.end_time() - given.record.start_time();
  given.record.set_start_time(*time);
  if (length > 0) given.record.set_end_time(*time + length);
  return {};
}

Status set_end(const Given& given) {
  const auto time = time_of(given);
  if (!time) return failure(time.error());
  given.record.set_end_time(*time);
  return {};
}

Status set_length(const Given& given) {
  return set_duration(given.record, given.value);
}

Status set_nodes(const Given& given) {
  given.place.nodes = given.value;
  return {};
}

Result<std::vector<uint32_t>> counts_of(const Given& given) {
  std::vector<uint32_t> counts;
  for (const std::string_view word : text::split(given.value, ',')) {
    const auto count = text::parse_unsigned(word, 1 << 20);
    if (!count || *count == 0) return failure(given.name + "=" + given.value, kInvalidNodeCount);
    counts.push_back(static_cast<uint32_t>(*count));
  }
  return counts;
}

Status set_node_count(const Given& given) {
  const auto counts = counts_of(given);
  if (!counts) return failure(counts.error());
  if (counts->size() > 1) return failure(given.name + "=" + given.value, kInvalidNodeCount);
  given.record.set_node_count(counts->front());
  return {};
}

Status set_core_count(const Given& given) {
  auto counts = counts_of(given);
  if (!counts) return failure(counts.error());
  given.record.set_core_count(std::accumulate(counts->begin(), counts->end(), 0u));
  if (counts->size() > 1) given.place.cores = std::move(*counts);
  return {};
}

Status set_users(const Given& given) {
  bool denied = given.record.users_denied();
  set_names(given.record.mutable_users(), denied, given.value);
  given.record.set_users_denied(denied);
  for (const std::string& user : given.record.users())
    if (::getpwnam(user.c_str()) == nullptr) return failure("there is no user " + user, kInvalidUserId);
  return {};
}

Status set_accounts(const Given& given) {
  bool denied = given.record.accounts_denied();
  set_names(given.record.mutable_accounts(), denied, given.value);
  given.record.set_accounts_denied(denied);
  return {};
}

Status set_qos(const Given& given) {
  bool denied = given.record.qos_denied();
  set_names(given.record.mutable_qos(), denied, text::lower_case(given.value));
  given.record.set_qos_denied(denied);
  return {};
}

// Names that are denied begin with "-" in the record.
Status set_allowed_partitions(const Given& given) {
  auto& names = *given.record.mutable_allowed_partitions();
  bool denied = !names.empty() && names[0].starts_with('-');
  for (std::string& name : names)
    if (denied) name.erase(0, 1);
  set_names(&names, denied, given.value);
  for (std::string& name : names)
    if (denied) name.insert(0, 1, '-');
  return {};
}

Status set_groups(const Given& given) {
  bool denied = false;
  set_names(given.record.mutable_groups(), denied, given.value);
  if (denied) return failure("Groups are those that may use it: none can be denied", kNotSupported);
  for (const std::string& group : given.record.groups())
    if (::getgrnam(group.c_str()) == nullptr) return failure("there is no group " + group, kInvalidUserId);
  return {};
}

Status set_flags(const Given& given) {
  std::string_view list = given.value;
  // As in Slurm, "=" also adds to the present flags.
  const bool remove = list.starts_with('-');
  if (remove || list.starts_with('+')) list.remove_prefix(1);
  for (const std::string_view word : text::split(list, ',')) {
    if (word.empty()) continue;
    if (const Status flagged = set_flag(given.record, word, !remove); !flagged) return flagged;
  }
  return {};
}

void set_partition(ReservationRecord& record, const std::string& value) {
  record.set_partition(value);
}
void set_licenses(ReservationRecord& record, const std::string& value) {
  record.set_licenses(value);
}
void set_features(ReservationRecord& record, const std::string& value) {
  record.set_features(value);
}
void set_comment(ReservationRecord& record, const std::string& value) {
  record.set_comment(value);
}

template <void (*set)(ReservationRecord&, const std::string&)>
Status set_to(const Given& given) {
  set(given.record, given.value);
  return {};
}

// "gres/gpu=2", "gres/gpu:a100=2", "gres/nic=2"
Status set_gres(const Given& given, std::string_view gres, const std::string& count) {
  constexpr uint32_t kMost = 1 << 30;
  const size_t colon = gres.find(':');
  const std::string name(gres.substr(0, colon));
  const auto number = count.empty() ? std::optional<uint64_t>(1) : text::parse_unsigned(count, kMost);
  const std::string type(colon == std::string_view::npos ? "" : gres.substr(colon + 1));
  if (name.empty() || !number || *number == 0 || text::is(name, "shard"))
    return failure("TRES=" + given.value, kInvalidTres);
  if (!text::is(name, "gpu")) {
    Gres& counted = *given.record.add_gres();
    counted.set_name(name);
    counted.set_type(type);
    counted.set_count(static_cast<uint32_t>(*number));
    return {};
  }
  if (given.record.gpu_count() > 0 && given.record.gpu_type() != type)
    return failure("TRES=" + given.value + ": GPUs are of one type, or of any", kNotSupported);
  given.record.set_gpu_count(static_cast<uint32_t>(*number));
  given.record.set_gpu_type(type);
  return {};
}

// "cpu=5,node=2,license/a=1": each as the field of its own.
Status set_tres(const Given& given) {
  std::string licenses;
  given.record.clear_gpu_count();
  given.record.clear_gres();
  for (const std::string_view term : text::split(given.value, ',')) {
    const size_t equals = term.find('=');
    const std::string_view name = term.substr(0, equals);
    const std::string count(equals == std::string_view::npos ? "" : term.substr(equals + 1));
    Status set;
    if (text::is(name, "cpu")) {
      set = set_core_count({given.record, given.place, "CoreCnt", count, given.now});
    } else if (text::is(name, "node")) {
      set = set_node_count({given.record, given.place, "NodeCnt", count, given.now});
    } else if (text::starts_with_ignoring_case(name, "license/") && text::parse_unsigned(count, UINT32_MAX)) {
      licenses.append(licenses.empty() ? "" : ",")
          .append(name.substr(name.find('/') + 1))
          .append(":" + count);
    } else if (text::starts_with_ignoring_case(name, "gres/")) {
      set = set_gres(given, name.substr(name.find('/') + 1), count);
    } else {
      set = failure("TRES=" + std::string(term), kInvalidTres);
    }
    if (!set) return set;
  }
  if (!licenses.empty()) given.record.set_licenses(licenses);
  given.place.changed = true;
  return {};
}

Status set_tres_per_node(const Given& given) {
  given.place.per_node = true;
  given.record.clear_core_count();
  return set_tres(given);
}

struct Known {
  std::string_view name;
  Status (*set)(const Given&);
};
constexpr Known kFields[] = {
    {"StartTime", set_start},
    {"EndTime", set_end},
    {"Duration", set_length},
    {"Nodes", set_nodes},
    {"NodeCnt", set_node_count},
    {"CoreCnt", set_core_count},
    {"PartitionName", set_to<set_partition>},
    {"Users", set_users},
    {"Accounts", set_accounts},
    {"QOS", set_qos},
    {"AllowedPartitions", set_allowed_partitions},
    {"TRES", set_tres},
    {"TRESPerNode", set_tres_per_node},
    {"Flags", set_flags},
    {"Groups", set_groups},
    {"Licenses", set_to<set_licenses>},
    {"Features", set_to<set_features>},
    {"Comment", set_to<set_comment>},
};

}  // namespace

Status check_flags(const ReservationRecord& record) {
  const auto has_one_of = [&](auto... flags) { return (has_flag(record, flags) || ...); };
  int periods = 0;
  for (const char* period : {"HOURLY", "DAILY", "WEEKDAY", "WEEKEND", "WEEKLY"})
    periods += has_flag(record, period) ? 1 : 0;
  if (periods > 1) return failure("it can recur in one way only", kNotSupported);
  if (periods != 0 && has_flag(record, "TIME_FLOAT"))
    return failure("one that floats does not recur", kNotSupported);
  if (has_one_of("REPLACE", "REPLACE_DOWN") && has_one_of("STATIC", "MAINT"))
    return failure("REPLACE and REPLACE_DOWN do not go with STATIC_ALLOC or MAINT", kNotSupported);
  return {};
}

Status apply_reservation_field(ReservationRecord& record, const api::Field& field, int64_t now,
                               ReservationPlace& place) {
  for (const Known& known : kFields)
    if (text::is(field.name(), known.name))
      return known.set({record, place, field.name(), field.value(), now});
  return failure("a reservation's " + field.name() + " is not done here", kNotSupported);
}

}  // namespace minke::engine
