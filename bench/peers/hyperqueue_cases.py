"""Runs so many cases that do nothing in HyperQueue, by its Python package: hyperqueue_cases.py CASES CPUS DIRECTORY.

A program of its own, for the environment in which that package is. Prints the seconds from submission to the last end.
Server and worker are in this process, as the package has them. Each case has a record; its output is kept nowhere.
"""
import pathlib
import sys
import time

from hyperqueue import Job, LocalCluster
from hyperqueue.cluster import WorkerConfig

cases, cpus, directory = int(sys.argv[1]), int(sys.argv[2]), pathlib.Path(sys.argv[3])
with LocalCluster(server_dir=str(directory / "server"), worker_config=WorkerConfig(cores=cpus)) as cluster:
    client = cluster.client()
    warm = Job(default_workdir=directory)
    warm.program(["true"], stdout=None, stderr=None)
    client.wait_for_jobs([client.submit(warm)])
    job = Job(default_workdir=directory)
    for _ in range(cases):
        job.program(["true"], stdout=None, stderr=None)
    began = time.monotonic()
    client.wait_for_jobs([client.submit(job)])
    print(time.monotonic() - began)
