"""An HTTP server that keeps what is posted to it, and who posted it."""
import http.server
import json
import threading

from cluster import poll


class WebhookServer:
    """`answers` has the codes to answer with, by path; others are 200. `got` has (path, document, uid)."""

    def __init__(self, answers: dict | None = None):
        self.got, self.answers = [], answers or {}
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.got.append((self.path, document, uid_of(self.client_address[1])))
                codes = outer.answers.get(self.path, [])
                code = codes.pop(0) if codes else 200
                self.send_response(code)
                if code == 302:
                    self.send_header("Location", "/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.address = f"http://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def wait(self, count: int) -> list:
        poll(lambda: len(self.got) >= count, 60, f"post {count}")
        return self.got

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def uid_of(port: int) -> int | None:
    """Whose connection comes from that port of this machine, by the kernel's word."""
    with open("/proc/net/tcp") as table:
        for line in list(table)[1:]:
            words = line.split()
            if int(words[1].split(":")[1], 16) == port:
                return int(words[7])
    return None
