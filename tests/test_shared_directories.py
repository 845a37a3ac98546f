"""Directories that only one job sees, and their limits."""
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from cluster import ROOT, plain_environment, poll
from shared import NEEDS_ROOT, Shared, passable_directory

MINKE_ONLY = True
pytestmark = NEEDS_ROOT


@pytest.fixture
def with_private_tmp():
    one = Shared("private_tmp = true\n", parent="/var/tmp")
    yield one
    one.close()


def test_private_directories(with_private_tmp):
    """/tmp and /dev/shm are each job's own, the same to all its steps, and gone with it."""
    one = with_private_tmp
    marks = {directory: pathlib.Path(directory) / f"mark{os.getpid()}" for directory in ("/tmp", "/dev/shm")}
    script = "\n".join(f"ls -A {directory}; echo hers > {mark}; srun cat {mark}; srun cp {mark} {mark}.step\n"
                       f"cat {mark}.step; stat -c %U:%a {directory}" for directory, mark in marks.items())
    job = one.alice.submit(script + "\ntouch there; while [ ! -e go ]; do sleep 0.05; done")
    poll(lambda: (one.alice.work / "there").exists())
    for directory, mark in marks.items():
        assert not mark.exists()
        assert one.bob.run("srun", "ls", "-A", directory, check=0).stdout == ""
        assert one.alice.run("srun", "--overlap", f"--jobid={job}", "cat", mark, check=0).stdout == "hers\n"
    for hidden in (one.home / "shm", one.home / "tmp" / f"job{job}.tmp"):
        assert one.bob.run("ls", hidden).returncode != 0
    (one.alice.work / "go").touch()
    assert one.alice.output(job).splitlines() == ["hers", "hers", f"{one.alice.name}:700"] * 2
    poll(lambda: not list((one.home / "tmp").glob("job*")), what="the end of the job's directories")
    poll(lambda: not list((one.home / "shm").iterdir()), what="the end of what was kept for her next job")
    assert one.bob.run("srun", "bash", "-c", "umount /tmp 2>/dev/null && echo in; true", check=0).stdout == ""


def test_private_directories_are_removed_after_a_crash(with_private_tmp):
    one = with_private_tmp
    job = one.alice.submit("echo left > /tmp/left; echo left > /dev/shm/left; touch there; sleep 1000", "--no-requeue")
    poll(lambda: (one.alice.work / "there").exists())
    os.kill(one.pid("launcher"), signal.SIGKILL)
    assert one.alice.wait_end(job)["JobState"] == "NODE_FAIL"
    poll(lambda: not list((one.home / "tmp").glob("job*")) and not list((one.home / "shm").iterdir()),
         what="the end of the job's directories")
    assert one.bob.run("srun", "ls", "-A", "/tmp", "/dev/shm", check=0).stdout == "/dev/shm:\n\n/tmp:\n"


FILL = """import os, sys
for path in sys.argv[1:]:
    written = 0
    try:
        with open(path, "wb", buffering=0) as file:
            while written < 400:
                written += file.write(bytes(1 << 20)) >> 20
    except OSError as error:
        print(error.strerror, written)
    else:
        print("wrote", written)
"""


@pytest.fixture(scope="module")
def with_tmp_size():
    try:
        one = Shared('private_tmp = true\ntmp_size = "64M"\n', parent="/var/tmp")
    except AssertionError as error:
        if "tmp_size" in str(error):
            pytest.skip(str(error))  # a kernel without loop devices
        raise
    yield one
    one.close()
    assert str(one.directory) not in pathlib.Path("/proc/self/mounts").read_text()


def left_of_directories(one) -> list[str]:
    return [path.name for path in (one.home / "tmp").iterdir() if not path.name.startswith((".image", ".stage"))] + [
        line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if f"{one.home}/tmp/" in line]


def test_temporary_directories_of_a_limited_size(with_tmp_size):
    """A job cannot fill the disk by $SLURM_TMPDIR, nor by its /tmp, and gets each other's room back."""
    one = with_tmp_size
    one.alice.script(FILL, "fill.py")
    job = one.alice.submit("python3 fill.py $SLURM_TMPDIR/big; stat -c %U:%a $SLURM_TMPDIR; ls -A $SLURM_TMPDIR\n"
                           "rm $SLURM_TMPDIR/big; srun python3 fill.py /tmp/big; rm /tmp/big\n"
                           "chattr -p 7 $SLURM_TMPDIR 2>/dev/null; cp /bin/true $SLURM_TMPDIR; findmnt -no OPTIONS $SLURM_TMPDIR\n")
    full, owner, names, private, options = one.alice.output(job).splitlines()[-5:]
    for told in (full, private):
        error, written = told.rsplit(" ", 1)
        assert error == "No space left on device" and 48 <= int(written) < 64
    assert (owner, names) == (f"{one.alice.name}:700", "big") and "nosuid,nodev" in options
    poll(lambda: not left_of_directories(one), what="the removal")
    assert one.bob.run("cat", one.home / "tmp" / ".image.67108864").returncode != 0


def test_the_next_job_finds_it_empty(with_tmp_size):
    one = with_tmp_size
    for user in (one.alice, one.bob):
        job = user.submit("ls -A $SLURM_TMPDIR /tmp; echo mine > $SLURM_TMPDIR/file; echo mine > /tmp/file")
        assert len(user.output(job).split()) == 2  # the names of the directories


def test_limited_directories_are_removed_after_a_crash(with_tmp_size):
    one = with_tmp_size
    job = one.alice.submit("echo left > $SLURM_TMPDIR/left; touch there; sleep 1000", "--no-requeue")
    poll(lambda: (one.alice.work / "there").exists())
    assert left_of_directories(one)
    os.kill(one.pid("launcher"), signal.SIGKILL)
    assert one.alice.wait_end(job)["JobState"] == "NODE_FAIL"
    poll(lambda: not left_of_directories(one), what="the removal")


def test_home_below_a_private_tmp_is_refused():
    directory = passable_directory()
    (directory / "minke.toml").write_text("private_tmp = true\n")
    environment = plain_environment() | {"MINKE_HOME": str(directory / "home"),
                                         "MINKE_CONFIG": str(directory / "minke.toml")}
    program = os.environ.get("MINKE", ROOT / "build/minke")
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "neither the home nor tmp_root may be there" in done.stderr
    shutil.rmtree(directory)
