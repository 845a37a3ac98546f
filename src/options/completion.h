// Completions of commands for shells, made from their options: names, values and operands.
//
// Pure; may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "options/option.h"

namespace minke::options {

enum class Shell { kBash, kZsh, kFish };
std::optional<Shell> shell_of(std::string_view name);  // "bash", "zsh", "fish"

// Returns a script for the shell to source. Values that a command lists are fetched when needed. An option
// without a line of help is not offered.
std::string completion_script(Shell shell, std::span<const Command> commands);

// What --autocomplete=BEGUN prints, which every command of Slurm's has: the names that begin so, a line each,
// with
// "=" behind those that take a value, and both forms of those that may. "--me" and "me" are the same; what
// begins with a single "-" asks for letters.
std::string matching_options(std::span<const Option> options, std::string_view begun);
// The option itself, which stands in front of a command's own.
inline constexpr Option kAutocomplete = {
    .name = "autocomplete", .argument = ArgumentKind::kRequired, .meaning = SIZE_MAX};

}  // namespace minke::options
