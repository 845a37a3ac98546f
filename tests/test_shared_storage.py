"""Storage of a cluster that serves all users: what is done for them is done with their rights, and to nobody else."""
import datetime
import pathlib
import subprocess

import pytest

from cluster import poll
from test_shared import NEEDS_ROOT, Shared, passable_directory

pytestmark = [NEEDS_ROOT, pytest.mark.minke_only]


@pytest.fixture
def shared():
    disks = passable_directory()
    cluster = Shared(tables=f'\n[storage]\nprofile = "narval"\nroot = "{disks}"\npurge = true\ncount_interval = 1\n'
                            "[storage.scratch]\nfiles = 20\n")
    cluster.disks = disks
    for user in (cluster.alice, cluster.bob):
        cluster.minke("storage", "init", "--user", user.name)
    yield cluster
    cluster.close()
    subprocess.run(["rm", "-rf", disks], check=True)


def local(month, day, hour=12):
    return str(int(datetime.datetime(2031, month, day, hour).timestamp()))


def test_one_users_quota_holds_nobody_else(shared):
    alice, bob = shared.alice, shared.bob
    scratch = shared.disks / "scratch" / alice.name
    alice.python("import sys, pathlib\nfor n in range(50): pathlib.Path(sys.argv[1], str(n)).touch()", scratch)
    blocker = bob.sbatch("--exclusive", "--nodes=2", "--wrap", "sleep 1000")
    bob.wait_state(blocker, "RUNNING")
    held, other = alice.sbatch("--wrap", "true"), bob.sbatch("--wrap", "echo $SCRATCH")
    poll(lambda: "DiskQuotaExceeded" in alice.job(held)["Reason"], what="the reason")
    bob.run("scancel", blocker, check=0)
    assert bob.output(other) == f"{shared.disks}/scratch/{bob.name}\n"
    assert alice.state(held) == "PENDING"
    alice.python("import sys, pathlib\nfor n in range(50): pathlib.Path(sys.argv[1], str(n)).unlink()", scratch)
    alice.wait_state(held, "COMPLETED")


def test_purge_has_no_more_rights_than_the_owner(shared):
    alice, bob = shared.alice, shared.bob
    scratch = shared.disks / "scratch"
    own = scratch / alice.name / "own"
    alice.python("import sys; open(sys.argv[1], 'w').write('x')", own)
    of_root = scratch / alice.name / "of-root"
    of_root.mkdir()
    (of_root / "file").touch()
    victim = bob.work / "victim"
    bob.python("import sys; open(sys.argv[1], 'w').write('x')", victim)
    alice.python("import os, sys; os.symlink(sys.argv[1], sys.argv[2])", bob.work, scratch / alice.name / "link")
    # Nobody's directory: it is not that of the user whose name it has.
    (scratch / "daemon").mkdir()
    (scratch / "daemon/file").touch()
    config = shared.root["MINKE_CONFIG"]
    for day in (1, 12):
        shared.minke("storage-keep", shared.home, config, local(11, day))
    listed = scratch / "to_delete" / alice.name
    assert str(own) in listed.read_text() and listed.stat().st_uid == alice.uid
    assert alice.run("cat", listed, check=0).stdout and bob.run("cat", listed).returncode != 0
    done = subprocess.run([shared.program, "storage-keep", shared.home, config, local(11, 16)], env=shared.root,
                          capture_output=True, text=True, timeout=60)
    assert "of-root/file: Permission denied" in done.stderr
    assert not own.exists() and (of_root / "file").exists() and victim.exists() and (scratch / "daemon/file").exists()
    assert str(own) in (shared.home / "purge.log").read_text()


def test_staged_data_are_kept_for_the_users_next_job(shared):
    alice, bob = shared.alice, shared.bob
    for user in (alice, bob):
        user.python("import os, pathlib\nos.makedirs('cats')\npathlib.Path('cats/1').write_text('meow')")
        for _ in range(2):
            job = user.submit("#!/bin/bash\n#MINKE stage=cats\ncat $SLURM_TMPDIR/cats/1; readlink $SLURM_TMPDIR/cats")
            assert user.output(job).startswith("meow")
    caches = sorted(pathlib.Path(shared.home).glob("tmp/stage-cache-*"))
    assert sorted(path.stat().st_uid for path in caches) == sorted([alice.uid, bob.uid])
    assert all(path.stat().st_mode & 0o777 == 0o700 for path in caches)
    assert all(len(list(path.glob("*/content"))) == 1 for path in caches)
    assert bob.run("ls", caches[[path.stat().st_uid for path in caches].index(alice.uid)]).returncode != 0
