"""A disk without room left: refused with the reason, nothing half submitted, and well again once there is room."""
import contextlib
import itertools
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from cluster import Cluster, Machine, poll
from processes import command_line, has_ended

MINKE_ONLY = True


@contextlib.contextmanager
def cluster_on(place: pathlib.Path, work: pathlib.Path, *mount: str):
    """A cluster whose home is a file system of its own."""
    if os.getuid() != 0:
        pytest.skip("mounting takes root")
    place.mkdir()
    if subprocess.run(["mount", *mount, place], capture_output=True).returncode:
        pytest.skip("this machine does not let root mount")
    one = None
    try:
        one = Cluster(place, Machine())
        one.work = work
        one.work.mkdir()
        yield one
    finally:
        if one:
            one.close()
        subprocess.run(["umount", "-l", place], check=True)


@pytest.fixture
def small_disk(tmp_path):
    """Of 24 MiB and 400 inodes, in memory."""
    with cluster_on(tmp_path / "small", tmp_path / "work", "-t", "tmpfs", "-o", "size=24m,nr_inodes=400,mode=0700",
                    "tmpfs") as one:
        yield one


@pytest.fixture
def small_file_system(request, tmp_path):
    """Of the kind that the test names, as small as it can be."""
    image = tmp_path / "image"
    with open(image, "wb") as file:
        file.truncate({"ext4": 48, "xfs": 300, "btrfs": 120}[request.param] << 20)
    if not shutil.which(f"mkfs.{request.param}"):
        pytest.skip(f"there is no mkfs.{request.param}")
    subprocess.run([f"mkfs.{request.param}", "-q", image], check=True, capture_output=True)
    with cluster_on(tmp_path / "small", tmp_path / "work", "-o", "loop", str(image)) as one:
        yield one


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


def take_inodes(place: pathlib.Path) -> pathlib.Path:
    """Leaves room, and nothing that could be made there."""
    directory = place / "inodes"
    directory.mkdir()
    try:
        for number in itertools.count():
            (directory / str(number)).touch()
    except OSError:
        return directory


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


def test_a_backup_for_which_there_is_no_room(small_disk):
    """It names the copy, not the database, which is on another disk; and leaves nothing."""
    cluster = small_disk
    cluster.submit("echo kept", "--hold")
    place = cluster.work / "full"
    place.mkdir()
    done = cluster.run("unshare", "-m", "sh", "-c",
                       'mount -t tmpfs -o size=16k none full && ! minke backup full/copy.db && ls -A full'
                       ' && mount -o remount,size=16m none full && touch full/copy.db.half && minke backup full/copy.db && ls -A full', check=0)
    assert done.stderr == "minke: error: cannot write full/copy.db: No space left on device\n"
    assert done.stdout.startswith("copied to full/copy.db;") and done.stdout.endswith("\ncopy.db\n"), done.stdout


def test_end_of_a_job(small_disk):
    """A job that ends while its end cannot be recorded is recorded once there is room."""
    cluster = small_disk
    job = cluster.submit("touch started; while [ ! -e finish ]; do sleep 0.1; done; exit 3")
    poll(lambda: (cluster.work / "started").exists())
    filler = fill(cluster.directory)
    (cluster.work / "finish").touch()
    poll(lambda: not any("slurm_script" in " ".join(command_line(pid)) for pid in cluster.processes()))
    filler.unlink()
    assert cluster.wait_end(job)["ExitCode"] == "3:0"
    assert cluster.sacct("-X", "-j", job) == [[str(job), "FAILED", "3:0"]]


def test_output_of_a_job(cluster):
    job = cluster.submit("echo text || exit 7", "--output=/dev/full")
    assert cluster.wait_end(job)["ExitCode"] == "7:0"


def waiting_jobs(cluster, count: int) -> list[int]:
    """Jobs that wait for the end of another, which ends when there is a file `finish`."""
    cluster.submit("touch started; while [ ! -e finish ]; do sleep 0.05; done", "--exclusive", "--nodes=2")
    poll(lambda: (cluster.work / "started").exists())
    return [cluster.submit('echo "$SLURM_JOB_ID" >> runs', "--mem=10") for _ in range(count)]


def reasons(cluster) -> list[str]:
    return cluster.queue("-t", "PD", format="%r")


def assert_all_ran_once(cluster, jobs: list[int]):
    poll(lambda: cluster.queue() == [], 90, "the end of all jobs")
    assert sorted((cluster.work / "runs").read_text().split()) == sorted(map(str, jobs))
    for job in jobs:
        assert cluster.sacct("-X", "--duplicates", "-j", job, format="JobID,State,Restarts") == [[str(job), "COMPLETED", "0"]]


def test_waiting_jobs_wait_until_there_is_room(small_disk):
    cluster = small_disk
    jobs = waiting_jobs(cluster, 6)
    filler = fill(cluster.directory)
    (cluster.work / "finish").touch()
    poll(lambda: len(reasons(cluster)) == 6 and all("No space left on device" in one for one in reasons(cluster)), 60,
         "the reason")
    assert "No space left on device" in cluster.run("minke", "status").stdout
    filler.unlink()
    assert_all_ran_once(cluster, jobs)


def test_waiting_jobs_wait_until_there_are_inodes(small_disk):
    """What happens can be stored, but a job's directory cannot be made."""
    cluster = small_disk
    jobs = waiting_jobs(cluster, 6)
    filler = take_inodes(cluster.directory)
    (cluster.work / "finish").touch()
    poll(lambda: len(reasons(cluster)) == 6 and all("No space left on device" in one for one in reasons(cluster)), 60,
         "the reason")
    assert "No space left on device" in cluster.run("minke", "why", jobs[0]).stdout
    shutil.rmtree(filler)
    assert_all_ran_once(cluster, jobs)


def test_commands_answer_while_nothing_can_be_stored(small_disk):
    """What they ask for is done where it can be, and they say that it is not stored."""
    cluster = small_disk
    jobs = waiting_jobs(cluster, 2)
    filler = fill(cluster.directory)
    done = cluster.run("scancel", jobs[0], timeout=10)
    assert done.returncode == 1 and "cannot be stored" in done.stderr and "No space left on device" in done.stderr
    assert "CANCELLED" not in " ".join(cluster.queue())
    for mode in ("--keep-jobs", "--cancel-jobs", None):
        done = cluster.run("minke", "down", *([mode] if mode else []), timeout=10)
        assert done.returncode == 1 and "cannot be stored" in done.stderr, done
    filler.unlink()
    (cluster.work / "finish").touch()
    poll(lambda: cluster.queue() == [], 60, "the end")
    assert (cluster.work / "runs").read_text() == f"{jobs[1]}\n"
    assert cluster.wait_end(jobs[0])["JobState"] == "CANCELLED"


def test_a_daemon_that_is_told_to_stop_stops_on_a_full_disk(small_disk):
    cluster = small_disk
    jobs = waiting_jobs(cluster, 1)
    filler = fill(cluster.directory)
    cluster.run("scancel", jobs[0], timeout=10)
    pid = cluster.pid()
    os.kill(pid, signal.SIGTERM)
    poll(lambda: has_ended(pid), 20, "the end of the daemon")
    filler.unlink()
    (cluster.work / "finish").touch()
    poll(lambda: cluster.queue() == [], 60, "the end")


@pytest.mark.parametrize("killed", [["minked"], ["launcher"], ["minked", "launcher"]], ids="-".join)
@pytest.mark.parametrize("take_all", [fill, take_inodes])
def test_what_is_killed_on_a_full_disk_starts_again(small_disk, take_all, killed):
    """What waits is told, a job can be cancelled, and all goes on when there is room. What ran and was lost with its
    launcher runs again then."""
    cluster = small_disk
    jobs = waiting_jobs(cluster, 2)
    filler = take_all(cluster.directory)
    for name in killed:
        cluster.kill(name)
    assert {str(job) for job in jobs} <= set(cluster.run("squeue", "-h", "-o", "%i", check=0, timeout=10).stdout.split())
    poll(lambda: re.search(r"^launcher +pid \d+$", cluster.run("minke", "status").stdout, re.MULTILINE), 30, "a launcher")
    done = cluster.run("scancel", jobs[1], timeout=10)
    assert done.returncode == (1 if take_all is fill else 0), done
    assert ("No space left on device" in done.stderr) == (take_all is fill), done
    told = cluster.run("minke", "status", timeout=10)
    assert take_all is not fill or "No space left on device" in told.stdout, told
    filler.unlink() if filler.is_file() else shutil.rmtree(filler)
    (cluster.work / "finish").touch()
    assert_all_ran_once(cluster, jobs[:1])
    states = [row[1].split()[0] for row in cluster.sacct("-X", "--duplicates", "-j", jobs[1])]
    assert states == ["CANCELLED"]
    ran = [row[1] for row in cluster.sacct("-X", "--duplicates", "-j", jobs[0] - 1)]
    assert ran == (["NODE_FAIL", "COMPLETED"] if "launcher" in killed else ["COMPLETED"])


@pytest.mark.parametrize("killed", [["minked"], ["minked", "launcher"]], ids="-".join)
@pytest.mark.parametrize("small_file_system", ["ext4", "xfs", "btrfs"], indirect=True)
def test_a_daemon_killed_on_a_full_file_system_starts_or_says_why_not(small_file_system, killed):
    """XFS makes no socket then, and btrfs changes no file. It starts when there is room, and nothing is lost."""
    cluster = small_file_system
    jobs = waiting_jobs(cluster, 2)
    filler = fill(cluster.directory)
    for name in killed:
        cluster.kill(name)
    done = cluster.run("squeue", "-h", "-o", "%i", timeout=10)
    if done.returncode == 0:
        assert {str(job) for job in jobs} <= set(done.stdout.split())
    else:
        assert "No space left on device" in done.stderr, done
    filler.unlink()
    (cluster.work / "finish").touch()
    assert_all_ran_once(cluster, jobs)


@pytest.mark.parametrize("mode", ["--keep-jobs", "--cancel-jobs"])
def test_the_cluster_can_be_taken_down_without_inodes(small_disk, mode):
    cluster = small_disk
    jobs = waiting_jobs(cluster, 1)
    filler = take_inodes(cluster.directory)
    cluster.run("minke", "down", mode, check=0, timeout=10)
    shutil.rmtree(filler)
    (cluster.work / "finish").touch()
    assert_all_ran_once(cluster, jobs)
    state = cluster.wait_end(jobs[0] - 1)["JobState"]
    assert state == ("COMPLETED" if mode == "--keep-jobs" else "CANCELLED")
