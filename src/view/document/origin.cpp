// Which shape was asked for, and the end of every document: who asked for what.
#include <grp.h>
#include <unistd.h>

#include "base/version.h"
#include "model/error.h"
#include "text/number.h"
#include "view/document/records.h"

namespace minke::view {

std::string data_parser_name(int version) {
  return "data_parser/v0.0." + std::to_string(version);
}

Status check_data_parser(std::string_view value) {
  std::string_view name = value.substr(0, value.find('+'));
  if (name.starts_with("data_parser/")) name.remove_prefix(12);
  if (name.empty()) return {};
  const auto number =
      name.starts_with("v0.0.") ? text::parse_unsigned(name.substr(5), kNewestParser) : std::nullopt;
  if (number && *number >= kOldestParser) {
    use_data_parser(static_cast<int>(*number));
    return {};
  }
  return failure("Invalid data_parser plugin requested: " + std::string(name) +
                 " (v0.0.40 to v0.0.45 are written here)");
}

DocumentOrigin document_origin(int argc, char** argv) {
  DocumentOrigin origin;
  origin.command.assign(argv, argv + argc);
  origin.user = user_name_of(getuid());
  const group* entry = getgrgid(getgid());
  origin.group = entry != nullptr ? entry->gr_name : std::to_string(getgid());
  if (const char* terminal = ttyname(STDERR_FILENO)) origin.terminal = terminal;
  return origin;
}

void describe_origin(Document& document, const DocumentOrigin& origin, const DisplayContext& context) {
  document.begin_object("meta");
  document.begin_object("plugin");
  document.text("type", origin.plugin_type);
  document.text("name", origin.plugin_name);
  document.text("data_parser", data_parser_name(data_parser()));
  document.text("accounting_storage", "accounting_storage/minke");
  document.end();
  document.begin_object("client");
  document.text("source", origin.terminal);
  document.text("user", origin.user);
  document.text("group", origin.group);
  document.end();
  document.begin_array("command");
  for (const std::string& word : origin.command) document.text(word);
  document.end();
  document.begin_object("slurm");
  document.begin_object("version");
  const std::string_view version = slurm_version(spoken_release());
  const auto parts = text::split(version, '.');
  document.text("major", parts.at(0));
  document.text("micro", parts.at(2));
  document.text("minor", parts.at(1));
  document.end();
  document.text("release", version);
  document.text("cluster", context.cluster_name);
  document.end();
  document.end();
  document.begin_array("errors");
  for (const Error& error : origin.errors) {
    document.begin_object();
    document.text("description", error.message);
    document.integer("error_number", error.code);
    document.text("error", model::slurm_error_text(error.code));
    document.text("source", "");
    document.end();
  }
  document.end();
  document.begin_array("warnings");
  for (const std::string& warning : origin.warnings) {
    document.begin_object();
    document.text("description", warning);
    document.text("source", "");
    document.end();
  }
  document.end();
}

}  // namespace minke::view
