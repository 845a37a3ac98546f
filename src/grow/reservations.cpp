// Minke's reservations in the words of `scontrol create reservation`: the step that makes them in Slurm.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "grow/steps.h"
#include "text/duration.h"
#include "text/hostlist.h"
#include "text/shell_quote.h"
#include "view/reservation_text.h"

namespace minke::grow {
namespace {

using model::ReservationRecord;

bool has_flag(const ReservationRecord& one, std::string_view flag) {
  return std::find(one.flags().begin(), one.flags().end(), flag) != one.flags().end();
}

template <typename List>
std::string comma_list(const List& words, std::string_view before) {
  std::string out;
  for (const std::string& word : words) out += fmt::format("{}{}{}", out.empty() ? "" : ",", before, word);
  return out;
}

// How long after its beginning it comes again, in seconds; 0: never.
int64_t period_of(const ReservationRecord& one) {
  if (has_flag(one, "HOURLY")) return 3600;
  if (has_flag(one, "WEEKLY")) return 7 * 86'400;
  return has_flag(one, "DAILY") || has_flag(one, "WEEKDAY") || has_flag(one, "WEEKEND") ? 86'400 : 0;
}

// Nodes, by name or by number. Empty: its nodes do not exist any more.
std::string place_of(const ReservationRecord& one, const Grown& grown) {
  if (has_flag(one, "ALL_NODES") || has_flag(one, "PART_NODES")) return "Nodes=ALL";
  if (one.shares().empty()) return "NodeCnt=0";  // of licences alone
  std::vector<std::string> names;
  for (const ReservationRecord::Share& share : one.shares()) names.push_back(share.node());
  const auto exists = [&](const std::string& name) {
    return std::any_of(grown.machines.begin(), grown.machines.end(), [&](const Machine& machine) {
      return machine.name == name && (!machine.is_head() || grown.head_computes);
    });
  };
  std::string cores = one.core_count() > 0 ? fmt::format(" CoreCnt={}", one.core_count()) : "";
  if (const std::string gres = view::reservation_tres(one, 0); !gres.empty()) cores += " TRES=" + gres;
  if (std::all_of(names.begin(), names.end(), exists))
    return "Nodes=" + text::compress_hostlist_sorted(names) + cores;
  return {};
}

std::string settings_of(const ReservationRecord& one, const std::string& place) {
  std::string out;
  const auto set = [&](std::string_view name, const std::string& value) {
    if (!value.empty()) out += fmt::format(" {}={}", name, text::shell_quoted(value));
  };
  if (place != "NodeCnt=0") out += " " + place;
  set("Users", comma_list(one.users(), one.users_denied() ? "-" : ""));
  set("Accounts", comma_list(one.accounts(), one.accounts_denied() ? "-" : ""));
  set("Groups", comma_list(one.groups(), ""));
  set("PartitionName", one.partition());
  set("Features", one.features());
  set("Licenses", one.licenses());
  if (one.max_start_delay_seconds() > 0)
    set("MaxStartDelay", text::format_seconds(one.max_start_delay_seconds()));
  std::string flags = place == "NodeCnt=0" && !has_flag(one, "ANY_NODES") ? "ANY_NODES" : "";
  for (const std::string& flag : one.flags()) {
    if (flag == "ALL_NODES" || flag == "SPEC_NODES") continue;
    flags += (flags.empty() ? "" : ",") + flag;
    if (flag == "PURGE_COMP") flags += "=" + text::format_seconds(one.purge_seconds());
  }
  set("Flags", flags);
  set("Comment", one.comment());
  return out;
}

}  // namespace

Step reservations_step(const Grown& grown, Notes& notes) {
  Step step{.id = "reservations",
            .what = "make Minke's reservations in Slurm",
            .why = "what was promised to people stays theirs",
            .checked = "scontrol shows them; one that Slurm refuses is told",
            .undone = "with slurmctld's state"};
  step.script = R"sh(reserve() {  # NAME START END PERIOD SETTING...
  name=$1 start=$2 end=$3 period=$4; shift 4
  now=$(date +%s); length=$((end - start))
  scontrol show reservation "$name" >/dev/null 2>&1 && return
  if [ "$start" -le "$now" ] && [ "$period" != 0 ]; then start=$((start + ((now - start) / period + 1) * period)); fi
  if [ "$start" -le "$now" ]; then start=$now length=$((end - now)); fi
  [ "$length" -gt 60 ] || { echo "note: reservation $name has ended"; return; }
  said=$(scontrol create reservation ReservationName="$name" StartTime="uts$start" EndTime="uts$((start + length))" "$@" 2>&1) ||
    echo "note: reservation $name is not carried: Slurm says: $(printf '%s' "$said" | tail -n 1)"
}
)sh";
  size_t count = 0;
  for (const ReservationRecord& one : grown.reservations) {
    const std::string place = place_of(one, grown);
    if (place.empty()) {
      notes.push_back(
          "reservation " + one.name() +
          " is not carried: its nodes are not machines; scontrol create reservation makes it again");
      continue;
    }
    ++count;
    step.script += fmt::format("reserve {} {} {} {}{}\n", text::shell_quoted(one.name()), one.start_time(),
                               one.end_time(), period_of(one), settings_of(one, place));
    if (period_of(one) != 0)
      notes.push_back("reservation " + one.name() +
                      " comes again: if it is active at the change, it begins with its next time");
  }
  step.check = "scontrol show reservation >/dev/null";
  if (count == 0) step.id.clear();
  return step;
}

}  // namespace minke::grow
