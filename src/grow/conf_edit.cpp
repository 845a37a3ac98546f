#include "grow/conf_edit.h"

#include <algorithm>
#include <functional>
#include <optional>

#include "text/hostlist.h"
#include "text/number.h"

namespace minke::grow {
namespace {

using Names = std::vector<std::string>;

std::vector<std::string> lines_of(const std::string& conf) {
  std::vector<std::string> lines;
  for (const std::string_view line : text::split(conf, '\n')) lines.emplace_back(line);
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

// Where the value of a key stands in a line.
struct Place {
  size_t begin = 0, length = 0;
  std::string value(const std::string& line) const { return line.substr(begin, length); }
};

std::optional<Place> find_key(const std::string& line, std::string_view key) {
  for (size_t at = 0; at < line.size();) {
    const size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string::npos || line[begin] == '#') return std::nullopt;
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    const std::string_view word(line.data() + begin, end - begin);
    if (word.size() > key.size() && word[key.size()] == '=' &&
        text::equals_ignoring_case(word.substr(0, key.size()), key))
      return Place{begin + key.size() + 1, word.size() - key.size() - 1};
    at = end;
  }
  return std::nullopt;
}

bool is_about(const std::string& line, std::string_view key) {
  const size_t begin = line.find_first_not_of(" \t");
  return begin != std::string::npos &&
         text::starts_with_ignoring_case(std::string_view(line).substr(begin), key) &&
         find_key(line, key).has_value();
}

bool goes_on(const std::string& line) {
  const size_t end = line.find_last_not_of(" \t\r");
  return end != std::string::npos && line[end] == '\\';
}

Names names_at(const std::string& line, std::string_view key) {
  const auto place = find_key(line, key);
  const auto names = place ? text::expand_hostlist(place->value(line)) : Names{};
  return names ? *names : Names{};
}

bool is_default(const std::string& line, std::string_view key) {
  const auto place = find_key(line, key);
  return place && text::equals_ignoring_case(place->value(line), "DEFAULT");
}

// Gives the list at `key` other names.
std::string with_names(const std::string& line, std::string_view key, const Names& names) {
  const auto place = find_key(line, key);
  return line.substr(0, place->begin) + text::compress_hostlist_sorted(names) +
         line.substr(place->begin + place->length);
}

bool has(const Names& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status check_line(const std::string& line) {
  if (!goes_on(line)) return {};
  return failure(
      "slurm.conf: a line about nodes or a partition goes on behind a backslash: write it as one line (" +
      line.substr(0, 60) + "…)");
}

}  // namespace

Names node_names(const std::string& conf) {
  Names all;
  for (const std::string& line : lines_of(conf)) {
    if (!is_about(line, "NodeName") || is_default(line, "NodeName")) continue;
    for (const std::string& name : names_at(line, "NodeName")) all.push_back(name);
  }
  return all;
}

Names topology_nodes(const std::string& topology) {
  Names all;
  for (const std::string& line : lines_of(topology)) {
    if (!is_about(line, "SwitchName") && !is_about(line, "BlockName")) continue;
    for (const std::string& name : names_at(line, "Nodes")) all.push_back(name);
  }
  return all;
}

Result<std::string> with_node(const std::string& conf, const std::string& name, const std::string& line) {
  const Names before = node_names(conf);
  std::vector<std::string> lines = lines_of(conf);
  size_t last = lines.size();  // where the new line goes: behind the last of its kind
  for (size_t i = 0; i < lines.size(); ++i) {
    if (is_about(lines[i], "NodeName")) last = i + 1;
    if (!is_about(lines[i], "PartitionName") || is_default(lines[i], "PartitionName")) continue;
    if (const Status good = check_line(lines[i]); !good) return failure(good.error());
    Names names = names_at(lines[i], "Nodes");
    const auto chosen = find_key(lines[i], "Default");
    const bool usual = chosen && text::equals_ignoring_case(chosen->value(lines[i]), "YES");
    const bool all =
        std::all_of(before.begin(), before.end(), [&](const auto& one) { return has(names, one); });
    if (names.empty() || names[0] == "ALL" || has(names, name) || !(usual || all)) continue;
    names.push_back(name);
    lines[i] = with_names(lines[i], "Nodes", names);
  }
  if (!has(before, name)) lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(last), line);
  return joined(lines);
}

Result<std::string> without_node(const std::string& conf, const std::string& name) {
  std::vector<std::string> lines = lines_of(conf);
  std::vector<std::string> kept;
  for (std::string& line : lines) {
    const bool node = is_about(line, "NodeName"), partition = is_about(line, "PartitionName");
    const char* key = node ? "NodeName" : "Nodes";
    Names names = node || partition ? names_at(line, key) : Names{};
    if (!has(names, name)) {
      kept.push_back(std::move(line));
      continue;
    }
    if (const Status good = check_line(line); !good) return failure(good.error());
    std::erase(names, name);
    if (names.empty() && node) continue;
    if (names.empty())
      return failure("slurm.conf: partition " + find_key(line, "PartitionName")->value(line) +
                     " would have no nodes: give it others, or remove it, first");
    if (node && (find_key(line, "NodeAddr") || find_key(line, "NodeHostname")))
      return failure("slurm.conf: several nodes share a line with addresses: give " + name +
                     " a line of its own first");
    kept.push_back(with_names(line, key, names));
  }
  return joined(kept);
}

namespace {

std::string switch_name(const std::string& line) {
  const auto place = is_about(line, "SwitchName") ? find_key(line, "SwitchName") : std::nullopt;
  return place ? place->value(line) : std::string();
}

// Switches that are behind no other.
Names top_switches(const std::vector<std::string>& lines) {
  Names below, top;
  for (const std::string& line : lines)
    for (const std::string& name : names_at(line, "Switches")) below.push_back(name);
  for (const std::string& line : lines)
    if (const std::string name = switch_name(line); !name.empty() && !has(below, name)) top.push_back(name);
  return top;
}

// A new switch joins what is above all others.
void connect(std::vector<std::string>& lines, const std::string& name) {
  const Names top = top_switches(lines);
  for (std::string& line : lines) {
    if (top.size() != 2 || switch_name(line) != top[0] || !find_key(line, "Switches")) continue;
    Names names = names_at(line, "Switches");
    names.push_back(name);
    line = with_names(line, "Switches", names);
    return;
  }
  const bool flat = std::none_of(lines.begin(), lines.end(), [](const std::string& line) {
    return is_about(line, "SwitchName") && find_key(line, "Switches");
  });
  if (flat) lines.push_back("SwitchName=minke-top Switches=" + text::compress_hostlist_sorted(top));
}

}  // namespace

Result<std::string> topology_with_node(const std::string& topology, const std::string& name,
                                       const std::string& network_switch) {
  if (has(topology_nodes(topology), name)) return topology;
  std::vector<std::string> lines = lines_of(topology);
  for (std::string& line : lines) {
    if (is_about(line, "BlockName"))
      return failure("topology.conf has blocks: put " + name + " into one of them by hand");
    if (network_switch.empty() || switch_name(line) != network_switch || !find_key(line, "Nodes")) continue;
    if (const Status good = check_line(line); !good) return failure(good.error());
    Names names = names_at(line, "Nodes");
    names.push_back(name);
    line = with_names(line, "Nodes", names);
    return joined(lines);
  }
  const std::string own = network_switch.empty() ? "minke-" + name : network_switch;
  lines.push_back("SwitchName=" + own + " Nodes=" + name);
  connect(lines, own);
  return joined(lines);
}

std::string topology_without_node(const std::string& topology, const std::string& name) {
  std::vector<std::string> lines = lines_of(topology);
  Names empty;
  for (const char* key : {"Nodes", "Switches"}) {
    // Switches without nodes leave what is above them, and that may be without switches then.
    for (bool again = true; again;) {
      again = false;
      std::vector<std::string> kept;
      for (std::string& line : lines) {
        Names names = names_at(line, key);
        const size_t before = names.size();
        std::erase_if(names,
                      [&](const std::string& one) { return key[0] == 'N' ? one == name : has(empty, one); });
        if (names.size() != before && names.empty()) {
          empty.push_back(switch_name(line));
          again = key[0] == 'S';
          continue;
        }
        kept.push_back(names.size() == before ? line : with_names(line, key, names));
      }
      lines = std::move(kept);
    }
  }
  return joined(lines);
}

}  // namespace minke::grow
