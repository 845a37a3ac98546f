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


def test_after_the_beginning(cluster):
    one = cluster.submit("sleep 60", "--hold")
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
