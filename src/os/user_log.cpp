#include "os/user_log.h"

#include <chrono>
#include <mutex>

#include "os/log.h"
#include "os/rate_limit.h"

namespace minke::os {

void log_user_warning(std::string_view kind, uint32_t uid, const std::string& text) {
  constexpr uint32_t kLinesAMinute = 5;
  constexpr size_t kLongest = 500;
  static std::mutex mutex;
  static RateLimit limit(kLinesAMinute, std::chrono::minutes(1));
  RateLimit::Answer answer;
  {
    const std::lock_guard lock(mutex);
    answer = limit.ask(std::string(kind) + " " + std::to_string(uid), std::chrono::steady_clock::now());
  }
  if (!answer.allowed) return;
  std::string line = "user " + std::to_string(uid) + ": " + text.substr(0, kLongest);
  if (answer.refused_before != 0)
    line += " (" + std::to_string(answer.refused_before) + " more like this were not written)";
  log_warning(line);
}

}  // namespace minke::os
