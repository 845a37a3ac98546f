#include "cli/storage/progress.h"

#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace minke::cli {

namespace {

std::atomic<bool> stop_wanted{false};

void on_signal(int number) {
  if (stop_wanted.exchange(true) && number == SIGINT) ::_exit(130);
}

}  // namespace

ProgressLine::ProgressLine(std::function<std::string()> text) {
  if (!::isatty(STDERR_FILENO)) return;
  thread_ = std::thread([this, text = std::move(text)] {
    for (int tick = 1;; ++tick) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      if (done_) break;
      if (tick % 6 == 0) std::fprintf(stderr, "\r\033[K%s", text().c_str());
    }
    std::fputs("\r\033[K", stderr);
  });
}

ProgressLine::~ProgressLine() {
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
