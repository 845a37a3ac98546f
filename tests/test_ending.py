"""How jobs end: exit codes, signals, time limits, cancelling, requeueing."""
import re
import time

import pytest

from cluster import poll
from processes import has_ended


def started(cluster, job, file="started"):
    """Waits until the job has said so, so that its traps are set."""
    cluster.wait_state(job, "RUNNING")
    poll(lambda: (cluster.work / file).exists(), 10, "the job's beginning")


@pytest.mark.parametrize("script, state, code", [
    ("exit 0", "COMPLETED", "0:0"), ("exit 1", "FAILED", "1:0"), ("exit 255", "FAILED", "255:0"), ("false", "FAILED", "1:0"),
    ("kill -9 $$", "FAILED", "0:9"), ("nosuchcommand", "FAILED", "127:0")])
def test_exit_code(cluster, script, state, code):
    job = cluster.submit(script)
    fields = cluster.wait_end(job)
    assert fields["JobState"] == state
    if cluster.is_reference and "kill" in script:
        pytest.skip("this Slurm reports a killed batch script as a launch failure")
    assert fields["ExitCode"] == code


def test_failing_step_does_not_fail_the_job(cluster):
    job = cluster.submit("srun false\nexit 0")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


@pytest.mark.machine(kill_wait=30)  # time enough for the trap
def test_time_limit(cluster):
    """SIGTERM at the limit, so that a job can save its state; then SIGKILL."""
    job = cluster.submit("trap 'echo saved; exit 0' TERM\ntouch started\nwhile :; do sleep 0.1; done", "--time=1")
    started(cluster, job)
    fields = cluster.wait_state(job, "TIMEOUT", seconds=130)
    if not cluster.is_reference:
        ran = time.mktime(time.strptime(fields["EndTime"], "%Y-%m-%dT%H:%M:%S")) - time.mktime(
            time.strptime(fields["StartTime"], "%Y-%m-%dT%H:%M:%S"))
        assert 60 <= ran < 90
    assert fields["Reason"] == "TimeLimit"
    poll(lambda: "saved" in (cluster.work / f"slurm-{job}.out").read_text(), 10)
    text = (cluster.work / f"slurm-{job}.out").read_text()
    assert f"error: *** JOB {job} ON n1 CANCELLED AT " in text and " DUE TO TIME LIMIT ***" in text


def test_a_job_that_ignores_its_end_is_killed(cluster):
    job = cluster.submit("trap '' TERM\ntouch started\nwhile :; do sleep 0.1; done")
    started(cluster, job)
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
    poll(lambda: cluster.queue() == [], 20, "the end of the job's processes")


def test_signal_before_the_end(cluster):
    """--signal=B:USR1@SECONDS warns the batch shell; with less time than that, soon after the beginning."""
    job = cluster.submit("trap 'echo warned; exit 0' USR1\ntouch started\nwhile :; do sleep 0.1; done", "--time=1",
                         "--signal=B:USR1@55")
    assert "warned" in cluster.output(job, seconds=90)


def test_a_signal_at_once_leaves_time_to_set_a_trap(cluster):
    """As long before the end as the job may run at all: what a script that is tried out with --time=1 asks for."""
    job = cluster.submit("sleep 1\ntrap 'echo warned; exit 0' USR1\nwhile :; do sleep 0.1; done", "--time=1",
                         "--signal=B:USR1@60")
    assert "warned" in cluster.output(job, seconds=90)


def test_signal_reaches_the_steps_only(cluster):
    job = cluster.submit("trap 'echo shell' USR1\n"
                         "srun bash -c \"trap 'echo step; exit 0' USR1; touch started; while :; do sleep 0.1; done\"\n",
                         "--time=1", "--signal=USR1@55")
    text = cluster.output(job, seconds=90)
    assert "step" in text and "shell" not in text


def test_scancel_with_a_signal(cluster):
    job = cluster.submit("trap 'echo got it; exit 5' USR2\ntouch started\nwhile :; do sleep 0.1; done")
    started(cluster, job)
    cluster.run("scancel", "--batch", "--signal=USR2", job, check=0)
    assert cluster.wait_end(job)["ExitCode"] == "5:0"
    assert "got it" in cluster.output(job)


def test_a_script_that_is_sent_sigterm_is_told_once(cluster):
    """Whatever it makes of the signal, and whatever ends it later."""
    job = cluster.submit("trap 'touch caught' TERM\ntouch started\nwhile :; do sleep 0.1; done")
    started(cluster, job)
    cluster.run("scancel", "--batch", "--signal=TERM", job)
    poll(lambda: (cluster.work / "caught").exists(), 10, "the signal")
    line = re.compile(rf"error: \*\*\* JOB {job} ON n1 CANCELLED AT \S+ \*\*\*\n")
    output = cluster.work / f"slurm-{job}.out"
    poll(lambda: line.search(output.read_text()), 10, "the line in the job's output")
    cluster.run("scancel", job)
    cluster.wait_state(job, "CANCELLED")
    poll(lambda: cluster.queue() == [], 20, "the end of the job's processes")
    assert len(line.findall(output.read_text())) == 1


def test_steps_that_are_sent_sigterm_are_told(cluster):
    job = cluster.submit("srun bash -c 'touch started; exec sleep 100'; exit 0")
    started(cluster, job)
    cluster.run("scancel", "--signal=TERM", job)
    text = cluster.output(job)
    assert "*** JOB" not in text and "task 0: Terminated" in text
    if not cluster.is_reference:  # there, whichever of its processes is first decides
        assert f"error: *** STEP {job}.0 ON n1 CANCELLED AT " in text


def test_signal_alone_leaves_the_batch_shell_in_peace(cluster):
    job = cluster.submit("trap 'echo shell' USR2\n"
                         "srun bash -c \"trap 'echo step; exit 0' USR2; touch started; while :; do sleep 0.1; done\"\nexit 0")
    started(cluster, job)
    cluster.run("scancel", "-s", "USR2", job, check=0)
    text = cluster.output(job)
    assert "step" in text and "shell" not in text


def test_cancelling_what_waits(cluster):
    job = cluster.submit("true", "--hold")
    cluster.run("scancel", job, check=0)
    fields = cluster.job(job)
    assert fields["JobState"] == "CANCELLED" and fields["ExitCode"] == "0:0"
    assert not (cluster.work / f"slurm-{job}.out").exists()


def test_cancelling_what_runs(cluster):
    job = cluster.submit("touch started; sleep 1000 & echo $! > child; wait")
    started(cluster, job, "child")
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
    child = int((cluster.work / "child").read_text())
    poll(lambda: has_ended(child), 10, "the end of the job's child")
    poll(lambda: f"*** JOB {job} ON n1 CANCELLED AT " in (cluster.work / f"slurm-{job}.out").read_text(), 5)


def test_cancelling_by_choice(cluster):
    for name in ("one", "one", "two"):
        cluster.submit("true", "--hold", f"--job-name={name}")
    cluster.run("scancel", "--name=one", check=0)
    assert cluster.queue(format="%j") == ["two"]
    cluster.run("scancel", "--state=RUNNING", "--me", check=0)
    assert cluster.queue(format="%j") == ["two"]
    cluster.run("scancel", "--state=PENDING", "--me", check=0)
    assert cluster.queue() == []


@pytest.mark.minke_only  # Slurm does with cgroups, which are not everywhere
def test_processes_left_behind_are_cleared_away(cluster):
    """What a job leaves in the background, even in a session of its own, ends with the job."""
    job = cluster.submit("setsid sleep 3000 & echo $! > child\nsleep 0.3")
    cluster.wait_state(job, "COMPLETED")
    child = int((cluster.work / "child").read_text())
    poll(lambda: has_ended(child), 10, "the end of what was left behind")


def test_requeue(cluster):
    job = cluster.submit("echo run >> runs; [ $(wc -l < runs) -gt 1 ] || { touch started; sleep 1000; }")
    started(cluster, job)
    cluster.run("scontrol", "requeue", job, check=0)
    again = poll(lambda: (one := cluster.job(job))["Restarts"] == "1" and one["JobState"] == "PENDING" and one)
    assert again["SubmitTime"] < again["EligibleTime"]  # it was submitted again, and begins a little later
    if cluster.is_reference:
        pytest.skip("Slurm waits two minutes before it starts a requeued job again")
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / "runs").read_text() == "run\nrun\n"


def test_a_job_that_had_ended_is_accounted_for_as_requeued(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    cluster.run("scontrol", "requeue", job, check=0)
    assert cluster.job(job)["JobState"] in ("PENDING", "COMPLETING")
    def runs():
        return cluster.run("sacct", "-n", "-X", "-P", "-D", "-j", job, "-o", "state", "-E", "now+1hour", check=0).stdout.split()
    poll(lambda: runs()[:1] == ["REQUEUED"] and len(runs()) == 2)
    cluster.run("scancel", job, check=0)


def test_requeue_and_hold(cluster):
    job = cluster.submit("touch started; sleep 1000")
    started(cluster, job)
    cluster.run("scontrol", "requeuehold", job, check=0)
    fields = poll(lambda: (one := cluster.job(job))["Restarts"] == "1" and one["JobState"] == "PENDING" and one)
    assert fields["Priority"] == "0"
    cluster.run("scancel", job, check=0)


def test_no_requeue(cluster):
    job = cluster.submit("touch started; sleep 1000", "--no-requeue")
    started(cluster, job)
    done = cluster.run("scontrol", "requeue", job)
    assert done.returncode == 1 and "Requested operation is presently disabled" in done.stderr
    assert cluster.state(job) == "RUNNING"


def test_a_job_requeues_itself(cluster):
    """As submitit and Lightning do: trap the warning, then scontrol requeue from inside."""
    job = cluster.submit("if [ -n \"$SLURM_RESTART_COUNT\" ]; then echo again; exit 0; fi\n"
                         "trap 'echo asked; scontrol requeue $SLURM_JOB_ID; sleep 30' USR1\ntouch started\n"
                         "while :; do sleep 0.1; done\n", "--open-mode=append")
    started(cluster, job)
    cluster.run("scancel", "--batch", "--signal=USR1", job, check=0)
    poll(lambda: cluster.job(job)["Restarts"] == "1")
    if cluster.is_reference:
        pytest.skip("Slurm waits two minutes before it starts a requeued job again")
    text = cluster.output(job)
    assert text.startswith("asked\n") and text.endswith("again\n")


def test_update_while_waiting(cluster):
    job = cluster.submit("true", "--hold", "--time=10")
    cluster.run("scontrol", "update", f"JobId={job}", "TimeLimit=5", "JobName=renamed", "Comment=why", check=0)
    fields = cluster.job(job)
    assert (fields["TimeLimit"], fields["JobName"], fields["Comment"]) == ("00:05:00", "renamed", "why")


def test_update_of_an_ended_job(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    done = cluster.run("scontrol", "update", f"jobid={job}", "timelimit=5")
    assert done.returncode == 1 and "Job has already finished" in done.stderr


def test_hold_of_a_waiting_job(cluster):
    job = cluster.submit("true", "--begin=now+1hour")
    cluster.run("scontrol", "hold", job, check=0)
    assert cluster.job(job)["Priority"] == "0"
    cluster.run("scontrol", "release", job, check=0)
    assert cluster.job(job)["Reason"] in ("BeginTime", "None")


def test_deadline(cluster):
    done = cluster.run("sbatch", "--deadline=2000-01-01", cluster.script("true"))
    assert done.returncode == 1 and "Batch job submission failed: " in done.stderr


def test_no_job_starts_in_the_last_minute_before_its_deadline(cluster):
    """As in Slurm, where what has no time limit wants a minute."""
    cluster.run("scontrol", "update", "partitionname=main", "defaulttime=none", check=0)
    job = cluster.submit("touch started", "--deadline=now+40")
    assert cluster.wait_state(job, "DEADLINE", seconds=20)["Reason"] == "DeadLine"
    assert not (cluster.work / "started").exists()
    cluster.wait_state(cluster.submit("true", "--deadline=now+600"), "COMPLETED")


def test_scancel_ends_srun_as_slurm_does(cluster):
    step = cluster.start("srun", "sh", "-c", "touch up; exec sleep 600")
    poll((cluster.work / "up").exists)
    [job] = cluster.queue("-t", "R", format="%i")
    cluster.run("scancel", job, check=0)
    _, told = step.communicate(timeout=120)
    assert step.returncode == 143
    for line in (r"srun: Job step aborted: Waiting up to \d+ seconds for job step to finish.",
                 r"slurmstepd(-n\d)?: error: \*\*\* STEP \d+.0 ON n\d CANCELLED AT \S+ \*\*\*",
                 r"srun: error: n\d: task 0: Terminated"):
        assert re.search(f"^{line}$", told, re.MULTILINE), told
    cluster.wait_state(job, "CANCELLED")


@pytest.mark.machine(kill_wait=30)
def test_the_end_of_a_job_leaves_its_steps_their_time(cluster):
    """SIGTERM reaches srun, too, which wants to kill its step at once when it gets one: not while the job ends."""
    job = cluster.submit("trap : TERM\n"
                         "srun sh -c 'trap \"sleep 0.5; echo saved; exit 0\" TERM; touch started\n"
                         "while :; do sleep 0.1; done'\necho srun $?")
    started(cluster, job)
    cluster.run("scancel", job, check=0)
    poll(lambda: cluster.queue() == [], 20, "the end of the job's processes")
    text = (cluster.work / f"slurm-{job}.out").read_text()
    assert "srun: forcing job termination\n" in text and "saved\n" in text and "srun 0\n" in text, text


@pytest.mark.minke_only  # Slurm looks once a minute at most
def test_time_limit_ends_srun_with_the_reason(cluster):
    step = cluster.start("srun", "--time=1", "sleep", "100")
    _, told = step.communicate(timeout=480)
    assert step.returncode == 143
    assert "DUE TO TIME LIMIT ***" in told and "task 0: Terminated" in told


def test_salloc_whose_allocation_is_cancelled(cluster):
    held = cluster.start("salloc", "sh", "-c", "touch up; exec sleep 600")
    poll((cluster.work / "up").exists)
    [job] = cluster.queue("-t", "R", format="%i")
    cluster.run("scancel", job, check=0)
    _, told = held.communicate(timeout=120)
    assert held.returncode == 0
    assert told == f"salloc: Granted job allocation {job}\nsalloc: Nodes n1 are ready for job\nsalloc: Job allocation {job} has been revoked.\n"


@pytest.mark.timeout(1800)
def test_time_limit_of_a_step(cluster):
    """The step ends as TIMEOUT, the job goes on."""
    job = cluster.submit("srun -t 1 sleep 200; echo status $?; srun true", "-t", "10", "-n1", "--mem=100M")
    poll(lambda: cluster.run("squeue", "-hs", "-j", job, "-o", "%i %l").stdout.startswith(f"{job}.0"))
    text = cluster.output(job, seconds=120)
    assert f"*** STEP {job}.0 ON n" in text and "DUE TO TIME LIMIT ***" in text and "status 143\n" in text
    assert f"srun: Force Terminated StepId={job}.0\n" in text
    assert ["TIMEOUT", "0:15"] in [row[1:] for row in cluster.sacct("-j", str(job)) if row[0] == f"{job}.0"]
