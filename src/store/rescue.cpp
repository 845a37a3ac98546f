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

Result<std::vector<uint64_t>> roots_of(Connection& connection) {
  std::vector<uint64_t> roots;
  auto rows = connection.prepare("SELECT rootpage FROM sqlite_schema WHERE rootpage > 1");
  if (!rows) return failure(rows.error());
  for (;;) {
    auto row = rows->step();
    if (!row) return failure(row.error());
    if (!*row) return roots;
    roots.push_back(static_cast<uint64_t>(rows->integer(0)));
  }
}

struct NewDatabase {
  Page first{};
  std::vector<uint64_t> roots;
  std::vector<std::optional<bool>> kinds;  // of the roots
};

Result<NewDatabase> make_new_database(const std::string& path) {
  remove_database(path);
  NewDatabase made;
  {
    auto connection = Connection::open(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, "");
    if (!connection) return failure(connection.error());
    if (const Status done = prepare_database(**connection, false, kSchema); !done)
      return failure(done.error());
    auto roots = roots_of(**connection);
    if (!roots) return failure(roots.error());
    made.roots = std::move(*roots);
  }
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file || !read_page(file.get(), 1, made.first)) return failure_from_errno(path, errno);
  for (const uint64_t root : made.roots) {
    Page page;
    made.kinds.push_back(read_page(file.get(), root, page) ? is_index(page[0]) : std::nullopt);
  }
  remove_database(path);
  return made;
}

// Whether most of its tables begin where a new database's do.
bool has_tables_of(const NewDatabase& made, int file) {
  size_t alike = 0, other = 0;
  for (size_t i = 0; i < made.roots.size(); ++i) {
    Page page;
    if (!read_page(file, made.roots[i], page)) continue;
    const auto kind = is_index(page[0]);
    if (!kind) continue;
    ++(kind == made.kinds[i] ? alike : other);
  }
  return alike > other;
}

Status replace_first_page(const std::string& path, const std::string& copy, int file) {
  auto made = make_new_database(copy + "-new");
  if (!made) return failure(made.error());
  if (!has_tables_of(*made, file))
    return failure(path +
                   " is no database of this program and version, or nothing of it is left: move it away");
  std::memset(&made->first[kFreePages], 0, kFreePagesBytes);
  distrust_size(made->first);
  return write_first_page(file, made->first);
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
