// Completions of commands for shells, made from their options: names, values and operands.
//
// Pure; may be called from any thread.
#pragma once

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

}  // namespace minke::options
