// System calls without the C library: they touch no errno, so that a process that shares its parent's memory
// (node/spawn.cpp) may make them while the parent runs. Each returns the result, or the negated errno.
#pragma once

#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace minke::node {

#if defined(__x86_64__)

// The child may run on while the parent goes on, too.
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

// clone3(2) of a child that calls function(argument) on the stack that `arguments` names.
inline long raw_clone3(const clone_args* arguments, int (*function)(void*), void* argument) {
  long result;
  register void* child_argument __asm__("r8") = argument;
  register int (*child_function)(void*) __asm__("r9") = function;
  __asm__ volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r8, %%rdi\n\t"
      "call *%%r9\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(arguments), "S"(sizeof *arguments), "r"(child_argument), "r"(child_function)
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

inline long raw_clone3(const clone_args* arguments, int (*function)(void*), void* argument) {
  register long x8 __asm__("x8") = SYS_clone3;
  register long x0 __asm__("x0") = reinterpret_cast<long>(arguments);
  register long x1 __asm__("x1") = sizeof *arguments;
  register void* child_argument __asm__("x9") = argument;
  register int (*child_function)(void*) __asm__("x10") = function;
  __asm__ volatile(
      "svc 0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x9\n\t"
      "blr x10\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(child_argument), "r"(child_function)
      : "memory");
  return x0;
}

#else

// Elsewhere the C library's: the parent must wait until its child no longer shares its memory (CLONE_VFORK).
constexpr bool kRawSyscalls = false;

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  long result = ::syscall(number, a, b, c, d, e);
  return result == -1 ? -errno : result;
}

inline long raw_clone3(const clone_args*, int (*)(void*), void*) {
  return -ENOSYS;
}

#endif

}  // namespace minke::node
