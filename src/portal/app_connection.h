// The way to an interactive application that runs in a job: its session's directory says where its gate
// listens and what its secret is. Files are read, and connections made, with the rights of this process,
// which are those of the person. Blocking, for at most some seconds; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "os/fd.h"

namespace minke::portal {

// A connection on which the application hears HTTP from the first byte on.
struct AppConnection {
  os::UniqueFd socket;
  bool strips_address = false;
  std::string header;  // that each request gets; empty: none
};

// What the gate writes when the application is ready.
struct AppGateFile {
  std::string host;
  uint16_t port = 0;
  std::string secret;
};

constexpr size_t kAppKey = 32;  // letters and digits of random_word()
bool is_app_key(std::string_view key);

// Of all sessions of this person: ~/.local/share/minke/apps. Error: there is no home.
Result<std::string> app_sessions_directory();
// The gate's file of a session; an error while the application is not ready.
Result<AppGateFile> read_app_gate(const std::string& directory);

// Errors: ENOENT there is no such session; ECONNREFUSED it is not ready, or has ended.
Result<AppConnection> connect_to_app(const std::string& key);

}  // namespace minke::portal
