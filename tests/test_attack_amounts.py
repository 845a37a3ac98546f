"""Requests that are small to send and much to do: something named very often, a text that is told once for each job, what
is sent unasked to a client that does not read. Each is refused, or costs what it is worth."""
import os
import pathlib
import subprocess
import sys

import pytest

from cluster import poll
from shared import NEEDS_ROOT
from test_attack_work import ask, ask_all, message
from wire import frame, greeting, protocol

MINKE_ONLY = True
MIB = 1 << 20


def resident(pid: int) -> int:
    fields = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(fields.split("VmRSS:")[1].split()[0]) * 1024


def step(wire, job: int, *argv: bytes, **spec):
    request = wire.messages.CreateStepRequest(key=os.urandom(16), job_id=job)
    request.spec.argv.extend(argv)
    request.spec.work_dir, request.spec.overlap = b"/tmp", True
    request.spec.environment = b"PATH=/usr/bin:/bin\0"
    for name, value in spec.items():
        setattr(request.spec, name, value)
    return request


# ---- a change of steps ----------------------------------------------------------------------------------------------

def test_a_steps_field_is_not_given_without_end(daemon):
    job = daemon.submit("srun sleep 1000")
    poll(lambda: f"{job}.0" in daemon.queue("-s", "-j", job, format="%i"), what="its step")
    with daemon.wire() as wire:
        request = wire.messages.UpdateJobRequest(steps=True)
        request.job.job_id = job
        limit = request.fields.add(name=b"TimeLimit", value=b"9")
        request.fields.extend([limit] * 2000)
        answer = wire.ask(update_job=request)
        assert "changes at once" in str(answer.action.failures), answer
        del request.fields[2:]
        request.fields[0].value = b"5"
        assert not wire.ask(update_job=request).action.failures
    assert f"{job}.0 9:00" in daemon.queue("-s", "-j", job, format="%i %l")
    daemon.run("scancel", job, check=0)


def test_a_steps_time_limit_may_be_as_far_as_numbers_go(daemon):
    job = daemon.submit("sleep 1000")
    daemon.wait_state(job, "RUNNING")
    done = daemon.run("srun", "--overlap", f"--jobid={job}", "-t", "4294967290", "echo", "ran")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    daemon.run("scancel", job, check=0)


# ---- what is told of each job ---------------------------------------------------------------------------------------

def test_what_failed_is_not_told_in_the_senders_words_for_each_job(daemon):
    for _ in range(30):
        daemon.submit("true", "--hold", "--job-name=same")
    with daemon.wire() as wire:
        for steps in (True, False):
            request = wire.messages.UpdateJobRequest(steps=steps, name=b"same")
            request.fields.add(name=b"x" * MIB, value=b"1")
            answer = wire.ask(update_job=request)
            assert len(answer.action.failures) == 30
            assert answer.ByteSize() < MIB
    daemon.run("scancel", "--me", check=0)


# ---- what is sent unasked -------------------------------------------------------------------------------------------

def test_where_a_sattach_waits_is_a_path(daemon):
    job = daemon.submit("srun sleep 1000")
    poll(lambda: f"{job}.0" in daemon.queue("-s", "-j", job, format="%i"), what="its step")
    with daemon.wire() as wire:
        request = wire.messages.AttachStepRequest(job_id=job, step_id=0, socket=b"/" * MIB)
        answer = wire.ask(attach_step=request)
        assert "path has" in str(answer.error), answer
    daemon.run("scancel", job, check=0)


# ---- steps that are asked for again ---------------------------------------------------------------------------------

@pytest.mark.machine(extra="[budgets]\nwaiting_step_bytes = 100000\n[budgets.operators]\nwaiting_step_bytes = 100000\n")
def test_a_step_that_is_asked_for_again_is_charged_before_it_is_looked_for(daemon):
    job = daemon.submit("sleep 1000")
    daemon.wait_state(job, "RUNNING")
    with daemon.wire() as wire:
        request = step(wire, job, b"true")
        request.resent = True
        request.spec.environment = b"A=" + b"x" * 200_000 + b"\0"
        answer = wire.ask(create_step=request)
        assert "waiting_step_bytes" in str(answer.step.ended.launch_error), answer
        # What has been launched is not charged any more.
        for _ in range(5):
            request = step(wire, job, b"true")
            request.resent = True
            request.spec.environment = b"A=" + b"x" * 60_000 + b"\0"
            assert wire.ask(create_step=request).step.HasField("ended")
    daemon.run("scancel", job, check=0)


# ---- steps that are too large to be launched ------------------------------------------------------------------------

def with_programs(wire, job: int, tasks: int, wrapper: int, **spec):
    request = step(wire, job, b"true", ntasks=tasks, **spec)
    request.spec.wrapper.append(b"x" * wrapper)
    for _ in range(tasks):
        request.spec.programs.add(argv=[b"true"])
    return request


def test_words_in_front_of_each_program_are_not_multiplied(daemon):
    job = daemon.submit("sleep 1000")
    daemon.wait_state(job, "RUNNING")
    with daemon.wire() as wire:
        answer = wire.ask(create_step=with_programs(wire, job, 400, 8 * MIB, overcommit=True))
        assert "words in front" in str(answer.error), answer
    assert resident(daemon.pid()) < 300 * MIB
    daemon.run("scancel", job, check=0)


def test_waiting_steps_that_cannot_be_launched_end_one_after_another(daemon):
    """Each ends while those that wait are looked through."""
    job = daemon.submit("sleep 1000", "--ntasks=4")
    daemon.wait_state(job, "RUNNING")
    with daemon.wire() as wire:
        first = step(wire, job, b"sleep", b"3", ntasks=4, overlap=False, exclusive=True, cpus_per_task=1)
        wire.send(create_step=first)
        while not wire.receive().step.HasField("started"):
            pass
        for _ in range(6):
            request = with_programs(wire, job, 4, 7 * MIB, overlap=False, exclusive=True, cpus_per_task=1)
            for program in request.spec.programs:
                program.argv.append(b"x" * (3 * MIB // 2))
            wire.send(create_step=request)
        ended, too_large = 0, 0
        while ended < 7:
            answer = wire.receive()
            assert not answer.HasField("error"), answer
            ended += answer.step.HasField("ended")
            too_large += "for all tasks together" in str(answer.step.ended.launch_error)
    assert too_large == 6 and daemon.state(job) == "RUNNING"
    daemon.run("scancel", job, check=0)


# ---- records that are changed ---------------------------------------------------------------------------------------

def left_memory(cluster, wire, job: int) -> None:
    cluster.wait_end(job)
    poll(lambda: wire.ask(keep_metrics=wire.messages.KeepMetricsRequest(job_id=job)).HasField("action"),
         what="that it leaves memory")


@pytest.mark.machine(extra="[budgets]\nreceived_bytes = 300000\n[budgets.operators]\nreceived_bytes = 300000\n")
def test_a_record_that_is_named_often_is_changed_once_and_all_are_charged(daemon):
    jobs = [daemon.submit("true", "--output=/dev/null") for _ in range(6)]
    with daemon.wire() as wire:
        for job in jobs:
            left_memory(daemon, wire, job)
        request = wire.messages.UpdateRecordsRequest()
        request.jobs.extend([wire.messages.JobSelector(job_id=jobs[0])] * 50)
        comment = request.fields.add(name=b"comment", value=b"x" * 60_000)
        answer = wire.ask(update_records=request)
        assert answer.action.changed == 1, answer
        request.fields.extend([comment])
        assert "several times" in str(wire.ask(update_records=request).error)
        del request.fields[1:]
        request.jobs.extend([wire.messages.JobSelector(job_id=job) for job in jobs])
        assert "fewer jobs" in str(wire.ask(update_records=request).error)
        comment.value = b"short"
        request.fields[0].value = b"short"
        assert wire.ask(update_records=request).action.changed == 6


# ---- what has very many parts ---------------------------------------------------------------------------------------

MANY = 150_000


def selectors(request, count: int = MANY) -> None:
    request.jobs.extend([protocol().JobSelector(job_id=4_000_000_000)] * count)


def names(request) -> None:
    request.filter.names.extend([b"n"] * MANY)


def users(request) -> None:
    request.filter.uids.extend(range(1_000_000))


def ranges(request) -> None:
    request.filter.jobs.add(job_id=1).tasks.extend([protocol().IndexRange(first=1, last=1)] * MANY)


def arguments(request) -> None:
    request.spec.arguments.extend([b""] * MANY)


PARTS = {"hold": selectors, "requeue": selectors, "suspend": selectors, "top": selectors, "update_records": selectors,
         "query_jobs": names, "query_accounting": users, "signal": ranges, "query_steps": names, "submit": arguments}


@NEEDS_ROOT
@pytest.mark.parametrize("kind", PARTS)
def test_a_request_of_very_many_parts_is_refused(shared, kind):
    answer = ask(shared, shared.bob, **{kind: PARTS[kind]})
    assert "parts" in str(answer.error), answer


@NEEDS_ROOT
def test_operators_and_whoever_names_less_are_answered(shared):
    answer = ask(shared, shared.otto, hold=selectors)
    assert len(answer.action.failures) > 0 and not answer.error.code
    answer = ask(shared, shared.bob, hold=lambda request: selectors(request, 20_000))
    assert len(answer.action.failures) == 20_000


# ---- who asks for records -------------------------------------------------------------------------------------------

# Sends what a file has, and reads until there are so many of a text.
WAITER = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
s.sendall(open(sys.argv[2], "rb").read())
got = 0
print("asked", flush=True)
try:
    while got < int(sys.argv[3]):
        got += s.recv(1 << 20).count(bytes.fromhex(sys.argv[4]))
except OSError: pass
print("all", flush=True)
"""


@NEEDS_ROOT
def test_one_users_questions_about_ended_arrays_do_not_stand_before_anothers(shared):
    job = shared.bob.submit("true", "--array=0-199", "--output=/dev/null")
    own = shared.alice.submit("true", "--array=0-1", "--output=/dev/null")
    poll(lambda: not shared.bob.queue("--me") and not shared.alice.queue("--me"), 120, "the end of the arrays")

    def wait_for(number):
        def fill(request):
            request.job_id, request.until = number, protocol().WaitJobRequest.ENDED
        return message(wait_job=fill)

    poll(lambda: len(ask_all(shared, shared.alice, wait_for(own))) == 1)
    count = 4000
    sent = greeting() + frame(wait_for(job).SerializeToString()) * count
    path = shared.bob.work / "asked"
    path.write_bytes(sent)
    last = b"\x08\x01\x10\x01".hex()  # of an answer: its request's number, and that it is the last one
    flood = subprocess.Popen([sys.executable, "-c", WAITER, str(shared.home / "minked.sock"), str(path), str(count), last],
                             stdout=subprocess.PIPE, text=True, cwd="/", env=shared.bob.environment,
                             **shared.bob.rights())
    try:
        assert flood.stdout.readline() == "asked\n"
        answer = ask(shared, shared.alice, wait_job=lambda request: request.CopyFrom(wait_for(own).wait_job))
        assert answer.wait_job.job.job_id, answer
        assert flood.poll() is None, "all of bob's were answered before hers"
    finally:
        flood.kill()
        flood.communicate()


STORED = "stored_bytes = 18000000\n"


@pytest.mark.machine(extra=f"[budgets]\n{STORED}[budgets.operators]\n{STORED}")
def test_scripts_of_jobs_that_are_cancelled_at_once_do_not_fill_the_disk(daemon):
    jobs, refused = [], ""
    with daemon.wire() as wire:
        for _ in range(30):
            answer = wire.ask(submit=wire.submission(script=b"#!/bin/sh\n#" + os.urandom(2_000_000).hex().encode(), hold=True))
            if answer.HasField("error"):
                refused = answer.error.detail or answer.error.message
            else:
                jobs.append(answer.submit.job_id)
                daemon.run("scancel", str(jobs[-1]))
    assert len(jobs) == 4, jobs
    assert b"budget stored_bytes" in refused and b"try again in" in refused, refused
    assert sum(file.stat().st_size for file in daemon.home.glob("minke.db*")) < 60_000_000
    # What is small, or stored already, has room.
    daemon.wait_end(daemon.submit("true"))
