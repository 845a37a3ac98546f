"""sattach: the output and input of a running step, from outside."""
import os
import subprocess
import tempfile

import pytest

from cluster import poll

pytestmark = pytest.mark.minke_only
STEP = """
srun -n2 --overcommit bash -c '
    touch there.$SLURM_PROCID; until [ -e go ]; do sleep 0.05; done
    echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2
    until [ -e end ]; do sleep 0.05; done; exit $((SLURM_PROCID * 3))'
"""


@pytest.fixture
def step(cluster):
    """Of two tasks, which write when there is a file "go" and end when there is a file "end"."""
    job = cluster.submit(STEP, "-N1", "--mem=100M")
    poll(lambda: (cluster.work / "there.0").exists() and (cluster.work / "there.1").exists())
    yield f"{job}.0"
    (cluster.work / "go").touch()
    (cluster.work / "end").touch()
    cluster.wait_end(job)


def attached(cluster, *arguments):
    """The output of sattach, which is there before the tasks write and stays until the step's end."""
    with tempfile.TemporaryDirectory() as place:  # of its own, so that no other test's socket is taken for it
        process = cluster.start("sattach", *arguments, env=cluster.environment | {"TMPDIR": place})
        poll(lambda: place in connected(process.pid) or process.poll() is not None)
        poll(lambda: not os.listdir(place))
    (cluster.work / "go").touch()
    return process


def connected(pid: int) -> str:
    """The Unix sockets that are connected (state 03), with their paths."""
    return "".join(line for line in open(f"/proc/{pid}/net/unix") if line.split()[5] == "03")


def end(cluster, process):
    (cluster.work / "end").touch()
    out, err = process.communicate(timeout=120)
    return process.returncode, sorted(out.splitlines()), sorted(err.splitlines())


def test_output_errors_and_exit_code(cluster, step):
    code, out, err = end(cluster, attached(cluster, step))
    assert (code, out) == (3, ["out 0", "out 1"])
    assert err == ["err 0", "err 1", "sattach: error: task 1 exited with exit code 3"]
    job = step.split(".")[0]
    text = cluster.output(job)
    assert "out 0\n" in text and "err 1\n" in text, "srun has its output all the same"


def test_labels_and_filters(cluster, step):
    process = attached(cluster, "--label", "--output-filter=1", "--error-filter=0", step)
    _, out, err = end(cluster, process)
    assert out == ["1: out 1"] and "0: err 0" in err and "1: err 1" not in err


def test_input_goes_to_the_tasks(cluster):
    command = "touch there.$SLURM_PROCID; read line; echo task $SLURM_PROCID read $line"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = cluster.start("srun", "-n2", "--overcommit", "bash", "-c", command, **pipes)
    poll(lambda: (cluster.work / "there.0").exists() and (cluster.work / "there.1").exists())
    job = cluster.queue(format="%i")[0]
    other = cluster.start("sattach", "--input-filter=1", f"{job}.0", **pipes)
    other.stdin.write("from sattach\n")
    other.stdin.flush()
    assert other.stdout.readline() == "task 1 read from sattach\n"
    out, _ = process.communicate("from srun\n", timeout=120)
    assert other.communicate(timeout=120)[0] == "task 0 read from srun\n" and other.returncode == 0
    assert sorted(out.splitlines()) == ["task 0 read from srun", "task 1 read from sattach"]


def test_layout(cluster, step):
    done = cluster.run("sattach", "--layout", step, check=0)
    assert done.stdout == ("Job step layout:\n\t2 tasks, 1 nodes (n1)\n\n"
                           "\tNode 0 (n1), 2 task(s): 0 1 \n")


@pytest.mark.parametrize("arguments, says", [
    (["99999.0"], "sattach: error: Could not get job step info: Invalid job id specified\n"),
    (["--layout", "99999.0"], "sattach: error: Could not get job step info: Invalid job id specified\n"),
    (["99999"], "sattach: error: Failed to parse stepid from command line options (write 12.0: the job and its step)\n"),
    (["a.0"], "sattach: error: Could not get job step info: Invalid job id specified\n"),
    (["--output-filter=x", "1.0"], 'sattach: error: Invalid numeric value "x" for output-filter.\n')])
def test_refusals(cluster, arguments, says):
    done = cluster.run("sattach", *arguments)
    assert (done.returncode, done.stderr) == (1, says)


def test_what_was_written_before(cluster, step):
    (cluster.work / "go").touch()
    job = step.split(".")[0]
    poll(lambda: "out 1" in (cluster.work / f"slurm-{job}.out").read_text())
    code, out, _ = end(cluster, attached(cluster, "--label", "--output-filter=1", "-v", step))
    assert (code, out) == (3, ["1: out 1"])
