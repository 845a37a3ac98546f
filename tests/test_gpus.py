"""GPUs that the driver tells of: a library in the place of NVIDIA's, which the tests build, says what there is."""
import json
import os
import pathlib
import re
import subprocess

import pytest

from cluster import Cluster, ROOT, poll

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


def visible(cluster, numbers: str) -> str:
    """What a job finds in CUDA_VISIBLE_DEVICES that has the driver's GPUs of these numbers: where it can open no others, they
    are counted from 0 in it."""
    hidden = "jobs cannot open GPUs of others" in findings(cluster, "ok")
    return ",".join(map(str, range(len(numbers.split(","))))) if hidden else numbers


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
    assert cluster.output(cluster.submit(script, "--gpus=h100:1", "--mem=100M")).split() == [visible(cluster, "1"), "2", "1"]
    assert cluster.output(cluster.submit(script, "--gpus=l40s:2", "--mem=100M")).split() == [visible(cluster, "0,2"), "0,1", "2"]
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
                         ("nvidia_h100_80gb_hbm3_1g.10gb:2", "MIG-two,MIG-three"), ("h100:1", visible(cluster, "1"))):
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
    assert cluster.output(cluster.submit("echo $CUDA_VISIBLE_DEVICES", "--gpus=1", "--mem=100M")).strip() == visible(cluster, "1")
    assert any("GPU 0: GPU is lost" in one for one in findings(cluster, "problem"))


def test_discovery_can_be_switched_off(tmp_path, gpu_cluster):
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", extra="discover = false\n")
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "(null)"
    wrong = tmp_path / "wrong"
    wrong.mkdir()
    (wrong / "minke.toml").write_text('[[node]]\nname = "n[1-2]"\ngpu_devices = "0-2"\n')
    done = cluster.run("minke", "up", env={"MINKE_HOME": str(wrong), "MINKE_CONFIG": None})
    assert done.returncode == 1 and "cannot be dealt out evenly to 2 nodes" in done.stderr


def test_processors_near_the_gpu(gpu_cluster):
    """A job's processes run near its GPU, as far as the driver tells what that is."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("one processor is near everything")
    near = cpus[1], cpus[0]
    cluster = gpu_cluster(*(f"{i} {i} GPU-{i} 81559 {H100}" for i in range(2)),
                          *(f"near {i} {1 << cpu:x}" for i, cpu in enumerate(near)))
    script = "echo $CUDA_VISIBLE_DEVICES $(grep Cpus_allowed_list /proc/self/status | cut -f2)"
    first = cluster.submit(script + "; while [ ! -e go ]; do sleep 0.1; done", "--gpus=1", "-c1", "--mem=100M")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit(script, "--gpus=1", "-c1", "--mem=100M")
    assert cluster.output(second) == f"{visible(cluster, '1')} {near[1]}\n"
    (cluster.work / "go").touch()
    assert cluster.output(first) == f"0 {near[0]}\n"


def test_gpus_of_amd(gpu_cluster, driver, tmp_path):
    """Found in the kernel's files, without a library; one of them is lost while the cluster runs."""
    drm = tmp_path / "sys/class/drm"
    for number, address in enumerate(("0000:03:00.0", "0000:43:00.0")):
        device = tmp_path / "sys/devices" / address
        device.mkdir(parents=True)
        for name, text in {"vendor": "0x1002", "product_name": "AMD Instinct MI300X", "unique_id": f"{number:016x}",
                           "mem_info_vram_total": str(192 << 30), "mem_info_vram_used": str(5 << 30),
                           "gpu_busy_percent": "50"}.items():
            (device / name).write_text(text + "\n")
        (drm / f"renderD{128 + number}").mkdir(parents=True)
        (drm / f"renderD{128 + number}/device").symlink_to(device)
    driver.library.unlink()
    nodes = (f'system_directory = "{tmp_path}/sys"\n[measuring]\ninterval = 1\n[[node]]\nname = "n1"\ncpus = 4\n'
             'memory = "4000M"\n')
    cluster = gpu_cluster(nodes=nodes)
    assert cluster.run("sinfo", "-h", "-o", "%G", check=0).stdout.strip() == "gpu:mi300x:2"
    details = cluster.run("scontrol", "-d", "show", "node", "n1", check=0).stdout
    assert f"1=GPU-{1:016x}(AMD Instinct MI300X,196608M,{driver.devices}/dri/renderD129)" in details
    first = cluster.submit("sleep 1000", "--gpus=1")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit("env | grep -E '(ROCR_VISIBLE|CUDA_VISIBLE|GPU_DEVICE)'; srun --gpus=1 env | grep ROCR_V",
                            "--gpus=1")
    assert cluster.output(second).splitlines() == [f"ROCR_VISIBLE_DEVICES={visible(cluster, '1')}"] * 2

    def samples() -> list[int]:
        """Of its GPU's utilization; one before the driver was asked counts as 0."""
        report = json.loads(cluster.run("minke", "top", "--json", "--series", check=0).stdout)
        found = [one["series"]["gpus"] for one in report["jobs"] if one["job_id"] == first and "series" in one]
        return found[0][0]["utilization"] if found and found[0] else []

    before = poll(lambda: (now := samples()) and now[-1] and len(now), 20, "what it does")
    subprocess.run(["pkill", "-KILL", "-P", str(cluster.pid()), "-f", "gpu-probe"], check=True)
    after = poll(lambda: len(now := samples()) >= before + 3 and now, 20, "three samples more")
    assert set(after[before - 1:]) == {50}, "one question without an answer is not an idle GPU"
    (tmp_path / "sys/devices/0000:43:00.0/vendor").unlink()
    poll(lambda: "Reason=GPU 1: " in cluster.run("scontrol", "show", "node", "n1").stdout, 20, "that it is lost")
