"""Speaks the daemon's own protocol (src/rpc/frame.h, src/rpc/messages.proto, src/api/) from Python.

For measuring many requests without one process each, and for tests that must say what no command would.
The message classes are generated from the .proto files at the first use, into build/python.
"""
import functools
import importlib
import os
import pathlib
import socket
import struct
import subprocess
import sys
import types

ROOT = pathlib.Path(__file__).resolve().parent.parent
VERSION = 1


@functools.cache
def protocol() -> types.SimpleNamespace:
    """All message classes and enumerators of src/model, src/api and src/rpc, by their names, which are unique."""
    target, source = ROOT / "build/python", ROOT / "src"
    protos = sorted(path for room in ("model", "api", "rpc") for path in (source / room).glob("*.proto"))
    stamp = target / "stamp"
    if not stamp.exists() or stamp.stat().st_mtime < max(path.stat().st_mtime for path in protos):
        # Processes that test in parallel may do this at once: each makes its own and renames file by file.
        fresh = ROOT / f"build/python-{os.getpid()}"
        fresh.mkdir(parents=True, exist_ok=True)
        subprocess.run(["protoc", f"--python_out={fresh}", f"-I{source}", *map(str, protos)], check=True)
        for path in fresh.rglob("*.py"):
            place = target / path.relative_to(fresh)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
        stamp.touch()
        subprocess.run(["rm", "-rf", str(fresh)], check=True)
    if str(target) not in sys.path:
        sys.path.insert(0, str(target))
    found = types.SimpleNamespace()
    for path in protos:
        module = importlib.import_module(f"{path.parent.name}.{path.stem}_pb2")
        for name in [*module.DESCRIPTOR.message_types_by_name, *module.DESCRIPTOR.enum_types_by_name,
                     *(value for kind in module.DESCRIPTOR.enum_types_by_name.values() for value in kind.values_by_name)]:
            setattr(found, name, getattr(module, name))
    return found


def greeting(version: int = VERSION) -> bytes:
    return b"MINKE" + struct.pack("<H", version)


def frame(message: bytes) -> bytes:
    return struct.pack("<II", len(message), 0) + message  # no descriptors


class Wire:
    """One conversation with the daemon of a cluster's home."""

    def __init__(self, home, version: int | None = VERSION, timeout: float = 60):
        self.messages = protocol()
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(timeout)
        directory = os.open(home, os.O_PATH)  # socket addresses are short, paths need not be
        try:
            self.socket.connect(f"/proc/self/fd/{directory}/minked.sock")
        finally:
            os.close(directory)
        self.buffer = b""
        self.requests = 0
        if version is not None:
            self.socket.sendall(greeting(version))

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> "Wire":
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def read(self, size: int) -> bytes:
        """Exactly that many bytes; ConnectionError where the daemon closes first."""
        while len(self.buffer) < size:
            chunk = self.socket.recv(1 << 20)
            if not chunk:
                raise ConnectionError(f"closed after {len(self.buffer)} of {size} bytes")
            self.buffer += chunk
        answer, self.buffer = self.buffer[:size], self.buffer[size:]
        return answer

    def read_greeting(self) -> int:
        """The daemon's protocol version."""
        answer = self.read(7)
        assert answer[:5] == b"MINKE", answer
        return struct.unpack("<H", answer[5:])[0]

    def send(self, **body) -> int:
        """send(status=StatusRequest()): returns the request's number."""
        self.requests += 1
        message = self.messages.ClientMessage(request_id=self.requests)
        for name, value in body.items():
            getattr(message, name).CopyFrom(value)
            getattr(message, name).SetInParent()
        self.socket.sendall(frame(message.SerializeToString()))
        return self.requests

    def receive(self):
        """The next ServerMessage."""
        if self.requests and not getattr(self, "greeted", False):
            self.read_greeting()
            self.greeted = True
        size, _ = struct.unpack("<II", self.read(8))
        message = self.messages.ServerMessage()
        message.ParseFromString(self.read(size))
        return message

    def ask(self, **body):
        """One request, its last answer."""
        self.send(**body)
        while not (message := self.receive()).last:
            pass
        return message

    def submission(self, script: bytes = b"#!/bin/sh\n", environment: bytes = b"PATH=/usr/bin:/bin\0", **spec):
        """A SubmitRequest with a key of its own."""
        request = self.messages.SubmitRequest(key=os.urandom(16), script=script, environment=environment)
        for name, value in ({"work_dir": "/tmp", "name": "job", "stdout_path": "/dev/null"} | spec).items():
            setattr(request.spec, name, value.encode() if isinstance(value, str) else value)
        return request
