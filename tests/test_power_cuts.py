"""The power goes while a cluster whose home is on ext4, XFS or btrfs works: what was acknowledged is there, once, and
goes on by itself.

The disk keeps what was flushed, and of the rest what chance keeps (volatile_disk.py). Processes are killed while they
wait for it, so none is told of what is not kept; the next daemon finds another boot id. The jobs are the kill soak's,
and what must hold is what must hold there.
"""
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import pytest

from cluster import PATIENCE, Cluster, poll
from volatile_disk import MAKE, Unavailable, VolatileDisk

sys.path.insert(0, str(pathlib.Path(__file__).parent / "soak"))
from kill_soak import MACHINE, leftovers, prepare, send_kill, wait_for_all  # noqa: E402
from soak_checks import Checks, Killed  # noqa: E402
from soak_jobs import Backlog, Submitter, draw, release_what_nobody_knows  # noqa: E402

MINKE_ONLY = True
JOBS, CUTS = 120, 4
CHANGE_BOOT_ID = 'mount --bind "$0" /proc/sys/kernel/random/boot_id && exec "$@"'


class PoweredCluster(Cluster):
    """A cluster on a volatile disk. While the power is off nobody gives commands."""

    def __init__(self, directory: pathlib.Path, disk: VolatileDisk):
        super().__init__(disk.place, MACHINE)
        self.disk = disk
        self.work = directory / "work"
        self.work.mkdir()
        subprocess.run(["sync", "--file-system", disk.place], check=True)  # the configuration is an old one
        self._power = threading.Lock()
        self._boot_id = directory / "boot_id"

    def run(self, *command, timeout=60, check=None, **options):
        with self._power:
            process = self.start(*command, **options)
        return self._finish(process, command, timeout, check)

    @staticmethod
    def _finish(process, command, timeout, check):
        out, err = process.communicate(timeout=timeout * PATIENCE)
        assert check is None or process.returncode == check, f"{command}: {process.returncode}\n{out}\n{err}"
        return subprocess.CompletedProcess(command, process.returncode, out, err)

    def boot(self, number: int) -> None:
        """The daemon starts, without help."""
        self._boot_id.write_text(f"{number:08}-0000-4000-8000-000000000000\n")
        command = ("unshare", "--mount", "sh", "-c", CHANGE_BOOT_ID, self._boot_id, self.program, "up")
        self._finish(self.start(*command), command, 60, 0)

    def cut(self, number: int, seed: int) -> None:
        """The power goes and comes back, and the machine boots for this time."""
        with self._power:
            self.disk.cut(seed)
            killed: set[int] = set()
            while left := set(self.processes()) - killed:  # what waits for the disk dies when that answers
                for pid in left:
                    send_kill(pid)
                killed |= left
            self.disk.unmount_after_cut()
            poll(self.kill_all, 30, "the end of all processes")
            self.disk.mount()
            self.boot(number)


@pytest.fixture
def powered(request, tmp_path):
    if os.getuid() != 0:
        pytest.skip("mounting takes root")
    disk = cluster = None
    try:
        disk = VolatileDisk(tmp_path, request.param)
        cluster = PoweredCluster(tmp_path, disk)
        yield cluster
    except Unavailable as reason:
        pytest.skip(str(reason))
    finally:
        if cluster:
            cluster.close()
        if disk:
            disk.close()


@pytest.mark.parametrize("powered", list(MAKE), indirect=True)
def test_power_cuts(powered):
    seed = random.randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    jobs, backlog = draw(seed, JOBS), Backlog()
    powered.boot(0)
    prepare(powered)
    submitters = [Submitter(powered, jobs[part::3], backlog) for part in range(3)]
    for submitter in submitters:
        submitter.start()
    for cut in range(1, CUTS + 1):
        share = len(jobs) * cut / (CUTS + 1)
        poll(lambda: backlog.seen(len(powered.queue("-r"))) or sum(one.done for one in submitters) >= share, 120,
             "the submissions before the next cut")
        time.sleep(chance.uniform(0, 0.5))
        powered.cut(cut, chance.randrange(1 << 32))
    poll(lambda: backlog.seen(len(powered.queue("-r"))) or not any(one.is_alive() for one in submitters), 120,
         "the end of the submissions")
    release_what_nobody_knows(powered, jobs)
    problems = [text for one in submitters for text in one.problems]
    problems += wait_for_all(powered, powered.queue("-r", format="%i %T %r %S"))
    problems += leftovers(powered)
    checks = Checks(powered, jobs, Killed(power=True))
    problems += checks.all()
    print(dict(checks.figures))
    assert problems == [], "\n".join(problems)
