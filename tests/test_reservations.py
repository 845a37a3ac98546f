"""scontrol create, update, delete and show reservation, and the jobs in and around them."""
import re
import time

import pytest

from cluster import Machine, poll


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
        r"   AllowedPartitions=\(null\) QOS=\(null\)\n"
        rf"   Users={user()} Groups=\(null\) Accounts=\(null\) Licenses=\(null\) State=INACTIVE BurstBuffer=\(null\)\n"
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
                "scontrol: error: Either Users/Groups, AllowedPartitions, QOS and/or Accounts must be specified.  No reservation created.",
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
    for name, core in ("half", 0), ("rest", 1):
        block = cluster.run("scontrol", "show", "reservation", name, check=0).stdout
        assert f"\n     NodeName=n1 CoreIDs={core}\n     NodeName=n2 CoreIDs={core}\n   TRES=cpu=2\n" in block
    refused = create(cluster, "reservationname=more", "starttime=now", "duration=30", "users=root", "nodes=n2",
                     "corecnt=1", check=1)
    assert "Error creating the reservation" in refused.stderr
    cluster.run("scontrol", "delete", "reservationname=half", check=0)
    refused = create(cluster, "reservationname=first", "starttime=now", "duration=30", "users=root", "nodes=n2",
                     "corecnt=1", "flags=first_cores", check=1)
    assert "Error creating the reservation" in refused.stderr


def test_nodes_that_are_taken_or_drained_are_replaced(new_cluster):
    cluster = new_cluster("replace", Machine(nodes=4, cpus=2))
    create(cluster, "reservationname=spare", "starttime=now", "duration=30", f"users={user()}", "nodecnt=1", "flags=replace")
    first = shown(cluster, "spare")
    assert first["Flags"] == "REPLACE" and first["Nodes"] == "n1"
    job = cluster.submit("sleep 600", "--reservation=spare")
    poll(lambda: shown(cluster, "spare")["Nodes"] == "n2", 10, "another node")
    assert cluster.job(job)["NodeList"] == "n1"
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=test", check=0)
    poll(lambda: shown(cluster, "spare")["Nodes"] == "n3", 10, "a third node")
    create(cluster, "reservationname=down", "starttime=now", "duration=30", f"users={user()}", "nodecnt=1",
           "flags=replace_down")
    assert shown(cluster, "down")["Nodes"] == "n4"
    cluster.run("scancel", str(job), check=0)
    cluster.wait_end(job)
    cluster.run("scontrol", "update", "nodename=n4", "state=down", "reason=test", check=0)
    poll(lambda: shown(cluster, "down")["Nodes"] == "n1", 10, "the node that is idle again")


def test_a_number_of_nodes_needs_no_flag_for_that(new_cluster):
    """Without flags, as in Slurm; STATIC_ALLOC keeps the nodes, and so do those that were named."""
    cluster = new_cluster("kept", Machine(nodes=4, cpus=2))
    when = ("starttime=now+3600", "duration=30", f"users={user()}")
    for name, more in {"any": ["nodecnt=1"], "kept": ["nodecnt=1", "flags=static_alloc"], "named": ["nodes=n3"]}.items():
        create(cluster, f"reservationname={name}", *when, *more)
    assert [shown(cluster, name)["Nodes"] for name in ("any", "kept", "named")] == ["n1", "n2", "n3"]
    for node in "n1", "n2", "n3":
        cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=test", check=0)
    poll(lambda: shown(cluster, "any")["Nodes"] == "n4", 10, "another node")
    assert [shown(cluster, name)["Nodes"] for name in ("kept", "named")] == ["n2", "n3"]


@pytest.mark.minke_only
def test_one_of_several_finds_the_job(cluster):
    """scancel and squeue -R: a job that names several reservations is of each of them."""
    for name in "a", "b", "c":
        create(cluster, f"reservationname={name}", "starttime=now+3600", "duration=30", f"users={user()}", "nodes=n1", "flags=overlap")
    job = cluster.submit("true", "--reservation=a,b")
    other = cluster.submit("true", "--reservation=b,c")
    assert cluster.queue("-R", "a", format="%i") == [str(job)]
    cluster.run("scancel", "--ctld", "--reservation=a", check=0)
    assert (cluster.state(job), cluster.state(other)) == ("CANCELLED", "PENDING")


def test_it_ends_when_nobody_uses_it(cluster):
    when = ("starttime=now", "duration=60", "nodes=n1", f"users={user()}")
    create(cluster, "reservationname=kept", *when, "flags=purge_comp")
    assert shown(cluster, "kept")["Flags"].split(",")[-1] == "PURGE_COMP=00:05:00"
    cluster.run("scontrol", "update", "reservationname=kept", "flags-=purge_comp", check=0)
    assert shown(cluster, "kept")["Flags"] == "SPEC_NODES"
    cluster.run("scontrol", "delete", "reservationname=kept", check=0)
    assert create(cluster, "reservationname=odd", *when, "flags=purge_comp=x", check=1).stderr
    create(cluster, "reservationname=left", *when, "flags=purge_comp=0:01")
    assert shown(cluster, "left")["Flags"].split(",")[-1] == "PURGE_COMP=00:00:01"
    job = cluster.submit("sleep 1000", "--reservation=left")
    cluster.wait_state(job, "RUNNING")
    daily = create(cluster, "reservationname=daily", *when[:2], "nodes=n2", when[3], "flags=daily,purge_comp=0:01")
    assert daily.returncode == 0
    first = shown(cluster, "daily")["StartTime"]
    poll(lambda: shown(cluster, "daily")["StartTime"] != first, 30, "the next day")
    assert shown(cluster, "left")["ReservationName"] == "left"  # longer idle than a second, had it no job
    cluster.run("scancel", job, check=0)
    poll(lambda: cluster.run("scontrol", "show", "reservation", "left").stdout.endswith("not found\n"), 40, "its end")
    cluster.run("scontrol", "delete", "reservationname=daily", check=0)


@pytest.mark.minke_only
def test_a_magnetic_one_draws_its_jobs_in(cluster):
    create(cluster, "reservationname=mag", "starttime=now", "duration=60", f"users={user()}", "nodes=n2", "flags=magnetic")
    assert "MAGNETIC" in shown(cluster, "mag")["Flags"]
    drawn = cluster.submit("sleep 1000", "-n", "2", "-t", "5", "--requeue")
    run = cluster.wait_state(drawn, "RUNNING")
    assert run["NodeList"] == "n2" and run["Reservation"] == "mag"
    outside = cluster.submit("sleep 1000", "-n", "2", "-t", "5")  # it is full; what nobody holds will do, too
    run = cluster.wait_state(outside, "RUNNING")
    assert run["NodeList"] == "n1" and "Reservation" not in run
    array = cluster.submit("sleep 1000", "-n", "1", "-t", "5", "-a", "1-2")
    cluster.run("scancel", drawn, check=0)
    assert {cluster.wait_state(f"{array}_{task}", "RUNNING")["Reservation"] for task in (1, 2)} == {"mag"}
    cluster.run("scancel", array, check=0)
    other = create(cluster, "reservationname=theirs", "starttime=now", "duration=60", "users=daemon", "nodes=n1",
                   "flags=magnetic,ignore_jobs")
    assert other.returncode == 0
    cluster.run("scancel", outside, check=0)
    kept_out = cluster.submit("sleep 1000", "-w", "n1", "-t", "5")
    inside = cluster.submit("sleep 1000", "-t", "5")
    assert cluster.wait_state(inside, "RUNNING")["NodeList"] == "n2"
    assert cluster.state(kept_out) == "PENDING"
    # What is drawn in survives the daemon, and is drawn in no more when it waits again.
    cluster.kill()
    assert cluster.job(inside)["Reservation"] == "mag"
    cluster.run("scontrol", "update", "reservationname=mag", "flags-=magnetic", check=0)
    assert "MAGNETIC" not in shown(cluster, "mag")["Flags"]


@pytest.mark.minke_only
def test_a_magnetic_one_lets_go_of_what_is_requeued(cluster):
    create(cluster, "reservationname=mag", "starttime=now", "duration=60", f"users={user()}", "nodes=n2", "flags=magnetic")
    job = cluster.submit("sleep 1000", "-t", "5", "--requeue")
    assert cluster.wait_state(job, "RUNNING")["Reservation"] == "mag"
    cluster.run("scontrol", "requeuehold", job, check=0)
    cluster.wait_state(job, "PENDING")
    assert "Reservation" not in cluster.job(job)


@pytest.mark.minke_only
def test_what_cannot_fit_is_refused_once_it_has_begun(cluster):
    create(cluster, "reservationname=r", "starttime=now", "duration=60", f"users={user()}", "nodes=n1")
    for options in ["-N2"], ["-n3"], ["-n1", "-c3"], ["-w", "n2"]:
        refused = cluster.run("sbatch", "--reservation=r", *options, "--wrap", "true", check=1).stderr
        assert "Requested node configuration is not available" in refused, options
    # What does not start at once may be changed before it does.
    cluster.run("sbatch", "--hold", "--reservation=r", "-N2", "--wrap", "true", check=0)
    cluster.run("sbatch", "--begin=now+3600", "--reservation=r", "-N2", "--wrap", "true", check=0)
    cluster.wait_end(cluster.sbatch("--reservation=r", "-n2", "-w", "n1", "--wrap", "true"))
    create(cluster, "reservationname=later", "starttime=now+7200", "duration=60", f"users={user()}", "nodes=n2")
    cluster.run("sbatch", "--reservation=later", "-N2", "--wrap", "true", check=0)
    create(cluster, "reservationname=flexible", "starttime=now", "duration=60", f"users={user()}", "nodes=n2", "flags=flex")
    cluster.run("sbatch", "--reservation=flexible", "-N2", "--wrap", "true", check=0)


def test_of_several_whichever_is_free(cluster):
    when = ("starttime=now", "duration=60", f"users={user()}")
    create(cluster, "reservationname=a", *when, "nodes=n1")
    create(cluster, "reservationname=b", *when, "nodes=n2")
    told = "echo $SLURM_JOB_RESERVATION > $SLURM_JOB_ID.in; sleep 1000"
    jobs = [cluster.submit(told, "-n", "2", "-t", "5", "--reservation=b,a") for _ in range(2)]
    for job, ran_in in zip(jobs, "ba"):
        assert cluster.wait_state(job, "RUNNING")["Reservation"] == "b,a"  # as it asked
        poll(lambda: (cluster.work / f"{job}.in").exists() and (cluster.work / f"{job}.in").read_text() == f"{ran_in}\n")
    cluster.run("scancel", jobs[0], check=0)
    cluster.wait_end(jobs[0])
    cluster.kill()
    busy = cluster.run("scontrol", "delete", "reservationname=a", check=1)
    assert "Requested reservation is in use" in busy.stderr
    cluster.run("scontrol", "delete", "reservationname=b", check=0)  # named by the other, which is not in it
    cluster.run("scancel", jobs[1], check=0)
    cluster.wait_end(jobs[1])
    for job in jobs:
        assert cluster.job(job)["Reservation"] == "b,a"


@pytest.mark.minke_only
def test_one_that_floats_keeps_long_jobs_out_for_ever(cluster):
    create(cluster, "reservationname=short", "starttime=now+10minutes", "duration=60", f"users={user()}", "nodes=n2",
           "flags=time_float")
    assert "TIME_FLOAT" in shown(cluster, "short")["Flags"] and shown(cluster, "short")["State"] == "INACTIVE"
    begin = shown(cluster, "short")["StartTime"]
    long = cluster.submit("true", "-w", "n2", "-t", "11")
    short = cluster.submit("true", "-w", "n2", "-t", "9")
    cluster.wait_state(short, "COMPLETED")
    assert cluster.state(long) == "PENDING"
    poll(lambda: shown(cluster, "short")["StartTime"] > begin)  # as far ahead as ever
    assert shown(cluster, "short")["Duration"] == "01:00:00"
    refused = cluster.run("sbatch", "--reservation=short", "--wrap", "true", check=1)
    assert "Access denied to requested reservation" in refused.stderr
    for words in (("duration=60", "flags=time_float,daily"), ("endtime=now+1hour", "flags=time_float")):
        assert create(cluster, "reservationname=x", "starttime=now+60", f"users={user()}", "nodes=n1", *words, check=1)
    cluster.run("scontrol", "delete", "reservationname=short", check=0)
    cluster.wait_state(long, "COMPLETED")


@pytest.mark.minke_only
def test_groups_may_use_it(cluster):
    import grp
    import os
    own = grp.getgrgid(os.getgid()).gr_name
    create(cluster, "reservationname=g", "starttime=now", "duration=60", f"groups={own}", "nodes=n1")
    assert shown(cluster, "g")["Groups"] == own
    cluster.wait_state(cluster.submit("true", "--reservation=g", "-t", "5"), "COMPLETED")
    other = next(group.gr_name for group in grp.getgrall() if group.gr_gid not in os.getgroups() + [os.getgid()]
                 and user() not in group.gr_mem)
    create(cluster, "reservationname=h", "starttime=now", "duration=60", f"groups={other}", "nodes=n2")
    refused = cluster.run("sbatch", "--reservation=h", "--wrap", "true", check=1)
    assert "Access denied to requested reservation" in refused.stderr


def test_all_nodes_of_a_partition(cluster):
    def place(name):
        one = shown(cluster, name)
        return one["Nodes"], one["PartitionName"], one["Flags"]
    when = ("starttime=now+60minutes", "duration=1", f"users={user()}")
    create(cluster, "reservationname=p", *when, "partition=main")
    assert place("p") == ("n[1-2]", "main", "SPEC_NODES,PART_NODES")
    cluster.run("scontrol", "update", "reservationname=p", "nodes=n1", check=0)
    assert place("p") == ("n1", "main", "SPEC_NODES")
    cluster.run("scontrol", "update", "reservationname=p", "flags=part_nodes", "nodes=ALL", check=0)
    assert place("p") == ("n[1-2]", "main", "SPEC_NODES,PART_NODES")
    cluster.run("scontrol", "delete", "reservationname=p", check=0)
    create(cluster, "reservationname=p", *when, "partition=main", "nodes=ALL")
    assert place("p") == ("n[1-2]", "main", "SPEC_NODES,PART_NODES")
    for words in (["flags=part_nodes"], ["flags=part_nodes", "partition=main"], ["flags=part_nodes", "nodes=n1"],
                  ["flags=part_nodes", "nodes=ALL"], ["flags=part_nodes", "partition=main", "nodes=n1"]):
        refused = create(cluster, "reservationname=q", *when, *words, check=1)
        assert "PART_NODES flag requires specifying a Partition and ALL nodes." in refused.stderr
    cluster.run("scontrol", "delete", "reservationname=p", check=0)


def test_license_only_is_any_nodes(new_cluster):
    cluster = new_cluster("licenses", Machine(settings="licenses = {matlab = 3}"))
    create(cluster, "reservationname=l", "starttime=now", "duration=60", f"users={user()}", "licenses=matlab:2", "flags=license_only")
    assert shown(cluster, "l")["Flags"] == "ANY_NODES"


def test_licenses_are_reserved(new_cluster):
    cluster = new_cluster("licenses", Machine(nodes=2, cpus=2, settings="[licenses]\nmatlab = 3\n"))
    many = create(cluster, "reservationname=x", "starttime=now", "duration=60", f"users={user()}", "licenses=matlab:4", check=1)
    assert many.stderr.startswith("Error creating the reservation: Invalid license specification")
    create(cluster, "reservationname=lic", "starttime=now", "duration=60", f"users={user()}", "licenses=matlab:2")
    assert shown(cluster, "lic")["Licenses"] == "matlab:2" and shown(cluster, "lic")["NodeCnt"] == "0"
    assert create(cluster, "reservationname=y", "starttime=now+60", "duration=60", f"users={user()}", "licenses=matlab:2", check=1)
    assert "Total=3 Used=0 Free=3 Reserved=2" in cluster.run("scontrol", "-o", "show", "licenses").stdout
    two = cluster.submit("sleep 1000", "-L", "matlab:2", "-t", "5")
    one = cluster.submit("sleep 1000", "-L", "matlab", "-t", "5")
    cluster.wait_state(one, "RUNNING")
    assert cluster.state(two) == "PENDING" and cluster.queue("-j", two, format="%r") == ["Licenses"]
    inside = cluster.submit("sleep 1000", "-L", "matlab:2", "-t", "5", "--reservation=lic")
    assert cluster.wait_state(inside, "RUNNING")["Reservation"] == "lic"
    cluster.run("scancel", inside, check=0)
    cluster.wait_end(inside)
    assert cluster.state(two) == "PENDING"
    cluster.run("scontrol", "delete", "reservationname=lic", check=0)
    cluster.wait_state(two, "RUNNING")


@pytest.mark.parametrize("flags", ["daily,hourly", "weekly,time_float", "maint,replace", "static_alloc,replace_down"])
def test_flags_that_do_not_go_together(cluster, flags):
    first, second = flags.split(",")
    where = ("reservationname=r1", "starttime=now+600", "duration=10", f"users={user()}", "nodecnt=1")
    refused = create(cluster, *where, f"flags={flags}", check=1)
    assert "Requested operation not supported on this system" in refused.stderr
    create(cluster, *where, f"flags={first}")
    cluster.run("scontrol", "update", "reservation=r1", f"flags={second}", check=1)
    assert second.upper() not in shown(cluster, "r1")["Flags"]


def test_deleted_by_its_name_alone(cluster):
    create(cluster, "reservationname=r1", "starttime=now+600", "duration=10", f"users={user()}", "nodes=n2", "flags=")
    assert "Proper format is" in cluster.run("scontrol", "delete", "r1", check=1).stderr
    assert "too many arguments" in cluster.run("scontrol", "delete", "reservation", "r1", "r2", check=1).stderr
    cluster.run("scontrol", "delete", "reservation", "r1", check=0)
    assert "No reservations" in cluster.run("scontrol", "show", "reservation").stdout


@pytest.mark.minke_only
@pytest.mark.machine(nodes=2, cpus=4, gpus="a100:2")
def test_gpus_of_nodes(cluster):
    me, later = f"users={user()}", ("starttime=now+3600", "duration=10")

    def place(*words) -> tuple[str, str, str]:
        create(cluster, "reservationname=r", *later, me, *words)
        fields = shown(cluster, "r")
        cluster.run("scontrol", "delete", "reservationname=r", check=0)
        return fields["Nodes"], fields["CoreCnt"], fields["TRES"]
    assert place("TRES=gres/gpu=1") == ("n1", "4", "cpu=4,gres/gpu=1")
    assert place("TRES=gres/gpu=3") == ("n[1-2]", "8", "cpu=8,gres/gpu=3")
    assert place("TRES=cpu=2,gres/gpu:a100=2") == ("n1", "2", "cpu=2,gres/gpu:a100=2")
    assert place("TRES=gres/gpu=2", "nodecnt=2") == ("n[1-2]", "8", "cpu=8,gres/gpu=2")
    assert place("TRESPerNode=gres/gpu=1", "nodecnt=2") == ("n[1-2]", "2", "cpu=2,gres/gpu=2")
    assert place("TRESPerNode=cpu=2,gres/gpu=1", "nodes=n2") == ("n2", "2", "cpu=2,gres/gpu=1")
    for words, says in (("TRES=gres/gpu=5", "Requested nodes are busy"), ("TRES=gres/nosuch=1", "Invalid Trackable RESource"),
                        ("TRES=gres/gpu=0", "Invalid Trackable RESource")):
        assert says in create(cluster, *later, me, words, check=1).stderr


@pytest.mark.minke_only
@pytest.mark.machine(nodes=1, cpus=4, gpus="a100:3")
def test_gpus_are_held_for_the_jobs_of_a_reservation(cluster):
    create(cluster, "reservationname=r", "starttime=now", "duration=60", f"users={user()}", "TRES=cpu=2,gres/gpu=1")
    options = ("-Q", "-n1", "--mem=10", "-t", "5", "--immediate=2")
    others = cluster.start("srun", *options, "--gres=gpu:2", "sh", "-c", "echo ready; exec sleep 600")
    assert others.stdout.readline() == "ready\n"
    assert cluster.run("srun", *options, "--gres=gpu:1", "true").returncode != 0
    assert cluster.run("srun", *options, "--reservation=r", "--gres=gpu:2", "true").returncode != 0
    seen = cluster.run("srun", *options, "--reservation=r", "--gres=gpu:1", "sh", "-c", "echo $CUDA_VISIBLE_DEVICES", check=0)
    assert seen.stdout == "2\n"  # the lowest that is free
    own = cluster.submit("sleep 600", "--reservation=r", "--gres=gpu:1", "--mem=10")
    cluster.wait_state(own, "RUNNING")
    assert cluster.run("srun", *options, "--reservation=r", "--gres=gpu:1", "true").returncode != 0
    assert cluster.run("srun", *options, "--reservation=r", "true", check=0)
    others.terminate()
    others.wait()
