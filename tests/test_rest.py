"""A cluster with nothing to do does nothing: no timer wakes the daemon or the launcher."""
import pathlib
import time

import pytest

from cluster import poll

MINKE_ONLY = True
SECONDS = 4


def switches(pid: int) -> int:
    """How often its threads have given up a processor; at rest, once for each time that one woke."""
    return sum(int(line.split()[1]) for task in pathlib.Path(f"/proc/{pid}/task").iterdir()
               for line in (task / "status").read_text().splitlines() if "ctxt_switches" in line)


def assert_at_rest(cluster) -> None:
    """Seconds pass in which nothing wakes, once what there was to do is done."""
    def rests() -> bool:
        before = [switches(cluster.pid(name)) for name in ("minked", "launcher")]
        time.sleep(SECONDS)
        return before == [switches(cluster.pid(name)) for name in ("minked", "launcher")]
    poll(rests, 5, "rest")


def test_new(cluster):
    cluster.run("minke", "up", check=0)
    assert_at_rest(cluster)


def test_after_work(cluster):
    cluster.run("sbatch", "--wait", "--array=0-49", cluster.script("true"), check=0)
    assert_at_rest(cluster)


@pytest.mark.parametrize("options", [["--hold"], ["--begin=now+1day"], ["--dependency=singleton", "--hold"]])
def test_with_jobs_that_cannot_start(cluster, options):
    cluster.submit("true", *options)
    assert_at_rest(cluster)


def test_memory_at_rest(cluster):
    cluster.run("sbatch", "--wait", "--array=0-49", cluster.script("true"), check=0)
    resident = next(int(line.split()[1]) for line in pathlib.Path(f"/proc/{cluster.pid()}/status").read_text().splitlines()
                    if line.startswith("VmRSS"))
    assert resident <= 20 << 10
