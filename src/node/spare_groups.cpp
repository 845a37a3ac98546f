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
constexpr uint64_t kMostBytesLeft = 2 << 20;

// Reads the current start of a kernel file; empty if it cannot be read.
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

std::optional<SpareGroups::Group> SpareGroups::take(const GroupLimits& limits,
                                                    const std::vector<std::string>& taken) {
  if (!usable_) return std::nullopt;
  const auto fitting =
      std::find_if(free_.rbegin(), free_.rend(), [&](const Group& group) { return group.limits == limits; });
  if (fitting == free_.rend()) return make(limits, taken);
  std::optional<Group> group = std::move(*fitting);
  free_.erase(std::next(fitting).base());
  return group;
}

std::optional<SpareGroups::Group> SpareGroups::make(const GroupLimits& limits,
                                                    const std::vector<std::string>& taken) {
  Group group;
  group.limits = limits;
  do {
    group.name = std::string(kPrefix) + std::to_string(++last_);
  } while (std::find(taken.begin(), taken.end(), group.name) != taken.end());
  if (!groups_->create(group.name, limits)) return std::nullopt;
  auto entry = groups_->open(group.name);
  group.oom_control = groups_->open_file("memory", group.name, "memory.oom_control");
  group.memory_usage = groups_->open_file("memory", group.name, "memory.usage_in_bytes");
  group.process_count = groups_->open_file("pids", group.name, "pids.current");
  if (!entry || !group.oom_control || !group.memory_usage || !group.process_count) {
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
  const std::string used = read_again(group.memory_usage);
  if (used.empty() || std::strtoull(used.c_str(), nullptr, 10) > kMostBytesLeft) return remove(group);
  group.oom_kills = oom_kills(group);
  free_.push_back(std::move(group));
  if (free_.size() > kMostFree) {
    remove(free_.front());
    free_.erase(free_.begin());
  }
}

void SpareGroups::remove(const Group& group) {
  [[maybe_unused]] const Status removed = groups_->remove(group.name);
}

void SpareGroups::remove_all() {
  for (const Group& group : std::exchange(free_, {})) remove(group);
}

}  // namespace minke::node
