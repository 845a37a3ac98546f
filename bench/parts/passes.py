"""How long does one scheduling pass take: 100,000 pending jobs, 1,000 nodes, full backfill? (sched/pass_perftest.cpp)"""
import json
import subprocess

from context import Context
from report import Report

NAME = "passes"
LIMIT_MS = 50


def measure(context: Context, report: Report) -> None:
    program = context.options.minke.resolve().parent / "sched_perftest"
    if not program.exists():
        return report.skip(NAME, f"{program} is not built")
    done = subprocess.run([program, "--benchmark_filter=FullBackfill", "--benchmark_format=json"], check=True,
                          capture_output=True, text=True)
    for one in json.loads(done.stdout)["benchmarks"]:
        assert one["time_unit"] == "ms", one
        name = one["name"].removeprefix("BM_FullBackfill").removesuffix("/iterations:100")
        title = {"FromIdle": "all nodes idle", "WhenBusy/10": "every 10th job has ended",
                 "WhenBusy/100": "every 100th job has ended", "WhenBusy/1000": "every 1000th job has ended"}.get(name, name)
        report.sample(f"pass, {title}: ms", one["real_time"])
        report.limit(f"one pass, {title}", f"pass, {title}: ms", "ms", LIMIT_MS)
