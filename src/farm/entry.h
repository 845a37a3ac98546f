// One line of a farm's ledger: who took which cases, and what else all workers must agree on. Text with a
// check sum at its end, so that people can read it and a line that was cut short is known. Pure; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::farm {

enum class EntryKind : uint8_t {
  kCases,   // count: the table has so many cases
  kWorker,  // a worker has come: worker, count: slots, level; text: job, host and boot
  kTake,    // worker takes first … first+count-1, whose attempt this is
  kReturn,  // worker gives back what it has not started
  kLost,    // worker was lost with this case; level: farm::Ending; code 1 in count: it runs again
  kRetry,   // first runs again as this attempt, where memory has this level; text: not on this host
  kGone,    // worker has gone; what it had is accounted for
  kStop,    // nothing is taken any more
  kGoOn,    // until this
  kCutOff,  // first: µs that a case may take, from the run times of count cases
  kSubmit,  // jobs are about to be submitted: first: how many; level: of their memory; text: key
  kJob,     // they are: first: the job's number, 0: they were refused; text: the key
  kShun,    // first, where it still waits as this attempt, runs not on the host text
};

struct Entry {
  EntryKind kind = EntryKind::kCases;
  uint32_t worker = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint32_t attempt = 0;
  uint32_t level = 0;
  int64_t time = 0;  // s since the epoch
  std::string text;  // no line feed
};

std::string format_entry(const Entry& entry);  // with its line feed
// Nothing: it is no whole line. `line` is without its line feed.
std::optional<Entry> parse_entry(std::string_view line);

}  // namespace minke::farm
