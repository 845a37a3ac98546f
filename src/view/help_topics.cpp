#include "view/help_topics.h"

#include <algorithm>

#include "text/number.h"
#include "text/translate.h"
#include "view/colour.h"

namespace minke::view {

using text::marked;
using text::tr;

namespace {

constexpr HelpTopic kTopics[] = {
    {"submit", marked("submit a job"),
     marked("A job is a script with #SBATCH lines that say what it needs.\n"
            "$ sbatch job.sh                            a script\n"
            "$ sbatch --time=1:00:00 --gpus=1 job.sh    options of the command line win\n"
            "$ sbatch --wrap 'python3 train.py'         one command\n"
            "$ srun --pty bash                          a shell in a job\n"
            "$ minke redo 12                            job 12 again, as it was\n"
            "All options: minke man sbatch | man -l -\n"),
     "start run job script batch sbatch srun"},
    {"look", marked("look at jobs and the machine"),
     marked("$ minke jobs                               your jobs\n"
            "$ minke tail -f 12                         what job 12 writes\n"
            "$ squeue                                   everybody's jobs\n"
            "$ sinfo                                    nodes, and what is free\n"
            "$ minke top                                what running jobs use now\n"
            "$ minke portal --open                      all of it in a browser\n"),
     "list show queue status squeue sinfo output watch browser"},
    {"why", marked("why a job waits or failed"),
     marked("$ minke why 12                             why it waits, or how it ended\n"
            "$ minke tail 12                            the end of its output\n"
            "$ seff 12                                  what it used of what it asked for\n"
            "$ sacct -j 12                              its record\n"),
     "failed wait waits waiting error pending reason fail"},
    {"stop", marked("stop, hold and change jobs"),
     marked("$ scancel 12                               end it\n"
            "$ scancel --me --state=PENDING             all of your waiting jobs\n"
            "$ scontrol hold 12                         not until scontrol release 12\n"
            "$ minke edit 12                            change a waiting job in your editor\n"
            "$ minke pause                              no job starts until minke resume\n"),
     "cancel kill end hold change edit pause suspend scancel"},
    {"arrays", marked("many jobs from one script"),
     marked("In the script, $SLURM_ARRAY_TASK_ID tells which task it is.\n"
            "$ sbatch --array=0-99%4 job.sh             100 tasks, four at a time\n"
            "$ minke why 12                             how many have failed, and which\n"
            "$ minke redo --failed 12                   the tasks that failed, again\n"
            "$ sbatch --dependency=afterok:12 next.sh   when all of job 12 has succeeded\n"),
     "array many parameters sweep dependency dependencies"},
    {"gpus", marked("GPUs"),
     marked("$ sbatch --gpus=1 job.sh                   one; $CUDA_VISIBLE_DEVICES names it\n"
            "$ sinfo -o '%n %G'                         which there are\n"
            "$ minke top                                how busy they are\n"
            "$ minke estimate 8B                        GPU memory that a model needs\n"),
     "gpu cuda nvidia memory"},
    {"data", marked("files and data"),
     marked("$ minke storage usage                      what you have on the disks\n"
            "$ minke cp FROM TO                         copy trees of files\n"
            "$ minke pack DIRECTORY --to FILE           one large file of many small ones\n"
            "$ minke stage FILE                         in a job: data on the node's disk\n"
            "$ minke restore FILE                       files of a snapshot\n"),
     "files storage quota copy disk"},
    {"python", marked("Python and modules"),
     marked("$ module load python                       in the script, before Python\n"
            "$ virtualenv --no-download $SLURM_TMPDIR/env\n"
            "$ avail_wheels torch                       wheels that are here\n"),
     "module modules pip wheel environment conda"},
    {"setup", marked("set the cluster up"),
     marked("$ minke env --install                      Slurm's commands in your shells\n"
            "$ minke setup                              a machine for several people\n"
            "$ minke doctor                             what is wrong, and what mends it\n"
            "$ minke up, minke down, minke status       start, stop, look\n"
            "$ minke backup FILE                        a copy of the cluster's records\n"),
     "install administrator admin configure configuration shared people users uninstall backup"},
};

struct Meant {
  std::string_view word, command;
};
constexpr Meant kMeant[] = {
    {"ps", "minke jobs"},
    {"ls", "minke jobs"},
    {"list", "minke jobs"},
    {"queue", "minke jobs, or squeue for everybody's"},
    {"start", "sbatch job.sh to submit a job, or minke up to start the cluster"},
    {"run", "sbatch job.sh, or srun COMMAND"},
    {"submit", "sbatch job.sh"},
    {"add", "sbatch job.sh"},
    {"exec", "srun --jobid=JOB --overlap COMMAND"},
    {"attach", "minke tail -f JOB, or sattach JOB.STEP"},
    {"ssh", "srun --jobid=JOB --overlap --pty bash"},
    {"shell", "srun --pty bash"},
    {"stop", "scancel JOB to end a job, or minke down to stop the cluster"},
    {"kill", "scancel JOB"},
    {"rm", "scancel JOB"},
    {"remove", "scancel JOB"},
    {"delete", "scancel JOB"},
    {"cancel", "scancel JOB"},
    {"logs", "minke tail JOB, or minke log for the daemon's"},
    {"output", "minke tail JOB"},
    {"cat", "minke tail JOB"},
    {"follow", "minke tail -f JOB"},
    {"watch", "minke top, or minke tail -f JOB"},
    {"restart", "minke redo JOB for a job, or minke down and minke up for the cluster"},
    {"retry", "minke redo JOB"},
    {"rerun", "minke redo JOB"},
    {"resubmit", "minke redo JOB"},
    {"hold", "scontrol hold JOB"},
    {"release", "scontrol release JOB"},
    {"suspend", "scontrol suspend JOB, or minke pause for the queue"},
    {"unpause", "minke resume"},
    {"continue", "minke resume"},
    {"info", "minke status, or sinfo for the nodes"},
    {"nodes", "sinfo"},
    {"gpus", "sinfo -o '%n %G', or minke top"},
    {"nvidia-smi", "minke top"},
    {"htop", "minke top"},
    {"history", "sacct, or minke jobs"},
    {"stats", "seff JOB, or minke top"},
    {"efficiency", "seff JOB"},
    {"reload", "scontrol reconfigure"},
    {"reconfigure", "scontrol reconfigure"},
    {"modules", "module avail, in a shell that has read: eval \"$(minke env)\""},
    {"set", "scontrol update for a job, or minke status, which names the file of settings"},
    {"qstat", "squeue, or minke jobs"},
    {"qsub", "sbatch job.sh"},
    {"qdel", "scancel JOB"},
    {"bjobs", "squeue, or minke jobs"},
    {"bsub", "sbatch job.sh"},
    {"bkill", "scancel JOB"},
    {"clean", "minke accounting purge to forget ended jobs; they leave the queue by themselves"},
    {"enqueue", "sbatch job.sh"},
    {"priority", "scontrol update job=JOB priority=NUMBER, or scontrol top JOB"},
    {"switch", "scontrol update job=JOB nice=NUMBER"},
    {"parallel", "sbatch --array=0-99%4 for four at a time, or minke farm"},
    {"group", "sbatch --array=0-99%4, or a partition of your own in minke.toml"},
    {"send", "srun --jobid=JOB --overlap --pty bash, to work beside it"},
    {"reset", "scancel --me to end your jobs; minke down stops the cluster"},
    {"free", "sinfo, or minke top"},
    {"whoami", "sacctmgr show assoc user=$USER"},
    {"gpustat", "minke top"},
    {"nvtop", "minke top"},
    {"nvitop", "minke top"},
    {"btop", "minke top"},
    {"monitor", "minke top"},
    {"stash", "sbatch --hold job.sh; scontrol release JOB lets it start"},
    {"groups", "sbatch --array=0-99%4, or a partition of your own in minke.toml"},
    {"tasks", "minke jobs"},
    {"show", "scontrol show job JOB, or minke why JOB"},
    {"new", "sbatch job.sh"},
    {"view", "minke why JOB, or minke tail JOB"},
    {"dashboard", "minke portal"},
    {"open", "minke portal --open"},
    {"login", "srun --pty bash for a shell in a job"},
    {"user", "sacctmgr list user"},
    {"account", "sacctmgr show account"},
    {"accounts", "sacctmgr show account"},
    {"quota", "minke storage usage"},
    {"df", "minke storage usage"},
    {"du", "minke storage scan DIRECTORY"},
    {"hist", "sacct, or minke jobs"},
    {"less", "minke tail JOB"},
    {"out", "minke tail JOB"},
    {"stdout", "minke tail JOB"},
    {"err", "minke tail --error JOB"},
    {"stderr", "minke tail --error JOB"},
    {"errors", "minke why JOB, or minke log for the daemon's"},
    {"error", "minke why JOB, or minke log for the daemon's"},
    {"debug", "minke why JOB, or minke doctor for the cluster"},
    {"explain", "minke why JOB"},
    {"reason", "minke why JOB"},
    {"eta", "minke why JOB, or squeue --start"},
    {"when", "minke why JOB, or squeue --start"},
    {"forecast", "minke why JOB, or squeue --start"},
    {"docs", "minke help, or minke man COMMAND"},
    {"doc", "minke help, or minke man COMMAND"},
    {"manual", "minke man COMMAND"},
    {"about", "minke version"},
    {"gbatch", "sbatch job.sh"},
    {"gqueue", "squeue, or minke jobs"},
    {"ginfo", "sinfo, or minke top"},
    {"gcancel", "scancel JOB"},
    {"gjob", "scontrol for a job; minke help stop"},
    {"notify", "sbatch --mail-type=END, or minke wait JOB --desktop"},
    {"mail", "sbatch --mail-type=END"},
    {"config", "minke status, which names the file, or scontrol show config"},
    {"init", "minke setup"},
    {"install", "minke setup, or minke env --install"},
    {"uninstall", "minke self uninstall"},
    {"update", "minke self update FILE, or scontrol update for a job"},
    {"upgrade", "minke self update FILE"},
    {"users", "sacctmgr list user"},
    {"adduser", "sacctmgr add user NAME account=ACCOUNT"},
    {"check", "minke doctor"},
    {"web", "minke portal"},
    {"ui", "minke portal"},
    {"module", "module in a shell that has read: eval \"$(minke env)\""},
    {"quit", "minke down"},
    {"shutdown", "minke down"},
};

bool has_word(std::string_view words, std::string_view word) {
  for (const std::string_view one : text::split(words, ' '))
    if (one == word) return true;
  return false;
}

}  // namespace

std::span<const HelpTopic> help_topics() {
  return kTopics;
}

const HelpTopic* find_help_topic(std::string_view word) {
  for (const HelpTopic& topic : kTopics)
    if (topic.name == word) return &topic;
  for (const HelpTopic& topic : kTopics)
    if (has_word(topic.words, word)) return &topic;
  return nullptr;
}

std::string help_overview() {
  std::string out = tr("Minke runs jobs here, with Slurm's commands. minke help TOPIC tells more:") + "\n\n";
  for (const HelpTopic& topic : kTopics) {
    out += "  " + coloured(topic.name, Meaning::kHeading);
    out.append(topic.name.size() < 10 ? 10 - topic.name.size() : 1, ' ').append(tr(topic.title)).append("\n");
  }
  return out + "\n" +
         tr("minke --help lists all commands, minke help COMMAND tells the options of one.\n"
            "The pages: /usr/share/doc/minke, or docs/ of the repository.") +
         "\n";
}

std::string help_page(const HelpTopic& topic) {
  std::string out = coloured(tr(topic.title), Meaning::kHeading) + "\n\n";
  const std::string said = tr(topic.text);
  for (std::string_view rest = said; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    out.append(line.starts_with("$ ") ? "  " : "").append(line).append("\n");
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  return out;
}

std::string_view command_meant_by(std::string_view word) {
  for (const Meant& meant : kMeant)
    if (meant.word == word) return meant.command;
  return {};
}

}  // namespace minke::view
