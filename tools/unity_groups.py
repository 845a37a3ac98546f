#!/usr/bin/env python3
"""Which sources of a room are compiled together where the program alone is built (CMakeLists.txt).

usage: unity_groups.py SOURCE… ; prints a line for each group, its files parted by semicolons.

Files of one group become one translation unit, so their unnamed namespaces are one: two files that give the same name
there go to different groups. So do one that gives a name, and one that calls a header's function of that name: it would
call the other's. What is read is the layout that clang-format gives: declarations begin a line.
"""
import pathlib
import re
import sys

MOST = 8  # files of a group: more share no more of what they include
TYPE = re.compile(r"(?:struct|class|enum class|enum|union)\s+(?:alignas\(\w+\)\s+)?(\w+)")
ALIAS = re.compile(r"using (\w+) =")
NOT_A_DECLARATION = (" ", "}", "/", "#", "namespace", "public:", "private:", ")", "TEST", "INSTANTIATE_TEST")
DEFINED = re.compile(r"(?:[^=;{(]*?)\b(\w+)\s*(?:\[[^\]]*\]\s*)*(?:=|\{|;|\()")


def names_of(text: str) -> set[str]:
    """What the unnamed namespaces of a file, its macros and its file-wide `using` give names to."""
    names: set[str] = set(re.findall(r"^#define (\w+)", text, re.MULTILINE))
    unnamed = False
    for line in text.splitlines():
        if line.startswith("namespace {"):
            unnamed = True
        elif line.rstrip() == "}  // namespace":
            unnamed = False
        elif unnamed and not line.startswith(NOT_A_DECLARATION) and line:
            # constexpr int kA = 1, kB = 2;
            names.update(re.findall(r", (k[A-Z]\w*) =", line))
            for pattern in (TYPE, ALIAS, DEFINED):
                if match := pattern.match(line):
                    names.add(match.group(1))
                    break
        elif unnamed and (match := re.match(r"\s+(k[A-Z]\w*) = [^,]*[,;]", line)):
            names.add(match.group(1))  # the same, over several lines
    return names


def called_of(text: str) -> set[str]:
    """The functions of headers that have their function's name."""
    headers = re.findall(r'^#include "(?:[^"]*/)?(\w+)\.h"', text, re.MULTILINE)
    return {name for name in headers if re.search(rf"\b{name}\(", text)}


def groups_of(paths: list[str]) -> list[list[str]]:
    groups: list[tuple[list[str], set[str], set[str]]] = []
    for path in paths:
        text = pathlib.Path(path).read_text()
        names, called = names_of(text), called_of(text)
        for files, taken, calls in groups:
            if len(files) < MOST and not names & taken and not names & calls and not called & taken:
                break
        else:
            files, taken, calls = [], set(), set()
            groups.append((files, taken, calls))
        files.append(path)
        taken |= names
        calls |= called
    return [files for files, _, _ in groups]


if __name__ == "__main__":
    for group in groups_of(sys.argv[1:]):
        print(";".join(group))
