// Mounts: which file system a path is on, as /proc/self/mountinfo tells, and whether other machines use that
// file system at the same time. It asks no file system: one whose server is gone blocks nobody. Any thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace minke::storage {

class Mounts {
 public:
  // Lines that are not as proc(5) describes them are left out.
  static Mounts parse(std::string_view mountinfo);
  // Those that this process sees; none if they cannot be read.
  static Mounts of_this_process();

  // "ext4", "nfs4", "fuse.sshfs"; of an absolute path in which no symbolic link is. Empty: not known.
  std::string_view type_at(std::string_view path) const;

 private:
  struct Mount {
    std::string point, type;
  };
  std::vector<Mount> mounts_;  // later ones hide earlier ones at the same place
};

// Whether other machines may use a file system of this type: NFS, Lustre, CephFS and the like.
bool is_network_type(std::string_view type);

}  // namespace minke::storage
