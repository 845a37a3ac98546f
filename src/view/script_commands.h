// The commands of a job's script, as words with their lines: what lists and rules about scripts follow from.
// It is no shell: quotes are taken off, continued lines are joined, bodies of here-documents are left out,
// and what a shell would expand stays as it is written. Bounded for any text. Pure.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace minke::view {

struct ScriptCommand {
  size_t line = 0;                 // where it begins, from 1
  std::vector<std::string> words;  // none is a keyword or an assignment before the program
};

// At most 20000 commands of at most 200 words each; none of a script longer than 1 MiB.
std::vector<ScriptCommand> script_commands(std::string_view script);

struct LoadedModule {
  std::string name, version;  // no version: the site's default
  size_t line = 0;
};
// What `module load` and `ml` name, in order, each once.
std::vector<LoadedModule> modules_loaded(const std::vector<ScriptCommand>& commands);

// Whether srun or an MPI launcher starts the word at `place`.
bool is_launched(const ScriptCommand& command, size_t place);
// The last part of a path.
std::string_view program_name(std::string_view word);

}  // namespace minke::view
