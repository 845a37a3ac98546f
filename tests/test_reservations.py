"""scontrol create, update, delete and show reservation, and the jobs in and around them."""
import re
import time

import pytest

from cluster import poll


def create(cluster, *words, check=0):
    return cluster.run("scontrol", "create", "reservation", *words, check=check)


def shown(cluster, name: str) -> dict[str, str]:
    text = cluster.run("scontrol", "-o", "show", "reservation", name, check=0).stdout
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def user() -> str:
    import getpass
    return getpass.getuser()


def test_created_shown_updated_deleted(cluster):
    assert cluster.run("scontrol", "show", "reservation").stdout == "No reservations in the system\n"
    done = create(cluster, "reservationname=r1", "starttime=now+3600", "duration=10:00", f"users={user()}", "nodes=n2")
    assert done.stdout == "Reservation created: r1\n"
    block = cluster.run("scontrol", "show", "reservation", "r1", check=0).stdout
    assert re.fullmatch(
        r"ReservationName=r1 StartTime=\S+ EndTime=\S+ Duration=00:10:00\n"
        r"   Nodes=n2 NodeCnt=1 CoreCnt=2 Features=\(null\) PartitionName=\(null\) Flags=SPEC_NODES\n"
        r"   TRES=cpu=2\n"
        rf"   Users={user()} Groups=\(null\) Accounts=\(null\) Licenses=\(null\) State=INACTIVE BurstBuffer=\(null\) Watts=n/a\n"
        r"   MaxStartDelay=\(null\)\n\n", block)
    table = cluster.run("sinfo", "-T", check=0).stdout.splitlines()
    assert table[0] == "RESV_NAME     STATE           START_TIME             END_TIME     DURATION  NODELIST"
    assert table[1].startswith("r1         INACTIVE  20") and table[1].endswith("     00:10:00  n2")
    named = create(cluster, "starttime=now+7200", "duration=5", f"users={user()}", "nodes=n1", "flags=maint").stdout
    assert re.fullmatch(rf"Reservation created: {user()}_\d+\n", named)
    for words, duration in ((("duration=20",), "00:20:00"), (("duration+=20",), "00:40:00")):
        assert cluster.run("scontrol", "update", "reservationname=r1", *words, check=0).stdout == "Reservation updated.\n"
        assert shown(cluster, "r1")["Duration"] == duration
    cluster.run("scontrol", "update", "reservationname=r1", "users+=daemon", "flags+=maint", check=0)
    assert shown(cluster, "r1")["Users"] == f"{user()},daemon" and shown(cluster, "r1")["Flags"] == "MAINT,SPEC_NODES"
    cluster.run("scontrol", "delete", "reservationname=r1", check=0)
    gone = cluster.run("scontrol", "delete", "reservationname=r1", check=1)
    assert gone.stderr.startswith("delete_reservation reservationname=r1: Requested reservation is invalid")
    assert cluster.run("scontrol", "show", "reservation", "r1").stdout == "Reservation r1 not found\n"


def test_refusals(cluster):
    create(cluster, "reservationname=r1", "starttime=now+600", "duration=10", f"users={user()}", "nodes=n2")
    me = f"users={user()}"
    for words, text in {
            ("starttime=now", "duration=10", me, "nodes=n2", "reservationname=r1"):
                "Error creating the reservation: Duplicate reservation name",
            ("starttime=now+650", "duration=10", me, "nodes=n2"):
                "Error creating the reservation: Requested reservation overlaps with another reservation",
            ("starttime=now+650", "duration=10", "nodes=n2"):
                "scontrol: error: Either Users/Groups and/or Accounts must be specified.  No reservation created.",
            ("duration=10", me, "nodes=n2"): "scontrol: error: A start time must be given.  No reservation created.",
            ("starttime=now+5000", "users=nosuch", "nodes=n2", "duration=1"):
                "Error creating the reservation: Invalid user id",
            ("starttime=now+5000", me, "nodes=n9", "duration=1"):
                "Error creating the reservation: Invalid node name specified",
            ("starttime=now+5000", me, "duration=1"):
                "scontrol: error: CoreCnt, Nodes, NodeCnt, BurstBuffer, Licenses or Watts must be specified.  "
                "No reservation created.",
            ("starttime=now+5000", me, "duration=1", "nodecnt=9"):
                "Error creating the reservation: Requested nodes are busy",
            ("starttime=now+8000", me, "duration=1", "nodes=n1", "flags=bogus"):
                "scontrol: error: Error parsing flags bogus.  No reservation created.",
            ("starttime=2020-01-01", me, "duration=1", "nodes=n1"):
                "Error creating the reservation: Invalid time specified",
            ("starttime=bogus", me, "duration=1", "nodes=n1"): "Invalid time specification (pos=0): bogus",
            ("starttime=now+9000", "foo=1", me, "nodes=n1"):
                "scontrol: error: Unknown parameter foo=1.  No reservation created."}.items():
        assert create(cluster, *words, check=1).stderr.startswith(text), words
    missing = cluster.run("scontrol", "update", "reservationname=nope", "duration=20", check=1)
    assert missing.stderr.startswith("Error updating the reservation: Requested reservation is invalid")
    refused = cluster.run("sbatch", "--reservation=nope", "--wrap", "true", check=1)
    assert refused.stderr.startswith("sbatch: error: Batch job submission failed: Requested reservation is invalid")


@pytest.mark.minke_only
def test_jobs_keep_out_and_its_own_come_in(cluster):
    create(cluster, "reservationname=r1", "starttime=now+600", "duration=60", f"users={user()}", "nodes=n2")
    long = cluster.submit("sleep 1000", "-w", "n2", "-t", "60")
    short = cluster.submit("sleep 1000", "-w", "n2", "-t", "5")
    inside = cluster.submit("sleep 1000", "--reservation=r1", "-t", "5")
    elsewhere = cluster.submit("sleep 1000", "-t", "60")
    cluster.wait_state(short, "RUNNING")
    assert cluster.wait_state(elsewhere, "RUNNING")["NodeList"] == "n1"
    assert cluster.queue("-j", long, format="%r") == ["ReqNodeNotAvail, May be reserved for other job"]
    assert cluster.queue("-j", inside, format="%r") == ["Reservation"]
    cluster.run("scancel", short, check=0)
    cluster.wait_state(short, "CANCELLED")
    cluster.run("scontrol", "update", "reservationname=r1", "starttime=now", check=0)
    run = cluster.wait_state(inside, "RUNNING")
    assert run["NodeList"] == "n2" and run["Reservation"] == "r1"
    assert cluster.run("sinfo", "-hN", "-n", "n2", "-o", "%t").stdout.split() == ["mix"]
    busy = cluster.run("scontrol", "delete", "reservationname=r1", check=1)
    assert busy.stderr.startswith("delete_reservation reservationname=r1: Requested reservation is in use")
    cluster.run("scancel", inside, check=0)
    cluster.wait_state(inside, "CANCELLED")
    assert cluster.run("sinfo", "-hN", "-n", "n2", "-o", "%t").stdout.split() == ["resv"]
    cluster.run("scontrol", "delete", "reservationname=r1", check=0)
    cluster.wait_state(long, "RUNNING")


@pytest.mark.minke_only
def test_maintenance(cluster):
    create(cluster, "reservationname=m", "starttime=now", "duration=60", "users=root", "nodes=ALL", "flags=maint,ignore_jobs")
    assert set(cluster.run("sinfo", "-hN", "-o", "%t").stdout.split()) == {"maint"}
    node = cluster.run("scontrol", "show", "node", "n1").stdout
    assert "State=IDLE+MAINTENANCE+RESERVED " in node and "ReservationName=m" in node
    job = cluster.submit("true", "-t", "1")
    assert cluster.queue("-j", job, format="%r") == ["ReqNodeNotAvail, Reserved for maintenance"]
    # It starts when that is over, and so it is forecast.
    start = cluster.run("squeue", "-hj", job, "--start", "-o", "%S").stdout.strip()
    assert start == shown(cluster, "m")["EndTime"]
    cluster.run("scontrol", "update", "reservationname=m", "endtime=now+2", check=0)
    cluster.wait_state(job, "COMPLETED")
    poll(lambda: cluster.run("scontrol", "show", "reservation").stdout == "No reservations in the system\n")


@pytest.mark.minke_only
def test_its_end_ends_its_jobs(cluster):
    create(cluster, "reservationname=r1", "starttime=now", "duration=60", f"users={user()}", "nodes=n1")
    job = cluster.submit("sleep 1000", "--reservation=r1")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "reservationname=r1", "endtime=now+2", check=0)
    cluster.wait_state(job, "TIMEOUT")


@pytest.mark.minke_only
def test_it_outlives_the_daemon_and_recurs(cluster):
    create(cluster, "reservationname=d", "starttime=now", "duration=60", f"users={user()}", "nodes=n1", "flags=daily")
    before = shown(cluster, "d")
    cluster.kill()
    assert shown(cluster, "d") == before and before["Flags"] == "DAILY,SPEC_NODES"
    outside = cluster.submit("true", "-w", "n1", "-t", "5")
    inside = cluster.submit("true", "--reservation=d", "-t", "5")
    cluster.wait_state(inside, "COMPLETED")
    assert cluster.state(outside) == "PENDING"
    # When this day's is over, the next day's is there; a job that would run into that still waits.
    cluster.run("scontrol", "update", "reservationname=d", "endtime=now+2", check=0)
    cluster.wait_state(outside, "COMPLETED")
    assert shown(cluster, "d")["State"] == "INACTIVE" and shown(cluster, "d")["StartTime"] > before["StartTime"]
    late = cluster.submit("true", "-w", "n1", "-t", "2-0")
    early = cluster.submit("true", "-w", "n1", "-t", "60")
    cluster.wait_state(early, "COMPLETED")
    assert cluster.state(late) == "PENDING"


@pytest.mark.minke_only
def test_some_cpus_and_who_may(cluster):
    create(cluster, "reservationname=c", "starttime=now", "duration=60", "accounts=def-x", "nodes=n1", "corecnt=1")
    assert shown(cluster, "c")["CoreCnt"] == "1"
    refused = cluster.run("sbatch", "--reservation=c", "--wrap", "true", check=1)
    assert "Access denied to requested reservation" in refused.stderr
    both = cluster.submit("true", "-w", "n1", "-N", "1", "-n", "2")
    one = cluster.submit("sleep 1000", "-w", "n1", "-n", "1")
    cluster.wait_state(one, "RUNNING")
    inside = cluster.submit("sleep 1000", "--reservation=c", "-A", "def-x")
    assert cluster.wait_state(inside, "RUNNING")["NodeList"] == "n1"
    assert cluster.state(both) == "PENDING"
    second = cluster.submit("sleep 1000", "--reservation=c", "-A", "def-x")
    time.sleep(0.5)  # long enough for it to start, if it would
    assert cluster.state(second) == "PENDING"


@pytest.mark.minke_only
def test_nodes_are_chosen(cluster):
    job = cluster.submit("sleep 1000", "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    create(cluster, "reservationname=one", "starttime=now", "duration=60", f"users={user()}", "nodecnt=1")
    assert shown(cluster, "one")["Nodes"] == "n2" and shown(cluster, "one")["PartitionName"] == "main"
    busy = create(cluster, "reservationname=two", "starttime=now", "duration=60", f"users={user()}", "nodes=n1", check=1)
    assert busy.stderr.startswith("Error creating the reservation: Requested nodes are busy")


def test_a_suspended_job_lends_its_processors(cluster):
    first = cluster.submit("sleep 1000", "-w", "n1", "-n2", "--mem=1500")
    cluster.wait_state(first, "RUNNING")
    cluster.run("scontrol", "suspend", first, check=0)
    node = cluster.run("scontrol", "-o", "show", "node", "n1").stdout
    assert "CPUAlloc=0 " in node and "AllocMem=1500 " in node and " AllocTRES=mem=1500M" in node
    second = cluster.submit("sleep 1000", "-w", "n1", "-n2", "--mem=300")
    memory = cluster.submit("sleep 1000", "-w", "n1", "-n1", "--mem=1000")
    cluster.wait_state(second, "RUNNING")
    cluster.run("scontrol", "resume", first, check=0)
    assert cluster.state(first) == "RUNNING" and cluster.state(memory) == "PENDING"
    assert "CPUAlloc=2 " in cluster.run("scontrol", "-o", "show", "node", "n1").stdout
    cluster.run("scancel", second, check=0)
    cluster.wait_state(second, "CANCELLED")
    third = cluster.submit("true", "-w", "n1", "--mem=10")
    time.sleep(0.5)  # long enough for it to start, if it would
    assert cluster.state(third) == "PENDING"
    cluster.run("scancel", first, check=0)
    cluster.wait_end(third)


@pytest.mark.minke_only
def test_cpus_beside_those_of_a_running_job(cluster):
    beside = cluster.submit("sleep 1000", "-w", "n1", "-n", "1", "-t", "60")
    cluster.wait_state(beside, "RUNNING")
    create(cluster, "reservationname=rest", "starttime=now", "duration=30", "users=root", "nodes=n1", "corecnt=1")
    cluster.run("scontrol", "delete", "reservationname=rest", check=0)
    cpus = int(cluster.run("sinfo", "-h", "-n", "n1", "-o", "%c", check=0).stdout)
    many = cluster.run("scontrol", "create", "reservation", "reservationname=rest", "starttime=now", "duration=30", "users=root", "nodes=n1",
                       f"corecnt={cpus}")
    assert many.returncode == 1 and "busy" in many.stderr
    whole = cluster.run("scontrol", "create", "reservation", "reservationname=rest", "starttime=now", "duration=30", "users=root", "nodes=n1")
    assert whole.returncode == 1 and f"job {beside} runs on node n1" in whole.stderr


@pytest.mark.minke_only
def test_several_share_the_processors_of_a_node(cluster):
    cpus = int(cluster.run("sinfo", "-h", "-n", "n1", "-o", "%c", check=0).stdout)
    create(cluster, "reservationname=a", "starttime=now", "duration=30", "users=root", "nodes=n1", "corecnt=1")
    create(cluster, "reservationname=b", "starttime=now", "duration=30", "users=root", "nodes=n1", f"corecnt={cpus - 1}")
    third = cluster.run("scontrol", "create", "reservation", "reservationname=c", "starttime=now", "duration=30", "users=root", "nodes=n1",
                        "corecnt=1")
    assert third.returncode == 1 and "overlaps with another reservation" in third.stderr
    inside = cluster.submit("sleep 1000", "--reservation=a", "-n", "1")
    cluster.wait_state(inside, "RUNNING")
    outside = cluster.submit("sleep 1000", "-w", "n1", "-n", "1", "-t", "20")
    beside = cluster.submit("sleep 1000", "--reservation=b", "-n", "1", "-t", "10")
    assert cluster.wait_state(beside, "RUNNING")["NodeList"] == "n1"
    assert cluster.state(outside) == "PENDING"


@pytest.mark.minke_only
def test_cores_of_several_nodes_are_taken_evenly(cluster):
    """So many cores on so many nodes: none of them as a whole, so that a second reservation finds some."""
    create(cluster, "reservationname=half", "starttime=now", "duration=30", "users=root", "nodecnt=2", "corecnt=2")
    assert (shown(cluster, "half")["NodeCnt"], shown(cluster, "half")["CoreCnt"]) == ("2", "2")
    cluster.run("scontrol", "update", "reservationname=half", "flags+=first_cores", check=0)
    assert "FIRST_CORES" in shown(cluster, "half")["Flags"]
    create(cluster, "reservationname=rest", "starttime=now", "duration=30", "users=root", "nodes=n[1-2]", "corecnt=1,1")
    refused = create(cluster, "reservationname=more", "starttime=now", "duration=30", "users=root", "nodes=n2",
                     "corecnt=1", check=1)
    assert "Error creating the reservation" in refused.stderr
