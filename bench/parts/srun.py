"""How many `srun true` a second, one after the other, inside one allocation?"""
import time

from context import Context
from report import Report

NAME = "srun"


def run(cluster, count: int) -> float:
    """Seconds for `count` steps, without the making of the allocation: the shell inside it takes the time."""
    script = (f"a=$(date +%s%N); i=0; while [ $i -lt {count} ]; do srun true || exit 1; i=$((i+1)); done; "
              "b=$(date +%s%N); echo took $((b-a))")
    done = cluster.command("salloc", "--ntasks=1", "sh", "-c", script)
    if done.returncode != 0:
        raise RuntimeError(f"salloc: exit code {done.returncode}: {done.stderr[-500:]}")
    return int(done.stdout.split("took")[1]) / 1e9


def measure(context: Context, report: Report) -> None:
    options = context.options
    with context.minke() as minke, context.slurm(NAME) as slurm:
        run(minke, 10)
        for _ in range(options.repeats):
            report.sample("srun: Minke steps/s", options.steps / run(minke, options.steps))
            if slurm:
                report.sample("srun: Slurm steps/s", options.slurm_steps / run(slurm, options.slurm_steps))
    report.compare(f"srun true, {options.steps} in one allocation", "srun: Minke steps/s", "srun: Slurm steps/s", "Slurm",
                   "steps/s", budget=15)
