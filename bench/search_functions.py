"""Functions with known minima, for searches to look for.

Each has a space, in the words of a sweep file, and a value for a dictionary of parameters. `least` is the published minimum, so
that a search's regret is what it found less that. Sources: S. Surjanovic and D. Bingham, Virtual Library of Simulation
Experiments (Branin, Hartmann-6, Ackley, Rosenbrock, Levy). `training` is made up: it looks as the loss of a training does, with a
category, integers, logarithms and a parameter that only one of the categories has. `tables` are those of search_tables.py.
"""
import dataclasses
import json
import math
import pathlib
from typing import Callable


@dataclasses.dataclass(frozen=True)
class Function:
    name: str
    space: dict  # name: a parameter as W&B's sweep files have it; "condition" as docs/sweeps.md has it
    value: Callable[[dict], float]
    least: float


def ordered(parameters: dict) -> list[float]:
    return [parameters[f"x{number}"] for number in range(len(parameters))]


def cube(dimensions: int, low: float, high: float) -> dict:
    return {f"x{number}": {"distribution": "uniform", "min": low, "max": high} for number in range(dimensions)}


def branin(parameters: dict) -> float:
    x, y = ordered(parameters)
    return ((y - 5.1 / (4 * math.pi ** 2) * x * x + 5 / math.pi * x - 6) ** 2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10)


HARTMANN_WEIGHTS = (1.0, 1.2, 3.0, 3.2)
HARTMANN_A = ((10, 3, 17, 3.5, 1.7, 8), (0.05, 10, 17, 0.1, 8, 14), (3, 3.5, 1.7, 10, 17, 8), (17, 8, 0.05, 10, 0.1, 14))
HARTMANN_P = ((1312, 1696, 5569, 124, 8283, 5886), (2329, 4135, 8307, 3736, 1004, 9991),
              (2348, 1451, 3522, 2883, 3047, 6650), (4047, 8828, 8732, 5743, 1091, 381))


def hartmann(parameters: dict) -> float:
    x = ordered(parameters)
    return -sum(weight * math.exp(-sum(a * (at - 1e-4 * p) ** 2 for a, at, p in zip(slopes, x, middle)))
                for weight, slopes, middle in zip(HARTMANN_WEIGHTS, HARTMANN_A, HARTMANN_P))


def ackley(parameters: dict) -> float:
    x = ordered(parameters)
    return (-20 * math.exp(-0.2 * math.sqrt(sum(v * v for v in x) / len(x)))
            - math.exp(sum(math.cos(2 * math.pi * v) for v in x) / len(x)) + 20 + math.e)


def rosenbrock(parameters: dict) -> float:
    x = ordered(parameters)
    return sum(100 * (b - a * a) ** 2 + (1 - a) ** 2 for a, b in zip(x, x[1:]))


def levy(parameters: dict) -> float:
    w = [1 + (v - 1) / 4 for v in ordered(parameters)]
    return (math.sin(math.pi * w[0]) ** 2
            + sum((v - 1) ** 2 * (1 + 10 * math.sin(math.pi * v + 1) ** 2) for v in w[:-1])
            + (w[-1] - 1) ** 2 * (1 + math.sin(2 * math.pi * w[-1]) ** 2))


TRAINING = {
    "optimizer": {"values": ["sgd", "adam", "rmsprop"]},
    "momentum": {"distribution": "uniform", "min": 0.0, "max": 1.0, "condition": {"optimizer": "sgd"}},
    "lr": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1.0},
    "layers": {"distribution": "int_uniform", "min": 1, "max": 8},
    "units": {"distribution": "q_uniform", "min": 16, "max": 512, "q": 16},
    "batch": {"values": [16, 32, 64, 128]},
}


def training(parameters: dict) -> float:
    best_rate, floor = {"sgd": (-1.0, 0.0), "adam": (-3.0, 0.05), "rmsprop": (-3.5, 0.15)}[parameters["optimizer"]]
    size = math.log2(parameters["units"] / 192)
    batch = math.log2(parameters["batch"] / 64)
    rate = math.log10(parameters["lr"]) - best_rate - 0.2 * batch
    loss = floor + 0.25 * rate * rate + 0.03 * (parameters["layers"] - 4) ** 2 + 0.06 * size * size + 0.02 * batch * batch
    if parameters["optimizer"] == "sgd":
        loss += 1.5 * (parameters["momentum"] - 0.9) ** 2
    return loss


FUNCTIONS = {function.name: function for function in (
    Function("Branin", {"x0": {"distribution": "uniform", "min": -5.0, "max": 10.0},
                        "x1": {"distribution": "uniform", "min": 0.0, "max": 15.0}}, branin, 0.39788735772973816),
    Function("Hartmann-6", cube(6, 0.0, 1.0), hartmann, -3.32236801141551),
    Function("Ackley-5", cube(5, -32.768, 32.768), ackley, 0.0),
    Function("Rosenbrock-4", cube(4, -5.0, 10.0), rosenbrock, 0.0),
    Function("Levy-4", cube(4, -10.0, 10.0), levy, 0.0),
    Function("training", TRAINING, training, 0.0),
)}


def table(name: str, choices: dict[str, list], losses: dict[str, float]) -> Function:
    """Texts are categories; numbers are their places, which the tables have evenly, mostly by their logarithms."""
    space = {one: {"values": values} if isinstance(values[0], str) else {"distribution": "int_uniform", "min": 0, "max": len(values) - 1}
             for one, values in choices.items()}

    def value(parameters: dict) -> float:
        return losses["".join(str(values.index(parameters[one]) if isinstance(values[0], str) else int(parameters[one]))
                              for one, values in choices.items())]
    return Function(name, space, value, min(losses.values()))


def tables(file: pathlib.Path) -> dict[str, Function]:
    """Those that search_tables.py wrote."""
    return {name: table(name, **one) for name, one in json.loads(file.read_text()).items()}
