"""The few lines of WebSocket (RFC 6455) that tests need, at both ends: whole frames of up to 64 KiB, no extensions."""
import base64
import hashlib
import os
import socket
import struct

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, BINARY, CLOSE = 1, 2, 8


def accept_key(key: str) -> str:
    return base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()


def frame(opcode: int, content: bytes, masked: bool) -> bytes:
    size = len(content)
    head = bytes([0x80 | opcode, (0x80 if masked else 0) | min(size, 126)]) + (struct.pack(">H", size) if size >= 126 else b"")
    if not masked:
        return head + content
    mask = os.urandom(4)
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(content))


def read_frame(stream) -> tuple[int, bytes]:
    """The next frame of a file object: opcode and content."""
    first, second = stream.read(2)
    size = second & 127
    if size == 126:
        size, = struct.unpack(">H", stream.read(2))
    elif size == 127:
        size, = struct.unpack(">Q", stream.read(8))
    mask = stream.read(4) if second & 128 else bytes(4)
    return first & 15, bytes(byte ^ mask[at % 4] for at, byte in enumerate(stream.read(size)))


class WebSocket:
    """A client. `status` says how the server answered; 101: it is open."""

    def __init__(self, port: int, path: str, headers: dict[str, str]):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        key = base64.b64encode(os.urandom(16)).decode()
        own = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key} | headers
        self.socket.sendall(f"GET {path} HTTP/1.1\r\n{''.join(f'{name}: {value}' + chr(13) + chr(10) for name, value in own.items())}\r\n".encode())
        self.stream = self.socket.makefile("rb")
        self.status = int(self.stream.readline().split()[1])
        self.headers = dict(line.decode().strip().split(": ", 1) for line in iter(self.stream.readline, b"\r\n") if line)
        if self.status == 101:
            assert self.headers["Sec-WebSocket-Accept"] == accept_key(key)

    def send(self, content: bytes, opcode: int = BINARY) -> None:
        self.socket.sendall(frame(opcode, content, masked=True))

    def receive(self) -> tuple[int, bytes]:
        return read_frame(self.stream)

    def close(self) -> None:
        self.stream.close()
        self.socket.close()
