#!/usr/bin/env python3
"""Writes the seeds of a fuzz target, an input a line, as the files that libFuzzer reads. usage: fuzz_seeds.py SEEDS DIRECTORY"""
import pathlib
import re
import sys

ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r"}


def decode(line: bytes) -> bytes:
    return re.sub(rb"\\(x[0-9a-f]{2}|.)",
                  lambda found: bytes([int(found[1][1:], 16)]) if len(found[1]) == 3 else ESCAPES.get(found[1], found[1]),
                  line)


def main() -> None:
    seeds, directory = map(pathlib.Path, sys.argv[1:])
    for number, line in enumerate(seeds.read_bytes().splitlines()):
        (directory / str(number)).write_bytes(decode(line))


main()
