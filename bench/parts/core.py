"""How fast is the core by itself: accepting, deciding and recording durably, with launching stubbed?

Arrays of each size go through the daemon's own protocol, so that no process is started for them; small ones several
times. The larger sizes against the smallest say whether the rate stays flat.
"""
import time

from context import Context
from report import Report

NAME = "core"


def run(wire, size: int) -> float:
    """Seconds from the submission of one array to the durable end of its last task."""
    request = wire.submission()
    request.spec.array.ranges.add(first=0, last=size - 1, step=1)
    began = time.monotonic()
    job = wire.ask(submit=request)
    if job.WhichOneof("body") != "submit":
        raise RuntimeError(f"a submission failed: {job}")
    wait = wire.messages.WaitJobRequest(job_id=job.submit.job_id, until=wire.messages.WaitJobRequest.ENDED)
    answer = wire.ask(wait_job=wait)
    if answer.WhichOneof("body") != "wait_job":
        raise RuntimeError(f"waiting failed: {answer}")
    return time.monotonic() - began


def measure(context: Context, report: Report) -> None:
    sizes = [size for size in (1_000, 10_000, 100_000, 1_000_000) if size <= context.options.core_jobs]
    with context.minke(stub=True) as minke, minke.wire() as wire:
        wire.socket.settimeout(600)
        for _ in range(context.options.repeats):
            for size in sizes:
                times = max(1, min(50, 200_000 // size))
                report.sample(f"core: {size} jobs, jobs/s", size * times / sum(run(wire, size) for _ in range(times)))
    report.limit(f"decisions, launching stubbed, {sizes[-1]} jobs", f"core: {sizes[-1]} jobs, jobs/s", "jobs/s", 200_000,
                 at_least=True)
    for size in sizes[1:]:
        report.compare(f"flat: array of {size} against {sizes[0]}", f"core: {size} jobs, jobs/s",
                       f"core: {sizes[0]} jobs, jobs/s", "itself", "jobs/s", budget=0.9)
