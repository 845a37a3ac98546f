#include "grow/journal.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <nlohmann/json.hpp>

#include "os/files.h"

namespace minke::grow {
namespace {

using nlohmann::json;

constexpr size_t kMostBytes = size_t{256} << 20;

json read_line(std::string_view line) {
  json value = json::parse(line, nullptr, false);
  const bool good = value.is_object() && value.contains("event") && value["event"].is_string() &&
                    value.value("step", json("")).is_string() && value.value("before", json("")).is_string();
  return good ? value : json();
}

std::string line_of(const char* event, const std::string& id, const std::string* before = nullptr) {
  json line = {{"event", event}, {"step", id}};
  if (before != nullptr) line["before"] = *before;
  return line.dump(-1, ' ', true, json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<Journal> Journal::open(const std::string& directory) {
  if (const Status made = os::make_directories(directory, 0700); !made) return failure(made.error());
  Journal journal;
  journal.directory_ = directory;
  auto lock = os::lock_file(directory + "/lock");
  if (!lock) {
    if (lock.error().code == EWOULDBLOCK)
      return failure("another minke grow is at work: " + directory + "/lock", EWOULDBLOCK);
    return failure(lock.error());
  }
  journal.lock_ = std::move(*lock);
  if (const Status loaded = journal.load(); !loaded) return failure(loaded.error());
  return journal;
}

Status Journal::load() {
  auto text = os::read_file(path(), kMostBytes);
  if (!text) return text.error().code == ENOENT ? Status() : failure(text.error());
  size_t good = 0;  // bytes of whole lines
  while (good < text->size()) {
    const size_t end = text->find('\n', good);
    if (end == std::string::npos) break;
    const std::string line = text->substr(good, end - good);
    if (read_line(line).is_null()) break;
    take(line);
    good = end + 1;
  }
  if (good == text->size()) return {};
  // What a crash left of the last line.
  if (::truncate(path().c_str(), static_cast<off_t>(good)) != 0) return failure_from_errno(path(), errno);
  return {};
}

void Journal::take(const std::string& line) {
  const json value = read_line(line);
  const std::string event = value["event"], id = value.value("step", "");
  if (event == "confirm") confirmed_ = true;
  StepRecord& record = steps_[id];
  if (event == "begin") {
    record.state = StepState::kBegun;
    record.before = value.value("before", "");
  } else if (event == "done") {
    record.state = StepState::kDone;
  } else if (event == "undone") {
    record = {StepState::kUndone, ""};
  }
}

Status Journal::append(const std::string& line) {
  const os::UniqueFd file(::open(path().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file) return failure_from_errno(path(), errno);
  for (size_t at = 0; at < line.size();) {
    const ssize_t wrote = ::write(file.get(), line.data() + at, line.size() - at);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int problem = errno;
      // Half a line would swallow the next one.
      if (const off_t size = ::lseek(file.get(), 0, SEEK_END); size >= static_cast<off_t>(at))
        if (::ftruncate(file.get(), size - static_cast<off_t>(at)) != 0)
          return failure_from_errno(path(), errno);
      return failure_from_errno(path(), problem);
    }
    at += static_cast<size_t>(wrote);
  }
  if (::fsync(file.get()) != 0) return failure_from_errno(path(), errno);
  take(line.substr(0, line.size() - 1));
  return {};
}

Result<std::optional<std::string>> Journal::plan() const {
  auto text = os::read_file(plan_path(), kMostBytes);
  if (text) return std::optional<std::string>(std::move(*text));
  if (text.error().code == ENOENT) return std::optional<std::string>();
  return failure(text.error());
}

Status Journal::keep_plan(const std::string& json_text) {
  return os::replace_file(plan_path(), json_text, 0600);
}

StepRecord Journal::step(const std::string& id) const {
  const auto found = steps_.find(id);
  return found == steps_.end() ? StepRecord{} : found->second;
}

Status Journal::begin(const std::string& id, const std::string& before) {
  return append(line_of("begin", id, &before));
}
Status Journal::done(const std::string& id) {
  return append(line_of("done", id));
}
Status Journal::undone(const std::string& id) {
  return append(line_of("undone", id));
}
Status Journal::confirm() {
  return append(line_of("confirm", ""));
}

Status Journal::forget() {
  // The plan goes first: without it, lines mean nothing, and the next plan takes them away.
  for (const std::string& file : {plan_path(), path()})
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return failure_from_errno(file, errno);
  steps_.clear();
  confirmed_ = false;
  return {};
}

}  // namespace minke::grow
