// The configuration as the daemon reads it, at its start and at `scontrol reconfigure`: what only a shared
// cluster has, and combinations that would give up what one of them promises.
//
// The state's thread.
#pragma once

#include <string>
#include <vector>

#include "api/daemon.pb.h"
#include "base/result.h"
#include "config/configuration.h"

namespace minke::engine {

// Creates a slurm.conf for users who look for one, if there is none; its comments say what it does.
void offer_slurm_conf(const std::string& home);

// `given_path`: of minke.toml; empty: the usual place, where it may have been created since.
Result<config::Configuration> read_cluster_configuration(const std::string& home,
                                                         const std::string& given_path,
                                                         const model::NodeRecord& machine);

// The files that the configuration came from, and missing files that were searched.
std::vector<api::ConfigurationFile> files_of(const config::Configuration& config);

}  // namespace minke::engine
