"""The way of offline jobs to the hosts that an administrator allows: tinyproxy, and a server that is known by a name that
is allowed and by others that are not."""
import hashlib
import http.server
import io
import json
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import tarfile
import threading

import pytest

from cluster import ROOT, poll
from processes import all_processes, command_line, has_ended, parent_of
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.skipif(not shutil.which("tinyproxy"), reason="tinyproxy is not installed"),
              pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")]
HOST = socket.gethostname()
RATTLER = "py-rattler==0.28.0"


class Site(http.server.BaseHTTPRequestHandler):
    channel: dict[str, bytes] = {}  # of conda's packages, by path

    def do_GET(self):
        if self.path.startswith("/channel/"):
            body = self.channel.get(self.path)
        else:
            body = b"x" * 3_000_000 if self.path == "/large" else b"served\n"
        self.send_response(404 if body is None else 200)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body or b"")

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 256  # of 5 it resets connections that come together


def server(context: ssl.SSLContext | None = None) -> Server:
    one = Server(("", 0), Site)
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
port = 80
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
    return f'curl -s -S --max-time 120 --cacert "$CERTIFICATE" -o page -w "%{{http_code}} %{{http_connect}}\\n" {url} 2>&1\n'


def job(machine, text: str, memory: str = "100M") -> list[str]:
    number = machine.alice.submit(f"export CERTIFICATE={machine.certificate}\n{text}", "-p", "off", f"--mem={memory}")
    return machine.alice.output(number, seconds=150).splitlines()


def processes(name: str) -> list[int]:
    return [pid for pid in all_processes() if name in command_line(pid)[:2] and not has_ended(pid)]


def relays(machine) -> set[int]:
    """Of this machine's launcher: tests beside this one have theirs."""
    return {pid for pid in processes("job-proxy") if str(machine.home) in " ".join(command_line(parent_of(pid)))}


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


# Each names the host that is allowed, and one that is not, to which it must not lead.
TWO_HOSTS = ["GET http://{other}/ HTTP/1.1\r\nHost: {host}", "GET / HTTP/1.1\r\nHost: {other}",
             "GET http://{host}@{other}/ HTTP/1.1\r\nHost: {host}", "GET http://{host}:80@{other}/ HTTP/1.1",
             "GET http://{host}#@{other}/ HTTP/1.1", "GET http://{other}#.wandb.ai/ HTTP/1.1",
             "GET http://{other}?.wandb.ai HTTP/1.1", "GET http://{other}/.wandb.ai HTTP/1.1",
             "GET http://{other}\\.wandb.ai/ HTTP/1.1", "GET http://[::1]:{port}/.wandb.ai HTTP/1.1",
             "GET http://0:{port}/ HTTP/1.1\r\nHost: {host}", "CONNECT {host}@{other} HTTP/1.1",
             "CONNECT {host}:443@{other} HTTP/1.1", "GET http://tinyproxy.stats/ HTTP/1.1"]
RAW = """#!/usr/bin/python3
import socket
for request in {asked}:
    with socket.create_connection(("127.0.0.1", 80), 120) as one:
        one.sendall(request.encode() + b"\\r\\n\\r\\n")
        print(one.recv(20).decode().split()[1])
"""


def test_two_hosts_in_one_request(machine):
    other = f"localhost:{machine.http}"
    asked = [one.format(host=HOST, other=other, port=machine.http) for one in TWO_HOSTS]
    program = machine.alice.script(RAW.format(asked=asked), "raw.py")
    said = job(machine, f"module load httpproxy\n{fetch(f'http://{HOST}:{machine.http}/')}/usr/bin/python3 {program}")
    assert said[0] == "200 000"
    assert dict(zip(asked, said[1:], strict=True)) == dict.fromkeys(asked, "403")


def test_the_lines_of_a_guide(machine):
    """Alex's: in the shell, with no module."""
    lines = "export http_proxy=http://proxy:80\nexport https_proxy=http://proxy:80\n"
    said = job(machine, lines + fetch(f"http://{HOST}:{machine.http}/") + fetch(f"https://{HOST}:{machine.https}/")
               + fetch(f"http://localhost:{machine.http}/") + "getent hosts squid\n")
    assert said[:3] == ["200 000", "200 200", "403 000"] and said[3].split()[:1] == ["127.0.0.1"]
    number = machine.alice.submit("getent hosts proxy || echo none", "-p", "main", "--mem=100M")
    assert machine.alice.output(number) == "none\n"


def test_steps_and_many_at_once(machine):
    url = f"http://{HOST}:{machine.http}/"
    assert job(machine, f"module load httpproxy\nsrun --mem=50M bash -c '{fetch(url).strip()}'") == ["200 000"]
    said = job(machine, f"module load httpproxy\nfor i in $(seq 30); do curl -sS {url} 2>&1 & done; wait", "500M")
    assert said == ["served"] * 30
    done = machine.alice.run("srun", "-p", "off", "--mem=100M", "bash", "-c", f"module load httpproxy; curl -s {url}",
                             check=0)
    assert done.stdout == "served\n"


def test_what_is_reached_need_not_be_offline(machine):
    said = job(machine, "echo $WANDB_MODE $COMET_START_ONLINE $http_proxy\nmodule load httpproxy\n"
               "srun --mem=50M bash -c 'echo ${WANDB_MODE-unset} $COMET_START_ONLINE $http_proxy'\n"
               "module unload httpproxy\necho $WANDB_MODE ${http_proxy-unset}")
    assert said == ["offline 0", "unset 0 http://127.0.0.1:80", "offline unset"]


def test_elsewhere_the_module_says_what_it_is_for(machine):
    number = machine.alice.submit("module load httpproxy; echo ${http_proxy-unset}", "-p", "main", "--mem=100M")
    said = machine.alice.output(number)
    assert "no proxy is needed" in said and said.endswith("unset\n")


def test_it_runs_while_it_is_used_and_ends_with_the_job(machine):
    poll(lambda: not relays(machine), what="the end of those before")
    url = f"http://{HOST}:{machine.http}/"
    script = (f"module load httpproxy; touch up; until [ -e use ]; do sleep 0.05; done; curl -s {url}; touch used\n"
              f"until [ -e again ]; do sleep 0.05; done; curl -s --retry 5 --retry-all-errors {url}; sleep 1000")
    number = machine.bob.submit(script, "-p", "off", "--mem=100M")
    poll((machine.bob.work / "up").exists)
    assert not relays(machine)  # nobody has asked yet
    (machine.bob.work / "use").touch()
    poll((machine.bob.work / "used").exists)
    [relay] = relays(machine)
    status = pathlib.Path(f"/proc/{relay}/status").read_text()
    assert "Uid:\t65534\t65534\t65534\t65534" in status and "CapEff:\t0000000000000000" in status
    [proxy] = [pid for pid in processes("-d") if parent_of(pid) == relay]
    assert machine.bob.run("bash", "-c", f"kill {relay} {proxy}").returncode != 0  # not his to end
    os.kill(proxy, 9)
    (machine.bob.work / "again").touch()
    poll(lambda: (machine.bob.work / f"slurm-{number}.out").read_text() == "served\nserved\n")
    machine.bob.run("scancel", number, check=0)
    machine.bob.wait_end(number)
    poll(lambda: not relays(machine) and not pathlib.Path(f"/proc/{proxy}").exists())


WHALE = {"name": "whale", "version": "1.0", "build": "0", "build_number": 0, "depends": [], "subdir": "noarch", "noarch": "generic"}
CONDA = """
import asyncio, os, sys, rattler
async def main(channel, top):
    records = await rattler.solve(sources=[rattler.Channel(channel)], specs=["whale"], platforms=["linux-64", "noarch"],
                                  gateway=rattler.Gateway(cache_dir=top + "/index"))
    await rattler.install(records, target_prefix=top + "/env", cache_dir=top + "/packages")
    print(open(top + "/env/share/whale.txt").read().strip())
asyncio.run(main(*sys.argv[1:]))
sys.stdout.flush()
os._exit(0)  # its threads may outlive the interpreter, and end the process in their own way
"""


def channel() -> dict[str, bytes]:
    """A channel with one package, as conda-forge is one."""
    def digest(data: bytes, kind: str) -> str:
        return hashlib.new(kind, data).hexdigest()
    text, packed = b"a small whale\n", io.BytesIO()
    paths = {"paths_version": 1, "paths": [{"_path": "share/whale.txt", "path_type": "hardlink", "size_in_bytes": len(text),
                                            "sha256": digest(text, "sha256")}]}
    with tarfile.open(fileobj=packed, mode="w:bz2") as archive:
        for name, data in (("info/index.json", json.dumps(WHALE).encode()), ("info/paths.json", json.dumps(paths).encode()),
                           ("info/files", b"share/whale.txt\n"), ("share/whale.txt", text)):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    package, name = packed.getvalue(), "whale-1.0-0.tar.bz2"
    entry = WHALE | {"md5": digest(package, "md5"), "sha256": digest(package, "sha256"), "size": len(package)}
    files = {f"/channel/noarch/{name}": package}
    for subdir, packages in (("noarch", {name: entry}), ("linux-64", {})):
        files[f"/channel/{subdir}/repodata.json"] = json.dumps(
            {"info": {"subdir": subdir}, "packages": packages, "packages.conda": {}, "repodata_version": 1}).encode()
    return files


@pytest.mark.timeout(1800)
def test_packages_of_conda_come_through_the_proxy(machine):
    """Solved, fetched and installed by rattler, which mamba's successor pixi does it with: conda itself is in no registry of
    Debian's or Python's."""
    libraries = ROOT / "build/rattler" / RATTLER
    if not (libraries / "rattler").exists():
        try:
            subprocess.run(["/usr/bin/python3", "-m", "pip", "install", "-q", "--target", libraries, RATTLER], check=True,
                           capture_output=True, timeout=200)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"{RATTLER} cannot be had from the package registry: {error}")
    shutil.copytree(libraries, machine.directory / "libraries", dirs_exist_ok=True)
    (machine.directory / "conda.py").write_text(CONDA)
    Site.channel = channel()
    install = (f"PYTHONPATH={machine.directory}/libraries timeout 60 /usr/bin/python3 {machine.directory}/conda.py "
               f"http://{HOST}:{machine.http}/channel $SLURM_TMPDIR 2>&1 | tail -n 12 | tr '\\n' ' '; echo\n")
    said = job(machine, install + "module load httpproxy\n" + install, memory="500M")
    assert "a small whale" not in said[0] and said[-1].strip() == "a small whale", said


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
