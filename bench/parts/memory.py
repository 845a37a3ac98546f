"""How much memory does the daemon take with a long queue of jobs that are all different?"""
from context import Context
from parts.rest import resident_kib
from parts.squeue import submit_singles_by_wire
from report import Report

NAME = "memory"


def measure(context: Context, report: Report) -> None:
    count = context.options.memory_jobs
    with context.minke() as minke:
        submit_singles_by_wire(minke, count)
        report.sample(f"memory: {count} jobs, MiB", resident_kib(minke.pid()) / 1024)
    report.limit(f"memory with {count} single jobs queued", f"memory: {count} jobs, MiB", "MiB", 120)
