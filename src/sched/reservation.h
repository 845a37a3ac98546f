// Times of an operators' reservation record: when it recurs, and what it holds at which times (holds.h).
//
// Pure; any thread. Days of the week are those of this process's time zone.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "sched/holds.h"
#include "sched/layout.h"

namespace minke::model {
class ReservationRecord;
}  // namespace minke::model

namespace minke::sched {

bool has_flag(const model::ReservationRecord& record, std::string_view flag);  // upper case
bool floats(const model::ReservationRecord& record);
// Seconds between two occurrences; 0: it does not recur. WEEKDAY and WEEKEND return a day but skip some days.
std::int64_t period_of(const model::ReservationRecord& record);
// Moves a recurring reservation on until it ends after `now`. False: it does not recur.
bool move_on(model::ReservationRecord& record, std::int64_t now);

// Start and end of a floating reservation become s from the moment asked about. Nodes and licenses that the
// layout does not have are left out.
Holds holds_of(std::span<const model::ReservationRecord> records, const MachineLayout& layout);

}  // namespace minke::sched
