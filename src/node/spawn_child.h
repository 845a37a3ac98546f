// The child's side of a spawn (node/spawn.h): what happens between clone and execve.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace minke::node {

struct ChildStream {
  const char* path = nullptr;
  int descriptor = -1;  // where there is no path
  int flags = 0;        // of open(2)
  bool same_as_stdout = false;
};

// A directory that the child sees in another's place.
struct ChildBind {
  const char* source = nullptr;
  const char* target = nullptr;
  bool read_only = false;
};

struct ChildLimit {
  int resource = 0;
  uint64_t soft = 0;
};

enum class StartPhase : int { kGroup, kNetwork, kUsers, kDirectories, kIdentity, kStreams, kDirectory };

// What a child leaves for the launcher, in memory that both have. Nothing is written once it is executing.
struct ChildReport {
  volatile int executing = 0;  // not zero: it executes its program now
  volatile int error = 0;      // not zero: it gave up before; phase and stream mean something then
  volatile int phase = 0;
  volatile int stream = 0;
};

// Prepared by the parent, with all that is pointed to, in memory that the child has (node/launch_memory.h).
struct ChildBlock {
  ChildReport* report = nullptr;
  // Of tasks that open the same files, one waits for the one before it: until that one's pipe ends.
  int after = -1;   // its pipe's reading end
  int before = -1;  // the own pipe's writing end, for the next one
  pid_t parent = 0;
  int null = -1;
  ChildStream streams[3];
  const char* work_dir = nullptr;
  mode_t umask = 0;
  bool controlling_terminal = false;
  const ChildLimit* limits = nullptr;
  size_t limit_count = 0;
  char* pid_digits = nullptr;  // where the digits of SLURM_TASK_PID go; room for 11
  char** argv = nullptr;       // the first becomes the path that is run
  char* const* environment = nullptr;
  const char* const* programs = nullptr;  // paths to try, in order; ends with a null pointer
  const char* error_prefix = nullptr;
  bool has_identity = false;  // rights to take on before anything of the user's is touched
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  size_t group_count = 0;
  const ChildBind* binds = nullptr;  // some: in a mount namespace of its own
  size_t bind_count = 0;
  int network = -1;  // a network namespace to be in; -1: the launcher's
  int users = -1;    // the same of users, and, with that, of mounts
  int mounts = -1;
  const char* host_name = nullptr;  // null: the machine's
  size_t host_name_length = 0;
  const void* cpu_mask = nullptr;  // of sched_setaffinity(2); null: not bound
  size_t cpu_mask_bytes = 0;
  const int* group_files = nullptr;  // its own pid is to be written to them
  size_t group_file_count = 0;
};

[[noreturn]] void run_child(ChildBlock& child);

}  // namespace minke::node
