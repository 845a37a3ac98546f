"""minke why: what a job waits for, when it will start, and what would start sooner."""
import json
import re
import time

import pytest

from cluster import poll

MINKE_ONLY = True


def why(cluster, job, *options) -> str:
    return cluster.run("minke", "why", *options, str(job), check=0).stdout


def told(cluster, job) -> dict:
    return json.loads(why(cluster, job, "--json"))


@pytest.fixture
def full(cluster):
    """A cluster whose one node is full for an hour."""
    cluster.holder = cluster.submit("sleep 1000", "--time=60", "--cpus-per-task=2", "--gpus=2", "--job-name=holder")
    cluster.wait_state(cluster.holder, "RUNNING")
    return cluster


@pytest.mark.machine(nodes=1, cpus=2, gpus="a100:2")
def test_resources_and_priority(full):
    first = full.submit("true", "--time=4:00:00")
    second = full.submit("true", "--time=10")
    text = why(full, first)
    assert f"Job {first} (job.sh)" in text and "PENDING" in text
    assert "It is the next of its partition, and waits until what it asks for is free." in text
    line = rf"Running where it will start:\n  {full.holder} of \S+: 2 CPUs, 2 GPUs on \S+, expected to end in about"
    assert re.search(line, text), text
    answer = told(full, second)
    assert answer["reason"] == "Priority" and answer["jobs_before"] == 1
    assert [one["job"] for one in answer["jobs"]] == [str(first), str(full.holder)]
    holder = full.job(full.holder)
    assert answer["jobs"][1]["time_limit_end"] - answer["now"] == pytest.approx(3600, abs=120), holder
    assert answer["expected_start"] == answer["jobs"][1]["time_limit_end"]
    assert f"Before it:\n  {first} of " in why(full, second)


@pytest.mark.machine(nodes=1, cpus=2, gpus="a100:2")
def test_the_forecast_is_that_of_squeue(full):
    job = full.submit("true", "--time=5")
    start = told(full, job)["expected_start"]
    shown = full.run("squeue", "--start", "-h", "-j", job, "-o", "%S", env={"SLURM_TIME_FORMAT": "%s"}, check=0)
    assert abs(int(shown.stdout) - start) <= 1


@pytest.mark.machine(nodes=1, cpus=4)
def test_a_smaller_request_starts_sooner(cluster):
    """Half of the node is free for an hour: a short job fits before the big one, and one CPU fits now."""
    holder = cluster.submit("sleep 1000", "--time=50", "--cpus-per-task=2")
    cluster.wait_state(holder, "RUNNING")
    big = cluster.submit("true", "--time=60", "--cpus-per-task=4")
    late = cluster.submit("true", "--time=4:00:00", "--cpus-per-task=2")
    answer = told(cluster, late)
    smaller = {one["options"]: one for one in answer["smaller"]}
    limits = [one for one in answer["smaller"] if one["options"].startswith("--time=")]
    assert limits and limits[0]["instead_of"] == "--time=04:00:00"
    assert limits[0]["options"] == "--time=00:45:00", answer
    assert limits[0]["expected_start"] <= answer["now"] + 1 < answer["expected_start"], answer
    wide = told(cluster, big)
    fewer = {one["options"] for one in wide["smaller"]}
    assert "--cpus-per-task=2" in fewer, (wide, smaller)
    assert "It would start sooner with\n" in why(cluster, big)
    # And so it does.
    cluster.run("scontrol", "update", f"jobid={late}", "timelimit=45", check=0)
    cluster.wait_state(late, "RUNNING", "COMPLETED")


def test_hold_begin_time_and_dependency(cluster):
    held = cluster.submit("true", "--hold")
    assert f"It is held. To let it go: scontrol release {held}" in why(cluster, held)
    later = cluster.submit("true", "--begin=now+2hours")
    assert re.search(r"It may not begin before 20\S+, in about 2 h\.", why(cluster, later)), why(cluster, later)
    child = cluster.submit("true", f"--dependency=afterok:{held}")
    assert f"It waits for other jobs: afterok:{held}(unfulfilled)." in why(cluster, child)
    cluster.run("scancel", held, check=0)
    never = poll(lambda: "will never start" in (text := why(cluster, child)) and text)
    assert f"scancel {child}" in never


@pytest.mark.machine(nodes=1, cpus=1)
def test_when_what_waits_for_other_jobs_will_start(cluster):
    """A chain: the second waits for a running job, the third for the second, the fourth for a time."""
    first = cluster.submit("sleep 1000", "--time=10")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit("true", "--time=20", f"--dependency=afterany:{first}")
    third = cluster.submit("true", "--time=30", f"--dependency=afterok:{second}")
    answer = told(cluster, second)
    end = answer["jobs"][0]["expected_end"]
    assert answer["jobs"][0]["job"] == str(first) and answer["expected_start"] == end
    last = told(cluster, third)
    assert last["jobs"][0]["job"] == str(second) and not last["jobs"][0]["running"]
    assert last["expected_start"] == last["jobs"][0]["expected_end"] == end + 20 * 60
    later = cluster.submit("true", "--begin=now+2hours", "--time=5")
    answer = told(cluster, later)
    assert answer["expected_start"] - answer["now"] == pytest.approx(7200, abs=120)
    # Nobody can say when somebody will release a job, nor what waits for that.
    held = cluster.submit("true", "--hold")
    assert told(cluster, held)["expected_start"] == 0
    assert told(cluster, cluster.submit("true", f"--dependency=afterany:{held}"))["expected_start"] == 0


@pytest.mark.machine(nodes=2, cpus=4)
def test_reservations(cluster):
    nodes = cluster.run("scontrol", "show", "hostnames",
                        cluster.run("sinfo", "-h", "-o", "%N", check=0).stdout.strip(), check=0).stdout.split()
    cluster.run("scontrol", "create", "reservation", "reservationname=fix", "starttime=now+20minutes", "duration=60",
                f"nodes={nodes[0]}", "flags=maint", "users=root", check=0)
    cluster.run("scontrol", "create", "reservation", "reservationname=course", "starttime=now+30minutes", "duration=60",
                f"nodes={nodes[1]}", f"users={cluster.run('id', '-un').stdout.strip()}", check=0)
    into = cluster.submit("true", "--time=60", f"--nodelist={nodes[0]}")
    text = why(cluster, into)
    assert "Nodes that it needs are reserved for maintenance before it could end." in text
    answer = told(cluster, into)
    assert answer["expected_start"] - answer["now"] == pytest.approx(80 * 60, abs=120)
    assert answer["smaller"][0]["options"] in ("--time=00:20:00", "--time=00:15:00")
    assert answer["smaller"][0]["expected_start"] <= answer["now"] + 1
    both = cluster.submit("true", "--time=60")
    assert "Nodes that it needs are reserved" in why(cluster, both)
    own = cluster.submit("true", "--time=10", "--reservation=course")
    assert "It waits for its reservation, course." in why(cluster, own)
    answer = told(cluster, own)
    assert answer["expected_start"] - answer["now"] == pytest.approx(30 * 60, abs=120)


@pytest.mark.machine(nodes=2, cpus=2, gpus="a100:2")
def test_what_is_free_and_who_is_before_it(cluster):
    """A job that is before it and starts after it does not hold it up, and is not shown."""
    cluster.wait_state(cluster.submit("sleep 1000", "--time=30", "--gpus=1"), "RUNNING")
    cluster.wait_state(cluster.submit("sleep 1000", "--time=60", "--gpus=2"), "RUNNING")
    wide = cluster.submit("true", "--time=10", "--nodes=2", "--gpus-per-node=2")
    narrow = cluster.submit("true", "--time=40", "--gpus=2")
    answer = told(cluster, narrow)
    assert answer["free_now"].startswith("2 of 4 CPUs, ") and answer["free_now"].endswith(", 1 of 4 GPUs")
    assert answer["jobs_before"] == 1 and answer["expected_start"] - answer["now"] > 30 * 60
    assert told(cluster, wide)["expected_start"] < answer["expected_start"]
    assert [one["job"] for one in answer["jobs"] if not one["running"]] == [str(wide)]
    short = told(cluster, cluster.submit("true", "--time=20", "--gpus=2"))
    assert short["expected_start"] < told(cluster, wide)["expected_start"] and short["jobs_before"] == 2
    assert [one["job"] for one in short["jobs"] if not one["running"]] == []


def test_array_and_its_tasks(cluster):
    array = cluster.submit("sleep 1000", "--array=0-5%1", "--time=10")
    cluster.wait_state(f"{array}_0", "RUNNING")
    text = why(cluster, f"{array}_4")
    assert text.startswith(f"Job {array}_4 ") and "as its % allows" in text
    assert "Expected start: in about" in text  # when the task that runs is expected to end
    assert "It runs on " in why(cluster, f"{array}_0")


@pytest.mark.machine(nodes=1)
def test_nodes_that_take_no_jobs(cluster):
    node = cluster.run("sinfo", "-h", "-o", "%N", check=0).stdout.strip()
    cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=broken fan", check=0)
    job = cluster.submit("true")
    text = why(cluster, job)
    assert "Nodes that it needs are down or drained." in text
    assert re.search(rf"  {node}: drained \(broken fan.*\)", text)


def test_partition_switched_off(cluster):
    partition = cluster.run("sinfo", "-h", "-o", "%R", check=0).stdout.split()[0]
    cluster.run("scontrol", "update", f"partitionname={partition}", "state=down", check=0)
    assert "is switched off" in why(cluster, cluster.submit("true"))


@pytest.mark.machine(extra="[licenses]\nfluent = 1\n")
def test_licenses(cluster):
    holder = cluster.submit("sleep 1000", "--licenses=fluent")
    cluster.wait_state(holder, "RUNNING")
    text = why(cluster, cluster.submit("true", "--licenses=fluent"))
    assert "It waits for licenses that others hold: fluent" in text
    assert f"These have them:\n  {holder} of " in text


LIMITED = """
[accounting]
enforce = ["limits", "qos"]

[priority]
type = "multifactor"
weight_fair_share = 100000
weight_qos = 10000
"""


@pytest.mark.machine(nodes=1, cpus=8, extra=LIMITED)
def test_limits_of_accounts_and_qos(cluster):
    """There is room enough: the limit holds it up, until a job that it counts ends."""
    user = cluster.run("id", "-un").stdout.strip()
    for words in (["add", "qos", "quick"], ["modify", "qos", "quick", "set", "grpjobs=1"],
                  ["add", "account", "physics", "grptres=cpu=2"], ["add", "account", "chem"],
                  ["add", "user", user, "account=physics,chem", "qos=normal,quick"]):
        cluster.run("sacctmgr", "-i", *words, check=0)
    running = cluster.submit("sleep 1000", "--account=physics", "--cpus-per-task=2", "--time=30")
    other = cluster.submit("sleep 1000", "--account=chem", "--qos=quick", "--time=40")
    cluster.wait_state(running, "RUNNING")
    cluster.wait_state(other, "RUNNING")
    job = cluster.submit("true", "--account=physics", "--time=10")
    text = why(cluster, job)
    assert "A limit holds it up (AssocGrpCpuLimit). account physics: cpu 2 of 2." in text
    assert f"Running under these limits:\n  {running} of " in text and f"  {other} of " not in text
    answer = told(cluster, job)
    assert answer["expected_start"] - answer["now"] == pytest.approx(1800, abs=120)
    waits = cluster.submit("true", "--account=chem", "--qos=quick", "--time=10")
    text = why(cluster, waits)
    assert "(QOSGrpJobsLimit). QOS quick: jobs 1 of 1." in text
    answer = told(cluster, waits)
    assert [one["job"] for one in answer["jobs"]] == [str(other)]
    assert answer["expected_start"] - answer["now"] == pytest.approx(2400, abs=120)


def test_running_and_ended_jobs(cluster):
    job = cluster.submit("sleep 1000", "--time=30")
    cluster.wait_state(job, "RUNNING")
    assert "Its time limit ends in about 30 min" in why(cluster, job)
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    assert "It was cancelled by " in poll(lambda: "CANCELLED" in (text := why(cluster, job)) and text)
    failed = cluster.submit("exit 3")
    cluster.wait_end(failed)
    assert "Its script ended with exit code 3." in poll(lambda: "FAILED" in (text := why(cluster, failed)) and text)
    good = cluster.submit("true")
    cluster.wait_end(good)
    assert "exit code 0" in poll(lambda: "COMPLETED" in (text := why(cluster, good)) and text)
    assert json.loads(why(cluster, good, "--json"))["state"] == "COMPLETED"


def test_unknown_jobs(cluster):
    done = cluster.run("minke", "why", "4711")
    assert done.returncode == 1 and done.stderr == "minke: error: there is no job 4711; minke jobs lists yours\n"
    assert "is no job id" in cluster.run("minke", "why", "x").stderr


@pytest.mark.machine(nodes=1, cpus=1)
def test_run_times_are_learned_and_outlast_the_daemon(cluster):
    """Jobs with a limit of an hour that end at once: the next one is expected to end at once too."""
    for _ in range(5):
        cluster.wait_end(cluster.submit("true", "--time=60"))
    holder = cluster.submit("sleep 1000", "--time=60")
    cluster.wait_state(holder, "RUNNING")
    first = cluster.submit("true", "--time=60")
    job = cluster.submit("true", "--time=60")

    def learned():
        answer = told(cluster, job)
        assert answer["expected_start_by_time_limits"] - answer["now"] > 7000, answer
        soon = 0 < answer["expected_start"] - answer["now"] < 3700
        return soon and answer["evidence"]["runs_of_user"] == 5 and answer
    assert poll(learned)["jobs_before"] == 1 and first
    cluster.kill()
    poll(learned)


@pytest.mark.parametrize("script,options,words", [
    ("#!/no/such/interpreter\n", (), r"Its script never ran: .*No such file or directory"),
    ("true", ("--output=missing/%j.out",), r"Its script never ran: .*missing/\d+\.out: No such file or directory\. "
     r"The directory of its output must be there when it starts: mkdir -p \S+/missing\n"),
    ("true", ("--error=missing/e",), r"Its script never ran: .*missing/e: No such"),
    ("true", ("--input=missing",), r"Its script never ran: .*missing: No such")])
def test_a_script_that_never_ran_is_not_blamed(cluster, script, options, words):
    job = cluster.submit(script, *options)
    assert cluster.wait_end(job)["JobState"] == "FAILED"
    text = why(cluster, job)
    assert re.search(words, text), text
    assert "Its script ended" not in text and "It ran from" not in text
    assert "never ran" in told(cluster, job)["ended"]


def test_a_job_that_waits_for_one_without_a_limit(cluster):
    """Nobody knows when that ends: no forecast is made of it."""
    holder = cluster.submit("sleep 1000", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    assert "It has no time limit.\n" in why(cluster, holder)
    first, second = cluster.submit("true", "--time=5"), cluster.submit("true", "--nodes=2", "--time=5")
    for job in (first, second):
        text = why(cluster, job)
        assert "When it will start cannot be said: it waits for a job that has no time limit." in text, text
        assert " d " not in text and re.search(rf"{holder} of \S+: .* on n\[1-2\], has no time limit\n", text), text
        assert told(cluster, job)["expected_start"] == 0 and told(cluster, job)["after_unlimited"]
    assert cluster.queue("-t", "PD", "--start", format="%S") == ["N/A", "N/A"]


@pytest.mark.machine(nodes=1, cpus=4, extra='[accounting]\nenforce = ["limits"]\n')
def test_a_limit_on_jobs_is_not_over_before_the_job_in_the_way(cluster):
    """Whatever earlier jobs make believe of it."""
    user = cluster.run("id", "-un").stdout.strip()
    for words in (("add", "account", "lab"), ("add", "user", user, "account=lab", "maxjobs=1")):
        cluster.run("sacctmgr", "-iQ", *words, check=0)
    for _ in range(3):
        cluster.wait_end(cluster.submit("true", "--time=60", "-A", "lab"))
    holder = cluster.submit("sleep 1000", "--time=60", "-A", "lab")
    cluster.wait_state(holder, "RUNNING")
    start = time.time()
    poll(lambda: time.time() > start + 3)
    job = cluster.submit("true", "--time=60", "-A", "lab")
    poll(lambda: told(cluster, job)["reason"] == "AssocMaxJobsLimit")
    answer = told(cluster, job)
    [other] = answer["jobs"]
    assert other["job"] == str(holder) and answer["expected_start"] >= other["expected_end"] > answer["now"], answer


def test_an_ended_job_shows_its_last_lines_and_what_to_do(cluster):
    job = cluster.submit("echo start; notthere --x; exit $?")
    cluster.wait_end(job)
    text = poll(lambda: "FAILED" in (text := why(cluster, job)) and text)
    assert "exit code 127" in text and "  | start\n" in text and f"The last lines of {cluster.work}/slurm-{job}.out:" in text
    assert '"module spider notthere" tells which module has it' in text
    python = cluster.submit("python3 -c 'import nosuchmodule.part'")
    cluster.wait_end(python)
    assert '"avail_wheels nosuchmodule"' in poll(lambda: "FAILED" in (text := why(cluster, python)) and text)
    killed = cluster.submit("kill -9 $$")
    cluster.wait_end(killed)
    text = poll(lambda: "Signal 9 (KILL) ended it." in (text := why(cluster, killed)) and text)
    assert "ask for more with --mem" in text and "It wrote nothing to" in text
    forbidden = cluster.submit("touch plain; ./plain")
    cluster.wait_end(forbidden)
    assert "exit code 126 (a command could not be executed)" in poll(lambda: "FAILED" in (text := why(cluster, forbidden)) and text)
    good = cluster.submit("echo fine")
    cluster.wait_end(good)
    assert "The last lines" not in poll(lambda: "COMPLETED" in (text := why(cluster, good)) and text)


def test_an_array_is_summed_up(cluster):
    job = cluster.submit("echo task $SLURM_ARRAY_TASK_ID; [ $SLURM_ARRAY_TASK_ID != 3 ] && [ $SLURM_ARRAY_TASK_ID != 5 ]",
                         "--array=1-6", "--output=%a.txt")
    cluster.wait_end(job)
    text = poll(lambda: "Of 6 tasks" in (text := why(cluster, job)) and text)
    assert text.startswith(f"Array {job} (job.sh) of ") and "Of 6 tasks that have ended 2 failed: 3, 5.\n" in text
    assert f"minke redo --failed {job}" in text and f"Job {job}_3 " in text and "  | task 3\n" in text
    assert f"Job {job}_5" not in text and f"Job {job}_5 " in why(cluster, f"{job}_5")
    good = cluster.submit("true", "--array=1-3")
    cluster.wait_end(good)
    assert "Of 3 tasks that have ended none failed.\n" in poll(lambda: "Of 3 tasks" in (text := why(cluster, good)) and text)
