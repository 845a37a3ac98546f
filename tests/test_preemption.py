"""Preemption: by QOS and by partition; cancel, requeue, suspend; grace time."""
import time

import pytest

from cluster import Machine, poll

pytestmark = pytest.mark.minke_only

PARTITIONS = """
[preemption]
type = "partition"
mode = "MODE"

[[partition]]
name = "low"
priority_tier = 1
EXTRA

[[partition]]
name = "high"
priority_tier = 2
"""


@pytest.fixture
def by_partition(new_cluster):
    def make(mode, extra=""):
        configuration = PARTITIONS.replace("MODE", mode).replace("EXTRA", extra)
        return new_cluster("preempting", Machine(nodes=2, cpus=4, memory=4000, extra=configuration))
    return make


def states(cluster, job):
    lines = cluster.run("sacct", "-nPDXj", job, "-o", "state,exitcode").stdout.split()
    return [line.split("|") for line in lines]


def test_cancel(by_partition):
    cluster = by_partition("cancel")
    old, young = [cluster.submit("echo up; sleep 600", "-n4", "-p", "low") for _ in range(2)]
    for job in (old, young):
        file = cluster.work / f"slurm-{job}.out"
        poll(lambda file=file: file.exists() and "up" in file.read_text(), 10, "its script")
    high = cluster.submit("true", "-p", "high", "-n3")
    cluster.wait_end(high)
    cluster.wait_end(young)  # one is enough: the one that has run for less
    assert cluster.state(old) == "RUNNING"
    assert states(cluster, young) == [["PREEMPTED", "0:0"]]
    assert "DUE TO PREEMPTION" in cluster.output(young)
    show = cluster.run("scontrol", "show", "partition", "low").stdout
    assert "PreemptMode=CANCEL" in show and "GraceTime=0" in show
    config = cluster.run("scontrol", "show", "config").stdout
    assert "preempt/partition_prio" in config


@pytest.mark.parametrize("mode", ["cancel", "requeue"])
def test_a_heterogeneous_job_gives_way_as_a_whole(by_partition, mode):
    cluster = by_partition(mode)
    low = cluster.submit("echo up; sleep 600", "--requeue", "-n4", "-p", "low", ":", "-n2", "-p", "low")
    parts = [low, str(int(low) + 1)]
    for job in parts:
        cluster.wait_state(job, "RUNNING")
    high = cluster.submit("sleep 600", "-p", "high", "-n3")
    cluster.wait_state(high, "RUNNING")
    for job in parts:
        cluster.wait_state(job, "PREEMPTED" if mode == "cancel" else "PENDING")
    cluster.run("scancel", high, check=0)
    if mode == "requeue":
        for job in parts:
            assert cluster.wait_state(job, "RUNNING")["Restarts"] == "1"


def test_nobody_gives_way_to_his_equal_or_in_vain(by_partition):
    cluster = by_partition("cancel")
    jobs = [cluster.submit("sleep 600", "-n4", "-p", "low") for _ in range(2)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    waiting = cluster.submit("true", "-n4", "-p", "low")
    held = cluster.submit("true", "-n4", "-p", "high", "-H")
    later = cluster.submit("true", "-n4", "-p", "high", "--begin=now+1hour")
    cluster.run("scontrol", "update", "nodename=n1,n2", "state=drain", "reason=test")
    drained = cluster.submit("true", "-n4", "-p", "high")
    settled = cluster.submit("true", "-n1", "-p", "low", "--begin=now+1")
    poll(lambda: cluster.job(settled)["Reason"] not in ("None", "BeginTime"), 20, "a pass over the queue")
    assert [cluster.state(job) for job in jobs] == ["RUNNING"] * 2
    for job in (waiting, held, later, drained):
        assert cluster.state(job) == "PENDING"


def test_requeue(by_partition):
    cluster = by_partition("requeue")
    jobs = [cluster.submit("sleep 600", "-n4", "-p", "low") for _ in range(2)]
    never = cluster.submit("sleep 600", "-n4", "--no-requeue", "-p", "low")
    cluster.run("scancel", jobs[0])
    cluster.wait_state(never, "RUNNING")
    high = cluster.submit("sleep 600", "-p", "high", "-N2", "-n8")
    cluster.wait_state(high, "RUNNING")
    cluster.wait_state(jobs[1], "PENDING")
    assert states(cluster, never) == [["PREEMPTED", "0:0"]]
    assert states(cluster, jobs[1])[0] == ["PREEMPTED", "0:0"]
    cluster.run("scancel", high)
    cluster.wait_state(jobs[1], "RUNNING")
    assert "Restarts=1" in cluster.run("scontrol", "show", "job", jobs[1]).stdout


def test_suspend(by_partition):
    cluster = by_partition("suspend")
    jobs = [cluster.submit("while [ ! -e go ]; do sleep 0.1; done", "-n4", "--mem=100", "-p", "low") for _ in range(2)]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    first = cluster.submit("sleep 600", "-p", "high", "-n4", "--mem=100")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit("sleep 600", "-p", "high", "-n4", "--mem=100")
    cluster.wait_state(second, "RUNNING")
    third = cluster.submit("sleep 1", "-p", "high", "-n4", "--mem=100")
    assert [cluster.state(job) for job in jobs] == ["SUSPENDED"] * 2
    cluster.run("minke", "down", "--keep-jobs")
    assert [cluster.state(job) for job in jobs] == ["SUSPENDED"] * 2
    (cluster.work / "go").touch()
    cluster.run("scancel", first, second)
    cluster.wait_end(third)
    for job in jobs:
        cluster.wait_end(job)
        assert states(cluster, job) == [["COMPLETED", "0:0"]]


def test_grace_time(by_partition):
    cluster = by_partition("cancel", "grace_time = 10")
    warned = "trap 'echo warned' TERM; echo ready; while true; do sleep 0.1; done"
    jobs = [cluster.submit(f"srun -n1 bash -c \"{warned}\"", "-n4", "-p", "low") for _ in range(2)]
    for job in jobs:
        file = cluster.work / f"slurm-{job}.out"
        poll(lambda file=file: file.exists() and "ready" in file.read_text(), 10, "its step")
    high = cluster.submit("true", "-p", "high", "-n8", "-N2")
    for job in jobs:
        file = cluster.work / f"slurm-{job}.out"
        poll(lambda file=file: "warned" in file.read_text(), 10, "the warning")
    assert cluster.state(jobs[0]) == "RUNNING"
    cluster.wait_end(high)
    assert states(cluster, jobs[0])[0][0] == "PREEMPTED"


def test_forecasts_know_of_it(by_partition):
    """Who asks when his job would start is told what others would do for it, and after their time of grace."""
    cluster = by_partition("cancel", "grace_time = 30")
    low = [cluster.submit("trap '' TERM; while true; do sleep 0.1; done", "-n4", "-p", "low", "--time=60") for _ in range(2)]
    for job in low:
        cluster.wait_state(job, "RUNNING")

    def start(*options):
        """In how many seconds, from before and from after the question."""
        asked = time.time()
        tried = cluster.run("sbatch", "--test-only", "--time=5", *options, "--wrap=true", check=0).stderr
        told = time.time()
        when = int(cluster.run("date", "-d", tried.split(" to start at ")[1].split()[0], "+%s").stdout)
        return when - asked, when - told
    assert start("-p", "low", "-n4")[0] > 3000
    most, least = start("-p", "high", "-n4")
    assert most >= 29 and least <= 32
    high = cluster.submit("true", "-p", "high", "-n8", "-N2", "--time=5")

    def comes_soon():
        when = cluster.run("squeue", "-h", "--start", "-j", high, "-o", "%S").stdout.strip()
        left = when not in ("", "N/A") and int(cluster.run("date", "-d", when, "+%s").stdout) - int(
            cluster.run("date", "+%s").stdout)
        return left and 0 < left <= 32
    poll(comes_soon, 15)


def test_by_qos(new_cluster):
    cluster = new_cluster("qos", Machine(nodes=1, cpus=4, memory=4000, extra="""
[accounting]
enforce = ["qos"]

[preemption]
type = "qos"
mode = "cancel"
"""))
    import getpass
    user = getpass.getuser()
    for words in (("add", "account", "lab"), ("add", "user", user, "account=lab"),
                  ("add", "qos", "scavenge", "preemptmode=requeue"), ("add", "qos", "kept"),
                  ("add", "qos", "urgent", "preempt=scavenge,normal"),
                  ("modify", "account", "root", "set", "qos=normal,scavenge,kept,urgent")):
        assert cluster.run("sacctmgr", "-i", *words).returncode == 0, words
    scavenging = cluster.submit("sleep 600", "-n2", "--qos=scavenge")
    kept = cluster.submit("sleep 600", "-n1", "--qos=kept")
    normal = cluster.submit("sleep 600", "-n1")
    for job in (scavenging, kept, normal):
        cluster.wait_state(job, "RUNNING")
    large = cluster.submit("sleep 600", "-n4", "--qos=urgent")
    urgent = cluster.submit("sleep 600", "-n3", "--qos=urgent")
    cluster.wait_state(urgent, "RUNNING")
    cluster.wait_end(normal)
    assert states(cluster, normal) == [["PREEMPTED", "0:0"]]
    assert cluster.state(scavenging) == "PENDING" and cluster.state(large) == "PENDING"
    assert cluster.state(kept) == "RUNNING"
