// Sessions of interactive applications: a directory each, of the person's own, with what was asked for, the
// script, what it says, and where its gate is. The job is the session's life: it ends with it. Blocking; a
// worker's thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/app_settings.h"
#include "portal/job_json.h"

namespace minke::portal {

struct AppSession {
  std::string key, app, title, start;
  uint32_t job_id = 0;  // 0: not submitted yet
  int64_t began = 0;    // s since the epoch
};

// Makes a session's directory, with the script and what the gate and the portal need. Returns the key.
Result<std::string> make_app_session(const config::AppSettings& app, int64_t now);
Status set_app_job(const std::string& key, uint32_t job_id);

// The newest first; at most 200.
std::vector<AppSession> app_sessions();
Result<AppSession> read_app_session(const std::string& key);
bool is_app_ready(const std::string& key);
// The end of what the job wrote.
std::string app_output(const std::string& key);
// With all that is in its directory.
Status forget_app_session(const std::string& key);

}  // namespace minke::portal
