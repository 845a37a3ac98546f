// A gres.conf, beside slurm.conf: what it says of the GRES that slurm.conf gives to nodes.
//
// As in Slurm, the numbers and types are those of slurm.conf: what gres.conf has beyond them is named in
// Configuration::unused. It adds flags (explicit), and it has to name a file for each GPU that is counted.
#pragma once

#include <set>
#include <string>

#include "base/result.h"
#include "config/configuration.h"
#include "config/slurm_conf.h"

namespace minke::config {

// `config` has the nodes already. `types`: GresTypes. Errors name file and line. Pure but for `read`.
Status apply_gres_conf(const SlurmConfFile& file, const ReadFile& read, const std::set<std::string>& types,
                       Configuration& config);

}  // namespace minke::config
