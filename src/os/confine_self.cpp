#include "os/confine_self.h"

#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "os/become.h"

namespace minke::os {

namespace {

constexpr uid_t kNobody = 65534;
constexpr char kHelperName[] = "minke-helper";

#if defined(__x86_64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "the filter of system calls knows x86-64 and ARM64"
#endif

// Other processes, namespaces and mounts, keys, the kernel's own programs and modules, the clock. Calls that
// the kernel refuses to a process without capabilities are listed as well: a bug in the kernel is harder to
// reach through a call that never gets there.
constexpr int kRefused[] = {
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_open_tree,
    SYS_move_mount,
    SYS_fsopen,
    SYS_fsconfig,
    SYS_fsmount,
    SYS_fspick,
    SYS_mount_setattr,
    SYS_setns,
    SYS_unshare,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_quotactl,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_open_by_handle_at,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_syslog,
    SYS_vhangup,
    SYS_personality,
};

constexpr uint32_t kNewNamespaces =
    CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;

sock_filter refuse(int error) {
  return BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<uint32_t>(error));
}

std::vector<sock_filter> filter() {
  std::vector<sock_filter> program = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0),
      refuse(ENOSYS),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
  };
#if defined(__x86_64__)
  constexpr uint32_t kOfX32 = 0x40000000;
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, kOfX32, 0, 1));
  program.push_back(refuse(ENOSYS));
#endif
  for (const int number : kRefused) {
    program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 0, 1));
    program.push_back(refuse(EPERM));
  }
  // Its flags are in memory, where a filter cannot look: with ENOSYS the library calls clone() instead.
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1));
  program.push_back(refuse(ENOSYS));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3));
  program.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args)));
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, kNewNamespaces, 0, 1));
  program.push_back(refuse(EPERM));
  program.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  return program;
}

bool filter_system_calls() {
  std::vector<sock_filter> program = filter();
  const sock_fprog whole{static_cast<unsigned short>(program.size()), program.data()};
  if (::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &whole) == 0) return true;
  return errno == EINVAL || errno == ENOSYS;  // a kernel without filters: the rest still applies
}

// Call it before the user changes: only root may take capabilities away from later programs. If a unit has
// left root no CAP_SETPCAP, it may not: giving up new privileges, below, has the same effect.
bool forget_capabilities() {
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability) >= 0; ++capability) {
    if (::prctl(PR_CAPBSET_DROP, capability) != 0) return errno == EPERM;
  }
  return true;
}

bool has_no_capabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  return ::syscall(SYS_capset, &header, data) == 0;
}

}  // namespace

HelperAccount helper_account() {
  const passwd* entry = ::getpwnam(kHelperName);
  if (entry == nullptr || entry->pw_uid == 0 || entry->pw_gid == 0) return {kNobody, kNobody};
  return {entry->pw_uid, entry->pw_gid};
}

bool confine_self(const HelperAccount& account) {
  if (::geteuid() == 0 &&
      (account.uid == 0 || !forget_capabilities() || !become(account.uid, account.gid, {})))
    return false;
  const rlimit none{0, 0};
  return has_no_capabilities() && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_DUMPABLE, 0) == 0 && ::setrlimit(RLIMIT_CORE, &none) == 0 && filter_system_calls();
}

}  // namespace minke::os
