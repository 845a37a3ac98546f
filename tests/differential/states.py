"""Jobs in every state on both systems, and what the commands that look say about them in every format."""
import re

from cluster import poll
from documents import DOCUMENTS, OF_NODES, RESERVATION, documents_of
from systems import Pair

# name: how it is submitted. `{name}` is the number of an earlier one.
JOBS = {
    "completed": "--wrap=true",
    "failed": "--wrap='exit 3'",
    "killed": "--wrap='kill -KILL $$'",
    "cancelled": "-w n5 --wrap='exec sleep 300'",  # one process: its signal is the job's
    "never-ran": "--hold --wrap=true",
    "running": "-N 1 -n 2 --mem-per-cpu=100 -t 10 -w n3 --gres=gpu:1 --wrap='srun -n 1 -J walk sleep 300'",
    "busy": "-w n1 --exclusive --wrap='sleep 300'",
    "suspended": "-w n2 --wrap='sleep 300'",
    "requeued": "-w n5 --wrap='sleep 300'",
    "node-fail": "-w n4 --no-requeue --wrap='sleep 300'",
    "array": "-a 1,3-4%1 -w n5 --wrap='sleep 300'",
    "held": "--hold --comment=mine -J 'a name' --wrap=true",
    "asks": "-b 2035-01-02T10:00 -n 2 -p main --cpu-freq=low-high:performance --profile=task --mail-type=ALL,TIME_LIMIT_80 "
            "--gres=gpu:1 --gres-flags=enforce-binding --gpu-freq=high --wrap=true",
    "by-nodes": "-b 2035-01-02T10:00 -N 1 --ntasks-per-node=2 --oversubscribe --wrap=true",
    "begin": "-b 2035-01-01T10:00 --wrap=true",
    "dependent": "-d afterok:{running} --wrap=true",
    "never": "-d afterok:{failed} --wrap=true",
    "resources": "-w n1 --exclusive --wrap=true",
    "priority": "-w n1 --exclusive --wrap=true",
}
RUNNING = ("cancelled", "running", "busy", "suspended", "requeued", "node-fail")
STEERING = ("scancel {cancelled} {never-ran}", "scontrol requeuehold {requeued}",
            "scontrol update nodename=n4 state=down reason=broken")
SETTLED = {"completed": "COMPLETED", "failed": "FAILED", "killed": "FAILED", "cancelled": "CANCELLED",
           "never-ran": "CANCELLED", "node-fail": "NODE_FAIL", "requeued": "PENDING"}
SEPARATOR = "\x1f"

SQUEUE_LETTERS = "aAbBcCdDeEfFgGhHiIjJkKlLmMnNoOpPqQrRsStTuUvVwWxXyYzZ"
SINFO_LETTERS = "aAbBcCdDeEfFgGhHIlLmMnNoOpPrRsStTuUvVwXYzZ"
SINFO_FIELDS = """
    allocmem allocnodes available cluster comment cores cpus cpusload cpusstate defaulttime disk extra features
    features_act freemem gres gresused groups memory nodeaddr nodeai nodeaiot nodehost nodelist
    nodes
    oversubscribe partition partitionname port preemptmode priorityjobfactor prioritytier reason root share size
    socketcorethread sockets statecomplete statecompact statelong threads time timestamp user
    userlong version weight""".split()
SACCT_FIELDS = """
    Account AdminComment AllocCPUS AllocNodes AllocTRES AssocID BlockID Cluster Comment Constraints ConsumedEnergy
    ConsumedEnergyRaw Container CPUTime CPUTimeRAW DerivedExitCode Elapsed ElapsedRaw Eligible End ExitCode Flags GID
    Group
    JobID JobIDRaw JobName Layout McsLabel NCPUS NNodes NodeList NTasks Partition Priority QOS QOSRAW Reason ReqCPUFreq
    ReqCPUFreqGov ReqCPUFreqMax ReqCPUFreqMin ReqCPUS ReqMem ReqNodes ReqTRES Reservation ReservationId Reserved ResvCPU
    ResvCPURAW Start State Submit SubmitLine Suspended SystemComment Timelimit TimelimitRaw UID User WCKey WCKeyID
    WorkDir""".split()
# Names that changed with 23.02.
RENAMED = {"Reserved": "Planned", "ResvCPU": "PlannedCPU", "ResvCPURAW": "PlannedCPURAW"}

# name: the command; its output is compared line by line. {jobs} are all numbers.
LISTINGS = {
    "squeue": "squeue -j {jobs}",
    "squeue long": "squeue -h -l -j {jobs}",
    "squeue array": "squeue -r -j {array}",
    "squeue steps": "squeue -s -j {running}",
    "squeue start": "squeue --start -j {begin}",
    "squeue all states": "squeue -t all -S i -j {jobs}",
    "squeue by states": "squeue -h -t S,CA,F -S i -j {jobs} -o '%i %T %r'",
    "squeue by name": "squeue -h -n 'a name' -j {jobs} -o '%j %k'",
    "squeue widths": "squeue -h -t all -S i -j {jobs} -o '%.4i|%4i|%.10j|%3j|%8T|%.8T|%.2t'",
    "squeue long format": "squeue -t all -S i -j {jobs} -O 'JobID:.6,NumNodes:.3,Name:.5,State,Reason:20,tres:10'",
    "squeue no state": "squeue -t NOSUCH",
    "squeue no job": "squeue -j 999999",
    "squeue bad option": "squeue --nosuch",
    "squeue no user": "squeue -u nosuchuser",
    "squeue no partition": "squeue -p nosuch",
    "squeue only state": "squeue -h -t PD -j {jobs} -S i -o '%i %r'",
    "squeue sort": "squeue -h -t all -j {jobs} -S -T,i -o '%T %i'",
    "sinfo": "sinfo",
    # The order of a node's lines, one for each partition, is arbitrary in Slurm.
    "sinfo nodes": "sinfo -N | LC_ALL=C sort",
    "sinfo long": "sinfo -h -l",
    "sinfo nodes long": "sinfo -h -N -l | LC_ALL=C sort",
    "sinfo summary": "sinfo -s",
    "sinfo exact": "sinfo -e",
    "sinfo reasons": "sinfo -h -R -o '%20E %9u %N'",
    "sinfo partition": "sinfo -p short",
    "sinfo states": "sinfo -h -t idle,down -o '%t %N'",
    "sinfo one node": "sinfo -h -n n1 -o '%n %T %G %f'",
    "sinfo nosuch state": "sinfo -t nosuch",
    "sinfo all": "sinfo -h -o '%all' | tr '|\\n' ':|' | tr -dc '|'",
    "sinfo ood": "sinfo -aho %F/%C",
    "sinfo ood nodes": "sinfo -ahNO nodehost:100,gres:512,gresused:512,statelong",
    # In the order of the database, which is Slurm's own.
    "sacct": "sacct -j {jobs} -o JobID,JobName,Partition,AllocCPUS,State,ExitCode | LC_ALL=C sort",
    "sacct default": "sacct -j {completed}",
    "sacct brief": "sacct -b -j {failed}",
    "sacct parsable": "sacct -p -j {failed} -o jobid,state,exitcode",
    "sacct widths": "sacct -n -X -j {failed} -o jobid%5,jobname%-10,state%3",
    "sacct allocations": "sacct -X -n -P -j {jobs} -o jobid,state | LC_ALL=C sort",
    "sacct states": "sacct -X -n -P -j {jobs} -s F,CA -S now-1hour -E now -o jobid,state",
    "sacct name": "sacct -X -n -P --name 'a name' -o jobname,state,comment",
    "sacct bad field": "sacct -o nosuch",
    "sacct bad state": "sacct -s nosuch",
    "sacct no job": "sacct -n -j 999999",
    "sacct helpformat": "sacct --helpformat",
    "sacctmgr accounts of a user": "sacctmgr -n -s list user root format=account%256",
    "sacctmgr users": "sacctmgr show user",
    "sacctmgr no user": "sacctmgr show user nosuch",
    "sacctmgr users with accounts": "sacctmgr -nP show users withassoc format=account where user=root cluster=loopback",
    "sacctmgr associations": "sacctmgr -P show assoc user=root format=cluster,account,user%20,share",
    "sacctmgr associations as a table": "sacctmgr show assoc format=cluster,account,user%20,share",
    "sacctmgr cluster": "sacctmgr -p list cluster format=cluster,share",
    "sacctmgr accounts": "sacctmgr show account format=account,organization%-8",
    "sacctmgr tres": "sacctmgr show tres",
    "sacctmgr no field": "sacctmgr -n show assoc format=account,nosuch",
    "sshare accounts": "sshare -U --format Account%256 --noheader",
    "scontrol no job": "scontrol show job 999999",
    "scontrol no node": "scontrol show node nosuch",
    "scontrol no partition": "scontrol show partition nosuch",
    "scontrol hostnames": "scontrol show hostnames n[1-3,5]",
    "scontrol hostlist": "scontrol show hostlist n3,n1,n2",
    "scontrol hostlistsorted": "scontrol show hostlistsorted n3,n1,n2",
    "scontrol nothing": "scontrol show nosuch",
    "scontrol unknown": "scontrol nosuch",
    "scontrol hold no job": "scontrol hold 999999",
    "scontrol release no job": "scontrol release 999999",
    "scontrol requeue no job": "scontrol requeue 999999",
    "scontrol requeue pending": "scontrol requeue {begin}",
    "scontrol suspend pending": "scontrol suspend {begin}",
    "scontrol resume running": "scontrol resume {running}",
    "scontrol update nothing": "scontrol update jobid={begin}",
    "scontrol update nosuch": "scontrol update jobid={begin} nosuch=1",
    "scontrol update completed": "scontrol update jobid={completed} timelimit=5",
    "scontrol update partition": "scontrol update jobid={begin} partition=nosuch",
    "scontrol update time": "scontrol update jobid={begin} timelimit=x",
    "scontrol write": "scontrol write batch_script {begin} -",
    "squeue bad format": "squeue -h -O nosuch 2>&1 | tr -d '\n'",
    "scontrol bad job": "scontrol show job x",
    "scancel no job": "scancel 999999",
    "scancel ended": "scancel {completed}",
    "scancel verbose ended": "scancel -v {completed}",
    "scancel nothing": "scancel",
    "scancel word": "scancel x",
    "scancel bad state": "scancel -t nosuch",
    "scancel bad signal": "scancel -s NOSUCH {running}",
    "scancel bad user": "scancel -u nosuchuser",
    "scancel quiet": "scancel -Q 999999",
    "sbcast outside": "sbcast a b",
    "srun no job": "srun --jobid=999999 true",
    "srun ended job": "srun --jobid={completed} true",
    "sattach no job": "sattach 999999.0",
}


TABLES = ("squeue letters", "sinfo letters", "sinfo fields", "sacct fields", "show job", "show node", "show partition",
          "show step", *DOCUMENTS)
DOCUMENTED = "24.11"  # the oldest release whose documents have the shapes that Minke's have


def on(system, numbers: dict[str, int], command: str):
    """Runs a line of the tables by a shell, and names the jobs in what it says."""
    line = command.format(**numbers, jobs=",".join(map(str, numbers.values())))
    done = system.run("bash", "-c", line)
    return [named(text, system, numbers) for text in (str(done.returncode), done.stdout, done.stderr)]


def named(text: str, system, numbers: dict[str, int]) -> str:
    for name, number in numbers.items():
        text = re.sub(rf"(?<![0-9A-Za-z.]){number}(?![0-9A-Za-z])", f"<{name}>", text)
    return text.replace(str(system.work), "/work")


def prepare(system) -> dict[str, int]:
    """Submits and steers; returns the numbers by name once every job is where it should be."""
    system.clear()
    numbers: dict[str, int] = {}
    for name, line in JOBS.items():
        done = system.run("bash", "-c", "sbatch --parsable " + line.format(**numbers), check=0)
        numbers[name] = int(done.stdout)
        if name in ("failed", "completed", "killed"):
            system.wait_end(numbers[name])
        elif name in RUNNING:
            system.wait_state(numbers[name], "RUNNING")
    poll(lambda: f"{numbers['running']}.0" in system.queue("-s", "-j", str(numbers["running"]), format="%i"), 30, "the step")
    for line in STEERING:
        system.run("bash", "-c", line.format(**numbers), check=0)
    for name, state in SETTLED.items():
        system.wait_state(numbers[name], state)
    poll(lambda: system.run("sacct", "-n", "-P", "-j", numbers["resources"], "-o", "state").stdout == "PENDING\n", 30,
         "the accounting of what waits")
    for name, state in (("requeued", "PENDING"), ("array", "RUNNING"), ("node-fail", "NODE_FAIL")):
        task = f"{numbers[name]}_1" if name == "array" else numbers[name]
        poll(lambda: system.run("sacct", "-n", "-X", "-P", "-j", task, "-o", "state").stdout == state + "\n", 60,
             f"the accounting of {name}")
    task = next(job for job in system.jobs(numbers["array"]) if job["ArrayTaskId"] == "1")
    numbers["array-1"] = int(task["JobId"])
    return numbers


def rows(system, numbers, command: str, fields: list[str], key: int) -> dict[str, dict[str, str]]:
    """A listing of separated fields: by the value of its field `key`, the fields."""
    _, out, err = on(system, numbers, command)
    found = {}
    for line in out.splitlines():
        values = line.split(SEPARATOR)
        assert len(values) >= len(fields), f"{system.name}: {command}: {line!r} {err}"
        found[values[key].strip()] = dict(zip(fields, (value.strip() for value in values[:len(fields)]), strict=True))
    assert found, err
    return found


def look(pair: Pair) -> dict[str, tuple]:
    """Everything that is asked about the jobs: by its name, the two answers."""
    def ask(system):
        numbers = prepare(system)
        # A suspended job keeps its processors in Minke: the nodes are looked at before there is one.
        of_nodes = look_at_nodes(system, numbers)
        of_jobs = [name for name in DOCUMENTS if name not in OF_NODES] if pair.release >= DOCUMENTED else []
        if of_jobs:
            of_nodes |= documents_of(system, numbers, OF_NODES, named)
        system.run("scontrol", "suspend", numbers["suspended"], check=0)
        system.wait_state(numbers["suspended"], "SUSPENDED")
        if of_jobs:
            system.run("scontrol", "create", "reservation", *RESERVATION.split(), check=0)
            of_nodes |= documents_of(system, numbers, of_jobs, named)
            system.run("scontrol", "delete", "reservationname=later", check=0)
        return of_nodes | look_at_jobs(system, numbers, pair.release)
    theirs, ours = pair.each(ask)
    return {name: (theirs[name], ours[name]) for name in theirs}


def shown(system, numbers: dict[str, int], entities: tuple[str, ...]) -> dict[str, dict]:
    """The records of `scontrol -d show`, by `show entity`."""
    answers = {}
    for entity in entities:
        found = records(named(system.run("scontrol", "-d", "show", entity).stdout, system, numbers))
        answers[f"show {entity}"] = {name: fields for name, fields in found.items() if not name.isdigit()}
    return answers


def look_at_nodes(system, numbers: dict[str, int]) -> dict:
    letters = "".join(f"%{letter}{SEPARATOR}" for letter in SINFO_LETTERS)
    fields = ",".join(f"{field}:{SEPARATOR}" for field in SINFO_FIELDS)
    answers = {
        "sinfo letters": rows(system, numbers, f"sinfo -h -N -p main -o '{letters}'",
                              list(SINFO_LETTERS), SINFO_LETTERS.index("N")),
        "sinfo fields": rows(system, numbers, f"sinfo -h -N -p main -O '{fields}'",
                             SINFO_FIELDS, SINFO_FIELDS.index("nodelist")),
    }
    answers |= shown(system, numbers, ("node", "partition"))
    return answers | {name: on(system, numbers, line) for name, line in LISTINGS.items() if name.startswith("sinfo")}


def look_at_jobs(system, numbers: dict[str, int], release: str) -> dict:
    s = SEPARATOR
    sacct_fields = [RENAMED.get(name, name) if release > "22.05" else name for name in SACCT_FIELDS]
    letters = "".join(f"%{letter}{s}" for letter in SQUEUE_LETTERS)
    answers = {
        "squeue letters": rows(system, numbers, f"squeue -h -t all -j {{jobs}} -o '{letters}'",
                               list(SQUEUE_LETTERS), SQUEUE_LETTERS.index("i")),
        "sacct fields": rows(system, numbers,
                             f"sacct -n -P --delimiter='{s}' -j {{jobs}} -o {','.join(sacct_fields)}",
                             sacct_fields, sacct_fields.index("JobID")),
    }
    answers |= shown(system, numbers, ("job", "step"))
    for name in ("<resources>", "<priority>"):
        # When they will start is a forecast: each has its own, and Slurm only from its next backfill cycle on.
        for field in ("StartTime", "EndTime"):
            answers["show job"][name].pop(field)
    # Those that change something come last.
    order = sorted((name for name in LISTINGS if not name.startswith("sinfo")),
                   key=lambda name: name.startswith(("scontrol", "scancel")))
    return answers | {name: on(system, numbers, LISTINGS[name]) for name in order}


def records(text: str) -> dict[str, dict[str, str]]:
    """The records of `scontrol show`, by the value of their first field."""
    found = {}
    for record in re.split(r"\n\s*\n", text):
        fields = {}
        for line in record.splitlines():
            for name, value in re.findall(r"(\S+?)=(.*?)(?=\s+[A-Za-z/:]+=|\s*$)", line.strip()):
                fields[name] = value
        if fields:
            found[next(iter(fields.values()))] = fields
    return found
