"""What a user may send to the daemon to end it, or to take from others what all share. It goes on, and serves others."""
import array
import os
import pathlib
import resource
import socket
import struct
import subprocess
import sys
import threading
import time

import pytest

from cluster import poll
from wire import frame, greeting, protocol

MINKE_ONLY = True


def varint(value: int) -> bytes:
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


def field(number: int, wire_type: int, value: bytes) -> bytes:
    return varint(number << 3 | wire_type) + (varint(len(value)) if wire_type == 2 else b"") + value


# ---- tasks that are named more than once ----------------------------------------------------------------------------

@pytest.mark.parametrize("ranges", [[(1, 1, 1), (1, 1, 1)], [(0, 3, 1), (2, 5, 1)], [(0, 8, 2), (0, 9, 1)]])
@pytest.mark.parametrize("verb", ["signal", "hold", "top"])
def test_a_task_may_be_named_twice(daemon, verb, ranges):
    job = daemon.submit("true", "--array=0-9", "--begin=now+1hour")
    with daemon.wire() as wire:
        messages, tasks = wire.messages, protocol().IndexRange
        selector = messages.JobSelector(job_id=job, tasks=[tasks(first=a, last=b, step=c) for a, b, c in ranges])
        requests = {"signal": messages.SignalRequest(filter=messages.JobFilter(jobs=[selector, selector])),
                    "hold": messages.HoldRequest(jobs=[selector, selector]),
                    "top": messages.TopRequest(jobs=[selector, selector])}
        assert wire.ask(**{verb: requests[verb]}).HasField("action")
    meant = {index for a, b, c in ranges for index in range(a, b + 1, c)}
    if verb != "signal":
        return
    left = daemon.queue("-r", "-j", job, format="%K")
    assert {int(index) for index in left} == set(range(10)) - meant


# ---- fields that nobody knows ---------------------------------------------------------------------------------------

# Of a number that the short lists of a queue read by, in every form; and in messages within the message.
UNKNOWN = {"a varint": field(8, 0, varint(7)), "eight bytes": field(8, 1, b"MARKMARK"),
           "a text": field(8, 2, b"MARKMARK"), "four bytes": field(8, 5, b"MARK"),
           "the name as a number": field(1, 5, b"MARK"), "the nodes as a text": field(30, 2, b"MARKMARK"),
           "in the array": field(60, 2, field(1, 2, field(2, 0, varint(2)) + field(9, 1, b"MARKMARK"))),
           "in a dependency": field(61, 2, field(1, 0, varint(4)) + field(30, 5, b"MARK"))}


@pytest.mark.parametrize("bytes_added", UNKNOWN.values(), ids=UNKNOWN)
def test_fields_that_nobody_knows_are_not_kept(cluster, bytes_added):
    daemon = cluster
    daemon.run("minke", "up", check=0)
    with daemon.wire() as wire:
        # Nothing in it is of a higher number than what short lists read: they would stop there.
        request = wire.submission(begin_time=int(time.time()) + 3600)
        request.spec.MergeFromString(bytes_added)
        reply = wire.ask(submit=request)
        assert reply.HasField("submit"), reply
        job = reply.submit.job_id
    assert len(daemon.queue()) == 1
    daemon.run("minke", "down", "--keep-jobs", check=0)
    assert b"MARK" not in b"".join(path.read_bytes() for path in daemon.home.glob("minke.db*"))
    daemon.run("minke", "up", check=0)
    assert len(daemon.queue()) == 1 and daemon.job(job)["JobName"] == "job"


def test_a_value_that_no_enumerator_has_is_refused(daemon):
    with daemon.wire() as wire:
        request = wire.submission(hold=True)
        request.spec.MergeFromString(field(14, 0, varint(77)))  # open_mode
        assert "77" in str(wire.ask(submit=request).error)
    assert daemon.queue() == []


# ---- descriptors ----------------------------------------------------------------------------------------------------

def limit_descriptors(most: int):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def park(wire, count: int) -> bool:
    """Sends descriptors that belong to no message yet; False where the daemon hangs up."""
    null = os.open("/dev/null", os.O_RDONLY)
    try:
        for begin in range(0, count, 250):
            some = array.array("i", [null] * min(250, count - begin))
            byte = struct.pack("<II", 1000, 0)[:1] if begin == 0 else b"\0"
            if wire.socket.sendmsg([byte], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, some)]) == 0:
                return False
        return True
    except OSError:
        return False
    finally:
        os.close(null)


def descriptors_of(pid: int) -> int:
    return len(os.listdir(f"/proc/{pid}/fd"))


@pytest.mark.parametrize("limit", [200, 1024, 20000])
def test_parked_descriptors_take_nothing_from_others(cluster, limit):
    assert cluster.start("minke", "up", preexec_fn=limit_descriptors(limit)).wait(120) == 0
    pid = cluster.pid()
    parked = []
    for _ in range(min(40, limit // 16)):  # fewer than one user may have: what is submitted below is his, too
        try:
            wire = cluster.wire(timeout=5)
        except OSError:
            break
        parked.append(wire)
        park(wire, 6000)
    # Others are served meanwhile, and the daemon has some to spare.
    job = cluster.sbatch("--wrap", "true", timeout=60)
    cluster.wait_end(job)
    assert cluster.pid() == pid
    assert descriptors_of(pid) < limit - min(64, limit // 4)
    for wire in parked:
        wire.close()
    poll(lambda: descriptors_of(pid) < 64, what="the return of what was parked")


def test_owners_are_not_gone_because_there_are_no_descriptors(cluster):
    """Allocations that wait for a process which lives, more than there can be descriptors."""
    assert cluster.start("minke", "up", preexec_fn=limit_descriptors(128)).wait(120) == 0
    pid = cluster.pid()
    with cluster.wire() as wire:
        jobs = [wire.ask(submit=wire.submission(script=b"", interactive=True, hold=True)).submit.job_id
                for _ in range(150)]
        assert all(jobs)
        with cluster.wire() as other:
            assert other.ask(status=other.messages.StatusRequest()).status.jobs_pending == 150
        # A process that has ended is noticed nevertheless.
        owner = subprocess.Popen([sys.executable, "-c", OWNER, str(cluster.home), str(wire_directory())],
                                 stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        job = int(owner.stdout.readline())
        assert cluster.state(job) == "PENDING"
        owner.kill()
        owner.wait()
        cluster.wait_state(job, "CANCELLED")
        left = [line.split()[1] for line in cluster.queue()]
        assert left == ["PENDING"] * 150
    assert cluster.pid() == pid


OWNER = """
import sys
sys.path.insert(0, sys.argv[2])
from wire import Wire
with Wire(sys.argv[1]) as wire:
    print(wire.ask(submit=wire.submission(script=b"", interactive=True, hold=True)).submit.job_id, flush=True)
    sys.stdin.read()
"""


def wire_directory() -> pathlib.Path:
    return pathlib.Path(__file__).resolve().parent.parent / "bench"


# ---- ends that come while somebody asks -----------------------------------------------------------------------------

def test_queries_under_way_do_not_outlive_the_daemon(cluster):
    daemon = subprocess.Popen([cluster.program, "daemon", "--home", cluster.home], env=cluster.environment,
                              stdout=subprocess.PIPE, text=True)
    try:
        assert daemon.stdout.readline() == "ready\n"
        with cluster.wire() as wire:
            for _ in range(400):
                wire.send(submit=wire.submission(hold=True))
            for _ in range(400):
                assert wire.receive().HasField("submit")
            query = wire.messages.QueryAccountingRequest(with_steps=True)
            message = wire.messages.ClientMessage(request_id=1, query_accounting=query)
            wire.socket.sendall(frame(message.SerializeToString()) * 300)
            cluster.run("minke", "down", "--keep-jobs")
            assert daemon.wait(60) == 0
    finally:
        daemon.kill()


# ---- memory ---------------------------------------------------------------------------------------------------------

MIB = 1 << 20
VALUES = """
received_bytes = 50000000
waiting_step_bytes = 50000000
unread_bytes = 20000000
connections = 40
notices = 5
steps = 50
waiting_requests = 100
specification_bytes = 200000
dependencies = 20
"""
SMALL_BUDGETS = f"[budgets]{VALUES}[budgets.operators]{VALUES}"
small = pytest.mark.machine(extra=SMALL_BUDGETS)


def resident(pid: int) -> int:
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError("no VmHWM")


def push(wire, data: bytes) -> bool:
    """Sends as much as is taken within a moment; True: all of it."""
    wire.socket.settimeout(0.5)
    try:
        wire.socket.sendall(data)
        return True
    except (TimeoutError, socket.timeout):
        return False
    except OSError:
        return False


@small
def test_unfinished_requests_take_bounded_memory(daemon):
    """Requests of 16 MiB that are never finished."""
    begun, part = [], struct.pack("<II", 15 * MIB, 0) + b"x" * (12 * MIB)
    for _ in range(30):
        begun.append(daemon.wire())
        push(begun[-1], part)
    assert resident(daemon.pid()) < 200 * MIB
    assert daemon.queue() == []  # small ones are taken meanwhile
    for wire in begun:
        wire.close()
    job = daemon.sbatch("--wrap", "true", "--comment", "after them")
    daemon.wait_end(job)


@small
def test_large_requests_come_one_after_another(daemon):
    """Who stays below the limit of one request gets all of them done, however many there are."""
    wires = [daemon.wire() for _ in range(12)]
    request = wires[0].submission(script=b"#!/bin/sh\n" + b"#" * (4 * MIB - 100), environment=b"A=" + b"x" * (8 * MIB) + b"\0",
                                  hold=True)
    senders = []
    for wire in wires:
        request.key = os.urandom(16)
        thread = threading.Thread(target=wire.send, kwargs={"submit": type(request).FromString(request.SerializeToString())})
        thread.start()
        senders.append(thread)
    jobs = {wire.receive().submit.job_id for wire in wires}
    for thread in senders:
        thread.join()
    assert len(jobs) == 12 and 0 not in jobs


RECORDS = "split_records = 5\n"


@pytest.mark.machine(extra=f"[budgets]\n{RECORDS}[budgets.operators]\n{RECORDS}")
def test_tasks_changed_one_by_one_take_bounded_records(daemon):
    """Each is a record of its own, which every pass of the scheduler looks at."""
    job = daemon.submit("true", "--array=0-999", "--begin=now+1hour")
    done = [daemon.run("scontrol", "hold", f"{job}_{task}") for task in range(0, 20, 2)]
    assert [one.returncode == 0 for one in done] == [True] * 5 + [False] * 5
    assert "budget split_records" in done[-1].stderr, done[-1].stderr
    assert daemon.run("scontrol", "hold", str(job)).returncode == 0  # no records are split off for that
    daemon.run("scancel", f"{job}_[0-8]", check=0)
    poll(lambda: daemon.run("scontrol", "update", f"JobId={job}_20", "Comment=alone").returncode == 0, what="room")
    daemon.run("scancel", job, check=0)


@small
def test_keys_of_steps_are_not_kept(daemon):
    with daemon.wire() as wire:
        for number in range(60):
            request = wire.messages.CreateStepRequest(key=os.urandom(16) * (MIB // 4), job_id=number % 2 * 4000)
            request.spec.argv.append(b"true")
            assert wire.ask(create_step=request).HasField("error")
    assert resident(daemon.pid()) < 200 * MIB


@small
def test_steps_that_wait_take_bounded_memory(daemon):
    job = daemon.submit("srun sleep 1000", "--ntasks=1")
    daemon.wait_state(job, "RUNNING")
    poll(lambda: daemon.queue("-s", "-j", job), what="its step")
    errors = 0
    with daemon.wire() as wire:
        for _ in range(40):
            request = wire.messages.CreateStepRequest(key=os.urandom(16), job_id=job)
            request.spec.argv.append(b"true")
            request.spec.work_dir = b"/tmp"
            request.spec.environment = b"A=" + b"x" * (15 * MIB) + b"\0"
            wire.send(create_step=request)
            while not (answer := wire.receive()).HasField("error"):
                if answer.step.HasField("waiting"):
                    break
            else:
                assert "waiting_step_bytes" in str(answer.error)
                errors += 1
    assert errors >= 30
    assert resident(daemon.pid()) < 300 * MIB
    # They are gone with who asked for them.
    assert daemon.run("srun", "--overlap", f"--jobid={job}", "echo", "served", check=0).stdout == "served\n"
    daemon.run("scancel", job, check=0)


@small
def test_answers_that_nobody_reads_take_bounded_memory(daemon):
    with daemon.wire() as wire:
        for _ in range(40):
            wire.ask(submit=wire.submission(hold=True, comment="x" * 1000))
    asking = []
    for _ in range(30):
        wire = daemon.wire()
        asking.append(wire)
        query = frame(wire.messages.ClientMessage(request_id=1, query_jobs=wire.messages.QueryJobsRequest())
                      .SerializeToString())
        push(wire, query * 1000)  # 70 MB of answers each
    assert resident(daemon.pid()) < 400 * MIB
    for wire in asking:
        wire.close()
    poll(lambda: len(daemon.queue()) == 40, what="an answer")


@small
def test_a_flood_of_notices_is_damped(daemon):
    job = daemon.submit("sleep 1000")
    daemon.wait_state(job, "RUNNING")
    with daemon.wire() as wire:
        def notify(text: bytes):
            return wire.ask(notify=wire.messages.NotifyRequest(job=wire.messages.JobSelector(job_id=job), message=text))
        assert notify(b"x" * 5000).HasField("error")
        answers = [notify(b"now then") for _ in range(40)]
        assert 4 <= sum(answer.HasField("action") for answer in answers) <= 8
        assert "notices" in str(answers[-1].error)
    daemon.run("scancel", job, check=0)


@small
def test_connections_beyond_the_budget_are_told_so(daemon):
    wires = [daemon.wire(version=None) for _ in range(60)]
    told = 0
    for wire in wires:
        try:
            wire.socket.sendall(greeting())
            wire.send(status=wire.messages.StatusRequest())
        except BrokenPipeError:
            wire.requests = 1  # it has been told already
        told += "connections" in str(wire.receive().error)
    assert told >= 19
    for wire in wires:
        wire.close()
    poll(lambda: daemon.run("squeue").returncode == 0, what="an answer")


@small
def test_specifications_and_dependencies_are_bounded(daemon):
    with daemon.wire() as wire:
        first = wire.ask(submit=wire.submission(hold=True)).submit.job_id
        answers = [wire.ask(submit=wire.submission(hold=True, comment="x" * 1000)) for _ in range(300)]
        assert 100 < sum(answer.HasField("submit") for answer in answers) < 250
        assert "specification_bytes" in str(answers[-1].error)
        daemon.run("scancel", "--me", check=0)
        poll(lambda: daemon.queue() == [], what="the end of all jobs")
        first = wire.ask(submit=wire.submission(hold=True)).submit.job_id
        request = wire.submission()
        for _ in range(30):
            request.spec.dependencies.add(job_id=first)
        assert "dependencies" in str(wire.ask(submit=request).error)
        del request.spec.dependencies[10:]
        assert wire.ask(submit=request).HasField("submit")


@small
def test_dependencies_of_tasks_that_are_taken_from_their_array_count(daemon):
    with daemon.wire() as wire:
        first = wire.ask(submit=wire.submission(hold=True)).submit.job_id
        request = wire.submission()
        request.spec.array.ranges.add(first=0, last=9, step=1)
        for _ in range(8):
            request.spec.dependencies.add(job_id=first)
        array = wire.ask(submit=request).submit.job_id
        failures = []
        for task in range(3):
            hold = wire.messages.HoldRequest()
            hold.jobs.add(job_id=array).tasks.add(first=task, last=task, step=1)
            failures.append([one.message for one in wire.ask(hold=hold).action.failures])
        assert failures[0] == [] and "budget dependencies" in str(failures[1]) and failures[2] != []
        daemon.run("scancel", "--me", check=0)
        poll(lambda: daemon.queue() == [], what="the end of all jobs")
        assert wire.ask(submit=wire.submission()).HasField("submit")  # they count no more


@small
def test_requests_that_wait_are_bounded(daemon):
    job = daemon.sbatch("--hold", "--wrap", "true")
    for _ in range(3):  # those of a connection that is gone count no more
        with daemon.wire() as wire:
            for _ in range(150):
                wire.send(wait_job=wire.messages.WaitJobRequest(job_id=job, until=1))
            answers = [wire.receive() for _ in range(150)]
            refused = [answer for answer in answers if answer.HasField("error")]
            assert 50 <= len(refused) <= 55 and "waiting_requests" in str(refused[0].error)
    daemon.run("scancel", job, check=0)


# ---- the log --------------------------------------------------------------------------------------------------------

def test_noise_does_not_fill_the_log(daemon):
    before = (daemon.home / "minked.log").read_text()
    for number in range(600):
        with daemon.wire(version=None) as wire:
            push(wire, [b"GET / HTTP/1.1\r\n\r\n", greeting() + b"\xff" * 100, greeting(7)][number % 3])
            try:
                while wire.socket.recv(65536):
                    pass
            except OSError:
                pass
    text = (daemon.home / "minked.log").read_text()
    assert text.startswith(before[:1000])
    assert len(text.splitlines()) - len(before.splitlines()) <= 40
