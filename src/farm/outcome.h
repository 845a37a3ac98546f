// How a case ended, and the record of it: fixed in size, so that a million of them are read at once and the
// file of a worker that died ends with a whole one. Pure; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::farm {

// The numbers are stored: never change one.
enum class Ending : uint8_t {
  kExited = 0,       // code: the exit code
  kSignalled = 1,    // code: the signal
  kOutOfMemory = 2,  // the kernel killed it for lack of memory
  kLost = 3,         // its worker died, nobody knows why
  kNodeFail = 4,     // its node died
  kStopped = 5,      // its job ended first: time limit, scancel, preemption
  kNotStarted = 6,   // code: errno of its program
};
inline constexpr size_t kEndings = 7;

// "exit code 3", "signal 9", "out of memory" …
std::string ending_text(Ending ending, int code);

struct Outcome {
  uint64_t number = 0;   // of the case: its line in the table, from 1
  uint32_t attempt = 0;  // from 0
  Ending ending = Ending::kExited;
  bool again = false;  // its rule runs it again
  int32_t code = 0;
  uint16_t slot = 0;       // of its worker: which of its output files
  int64_t started_ms = 0;  // since the epoch
  uint64_t run_us = 0;
  uint64_t output_at = 0;  // in that file, bytes
  uint64_t output_bytes = 0;
  uint32_t max_rss_kib = 0;

  bool ok() const { return ending == Ending::kExited && code == 0; }
};

inline constexpr size_t kOutcomeBytes = 72;
using OutcomeBytes = std::array<char, kOutcomeBytes>;

OutcomeBytes pack(const Outcome& outcome);
// Nothing: it is not whole.
std::optional<Outcome> unpack_outcome(std::string_view bytes);

// What a worker's slot runs: written in place when a case starts. number 0: nothing.
struct Running {
  uint64_t number = 0;
  uint32_t attempt = 0;
  int64_t started_ms = 0;
};
inline constexpr size_t kRunningBytes = 32;
std::array<char, kRunningBytes> pack(const Running& running);
std::optional<Running> unpack_running(std::string_view bytes);

}  // namespace minke::farm
