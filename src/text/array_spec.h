// Index lists of job arrays: "0-4%2", "1,3,5", "1-7:2".
//
// An ArraySpec is a set: parsing sorts the ranges and removes duplicates, so they are ascending and disjoint.
// Ranges stay ranges: nothing here expands one, so the cost grows with the text, not with the indices.
// (Exception: overlapping ranges with steps are taken apart; a bound on the parts keeps that small.) Pure;
// may be called from any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace minke::model {
class ArraySpec;
}  // namespace minke::model

namespace minke::text {

inline constexpr uint32_t kMaxArrayIndex = 4000001;

// Fails ("Invalid job array specification") on bad text, a range backwards, step 0, or an index over
// kMaxArrayIndex. Brackets around the list and spaces are allowed, and %0 is no throttle, as in Slurm.
Result<model::ArraySpec> parse_array_spec(std::string_view text);

// Parses the index ranges alone, without %N, as in "[1-5,9]" of a job id.
Result<model::ArraySpec> parse_index_list(std::string_view text);

// "0-4%2", "1,3,5", "1-7:2": parse_array_spec reads it back.
std::string format_array_spec(const model::ArraySpec& array);

// What squeue shows of the pending tasks: one stepped range if the whole set is one of at least six indices
// and spans more than ten ("0-12:2"), else single indices and ranges of neighbours ("1,3,5,7-9"). A list of
// `max_length` characters or more is cut to fit with "..." at its end; 0: not cut. Then %N. Slurm's default
// length (SLURM_BITSTR_LEN) is 64.
std::string format_array_tasks(const model::ArraySpec& array, size_t max_length = 64);
// The same list without a step and without %N, as squeue --only-job-state shows it: "0,2,4,6,8,10,12".
std::string list_array_tasks(const model::ArraySpec& array, size_t max_length = 64);

uint64_t count_indices(const model::ArraySpec& array);
bool contains_index(const model::ArraySpec& array, uint32_t index);
uint32_t highest_index(const model::ArraySpec& array);  // 0 where it is empty
uint32_t lowest_index(const model::ArraySpec& array);

}  // namespace minke::text
