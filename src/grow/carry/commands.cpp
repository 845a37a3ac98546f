#include "grow/carry/commands.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "engine/slurm/programs.h"
#include "os/capture.h"
#include "text/number.h"

namespace minke::grow {
namespace {

constexpr int kPatience = 600;  // s
constexpr size_t kLongestAnswer = size_t{1} << 30;

// Times as seconds since the epoch, and nothing that somebody has set for his own listings.
const std::vector<std::string> kEnvironment = {
    "SLURM_TIME_FORMAT=%s", "SLURM_BITSTR_LEN=0", "LC_ALL=C.UTF-8", "SLURM_CLUSTERS", "SLURM_JWT",
    "SQUEUE_FORMAT",        "SACCT_FORMAT",       "SQUEUE_SORT",    "SQUEUE_USERS",   "SQUEUE_STATES"};

}  // namespace

Result<std::string> Commands::ask(std::vector<std::string> words) const {
  const std::string name = words.front();
  words.front() = slurm_.programs + "/" + name;
  if (::access(words.front().c_str(), X_OK) != 0)
    return failure("this machine has no " + words.front() + ": install the packages of Slurm first", ENOENT);
  auto said = os::run_captured(
      words, {.timeout_seconds = kPatience, .limit = kLongestAnswer, .environment = kEnvironment});
  if (!said) return failure(said.error());
  if (said->exit_code != 0) return failure(engine::slurm::error_of(name, said->exit_code, said->output));
  return std::move(said->output);
}

Result<std::vector<std::vector<std::string>>> Commands::table(std::vector<std::string> words,
                                                              size_t columns) const {
  const auto text = ask(std::move(words));
  if (!text) return failure(text.error());
  return cells_of(*text, columns);
}

Status Commands::change(std::vector<std::string> words) const {
  const auto said = ask(std::move(words));
  return said ? Status() : Status(failure(said.error()));
}

std::vector<std::vector<std::string>> cells_of(std::string_view text, size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (std::string_view line : text::split(text, '\n')) {
    std::vector<std::string> row;
    while (row.size() + 1 < columns) {
      const size_t bar = line.find('|');
      if (bar == std::string_view::npos) break;
      row.emplace_back(line.substr(0, bar));
      line.remove_prefix(bar + 1);
    }
    if (row.size() + 1 != columns) continue;
    row.emplace_back(line);
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace minke::grow
