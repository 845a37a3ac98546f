#include "config/app_settings.h"

#include <algorithm>

#include "config/table.h"
#include "os/files.h"
#include "text/number.h"

namespace minke::config {
namespace {

constexpr size_t kMostFile = 64 * 1024, kMostScript = 256 * 1024;
constexpr size_t kMostName = 32, kMostText = 500, kMostFields = 40, kMostChoices = 100;
constexpr int64_t kMostNumber = int64_t{1} << 40;

bool is_line(std::string_view text, size_t most) {
  return text.size() <= most && std::all_of(text.begin(), text.end(), [](char c) {
           return static_cast<unsigned char>(c) >= ' ' && c != '\x7f';
         });
}

void line(Table& table, std::string_view key, std::string& value) {
  table.text(key, [&](const std::string& given) -> Status {
    if (!is_line(given, kMostText)) return failure("must be one line of at most 500 bytes");
    value = given;
    return {};
  });
}

// "Name: value", of characters that a header may have.
bool is_header(std::string_view text) {
  const size_t colon = text.find(": ");
  const auto is_of_name = [](char c) {
    return text::is_digit(c) || c == '-' || ((c | 32) >= 'a' && (c | 32) <= 'z');
  };
  return colon != std::string_view::npos && colon > 0 && is_line(text, kMostText) &&
         std::all_of(text.begin(), text.begin() + static_cast<ptrdiff_t>(colon), is_of_name);
}

void read_kind(Table& table, AppField& field) {
  table.text("kind", [&](const std::string& given) -> Status {
    constexpr std::pair<std::string_view, AppFieldKind> kKinds[] = {{"text", AppFieldKind::kText},
                                                                    {"number", AppFieldKind::kNumber},
                                                                    {"choice", AppFieldKind::kChoice},
                                                                    {"switch", AppFieldKind::kSwitch}};
    for (const auto& [word, kind] : kKinds) {
      if (word != given) continue;
      field.kind = kind;
      return {};
    }
    return failure("must be text, number, choice or switch");
  });
}

Status read_field(const toml::table& from, const std::string& path, AppField& field) {
  Table table(from, path, "[[field]]");
  table.text("name", [&](const std::string& given) -> Status {
    if (!is_app_name(given) || given.find('-') != std::string::npos)
      return failure("must have small letters, digits and _, at most 32");
    field.name = given;
    return {};
  });
  line(table, "label", field.label);
  line(table, "label_fr", field.label_fr);
  line(table, "help", field.help);
  line(table, "help_fr", field.help_fr);
  line(table, "value", field.value);
  read_kind(table, field);
  table.texts("choices", [&](const std::string& given) -> Status {
    if (!is_line(given, kMostText) || field.choices.size() == kMostChoices)
      return failure("must be at most 100 lines");
    field.choices.push_back(given);
    return {};
  });
  field.most = kMostNumber;
  table.number("least", -kMostNumber, kMostNumber, [&](int64_t value) { field.least = value; });
  table.number("most", -kMostNumber, kMostNumber, [&](int64_t value) { field.most = value; });
  table.boolean("required", [&](bool value) { field.is_required = value; });
  if (const Status read = table.finish(); !read) return read;
  if (field.name.empty()) return failure(path + ": a [[field]] has no name");
  if (field.kind == AppFieldKind::kChoice && field.choices.empty())
    return failure(path + ": the field " + field.name + " has no choices");
  return {};
}

void read_reach(Table& table, AppSettings& app) {
  table.text("listens", [&](const std::string& given) -> Status {
    if (given != "socket" && given != "port") return failure("must be socket or port");
    app.listens_at_socket = given == "socket";
    return {};
  });
  table.text("address", [&](const std::string& given) -> Status {
    if (given != "kept" && given != "stripped") return failure("must be kept or stripped");
    app.strips_address = given == "stripped";
    return {};
  });
  table.text("header", [&](const std::string& given) -> Status {
    if (!is_header(given)) return failure("must be a header, such as \"Authorization: token {secret}\"");
    app.header = given;
    return {};
  });
}

}  // namespace

bool is_app_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostName && name[0] >= 'a' && name[0] <= 'z' &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || text::is_digit(c) || c == '_' || c == '-';
         });
}

Result<AppSettings> parse_app(const std::string& name, std::string_view text, const std::string& path) {
  const toml::parse_result parsed = toml::parse(text, path);
  if (!parsed)
    return failure(path + ":" + std::to_string(parsed.error().source().begin.line) + ": " +
                   std::string(parsed.error().description()));
  AppSettings app;
  app.name = app.title = name;
  Table table(parsed.table(), path, "app.toml");
  line(table, "title", app.title);
  line(table, "title_fr", app.title_fr);
  line(table, "description", app.description);
  line(table, "description_fr", app.description_fr);
  line(table, "start", app.start);
  read_reach(table, app);
  table.sub_table("resources", [&](Table& section) {
    line(section, "time", app.time);
    line(section, "cpus", app.cpus);
    line(section, "memory", app.memory);
    line(section, "gpus", app.gpus);
    line(section, "modules", app.modules);
  });
  if (const toml::array* fields = table.tables("field"); fields != nullptr) {
    for (const toml::node& one : *fields) {
      AppField field;
      if (const Status read = read_field(*one.as_table(), path, field); !read) return failure(read.error());
      const bool is_second = std::any_of(app.fields.begin(), app.fields.end(),
                                         [&](const AppField& other) { return other.name == field.name; });
      if (is_second || app.fields.size() == kMostFields)
        return failure(path + ": the field " + field.name + " is there twice, or there are more than 40");
      app.fields.push_back(std::move(field));
    }
  }
  if (const Status read = table.finish(); !read) return failure(read.error());
  if (!app.listens_at_socket && app.header.find("{secret}") == std::string::npos)
    return failure(path +
                   ": an application at a port needs a header with {secret}, as others reach its port");
  return app;
}

Result<AppSettings> load_app(const std::string& name, const std::string& directory) {
  const auto text = os::read_file(directory + "/app.toml", kMostFile);
  if (!text) return failure(directory + "/app.toml: " + text.error().message, text.error().code);
  auto app = parse_app(name, *text, directory + "/app.toml");
  if (!app) return app;
  const auto script = os::read_file(directory + "/script.sh", kMostScript);
  if (!script) return failure(directory + "/script.sh: " + script.error().message, script.error().code);
  app->script = *script;
  return app;
}

}  // namespace minke::config
