// The child's side of a spawn (node/spawn.h): what happens between clone and execve. No heap.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

namespace minke::node {

struct ChildStream {
  const char* path = nullptr;
  int descriptor = -1;  // if there is no path
  int flags = 0;        // of open(2)
  bool same_as_stdout = false;
};

// A directory that the child sees at the path `target`.
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

// What a child reports to the launcher in shared memory. After `executing` is set, nothing is written.
struct ChildReport {
  volatile int executing = 0;  // not zero: the child executes its program now
  volatile int error = 0;      // not zero: the child gave up before; phase and stream tell where
  volatile int phase = 0;
  volatile int stream = 0;
};

// The parent prepares it, and everything it points to, in memory that the child has (node/launch_memory.h).
struct ChildBlock {
  ChildReport* report = nullptr;
  // If tasks open the same files, each waits until the pipe of the task before it closes.
  int after = -1;   // reading end of the previous task's pipe
  int before = -1;  // writing end of its own pipe, for the next task
  pid_t parent = 0;
  int null = -1;
  ChildStream streams[3];
  const char* work_dir = nullptr;
  mode_t umask = 0;
  bool controlling_terminal = false;
  const ChildLimit* limits = nullptr;
  size_t limit_count = 0;
  char* pid_digits = nullptr;  // where the digits of SLURM_TASK_PID go; room for 11
  char** argv = nullptr;       // the first one is replaced by the path that is run
  char* const* environment = nullptr;
  const char* const* programs = nullptr;  // paths to try, in order; ends with a null pointer
  const char* error_prefix = nullptr;
  bool has_identity = false;  // take on these rights before touching anything of the user's
  uid_t uid = 0;
  gid_t gid = 0;
  const gid_t* groups = nullptr;
  size_t group_count = 0;
  const ChildBind* binds = nullptr;  // if there are any, it gets its own mount namespace
  size_t bind_count = 0;
  int network = -1;  // a network namespace to enter; -1: the launcher's
  int users = -1;    // a user namespace, likewise; `mounts`: the mount namespace with it
  int mounts = -1;
  const char* host_name = nullptr;  // null: the machine's
  size_t host_name_length = 0;
  const void* cpu_mask = nullptr;  // of sched_setaffinity(2); null: not bound
  size_t cpu_mask_bytes = 0;
  const int* group_files = nullptr;  // it writes its own pid to these files
  size_t group_file_count = 0;
};

[[noreturn]] void run_child(ChildBlock& child);

}  // namespace minke::node
