#include "node/spare_groups.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace minke::node {
namespace {

constexpr std::string_view kPrefix = "spare_";
constexpr size_t kMostFree = 256;

// The start of a file of the kernel's, as it is now; empty where it cannot be read.
std::string read_again(const os::UniqueFd& file) {
  char text[256];
  const ssize_t count = ::pread(file.get(), text, sizeof text, 0);
  return count > 0 ? std::string(text, static_cast<size_t>(count)) : std::string();
}

}  // namespace

SpareGroups::SpareGroups(ControlGroups& groups) : groups_(&groups), usable_(groups.version() == 1) {
  const std::vector<std::string> controllers = groups.controllers();
  for (const char* needed : {"memory", "pids"}) {
    usable_ = usable_ && std::find(controllers.begin(), controllers.end(), needed) != controllers.end();
  }
}

bool SpareGroups::is_spare(const std::string& name) {
  return name.starts_with(kPrefix);
}

std::optional<SpareGroups::Group> SpareGroups::take(const std::vector<std::string>& taken) {
  if (!usable_) return std::nullopt;
  if (free_.empty()) return make(taken);
  std::optional<Group> group = std::move(free_.back());
  free_.pop_back();
  return group;
}

std::optional<SpareGroups::Group> SpareGroups::make(const std::vector<std::string>& taken) {
  Group group;
  do {
    group.name = std::string(kPrefix) + std::to_string(++last_);
  } while (std::find(taken.begin(), taken.end(), group.name) != taken.end());
  if (!groups_->create(group.name, {})) return std::nullopt;
  auto entry = groups_->open(group.name);
  group.oom_control = groups_->open_file("memory", group.name, "memory.oom_control");
  group.process_count = groups_->open_file("pids", group.name, "pids.current");
  if (!entry || !group.oom_control || !group.process_count) {
    [[maybe_unused]] const Status removed = groups_->remove(group.name);
    return std::nullopt;
  }
  group.entry = std::move(*entry);
  return group;
}

uint64_t SpareGroups::oom_kills(const Group& group) {
  constexpr std::string_view kKey = "oom_kill ";
  const std::string text = read_again(group.oom_control);
  const size_t at = text.find(kKey);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + kKey.size(), nullptr, 10);
}

bool SpareGroups::is_empty(const Group& group) {
  return read_again(group.process_count) == "0\n";
}

void SpareGroups::give_back(Group group) {
  if (free_.size() < kMostFree) {
    group.oom_kills = oom_kills(group);
    free_.push_back(std::move(group));
  } else {
    [[maybe_unused]] const Status removed = groups_->remove(group.name);
  }
}

void SpareGroups::remove_all() {
  for (const Group& group : std::exchange(free_, {})) {
    [[maybe_unused]] const Status removed = groups_->remove(group.name);
  }
}

}  // namespace minke::node
