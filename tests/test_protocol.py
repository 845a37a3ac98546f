"""The daemon against what no command of its own would send. It answers with an error or hangs up; it never ends."""
import os
import random
import socket
import struct

import pytest

from cluster import poll
from wire import frame, greeting, protocol

MINKE_ONLY = True


def closes(wire) -> bool:
    """The daemon hangs up (after whatever it has to say)."""
    try:
        while wire.socket.recv(65536):
            pass
        return True
    except ConnectionResetError:
        return True
    except socket.timeout:
        return False


def test_status(daemon):
    with daemon.wire() as wire:
        assert wire.ask(status=wire.messages.StatusRequest()).status.pid == daemon.pid()


def test_another_version(daemon):
    """Told apart by the greeting, which never changes."""
    with daemon.wire(version=999) as wire:
        assert wire.read_greeting() == 1
        assert closes(wire)


def test_a_command_says_so_when_versions_differ(new_cluster, tmp_path):
    one = new_cluster("other")
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(one.home / "minked.sock"))
    listener.listen()
    command = one.start("squeue")
    connection, _ = listener.accept()
    connection.sendall(greeting(999))
    out, err = command.communicate(timeout=120)
    connection.close()
    listener.close()
    assert command.returncode == 1 and "version" in err and "999" in err, err


@pytest.mark.parametrize("bytes_sent", [b"", b"M", b"MINKE", b"GET / HTTP/1.1\r\n\r\n", b"\0" * 7, os.urandom(1000)],
                         ids=["nothing", "one byte", "half a greeting", "HTTP", "zeros", "noise"])
def test_no_greeting(daemon, bytes_sent):
    with daemon.wire(version=None) as wire:
        wire.socket.sendall(bytes_sent)
        wire.socket.shutdown(socket.SHUT_WR)
        assert closes(wire)


def test_frame_over_the_limit(daemon):
    with daemon.wire() as wire:
        wire.socket.sendall(struct.pack("<II", 0xFFFFFFFF, 0) + b"x" * 1000)
        assert closes(wire)


def test_descriptors_that_never_come(daemon):
    with daemon.wire() as wire:
        wire.socket.sendall(struct.pack("<II", 2, 3) + b"\x08\x01")
        wire.socket.shutdown(socket.SHUT_WR)
        assert closes(wire)


def test_frame_cut_off(daemon):
    with daemon.wire() as wire:
        wire.socket.sendall(struct.pack("<II", 1000, 0) + b"x" * 10)
        wire.socket.shutdown(socket.SHUT_WR)
        assert closes(wire)


def test_submission_cut_off_submits_nothing(daemon):
    messages = protocol()
    for cut in (1, 10, 100, 1000):
        with daemon.wire() as wire:
            request = wire.submission(script=b"#!/bin/sh\n" + b"#" * 2000)
            whole = frame(messages.ClientMessage(request_id=1, submit=request).SerializeToString())
            wire.socket.sendall(whole[:-cut])
    assert daemon.queue("--states=all") == []


def test_noise_in_frames(daemon):
    chance = random.Random(7)
    for size in (0, 1, 2, 5, 50, 5000):
        with daemon.wire() as wire:
            for _ in range(5):
                try:
                    wire.socket.sendall(frame(chance.randbytes(size)))
                except (BrokenPipeError, ConnectionResetError):
                    break


def test_requests_with_nonsense_in_them(daemon):
    """Well-formed messages whose contents make no sense are answered with an error."""
    with daemon.wire() as wire:
        messages = wire.messages
        without_key = wire.submission()
        without_key.key = b"short"
        relative = wire.submission(work_dir="not/absolute")
        huge = wire.submission(ntasks=0xFFFFFFFF, cpus_per_task=0xFFFFFFFF, min_nodes=0xFFFFFFFF)
        endless = wire.submission()
        endless.spec.array.ranges.add(first=0, last=0xFFFFFFFF, step=0)
        backwards = wire.submission()
        backwards.spec.array.ranges.add(first=9, last=1, step=1)
        for request in (without_key, relative, huge, endless, backwards):
            assert wire.ask(submit=request).WhichOneof("body") == "error", request
        for body in ({"wait_job": messages.WaitJobRequest(job_id=99999)},
                     {"create_step": messages.CreateStepRequest(key=b"0" * 16, job_id=99999)},
                     {"query_script": messages.QueryScriptRequest(job_id=99999)},
                     {"update_job": messages.UpdateJobRequest()}):
            answer = wire.ask(**body)
            assert answer.WhichOneof("body") in ("error", "action"), (body, answer)
    assert daemon.queue("--states=all") == []


def test_request_without_a_body(daemon):
    with daemon.wire() as wire:
        wire.send()
        try:
            assert wire.receive().WhichOneof("body") == "error"
        except ConnectionError:
            pass


def test_same_key_submits_once(cluster):
    """Also where the daemon was killed in between."""
    cluster.run("minke", "up", check=0)
    with cluster.wire() as wire:
        request = wire.submission(hold=True)
        numbers = {wire.ask(submit=request).submit.job_id for _ in range(3)}
    cluster.kill()
    cluster.run("squeue", check=0)
    with cluster.wire() as wire:
        numbers.add(wire.ask(submit=request).submit.job_id)
    assert len(numbers) == 1 and len(cluster.queue()) == 1


def test_many_connections_at_once(daemon):
    wires = [daemon.wire() for _ in range(200)]
    for wire in wires:
        wire.send(status=wire.messages.StatusRequest())
    assert all(wire.receive().status.pid == daemon.pid() for wire in wires)
    for wire in wires:
        wire.close()


def test_a_reader_that_never_reads(daemon):
    """One that asks much and reads nothing costs the others nothing."""
    with daemon.wire() as deaf:
        for _ in range(50):
            deaf.send(submit=deaf.submission(hold=True))
        for _ in range(500):
            try:
                deaf.socket.setblocking(False)
                deaf.send(query_jobs=deaf.messages.QueryJobsRequest())
            except (BlockingIOError, BrokenPipeError):
                break
        poll(lambda: len(daemon.queue()) == 50, 20, "the deaf one's submissions")


def test_others_cannot_connect(daemon):
    """The socket and the state are the owner's alone."""
    assert (daemon.home / "minked.sock").stat().st_mode & 0o077 == 0 or daemon.home.stat().st_mode & 0o077 == 0


def test_usage_of_running_steps(cluster):
    """What sstat and scontrol listpids show: each task's processes, and what they use."""
    job = cluster.submit("srun sh -c 'echo $$ > pid.$SLURM_PROCID; sleep 600 & wait' & "
                         "python3 -c 'import time; hold = b\"x\" * (40 << 20); time.sleep(60)'; wait",
                         "--nodes=2", "--ntasks=2", "--mem=100M")
    pids = [int(poll(lambda: (path := cluster.work / f"pid.{rank}").exists() and path.read_text().strip()))
            for rank in (0, 1)]
    with cluster.wire() as wire:
        request = wire.messages.QueryStepUsageRequest()
        request.filter.jobs.add(job_id=job)

        def usage():
            batch, step = wire.ask(query_step_usage=request).step_usage.steps
            held = batch.tasks[0].rss_kib > 40 << 10
            return held and [len(task.pids) for task in step.tasks] == [2, 2] and (batch, step)
        batch, step = poll(usage)
        assert [task.pids[0] for task in step.tasks] == pids
        assert [task.node for task in step.tasks] == [b"n1", b"n2"]
        assert batch.step.name == b"batch" and batch.tasks[0].node == b"n1"
        assert all(task.rss_kib > 500 and task.virtual_kib > task.rss_kib for task in step.tasks)
        # A daemon that starts anew knows the processes again.
        cluster.kill()
    cluster.run("squeue", check=0)
    with cluster.wire() as wire:
        _, step = wire.ask(query_step_usage=request).step_usage.steps
        assert [task.pids[0] for task in step.tasks] == pids
