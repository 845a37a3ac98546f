// config.json of an OCI bundle, adapted to a job. What a job decides (its limits, its network, its user) is
// taken out, and what a user namespace with one user cannot have. All else is the bundle's.
#include <algorithm>
#include <map>

#include <nlohmann/json.hpp>

#include "helpers/containers/bundle.h"
#include "helpers/containers/gpu_files.h"

namespace minke::helpers {

namespace {

using Json = nlohmann::json;

constexpr char kStartup[] = "/tmp/slurm/startup";  // Slurm's

// The member, made an object (or a list) if it is none.
Json& object_of(Json& parent, const char* name) {
  Json& found = parent[name];
  if (!found.is_object()) found = Json::object();
  return found;
}
Json& list_of(Json& parent, const char* name) {
  Json& found = parent[name];
  if (!found.is_array()) found = Json::array();
  return found;
}

std::string text_at(const Json& object, const char* name) {
  if (!object.is_object()) return {};
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

uint64_t number_at(const Json& object, const char* name) {
  if (!object.is_object()) return 0;
  const auto found = object.find(name);
  return found != object.end() && found->is_number_unsigned() ? found->get<uint64_t>() : 0;
}

Json mount_as_json(const ContainerMount& mount) {
  Json options = Json::array({mount.recursive ? "rbind" : "bind"});
  if (mount.read_only) options.push_back("ro");
  return {{"destination", mount.target}, {"type", "none"}, {"source", mount.source}, {"options", options}};
}

// The job's variables, and the bundle's, which hold where both have one.
void set_environment(Json& process, const BundleTerms& terms) {
  std::vector<std::string> all = terms.environment;
  std::map<std::string, size_t> places;
  for (size_t i = 0; i < all.size(); ++i) places[all[i].substr(0, all[i].find('='))] = i;
  for (const Json& one : list_of(process, "env")) {
    if (!one.is_string()) continue;
    std::string text = one.get<std::string>();
    const auto [at, added] = places.try_emplace(text.substr(0, text.find('=')), all.size());
    added ? all.push_back(std::move(text)) : void(all[at->second] = std::move(text));
  }
  if (!terms.driver.empty()) add_driver(terms.driver, all);
  process["env"] = std::move(all);
}

// Which of the bundle's namespaces the container gets. Its user is the job's: the runtime is root of a
// namespace with that user alone, and makes another one where the bundle wants another number for it.
void set_namespaces(Json& config) {
  Json& linux_part = object_of(config, "linux");
  Json& user = object_of(object_of(config, "process"), "user");
  user.erase("additionalGids");
  for (const char* name : {"uidMappings", "gidMappings", "resources", "cgroupsPath", "intelRdt"})
    linux_part.erase(name);
  const uint64_t uid = number_at(user, "uid"), gid = number_at(user, "gid");
  Json kept = Json::array();
  bool uts = false, mounts = false;
  for (const Json& one : list_of(linux_part, "namespaces")) {
    const std::string type = text_at(one, "type");
    if (type == "user" || type == "network" || type == "cgroup") continue;
    uts = uts || type == "uts";
    mounts = mounts || type == "mount";
    kept.push_back({{"type", type}});
  }
  if (!mounts) kept.push_back({{"type", "mount"}});
  if (uid != 0 || gid != 0) {
    kept.push_back({{"type", "user"}});
    const auto map = [](uint64_t id) {
      return Json::array({{{"containerID", id}, {"hostID", 0}, {"size", 1}}});
    };
    linux_part["uidMappings"] = map(uid);
    linux_part["gidMappings"] = map(gid);
  }
  linux_part["namespaces"] = std::move(kept);
  if (uts) return;
  config.erase("hostname");
  config.erase("domainname");
}

bool has_namespace(const Json& config, const char* type) {
  const Json& all = config["linux"]["namespaces"];
  return std::any_of(all.begin(), all.end(), [&](const Json& one) { return text_at(one, "type") == type; });
}

// A user namespace with one user mounts no sysfs of the machine's network, no control groups, and knows no
// group "tty"; without a namespace of processes the machine's /proc is shown.
void set_mounts(Json& config, const BundleTerms& terms) {
  Json kept = Json::array();
  bool has_tmp = false;
  for (Json& mount : list_of(config, "mounts")) {
    if (!mount.is_object()) continue;
    const std::string type = text_at(mount, "type"), target = text_at(mount, "destination");
    has_tmp = has_tmp || target == "/tmp" || target == "/tmp/";
    if (type == "cgroup" || type == "cgroup2") continue;
    if (type == "sysfs") {
      kept.push_back(mount_as_json({"/sys", target, true, true}));
      continue;
    }
    if (type == "proc" && !has_namespace(config, "pid")) {
      kept.push_back(mount_as_json({"/proc", target, false, true}));
      continue;
    }
    if (type == "mqueue" && !has_namespace(config, "ipc")) {
      kept.push_back(mount_as_json({"/dev/mqueue", target, false, true}));
      continue;
    }
    Json options = Json::array();
    for (const Json& option : list_of(mount, "options")) {
      const std::string text = option.is_string() ? option.get<std::string>() : "";
      if (!text.starts_with("gid=") && !text.starts_with("uid=")) options.push_back(option);
    }
    mount["options"] = std::move(options);
    kept.push_back(std::move(mount));
  }
  if (!has_tmp && !terms.tmp_dir.empty())
    kept.insert(kept.begin(), mount_as_json({terms.tmp_dir, "/tmp", false, false}));  // others may lie below
  for (const ContainerMount& mount : terms.mounts) kept.push_back(mount_as_json(mount));
  Json arguments = terms.arguments;
  if (terms.script && !terms.arguments.empty()) {
    kept.push_back(mount_as_json({terms.arguments[0], kStartup, true, false}));
    arguments[0] = kStartup;
  }
  config["process"]["args"] = std::move(arguments);
  config["mounts"] = std::move(kept);
  if (has_tmp || terms.tmp_dir.empty()) return;
  for (Json& one : config["process"]["env"])
    for (const char* name : {"SLURM_TMPDIR=", "TMPDIR="})
      if (one.get<std::string>() == name + terms.tmp_dir) one = std::string(name) + "/tmp";
}

// The job's limits hold: none can be raised.
void bound_limits(Json& process, const BundleTerms& terms) {
  Json kept = Json::array();
  for (Json& limit : list_of(process, "rlimits")) {
    if (text_at(limit, "type") != "RLIMIT_NOFILE" || terms.most_files == 0) continue;
    const uint64_t hard = std::min(number_at(limit, "hard"), terms.most_files);
    limit["hard"] = hard;
    limit["soft"] = std::min(number_at(limit, "soft"), hard);
    kept.push_back(limit);
  }
  process["rlimits"] = std::move(kept);
}

}  // namespace

Result<std::string> adapt_config(const std::string& text, const BundleTerms& terms) {
  Json config = Json::parse(text, nullptr, false);
  if (!config.is_object())
    return failure(terms.bundle + "/config.json: it is no JSON object, as an OCI bundle has it");
  Json& root = object_of(config, "root");
  std::string path = text_at(root, "path");
  if (path.empty()) path = "rootfs";
  root["path"] = path.starts_with('/') ? path : terms.bundle + "/" + path;
  Json& process = object_of(config, "process");
  process["terminal"] = terms.terminal;
  process.erase("consoleSize");
  process.erase("oomScoreAdj");
  if (text_at(process, "cwd").empty()) process["cwd"] = "/";
  set_environment(process, terms);
  bound_limits(process, terms);
  set_namespaces(config);
  set_mounts(config, terms);
  // Bytes that are no UTF-8, of some variable, would be no JSON.
  return config.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace minke::helpers
