"""srun and salloc: tasks, their streams, exit codes and signals."""
import os
import pty
import re
import select
import signal
import time

import pytest

from cluster import has_ended, poll


def test_srun_in_a_job(cluster):
    job = cluster.submit("srun -n2 sh -c 'echo $SLURM_PROCID'; srun -n1 echo again", "--ntasks=2")
    assert sorted(cluster.output(job).split()) == ["0", "1", "again"]


def test_srun_alone_makes_its_own_allocation(cluster):
    done = cluster.run("srun", "--ntasks=2", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_PROCID", check=0)
    lines = sorted(line.split() for line in done.stdout.splitlines())
    assert [rank for _, rank in lines] == ["0", "1"] and lines[0][0] == lines[1][0]
    poll(lambda: cluster.queue() == [])


def test_srun_takes_its_input(cluster):
    assert cluster.run("srun", "cat", input="some\ntext\n", check=0).stdout == "some\ntext\n"


def test_srun_input_reaches_every_task(cluster):
    done = cluster.run("srun", "--ntasks=2", "cat", input="text\n", check=0)
    assert done.stdout == "text\ntext\n"


def test_streams_stay_apart(cluster):
    done = cluster.run("srun", "sh", "-c", "echo out; echo err >&2", check=0)
    assert done.stdout == "out\n" and "err\n" in done.stderr


def test_labels(cluster):
    done = cluster.run("srun", "--label", "--ntasks=2", "sh", "-c", "echo task $SLURM_PROCID", check=0)
    assert sorted(done.stdout.splitlines()) == ["0: task 0", "1: task 1"]


def test_output_files_of_a_step(cluster):
    job = cluster.submit("srun --ntasks=2 --output=step_%j_%s_%t.txt sh -c 'echo $SLURM_PROCID'", "--ntasks=2")
    cluster.wait_end(job)
    assert (cluster.work / f"step_{job}_0_0.txt").read_text() == "0\n"
    assert (cluster.work / f"step_{job}_0_1.txt").read_text() == "1\n"


@pytest.mark.parametrize("script, code, says", [
    ("exit 3", 3, "srun: error: n1: task 0: Exited with exit code 3\n"),
    ("kill -9 $$", 137, "srun: error: n1: task 0: Killed\n"),
    ("kill -15 $$", 143, "srun: error: n1: task 0: Terminated\n")])
def test_exit_code(cluster, script, code, says):
    done = cluster.run("srun", "sh", "-c", script)
    assert done.returncode == code and says in done.stderr


def test_highest_exit_code_of_the_tasks(cluster):
    assert cluster.run("srun", "--ntasks=3", "sh", "-c", "exit $SLURM_PROCID").returncode == 2


def test_program_that_is_not_there(cluster):
    done = cluster.run("srun", "nosuchprogram")
    assert done.returncode == 2
    assert "error: execve(): nosuchprogram: No such file or directory" in done.stderr


def test_srun_finds_programs_where_the_job_runs(cluster):
    path = cluster.work / "here.sh"
    path.write_text("#!/bin/sh\npwd\n")
    path.chmod(0o755)
    assert cluster.run("srun", "./here.sh", check=0).stdout == f"{cluster.work}\n"
    assert cluster.run("srun", "--chdir=/usr", "pwd", check=0).stdout == "/usr\n"


def test_steps_at_once(cluster):
    """As torchrun and Ray recipes do: several sruns in the background, then wait."""
    job = cluster.submit("for i in 1 2 3; do srun --nodes=1 --ntasks=1 --mem=30M --exact sh -c 'touch up.'$i'; "
                         "while [ $(ls up.* | wc -l) -lt 3 ]; do sleep 0.1; done' & done; wait; echo all",
                         "--ntasks=3", "--mem=100M")
    assert cluster.output(job).endswith("all\n")


def test_steps_wait_for_each_other(cluster):
    job = cluster.submit("srun --ntasks=2 sleep 1 & sleep 0.2; srun --ntasks=2 echo second; wait", "--ntasks=2")
    text = cluster.output(job)
    assert text.count("second\n") == 2


def test_kill_on_bad_exit(cluster):
    began = time.monotonic()
    done = cluster.run("srun", "--kill-on-bad-exit=1", "--ntasks=2", "sh", "-c",
                       "[ $SLURM_PROCID = 1 ] && exit 4; sleep 60; true")
    assert done.returncode != 0 and time.monotonic() - began < 40


def test_interrupt(cluster):
    """Ctrl-C twice within a second ends the tasks."""
    step = cluster.start("srun", "sh", "-c", "echo $$ > pid; exec sleep 60")
    pid = int(poll(lambda: (cluster.work / "pid").exists() and (cluster.work / "pid").read_text().strip()))
    step.send_signal(signal.SIGINT)
    time.sleep(0.2)
    step.send_signal(signal.SIGINT)
    assert step.wait(30) != 0
    poll(lambda: has_ended(pid), 20, "the end of the task")
    poll(lambda: cluster.queue() == [], 20)


def test_srun_that_is_killed_leaves_nothing(cluster):
    step = cluster.start("srun", "sh", "-c", "echo $$ > pid; exec sleep 60")
    pid = int(poll(lambda: (cluster.work / "pid").exists() and (cluster.work / "pid").read_text().strip()))
    step.kill()
    step.wait()
    if cluster.is_reference:
        pytest.skip("Slurm takes its time to notice")
    poll(lambda: has_ended(pid), 20, "the end of the task")
    poll(lambda: cluster.queue() == [], 20)


def test_terminal(cluster):
    """srun --pty: the task has a terminal, and it is srun's own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cluster.work)
        os.execvpe("srun", ["srun", "--pty", "sh", "-c", "tty; stty size; read line; echo got $line"], cluster.environment)
    os.write(terminal, b"typed\n")
    text = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
    assert os.waitpid(pid, 0)[1] == 0, text
    assert b"/dev/pts/" in text and b"got typed" in text, text


def test_salloc(cluster):
    done = cluster.run("salloc", "--ntasks=2", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_NTASKS; srun sh -c 'echo $SLURM_PROCID'", check=0)
    job = done.stdout.split()[0]
    assert sorted(done.stdout.split()[1:]) == ["0", "1", "2"]
    assert re.search(rf"salloc: Granted job allocation {job}\n", done.stderr)
    assert re.search(rf"salloc: Relinquishing job allocation {job}\n", done.stderr)
    poll(lambda: cluster.queue() == [])
    assert cluster.job(job)["JobName"] in ("interactive", "sh")


def test_salloc_returns_the_commands_exit_code(cluster):
    assert cluster.run("salloc", "sh", "-c", "exit 4").returncode == 4


def test_salloc_waits_its_turn(cluster):
    holder = cluster.submit("touch started; sleep 60", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    waiting = cluster.start("salloc", "true")
    lines = poll(lambda: waiting.stderr.readline(), 10)
    number = re.fullmatch(r"salloc: Pending job allocation (\d+)\n", lines)
    assert number
    assert waiting.stderr.readline() == f"salloc: job {number[1]} queued and waiting for resources\n"
    cluster.run("scancel", holder, check=0)
    rest = waiting.communicate(timeout=30)[1]
    assert f"salloc: job {number[1]} has been allocated resources\n" in rest and waiting.returncode == 0


def test_no_room_now(cluster):
    holder = cluster.submit("sleep 60", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    done = cluster.run("salloc", "--immediate=1", "true", timeout=30)
    assert done.returncode == 1


def test_joining_a_running_job(cluster):
    job = cluster.submit("touch started; sleep 60", "--job-name=host")
    poll(lambda: (cluster.work / "started").exists())
    done = cluster.run("srun", f"--jobid={job}", "--overlap", "sh", "-c", "echo $SLURM_JOB_ID", check=0)
    assert done.stdout == f"{job}\n"
    assert cluster.state(job) == "RUNNING"


def test_placement(cluster):
    script = "echo $SLURMD_NODENAME $SLURM_PROCID"
    spread = cluster.run("srun", "--nodes=2", "--ntasks=4", "sh", "-c", script, check=0).stdout.split()
    assert sorted(zip(spread[1::2], spread[::2])) == [("0", "n1"), ("1", "n1"), ("2", "n2"), ("3", "n2")]
    there = cluster.run("srun", "--nodelist=n2", "sh", "-c", script, check=0).stdout.split()
    assert there == ["n2", "0"]


@pytest.mark.minke_only
def test_large_output_is_whole(cluster):
    done = cluster.run("srun", "--ntasks=2", "--output=big_%t.txt", "seq", "300000", check=0)
    whole = "".join(f"{number}\n" for number in range(1, 300001))
    assert (cluster.work / "big_0.txt").read_text() == whole == (cluster.work / "big_1.txt").read_text()
    assert done.returncode == 0
