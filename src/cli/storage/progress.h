// A line on a terminal about the progress of a long operation, a few times a second; nothing if standard
// error is not a terminal. And Ctrl-C as a request to stop, which the operation polls.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

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

// Becomes true on SIGINT, SIGTERM and SIGHUP; the second SIGINT ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace minke::cli
