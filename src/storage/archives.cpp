#include "storage/archives.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "os/fd.h"
#include "os/read_at.h"
#include "storage/beside.h"
#include "storage/copy_tree.h"
#include "storage/remove_tree.h"
#include "storage/run_program.h"
#include "storage/tar_index.h"
#include "storage/zstd_frames.h"

namespace minke::storage {

namespace {

void remove_partial(const Beside& place) {
  Failures ignored;
  (void)remove_tree(place.parent.get(), place.partial, ignored);
}

// Opens the one directory of this name in it, if it holds nothing else.
bool holds_only(int directory, const std::string& name) {
  DIR* stream = ::fdopendir(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (stream == nullptr) return false;
  size_t others = 0, same = 0;
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view found = entry->d_name;
    if (found == "." || found == "..") continue;
    ++(found == name ? same : others);
  }
  ::closedir(stream);
  struct stat status {};
  return others == 0 && same == 1 && ::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISDIR(status.st_mode);
}

bool is_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

bool is_tar(std::string_view bytes) {
  return bytes.size() >= 512 && bytes.substr(257, 5) == "ustar";
}

// Verifies a tar that is not compressed (compressed ones have checksums, which reading compares). Of minke
// pack's own archives it compares each file's checksum. Of others it checks the end: tar accepts an archive
// cut off between two files as complete.
Status verify(ArchiveKind kind, const std::string& archive, const std::atomic<bool>* stop) {
  constexpr size_t kEnd = 1024;  // two blocks of zeros
  const os::UniqueFd file(::open(archive.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  char bytes[kEnd] = {};
  struct stat status {};
  if (kind != ArchiveKind::kTar || !file || ::fstat(file.get(), &status) != 0 ||
      !os::read_at(file.get(), bytes, 512, 0) || !is_tar({bytes, 512}))
    return {};
  if (const auto index = TarIndex::open(archive)) {
    std::atomic<uint64_t> verified{0};
    return verify_archive(index->fd(), archive, verified, stop);
  }
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size >= kEnd && os::read_at(file.get(), bytes, kEnd, size - kEnd) && is_zero({bytes, kEnd})) return {};
  return failure(archive + ": it has no end, and may have been cut off: it is not unpacked", EIO);
}

Status extract(ArchiveKind kind, const std::string& archive, const std::string& to,
               const std::atomic<bool>* stop) {
  const std::string path = archive.starts_with('-') ? "./" + archive : archive;
  switch (kind) {
    case ArchiveKind::kTar:
      return run_program({"tar", "--extract", "--file", path, "--directory", to, "--force-local", "--xattrs",
                          "--xattrs-include=user.*", "--xattrs-include=system.posix_acl_*",
                          "--delay-directory-restore", "--preserve-permissions"},
                         stop);
    case ArchiveKind::kZip:
      return run_program({"unzip", "-q", "-o", path, "-d", to}, stop);
    case ArchiveKind::kSquashfs:
      return run_program({"unsquashfs", "-quiet", "-no-progress", "-force", "-dest", to, path}, stop);
  }
  return failure("no such kind of archive");
}

// Only the name tells what is in it.
bool is_compressed_tar(std::string_view bytes, const std::string& path) {
  static constexpr std::string_view kMagics[] = {"\x1f\x8b", "\x28\xb5\x2f\xfd",
                                                 "\xfd"
                                                 "7zXZ",
                                                 "BZh"};
  static constexpr std::string_view kSuffixes[] = {".tgz", ".txz", ".tbz2", ".tzst"};
  const auto begins = [&](std::string_view magic) { return bytes.starts_with(magic); };
  const auto ends = [&](std::string_view suffix) { return path.ends_with(suffix); };
  return std::ranges::any_of(kMagics, begins) &&
         (path.find(".tar.") != std::string::npos || std::ranges::any_of(kSuffixes, ends));
}

// Archives of minke pack say so themselves.
bool is_packed_tar(int file) {
  const auto frames = FrameReader::open(file);
  if (!frames) return false;
  FrameReader::Hand hand;
  char start[512] = {};
  return frames->read(0, start, sizeof start, hand) && is_tar({start, sizeof start});
}

}  // namespace

std::optional<ArchiveKind> archive_kind(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  char start[512] = {};
  const ssize_t got = ::pread(file.get(), start, sizeof start, 0);
  const std::string_view bytes(start, static_cast<size_t>(std::max<ssize_t>(got, 0)));
  if (bytes.starts_with("hsqs")) return ArchiveKind::kSquashfs;
  if (bytes.starts_with("PK\003\004") || bytes.starts_with("PK\005\006")) return ArchiveKind::kZip;
  const bool empty_tar = bytes.size() == 512 && is_zero(bytes) && path.ends_with(".tar");
  if (is_tar(bytes) || empty_tar || is_compressed_tar(bytes, path) || is_packed_tar(file.get()))
    return ArchiveKind::kTar;
  return std::nullopt;
}

std::string without_suffix(const std::string& name) {
  static constexpr std::string_view kSuffixes[] = {".tar.gz",   ".tar.zst", ".tar.xz", ".tar.bz2", ".tgz",
                                                   ".txz",      ".tbz2",    ".tzst",   ".tar",     ".zip",
                                                   ".squashfs", ".sqfs",    ".sqsh"};
  for (const std::string_view suffix : kSuffixes)
    if (name.size() > suffix.size() && name.ends_with(suffix))
      return name.substr(0, name.size() - suffix.size());
  return name;
}

Status pack_squashfs(const std::string& from, const std::string& to, bool compress, Failures& failures,
                     const std::atomic<bool>* stop) {
  auto place = beside(to);
  if (!place) return failure(place.error());
  remove_partial(*place);
  struct stat there {};
  if (::fstatat(place->parent.get(), place->name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0 &&
      !S_ISREG(there.st_mode))
    return failure(to + ": it is there, and no file", EEXIST);
  const std::string partial = place->directory + "/" + place->partial;
  std::vector<std::string> words = {"mksquashfs", from,        partial,  "-no-fragments", "-b",
                                    "32K",        "-noappend", "-quiet", "-no-progress",  "-no-exports"};
  if (compress) {
    words.insert(words.end(), {"-comp", "zstd", "-Xcompression-level", "1"});
  } else {
    words.insert(words.end(), {"-noD", "-noF", "-noX"});
  }
  Status made = run_program(words, stop);
  const os::UniqueFd file(made ? ::openat(place->parent.get(), place->partial.c_str(), O_RDONLY | O_CLOEXEC)
                               : -1);
  if (made && (!file || ::fsync(file.get()) != 0)) made = failure_from_errno(partial, errno);
  if (made) {
    (void)::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    const std::string back = partial + "-back";
    Failures ignored;
    (void)remove_tree(AT_FDCWD, back, ignored);
    made = run_program({"unsquashfs", "-quiet", "-no-progress", "-dest", back, partial}, stop);
    if (made) made = compare_trees(from, back, 0, failures);
    if (made && failures.count() > 0) made = failure(to + ": it is not what was packed", EIO);
    (void)remove_tree(AT_FDCWD, back, ignored);
  }
  if (made &&
      ::renameat(place->parent.get(), place->partial.c_str(), place->parent.get(), place->name.c_str()) != 0)
    made = failure_from_errno(to, errno);
  if (made && ::fsync(place->parent.get()) != 0) made = failure_from_errno(to, errno);
  if (!made) remove_partial(*place);
  return made;
}

Status unpack(const std::string& archive, const std::string& to, const std::atomic<bool>* stop,
              const UnpackOptions& options) {
  const auto kind = archive_kind(archive);
  if (!kind) {
    if (::access(archive.c_str(), R_OK) != 0) return failure_from_errno(archive, errno);
    return failure(archive + ": it is no archive that is known (tar, zip, squashfs)", EINVAL);
  }
  auto place = beside(to);
  if (!place) return failure(place.error());
  const int parent = place->parent.get();
  struct stat there {};
  if (::fstatat(parent, place->name.c_str(), &there, AT_SYMLINK_NOFOLLOW) == 0)
    return failure(to + ": it is there already", EEXIST);
  remove_partial(*place);
  const std::string partial = place->directory + "/" + place->partial;
  if (::mkdirat(parent, place->partial.c_str(), 0777) != 0) return failure_from_errno(to, errno);
  Status done = verify(*kind, archive, stop);
  if (done) done = extract(*kind, archive, partial, stop);
  if (done) {
    const os::UniqueFd made(::openat(parent, place->partial.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const std::string name = options.inner.empty() ? place->name : options.inner;
    const bool inner = made && holds_only(made.get(), name);
    if (!made || (options.sync && ::syncfs(made.get()) != 0) ||
        ::renameat2(inner ? made.get() : parent, inner ? name.c_str() : place->partial.c_str(), parent,
                    place->name.c_str(), RENAME_NOREPLACE) != 0 ||
        (options.sync && ::fsync(parent) != 0))
      done = failure_from_errno(to, errno);
    if (done && !inner) return done;
  }
  remove_partial(*place);
  return done;
}

}  // namespace minke::storage
