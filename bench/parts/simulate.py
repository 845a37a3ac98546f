"""How fast are replays: a million jobs placed on nodes (EASY), half a million planned (conservative), and AccaSim beside it?"""
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from context import ROOT, Context, require
from report import Report

NAME = "simulate"
ACCASIM = ROOT / ".minke/accasim"  # AccaSim 1.1.3 from PyPI, installed at the first run
NODES = 256
SHAPES = ((1, 1), (1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (64, 1), (128, 2), (256, 4))  # processors, nodes

# AccaSim was written for older releases of Python and NumPy: the names that have gone since are given back.
REPLAY = """
import collections, collections.abc, sys, time
for name in collections.abc.__all__:
    setattr(collections, name, getattr(collections.abc, name))
time.clock = time.perf_counter
import numpy
for name, kind in (("float", float), ("int", int), ("bool", bool), ("object", object)):
    if name not in numpy.__dict__:
        setattr(numpy, name, kind)
from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling
from accasim.base.simulator_class import Simulator
trace, system, results = sys.argv[1:]
simulator = Simulator(trace, system, EASYBackfilling(FirstFit()), RESULTS_FOLDER_PATH=results, scheduling_output=False,
                      pprint_output=False, benchmark_output=False, statistics_output=False, show_statistics=False)
begin = time.monotonic()
simulator.start_simulation()
print(time.monotonic() - begin)
"""


def write_trace(path: pathlib.Path, jobs: int, processors: int, load: float = 0.85) -> None:
    """Many short jobs and some long ones, limits above the run times, in bursts; the same each time."""
    dice = random.Random(jobs)
    rows, now, work = [], 0.0, 0
    while len(rows) < jobs:
        width, _ = dice.choice(SHAPES)
        asks = dice.choice((600, 1800, 3600, 7200, 21600, 86400))
        for _ in range(dice.choice((1, 1, 1, 5, 20))):
            runs = max(1, int(asks * dice.betavariate(0.6, 1.4)))
            rows.append((now, runs, min(width, processors), asks, dice.randint(1, 200)))
            work += runs * rows[-1][2]
        now += dice.expovariate(1)
    stretch = work / (processors * load) / now
    with path.open("w") as out:
        out.write(f"; MaxProcs: {processors}\n")
        for number, (submit, runs, width, asks, user) in enumerate(rows[:jobs], 1):
            out.write(f"{number} {int(submit * stretch)} -1 {runs} {width} -1 -1 {width} {asks} -1 1 {user} 1 1 1 1 -1 -1\n")


def write_deep_trace(path: pathlib.Path, jobs: int, processors: int = 3356) -> None:
    """Narrow jobs with limits of an hour to a week, and bursts of up to 15,000 alike: that many wait at the most."""
    dice = random.Random(jobs)
    rows, now, work = [], 0.0, 0
    while len(rows) < jobs:
        asks = dice.choice((3600, 7200, 14400, 86400, 3 * 86400, 7 * 86400))
        width, count = dice.choice((1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64)), dice.choice((1, 1, 1, 5, 20))
        if dice.random() < 0.0004:
            width, count, asks = 1, dice.randint(5000, 15_000), dice.choice((3600, 14400))
        for _ in range(count):
            runs = max(1, int(asks * dice.betavariate(0.6, 1.4)))
            rows.append((now, runs, width, asks, dice.randint(1, 200)))
            work += runs * width
        now += dice.expovariate(1)
    stretch = work / (processors * 0.85) / now
    with path.open("w") as out:
        out.write(f"; MaxProcs: {processors}\n")
        for number, (submit, runs, width, asks, user) in enumerate(rows[:jobs], 1):
            out.write(f"{number} {int(submit * stretch)} -1 {runs} {width} -1 -1 {width} {asks} -1 1 {user} 1 1 1 1 -1 -1\n")


def longest_queue(trace: pathlib.Path, waits: pathlib.Path) -> int:
    submits = {}
    with trace.open() as rows:
        for row in rows:
            if not row.startswith(";"):
                number, submit, _ = row.split(maxsplit=2)
                submits[int(number)] = int(submit)
    changes = []
    with waits.open() as rows:
        for row in rows:
            number, wait = map(int, row.split())
            if wait > 0:
                changes += [(submits[number], 1), (submits[number] + wait, -1)]
    return max(itertools.accumulate(change for _, change in sorted(changes)), default=0)


def configuration(path: pathlib.Path) -> None:
    path.write_text(f'[[node]]\nname = "n[1-{NODES}]"\ncpus = 64\nmemory = "256G"\ngpus = "a100:4"\n')


def sacct_of(swf: pathlib.Path, path: pathlib.Path) -> None:
    """The same jobs as a dump with memory and GPUs: every third job of one node has some."""
    with swf.open() as rows, path.open("w") as out:
        out.write("JobIDRaw|User|Account|Submit|ElapsedRaw|TimelimitRaw|AllocTRES\n")
        for row in rows:
            if row.startswith(";"):
                continue
            number, submit, _, runs, width, _, _, _, asks, *rest = map(int, row.split())
            nodes = max(1, width // 64)
            gpus = 1 + number % 4 if width <= 64 and number % 3 == 0 else 0
            tres = f"cpu={width},mem={width * 3}G,node={nodes}" + (f",gres/gpu:a100={gpus}" if gpus else "")
            when = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(1_700_000_000 + submit))
            out.write(f"{number}|u{rest[2]}|a{rest[2] % 20}|{when}|{runs}|{asks // 60}|{tres}\n")


def replay_seconds(minke: pathlib.Path, *arguments) -> float:
    """Time of the replays alone, as the program says it; reading the trace is not part of it."""
    answer = require(subprocess.run([minke, "simulate", *map(str, arguments), "--json"], capture_output=True, text=True))
    return sum(one["replay_seconds"] for one in json.loads(answer.stdout)["policies"])


def accasim_seconds(trace: pathlib.Path, system: pathlib.Path, results: pathlib.Path) -> float:
    if not ACCASIM.exists():
        require(subprocess.run([sys.executable, "-m", "venv", ACCASIM], capture_output=True, text=True))
        require(subprocess.run([ACCASIM / "bin/pip", "install", "-q", "accasim==1.1.3"], capture_output=True, text=True))
    done = require(subprocess.run([ACCASIM / "bin/python", "-c", REPLAY, trace, system, results], capture_output=True,
                                  text=True, timeout=1800))
    return float(done.stdout.split()[-1])


def measure(context: Context, report: Report) -> None:
    minke = context.options.minke.resolve()
    jobs = context.options.simulated_jobs
    ACCASIM.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=ACCASIM.parent) as name:
        folder = pathlib.Path(name)
        configuration(folder / "minke.toml")
        write_trace(folder / "large.swf", jobs, NODES * 64)
        sacct_of(folder / "large.swf", folder / "large.txt")
        seconds = replay_seconds(minke, folder / "large.txt", "--config", folder / "minke.toml")
        report.sample("replay, EASY, placed on nodes: jobs/s", jobs / seconds)
        report.limit(f"replay of {jobs:,} jobs placed on {NODES} nodes, EASY", "replay, EASY, placed on nodes: jobs/s", "jobs/s",
                     100_000, at_least=True)
        write_trace(folder / "half.swf", jobs // 2, 240, load=0.97)
        report.sample("replay, conservative: s", replay_seconds(minke, folder / "half.swf", "--policy", "conservative"))
        report.limit(f"replay of {jobs // 2:,} jobs, conservative", "replay, conservative: s", "s", 60)

        deep = folder / "deep.swf"
        write_deep_trace(deep, jobs // 2)
        seconds = replay_seconds(minke, deep, "--policy", "conservative", "--waits", folder / "waits")
        report.sample("replay, conservative, long queue: s", seconds)
        report.sample("replay, conservative: most jobs in the queue", longest_queue(deep, folder / "waits"))
        report.limit(f"replay of {jobs // 2:,} jobs, conservative, long queue", "replay, conservative, long queue: s", "s", 60)

        small = min(jobs, 5000)
        write_trace(folder / "small.swf", small, NODES * 64)
        (folder / "system.json").write_text(json.dumps(
            {"groups": {"g0": {"core": 64}}, "resources": {"g0": NODES},
             "equivalence": {"processor": {"core": 1}}, "start_time": 0}))
        (folder / "results").mkdir()
        report.sample("replay as AccaSim's, Minke: jobs/s",
                      small / replay_seconds(minke, folder / "small.swf", "--config", folder / "minke.toml"))
        try:
            report.sample("replay, AccaSim: jobs/s",
                          small / accasim_seconds(folder / "small.swf", folder / "system.json", folder / "results"))
        except (RuntimeError, subprocess.SubprocessError) as problem:
            return report.skip("AccaSim", str(problem)[-300:])
        report.compare(f"replay of {small:,} jobs, EASY", "replay as AccaSim's, Minke: jobs/s", "replay, AccaSim: jobs/s",
                       "AccaSim", "jobs/s", budget=50)
