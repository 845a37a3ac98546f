#include "environment/container_words.h"

#include "model/container.pb.h"
#include "model/job_spec.pb.h"

namespace minke::environment {

std::vector<std::string> container_words(const model::JobSpec& spec, bool script) {
  std::vector<std::string> words;
  if (!spec.container().empty()) {
    const bool absolute = spec.container().starts_with('/');
    words.push_back("--bundle=" + (absolute ? "" : spec.work_dir() + "/") + spec.container());
  } else if (spec.has_container_image()) {
    const model::ContainerImage& image = spec.container_image();
    const auto add = [&](const char* option, const std::string& value) {
      if (!value.empty()) words.push_back(option + value);
    };
    add("--image=", image.image());
    add("--name=", image.name());
    add("--workdir=", image.work_dir());
    for (const std::string& mount : image.mounts()) add("--mount=", mount);
    for (const std::string& name : image.environment()) add("--keep=", name);
    if (image.has_mount_home()) words.emplace_back(image.mount_home() ? "--home" : "--no-home");
    if (image.remap_root()) words.emplace_back("--root");
    if (image.has_writable()) words.emplace_back(image.writable() ? "--writable" : "--readonly");
  } else {
    return {};
  }
  if (script) words.emplace_back("--script");
  words.emplace_back("--");
  return words;
}

}  // namespace minke::environment
