// A program that is linked on Debian 12 asks for glibc 2.36. With this file it asks for 2.28, which the clusters'
// login nodes have, and runs on all newer ones as well. Only for packages: option MINKE_OLDER_GLIBC of CMake.
//
// Each function here has the name of one that glibc gave a newer version. The linker prefers it to glibc's, for
// all of the program; it is hidden, so that no library sees it. It calls the version that glibc has had from the
// first, which newer ones keep, or does the work with what 2.28 has. A function that is missing here is found by
// tests/test_packages.py, and by packaging/package.py, which refuses a program that asks for more.
//
// Before 2.34 these were in libraries of their own, which the program therefore names: libpthread, libdl, libutil.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <pty.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define OF_THREADS_3 "GLIBC_2.3.3"
#define OF_AFFINITY "GLIBC_2.3.4"
#define OF_STAT_AT "GLIBC_2.4"
#define OF_NAMES "GLIBC_2.12"
enum { kStatVersion = 1 };
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define OF_THREADS_3 FIRST
#define OF_AFFINITY FIRST
#define OF_STAT_AT FIRST
#define OF_NAMES FIRST
enum { kStatVersion = 0 };
#else
#error "no table of glibc's first versions for this machine"
#endif

#define HIDDEN __attribute__((visibility("hidden")))
#define STRING(name) #name

// `name`, defined here, is glibc's `name` of `version`.
#define FORWARD(version, result, name, parameters, arguments)                  \
  extern result older_##name parameters;                                       \
  __asm__(".symver older_" STRING(name) "," STRING(name) "@" version);         \
  HIDDEN result name parameters { return older_##name arguments; }

FORWARD(FIRST, double, exp, (double x), (x))
FORWARD(FIRST, double, exp2, (double x), (x))
FORWARD(FIRST, double, log, (double x), (x))
FORWARD(FIRST, double, pow, (double x, double y), (x, y))

FORWARD(FIRST, void *, dlopen, (const char *file, int mode), (file, mode))
FORWARD(FIRST, void *, dlsym, (void *handle, const char *name), (handle, name))
FORWARD(FIRST, int, dlclose, (void *handle), (handle))
FORWARD(FIRST, char *, dlerror, (void), ())

FORWARD(FIRST, int, openpty,
        (int *controller, int *terminal, char *name, const struct termios *settings, const struct winsize *size),
        (controller, terminal, name, settings, size))
FORWARD(FIRST, pid_t, forkpty,
        (int *controller, char *name, const struct termios *settings, const struct winsize *size),
        (controller, name, settings, size))

FORWARD(FIRST, int, pthread_create,
        (pthread_t * thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument),
        (thread, attributes, start, argument))
FORWARD(FIRST, int, pthread_join, (pthread_t thread, void **result), (thread, result))
FORWARD(FIRST, int, pthread_detach, (pthread_t thread), (thread))
FORWARD(FIRST, int, pthread_once, (pthread_once_t * once, void (*function)(void)), (once, function))
FORWARD(FIRST, int, pthread_sigmask, (int how, const sigset_t *set, sigset_t *before), (how, set, before))
FORWARD(FIRST, int, pthread_mutex_trylock, (pthread_mutex_t * mutex), (mutex))
FORWARD(FIRST, int, pthread_mutexattr_init, (pthread_mutexattr_t * attributes), (attributes))
FORWARD(FIRST, int, pthread_mutexattr_destroy, (pthread_mutexattr_t * attributes), (attributes))
FORWARD(FIRST, int, pthread_mutexattr_settype, (pthread_mutexattr_t * attributes, int type), (attributes, type))
FORWARD(FIRST, int, pthread_rwlock_rdlock, (pthread_rwlock_t * lock), (lock))
FORWARD(FIRST, int, pthread_rwlock_wrlock, (pthread_rwlock_t * lock), (lock))
FORWARD(FIRST, int, pthread_rwlock_unlock, (pthread_rwlock_t * lock), (lock))
FORWARD(FIRST, int, pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
FORWARD(FIRST, int, __pthread_key_create, (pthread_key_t * key, void (*destroy)(void *)), (key, destroy))
FORWARD(FIRST, int, pthread_key_delete, (pthread_key_t key), (key))
FORWARD(FIRST, void *, pthread_getspecific, (pthread_key_t key), (key))
FORWARD(FIRST, int, pthread_setspecific, (pthread_key_t key, const void *value), (key, value))
FORWARD(OF_THREADS_3, int, pthread_condattr_setclock, (pthread_condattr_t * attributes, clockid_t clock),
        (attributes, clock))
FORWARD(OF_AFFINITY, int, pthread_getaffinity_np, (pthread_t thread, size_t size, cpu_set_t *set),
        (thread, size, set))
FORWARD(OF_AFFINITY, int, pthread_setaffinity_np, (pthread_t thread, size_t size, const cpu_set_t *set),
        (thread, size, set))
FORWARD(OF_NAMES, int, pthread_setname_np, (pthread_t thread, const char *name), (thread, name))

// What file information is asked for by, before 2.33.
extern int older_xstat(int version, const char *path, struct stat *info);
extern int older_lxstat(int version, const char *path, struct stat *info);
extern int older_fxstat(int version, int fd, struct stat *info);
extern int older_fxstatat(int version, int fd, const char *path, struct stat *info, int flags);
extern int older_xmknodat(int version, int fd, const char *path, mode_t mode, dev_t *device);
__asm__(".symver older_xstat,__xstat@" FIRST);
__asm__(".symver older_lxstat,__lxstat@" FIRST);
__asm__(".symver older_fxstat,__fxstat@" FIRST);
__asm__(".symver older_fxstatat,__fxstatat@" OF_STAT_AT);
__asm__(".symver older_xmknodat,__xmknodat@" OF_STAT_AT);

HIDDEN int stat(const char *path, struct stat *info) { return older_xstat(kStatVersion, path, info); }
HIDDEN int lstat(const char *path, struct stat *info) { return older_lxstat(kStatVersion, path, info); }
HIDDEN int fstat(int fd, struct stat *info) { return older_fxstat(kStatVersion, fd, info); }
HIDDEN int fstatat(int fd, const char *path, struct stat *info, int flags) {
  return older_fxstatat(kStatVersion, fd, path, info, flags);
}
// On these machines both records are one.
_Static_assert(sizeof(struct stat) == sizeof(struct stat64), "struct stat64 is another");
HIDDEN int stat64(const char *path, struct stat64 *info) { return stat(path, (struct stat *)info); }
HIDDEN int lstat64(const char *path, struct stat64 *info) { return lstat(path, (struct stat *)info); }
HIDDEN int fstat64(int fd, struct stat64 *info) { return fstat(fd, (struct stat *)info); }
HIDDEN int fstatat64(int fd, const char *path, struct stat64 *info, int flags) {
  return fstatat(fd, path, (struct stat *)info, flags);
}
HIDDEN int mknodat(int fd, const char *path, mode_t mode, dev_t device) {
  return older_xmknodat(0, fd, path, mode, &device);
}

// Not constant: there may be threads.
HIDDEN char __libc_single_threaded = 0;

HIDDEN const char *strerrordesc_np(int error) { return strerror(error); }

HIDDEN int close_range(unsigned first, unsigned last, int flags) {
#ifdef SYS_close_range
  return (int)syscall(SYS_close_range, first, last, flags);
#else
  errno = ENOSYS;
  return -1;
#endif
}

HIDDEN uint32_t arc4random(void) {
  uint32_t value;
  ssize_t got;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof value) abort();
  return value;
}

// ---- what 2.28 lacks, and a newer glibc does better ----------------------------------------------------

static int (*newer_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*newer_find_object)(void *, struct dl_find_object *);

__attribute__((constructor(101))) static void find_newer(void) {
  *(void **)&newer_clockwait = older_dlsym(RTLD_NEXT, "pthread_cond_clockwait");
  *(void **)&newer_find_object = older_dlsym(RTLD_NEXT, "_dl_find_object");
}

static struct timespec sum(struct timespec a, struct timespec b, int sign) {
  const int64_t nanoseconds = (int64_t)a.tv_nsec + sign * b.tv_nsec;
  const int64_t carried = nanoseconds < 0 ? -1 : nanoseconds / 1000000000;
  return (struct timespec){a.tv_sec + sign * b.tv_sec + carried, nanoseconds - carried * 1000000000};
}

// A wait that ends early, where the wall clock was set, is one without a reason; callers take such for granted.
HIDDEN int pthread_cond_clockwait(pthread_cond_t *condition, pthread_mutex_t *mutex, clockid_t clock,
                                  const struct timespec *until) {
  if (newer_clockwait != NULL) return newer_clockwait(condition, mutex, clock, until);
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  struct timespec now, wall;
  clock_gettime(clock, &now);
  clock_gettime(CLOCK_REALTIME, &wall);
  const struct timespec at = sum(wall, sum(*until, now, -1), 1);
  return pthread_cond_timedwait(condition, mutex, &at);
}

struct Search {
  uintptr_t address;
  struct dl_find_object *result;
};

static int look_at(struct dl_phdr_info *object, size_t size, void *argument) {
  (void)size;
  struct Search *search = argument;
  const ElfW(Phdr) *frames = NULL;
  int holds = 0;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr) *part = &object->dlpi_phdr[i];
    const uintptr_t start = object->dlpi_addr + part->p_vaddr;
    if (part->p_type == PT_GNU_EH_FRAME) frames = part;
    if (part->p_type != PT_LOAD || search->address < start || search->address >= start + part->p_memsz) continue;
    holds = 1;
    search->result->dlfo_map_start = (void *)start;
    search->result->dlfo_map_end = (void *)(start + part->p_memsz);
  }
  if (!holds || frames == NULL) return 0;
  search->result->dlfo_eh_frame = (void *)(object->dlpi_addr + frames->p_vaddr);
  return 1;
}

// Where the unwinder finds an object's frames.
HIDDEN int _dl_find_object(void *address, struct dl_find_object *result) {
  if (newer_find_object != NULL) return newer_find_object(address, result);
  memset(result, 0, sizeof *result);
  struct Search search = {(uintptr_t)address, result};
  return dl_iterate_phdr(look_at, &search) == 1 ? 0 : -1;
}

// ---- the program's start -------------------------------------------------------------------------------
// Before 2.34 the program passes the function that runs its initialisers; a newer glibc calls it, too, if there
// is one, and runs none by itself then.

typedef void Initialiser(int count, char **arguments, char **environment);
extern Initialiser *__init_array_start[] HIDDEN, *__init_array_end[] HIDDEN;
extern void _init(void) HIDDEN;

static void initialise(int count, char **arguments, char **environment) {
  _init();
  for (Initialiser **one = __init_array_start; one != __init_array_end; ++one) (*one)(count, arguments, environment);
}

typedef int Main(int count, char **arguments, char **environment);
extern int older_start(Main *main, int count, char **arguments, Initialiser *init, void (*fini)(void),
                       void (*linker_fini)(void), void *stack_end);
__asm__(".symver older_start,__libc_start_main@" FIRST);

HIDDEN int __libc_start_main(Main *main, int count, char **arguments, Initialiser *init, void (*fini)(void),
                             void (*linker_fini)(void), void *stack_end) {
  (void)init;
  return older_start(main, count, arguments, initialise, fini, linker_fini, stack_end);
}
