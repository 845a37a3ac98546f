"""Generic resources beside GPUs and shards: counted, for jobs and steps."""
import pytest

from cluster import Cluster, poll

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
