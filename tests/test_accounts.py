"""Accounts: sacctmgr, limits, multifactor priority and fair share, as users and administrators meet them."""
import getpass

import pytest

from cluster import Machine, poll

pytestmark = pytest.mark.minke_only

ENFORCED = """
[accounting]
enforce = ["limits", "qos"]

[priority]
type = "multifactor"
weight_fair_share = 100000
weight_qos = 10000
calc_period = 1
"""
USER = getpass.getuser()


def sacctmgr(cluster, *words):
    return cluster.run("sacctmgr", "-i", *words)


@pytest.fixture
def shared(new_cluster):
    cluster = new_cluster("one", Machine(nodes=1, cpus=4, memory=4000, extra=ENFORCED))
    for words in (("add", "account", "physics", "fairshare=3"), ("add", "account", "theory", "parent=physics"),
                  ("add", "account", "chem", "fairshare=1"), ("add", "user", USER, "account=theory,chem")):
        assert sacctmgr(cluster, *words).returncode == 0, words
    return cluster


def test_shares_follow_from_allocations(new_cluster):
    """The unallocated cores of four are shared by those who have jobs; fair share goes by it at once."""
    extra = ENFORCED.replace("[priority]", 'shares = "allocations"\n\n[priority]')
    cluster = new_cluster("one", Machine(nodes=1, cpus=4, memory=4000, extra=extra))
    for words in (("add", "account", "rrg-a"), ("add", "account", "def-b,def-c", "fairshare=7"),
                  ("add", "user", USER, "account=rrg-a,def-b,def-c"),
                  ("modify", "account", "rrg-a", "set", "coreyears=3")):
        assert sacctmgr(cluster, *words).returncode == 0, words

    def shares():
        lines = cluster.run("sshare", "-anP", "-o", "account,user,rawshares").stdout.splitlines()
        rows = [line.strip().split("|") for line in lines]
        return {account: int(number) for account, user, number in rows if not user and account != "root"}
    assert shares() == {"rrg-a": 3000, "def-b": 1, "def-c": 1}
    job = cluster.submit("sleep 60", "-A", "def-b")
    cluster.wait_state(job, "RUNNING")
    assert shares() == {"rrg-a": 3000, "def-b": 1000, "def-c": 1}
    assert sacctmgr(cluster, "modify", "account", "rrg-a", "set", "coreyears=2").returncode == 0
    assert shares() == {"rrg-a": 2000, "def-b": 2000, "def-c": 1}
    assert "rrg-a                              2.0000     0.0 %" in cluster.run("minke", "usage", check=0).stdout
    assert sacctmgr(cluster, "modify", "account", "rrg-a", "set", "coreyears=-1").returncode == 0
    assert shares() == {"rrg-a": 1, "def-b": 7, "def-c": 7}


def reason(cluster, job):
    return cluster.run("squeue", "-h", "-j", job, "-o", "%r").stdout.strip()


def test_the_configuration_says_so(shared, new_cluster):
    def listing(cluster):
        lines = cluster.run("scontrol", "show", "config").stdout.splitlines()
        return {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    kept = listing(shared)
    assert kept["AccountingStorageEnforce"] == "associations,limits,qos"
    assert kept["PriorityType"] == "priority/multifactor"
    assert (kept["PriorityWeightFairShare"], kept["PriorityWeightQOS"]) == ("100000", "10000")
    assert (kept["PriorityCalcPeriod"], kept["PriorityDecayHalfLife"]) == ("00:00:01", "7-00:00:00")
    plain = listing(new_cluster("plain", Machine(nodes=1, cpus=4)))
    assert plain["AccountingStorageEnforce"] == "none" and plain["PriorityType"] == "priority/basic"
    assert "PriorityWeightAge" not in plain


def test_changes_last(shared):
    assert sacctmgr(shared, "modify", "user", USER, "where", "account=chem", "set", "maxjobs=3",
                    "grptres=cpu=4,mem=2G").returncode == 0
    before = shared.run("sacctmgr", "-P", "show", "assoc", "tree").stdout
    assert "  theory|" in before and "cpu=4,mem=2G" in before
    shared.run("minke", "down", "--keep-jobs")
    assert shared.run("sacctmgr", "-P", "show", "assoc", "tree").stdout == before
    assert sacctmgr(shared, "delete", "account", "chem").returncode == 0
    assert "chem" not in shared.run("sacctmgr", "-P", "show", "assoc").stdout
    assert sacctmgr(shared, "delete", "account", "chem").returncode == 1


def test_dump_and_load(shared, tmp_path):
    file = tmp_path / "accounts.cfg"
    cluster = shared.run("sacctmgr", "-nP", "show", "cluster", "format=cluster").stdout.strip()
    assert shared.run("sacctmgr", "dump", cluster, f"file={file}").returncode == 0
    before = shared.run("sacctmgr", "-P", "show", "assoc").stdout
    assert sacctmgr(shared, "delete", "account", "physics").returncode == 0
    assert sacctmgr(shared, "load", f"file={file}").returncode == 0
    assert shared.run("sacctmgr", "-P", "show", "assoc").stdout == before


def test_who_may_charge_what(shared):
    refused = shared.run("sbatch", "-A", "physics", "--wrap=true")
    assert refused.returncode == 1
    assert "Invalid account or account/partition combination specified" in refused.stderr
    refused = shared.run("sbatch", "-A", "chem", "--qos=nosuch", "--wrap=true")
    assert "Invalid qos specification" in refused.stderr
    job = shared.submit("true", "-A", "theory")
    shared.wait_end(job)
    assert shared.run("sacct", "-nXPj", job, "-o", "account,qos").stdout.strip() == "theory|normal"


def test_limits_on_numbers(shared):
    assert sacctmgr(shared, "modify", "user", USER, "where", "account=chem", "set", "maxjobs=1",
                    "maxsubmit=2").returncode == 0
    first = shared.submit("sleep 60", "-A", "chem")
    shared.wait_state(first, "RUNNING")
    second = shared.submit("true", "-A", "chem")
    poll(lambda: reason(shared, second) == "AssocMaxJobsLimit", 10, "the reason")
    refused = shared.run("sbatch", "-A", "chem", "--wrap=true")
    assert refused.returncode == 1 and "AssocMaxSubmitJobLimit" in refused.stderr
    assert "Job violates accounting/QOS policy" in refused.stderr
    other = shared.submit("true", "-A", "theory")  # what is held up by a limit holds nobody up
    shared.wait_end(other)
    shared.run("scancel", first)
    shared.wait_end(second)


@pytest.mark.parametrize("setting, options, expected", [
    ("grptres=cpu=2", ("-n3",), "AssocGrpCpuLimit"),
    ("maxtresperjob=cpu=2", ("-n3",), "AssocMaxCpuPerJobLimit"),
    ("maxwall=10", ("-t20",), "AssocMaxWallDurationPerJobLimit"),
    ("grptres=mem=500", ("--mem=600",), "AssocGrpMemLimit"),
    ("maxtresminsperjob=cpu=10", ("-n2", "-t6"), "AssocMaxCpuMinutesPerJobLimit")])
def test_limits_of_an_association(shared, setting, options, expected):
    assert sacctmgr(shared, "modify", "account", "chem", "set", setting).returncode == 0
    job = shared.submit("true", "-A", "chem", *options)
    poll(lambda: reason(shared, job) == expected, 10, expected)
    name = setting.rsplit("=", 1)[0]
    assert sacctmgr(shared, "modify", "account", "chem", "set", f"{name}=-1").returncode == 0
    shared.wait_end(job)


def test_limits_of_a_qos(shared):
    assert sacctmgr(shared, "add", "qos", "short", "maxtresperuser=cpu=2", "priority=10").returncode == 0
    assert sacctmgr(shared, "modify", "account", "root", "set", "qos=normal,short").returncode == 0
    first = shared.submit("sleep 60", "-A", "chem", "--qos=short", "-n2")
    shared.wait_state(first, "RUNNING")
    second = shared.submit("true", "-A", "chem", "--qos=short")
    poll(lambda: reason(shared, second) == "QOSMaxCpuPerUserLimit", 10, "the reason")
    assert sacctmgr(shared, "modify", "qos", "short", "set", "flags=DenyOnLimit").returncode == 0
    refused = shared.run("sbatch", "-A", "chem", "--qos=short", "-n3", "--wrap=true")
    assert refused.returncode == 1 and "QOSMaxCpuPerUserLimit" in refused.stderr


def test_who_has_used_less_is_served_first(shared):
    job = shared.submit("sleep 2", "-A", "chem", "-n4")
    shared.wait_end(job)
    blocker = shared.submit("sleep 60", "-A", "theory", "-n4")
    shared.wait_state(blocker, "RUNNING")
    by_chem, by_theory = shared.submit("true", "-A", "chem"), shared.submit("true", "-A", "theory")

    def priorities():
        lines = shared.run("sprio", "-h", "-o", "%i %F").stdout.split()
        return dict(zip(map(int, lines[::2]), map(int, lines[1::2])))
    poll(lambda: set(priorities()) == {by_chem, by_theory}, 10, "both priorities")
    shares = shared.run("sshare", "-anP", "-o", "account,user,rawshares,rawusage,levelfs,fairshare").stdout
    chem = next(line.split("|") for line in shares.splitlines() if line.strip().startswith(f"chem|{USER}"))
    assert 3 <= int(chem[3]) <= 16 and 0 < float(chem[5]) <= 1
    # The usage of jobs that ended lasts, whoever asks and whenever.
    shared.run("scancel", blocker, by_chem, by_theory)
    poll(lambda: not shared.queue(), 20, "an empty queue")
    def usage():
        text = shared.run("sshare", "-anP", "-o", "account,user,rawusage").stdout
        return [line for line in text.splitlines() if line.strip().startswith(f"chem|{USER}")]
    before = usage()
    shared.run("minke", "down", "--keep-jobs")
    assert usage() == before


def test_nothing_changes_without_accounts(cluster):
    job = cluster.submit("true", "-A", "anything")
    cluster.wait_end(job)
    assert cluster.run("sacct", "-nXPj", job, "-o", "account").stdout.strip() == "anything"


def test_a_job_changes_its_account_and_qos(shared):
    assert sacctmgr(shared, "modify", "account", "chem", "set", "grptres=cpu=1").returncode == 0
    assert sacctmgr(shared, "add", "qos", "narrow", "grptres=cpu=1").returncode == 0
    assert sacctmgr(shared, "modify", "account", "root", "set", "qos=normal,narrow").returncode == 0
    job = shared.submit("true", "-A", "chem", "-n2")
    other = shared.submit("true", "-A", "theory", "--qos=narrow", "-n2")
    poll(lambda: reason(shared, job) == "AssocGrpCpuLimit", 10, "its account's limit")
    poll(lambda: reason(shared, other) == "QOSGrpCpuLimit", 10, "its QOS's limit")
    refused = shared.run("scontrol", "update", f"jobid={job}", "account=physics")
    assert refused.returncode == 1 and "Invalid account" in refused.stderr
    assert shared.run("scontrol", "update", f"jobid={job}", "account=theory").returncode == 0
    assert shared.run("scontrol", "update", f"jobid={other}", "qos=normal").returncode == 0
    shared.wait_end(job)
    shared.wait_end(other)
    assert shared.run("sacct", "-nXPj", f"{job},{other}", "-o", "account,qos").stdout.split() == ["theory|normal"] * 2


def test_configuration(cluster):
    told = cluster.run("sacctmgr", "show", "configuration", check=0).stdout
    assert "AccountingStorageType  = accounting_storage/" in told and "TrackWCKey             = No" in told
