#include "storage/usage_scan.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "os/files.h"
#include "storage/inode_set.h"
#include "storage/inode_tables.h"
#include "storage/tree_walk.h"

namespace minke::storage {

namespace {

constexpr size_t kErrorsKept = 20;
constexpr size_t kSuffixesKept = 4096;  // for each worker: arbitrary names must not fill the memory

uint64_t device_of(const struct statx& status) {
  return makedev(status.stx_dev_major, status.stx_dev_minor);
}

struct Own : Directory::Note {
  std::atomic<uint64_t> space{0}, bytes{0}, entries{0};
};

// The counts of one worker, on cache lines of its own.
struct alignas(128) Count {
  Usage usage;
  std::pair<uid_t, gid_t> owner{};
  Amount* amount = nullptr;  // of `owner`
  std::unordered_map<std::string, uint64_t> suffixes;
};

class Scan : public Visitor {
 public:
  Scan(const UsageOptions& options, unsigned workers) : options_(options), counts_(workers) {}

  void count(unsigned worker, const TableInode& inode) {
    Count& to = counts_[worker];
    if (!S_ISDIR(inode.mode)) to.usage.extra_names += inode.links - 1;
    const Entry entry{inode.mode, inode.uid, inode.gid, inode.size, inode.space};
    add(to, entry);
    add_kind(to, entry);
  }

  void visit(unsigned worker, Directory& in, const char* name, const struct statx& status) override {
    Count& count = counts_[worker];
    if (status.stx_nlink > 1 && !seen_.insert(device_of(status), status.stx_ino)) {
      ++count.usage.extra_names;
      return;
    }
    const Entry entry = entry_of(status);
    const Amount amount = add(count, entry);
    add_kind(count, entry);
    if (S_ISREG(entry.mode) && options_.suffixes) add_suffix(count, name, entry.size);
    if (auto* own = static_cast<Own*>(in.note.get())) note(*own, amount);
  }

  bool enter(unsigned worker, Directory& directory, const struct statx& status) override {
    if (!options_.snapshots && directory.depth() == 1 && directory.name() == ".snapshots") return false;
    if (options_.entered != nullptr) options_.entered->fetch_add(1, std::memory_order_relaxed);
    Count& count = counts_[worker];
    const Entry entry = entry_of(status);
    const Amount amount = add(count, entry);
    add_kind(count, entry);
    if (options_.heaviest > 0) {
      auto own = std::make_unique<Own>();
      note(*own, amount);
      directory.note = std::move(own);
    }
    return true;
  }

  void leave(unsigned, Directory& directory) override {
    const auto* own = static_cast<const Own*>(directory.note.get());
    if (own == nullptr) return;
    const Amount amount{own->space, own->bytes, own->entries};
    const std::lock_guard lock(mutex_);
    const auto less = [](const Usage::Heavy& a, const Usage::Heavy& b) {
      return a.amount.entries > b.amount.entries;
    };
    if (heaviest_.size() == options_.heaviest && heaviest_.front().amount.entries >= amount.entries) return;
    heaviest_.push_back({directory.path(), amount});
    std::push_heap(heaviest_.begin(), heaviest_.end(), less);
    if (heaviest_.size() > options_.heaviest) {
      std::pop_heap(heaviest_.begin(), heaviest_.end(), less);
      heaviest_.pop_back();
    }
  }

  void failed(unsigned, const std::string& path, int error_number) override {
    const std::lock_guard lock(mutex_);
    ++error_count_;
    if (errors_.size() < kErrorsKept)
      errors_.push_back({error_number, path + ": " + std::strerror(error_number)});
  }

  Usage sum() {
    Usage all;
    std::map<std::string, uint64_t> suffixes;
    for (Count& count : counts_) {
      const Usage& part = count.usage;
      all.total += part.total;
      all.files += part.files;
      all.directories += part.directories;
      all.links += part.links;
      all.others += part.others;
      all.extra_names += part.extra_names;
      for (size_t i = 0; i < kSizeClasses; ++i) {
        all.size_counts[i] += part.size_counts[i];
        all.size_bytes[i] += part.size_bytes[i];
      }
      for (const auto& [owner, amount] : part.owners) all.owners[owner] += amount;
      for (const auto& [suffix, bytes] : count.suffixes) suffixes[suffix] += bytes;
    }
    all.suffix_bytes = std::move(suffixes);
    std::sort(heaviest_.begin(), heaviest_.end(), [](const Usage::Heavy& a, const Usage::Heavy& b) {
      return a.amount.entries != b.amount.entries ? a.amount.entries > b.amount.entries : a.path < b.path;
    });
    all.heaviest = std::move(heaviest_);
    all.errors = std::move(errors_);
    all.error_count = error_count_;
    return all;
  }

 private:
  struct Entry {
    uint32_t mode, uid, gid;
    uint64_t size, space;
  };
  static Entry entry_of(const struct statx& status) {
    return {status.stx_mode, status.stx_uid, status.stx_gid, status.stx_size, status.stx_blocks * 512};
  }

  static Amount add(Count& count, const Entry& entry) {
    const Amount amount{entry.space, S_ISREG(entry.mode) ? entry.size : 0, 1};
    count.usage.total += amount;
    const std::pair owner{static_cast<uid_t>(entry.uid), static_cast<gid_t>(entry.gid)};
    if (count.amount == nullptr || count.owner != owner) {
      count.amount = &count.usage.owners[owner];
      count.owner = owner;
    }
    *count.amount += amount;
    return amount;
  }

  static void add_kind(Count& count, const Entry& entry) {
    if (S_ISREG(entry.mode)) {
      ++count.usage.files;
      const auto size_class = static_cast<size_t>(std::bit_width(entry.size));
      ++count.usage.size_counts[size_class];
      count.usage.size_bytes[size_class] += entry.size;
    } else if (S_ISDIR(entry.mode)) {
      ++count.usage.directories;
    } else if (S_ISLNK(entry.mode)) {
      ++count.usage.links;
    } else {
      ++count.usage.others;
    }
  }

  static void note(Own& own, const Amount& amount) {
    own.space.fetch_add(amount.space, std::memory_order_relaxed);
    own.bytes.fetch_add(amount.bytes, std::memory_order_relaxed);
    own.entries.fetch_add(1, std::memory_order_relaxed);
  }

  static void add_suffix(Count& count, const char* name, uint64_t size) {
    const char* dot = std::strrchr(name, '.');
    std::string suffix = dot != nullptr && dot != name && std::strlen(dot) <= 12 ? dot : "";
    for (char& c : suffix)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const auto found = count.suffixes.find(suffix);
    if (found != count.suffixes.end()) {
      found->second += size;
    } else if (count.suffixes.size() < kSuffixesKept) {
      count.suffixes.emplace(std::move(suffix), size);
    }
  }

  const UsageOptions& options_;
  std::vector<Count> counts_;
  InodeSet seen_;
  std::mutex mutex_;  // guards what follows
  std::vector<Usage::Heavy> heaviest_;
  std::vector<Error> errors_;
  uint64_t error_count_ = 0;
};

// Whether anything is mounted below; unknown counts as yes.
bool has_mounts_below(const std::string& path) {
  char resolved[PATH_MAX];
  const auto mounts = os::read_file("/proc/self/mountinfo", 16 << 20);
  if (!mounts || ::realpath(path.c_str(), resolved) == nullptr) return true;
  const std::string above = std::string(resolved) == "/" ? "/" : std::string(resolved) + "/";
  for (size_t at = 0; at < mounts->size();) {
    const size_t end = std::min(mounts->find('\n', at), mounts->size());
    std::string_view line(mounts->data() + at, end - at);
    at = end + 1;
    for (int field = 0; field < 4; ++field) line.remove_prefix(std::min(line.find(' ') + 1, line.size()));
    // The kernel writes spaces and the like in octal, `above` does not: such a line counts as below.
    if (line.starts_with(above) || (above.find_first_of(" \t\n\\") != std::string::npos)) return true;
  }
  return false;
}

// Returns nothing where this is not possible.
std::optional<Usage> scan_tables(const std::string& root, const UsageOptions& options) {
  if (!options.tables || options.heaviest > 0 || options.suffixes || !options.snapshots || ::geteuid() != 0)
    return std::nullopt;
  if (!options.one_file_system && has_mounts_below(root)) return std::nullopt;
  std::optional<Scan> scan;
  const Status scanned = scan_inodes(
      root, options.one_file_system, [&](unsigned workers) { scan.emplace(options, workers); },
      [&](unsigned worker, const TableInode& inode) { scan->count(worker, inode); });
  if (!scanned) return std::nullopt;
  return scan->sum();
}

}  // namespace

Amount& Amount::operator+=(const Amount& other) {
  space += other.space;
  bytes += other.bytes;
  entries += other.entries;
  return *this;
}

namespace {

// Removes roots that another root covers: the same again, or one that lies within it.
std::vector<std::string> without_parts(const std::vector<std::string>& roots, bool one_file_system) {
  const auto holds = [&](const std::string& root, const std::string& part) {
    if (!part.starts_with(root.ends_with('/') ? root : root + "/")) return false;
    struct stat above {
    }, below{};
    return !one_file_system || (::lstat(root.c_str(), &above) == 0 && ::lstat(part.c_str(), &below) == 0 &&
                                above.st_dev == below.st_dev);
  };
  std::vector<std::string> kept;
  for (size_t at = 0; at < roots.size(); ++at) {
    bool counted = false;
    for (size_t other = 0; other < roots.size() && !counted; ++other)
      counted = roots[other] == roots[at] ? other < at : holds(roots[other], roots[at]);
    if (!counted) kept.push_back(roots[at]);
  }
  return kept;
}

}  // namespace

Result<Usage> scan_usage(const std::vector<std::string>& given, const UsageOptions& options) {
  const std::vector<std::string> roots = without_parts(given, options.one_file_system);
  if (roots.size() == 1)
    if (auto usage = scan_tables(roots[0], options)) return std::move(*usage);
  const WalkOptions walk{.threads = options.threads,
                         .mask = STATX_TYPE | STATX_MODE | STATX_NLINK | STATX_UID | STATX_GID | STATX_INO |
                                 STATX_SIZE | STATX_BLOCKS,
                         .one_file_system = options.one_file_system};
  Scan scan(options, walk_threads(walk));
  for (const std::string& root : roots) {
    if (const Status walked = walk_tree(root, walk, scan); !walked) return failure(walked.error());
  }
  return scan.sum();
}

}  // namespace minke::storage
