"""The policies of well-known clusters: whole nodes, accounts to choose from."""
import getpass

import pytest

from cluster import Machine

pytestmark = pytest.mark.minke_only

USER = getpass.getuser()


def test_whole_nodes_only(new_cluster):
    """As Trillium and TamIA: each job has its nodes for itself, and all that they have."""
    extra = '[[partition]]\nname = "compute"\nexclusive = true\nmax_time = "1-0"\n'
    cluster = new_cluster("whole", Machine(nodes=2, cpus=4, memory=4000, extra=extra))
    first, second, third = [cluster.submit("sleep 100", "-n1", "-pcompute") for _ in range(3)]
    cluster.wait_state(first, "RUNNING")
    cluster.wait_state(second, "RUNNING")
    assert cluster.state(third) == "PENDING"
    assert cluster.run("squeue", "-h", "-j", first, "-o", "%C").stdout.strip() == "4"
    cluster.run("scancel", first)
    cluster.wait_state(third, "RUNNING")


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
