// `minke man` and `minke completion` for the commands that submit (submit/option_table.h), and for those that
// show, whose tables (options/option.h) are in their files. Any thread.
#pragma once

#include <string>

#include "options/option.h"

namespace minke::cli {

const options::Command& grow_command();
const options::Command& sacct_command();
const options::Command& sacctmgr_command();
const options::Command& sattach_command();
const options::Command& sbcast_command();
const options::Command& scancel_command();
const options::Command& scontrol_command();
const options::Command& scrontab_command();
const options::Command& sdiag_command();
const options::Command& sgather_command();
const options::Command& sinfo_command();
const options::Command& sprio_command();
const options::Command& squeue_command();
const options::Command& sreport_command();
const options::Command& sshare_command();
const options::Command& sstat_command();
const options::Command& strigger_command();
const options::Command& swait_command();

// Each prints, and returns the exit status.
int man(const std::string& page);
int completion(const std::string& shell);

}  // namespace minke::cli
