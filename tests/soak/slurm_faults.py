#!/usr/bin/env python3
"""Faults of a real Slurm: its daemons and Minke's services die while jobs are submitted and looked at through Minke.

What dies: slurmctld, slurmdbd and MariaDB, the poller and the agent; one comes back some seconds later. slurmctld is
killed, ended with SIGTERM, or stopped for a while. What must hold is in fault_answers.py. It prints its figures, and what
does not hold.
"""
import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "differential")]
from cluster import ROOT, SYSTEM_PATH, Commands, LoopbackSlurm, plain_environment, poll  # noqa: E402
from fault_answers import LONGEST, Answers, run_operations  # noqa: E402
from systems import AccountedSlurm  # noqa: E402


class Login(Commands):
    """A user's shell."""

    def __init__(self, directory: pathlib.Path, slurm: AccountedSlurm):
        self.directory, self.slurm = directory, slurm
        self.work, self.home = directory / "work", directory / "home"
        for one in (self.work, self.home, directory / "run", directory / "bin"):
            one.mkdir(mode=0o700)
        (directory / "bin/minke").symlink_to(os.environ.get("MINKE", ROOT / "build/minke"))
        environment = {name: value for name, value in plain_environment().items() if name != "XDG_STATE_HOME"}
        (directory / "minke.toml").write_text('[cluster]\nengine = "slurm"\nperiod = 5\nagent_port = 1\n')
        self.environment = environment | {
            "SLURM_CONF": slurm.environment["SLURM_CONF"], "HOME": str(self.home), "PATH": f"{directory}/bin:{SYSTEM_PATH}",
            "XDG_RUNTIME_DIR": str(directory / "run"), "MINKE_POLLED": str(directory / "polled"),
            "MINKE_CONFIG": str(directory / "minke.toml")}
        self.services: dict[str, subprocess.Popen] = {}
        self.start_service("agent")
        port = int(self.services["agent"].stdout.readline().split()[-1])
        (directory / "minke.toml").write_text(f'[cluster]\nengine = "slurm"\nperiod = 5\nagent_port = {port}\n')
        if os.getuid() == 0:
            self.start_service("poll")

    def start_service(self, name: str) -> None:
        words = ["--port", "0", "--period", "1", "--munge-socket", f"{self.slurm.directory}/munge.socket"] if name == "agent" else []
        self.services[name] = self.start("minke", name, *words, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        for one in self.services.values():
            one.kill()
            one.wait()


class Faults(threading.Thread):
    """Ends one after the other, at moments that the seed says, and starts it again."""

    def __init__(self, login: Login, chance: random.Random):
        super().__init__()
        self.login, self.chance = login, chance
        self.over = threading.Event()
        self.count: collections.Counter[str] = collections.Counter()
        self.killed: list[float] = []  # when slurmctld was
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            while not self.over.wait(self.chance.uniform(0.2, 2)):
                self.one()
        except BaseException as problem:
            self.problem = problem

    def one(self) -> None:
        target = self.chance.choice(["slurmctld", "slurmctld", "slurmdbd", "mariadbd", *self.login.services])
        self.count[target] += 1
        if target in self.login.services:
            self.login.services[target].kill()
            self.login.services[target].wait()
            if target == "poll":
                self.login.start_service(target)
            return
        slurm = self.login.slurm
        daemon = next(one for one in slurm.daemons if pathlib.Path(one.args[0]).name == target)
        if self.chance.random() < 0.3:
            daemon.send_signal(signal.SIGSTOP)
            self.over.wait(self.chance.uniform(1, 8))
            daemon.send_signal(signal.SIGCONT)
            return
        if target == "slurmctld" and self.chance.random() < 0.5:
            daemon.terminate()
        else:
            if target == "slurmctld":
                self.killed.append(time.time())
            daemon.kill()
        daemon.wait(60)
        slurm.daemons.remove(daemon)
        self.over.wait(self.chance.uniform(0, 4))
        LoopbackSlurm.start_daemon(slurm, *[word for word in daemon.args if word != "-i"])


class Operations:
    """What users do meanwhile, through Minke: most submit held jobs, some look."""

    def __init__(self, login: Login, seed: int):
        self.login, self.seed, self.answers = login, seed, Answers()

    def ask(self, what: str, *command: str) -> subprocess.CompletedProcess | None:
        try:
            done = self.login.run("minke", *command, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            done = None
        self.answers.answered(what, " ".join(command), done)
        return done

    def one(self, number: int) -> None:
        chance = random.Random(f"{self.seed} operation {number}")
        what = chance.choices(["submit", "queue", "why", "hold", "top", "seff"], [5, 2, 1, 2, 1, 1])[0]
        time.sleep(chance.uniform(0, 0.8))  # so that faults come at any moment of some
        job = chance.choice(self.answers.numbers() or ["1"])
        if what == "submit":
            name = f"soak-{number}"
            self.answers.submitted(name, self.ask(what, "sbatch", "--parsable", "--hold", "-J", name, "-t", "5", "-o", "/dev/null", "--wrap", "true"))
        else:
            self.ask(what, *{"queue": ("squeue", "-h"), "why": ("why", job), "top": ("top", "--once"), "seff": ("seff", job),
                             "hold": ("scontrol", "hold", job)}[what])

    def check(self, killed: list[float]) -> None:
        there = collections.defaultdict(set)
        shown = self.login.run("squeue", "-h", "-t", "all", "-o", "%i %T %j", check=0).stdout
        for number, state, name in (line.split(maxsplit=2) for line in shown.splitlines()):
            if state != "CANCELLED":  # of two, the later one
                there[name.strip()].add(number)
        self.answers.check(there, killed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--operations", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--quiet-seconds", type=float, default=90, help="how long everything may take to answer again")
    options = parser.parse_args()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="slurm-faults-"))
    directory.chmod(0o711)
    with AccountedSlurm(settings=("MessageTimeout=5",)) as slurm:
        slurm.command("sacctmgr", "-i", "add", "account", "lab")
        slurm.command("sacctmgr", "-i", "add", "user", subprocess.check_output(["id", "-un"], text=True).strip(), "account=lab")
        login = Login(directory, slurm)
        operations, faults = Operations(login, options.seed), Faults(login, random.Random(options.seed))
        try:
            faults.start()
            run_operations(operations.one, options.operations)
            faults.over.set()
            faults.join()
            if faults.problem:
                raise faults.problem
            poll(lambda: login.run("squeue", "-h").returncode == 0, options.quiet_seconds, "slurmctld")
            operations.check(faults.killed)
            poll(lambda: login.run("minke", "squeue", "-h").returncode == 0, options.quiet_seconds, "Minke's answer")
        finally:
            faults.over.set()
            login.close()
            slurm.command("scancel", "-u", str(os.getuid()))
    shutil.rmtree(directory, ignore_errors=True)
    print(f"seed {options.seed}: faults {dict(faults.count)}; operations {dict(operations.answers.count)}")
    for problem in operations.answers.problems:
        print(f"does not hold: {problem}")
    return 1 if operations.answers.problems else 0


if __name__ == "__main__":
    sys.exit(main())
