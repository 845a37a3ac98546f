#!/usr/bin/env python3
"""Fails when an include points upwards, when a part of the engine calls one above it, or when a pure room does I/O.

Run by `./dev lint` and by the tests.

src/rooms.json lists the directories of src/ from the lowest to the highest, with what each may include besides itself.
The table in docs/architecture.md says the same: `--table` prints it.
"""
import json
import pathlib
import re
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent / "src"
LIST = json.loads((SOURCE / "rooms.json").read_text())
ROOMS = {entry["room"]: entry["uses"] for entry in LIST}
PURE = {entry["room"] for entry in LIST if entry.get("pure")}
# Headers of the file system, the clock, the network, threads and processes.
IMPURE_HEADERS = re.compile(
    r"^(unistd\.h|fcntl\.h|sys/(?!types\.h).*|time\.h|fstream|filesystem|iostream|thread|mutex|netdb\.h|pwd\.h|grp\.h)$")
# Programs that are started by name are arrows, too: os/helper_program.h is the one place that has the names.
STARTED_BY_NAME = re.compile(r'"/proc/self/exe"\s*\)?,\s*(std::string\()?"')
IMPURE_CALLS = re.compile(r"\b(system_clock::now|steady_clock::now|getenv|std::time\(|fopen)|(?<!\w)::open\(")
ENGINE = SOURCE / "engine/embedded"
KNOW_EACH_OTHER = {("Measuring", "Steps")}


def table() -> list[str]:
    """The rooms as docs/architecture.md shows them, the highest first."""
    return ["| room | what it holds | may include |", "|---|---|---|"] + [
        f"| `{entry['room']}/`{' (pure)' if entry.get('pure') else ''} | {entry['is']} | {' '.join(entry['uses'])} |"
        for entry in reversed(LIST)]


def check_list() -> list[str]:
    problems = []
    lower: list[str] = []
    for entry in LIST:
        problems += [f"src/rooms.json: {entry['room']} uses {used}, which does not stand before it"
                     for used in entry["uses"] if used not in lower]
        lower.append(entry["room"])
    if "\n".join(table()) not in (SOURCE.parent / "docs/architecture.md").read_text():
        problems.append("docs/architecture.md: its table of rooms is not that of tools/check_layers.py --table")
    return problems


def check_file(path: pathlib.Path) -> list[str]:
    room = path.relative_to(SOURCE).parts[0]
    if room not in ROOMS:
        return [f"{path}: src/{room} is no known room"]
    problems = []
    is_test = re.search(r"_(test|perftest|fuzz)\.cpp$", path.name) is not None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        where = f"{path.relative_to(SOURCE.parent)}:{number}"
        if match := re.match(r'\s*(?:#include|import)\s+"([^"]+)"', line):
            target = match.group(1).split("/")[0]
            if target in ROOMS and target != room and target not in ROOMS[room]:
                problems.append(f"{where}: {room} must not include {target}")
        if STARTED_BY_NAME.search(line) and not is_test:
            problems.append(f"{where}: helper programs are named by os/helper_program.h")
        if room in PURE and not is_test:
            if (match := re.match(r"\s*#include\s+<([^>]+)>", line)) and IMPURE_HEADERS.match(match.group(1)):
                problems.append(f"{where}: {room} is pure and must not include <{match.group(1)}>")
            if IMPURE_CALLS.search(line.split("//")[0]):
                problems.append(f"{where}: {room} is pure: no clock, no environment, no files")
    return problems


def check_parts() -> list[str]:
    """A part of the engine's Core calls those that core.h names before it; what goes up is told as an event."""
    members = re.findall(r"std::unique_ptr<(\w+)> (\w+);", (ENGINE / "core.h").read_text())
    floor = {part: number for number, (part, _) in enumerate(members)}
    part_of = {member: part for part, member in members}
    problems = []
    for path in sorted(path for path in ENGINE.rglob("*.cpp") if "simulation" not in path.parts):
        if path.name in ("core.cpp",) or path.name.endswith("_test.cpp"):
            continue
        part = None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if match := re.match(r"(?!\s)[\w:<>&*, ]*?\b(\w+)::~?\w+\(", line):
                part = match.group(1) if match.group(1) in floor else None
            for member in re.findall(r"\bcore_?\.(\w+)\b", line):
                target = part_of.get(member)
                if part and target and floor[target] > floor[part] and (part, target) not in KNOW_EACH_OTHER:
                    problems.append(f"{path.relative_to(SOURCE.parent)}:{number}: {part} calls {target}, which stands "
                                    "above it in core.h")
    return problems


def main() -> int:
    if sys.argv[1:] == ["--table"]:
        print("\n".join(table()))
        return 0
    problems = check_list() + check_parts()
    for path in sorted(path for ending in ("h", "cpp", "proto") for path in SOURCE.rglob(f"*.{ending}")):
        problems += check_file(path)
    print("\n".join(problems) if problems else "layers: every include and every call of a part points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
