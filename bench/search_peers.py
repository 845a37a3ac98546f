#!/usr/bin/env python3
"""Optuna and scikit-optimize on the functions of search_functions.py, with their defaults: what `search.py` compares with.

    search_peers.py TABLES PEER FUNCTION TRIALS SEED…      one line of JSON a seed: {"seed": 1, "regret": 0.1}
"""
import json
import pathlib
import sys
import warnings

from search_functions import FUNCTIONS, Function, tables


def optuna_best(function: Function, trials: int, seed: int) -> float:
    import optuna
    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def objective(trial) -> float:
        chosen = {}
        for name, parameter in function.space.items():
            if any(chosen[other] != value for other, value in parameter.get("condition", {}).items()):
                continue
            kind = parameter.get("distribution")
            if kind is None:
                chosen[name] = trial.suggest_categorical(name, parameter["values"])
            elif kind == "int_uniform":
                chosen[name] = trial.suggest_int(name, parameter["min"], parameter["max"])
            elif kind == "q_uniform":
                chosen[name] = trial.suggest_int(name, parameter["min"], parameter["max"], step=parameter["q"])
            else:
                chosen[name] = trial.suggest_float(name, parameter["min"], parameter["max"], log=kind == "log_uniform_values")
        return function.value(chosen)

    study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
    study.optimize(objective, n_trials=trials)
    return study.best_value


def skopt_best(function: Function, trials: int, seed: int) -> float:
    import skopt
    from skopt.space import Categorical, Integer, Real
    warnings.simplefilter("ignore")
    dimensions, read = [], []
    for name, parameter in function.space.items():
        kind = parameter.get("distribution")
        step = parameter.get("q", 1)
        if kind is None:
            dimensions.append(Categorical(parameter["values"], name=name))
        elif kind in ("int_uniform", "q_uniform"):
            dimensions.append(Integer(parameter["min"] // step, parameter["max"] // step, name=name))
        else:
            prior = "log-uniform" if kind == "log_uniform_values" else "uniform"
            dimensions.append(Real(parameter["min"], parameter["max"], prior=prior, name=name))
        read.append((name, step if kind == "q_uniform" else None))

    def objective(point) -> float:  # it has no conditions: a parameter that does not apply is not looked at
        return function.value({name: value if step is None else int(value) * step for (name, step), value in zip(read, point)})

    return float(skopt.gp_minimize(objective, dimensions, n_calls=trials, random_state=seed).fun)


PEERS = {"optuna": optuna_best, "skopt": skopt_best}


def main() -> None:
    file, peer, name, trials, *seeds = sys.argv[1:]
    function = (FUNCTIONS | tables(pathlib.Path(file)))[name]
    for seed in map(int, seeds):
        print(json.dumps({"seed": seed, "regret": PEERS[peer](function, int(trials), seed) - function.least}), flush=True)


if __name__ == "__main__":
    main()
