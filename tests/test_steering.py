"""scontrol and scancel on jobs that wait, run or have run."""
import pathlib
import re
import signal
import time

import pytest

from cluster import Machine, poll

TICK = "while :; do date +%s%N >> ticks; sleep 0.05; done"


def ticks(cluster) -> int:
    path = cluster.work / "ticks"
    return len(path.read_text().splitlines()) if path.exists() else 0


def stands_still(cluster) -> bool:
    """Whether nothing has been written for a while (twenty times as long as it takes)."""
    before = ticks(cluster)
    time.sleep(1)
    return ticks(cluster) == before


def test_suspend_and_resume(cluster):
    job = cluster.submit(f"({TICK}) &\nwait", "--time=10")
    poll(lambda: ticks(cluster) > 3)
    cluster.run("scontrol", "suspend", job, check=0)
    assert cluster.queue() == [f"{job} SUSPENDED"]
    assert stands_still(cluster)
    suspended = cluster.job(job)
    assert suspended["JobState"] == "SUSPENDED" and suspended["SuspendTime"] != "None"
    assert cluster.run("scontrol", "suspend", job).returncode == 0
    cluster.run("scontrol", "resume", job, check=0)
    before = ticks(cluster)
    poll(lambda: ticks(cluster) > before + 3)
    resumed = cluster.job(job)
    assert resumed["JobState"] == "RUNNING"
    # The limit has moved by the time that it stood still.
    assert resumed["EndTime"] > suspended["StartTime"].replace(suspended["StartTime"][-8:], "") and \
        resumed["RunTime"] < "00:01:00"
    again = cluster.run("scontrol", "resume", job)
    assert again.returncode == 1 and again.stderr == f"Job is not suspended for job {job}\n"
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")


@pytest.mark.minke_only
def test_suspended_jobs_survive_a_crash_of_the_daemon(cluster):
    job = cluster.submit(TICK)
    poll(lambda: ticks(cluster) > 3)
    cluster.run("scontrol", "suspend", job, check=0)
    cluster.kill()
    assert cluster.state(job) == "SUSPENDED" and stands_still(cluster)
    before = ticks(cluster)
    cluster.run("scontrol", "resume", job, check=0)
    poll(lambda: ticks(cluster) > before + 3)


def test_a_suspended_job_can_be_cancelled(cluster):
    job = cluster.submit(TICK)
    poll(lambda: ticks(cluster) > 0)
    cluster.run("scontrol", "suspend", job, check=0)
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
    poll(lambda: stands_still(cluster))


def test_suspend_what_does_not_run(cluster):
    job = cluster.submit("true", "--hold")
    for command in "suspend", "resume":
        done = cluster.run("scontrol", command, job)
        assert (done.returncode, done.stderr) == (1, f"Job is pending execution for job {job}\n")
    done = cluster.run("scontrol", "suspend", "x")
    assert (done.returncode, done.stderr) == (1, "Invalid job id specified for job x\n")


def test_requeue_of_a_job_that_has_ended(cluster):
    job = cluster.submit("echo ran >> runs")
    cluster.wait_end(job)
    cluster.run("scontrol", "requeue", job, check=0)
    poll(lambda: (cluster.work / "runs").read_text() == "ran\nran\n", 200)
    ended = cluster.wait_end(job)
    assert ended["JobState"] == "COMPLETED" and ended["Restarts"] == "1"


@pytest.mark.minke_only
def test_requeue_of_a_task_that_has_ended(cluster):
    job = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> runs", "--array=1-3")
    cluster.wait_end(job)
    cluster.run("scontrol", "requeue", f"{job}_2", check=0)
    poll(lambda: sorted((cluster.work / "runs").read_text().split()) == ["1", "2", "2", "3"])
    assert cluster.wait_end(f"{job}_2")["Restarts"] == "1"
    after = cluster.submit("true", f"--dependency=afterok:{job}")
    cluster.wait_state(after, "COMPLETED")


def test_requeue_of_incomplete_tasks(cluster):
    job = cluster.submit("echo $SLURM_ARRAY_TASK_ID >> runs; test $SLURM_ARRAY_TASK_ID = 1 || sleep 1000", "--array=1-2")
    cluster.wait_end(f"{job}_1")
    cluster.wait_state(f"{job}_2", "RUNNING")
    cluster.run("scontrol", "requeue", "Incomplete", job, check=0)
    poll(lambda: (cluster.work / "runs").exists() and (cluster.work / "runs").read_text().split().count("2") == 2, 200)
    assert (cluster.work / "runs").read_text().split().count("1") == 1
    cluster.run("scancel", job, check=0)
    cluster.wait_end(f"{job}_2")
    nothing = cluster.run("scontrol", "requeue", "incomplete", job)
    assert (nothing.returncode, nothing.stdout, nothing.stderr) == (0, "", "")


def test_requeue_as_special_exit(cluster):
    job = cluster.submit("touch started; sleep 1000")
    poll(lambda: (cluster.work / "started").exists())
    cluster.run("scontrol", "requeuehold", "State=SpecialExit", job, check=0)
    held = cluster.wait_state(job, "SPECIAL_EXIT")
    assert held["Reason"] == "job_requeued_in_held_state" and held["Priority"] == "0"
    assert cluster.queue(format="%i %T %t %r") == [f"{job} SPECIAL_EXIT SE job requeued in held state"]
    poll(lambda: re.search("CANCELLED AT .* DUE TO JOB REQUEUE \\*\\*\\*", (cluster.work / f"slurm-{job}.out").read_text()))
    cluster.run("scontrol", "release", job, check=0)
    cluster.wait_state(job, "PENDING", "RUNNING")
    cluster.run("scancel", job, check=0)


def test_hold_by_name(cluster):
    blocker = cluster.submit("sleep 1000", "-N2", "--exclusive")
    cluster.wait_state(blocker, "RUNNING")
    jobs = [cluster.submit("true", "-J", name) for name in ("a", "b", "a")]
    cluster.run("scontrol", "hold", "jobname=a", check=0)
    assert [cluster.job(job)["Priority"] == "0" for job in jobs] == [True, False, True]
    cluster.run("scontrol", "release", "name=a", check=0)
    assert [cluster.job(job)["Priority"] == "0" for job in jobs] == [False] * 3
    assert cluster.run("scontrol", "hold", "jobname=nobody").returncode == 0
    done = cluster.run("scontrol", "hold", "a")
    assert done.returncode == 1 and "Invalid job id specified for job a" in done.stderr


def test_jobs_named_with_their_key(cluster):
    """As `scontrol show` and `update` have them."""
    job = cluster.submit("sleep 1000", "--hold")
    cluster.run("scontrol", "release", f"jobid={job}", check=0)
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "suspend", f"JobId={job}", check=0)
    assert cluster.job(job)["JobState"] == "SUSPENDED"
    cluster.run("scontrol", "resume", f"job={job}", check=0)
    assert cluster.job(job)["JobState"] == "RUNNING"
    other = cluster.submit("true", "--begin=now+1hour")
    cluster.run("scontrol", "hold", f"JOB={other}", check=0)
    assert cluster.job(other)["Priority"] == "0"
    done = cluster.run("scontrol", "hold", "jobid=x")
    assert done.returncode == 1 and "Invalid job id specified for job" in done.stderr


@pytest.mark.minke_only
def test_top(cluster):
    blocker = cluster.submit("sleep 1000", "-N2", "--exclusive")
    cluster.wait_state(blocker, "RUNNING")
    jobs = [cluster.submit("true") for _ in range(4)]
    cluster.run("scontrol", "top", f"{jobs[3]},{jobs[1]}", check=0)
    order = [int(line.split()[0]) for line in cluster.queue("--state=PD", "--sort=-p")]
    assert order == [jobs[3], jobs[1], jobs[0], jobs[2]]
    held = cluster.submit("true", "--hold")
    done = cluster.run("scontrol", "top", held)
    assert (done.returncode, done.stderr) == (
        1, f"Job is in held state, pending scheduler release for job {held}\n")


def test_notify(cluster):
    job = cluster.submit("touch started; sleep 1000")
    poll(lambda: (cluster.work / "started").exists())
    cluster.run("scontrol", "notify", job, "hello", "world", check=0)
    poll(lambda: "error: hello world\n" in (cluster.work / f"slurm-{job}.out").read_text())
    done = cluster.run("scontrol", "notify", "4000", "hello")
    assert (done.returncode, done.stderr) == (1, "job notify failure: Invalid job id specified\n")


@pytest.mark.minke_only
def test_notify_an_allocation(cluster):
    allocation = cluster.start("salloc", "sh", "-c", "touch started; while [ ! -e finish ]; do sleep 0.1; done",
                               stderr=open(cluster.work / "err", "wb"))
    poll(lambda: (cluster.work / "started").exists())
    cluster.run("scontrol", "notify", 1, "hello", check=0)
    poll(lambda: "salloc: hello\n" in (cluster.work / "err").read_text())
    (cluster.work / "finish").touch()
    assert allocation.wait(120) == 0


@pytest.mark.minke_only
def test_list_processes(cluster):
    job = cluster.submit("srun sh -c ': > started; sleep 1000; true' &\nwait", "-n1", "--overcommit")
    poll(lambda: (cluster.work / "started").exists())

    def listed() -> list[list[str]]:
        return [line.split() for line in cluster.run("scontrol", "listpids", job, check=0).stdout.splitlines()]

    lines = poll(lambda: (now := listed()) and [str(job), "0", "-", "-"] in [line[1:] for line in now] and now)
    assert lines[0] == ["PID", "JOBID", "STEPID", "LOCALID", "GLOBALID"]
    assert [str(job), "batch", "0", "0"] in [line[1:] for line in lines]
    assert [str(job), "0", "0", "0"] in [line[1:] for line in lines]
    for pid, *_ in lines[1:]:
        assert pathlib.Path(f"/proc/{pid}").exists()
    of_step = cluster.run("scontrol", "listpids", f"{job}.0", check=0).stdout
    assert "batch" not in of_step and len(of_step.splitlines()) == 3
    assert cluster.run("scontrol", "listpids", 4000).returncode == 1


LICENSES = "[licenses]\nmatlab = 2\nansys = 1\n"


@pytest.mark.minke_only
@pytest.mark.machine(extra=LICENSES)
def test_licenses(cluster):
    def shown():
        return cluster.run("scontrol", "-o", "show", "licenses", check=0).stdout
    assert shown() == ("LicenseName=ansys Total=1 Used=0 Free=1 Reserved=0 Remote=no\n"
                       "LicenseName=matlab Total=2 Used=0 Free=2 Reserved=0 Remote=no\n")
    one = cluster.submit("touch started; sleep 1000", "--licenses=matlab:2")
    two = cluster.submit("true", "--licenses=matlab")
    poll(lambda: (cluster.work / "started").exists())
    assert "LicenseName=matlab Total=2 Used=2 Free=0" in shown()
    assert cluster.job(two)["Reason"] == "Licenses" and cluster.job(two)["Licenses"] == "matlab"
    cluster.kill()
    assert "LicenseName=matlab Total=2 Used=2 Free=0" in shown()
    cluster.run("scancel", one, check=0)
    cluster.wait_state(two, "COMPLETED")
    for wrong in "matlab:3", "nastran", "matlab:x":
        refused = cluster.run("sbatch", "--licenses", wrong, cluster.script("true"))
        assert refused.returncode == 1 and "Invalid license specification" in refused.stderr


@pytest.mark.minke_only
def test_reconfigure(cluster):
    cluster.run("sinfo", check=0)
    path = cluster.directory / "minke.toml"
    path.write_text(path.read_text().replace('default = true', 'default = true\nmax_time = "10"'))
    cluster.run("scontrol", "reconfigure", check=0)
    assert "MaxTime=00:10:00" in cluster.run("scontrol", "show", "partition", "main").stdout
    path.write_text(path.read_text().replace("cpus = 2", "cpus = 3"))
    refused = cluster.run("scontrol", "reconfigure")
    assert refused.returncode == 1 and "are read at start" in refused.stderr
    assert "CPUTot=2" in cluster.run("scontrol", "show", "node", "n1").stdout


def test_scancel_filters(cluster):
    jobs = {name: cluster.submit("true", "--hold", "-J", name, f"--wckey={name}") for name in "abc"}
    assert cluster.run("scancel", "-n", "nobody").returncode == 0
    cluster.run("scancel", "--name=a", jobs["b"], check=0)  # both must hold
    assert cluster.state(jobs["a"]) == cluster.state(jobs["b"]) == "PENDING"
    cluster.run("scancel", "--state=RUNNING", "--me", check=0)
    assert cluster.state(jobs["a"]) == "PENDING"
    cluster.run("scancel", "--me", check=0, env={"SCANCEL_NAME": "a,b"})
    assert [cluster.state(jobs[name]) for name in "abc"] == ["CANCELLED", "CANCELLED", "PENDING"]
    done = cluster.run("scancel", "--state=PENDING,foo", "--me")
    assert (done.returncode, done.stderr) == (
        1, "Invalid job state specified: PENDING,foo\nValid job states are PENDING, RUNNING, and SUSPENDED\n")
    done = cluster.run("scancel", "-u", "nosuchuser")
    assert (done.returncode, done.stderr) == (1, "scancel: error: Invalid user name: nosuchuser\n")
    assert cluster.run("scancel", "-i", jobs["c"], input="n\n").stdout.endswith("[y/n]? ")
    assert cluster.state(jobs["c"]) == "PENDING"
    cluster.run("scancel", "-i", jobs["c"], input="y\n", check=0)
    assert cluster.state(jobs["c"]) == "CANCELLED"


def test_scancel_says_what_it_does(cluster):
    job = cluster.submit("true", "--hold")
    assert f"scancel: Terminating job {job}\n" in cluster.run("scancel", "-v", job, check=0).stderr
    done = cluster.run("scancel", "-v", 4000)
    assert "scancel: error: Kill job error on job id 4000: Invalid job id specified" in done.stderr
    assert cluster.run("scancel", 4000).stderr == ""


@pytest.mark.machine(nodes=1, cpus=4)
def test_a_throttle_counts_single_tasks_too(cluster):
    job = cluster.submit("sleep 0.3", "--array=1-8%2", "--hold")
    for task in range(1, 6):
        cluster.run("scontrol", "release", f"{job}_{task}", check=0)
    most = 0

    def finished():
        nonlocal most
        most = max(most, len(cluster.queue("--state=R")))
        return all(one["JobState"] == "COMPLETED" for one in cluster.jobs(job) if one["ArrayTaskId"] in "12345")
    poll(finished, 60)
    assert 1 <= most <= 2
    cluster.run("scancel", job, check=0)


@pytest.mark.minke_only
def test_texts_where_there_is_nothing(cluster):
    for words, text in (("show reservation", "No reservations in the system\n"),
                        ("show licenses", "No licenses configured in Slurm.\n"),
                        ("show aliases", "n1 n2\n"), ("show daemons", "slurmctld slurmd\n"),
                        ("completing", ""), ("errnumstr 2017", "Invalid job id specified\n"),
                        ("errnumstr 2", "No such file or directory\n"), ("errnumstr 4000", "Unknown error 4000\n"),
                        ("setdebug debug2", ""), ("setdebugflags +backfill", ""), ("cluster", "")):
        assert cluster.run("scontrol", *words.split(), check=0).stdout == text
    for words, text in (("show reservation x", "Reservation x not found\n"),):
        done = cluster.run("scontrol", *words.split())
        assert done.returncode == 1 and done.stdout == text
    for words, text in (("setdebug foo", "invalid debug level: foo\n"),
                        ("suspend", "too few arguments for keyword:suspend (scontrol --help lists what each takes)\n"),
                        ("delete jobid=1", "Invalid deletion entity: jobid=1\n"),
                        ("cancel_reboot n1", "slurm_update error: Invalid node state specified\n"),
                        ("abort", "invalid keyword: abort\n"),
                        ("schedloglevel 1", "slurm_set_schedlog_level error: Requested operation is presently disabled\n")):
        done = cluster.run("scontrol", *words.split())
        assert done.returncode == 1 and done.stderr == text, words


def test_states_of_nodes(cluster):
    done = cluster.run("scontrol", "update", "nodename=n1", "state=drain")
    assert (done.returncode, done.stderr) == (
        1, "You must specify a reason when DOWNING or DRAINING a node. Request denied\n")
    done = cluster.run("scontrol", "update", "nodename=n1", "state=foo")
    assert done.returncode == 1 and done.stderr.startswith("Invalid input: state=foo\nRequest aborted\nValid states are:")
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=bad", check=0)
    assert "State=IDLE+DRAIN" in cluster.run("scontrol", "show", "node", "n1").stdout
    cluster.run("scontrol", "update", "nodename=n1", "state=undrain", check=0)
    assert "DRAIN" not in cluster.run("scontrol", "show", "node", "n1").stdout
    done = cluster.run("scontrol", "update", "nodename=n9", "state=resume")
    assert done.returncode == 1 and "Invalid node name specified" in done.stderr


def test_more_cpus_are_not_more_tasks(cluster):
    job = cluster.submit("true", "--hold")
    cluster.run("scontrol", "update", f"jobid={job}", "numcpus=2", check=0)
    shown = cluster.job(job)
    assert (shown["NumCPUs"], shown["NumTasks"]) == ("2", "1")


def test_the_end_of_a_running_job_can_be_moved(cluster):
    job = cluster.submit("sleep 300", "--time=10")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", f"jobid={job}", "endtime=now+30minutes", check=0)
    assert cluster.job(job)["TimeLimit"] in ("00:30:00", "00:31:00")
    waits = cluster.submit("true", "--hold")
    refused = cluster.run("scontrol", "update", f"jobid={waits}", "endtime=now+30minutes", check=1)
    assert "Job is not running" in refused.stderr


def test_all_of_a_waiting_job_s_request_can_be_changed(cluster):
    job = cluster.submit("true", "--hold")
    for change in ("reqsockets=1", "reqcores=1", "reqthreads=1", "tasksPerNode=2", "delayboot=5", "oversubscribe=yes",
                   "switches=2@1"):
        cluster.run("scontrol", "update", f"jobid={job}", change, check=0)
    shown = cluster.job(job)
    assert (shown["Socks/Node"], shown["ReqB:S:C:T"], shown["DelayBoot"], shown["OverSubscribe"], shown["Switches"]) == \
        ("1", "0:0:1:1", "00:05:00", "YES", "2@00:01:00")
    assert shown["NtasksPerN:B:S:C"].startswith("2:")


def test_a_signal_no_time_before_the_end_is_none(cluster):
    job = cluster.submit("trap 'echo told' USR1; sleep 300 & wait; wait", "--signal=B:USR1@", "--time=1",
                         f"--output={cluster.work}/out")
    cluster.wait_state(job, "TIMEOUT", seconds=130)
    assert "told" not in (cluster.work / "out").read_text()


@pytest.mark.minke_only  # Slurm looks once a minute at most
def test_what_cannot_end_before_its_deadline_is_removed(cluster):
    job = cluster.submit("true", "--time=1", "--deadline=now+75", "--hold")
    assert cluster.state(job) == "PENDING"
    ended = cluster.wait_state(job, "DEADLINE", seconds=90)
    assert ended["Reason"] == "DeadLine"


def test_what_runs_on_a_node_that_is_set_down_fails(cluster):
    job = cluster.submit("sleep 3000", "--no-requeue", "-w", "n1")
    again = cluster.submit("sleep 3000", "--requeue", "-w", "n1")
    other = cluster.submit("sleep 3000", "-w", "n2")
    for one in (job, again, other):
        cluster.wait_state(one, "RUNNING")
    cluster.run("scontrol", "update", "nodename=n1", "state=down", "reason=broken", check=0)
    cluster.wait_state(job, "NODE_FAIL")
    assert cluster.job(job)["Reason"] == "NodeDown"
    cluster.wait_state(again, "PENDING")
    assert cluster.job(again)["Restarts"] == "1"
    assert cluster.state(other) == "RUNNING"
    poll(lambda: "DUE TO NODE FAILURE" in (cluster.work / f"slurm-{job}.out").read_text())
    cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=0)


def test_a_job_that_was_held_tells_so_when_it_is_cancelled(cluster):
    job = cluster.submit("true", "--hold")
    cluster.run("scancel", job, check=0)
    shown = cluster.job(job)
    assert (shown["JobState"], shown["Reason"], shown["EligibleTime"]) == ("CANCELLED", "JobHeldUser", "Unknown")
    assert shown["StartTime"] == shown["EndTime"]
    poll(lambda: cluster.run("sacct", "-Xnj", job, "-o", "start").stdout.split() == ["None"], what="sacct")


def test_the_exit_code_of_what_was_stopped(cluster):
    job = cluster.submit("sleep 3000")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
    assert cluster.job(job)["ExitCode"] == "0:15"
    lines = poll(lambda: cluster.run("sacct", "-nPj", job, "-o", "state,exitcode").stdout.splitlines()[1:] and
                 cluster.run("sacct", "-nPj", job, "-o", "state,exitcode").stdout.splitlines())
    assert [line.split("|")[1] for line in lines] == ["0:0", "0:15"]


def test_a_step_that_does_not_run_cannot_be_cancelled(cluster):
    job = cluster.submit("sleep 3000")
    cluster.wait_state(job, "RUNNING")
    done = cluster.run("scancel", f"{job}.7")
    assert done.returncode == 1
    assert done.stderr == f"scancel: error: Kill job error on job step id {job}.7: Invalid job id specified\n"
    assert cluster.state(job) == "RUNNING"


def test_a_running_job_that_is_held_is_held_when_it_is_requeued(cluster):
    job = cluster.submit("sleep 3000", "--requeue")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "hold", job, check=0)
    assert cluster.state(job) == "RUNNING"
    cluster.run("scontrol", "requeue", job, check=0)
    cluster.wait_state(job, "PENDING")
    assert cluster.job(job)["Priority"] == "0"


def test_the_time_limit_of_a_step_can_be_changed(cluster):
    job = cluster.submit("srun --time=5 sleep 1000 &\nsrun --overlap --time=5 sleep 1000 &\nwait", "--time=10", "--ntasks=2")
    def limits():
        text = cluster.run("scontrol", "show", "step", job).stdout
        return [line.split("TimeLimit=")[1].split()[0] for line in text.splitlines() if f"StepId={job}." in line and "batch" not in line]
    poll(lambda: limits() == ["00:05:00", "00:05:00"])
    cluster.run("scontrol", "update", f"StepId={job}.1", "TimeLimit=3", check=0)
    assert limits() == ["00:05:00", "00:03:00"]
    cluster.run("scontrol", "update", f"stepid={job}", "timelimit=4", check=0)
    assert limits() == ["00:04:00", "00:04:00"]
    cluster.kill()
    poll(lambda: limits() == ["00:04:00", "00:04:00"])
    wrong = cluster.run("scontrol", "update", f"StepId={job}.1", "Name=x")
    assert wrong.returncode == 1 and wrong.stderr == "Update of this parameter is not supported: Name=x\nRequest aborted\n"
    gone = cluster.run("scontrol", "update", f"StepId={job}.7", "TimeLimit=3")
    assert gone.returncode == 1 and "Invalid job id specified" in gone.stderr
    cluster.run("scancel", job, check=0)


def test_an_exclusive_job_beside_a_suspended_one(new_cluster):
    """It gets the processors, and of the GPUs those that the other does not keep. The daemon ended over that."""
    cluster = new_cluster("lent", Machine(nodes=1, cpus=2, gpus="a100:2"))
    stopped = cluster.submit("sleep 1000", "-n2", "--gres=gpu:1")
    cluster.wait_state(stopped, "RUNNING")
    cluster.run("scontrol", "suspend", stopped, check=0)
    whole = cluster.submit("echo $CUDA_VISIBLE_DEVICES; sleep 1000", "--exclusive", "--mem=100", "--output=whole")
    cluster.wait_state(whole, "RUNNING")
    poll(lambda: (cluster.work / "whole").exists() and (cluster.work / "whole").read_text().strip() == "1")
    assert cluster.state(stopped) == "SUSPENDED"
    cluster.run("scancel", stopped, whole, check=0)


def test_an_interactive_job_is_told_that_its_partition_is_down(cluster):
    cluster.run("scontrol", "update", "PartitionName=main", "State=DOWN", check=0)
    try:
        waits = cluster.start("srun", "true")
        told = [waits.stderr.readline() for _ in range(2)]
        waits.send_signal(signal.SIGINT)
        waits.communicate(timeout=120)
        assert "srun: Partition in DOWN state\n" in told and any("queued and waiting" in line for line in told), told
        assert "Partition in DOWN state" in cluster.run("srun", "--immediate=1", "true").stderr
    finally:
        cluster.run("scontrol", "update", "PartitionName=main", "State=UP", check=0)


RESIZE = """
scontrol update jobid=$SLURM_JOB_ID numnodes=1
. ./slurm_job_${SLURM_JOB_ID}_resize.sh
echo $SLURM_JOB_NODELIST $SLURM_NNODES $SLURM_JOB_CPUS_PER_NODE ${SLURM_NTASKS-none}
srun -l printenv SLURM_STEP_NUM_NODES
scontrol update jobid=$SLURM_JOB_ID numnodes=3 2>&1
while [ ! -e go ]; do sleep 0.1; done
"""


def test_a_running_job_gives_nodes_back(new_cluster):
    cluster = new_cluster("three", Machine(nodes=3, cpus=2))
    job = cluster.submit(RESIZE, "--nodes=3", "--ntasks=6", "--output=out")
    other = cluster.sbatch("--nodes=2", "--exclusive", "--output=other", "--wrap=true")
    cluster.wait_state(other, "COMPLETED")
    seen = cluster.job(job)
    assert (seen["NodeList"], seen["NumNodes"], seen["NumCPUs"]) == ("n1", "1", "2")
    (cluster.work / "go").touch()
    cluster.wait_state(job, "COMPLETED")
    out = (cluster.work / "out").read_text()
    assert "n1 1 2 none\n0: 1\n" in out and "not supported" in out
    assert "n1" in cluster.run("sacct", "-nXj", job, "-o", "nodelist").stdout


def test_tasks_on_nodes_that_are_given_back_are_killed(new_cluster):
    cluster = new_cluster("two", Machine(nodes=2, cpus=2))
    tasks = "touch on.$SLURMD_NODENAME.$SLURM_PROCID; while [ ! -e go ]; do sleep 0.1; done; touch after.$SLURM_PROCID"
    job = cluster.submit(f"srun --nodes=2 --ntasks=3 sh -c '{tasks}'; echo ended $?", "--nodes=2", "--ntasks=3", "--output=out")
    poll(lambda: len(list(cluster.work.glob("on.n*"))) == 3, 60, "the tasks")
    refused = cluster.run("scontrol", "update", f"jobid={job}", "nodelist=n2")
    assert "the script runs on n1" in refused.stderr
    cluster.run("scontrol", "update", f"jobid={job}", "nodelist=n1", check=0)
    killed = {path.name.split(".")[2] for path in cluster.work.glob("on.n2.*")}
    poll(lambda: all(f"task {rank}: Killed" in (cluster.work / "out").read_text() for rank in killed), 60, "their end")
    (cluster.work / "go").touch()
    cluster.wait_end(job)
    assert {path.name.split(".")[1] for path in cluster.work.glob("after.*")} == {"0", "1", "2"} - killed
    assert (cluster.work / "out").read_text().endswith("ended 137\n")
    assert cluster.job(job)["NodeList"] == "n1"


@pytest.mark.minke_only
def test_a_delay_after_a_requeue(new_cluster):
    cluster = new_cluster("late", Machine(nodes=1, cpus=2, settings="requeue_delay = 3600\n"))
    job = cluster.submit("sleep 1000", "--requeue")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "requeue", job, check=0)
    cluster.wait_state(job, "PENDING")
    poll(lambda: cluster.queue("-j", job, format="%r") == ["BeginTime"], 10, "the reason")
    cluster.run("scontrol", "update", f"jobid={job}", "starttime=now", check=0)
    cluster.wait_state(job, "RUNNING")


def test_what_is_not_there_cannot_be_signalled(cluster):
    assert cluster.run("scancel", "999999").returncode == 0
    missing = cluster.run("scancel", "--signal=USR1", "999999")
    assert missing.returncode == 1 and "Kill job error on job id 999999: Invalid job id specified" in missing.stderr


def test_tasks_are_listed_in_the_order_of_their_array(cluster):
    job = cluster.submit("sleep 1000", "-n1", "--mem=10", "--array=1-3")
    for task in (1, 2, 3):
        cluster.wait_state(f"{job}_{task}", "RUNNING")
    assert cluster.queue("-j", job, format="%i") == [f"{job}_{task}" for task in (1, 2, 3)]


def test_a_job_that_sigstop_holds(cluster):
    job = cluster.submit("exec sleep 600")
    cluster.wait_state(job, "RUNNING")
    poll(lambda: cluster.run("scancel", "-b", "-s", "STOP", job).returncode == 0)
    assert cluster.state(job) == "STOPPED"
    assert cluster.queue(format="%T %t") == ["STOPPED ST"] == cluster.queue("-t", "stopped", format="%T %t")
    assert cluster.queue("-t", "running") != [] and cluster.queue("-t", "pending") == []
    cluster.run("scancel", "-b", "-s", "CONT", job, check=0)
    assert cluster.state(job) == "RUNNING" and cluster.queue("-t", "ST") == []
    cluster.run("scancel", "-b", "-s", "STOP", job, check=0)
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
