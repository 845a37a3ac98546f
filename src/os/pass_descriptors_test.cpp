#include "os/pass_descriptors.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "os/pipe.h"

namespace minke::os {
namespace {

struct Pair {
  explicit Pair(int type) {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
    left.reset(ends[0]);
    right.reset(ends[1]);
  }
  UniqueFd left, right;
};

ino_t inode(int fd) {
  struct stat status {};
  EXPECT_EQ(::fstat(fd, &status), 0);
  return status.st_ino;
}

TEST(PassDescriptors, APacketHasItsBytesAndItsFiles) {
  const Pair sockets(SOCK_SEQPACKET);
  const auto first = make_pipe(), second = make_pipe();
  const int passed[] = {first->reader.get(), second->writer.get()};
  ASSERT_EQ(send_bytes(sockets.left.get(), "two", passed, 0), 3);
  const auto packet = receive_packet(sockets.right.get(), 3);
  ASSERT_TRUE(packet);
  EXPECT_EQ(packet->bytes, "two");
  ASSERT_EQ(packet->descriptors.size(), 2u);
  EXPECT_EQ(inode(packet->descriptors[0].get()), inode(first->reader.get()));
  EXPECT_EQ(inode(packet->descriptors[1].get()), inode(second->writer.get()));
}

TEST(PassDescriptors, APacketThatIsTooLongIsNone) {
  const Pair sockets(SOCK_SEQPACKET);
  ASSERT_EQ(send_bytes(sockets.left.get(), "four", {}, 0), 4);
  EXPECT_FALSE(receive_packet(sockets.right.get(), 3));
}

TEST(PassDescriptors, NothingComesFromASideThatClosed) {
  Pair sockets(SOCK_SEQPACKET);
  sockets.left.reset();
  EXPECT_FALSE(receive_packet(sockets.right.get(), 3));
}

}  // namespace
}  // namespace minke::os
