// The commands under Slurm's names, and minke itself: main() calls one by the name that it was called by.
//
// Each is the main() of its command: it reads its arguments, writes to stdout and stderr, and returns the
// exit status. One thread; each is called at most once in a process.
#pragma once

namespace minke::cli {

int sbatch_main(int argc, char** argv);
int sbcast_main(int argc, char** argv);
int sgather_main(int argc, char** argv);
int salloc_main(int argc, char** argv);
int srun_main(int argc, char** argv);
int strigger_main(int argc, char** argv);
int swait_main(int argc, char** argv);
int sattach_main(int argc, char** argv);
int scancel_main(int argc, char** argv);
int squeue_main(int argc, char** argv);
int sq_main(int argc, char** argv);
int sinfo_main(int argc, char** argv);
int sacct_main(int argc, char** argv);
int sacctmgr_main(int argc, char** argv);
int scontrol_main(int argc, char** argv);
int scrontab_main(int argc, char** argv);
int sdiag_main(int argc, char** argv);
int sprio_main(int argc, char** argv);
int sshare_main(int argc, char** argv);
int sstat_main(int argc, char** argv);
int sreport_main(int argc, char** argv);
int seff_main(int argc, char** argv);
int sqsub_main(int argc, char** argv);
int sqjobs_main(int argc, char** argv);
int sqkill_main(int argc, char** argv);
int sqsuspend_main(int argc, char** argv);
int sqresume_main(int argc, char** argv);
int sqhosts_main(int argc, char** argv);
int lfs_main(int argc, char** argv);
int setrpaths_main(int argc, char** argv);
int minke_main(int argc, char** argv);

}  // namespace minke::cli
