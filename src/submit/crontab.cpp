#include "submit/crontab.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "submit/option_table.h"
#include "submit/script.h"
#include "text/number.h"

namespace minke::submit {

namespace {

constexpr std::string_view kDirective = "#SCRON";
constexpr std::string_view kScriptHead = "#!/bin/sh\n# This job was submitted through scrontab\n";

// Options that mean nothing to a job that comes again, or that are the crontab's own to decide.
constexpr std::string_view kRefused[] = {
    "array",    "bb",          "bbf",        "begin",        "cluster-constraint",
    "clusters", "export-file", "external",   "get-user-env", "gid",
    "help",     "hold",        "ignore-pbs", "input",        "no-requeue",
    "parsable", "power",       "propagate",  "requeue",      "test-only",
    "uid",      "usage",       "version",    "wait",         "wrap"};

bool is_name_character(char c) {
  return c == '_' || text::is_digit(c) || (text::to_lower(c) >= 'a' && text::to_lower(c) <= 'z');
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class CrontabReader {
 public:
  Result<std::vector<CrontabEntry>> read(std::string_view text) {
    for (const std::string_view line : text::split(text, '\n')) {
      ++number_;
      if (const Status taken = take(line); !taken)
        return failure("line " + std::to_string(number_) + ": " + taken.error().message);
    }
    return std::move(entries_);
  }

 private:
  Status take(std::string_view line) {
    const std::string_view content = trimmed(line);
    if (content.empty()) return {};
    if (text::starts_with_ignoring_case(line, kDirective)) return take_directive(line);
    if (content.front() == '#' || take_variable(content)) return {};
    return take_entry(line);
  }

  Status take_directive(std::string_view line) {
    if (next_.first_line == 0) next_.first_line = number_;
    auto words = split_directive(line.substr(kDirective.size()));
    if (!words) return failure(words.error().message);
    next_.options.insert(next_.options.end(), words->begin(), words->end());
    directives_.append(line).push_back('\n');
    return {};
  }

  // NAME=VALUE, with blanks around the "=", and quotes around the value.
  bool take_variable(std::string_view line) {
    const size_t end =
        static_cast<size_t>(std::find_if_not(line.begin(), line.end(), is_name_character) - line.begin());
    const size_t equals = line.find_first_not_of(" \t", end);
    if (end == 0 || equals == std::string_view::npos || line[equals] != '=') return false;
    std::string_view value = trimmed(line.substr(equals + 1));
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
      value = value.substr(1, value.size() - 2);
    variables_.insert_or_assign(std::string(line.substr(0, end)), std::string(value));
    return true;
  }

  Status take_entry(std::string_view line) {
    const auto read = text::read_cron_times(line);
    if (!read) return failure(read.error().message);
    const std::string_view command = trimmed(line.substr(read->length));
    if (command.empty()) return failure("a command is missing behind the times");
    if (entries_.size() == kMostCrontabEntries)
      return failure("a crontab has " + std::to_string(kMostCrontabEntries) + " entries at most");
    next_.times = read->times;
    next_.last_line = number_;
    if (next_.first_line == 0) next_.first_line = number_;
    next_.command = expanded(command);
    next_.script = std::string(kScriptHead) + directives_ + "# crontab time request was: '" +
                   std::string(trimmed(line.substr(0, read->length))) + "'\n" + next_.command + "\n";
    entries_.push_back(std::exchange(next_, CrontabEntry()));
    directives_.clear();
    return {};
  }

  std::string expanded(std::string_view command) const {
    std::string out;
    for (size_t at = 0; at < command.size();) {
      const size_t begin = at + 1;
      size_t end = begin;
      while (command[at] == '$' && end < command.size() && is_name_character(command[end])) ++end;
      const auto known = end > begin ? variables_.find(command.substr(begin, end - begin)) : variables_.end();
      if (known != variables_.end()) {
        out += known->second;
        at = end;
      } else {
        out += command[at++];
      }
    }
    return out;
  }

  uint32_t number_ = 0;
  CrontabEntry next_;       // what its #SCRON lines have said so far
  std::string directives_;  // these lines
  std::map<std::string, std::string, std::less<>> variables_;
  std::vector<CrontabEntry> entries_;
};

Refusal invalid_option(std::string_view word) {
  return {"scrontab: error: Invalid option found in #SCRON line: " + std::string(word) + "\n", 1, false};
}

// As scrontab says what sbatch says.
Refusal renamed(Refusal refusal) {
  std::string out;
  for (const std::string_view line : text::split(refusal.text, '\n')) {
    constexpr std::string_view kOwn = "sbatch: ";
    if (line.empty() || line.starts_with("Try ")) continue;
    out += line.starts_with(kOwn) ? "scrontab: " + std::string(line.substr(kOwn.size())) : std::string(line);
    out += '\n';
  }
  return {std::move(out), 1, false};
}

}  // namespace

Result<std::vector<CrontabEntry>> read_crontab(std::string_view text) {
  if (text.size() > kMostCrontabBytes)
    return failure("a crontab has " + std::to_string(kMostCrontabBytes >> 10) + " KiB at most");
  if (text.find('\0') != std::string_view::npos) return failure("a crontab is text, without NUL bytes");
  return CrontabReader().read(text);
}

Outcome<JobRequest> crontab_request(const CrontabEntry& entry, Invocation invocation) {
  invocation.command = Command::kSbatch;
  invocation.arguments = entry.options;
  auto line = read_command_line(invocation);
  if (!line) return tl::unexpected(renamed(line.error()));
  if (line->show != ShowOnly::kNothing)
    return tl::unexpected(invalid_option(line->show == ShowOnly::kVersion ? "--version" : "--help"));
  if (line->components.size() != 1) return tl::unexpected(invalid_option(":"));
  if (!line->positional.empty()) return tl::unexpected(invalid_option(line->positional.front()));
  for (const Setting& setting : line->components.front()) {
    if (std::find(std::begin(kRefused), std::end(kRefused), setting.option->name) == std::end(kRefused))
      continue;
    return tl::unexpected(invalid_option("--" + std::string(setting.option->name) +
                                         (setting.value ? "=" + *setting.value : std::string())));
  }
  line->wrap = entry.command;
  auto request = make_job_request(invocation, *line);
  if (!request) return tl::unexpected(renamed(request.error()));
  request->script = entry.script;
  if (!request->is_given("job-name")) {
    const std::string_view word =
        std::string_view(entry.command).substr(0, entry.command.find_first_of(" \t"));
    request->spec.set_name(std::string(word.substr(word.rfind('/') + 1)));
  }
  model::CronEntry& cron = *request->spec.mutable_cron();
  cron.set_spec(text::format_cron_times(entry.times));
  cron.set_first_line(entry.first_line);
  cron.set_last_line(entry.last_line);
  request->spec.set_requeue(true);
  return request;
}

std::string list_crontab(std::string_view text, const std::vector<CrontabLines>& disabled) {
  std::string out;
  uint32_t number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size() - 1);
    ++number;
    const bool is_disabled = std::any_of(disabled.begin(), disabled.end(), [&](const CrontabLines& lines) {
      return number >= lines.first && number <= lines.last;
    });
    if (is_disabled) out += "#DISABLED: ";
    out += text.substr(0, end + 1);
    text.remove_prefix(end + 1);
  }
  return out;
}

}  // namespace minke::submit
