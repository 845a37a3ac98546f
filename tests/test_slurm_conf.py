"""A slurm.conf beside minke.toml, and in its place."""
import pathlib

import pytest

from cluster import Cluster, Machine

pytestmark = pytest.mark.minke_only


@pytest.fixture
def make(tmp_path):
    made = []

    def one(text: str, name: str = "a", machine: Machine | None = None) -> Cluster:
        """With slurm.conf alone, or in the home besides minke.toml where a machine is given."""
        cluster = Cluster(tmp_path / name, machine)
        made.append(cluster)
        path = cluster.home / "slurm.conf" if machine else cluster.directory / "campus.conf"
        path.write_text(text)
        if not machine:
            cluster.environment["MINKE_CONFIG"] = str(path)
        return cluster

    yield one
    for cluster in made:
        cluster.close()


def shown(cluster: Cluster, name: str) -> str:
    lines = cluster.run("scontrol", "show", "config", check=0).stdout.splitlines()
    return [line.split("=", 1)[1].strip() for line in lines if line.split("=")[0].strip() == name][0]


CAMPUS = """\
ClusterName=campus
SlurmctldHost=head
NodeName=DEFAULT CPUs=4 RealMemory=4000
NodeName=cn[01-03] Feature=fast
NodeName=gn1 Gres=gpu:a100:2
PartitionName=DEFAULT MaxTime=1:00:00
PartitionName=cpu Nodes=cn[01-03] Default=YES
PartitionName=gpu Nodes=gn1 MaxTime=30
Prolog=/etc/prolog.sh
Licenses=matlab:2
"""


def test_a_cluster_from_its_own_file(make):
    cluster = make(CAMPUS)
    assert cluster.run("sinfo", "-h", "-o", "%P %l %D %N %c %m %G", check=0).stdout.splitlines() == [
        "cpu* 1:00:00 3 cn[01-03] 4 4000 (null)", "gpu 30:00 1 gn1 4 4000 gpu:a100:2"]
    job = cluster.submit("echo $SLURM_CLUSTER_NAME $SLURM_JOB_PARTITION $CUDA_VISIBLE_DEVICES", "-p", "gpu", "--gres=gpu:2",
                         "-L", "matlab")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "campus gpu 0,1\n"
    assert "time limit" in cluster.run("sbatch", "-t", "2:00:00", "--wrap", "true", check=1).stderr
    assert shown(cluster, "SLURM_CONF") == str(cluster.directory / "campus.conf")
    doctor = cluster.run("minke", "doctor").stdout
    assert "campus.conf:2: SlurmctldHost" in doctor and "campus.conf:9: Prolog" in doctor
    assert "KillWait" not in doctor


def test_it_comes_before_minke_toml_and_is_read_again(make):
    cluster = make("# none yet\n", machine=Machine(kill_wait=2))
    path = cluster.home / "slurm.conf"
    assert shown(cluster, "SLURM_CONF") == str(path)
    assert shown(cluster, "KillWait") == "2 sec"
    path.write_text("KillWait=7\nOverTimeLimit=2\nMinJobAge=10\n")
    cluster.run("scontrol", "reconfigure", check=0)
    assert shown(cluster, "KillWait") == "7 sec"
    assert shown(cluster, "OverTimeLimit") == "2 min"
    assert "OverTimeLimit=2 " in cluster.run("scontrol", "show", "partition", check=0).stdout
    # What cannot be read changes nothing.
    path.write_text("KillWait=9\nKilWait=3\n")
    refused = cluster.run("scontrol", "reconfigure", check=1)
    assert f"{path}:2: KilWait=3: no parameter of slurm.conf" in refused.stderr
    assert shown(cluster, "KillWait") == "7 sec"
    # As it was.
    path.write_text("")
    cluster.run("scontrol", "reconfigure", check=0)
    assert shown(cluster, "KillWait") == "2 sec"
    assert shown(cluster, "OverTimeLimit") == "0 min"
    # Nodes are for the next start.
    path.write_text("NodeName=other CPUs=2 RealMemory=1000\n")
    assert "read at start" in cluster.run("scontrol", "reconfigure", check=1).stderr


def test_wckeys_are_shown_where_they_are_tracked(make):
    cluster = make("", machine=Machine())
    job = cluster.submit("sleep 1000", "--wckey=thesis")
    assert "WCKey" not in cluster.run("scontrol", "show", "job", job, check=0).stdout
    (cluster.home / "slurm.conf").write_text("TrackWCKey=Yes\n")
    cluster.run("scontrol", "reconfigure", check=0)
    assert shown(cluster, "TrackWCKey") == "Yes"
    assert " WCKey=thesis\n" in cluster.run("scontrol", "show", "job", job, check=0).stdout


def test_there_is_one_to_write_in(make, tmp_path):
    cluster = Cluster(tmp_path / "fresh", Machine())
    try:
        cluster.run("sinfo", check=0)
        path = pathlib.Path(shown(cluster, "SLURM_CONF"))
        assert path.parent == cluster.home
        with path.open("a") as file:
            file.write("KillWait=11\n")
        cluster.run("scontrol", "reconfigure", check=0)
        assert shown(cluster, "KillWait") == "11 sec"
    finally:
        cluster.close()


def test_a_bad_file_stops_the_start(make):
    cluster = make("NodeName=a CPUs=2\nPartitionName=p Nodes=b\n")
    refused = cluster.run("minke", "up", check=1)
    assert "campus.conf:2: partition p names node b, which no NodeName declares" in refused.stderr


@pytest.mark.parametrize("gres, says", [
    ("gpu:300,shard:301", "node n1: 301 shards are too many for 300 GPUs"), ("gpu:1,shard:65", "node n1: a GPU can have 64 shards at most")])
def test_a_machine_that_cannot_be_laid_out_stops_the_start(make, gres, says):
    cluster = make(f"ClusterName=a\nNodeName=n1 CPUs=4 RealMemory=4000 Gres={gres}\nPartitionName=main Nodes=ALL Default=YES\n")
    refused = cluster.run("minke", "up", check=1)
    assert f"campus.conf: {says}" in refused.stderr


def test_what_is_written_is_read_again(make):
    machine = Machine(nodes=3, cpus=4, gpus="a100:2", features="fast,big",
                      settings='licenses = {matlab = 3}\npriority = {type = "multifactor", weight_age = 100}\n',
                      extra='[[partition]]\nname = "long"\nnodes = "n[2-3]"\nmax_time = "7-0"\ndefault_mem_per_cpu = "100M"\n')
    first = make("OverTimeLimit=3\nPriorityMaxAge=1-0\n", "first", machine)
    first.run("scontrol", "write", "config", first.work / "written", check=0)
    written, = first.work.glob("written.*")
    second = make(written.read_text(), "second")
    same = ["-h", "-o", "%R %a %l %s %D %N %c %X %Y %Z %m %w %f %G"]
    assert first.run("sinfo", *same, check=0).stdout == second.run("sinfo", *same, check=0).stdout
    show = [cluster.run("scontrol", "show", "partition", check=0).stdout for cluster in (first, second)]
    assert show[0] == show[1]
    own = ("BOOT_TIME", "SLURM_CONF", "SlurmctldLogFile", "SlurmdLogFile", "SlurmdSpoolDir", "StateSaveLocation", "TmpFS",
           "NEXT_JOB_ID", "Configuration data", "Slurmctld(primary)")
    config = [[line for line in cluster.run("scontrol", "show", "config", check=0).stdout.splitlines()
               if not line.startswith(own)] for cluster in (first, second)]
    assert config[0] == config[1]


def test_a_node_with_more_gpus_than_a_word_has_bits(make):
    cluster = make("NodeName=big CPUs=4 RealMemory=4000 Gres=gpu:a100:100,gpu:3090:28\nPartitionName=p Nodes=big Default=YES\n")
    first = cluster.submit("echo $CUDA_VISIBLE_DEVICES; sleep 600", "--gres=gpu:a100:99", "--mem=100")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit("echo $CUDA_VISIBLE_DEVICES", "--gpus=29", "--mem=100")
    assert cluster.output(second) == ",".join(map(str, range(99, 128))) + "\n"
    waiting = cluster.submit("true", "--gres=gpu:a100:2", "--mem=100")
    assert cluster.job(waiting)["Reason"] in ("Resources", "None")
    assert "IDX:0-98" in cluster.run("scontrol", "-d", "show", "job", first, check=0).stdout
    assert cluster.run("sinfo", "-h", "-O", "gres:60,gresused:80", check=0).stdout.split() == [
        "gpu:a100:100,gpu:3090:28", "gpu:a100:99(IDX:0-98),gpu:3090:0(IDX:N/A)"]
    cluster.run("scancel", first, check=0)
    assert cluster.wait_end(waiting)["JobState"] == "COMPLETED"


def test_memory_beyond_that_of_its_processors_brings_more_of_them(make):
    cluster = make("NodeName=n[1-2] CPUs=4 RealMemory=4000\nPartitionName=p Nodes=n[1-2] Default=YES MaxMemPerCPU=1000\n")
    for options, cpus in ((("--mem=2500",), "3"), (("--mem=2500", "-n", "4"), "4"), (("--mem-per-cpu=1500",), "2"), (("--mem=900",), "1")):
        job = cluster.sbatch("--hold", *options, "--wrap=true")
        assert cluster.job(job)["NumCPUs"] == cpus, options
