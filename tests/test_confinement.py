"""What the kernel holds a job to: memory, processes, and that nothing of it is left. Tests that need control groups are
skipped where the kernel offers none, with its reason."""
import json
import os
import pathlib
import re
import signal

import pytest

from cluster import HOG, poll
from processes import has_ended, name_and_state

MINKE_ONLY = True

# Leaves the session, the process group and its parents, and clears its environment.
ESCAPE = """#!/usr/bin/python3
import os, sys
for deeper in range(2):
    if os.fork():
        os._exit(0)
    os.setsid()
name = os.path.abspath(sys.argv[1])
with open(name + ".new", "w") as file:
    file.write(str(os.getpid()))
os.rename(name + ".new", name)
os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


@pytest.fixture
def confined(cluster):
    """The cluster, where its jobs are in control groups."""
    findings = json.loads(cluster.run("minke", "doctor", "--json").stdout)["findings"]
    groups = [one["what"] for one in findings if "control groups" in one["what"]]
    assert len(groups) == 1, findings
    if not groups[0].startswith("jobs are confined"):
        pytest.skip(groups[0])
    for name, text in (("hog", HOG), ("escape", ESCAPE)):
        (cluster.work / name).write_text(text)
        (cluster.work / name).chmod(0o755)
    return cluster


def groups_of(cluster) -> list[pathlib.Path]:
    """The directories of the cluster's control groups: the launcher names them after its home."""
    value = 0xcbf29ce484222325
    for byte in os.path.realpath(cluster.home).encode():
        value = (value ^ byte) * 0x100000001b3 % (1 << 64)
    # os.walk does not mind that others are removed meanwhile.
    return [pathlib.Path(above) / name for above, below, _ in os.walk("/sys/fs/cgroup") for name in below
            if name == f"minke+{value:016x}"]


def test_doctor_says_which_parts_are_active(cluster):
    done = cluster.run("minke", "doctor")
    assert re.search(r"jobs are (confined by control groups \(version [12]: |not held to their memory \(no control "
                     r"groups\): \S)", done.stdout), done.stdout


def test_batch_script_beyond_its_memory(confined):
    job = confined.submit("./hog 200\necho went on", "--mem=50M")
    fields = confined.wait_end(job)
    assert (fields["JobState"], fields["Reason"], fields["ExitCode"]) == ("OUT_OF_MEMORY", "OutOfMemory", "0:125")
    said = (f"slurmstepd: error: Detected 1 oom_kill event in StepId={job}.batch. Some of the step tasks have been "
            "OOM Killed.")
    output = poll(lambda: said in (text := confined.output(job)) and text)
    assert "had 200" not in output
    assert confined.sacct("-j", job) == [[f"{job}", "OUT_OF_MEMORY", "0:125"],
                                         [f"{job}.batch", "OUT_OF_MEMORY", "0:125"]]
    assert confined.run("sacct", "-n", "-X", "-s", "OOM", "-S", "now-1hours", "-E", "now+1minutes", "-o", "jobid", check=0).stdout.strip() == f"{job}"


def test_a_job_out_of_memory_leaves_the_launcher_alone(confined):
    """What has not executed its program yet is in the job's group already. Its memory must be its own: the kernel
    kills all that share the memory of who is to die, and here everything else in the group is smaller."""
    other = confined.submit("sleep 1000", "--mem=10M")
    confined.wait_state(other, "RUNNING")
    launcher = confined.pid("launcher")
    os.mkfifo(confined.work / "fifo")
    job = confined.submit("true", "--mem=20M", "--output=fifo")
    confined.wait_state(job, "RUNNING")
    left = pathlib.Path(f"/dev/shm/minke-test-oom-{os.getpid()}")
    try:
        done = confined.run("srun", "--jobid", job, "--overlap", "--mem=0", "sh", "-c", f"head -c 60M /dev/zero > {left}")
        assert done.returncode != 0, done
        assert confined.pid("launcher") == launcher
        assert confined.state(other) == "RUNNING" and confined.job(other)["Restarts"] == "0"
        confined.run("scancel", job, check=0)
        assert confined.wait_end(job)["JobState"] in ("CANCELLED", "OUT_OF_MEMORY")
    finally:
        left.unlink(missing_ok=True)


def test_memory_within_the_limit_is_had(confined):
    assert confined.output(confined.submit("./hog 100", "--mem=300M")) == "had 100\n"


def test_limit_is_the_jobs_not_each_process(confined):
    job = confined.submit("./hog 60 20 & ./hog 60 20 & wait -n; wait", "--mem=100M")
    assert confined.wait_end(job)["JobState"] == "OUT_OF_MEMORY"


def test_srun_beyond_its_memory(confined):
    done = confined.run("srun", "--mem=50M", "./hog", "200")
    assert done.returncode == 1 and done.stdout == "", done
    job = confined.sacct("-X", format="JobID")[-1][0]
    assert done.stderr.splitlines() == [
        f"slurmstepd: error: Detected 1 oom_kill event in StepId={job}.0. Some of the step tasks have been OOM "
        "Killed.",
        "srun: error: n1: task 0: Out Of Memory"]
    assert confined.sacct("-j", job) == [[job, "OUT_OF_MEMORY", "0:125"], [f"{job}.0", "OUT_OF_MEMORY", "0:125"]]


def test_step_beyond_its_own_memory(confined):
    job = confined.submit("srun --mem=50M ./hog 100\necho step $?\nsrun --mem=180M ./hog 100\n", "--mem=200M")
    output = confined.output(job)
    assert f"StepId={job}.0." in output and output.endswith("step 1\nhad 100\n")
    assert confined.sacct("-j", job, format="JobID,State,ExitCode,DerivedExitCode") == [
        [f"{job}", "COMPLETED", "0:0", "0:125"], [f"{job}.batch", "COMPLETED", "0:0", ""],
        [f"{job}.0", "OUT_OF_MEMORY", "0:125", ""], [f"{job}.1", "COMPLETED", "0:0", ""]]


def test_groups_that_had_kills_before(confined):
    """A group that is used again counts from what it had; steps have groups of their own."""
    for _ in range(2):
        assert confined.wait_end(confined.submit("./hog 200", "--mem=50M"))["JobState"] == "OUT_OF_MEMORY"
        assert "Out Of Memory" in confined.run("srun", "--mem=50M", "./hog", "200", check=1).stderr
    assert confined.wait_end(confined.submit("exit 3", "--mem=50M"))["ExitCode"] == "3:0"


def test_step_that_loses_one_of_its_tasks(confined):
    done = confined.run("srun", "-n2", "-N2", "--mem=60M", "bash", "-c",
                        "if [ $SLURM_PROCID = 1 ]; then exec ./hog 200; fi; sleep 2; echo well")
    assert done.returncode == 1 and done.stdout == "well\n"
    assert "srun: error: n2: task 1: Out Of Memory" in done.stderr and "task 0" not in done.stderr


def test_each_node_has_its_own_limit(confined):
    """Two tasks of 60 MiB on two nodes of 100 MiB, and both on one of them."""
    assert confined.run("srun", "-N2", "-n2", "--mem=100M", "./hog", "60", "1", check=0).stdout == "had 60\nhad 60\n"
    done = confined.run("srun", "-N1", "-n2", "--mem=100M", "sh", "-c", "touch at.$SLURM_PROCID; "
                        "until [ -e at.0 ] && [ -e at.1 ]; do sleep 0.05; done; exec ./hog 60 5")
    assert done.returncode == 1 and "Out Of Memory" in done.stderr


def test_time_limit_says_more_than_memory(confined):
    """A job that is being stopped ends as it was stopped for."""
    job = confined.submit("trap './hog 200' TERM\nsleep 100 & wait", "--mem=50M")
    confined.wait_state(job, "RUNNING")
    poll(lambda: confined.jobs(job) and (confined.work / f"slurm-{job}.out").exists())
    confined.run("scancel", job, check=0)
    assert confined.wait_end(job)["JobState"] == "CANCELLED"


@pytest.mark.machine(nodes=1, cpus=2, memory=2000, extra="", kill_wait=2)
def test_memory_is_not_constrained_where_the_file_says_so(confined):
    path = pathlib.Path(confined.environment["MINKE_CONFIG"])
    path.write_text("constrain_memory = false\n" + path.read_text())
    assert confined.output(confined.submit("./hog 100", "--mem=50M")) == "had 100\n"


def test_fork_bomb(confined):
    path = pathlib.Path(confined.environment["MINKE_CONFIG"])
    path.write_text("max_pids = 20\n" + path.read_text())
    job = confined.submit("for i in $(seq 100); do sleep 1000 & done\necho unreachable", "--time=10")
    poll(lambda: "fork" in (confined.work / f"slurm-{job}.out").read_text()
         if (confined.work / f"slurm-{job}.out").exists() else False)
    assert confined.output(confined.submit("echo another is undisturbed")) == "another is undisturbed\n"
    confined.run("scancel", job, check=0)
    assert confined.wait_end(job)["JobState"] == "CANCELLED"


def test_nothing_escapes_the_end_of_the_job(confined):
    # Another job runs, so that what has no mark cannot be guessed to be this one's.
    other = confined.submit("sleep 1000")
    confined.wait_state(other, "RUNNING")
    job = confined.submit("./escape escaped\nwhile [ ! -e escaped ]; do sleep 0.02; done")
    confined.wait_end(job)
    pid = int((confined.work / "escaped").read_text())
    poll(lambda: has_ended(pid), 10, "the end of what escaped")
    assert confined.state(other) == "RUNNING"


def test_nothing_escapes_a_signal(confined):
    job = confined.submit("./escape escaped\nsleep 100")
    pid = int(poll(lambda: (confined.work / "escaped").exists() and (confined.work / "escaped").read_text()))
    confined.run("scontrol", "suspend", job, check=0)
    poll(lambda: name_and_state(pid)[1] == "T", 10, "that it is stopped")
    confined.run("scontrol", "resume", job, check=0)
    poll(lambda: name_and_state(pid)[1] == "S", 10, "that it goes on")
    confined.run("scancel", job, check=0)
    poll(lambda: has_ended(pid), 10, "its end")


def spare_groups(cluster):
    return {path.name for group in groups_of(cluster) for path in group.glob("spare_*")}


def test_jobs_with_the_same_limits_use_the_same_group_again(confined):
    jobs = [confined.submit("sed 's/.*spare_/spare_/' /proc/self/cgroup; exec ./hog 1", *options)
            for options in (["--mem=30M"], ["--mem=31M", "-dsingleton"], ["--mem=30M", "-dsingleton"])]
    first, other, third = [set(re.findall("spare_[0-9]+", confined.output(job))) for job in jobs]
    if not first:
        pytest.skip("control groups of version 2 are not used again")
    assert len(first) == 1 and third == first
    assert len(other) == 1 and other != first


def test_memory_that_a_job_leaves_behind_is_not_the_next_ones(confined):
    """Files in /dev/shm count for the group whose process wrote them, until they are removed."""
    left = pathlib.Path(f"/dev/shm/minke-test-left-{os.getpid()}")
    mark = "sed 's/.*spare_/spare_/' /proc/self/cgroup\n"
    try:
        first = confined.output(confined.submit(f"{mark}head -c 20M /dev/zero > {left}", "--mem=40M"))
        job = confined.submit(f"{mark}exec ./hog 25", "--mem=40M")
        assert confined.wait_end(job)["JobState"] == "COMPLETED"
        spare = re.findall("spare_[0-9]+", first)
        assert not spare or spare[0] not in confined.output(job)
    finally:
        left.unlink(missing_ok=True)


def test_jobs_without_limits_use_the_same_group_again(confined):
    for _ in range(3):
        confined.wait_end(confined.submit("true"))
    before = [path for group in groups_of(confined) for path in group.glob("spare_*")]
    if not before:
        pytest.skip("control groups of version 2 are not used again")
    ended = confined.submit("./escape escaped\nwhile [ ! -e escaped ]; do sleep 0.02; done")
    confined.wait_end(ended)
    pid = int((confined.work / "escaped").read_text())
    poll(lambda: has_ended(pid), 10, "the end of what escaped")
    # It was closed to kill what was in it, and is not used again.
    assert confined.wait_end(confined.submit("(true) & wait $!"))["ExitCode"] == "0:0"
    after = [path for group in groups_of(confined) for path in group.glob("spare_*")]
    assert {path.parts[4] for path in after} == {path.parts[4] for path in before}
    assert len({path.name for path in before}) == 1 and len({path.name for path in after}) == 1


def test_groups_are_removed(confined):
    job = confined.submit("srun true\nsrun --mem=20M true")
    confined.wait_end(job)
    found = groups_of(confined)
    assert found
    poll(lambda: not [path for group in found for path in group.glob("job_*")], what="the end of the job's groups")
    confined.run("minke", "down", check=0)
    poll(lambda: not groups_of(confined), 10, "the removal of the cluster's own group")


def test_groups_are_cleared_after_a_crash(confined):
    job = confined.submit("./escape escaped\nsleep 100", "--no-requeue")
    pid = int(poll(lambda: (confined.work / "escaped").exists() and (confined.work / "escaped").read_text()))
    confined.wait_state(job, "RUNNING")
    confined.kill("launcher")
    assert confined.wait_end(job)["JobState"] == "NODE_FAIL"
    poll(lambda: has_ended(pid), 10, "the end of what escaped")
    def processes():
        try:
            return [path for group in groups_of(confined) for path in group.glob("*_*/cgroup.procs") if path.read_text()]
        except OSError:  # one has just been removed
            return True
    poll(lambda: not processes(), 10, "empty groups")
    assert confined.output(confined.submit("echo goes on")) == "goes on\n"


def test_daemon_started_within_a_job_outlives_it(confined):
    """It is nobody's: not in the job's group, and so not killed with it."""
    job = confined.submit("touch runs\nwhile [ ! -e go ]; do sleep 0.02; done\nsqueue -h -o %T")
    poll(lambda: (confined.work / "runs").exists())
    os.kill(confined.pid(), signal.SIGKILL)
    poll(lambda: confined.pid() is None)
    (confined.work / "go").touch()
    poll(lambda: confined.pid())
    daemon = confined.pid()
    assert confined.output(job) == "RUNNING\n"
    confined.run("sinfo", check=0)
    assert confined.pid() == daemon
    assert "job_" not in pathlib.Path(f"/proc/{daemon}/cgroup").read_text()


CPUS = sorted(os.sched_getaffinity(0))


@pytest.mark.machine(nodes=1, cpus=len(CPUS), memory=2000)
@pytest.mark.skipif(len(CPUS) < 2, reason="this machine has one processor")
def test_job_is_bound_to_its_cpus(cluster):
    """Two jobs of one processor get two processors, and one of all of them all."""
    jobs = [cluster.submit("nproc; taskset -cp $$\nwhile [ ! -e go ]; do sleep 0.05; done", "-n1") for _ in range(2)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    assert cluster.run("srun", "--jobid", jobs[0], "--overlap", "nproc", check=0).stdout == "1\n"
    (cluster.work / "go").touch()
    outputs = [cluster.output(job).splitlines() for job in jobs]
    assert [lines[0] for lines in outputs] == ["1", "1"]
    assert len({lines[1].rsplit(" ", 1)[1] for lines in outputs}) == 2
    assert cluster.run("srun", "-n1", f"-c{len(CPUS)}", "nproc", check=0).stdout == f"{len(CPUS)}\n"


@pytest.mark.machine(nodes=1, cpus=1000, memory=2000)
def test_more_cpus_than_the_machine_has_bind_nothing(cluster):
    assert cluster.run("srun", "-c900", "nproc", check=0).stdout == f"{len(CPUS)}\n"


@pytest.mark.machine(nodes=1, cpus=1, memory=2000)
def test_cpus_are_not_bound_where_the_file_says_so(cluster):
    path = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    path.write_text("bind_cpus = false\n" + path.read_text())
    assert cluster.output(cluster.submit("nproc")) == f"{len(CPUS)}\n"
