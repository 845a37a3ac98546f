"""The files of jobs: calls that go to them, results that come back, records of submissions with a key.

All are below one directory of the user's, which the nodes must see. Directories have mode 0700 and files 0600; a file
appears whole. A result is read only if it is the user's own file, since reading it runs what it says.
"""
from __future__ import annotations

import contextlib
import datetime
import fcntl
import hashlib
import importlib
import json
import os
import pathlib
import pickle
import re
import stat
import sys
import time
import uuid
from typing import Any, Callable, Dict, Iterable, Iterator, Mapping, Optional, Sequence, Tuple

from . import _call
from ._errors import Error, RemoteError, RemoteTraceback

Call = Tuple[Callable[..., Any], Sequence[Any], Mapping[str, Any]]
NO_CLOUDPICKLE = ("{what} cannot be pickled ({error}). Without cloudpickle, a function must be at the top of a module or of "
                  "the script that runs; or: pip install cloudpickle")


def hashed(text: str, digits: int) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:digits]


def default_directory() -> pathlib.Path:
    if own := os.environ.get("MINKE_JOBS_DIR"):
        return pathlib.Path(own)
    return pathlib.Path(os.environ.get("XDG_DATA_HOME") or pathlib.Path.home() / ".local/share") / "minke/jobs"


def cloudpickle() -> Any:
    """The module, or None."""
    try:
        return importlib.import_module("cloudpickle")
    except ImportError:
        return None


def pickled(value: Any, what: str) -> bytes:
    if by_value := cloudpickle():
        return bytes(by_value.dumps(value))
    try:
        return pickle.dumps(value)
    except Exception as error:
        raise Error(NO_CLOUDPICKLE.format(what=what, error=error)) from error


def setup() -> "dict[str, Any]":
    """What a function's process must know to find the same modules."""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if cloudpickle():
        main = None  # what the script defines goes along with the function
    path = [os.path.abspath(one or os.getcwd()) for one in sys.path]
    return {"path": path, "main": os.path.abspath(main) if main and os.path.exists(main) else None}


def calls_file(calls: Iterable[Call]) -> bytes:
    """The format that _call.read_call reads; a function that several calls share is in it once."""
    content = bytearray()
    functions: Dict[int, Tuple[Any, int, int]] = {}  # each is kept, so that no other one gets its id
    entries = []
    for function, positional, named in calls:
        place = functions.get(id(function))
        if place is None:
            begin = len(content)
            content += pickled(function, getattr(function, "__qualname__", repr(function)))
            place = functions[id(function)] = (function, begin, len(content))
        begin = len(content)
        content += pickled((tuple(positional), dict(named)), "an argument")
        entries.append(_call.ENTRY.pack(*place[1:], begin, len(content)))
    at = len(content)
    content += json.dumps(setup()).encode()
    table = len(content)
    return bytes(content) + b"".join(entries) + _call.TRAILER.pack(at, table, len(entries), _call.MAGIC)


def write_file(path: pathlib.Path, content: bytes) -> None:
    half = path.with_name(f"{path.name}.{os.getpid()}-{uuid.uuid4().hex[:8]}.new")
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        os.rename(half, path)
    except BaseException:
        half.unlink()
        raise


def own_file(path: pathlib.Path) -> Optional[bytes]:
    """What is in it; None where there is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            raise Error(f"{path} is not read: it must be a file of yours that nobody else may write")
        return file.read()


def value_of(content: bytes) -> "tuple[bool, Any]":
    """(True, what the function returned), or (False, the exception that it raised)."""
    sys.modules.setdefault(_call.MAIN, sys.modules["__main__"])
    kind, inner, text, line = pickle.loads(content)
    if kind == "value":
        return True, pickle.loads(inner)
    error: Optional[BaseException] = None
    if inner is not None:
        with contextlib.suppress(Exception):
            error = pickle.loads(inner)
    if error is None:
        error = RemoteError(f"{line}\n{text}")
    error.__cause__ = RemoteTraceback(text)
    return False, error


class Folder:
    """A directory of jobs that were submitted together: one program's, or those of a key."""

    def __init__(self, path: pathlib.Path, mark: str):
        self.path, self.mark = path, mark  # mark: what stands in the jobs' comments

    @classmethod
    def of_session(cls, directory: pathlib.Path) -> "Folder":
        name = f"{datetime.datetime.now():%Y%m%d-%H%M%S}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
        return cls(directory / "sessions" / name, f".{name}")

    @classmethod
    def of_key(cls, directory: pathlib.Path, key: str) -> "Folder":
        """`key` as it stands in a comment. The same key in another directory is another one."""
        slug = re.sub(r"[^A-Za-z0-9._-]", "_", key)[:40]
        return cls(directory / "keys" / f"{slug}-{hashed(key, 16)}", f"{key}@{hashed(str(directory), 8)}")

    @classmethod
    def of_mark(cls, directory: pathlib.Path, mark: str) -> "Optional[tuple[Folder, str]]":
        """The folder, and the name within it, that a comment speaks of; None where it is not in this directory."""
        if not mark.startswith("."):
            key, _, place = mark.rpartition("@")
            return (cls.of_key(directory, key), "0") if place == hashed(str(directory), 8) else None
        session, _, name = mark[1:].rpartition(".")
        return cls(directory / "sessions" / pathlib.Path(session).name, f".{session}"), pathlib.Path(name).name

    def make(self) -> None:
        for path in (self.path.parent, self.path, self.path / "results"):
            path.mkdir(mode=0o700, parents=True, exist_ok=True)

    def result(self, name: str) -> pathlib.Path:
        return self.path / "results" / name

    def calls(self, name: str) -> pathlib.Path:
        return self.path / f"{name}.calls"

    def log(self, array: bool) -> str:
        """For --output; what Slurm would expand in the directory's name is doubled."""
        return str(self.path).replace("%", "%%") + ("/%A_%a.out" if array else "/%j.out")

    def write_calls(self, name: str, calls: Iterable[Call]) -> None:
        content = calls_file(calls)
        self.make()
        write_file(self.calls(name), content)

    @contextlib.contextmanager
    def locked(self) -> "Iterator[int]":
        """One submission at a time. Who inherits the descriptor, as sbatch does, holds the lock after its caller's death."""
        self.make()
        descriptor = os.open(self.path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def read_record(self) -> "Optional[dict[str, Any]]":
        content = own_file(self.path / "record.json")
        return json.loads(content) if content else None

    def write_record(self, record: "dict[str, Any]") -> None:
        write_file(self.path / "record.json", json.dumps(record).encode())

    def record_age(self) -> float:
        return time.time() - (self.path / "record.json").stat().st_mtime
