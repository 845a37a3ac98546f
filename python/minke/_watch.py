"""What the cluster knows of jobs, asked seldom: one squeue for all jobs that anybody in this process waits for, at most
once in a period, and one sacct for those that squeue no longer shows. Any thread may call."""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Set

from ._commands import Commands
from ._errors import ClusterError
from ._states import Seen, Snapshot, read_sacct, read_squeue

if TYPE_CHECKING:
    from ._job import Job

SQUEUE = ("--me", "--states=all", "-h", "-o", "%i|%T|%r|%k")
SACCT = ("-X", "-n", "-P", "-o", "JobID,State,ExitCode,Comment")
MOST_IDS = 5000  # in one command line
TIMES_LOST = 2   # so often neither knows it before it counts as lost
MINKE_PERIOD, SLURM_PERIOD = 0.1, 30.0


class Watch:
    def __init__(self, commands: Commands, clock: Callable[[], float], period: Optional[float]):
        self.commands, self.clock = commands, clock
        self.least = period if period is not None else MINKE_PERIOD if commands.is_minke else SLURM_PERIOD
        self.cost = 0.0   # of the last question, in seconds
        self.asked = -1e9  # when the last question was sent
        self.queries = 0
        self.lost: Dict[str, int] = {}
        self.snapshot = Snapshot()
        self.lock = threading.Lock()

    @property
    def period(self) -> float:
        """Longer where answers take long: asking takes at most a twentieth of the time."""
        return max(self.least, 20 * self.cost)

    def until_due(self) -> float:
        return max(0.0, self.asked + self.period - self.clock())

    def queue(self) -> Snapshot:
        """Asks now."""
        begin = self.clock()
        self.asked = begin
        self.queries += 1
        self.snapshot = read_squeue(self.commands.ask("squeue", *SQUEUE))
        self.cost = self.clock() - begin
        return self.snapshot

    def update(self, jobs: "Iterable[Job[Any]]") -> None:
        """Lets each job see its state, if a question may be sent; what is known stays otherwise."""
        open_jobs = [job for job in jobs if not (job._seen and job._seen.ended)]
        if not open_jobs:
            return
        with self.lock:
            if self.until_due() > 0:
                self.tell(open_jobs)
                return
            snapshot = self.queue()
            absent = [job for job in open_jobs if not snapshot.find(job.id)]
            record = self.record(absent) if absent else Snapshot()
            self.tell(open_jobs)
            for job in absent:
                if seen := record.find(job.id):
                    job._see(seen)
                    continue
                self.lost[job.id] = self.lost.get(job.id, 0) + 1
                if self.lost[job.id] >= TIMES_LOST:
                    job._see(Seen("LOST"))

    def tell(self, jobs: "List[Job[Any]]") -> None:
        for job in jobs:
            if job.submitted < self.asked and (seen := self.snapshot.find(job.id)):
                self.lost.pop(job.id, None)
                job._see(seen)

    def record(self, jobs: "List[Job[Any]]") -> Snapshot:
        """The accounting's; empty where there is none."""
        ids: Set[str] = {job.id.partition("_")[0] for job in jobs}
        snapshot = Snapshot()
        ordered = sorted(ids, key=int)
        for at in range(0, len(ordered), MOST_IDS):
            try:
                part = read_sacct(self.commands.ask("sacct", *SACCT, "-j", ",".join(ordered[at:at + MOST_IDS])))
            except ClusterError:
                break
            snapshot.jobs.update(part.jobs)
            snapshot.arrays.update(part.arrays)
        return snapshot
