// Disk: the simulated machine's disk. It loses what was not synced when the
// power goes, fills up, and fails.
//
// The files are real ones below `root`. This program's own write(), fsync(), rename() and so on (disk.cpp)
// replace those of the C library. Beside the real files they record what a disk would hold for certain. So
// the engine, the launcher's journal and SQLite are tested against what disks promise, without any code of
// their own for that. Other files are not affected.
//
// The promises: after a sync, a file's bytes are there; before it, all, some or none of the bytes written
// since. Names (made, renamed, removed) become durable in their order, as in journaling file systems, and
// at the latest with any sync. After a power cut, the first few of the unsynced ones are there. Writes
// through mapped memory are lost.
//
// One disk at a time. Any thread may use its files; the functions here belong to the simulation's thread.
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

  void set_full(bool full);                          // ENOSPC for calls that need more room
  void set_failing(uint32_t one_in, uint64_t seed);  // EIO for one of `one_in` writes and syncs; 0: none
  void set_no_descriptors(bool none);                // EMFILE for every open
  // Nothing changes any more and nothing can be opened. Used while a killed program destroys its objects.
  void set_dead(bool dead);
  // Cuts the power: leaves what a machine would find after a reboot. No file may be open.
  void cut_power(std::mt19937_64& random);
  uint64_t syncs() const;

  // Only for the functions in disk.cpp. Each behaves like the system call.
  static Disk* current();
  bool is_here(const std::string& path) const;
  int open(const std::string& path, int flags, mode_t mode);
  void closed(int fd);
  bool has(int fd) const;
  ssize_t write(int fd, const void* bytes, size_t size, int64_t offset);  // offset -1: the current position
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
