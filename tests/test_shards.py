"""Shards: several small jobs on one GPU, as Slurm has them."""
import pytest

from cluster import Cluster, poll
from test_gpus import driver, gpu_cluster  # noqa: F401: fixtures

pytestmark = pytest.mark.minke_only
MINKE_ONLY = True
H100 = "NVIDIA H100 80GB HBM3"
TWO = ('[[node]]\nname = "n1"\ncpus = 16\nmemory = "4000M"\ngpus = "a100:2"\nshards_per_gpu = 4\n')


@pytest.fixture
def shared(tmp_path):
    cluster = Cluster(tmp_path / "shards")
    path = cluster.directory / "minke.toml"
    path.write_text("kill_wait = 1\n" + TWO)
    cluster.environment["MINKE_CONFIG"] = str(path)
    yield cluster
    cluster.close()


def running(cluster, *options):
    job = cluster.submit('echo "$CUDA_VISIBLE_DEVICES/$SLURM_SHARDS_ON_NODE/$SLURM_GPUS_ON_NODE/$SLURM_JOB_GPUS"\n'
                         'srun bash -c \'echo "$CUDA_VISIBLE_DEVICES/$SLURM_SHARDS_ON_NODE"\'\nsleep 1000\n', *options)
    cluster.wait_state(job, "RUNNING")
    return job


def test_jobs_share_a_gpu(shared):
    assert shared.run("sinfo", "-h", "-o", "%G").stdout == "gpu:a100:2,shard:8\n"
    three = running(shared, "--gres=shard:3")
    path = shared.work / f"slurm-{three}.out"
    poll(lambda: path.exists() and path.read_text().count("\n") == 2)
    assert path.read_text() == "0/3//0\n0/3\n"
    running(shared, "--gres=shard:2")
    one = running(shared, "--gres=shard")
    assert "gres/shard=3" in shared.job(three)["TresPerNode"] or shared.job(three)["TresPerNode"] == "gres/shard:3"
    assert "gres/shard=3" in shared.job(three)["AllocTRES"]
    node = shared.run("scontrol", "-d", "show", "node", "n1").stdout
    assert "Gres=gpu:a100:2,shard:8" in node
    assert "GresUsed=gpu:a100:0(IDX:N/A),shard:6(4/4,2/4)" in node
    # Both GPUs are shared: neither is anybody's as a whole, until its last shard is free.
    whole = shared.submit("sleep 1000\n", "--gpus=1")
    assert shared.job(whole)["JobState"] == "PENDING"
    assert shared.run("squeue", "-h", "-j", one, "-O", "tres-per-node:20").stdout.strip() in ("gres/shard", "gres/shard:1")
    waiting = shared.submit("sleep 1000\n", "--gres=shard:3", "--time=60")  # it does not delay the one before it
    shared.run("scancel", three, check=0)
    shared.wait_end(three)
    shared.wait_state(waiting, "RUNNING")
    assert "gres/shard=3" in shared.run("sacct", "-n", "-X", "-P", "-j", waiting, "-o", "AllocTRES").stdout


def test_a_restart_knows_who_has_which(shared):
    jobs = [running(shared, "--gres=shard:3"), running(shared, "--gres=shard:3")]
    before = shared.run("scontrol", "-d", "show", "node", "n1").stdout
    assert "shard:6(3/4,3/4)" in before
    shared.kill()
    assert "shard:6(3/4,3/4)" in shared.run("scontrol", "-d", "show", "node", "n1").stdout
    last = running(shared, "--gres=shard:1")
    assert "GRES=shard:1(IDX:0)" in shared.run("scontrol", "-d", "show", "job", last).stdout
    assert all(shared.state(job) == "RUNNING" for job in jobs)


def test_what_is_refused(shared):
    both = shared.run("sbatch", "--gres=gpu:1,shard:1", "--wrap", "true", check=1).stderr
    assert "Invalid generic resource (gres) specification" in both
    too_many = shared.run("sbatch", "--gres=shard:5", "--wrap", "true", check=1).stderr
    assert "Requested node configuration is not available" in too_many


def test_shards_of_real_gpus(gpu_cluster):  # noqa: F811
    cluster = gpu_cluster(f"0 0 GPU-aaa 81559 {H100}", f"1 1 GPU-bbb 81559 {H100}",
                          nodes='[[node]]\nname = "n1"\ncpus = 4\nmemory = "4000M"\nshards_per_gpu = 2\n')
    assert cluster.run("sinfo", "-h", "-o", "%G").stdout.strip() == "gpu:h100:2,shard:4"
    assert cluster.output(cluster.submit("echo $CUDA_VISIBLE_DEVICES $SLURM_SHARDS_ON_NODE\n", "--gres=shard:2")) == "0 2\n"
