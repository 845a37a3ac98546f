#include "storage/pack_resume.h"

#include <fcntl.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdio>

#include "storage/failures.h"
#include "storage/tree_list.h"

namespace minke::storage {

namespace {

constexpr size_t kMostNotes = 1 << 20;

uint64_t mix(uint64_t sum, std::string_view text) {  // FNV-1a
  for (const char c : text) sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return sum;
}

}  // namespace

uint64_t add_to_sum(uint64_t sum, const std::string& path, const struct statx& status) {
  const uint64_t numbers[] = {path.size(),
                              status.stx_mode,
                              status.stx_uid,
                              status.stx_gid,
                              status.stx_ino,
                              S_ISDIR(status.stx_mode) ? 0 : status.stx_size,
                              static_cast<uint64_t>(status.stx_mtime.tv_sec),
                              status.stx_mtime.tv_nsec,
                              static_cast<uint64_t>(status.stx_ctime.tv_sec),
                              status.stx_ctime.tv_nsec};
  return mix(mix(sum, path), {reinterpret_cast<const char*>(numbers), sizeof numbers});
}

std::optional<PackCheckpoint> PackNotes::read() const {
  std::string text(kMostNotes, '\0');
  const ssize_t got = ::pread(file_.get(), text.data(), text.size(), 0);
  if (got <= 0) return std::nullopt;
  text.resize(static_cast<size_t>(got));
  PackCheckpoint noted;
  uint64_t check = 0;
  size_t what = 0, last = 0;
  int begin = 0;
  // The check comes first, then the text that it covers.
  if (std::sscanf(text.c_str(), "%" SCNx64 " ", &check) != 1 || text.size() < 17 || text[16] != ' ' ||
      mix(1, std::string_view(text).substr(17)) != check)
    return std::nullopt;
  if (std::sscanf(text.c_str() + 17,
                  "%" SCNx64 " %" SCNu64 " %" SCNu64 " %u %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
                  " %zu %zu\n%n",
                  &noted.sum, &noted.files, &noted.bytes, &noted.shard, &noted.place.size,
                  &noted.place.written, &noted.place.index_written, &noted.place.entries, &what, &last,
                  &begin) != 10 ||
      begin == 0)
    return std::nullopt;
  const std::string_view rest = std::string_view(text).substr(17 + static_cast<size_t>(begin));
  if (rest.size() != what + last || rest.substr(0, what) != what_) return std::nullopt;
  noted.last = rest.substr(what);
  return noted;
}

void PackNotes::write(const PackCheckpoint& noted) {
  char numbers[256];
  std::snprintf(numbers, sizeof numbers,
                "%" PRIx64 " %" PRIu64 " %" PRIu64 " %u %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64
                " %zu %zu\n",
                noted.sum, noted.files, noted.bytes, noted.shard, noted.place.size, noted.place.written,
                noted.place.index_written, noted.place.entries, what_.size(), noted.last.size());
  const std::string text = numbers + what_ + noted.last;
  char check[20];
  std::snprintf(check, sizeof check, "%016" PRIx64 " ", mix(1, text));
  const std::string all = check + text;
  // Half a note, or none, does no harm: the next pack then begins anew.
  if (all.size() > kMostNotes || ::pwrite(file_.get(), all.data(), all.size(), 0) < 0 ||
      ::ftruncate(file_.get(), static_cast<off_t>(all.size())) != 0)
    clear();
}

void PackNotes::clear() {
  (void)!::ftruncate(file_.get(), 0);
}

bool is_as_it_was(const std::string& from, const std::string& prefix, const PackCheckpoint& checkpoint,
                  FirstNames& names) {
  Failures ignored;
  TreeList list(from, ignored);
  ListedEntry entry;
  uint64_t sum = 0;
  while (list.next(entry)) {
    struct statx status {};
    const int flags = entry.name.empty() ? AT_EMPTY_PATH : AT_SYMLINK_NOFOLLOW;
    if (::statx(entry.directory->get(), entry.name.c_str(), flags, STATX_BASIC_STATS, &status) != 0)
      return false;
    sum = add_to_sum(sum, entry.path, status);
    if (S_ISREG(status.stx_mode) && status.stx_nlink > 1)
      names.try_emplace({status.stx_dev_major, status.stx_dev_minor, status.stx_ino},
                        entry.path.empty() ? prefix : prefix + "/" + entry.path);
    if (entry.path == checkpoint.last) return sum == checkpoint.sum;
  }
  return false;
}

}  // namespace minke::storage
