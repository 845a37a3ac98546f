"""What every part of the benchmark is given: options, the peers that can run here, and a way to interleave them."""
import argparse
import contextlib
import dataclasses
import pathlib
import shutil
import subprocess
import tempfile
import time
import os

from peers.minke import Minke
from peers.slurm import TUNED, TUNED_SLOTS, LoopbackSlurm, missing_program
from report import Report

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTHING = "#!/bin/sh\n:\n"


@dataclasses.dataclass
class Context:
    options: argparse.Namespace
    report: Report

    def minke(self, **options) -> Minke:
        return Minke(self.options.minke, **options)

    @contextlib.contextmanager
    def slurm(self, what: str, as_installed: bool = False, **options):
        """A real Slurm, or None where it cannot run; the report says why. Tuned for short jobs unless `as_installed`."""
        problem = f"{missing_program()} is not installed" if missing_program() else None
        if "slurm" not in self.options.peers:
            problem = "not among --peers"
        if problem is None:
            cores = max(2, os.cpu_count())
            cluster = (LoopbackSlurm(cpus=cores, **options) if as_installed else
                       LoopbackSlurm(cpus=cores * TUNED_SLOTS, scheduler_parameters=TUNED, **options))
            try:
                cluster.__enter__()
            except RuntimeError as error:
                problem = str(error).splitlines()[0]
        if problem is not None:
            self.report.skip(f"Slurm, {what}", problem)
            yield None
            return
        try:
            yield cluster
        finally:
            cluster.command("scancel", "--me")
            cluster.__exit__(None, None, None)

    @contextlib.contextmanager
    def directory(self):
        """An empty directory on the disk that the repository is on."""
        base = ROOT / ".minke/bench"
        base.mkdir(parents=True, exist_ok=True)
        path = pathlib.Path(tempfile.mkdtemp(prefix="work-", dir=base))
        try:
            yield path
        finally:
            shutil.rmtree(path, ignore_errors=True)


def job_script(directory: pathlib.Path) -> pathlib.Path:
    """The script that does nothing."""
    path = directory / "job.sh"
    path.write_text(NOTHING)
    path.chmod(0o755)
    return path


def until_empty(cluster, seconds: float, pause: float) -> None:
    """Waits until the cluster's queue is empty, looking every `pause` seconds."""
    deadline = time.monotonic() + seconds
    while True:
        looked = cluster.command("squeue", "-h", "-o", "%i")
        if looked.returncode == 0 and not looked.stdout.strip():
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"the queue is not empty after {seconds} s")
        time.sleep(pause)


def require(process: subprocess.CompletedProcess) -> subprocess.CompletedProcess:
    if process.returncode != 0:
        raise RuntimeError(f"{process.args}: exit code {process.returncode}: {process.stderr}")
    return process
