// scontrol create and update reservation: turns words into the request, and refuses what Slurm's
// scontrol itself refuses.
#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

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
                           {"AllowedPartitions", 2},
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
                           {"QOS", 1},
                           {"Skip", 2},
                           {"StartTime", 2},
                           {"TRES", 1},
                           {"TRESPerNode", 5},
                           {"Users", 1},
                           {"Watts", 1}};

// All that Slurm knows, whether they have an effect here or not: others are spelling errors.
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
    if (word.empty()) continue;
    if (word.starts_with('+') || word.starts_with('-')) word.remove_prefix(1);
    const bool known = std::any_of(std::begin(kFlags), std::end(kFlags), [&](std::string_view flag) {
      return text::equals_ignoring_case(flag, word) ||
             (word.size() >= 4 && text::starts_with_ignoring_case(flag, word));
    });
    if (!known) return false;
  }
  return true;
}

// Whether the parameter says what to reserve.
bool says_what(std::string_view name) {
  constexpr std::string_view kWhat[] = {"Nodes", "NodeCnt",     "CoreCnt",     "CPUCnt", "Licenses",
                                        "TRES",  "TRESPerNode", "BurstBuffer", "Watts"};
  return std::find(std::begin(kWhat), std::end(kWhat), name) != std::end(kWhat);
}

bool says_who(std::string_view name) {
  return name == "Users" || name == "Accounts" || name == "Groups" || name == "QOS" ||
         name == "AllowedPartitions";
}

bool has_part_nodes(std::string_view flags) {
  for (const std::string_view flag : text::split(flags, ','))
    if (flag.size() >= 4 && text::starts_with_ignoring_case("PART_NODES", flag)) return true;
  return false;
}

// Builds the request, word by word.
class ReservationReader {
 public:
  explicit ReservationReader(api::Change change) : create_(change == api::CREATE) {
    request_.set_change(change);
  }

  // `is_first`: "reservation" itself, of "create reservation …".
  Status take(const std::string& word, bool is_first) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos) {
      if (create_ && is_first && !full_name(word).empty()) return {};
      return refused("Unknown parameter " + word);
    }
    std::string given = word.substr(0, equals);
    std::string value = word.substr(equals + 1);
    const char last = given.empty() ? '\0' : given.back();
    const char sign = last == '+' || last == '-' ? last : '\0';
    if (sign != '\0') given.pop_back();
    const std::string_view name = full_name(given);
    if (name.empty()) return refused("Unknown parameter " + word);
    if (name == "ReservationName") {
      request_.set_name(value);
      return {};
    }
    if (name == "Nodes" && sign != '\0')
      return refused("The +=/-= notation is not supported when updating nodes");
    if (const Status checked = check(name, value, sign, word); !checked) return checked;
    note(name, value, sign);
    if (sign != '\0') {
      const bool names =
          name == "Users" || name == "Accounts" || name == "QOS" || name == "AllowedPartitions";
      value.insert(0, names && sign == '-' ? "--" : std::string(1, sign));
    }
    add(name == "CPUCnt" ? "CoreCnt" : name, value);
    return {};
  }

  Result<api::UpdateReservationRequest> finish() {
    if (part_nodes_ && (!all_nodes_ || (create_ && !partition_)))
      return refused("PART_NODES flag requires specifying a Partition and ALL nodes");
    if (!create_) return std::move(request_);
    // A partition without details means all its nodes.
    if (partition_ && !what_) add("Nodes", "ALL");
    if (partition_ && !part_nodes_ && (all_nodes_ || !what_)) add("Flags", "PART_NODES");
    if (start_time_ != 0 && end_time_ != 0 && end_time_ < start_time_)
      return refused("Start time cannot be after end time");
    if (!start_) return refused("A start time must be given");
    if (!end_) return refused("An end time or duration must be given");
    if (!what_ && !partition_)
      return refused("CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified");
    if (!who_)
      return refused("Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified");
    return std::move(request_);
  }

 private:
  std::string outcome() const {
    return create_ ? ".  No reservation created." : ".  No reservation update.\nslurm_update error: No error";
  }
  tl::unexpected<Error> refused(const std::string& text) const {
    return failure("scontrol: error: " + text + outcome());
  }

  // Values that scontrol checks. Times relative to now are for the daemon to resolve.
  Status check(std::string_view name, const std::string& value, char sign, const std::string& word) {
    if (name == "StartTime" || name == "EndTime") {
      const bool is_start = name == "StartTime";
      const auto time = text::parse_time(signed_value(value, sign), 1000000000);
      if (!time) {
        return failure("Invalid time specification (pos=0): " + signed_value(value, sign) +
                       "\nscontrol: error: Invalid " + (is_start ? "start" : "end") + " time " + word +
                       outcome());
      }
      (is_start ? start_ : end_) = true;
      (is_start ? start_time_ : end_time_) = *time;
    }
    if (name == "Duration" && !text::parse_minutes(value)) return refused("Invalid duration " + word);
    if (name == "Flags" && !are_flags(signed_value(value, sign)))
      return refused("Error parsing flags " + signed_value(value, sign));
    return {};
  }

  // Notes which of them are given.
  void note(std::string_view name, const std::string& value, char sign) {
    partition_ = partition_ || name == "PartitionName";
    if (name == "Nodes") all_nodes_ = text::equals_ignoring_case(value, "ALL");
    if (name == "Flags" && sign != '-')
      part_nodes_ = part_nodes_ || has_part_nodes(signed_value(value, sign));
    who_ = who_ || says_who(name);
    what_ = what_ || says_what(name);
    end_ = end_ || name == "Duration";
  }

  static std::string signed_value(const std::string& value, char sign) {
    return sign == '\0' ? value : sign + value;
  }

  void add(std::string_view name, std::string_view value) {
    api::Field& field = *request_.add_fields();
    field.set_name(std::string(name));
    field.set_value(std::string(value));
  }

  const bool create_;
  api::UpdateReservationRequest request_;
  bool start_ = false, end_ = false, who_ = false, what_ = false;
  bool partition_ = false, all_nodes_ = false, part_nodes_ = false;
  int64_t start_time_ = 0, end_time_ = 0;
};

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
  ReservationReader reader(change);
  for (const std::string& word : words)
    if (const Status taken = reader.take(word, word == words.front()); !taken) return failure(taken.error());
  return reader.finish();
}

}  // namespace minke::cli
