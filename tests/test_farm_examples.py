"""Farms' neighbours and examples, as docs/farms.md has them: a model for each GPU, GNU Parallel and GLOST on several nodes."""
import collections
import json
import os
import shutil
import subprocess

import pytest

from cluster import ROOT, poll
from test_full_disk import fill

MINKE_ONLY = True
LLM = ROOT / "examples/llm"
PYTHON = "/usr/bin/python3"


@pytest.mark.machine(nodes=2, cpus=2, gpus="a100:2")
def test_a_gpu_loads_its_model_once(cluster, request):
    """Prompts of a table, in jobs with two GPUs each: as many loadings as GPUs that were used, not as prompts."""
    if subprocess.run([PYTHON, "-c", "import numpy"], capture_output=True).returncode:
        pytest.skip("there is no numpy (Debian: python3-numpy)")
    prompts = 1000 if request.config.getoption("--long") else 200
    cluster.run(PYTHON, LLM / "make_letters.py", "model", check=0)
    (cluster.work / "prompts.txt").write_text("".join(f"prompt {i}: 'a cluster' is $HOME\n" for i in range(prompts)))
    done = cluster.run("minke", "farm", "run", "prompts.txt", "--gpus=2", "--jobs=2", "--", PYTHON, LLM / "ask.py", "model", "{}", timeout=100)
    assert done.stdout == f"{prompts} cases: {prompts} ok, 0 failed\n", done.stderr
    answers = {case: json.loads(cluster.run("minke", "farm", "log", case, check=0).stdout) for case in (1, prompts // 2, prompts)}
    for case, one in answers.items():
        assert one["prompt"] == f"prompt {case - 1}: 'a cluster' is $HOME" and len(one["answer"]) == 60 and one["gpu"] in "01"
    assert answers[1]["answer"] != answers[prompts]["answer"]
    loads = [line.split() for line in (cluster.work / "loads.log").read_text().splitlines()]
    assert 2 <= len(loads) <= 4 and max(collections.Counter((job, gpu) for job, _, gpu, _ in loads).values()) == 1, loads
    poll(lambda: not [pid for pid in cluster.processes() if b"serve.py" in open(f"/proc/{pid}/cmdline", "rb").read()], 10, "the models' ends")


@pytest.mark.skipif(not shutil.which("parallel"), reason="GNU Parallel is not installed")
def test_gnu_parallel_on_several_nodes(cluster):
    cluster.environment["HOME"] = str(cluster.directory)  # its notice about citations is written there
    lines = [f"echo {i} $SLURMD_NODENAME >> ran; sleep 0.02" for i in range(1, 21)] + ["test -e mended"]
    (cluster.work / "commands.txt").write_text("".join(line + "\n" for line in lines))
    job = cluster.sbatch("-o", "out", ROOT / "examples/many/parallel_nodes.sh", "commands.txt")
    assert cluster.wait_end(job)["JobState"] == "FAILED"
    ran = [line.split() for line in (cluster.work / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, _ in ran) == list(range(1, 21)), (cluster.work / "out").read_text()
    assert collections.Counter(node for _, node in ran) == {"n1": 10, "n2": 10}
    (cluster.work / "mended").touch()
    job = cluster.sbatch("-o", "out", ROOT / "examples/many/parallel_nodes.sh", "commands.txt")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED", (cluster.work / "out").read_text()
    assert len((cluster.work / "ran").read_text().splitlines()) == 20


@pytest.mark.parametrize("nodes", [1, 2])
def test_glost_leaves_nothing_behind(cluster, nodes):
    """Two starts in one job, each of which runs the whole list once; on two nodes without anything that only one of them sees."""
    cluster.environment["HOME"] = str(cluster.directory)
    cluster.run("minke", "software", "scan", check=0)
    (cluster.work / "list").write_text("".join(f"echo {i} $SLURMD_NODENAME >> ran; sleep 0.05\n" for i in range(24)))
    job = cluster.submit("module load glost\nexport SLURM_TMPDIR=/nowhere\nsrun glost_launch list\nsrun glost_launch list\nls -A > left\n",
                         f"--nodes={nodes}", f"--ntasks={2 * nodes}", "--ntasks-per-node=2", "--mem=200M", "-o", "out")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED", (cluster.work / "out").read_text()
    ran = [line.split() for line in (cluster.work / "ran").read_text().splitlines()]
    assert collections.Counter(int(number) for number, _ in ran) == {i: 2 for i in range(24)}
    assert len({node for _, node in ran}) == nodes
    assert (cluster.work / "left").read_text().split() == ["job.sh", "left", "list", "out", "ran"]


@pytest.fixture
def small(cluster):
    """A file system of 8 MiB in the work directory."""
    place = cluster.work / "small"
    place.mkdir()
    if os.getuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("mounting takes root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "-l", place], check=True)


def test_a_farm_on_a_full_disk_goes_on_when_there_is_room(cluster, small):
    """The farm's own directory gets full while it runs: no case is lost, and none runs twice."""
    table = "".join(f"echo {i} >> ran; sleep 0.02\n" for i in range(500))
    (cluster.work / "cases").write_text(table)
    running = cluster.start("minke", "farm", "run", "cases", "--dir=small/farm", "--jobs=1", "--at-once=2")
    ran = cluster.work / "ran"
    poll(lambda: ran.exists(), 30, "the first case")
    filler = fill(small)
    sizes = collections.deque(maxlen=100)  # of two seconds

    def stands_still():
        sizes.append(ran.stat().st_size)
        return len(sizes) == 100 and sizes[0] == sizes[-1]
    poll(stands_still, 30, "a farm that waits for room")
    assert len(ran.read_text().split()) < 500 and running.poll() is None
    filler.unlink()
    out, errors = running.communicate(timeout=200)
    assert out == "500 cases: 500 ok, 0 failed\n", errors
    assert sorted(ran.read_text().split(), key=int) == [str(i) for i in range(500)]
