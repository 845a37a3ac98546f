"""SHARCNET's words: sqsub, sqjobs, sqkill and the rest. The patterns are those of programs that drive them."""
import getpass
import re

import pytest

MINKE_ONLY = True
SUBMITTED = re.compile(r"as jobid\s+(\S+)")
ROW = re.compile(r"^(\w\S*)\s+(\S+)\s+(\S+)", re.M)
TOTALS = re.compile(r"^(\d+)\s+CPUs.*\D(\d+)\s+jobs running", re.M)


def sqsub(cluster, *arguments, **options) -> int:
    done = cluster.run("sqsub", *arguments, check=0, **options)
    return int(SUBMITTED.search(done.stdout).group(1))


def rows(cluster, *options) -> dict[str, tuple[str, str]]:
    """Queue and state of each job that sqjobs lists."""
    lines = cluster.run("sqjobs", *options, check=0).stdout.splitlines()
    assert lines[0] == " jobid queue state ncpus prio  nodes time command"
    return {match[1]: (match[2], match[3]) for match in map(ROW.match, (line.strip() for line in lines[2:])) if match}


def test_a_program_runs_with_its_arguments(cluster):
    job = sqsub(cluster, "-r", "10m", "-o", "log.%J", "-j", "named", "/bin/bash", "-c",
                'echo "$0 $1 $SQ_JOBID $PBS_JOBID $PBS_O_WORKDIR"', "it's", "-n 4")
    assert cluster.output(job, "log.{}") == f"it's -n 4 {job} {job} {cluster.work}\n"
    fields = cluster.job(job)
    assert (fields["JobName"], fields["TimeLimit"]) == ("named", "00:10:00")


def test_kinds_of_jobs(cluster):
    threaded = sqsub(cluster, "-r", "1d", "-o", "o", "-q", "threaded", "-n", "2", "--mpp=100M", "true")
    fields = cluster.job(threaded)
    assert (fields["NumTasks"], fields["CPUs/Task"], fields["TimeLimit"]) == ("1", "2", "1-00:00:00")
    assert fields["MinMemoryNode"] == "100M"
    waits = sqsub(cluster, "-r", "5", "-o", "o", "-q", "mpi", "-n", "4", "--mpp=50M", "--nompirun", "-w", threaded,
                  "true")
    fields = cluster.job(waits)
    assert (fields["NumTasks"], fields["MinMemoryCPU"]) == ("4", "50M")
    cluster.wait_end(waits)


@pytest.mark.machine(gpus="a100:2")
def test_gpus(cluster):
    job = sqsub(cluster, "-r", "5", "-o", "o", "-q", "gpu", "-f", "threaded", "-n", "2", "--gpp=2", "sh", "-c",
                "echo $CUDA_VISIBLE_DEVICES")
    assert cluster.output(job, "o") == "0,1\n"


def test_errors_go_with_the_output_or_apart(cluster):
    together = sqsub(cluster, "-r", "5", "-o", "both", "sh", "-c", "echo out; echo err >&2")
    assert sorted(cluster.output(together, "both").split()) == ["err", "out"]
    apart = sqsub(cluster, "-r", "5", "-o", "out", "-e", "err", "-i", "both", "sh", "-c", "cat; echo bad >&2")
    assert sorted(cluster.output(apart, "out").split()) == ["err", "out"]
    assert (cluster.work / "err").read_text() == "bad\n"


def test_sqjobs_shows_states_and_totals(cluster):
    held = cluster.sbatch("--hold", "--wrap", "true")
    later = cluster.sbatch("--begin=now+1hour", "--wrap", "true")
    runs = sqsub(cluster, "-r", "5", "-o", "o", "-q", "threaded", "-n", "2", "sleep", "100")
    waits = sqsub(cluster, "-r", "5", "-o", "o", "-q", "NRAP_878", "-w", runs, "sleep", "100")
    cluster.wait_state(runs, "RUNNING")
    listed = rows(cluster)
    assert listed[str(runs)] == ("threaded", "R")
    assert (listed[str(held)][1], listed[str(later)][1]) == ("H", "Z")
    assert f"{waits} NRAP_878    *Q" in cluster.run("sqjobs", check=0).stdout
    assert set(rows(cluster, "-r")) == {str(runs)}
    assert str(runs) in rows(cluster, "-u", getpass.getuser())
    totals = cluster.run("sqjobs", "-n", check=0).stdout
    assert TOTALS.search(totals).groups() == ("4", "1")
    assert "2 idle, 2 busy" in totals and "3 queued." in totals
    row = next(line for line in cluster.run("sqjobs", "-r", check=0).stdout.splitlines() if str(runs) in line)
    assert re.search(r" \d+s sleep 100$", row)


def test_sqjobs_in_full(cluster):
    job = sqsub(cluster, "-r", "5", "-o", "log", "-q", "serial", "sleep", "100")
    cluster.wait_state(job, "RUNNING")
    lines = dict(line.split(": ", 1) for line in cluster.run("sqjobs", "-l", job, check=0).stdout.splitlines())
    assert (lines["jobid"], lines["queue"], lines["state"]) == (str(job), "serial", "R")
    assert lines["working directory"] == str(cluster.work) and lines["elapsed limit"] == "300s"
    assert re.fullmatch(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \d{4}", lines["submitted"])


def test_sqkill(cluster):
    job = sqsub(cluster, "-r", "5", "-o", "o", "sleep", "100")
    done = cluster.run("sqkill", job, check=0)
    assert re.search("is being terminated", done.stdout)
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    done = cluster.run("sqkill", 4711, check=1)
    assert "4711" in done.stderr and "terminated" not in done.stdout


def test_sqsuspend_and_sqresume(cluster):
    job = sqsub(cluster, "-r", "5", "-o", "o", "sleep", "100")
    cluster.wait_state(job, "RUNNING")
    cluster.run("sqsuspend", job, check=0)
    assert cluster.state(job) == "SUSPENDED" and rows(cluster)[str(job)][1] == "S"
    cluster.run("sqresume", job, check=0)
    assert cluster.state(job) == "RUNNING"
    assert cluster.run("sqsuspend", 4711).returncode == 1


def test_sqhosts(cluster):
    lines = cluster.run("sqhosts", check=0).stdout.splitlines()
    assert len(lines) == 4 and all(line.split()[1] == "up" for line in lines[2:])


@pytest.mark.parametrize("arguments, said", [
    (["-o", "x", "true"], "a run time must be given"),
    (["-r", "5", "true"], "a log file must be given"),
    (["-r", "5", "-o", "x"], "no program given"),
    (["-r", "5", "-o", "x", "-t", "true"], "unknown option -t"),
    (["-r", "5", "-o", "x", "-q", "mpi", "-n", "100", "true"], "Batch job submission failed"),
])
def test_mistakes_are_named(cluster, arguments, said):
    done = cluster.run("sqsub", *arguments)
    assert done.returncode == 1 and said in done.stderr and "jobid" not in done.stdout
