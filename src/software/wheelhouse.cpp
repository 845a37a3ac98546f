#include "software/wheelhouse.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "os/capture.h"
#include "os/fd.h"
#include "os/files.h"
#include "software/python_files.h"
#include "software/software_home.h"
#include "software/version.h"
#include "text/hex.h"
#include "text/number.h"

namespace minke::software {

namespace fs = std::filesystem;

namespace {

constexpr int kMaxSeconds = 6 * 3600;  // of one pip
constexpr size_t kMaxListBytes = size_t{1} << 20;

class RemovedAtEnd {
 public:
  explicit RemovedAtEnd(std::string path) : path_(std::move(path)) {}
  RemovedAtEnd(const RemovedAtEnd&) = delete;
  ~RemovedAtEnd() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }

 private:
  std::string path_;
};

Result<std::string> sha256_of(const std::string& path) {
  const os::UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return failure_from_errno(path, errno);
  sha256_ctx context;
  sha256_init(&context);
  std::vector<uint8_t> buffer(size_t{1} << 18);
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure_from_errno(path, errno);
    if (got == 0) break;
    sha256_update(&context, static_cast<size_t>(got), buffer.data());
  }
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_digest(&context, sizeof digest, digest);
  return text::to_hex({reinterpret_cast<const char*>(digest), sizeof digest});
}

// "3.11" of 3.11.2.
std::string minor_of(const std::string& version) {
  const size_t first = version.find('.');
  return version.substr(0, version.find('.', first + 1));
}

// Returns pip's error message: its lines that begin with ERROR, or its last ones.
std::string complaint(const std::string& output) {
  std::string errors, last;
  for (const std::string_view line : text::split(output, '\n')) {
    if (line.empty()) continue;
    last = line;
    if (line.starts_with("ERROR:"))
      errors += (errors.empty() ? "" : "; ") + std::string(text::trim(line.substr(6)));
  }
  for (const char* sign : {"Temporary failure in name resolution", "Failed to establish a new connection",
                           "Network is unreachable"}) {
    if (output.find(sign) != std::string::npos)
      return "the package index cannot be reached; this needs the internet (" +
             (errors.empty() ? last : errors) + ")";
  }
  return errors.empty() ? last : errors;
}

// Returns the command for this Python's pip: its own, or that of an environment made for it.
Result<std::vector<std::string>> pip_of(const Python& python, const std::string& stage) {
  const auto own = os::run_captured({python.program, "-m", "pip", "--version"},
                                    {.timeout_seconds = 60, .environment = {"MINKE_PIP=plain"}});
  if (own && own->exit_code == 0) return std::vector<std::string>{python.program, "-m", "pip"};
  const auto made = os::run_captured({python.program, "-m", "venv", stage + "/venv"},
                                     {.timeout_seconds = 300, .environment = {}});
  if (!made) return failure(made.error());
  if (made->exit_code != 0)
    return failure(python.program + " has neither pip nor venv; on Debian: apt-get install python3-venv");
  return std::vector<std::string>{stage + "/venv/bin/python", "-m", "pip"};
}

Status run_pip(std::vector<std::string> pip, const std::vector<std::string>& arguments, bool show) {
  pip.insert(pip.end(), arguments.begin(), arguments.end());
  const auto done = os::run_captured(pip, {.timeout_seconds = kMaxSeconds,
                                           .show = show,
                                           .environment = {"MINKE_PIP=plain", "PIP_CONFIG_FILE",
                                                           "PIP_DISABLE_PIP_VERSION_CHECK=1", "PYTHONPATH"}});
  if (!done) return failure(done.error());
  if (done->exit_code != 0) return failure(complaint(done->output));
  return {};
}

Status make_directory(const std::string& path, mode_t mode) {
  if (const Status made = os::make_directories(path, mode); !made) return made;
  if (::chmod(path.c_str(), mode) != 0) return failure_from_errno(path, errno);
  return {};
}

// Installs virtualenv itself, for one Python.
Status install_tools(const std::string& wheels, const Python& python, const std::vector<std::string>& pip) {
  const std::string tools = wheels + "/tools/" + minor_of(python.version), fresh = tools + ".new";
  std::error_code ignored;
  if (fs::exists(tools, ignored)) return {};
  fs::remove_all(fresh, ignored);
  if (const Status done = run_pip(pip,
                                  {"install", "--quiet", "--no-index", "--no-warn-script-location",
                                   "--find-links", wheels + "/index", "--target", fresh, "virtualenv"},
                                  false);
      !done)
    return done;
  if (::rename(fresh.c_str(), tools.c_str()) != 0) return failure_from_errno(tools, errno);
  return {};
}

}  // namespace

Result<Wheel> parse_wheel_name(const std::string& file) {
  if (!file.ends_with(".whl") || file.size() > 255 || file.find('/') != std::string::npos)
    return failure(file + " is no wheel");
  const std::string stem = file.substr(0, file.size() - 4);
  const auto parts = text::split(stem, '-');
  const bool empty =
      std::any_of(parts.begin(), parts.end(), [](std::string_view part) { return part.empty(); });
  if ((parts.size() != 5 && parts.size() != 6) || empty) return failure(file + " is not named as a wheel is");
  const size_t tags = parts.size() - 3;
  return Wheel{file,
               std::string(parts[0]),
               std::string(parts[1]),
               parts.size() == 6 ? std::string(parts[2]) : "",
               std::string(parts[tags]),
               std::string(parts[tags + 1]),
               std::string(parts[tags + 2])};
}

Result<std::vector<Python>> known_pythons(const std::string& home) {
  const auto list = os::read_file(found_path(home), kMaxListBytes);
  if (!list) return failure("there are no modules yet: minke software scan");
  std::vector<Python> pythons;
  for (const std::string_view line : text::split(*list, '\n')) {
    const size_t tab = line.find('\t');
    if (tab == std::string_view::npos || !line.starts_with("python/3.")) continue;
    pythons.push_back({std::string(line.substr(7, tab - 7)), std::string(line.substr(tab + 1))});
  }
  std::reverse(pythons.begin(), pythons.end());
  return pythons;
}

std::vector<Wheel> wheels_in(const std::string& home) {
  std::vector<Wheel> wheels;
  std::error_code ignored;
  for (fs::directory_iterator entry(wheels_path(home) + "/index", ignored), end; !ignored && entry != end;
       entry.increment(ignored)) {
    if (auto wheel = parse_wheel_name(entry->path().filename().string())) wheels.push_back(std::move(*wheel));
  }
  std::sort(wheels.begin(), wheels.end(), [](const Wheel& a, const Wheel& b) { return a.file < b.file; });
  return wheels;
}

Status prepare_wheelhouse(const std::string& home, bool shared) {
  const std::string wheels = wheels_path(home);
  for (const char* name : {"", "/index", "/store", "/tools"}) {
    if (const Status made = make_directory(wheels + name, 0755); !made) return made;
  }
  // Each user has an own directory there.
  if (const Status made = make_directory(wheel_cache_path(home), shared ? 01777 : 0755); !made) return made;
  const std::string config =
      "# Written by minke software scan.\n"
      "[global]\ndisable-pip-version-check = true\n"
      "[install]\nfind-links = " +
      wheels +
      "/index\nprefer-binary = true\n"
      "[download]\nfind-links = " +
      wheels +
      "/index\n"
      "[wheel]\nfind-links = " +
      wheels + "/index\n";
  for (const auto& [name, text] : {std::pair<const char*, std::string>{"pip.conf", config},
                                   {"minke_virtualenv.py", kVirtualenvFile},
                                   {"_minke_pip.py", kPipFile}}) {
    if (const Status written = os::replace_file(wheels + "/" + name, text, 0644); !written) return written;
  }
  return {};
}

Result<Added> add_wheels(const std::string& home, const std::vector<Python>& pythons,
                         const std::vector<std::string>& arguments) {
  const std::string wheels = wheels_path(home);
  const std::string stage = wheels + "/stage." + std::to_string(::getpid());
  if (const Status made = make_directory(stage, 0700); !made) return failure(made.error());
  const RemovedAtEnd removed(stage);
  std::vector<std::vector<std::string>> pips;
  for (const Python& python : pythons) {
    const std::string own = stage + "/" + python.version;
    if (const Status made = make_directory(own, 0700); !made) return failure(made.error());
    auto pip = pip_of(python, own);
    if (!pip) return failure(pip.error());
    std::vector<std::string> words = {"wheel", "--wheel-dir", stage + "/wheels", "--find-links",
                                      wheels + "/index"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    for (const char* seed : {"pip", "setuptools", "wheel", "virtualenv"}) words.emplace_back(seed);
    if (const Status done = run_pip(*pip, words, ::isatty(STDERR_FILENO) != 0); !done)
      return failure("python/" + python.version + ": " + done.error().message);
    pips.push_back(std::move(*pip));
  }
  Added added;
  std::error_code error;
  std::vector<std::pair<std::string, std::string>> files;  // name, hash
  for (fs::directory_iterator entry(stage + "/wheels", error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (const auto wheel = parse_wheel_name(name); !wheel) return failure(wheel.error());
    const auto hash = sha256_of(entry->path().string());
    if (!hash) return failure(hash.error());
    files.emplace_back(name, *hash);
  }
  if (error) return failure_from_errno(stage, error.value());
  std::sort(files.begin(), files.end());
  for (const auto& [name, hash] : files) {
    const std::string stored = wheels + "/store/" + hash, listed = wheels + "/index/" + name;
    if (::access(listed.c_str(), F_OK) == 0) {
      ++added.known;  // an existing wheel of this name stays
      continue;
    }
    const std::string fresh = stage + "/wheels/" + name;
    if (::chmod(fresh.c_str(), 0444) != 0) return failure_from_errno(fresh, errno);
    if (::access(stored.c_str(), F_OK) != 0 && ::rename(fresh.c_str(), stored.c_str()) != 0)
      return failure_from_errno(stored, errno);
    if (::link(stored.c_str(), listed.c_str()) != 0) return failure_from_errno(listed, errno);
    added.fresh.push_back(name);
  }
  for (size_t i = 0; i < pythons.size(); ++i) {
    if (const Status done = install_tools(wheels, pythons[i], pips[i]); !done) return failure(done.error());
  }
  return added;
}

}  // namespace minke::software
