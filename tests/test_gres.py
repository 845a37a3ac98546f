"""Generic resources beside GPUs and shards: counted, for jobs and steps."""
import pytest

from cluster import Cluster, poll
from test_reservations import user

pytestmark = pytest.mark.minke_only
CONF = """\
ClusterName=gres
GresTypes=nic,fpga,air
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=nic:4,fpga:u250:1,air:no_consume:1,tape:3
PartitionName=main Nodes=ALL Default=YES DefMemPerCPU=10
"""


@pytest.fixture
def offering(tmp_path):
    cluster = Cluster(tmp_path / "gres")
    path = cluster.directory / "campus.conf"
    path.write_text(CONF)
    cluster.environment["MINKE_CONFIG"] = str(path)
    yield cluster
    cluster.close()


def used(cluster, node="n1"):
    shown = cluster.run("scontrol", "-d", "show", "node", node).stdout
    return [line.split("=", 1)[1].strip() for line in shown.splitlines() if line.strip().startswith("GresUsed=")][0]


def test_jobs_get_what_is_left(offering):
    assert offering.run("sinfo", "-h", "-o", "%N %G").stdout == "n[1-2] nic:4,fpga:u250:1,air:no_consume:1\n"
    assert "Gres=tape" in offering.run("minke", "doctor").stdout
    three = offering.submit("sleep 1000\n", "--gres=nic:3,fpga", "-w", "n1")
    offering.wait_state(three, "RUNNING")
    assert used(offering) == "nic:3,fpga:u250:1,air:0"
    assert "GRES=nic(CNT:3),fpga:u250(CNT:1)" in offering.run("scontrol", "-d", "show", "job", three).stdout
    assert "gres/fpga=1" in offering.job(three)["AllocTRES"] and "gres/nic=3" in offering.job(three)["AllocTRES"]
    waiting = offering.submit("true\n", "--gres=nic:2", "-w", "n1", "-t", "60")
    assert offering.job(waiting)["JobState"] == "PENDING"
    assert offering.state(offering.submit("true\n", "--gres=nic:1", "-w", "n1", "--hold")) == "PENDING"
    wide = offering.submit("true\n", "--tres-per-task=gres/nic:2", "-n", "2", "-w", "n2")
    assert offering.wait_end(wide)["JobState"] == "COMPLETED"
    assert "gres/nic=4" in offering.job(wide)["AllocTRES"]
    offering.kill()
    assert used(offering) == "nic:3,fpga:u250:1,air:0"
    offering.run("scancel", three, check=0)
    assert offering.wait_end(waiting)["JobState"] == "COMPLETED"
    assert used(offering) == "nic:0,fpga:u250:0,air:0"


def test_what_is_not_consumed(offering):
    jobs = [offering.submit("sleep 1000\n", "--gres=air", "-w", "n1") for _ in range(2)]
    for job in jobs:
        offering.wait_state(job, "RUNNING")
    assert used(offering) == "nic:0,fpga:u250:0,air:0"


def test_what_is_refused(offering):
    for request, says in [("--gres=tape:1", "Invalid generic resource (gres) specification (tape: no node has this GRES)"),
                          ("--gres=nic:5", "Requested node configuration is not available"),
                          ("--gres=fpga:u280:1", "fpga:u280: no node has this type; there is fpga:u250"),
                          ("--gres=air:2", "Requested node configuration is not available")]:
        assert says in offering.run("sbatch", request, "--wrap", "true", check=1).stderr


def test_an_update_changes_the_request(offering):
    job = offering.submit("true\n", "--gres=nic:4", "--hold")
    offering.run("scontrol", "update", f"JobId={job}", "Gres=nic:1,fpga:1")
    offering.run("scontrol", "release", job)
    assert "gres/nic=1" in offering.wait_end(job)["AllocTRES"]
    assert "gres/fpga=1" in offering.job(job)["AllocTRES"]


def test_steps_share_what_the_job_has(offering):
    job = offering.submit(
        "srun --exact -n1 --gres=nic:2 bash -c 'touch a; until [ -e stop ]; do sleep 0.05; done' &\n"
        "until [ -e a ]; do sleep 0.05; done\n"
        "srun --exact -n1 --gres=nic:3 true 2> too_many\n"
        "srun --exact -n1 --gres=fpga true 2> none\n"
        "srun --exact -n1 --immediate=1 --gres=nic:1 true 2> beside; echo $? >> beside\n"
        "srun --overlap -n1 --gres=nic:1 true && touch shared\n"
        "srun --exact -n1 --gres=nic:1 true 2> later & \n"
        "until grep -q disabled later; do sleep 0.05; done; touch stop; wait\n", "-n", "2", "--gres=nic:2")
    assert offering.wait_end(job)["JobState"] == "COMPLETED"
    text = {name: (offering.work / name).read_text() for name in ("too_many", "none", "beside", "later")}
    for name in ("too_many", "none"):
        assert "Unable to create step" in text[name] and "Invalid generic resource (gres) specification" in text[name]
    assert text["beside"].endswith("1\n") and (offering.work / "shared").exists()
    assert "step creation temporarily disabled" in text["later"]
    poll(lambda: "gres/nic=2" in offering.run("sacct", "-n", "-P", "-j", f"{job}.0", "-o", "AllocTRES").stdout)


MORE = """\
ClusterName=gres
GresTypes=nic,fpga,io,gpu
AccountingStorageTRES=gres/nic,gres/gpu,license/matlab
Licenses=matlab:4,other:4
NodeName=n[1-2] CPUs=4 RealMemory=4000 Gres=gpu:a100:2,nic:4,fpga:u250:2,io:10k,bandwidth:lustre:no_consume:4096
GresTypes=bandwidth
PartitionName=main Nodes=ALL Default=YES DefMemPerCPU=10 TRESBillingWeights="CPU=1,GRES/nic=10,License/matlab=3"
"""
BESIDE = """\
Name=nic Count=1 Flags=explicit
Name=gpu Type=a100 File=/dev/tty[0-1]
Name=tape Count=2
"""


@pytest.fixture
def campus(tmp_path):
    cluster = Cluster(tmp_path / "campus")
    path = cluster.directory / "slurm.conf"
    path.write_text(MORE)
    (cluster.directory / "gres.conf").write_text(BESIDE)
    cluster.environment["MINKE_CONFIG"] = str(path)
    yield cluster
    cluster.close()


def test_whole_nodes_have_explicit_gres_on_request(campus):
    """What gres.conf, beside slurm.conf, says of GRES."""
    told = campus.run("minke", "doctor").stdout
    assert "gres.conf:3: Name=tape (GresTypes has no tape)" in " ".join(told.split())
    plain = campus.submit("sleep 1000\n", "--exclusive", "-w", "n1")
    campus.wait_state(plain, "RUNNING")
    assert used(campus) == "gpu:a100:2(IDX:0-1),nic:0,fpga:u250:2,io:10240,bandwidth:lustre:0"
    asking = campus.submit("sleep 1000\n", "--exclusive", "--gres=nic:1", "-w", "n2")
    campus.wait_state(asking, "RUNNING")
    assert used(campus, "n2").startswith("gpu:a100:2(IDX:0-1),nic:1,fpga:u250:2,")
    (campus.directory / "gres.conf").write_text("Name=gpu Type=a100 File=/dev/tty0\n")
    refused = campus.run("scontrol", "reconfigure", check=1).stderr
    assert "gres.conf:1: node n1 has 1 gpu:a100 here, fewer than slurm.conf's Gres=gpu:a100:2" in " ".join(refused.split())
    assert "name a File for each, or count 1 there" in " ".join(refused.split())


def test_thousands_of_one_gres(campus):
    assert "io:10K," in campus.run("scontrol", "show", "node", "n1").stdout
    assert "bandwidth:lustre:no_consume:4K" in campus.run("sinfo", "-h", "-o", "%G").stdout
    most = campus.submit("srun --gres=io:9000 true; srun --gres=io:9001 true 2> too_many; sleep 1000\n",
                         "--gres=io:9000,bandwidth:lustre:4096", "-w", "n1")
    campus.wait_state(most, "RUNNING")
    assert used(campus) == "gpu:a100:0(IDX:N/A),nic:0,fpga:u250:0,io:9000,bandwidth:lustre:0"
    assert "GRES=io(CNT:9000)" in campus.run("scontrol", "-d", "show", "job", most).stdout
    too_many = campus.work / "too_many"
    poll(lambda: too_many.exists() and "Unable to create step" in too_many.read_text())
    waiting = campus.submit("true\n", "--gres=io:2000", "-w", "n1")
    assert campus.job(waiting)["JobState"] == "PENDING"
    campus.kill()
    assert used(campus).endswith(",io:9000,bandwidth:lustre:0")
    assert campus.state(campus.submit("true\n", "--gres=io:1240", "-w", "n1", "--hold")) == "PENDING"
    campus.run("scancel", most, check=0)
    assert campus.wait_end(waiting)["JobState"] == "COMPLETED"
    assert "Requested node configuration is not available" in campus.run("sbatch", "--gres=io:11k", "--wrap", "true", check=1).stderr


def test_accounting_storage_tres_says_what_is_listed(campus):
    job = campus.submit("srun true; sleep 1000\n", "--gres=nic:1,fpga:1", "-L", "matlab:2,other:1", "-w", "n1", "--mem=100")
    campus.wait_state(job, "RUNNING")
    shown = campus.job(job)
    assert shown["ReqTRES"] == shown["AllocTRES"] == "cpu=1,mem=100M,node=1,billing=17,gres/nic=1,license/matlab=2"
    node = campus.run("scontrol", "show", "node", "n1").stdout
    assert "CfgTRES=cpu=4,mem=4000M,billing=44,gres/gpu=2,gres/nic=4\n" in node
    assert "AllocTRES=cpu=1,mem=100M,gres/nic=1\n" in node
    accounted = campus.run("sacct", "-n", "-P", "-j", job, "-o", "AllocTRES").stdout.split("\n")
    assert accounted[0] == "billing=17,cpu=1,gres/nic=1,license/matlab=2,mem=100M,node=1"
    assert accounted[1] == "cpu=1,gres/nic=1,mem=100M,node=1"
    tres = campus.run("sacctmgr", "-n", "-P", "show", "tres", "format=type,name").stdout
    assert tres.endswith("gres|gpu\ngres|nic\nlicense|matlab\n")
    assert "gres/nic,license/matlab" in campus.run("scontrol", "show", "config").stdout


def test_gres_of_a_reservation(campus):
    def create(name, *words, check=0):
        return campus.run("scontrol", "create", "reservation", f"ReservationName={name}", f"Users={user()}",
                          "StartTime=now", "Duration=60", *words, check=check)
    create("two", "TRES=gres/nic=3")
    shown = campus.run("scontrol", "-o", "show", "reservation", "two").stdout
    assert "Nodes=n1 NodeCnt=1 CoreCnt=1 " in shown and " TRES=cpu=1,gres/nic=3 " in shown
    assert "Requested nodes are busy" in create("more", "Nodes=n1", "TRES=cpu=1,gres/nic=2", check=1).stderr
    for words, says in (("TRES=gres/fpga=1", "Invalid Trackable RESource"), ("TRES=gres/nic:fast=1", "Invalid Trackable RESource"),
                        ("TRES=gres/nic=9", "Requested nodes are busy")):
        assert says in create("other", words, check=1).stderr
    others = campus.submit("sleep 1000\n", "--gres=nic:2", "-w", "n1")
    assert campus.job(others)["JobState"] == "PENDING"
    beside = campus.submit("sleep 1000\n", "--gres=nic:1", "-w", "n1")
    campus.wait_state(beside, "RUNNING")
    own = campus.submit("sleep 1000\n", "--gres=nic:3", "--reservation=two")
    campus.wait_state(own, "RUNNING")
    second = campus.submit("true\n", "--gres=nic:1", "--reservation=two")
    assert campus.job(second)["JobState"] == "PENDING"
    campus.kill()
    assert " TRES=cpu=1,gres/nic=3 " in campus.run("scontrol", "-o", "show", "reservation", "two").stdout
    assert used(campus).startswith("gpu:a100:0(IDX:N/A),nic:4,")
    create("both", "Nodes=n2", "TRES=cpu=2,gres/nic=4,gres/gpu=1")
    assert " TRES=cpu=2,gres/gpu=1,gres/nic=4 " in campus.run("scontrol", "-o", "show", "reservation", "both").stdout
