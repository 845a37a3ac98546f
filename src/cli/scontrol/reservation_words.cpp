// scontrol create and update reservation: from words to the request, with what Slurm's scontrol refuses by
// itself.
#include <algorithm>
#include <iterator>
#include <string_view>

#include "api/field.pb.h"
#include "api/updates.pb.h"
#include "cli/scontrol/update.h"
#include "text/duration.h"
#include "text/number.h"
#include "text/timestamp.h"

namespace minke::cli {
namespace {

struct Name {
  std::string_view name;
  size_t enough;
};

constexpr Name kNames[] = {{"ReservationName", 3},
                           {"Accounts", 1},
                           {"BurstBuffer", 1},
                           {"Comment", 3},
                           {"CoreCnt", 5},
                           {"CPUCnt", 4},
                           {"Duration", 1},
                           {"EndTime", 1},
                           {"Features", 2},
                           {"Flags", 2},
                           {"Groups", 1},
                           {"Licenses", 1},
                           {"MaxStartDelay", 3},
                           {"Nodes", 5},
                           {"NodeCnt", 5},
                           {"PartitionName", 1},
                           {"Skip", 2},
                           {"StartTime", 2},
                           {"TRES", 1},
                           {"Users", 1},
                           {"Watts", 1}};

// Those that Slurm knows, whether they mean something here or not: others are an error of spelling.
constexpr std::string_view kFlags[] = {"MAINT",        "FLEX",         "OVERLAP",           "IGNORE_JOBS",
                                       "HOURLY",       "DAILY",        "WEEKDAY",           "WEEKEND",
                                       "WEEKLY",       "SPEC_NODES",   "ALL_NODES",         "ANY_NODES",
                                       "STATIC",       "STATIC_ALLOC", "PART_NODES",        "MAGNETIC",
                                       "PURGE_COMP",   "REPLACE",      "REPLACE_DOWN",      "TIME_FLOAT",
                                       "LICENSE_ONLY", "FIRST_CORES",  "NO_HOLD_JOBS_AFTER"};

std::string_view full_name(std::string_view given) {
  for (const Name& name : kNames) {
    if (text::equals_ignoring_case(given, name.name)) return name.name;
  }
  for (const Name& name : kNames) {
    if (given.size() >= name.enough && text::starts_with_ignoring_case(name.name, given)) return name.name;
  }
  return {};
}

bool are_flags(std::string_view list) {
  for (std::string_view word : text::split(list, ',')) {
    word = word.substr(0, word.find('='));
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    const bool known = std::any_of(std::begin(kFlags), std::end(kFlags), [&](std::string_view flag) {
      return text::equals_ignoring_case(flag, word) ||
             (word.size() >= 4 && text::starts_with_ignoring_case(flag, word));
    });
    if (!known) return false;
  }
  return true;
}

}  // namespace

bool names_reservation(const std::vector<std::string>& words) {
  bool reservation = false;
  for (const std::string& word : words) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));
    if (name.size() >= 3 && text::starts_with_ignoring_case("JobId", name)) return false;
    if (name.size() >= 4 && text::starts_with_ignoring_case("JobName", name)) return false;
    reservation =
        reservation || (name.size() >= 3 && text::starts_with_ignoring_case("ReservationName", name));
  }
  return reservation;
}

Result<api::UpdateReservationRequest> parse_reservation(const std::vector<std::string>& words,
                                                        api::Change change) {
  const bool create = change == api::CREATE;
  const std::string denied = create ? ".  No reservation created." : ".  No reservation update.";
  const std::string after = create ? "" : "\nslurm_update error: No error";
  const auto refused = [&](const std::string& text) {
    return failure("scontrol: error: " + text + denied + after);
  };
  api::UpdateReservationRequest request;
  request.set_change(change);
  bool start = false, end = false, who = false, what = false;
  bool partition = false, all_nodes = false, part_nodes = false;
  int64_t start_time = 0, end_time = 0;
  for (const std::string& word : words) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      if (create && !full_name(word).empty() && words.front() == word) continue;  // "create reservation …"
      return refused("Unknown parameter " + word);
    }
    std::string given = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    const char sign = given.empty() ? '\0' : given.back();
    if (sign == '+' || sign == '-') given.pop_back();
    const std::string_view name = full_name(given);
    if (name.empty()) return refused("Unknown parameter " + word);
    if (name == "ReservationName") {
      request.set_name(value);
      continue;
    }
    if (sign == '+' || sign == '-') {
      if (name == "Nodes") return refused("The +=/-= notation is not supported when updating nodes");
      const bool names = name == "Users" || name == "Accounts";
      value.insert(0, names && sign == '-' ? "--" : std::string(1, sign));
    }
    // Times count from now on, which is the daemon's to say; here they are only looked at.
    if (name == "StartTime" || name == "EndTime") {
      const bool is_start = name == "StartTime";
      const auto time = text::parse_time(value, 1000000000);
      if (!time) {
        return failure("Invalid time specification (pos=0): " + value + "\nscontrol: error: Invalid " +
                       (is_start ? "start" : "end") + " time " + word + denied + after);
      }
      (is_start ? start : end) = true;
      (is_start ? start_time : end_time) = *time;
    }
    if (name == "Duration" && !text::parse_minutes(sign == '+' || sign == '-' ? value.substr(1) : value))
      return refused("Invalid duration " + word);
    if (name == "Flags" && !are_flags(value)) return refused("Error parsing flags " + value);
    partition = partition || name == "PartitionName";
    if (name == "Nodes") all_nodes = text::equals_ignoring_case(value, "ALL");
    if (name == "Flags" && sign != '-') {
      for (const std::string_view flag : text::split(value, ','))
        part_nodes = part_nodes || (flag.size() >= 4 && text::starts_with_ignoring_case("PART_NODES", flag));
    }
    who = who || name == "Users" || name == "Accounts" || name == "Groups";
    for (std::string_view one :
         {"Nodes", "NodeCnt", "CoreCnt", "CPUCnt", "Licenses", "TRES", "BurstBuffer", "Watts"})
      what = what || name == one;
    end = end || name == "Duration";
    api::Field& field = *request.add_fields();
    field.set_name(std::string(name == "CPUCnt" ? "CoreCnt" : name));
    field.set_value(value);
  }
  if (part_nodes && (!all_nodes || (create && !partition)))
    return refused("PART_NODES flag requires specifying a Partition and ALL nodes");
  if (!create) return request;
  // A partition, and nothing of it in particular: all its nodes.
  const auto add = [&](const char* name, const char* value) {
    api::Field& field = *request.add_fields();
    field.set_name(name);
    field.set_value(value);
  };
  if (partition && !what) add("Nodes", "ALL");
  if (partition && !part_nodes && (all_nodes || !what)) add("Flags", "PART_NODES");
  what = what || partition;
  if (start_time != 0 && end_time != 0 && end_time < start_time)
    return refused("Start time cannot be after end time");
  if (!start) return refused("A start time must be given");
  if (!end) return refused("An end time or duration must be given");
  if (!what) return refused("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified");
  if (!who) return refused("Either Users/Groups and/or Accounts must be specified");
  return request;
}

}  // namespace minke::cli
