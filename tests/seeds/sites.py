"""Clusters set up as those of the five guides: their nodes, partitions, accounts, tiers and modules.

Each has users as the guides' readers are: with a group of their own, and the groups of their professors. All nodes are
virtual.
"""
import getpass
import pathlib
import shutil
import subprocess

from cluster import Cluster
from shared import Shared, User, make_account, passable_directory

# Whether jobs can be closed off from networks; where not, their nodes are open, and cases marked `offline` are skipped.
OFFLINE = subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0
CLOSED = "offline = true\n" if OFFLINE else ""

NARVAL = """
cluster_name = "narval"
kill_wait = 2
"""
NARVAL_ACCOUNTS = """
[accounting]
enforce = ["associations", "limits"]
ask_account = true
split_accounts = true
shares = "allocations"

[priority]
type = "multifactor"
weight_fair_share = 100000
weight_age = 1000
weight_job_size = 1000
"""
NARVAL_NODES = """
[[node]]
name = "nc[10101-10102]"
cpus = 64
memory = "249G"

[[node]]
name = "ng[10101-10102]"
cpus = 48
memory = "498G"
gpus = "a100:4"

[[node]]
name = "ng20101"
cpus = 48
memory = "498G"
gpus = "a100_1g.5gb:4,a100_2g.10gb:2"

[[node]]
name = "ng30101"
cpus = 48
memory = "498G"
gpus = "a100:4"
"""
CLASSES = (("b1", "3:00:00"), ("b2", "12:00:00"), ("b3", "1-0"), ("b5", "7-0"))
GPU_NODES = "ng[10101-10102],ng20101"


def narval(settings: str, closed: str) -> str:
    """Its configuration; `closed` is what keeps jobs from the network."""
    def partition(name: str, nodes: str, time: str, serves: str) -> str:
        return (f'\n[[partition]]\nname = "{name}"\nnodes = "{nodes}"\nmax_time = "{time}"\nserves = "{serves}"\n'
                f'default_time = "1:00:00"\nbilling_weights = "rgu:narval"\n{closed}')
    text = NARVAL + settings + NARVAL_NODES
    for name, time in CLASSES:
        text += partition(f"cpubase_bycore_{name}", "nc[10101-10102]", time, "cpu")
        text += partition(f"gpubase_bygpu_{name}", GPU_NODES, time, "gpu")
    return text + partition("gpubase_interac", "ng30101", "3:00:00", "interactive")


class Site(Shared):
    """A shared cluster of a profile, with its tiers on a disk of their own."""

    def __init__(self, profile: str, machine: str, tables: str = "", tiers: str = ""):
        self.disks = passable_directory()
        self.unix_groups: list[str] = []
        storage = f'\n[storage]\nprofile = "{profile}"\nroot = "{self.disks}"\ncount_interval = 1\n{tiers}'
        super().__init__(machine=machine, tables=tables + storage, parent="/var/tmp")
        self.users = self.directory / "users"
        self.alice.environment["MINKE_CONFIG"] = self.root["MINKE_CONFIG"]

    def member(self, name: str, *groups: str) -> User:
        user = self.user(self.users, name, *groups)
        user.environment["MINKE_CONFIG"] = self.root["MINKE_CONFIG"]
        self.minke("storage", "init", "--user", user.name)
        return user

    def unix_group(self, name: str) -> str:
        group = f"{name}{self.group.removeprefix('mkops')}"
        make_account("groupadd", group)
        self.unix_groups.append(group)
        return group

    def sacctmgr(self, *words) -> None:
        done = self.root_run("sacctmgr", "-i", *words)
        assert done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}"

    def close(self) -> None:
        super().close()
        for group in self.unix_groups:
            subprocess.run(["groupdel", "-f", group], check=False)
        for directory in (self.disks, *(pathlib.Path("/tmp", account) for account in self.accounts)):
            shutil.rmtree(directory, ignore_errors=True)


class Narval(Site):
    """A reader, a fellow of the same groups, their professor, and somebody whom nobody has added to an account."""

    def __init__(self):
        super().__init__("narval", narval(NARVAL_ACCOUNTS, CLOSED), tiers="[storage.project]\nfiles = 60\n")
        self.rrg, self.default = self.unix_group("rrg-bengioy-ad"), self.unix_group("def-prof")
        self.reader, self.fellow, self.professor = (
            self.member(name, self.rrg, self.default) for name in ("reader", "fellow", "prof"))
        self.stranger = self.member("stranger")
        accounts = [f"{name}_{kind}" for name in ("rrg-bengioy-ad", "def-prof") for kind in ("cpu", "gpu")]
        self.sacctmgr("add", "account", ",".join(accounts))
        people = ",".join(one.name for one in (self.reader, self.fellow, self.professor))
        self.sacctmgr("add", "user", people, "account=" + ",".join(accounts))
        self.sacctmgr("add", "account", "def-lone_cpu")
        self.sacctmgr("add", "user", self.alice.name, "account=def-lone_cpu")
        self.sacctmgr("modify", "account", "rrg-bengioy-ad_cpu", "set", "coreyears=193")
        self.sacctmgr("modify", "account", "rrg-bengioy-ad_gpu", "set", "rguyears=2000")
        self.minke("software", "scan")


SHARCNET = """
cluster_name = "sharcnet"
kill_wait = 2

[accounting]
enforce = ["associations", "limits"]
"""
# System, nodes, processors, GPUs of each node.
SYSTEMS = (("monk", "mon[1-2]", 8, "m2070:2"), ("copper", "cop1", 24, "k80:8"), ("mosaic", "mos1", 20, "k20:1"),
           ("gp3", "gp1", 32, "p100:4"))


class Sharcnet(Site):
    """Systems that all may use for four hours, contributors for seven days; nodes have no internet."""

    def __init__(self):
        nodes = "".join(f'\n[[node]]\nname = "{name}"\ncpus = {cpus}\nmemory = "64G"\ngpus = "{gpus}"\n'
                        f'features = ["{system}"]\n' for system, name, cpus, gpus in SYSTEMS)
        partitions = "".join(f'\n[[partition]]\nname = "{name}"\nnodes = "{nodes}"\nmax_time = "{time}"\n{CLOSED}'
                             'serves = ["cpu", "gpu"]\n' for name, nodes, time in (
                                 ("others", "mon[1-2],cop1,mos1,gp1", "4:00:00"), ("contributed", "cop1,mos1", "7-0")))
        super().__init__("sharcnet", SHARCNET + nodes + partitions, tiers="purge = true\n[storage.work]\nfiles = 60\n")
        self.contributor, self.student = self.member("contrib"), self.member("student")
        self.sacctmgr("add", "account", "contributors,students")
        self.sacctmgr("add", "user", self.contributor.name, "account=contributors")
        self.sacctmgr("add", "user", f"{self.student.name},{self.alice.name}", "account=students")
        self.minke("storage", "init", "--user", self.alice.name)
        self.minke("software", "scan")
        self.contributors_only()

    def contributors_only(self) -> None:
        done = self.root_run("scontrol", "update", "partitionname=contributed", "allowaccounts=contributors")
        assert done.returncode == 0, done.stderr


ALEX = """ClusterName=alex
KillWait=2
PrivateData=jobs
SchedulerType=sched/backfill
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightJobSize=1000
PriorityFavorSmall=YES
SelectType=select/cons_tres
LaunchParameters=use_interactive_step
NodeName=DEFAULT CPUs=128 RealMemory=512000 TmpDisk=7000000 Gres=gpu:a40:8
NodeName=a[0121-0129,0603]
PartitionName=a40 Nodes=ALL Default=YES MaxTime=1-0 DefaultTime=10 DefCpuPerGPU=16 DefMemPerGPU=60000
"""
ALEX_COLUMNS = '[variables]\nSQUEUE_FORMAT = "%.9i %9P %20j %8u %.2t %.10M %.11l %.6D %.4C %R"\n'


class Alex(Site):
    """Read from a slurm.conf of its own; its tiers from minke.toml."""

    def __init__(self):
        super().__init__("alex", ALEX_COLUMNS, tiers="snapshots = true\n")
        self.reader, self.other = self.member("reader"), self.member("other")
        self.minke("software", "scan")

    def prepare(self) -> None:
        self.home.mkdir(mode=0o755)
        (self.home / "slurm.conf").write_text(ALEX)


def own(directory: pathlib.Path, configuration: str) -> Cluster:
    """A cluster of whoever runs the tests; his home is where he works."""
    one = Cluster(directory)
    (directory / "minke.toml").write_text(configuration)
    one.name = getpass.getuser()
    one.environment |= {"MINKE_CONFIG": str(directory / "minke.toml"), "HOME": str(one.work), "USER": one.name}
    return one


def own_narval(directory: pathlib.Path) -> Cluster:
    """Narval as a reader rehearses for it: no accounts, and the network is the machine's."""
    one = own(directory, narval("", "") + f'\n[storage]\nprofile = "narval"\nroot = "{directory}/disks"\n')
    one.run("minke", "storage", "init", check=0)
    one.run("minke", "software", "scan", check=0)
    return one


def own_alex(directory: pathlib.Path) -> Cluster:
    one = own(directory, ALEX_COLUMNS + f'[storage]\nprofile = "alex"\nroot = "{directory}/disks"\n')
    (one.home / "slurm.conf").write_text(ALEX)
    one.run("minke", "storage", "init", check=0)
    one.run("minke", "software", "scan", check=0)
    return one


def tamia(directory: pathlib.Path) -> Cluster:
    """Whole nodes only, and accounts of professors who add their students."""
    nodes = "".join(f'\n[[node]]\nname = "{name}"\ncpus = {cpus}\nmemory = "{memory}"\ngpus = "{gpus}"\n'
                    for name, cpus, memory, gpus in (("tg[10101-10102]", 48, "500G", "h100:4"),
                                                     ("tg11101", 64, "1000G", "h200:8")))
    one = own(directory, 'cluster_name = "tamia"\nkill_wait = 2\n[accounting]\nenforce = ["associations", "limits"]\n' + nodes +
              '\n[[partition]]\nname = "gpubase_bynode_b"\nexclusive = true\nmax_time = "1-0"\ndefault = true\n')
    one.account = "aip-mine"
    one.run("sacctmgr", "-i", "add", "account", one.account, check=0)
    one.run("sacctmgr", "-i", "add", "user", one.name, f"account={one.account}", check=0)
    return one


def types(user, lines: str, check: int | None = 0, **options) -> str:
    """What a reader sees who types these lines into a shell on the log-in machine: both streams."""
    done = user.run("bash", "-c", 'exec 2>&1; eval "$(minke env --over-slurm)"\n' + lines, check=check, **options)
    return done.stdout


def on_a_terminal(user, line: str, **options) -> str:
    """The same on a terminal."""
    return types(user, f"script -qec {shell_word(line)} /dev/null < /dev/null", check=None, **options)


def shell_word(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
