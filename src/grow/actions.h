// What a plan asks of this program itself: to look into Minke's running cluster, to wait for it, and to bring
// over what it knows (carry/). Blocking; one thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "grow/applying.h"
#include "grow/growing.h"
#include "model/cluster.pb.h"

namespace minke::grow {

// Users with an association.
Result<std::vector<std::string>> people_with_accounts(const Home& home);
// The same of the Slurm that runs.
Result<std::vector<std::string>> people_of_slurm();
// As they are now: configured, and as scontrol has changed them.
Result<std::vector<model::PartitionRecord>> partitions_of(const Home& home);
Result<std::vector<model::ReservationRecord>> reservations_of(const Home& home);

// What Slurm has, beside what Minke had when it was stopped: in words.
Result<std::string> compare_with_before(const Home& home, bool& equal);

// `directory`: where the journal is. Both must outlive the actions.
Actions actions_for(const Home& home, const std::string& directory, const Tell& tell);

}  // namespace minke::grow
