// The cluster's own commands, as this process starts them: found beside the squeue that is meant, without a
// shell, with what would change their output taken from the environment, and with a bound on time and length.
// What they complain of becomes an error that names the culprit. Blocking; one thread.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "os/program_output.h"

namespace minke::engine::slurm {

// Which cluster is meant.
struct Place {
  std::string directory;    // of its commands
  std::string cluster;      // -M for all of them; empty: the one that its configuration names
  std::string found_by;     // for people: "/etc/slurm/slurm.conf"
  std::string rest = {};    // of its slurmrestd; empty: it is not asked
  uint16_t agent_port = 0;  // of the agents on its nodes; 0: they are not asked
};

// What tells clusters apart where answers are kept.
std::string key_of(const Place& place);

class Programs {
 public:
  explicit Programs(Place place) : place_(std::move(place)) {}

  const Place& place() const { return place_; }

  // One that answers with so much that it is read as it comes: `read` gets its output, and returns when it
  // has read all of it. `name` is the first of `words`. An error of the program's comes before one of `read`.
  using Read = std::function<Status(os::ProgramOutput& output)>;
  Status run(std::vector<std::string> words, const Read& read) const;
  // One that submits: it reads `input`, has this environment and no other, and what it says on both streams
  // is returned.
  struct Said {
    std::string output, complaint;
  };
  Result<Said> submit(std::vector<std::string> words, int input, std::vector<std::string> environment) const;
  // The same, line by line, without the ends.
  Status lines(std::vector<std::string> words, const std::function<Status(std::string_view)>& take) const;
  // All of a short answer.
  Result<std::string> text(std::vector<std::string> words) const;
  // Whether there is such a command.
  bool has(const std::string& name) const;

 private:
  Place place_;
};

// What a command of Slurm's complained of, as an error that says who does not answer. `name`: the command.
Error error_of(const std::string& name, int exit_code, std::string_view complaint);

// Marks that nobody guesses, to stand between the fields of a text: of no letters, digits or blanks.
std::string unguessed_mark();

}  // namespace minke::engine::slurm
