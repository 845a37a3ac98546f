#include "helpers/containers/gpu_files.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace minke::helpers {

namespace {

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.c_str()), ::closedir);
  while (const dirent* entry = open ? ::readdir(open.get()) : nullptr)
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  std::sort(names.begin(), names.end());
  return names;
}

bool has_gpus(const std::vector<std::string>& environment) {
  return std::any_of(environment.begin(), environment.end(), [](const std::string& one) {
    for (const std::string_view name : {"CUDA_VISIBLE_DEVICES=", "ROCR_VISIBLE_DEVICES="})
      if (one.starts_with(name)) return one.size() > name.size() && one.substr(name.size()) != "NoDevFiles";
    return false;
  });
}

void append_to(std::vector<std::string>& environment, const std::string& name, const std::string& directory) {
  for (std::string& one : environment) {
    if (!one.starts_with(name + "=")) continue;
    one += (one.size() > name.size() + 1 ? ":" : "") + directory;
    return;
  }
  if (name != "PATH") environment.push_back(name + "=" + directory);
}

}  // namespace

bool is_driver_library(const std::string& name) {
  if (name.find(".so") == std::string::npos) return false;
  const auto is = [&](std::string_view prefix) { return name.starts_with(prefix); };
  return is("libcuda.so") || is("libcudadebugger.so") || is("libnvidia-") || is("libnvcuvid.so") ||
         is("libnvoptix.so") || is("libGLX_nvidia.so") || is("libEGL_nvidia.so") || is("libGLESv2_nvidia.so");
}

std::vector<ContainerMount> gpu_mounts(const std::string& driver,
                                       const std::vector<std::string>& environment) {
  std::vector<ContainerMount> mounts;
  if (!has_gpus(environment)) return mounts;
  for (const std::string& name : names_in("/dev"))
    if (name.starts_with("nvidia") || name == "kfd" || name == "dri")
      mounts.push_back({"/dev/" + name, "/dev/" + name, false, true});
  for (const char* directory : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64",
                                "/usr/lib/x86_64-linux-gnu/nvidia/current", "/usr/local/nvidia/lib64"}) {
    if (::access((std::string(directory) + "/libcuda.so.1").c_str(), R_OK) != 0) continue;
    for (const std::string& name : names_in(directory))
      if (is_driver_library(name))
        mounts.push_back({std::string(directory) + "/" + name, driver + "/lib64/" + name, true, false});
    break;
  }
  for (const char* program : {"nvidia-smi", "nvidia-debugdump", "nvidia-cuda-mps-control"}) {
    const std::string path = std::string("/usr/bin/") + program;
    if (::access(path.c_str(), X_OK) == 0) mounts.push_back({path, driver + "/bin/" + program, true, false});
  }
  return mounts;
}

void add_driver(const std::string& driver, std::vector<std::string>& environment) {
  append_to(environment, "LD_LIBRARY_PATH", driver + "/lib64");
  append_to(environment, "PATH", driver + "/bin");
}

}  // namespace minke::helpers
