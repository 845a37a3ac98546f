// minke trigger-program: runs the program of a trigger as the user who set it, and ends it with everything
// that it started if it takes longer than five minutes. The daemon starts it; one thread.
#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "helpers/programs.h"
#include "helpers/user_environment.h"
#include "os/capture.h"
#include "os/user_files.h"

namespace minke::helpers {
namespace {

constexpr int kMostSeconds = 5 * 60;

std::vector<std::string> words_of(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; (at = line.find_first_not_of(" \t\n", at)) != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t\n", at), line.size());
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

}  // namespace

// UID GID PROGRAM ARGUMENT HOME
int trigger_program_main(int argc, char** argv) {
  if (argc != 6) return 1;
  const auto uid = static_cast<uid_t>(std::strtoul(argv[1], nullptr, 10));
  const auto gid = static_cast<gid_t>(std::strtoul(argv[2], nullptr, 10));
  set_user_environment(uid, argv[5]);
  if (!os::become_user(uid, gid)) return 1;
  std::vector<std::string> words = words_of(argv[3]);
  words.emplace_back(argv[4]);
  const auto done = os::run_captured(words, {.timeout_seconds = kMostSeconds, .limit = 0});
  return done ? done->exit_code : 1;
}

}  // namespace minke::helpers
