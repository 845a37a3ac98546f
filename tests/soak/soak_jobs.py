"""What the kill soak submits: kinds of jobs, drawn from the seed, and threads that submit them and note what was
acknowledged.

Each run of a job writes what it does, line by line, to a file of the job's own in `runs/`, outside the cluster's home:

    begin JOB RESTART TIME        a run began
    step JOB RESTART I NUMBER     the I-th srun's program ran, as the step of this number
    ok JOB RESTART I              that srun said that it succeeded
    end JOB RESTART               the run came to its end
    beside                        an earlier run of the job was still there
"""
import dataclasses
import random
import subprocess
import threading
import time

from cluster import Cluster, PATIENCE

# NUMBER SECONDS CODE. The lock is inherited by all that the run starts, so it is free when all of that is gone.
PLAIN = """#!/bin/bash
run=runs/$1${SLURM_ARRAY_TASK_ID:+.$SLURM_ARRAY_TASK_ID} me="$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}"
exec 9>>"$run.lock"
flock --nonblock 9 || echo beside >>"$run"
echo "begin $me $EPOCHREALTIME" >>"$run"
sleep "$2"
echo "end $me" >>"$run"
exit "$3"
"""
STEPS = """#!/bin/bash
run=runs/$1 me="$SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0}"
exec 9>>"$run.lock"
flock --nonblock 9 || echo beside >>"$run"
echo "begin $me $EPOCHREALTIME" >>"$run"
for i in 1 2 3; do
  srun sh -c 'echo "step $1 $SLURM_STEP_ID" >>"$2"; sleep "$3"' sh "$me $i" "$run" "$2" && echo "ok $me $i" >>"$run"
done
echo "end $me" >>"$run"
exit "$3"
"""
# NUMBER SECONDS CODE, as srun's own job.
ALONE = ('echo "begin $SLURM_JOB_ID 0 $(date +%s.%N)" >>"runs/$1"; '
         'echo "step $SLURM_JOB_ID 0 1 $SLURM_STEP_ID" >>"runs/$1"; sleep "$2"; '
         'echo "end $SLURM_JOB_ID 0" >>"runs/$1"; exit "$3"')

KINDS = {"plain": 40, "kept": 20, "array": 4, "steps": 8, "alone": 8, "cancelled": 5, "held": 5}
TASKS = 5  # of an array
SCRIPTS = 8  # of each text, which differ in a comment: each is stored by itself
BACKLOG = 60  # jobs that are there at a time: what is killed shall find some of each state


@dataclasses.dataclass
class Job:
    """One submission. `number` is the test's own, in the job's name; what comes below is noted as it happens."""
    number: int
    kind: str
    seconds: float
    code: int
    job: int | None = None  # acknowledged under this number
    cancelling: bool = False
    cancelled_at: float | None = None  # acknowledged
    submitter_killed: bool = False

    @property
    def name(self) -> str:
        return f"soak{self.number}"

    @property
    def tasks(self) -> int:
        return TASKS if self.kind == "array" else 1

    @property
    def requeued(self) -> bool:
        return self.kind not in ("kept", "alone")


def draw(seed: int, count: int) -> list[Job]:
    """Submissions with so many jobs altogether, tasks of arrays counted."""
    jobs: list[Job] = []
    left = count
    while left > 0:
        chance = random.Random(f"{seed} job {len(jobs)}")
        kind = chance.choices(list(KINDS), KINDS.values())[0]
        if kind == "array" and left < TASKS:
            kind = "plain"
        seconds = round(chance.choice([0, 0, chance.uniform(0, 0.3), chance.uniform(0, 1.5)]), 3)
        if kind == "steps":
            seconds /= 3
        jobs.append(Job(len(jobs), kind, seconds + (kind == "cancelled"), chance.choice([0, 0, 0, 1, 7])))
        left -= jobs[-1].tasks
    return jobs


def write_scripts(cluster: Cluster) -> None:
    (cluster.work / "runs").mkdir()
    for name, text in (("plain", PLAIN), ("steps", STEPS)):
        for number in range(SCRIPTS):
            cluster.script(f"{text}# {number}\n", f"{name}.{number}.sh")


def release_what_nobody_knows(cluster: Cluster, jobs: list[Job]) -> None:
    """Of a held job whose sbatch was killed there may be one, and nobody who would release it."""
    for job in jobs:
        if job.kind == "held" and job.job is None:
            for number in cluster.queue("--name", job.name, format="%i"):
                cluster.run("scontrol", "release", number, check=0)


class Backlog:
    """Lets no more jobs be there than BACKLOG."""

    def __init__(self):
        self._condition = threading.Condition()
        self._there = 0
        self._given_up = False

    def enter(self, jobs: int) -> bool:
        """Waits for room. False: nothing is to be submitted any more."""
        with self._condition:
            self._condition.wait_for(lambda: self._given_up or self._there + jobs <= BACKLOG)
            self._there += jobs
            return not self._given_up

    def seen(self, jobs: int) -> None:
        """So many are in the queue."""
        with self._condition:
            self._there = jobs
            self._condition.notify_all()

    def give_up(self) -> None:
        with self._condition:
            self._given_up = True
            self._condition.notify_all()


class Submitter(threading.Thread):
    """Submits its jobs one after the other."""

    def __init__(self, cluster: Cluster, jobs: list[Job], backlog: Backlog):
        super().__init__(daemon=True)
        self.cluster, self.jobs, self.backlog = cluster, jobs, backlog
        self.done = 0
        self.problems: list[str] = []
        self._followers: list[threading.Thread] = []

    def run(self) -> None:
        for job in self.jobs:
            if not self.backlog.enter(job.tasks):
                return
            try:
                self._submit(job)
            except Exception as error:  # told at the end, with all others
                self.problems.append(f"{job}: {error!r}")
            self.done += 1
        for follower in self._followers:
            follower.join()

    def _submit(self, job: Job) -> None:
        if job.kind == "alone":
            self._follow(self._srun, job)
            return
        options = {"kept": ["--no-requeue"], "array": [f"--array=0-{TASKS - 1}"], "held": ["--hold"]}.get(job.kind, [])
        script = f"{'steps' if job.kind == 'steps' else 'plain'}.{job.number % SCRIPTS}.sh"
        done = self._command(job, "sbatch", "--parsable", "--output=/dev/null", "--mem=10", f"--job-name={job.name}",
                             *options, script, job.number, job.seconds, job.code)
        if done is None:
            return
        job.job = int(done.stdout)
        if job.kind == "cancelled":
            self._follow(self._cancel, job)
        elif job.kind == "held":
            while (done := self.cluster.run("scontrol", "release", job.job, timeout=120)).returncode == -9:
                continue
            # A daemon that was killed after it released the job: asked again, the next one may know its end already.
            if done.returncode != 0 and "Job has already finished" not in done.stderr:
                self.problems.append(f"{job.name}: scontrol release {job.job}: {done.returncode} {done.stderr.strip()}")

    def _follow(self, what, job: Job) -> None:
        self._followers = [one for one in self._followers if one.is_alive()]
        self._followers.append(threading.Thread(target=what, args=(job,), daemon=True))
        self._followers[-1].start()

    def _command(self, job: Job, *command) -> subprocess.CompletedProcess | None:
        """None: it was killed, so nothing was acknowledged, or it failed, which is a problem."""
        done = self.cluster.run(*command, timeout=120)
        if done.returncode == -9:
            job.submitter_killed = True
        elif done.returncode != 0:
            self.problems.append(f"{job.name}: {' '.join(map(str, command))}: {done.returncode} {done.stderr.strip()}")
        return done if done.returncode == 0 else None

    def _cancel(self, job: Job) -> None:
        time.sleep(random.Random(f"cancel {job.number}").uniform(0, 1))
        job.cancelling = True
        done = self.cluster.run("scancel", job.job, timeout=120)
        if done.returncode == 0:
            job.cancelled_at = time.time()
        elif done.returncode != -9 and "Invalid job id" not in done.stderr:  # it has ended long ago
            self.problems.append(f"{job.name}: scancel {job.job}: {done.returncode} {done.stderr.strip()}")

    def _srun(self, job: Job) -> None:
        try:
            done = self.cluster.run("srun", "--mem=10", f"--job-name={job.name}", "sh", "-c", ALONE, "sh", job.number,
                                    job.seconds, job.code, timeout=600 / PATIENCE)
        except subprocess.TimeoutExpired:
            self.problems.append(f"{job.name}: srun did not return in 600 s")
            return
        job.submitter_killed = done.returncode == -9
        self.cluster.exits[job.number] = (done.returncode, done.stderr.strip())
