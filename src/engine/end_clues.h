// Why a job ended at once, where its record shows only a number: a program that is not there. Looks at the
// job's script and at this machine. Blocking; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace minke::api {
class JobFilter;
}  // namespace minke::api

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

class Engine;

// What the queue still has of jobs that have ended, where the accounting record does not answer. `now`: when
// that was asked for, s since the epoch; left alone where nothing is found.
std::vector<model::JobRecord> ended_in_queue(Engine& cluster, const api::JobFilter& filter, int64_t& now);

// Sets reason and detail of an ended job where something is found.
void add_end_clues(Engine& cluster, model::JobRecord& job);

// Where an ended job wrote to, if its record does not say: a real Slurm's does not; the queue does, as long
// as it has the job. Reads the whole queue.
void add_output(Engine& cluster, model::JobRecord& job);

}  // namespace minke::engine
