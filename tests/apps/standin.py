"""An application for tests, and a hostile one where it is asked to be: HTTP and WebSocket at the socket that the gate names."""
import http.server
import json
import os
import pathlib
import socketserver
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
import web_socket  # noqa: E402

ADDRESS = os.environ["APP_ADDRESS"]


class Pages(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "somebody"

    def log_message(self, *_):
        pass

    def say(self, body, status=200, headers=()):
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        all = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            all += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return all

    def do_GET(self):
        page = self.path.removeprefix(ADDRESS).partition("?")[0]
        if page == "/echo":
            return self.echo()
        if page == "/cookies":
            return self.say(b"", headers=[("Set-Cookie", "minke-stolen=x; Path=/"), ("Set-Cookie", "own=1; Path=/; Domain=localhost"),
                                          ("Set-Cookie", "__Host-minke=x; Path=/; Secure"), ("Service-Worker-Allowed", "/"), ("Clear-Site-Data", '"*"')])
        if page == "/chunks":
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in (b"one ", b"two ", b"three"):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
                self.wfile.flush()
            return self.wfile.write(b"0\r\n\r\n")
        if page == "/until-the-end":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nall of it")
            self.close_connection = True
            return None
        if page == "/slow":
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"7\r\nfirst\n\n\r\n")
            self.wfile.flush()
            time.sleep(600)
        for name, answer in {"/two-answers": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden",
                             "/two-lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 6\r\n\r\nhidden",
                             "/long-head": b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n", "/nonsense": b"\0" * 100,
                             "/split": b"HTTP/1.1 200 OK\r\nX: a\rSet-Cookie: minke=1\r\nContent-Length: 0\r\n\r\n",
                             "/switch": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n", "/nothing": b""}.items():
            if page == name:
                self.wfile.write(answer)
                self.close_connection = True
                return None
        self.say(json.dumps({"path": self.path, "method": self.command, "headers": dict(self.headers), "body": len(self.body())}).encode(),
                 headers=[("Content-Type", "application/json")])

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

    def echo(self):
        self.send_response(101)
        for name, value in (("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Accept", web_socket.accept_key(self.headers["Sec-WebSocket-Key"]))):
            self.send_header(name, value)
        self.end_headers()
        self.close_connection = True
        while True:
            opcode, content = web_socket.read_frame(self.rfile)
            if opcode == web_socket.CLOSE:
                return
            self.wfile.write(web_socket.frame(opcode, content, masked=False))


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 100

    def get_request(self):
        return super().get_request()[0], ("socket", 0)


Server(os.environ["APP_SOCKET"], Pages).serve_forever()
