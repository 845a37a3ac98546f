// META-Farm's commands, as its users know them (https://docs.alliancecan.ca/wiki/META-Farm). All but
// farm_init.run run in a farm's directory.
//
// Each is the main() of its command: it returns the exit status, and is called at most once in a process.
#pragma once

namespace minke::cli {

int farm_init_main(int argc, char** argv);
int submit_run_main(int argc, char** argv);
int resubmit_run_main(int argc, char** argv);
int list_run_main(int argc, char** argv);
int query_run_main(int argc, char** argv);
int kill_run_main(int argc, char** argv);
int prune_run_main(int argc, char** argv);
int status_run_main(int argc, char** argv);
int clean_run_main(int argc, char** argv);
int task_run_main(int argc, char** argv);     // in a metajob: takes cases and runs them
int autojob_run_main(int argc, char** argv);  // in the job behind a farm: resubmits, or submits final.sh

}  // namespace minke::cli
