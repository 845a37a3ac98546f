"""Faults of a cluster that has grown: daemons die, a node's cable is pulled, the head reboots, a disk is full, clocks are
apart. What was acknowledged stays, nothing runs twice, no command hangs, and each failure names its culprit."""
import re
import time

import pytest

import faults  # it knows where fault_answers is
from fault_answers import run_operations
from larger import Grown

pytestmark = [pytest.mark.xdist_group("grow"), pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def prepared(grown):
    grown.clear()
    faults.set_up(grown)
    return grown


@pytest.fixture
def cluster(prepared):
    yield prepared
    prepared.clear()


def all_back(cluster: Grown, seconds: float = 180) -> None:
    """A slurmctld that was killed gives a forgotten number to another job, and takes the node for faulty that runs both."""
    cluster.head.until("scontrol ping | grep -q 'is UP'", seconds)
    cluster.head.run("scontrol show node -o | grep -F 'Reason=Duplicate jobid' | sed 's/ .*//; s/NodeName=//' | xargs -rI, scontrol update nodename=, state=resume")
    cluster.head.until("scontrol ping | grep -q 'is UP' && sacctmgr -n show cluster | grep -q lab && [ \"$(sinfo -h -o %t | grep -vxE 'idle|alloc|mix|comp' | wc -l)\" = 0 ]", seconds)


def saved(cluster: Grown, job: str) -> None:
    """slurmctld writes its jobs down some seconds after it has acknowledged them."""
    cluster.head.until(f"grep -qa slow-{job} /var/lib/slurm/slurmctld/job_state", 30)


def test_jobs_go_on_while_the_head_reboots(cluster):
    runs = cluster.head.run("cd; minke sbatch --parsable -J slow-1 -w n1 -t 5 -o /dev/null --wrap 'echo $SLURM_JOB_ID begun >>reboot; sleep 6; echo $SLURM_JOB_ID ended >>reboot'", user="alice").strip()
    waits = cluster.head.run(f"cd; minke sbatch --parsable -J slow-2 -w n2 -d afterok:{runs} -t 5 -o /dev/null --wrap 'echo $SLURM_JOB_ID begun >>reboot'", user="alice").strip()
    held = cluster.head.run("cd; minke sbatch --parsable -J slow-3 --hold -o /dev/null --wrap true", user="alice").strip()
    cluster["n1"].until("grep -q begun ~alice/reboot")
    saved(cluster, "3")
    cluster.hosts.cut_power("head")
    # Who asks from a node is told who does not answer, and does not wait for ever.
    said = cluster["n1"].run("timeout 100 env MINKE_CLUSTER=slurm minke squeue", code=1, user="alice")
    assert "slurmctld does not answer" in said, said
    cluster.hosts.power_on("head")
    cluster.head = cluster["head"]
    all_back(cluster)
    assert cluster.ended(runs) == "COMPLETED" and cluster.ended(waits) == "COMPLETED"
    assert cluster.read("reboot").splitlines() == [f"{runs} begun", f"{runs} ended", f"{waits} begun"]
    assert cluster.head.run("squeue -h -o '%i %T'").split() == [held, "PENDING"]
    cluster.head.until(f"[ \"$(runuser -u alice -- minke squeue -h -o '%i %T')\" = '{held} PENDING' ]")
    assert "slurmdbd answers" in cluster.head.run("minke doctor", user="alice")


def test_a_full_disk_on_the_head_loses_nothing_and_is_named(cluster):
    """Slurm's own state, and where a user's answers are kept."""
    state, answers = "/var/lib/slurm/slurmctld", "/run/answers"
    before = cluster.head.run("cd; minke sbatch --parsable --hold -J before -o /dev/null --wrap true", user="alice").strip()
    cluster.head.run(f"systemctl stop slurmctld; cp -a {state} /tmp/state; mount -t tmpfs -o size=8m,mode=700 tmpfs {state}; chown slurm: {state}; cp -a /tmp/state/. {state}/; "
                     f"systemctl start slurmctld; mkdir -p {answers}; mount -t tmpfs -o size=100k,mode=700 tmpfs {answers}; chown alice {answers}; "
                     f"dd if=/dev/zero of={state}/full bs=4k status=none; dd if=/dev/zero of={answers}/full bs=4k status=none", code=None)
    cluster.head.until("scontrol ping | grep -q 'is UP'")
    environment = f"cd; export XDG_RUNTIME_DIR={answers} MINKE_POLLED=/nowhere; "
    jobs = [before]
    try:
        for i in range(3):
            said = cluster.head.run(f"{environment} minke sbatch --parsable --hold -J full-{i} -o /dev/null --wrap true", code=None, user="alice").strip()
            assert said.isdigit() or "slurmctld cannot write to the disk that has its state" in said, said
            jobs += [said] if said.isdigit() else []
        for command in ("squeue -h", "top --once", f"why {jobs[0]}", f"scontrol show job {jobs[0]}", "sinfo", "sacct -n"):
            cluster.head.run(f"{environment} minke {command}", user="alice")
        assert f"cannot be kept in {answers}" in cluster.head.run(f"{environment} minke doctor", user="alice")
        assert "No space left on device" in cluster.head.run("cat /var/log/slurm/slurmctld.log")
    finally:
        cluster.head.run(f"rm {state}/full; umount {answers}")
    # Once there is room, what was acknowledged is written down.
    cluster.head.run("cd; minke sbatch --parsable --hold -J slow-4 -o /dev/null --wrap true", user="alice")
    saved(cluster, "4")
    cluster.head.run(f"systemctl stop slurmctld; rm -rf /tmp/state; cp -a {state} /tmp/state; umount {state}; cp -a /tmp/state/. {state}/; systemctl start slurmctld")
    all_back(cluster)
    assert set(jobs) <= set(cluster.head.run("squeue -h -o %i").split())


def test_a_clock_that_is_apart_is_named(cluster):
    """That of munge on one node, which then neither believes the head nor is believed."""
    node = cluster["n1"]
    node.run("mkdir -p /etc/systemd/system/munge.service.d; printf '[Service]\\nEnvironment=LD_PRELOAD=/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1\\n"
             "Environment=FAKETIME=+20m\\n' >/etc/systemd/system/munge.service.d/clock.conf; systemctl daemon-reload; systemctl restart munge")
    try:
        for command in ("squeue", "sbatch --hold --wrap true", "why 1", "top --once", "sinfo", "doctor", "scontrol hold 1"):
            said = node.run(f"cd; timeout 100 env MINKE_CLUSTER=slurm minke {command}", code=None, user="alice")
            assert "a clock that is wrong" in said, (command, said)
        # Elsewhere all goes on.
        assert cluster.ended(cluster.submit("--wrap 'srun true'", "-w n2", "-o /dev/null")) == "COMPLETED"
    finally:
        node.run("rm -r /etc/systemd/system/munge.service.d; systemctl daemon-reload; systemctl restart munge")
    all_back(cluster)
    assert cluster.ended(cluster.submit("--wrap 'srun true'", "-w n1", "-o /dev/null")) == "COMPLETED"


def test_nothing_is_lost_or_run_twice_while_daemons_die_and_a_cable_is_pulled(cluster, request):
    long = request.config.getoption("--long")
    seed = int(time.time()) if long else 18
    operations, fault = faults.Operations(cluster, seed), faults.Faults(cluster, seed)
    fault.start()
    try:
        run_operations(operations.one, 300 if long else 30)
    finally:
        fault.over.set()
        fault.join()
    assert fault.problem is None, fault.problem
    all_back(cluster)
    operations.check(fault.killed)
    print(f"seed {seed}: faults {dict(fault.count)}; operations {dict(operations.answers.count)}")
    assert operations.answers.problems == [], f"seed {seed}"
    assert len(operations.answers.acknowledged) > 5 and sum(fault.count.values()) > 1
