"""minke estimate: sizes from a model's own files, and what it says of files that are wrong."""
import json
import struct

import pytest

MINKE_ONLY = True

CONFIG = {"num_hidden_layers": 2, "hidden_size": 8, "num_attention_heads": 2, "vocab_size": 16, "intermediate_size": 32}


def safetensors(path, tensors: dict, cut: int = 0):
    header, at = {}, 0
    for name, (kind, shape, size) in tensors.items():
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + size]}
        at += size
    text = json.dumps(header).encode()
    path.write_bytes((struct.pack("<Q", len(text)) + text + bytes(at))[:-cut or None])


@pytest.fixture
def model(tmp_path):
    directory = tmp_path / "my-model"
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(CONFIG))
    return directory


def estimate(cluster, *arguments):
    return cluster.run("minke", "estimate", *arguments)


def test_exact_size_comes_from_the_files(cluster, model):
    safetensors(model / "model-00001-of-00002.safetensors", {"a": ("BF16", [10, 10], 200), "b": ("BF16", [7], 14)})
    safetensors(model / "model-00002-of-00002.safetensors", {"c": ("F32", [3], 12)})
    found = json.loads(estimate(cluster, model, "--json").stdout)
    assert found["parameters"] == 110 and found["stored_bytes"] == 226 and found["model"] == "my-model"
    assert found["inference"]["weights_bytes"] == 220
    assert found["clusters"]["narval"]["sbatch"][1] == "#SBATCH --gpus-per-node=a100_1g.5gb:1"
    assert found["clusters"]["vulcan"]["rgu_hours_per_hour"] is None
    assert cluster.pid() is None  # no daemon is needed


def test_without_weights_the_configuration_must_do(cluster, model):
    found = json.loads(estimate(cluster, model, "--json").stdout)
    attention, feed_forward, norms = 4 * 8 * 8, 3 * 8 * 32, 2 * 8
    assert found["parameters"] == 2 * (attention + feed_forward + norms) + 2 * 8 * 16 + 8


@pytest.mark.parametrize("break_it, problem", [
    (lambda d: (d / "config.json").unlink(), "config.json"),
    (lambda d: (d / "config.json").write_text("{"), "no JSON object"),
    (lambda d: safetensors(d / "a.safetensors", {"a": ("F32", [10], 40)}, cut=1), "cut off"),
    (lambda d: (d / "a.safetensors").write_bytes(b"\x05"), "too short"),
    (lambda d: (d / "a.safetensors").write_bytes(struct.pack("<Q", 50) + b"{}"), "cut off within its header"),
    (lambda d: safetensors(d / "a.safetensors", {"a": ("F32", [10], 44)}), "shape says")])
def test_wrong_files_are_named(cluster, model, break_it, problem):
    break_it(model)
    done = estimate(cluster, model)
    assert done.returncode == 1 and problem in done.stderr and done.stdout == ""


@pytest.mark.parametrize("arguments, problem", [
    (["9B"], "the name is not known"), ([], "which model"), (["8B", "--cluster=moon"], "no cluster is known"),
    (["8B", "--precision=bf17"], "a precision is"), (["8B", "--time=later"], "invalid --time"),
    (["8B", "--optimizer=sgdx"], "an optimizer is")])
def test_wrong_requests_are_named(cluster, arguments, problem):
    done = estimate(cluster, *arguments)
    assert done.returncode == 1 and problem in done.stderr
