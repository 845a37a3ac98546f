"""What does a case cost in a farm, and beside xargs, GNU Parallel, HyperQueue and an array?

Cases that do nothing (`true`), on as many processors as the machine has. Minke: from `minke farm run` to its last line,
with a durable record of each case and its output kept; xargs does nothing but spawn. Then a farm of a million cases:
the memory of the processes that run them, and how long `minke farm status` takes. What a case costs in ms is 1000 divided by its rate.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import time

from context import Context, require
from peers.spawners import ENVIRONMENT
from report import Report

NAME = "farm"


def write_table(directory: pathlib.Path, cases: int) -> pathlib.Path:
    path = directory / f"cases-{time.monotonic_ns()}"
    path.write_text("".join(f"{number}\n" for number in range(1, cases + 1)))
    return path


def run_farm(cluster, table: pathlib.Path, cases: int) -> float:
    """One job with all processors: the spawning is what is compared."""
    directory = f"{table}.farm"
    began = time.monotonic()
    done = require(cluster.command("minke", "farm", "run", str(table), "--dir", directory, "--jobs=1", f"-c{os.cpu_count()}",
                                   "--mem=0", "--", "true", "{}"))
    took = time.monotonic() - began
    if done.stdout != f"{cases} cases: {cases} ok, 0 failed\n":
        raise RuntimeError(done.stdout + done.stderr)
    return took


def shell(command: str, directory: pathlib.Path, **environment: str) -> float:
    began = time.monotonic()
    subprocess.run(["sh", "-c", command], cwd=directory, env=ENVIRONMENT | environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.monotonic() - began


def run_parallel(directory: pathlib.Path, cases: int) -> float:
    (directory / "home/.parallel").mkdir(parents=True, exist_ok=True)
    (directory / "home/.parallel/will-cite").touch()
    return shell(f"seq {cases} | parallel -j {os.cpu_count()} --joblog log true", directory, HOME=str(directory / "home"))


def hyperqueue(directory: pathlib.Path) -> pathlib.Path | None:
    """A Python with HyperQueue's package, in an environment of its own."""
    place = directory / "hq"
    made = subprocess.run([sys.executable, "-m", "venv", str(place)], capture_output=True).returncode == 0
    made = made and subprocess.run([place / "bin/pip", "-q", "install", "hyperqueue"], capture_output=True).returncode == 0
    return place / "bin/python" if made else None


def run_hyperqueue(python: pathlib.Path, directory: pathlib.Path, cases: int) -> float:
    place = directory / f"hq-{time.monotonic_ns()}"
    place.mkdir()
    program = pathlib.Path(__file__).resolve().parent.parent / "peers/hyperqueue_cases.py"
    done = subprocess.run([python, program, str(cases), str(os.cpu_count()), str(place)], cwd=place, env=ENVIRONMENT, check=True,
                          capture_output=True, text=True)
    return float(done.stdout.split()[-1])


def run_array(cluster, cases: int) -> float:
    began = time.monotonic()
    require(cluster.command("sbatch", "--wait", f"--array=1-{cases}", "--output=/dev/null", "--wrap", "true"))
    return time.monotonic() - began


def memory_of_workers(home: pathlib.Path) -> int:
    """KiB at their highest, of the worker and its keeper together."""
    total = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if b"farm-worker" in (process / "cmdline").read_bytes() and bytes(home) in (process / "environ").read_bytes():
                total += int((process / "status").read_text().split("VmHWM:")[1].split()[0])
        except (OSError, IndexError):
            pass
    return total


def measure_large(context: Context, report: Report, cases: int) -> None:
    with context.minke() as cluster, context.directory() as directory:
        table = write_table(directory, cases)
        words = ["minke", "farm", "run", str(table), "--dir", f"{table}.farm", "--jobs=1", f"-c{os.cpu_count()}", "--mem=0",
                 "--detach", "--", "true", "{}"]
        made = subprocess.Popen([str(cluster.program), *words[1:]], env=cluster.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(made.pid, 0)
        made.returncode = os.waitstatus_to_exitcode(status)
        if made.returncode != 0:
            raise RuntimeError("a large farm has not begun")
        report.sample(f"farm: making one of {cases} cases, peak KiB", usage.ru_maxrss)
        peak, done = 0, 0
        while done < cases:
            for _ in range(10):
                time.sleep(0.5)
                peak = max(peak, memory_of_workers(cluster.home))
            began = time.monotonic()
            said = require(cluster.command("minke", "farm", "status", f"{table}.farm")).stdout
            report.sample("farm: status of a large one, s", time.monotonic() - began)
            done = int(said.splitlines()[1].split()[0])
        report.sample("farm: memory of a large one's worker, KiB", peak)
    report.limit(f"a farm of {cases} cases: its worker", "farm: memory of a large one's worker, KiB", "KiB", 200 * 1024)
    report.limit(f"a farm of {cases} cases: status", "farm: status of a large one, s", "s", 0.1)


def measure(context: Context, report: Report) -> None:
    options = context.options
    cases = options.farm_cases
    few = max(200, cases // 50)
    with context.minke() as cluster, context.directory() as directory:
        hq = hyperqueue(directory)
        if not hq:
            report.skip("HyperQueue", "its package cannot be installed here")
        for _ in range(options.repeats):
            report.sample("farm: Minke cases/s", cases / run_farm(cluster, write_table(directory, cases), cases))
            report.sample("farm: xargs -P cases/s", cases / shell(f"seq {cases} | xargs -P {os.cpu_count()} -n 1 true", directory))
            report.sample("farm: Minke, an array, cases/s", few / run_array(cluster, few))
            if shutil.which("parallel"):
                report.sample("farm: GNU parallel --joblog cases/s", few / run_parallel(directory, few))
            if hq:
                many = max(few, cases // 5)  # its client looks once a second
                report.sample("farm: HyperQueue cases/s", many / run_hyperqueue(hq, directory, many))
    with context.slurm(NAME, max_jobs=few + 1000) as slurm:
        if slurm:
            report.sample("farm: Slurm, an array, cases/s", options.slurm_jobs / run_array(slurm, options.slurm_jobs))
    title = f"{cases} cases that do nothing"
    report.compare(title, "farm: Minke cases/s", "farm: xargs -P cases/s", "xargs -P", "cases/s", budget=0.9)
    for peer in ("GNU parallel --joblog", "HyperQueue", "Minke, an array,", "Slurm, an array,"):
        report.compare(title, "farm: Minke cases/s", f"farm: {peer} cases/s", peer.strip(","), "cases/s")
    measure_large(context, report, options.large_farm_cases)
