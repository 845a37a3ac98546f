"""A cluster, Minke's or a real Slurm, as a program sees it: submit, wait, look, cancel.

Only Slurm's commands are called. Every job carries a key in its comment, so that a submission without a clear answer is
looked for before it is sent again.
"""
from __future__ import annotations

import getpass
import os
import pathlib
import re
import shlex
import sys
import threading
import time
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, TypeVar, Union, overload

from ._commands import Commands
from ._errors import ClusterError
from ._folder import Call, Folder, default_directory
from ._job import FUNCTION, SCRIPT, Array, Job
from ._options import KEY_WORD, dependency_of, expanded, ids_of, quoted_key
from ._states import read_sacct, tasks_of
from ._submission import Submission, send
from ._watch import SACCT, Watch

T = TypeVar("T")
Command = Union[str, Sequence[Any], "os.PathLike[str]"]
Work = Union[Command, Callable[..., Any]]
DEFAULT_ARRAY_SIZE = 1001  # of a Slurm whose configuration says nothing


class Waited(NamedTuple):
    done: "List[Job[Any]]"
    waiting: "List[Job[Any]]"


class Cluster:
    """`directory`: where calls and results are kept, which the nodes must see. `python`: the interpreter of the jobs.
    `period`: seconds between two questions to the cluster at least. `grace`: how long a result may be on its way after
    its job has ended, on file systems of networks. `patience`: how long a submission is tried without an answer."""

    def __init__(self, directory: "Union[str, os.PathLike[str], None]" = None, *, python: "Union[str, Sequence[str], None]" = None,
                 prefix: Sequence[str] = (), period: Optional[float] = None, grace: Optional[float] = None, patience: float = 300,
                 **options: Any):
        self.directory = pathlib.Path(directory) if directory else default_directory()
        self.directory = self.directory.expanduser().absolute()
        given = python or os.environ.get("MINKE_PYTHON") or [sys.executable]
        self.python = shlex.split(given) if isinstance(given, str) else list(given)
        self.commands = Commands(prefix)
        self.clock = time.monotonic
        self.watch = Watch(self.commands, self.clock, period)
        self.grace = grace if grace is not None else 0.0 if self.commands.is_minke else 10.0
        self.patience = patience
        self.options = options  # of every job
        self._session: Optional[Folder] = None
        self._names = 0
        self._lock = threading.Lock()
        self._array_size: Optional[int] = None

    # ---- submitting ------------------------------------------------------------------------------
    @overload
    def submit(self, work: Callable[..., T], *arguments: Any, kwargs: Optional[Mapping[str, Any]] = None, key: Optional[str] = None,
               environment: Optional[Mapping[str, str]] = None, dependency: Any = None, **options: Any) -> "Job[T]": ...
    @overload
    def submit(self, work: Command, *arguments: Any, kwargs: None = None, key: Optional[str] = None,
               environment: Optional[Mapping[str, str]] = None, dependency: Any = None, **options: Any) -> "Job[str]": ...

    def submit(self, work: Work, *arguments: Any, kwargs: Optional[Mapping[str, Any]] = None, key: Optional[str] = None,
               environment: Optional[Mapping[str, str]] = None, dependency: Any = None, **options: Any) -> "Job[Any]":
        """One job: a function with its arguments, a command line (a text), a list of words, or a script (a path)."""
        if "array" in options:
            raise TypeError("submit makes one job: write minke.array(work, \"0-9\"), or minke.map(function, values)")
        return self._submit(work, arguments, kwargs or {}, None, key, environment, dependency, options)[0]

    def array(self, work: Command, tasks: "Union[str, int, Iterable[int]]", *arguments: Any, limit: Optional[int] = None,
              key: Optional[str] = None, environment: Optional[Mapping[str, str]] = None, dependency: Any = None,
              **options: Any) -> "Array[str]":
        """An array of a command or script: tasks as Slurm writes them ("0-9", "1,5"), or how many. At most `limit` run at a time."""
        if callable(work):
            raise TypeError("array is for commands and scripts: write minke.map(function, values)")
        if isinstance(tasks, int):
            tasks = f"0-{tasks - 1}"
        elif not isinstance(tasks, str):
            tasks = ",".join(map(str, tasks))
        expression = tasks if limit is None else f"{tasks.partition('%')[0]}%{limit}"
        tasks_of(expression)
        return self._submit(work, arguments, {}, expression, key, environment, dependency, options)

    def map(self, function: Callable[..., T], *values: Iterable[Any], limit: Optional[int] = None, key: Optional[str] = None,
            environment: Optional[Mapping[str, str]] = None, dependency: Any = None, **options: Any) -> "Array[T]":
        """function(value) for each value, as the tasks of an array; with several iterables, function(one, another)."""
        calls: "List[Call]" = [(function, arguments, {}) for arguments in zip(*values)]
        return self.submit_calls(calls, limit, key, environment, dependency, options)

    def submit_calls(self, calls: Sequence[Call], limit: Optional[int] = None, key: Optional[str] = None,
                     environment: Optional[Mapping[str, str]] = None, dependency: Any = None,
                     options: Optional[Mapping[str, Any]] = None) -> "Array[Any]":
        """Calls of functions as arrays, each as large as the cluster allows."""
        size = len(calls) if len(calls) < DEFAULT_ARRAY_SIZE else self.array_size
        parts = [calls[at:at + size] for at in range(0, len(calls), size)] if calls else []
        jobs: "List[Job[Any]]" = []
        whole: "List[str]" = []
        for number, part in enumerate(parts):
            expression = f"0-{len(part) - 1}" + (f"%{limit}" if limit else "")
            part_key = key if key is None or number == 0 else f"{key}.{number}"
            made = self._submit(part, (), {}, expression, part_key, environment, dependency, dict(options or {}))
            jobs += made.jobs
            whole += made.ids
        return self._array(jobs, whole)

    @property
    def array_size(self) -> int:
        """How many tasks an array may have."""
        if self._array_size is None:
            try:
                found = re.search(r"MaxArraySize\s*=\s*(\d+)", self.commands.ask("scontrol", "show", "config"))
            except ClusterError:
                found = None
            self._array_size = max(1, int(found[1]) - 1) if found and int(found[1]) else DEFAULT_ARRAY_SIZE - 1
        return self._array_size

    def _submit(self, work: Any, arguments: Sequence[Any], named: Mapping[str, Any], tasks: Optional[str], key: Optional[str],
                environment: Optional[Mapping[str, str]], dependency: Any, options: Mapping[str, Any]) -> "Array[Any]":
        submission = Submission(self.python, {**self.options, **options}, tasks, environment or {})
        if needed := dependency_of(dependency):
            submission.options = {"kill_on_invalid_dep": "yes", **submission.options, "dependency": needed}
        if key is None:
            folder, name = self._next()
            submission.prepare(work, arguments, named, folder, name, f"{folder.mark}.{name}")
            return self._jobs(send(self, submission, ()), submission, None)
        folder = Folder.of_key(self.directory, quoted_key(key))
        with folder.locked() as descriptor:
            if found := self._found(folder, key):
                return found
            submission.prepare(work, arguments, named, folder, "0", folder.mark)
            folder.write_record(record := submission.record())
            record["job"] = send(self, submission, (descriptor,))
            folder.write_record(record)
            return self._jobs(record["job"], submission, key)

    def _next(self) -> "tuple[Folder, str]":
        with self._lock:
            if self._session is None:
                self._session = Folder.of_session(self.directory)
            self._names += 1
            return self._session, str(self._names)

    def _jobs(self, id: str, submission: Submission, key: Optional[str]) -> "Array[Any]":
        return self._array_of(id, submission.record(), submission.folder, submission.name, key)

    def _array_of(self, id: str, record: Mapping[str, Any], folder: Folder, name: str, key: Optional[str]) -> "Array[Any]":
        def one(task: Optional[int]) -> "Job[Any]":
            end = None if record["kind"] == SCRIPT else folder.result(name if task is None else f"{name}-{task}")
            return Job(self, id if task is None else f"{id}_{task}", record["name"], record["kind"], end, record.get("log"),
                       record.get("error_log"), key)
        if record["tasks"] is None:
            return Array([one(None)])
        return self._array([one(task) for task in tasks_of(record["tasks"]).each()], [id])

    @staticmethod
    def _array(jobs: "List[Job[Any]]", whole: "List[str]") -> "Array[Any]":
        made = Array(jobs)
        made._whole = whole  # type: ignore[attr-defined]
        return made

    # ---- finding again ---------------------------------------------------------------------------
    def find(self, key: str) -> "Union[Job[Any], Array[Any], None]":
        """The job, or the array, that any program has submitted with this key and this directory; None where there is none."""
        folder = Folder.of_key(self.directory, quoted_key(key))
        if not folder.path.exists():
            return None
        with folder.locked():
            jobs = self._found(folder, key)
        return None if jobs is None else jobs if getattr(jobs, "_whole", None) else jobs[0]

    def job(self, id: "Union[int, str]") -> "Union[Job[Any], Array[Any]]":
        """A job by its number, whoever submitted it. If this package did, its result can be had."""
        base, _, task = str(id).partition("_")
        try:
            snapshot = self.watch.queue()
        except ClusterError:
            snapshot = read_sacct("")
        seen = snapshot.find(str(id)) or next((snapshot.find(f"{base}_{one}") for one in snapshot.tasks(base)), None)
        if seen is None:
            snapshot = read_sacct(self.commands.ask("sacct", *SACCT, "-j", base))
            seen = snapshot.find(str(id)) or next((snapshot.find(f"{base}_{one}") for one in snapshot.tasks(base)), None)
        mark = re.search(rf"(?:^|\s){KEY_WORD}(\S+)", seen.comment if seen else "")
        place = Folder.of_mark(self.directory, mark[1]) if mark else None
        folder, name = place or (Folder(self.directory, ""), "0")
        known: "Dict[str, Any]" = {"kind": SCRIPT, "name": f"job {base}"}
        if place and folder.calls(name).exists():
            known = {"kind": FUNCTION, "name": "call", "log": folder.log(bool(snapshot.tasks(base)))}
        tasks = [int(task)] if task else snapshot.tasks(base)
        jobs = self._array_of(base, {**known, "tasks": ",".join(map(str, tasks)) or None}, folder, name, None)
        return jobs if tasks and not task else jobs[0]

    def _found(self, folder: Folder, key: str) -> "Optional[Array[Any]]":
        """The jobs of an earlier submission with this key; the folder is locked."""
        record = folder.read_record()
        if record is None:
            return None
        if record["job"] is None:  # its program died before it knew; its sbatch has ended, or is on another machine
            wait = self.grace - folder.record_age()
            if wait > 0:
                time.sleep(wait)
            record["job"] = self._look(folder.mark)
            if record["job"] is None:
                return None
            folder.write_record(record)
        return self._array_of(record["job"], record, folder, "0", key)

    def _look(self, word: str) -> Optional[str]:
        """The newest job with this in its comment."""
        with self.watch.lock:
            if found := self.watch.queue().by_comment(KEY_WORD + word):
                return found[-1]
        try:
            past = read_sacct(self.commands.ask("sacct", *SACCT, "-S", "now-7days", "-u", getpass.getuser()))
        except ClusterError:
            return None
        found = past.by_comment(KEY_WORD + word)
        return found[-1] if found else None

    # ---- looking and waiting ---------------------------------------------------------------------
    def states(self, jobs: "Iterable[Job[Any]]") -> "Dict[Job[Any], str]":
        """Slurm's word for each, by one question for all of them, or none where the last answer is not a period old."""
        listed = list(jobs)
        self.watch.update([job for job in listed if not job._done])
        self.check(listed, ask=False)
        return {job: job._known_state() for job in listed}

    def check(self, jobs: "Iterable[Job[Any]]", ask: bool = True) -> None:
        """Looks for results that have arrived, and asks the cluster if it is time to."""
        listed = [job for job in jobs if not job._done]
        self._collect(listed)
        listed = [job for job in listed if not job._done]
        if ask and listed:
            try:
                self.watch.update(listed)
            except ClusterError as error:
                if "no squeue" in str(error):
                    raise
            self._collect([job for job in listed if job._done])

    @staticmethod
    def _collect(jobs: "Sequence[Job[Any]]") -> None:
        """Each directory of results is read once, however many jobs have theirs there."""
        names: Dict[pathlib.Path, "frozenset[str]"] = {}
        for job in jobs:
            if job.result_file is None or job._arrived:
                continue
            parent = job.result_file.parent
            if parent not in names:
                try:
                    names[parent] = frozenset(os.listdir(parent))
                except OSError:
                    names[parent] = frozenset()
            if job.result_file.name in names[parent]:
                job._arrive()

    def wait(self, jobs: "Iterable[Job[Any]]", timeout: Optional[float] = None, return_when: str = "ALL_COMPLETED",
             strict: bool = False) -> Waited:
        """Returns when all have ended (or the first: return_when="FIRST_COMPLETED"), or after `timeout` seconds; then `strict`
        raises TimeoutError. However many jobs there are, the cluster is asked once in a period."""
        listed = list(jobs)
        deadline = None if timeout is None else self.clock() + timeout
        delay = 0.005
        while True:
            begin = self.clock()
            self.check(listed)
            waiting = [job for job in listed if not job._done]
            if not waiting or (return_when == "FIRST_COMPLETED" and len(waiting) < len(listed)):
                break
            now = self.clock()
            if deadline is not None and now >= deadline:
                if strict:
                    raise TimeoutError(f"{len(waiting)} of {len(listed)} jobs have not ended after {timeout} s; "
                                       f"job {waiting[0].id} is {waiting[0]._known_state()}")
                break
            delay = max(min(delay * 1.3, 0.1 if self.commands.is_minke else 1.0), 20 * (now - begin) if delay > 0.02 else 0)
            time.sleep(min(delay, max(0.0, deadline - now)) if deadline is not None else delay)
        done = [job for job in listed if job._done]
        self._await_results(done)
        return Waited(done, waiting)

    def _await_results(self, jobs: "Sequence[Job[Any]]") -> None:
        """A result that a node has written may take a while until this machine sees it."""
        until = self.clock() + self.grace
        while late := [job for job in jobs if job.kind == FUNCTION and not job._arrived and job._answer is None
                       and job._seen and job._seen.state in ("COMPLETED", "FAILED")]:
            self._collect(late)
            if self.clock() >= until or all(job._arrived for job in late):
                return
            time.sleep(0.2)

    def as_completed(self, jobs: "Iterable[Job[Any]]", timeout: Optional[float] = None) -> "Iterator[Job[Any]]":
        """Jobs as they end."""
        left = list(jobs)
        deadline = None if timeout is None else self.clock() + timeout
        while left:
            rest = None if deadline is None else max(0.0, deadline - self.clock())
            done, left = self.wait(left, rest, "FIRST_COMPLETED")
            if not done:
                raise TimeoutError(f"{len(left)} jobs have not ended after {timeout} s")
            yield from done

    def results(self, jobs: "Iterable[Job[Any]]", timeout: Optional[float] = None) -> "List[Any]":
        """In the order of the jobs; the first that failed raises."""
        listed = list(jobs)
        self.wait(listed, timeout, strict=True)
        return [job.result() for job in listed]

    def cancel(self, jobs: Any) -> None:
        """By one command; jobs that have ended are no error."""
        if ids := ids_of(jobs):
            done = self.commands.run("scancel", "-Q", *ids)
            if done.returncode != 0 and "Invalid job id" not in done.stderr:
                raise ClusterError(f"scancel: {done.stderr.strip()}")

    # ---- details of one job ----------------------------------------------------------------------
    def ask_exit_code(self, job: "Job[Any]") -> None:
        try:
            fields = self._show(job.id)
            found = re.search(r"(?:^|\s)ExitCode=(\S+)", fields)
            code = found[1] if found else None
            if code is None and (seen := self.watch.record([job]).find(job.id)):
                code = seen.exit_code
        except ClusterError:
            return
        if code and job._seen:
            job._seen = job._seen._replace(exit_code=code)

    def ask_log(self, job: "Job[Any]") -> Optional[str]:
        found = re.search(r"(?:^|\s)StdOut=(.*?)(?=\s[A-Z]\w*=|$)", self._show(job.id))
        if not found:
            return None
        job._log_pattern = found[1].strip().replace("%", "%%") if "%" not in found[1] else found[1].strip()
        return expanded(job._log_pattern, job.id, job.name, getpass.getuser())

    def _show(self, id: str) -> str:
        done = self.commands.run("scontrol", "-o", "show", "job", id)
        return done.stdout.partition("\n")[0] if done.returncode == 0 else ""

    def expand(self, pattern: str, job: "Job[Any]") -> Optional[str]:
        return expanded(pattern, job.id, job.name, getpass.getuser())

