#include "grow/carry/closed_partitions.h"

#include <unistd.h>

#include <nlohmann/json.hpp>

#include "os/files.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using nlohmann::json;

constexpr size_t kLongestFile = size_t{1} << 20;
constexpr mode_t kFileOfRoot = 0600;

}  // namespace

Status ClosedPartitions::close() {
  if (::access(path_.c_str(), F_OK) != 0) {
    const auto rows = commands_.table({"sinfo", "-ha", "-o", "%R|%a"}, 2);
    if (!rows) return failure(rows.error());
    json states = json::object();
    for (const auto& row : *rows) states[row[0]] = row[1];
    if (const Status kept = os::replace_file(path_, states.dump(2), kFileOfRoot); !kept) return kept;
  }
  return set([](const std::string&) { return std::string("DOWN"); });
}

Status ClosedPartitions::open() {
  const Status done = set([](const std::string& before) { return text::upper_case(before); });
  if (done) ::unlink(path_.c_str());
  return done;
}

Status ClosedPartitions::set(const std::function<std::string(const std::string& before)>& state) {
  const auto text = os::read_file(path_, kLongestFile);
  if (!text) return failure(text.error());
  const json states = json::parse(*text, nullptr, false);
  if (!states.is_object()) return failure(path_ + " is damaged: remove it, once all partitions are UP");
  for (const auto& [name, before] : states.items()) {
    if (!before.is_string()) continue;
    const Status done = commands_.change(
        {"scontrol", "update", "PartitionName=" + name, "State=" + state(before.get<std::string>())});
    if (!done) return done;
  }
  return {};
}

}  // namespace minke::grow
