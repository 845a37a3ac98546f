"""GPUs that the driver tells of: a library in the place of NVIDIA's, which the tests build, says what there is."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from cluster import Cluster, ROOT

MINKE_ONLY = True
H100 = "NVIDIA H100 80GB HBM3"


class Driver:
    """The library, and the GPUs that it tells of at this moment."""

    def __init__(self, directory: pathlib.Path):
        self.library = directory / "libnvidia-ml.so.1"
        self.devices = directory / "dev"
        self.devices.mkdir()
        self.lines: list[str] = []
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.library, ROOT / "tests/fake_nvml.c"], check=True)

    def tell(self, *lines: str) -> None:
        path = pathlib.Path(f"{self.library}.gpus")
        new = path.with_suffix(".new")
        new.write_text("".join(line + "\n" for line in lines))
        os.rename(new, path)

    def configuration(self) -> str:
        return f'[gpus]\nlibrary = "{self.library}"\ndevice_directory = "{self.devices}"\n'


@pytest.fixture
def driver(tmp_path):
    return Driver(tmp_path)


@pytest.fixture
def gpu_cluster(tmp_path, driver):
    """A function: a cluster with these GPUs, and these lines in its configuration."""
    made = []

    def make(*gpus: str, extra: str = "", nodes: str = '[[node]]\nname = "n1"\ncpus = 4\nmemory = "4000M"\n'):
        driver.tell(*gpus)
        one = Cluster(tmp_path / f"cluster{len(made)}")
        path = one.directory / "minke.toml"
        path.write_text(driver.configuration() + extra + nodes)
        one.environment["MINKE_CONFIG"] = str(path)
        made.append(one)
        return one

    yield make
    for one in made:
        one.close()


def findings(cluster, level: str) -> list[str]:
    return [one["what"] for one in json.loads(cluster.run("minke", "doctor", "--json").stdout)["findings"]
            if one["level"] == level]


def test_gpus_are_found_and_shown(gpu_cluster):
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}")
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "gpu:h100:2"
    node = cluster.run("scontrol", "show", "node", "n1", check=0).stdout
    assert "Gres=gpu:h100:2\n" in node
    assert "GPUs: n1 has 2 h100" in findings(cluster, "ok")
    details = cluster.run("scontrol", "-d", "show", "node", "n1", check=0).stdout
    assert re.search(r"GresDevices=0=GPU-aaa\(NVIDIA H100 80GB HBM3,81559M,\S*/nvidia0\);1=GPU-bbb\(", details), details


def test_jobs_get_the_drivers_numbers(gpu_cluster):
    cluster = gpu_cluster("0 0 GPU-l 46068 NVIDIA L40S", f"1 1 GPU-a 81559 {H100}", "2 2 GPU-m 46068 NVIDIA L40S")
    assert cluster.run("sinfo", "-h", "-o", "%G").stdout.strip() == "gpu:l40s:2,gpu:h100:1"
    # In gres the types stand together, so that the H100 is number 2 there, and 1 to the driver.
    script = "echo $CUDA_VISIBLE_DEVICES $SLURM_JOB_GPUS $SLURM_GPUS_ON_NODE"
    assert cluster.output(cluster.submit(script, "--gpus=h100:1", "--mem=100M")).split() == ["1", "2", "1"]
    assert cluster.output(cluster.submit(script, "--gpus=l40s:2", "--mem=100M")).split() == ["0,2", "0,1", "2"]
    job = cluster.submit("srun -n2 --gpus-per-task=1 --mem=100M bash -c 'echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES'",
                         "--gpus=l40s:2", "-n2", "--mem=200M")
    assert sorted(cluster.output(job).splitlines()) == ["0 0", "1 2"]


def test_parts_of_gpus_are_named_by_their_uuids(gpu_cluster):
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}",
                          f"mig 0 1 0 MIG-one 40448 {H100} MIG 3g.40gb", f"mig 0 5 0 MIG-two 9984 {H100} MIG 1g.10gb",
                          f"mig 0 6 0 MIG-three 9984 {H100} MIG 1g.10gb")
    assert cluster.run("sinfo", "-h", "-o", "%G").stdout.strip() == (
        "gpu:nvidia_h100_80gb_hbm3_3g.40gb:1,gpu:nvidia_h100_80gb_hbm3_1g.10gb:2,gpu:h100:1")
    script = "echo $CUDA_VISIBLE_DEVICES"
    for wanted, seen in (("nvidia_h100_80gb_hbm3_3g.40gb:1", "MIG-one"),
                         ("nvidia_h100_80gb_hbm3_1g.10gb:2", "MIG-two,MIG-three"), ("h100:1", "1")):
        assert cluster.output(cluster.submit(script, f"--gpus={wanted}", "--mem=100M")).strip() == seen


def test_gpus_are_dealt_out_to_virtual_nodes(gpu_cluster):
    nodes = ('[[node]]\nname = "a[1-2]"\ncpus = 2\nmemory = "1000M"\ngpu_devices = "0-3"\n'
             '[[node]]\nname = "v1"\ncpus = 2\nmemory = "1000M"\ngpus = "a100:8"\n'
             '[[node]]\nname = "c1"\ncpus = 2\nmemory = "1000M"\n')
    cluster = gpu_cluster(*(f"{i} {i} GPU-{i} 81559 {H100}" for i in range(4)), nodes=nodes)
    offered = cluster.run("sinfo", "-h", "-N", "-o", "%N %G").stdout.split("\n")
    assert sorted(filter(None, offered)) == ["a1 gpu:h100:2", "a2 gpu:h100:2", "c1 (null)", "v1 gpu:a100:8"]
    assert "GresDevices=virtual" in cluster.run("scontrol", "-d", "show", "node", "v1").stdout
    script = "echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"
    job = cluster.submit(f"srun --mem=100M bash -c '{script}'", "-N2", "--gpus-per-node=h100:2", "--mem=200M")
    assert sorted(cluster.output(job).splitlines()) == ["a1 0,1", "a2 2,3"]
    assert "GPUs are virtual: counted, but no such device is there" in findings(cluster, "note")


def test_a_driver_that_cannot_be_used_is_told(gpu_cluster):
    cluster = gpu_cluster("init 18")
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "(null)"
    assert any("Driver/library version mismatch" in one for one in findings(cluster, "problem"))
    assert cluster.state(cluster.submit("true", "--mem=100M"))


def test_a_lost_gpu_is_not_offered(gpu_cluster):
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}", "lost 0")
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "gpu:h100:1"
    assert cluster.output(cluster.submit("echo $CUDA_VISIBLE_DEVICES", "--gpus=1", "--mem=100M")).strip() == "1"
    assert any("GPU 0: GPU is lost" in one for one in findings(cluster, "problem"))


def test_discovery_can_be_switched_off(tmp_path, gpu_cluster):
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", extra="discover = false\n")
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "(null)"
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "minke.toml").write_text('[[node]]\nname = "n[1-2]"\ngpu_devices = "0-2"\n')
    done = cluster.run("minke", "up", env={"MINKE_HOME": str(wrong), "MINKE_CONFIG": None})
    assert done.returncode == 1 and "cannot be dealt out evenly to 2 nodes" in done.stderr
