#include "os/detached.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "os/detached_program.h"
#include "os/helper_starter.h"
#include "os/pipe.h"

extern char** environ;

namespace minke::os {

namespace {

bool is_left_out(std::string_view variable, const std::vector<std::string>& patterns) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    if (!pattern.empty() && pattern.back() == '*')
      return name.substr(0, pattern.size() - 1) == std::string_view(pattern).substr(0, pattern.size() - 1);
    return name == pattern;
  });
}

}  // namespace

Result<UniqueFd> start_detached(const DetachedCommand& command) {
  auto pipe = make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  DetachedProgram program{
      command.argv, {}, command.log_path, command.input, command.output < 0 ? writer.get() : command.output};
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!is_left_out(*variable, command.without_variables)) program.environment.emplace_back(*variable);
  }
  const Status started = has_helper_starter() ? ask_helper_starter(program) : spawn_detached(program);
  if (!started) return failure(started.error());
  return std::move(reader);
}

}  // namespace minke::os
