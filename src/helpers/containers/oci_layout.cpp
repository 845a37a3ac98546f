#include "helpers/containers/oci_layout.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include <nlohmann/json.hpp>

#include "os/capture.h"
#include "os/fd.h"
#include "os/files.h"
#include "os/pipe.h"
#include "storage/failures.h"
#include "storage/remove_tree.h"
#include "storage/run_program.h"
#include "text/number.h"

namespace minke::helpers {

namespace {

using Json = nlohmann::json;
constexpr size_t kMostJsonBytes = size_t{16} << 20;
constexpr size_t kMostNames = size_t{64} << 20;
constexpr int kMostLayers = 1024, kMostDepth = 4;

std::string text_at(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}
const Json& member(const Json& object, const char* name) {
  static const Json kNone;
  const auto found = object.is_object() ? object.find(name) : object.end();
  return found != object.end() ? *found : kNone;
}

Result<Json> read_json(const std::string& path) {
  const auto text = os::read_file(path, kMostJsonBytes);
  if (!text) return failure(text.error());
  Json read = Json::parse(*text, nullptr, false);
  if (!read.is_object()) return failure(path + ": it is no JSON object, as an OCI layout has it");
  return read;
}

// "sha256:abc…" as a file of the layout.
Result<std::string> blob_of(const std::string& directory, const Json& descriptor) {
  const std::string digest = text_at(descriptor, "digest");
  const size_t colon = digest.find(':');
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (colon == std::string::npos || colon == 0 || colon + 1 >= digest.size() || digest.size() > 256 ||
      !std::all_of(digest.begin(), digest.end(), [&](char c) { return c == ':' || plain(c); }))
    return failure(directory + ": \"" + digest + "\" is no digest of a blob");
  return directory + "/blobs/" + digest.substr(0, colon) + "/" + digest.substr(colon + 1);
}

std::string own_architecture() {
  utsname machine{};
  ::uname(&machine);
  const std::string name = machine.machine;
  return name == "x86_64" ? "amd64" : name == "aarch64" ? "arm64" : name;
}

// The manifest of this machine's kind in an index, which may hold other indexes.
Result<Json> find_manifest(const std::string& directory, const Json& index, const std::string& tag,
                           int depth) {
  const Json* chosen = nullptr;
  std::string tags;
  for (const Json& one : member(index, "manifests")) {
    const std::string name = text_at(member(one, "annotations"), "org.opencontainers.image.ref.name");
    if (!name.empty()) tags += " " + name;
    if (!tag.empty() && name != tag) continue;
    const std::string architecture = text_at(member(one, "platform"), "architecture");
    if (!architecture.empty() && architecture != own_architecture()) continue;
    if (chosen == nullptr) chosen = &one;
  }
  if (chosen == nullptr || depth > kMostDepth)
    return failure(directory + ": it has no image " + (tag.empty() ? "for this machine" : "\"" + tag + "\"") +
                   (tags.empty() ? "" : "; it has:" + tags));
  const auto path = blob_of(directory, *chosen);
  if (!path) return failure(path.error());
  auto manifest = read_json(*path);
  if (!manifest || !member(*manifest, "manifests").is_array()) return manifest;
  return find_manifest(directory, *manifest, "", depth + 1);
}

// The directory of `path`, and its last part.
std::pair<std::string, std::string> parts_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {"", path};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

void remove(const std::string& path) {
  storage::Failures ignored;
  (void)storage::remove_tree(AT_FDCWD, path, ignored);
}

Status hide(const std::string& layer, const std::string& directory) {
  constexpr std::string_view kMark = ".wh.", kAll = ".wh..wh..opq";
  // tar complains where there is none.
  constexpr char kList[] =
      "exec tar --list --file \"$1\" --force-local --quoting-style=literal --wildcards --anchored '.wh.*' "
      "'*/.wh.*' 2>/dev/null";
  const auto listed = os::run_captured({"/bin/sh", "-c", kList, "sh", layer}, {.timeout_seconds = 3600,
                                                                               .limit = kMostNames,
                                                                               .with_standard_error = false,
                                                                               .environment = {"LC_ALL=C"}});
  if (!listed) return failure(listed.error());
  for (const std::string_view line : text::split(listed->output, '\n')) {
    const auto [parent, name] = parts_of(std::string(line));
    if (!name.starts_with(kMark)) continue;
    const std::string in = directory + "/" + parent;
    if (name == kAll) {
      for (const std::string& one : names_in(in)) remove(in + "/" + one);
    } else if (const std::string hidden = name.substr(kMark.size());
               hidden != "." && hidden != ".." && !hidden.empty()) {
      remove(in + "/" + hidden);
    }
  }
  return {};
}

Status keep_others_unchanged(const std::string& directory) {
  if (const Status bound = mount_bound(directory, directory, false, false); !bound) return bound;
  if (const Status closed = make_read_only("/", true); !closed) return closed;
  mount_attr attributes{};
  attributes.attr_clr = MOUNT_ATTR_RDONLY;
  if (::syscall(SYS_mount_setattr, AT_FDCWD, directory.c_str(), 0, &attributes, sizeof attributes) != 0)
    return failure_from_errno(directory, errno);
  return {};
}

}  // namespace

Result<OciImage> read_oci_layout(const std::string& directory, const std::string& tag) {
  const auto index = read_json(directory + "/index.json");
  if (!index) return failure(index.error());
  const auto manifest = find_manifest(directory, *index, tag, 0);
  if (!manifest) return failure(manifest.error());
  OciImage image;
  for (const Json& layer : member(*manifest, "layers")) {
    auto path = blob_of(directory, layer);
    if (!path) return failure(path.error());
    image.layers.push_back(std::move(*path));
  }
  if (image.layers.empty() || image.layers.size() > kMostLayers)
    return failure(directory + ": the image has no layers, or more than 1024");
  const auto path = blob_of(directory, member(*manifest, "config"));
  if (!path) return failure(path.error());
  const auto config = read_json(*path);
  if (!config) return failure(config.error());
  const Json& settings = member(*config, "config");
  image.settings.work_dir = text_at(settings, "WorkingDir");
  for (const Json& one : member(settings, "Env"))
    if (one.is_string()) image.settings.environment.push_back(one.get<std::string>());
  return image;
}

Status work_confined(const std::string& directory, const std::function<Status()>& work) {
  auto pipe = os::make_pipe();
  if (!pipe) return failure(pipe.error());
  auto& [reader, writer] = *pipe;
  const pid_t child = ::fork();
  if (child < 0) return failure_from_errno("fork", errno);
  if (child == 0) {
    Status done = enter_own_namespaces(true);
    if (done) done = keep_others_unchanged(directory);
    if (done) done = work();
    if (!done) (void)!::write(writer.get(), done.error().message.data(), done.error().message.size());
    ::_exit(done ? 0 : 1);
  }
  writer.reset();
  std::string message;
  char buffer[4096];
  for (ssize_t got; (got = ::read(reader.get(), buffer, sizeof buffer)) != 0;) {
    if (got > 0) message.append(buffer, static_cast<size_t>(got));
    if (got < 0 && errno != EINTR) break;
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  return failure(message.empty() ? "a signal ended the unpacking" : message);
}

Status apply_layer(const std::string& layer, const std::string& directory) {
  if (::access(layer.c_str(), R_OK) != 0) return failure_from_errno(layer, errno);
  if (const Status hidden = hide(layer, directory); !hidden) return hidden;
  return storage::run_program({"tar", "--extract", "--file", layer, "--directory", directory, "--force-local",
                               "--no-same-owner", "--same-permissions", "--delay-directory-restore",
                               "--exclude=.wh.*", "--anchored", "--exclude=dev/*", "--exclude=./dev/*"});
}

}  // namespace minke::helpers
