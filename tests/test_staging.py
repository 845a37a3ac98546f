"""Data on the node's own disk: minke stage, #MINKE stage= and collect=."""
import fnmatch
import os
import pathlib
import shutil
import subprocess


import pytest

from cluster import Cluster, Machine, poll


@pytest.fixture
def cluster(tmp_path):
    cluster = Cluster(tmp_path, Machine(nodes=1, cpus=2, kill_wait=6))
    yield cluster
    cluster.close()
    # So that what is in the cache can be removed. What a job has left may be on its way out meanwhile.
    subprocess.run(["chmod", "-R", "u+w", tmp_path], check=False, stderr=subprocess.DEVNULL)


@pytest.fixture
def archive(cluster) -> pathlib.Path:
    root = cluster.work / "images"
    root.mkdir()
    for number in range(20):
        (root / f"{number}.png").write_text(f"image {number}")
    subprocess.run(["tar", "-cf", "images.tar", "images"], cwd=cluster.work, check=True)
    return cluster.work / "images.tar"


def cache_entries(cluster) -> list[str]:
    return [pathlib.Path(above) / "content" for above, below, files in os.walk(cluster.directory)
            if "content" in below + files and fnmatch.fnmatch(above, "*/stage-cache-*/*")]


def kept(cluster) -> set[str]:
    """The sources of what is in the cache."""
    return {pathlib.Path((path.parent / "source").read_text().split("\n")[0]).name for path in cache_entries(cluster)}


def test_data_is_there_before_the_first_line(cluster, archive):
    (cluster.work / "plain file").write_text("plain")
    job = cluster.submit("#MINKE stage=images.tar stage=\"plain file\"\n"
                         "cat $SLURM_TMPDIR/images/7.png; cat \"$SLURM_TMPDIR/plain file\"; echo $0 $1", )
    assert cluster.output(job).startswith("image 7plain")
    assert cluster.job(job)["JobState"] == "COMPLETED"


def test_the_second_job_finds_it_there(cluster, archive):
    script = "#MINKE stage=images.tar\nreadlink -f $SLURM_TMPDIR/images; cat $SLURM_TMPDIR/images/3.png"
    first, second = (cluster.output(cluster.submit(script)) for _ in range(2))
    assert first == second and "image 3" in first
    assert len(cache_entries(cluster)) == 1
    # Another state of the source is another entry.
    (cluster.work / "images/3.png").write_text("changed")
    subprocess.run(["tar", "-cf", "images.tar", "images"], cwd=cluster.work, check=True)
    assert cluster.output(cluster.submit(script)).endswith("changed")
    assert len(cache_entries(cluster)) == 2


def test_a_tree_that_changes_within_is_another(cluster, archive):
    script = "#MINKE stage=images\ncat $SLURM_TMPDIR/images/3.png"
    assert cluster.output(cluster.submit(script)) == "image 3"
    (cluster.work / "images/3.png").write_text("IMAGE 3")
    assert cluster.output(cluster.submit(script)) == "IMAGE 3"


def test_what_cannot_be_staged_fails_the_job_by_name(cluster):
    job = cluster.submit("#MINKE stage=/nothing.tar\necho ran")
    assert "/nothing.tar: No such file" in cluster.output(job)
    assert "ran" not in cluster.output(job)
    assert cluster.job(job)["JobState"] == "FAILED"


def test_what_is_no_directive_is_refused(cluster):
    done = cluster.run("sbatch", cluster.script("#MINKE stages=x\n:"), check=1)
    assert "line 2: stages=x" in done.stderr


def test_results_come_back(cluster):
    job = cluster.submit("#MINKE collect=results-%j\necho 1 > $SLURM_TMPDIR/results-$SLURM_JOB_ID/x; exit 3")
    cluster.wait_end(job)
    assert (cluster.work / f"results-{job}/x").read_text() == "1\n"
    assert cluster.job(job)["ExitCode"] == "3:0"


@pytest.mark.parametrize("end", ["cancel", "deaf", "limit"])
def test_results_come_back_at_cancellation_and_time_limit(cluster, end):
    trap = "trap '' TERM\n" if end == "deaf" else ""
    job = cluster.submit(f"#MINKE collect=results\n{trap}echo 1 > $SLURM_TMPDIR/results/x; touch begun\n"
                         "while :; do sleep 0.1; done", *(["-t", "0:01"] if end == "limit" else []))
    poll((cluster.work / "begun").exists)
    if end != "limit":
        cluster.run("scancel", job, check=0)
    assert cluster.wait_end(job, 100)["JobState"] == ("TIMEOUT" if end == "limit" else "CANCELLED")
    result = cluster.work / "results/x"
    assert poll(lambda: result.exists() and result.read_text(), 15, "the result") == "1\n"


def test_signals_reach_the_script(cluster):
    job = cluster.submit("#MINKE collect=results\ntrap 'echo told; exit 0' USR1\ntouch begun\n"
                         "while :; do sleep 0.1; done")
    poll((cluster.work / "begun").exists)
    cluster.run("scancel", "-b", "-s", "USR1", job, check=0)
    assert cluster.output(job) == "told\n"


def test_a_script_that_a_signal_ended_ends_the_job_so(cluster):
    job = cluster.submit("#MINKE collect=results\nkill -KILL $$")
    cluster.wait_end(job)
    assert cluster.job(job)["ExitCode"] == "0:9"


def test_minke_stage_within_a_job_and_outside(cluster, archive):
    job = cluster.submit("minke stage -q images.tar && ls $SLURM_TMPDIR/images | wc -l")
    assert cluster.output(job) == "20\n"
    done = cluster.run("minke", "stage", archive, "--to", cluster.work / "here", check=0)
    assert "->" in done.stdout and len(os.listdir(cluster.work / "here/images")) == 20
    assert "--to" in cluster.run("minke", "stage", archive, check=1).stderr


def test_what_a_job_uses_is_not_evicted(cluster, archive):
    (cluster.work / "other.txt").write_text("other")
    user = cluster.submit("#MINKE stage=images.tar\ntouch begun; while [ ! -e end ]; do sleep 0.1; done; "
                          "cat $SLURM_TMPDIR/images/1.png")
    poll((cluster.work / "begun").exists)
    # A file with a hole larger than any disk: everything that may go must.
    with open(cluster.work / "huge", "wb") as file:
        file.truncate(1 << 43)
    cluster.output(cluster.submit("#MINKE stage=other.txt\n:"))
    assert kept(cluster) == {"images.tar", "other.txt"}
    cluster.output(cluster.submit("#MINKE stage=huge\n:"))
    assert kept(cluster) == {"images.tar", "huge"}
    (cluster.work / "end").touch()
    assert cluster.output(user) == "image 1"


def can_mount(image, place) -> bool:
    place.mkdir()
    if subprocess.run(["mount", "-t", "squashfs", "-o", "loop,ro", image, place], capture_output=True).returncode != 0:
        return False
    subprocess.run(["umount", place], check=True)
    return True


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mksquashfs"), reason="needs root, and squashfs-tools")
def test_roots_images_are_mounted_for_the_script_and_all_steps(cluster, archive):
    """Whoever stages them, though the script and each step have their own mounts; until the job's end."""
    cluster.run("minke", "pack", "-q", "--format", "squashfs", "images", check=0)
    if not can_mount(cluster.work / "images.sqfs", cluster.work / "place"):
        pytest.skip("no image can be mounted here")
    look = "stat -f -c %T $SLURM_TMPDIR/images/; cat $SLURM_TMPDIR/images/7.png; echo"
    ways = [f"#MINKE stage=images.sqfs\n{look}\nsrun sh -c '{look}'", f"minke stage -q images.sqfs\n{look}\nsrun sh -c '{look}'",
            f"srun minke stage -q images.sqfs\n{look}\nsrun sh -c '{look}'",
            # A step that runs already.
            f"srun --overlap sh -c 'touch up; until [ -e end ]; do sleep 0.1; done; {look}' &\n"
            f"until [ -e up ]; do sleep 0.1; done\nminke stage -q images.sqfs\n{look}\ntouch end; wait"]
    for script in ways:
        assert cluster.output(cluster.submit(script)) == "squashfs\nimage 7\n" * 2
    assert not cache_entries(cluster)  # nothing was unpacked
    poll(lambda: str(cluster.directory) not in pathlib.Path("/proc/self/mounts").read_text(), what="mounts to go")


@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("mksquashfs"), reason="needs root, and squashfs-tools")
def test_what_cannot_be_mounted_is_unpacked(cluster, archive):
    cluster.run("minke", "pack", "-q", "--format", "squashfs", "images", check=0)
    tools = cluster.work / "tools"
    tools.mkdir()
    (tools / "mount").write_text("#!/bin/sh\necho no >&2\nexit 32\n")
    (tools / "mount").chmod(0o755)
    script = f"PATH={tools}:$PATH minke stage -q images.sqfs\ncat $SLURM_TMPDIR/images/7.png; stat -f -c %T $SLURM_TMPDIR/images/"
    assert cluster.output(cluster.submit(script)).startswith("image 7") and len(cache_entries(cluster)) == 1
