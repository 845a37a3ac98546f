"""Heterogeneous jobs: components that start and end together."""
import re

import pytest

from cluster import ENDED, Machine, poll, written

HET = """#!/bin/bash
#SBATCH -n1 --mem=100
#SBATCH hetjob
#SBATCH -n2 --mem=200
{}
"""
HOLD_ON = "env > env.$SLURM_JOB_ID; touch started; while [ ! -e finish ]; do sleep 0.1; done"


def submit(cluster, text: str, *options) -> int:
    return cluster.submit(HET.format(text), *options)


def states(cluster, job) -> list[str]:
    return [one["JobState"] for one in cluster.jobs(job)]


def test_components_start_and_end_together(cluster):
    job = submit(cluster, HOLD_ON)
    poll(lambda: (cluster.work / "started").exists())
    first, second = cluster.jobs(job)
    assert (first["JobId"], first["HetJobId"], first["HetJobOffset"]) == (str(job), str(job), "0")
    assert (second["JobId"], second["HetJobId"], second["HetJobOffset"]) == (str(job + 1), str(job), "1")
    assert first["HetJobIdSet"] == second["HetJobIdSet"] == f"{job}-{job + 1}"
    assert (first["NumCPUs"], second["NumCPUs"]) == ("1", "2")
    assert [one["JobId"] for one in cluster.jobs(f"{job}+1")] == [str(job + 1)]
    assert states(cluster, job) == ["RUNNING", "RUNNING"]
    environment = dict(line.split("=", 1) for line in (cluster.work / f"env.{job}").read_text().splitlines()
                       if re.match(r"SLURM_\w+=", line))
    assert environment["SLURM_HET_SIZE"] == "2"
    assert environment["SLURM_JOB_ID"] == environment["SLURM_JOB_ID_HET_GROUP_0"] == str(job)
    assert environment["SLURM_JOB_ID_HET_GROUP_1"] == environment["SLURM_JOB_ID_PACK_GROUP_1"] == str(job + 1)
    assert environment["SLURM_NTASKS_HET_GROUP_1"] == "2" and environment["SLURM_MEM_PER_NODE_HET_GROUP_1"] == "200"
    assert environment["SLURM_JOB_NODELIST_HET_GROUP_1"] == second["NodeList"]
    (cluster.work / "finish").touch()
    poll(lambda: states(cluster, job) == ["COMPLETED", "COMPLETED"])


@pytest.mark.machine(nodes=1, cpus=3)
def test_all_or_none(cluster):
    blocker = cluster.submit("touch blocks; while [ ! -e go ]; do sleep 0.1; done")
    poll(lambda: (cluster.work / "blocks").exists())
    job = submit(cluster, "true")
    small = cluster.submit("true", "--time=1")
    cluster.wait_state(small, *ENDED)  # there is room, but not for both components
    assert states(cluster, job) == ["PENDING", "PENDING"]
    (cluster.work / "go").touch()
    cluster.wait_state(blocker, "COMPLETED")
    poll(lambda: states(cluster, job) == ["COMPLETED", "COMPLETED"])


def test_an_error_of_a_filter_names_the_job(new_cluster):
    """One component of a waiting job is not cancelled; the error says of which job."""
    extra = '[[partition]]\nname = "other"\nnodes = "n1"\n'
    cluster = new_cluster("two", Machine(nodes=2, cpus=2, extra=extra))
    job = cluster.sbatch("--hold", "-n1", ":", "-n1", "-p", "other", "--wrap=true")
    refused = cluster.run("scancel", "-p", "other", check=1).stderr
    assert refused == (f"scancel: error: Kill job error on job id {job + 1}: "
                       "Operation not permitted on individual component of heterogeneous job\n")


@pytest.mark.minke_only  # Slurm says nothing of it
@pytest.mark.machine(nodes=1, cpus=2)
def test_what_can_never_run_at_once_waits(cluster):
    """Each component could run: the job is taken, as in Slurm, and its user warned."""
    taken = cluster.run("sbatch", "--parsable", cluster.script(HET.format("true")), check=0)
    assert "warning: nothing here can run this job as it is: the components fit one by one" in taken.stderr
    later = cluster.submit("true")
    cluster.wait_state(later, "COMPLETED")
    assert states(cluster, taken.stdout.strip()) == ["PENDING", "PENDING"]
    cluster.run("scancel", taken.stdout.strip(), check=0)
    assert states(cluster, taken.stdout.strip()) == ["CANCELLED", "CANCELLED"]
    too_large = cluster.run("sbatch", "-n1", ":", "-n3", cluster.script("true"))
    assert too_large.returncode == 1 and "More processors requested than permitted" in too_large.stderr


def test_held_and_cancelled_as_one(cluster):
    job = submit(cluster, "true", "--hold")
    assert states(cluster, job) == ["PENDING", "PENDING"]
    for one in f"{job}+1", job + 1:
        refused = cluster.run("scancel", one)
        assert refused.returncode != 0 and refused.stderr == (
            f"scancel: error: Kill job error on job id {one}: "
            "Operation not permitted on individual component of heterogeneous job\n")
    cluster.run("scontrol", "update", f"jobid={job}", "comment=both", check=0)
    cluster.run("scontrol", "update", f"jobid={job}+1", "timelimit=5", check=0)
    first, second = cluster.jobs(job)
    assert first["Comment"] == second["Comment"] == "both"
    assert (first["TimeLimit"], second["TimeLimit"]) == ("UNLIMITED", "00:05:00")
    cluster.run("scancel", job, check=0)
    assert states(cluster, job) == ["CANCELLED", "CANCELLED"]


def test_a_component_can_end_alone_and_the_first_ends_all(cluster):
    job = submit(cluster, HOLD_ON)
    poll(lambda: (cluster.work / "started").exists())
    cluster.run("scancel", f"{job}+1", check=0)
    poll(lambda: states(cluster, job) == ["RUNNING", "CANCELLED"])
    cluster.run("scancel", job, check=0)
    poll(lambda: states(cluster, job) == ["CANCELLED", "CANCELLED"])


def test_suspended_as_one(cluster):
    job = submit(cluster, HOLD_ON)
    poll(lambda: (cluster.work / "started").exists())
    refused = cluster.run("scontrol", "suspend", job + 1)
    assert "Operation not permitted on individual component" in refused.stderr
    cluster.run("scontrol", "suspend", job, check=0)
    assert states(cluster, job) == ["SUSPENDED", "SUSPENDED"]
    cluster.run("scontrol", "resume", job, check=0)
    assert states(cluster, job) == ["RUNNING", "RUNNING"]


@pytest.mark.minke_only
def test_requeued_as_one(cluster):
    job = submit(cluster, "echo ran >> runs; [ $(wc -l < runs) = 2 ] || while :; do sleep 0.1; done")
    poll(lambda: written(cluster.work / "runs"))
    cluster.run("scontrol", "requeue", job, check=0)
    poll(lambda: states(cluster, job) == ["COMPLETED", "COMPLETED"])
    assert (cluster.work / "runs").read_text() == "ran\nran\n"
    assert [one["Restarts"] for one in cluster.jobs(job)] == ["1", "1"]


@pytest.mark.minke_only
def test_jobs_may_wait_for_them(cluster):
    job = submit(cluster, "exit 3")
    ok, bad = cluster.submit("true", f"--dependency=afterok:{job}"), cluster.submit("true", f"-dafternotok:{job}")
    cluster.wait_state(bad, "COMPLETED")
    poll(lambda: cluster.job(ok)["Reason"] == "DependencyNeverSatisfied")
    poll(lambda: states(cluster, job) == ["FAILED", "FAILED"])


@pytest.mark.minke_only
def test_daemon_killed_at_any_time(cluster):
    """Whatever the moment, both components run, once, and end."""
    jobs = []
    for _ in range(8):
        jobs.append(submit(cluster, "echo $SLURM_JOB_ID $SLURM_JOB_ID_HET_GROUP_1 >> ran; sleep 0.2"))
        cluster.kill()
    poll(lambda: all(states(cluster, job) == ["COMPLETED", "COMPLETED"] for job in jobs), 60)
    assert sorted((cluster.work / "ran").read_text().splitlines()) == sorted(f"{job} {job + 1}" for job in jobs)


@pytest.mark.minke_only
def test_daemon_killed_while_one_runs(cluster):
    job = submit(cluster, HOLD_ON)
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill()
    assert states(cluster, job) == ["RUNNING", "RUNNING"]
    waiting = submit(cluster, "true", "--hold")
    cluster.kill()
    assert [one["HetJobOffset"] for one in cluster.jobs(waiting)] == ["0", "1"]
    (cluster.work / "finish").touch()
    poll(lambda: states(cluster, job) == ["COMPLETED", "COMPLETED"])
    cluster.run("scontrol", "release", waiting, check=0)
    poll(lambda: states(cluster, waiting) == ["COMPLETED", "COMPLETED"])


PAIR = "#SBATCH -n2 -w n1 --mem=100M\n#SBATCH hetjob\n#SBATCH -n1 -w n2 --mem=100M\n"


def steps_of(cluster, commands):
    job = cluster.submit(PAIR + commands)
    return job, cluster.output(job).splitlines()


def test_step_over_all_components(cluster):
    """Its tasks see one step: numbers, nodes and lists go on from component to component."""
    names = "PROCID NTASKS NODEID NNODES STEP_NODELIST JOB_ID GTIDS"
    show = "echo " + " ".join(f"$SLURM_{name}" for name in names.split())
    job, lines = steps_of(cluster, f"srun --het-group=0,1 -l bash -c '{show}'")
    assert sorted(lines) == [f"0: 0 3 0 2 n[1-2] {job} 0,1", f"1: 1 3 0 2 n[1-2] {job} 0,1",
                             f"2: 2 3 1 2 n[1-2] {job} 2"]


@pytest.mark.parametrize("line", ["srun {} : {}", "srun --het-group=0 {} : --het-group=1 {}"])
def test_a_program_for_each_component(cluster, line):
    first, second = "bash -c 'echo A $SLURM_PROCID'", "bash -c 'echo B $SLURM_PROCID; exit 3'"
    _, lines = steps_of(cluster, line.format(first, second) + "; echo status $?")
    assert sorted(line for line in lines if "error" not in line) == ["A 0", "A 1", "B 2", "status 3"]
    assert "srun: error: n2: task 0: Exited with exit code 3" in lines


def test_steps_of_all_components_have_one_number(cluster):
    job, _ = steps_of(cluster, "srun true; srun --het-group=1 true; srun --het-group=0-1 true")
    cluster.wait_end(job)
    steps = {row[0] for row in cluster.sacct("-j", str(job))}
    assert {f"{job}+0.0", f"{job}+1.1", f"{job}+0.2", f"{job}+1.2"} <= steps
    assert not {f"{job}+1.0", f"{job}+0.1"} & steps


@pytest.mark.parametrize("options, says", [
    ("--het-group=0 true : --het-group=5 true", "Attempt to run a job step with het group value of 5, but the job "
     "allocation has maximum value of 1"),
    ("--het-group=0-1 true : --het-group=1 true", "Duplicate het groups in single srun not supported"),
    ("--het-group=x true", "Invalid --het-group value: x")])
def test_components_that_are_not_there(cluster, options, says):
    _, lines = steps_of(cluster, f"srun {options}; echo status $?")
    assert any(says in line for line in lines) and lines[-1] == "status 1"


def test_srun_asks_for_a_job_of_several_components(cluster):
    script = "echo $SLURM_PROCID of $SLURM_NTASKS"
    done = cluster.run("srun", "-n1", "--mem=100M", "bash", "-c", script,
                       ":", "-n2", "--mem=100M", "bash", "-c", script, check=0)
    assert sorted(done.stdout.splitlines()) == ["0 of 3", "1 of 3", "2 of 3"]
    poll(lambda: cluster.queue() == [])


@pytest.mark.machine(nodes=2, cpus=2)
def test_components_have_nodes_of_their_own(cluster):
    done = cluster.run("salloc", "-Q", "-N1", ":", "-N1", "squeue", "-h", "-o", "%N", check=0)
    assert sorted(done.stdout.split()) == ["n1", "n2"]


def test_a_filter_finds_the_whole_by_its_first_component(cluster):
    job = cluster.sbatch("--hold", "-J", "one", ":", "-J", "two", "--wrap=true")
    refused = cluster.run("scancel", "-n", "two", check=1)
    assert "Operation not permitted on individual component of heterogeneous job" in refused.stderr
    assert states(cluster, job) == ["PENDING", "PENDING"]
    cluster.run("scancel", "-n", "one", check=0)
    assert states(cluster, job) == ["CANCELLED", "CANCELLED"]
    job = cluster.sbatch("--hold", ":", "--wrap=true")
    assert cluster.run("scancel", "--me", check=0).stderr == ""
    assert states(cluster, job) == ["CANCELLED", "CANCELLED"]
