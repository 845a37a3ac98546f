#!/usr/bin/env python3
"""Prints the figures of the source tree that docs/architecture.md quotes: rooms, complexity, tests, knots, builds.

The last two rows of builds need a build directory (`--build`, default build/). Their times come from its .ninja_log: they
are meaningful where that build ran without a compiler cache (CCACHE_DISABLE=1).
"""
import argparse
import collections
import csv
import io
import pathlib
import re
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
TEST = re.compile(r"_(test|perftest|fuzz)\.cpp$|/(testing|simulation)/")  # what is no part of the program


def lines_of(path: pathlib.Path) -> int:
    return path.read_bytes().count(b"\n")


def sources(room: str = "") -> list[pathlib.Path]:
    return [path for path in sorted((SOURCE / room).rglob("*")) if path.suffix in (".cpp", ".h")]


def rooms() -> dict[str, int]:
    """Lines of each room without its tests."""
    count = collections.Counter()
    for path in sources():
        if not TEST.search(str(path)):
            count[path.relative_to(SOURCE).parts[0]] += lines_of(path)
    return count


def test_ratio(room: str) -> float:
    tests = sum(lines_of(path) for path in sources(room) if TEST.search(str(path)))
    code = sum(lines_of(path) for path in sources(room) if not TEST.search(str(path)))
    return tests / code


def complexity() -> tuple[int, int, int] | None:
    """Functions, those with a cyclomatic complexity over 20, and those of over 60 lines; None without lizard."""
    if not shutil.which("lizard"):
        return None
    rows = csv.reader(io.StringIO(subprocess.run(["lizard", "-l", "cpp", "--csv", SOURCE], capture_output=True,
                                                 text=True).stdout))  # it exits with 1 where it would warn
    rows = [(int(row[0]), int(row[1])) for row in rows if not TEST.search(row[6])]
    return len(rows), sum(complex_ > 20 for _, complex_ in rows), sum(length > 60 for length, _ in rows)


def largest_knot() -> tuple[int, int]:
    """Of the parts of Core: how many call each other in the largest strongly connected set, and how many there are."""
    engine = SOURCE / "engine/embedded"
    parts = dict(re.findall(r"std::unique_ptr<(\w+)> (\w+);", (engine / "core.h").read_text()))
    calls = {part: set() for part in parts}
    for path in engine.rglob("*.cpp"):
        if TEST.search(str(path)):
            continue
        part = None
        for line in path.read_text().splitlines():
            if match := re.match(r"(?!\s)[\w:<>&*, ]*?\b(\w+)::~?\w+\(", line):
                part = match.group(1) if match.group(1) in parts else part
            for member in re.findall(r"core_?\.(\w+)->", line):
                target = next((name for name, known in parts.items() if known == member), None)
                if part and target and target != part:
                    calls[part].add(target)

    def reached(start: str) -> set[str]:
        seen, left = set(), [start]
        while left:
            for target in calls[left.pop()] - seen:
                seen.add(target)
                left.append(target)
        return seen
    reach = {part: reached(part) for part in parts}
    return max(sum(one in reach[other] and other in reach[one] for other in parts) for one in parts), len(parts)


def build_figures(build: pathlib.Path) -> None:
    took: dict[str, int] = {}
    for line in (build / ".ninja_log").read_text().splitlines()[1:]:
        begin, end, _, output, _ = line.split("\t")
        if output.endswith(".o"):
            took[output] = int(end) - int(begin)
    dependencies: dict[str, set[str]] = {}
    unit = ""
    for line in subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                               check=True).stdout.splitlines():
        if line and not line.startswith(" "):
            unit = line.split(":")[0]
            dependencies[unit] = set()
        elif line:
            dependencies[unit].add(line.strip())
    def exists(unit: str) -> bool:  # the log remembers units of files that are gone
        source = re.search(r"\.dir/(?:generated/)?(.*)\.o$", unit)
        return source is not None and ((ROOT / source[1]).exists() or (build / "generated" / source[1]).exists())
    program = {unit for unit in dependencies
               if not re.search(r"_(test|perftest|fuzz)\.|/simulation/", unit) and unit in took and exists(unit)}

    def seeing(header: str, room: str = "") -> set[str]:
        return {unit for unit in program if room in unit and any(one.endswith(header) for one in dependencies[unit])}
    wire = [unit for unit in program if "minke_cli.dir" in unit and
            any(re.search(r"generated/rpc/\w+\.pb\.h$", one) for one in dependencies[unit])]
    print(f"units of cli that see a wire message's full definition: {len(wire)}")
    whole = sum(took[unit] for unit in program)
    for header in ("model/job_state.pb.h", "model/job_spec.pb.h", "model/job_record.pb.h", "model/trigger.pb.h",
                   "api/explanation.pb.h"):
        units = seeing(header)
        print(f"compiled again after a change of {header}: {len(units)} of {len(program)} units, "
              f"{100 * sum(took[unit] for unit in units) / whole:.0f} % of the time")
    print(f"compile time of the program, all units added up: {whole / 1000:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    size = rooms()
    name, largest = size.most_common(1)[0]
    print(f"lines of code: {sum(size.values())}; largest room: {name}, {100 * largest / sum(size.values()):.0f} %")
    print(f"engine: lines of unit tests to lines of code: {test_ratio('engine'):.2f}")
    knot, parts = largest_knot()
    print(f"largest knot of engine parts that call each other: {knot} of {parts}")
    if counted := complexity():
        functions, complex_ones, long_ones = counted
        print(f"functions: {functions}; complexity over 20: {complex_ones}; over 60 lines: {long_ones} "
              f"({100 * long_ones / functions:.1f} %)")
    else:
        print("functions: not counted, which needs lizard (from PyPI)")
    if (options.build / ".ninja_log").exists():
        build_figures(options.build)


if __name__ == "__main__":
    main()
