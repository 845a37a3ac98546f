"""A real GPU of NVIDIA's, where the machine under the tests has one: what the driver says is what Minke offers, a job sees
what it has, and what it does there is measured. Needs PyTorch in the Python that runs the tests."""
import importlib.util
import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from cluster import Cluster, poll
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = pytest.mark.skipif(
    not pathlib.Path("/dev/nvidiactl").exists() or not shutil.which("nvidia-smi")
    or not importlib.util.find_spec("torch"), reason="no GPU of NVIDIA's here, or no nvidia-smi, or no PyTorch")

# Holds 2 GiB of the GPU's memory, and multiplies until its time is up.
BUSY = """import sys, time
import torch
held = torch.empty(1 << 31, dtype=torch.uint8, device="cuda")
a = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
end = time.monotonic() + float(sys.argv[1])
while time.monotonic() < end:
    for _ in range(50):
        a @ a
    torch.cuda.synchronize()
print("devices", torch.cuda.device_count(), flush=True)
"""
SEEN = "import torch; print(torch.cuda.device_count() if torch.cuda.is_available() else 0)"
MEASURING = "[measuring]\ninterval = 1\n"


def smi(fields: str) -> list[list[str]]:
    done = subprocess.run(["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], check=True,
                          capture_output=True, text=True)
    return [line.split(", ") for line in done.stdout.splitlines()]


@pytest.fixture
def machine(tmp_path):
    """A function: a cluster of one's own on this machine as it is, with these lines in its configuration."""
    made = []

    def make(settings: str = "") -> Cluster:
        one = Cluster(tmp_path / "cluster")
        path = one.directory / "real.toml"
        path.write_text(settings)
        one.environment["MINKE_CONFIG"] = str(path)
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def test_the_machine_offers_what_the_driver_says(machine):
    cluster = machine()
    shown = cluster.run("scontrol", "-d", "show", "node", check=0).stdout
    for index, uuid, name, memory in smi("index,uuid,name,memory.total"):
        assert f"{index}={uuid}({name},{memory}M,/dev/nvidia{index})" in shown
    problems = [one for one in json.loads(cluster.run("minke", "doctor", "--json").stdout)["findings"]
                if one["level"] == "problem" and "GPU" in one["what"]]
    assert not problems


def test_a_job_sees_the_gpus_that_it_has(machine):
    cluster = machine()
    cluster.work.joinpath("seen.py").write_text(SEEN)
    with_one = cluster.submit(f"exec {sys.executable} seen.py", "--gpus=1", "--mem=4G")
    assert cluster.output(with_one).strip() == "1"
    without = cluster.submit(f"exec {sys.executable} seen.py", "--mem=4G")
    assert cluster.output(without).strip() == "0"


def test_what_a_job_does_on_its_gpu_is_measured(machine):
    cluster = machine(MEASURING)
    cluster.work.joinpath("busy.py").write_text(BUSY)
    job = cluster.submit(f"exec {sys.executable} busy.py 20", "--gpus=1", "--mem=8G", "--time=10")

    def busy() -> dict | None:
        top = json.loads(cluster.run("minke", "top", "--json", check=0).stdout)
        return next((gpu for gpu in top["machine"]["gpus"] if gpu["utilization"] > 50), None)

    assert poll(busy, 60, "a GPU that minke top shows as busy")
    cluster.wait_state(job, "COMPLETED", seconds=120)
    told = cluster.run("seff", job, check=0).stdout
    assert float(re.search(r"GPU Efficiency: ([0-9.]+)%", told)[1]) > 30, told
    assert float(re.search(r"GPU Memory Utilized: ([0-9.]+) GB", told)[1]) > 2, told
    used = cluster.run("sacct", "-n", "-j", f"{job}.batch", "-P", "--format=TRESUsageInMax,ConsumedEnergyRaw",
                       check=0).stdout.strip()
    assert int(re.search(r"gres/gpuutil=(\d+)", used)[1]) > 50, used
    assert int(used.split("|")[1]) > 100, used  # joules: an idle H100 takes 70 of them a second


def test_jobs_share_a_gpu_by_shards(machine):
    cluster = machine("[gpus]\nshards_per_gpu = 2\n")
    cluster.work.joinpath("busy.py").write_text(BUSY)
    jobs = [cluster.submit(f"exec {sys.executable} busy.py 3", "--gres=shard:1", "--mem=8G", "--time=10")
            for _ in range(2)]
    poll(lambda: all(cluster.state(job) in ("RUNNING", "COMPLETED") for job in jobs), 30, "both at once")
    for job in jobs:
        assert cluster.output(job).strip() == "devices 1"


@NEEDS_ROOT
def test_a_job_of_a_shared_cluster_opens_no_gpu_of_others():
    shared = Shared(parent="/var/tmp", machine="")
    try:
        found = json.loads(shared.root_run(shared.program, "doctor", "--json").stdout)["findings"]
        if not any(one["what"] == "jobs cannot open GPUs of others" for one in found):
            pytest.skip(str([one for one in found if "GPU" in one["what"]]))
        shared.alice.work.joinpath("seen.py").write_text(SEEN)
        open_it = "(exec 3<>/dev/nvidia0) && echo opened || echo refused; "
        with_one = shared.alice.submit(open_it + f"exec {sys.executable} seen.py", "--gpus=1", "--mem=4G")
        assert shared.alice.output(with_one).split() == ["opened", "1"]
        without = shared.alice.submit(open_it + f"exec {sys.executable} seen.py", "--mem=4G")
        assert shared.alice.output(without).splitlines()[-2:] == ["refused", "0"]
    finally:
        shared.close()
