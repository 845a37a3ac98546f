"""The cases: command lines and scripts of our own, one line each where a line is enough.

Every case is submitted with `sbatch`, held where its table does not say otherwise. Its name is its table's and its
text.
"""
import dataclasses
import pathlib
import shlex


@dataclasses.dataclass
class Case:
    name: str
    arguments: list[str]
    script: str | None = None      # a script of this text is submitted; None: the arguments are all there is
    environment: dict[str, str] = dataclasses.field(default_factory=dict)
    hold: bool = True              # else it waits behind a job that has every node
    since: str = ""                # older releases are not compared: they answer otherwise


def lines(group: str, text: str, hold: bool = True, since: str = "") -> list[Case]:
    """A case a line: options as a shell takes them. NAME=value words before the first option are the environment."""
    cases = []
    for line in text.strip().splitlines():
        words, environment = shlex.split(line), {}
        while words and words[0][0].isupper() and "=" in words[0]:
            name, value = words.pop(0).split("=", 1)
            environment[name] = value
        cases.append(Case(f"{group}: {line.strip()}", [*words, "--wrap=true"], environment=environment, hold=hold, since=since))
    return cases


TIME = lines("time", """
-t 5
-t 1:30
-t 1:30:00
-t 1-2
-t 1-2:3
-t 1-2:3:4
-t 0
-t 0:30
-t 0:0:1
-t infinite
-t UNLIMITED
-t -1
-t 1-
-t 1-24
-t 90:90
-t 1:2:3:4
-t 5m
-t x
-t ''
-t 99999999999
--time=2:60
--time-min=5 -t 10
--time-min=10 -t 5
--time-min=0:30
-p short -t 2:59:59
-p short -t 3:00:01
-p short
""")

MEMORY = lines("memory", """
--mem=100
--mem=100K
--mem=1500K
--mem=1G
--mem=1.5G
--mem=3000MB
--mem=2GB
--mem=1T
--mem=0
--mem=-1
--mem=x
--mem=1X
--mem=4001
--mem-per-cpu=100
--mem-per-cpu=2G -c 2
--mem-per-cpu=0
--mem-per-cpu=5000
--mem=100 --mem-per-cpu=100
--mem-per-cpu=100 --mem=100
--mem-per-gpu=1G --gpus=1
--mem-per-gpu=1G
--mem-per-gpu=1G --mem=2G --gpus=1
--tmp=1
--tmp=10G
--tmp=x
""")

SIZE = lines("size", """
-n 1
-n 4
-n 24
-n 25
-n 0
-n -1
-n x
-n 1k
-n +4
-n ' 4'
-N 2
-N 1-3
-N 3-1
-N 2-2
-N 6
-N 0
-N x
-N 2 -n 2
-N 2 -n 1
-N 2 -n 5
-N 1k
-c 2
-c 0
-c 9
-c 4 -n 5
-n 2 -c 2 -N 2
--ntasks-per-node=2
--ntasks-per-node=2 -N 2
--ntasks-per-node=2 -n 3
--ntasks-per-node=2 -N 2 -n 4
--ntasks-per-node=2 -N 2 -n 6
--ntasks-per-node=9 -N 1
--ntasks-per-node=9 -n 1
--sockets-per-node=1 --cores-per-socket=4
--sockets-per-node=1 --cores-per-socket=4 -N 1
--ntasks-per-core=1
--ntasks-per-core=2 -n 4
--ntasks-per-socket=2
--ntasks-per-socket=2 -n 4
--mincpus=3
--mincpus=9
--sockets-per-node=2
--cores-per-socket=4
--threads-per-core=1
--threads-per-core=2
-B 2:4:1
-B 1
-B *:*:*
-B 1:2
-B 1:2 -N 2
-B *:2
-B *:2:1
--sockets-per-node=1 --cores-per-socket=2
-B *:2 -N 2
-B 2:4 -N 1
-B 1:2 -N 1 -n 3
--cores-per-socket=4 -N 2
--cores-per-socket=2
--sockets-per-node=2 -N 1
--ntasks-per-socket=2 --cores-per-socket=2 --sockets-per-node=1 -N 2
-B x
--exclusive
--exclusive=user
--exclusive=mcs
--exclusive=x
-s
--oversubscribe
--share
-O
--overcommit -n 40
-S 1
--core-spec=2
--thread-spec=1
--contiguous
--spread-job
--use-min-nodes
-k
--no-kill
--no-kill=off
--hint=nomultithread
--hint=multithread
--hint=compute_bound
--hint=memory_bound
--hint=x
--hint=nomultithread,x
-m block
-m cyclic:block
-m plane=2
-m arbitrary
-m '*:cyclic'
-m x
--mem-bind=local
--mem-bind=x
--mem-bind=verbose,sort,prefer,rank
--mem-bind=local,x
--mem-bind=map_mem:x
--mem-bind=mask_mem
--batch=fast
--batch=fast -C fast
--batch=slow -C 'fast|slow'
--batch='fast&slow' -C fast
""")

NAMES = lines("names", """
-J name
-J 'two words'
-J ''
-J=name
--job-name name
--job-name=a=b
--job-name='x"y'
-J /a/b
-A account
--account=def-prof
-q normal
-q nosuch
--qos=normal
-p main
-p main,short
-p short,main
-p nosuch
-p ''
--comment='a comment'
--comment=
--wckey=key
--wckey='*key'
--reservation=nosuch
--nice
--nice=10
--nice=-10
--nice=99999999999
--nice=x
--priority=10
--priority=0
--priority=TOP
--priority=x
--mail-type=END
--mail-type=BEGIN,END,FAIL
--mail-type=ALL --mail-user=me@example.org
--mail-type=NONE
--mail-type=TIME_LIMIT_90,ARRAY_TASKS
--mail-type=x
--mail-user=me
-L matlab
-L matlab:2
--requeue
--no-requeue
--reboot
--delay-boot=5
--power=level
--network=x
--switches=1
--switches=1@10
--switches=x
--profile=task
--profile=none
--profile=x
--acctg-freq=30
--acctg-freq=task=60
--acctg-freq=x
--cpu-freq=high
--cpu-freq=HighM1
--cpu-freq=x
--mcs-label=x
--container=/x
--clusters=nosuch
-M loopback
--bb=x
--bbf=/nosuch
--prefer=fast
--gid=nosuch
--uid=nosuch
--parsable
--quiet
-Q
-v
--quiet --parsable
--ignore-pbs
--no-such-option
--no
--job
--n=2
-Z
--x11
--wait-all-nodes=1
--wait-all-nodes=2
--kill-on-invalid-dep=yes
--kill-on-invalid-dep=no
--kill-on-invalid-dep=x
--get-user-env
--get-user-env=5
--get-user-env=5L
--propagate
--propagate=ALL
--propagate=STACK,CORE
--propagate=NONE
--propagate=x
--tasks-per-node=2
""")

FILES = lines("files", """
-o out
-o out-%j.txt
-o %x-%j.out
-o %A_%a.out
-o %5j.out
-o %N.out
-o %u.%%.out
-o /dev/null
-o none
-o dir/%j/out
-e err-%j
-o o -e e
-e only
-i /dev/zero
-i nosuch
-i none
--input=in-%j
--output=a --output=b
--open-mode=append
--open-mode=truncate
--open-mode=a
--open-mode=t
--open-mode=x
-D /tmp
-D relative
--chdir=/nosuch
-o 'with space.out'
-o '\\\\%j.out'
""")

HOSTS = lines("hosts", """
-w n1
-w n1,n2
-w n[1-2]
-w 'n[2,1]'
-w n1 -N 2
-w n[1-3] -N 2
-w nosuch
-w 'n[1-'
-w ''
-w n3 -p short
-x n1
-x n[1-4]
-x nosuch
-x n[1-5]
-w n1 -x n1
-w n1,n1
-w ./hosts.txt
-F hosts.txt
-F nosuch.txt
""")

GRES = lines("gres", """
--gres=gpu:1,gpu:a100:1
--gpus=2 --gres=gpu:a100:1
--gpus=a100:2 --gpus-per-node=1
--gres=gpu
--gres=gpu:1
--gres=gpu:2
--gres=gpu:3
--gres=gpu:0
--gres=gpu:a100
--gres=gpu:a100:1
--gres=gpu:a100:1,gpu:h100:1
--gres=gpu:nosuch:1
--gres=nosuch:1
--gres=none
--gres=help
--gres=gpu:x
--gres=gpu=1
--gres=gpu:a100=1
--gres=gres:gpu:1
--gres=gpu:1 -N 2
--gpus=1
--gpus=3
--gpus=a100:2
--gpus=a100:1,h100:1
--gpus=5 -N 2
--gpus=0
--gpus=x
-G 1
-G a100
--gpus-per-node=1
--gpus-per-node=a100:2
--gpus-per-node=3
--gpus-per-node=1 -N 2
--gpus-per-task=1
--gpus-per-task=1 -n 2
--gpus-per-task=a100:1 -n 2
--gpus-per-task=1 -n 2 --gpus=2
--gpus-per-task=1 --gpus=2
--gpus-per-task=1 -N 1
--gpus-per-task=1 -N 2
--gpus-per-task=1 --ntasks-per-node=2
--gpus-per-task=1 -N 2 --gpus=4
--gpus-per-task=1 --gpus=2 --gpus-per-node=2
--gpus-per-task=2 --gpus-per-node=2 --ntasks-per-node=2
--gpus-per-task=2 --gpus-per-node=3 -N 1
--gpus-per-task=1 -N 1-2
--gpus-per-socket=1
--gpus-per-socket=1 --sockets-per-node=1
--gpus-per-socket=2 --sockets-per-node=1 --gpus=1
--gres=gpu:2 --gpus-per-socket=1 --sockets-per-node=1
--gres=gpu:2 --gpus=1
--gpus=1 -N 2
--gpu-bind=verbose,map_gpu:0,x --gpus=1
--cpus-per-gpu=2 --gpus=1
--cpus-per-gpu=2
--cpus-per-gpu=2 --gpus=2
--cpus-per-gpu=2 -c 2 --gpus=1
--gpu-bind=single:1 --gpus=1
--gpu-bind=closest --gpus=1
--gpu-bind=map_gpu:0,1 --gpus=1
--gpu-bind=x --gpus=1
--gpu-freq=high --gpus=1
--gpu-freq=x --gpus=1
--gres-flags=enforce-binding --gres=gpu:1
--gres-flags=disable-binding --gres=gpu:1
--gres-flags=x
--ntasks-per-gpu=1 --gpus=2
--ntasks-per-gpu=2
--ntasks-per-gpu=2 -n 4
--gpus=1 --gres=gpu:1
--gpus-per-node=1 --gres=gpu:1
--gpus=2 --gpus-per-node=1
""")

CONSTRAINT = lines("constraint", """
-C '[(fast&big)*1&slow*1]' -N 2
-C '[(fast&big)*2&slow*1]' -N 3
-C fast
-C 'fast&big'
-C 'fast|slow'
-C nosuch
-C 'fast&nosuch'
-C '[fast|slow]'
-C '[fast*1&slow*1]' -N 2
-C 'fast*2&slow*1' -N 3
-C '(fast&big)|slow'
-C 'fast,big'
-C 'fast&'
-C '[fast'
-C ''
--constraint=fast
-C '(fast|slow'
-C 'fast*x'
-C 'fast|slow&big'
""")

ARRAY = lines("array", """
-a 1
-a 0
-a 1-3
-a 1,3,5
-a 1-10:2
-a 0-7%2
-a 1,2,3%1
-a 3-1
-a 1-3%0
-a 1-3%
-a 1-
-a x
-a ''
-a -1
-a 1-3,2
-a 4000000
-a 4000001
-a 1-3:0
-a 5,1,3
-a 1,2-4,7-9:2
-a 1-4:3
-a 1-3%5
-a [1-3]
-a 1-3% -J x
-a 1-4,
-a ,2,,5
-a 1,4,7,10,13,16
-a 14,17,20,23,26
-a 0-200:50,201
-a 10-11 -o %A-%a-%5a
""")

DEPENDENCY = lines("dependency", """
-d afterok:1001
-d after:1001
-d after:1001+5
-d afterany:1001
-d afterany:1001:1001,after:1001
-d afternotok:1001
-d aftercorr:1002
-d afterburstbuffer:1001
-d singleton
-d afterok:1001:1002
-d afterok:1001,afterany:1002
-d afterok:1001?afterany:1002
-d afterok:1001,afterany:1002?after:1001
-d afterok:1002_1
-d afterok:1002_*
-d afterok:999999
-d afterok:
-d afterok
-d nosuch:1001
-d x
-d ''
-d expand:1001
-d afterok:1001,singleton
-d 1001
-d afterok:1001,
-d AFTEROK:1001
-d after:1001+x
-d none
""")

BEGIN = lines("begin", """
-b now
-b now+1hour
-b now+3600
-b now+10minutes
-b now+2days
-b now+1week
-b now+1month
-b tomorrow
-b midnight
-b noon
-b teatime
-b fika
-b elevenses
-b 16:00
-b 16:00:30
-b 4pm
-b 4:30AM
-b 2030-01-20
-b 2030-01-20T12:34:00
-b 2030-01-20T12:34
-b 2030-01-20-12:34
-b 01/20/30-12:34:05
-b 01/20/30
-b 012030
-b 01.20.30
-b 20.01.30
-b x
-b ''
-b 25:00
-b 2020-01-01
-b 'now + 1 hour'
-b today
-b 'tomorrow 10:00'
-b uninitialized
--deadline=now+2hours
--deadline=now+30minutes
--deadline=2030-01-01
--deadline=2020-01-01
--deadline=x
--deadline=now+2hours -t 3:00:00
-b now+1hour --deadline=now+30minutes
""")

SIGNAL = lines("signal", """
--signal=USR1
--signal=USR1@60
--signal=B:USR1@60
--signal=R:USR1@60
--signal=BR:USR1@60
--signal=RB:USR1@60
--signal=SIGUSR1
--signal=10
--signal=10@120
--signal=B:
--signal=x
--signal=USR1@x
--signal=USR1@99999
--signal=@60
--signal=
--warn-signal=10
--export=ALL
--export=NONE
--export=NIL
--export=A=1
--export=ALL,A=1
--export=A,B=2
--export-file=nosuch
""")

ENVIRONMENT = lines("environment", """
SBATCH_TIMELIMIT=7 -n 1
SBATCH_TIMELIMIT=7 -t 9
SBATCH_TIMELIMIT=x -n 1
SBATCH_PARTITION=short -n 1
SBATCH_ACCOUNT=acc -n 1
SBATCH_JOB_NAME=from-env -n 1
SBATCH_OUTPUT=env.out -n 1
SBATCH_ERROR=env.err -n 1
SBATCH_INPUT=/dev/zero -n 1
SBATCH_ARRAY_INX=1-2 -n 1
SBATCH_CONSTRAINT=fast -n 1
SBATCH_EXCLUSIVE=1 -n 1
SBATCH_EXCLUSIVE=user -n 1
SBATCH_GRES=gpu:1 -n 1
SBATCH_GPUS=1 -n 1
SBATCH_GPUS_PER_NODE=1 -n 1
SBATCH_GPUS_PER_TASK=1 -n 1
SBATCH_CPUS_PER_GPU=2 --gpus=1
SBATCH_MEM_PER_CPU=100 -n 1
SBATCH_MEM_PER_NODE=100 -n 1
SBATCH_MEM_PER_NODE=100 --mem-per-cpu=50
SBATCH_MEM_PER_GPU=100 --gpus=1
SBATCH_NO_REQUEUE=1 -n 1
SBATCH_REQUEUE=1 -n 1
SBATCH_OPEN_MODE=append -n 1
SBATCH_OVERCOMMIT=1 -n 1
SBATCH_QOS=normal -n 1
SBATCH_RESERVATION=nosuch -n 1
SBATCH_SIGNAL=USR1@60 -n 1
SBATCH_SPREAD_JOB=1 -n 1
SBATCH_USE_MIN_NODES=1 -n 1
SBATCH_WCKEY=key -n 1
SBATCH_COMMENT=hi -n 1
SBATCH_EXPORT=NONE -n 1
SBATCH_DEBUG=1 -n 1
SBATCH_DISTRIBUTION=cyclic -n 1
SBATCH_HINT=nomultithread -n 1
SBATCH_THREADS_PER_CORE=1 -n 1
SBATCH_NETWORK=x -n 1
SBATCH_PROFILE=none -n 1
SBATCH_REQ_SWITCH=1 -n 1
SBATCH_WAIT4SWITCH=5 --switches=1
SBATCH_CORE_SPEC=1 -n 1
SBATCH_DELAY_BOOT=5 -n 1
SBATCH_GET_USER_ENV=60 -n 1
SBATCH_POWER=x -n 1
SBATCH_CLUSTERS=nosuch -n 1
SLURM_CLUSTERS=nosuch -n 1
SLURM_HINT=nomultithread -n 1
SLURM_NTASKS=3 -N 1
SLURM_NNODES=2 -n 2
SLURM_EXIT_ERROR=7 -t x
SBATCH_ACCTG_FREQ=5 -n 1
SBATCH_CONTAINER=x -n 1
SLURM_UMASK=0077 -n 1
SLURM_TIMELIMIT=7 -n 1
""")


def script(name: str, text: str, *arguments: str, **environment: str) -> Case:
    return Case(f"script: {name}", list(arguments), script=text, environment=environment)


BODY = "\necho hello\n"
SCRIPTS = [
    script("plain", "#!/bin/bash\n#SBATCH -t 5\n#SBATCH -n 2" + BODY),
    script("command line wins", "#!/bin/bash\n#SBATCH -t 5\n" + BODY, "-t", "6"),
    script("environment wins over the script", "#!/bin/bash\n#SBATCH -t 5\n" + BODY, SBATCH_TIMELIMIT="8"),
    script("last line wins", "#!/bin/bash\n#SBATCH -t 5\n#SBATCH -t 6\n" + BODY),
    script("comment behind", "#!/bin/bash\n#SBATCH -t 5 # five minutes\n" + BODY),
    script("comment behind without a blank", "#!/bin/bash\n#SBATCH -t 5#five\n" + BODY),
    script("hash in a name", "#!/bin/bash\n#SBATCH -J a#b\n" + BODY),
    script("several on a line", "#!/bin/bash\n#SBATCH -t 5 -n 3 --mem=100\n" + BODY),
    script("double quotes", '#!/bin/bash\n#SBATCH -J "two words"\n' + BODY),
    script("single quotes", "#!/bin/bash\n#SBATCH --comment='it is # so'\n" + BODY),
    script("quotes within", '#!/bin/bash\n#SBATCH --comment=a" b "c\n' + BODY),
    script("backslash", "#!/bin/bash\n#SBATCH --comment=a\\ b\n" + BODY),
    script("open quote", '#!/bin/bash\n#SBATCH -J "open\n' + BODY),
    script("tabs", "#!/bin/bash\n#SBATCH\t-t\t5\n#SBATCH\t\t-n 2\n" + BODY),
    script("trailing blanks", "#!/bin/bash\n#SBATCH -t 5   \n#SBATCH -n 2\t\n" + BODY),
    script("after a command", "#!/bin/bash\n#SBATCH -t 5\necho\n#SBATCH -t 6\n"),
    script("after blank lines and comments", "#!/bin/bash\n\n# words\n\n   # indented\n#SBATCH -t 5\n" + BODY),
    script("indented is a comment", "#!/bin/bash\n #SBATCH -t 5\n" + BODY),
    script("two hashes", "#!/bin/bash\n##SBATCH -t 5\n#SBATCH -n 2\n" + BODY),
    script("a blank in the middle", "#!/bin/bash\n# SBATCH -t 5\n" + BODY),
    script("lower case", "#!/bin/bash\n#sbatch -t 5\n" + BODY),
    script("nothing behind", "#!/bin/bash\n#SBATCH\n#SBATCH -t 5\n" + BODY),
    script("no blank behind", "#!/bin/bash\n#SBATCH-t 5\n" + BODY),
    script("a word that is no option", "#!/bin/bash\n#SBATCH time=5\n" + BODY),
    script("an operand", "#!/bin/bash\n#SBATCH -t 5 word\n#SBATCH -n 2\n" + BODY),
    script("short with equals", "#!/bin/bash\n#SBATCH -J=name\n" + BODY),
    script("short with equals and a number", "#!/bin/bash\n#SBATCH -n=4\n" + BODY),
    script("short with equals and a time", "#!/bin/bash\n#SBATCH -t=10\n" + BODY),
    script("long with blanks around equals", "#!/bin/bash\n#SBATCH --time = 5\n" + BODY),
    script("long without a value", "#!/bin/bash\n#SBATCH --time\n" + BODY),
    script("long with a blank", "#!/bin/bash\n#SBATCH --time 5\n" + BODY),
    script("abbreviated", "#!/bin/bash\n#SBATCH --tim=5\n#SBATCH --nta=2\n" + BODY),
    script("ambiguous", "#!/bin/bash\n#SBATCH --mem-=5\n" + BODY),
    script("glued", "#!/bin/bash\n#SBATCH -t5 -n2\n" + BODY),
    script("unknown", "#!/bin/bash\n#SBATCH --nosuch\n" + BODY),
    script("unknown short", "#!/bin/bash\n#SBATCH -Z\n" + BODY),
    script("wrong value", "#!/bin/bash\n#SBATCH -n many\n" + BODY),
    script("carriage returns", "#!/bin/bash\r\n#SBATCH -t 5\r\necho\r\n"),
    script("dash of a word processor", "#!/bin/bash\n#SBATCH –time=5\n" + BODY),
    script("python", "#!/usr/bin/env python3\n#SBATCH -t 5\nprint(1)\n"),
    script("interpreter with options", "#!/bin/bash -l\n#SBATCH -t 5\n" + BODY),
    script("blank after the mark", "#! /bin/bash\n#SBATCH -t 5\n" + BODY),
    script("no mark", "echo hello\n"),
    script("empty", ""),
    script("only the mark", "#!/bin/bash"),
    script("blank line first", "\n#!/bin/bash\n#SBATCH -t 5\n" + BODY),
    script("no newline at the end", "#!/bin/bash\n#SBATCH -t 5"),
    script("PBS", "#!/bin/bash\n#PBS -l walltime=0:10:00\n#PBS -N pbsname\n" + BODY),
    script("PBS of an unknown letter", "#!/bin/bash\n#PBS -X\n" + BODY),
    script("PBS of a long option", "#!/bin/bash\n#PBS --nosuch\n" + BODY),
    script("PBS without a value", "#!/bin/bash\n#PBS -q\n" + BODY),
    script("PBS of no mail", "#!/bin/bash\n#PBS -m x\n" + BODY),
    script("PBS with processors of a node", "#!/bin/bash\n#PBS -l ncpus=4\n" + BODY),
    script("an unknown letter of LSF", "#!/bin/bash\n#BSUB -P p\n" + BODY),
    script("array with blanks around equals", "#!/bin/bash\n#SBATCH --array = 1\n" + BODY),
    script("gres with blanks around equals", "#!/bin/bash\n#SBATCH --gres = gpu:1\n" + BODY),
    script("hint that the command line replaces", "#!/bin/bash\n#SBATCH --hint=x\n" + BODY, "--hint=compute_bound"),
    script("PBS ignored", "#!/bin/bash\n#PBS -N pbsname\n" + BODY, "--ignore-pbs"),
    script("PBS beside SBATCH", "#!/bin/bash\n#PBS -N pbsname\n#SBATCH -J name\n" + BODY),
    script("PBS resources", "#!/bin/bash\n#PBS -l nodes=2:ppn=2,mem=100mb\n#PBS -q short\n" + BODY),
    script("LSF", "#!/bin/bash\n#BSUB -W 10\n#BSUB -J lsfname\n" + BODY),
    script("array in the script", "#!/bin/bash\n#SBATCH --array=1-4%2\n#SBATCH -o %A_%a.log\n" + BODY),
    script("dependency in the script", "#!/bin/bash\n#SBATCH -d afterok:1001\n" + BODY),
    script("export in the script", "#!/bin/bash\n#SBATCH --export=NONE\n" + BODY),
    script("a value that begins with a dash", "#!/bin/bash\n#SBATCH --comment=-x\n" + BODY),
    script("the end of options", "#!/bin/bash\n#SBATCH -- -t 5\n" + BODY),
    script("long line", "#!/bin/bash\n#SBATCH --comment=" + "x" * 5000 + "\n" + BODY),
    script("comment with many quotes", "#!/bin/bash\n#SBATCH --comment='a'\"b\"'c'\n" + BODY),
    script("a variable is not expanded", "#!/bin/bash\n#SBATCH -J $USER\n#SBATCH -o $HOME/%j\n" + BODY),
    script("a colon for a het job", "#!/bin/bash\n#SBATCH -n 1\n#SBATCH hetjob\n#SBATCH -n 2\n" + BODY),
    script("a colon between words", "#!/bin/bash\n#SBATCH -n 1 : -n 2\n" + BODY),
    script("a colon before a word", "#!/bin/bash\n#SBATCH -J :b\n" + BODY),
    script("a colon behind the mark", "#!/bin/bash\n#SBATCH: -n 2\n" + BODY),
    script("packjob", "#!/bin/bash\n#SBATCH -n 1\n#SBATCH packjob\n#SBATCH -n 2\n" + BODY),
    script("arguments", "#!/bin/bash\n#SBATCH -t 5\n" + BODY),
]
# Job scripts such as people have, with the oddities of such: a file each.
JOB_SCRIPTS = [Case(f"job script: {path.stem}", [], script=path.read_text())
               for path in sorted(pathlib.Path(__file__).with_name("scripts").glob("*.sh"))]

# What can never run is told at once where a job is not held.
IMPOSSIBLE = lines("impossible", """
-c 9
-c 5 -N 4
-n 25
-N 6
--mem=8001
--mem=1T
--mem-per-cpu=5000 -n 2
--mincpus=9
-B 4:1:1
-B 2:4:1 -w n1
--sockets-per-node=3
--cores-per-socket=5
--threads-per-core=2
--ntasks-per-node=9 -N 1
--ntasks-per-node=2 -N 2 -n 6
--gres=gpu:3
--gres=gpu:a100:1,gpu:h100:1
--gres=gpu:nosuch:1
--gpus=9
--gpus=5 -N 2
--gpus-per-node=3
--gpus-per-task=3 -n 1
-C 'fast&slow'
-C 'fast' --gres=gpu:h100:1
-C big -c 5
-x n[1-5]
-w n1 -c 5
-w n5 --gres=gpu:1
-p short -N 3
-p short -c 5
-p short -w n3
-t 4:00:00 -p short
--tmp=30G
--contiguous -N 6
--exclusive -N 6
""", hold=False)

WAITING = lines("waiting", """
-n 1
-N 2
-c 4 --mem=1G
--gres=gpu:a100:2
-p short
-p short,main
-a 1-3
-a 1-10%2
-d afterok:1001
-d afterany:1001?afterany:1002
-d singleton -J one
-b now+1hour
-b now+1hour -d afterok:1001
--nice=100
-C fast
--exclusive
--tmp=10G
--deadline=now+2hours
-t 5 --time-min=1
-n 4 --overcommit
-w n1
-x n1
""", hold=False)

# Values that nobody writes, and that somebody will.
ODD = lines("odd", """
-t 366-0
--switches=2@1:30
--cpu-freq=1200000-2400000:ondemand
-L 'matlab|matlab,matlab'
-L 'matlab|nosuch'
-c 1
-a 3,3,3
-a 1-3:0
-B 1:2:1
--gpus=h100:3
--gpus-per-task=h100:1 -n 3
-C 'fast&big'
--prefer='fast&big' -C slow
-w n2,n4 -N 3
--begin=fika
--signal=R:TERM@5
--mail-type=ARRAY_TASKS,TIME_LIMIT_80
-N 1-
-N ,3
-c 65535
-c 9
-c 24
--ntasks-per-node=9
--ntasks-per-node=25
-n 2147483648
--priority=4294967295
-m arbitrary -w n2,n1,n1
--gpus=2 --mem-per-gpu=100
-n1 --tres-per-task=cpu:2,gres/gpu:1
-n1 --tres-per-task=cpu=1,gres:gpu:a100=2
-n1 -c2 --tres-per-task=gres/gpu:1
-n1 -w n1,n2
-n1 -N1 -w n1,n2
--gpus=1,
--gpus=,1
--gpus=+2
--gpus=a100:+2
--gpus-per-node=+1
--gpus-per-task=1, -n 1
--gres=gpu:1,
--gres=gpu:+2
""")

# What the newest release checks, and how options act on each other: a line a case.
NEWEST = lines("newest", pathlib.Path(__file__).with_name("newest.txt").read_text(), since="26.05")

GROUPS = [IMPOSSIBLE, WAITING, TIME, MEMORY, SIZE, NAMES, FILES, HOSTS, GRES, CONSTRAINT, ARRAY, DEPENDENCY, BEGIN,
          SIGNAL, ENVIRONMENT, SCRIPTS, JOB_SCRIPTS, ODD, NEWEST]
CASES = [case for group in GROUPS for case in group]
