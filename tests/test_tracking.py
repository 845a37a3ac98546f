"""Metrics of jobs, from the files that training programs write. W&B and TensorBoard are the real ones, from their registry."""
import hashlib
import json
import shutil
import subprocess

import pytest

from cluster import ROOT, poll

MINKE_ONLY = True
PACKAGES = ["wandb==0.31.0", "tensorboard==2.21.0", "tensorboardX==2.6.5"]
CSV = "echo epoch,val_acc > log.csv; for i in 1 2 3; do echo $i,0.$i$1 >> log.csv; done"


@pytest.fixture(scope="module")
def python():
    """A Python with the packages."""
    directory = ROOT / "build/tracking" / hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:12]
    if not (directory / "complete").exists():
        shutil.rmtree(directory, ignore_errors=True)
        try:
            subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True, capture_output=True)
            subprocess.run([directory / "bin/pip", "install", "-q", *PACKAGES], check=True, capture_output=True, timeout=500)
        except (subprocess.SubprocessError, OSError) as error:
            pytest.skip(f"wandb and tensorboard cannot be installed from the package registry: {error}")
        (directory / "complete").touch()
    return directory / "bin/python"


def metrics(cluster, job, *options) -> dict[str, dict]:
    done = cluster.run("minke", "metrics", job, "--json", *options, check=0)
    return {one["name"]: one for one in json.loads(done.stdout)["metrics"]}


@pytest.mark.xdist_group("tracking")
@pytest.mark.timeout(1800)
def test_wandb_and_tensorboard(cluster, python):
    """Two W&B runs of two jobs in one directory: each job has its own. TensorBoard's scalars, old and new form."""
    (cluster.work / "train.py").write_text("""
import sys
import numpy as np
import wandb
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util import tensor_util
from tensorboardX import SummaryWriter
factor = float(sys.argv[1])
wandb.init(project="p", mode="offline")
for i in range(300):
    wandb.log({"loss": factor / (i + 1), "deep": {"er": i}, "note": "x" * 300})
wandb.finish()
name = "tb-job" + sys.argv[2]
writer = SummaryWriter(name)
for i in range(20):
    writer.add_scalar("train/lr", factor * i, i)
writer.close()
writer = EventFileWriter(name)
event = Event(step=7)
event.summary.value.add(tag="tensor", tensor=tensor_util.make_tensor_proto(np.float32(0.5)))
writer.add_event(event)
writer.close()
""")
    cluster.environment["WANDB_SILENT"] = "true"
    jobs = [cluster.sbatch(cluster.script(f"{python} train.py $1 $SLURM_JOB_ID", f"job{factor}.sh"), factor) for factor in (1, 2)]
    for job, factor in zip(jobs, (1, 2)):
        cluster.wait_end(job, 120)
        assert cluster.state(job) == "COMPLETED", cluster.output(job)
        found = metrics(cluster, job)
        assert found["loss"]["last"] == pytest.approx(factor / 300) and found["loss"]["largest"] == factor
        assert found["loss"]["points"] == 300 and found["loss"]["step"] == 299
        assert found["deep.er"]["last"] == 299
        assert found["train/lr"]["last"] == pytest.approx(19 * factor) and len(found["train/lr"]["curve"]) == 20
        assert found["tensor"]["last"] == 0.5 and found["tensor"]["step"] == 7
    [run] = [path for path in cluster.work.glob("wandb/offline-run-*/run-*.wandb")
             if metrics(cluster, jobs[0], path)["loss"]["largest"] == 1]
    cut = cluster.work / "cut.wandb"
    cut.write_bytes(run.read_bytes()[:20000])
    assert 0 < metrics(cluster, jobs[0], cut)["loss"]["points"] < 300


def test_a_job_that_runs(cluster):
    """What is there so far, in $SLURM_TMPDIR too; --follow ends with the job."""
    job = cluster.submit("echo step,loss > log.csv; echo 1,0.5 >> log.csv; echo 2,0.2 >> log.csv; "
                         "cd $SLURM_TMPDIR; echo '{\"step\": 1, \"local\": 7}' > m.jsonl; cd - > /dev/null\n"
                         "while [ ! -e go ]; do sleep 0.1; done; echo 3,0.1 >> log.csv")
    poll(lambda: (cluster.work / "log.csv").exists() and cluster.run("minke", "metrics", job, "--json").returncode == 0)
    poll(lambda: "local" in metrics(cluster, job))
    assert metrics(cluster, job)["loss"]["last"] == 0.2
    follower = cluster.start("minke", "metrics", job, "--follow")
    (cluster.work / "go").touch()
    out, _ = follower.communicate(timeout=240)
    assert follower.returncode == 0 and "COMPLETED" in out and "0.1" in out.splitlines()[-1] + out


def test_jobs_are_ranked_and_values_outlive_the_files(cluster):
    jobs = [cluster.sbatch("-D", cluster.work / name, cluster.script(CSV), digit)
            for name, digit in (("a", 5), ("b", 9), ("c", 7)) if (cluster.work / name).mkdir() is None]
    (cluster.work / "d").mkdir()
    plain = cluster.sbatch("-D", cluster.work / "d", "--wrap", "true")
    for job in [*jobs, plain]:
        cluster.wait_end(job)
    lines = cluster.run("minke", "jobs", "--metric", "val_acc", "--sort", check=0).stdout.splitlines()
    assert [int(line.split()[0]) for line in lines[1:]] == [jobs[1], jobs[2], jobs[0]]
    assert lines[0].split() == ["JOBID", "NAME", "STATE", "ELAPSED", "val_acc"] and lines[1].split()[-1] == "0.39"
    for name in "abc":
        shutil.rmtree(cluster.work / name)
    again = cluster.run("minke", "jobs", "--metric", "val_acc", "--sort", "--ascending", check=0).stdout.splitlines()
    assert [int(line.split()[0]) for line in again[1:]] == [jobs[0], jobs[2], jobs[1]]
    assert json.loads(cluster.run("minke", "jobs", "--json", check=0).stdout)
    assert metrics(cluster, jobs[0])["val_acc"]["least"] == 0.15
    cluster.kill()  # the record is durable
    assert metrics(cluster, jobs[0])["val_acc"]["last"] == 0.35


def test_curves(cluster):
    job = cluster.submit("echo step,loss > log.csv; for i in $(seq 50); do echo $i,$((50-i)) >> log.csv; done")
    cluster.wait_end(job)
    done = cluster.run("minke", "metrics", job, check=0).stdout
    assert done.startswith(f"Job {job} (job.sh), COMPLETED\n") and "⠀" in done and "49 ⠉" in done
    assert "METRIC  LAST" in cluster.run("minke", "metrics", job, "--table", check=0).stdout
    assert metrics(cluster, job, "--name", "lo*") and cluster.run("minke", "metrics", job, "--name", "x").returncode == 1


@pytest.mark.parametrize("name,content,words", [
    ("x.wandb", b"this is no run", "it does not begin as a W&B run does"),
    ("events.out.tfevents.1", b"\0" * 40, "damaged at byte 0"),
    ("x.jsonl", b'{"step": 1, "a": 2}\nno json\n', "line 2: it is no JSON object")])
def test_files_that_are_damaged(cluster, name, content, words):
    job = cluster.sbatch("--wrap", "true")
    cluster.wait_end(job)
    (cluster.work / name).write_bytes(content)
    done = cluster.run("minke", "metrics", job, cluster.work / name)
    assert f"minke: {cluster.work / name}: {words}" in done.stderr, done.stderr


def test_what_is_no_metric_file(cluster):
    job = cluster.submit("echo width,height > data.csv; echo 1,2 >> data.csv; mkfifo pipe.csv")
    cluster.wait_end(job)
    done = cluster.run("minke", "metrics", job)
    assert done.returncode == 1 and "no metrics of job" in done.stderr
    assert metrics(cluster, job, cluster.work / "data.csv")["height"]["last"] == 2
    assert "neither" in cluster.run("minke", "metrics", job, "data.txt").stderr
    assert "there is no job 4711" in cluster.run("minke", "metrics", "4711").stderr
    assert "is no job id" in cluster.run("minke", "metrics", "x").stderr


@pytest.mark.machine(extra='[[partition]]\nname = "dark"\nnodes = "n[1-2]"\noffline = true\n')
def test_jobs_without_a_network_begin_offline(cluster):
    """What the user has set himself stays, and what a job has done to it stays in its steps."""
    script = "env | grep -E '^(WANDB_MODE|COMET_START_ONLINE|HF_HUB_OFFLINE|MINKE_OFFLINE)=' | sort || true"
    first = cluster.submit(script, "-p", "dark")
    text = cluster.output(first)
    if cluster.state(first) != "COMPLETED":
        pytest.skip(f"this machine cannot hide the network: {text}")
    defaults = "COMET_START_ONLINE=0\nHF_HUB_OFFLINE=1\nMINKE_OFFLINE=1\nWANDB_MODE=offline\n"
    assert text == defaults
    assert cluster.output(cluster.submit(script, "-p", "main", env={"WANDB_MODE": "disabled"})) == "WANDB_MODE=disabled\n"
    assert "WANDB_MODE=disabled\n" in cluster.output(cluster.submit(script, "-p", "dark", env={"WANDB_MODE": "disabled"}))
    assert cluster.run("srun", "-p", "dark", "bash", "-c", script, check=0).stdout == defaults
    step = cluster.submit(f"unset WANDB_MODE\nsrun bash -c \"{script}\"", "-p", "dark")
    assert cluster.output(step) == defaults.replace("WANDB_MODE=offline\n", "")


def test_metrics_are_kept_at_the_end(cluster):
    """With nobody asking for them: they are there when the files are gone."""
    (cluster.work / "a").mkdir()
    job = cluster.sbatch("-D", cluster.work / "a", cluster.script("echo epoch,val_$(echo acc) > log.csv; sleep 6; echo 1,0.75 >> log.csv"))
    cluster.wait_end(job)
    # The name stands in nothing else that the cluster knows.
    poll(lambda: any(b"val_acc" in path.read_bytes() for path in cluster.home.glob("*.db*")), 60, "the metric's record")
    shutil.rmtree(cluster.work / "a")
    [found] = json.loads(cluster.run("minke", "jobs", "--json", check=0).stdout)
    assert found["metrics"]["val_acc"]["last"] == 0.75


@pytest.mark.xdist_group("tracking")
@pytest.mark.timeout(1800)
def test_offline_runs_are_found_and_uploaded(cluster, python):
    """Those whose jobs have ended, once; what wandb does not upload is said, and stays."""
    (cluster.work / "run.py").write_text("import os, time, wandb\nrun = wandb.init(project='p', mode='offline')\n"
                                         "wandb.log({'a': 1})\nwhile os.path.exists('wait'): time.sleep(0.1)\nwandb.finish()\n")
    cluster.environment["WANDB_SILENT"] = "true"
    done = cluster.submit(f"{python} run.py")
    cluster.wait_end(done, 60)
    (cluster.work / "wait").touch()
    running = cluster.submit(f"{python} run.py")
    poll(lambda: len(list(cluster.work.glob("wandb/offline-run-*/*.wandb"))) == 2, 60)

    def runs(*options, **more):
        return {one["job_id"]: one for one in json.loads(cluster.run("minke", "runs", "--json", *options, **more).stdout)}
    poll(lambda: running in runs(), 30)
    assert runs()[done]["state"] == "COMPLETED" and runs()[running]["state"] == "RUNNING"
    assert "wandb is not on PATH" in cluster.run("minke", "runs", "--upload").stderr
    # Without a network the real one fails.
    offline = {"WANDB_BASE_URL": "http://127.0.0.1:9", "WANDB_API_KEY": "0" * 40, "WANDB_HTTP_TIMEOUT": "1",
               "PATH": f"{python.parent}:{cluster.environment['PATH']}"}
    failing = cluster.run("timeout", "20", "minke", "runs", "--upload", env=offline)
    assert failing.returncode != 0 and not runs()[done]["uploaded"]
    fake = cluster.directory / "bin/wandb"
    fake.parent.mkdir()
    fake.write_text('#!/bin/sh\n[ "$1" = sync ] || exit 2\necho "$2" >> uploads\nfor f in "$2"/*.wandb; do touch "$f.synced"; done\n')
    fake.chmod(0o755)
    path = {"PATH": f"{fake.parent}:{cluster.environment['PATH']}"}
    assert runs("--upload", env=path)[done]["uploaded"] and not runs()[running]["uploaded"]
    (cluster.work / "wait").unlink()
    cluster.wait_end(running, 60)
    assert f"{running}  COMPLETED" in cluster.run("minke", "sync", env=path, check=0).stdout  # the same by another name
    assert runs()[running]["uploaded"]
    assert len((cluster.work / "uploads").read_text().splitlines()) == 2
    assert cluster.run("minke", "runs", "nowhere").returncode == 1


def ranked(cluster, *options):
    done = cluster.run("minke", "jobs", "--metric", "val_acc", "--sort", *options, check=0)
    return {line.split()[0]: line.split()[1:] for line in done.stdout.splitlines()[1:]}, done.stderr


def together(cluster, script: str) -> list[int]:
    """Two jobs that run at the same time, in one directory: each ends when the other has written, too."""
    script += "; touch done.$1; while [ ! -e done.1 ] || [ ! -e done.2 ]; do sleep 0.1; done"
    jobs = [cluster.sbatch(cluster.script(script, f"{number}.sh"), number) for number in (1, 2)]
    for job in jobs:
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    return jobs


def test_files_with_the_jobs_number_are_the_jobs(cluster):
    """log-7.csv is job 7's, whatever else is there."""
    jobs = together(cluster, "(echo epoch,val_acc; echo 1,0.$1) > log-$SLURM_JOB_ID.csv")
    for job, value in zip(jobs, (0.1, 0.2)):
        assert metrics(cluster, job)["val_acc"]["last"] == value
    table, errors = ranked(cluster)
    assert [table[str(job)][-1] for job in jobs] == ["0.1", "0.2"] and errors == ""


def test_files_that_may_be_either_jobs_are_nobodys(cluster):
    """It is said that it cannot be told, and a file that is named is read all the same."""
    jobs = together(cluster, "(echo epoch,val_acc; echo 1,0.$1) > run-$(date +%s%N).csv")
    table, errors = ranked(cluster)
    assert not table, table
    for job, other in (jobs, jobs[::-1]):
        assert f"minke: it cannot be told whether job {job} wrote {cluster.work}/run-" in errors
        done = cluster.run("minke", "metrics", job)
        assert done.returncode == 1 and f"other jobs ran there at the same time ({other})" in done.stderr
    file = next(cluster.work.glob("run-*.csv"))
    assert metrics(cluster, jobs[0], file)["val_acc"]["last"] in (0.1, 0.2)


def test_the_elapsed_time_of_a_job_that_never_ran(cluster):
    job = cluster.submit("true", "--hold")
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    lines = cluster.run("minke", "jobs", "--metrics", check=0).stdout.splitlines()
    assert [line.split()[2:4] for line in lines if line.split()[0] == str(job)] == [["CANCELLED", "00:00:00"]]
