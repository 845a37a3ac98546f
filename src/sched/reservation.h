// What a record of an operators' reservation says of time: when it recurs, and what it holds when (holds.h).
//
// Pure. Days of the week are those of this process's time zone.
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
// s between its occurrences; 0: it does not recur. WEEKDAY and WEEKEND recur daily, but not every day.
std::int64_t period_of(const model::ReservationRecord& record);
// Moves a recurring one on until it ends after `now`; false where it does not recur.
bool move_on(model::ReservationRecord& record, std::int64_t now);

// Of those that float, start and end are s from whenever one looks. Nodes and licenses that the layout does
// not have are left out.
Holds holds_of(std::span<const model::ReservationRecord> records, const MachineLayout& layout);

}  // namespace minke::sched
