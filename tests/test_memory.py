"""What the daemon takes of the machine's memory, and gives back."""
import pathlib
import re

from cluster import poll

MINKE_ONLY = True


def anonymous_kib(pid: int) -> int:
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"RssAnon:\s+(\d+)", status)[1])


def test_memory_is_given_back_when_a_long_queue_is_gone(cluster):
    cluster.run("squeue", check=0)
    pid = cluster.pid()
    empty, jobs = anonymous_kib(pid), 30_000
    with cluster.wire() as wire:
        sent = 0
        for received in range(jobs):
            while sent < jobs and sent - received < 500:
                wire.send(submit=wire.submission(hold=True))
                sent += 1
            assert wire.receive().WhichOneof("body") == "submit"
    full = anonymous_kib(pid)
    assert full - empty > 8 * 1024  # or this test would say nothing
    cluster.run("scancel", "--me", check=0)
    poll(lambda: anonymous_kib(pid) - empty < (full - empty) * 3 / 4, what="the memory")
    assert cluster.queue() == [] and cluster.pid() == pid
