"""Slurm's states of jobs, and the lines by which squeue and sacct tell them. Pure functions."""
from __future__ import annotations

import re
from typing import Iterator, NamedTuple, Optional

ENDED = frozenset(("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "LAUNCH_FAILED", "NODE_FAIL", "OUT_OF_MEMORY",
                   "PREEMPTED", "RECONFIG_FAIL", "REVOKED", "TIMEOUT", "LOST"))  # LOST: the cluster does not know the job
WAITING = frozenset(("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT"))


class Seen(NamedTuple):
    """What one answer of the cluster says of a job."""
    state: str
    reason: str = ""
    comment: str = ""
    exit_code: Optional[str] = None

    @property
    def ended(self) -> bool:
        return self.state in ENDED


class Tasks(NamedTuple):
    """Tasks of an array that one line speaks of: "3,5-9:2%4" """
    ranges: "tuple[tuple[int, int, int], ...]"

    def has(self, task: int) -> bool:
        return any(low <= task <= high and (task - low) % step == 0 for low, high, step in self.ranges)

    def each(self) -> "Iterator[int]":
        for low, high, step in self.ranges:
            yield from range(low, high + 1, step)


def tasks_of(expression: str) -> Tasks:
    """Raises ValueError for what is no list of tasks, as is one that Slurm has cut short."""
    ranges = []
    for part in expression.partition("%")[0].split(","):
        found = re.fullmatch(r"(\d+)(?:-(\d+)(?::(\d+))?)?", part.strip())
        if not found or (found[3] and int(found[3]) == 0):
            raise ValueError(f"{expression!r} is no list of an array's tasks: write 0-9, 1,4,7 or 0-8:2")
        low = int(found[1])
        ranges.append((low, int(found[2] or low), int(found[3] or 1)))
    return Tasks(tuple(ranges))


class Snapshot:
    """Answers of squeue or sacct, by job and task."""

    def __init__(self) -> None:
        self.jobs: "dict[str, Seen]" = {}
        self.arrays: "dict[str, list[tuple[Tasks, Seen]]]" = {}

    def add(self, job: str, seen: Seen) -> None:
        base, bracket, rest = job.partition("_[")
        if not bracket:
            self.jobs[job] = seen
            return
        try:
            tasks = tasks_of(rest.rstrip("]"))
        except ValueError:
            tasks = Tasks(((0, 1 << 40, 1),))  # cut short: all that have no line of their own
        self.arrays.setdefault(base, []).append((tasks, seen))

    def find(self, job: str) -> "Optional[Seen]":
        if job in self.jobs:
            return self.jobs[job]
        base, _, task = job.partition("_")
        if task.isdigit():
            for tasks, seen in self.arrays.get(base, ()):
                if tasks.has(int(task)):
                    return seen
        return None

    def by_comment(self, token: str) -> "list[str]":
        """Jobs whose comment has this word, newest last; the tasks of an array count as one."""
        found = [job.partition("_")[0] for job, seen in self.jobs.items() if token in seen.comment.split()]
        found += [base for base, parts in self.arrays.items() if any(token in seen.comment.split() for _, seen in parts)]
        return sorted(set(found), key=lambda job: (len(job), job))

    def tasks(self, base: str) -> "list[int]":
        own = {int(job.partition("_")[2]) for job in self.jobs if job.startswith(base + "_") and job.partition("_")[2].isdigit()}
        for tasks, _ in self.arrays.get(base, ()):
            if tasks.ranges[0][1] < 1 << 40:
                own.update(tasks.each())
        return sorted(own)


def read_squeue(text: str) -> Snapshot:
    """Of `squeue -h -o %i|%T|%r|%k`."""
    snapshot = Snapshot()
    for line in text.splitlines():
        parts = line.split("|", 3)
        if len(parts) == 4 and parts[0].strip()[:1].isdigit():
            comment = parts[3].strip()
            snapshot.add(parts[0].strip(), Seen(parts[1].strip(), parts[2].strip(), "" if comment == "(null)" else comment))
    return snapshot


def read_sacct(text: str) -> Snapshot:
    """Of `sacct -X -n -P -o JobID,State,ExitCode,Comment`."""
    snapshot = Snapshot()
    for line in text.splitlines():
        parts = line.split("|", 3)
        if len(parts) == 4 and parts[0][:1].isdigit() and parts[1]:
            state, _, by = parts[1].partition(" ")  # CANCELLED by 1000
            snapshot.add(parts[0], Seen(state, by, parts[3].strip(), parts[2]))
    return snapshot
