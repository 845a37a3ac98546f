// The helper programs that os/helper_program.h starts. Each is the main() of its program: it returns
// the exit status, and is called at most once in a process. Those of more than one function have
// headers of their own.
#pragma once

#include <string>

namespace minke::helpers {

int mailer(const std::string& home, const std::string& configuration);
// One part of a chain: the batch script of `minke chain` calls it.
int chain_part_main(int argc, char** argv);
int task_main(int argc, char** argv);
int container_main(int argc, char** argv);
int trigger_program_main(int argc, char** argv);
int storage_count_main(int argc, char** argv);
int storage_keep_main(int argc, char** argv);
int storage_watch_main(int argc, char** argv);
int stage_server_main(int argc, char** argv);

// The directory where storage-watch publishes its counts, in a cluster's home.
std::string live_directory(const std::string& home);
// The list of what is to be purged from a directory of scratch.
std::string purge_list(const std::string& path);

}  // namespace minke::helpers
