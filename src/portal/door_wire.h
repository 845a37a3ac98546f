// What the front of a shared portal and its door say to each other: short messages of one packet each, whose
// text has a bound. The door is root: it reads nothing but these, and takes the front for a stranger. Plain
// data; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace minke::portal {

enum class DoorWord : uint8_t {
  kBegin = 1,   // front: somebody wants to log in. key: the attempt; text: his name, a zero, his address
  kStart = 2,   // front: a worker. key: a ticket
  kForget = 3,  // front: this ticket is not good any more
  kTalk = 4,    // door: ask him. key: the attempt; with the socket of the conversation
  kCome = 5,    // door: he is who he says. key: the attempt; text: ticket, user's number, name
  kGo = 6,      // door: he is not, or a worker cannot be started. key: as asked; text: why
  kWork = 7,    // door: the worker. key: the ticket; with the socket of its frames
  kCode = 8,    // front: the provider has sent somebody back. key: the attempt; text: OidcAnswer, a zero, his
                // address
  kLast = kCode,
};

// The ticket of the worker for public pages, where the site has them: no word of random_word() is like it.
constexpr std::string_view kPublicTicket = "public--------------------------";

constexpr size_t kDoorKey = 32;  // letters and digits of random_word()
constexpr size_t kMostDoorText = 8192;

struct DoorMessage {
  DoorWord word = DoorWord::kGo;
  std::string key = {}, text = {};
};

std::string door_bytes(const DoorMessage& message);
// None: it is not one.
std::optional<DoorMessage> read_door_bytes(std::string_view bytes);

// One turn of the conversation, both ways: what PAM asks or tells, and the answer. The first byte says which.
enum class Turn : char {
  kSecret = 's',  // asked; what is typed is not to be seen
  kOpen = 'o',    // asked
  kTold = 't',    // told
  kAnswer = 'a',  // answered
};
constexpr size_t kMostTurn = 512;

// A name that may be asked for: as useradd takes it, and as directories of a domain have it.
bool is_login_name(std::string_view name);

}  // namespace minke::portal
