#include "node/spawn_child.h"

#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/uio.h>

#include "node/raw_syscall.h"

// This code runs in a child without a heap. It must not allocate, take locks, call functions that need
// dynamic binding, or be instrumented.
#define MINKE_NO_HEAP __attribute__((no_sanitize("address", "undefined", "thread")))

namespace minke::node {
namespace {

MINKE_NO_HEAP inline long address(const volatile void* pointer) {
  return reinterpret_cast<long>(const_cast<const void*>(pointer));
}

// `volatile` keeps the compiler from using the library's strlen(): its first call binds it, with locks.
MINKE_NO_HEAP size_t length_of(const volatile char* text) {
  size_t length = 0;
  while (text[length] != '\0') ++length;
  return length;
}

template <size_t kCount>
MINKE_NO_HEAP void say(const char* const (&parts)[kCount]) {
  iovec pieces[kCount];
  for (size_t i = 0; i < kCount; ++i) {
    pieces[i].iov_base = const_cast<char*>(parts[i]);
    pieces[i].iov_len = length_of(parts[i]);
  }
  raw_syscall(SYS_writev, 2, address(pieces), kCount);
}

[[noreturn]] MINKE_NO_HEAP void leave(int status) {
  for (;;) raw_syscall(SYS_exit_group, status);
}

[[noreturn]] MINKE_NO_HEAP void give_up(ChildBlock& child, StartPhase phase, int error, int stream = 0) {
  child.report->phase = static_cast<int>(phase);
  child.report->stream = stream;
  child.report->error = error;
  leave(1);
}

MINKE_NO_HEAP void reset_signals() {
  // The kernel's own struct sigaction, all zero: the default.
  const long default_action[8] = {};
  for (int number = 1; number <= 64; ++number) {
    raw_syscall(SYS_rt_sigaction, number, address(default_action), 0, 8);
  }
}

// Nobody writes to that pipe: it closes when the other task has opened its files or is gone.
MINKE_NO_HEAP void wait_for_end_of(int pipe) {
  if (pipe < 0) return;
  char nothing;
  while (raw_syscall(SYS_read, pipe, address(&nothing), 1) == -EINTR) {
  }
}

MINKE_NO_HEAP void die_with_launcher(const ChildBlock& child) {
  raw_syscall(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
  if (raw_syscall(SYS_getppid) != child.parent) leave(1);
}

MINKE_NO_HEAP void enter_group(ChildBlock& child) {
  for (size_t i = 0; i < child.group_file_count; ++i) {
    const long result = raw_syscall(SYS_write, child.group_files[i], address("0"), 1);
    if (result < 0) give_up(child, StartPhase::kGroup, static_cast<int>(-result));
  }
}

MINKE_NO_HEAP void take_network(ChildBlock& child) {
  if (child.network < 0) return;
  const long result = raw_syscall(SYS_setns, child.network, CLONE_NEWNET);
  if (result < 0) give_up(child, StartPhase::kNetwork, static_cast<int>(-result));
}

// Afterwards the child has the launcher's rights only within the namespace.
MINKE_NO_HEAP void take_users(ChildBlock& child) {
  if (child.users < 0) return;
  long result = raw_syscall(SYS_setns, child.users, CLONE_NEWUSER);
  if (result == 0 && child.mounts >= 0) result = raw_syscall(SYS_setns, child.mounts, CLONE_NEWNS);
  if (result < 0) give_up(child, StartPhase::kUsers, static_cast<int>(-result));
}

// Optional: the job runs without it.
MINKE_NO_HEAP void take_host_name(const ChildBlock& child) {
  if (child.host_name == nullptr || raw_syscall(SYS_unshare, CLONE_NEWUTS) != 0) return;
  raw_syscall(SYS_sethostname, address(child.host_name), static_cast<long>(child.host_name_length));
}

// Later mounts elsewhere appear here too; mounts made here stay here.
MINKE_NO_HEAP void take_private_directories(ChildBlock& child) {
  if (child.bind_count == 0) return;
  long result = raw_syscall(SYS_unshare, CLONE_NEWNS);
  if (result == 0) result = raw_syscall(SYS_mount, 0, address("/"), 0, MS_REC | MS_SLAVE, 0);
  for (size_t i = 0; result == 0 && i < child.bind_count; ++i) {
    const ChildBind& bind = child.binds[i];
    result = raw_syscall(SYS_mount, address(bind.source), address(bind.target), 0, MS_BIND, 0);
    if (result != 0) break;
    constexpr long kSafe = MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV;
    const long flags = bind.read_only ? kSafe | MS_RDONLY : kSafe;
    result = raw_syscall(SYS_mount, 0, address(bind.target), 0, flags, 0);
  }
  if (result < 0) give_up(child, StartPhase::kDirectories, static_cast<int>(-result));
}

// The only place where the launcher's rights are dropped, for good. Nothing that a user named is opened,
// entered or executed before. Afterwards only root can look into the launcher's memory that the child still
// has, because a process that changed its user is not dumpable (see node/launcher.cpp).
MINKE_NO_HEAP void take_identity(ChildBlock& child) {
  if (!child.has_identity) return;
  long result = raw_syscall(SYS_setgroups, static_cast<long>(child.group_count), address(child.groups));
  if (result == 0) result = raw_syscall(SYS_setresgid, child.gid, child.gid, child.gid);
  if (result == 0) result = raw_syscall(SYS_setresuid, child.uid, child.uid, child.uid);
  if (result < 0) give_up(child, StartPhase::kIdentity, static_cast<int>(-result));
  raw_syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING,
              0);  // keys of the user who started the launcher are not for the job
}

// Puts the given descriptors in place and closes all others of
// the launcher's before any path is opened. So "/proc/self/fd/7"
// is never one of the launcher's.
constexpr int kBefore = 3;  // where `before` is until the files are open

MINKE_NO_HEAP void keep_only_given_streams(ChildBlock& child) {
  for (int target = 0; target < 3; ++target) {
    const ChildStream& stream = child.streams[target];
    const bool given = stream.path == nullptr && !stream.same_as_stdout && stream.descriptor >= 0;
    // The launcher keeps its own 0, 1 and 2 open, so no source is among the
    // descriptors that are overwritten here.
    const long result = raw_syscall(SYS_dup3, given ? stream.descriptor : child.null, target, 0);
    if (result < 0) give_up(child, StartPhase::kStreams, static_cast<int>(-result), target);
  }
  if (child.before < 0) {
    raw_syscall(SYS_close_range, 3, ~0U, 0);
    return;
  }
  if (child.before != kBefore) raw_syscall(SYS_dup3, child.before, kBefore, O_CLOEXEC);
  raw_syscall(SYS_close_range, kBefore + 1, ~0U, 0);
}

MINKE_NO_HEAP void open_streams(ChildBlock& child) {
  for (int target = 0; target < 3; ++target) {
    const ChildStream& stream = child.streams[target];
    long source = target;
    if (stream.same_as_stdout) {
      source = 1;
    } else if (stream.path != nullptr) {
      do {
        source = raw_syscall(SYS_openat, AT_FDCWD, address(stream.path), stream.flags, 0666);
      } while (source == -EINTR);
      if (source < 0) give_up(child, StartPhase::kStreams, static_cast<int>(-source), target);
    }
    if (source == target) continue;
    const long result = raw_syscall(SYS_dup3, source, target, 0);
    if (result < 0) give_up(child, StartPhase::kStreams, static_cast<int>(-result), target);
    if (stream.path != nullptr) raw_syscall(SYS_close, source);
  }
  if (child.before >= 0) raw_syscall(SYS_close, kBefore);
}

MINKE_NO_HEAP void set_limits(const ChildBlock& child) {
  for (size_t i = 0; i < child.limit_count; ++i) {
    uint64_t current[2] = {0, 0};  // soft, hard
    if (raw_syscall(SYS_prlimit64, 0, child.limits[i].resource, 0, address(current)) < 0) continue;
    current[0] = child.limits[i].soft < current[1] ? child.limits[i].soft : current[1];
    raw_syscall(SYS_prlimit64, 0, child.limits[i].resource, address(current), 0);
  }
}

MINKE_NO_HEAP void enter_directory(ChildBlock& child) {
  long result = raw_syscall(SYS_chdir, address(child.work_dir));
  if (result == 0) return;
  const char* reason = strerrordesc_np(static_cast<int>(-result));
  say({child.error_prefix, "couldn't chdir to `", child.work_dir, "': ", reason,
       ": going to /tmp instead\n"});
  result = raw_syscall(SYS_chdir, address("/tmp"));
  if (result < 0) give_up(child, StartPhase::kDirectory, static_cast<int>(-result));
}

MINKE_NO_HEAP void write_pid(char* digits) {
  long pid = raw_syscall(SYS_getpid);
  char reversed[12];
  int count = 0;
  do reversed[count++] = static_cast<char>('0' + pid % 10);
  while ((pid /= 10) != 0);
  while (count > 0) *digits++ = reversed[--count];
  *digits = '\0';
}

// A script with a missing interpreter fails with ENOENT although the script exists. The message
// names the interpreter, as in Slurm.
MINKE_NO_HEAP bool say_bad_interpreter(const ChildBlock& child, const char* program, const char* reason) {
  long file = raw_syscall(SYS_openat, AT_FDCWD, address(program), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return false;
  char line[256];
  line[0] = line[1] = '\0';
  long count = raw_syscall(SYS_read, file, address(line), sizeof line - 1);
  if (count < 3 || line[0] != '#' || line[1] != '!') return false;
  long end = 2;
  while (end < count && line[end] != '\n') ++end;
  line[end] = '\0';
  say({child.error_prefix, "execve(): bad interpreter(", line + 2, "): ", reason, "\n"});
  return true;
}

// What to do about a program that could not be executed.
MINKE_NO_HEAP const char* hint_at_program(long error, const char* name) {
  if (error == EACCES) return " (to make a program of the file: chmod +x)";
  const char* at = name;
  while (*at != '\0' && *at != '/') ++at;
  return error == ENOENT && *at == '\0' ? " (it is in no directory of PATH)" : "";
}

[[noreturn]] MINKE_NO_HEAP void execute(ChildBlock& child) {
  long error = ENOENT;
  const char* const name = child.argv[0];
  const char* tried = child.programs[0];
  for (const char* const* program = child.programs; *program != nullptr; ++program) {
    // If the name has no directory, the program gets the path where it was found, as in Slurm.
    if (child.programs[1] != nullptr || *name == '.') child.argv[0] = const_cast<char*>(*program);
    long result =
        -raw_syscall(SYS_execve, address(*program), address(child.argv), address(child.environment));
    bool not_there = result == ENOENT || result == ENOTDIR;
    // Like execvp: a file that may not be executed is skipped, but its error is kept.
    if (!not_there || error == ENOENT) {
      error = result;
      tried = *program;
    }
    if (!not_there && result != EACCES) break;
  }
  const char* reason = strerrordesc_np(static_cast<int>(error));
  if (error != ENOENT || !say_bad_interpreter(child, tried, reason)) {
    say({child.error_prefix, "execve(): ", name, ": ", reason, hint_at_program(error, name), "\n"});
  }
  leave(static_cast<int>(error));
}

}  // namespace

MINKE_NO_HEAP void run_child(ChildBlock& child) {
  die_with_launcher(child);
  enter_group(child);
  if (child.cpu_mask != nullptr)  // optional
    raw_syscall(SYS_sched_setaffinity, 0, static_cast<long>(child.cpu_mask_bytes), address(child.cpu_mask));
  raw_syscall(SYS_setsid);
  reset_signals();
  wait_for_end_of(child.after);
  take_network(child);
  if (!child.has_identity)
    take_users(child);  // without root's rights, only this gives the right to do the rest
  take_host_name(child);
  take_private_directories(child);
  if (child.has_identity) take_users(child);
  keep_only_given_streams(child);
  take_identity(child);
  die_with_launcher(child);  // a change of user has cleared it
  raw_syscall(SYS_umask, child.umask);
  open_streams(child);
  enter_directory(child);
  if (child.controlling_terminal) raw_syscall(SYS_ioctl, 0, TIOCSCTTY, 0);
  set_limits(child);
  write_pid(child.pid_digits);
  child.report->executing = 1;
  const uint64_t nothing_blocked = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, address(&nothing_blocked), 0, 8);
  execute(child);
}

}  // namespace minke::node
