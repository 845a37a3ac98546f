"""Snapshots and the purge of scratch, by the calendar."""
import datetime
import errno
import fcntl
import getpass
import os
import pathlib
import re
import shutil
import subprocess
import time

import pytest

from cluster import Cluster, Machine, poll

USER = getpass.getuser()


def local(month, day, hour=12):
    return int(datetime.datetime(2031, month, day, hour).timestamp())


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=(
        f'[storage]\nprofile = "narval"\nroot = "{tmp_path}/disks"\npurge = true\nsnapshots = true\n'
        f'[mail]\nprogram = "{tmp_path}/sendmail"\n')))
    (tmp_path / "me").mkdir()
    program = tmp_path / "sendmail"
    program.write_text(f'#!/bin/sh\ncat >> {tmp_path}/mails\n')
    program.chmod(0o755)
    cluster.environment["HOME"] = str(tmp_path / "me")
    cluster.run("minke", "storage", "init", check=0)
    yield cluster
    cluster.close()


def keep(cluster, now):
    """The seconds until it wants to be started again."""
    return int(cluster.run("minke", "storage-keep", cluster.home, cluster.environment["MINKE_CONFIG"], now,
                           check=0).stdout)


def aged(path, days):
    """A file that was last used so long ago. The time of change cannot be set: those who ask must come later."""
    path.write_text("x" * 1000)
    then = time.time() - days * 86400
    os.utime(path, (then, then))
    return path


def test_purge_tells_twice_and_removes_what_is_still_not_used(cluster):
    scratch = cluster.directory / "disks/scratch" / USER
    listed = cluster.directory / "disks/scratch/to_delete" / USER
    old, odd, used = aged(scratch / "old", 9), aged(scratch / "odd\nname", 9), aged(scratch / "used", 9)
    outside = aged(cluster.directory / "outside", 9)
    (scratch / "link").symlink_to(outside)
    keep(cluster, local(11, 1))
    assert str(old) in listed.read_text() and "odd\\nname" in listed.read_text()
    shell = 'eval "$("$0" env --over-slurm)"'
    told = subprocess.run(["script", "-qec", f"bash -c '{shell}' {cluster.program}", "/dev/null"],
                          env=cluster.environment, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL)
    assert str(listed) in told.stdout
    keep(cluster, local(11, 11))
    keep(cluster, local(11, 12))
    assert old.exists()
    keep(cluster, local(11, 15, 23))
    assert old.exists() and odd.exists()
    later = local(11, 14)
    os.utime(used, (later, later))
    keep(cluster, local(11, 16, 1))
    assert not old.exists() and not odd.exists() and used.exists() and outside.exists()
    assert not (scratch / "link").is_symlink() and not listed.exists()
    mails = (cluster.directory / "mails").read_text()
    assert mails.count(f"To: {USER}") == 2 and mails.count("Subject: Last notice: 4 files") == 1
    assert str(listed) in mails.replace("=\n", "")
    log = (cluster.home / "purge.log").read_text()
    assert str(old) in log and "odd\\nname" in log and "used" not in log
    # Who was told nothing loses nothing, and the month has one removal.
    new = aged(scratch / "new", 9)
    keep(cluster, local(11, 20))
    assert new.exists()


@pytest.fixture
def saved(cluster):
    """A directory that has changed since the last snapshot."""
    work = next((cluster.directory / "disks/project").iterdir()) / USER / "work"
    work.mkdir()
    (work / "file").write_text("before")
    keep(cluster, int(time.time()))
    (work / "file").write_text("after")
    return work


def test_what_a_killed_restore_left_is_not_in_the_next_one(cluster, saved):
    left = saved.parent / ".work.minke-partial"
    left.mkdir()
    (left / "stale").write_text("of another version")
    cluster.run("minke", "restore", saved, "--latest", "--replace", check=0)
    assert [path.name for path in saved.iterdir()] == ["file"] and (saved / "file").read_text() == "before"
    assert [path.name for path in saved.parent.iterdir()] == ["work"]
    cluster.run("minke", "restore", saved / "file", "--latest", "--to", f"{saved}/sub/again/", check=0)
    assert (saved / "sub/again").read_text() == "before"


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("what", ["work", "work/file"])
def test_a_killed_restore_leaves_the_old_or_the_new(cluster, saved, what):
    path, ends = saved.parent / what, set()
    for rename in range(1, 9):
        (saved / "file").write_text("after")
        done = cluster.run("strace", "-f", "-o", "/dev/null", "-e", "trace=rename,renameat,renameat2",
                           "-e", f"inject=rename,renameat,renameat2:signal=KILL:when={rename}",
                           cluster.program, "restore", path, "--latest", "--replace")
        ends.add((saved / "file").read_text())
        if done.returncode == 0:
            break
    assert done.returncode == 0 and rename > 1 and (saved / "file").read_text() == "before"
    assert "before" in ends


def test_nothing_goes_without_notices(cluster):
    old = aged(cluster.directory / "disks/scratch" / USER / "old", 9)
    wait = keep(cluster, local(11, 20))
    assert old.exists() and wait <= 86400
    keep(cluster, local(11, 22))
    keep(cluster, local(12, 16))  # the next month begins with its own notices
    assert old.exists()


def test_snapshots_are_made_and_a_file_comes_back(cluster):
    project = next((cluster.directory / "disks/project").iterdir()) / USER
    thesis = project / "thesis.tex"
    thesis.write_text("chapter one\n")
    poll(lambda: keep(cluster, int(time.time())) > 0, what="the keeper")
    snapshots = project.parent / ".snapshots"
    first, = snapshots.iterdir()
    assert (first / USER / "thesis.tex").read_text() == "chapter one\n"
    thesis.write_text("all is lost\n")
    keep(cluster, int(time.time()) + 86400)
    thesis.unlink()
    lines = cluster.run("minke", "restore", thesis, check=0).stdout.splitlines()
    assert lines[0].split() == ["VERSION", "SIZE", "CHANGED"] and len(lines) == 4
    versions = [line.split()[0] for line in lines[1:3]]
    assert versions[1] == first.name
    cluster.run("minke", "restore", thesis, "--latest", check=0)
    assert thesis.read_text() == "all is lost\n"
    assert "--replace" in cluster.run("minke", "restore", thesis, "--version", first.name, check=1).stderr
    cluster.run("minke", "restore", thesis, "--version", first.name, "--to", project / "old.tex", check=0)
    assert (project / "old.tex").read_text() == "chapter one\n"
    cluster.run("minke", "restore", "thesis.tex", "--version", first.name, "--replace", cwd=project, check=0)
    assert thesis.read_text() == "chapter one\n"
    assert sorted(entry.name for entry in project.iterdir()) == ["old.tex", "thesis.tex"]
    assert "no snapshot" in cluster.run("minke", "restore", project / "never", check=1).stderr
    # What a user has in snapshots does not count as the user's.
    usage = cluster.run("minke", "usage", "--storage", check=0).stdout
    assert "project" in usage
    for day in range(2, 40):
        keep(cluster, int(time.time()) + day * 86400)
    assert 28 <= len(list(snapshots.iterdir())) <= 31


def test_a_directory_that_is_new_waits_a_minute_for_its_snapshot(cluster):
    """The keeper wants to look again soon, though nothing that it knows is due before tomorrow."""
    assert keep(cluster, int(time.time())) <= 60
    project = next((cluster.directory / "disks/project").iterdir())
    shutil.rmtree(project)
    assert keep(cluster, int(time.time())) <= 60
    project.mkdir()
    keep(cluster, int(time.time()))
    assert list(project.glob(".snapshots/@GMT-*"))


def test_what_one_snapshot_takes_does_not_delay_the_next(cluster):
    """The wait is counted from the keeper's end, and its snapshot has the time at which it was begun."""
    home = pathlib.Path(cluster.environment["HOME"])
    keep(cluster, local(11, 1))
    first, = home.glob(".snapshots/@GMT-*")
    assert abs(datetime.datetime.strptime(first.name, "@GMT-%Y.%m.%d-%H.%M.%S").replace(tzinfo=datetime.timezone.utc).timestamp()
               - local(11, 1)) < 60


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_long_purge_delays_no_snapshot(cluster):
    """Each removal takes a second; the snapshot is due two seconds after the first."""
    scratch, home = cluster.directory / "disks/scratch" / USER, pathlib.Path(cluster.environment["HOME"])
    for number in range(6):
        aged(scratch / f"old{number}", 9)
    for now in (local(11, 1), local(11, 12)):
        keep(cluster, now)
    configuration = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    text = configuration.read_text()
    configuration.write_text(text.replace("purge = true", "purge = false"))
    due = local(11, 17, 23) // 86400 * 86400  # when one of each day is
    keep(cluster, due - 3600)
    configuration.write_text(text)
    cluster.run("strace", "-f", "-o", "/dev/null", "-e", "trace=unlinkat", "-e", "inject=unlinkat:delay_enter=1000000",
                cluster.program, "storage-keep", cluster.home, configuration, due - 2, check=0)
    assert not list(scratch.glob("old*"))
    newest = max(home.glob(".snapshots/@GMT-*")).name
    made = datetime.datetime.strptime(newest, "@GMT-%Y.%m.%d-%H.%M.%S").replace(tzinfo=datetime.timezone.utc).timestamp()
    assert 0 <= made - due <= 2


def test_a_snapshot_that_the_disk_has_no_room_for(cluster):
    """It says how much is free, leaves nothing, and is tried again an hour later."""
    configuration = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    text = configuration.read_text()
    configuration.write_text(text.replace("[storage]\n", '[storage]\nsnapshot_free = "900P"\n'))
    home, now = pathlib.Path(cluster.environment["HOME"]), int(time.time())
    words = ("minke", "storage-keep", cluster.home, configuration)
    done = cluster.run(*words, now, check=1)
    assert re.search(rf"no snapshot of {home}: .* are free on this disk: 900 PiB are to stay free", done.stderr)
    assert int(done.stdout) <= 60 and not list(home.glob(".snapshots/*"))
    assert "no snapshot" not in cluster.run(*words, now + 120).stderr
    assert "no snapshot" in cluster.run(*words, now + 3700).stderr
    configuration.write_text(text)
    keep(cluster, now + 2 * 3700)
    assert list(home.glob(".snapshots/@GMT-*"))
    configuration.write_text(text.replace("[storage]\n", '[storage]\nsnapshot_free = "a lot"\n'))
    assert "must be a part of the disk" in cluster.run(*words, check=1).stderr


def test_the_daemon_keeps_storage_by_itself(cluster):
    cluster.run("minke", "up", check=0)
    home = pathlib.Path(cluster.environment["HOME"])
    poll(lambda: list(home.glob(".snapshots/@GMT-*")), what="a snapshot")
    poll(lambda: (cluster.home / "storage-state/purge-scratch").exists(), what="the purge's state")


@pytest.fixture
def btrfs(tmp_path):
    """A small file system of its own, mounted."""
    if os.geteuid() != 0 or not shutil.which("mkfs.btrfs") or "btrfs" not in pathlib.Path(
            "/proc/filesystems").read_text():
        pytest.skip("root, btrfs-progs and a kernel with btrfs are needed")
    image, disk = tmp_path / "image", tmp_path / "disk"
    disk.mkdir()
    with open(image, "wb") as file:
        file.truncate(256 << 20)
    subprocess.run(["mkfs.btrfs", "-q", image], check=True)
    if subprocess.run(["mount", "-o", "loop", image, disk], capture_output=True).returncode != 0:
        pytest.skip("no loop mounts here")
    yield disk
    subprocess.run(["umount", disk], check=True)


def test_btrfs_snapshots_and_limits_its_subvolumes(btrfs, tmp_path):
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=(
        f'[storage]\nprofile = "narval"\nroot = "{btrfs}"\nsnapshots = true\n'
        '[storage.project]\nspace = "20M"\n')))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    assert "by the file system" in cluster.run("minke", "storage", "init", check=0).stdout
    project, = (btrfs / "project").iterdir()
    assert project.stat().st_ino == 256  # a subvolume
    (project / USER / "file").write_text("x")
    now = int(time.time())
    keep(cluster, now)
    snapshot, = (project / ".snapshots").iterdir()
    with pytest.raises(OSError):
        (snapshot / USER / "file").write_text("y")
    (project / USER / "file").unlink()
    cluster.run("minke", "restore", project / USER / "file", "--latest", check=0)
    assert (project / USER / "file").read_text() == "x"
    for day in range(1, 35):
        keep(cluster, now + day * 86400)
    assert len(list((project / ".snapshots").iterdir())) <= 31
    with pytest.raises(OSError) as full, open(project / USER / "large", "wb") as file:
        for _ in range(40):
            file.write(os.urandom(1 << 20))
            os.fsync(file.fileno())
    assert full.value.errno == errno.EDQUOT


def kept_and_killed(cluster, now, waits) -> int:
    """Killed at many points; how often it came to its end by itself."""
    ended = 0
    for wait in waits:
        keeping = subprocess.Popen([cluster.program, "storage-keep", cluster.home, cluster.environment["MINKE_CONFIG"],
                                    str(now)], env=cluster.environment, stdout=subprocess.DEVNULL)
        time.sleep(wait)
        keeping.kill()
        ended += keeping.wait() == 0
        poll(lambda: nobody_keeps(cluster), what="the end of what it had started")
    return ended


def nobody_keeps(cluster) -> bool:
    try:
        with open(cluster.home / "storage-state/lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except FileNotFoundError:
        return True
    except BlockingIOError:
        return False


def test_a_purge_that_is_killed_at_any_point_is_gone_on_with(cluster):
    scratch = cluster.directory / "disks/scratch" / USER
    for number in range(1500):
        (scratch / str(number % 7)).mkdir(exist_ok=True)
        aged(scratch / str(number % 7) / f"f{number}", 9)
    outside = cluster.directory / "outside"
    outside.mkdir()
    aged(outside / "file", 9)
    (scratch / "way").symlink_to(outside)
    before = {path for path in scratch.rglob("*") if path.is_symlink() or path.is_file()}
    kept_and_killed(cluster, local(11, 1), [0.005 * number for number in range(8)])
    keep(cluster, local(11, 1))
    keep(cluster, local(11, 1))
    keep(cluster, local(11, 12))
    keep(cluster, local(11, 12))
    log, left = cluster.home / "purge.log", before
    for number in range(30):
        kept_and_killed(cluster, local(11, 16, 1), [0.004 * number])
        left = {path for path in scratch.rglob("*") if path.is_symlink() or path.is_file()}
        told = set(log.read_text().split("\n")) if log.exists() else set()
        told = {line.split(" ", 3)[3] for line in told if line.count(" ") >= 3}
        assert {str(path) for path in before - left} <= told
        if not left:
            break
    keep(cluster, local(11, 16, 1))
    assert not [path for path in scratch.rglob("*") if path.is_symlink() or path.is_file()]
    assert (outside / "file").exists()
    told = [line.split(" ", 3)[3] for line in log.read_text().splitlines()]
    assert set(told) == {str(path) for path in before}
    # One that was killed before it noted a notice gives it again at most; one that has noted it does not.
    mails = (cluster.directory / "mails").read_text()
    assert mails.count("Subject: Last notice") == 1
    keep(cluster, local(11, 16, 2))
    assert (cluster.directory / "mails").read_text() == mails
