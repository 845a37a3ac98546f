"""Seed 2: the Alliance's page on machine learning, on Narval. Cases have the numbers of items.toml."""
import re
import shutil

import pytest

from cluster import ROOT, poll
from sites import types
from test_example_jobs import python_with

MINKE_ONLY = True


@pytest.fixture(scope="module")
def reader(narval):
    """He has one account alone."""
    user = narval.member("learner", narval.default)
    narval.sacctmgr("add", "user", user.name, "account=def-prof_cpu,def-prof_gpu")
    return user


def advice(user, size: str) -> str:
    """What is said of a data set of one file of that size."""
    return types(user, f"mkdir -p set-{size} && truncate -s {size} set-{size}/data && minke data advise set-{size}")


def test_2_01_where_to_put_data(reader):
    said = advice(reader, "1G")
    assert re.search(r"^keep it +.*project", said, re.M) and re.search(r"^read it +\S", said, re.M) and "form" in said


def test_2_03_python_and_its_environments(reader):
    assert re.search(r"python/3\.\d+", types(reader, "module avail python"))
    seen = reader.output(reader.submit("module load python; python -m venv --without-pip $SLURM_TMPDIR/env; "
                                       "$SLURM_TMPDIR/env/bin/python -c 'import sys; print(sys.prefix)'"))
    assert seen.endswith("/env\n")


def test_2_04_multiprocessing_has_the_jobs_processors(reader):
    text = ("import multiprocessing, os\nif __name__ == '__main__':\n    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:\n"
            "        print(pool.map(abs, [-1, -2]), len(os.sched_getaffinity(0)))\n")
    (reader.work / "pool.py").write_text(text)
    assert reader.output(reader.submit("python3 pool.py", "--cpus-per-task=1")) == "[1, 2] 1\n"


@pytest.mark.offline
@pytest.mark.skipif(not shutil.which("curl"), reason="curl is not installed")
def test_2_05_a_notebook_server_is_reached_from_the_log_in_side(reader):
    """As a notebook's: a server of the job's, on its node."""
    (reader.work / "served.txt").write_text("notebook\n")
    job = reader.submit("#!/bin/bash\npython3 -m http.server $((20000 + SLURM_JOB_ID % 20000)) --bind 0.0.0.0 &\n"
                        "until curl -s localhost:$((20000 + SLURM_JOB_ID % 20000))/served.txt > up; do sleep 0.05; done\nwait\n")
    try:
        poll(lambda: (reader.work / "up").exists() and (reader.work / "up").read_text(), what="the server")
        # What is beyond the ssh of `ssh -L 8888:localhost:8888 cluster`.
        assert types(reader, f"curl -s --retry 20 --retry-connrefused --retry-delay 1 localhost:{20000 + job % 20000}/served.txt") == "notebook\n"
        other = reader.submit(f"curl -s $(squeue -h -j {job} -o %N):{20000 + job % 20000}/served.txt")
        assert reader.output(other) == "notebook\n"
    finally:
        types(reader, f"scancel {job}")


def test_2_07_cuda_and_cudnn_are_there_or_come_with_the_wheels(reader):
    said = types(reader, "module load cuda cudnn && module -t list")
    assert re.search(r"^cuda/\d|nothing to load here", said, re.M)


def test_2_09_many_storage_options(reader):
    said = types(reader, "minke storage usage")
    assert [line.split()[0] for line in said.splitlines() if line[0] != " "] == ["home", "scratch", "project", "nearline"]


def test_2_10_what_fits_into_memory(reader):
    assert "it fits into memory (up to about 10 GB)" in advice(reader, "9G")


def test_2_11_what_fits_onto_the_nodes_disk(reader):
    said = advice(reader, "60G")
    assert "$SLURM_TMPDIR" in said and "fits into memory" not in said


def test_2_13_what_stays_in_shared_storage(reader):
    assert "fits into memory" not in advice(reader, "300G")
    said = types(reader, "minke storage usage")
    assert "backed up" in said.split("\nproject", 1)[1].split("\n")[1]
    assert "what nobody uses for 60 days goes" in said.split("\nscratch", 1)[1].split("\n")[1]


def test_2_15_one_large_archive_of_many_files(reader):
    said = types(reader, "mkdir -p images && touch images/{1..300} && minke pack --format tar images && tar -tf images.tar | wc -l")
    assert "verified" in said and said.endswith("301\n")


def test_2_16_three_days_in_three_parts(reader):
    reader.script("#!/bin/bash\ntrue\n", "train.sh")
    said = types(reader, "minke chain --total 72h --each 24h train.sh")
    assert re.fullmatch(r"Submitted batch job \d+: 3-00:00:00 in 3 parts of 1-00:00:00, .*\n", said)


@pytest.mark.parametrize("library", ["torch", "keras"])
def test_2_19_an_example_of_checkpoints(library):
    saves = {"torch": "torch.save(", "keras": "ModelCheckpoint("}[library]
    assert any(saves in path.read_text() for path in (ROOT / "examples").rglob("*.py"))


COMET = """import comet_ml
experiment = comet_ml.start(project_name="digits")
for step in range(3):
    experiment.log_metric("loss", 1 / (step + 1), step=step)
experiment.end()
"""


@pytest.mark.offline
@pytest.mark.timeout(1800)
def test_2_24_comet_writes_to_disk_where_nodes_are_offline(narval, reader):
    library = next(python_with("comet_ml==3.58.8").parent.parent.glob("lib/python3*/site-packages"))
    shutil.copytree(library, narval.directory / "comet")
    (reader.work / "comet.py").write_text(COMET)
    job = reader.submit(f"PYTHONPATH={narval.directory}/comet COMET_OFFLINE_DIRECTORY=$PWD/runs /usr/bin/python3 comet.py", "--mem=1G")
    assert "To upload this offline experiment, run:" in reader.output(job)
    assert len(list((reader.work / "runs").glob("*.zip"))) == 1


def test_2_28_cublas_workspace_config(reader):
    said = types(reader, "export CUBLAS_WORKSPACE_CONFIG=:4096:2; srun sh -c 'echo $CUBLAS_WORKSPACE_CONFIG'")
    assert said == ":4096:2\n"
