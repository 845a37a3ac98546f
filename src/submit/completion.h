// Completions of sbatch, salloc and srun for shells, made of the option table.
//
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace minke::submit {

enum class Shell { kBash, kZsh, kFish };
std::optional<Shell> shell_of(std::string_view name);  // "bash", "zsh", "fish"

// To be sourced by the shell. Values of partitions, nodes and jobs are asked of the cluster when needed.
std::string completion_script(Shell shell);

}  // namespace minke::submit
