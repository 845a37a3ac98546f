#!/usr/bin/env python3
"""Which sources of a room are compiled together where the program alone is built (CMakeLists.txt).

usage: unity_groups.py SOURCE… ; prints a line for each group, its files parted by semicolons.

Files of one group become one translation unit, so their unnamed namespaces are one: two files that give the same name
there go to different groups. What is read is the layout that clang-format gives: declarations begin a line.
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


def groups_of(paths: list[str]) -> list[list[str]]:
    groups: list[tuple[list[str], set[str]]] = []
    for path in paths:
        names = names_of(pathlib.Path(path).read_text())
        for files, taken in groups:
            if len(files) < MOST and not names & taken:
                break
        else:
            files, taken = [], set()
            groups.append((files, taken))
        files.append(path)
        taken |= names
    return [files for files, _ in groups]


if __name__ == "__main__":
    for group in groups_of(sys.argv[1:]):
        print(";".join(group))
