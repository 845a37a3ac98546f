"""concurrent.futures on a cluster: each call is a job, or a task of an array where several wait to be submitted together.

One thread of the executor submits calls and collects results; it alone calls the cluster. Futures are changed by it and by
those who cancel them.
"""
from __future__ import annotations

import concurrent.futures
import logging
import os
import pathlib
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, TypeVar

from ._cluster import Cluster
from ._errors import Error, SubmitError
from ._job import Job

T = TypeVar("T")
LOG = logging.getLogger("minke")
LIMIT_PAUSE = 10.0  # until the next try where the cluster takes no more jobs of the user's


class Future(concurrent.futures.Future[T]):
    """`job` is its job, once it has been submitted."""

    def __init__(self, executor: "Executor") -> None:
        super().__init__()
        self.job: Optional[Job[Any]] = None
        self._executor = weakref.ref(executor)

    def running(self) -> bool:
        return not self.done() and self.job is not None and self.job._known_state() == "RUNNING"

    def cancel(self) -> bool:
        """Cancels the job, also one that runs. False where it has ended already."""
        return _cancel([self])


def _cancel(futures: "Iterable[Future[Any]]") -> bool:
    """With one scancel for all of them."""
    done = [one for one in futures if not one.done() and concurrent.futures.Future.cancel(one)]
    for one in done:
        one.set_running_or_notify_cancel()
    jobs = [one.job for one in done if one.job is not None]
    if jobs:
        jobs[0].cluster.cancel(jobs)
    return bool(done)


class Call(NamedTuple):
    future: "Future[Any]"
    function: Callable[..., Any]
    positional: "tuple[Any, ...]"
    named: Mapping[str, Any]
    options: "Dict[str, Any]"
    key: Optional[str]


def _chunk(function: Callable[..., Any], arguments: "List[tuple[Any, ...]]") -> "List[Any]":
    return [function(*one) for one in arguments]


class Executor(concurrent.futures.Executor):
    """`max_workers`: at most so many jobs are in the queue at a time. `key`: the n-th call of a program that starts again
    finds the job of its n-th call before. Other keyword arguments are sbatch's options."""

    def __init__(self, max_workers: Optional[int] = None, *, cluster: Optional[Cluster] = None, key: Optional[str] = None,
                 keep: bool = False, environment: Optional[Mapping[str, str]] = None, **options: Any):
        if max_workers is not None and max_workers < 1:
            raise ValueError("max_workers must be at least 1")
        if cluster is None:
            from . import default
            cluster = default()
        self.cluster, self.max_workers, self.key, self.keep = cluster, max_workers, key, keep
        self._state = _State(cluster, max_workers, keep or key is not None, environment)
        self.options = options
        self._number = 0
        self._thread: Optional[threading.Thread] = None

    def using(self, *, key: Optional[str] = None, **options: Any) -> "_With":
        """The same executor with other options: executor.using(mem="8G").submit(f)"""
        return _With(self, key, {**self.options, **options})

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        return self._submit(fn, args, kwargs, self.options, None)

    def _submit(self, function: Callable[..., Any], positional: "tuple[Any, ...]", named: Mapping[str, Any],
                options: "Dict[str, Any]", key: Optional[str]) -> "Future[Any]":
        with self._state.changed:
            if self._state.closed:
                raise RuntimeError("cannot schedule new futures after shutdown")
            future: "Future[Any]" = Future(self)
            if key is None and self.key is not None:
                key = f"{self.key}.{self._number}"
            self._number += 1
            self._state.queued.append(Call(future, function, positional, named, options, key))
            if self._thread is None:
                self._thread = threading.Thread(target=self._state.serve, name="minke.Executor")
                self._state.owner = weakref.ref(self, self._state.wake)
                self._thread.start()
            self._state.changed.notify_all()
        return future

    def map(self, fn: Callable[..., T], *iterables: Iterable[Any], timeout: Optional[float] = None,
            chunksize: int = 1, **more: Any) -> "Iterator[T]":
        """As of concurrent.futures. With `chunksize`, so many calls are one job."""
        if chunksize < 1:
            raise ValueError("chunksize must be at least 1")
        if chunksize == 1:
            return super().map(fn, *iterables, timeout=timeout)
        calls = list(zip(*iterables))
        parts = [calls[at:at + chunksize] for at in range(0, len(calls), chunksize)]
        return (one for part in super().map(_chunk, [fn] * len(parts), parts, timeout=timeout) for one in part)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """`cancel_futures` cancels the jobs that have not ended, too."""
        with self._state.changed:
            self._state.closed = True
            futures = self._state.futures() if cancel_futures else []
            self._state.changed.notify_all()
        if futures:
            _cancel(futures)
        if wait and self._thread is not None:
            self._thread.join()


class _With:
    def __init__(self, executor: Executor, key: Optional[str], options: "Dict[str, Any]"):
        self._executor, self._key, self._options = executor, key, options

    def submit(self, fn: Callable[..., T], /, *args: Any, **kwargs: Any) -> "Future[T]":
        return self._executor._submit(fn, args, kwargs, self._options, self._key)


class _State:
    """What the thread works on. It does not hold the executor, which may be forgotten without shutdown."""

    def __init__(self, cluster: Cluster, max_workers: Optional[int], keep: bool, environment: Optional[Mapping[str, str]]):
        self.cluster, self.max_workers, self.keep, self.environment = cluster, max_workers, keep, environment
        self.changed = threading.Condition(threading.RLock())
        self.queued: "List[Call]" = []
        self.sending: "List[Call]" = []
        self.waiting: "Dict[Job[Any], Future[Any]]" = {}
        self.calls_left: "Dict[pathlib.Path, int]" = {}  # how many results of a file of calls are not delivered
        self.closed = False
        self.not_before = 0.0
        self.owner: "Optional[weakref.ref[Executor]]" = None

    def wake(self, *_: Any) -> None:
        with self.changed:
            self.changed.notify_all()

    def futures(self) -> "List[Future[Any]]":
        return [call.future for call in (*self.queued, *self.sending)] + list(self.waiting.values())

    def abandoned(self) -> bool:
        return self.closed or self.owner is None or self.owner() is None or not threading.main_thread().is_alive()

    def serve(self) -> None:
        delay = 0.005
        while True:
            with self.changed:
                self.queued = [call for call in self.queued if not call.future.cancelled()]
                if not self.queued and not self.waiting:
                    if self.abandoned():
                        return
                    self.changed.wait(0.5)
                    continue
                groups = self.take()
            sent = False
            for group in groups:
                self.send(group)
                sent = True
            begin = self.cluster.clock()
            ended = self.collect()
            cost = self.cluster.clock() - begin
            longest = 0.1 if self.cluster.commands.is_minke else 1.0
            delay = 0.005 if sent or ended else max(min(delay * 1.3, longest), min(20 * cost, 5.0))
            with self.changed:
                if self.waiting or self.queued:
                    self.changed.wait(delay)

    def take(self) -> "List[List[Call]]":
        """Calls to be submitted now, those of equal options together. With keys, each is a job of its own."""
        room = len(self.queued)
        if self.max_workers is not None:
            room = max(0, self.max_workers - len(self.waiting))
        if self.not_before > self.cluster.clock():
            room = 0
        taken, self.queued = self.queued[:room], self.queued[room:]
        groups: "Dict[Any, List[Call]]" = {}
        for call in taken:
            groups.setdefault(id(call.options) if call.key is None else call.future, []).append(call)
        self.sending = taken
        return list(groups.values())

    def send(self, group: "List[Call]") -> None:
        first = group[0]
        try:
            if len(group) == 1:
                jobs = [self.cluster.submit(first.function, *first.positional, kwargs=first.named, key=first.key,
                                            environment=self.environment, **first.options)]
            else:
                calls = [(call.function, call.positional, call.named) for call in group]
                jobs = self.cluster.submit_calls(calls, environment=self.environment, options=first.options).jobs
        except BaseException as error:
            if isinstance(error, SubmitError) and error.limit and self.waiting:
                self.put_back(group)
                return
            with self.changed:
                self.sending = [call for call in self.sending if call not in group]
            self.refuse(group, error)
            return
        with self.changed:
            self.sending = [call for call in self.sending if call not in group]
            for call, job in zip(group, jobs):
                call.future.job = job
                self.waiting[job] = call.future
                self.calls_left[calls_of(job)] = self.calls_left.get(calls_of(job), 0) + 1
        too_late = [job for call, job in zip(group, jobs) if call.future.cancelled()]
        if too_late:
            self.cluster.cancel(too_late)

    def put_back(self, group: "List[Call]") -> None:
        LOG.info("the cluster takes no more jobs now; %d calls wait", len(group))
        with self.changed:
            self.sending = [call for call in self.sending if call not in group]
            self.queued[:0] = group
            self.not_before = self.cluster.clock() + min(LIMIT_PAUSE, 10 * self.cluster.watch.period)

    def refuse(self, group: "List[Call]", error: BaseException) -> None:
        """One call that cannot be pickled does not take the others with it."""
        if len(group) > 1 and isinstance(error, Error) and not isinstance(error, SubmitError):
            for call in group:
                self.send([call])
            return
        for call in group:
            if not call.future.cancelled():
                call.future.set_exception(error)

    def collect(self) -> bool:
        with self.changed:
            jobs = list(self.waiting)
        if not jobs:
            return False
        try:
            self.cluster.check(jobs)
        except Error as error:
            LOG.warning("%s", error)
        ended = [job for job in jobs if job._done]
        self.cluster._await_results(ended)
        for job in ended:
            self.settle(job)
        return bool(ended)

    def settle(self, job: "Job[Any]") -> None:
        with self.changed:
            future = self.waiting.pop(job)
        try:
            good, value = job._outcome()
        except BaseException as error:
            good, value = False, error
        try:
            if good:
                future.set_result(value)
            else:
                future.set_exception(value)
        except concurrent.futures.InvalidStateError:
            pass  # it was cancelled
        if good and not self.keep:
            self.remove(job)

    def remove(self, job: "Job[Any]") -> None:
        """A result that has been delivered, and with the last one the calls."""
        calls = calls_of(job)
        log = job.log if job.log and pathlib.Path(job.log).parent == calls.parent else None  # one that output= names stays
        self.calls_left[calls] -= 1
        for file in (job.result_file, log, calls if self.calls_left[calls] == 0 else None):
            try:
                os.unlink(file or "")
            except OSError:
                pass


def calls_of(job: "Job[Any]") -> pathlib.Path:
    assert job.result_file is not None
    return job.result_file.parent.parent / f"{job.result_file.name.partition('-')[0]}.calls"
