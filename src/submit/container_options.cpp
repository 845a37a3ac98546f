// The setters of --container and of pyxis' options. Paths become absolute here, where the user's working
// directory is known; whether they exist is seen where the container starts, with the user's rights. What
// would need a registry is refused: jobs may have no network, and nothing here asks one.
#include "submit/container_options.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "model/container.pb.h"
#include "submit/setters.h"

namespace minke::submit {

namespace set {

namespace {

constexpr int kMostMounts = 256;

std::string from_work_dir(const Assignment& to, std::string_view path) {
  if (path.empty() || path.starts_with('/')) return std::string(path);
  while (path.starts_with("./")) path.remove_prefix(2);
  if (path == ".") path = "";
  std::string out = to.invocation.working_directory;
  if (!path.empty() && !out.ends_with('/')) out += '/';
  return out.append(path);
}

bool names_file(std::string_view image) {
  const auto ends = [&](std::string_view suffix) { return image.ends_with(suffix); };
  return image.starts_with('/') || image.starts_with("./") || image.starts_with("../") || ends(".sqsh") ||
         ends(".squashfs") || ends(".sqfs") || ends(".sif");
}

bool is_mount_flag(std::string_view flag) {
  constexpr std::string_view kFlags[] = {"ro",       "rw",    "bind",   "rbind",  "private",
                                         "rprivate", "slave", "rslave", "nosuid", "nodev"};
  return std::find(std::begin(kFlags), std::end(kFlags), flag) != std::end(kFlags) ||
         flag.starts_with("x-create=");
}

// One of --container-mounts: "/SRC:/DST[:FLAGS]".
Result<std::string> mount_of(const Assignment& to, std::string_view text) {
  const auto parts = text::split(text, ':');
  const auto bad = [&](const std::string& why) {
    return failure("--container-mounts: \"" + std::string(text) + "\": " + why + "; write SRC[:DST[:FLAGS]]",
                   kFailureStatus);
  };
  if (parts.empty() || parts.size() > 3 || parts[0].empty()) return bad("it is no mount");
  const std::string source = from_work_dir(to, parts[0]);
  const std::string target = parts.size() > 1 && !parts[1].empty() ? std::string(parts[1]) : source;
  if (!target.starts_with('/')) return bad("the path in the container must be absolute");
  std::string made = source + ":" + target;
  if (parts.size() < 3) return made;
  for (const std::string_view flag : text::split(parts[2], '+'))
    if (!is_mount_flag(flag)) return bad("the flag \"" + std::string(flag) + "\" is not known");
  return made.append(":").append(parts[2]);
}

}  // namespace

Status container_image(const Assignment& to) {
  const std::string_view image = to.text();
  model::ContainerImage& asked = *to.request.spec.mutable_container_image();
  for (const std::string_view kind : {"oci:", "oci-archive:"}) {
    if (!image.starts_with(kind) || image.starts_with("oci://")) continue;
    asked.set_image(std::string(kind) + from_work_dir(to, image.substr(kind.size())));
    return {};
  }
  if (!names_file(image))
    return failure(
        "--container-image: \"" + std::string(image) +
            "\" is in a registry, and images are not fetched from there; copy it first, as by "
            "\"skopeo copy docker://NAME oci:DIR:TAG\" (then --container-image=oci:DIR:TAG), or as "
            "a file, by \"enroot import docker://NAME\" or \"apptainer pull docker://NAME\"",
        kFailureStatus);
  asked.set_image(from_work_dir(to, image));
  return {};
}

Status container_mounts(const Assignment& to) {
  model::ContainerImage& asked = *to.request.spec.mutable_container_image();
  asked.clear_mounts();
  for (const std::string_view one : text::split(to.text(), ',')) {
    const auto mount = mount_of(to, one);
    if (!mount) return failure(mount.error());
    *asked.add_mounts() = *mount;
  }
  if (asked.mounts_size() > kMostMounts)
    return failure("--container-mounts: more than 256 mounts", kFailureStatus);
  return {};
}

Status container_name(const Assignment& to) {
  std::string_view name = to.text();
  for (const std::string_view mode : {":auto", ":create", ":no_exec", ":exec"})
    if (name.ends_with(mode)) name.remove_suffix(mode.size());
  const bool good = !name.empty() && name.size() <= 128 && name.front() != '.' &&
                    std::all_of(name.begin(), name.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                             c == '.' || c == '_' || c == '-';
                    });
  if (!good)
    return failure(
        "--container-name: a name has up to 128 letters, digits, '-', '_' and '.', and does not "
        "begin with '.'",
        kFailureStatus);
  to.request.spec.mutable_container_image()->set_name(std::string(name));
  return {};
}

Status container_workdir(const Assignment& to) {
  if (!to.text().starts_with('/'))
    return failure("--container-workdir: the path in the container must be absolute", kFailureStatus);
  to.request.spec.mutable_container_image()->set_work_dir(std::string(to.text()));
  return {};
}

Status container_env(const Assignment& to) {
  model::ContainerImage& asked = *to.request.spec.mutable_container_image();
  asked.clear_environment();
  for (const std::string_view name : text::split(to.text(), ','))
    if (!name.empty()) asked.add_environment(std::string(name));
  return {};
}

}  // namespace set

std::optional<Refusal> check_container(const Invocation& invocation, JobRequest& request) {
  if (!request.spec.has_container_image()) return std::nullopt;
  const model::ContainerImage& image = request.spec.container_image();
  if (!request.spec.container().empty())
    return refuse(invocation, "--container (an OCI bundle) and --container-image are mutually exclusive", 1);
  if (image.image().empty() && image.name().empty())
    return refuse(invocation, "--container-mounts and the like need --container-image, or --container-name",
                  1);
  return std::nullopt;
}

}  // namespace minke::submit
