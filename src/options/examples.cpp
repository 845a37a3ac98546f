#include "options/examples.h"

#include <algorithm>
#include <iterator>

#include "options/help.h"

namespace minke::options {
namespace {

constexpr Example kExamples[] = {
    {"sbatch", "sbatch job.sh", "submit a script"},
    {"sbatch", "sbatch --time=1:00:00 --mem=8G --gpus=1 job.sh", "with a limit, memory and a GPU"},
    {"sbatch", "sbatch --array=0-99%4 job.sh", "100 tasks, 4 at a time"},
    {"sbatch", "sbatch --dependency=afterok:12 next.sh", "after job 12 has succeeded"},
    {"sbatch", "sbatch --test-only job.sh", "only say when it would start"},
    {"srun", "srun --time=10 hostname", "run a program in a job, and wait"},
    {"srun", "srun --pty bash", "a shell in a job"},
    {"srun", "srun --ntasks=4 ./mpi_program", "four tasks, in a job script or outside"},
    {"salloc", "salloc --time=1:00:00 --gpus=1", "an allocation with a shell"},
    {"squeue", "squeue --me", "your jobs"},
    {"squeue", "squeue --me --start", "when they are expected to start"},
    {"sq", "sq", "your jobs, in the Alliance's columns"},
    {"sinfo", "sinfo", "partitions and nodes"},
    {"sinfo", "sinfo -N -l", "a line for each node"},
    {"scancel", "scancel 12", "end job 12"},
    {"scancel", "scancel --me --state=PENDING", "end all of your waiting jobs"},
    {"scancel", "scancel 12_[3-5]", "end three tasks of an array"},
    {"sacct", "sacct -j 12", "the record of job 12"},
    {"sacct", "sacct -X --starttime=now-7days --format=JobID,JobName,State,Elapsed",
     "your jobs of the last week"},
    {"seff", "seff 12", "what job 12 used of what it held"},
    {"scontrol", "scontrol show job 12", "all that is known of job 12"},
    {"scontrol", "scontrol update jobid=12 timelimit=2:00:00", "change a waiting job"},
    {"scontrol", "scontrol hold 12", "do not start it until scontrol release 12"},
    {"scrontab", "scrontab -e", "edit your jobs that recur"},
    {"sacctmgr", "sacctmgr add user ada account=lab", "let ada run jobs"},
    {"sacctmgr", "sacctmgr show assoc tree", "accounts, users, limits"},
    {"sreport", "sreport cluster AccountUtilizationByUser start=2026-11-01", "who used how much"},
    {"sstat", "sstat 12", "what the steps of a running job use"},
    {"sshare", "sshare -a", "shares, and what was used of them"},
    {"sprio", "sprio -l", "what waiting jobs' priorities are made of"},
    {"sdiag", "sdiag", "statistics of the scheduler"},
    {"sattach", "sattach 12.0", "see the output of a step"},
    {"sbcast", "sbcast data.bin /tmp/data.bin", "in a job: a file to all of its nodes"},
    {"sgather", "sgather /tmp/result result", "in a job: a file from each of its nodes"},
    {"strigger", "strigger --set --jobid=12 --fini --program=/home/me/ended",
     "run a program when job 12 ends"},
    {"swait", "swait 12", "wait until no step of job 12 runs"},
    {"minke why", "minke why 12", "what job 12 waits for, or how it ended"},
    {"minke why", "minke why 12_3", "a task of an array"},
    {"minke tail", "minke tail 12", "the last lines that job 12 wrote"},
    {"minke tail", "minke tail -f 12_3", "go on as it writes, until it ends"},
    {"minke redo", "minke redo 12", "submit job 12 again, with its script and options"},
    {"minke redo", "minke redo --failed 12", "of an array, the tasks that failed"},
    {"minke edit", "minke edit 12", "change time, partition, … of a waiting job"},
    {"minke wait", "minke wait 12 --desktop &", "a note on the desktop when job 12 has ended"},
    {"minke wait", "minke wait 12 --webhook https://example.org/hook", "tell a chat of it"},
    {"minke pause", "minke pause", "nothing new starts until minke resume"},
    {"minke pause", "minke pause --mine", "hold your waiting jobs"},
    {"minke resume", "minke resume", "start jobs again"},
    {"minke jobs", "minke jobs", "your jobs: waiting, running, ended in the last day"},
    {"minke jobs", "minke jobs --since now-7days", "of the last week"},
    {"minke jobs", "minke jobs --metric val_acc --sort", "ranked by what their training wrote"},
    {"minke metrics", "minke metrics -f 12", "curves of its training, as it runs"},
    {"minke runs", "minke runs --upload", "have wandb upload runs that jobs left here"},
    {"minke top", "minke top", "what running jobs use, until you press q"},
    {"minke top", "minke top --once", "once, for a file or a script"},
    {"minke portal", "minke portal --open", "the cluster in your browser"},
    {"minke up", "minke up", "start your own cluster"},
    {"minke up", "sudo minke up --shared", "one for all users of the machine"},
    {"minke down", "minke down", "stop it; waiting jobs are kept"},
    {"minke status", "minke status", "what runs, and where its files are"},
    {"minke doctor", "minke doctor", "what is wrong here, and the command that mends it"},
    {"minke backup", "minke backup minke-2026-11-28.db", "a copy of the records, while it runs"},
    {"minke backup", "minke backup --restore minke-2026-11-28.db", "back to that copy, after minke down"},
    {"minke log", "minke log -f", "the daemon's log as it grows"},
    {"minke env", "eval \"$(minke env)\"", "Slurm's commands in this shell"},
    {"minke env", "minke env --install", "in every shell of yours"},
    {"minke man", "minke man sbatch | man -l -", "a manual page"},
    {"minke completion", "eval \"$(minke completion bash)\"", "completion in this shell"},
    {"minke help", "minke help submit", "a topic"},
    {"minke help", "minke help tail", "the options of a command"},
    {"minke version", "minke version", "this program's version, and the Slurm that it speaks"},
    {"minke setup", "sudo minke setup", "asks five questions, and sets a shared machine up"},
    {"minke self", "minke self update minke-0.2.0-linux-x86_64.tar.gz",
     "a newer program in this one's place"},
    {"minke self", "minke self uninstall", "remove it, with what it put into shells"},
    {"minke accounting", "minke accounting export jobs.txt", "the record of all jobs, to import elsewhere"},
    {"minke accounting", "minke accounting purge --before now-365days", "forget what ended long ago"},
    {"minke usage", "minke usage", "core-years and GPU equivalents of your accounts"},
    {"minke simulate", "minke simulate cluster --policy easy,conservative",
     "last months' jobs under two policies"},
    {"minke estimate", "minke estimate 8B --for lora", "GPU memory to adapt a model of 8 billion parameters"},
    {"minke chain", "minke chain --total 72h --each 3h job.sh", "24 parts, one after the other"},
    {"minke farm", "minke farm run table --jobs 2 -- ./case.sh {}",
     "the lines of a table as cases, in two jobs"},
    {"minke sweep", "minke sweep run sweep.yaml", "begin the search that the file describes"},
    {"minke grow", "minke grow plan n1 n2", "what a cluster of these machines would be"},
    {"minke storage", "minke storage scan --top 10 data", "what a directory holds, and where most files are"},
    {"minke cp", "minke cp data /scratch/me/data", "copy a tree"},
    {"minke sync", "minke sync data /scratch/me/data", "make one directory what another is"},
    {"minke pack", "minke pack images --to images.sqsh", "one file of many small ones"},
    {"minke unpack", "minke unpack images.sqsh --to images", "and back"},
    {"minke stage", "minke stage images.sqsh", "in a job: on the node's own disk"},
    {"minke data", "minke data advise images", "where a directory of data belongs"},
    {"minke restore", "minke restore thesis.tex", "which versions snapshots have"},
    {"minke restore", "minke restore --latest thesis.tex", "bring the latest back"},
    {"minke software", "minke software scan", "make modules of what the machine has"},
    {"minke wheels", "minke wheels add numpy", "keep Python's wheels for jobs without a network"},
    {"minke carry", "minke carry take moving", "write all that is known to a directory, for a real Slurm"},
    {"minke guard", "sudo minke guard on", "GPUs for jobs alone"},
    {"minke agent", "minke agent --print-unit", "measure jobs on a node of a Slurm cluster"},
    {"minke poll", "minke poll --print-unit", "ask slurmctld for all users of a login node"},
    {"minke adopt", "minke adopt --allow admins", "in PAM: put a login into its user's job"},
    {"avail_wheels", "avail_wheels torch", "versions of a package that are here"},
    {"diskusage_report", "diskusage_report", "your files in each tier of storage"},
};

size_t widest(std::string_view command) {
  size_t width = 0;
  for (const Example& one : kExamples)
    if (one.command == command) width = std::max(width, one.line.size());
  return width;
}

}  // namespace

std::string examples_text(std::string_view command) {
  const size_t width = widest(command);
  if (width == 0) return {};
  std::string out = "Examples:\n";
  for (const Example& one : kExamples) {
    if (one.command != command) continue;
    out.append("  ").append(one.line).append(width - one.line.size() + 2, ' ').append(one.what).append("\n");
  }
  return out;
}

std::string first_example(std::string_view command) {
  const auto found = std::find_if(std::begin(kExamples), std::end(kExamples),
                                  [&](const Example& one) { return one.command == command; });
  return found == std::end(kExamples) ? std::string() : std::string(found->line);
}

std::string examples_roff(std::string_view command) {
  if (widest(command) == 0) return {};
  std::string out = ".SH EXAMPLES\n";
  for (const Example& one : kExamples)
    if (one.command == command)
      out.append(".TP\n\\fB").append(roff(one.line)).append("\\fR\n").append(roff(one.what)).append(".\n");
  return out;
}

}  // namespace minke::options
