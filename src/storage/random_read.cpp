#include "storage/random_read.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "os/fd.h"
#include "storage/tar_archive.h"

namespace minke::storage {

namespace {

constexpr uint64_t kBlock = 4096;  // reads past the page cache are aligned to it

struct Freed {
  void operator()(char* memory) const { std::free(memory); }
};
// The aligned read buffer of one thread.
class Buffer {
 public:
  char* of(size_t size) {
    if (size > size_) {
      size_ = (size + kBlock - 1) / kBlock * kBlock;
      memory_.reset(static_cast<char*>(std::aligned_alloc(kBlock, size_)));
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<char, Freed> memory_;
  size_t size_ = 0;
};

// Reads whole blocks; returns the place of [at, at + size) in the buffer, or null if it cannot be read.
const char* read_blocks(int file, uint64_t at, uint64_t size, Buffer& buffer) {
  const uint64_t begin = at / kBlock * kBlock;
  const uint64_t wanted = (at + size + kBlock - 1) / kBlock * kBlock - begin;
  char* to = buffer.of(wanted);
  const ssize_t got = ::pread(file, to, wanted, static_cast<off_t>(begin));
  if (got < 0 || static_cast<uint64_t>(got) < at + size - begin) return nullptr;
  return to + (at - begin);
}

double timed(unsigned threads, uint64_t count, const std::function<bool(uint64_t, Buffer&)>& read,
             bool& failed) {
  std::atomic<uint64_t> next{0};
  std::atomic<bool> wrong{false};
  const auto work = [&] {
    Buffer buffer;
    for (uint64_t at; (at = next.fetch_add(1)) < count && !wrong;)
      if (!read(at, buffer)) wrong = true;
  };
  const auto begin = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (unsigned i = 1; i < threads; ++i) all.emplace_back(work);
  work();
  for (std::thread& thread : all) thread.join();
  failed = wrong;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

Result<RandomReads> measure_random_reads(const TarIndex& index, uint64_t samples, uint64_t seed,
                                         unsigned threads) {
  if (index.size() == 0) return failure("there are no files in it", EINVAL);
  std::mt19937_64 random(seed);
  std::vector<uint64_t> chosen(samples);
  for (uint64_t& number : chosen) number = random() % index.size();
  std::sort(chosen.begin(), chosen.end());
  std::vector<IndexEntry> entries;
  uint64_t number = 0, last = 0;
  index.each([&](const IndexEntry& entry) {
    for (; entries.size() < samples && chosen[entries.size()] == number;) entries.push_back(entry);
    last = std::max(last, entry.offset + entry.size);
    ++number;
    return true;
  });
  std::shuffle(entries.begin(), entries.end(), random);
  RandomReads result{.samples = samples};
  for (const IndexEntry& entry : entries) result.bytes += entry.size;
  const std::string path = "/proc/self/fd/" + std::to_string(index.fd());
  os::UniqueFd direct(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_DIRECT));
  if (!direct) {
    direct.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    (void)::posix_fadvise(direct.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  bool failed = false;
  if (!index.is_compressed()) {
    const uint64_t mean = result.bytes / samples;
    std::vector<uint64_t> places(samples);
    for (uint64_t& place : places) place = random() % (last > mean ? last - mean : 1);
    result.device_seconds = timed(
        threads, samples,
        [&](uint64_t at, Buffer& buffer) {
          return read_blocks(direct.get(), places[at], mean, buffer) != nullptr;
        },
        failed);
    if (failed) return failure("it cannot be read", EIO);
  }
  result.seconds = timed(
      threads, samples,
      [&](uint64_t at, Buffer& buffer) {
        const IndexEntry& entry = entries[at];
        if (index.is_compressed()) return index.read(entry).has_value();
        const char* content =
            entry.size == 0 ? "" : read_blocks(direct.get(), entry.offset, entry.size, buffer);
        return content != nullptr && tar_crc(0, content, entry.size) == entry.crc;
      },
      failed);
  if (failed) return failure("a file in it is not what was packed (checksum)", EIO);
  return result;
}

}  // namespace minke::storage
