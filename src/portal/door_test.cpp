// What a front that is broken, or taken over, can have of the door: nothing that it was not given.
#include "portal/door.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/fd.h"
#include "os/pass_descriptors.h"
#include "portal/door_wire.h"
#include "portal/pam_login.h"

namespace minke::portal {
namespace {

TEST(DoorWire, IsReadWithinItsBounds) {
  const std::string key(kDoorKey, 'k');
  const auto message = read_door_bytes(door_bytes({DoorWord::kBegin, key, std::string("alice\0there", 11)}));
  ASSERT_TRUE(message);
  EXPECT_EQ(message->key, key);
  EXPECT_EQ(message->text.size(), 11u);
  EXPECT_FALSE(read_door_bytes(""));
  EXPECT_FALSE(read_door_bytes("\x01short"));
  EXPECT_FALSE(read_door_bytes('\x09' + key));
  EXPECT_FALSE(read_door_bytes('\x01' + key + std::string(kMostDoorText + 1, 'x')));
}

TEST(DoorWire, NamesAreThoseOfUsers) {
  for (const char* name : {"alice", "a.b-c_d", "Bob1", "eve@example.org"})
    EXPECT_TRUE(is_login_name(name)) << name;
  for (const char* name : {"", "-x", ".x", "a b", "a/b", "a;b", "a\nb", "caf\xc3\xa9", "a=b"})
    EXPECT_FALSE(is_login_name(name)) << name;
}

TEST(PamLogin, TellsItsOutcome) {
  const Outcome outcome =
      read_outcome(outcome_bytes(Admitted{7, 8, {9, 10}, "alice", "/home/alice", "/bin/sh"}, ""));
  ASSERT_TRUE(outcome.admitted);
  EXPECT_EQ(outcome.admitted->uid, 7u);
  EXPECT_EQ(outcome.admitted->groups, (std::vector<uint32_t>{9, 10}));
  EXPECT_EQ(outcome.admitted->home, "/home/alice");
  EXPECT_EQ(read_outcome(outcome_bytes(std::nullopt, "no")).why, "no");
  for (const char* bytes : {"", "{}", "[]", "{\"uid\":1}", "{\"why\":1}"})
    EXPECT_FALSE(read_outcome(bytes).admitted);
}

TEST(Door, GivesAStrangerNothing) {
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[1]);
    (void)run_door({}, ends[0]);
    ::_exit(0);
  }
  ::close(ends[0]);
  os::UniqueFd front(ends[1]);
  const std::string key(kDoorKey, '0');
  const auto asked = [&](const std::string& bytes) -> std::optional<DoorMessage> {
    if (os::send_bytes(front.get(), bytes, {}, MSG_NOSIGNAL) < 0) return std::nullopt;
    const auto packet = os::receive_packet(front.get(), 4096);
    if (!packet || !packet->descriptors.empty()) return std::nullopt;
    return read_door_bytes(packet->bytes);
  };
  const auto unknown = asked(door_bytes({DoorWord::kStart, key, "alice"}));
  ASSERT_TRUE(unknown);
  EXPECT_EQ(unknown->word, DoorWord::kGo);
  // The door's own words, and what is none, are passed over.
  for (const std::string& bytes : {std::string("x"), door_bytes({DoorWord::kCome, key, "0 root"}),
                                   door_bytes({DoorWord::kWork, key, ""}), std::string(200, '\xff')})
    ASSERT_GE(os::send_bytes(front.get(), bytes, {}, MSG_NOSIGNAL), 0);
  const auto refused = asked(door_bytes({DoorWord::kBegin, key, "--worker"}));
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->word, DoorWord::kGo);
  front.reset();
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace minke::portal
