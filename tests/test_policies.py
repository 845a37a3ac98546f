"""The policies of well-known clusters: time classes, whole nodes, test nodes, accounts to choose from."""
import getpass
import json

import pytest

from cluster import Machine

pytestmark = pytest.mark.minke_only

USER = getpass.getuser()
# 3 h on all nodes, 12 h on most, 7 days on some; whole nodes in a class of their own; GPUs apart; one node for tests.
CLASSES = """
[[partition]]
name = "b1"
nodes = "n[1-4]"
max_time = "3:00:00"
serves = ["cpu"]

[[partition]]
name = "b2"
nodes = "n[1-3]"
max_time = "12:00:00"
serves = "cpu"

[[partition]]
name = "b5"
nodes = "n[1-2]"
max_time = "7-0"
serves = "cpu"

[[partition]]
name = "node1"
nodes = "n[1-5]"
max_time = "3:00:00"
serves = "whole"

[[partition]]
name = "gpu1"
nodes = "g1"
max_time = "3:00:00"
serves = "gpu"

[[partition]]
name = "gpu5"
nodes = "g1"
max_time = "7-0"
serves = "gpu"

[[partition]]
name = "test"
nodes = "n6"
max_time = "3:00:00"
serves = "interactive"
"""


@pytest.fixture
def classes(new_cluster):
    cluster = new_cluster("classes", Machine(nodes=6, cpus=4, memory=4000, extra=CLASSES))
    config = cluster.directory / "minke.toml"
    gpu_node = '\n[[node]]\nname = "g1"\ncpus = 4\nmemory = 4000\ngpus = "h100:2"\n'
    config.write_text(config.read_text().replace("\n[[partition]]", gpu_node + "\n[[partition]]", 1))
    return cluster


def partition_of(cluster, *options):
    job = int(cluster.run("sbatch", "--parsable", "--hold", *options, "--wrap=true", check=0).stdout)
    return cluster.run("squeue", "-h", "-j", job, "-o", "%P").stdout.strip()


def test_the_shortest_class_that_is_long_enough(classes):
    for words, expected in (("-t60", "b1"), ("-t3:00:00", "b1"), ("-t3:01:00", "b2"), ("-t12:00:00", "b2"),
                            ("-t3-0", "b5"), ("-t60 --gpus=h100:1", "gpu1"), ("-t4:00:00 --gpus=1", "gpu5"),
                            ("-t60 --exclusive", "b1,node1"), ("-t60 -N2 --ntasks-per-node=4", "b1,node1"),
                            ("-t60 -n3", "b1"), ("-t60 --partition=default", "b1"), ("-t60 -pb5", "b5")):
        assert partition_of(classes, *words.split()) == expected, words
    refused = classes.run("sbatch", "-t4:00:00", "-pb1", "--wrap=true")
    assert refused.returncode == 1 and "Requested time limit is invalid" in refused.stderr
    refused = classes.run("sbatch", "-t8-0", "--wrap=true")
    assert refused.returncode == 1 and "Requested time limit is invalid" in refused.stderr


def test_test_nodes_are_free_for_interactive_work(classes):
    """Batch jobs fill all others and never come there; what is longer than tests are goes the regular way."""
    jobs = [classes.submit("sleep 1000", "-t60", "--exclusive") for _ in range(6)]
    for job in jobs[:5]:
        classes.wait_state(job, "RUNNING")
    seen = classes.run("srun", "-t60", "sh", "-c", "echo $SLURM_JOB_PARTITION $SLURMD_NODENAME", check=0)
    assert seen.stdout == "test n6\n"
    assert classes.state(jobs[5]) == "PENDING"
    assert classes.run("salloc", "-t4:00:00", "--immediate", "true").returncode != 0


def test_whole_nodes_only(new_cluster):
    """As Trillium and TamIA: each job has its nodes for itself, and all that they have."""
    extra = '[[partition]]\nname = "compute"\nexclusive = true\nmax_time = "1-0"\n'
    cluster = new_cluster("whole", Machine(nodes=2, cpus=4, memory=4000, extra=extra))
    first, second, third = [cluster.submit("sleep 1000", "-n1", "-pcompute") for _ in range(3)]
    cluster.wait_state(first, "RUNNING")
    cluster.wait_state(second, "RUNNING")
    assert cluster.state(third) == "PENDING"
    assert cluster.run("squeue", "-h", "-j", first, "-o", "%C").stdout.strip() == "4"
    cluster.run("scancel", first)
    cluster.wait_state(third, "RUNNING")


def test_one_partition_of_a_list_or_all(new_cluster):
    extra = '[[partition]]\nname = "short"\nmax_time = "1:00:00"\n[[partition]]\nname = "long"\n'
    cluster = new_cluster("lists", Machine(nodes=1, cpus=4, extra=extra))
    assert partition_of(cluster, "-t2:00:00", "-p", "short,long") == "long"
    assert "EnforcePartLimits       = ANY" in cluster.run("scontrol", "show", "config").stdout
    config = cluster.directory / "minke.toml"
    config.write_text('enforce_part_limits = "ALL"\n' + config.read_text())
    cluster.run("scontrol", "reconfigure", check=0)
    assert "EnforcePartLimits       = ALL" in cluster.run("scontrol", "show", "config").stdout
    refused = cluster.run("sbatch", "-t2:00:00", "-p", "short,long", "--wrap=true")
    assert refused.returncode == 1 and "Requested time limit is invalid" in refused.stderr
    assert partition_of(cluster, "-t1:00:00", "-p", "short,long") == "short,long"


WAITS_FOR_LIMITS = """
[[partition]]
name = "short"
max_time = "0:01:00"
max_nodes = 1
"""


def test_a_job_waits_for_limits_of_its_partition(new_cluster):
    """EnforcePartLimits=NO: reasons as a Slurm 26.05 gives them; what no limit forbids is refused all the same."""
    machine = Machine(nodes=2, cpus=4, memory=4000, settings='enforce_part_limits = "NO"', extra=WAITS_FOR_LIMITS)
    cluster = new_cluster("no", machine)
    assert "EnforcePartLimits       = NO" in cluster.run("scontrol", "show", "config").stdout
    for limit in ("name=small maxmempernode=10", "name=pair minnodes=2",
                  "name=other denyqos=normal", "name=kept reqresv=yes"):
        cluster.run("scontrol", "create", *f"partition{limit} nodes=ALL".split(), check=0)

    def reason(*options):
        job = int(cluster.run("sbatch", "--parsable", *options, "--wrap=true", check=0).stdout)
        assert cluster.state(job) == "PENDING"
        return cluster.run("squeue", "-h", "-j", job, "-o", "%P %r").stdout.strip()

    assert reason("-p", "short", "-t5") == "short PartitionTimeLimit"
    assert reason("-p", "short", "-N2") == "short PartitionNodeLimit"
    for larger in ("-N9", "-n99", "-c99"):
        assert reason("-p", "short", larger) == "short PartitionConfig"
    assert reason("-p", "small", "--mem=20") == "small MaxMemPerLimit"
    assert reason("-p", "pair", "-N1") == "pair PartitionNodeLimit"
    assert reason("-p", "other") == "other QOSNotAllowed"
    assert reason("-p", "small,other", "--mem=20").startswith("small,other ")
    for options in (("-p", "short", "--mem=999999"), ("-p", "main", "--tmp=99999999"), ("-p", "kept")):
        cluster.run("sbatch", *options, "--wrap=true", check=1)

    job = int(cluster.run("sbatch", "--parsable", "-p", "short", "-t5", "--wrap=true", check=0).stdout)
    assert "partition short allows at most 1 min" in cluster.run("minke", "why", job).stdout + cluster.run(
        "sbatch", "-p", "short", "-t5", "--wrap=true", check=0).stderr
    cluster.run("scontrol", "update", "partitionname=short", "maxtime=10", check=0)
    cluster.wait_end(job)
    assert cluster.run("sbatch", "-W", "-p", "short,main", "-t60", "--wrap=true").returncode == 0


def test_memory_per_processor_of_a_list_of_partitions(new_cluster):
    """A job that asks for more than MaxMemPerCPU gets more processors; with a list each partition of it counts."""
    machine = Machine(nodes=1, cpus=2, memory=4000, settings='enforce_part_limits = "ALL"')
    cluster = new_cluster("spread", machine)
    cluster.run("scontrol", "create", "partitionname=p1", "nodes=ALL", "maxmempercpu=100", check=0)
    cluster.run("sbatch", "-p", "p1,main", "--mem-per-cpu=300", "--wrap=true", check=1)
    job = int(cluster.run("sbatch", "--parsable", "--hold", "-p", "p1,main", "--mem-per-cpu=150", "--wrap=true", check=0).stdout)
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%C").stdout.strip() == "2"


PER_GPU = """
[[partition]]
name = "share"
share_per_gpu = true

[[partition]]
name = "given"
default_cpus_per_gpu = 2
default_mem_per_gpu = "100M"
"""


def test_what_comes_with_a_gpu(new_cluster):
    cluster = new_cluster("per_gpu", Machine(nodes=1, cpus=8, memory=4000, gpus="a100:4", extra=PER_GPU))

    def has(*options):
        job = cluster.submit("env | grep -c SLURM_.*PER_GPU", *options)
        assert cluster.output(job) == "0\n"  # it is no request, which a step would repeat
        return cluster.sacct("-X", "-j", job, format="AllocTRES")[0][0]
    assert has("-p", "share", "--gpus=a100:2").startswith("billing=4,cpu=4,gres/gpu=2,mem=2000M")
    assert has("-p", "given", "--gpus=1").startswith("billing=2,cpu=2,gres/gpu=1,mem=100M")
    assert has("-p", "given", "--gpus=1", "-c1", "--mem=50M").startswith("billing=1,cpu=1,gres/gpu=1,mem=50M")
    assert "cpu=1," in has("-p", "share")
    assert "JobDefaults=DefCpuPerGPU=2,DefMemPerGPU=1000" in cluster.run("scontrol", "show", "partition", "share").stdout
    cluster.run("scontrol", "update", "partitionname=share", "jobdefaults=DefCpuPerGPU=3", check=0)
    shown = cluster.run("scontrol", "show", "partition", "share").stdout
    assert "JobDefaults=DefCpuPerGPU=3\n" in shown
    assert "cpu=3," in has("-p", "share", "--gpus=1")


SOCKETS = """
[[node]]
name = "z1"
sockets = 2
cores_per_socket = 3
cpus = 6
[[partition]]
name = "some"
nodes = "z1"
max_cpus_per_socket = 1
[[partition]]
name = "spread"
nodes = "n[1-2]"
least_loaded_node = true
"""


def test_the_least_loaded_node_and_processors_of_sockets(new_cluster):
    """As a Slurm 26.05 places them: LLN, MaxCPUsPerSocket."""
    cluster = new_cluster("spread", Machine(nodes=2, cpus=4, memory=4000, extra=SOCKETS))
    show = lambda name: cluster.run("scontrol", "show", "partition", name).stdout
    assert "LLN=NO MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=1\n" in show("some")
    assert "LLN=YES MaxCPUsPerNode=UNLIMITED MaxCPUsPerSocket=UNLIMITED\n" in show("spread")
    node = lambda job: cluster.run("squeue", "-h", "-j", job, "-o", "%N").stdout.strip()

    def starts(*options):
        job = cluster.submit("sleep 1000", "--mem=10", *options)
        cluster.wait_state(job, "RUNNING")
        return job

    assert [node(starts("-p", "spread")) for _ in range(4)] == ["n1", "n2", "n1", "n2"]
    assert [node(starts("-p", "main", "-w", "n1"))] == ["n1"]
    assert [node(starts("-p", "spread")) for _ in range(2)] == ["n2", "n1"]
    cluster.run("scontrol", "update", "partitionname=spread", "lln=no", check=0)
    assert "LLN=NO" in show("spread")

    starts("-p", "some"), starts("-p", "some")
    third = cluster.submit("sleep 1000", "-p", "some", "--mem=10")
    assert cluster.run("squeue", "-h", "-j", third, "-o", "%T %r").stdout.strip() == "PENDING Resources"
    cluster.run("sbatch", "-p", "some", "-n3", "--mem=10", "--wrap=true", check=1)
    cluster.run("scontrol", "update", "partitionname=some", "maxcpuspersocket=2", "maxcpuspernode=3", check=0)
    cluster.wait_state(third, "RUNNING")
    assert "MaxCPUsPerNode=3 MaxCPUsPerSocket=2" in show("some")
    cluster.run("sbatch", "-p", "some", "-n4", "--mem=10", "--wrap=true", check=1)


ACCOUNTS = '[accounting]\nenforce = ["limits"]\nsplit_accounts = true\nask_account = true\n'


def test_accounts_to_choose_from(new_cluster):
    cluster = new_cluster("accounts", Machine(nodes=1, cpus=4, gpus="a100:2", extra=ACCOUNTS))
    names = [f"{name}_{kind}" for name in ("def-profa", "def-profb", "rrg-profc") for kind in ("cpu", "gpu")]
    for words in (["add", "account", ",".join(names)], ["add", "user", USER, f"account={','.join(names)}"]):
        cluster.run("sacctmgr", "-i", *words, check=0)
    refused = cluster.run("sbatch", "--wrap=true", check=1)
    line = "sbatch: error: " + "-" * 40
    told = [one for one in refused.stderr.splitlines() if "Other accounts:" not in one]  # root's, for who runs it
    assert told == [
        "sbatch: error: Batch job submission failed: Unspecified error", line,
        "sbatch: error: You are associated with multiple _cpu allocations...",
        "sbatch: error: Please specify one of the following accounts to submit this job:",
        "sbatch: error:   RAS default accounts: def-profa, def-profb,",
        "sbatch: error:           RAC accounts: rrg-profc,",
        "sbatch: error: Compute-Burst accounts:",
        "sbatch: error: Use the parameter --account=desired_account when submitting your job", line]
    assert "multiple _gpu allocations" in cluster.run("sbatch", "--gpus=1", "--wrap=true", check=1).stderr
    job = cluster.submit("true", "-A", "rrg-profc", "--gpus=a100:1")
    cluster.wait_end(job)
    assert cluster.run("sacct", "-nXPj", job, "-o", "account").stdout == "rrg-profc_gpu\n"
    refused = cluster.run("sbatch", "-A", "def-other", "--wrap=true", check=1)
    assert "sbatch: error: You cannot use this account to submit this job." in refused.stderr
    assert "sbatch: error:   RAS default accounts: def-profa, def-profb," in refused.stderr


def test_a_submission_that_is_only_tried_knows_limits_and_priority(new_cluster):
    """With --test-only and as submitted: the limit of the account, and the place in the queue that it would have."""
    extra = ('[accounting]\nenforce = ["limits", "qos"]\n[priority]\ntype = "multifactor"\nweight_qos = 1000\n')
    cluster = new_cluster("tried", Machine(nodes=1, cpus=4, extra=extra))
    for words in (["add", "account", "lab", "grptres=cpu=2"], ["add", "account", "free"],
                  ["add", "qos", "urgent", "priority=10"],
                  ["add", "user", USER, "account=lab,free", "qos=normal,urgent"]):
        cluster.run("sacctmgr", "-i", *words, check=0)

    def wait_of(*options):
        tried = cluster.run("sbatch", "--test-only", "--time=5", *options, "--wrap=true", check=0).stderr
        start = tried.split(" to start at ")[1].split()[0]
        seconds = cluster.run("date", "-d", start, "+%s").stdout
        return int(seconds) - int(cluster.run("date", "+%s").stdout)
    running = cluster.submit("sleep 1000", "-A", "lab", "-c2", "--time=30")
    cluster.wait_state(running, "RUNNING")
    assert wait_of("-A", "free", "-c2") <= 1
    assert wait_of("-A", "lab", "-c1") == pytest.approx(1800, abs=120)
    whole = cluster.submit("sleep 1000", "-A", "free", "-c4", "--time=60")
    assert wait_of("-A", "free", "-c4") == pytest.approx(1800 + 3600, abs=120)
    assert wait_of("-A", "free", "-c4", "--qos=urgent") == pytest.approx(1800, abs=120)
    assert json.loads(cluster.run("minke", "why", whole, "--json", check=0).stdout)["expected_start"] > 0


def test_cpus_of_a_node_that_a_partition_may_use(new_cluster):
    """The rest of the node's CPUs is there for the jobs of other partitions."""
    extra = '[[partition]]\nname = "cpu"\nnodes = "n1"\nmax_cpus_per_node = 3\n'
    cluster = new_cluster("capped", Machine(nodes=1, cpus=4, extra=extra))
    assert "MaxCPUsPerNode=3" in cluster.run("scontrol", "show", "partition", "cpu").stdout
    refused = cluster.run("sbatch", "-pcpu", "-c4", "--wrap=true", check=1).stderr
    assert "Requested node configuration is not available" in refused
    first = cluster.submit("sleep 1000", "-pcpu", "-c2")
    cluster.wait_state(first, "RUNNING")
    waits = cluster.submit("sleep 1000", "-pcpu", "-c2")
    other = cluster.submit("sleep 1000", "-c1")
    cluster.wait_state(other, "RUNNING")
    assert cluster.wait_state(waits, "PENDING")["Reason"] == "Resources"
    cluster.run("scancel", other, check=0)
    cluster.wait_end(other)
    assert cluster.state(waits) == "PENDING"
    cluster.kill()  # what runs is counted by the next daemon, too
    assert cluster.state(waits) == "PENDING"
    cluster.run("scontrol", "update", "partitionname=cpu", "maxcpuspernode=unlimited", check=0)
    cluster.wait_state(waits, "RUNNING")
    assert "MaxCPUsPerNode=UNLIMITED" in cluster.run("scontrol", "show", "partition", "cpu").stdout
    cluster.run("scontrol", "update", "partitionname=cpu", "maxcpuspernode=2", check=0)
    third = cluster.submit("true", "-pcpu")
    for job in (first, waits):
        assert cluster.state(third) == "PENDING"
        cluster.run("scancel", job, check=0)
    cluster.wait_end(third)


def test_qos_of_a_partition(new_cluster):
    """Its limits hold for all jobs of the partition, and before those of the jobs' own QOS without OverPartQOS."""
    extra = ('[accounting]\nenforce = ["limits", "qos"]\n'
             '[[partition]]\nname = "few"\nnodes = "n1"\nqos = "few"\n')
    cluster = new_cluster("qos", Machine(nodes=1, cpus=8, extra=extra))
    for words in (["add", "account", "lab"], ["add", "qos", "few", "maxjobspu=1", "maxwall=60"],
                  ["add", "qos", "wide", "maxjobspu=4", "grptres=cpu=4"],
                  ["add", "qos", "over", "flags=OverPartQOS", "maxjobspu=2"],
                  ["add", "user", USER, "account=lab", "qos=normal,wide,over"]):
        cluster.run("sacctmgr", "-i", *words, check=0)
    assert "QoS=few" in cluster.run("scontrol", "show", "partition", "few").stdout

    def waits_for(*options):
        return cluster.wait_state(cluster.submit("sleep 1000", *options), "PENDING")["Reason"]
    first = cluster.submit("sleep 1000", "-Alab", "-pfew", "-t10")
    cluster.wait_state(first, "RUNNING")
    waiting = cluster.submit("sleep 1000", "-Alab", "-pfew", "-t10")
    assert cluster.wait_state(waiting, "PENDING")["Reason"] == "QOSMaxJobsPerUserLimit"
    assert waits_for("-Alab", "-pfew", "-t10", "-q", "wide") == "QOSMaxJobsPerUserLimit"
    cluster.wait_state(cluster.submit("sleep 1000", "-Alab", "-pfew", "-t10", "-q", "over"), "RUNNING")
    assert waits_for("-Alab", "-pfew", "-t90", "-q", "over") == "QOSMaxWallDurationPerJobLimit"
    cluster.wait_state(cluster.submit("sleep 1000", "-Alab", "-t90"), "RUNNING")
    assert "QOS few" in cluster.run("minke", "why", waiting, check=0).stdout
    unknown = cluster.run("scontrol", "update", "partitionname=few", "qos=nosuch", check=1)
    assert "Invalid qos specification" in unknown.stderr
    cluster.run("scontrol", "update", "partitionname=few", "qos=", check=0)
    assert "QoS=N/A" in cluster.run("scontrol", "show", "partition", "few").stdout
    cluster.wait_state(waiting, "RUNNING")
    cluster.run("scontrol", "update", "partitionname=few", "qos=few", check=0)
    cluster.run("scancel", first, check=0)
    cluster.wait_end(first)
    last = cluster.submit("true", "-Alab", "-pfew", "-t10")  # the other one that runs counts for the QOS that came later
    assert cluster.wait_state(last, "PENDING")["Reason"] == "QOSMaxJobsPerUserLimit"
