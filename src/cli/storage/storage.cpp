// minke storage: reports what is on the disks.
#include "cli/storage/storage.h"
#include "cli/parse_options.h"
#include "cli/storage/shown_scan.h"
#include "view/output.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "helpers/names.h"
#include "os/fd.h"
#include "os/files.h"
#include "storage/purge.h"
#include "storage/usage_scan.h"
#include "storage/words.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

struct ScanOptions {
  std::vector<std::string> directories = {"."};
  size_t top = 0;
  bool by_user = false, one_file_system = false, json = false, walk = false;
  unsigned threads = 0;
};

Json scan_json(const ScanOptions& options, const storage::Usage& usage) {
  helpers::NameTable names;
  Json out = {{"directories_scanned", Json::array()},
              {"space", usage.total.space},
              {"bytes", usage.total.bytes},
              {"entries", usage.total.entries},
              {"files", usage.files},
              {"directories", usage.directories},
              {"symbolic_links", usage.links},
              {"others", usage.others},
              {"extra_names", usage.extra_names},
              {"errors", usage.error_count},
              {"owners", Json::array()}};
  for (const std::string& directory : options.directories)
    out["directories_scanned"].push_back(storage::shown_path(directory));
  for (const auto& [owner, amount] : usage.owners)
    out["owners"].push_back({{"user", names.user(owner.first)},
                             {"group", names.group(owner.second)},
                             {"space", amount.space},
                             {"bytes", amount.bytes},
                             {"entries", amount.entries}});
  if (options.top > 0) {
    out["heaviest"] = Json::array();
    for (const auto& heavy : usage.heaviest)
      out["heaviest"].push_back({{"path", storage::shown_path(heavy.path)},
                                 {"space", heavy.amount.space},
                                 {"bytes", heavy.amount.bytes},
                                 {"entries", heavy.amount.entries}});
  }
  return out;
}

std::string scan_text(const ScanOptions& options, const storage::Usage& usage) {
  std::string text = fmt::format(
      "space  {:>10}  {} bytes; reading gives {}\n"
      "files  {:>10}  {} regular, {} directories, {} symbolic links, {} others\n",
      storage::bytes_text(usage.total.space), storage::number_text(usage.total.space),
      storage::bytes_text(usage.total.bytes), storage::number_text(usage.total.entries),
      storage::number_text(usage.files), storage::number_text(usage.directories),
      storage::number_text(usage.links), storage::number_text(usage.others));
  if (usage.extra_names > 0)
    text += fmt::format("       {:>10}  further names of files that are counted once\n",
                        storage::number_text(usage.extra_names));
  if (options.by_user) {
    helpers::NameTable names;
    text += fmt::format("\n{:>10} {:>12}  user:group\n", "space", "files");
    for (const auto& [owner, amount] : usage.owners)
      text += fmt::format("{:>10} {:>12}  {}\n", storage::bytes_text(amount.space),
                          storage::number_text(amount.entries),
                          names.user(owner.first) + ":" + names.group(owner.second));
  }
  if (options.top > 0) {
    text += fmt::format("\n{:>10} {:>12}  directory, without those in it\n", "space", "files");
    for (const auto& heavy : usage.heaviest)
      text += fmt::format("{:>10} {:>12}  {}\n", storage::bytes_text(heavy.amount.space),
                          storage::number_text(heavy.amount.entries), storage::shown_path(heavy.path));
  }
  return text;
}

int scan(ScanOptions options) {
  for (std::string& directory : options.directories) directory = helpers::following(directory);
  const auto usage = scan_and_show(options.directories, {.threads = options.threads,
                                                         .one_file_system = options.one_file_system,
                                                         .heaviest = options.top,
                                                         .tables = !options.walk});
  if (!usage) {
    view::print_error("minke storage", storage::shown_path(usage.error().message));
    return 1;
  }
  view::write_out(options.json ? scan_json(options, *usage).dump(2) + "\n" : scan_text(options, *usage));
  return helpers::report_errors("minke storage", usage->errors, usage->error_count);
}

struct PurgeChoice {
  std::string directory, record;
  unsigned days = 60;
  bool remove = false, walk = false;
};

int purge(const PurgeChoice& choice) {
  if (choice.remove && choice.days == 0) {
    view::print_error("minke storage", "--delete removes nothing that was used today; --days 0 only lists");
    return 1;
  }
  os::UniqueFd record;
  if (!choice.record.empty()) {
    record.reset(::open(choice.record.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
    if (!record) {
      view::print_error("minke storage", choice.record + ": " + std::strerror(errno));
      return 1;
    }
  }
  storage::PurgeResult result;
  const Status purged = storage::purge_tree(helpers::following(choice.directory),
                                            {.before = std::time(nullptr) - int64_t{choice.days} * 86400,
                                             .remove = choice.remove,
                                             .record = choice.record.empty() ? -1 : record.get(),
                                             .sync = choice.remove,  // else it is only a list
                                             .tables = !choice.walk},
                                            result);
  if (!purged) {
    view::print_error("minke storage", storage::shown_path(purged.error().message));
    return 1;
  }
  view::write_out(fmt::format("{} not used for {}: {}, {}\n",
                              choice.remove ? "removed what was" : "would remove what was",
                              storage::counted(choice.days, "day"), storage::counted(result.files, "file"),
                              storage::bytes_text(result.space)));
  return helpers::report_errors("minke storage", result.failures.kept(), result.failures.count());
}

struct Choices {
  ScanOptions scanned;
  PurgeChoice purged;
  std::string user;
  bool mend = false, json = false;
  int exit_code = 0;
};

void add_scan(CLI::App& app, Choices& to) {
  auto* command = app.add_subcommand("scan", "space and files of directories, counted as du counts");
  command->add_option("directory", to.scanned.directories, "default: this one");
  command->add_option("--top", to.scanned.top, "name so many directories, those with most files first")
      ->check(CLI::Range(0, 100000));
  command->add_flag("--by-user", to.scanned.by_user, "what each user and group has");
  command->add_flag("-x,--one-file-system", to.scanned.one_file_system,
                    "leave out what is mounted from elsewhere");
  command->add_option("--threads", to.scanned.threads, "default: by the machine")->check(CLI::Range(1, 256));
  command->add_flag("--walk", to.scanned.walk,
                    "ask for each file, also where the file system's own tables can be read");
  command->add_flag("--json", to.scanned.json, "as JSON");
  command->callback([&to] { to.exit_code = scan(to.scanned); });
}

void add_purge(CLI::App& app, Choices& to) {
  auto* command = app.add_subcommand("purge", "what nobody has used for long; removed only with --delete");
  command->add_option("directory", to.purged.directory)->required();
  command->add_option("--days", to.purged.days, "since the last access and change (default: 60)")
      ->check(CLI::Range(0, 36500));
  command->add_option("--record", to.purged.record,
                      "append a line for each file to this one: last use, owner, bytes, path");
  command->add_flag("--walk", to.purged.walk,
                    "ask for each file, also where an ext4's own tables can be read");
  command->add_flag("--delete", to.purged.remove, "remove them");
  command->callback([&to] { to.exit_code = purge(to.purged); });
}

void add_usage(CLI::App& app, Choices& to) {
  auto* command = app.add_subcommand("usage", "what you have in the cluster's tiers, and what you may have");
  command->add_flag("--json", to.json, "as JSON");
  command->callback([&to] { to.exit_code = storage_usage(to.json); });
}

void add_init(CLI::App& app, Choices& to) {
  auto* command = app.add_subcommand("init", "make your directories in the cluster's tiers");
  command->add_option("--user", to.user, "somebody else's; for root");
  command->callback([&to] { to.exit_code = storage_init(to.user); });
}

void add_doctor(CLI::App& app, Choices& to) {
  auto* command = app.add_subcommand(
      "doctor",
      "what in your project counts for the wrong group, the usual cause of \"Disk quota exceeded\"");
  command->add_option("--user", to.user, "somebody else's; for root");
  command->add_flag("--mend", to.mend, "give it the right group, and directories setgid");
  command->add_flag("--json", to.json, "as JSON");
  command->callback([&to] { to.exit_code = storage_doctor(to.user, to.mend, to.json); });
}

struct Subcommand {
  std::string_view name;
  void (*add)(CLI::App& app, Choices& to);
};
constexpr Subcommand kSubcommands[] = {
    {"scan", add_scan}, {"purge", add_purge},   {"usage", add_usage},
    {"init", add_init}, {"doctor", add_doctor},
};

}  // namespace

int storage_main(int argc, char** argv) {
  CLI::App app{"What is on the disks.", "minke storage"};
  app.require_subcommand(1);
  Choices choices;
  // Makes only the named one: making the options of all takes longer than some of them run.
  const auto named = [&](const Subcommand& one) { return argc > 1 && one.name == argv[1]; };
  const bool known = std::any_of(std::begin(kSubcommands), std::end(kSubcommands), named);
  for (const Subcommand& one : kSubcommands)
    if (!known || named(one)) one.add(app, choices);
  os::raise_descriptor_limit();
  if (const auto over = parse_options(app, argc, argv)) return *over;
  return choices.exit_code;
}

}  // namespace minke::cli
