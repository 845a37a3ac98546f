"""sdiag, sprio, sshare, sstat, sreport: what they print, in Slurm's layout, with numbers that are true."""
import getpass
import json
import re
import time

import pytest

from cluster import Machine, poll

USER = getpass.getuser()
pytestmark = pytest.mark.minke_only

# What prometheus-slurm-exporter reads from sdiag: a line each, "key: value".
SDIAG_KEYS = ["Server thread count", "Agent queue size", "DBD Agent queue size", "Jobs submitted", "Jobs started",
              "Jobs completed", "Jobs canceled", "Jobs failed", "Jobs pending", "Jobs running", "Last cycle", "Max cycle",
              "Total cycles", "Last queue length", "Total backfilled jobs (since last slurm start)",
              "Total backfilled jobs (since last stats cycle start)", "Total backfilled heterogeneous job components",
              "Last depth cycle", "Last depth cycle (try sched)"]


def sdiag(cluster) -> dict[str, int]:
    """The first value of each key."""
    values = {}
    for line in cluster.run("sdiag", check=0).stdout.splitlines():
        key, _, value = line.strip().partition(":")
        if value.strip().isdigit():
            values.setdefault(key, int(value))
    return values


def test_sdiag_counts_jobs(cluster):
    good, bad = cluster.submit("true"), cluster.submit("exit 3")
    cluster.wait_end(good), cluster.wait_end(bad)
    held = cluster.submit("true", "--hold", "--array=0-4")
    gone = cluster.submit("sleep 600")
    cluster.wait_state(gone, "RUNNING")
    values = sdiag(cluster)
    assert [key for key in SDIAG_KEYS if key not in values] == []
    assert {key: values[key] for key in SDIAG_KEYS[3:10]} == {
        "Jobs submitted": 8, "Jobs started": 3, "Jobs completed": 2, "Jobs canceled": 0, "Jobs failed": 0, "Jobs pending": 5,
        "Jobs running": 1}
    cluster.run("scancel", gone, held, check=0)
    cluster.wait_end(gone)
    assert sdiag(cluster)["Jobs canceled"] == 2
    assert sdiag(cluster)["Total cycles"] > 0
    text = cluster.run("sdiag", "--sort-by-id", check=0).stdout
    assert re.search(r"^\tREQUEST_SUBMIT_BATCH_JOB {16}\( 4003\) count:4      ave_time:\d+ +total_time:\d+$", text, re.M)
    assert re.search(rf"^\t{USER:<16}\( {{0,7}}\d+\) count:\d+", text, re.M)
    assert cluster.run("sdiag", "--reset", check=0).stdout == "Reset scheduling statistics\n"
    assert sdiag(cluster)["Jobs submitted"] == 0


def test_sdiag_counts_backfill(cluster):
    holder = cluster.submit("sleep 600", "--nodes=1", "--cpus-per-task=2", "--time=10")
    cluster.wait_state(holder, "RUNNING")
    blocked = cluster.submit("true", "--nodes=2", "--cpus-per-task=2", "--time=1")
    small = cluster.submit("true", "--time=1")
    cluster.wait_state(small, "COMPLETED")
    assert sdiag(cluster)["Total backfilled jobs (since last slurm start)"] == 1
    cluster.run("scancel", holder, blocked, check=0)


def test_sdiag_as_json(cluster):
    cluster.wait_end(cluster.submit("true"))
    statistics = json.loads(cluster.run("sdiag", "--json", check=0).stdout)["statistics"]
    assert statistics["jobs_submitted"] == statistics["jobs_completed"] == 1
    assert statistics["req_time"]["set"] is True
    kinds = {line["message_type"]: line for line in statistics["rpcs_by_message_type"]}
    assert kinds["REQUEST_SUBMIT_BATCH_JOB"]["count"] == 1 and kinds["REQUEST_SUBMIT_BATCH_JOB"]["type_id"] == 4003


def test_sprio(cluster):
    holder = cluster.submit("sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    job = cluster.submit("true")
    cluster.submit("true", "--hold")
    priority = cluster.job(job)["Priority"]
    assert cluster.run("sprio", check=0).stdout.splitlines() == [
        "          JOBID PARTITION   PRIORITY       SITE", f"{job:>15} main      {priority:>10}          0"]
    assert cluster.run("sprio", "-l", check=0).stdout.splitlines()[0] == (
        "          JOBID PARTITION     USER  ACCOUNT   PRIORITY       SITE        AGE      ASSOC  FAIRSHARE    JOBSIZE  PARTITION "
        "   QOSNAME        QOS        NICE                 TRES")
    assert cluster.run("sprio", "-h", "-o", "%i|%Y|%y|%N|%u", check=0).stdout == (
        f"{job}|{priority}|{int(priority) / (2**32 - 1):.14f}|0|{USER}\n")
    assert cluster.run("sprio", "-w", check=0).stdout.splitlines()[1].split() == ["Weights", "1"]
    assert cluster.run("sprio", "-h", "-j", "99999", check=0).stdout == ""
    assert cluster.run("sprio", "-h", "-j", job, check=0).stdout.split()[0] == str(job)
    assert cluster.run("sprio", "-o", "%i %~", check=0).stderr == "sprio: error: Invalid job format specification: ~\n"
    cluster.run("scancel", holder, check=0)


def test_sshare(cluster):
    job = cluster.submit("sleep 2", "--cpus-per-task=2")
    cluster.wait_end(job)
    used = int(cluster.sacct("-X", "-j", job, format="CPUTimeRAW")[0][0])
    assert used >= 4
    lines = cluster.run("sshare", check=0).stdout.splitlines()
    assert lines[:2] == ["Account                    User  RawShares  NormShares    RawUsage  EffectvUsage  FairShare ",
                         "-------------------- ---------- ---------- ----------- ----------- ------------- ---------- "]
    assert lines[2].split() == ["root", "0.000000", lines[2].split()[2], "1.000000"]
    name, user, shares, norm, usage, effective, fair = lines[3].split()
    assert (name, user, shares, norm, effective, fair) == ("root", USER, "1", "1.000000", "1.000000", "1.000000")
    assert used - 1 <= int(usage) <= used + 2
    # The exporter's and snakemake's command lines.
    assert cluster.run("sshare", "-n", "-P", "-o", "account,fairshare", check=0).stdout == "root|\n root|1.000000\n"
    assert cluster.run("sshare", "-U", "--format", "Account%256", "--noheader", check=0).stdout.strip() == "root"
    assert cluster.run("sshare", "-ahlP", check=0).stdout.count("|") == 2 * 10
    shares = json.loads(cluster.run("sshare", "--json", check=0).stdout)["shares"]["shares"]
    assert [one["name"] for one in shares] == ["root", USER]
    assert cluster.run("sshare", "-o", "nosuch").stderr == 'sshare: error: Invalid field requested: "nosuch"\n'


def test_sstat(cluster):
    job = cluster.submit("srun --ntasks=2 /usr/bin/python3 -c 'x = bytearray(60 << 20)\nimport time; time.sleep(60)' & wait",
                         "--ntasks=2", "--nodes=1")
    def step_rows(*options):
        done = cluster.run("sstat", "-n", "-P", *options, f"--jobs={job}", check=0)
        return [line.split("|") for line in done.stdout.splitlines()]
    poll(lambda: [row[0] for row in step_rows("-a", "-o", "JobID")] == [f"{job}.batch", f"{job}.0"])
    def size():
        rows = step_rows("-o", "JobID,NTasks,MaxRSS,AveCPU,Nodelist", "--noconvert")
        return rows and rows[0][0] == f"{job}.0" and rows[0][1] == "2" and int(rows[0][2]) > 60 << 20 and rows
    row, = poll(size)
    assert re.match(r"\d\d:\d\d:\d\d$", row[3]) and row[4] == "n1"
    assert re.match(r"\d+(\.\d+)?K$|\d+(\.\d+)?M$", step_rows("-o", "MaxRSS")[0][0])
    pids = step_rows("-i")[0]
    assert pids[0] == f"{job}.0" and len(pids[2].split(",")) >= 2
    assert len(step_rows("--allsteps", "-o", "JobID")) == 2
    assert step_rows("-o", "JobID", "-j", f"{job}.batch")[-1] == [f"{job}.0"]
    # A job or step that is named twice is asked for once.
    assert len(step_rows("-a", "-o", "JobID", "-j", f"{job},{job}")) == 2
    assert cluster.run("sstat").stderr == "sstat: error: You didn't give me any jobs to stat.\n"
    held = cluster.submit("true", "--hold")
    assert cluster.run("sstat", "-j", held).stderr.startswith(f"sstat: error: No steps running for job {held}")
    assert cluster.run("sstat", "--helpformat", check=0).stdout.split()[:2] == ["AllocTRES", "AveCPU"]
    cluster.run("scancel", job, check=0)


def test_sreport(cluster):
    a = cluster.submit("sleep 2", "--cpus-per-task=2", "--account=def-prof")
    b = cluster.submit("sleep 1")
    cluster.wait_end(a), cluster.wait_end(b)
    window = ("start=now-1hour", "end=now+1hour")
    def report(*words, options=("-n", "-P", "-t", "sec")):
        return [line.split("|") for line in cluster.run("sreport", *options, *words, *window, check=0).stdout.splitlines()]
    rows = report("cluster", "AccountUtilizationByUser", "format=Account,Login,Used")
    assert [row[:2] for row in rows] == [["def-prof", ""], ["def-prof", USER], ["root", ""], ["root", USER]]
    used = {row[0]: int(row[2]) for row in rows}
    told = {name or "root": int(cpus) for name, cpus in cluster.sacct("-X", format="Account,CPUTimeRAW")}
    assert used == told and used["def-prof"] >= 4 and used["root"] >= 1
    assert [row[0] for row in report("user", "top", "format=Login,Account,Used")] == [USER, USER]
    assert report("user", "top", "topcount=1", "format=Account")[0] == ["def-prof"]
    assert report("cluster", "UserUtilizationByAccount", "accounts=root", "format=Account") == [["root"]]
    row, = report("cluster", "utilization")
    assert int(row[1]) == sum(used.values())
    assert int(row[1]) + int(row[4]) + int(row[5]) == int(row[6])
    sizes = report("job", "SizesByAccount", "grouping=1,2", "PrintJobCount")
    assert [row[1:5] for row in sizes] == [["def-prof", "0", "0", "1"], ["root", "0", "1", "0"]]
    tres = report("cluster", "utilization", "format=TresName,Allocated", options=("-n", "-P", "-T", "cpu,node", "-t", "sec"))
    assert [row[0] for row in tres] == ["cpu", "node"]


def test_sreport_layout(cluster):
    day = time.strftime("%Y-%m-%d")
    lines = cluster.run("sreport", "cluster", "utilization", f"start={day}", f"end={day}T01:00:00", check=0).stdout.splitlines()
    assert lines[:6] == [
        "-" * 80, f"Cluster Utilization {day}T00:00:00 - {day}T00:59:59", "Usage reported in CPU Minutes", "-" * 80,
        "  Cluster Allocate     Down PLND Dow     Idle  Planned Reported ",
        "--------- -------- -------- -------- -------- -------- -------- "]
    lines = cluster.run("sreport", "-t", "percent", "user", "TopUsage", check=0).stdout.splitlines()
    assert lines[1].startswith("Top 10 Users ") and lines[1].endswith("T23:59:59 (86400 secs)")
    assert lines[2] == "Usage reported in Percentage of Total"
    assert lines[4] == "  Cluster     Login     Proper Name         Account     Used   Energy "
    assert cluster.run("sreport", "foo").stderr == "invalid keyword: foo\n"
    assert cluster.run("sreport", "cluster", "foo").stderr.startswith("Not valid report foo\nValid cluster reports are, ")
    both = cluster.run("sreport", input="noheader\nparsable2\nuser top\nversion\nexit\n", check=0).stdout
    assert both == "slurm 26.05.5\n"


def test_a_year_of_use(new_cluster):
    cluster = new_cluster("year", Machine(nodes=1, cpus=4, gpus="a100:2"))
    job = cluster.submit("sleep 1", "-n2", "--gpus=1", "-A", "lab")
    cluster.wait_end(job)
    seen = json.loads(cluster.run("minke", "usage", "--json", "--since", "now-30days", check=0).stdout)
    (account,) = seen["accounts"]
    assert account["account"] == "lab" and len(account["users"]) == 1
    used = int(cluster.sacct("-X", "-j", job, format="CPUTimeRAW")[0][0])
    assert used >= 2 and account["core_years"] * 365 * 86400 == pytest.approx(used, abs=2.1)
    assert account["rgu_years"] == pytest.approx(account["core_years"] / 2 * 4)
    assert account["projected_rgu_years"] > account["rgu_years"]
    assert "lab" in cluster.run("minke", "usage", "--since", "now-30days").stdout
    assert cluster.run("minke", "usage", "-A", "other", "--since", "now-30days").stdout.count("nothing was used") == 1
    refused = cluster.run("minke", "usage", "--since", "soon")
    assert refused.returncode == 1 and "minke: error:" in refused.stderr


def test_sshare_tells_what_was_asked_for(cluster):
    assert cluster.run("sshare", "-v").stderr == f"Users requested:\n\t: {USER}\nAccounts requested:\n\t: all\n"
    told = cluster.run("sshare", "-va", "-A", "a,b").stderr
    assert told == "Users requested:\n\t: all\nAccounts requested:\n\t: a\n\t: b\n"


def test_usage_names_options_and_what_follows(cluster):
    """Programs, and people, read the last words of these."""
    for command, end in {"sbatch": " executable [args...]", "salloc": " [command [args...]]", "srun": " executable [args...]",
                         "sbcast": " SOURCE DEST", "sgather": "[-CfFkprtvV] SOURCE DEST", "sdiag": "[-aritT]",
                         "scancel": " [job_id[_array_id][.step_id]]"}.items():
        usage = cluster.run(command, "--usage", check=0).stdout
        assert usage.startswith(f"Usage: {command} [-") and usage.endswith(end + "\n"), command
    told = cluster.run("srun", "--help", check=0).stdout
    assert "-N, --nodes=N " in told and "-q, --qos=qos " in told and "-G, --gpus=n " in told and "--mincpus=n " in told


def test_sacctmgr_usage_is_its_help(cluster):
    assert cluster.run("sacctmgr", "--usage").stdout == cluster.run("sacctmgr", "--help").stdout != ""
