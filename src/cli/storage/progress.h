// A line on a terminal about what takes long, a few times a second; nothing where standard error is no
// terminal. And Ctrl-C as a wish to stop, which the work looks at.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <thread>

namespace minke::cli {

class ProgressLine {
 public:
  // `text` is asked from a thread of this object's own.
  explicit ProgressLine(std::function<std::string()> text);
  ~ProgressLine() { finish(); }
  // Ends the line, for good: what is written next stands on a line of its own, whatever the terminal can do.
  void finish();

 private:
  std::atomic<bool> done_{false};
  std::function<std::string()> text_;
  std::thread thread_;
};

// Becomes true on SIGINT, SIGTERM and SIGHUP; the second SIGINT ends the program at once.
const std::atomic<bool>& stop_on_signals();

}  // namespace minke::cli
