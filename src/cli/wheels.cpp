#include "cli/wheels.h"
#include "cli/complain.h"
#include "cli/parse_options.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "os/files.h"
#include "os/minke_home.h"
#include "software/software_home.h"
#include "software/version.h"
#include "software/wheel_query.h"
#include "software/wheel_tables.h"
#include "software/wheelhouse.h"
#include "text/number.h"
#include "text/printable.h"

namespace minke::cli {

namespace {

constexpr size_t kMaxRequirementsBytes = size_t{1} << 20;
constexpr size_t kDefaultPythons = 3;  // minor versions, as the national systems keep wheels for

std::string minor_of(const std::string& version) {
  const size_t first = version.find('.');
  return first == std::string::npos ? version : version.substr(0, version.find('.', first + 1));
}

Result<std::string> own_home() {
  auto home = os::minke_home();
  if (home && os::is_shared(*home) && ::geteuid() != 0)
    return failure("the wheels of a shared cluster are root's to change", EACCES);
  return home;
}

Result<std::vector<software::Python>> chosen_pythons(const std::string& home,
                                                     const std::vector<std::string>& wanted) {
  auto known = software::known_pythons(home);
  if (!known) return known;
  if (known->empty()) return failure("no Python 3 was found here by minke software scan");
  std::vector<software::Python> chosen;
  std::set<std::string> minors;
  for (const software::Python& python :
       *known) {  // the newest first; one of each minor version serves all of it
    const std::string minor = minor_of(python.version);
    const bool named = std::any_of(wanted.begin(), wanted.end(), [&](const std::string& one) {
      return software::names_version(one, python.version);
    });
    if (wanted.empty() ? minors.size() < kDefaultPythons && minors.insert(minor).second
                       : named && minors.insert(minor).second)
      chosen.push_back(python);
  }
  for (const std::string& one : wanted) {
    const bool found = std::any_of(chosen.begin(), chosen.end(), [&](const software::Python& python) {
      return software::names_version(one, python.version) || minor_of(one) == minor_of(python.version);
    });
    if (!found) return failure("python/" + one + " is not here");
  }
  return chosen;
}

// Returns the version of the active module or virtual environment; empty without one.
std::string current_python() {
  if (const char* environment = std::getenv("VIRTUAL_ENV")) {
    if (const auto text = os::read_file(std::string(environment) + "/pyvenv.cfg", 65536)) {
      for (const std::string_view line : text::split(*text, '\n')) {
        const size_t equals = line.find('=');
        const std::string_view key = text::trim(line.substr(0, equals));
        if (equals != std::string_view::npos && (key == "version" || key == "version_info"))
          return minor_of(std::string(text::trim(line.substr(equals + 1))));
      }
    }
  }
  const char* module = std::getenv("EBVERSIONPYTHON");
  return module == nullptr ? "" : minor_of(module);
}

// Returns the names in a requirements file, with their versions.
Result<std::vector<std::string>> requirements_of(const std::string& path) {
  const auto text = os::read_file(path, kMaxRequirementsBytes);
  if (!text) return failure(text.error().message);
  std::vector<std::string> names;
  for (std::string_view line : text::split(*text, '\n')) {
    line = text::trim(line.substr(0, std::min(line.find('#'), line.find(';'))));
    if (!line.empty() && line[0] != '-') names.emplace_back(line);
  }
  return names;
}

struct AvailableWheels {
  software::WheelQuery query;
  std::vector<std::string> names, files, archs;
  std::string format = "simple";
  bool all = false, all_pythons = false, all_archs = false, raw = false, mediawiki = false;
};

void add_options(CLI::App& app, AvailableWheels& options) {
  software::WheelQuery& query = options.query;
  app.set_version_flag("-V", "avail_wheels of Minke");
  app.add_option("wheel", query.patterns, "names, with shell wildcards, or requirements: 'numpy>=1.20'");
  app.add_option("-n,--name", options.names, "the same");
  app.add_flag("--all", options.all, "all versions, for all Pythons and architectures");
  app.add_option("-r,--requirement", options.files, "the names of requirements files");
  auto* version = app.add_option("-v,--version", query.version, "of this version, with wildcards");
  app.add_flag("--all_versions,--all-versions", query.all_versions, "not the latest alone")
      ->excludes(version);
  app.add_option("-p,--python", query.pythons, "for these Pythons: 3.11");
  app.add_flag("--all_pythons,--all-pythons", options.all_pythons, "for every Python");
  app.add_option("-a,--arch", options.archs, "for these architectures");
  app.add_flag("--all_archs,--all-archs", options.all_archs, "for every architecture");
  app.add_flag("--mediawiki", options.mediawiki, "a table for MediaWiki");
  app.add_option("--format", options.format, "simple, plain, github, mediawiki, tsv or csv")
      ->check(CLI::IsMember({"simple", "plain", "github", "mediawiki", "tsv", "csv"}));
  app.add_flag("--raw", options.raw, "file names");
  app.add_option("--column", query.columns,
                 "name, version, localversion, build, python, abi, platform, arch");
  app.add_flag("--condense", query.condense, "all Pythons of a version in one row");
  app.add_flag("--not-available", query.not_available, "names without a wheel, too");
  app.add_flag("--not-available-only", query.only_not_available, "only these");
}

// Completes the query from elsewhere: requirements files, the active Python. Fails if a
// file cannot be read.
Status complete_query(AvailableWheels& options) {
  software::WheelQuery& query = options.query;
  query.patterns.insert(query.patterns.end(), options.names.begin(), options.names.end());
  for (const std::string& file : options.files) {
    const auto more = requirements_of(file);
    if (!more) return failure(more.error());
    query.patterns.insert(query.patterns.end(), more->begin(), more->end());
  }
  if (options.all && query.version.empty()) query.all_versions = true;
  if (options.all || options.all_pythons) {
    query.pythons.clear();
  } else if (query.pythons.empty()) {
    if (const std::string current = current_python(); !current.empty()) query.pythons = {current};
  }
  if (options.raw) query.columns = software::file_name_columns();
  return {};
}

// Whether wheels match this kind of processor.
bool for_this_processor(const AvailableWheels& options) {
  return options.archs.empty() || options.all || options.all_archs ||
         std::find(options.archs.begin(), options.archs.end(), "generic") != options.archs.end();
}

}  // namespace

int wheels_add(const WheelsCommand& command) {
  const auto home = own_home();
  if (!home) return complain(home.error().message);
  std::vector<std::string> arguments;
  for (const std::string& file : command.requirements) {
    if (::access(file.c_str(), R_OK) != 0) return complain(failure_from_errno(file, errno).value().message);
    arguments.push_back("-r");
    arguments.push_back(file);
  }
  for (const std::string& name : command.names) {
    if (name.starts_with('-')) return complain("no option of pip's is taken: " + name);
    arguments.push_back(name);
  }
  if (arguments.empty()) return complain("wheels of what? NAME…, or -r FILE");
  const auto pythons = chosen_pythons(*home, command.pythons);
  if (!pythons) return complain(pythons.error().message);
  if (const Status ready = software::prepare_wheelhouse(*home, os::is_shared(*home)); !ready)
    return complain(ready.error().message);
  const auto added = software::add_wheels(*home, *pythons, arguments);
  if (!added) return complain(added.error().message);
  for (const std::string& file : added->fresh) std::printf("%s\n", file.c_str());
  std::string for_pythons;
  for (const software::Python& python : *pythons)
    for_pythons += (for_pythons.empty() ? "" : ", ") + minor_of(python.version);
  std::printf("%zu wheels added, %zu were here; for Python %s\n", added->fresh.size(), added->known,
              for_pythons.c_str());
  return 0;
}

int wheels_remove(const std::vector<std::string>& files) {
  const auto home = own_home();
  if (!home) return complain(home.error().message);
  const std::string wheels = software::wheels_path(*home);
  for (const std::string& file : files) {
    if (const auto wheel = software::parse_wheel_name(file); !wheel) return complain(wheel.error().message);
    const std::string listed = wheels + "/index/" + file;
    if (::unlink(listed.c_str()) != 0) return complain(failure_from_errno(file, errno).value().message);
  }
  // Removes what no name refers to any more.
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(wheels + "/store", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    std::error_code left;
    if (entry->hard_link_count(left) == 1) std::filesystem::remove(entry->path(), left);
  }
  return 0;
}

int avail_wheels_main(int argc, char** argv) {
  CLI::App app{"List the wheels that pip install --no-index finds.", "avail_wheels"};
  AvailableWheels options;
  add_options(app, options);
  if (const auto over = parse_options(app, argc, argv)) return *over;
  const auto home = os::minke_home();
  if (!home) return complain(home.error().message);
  if (const Status complete = complete_query(options); !complete) return complain(complete.error().message);
  std::vector<software::Wheel> wheels = software::wheels_in(*home);
  if (!for_this_processor(options)) wheels.clear();
  const auto rows = software::query_wheels(wheels, options.query);
  if (!rows) return complain(rows.error().message);
  const std::string out = options.raw
                              ? software::file_names(*rows)
                              : software::format_table(options.mediawiki ? "mediawiki" : options.format,
                                                       options.query.columns, *rows);
  std::fputs(out.c_str(), stdout);
  if (rows->empty() && options.query.patterns.size() == 1 && ::isatty(STDERR_FILENO))
    std::fprintf(stderr, "not here; to ask the administrators for it: minke software request %s\n",
                 text::printable(options.query.patterns[0]).c_str());
  return 0;
}

}  // namespace minke::cli
