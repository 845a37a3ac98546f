// The commands for files: minke storage, data, cp, sync, pack, unpack, stage. Each is the main() of its
// command, as in cli/commands.h.
#pragma once

#include <string>

namespace minke::cli {

int storage_main(int argc, char** argv);
int cp_main(int argc, char** argv);
int sync_main(int argc, char** argv);
int pack_main(int argc, char** argv);
int unpack_main(int argc, char** argv);
int data_main(int argc, char** argv);
int stage_main(int argc, char** argv);
int diskusage_report_main(int argc, char** argv);
int shownicerquota_main(int argc, char** argv);
int staged_script_main(int argc, char** argv);
int restore_main(int argc, char** argv);

// minke storage usage, and init: for this user, or as root for another. They return the exit status.
int storage_usage(bool json);
int storage_init(const std::string& user);
// Returns exit status 1 if something is wrong, and was not fixed.
int storage_doctor(const std::string& user, bool mend, bool json);

}  // namespace minke::cli
