"""Keyword arguments, under the names of sbatch's long options, become words of its command line. Pure functions."""
from __future__ import annotations

import datetime
import os
import re
import shlex
from typing import Any, Iterable, Mapping, Optional

KEY_WORD = "minke-key="  # and behind it the key, in a job's comment


def seconds_as_time(seconds: float) -> str:
    """As Slurm writes times: 1-02:03:04."""
    days, rest = divmod(max(0, round(seconds)), 86400)
    return (f"{days}-" if days else "") + f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"


def text_of(value: Any) -> str:
    if isinstance(value, datetime.timedelta):
        return seconds_as_time(value.total_seconds())
    if isinstance(value, datetime.datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, Mapping):
        return ",".join(f"{name}={text_of(one)}" for name, one in value.items())
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(map(text_of, value))
    return os.fspath(value) if isinstance(value, os.PathLike) else str(value)


def words_of(options: Mapping[str, Any]) -> "list[str]":
    """cpus_per_task=2 becomes --cpus-per-task=2. True is an option without a value; None and False are left out."""
    words = []
    for name, value in options.items():
        if value is None or value is False:
            continue
        option = "--" + name.replace("_", "-")
        words.append(option if value is True else f"{option}={text_of(value)}")
    return words


def dependency_of(value: Any) -> Optional[str]:
    """A text is Slurm's; a job, or several, are waited for to succeed; {"afterany": jobs} names the kind."""
    if value is None or isinstance(value, str):
        return value or None
    if isinstance(value, Mapping):
        return ",".join(f"{kind}:{':'.join(ids_of(jobs))}" for kind, jobs in value.items()) or None
    ids = ids_of(value)
    return f"afterok:{':'.join(ids)}" if ids else None


def ids_of(jobs: Any) -> "list[str]":
    """Numbers of jobs, in order, each once; a whole array has its own."""
    if isinstance(jobs, (str, int)) or hasattr(jobs, "id"):
        return [str(getattr(jobs, "id", jobs))]
    if hasattr(jobs, "ids"):
        return list(jobs.ids)
    assert isinstance(jobs, Iterable), f"{jobs!r} is no job"
    return list(dict.fromkeys(one for job in jobs for one in ids_of(job)))


def quoted_key(key: str) -> str:
    """As it stands in a comment: one word of plain letters."""
    if not key or key.startswith("."):
        raise ValueError(f"{key!r} is no key: write one that is not empty and does not begin with a dot")
    return re.sub(r"[^\w.:/@+-]", lambda odd: "".join(f"%{byte:02X}" for byte in odd[0].encode()), key, flags=re.ASCII)


def comment_of_script(text: str) -> Optional[str]:
    """What its #SBATCH lines give; the last counts."""
    found = None
    for line in text.splitlines():
        if line.startswith("#SBATCH"):
            try:
                words = shlex.split(line[7:], comments=True)
            except ValueError:
                continue
            for at, word in enumerate(words):
                if word.startswith("--comment="):
                    found = word[10:]
                elif word == "--comment" and at + 1 < len(words):
                    found = words[at + 1]
        elif line.strip() and not line.startswith("#"):
            break
    return found


def expanded(pattern: str, job: str, name: str, user: str) -> Optional[str]:
    """A file's name for this job; None where only the cluster knows it."""
    base, _, task = job.partition("_")
    known = {"j": base if not task else None, "A": base, "a": task or None, "x": name, "u": user, "%": "%"}
    unknown = False

    def replace(found: "re.Match[str]") -> str:
        nonlocal unknown
        value = known.get(found[1])
        unknown = unknown or value is None
        return value or ""
    text = re.sub(r"%(.)", replace, pattern)
    return None if unknown or "\\" in pattern else text
