"""What must hold after the kill soak: the jobs' own lines (soak_jobs.py) compared with what the cluster tells."""
import collections
import dataclasses
import pathlib

from cluster import Cluster, ENDED
from soak_jobs import Job, TASKS

ACCOUNT = "soak"
LATE = 10  # seconds after an acknowledged cancellation in which a start that was under way may still be seen


@dataclasses.dataclass(frozen=True)
class Row:
    """A run of a job, or a step, as sacct tells it."""
    raw: str
    id: str
    name: str
    state: str
    code: str
    restarts: int
    seconds: int
    cpus: int


@dataclasses.dataclass(frozen=True)
class Killed:
    """What was killed, and may have changed how a job ends."""
    launchers: int = 0
    shells: frozenset[str] = frozenset()  # numbers of the jobs whose script was
    power: bool = False  # a job that may be requeued may have run without a durable start


def record(cluster: Cluster) -> list[Row]:
    """Every run there is, and its steps."""
    rows = cluster.sacct("--duplicates", "--starttime=now-7days",
                         format="JobIDRaw,JobID,JobName,State,ExitCode,Restarts,ElapsedRaw,AllocCPUS")
    return [Row(raw, id, name, state.split()[0], code, int(restarts or 0), int(seconds or 0), int(cpus or 0))
            for raw, id, name, state, code, restarts, seconds, cpus in rows]


class Run:
    """What a job, or a task, wrote itself."""

    def __init__(self, path: pathlib.Path):
        self.begins: list[tuple[str, int, float]] = []
        self.ends: set[int] = set()
        self.steps: dict[tuple[int, int], list[str]] = collections.defaultdict(list)  # of a restart, the I-th srun's
        self.ok: list[tuple[int, int]] = []
        self.beside = False
        for line in path.read_text().splitlines() if path.exists() else []:
            what, *rest = line.split()
            if what == "begin":
                self.begins.append((rest[0], int(rest[1]), float(rest[2])))
            elif what == "end":
                self.ends.add(int(rest[1]))
            elif what == "step":
                self.steps[int(rest[1]), int(rest[2])].append(rest[3])
            elif what == "ok":
                self.ok.append((int(rest[1]), int(rest[2])))
            else:
                self.beside = True


class Checks:
    def __init__(self, cluster: Cluster, jobs: list[Job], killed: Killed):
        self.cluster, self.jobs, self.killed = cluster, jobs, killed
        self.problems: list[str] = []
        self.figures: collections.Counter[str] = collections.Counter()
        self.rows = record(cluster)
        self.runs_of: dict[str, list[Row]] = collections.defaultdict(list)
        self.steps_of: dict[str, list[Row]] = collections.defaultdict(list)
        for row in self.rows:
            if "." in row.id:
                self.steps_of[row.raw.partition(".")[0]].append(row)
            else:
                self.runs_of[row.name].append(row)

    def all(self) -> list[str]:
        for job in self.jobs:
            self._job(job)
        known = {job.name for job in self.jobs}
        for name in self.runs_of.keys() - known:
            self._say(f"nobody submitted {name}: {self.runs_of[name]}")
        self._usage()
        return self.problems

    def _say(self, text: str) -> None:
        self.problems.append(text)

    def _job(self, job: Job) -> None:
        rows = self.runs_of.get(job.name, [])
        by_id = collections.defaultdict(list)
        for row in rows:
            by_id[row.id].append(row)
        if job.kind == "array":
            if job.job is None:
                wanted = {id for id in by_id if "_" in id}
                if wanted and len(wanted) != TASKS:
                    self._say(f"{job}: its array is there in part: {sorted(by_id)}")
            else:
                wanted = {f"{job.job}_{task}" for task in range(TASKS)}
        else:
            wanted = {str(job.job)} if job.job is not None else set(list(by_id)[:1])
        if by_id.keys() != wanted:
            self._say(f"{job}: in the record as {sorted(by_id)}, not as {sorted(wanted)}")
            return
        if job.kind == "alone" and not wanted and not job.submitter_killed:
            self._say(f"{job}: its srun ended, and it is not in the record: {self.cluster.exits.get(job.number)}")
        for id in wanted:
            task = f".{id.split('_')[1]}" if "_" in id else ""
            self._one(job, by_id[id], Run(self.cluster.work / f"runs/{job.number}{task}"))

    def _one(self, job: Job, rows: list[Row], run: Run) -> None:
        rows.sort(key=lambda row: row.restarts)
        last = rows[-1]
        self.figures["jobs"] += 1
        self.figures[last.state] += 1
        self.figures["runs"] += len(run.begins)
        told = f"{job}: {rows}, {run.__dict__}"
        if [row.restarts for row in rows] != sorted({row.restarts for row in rows}):
            self._say(f"a run is in the record twice: {told}")
        if any(row.state not in ENDED | {"REQUEUED"} for row in rows) or last.state == "REQUEUED":
            self._say(f"it has not ended: {told}")
        if run.beside:
            self._say(f"a run began beside another: {told}")
        started = [restart for _, restart, _ in run.begins]
        again = job.requeued and self.killed.power
        if (len(started) != len(set(started)) and not again) or (not job.requeued and len(started) > 1):
            self._say(f"it ran twice: {told}")
        # Of an array, which task has which number is not durable either when it begins.
        numbers = set() if job.kind == "array" and again else {number for number, _, _ in run.begins}
        if numbers - {last.raw} or any(one > last.restarts for one in started):
            self._say(f"it ran under another number: {told}")
        if job.cancelled_at and any(time > job.cancelled_at + LATE for _, _, time in run.begins):
            self._say(f"it began after its cancellation: {told}")
        if not self._as_it_should_end(job, last, run):
            self._say(f"it should have ended otherwise: {told} {self.cluster.exits.get(job.number, '')}")
        self._steps(job, last.raw, run, told)

    def _as_it_should_end(self, job: Job, last: Row, run: Run) -> bool:
        as_its_program = last.state == ("FAILED" if job.code else "COMPLETED") and last.code == f"{job.code}:0"
        if as_its_program and last.restarts in run.ends:
            return True
        if job.kind == "alone":
            code, said = self.cluster.exits.get(job.number, (0, ""))
            # srun says why. A launcher may be killed between a program's end and its note of it: the step is lost then,
            # though all of it ran.
            lost = code != 0 and ("Node failure" in said or "the launcher was restarted" in said)
            return job.submitter_killed or (self.killed.launchers > 0 and lost)
        if last.state == "CANCELLED":
            return job.cancelling
        if last.state == "NODE_FAIL":
            return not job.requeued and (self.killed.launchers > 0 or self.killed.power)
        return last.raw in self.killed.shells and last.state == "FAILED" and last.code == "0:9"

    def _steps(self, job: Job, number: str, run: Run, told: str) -> None:
        """Every step that began is in the record, under a number of its own in its run; one that srun said to have
        succeeded has succeeded there."""
        recorded = collections.defaultdict(list)
        for row in self.steps_of[number]:
            recorded[row.raw.partition(".")[2]].append(row.state)
        # A step is launched while its start is being committed.
        durable = not self.killed.power
        began = collections.Counter()
        taken: set[tuple[int, str]] = set()
        for (restart, index), numbers in run.steps.items():
            self.figures["steps"] += len(numbers)
            if len(numbers) > 1 and durable:
                self._say(f"srun {index} ran its program {len(numbers)} times: {told}")
            for one in numbers:
                if (restart, one) in taken and durable:
                    self._say(f"two steps have number {one}: {told}")
                taken.add((restart, one))
                began[one] += 1
        for one, times in began.items():
            if len(recorded[one]) < times and durable:
                self._say(f"step {one} is in the record {len(recorded[one])} times, and ran {times}: {told}")
        succeeded = collections.Counter(number for key in run.ok for number in run.steps.get(key, ["none"]))
        for one, times in succeeded.items():
            self.figures["steps that succeeded"] += times
            if recorded[one].count("COMPLETED") < times and (durable or "COMPLETED" not in recorded[one]):
                self._say(f"step {one} succeeded {times} times, and is {recorded[one]} in the record: {told}")
        if any(state not in ENDED for states in recorded.values() for state in states):
            self._say(f"a step has not ended: {dict(recorded)}, {told}")

    def _usage(self) -> None:
        """What the account has used is the sum of what its jobs used, each run counted."""
        used = sum(row.seconds * row.cpus for rows in self.runs_of.values() for row in rows)
        told = self.cluster.run("sshare", "-n", "-P", "-A", ACCOUNT, "-o", "Account,RawUsage", check=0).stdout
        counted = int(told.split()[0].split("|")[1])
        self.figures["CPU seconds"] = used
        if counted != used:
            self._say(f"the account has used {counted} s, its jobs {used} s")
