"""Submits the corpus to both systems and reads it back, field by field."""
import dataclasses
import re

from cluster import poll
from corpus import Case
from systems import Answer, Pair

# Two jobs that the dependencies of the corpus name, number 1001 and the array 1002; and one that has every node.
FIRST = (["sbatch", "--hold", "--wrap=true"], ["sbatch", "--hold", "--array=1-3", "--wrap=true"],
         ["sbatch", "--parsable", "--exclusive", "--nodes=5", "--output=/dev/null", "--wrap=sleep 600"])
SQUEUE_FIELDS = """
    account accruetime admin_comment allocnodes allocsid associd arrayjobid arraytaskid batchflag batchhost
    boardspernode burstbuffer burstbufferstate cluster clusterfeature command comment contiguous container cores
    corespec cpus-per-tres deadline delayboot dependency derivedec eligibletime endtime exit_code feature groupid
    groupname hetjobid hetjoboffset hetjobidset jobarrayid jobid licenses maxcpus maxnodes mcslabel mem-per-tres
    minmemory mincpus mintime mintmpdisk name network nice nodelist ntpercore ntpernode ntpersocket ntperboard
    numcpus numnodes numtasks origin originraw oversubscribe partition priority prioritylong profile preempttime qos
    reason reasonlist reboot reqnodes reqswitch requeue reservation resizetime restartcnt schednodes sct
    siblingsactive siblingsviable sockets sperboard starttime state statecompact stderr stdin stdout submittime
    system_comment threads timeleft timelimit timeused tres-alloc tres-bind tres-freq tres-per-job tres-per-node
    tres-per-socket tres-per-task userid username wait4switch wckey workdir""".split()
SEPARATOR = "\x1f"


@dataclasses.dataclass
class Seen:
    """What one system said to one case."""
    number: str | None            # the job's, where it was taken
    answer: Answer
    show: list[dict[str, str]]    # scontrol show job, a record for each job and component
    queue: list[dict[str, str]]   # squeue -O, every field


def submit(system, case: Case, number: int) -> Answer:
    arguments = ["--hold"] * case.hold + case.arguments
    if case.script is not None:
        arguments.append(f"case{number}.sh")
    done = system.run("sbatch", *arguments, env=case.environment)
    return Answer(done.returncode, done.stdout, done.stderr.replace(str(system.work), "/work"))


def job_number(answer: Answer) -> str | None:
    found = re.search(r"Submitted batch job (\d+)|^(\d+)$", answer.out, re.MULTILINE)
    return found and (found[1] or found[2])


def fields_of(record: str) -> dict[str, str]:
    """One record of `scontrol show job`: a line may hold several fields, and a value may hold blanks where it ends the
    line."""
    fields = {}
    for line in record.splitlines():
        for name, value in re.findall(r"(\S+?)=(.*?)(?=\s+[A-Za-z/:]+=|\s*$)", line.strip()):
            fields[name] = value
    return fields


def tell(system, *command) -> str:
    """What the command prints; the directory's name, which holds numbers, is /work."""
    return system.run(*command, check=0).stdout.replace(str(system.work), "/work")


def wait_accrued(system) -> None:
    """Slurm looks every few seconds only at which jobs have become eligible; until then their AccrueTime is Unknown."""
    def accrued() -> bool:
        times = [line.split() for line in tell(system, "squeue", "-ha", "-O", "EligibleTime,AccrueTime").splitlines()]
        return not [eligible for eligible, accrue in times if accrue == "N/A" != eligible]
    poll(accrued, 120, "that every eligible job has its AccrueTime")


def read_back(system) -> tuple[dict[str, list], dict[str, list]]:
    """By job number: the records of scontrol, the rows of squeue."""
    show, queue = {}, {}
    for record in re.split(r"\n\s*\n", tell(system, "scontrol", "show", "job")):
        if found := re.match(r"\s*JobId=(\d+)(?: HetJobId=(\d+))?", record):
            show.setdefault(found[2] or found[1], []).append(fields_of(record))
    form = ",".join(f"{field}:{SEPARATOR}" for field in SQUEUE_FIELDS)
    for line in tell(system, "squeue", "-h", "-a", "-t", "all", "-S", "i", "-O", form).splitlines():
        row = dict(zip(SQUEUE_FIELDS, (value.strip() for value in line.split(SEPARATOR)), strict=False))
        group = row["hetjobid"] if row["hetjobid"] not in ("", "0", "N/A") else row["arrayjobid"]
        number = group if group not in ("", "0", "N/A") else row["jobid"]
        queue.setdefault(number, []).append(row)
    return show, queue


def run_corpus(pair: Pair, cases: list[Case]) -> dict[str, tuple[Seen, Seen]]:
    (pair.work / "hosts.txt").write_text("n1\nn2\n")
    (pair.work / "relative").mkdir()
    for number, case in enumerate(cases):
        if case.script is not None:
            (pair.work / f"case{number}.sh").write_bytes(case.script.encode())

    def on(system):
        for command in FIRST:
            first = system.run(*command, check=0)
        system.wait_state(first.stdout.strip(), "RUNNING")
        answers = [submit(system, case, number) for number, case in enumerate(cases)]
        wait_accrued(system)
        show, queue = read_back(system)
        return [Seen(number, answer, show.get(number, []), queue.get(number, []))
                for answer in answers for number in [job_number(answer)]]
    theirs, ours = pair.each(on)
    return {case.name: both for case, both in zip(cases, zip(theirs, ours), strict=True)}
