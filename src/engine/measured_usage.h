// What a job has used, where its record does not say it: not yet, or never. Blocking; one thread.
#pragma once

#include <string>

namespace minke::api {
class AccountedJob;
}  // namespace minke::api

namespace minke::engine {

class Engine;

// A real Slurm's record has the usage of a running job only at its end: the agents on its nodes measure it.
// Leaves the record as it is where nothing is measured.
void add_what_is_measured(Engine& cluster, api::AccountedJob& accounted);

// Of a job that has ended, where agents have measured it: how busy its GPUs were, and the peak of its memory,
// which Slurm's own record has only as far as its seldom samples met it. Returns what must be said beside
// these numbers.
std::string add_what_was_measured(Engine& cluster, api::AccountedJob& accounted);

}  // namespace minke::engine
