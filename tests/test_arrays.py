"""Job arrays: their tasks, throttle, names, and what is done to one or all of them."""
import time

import pytest

from cluster import poll


def test_every_task_runs_once(cluster):
    job = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> ran", "--array=0-9,15,20-24:2")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert sorted(map(int, (cluster.work / "ran").read_text().split())) == [*range(10), 15, 20, 22, 24]


def test_throttle(cluster):
    job = cluster.submit('touch "running.$SLURM_ARRAY_TASK_ID"; ls running.* | wc -l >> seen; sleep 0.3; '
                         'rm "running.$SLURM_ARRAY_TASK_ID"', "--array=0-5%2")
    assert cluster.job(job)["ArrayTaskThrottle"] == "2" if len(cluster.jobs(job)) == 1 else True
    cluster.wait_end(job)
    seen = [int(word) for word in (cluster.work / "seen").read_text().split()]
    assert len(seen) == 6 and max(seen) <= 2


def test_throttle_is_the_reason_that_is_shown(cluster):
    job = cluster.submit("sleep 600", "--array=0-3%1")
    poll(lambda: f"{job}_0 RUNNING None" in cluster.queue(format="%i %T %r"))
    poll(lambda: f"{job}_[1-3%1] PENDING JobArrayTaskLimit" in cluster.queue(format="%i %T %r"), 70)
    cluster.run("scancel", job, check=0)


def test_waiting_tasks_are_one_line(cluster):
    job = cluster.submit("true", "--array=1-3,7-8%2", "--hold")
    assert cluster.queue() == [f"{job}_[1-3,7-8%2] PENDING"]
    assert sorted(cluster.queue("-r")) == [f"{job}_{index} PENDING" for index in (1, 2, 3, 7, 8)]
    assert cluster.queue("-j", f"{job}_7", "-r") == [f"{job}_7 PENDING"]


def test_states_alone_name_each_waiting_task(cluster):
    """As in Slurm 24.11: without a step, without a throttle."""
    job = cluster.submit("true", "--array=1-17:2%3", "--hold")
    assert cluster.queue() == [f"{job}_[1-17:2%3] PENDING"]
    assert cluster.queue("--only-job-state") == [f"{job}_[1,3,5,7,9,11,13,15,17] PENDING"]
    assert cluster.run("squeue", "-h", "--only-job-state", "-O", "ArrayTaskID:40").stdout.split() == ["1,3,5,7,9,11,13,15,17"]


def test_each_task_has_an_exit_code_of_its_own(cluster):
    job = cluster.submit("exit $SLURM_ARRAY_TASK_ID", "--array=0-3")
    cluster.wait_end(job)
    states = {one["ArrayTaskId"]: (one["JobState"], one["ExitCode"]) for one in cluster.jobs(job)}
    assert states == {"0": ("COMPLETED", "0:0"), "1": ("FAILED", "1:0"), "2": ("FAILED", "2:0"), "3": ("FAILED", "3:0")}


def test_cancelling_some_tasks(cluster):
    job = cluster.submit("true", "--array=0-9", "--hold")
    cluster.run("scancel", f"{job}_[2-4,9]", check=0)
    assert sorted(cluster.queue("-r")) == [f"{job}_{index} PENDING" for index in (0, 1, 5, 6, 7, 8)]
    cluster.run("scancel", f"{job}_0", f"{job}_1", check=0)
    assert cluster.queue() == [f"{job}_[5-8] PENDING"]
    cluster.run("scancel", job, check=0)
    assert cluster.queue() == []


def test_holding_an_array(cluster):
    job = cluster.submit("true", "--array=0-1", "--hold")
    cluster.run("scontrol", "release", job, check=0)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"


def test_wait_for_an_array(cluster):
    began = time.monotonic()
    done = cluster.run("sbatch", "--wait", "--array=0-2", cluster.script("sleep 0.5; touch done.$SLURM_ARRAY_TASK_ID"))
    assert done.returncode == 0 and len(list(cluster.work.glob("done.*"))) == 3
    assert time.monotonic() - began >= 0.5


def test_array_of_one(cluster):
    job = cluster.submit("echo $SLURM_ARRAY_TASK_COUNT", "--array=5")
    cluster.wait_end(job)
    assert (cluster.work / f"slurm-{job}_5.out").read_text() == "1\n"


def test_waiting_tasks_that_are_cancelled_are_gone(cluster):
    job = cluster.submit("true", "--array=0-7", "--hold", "--output=/dev/null")
    cluster.run("scancel", f"{job}_7", check=0)
    cluster.run("scancel", f"{job}_[2-3]", check=0)
    for task in "7", "2":
        gone = cluster.run("scontrol", "show", "job", f"{job}_{task}")
        assert (gone.returncode, gone.stdout) == (1, f"Job {job}_{task} not found\n")
    assert cluster.run("squeue", "-h", "-tall", "-o", "%i").stdout == f"{job}_[0-1,4-6]\n"
    cluster.run("scancel", job, check=0)
    poll(lambda: cluster.run("squeue", "-h", "-tall", "-o", "%i %T").stdout == f"{job}_[0-1,4-6] CANCELLED\n")


@pytest.mark.minke_only
def test_many_tasks_cancelled_at_once_are_one_record(cluster):
    job = cluster.submit("true", "--array=0-4000000%2", "--hold", "--output=/dev/null")
    cluster.run("scancel", f"{job}_[1000-3999999]", check=0)
    cluster.run("scontrol", "update", f"jobid={job}", "arraytaskthrottle=5", check=0)
    cluster.run("scontrol", "hold", f"{job}_7", check=0)
    cluster.kill()
    assert sorted(cluster.queue(format="%i")) == [f"{job}_7", f"{job}_[0-6,8-999,4000000%5]"]
    assert [f"{job}_[1000-3999999]", "CANCELLED"] in [
        [one, state.split()[0]] for one, state, _ in cluster.sacct("-X", "-j", job)]
    cluster.run("scancel", job, check=0)
    assert cluster.queue() == []
