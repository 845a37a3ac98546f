// A line on a terminal about the progress of a long operation, a few times a second; nothing if standard
// error is not a terminal. What it says of amounts. And Ctrl-C as a request to stop, which the operation
// polls.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>
#include <utility>

namespace minke::cli {

class ProgressLine {
 public:
  // A thread of this object calls `text`.
  explicit ProgressLine(std::function<std::string()> text);
  ~ProgressLine() { finish(); }
  // Ends the line for good: later output begins on a line of its own, on any terminal.
  void finish();

 private:
  std::atomic<bool> done_{false};
  std::function<std::string()> text_;
  std::thread thread_;
};

// What is done of a whole at what rate, and how long the rest takes: "12,345 of 30,000 jobs (41 %), 5,210
// jobs/s, 0:03 left". In the first second, and where the whole is not known (0), what cannot be told is left
// out.
class ProgressText {
 public:
  // `amount` writes a number: storage::bytes_text, storage::number_text. `unit` follows it: " jobs".
  explicit ProgressText(std::string (*amount)(uint64_t), std::string unit = "")
      : amount_(amount), unit_(std::move(unit)) {}
  std::string of(uint64_t done, uint64_t whole) const { return of(done, whole, elapsed_seconds()); }
  // `seconds`: since the beginning.
  std::string of(uint64_t done, uint64_t whole, double seconds) const;

 private:
  double elapsed_seconds() const;

  std::string (*amount_)(uint64_t);
  std::string unit_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// Becomes true on SIGINT, SIGTERM and SIGHUP; the second SIGINT ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace minke::cli
