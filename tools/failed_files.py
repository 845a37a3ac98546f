#!/usr/bin/env python3
"""The files of the tests that failed, a line each, from a JUnit report of pytest's. usage: failed_files.py REPORT"""
import pathlib
import sys
import xml.etree.ElementTree as tree


def file_of(module: str) -> str:
    """Of a class's or a module's dotted name, as pytest tells it: below tests/, where its configuration is."""
    parts = module.split(".")
    while parts and not pathlib.Path("tests", *parts).with_suffix(".py").exists():
        parts.pop()
    return str(pathlib.Path("tests", *parts).with_suffix(".py")) if parts else ""


if __name__ == "__main__":
    try:
        cases = tree.parse(sys.argv[1]).iter("testcase")
    except (OSError, tree.ParseError):
        cases = []
    failed = {file_of(case.get("classname") or "") for case in cases
              if case.find("failure") is not None or case.find("error") is not None}
    print(*sorted(failed - {""}), sep="\n", end="\n" if failed - {""} else "")
