// What a container sees of a job's GPUs: the device files, of which the job's control group lets it open its
// own, and the driver's libraries and programs, which must be those of the running kernel's driver. One
// thread.
#pragma once

#include <string>
#include <vector>

#include "helpers/containers/own_namespaces.h"

namespace minke::helpers {

// Nothing if the job has no GPU. `driver`: where the container has the driver, with libraries in lib64 and
// programs in bin. `environment`: NAME=VALUE.
std::vector<ContainerMount> gpu_mounts(const std::string& driver,
                                       const std::vector<std::string>& environment);

// Adds these directories to LD_LIBRARY_PATH and PATH. Pure.
void add_driver(const std::string& driver, std::vector<std::string>& environment);

// Of the names in a directory of libraries: those of NVIDIA's driver. Pure.
bool is_driver_library(const std::string& name);

}  // namespace minke::helpers
