// A slurm.conf, beside minke.toml or in its place: nodes, partitions and parameters in Slurm's words.
//
// What it sets comes before what minke.toml sets; nodes that it declares are all that there are, and so are
// its partitions. A parameter of Slurm's that nothing here answers to is passed over, and named in
// Configuration::unused; one that Slurm does not know is an error, as in Slurm.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/configuration.h"

namespace minke::model {
class NodeRecord;
}  // namespace minke::model

namespace minke::config {

struct SlurmConfFile {
  std::string path;  // for messages, and to find the files that it includes
  std::string text;
};

// Reads a file that another one includes.
using ReadFile = std::function<Result<std::string>(const std::string& path)>;

// `machine`: what nodes do not say of themselves. Errors name file and line. Pure but for `read`.
Status apply_slurm_conf(const SlurmConfFile& file, const model::NodeRecord& machine, const ReadFile& read,
                        Configuration& config);

}  // namespace minke::config
