"""The cluster's commands: where they are, what environment they get, and what they answer.

Slurm's own are called by name, whichever cluster they belong to. Where there are none, the `minke` program has them all.
"""
from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import Mapping, Optional, Sequence

from ._errors import ClusterError

# Settings of the user's shell for what commands show; they would change what is read here.
DISPLAY = ("SQUEUE_", "SACCT_", "SCANCEL_", "SLURM_TIME_FORMAT")
# What a job says of itself is not what its own submissions ask for.
KEPT_IN_JOBS = ("SLURM_CONF", "SLURM_CLUSTERS", "SLURM_JWT", "SLURM_CLUSTER_NAME")
UNCLEAR = ("Socket timed out", "Unable to contact slurm controller", "Transport endpoint", "Zero Bytes were", "Connection refused",
           "Connection reset", "Connection timed out", "Communication connection failure", "in standby", "backup controller",
           "temporarily unable", "Resource temporarily unavailable")


def plain_environment() -> "dict[str, str]":
    names = {name: value for name, value in os.environ.items() if not name.startswith(DISPLAY)}
    if "SLURM_JOB_ID" in names:
        names = {name: value for name, value in names.items() if not name.startswith("SLURM_") or name in KEPT_IN_JOBS}
    return names | {"SLURM_BITSTR_LEN": "0"}


class Commands:
    """`prefix` is put in front of every command's words: ["ssh", "login"] or ["nsenter", ...]."""

    def __init__(self, prefix: Sequence[str] = (), timeout: float = 120):
        self.prefix, self.timeout = list(prefix), timeout

    def words(self, command: str) -> "list[str]":
        if self.prefix:
            return [*self.prefix, command]
        if shutil.which(command):
            return [command]
        beside = os.path.join(os.path.dirname(sys.executable), "minke")
        program = shutil.which("minke") or (beside if os.access(beside, os.X_OK) else None)
        if not program:
            raise ClusterError(f"there is no {command} and no minke on PATH: load Slurm's module, or install Minke")
        return [program, command]

    @property
    def is_minke(self) -> bool:
        """Whether they are Minke's own, which answer in milliseconds."""
        if self.prefix or os.environ.get("MINKE_CLUSTER", "").startswith("slurm"):
            return False
        found = shutil.which("squeue")
        return found is None or os.path.basename(os.path.realpath(found)) == "minke"

    def run(self, command: str, *arguments: str, input: Optional[str] = None, environment: Optional[Mapping[str, str]] = None,
            descriptors: Sequence[int] = (), timeout: Optional[float] = None) -> "subprocess.CompletedProcess[str]":
        words = [*self.words(command), *arguments]
        try:
            return subprocess.run(words, input=input if input is not None else "", env=plain_environment() | dict(environment or {}),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8", errors="surrogateescape",
                                  timeout=timeout or self.timeout, pass_fds=tuple(descriptors), check=False)
        except subprocess.TimeoutExpired as error:
            raise ClusterError(f"{command} did not answer in {error.timeout:.0f} s: Socket timed out") from error
        except OSError as error:
            raise ClusterError(f"{words[0]}: {error.strerror}") from error

    def ask(self, command: str, *arguments: str) -> str:
        """What it prints; ClusterError where it fails."""
        done = self.run(command, *arguments)
        if done.returncode != 0:
            raise ClusterError(f"{command}: {done.stderr.strip() or f'exit code {done.returncode}'}")
        return done.stdout


def is_unclear(message: str) -> bool:
    """Whether a submission that failed so may have been accepted, or may be accepted later."""
    return any(part in message for part in UNCLEAR)
