"""Boosted trees from a file that does not fit in memory, in pieces: train_xgboost.py FILE

XGBoost reads each piece once, and keeps what it needs of it in files of its own on the node's disk.
"""
import os
import resource
import sys
import tempfile

import numpy
import xgboost

path = sys.argv[1]
table = numpy.load(path, mmap_mode="r")
rows, columns = table.shape
held_back, piece = 20000, 50000
threads = int(os.environ.get("SLURM_CPUS_PER_TASK", 1))


def read(begin: int, count: int) -> numpy.ndarray:
    # A copy: pages of the file that were mapped would count as this process's memory.
    return numpy.fromfile(path, numpy.float32, count * columns, offset=table.offset + begin * columns * 4).reshape(-1, columns)


class Pieces(xgboost.DataIter):
    def __init__(self, cache: str):
        self.begin = 0
        super().__init__(cache_prefix=os.path.join(cache, "cache"), on_host=False)

    def next(self, input_data) -> bool:
        left = rows - held_back - self.begin
        if left <= 0:
            return False
        part = read(self.begin, min(piece, left))
        input_data(data=part[:, :-1], label=part[:, -1])
        self.begin += len(part)
        return True

    def reset(self) -> None:
        self.begin = 0


with tempfile.TemporaryDirectory(dir=os.environ.get("SLURM_TMPDIR")) as cache:
    data = xgboost.ExtMemQuantileDMatrix(Pieces(cache), max_bin=64, nthread=threads)
    settings = {"objective": "binary:logistic", "tree_method": "hist", "max_bin": 64, "max_depth": 6, "eta": 0.5,
                "nthread": threads}
    model = xgboost.train(settings, data, num_boost_round=int(os.environ.get("ROUNDS", 30)))
    model.save_model("model.json")
    last = read(rows - held_back, held_back)
    guessed = model.predict(xgboost.DMatrix(last[:, :-1], nthread=threads)) > 0.5
    del data  # before its files
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{table.nbytes / 2**20:.0f} MiB of data with {used:.0f} MiB of memory: accuracy {(guessed == last[:, -1]).mean():.3f}")
