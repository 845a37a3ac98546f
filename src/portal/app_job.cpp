#include "portal/app_job.h"

#include <algorithm>
#include <cerrno>

#include "text/number.h"
#include "text/shell_quote.h"

namespace minke::portal {
namespace {

using Json = nlohmann::ordered_json;
constexpr size_t kMostValue = 4096, kMostResource = 200, kMostModules = 20;

bool is_line(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= ' ' && c != '\x7f'; });
}

// The text of a member; empty if there is none.
Result<std::string> text_of(const Json& from, const std::string& name, size_t most) {
  const auto found = from.find(name);
  if (found == from.end() || found->is_null()) return std::string();
  if (found->is_number_integer()) return std::to_string(found->get<int64_t>());
  if (!found->is_string()) return failure(name + " is no text", EINVAL);
  const std::string& given = found->get_ref<const std::string&>();
  if (given.size() > most || !is_line(given))
    return failure(name + " is too long, or has more than one line", EINVAL);
  return std::string(text::trim(given));
}

Status check_value(const config::AppField& field, const std::string& value) {
  const std::string name = field.label.empty() ? field.name : field.label;
  if (value.empty()) return field.is_required ? Status(failure(name + " is missing", EINVAL)) : Status();
  switch (field.kind) {
    case config::AppFieldKind::kChoice:
      if (std::find(field.choices.begin(), field.choices.end(), value) == field.choices.end())
        return failure(name + " is none of its choices", EINVAL);
      return {};
    case config::AppFieldKind::kSwitch:
      return value == "yes" ? Status() : Status(failure(name + " is neither yes nor empty", EINVAL));
    case config::AppFieldKind::kNumber: {
      const bool negative = value.starts_with('-');
      const auto size = text::parse_unsigned(std::string_view(value).substr(negative ? 1 : 0), INT64_MAX);
      const int64_t number =
          negative ? -static_cast<int64_t>(size.value_or(0)) : static_cast<int64_t>(size.value_or(0));
      if (!size || number < field.least || number > field.most)
        return failure(name + " is not a number from " + std::to_string(field.least) + " to " +
                           std::to_string(field.most),
                       EINVAL);
      return {};
    }
    default:
      return {};
  }
}

Result<std::string> exports_of(const config::AppSettings& app, const Json& asked) {
  const auto given = asked.find("fields");
  const Json fields = given == asked.end() ? Json::object() : *given;
  if (!fields.is_object()) return failure("fields is no object", EINVAL);
  for (const auto& [name, value] : fields.items())
    if (std::none_of(app.fields.begin(), app.fields.end(), [&](const auto& one) { return one.name == name; }))
      return failure(app.title + " has no field of this name", EINVAL);
  std::string lines;
  for (const config::AppField& field : app.fields) {
    const auto value = text_of(fields, field.name, kMostValue);
    if (!value) return failure(value.error());
    if (const Status checked = check_value(field, *value); !checked) return failure(checked.error());
    lines += "export APP_" + text::upper_case(field.name) + "=" + text::shell_quoted(*value) + "\n";
  }
  return lines;
}

Result<std::string> module_line(const std::string& modules) {
  std::string line;
  size_t count = 0;
  for (const std::string_view word : text::split(modules, ' ')) {
    if (word.empty()) continue;
    const bool is_plain = std::all_of(word.begin(), word.end(), [](char c) {
      return text::is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'z') ||
             std::string_view("._+/:@-").find(c) != std::string_view::npos;
    });
    if (!is_plain || word.starts_with('-') || ++count > kMostModules)
      return failure("modules are names such as python/3.11, with blanks between them; at most 20", EINVAL);
    line += " " + std::string(word);
  }
  if (line.empty()) return line;
  return "if ! type module > /dev/null 2>&1; then echo 'There are no modules here.' >&2; exit 1; fi\n"
         "module load" +
         line + " || exit 1\n";
}

}  // namespace

Result<AppJob> app_job(const config::AppSettings& app, const Json& asked, const AppPlace& place) {
  AppJob job;
  job.options = {"--job-name=" + app.name,
                 "--output=" + place.directory + "/output.log",
                 "--open-mode=truncate",
                 "--no-requeue",
                 "--nodes=1",
                 "--ntasks=1"};
  constexpr std::pair<std::string_view, std::string_view> kOptions[] = {
      {"time", "time"}, {"cpus", "cpus-per-task"}, {"memory", "mem"},
      {"gpus", "gpus"}, {"account", "account"},    {"partition", "partition"}};
  for (const auto& [member, option] : kOptions) {
    const auto value = text_of(asked, std::string(member), kMostResource);
    if (!value) return failure(value.error());
    if (!value->empty() && !(member == "gpus" && *value == "0"))
      job.options.push_back("--" + std::string(option) + "=" + *value);
  }
  const auto exports = exports_of(app, asked);
  if (!exports) return failure(exports.error());
  const auto modules = text_of(asked, "modules", kMostValue);
  if (!modules) return failure(modules.error());
  const auto loads = module_line(*modules);
  if (!loads) return failure(loads.error());
  job.script =
      std::string(place.needs_login_shell ? "#!/bin/bash -l\n" : "#!/bin/bash\n") +
      "# An interactive application of minke portal: " + app.name + "\n" + *exports +
      "export APP_ADDRESS=" + text::shell_quoted(place.address) +
      " APP_SESSION=" + text::shell_quoted(place.directory) + "\n" + *loads +
      "minke=" + text::shell_quoted(place.program) +
      "\n[ -x \"$minke\" ] || minke=$(command -v minke) || {\n"
      "  echo \"There is no minke on $(hostname): put it where all nodes find it.\" >&2\n  exit 127\n}\n"
      "exec \"$minke\" app-gate --session \"$APP_SESSION\" --host " +
      text::shell_quoted(place.host) + (app.listens_at_socket ? "" : " --at-port") + "\n";
  return job;
}

}  // namespace minke::portal
