"""Python environments in jobs: the lines of the clusters' guides, beside the same with plain pip."""
import os
import pathlib
import subprocess
import time

from peers.minke import Minke

NAME = "environments"
GUIDE = """#!/bin/bash
module load python/3.11
begin=$EPOCHREALTIME
virtualenv -q --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
pip install -q --no-index --upgrade pip
pip install -q --no-index PACKAGES
end=$EPOCHREALTIME
python -c 'import numpy, pandas, sklearn, matplotlib' || exit 1
echo "took $(( (${end/./} - ${begin/./}) / 1000 ))"
"""
PACKAGES = "numpy pandas scikit-learn matplotlib"


def measure(context, report) -> None:
    if not pathlib.Path("/usr/share/lmod/lmod").is_dir():
        report.skip("environments", "Lmod is not installed")
        return
    with Minke(context.options.minke) as minke:
        (minke.directory / "me").mkdir()
        environment = {name: value for name, value in minke.environment.items()
                       if not name.startswith(("LMOD", "MODULE", "PIP_FIND_LINKS", "PIP_CONFIG"))}
        environment["HOME"] = str(minke.directory / "me")

        def run(*command: str) -> str:
            done = subprocess.run(command, env=environment, cwd=minke.directory, capture_output=True, text=True)
            if done.returncode != 0:
                raise RuntimeError(f"{command}: {done.stderr[-1000:]}")
            return done.stdout

        def job(text: str, **variables: str) -> float:
            (minke.directory / "job.sh").write_text(text)
            run("sbatch", "--wait", "-o", "job.out", "--export=ALL" + "".join(f",{k}={v}" for k, v in variables.items()),
                "job.sh")
            output = (minke.directory / "job.out").read_text()
            if "took" not in output:
                raise RuntimeError(output[-1000:])
            return int(output.split("took")[1]) / 1000

        def empty_jobs(count: int) -> float:
            begin = time.monotonic()
            run("sbatch", "--wait", f"--array=1-{count}", "-o", os.devnull, "--wrap", "true")
            return (time.monotonic() - begin) / count

        # What every job pays for modules that it does not use.
        for _ in range(context.options.repeats):
            report.sample("empty job without modules", empty_jobs(100) * 1000)
        run("minke", "software", "scan")
        for _ in range(context.options.repeats):
            report.sample("empty job with modules set up", empty_jobs(100) * 1000)
        report.compare("an empty job, modules set up", "empty job with modules set up", "empty job without modules", "without", "ms",
                       smaller_is_better=True)
        more = report.median("empty job with modules set up") - report.median("empty job without modules")
        report.sample("modules that are not used", max(0.0, more))
        report.limit("what modules cost a job that has no use for them", "modules that are not used", "ms", 50)
        try:
            run("minke", "wheels", "add", "--python", "3.11", *PACKAGES.split())
        except RuntimeError as problem:
            report.skip("environments", f"the wheels cannot be fetched: {str(problem)[-200:]}")
            return
        guide = GUIDE.replace("PACKAGES", PACKAGES)
        for _ in range(context.options.repeats):
            report.sample("environment, plain pip", job(guide, MINKE_PIP="plain"))
        report.sample("environment, the first", job(guide))
        for _ in range(context.options.repeats):
            report.sample("environment, linked", job(guide))
        report.compare("an environment of " + PACKAGES, "environment, linked", "environment, plain pip", "pip", "s",
                       smaller_is_better=True)
        report.limit("the same, in seconds", "environment, linked", "s", 2)
