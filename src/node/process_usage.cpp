#include "node/process_usage.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "os/fd.h"

namespace minke::node {
namespace {

// Reads the start of a file in /proc, NUL-terminated. False if it cannot be read.
template <size_t kSize>
bool read_start(pid_t pid, const char* name, char (&buffer)[kSize]) {
  const os::UniqueFd file(
      ::open(("/proc/" + std::to_string(pid) + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  const ssize_t count = ::read(file.get(), buffer, kSize - 1);
  if (count <= 0) return false;
  buffer[count] = '\0';
  return true;
}

}  // namespace

ProcessUsage& ProcessUsage::operator+=(const ProcessUsage& other) {
  rss_kib += other.rss_kib;
  virtual_kib += other.virtual_kib;
  user_microseconds += other.user_microseconds;
  system_microseconds += other.system_microseconds;
  major_faults += other.major_faults;
  read_bytes += other.read_bytes;
  write_bytes += other.write_bytes;
  return *this;
}

ProcessUsage read_process_usage(pid_t pid) {
  ProcessUsage usage;
  char text[2048];
  if (!read_start(pid, "stat", text)) return usage;
  const char* at = std::strrchr(text, ')');
  if (at == nullptr || at[1] != ' ') return usage;
  at += 3;                   // after field 3, the state
  uint64_t fields[25] = {};  // by their numbers in proc(5)
  for (int number = 4; number <= 24; ++number) {
    char* end;
    fields[number] = static_cast<uint64_t>(std::strtoll(at, &end, 10));
    if (end == at) return usage;
    at = end;
  }
  static const auto ticks_per_second = static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  static const auto page_kib = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) / 1024;
  usage.major_faults = fields[12] + fields[13];
  usage.user_microseconds = (fields[14] + fields[16]) * 1'000'000 / ticks_per_second;
  usage.system_microseconds = (fields[15] + fields[17]) * 1'000'000 / ticks_per_second;
  usage.virtual_kib = fields[23] / 1024;
  usage.rss_kib = fields[24] * page_kib;
  if (read_start(pid, "io", text)) {
    std::sscanf(text, "rchar: %" SCNu64 " wchar: %" SCNu64, &usage.read_bytes, &usage.write_bytes);
  }
  return usage;
}

}  // namespace minke::node
