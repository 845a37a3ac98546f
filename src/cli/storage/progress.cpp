#include "cli/storage/progress.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace minke::cli {

namespace {

std::atomic<bool> stop_wanted{false};
std::atomic<bool> line_open{false};  // the terminal's last line has text

void on_signal(int number) {
  if (!stop_wanted.exchange(true) || number != SIGINT) return;
  if (line_open) [[maybe_unused]]
    const ssize_t written = ::write(STDERR_FILENO, "\n", 1);
  ::_exit(130);
}

}  // namespace

ProgressLine::ProgressLine(std::function<std::string()> text) : text_(std::move(text)) {
  if (!::isatty(STDERR_FILENO)) return;
  thread_ = std::thread([this] {
    bool drawn = false;
    for (int tick = 1;; ++tick) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (done_) break;
      if (tick % 6 != 0) continue;
      std::fprintf(stderr, "\r\033[K%s", text_().c_str());
      line_open = drawn = true;
    }
    // Prints the final state: the last update may be a third of a second old.
    if (drawn) std::fprintf(stderr, "\r\033[K%s\n", text_().c_str());
    line_open = false;
  });
}

void ProgressLine::finish() {
  done_ = true;
  if (thread_.joinable()) thread_.join();
}

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  return stop_wanted;
}

}  // namespace minke::cli
