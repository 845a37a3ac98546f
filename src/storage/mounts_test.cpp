#include "storage/mounts.h"

#include <gtest/gtest.h>

namespace minke::storage {
namespace {

constexpr char kMounts[] =
    "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n"
    "25 22 0:40 / /scratch rw shared:9 master:2 - lustre 10.0.0.1@tcp:/work rw\n"
    "26 22 0:41 /export /home rw - nfs4 server:/export rw\n"
    "27 26 0:42 / /home/two\\040words rw - fuse.sshfs far:/ rw\n"
    "28 22 0:43 / /over rw - nfs server:/over rw\n"
    "29 28 0:44 / /over rw - tmpfs tmpfs rw\n"
    "not a line\n"
    "30 22 0:45 / relative rw - nfs4 a b\n"
    "31 22 0:46 / /cut rw";

TEST(Mounts, the_nearest_mount_above_a_path_says_its_type) {
  const Mounts mounts = Mounts::parse(kMounts);
  EXPECT_EQ(mounts.type_at("/"), "ext4");
  EXPECT_EQ(mounts.type_at("/var/lib"), "ext4");
  EXPECT_EQ(mounts.type_at("/scratch"), "lustre");
  EXPECT_EQ(mounts.type_at("/scratch/alice/data"), "lustre");
  EXPECT_EQ(mounts.type_at("/scratchy"), "ext4");
  EXPECT_EQ(mounts.type_at("/home/alice"), "nfs4");
  EXPECT_EQ(mounts.type_at("/home/two words/x"), "fuse.sshfs");
  EXPECT_EQ(mounts.type_at("/cut/x"), "ext4");
}

TEST(Mounts, the_last_mount_at_a_place_hides_the_others) {
  EXPECT_EQ(Mounts::parse(kMounts).type_at("/over/x"), "tmpfs");
}

TEST(Mounts, what_is_no_absolute_path_or_is_not_known_has_no_type) {
  EXPECT_EQ(Mounts::parse(kMounts).type_at("home"), "");
  EXPECT_EQ(Mounts::parse(kMounts).type_at(""), "");
  EXPECT_EQ(Mounts().type_at("/home"), "");
}

TEST(Mounts, this_process_has_a_root) {
  EXPECT_FALSE(Mounts::of_this_process().type_at("/").empty());
}

TEST(Mounts, network_file_systems_are_known_also_through_fuse) {
  for (const char* const type : {"nfs", "nfs4", "lustre", "ceph", "gpfs", "beegfs", "fuse.glusterfs", "9p"})
    EXPECT_TRUE(is_network_type(type)) << type;
  for (const char* const type :
       {"ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.squashfuse", "fuse", ""})
    EXPECT_FALSE(is_network_type(type)) << type;
}

}  // namespace
}  // namespace minke::storage
