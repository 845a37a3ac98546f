"""kill -9 at any moment: what was acknowledged runs once, ends with its own exit code, and is told truly."""
import collections
import contextlib
import os
import random
import re
import signal
import sqlite3
import threading
import time

import pytest

from cluster import poll, written
from processes import has_ended

MINKE_ONLY = True
SHORT, LONG, KILLS = 500, 4, 100

# Each run leaves one line, "NUMBER CODE", in a file of its own name and in its output.
SHORT_SCRIPT = """#!/bin/bash
echo "begin $1"
echo "$SLURM_JOB_ID" >> "runs/$1"
for i in 1 2 3 4 5 6 7 8 9 10; do echo "line $i of $1"; done
echo "end $1"
exit $(($1 % 7))
"""
LONG_SCRIPT = """#!/bin/bash
echo "$$" >> "long.$1"
trap 'exit 9' USR1
i=0
while [ ! -e finish ]; do i=$((i+1)); sleep 0.05; done
echo "was never disturbed"
"""


class Submitter(threading.Thread):
    """Submits jobs one after the other while the daemon is being killed. A job counts as acknowledged once its number was
    printed."""

    def __init__(self, cluster, script, numbers):
        super().__init__()
        self.cluster, self.script, self.numbers = cluster, script, numbers
        self.acknowledged: dict[int, int] = {}
        self.problems: list[str] = []

    def run(self):
        for number in self.numbers:
            done = self.cluster.run("sbatch", "--parsable", f"--output=out/{number}", self.script, number)
            if done.returncode == 0:
                self.acknowledged[number] = int(done.stdout)
            else:
                self.problems.append(done.stderr)


@pytest.mark.timeout(1800)
@pytest.mark.machine(nodes=1, cpus=8, memory=8000)
def test_daemon_killed_a_hundred_times(cluster):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    (cluster.work / "runs").mkdir()
    (cluster.work / "out").mkdir()
    long_script = cluster.script(LONG_SCRIPT, "long.sh")
    long_jobs = [cluster.sbatch("--mem=100M", long_script, index) for index in range(LONG)]
    for job in long_jobs:
        cluster.wait_state(job, "RUNNING")
    launcher = cluster.pid("launcher")

    script = cluster.script(SHORT_SCRIPT, "short.sh")
    submitters = [Submitter(cluster, script, range(part, SHORT, 2)) for part in range(2)]
    for submitter in submitters:
        submitter.start()
    kills = 0
    while kills < KILLS:
        time.sleep(chance.uniform(0, 0.15))
        if cluster.pid():
            cluster.kill()
            kills += 1
        if chance.random() < 0.5:
            cluster.run("squeue")  # else the next submission starts it again
    for submitter in submitters:
        submitter.join()

    acknowledged = {number: job for submitter in submitters for number, job in submitter.acknowledged.items()}
    assert [text for submitter in submitters for text in submitter.problems] == []
    assert len(acknowledged) == SHORT == len(set(acknowledged.values()))
    running = {str(job) for job in long_jobs}
    poll(lambda: {line.split()[0] for line in cluster.queue()} == running, 240, "the end of the short jobs")

    # Every one ran exactly once, with complete output.
    for number, job in acknowledged.items():
        assert (cluster.work / f"runs/{number}").read_text() == f"{job}\n"
        lines = (cluster.work / f"out/{number}").read_text().splitlines()
        assert lines == [f"begin {number}", *(f"line {i} of {number}" for i in range(1, 11)), f"end {number}"]
    assert len(list((cluster.work / "runs").iterdir())) == SHORT

    # The long ones were not disturbed, nor was the launcher.
    assert cluster.pid("launcher") == launcher
    for index in range(LONG):
        pid, = (cluster.work / f"long.{index}").read_text().split()
        assert not has_ended(int(pid))
    (cluster.work / "finish").touch()
    for job in long_jobs:
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"
        assert cluster.output(job) == "was never disturbed\n"

    # The record is true, and there is nothing else in it.
    told = {int(job): (state, code) for job, state, code in cluster.sacct("-X", "--duplicates")}
    expected = {job: ("COMPLETED" if number % 7 == 0 else "FAILED", f"{number % 7}:0") for number, job in acknowledged.items()}
    expected |= {job: ("COMPLETED", "0:0") for job in long_jobs}
    assert told == expected


@pytest.mark.timeout(1800)
@pytest.mark.machine(nodes=1, cpus=4, memory=4000)
def test_array_while_the_daemon_is_killed(cluster):
    (cluster.work / "runs").mkdir()
    job = cluster.submit("echo x >> runs/$SLURM_ARRAY_TASK_ID; exit $((SLURM_ARRAY_TASK_ID % 3))", "--array=0-299",
                         "--output=/dev/null")
    for _ in range(30):
        time.sleep(random.uniform(0, 0.1))
        cluster.kill()
        cluster.run("squeue", check=0)
    poll(lambda: cluster.queue() == [], 120, "the end of the array")
    assert collections.Counter(path.read_text() for path in (cluster.work / "runs").iterdir()) == {"x\n": 300}
    told = {row[0]: tuple(row[1:]) for row in cluster.sacct("-X", "-j", job)}
    assert told == {f"{job}_{i}": ("COMPLETED" if i % 3 == 0 else "FAILED", f"{i % 3}:0") for i in range(300)}


@pytest.mark.machine(nodes=1, cpus=4, memory=4000)
def test_daemon_killed_while_starts_cannot_be_stored(cluster):
    """The launcher knows of tasks that the store has not heard of. The array's last task, which runs under the
    array's own number, is found again before the others."""
    (cluster.work / "runs").mkdir()
    job = cluster.submit("echo x >> runs/$SLURM_ARRAY_TASK_ID; while [ ! -e finish ]; do sleep 0.05; done", "--array=0-2",
                         "--hold", "--cpus-per-task=1", "--mem=10")
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db", isolation_level=None, timeout=120)) as other:
        other.execute("BEGIN IMMEDIATE")
        release = cluster.start("scontrol", "release", job)
        poll(lambda: len(list((cluster.work / "runs").iterdir())) >= 2)
        cluster.kill()
        release.kill()
        release.communicate()
    cluster.run("squeue", check=0)
    (cluster.work / "finish").touch()
    cluster.run("scontrol", "release", job)
    poll(lambda: cluster.queue() == [])
    assert {path.name: path.read_text() for path in (cluster.work / "runs").iterdir()} == {str(i): "x\n" for i in range(3)}


@pytest.mark.timeout(1800)
@pytest.mark.machine(nodes=1, cpus=4, memory=4000)
def test_launcher_killed(cluster):
    """Running jobs may end as node failures and run again, as the policy says; none is lost, none runs beside itself."""
    (cluster.work / "runs").mkdir()
    alone = ('exec 9>>"lock.$1"; flock --nonblock 9 || { echo "beside itself" >> doubled; exit 1; }\n'
             'echo "$SLURM_JOB_ID" >> "runs/$1"\nsleep 0.$((RANDOM % 5))\nexit 0\n')
    script = cluster.script(alone)
    jobs = {number: cluster.sbatch("--requeue", f"--output=out.{number}", script, number) for number in range(60)}
    kept = {number: cluster.sbatch("--no-requeue", f"--output=out.{number}", script, number) for number in range(60, 80)}
    for _ in range(10):
        time.sleep(random.uniform(0.05, 0.3))
        cluster.kill("launcher")
        if random.random() < 0.5:
            cluster.kill()
        cluster.run("squeue", check=0)
        poll(lambda: cluster.pid("launcher"), 10, "another launcher")
    poll(lambda: cluster.queue() == [], 120, "the end of all jobs")
    assert not (cluster.work / "doubled").exists()
    for number, job in jobs.items():
        fields = cluster.job(job)
        assert fields["JobState"] == "COMPLETED", fields
        runs = (cluster.work / f"runs/{number}").read_text().split()
        assert set(runs) == {str(job)} and len(runs) <= int(fields["Restarts"]) + 1
    for number, job in kept.items():
        fields = cluster.job(job)
        assert fields["JobState"] in ("COMPLETED", "NODE_FAIL") and fields["Restarts"] == "0"
        assert not (cluster.work / f"runs/{number}").exists() or \
            (cluster.work / f"runs/{number}").read_text() == f"{job}\n"
    states = {int(row[0]): row[1] for row in cluster.sacct("-X")}
    assert set(states) == set(jobs.values()) | set(kept.values())


def test_step_goes_on_while_the_daemon_is_killed(cluster):
    step = cluster.start("srun", "sh", "-c", "touch started; while [ ! -e finish ]; do sleep 0.1; done; echo through; exit 5")
    poll(lambda: (cluster.work / "started").exists())
    for _ in range(3):
        cluster.kill()
        cluster.run("squeue", check=0)
    (cluster.work / "finish").touch()
    out, err = step.communicate(timeout=240)
    assert step.returncode == 5 and out == "through\n", err
    poll(lambda: cluster.queue() == [])


def test_steps_in_a_job_while_the_daemon_is_killed(cluster):
    job = cluster.submit("touch started; for i in $(seq 40); do srun sh -c \"echo $i\" || echo failed; done")
    poll(lambda: (cluster.work / "started").exists())
    for _ in range(10):
        time.sleep(random.uniform(0, 0.2))
        cluster.kill()
        cluster.run("squeue", check=0)
    text = cluster.output(job)
    assert text == "".join(f"{i}\n" for i in range(1, 41))


def test_step_that_ended_while_nothing_could_be_stored(cluster):
    """It is asked for again before its end is in the store: it does not run again."""
    step = cluster.start("srun", "sh", "-c", "echo x >> runs; while [ ! -e finish ]; do sleep 0.05; done; touch ended")
    poll(lambda: written(cluster.work / "runs"))
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db", isolation_level=None, timeout=120)) as other:
        other.execute("BEGIN IMMEDIATE")
        (cluster.work / "finish").touch()
        poll(lambda: (cluster.work / "ended").exists())
        cluster.kill()
        for _ in range(10):
            cluster.run("squeue", check=0)
    out, err = step.communicate(timeout=240)
    assert step.returncode == 0, err
    assert (cluster.work / "runs").read_text() == "x\n"


def test_waiting_commands_outlive_the_daemon(cluster):
    waiting = cluster.start("sbatch", "--wait", cluster.script("touch started; sleep 2; exit 6"))
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill()
    assert waiting.wait(240) == 6


def test_allocation_outlives_the_daemon(cluster):
    allocation = cluster.start("salloc", "sh", "-c", "touch started; while [ ! -e finish ]; do sleep 0.1; done; srun echo in it")
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill()
    assert cluster.queue(format="%T") == ["RUNNING"]
    (cluster.work / "finish").touch()
    out, err = allocation.communicate(timeout=240)
    assert out == "in it\n" and allocation.returncode == 0, err
    poll(lambda: cluster.queue() == [])


def test_time_limits_hold_across_a_restart(cluster):
    job = cluster.submit("touch started; sleep 3000", "--time=1")
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill()
    cluster.run("squeue", check=0)
    assert cluster.wait_end(job, 100)["JobState"] == "TIMEOUT"


def test_a_limit_that_passed_while_no_daemon_ran(cluster):
    """Also an end that came while nobody looked is recorded with its code."""
    job = cluster.submit("touch started; sleep 1; exit 4")
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill()
    time.sleep(2)
    assert cluster.wait_end(job)["ExitCode"] == "4:0"


def test_hold_and_cancel_survive(cluster):
    held, gone = cluster.submit("true", "--hold"), cluster.submit("true", "--hold")
    cluster.run("scontrol", "update", f"jobid={held}", "timelimit=7", check=0)
    cluster.run("scancel", gone, check=0)
    cluster.kill()
    assert cluster.queue(format="%i %l %r") == [f"{held} 7:00 JobHeldUser"]
    assert cluster.sacct("-X", "-j", gone, format="State")[0][0].startswith("CANCELLED")


def test_database_cut_off(cluster):
    """A write-ahead log whose end is missing or damaged: what was lost was never synced; the rest is there."""
    jobs = [cluster.submit("true", "--hold") for _ in range(5)]
    cluster.kill()
    logs = list(cluster.home.rglob("*-wal"))
    assert logs, "the database has a write-ahead log while its daemon has not ended orderly"
    for log in logs:
        with open(log, "ab") as file:
            file.write(os.urandom(3000))  # a torn write behind the last commit
    assert cluster.queue("--sort=i", format="%i") == [str(job) for job in jobs]


def test_database_that_is_damaged_is_said_to_be(cluster):
    cluster.submit("true", "--hold")
    daemon = cluster.pid()
    cluster.run("minke", "down", check=0)
    poll(lambda: has_ended(daemon), what="the daemon's end, with its last write")
    database = cluster.home / "minke.db"
    assert database.read_bytes()[:15] == b"SQLite format 3"
    database.write_bytes(os.urandom(10000))
    done = cluster.run("squeue")
    assert done.returncode == 1 and str(database) in done.stderr, done.stderr
    assert re.search(r"database", done.stderr)


def test_terminated_daemon_ends_in_order(cluster):
    job = cluster.submit("touch started; sleep 600")
    poll(lambda: (cluster.work / "started").exists())
    pid = cluster.pid()
    os.kill(pid, signal.SIGTERM)
    poll(lambda: has_ended(pid), 10, "the end of the daemon")
    assert cluster.state(job) == "RUNNING"


def test_two_daemons_cannot_share_a_home(cluster):
    cluster.run("minke", "up", check=0)
    pid = cluster.pid()
    done = cluster.run(cluster.program, "daemon", timeout=20)
    assert done.returncode != 0 and cluster.pid() == pid
