"""The Python package `minke` on real Slurms: what a program sees there is what it sees on Minke (tests/test_python_package.py).

In a tree of another Debian, which has no Python, the programs and jobs run this machine's, with its own libraries.
"""
import os
import pathlib
import signal
import subprocess
import threading

import pytest

from cluster import PATIENCE, ROOT
from processes import children_of
from releases import RELEASES, Unavailable, program_missing
from systems import AccountedSlurm
from test_python_package import KILLED, TOUR

pytestmark = pytest.mark.timeout(900)
HOST = "/mnt"  # where this machine's files are seen in a tree
PYTHON = f"""#!/bin/sh
export PYTHONHOME={HOST}/usr PYTHONDONTWRITEBYTECODE=1
exec {HOST}/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2 --library-path {HOST}/usr/lib/x86_64-linux-gnu:{HOST}/lib/x86_64-linux-gnu {HOST}/usr/bin/python3 "$@"
"""


def pytest_generate_tests(metafunc):
    """Those that --slurm names; without it the one that starts here. With `-n`, use `--dist loadgroup`."""
    if "release" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--slurm").split(",")
        if len(wanted) < 3:
            wanted = wanted[-1:]
        metafunc.parametrize("release", [pytest.param(one, marks=pytest.mark.xdist_group(f"package-{one}"))
                                         for one in RELEASES if one in wanted], scope="module")


class Site:
    """A user's shell on a node of that Slurm."""

    def __init__(self, slurm: AccountedSlurm, directory: pathlib.Path):
        self.slurm, self.directory = slurm, directory
        self.python = directory / "python"
        self.python.write_text(PYTHON if slurm.namespace else '#!/bin/sh\nexec /usr/bin/python3 "$@"\n')
        self.python.chmod(0o755)
        self.package = f"{HOST if slurm.namespace else ''}{ROOT}/python"
        if slurm.namespace:
            there = ["nsenter", "-t", str(slurm.namespace.first), "-m", "--", "mount", "--rbind", "/", f"{slurm.namespace.tree}{HOST}"]
            subprocess.run(there, check=True)
        self.environment = slurm.environment | {"PYTHONPATH": self.package, "MINKE_PYTHON": str(self.python),
                                                "HOME": str(directory), "MINKE_JOBS_DIR": str(directory / "jobs"), "USER": "root"}

    def words(self, *command: str) -> list[str]:
        return self.slurm.namespace.words(*command, directory=str(self.directory)) if self.slurm.namespace else list(command)

    def run(self, program: pathlib.Path, *arguments: str) -> str:
        words = self.words("timeout", "--foreground", "-k", "1", str(120 * PATIENCE), str(self.python), str(program), *arguments)
        done = subprocess.run(words, env=self.environment, cwd=self.directory, capture_output=True, text=True, timeout=130 * PATIENCE)
        assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
        return done.stdout


@pytest.fixture(scope="module")
def site(release, tmp_path_factory):
    if missing := None if not RELEASES[release].installed else program_missing():
        pytest.skip(f"{missing} is not installed")
    try:
        slurm = AccountedSlurm(release=release, settings=("MessageTimeout=5",))
        slurm.__enter__()
    except Unavailable as why:
        pytest.skip(str(why))
    try:
        yield Site(slurm, tmp_path_factory.mktemp("site"))
        slurm.command("scancel", "--me", "-Q")
    finally:
        slurm.__exit__(None, None, None)


@pytest.mark.parametrize("part", list(TOUR))
def test_what_a_program_sees(site, part):
    program = site.directory / "package_tour.py"
    program.write_text((ROOT / "tests/package_tour.py").read_text())
    assert site.run(program, part) == TOUR[part]


def test_a_killed_program_finds_its_jobs_again(site):
    program = site.directory / "killed.py"
    program.write_text(KILLED)
    first = subprocess.run(site.words(str(site.python), str(program), "die"), env=site.environment, cwd=site.directory, capture_output=True,
                           text=True, timeout=60 * PATIENCE)
    assert first.returncode != 0 and first.stdout == "", first.stderr
    assert site.run(program, "again") == "found 7\n"
    assert site.slurm.command("squeue", "--me", "-h", "--states=all", "-n", "seven").stdout.count("\n") == 1


def test_a_slurmctld_that_stands_still_gets_nothing_twice(site):
    """What is sent meanwhile lies in its socket: it may be read, and be accepted, when sbatch has given up."""
    program = site.directory / "stands.py"
    program.write_text("import minke\nprint(minke.Cluster(period=0.5).submit('echo once', job_name='still', time=5).result(120))\n")
    pid = next(one.pid for one in site.slurm.daemons if any("slurmctld" in word for word in one.args))
    inside = children_of(pid) if site.slurm.namespace else []
    pid = inside[0] if inside else pid
    os.kill(pid, signal.SIGSTOP)
    going_on = threading.Timer(9, os.kill, (pid, signal.SIGCONT))
    going_on.start()
    try:
        assert site.run(program) == "once\n\n"
    finally:
        going_on.join()
    assert site.slurm.command("squeue", "--me", "-h", "--states=all", "-n", "still").stdout.count("\n") == 1
