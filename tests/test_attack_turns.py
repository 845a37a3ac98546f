"""One user asks without end: others are served in between, after a few of his requests and not after all of them."""
import subprocess
import sys

import pytest

from wire import Wire, frame, greeting

MINKE_ONLY = True
pytestmark = pytest.mark.xdist_group("shared")

# Sends one request again and again, as fast as it is taken, and reads the answers. Says when it has the first.
FLOOD = """
import select, socket, sys
greeting, request = (bytes.fromhex(one) for one in sys.argv[2:])
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(greeting)
s.setblocking(False)
unsent, answers = request * 4000, 0
while True:
    readable, writable, _ = select.select([s], [s], [])
    if readable:
        answers += len(s.recv(1 << 20))
        if answers > 100000:
            print("under way", flush=True)
            answers = -1 << 62
    if writable:
        unsent = unsent[s.send(unsent):] or request * 4000
"""


def handled(wire, uid: int) -> int:
    """How many requests of this user the daemon has handled."""
    answer = wire.ask(query_diagnostics=wire.messages.QueryDiagnosticsRequest())
    return sum(one.count for one in answer.diagnostics.by_user if one.id == uid)


@pytest.mark.parametrize("kind", ["query_jobs", "query_accounting", "query_diagnostics", "notify", "explain_job",
                                  "query_priorities", "query_nodes"])
def test_a_flood_of_requests_holds_nobody_up(shared, kind):
    job = int(shared.alice.submit("true", "--hold"))
    with Wire(shared.home) as wire:
        message = wire.messages.ClientMessage(request_id=1)
        getattr(message, kind).SetInParent()
        if kind == "notify":
            message.notify.job.job_id, message.notify.message = job, b"x" * 10
        if kind == "explain_job":
            message.explain_job.job.job_id = job
        floods = [subprocess.Popen([sys.executable, "-c", FLOOD, str(shared.home / "minked.sock"), greeting().hex(),
                                    frame(message.SerializeToString()).hex()], stdout=subprocess.PIPE, cwd="/",
                                   env=shared.alice.environment, **shared.alice.rights()) for _ in range(2)]
        try:
            for flood in floods:
                assert flood.stdout.readline() == b"under way\n"
            counts = [handled(wire, shared.alice.uid)]
            while len(counts) < 30 or (counts[-1] - counts[0] < 20_000 and len(counts) < 5000):
                counts.append(handled(wire, shared.alice.uid))
        finally:
            for flood in floods:
                flood.kill()
                flood.communicate()
    between = sorted(after - before for before, after in zip(counts, counts[1:]))
    assert counts[-1] > counts[0], "there was no flood"
    # They are cheap: the time that others have in between has room for some buffers of 4,000 of each connection. Without
    # turns it was one buffer after another.
    assert between[len(between) // 2] < 24_000, between
    shared.alice.run("scancel", job)
