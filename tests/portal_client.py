"""A portal under test, and those who ask it: a browser with a cookie, a program with a token, and somebody at a bare socket."""
import http.client
import json
import re
import socket
import urllib.parse

# Of minke.toml: a cluster whose accounts have limits, and shares that are counted at once.
ACCOUNTED = """
[accounting]
enforce = ["limits", "qos"]

[priority]
type = "multifactor"
weight_fair_share = 100000
calc_period = 1
"""


class Portal:
    """`minke portal` of a cluster. `url` is the address that it has printed last."""

    def __init__(self, cluster, *options):
        self.cluster = cluster
        cluster.environment["XDG_CONFIG_HOME"] = str(cluster.work / ".config")
        cluster.environment["XDG_STATE_HOME"] = str(cluster.work / ".state")
        self.token_path = cluster.work / "portal.token"
        self.process = cluster.start("minke", "portal", "--port", 0, "--token-file", self.token_path, *options)
        self.url = self.next_url()
        self.port = urllib.parse.urlsplit(self.url).port
        self.token = self.token_path.read_text().strip()

    def next_url(self) -> str:
        while line := self.process.stdout.readline():
            if found := re.search(r"http://localhost:\d+/login\?token=\w+", line):
                return found[0]
        raise AssertionError(f"the portal has ended: {self.process.stderr.read()}")

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(timeout=60)
        for stream in (self.process.stdout, self.process.stderr):
            stream.close()

    def ask(self, path, method="GET", body=None, headers=None):
        """Of somebody who shows nothing. Returns status, headers and body."""
        connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
        content = None if body is None else json.dumps(body)
        connection.request(method, path, content, ({"Content-Type": "application/json"} if body is not None else {}) | (headers or {}))
        answer = connection.getresponse()
        found = answer.status, answer.headers, answer.read()
        connection.close()
        return found

    def program(self, path, method="GET", body=None, headers=None, status=200):
        """The same of a program with the token. Returns the answer as JSON."""
        got, _, content = self.ask(path, method, body, {"X-SLURM-USER-TOKEN": self.token} | (headers or {}))
        assert status is None or got == status, f"{method} {path}: {got} {content[:500]}"
        return json.loads(content)

    def log_in(self) -> "Browser":
        used, self.url = self.url, None
        status, headers, _ = self.ask(used.partition(f":{self.port}")[2])
        assert status == 303
        self.url = self.next_url()
        return Browser(self, headers["Set-Cookie"])

    def send(self, *pieces: bytes, leave: bool = True) -> bytes:
        """What comes for these bytes until the portal closes the connection, or has answered once. With `leave` the portal
        sees that nothing more will come, as of a browser that has gone."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as bare:
            try:
                for piece in pieces:
                    bare.sendall(piece)
                if leave:
                    bare.shutdown(socket.SHUT_WR)
            except (BrokenPipeError, ConnectionResetError):
                pass
            got = b""
            try:
                while piece := bare.recv(65536):
                    got += piece
            except ConnectionResetError:
                pass
            return got


class Browser:
    def __init__(self, portal: Portal, set_cookie: str):
        self.portal, self.set_cookie = portal, set_cookie
        self.cookie = set_cookie.partition(";")[0]
        self.csrf = self.ask("/api/v1/session")["csrf"]

    def ask(self, path, method="GET", body=None, headers=None, status=200):
        own = {"Cookie": self.cookie} | ({"X-CSRF-Token": self.csrf} if method != "GET" else {})
        got, _, content = self.portal.ask(path, method, body, own | (headers or {}))
        assert got == status, f"{method} {path}: {got} {content[:500]}"
        return json.loads(content) if content[:1] in b"{[" else content
