"""What does it cost to hold a job to what it has?

The same array of jobs that do nothing, once by a cluster that confines nothing, once by one of root's with all of it
on: memory, processes and processors in control groups, a /tmp and /dev/shm of its own, the node's name and /etc/hosts.
Taking turns. Needs root.
"""
import os

from context import Context, job_script
from parts.array import run_minke
from report import Report

NAME = "confinement"
NODE = '[[node]]\nname = "n1"\ncpus = {cpus}\nmemory = "{memory}M"\n'
PLAIN = "bind_cpus = false\nconstrain_memory = false\n"
CONFINED = "private_tmp = true\nmax_pids = 4096\n"


def measure(context: Context, report: Report) -> None:
    if os.geteuid() != 0:
        report.skip(NAME, "it needs root")
        return
    options = context.options
    node = NODE.format(cpus=os.cpu_count(), memory=os.cpu_count() * 100)
    partition = '[[partition]]\nname = "main"\ndefault_mem_per_cpu = "100M"\n'
    with (context.minke(configuration=PLAIN + node + partition) as plain,
          context.minke(configuration=CONFINED + node + partition, shared=True) as confined):
        scripts = {cluster: job_script(cluster.directory) for cluster in (plain, confined)}
        for cluster in scripts:
            run_minke(cluster, scripts[cluster], 100)
        for _ in range(options.repeats):
            for name, cluster in (("plain", plain), ("confined", confined)):
                took = run_minke(cluster, scripts[cluster], options.jobs)
                report.sample(f"confinement: {name} jobs/s", options.jobs / took)
    report.compare(f"{options.jobs} jobs, one array, confined", "confinement: confined jobs/s",
                   "confinement: plain jobs/s", "the same not confined", "jobs/s", budget=1 / 1.5)
