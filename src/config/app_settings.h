// An interactive application of the portal, as its directory describes it: app.toml says what its form asks
// and how it is reached; script.sh is what the job runs. The portal reads them with the rights of who asks.
// Blocking; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::config {

enum class AppFieldKind : uint8_t { kText, kNumber, kChoice, kSwitch };

// A row of the form beyond the resources. The script finds its value in APP_NAME, in capitals.
struct AppField {
  std::string name;  // small letters, digits and _
  std::string label, label_fr, help, help_fr;
  AppFieldKind kind = AppFieldKind::kText;
  std::string value;                 // at first; of a switch "yes", or nothing
  std::vector<std::string> choices;  // of kChoice
  int64_t least = 0, most = 0;       // of kNumber
  bool is_required = false;
};

struct AppSettings {
  std::string name;  // of its directory
  std::string title, title_fr, description, description_fr;
  std::string start;  // the page that opens, below the session's address: "lab"
  bool listens_at_socket =
      true;                     // at APP_SOCKET; else at APP_PORT of 127.0.0.1, where it asks for APP_SECRET
  bool strips_address = false;  // its pages begin at "/", not at APP_ADDRESS
  std::string header;           // that each request gets: "Authorization: token {secret}"
  std::string time = "2:00:00", cpus = "1", memory = "2G", gpus, modules;  // at first
  std::vector<AppField> fields;
  std::string script;  // of bash
};

// A name of a directory, and of a field.
bool is_app_name(std::string_view name);

// Reads app.toml's text; `path` is for messages. Errors say the line.
Result<AppSettings> parse_app(const std::string& name, std::string_view text, const std::string& path);
// Reads a directory's app.toml and script.sh.
Result<AppSettings> load_app(const std::string& name, const std::string& directory);

}  // namespace minke::config
