"""Clusters side by side, how they start and stop, and minke's own commands."""
import json
import os
import pathlib
import re
import socket
import subprocess

import pytest

from cluster import ROOT, Machine, plain_environment, poll
from processes import has_ended

MINKE_ONLY = True


def test_first_command_starts_the_daemon(cluster):
    assert cluster.pid() is None
    assert cluster.run("squeue", check=0).stdout.startswith("             JOBID")
    assert cluster.pid() is not None


def test_many_first_commands_start_one_daemon(cluster):
    script = cluster.script("true")
    commands = [cluster.start("sbatch", "--parsable", "--hold", script) for _ in range(8)]
    answers = [command.communicate(timeout=240) for command in commands]
    assert all(out for out, _ in answers), answers
    numbers = sorted(int(out) for out, _ in answers)
    assert numbers == list(range(numbers[0], numbers[0] + 8))
    assert len(cluster.queue()) == 8


def test_up_and_down(cluster):
    cluster.run("minke", "up", check=0)
    daemon, launcher = cluster.pid(), cluster.pid("launcher")
    assert daemon and launcher
    cluster.run("minke", "up", check=0)
    assert cluster.pid() == daemon
    cluster.run("minke", "down", check=0)
    poll(lambda: has_ended(daemon) and has_ended(launcher), 10, "the end of daemon and launcher")
    poll(lambda: cluster.processes() == [], what="the end of all that they had started")


def test_down_does_not_take_running_jobs_along(cluster):
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("minke", "down")
    assert done.returncode != 0 and "1 job" in done.stderr
    assert cluster.state(job) == "RUNNING"


def test_down_waits_for_what_is_on_its_way_out(cluster):
    job = cluster.submit("trap '' TERM\ntouch started\nwhile :; do sleep 0.1; done")
    poll((cluster.work / "started").exists)
    cluster.run("scancel", job, check=0)
    assert "the cluster is down" in cluster.run("minke", "down", check=0).stdout
    assert [row[:2] for row in cluster.sacct("-X", "-j", job)] == [[str(job), f"CANCELLED by {os.getuid()}"]]


def test_the_queue_survives_a_restart(cluster):
    waiting = cluster.submit("echo later", "--hold")
    ended = cluster.submit("exit 3")
    cluster.wait_end(ended)
    cluster.run("minke", "down", check=0)
    assert cluster.queue("-j", str(waiting)) == [f"{waiting} PENDING"]
    assert cluster.sacct("-X", "-j", ended) == [[str(ended), "FAILED", "3:0"]]
    cluster.run("scontrol", "release", waiting, check=0)
    assert cluster.output(waiting) == "later\n"


def test_job_numbers_go_on_after_a_restart(cluster):
    first = cluster.submit("true", "--hold")
    cluster.run("minke", "down", check=0)
    assert cluster.submit("true", "--hold") == first + 1


def test_clusters_do_not_see_each_other(new_cluster):
    one, two = new_cluster("one", Machine()), new_cluster("two", Machine(nodes=3))
    job = one.submit("echo one; sleep 600", "--job-name=first")
    one.wait_state(job, "RUNNING")
    assert two.queue() == []
    assert two.run("sinfo", "-h", "-o", "%D", check=0).stdout == "3\n"
    assert two.output(two.submit("echo two")) == "two\n"
    two.run("minke", "down", check=0)
    assert one.state(job) == "RUNNING"


def test_long_home(new_cluster):
    """Longer than the address of a Unix socket may be."""
    one = new_cluster("/".join(["a-directory-with-a-long-name"] * 6))
    assert len(str(one.home)) > 108
    assert one.output(one.submit("echo far down")) == "far down\n"


def test_home_with_odd_characters(new_cluster):
    one = new_cluster("a b'c\"d$e\\f")
    assert one.output(one.submit("echo odd")) == "odd\n"


def test_home_that_cannot_be_written(tmp_path):
    if os.getuid() == 0:
        home = pathlib.Path("/proc/nowhere")
    else:
        home = pathlib.Path("/usr/minke")
    environment = plain_environment() | {"MINKE_HOME": str(home)}
    done = subprocess.run([os.environ.get("MINKE", str(ROOT / "build/minke")), "up"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and str(home) in done.stderr and len(done.stderr.splitlines()) <= 3


def test_status(cluster):
    cluster.run("minke", "up", check=0)
    cluster.submit("true", "--hold")
    status = json.loads(cluster.run("minke", "status", "--json", check=0).stdout)
    assert status["pid"] == cluster.pid() and status["jobs_pending"] == 1 and status["home"] == str(cluster.home)
    assert "1 pending" in cluster.run("minke", "status", check=0).stdout


def test_status_starts_nothing(cluster):
    done = cluster.run("minke", "status")
    assert done.returncode != 0 and cluster.pid() is None


def test_env_puts_the_commands_on_the_path(cluster):
    lines = cluster.run("minke", "env", "--over-slurm", check=0).stdout
    where = subprocess.run(["bash", "-c", lines + "\ncommand -v sbatch srun salloc squeue sq sinfo scancel sacct scontrol seff minke"],
                           env=plain_environment() | {"MINKE_HOME": str(cluster.home)}, capture_output=True, text=True)
    found = where.stdout.splitlines()
    assert len(found) == 11 and all(path.startswith("/") for path in found)
    assert {pathlib.Path(path).parent for path in found[:-1]} == {pathlib.Path(found[0]).parent}
    assert pathlib.Path(found[0]).parent not in (pathlib.Path("/usr/bin"), pathlib.Path("/usr/local/bin"))


def test_env_leaves_a_real_slurm_alone(cluster, tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    (real / "sbatch").write_text("#!/bin/sh\n")
    (real / "sbatch").chmod(0o755)
    path = f"{real}:/usr/bin:/bin"
    done = cluster.run(cluster.program, "env", env={"PATH": path}, check=0)
    assert str(real / "sbatch") in done.stderr and "export MINKE_HOME" not in done.stdout
    # What Slurm lacks is found, and none of what it has.
    found = cluster.run("bash", "-c", done.stdout + "command -v sbatch; command -v sqhosts; command -v sacctmgr", env={"PATH": path}).stdout
    lines = found.splitlines()
    assert lines[0] == str(real / "sbatch") and lines[1] == str(cluster.home / "beside-slurm/sqhosts")
    assert not any(line.startswith(str(cluster.home)) for line in lines[2:])


def test_program_by_its_first_word(cluster):
    assert cluster.run(cluster.program, "squeue", check=0).stdout.startswith("             JOBID")
    assert cluster.run("sq", check=0).stdout.split()[0] == "JOBID"


def test_doctor(cluster):
    done = cluster.run("minke", "doctor")
    assert done.returncode in (0, 1) and done.stdout


def test_log(cluster):
    cluster.run("minke", "up", check=0)
    job = cluster.submit("true")
    cluster.wait_end(job)
    assert cluster.run("minke", "log", check=0).stdout


@pytest.mark.parametrize("line, says", [
    ("cpus = 3\n", "cpus is not known"), ("[[node]]\ncpus = 3\n", "needs a name"),
    ('[[node]]\nname = "a"\ncpus = "x"\n', "cpus must be a number"), ("kill_wait = \n", ":1: "),
    ('[[partition]]\nname = "p"\nnodes = "zz"\n', "zz")])
def test_configuration_that_is_wrong(cluster, line, says):
    path = cluster.directory / "minke.toml"
    path.write_text(line)
    done = cluster.run("minke", "up", env={"MINKE_CONFIG": str(path)})
    assert done.returncode == 1 and says in done.stderr and str(path) in done.stderr
    assert cluster.pid() is None


def test_configuration_in_the_home(new_cluster):
    one = new_cluster("configured")
    (one.home / "minke.toml").write_text('cluster_name = "blue"\n[[node]]\nname = "w[01-03]"\ncpus = 4\nmemory = "8G"\n'
                                         'features = ["new"]\ngpus = "h100:2"\n[[partition]]\nname = "long"\nmax_time = "7-0"\n'
                                         '[[partition]]\nname = "short"\nnodes = "w01"\nmax_time = "3:00:00"\ndefault = true\n')
    assert one.run("sinfo", "-h", "-o", "%P %l %D %N %G", check=0).stdout.splitlines() == [
        "long 7-00:00:00 3 w[01-03] gpu:h100:2", "short* 3:00:00 1 w01 gpu:h100:2"]
    done = one.run("sbatch", "--time=4:00:00", one.script("true"))
    assert done.returncode == 1 and "Requested time limit is invalid" in done.stderr
    assert one.output(one.submit("echo $SLURM_CLUSTER_NAME", "--partition=long")) == "blue\n"


def test_machine_without_configuration(new_cluster):
    """What is discovered is offered, under the machine's own name."""
    one = new_cluster("plain")
    name, cpus = one.run("sinfo", "-h", "-o", "%N %c", check=0).stdout.split()
    assert name == socket.gethostname().split(".")[0] and 1 <= int(cpus) <= os.cpu_count()
    assert one.output(one.submit("echo $SLURMD_NODENAME")) == f"{name}\n"


def test_another_machine_size_needs_nobody(cluster):
    """After a restart with less memory, what still fits runs, and no node is drained."""
    cluster.run("minke", "up", check=0)
    small, large = cluster.submit("true", "--hold", "--mem=500M"), cluster.submit("true", "--hold", "--mem=1900M")
    cluster.run("minke", "down", check=0)
    cluster.configure(Machine(memory=1000))
    assert cluster.run("sinfo", "-h", "-o", "%t", check=0).stdout == "idle\n"
    cluster.run("scontrol", "release", f"{small},{large}", check=0)
    cluster.wait_state(small, "COMPLETED")
    assert cluster.state(large) == "PENDING" and re.match(r"\w+", cluster.job(large)["Reason"])
