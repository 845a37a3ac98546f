// What the sanitizers do in a build that has them: a report ends the process and stands in a file of the directory
// below, for nobody reads the standard error of daemons and helper programs. `./dev test --sanitized` makes the
// directory and reads it.
//
// Leaks are not looked for: a command ends with what it holds.
#define MINKE_REPORTS "log_path=/tmp/minke-sanitizers/report"

extern "C" {
const char* __asan_default_options() { return MINKE_REPORTS ":detect_leaks=0"; }
const char* __tsan_default_options() { return MINKE_REPORTS ":second_deadlock_stack=1"; }
const char* __ubsan_default_options() { return MINKE_REPORTS ":print_stacktrace=1"; }
}
