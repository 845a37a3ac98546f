// Whether a request that is sent again, because its answer was lost, was carried out the first time: what the
// job's record says of that.
//
// `since`: when it was sent first, in s since the epoch. Where somebody else has done the same since then,
// that counts as well: the job is as it was wanted. What can be done twice without harm, as holding a job
// that is held, is not asked for here: it is simply done again. Pure.
#pragma once

#include <cstdint>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

bool has_ended(const model::JobRecord& job);
bool was_cancelled(const model::JobRecord& job, int64_t since);
// A job that has ended meanwhile.
bool was_held(const model::JobRecord& job);
bool was_released(const model::JobRecord& job);
// It waits, runs again, or has ended again.
bool was_requeued(const model::JobRecord& job, int64_t since);
bool was_suspended(const model::JobRecord& job, int64_t since);
bool was_resumed(const model::JobRecord& job, int64_t since);

}  // namespace minke::engine
