"""The portal for all: who logs in by PAM acts with his own rights, and nobody else's, through processes without more."""
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess

import pytest

from cluster import PATIENCE, ROOT, LoopbackSlurm, poll
from peers.slurm import missing_program
from shared import NEEDS_ROOT, Shared, passable_directory
from web_socket import WebSocket

CAN_MOUNT = subprocess.run(["unshare", "--mount", "true"], capture_output=True).returncode == 0
pytestmark = [pytest.mark.minke_only, NEEDS_ROOT, pytest.mark.skipif(not CAN_MOUNT, reason="no private mounts here"),
              pytest.mark.skipif(not pathlib.Path("/etc/pam.d").is_dir(), reason="no PAM here")]
SERVICE = "auth required {module}\naccount required {module}\n"


class SharedPortal:
    """`minke portal --shared`, with a PAM that asks for the password `right` and the code `42`."""

    def __init__(self, shared, *options, scheme="http", place=":"):
        """`place`: what else the shell `sh` does to that view; "$1" is the cluster's directory."""
        self.shared, self.scheme, self.address = shared, scheme, "127.0.0.1"
        module = shared.directory / "pam_two_questions.so"
        if not module.exists():
            subprocess.run(["gcc", "-shared", "-fPIC", "-o", module, ROOT / "tests/pam_two_questions.c"], check=True)
            (shared.directory / "service").write_text(SERVICE.format(module=module))
        # In a view of the files of its own: nothing of this machine's PAM is touched.
        begin = place + ' && mount -t tmpfs none /etc/pam.d && cp "$1/service" /etc/pam.d/minke-portal && shift && exec "$@"'
        self.process = subprocess.Popen(
            ["unshare", "--mount", "sh", "-c", begin, "sh", shared.directory, shared.program, "portal", "--shared", "--port", "0",
             *(options or ["--plain"])], env=shared.root | {"MINKE_SHARED": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        found = re.search(r"port (\d+)", line)
        assert found, line + self.process.stderr.read()
        self.port = int(found[1])

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.process.stdout.close()
        self.process.stderr.close()

    def ask(self, path, method="GET", body=None, headers=None):
        """Returns status, headers and what was answered."""
        if self.scheme == "https":
            context = ssl.create_default_context()
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            connection = http.client.HTTPSConnection("localhost", self.port, timeout=60 * PATIENCE, context=context)
        else:
            connection = http.client.HTTPConnection("localhost", self.port, timeout=60 * PATIENCE, source_address=(self.address, 0))
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, ({"Content-Type": "application/json"} if body is not None else {}) | (headers or {}))
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, json.loads(text) if text[:1] in (b"{", b"[") else text

    def turn(self, **body):
        return self.ask("/api/v1/login", "POST", body)

    def try_to_log_in(self, name, password="right", code="42"):
        status, headers, told = self.turn(user=name)
        for answer in (password, code):
            if status != 200:
                return status, headers, told
            status, headers, told = self.turn(attempt=told["attempt"], answer=answer)
        return status, headers, told

    def log_in(self, user):
        status, headers, told = self.try_to_log_in(user.name)
        assert (status, told["user"]) == (200, user.name), told
        return Visitor(self, headers["Set-Cookie"])

    def processes(self) -> dict[int, tuple[int, str]]:
        """Of this portal's, by number: user and command."""
        found, known = {}, {self.process.pid}
        for _ in range(3):
            for entry in pathlib.Path("/proc").iterdir():
                try:
                    status = (entry / "status").read_text() if entry.name.isdigit() else ""
                    parent = int(re.search(r"PPid:\s+(\d+)", status)[1]) if status else 0
                    if int(entry.name) in known or parent in known:
                        known.add(int(entry.name))
                        command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                        found[int(entry.name)] = int(re.search(r"Uid:\s+(\d+)", status)[1]), command
                except (OSError, ValueError):
                    continue
        return found

    def workers(self, user) -> list[int]:
        return [pid for pid, (uid, command) in self.processes().items() if uid == user.uid and "--worker" in command]


class Visitor:
    def __init__(self, portal, set_cookie):
        self.portal, self.set_cookie = portal, set_cookie
        self.cookie = set_cookie.partition(";")[0]
        self.session = self.ask("/api/v1/session")
        self.csrf = self.session["csrf"]

    def ask(self, path, method="GET", body=None, headers=None, status=200):
        own = {"Cookie": self.cookie} | ({"X-CSRF-Token": self.csrf} if method != "GET" else {})
        got, _, told = self.portal.ask(path, method, body, own | (headers or {}))
        assert status is None or got == status, f"{method} {path}: {got} {told}"
        return told


@pytest.fixture(scope="module")
def shared():
    one = Shared()
    yield one
    one.close()


@pytest.fixture
def portal(shared):
    one = SharedPortal(shared)
    yield one
    assert one.process.poll() is None, "the portal has ended"
    one.close()


def test_a_password_then_a_second_factor(shared, portal):
    assert portal.ask("/api/v1/login")[2] == {"by": "password"}
    status, _, first = portal.turn(user=shared.alice.name)
    assert (status, first["asks"], first["is_secret"], first["told"]) == (200, "Password: ", True, [])
    status, _, second = portal.turn(attempt=first["attempt"], answer="right")
    assert (status, second["asks"], second["is_secret"], second["told"]) == (200, "Code: ", False, ["A code was sent."])
    status, headers, last = portal.turn(attempt=first["attempt"], answer="42")
    assert (status, last["user"], last["attempt"]) == (200, shared.alice.name, "")
    assert "HttpOnly" in headers["Set-Cookie"] and "SameSite=Strict" in headers["Set-Cookie"]
    visitor = Visitor(portal, headers["Set-Cookie"])
    assert (visitor.session["user"], visitor.session["uid"]) == (shared.alice.name, shared.alice.uid)
    assert portal.turn(attempt=first["attempt"], answer="42")[0] == 409


def test_whoever_is_refused_hears_the_same(shared, portal):
    told = {portal.try_to_log_in(shared.alice.name, password="wrong")[2]["error"]["message"],
            portal.try_to_log_in(shared.alice.name, code="41")[2]["error"]["message"],
            portal.try_to_log_in("nobody-of-this-name", password="wrong")[2]["error"]["message"]}
    assert told == {"the log-in was refused"}
    for name in ("", "-x", "a b", "a\x00b", "../root", "--worker", "root;id", "\u202eroot"):
        assert portal.turn(user=name)[0] == 403, name
    assert portal.turn(user="x" * 65)[0] == 400
    assert portal.try_to_log_in("root")[:1] == (403,)
    status, _, begun = portal.turn(user=shared.alice.name)
    assert portal.turn(attempt=begun["attempt"], answer="x" * 513)[0] == 400
    assert portal.turn(attempt="0" * 32, answer="right")[0] == 409


def test_each_acts_with_his_own_rights(shared, portal):
    alice, bob = portal.log_in(shared.alice), portal.log_in(shared.bob)
    script = f"#!/bin/bash\n#SBATCH --output={shared.alice.work}/out\nid -un\nexec sleep 600\n"
    job = alice.ask("/api/v1/jobs", "POST", {"script": script, "options": ["--time=5"]})["job_id"]
    page = poll(lambda: (found := alice.ask(f"/api/v1/jobs/{job}"))["job"]["state"] == "RUNNING" and found)
    assert page["job"]["user"] == shared.alice.name
    assert poll(lambda: alice.ask(f"/api/v1/jobs/{job}/output")["text"]) == shared.alice.name + "\n"
    assert not bob.ask(f"/api/v1/jobs/{job}/output", status=None).get("text")
    assert bob.ask(f"/api/v1/jobs/{job}/cancel", "POST", status=None)["error"]["message"]
    assert alice.ask(f"/api/v1/jobs/{job}")["job"]["state"] == "RUNNING"
    assert len(portal.workers(shared.alice)) == len(portal.workers(shared.bob)) == 1
    alice.ask(f"/api/v1/jobs/{job}/cancel", "POST")
    poll(lambda: alice.ask(f"/api/v1/jobs/{job}")["job"]["state"] == "CANCELLED")
    # Another browser of his is served by the same worker.
    assert portal.log_in(shared.alice).ask("/api/v1/cluster")["nodes"] == 2
    assert len(portal.workers(shared.alice)) == 1


def test_operators_see_what_others_changed(shared, portal):
    alice, bob, otto = (portal.log_in(one) for one in (shared.alice, shared.bob, shared.otto))
    job = alice.ask("/api/v1/jobs", "POST", {"script": "#!/bin/bash\nexec sleep 600\n", "options": ["--time=5"]})["job_id"]
    alice.ask("/api/v1/jobs", "POST", {"script": "#!/bin/bash\ntrue\n", "options": [], "test": True})
    bob.ask(f"/api/v1/jobs/{job}/cancel", "POST", status=None)
    alice.ask(f"/api/v1/jobs/{job}/cancel", "POST")

    def told(visitor):
        return sorted((line["user"], line["to"], line["more"]) for line in visitor.ask("/api/v1/log")["lines"]
                      if line["what"] == "portal" and (f"/{job}/" in line["to"] or line["to"] == "POST /api/v1/jobs" and line["more"] == "200"))
    by_alice = [(shared.alice.name, "POST /api/v1/jobs", "200"), (shared.alice.name, f"POST /api/v1/jobs/{job}/cancel", "200")]
    seen = told(otto)
    refused, = [line for line in seen if line[0] == shared.bob.name]
    assert refused[1] == f"POST /api/v1/jobs/{job}/cancel" and refused[2] != "200"
    assert [line for line in seen if line in by_alice][-1] == by_alice[1] and by_alice[0] in seen
    assert len([line for line in told(alice) if line == by_alice[1]]) == 1 and not [line for line in told(alice) if line[0] != shared.alice.name]
    assert told(bob) == [refused]
    log = shared.home / "portal.log"
    assert (log.stat().st_uid, log.stat().st_gid, log.stat().st_mode & 0o777) == (0, shared.otto.groups[0], 0o640)
    assert shared.alice.run("cat", log).returncode != 0 and shared.alice.name in shared.otto.run("cat", log, check=0).stdout


class OnSlurm(Shared):
    """A real Slurm serves the users instead. Of Minke's there is what a site says in /etc/minke.toml."""
    PLACE = """umask 077 && mkdir "$1/layer" && mount -t tmpfs none "$1/layer" && mkdir -m 755 "$1/layer/etc" "$1/layer/work" &&
        cp "$1/site.toml" "$1/layer/etc/minke.toml" && chmod 644 "$1/layer/etc/minke.toml" && mount -t tmpfs -o mode=755 none /var/lib &&
        mount -t overlay overlay -o "lowerdir=/etc,upperdir=$1/layer/etc,workdir=$1/layer/work" /etc"""

    def start(self):
        self.slurm = LoopbackSlurm(cpus=2).__enter__()
        self.slurm.directory.chmod(0o755)
        (self.directory / "site.toml").write_text(f'operators = "{self.group}"\n[portal]\nmessages = ["Maintenance"]\n')
        for environment in (self.root, self.environment):
            environment["SLURM_CONF"] = self.slurm.environment["SLURM_CONF"]
            environment.pop("MINKE_CONFIG", None)
            environment.pop("MINKE_HOME")

    def stop(self):
        self.slurm.command("scancel", "--state=RUNNING", "--state=PENDING")
        self.slurm.__exit__(None, None, None)


@pytest.mark.skipif(missing_program() is not None, reason=f"{missing_program()} is not installed")
def test_on_a_slurm_operators_see_what_others_changed():
    site = OnSlurm()
    try:
        portal = SharedPortal(site, place=site.PLACE)
        alice, bob, otto = (portal.log_in(one) for one in (site.alice, site.bob, site.otto))
        assert [one["text"] for one in alice.ask("/api/v1/messages")["messages"]] == ["Maintenance"]
        script = f"#!/bin/bash\n#SBATCH --output=/dev/null --chdir={site.alice.work}\nexec sleep 600\n"
        job = alice.ask("/api/v1/jobs", "POST", {"script": script, "options": ["--time=5"]})["job_id"]
        home = alice.ask("/api/v1/home")  # this Slurm has no slurmdbd
        assert [one["job_id"] for one in home["running"] + home["waiting"]] == [job]
        assert "accounting storage" in home["problem"] and home["ended"] == []
        assert "accounting storage" in otto.ask("/api/v1/log")["problem"]
        alice.ask(f"/api/v1/jobs/{job}/cancel", "POST")
        told = {one: [(line["user"], line["to"]) for line in visitor.ask("/api/v1/log")["lines"] if line["what"] == "portal"]
                for one, visitor in (("bob", bob), ("otto", otto))}
        assert (site.alice.name, f"POST /api/v1/jobs/{job}/cancel") in told["otto"] and told["bob"] == []
        log = pathlib.Path(f"/proc/{portal.process.pid}/root/var/lib/minke/portal.log").stat()
        assert (log.st_uid, log.st_gid, log.st_mode & 0o777) == (0, site.otto.groups[0], 0o640)
        portal.close()
    finally:
        site.close()


def test_the_front_has_no_rights(shared, portal):
    portal.log_in(shared.alice).ask("/api/v1/cluster")
    of_root = [command for uid, command in portal.processes().values() if uid == 0]
    assert len(of_root) == 1 and "portal --shared" in of_root[0]
    fronts = [pid for pid, (uid, command) in portal.processes().items() if uid != 0 and "--shared" in command]
    assert len(fronts) == 1
    status = pathlib.Path(f"/proc/{fronts[0]}/status").read_text()
    assert re.search(r"CapEff:\s+0+\n", status) and re.search(r"CapBnd:\s+0+\n", status)
    assert "NoNewPrivs:\t1" in status and "Seccomp:\t2" in status
    assert re.search(r"Groups:\s*\d*\s*\n", status)


def operations(visitor):
    for path, methods in visitor.ask("/openapi/v3")["paths"].items():
        for method, operation in methods.items():
            if operation["security"] != []:
                yield method.upper(), path.replace("{job}", "1").replace("{name}", "n1")


def test_every_address_for_every_role(shared, portal):
    alice, bob = portal.log_in(shared.alice), portal.log_in(shared.bob)
    checked = 0
    for method, path in operations(alice):
        if path.endswith("/logout"):
            continue
        for headers in ({}, {"X-SLURM-USER-TOKEN": "0" * 64}, {"X-SLURM-USER-TOKEN": alice.cookie.partition("=")[2]}, {"Cookie": "minke=1"}):
            assert portal.ask(path, method, headers=headers)[0] == 401, (method, path, headers)
        for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
            assert portal.ask(path, method, headers={"Cookie": alice.cookie, "X-CSRF-Token": alice.csrf} | headers)[0] == 403
        if method != "GET":
            for token in ("", bob.csrf):
                assert portal.ask(path, method, headers={"Cookie": alice.cookie, "X-CSRF-Token": token})[0] == 403, (method, path)
        checked += 1
    assert checked > 60
    assert portal.ask("/api/v1/session", headers={"Cookie": alice.cookie, "Host": "evil.example"})[0] == 421


def test_sessions_are_listed_and_ended(shared, portal):
    alice, other, bob = portal.log_in(shared.alice), portal.log_in(shared.alice), portal.log_in(shared.bob)
    listed = alice.ask("/api/v1/sessions")["sessions"]
    assert [one["is_this"] for one in listed].count(True) == 1 and len(listed) == 2
    end = next(one["id"] for one in listed if not one["is_this"])
    bob.ask(f"/api/v1/sessions/{end}", "DELETE", status=404)
    alice.ask(f"/api/v1/sessions/{end}", "DELETE")
    other.ask("/api/v1/session", status=401)
    token = alice.ask("/api/v1/sessions", "POST")["token"]
    assert portal.ask("/slurm/v0.0.45/ping", headers={"X-SLURM-USER-TOKEN": token, "X-SLURM-USER-NAME": shared.alice.name})[0] == 200
    assert portal.ask("/slurm/v0.0.45/ping", headers={"X-SLURM-USER-TOKEN": token, "X-SLURM-USER-NAME": shared.bob.name})[0] == 401
    assert portal.workers(shared.alice)
    for one in alice.ask("/api/v1/sessions")["sessions"]:
        if not one["is_this"]:
            alice.ask(f"/api/v1/sessions/{one['id']}", "DELETE")
    assert portal.ask("/slurm/v0.0.45/ping", headers={"X-SLURM-USER-TOKEN": token})[0] == 401
    alice.ask("/api/v1/logout", "POST")
    alice.ask("/api/v1/session", status=401)
    poll(lambda: not portal.workers(shared.alice), what="the end of the worker")


def test_a_worker_that_dies_is_started_again(shared, portal):
    alice = portal.log_in(shared.alice)
    assert alice.ask("/api/v1/cluster")["nodes"] == 2
    (worker,) = portal.workers(shared.alice)
    subprocess.run(["kill", "-KILL", str(worker)], check=True)
    poll(lambda: not portal.workers(shared.alice))
    assert poll(lambda: (found := alice.ask("/api/v1/cluster", status=None)).get("nodes") == 2 and found)


def test_changes_are_told_to_whom_they_concern(shared, portal):
    alice = portal.log_in(shared.alice)
    connection = http.client.HTTPConnection("localhost", portal.port, timeout=120)
    connection.request("GET", "/api/v1/events", headers={"Cookie": alice.cookie})
    stream = connection.getresponse()
    assert stream.status == 200
    job = alice.ask("/api/v1/jobs", "POST", {"script": "#!/bin/bash\nexec sleep 600\n", "options": ["--time=5"]})["job_id"]
    told = []
    while not any(one["job_id"] == job and one["state"] == "RUNNING" for one in told):
        line = stream.fp.readline()
        assert line, "the stream has ended"
        if line.startswith(b"data: "):
            told += json.loads(line[6:]).get("jobs", [])
    connection.close()
    alice.ask(f"/api/v1/jobs/{job}/cancel", "POST")


def test_too_many_tries_are_refused(shared, portal):
    name = "mk-no-such-user"
    said = [portal.try_to_log_in(name, password="wrong")[2]["error"]["message"] for _ in range(12)]
    assert "too many" in said[-1]
    assert portal.log_in(shared.bob)  # others are not held up


def test_one_address_does_not_keep_out_the_others(shared, portal):
    """Who begins to log in and never answers."""
    begun = [portal.turn(user=f"mk-none-{number}") for number in range(20)]
    assert [status for status, _, _ in begun] == [200] * 16 + [429] * 4
    portal.address = "127.0.0.2"
    assert portal.log_in(shared.bob)


def test_each_reaches_his_own_applications(shared):
    """Through a worker of his own, at a host that the portal's cookies never come to; the front has no way there by itself."""
    portal = SharedPortal(shared, "--plain", "--apps-name", "127.0.0.1")
    try:
        alice, bob = portal.log_in(shared.alice), portal.log_in(shared.bob)
        own = {"app": "terminal", "time": "5", "memory": "300M", "fields": {"directory": str(shared.alice.work)}}
        key = alice.ask("/api/v1/interactive", "POST", own)["key"]
        session = poll(lambda: (found := alice.ask("/api/v1/interactive")["sessions"][0])["state"] in ("ready", "ended") and found)
        assert session["state"] == "ready", session["said"]
        assert bob.ask("/api/v1/interactive")["sessions"] == []
        bob.ask(f"/api/v1/interactive/{key}", "DELETE", status=404)
        host = f"127.0.0.1:{portal.port}"

        def enter(visitor):
            status, headers, _ = portal.ask(f"/api/v1/interactive/{key}/open", headers={"Cookie": visitor.cookie})
            assert status == 303 and headers["Location"].startswith(f"http://{host}/open?ticket=")
            status, headers, _ = portal.ask(headers["Location"].partition(host)[2], headers={"Host": host})
            assert (status, headers["Location"]) == (303, f"/apps/{key}/")
            return headers["Set-Cookie"].partition(";")[0]

        # Whoever knows its key reaches what he himself has under it: nothing.
        status, _, told = portal.ask(f"/apps/{key}/", headers={"Host": host, "Cookie": enter(bob)})
        assert (status, told["error"]["message"]) == (404, "there is no such session")
        own_headers = {"Host": host, "Cookie": enter(alice), "Origin": f"http://{host}"}
        shell = WebSocket(portal.port, f"/apps/{key}/shell", own_headers)
        assert shell.status == 101
        shell.send(b"id -un; echo done-$SLURM_JOB_ID\r")
        heard = b""
        while f"done-{session['job_id']}\r\n".encode() not in heard.replace(b"done-$", b""):
            heard += shell.receive()[1]
        assert shared.alice.name.encode() in heard
        gate = json.loads((shared.alice.work / ".local/share/minke/apps" / key / "gate.json").read_text())
        assert shared.bob.run("cat", shared.alice.work / ".local/share/minke/apps" / key / "gate.json", check=1) and gate["secret"]
        assert portal.ask("/api/v1/session", headers={"Host": host, "Cookie": alice.cookie})[0] == 421
        alice.ask("/api/v1/logout", "POST")
        with contextlib.suppress(ConnectionError):
            while shell.stream.read(1):  # the prompt, perhaps; then the end, or this times out
                pass
        shell.close()
        again = portal.log_in(shared.alice)
        again.ask(f"/api/v1/interactive/{key}", "DELETE")
        poll(lambda: again.ask("/api/v1/interactive")["sessions"][0]["state"] == "ended")
    finally:
        portal.close()


def test_without_a_name_of_their_own_there_are_no_applications(shared, portal):
    alice = portal.log_in(shared.alice)
    told = alice.ask(f"/api/v1/interactive/{'0' * 32}/open", status=409)
    assert "--apps-name" in told["error"]["message"]
    done = subprocess.run([shared.program, "portal", "--shared", "--plain", "--port", "0", "--name", "one", "--apps-name", "One"], env=shared.root,
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "another name" in done.stderr


def test_tls_by_its_own_certificate(shared):
    place = passable_directory()
    pem, key = place / "cert.pem", place / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2", "-keyout", key, "-out", pem],
                   check=True, capture_output=True)
    key.chmod(0o600)
    portal = SharedPortal(shared, "--certificate", pem, "--key", key, scheme="https")
    try:
        status, headers, told = portal.try_to_log_in(shared.alice.name)
        assert (status, told["user"]) == (200, shared.alice.name)
        assert headers["Set-Cookie"].startswith("__Host-minke=") and "Secure" in headers["Set-Cookie"]
        assert headers["Strict-Transport-Security"]
        alice = Visitor(portal, headers["Set-Cookie"])
        assert alice.ask("/slurm/v0.0.45/jobs") and alice.ask("/openapi/v3")["paths"]
        assert portal.ask("/api/v1/session", headers={"Cookie": alice.cookie, "Origin": f"https://localhost:{portal.port}"})[0] == 200
        assert portal.ask("/api/v1/session", headers={"Cookie": alice.cookie, "Origin": f"http://localhost:{portal.port}"})[0] == 403
        with contextlib.ExitStack() as rude:
            for said in (b"", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01" + b"\xff" * 5000) * 20:
                rude.enter_context(socket.create_connection(("127.0.0.1", portal.port), timeout=60)).sendall(said)
            assert alice.ask("/api/v1/session")["user"] == shared.alice.name
        plain = http.client.HTTPConnection("localhost", portal.port, timeout=60)
        with pytest.raises((http.client.HTTPException, ConnectionError)):
            plain.request("GET", "/")
            plain.getresponse()
    finally:
        portal.close()
    refused = subprocess.run([shared.program, "portal", "--shared", "--port", "0", "--certificate", key, "--key", key], env=shared.root,
                             capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "certificate" in refused.stderr


def test_systemd_understands_its_unit(shared, tmp_path):
    text = subprocess.run([shared.program, "portal", "--print-unit"], capture_output=True, text=True, check=True).stdout
    path = tmp_path / "minke-portal.service"
    path.write_text(text.partition("\n")[2])
    assert text.startswith("# /etc/systemd/system/minke-portal.service\n[Unit]\n") and f"ExecStart={shared.program} portal --shared\n" in text
    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd-analyze is not installed")
    done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", path], capture_output=True, text=True)
    assert "Unknown" not in done.stderr and "Failed to parse" not in done.stderr and "ignoring" not in done.stderr, done.stderr


def test_only_root_serves_others(shared):
    refused = shared.alice.run(shared.program, "portal", "--shared", "--plain")
    assert refused.returncode == 1 and "root" in refused.stderr
    for words, said in ((["--address", "0.0.0.0"], "passwords would cross the network"), (["--plain", "--address", "0.0.0.0"], "passwords would"),
                        (["--plain", "--certificate", "x", "--key", "x"], "exclude each other"), (["--certificate", "/none", "--key", "/none"], "/none"),
                        (["--address", "nowhere"], "passwords would"), (["--plain", "--address", "127.0.0.1.1"], "no address")):
        done = subprocess.run([shared.program, "portal", "--shared", "--port", "0", *words], env=shared.root, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)


def test_a_worker_that_its_user_stops_holds_up_nobody_else(shared, portal):
    alice, bob = portal.log_in(shared.alice), portal.log_in(shared.bob)
    assert alice.ask("/api/v1/cluster") and bob.ask("/api/v1/cluster")
    (worker,) = portal.workers(shared.alice)
    shared.alice.run("kill", "-STOP", worker, check=0)
    held = []
    for _ in range(70):  # more than may wait
        one = http.client.HTTPConnection("localhost", portal.port, timeout=60)
        one.request("GET", "/api/v1/cluster", headers={"Cookie": alice.cookie})
        held.append(one)
    assert held[-1].getresponse().status == 503
    assert bob.ask("/api/v1/cluster")["nodes"] == 2 and portal.log_in(shared.bob)
    shared.alice.run("kill", "-CONT", worker, check=0)
    assert held[0].getresponse().status == 200
    for one in held:
        one.close()



def test_public_pages_are_there_where_the_site_says_so(shared, portal):
    paths = ("/api/v1/public/cluster", "/api/v1/public/nodes", "/api/v1/public/held")
    assert [portal.ask(path)[0] for path in paths] == [401] * 3
    alice = portal.log_in(shared.alice)
    mine = [alice.ask(path) for path in paths]
    path = pathlib.Path(shared.root["MINKE_CONFIG"])
    before = path.read_text()
    path.write_text(before + "\n[portal]\npublic = true\n")
    public = SharedPortal(shared)
    try:
        status, _, cluster = public.ask(paths[0])
        assert status == 200 and {key: cluster[key] for key in ("nodes", "cpus", "name")} == {key: mine[0][key] for key in ("nodes", "cpus", "name")}
        status, _, nodes = public.ask(paths[1])
        assert status == 200 and [node["name"] for node in nodes["nodes"]] == [node["name"] for node in mine[1]["nodes"]]
        assert not {"reason", "reservation"} & set(nodes["nodes"][0])
        status, _, held = public.ask(paths[2])
        assert status == 200 and held["bars"] == [] and held["held"]["time"]
        # Nothing else: neither from the front, nor from the process that answers.
        for other in ("/api/v1/nodes", "/api/v1/jobs", "/api/v1/timeline?everyone=1", "/slurm/v0.0.42/jobs"):
            assert public.ask(other)[0] == 401
        assert public.ask(paths[2] + "?user=root")[0] == 400
        workers = [uid for uid, command in public.processes().values() if "--worker" in command]
        fronts = [uid for uid, command in public.processes().values() if uid != 0 and "--shared" in command]
        assert len(workers) == 1 and workers[0] in (65533, 65534) and workers[0] not in fronts
    finally:
        public.close()
        path.write_text(before)
