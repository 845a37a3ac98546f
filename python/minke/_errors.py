"""What can go wrong, as exceptions. Each says what happened, to which job, and where its log is."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._job import Job


class Error(Exception):
    """The base of all exceptions of this package."""


class ClusterError(Error):
    """A command of the cluster is missing, or did not answer."""


class SubmitError(Error):
    """sbatch refused the job. `message` is what it printed."""

    def __init__(self, message: str, words: "tuple[str, ...]" = ()):
        super().__init__(message)
        self.message, self.words = message, words

    @property
    def limit(self) -> bool:
        """Whether fewer jobs in the queue would help."""
        return any(part in self.message for part in ("MaxSubmitJob", "job submit limit", "QOSMaxSubmit"))


class JobError(Error):
    """A job ended without a result. `state` and `reason` are Slurm's words."""

    def __init__(self, job: "Job[Any]", state: str, reason: str = "", exit_code: Optional[str] = None, tail: str = ""):
        self.job, self.state, self.reason, self.exit_code, self.tail = job, state, reason, exit_code, tail
        self.log = job.log
        text = f"job {job.id} ({job.name}) ended {state}"
        if exit_code not in (None, "", "0:0"):
            text += f", exit code {exit_code}"
        if reason not in ("", "None", state):
            text += f": {reason}"
        if self.log:
            text += f"; its log is {self.log}"
        if tail:
            text += "\n" + "\n".join(f"  | {line}" for line in tail.splitlines())
        super().__init__(text)

    def __reduce__(self) -> "tuple[type[Error], tuple[str]]":  # a job is of this process
        return Error, (str(self),)


class JobFailed(JobError):
    """The program ended with an error, or a signal ended it."""


class JobTimeout(JobError):
    """The job reached its time limit or its deadline."""


class JobOutOfMemory(JobError):
    """The job took more memory than it had asked for."""


class JobCancelled(JobError):
    """Somebody cancelled the job."""


class JobLost(JobError):
    """Its node failed, or the cluster no longer knows the job."""


class RemoteError(Error):
    """The function raised an exception that cannot be sent. The text is its traceback in the job."""


class RemoteTraceback(Exception):
    """The cause of an exception that a function raised in its job: the traceback there."""

    def __init__(self, text: str):
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f'\n"""\n{self.text}"""'


_BY_STATE = {"TIMEOUT": JobTimeout, "DEADLINE": JobTimeout, "OUT_OF_MEMORY": JobOutOfMemory, "CANCELLED": JobCancelled,
             "REVOKED": JobCancelled, "NODE_FAIL": JobLost, "BOOT_FAIL": JobLost, "PREEMPTED": JobLost, "LOST": JobLost}


def error_of_state(state: str) -> "type[JobError]":
    return _BY_STATE.get(state, JobFailed)
