#!/usr/bin/env python3
"""The tests that failed, from JUnit reports of pytest's.

    failed_tests.py REPORT          the arguments that run their files again, a line each: with --slurm=RELEASES where all
                                    that failed are of some releases of Slurm
    failed_tests.py REPORT AGAIN    those that have not passed the second time, a line each
"""
import pathlib
import re
import sys
import xml.etree.ElementTree as tree


def file_of(module: str) -> str:
    """Of a class's or a module's dotted name, as pytest tells it: below tests/, where its configuration is."""
    parts = module.split(".")
    while parts and not pathlib.Path("tests", *parts).with_suffix(".py").exists():
        parts.pop()
    return str(pathlib.Path("tests", *parts).with_suffix(".py")) if parts else ""


def tests_in(report: str) -> tuple[set[tuple[str, str]], set[tuple[str, str]]]:
    """Module and name of those that failed, and of those that passed; none where there is no report."""
    failed, passed = set(), set()
    try:
        cases = list(tree.parse(report).iter("testcase"))
    except (OSError, tree.ParseError):
        cases = []
    for case in cases:
        # The group in which tests run beside others is part of their names there.
        test = case.get("classname") or "", (case.get("name") or "").partition("@")[0]
        outcomes = {one.tag for one in case}
        if outcomes & {"failure", "error"}:
            failed.add(test)
        elif "skipped" not in outcomes:
            passed.add(test)
    return failed, passed - failed


def arguments_of(failed: set[tuple[str, str]]) -> list[str]:
    files = {file_of(module) for module, _ in failed} - {""}
    releases = [re.search(r"\[(\d\d\.\d\d)[-\]]", name) for _, name in failed]
    if files and all(releases):
        return [*sorted(files), "--slurm=" + ",".join(sorted({one[1] for one in releases}))]
    return sorted(files)


if __name__ == "__main__":
    failed, _ = tests_in(sys.argv[1])
    if len(sys.argv) > 2:
        lines = [f"{module}::{name}" for module, name in sorted(failed - tests_in(sys.argv[2])[1])]
    else:
        lines = arguments_of(failed)
    print(*lines, sep="\n", end="\n" if lines else "")
