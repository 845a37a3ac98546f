"""How fast do batch jobs that do nothing go through, end to end, as single sbatch calls from four submitters?

Both sides pay for one process per submission. From the first call until the queue is empty.
"""
import subprocess
import time

from context import Context, job_script, until_empty
from report import Report

NAME = "singles"
SUBMITTERS = 4


def run(cluster, script, count: int, pause: float) -> float:
    output = cluster.directory / f"out-{time.monotonic_ns()}"
    output.mkdir()
    loop = (f'i=0; while [ $i -lt {count // SUBMITTERS} ]; do sbatch --parsable --output={output}/%j.out {script} '
            ">/dev/null || exit 1; i=$((i+1)); done")
    began = time.monotonic()
    submitters = [subprocess.Popen(["sh", "-c", loop], env=cluster.environment, cwd=cluster.directory)
                  for _ in range(SUBMITTERS)]
    if any([submitter.wait() for submitter in submitters]):
        raise RuntimeError("a submission failed")
    until_empty(cluster, 1800, pause)
    took = time.monotonic() - began
    written = sum(1 for _ in output.iterdir())
    if written != count // SUBMITTERS * SUBMITTERS:
        raise RuntimeError(f"of {count} jobs {written} left an output file")
    return took


def measure(context: Context, report: Report) -> None:
    options = context.options
    with context.minke() as minke, context.slurm(NAME, max_jobs=options.jobs + 1000) as slurm:
        script = job_script(minke.directory)
        for _ in range(options.repeats):
            report.sample("singles: Minke jobs/s", options.jobs / run(minke, script, options.jobs, 0.02))
            if slurm:
                report.sample("singles: Slurm jobs/s", options.slurm_jobs / run(slurm, script, options.slurm_jobs, 0.25))
    report.compare(f"{options.jobs} jobs, single sbatch calls", "singles: Minke jobs/s", "singles: Slurm jobs/s",
                   "Slurm", "jobs/s")
    report.compare(f"{options.jobs} jobs, single sbatch calls", "singles: Minke jobs/s", "array: xargs -P jobs/s",
                   "xargs -P", "jobs/s")
