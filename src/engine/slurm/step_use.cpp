#include "engine/slurm/step_use.h"

#include "text/duration.h"
#include "text/number.h"

namespace minke::engine::slurm {
namespace {

// Of "cpu=00:00:05,energy=0,fs/disk=32982,mem=5074944": bytes with --noconvert.
uint64_t amount(std::string_view list, std::string_view wanted) {
  for (const std::string_view term : text::split(list, ',')) {
    const size_t equals = term.find('=');
    if (equals == std::string_view::npos || term.substr(0, equals) != wanted) continue;
    const std::string_view value = term.substr(equals + 1);
    if (wanted != "cpu") return text::parse_unsigned(value).value_or(0);
    const auto seconds = text::parse_seconds(value.substr(0, value.find('.')));
    return seconds && *seconds > 0 ? static_cast<uint64_t>(*seconds) : 0;
  }
  return 0;
}

}  // namespace

std::vector<std::string> step_use_words() {
  return {"sstat",      "--allsteps",  "--parsable2",
          "--noheader", "--noconvert", "--format=JobID,NTasks,TRESUsageInTot,TRESUsageOutTot"};
}

std::optional<StepUse> step_use_of(std::string_view line) {
  const auto cells = text::split(line, '|');
  if (cells.size() != 4 || cells[2].empty()) return std::nullopt;
  const size_t point = cells[0].find('.');
  const auto job = text::parse_unsigned(cells[0].substr(0, point), 0xffffffff);
  if (point == std::string_view::npos || !job) return std::nullopt;
  StepUse use;
  use.job_id = static_cast<uint32_t>(*job);
  use.step = cells[0].substr(point + 1);
  use.tasks = static_cast<uint32_t>(text::parse_unsigned(cells[1], 0xffffffff).value_or(0));
  use.cpu_milliseconds = 1000 * amount(cells[2], "cpu");
  use.memory_kib = amount(cells[2], "mem") / 1024;
  use.read_kib = amount(cells[2], "fs/disk") / 1024;
  use.write_kib = amount(cells[3], "fs/disk") / 1024;
  return use;
}

}  // namespace minke::engine::slurm
