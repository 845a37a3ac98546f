"""Ports of offline jobs: open to their user, on the log-in side and in the user's other jobs, and closed to others."""
import socket
import subprocess

import pytest

from cluster import Machine, configuration, poll
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.skipif(
    subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0,
    reason="there are no network namespaces here")]

# Answers each connection with its name and what came, until the job is cancelled.
SERVER = """#!/usr/bin/python3
import socket, sys
server = socket.create_server((sys.argv[2], int(sys.argv[3])), backlog=20)
open("up-" + sys.argv[1], "w").close()
while True:
    one, _ = server.accept()
    try:
        one.sendall(sys.argv[1].encode() + b" got " + one.recv(100) + b"\\n")
    except OSError:
        pass
    one.close()
"""
# Prints what a server answers; "closed" where the connection ends without a word, "refused" where nobody listens.
CLIENT = """
import socket, sys
try:
    with socket.create_connection((sys.argv[1], int(sys.argv[2])), 20) as one:
        one.sendall(b"hello")
        said = b"".join(iter(lambda: one.recv(100), b""))
        print(said.decode().strip() or "closed")
except ConnectionResetError:
    print("closed")
except OSError as error:
    print("refused" if isinstance(error, ConnectionRefusedError) else error)
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return one.getsockname()[1]


@pytest.fixture(scope="module")
def cluster():
    one = Shared(machine=configuration(Machine(nodes=2, cpus=8, memory=4000)), tables='\n[[partition]]\nname = "off"\noffline = true\n[offline]\nports = "user"\n')
    yield one
    one.close()


def serve(user, name: str, port: int, partition: str = "off", address: str = "0.0.0.0") -> int:
    (user.work / f"up-{name}").unlink(missing_ok=True)
    job = user.sbatch("-p", partition, "--mem=50M", user.script(SERVER, "server.py"), name, address, port)
    poll(lambda: (user.work / f"up-{name}").exists(), what=f"the server {name}")
    return job


def asks(user, port: int, host: str = "localhost") -> str:
    return user.python(CLIENT, host, port).stdout.strip()


def asks_in_a_job(user, port: int, host: str, partition: str = "off") -> str:
    job = user.submit("#!/usr/bin/python3\n" + CLIENT.replace("sys.argv[1]", repr(host)).replace("sys.argv[2]", str(port)),
                      "-p", partition, "--mem=50M")
    return user.output(job).strip()


@pytest.fixture(autouse=True)
def nothing_left(cluster):
    yield
    for user in (cluster.alice, cluster.bob):
        user.run("scancel", "--me")
        poll(lambda: not user.queue("--me"), what="the end of all jobs")


@pytest.fixture
def served(cluster):
    port = free_port()
    job = serve(cluster.alice, "a", port)
    yield port
    cluster.alice.run("scancel", job)
    cluster.alice.wait_end(job)


def test_the_log_in_side_reaches_a_port_of_ones_job(cluster, served):
    assert poll(lambda: (said := asks(cluster.alice, served)) != "refused" and said, 10, "an open port") == "a got hello"


def test_nobody_else_does(cluster, served):
    poll(lambda: asks(cluster.alice, served) == "a got hello", 10, "an open port")
    assert asks(cluster.bob, served) == "closed"
    done = subprocess.run(["/usr/bin/python3", "-c", CLIENT, "localhost", str(served)], capture_output=True, text=True)
    assert done.stdout == "closed\n"  # root's connection is not the user's, either
    assert asks_in_a_job(cluster.bob, served, "n1") == "refused"


def test_jobs_of_a_user_reach_each_other_by_names_of_nodes(cluster, served):
    assert asks_in_a_job(cluster.alice, served, "n1") == "a got hello"


def test_a_server_of_the_loopback_alone_and_one_of_ipv6(cluster):
    port, other = free_port(), free_port()
    jobs = [serve(cluster.alice, "local", port, address="127.0.0.1")]
    six = SERVER.replace("backlog=20", "backlog=20, family=socket.AF_INET6")
    jobs.append(cluster.alice.sbatch("-p", "off", "--mem=50M", cluster.alice.script(six, "six.py"), "six", "::1", other))
    for number, name in ((port, "local"), (other, "six")):
        assert poll(lambda: (said := asks(cluster.alice, number, "127.0.0.1")) != "refused" and said, 10) == f"{name} got hello"
    cluster.alice.run("scancel", *jobs)


def test_jobs_reach_what_their_user_serves_outside(cluster):
    host, port, bobs = socket.gethostname(), free_port(), free_port()
    jobs = [(cluster.alice, serve(cluster.alice, "outside", port, "main", "127.0.0.1")),
            (cluster.bob, serve(cluster.bob, "bobs", bobs, "main"))]
    keeper = cluster.alice.submit("sleep 600", "-p", "off", "--mem=10M")
    cluster.alice.wait_state(keeper, "RUNNING")
    wait = f"""
import socket, time
for port in ({port}, {bobs}):
    for i in range(40 if port == {port} else 10):
        try:
            with socket.create_connection(({host!r}, port), 5) as one:
                one.sendall(b"hi")
                print(one.recv(100).decode().strip())
                break
        except OSError:
            time.sleep(0.1)
    else:
        print("none")
"""
    said = cluster.alice.output(cluster.alice.submit("#!/usr/bin/python3\n" + wait, "-p", "off", "--mem=50M"))
    assert said == "outside got hi\nnone\n"
    cluster.alice.run("scancel", keeper)
    for user, job in jobs:
        user.run("scancel", job)


def test_what_opened_ports_ends_with_the_last_job(cluster):
    port = free_port()
    job = serve(cluster.alice, "last", port)
    poll(lambda: asks(cluster.alice, port) == "last got hello", 10, "an open port")
    cluster.alice.run("scancel", "--me")
    cluster.alice.wait_end(job)
    poll(lambda: asks(cluster.alice, port) == "refused", 10, "a closed port")
    poll(lambda: not subprocess.run(["pgrep", "-f", f"{cluster.program} job-ports"], capture_output=True).stdout, 10,
         "the end of the processes")


def test_an_administrator_closes_them(cluster):
    path = cluster.directory / "minke.toml"
    text = path.read_text()
    path.write_text(text.replace('ports = "user"', 'ports = "job"'))
    try:
        assert cluster.root_run("scontrol", "reconfigure").returncode == 0
        port = free_port()
        job = serve(cluster.alice, "closed", port)
        assert asks_in_a_job(cluster.alice, port, "n1") == "refused"
        assert asks(cluster.alice, port) == "refused"
        cluster.alice.run("scancel", job)
    finally:
        path.write_text(text)
        cluster.root_run("scontrol", "reconfigure")
