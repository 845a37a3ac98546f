"""The training example: that it keeps its promises wherever it is stopped."""
import json
import os
import signal
import subprocess
import sys

import pytest

from cluster import ROOT, poll

DIGITS = ROOT / "examples/digits"


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    pytest.importorskip("sklearn")
    place = tmp_path_factory.mktemp("digits")
    subprocess.run([sys.executable, str(DIGITS / "prepare.py"), str(place / "digits.tar")], check=True, env=ONE_THREAD, capture_output=True)
    subprocess.run(["tar", "-xf", str(place / "digits.tar"), "-C", str(place)], check=True)
    return place / "digits"


ONE_THREAD = os.environ | {"OPENBLAS_NUM_THREADS": "1"}  # these matrices are too small to share


def train(data, output, *options):
    return [sys.executable, str(DIGITS / "train.py"), "--data", str(data), "--output", str(output), "--rate", "0.05", *options]


def epochs(output):
    return [int(line.split()[1]) for line in (output / "epochs.log").read_text().splitlines()]


def test_whole_run_reaches_its_accuracy(data, tmp_path):
    assert subprocess.run(train(data, tmp_path, "--epochs=40"), env=ONE_THREAD, capture_output=True).returncode == 0
    assert json.loads((tmp_path / "result.json").read_text())["test_accuracy"] >= 0.95


def test_stopped_run_goes_on_to_the_same_result(data, tmp_path):
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    subprocess.run(train(data, whole, "--epochs=30"), check=True, env=ONE_THREAD, capture_output=True)
    for stop_after in (5, 15, 22):
        run = subprocess.Popen(train(data, parts, "--epochs=30", "--seconds-per-epoch=0.05"), env=ONE_THREAD, stdout=subprocess.DEVNULL)
        poll(lambda: (parts / "epochs.log").exists() and len(epochs(parts)) >= stop_after)
        run.send_signal(signal.SIGTERM)
        assert run.wait(20) == 75
    subprocess.run(train(data, parts, "--epochs=30"), check=True, env=ONE_THREAD, capture_output=True)
    assert epochs(parts) == list(range(1, 31))
    assert json.loads((parts / "result.json").read_text()) == json.loads((whole / "result.json").read_text())


def test_killed_run_has_a_whole_checkpoint(data, tmp_path):
    """kill -9 costs the epochs since the last checkpoint, and no more."""
    run = subprocess.Popen(train(data, tmp_path, "--epochs=1000", "--checkpoint-seconds=0", "--seconds-per-epoch=0.01"),
                           env=ONE_THREAD, stdout=subprocess.DEVNULL)
    poll(lambda: (tmp_path / "checkpoint.npz").exists() and len(epochs(tmp_path)) >= 10)
    run.kill()
    run.wait()
    done = len(epochs(tmp_path))
    again = subprocess.run(train(data, tmp_path, f"--epochs={done + 3}"), env=ONE_THREAD, capture_output=True, text=True)
    assert again.returncode == 0 and "resuming after epoch" in again.stdout
    resumed = int(again.stdout.split("resuming after epoch ")[1].split()[0])
    assert done - 1 <= resumed <= done


def test_job_scripts_ask_for_what_a_cluster_wants_to_know():
    for name in ("train.sh", "sweep.sh"):
        text = (DIGITS / name).read_text()
        assert subprocess.run(["bash", "-n", str(DIGITS / name)]).returncode == 0
        for option in ("--account=", "--time=", "--mem=", "--cpus-per-task="):
            assert f"#SBATCH {option}" in text
