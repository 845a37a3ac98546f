// The words put before every task's program (also a script's) if TaskProlog or TaskEpilog are configured:
// `minke task --system` (cli/srun/task.h), which runs as the job's user. Pure.
#pragma once

#include <string>
#include <vector>

#include "config/prologs.h"
#include "os/helper_program.h"

namespace minke::engine {

inline std::vector<std::string> task_prolog_words(const config::PrologConfiguration& config, bool script) {
  if (config.task_prolog.empty() && config.task_epilog.empty()) return {};
  std::vector<std::string> words =
      os::helper_command(os::Helper::kTask, {script ? "--system=script" : "--system=task"});
  if (!config.task_prolog.empty()) words.push_back("--prolog=" + config.task_prolog);
  if (!config.task_epilog.empty()) words.push_back("--epilog=" + config.task_epilog);
  words.emplace_back("--");
  return words;
}

}  // namespace minke::engine
