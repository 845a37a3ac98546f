#include "storage/mounts.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include "os/files.h"

namespace minke::storage {

namespace {

constexpr size_t kMaxBytes = size_t{16} << 20;
constexpr size_t kPointField = 4;  // of a line of mountinfo, from 0

std::string_view next_word(std::string_view& line) {
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(word.size() + 1, line.size()));
  return word;
}

// The kernel writes a space, a tabulator, a line feed and a backslash as three octal digits.
std::string without_octal(std::string_view word) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string text;
  for (size_t at = 0; at < word.size(); ++at) {
    if (word[at] == '\\' && at + 3 < word.size() && is_octal(word[at + 1]) && is_octal(word[at + 2]) &&
        is_octal(word[at + 3])) {
      text += static_cast<char>((word[at + 1] - '0') * 64 + (word[at + 2] - '0') * 8 + (word[at + 3] - '0'));
      at += 3;
    } else {
      text += word[at];
    }
  }
  return text;
}

bool is_at_or_below(std::string_view path, std::string_view point) {
  if (point == "/") return path.starts_with('/');
  return path.starts_with(point) && (path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

Mounts Mounts::parse(std::string_view mountinfo) {
  Mounts mounts;
  while (!mountinfo.empty()) {
    std::string_view line = mountinfo.substr(0, mountinfo.find('\n'));
    mountinfo.remove_prefix(std::min(line.size() + 1, mountinfo.size()));
    for (size_t field = 0; field < kPointField; ++field) next_word(line);
    const std::string_view point = next_word(line);
    while (!line.empty() && next_word(line) != "-") {
    }
    const std::string_view type = next_word(line);
    if (point.starts_with('/') && !type.empty())
      mounts.mounts_.push_back({without_octal(point), without_octal(type)});
  }
  return mounts;
}

Mounts Mounts::of_this_process() {
  const auto text = os::read_file("/proc/self/mountinfo", kMaxBytes);
  return text ? parse(*text) : Mounts();
}

std::string_view Mounts::type_at(std::string_view path) const {
  const Mount* nearest = nullptr;
  for (const Mount& mount : mounts_)
    if (is_at_or_below(path, mount.point) &&
        (nearest == nullptr || mount.point.size() >= nearest->point.size()))
      nearest = &mount;
  return nearest == nullptr ? std::string_view() : nearest->type;
}

bool is_network_type(std::string_view type) {
  // FUSE's types say after a dot whose program it is: "fuse.glusterfs".
  if (type.starts_with("fuse.")) type.remove_prefix(sizeof "fuse." - 1);
  constexpr auto kTypes = std::to_array<std::string_view>(
      {"9p",    "afs",      "beegfs", "ceph",     "ceph-fuse", "cifs",   "gfs2", "glusterfs",
       "gpfs",  "juicefs",  "lustre", "moosefs",  "mfs",       "ncpfs",  "nfs",  "nfs4",
       "ocfs2", "orangefs", "panfs",  "pvfs2",    "quobyte",   "rclone", "s3fs", "smb3",
       "smbfs", "sshfs",    "vboxsf", "virtiofs", "wekafs"});
  return std::find(kTypes.begin(), kTypes.end(), type) != kTypes.end();
}

}  // namespace minke::storage
