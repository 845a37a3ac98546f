"""How long does one scheduling pass take: 100,000 pending jobs, 1,000 nodes of 4 GPUs, full backfill? And in that state the
decision about one job that comes, or after one that ends? (sched/pass_perftest.cpp)"""
import json
import subprocess

from context import Context
from report import Report

NAME = "passes"
LIMIT_MS = 50
SINGLE_LIMIT_MS = 1


def measure(context: Context, report: Report) -> None:
    program = context.options.minke.resolve().parent / "sched_perftest"
    if not program.exists():
        return report.skip(NAME, f"{program} is not built")
    done = subprocess.run([program, "--benchmark_filter=FullBackfill|Single", "--benchmark_format=json"], check=True,
                          capture_output=True, text=True)
    for one in json.loads(done.stdout)["benchmarks"]:
        name = one["name"].removeprefix("BM_").removeprefix("FullBackfill").split("/iterations:")[0]
        # It neither waits nor has threads: what others use of the machine is not its time.
        ms = one["cpu_time"] / {"ms": 1, "us": 1000}[one["time_unit"]]
        if name.startswith("Single"):
            title = {"SingleSubmission": "one job comes", "SingleCompletion": "one job ends"}[name]
            report.sample(f"decision, {title}: ms", ms)
            report.limit(f"decision, {title}", f"decision, {title}: ms", "ms", SINGLE_LIMIT_MS)
            continue
        title = {"FromIdle": "all nodes idle", "WhenBusy/10": "every 10th job has ended",
                 "WhenBusy/100": "every 100th job has ended", "WhenBusy/1000": "every 1000th job has ended"}.get(name, name)
        report.sample(f"pass, {title}: ms", ms)
        report.limit(f"one pass, {title}", f"pass, {title}: ms", "ms", LIMIT_MS)
