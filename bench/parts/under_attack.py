"""One user floods the cluster: how long do another user's commands take then? Beside the same load without Minke."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

import attacks
from context import Context
from peers.minke import Minke
from report import Report

NAME = "under_attack"
VICTIM, ATTACKER = 60_301, 60_302  # user ids that nobody has: Minke asks for no more
COMMANDS = ("sbatch", "squeue", "scancel")
BOUND_MS = 1000  # beyond what the same load costs without Minke
PROCESSES = 2    # of the attacker's
CONFIGURATION = 'max_pids = 500\n[[node]]\nname = "n[1-2]"\ncpus = 2\nmemory = "2G"\n[[partition]]\nname = "main"\n'


class Victim:
    """Submits, looks and cancels, one after the other, and notes how long each took."""

    def __init__(self, minke: Minke):
        self.environment = minke.environment | {"HOME": "/tmp", "USER": "victim"}
        self.failed = 0

    def timed(self, *words: str) -> tuple[float, str]:
        program = shutil.which(words[0], path=self.environment["PATH"])
        began = time.monotonic()
        done = subprocess.run([program, *words[1:]], env=self.environment, cwd="/tmp", capture_output=True, text=True, user=VICTIM,
                              group=VICTIM, extra_groups=[], stdin=subprocess.DEVNULL)
        self.failed += done.returncode != 0
        return (time.monotonic() - began) * 1e3, done.stdout.strip()

    def work(self, seconds: float) -> dict[str, list[float]]:
        taken = {name: [] for name in COMMANDS}
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline or len(taken["sbatch"]) < 5:
            milliseconds, job = self.timed("sbatch", "--parsable", "--hold", "--output=/dev/null", "--wrap", "true")
            taken["sbatch"].append(milliseconds)
            taken["squeue"].append(self.timed("squeue", "-h", "--me")[0])
            taken["scancel"].append(self.timed("scancel", job or "0")[0])
        return taken


def percentile(values: list[float], part: float) -> float:
    values = sorted(values)
    return values[min(len(values) - 1, int(len(values) * part))]


def finish(children: list[int], grace: float = 20) -> None:
    """They end by themselves; what does not is killed, with what it started."""
    deadline = time.monotonic() + grace
    for child in children:
        while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0):
            if time.monotonic() > deadline:
                os.killpg(child, signal.SIGKILL)
                ended = os.waitpid(child, 0)
                break
            time.sleep(0.05)
        if os.WIFEXITED(ended[1]) and os.WEXITSTATUS(ended[1]) != 0:
            raise RuntimeError("the attack itself does not work")


def shared_directory() -> pathlib.Path:
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-attack-"))
    directory.chmod(0o755)
    return directory


def cleared(minke: Minke) -> None:
    minke.command("scancel", f"--user={ATTACKER}", timeout=300)
    minke.command("scancel", f"--user={VICTIM}", timeout=300)


def measure(context: Context, report: Report) -> None:
    if os.geteuid() != 0:
        return report.skip(NAME, "only root serves others")
    seconds = context.options.attack_seconds
    attacks.protocol()  # before there are children that may not write
    with context.minke(configuration=CONFIGURATION, shared=True, directory=shared_directory()) as minke:
        victim = Victim(minke)
        quiet = victim.work(seconds)
        load = [attacks.start(ATTACKER, seconds + 5, attacks.burn) for _ in range(PROCESSES)]
        loaded = victim.work(seconds)
        finish(load)
        for name in COMMANDS:
            for label, taken in (("idle", quiet), ("load alone", loaded)):
                for part, text in ((0.5, "p50"), (0.99, "p99")):
                    report.sample(f"under attack: {label}: {name} {text} ms", percentile(taken[name], part))
        for title, function in attacks.ATTACKS.items():
            def act(deadline, function=function):
                function(attacks.Attacker(minke.home, minke.environment | {"HOME": "/tmp"}, deadline))
            before, victim.failed = minke.pid(), 0
            children = [attacks.start(ATTACKER, seconds + 1, act) for _ in range(PROCESSES)]
            taken = victim.work(seconds)
            finish(children)
            for name in COMMANDS:
                report.sample(f"under attack: {title}: {name} p50 ms", percentile(taken[name], 0.5))
                report.sample(f"under attack: {title}: {name} p99 ms", percentile(taken[name], 0.99))
            worst = max(percentile(taken[name], 0.99) - percentile(loaded[name], 0.99) for name in COMMANDS)
            report.sample(f"under attack: {title}: beyond the load ms", max(0.0, worst))
            report.limit(f"another user's commands, 99th percentile: {title}", f"under attack: {title}: beyond the load ms", "ms", BOUND_MS)
            report.sample(f"under attack: {title}: commands that failed", victim.failed)
            report.limit(f"another user's commands that fail: {title}", f"under attack: {title}: commands that failed", "", 0)
            if minke.pid() != before:
                raise RuntimeError(f"{title}: the daemon is another one now")
            cleared(minke)
