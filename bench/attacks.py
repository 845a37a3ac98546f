"""What one user can do to a cluster that serves others: floods and heavy requests, each bounded in count and time.

Each attack is a function of Attacker's that goes on until its deadline; `run` is called in a child that has become the user.
For `under_attack`, which times another user's commands meanwhile.
"""
import contextlib
import os
import resource
import select
import socket
import struct
import subprocess
import time
import traceback

from wire import Wire, frame, greeting, protocol

TASKS = 20_000       # of the array that is held and cancelled in pieces
CONNECTIONS = 400    # of one process at a time
MOST_MEMORY = 2 << 30
ATTACKS = {}         # name: function


def attack(function):
    ATTACKS[function.__name__.replace("_", " ")] = function
    return function


class Attacker:
    def __init__(self, home, environment: dict[str, str], deadline: float):
        self.home, self.environment, self.deadline = home, environment, deadline
        self.messages = protocol()

    def going_on(self) -> bool:
        return time.monotonic() < self.deadline

    def connection(self) -> socket.socket | None:
        one = socket.socket(socket.AF_UNIX)
        one.settimeout(2)
        try:
            one.connect(str(self.home / "minked.sock"))
            return one
        except OSError:
            one.close()
            return None

    def wire(self) -> Wire:
        return Wire(self.home, timeout=30)

    def command(self, *words: str) -> None:
        left = max(1.0, self.deadline - time.monotonic())
        with contextlib.suppress(subprocess.TimeoutExpired):
            subprocess.run(words, env=self.environment, cwd="/tmp", stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, timeout=left)

    def submitted(self, wire: Wire, tasks: int = 0, **spec) -> int:
        """A held job of one's own; its number, or 0 where it is refused."""
        request = wire.submission(hold=True, **spec)
        if tasks:
            request.spec.array.ranges.add(first=0, last=tasks - 1, step=1)
        return wire.ask(submit=request).submit.job_id

    def flood(self, requests) -> None:
        """Sends requests (bytes) on one connection without waiting, and drops what is answered."""
        while self.going_on():
            one = self.connection()
            if one is None:
                time.sleep(0.01)
                continue
            with one, contextlib.suppress(OSError):
                one.sendall(greeting())
                one.setblocking(False)
                unsent = b""
                while self.going_on():
                    unsent = unsent or next(requests)
                    readable, writable, _ = select.select([one], [one], [], 1)
                    if readable and not one.recv(1 << 20):
                        break
                    if writable:
                        unsent = unsent[one.send(unsent):]

    def request(self, fill) -> bytes:
        message = self.messages.ClientMessage(request_id=1)
        fill(message)
        return frame(message.SerializeToString())


def forever(*pieces: bytes):
    while True:
        yield from pieces


@attack
def connections(attacker: Attacker) -> None:
    """Opened, kept for a while, and opened again."""
    while attacker.going_on():
        held = [one for _ in range(CONNECTIONS) if (one := attacker.connection())]
        time.sleep(0.2)
        for one in held:
            one.close()


@attack
def half_frames(attacker: Attacker) -> None:
    """Large requests whose last byte never comes."""
    begun = greeting() + struct.pack("<II", 16 << 20, 0)
    piece, held = b"\0" * (1 << 16), []
    while attacker.going_on():
        if len(held) < CONNECTIONS and (one := attacker.connection()):
            with contextlib.suppress(OSError):
                one.sendall(begun)
                one.setblocking(False)
                held.append([one, (16 << 20) - 1])
        for entry in list(held):
            try:
                if entry[1] > len(piece):
                    entry[1] -= entry[0].send(piece)
            except BlockingIOError:
                pass
            except OSError:
                entry[0].close()
                held.remove(entry)
        if len(held) == CONNECTIONS:
            time.sleep(0.01)


@attack
def descriptors(attacker: Attacker) -> None:
    """Passed along with a request that never ends."""
    own = os.open("/dev/null", os.O_RDONLY)
    held = []
    while attacker.going_on():
        one = attacker.connection()
        if one is None or len(held) > CONNECTIONS:
            for other in held:
                other.close()
            held.clear()
            time.sleep(0.05)
            continue
        held.append(one)
        with contextlib.suppress(OSError):
            one.sendall(greeting() + struct.pack("<II", 1000, 6000))
            for _ in range(20):
                socket.send_fds(one, [b"\0"], [own] * 250)


@attack
def garbage(attacker: Attacker) -> None:
    noise = os.urandom(4000)
    while attacker.going_on():
        if one := attacker.connection():
            with one, contextlib.suppress(OSError):
                one.sendall(greeting() + frame(noise))
                one.recv(1)


@attack
def large_submissions(attacker: Attacker) -> None:
    with contextlib.suppress(OSError), attacker.wire() as wire:
        while attacker.going_on():
            attacker.submitted(wire, script=b"#!/bin/sh\n" + b"#" * (3 << 20), environment=b"A=" + b"x" * (1 << 20) + b"\0")


@attack
def many_submissions(attacker: Attacker) -> None:
    while attacker.going_on():
        with contextlib.suppress(OSError), attacker.wire() as wire:
            while attacker.going_on():
                attacker.submitted(wire)


@attack
def keys_of_no_job(attacker: Attacker) -> None:
    def requests():
        while True:
            def fill(message):
                message.create_step.key, message.create_step.job_id = os.urandom(16), 0
            yield attacker.request(fill)
    attacker.flood(requests())


@attack
def scattered_holds(attacker: Attacker) -> None:
    """Every other task of an array is held, and released."""
    with contextlib.suppress(OSError), attacker.wire() as wire:
        job = attacker.submitted(wire, TASKS)
        while attacker.going_on():
            for kind in (0, 2):
                request = attacker.messages.HoldRequest(kind=kind)
                request.jobs.add(job_id=job).tasks.add(first=0, last=TASKS - 1, step=2)
                wire.ask(hold=request)


@attack
def scattered_cancels(attacker: Attacker) -> None:
    with contextlib.suppress(OSError), attacker.wire() as wire:
        while attacker.going_on():
            job = attacker.submitted(wire, TASKS)
            request = attacker.messages.SignalRequest()
            request.filter.jobs.add(job_id=job).tasks.add(first=0, last=TASKS - 1, step=2)
            wire.ask(signal=request)
            request.filter.jobs[0].ClearField("tasks")
            wire.ask(signal=request)


@attack
def notices(attacker: Attacker) -> None:
    """To a job of one's own whose owner does not read them."""
    with attacker.wire() as wire:
        job = attacker.submitted(wire)

    def fill(message):
        message.notify.job.job_id, message.notify.message = job, b"x" * 1000
    attacker.flood(forever(attacker.request(fill)))


@attack
def waiting_clients(attacker: Attacker) -> None:
    with attacker.wire() as wire:
        job = attacker.submitted(wire)

    def fill(message):
        message.wait_job.job_id, message.wait_job.until = job, 1
    attacker.flood(forever(attacker.request(fill) * 50))


@attack
def changes_of_texts(attacker: Attacker) -> None:
    with attacker.wire() as wire:
        job = attacker.submitted(wire)

    def fill(message):
        message.update_job.job.job_id = job
        for name in (b"Comment", b"JobName", b"WCKey"):
            field = message.update_job.fields.add()
            field.name, field.value = name, os.urandom(20_000).hex().encode()
    attacker.flood(forever(*[attacker.request(fill) for _ in range(8)]))


@attack
def questions(attacker: Attacker) -> None:
    def jobs(message):
        message.query_jobs.filter.all_states = True

    def record(message):
        message.query_accounting.filter.all_states = True

    def numbers(message):
        message.query_diagnostics.SetInParent()
    attacker.flood(forever(*map(attacker.request, (jobs, record, numbers))))


@attack
def forecasts(attacker: Attacker) -> None:
    """minke why, of jobs that wait for one another."""
    with contextlib.suppress(OSError), attacker.wire() as wire:
        jobs = [attacker.submitted(wire) for _ in range(20)]
        while attacker.going_on():
            for job in jobs:
                wire.send(explain_job=attacker.messages.ExplainJobRequest(job=attacker.messages.JobSelector(job_id=job)))
            for _ in jobs:
                while not wire.receive().last:
                    pass


@attack
def huge_steps(attacker: Attacker) -> None:
    while attacker.going_on():
        attacker.command("salloc", "-Q", "-n", "1", "srun", "--overcommit", "--overlap", "-n", "100000", "true")


@attack
def webs_of_dependencies(attacker: Attacker) -> None:
    first = 0
    while attacker.going_on():
        words = [f"afterok:{first + number}" for number in range(200)] if first else ["singleton"]
        attacker.command("sbatch", "--hold", "-J", "web", "-o", "/dev/null", "-d", ",".join(words), "--wrap", "true")
        first = first or 1


def become(uid: int, seconds: float) -> None:
    """This child, for good: and it ends whatever happens."""
    os.setsid()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    import signal
    signal.alarm(int(seconds) + 15)


def burn(deadline: float) -> None:
    """The same load without Minke."""
    while time.monotonic() < deadline:
        sum(range(10_000))


def start(uid: int, seconds: float, what) -> int:
    """A child of the user's that calls what(deadline)."""
    child = os.fork()
    if child == 0:
        try:
            become(uid, seconds)
            what(time.monotonic() + seconds)
        except OSError:
            os._exit(0)  # cut off: that ends the attack
        except BaseException:  # noqa: BLE001  it must not go on as the bench
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child
