#include "sched/reservation.h"

#include <algorithm>
#include <ctime>
#include <utility>
#include <vector>

#include "model/cluster.pb.h"
#include "model/job_terms.pb.h"
#include "text/licenses.h"

namespace minke::sched {

using model::ReservationRecord;

namespace {

constexpr std::int64_t kHour = 3600, kDay = 24 * kHour, kWeek = 7 * kDay;

bool falls_on(std::int64_t time, bool weekend) {
  std::tm local{};
  const std::time_t seconds = time;
  ::localtime_r(&seconds, &local);
  return (local.tm_wday == 0 || local.tm_wday == 6) == weekend;
}

}  // namespace

bool has_flag(const ReservationRecord& record, std::string_view flag) {
  return std::find(record.flags().begin(), record.flags().end(), flag) != record.flags().end();
}

bool floats(const ReservationRecord& record) {
  return has_flag(record, "TIME_FLOAT");
}

std::int64_t period_of(const ReservationRecord& record) {
  if (has_flag(record, "HOURLY")) return kHour;
  if (has_flag(record, "WEEKLY")) return kWeek;
  return has_flag(record, "DAILY") || has_flag(record, "WEEKDAY") || has_flag(record, "WEEKEND") ? kDay : 0;
}

bool move_on(ReservationRecord& record, std::int64_t now) {
  const std::int64_t period = period_of(record);
  if (period == 0) return false;
  const bool every_day = has_flag(record, "WEEKDAY") && has_flag(record, "WEEKEND");
  const auto falls = [&] {
    if (every_day) return true;
    return (!has_flag(record, "WEEKDAY") || falls_on(record.start_time(), false)) &&
           (!has_flag(record, "WEEKEND") || falls_on(record.start_time(), true));
  };
  const std::int64_t missed = std::max<std::int64_t>(1, (now - record.end_time()) / period);
  do {
    const std::int64_t shift = record.end_time() + missed * period <= now ? missed * period : period;
    record.set_start_time(record.start_time() + shift);
    record.set_end_time(record.end_time() + shift);
  } while (record.end_time() <= now || !falls());
  return true;
}

Holds holds_of(std::span<const ReservationRecord> records, const MachineLayout& layout) {
  std::vector<Hold> holds;
  std::vector<LicenseHold> licenses;
  for (const ReservationRecord& record : records) {
    // Those of some days of the week are as many weekly ones.
    const bool some_days = has_flag(record, "WEEKDAY") || has_flag(record, "WEEKEND");
    std::vector<ReservationRecord> occurrences{record};
    while (some_days && occurrences.back().start_time() < record.start_time() + kWeek) {
      ReservationRecord next = occurrences.back();
      move_on(next, next.end_time());
      occurrences.push_back(std::move(next));
    }
    if (some_days) occurrences.pop_back();
    const auto wanted = text::parse_licenses(record.licenses());
    for (const ReservationRecord& one : occurrences) {
      Hold hold{.id = record.id(),
                .start = one.start_time(),
                .end = one.end_time(),
                .period = some_days ? kWeek : period_of(record),
                .floating = floats(record),
                .flexible = has_flag(record, "FLEX"),
                .maintenance = has_flag(record, "MAINT")};
      for (std::size_t i = 0; wanted && i < wanted->size(); ++i) {
        const auto& [name, count] = (*wanted)[i];
        if (const auto license = layout.find_license(name)) licenses.push_back({hold, *license, count});
      }
      for (const ReservationRecord::Share& share : record.shares()) {
        const auto node = layout.find_node(share.node());
        if (!node) continue;
        hold.node = *node;
        hold.cpus = share.cpus();
        hold.gres.clear();
        // Its nodes may have them no longer.
        const auto add = [&](std::string_view word, const std::string& type, std::uint32_t count) {
          const auto name = layout.find_gres_name(word);
          const auto kind =
              name && !type.empty() ? layout.find_gres_kind(*name, type) : std::optional(kAnyKind);
          if (count > 0 && name && kind) hold.gres.push_back({*name, *kind, count});
        };
        add("gpu", record.gpu_type(), share.gpus());
        for (const model::Gres& gres : share.gres()) add(gres.name(), gres.type(), gres.count());
        holds.push_back(hold);
      }
    }
  }
  return Holds(std::move(holds), std::move(licenses));
}

}  // namespace minke::sched
