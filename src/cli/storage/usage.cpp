// diskusage_report, shownicerquota.pl and minke storage usage: one's usage of the cluster's tiers, counted in
// place.
#include <fmt/format.h>
#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/parse_options.h"
#include "cli/storage/storage.h"
#include "helpers/counted_tiers.h"
#include "helpers/my_tiers.h"
#include "helpers/names.h"
#include "helpers/programs.h"
#include "os/files.h"
#include "os/minke_home.h"
#include "storage/snapshots.h"
#include "storage/tiers.h"
#include "storage/usage_scan.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

using helpers::Counting;
using Counted = helpers::CountedTier;

// No figure includes what could not be read. Returns 1 if there was any.
int report_uncounted(const char* command, const std::vector<Counted>& counted) {
  int code = 0;
  for (const Counted& one : counted)
    code |= helpers::report_errors(command, one.usage.errors, one.usage.error_count);
  return code;
}

std::string owner_of(const Counted& one, const helpers::Person& person) {
  return one.tier.of_group ? "project " + one.group : "user " + person.user;
}

std::string slashed(uint64_t used, uint64_t limit, unsigned scale, std::string_view suffix) {
  return storage::report_size(used, scale, suffix) + "/" +
         (limit == 0 ? std::string("    -") : storage::report_size(limit, scale, suffix));
}

int fail(const char* command, const std::string& message) {
  view::print_error(command, message);
  return 1;
}

std::string per_user(const Counted& one, const helpers::Person& person, bool all_users) {
  helpers::NameTable names;
  std::string text = fmt::format("\nBreakdown for project {} (Last update: now)\n", one.group);
  const auto row = [&](const std::string& user, const std::string& files, const std::string& size,
                       const std::string& location) {
    text += fmt::format("{:>15} {:>15} {:>20} {:>20}\n", user, files, size, location);
  };
  row("User", "File count", "Size", "Location");
  text += std::string(73, '-') + "\n";
  std::map<uid_t, storage::Amount> users;
  storage::Amount total;
  for (const auto& [owner, amount] : one.usage.owners) {
    users[owner.first] += amount;
    total += amount;
  }
  const auto gib = [](uint64_t bytes) {
    return fmt::format("{:.2f} GiB", static_cast<double>(bytes) / (1 << 30));
  };
  for (const auto& [uid, amount] : users)
    if ((uid != 0 || person.uid == 0) &&  // root's there are the system's
        (all_users || amount.entries > 100'000 || amount.space > uint64_t{1} << 30))
      row(names.user(uid), std::to_string(amount.entries), gib(amount.space), "On disk");
  row("Total", std::to_string(total.entries), gib(total.space), "On disk");
  if (!all_users) text += "Only heavy users are displayed. Add '--all_users' to see all of them.\n";
  return text + "\n\n";
}

// A bar of '#' for the used share.
std::string bar(uint64_t used, uint64_t limit) {
  if (limit == 0) return std::string(22, ' ');
  const double share = std::min(1.0, static_cast<double>(used) / static_cast<double>(limit));
  const auto full = static_cast<size_t>(share * 20 + (used > 0 ? 0.999 : 0));
  return "[" + std::string(std::min<size_t>(full, 20), '#') +
         std::string(20 - std::min<size_t>(full, 20), ' ') + "]";
}

std::string of_limit(uint64_t used, uint64_t limit, const std::string& used_text,
                     const std::string& limit_text) {
  if (limit == 0) return fmt::format("{:>10}                 ", used_text);
  return fmt::format("{:>10} of {:>8} {:>3.0f}%", used_text, limit_text,
                     100.0 * static_cast<double>(used) / static_cast<double>(limit));
}

// "backed up; files that nobody used for 60 days are removed".
std::string rules_of(const storage::Tier& tier) {
  std::string rules = tier.backed_up ? "backed up" : "no backup";
  if (tier.purge_days > 0) rules += fmt::format("; what nobody uses for {} days goes", tier.purge_days);
  if (tier.in_jobs == storage::InJobs::kNo) rules += "; not in jobs";
  if (tier.in_jobs == storage::InJobs::kReadOnly) rules += "; read-only in jobs";
  return rules;
}

// "snapshots: 12, the latest of 2026-11-23 10:00; minke restore FILE".
std::string snapshots_of(const std::string& path) {
  const std::vector<int64_t> times = storage::list_snapshots(path);
  if (times.empty()) return "  no snapshots yet\n";
  const auto latest = static_cast<time_t>(times.front());
  std::tm wall{};
  ::localtime_r(&latest, &wall);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &wall);
  return fmt::format("  snapshots: {}, the latest of {}; to get files back: minke restore\n", times.size(),
                     text);
}

}  // namespace

int storage_usage(bool json) {
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return fail("minke storage", cluster.error().message);
  const helpers::Person person = helpers::whoever_runs_this();
  Json out = Json::array();
  std::string text;
  const std::vector<Counted> counted = helpers::count_tiers(*cluster, person, {}, Counting::kWalk);
  for (const Counted& one : counted) {
    const storage::Amount& total = one.usage.total;
    if (json) {
      out.push_back({{"tier", one.tier.name},
                     {"group", one.tier.of_group ? Json(one.group) : Json()},
                     {"path", storage::shown_path(one.path)},
                     {"exists", one.there},
                     {"space", total.space},
                     {"space_limit", one.tier.space},
                     {"files", total.entries},
                     {"files_limit", one.tier.files},
                     {"errors", one.usage.error_count},
                     {"backup", one.tier.backed_up},
                     {"purge_days", one.tier.purge_days}});
      continue;
    }
    text += fmt::format("{:<9} {}{}\n", one.tier.name, storage::shown_path(one.path),
                        one.there ? "" : "  (" + one.problem + ")");
    text += "  " + rules_of(one.tier) + "\n";
    if (!one.tier.purpose.empty()) text += "  " + one.tier.purpose + "\n";
    if (cluster->storage.snapshots && !one.tier.snapshots.empty()) text += snapshots_of(one.path);
    if (!one.there) continue;
    text += fmt::format("  space {} {}\n", bar(total.space, one.tier.space),
                        of_limit(total.space, one.tier.space, storage::bytes_text(total.space),
                                 storage::bytes_text(one.tier.space)));
    text += fmt::format("  files {} {}\n", bar(total.entries, one.tier.files),
                        of_limit(total.entries, one.tier.files, storage::number_text(total.entries),
                                 storage::nicer_files(one.tier.files)));
    if ((one.tier.space > 0 && total.space > one.tier.space) ||
        (one.tier.files > 0 && total.entries > one.tier.files))
      text += "  over quota; what has most files: minke storage scan --top 10 " +
              storage::shown_path(one.path) + "\n";
  }
  view::write_out(json ? out.dump(2) + "\n" : text);
  return report_uncounted("minke storage", counted);
}

int diskusage_report_main(int argc, char** argv) {
  CLI::App app{"What you have in the cluster's tiers of storage.", "diskusage_report"};
  bool per_user_wanted = false, all_users = false;
  std::vector<std::string> wanted;
  for (const char* tier : {"home", "scratch", "project", "nearline"})
    app.add_flag_callback(
        std::string("--") + tier, [&wanted, tier] { wanted.emplace_back(tier); }, "this tier");
  app.add_flag("--per_user", per_user_wanted, "what each user has in project space");
  app.add_flag("--all_users", all_users, "those with little, too");
  if (const auto over = parse_options(app, argc, argv)) return *over;
  os::raise_descriptor_limit();
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster && cluster.error().message != helpers::kNoTiers)
    return fail("diskusage_report", cluster.error().message);
  if (!cluster) {
    view::write_out("ERROR: Did not find any supported filesystems. Exiting.\n");
    return 1;
  }
  const helpers::Person person = helpers::whoever_runs_this();
  const auto counted =
      helpers::count_tiers(*cluster, person, wanted, per_user_wanted ? Counting::kOwners : Counting::kWalk);
  std::string text = fmt::format("{:>39} {:>20} {:>18}\n", "Description", "Space", "# of files");
  for (const Counted& one : counted) {
    const std::string what = fmt::format("/{} ({})", one.tier.name, owner_of(one, person));
    text += one.there ? fmt::format("{:>39} {:>20} {:>18}\n", what,
                                    slashed(one.usage.total.space, one.tier.space, 1000, "B"),
                                    slashed(one.usage.total.entries, one.tier.files, 1000, ""))
                      : fmt::format("{:>40} {:>60}\n", what, "Unable to retrieve quota");
  }
  if (per_user_wanted) {
    for (const Counted& one : counted)
      if (one.there && one.tier.of_group) text += per_user(one, person, all_users);
  } else {
    text +=
        "--\nOn some clusters, a break down per user may be available by adding the option '--per_user'.\n";
  }
  view::write_out(text);
  report_uncounted("diskusage_report", counted);
  return 0;
}

int shownicerquota_main(int argc, char**) {
  if (argc > 1) return fail("shownicerquota.pl", "it takes no arguments");
  os::raise_descriptor_limit();
  const auto cluster = helpers::cluster_with_tiers();
  if (!cluster) return fail("shownicerquota.pl", cluster.error().message);
  std::string text =
      "    Path                 Used     SoftQ    HardQ    Gracetime  Filec    FileQ    FiHaQ    FileGrace   "
      " \n";
  const auto size = [](uint64_t bytes) {
    return bytes == 0 ? std::string("N/A") : storage::nicer_size(bytes);
  };
  const auto files = [](uint64_t count) {
    return count == 0 ? std::string("N/A") : storage::nicer_files(count);
  };
  const std::vector<Counted> counted =
      helpers::count_tiers(*cluster, helpers::whoever_runs_this(), {}, Counting::kWalk);
  for (const Counted& one : counted) {
    if (!one.there) continue;
    text += fmt::format("    {:<19}{:>9}{:>9}{:>9}{:>11}{:>9}{:>9}{:>9}{:>11}    \n",
                        storage::shown_path(one.path), storage::nicer_size(one.usage.total.space),
                        size(one.tier.space), size(one.tier.hard_space), "N/A",
                        storage::nicer_files(one.usage.total.entries), files(one.tier.files),
                        files(one.tier.hard_files), "N/A");
  }
  view::write_out(text);
  report_uncounted("shownicerquota.pl", counted);
  return 0;
}

}  // namespace minke::cli
