"""Interactive applications at the portal: jobs that a browser reaches, and what a hostile one, a page of another site or
another user of the machine can do with that."""
import contextlib
import http.client
import json
import os
import pathlib
import shutil
import socket
import subprocess

import pytest

from cluster import ROOT, poll
from portal_client import Portal
from web_socket import BINARY, TEXT, WebSocket

pytestmark = pytest.mark.minke_only
APPS = ROOT / "tests" / "apps"


class Visitor:
    """A browser at the host of applications, 127.0.0.1: led there by the portal, at localhost."""

    def __init__(self, portal, browser, key, start=""):
        self.portal, self.key = portal, key
        self.host = f"127.0.0.1:{portal.port}"
        status, headers, said = portal.ask(f"/api/v1/interactive/{key}/open?start={start}", headers={"Cookie": browser.cookie})
        assert status == 303, said
        self.ticket = headers["Location"].removeprefix(f"http://{self.host}")
        status, headers, said = portal.ask(self.ticket, headers={"Host": self.host})
        assert status == 303, said
        self.place, self.set_cookie = headers["Location"], headers["Set-Cookie"]
        self.cookie = self.set_cookie.partition(";")[0]

    def ask(self, path, method="GET", body=None, headers=None):
        """Returns status, headers and body."""
        connection = http.client.HTTPConnection("localhost", self.portal.port, timeout=60)
        connection.request(method, f"/apps/{self.key}{path}", body, {"Host": self.host, "Cookie": self.cookie} | (headers or {}))
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    def web_socket(self, path, **headers):
        own = {"Host": self.host, "Cookie": self.cookie, "Origin": f"http://{self.host}"}
        return WebSocket(self.portal.port, f"/apps/{self.key}{path}", {name: value for name, value in (own | headers).items() if value is not None})


def session_of(browser, key):
    return next((one for one in browser.ask("/api/v1/interactive")["sessions"] if one["key"] == key), None)


def begin(browser, **asked):
    began = browser.ask("/api/v1/interactive", "POST", asked)
    poll(lambda: session_of(browser, began["key"])["state"] in ("ready", "ended"), what="the application")
    session = session_of(browser, began["key"])
    assert session["state"] == "ready", session["said"]
    return session


@pytest.fixture
def portal(cluster):
    place = cluster.work / ".config" / "minke" / "apps"
    shutil.copytree(APPS / "standin", place / "standin")
    cluster.environment |= {"XDG_DATA_HOME": str(cluster.work / "data"), "STANDIN": str(APPS / "standin.py")}
    one = Portal(cluster)
    yield one
    assert one.process.poll() is None, "the portal has ended"
    one.close()


@pytest.fixture
def browser(portal):
    return portal.log_in()


@pytest.fixture
def standin(portal, browser):
    session = begin(browser, app="standin", fields={"word": "it's $HOME `id`"})
    return Visitor(portal, browser, session["key"], session["start"])


def test_forms_say_what_an_application_asks(cluster, portal, browser):
    told = browser.ask("/api/v1/apps")
    assert [app["name"] for app in told["apps"]] == ["code-server", "jupyter", "standin", "tensorboard", "terminal"] and told["problems"] == []
    own = next(app for app in told["apps"] if app["name"] == "standin")
    assert (own["title"], own["memory"], [field["name"] for field in own["fields"]]) == ("Stand-in", "300M", ["word", "size"])
    (cluster.work / ".config/minke/apps/standin/app.toml").write_text("title = 1\n")
    assert browser.ask("/api/v1/apps")["problems"][0].endswith("app.toml:1: title must be text in quotes")


@pytest.mark.parametrize("asked", [{}, {"app": "nosuch"}, {"app": "../x"}, {"app": "standin"}, {"app": "standin", "fields": {"word": "a\nb"}},
                                   {"app": "standin", "fields": {"word": "a", "size": "10"}}, {"app": "standin", "fields": {"word": "a", "x": "y"}},
                                   {"app": "standin", "fields": {"word": "a"}, "options": ["--uid=0"]}, {"app": "standin", "fields": {"word": "a"}, "time": "1\n2"},
                                   {"app": "standin", "fields": {"word": "a"}, "modules": "a; id"}, {"app": "standin", "fields": {"word": "a"}, "time": "soon"}],
                         ids=str)
def test_what_does_not_fit_the_form_begins_nothing(cluster, portal, browser, asked):
    said = portal.ask("/api/v1/interactive", "POST", asked, {"Cookie": browser.cookie, "X-CSRF-Token": browser.csrf})
    assert said[0] in (400, 404, 409) and json.loads(said[2])["error"]["message"]
    assert browser.ask("/api/v1/interactive")["sessions"] == []
    assert list((cluster.work / "data").rglob("script.sh")) == []


def test_an_application_is_a_job_that_its_browser_reaches(cluster, portal, browser, standin):
    assert standin.place == f"/apps/{standin.key}/hello?x=1"
    status, headers, body = standin.ask("/hello?x=1")
    told = json.loads(body)
    assert (status, told["path"], told["headers"]["host"]) == (200, standin.place, standin.host)
    assert standin.ask("/chunks")[2] == b"one two three" and standin.ask("/until-the-end")[2] == b"all of it"
    status, headers, body = standin.ask("/x", "HEAD")
    assert (status, body) == (200, b"") and int(headers["Content-Length"]) > 0
    # Longer than any request of the portal's own, with a length and in chunks.
    own = {"Origin": f"http://{standin.host}"}
    assert json.loads(standin.ask("/x", "PUT", b"x" * 3_000_000, own)[2])["body"] == 3_000_000
    assert json.loads(standin.ask("/x", "POST", iter([b"x" * 70_000] * 30), own)[2])["body"] == 2_100_000
    echo = standin.web_socket("/echo")
    assert echo.status == 101
    for content in (b"", b"hello", b"\0" * 60_000):
        echo.send(content)
        assert echo.receive() == (BINARY, content)
    echo.send("é".encode(), TEXT)
    assert echo.receive() == (TEXT, "é".encode())
    session = session_of(browser, standin.key)
    assert cluster.job(session["job_id"])["JobName"] == "standin"
    assert (cluster.work / "data/minke/apps" / standin.key / "output.log").read_text() == "the word is it's $HOME `id`\n"
    browser.ask(f"/api/v1/interactive/{standin.key}", "DELETE")
    assert cluster.wait_end(session["job_id"])["JobState"] == "CANCELLED"
    assert echo.stream.read(1) in (b"", b"\x88")
    echo.close()
    poll(lambda: session_of(browser, standin.key)["state"] == "ended")
    assert standin.ask("/hello")[0] == 503
    browser.ask(f"/api/v1/interactive/{standin.key}", "DELETE")
    assert session_of(browser, standin.key) is None and not (cluster.work / "data/minke/apps" / standin.key).exists()


def test_one_connection_serves_several_requests(portal, standin):
    connection = http.client.HTTPConnection("localhost", portal.port, timeout=60)
    for number in range(5):
        connection.request("POST", f"/apps/{standin.key}/{number}", b"x" * number, {"Host": standin.host, "Cookie": standin.cookie, "Origin": f"http://{standin.host}"})
        answer = connection.getresponse()
        assert json.loads(answer.read())["path"].endswith(f"/{number}")
    connection.request("GET", "/api/v1/session", headers={"X-SLURM-USER-TOKEN": portal.token})
    assert connection.getresponse().status == 200
    connection.close()


def test_an_application_sees_nothing_of_the_portal(portal, browser, standin):
    told = json.loads(standin.ask("/", headers={"Cookie": f"{browser.cookie}; {standin.cookie}; own=1", "X-SLURM-USER-TOKEN": portal.token,
                                                "Authorization": f"Bearer {portal.token}", "X-CSRF-Token": browser.csrf})[2])
    assert told["headers"]["cookie"] == "own=1"
    secrets = (portal.token, browser.csrf, browser.cookie.partition("=")[2], standin.cookie.partition("=")[2])
    assert not any(secret in json.dumps(told) for secret in secrets)
    _, headers, _ = standin.ask("/cookies")
    assert headers.get_all("Set-Cookie") == [f"own=1; Path=/apps/{standin.key}/"]
    assert "Service-Worker-Allowed" not in headers and "Clear-Site-Data" not in headers
    assert "frame-ancestors 'self'" in headers["Content-Security-Policy"] and headers["X-Frame-Options"] == "SAMEORIGIN"
    assert "HttpOnly" in standin.set_cookie and f"Path=/apps/{standin.key}/" in standin.set_cookie


def test_its_page_cannot_act_as_the_portal(portal, browser, standin):
    """At its host no cookie of the portal counts, whoever set it; at the portal's host there are no applications."""
    for path, method in (("/api/v1/session", "GET"), ("/api/v1/jobs", "GET"), ("/api/v1/interactive", "GET"), ("/api/v1/logout", "POST"), ("/slurm/v0.0.45/jobs", "GET")):
        headers = {"Host": standin.host, "Cookie": f"{browser.cookie}; {standin.cookie}", "X-CSRF-Token": browser.csrf}
        assert portal.ask(path, method, headers=headers)[0] == 401, path
        headers = {"Cookie": browser.cookie, "X-CSRF-Token": browser.csrf, "Origin": f"http://{standin.host}"}
        assert portal.ask(path, method, headers=headers)[0] == 403, path
    assert portal.ask(standin.place, headers={"Cookie": standin.cookie})[1]["Content-Type"] != "application/json"
    for path in ("/", "/jobs/1", "/login?token=x"):
        status, headers, _ = portal.ask(path, headers={"Host": standin.host})
        assert (status, headers["Location"]) == (303, f"http://localhost:{portal.port}{path}")


def test_only_the_browser_that_was_led_there_is_let_in(portal, browser, standin):
    host = {"Host": standin.host}
    assert portal.ask(standin.ticket, headers=host)[0] == 403  # used
    for path in ("/open?ticket=", "/open?ticket=" + "0" * 32):
        assert portal.ask(path, headers=host)[0] == 403
    for cookie in ("", "minke-app-00000000=1", standin.cookie[:-1] + "x", standin.cookie.partition("=")[0] + "="):
        assert portal.ask(standin.place, headers=host | {"Cookie": cookie})[0] == 403, cookie
        assert standin.web_socket("/echo", Cookie=cookie).status == 403
    other = "0" * 32
    assert portal.ask(f"/apps/{other}/", headers=host | {"Cookie": standin.cookie})[0] == 403
    # One that an application's page has set beside it changes nothing.
    assert standin.ask("/", headers={"Cookie": f"{standin.cookie.partition('=')[0]}=x; {standin.cookie}"})[0] == 200
    assert portal.ask(f"/api/v1/interactive/{standin.key}/open", headers={"X-SLURM-USER-TOKEN": portal.token})[0] == 409
    for start in ("/evil", "//evil.example", "..%2fother", "a%0d%0aX:b", "a%20b", "%5c%5cevil"):
        assert portal.ask(f"/api/v1/interactive/{standin.key}/open?start={start}", headers={"Cookie": browser.cookie})[0] == 400, start
    browser.ask("/api/v1/logout", "POST")
    assert standin.ask("/")[0] == 403


def test_a_page_of_another_site_reaches_no_application(portal, browser, standin):
    for origin in ("http://evil.example", "null", f"http://localhost:{portal.port}", f"https://{standin.host}", None):
        assert standin.web_socket("/echo", Origin=origin).status == 403, origin
    for headers in ({"Origin": "http://evil.example"}, {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
        for method in ("GET", "POST", "PUT"):
            assert standin.ask("/", method, headers=headers)[0] == 403
    assert standin.ask("/", "POST")[0] == 403  # an old browser, which says nothing of itself
    link = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}
    assert standin.ask("/", headers=link)[0] == 200 and standin.ask("/", headers=link | {"Sec-Fetch-Dest": "iframe"})[0] == 403
    assert standin.ask("/", "POST", headers=link)[0] == 403


def test_what_ends_a_session_ends_its_connections(portal, browser, standin):
    echo = standin.web_socket("/echo")
    assert echo.status == 101
    browser.ask("/api/v1/logout", "POST")
    assert echo.stream.read(1) == b""
    echo.close()


@pytest.mark.parametrize("page, status", [("/two-lengths", 502), ("/long-head", 502), ("/nonsense", 502), ("/split", 502), ("/switch", 502), ("/nothing", 502)])
def test_answers_that_cannot_be_read_are_not_passed_on(portal, standin, page, status):
    got, headers, body = standin.ask(page)
    assert got == status and b"hidden" not in body and "Set-Cookie" not in headers


def test_an_answer_ends_where_it_says(portal, standin):
    """What an application sends behind its answer is not the answer to the next request."""
    connection = http.client.HTTPConnection("localhost", portal.port, timeout=60)
    headers = {"Host": standin.host, "Cookie": standin.cookie}
    connection.request("GET", f"/apps/{standin.key}/two-answers", headers=headers)
    assert connection.getresponse().read() == b"ok"
    connection.request("GET", f"/apps/{standin.key}/next", headers=headers)
    assert json.loads(connection.getresponse().read())["path"].endswith("/next")
    connection.close()


def test_requests_are_understood_alike_on_both_sides(portal, standin):
    def sent(lines: bytes, body: bytes = b"", path: bytes = b"/x", method: bytes = b"POST") -> bytes:
        own = f"Host: {standin.host}\r\nCookie: {standin.cookie}\r\nOrigin: http://{standin.host}\r\nConnection: close\r\n".encode()
        return portal.send(method + b" /apps/" + standin.key.encode() + path + b" HTTP/1.1\r\n" + own + lines + b"\r\n" + body, leave=False)

    def status(answer: bytes) -> int:
        return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0

    hidden = b"GET /apps/x/hidden HTTP/1.1\r\nHost: x\r\n\r\n"
    for lines in (b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 0\r\nContent-Length: 5\r\n", b"Transfer-Encoding: chunked, identity\r\n",
                  b"Transfer-Encoding: xchunked\r\nContent-Length: 1\r\n", b"Content-Length: +5\r\n", b"Content-Length : 5\r\n", b"X: a\nContent-Length: 5\r\n"):
        answer = sent(lines, b"0\r\n\r\n" + hidden)
        assert status(answer) == 400 and answer.count(b"HTTP/1.1 ") == 1 and b"hidden" not in answer, (lines, answer)
    answer = sent(b"Transfer-Encoding: chunked\r\n", b"5;x=y\r\nhello\r\n0\r\nTrailer: x\r\n\r\n")
    assert status(answer) == 200 and b'"body": 5' in answer and b"Trailer" not in answer
    assert status(sent(b"Transfer-Encoding: chunked\r\n", b"zz\r\nhello\r\n0\r\n\r\n")) in (0, 400)
    assert b"100 Continue" in sent(b"Expect: 100-continue\r\nContent-Length: 2\r\n", b"hi")
    for path in (b"/../other", b"/%2e%2e/other", b"/.%2E", b"/a\\b", b"x/../../api/v1/session"):
        assert status(sent(b"", path=path, method=b"GET")) == 404, path
    for method in (b"TRACE", b"CONNECT"):
        assert status(sent(b"", method=method)) in (400, 403, 405)


def test_slow_ones_keep_nobody_waiting(portal, browser, standin):
    slow = []
    for _ in range(60):
        one = socket.create_connection(("127.0.0.1", portal.port), timeout=60)
        one.sendall(f"GET /apps/{standin.key}/slow HTTP/1.1\r\nHost: {standin.host}\r\nCookie: {standin.cookie}\r\n\r\n".encode())
        slow.append(one)
    for one in slow:
        assert one.recv(12) == b"HTTP/1.1 200"
    assert browser.ask("/api/v1/session")["user"] and standin.ask("/x")[0] == 200
    for one in slow:
        one.close()
    # Whom a browser has left, the application does not have to answer.
    poll(lambda: standin.ask("/x")[0] == 200)


def test_nobody_else_reaches_the_gate(cluster, portal, browser, standin):
    place = cluster.work / "data/minke/apps" / standin.key
    gate = json.loads((place / "gate.json").read_text())
    assert (place.stat().st_mode & 0o777, (place / "gate.json").stat().st_mode & 0o777) == (0o700, 0o600)
    job = session_of(browser, standin.key)["job_id"]
    assert gate["secret"] not in cluster.run("scontrol", "show", "job", "--details", job, check=0).stdout
    for said in (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"x" * 100, b"minke-app 1\n" + b"x" * 64, b""):
        with socket.create_connection(("127.0.0.1", gate["port"]), timeout=60) as stranger:
            heard = b""
            with contextlib.suppress(OSError):  # he is cut off before he has sent all, or all that he sent was read
                stranger.sendall(said)
                stranger.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while piece := stranger.recv(4096):
                    heard += piece
        assert b"HTTP" not in heard and gate["secret"].encode() not in heard
    for one in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            assert gate["secret"].encode() not in one.read_bytes()
        except OSError:
            continue
    assert standin.ask("/x")[0] == 200


def test_an_application_that_cannot_begin_says_why(cluster, portal, browser):
    for app, fields, said in (("jupyter", {"environment": "/nowhere"}, "/nowhere is no virtual environment"), ("code-server", {}, "code-server is not here"),
                              ("tensorboard", {"directory": "/nowhere"}, "is not here" if not has_package("tensorboard") else "no directory")):
        began = browser.ask("/api/v1/interactive", "POST", {"app": app, "fields": fields, "memory": "100M", "time": "5"})
        assert cluster.wait_end(began["job_id"])["JobState"] == "FAILED"
        assert said in poll(lambda: session_of(browser, began["key"])["said"])


def has_package(name):
    return subprocess.run(["/usr/bin/python3", "-c", f"import {name}"], capture_output=True).returncode == 0


def test_a_terminal_needs_nothing_installed(cluster, portal, browser):
    session = begin(browser, app="terminal", memory="300M", time="5", fields={"directory": str(cluster.work)})
    visitor = Visitor(portal, browser, session["key"])
    status, headers, page = visitor.ask("/")
    if b"no pages" not in page:
        assert status == 200 and b"Terminal" in page and "default-src 'self'" in headers["Content-Security-Policy"]
    shell = visitor.web_socket("/shell")
    assert shell.status == 101

    def read_until(one, word):
        heard = b""
        while word not in heard:
            heard += one.receive()[1]
        return heard

    shell.send(b'{"columns": 123, "rows": 45}', TEXT)
    shell.send(b"stty size; echo job=$SLURM_JOB_ID in $(pwd)\r")
    heard = read_until(shell, f"job={session['job_id']} in {cluster.work}".encode())
    assert b"45 123" in heard
    for nonsense in (b"{", b"[]", b'{"columns": -1, "rows": 1e9}', b'{"columns": "x"}'):
        shell.send(nonsense, TEXT)
    # A page that comes later sees what was there, and types into the same shell.
    later = visitor.web_socket("/shell")
    assert b"45 123" in read_until(later, b"45 123")
    later.send(b"exit 3\r")
    assert cluster.wait_end(session["job_id"])["ExitCode"] == "3:0"
    for one in (shell, later):
        one.close()
