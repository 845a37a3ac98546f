"""minke estimate: sizes from a model's own files, and what it says of files that are wrong."""
import decimal
import json
import re
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
    (["nonsense"], "no model is known by that name"), (["lama-3.1-8b"], "did you mean llama-3.1-8b?"), (["0B"], "no model is known"),
    ([], "which model"), (["resnet50", "--for=lora"], "--for full"), (["8B", "--cluster=moon"], "no cluster is known"),
    (["8B", "--precision=bf17"], "a precision is"), (["8B", "--time=later"], "invalid --time"),
    (["8B", "--optimizer=sgdx"], "an optimizer is")])
def test_wrong_requests_are_named(cluster, arguments, problem):
    done = estimate(cluster, *arguments)
    assert done.returncode == 1 and problem in done.stderr


@pytest.mark.parametrize("name, parameters, title", [
    ("13B", 13_015_864_320, "Llama 2 13B"), ("gpt2-xl", 1_557_611_200, "GPT-2 XL"), ("bert-large", 335_141_888, "BERT large"),
    ("resnet50", 25_557_032, "ResNet-50"), ("llama-7b", 6_738_415_616, "Llama 7B"), ("9B", 9_000_000_000, "A model of 9B")])
def test_families_and_sizes(cluster, name, parameters, title):
    found = json.loads(estimate(cluster, name, "--json").stdout)
    assert (found["model"], found["parameters"]) == (title, parameters)
    text = estimate(cluster, name).stdout
    assert text.startswith(f"{title}: ") and ("guessed" in text) == (name == "9B")
    assert ("with keys and values" in text) == (name not in ("bert-large", "resnet50"))
    assert max(len(line) for line in text.splitlines()) <= 90


@pytest.mark.machine(nodes=1, cpus=4, memory=8000)
def test_this_machine_comes_first(cluster):
    """Without GPUs: on processors, where it fits. No daemon is started."""
    text = estimate(cluster, "gpt2").stdout
    first = re.findall(r"^# (\S+)", text, re.MULTILINE)[0]
    assert first == "here," and "there are no GPUs; on processors, slowly" in text and cluster.pid() is None
    here = estimate(cluster, "gpt2", "--cluster=here").stdout
    script = cluster.script("#!/bin/bash\n" + "\n".join(re.findall("#SBATCH.*", here)) + "\ntrue\n")
    cluster.run("sbatch", "--test-only", script, check=0)
    assert "there are no GPUs\n" in estimate(cluster, "405B", "--cluster=here").stdout


@pytest.mark.machine(nodes=2, cpus=16, memory=64000, gpus="a100:4")
def test_what_the_cluster_in_use_has(cluster):
    """The same before and after its daemon has started; sbatch takes the lines."""
    before = json.loads(estimate(cluster, "70B", "--json").stdout)
    assert before["here"]["gpus_per_node"] == 4 and before["here"]["nodes"] == 1 and cluster.pid() is None
    lines = before["here"]["sbatch"]
    assert lines[1] == "#SBATCH --gpus-per-node=a100:4"
    cluster.run("sbatch", "--test-only", cluster.script("#!/bin/bash\n" + "\n".join(lines) + "\ntrue\n"), check=0)
    cluster.run("minke", "up", check=0)
    assert json.loads(estimate(cluster, "70B", "--json").stdout)["here"] == before["here"]
    assert "it needs more memory than the GPUs have" in estimate(cluster, "405B", "--cluster=here").stdout
    assert json.loads(estimate(cluster, "8B", "--cluster=fir", "--json").stdout)["here"] is None


# The tables that researchers plan by, as they are published.
TABLES = """
inference | FP16   | FP8    | INT4
8B        | 16 GB  | 8 GB   | 4 GB
70B       | 140 GB | 70 GB  | 35 GB
405B      | 810 GB | 405 GB | 203 GB
kv-cache  | 1k       | 16k      | 128k
8B        | 0.125 GB | 1.95 GB  | 15.62 GB
70B       | 0.313 GB | 4.88 GB  | 39.06 GB
405B      | 0.984 GB | 15.38 GB | 123.05 GB
training  | full    | LoRA   | QLoRA
8B        | 60 GB   | 16 GB  | 6 GB
70B       | 500 GB  | 160 GB | 48 GB
405B      | 3.25 TB | 950 GB | 250 GB
"""
DIFFERENT = {("kv-cache", "8B", "128k"), ("training", "70B", "full"), ("training", "70B", "LoRA"), ("training", "70B", "QLoRA"),
             ("training", "405B", "LoRA"), ("training", "405B", "QLoRA")}
# Layers, width, heads, width of the feed-forward layers; all have 128 numbers a head and 128,256 words.
SHAPES = {"8B": (32, 4096, 32, 14336), "70B": (80, 8192, 64, 28672), "405B": (126, 16384, 128, 53248)}


def table_cells():
    table, columns = "", []
    for line in TABLES.strip().splitlines():
        name, *values = (word.strip() for word in line.split("|"))
        if "B" in name:
            yield from (((table, name, column), value) for column, value in zip(columns, values))
        else:
            table, columns = name, values


def by_hand(table: str, model: str, column: str, unit: str, digits: int) -> str:
    """The cell in exact arithmetic, from the published shapes."""
    number = decimal.Decimal
    layers, width, heads, inner = SHAPES[model]
    head, words = 128, 128256
    keys_and_values = 16 if model == "405B" else 8  # the table's; the 405B model has 8, too
    kv_width = 8 * head
    layer = 2 * width * heads * head + 2 * width * kv_width + 3 * width * inner + 2 * width
    embeddings = 2 * width * words
    parameters = layers * layer + embeddings + width
    adapters = 16 * layers * (2 * (width + heads * head) + 2 * (width + kv_width) + 3 * (width + inner))
    gb, gib = number(10) ** 9, number(2) ** 30
    value = {
        "inference": lambda: number(model[:-1]) * {"FP16": 2, "FP8": 1, "INT4": number("0.5")}[column],
        "kv-cache": lambda: (number(layers * keys_and_values * head * 2 * 2)
                             * {"1k": 1024, "16k": 16000, "128k": 128000}[column] / gib),
        "training": lambda: {
            "full": number(8 * parameters) / (number(10) ** 12 if unit == "TB" else gib),
            "LoRA": number(2 * parameters + 8 * adapters) / gb,
            # Blocks of 64 have a scale of 8 bits, and 256 blocks one of 32.
            "QLoRA": (2 * embeddings + 8 * adapters
                      + (parameters - embeddings) * (4 + number(8) / 64 + number(32) / (64 * 256)) / 8) / gb,
        }[column]}[table]()
    return f"{value.quantize(number(1).scaleb(-digits), decimal.ROUND_HALF_UP)} {unit}"


def test_the_published_tables_by_hand(cluster):
    """Each cell is what arithmetic of the test's own gives; which ones the tables have otherwise is known, and said."""
    answer = json.loads(estimate(cluster, "--published", "--json").stdout)
    said = {(one["table"], one["model"], one["column"]): one for one in answer}
    cells = dict(table_cells())
    assert len(cells) == 27 and said.keys() == cells.keys()
    for cell, printed in cells.items():
        one, unit = said[cell], printed.split()[1]
        assert one["published"] == printed
        assert one["computed"] == by_hand(*cell, unit, len(printed.split()[0].partition(".")[2])), cell
        assert one["same"] == (one["computed"] == printed) == (cell not in DIFFERENT), cell
        assert one["note"] or one["same"], cell
        assert ("16 heads" in one["note"]) == (cell[:2] == ("kv-cache", "405B"))


# What is published of the clusters: RGU of a whole GPU, cores and GB of memory for each RGU.
BUNDLES = {"fir": (12.15, 0.98, 23.6), "narval": (4.0, 3.00, 31.1), "nibi": (12.15, 1.15, 20.5), "rorqual": (12.15, 1.31, 10.2),
           "trillium": (12.15, 1.97, 15.4)}
PARTS = {"a100_1g.5gb": 0.57, "a100_2g.10gb": 1.14, "a100_3g.20gb": 2.0, "1g.10gb": 1.74, "2g.20gb": 3.48, "3g.40gb": 6.1}
WITHOUT_RGU = {"tamia", "killarney", "vulcan", "mila", "alex"}


@pytest.mark.parametrize("arguments", [["8B"], ["70B"], ["405B", "--precision=fp8"], ["8B", "--for=qlora", "--context=1024"],
                                       ["gemma-3-1b-it"], ["70B", "--for=full", "--optimizer=adamw-8bit"]], ids=" ".join)
def test_the_lines_of_every_cluster_and_their_cost(cluster, arguments):
    """sbatch takes the lines as they are, and an hour costs what the published rule says of them."""
    found = json.loads(estimate(cluster, *arguments, "--json").stdout)["clusters"]
    assert found.keys() == BUNDLES.keys() | WITHOUT_RGU
    for name, one in found.items():
        if one is None:  # not even 64 nodes suffice
            continue
        script = cluster.script("#!/bin/bash\n" + "\n".join(one["sbatch"]) + "\ntrue\n")
        done = cluster.run("sbatch", "--test-only", script)
        # All that is wrong with them is that this machine is no such cluster.
        reasons = ("no node has this GRES)\n", "configuration is not available\n", "has the feature a100_80)\n")
        assert done.stderr.endswith(reasons), done.stderr
        asked = dict(re.fullmatch(r"#SBATCH --([a-z-]+)=(.+)", line).groups() for line in one["sbatch"])
        gpus = int(asked["nodes"]) * int(asked["gpus-per-node"].split(":")[1])
        if name in WITHOUT_RGU:
            assert one["rgu_hours_per_hour"] is None
            continue
        rgu, cores, memory = BUNDLES[name]
        specifier = asked["gpus-per-node"].split(":")[0]
        part = next((value for part, value in PARTS.items() if specifier.endswith(part)), rgu)
        cost = max(part * gpus, int(asked["nodes"]) * int(asked["cpus-per-task"]) / cores,
                   int(asked["nodes"]) * int(asked.get("mem", "0G")[:-1]) / memory)
        assert one["rgu_hours_per_hour"] == pytest.approx(cost), (name, asked)
