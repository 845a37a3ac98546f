"""What a cluster's users are told while its parts fail, and whether what is there afterwards agrees.

Each operation's answer is written down: jobs that were acknowledged, those that were refused, and what was said. No command
may hang, and each failure names who does not answer. At the end each acknowledged job is there, once and under its number,
and no refused one is, but where Minke said that it does not know. slurmctld, killed, forgets what it has acknowledged in its
last seconds, since it saves its state at most five seconds late: that is counted apart, and is no fault of Minke's.
"""
import collections
import concurrent.futures
import dataclasses
import re
import subprocess
import threading
import time

LONGEST = 150  # seconds for a command: Slurm's own programs try for a minute or more
UNSAVED = 8    # seconds of slurmctld's, with those that a busy machine adds
CULPRITS = re.compile(r"slurmctld does not answer|slurmdbd, which keeps the accounting, does not answer|munge|accounting storage")
KNOWN = re.compile("Invalid job id|Job not found|there is no job|DB index is being set|Job has already finished")
UNKNOWN = "whether it took the job is not known"


@dataclasses.dataclass
class Submitted:
    number: str
    at: float


class Answers:
    """May be told from several threads at once."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged: dict[str, Submitted] = {}  # by name
        self.refused: dict[str, str] = {}             # what was said
        self.problems: list[str] = []
        self.count: collections.Counter[str] = collections.Counter()

    def numbers(self) -> list[str]:
        """Of the jobs that were acknowledged so far."""
        with self.lock:
            return [one.number for one in self.acknowledged.values()]

    def answered(self, what: str, command: str, done: subprocess.CompletedProcess | None) -> None:
        """None: it did not end in LONGEST seconds."""
        with self.lock:
            if done is None:
                self.problems.append(f"{command} hangs")
                return
            self.count[f"{what}: {'done' if done.returncode == 0 else 'refused'}"] += 1
            if done.returncode != 0 and not CULPRITS.search(done.stderr) and not KNOWN.search(done.stderr):
                self.problems.append(f"{command}: {done.returncode}: {done.stderr.strip()[-500:]}")

    def submitted(self, name: str, done: subprocess.CompletedProcess | None) -> None:
        """What `sbatch --parsable` of the job of that name answered."""
        with self.lock:
            if done is not None and done.returncode == 0:
                self.acknowledged[name] = Submitted(done.stdout.strip(), time.time())
            elif done is not None:
                self.refused[name] = done.stderr

    def check(self, there: dict[str, set[str]], killed: list[float]) -> None:
        """`there`: the numbers of the jobs that the cluster has, by name; `killed`: when slurmctld was."""
        for name, one in self.acknowledged.items():
            if there[name] == {one.number}:
                continue
            if not there[name] and was_unsaved(one.at, killed):
                self.count["submit: forgotten by slurmctld"] += 1
            else:
                self.problems.append(f"{name} was acknowledged as {one.number}; it is there as {sorted(there[name])}")
        for name, said in self.refused.items():
            if len(there[name]) > (1 if UNKNOWN in said else 0):
                self.problems.append(f"{name} was refused, and is there as {sorted(there[name])}: {said.strip()[-300:]}")


def was_unsaved(at: float, killed: list[float]) -> bool:
    """Whether slurmctld, killed at these times, may have forgotten what it did then."""
    return any(abs(at - one) < UNSAVED for one in killed)


def run_operations(one, count: int) -> None:
    """one(number) of each, three at a time."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for future in [pool.submit(one, number) for number in range(count)]:
            future.result()
