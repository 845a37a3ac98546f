"""Learns from a file that does not fit in memory, in pieces: train.py FILE"""
import resource
import sys

import numpy
from sklearn.linear_model import SGDClassifier

table = numpy.load(sys.argv[1], mmap_mode="r")
held_back = table[-20000:]
learner = SGDClassifier(loss="log_loss", random_state=1)
piece = 20000
for number, begin in enumerate(range(0, len(table) - len(held_back), piece)):
    # A copy: pages of the file that were mapped would count as this process's memory.
    part = numpy.fromfile(sys.argv[1], numpy.float32, piece * table.shape[1],
                          offset=table.offset + begin * table.shape[1] * 4).reshape(-1, table.shape[1])
    learner.partial_fit(part[:, :-1], part[:, -1], classes=[0, 1])
accuracy = learner.score(held_back[:, :-1], held_back[:, -1])
used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{table.nbytes / 2**20:.0f} MiB of data with {used:.0f} MiB of memory: accuracy {accuracy:.3f}")
