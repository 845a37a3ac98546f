#!/usr/bin/env python3
"""Makes the tiny model of ask.py: make_letters.py DIRECTORY [TEXT]. It counts which letter follows which in a text."""
import pathlib
import sys

import numpy

TEXT = """A cluster is many computers that work as one. Each of them is a node. A job asks for some nodes, for an amount of
time, and waits in a queue until they are free. Then it runs, and writes what it has found."""


def main() -> None:
    directory = pathlib.Path(sys.argv[1])
    text = (pathlib.Path(sys.argv[2]).read_text() if len(sys.argv) > 2 else TEXT).lower()
    text = " ".join(text.split())
    letters = "".join(sorted(set(text)))
    place = {letter: number for number, letter in enumerate(letters)}
    following = numpy.full((len(letters), len(letters)), 0.01)
    for one, other in zip(text, text[1:]):
        following[place[one], place[other]] += 1
    directory.mkdir(parents=True, exist_ok=True)
    numpy.savez(directory / "letters.npz", letters=letters, following=following / following.sum(axis=1, keepdims=True))


if __name__ == "__main__":
    main()
