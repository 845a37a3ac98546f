#include "software/module_files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <set>

#include "os/files.h"
#include "software/glost.h"
#include "software/software_home.h"
#include "software/version.h"
#include "text/number.h"

namespace minke::software {

namespace fs = std::filesystem;

namespace {

// Quotes a text for Lua.
std::string lua(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c == '\n' ? std::string("\\n") : std::string(1, c);
  }
  return out + "\"";
}

std::string root_variable(const std::string& name) {
  std::string out = "EBROOT";
  for (const char c : name) out += std::isalnum(static_cast<unsigned char>(c)) != 0 ? text::to_upper(c) : '_';
  return out;
}

// The groups of `module avail`; the same words as the national systems'.
constexpr char kSitePackage[] = R"lua(-- Headings of `module avail`. Made by minke software scan.
require("strict")
local hook = require("Hook")
local software = SOFTWARE

local function heading(directory)
  if directory == software .. "/modules" then return "Core Modules" end
  if directory == software .. "/local" then return "Cluster specific modules" end
  local home = os.getenv("HOME")
  if home and directory:sub(1, #home + 1) == home .. "/" then return "Your personal modules" end
  if directory:find("^/project") then return "Your groups' modules" end
  return nil
end

local function avail_hook(t)
  local options = rawget(_G, "optionTbl") or rawget(_G, "masterTbl")
  if not options or options().availStyle ~= "grouped" then return end
  for directory in pairs(t) do
    t[directory] = heading(directory) or t[directory]
  end
end
hook.register("avail", avail_hook)
)lua";

constexpr char kProperties[] = R"lua(-- Marks of modules. Made by minke software scan.
propT = {
   type_ = {
      validT = { tools = 1, mpi = 1, math = 1, io = 1, vis = 1, ai = 1, bio = 1, chem = 1, phys = 1, geo = 1 },
      displayT = {
         tools = { short = "(t)",    long = "(t)",    color = "blue",    doc = "Tools for development / Outils de développement", },
         mpi   = { short = "(m)",    long = "(m)",    color = "magenta", doc = "MPI implementations / Implémentations MPI", },
         math  = { short = "(math)", long = "(math)", color = "green",   doc = "Mathematical libraries / Bibliothèques mathématiques", },
         io    = { short = "(io)",   long = "(io)",   color = "green",   doc = "Input/output software / Logiciel d'écriture/lecture", },
         vis   = { short = "(vis)",  long = "(vis)",  color = "blue",    doc = "Visualisation software / Logiciels de visualisation", },
         ai    = { short = "(ai)",   long = "(ai)",   color = "cyan",    doc = "Artificial intelligence / Intelligence artificielle", },
         bio   = { short = "(bio)",  long = "(bio)",  color = "red",     doc = "Bioinformatic libraries/apps / Logiciels de bioinformatique", },
         chem  = { short = "(chem)", long = "(chem)", color = "red",     doc = "Chemistry libraries/apps / Logiciels de chimie", },
         phys  = { short = "(phys)", long = "(phys)", color = "red",     doc = "Physics libraries/apps / Logiciels de physique", },
         geo   = { short = "(geo)",  long = "(geo)",  color = "red",     doc = "Geography software/apps / Logiciels de géographie", },
      },
   },
}
)lua";

constexpr char kHttpProxy[] = R"lua(-- Made by minke software scan.
help("The proxy through which jobs without a network reach the hosts that the cluster's administrator allows.\n")
whatis("Description: HTTP proxy of offline partitions")
local proxy = os.getenv("MINKE_HTTP_PROXY")
if proxy then
  for _, name in ipairs({ "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY" }) do setenv(name, proxy) end
  for _, name in ipairs({ "no_proxy", "NO_PROXY" }) do setenv(name, "localhost,127.0.0.1,::1") end
  -- Programs need not be offline any more, where the host that they ask is allowed.
  for name in (os.getenv("MINKE_HTTP_PROXY_OPENS") or ""):gmatch("[^:]+") do pushenv(name, false) end
elseif mode() == "load" then
  if os.getenv("MINKE_OFFLINE") then
    LmodMessage("httpproxy: this partition has no network, and no hosts are allowed ([proxy] in minke.toml)")
  else
    LmodMessage("httpproxy: no proxy is needed: what runs here reaches what this machine reaches")
  end
end
)lua";

constexpr char kMetaFarm[] = R"lua(-- Made by minke software scan.
help("META-Farm's commands: farm_init.run, submit.run, resubmit.run, query.run ... They are Minke's own, on PATH anyway.\n")
whatis("Description: META-Farm, many cases in few jobs")
)lua";

// Follows conda's own lines.
constexpr char kCondaWarning[] = R"lua(
if mode() == "load" and not (os.getenv("CONDA_PKGS_DIRS") and (os.getenv("CONDA_ENVS_DIRS") or os.getenv("CONDA_ENVS_PATH"))) then
  local text = ""
  for _, name in ipairs({ "/.condarc", "/.conda/.condarc", "/.config/conda/.condarc" }) do
    local file = io.open((os.getenv("HOME") or "") .. name)
    if file then
      text = text .. file:read("*a")
      file:close()
    end
  end
  if not (text:find("pkgs_dirs") and text:find("envs_dirs")) then
    LmodMessage("conda puts tens of thousands of files into your home, which may fill its quota. Elsewhere, once:\n" ..
                "  conda config --add pkgs_dirs DIRECTORY/pkgs; conda config --add envs_dirs DIRECTORY/envs")
  end
end
)lua";

// If root runs it, Lmod leaves out files that others may not read. The home decides who
// may come here at all.
constexpr mode_t kMode = 0644, kDirectoryMode = 0755;

Status make_directory(const std::string& path) {
  if (const Status made = os::make_directories(path, kDirectoryMode); !made) return made;
  if (::chmod(path.c_str(), kDirectoryMode) != 0) return failure_from_errno(path, errno);
  return {};
}

// Replaces the old directory by the new one, and removes the old one.
Status replace_directory(const std::string& path, const std::string& fresh) {
  if (::renameat2(AT_FDCWD, fresh.c_str(), AT_FDCWD, path.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != ENOENT) return failure_from_errno(path, errno);
    if (::rename(fresh.c_str(), path.c_str()) != 0) return failure_from_errno(path, errno);
    return {};
  }
  std::error_code error;
  fs::remove_all(fresh, error);
  return error ? failure_from_errno(fresh, error.value()) : Status();
}

Status write_links(const Found& found, const std::string& directory) {
  if (const Status made = make_directory(directory); !made) return made;
  for (const auto& [name, target] : found.links) {
    const std::string path = directory + "/" + name;
    if (target.starts_with("#!")) {
      if (const Status written = os::replace_file(path, target, kDirectoryMode); !written) return written;
    } else if (::symlink(target.c_str(), path.c_str()) != 0) {
      return failure_from_errno(path, errno);
    }
  }
  return {};
}

// Returns the one that came with the wheels, or else the system's.
std::string virtualenv_script(const std::string& home, const Found& python) {
  const auto parts = text::split(python.version, '.');
  const std::string wheels = wheels_path(home);
  const std::string tools = wheels + "/tools/" + std::string(parts[0]) + "." + std::string(parts[1]);
  return "#!/bin/sh\n"
         "if [ -d '" +
         tools +
         "' ]; then\n"
         "  exec '" +
         python.program + "' '" + wheels + "/minke_virtualenv.py' '" + tools + "' '" + wheels +
         "/index' \"$@\"\n"
         "fi\n"
         "if [ -x /usr/bin/virtualenv ]; then exec /usr/bin/virtualenv --python '" +
         python.program +
         "' \"$@\"; fi\n"
         "echo 'virtualenv is not here yet: minke wheels add virtualenv' >&2\n"
         "exit 127\n";
}

}  // namespace

std::string module_file(const Found& found, const std::string& links) {
  std::string out = "-- Made by minke software scan.\n";
  const std::string where =
      found.program.empty() ? "" : "\n" + found.version + " of this machine: " + found.program + "\n";
  out += "help(" + lua(found.description + "\n" + where) + ")\n";
  out += "whatis(" + lua("Description: " + found.description) + ")\n";
  out += "whatis(" + lua("Version: " + found.version) + ")\n";
  if (!found.property.empty()) out += "add_property(\"type_\", " + lua(found.property) + ")\n";
  if (!found.family.empty()) out += "family(" + lua(found.family) + ")\n";
  if (!found.prefix.empty()) {
    out += "setenv(" + lua(root_variable(found.name)) + ", " + lua(found.prefix) + ")\n";
    out += "setenv(" + lua("EBVERSION" + root_variable(found.name).substr(6)) + ", " + lua(found.version) +
           ")\n";
  }
  for (const auto& [name, value] : found.variables) out += "setenv(" + lua(name) + ", " + lua(value) + ")\n";
  for (const auto& [name, directories] : found.paths) {
    for (auto one = directories.rbegin(); one != directories.rend(); ++one)
      out += "prepend_path(" + lua(name) + ", " + lua(*one) + ")\n";
  }
  if (!found.links.empty()) out += "prepend_path(\"PATH\", " + lua(links) + ")\n";
  if (found.name == "conda") out += kCondaWarning;
  return out;
}

std::string standard_environment_file(const std::vector<Found>& found) {
  std::string out =
      "-- Made by minke software scan.\n"
      "help(\"The standard environment: a compiler and an MPI library of this machine\\n\")\n"
      "whatis(\"Description: Standard environment\")\n"
      "add_property(\"lmod\", \"sticky\")\n";
  for (const char* name : {"gcc", "openmpi"}) {
    std::string newest;
    for (const Found& one : found) {
      if (one.name == name) newest = one.version;  // versions ascend
    }
    if (!newest.empty()) out += "load(" + lua(std::string(name) + "/" + newest) + ")\n";
  }
  return out;
}

Status write_module_tree(const std::string& home, const std::vector<Found>& found) {
  const std::string modules = modules_path(home), programs = programs_path(home);
  const std::string fresh = modules + "." + std::to_string(::getpid());
  const std::string fresh_programs = programs + "." + std::to_string(::getpid());
  for (const std::string& path :
       {software_path(home), local_modules_path(home), lmod_settings_path(home), fresh, fresh_programs}) {
    if (const Status made = make_directory(path); !made) return made;
  }
  const auto write = [&](const std::string& name, const std::string& version,
                         const std::string& text) -> Status {
    if (const Status made = make_directory(fresh + "/" + name); !made) return made;
    return os::replace_file(fresh + "/" + name + "/" + version + ".lua", text, kMode);
  };
  if (const Status written = write("StdEnv", kStandardEnvironment, standard_environment_file(found));
      !written)
    return written;
  if (const Status written = write("httpproxy", "1.0", kHttpProxy); !written) return written;
  if (const Status written = write("meta-farm", "1.0.3", kMetaFarm); !written) return written;
  std::string list;
  for (Found one : found) {
    list += one.name + "/" + one.version + "\t" + one.program + "\n";
    if (one.name == "python") one.links["virtualenv"] = virtualenv_script(home, one);
    const std::string links = one.name + "-" + one.version;
    if (const Status written = write(one.name, one.version, module_file(one, programs + "/" + links));
        !written)
      return written;
    if (one.links.empty()) continue;
    if (const Status written = write_links(one, fresh_programs + "/" + links); !written) return written;
  }
  const Found own = glost();
  const std::string links = own.name + "-" + own.version;
  if (const Status written = write(own.name, own.version, module_file(own, programs + "/" + links)); !written)
    return written;
  if (const Status written = write_links(own, fresh_programs + "/" + links); !written) return written;
  if (const Status written = os::replace_file(found_path(home), list, kMode); !written) return written;
  std::string package = kSitePackage;
  package.replace(package.find("SOFTWARE"), 8, lua(software_path(home)));
  for (const auto& [name, text] :
       {std::pair<std::string, std::string>{"SitePackage.lua", package}, {"lmodrc.lua", kProperties}}) {
    if (const Status written = os::replace_file(lmod_settings_path(home) + "/" + name, text, kMode); !written)
      return written;
  }
  if (const Status replaced = replace_directory(programs, fresh_programs); !replaced) return replaced;
  return replace_directory(modules, fresh);
}

}  // namespace minke::software
