#!/usr/bin/env python3
"""The farm soak: a farm's cases run while what runs them is killed (SIGKILL).

What is killed: workers, their jobs (by scancel), the farm's own process, the daemon and the launcher; with --slurm the
farm is on a real Slurm, whose slurmctld is killed in their place. Each case writes
down that it begins and that it ends, apart from what the farm records. In the end every case has ended well, and none
has begun more often than the farm tells that it ran. The seed gives the kills. It prints its figures, and what does not hold.
"""
import argparse
import collections
import contextlib
import csv
import io
import json
import os
import pathlib
import pwd
import random
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "differential")]
from cluster import Cluster, LoopbackSlurm, Machine, PATIENCE  # noqa: E402
import processes  # noqa: E402
from slurm_faults import Login  # noqa: E402
from systems import AccountedSlurm  # noqa: E402

TARGETS = {"worker": 55, "job": 10, "farm": 15, "minked": 10, "launcher": 10}
ON_SLURM = {"worker": 65, "job": 10, "farm": 20, "slurmctld": 5}
MACHINE = Machine(nodes=2, cpus=4, memory=4000, settings="requeue_delay = 1")
CASE = 'echo "$0" >> began; sleep 0.0$((RANDOM % 3)); echo "$0" >> ended'


class OnSlurm(Login):
    """A login node, whose slurmctld can be killed: it is started again at once."""

    def close(self) -> None:
        super().close()
        self.run("scancel", "--me")

    def resume_nodes(self) -> None:
        """The administrator's part: a Slurm whose controller was killed may find jobs twice, and drains their nodes."""
        self.slurm.command("scontrol", "update", "nodename=n[1-5]", "state=resume")

    def restart(self) -> bool:
        daemon = next(one for one in self.slurm.daemons if pathlib.Path(one.args[0]).name == "slurmctld")
        daemon.kill()
        daemon.wait(60)
        self.slurm.daemons.remove(daemon)
        LoopbackSlurm.start_daemon(self.slurm, *[word for word in daemon.args if word != "-i"])
        return True


class Soak:
    def __init__(self, cluster: Cluster | OnSlurm, seed: int):
        self.cluster, self.random = cluster, random.Random(seed)
        self.targets = TARGETS if isinstance(cluster, Cluster) else ON_SLURM
        self.killed: collections.Counter[str] = collections.Counter()
        self.farm = None

    def victims(self, target: str) -> list[int]:
        mark = "MINKE_HOME" if isinstance(self.cluster, Cluster) else "SLURM_CONF"
        def of_cluster(pid):
            return processes.environment(pid).get(mark) == self.cluster.environment[mark]
        if target in ("minked", "launcher"):
            return [pid] if (pid := self.cluster.pid(target)) else []
        if target == "farm":
            return [self.farm.pid] if self.farm.poll() is None else []
        found = {pid for pid in processes.all_processes() if "farm-worker" in processes.command_line(pid) and of_cluster(pid)}
        # A case that has not become its program yet looks like its worker, whose parent is the keeper.
        cases = {case for keeper in found for worker in processes.children_of(keeper) if worker in found
                 for case in processes.children_of(worker)}
        return sorted(found - cases)

    def kill(self) -> bool:
        target = self.random.choices(list(self.targets), self.targets.values())[0]
        if target == "slurmctld":
            self.killed[target] += 1
            return self.cluster.restart()
        if target == "job":
            running = self.cluster.run("squeue", "-h", "-t", "running", "-o", "%i").stdout.split()
            if running:
                self.cluster.run("scancel", self.random.choice(running))
            self.killed[target] += bool(running)
            return bool(running)
        found = self.victims(target)
        if not found:
            return False
        try:
            os.kill(self.random.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            return False
        self.killed[target] += 1
        return True

    def follow(self) -> None:
        """The farm's own process, started again where it was killed."""
        if self.farm is None or self.farm.poll() is not None:
            self.farm = self.cluster.start("minke", "farm", "wait", "cases.farm", stdout=None, stderr=open(self.cluster.work / "said", "a"))

    def ended(self) -> int:
        path = self.cluster.work / "ended"
        return path.read_text().count("\n") if path.exists() else 0

    def is_over(self) -> bool:
        """Also where cases have failed: the records tell them."""
        told = json.loads(self.cluster.run("minke", "farm", "status", "cases.farm", "--json", check=0).stdout)
        return told["ok"] + told["failed"] == told["cases"]

    def run(self, cases: int, kills: int) -> None:
        (self.cluster.work / "cases").write_text("".join(f"{i}\n" for i in range(1, cases + 1)))
        # A farm asks for its jobs once in 10 s, on Slurm once in 30 s: with few of them it would wait for most of the time.
        jobs = 6 if isinstance(self.cluster, Cluster) else 16
        self.cluster.run("minke", "farm", "run", "cases", f"--jobs={jobs}", "--at-once=2", "--detach", "--time=10", "--mem=100M", "--",
                         "bash", "-c", CASE, "{}", check=0)
        done = 0
        last, still, resumed = 0, time.monotonic(), 0.0
        while True:
            self.follow()
            now = self.ended()
            if now != last:
                last, still = now, time.monotonic()
            if isinstance(self.cluster, OnSlurm) and time.monotonic() - max(still, resumed) > 20:
                self.cluster.resume_nodes()
                resumed = time.monotonic()
            if time.monotonic() - still > 120 * PATIENCE:
                raise SystemExit(f"nothing has ended for long: {now} of {cases}\n" + self.cluster.run("minke", "farm", "status").stdout)
            # A kill for every so many cases, so that both end together.
            if done < kills and now >= cases * done / (kills + 1):
                done += self.kill()
            self.farm.poll()
            if self.farm.returncode == 0 or (self.farm.returncode == 1 and now >= cases and self.is_over()):
                return
            time.sleep(0.02)

    def problems(self, cases: int) -> list[str]:
        rows = list(csv.DictReader(io.StringIO(self.cluster.run("minke", "farm", "result", "cases.farm", check=0).stdout)))
        began = collections.Counter((self.cluster.work / "began").read_text().split())
        ended = collections.Counter((self.cluster.work / "ended").read_text().split())
        found = [f"{len(rows)} cases are recorded"] if len(rows) != cases else []
        for row in rows:
            number = row["case"]
            if row["state"] != "ok":
                found.append(f"case {number}: {row}")
            if not 1 <= began[number] <= int(row["attempts"]):
                found.append(f"case {number} began {began[number]} times, and ran {row['attempts']} times by the record")
            if not 1 <= ended[number]:
                found.append(f"case {number} never ended")
        return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--slurm", action="store_true", help="on a real Slurm, the one of this machine")
    options = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="farm-soak-"))
    directory.chmod(0o711)
    with contextlib.ExitStack() as stack:
        if options.slurm:
            slurm = stack.enter_context(AccountedSlurm(settings=("MessageTimeout=5",)))
            slurm.command("sacctmgr", "-i", "add", "account", "lab")
            slurm.command("sacctmgr", "-i", "add", "user", pwd.getpwuid(os.getuid()).pw_name, "account=lab")
        cluster = OnSlurm(directory, slurm) if options.slurm else Cluster(directory, MACHINE)
        soak = Soak(cluster, options.seed)
        began = time.monotonic()
        try:
            soak.run(options.cases, options.kills)
            problems = soak.problems(options.cases)
        finally:
            if soak.farm and soak.farm.poll() is None:
                soak.farm.kill()
            cluster.close()
    print(f"seed {options.seed}: {options.cases} cases in {time.monotonic() - began:.0f} s; killed: {dict(soak.killed)}")
    for problem in problems[:20]:
        print(problem)
    if not problems:
        shutil.rmtree(directory, ignore_errors=True)
    else:
        print(f"{len(problems)} problems; see {directory}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
