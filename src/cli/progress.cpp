#include "cli/progress.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/duration.h"

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

double ProgressText::elapsed_seconds() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
}

std::string ProgressText::of(uint64_t done, uint64_t whole, double seconds) const {
  constexpr double kLongest = 100 * 86400.0;  // a guess beyond it says nothing
  std::string out = amount_(done);
  if (whole != 0) out += " of " + amount_(whole);
  out += unit_;
  if (whole != 0)
    out += " (" +
           std::to_string(static_cast<int>(
               100 * std::min(1.0, static_cast<double>(done) / static_cast<double>(whole)))) +
           " %)";
  if (seconds < 1 || done == 0) return out;
  const double rate = static_cast<double>(done) / seconds;
  if (rate >= 1) out += ", " + amount_(static_cast<uint64_t>(rate)) + unit_ + "/s";
  const double left = whole > done ? static_cast<double>(whole - done) / rate : 0;
  if (left > 0 && left < kLongest)
    out += ", " + text::format_seconds_short(static_cast<int64_t>(std::ceil(left))) + " left";
  return out;
}

const std::atomic<bool>& stop_on_signals() {
  struct sigaction action {};
  action.sa_handler = on_signal;
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(number, &action, nullptr);
  return stop_wanted;
}

}  // namespace minke::cli
