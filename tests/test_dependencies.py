"""Jobs that wait for others."""
import pytest

from cluster import poll


@pytest.mark.parametrize("kind, first, runs", [
    ("afterany", "exit 0", True), ("afterany", "exit 1", True), ("afterok", "exit 0", True),
    ("afternotok", "exit 1", True), ("afterok", "exit 1", False), ("afternotok", "exit 0", False)])
def test_kinds(cluster, kind, first, runs):
    one = cluster.submit(first, "--hold", "--output=/dev/null")
    two = cluster.submit("true", f"--dependency={kind}:{one}")
    assert cluster.job(two)["Reason"] == "Dependency"
    assert cluster.job(two)["Dependency"] == f"{kind}:{one}(unfulfilled)"
    cluster.run("scontrol", "release", one, check=0)
    cluster.wait_end(one)
    if runs:
        cluster.wait_state(two, "COMPLETED")
    else:
        poll(lambda: cluster.job(two)["Reason"] == "DependencyNeverSatisfied", 90, "the dependency's failure")
        assert cluster.state(two) == "PENDING"


def test_never_satisfied_can_end_the_job(cluster):
    one = cluster.submit("exit 1")
    two = cluster.submit("true", f"--dependency=afterok:{one}", "--kill-on-invalid-dep=yes")
    cluster.wait_state(two, "CANCELLED")
    assert cluster.sacct("-X", "-j", two, format="State") == [["CANCELLED"]]  # by nobody


def test_after_the_beginning(cluster):
    one = cluster.submit("sleep 600", "--hold")
    two = cluster.submit("true", f"--dependency=after:{one}")
    assert cluster.state(two) == "PENDING"
    cluster.run("scontrol", "release", one, check=0)
    cluster.wait_state(two, "COMPLETED")
    assert cluster.state(one) == "RUNNING"


def test_singleton(cluster):
    one = cluster.submit("sleep 1", "--job-name=only")
    two = cluster.submit("true", "--job-name=only", "--dependency=singleton")
    other = cluster.submit("true", "--job-name=other", "--dependency=singleton")
    cluster.wait_state(other, "COMPLETED")
    cluster.wait_state(two, "COMPLETED")
    assert cluster.job(two)["StartTime"] >= cluster.job(one)["EndTime"]


def test_several(cluster):
    one, two = (cluster.submit("true", "--hold") for _ in range(2))
    both = cluster.submit("true", f"--dependency=afterok:{one}:{two}")
    either = cluster.submit("true", f"--dependency=afterok:{one}?afterok:{two}")
    cluster.run("scontrol", "release", two, check=0)
    cluster.wait_state(either, "COMPLETED")
    assert cluster.state(both) == "PENDING"
    cluster.run("scontrol", "release", one, check=0)
    cluster.wait_state(both, "COMPLETED")


def test_after_an_array(cluster):
    one = cluster.submit("sleep 0.2; echo $SLURM_ARRAY_TASK_ID >> ran", "--array=0-4")
    two = cluster.submit("wc -l < ran", f"--dependency=afterok:{one}")
    assert cluster.output(two) == "5\n"


def test_after_one_task_of_an_array(cluster):
    one = cluster.submit("[ $SLURM_ARRAY_TASK_ID = 1 ]", "--array=0-1")
    good = cluster.submit("true", f"--dependency=afterok:{one}_1")
    bad = cluster.submit("true", f"--dependency=afterok:{one}_0", "--kill-on-invalid-dep=yes")
    cluster.wait_state(good, "COMPLETED")
    cluster.wait_state(bad, "CANCELLED")


def test_tasks_that_are_not_there(cluster):
    """As in Slurm: how such a task ended is not known, so it is refused; to wait for its end is no wait."""
    plain, array = cluster.submit("true", "--hold"), cluster.submit("true", "--hold", "--array=0-1")
    for what in (f"afterok:{plain}_*", f"afternotok:{plain}_1", f"afterok:{array}_9", f"afterok:{array}_[1-2]"):
        refused = cluster.run("sbatch", f"--dependency={what}", "--wrap=true", check=1)
        assert "Job dependency problem" in refused.stderr
    for what in (f"afterany:{array}_9", f"after:{array}_9", f"afterany:{array}_[8-9]"):
        cluster.wait_state(cluster.submit("true", f"--dependency={what}"), "COMPLETED")
    waiting = cluster.submit("true", f"--dependency=afterany:{plain}_*")
    assert cluster.run("squeue", "-h", "-j", str(waiting), "-o", "%E", check=0).stdout == f"afterany:{plain}_*(unfulfilled)\n"


def test_on_a_job_that_has_ended(cluster):
    one = cluster.submit("exit 0")
    cluster.wait_end(one)
    cluster.wait_state(cluster.submit("true", f"--dependency=afterok:{one}"), "COMPLETED")


def test_chain(cluster):
    jobs = []
    for index in range(5):
        after = [f"--dependency=afterok:{jobs[-1]}"] if jobs else []
        jobs.append(cluster.submit(f"echo {index} >> order", *after))
    cluster.wait_state(jobs[-1], "COMPLETED")
    assert (cluster.work / "order").read_text().split() == list("01234")


def test_dependency_can_be_taken_away(cluster):
    one = cluster.submit("true", "--hold")
    two = cluster.submit("true", f"--dependency=afterok:{one}")
    cluster.run("scontrol", "update", f"jobid={two}", "dependency=", check=0)
    cluster.wait_state(two, "COMPLETED")


@pytest.mark.machine(nodes=1, cpus=2)
def test_each_task_waits_for_its_counterpart(cluster):
    """aftercorr: a task starts when the one of its index has ended well, while the others still wait."""
    first = cluster.submit("[ $SLURM_ARRAY_TASK_ID = 3 ] && exit 1; [ $SLURM_ARRAY_TASK_ID = 1 ] && exit 0\n"
                           "while [ ! -e go ]; do sleep 0.1; done", "--array=1-3%2", "--output=/dev/null")
    second = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> ran", "--array=1-3", f"--dependency=aftercorr:{first}",
                            "--output=/dev/null")
    poll(lambda: (cluster.work / "ran").exists() and (cluster.work / "ran").read_text() == "1\n", 60)
    assert cluster.state(f"{first}_2") == "RUNNING"
    (cluster.work / "go").touch()
    poll(lambda: (cluster.work / "ran").read_text() == "1\n2\n", 60)
    cluster.wait_state(f"{first}_3", "FAILED")
    poll(lambda: cluster.job(f"{second}_3")["Reason"] == "DependencyNeverSatisfied", 90)


@pytest.mark.minke_only
def test_each_task_waits_for_its_counterpart_across_crashes(cluster):
    first = cluster.submit("[ $SLURM_ARRAY_TASK_ID != 2 ]", "--array=0-999:2", "--output=/dev/null")
    second = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> ran", "--array=0-20:4", f"--dependency=aftercorr:{first}",
                            "--output=/dev/null")
    for _ in range(3):
        cluster.queue()
        cluster.kill()
    cluster.wait_end(second, 90)
    assert len((cluster.work / "ran").read_text().split()) == 6
    late = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> late", "--array=0-2", f"--dependency=aftercorr:{first}",
                          "--output=/dev/null")
    for task in 1, 2:  # one has no counterpart, the other's failed
        poll(lambda: cluster.job(f"{late}_{task}")["Reason"] == "DependencyNeverSatisfied")
    poll(lambda: (cluster.work / "late").exists() and (cluster.work / "late").read_text() == "0\n")


def test_waiting_for_oneself_is_refused(cluster):
    one = cluster.submit("true", "--hold")
    two = cluster.submit("true", f"--dependency=afterany:{one}")
    refused = cluster.run("scontrol", "update", f"jobid={one}", f"dependency=afterany:{two}")
    assert refused.returncode == 1
    assert cluster.job(one)["Dependency"] == "(null)"


@pytest.mark.parametrize("kind", ["after", "afterany", "afterok", "afternotok"])
def test_on_a_job_that_nobody_knows(cluster, kind):
    """Old scripts have the numbers of old jobs in them: nothing is waited for, unless its ending counts."""
    if kind in ("afterok", "afternotok"):
        refused = cluster.run("sbatch", f"--dependency={kind}:987654", "--wrap=true", check=1)
        assert "Job dependency problem (there is no job 987654)" in refused.stderr
    else:
        assert cluster.output(cluster.submit("echo runs", f"--dependency={kind}:987654")) == "runs\n"
    refused = cluster.run("sbatch", f"--dependency={kind}:0", "--wrap=true", check=1)
    assert "Batch job submission failed: Job dependency problem" in refused.stderr
