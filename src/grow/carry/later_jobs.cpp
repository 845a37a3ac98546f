#include "grow/carry/later_jobs.h"

#include <algorithm>

#include "text/number.h"

namespace minke::grow {
namespace {

constexpr size_t kAskedAtOnce = 500;

Status ask_for(const Commands& commands, const Snapshot& snapshot, const std::string& list,
               std::vector<LaterJob>& found) {
  const auto rows = commands.table({"sacct", "-aXPn", "-j", list, "--format=JobID,Submit,Start"}, 3);
  if (!rows) return failure(rows.error());
  for (const auto& row : *rows) {
    const auto submitted = text::parse_unsigned(row[1]);
    const auto number = text::parse_unsigned(row[0].substr(0, row[0].find_first_of("_+")), 0xffffffff);
    if (!submitted || !number || static_cast<int64_t>(*submitted) < snapshot.time()) continue;
    found.push_back({.number = static_cast<uint32_t>(*number),
                     .id = row[0],
                     .begun = text::parse_unsigned(row[2]).has_value()});
  }
  return {};
}

}  // namespace

Result<std::vector<LaterJob>> later_jobs(const Commands& commands, const Snapshot& snapshot,
                                         const std::set<uint32_t>& numbers) {
  std::vector<LaterJob> found;
  std::string list;
  size_t count = 0;
  for (const uint32_t number : numbers) {
    list += (list.empty() ? "" : ",") + std::to_string(number);
    if (++count % kAskedAtOnce != 0) continue;
    if (const Status asked = ask_for(commands, snapshot, list, found); !asked) return failure(asked.error());
    list.clear();
  }
  if (list.empty()) return found;
  if (const Status asked = ask_for(commands, snapshot, list, found); !asked) return failure(asked.error());
  return found;
}

}  // namespace minke::grow
