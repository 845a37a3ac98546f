"""How fast do batch jobs that do nothing go through, end to end, submitted as one array?

Minke: from the start of `sbatch` to the end of `sbatch --wait`; each task with an output file of its own and a durable
accounting record, both counted afterwards. xargs: the same script spawned on the same cores and nothing else done,
which is the yardstick of the budget. Slurm: until its queue is empty; tuned for short jobs (peers/slurm.py), and, for
the record, as installed.
"""
import time

from context import Context, job_script, require, until_empty
from peers.spawners import GnuParallel, TaskSpooler, Xargs, XargsWithFiles
from report import Report

NAME = "array"


def run_minke(cluster, script, count: int) -> float:
    output = cluster.directory / f"out-{time.monotonic_ns()}"
    output.mkdir()
    began = time.monotonic()
    job = require(cluster.command("sbatch", "--parsable", "--wait", f"--array=1-{count}", f"--output={output}/%a.out",
                                  str(script))).stdout.strip()
    took = time.monotonic() - began
    written = sum(1 for _ in output.iterdir())
    recorded = cluster.command("sacct", "-n", "-X", "-P", "-o", "State", "-j", job).stdout.split().count("COMPLETED")
    if written != count or recorded != count:
        raise RuntimeError(f"of {count} jobs {written} left an output file and {recorded} a record")
    return took


def run_slurm(cluster, script, count: int) -> float:
    output = cluster.directory / f"out-{time.monotonic_ns()}"
    output.mkdir()
    began = time.monotonic()
    require(cluster.command("sbatch", f"--array=1-{count}", f"--output={output}/%a.out", str(script)))
    until_empty(cluster, 1800, 0.25)
    return time.monotonic() - began


def measure(context: Context, report: Report) -> None:
    options = context.options
    spawners = []
    for spawner, count in ((Xargs(), options.jobs), (XargsWithFiles(), options.jobs),
                           (GnuParallel(), max(100, options.jobs // 5)), (TaskSpooler(), max(100, options.jobs // 10))):
        if spawner.program not in options.peers:
            report.skip(spawner.name, "not among --peers")
        elif spawner.missing():
            report.skip(spawner.name, spawner.missing())
        else:
            spawners.append((spawner, count))

    with context.minke() as minke, context.slurm(NAME, max_jobs=options.jobs + 1000) as slurm:
        script = job_script(minke.directory)
        run_minke(minke, script, 100)
        for _ in range(options.repeats):
            report.sample("array: Minke jobs/s", options.jobs / run_minke(minke, script, options.jobs))
            for spawner, count in spawners:
                with context.directory() as directory:
                    report.sample(f"array: {spawner.name} jobs/s", count / spawner.run(script, count, directory))
            if slurm:
                report.sample("array: Slurm jobs/s", options.slurm_jobs / run_slurm(slurm, script, options.slurm_jobs))

    with context.slurm(f"{NAME}, as installed", as_installed=True) as slurm:
        if slurm:
            count = max(20, options.slurm_jobs // 10)
            report.sample("array: Slurm as installed jobs/s", count / run_slurm(slurm, job_script(slurm.directory), count))

    title = f"{options.jobs} jobs, one array"
    report.compare(title, "array: Minke jobs/s", "array: xargs -P jobs/s", "xargs -P", "jobs/s", budget=0.7)
    report.compare(title, "array: Minke jobs/s", "array: xargs -P, a file each jobs/s", "xargs -P, a file each", "jobs/s")
    report.compare(title, "array: Minke jobs/s", "array: GNU parallel jobs/s", "GNU parallel", "jobs/s")
    report.compare(title, "array: Minke jobs/s", "array: task-spooler jobs/s", "task-spooler", "jobs/s")
    report.compare(title, "array: Minke jobs/s", "array: Slurm jobs/s", "Slurm", "jobs/s", budget=30)
    report.compare(title, "array: Minke jobs/s", "array: Slurm as installed jobs/s", "Slurm, as installed", "jobs/s",
                   budget=30)
