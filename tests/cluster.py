"""A cluster for one test: the real program, driven as a user drives it.

Cluster is a Minke in a directory of its own. With `pytest --reference` the same tests run on a real Slurm on loopback
instead, which is how their expectations are kept honest.
"""
import dataclasses
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench"))
from peers.slurm import LoopbackSlurm, Ports, TUNED  # noqa: E402
import processes  # noqa: E402
from wire import Wire  # noqa: E402

SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL",
         "PREEMPTED"}


@dataclasses.dataclass
class Machine:
    """What a cluster's nodes offer, whatever the machine under the tests has."""
    nodes: int = 2
    cpus: int = 2            # of each node
    memory: int = 2000       # MiB, of each node
    gpus: str = ""           # "a100:4"
    features: str = ""       # "fast,big"
    extra: str = ""          # lines for the configuration, as they are
    settings: str = ""       # the same, before the first table
    kill_wait: int = 2       # seconds between SIGTERM and SIGKILL

# A program that takes so many MiB, says so, and sleeps so many seconds.
HOG = """#!/usr/bin/python3
import sys, time
taken = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(taken), 4096):
    taken[at] = 1
print("had", sys.argv[1], flush=True)
time.sleep(float(sys.argv[2]) if len(sys.argv) > 2 else 0)
"""


# A busy or slow machine may take so many times as long as a test says. What must end before that lasts longer still:
# jobs that wait for their end sleep for ten minutes and more.
PATIENCE = 4


def written(path: pathlib.Path) -> bool:
    """Something stands in the file: a shell opens it before a command writes into it."""
    try:
        return path.stat().st_size > 0
    except FileNotFoundError:
        return False


def poll(condition, seconds: float = 30, what: str = "it"):
    """The first true value of condition(), looked for until the deadline, and some times at least: a machine that
    was paused for a while wakes up past every deadline."""
    deadline = time.monotonic() + seconds * PATIENCE
    for tries in itertools.count(1):
        if value := condition():
            return value
        if time.monotonic() > deadline and tries > 20:
            raise AssertionError(f"{what} did not come true in {seconds * PATIENCE} s")
        time.sleep(0.02)


def plain_environment() -> dict[str, str]:
    """This process's environment without what Slurm's or Minke's commands read from it."""
    prefixes = ("SLURM", "SBATCH_", "SRUN_", "SALLOC_", "SQUEUE_", "SACCT_", "SINFO_", "SCANCEL_", "MINKE_",
                "LMOD", "MODULE", "_ModuleTable", "PIP_FIND_LINKS", "VIRTUAL")
    return ({name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
            | {"PATH": SYSTEM_PATH, "LC_ALL": "C.UTF-8", "NO_COLOR": "1"})


class Commands:
    """What Minke and the reference have in common: run a command, submit, look, wait."""
    work: pathlib.Path
    environment: dict[str, str]

    def run(self, *command, input=None, cwd=None, env=None, check=None, timeout=60) -> subprocess.CompletedProcess:
        """Runs it in the work directory. `env` is laid over the environment; a value of None removes a variable.
        With `check`, its exit code must be that."""
        environment = {name: value for name, value in (self.environment | (env or {})).items() if value is not None}
        arguments = [str(argument) for argument in command]
        program = shutil.which(arguments[0], path=environment["PATH"])
        assert program, f"{arguments[0]} is not on PATH"
        done = subprocess.run(arguments, executable=program, cwd=cwd or self.work, env=environment,
                              timeout=timeout * PATIENCE, text=True, errors="surrogateescape", capture_output=True,
                              **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}))
        if check is not None:
            assert done.returncode == check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *command, **options) -> subprocess.Popen:
        """The same in the background, its streams in pipes."""
        arguments = [str(argument) for argument in command]
        options = {"executable": shutil.which(arguments[0], path=self.environment["PATH"]), "cwd": self.work, "env": self.environment, "stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "text": True, "errors": "surrogateescape"} | options
        return subprocess.Popen(arguments, **options)

    def script(self, text: str, name: str = "job.sh") -> pathlib.Path:
        """A job script in the work directory: `text` after a line that names the shell, if it has none."""
        path = self.work / name
        path.write_text(text if text.startswith("#!") else "#!/bin/bash\n" + text)
        return path

    def sbatch(self, *arguments, **options) -> int:
        """Submits, and returns the job's number."""
        done = self.run("sbatch", "--parsable", *arguments, check=0, **options)
        return int(done.stdout.strip())

    def submit(self, text: str, *options, **more) -> int:
        """Submits a script of this text."""
        return self.sbatch(*options, self.script(text), **more)

    def jobs(self, job) -> list[dict[str, str]]:
        """What `scontrol show job` says, a dictionary of its fields for each job or task."""
        done = self.run("scontrol", "-o", "show", "job", job)
        return [dict(re.findall(r"(\S+?)=(.*?)(?=\s+\S+?=|\s*$)", line)) for line in done.stdout.splitlines()
                if line.startswith("JobId=")]

    def job(self, job) -> dict[str, str]:
        found = self.jobs(job)
        assert len(found) == 1, f"job {job}: {found}"
        return found[0]

    def state(self, job) -> str:
        return self.job(job)["JobState"]

    def wait_state(self, job, *states: str, seconds: float = 30) -> dict[str, str]:
        """Waits until the job (or each of its tasks) is in one of the states. Returns the last one's fields."""
        def there():
            found = self.jobs(job)
            return found and all(one["JobState"] in states for one in found) and found[-1]
        try:
            return poll(there, seconds)
        except AssertionError:
            raise AssertionError(f"job {job} should be {states}: {self.jobs(job)}") from None

    def wait_end(self, job, seconds: float = 60) -> dict[str, str]:
        return self.wait_state(job, *ENDED, seconds=seconds)

    def output(self, job, name: str = "slurm-{}.out", seconds: float = 60) -> str:
        """What the job wrote, once it has ended."""
        self.wait_end(job, seconds)
        return (self.work / name.format(job)).read_text()

    def queue(self, *options, format: str = "%i %T") -> list[str]:
        return [line.strip() for line in self.run("squeue", "-h", "-o", format, *options).stdout.splitlines()]


class Cluster(Commands):
    """A Minke. The daemon starts with the first command."""
    is_reference = False

    def __init__(self, directory: pathlib.Path, machine: Machine | None = None, program: pathlib.Path | None = None):
        self.directory = directory
        self.home, self.work = directory / "home", directory / "work"
        self.home.mkdir(parents=True, mode=0o700)
        self.work.mkdir(exist_ok=True)
        self.program = program or pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke"))
        self.environment = plain_environment() | {"MINKE_HOME": str(self.home)}
        if machine:
            self.configure(machine)
        shell = 'set -e; lines=$("$0" env --over-slurm); eval "$lines"; env -0'
        answer = subprocess.run(["bash", "-c", shell, str(self.program)], env=self.environment, check=True,
                                stdout=subprocess.PIPE).stdout
        self.environment = dict(entry.split("=", 1) for entry in os.fsdecode(answer).split("\0") if "=" in entry)

    def configure(self, machine: Machine) -> None:
        path = self.directory / "minke.toml"
        path.write_text(configuration(machine))
        self.environment["MINKE_CONFIG"] = str(path)

    def pid(self, name: str = "minked") -> int | None:
        """The daemon's process, or the launcher's ("launcher"); None where none runs."""
        try:
            pid = int((self.home / f"{name}.pid").read_text())
        except (OSError, ValueError):
            return None
        return None if processes.has_ended(pid) else pid

    def kill(self, name: str = "minked") -> None:
        """kill -9, and gone."""
        if pid := self.pid(name):
            os.kill(pid, signal.SIGKILL)
            poll(lambda: processes.has_ended(pid), 10, f"the end of {name}")

    def wire(self, **options) -> Wire:
        return Wire(self.home, **options)

    def sacct(self, *options, format: str = "JobID,State,ExitCode") -> list[list[str]]:
        done = self.run("sacct", "-n", "-P", "-o", format, *options, check=0)
        return [line.split("|") for line in done.stdout.splitlines()]

    def kill_all(self) -> bool:
        """True: there is nothing left. What is killed may just have started another process."""
        left = self.processes()
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return not left

    def close(self) -> None:
        """Stops daemon, launcher and jobs; nothing of this cluster runs afterwards."""
        try:
            self.run("minke", "down", "--cancel-jobs", timeout=30)
        except subprocess.TimeoutExpired:
            pass
        poll(self.kill_all, 10, "the end of every process of the cluster")

    def processes(self) -> list[int]:
        """Processes whose environment names this cluster's home, but for the tests themselves."""
        return [pid for pid in processes.all_processes() if pid != os.getpid()
                and processes.environment(pid).get("MINKE_HOME") == str(self.home) and not processes.has_ended(pid)]


def configuration(machine: Machine) -> str:
    """minke.toml for this machine."""
    names = "n1" if machine.nodes == 1 else f"n[1-{machine.nodes}]"
    lines = [f"kill_wait = {machine.kill_wait}", machine.settings, "[[node]]", f'name = "{names}"', f"cpus = {machine.cpus}",
             f'memory = "{machine.memory}M"']
    if machine.gpus:
        lines.append(f'gpus = "{machine.gpus}"')
    if machine.features:
        lines.append("features = [" + ", ".join(f'"{one}"' for one in machine.features.split(",")) + "]")
    lines += ["", "[[partition]]", 'name = "main"', f'nodes = "{names}"', "default = true", "", machine.extra]
    return "\n".join(lines) + "\n"


class Reference(Commands):
    """A real Slurm with the same machine."""
    is_reference = True

    def __init__(self, machine: Machine):
        extra = [f"KillWait={machine.kill_wait}"]
        self.slurm = LoopbackSlurm(cpus=machine.cpus * machine.nodes, nodes=machine.nodes, memory=machine.memory,
                                   scheduler_parameters=TUNED, extra="\n".join(extra))
        self.slurm.__enter__()
        self.work = self.slurm.directory / "work"
        self.work.mkdir()
        self.environment = plain_environment() | {"SLURM_CONF": self.slurm.environment["SLURM_CONF"]}

    def close(self) -> None:
        self.run("scancel", "--me")
        self.slurm.__exit__(None, None, None)
