// Completions of commands for shells, made of their options: names, values and operands.
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

// To be sourced by the shell. Values that a command lists are asked for when needed. An option without a line
// of help is not offered.
std::string completion_script(Shell shell, std::span<const Command> commands);

}  // namespace minke::options
