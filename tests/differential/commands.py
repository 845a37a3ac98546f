"""Command lines of srun, salloc and sbatch that act at once: what they print, and their exit status, on both systems.

Each runs alone on idle nodes. Jobs' numbers, times and the nodes' order are made equal first.
"""
import re

from systems import Pair

COMMANDS = """
srun true
srun false
srun sh -c 'exit 7'
srun -n 2 -l echo a
srun -n 3 --label sh -c 'echo $SLURM_PROCID'
srun -N 2 -l hostname -s >/dev/null
srun -n 2 sh -c 'exit $SLURM_PROCID'
srun -n 2 -K sh -c 'test $SLURM_PROCID = 0 && exec sleep 30; exit 3'
srun sh -c 'kill -9 $$'
srun sh -c 'kill -TERM $$'
srun nosuchprogram
srun
srun --nosuch true
srun -n 0 true
srun -n x true
srun -N 0 true
srun -N 9 true
srun -N 2 sh -c 'echo $SLURM_DISTRIBUTION'
srun -n 2 -m cyclic sh -c 'echo $SLURM_DISTRIBUTION'
salloc -Q -n 2 srun sh -c 'echo $SLURM_DISTRIBUTION'
srun -m arbitrary -w n2,n1,n2 sh -c 'echo $SLURM_NODEID'
srun -N 2 --cores-per-socket=2 sh -c 'echo $SLURM_NTASKS'
srun -B 1:2 sh -c 'echo $SLURM_NTASKS'
srun -B 1:2:1 sh -c 'echo $SLURM_NTASKS'
salloc -Q -B *:2 sh -c 'echo $SLURM_NTASKS'
srun -N 2-1 true
srun -n 100 true
srun -c 100 true
srun --mem=1T true
srun --mem=x true
srun -p nosuch true
srun -t x true
srun -w nosuch true
srun -w n1 -x n1 true
srun --gres=nosuch true
srun --gres=gpu:9 true
srun -C nosuch true
srun -L nosuch true
srun --reservation=nosuch true
srun --jobid=999999 true
srun --jobid=x true
srun -d afterok:999999999999 true
srun -H -I1 true
srun -o out-%j true
srun -o /nosuch/dir/file true
srun -i /nosuch/file true
srun --test-only true
srun --test-only -N 9 true
srun --test-only -N 2 -t 5 true
srun --version
srun -V
srun -Q -n 2 -N 1 echo quiet
srun --export=NONE /usr/bin/env true
srun --export=A=5 /bin/sh -c 'echo $A'
srun -J name --comment=x true
srun --mpi=nosuch true
srun --cpu-bind=nosuch true
srun -m nosuch true
srun --time=1:2:3:4 true
srun -n 4 -N 1 --ntasks-per-node=2 true
srun --multi-prog nosuchfile
mkdir d-$$; cd d-$$; printf '0 echo zero\\n* echo rest %%t %%o\\n' >conf; srun -Q -n 3 -l --multi-prog conf
mkdir d-$$; cd d-$$; printf '%s\\n' "0-1 echo '%s %t<' --json {\\"a\\":%t} b\\\\  c" >conf; srun -Q -n 2 -l --multi-prog conf
mkdir d-$$; cd d-$$; printf '0 true\\n1-3 true\\n' >conf; srun -Q -n 2 --multi-prog conf
srun sh -c 'echo $0'
mkdir d-$$; cd d-$$; printf '#!/bin/sh\\ncd /; echo $0 | sed s/d-[0-9]*/D/\\n' >x.sh; chmod +x x.sh; srun -Q ./x.sh
mkdir d-$$; cd d-$$; mkdir s; ln -s /bin/bash s/other; PATH=$PATH:$PWD/s srun -Q other -c 'echo $0 | sed s/d-[0-9]*/D/'
srun --bcast ./nosuch true
srun --sockets-per-node=1 --cores-per-socket=2 echo a
srun -N 1 -B 1:2 echo a
srun -N 1 -B 1:2:1 echo a
mkdir d-$$; cd d-$$; sbatch -Q -W -o /dev/null --wrap='sstat -n -P -o JobID -j $SLURM_JOB_ID >told 2>&1'; cat told
srun -n 1 cat </dev/null
echo input | srun cat
echo input | srun -n 2 -N 1 cat
echo input | srun --input=none cat
srun bash -c 'echo out; echo err >&2'
srun -u echo unbuffered
srun -W 1 -n 2 sh -c 'test $SLURM_PROCID = 0 || exec sleep 20'
srun -E nosuch true
srun -N 1 -w n1 --exclusive -c 2 -l echo a
srun -n 2 -l -o both echo a; sort both
srun -Q -O -n 4 -N 2 -w n[1-2] --exclusive -l -m nopack printenv SLURM_NODEID
srun -Q -O -n 6 -N 2 -w n[1-2] --exclusive -l -m pack printenv SLURM_NODEID
srun -t 5 --time-min 10 true
srun -n 1 -m '*:*:*,pack' printenv SLURM_DISTRIBUTION
srun -r 1 true
srun -Q -n 1 -m pack printenv SLURM_DISTRIBUTION
printf '#!/bin/sh\\nexit 3\\n' >local-$$; chmod +x local-$$; srun -Q local-$$; echo $?; rm local-$$
srun -Z true
srun -Z -w n1 true
sacctmgr show federation
sbatch --hold -Q --wrap=true && squeue -h -o '%.5R|%5R'
sacctmgr -p list resource
srun -A '' true
srun --pty true
srun -b now+1hour -I1 true
srun -M nosuch true
salloc true
salloc false
salloc -N 2 -n 8 -w n[1-2] srun -r 1 true
salloc -N 2 -n 8 -w n[1-2] srun -x n1 true
salloc -N 2 -n 8 -w n[1-2] srun -x n[1-2] true
salloc -N 2 --ntasks-per-node=2 -w n[1-2] srun -n 2 true
salloc -N 2 --ntasks-per-node=2 -w n[1-2] srun -n 3 true
srun --ntasks-per-node=2 -n 3 -N 2 true
srun --ntasks-per-node=2 -n 2 -N 2 true
salloc sh -c 'exit 5'
salloc nosuchprogram
salloc -N 0-2 true
sacctmgr -i add qos zq; for s in preempt=zq priority=NONE flags=x usagefactor=x maxwall=NONE preemptmode=x nosuch=1 name=y; do sacctmgr -i modify qos zq set $s; done; sacctmgr -i delete qos zq
sacctmgr -i modify qos where priority=3 set priority=2; sacctmgr -nP show qos where nosuch=x; sacctmgr -nP show qos where id=1 format=name; sacctmgr -nP show qos where description=x format=name
sacctmgr -i modify account nosuch set maxjobs=3; sacctmgr -i modify qos nosuch set priority=3; sacctmgr -i modify account root set cluster=x; sacctmgr -i delete qos nosuch
sacctmgr -i modify account root set maxjobs=NONE; sacctmgr -i modify account root set qos=NONE; sacctmgr -i modify user root set defaultqos=NONE
sacctmgr -nP show event event=x; sacctmgr -nP show event user=nosuch format=nodename; sacctmgr -nP show event states=x
sacctmgr -i add account cacc clusters=nosuch; sacctmgr -i add user u3 account=nosuch; sacctmgr -i add user u3
squeue -h -l -o %i; sinfo -h -l -o %P; squeue -h -O nosuch,NoSuch:5; sinfo -h -O noSuch
sinfo -h -o '%2f|%5f|%6f|%.5f|%2G' -n n5; sinfo -h -O 'partition:+5,nodelist: 4'
J=$(sbatch --parsable -W -o /dev/null -J jb --wrap='until sacct -nX -j $SLURM_JOB_ID -o jobname | grep -q jb; do sleep 0.1; done; srun -Q true'); for a in $J.batch $J.0 $J.9 $J.0,$J; do sacct -nPX -j $a -o jobname; sacct -nP -j $a -o jobname; done
salloc --kill-command=99 true
salloc -Q sh -c 'env | grep -c SLURM_MEM'
salloc -Q --mem-per-cpu=100 sh -c 'env | grep SLURM_MEM'
salloc --get-user-env true
srun -N 1-0 true
srun -T 0 true
srun --msg-timeout=x true
srun --send-libs=x true
srun --wait= true
srun --resv-ports=x true
srun --priority=0 true
sbatch --priority=0 -W -o /dev/null --wrap=true
salloc -Q true
salloc -N 1 : -N 1 true
salloc -I2 -H true
salloc -N 2 srun -l echo a : echo b
salloc -N 1 srun -l echo a : echo b
salloc -w n1,n2 srun -l -w n1 echo a : -w n1 echo b
salloc --no-shell -t 1
salloc --no-shell -N 9
salloc -N 2 srun -l sh -c 'echo $SLURM_NODEID'
salloc -n 2 srun sh -c 'echo $SLURM_NTASKS'
salloc -t x true
salloc -p nosuch true
salloc --nosuch true
salloc -V
salloc --mem=1T true
salloc -I1 -H true
salloc -J name printenv SLURM_JOB_NAME
salloc printenv SLURM_JOB_NAME
salloc -N 1-2 printenv SLURM_JOB_NUM_NODES
salloc --bell true
salloc -K true
salloc --test-only true
salloc -M nosuch true
sbatch --test-only --wrap=true
sbatch --test-only -N 2 --wrap=true
sbatch --test-only -N 9 --wrap=true
sbatch -V
sbatch nosuchfile
sbatch -t 5 --time-min 10 --wrap=true
sbatch --deadline now+1hour --time-min 120 --wrap=true
sbatch -S1 --thread-spec=1 --wrap=true
sbatch -p nosuch --wrap=true
sbatch
sbatch --wrap=true extra
sbatch --parsable --test-only --wrap=true
sbatch -Q --hold --wrap=true
sbatch --parsable --hold --wrap=true
sbatch -W --wrap=true
sbatch -W --wrap='exit 3'
sbatch -W --wrap='kill -9 $$'
sbatch -W -a 1-2 --wrap='exit $SLURM_ARRAY_TASK_ID'
sbatch -W --parsable --wrap=true
echo '#!/bin/sh' | sbatch --hold
echo 'no shebang' | sbatch --hold
printf '' | sbatch --hold
printf '#!/bin/sh\\r\\ntrue\\r\\n' | sbatch --hold
salloc -Q -n 2 -c 2 -w n1 srun -Q -n 1 sh -c 'scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o " CPUs=[0-9]*"; echo $SLURM_CPUS_PER_TASK'
salloc -Q -c 4 -w n1 srun -Q sh -c 'scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o " CPUs=[0-9]*"; echo $SLURM_CPUS_PER_TASK'
salloc -Q -c 4 -w n1 env SRUN_CPUS_PER_TASK=2 srun -Q -n 1 sh -c 'scontrol show step $SLURM_JOB_ID.$SLURM_STEP_ID | grep -o " CPUs=[0-9]*"'
salloc -Q --gres=gpu:1 -n 2 -w n1 srun -Q -n 1 --gres=none sh -c 'echo $CUDA_VISIBLE_DEVICES.'
salloc -Q --gpus-per-task=1 -n 2 -w n1 srun -Q -n 1 --gres=none sh -c 'echo $CUDA_VISIBLE_DEVICES.'
sbatch --parsable -s --exclusive --hold --wrap=true | xargs scontrol show job | grep -o 'OverSubscribe=[A-Z]*'
sbatch --parsable --exclusive -s --hold --wrap=true | xargs scontrol show job | grep -o 'OverSubscribe=[A-Z]*'
sbatch --hold --signal=USR1@ --wrap=true
J=$(sbatch --parsable --hold -N 1 --wrap=true); for to in reqsockets=1 reqcores=2 reqthreads=1 switches=2@1 wait-for-switch=30 delayboot=5 prefer=fast prefer= tasksPerNode=2 oversubscribe=yes oversubscribe=x tresbind=gpu:closest corespec=1 endtime=now userid=0 burstbuffer=x; do scontrol update jobid=$J $to 2>/dev/null; echo $to $?; scontrol show job $J | grep -oE 'Socks/Node=[^ ]*|ReqB:S:C:T=[^ ]*|NtasksPerN:B:S:C=[^ ]*|DelayBoot=[^ ]*|Prefer=[^ ]*|Switches=[^ ]*|OverSubscribe=[A-Z]*|TresBind=.*'; done
sacctmgr dump nosuch
sinfo -h -N -o '%N %P %G' | sort
squeue -h -j 99999999,99999998
squeue -j 99999999; squeue -u nosuchuser; squeue -p nosuch; squeue -t nosuch
scontrol show hostlistsorted n3,n1,n2; scontrol show hostnames n[1-3,5] | paste -sd, -
scontrol listjobs nosuch n2
scontrol getaddrs
scontrol getaddrs nosuch
scontrol show topoconf
mkdir d-$$; cd d-$$; sbatch -Q -W -o told -w n1 --wrap='scontrol listjobs n1; scontrol liststeps n1'; cat told
sacctmgr ping | sed 's/at .* is/at HOST is/'
sacctmgr -p show instance
sacctmgr show instance format=cluster,nodename,timestart
sacctmgr show coordinator
sprio --helpformat
sacct --helpstate
squeue --helpstate
sinfo --helpstate
J=$(sbatch --parsable --hold -N 1 --wrap=true); scontrol update jobid=$J extra=a=1; echo $?; scontrol show job $J | grep -o 'Extra=.*'; scontrol update jobid=$J nice=7; scontrol show job $J | grep -o 'Nice=[0-9]*'
J=$(sbatch --parsable -w n1 -o /dev/null --wrap='sleep 60'); until squeue -h -t R -j $J -o %i | grep -q .; do sleep 0.1; done; scontrol update jobid=$J nice=50 2>/dev/null; echo $?; scontrol show job $J | grep -o 'Nice=[0-9]*'; scancel $J
J=$(sbatch --parsable --hold --wrap=true); scancel --admin-comment=bye $J 2>/dev/null; echo $?; scontrol show job $J | grep -oE 'AdminComment=.*|JobState=[A-Z]*'
S=$(squeue -h -O sluid -j $(sbatch --parsable --hold --wrap=true) | tr -d ' '); echo $S | grep -cE '^s[0-9A-Z]{13}$'; scontrol show job $S 2>/dev/null | grep -c JobId=; scancel $S 2>/dev/null; echo $?
J=$(sbatch --parsable --begin=now+1hour --wrap=true); scancel $J; squeue -h -t all -j $J -o '%T %r'
for c in '[fast*1]&big' 'fast*1|slow*1' 'slow&fast*1' '(fast&big)*2'; do sbatch --hold -C "$c" -N 3 --wrap=true 2>/dev/null; echo $?; done
srun -n 1 -w n1,n2 printenv SLURM_STEP_NODELIST
srun -n 1 -N 1 -w n1,n2 printenv SLURM_STEP_NODELIST
srun --mem-bind=help true
scontrol create partitionname=p-$$; scontrol -o show partition p-$$ | grep -oE 'MinNodes=[^ ]*|TRES=.*'; scontrol delete partitionname=p-$$
J=$(sbatch --parsable --hold --wrap=true); scancel $J; for c in hold uhold release; do scontrol $c $J; done
for f in +odd odd +backfill,odd -odd +Gres; do scontrol setdebugflags $f; echo $?; done
scontrol setdebugflags -gres
sacct -k 59 -nX -o jobid
for o in '--full' '--full -s KILL' '--full -s TERM' '--full --batch -s TERM' '--batch'; do scancel $o 99999999; echo $?; done
squeue --only-job-state -l
squeue --only-job-state -u root
sbatch --hold --resv-ports --wrap=true
printf '#!/bin/sh\\n#PBS -d /usr\\n#PBS -w /tmp\\n' >pbs-$$; sbatch --parsable --hold pbs-$$ | xargs scontrol show job | grep -o 'WorkDir=.*'; rm pbs-$$
printf '#!/bin/sh\\n#PBS -d /usr\\n#SBATCH -D /tmp\\n' >pbs-$$; sbatch --parsable --hold pbs-$$ | xargs scontrol show job | grep -o 'WorkDir=.*'; rm pbs-$$
SBATCH_CPU_FREQ_REQ=low sbatch --parsable --hold --wrap=true | xargs scontrol show job | grep -i freq
srun --x11 true
srun --cpu-bind= true
srun --accel-bind=x true
srun --het-group=0 true
srun -t -5 true 2>/dev/null
sbatch -vv --hold --wrap=true 2>&1 | grep -E 'PRIO_PROCESS|UMASK|RLIMIT_CPU'
SLURM_UMASK=0027 sbatch -vv --hold --wrap=true 2>&1 | grep -c UMASK
srun -vv true 2>&1 | grep -E 'PRIO_PROCESS|UMASK|RLIMIT_CPU'
salloc -vv true 2>&1 | grep -c propagating
squeue -s 99999999
squeue -s 99999999.0,x
squeue -h -j +99999999
A=$(sbatch --parsable --hold -a 1-3 --wrap=true); for d in afterany:${A}_9 after:${A}_9; do timeout 20 sbatch -W -o /dev/null -d $d --wrap=true; echo $?; done
J=$(sbatch --parsable --hold --wrap=true); for to in timemin=5 timemin=-1 timemin=0 timemin=x numtasks=+1 minmemorycpu=+5 mintmpdisknode=+5; do scontrol update jobid=$J $to 2>/dev/null; echo $to $?; done; scontrol show job $J | grep -oE 'TimeMin=.*|MinMemoryCPU=.*'
J=$(sbatch --parsable --hold --wrap=true); scontrol update jobid=$J stderr=/x stdin=/y stdout=/z; echo $?; scontrol show job $J | grep -oE 'Std[A-Za-z]+=.*'
J=$(sbatch --parsable --hold --wrap=true); for to in requeue=yes requeue=2 requeue= requeue=-1 requeue=70000 minmemorynode=1G minmemorycpu=1500K minmemorynode= minmemorynode=+1; do scontrol update jobid=$J $to; echo $?; scontrol show job $J | grep -oE 'Requeue=.|MinMemory[^ ]*'; done
J=$(sbatch --parsable -w n1 -o /dev/null --wrap='srun sleep 60'); until squeue -h -s -j $J -o %j | grep -q sleep; do sleep 0.1; done; for s in $J.x $J.0x $J.1 "$J. 0" x $J. $J.-1; do squeue -h -s "$s" -o %j; echo $?; done; scancel $J
for f in jobid,,state ,jobid 'jobid, ,state' 'jobid,,nosuch' 'nosuch,,jobid'; do sacct -n -P -X -j 99999999 -o "$f" 2>/dev/null; echo $?; done
for m in '' nosuch nosuch,other loopback,nosuch , LOOPBACK all,nosuch; do squeue -h -n nosuch -M "$m"; echo $?; done
sbatch --hold -Q -M '' --wrap=true
sbatch --hold -t x --nosuch --wrap=true
squeue --usage
for j in 99999999; do scontrol hold $j; scontrol release $j; scontrol requeue $j; scontrol update jobid=$j timelimit=5; scancel $j; done
""".strip().splitlines()

# Where tasks go: the job's options, and those of a step within it (none: srun alone).
LAYOUTS = """
-N 2 -n 4|
-N 2 -n 5|
--exclusive -N 2 -n 4|
--exclusive -N 2 -n 5|
--exclusive -N 3 -n 4|
--exclusive -N 2 -n 3 -c 2|
--exclusive -N 2 -n 4 -m cyclic|
--exclusive -N 2 -n 6 -m plane=2|
-N 3 -n 7 -m cyclic|
-N 3 -n 8 -m plane=3|
-N 2 -O -n 9|
-N 2 -n 6 --ntasks-per-node=3|
-N 2 -n 8|-n 4
-N 2 -n 8|-n 5
-N 2 -n 8|-n 3 -m cyclic
-N 2 -n 8|-N 1 -n 4
-N 2 -n 8|-c 2
-N 2 -n 8|-n 6 -m plane=2
-N 2 -n 8|-n 6 -m pack
-N 2 -n 8|-n 10 -O
-N 2 -n 8|-n 3 --exact
-N 2 -n 8|-n 2 --ntasks-per-node=1
-N 2 --exclusive|-n 6
-N 2 --exclusive|
-N 2 --ntasks-per-node=2|-n 3
-N 2 --ntasks-per-node=2 -c 2|
-N 3 -n 7|-n 4
-N 1 -n 2 -c 2|-n 4
-n 4 -N 2 -m cyclic|-n 4
""".strip().splitlines()
TELL = "echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURM_STEP_TASKS_PER_NODE $SLURM_DISTRIBUTION"
COMMANDS += [f"salloc -w n[1-{3 if '-N 3' in job else 1 if '-N 1' in job else 2}] {job} srun {step} sh -c '{TELL}'"
             for job, step in (line.split("|") for line in LAYOUTS)]


def plain(system, text: str) -> str:
    text = text.replace(str(system.work), "/work")
    text = text.replace("slurm-wlm", "slurm")  # Debian's name for its version
    text = re.sub(r"salloc: Job allocation \d+ has been revoked\.\n", "", text)  # said or not, as it happens
    text = re.sub(r"srun: error: IO: Hey, you told me node \d+ was down!\n", "", text)  # the same
    text = re.sub(r"slurmstepd-n\d:", "slurmstepd:", text)  # Slurm's name for one of several nodes on a host
    text = re.sub(r"\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"\b[12]\d{3}(?!\d)", "JOB", text)
    text = re.sub(r"\bn(\d|\[[\d,-]+\])(?=:| |$)", "NODE", text, flags=re.MULTILINE)
    return "".join(sorted(text.splitlines(True)))  # tasks write in any order


def answer_of(system, line: str) -> list[str]:
    """Exit code, standard output, standard error."""
    system.clear()
    done = system.run("timeout", "30", "bash", "-c", line, cwd=system.work)
    return [plain(system, text) for text in (str(done.returncode), done.stdout, done.stderr)]


def run_commands(pair: Pair, differ) -> dict[str, tuple]:
    """Each command's two answers. differ(line, slurm, minke) says whether they do: on a busy machine a real Slurm's accounting
    comes some seconds late, so it is asked again then, with nothing beside it. Minke is asked once."""
    def on(system):
        answers = {line: answer_of(system, line) for line in COMMANDS}
        system.clear()
        return answers
    theirs, ours = pair.each(on)
    for line in COMMANDS:
        for _ in range(2):
            if differ(line, theirs[line], ours[line]):
                theirs[line] = answer_of(pair.systems[0], line)
    return {line: (theirs[line], ours[line]) for line in COMMANDS}
