"""Requests that no command would send, from a user who has no rights: each kind, with every number at its bounds and every
text as a shell, a terminal or a path would misread it. The daemon answers, or hangs up; nobody else's job changes."""
import contextlib
import os

import pytest
from google.protobuf.descriptor import FieldDescriptor as Field

from cluster import poll
from shared import NEEDS_ROOT
from wire import frame, greeting, protocol

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]

BOUNDS = {Field.TYPE_UINT32: (0, 1, 2**31, 2**32 - 1), Field.TYPE_UINT64: (0, 1, 2**63, 2**64 - 1),
          Field.TYPE_INT32: (0, -1, 2**31 - 1, -2**31), Field.TYPE_INT64: (0, -1, 2**63 - 1, -2**63),
          Field.TYPE_SINT32: (0, -1, 2**31 - 1, -2**31), Field.TYPE_SINT64: (0, -1, 2**63 - 1, -2**63),
          Field.TYPE_FIXED32: (0, 1, 2**32 - 1), Field.TYPE_FIXED64: (0, 2**64 - 1),
          Field.TYPE_SFIXED32: (0, -1), Field.TYPE_SFIXED64: (0, -1), Field.TYPE_BOOL: (False, True),
          Field.TYPE_DOUBLE: (0.0, float("nan"), float("inf"), -1e308), Field.TYPE_FLOAT: (0.0, float("nan")),
          Field.TYPE_ENUM: (0, 1, 2, 3)}
TEXTS = (b"", b"..", b"/", b"$(id)", b"`id`", b"-x", b"a\nb", b"\x1b]0;x\x07", b"%s%n%n", b"\xff\xfe", b"a\0b", b"x" * 5000,
         b"[0-4294967295]", b"n[1-999999999]", b"=/etc/passwd", b"|/bin/sh", b"1_[0-4294967294]", b"18446744073709551616")
DEPTH = 3  # messages in messages


def kinds() -> list[str]:
    return [field.name for field in protocol().ClientMessage.DESCRIPTOR.oneofs[0].fields]


def is_many(field) -> bool:
    return field.label == Field.LABEL_REPEATED


def fill(message, turn: int, depth: int = 0, fixed: dict | None = None) -> None:
    """Every field of it, at a bound that the turn chooses; `fixed` names those that have a value of their own."""
    for number, field in enumerate(message.DESCRIPTOR.fields):
        if fixed and field.name in fixed:
            value = fixed[field.name]
        elif field.type == Field.TYPE_MESSAGE:
            if depth < DEPTH and not field.message_type.GetOptions().map_entry:
                inner = getattr(message, field.name).add() if is_many(field) else getattr(message, field.name)
                inner.SetInParent()
                fill(inner, turn + number, depth + 1, fixed)
            continue
        elif field.type in BOUNDS:
            value = BOUNDS[field.type][(turn + number) % len(BOUNDS[field.type])]
        else:
            value = TEXTS[(turn * 7 + number) % len(TEXTS)]
            value = value if field.type == Field.TYPE_BYTES else value.decode(errors="replace")
        with contextlib.suppress(ValueError):  # an enumeration that has no such value
            if is_many(field):
                getattr(message, field.name).extend([value, value])
            else:
                setattr(message, field.name, value)


# Sends frames as they are, each on a connection of its own, and says how many were answered or refused by hanging up. It
# hangs up itself after `sys.argv[2]` bytes of an answer: with 0 at once, and what was asked for may still be done later.
SENDER = """
import socket, sys
answered = 0
for line in sys.stdin:
    s = socket.socket(socket.AF_UNIX); s.settimeout(120); s.connect(sys.argv[1])
    try:
        s.sendall(bytes.fromhex(line))
        received, awaited = 0, int(sys.argv[2])
        while received < awaited and (some := s.recv(65536)): received += len(some)
        s.shutdown(socket.SHUT_WR)
        while s.recv(65536): pass
    except (ConnectionResetError, BrokenPipeError): pass
    answered += 1
    s.close()
print(answered)
"""


AN_ANSWER = 7 + 8 + 1  # bytes: the greeting, and the beginning of a frame


def send(shared, user, messages, awaited: int = 0) -> None:
    lines = "".join((greeting() + frame(one.SerializeToString())).hex() + "\n" for one in messages)
    done = user.run("python3", "-c", SENDER, shared.home / "minked.sock", awaited, input=lines, timeout=120)
    assert done.stdout == f"{len(messages)}\n", done.stderr


@pytest.fixture(scope="module")
def victims(shared):
    """A job of alice's that runs a step, and one that is held."""
    running = shared.alice.submit("srun sleep 1000", "--comment=hers", "--no-requeue")
    held = shared.alice.submit("true", "--hold", "--comment=hers", "--array=1-3")
    shared.alice.wait_state(running, "RUNNING")
    poll(lambda: f"{running}.0" in shared.alice.run("squeue", "-h", "-s", "-j", running, "-o", "%i").stdout)
    yield running, held
    shared.alice.run("scancel", running, held)


def facts(shared, jobs) -> list:
    names = ("JobState", "Comment", "TimeLimit", "Priority", "UserId", "Reason", "Partition", "NumNodes", "JobName")
    return [[fields.get(name) for name in names] for job in jobs for fields in shared.alice.jobs(job)]


def machine_facts(shared) -> tuple[str, str, str]:
    shown = shared.alice.run("sinfo", "-h", "-N", "-o", "%N %a %E", check=0).stdout
    return (shown, shared.alice.run("scontrol", "show", "reservation").stdout,
            shared.alice.run("sacctmgr", "-nP", "show", "assoc").stdout)


# What somebody may wait for as long as it takes is not answered; the senders hang up.
@pytest.mark.parametrize("kind", kinds())
def test_no_kind_of_request_reaches_what_is_anothers(shared, victims, kind):
    before, machine = facts(shared, victims), machine_facts(shared)
    messages = []
    for turn in range(12):
        for job in (*victims, None):
            message = protocol().ClientMessage(request_id=1)
            body = getattr(message, kind)
            body.SetInParent()
            # Her job in every field that names one, or none of these.
            own = {"job_id": job, "array_job_id": job, "uid": shared.alice.uid, "user": shared.alice.name.encode()}
            fill(body, turn, fixed=own if job else None)
            messages.append(message)
    send(shared, shared.bob, messages)
    assert facts(shared, victims) == before
    assert machine_facts(shared) == machine
    for command in (["squeue"], ["scontrol", "show", "job"], ["sacct", "-a"], ["sinfo"], ["squeue", "-s"]):
        assert shared.alice.run(*command).returncode == 0, command
    shared.bob.run("scancel", "--me")


def spec_numbers() -> list[str]:
    return [field.name for field in protocol().JobSpec.DESCRIPTOR.fields if field.type in BOUNDS]


@pytest.mark.parametrize("name", spec_numbers())
def test_no_number_of_a_submission_disturbs_anybody(shared, name):
    """Held and not; what is taken must be shown, explained, changed and cancelled like any other job."""
    messages = protocol()
    field = protocol().JobSpec.DESCRIPTOR.fields_by_name[name]
    sent = []
    for value in BOUNDS[field.type]:
        for held in (True, False):
            message = messages.ClientMessage(request_id=1)
            submit = message.submit
            submit.key, submit.script, submit.environment = os.urandom(16), b"#!/bin/sh\n", b"PATH=/bin\0"
            submit.spec.name, submit.spec.work_dir, submit.spec.stdout_path = b"odd", b"/tmp", b"/dev/null"
            submit.spec.hold = held
            with contextlib.suppress(ValueError):
                if field.label == field.LABEL_REPEATED:
                    getattr(submit.spec, name).extend([value] * 3 + list(range(5000, 0, -1)))
                else:
                    setattr(submit.spec, name, value)
            sent.append(message)
    send(shared, shared.bob, sent, awaited=AN_ANSWER)  # a job that comes after scancel would stay
    for job in shared.bob.queue("--me", format="%i"):
        for command in (["scontrol", "show", "job", job], ["minke", "why", job], ["sprio", "-j", job],
                        ["scontrol", "update", f"JobId={job}", "Comment=x"], ["squeue", "--start", "-j", job]):
            assert shared.bob.run(*command).returncode in (0, 1), command
    shared.bob.run("scancel", "--me", check=0)
    try:
        poll(lambda: not shared.bob.queue("--me"), 60)
    except AssertionError:
        shown = [shared.bob.run("scontrol", "show", "job", job).stdout for job in shared.bob.queue("--me", format="%i")]
        raise AssertionError(f"odd jobs have not ended:\n{shown}") from None
