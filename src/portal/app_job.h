// From a form's answers to the job of an interactive application: the options of sbatch, and its script. What
// people typed reaches the script as quoted values of variables, and nowhere else. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "config/app_settings.h"

namespace minke::portal {

// Where a session is, and what starts it.
struct AppPlace {
  std::string directory;           // of the session
  std::string address;             // "/apps/KEY"
  std::string program;             // this one, where the job finds it
  std::string host;                // this machine
  bool needs_login_shell = false;  // the job does not get its user's environment from here
};

struct AppJob {
  std::vector<std::string> options;
  std::string script;
};

// `asked`: {time, cpus, memory, gpus, account, partition, modules: texts; fields: {name: text}}. Errors:
// EINVAL, with words for who filled the form in.
Result<AppJob> app_job(const config::AppSettings& app, const nlohmann::ordered_json& asked,
                       const AppPlace& place);

}  // namespace minke::portal
