#include "os/log.h"

#include <spdlog/sinks/rotating_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

namespace minke::os {

namespace {

std::shared_ptr<spdlog::logger>& logger() {
  static std::shared_ptr<spdlog::logger> instance = [] {
    auto made = std::make_shared<spdlog::logger>("minke", std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    made->flush_on(spdlog::level::info);
    return made;
  }();
  return instance;
}

}  // namespace

Status open_log(const std::string& path) {
  try {
    auto made = std::make_shared<spdlog::logger>(
        "minke", std::make_shared<spdlog::sinks::rotating_file_sink_mt>(path, size_t{5} << 20, 2));
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");
    made->flush_on(spdlog::level::info);
    logger() = std::move(made);
    return {};
  } catch (const spdlog::spdlog_ex& error) {
    return failure(error.what());
  }
}

namespace {

// It may contain users' text, which must stay on its line, and send nothing to the reader's terminal.
std::string one_line(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

}  // namespace

void log_info(const std::string& text) {
  logger()->info("{}", one_line(text));
}
void log_warning(const std::string& text) {
  logger()->warn("{}", one_line(text));
}
void log_error(const std::string& text) {
  logger()->error("{}", one_line(text));
}

}  // namespace minke::os
