"""A table of numbers that is larger than the job's memory, in a file: make_data.py FILE MEGABYTES"""
import sys

import numpy

path, megabytes = sys.argv[1], int(sys.argv[2])
columns = 64  # the last one is the label
rows = megabytes * (1 << 20) // (columns * 4)
table = numpy.lib.format.open_memmap(path, "w+", numpy.float32, (rows, columns))
generator = numpy.random.default_rng(1)
truth = generator.standard_normal(columns - 1)
for begin in range(0, rows, 65536):
    part = generator.standard_normal((min(65536, rows - begin), columns), numpy.float32)
    part[:, -1] = part[:, :-1] @ truth > 0
    table[begin:begin + len(part)] = part
