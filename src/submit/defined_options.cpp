#include "submit/defined_options.h"

#include <map>

#include "submit/option_table.h"
#include "text/duration.h"
#include "text/memory.h"
#include "text/timestamp.h"

namespace minke::submit {
namespace {

// Returns the value as Slurm prints it once it is read: 00:01:00, and memory in MiB.
std::string value_of(const Setting& setting, const JobRequest& request) {
  const std::string_view name = setting.option->name;
  if (name == "verbose") return std::to_string(request.verbose);
  if (!setting.value) return "set";
  if (name == "time" && request.spec.has_time_limit_minutes()) {
    return text::format_minutes(request.spec.time_limit_minutes());
  }
  if (name == "begin") return text::format_time(request.spec.begin_time());
  if (name == "deadline") return text::format_time(request.spec.deadline());
  if (name.starts_with("mem") && name != "mem-bind") {
    if (const auto mebibytes = text::parse_mib(*setting.value)) return std::to_string(*mebibytes);
  }
  return *setting.value;
}

}  // namespace

std::vector<std::string> list_defined_options(const std::vector<Setting>& settings, const JobRequest& request,
                                              const std::optional<std::string>& wrap) {
  std::map<std::string, std::string> defined;
  for (const Setting& setting : settings) {
    if (request.is_given(setting.option->name))
      defined[std::string(setting.option->name)] = value_of(setting, request);
  }
  if (wrap) defined["wrap"] = *wrap;
  const std::string dashes = std::string(20, '-') + " " + std::string(20, '-');
  std::vector<std::string> lines = {"defined options", dashes};
  for (const auto& [name, value] : defined) {
    lines.push_back(name + std::string(name.size() < 20 ? 20 - name.size() : 0, ' ') + ": " + value);
  }
  lines.push_back(dashes);
  lines.emplace_back("end of defined options");
  return lines;
}

}  // namespace minke::submit
