// System calls without the C library, for a child that has no heap (node/spawn.h): they need no symbol
// binding and no locks. Each returns the result, or the negated errno.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace minke::node {

#if defined(__x86_64__)

constexpr bool kRawSyscalls = true;

__attribute__((always_inline)) inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0,
                                                       long d = 0, long e = 0) {
  long result;
  register long r10 __asm__("r10") = d;
  register long r8 __asm__("r8") = e;
  __asm__ volatile("syscall"
                   : "=a"(result)
                   : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
                   : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)

constexpr bool kRawSyscalls = true;

__attribute__((always_inline)) inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0,
                                                       long d = 0, long e = 0) {
  register long x8 __asm__("x8") = number;
  register long x0 __asm__("x0") = a;
  register long x1 __asm__("x1") = b;
  register long x2 __asm__("x2") = c;
  register long x3 __asm__("x3") = d;
  register long x4 __asm__("x4") = e;
  __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

#else

// On other machines it uses the C library.
constexpr bool kRawSyscalls = false;

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result = ::syscall(number, a, b, c, d, e);
  return result == -1 ? -errno : result;
}

#endif

}  // namespace minke::node
