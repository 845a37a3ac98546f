"""Logging in at a shared portal by OpenID Connect, with a provider of the tests' own that can also lie."""
import base64
import hashlib
import http.server
import json
import pathlib
import re
import subprocess
import threading
import time
import urllib.parse

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared
from test_shared_portal import CAN_MOUNT, SharedPortal, Visitor

pytestmark = [pytest.mark.minke_only, NEEDS_ROOT, pytest.mark.skipif(not CAN_MOUNT, reason="no private mounts here"),
              pytest.mark.skipif(not pathlib.Path("/usr/bin/curl").exists(), reason="curl is not installed")]


def url64(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


class Provider(http.server.ThreadingHTTPServer):
    """Knows one person; signs by RS256 with openssl."""

    def __init__(self, place: pathlib.Path, name: str):
        super().__init__(("127.0.0.1", 0), Answers)
        self.issuer = f"http://127.0.0.1:{self.server_port}"
        self.key, self.other = place / "key.pem", place / "other.pem"
        for key in (self.key, self.other):
            subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        told = subprocess.run(["openssl", "rsa", "-in", self.key, "-noout", "-modulus"], check=True, capture_output=True, text=True).stdout
        self.modulus = bytes.fromhex(told.strip().partition("=")[2])
        self.name, self.codes, self.asked = name, {}, []
        self.changes, self.signs_with = {}, self.key
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def authorize(self, address: str) -> tuple[str, dict]:
        """What a person who logs in at the address does: returns the code, and what was asked."""
        asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))
        code = f"code {len(self.codes)}+/="
        self.codes[code] = asked
        return code, asked

    def token(self, asked) -> str:
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": "minke", "sub": "7", "nonce": asked["nonce"], "iat": now, "exp": now + 300,
                  "preferred_username": self.name} | self.changes
        text = f"{url64(json.dumps({'alg': 'RS256', 'kid': '1'}).encode())}.{url64(json.dumps(claims).encode())}"
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.signs_with], input=text.encode(), check=True, capture_output=True).stdout
        return f"{text}.{url64(signature)}"


class Answers(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def say(self, value, status=200):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        one = self.server
        if self.path == "/.well-known/openid-configuration":
            return self.say({"issuer": one.issuer, "authorization_endpoint": one.issuer + "/authorize", "token_endpoint": one.issuer + "/token",
                             "jwks_uri": one.issuer + "/keys"})
        self.say({"keys": [{"kty": "RSA", "kid": "1", "use": "sig", "n": url64(one.modulus), "e": "AQAB"}]})

    def do_POST(self):
        one = self.server
        form = dict(urllib.parse.parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
        one.asked.append((form, self.headers.get("Authorization")))
        asked = one.codes.pop(form.get("code"), None)
        expected = "Basic " + base64.b64encode(b"minke:it%27s%20secret").decode()
        challenge = url64(hashlib.sha256(form.get("code_verifier", "").encode()).digest())
        if (asked is None or self.headers.get("Authorization") != expected or challenge != asked["code_challenge"]
                or form.get("redirect_uri") != asked["redirect_uri"]):
            return self.say({"error": "invalid_grant"}, 400)
        self.say({"access_token": "x", "token_type": "Bearer", "id_token": one.token(asked)})


@pytest.fixture(scope="module")
def shared():
    one = Shared()
    yield one
    one.close()


@pytest.fixture
def provider(shared, tmp_path):
    one = Provider(tmp_path, shared.alice.name)
    yield one
    one.shutdown()
    one.server_close()


@pytest.fixture
def portal(shared, provider, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("it's secret\n")
    secret.chmod(0o600)
    one = SharedPortal(shared, "--plain", "--oidc-issuer", provider.issuer, "--oidc-client", "minke", "--oidc-secret", secret, "--oidc-domain", "example.org")
    yield one
    assert one.process.poll() is None, "the portal has ended"
    one.close()


def begin(portal):
    """Where a browser is led, and its cookie."""
    status, headers, said = portal.ask("/login/oidc")
    assert status == 303, said
    return headers["Location"], headers["Set-Cookie"].partition(";")[0]


def come_back(portal, code, state, cookie):
    return portal.ask(f"/login/callback?{urllib.parse.urlencode({'code': code, 'state': state, 'session_state': 'x'})}", headers={"Cookie": cookie})


def log_in(portal, provider):
    address, cookie = begin(portal)
    code, asked = provider.authorize(address)
    return come_back(portal, code, asked["state"], cookie)


def test_whom_the_provider_knows_is_let_in(shared, portal, provider):
    assert portal.ask("/api/v1/login")[2] == {"by": "oidc"}
    address, cookie = begin(portal)
    asked = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).query))
    assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == ("minke", "code", "S256")
    assert asked["redirect_uri"] == f"http://localhost:{portal.port}/login/callback" and "openid" in asked["scope"]
    status, headers, said = log_in(portal, provider)
    assert (status, headers["Location"]) == (303, "/"), said
    session = next(one for one in headers.get_all("Set-Cookie") if one.startswith("minke="))
    assert "HttpOnly" in session and "SameSite=Strict" in session
    alice = Visitor(portal, session)
    assert alice.session["user"] == shared.alice.name and alice.ask("/api/v1/cluster")["nodes"] == 2
    assert portal.workers(shared.alice)
    # Nobody else asks for passwords beside it.
    assert portal.turn(user=shared.alice.name)[0] == 403


@pytest.mark.parametrize("changes", [{"iss": "http://evil.example"}, {"aud": "other"}, {"nonce": "other"}, {"exp": 1}, {"preferred_username": "root"},
                                     {"preferred_username": "../x"}, {"preferred_username": ""}, {"preferred_username": 7}, {"preferred_username": "mk-nobody-knows"},
                                     {"preferred_username": "{name}@evil.example"}, {"sub": ""}], ids=str)
def test_a_token_that_is_not_right_lets_nobody_in(shared, portal, provider, changes):
    provider.changes = {name: value.format(name=shared.alice.name) if isinstance(value, str) else value for name, value in changes.items()}
    status, headers, said = log_in(portal, provider)
    assert status == 403 and not any(one.startswith("minke=") for one in headers.get_all("Set-Cookie") or []), said
    assert portal.ask("/api/v1/session")[0] == 401


def test_another_key_signs_nothing(portal, provider):
    provider.signs_with = provider.other
    assert log_in(portal, provider)[0] == 403


def test_a_name_with_the_domain_of_the_site_is_taken(shared, portal, provider):
    provider.changes = {"preferred_username": f"{shared.alice.name}@example.org"}
    assert log_in(portal, provider)[0] == 303


def test_only_the_browser_that_was_sent_comes_back(portal, provider):
    address, cookie = begin(portal)
    code, asked = provider.authorize(address)
    for wrong in ((code, "0" * 32, cookie), (code, "", cookie)):
        assert come_back(portal, *wrong)[0] == 403
    _, other = begin(portal)
    assert come_back(portal, code, asked["state"], other)[0] == 403
    assert come_back(portal, code, asked["state"], cookie)[0] == 403  # it was tried once
    address, cookie = begin(portal)
    code, asked = provider.authorize(address)
    assert come_back(portal, code + "x", asked["state"], cookie)[0] == 403
    status, _, said = portal.ask(f"/login/callback?error=access_denied&state={asked['state']}", headers={"Cookie": cookie})
    assert status == 403, said
    assert not any("it's secret" in json.dumps(one) for one in provider.asked)


def test_its_process_has_no_rights_and_shows_no_secret(shared, portal, provider):
    waits, goes_on = threading.Event(), threading.Event()
    first = provider.token

    def slow(asked):
        waits.set()
        goes_on.wait(60)
        return first(asked)

    provider.token = slow
    result = []
    browser = threading.Thread(target=lambda: result.append(log_in(portal, provider)))
    browser.start()
    assert waits.wait(60)
    found = {pid: (uid, command) for pid, (uid, command) in portal.processes().items() if "--oidc-login" in command or "/usr/bin/curl" in command}
    assert len(found) == 2 and all(uid != 0 and "it's" not in command and "it%27s" not in command for uid, command in found.values()), found
    for pid in found:
        assert re.search(r"CapEff:\s+0+\n", pathlib.Path(f"/proc/{pid}/status").read_text())
    goes_on.set()
    browser.join(60)
    assert result[0][0] == 303


def test_a_provider_that_does_not_answer_is_told(shared, portal, provider):
    provider.shutdown()
    provider.server_close()
    status, _, said = portal.ask("/login/oidc")
    assert status == 503 and b"provider" in said


def test_settings_that_cannot_be_right_are_refused(shared):
    for words, said in ((["--oidc-issuer", "http://id.example.org", "--oidc-client", "x"], "https"), (["--oidc-issuer", "https://id.example.org"], "--oidc-client"),
                        (["--oidc-issuer", "https://id.example.org", "--oidc-client", "x", "--oidc-secret", "/nowhere"], "/nowhere"),
                        (["--oidc-issuer", "https://id.example.org", "--oidc-client", "x", "--oidc-claim", "email"], "--oidc-domain")):
        done = subprocess.run([shared.program, "portal", "--shared", "--plain", "--port", "0", *words], env=shared.root, capture_output=True, text=True, timeout=60)
        assert done.returncode == 1 and said in done.stderr, (words, done.stderr)
