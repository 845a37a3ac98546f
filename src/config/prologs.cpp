#include "config/prologs.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "config/table.h"
#include "os/trusted_file.h"
#include "text/number.h"

namespace minke::config {
namespace {

using Lists = std::vector<std::string> PrologConfiguration::*;
using Program = std::string PrologConfiguration::*;

struct ListName {
  const char* name;  // Slurm's
  const char* key;   // in minke.toml
  Lists list;
};
constexpr ListName kLists[] = {
    {"Prolog", "prolog", &PrologConfiguration::prolog},
    {"Epilog", "epilog", &PrologConfiguration::epilog},
    {"PrologSlurmctld", "prolog_slurmctld", &PrologConfiguration::prolog_slurmctld},
    {"EpilogSlurmctld", "epilog_slurmctld", &PrologConfiguration::epilog_slurmctld},
    {"ResvProlog", "resv_prolog", &PrologConfiguration::resv_prolog},
    {"ResvEpilog", "resv_epilog", &PrologConfiguration::resv_epilog},
};
struct ProgramName {
  const char* name;
  const char* key;
  Program program;
};
constexpr ProgramName kPrograms[] = {
    {"TaskProlog", "task_prolog", &PrologConfiguration::task_prolog},
    {"TaskEpilog", "task_epilog", &PrologConfiguration::task_epilog},
    {"SrunProlog", "srun_prolog", &PrologConfiguration::srun_prolog},
    {"SrunEpilog", "srun_epilog", &PrologConfiguration::srun_epilog},
};
constexpr uint32_t kMostSeconds = 65533;  // Slurm shows 65534 as no limit

bool is(std::string_view given, std::string_view name) {
  return text::equals_ignoring_case(given, name);
}

// Returns the part of a pattern that can be checked: the directory before its first special character.
std::string fixed_part(const std::string& path) {
  const size_t special = path.find_first_of("*?[");
  if (special == std::string::npos) return path;
  const size_t slash = path.rfind('/', special);
  return slash == 0 ? "/" : path.substr(0, slash);
}

bool is_there(const std::string& path) {
  return ::access(fixed_part(path).c_str(), X_OK) == 0;
}

Status add_programs(std::string_view value, std::vector<std::string>& programs) {
  for (const std::string_view word : text::split(value, ',')) {
    const std::string_view path = text::trim(word);
    if (path.empty()) continue;
    if (path.front() != '/') return failure("must be absolute paths");
    programs.emplace_back(path);
  }
  return {};
}

// Both return false if they omit a program that this machine does not have.
Result<bool> extend_list(std::string_view value, bool shared, std::vector<std::string>& list) {
  std::vector<std::string> programs;
  if (const Status read = add_programs(value, programs); !read) return failure(read.error());
  const bool all = shared || std::all_of(programs.begin(), programs.end(), is_there);
  for (std::string& program : programs)
    if (shared || is_there(program)) list.push_back(std::move(program));
  return all;
}
Result<bool> set_program(const std::string& path, bool shared, std::string& program) {
  if (!path.empty() && path.front() != '/') return failure("must be an absolute path");
  if (!path.empty() && !shared && !is_there(path)) return false;
  program = path;
  return true;
}

Status set_flags(std::string_view value, PrologConfiguration& config) {
  constexpr std::array<std::string_view, 8> kFlags = {
      "Alloc", "Contain", "DeferBatch", "NoHold", "Serial", "X11", "RunInJob", "ForceRequeueOnFail"};
  config.at_allocation = config.one_at_a_time = false;
  config.flags.clear();
  for (const std::string_view given : text::split(value, ',')) {
    const std::string_view word = text::trim(given);
    if (word.empty() || is(word, "(null)") || is(word, "none")) continue;
    const auto* flag =
        std::find_if(kFlags.begin(), kFlags.end(), [&](std::string_view known) { return is(known, word); });
    if (flag == kFlags.end()) return failure(std::string(word) + " is no flag of PrologFlags");
    if (is(word, "Serial")) config.one_at_a_time = true;
    if (is(word, "Alloc") || is(word, "Contain") || is(word, "X11")) config.at_allocation = true;
    config.flags.append(config.flags.empty() ? "" : ",").append(*flag);
  }
  return {};
}

std::string joined(const std::vector<std::string>& paths) {
  std::string text;
  for (const std::string& path : paths) text.append(text.empty() ? "" : ",").append(path);
  return text;
}

Status check_root_program(const std::string& path, bool shared) {
  const std::string part = fixed_part(path);
  if (!shared) return is_there(path) ? Status() : failure(part + " cannot be executed");
  if (const Status good = os::check_only_root_changes(part); !good) return good;
  return ::access(part.c_str(), X_OK) == 0 ? Status() : failure(part + " cannot be executed");
}

}  // namespace

bool is_prolog_parameter(std::string_view name) {
  return is(name, "PrologFlags") || is(name, "PrologEpilogTimeout") ||
         std::any_of(std::begin(kLists), std::end(kLists),
                     [&](const auto& one) { return is(name, one.name); }) ||
         std::any_of(std::begin(kPrograms), std::end(kPrograms),
                     [&](const auto& one) { return is(name, one.name); });
}

Result<bool> set_prolog_parameter(PrologConfiguration& config, const std::string& name,
                                  const std::string& value, bool shared) {
  const bool none = value.empty() || is(value, "(null)") || is(value, "none");
  if (is(name, "PrologFlags")) {
    if (const Status set = set_flags(value, config); !set) return failure(set.error());
    return true;
  }
  if (is(name, "PrologEpilogTimeout")) {
    const auto seconds = text::parse_unsigned(value, kMostSeconds + 1);
    if (!seconds) return failure("must be a number of seconds");
    config.timeout_seconds = *seconds > kMostSeconds ? 0 : static_cast<uint32_t>(*seconds);
    return true;
  }
  for (const ListName& one : kLists) {
    if (is(name, one.name)) return extend_list(none ? "" : value, shared, config.*one.list);
  }
  for (const ProgramName& one : kPrograms) {
    if (is(name, one.name)) return set_program(none ? "" : value, shared, config.*one.program);
  }
  return failure("no such parameter");
}

void read_prologs(Table& table, PrologConfiguration& config) {
  for (const ListName& one : kLists)
    table.texts(one.key, [&](const std::string& given) { return add_programs(given, config.*one.list); });
  for (const ProgramName& one : kPrograms) {
    table.text(one.key, [&](const std::string& given) -> Status {
      if (!given.starts_with('/')) return failure("must be an absolute path");
      config.*one.program = given;
      return {};
    });
  }
  std::string flags;
  table.texts("flags", [&](const std::string& given) -> Status {
    flags.append(flags.empty() ? "" : ",").append(given);
    return set_flags(flags, config);
  });
  table.number("timeout", 0, kMostSeconds,
               [&](int64_t v) { config.timeout_seconds = static_cast<uint32_t>(v); });
  table.boolean("hold_when_failed", [&](bool v) { config.hold_when_failed = v; });
}

std::string prolog_parameter(const PrologConfiguration& config, std::string_view name) {
  if (is(name, "PrologFlags")) return config.flags;
  if (is(name, "PrologEpilogTimeout"))
    return std::to_string(config.timeout_seconds == 0 ? kMostSeconds + 1 : config.timeout_seconds);
  for (const ListName& one : kLists)
    if (is(name, one.name)) return joined(config.*one.list);
  for (const ProgramName& one : kPrograms)
    if (is(name, one.name)) return config.*one.program;
  return {};
}

Status check_prologs(const PrologConfiguration& config, bool shared) {
  for (const ListName& one : kLists) {
    for (const std::string& path : config.*one.list)
      if (const Status good = check_root_program(path, shared); !good)
        return failure(std::string(one.name) + ": " + good.error().message, good.error().code);
  }
  for (const ProgramName& one : kPrograms) {
    const std::string& path = config.*one.program;
    if (!path.empty() && !is_there(path))
      return failure(std::string(one.name) + ": " + path + " cannot be executed");
  }
  return {};
}

}  // namespace minke::config
