"""What /proc tells of processes that may end at any time: of one that is gone, every answer here is empty.

A test that looks for a process, or waits for what one does, asks here. One that asserts what a process has *not* (no
secret in its environment) reads /proc itself: there a process that is gone is a failure.
"""
import os
import pathlib


def _read(pid: int, file: str) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/{file}").read_text(errors="surrogateescape")
    except OSError:  # before the file is opened, or between that and reading
        return ""


def all_processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def command_line(pid: int) -> list[str]:
    return _read(pid, "cmdline").split("\0")[:-1]


def environment(pid: int) -> dict[str, str]:
    return dict(entry.split("=", 1) for entry in _read(pid, "environ").split("\0") if "=" in entry)


def name_and_state(pid: int) -> tuple[str, str]:
    """What it is called, and its state's letter: X where it is not there."""
    words = _read(pid, "stat")
    return (words[words.index("(") + 1:words.rindex(")")], words[words.rindex(")") + 2]) if words else ("", "X")


def has_ended(pid: int) -> bool:
    return name_and_state(pid)[1] in "ZX"


def parent_of(pid: int) -> int:
    return int(words.rsplit(")", 1)[1].split()[1]) if (words := _read(pid, "stat")) else 0


def children_of(pid: int) -> list[int]:
    """Of its first thread."""
    return [int(child) for child in _read(pid, f"task/{pid}/children").split()]


def waits_in(pid: int) -> str:
    """The kernel's function in which it sleeps."""
    return _read(pid, "wchan")


def open_files(pid: int) -> list[str]:
    found = []
    try:
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                found.append(os.readlink(entry))
            except OSError:  # it has closed this one
                continue
    except OSError:
        pass
    return found
