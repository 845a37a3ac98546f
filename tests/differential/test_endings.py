"""How jobs and steps end that the kernel, a limit or a signal stops, on a real Slurm that holds them in control groups
and on Minke: state, reason, exit codes, and what their scripts see of it."""
import os
import pathlib
import re
import signal
import subprocess

import pytest

from cluster import HOG, Cluster, Commands, LoopbackSlurm, Machine, plain_environment, poll
from systems import missing_program

MINKE_ONLY = True
pytestmark = [pytest.mark.xdist_group("endings"),
              pytest.mark.skipif(os.geteuid() != 0, reason="control groups take root"),
              pytest.mark.skipif(not pathlib.Path("/sys/fs/cgroup/memory").is_dir(),
                                 reason="this Slurm is held in groups of version 1"),
              pytest.mark.skipif(missing_program() is not None, reason=f"{missing_program()} is not installed")]

MACHINE = Machine(nodes=2, cpus=2, memory=2000, kill_wait=1)


class HoldingSlurm(LoopbackSlurm):
    """Jobs and steps are held to their memory."""
    cgroup_configuration = ("CgroupAutomount=no\nCgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n"
                            "ConstrainRAMSpace=yes\n")

    def configuration(self) -> str:
        return super().configuration().replace("TaskPlugin=task/none", "TaskPlugin=task/cgroup")


class Slurm(Commands):
    def __init__(self):
        self.slurm = HoldingSlurm(cpus=4, nodes=2, memory=2000, extra="KillWait=1\nOverTimeLimit=0").__enter__()
        self.work = self.slurm.directory / "work"
        self.work.mkdir()
        self.environment = plain_environment() | {"SLURM_CONF": self.slurm.environment["SLURM_CONF"]}

    def close(self):
        self.run("scancel", "--me")
        self.slurm.__exit__(None, None, None)


@pytest.fixture(scope="module")
def systems(tmp_path_factory):
    minke = Cluster(tmp_path_factory.mktemp("endings"), MACHINE)
    slurm = Slurm()
    for one in (minke, slurm):
        (one.work / "hog").write_text(HOG)
        (one.work / "hog").chmod(0o755)
    yield minke, slurm
    minke.close()
    slurm.close()


def plain(text: str) -> list[str]:
    """Without what names paths, processes and nodes in each system's own way; the words of the two versions of the
    message on memory are one. Sorted: a program and its supervisor write side by side."""
    text = re.sub(r"\S*slurmstepd(-n\d)?: error: Detected (\d+) oom[-_]kill event(\(s\))? in StepId=\d+\.(\w+)\. .*",
                  r"OOM \2 \4", text)
    text = re.sub(r"^\S*slurm_script: line (\d+): +\d+ Killed .*", r"script: line \1: Killed", text, flags=re.M)
    text = re.sub(r"slurmstepd(-n\d)?: error: ", "slurmstepd: error: ", text)
    text = re.sub(r"\S+/(slurm_script|no-such-command)", r"\1", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:]{8}", "TIME", text)
    text = re.sub(r"(JOB|STEP) \d+", r"\1 JOB", text)
    # Slurm says that a step was cancelled in some runs only.
    return sorted(line for line in text.splitlines() if "*** STEP" not in line)


# The older version has no reason of its own for a script that a signal ended.
REASONS = {"JobLaunchFailure": "RaisedSignal"}


def how(fields: dict) -> tuple:
    reason = fields["Reason"].split(":")[0]  # newer ones name the signal behind it
    return fields["JobState"], REASONS.get(reason, reason), fields["ExitCode"]


def stopped(fields: dict) -> dict:
    """Who of several processes gets its signal first differs from run to run: a script may itself be ended, or still tell how
    what it waited for was, as a shell does."""
    code = int(fields["ExitCode"].split(":")[0])
    return fields | ({"ExitCode": f"0:{code - 128}"} if code in (128 + signal.SIGTERM, 128 + signal.SIGKILL) else {})


def ended(system, script: str, options: list[str], after=None) -> tuple:
    job = system.submit(script, *options)
    if after:
        system.wait_state(job, "RUNNING")
        poll(lambda: (system.work / f"slurm-{job}.out").exists() and
             "begun" in (system.work / f"slurm-{job}.out").read_text(), 20, "the script's first line")
        after(system, job)
    fields = system.wait_end(job, seconds=120)
    return how(stopped(fields) if after else fields), plain(system.output(job))


def scancel(*options):
    return lambda system, job: system.run("scancel", *options, job)


# Without processes that the same signal reaches in another order.
SCRIPTS = {
    "a script that goes on": ("./hog 200\necho went on $?", ["--mem=50M"]),
    "a script with an exit code of its own": ("./hog 200; exit 3", ["--mem=50M"]),
    "in the background": ("./hog 200 & wait; exit 0", ["--mem=50M"]),
    "within the limit": ("./hog 40; echo $?", ["--mem=100M"]),
    "a step": ("srun ./hog 200 || echo it failed", ["--mem=50M"]),
    "a step's own limit": ("srun --mem=40M ./hog 80 || echo it failed; ./hog 80", ["--mem=150M"]),
    "the script ends with its step": ("set -e\nsrun ./hog 200\necho not reached", ["--mem=50M"]),
    "cancelled": ("echo begun; exec sleep 100", [], scancel()),
    "cancelled, with a trap": ("trap 'echo trapped; exit 7' TERM; echo begun; while :; do :; done", [],
                               scancel("--full")),
    "killed": ("echo begun; exec sleep 100", [], scancel("--signal=KILL", "--batch")),
    "told to end": ("trap 'echo trapped; exit 7' TERM; echo begun; while :; do :; done", [],
                    scancel("--signal=TERM", "--batch")),
    "a signal that it dies of": ("echo begun; exec sleep 100", [], scancel("--signal=USR1", "--batch")),
    "cancelled step": ("srun bash -c 'echo begun; exec sleep 100'; echo $?", [],
                       lambda system, job: system.run("scancel", f"{job}.0", check=0)),
    "a signal to itself": ("kill -SEGV $$", []),
    "a code beyond": ("exit 300", []),
    "no such command": ("no-such-command", []),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_script(systems, name):
    minke, slurm = systems
    if name in ("a script that goes on",) and minke.run("minke", "doctor").stdout.find("confined by control") < 0:
        pytest.skip("no control groups for Minke here")
    assert ended(minke, *SCRIPTS[name]) == ended(slurm, *SCRIPTS[name])


COMMANDS = {
    "beyond its memory": ["srun", "--mem=50M", "./hog", "200"],
    "beyond its memory in an allocation": ["salloc", "-Q", "--mem=50M", "srun", "./hog", "200"],
    "one of two": ["srun", "-n2", "-N2", "--mem=60M", "bash", "-c",
                   "if [ $SLURM_PROCID = 1 ]; then exec ./hog 200; fi; sleep 2; echo well"],
    "killed": ["srun", "bash", "-c", "kill -KILL $$"],
    "an exit code": ["srun", "-n2", "bash", "-c", "exit $((3 + SLURM_PROCID))"],
    "no such command": ["srun", "./no-such-command"],
}


@pytest.mark.parametrize("name", COMMANDS)
def test_command(systems, name):
    answers = []
    for system in systems:
        poll(lambda system=system: not system.queue(), 60, "idle nodes")  # the tasks are on the first of them
        done = system.run(*COMMANDS[name])
        answers.append((done.returncode, done.stdout, plain(done.stderr)))
    assert answers[0] == answers[1]


@pytest.mark.timeout(1800)
def test_time_limit(systems):
    """The shortest is a minute: all of them side by side."""
    scripts = {"plain": "exec sleep 300", "trap": "trap 'echo trapped' TERM\nsleep 300 & wait; echo after; sleep 300",
               "exits": "trap 'exit 0' TERM\nsleep 300 & wait", "step": "srun sleep 300"}
    jobs = [[system.submit(text, "--time=1", "--mem=50M") for text in scripts.values()] for system in systems]
    seen = []
    for system, numbers in zip(systems, jobs):
        of_system = {}
        for name, job in zip(scripts, numbers):
            fields = system.wait_end(job, seconds=150)
            # What is still said differs from run to run.
            of_system[name] = how(stopped(fields)), plain(system.output(job)) if name == "plain" else None
        seen.append(of_system)
    assert seen[0] == seen[1]
