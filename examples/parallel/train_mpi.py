"""Data-parallel training over MPI: every process has a part of the data, and all have the same weights.

Logistic regression on data made from a seed. The sum of the processes' gradients is the gradient of all data, so the
result does not depend on how many there are.
"""
import argparse
import json

import numpy
from mpi4py import MPI

parser = argparse.ArgumentParser()
parser.add_argument("--samples", type=int, default=20000)
parser.add_argument("--epochs", type=int, default=60)
parser.add_argument("--rate", type=float, default=0.5)
parser.add_argument("--output")
options = parser.parse_args()

world = MPI.COMM_WORLD
generator = numpy.random.default_rng(1)
data = generator.standard_normal((options.samples, 32))
truth = generator.standard_normal(32)
labels = (data @ truth + generator.standard_normal(options.samples) > 0).astype(float)
mine = slice(world.rank * options.samples // world.size, (world.rank + 1) * options.samples // world.size)
data, labels = data[mine], labels[mine]

weights = numpy.zeros(32)
for epoch in range(1, options.epochs + 1):
    predicted = 1 / (1 + numpy.exp(-(data @ weights)))
    # Of this part: the gradient, the loss and the hits; of all parts, by one message.
    part = numpy.append(data.T @ (predicted - labels),
                        [-numpy.sum(labels * numpy.log(predicted + 1e-12) + (1 - labels) * numpy.log(1 - predicted + 1e-12)),
                         numpy.sum((predicted > 0.5) == labels)])
    whole = numpy.empty_like(part)
    world.Allreduce(part, whole)
    weights -= options.rate * whole[:32] / options.samples
    if world.rank == 0 and epoch % 20 == 0:
        print(f"epoch {epoch}: loss {whole[32] / options.samples:.4f}, accuracy {whole[33] / options.samples:.4f}", flush=True)

names = world.gather(MPI.Get_processor_name())
if world.rank == 0:
    result = {"processes": world.size, "loss": round(whole[32] / options.samples, 6), "weights": weights.round(6).tolist()}
    if options.output:
        with open(options.output, "w") as file:
            json.dump(result, file)
    print(f"{world.size} processes, loss {result['loss']}")
