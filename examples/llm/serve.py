#!/usr/bin/env python3
"""Loads a model once and answers prompts over a socket, one after the other: a GPU has one of these. ask.py starts it.

The model here is a tiny one of letters (make_letters.py), so that everything runs everywhere. For a real one write your
own Model: load it in __init__, as generate.py does with transformers, and answer in answer().
"""
import json
import os
import pathlib
import socket
import sys
import time
import zlib

import numpy

IDLE_SECONDS = 600  # a server that nobody asks any more ends


class Model:
    """Which letter follows which: probabilities, drawn by the prompt's own seed."""

    def __init__(self, path: pathlib.Path):
        with numpy.load(path / "letters.npz") as data:
            self.letters = str(data["letters"])
            self.following = numpy.cumsum(data["following"], axis=1)

    def answer(self, prompt: str, length: int = 60) -> str:
        random = numpy.random.default_rng(zlib.crc32(prompt.encode()))
        at = max(self.letters.find(prompt[-1:].lower()), 0)
        text = ""
        for draw in random.random(length):
            at = min(int(numpy.searchsorted(self.following[at], draw)), len(self.letters) - 1)
            text += self.letters[at]
        return text


def main() -> None:
    began = time.monotonic()
    model = Model(pathlib.Path(sys.argv[1]))
    gpu = os.environ.get("CUDA_VISIBLE_DEVICES") or "cpu"
    if loads := os.environ.get("LOADS"):
        job = os.environ.get("SLURM_ARRAY_TASK_ID") or "0"
        with open(loads, "a") as file:
            file.write(f"{os.environ.get('SLURM_JOB_ID', '-')} {job} {gpu} {time.monotonic() - began:.3f}\n")
    server = socket.socket(socket.AF_UNIX)
    if os.path.exists(sys.argv[2]):  # of one that has died: ask.py holds the lock
        os.unlink(sys.argv[2])
    server.bind(sys.argv[2])
    server.listen(256)
    server.settimeout(IDLE_SECONDS)
    while True:
        try:
            connection, _ = server.accept()
        except TimeoutError:
            return
        with connection:
            try:
                connection.settimeout(60)
                prompt = b"".join(iter(lambda: connection.recv(65536), b"")).decode(errors="replace")
                connection.sendall(json.dumps({"prompt": prompt, "answer": model.answer(prompt), "gpu": gpu}).encode() + b"\n")
            except OSError as problem:  # a case that was killed
                print(problem, file=sys.stderr)


if __name__ == "__main__":
    main()
