"""A disk without room left: refused with the reason, nothing half submitted, and well again once there is room."""
import os
import pathlib
import subprocess

import pytest

from cluster import Cluster, Machine, poll

MINKE_ONLY = True


@pytest.fixture
def small_disk(tmp_path):
    """A cluster whose home is a file system of its own, of 24 MiB."""
    if os.getuid() != 0:
        pytest.skip("mounting takes root")
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m,mode=0700", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("this machine does not let root mount")
    one = None
    try:
        one = Cluster(place, Machine())
        one.work = tmp_path / "work"
        one.work.mkdir()
        yield one
    finally:
        if one:
            one.close()
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill(place: pathlib.Path) -> pathlib.Path:
    """Takes all the room there is."""
    path = place / "filler"
    with open(path, "wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue
    return path


def command_line(pid: int) -> str:
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""


def test_submission(small_disk):
    cluster = small_disk
    kept = cluster.submit("echo kept", "--hold")
    filler = fill(cluster.directory)
    done = cluster.run("sbatch", cluster.script("echo " + "x" * 200_000))
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.startswith("sbatch: error: Batch job submission failed: ") and "no space left" in done.stderr.lower()
    assert cluster.queue(format="%i") == [str(kept)]

    filler.unlink()
    assert cluster.output(cluster.submit("echo again")) == "again\n"
    cluster.run("scontrol", "release", kept, check=0)
    assert cluster.output(kept) == "kept\n"
    poll(lambda: cluster.queue() == [])


def test_end_of_a_job(small_disk):
    """A job that ends while its end cannot be recorded is recorded once there is room."""
    cluster = small_disk
    job = cluster.submit("touch started; while [ ! -e finish ]; do sleep 0.1; done; exit 3")
    poll(lambda: (cluster.work / "started").exists())
    filler = fill(cluster.directory)
    (cluster.work / "finish").touch()
    poll(lambda: not any("slurm_script" in command_line(pid) for pid in cluster.processes()))
    filler.unlink()
    assert cluster.wait_end(job)["ExitCode"] == "3:0"
    assert cluster.sacct("-X", "-j", job) == [[str(job), "FAILED", "3:0"]]


def test_output_of_a_job(cluster):
    job = cluster.submit("echo text || exit 7", "--output=/dev/full")
    assert cluster.wait_end(job)["ExitCode"] == "7:0"
