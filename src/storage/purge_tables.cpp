#include "storage/purge_tables.h"

#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdlib>
#include <limits>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "storage/ext4_tables.h"

namespace minke::storage {

namespace {

constexpr unsigned kDeepest = 65536;  // a deeper path goes round in a circle: a directory was moved meanwhile

// One bit for each inode, and the rank of an inode among the set bits.
class InodeBits {
 public:
  explicit InodeBits(uint64_t most) : words_(most / 64 + 1) {}
  void set(uint64_t number) {
    words_[number / 64].fetch_or(uint64_t{1} << number % 64, std::memory_order_relaxed);
  }
  bool has(uint64_t number) const {
    return number / 64 < words_.size() &&
           (words_[number / 64].load(std::memory_order_relaxed) >> number % 64 & 1) != 0;
  }
  size_t count_all() {
    before_.resize(words_.size());
    size_t count = 0;
    for (size_t at = 0; at < words_.size(); ++at) {
      before_[at] = static_cast<uint32_t>(count);
      count += static_cast<size_t>(std::popcount(words_[at].load(std::memory_order_relaxed)));
    }
    return count;
  }
  size_t rank(uint64_t number) const {
    const uint64_t lower =
        words_[number / 64].load(std::memory_order_relaxed) & ((uint64_t{1} << number % 64) - 1);
    return before_[number / 64] + static_cast<size_t>(std::popcount(lower));
  }

 private:
  std::vector<std::atomic<uint64_t>> words_;
  std::vector<uint32_t> before_;
};

struct Named {
  uint64_t parent = 0;
  std::string name;
};
using DirectoryNames = std::unordered_map<uint64_t, Named>;

// The path below the root, without a slash in front; nothing if it is not below the root.
std::optional<std::string> path_of(const DirectoryNames& names, uint64_t root, uint64_t number) {
  std::vector<const std::string*> line;
  while (number != root) {
    const auto found = names.find(number);
    if (found == names.end() || line.size() > kDeepest) return std::nullopt;
    line.push_back(&found->second.name);
    number = found->second.parent;
  }
  std::string path;
  for (auto at = line.rbegin(); at != line.rend(); ++at) {
    if (!path.empty()) path += '/';
    path += **at;
  }
  return path;
}

bool is_old(const TableInode& inode, int64_t before) {
  return (S_ISREG(inode.mode) || S_ISLNK(inode.mode)) && std::max(inode.atime, inode.ctime) < before;
}

OldFile old_file(const TableInode& inode) {
  return {.inode = inode.number,
          .last_use = std::max(inode.atime, inode.ctime),
          .uid = inode.uid,
          .links = inode.links,
          .size = inode.size,
          .space = inode.space};
}

// An OldFile in few bytes, because there are millions.
struct Detail {
  uint32_t inode = 0, last_use = 0, uid = 0, blocks = 0;  // inode 0: none; blocks: of 512 bytes
  uint64_t size = 0;

  // Returns false if it does not fit.
  bool set(const OldFile& file) {
    constexpr auto kMost = std::numeric_limits<uint32_t>::max();
    if (file.inode > kMost || file.last_use < 0 || file.last_use > kMost || file.space / 512 > kMost ||
        file.space % 512 != 0 || file.links > 1)
      return false;
    *this = {static_cast<uint32_t>(file.inode), static_cast<uint32_t>(file.last_use), file.uid,
             static_cast<uint32_t>(file.space / 512), file.size};
    return true;
  }
  OldFile file() const {
    return {.inode = inode,
            .last_use = last_use,
            .uid = uid,
            .links = 1,
            .size = size,
            .space = uint64_t{blocks} * 512};
  }
};

// What one worker has found, in pieces that can be freed one by one.
class alignas(128) Met {
 public:
  void add(const OldFile& file, size_t most) {
    Detail detail;
    if (count_ == most || !detail.set(file)) return;
    if (pieces_.empty() || pieces_.back().size() == kPiece) pieces_.emplace_back().reserve(kPiece);
    pieces_.back().push_back(detail);
    ++count_;
  }
  template <typename Take>
  void give(const Take& take) {
    for (std::vector<Detail>& piece : pieces_) {
      for (const Detail& detail : piece) take(detail);
      std::vector<Detail>().swap(piece);
    }
  }

 private:
  static constexpr size_t kPiece = 64 << 10;
  size_t count_ = 0;
  std::vector<std::vector<Detail>> pieces_;
};

}  // namespace

Status each_old_by_tables(const std::string& root, int64_t before, const TableLimits& limits,
                          const std::function<void(unsigned)>& begin, const TakeOldFile& take) {
  const auto tables = Ext4Tables::open(root, true);
  if (!tables) return failure(tables.error());
  InodeBits old(tables->most_inodes()), directories(tables->most_inodes());
  std::vector<Met> met(tables->workers());
  std::vector<Ext4Tables::DirectoryBlocks> blocks;
  const size_t most_met = limits.files / tables->workers();
  const Status scanned = tables->scan(
      [&](unsigned worker, const TableInode& inode) {
        if (S_ISDIR(inode.mode)) directories.set(inode.number);
        if (!is_old(inode, before)) return;
        old.set(inode.number);
        met[worker].add(old_file(inode), most_met);
      },
      &blocks, limits.directories);
  if (!scanned) return scanned;
  begin(tables->workers());
  const size_t count = old.count_all();
  if (count == 0) return {};
  // Memory zeroed by the kernel, and only where something is stored: what was found is freed meanwhile.
  struct Freed {
    void operator()(Detail* memory) const { std::free(memory); }
  };
  const size_t kept = std::min(count, limits.files);
  const std::unique_ptr<Detail[], Freed> details(static_cast<Detail*>(std::calloc(kept, sizeof(Detail))));
  if (!details) return failure("there is no memory for the list", ENOMEM);
  for (Met& some : met)
    some.give([&](const Detail& detail) {
      if (const size_t at = old.rank(detail.inode); at < kept) details[at] = detail;
    });
  // First the names of directories, then their content: so only those names must be kept.
  std::vector<std::vector<std::pair<uint64_t, Named>>> called(tables->workers());
  Status named = tables->entries(
      blocks, [&](unsigned worker, uint64_t directory, uint64_t number, std::string_view name) {
        if (directories.has(number)) called[worker].push_back({number, {directory, std::string(name)}});
      });
  if (!named) return named;
  DirectoryNames names;
  names.reserve(blocks.size());
  for (auto& some : called)
    for (auto& [number, name] : some) names[number] = std::move(name);
  struct Place {
    uint64_t directory = 0;
    std::optional<std::string> path;
  };
  std::vector<Place> places(tables->workers());
  return tables->entries(blocks,
                         [&](unsigned worker, uint64_t directory, uint64_t number, std::string_view name) {
                           if (!old.has(number)) return;
                           Place& place = places[worker];
                           if (place.directory != directory)
                             place = {directory, path_of(names, tables->root(), directory)};
                           if (!place.path) return;
                           const size_t at = old.rank(number);
                           if (at < kept && details[at].inode == number)
                             return take(worker, *place.path, name, details[at].file());
                           const auto inode = tables->inode(number);
                           if (inode && is_old(*inode, before))
                             take(worker, *place.path, name, old_file(*inode));
                         });
}

}  // namespace minke::storage
