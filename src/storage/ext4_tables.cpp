#include "storage/ext4_tables.h"

#include <ext2fs/ext2_fs.h>
#include <ext2fs/ext2fs.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <thread>

#include "os/files.h"
#include "os/read_at.h"

namespace minke::storage {

namespace {

constexpr size_t kPieceBytes = 256 << 10;  // of the tables, read at once
constexpr size_t kNearBytes = 64 << 10;    // between two directories, which is read with them
constexpr uint16_t kExtentMagic = 0xF30A;

// Returns the device's name, from what the kernel reports for its numbers.
std::string device_path(dev_t number) {
  const std::string about =
      "/sys/dev/block/" + std::to_string(major(number)) + ":" + std::to_string(minor(number)) + "/uevent";
  const auto text = os::read_file(about, 64 << 10);
  const size_t at = text ? text->find("DEVNAME=") : std::string::npos;
  if (at == std::string::npos) return "";
  return "/dev/" + text->substr(at + 8, text->find('\n', at) - at - 8);
}

// Whether delayed allocations are pending: blocks promised to files, not allocated. Unknown counts as yes.
bool blocks_are_promised(const std::string& device) {
  std::string name = device.substr(5);  // behind /dev/
  std::replace(name.begin(), name.end(), '/', '!');
  const auto count = os::read_file("/sys/fs/ext4/" + name + "/delayed_allocation_blocks", 64);
  return !count || *count != "0\n";
}

int64_t seconds(uint32_t low, uint32_t extra) {
  return static_cast<int64_t>(static_cast<int32_t>(low)) + (static_cast<int64_t>(extra & 3) << 32);
}

TableInode decode(const ext2_inode_large& raw, uint64_t number, bool large, uint32_t block_bytes) {
  TableInode inode;
  inode.number = number;
  inode.mode = raw.i_mode;
  inode.uid = raw.i_uid | static_cast<uint32_t>(raw.osd2.linux2.l_i_uid_high) << 16;
  inode.gid = raw.i_gid | static_cast<uint32_t>(raw.osd2.linux2.l_i_gid_high) << 16;
  inode.links = raw.i_links_count;
  inode.size = raw.i_size;
  if (S_ISREG(raw.i_mode) || S_ISDIR(raw.i_mode)) inode.size |= static_cast<uint64_t>(raw.i_size_high) << 32;
  const uint64_t blocks = raw.i_blocks | static_cast<uint64_t>(raw.osd2.linux2.l_i_blocks_hi) << 32;
  inode.space = blocks * ((raw.i_flags & EXT4_HUGE_FILE_FL) != 0 ? block_bytes : 512);
  // The kernel's value for a file whose content lies within its inode.
  if (S_ISREG(raw.i_mode) && (raw.i_flags & EXT4_INLINE_DATA_FL) != 0)
    inode.space += (inode.size + 511) / 512 * 512;
  const auto extra = [&](size_t end) {
    return large && EXT2_GOOD_OLD_INODE_SIZE + size_t{raw.i_extra_isize} >= end;
  };
  inode.atime =
      seconds(raw.i_atime, extra(offsetof(ext2_inode_large, i_atime_extra) + 4) ? raw.i_atime_extra : 0);
  inode.ctime =
      seconds(raw.i_ctime, extra(offsetof(ext2_inode_large, i_ctime_extra) + 4) ? raw.i_ctime_extra : 0);
  return inode;
}

// Where the content is, if the inode itself says so; else nothing.
std::optional<std::vector<Ext4Tables::Extent>> extents_within(const ext2_inode_large& raw) {
  if ((raw.i_flags & EXT4_EXTENTS_FL) == 0 || (raw.i_flags & EXT4_INLINE_DATA_FL) != 0) return std::nullopt;
  ext3_extent_header header;
  const char* place = reinterpret_cast<const char*>(raw.i_block);
  std::memcpy(&header, place, sizeof header);
  if (header.eh_magic != kExtentMagic || header.eh_depth != 0 || header.eh_entries > 4) return std::nullopt;
  std::vector<Ext4Tables::Extent> extents;
  for (unsigned i = 0; i < header.eh_entries; ++i) {
    ext3_extent extent;
    std::memcpy(&extent, place + sizeof header + i * sizeof extent, sizeof extent);
    if (extent.ee_len <= 32768)  // above: allocated, not written
      extents.push_back({extent.ee_start | static_cast<uint64_t>(extent.ee_start_hi) << 32, extent.ee_len});
  }
  return extents;
}

// Runs `work` in so many threads, and one more ahead of them, which has the disk read what they will need, in
// disk order: a disk that waits for the next request reads half as fast. `place` returns the place and length
// of a numbered piece; `next` is the first one that is not taken.
struct Stretch {
  uint64_t place = 0, bytes = 0;
};
void read_by(unsigned workers, int device, size_t pieces, const std::atomic<size_t>& next,
             const std::function<Stretch(size_t)>& place, const std::function<void(unsigned)>& work) {
  std::vector<std::thread> threads;
  if (pieces > 1)
    threads.emplace_back([&] {
      for (size_t at = 1; at < pieces; ++at) {
        if (at < next.load(std::memory_order_relaxed)) continue;  // it is in memory, or being read
        const Stretch stretch = place(at);
        (void)::posix_fadvise(device, static_cast<off_t>(stretch.place), static_cast<off_t>(stretch.bytes),
                              POSIX_FADV_WILLNEED);
      }
    });
  for (unsigned worker = 1; worker < std::min<size_t>(workers, pieces); ++worker)
    threads.emplace_back(work, worker);
  work(0);
  for (std::thread& thread : threads) thread.join();
}

void each_entry(std::string_view block, const std::function<void(uint64_t, std::string_view)>& take) {
  for (size_t at = 0; at + 8 <= block.size();) {
    ext2_dir_entry_2 entry;
    std::memcpy(&entry, block.data() + at, 8);
    // 65536 does not fit the field: it is stored as 65535 or 0.
    const size_t length = entry.rec_len == 65535 || entry.rec_len == 0 ? block.size() - at : entry.rec_len;
    if (length < 8 || length % 4 != 0 || at + length > block.size() || entry.name_len + 8U > length) return;
    const std::string_view name = block.substr(at + 8, entry.name_len);
    if (entry.inode != 0 && !name.empty() && name != "." && name != "..") take(entry.inode, name);
    at += length;
  }
}

// One pass over all inode tables.
class InodeScan {
 public:
  using DirectoryBlocks = Ext4Tables::DirectoryBlocks;

  InodeScan(ext2_filsys fs, int device, const TakeInode& take, std::vector<DirectoryBlocks>* directories,
            size_t most)
      : fs_(fs),
        device_(device),
        take_(take),
        directories_(directories),
        most_(most),
        bytes_(EXT2_INODE_SIZE(fs->super)),
        first_usual_(EXT2_FIRST_INODE(fs->super)) {
    list_pieces();
  }

  Status run(unsigned workers) {
    const auto place = [this](size_t at) { return Stretch{pieces_[at].place, pieces_[at].count * bytes_}; };
    read_by(workers, device_, pieces_.size(), next_, place, [this](unsigned worker) { work(worker); });
    if (count_ > most_) return failure("there are too many directories", E2BIG);
    if (failed_) return failure("the inode tables cannot be read", EIO);
    for (const uint64_t number : elsewhere_) directories_->push_back(ask_library(number));
    return {};
  }

 private:
  struct Piece {
    uint64_t first, count, place;  // an inode's number, how many, a byte of the device
  };
  // What one thread has found.
  struct Found {
    std::vector<DirectoryBlocks> directories;
    std::vector<uint64_t> elsewhere;
  };

  void list_pieces() {
    const uint32_t per_group = fs_->super->s_inodes_per_group;
    const uint32_t per_piece = static_cast<uint32_t>(kPieceBytes) / bytes_;
    const bool has_unused = ext2fs_has_group_desc_csum(fs_) != 0;
    for (dgrp_t group = 0; group < fs_->group_desc_count; ++group) {
      if (has_unused && ::ext2fs_bg_flags_test(fs_, group, EXT2_BG_INODE_UNINIT) != 0) continue;
      const uint32_t unused = has_unused ? ::ext2fs_bg_itable_unused(fs_, group) : 0;
      const uint32_t used = per_group - std::min(unused, per_group);
      const uint64_t table = ::ext2fs_inode_table_loc(fs_, group) * fs_->blocksize;
      for (uint32_t at = 0; at < used; at += per_piece)
        pieces_.push_back({static_cast<uint64_t>(group) * per_group + at + 1, std::min(per_piece, used - at),
                           table + static_cast<uint64_t>(at) * bytes_});
    }
  }

  void work(unsigned worker) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kPieceBytes);
    Found found;
    for (size_t at; (at = next_.fetch_add(1)) < pieces_.size() && !failed_;) {
      const Piece& piece = pieces_[at];
      if (!os::read_at(device_, buffer.get(), piece.count * bytes_, piece.place)) {
        failed_ = true;
        break;
      }
      for (uint64_t i = 0; i < piece.count; ++i)
        if (!take_inode(worker, piece.first + i, buffer.get() + i * bytes_, found)) break;
    }
    if (directories_ == nullptr) return;
    const std::lock_guard lock(mutex_);
    std::move(found.directories.begin(), found.directories.end(), std::back_inserter(*directories_));
    elsewhere_.insert(elsewhere_.end(), found.elsewhere.begin(), found.elsewhere.end());
  }

  // Returns false, and reads no further, if there are too many directories.
  bool take_inode(unsigned worker, uint64_t number, const char* place, Found& found) {
    const bool large = bytes_ > EXT2_GOOD_OLD_INODE_SIZE;
    ext2_inode_large raw;
    std::memcpy(&raw, place, EXT2_GOOD_OLD_INODE_SIZE);
    if (raw.i_links_count == 0 || raw.i_mode == 0) return true;
    if (large)
      std::memcpy(reinterpret_cast<char*>(&raw) + EXT2_GOOD_OLD_INODE_SIZE, place + EXT2_GOOD_OLD_INODE_SIZE,
                  std::min<size_t>(sizeof raw, bytes_) - EXT2_GOOD_OLD_INODE_SIZE);
    if (is_internal(raw, number)) return true;
    take_(worker, decode(raw, number, large, fs_->blocksize));
    if (directories_ == nullptr || !S_ISDIR(raw.i_mode)) return true;
    if (count_.fetch_add(1, std::memory_order_relaxed) >= most_) {
      failed_ = true;
      return false;
    }
    if (auto extents = extents_within(raw)) {
      found.directories.push_back({number, std::move(*extents)});
    } else {
      found.elsewhere.push_back(number);
    }
    return true;
  }

  // Inodes of the file system itself, which have no name.
  bool is_internal(const ext2_inode_large& raw, uint64_t number) const {
    return (number < first_usual_ && number != EXT2_ROOT_INO) || (raw.i_flags & EXT4_EA_INODE_FL) != 0 ||
           number == fs_->super->s_orphan_file_inum;
  }

  // A directory within its inode has no blocks: the library then reads its entries (EntryScan).
  DirectoryBlocks ask_library(uint64_t number) const {
    DirectoryBlocks found{number, {}};
    const auto add = [](ext2_filsys, blk64_t* block, e2_blkcnt_t count, blk64_t, int, void* to) {
      if (count < 0) return 0;
      auto& extents = static_cast<DirectoryBlocks*>(to)->extents;
      if (!extents.empty() && extents.back().block + extents.back().count == *block) {
        ++extents.back().count;
      } else {
        extents.push_back({*block, 1});
      }
      return 0;
    };
    (void)::ext2fs_block_iterate3(fs_, static_cast<ext2_ino_t>(number), BLOCK_FLAG_READ_ONLY, nullptr, add,
                                  &found);
    return found;
  }

  ext2_filsys fs_;
  int device_;
  const TakeInode& take_;
  std::vector<DirectoryBlocks>* directories_;  // null if nobody asks for them
  size_t most_;                                // of the directories
  uint32_t bytes_;                             // of an inode
  uint64_t first_usual_;
  std::vector<Piece> pieces_;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::atomic<size_t> count_{0};     // of directories
  std::mutex mutex_;                 // guards *directories_, and what follows
  std::vector<uint64_t> elsewhere_;  // directories whose inode does not give their place
};

// One pass over the entries of directories.
class EntryScan {
 public:
  EntryScan(ext2_filsys fs, int device, const Ext4Tables::Entry& take,
            const std::vector<Ext4Tables::DirectoryBlocks>& directories)
      : fs_(fs), device_(device), take_(take), most_(kPieceBytes / fs->blocksize) {
    list_pieces(directories);
    join_neighbours();
  }

  Status run(unsigned workers) {
    const auto place = [this](size_t at) { return stretch(at); };
    read_by(workers, device_, runs_.size() - 1, next_, place, [this](unsigned worker) { work(worker); });
    if (failed_) return failure("the directories cannot be read", EIO);
    for (const uint64_t number : inlined_) ask_library(number);
    return {};
  }

 private:
  struct Piece {
    uint64_t block, count, directory;
    uint64_t end() const { return block + count; }
  };

  void list_pieces(const std::vector<Ext4Tables::DirectoryBlocks>& directories) {
    for (const Ext4Tables::DirectoryBlocks& directory : directories) {
      if (directory.extents.empty()) inlined_.push_back(directory.number);
      for (const Ext4Tables::Extent& extent : directory.extents)
        for (uint64_t at = 0; at < extent.count; at += most_)
          pieces_.push_back({extent.block + at, std::min(most_, extent.count - at), directory.number});
    }
    std::sort(pieces_.begin(), pieces_.end(),
              [](const Piece& a, const Piece& b) { return a.block < b.block; });
  }

  // Reads at once what lies together on the disk, or nearly.
  void join_neighbours() {
    const uint64_t near = kNearBytes / fs_->blocksize;
    for (size_t at = 0; at < pieces_.size(); ++at) {
      const Piece& piece = pieces_[at];
      const uint64_t end = at == 0 ? 0 : pieces_[at - 1].end();
      if (runs_.empty() || piece.block < end || piece.block > end + near ||
          piece.end() - pieces_[runs_.back()].block > most_)
        runs_.push_back(at);
    }
    runs_.push_back(pieces_.size());
  }

  // Where a run lies on the device.
  Stretch stretch(size_t run) const {
    const uint64_t first = pieces_[runs_[run]].block;
    return {first * fs_->blocksize, (pieces_[runs_[run + 1] - 1].end() - first) * fs_->blocksize};
  }

  void work(unsigned worker) {
    const auto buffer = std::make_unique_for_overwrite<char[]>(kPieceBytes);
    for (size_t at; (at = next_.fetch_add(1)) + 1 < runs_.size() && !failed_;) {
      const Stretch run = stretch(at);
      if (!os::read_at(device_, buffer.get(), run.bytes, run.place)) {
        failed_ = true;
        return;
      }
      for (size_t i = runs_[at]; i < runs_[at + 1]; ++i)
        take_piece(worker, pieces_[i], buffer.get() + pieces_[i].block * fs_->blocksize - run.place);
    }
  }

  void take_piece(unsigned worker, const Piece& piece, const char* content) {
    for (uint64_t block = 0; block < piece.count; ++block)
      each_entry(
          {content + block * fs_->blocksize, fs_->blocksize},
          [&](uint64_t number, std::string_view name) { take_(worker, piece.directory, number, name); });
  }

  // Reads a directory that lies within its inode.
  void ask_library(uint64_t number) const {
    struct Given {
      const Ext4Tables::Entry& take;
      uint64_t directory;
    } given{take_, number};
    const auto one = [](ext2_ino_t, int, ext2_dir_entry* entry, int, int, char*, void* to) {
      const Given& taker = *static_cast<Given*>(to);
      const std::string_view name(entry->name, static_cast<size_t>(ext2fs_dirent_name_len(entry)));
      if (entry->inode != 0 && name != "." && name != "..")
        taker.take(0, taker.directory, entry->inode, name);
      return 0;
    };
    (void)::ext2fs_dir_iterate2(fs_, static_cast<ext2_ino_t>(number), 0, nullptr, one, &given);
  }

  ext2_filsys fs_;
  int device_;
  const Ext4Tables::Entry& take_;
  uint64_t most_;  // the most blocks to read at once
  std::vector<Piece> pieces_;
  std::vector<size_t> runs_;       // where each begins in pieces_, and their end
  std::vector<uint64_t> inlined_;  // directories without blocks
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
};

}  // namespace

struct Ext4Tables::Library {
  ext2_filsys fs = nullptr;
  std::mutex mutex;  // one thread at a time may use the library
  ~Library() {
    if (fs != nullptr) ::ext2fs_close_free(&fs);
  }
};

Ext4Tables::Ext4Tables() : library_(std::make_unique<Library>()) {}
Ext4Tables::Ext4Tables(Ext4Tables&&) noexcept = default;
Ext4Tables::~Ext4Tables() = default;

Result<Ext4Tables> Ext4Tables::open(const std::string& directory, bool times) {
  const os::UniqueFd there(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct statfs system {};
  struct stat status {};
  if (!there || ::fstatfs(there.get(), &system) != 0 || ::fstat(there.get(), &status) != 0)
    return failure_from_errno(directory, errno);
  const std::string path = system.f_type == EXT4_SUPER_MAGIC ? device_path(status.st_dev) : "";
  if (path.empty()) return failure(directory + ": not an ext4 with a device of its own", EOPNOTSUPP);
  Ext4Tables tables;
  tables.root_ = status.st_ino;
  tables.device_.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat device {};
  if (!tables.device_ || ::fstat(tables.device_.get(), &device) != 0) return failure_from_errno(path, errno);
  if (!S_ISBLK(device.st_mode) || device.st_rdev != status.st_dev)
    return failure(path + ": it is another device", EOPNOTSUPP);
  // No table contains delayed allocations, and the kernel may write times as late as
  // possible (lazytime).
  if ((times || blocks_are_promised(path)) && ::syncfs(there.get()) != 0)
    return failure_from_errno(directory, errno);
  constexpr int kFlags = EXT2_FLAG_64BITS | EXT2_FLAG_IGNORE_CSUM_ERRORS | EXT2_FLAG_SOFTSUPP_FEATURES;
  const errcode_t opened = ::ext2fs_open(path.c_str(), kFlags, 0, 0, unix_io_manager, &tables.library_->fs);
  if (opened != 0) return failure(path + ": " + ::error_message(opened), EOPNOTSUPP);
  if (ext2fs_has_feature_encrypt(tables.library_->fs->super))
    return failure(path + ": names may be encrypted", EOPNOTSUPP);
  tables.workers_ = std::clamp(std::thread::hardware_concurrency() * 2, 4U, 16U);
  return tables;
}

uint64_t Ext4Tables::most_inodes() const {
  return library_->fs->super->s_inodes_count;
}

Status Ext4Tables::scan(const TakeInode& take, std::vector<DirectoryBlocks>* directories, size_t most) const {
  return InodeScan(library_->fs, device_.get(), take, directories, most).run(workers_);
}

std::optional<TableInode> Ext4Tables::inode(uint64_t number) const {
  ext2_filsys fs = library_->fs;
  if (number == 0 || number > most_inodes()) return std::nullopt;
  const uint32_t per_group = fs->super->s_inodes_per_group, bytes = EXT2_INODE_SIZE(fs->super);
  const auto group = static_cast<dgrp_t>((number - 1) / per_group);
  ext2_inode_large raw{};
  if (!os::read_at(device_.get(), &raw, std::min<size_t>(sizeof raw, bytes),
                   ::ext2fs_inode_table_loc(fs, group) * fs->blocksize + (number - 1) % per_group * bytes))
    return std::nullopt;
  return decode(raw, number, bytes > EXT2_GOOD_OLD_INODE_SIZE, fs->blocksize);
}

Status Ext4Tables::entries(const std::vector<DirectoryBlocks>& directories, const Entry& take) const {
  return EntryScan(library_->fs, device_.get(), take, directories).run(workers_);
}

}  // namespace minke::storage
