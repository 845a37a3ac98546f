#!/usr/bin/env python3
"""The kill soak: jobs are submitted, run, are held, released and cancelled while what serves them is killed (SIGKILL).

What is killed: the daemon, the launcher, both, the shells that run jobs' scripts, sruns, and the commands that submit.
The seed gives the jobs and the kills; when each comes depends on the machine. One kill comes for every so many
submissions, so both end together; then everything must drain, and soak_checks.py compares what the jobs wrote
themselves with what the cluster tells. It prints its figures, and what does not hold.
"""
import argparse
import collections
import os
import pathlib
import pwd
import random
import shutil
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from cluster import Cluster, Machine, PATIENCE, poll  # noqa: E402
from processes import command_line, environment, has_ended  # noqa: E402
from soak_checks import ACCOUNT, Checks, Killed, record  # noqa: E402
from soak_jobs import Backlog, Job, Submitter, draw, release_what_nobody_knows, write_scripts  # noqa: E402

TARGETS = {"daemon": 40, "launcher": 15, "both": 15, "srun": 12, "script": 12, "sbatch": 6}
CONFIGURATION = """
[accounting]
enforce = ["limits"]
[priority]
half_life = "0"
"""
MACHINE = Machine(nodes=2, cpus=8, memory=8000, settings="requeue_delay = 1", extra=CONFIGURATION)
STILL = 60  # seconds for which nothing changes in the queue: what is left waits for ever


class Killer:
    """Kills what the seed says, and remembers what it killed."""

    def __init__(self, cluster: Cluster, seed: int):
        self.cluster, self.seed = cluster, seed
        self.count: collections.Counter[str] = collections.Counter()
        self.shells: set[str] = set()

    def kill(self, number: int) -> None:
        chance = random.Random(f"{self.seed} kill {number}")
        time.sleep(chance.uniform(0, 0.1))
        target = chance.choices(list(TARGETS), TARGETS.values())[0]
        if target in ("srun", "script", "sbatch"):
            deadline = time.monotonic() + 2
            while not (killed := self._kill_command(target, chance)) and time.monotonic() < deadline:
                time.sleep(0.005)
            if not killed:
                target = "daemon"
        if target in ("daemon", "launcher", "both"):
            names = ["minked", "launcher"] if target == "both" else [{"daemon": "minked"}.get(target, target)]
            chance.shuffle(names)
            self._kill_servers(names)
        self.count[target] += 1
        if chance.random() < 0.5:  # else the next submission starts the daemon
            self.cluster.run("squeue", "-h", check=0)

    def _kill_servers(self, names: list[str]) -> None:
        pids = [poll(lambda: self._server(name), 30, f"{name} is there") for name in names]
        for pid in pids:
            send_kill(pid)
        poll(lambda: all(has_ended(pid) for pid in pids), 30, "the end of what was killed")

    def _server(self, name: str) -> int | None:
        """Its process. A number in a file that was left behind may be another process's by now."""
        pid = self.cluster.pid(name)
        word = {"minked": "daemon"}.get(name, name)
        if pid and word in command_line(pid) and str(self.cluster.home) in command_line(pid):
            return pid
        self.cluster.run("squeue", "-h", check=0)
        return None

    def _kill_command(self, target: str, chance: random.Random) -> bool:
        found = [pid for pid in sorted(self.cluster.processes()) if self._is(target, command_line(pid))]
        if not found:
            return False
        pid = chance.choice(found)
        if target == "script":
            if not (job := environment(pid).get("SLURM_JOB_ID")):
                return False
            self.shells.add(job)
        return send_kill(pid)

    @staticmethod
    def _is(target: str, words: list[str]) -> bool:
        if target == "script":
            return len(words) > 1 and words[0].endswith("bash") and words[1].endswith("slurm_script")
        return bool(words) and pathlib.Path(words[0]).name == target


def send_kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
        return True
    except ProcessLookupError:
        return False


def wait_for_all(cluster: Cluster, queue: list[str]) -> list[str]:
    """Until the queue is empty. What is in it when nothing has changed for long: that waits for ever."""
    changed = time.monotonic()
    while queue:
        time.sleep(0.2)
        now = cluster.queue("-r", format="%i %T %r %S")
        if now != queue:
            queue, changed = now, time.monotonic()
        elif time.monotonic() > changed + STILL * PATIENCE:
            why = cluster.run("minke", "why", queue[0].split()[0]).stdout
            return [f"waits for ever: {line}" for line in queue[:10]] + [why]
    return []


def leftovers(cluster: Cluster) -> list[str]:
    """Processes and directories of jobs, when no job is there any more."""
    def processes():
        return [(pid, command_line(pid)) for pid in cluster.processes()
                if not {"daemon", "launcher"} & set(command_line(pid))]
    try:
        poll(lambda: not processes(), 30)
    except AssertionError:
        return [f"left over: process {one}" for one in processes()]
    directories = [path.name for path in (cluster.home / "tmp").iterdir() if path.name.startswith("job")]
    return [f"left over: tmp/{name}" for name in directories]


def prepare(cluster: Cluster) -> None:
    user = f"add user {pwd.getpwuid(os.getuid()).pw_name} account={ACCOUNT} defaultaccount={ACCOUNT}"
    for line in (f"add account {ACCOUNT}", user):
        cluster.run("sacctmgr", "-Q", "-i", *line.split(), check=0)
    cluster.exits = {}
    write_scripts(cluster)


def soak(cluster: Cluster, jobs: list[Job], kills: int, seed: int) -> tuple[list[str], dict]:
    prepare(cluster)
    backlog, killer = Backlog(), Killer(cluster, seed)
    submitters = [Submitter(cluster, jobs[part::4], backlog) for part in range(4)]
    for submitter in submitters:
        submitter.start()
    for number in range(kills):
        while (any(one.is_alive() for one in submitters)
               and sum(one.done for one in submitters) < number * len(jobs) / kills):
            backlog.seen(len(cluster.queue("-r", format="%i")))
            time.sleep(0.02)
        killer.kill(number)
    while any(one.is_alive() for one in submitters):
        backlog.seen(len(cluster.queue("-r", format="%i")))
        time.sleep(0.05)
    release_what_nobody_knows(cluster, jobs)
    problems = [text for one in submitters for text in one.problems]
    problems += wait_for_all(cluster, cluster.queue("-r", format="%i %T %r %S"))
    problems += leftovers(cluster)
    launchers = killer.count["launcher"] + killer.count["both"]
    checks = Checks(cluster, jobs, Killed(launchers, frozenset(killer.shells)))
    problems += checks.all()
    problems += another_daemon_tells_the_same(cluster, checks)
    return problems, {"kills": sum(killer.count.values()), **{f"of {name}": n for name, n in killer.count.items()},
                      "submissions": len(jobs), "of sbatch's, acknowledged": sum(job.job is not None for job in jobs),
                      **checks.figures}


def another_daemon_tells_the_same(cluster: Cluster, checks: Checks) -> list[str]:
    cluster.run("minke", "down", check=0)
    return [] if record(cluster) == checks.rows else ["after a restart the record is another"]


def main() -> int:
    parser = argparse.ArgumentParser(description="Jobs in a cluster whose processes are killed all the time.")
    parser.add_argument("--jobs", type=int, default=10000, help="tasks of arrays counted")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-soak-"))
    cluster = Cluster(directory, MACHINE)
    began = time.monotonic()
    problems = ["it did not come to its end"]
    try:
        problems, figures = soak(cluster, draw(arguments.seed, arguments.jobs), arguments.kills, arguments.seed)
        for name, number in figures.items():
            print(f"{number:8} {name}")
    finally:
        cluster.close()
        if problems:
            print(f"what is left of it: {directory}")
        else:
            shutil.rmtree(directory)
    print(f"{time.monotonic() - began:8.0f} seconds")
    for text in problems[:30]:
        print(f"does not hold: {text}")
    print(f"{len(problems)} findings, seed {arguments.seed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
