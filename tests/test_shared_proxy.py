"""The way of offline jobs to the hosts that an administrator allows: tinyproxy, and a server that is known by a name that
is allowed and by others that are not."""
import http.server
import os
import pathlib
import re
import shutil
import socket
import ssl
import subprocess
import threading

import pytest

from cluster import poll
from test_shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.skipif(not shutil.which("tinyproxy"), reason="tinyproxy is not installed"),
              pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")]
HOST = socket.gethostname()


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = b"x" * 3_000_000 if self.path == "/large" else b"served\n"
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def server(context: ssl.SSLContext | None = None) -> http.server.ThreadingHTTPServer:
    one = http.server.ThreadingHTTPServer(("", 0), Site)
    if context:
        one.socket = context.wrap_socket(one.socket, server_side=True)
    threading.Thread(target=one.serve_forever, daemon=True).start()
    return one


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    keys = tmp_path_factory.mktemp("keys")
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", keys / "key",
                    "-out", keys / "certificate", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}"],
                   check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(keys / "certificate", keys / "key")
    plain, encrypted = server(), server(context)
    one = Shared(tables=f"""
[[partition]]
name = "off"
offline = true
[proxy]
allow = ["{HOST}", ".wandb.ai"]
connect_ports = {encrypted.server_port}
port = 3199
""")
    try:
        one.http, one.https = plain.server_port, encrypted.server_port
        network = one.alice.run("srun", "-p", "off", "true")
        if "no network namespace" in network.stderr:
            pytest.skip(network.stderr)
        one.certificate = one.directory / "certificate"
        shutil.copy(keys / "certificate", one.certificate)
        one.certificate.chmod(0o644)
        one.minke("software", "scan")
        yield one
    finally:
        one.close()
        plain.shutdown()
        encrypted.shutdown()


def fetch(url: str) -> str:
    """The status that curl gets, or why it got none."""
    return f'curl -s -S --max-time 20 --cacert "$CERTIFICATE" -o page -w "%{{http_code}} %{{http_connect}}\\n" {url} 2>&1\n'


def job(machine, text: str, *options, user=None) -> list[str]:
    user = user or machine.alice
    number = user.submit(f"export CERTIFICATE={machine.certificate}\n{text}", "-p", "off", "--mem=100M", *options)
    return user.output(number).splitlines()


def processes(name: str) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                status = (entry / "status").read_text()
            except OSError:
                continue
            if name.encode() in words[:2] and "State:\tZ" not in status:
                found.append(int(entry.name))
    return found


def relays(machine) -> set[int]:
    """Of this machine's launcher: tests beside this one have theirs."""
    found = set()
    for pid in processes("job-proxy"):
        try:
            parent = re.search(r"PPid:\t(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]
            if str(machine.home).encode() in pathlib.Path(f"/proc/{parent}/cmdline").read_bytes():
                found.add(pid)
        except OSError:
            continue  # it has just ended
    return found


def test_allowed_hosts_and_no_others(machine):
    said = job(machine, fetch(f"http://{HOST}:{machine.http}/") + "module load httpproxy\n"
               + fetch(f"http://{HOST}:{machine.http}/") + "cat page\n"
               + fetch(f"https://{HOST}:{machine.https}/") + "cat page\n"
               + fetch(f"http://{HOST}:{machine.http}/large") + "wc -c < page\nunset no_proxy NO_PROXY\n"
               + fetch(f"http://localhost:{machine.http}/") + fetch(f"http://127.0.0.1:{machine.http}/")
               + fetch(f"http://x{HOST}:{machine.http}/") + fetch(f"https://localhost:{machine.https}/")
               + fetch(f"https://{HOST}:{machine.http}/"))
    assert said[0].startswith("curl: ") and said[1] == "000 000"  # without the module there is no way
    assert said[2:8] == ["200 000", "served", "200 200", "served", "200 000", "3000000"]
    assert said[8:11] == ["403 000"] * 3  # other names of the same server
    assert [line for line in said[11:] if not line.startswith("curl: ")] == ["000 403"] * 2  # another host, another port


def test_steps_and_many_at_once(machine):
    url = f"http://{HOST}:{machine.http}/"
    assert job(machine, f"module load httpproxy\nsrun --mem=50M bash -c '{fetch(url).strip()}'") == ["200 000"]
    said = job(machine, f"module load httpproxy\nfor i in $(seq 30); do curl -s {url} & done; wait")
    assert said == ["served"] * 30
    done = machine.alice.run("srun", "-p", "off", "--mem=100M", "bash", "-c", f"module load httpproxy; curl -s {url}",
                             check=0)
    assert done.stdout == "served\n"


def test_what_is_reached_need_not_be_offline(machine):
    said = job(machine, "echo $WANDB_MODE $COMET_START_ONLINE $http_proxy\nmodule load httpproxy\n"
               "srun --mem=50M bash -c 'echo ${WANDB_MODE-unset} $COMET_START_ONLINE $http_proxy'\n"
               "module unload httpproxy\necho $WANDB_MODE ${http_proxy-unset}")
    assert said == ["offline 0", "unset 0 http://127.0.0.1:3199", "offline unset"]


def test_elsewhere_the_module_says_what_it_is_for(machine):
    number = machine.alice.submit("module load httpproxy; echo ${http_proxy-unset}", "-p", "main", "--mem=100M")
    said = machine.alice.output(number)
    assert "no proxy is needed" in said and said.endswith("unset\n")


def test_it_runs_while_it_is_used_and_ends_with_the_job(machine):
    before = relays(machine)
    url = f"http://{HOST}:{machine.http}/"
    script = (f"module load httpproxy; touch up; until [ -e use ]; do sleep 0.05; done; curl -s {url}; touch used\n"
              f"until [ -e again ]; do sleep 0.05; done; curl -s --retry 5 --retry-all-errors {url}; sleep 100")
    number = machine.bob.submit(script, "-p", "off", "--mem=100M")
    poll((machine.bob.work / "up").exists)
    assert relays(machine) == before  # nobody has asked yet
    (machine.bob.work / "use").touch()
    poll((machine.bob.work / "used").exists)
    [relay] = relays(machine) - before
    status = pathlib.Path(f"/proc/{relay}/status").read_text()
    assert "Uid:\t65534\t65534\t65534\t65534" in status and "CapEff:\t0000000000000000" in status
    [proxy] = [pid for pid in processes("-d") if f"PPid:\t{relay}\n" in pathlib.Path(f"/proc/{pid}/status").read_text()]
    assert machine.bob.run("bash", "-c", f"kill {relay} {proxy}").returncode != 0  # not his to end
    os.kill(proxy, 9)
    (machine.bob.work / "again").touch()
    poll(lambda: (machine.bob.work / f"slurm-{number}.out").read_text() == "served\nserved\n")
    machine.bob.run("scancel", number, check=0)
    machine.bob.wait_end(number)
    poll(lambda: relays(machine) == before and not pathlib.Path(f"/proc/{proxy}").exists())


def test_a_proxy_that_is_not_there(machine):
    """What the file says counts for jobs that begin after `scontrol reconfigure`."""
    path = machine.directory / "minke.toml"
    text = path.read_text()
    path.write_text(text + 'program = "/nowhere/tinyproxy"\n')
    try:
        assert machine.root_run("scontrol", "reconfigure").returncode == 0
        said = job(machine, "module load httpproxy\n" + fetch(f"http://{HOST}:{machine.http}/"))
        assert said[-1] == "000 000"
        log = (machine.home / "launcher.log").read_text()
        assert "/nowhere/tinyproxy: cannot be started (Debian: apt-get install tinyproxy-bin)" in log
        path.write_text(text + 'upstream = "no port"\n')
        refused = machine.root_run("scontrol", "reconfigure")
        assert refused.returncode != 0 and "upstream must be HOST:PORT" in refused.stderr
    finally:
        path.write_text(text)
        assert machine.root_run("scontrol", "reconfigure").returncode == 0
