#include "store/rescue.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "os/fd.h"
#include "store/roots.h"
#include "store/schema.h"
#include "store/sqlite.h"

namespace minke::store {
namespace {

// SQLite's file format: offsets in the first page, and the first byte of a tree's pages.
constexpr size_t kPage = 4096;
constexpr size_t kFreePages = 32, kFreePagesBytes = 8;
constexpr size_t kCounter = 24, kCounterOfSize = 92, kCounterBytes = 4;
constexpr char kMagic[] = "SQLite format 3";
constexpr uint8_t kIndexInner = 2, kTableInner = 5, kIndexLeaf = 10, kTableLeaf = 13;

using Page = std::array<uint8_t, kPage>;

bool read_page(int file, uint64_t number, Page& page) {
  page.fill(0);
  return ::pread(file, page.data(), kPage, static_cast<off_t>((number - 1) * kPage)) > 0;
}

// If these differ, SQLite trusts the file's length, not the number of pages in the first page.
void distrust_size(Page& first) {
  std::memcpy(&first[kCounterOfSize], &first[kCounter], kCounterBytes);
  first[kCounterOfSize] ^= 0xff;
}

Status write_first_page(int file, const Page& first) {
  if (::pwrite(file, first.data(), kPage, 0) != static_cast<ssize_t>(kPage))
    return failure_from_errno("the copy's first page", errno);
  return {};
}

bool names_its_tables(const std::string& path) {
  const auto connection = Connection::open(path, SQLITE_OPEN_READWRITE, "");
  if (!connection) return false;
  const auto found = (*connection)->integer("SELECT count(*) FROM sqlite_schema WHERE name = 'jobs'");
  return found && *found == 1;
}

std::optional<bool> is_index(uint8_t kind) {
  if (kind == kIndexInner || kind == kIndexLeaf) return true;
  if (kind == kTableInner || kind == kTableLeaf) return false;
  return std::nullopt;
}

// A table or an index.
struct Tree {
  uint64_t root = 0;
  std::optional<bool> index;
};
struct NewDatabase {
  Page first{};
  std::vector<Tree> trees;
};

Status make_database(const std::string& path, int64_t schema, Roots& made) {
  remove_database(path);
  auto connection = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
  if (!connection) return failure(connection.error());
  if (const Status done = prepare_database(**connection, false, schema); !done) return done;
  auto roots = roots_of(**connection);
  if (!roots) return failure(roots.error());
  made = std::move(*roots);
  return {};
}

Status move_roots(const std::string& path, const Roots& to) {
  auto connection = Connection::open(path, SQLITE_OPEN_READWRITE, "");
  if (!connection) return failure(connection.error());
  if (const Status done = (*connection)->execute("PRAGMA writable_schema = ON"); !done) return done;
  auto update = (*connection)->prepare("UPDATE sqlite_schema SET rootpage = ?2 WHERE name = ?1");
  if (!update) return failure(update.error());
  for (const auto& [name, page] : to.pages) {
    update->bind_text(1, name);
    update->bind(2, static_cast<int64_t>(page));
    if (const Status done = update->run(); !done) return done;
  }
  return {};
}

Status read_trees(const std::string& path, const Roots& roots, const Roots& elsewhere, NewDatabase& made) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return failure_from_errno(path, errno);
  for (const auto& [name, root] : roots.pages) {
    Page page;
    const auto at = elsewhere.pages.find(name);
    if (at == elsewhere.pages.end()) return failure("it is not noted where the table " + name + " begins");
    made.trees.push_back({at->second, read_page(file.get(), root, page) ? is_index(page[0]) : std::nullopt});
  }
  return {};
}

Result<Page> first_page_of(const std::string& path) {
  Page page;
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || !read_page(file.get(), 1, page)) return failure_from_errno(path, errno);
  return page;
}

// `noted`: where its first page says that its trees begin; null: where they do.
Result<NewDatabase> make_new_database(const std::string& path, const Roots* noted) {
  Roots roots;
  NewDatabase made;
  Status done = make_database(path, noted != nullptr ? noted->schema : kSchema, roots);
  if (done) done = read_trees(path, roots, noted != nullptr ? *noted : roots, made);
  if (done && noted != nullptr) done = move_roots(path, *noted);
  const auto first = done ? first_page_of(path) : failure(done.error());
  remove_database(path);
  if (!first) return failure(first.error());
  made.first = *first;
  return made;
}

// Whether most of its tables begin where the new database's first page says.
bool has_tables_of(const NewDatabase& made, int file) {
  size_t alike = 0, other = 0;
  for (const Tree& tree : made.trees) {
    Page page;
    if (!read_page(file, tree.root, page)) continue;
    const auto kind = is_index(page[0]);
    if (!kind) continue;
    ++(kind == tree.index ? alike : other);
  }
  return alike > other;
}

Status replace_first_page(const std::string& path, const std::string& copy, int file) {
  const auto noted = noted_roots(path);
  const bool is_known = noted && noted->schema >= 1 && noted->schema <= kSchema;
  for (const Roots* roots : {is_known ? &*noted : nullptr, static_cast<const Roots*>(nullptr)}) {
    auto made = make_new_database(copy + "-new", roots);
    if (!made && roots == nullptr) return failure(made.error());
    if (!made || !has_tables_of(*made, file)) continue;
    std::memset(&made->first[kFreePages], 0, kFreePagesBytes);
    distrust_size(made->first);
    return write_first_page(file, made->first);
  }
  return failure(path +
                 " is no database of this program and version, or nothing of it is left: move it away");
}

}  // namespace

void remove_database(const std::string& path) {
  for (const char* end : {"", "-wal", "-shm", "-journal"}) ::unlink((path + end).c_str());
}

Status make_readable_copy(const std::string& path, const std::string& copy, std::vector<std::string>& lost) {
  remove_database(copy);
  std::error_code error;
  std::filesystem::copy_file(path, copy, error);
  if (error) return failure_from_errno(copy, error.value());
  std::filesystem::copy_file(path + "-wal", copy + "-wal", error);  // there may be none
  const os::UniqueFd file(::open(copy.c_str(), O_RDWR | O_CLOEXEC));
  Page first;
  if (!file || !read_page(file.get(), 1, first)) return failure(path + " is empty: move it away");
  if (std::memcmp(first.data(), kMagic, sizeof kMagic) == 0) {
    distrust_size(first);
    if (const Status done = write_first_page(file.get(), first); !done) return done;
    if (names_its_tables(copy)) {
      lost.emplace_back("the end of the database");
      return {};
    }
  }
  lost.emplace_back("the first page, for which a new database's stands in");
  return replace_first_page(path, copy, file.get());
}

}  // namespace minke::store
