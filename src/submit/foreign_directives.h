// The #PBS and #BSUB lines of scripts written for other batch systems, as sbatch options.
//
// As in Slurm they may stand anywhere in the script, take precedence over its #SBATCH lines, and have
// only these letters:
//   #PBS   -a -A -e -h -J -l -m -M -N -o -p -q -r -t -v -W depend= and umask=;
//          taken without effect:
//          -c -C -I -j -k -S -u -V -z
//   #BSUB  -c -cwd -e -J -m -M -n -o -q -W -x
// Pure; may be called from any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace minke::submit {

struct ForeignOptions {
  std::vector<std::string> arguments;  // "--nodes=2", as on a command line; #PBS before #BSUB
  std::optional<std::string> umask;    // of "-W umask=", octal
};

// Fails with Slurm's words on a letter that is unknown or lacks its value.
Result<ForeignOptions> read_foreign_directives(std::string_view script);

}  // namespace minke::submit
