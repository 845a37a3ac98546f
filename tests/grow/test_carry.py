"""What a one-machine cluster knows, taken into a real Slurm beside it: accounts, usage, the record of ended jobs, and
waiting jobs under their own numbers. Both run at once; what the two show is compared.

Slurm before 24.11 lets nobody submit under a given number: there the waiting jobs stay where they are.
"""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/differential")]

from cluster import SYSTEM_PATH, plain_environment, poll  # noqa: E402
from systems import SLURM_NODES, SLURM_PARTITIONS, AccountedSlurm, Minke, missing_program  # noqa: E402

pytestmark = [pytest.mark.xdist_group("carry"),
              pytest.mark.skipif(os.geteuid() != 0, reason="only root may write into a Slurm's data base"),
              pytest.mark.skipif(missing_program() is not None, reason=f"{missing_program()} is not installed")]

MINKE = """\
cluster_name = "loopback"
first_job_id = 101
kill_wait = 2
[accounting]
enforce = ["associations", "limits", "qos"]
[priority]
type = "multifactor"
weight_fair_share = 10000
weight_age = 1000
[[node]]
name = "n[1-2]"
cpus = 4
memory = "4000M"
gpus = "a100:2"
[[partition]]
name = "main"
nodes = "n[1-2]"
default = true
default_time = "1:00:00"
default_mem_per_cpu = "256M"
[[partition]]
name = "short"
nodes = "n[1-2]"
max_time = "3:00:00"
default_mem_per_cpu = "256M"
"""
ME = pwd.getpwuid(os.geteuid()).pw_name
COLUMNS = ("JobIDRaw,JobID,JobName,User,Account,Partition,State,ExitCode,Submit,Start,End,Elapsed,NNodes,NodeList,"
           "NTasks,MaxRSS,TotalCPU,Timelimit,QOS,Priority,WorkDir,Comment,SubmitLine,ReqMem")


class NewSlurm(AccountedSlurm):
    """With the two partitions, and tokens where its release gives them."""

    def configuration(self) -> str:
        self.directory.chmod(0o755)  # slurmrestd reads it as a user without rights
        (self.directory / "jwt.key").write_bytes(os.urandom(32))
        (self.directory / "jwt.key").chmod(0o600)
        settings = ["AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={self.directory}/jwt.key"] if has_rest() else []
        return super().configuration().replace("FirstJobId=1001", "FirstJobId=2001") + "\n".join(settings) + "\n"


def has_rest() -> bool:
    program = shutil.which("slurmrestd", path=SYSTEM_PATH + ":/usr/sbin")
    if not program:
        return False
    version = subprocess.run([program, "-V"], capture_output=True, text=True).stdout  # scontrol's needs a configuration
    year, month = map(int, re.search(r"(\d+)\.(\d+)", version).groups())
    return year * 100 + month >= 2411


class Move:
    """The old cluster, full of history; the new Slurm; and the program that carries."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        self.snapshot = directory / "snapshot"
        self.work = directory / "work"
        self.work.mkdir(parents=True)
        self.old = Minke(directory / "minke", self.work, MINKE)
        self.new = NewSlurm(SLURM_NODES, SLURM_PARTITIONS, ["PriorityType=priority/multifactor", "PriorityWeightFairshare=10000",
                                                            "PriorityWeightAge=1000"]).__enter__()

    def close(self) -> None:
        self.new.command("scancel", "-Q", "-u", ME)
        for daemon in self.new.daemons:
            daemon.kill()
        subprocess.run(["pkill", "-KILL", "-F", str(self.new.directory / "slurmctld.pid")], capture_output=True)
        self.new.__exit__(None, None, None)
        self.old.close()

    def manage(self, *words: str) -> None:
        self.old.run("sacctmgr", "-Qi", *words, check=0)

    def fill(self) -> None:
        self.manage("add", "qos", "high", "priority=100", "maxwall=1-0", "flags=DenyOnLimit", "grptres=cpu=12,mem=1500M")
        self.manage("modify", "qos", "where", "name=high", "set", "gracetime=90", "usagefactor=1.5", "maxjobspu=7")
        self.manage("add", "account", "physics", "description=all of physics", "organization=science", "fairshare=3",
                    "grptres=cpu=20", "maxjobs=70")
        self.manage("add", "account", "theory", "parent=physics", "qos=normal,high", "defaultqos=high", "maxwall=2-0")
        self.manage("add", "account", "chem", "fairshare=1", "grpsubmitjobs=500")
        self.manage("add", "user", ME, "account=chem,theory", "defaultaccount=chem", "fairshare=5")
        self.manage("add", "user", "nobody", "account=chem", "partition=short", "fairshare=parent", "maxjobs=4")
        self.manage("modify", "user", "where", "name=nobody", "set", "adminlevel=operator")
        self.manage("add", "coordinator", "account=physics", "names=nobody")
        self.manage("add", "user", ME, "wckey=run1,run2")
        self.manage("modify", "user", "where", f"name={ME}", "set", "defaultwckey=run2")
        # What somebody used who is no longer in the account.
        self.manage("add", "account", "left", "fairshare=2")
        self.manage("add", "user", ME, "account=left")
        self.old.run("sbatch", "-W", "-A", "left", "-n4", "--wrap", "sleep 1", check=0)
        self.manage("delete", "user", "where", f"name={ME}", "account=left")
        run = self.old.run
        run("sbatch", "-A", "theory", "-n2", "-J", "steps", "--wrap", "srun -n2 sleep 0.2; srun -n1 hostname", check=0)
        run("sbatch", "-J", "we ird|né", "--comment", "it's; DROP TABLE x", "--wrap", "exit 3", check=0)
        run("sbatch", "--array=1-4%2", "--wrap", "exit $((SLURM_ARRAY_TASK_ID % 2))", check=0)
        killed = self.old.sbatch("--wrap", "sleep 100")
        self.old.wait_state(killed, "RUNNING")
        run("scancel", killed, check=0)
        never = self.old.sbatch("-H", "-J", "never", "--wrap", "true")
        run("scancel", never, check=0)
        poll(lambda: not self.old.queue(), 60, "the end of all jobs")

    def fill_queue(self) -> None:
        """Nothing of it starts."""
        run = self.old.run
        for partition in ("main", "short"):
            run("scontrol", "update", f"partitionname={partition}", "state=down", check=0)
        first = self.old.sbatch("-J", "first", "-n2", "--nice=20", "--wrap", "true")
        array = self.old.sbatch("-J", "array", "--array=3-9:2,20%2", "--wrap", "true")
        run("scontrol", "update", f"jobid={array}_5", "timelimit=7", "comment=alone", check=0)
        self.old.sbatch("-J", "held", "-H", "--wrap", "true")
        admin = self.old.sbatch("-J", "admin", "--wrap", "true")
        run("scontrol", "hold", admin, check=0)
        self.old.sbatch("-J", "dependent", f"--dependency=afterok:{first},singleton", "--wrap", "true")
        self.old.sbatch("-J", "later", "--begin=now+2days", "--wrap", "true")
        self.old.sbatch("-J", "gpu", "--gres=gpu:a100:1", "-t", "30", "--mem=1G", "-o", "o-%j.txt", "--no-requeue", "--wrap", "true")
        self.old.sbatch("-J", "short", "-p", "short", "-A", "theory", "--qos=high", "--comment=ünï", "--wrap", "true")

    def carry(self, *words, check: int | None = 0, **options) -> str:
        environment = self.old.environment | {"SLURM_CONF": self.new.environment["SLURM_CONF"]}
        if words[0] != "take":
            environment["PATH"] = SYSTEM_PATH
        program = pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke"))
        places = [] if words[0] == "take" else [
            "--slurmdbd-conf", self.new.directory / "slurmdbd.conf", "--start-slurmctld",
            f"SLURM_CONF={self.new.directory}/slurm.conf setsid slurmctld -D -i >/dev/null 2>&1 &"]
        done = subprocess.run([program, "carry", words[0], self.snapshot, *words[1:], *map(str, places)], env=environment,
                              capture_output=True, text=True, timeout=300, **options)
        assert check is None or done.returncode == check, done.stdout + done.stderr
        return done.stdout + done.stderr

    def parts(self) -> list[str]:
        return ["accounts", "usage", "record", *(["waiting"] if has_rest() else [])]

    def queue(self, run) -> list[str]:
        return sorted(run("squeue", "-hr", "-o", "%i|%j|%u|%a|%P|%q|%l|%C|%m|%y|%E|%k|%Z|%f").stdout.splitlines())

    def record(self, run) -> list[str]:
        done = run("sacct", "-aDPn", "-S", "2020-01-01", "-E", "now", "-s", "CD,F,CA,TO", f"--format={COLUMNS}")
        return sorted(done.stdout.splitlines())


@pytest.fixture(scope="module")
def move(tmp_path_factory):
    move = Move(tmp_path_factory.mktemp("carry"))
    try:
        move.fill()
        move.fill_queue()
        yield move
    finally:
        move.close()


def test_all_of_it_is_there_afterwards_and_a_second_time_changes_nothing(move):
    assert "loopback" in move.carry("take")
    before_queue, before_record = move.queue(move.old.run), move.record(move.old.run)
    partitions_down = [move.new.command("scontrol", "update", f"partitionname={name}", "state=down")
                       for name in ("main", "short")]
    assert all(done.returncode == 0 for done in partitions_down)
    # Killed at several moments of its work, it goes on from there.
    for seconds in (0.05, 0.15, 0.3, 0.6):
        kill_after(move, seconds)
    first = move.carry("bring", *move.parts())
    again = move.carry("bring", *move.parts())
    assert re.findall(r"(\d+) added, (\d+) changed", again) == [("0", "0")] * len(move.parts()), first + again
    assert move.record(move.new.command) == before_record
    checked = move.carry("check", check=None)
    if has_rest():
        assert move.queue(move.new.command) == before_queue
        shares = {tuple(line.split("|")[:2]): line for line in move.new.command("sshare", "-anPo", "account,user,rawshares,rawusage").stdout.split()}
        assert int(shares["left", "removed-people"].split("|")[3]) >= 3, shares
        assert move.new.command("sacctmgr", "-nP", "show", "user", ME, "format=defaultwckey").stdout == "run2\n"
        assert "all equal: 5 accounts, 2 users" in checked and "8 of 8 waiting jobs" in checked, checked
    else:
        expected = re.compile(r"was waiting, is not there$|^ *job 111_5: was changed on its own; ")
        wrong = [line for line in checked.splitlines() if " was " in line and not expected.search(line)]
        assert wrong == [], checked
        assert len(re.findall(r"job \d+: is not carried: ", move.carry("bring", "waiting", check=3))) == 8


def kill_after(move, seconds: float) -> None:
    environment = move.old.environment | {"SLURM_CONF": move.new.environment["SLURM_CONF"], "PATH": SYSTEM_PATH}
    program = os.environ.get("MINKE", ROOT / "build/minke")
    process = subprocess.Popen(
        [program, "carry", "bring", move.snapshot, *move.parts(), "--slurmdbd-conf", move.new.directory / "slurmdbd.conf",
         "--start-slurmctld", f"SLURM_CONF={move.new.directory}/slurm.conf setsid slurmctld -D -i >/dev/null 2>&1 &"],
        env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.wait()


@pytest.mark.skipif(not has_rest(), reason="Slurm before 24.11 has none of the waiting jobs")
def test_the_way_back_takes_waiting_jobs_out_and_names_those_that_have_begun(move):
    """After the test above, on the same two clusters."""
    began = next(line.split("|")[0] for line in move.queue(move.new.command) if "|first|" in line)
    for name in ("main", "short"):
        move.new.command("scontrol", "update", f"partitionname={name}", "state=up")
    poll(lambda: "COMPLETED" in move.new.command("sacct", "-Xnj", began, "-o", "state").stdout, 60, "the end of the first job")
    back = move.carry("back", check=3)
    listed = re.search(r"scancel(.*)", back).group(1).split()
    assert began in listed, back
    assert move.new.command("squeue", "-h").stdout == ""
    held = next(line.split("|")[0] for line in move.queue(move.old.run) if "|held|" in line)
    assert held not in listed, back
