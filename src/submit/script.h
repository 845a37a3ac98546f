// Batch scripts: whether Slurm accepts one, and the options on its #SBATCH lines.
//
// Pure; may be called from any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/version.h"

namespace minke::submit {

inline constexpr size_t kMaxScriptBytes = 4 * 1024 * 1024;

// Fails with Slurm's words (which may be several lines) if it is not a script: empty, only white
// space, no "#!" in front, DOS line breaks, NUL bytes, larger than kMaxScriptBytes. The Error's code
// is the exit status.
Status check_script(std::string_view script);

struct Directive {
  std::string argument;
  uint32_t line = 0;  // from 1
};
struct ScriptOptions {
  // The options of all #SBATCH lines, as on a command line: one list for each component of a heterogeneous
  // job, which "#SBATCH hetjob" separates; a plain job has one.
  std::vector<std::vector<Directive>> components;
  bool has_packjob = false;        // the old word for hetjob
  std::vector<std::string> notes;  // for stderr
};

// Reads the #SBATCH lines above the first command, for any interpreter. Words are split at white space;
// quotes hold them together, a backslash takes the next character literally, and "#" begins a comment, even
// within a word, as in Slurm. Fails on an unmatched quote, and on a dash that is not ASCII. `name` is the
// script's name in messages. Until Slurm 22.05 a backslash did not keep a blank in its word.
Result<ScriptOptions> scan_script(std::string_view script, std::string_view name, int release = kSlurm26);

// Splits one directive into words. Messages have no line number: the error is "Unmatched `"` in [...]".
Result<std::vector<std::string>> split_directive(std::string_view text, int release = kSlurm26);

// Returns the dash at the beginning of a word if it is not an ASCII one (U+2010 to U+2015, U+2212);
// else an empty text.
std::string_view leading_unicode_dash(std::string_view word);

// The script that runs the command of --wrap.
std::string wrap_script(std::string_view command);

}  // namespace minke::submit
