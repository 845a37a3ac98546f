// An OCI bundle (a config.json, and a root file system) that a script or a task runs in, as Slurm does it
// with an oci.conf: crun or runc reads a copy of config.json in which program, environment and terminal are
// the job's.
//
// All is done by the job's own process, with its user's rights. What the runtime needs lies in memory that
// only this container's namespace has, so that nothing is left behind, however it ends. One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "helpers/containers/own_namespaces.h"

namespace minke::helpers {

struct BundleTerms {
  std::string bundle;                               // its directory; absolute
  std::vector<std::string> arguments, environment;  // of the program; NAME=VALUE
  bool terminal = false;
  std::vector<ContainerMount> mounts;  // beside the bundle's own
  std::string driver;                  // where they show the GPUs' driver; empty: nowhere
  std::string tmp_dir;                 // the job's, seen as /tmp unless the bundle mounts something there
  bool script = false;                 // the first argument is a file, seen as /tmp/slurm/startup
  uint64_t most_files = 0;             // hard limits of the process; 0: none
};

// config.json for the runtime. Pure. Errors: what of it cannot be used.
Result<std::string> adapt_config(const std::string& config, const BundleTerms& terms);

// Does not return unless it fails.
Status run_bundle(const std::string& bundle, std::vector<std::string> arguments, bool script);

}  // namespace minke::helpers
