#include "storage/tiers.h"

#include <array>
#include <cstdio>

#include "storage/words.h"

namespace minke::storage {

namespace {

constexpr uint64_t kGB = 1'000'000'000, kTB = 1000 * kGB, kThousand = 1000, kMillion = 1'000'000;

struct Profile {
  std::string_view name;
  std::vector<Tier> tiers;  // paths below the root
};

// A job's own directory, by the name that this cluster's programs know beside SLURM_TMPDIR.
Tier job_local(const char* variable) {
  Tier tier;
  tier.name = "local";
  tier.variable = variable;
  tier.of_job = true;
  return tier;
}

constexpr uint32_t kHour = 3600, kDay = 24 * kHour, kWeek = 7 * kDay;
const std::vector<SnapshotRule> kDaily = {{kDay, 30}};
const std::vector<SnapshotRule> kDailyAndWeekly = {{kDay, 7}, {kWeek, 4}};
const std::vector<SnapshotRule> kOften = {{kHour / 2, 6}, {2 * kHour, 12}, {kDay, 7}, {kWeek, 4}};

Tier with_snapshots(Tier tier, const std::vector<SnapshotRule>& rules) {
  tier.snapshots = rules;
  return tier;
}

Tier backed_up(Tier tier) {
  tier.backed_up = true;
  return tier;
}

Tier not_in_jobs(Tier tier) {
  tier.in_jobs = InJobs::kNo;
  return tier;
}

Tier purged_after(Tier tier, uint32_t days) {
  tier.purge_days = days;
  return tier;
}

// Narval, Rorqual and Fir differ in nearline alone.
std::vector<Tier> alliance(uint64_t nearline) {
  return {
      backed_up(with_snapshots({"home", "", "", false, 50 * kGB, 50 * kGB, 500 * kThousand, 500 * kThousand},
                               kDaily)),
      purged_after({"scratch", "/scratch/%u", "SCRATCH", false, 20 * kTB, 20 * kTB, kMillion, kMillion}, 60),
      backed_up(with_snapshots(
          {"project", "/project/%g", "PROJECT", true, kTB, kTB, 500 * kThousand, 500 * kThousand}, kDaily)),
      not_in_jobs(backed_up({"nearline", "/nearline/%g", "", true, nearline, nearline, 5000, 5000})),
      job_local("LOCAL_SCRATCH")};
}

const std::vector<Profile>& profiles() {
  static const std::vector<Profile> all = {
      {"narval", alliance(kTB)},
      {"rorqual", alliance(kTB)},
      {"fir", alliance(2 * kTB)},
      {"mila",
       {backed_up(with_snapshots({"home", "", "", false, 100 * kGB, 100 * kGB, kMillion, kMillion}, kDaily)),
        purged_after({"scratch", "/network/scratch/%u", "SCRATCH", false, 5 * kTB, 5 * kTB, 0, 0}, 90),
        backed_up(with_snapshots({"project", "/network/projects/%g", "", true, kTB, kTB, kMillion, kMillion},
                                 kDaily)),
        {"archive", "/network/archive/%u", "ARCHIVE", false, 5 * kTB, 5100 * kGB, 0, 0}}},
      {"alex",
       {backed_up(
            with_snapshots({"home", "", "", false, 50 * kGB, 100 * kGB, 500 * kThousand, kMillion}, kOften)),
        backed_up(with_snapshots({"vault", "/home/vault/%g/%u", "HPCVAULT", false, 500 * kGB, kTB,
                                  200 * kThousand, 400 * kThousand},
                                 kDailyAndWeekly)),
        {"work", "/home/woody/%g/%u", "WORK", false, kTB, 1500 * kGB, 5 * kMillion, 7500 * kThousand},
        job_local("TMPDIR")}},
      {"sharcnet",
       {backed_up(with_snapshots({"home", "", "", false, 10 * kGB, 10 * kGB, 0, 0}, kDaily)),
        {"work", "/work/%u", "WORK", false, kTB, kTB, kMillion, kMillion},
        purged_after({"scratch", "/scratch/%u", "SCRATCH", false, 0, 0, kMillion, kMillion}, 60)}},
  };
  return all;
}

}  // namespace

std::vector<std::string_view> profile_names() {
  std::vector<std::string_view> names;
  for (const Profile& profile : profiles()) names.push_back(profile.name);
  return names;
}

std::optional<std::vector<Tier>> profile_tiers(std::string_view name, const std::string& root) {
  for (const Profile& profile : profiles()) {
    if (profile.name != name) continue;
    std::vector<Tier> tiers = profile.tiers;
    for (Tier& tier : tiers)
      if (!tier.path.empty()) tier.path = root + tier.path;
    return tiers;
  }
  return std::nullopt;
}

std::optional<std::string> tier_path(const Tier& tier, const std::string& user, const std::string& group,
                                     const std::string& home) {
  if (tier.of_job) return std::nullopt;
  if (tier.path.empty()) return home.empty() ? std::nullopt : std::optional(home);
  std::string path;
  for (size_t at = 0; at < tier.path.size(); ++at) {
    const char next = tier.path[at] == '%' && at + 1 < tier.path.size() ? tier.path[at + 1] : '\0';
    if (next != 'u' && next != 'g') {
      path.push_back(tier.path[at]);
      continue;
    }
    const std::string& name = next == 'u' ? user : group;
    if (name.empty() || name[0] == '.' || name.find('/') != std::string::npos) return std::nullopt;
    path += name;
    ++at;
  }
  return path;
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
  const bool giga = bytes >= kGB;
  std::snprintf(text, sizeof text, "%.1f%c", static_cast<double>(bytes) / (giga ? 1e9 : 1e6),
                giga ? 'G' : 'M');
  return text;
}

std::string nicer_files(uint64_t files) {
  return files < 100'000 ? number_text(files) : number_text(files / 1000) + "K";
}

}  // namespace minke::storage
