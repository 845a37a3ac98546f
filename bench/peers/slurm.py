"""A real Slurm on loopback: munged, slurmctld and two slurmd of our own, in one temporary directory.

Nothing of the machine's own Slurm or munge is used or touched but the installed programs. Accounting is off, as
in the comparison that favours Slurm most. Runs as root or as an ordinary user (whose own jobs alone it then runs).
"""
import getpass
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol", "scancel")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_program() -> str | None:
    """The first program that this needs and the machine lacks; None where all is there."""
    return next((program for program in PROGRAMS if not shutil.which(program, path=PATH)), None)


class Ports:
    """Ports for servers that want to be told theirs. Each stays bound here, so that the kernel gives it to nobody else,
    but nobody listens: a server that sets SO_REUSEADDR, as all do, can have it."""

    def __init__(self):
        self.sockets: list[socket.socket] = []

    def take(self) -> int:
        one = socket.socket()
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.bind(("127.0.0.1", 0))
        self.sockets.append(one)
        return one.getsockname()[1]

    def close(self) -> None:
        for one in self.sockets:
            one.close()


# As installed, Slurm looks for work once in three seconds, so that short jobs on few cores wait most of the time. These
# are its documented settings for many short jobs; TUNED_SLOTS of them run at once on each core, so that what is
# measured is what Slurm does, not what it waits for.
TUNED = "batch_sched_delay=0,default_queue_depth=1000"
TUNED_SLOTS = 64


class LoopbackSlurm:
    """Use as a context manager. `environment` is what its commands need. `cpus` may be more than the machine has."""
    cgroup_configuration = "CgroupAutomount=no\n"

    def __init__(self, cpus: int, max_jobs: int = 10_000, scheduler_parameters: str = "", extra: str = "", nodes: int = 2,
                 memory: int = 0):
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="slurm-", dir="/tmp"))
        self.cpus_per_node = max(1, cpus // nodes)
        self.nodes = nodes
        self.max_jobs = max_jobs
        self.scheduler_parameters = scheduler_parameters
        self.extra = extra
        self.memory = memory
        self.daemons: list[subprocess.Popen] = []
        self.ports = Ports()
        self.environment = {name: value for name, value in os.environ.items()
                            if not name.startswith(("SLURM_", "SBATCH_", "SRUN_", "SQUEUE_", "MINKE_"))}
        self.environment |= {"SLURM_CONF": str(self.directory / "slurm.conf"), "PATH": PATH}

    def configuration(self) -> str:
        home, user, host = self.directory, getpass.getuser(), socket.gethostname().split(".")[0]
        control, *node_ports = [self.ports.take() for _ in range(1 + self.nodes)]
        memory = f" RealMemory={self.memory}" if self.memory else ""
        lines = [
            "ClusterName=loopback", f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={control}",
            f"SlurmUser={user}", f"SlurmdUser={user}",
            "AuthType=auth/munge", f"AuthInfo=socket={home}/munge.socket", "CredType=cred/munge",
            f"StateSaveLocation={home}/state", f"SlurmdSpoolDir={home}/spool-%n",
            f"SlurmctldPidFile={home}/slurmctld.pid", f"SlurmdPidFile={home}/slurmd-%n.pid",
            f"SlurmctldLogFile={home}/slurmctld.log", f"SlurmdLogFile={home}/slurmd-%n.log",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "MpiDefault=none", "SwitchType=switch/none",
            "SelectType=select/cons_tres",
            f"SelectTypeParameters={'CR_CPU_Memory' if self.memory else 'CR_CPU'}",
            "AccountingStorageType=accounting_storage/none", "JobAcctGatherType=jobacct_gather/none",
            "JobCompType=jobcomp/none", "ReturnToService=2", "SlurmdParameters=config_overrides",
            f"MaxJobCount={self.max_jobs}", f"MaxArraySize={min(self.max_jobs, 4_000_000) + 1}",
            *([f"SchedulerParameters={self.scheduler_parameters}"] if self.scheduler_parameters else []),
            *[f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus_per_node}{memory}"
              for i, port in enumerate(node_ports, 1)],
            f"PartitionName=main Nodes=n[1-{self.nodes}] Default=YES State=UP", self.extra]
        return "\n".join(lines) + "\n"

    def start_daemon(self, *command: str) -> None:
        log = open(self.directory / (pathlib.Path(command[0]).name + ".out"), "ab")
        self.daemons.append(subprocess.Popen(
            [shutil.which(command[0], path=PATH), *command[1:]], env=self.environment, stdin=subprocess.DEVNULL,
            stdout=log, stderr=log, cwd=self.directory))

    def __enter__(self) -> "LoopbackSlurm":
        try:
            home = self.directory
            (home / "state").mkdir()
            for i in range(1, self.nodes + 1):
                (home / f"spool-n{i}").mkdir()
            (home / "slurm.conf").write_text(self.configuration())
            (home / "cgroup.conf").write_text(self.cgroup_configuration)
            (home / "munge.key").write_bytes(os.urandom(128))
            (home / "munge.key").chmod(0o400)
            self.start_daemon("munged", "--foreground", "--force", f"--key-file={home}/munge.key",
                              f"--socket={home}/munge.socket", f"--pid-file={home}/munged.pid",
                              f"--log-file={home}/munged.log", f"--seed-file={home}/munged.seed")
            self.wait_until(lambda: (home / "munge.socket").exists(), "munged")
            self.start_daemon("slurmctld", "-D", "-i")
            self.wait_until(lambda: self.command("scontrol", "ping").stdout.count("is UP") > 0, "slurmctld")
            for i in range(1, self.nodes + 1):
                self.start_daemon("slurmd", "-D", "-N", f"n{i}")
            self.wait_until(lambda: set(self.command("sinfo", "-hN", "-o", "%t").stdout.split()) == {"idle"}, "slurmd")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def wait_until(self, condition, what: str, seconds: float = 180) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                logs = "".join(path.read_text(errors="replace")[-1500:] for path in self.directory.glob("*.log"))
                raise RuntimeError(f"{what} did not come up:\n{logs}")
            time.sleep(0.05)

    def command(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        options = {"capture_output": True, "text": True, "env": self.environment, "cwd": self.directory} | options
        return subprocess.run([shutil.which(arguments[0], path=PATH) or arguments[0], *arguments[1:]], **options)

    def pid(self, daemon: str) -> int:
        return next(one.pid for one in self.daemons if daemon in one.args[0])

    def __exit__(self, *_) -> None:
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in reversed(self.daemons):
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.ports.close()
        shutil.rmtree(self.directory, ignore_errors=True)
