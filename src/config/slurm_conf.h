// A slurm.conf, beside minke.toml or in its place: nodes, partitions and parameters in Slurm's words.
//
// Its settings override those of minke.toml; if it declares nodes, there are no others, and the same is true
// of partitions. A parameter of Slurm without effect here is ignored, and named in Configuration::unused; one
// that Slurm does not know is an error, as in Slurm.
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

// `machine` has the defaults of nodes; `gres`, if given, is the gres.conf beside it. Errors name file and
// line. Pure but for `read`.
Status apply_slurm_conf(const SlurmConfFile& file, const model::NodeRecord& machine, const ReadFile& read,
                        Configuration& config, const SlurmConfFile* gres = nullptr);

}  // namespace minke::config
