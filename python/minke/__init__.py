"""Minke for Python: jobs of Slurm's, and of Minke's, as functions with results.

    import minke

    job = minke.submit(train, 0.1, cpus_per_task=2, mem="2G", time="1:00:00")
    print(job.result())
    print(minke.map(train, [0.1, 0.2, 0.3], limit=2).results())
    with minke.Executor(mem="1G") as executor:
        print(list(executor.map(train, [0.1, 0.2])))

Keyword arguments are sbatch's long options, with _ for -. The functions below work on the cluster whose commands are on
PATH; a Cluster of one's own has them as methods.
"""
from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Optional

from ._cluster import Cluster, Waited
from ._errors import (ClusterError, Error, JobCancelled, JobError, JobFailed, JobLost, JobOutOfMemory, JobTimeout, RemoteError,
                     RemoteTraceback, SubmitError)
from ._executor import Executor, Future
from ._job import Array, Job
from ._sweep import Sweep, Trial

__version__ = "0.1.0"
__all__ = ["Array", "Cluster", "ClusterError", "Error", "Executor", "Future", "Job", "JobCancelled", "JobError", "JobFailed", "JobLost",
           "JobOutOfMemory", "JobTimeout", "RemoteError", "RemoteTraceback", "SubmitError", "Sweep", "Trial", "Waited", "array", "as_completed", "cancel",
           "default", "find", "job", "map", "results", "states", "submit", "wait"]

_default: Optional[Cluster] = None
_lock = threading.Lock()


def default() -> Cluster:
    """The cluster whose commands are on PATH."""
    global _default
    with _lock:
        if _default is None:
            _default = Cluster()
        return _default


if TYPE_CHECKING:
    submit = Cluster().submit
    array = Cluster().array
    map = Cluster().map
    find = Cluster().find
    job = Cluster().job
    wait = Cluster().wait
    as_completed = Cluster().as_completed
    results = Cluster().results
    states = Cluster().states
    cancel = Cluster().cancel
else:
    def _forward(name):
        def function(*arguments, **named):
            return getattr(default(), name)(*arguments, **named)
        method = getattr(Cluster, name)
        function.__name__ = function.__qualname__ = name
        function.__doc__ = method.__doc__
        return function

    submit, array, map, find, job, wait, as_completed, results, states, cancel = (_forward(name) for name in (
        "submit", "array", "map", "find", "job", "wait", "as_completed", "results", "states", "cancel"))
