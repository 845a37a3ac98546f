// The steps of a plan, one function each: what it says, and its scripts. Pure; any thread.
#pragma once

#include "grow/plan.h"

namespace minke::grow {

// `more`: packages that this cluster needs besides.
Step packages_step(const Machine& machine, const std::vector<std::string>& more = {});
Step people_step(const Machine& machine, const std::vector<Person>& people);
Step munge_step(const Machine& machine);
Step files_step(const Machine& machine, const std::vector<File>& files);
Step database_step(const std::string& password);
Step slurmdbd_step(const std::string& cluster);
// Of Minke's own daemon: closed, empty, kept, stopped.
Step close_step(const Wishes& wishes);
Step drain_step();
Step snapshot_step();
Step stop_step(const Wishes& wishes);
Step choice_step(const std::string& configuration_path);
Step number_step(const Machine& machine);
Step slurmctld_step();
Step slurmd_step(const Machine& machine);
// `what` is brought over by carry/.
Step waiting_step();
// Its id is empty if there are none that can be carried; those that cannot are in the notes.
Step reservations_step(const Grown& grown, Notes& notes);
Step carry_step(const std::string& name, const std::string& what, const std::string& why);

// With --leave: the head's processors and GPUs are Minke's until what runs there has ended; a process of ours
// waits for that, and does the steps that come later.
Step keep_head_step(const Machine& head);
Step settler_step(const Wishes& wishes);
std::vector<Step> later_steps(const Wishes& wishes, const Machine& head, bool head_computes);

// `program`: minke's path on the head. The program, and minke agent, which measures; on the head it also
// keeps the tiers of storage, which Minke's daemon did. None where the head's program cannot run.
Step program_step(const Machine& machine, const std::string& program);
Step agent_step(const Machine& machine, const std::string& program);
std::vector<Step> minke_steps(const Machine& machine, const Machine& head, const std::string& program);

// Of a machine that joins a Slurm that runs, or leaves it. `about`: "add n3"; the steps' names begin with it.
Step new_conf_step(const std::string& about, const std::string& conf, const std::string& gres,
                   const std::string& topology);
Step same_files_step(const std::string& id, const std::string& host);
Step take_notice_step(const std::string& about, SlurmVersion version);
Step slurmd_again_step(const std::string& about, const std::string& name, const std::string& host);
Step drain_node_step(const std::string& name);
Step halt_slurmd_step(const std::string& name, const std::string& host);

// Back to one machine: until Slurm is empty and what it knows is in files of $home/grow/back; then, when the
// plan is undone, what Minke takes in from there.
std::vector<Step> shrink_steps(const std::string& cluster);
std::string take_back_script(const std::string& program);

}  // namespace minke::grow
