// The disk of the simulated machine: it forgets what was not synced when the power goes, fills up, and fails.
//
// The files are real ones below `root`; what they are written with are this program's own write(), fsync(),
// rename() and so on, which stand in front of the C library's (disk.cpp) and keep, beside the real files,
// what a disk would hold for certain. So whatever the engine, the launcher's journal and SQLite do with files
// is held to what disks promise, without a word of it in them. Files elsewhere are none of this disk's
// business.
//
// What is promised: a file's bytes are there once it was synced; before that all, some or none of what was
// written since. Names (made, renamed, removed) become durable in their order, as journaling file systems do
// it, and with any sync at the latest; of those since the last sync the first few are there. What is written
// by mapped memory is lost.
//
// One disk at a time. Any thread may use its files; the functions here are the simulation's thread's.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

namespace minke::engine::simulation {

class Disk {
 public:
  explicit Disk(std::string root);  // an empty directory
  ~Disk();
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;

  void set_full(bool full);                          // ENOSPC for whatever needs more room
  void set_failing(uint32_t one_in, uint64_t seed);  // EIO for one in so many writes and syncs; 0: none
  void set_no_descriptors(bool none);                // EMFILE for whatever is opened
  // Nothing changes any more, and nothing can be opened: a program that was killed takes itself apart here.
  void set_dead(bool dead);
  // The power goes: what a machine finds that comes back. Nobody may have files open.
  void cut_power(std::mt19937_64& random);
  uint64_t syncs() const;

  // For disk.cpp's functions alone. Each does what the system call does.
  static Disk* current();
  bool is_here(const std::string& path) const;
  int open(const std::string& path, int flags, mode_t mode);
  void closed(int fd);
  bool has(int fd) const;
  ssize_t write(int fd, const void* bytes, size_t size, int64_t offset);  // -1: where the descriptor stands
  int truncate(int fd, int64_t size);
  int sync(int fd);
  int rename(const std::string& from, const std::string& to);
  int remove(const std::string& path, bool directory);
  int make_directory(const std::string& path, mode_t mode);

 private:
  struct Change {  // bytes at `offset`, or a new size
    bool truncates = false;
    size_t offset = 0;
    std::string bytes;
  };
  struct File {
    bool is_directory = false;
    mode_t mode = 0600;
    std::string durable;
    std::vector<Change> unsynced;
  };
  using Names = std::map<std::string, std::shared_ptr<File>>;  // below the root, parents before children
  struct Naming {
    enum Kind { kMade, kRenamed, kRemoved } kind;
    std::string name, new_name;
    std::shared_ptr<File> file;
  };

  static void apply(const Change& change, std::string& bytes);
  static void apply(const Naming& naming, Names& names);
  void name(Naming naming);
  bool fails();
  std::shared_ptr<File> known(const std::string& path);
  void survive(File& file, std::mt19937_64& random) const;
  void lay_out(const Names& names) const;

  const std::string root_;  // ends with a slash
  mutable std::mutex mutex_;
  Names names_, durable_names_;
  std::vector<Naming> unsynced_names_;
  std::map<int, std::shared_ptr<File>> open_;
  bool full_ = false;
  bool no_descriptors_ = false;
  bool dead_ = false;
  uint32_t fails_one_in_ = 0;
  std::mt19937_64 failures_;
  uint64_t syncs_ = 0;
};

}  // namespace minke::engine::simulation
