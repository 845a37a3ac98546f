// Asks PAM whether somebody is who he says: a process of root's own for each log-in, which the door starts
// and does not wait for. It talks with the front over one socket, in turns with a bound, and tells the door
// the outcome over another. It ends by itself after two minutes, whatever a module or a person does.
//
// It uses what the service's file says for `auth` and `account`; it opens no session of PAM's, as no process
// of root's stays for one. PAM's library is loaded when it is needed: a machine without it says so.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace minke::portal {

// Whom a log-in let in, with the rights that his worker gets.
struct Admitted {
  uint32_t uid = 0, gid = 0;
  std::vector<uint32_t> groups = {};
  std::string name = {}, home = {}, shell = {};
};

// The outcome as the door gets it: somebody, or why nobody.
std::string outcome_bytes(const std::optional<Admitted>& admitted, std::string_view why);
struct Outcome {
  std::optional<Admitted> admitted;
  std::string why;
};
Outcome read_outcome(std::string_view bytes);

// A user of this machine with his groups, but root; or why not.
Outcome person_of(const char* name);

// The whole process: `conversation` and `outcome` are its sockets. Returns its exit status.
int pam_login(const std::string& service, const std::string& name, const std::string& address,
              int conversation, int outcome);

}  // namespace minke::portal
