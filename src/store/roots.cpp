#include "store/roots.h"

#include <cerrno>
#include <sstream>

#include "os/files.h"

namespace minke::store {
namespace {

constexpr size_t kMostBytes = size_t{1} << 16;
constexpr mode_t kOwnerOnly = 0600;
constexpr char kSchemaWord[] = "schema";

std::string in_lines(const Roots& roots) {
  std::string text = std::string(kSchemaWord) + " " + std::to_string(roots.schema) + "\n";
  for (const auto& [name, page] : roots.pages) text += name + " " + std::to_string(page) + "\n";
  return text;
}

}  // namespace

std::string roots_path(const std::string& database) {
  return database + "-roots";
}

Result<Roots> roots_of(Connection& connection) {
  const auto schema = connection.integer("PRAGMA user_version");
  if (!schema) return failure(schema.error());
  Roots roots{.schema = *schema, .pages = {}};
  auto rows = connection.prepare("SELECT name, rootpage FROM sqlite_schema WHERE rootpage > 1");
  if (!rows) return failure(rows.error());
  while (true) {
    auto row = rows->step();
    if (!row) return failure(row.error());
    if (!*row) return roots;
    roots.pages[std::string(rows->bytes(0))] = static_cast<uint64_t>(rows->integer(1));
  }
}

Status note_roots(Connection& connection) {
  const auto roots = roots_of(connection);
  if (!roots) return failure(roots.error());
  const std::string path = roots_path(connection.path()), text = in_lines(*roots);
  if (const auto noted = os::read_file(path, kMostBytes); noted && *noted == text) return {};
  return os::replace_file(path, text, kOwnerOnly);
}

Result<Roots> noted_roots(const std::string& database) {
  const auto text = os::read_file(roots_path(database), kMostBytes);
  if (!text) return failure(text.error());
  std::istringstream lines(*text);
  Roots roots;
  std::string name;
  uint64_t page = 0;
  if (!(lines >> name >> roots.schema) || name != kSchemaWord)
    return failure(roots_path(database) + " is damaged", EILSEQ);
  while (lines >> name >> page) roots.pages[name] = page;
  if (!lines.eof() || roots.pages.empty()) return failure(roots_path(database) + " is damaged", EILSEQ);
  return roots;
}

}  // namespace minke::store
