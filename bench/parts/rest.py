"""What does a daemon cost that has nothing to do? Memory, and how often it wakes, as the kernel counts it."""
import pathlib
import time

from context import Context, job_script, require
from report import Report

NAME = "rest"


def resident_kib(pid: int) -> int:
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith("VmRSS"))


def switches(pid: int) -> int:
    """How often the threads of a process gave up a processor: at rest, once for each time that one woke."""
    return sum(int(line.split()[1]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
               for line in open(task / "status") if "ctxt_switches" in line)


def measure(context: Context, report: Report) -> None:
    seconds = context.options.rest_seconds
    with context.minke() as minke, context.slurm(NAME) as slurm:
        script = job_script(minke.directory)
        processes = {"minked": [minke.pid()], "launcher": [minke.pid("launcher")]}
        if slurm:
            processes["Slurm"] = [one.pid for one in slurm.daemons]
            require(slurm.command("sbatch", "--wait", "--output=/dev/null", str(script)))
        # Rest after work, not as new.
        require(minke.command("sbatch", "--wait", "--array=1-200", "--output=/dev/null", str(script)))
        time.sleep(3)
        before = {name: sum(map(switches, pids)) for name, pids in processes.items()}
        time.sleep(seconds)
        for name, pids in processes.items():
            report.sample(f"rest: {name} wake-ups/s", (sum(map(switches, pids)) - before[name]) / seconds)
            report.sample(f"rest: {name} MiB", sum(map(resident_kib, pids)) / 1024)
    report.limit("daemon at rest, memory", "rest: minked MiB", "MiB", 20)
    report.compare("daemon at rest, memory", "rest: minked MiB", "rest: Slurm MiB", "Slurm's four", "MiB",
                   smaller_is_better=True)
    for name in ("minked", "launcher"):
        report.limit(f"{name} at rest, wake-ups", f"rest: {name} wake-ups/s", "1/s", 0)
