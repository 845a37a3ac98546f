"""In the job: calls the function that a file describes, and writes what it returned or raised.

Run by its path, with the file of calls and the name of the result's file; for arrays, the task's number is put behind both.
It uses nothing of the package, which need not be importable in the job. The result appears whole or not at all, and
nobody but the user can read it.
"""
import importlib
import json
import os
import pickle
import struct
import sys
import traceback
from typing import Any, Optional

ENTRY = struct.Struct("<4Q")   # where the function begins and ends, and its arguments
TRAILER = struct.Struct("<3Q8s")  # where the setup begins, where the table of entries begins, how many, and MAGIC
MAGIC = b"MINKE\0c1"
MAIN = "__minke_main__"


def read_call(path: str, index: int) -> "tuple[dict[str, Any], bytes, bytes]":
    """(setup, pickled function, pickled arguments) of one call."""
    with open(path, "rb") as file:
        file.seek(-TRAILER.size, os.SEEK_END)
        setup, table, count, magic = TRAILER.unpack(file.read(TRAILER.size))
        if magic != MAGIC or not 0 <= index < count:
            raise ValueError(f"{path} holds no call {index}")
        file.seek(setup)
        settings = json.loads(file.read(table - setup))
        file.seek(table + index * ENTRY.size)
        begin, end, arguments, arguments_end = ENTRY.unpack(file.read(ENTRY.size))
        file.seek(begin)
        function = file.read(end - begin)
        file.seek(arguments)
        return settings, function, file.read(arguments_end - arguments)


def prepare(settings: "dict[str, Any]") -> None:
    """The modules that the submitting program had are found here, too, those of its script included."""
    sys.path[:] = settings["path"]
    if settings.get("main"):
        import runpy
        import types
        module = types.ModuleType(MAIN)
        module.__dict__.update(runpy.run_path(settings["main"], run_name=MAIN))
        sys.modules["__main__"] = sys.modules[MAIN] = module


def dumps(value: Any) -> bytes:
    try:
        return bytes(importlib.import_module("cloudpickle").dumps(value))
    except ImportError:
        return pickle.dumps(value)


def sendable(error: BaseException) -> Optional[bytes]:
    """The exception pickled; None where it would not arrive."""
    try:
        content = dumps(error)
        pickle.loads(content)
        return content
    except BaseException:
        return None


def write(path: str, content: bytes) -> None:
    """Whole, and then under its name."""
    half = f"{path}.{os.getpid()}.new"
    descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.rename(half, path)


def call(path: str, index: int) -> "tuple[str, Optional[bytes], str, str]":
    """(kind, pickled value or exception, traceback, one line)."""
    try:
        settings, function, arguments = read_call(path, index)
        prepare(settings)
        work = pickle.loads(function)
        positional, named = pickle.loads(arguments)
        return ("value", dumps(work(*positional, **named)), "", "")
    except BaseException as error:
        traceback.print_exc()
        here = error.__traceback__
        while here is not None and here.tb_frame.f_code.co_filename == __file__ and here.tb_next is not None:
            here = here.tb_next
        text = "".join(traceback.format_exception(type(error), error, here))
        return ("error", sendable(error.with_traceback(None)), text, f"{type(error).__name__}: {error}")


def main() -> None:
    calls, result, array = sys.argv[1:4]
    index = 0
    if array == "array":
        task = os.environ["SLURM_ARRAY_TASK_ID"]
        index, result = int(task), f"{result}-{task}"
    if os.path.exists(result):
        os.unlink(result)  # of an earlier run of this job, which was requeued
    sys.argv = ["minke"]
    answer = call(calls, index)
    sys.stdout.flush()
    sys.stderr.flush()
    write(result, pickle.dumps(answer))
    sys.exit(0 if answer[0] == "value" else 1)


if __name__ == "__main__":
    main()
