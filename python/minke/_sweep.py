"""Searches for hyperparameters in a loop of one's own: `minke sweep serve` is asked what to try, and told what came of it.

    with minke.Sweep("sweep.yaml") as sweep:
        for trial in sweep:
            sweep.tell(trial, train(**trial.parameters))
"""
from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from typing import Any, Dict, Iterator, Mapping, Optional, Union

from ._errors import Error


@dataclasses.dataclass(frozen=True)
class Trial:
    """`budget`: train until so much has been done, where the sweep has a resource. `source`: the trial whose state it goes on from."""
    number: int
    parameters: Dict[str, Any]
    directory: str
    budget: Optional[int] = None
    source: Optional[int] = None


class Sweep:
    """A sweep file, or the same as a dictionary; or the directory of a sweep that another process serves.

    A trial belongs to this object. If its program dies, whoever asks next gets the trial again. Not for several threads
    at once: each opens a Sweep of its own, with the directory."""

    def __init__(self, sweep: "Union[str, os.PathLike[str], Mapping[str, Any]]", directory: "Union[str, os.PathLike[str], None]" = None, *,
                 trials: Optional[int] = None, seed: Optional[int] = None):
        self._server: "Optional[subprocess.Popen[str]]" = None
        self._socket: Optional[socket.socket] = None
        self._made: Optional[str] = None
        self._counts: "Dict[int, int]" = {}
        if not isinstance(sweep, Mapping) and pathlib.Path(sweep).is_dir():
            self._connect(pathlib.Path(sweep))
            return
        if isinstance(sweep, Mapping):
            descriptor, self._made = tempfile.mkstemp(suffix=".yaml", prefix="sweep-")
            with open(descriptor, "w", encoding="utf-8") as file:
                json.dump(dict(sweep), file)
            directory = directory or f"sweeps/{sweep.get('name', 'sweep')}"
            sweep = self._made
        words = [self._program(), "sweep", "serve", "--until-input-ends", str(sweep)]
        for option, value in (("--directory", directory), ("--trials", trials), ("--seed", seed)):
            words += [option, str(value)] if value is not None else []
        self._connect(self._start(words))

    def _start(self, words: "list[str]") -> pathlib.Path:
        """The directory of the sweep, once it is served. The server of a program that died just now may end a little later."""
        deadline = time.monotonic() + 10
        while True:
            self._server = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            assert self._server.stdout and self._server.stderr
            place = self._server.stdout.readline().strip()
            if place:
                return pathlib.Path(place).parent
            message = self._server.stderr.read().strip()
            self._server.communicate()
            self._server = None
            if "steers" not in message or time.monotonic() > deadline:
                self.close()
                raise Error(message or "minke sweep serve ended")
            time.sleep(0.1)

    @staticmethod
    def _program() -> str:
        beside = os.path.join(os.path.dirname(sys.executable), "minke")
        program = shutil.which("minke") or (beside if os.access(beside, os.X_OK) else None)
        if not program:
            raise Error("there is no minke on PATH")
        return program

    def _connect(self, directory: pathlib.Path) -> None:
        self.directory = directory
        place = os.open(directory, os.O_PATH | os.O_DIRECTORY)  # names of sockets are short
        try:
            self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self._socket.connect(f"/proc/self/fd/{place}/socket")
            self._file = self._socket.makefile("r", encoding="utf-8")
        except OSError as error:
            self.close()
            raise Error(f"{directory}: nobody serves this sweep: minke sweep serve ({error.strerror})") from error
        finally:
            os.close(place)

    def _request(self, verb: str, **given: Any) -> "Dict[str, Any]":
        if self._socket is None:
            raise Error("the sweep is closed")
        self._socket.sendall(json.dumps({verb: given}).encode() + b"\n")
        line = self._file.readline()
        if not line:
            raise Error("minke sweep serve has ended; its directory keeps the sweep")
        answer: "Dict[str, Any]" = json.loads(line)
        if "error" in answer:
            raise Error(answer["error"])
        return answer

    def ask(self) -> Optional[Trial]:
        """What to try next; None where the sweep is done. Waits while others must be told first."""
        while True:
            answer = self._request("ask")
            if "done" in answer:
                return None
            if "wait" not in answer:
                return Trial(answer["trial"], answer["parameters"], answer["directory"], answer.get("budget"), answer.get("source"))
            time.sleep(0.1)

    def __iter__(self) -> Iterator[Trial]:
        while (trial := self.ask()) is not None:
            yield trial

    def report(self, trial: Trial, value: float) -> bool:
        """A value on the way. True: stop, others are better; then tell(trial, value, stopped=True)."""
        self._counts[trial.number] = self._counts.get(trial.number, 0) + 1
        return bool(self._request("report", trial=trial.number, count=self._counts[trial.number], value=value)["stop"])

    def tell(self, trial: Trial, value: Optional[float] = None, *, failed: Optional[str] = None, stopped: bool = False) -> None:
        """What came of it. Without a finite value, it has failed."""
        given: "Dict[str, Any]" = {"trial": trial.number}
        if failed is not None:
            given["failed"] = failed
        elif value is not None and value == value and abs(value) != float("inf"):
            given["value"] = float(value)
        if stopped:
            given["stopped"] = True
        self._request("tell", **given)

    def best(self) -> "Optional[Dict[str, Any]]":
        """Its trial, value, parameters and directory; None where no trial has a value."""
        return self._request("best") or None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        if self._server is not None:
            self._server.terminate()
            self._server.communicate()
            self._server = None
        if self._made is not None:
            os.unlink(self._made)
            self._made = None

    def __enter__(self) -> "Sweep":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
