"""A hundred and sixty mistakes that people make. Each message says what is wrong, where it stands, and what to do.

A row: the name, the command (a script's lines stand in SCRIPTS), and what the message must say; the last words are what
to do. All run on one cluster of two nodes with two processors and two GPUs each.
"""
import pathlib
import re
import shlex
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cluster import Cluster, Machine  # noqa: E402

MINKE_ONLY = True

SCRIPTS = {
    "ok.sh": "#!/bin/bash\n#SBATCH --time=5\ntrue\n",
    "hours.sh": "#!/bin/bash\n#SBATCH --job-name=x\n#SBATCH --time=24h\ntrue\n",
    "typo.sh": "#!/bin/bash\n#SBATCH --tme=5\ntrue\n",
    "one_dash.sh": "#!/bin/bash\n#SBATCH -time=5\ntrue\n",
    "second.sh": "#!/bin/bash\n#SBATCH --time 5 --men=1G\ntrue\n",
    "blank.sh": "#!/bin/bash\n#SBATCH --job-name=my job\ntrue\n",
    "blanks.sh": "#!/bin/bash\n#SBATCH --mem = 4G\ntrue\n",
    "large.sh": "#!/bin/bash\n\n#SBATCH --mem=10T\ntrue\n",
    "dos.sh": "#!/bin/bash\r\n#SBATCH --time=5\r\ntrue\r\n",
    "variable.sh": "#!/bin/bash\n#SBATCH --output=$HOME/logs/out.txt\ntrue\n",
    "dead.sh": "#!/bin/bash\n# SBATCH --time=5\n##SBATCH --mem=1G\necho hi\n#SBATCH --gpus=1\n",
    "a.py": "print(1)\n",
    "plain.sh": "echo hi\n",
    "dash.sh": "#!/bin/bash\n#SBATCH –time=5\ntrue\n",
    "empty.sh": "",
    "interpreter.sh": "#!/bin/bsh\ntrue\n",
    "quote.sh": "#!/bin/bash\n#SBATCH --job-name=\"my job\n",
    "nodash.sh": "#!/bin/bash\n#SBATCH time=5\ntrue\n",
    "twice.sh": "#!/bin/bash\n#SBATCH --time=5 --mem=much\ntrue\n",
    "two.sh": "#!/bin/bash\n#SBATCH --mem=1G\n#SBATCH --mem-per-cpu=1G\ntrue\n",
    "colon.sh": "#!/bin/bash\n#SBATCH: --time=5\ntrue\n",
    "mark.sh": "\ufeff#!/bin/bash\ntrue\n",
    "late.sh": "\n# my job\n#!/bin/bash\ntrue\n",
    "smart.sh": "#!/bin/bash\n#SBATCH --job-name=\u201cmy job\u201d\ntrue\n",
    "work.ipynb": '{"cells": []}\n',
    "indent.sh": "#!/bin/bash\n  #SBATCH --time=5\ntrue\n",
    "sge.sh": "#!/bin/bash\n#$ -cwd\n#$ -l h_rt=1:00:00\ntrue\n",
    "relative.sh": "#!bin/bash\ntrue\n",
    "logs.sh": "#!/bin/bash\n#SBATCH --output=logs/%j.out\ntrue\n",
}

MISTAKES = [
    # Times.
    ("a time in hours", "sbatch --time=24h ok.sh", "Invalid --time specification (write 24:00:00, 90 (minutes)"),
    ("a time in days", "sbatch --time=2d ok.sh", "write 2-0, "),
    ("a time in minutes", "sbatch -t 30min ok.sh", "write 30, "),
    ("a time in words", "srun --time=long true", "write 90 (minutes), 24:00:00 or 1-0 (a day)"),
    ("a time in the script", "sbatch hours.sh", "(hours.sh line 3: #SBATCH --time=24h; write 24:00:00,"),
    ("a begin misspelt", "sbatch --begin=tomorow ok.sh", "did you mean tomorrow?"),
    ("a begin in the evening", "sbatch --begin=9pm ok.sh", "write 21:00"),
    # Memory, processors, GPUs.
    ("memory in GiB", "sbatch --mem=4GiB ok.sh", "write 4G"),
    ("memory in words", "sbatch --mem=lots ok.sh", "write 500M, 4G or 1T"),
    ("blanks around the =", "sbatch blanks.sh", "blanks.sh line 2: #SBATCH --mem = 4G; no blanks around the =: --mem=4G"),
    ("two kinds of memory", "sbatch --mem-per-cpu=1G --mem=2G ok.sh", "--mem is for each node, --mem-per-cpu for each CPU"),
    ("more memory than there is", "sbatch large.sh", "--mem=10T: the largest node of partition main has 2000M; large.sh line 3"),
    ("more processors than there are", "sbatch --cpus-per-task=64 ok.sh", "the largest node of partition main has 2 CPUs"),
    ("more nodes than there are", "sbatch --nodes=9 ok.sh", "partition main has 2 nodes"),
    ("a number that is none", "sbatch --ntasks=many ok.sh", "write a whole number, 1 or more"),
    ("no processors", "sbatch --cpus-per-task=0 ok.sh", "write a whole number, 1 or more"),
    ("more GPUs than there are", "sbatch --gpus=8 ok.sh", "partition main has no room for so many"),
    ("a GPU of another type", "sbatch --gpus=h100:1 ok.sh", "there is gpu:a100"),
    ("gpus for gpu", "sbatch --gres=gpus:1 ok.sh", "gpus: no node has this GRES"),
    # Options.
    ("an option misspelt in the script", "sbatch typo.sh", "'--tme=5' (typo.sh line 2: did you mean --time?)"),
    ("another option misspelt", "sbatch second.sh", "second.sh line 2: did you mean --mem?"),
    ("one dash", "sbatch one_dash.sh", "one_dash.sh line 2: #SBATCH -time=5; a long option needs two dashes: --time=…"),
    ("a dash of a word processor", "sbatch dash.sh", "is not the \"-\" of the keyboard"),
    ("an ambiguous option", "sbatch --gpu=1 ok.sh", "did you mean --gpus?"),
    ("cpus", "sbatch --cpus=2 ok.sh", "did you mean --cpus-per-task?"),
    ("walltime", "sbatch --walltime=1:00:00 ok.sh", "did you mean --time?"),
    ("queue", "sbatch --queue=main ok.sh", "did you mean --partition?"),
    ("memory", "sbatch --memory=1G ok.sh", "did you mean --mem?"),
    ("email", "sbatch --email=me@example.org ok.sh", "did you mean --mail-user?"),
    ("an option of squeue misspelt", "squeue --partiton=main", "did you mean --partition?"),
    ("an option of sinfo misspelt", "sinfo --nods=n1", "did you mean --nodes?"),
    ("a blank in a name", "sbatch blank.sh", "blank.sh line 2: options begin with --, and a value with a blank needs quotes"),
    ("a quote that is not closed", "sbatch quote.sh", "quote.sh: line 2: Unmatched `\"`"),
    ("a mail type misspelt", "sbatch --mail-type=FIAL ok.sh", "did you mean FAIL?"),
    ("a mail type that is none", "sbatch --mail-type=WHENEVER ok.sh", "write BEGIN, END, FAIL"),
    ("a signal that is none", "sbatch --signal=USR3@60 ok.sh", "write USR1@300"),
    ("an open mode that is none", "sbatch --open-mode=w ok.sh", "write append or truncate"),
    ("exclusive=yes", "sbatch --exclusive=yes ok.sh", "write --exclusive alone"),
    # Arrays and dependencies.
    ("an array backwards", "sbatch --array=5-1 ok.sh", "5-1 runs backwards: 1-5"),
    ("an array with dots", "sbatch --array=1..5 ok.sh", "write 0-9, 1,3,5,"),
    ("a dependency without a job", "sbatch --dependency=afterok ok.sh", "write afterok:12"),
    ("a dependency misspelt", "sbatch --dependency=after_ok:1 ok.sh", "did you mean afterok?"),
    ("a dependency on no job", "sbatch --dependency=afterok:99999 ok.sh", "there is no job 99999"),
    # Names.
    ("a partition that is not there", "sbatch --partition=gpu ok.sh", "Invalid partition name specified (there is main)"),
    ("a node that is not there", "sbatch --nodelist=node01 ok.sh", "there is no node node01"),
    ("a feature that is not there", "sbatch --constraint=gpu ok.sh", "no node has the feature gpu"),
    ("a license that is not there", "sbatch --licenses=matlab ok.sh", "there is no license matlab"),
    ("a reservation that is not there", "sbatch --reservation=r1 ok.sh", "there is no reservation r1"),
    # Scripts.
    ("a script that is not there", "sbatch okay.sh", "Unable to open file okay.sh (there is no such file; did you mean ok.sh?)"),
    ("a directory", "sbatch .", "it is a directory"),
    ("a Python program", "sbatch a.py", "sbatch --wrap 'python3 a.py', or write #!/usr/bin/env python3"),
    ("no first line", "sbatch plain.sh", "write #!/bin/bash as the first line of plain.sh"),
    ("a program", "sbatch /bin/ls", "ls is a program: sbatch --wrap /bin/ls"),
    ("line ends of DOS", "sbatch dos.sh", "sed -i 's/\\r$//' dos.sh mends it"),
    ("no script", "sbatch", "no script is named, so standard input was read: sbatch job.sh"),
    ("an option that took the script", "sbatch -t ok.sh", "took \"ok.sh\" away"),
    ("a command and a script", "sbatch --wrap true ok.sh", "--wrap has the whole command"),
    ("no program", "srun", "name a program: srun hostname"),
    # Other commands.
    ("a keyword misspelt", "scontrol hodl 1", "invalid keyword: hodl (did you mean hold?)"),
    ("a state misspelt", "squeue -t RUNING", "did you mean RUNNING?"),
    ("a field misspelt", "sacct --format=JobID,Elapsd", "did you mean Elapsed?"),
    ("a user without an account", "sacctmgr -i add user ada", "account=NAME; sacctmgr show account lists them"),
    ("a command of another program", "minke kill 1", "did you mean scancel JOB?"),
    ("a job that is none", "minke why abc", "is no job id"),
    # A second hour: numbers and lists.
    ("no nodes", "sbatch --nodes=0 ok.sh", "write 2, or 2-4"),
    ("nodes in words", "sbatch --nodes=two ok.sh", "write 2, or 2-4"),
    ("nodes backwards", "sbatch --nodes=2-1 ok.sh", "write 2, or 2-4"),
    ("less than no task", "sbatch --ntasks=-1 ok.sh", "write a whole number, 1 or more"),
    ("memory below nothing", "sbatch --mem=-1 ok.sh", "write 500M, 4G or 1T"),
    ("memory with a comma", "sbatch --mem=4,5G ok.sh", "write 500M, 4G or 1T"),
    ("a disk in words", "sbatch --tmp=lots ok.sh", "write 500M, 4G or 1T"),
    ("no time", "sbatch --time= ok.sh", "write 90 (minutes), 24:00:00 or 1-0"),
    ("hours and minutes", "sbatch --time=1h30m ok.sh", "write 1:00:00, 90 (minutes)"),
    ("a begin that has passed", "sbatch --begin=yesterday ok.sh", "write 21:00, tomorrow, now+2hours"),
    ("an hour that is none", "sbatch --begin=25:00 ok.sh", "write 21:00, tomorrow, now+2hours"),
    ("a deadline in words", "sbatch --deadline=soon ok.sh", "write 21:00, tomorrow, now+2hours"),
    ("an array of letters", "sbatch --array=a ok.sh", "write 0-9, 1,3,5"),
    ("an array with no step", "sbatch --array=1-10:0 ok.sh", "write 0-9, 1,3,5"),
    ("an index that is too large", "sbatch --array=99999999 ok.sh", "the largest index is MaxArraySize"),
    ("less than no GPU", "sbatch --gpus=-1 ok.sh", "no node has this type; there is gpu:a100"),
    ("GPUs of a node in letters", "sbatch --gpus-per-node=x:y ok.sh", "write 1, or a100:2"),
    ("a GRES with too many parts", "sbatch --gres=gpu:a:b:c ok.sh", "write gpu:1, or gpu:a100:2"),
    ("perhaps", "sbatch --kill-on-invalid-dep=maybe ok.sh", "write yes or no"),
    ("a profile that is none", "sbatch --profile=foo ok.sh", "write none; minke top and seff"),
    ("a limit that is none", "sbatch --propagate=FOO ok.sh", "write ALL, NONE, or limits such as NOFILE"),
    ("a dependency on letters", "sbatch --dependency=afterok:abc ok.sh", "behind the colon stand numbers of jobs: afterok:12:13"),
    ("singleton misspelt", "sbatch --dependency=singletn ok.sh", "did you mean singleton?"),
    # Options of the sister, and scripts.
    ("srun's binding", "sbatch --cpu-bind=cores ok.sh", "it is an option of srun"),
    ("srun's MPI", "sbatch --mpi=pmix ok.sh", "it is an option of srun"),
    ("sbatch's array", "srun --array=0-3 true", "it is an option of sbatch"),
    ("sbatch's wrap", "salloc --wrap=true", "it is an option of sbatch"),
    ("an empty script", "sbatch empty.sh", "empty.sh has nothing in it; a script begins with #!/bin/bash"),
    ("a word behind the value", "sbatch --export=A=1 B=2 ok.sh", "Unable to open file B=2 (there is no such file"),
    ("a node to leave out", "sbatch --exclude=n99 ok.sh", "--exclude: there is no node n99"),
    ("a value that is not there", "sbatch -N ok.sh", "a value without its option took \"ok.sh\" away"),
    ("an address that is a file", "sbatch --mail-user=/etc/passwd ok.sh", "use NAME or NAME@HOST"),
    # Jobs.
    ("a name for a number, to end", "scancel train", "scancel --name=train"),
    ("three numbers", "scancel 1_2_3", "write 12, 12_3 for a task of an array, 12.0 for a step"),
    ("a name for a number, to look at", "squeue -j train", "write 12, or 12_3 for a task of an array"),
    ("a name for a number, in the record", "sacct -j train", "write 12, 12_3 for a task of an array"),
    ("a name for a number, to measure", "sstat -j train", "write 12, or 12.0 for a step"),
    ("a name for a number, of priorities", "sprio -j train", "write 12, or 12_3 for a task of an array"),
    ("a name for a number, to show", "scontrol show job train", "write 12, or 12_3 for a task of an array"),
    ("a job that is not there", "scontrol show job 99999", "of an ended one tell sacct -j 99999 and minke why"),
    ("a job without its step", "sattach 12", "write 12.0: the job and its step"),
    ("the output of no job", "minke tail 99999", "minke jobs lists yours"),
    ("to edit no job", "minke edit 99999", "minke redo 99999 submits an ended one again"),
    ("a program that is not there", "srun nosuchprogram", "(it is in no directory of PATH)"),
    ("a file that is no program", "srun ./ok.sh", "(to make a program of the file: chmod +x)"),
    # scontrol and sacctmgr.
    ("a setting misspelt", "scontrol update jobid=1 timelimt=5", "did you mean timelimit?"),
    ("a setting of a node misspelt", "scontrol update nodename=n1 stat=drain reason=x wieght=1", "did you mean weight?"),
    ("an entity misspelt", "scontrol show reservatoin", "did you mean reservations?"),
    ("an entity that is none", "scontrol show weather", "write job, node, partition"),
    ("to show nothing", "scontrol show", "scontrol --help lists what each takes"),
    ("to shut down something else", "scontrol shutdown n1", "write scontrol shutdown, or minke down"),
    ("a partition to change", "scontrol update partition=nosuch state=up", "there is no partition nosuch"),
    ("a reservation to delete", "scontrol delete reservation=nosuch", "there is no reservation nosuch"),
    # minke's own.
    ("squeue misspelt", "minke squeu", "did you mean squeue?"),
    ("qstat", "minke qstat", "did you mean squeue, or minke jobs?"),
    ("reload", "minke reload", "did you mean scontrol reconfigure?"),
    ("another's jobs", "minke jobs --user=ada", "squeue --user=NAME lists another's"),
    ("one of my jobs", "minke jobs 12", "of one job tell minke why and scontrol show job"),
    ("a word too many", "minke up now", "only options stand here"),
    ("to force it down", "minke down --force", "minke down --cancel-jobs"),
    ("a sweep without run", "minke sweep sweep.yaml", "there is no sweep.yaml here; write run, serve"),
    ("self without what", "minke self foo", "write install, update or uninstall"),
    ("storage without what", "minke storage", "For example: minke storage scan"),
    ("a time that is none", "minke usage --since=foo", "write 2026-04-01, 12:30 or now-7days"),
    ("a time to forget before", "minke accounting purge --before=foo", "write 2026-04-01, 12:30 or now-7days"),
    ("a shell that is none", "minke completion tcsh", "write bash, zsh or fish, not tcsh"),
    ("a port that is none", "minke portal --port=99999", "write a number from 0 to 65535, not 99999"),
    ("pueue's stash", "minke stash", "did you mean sbatch --hold job.sh;"),
    ("nvitop", "minke nvitop", "did you mean minke top?"),
    ("nvitop's interval", "minke top --interval=2", "--delay=2 looks every two seconds"),
    ("gflow's dependency", "sbatch --depends-on=1 ok.sh", "did you mean --dependency=afterok:JOB?"),
    ("pueue's label", "sbatch --label=x ok.sh", "did you mean --job-name?"),
    ("quota", "minke quota", "did you mean minke storage usage?"),
    ("when it starts", "minke when 12", "did you mean minke why JOB, or squeue --start?"),
    ("a chain with long parts", "minke chain --total 1m --each 3m ok.sh", "does it, without a chain"),
    ("a model that is none", "minke estimate foo", "a size, as 13B"),
    ("a GPU that is none", "minke usage --gpu=foo", "no RGU are known for a GPU foo"),
    # A third hour: scripts.
    ("an option without dashes", "sbatch nodash.sh", "nodash.sh line 2: options begin with --"),
    ("the second of two options", "sbatch twice.sh", "twice.sh line 2: #SBATCH --time=5 --mem=much; write 500M, 4G or 1T"),
    ("two kinds of memory in the script", "sbatch two.sh", "--mem is for each node, --mem-per-cpu for each CPU"),
    ("a colon behind #SBATCH", "sbatch colon.sh", "no colon stands behind #SBATCH: #SBATCH --time=5"),
    ("an invisible mark", "sbatch mark.sh", "an invisible mark stands in front of #!: sed -i '1s/^\\xef\\xbb\\xbf//' mark.sh takes it away"),
    ("#! further down", "sbatch late.sh", "late.sh has it in line 3: it must be the very first"),
    ("quotes of a word processor", "sbatch smart.sh", "smart.sh line 2: the quotes of a word processor are none: type them anew"),
    ("a notebook", "sbatch work.ipynb", "sbatch --wrap 'jupyter nbconvert --to notebook --execute work.ipynb'"),
    ("a shell and its script", "sbatch bash ok.sh", "bash is a program: sbatch --wrap 'bash ok.sh'"),
    ("a program of several megabytes", "sbatch python3 a.py", "is a program: sbatch --wrap 'python3 a.py'"),
    ("a word in front of the script", "sbatch run ok.sh", "the first word is the script: sbatch ok.sh"),
    ("a value for an option that takes none", "sbatch -W 60 ok.sh", "the first word is the script: sbatch ok.sh"),
    ("a pattern in quotes", "sbatch '*.sh'", "one script at a time: for s in *.sh; do sbatch $s; done"),
    # Options of qsub and bsub, and values.
    ("qsub's -l", "sbatch -l walltime=1:00:00 ok.sh", "PBS's -l walltime=1:00:00,mem=4gb is --time=1:00:00 --mem=4G"),
    ("qsub's -P", "sbatch -P lab ok.sh", "did you mean --account?"),
    ("bsub's -R", "sbatch -R rusage[mem=4000] ok.sh", "did you mean --mem?"),
    ("half a task", "sbatch --ntasks=1.5 ok.sh", "write a whole number, 1 or more"),
    ("a unit of processors", "sbatch --cpus-per-task=2x ok.sh", "write a whole number, 1 or more"),
    ("a day in words", "sbatch --time='1 day' ok.sh", "write 1-0, "),
    ("four parts of a time", "sbatch --time=1:00:00:00 ok.sh", "write 90 (minutes), 24:00:00 or 1-0 (a day)"),
    ("a memory in gigs", "sbatch --mem=16gigs ok.sh", "write 16G"),
    ("memory with a blank", "sbatch --mem='16 GB' ok.sh", "write 500M, 4G or 1T"),
    ("memory for each processor", "sbatch --mem-per-cpu=10T ok.sh", "--mem-per-cpu=10T: the largest node of partition main has 2000M"),
    ("memory of GPUs without GPUs", "sbatch --mem-per-gpu=1G ok.sh", "ask for GPUs, too: --gpus=1"),
    ("GPUs of tasks without tasks", "sbatch --gpus-per-task=1 ok.sh", "say how many tasks there are, or GPUs: --ntasks=1"),
    ("all GPUs", "sbatch --gpus=all ok.sh", "no node has this type; there is gpu:a100"),
    ("processors of a GPU", "sbatch --cpus-per-gpu=64 --gpus=1 ok.sh", "the largest node of partition main has 2 CPUs"),
    ("tasks of a node", "sbatch --ntasks-per-node=8 ok.sh", "the largest node of partition main has 2 CPUs"),
    ("the second of two partitions", "sbatch --partition=main,gpu ok.sh", "(there is main)"),
    ("a partition in capitals", "sbatch --partition=MAIN ok.sh", "(there is main)"),
    ("a bracket that is not closed", "sbatch --nodelist=n[1-2 ok.sh", "write n1,n2 or n[1-3]"),
    ("all nodes left out", "sbatch --exclude=n1,n2 ok.sh", "no node of partition main is left to choose from"),
    ("a hint that is none", "sbatch --hint=fast ok.sh", "write compute_bound, memory_bound, multithread or nomultithread"),
    ("requeue=yes", "sbatch --requeue=yes ok.sh", "write --requeue alone"),
    ("an array with a slash", "sbatch --array=1-10/2 ok.sh", "write 0-9, 1,3,5, 0-20:2"),
    ("a dependency with a =", "sbatch --dependency=afterok=1 ok.sh", "write afterok:12, or afterany:12:13"),
    ("a deadline that has passed", "sbatch --deadline=2020-01-01 ok.sh", "the deadline has passed"),
    ("fortnights", "sbatch --begin=now+2fortnights ok.sh", "write 21:00, tomorrow, now+2hours"),
    # Other commands.
    ("a job for squeue", "squeue 12", "of one job: squeue -j 12"),
    ("a job for sacct", "sacct 12", "of one job: sacct -j 12"),
    ("a time for sacct", "sacct --starttime=01-01-2026", "write 2026-04-01, 12:30 or now-7days"),
    ("a state for sacct", "sacct --state=FINISHED", "write COMPLETED, FAILED, CANCELLED"),
    ("a job to update", "scontrol update 12 timelimit=5", "scontrol update jobid=12 timelimit=2:00:00"),
    ("nothing to update", "scontrol update jobid=12", "write what is to change: timelimit=2:00:00"),
    ("to cancel by scontrol", "scontrol cancel 12", "to end a job: scancel JOB"),
    ("a user misspelt", "sacctmgr add usr ada account=lab", "did you mean user?"),
    ("jobs of sacctmgr", "sacctmgr list jobs", "jobs stand in squeue, and those that ended in sacct"),
    ("a directory for a backup", "minke backup /nonexist/file", "there is no such directory"),
    ("half a chain", "minke chain --total 3d ok.sh", "for example: minke chain --total 72h --each 24h job.sh"),
    ("a purpose that is none", "minke estimate 8B --for sleeping", "write inference, full, lora or qlora, not sleeping"),
    ("a size that is none", "minke setup --memory=lots --show", "write 2G, or 500M"),
]

WARNINGS = [
    ("lines without effect", "sbatch dead.sh", ["line 2: \"# SBATCH --time=5\" is a comment, without effect; write #SBATCH --time=5",
                                               "line 3: \"##SBATCH --mem=1G\"", "line 5: \"#SBATCH --gpus=1\" has no effect below the first command"]),
    ("a variable in the output's name", "sbatch variable.sh", ["$ means nothing in #SBATCH lines"]),
    ("a directory that is not there", "sbatch --chdir=/nonexist ok.sh", ["--chdir: there is no /nonexist"]),
    ("nice in words", "sbatch --nice=high ok.sh", ["--nice=high is read as 0"]),
    ("a priority in words", "sbatch --priority=high ok.sh", ["--priority=high is read as 0"]),
    ("a line that is indented", "sbatch indent.sh", ["indent.sh line 2: \"#SBATCH --time=5\" is indented, without effect; it must begin the line"]),
    ("lines of Grid Engine", "sbatch sge.sh", ["sge.sh line 3: \"#$ -l h_rt=1:00:00\" is of Grid Engine", "write #SBATCH --time="]),
    ("a shell without a slash", "sbatch relative.sh", ["line 1 of the script: bin/bash is looked for below the directory", "write #!/bin/bash"]),
    ("a directory of logs", "sbatch logs.sh", ["logs/: No such file or directory; unless it is made before the job starts"]),
    ("a shell that is not there", "sbatch interpreter.sh", ["line 1 of the script: there is no /bin/bsh here", "write #!/bin/bash"]),
]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    one = Cluster(tmp_path_factory.mktemp("messages"), Machine(gpus="a100:2"))
    for name, text in SCRIPTS.items():
        (one.work / name).write_text(text, newline="")
    yield one
    one.close()


def test_there_are_enough():
    assert len(MISTAKES) >= 160 and len({name for name, *_ in MISTAKES}) == len(MISTAKES)


@pytest.mark.parametrize("command, says", [row[1:] for row in MISTAKES], ids=[row[0] for row in MISTAKES])
def test_a_mistake(cluster, command, says):
    done = cluster.run(*shlex.split(command), timeout=30)
    assert done.returncode != 0 or command.startswith("sacctmgr"), done.stdout
    assert says in done.stderr + (done.stdout if command.startswith("sacctmgr") else ""), done.stderr
    assert not re.search(r"Submitted batch job", done.stdout)


@pytest.mark.parametrize("command, says", [row[1:] for row in WARNINGS], ids=[row[0] for row in WARNINGS])
def test_a_warning(cluster, command, says):
    done = cluster.run(*command.split(), check=0)
    for words in says:
        assert words in done.stderr, done.stderr
    assert done.stdout.startswith("Submitted batch job ")


def test_a_good_script_is_taken_without_a_word(cluster):
    assert cluster.run("sbatch", "ok.sh", check=0).stderr == ""


def test_a_terminal_is_told_that_it_is_read(cluster):
    import os
    import pty
    leader, follower = pty.openpty()
    process = cluster.start("sbatch", stdin=follower)
    os.close(follower)
    assert process.stderr.readline() == "sbatch: no script is named: type it here, and end it with Ctrl-D; Ctrl-C leaves\n"
    os.write(leader, b"#!/bin/sh\ntrue\n\x04")
    assert process.stdout.read().startswith("Submitted batch job ")
    assert process.wait(60) == 0
    os.close(leader)


@pytest.mark.parametrize("command, says", [
    ("squeue --partition=mian", "squeue: note: there is no partition mian; did you mean main?"),
    ("sinfo --partition=gpu", "sinfo: note: there is no partition gpu; sinfo lists them"),
    ("scancel 99999", "scancel: note: nothing was done to job 99999: Invalid job id specified"),
    ("sbatch ok.sh --time=5", "--time=5 stands behind the script, and is the script's")])
def test_people_who_watch_are_told_what_programs_are_not(cluster, command, says):
    import os
    import pty
    assert cluster.run(*command.split(), check=0).stderr == ""
    leader, follower = pty.openpty()
    process = cluster.start(*command.split(), stderr=follower)
    os.close(follower)
    told = b""
    try:
        while part := os.read(leader, 4096):
            told += part
    except OSError:  # the last one who had it is gone
        pass
    assert process.wait(60) == 0 and says in told.decode(), told
    os.close(leader)


def test_who_has_no_account_is_told_how_to_get_one(tmp_path):
    one = Cluster(tmp_path, Machine(extra="[accounting]\nenforce = [\"associations\"]\n"))
    try:
        one.run("sacctmgr", "-i", "add", "account", "lab", check=0)
        done = one.run("sbatch", "--account=lab", "--wrap", "true")
        user = one.run("id", "-un").stdout.strip()
        assert done.returncode == 1 and f"{user} " in done.stderr and "sacctmgr add user" in done.stderr or "--account=" in done.stderr, done.stderr
    finally:
        one.close()


def test_an_example_is_neither_the_command_again_nor_its_help(cluster):
    """Each command that lacks words shows one that has them."""
    for command in ("storage", "sweep", "self", "carry", "accounting", "data", "wheels", "software", "tail", "redo", "why", "wait",
                    "backup", "completion", "pack", "cp", "restore", "simulate"):
        done = cluster.run("minke", command)
        assert done.returncode != 0, command
        example = re.search(r"^For example: (.*)$", done.stderr, re.M)
        assert example, (command, done.stderr)
        assert example[1] != f"minke {command}" and "--help" not in example[1], (command, done.stderr)


def test_messages_fit_a_terminal_and_have_no_colour_in_pipes(cluster):
    topics = ["minke help " + topic for topic in "submit look why stop arrays gpus data python setup".split()]
    for command in ("minke", "minke help", "minke jobs", *topics):
        done = cluster.run(*command.split(), env={"COLUMNS": "80"})
        assert "\033" not in done.stdout + done.stderr, command
        assert max(map(len, done.stdout.splitlines() or [""])) <= 80, (command, done.stdout)


def test_setup_reads_its_own_proposals(cluster):
    """Who answers nothing gets what stands in brackets: sizes are written as minke.toml reads them."""
    for memory in ([], ["--memory=1536M"], ["--memory=2G"]):
        done = cluster.run("minke", "setup", "--name=lab", "--users=none", "--max-time=1-0", *memory, "--mail=none", "--show", check=0)
        assert re.search(r'^default_mem_per_cpu = "\d+[MG]" ', done.stdout, re.M), done.stdout
