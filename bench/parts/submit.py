"""How long does one `sbatch` take until it has its job's number? Minke's answer is durable; Slurm's is not."""
import time

from context import Context, job_script, require
from report import Report

NAME = "submit"


def measure(context: Context, report: Report) -> None:
    with context.minke() as minke, context.slurm(NAME) as slurm:
        script = job_script(minke.directory)
        clusters = [("Minke", minke)] + ([("Slurm", slurm)] if slurm else [])
        samples = {name: [] for name, _ in clusters}
        for _ in range(context.options.submissions):
            for name, cluster in clusters:
                began = time.monotonic()
                require(cluster.command("sbatch", "--hold", "--output=/dev/null", str(script)))
                samples[name].append(time.monotonic() - began)
        for name, values in samples.items():
            values.sort()
            report.sample(f"sbatch: {name} ms", values[len(values) // 2] * 1e3)
            report.sample(f"sbatch, 99th percentile: {name} ms", values[len(values) * 99 // 100] * 1e3)
    report.compare("sbatch, wall time", "sbatch: Minke ms", "sbatch: Slurm ms", "Slurm", "ms", budget=1,
                   smaller_is_better=True)
    report.compare("sbatch, 99th percentile", "sbatch, 99th percentile: Minke ms", "sbatch, 99th percentile: Slurm ms",
                   "Slurm", "ms", smaller_is_better=True)
