"""A daemon or a launcher that is there and does not answer, or cannot be started: nobody waits without a word."""
import contextlib
import os
import signal
import subprocess

import pytest

from cluster import poll

MINKE_ONLY = True


@contextlib.contextmanager
def stopped(pid: int):
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_stopped_daemon_is_named(cluster):
    """The command waits on, and has its answer when the daemon goes on."""
    cluster.run("minke", "up", check=0)
    with stopped(cluster.pid()) as pid:
        waiting = cluster.start("squeue")
        assert waiting.stderr.readline() == \
            f"squeue: the daemon (pid {pid}) does not answer: it is stopped (kill -CONT {pid} lets it go on); waiting\n"
    out, err = waiting.communicate(timeout=60)
    assert waiting.returncode == 0 and "JOBID" in out and err == ""


def test_a_stopped_launcher_is_reported(cluster):
    job = cluster.submit("touch started; sleep 600")
    poll(lambda: (cluster.work / "started").exists())
    with stopped(cluster.pid("launcher")) as pid:
        said = f"the launcher (pid {pid}) is stopped; nothing starts or ends: kill -CONT {pid}"
        for command in ("status", "doctor"):
            done = cluster.run("minke", command)
            assert done.returncode == 1 and said in done.stdout, done
        done = cluster.run("minke", "down", "--cancel-jobs", timeout=10)
        assert done.returncode == 1 and said in done.stderr, done
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    cluster.run("minke", "down", check=0)


def test_the_cluster_can_be_taken_down_without_a_launcher(cluster):
    job = cluster.submit("touch started; sleep 600", "--no-requeue")
    poll(lambda: (cluster.work / "started").exists())
    lock = cluster.home / "launcher.lock"
    with stopped(cluster.pid("launcher")) as pid:
        lock.unlink()
        lock.mkdir()
        os.kill(pid, signal.SIGKILL)
    poll(lambda: "Is a directory" in cluster.run("minke", "status").stdout)
    done = cluster.run("minke", "down", "--cancel-jobs", timeout=10)
    assert done.returncode == 1 and "jobs that it cannot end" in done.stderr and "Is a directory" in done.stderr, done
    cluster.run("minke", "down", "--keep-jobs", check=0, timeout=10)
    lock.rmdir()
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"


def test_a_limit_on_the_size_of_files_is_an_error(cluster):
    """The kernel would kill a daemon that does not expect it."""
    done = cluster.run("bash", "-c", "ulimit -S -f 20; minke up")
    assert done.returncode == 1 and "File too large" in done.stderr, done
    cluster.run("minke", "up", check=0)


LIMITED = """#!/bin/bash
# What a job may do to itself. It is run apart from the job, which ends with its launcher.
[ "$1" = apart ] || { touch started; setsid "$0" apart & exec sleep 600; }
renice -n 7 $$; chrt --batch --pid 0 $$; ionice -c 3 -p $$
echo 500 > /proc/self/oom_score_adj
ulimit -n 77; ulimit -t 1234; ulimit -f 99999
kill -KILL $(cat $MINKE_HOME/minked.pid) $(cat $MINKE_HOME/launcher.pid)
squeue
touch called
exec sleep 600
"""


def may_raise_limits() -> bool:
    """Root in a container may lack the right."""
    return subprocess.run(["bash", "-c", "ulimit -t 1234; ulimit -Ht unlimited"], capture_output=True).returncode == 0


@pytest.mark.skipif(not may_raise_limits(), reason="who may not raise limits cannot take back what he gave up")
def test_a_daemon_leaves_what_a_job_has_put_on_itself(cluster, tmp_path):
    """Its launcher, from which such a daemon is started otherwise, is gone as well."""
    script = cluster.script(LIMITED)
    script.chmod(0o755)
    wrapper = cluster.script(f"exec {script}\n", "wrapper.sh")
    cluster.sbatch("--no-requeue", wrapper)
    poll(lambda: (cluster.work / "called").exists() or cluster.pid() is None)
    poll(lambda: cluster.pid() and cluster.pid("launcher"), 30, "another daemon and launcher")
    cluster.run("squeue", check=0)
    for name in ("minked", "launcher"):
        pid = cluster.pid(name)
        limits = open(f"/proc/{pid}/limits").read()
        assert "1234" not in limits and " 77 " not in limits and "102398976" not in limits, limits
        assert os.sched_getscheduler(pid) == os.SCHED_OTHER and os.getpriority(os.PRIO_PROCESS, pid) == 0
        assert open(f"/proc/{pid}/oom_score_adj").read() == open("/proc/1/oom_score_adj").read()
