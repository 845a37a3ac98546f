"""Minke for an ordinary user on real Slurms, as he has it: one program, no root. What slurmctld is asked is what it has
counted itself (sdiag, by user); and each command that needs no scheduler works."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time

import pytest

from cluster import PATIENCE, ROOT, poll
from releases import RELEASES, Unavailable
from systems import AccountedSlurm

MINKE_ONLY = True
pytestmark = [pytest.mark.timeout(900), pytest.mark.skipif(os.getuid() != 0, reason="asks as another user")]
USER, UID, GID = "games", 5, 60  # each Debian has it
PERIOD = 30  # seconds for which an answer is used


def pytest_generate_tests(metafunc):
    """Those that --slurm names, in trees of their own. With `-n`, use `--dist loadgroup`."""
    if "release" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--slurm").split(",")
        metafunc.parametrize("release", [pytest.param(one, marks=pytest.mark.xdist_group(f"slurm-{one}"))
                                         for one in RELEASES if one in wanted and not RELEASES[one].installed], scope="module")


class Ordinary:
    """His shell on a login node."""

    def __init__(self, slurm: AccountedSlurm):
        self.slurm = slurm
        slurm.directory.chmod(0o711)
        slurm.command("sacctmgr", "-i", "add", "account", "lab")
        slurm.command("sacctmgr", "-i", "add", "user", USER, "account=lab")
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-manners-"))
        self.directory.chmod(0o755)
        for name in ("home", "run"):
            (self.directory / name).mkdir(mode=0o700)
            os.chown(self.directory / name, UID, GID)
        shutil.copy(os.environ.get("MINKE", ROOT / "build/minke"), self.directory / "minke")

    def run(self, script: str, code: int | None = 0) -> str:
        words = ["setpriv", f"--reuid={UID}", f"--regid={GID}", "--clear-groups", "env", "-i", f"HOME={self.directory}/home",
                 f"XDG_RUNTIME_DIR={self.directory}/run", f"SLURM_CONF={self.slurm.environment['SLURM_CONF']}",
                 f"PATH={self.directory}:/usr/sbin:/usr/bin:/sbin:/bin", "TZ=UTC", "timeout", "--foreground", str(120 * PATIENCE), "bash", "-c", script]
        done = subprocess.run(self.slurm.namespace.words(*words, directory=f"{self.directory}/home"), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert code is None or done.returncode == code, f"{script}: {done.returncode}\n{done.stdout}"
        return done.stdout

    def asked(self) -> int:
        """How many requests of his slurmctld has had."""
        told = self.slurm.command("sdiag").stdout.split("statistics by user")[1].split("\n\n")[0]
        found = re.search(rf"{USER}\s*\(\s*{UID}\)\s*count:(\d+)", told)
        return int(found[1]) if found else 0

    def forget(self) -> None:
        """As if the answers' period were over."""
        shutil.rmtree(self.directory / "run/minke-slurm", ignore_errors=True)


@pytest.fixture(scope="module")
def ordinary(release):
    try:
        slurm = AccountedSlurm(release=release)
        slurm.__enter__()
    except Unavailable as why:
        pytest.skip(str(why))
    one = Ordinary(slurm)
    try:
        yield one
        slurm.command("scancel", "-u", USER)
    finally:
        for daemon in slurm.daemons:
            daemon.kill()
        slurm.__exit__(None, None, None)
        shutil.rmtree(one.directory, ignore_errors=True)


@pytest.fixture(scope="module")
def jobs(ordinary):
    """One that runs, one that is held, one that has ended."""
    numbers = ordinary.run("for rest in \"-c 2 --wrap 'sleep 600'\" '--hold --wrap true' \"--wrap 'sleep 1; exit 3'\"; do eval sbatch --parsable -o /dev/null -t 5 $rest; done").split()
    poll(lambda: "FAILED" in ordinary.run(f"sacct -n -X -j {numbers[2]} -o state"), 60, "its record")
    poll(lambda: ordinary.run(f"squeue -h -j {numbers[0]} -o %t").strip() == "R", 60, "a start")
    return numbers


KINDS = 9  # jobs, nodes, partitions, configuration and the like
WHY = ("why {1}", "why {0}", "why --json {1}")
OTHERS = ("squeue", "sq", "jobs", "sinfo", "scontrol show job {0}", "scontrol show nodes", "scontrol show partition", "top --once", "top --json",
          "estimate 8B", "data advise .", "stage --to staged file", "runs", "seff {2}", "sacct -X")


def test_a_hundred_commands_cost_slurmctld_one_query_of_each_kind(ordinary, jobs):
    ordinary.run("echo x >file")
    for all_of_them in (WHY, OTHERS):
        commands = [f"minke {command.format(*jobs)}" for command in all_of_them]
        ordinary.forget()
        before, began = ordinary.asked(), time.monotonic()
        for command in commands:
            ordinary.run(command)
        once = ordinary.asked() - before
        assert once <= KINDS, once
        # As many as they may be in a minute; here as fast as they come.
        ordinary.run("\n".join((commands * 100)[:99]))
        periods = 1 + int((time.monotonic() - began) / PERIOD)
        assert ordinary.asked() - before <= once * periods, (ordinary.asked() - before, once, periods)


WORKS = {
    "doctor": "slurmctld answers", "env": "export PATH", "why {1}": "It is held", "sq": "{0}", "squeue -h -o %i": "{0}", "sinfo": "main",
    "scontrol show job {0}": "UserId=games(5)", "scontrol show licenses": "matlab", "top --once": "{0}", "seff {2}": "FAILED (exit code 3)",
    "sacct -n -X": "{2}", "simulate cluster --json --policy fcfs": '"policy"', "jobs": "{0}", "estimate 8B": "GPU", "data advise set": "1 file",
    "pack -q --format tar set": "", "data list set.tar": "set/a", "stage --to staged set.tar": "set.tar -> ", "cp set copy": "", "avail_wheels": "name",
    "runs": "", "man sbatch": ".TH sbatch", "sbatch --test-only --wrap true": "to start at", "sbatch --hold --wrap true": "Submitted batch job",
    "chain --total 1h --each 10m --hold work.sh": "Submitted batch job", "scontrol hold {1}": "", "scontrol release {1}": "", "sqjobs": "jobid",
    "srun -t 1 hostname": "", "sshare": "lab", "sacctmgr -nP show assoc format=user": USER, "sdiag": "sdiag output", "sstat {0}": "JobID",
    "scontrol write batch_script {1} -": "true", "squeue --json": '"jobs"', "scancel {0}": ""}


def test_what_a_user_needs_works(ordinary, jobs):
    ordinary.run("mkdir -p set && echo x >set/a && printf '#!/bin/sh\\ntrue\\n' >work.sh")
    poll(lambda: (ordinary.forget(), jobs[0] in ordinary.run("minke top --once"))[1], 60, "what it uses")
    for command, words in WORKS.items():
        assert words.format(*jobs) in ordinary.run(f"minke {command.format(*jobs)}"), command
    # What he has changed he sees at once.
    assert jobs[0] not in ordinary.run("minke squeue -h -t R -o %i; minke top --once").split()


@pytest.fixture
def private(ordinary):
    """Changes slurm.conf, and asks anew afterwards."""
    conf = pathlib.Path(ordinary.slurm.environment["SLURM_CONF"])
    before = conf.read_text()

    def change(lines: str) -> None:
        conf.write_text(before + lines)
        ordinary.slurm.command("scontrol", "reconfigure")
        poll(lambda: ordinary.slurm.command("scontrol", "ping").stdout.count("is UP"), 60, "slurmctld")
        ordinary.forget()
    yield change
    change("")


def test_what_a_user_may_not_see_is_named_and_all_else_goes_on(ordinary, jobs, private):
    runs = ordinary.run("sbatch --parsable -w n5 --exclusive -t 50 -o /dev/null --wrap 'sleep 600'").strip()
    poll(lambda: ordinary.run(f"squeue -h -j {runs} -o %t").strip() == "R", 60, "a start")
    private("PrivateData=jobs,nodes,partitions,reservations,usage,users,accounts\n")
    refused = ordinary.run("scontrol show nodes", code=None)
    assert "Access/permission denied" in refused, refused
    held = ordinary.run("sbatch --parsable --hold -o /dev/null --wrap true").strip()
    ordinary.forget()
    told = ordinary.run(f"minke why {held}")
    assert "It is held" in told, told
    waits = ordinary.run("sbatch --parsable -w n1,n2,n3,n4,n5 --exclusive -t 5 -o /dev/null --wrap true").strip()
    poll(lambda: ordinary.run(f"squeue -h -j {waits} -o %r 2>/dev/null").strip() in ("Resources", "Priority"), 60, "a reason")
    ordinary.forget()
    told = ordinary.run(f"minke why {waits}")
    assert "When it will start cannot be said" in told and "nodes: this cluster does not show them to you (PrivateData)" in told, told
    ordinary.run(f"scancel {waits} {held} {runs}")
    told = ordinary.run("minke simulate cluster --policy fcfs")
    assert "does not show you its nodes (PrivateData)" in told and "fcfs" in told, told
    assert "slurm_load_partitions: Access/permission denied\n" == ordinary.run("minke sinfo", code=1)
    for command in ("squeue", "sq", "top --once", f"seff {jobs[2]}", "sacct -X", "sbatch --hold -o /dev/null --wrap true"):
        ordinary.run(f"minke {command}")


def test_partitions_that_are_hidden(ordinary, private):
    """Their jobs hold nodes, too; they are shown to who asks for them, as by Slurm's own commands."""
    private("PartitionName=hid Nodes=n5 Hidden=YES State=UP\nPartitionName=club Nodes=n5 AllowGroups=root State=UP\n")
    job = ordinary.run("sbatch --parsable -p hid -w n5 --exclusive -t 50 -o /dev/null --wrap 'sleep 600'").strip()
    poll(lambda: ordinary.run(f"squeue -a -h -j {job} -o %t").strip() == "R", 60, "a start")
    waits = ordinary.run("sbatch --parsable -w n5 --exclusive -t 5 -o /dev/null --wrap true").strip()
    poll(lambda: ordinary.run(f"squeue -h -j {waits} -o %r").strip() != "None", 60, "a reason")
    ordinary.forget()
    for words in ("squeue -h -o %i", "squeue -h -a -o %i", f"squeue -h -j {job} -o %i", "sinfo -h -o %P", "sinfo -h -p hid -o %P"):
        assert sorted(ordinary.run(words).split()) == sorted(ordinary.run(f"minke {words}").split()), words
    assert f"Job {job}" in ordinary.run(f"minke why {job}")
    told = ordinary.run(f"minke why {waits}")
    assert f"{job} of games" in told and "not shown" not in told, told
    names = lambda command: re.findall(r"PartitionName=(\S+)", ordinary.run(command))
    assert names("scontrol show partition") == names("minke scontrol show partition")
    ordinary.run(f"scancel {job} {waits}")


@pytest.mark.parametrize("token, said", (("e30.eyJleHAiOjEwMH0.c2VhbA", "the token in SLURM_JWT has run out (1970-01-01T00:01:40)"), ("garbage", "what SLURM_JWT has is no token")))
def test_a_token_that_is_not_believed_is_named(ordinary, token, said):
    if not any(RELEASES[ordinary.slurm.release.version].tree.rglob("auth_jwt.so")):
        pytest.skip("this tree of Slurm has no auth/jwt")
    ordinary.forget()
    for command in ("squeue", "sinfo", "why 1", "sbatch --wrap true", "seff 1"):
        told = ordinary.run(f"SLURM_JWT={token} minke {command}", code=1)
        assert said in told, (command, told)
    told = ordinary.run(f"SLURM_JWT={token} minke doctor", code=None)
    assert said in told and "munge: its key" not in told and "-> unset SLURM_JWT" in told, told
    ordinary.forget()
