// Decides from a job's record whether a request that is repeated, because its answer was lost,
// was carried out the first time.
//
// `since`: when it was first sent, in s since the epoch. If somebody else has done the same since then, that
// counts too, because the job is as requested. Actions that can safely be repeated, such as holding a held
// job, need no check: they are carried out again. Pure.
#pragma once

#include <cstdint>

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

bool has_ended(const model::JobRecord& job);
bool was_cancelled(const model::JobRecord& job, int64_t since);
// True for a job that has ended meanwhile.
bool was_held(const model::JobRecord& job);
bool was_released(const model::JobRecord& job);
// True if the job waits, runs again, or has ended again.
bool was_requeued(const model::JobRecord& job, int64_t since);
bool was_suspended(const model::JobRecord& job, int64_t since);
bool was_resumed(const model::JobRecord& job, int64_t since);

}  // namespace minke::engine
