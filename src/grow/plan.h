// What `minke grow apply` will do, step by step: each with its host, what it does and why, how it is checked,
// and how it is undone.
//
// A plan is data alone, which the journal keeps: who goes on after an interruption goes on with the same one.
// Every script may run again at any time, also half-way through, and ends in the same state. Pure; any
// thread.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "grow/slurm_files.h"

namespace minke::grow {

// Where the nodes have this program.
inline constexpr char kProgramThere[] = "/usr/local/bin/minke";

// What a script needs from the head: it finds what `script` printed there in the variable $name, as base64.
struct Input {
  std::string name, script;
};

struct Step {                       // "= {}": a designated initializer may leave these out without a warning
  std::string id;                   // unique, the same in each plan: "files n1"
  std::string host = {};            // empty: the head
  std::string what = {}, why = {};  // for a person
  std::string checked = {}, undone = {};
  std::string action = {};   // done by this program and not by a script: "drain"
  std::string capture = {};  // prints what was there before; `undo` finds it in $before
  std::string script = {}, check = {}, undo = {};
  std::string send = {};  // a program of the head's that the host gets as kProgramThere, before `script`
  std::vector<Input> inputs = {};
  bool again = false;  // its check is made again by who goes on after an interruption
  bool later = false;  // once what is left under Minke has ended (--leave): settle() does it
  int seconds = 120;   // that it may take
};

struct Problem {
  std::string host, what;
};

struct Plan {
  Grown grown;
  std::vector<File> files;
  std::vector<Step> steps;
  Notes notes;                    // what is not as before
  std::vector<Problem> problems;  // why it cannot be done as it is
};

struct Wishes {
  std::string home;                // of Minke's cluster
  std::string program;             // minke's path
  std::string configuration_path;  // of minke.toml, existing or not
  std::vector<Person> people;      // who have accounts, as the head knows them
  bool leave = false;              // what runs ends under Minke, beside Slurm
};

// Why the machine cannot be of the cluster as it is.
std::vector<Problem> problems_of(const Machine& machine, const Machine& head,
                                 const std::vector<Person>& people);
Plan make_plan(const config::Configuration& config, Grown grown, const Wishes& wishes);

// Scripts begin with it: the functions that they share.
std::string_view script_prelude();

// What the journal keeps of a plan that is under way.
struct KeptPlan {
  std::vector<std::string> hosts;  // as they were named; without the head
  std::vector<std::string> names;  // of all machines, the head first
  std::string home, password;
  Notes notes;
  std::vector<Step> steps;
};
KeptPlan kept(const Plan& plan, const Wishes& wishes);
std::string kept_plan_json(const KeptPlan& plan);
Result<KeptPlan> parse_kept_plan(const std::string& json);

}  // namespace minke::grow
