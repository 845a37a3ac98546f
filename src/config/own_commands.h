// Commands to which messages about jobs go (--mail-user=NAME@command).
//
// A user's own ~/.config/minke/commands.toml has a program and its arguments for each name, so that no text
// of a job's public record is ever a command. Pure; any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::config {

// The program and its arguments of that name in the text of a user's file: `phone = ["~/bin/tell", "me"]`.
// Fails with what to write.
Result<std::vector<std::string>> command_words(std::string_view file, const std::string& name);

}  // namespace minke::config
