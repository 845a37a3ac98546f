"""What is measured of running jobs: minke top, sacct, seff, /metrics."""
import contextlib
import json
import os
import pathlib
import re
import socket
import time
import urllib.error
import urllib.request

import pytest

from cluster import Cluster, Ports, poll
from portal_client import Portal
from test_gpus import H100, driver, gpu_cluster, visible  # noqa: F401 (fixtures)

MINKE_ONLY = True
NODES = '[[node]]\nname = "n1"\ncpus = 4\nmemory = "4000M"\n'
HOG = "import time\ntaken = bytearray(200 << 20)\nfor at in range(0, len(taken), 4096):\n    taken[at] = 1\n"
BUSY = HOG + "print('had', flush=True)\nwhile True:\n    sum(range(10000))\n"


def top(cluster, *options) -> dict:
    return json.loads(cluster.run("minke", "top", "--json", *options, check=0).stdout)


def job_in(report: dict, job: int) -> dict | None:
    return next((one for one in report["jobs"] if one["job_id"] == job), None)


def times_of(cluster, job: int) -> list[int]:
    """When the job's samples were taken."""
    one = job_in(top(cluster, "--series", "-j", str(job)), job)
    return one["series"]["time"] if one else []


@pytest.fixture
def measured(tmp_path):
    """A cluster that measures every second."""
    one = Cluster(tmp_path)
    path = one.directory / "minke.toml"
    path.write_text("[measuring]\ninterval = 1\n" + NODES)
    one.environment["MINKE_CONFIG"] = str(path)
    yield one
    one.close()


def test_top_shows_time_and_memory(measured):
    (measured.work / "busy.py").write_text(BUSY)
    job = measured.submit("exec python3 busy.py", "--mem=400M", "-c1", "--job-name=busy")

    def seen():
        one = job_in(top(measured), job)
        return one and one["cores"] > 0.05 and one["memory_kib"] > 200 << 10 and one
    one = poll(seen, what="the job's use")
    assert one["name"] == "busy" and one["processes"] >= 1 and one["peak_memory_kib"] >= one["memory_kib"]
    assert one["memory_kib"] < 400 << 10 and one["held_memory_kib"] == 400 << 10
    lines = measured.run("minke", "top", "--once", check=0).stdout.splitlines()
    assert "1 job running" in lines and any(" cores busy" in line for line in lines)
    assert any(re.match(rf"{job} +\S+ +busy ", line) for line in lines), lines
    # A name does not write to the terminal of who looks.
    other = measured.submit("sleep 1000", "--mem=50M", "--job-name=a\x1b[2Jb")
    measured.wait_state(other, "RUNNING")
    poll(lambda: job_in(top(measured), other), what="the other job")
    lines = measured.run("minke", "top", "--once", check=0).stdout.splitlines()
    assert any(re.match(rf"{other} +\S+ +a\?\[2Jb ", line) for line in lines), lines
    measured.run("scancel", job, other, check=0)


def test_each_processor_of_a_bound_job_has_its_time(measured):
    (measured.work / "busy.py").write_text("while True:\n    sum(range(10000))\n")
    job = measured.submit("grep Cpus_allowed_list /proc/self/status; exec python3 busy.py", "--mem=100M", "-c1", "--output=busy.out")

    def risen():
        one = job_in(top(measured, "--series", "-j", str(job)), job)
        processors = one["series"].get("processors", []) if one else []
        return any(processor["milliseconds"][-1] > 100 for processor in processors) and one["series"]
    series = poll(risen, what="the time of the job's processor")
    allowed = (measured.work / "busy.out").read_text().split()[-1]
    processor, = series["processors"]
    assert str(processor["id"]) == allowed and processor["milliseconds"][0] == 0
    assert len(processor["milliseconds"]) == len(series["time"]) == len(series["node_received_kib"]) == len(series["cache_kib"])
    measured.run("scancel", job, check=0)


def test_the_series_is_kept_with_the_record(measured):
    job = measured.submit("sleep 3000", "--mem=100M")
    poll(lambda: len(times_of(measured, job)) >= 3, what="three samples")
    measured.run("scancel", job, check=0)
    measured.wait_end(job)
    poll(lambda: job_in(top(measured, "--series", "-j", str(job)), job), what="the stored series")
    kept = job_in(top(measured, "--series", "-j", str(job)), job)["series"]
    assert len(kept["time"]) == len(kept["memory_kib"]) >= 3 and kept["time"] == sorted(kept["time"])
    measured.run("minke", "down", check=0)
    assert job_in(top(measured, "--series", "-j", str(job)), job)["series"] == kept


def test_a_restarted_daemon_goes_on_with_the_series(measured):
    job = measured.submit("sleep 600", "--mem=100M")
    first = poll(lambda: times_of(measured, job), what="a sample")
    measured.run("minke", "down", "--keep-jobs", check=0)
    again = poll(lambda: len(times := times_of(measured, job)) > len(first) and times, what="more samples")
    assert again[:len(first)] == first
    measured.run("scancel", job, check=0)


def test_nothing_wakes_up_when_nothing_runs(measured):
    measured.wait_end(measured.submit("true", "--mem=100M"))

    def wake_ups():
        return json.loads(measured.run("minke", "status", "--json", check=0).stdout)["wake_ups"]
    poll(lambda: measured.queue() == [])

    def rests() -> bool:
        before = wake_ups()
        time.sleep(5)  # five samples' time, to see that nothing happens
        return wake_ups() - before <= 4  # this question's own
    poll(rests, what="rest, once the job's end has been recorded")


def test_gpus_in_sacct_seff_and_top(gpu_cluster, driver):  # noqa: F811
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}",
                          "use 0 80 40000 300000 1000000 1980", "use 1 40 10000 200000 1000000 1980",
                          extra="[measuring]\ninterval = 1\n")
    job = cluster.submit("srun --mem=100M sleep 600", "--gpus=2", "--mem=100M")
    one = poll(lambda: (found := job_in(top(cluster, "--series"), job)) and len(found["series"]["time"]) >= 2 and found,
               what="two samples")
    assert [gpu["utilization"] for gpu in one["gpus"]] == [80, 40]
    assert one["gpus"][0] == {"uuid": "GPU-aaa", "utilization": 80, "memory_utilization": 40, "memory_mib": 40000, "watts": 300.0,
                              "clock_mhz": 1980}
    # 50 kJ more on each by now.
    driver.tell(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}",
                "use 0 80 40000 300000 51000000 1980", "use 1 40 10000 200000 51000000 1980")
    poll(lambda: job_in(top(cluster), job)["energy_joules"] >= 100000, what="the energy")
    for step in (f"{job}.batch", f"{job}.0"):
        told = cluster.run("sstat", "-n", "-P", "-o", "TRESUsageInAve,TRESUsageInMin,ConsumedEnergyRaw", "-j", step,
                           check=0).stdout.strip().split("|")
        assert "gres/gpumem=50000M,gres/gpuutil=120," in told[0] and "gpu" not in told[1], told
        assert int(told[2]) >= 100000
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    steps = {line[0]: line[1:] for line in
             cluster.sacct("-j", job, format="JobID,TRESUsageInTot,TRESUsageInMax,ConsumedEnergyRaw")}
    for step in (f"{job}.batch", f"{job}.0"):
        assert "gres/gpumem=50000M,gres/gpuutil=120," in steps[step][0], steps
        assert "gres/gpumem=50000M,gres/gpuutil=120," in steps[step][1], steps
    assert int(steps[str(job)][2]) >= 100000 and int(steps[f"{job}.batch"][2]) >= 100000
    said = cluster.run("seff", job, check=0).stdout
    assert "GPU Efficiency: 60.00% of 2 GPUs\n" in said and "GPU Memory Utilized: 48.83 GB\n" in said, said
    assert re.search(r"Energy Consumed: \d{6} Joules \(0\.0\d kWh\)", said), said


def test_the_parts_of_a_gpu_s_cycles(gpu_cluster, driver):  # noqa: F811
    """Of one GPU with GPM (Hopper), one that tells its links alone, one that tells nothing, and one that no job uses."""
    sampled = pathlib.Path(f"{driver.library}.sampled")
    sampled.touch()
    links = "nvlink 1 12 1000 1000", "pcie 1 3000 4000"
    gpus = [f"{i} {i} GPU-{i} 81559 {H100}" for i in range(4)] + ["gpm 3 2=99"]
    first = ("gpm 0 2=62.3 3=30 5=41 10=30 11=0 12=7 13=8 20=100 21=2000 60=50 61=60", "nvlink 0 18 0 0")
    cluster = gpu_cluster(*gpus, *first, *links, extra="[measuring]\ninterval = 1\n")
    job = cluster.submit("sleep 600", "--gpus=3", "--mem=100M")

    def series() -> list[dict]:
        one = job_in(top(cluster, "--series", "-j", str(job)), job)
        return one["series"].get("gpus", []) if one else []

    def after(what, value):
        return poll(lambda: (now := series()) and now[0].get(what, [None])[-1] == value and now, 60, f"{what} = {value}")
    gpu = after("sm_active_percent", pytest.approx(62.3))
    told = {"sm_active_percent": 62.3, "sm_occupancy_percent": 30, "tensor_percent": 41, "fp64_percent": 0, "fp32_percent": 7,
            "fp16_percent": 8, "dram_percent": 30, "pcie_sent_bytes_per_second": 100 << 20,
            "pcie_received_bytes_per_second": 2000 << 20, "nvlink_received_bytes_per_second": 50 << 20,
            "nvlink_sent_bytes_per_second": 60 << 20}
    assert {name: gpu[0][name][-1] for name in told} == pytest.approx(told)
    now, = [one["gpus"] for one in top(cluster)["jobs"]]
    assert {name: now[0][name] for name in told} == pytest.approx(told)
    measured = {name for name in gpu[1] if "_per_second" in name}
    assert measured == {f"{link}_{way}_bytes_per_second" for link in ("pcie", "nvlink") for way in ("received", "sent")}
    assert not [name for name in gpu[1] if name in told and name not in measured]
    assert not [name for name in gpu[2] if name in told], "no field is no 0"
    # A driver that ceases to tell leaves a gap.
    driver.tell(*gpus, "gpm 0 5=1", *links)
    gpu = after("sm_active_percent", None)
    assert gpu[0]["tensor_percent"][-1] == 1 and pytest.approx(62.3) in gpu[0]["sm_active_percent"]
    assert set(sampled.read_text().split()) == {"0"}

    portal = Portal(cluster)
    try:
        running = portal.program(f"/api/v1/jobs/{job}/measurements")["series"]["gpus"]
        assert running[0]["sm_active_percent"][0] is None and pytest.approx(62.3) in running[0]["sm_active_percent"]
        assert {name for name in running[1] if name in told} == measured
        assert running[1]["pcie_received_bytes_per_second"][-1] == 3000 << 10
        assert not [name for name in running[2] if name in told]
        described = portal.program("/openapi/v3")["components"]["schemas"]["gpu_series"]
        assert set(running[0]) <= set(described["properties"]) and not set(told) & set(described["required"])
        # The record has it, too.
        cluster.run("scancel", job, check=0)
        cluster.wait_end(job)

        def kept():
            gpus = portal.program(f"/api/v1/jobs/{job}/measurements")["series"]["gpus"]
            return gpus and gpus[0]["sm_active_percent"][:len(running[0]["sm_active_percent"])] == running[0]["sm_active_percent"]
        poll(kept, 60, "the stored series")
    finally:
        portal.close()
    before = sampled.read_text()
    top(cluster)
    assert sampled.read_text() == before, "of no job's GPU nothing is sampled"


def test_a_gpu_that_is_lost_while_it_is_used(gpu_cluster, driver):  # noqa: F811
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", extra="[measuring]\ninterval = 1\n")
    job = cluster.submit("sleep 600", "--gpus=1", "--mem=100M")
    poll(lambda: job_in(top(cluster), job), what="a sample")
    driver.tell(f"0 0 GPU-aaa 81559 {H100}", "lost 0")
    poll(lambda: (top(cluster), "GPUs: GPU-aaa: GPU is lost" in cluster.run("minke", "doctor").stdout)[1],
         what="the doctor's word")
    assert cluster.state(job) == "RUNNING"


@pytest.fixture
def ports():
    some = Ports()
    yield some
    some.close()


def fetch(port: int, path: str = "/metrics") -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=120) as answer:
        return answer.read().decode()


def test_reconfigure_serves_metrics_elsewhere(cluster, ports):
    cluster.run("sinfo", check=0)
    path = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    before = path.read_text()

    def served(port):
        try:
            return "slurm_nodes" in fetch(port)
        except OSError:
            return False
    first, second = ports.take(), ports.take()
    for port, other in ((first, second), (second, first)):
        path.write_text(f'metrics = "127.0.0.1:{port}"\n' + before)
        cluster.run("scontrol", "reconfigure", check=0)
        poll(lambda: served(port), what="an answer")
        poll(lambda: not served(other), what="the end of the other")
    path.write_text(before)
    cluster.run("scontrol", "reconfigure", check=0)
    poll(lambda: not served(second), what="the end of both")


def test_metrics(gpu_cluster, ports):  # noqa: F811
    port = ports.take()
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", "use 0 80 40000 300000 1000000 1980", "gpm 0 2=62.5 21=3 60=0",
                          extra="[measuring]\ninterval = 1\n", )
    path = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    path.write_text(f'metrics = "127.0.0.1:{port}"\n' + path.read_text())
    cluster.run("minke", "down")
    running = cluster.submit("sleep 1000", "--gpus=1", "--mem=100M", "--job-name", "a\"b")
    waiting = cluster.submit("true", "--hold", "--array=1-5", "--mem=100M")
    assert running and waiting

    def answered():
        try:
            text = fetch(port)
        except OSError:
            return None
        return text if "DCGM_FI_PROF_SM_ACTIVE" in text else None
    text = poll(answered, what="an answer with the job")
    user = cluster.run("id", "-un").stdout.strip()
    for line in ("slurm_jobs 6", "slurm_jobs_running 1", "slurm_jobs_pending 5", "slurm_jobs_hold 5",
                 "slurm_jobs_gpus_alloc 1", 'slurm_partition_jobs_running{partition="main"} 1',
                 f'slurm_user_jobs_pending{{username="{user}",user="{user}"}} 5', "slurm_nodes 1", "slurm_nodes_mixed 1",
                 'slurm_node_gpus_alloc{node="n1"} 1', 'slurm_node_cpus{node="n1"} 4',
                 # The names of prometheus-slurm-exporter.
                 "slurm_queue_pending 5", "slurm_queue_running 1", "slurm_cpus_alloc 1", "slurm_cpus_idle 3", "slurm_cpus_total 4",
                 "slurm_gpus_alloc 1", "slurm_nodes_mix 1", 'slurm_node_cpu_alloc{node="n1",status="mixed"} 1',
                 'slurm_partition_cpus_total{partition="main"} 4', f'slurm_user_cpus_running{{user="{user}"}} 1'):
        assert f"\n{line}\n" in text, line
    assert re.search(rf'slurm_job_utilization_gpu{{slurmjobid="{running}",user="{user}",account="[^"]*",gpu="0",'
                     r'gpu_type="h100",gpu_uuid="GPU-aaa"} 80\n', text), text
    assert re.search(rf'slurm_job_memory_limit{{slurmjobid="{running}".*}} 104857600\n', text)
    labels = rf'{{gpu="0",UUID="GPU-aaa",modelName="{H100}",hpc_job="{running}",user="{user}",account="[^"]*"}}'
    for name, value in (("SM_ACTIVE", "0.625"), ("PCIE_RX_BYTES", "3145728"), ("NVLINK_RX_BYTES", "0")):
        assert re.search(rf"^DCGM_FI_PROF_{name}{labels} {value}$", text, re.M), text
    assert "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE" not in text
    # Each name is described once, and its samples stand together.
    names = re.findall(r"^# TYPE (\S+) ", text, re.M)
    assert len(names) == len(set(names))
    assert "slurm_jobs_running" in fetch(port, "/metrics/jobs") and "slurm_nodes" not in fetch(port, "/metrics/jobs")
    with pytest.raises(urllib.error.HTTPError, match="404"):
        fetch(port, "/etc/passwd")
    for junk in (b"\r\n\r\n", b"POST / HTTP/1.1\r\n\r\n", b"GET " + b"x" * 10000, os.urandom(100)):
        with socket.create_connection(("127.0.0.1", port)) as one:
            one.sendall(junk)
    # Those who ask for nothing, or never to the end, hold up nobody.
    with contextlib.ExitStack() as idle:
        for begun in [b"", b"GET /metr"] * 100:
            idle.enter_context(socket.create_connection(("127.0.0.1", port), timeout=120)).sendall(begun)
        assert "slurm_jobs_running 1\n" in fetch(port)
    assert "slurm_jobs_running 1\n" in fetch(port)


def test_a_gpu_that_is_lost_while_jobs_run(gpu_cluster, driver):
    """It is taken from the offer, the job that has it is told, and it comes back when it answers again."""
    cluster = gpu_cluster(*(gpus := [f"{i} {i} GPU-{name * 3} 81559 {H100}" for i, name in enumerate("ab")]),
                          extra="[measuring]\ninterval = 1\n", nodes=NODES)
    job = cluster.submit("sleep 3000", "--gpus=1", "--mem=100M")
    cluster.wait_state(job, "RUNNING")
    poll(lambda: (one := job_in(top(cluster), job)) and one["gpus"], what="a sample")
    driver.tell(*gpus, "lost 0")
    show = ("scontrol", "show", "node", "n1")
    poll(lambda: "Reason=GPU 0: GPU is lost" in cluster.run(*show, check=0).stdout, what="the loss")
    output = cluster.work / f"slurm-{job}.out"
    poll(lambda: f"JOB {job} HAS LOST A GPU: GPU-aaa: GPU is lost" in output.read_text(), what="the job's note")
    assert cluster.job(job)["JobState"] == "RUNNING"
    other = cluster.submit("echo $CUDA_VISIBLE_DEVICES; sleep 3000", "--gpus=1", "--mem=100M")
    poll(lambda: (cluster.work / f"slurm-{other}.out").exists() and
         (cluster.work / f"slurm-{other}.out").read_text() == f"{visible(cluster, '1')}\n", what="the other GPU")
    # What the first one gives back, nobody gets.
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    waits = cluster.submit("echo $CUDA_VISIBLE_DEVICES", "--gpus=1", "--mem=100M")
    poll(lambda: cluster.job(waits)["Reason"] == "Resources", what="the reason")
    assert "GPU-aaa: GPU is lost" in cluster.run("minke", "status").stdout
    driver.tell(*gpus)
    assert cluster.output(waits) == "0\n"
    assert "Reason" not in cluster.run(*show, check=0).stdout
    cluster.run("scancel", other, check=0)
