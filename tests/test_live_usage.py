"""What one has in the tiers, followed while it changes: minke storage-watch. Needs root, and a kernel that tells."""
import getpass
import json
import os
import pathlib
import random
import shutil
import subprocess
import time

import pytest

from cluster import Cluster, Machine, poll
from test_storage import minke

USER = getpass.getuser()
pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="the kernel tells only root what changes")


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=f'[storage]\nprofile = "narval"\nroot = "{tmp_path}/disks"\n'))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    cluster.run("minke", "storage", "init", check=0)
    yield cluster
    cluster.close()


def published(cluster, path: pathlib.Path) -> dict | None:
    """What stands in the file of this path."""
    for file in (cluster.home / "storage-live").glob("????????????????"):
        try:
            numbers, of = file.read_text().split("\n", 1)
        except FileNotFoundError:
            continue
        if of == str(path):
            return dict(zip(("space", "bytes", "entries"), map(int, numbers.split())))
    return None


def counted(path: pathlib.Path) -> dict:
    found = json.loads(minke("storage", "scan", "--json", path).stdout)
    return {name: found[name] for name in ("space", "bytes", "entries")}


def test_it_follows_whatever_happens_to_a_tree(cluster):
    scratch = cluster.directory / "disks/scratch" / USER
    outside = cluster.directory / "outside"
    outside.mkdir()
    for number in range(40):
        (scratch / f"d{number % 5}" / "e").mkdir(parents=True, exist_ok=True)
        (scratch / f"d{number % 5}/e/f{number}").write_bytes(b"x" * number * 100)
    cluster.run("squeue", check=0)  # a daemon, which starts the watcher
    poll(lambda: published(cluster, scratch) == counted(scratch), what="the first count")
    chance = random.Random(1)
    for number in range(60):
        directories = [scratch, *(path for path in scratch.rglob("*") if path.is_dir())]
        files = [path for path in scratch.rglob("*") if path.is_file()]
        into = chance.choice(directories) / f"n{number}"
        # Directories are listed in another order on each file system, so chance may have taken all of them away.
        match chance.randrange(8) if files and directories[1:] else 0:
            case 0:
                into.mkdir()
                (into / "deep").mkdir()
                (into / "deep/file").write_bytes(b"x" * 5000)
            case 1:
                shutil.rmtree(chance.choice(directories[1:]), ignore_errors=True)
            case 2:
                os.link(chance.choice(files), into)
            case 3:
                with open(chance.choice(files), "ab") as file:
                    file.write(b"x" * 10_000)
            case 4:
                chance.choice(files).unlink()
            case 5:
                moved = chance.choice(directories[1:])
                moved.rename(outside / f"m{number}")
            case 6:
                for away in list(outside.iterdir())[:1]:
                    away.rename(into)
            case 7:
                os.truncate(chance.choice(files), 3)
        if number % 10 == 9:
            poll(lambda: published(cluster, scratch) == counted(scratch), what=f"the count after {number + 1} changes")
    shown = cluster.run("minke", "storage", "usage", "--json", check=0).stdout
    assert str(published(cluster, scratch)["entries"]) in shown


def test_it_ends_with_the_daemon_and_nobody_believes_it_then(cluster):
    scratch = cluster.directory / "disks/scratch" / USER
    cluster.run("squeue", check=0)
    poll(lambda: published(cluster, scratch), what="the first count")
    watcher = [int(entry.name) for entry in pathlib.Path("/proc").glob("[0-9]*")
               if b"storage-watch\0" + os.fsencode(cluster.home) in read(entry / "cmdline")]
    assert len(watcher) == 1
    cluster.run("minke", "down", check=0)
    poll(lambda: not os.path.exists(f"/proc/{watcher[0]}"), what="the watcher's end")
    (scratch / "new").write_text("x")
    time.sleep(0.5)
    assert published(cluster, scratch) != counted(scratch)
    shown = cluster.run("minke", "storage", "usage", "--json", check=0).stdout
    assert str(counted(scratch)["entries"]) in shown


def read(path: pathlib.Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
