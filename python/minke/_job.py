"""A job, and the tasks of an array: what the program that submitted them holds in its hands."""
from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Any, Generic, List, Optional, Sequence, TypeVar, Union, overload

from ._errors import JobError, error_of_state
from ._folder import own_file, value_of
from ._states import Seen

if TYPE_CHECKING:
    from ._cluster import Cluster

T = TypeVar("T")
FUNCTION, COMMAND, SCRIPT = "function", "command", "script"
TAIL_LINES = 20


def tail_of(path: Optional[pathlib.Path]) -> str:
    """The last lines of a log."""
    try:
        with open(path or "", "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - 8192))
            lines = file.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return "\n".join(lines[-TAIL_LINES:])


class Job(Generic[T]):
    """One job, or one task of an array. What is known of it stays known; several threads may ask."""

    def __init__(self, cluster: "Cluster", id: str, name: str, kind: str, result_file: Optional[pathlib.Path] = None,
                 log: "Optional[str]" = None, error_log: "Optional[str]" = None, key: Optional[str] = None):
        self.cluster, self.id, self.name, self.kind, self.key = cluster, id, name, kind, key
        self.result_file = result_file
        self._log_pattern, self._error_pattern = log, error_log
        self._seen: Optional[Seen] = None         # of the cluster
        self._answer: "Optional[tuple[bool, Any]]" = None  # what the function returned or raised
        self._arrived = False                     # its result is there
        self.submitted = cluster.clock()

    def __repr__(self) -> str:
        return f"<minke.Job {self.id} {self.name} {self._seen.state if self._seen else 'PENDING'}>"

    @property
    def ids(self) -> "list[str]":
        return [self.id]

    # ---- what it is doing ------------------------------------------------------------------------
    @property
    def state(self) -> str:
        """Slurm's word: PENDING, RUNNING, COMPLETED, FAILED, TIMEOUT … LOST: the cluster does not know the job (any more)."""
        return self.cluster.states([self])[self]

    @property
    def reason(self) -> str:
        """Why it waits, or why it ended."""
        self.cluster.states([self])
        return self._seen.reason if self._seen else ""

    def done(self) -> bool:
        """Whether result() answers at once."""
        self.cluster.check([self])
        return self._done

    @property
    def _done(self) -> bool:
        return self._arrived or (self._seen is not None and self._seen.ended)

    def wait(self, timeout: Optional[float] = None) -> "Job[T]":
        """Returns when it has ended; TimeoutError after so many seconds."""
        self.cluster.wait([self], timeout=timeout, strict=True)
        return self

    def cancel(self) -> None:
        self.cluster.cancel([self])

    # ---- what came of it -------------------------------------------------------------------------
    def result(self, timeout: Optional[float] = None) -> T:
        """What the function returned, or what the command printed. A function's exception is raised here, too; a job that
        ended without a result raises a JobError."""
        self.wait(timeout)
        good, value = self._outcome()
        if not good:
            raise value
        return value  # type: ignore[no-any-return]

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        self.wait(timeout)
        good, value = self._outcome()
        return None if good else value

    def _outcome(self) -> "tuple[bool, Any]":
        """(True, the result) or (False, an exception); only for one that is done."""
        if self._answer is None:
            content = own_file(self.result_file) if self.result_file else None
            if self.kind == FUNCTION and content is not None:
                self._answer = value_of(content)
            elif self.kind != FUNCTION and (content == b"0\n" or (self._seen and self._seen.state == "COMPLETED")):
                self._answer = (True, self.stdout())
            else:
                self._answer = (False, self._error())
        return self._answer

    def _error(self) -> JobError:
        seen = self._seen or Seen("LOST")
        code = seen.exit_code or self.exit_code
        reason = seen.reason
        if seen.state == "LOST":
            reason = "the cluster does not know the job, and there is no result"
        elif seen.state == "COMPLETED":
            reason = f"there is no result in {self.result_file}, which the nodes and this machine must both see"
        log = pathlib.Path(self._file(self._error_pattern) or self.log or "")
        return error_of_state(seen.state)(self, seen.state, reason, code, tail_of(log))

    @property
    def exit_code(self) -> Optional[str]:
        """As sacct shows it: the code, a colon, the signal. None where it is not known (yet)."""
        if self._seen is None or self._seen.exit_code is None:
            self.cluster.ask_exit_code(self)
        return self._seen.exit_code if self._seen else None

    def _file(self, pattern: Optional[str]) -> Optional[str]:
        return self.cluster.expand(pattern, self) if pattern else None

    @property
    def log(self) -> Optional[str]:
        """The file of its standard output."""
        return self._file(self._log_pattern) or self.cluster.ask_log(self)

    def stdout(self) -> str:
        """What it has printed so far."""
        return pathlib.Path(self.log).read_text(errors="replace") if self.log and pathlib.Path(self.log).exists() else ""

    def stderr(self) -> str:
        """The same of standard error; without error=, both are in one file."""
        file = self._file(self._error_pattern)
        return pathlib.Path(file).read_text(errors="replace") if file and pathlib.Path(file).exists() else ("" if file else self.stdout())

    # ---- for the cluster -------------------------------------------------------------------------
    def _see(self, seen: Seen) -> None:
        before = self._seen
        if before and before.ended and not seen.ended and self._answer is not None:
            return  # it was requeued after its end was told
        if before and seen.exit_code is None and before.state == seen.state:
            seen = seen._replace(exit_code=before.exit_code)
        self._seen = seen

    def _arrive(self) -> None:
        """Its result's file is there. A command that failed ends by the cluster's word, which tells why."""
        if self._arrived:
            return
        if self.kind == FUNCTION:
            self._arrived = True
        elif self.result_file is not None and (content := own_file(self.result_file)) is not None:
            code = re.match(rb"(\d+)\n", content)
            self._arrived = code is not None and code[1] == b"0"

    def _known_state(self) -> str:
        if self._arrived and not (self._seen and self._seen.ended):
            if self.kind == FUNCTION:
                return "COMPLETED" if self._outcome()[0] else "FAILED"
            return "COMPLETED"
        return self._seen.state if self._seen else "PENDING"


class Array(Sequence["Job[T]"]):
    """The tasks of one or more arrays, in order."""

    def __init__(self, jobs: "List[Job[T]]"):
        self.jobs = jobs

    def __len__(self) -> int:
        return len(self.jobs)

    @overload
    def __getitem__(self, at: int) -> "Job[T]": ...
    @overload
    def __getitem__(self, at: slice) -> "Array[T]": ...

    def __getitem__(self, at: "Union[int, slice]") -> "Union[Job[T], Array[T]]":
        return Array(self.jobs[at]) if isinstance(at, slice) else self.jobs[at]

    def __repr__(self) -> str:
        return f"<minke.Array {','.join(self.ids)}: {len(self)} tasks>"

    @property
    def ids(self) -> "list[str]":
        """The arrays' own numbers, if it has all of their tasks; else those of its tasks."""
        whole = getattr(self, "_whole", None)
        return list(whole) if whole else list(dict.fromkeys(job.id for job in self.jobs))

    def states(self) -> "dict[str, int]":
        """How many tasks are in each state."""
        counts: "dict[str, int]" = {}
        for state in (self.jobs[0].cluster.states(self.jobs) if self.jobs else {}).values():
            counts[state] = counts.get(state, 0) + 1
        return counts

    def done(self) -> bool:
        if self.jobs:
            self.jobs[0].cluster.check(self.jobs)
        return all(job._done for job in self.jobs)

    def wait(self, timeout: Optional[float] = None) -> "Array[T]":
        if self.jobs:
            self.jobs[0].cluster.wait(self.jobs, timeout=timeout, strict=True)
        return self

    def results(self, timeout: Optional[float] = None) -> "list[T]":
        """In order; the first failed task raises."""
        self.wait(timeout)
        return [job.result() for job in self.jobs]

    def failed(self) -> "Array[T]":
        """Those tasks that have ended without a result or with an exception."""
        self.done()
        return Array([job for job in self.jobs if job._done and not job._outcome()[0]])

    def cancel(self) -> None:
        if self.jobs:
            self.jobs[0].cluster.cancel(self)

