"""One submission: what sbatch is told, and how it is sent so that it is never made twice."""
from __future__ import annotations

import os
import pathlib
import re
import shlex
import time
from typing import TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence

from . import _call
from ._commands import is_unclear
from ._errors import ClusterError, SubmitError
from ._folder import Folder
from ._job import COMMAND, FUNCTION, SCRIPT
from ._options import KEY_WORD, comment_of_script, words_of

if TYPE_CHECKING:
    from ._cluster import Cluster

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 15.0
LOOKS = 3


class Submission:
    def __init__(self, python: "List[str]", options: Dict[str, Any], tasks: Optional[str], environment: Mapping[str, str]):
        self.python, self.options, self.tasks, self.environment = python, options, tasks, environment
        self.script: Optional[str] = None   # for sbatch's standard input
        self.words: "List[str]" = []        # a script's path and its arguments
        self.kind = SCRIPT
        self.log: Optional[str] = None
        self.error_log: Optional[str] = None

    def prepare(self, work: Any, arguments: Sequence[Any], named: Mapping[str, Any], folder: Folder, name: str, mark: str) -> None:
        """Writes what the job needs; afterwards all of `script`, `words` and `options` is decided."""
        self.folder, self.name, self.mark = folder, name, mark
        self.title = str(self.options.get("job_name") or "")
        if callable(work):
            self.call([(work, tuple(arguments), dict(named))])
        elif isinstance(work, list) and work and isinstance(work[0], tuple) and callable(work[0][0]):
            self.call(work)
        elif isinstance(work, os.PathLike):
            self.path(pathlib.Path(work), arguments)
        else:
            self.command(work, arguments)
        if named and self.kind != FUNCTION:
            raise TypeError("kwargs are for functions")
        own = self.options.get("comment")
        if own is None and self.kind == SCRIPT:
            own = comment_of_script(pathlib.Path(self.words[0]).read_text(errors="replace"))
        self.options = {**self.options, "comment": f"{own} {KEY_WORD}{mark}" if own else f"{KEY_WORD}{mark}", "array": self.tasks}
        directory = str(self.options.get("chdir") or os.getcwd())
        if "output" in self.options:
            self.log = os.path.join(directory, str(self.options["output"]))
        elif self.kind == COMMAND:
            self.log = os.path.join(directory, "slurm-%A_%a.out" if self.tasks else "slurm-%j.out")
        if "error" in self.options:
            self.error_log = os.path.join(directory, str(self.options["error"]))

    def call(self, calls: Any) -> None:
        self.kind = FUNCTION
        self.title = self.title or getattr(calls[0][0], "__name__", "call")
        self.folder.write_calls(self.name, calls)
        result = self.folder.result(self.name)
        words = [*self.python, "-u", _call.__file__, str(self.folder.calls(self.name)), str(result), "array" if self.tasks else "one"]
        self.script = f"#!/bin/sh\nexec {shlex.join(words)}\n"
        self.options = {"output": self.folder.log(bool(self.tasks)), "job_name": self.title, **self.options}

    def command(self, work: Any, arguments: Sequence[Any]) -> None:
        """Its exit code goes to a file, too, so that nobody need ask the cluster for the end of one that succeeds."""
        self.kind = COMMAND
        words = [] if isinstance(work, str) else list(map(str, work))
        line = work if isinstance(work, str) else shlex.join(words)
        if not line.strip():
            raise ValueError("there is no command")
        line = " ".join([line, *(shlex.quote(str(one)) for one in arguments)])
        self.folder.make()
        end = shlex.quote(str(self.folder.result(self.name))) + ('-"$SLURM_ARRAY_TASK_ID"' if self.tasks else "")
        self.title = self.title or os.path.basename(re.split(r"\s", line.strip(), maxsplit=1)[0]) or "command"
        self.script = (f"#!/bin/sh\nminke_end={end}\nrm -f \"$minke_end\"\n"
                       "trap 'minke_code=$?; (umask 077; echo $minke_code >\"$minke_end.new\" && mv \"$minke_end.new\" \"$minke_end\")' EXIT\n"
                       f"{line}\n")
        self.options = {"job_name": self.title, **self.options}

    def path(self, path: pathlib.Path, arguments: Sequence[Any]) -> None:
        self.title = self.title or path.name
        self.words = [str(path), *map(str, arguments)]

    def record(self) -> "Dict[str, Any]":
        return {"kind": self.kind, "name": self.title, "tasks": self.tasks, "log": self.log, "error_log": self.error_log, "job": None}


def send(cluster: "Cluster", submission: Submission, descriptors: Sequence[int]) -> str:
    """The job's number. Where sbatch gets no clear answer, the queue is looked at before the job is sent again."""
    words = ["--parsable", *words_of(submission.options), *submission.words]
    until = cluster.clock() + cluster.patience
    while True:
        try:
            done = cluster.commands.run("sbatch", *words, input=submission.script, environment=submission.environment,
                                        descriptors=descriptors)
            if done.returncode == 0:
                return done.stdout.strip().splitlines()[-1].partition(";")[0]
            message = done.stderr.strip() or f"sbatch ended with exit code {done.returncode}"
        except ClusterError as error:
            message = str(error)
            if not is_unclear(message):
                raise
        if not is_unclear(message):
            raise SubmitError(message, tuple(words))
        if found := look_again(cluster, submission.mark, until):
            return found
        if cluster.clock() > until:
            raise SubmitError(message, tuple(words))


def look_again(cluster: "Cluster", mark: str, until: float) -> Optional[str]:
    """The job with this mark; None if the cluster has answered LOOKS times that there is none. A controller that comes
    back may read what lies in its socket after it has answered a newer question. While it does not answer, nothing is sent."""
    misses, pause = 0, FIRST_PAUSE
    while misses < LOOKS:
        time.sleep(pause)
        pause = min(2 * pause, LONGEST_PAUSE)
        try:
            if found := cluster._look(mark):
                return found
            misses += 1
        except ClusterError:
            misses = 0
            if cluster.clock() > until:
                raise
    return None
