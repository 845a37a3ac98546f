"""A program that uses the Python package `minke` on whatever cluster's commands are on PATH, and says what it saw.

tests/test_python_package.py runs it on Minke, tests/differential/test_package_on_slurm.py on real Slurms. It asks seldom: the
period that it sets is the one that the tests count with.
"""
import pathlib
import sys
import time

import minke

CLUSTER = minke.Cluster(pathlib.Path("jobs"), period=0.5, grace=5, time=5, mem="100M")


def add(one, other=1):
    print("adding", one, other)
    return one + other


def fail(text):
    raise ValueError(text)


def touch_and_sleep(path):
    pathlib.Path(path).touch()
    time.sleep(600)


class Pair:
    def __init__(self, one, other):
        self.one, self.other = one, other


def functions():
    job = CLUSTER.submit(add, 2, kwargs={"other": 3}, cpus_per_task=1)
    print("sum", job.result(120), job.state, job.stdout().strip())
    print("pair", CLUSTER.submit(Pair, 1, 2).result(120).other)
    bad = CLUSTER.submit(fail, "on purpose")
    print("raised", repr(bad.exception(120)), "in fail" in str(bad.exception().__cause__))


def commands():
    print("command", CLUSTER.submit("echo it says $WORD", environment={"WORD": "yes"}).result(120).strip())
    bad = CLUSTER.submit(["sh", "-c", "echo last words; exit 3"], output="bad-%j.out")
    error = bad.exception(120)
    print("failed", type(error).__name__, error.state, error.exit_code, "| last words" in str(error), f"bad-{bad.id}.out" in str(error))
    pathlib.Path("job.sh").write_text("#!/bin/bash\n#SBATCH --comment=mine\n#SBATCH --output=script.out\necho script $1\n")
    print("script", CLUSTER.submit(pathlib.Path("job.sh"), "argument").result(120).strip())
    try:
        CLUSTER.submit("true", partition="nosuch")
    except minke.SubmitError as refused:
        print("refused", "nvalid partition" in str(refused))


def arrays():
    print("map", CLUSTER.map(add, range(4), [10] * 4, limit=2).results(120))
    array = CLUSTER.array("echo task $SLURM_ARRAY_TASK_ID", "1-5:2")
    print("array", [text.strip() for text in array.results(120)], array.states())
    later = CLUSTER.submit(add, 1, dependency=array)
    never = CLUSTER.submit(add, 1, dependency=CLUSTER.submit("false"))
    print("after", later.result(120), type(never.exception(120)).__name__)


def ends():
    job = CLUSTER.submit(touch_and_sleep, "runs")
    while not pathlib.Path("runs").exists():
        time.sleep(0.05)
    CLUSTER.watch.asked = -1e9
    print("state", job.state)
    job.cancel()
    print("cancelled", type(job.exception(120)).__name__)
    waiting = CLUSTER.submit(add, 1, hold=True)
    print("waits", waiting.state, CLUSTER.wait([waiting], timeout=0.1).waiting == [waiting])
    waiting.cancel()
    print("cancelled", type(waiting.exception(120)).__name__)


def executor():
    with minke.Executor(4, cluster=CLUSTER) as one:
        print("executor", list(one.map(add, range(5), timeout=200)), one.using(mem="150M").submit(fail, "there").exception(120))
        sleeping = one.submit(time.sleep, 600)
        while not sleeping.running():
            time.sleep(0.05)
        print("future", sleeping.cancel(), sleeping.cancelled())
        CLUSTER.wait([sleeping.job], 120)


def keys():
    first = CLUSTER.submit("echo once", key="the one")
    again = CLUSTER.submit("echo twice", key="the one")
    print("key", first.id == again.id, again.result(120).strip(), CLUSTER.find("the one").id == first.id, CLUSTER.find("other"))
    known = CLUSTER.job(CLUSTER.submit(add, 5, key="five").id)
    print("by number", known.result(120))
    many = CLUSTER.map(add, range(3), key="many")
    print("array", CLUSTER.map(add, range(3), key="many").ids == many.ids, CLUSTER.find("many").results(120))


if __name__ == "__main__":
    for name in sys.argv[1:] or ("functions", "commands", "arrays", "ends", "executor", "keys"):
        globals()[name]()
