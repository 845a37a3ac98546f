"""Who starts first: the same accounts, shares, QOS and jobs on a real Slurm with priority/multifactor and on Minke.

In each situation something fills the machine while jobs are submitted (and changed); then it goes, and the order in
which they start is compared. What differs, and why, stands in DIFFERENT.
"""
import dataclasses
import getpass

import pytest

from cluster import poll
from systems import Pair, missing_program

pytestmark = [pytest.mark.xdist_group("slurm-order"), pytest.mark.timeout(1800)]

USER = getpass.getuser()
MINKE = """\
cluster_name = "loopback"
kill_wait = 2
min_job_age = 3600

[accounting]
enforce = ["limits", "qos"]

[priority]
type = "multifactor"
weight_age = 1000
weight_fair_share = 100000
weight_qos = 20000
weight_partition = 2000
weight_job_size = 1000
weight_tres = "CPU=3000"
calc_period = 1

[[node]]
name = "n1"
cpus = 4
sockets = 1
cores_per_socket = 4
threads_per_core = 1
memory = "4000M"

[[partition]]
name = "main"
default = true
default_time = "1:00:00"
default_mem_per_cpu = "100M"

[[partition]]
name = "factor"
default_time = "1:00:00"
default_mem_per_cpu = "100M"
priority_job_factor = 10

[[partition]]
name = "tier"
default_time = "1:00:00"
default_mem_per_cpu = "100M"
priority_tier = 5

[[partition]]
name = "dear"
default_mem_per_cpu = "100M"
billing_weights = "CPU=10000"
"""
PARTITION = "Nodes=n1 DefMemPerCPU=100 State=UP"
SLURM = {
    "nodes": (("n1", "CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000"),),
    "partitions": (
        f"PartitionName=main Default=YES DefaultTime=1:00:00 {PARTITION}",
        f"PartitionName=factor DefaultTime=1:00:00 PriorityJobFactor=10 {PARTITION}",
        f"PartitionName=tier DefaultTime=1:00:00 PriorityTier=5 {PARTITION}",
        f"PartitionName=dear TRESBillingWeights=CPU=10000 {PARTITION}"),
    "settings": (
        "AccountingStorageEnforce=limits,qos", "PriorityType=priority/multifactor", "PriorityCalcPeriod=1",
        "PriorityDecayHalfLife=7-0", "PriorityWeightAge=1000", "PriorityWeightFairshare=100000",
        "PriorityWeightQOS=20000", "PriorityWeightPartition=2000", "PriorityWeightJobSize=1000",
        "PriorityWeightTRES=CPU=3000"),
}
# Each account has used something else; those without a number nothing.
USED = {"physics": 4, "music": 2, "theory": 1}
TREE = (
    ("account", "science", "fairshare=3"), ("account", "arts", "fairshare=1"), ("account", "other", "fairshare=1"),
    ("account", "physics", "parent=science", "fairshare=1"), ("account", "theory", "parent=science", "fairshare=2"),
    ("account", "music", "parent=arts", "fairshare=1"), ("account", "film", "parent=arts", "fairshare=5"),
    ("qos", "high", "priority=100"), ("qos", "middle", "priority=50"), ("qos", "one", "maxjobsperuser=1"),
    ("qos", "narrow", "grptres=cpu=2"),
    ("user", USER, "account=physics,theory,music,film,other"),
)
QOS = "qos=normal,high,middle,one,narrow"


@dataclasses.dataclass
class Situation:
    name: str
    jobs: list[tuple[str, str]]      # a name and options of each, in the order of submission
    filling: str = "-n4"             # what fills the machine until then
    then: list[str] = dataclasses.field(default_factory=list)  # commands, with {name} for a job's id
    before: list[str] = dataclasses.field(default_factory=list)  # sacctmgr's words, before anything is submitted
    after: list[str] = dataclasses.field(default_factory=list)  # the same, to undo it


def each(options: str, *names: str) -> list[tuple[str, str]]:
    return [(name, f"-n4 {options.format(name)}") for name in names]


SITUATIONS = [
    Situation("one after the other", each("-A other", "a", "b", "c", "d")),
    Situation("accounts by what they have used", each("-A {}", "physics", "theory", "music", "film", "other")),
    Situation("the other way round", each("-A {}", "other", "film", "music", "theory", "physics")),
    Situation("two of each account", [(f"{account}{i}", f"-n4 -A {account}") for i in (1, 2)
                                      for account in ("physics", "theory", "film")]),
    Situation("siblings, used and unused", each("-A {}", "music", "film")),
    Situation("branches before leaves", each("-A {}", "physics", "music")),
    Situation("theory has the larger share", each("-A {}", "theory", "music")),
    Situation("qos in one account", each("-A other --qos={}", "normal", "middle", "high")),
    Situation("qos against fair share", [("used", "-n4 -A physics --qos=high"), ("unused", "-n4 -A film")]),
    Situation("qos decides among close ones", [("a", "-n4 -A other"), ("b", "-n4 -A other --qos=middle"),
                                               ("c", "-n4 -A other --qos=high"), ("d", "-n4 -A other")]),
    Situation("nice", [("a", "-n4 -A other --nice=500"), ("b", "-n4 -A other --nice=100"), ("c", "-n4 -A other")]),
    Situation("nice below nothing", [("a", "-n4 -A other"), ("b", "-n4 -A other --nice=-200")]),
    Situation("nice against qos", [("a", "-n4 -A other --qos=high --nice=30000"), ("b", "-n4 -A other")]),
    Situation("size", [("small", "-n1 -A other --exclusive"), ("large", "-n4 -A other")]),
    Situation("sizes", [("one", "-n1 -A other --exclusive"), ("three", "-n3 -A other --exclusive"),
                        ("two", "-n2 -A other --exclusive"), ("four", "-n4 -A other --exclusive")]),
    Situation("partition factor", [("main", "-n4 -A other"), ("factor", "-n4 -A other -p factor")]),
    Situation("partition factor against qos", [("factor", "-n4 -A other -p factor"),
                                               ("high", "-n4 -A other --qos=high")]),
    Situation("partition tier against everything", [("a", "-n4 -A film --qos=high"),
                                                    ("b", "-n4 -A physics -p tier --nice=5000")]),
    Situation("in two partitions", [("main", "-n4 -A other"), ("both", "-n4 -A other -p main,factor")]),
    Situation("in two partitions of two tiers", [("a", "-n4 -A film --qos=high"), ("b", "-n4 -A other -p main,tier")]),
    Situation("priority given", [("a", "-n4 -A film"), ("b", "-n4 -A physics --priority=4000000")]),
    Situation("priority changed", each("-A other", "a", "b", "c"), then=["scontrol update jobid={c} priority=4000000"]),
    Situation("priority lowered", each("-A other", "a", "b", "c"), then=["scontrol update jobid={a} priority=1"]),
    Situation("nice changed", each("-A other", "a", "b"), then=["scontrol update jobid={a} nice=1000"]),
    Situation("qos changed", each("-A other", "a", "b"), then=["scontrol update jobid={b} qos=high"]),
    Situation("held and released", each("-A other", "a", "b", "c"), then=["scontrol hold {a}", "scontrol release {a}"]),
    Situation("account changed", each("-A physics", "a", "b"), then=["scontrol update jobid={b} account=film"]),
    Situation("partition changed", each("-A other", "a", "b"), then=["scontrol update jobid={b} partition=factor"]),
    Situation("a dependency", [("a", "-n4 -A film -d afterok:{b}"), ("b", "-n4 -A physics")][::-1]),
    Situation("an array", [("a", "-n4 -A other --array=1-3"), ("b", "-n4 -A other --qos=high")]),
    Situation("two arrays", [("a", "-n4 -A other --array=1-2"), ("b", "-n4 -A other --array=1-2")]),
    Situation("an array with a throttle", [("a", "-n2 -A film --array=1-3%1"), ("b", "-n4 -A other")]),
    Situation("one job at a time in its qos", [("a", "-n2 -A film --qos=one"), ("b", "-n2 -A film --qos=one"),
                                               ("c", "-n4 -A other")]),
    Situation("too wide for its qos", [("a", "-n4 -A film --qos=narrow"), ("b", "-n4 -A physics")],
              then=["late scontrol update jobid={a} qos=normal"]),
    Situation("the limit of an account", [("a", "-n4 -A film"), ("b", "-n4 -A physics")],
              before=["modify account film set grptres=cpu=2"], after=["modify account film set grptres=cpu=-1"],
              then=["late sacctmgr -i modify account film set grptres=cpu=-1"]),
    Situation("shares changed", each("-A {}", "music", "film"),
              before=[f"modify user {USER} where account=film set fairshare=1"],
              after=[f"modify user {USER} where account=film set fairshare=1"]),
    Situation("backfill", [("wide", "-n4 -A film -t 10"), ("short", "-n2 -A physics -t 5")],
              filling="-n2 -t 20"),
    Situation("no backfill of what is too long", [("wide", "-n4 -A film -t 10"), ("long", "-n2 -A physics -t 60")],
              filling="-n2 -t 20"),
]
DIFFERENT: dict[str, str] = {}


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    if program := missing_program():
        pytest.skip(f"there is no {program} to compare with; ./dev setup test installs it")
    one = Pair(tmp_path_factory.mktemp("order"), minke=MINKE, slurm=SLURM)
    yield one
    one.close()


def sacctmgr(system, words):
    done = system.run("sacctmgr", "-i", *words)
    assert done.returncode == 0, (system.name, words, done.stdout, done.stderr)


def set_up(system):
    """The tree of accounts, and what each of them has used."""
    for words in TREE:
        sacctmgr(system, ("add", *words))
    sacctmgr(system, ("modify", "account", "root", "set", QOS))
    for account, seconds in USED.items():
        job = system.sbatch("-n4", "-A", account, "-p", "dear", f"--wrap=sleep {seconds}")
        poll(lambda job=job: system.state(job) == "COMPLETED", 60, f"the use of {account}")

    def used():
        rows = [line.split("|") for line in
                system.run("sshare", "-anP", "-o", "account,user,rawusage,fairshare").stdout.splitlines()]
        users = {account.strip(): (int(raw), fair) for account, user, raw, fair in rows if user == USER}
        return (all(users[account][0] > 10000 for account in USED)
                and len({fair for account, (_, fair) in users.items() if account != "root"}) == 5)
    poll(used, 150, "usage and fair shares")  # Slurm works them out once a minute


@pytest.fixture(scope="module")
def accounts(pair):
    pair.each(set_up)
    return pair


def order_of(system, situation: Situation) -> list[str]:
    for words in situation.before:
        sacctmgr(system, words.split())
    filling = system.sbatch(*situation.filling.split(), "-A", "other", "--wrap=sleep 300")
    system.wait_state(filling, "RUNNING")
    file = system.work / f"{system.name}-{situation.name.replace(' ', '-')}"
    ids: dict[str, int] = {}
    script = system.script(f"sleep 0.1; echo $SLURM_JOB_NAME$SLURM_ARRAY_TASK_ID >> {file}; sleep 0.3",
                           f"{file.name}.sh")
    for name, options in situation.jobs:
        ids[name] = system.sbatch(*options.format(**ids).split(), "-J", name, "-o", "/dev/null", script)

    def change(command):
        done = system.run(*command.format(**ids).split())
        assert done.returncode == 0, (command, done.stderr)
    for command in situation.then:
        if not command.startswith("late "):
            change(command)
    wanted = sum(3 if "1-3" in options else 2 if "1-2" in options else 1 for _, options in situation.jobs)

    def started():
        return file.read_text().split() if file.exists() else []
    if situation.filling != "-n4":  # what may pass the wide one does so now, and the others do not
        poll(lambda: all(system.job(one)["Reason"] in ("None", "Resources", "Priority") for one in ids.values()), 20)
        if "no backfill" not in situation.name:
            poll(lambda: started(), 30, "backfill")
    system.run("scancel", filling)
    for command in situation.then:
        if command.startswith("late "):
            poll(lambda: len(started()) == wanted - 1, 60, "the others")
            change(command.removeprefix("late "))
    poll(lambda: len(started()) == wanted, 120, f"{wanted} jobs of {situation.name}")
    poll(lambda: not system.queue(), 60, "an empty queue")
    for words in situation.after:
        sacctmgr(system, words.split())
    return started()


def test_there_are_enough():
    names = [situation.name for situation in SITUATIONS]
    assert len(set(names)) == len(names) >= 30 and set(DIFFERENT) <= set(names)


@pytest.mark.parametrize("situation", [pytest.param(one, id=one.name.replace(" ", "-")) for one in SITUATIONS])
def test_order(situation, accounts):
    try:
        slurm, minke = accounts.each(lambda system: order_of(system, situation))
    finally:
        accounts.each(lambda system: system.clear())
    if situation.name in DIFFERENT:
        assert slurm != minke, "they agree now"
    else:
        assert minke == slurm
