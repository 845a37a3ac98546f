"""How long does `squeue` take over a long queue?

Two queues on each side: the tasks of one held array, one line each (-r); and single held jobs, of which Slurm gets
fewer because it takes long to submit them. The times are per line where the numbers differ.
"""
import subprocess
import tempfile
import time

from context import Context, job_script, require
from report import Report

NAME = "squeue"


def timed(cluster, *command: str) -> tuple[float, int]:
    # Into a file: to be read by this program through a pipe would take about as long as the listing itself.
    with tempfile.TemporaryFile() as listing:
        began = time.monotonic()
        cluster.command(*command, capture_output=False, stdout=listing, stderr=subprocess.PIPE)
        seconds = time.monotonic() - began
        listing.seek(0)
        return seconds, listing.read().count(b"\n")


def submit_singles(cluster, script, count: int) -> None:
    loop = (f"i=0; while [ $i -lt {count // 4} ]; do sbatch --hold --output=/dev/null {script} >/dev/null || exit 1; "
            "i=$((i+1)); done")
    submitters = [subprocess.Popen(["sh", "-c", loop], env=cluster.environment, cwd=cluster.directory) for _ in range(4)]
    if any([submitter.wait() for submitter in submitters]):
        raise RuntimeError("a submission failed")


def submit_singles_by_wire(cluster, count: int) -> None:
    """Through the daemon's protocol, many requests under way at once."""
    with cluster.wire() as wire:
        sent = received = 0
        while received < count:
            while sent < count and sent - received < 1000:
                wire.send(submit=wire.submission(hold=True))
                sent += 1
            answer = wire.receive()
            if answer.WhichOneof("body") != "submit":
                raise RuntimeError(f"a submission failed: {answer}")
            received += 1


def measure(context: Context, report: Report) -> None:
    options = context.options
    tasks, singles = options.queued, min(2000, options.queued)
    with context.minke() as minke, context.slurm(NAME, max_jobs=tasks + singles + 1000) as slurm:
        script = job_script(minke.directory)
        clusters = [("Minke", minke)] + ([("Slurm", slurm)] if slurm else [])
        arrays = {}
        for name, cluster in clusters:
            arrays[name] = require(cluster.command("sbatch", "--parsable", "--hold", f"--array=0-{tasks - 1}",
                                                   "--output=/dev/null", str(script))).stdout.strip()
        for _ in range(options.repeats):
            for name, cluster in clusters:
                seconds, lines = timed(cluster, "squeue", "-h", "-r")
                if lines != tasks:
                    raise RuntimeError(f"{name}: squeue -r showed {lines} of {tasks} tasks")
                report.sample(f"squeue -r: {name} s", seconds)
        for name, cluster in clusters:
            cluster.command("scancel", arrays[name])
        for name, cluster in clusters:
            submit_singles(cluster, script, singles)
        for _ in range(options.repeats):
            for name, cluster in clusters:
                seconds, lines = timed(cluster, "squeue", "-h")
                report.sample(f"squeue, {singles} jobs: {name} s", seconds)
        submit_singles_by_wire(minke, tasks - singles)
        for _ in range(options.repeats):
            seconds, lines = timed(minke, "squeue", "-h")
            if lines != tasks:
                raise RuntimeError(f"squeue showed {lines} of {tasks} jobs")
            report.sample(f"squeue, {tasks} jobs: Minke s", seconds)
    report.compare(f"squeue -r, {tasks} tasks of an array", "squeue -r: Minke s", "squeue -r: Slurm s", "Slurm", "s",
                   budget=5, smaller_is_better=True)
    report.compare(f"squeue, {singles} single jobs", f"squeue, {singles} jobs: Minke s",
                   f"squeue, {singles} jobs: Slurm s", "Slurm", "s", smaller_is_better=True)
    one = report.median(f"squeue, {singles} jobs: Slurm s")
    if one is not None and tasks > singles:
        report.samples[f"squeue, {tasks} jobs: Slurm s, as {tasks // singles} x {singles}"] = [one * tasks / singles]
        report.compare(f"squeue, {tasks} single jobs", f"squeue, {tasks} jobs: Minke s",
                       f"squeue, {tasks} jobs: Slurm s, as {tasks // singles} x {singles}", "Slurm, extrapolated", "s",
                       smaller_is_better=True)
