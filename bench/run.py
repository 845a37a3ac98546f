#!/usr/bin/env python3
"""Measures Minke beside what else runs jobs on one machine: xargs, GNU parallel, task-spooler and a real Slurm.

Everything that is compared is measured in the same run, taking turns; of the repeats the median counts. A budget that
is missed is printed as a MISS. The table and every sample go to bench/results/ as JSON.
"""
import argparse
import pathlib
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from context import Context  # noqa: E402
from parts import (array, confinement, core, environments, farm, memory, on_slurm, passes, portal, rest, sacct, search,  # noqa: E402
                   simulate, singles, squeue, srun, storage, submit, under_attack)
from report import Report  # noqa: E402

PARTS = (array, farm, confinement, singles, srun, squeue, on_slurm, sacct, submit, rest, memory, core, passes, simulate,
         storage, environments, portal, search, under_attack)
PEERS = ("xargs", "parallel", "tsp", "slurm")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART",
                        help="what to measure (default: all): " + " ".join(part.NAME for part in PARTS))
    parser.add_argument("--minke", type=pathlib.Path, default=pathlib.Path("build/minke"))
    parser.add_argument("--peers", type=lambda text: text.split(","), default=list(PEERS), help=",".join(PEERS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=5000, help="batch jobs that do nothing")
    parser.add_argument("--slurm-jobs", type=int, default=500, help="the same for Slurm, whose rate is compared")
    parser.add_argument("--steps", type=int, default=500, help="srun true in one allocation")
    parser.add_argument("--slurm-steps", type=int, default=100)
    parser.add_argument("--queued", type=int, default=100_000, help="jobs in the queue that squeue shows")
    parser.add_argument("--slurm-queued", type=int, default=100_000, help="jobs that wait in a Slurm with 10,000 nodes")
    parser.add_argument("--finished-jobs", type=int, default=1_000_000, help="jobs in the record that sacct reads")
    parser.add_argument("--submissions", type=int, default=200, help="sbatch calls that are timed")
    parser.add_argument("--memory-jobs", type=int, default=200_000)
    parser.add_argument("--core-jobs", type=int, default=1_000_000, help="largest array with launching stubbed")
    parser.add_argument("--simulated-jobs", type=int, default=1_000_000, help="jobs of the largest replay")
    parser.add_argument("--small-files", type=int, default=200_000, help="files of the tree that storage works on")
    parser.add_argument("--large-file-mib", type=int, default=1024, help="size of each of its two large files")
    parser.add_argument("--farm-cases", type=int, default=100_000, help="cases of a farm that do nothing")
    parser.add_argument("--large-farm-cases", type=int, default=1_000_000, help="cases of a farm whose memory is measured")
    parser.add_argument("--rest-seconds", type=int, default=20)
    parser.add_argument("--attack-seconds", type=int, default=60, help="how long each attack lasts")
    parser.add_argument("--quick", action="store_true", help="a tenth of everything, once: a look, not a measurement")
    parser.add_argument("--strict", action="store_true", help="exit with 1 where a budget is missed")
    options = parser.parse_args()
    unknown = set(options.parts) - {part.NAME for part in PARTS}
    if unknown:
        parser.error(f"no part is called {', '.join(sorted(unknown))}")
    if options.quick:
        options.repeats = 1
        options.attack_seconds = min(options.attack_seconds, 5)
        for name in ("jobs", "slurm_jobs", "steps", "slurm_steps", "queued", "slurm_queued", "submissions", "memory_jobs", "core_jobs",
                     "finished_jobs", "farm_cases", "large_farm_cases", "small_files", "large_file_mib"):
            setattr(options, name, max(20, getattr(options, name) // 10))

    report = Report()
    context = Context(options, report)
    broken = []
    for part in PARTS:
        if options.parts and part.NAME not in options.parts:
            continue
        print(f"== {part.NAME}: {part.__doc__.strip().splitlines()[0]}", flush=True)
        try:
            part.measure(context, report)
        except Exception as problem:  # one part that fails must not cost the others
            traceback.print_exc()
            report.skip(part.NAME, f"it failed: {problem}")
            broken.append(part.NAME)
    print("\n" + report.table())
    plain = {name: str(value) if isinstance(value, pathlib.Path) else value for name, value in vars(options).items()}
    print(f"written to {report.write(plain)}")
    missed = any(line.passed is False for line in report.comparisons)
    return 1 if broken or (options.strict and missed) else 0


if __name__ == "__main__":
    sys.exit(main())
