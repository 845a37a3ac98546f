// Why a job ended at once, where its record shows only a number: a program that is not there. Looks at the
// job's script and at this machine. Blocking; any thread.
#pragma once

namespace minke::model {
class JobRecord;
}  // namespace minke::model

namespace minke::engine {

class Engine;

// Sets reason and detail of an ended job where something is found.
void add_end_clues(Engine& cluster, model::JobRecord& job);

}  // namespace minke::engine
