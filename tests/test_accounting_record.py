"""The accounting record over time: taken from another cluster, taken elsewhere, and forgotten after a while."""
import getpass
import gzip
import os
import time

import pytest

from cluster import Machine

pytestmark = pytest.mark.minke_only

USER = getpass.getuser()
FIELDS = ("JobID,JobIDRaw,JobName,User,UID,Group,Account,Partition,QOS,State,ExitCode,DerivedExitCode,Submit,Eligible,"
          "Start,End,"
          "Elapsed,Timelimit,NCPUS,NNodes,NTasks,NodeList,AllocTRES,ReqTRES,UserCPU,SystemCPU,MaxRSS,AveRSS,"
          "MaxDiskRead,AveDiskWrite,WorkDir,SubmitLine,Comment,Priority,Restarts,Layout,Suspended,Constraints")
COLUMNS = ("JobID JobIDRaw JobName User UID Group Account Partition QOS State ExitCode Submit Eligible Start End "
           "Elapsed TimelimitRaw NCPUS NNodes NodeList AllocTRES ReqTRES TotalCPU UserCPU SystemCPU MaxRSS MaxRSSNode "
           "MaxRSSTask AveRSS NTasks SubmitLine").split()


def line(**values):
    return "|".join(str(values.pop(name, "")) for name in COLUMNS)


def job(number, submit, start, end, **values):
    return line(JobID=number, Submit=submit, Eligible=submit, Start=start, End=end, **values)


# As `sacct -a -P` of Slurm 22.05 prints it: a task of an array, a job that never ran, one with a line's end in its
# command, one that runs.
SLURM = "\n".join([
    "|".join(COLUMNS),
    job("100_7", "2026-03-01T10:00:00", "2026-03-01T10:05:00", "2026-03-01T11:05:00", JobIDRaw=101, JobName="sweep",
        User="ann", UID=40001, Account="def-ann", Partition="gpu", QOS="normal", State="COMPLETED", ExitCode="0:0",
        TimelimitRaw=120, NCPUS=4, NNodes=1, NodeList="g7", TotalCPU="01:30:00", UserCPU="01:20:00",
        SystemCPU="10:00.500", AllocTRES="billing=4,cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=8G,node=1"),
    job("100_7.batch", "2026-03-01T10:05:00", "2026-03-01T10:05:00", "2026-03-01T11:05:00", JobIDRaw="101.batch",
        JobName="batch", Account="def-ann", State="COMPLETED", ExitCode="0:0", NCPUS=4, NNodes=1, NodeList="g7",
        AllocTRES="cpu=4,gres/gpu:a100=2,gres/gpu=2,mem=8G,node=1", UserCPU="01:20:00", SystemCPU="10:00.000",
        MaxRSS="2048000K", MaxRSSNode="g7", MaxRSSTask=0, AveRSS="2048000K", NTasks=1),
    job("100_7.0", "2026-03-01T10:06:00", "2026-03-01T10:06:00", "2026-03-01T11:00:00", JobIDRaw="101.0",
        JobName="python", Account="def-ann", State="COMPLETED", ExitCode="0:0", NCPUS=4, NNodes=1, NodeList="g7",
        AllocTRES="cpu=4,mem=8G,node=1", UserCPU="01:00:00", SystemCPU="00:00.000", MaxRSS="1.50G", MaxRSSNode="g7",
        MaxRSSTask=3, AveRSS="1G", NTasks=4, SubmitLine="srun python train.py"),
    job("200", "2026-03-02T10:00:00", "None", "2026-03-02T12:00:00", JobIDRaw=200, User="bob", UID=40002,
        State="CANCELLED by 40002", ExitCode="0:0", TimelimitRaw="UNLIMITED", NCPUS=64, NNodes=4,
        NodeList="None assigned", ReqTRES="billing=64,cpu=64,mem=64G,node=4"),
    job("300", "2026-03-02T10:00:00", "2026-03-02T10:00:00", "2026-03-02T10:00:10", JobIDRaw=300, User="bob",
        State="OUT_OF_MEMORY", ExitCode="0:125", TimelimitRaw=60, NCPUS=1, NNodes=1, NodeList="c1",
        AllocTRES="billing=1,cpu=1,mem=1G,node=1", UserCPU="00:01", SystemCPU="00:00.500",
        SubmitLine="sbatch\ntwo lines"),
    job("400", "2026-03-02T10:00:00", "2026-03-02T10:00:00", "Unknown", JobIDRaw=400, User="bob", State="RUNNING"),
    ""])


def sacct(cluster, *words, fields=FIELDS):
    done = cluster.run("sacct", "-a", "-D", "-n", "-P", "-S", "2020-01-01", "-o", fields, *words, check=0)
    return done.stdout.splitlines()


def take_in(cluster, *files, check=0, **options):
    """Into the record, which no daemon may have open."""
    cluster.run("minke", "down", "--keep-jobs")
    return cluster.run("minke", "accounting", "import", *files, check=check, **options)


@pytest.fixture
def cluster(new_cluster):
    return new_cluster("here", Machine(nodes=1, cpus=4))


def test_what_slurm_printed_is_in_the_record(cluster, tmp_path):
    dump = tmp_path / "dump.txt.gz"
    dump.write_bytes(gzip.compress(SLURM.encode()))
    done = take_in(cluster, dump)
    assert done.stdout == "3 jobs imported\n1 left out: they have not ended\n"
    fields = "JobID,JobIDRaw,User,State,ExitCode,Elapsed,Timelimit,AllocTRES,TotalCPU"
    rows = [row.split("|") for row in sacct(cluster, fields=fields)]
    assert rows == [
        ["100_7", "101", "ann", "COMPLETED", "0:0", "01:00:00", "02:00:00",
         "billing=4,cpu=4,gres/gpu=2,mem=8G,node=1", "01:30:00"],
        ["100_7.batch", "101.batch", "", "COMPLETED", "0:0", "01:00:00", "",
         "cpu=4,gres/gpu=2,mem=8G,node=1", "01:30:00"],
        ["100_7.0", "101.0", "", "COMPLETED", "0:0", "00:54:00", "", "cpu=4,mem=8G,node=1", "01:00:00"],
        ["200", "200", "bob", "CANCELLED by 40002", "0:0", "00:00:00", "UNLIMITED", "", "00:00:00"],
        ["300", "300", "bob", "OUT_OF_MEMORY", "0:125", "00:00:10", "01:00:00", "billing=1,cpu=1,mem=1G,node=1",
         "00:01.500"]]
    assert sacct(cluster, "-j", "101.0", fields="MaxRSS,MaxRSSTask,AveRSS,NTasks,NodeList") == ["1.50G|3|1G|4|g7"]
    assert sacct(cluster, "-X", "-j", "100", fields="Submit,Start") == ["2026-03-01T10:00:00|2026-03-01T10:05:00"]
    refused = cluster.run("minke", "accounting", "import", dump, check=1)
    assert "minke down --keep-jobs first" in refused.stderr
    # Once only, and new jobs come after them.
    again = take_in(cluster, dump)
    assert again.stdout.startswith("0 jobs imported\n3 were here already\n")
    assert cluster.submit("true") == 301
    used = cluster.run("minke", "usage", "--since", "2026-02-01", "-A", "def-ann", check=0).stdout
    assert f"{2 * 4 * 3600 / (365 * 86400):.4f}" in used  # two A100s for an hour, of 4 RGU each


def test_another_job_of_that_number_stays(cluster, tmp_path):
    number = cluster.submit("true")
    cluster.wait_end(number)
    dump = tmp_path / "dump.txt"
    dump.write_text("JobID|State|Submit|End|User|JobName\n"
                    f"{number}|FAILED|2021-01-01T00:00:00|2021-01-01T01:00:00|ann|other\n"
                    "7000|FAILED|2021-01-01T00:00:00|2021-01-01T01:00:00|ann|a|b\n"
                    "7001|FAILED|2021-01-01T00:00:00|2021-01-01T01:00:00|ann|c\n")
    done = take_in(cluster, dump, check=1)
    assert done.stdout == ("1 job imported\n1 left out: another job has their number\n"
                           "1 lines left out: they could not be read\n")
    assert "line 3 is left out: it has 7 columns, not 6" in done.stderr
    assert sacct(cluster, "-X", fields="JobID,State") == [f"{number}|COMPLETED", "7001|FAILED"]
    for text, problem in (("JobID|State\n1|FAILED\n", "there is no column Submit"), ("", "is empty"),
                          ("||\n", "first line")):
        dump.write_text(text)
        assert problem in take_in(cluster, dump, check=1).stderr
    assert "No such file" in take_in(cluster, "nowhere", check=1).stderr


def test_from_one_cluster_to_another(cluster, new_cluster, tmp_path):
    """What is exported and imported says the same in every field, pipes and ends of lines in texts included."""
    jobs = [cluster.submit("srun true; exit 3", "--job-name=a|b", "--comment=two\nlines", "--time=5", "-A", "lab"),
            cluster.submit("sleep 0", "--array=1-3", "-c2"), cluster.submit("true", "--hold")]
    cluster.run("scancel", jobs[2], check=0)
    for job in jobs:
        cluster.wait_end(job)
    dump = tmp_path / "all"
    cluster.run("minke", "accounting", "export", dump, check=0)
    there = new_cluster("there", Machine(nodes=1, cpus=4))
    done = take_in(there, "-", input=dump.read_text(), env={"TZ": "Asia/Tokyo"})
    assert done.stdout == "4 jobs imported\n"  # sacct tells nothing of what was never eligible
    assert sacct(there) == sacct(cluster)
    assert len(sacct(there, "-X", fields="JobID")) == 4


def test_what_is_old_is_forgotten(new_cluster, tmp_path):
    cluster = new_cluster("old", Machine(nodes=1, cpus=4))
    recent = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() - 300 * 86400))
    dump = tmp_path / "dump.txt"
    old = "COMPLETED|2020-01-01T00:00:00|2020-01-01T01:00:00|ann"
    dump.write_text("JobID|State|Submit|End|User\n" + "".join(f"{number}|{old}\n" for number in range(1, 2001)) +
                    f"3000|COMPLETED|{recent}|{recent}|ann\n")
    assert take_in(cluster, dump).stdout == "2001 jobs imported\n"
    assert len(sacct(cluster, "-X")) == 2001
    last = cluster.submit("true")
    cluster.wait_end(last)
    refused = cluster.run("minke", "accounting", "purge", "--before", "now-365days", check=1)
    assert "minke down --keep-jobs first" in refused.stderr
    cluster.run("minke", "down", check=0)
    done = cluster.run("minke", "accounting", "purge", "--before", "now-365days", check=0)
    assert done.stdout == "2000 runs of jobs removed\n"
    assert sacct(cluster, "-X", fields="JobID") == ["3000", str(last)]
    assert cluster.submit("true") == last + 1
    assert cluster.run("minke", "accounting", "purge", "--before", "tomorrow").returncode == 1


def test_a_job_that_was_requeued_held_and_cancelled_is_shown_by_its_last_run(new_cluster):
    """What waited held was never eligible. Slurm 22.05 lists the run before it, and by its number the job itself."""
    cluster = new_cluster("one", Machine(nodes=1, cpus=4))
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "requeuehold", job, check=0)
    cluster.wait_state(job, "PENDING")
    cluster.run("scancel", job, check=0)
    def told(*options):
        return cluster.run("sacct", "-X", "-n", "-P", "-o", "JobID,State", *options, check=0).stdout.split("\n")[:-1]
    assert told() == [f"{job}|REQUEUED"]
    assert told("-j", job) == [f"{job}|CANCELLED by {os.getuid()}"]
    assert told("-D") == [f"{job}|REQUEUED"]
