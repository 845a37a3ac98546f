"""What does Minke take on a large Slurm: a snapshot of the queue, and `minke why`?

slurmctld has 10,000 nodes, which are never started (State=CLOUD), and the jobs wait on them. They are submitted while
it has few nodes, since it tries each job on all of them. Beside it, the same queue by `squeue --json`.
"""
import os
import pathlib
import shutil
import subprocess
import time

from context import Context, job_script, require
from parts.squeue import submit_singles
from peers.slurm import LoopbackSlurm, missing_program
from report import Report

NAME = "on_slurm"
NODES = 10_000
FEW = 20


class LargeSlurm(LoopbackSlurm):
    """A slurmctld without any slurmd."""

    def __init__(self, jobs: int):
        super().__init__(cpus=FEW, max_jobs=jobs + 10_000, nodes=1)
        self.shown = FEW

    def configuration(self) -> str:
        lines = [line for line in super().configuration().splitlines() if not line.startswith(("NodeName=", "PartitionName="))]
        return "\n".join(lines + [
            "PrivateData=cloud", "SuspendProgram=/bin/true", "ResumeProgram=/bin/true", "SuspendTime=1000000", "ResumeTimeout=60000",
            "SchedulerParameters=defer,default_queue_depth=100", "TreeWidth=65533", "MinJobAge=86400",
            f"NodeName=c[00001-{self.shown:05}] CPUs=64 Sockets=2 CoresPerSocket=32 RealMemory=256000 State=CLOUD",
            f"PartitionName=main Nodes=c[00001-{self.shown:05}] Default=YES MaxTime=INFINITE State=UP"]) + "\n"

    def start_daemon(self, *command: str) -> None:
        if command[0] != "slurmd":
            super().start_daemon(*command)

    def wait_until(self, condition, what: str, seconds: float = 180) -> None:
        if what != "slurmd":
            super().wait_until(condition, what, seconds)

    def grow(self) -> None:
        """The same jobs, on all of the nodes."""
        controller = next(one for one in self.daemons if "slurmctld" in one.args[0])
        controller.terminate()
        controller.wait(300)
        self.daemons.remove(controller)
        text = self.configuration_file().read_text()
        self.configuration_file().write_text(text.replace(f"-{self.shown:05}]", f"-{NODES:05}]"))
        super().start_daemon("slurmctld", "-D", "-i")
        self.wait_until(lambda: "is UP" in self.command("scontrol", "ping").stdout, "slurmctld")

    def configuration_file(self) -> pathlib.Path:
        return self.directory / "slurm.conf"


def asked(minke: pathlib.Path, slurm: LargeSlurm, *words: str) -> tuple[float, float]:
    """Seconds, and the most memory of the command (not of Slurm's own) in MiB."""
    with open(os.devnull, "wb") as nowhere:
        began = time.monotonic()
        process = subprocess.Popen([str(minke.resolve()), *words], stdout=nowhere, stderr=subprocess.PIPE,
                                   env=slurm.environment | {"HOME": str(slurm.directory), "MINKE_CLUSTER": "slurm"})
        problem = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"minke {' '.join(words)}: {problem.decode(errors='replace')}")
    return time.monotonic() - began, used.ru_maxrss / 1024


def measure(context: Context, report: Report) -> None:
    if missing_program() or "slurm" not in context.options.peers:
        return report.skip(NAME, f"{missing_program() or 'Slurm'} is not there, or not among --peers")
    jobs, minke = context.options.slurm_queued, context.options.minke
    with LargeSlurm(jobs) as slurm:
        submit_singles(slurm, job_script(slurm.directory), jobs)
        slurm.grow()
        require(slurm.command("scontrol", "release", *slurm.command("squeue", "-h", "-o", "%i").stdout.split()[:500]))
        last = slurm.command("squeue", "-h", "-t", "PD", "-S", "i", "-o", "%i").stdout.split()[0]
        for _ in range(context.options.repeats):
            shutil.rmtree(slurm.directory / ".cache", ignore_errors=True)
            for what, words in (("minke squeue", ("squeue", "-h")), ("minke why", ("why", last))):
                seconds, memory = asked(minke, slurm, *words)
                report.sample(f"{what}, {jobs} jobs on {NODES} nodes, s", seconds)
                report.sample(f"{what}, {jobs} jobs on {NODES} nodes, MiB", memory)
        began = time.monotonic()
        require(slurm.command("squeue", "--json", capture_output=False, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE))
        report.sample("squeue --json s", time.monotonic() - began)
    name = f"{jobs} jobs on {NODES} nodes"
    report.limit(f"snapshot of a Slurm, {name}", f"minke squeue, {name}, s", "s", 2)
    report.limit(f"minke why on a Slurm, {name}", f"minke why, {name}, s", "s", 3)
    report.limit(f"its memory, {name}", f"minke why, {name}, MiB", "MiB", 500)
    report.compare(f"the queue of a Slurm, {name}", f"minke squeue, {name}, s", "squeue --json s", "squeue --json", "s",
                   smaller_is_better=True)
