#!/usr/bin/env python3
"""Runs the example in digits/ on a Minke of its own, shows it live, and checks what it claims.

Everything happens in one directory (default: .minke/demo in this repository): the cluster's state, project space and
scratch. It is emptied at the beginning; the cluster is stopped at the end, however the end comes.
"""
import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
EPOCHS = 120
FINISHED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "DEADLINE", "BOOT_FAIL"}


class Cluster:
    """The commands of one Minke, as a user's shell would find them."""

    def __init__(self, minke: pathlib.Path, directory: pathlib.Path):
        self.minke = minke
        self.directory = directory
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SLURM_", "SBATCH_", "SQUEUE_", "SACCT_", "SINFO_", "MINKE_"))}
        environment |= {
            "MINKE_HOME": str(directory / "cluster"), "PROJECT": str(directory / "project"),
            "SCRATCH": str(directory / "scratch"), "DIGITS_CODE": str(HERE / "digits"), "PYTHON": sys.executable,
            "EPOCHS": str(EPOCHS), "OPENBLAS_NUM_THREADS": "1"}
        # What `eval "$(minke env)"` does to a shell's environment.
        answer = subprocess.run(["bash", "-c", 'set -e; lines=$("$0" env --over-slurm); eval "$lines"; env -0', str(minke)],
                                env=environment, stdout=subprocess.PIPE, check=True).stdout
        self.environment = dict(entry.split("=", 1) for entry in os.fsdecode(answer).split("\0") if "=" in entry)

    def run(self, *command: str, check: bool = True) -> str:
        result = subprocess.run(command, env=self.environment, cwd=self.directory / "scratch",
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
        if check and result.returncode != 0:
            raise RuntimeError(f"{shlex.join(command)}: exit code {result.returncode}")
        return result.stdout

    def show(self, *command: str) -> None:
        print(f"\n$ {shlex.join(command)}\n{self.run(*command).rstrip()}", flush=True)

    def states(self, *jobs: str) -> dict[str, str]:
        """State by job id (12, 12_3) of what sacct knows of these jobs."""
        lines = self.run("sacct", "-n", "-P", "-X", "-o", "JobID,State", "-j", ",".join(jobs)).splitlines()
        return {job: state.split()[0] for job, state in (line.split("|") for line in lines) if state}


class Progress:
    """The queue and the last line of the trainer's log: redrawn in place on a terminal, else a line per change."""

    def __init__(self):
        self.live = sys.stdout.isatty()
        self.drawn = 0
        self.said = {}

    def update(self, queue: list[list[str]], last: str) -> None:
        if not self.live:
            now = {job: state for job, _, state, *_ in queue}
            for job, name, state, *_ in queue:
                if self.said.get(job) != state:
                    self.line(f"{name} {job}: {state.lower()}")
            for job in set(self.said) - set(now) - {"epoch"}:
                self.line(f"job {job} has left the queue")
            epoch = re.search(r"epoch (\d+)", last)
            tens = int(epoch[1]) // 20 if epoch else 0
            if tens > self.said.get("epoch", 0):
                self.line(last)
            self.said = now | {"epoch": max(tens, self.said.get("epoch", 0))}
            return
        rows = [f"  {'JOBID':>8}  {'NAME':8} {'STATE':10} {'TIME':>6}  REASON"]
        rows += [f"  {job:>8}  {name:8} {state:10} {used:>6}  {reason}" for job, name, state, used, reason in queue]
        rows += ["", f"  {last}"]
        width = shutil.get_terminal_size().columns - 1
        self.clear()
        print("\n".join(row[:width] for row in rows), flush=True)
        self.drawn = len(rows)

    def line(self, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {text}", flush=True)

    def clear(self) -> None:
        if self.drawn:
            print(f"\x1b[{self.drawn}A\x1b[J", end="")
        self.drawn = 0


def last_line(path: pathlib.Path) -> str:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return ""
    return lines[-1] if lines else ""


def watch(cluster: Cluster, jobs: list[str], deadline: float) -> int:
    """Follows the jobs until all have ended. Returns how many tasks of the sweep were seen running at once."""
    progress, most, log = Progress(), 0, cluster.directory / "scratch/digits/run/epochs.log"
    while True:
        lines = cluster.run("squeue", "-h", "-r", "-o", "%i|%j|%T|%M|%r").splitlines()
        queue = [line.strip().split("|") for line in lines]
        most = max(most, sum(name == "sweep" and state == "RUNNING" for _, name, state, *_ in queue))
        progress.update(queue, last_line(log))
        if not queue and all(state in FINISHED for state in cluster.states(*jobs).values()):
            break
        if time.monotonic() > deadline:
            raise RuntimeError("the jobs have not ended after four minutes")
        time.sleep(0.5)
    progress.clear()
    return most


def claims(cluster: Cluster, sweep: str, chunks: list[str], most_running: int) -> list[tuple[bool, str]]:
    """What this example promises, and whether it came true."""
    scratch, results = cluster.directory / "scratch/digits", cluster.directory / "project/digits/results"
    states = cluster.states(sweep, *chunks)
    tasks = [states.get(f"{sweep}_{index}") for index in range(5)]
    epochs = [int(line.split()[1]) for line in (scratch / "run/epochs.log").read_text().splitlines()]
    jobs = [line.split()[-1] for line in (scratch / "run/epochs.log").read_text().splitlines()]
    try:
        accuracy = json.loads((results / "result.json").read_text())["test_accuracy"]
    except OSError:
        accuracy = 0.0
    return [
        (tasks == ["COMPLETED"] * 5, "the sweep's five tasks completed"),
        (most_running <= 2, f"no more than two of them ran at once (seen: {most_running})"),
        (states.get(chunks[0]) == "TIMEOUT", f"the first chunk was stopped by its time limit ({states.get(chunks[0])})"),
        (states.get(chunks[1]) == "COMPLETED", f"the second chunk completed ({states.get(chunks[1])})"),
        (all(chunk in jobs for chunk in chunks),
         f"both did their part: {jobs.count(chunks[0])} and {jobs.count(chunks[1])} epochs"),
        (epochs == list(range(1, EPOCHS + 1)), f"each of {EPOCHS} epochs was done exactly once"),
        (accuracy >= 0.95, f"held-out accuracy is {accuracy:.4f} (at least 0.95)")]


def demonstrate(cluster: Cluster) -> bool:
    digits = HERE / "digits"
    cluster.show("minke", "up")
    cluster.show(sys.executable, str(digits / "prepare.py"), str(cluster.directory / "project/digits/digits.tar"))

    def submit(*arguments: str) -> str:
        job = cluster.run("sbatch", "--parsable", *arguments).strip()
        print(f"\n$ sbatch --parsable {shlex.join(arguments)}\n{job}", flush=True)
        return job

    sweep = submit(str(digits / "sweep.sh"))
    first = submit(f"--dependency=afterok:{sweep}", "--time=00:01:00", str(digits / "train.sh"))
    second = submit(f"--dependency=afterany:{first}", str(digits / "train.sh"))
    print("\nThe first chunk has one minute, which is too little; the second goes on where it stopped.\n", flush=True)
    most_running = watch(cluster, [sweep, first, second], time.monotonic() + 240)

    rates = sorted((cluster.directory / "scratch/digits/sweep").glob("*.txt"))
    print("\nlearning rate   validation accuracy")
    for path in rates:
        rate, accuracy = path.read_text().split()
        print(f"{rate:>13}   {float(accuracy):.4f}")

    cluster.show("squeue", "--states=all")
    cluster.show("sacct", "--format=JobID,JobName,State,ExitCode,Elapsed,AllocCPUS,MaxRSS")
    cluster.show("seff", first)
    cluster.show("sinfo")
    cluster.show("tail", "-n", "3", str(cluster.directory / f"scratch/digits-{first}.out"),
                 str(cluster.directory / f"scratch/digits-{second}.out"))

    print()
    outcome = claims(cluster, sweep, [first, second], most_running)
    for held, claim in outcome:
        print(f"{'yes' if held else 'NO '}  {claim}")
    print(f"\nresults:   {cluster.directory}/project/digits/results\n"
          f"job logs:  {cluster.directory}/scratch/*.out")
    return all(held for held, _ in outcome)


def show_portal(cluster: Cluster) -> None:
    """The same in a browser. On a terminal it stays until Ctrl+C, or nobody uses it; else only its beginning is shown."""
    print("\n$ minke portal", flush=True)
    portal = subprocess.Popen(["minke", "portal", "--unused", "30"], env=cluster.environment, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        while line := portal.stdout.readline():
            print(line, end="", flush=True)
            if "http://localhost" in line and not (sys.stdin.isatty() and sys.stdout.isatty()):
                return
    except KeyboardInterrupt:
        print()
    finally:
        portal.terminate()
        portal.wait()
        portal.stdout.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minke", type=pathlib.Path, default=HERE.parent / "build/minke")
    parser.add_argument("--directory", type=pathlib.Path, default=HERE.parent / ".minke/demo")
    options = parser.parse_args()
    directory = options.directory.resolve()

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    minke = options.minke.resolve()
    if (directory / "cluster").exists():  # an earlier run, perhaps killed before it could stop its cluster
        subprocess.run([str(minke), "down", "--cancel-jobs"], env=os.environ | {"MINKE_HOME": str(directory / "cluster")},
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for name in ("cluster", "project", "scratch"):
        shutil.rmtree(directory / name, ignore_errors=True)
    (directory / "scratch").mkdir(parents=True)
    cluster = Cluster(minke, directory)
    stop = ("minke", "down", "--cancel-jobs")

    began = time.monotonic()
    try:
        good = demonstrate(cluster)
        seconds = time.monotonic() - began
        show_portal(cluster)
    except KeyboardInterrupt:
        print("\ninterrupted: stopping the cluster", file=sys.stderr)
        return 130
    except RuntimeError as problem:
        print(f"demo: {problem}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        print(f"\n$ {shlex.join(stop)}", flush=True)
        subprocess.run(stop, env=cluster.environment)
    print(f"{'all of it held' if good else 'something above did NOT hold'}; {seconds:.0f} s")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
