#!/usr/bin/env python3
"""Trains a small neural network on handwritten digits, in chunks that each go on where the last one stopped.

What makes it safe to stop at any time:
- The state (weights, momentum, epoch) is one file, written beside the old one and renamed over it.
- SIGTERM, and SIGUSR1, let the running epoch finish; then the state is saved and the program ends with code 75.
  So no epoch is done twice. (After a kill -9, those since the last checkpoint are.)
- The shuffling depends on the seed and the epoch alone: stopped or not, the result is the same.

An epoch takes milliseconds on a data set this small. --seconds-per-epoch holds it to the pace of a large one.
"""
import argparse
import json
import os
import pathlib
import signal
import sys
import threading
import time

import numpy

STOPPED = 75  # EX_TEMPFAIL: not done yet, to be continued


def load(directory: pathlib.Path) -> tuple[numpy.ndarray, numpy.ndarray]:
    """All images of one split, in an order that does not depend on the file system, and their labels."""
    paths = sorted(directory.glob("*/*.pgm"))
    images = [numpy.frombuffer(path.read_bytes()[-64:], numpy.uint8) / 16 for path in paths]
    return numpy.array(images), numpy.array([int(path.parent.name) for path in paths])


class Network:
    """64 inputs, one hidden layer of rectified units, 10 classes; cross-entropy, SGD with momentum."""

    def __init__(self, hidden: int, seed: int):
        random = numpy.random.default_rng(seed)
        self.weights = {
            "w1": random.normal(0, (2 / 64) ** 0.5, (64, hidden)), "b1": numpy.zeros(hidden),
            "w2": random.normal(0, (2 / hidden) ** 0.5, (hidden, 10)), "b2": numpy.zeros(10)}
        self.momentum = {name: numpy.zeros_like(value) for name, value in self.weights.items()}

    def forward(self, x):
        w = self.weights
        hidden = numpy.maximum(x @ w["w1"] + w["b1"], 0)
        scores = hidden @ w["w2"] + w["b2"]
        odds = numpy.exp(scores - scores.max(axis=1, keepdims=True))
        return hidden, odds / odds.sum(axis=1, keepdims=True)

    def step(self, x, y, rate: float) -> float:
        w = self.weights
        hidden, odds = self.forward(x)
        loss = -numpy.log(odds[numpy.arange(len(y)), y] + 1e-12).mean()
        error = odds.copy()
        error[numpy.arange(len(y)), y] -= 1
        error /= len(y)
        back = (error @ w["w2"].T) * (hidden > 0)
        gradient = {"w1": x.T @ back, "b1": back.sum(axis=0), "w2": hidden.T @ error, "b2": error.sum(axis=0)}
        for name in w:
            self.momentum[name] = 0.9 * self.momentum[name] - rate * gradient[name]
            w[name] = w[name] + self.momentum[name]
        return float(loss)

    def loss(self, x, y) -> float:
        return float(-numpy.log(self.forward(x)[1][numpy.arange(len(y)), y] + 1e-12).mean())

    def accuracy(self, x, y) -> float:
        return float((self.forward(x)[1].argmax(axis=1) == y).mean())


def save(path: pathlib.Path, network: Network, epoch: int) -> None:
    unfinished = path.with_name(path.name + ".unfinished")
    with open(unfinished, "wb") as file:
        numpy.savez(file, epoch=epoch, **network.weights,
                    **{"momentum_" + name: value for name, value in network.momentum.items()})
        file.flush()
        os.fsync(file.fileno())
    os.replace(unfinished, path)


def restore(path: pathlib.Path, network: Network) -> int:
    """The number of epochs done; 0 where there is no checkpoint."""
    if not path.exists():
        return 0
    with numpy.load(path) as state:
        for name in network.weights:
            network.weights[name] = state[name]
            network.momentum[name] = state["momentum_" + name]
        return int(state["epoch"])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=pathlib.Path, required=True, help="the unpacked archive: digits/")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="checkpoint, log and results go here")
    parser.add_argument("--epochs", type=int, default=200)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--hidden", type=int, default=128)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds-per-epoch", type=float, default=0)
    parser.add_argument("--checkpoint-seconds", type=float, default=5)
    options = parser.parse_args()

    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda *_: stop.set())

    options.output.mkdir(parents=True, exist_ok=True)
    checkpoint = options.output / "checkpoint.npz"
    network = Network(options.hidden, options.seed)
    done = restore(checkpoint, network)
    x, y = load(options.data / "train")
    valid = load(options.data / "valid")
    job = os.environ.get("SLURM_JOB_ID", "-")
    print(f"job {job}: {len(y)} images, learning rate {options.rate}, "
          + (f"resuming after epoch {done}" if done else "from the beginning"), flush=True)

    saved_at = time.monotonic()
    table = options.output / "epochs.csv"
    if not table.exists() or not done:
        table.write_text("epoch,loss,valid_loss,valid\n")
    with open(options.output / "epochs.log", "a", buffering=1) as log, open(table, "a", buffering=1) as rows:
        while done < options.epochs and not stop.is_set():
            began = time.monotonic()
            order = numpy.random.default_rng((options.seed, done)).permutation(len(y))
            losses = [network.step(x[batch], y[batch], options.rate)
                      for batch in numpy.array_split(order, len(order) // 32)]
            done += 1
            line = f"epoch {done} loss {numpy.mean(losses):.4f} valid {network.accuracy(*valid):.4f}"
            log.write(f"{line} job {job}\n")
            rows.write(f"{done},{numpy.mean(losses):.6f},{network.loss(*valid):.6f},{network.accuracy(*valid):.6f}\n")
            print(line, flush=True)
            if time.monotonic() - saved_at >= options.checkpoint_seconds:
                save(checkpoint, network, done)
                saved_at = time.monotonic()
            stop.wait(max(0, began + options.seconds_per_epoch - time.monotonic()))

    save(checkpoint, network, done)
    if done < options.epochs:
        print(f"stopped after epoch {done} of {options.epochs}; the checkpoint is safe", flush=True)
        return STOPPED

    result = {"epochs": done, "rate": options.rate, "valid_accuracy": network.accuracy(*valid),
              "test_accuracy": network.accuracy(*load(options.data / "test"))}
    (options.output / "result.json").write_text(json.dumps(result) + "\n")
    print(f"done: held-out accuracy {result['test_accuracy']:.4f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
