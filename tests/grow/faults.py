"""Faults of a cluster of several machines while its users work through Minke: daemons are killed, a cable is pulled.

What must hold is in soak/fault_answers.py; besides, no job starts twice. slurmctld, killed, starts again what it has started
in its last seconds: that is counted apart, too.
"""
import collections
import pathlib
import random
import subprocess
import sys
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / "soak")]
from fault_answers import LONGEST, Answers, was_unsaved  # noqa: E402

SETTINGS = "SlurmdTimeout=10\nMessageTimeout=5\nTCPTimeout=2\n"
SERVICES = {"slurmctld": "head", "slurmdbd": "head", "mariadb": "head", "minke-poll": "head", "minke-agent": "n1"}


def set_up(grown) -> None:
    """Shorter limits, the poller on the head, an agent on each machine."""
    program = grown.hosts.directory / "home/alice/bin/minke"
    for host in grown.hosts.hosts.values():
        host.put(program, "/usr/local/bin/minke")
        host.run(f"printf '{SETTINGS}' >>/etc/slurm/slurm.conf; cd /etc/systemd/system; minke agent --print-unit >minke-agent.service; "
                 "systemctl daemon-reload; systemctl enable -q --now minke-agent")
    grown.head.run("scontrol reconfigure; minke poll --print-unit >/etc/systemd/system/minke-poll.service; "
                   "printf 'period = 5\\n' >>/etc/minke.toml; systemctl daemon-reload; systemctl enable -q --now minke-poll")
    grown.head.until("[ \"$(sinfo -h -o %t | sort -u)\" = idle ]")


def pull_cable(host) -> None:
    subprocess.run(["nsenter", "-t", str(host.init), "-n", "ip", "link", "set", "eth0", "down"], check=True)


def plug_in(host) -> None:
    subprocess.run(["nsenter", "-t", str(host.init), "-n", "ip", "link", "set", "eth0", "up"], check=True)


class Faults(threading.Thread):
    """One after the other, at moments that the seed says."""

    def __init__(self, grown, seed: int):
        super().__init__()
        self.grown, self.chance = grown, random.Random(seed)
        self.over = threading.Event()
        self.count: collections.Counter[str] = collections.Counter()
        self.killed: list[float] = []  # when slurmctld was
        self.problem: BaseException | None = None

    def run(self) -> None:
        try:
            self.cable(self.chance.uniform(1, 4))
            while not self.over.wait(self.chance.uniform(0.2, 2)):
                if (what := self.chance.choice([*SERVICES, "slurmctld", "cable"])) == "cable":
                    self.cable(self.chance.uniform(0.5, 25))
                else:
                    self.kill(what)
        except BaseException as problem:
            self.problem = problem

    def cable(self, seconds: float) -> None:
        self.count["cable"] += 1
        pull_cable(self.grown["n2"])
        self.over.wait(seconds)
        plug_in(self.grown["n2"])

    def kill(self, service: str) -> None:
        self.count[service] += 1
        host = self.grown[SERVICES[service]]
        if service == "slurmctld":
            self.killed.append(time.time())
        host.run(f"systemctl kill -s KILL {service}; systemctl stop {service}", code=None)
        self.over.wait(self.chance.uniform(0, 4))
        host.run(f"systemctl reset-failed {service}; systemctl start {service}", code=None)


class Operations:
    """What a user does meanwhile, through Minke. Each start of a job writes a line of its own into a shared file."""

    def __init__(self, grown, seed: int):
        self.grown, self.seed, self.answers = grown, seed, Answers()
        self.held: set[str] = set()

    def ask(self, what: str, command: str) -> subprocess.CompletedProcess | None:
        words = self.grown.head.command("runuser", "-u", "alice", "--", "bash", "-c", f"cd; exec timeout -k 1 {LONGEST} minke {command}")
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LONGEST + 60)
        ended = None if done.returncode in (124, 137) else done
        self.answers.answered(what, command, ended)
        return ended

    def one(self, number: int) -> None:
        chance = random.Random(f"{self.seed} operation {number}")
        what = chance.choices(["submit", "queue", "why", "hold", "top", "seff"], [6, 2, 1, 2, 1, 1])[0]
        time.sleep(chance.uniform(0, 2))  # so that faults come at any moment of some
        job = chance.choice(self.answers.numbers() or ["1"])
        if what != "submit":
            self.ask(what, {"queue": "squeue -h", "why": f"why {job}", "top": "top --once", "seff": f"seff {job}", "hold": f"scontrol hold {job}"}[what])
            return
        name, node = f"fault-{self.seed}-{number}", chance.choice(["", "-w n1", "-w n2"])
        hold = "--hold" if chance.random() < 0.3 else ""
        if hold:
            self.held.add(name)
        self.answers.submitted(name, self.ask(what, f"sbatch --parsable {hold} {node} -J {name} -t 5 -o /dev/null --wrap "
                               "'echo $SLURM_JOB_NAME $SLURM_JOB_ID ${SLURM_RESTART_COUNT:-0} $(date +%s.%N) >>starts; sleep 1'"))

    def check(self, killed: list[float]) -> None:
        there = collections.defaultdict(set)
        for command in ("squeue -h -a -t all -o '%i|%j'", "sacct -a -X -n -P -S 2020-01-01 -E now -o JobID,JobName"):
            for line in self.grown.head.run(command).splitlines():
                number, name = line.split("|")
                there[name].add(number)
        self.answers.check(there, killed)
        self.check_starts(killed)

    def check_starts(self, killed: list[float]) -> None:
        started: dict[tuple[str, str], list[float]] = collections.defaultdict(list)
        for line in self.grown.read("starts").splitlines():
            name, _, restart, at = line.split()
            started[name, restart].append(float(at))
        for (name, restart), times in started.items():
            if name in self.held:
                self.answers.problems.append(f"{name} is held, and ran")
            if len(times) > 1 and not any(was_unsaved(at, killed) for at in times):
                self.answers.problems.append(f"{name} ran {len(times)} times as restart {restart}: {times}, slurmctld was killed at {killed}")
            elif len(times) > 1:
                self.answers.count["started again by slurmctld"] += 1
