// minke data: describes a directory of data and where it belongs; reads single members of packed sets.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "cli/parse_options.h"
#include "cli/storage/shown_scan.h"
#include "cli/storage/storage.h"
#include "helpers/names.h"
#include "os/files.h"
#include "storage/advice.h"
#include "storage/random_read.h"
#include "storage/run_program.h"
#include "storage/tar_index.h"
#include "storage/words.h"
#include "view/output.h"

namespace minke::cli {

namespace {

using Json = nlohmann::ordered_json;

int fail(const std::string& message) {
  view::print_error("minke data", storage::shown_path(message));
  return 1;
}

std::string shell_word(const std::string& text) {
  const std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=@%";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string base_name(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

// Sizes of files in a few classes, each four times as large as the one before.
std::string histogram(const storage::Usage& usage) {
  std::string text;
  struct Row {
    uint64_t below, count = 0, bytes = 0;
  };
  std::vector<Row> rows;
  for (size_t size_class = 0; size_class < storage::kSizeClasses; ++size_class) {
    const size_t last =
        size_class <= 12 ? 12 : size_class + (4 - size_class % 4) % 4;  // 4 KiB, 64 KiB, 1 MiB …
    const uint64_t below = last >= 64 ? UINT64_MAX : uint64_t{1} << last;
    if (rows.empty() || rows.back().below != below) rows.push_back({below});
    rows.back().count += usage.size_counts[size_class];
    rows.back().bytes += usage.size_bytes[size_class];
  }
  while (!rows.empty() && rows.back().count == 0) rows.pop_back();
  uint64_t most = 1;
  for (const Row& row : rows) most = std::max(most, row.count);
  for (const Row& row : rows)
    text += fmt::format("  below {:>8} {:>12} {:>10}  {}\n", storage::bytes_text(row.below),
                        storage::number_text(row.count), storage::bytes_text(row.bytes),
                        std::string(static_cast<size_t>((row.count * 30 + most - 1) / most), '#'));
  return text;
}

struct Words {
  std::string kind, live, read, form, command, in_job;
};

Words words_for(const storage::Usage& usage, const storage::Advice& advice, const std::string& directory) {
  using storage::Form;
  using storage::Reading;
  Words words;
  const std::string size = storage::bytes_text(usage.total.bytes);
  words.kind =
      fmt::format("{} in {}, {} on average{}", size, storage::counted(usage.files, "file"),
                  storage::bytes_text(advice.mean_bytes), advice.many_files ? ": many small files" : "");
  const std::string name = base_name(directory);
  std::string packed = name;
  switch (advice.form) {
    case Form::kAsIs:
      words.form = "as it is: its files are few, or large";
      break;
    case Form::kSquashfs:
      words.form = "one squashfs image: one file for the quota, and your program still opens paths";
      packed = name + ".sqfs";
      words.command = "minke pack --format squashfs --to " + shell_word(packed) + " " + shell_word(directory);
      break;
    case Form::kTar:
      words.form = "one tar archive with an index: one file for the quota";
      packed = name + ".tar";
      words.command = "minke pack --format tar --to " + shell_word(packed) + " " + shell_word(directory);
      break;
    case Form::kWebDataset:
      words.form = "WebDataset shards: read one after the other, from shared storage, in large pieces";
      packed = name + "-shards";
      words.command =
          "minke pack --format webdataset --to " + shell_word(packed) + " " + shell_word(directory);
      break;
  }
  words.live = usage.total.bytes > 1'000'000'000'000
                   ? "in project space if your group's quota allows it (1 TB by default), else in scratch, "
                     "which is purged"
                   : "in project space, which is backed up; results of jobs in scratch";
  switch (advice.reading) {
    case Reading::kMemory:
      words.read =
          "it fits into memory (up to about 10 GB): read it once when the job begins, and nothing from disk "
          "while "
          "training";
      break;
    case Reading::kLocalDisk:
      words.read =
          "it fits onto a node's local disk (up to about 100 GB): copy it to $SLURM_TMPDIR when the job "
          "begins";
      break;
    case Reading::kShared:
      words.read =
          "it stays in shared storage (more than about 100 GB): one large piece every 10 s, not 10 small "
          "ones "
          "every second";
      break;
  }
  if (advice.reading != Reading::kShared)
    words.in_job = advice.form == Form::kAsIs
                       ? "minke cp " + shell_word(directory) + " $SLURM_TMPDIR/"
                       : "minke unpack " + shell_word(packed) + " --to $SLURM_TMPDIR/" + shell_word(name);
  return words;
}

int advise(const std::string& given, bool json) {
  const std::string directory = helpers::following(given);
  const auto usage = scan_and_show({directory}, {.suffixes = true});
  if (!usage) return fail(usage.error().message);
  const bool squashfs = storage::is_installed("mksquashfs") && storage::is_installed("unsquashfs");
  const storage::Advice advice = storage::advise(*usage, squashfs);
  const Words words = words_for(*usage, advice, directory);
  if (json) {
    Json sizes = Json::array();
    for (size_t i = 0; i < storage::kSizeClasses; ++i)
      if (usage->size_counts[i] > 0)
        sizes.push_back(
            {{"below_power_of_two", i}, {"files", usage->size_counts[i]}, {"bytes", usage->size_bytes[i]}});
    const Json out = {{"directory", storage::shown_path(directory)},
                      {"bytes", usage->total.bytes},
                      {"space", usage->total.space},
                      {"files", usage->files},
                      {"entries", usage->total.entries},
                      {"mean_bytes", advice.mean_bytes},
                      {"many_small_files", advice.many_files},
                      {"sizes", sizes},
                      {"live", words.live},
                      {"read", words.read},
                      {"form", words.form},
                      {"command", words.command},
                      {"in_job", words.in_job}};
    view::write_out(out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
  } else {
    std::string text = storage::shown_path(directory) + "\n" + words.kind + "\n\n" + histogram(*usage);
    text += "\nkeep it      " + words.live + "\nread it      " + words.read + "\nform         " + words.form +
            "\n";
    if (!words.command.empty()) text += "\n  " + storage::shown_path(words.command) + "\n";
    if (!words.in_job.empty())
      text += std::string("\nAnd in the job:\n\n") + "  " + storage::shown_path(words.in_job) + "\n";
    view::write_out(text);
  }
  return helpers::report_errors("minke data", usage->errors, usage->error_count);
}

int list(const std::string& archive, bool json) {
  const auto index = storage::TarIndex::open(archive);
  if (!index) return fail(index.error().message);
  std::string text;
  index->each([&](const storage::IndexEntry& entry) {
    if (json) {
      const Json line = {
          {"name", entry.name}, {"offset", entry.offset}, {"size", entry.size}, {"crc32", entry.crc}};
      text += line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    } else {
      text += fmt::format("{:>14} {:>14} {:08x}  {}\n", entry.offset, entry.size, entry.crc,
                          storage::shown_path(entry.name));
    }
    if (text.size() > 1 << 20) {
      view::write_out(text);
      text.clear();
    }
    return true;
  });
  view::write_out(text);
  return 0;
}

int cat(const std::string& archive, const std::vector<std::string>& names) {
  const auto index = storage::TarIndex::open(archive);
  if (!index) return fail(index.error().message);
  std::map<std::string, storage::IndexEntry> found;
  const std::set<std::string> wanted(names.begin(), names.end());
  index->each([&](const storage::IndexEntry& entry) {
    if (wanted.contains(entry.name)) found[entry.name] = entry;
    return found.size() < wanted.size();
  });
  for (const std::string& name : names) {
    const auto at = found.find(name);
    if (at == found.end()) return fail(archive + " has no file " + name);
    const auto content = index->read(at->second);
    if (!content) return fail(content.error().message);
    view::write_bytes(*content);
  }
  return 0;
}

int measure(const std::string& archive, uint64_t samples, uint64_t seed, unsigned threads, bool json) {
  const auto index = storage::TarIndex::open(archive);
  if (!index) return fail(index.error().message);
  const auto measured = storage::measure_random_reads(*index, samples, seed, threads);
  if (!measured) return fail(archive + ": " + measured.error().message);
  const double rate = static_cast<double>(samples) / measured->seconds;
  const double possible =
      measured->device_seconds == 0 ? 0 : static_cast<double>(samples) / measured->device_seconds;
  if (json) {
    view::write_out(Json{{"samples", samples},
                         {"bytes", measured->bytes},
                         {"seconds", measured->seconds},
                         {"device_seconds", measured->device_seconds}}
                        .dump() +
                    "\n");
    return 0;
  }
  view::write_out(fmt::format("{} read in random order, {}: {:.0f} a second\n",
                              storage::counted(samples, "file"), storage::bytes_text(measured->bytes), rate));
  if (possible > 0)
    view::write_out(fmt::format("the disk gives as much from anywhere {:.0f} times a second: {:.0f} %\n",
                                possible, 100 * rate / possible));
  return 0;
}

}  // namespace

int data_main(int argc, char** argv) {
  CLI::App app{"Data sets: what they are, where they belong, what is in a packed one.", "minke data"};
  app.require_subcommand(1);
  int exit_code = 0;
  bool json = false;
  std::string path;
  std::vector<std::string> names;
  auto* advise_command =
      app.add_subcommand("advise", "what a directory is, where it should live and how to read it");
  advise_command->add_option("directory", path)->required();
  advise_command->add_flag("--json", json, "as JSON");
  advise_command->callback([&] { exit_code = advise(path, json); });
  auto* list_command =
      app.add_subcommand("list", "the files in an archive of minke pack: offset, size, CRC-32, name");
  list_command->add_option("archive", path)->required();
  list_command->add_flag("--json", json, "an object a line");
  list_command->callback([&] { exit_code = list(path, json); });
  auto* cat_command =
      app.add_subcommand("cat", "the content of files in such an archive, read where they are");
  cat_command->add_option("archive", path)->required();
  cat_command->add_option("name", names)->required();
  cat_command->callback([&] { exit_code = cat(path, names); });
  uint64_t samples = 10'000, seed = 1;
  unsigned threads = 64;
  auto* measure_command = app.add_subcommand(
      "measure", "how fast files of such an archive are read in random order, past the system's memory");
  measure_command->add_option("archive", path)->required();
  measure_command->add_option("--samples", samples, "how many (default: 10000)")
      ->check(CLI::Range(1, 10'000'000));
  measure_command->add_option("--seed", seed, "which (default: 1)");
  measure_command->add_option("--threads", threads, "as many reads at the same time (default: 64)")
      ->check(CLI::Range(1, 1024));
  measure_command->add_flag("--json", json, "as JSON");
  measure_command->callback([&] { exit_code = measure(path, samples, seed, threads, json); });
  os::raise_descriptor_limit();
  if (const auto over = parse_options(app, argc, argv)) return *over;
  return exit_code;
}

}  // namespace minke::cli
