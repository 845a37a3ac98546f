"""What a malicious page, a user of the same machine or a rude client tries at somebody's portal."""
import socket
import time

import pytest

from portal_client import Portal

pytestmark = pytest.mark.minke_only


@pytest.fixture
def portal(cluster):
    one = Portal(cluster)
    yield one
    assert one.process.poll() is None, "the portal has ended"
    one.close()


def operations(portal):
    for path, methods in portal.program("/openapi/v3")["paths"].items():
        for method, operation in methods.items():
            if operation["security"] == []:  # how one logs in
                continue
            yield method.upper(), path.replace("{job}", "1").replace("{name}", "n1")


def test_every_address_asks_who_it_is(portal):
    wrong = {"X-SLURM-USER-TOKEN": "0" * 32}
    checked = 0
    for method, path in operations(portal):
        for headers in ({}, wrong, {"Authorization": "Bearer x"}, {"Cookie": "minke-00000000=1"},
                        {"X-SLURM-USER-TOKEN": portal.token, "X-SLURM-USER-NAME": "somebody-else"}):
            assert portal.ask(path, method, headers=headers)[0] == 401, (method, path, headers)
            checked += 1
    assert checked > 200
    # Only the log-in and the front end's files are everybody's.
    assert portal.ask("/login?token=0")[0] == 403
    assert portal.ask("/jobs/1")[0] in (200, 404)


def test_a_page_of_another_site_can_do_nothing(portal):
    browser = portal.log_in()
    for method, path in operations(portal):
        if method == "GET" and not path.startswith("/api/v1"):
            continue
        for headers in ({"Origin": "http://evil.example"}, {"Origin": f"http://localhost:{portal.port + 1}"}, {"Origin": "null"},
                        {"Sec-Fetch-Site": "cross-site"}, {"Sec-Fetch-Site": "same-site"}):
            assert portal.ask(path, method, headers={"Cookie": browser.cookie} | headers)[0] == 403, (method, path, headers)
    for host in ("evil.example", f"evil.example:{portal.port}", "localhost.evil.example", "localhost:evil", "127.0.0.1.evil", ""):
        assert portal.ask("/api/v1/session", headers={"Host": host, "Cookie": browser.cookie})[0] == 421, host


def test_what_changes_something_needs_the_session_s_token(portal):
    browser, other = portal.log_in(), portal.log_in()
    for method, path in operations(portal):
        if method == "GET":
            continue
        for token in (None, "", "x", other.csrf):
            headers = {"Cookie": browser.cookie} | ({} if token is None else {"X-CSRF-Token": token})
            assert portal.ask(path, method, headers=headers)[0] == 403, (method, path, token)
    assert portal.ask("/api/v1/jobs/1/limit", "POST", headers={"Cookie": browser.cookie, "X-CSRF-Token": browser.csrf,
                                                              "Content-Type": "text/plain", "Content-Length": "0"})[0] == 400
    status, _, _ = portal.ask("/api/v1/jobs/1/limit", "POST", {"time_limit": "1"},
                              {"Cookie": browser.cookie, "X-CSRF-Token": browser.csrf, "Content-Type": "text/plain"})
    assert status == 415


def test_wrong_tokens_are_slowed_down_and_lock_nobody_out(portal):
    tried = [portal.ask(f"/login?token={number:032d}")[0] for number in range(12)]
    assert set(tried[:9]) == {403} and tried[-1] == 429
    assert portal.log_in().ask("/api/v1/session")["user"]


def status_of(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer.startswith(b"HTTP/1.1 ") else 0


HOST = b"Host: localhost\r\n"


@pytest.mark.parametrize("request_text, status", [
    (b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 20000 + b"\r\n\r\n", 431),
    (b"GET /" + b"x" * 20000 + b" HTTP/1.1\r\n" + HOST + b"\r\n", 431),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Content-Length: 2000000\r\n\r\n", 413),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Content-Length: 99999999999999999999999\r\n\r\n", 400),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n", 400),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 411),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (b"POST /api/v1/logout HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\nContent-Length: 5\r\n\r\nhello", 400),
    (b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"X-CSRF-Token: a\r\nx-csrf-token: b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\r\n" + HOST + b"A : b\r\n\r\n", 400),
    (b"GET / HTTP/1.1\n" + b"Host: localhost\n\n", 400),
    (b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET / HTTP/1.1\r\n\r\n", 421),
    (b"GET http://localhost/ HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /%00 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /%0d%0aSet-Cookie:x HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets/../../etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets/%2e%2e/%2e%2e/etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets/..%2f..%2fetc%2fpasswd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets//etc/passwd HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"GET /assets/..\\..\\etc HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"PUT / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    (b"TRACE / HTTP/1.1\r\n" + HOST + b"\r\n", 405),
    (b"CONNECT localhost:22 HTTP/1.1\r\n" + HOST + b"\r\n", 400),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
], ids=lambda value: str(value)[:60])
def test_rude_requests_are_refused(portal, request_text, status):
    answer = portal.send(request_text)
    assert status_of(answer) == status, answer[:300]
    assert answer.count(b"HTTP/1.1 ") == 1, "what follows a request that was not understood is no request"
    assert b"root:" not in answer


def test_every_answer_has_the_headers_that_browsers_obey(portal):
    for path in ("/", "/login?token=x", "/api/v1/session", "/nothing.js", "/openapi/v3"):
        _, headers, _ = portal.ask(path)
        assert headers["Content-Security-Policy"].startswith("default-src 'self';") and "unsafe" not in headers["Content-Security-Policy"]
        assert headers["X-Content-Type-Options"] == "nosniff" and headers["X-Frame-Options"] == "DENY"
        assert headers["Referrer-Policy"] == "no-referrer"


def test_slow_clients_keep_nobody_waiting(portal):
    slow = []
    for _ in range(200):
        one = socket.create_connection(("127.0.0.1", portal.port), timeout=60)
        one.sendall(b"GET /api/v1/session HTTP/1.1\r\nHost: loc")
        slow.append(one)
    begin = time.monotonic()
    assert portal.program("/api/v1/session")["user"]
    assert time.monotonic() - begin < 5
    for one in slow:
        one.close()


def test_names_of_jobs_are_texts(cluster, portal):
    name = "<script>alert(1)</script>\x1b[31m\u202egnp.exe"
    job = cluster.sbatch("--hold", f"--job-name={name}", f"--comment={name}", "--wrap=true")
    page = portal.program(f"/api/v1/jobs/{job}")
    for text in (page["job"]["name"], page["details"]["comment"]):
        assert text.startswith("<script>") and "\x1b" not in text and "\u202e" not in text
    status, headers, _ = portal.ask(f"/api/v1/jobs/{job}", headers={"X-SLURM-USER-TOKEN": portal.token})
    assert status == 200 and headers["Content-Type"].startswith("application/json")


def test_an_output_is_a_regular_file_of_the_job_s(cluster, portal):
    job = cluster.sbatch("--output=/dev/zero", "--wrap=true")
    cluster.wait_end(job)
    answer = portal.program(f"/api/v1/jobs/{job}/output")
    assert answer["text"] == "" and answer["problem"]


@pytest.mark.parametrize("path", [
    "/api/v1/jobs?limit=0", "/api/v1/jobs?limit=1001", "/api/v1/jobs?limit=1e3", "/api/v1/jobs?limit=-1", "/api/v1/jobs?offset=99999999999999999999",
    "/api/v1/jobs?sort=;drop", "/api/v1/jobs?state=NOSUCH", "/api/v1/jobs?nosuch=1", "/api/v1/jobs?limit=1&limit=2", "/api/v1/jobs?user=" + "x" * 300,
    "/api/v1/jobs/abc", "/api/v1/jobs/1.0", "/api/v1/jobs/-1", "/api/v1/jobs/1/output?stream=all", "/api/v1/jobs/1/output?offset=-1",
    "/api/v1/jobs/ended?before=x", "/openapi/v3?version=99"])
def test_values_out_of_bounds_are_refused(portal, path):
    assert "message" in portal.program(path, status=400)["error"]


def test_bodies_that_are_no_objects_are_refused(portal):
    for body in ([], "x", 1, {"time_limit": []}, {"time_limit": {}}, {"other": 1}, {"time_limit": "x" * 100}):
        portal.program("/api/v1/jobs/1/limit", "POST", body, status=400)
    status, _, _ = portal.ask("/api/v1/jobs/1/limit", "POST", headers={"X-SLURM-USER-TOKEN": portal.token, "Content-Type": "application/json"}, body=[[]] * 5)
    assert status == 400
