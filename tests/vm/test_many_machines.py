"""minke grow from a running cluster of one machine to three, with Debian's own kernel, systemd, and homes by NFS; then what
its users do there, faults, and the way back. The tests are one story, in this order."""
import os
import pathlib
import re
import shutil
import sys
import tempfile

import pytest

import guest_cluster
import guests
import image

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY / "tests/grow")]

import larger  # noqa: E402

pytestmark = [pytest.mark.xdist_group("many machines"), pytest.mark.timeout(3600)]

WAITING = 200


@pytest.fixture(scope="module")
def grown():
    """A cluster with people, a past and waiting jobs that has grown from the head to two nodes."""
    try:
        made = image.make(REPOSITORY / "build" / "vm", guests.RECIPE)
    except image.Unavailable as reason:
        pytest.skip(str(reason))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-vm-"))
    program = pathlib.Path(os.environ.get("MINKE", REPOSITORY / "build" / "minke"))
    machines = None
    try:
        machines = guests.Guests(made, directory, program)
        yield larger.Grown(machines, program, WAITING)
    finally:
        if machines:
            machines.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def cluster(grown):
    """Where no job is left when the test ends, but those that have come along."""
    yield grown
    grown.head.run("squeue -h -o '%i' -t R,CG,S | xargs -r scancel", None)
    grown.head.until("[ -z \"$(squeue -h -t R,CG)\" ]")


def test_nothing_is_lost_from_one_machine_to_three(cluster):
    cluster.check_known()
    cluster.check_held_jobs_run(2)


def test_a_job_is_held_to_its_memory_by_its_node(cluster):
    cluster.home("hog", guest_cluster.HOG)
    within, beyond = (cluster.submit("--wrap './hog 150 0'", f"--mem={memory} -w n1 -t 10 -o hog-{memory}.out") for memory in (400, 100))
    assert cluster.ended(within) == "COMPLETED"
    assert cluster.ended(beyond) == "OUT_OF_MEMORY"
    assert "had 150" in cluster.read("hog-400.out") and "had" not in cluster.read("hog-100.out")


def test_jobs_are_measured_on_each_machine(cluster):
    cluster.home("hog", guest_cluster.HOG)
    job = cluster.submit("--wrap 'srun ./hog 150 600'", "-N2 --ntasks-per-node=1 --mem=300 -w n1,n2 -t 30 -o measured.out")
    cluster.head.until(f"[ \"$(grep -c 'had 150' ~alice/measured.out)\" = 2 ]")
    # Of both together.
    top = "d=$(mktemp -d); cd; XDG_RUNTIME_DIR=$d MINKE_POLLED=/nowhere MINKE_CLUSTER=slurm minke top --once; rm -r $d"
    cluster.head.until(f"runuser -u alice -- sh -c '{top}' >/tmp/top; cat /tmp/top; grep -qE '^ *{job} .* 3[0-9][0-9]M/600M ' /tmp/top && ! grep -q 'not measured' /tmp/top")
    cluster.head.run(f"scancel {job}")
    assert cluster.ended(job) == "CANCELLED by 0"
    told = cluster.head.run(f"minke seff {job}", user="alice")
    assert "Nodes: 2" in told and re.search(r"Memory Utilized: 3\d\d\.\d+ MB", told), told


def test_a_program_of_mpis_runs_over_two_machines_by_pmix(cluster):
    program = "from mpi4py import MPI; w = MPI.COMM_WORLD; print(w.rank, w.size, w.allreduce(w.rank + 1), MPI.Get_processor_name())"
    cluster.home("sum.py", program + "\n")
    job = cluster.submit("--wrap 'srun --mpi=pmix python3 sum.py'", "-N2 --ntasks-per-node=1 --mem=700 -w n1,n2 -t 30 -o mpi.out")
    assert cluster.ended(job) == "COMPLETED", cluster.read("mpi.out")
    assert sorted(cluster.read("mpi.out").splitlines()) == ["0 2 3 n1", "1 2 3 n2"]


def test_jobs_go_on_while_the_head_reboots(cluster):
    """Their home directories are the head's, too."""
    cluster.home("reboot.sh", "#!/bin/bash\necho $SLURM_JOB_ID begun >>reboot\nuntil [ -e /tmp/end ]; do sleep 1; done\necho $SLURM_JOB_ID ended >>reboot\n")
    runs = cluster.submit("reboot.sh", "-w n1 -t 60 -o /dev/null")
    waits = cluster.submit("reboot.sh", f"-w n2 -t 60 -d afterok:{runs} -o /dev/null")
    cluster.head.until("grep -q begun ~alice/reboot")
    queue = cluster.head.run("squeue -h -r -o '%i %j %u %t' | sort")
    cluster.head.reboot()
    cluster.head.until("scontrol ping | grep -q 'is UP' && sacctmgr -n show cluster | grep -q lab && [ \"$(sinfo -h -o %t | grep -vxE 'idle|alloc|mix' | wc -l)\" = 0 ]")
    assert cluster.head.run("squeue -h -r -o '%i %j %u %t' | sort") == queue
    for name in ("n1", "n2"):
        cluster[name].run("touch /tmp/end")
    assert cluster.ended(runs) == "COMPLETED" and cluster.ended(waits) == "COMPLETED"
    assert cluster.read("reboot").splitlines() == [f"{runs} begun", f"{runs} ended", f"{waits} begun", f"{waits} ended"]
    cluster.head.run("systemctl is-active minke-agent")


def test_a_node_whose_cable_is_pulled_is_named_and_its_job_runs_again(cluster):
    for machine in ("head", "n1", "n2"):
        cluster[machine].run("echo SlurmdTimeout=30 >>/etc/slurm/slurm.conf")
    cluster.head.run("scontrol reconfigure")
    cluster.home("again.sh", "#!/bin/bash\necho $SLURM_JOB_ID $(hostname) ${SLURM_RESTART_COUNT:-0} >>again\n[ ${SLURM_RESTART_COUNT:-0} != 0 ] || sleep 3000\n")
    job = cluster.submit("again.sh", "--requeue -w n2 -t 60 -o /dev/null")
    cluster.head.until("[ -e ~alice/again ]")
    cluster["n2"].unplug()
    try:
        cluster.head.until(f"[ \"$(sinfo -h -n n2 -o %T | tr -d '*')\" = down ] && [ \"$(squeue -h -j {job} -o %t)\" = PD ]")
        told = cluster.head.run(f"XDG_RUNTIME_DIR=$(mktemp -d) timeout 200 minke why {job}", user="alice")
        assert "n2: down (Not responding)" in told, told
        # The other machines go on.
        assert cluster.ended(cluster.submit("--wrap 'srun hostname'", "-w n1 -t 10 -o /dev/null")) == "COMPLETED"
        # Slurm starts nothing that still runs there: not before the node has ended what it had.
        cluster.head.run(f"scontrol hold {job}")
    finally:
        cluster["n2"].plug_in()
    cluster.head.until("[ \"$(sinfo -h -n n2 -o %T)\" = idle ]")
    cluster["n2"].until("! pgrep -f 'slurmstepd: \\[' >/dev/null")
    cluster.head.run(f"scontrol release {job}; scontrol update jobid={job} starttime=now", None)
    assert cluster.ended(job) == "COMPLETED"
    assert cluster.read("again").splitlines() == [f"{job} n2 0", f"{job} n2 1"]
    assert cluster["n2"].run("cat ~alice/again") == cluster.read("again")  # its home directory is back, too


def test_undo_gives_the_one_machine_back(cluster):
    """Jobs that have ended in Slurm do not come back; those that wait do."""
    head = cluster.head
    gone = {line.split("|")[0] for line in cluster.before["squeue"]} - set(head.run("squeue -h -r -o %i").split())
    head.run("minke grow undo --discard")
    assert "one machine" in head.run("minke grow status")
    known = larger.known(head, "minke ")
    assert known["squeue"] == [line for line in cluster.before["squeue"] if line.split("|")[0] not in gone]
    assert known["sshare"] == cluster.before["sshare"] and known["sacctmgr assoc"] == cluster.before["sacctmgr assoc"]
    head.run("cd; minke sbatch -W -o /dev/null --wrap true", user="alice")
    for machine in ("head", "n1", "n2"):
        assert cluster[machine].run("pgrep -l 'slurm|mariadbd'; ls /etc/slurm/slurm.conf /etc/systemd/system/minke-agent.service 2>/dev/null", None) == ""
