"""The two systems that are compared: a real Slurm of some release with accounting on loopback, and a Minke with the same nodes.

Both work in the same directory, so that paths need no translation. Each runs a list of commands in order, the two of
them side by side.
"""
import concurrent.futures
import dataclasses
import os
import pathlib
import subprocess

from cluster import PATIENCE, Cluster, Commands, LoopbackSlurm, plain_environment, poll
from releases import RELEASES, Namespace, program_missing

# The machine, in both languages.
MINKE_CONFIGURATION = """\
cluster_name = "loopback"
kill_wait = 2
min_job_age = 3600
first_job_id = 1001
max_array_size = 4000002
enforce_part_limits = "ALL"

[licenses]
matlab = 4

[[node]]
name = "n[1-2]"
cpus = 4
sockets = 1
cores_per_socket = 4
threads_per_core = 1
memory = "4000M"
tmp_disk = "20000M"
features = ["fast", "big"]
gpus = "a100:2"

[[node]]
name = "n[3-4]"
cpus = 4
sockets = 1
cores_per_socket = 4
threads_per_core = 1
memory = "4000M"
tmp_disk = "20000M"
features = ["slow"]
gpus = "h100:2"

[[node]]
name = "n5"
cpus = 8
sockets = 2
cores_per_socket = 4
threads_per_core = 1
memory = "8000M"
tmp_disk = "20000M"

[[partition]]
name = "main"
nodes = "n[1-5]"
default = true
default_time = "1:00:00"
default_mem_per_cpu = "256M"

[[partition]]
name = "short"
nodes = "n[1-2]"
max_time = "3:00:00"
default_mem_per_cpu = "256M"
"""
SMALL = "CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=4000 TmpDisk=20000"
SLURM_NODES = (
    ("n1", f"{SMALL} Feature=fast,big Gres=gpu:a100:2"), ("n2", f"{SMALL} Feature=fast,big Gres=gpu:a100:2"),
    ("n3", f"{SMALL} Feature=slow Gres=gpu:h100:2"), ("n4", f"{SMALL} Feature=slow Gres=gpu:h100:2"),
    ("n5", "CPUs=8 Sockets=2 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 TmpDisk=20000"),
)
SLURM_PARTITIONS = (
    "PartitionName=main Nodes=n[1-5] Default=YES DefaultTime=1:00:00 DefMemPerCPU=256 State=UP",
    "PartitionName=short Nodes=n[1-2] MaxTime=3:00:00 DefMemPerCPU=256 State=UP",
)


def missing_program() -> str | None:
    """The first program of Slurm's that the machine lacks; None where all is there."""
    return program_missing()


class AccountedSlurm(LoopbackSlurm):
    """LoopbackSlurm with five unlike nodes, GPUs (device files that everybody has), slurmdbd and its MariaDB.

    A release that is not this machine's runs in a namespace of its tree."""

    def __init__(self, nodes=SLURM_NODES, partitions=SLURM_PARTITIONS, settings=(), release: str | None = None):
        self.release = RELEASES[release] if release else None
        tree = None if self.release is None or self.release.installed else self.release.made_tree()
        super().__init__(cpus=24, nodes=len(nodes))
        self.namespace = Namespace(tree) if tree else None
        if self.namespace and self.release.version >= "24":
            self.cgroup_configuration = "CgroupPlugin=disabled\n"
        self.node_lines, self.partition_lines, self.settings = nodes, partitions, settings
        self.database_port, self.accounting_port = self.ports.take(), self.ports.take()

    def configuration(self) -> str:
        replaced = ("NodeName=", "PartitionName=", "SelectTypeParameters=", "MaxArraySize=", "AccountingStorageType=",
                    "ReturnToService=", "JobAcctGatherType=", "MaxJobCount=", "SwitchType=")
        lines = [line for line in super().configuration().splitlines() if not line.startswith(replaced)]
        ports = [self.ports.take() for _ in self.node_lines]
        host = os.uname().nodename.split(".")[0]
        lines += [
            "SelectTypeParameters=CR_CPU_Memory", "GresTypes=gpu", "FirstJobId=1001", "Licenses=matlab:4",
            "MaxArraySize=4000001", "KillWait=2", "ReturnToService=1", "MinJobAge=3600", "EnforcePartLimits=ALL",
            "AccountingStorageType=accounting_storage/slurmdbd", "AccountingStorageHost=127.0.0.1",
            f"AccountingStoragePort={self.accounting_port}",
            f"AccountingStoragePass={self.directory}/munge.socket", "AccountingStorageTRES=gres/gpu",
            "AccountingStoreFlags=job_comment,job_script", "JobAcctGatherType=jobacct_gather/linux",
            "PriorityType=priority/basic",  # newer releases have priority/multifactor, without weights
            "SchedulerParameters=batch_sched_delay=0,default_queue_depth=1000", *self.settings]
        lines += [f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} {rest}"
                  for (name, rest), port in zip(self.node_lines, ports)]
        gpus = {"a100": "n[1-2]", "h100": "n[3-4]"} if self.node_lines is SLURM_NODES else {}
        (self.directory / "gres.conf").write_text(
            "".join(f"NodeName={names} Name=gpu Type={kind} File=/dev/tty[1-2]\n" for kind, names in gpus.items()))
        return "\n".join([*lines, *self.partition_lines]) + "\n"

    def start_daemon(self, *command: str) -> None:
        if command[0] == "slurmctld":
            self.start_accounting()
        if not self.namespace:
            return super().start_daemon(*command)
        with open(self.directory / f"{command[0]}.out", "ab") as log:
            self.daemons.append(subprocess.Popen(
                self.namespace.words(*command, directory=self.directory), env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    def command(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        if self.namespace:
            arguments = self.namespace.words(*arguments, directory=self.directory)
        return super().command(*arguments, **options)

    def __exit__(self, *_) -> None:
        if self.namespace:
            self.namespace.close()
        super().__exit__(*_)

    def start_accounting(self) -> None:
        home, user = self.directory, subprocess.check_output(["id", "-un"], text=True).strip()
        data, database_socket = home / "database", home / "database.socket"
        self.command("mariadb-install-db", "--no-defaults", f"--datadir={data}", f"--user={user}", "--skip-test-db",
                     "--auth-root-authentication-method=normal", f"--tmpdir={home}",  # two in one /tmp remove each other's tables
                     check=True)
        self.start_daemon("mariadbd", "--no-defaults", f"--user={user}", f"--datadir={data}",
                             f"--socket={database_socket}", f"--port={self.database_port}", "--bind-address=127.0.0.1",
                             f"--tmpdir={home}", f"--pid-file={home}/mariadbd.pid", "--innodb-buffer-pool-size=64M",
                             "--innodb-flush-log-at-trx-commit=0", "--skip-log-bin")
        self.wait_until(database_socket.exists, "mariadbd")
        grant = ("create user slurm@'%' identified by 'x'; create user slurm@localhost identified by 'x';"
                 "grant all on *.* to slurm@'%', slurm@localhost")
        client = ("mariadb", "--no-defaults", f"--socket={database_socket}", "-uroot", "-e", grant)
        self.wait_until(lambda: self.command(*client).returncode == 0, "its user")
        (home / "slurmdbd.conf").write_text("\n".join([
            "AuthType=auth/munge", f"AuthInfo=socket={home}/munge.socket", "DbdHost=localhost", "DbdAddr=127.0.0.1",
            f"DbdPort={self.accounting_port}", f"SlurmUser={user}", "StorageType=accounting_storage/mysql",
            "StorageHost=127.0.0.1", f"StoragePort={self.database_port}", "StorageUser=slurm", "StoragePass=x",
            f"LogFile={home}/slurmdbd.log", f"PidFile={home}/slurmdbd.pid"]) + "\n")
        (home / "slurmdbd.conf").chmod(0o600)
        self.start_daemon("slurmdbd", "-D")
        self.wait_until(lambda: "Cluster" in self.command("sacctmgr", "-n", "-i", "show", "configuration").stdout
                        or self.command("sacctmgr", "-n", "show", "cluster").returncode == 0, "slurmdbd")


class Clearing:
    def clear(self) -> None:
        """No job waits or runs, and every node may be used."""
        self.run("scancel", "--me", "-Q")
        poll(lambda: not self.queue(), 60, "an empty queue")
        for node in set(self.run("sinfo", "-hN", "-t", "down,drain", "-o", "%N").stdout.split()) - {""}:
            self.run("scontrol", "update", f"nodename={node}", "state=resume")
        poll(lambda: set(self.run("sinfo", "-hN", "-o", "%t").stdout.split()) == {"idle"}, 30, "idle nodes")


class Reference(Commands, Clearing):
    """The real Slurm."""
    name = "slurm"

    def __init__(self, work: pathlib.Path, **options):
        self.work = work
        self.slurm = AccountedSlurm(**options).__enter__()
        self.environment = plain_environment() | {"SLURM_CONF": self.slurm.environment["SLURM_CONF"]}

    def run(self, *command, input=None, cwd=None, env=None, check=None, timeout=60) -> subprocess.CompletedProcess:
        if not self.slurm.namespace:
            return super().run(*command, input=input, cwd=cwd, env=env, check=check, timeout=timeout)
        # With a time limit of its own: what runs in another process namespace does not end with nsenter.
        limit = ("timeout", "--foreground", "-k", "1", str(timeout * PATIENCE))
        words = self.slurm.namespace.words(*limit, *map(str, command), directory=cwd or self.work)
        return super().run(*words, input=input, env=env, check=check, timeout=timeout + 5)

    def close(self) -> None:
        self.run("scancel", "--me", "-Q")
        try:
            poll(lambda: not self.queue(), 20, "the end of all jobs")
        finally:
            for daemon in self.slurm.daemons:  # what they would write down is thrown away
                daemon.kill()
            self.slurm.__exit__(None, None, None)


class Minke(Cluster, Clearing):
    name = "minke"

    def __init__(self, directory: pathlib.Path, work: pathlib.Path, text: str):
        configuration = directory / "minke.toml"
        directory.mkdir(parents=True)
        configuration.write_text(text)
        os.environ["MINKE_CONFIG"] = str(configuration)
        try:
            super().__init__(directory)
        finally:
            del os.environ["MINKE_CONFIG"]
        self.environment["MINKE_CONFIG"] = str(configuration)
        self.work = work


@dataclasses.dataclass
class Answer:
    code: int
    out: str
    err: str


class Pair:
    """Both systems. what(system) is done to each at once; the answers are (Slurm's, Minke's).

    Another machine than the one above: `minke` is its configuration, `slurm` AccountedSlurm's arguments."""

    def __init__(self, directory: pathlib.Path, minke: str = MINKE_CONFIGURATION, slurm: dict | None = None,
                 release: str = "22.05"):
        self.work = directory / "work"
        self.work.mkdir(parents=True)
        self.pool = concurrent.futures.ThreadPoolExecutor(2)
        self.release = release
        slurm = self.pool.submit(Reference, self.work, release=release, **(slurm or {}))
        minke = self.pool.submit(Minke, directory / "minke", self.work, f'{minke}\n[compatibility]\nslurm = "{release}"\n')
        try:
            self.systems = (slurm.result(), minke.result())
        except BaseException:
            for one in (slurm, minke):
                if one.exception() is None:
                    one.result().close()
            self.pool.shutdown()
            raise

    def each(self, what) -> tuple:
        return tuple(future.result() for future in [self.pool.submit(what, system) for system in self.systems])

    def ask(self, *command, **options) -> tuple[Answer, Answer]:
        def run(system):
            done = system.run(*command, **options)
            return Answer(done.returncode, done.stdout, done.stderr)
        return self.each(run)

    def close(self) -> None:
        self.each(lambda system: system.close())
        self.pool.shutdown()
