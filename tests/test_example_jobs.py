"""The examples' job scripts, run as they are."""
import hashlib
import json
import os
import re
import shutil
import subprocess
import urllib.error
import urllib.request

import pytest

from cluster import ROOT, poll

EXAMPLES = ROOT / "examples"
MINKE_ONLY = True
SYSTEM_PYTHON = "/usr/bin/python3"


def has(python, *modules: str) -> bool:
    return subprocess.run([python, "-c", "import " + ", ".join(modules)], capture_output=True).returncode == 0


def python_with(*packages: str, below=SYSTEM_PYTHON, options=()):
    """A Python of the tests' own with these packages from the registry. `below` is the one that it is made with."""
    directory = ROOT / "build/examples" / hashlib.sha256(" ".join([str(below), *options, *packages]).encode()).hexdigest()[:12]
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        try:
            subprocess.run([below, "-m", "venv", *options, directory], check=True, capture_output=True)
            subprocess.run([directory / "bin/pip", "install", "-q", *packages], check=True, capture_output=True, timeout=500)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"{' '.join(packages)} cannot be installed from the package registry: {error}")
        (directory / "complete").touch()
    return directory / "bin/python"


def torch_python() -> str:
    """$MINKE_TORCH_PYTHON, or the system's: torch is too large to be fetched by a test."""
    python = os.environ.get("MINKE_TORCH_PYTHON", SYSTEM_PYTHON)
    if not has(python, "torch"):
        pytest.skip("there is no torch (Debian: python3-torch); MINKE_TORCH_PYTHON names a Python that has it")
    return python


def transformers_python():
    """The same with transformers, which is small: where it is not there it is fetched, of a time when torch was as old as
    Debian's."""
    python = torch_python()
    return python if has(python, "transformers") else python_with("transformers==4.40.2", below=python,
                                                                  options=["--system-site-packages"])


def run(cluster, script: str, *arguments, python=SYSTEM_PYTHON, options=(), seconds: float = 120) -> str:
    environment = {"PYTHON": str(python), "CODE": str((EXAMPLES / script).parent), "USER": "me"}
    job = cluster.sbatch(*options, "-o", "slurm-%j.out", EXAMPLES / script, *arguments, env=environment)
    text = cluster.output(job, seconds=seconds)
    assert cluster.state(job) == "COMPLETED", text
    return text


@pytest.mark.timeout(1800)
def test_data_parallel_training_over_mpi(cluster):
    """As many processes as there may be, the same weights."""
    if not has(SYSTEM_PYTHON, "mpi4py"):
        pytest.skip("there is no mpi4py")
    weights = {}
    for processes, options in ((4, ()), (1, ("--nodes=1", "--ntasks-per-node=1"))):
        text = run(cluster, "parallel/train_mpi.sh", options=options)
        result = json.loads((cluster.work / "result.json").read_text())
        assert result["processes"] == processes and f"{processes} processes, loss" in text, text
        weights[processes] = result["weights"]
    assert weights[4] == pytest.approx(weights[1], abs=1e-5)


@pytest.mark.machine(memory=6000)
@pytest.mark.timeout(1800)
def test_data_parallel_training_with_torch(cluster):
    python = torch_python()
    text = run(cluster, "parallel/train_torch.sh", python=python, seconds=200)
    assert "2 processes on" in text and json.loads((cluster.work / "torch.json").read_text())["loss"] < 0.6


@pytest.mark.machine(memory=6000)
@pytest.mark.timeout(1800)
def test_training_goes_on_from_its_checkpoint_with_torch(cluster):
    """Stopped or not, the result is the same."""
    python = torch_python()
    whole = run(cluster, "checkpoints/train.sh", "--epochs=4", python=python, seconds=200)
    (cluster.work / "torch.pt").unlink()
    environment = {"PYTHON": str(python), "CODE": str(EXAMPLES / "checkpoints"), "SCRATCH": None}
    first = cluster.sbatch("-o", "slurm-%j.out", EXAMPLES / "checkpoints/train.sh", "--epochs=4", "--stop-after=2", env=environment)
    assert cluster.wait_end(first, seconds=200)["ExitCode"] == "75:0"
    rest = run(cluster, "checkpoints/train.sh", "--epochs=4", python=python, seconds=200)
    assert "going on with epoch 3\n" in rest and rest.splitlines()[-2:] == whole.splitlines()[-2:]


@pytest.mark.machine(memory=6000)
@pytest.mark.xdist_group("transformers")
@pytest.mark.timeout(1800)
def test_inference_with_a_model_on_disk(cluster):
    python = transformers_python()
    subprocess.run([python, EXAMPLES / "llm/make_tiny_model.py", cluster.work / "model"], check=True, capture_output=True)
    (cluster.work / "prompts.txt").write_text("the whale\nthe cluster runs\n")
    run(cluster, "llm/generate.sh", "model", "prompts.txt", python=python, seconds=200)
    [answers] = cluster.work.glob("answers-*.jsonl")
    lines = [json.loads(line) for line in answers.read_text().splitlines()]
    assert [line["prompt"] for line in lines] == ["the whale", "the cluster runs"] and all(line["answer"] for line in lines)
    # The size that minke reads from the files is the one that torch counts.
    count = ("import sys, transformers; print(sum(one.numel() for one in "
             "transformers.AutoModelForCausalLM.from_pretrained(sys.argv[1]).parameters()))")
    counted = int(subprocess.run([python, "-c", count, cluster.work / "model"], check=True, capture_output=True).stdout)
    assert json.loads(cluster.run("minke", "estimate", "model", "--json", check=0).stdout)["parameters"] == counted


def test_gnu_parallel_goes_on_where_it_was(cluster):
    if not shutil.which("parallel"):
        pytest.skip("GNU Parallel is not installed")
    commands = cluster.work / "commands.txt"
    commands.write_text("".join(f"echo {i} >> ran\n" for i in range(5)) + "test -e fixed && echo fixed >> ran\n")
    script = EXAMPLES / "many/parallel.sh"
    first = cluster.sbatch("-o", "slurm-%j.out", script, "commands.txt")
    assert cluster.wait_end(first)["JobState"] == "FAILED"  # parallel's code: one command failed
    log = (cluster.work / "commands.txt.log").read_text().splitlines()
    assert log[0].split("\t")[:4] == ["Seq", "Host", "Starttime", "JobRuntime"] and len(log) == 7
    (cluster.work / "fixed").touch()
    run(cluster, "many/parallel.sh", "commands.txt")
    assert sorted((cluster.work / "ran").read_text().split()) == ["0", "1", "2", "3", "4", "fixed"]


def test_a_list_of_commands_over_tasks_and_nodes(cluster):
    """Each runs once, on whoever is free; one that failed runs again with the next job."""
    lines = [f"echo {i} $SLURMD_NODENAME >> ran; sleep 0.05" for i in range(20)]
    (cluster.work / "list.txt").write_text("\n".join(lines[:10] + ["", "test -e fixed"] + lines[10:]) + "\n")
    job = cluster.sbatch("-o", "slurm-%j.out", EXAMPLES / "many/list.sh", "list.txt")
    text = cluster.output(job)
    assert cluster.state(job) == "FAILED" and "line 12: exit code 1: test -e fixed" in text
    ran = [line.split() for line in (cluster.work / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, _ in ran) == list(range(20)) and {node for _, node in ran} == {"n1", "n2"}
    (cluster.work / "fixed").touch()
    run(cluster, "many/list.sh", "list.txt")
    assert len((cluster.work / "ran").read_text().splitlines()) == 20


@pytest.mark.timeout(1800)
def test_more_data_than_memory(cluster):
    if not has(SYSTEM_PYTHON, "sklearn"):
        pytest.skip("there is no scikit-learn")
    subprocess.run([SYSTEM_PYTHON, EXAMPLES / "outofcore/make_data.py", cluster.work / "data.npy", "450"], check=True)
    text = run(cluster, "outofcore/train.sh", "data.npy")
    data, used, accuracy = re.search(r"(\d+) MiB of data with (\d+) MiB of memory: accuracy (0\.\d+)", text).groups()
    assert int(data) > 400 > int(used) and float(accuracy) > 0.9


@pytest.mark.timeout(1800)
def test_trees_of_more_data_than_memory(cluster):
    python = python_with("xgboost-cpu==3.2.0", options=["--system-site-packages"])
    if not has(python, "numpy", "scipy"):
        pytest.skip("there is no numpy")
    subprocess.run([SYSTEM_PYTHON, EXAMPLES / "outofcore/make_data.py", cluster.work / "data.npy", "300"], check=True)
    text = run(cluster, "outofcore/train_xgboost.sh", "data.npy", python=python, options=["--mem=260M", "--export=ALL,ROUNDS=3"])
    data, used, accuracy = re.search(r"(\d+) MiB of data with (\d+) MiB of memory: accuracy (0\.\d+)", text).groups()
    assert int(data) > 260 > int(used) and float(accuracy) > 0.6
    assert (cluster.work / "model.json").is_file()


@pytest.mark.xdist_group("notebook")
@pytest.mark.timeout(1800)
def test_a_notebook_server(cluster):
    """It answers at the address that its output tells, to those who have the token."""
    python = python_with("jupyter_server==2.14.2")
    job = cluster.sbatch("-o", "slurm-%j.out", EXAMPLES / "notebook/notebook.sh", env={"PYTHON": str(python), "USER": "me"})
    output = cluster.work / f"slurm-{job}.out"
    url, token = poll(lambda: output.exists() and (found := re.search(r"(http://localhost:\d+/)\?token=(\w+)", output.read_text()))
                      and found.groups(), 60, "the address")

    def answers(path: str):
        try:
            with urllib.request.urlopen(url.replace("localhost", "127.0.0.1") + path, timeout=10) as reply:
                return reply.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None
    assert poll(lambda: answers(f"api/status?token={token}"), 60, "an answer") == 200, output.read_text()
    assert answers("api/status?token=wrong") == 403
    assert re.search(r"ssh -N -L (\d+):localhost:\1 me@", output.read_text())
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    assert answers("api/status") is None
