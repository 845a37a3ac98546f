#!/usr/bin/env python3
"""Fails when an include points upwards, or when a pure room does I/O. Run by `./dev lint` and by the tests.

ROOMS lists the directories of src/ from the lowest to the highest, with what each may include besides itself.
"""
import pathlib
import re
import sys

ROOMS = {
    "base": [],
    "model": ["base"],
    "text": ["model", "base"],
    "sched": ["text", "model", "base"],
    "sim": ["sched", "text", "model", "base"],
    "ml": ["sched", "text", "model", "base"],
    "submit": ["text", "model", "base"],
    "os": ["base"],
    "rpc": ["os", "model", "base"],
    "store": ["os", "model", "base"],
    "node": ["rpc", "os", "text", "model", "base"],
    "mpi": ["os", "base"],
    "software": ["os", "text", "model", "base"],
    "storage": ["os", "text", "model", "base"],
    "engine": ["storage", "node", "store", "rpc", "sched", "submit", "os", "text", "model", "base"],
    "cli": ["engine", "software", "storage", "sim", "ml", "sched", "mpi", "node", "store", "rpc", "submit", "os", "text", "model", "base"],
}
PURE = {"model", "text", "sched", "sim", "ml", "submit"}
# Headers of the file system, the clock, the network, threads and processes.
IMPURE_HEADERS = re.compile(
    r"^(unistd\.h|fcntl\.h|sys/(?!types\.h).*|time\.h|fstream|filesystem|iostream|thread|mutex|netdb\.h|pwd\.h|grp\.h)$")
IMPURE_CALLS = re.compile(r"\b(system_clock::now|steady_clock::now|getenv|std::time\(|fopen)|(?<!\w)::open\(")


def main() -> int:
    root = pathlib.Path(__file__).resolve().parent.parent
    source = root / "src"
    problems = []
    for path in sorted(list(source.rglob("*.h")) + list(source.rglob("*.cpp")) + list(source.rglob("*.proto"))):
        room = path.relative_to(source).parts[0]
        if room not in ROOMS:
            problems.append(f"{path}: src/{room} is no known room")
            continue
        is_test = re.search(r"_(test|perftest|fuzz)\.cpp$", path.name) is not None
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(root)}:{number}"
            if match := re.match(r'\s*(?:#include|import)\s+"([^"]+)"', line):
                target = match.group(1).split("/")[0]
                if target in ROOMS and target != room and target not in ROOMS[room]:
                    problems.append(f"{where}: {room} must not include {target}")
            if room in PURE and not is_test:
                if (match := re.match(r"\s*#include\s+<([^>]+)>", line)) and IMPURE_HEADERS.match(match.group(1)):
                    problems.append(f"{where}: {room} is pure and must not include <{match.group(1)}>")
                if IMPURE_CALLS.search(line.split("//")[0]):
                    problems.append(f"{where}: {room} is pure: no clock, no environment, no files")
    print("\n".join(problems) if problems else "layers: every include points down")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
