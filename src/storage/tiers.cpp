#include "storage/tiers.h"

#include <array>
#include <cstdio>

#include "clusters/known_cluster.h"
#include "storage/words.h"

namespace minke::storage {

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  for (const clusters::KnownCluster& cluster : clusters::known_clusters())
    if (!cluster.tiers.empty()) names.push_back(cluster.name);
  return names;
}

std::optional<std::vector<Tier>> profile_tiers(std::string_view name, const std::string& root) {
  const clusters::KnownCluster* cluster = clusters::find_cluster(name);
  if (cluster == nullptr || cluster->tiers.empty()) return std::nullopt;
  std::vector<Tier> tiers = cluster->tiers;
  for (Tier& tier : tiers)
    if (!tier.path.empty() && !tier.of_node) tier.path = root + tier.path;
  return tiers;
}

std::optional<std::string> expanded_path(const std::string& pattern, const std::string& user,
                                         const std::string& group) {
  std::string path;
  for (size_t at = 0; at < pattern.size(); ++at) {
    const char next = pattern[at] == '%' && at + 1 < pattern.size() ? pattern[at + 1] : '\0';
    if (next != 'u' && next != 'g') {
      path.push_back(pattern[at]);
      continue;
    }
    const std::string& name = next == 'u' ? user : group;
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) return std::nullopt;
    path += name;
    ++at;
  }
  return path;
}

std::optional<std::string> tier_path(const Tier& tier, const std::string& user, const std::string& group,
                                     const std::string& home) {
  if (tier.of_job) return std::nullopt;
  if (tier.path.empty()) return home.empty() ? std::nullopt : std::optional(home);
  return expanded_path(tier.path, user, group);
}

Tier tier_for_group(const Tier& tier, std::string_view group) {
  Tier own = tier;
  for (const clusters::GroupLimits& limits : tier.group_limits) {
    if (limits.group != group) continue;
    if (limits.space != 0) own.space = limits.space;
    if (limits.hard_space != 0) own.hard_space = limits.hard_space;
    if (limits.files != 0) own.files = limits.files;
    if (limits.hard_files != 0) own.hard_files = limits.hard_files;
  }
  return own;
}

std::vector<std::string> tier_variables(const std::vector<Tier>& tiers, const std::string& user,
                                        const std::string& group, const std::string& tmp_dir) {
  std::vector<std::string> variables;
  for (const Tier& tier : tiers) {
    if (tier.variable.empty()) continue;
    const std::string path = tier.of_job ? tmp_dir : tier_path(tier, user, group, "").value_or("");
    if (!path.empty()) variables.push_back(tier.variable + "=" + path);
  }
  return variables;
}

std::string report_size(uint64_t number, unsigned scale, std::string_view suffix) {
  static constexpr std::array<const char*, 7> kBinary = {"  ", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  static constexpr std::array<const char*, 7> kDecimal = {" ", "K", "M", "G", "T", "P", "E"};
  double value = static_cast<double>(number);
  size_t unit = 0;
  while (value >= 10.0 * scale && unit + 1 < kBinary.size()) {
    value /= scale;
    ++unit;
  }
  char text[48];
  std::snprintf(text, sizeof text, "%4.0f%s", value, scale == 1024 ? kBinary[unit] : kDecimal[unit]);
  return std::string(text).append(suffix);
}

std::string nicer_size(uint64_t bytes) {
  char text[48];
  const bool giga = bytes >= 1'000'000'000;
  std::snprintf(text, sizeof text, "%.1f%c", static_cast<double>(bytes) / (giga ? 1e9 : 1e6),
                giga ? 'G' : 'M');
  return text;
}

std::string nicer_files(uint64_t files) {
  return files < 100'000 ? number_text(files) : number_text(files / 1000) + "K";
}

}  // namespace minke::storage
