"""Minke's program for somebody on a real Slurm: it finds the cluster, shows what the cluster's own commands show, asks
slurmctld seldom, and leaves Slurm's commands alone. Every command of Slurm's is counted by a wrapper in front of it."""
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import time

import pytest

from cluster import ROOT, SYSTEM_PATH, Commands, LoopbackSlurm, plain_environment, poll
from portal_client import Portal
from portal_figures import FIGURES, Jobs, within
from systems import AccountedSlurm, missing_program

MINKE_ONLY = True
pytestmark = [pytest.mark.xdist_group("on_slurm"),
              pytest.mark.skipif(missing_program() is not None, reason=f"{missing_program()} is not installed")]

COUNTED = ("squeue", "scontrol", "sinfo", "sdiag", "sacct", "sacctmgr", "scancel", "sbatch", "sprio", "sshare", "sstat", "srun", "salloc", "sreport")


class OnSlurm(Commands):
    """A user's shell on the cluster's login node."""

    def __init__(self, directory: pathlib.Path, slurm: AccountedSlurm):
        self.directory, self.slurm = directory, slurm
        self.home, self.work, self.bin, self.count = (directory / name for name in ("home", "work", "bin", "count"))
        for one in (self.home, self.work, self.bin, directory / "run"):
            one.mkdir(mode=0o700)
        for name in COUNTED:
            real = shutil.which(name, path=SYSTEM_PATH)
            if real:
                (self.bin / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.count}"\nexec {real} "$@"\n')
                (self.bin / name).chmod(0o755)
        program = pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke"))
        (directory / "minke").mkdir()
        (directory / "minke/minke").symlink_to(program)
        environment = {name: value for name, value in plain_environment().items() if name != "XDG_STATE_HOME"}
        self.environment = environment | {
            "SLURM_CONF": slurm.environment["SLURM_CONF"], "HOME": str(self.home), "TZ": "UTC",
            "XDG_RUNTIME_DIR": str(directory / "run"), "PATH": f"{self.bin}:{directory}/minke:{SYSTEM_PATH}"}

    def asked(self, command: str = "") -> list[str]:
        lines = self.count.read_text().splitlines() if self.count.exists() else []
        return [line for line in lines if line.startswith(command)]

    def forget(self) -> None:
        """As if the answers' period were over."""
        shutil.rmtree(self.directory / "run/minke-slurm", ignore_errors=True)
        self.count.write_text("")

    def quick(self) -> str:
        """A configuration with the shortest period of answers."""
        (self.directory / "quick.toml").write_text('[cluster]\nengine = "slurm"\nperiod = 5\n')
        return str(self.directory / "quick.toml")

    def has_own_cluster(self) -> bool:
        return any(self.home.rglob("minke.db"))


@pytest.fixture(scope="module")
def slurm():
    with AccountedSlurm() as one:
        user = subprocess.check_output(["id", "-un"], text=True).strip()
        one.command("sacctmgr", "-i", "add", "account", "lab")
        one.command("sacctmgr", "-i", "add", "user", user, "account=lab")
        yield one
        one.command("scancel", "-u", user)


@pytest.fixture
def login(slurm, tmp_path):
    yield OnSlurm(tmp_path, slurm)
    slurm.command("scancel", "-u", subprocess.check_output(["id", "-un"], text=True).strip())
    poll(lambda: not slurm.command("squeue", "-h").stdout.strip(), 60, "an empty queue")


def test_doctor_says_which_cluster_it_is(login):
    done = login.run("minke", "doctor", check=0)
    assert re.search(r"ok +cluster loopback runs Slurm \d+\.\d+", done.stdout), done.stdout
    assert login.slurm.environment["SLURM_CONF"] in done.stdout
    assert "slurmctld answers" in done.stdout and "slurmdbd answers" in done.stdout
    findings = json.loads(login.run("minke", "doctor", "--json", check=0).stdout)["findings"]
    assert all(one["level"] != "problem" for one in findings)
    assert not login.has_own_cluster()


def test_the_queue_is_what_squeue_shows(login):
    first = login.sbatch("-J", "train", "--gres=gpu:1", "-t", "2:00:00", "-c", "2", "--mem=1G", "--wrap", "sleep 600")
    login.sbatch("-J", "odd | name JobState=X", "-t", "30", "-n", "2", "--comment", 'k=v "q"', "--wrap", "sleep 600")
    login.sbatch("-J", "two\nlines", "-t", "30", "--hold", "--wrap", "true")
    login.sbatch("-J", "array", "--array=1-5%1", "-t", "10", "--wrap", "sleep 600")
    login.sbatch("-J", "held", "--hold", "-t", "1-00:00:00", "--wrap", "true")
    login.sbatch("-J", "after", "-d", f"afterok:{first}", "-t", "5", "--wrap", "true")
    login.sbatch("-J", "gpus", "-L", "matlab:1", "-p", "short", "--constraint=fast", "--gpus-per-node=a100:1", "-t", "5", "--wrap", "sleep 600")
    login.sbatch("-J", "later", "--begin=now+2hours", "-t", "5", "--wrap", "true")
    poll(lambda: login.run("squeue", "-h", "-t", "R").stdout.count("\n") >= 4, what="jobs that run")
    login.forget()
    # Reasons change with each pass of the scheduler.
    columns = "%i|%P|%j|%u|%t|%l|%D|%C|%N|%a|%q|%b|%m|%Q"
    # A name does not control the terminal of who looks.
    shown = [sorted(login.run(*command, "-h", "-o", columns, check=0).stdout.replace("two\nlines", "two?lines").split("\n"))
             for command in (("minke", "squeue"), ("squeue",))]
    assert shown[0] == shown[1]
    own = login.run("minke", "sq", check=0).stdout
    assert f" {first} " in own and "JOBID" in own
    one = login.run("minke", "squeue", "-h", "-j", first, "-o", "%i %T %r", check=0).stdout.strip()
    assert one == f"{first} RUNNING None"


def test_a_reason_is_said_in_slurms_own_words(login):
    """Where they are no reason's name, and where this Minke does not know the reason."""
    job, real = login.sbatch("--begin=now+2hours", "-p", "short", "--wrap", "true"), shutil.which("squeue", path=SYSTEM_PATH)
    down = "Nodes required for job are DOWN, DRAINED or reserved for jobs in higher priority partitions"
    for words, told in ((down, "are down, drained, or reserved"), ("NoMoonlight", "It waits because of NoMoonlight.")):
        (login.bin / "squeue").write_text(f"#!/bin/sh\n{real} \"$@\" | sed 's/BeginTime/{words}/g'\n")
        login.forget()
        assert login.run("minke", "squeue", "-h", "-j", job, "-o", "%r|%R", check=0).stdout == f"{words}|({words})\n"
        assert told in login.run("minke", "why", job, check=0).stdout


def test_machine_is_what_sinfo_shows(login):
    shown = [sorted(login.run(*command, "-h", "-N", "-o", "%N|%P|%t|%c|%m|%G|%f|%w", check=0).stdout.splitlines())
             for command in (("minke", "sinfo"), ("sinfo",))]
    assert shown[0] == shown[1]
    listed = [login.run(*command, "-h", "-o", "%P|%a|%l|%D|%N", check=0).stdout.splitlines()
              for command in (("minke", "sinfo"), ("sinfo",))]
    assert sorted(listed[0]) == sorted(listed[1])
    assert "LicenseName=matlab" in login.run("minke", "scontrol", "show", "licenses", check=0).stdout


def agree_on_job(login, portal, job, command):
    """Each figure of a job on its page and in the lists is what Slurm's own command prints of it."""
    wrong = []

    def look():
        login.forget()
        before = Jobs(login)
        rows = {"its page": portal.program(f"/api/v1/jobs/{job}")["job"]} | {
            path: one for path in ("/api/v1/jobs", "/api/v1/jobs/ended", "/api/v1/home") for part in ("jobs", "running", "ended")
            for one in portal.program(path).get(part, []) if one["job_id"] == job}
        after = Jobs(login)
        sides = [(side.queue if command == "squeue" else side.record)[job] for side in (before, after)]
        wrong[:] = [f"{where}: {figure}: {row[figure.partition('.')[2]]!r}, {command} {reader(sides[0])!r}" for where, row in rows.items()
                    for figure, commands in FIGURES.items() if figure.startswith("job.") and (reader := commands.get(command))
                    if not within(row[figure.partition(".")[2]], reader(sides[0]), reader(sides[1]))]
        return len(rows) > 1 and not wrong
    try:
        poll(look, 10)
    except AssertionError:
        assert not wrong, "\n".join(wrong)
        raise


def test_the_portal_shows_and_does_what_the_commands_do(login):
    job = login.sbatch("-J", "train", "-t", "30", "-o", "out", "--wrap", "echo said; exec sleep 600")
    poll(lambda: login.run("squeue", "-h", "-j", job, "-o", "%t").stdout.strip() == "R", what="a start")
    login.forget()
    portal = Portal(login)
    try:
        listed = [one for one in portal.program("/api/v1/jobs")["jobs"] if one["job_id"] == int(job)]
        assert [(one["job_id"], one["name"], one["state"]) for one in listed] == [(int(job), "train", "RUNNING")]
        agree_on_job(login, portal, int(job), "squeue")
        assert portal.program(f"/slurm/v0.0.42/job/{job}")["jobs"][0]["name"] == "train"
        # Slurm 22.05 does not tell where a job writes.
        output = poll(lambda: (told := portal.program(f"/api/v1/jobs/{job}/output"))["text"] + told["problem"])
        assert output in ("said\n", "this cluster does not tell where the job writes")
        # What only its own commands tell: their documents, or words that it has none of this version.
        for page, record in (("/slurm/v0.0.42/diag", "statistics"), ("/slurm/v0.0.42/shares", "shares"), ("/slurmdb/v0.0.42/users", "users")):
            told = portal.program(page, status=None)
            assert told.get(record) or told["errors"][0]["description"], page
        assert login.asked("sdiag --json=v0.0.42") and login.asked("sshare --json=v0.0.42") and login.asked("sacctmgr --json=v0.0.42 show users")
        # slurmdbd hears of a job a little later than who asks slurmctld.
        bars = lambda: {bar["job_id"]: bar["state"] for bar in portal.program("/api/v1/timeline")["bars"]}
        poll(lambda: bars().get(int(job)) == "RUNNING", what="its bar")
        poll(lambda: portal.program("/api/v1/footprint")["jobs"] >= 1, what="its footprint")
        assert sum(kind["jobs"] for kind in portal.program("/api/v1/waits")["kinds"]) >= 1
        portal.program(f"/slurm/v0.0.42/job/{job}", "DELETE")
        poll(lambda: login.run("squeue", "-h", "-j", job, "-o", "%t").stdout.strip() in ("", "CA"), what="its end")
        newest = lambda: portal.program("/api/v1/jobs/ended?limit=1&user=me")["jobs"]
        poll(lambda: [one["job_id"] for one in newest()] == [int(job)], what="its record")
        agree_on_job(login, portal, int(job), "sacct")

        def ended() -> tuple[set[str], set[str]]:
            """The numbers on all pages, and those of the record."""
            pages, query = [], ""
            while not pages or pages[-1]["more"]:
                pages.append(portal.program("/api/v1/jobs/ended?limit=2&user=me" + query))
                query = f"&before={pages[-1]['before']}&before_id={pages[-1]['before_id']}"
            places = [(one["end"], one["job_id"]) for page in pages for one in page["jobs"]]
            assert places == sorted(places, reverse=True) and len(set(places)) == len(places)
            told = [line.split("|") for line in login.run("sacct", "-X", "-n", "-P", "-S", "now-1hour", "-o", "JobIDRaw,End", check=0).stdout.splitlines()]
            return {str(number) for _, number in places}, {number for number, end in told if end != "Unknown"}

        # The record of what the test before this one has cancelled may still be under way.
        poll(lambda: (both := ended())[0] == both[1] and both[0], what="the same jobs on the pages and in the record")
    finally:
        portal.close()


def test_a_hundred_commands_cost_slurmctld_one_query(login):
    login.sbatch("--hold", "--wrap", "true")
    login.forget()
    environment = login.environment
    commands = [login.start("minke", "squeue", "-h", env=environment, stdout=subprocess.DEVNULL) for _ in range(30)]
    assert [command.wait(timeout=600) for command in commands] == [0] * 30
    for _ in range(70):
        login.run("minke", "squeue", "-h", check=0)
    kinds = [line.split(" --format")[0].split(" --Format")[0] for line in login.asked()]
    assert sorted(set(kinds)) == sorted(kinds), kinds
    assert len(login.asked("squeue")) == 1 and len(login.asked("sdiag")) <= 1 and len(login.asked("scontrol")) == 1


def test_why_a_job_waits(login):
    """The forecast is made of what Slurm shows; a hundred questions cost slurmctld one query of each kind."""
    running = login.sbatch("-p", "short", "-N", "2", "--exclusive", "-t", "60", "--wrap", "sleep 600")
    poll(lambda: login.run("squeue", "-h", "-j", running, "-o", "%t").stdout.strip() == "R", what="a start")
    job = login.sbatch("-p", "short", "-N", "1", "-t", "10", "--wrap", "true")
    poll(lambda: login.run("squeue", "-h", "-j", job, "-o", "%r").stdout.strip() in ("Resources", "Priority"), what="a reason")
    login.forget()
    report = login.run("minke", "why", job, check=0).stdout
    assert f"Job {job}" in report and "Expected start: in " in report, report
    assert f"{running} of " in report and "0 of 8 CPUs" in report and "jobs that are not shown" not in report, report
    # At the latest it begins when the time of the other is over: an hour after that one's start.
    told = json.loads(login.run("minke", "why", "--json", job, check=0).stdout)
    ends = int(login.run("squeue", "-h", "-j", running, "-o", "%e", env={"SLURM_TIME_FORMAT": "%s"}).stdout)
    assert abs(told["expected_start_by_time_limits"] - ends) < 120, (told, ends)
    for _ in range(98):
        assert login.run("minke", "why", job, check=0).stdout.startswith(f"Job {job}")
    kinds = [" ".join(line.split()[:5]) if line.startswith("scontrol") else line.split()[0] for line in login.asked()
             if not line.startswith("squeue -h")]
    assert sorted(set(kinds)) == sorted(kinds), kinds
    assert "there is no job 999999" in login.run("minke", "why", "999999").stderr


def test_what_was_changed_through_it_is_seen_at_once(login):
    job = login.sbatch("--hold", "-t", "5", "--wrap", "sleep 600")
    state = lambda: login.run("minke", "squeue", "-h", "-j", job, "-t", "all", "-o", "%T %r", check=0).stdout.strip()
    assert state() == "PENDING JobHeldUser"
    login.run("minke", "scontrol", "release", job, check=0)
    poll(lambda: (login.forget(), state().split()[0] == "RUNNING")[1], what="a start")
    login.run("minke", "scancel", job, check=0)
    poll(lambda: (login.forget(), state().split()[0] == "CANCELLED")[1], what="an end")
    assert "Invalid job id" in login.run("minke", "scontrol", "hold", "999999").stderr


def test_seff_of_an_ended_job(login):
    job = login.sbatch("-t", "5", "-n", "1", "--mem=100", "--wrap", "python3 -c 'sum(range(10**7))'; exit 3")
    poll(lambda: "FAILED" in login.run("sacct", "-n", "-X", "-j", job, "-o", "state").stdout, what="its record")
    report = login.run("minke", "seff", job, check=0).stdout
    assert f"Job ID: {job}\nCluster: loopback\n" in report
    assert "State: FAILED (exit code 3)" in report and "Memory Efficiency:" in report and "of 100.00 MB" in report
    columns = "JobID,JobName,Partition,Account,AllocCPUS,State,ExitCode"
    shown = lambda: [login.run(*command, "-X", "-n", "-P", "-j", job, "-o", columns, check=0).stdout
                     for command in (("minke", "sacct"), ("sacct",))]
    # slurmdbd writes a short job's record twice; the first has neither its name nor its partition.
    poll(lambda: (both := shown())[0] == both[1] and "|main|" in both[1], what="one record in both")
    assert "sum(range" in login.run("minke", "scontrol", "write", "batch_script", job, "-", check=0).stdout


def test_usage_of_a_year_is_told_without_allocations(login):
    job = login.sbatch("-A", "lab", "--wrap", "sleep 1")
    poll(lambda: "COMPLETED" in login.run("sacct", "-n", "-X", "-j", job, "-o", "state").stdout, what="its record")
    used = lambda: json.loads(login.run("minke", "usage", "--json", check=0).stdout)
    # slurmdbd writes a short job's record twice; in between sacct shows it by its number, and in no period.
    poll(lambda: "lab" in [one["account"] for one in used()["accounts"]], what="its use")
    assert used()["allocations"] == []


def test_accounts_and_shares_are_what_sacctmgr_and_sshare_show(login, slurm):
    for words in (("add", "account", "physics", "fairshare=3", "grptres=cpu=10,mem=4G", "description=atoms | light"),
                  ("add", "account", "optics", "parent=physics"),
                  ("add", "user", "daemon", "account=optics", "fairshare=2", "maxjobs=7", "adminlevel=operator"),
                  ("add", "qos", "urgent"), ("modify", "qos", "urgent", "set", "priority=9", "maxwall=60", "gracetime=120")):
        assert slurm.command("sacctmgr", "-i", *words).returncode == 0, words
    login.forget()
    columns = ("-a", "-n", "-P", "-o", "Account,User,RawShares,NormShares,RawUsage")

    def told():
        """slurmctld hears of a change a little later than slurmdbd."""
        found = [line.strip().split("|") for line in login.run("sshare", *columns, check=0).stdout.splitlines()]
        return any(line[:2] == ["optics", "daemon"] for line in found) and {tuple(line[:2]): line[2:] for line in found}
    tree = poll(told, what="the new accounts")
    portal = Portal(login)
    try:
        shares = {(one["account"], one["user"]): one for one in portal.program("/api/v1/shares")["shares"]}
        assert set(shares) == set(tree) and len(tree) >= 7
        for name, (raw_shares, norm_shares, raw_usage) in tree.items():
            # Of root, 22.05 tells neither.
            assert raw_shares in (str(shares[name]["shares"]), "") and norm_shares in (f"{shares[name]['norm_shares']:.6f}", ""), name
            assert shares[name]["raw_usage"] == int(raw_usage), name
        assert shares["optics", "daemon"]["shares"] == 2 and shares["physics", ""]["shares"] == 3 and shares["optics", ""]["depth"] == 2
        limits = portal.program("/api/v1/limits")
        assert any(one["account"] == "physics" and not one["user"] and "cpu=10" in json.dumps(one["settings"]) for one in limits["associations"])
        assert any(one["name"] == "urgent" and "01:00:00" in json.dumps(one["settings"]) for one in limits["qos"])
        asked = len(login.asked("sacctmgr")), len(login.asked("sshare"))
        portal.program("/api/v1/shares")
        assert (len(login.asked("sacctmgr")), len(login.asked("sshare"))) == asked  # within the period
    finally:
        portal.close()


def test_what_happened_to_nodes_is_what_sacctmgr_lists(login, slurm):
    for words in (("state=drain", "reason=fan | <b>"), ("state=resume",)):
        assert slurm.command("scontrol", "update", "nodename=n4", *words).returncode == 0, words
    columns = ("format=NodeName,State,TimeStart,TimeEnd,Reason", "nodes=n4")

    def told():
        """slurmdbd hears of it a little later."""
        lines = login.run("sacctmgr", "-n", "-P", "show", "event", *columns, check=0).stdout.splitlines()
        return [line.split("|", 4) for line in lines if "fan" in line and "Unknown" not in line]
    poll(told, 60, what="the event in slurmdbd")
    portal = Portal(login)
    try:
        event, = [one for one in portal.program("/api/v1/node_events?node=n4")["events"] if "fan" in one["reason"]]
        shown = lambda seconds: time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
        assert [["n4", "DRAIN", shown(event["time"]), shown(event["end"]), event["reason"]]] == told()
        lines = portal.program("/api/v1/log")["lines"]
        assert any(line["what"] == "accounts" and line["to"].startswith("Add Accounts") for line in lines)
        assert any(line["what"] == "node_drain" and line["to"] == "n4" for line in lines)
    finally:
        portal.close()


def test_env_adds_only_what_the_cluster_lacks(login):
    (login.bin / "seff").write_text("#!/bin/sh\necho \"the cluster's own\"\n")
    (login.bin / "seff").chmod(0o755)
    shell = 'eval "$(minke env)"; echo "$MINKE_HOME"; for name in squeue sbatch seff sq sqsub sacct; do command -v $name; done; seff'
    lines = login.run("bash", "-c", shell, check=0).stdout.splitlines()
    assert lines[0] == "" and lines[-1] == "the cluster's own"
    assert lines[1:4] == [str(login.bin / name) for name in ("squeue", "sbatch", "seff")]
    assert lines[6] == str(login.bin / "sacct")
    assert all(line.startswith(str(login.home)) for line in lines[4:6])
    # For good; and Minke's own cluster does not come of it.
    assert ".bashrc" in login.run("minke", "env", "--install", check=0).stdout
    found = login.run("bash", "-ic", "command -v sq squeue; sq -h", check=0).stdout.splitlines()
    assert found[0].startswith(str(login.home)) and found[1] == str(login.bin / "squeue")
    login.run("minke", "env", "--uninstall", check=0)
    assert "minke" not in (login.home / ".bashrc").read_text()
    assert not login.has_own_cluster()


def test_what_slurms_own_programs_do_they_do(login):
    """The same words, streams, environment and exit codes."""
    assert login.run("minke", "srun", "-N", "1", "sh", "-c", "cat; echo $GREETING; exit 3", input="in\n", env={"GREETING": "hello"}).stdout == "in\nhello\n"
    assert login.run("minke", "srun", "-N1", "sh", "-c", "exit 3").returncode == 3
    assert login.run("minke", "salloc", "-Q", "-N1", "sh", "-c", "echo $SLURM_NNODES", check=0).stdout == "1\n"
    for command in (("sshare", "-nP", "-o", "Account,User"), ("sacctmgr", "-nP", "show", "assoc", "format=account,user"),
                    ("sreport", "-nP", "cluster", "utilization", "start=now-1hours"), ("sprio", "-h"), ("sdiag", "--help")):
        own, through = login.run(*command), login.run("minke", *command)
        assert (own.returncode, own.stdout, own.stderr) == (through.returncode, through.stdout, through.stderr), command
    for words in (("show", "topology"), ("show", "assoc_mgr", "flags=users"), ("ping",), ("show", "bogus"), ("bogus",)):
        own, through = login.run("scontrol", *words), login.run("minke", "scontrol", *words)
        assert (own.returncode, own.stdout, own.stderr) == (through.returncode, through.stdout, through.stderr), words
    job = login.sbatch("-t", "5", "-N", "1", "--wrap", "srun sleep 600")
    poll(lambda: f"{job}.0" in login.run("minke", "squeue", "-s", "-h", "-o", "%i", check=0).stdout.split(), what="its step")
    (login.bin / "sprio").unlink()
    done = login.run("minke", "sprio")
    assert done.returncode == 1 and f"own sprio cannot be started: {login.bin}/sprio: No such file" in done.stderr, done.stderr
    assert not login.has_own_cluster()


def test_a_heterogeneous_job_is_submitted_by_slurms_own_sbatch(login):
    script = "#!/bin/sh\n#SBATCH -N1 -t 5\n#SBATCH hetjob\n#SBATCH -N1 -t 5\ntrue\n"
    (login.work / "het.sh").write_text(script)
    for done in (login.run("minke", "sbatch", "--hold", "het.sh", check=0), login.run("minke", "sbatch", "--hold", input=script, check=0)):
        job = done.stdout.split()[-1]
        assert f"{job}+1" in login.run("squeue", "-h", "-o", "%i", check=0).stdout.split(), done.stdout


def test_a_submission_is_the_clusters_own(login):
    (login.work / "job.sh").write_text("#!/bin/bash\n#SBATCH -J named -t 10 -c 2\n#SBATCH --comment='a b'\necho $1-$GREETING-$SLURM_JOB_ID\n")
    job = login.run("minke", "sbatch", "--parsable", "-o", "out.%j", "job.sh", "it's", env={"GREETING": "hello you"}, check=0).stdout.strip()
    shown = login.run("scontrol", "show", "job", job, check=0).stdout
    for part in ("JobName=named", "TimeLimit=00:10:00", "CPUs/Task=2", f"Command={login.work}/job.sh", "Comment=a b minke:"):
        assert part in shown, (part, shown)
    poll(lambda: (login.work / f"out.{job}").exists() and (login.work / f"out.{job}").read_text() == f"it's-hello you-{job}\n", what="its output")
    tasks = login.run("minke", "sbatch", "-a", "1-3%1", "-o", "task.%a", "--wrap", "echo $SLURM_ARRAY_TASK_ID", check=0).stdout.split()[-1]
    assert login.run("minke", "sbatch", "-W", "-d", f"afterok:{tasks}", "-o", "/dev/null", "--wrap", "exit 3", env={"MINKE_CONFIG": login.quick()}).returncode == 3
    assert [(login.work / f"task.{i}").read_text() for i in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    queued = login.run("minke", "sqsub", "-r", "10m", "-o", "sq.out", "-q", "threaded", "-n", "2", "true", check=0).stdout.split()[-1]
    assert "NumCPUs=2" in login.run("scontrol", "show", "job", queued, check=0).stdout
    tested = login.run("minke", "sbatch", "--test-only", "--wrap", "true", check=0).stderr
    assert re.match(r"sbatch: Job \d+ to start at \S+ using 1 processors on nodes \S+ in partition main", tested), tested
    refused = login.run("minke", "sbatch", "-p", "nowhere", "--wrap", "true")
    assert refused.returncode == 1 and "failed: Invalid partition name specified (invalid partition specified: nowhere)" in refused.stderr, refused.stderr


LOST = "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation"


@pytest.mark.parametrize("taken", (True, False))
def test_a_submission_that_was_not_answered_is_looked_for_before_it_is_sent_again(login, taken):
    real = shutil.which("sbatch", path=SYSTEM_PATH)
    first = f'{real} "$@" >/dev/null' if taken else "true"
    (login.bin / "sbatch").write_text(
        f'#!/bin/sh\necho x >>"{login.directory}/tries"\n[ $(wc -l <"{login.directory}/tries") = 1 ] || exec {real} "$@"\n'
        f'{first}\necho "{LOST}" >&2\nexit 1\n')
    job = login.run("minke", "sbatch", "--parsable", "--hold", "-J", "once", "--wrap", "true", check=0).stdout.strip()
    assert login.run("squeue", "-h", "-n", "once", "-o", "%i", check=0).stdout.split() == [job]
    assert len((login.directory / "tries").read_text().split()) == (1 if taken else 2)


def test_a_chain_goes_on_as_the_same_job(login):
    (login.work / "work.sh").write_text("#!/bin/bash\necho part $MINKE_CHAIN_PART\n[ $MINKE_CHAIN_PART = 2 ] || exit 75\n")
    job = login.run("minke", "chain", "--total", "1h", "--each", "10m", "-o", "chain.out", "work.sh", check=0).stdout.split()[3].rstrip(":")
    output = login.work / "chain.out"
    poll(lambda: output.exists() and "the work goes on in part 2" in output.read_text(), 60, "the first part")
    poll(lambda: login.run("squeue", "-h", "-j", job, "-o", "%t").stdout.strip() == "PD", 30, "the requeue")

    def second_part():
        # Slurm holds back what was requeued for two minutes, and says so anew when the first part's node has cleaned up.
        # slurmd refuses what begins in the second in which it ended the first part: the job would have failed.
        eligible = re.search(r"EligibleTime=(\S+)", login.run("scontrol", "show", "job", job).stdout)
        if eligible and eligible[1] > time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 20)):
            login.run("scontrol", "update", f"JobId={job}", "StartTime=now+3")
        return "done in part 2" in output.read_text()
    try:
        poll(second_part, 60, "the second part")
    except AssertionError as error:
        told = "\n".join(login.run(*words.split()).stdout for words in (f"scontrol show job {job}", "squeue", "sinfo -N -l"))
        raise AssertionError(f"{told}\n{output.read_text()}") from error
    assert [line for line in output.read_text().splitlines() if line.startswith("part")] == ["part 1", "part 2"]
    assert not login.has_own_cluster()


def test_top_shows_own_jobs_on_all_nodes(login):
    jobs = [str(login.sbatch("-t", "5", "-n", "1", "--mem=100", "-J", "busy", "--wrap", "timeout 60 sh -c 'while :; do :; done'")) for _ in range(2)]
    def told():
        login.forget()
        return json.loads(login.run("minke", "top", "--json", check=0).stdout)
    poll(lambda: len([job for job in told()["jobs"] if job["memory_kib"] > 0]) == 2, 60, "what they use")
    login.count.write_text("")
    for _ in range(5):
        shown = login.run("minke", "top", "--once", check=0).stdout
    assert "2 jobs running" in shown and all(job in shown for job in jobs) and login.asked() == []


@pytest.mark.skipif(os.getuid() != 0, reason="the poller runs as root")
def test_a_poller_asks_for_all_users(login):
    job = str(login.sbatch("--hold", "--wrap", "true"))
    (login.directory / "long.toml").write_text('[cluster]\nengine = "slurm"\nperiod = 600\n')
    shared = {"MINKE_POLLED": str(login.directory / "polled"), "MINKE_CONFIG": str(login.directory / "long.toml")}
    kinds = ["configuration", "jobs", "licenses", "load", "nodes", "partitions", "reservations"]
    assert login.run("minke", "poll", "--once", env=shared, check=0).stdout.endswith(f": {', '.join(kinds)}\n")
    # Who has asked nothing himself yet.
    login.forget()
    for _ in range(3):
        assert job in login.run("minke", "squeue", "-h", "-o", "%i", env=shared, check=0).stdout.split()
    login.run("minke", "sinfo", env=shared, check=0)
    assert login.asked() == []
    assert "minke poll asks slurmctld for all users" in login.run("minke", "doctor", env=shared, check=0).stdout
    # What he changes himself he sees at once.
    login.run("minke", "scancel", job, env=shared, check=0)
    assert job not in login.run("minke", "squeue", "-h", "-o", "%i", env=shared, check=0).stdout.split()
    # What not all may see is taken away, and everybody asks for himself again.
    real = shutil.which("scontrol", path=SYSTEM_PATH)
    (login.bin / "scontrol").write_text(f'#!/bin/sh\necho "scontrol $*" >>"{login.count}"\n{real} "$@" | sed "s/^PrivateData .*/PrivateData = jobs,usage/"\n')
    directory = next((login.directory / "polled").iterdir())
    (directory / "load").unlink()  # one is asked for anew
    assert "jobs" not in login.run("minke", "poll", "--once", env=shared, check=0).stdout
    assert not (directory / "jobs").exists() and (directory / "nodes").exists()
    login.forget()
    login.run("minke", "squeue", "-h", env=shared, check=0)
    assert login.asked("squeue")
    assert "[Service]" in login.run("minke", "poll", "--print-unit", check=0).stdout


class Agent:
    """minke agent, as on a node; with it, a configuration that asks it."""

    def __init__(self, login: OnSlurm, *options: str):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        configuration = login.directory / "agent.toml"
        configuration.write_text(f'[cluster]\nengine = "slurm"\nperiod = 5\nagent_port = {self.port}\n')
        self.environment = {"MINKE_CONFIG": str(configuration)}
        self.process = login.start("minke", "agent", "--port", str(self.port), "--period", "1", "--munge-socket", f"{login.slurm.directory}/munge.socket",
                                   *options, env=login.environment | self.environment)
        assert self.process.stdout.readline().split()[-1] == str(self.port)

    def __enter__(self) -> "Agent":
        return self

    def __exit__(self, *_) -> None:
        self.process.kill()
        self.process.wait()

    def top(self, login: OnSlurm, *options: str) -> dict:
        login.forget()
        return json.loads(login.run("minke", "top", "--json", *options, env=self.environment, check=0).stdout)


def test_an_agent_measures_the_jobs_of_its_node(login, tmp_path):
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests/fake_nvml.c"], check=True)
    pathlib.Path(f"{library}.gpus").write_text("0 0 GPU-aaaa 81920 NVIDIA A100\n1 1 GPU-bbbb 81920 NVIDIA A100\n"
                                               "use 0 77 1234 100000 0 1400\nuse 1 78 1234 100000 0 1400\n")
    job = login.sbatch("-t", "5", "--gres=gpu:1", "--wrap", "python3 -c 'x = bytes([1]) * (80 << 20)\nwhile True: pass'")
    with Agent(login, "--gpu-library", str(library)) as agent:
        def own() -> dict:
            return next((one for one in agent.top(login)["jobs"] if one["job_id"] == int(job)), {})
        poll(lambda: own().get("cores", 0) > 0.1 and own()["gpus"], 60, "what it uses")
        one = own()
        assert one["processes"] >= 2 and one["memory_kib"] >= 80 << 10 and one["peak_memory_kib"] >= 80 << 10
        assert one["gpus"][0]["utilization"] in (77, 78) and one["gpus"][0]["memory_mib"] == 1234
        assert "notes" not in agent.top(login)
        assert len(next(x for x in agent.top(login, "--series")["jobs"] if x["job_id"] == int(job))["series"]["time"]) >= 2
        assert not login.asked("sstat")
    # Without it, that is said, and Slurm's own sums are shown.
    told = agent.top(login)
    assert "no minke agent answers" in told["notes"][0] and login.asked("sstat"), told
    assert re.search(r" of 1 ", login.run("minke", "top", "--once", env=agent.environment, check=0).stdout)


def test_what_agents_measured_is_known_of_jobs_that_have_ended(login, tmp_path):
    """From the node's agent, and later from what the head's has collected."""
    library = tmp_path / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, ROOT / "tests/fake_nvml.c"], check=True)
    pathlib.Path(f"{library}.gpus").write_text("0 0 GPU-aaaa 81920 NVIDIA A100\n1 1 GPU-bbbb 81920 NVIDIA A100\n"
                                               "use 0 77 1234 100000 0 1400\nuse 1 77 1234 100000 0 1400\n")
    kept = ("--collect", "--directory", str(tmp_path / "kept"), "--collect-period", "1")

    def seff(agent: Agent, job: str) -> str:
        return login.run("minke", "seff", str(job), env=agent.environment, check=0).stdout

    with Agent(login, "--gpu-library", str(library)) as agent:
        job = login.sbatch("-t", "5", "--gres=gpu:1", "--wrap", "python3 -c 'x = bytes([1]) * (90 << 20)\nimport time; time.sleep(3)'")
        poll(lambda: "COMPLETED" in login.slurm.command("sacct", "-nXPj", str(job), "-o", "state").stdout, 60, "its end")
        said = seff(agent, job)
        assert "GPU Efficiency: 77.00% of 1 GPU" in said and "GPU Memory Utilized: 1.21 GB" in said, said
        memory = float(re.search(r"Memory Utilized: ([\d.]+) MB", said)[1])
        assert memory >= 90, said
    # Another one, which measures nothing of it, does not know of it; what has been kept is known.
    with Agent(login, "--gpu-library", str(library), *kept) as agent:
        assert "GPU" not in seff(agent, job)
        job = login.sbatch("-t", "5", "--gres=gpu:2", "--wrap", "sleep 3")
        database = tmp_path / "kept/ended.db"
        # All nodes are at one address here, so that each of them tells of it.
        poll(lambda: sqlite3.connect(database).execute("SELECT count(*) FROM ended WHERE job = ?", (int(job),)).fetchone()[0] > 0, 60, "that it is kept")
    with Agent(login, *kept) as agent:
        assert "GPU Efficiency: 77.00% of 2 GPUs" in seff(agent, job)
    # Without any, Slurm's own record is shown.
    assert "GPU" not in seff(agent, job) and "Job Wall-clock time" in seff(agent, job)


def ask_agent(login: OnSlurm, port: int, text: str, *identity: str) -> str:
    """By hand, as a user may. `text`: {} stands for the agent's nonce."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection, connection.makefile("rw") as lines:
        nonce = lines.readline().split()[2]
        munge = [*identity, "munge", f"--socket={login.slurm.directory}/munge.socket"]
        sealed = subprocess.run(munge, input=text.format(nonce), capture_output=True, text=True, check=True).stdout
        lines.write(sealed)
        lines.flush()
        return lines.readline()


@pytest.mark.skipif(os.getuid() != 0, reason="asks as another user")
def test_an_agent_tells_a_user_of_his_own_jobs_alone(login):
    for one in (login.slurm.directory, login.directory):
        one.chmod(0o711)
    job = login.sbatch("-t", "5", "--wrap", "sleep 600")
    nobody = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")
    with Agent(login) as agent:
        poll(lambda: any(one["job_id"] == int(job) and one["processes"] for one in agent.top(login)["jobs"]), 60, "its job")
        opened = ["unmunge", f"--socket={login.slurm.directory}/munge.socket"]
        answer = ask_agent(login, agent.port, "ask {} mine now", *nobody)
        # Only he can open it.
        assert "unauthorized" in subprocess.run(opened, input=answer, capture_output=True, text=True).stderr.lower()
        his = subprocess.run([*nobody, *opened], input=answer.encode(), capture_output=True).stdout.split(b"answer mine\n")[1]
        roots = subprocess.run(opened, input=ask_agent(login, agent.port, "ask {} mine now").encode(), capture_output=True).stdout.split(b"answer mine\n")[1]
        assert len(his) < 10 < len(roots)
        assert ask_agent(login, agent.port, "ask 0123 mine now").startswith("error no question to this agent")
        # Who says nothing, or too much, keeps nobody from it.
        silent = [socket.create_connection(("127.0.0.1", agent.port)) for _ in range(8)]
        with socket.create_connection(("127.0.0.1", agent.port), timeout=30) as loud:
            loud.sendall(b"x" * 20000)
            assert loud.recv(100).startswith(b"minke-agent 1 ")
        assert any(one["job_id"] == int(job) for one in agent.top(login)["jobs"])
        for one in silent:
            one.close()


def test_one_of_several_clusters_by_its_name(login):
    job = login.sbatch("--hold", "--wrap", "true")
    named = {"MINKE_CLUSTER": "slurm:loopback"}
    assert login.run("minke", "squeue", "-h", "-o", "%i", env=named, check=0).stdout.split() == [str(job)]
    assert login.asked("squeue --clusters=loopback")
    assert login.run("minke", "squeue", "-h", "-o", "%i", env={"SLURM_CLUSTERS": "loopback"}, check=0).stdout.split() == [str(job)]
    assert "MINKE_CLUSTER=slurm:other" in login.run("minke", "squeue", "-M", "other").stderr
    missing = login.run("minke", "squeue", env={"MINKE_CLUSTER": "slurm:nowhere"})
    assert missing.returncode == 1 and "nowhere" in missing.stderr, missing.stderr


def test_another_cluster_is_not_taken_for_this_one(login):
    job = login.sbatch("--hold", "--wrap", "true")
    for command in (("scancel", job), ("scontrol", "release", job), ("scontrol", "show", "job", job), ("sbatch", "--wrap", "true"), ("squeue",), ("sinfo",)):
        done = login.run("minke", command[0], "-M", "other", *command[1:])
        assert done.returncode == 1 and "MINKE_CLUSTER=slurm:other" in done.stderr, (command, done.stdout, done.stderr)
    assert login.run("squeue", "-h", "-o", "%i %r", check=0).stdout.split() == [str(job), "JobHeldUser"]
    login.run("minke", "scancel", "-M", "loopback", job, check=0)
    poll(lambda: login.run("squeue", "-h", "-o", "%i").stdout == "", what="its end")


def test_no_cluster_of_minkes_own_comes_of_a_command(login):
    (login.work / "record").write_text("JobID|State\n")
    for command in (("up",), ("backup", "copy"), ("log",), ("doctor", "--repair"), ("accounting", "export", "out"), ("accounting", "import", "record"),
                    ("accounting", "purge", "--before", "2020-01-01"), ("down",), ("status",)):
        done = login.run("minke", *command)
        assert done.returncode == 1 and ("MINKE_CLUSTER=embedded" in done.stderr or "runs Slurm, not Minke's daemon" in done.stderr), (command, done.stdout, done.stderr)
    assert not login.has_own_cluster() and not (login.work / "out").exists()


def test_a_task_that_waits_has_a_number_of_its_own(login):
    job = login.sbatch("--array=1-9", "--hold", "-t", "5", "--wrap", "true")
    for command in (("squeue", "-h", "-j", f"{job}_5", "-o", "%i %T %K"), ("squeue", "-h", "-j", job, "-o", "%i")):
        shown = [sorted(login.run(*words, *command, check=0).stdout.splitlines()) for words in ((), ("minke",))]
        assert shown[0] == shown[1] != [], command
    assert f"ArrayJobId={job} ArrayTaskId=5 " in login.run("minke", "scontrol", "-o", "show", "job", f"{job}_5", check=0).stdout
    assert login.run("minke", "why", f"{job}_5", check=0).stdout.startswith(f"Job {job}_5 ")
    assert "Invalid job id" in login.run("minke", "squeue", "-j", "999999_1").stderr


def test_a_short_path_does_not_hide_the_cluster(login):
    """As in a crontab: the program by its path, and almost no environment."""
    job = login.sbatch("--hold", "--wrap", "true")
    for path in ([], ["PATH=/nowhere"]):
        shown = login.run("env", "-i", f"SLURM_CONF={login.environment['SLURM_CONF']}", f"HOME={login.home}", *path, login.directory / "minke/minke", "squeue", "-h", "-o", "%i", check=0).stdout
        assert shown.split() == [str(job)]
    assert not login.has_own_cluster()


def test_what_a_failed_job_wrote_is_named_and_its_script_is_asked_for_once(login):
    job = login.sbatch("-t", "5", "-o", "named.%j", "--wrap", "no-such-program")
    # slurmdbd writes a short job's record twice, the name of its script at last.
    poll(lambda: login.run("sacct", "-n", "-X", "-P", "-j", job, "-o", "state,jobname").stdout == "FAILED|wrap\n", what="its record")
    login.forget()
    report = login.run("minke", "why", job, check=0).stdout
    assert "exit code 127" in report and ("says more" not in report or f"says more: {login.work}/named.{job}\n" in report), report
    for _ in range(9):
        assert login.run("minke", "why", job, check=0).stdout == report
    assert len(login.asked("scontrol write batch_script")) == 1 and len(login.asked("squeue")) == 1, login.asked()


def test_jobs_that_have_ended_hold_nothing_of_older_nodes(login):
    """Each kind of answer has its own age."""
    running = login.sbatch("-p", "short", "-N", "2", "--exclusive", "-t", "60", "--wrap", "sleep 600")
    poll(lambda: login.run("squeue", "-h", "-j", running, "-o", "%t").stdout.strip() == "R", what="a start")
    login.forget()
    login.run("minke", "sinfo", check=0)
    login.run("scancel", running, check=0)
    poll(lambda: login.run("squeue", "-h").stdout == "", what="its end")
    waits = login.sbatch("-p", "short", "--begin=now+1hour", "-t", "5", "--wrap", "true")
    report = login.run("minke", "why", waits, check=0).stdout
    assert "Expected start: in about 1 h" in report and "not shown" not in report, report


def test_a_newer_slurm_is_read_as_text_with_a_note(login):
    real = shutil.which("scontrol", path=SYSTEM_PATH)
    (login.bin / "scontrol").write_text(f'#!/bin/sh\n{real} "$@" | sed "s/^SLURM_VERSION .*/SLURM_VERSION = 31.05.0/"\n')
    job = login.sbatch("--hold", "--wrap", "true")
    assert "Slurm 31.05.0 is newer than what this Minke knows" in login.run("minke", "doctor", check=0).stdout
    assert login.run("minke", "squeue", "-h", "-o", "%i", check=0).stdout.split() == [str(job)]
    assert "Slurm 31.05.0 is newer" in login.run("minke", "why", "--json", job, check=0).stdout
    assert not [line for line in login.asked("squeue") if "--json" in line]


def test_a_simulation_of_what_the_cluster_has_run(login):
    job = login.sbatch("-t", "5", "-n", "2", "--wrap", "sleep 1")
    poll(lambda: "COMPLETED" in login.run("sacct", "-n", "-X", "-j", job, "-o", "state").stdout, what="its record")
    told = json.loads(login.run("minke", "simulate", "cluster", "--json", "--policy", "fcfs,easy", check=0).stdout)
    assert told["processors"] == 24 and told["jobs"] >= 1 and [one["policy"] for one in told["policies"]] == ["fcfs", "easy"]
    done = login.run("minke", "simulate", "cluster", "--since", "now-1second")
    assert done.returncode == 1 and "--since" in done.stderr


def test_a_sweep_whose_process_is_killed_goes_on_and_runs_no_trial_twice(login):
    """`minke sweep` dies before it knows that its first job was taken, and again while trials train. One goes on after exit code 75."""
    sbatch, real = login.bin / "sbatch", shutil.which("sbatch", path=SYSTEM_PATH)
    counted = sbatch.read_text()
    sbatch.write_text(f'#!/bin/sh\necho "sbatch $*" >>"{login.count}"\n{real} "$@"\nkill -9 $PPID\n')
    (login.work / "train.py").write_text("""import os, sys, time
trial, checkpoint = os.environ["MINKE_TRIAL"], os.environ["MINKE_CHECKPOINT_DIR"] + "/epoch"
done = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0
with open("ran.txt", "a") as file:
    print(trial, os.environ["SLURM_JOB_ID"], done, file=file)
with open(os.environ["MINKE_TRIAL_DIR"] + "/log.csv", "a", buffering=1) as file:
    if not done:
        print("epoch,loss", file=file)
    for epoch in range(done + 1, 5):
        print(f"{epoch},{1 / epoch}", file=file)
        open(checkpoint, "w").write(str(epoch))
        if trial == "2" and epoch == 2:
            sys.exit(75)
        while trial == "3" and not os.path.exists("go-on"):
            time.sleep(0.1)
""")
    (login.work / "s.yaml").write_text("program: train.py\nmethod: bayes\nmetric: {name: loss}\nrun_cap: 4\nparameters: {lr: {min: 0.0, max: 1.0}}\n")
    quick = {"MINKE_CONFIG": login.quick()}
    ran = lambda: [line.split() for line in (login.work / "ran.txt").read_text().splitlines()] if (login.work / "ran.txt").exists() else []
    command = ("run", "s.yaml", "-j", "3", "--sbatch=--time=5", "--sbatch=--mem=50")
    began = time.monotonic()
    assert login.run("minke", "sweep", *command, env=quick).returncode == -signal.SIGKILL and len(login.asked("sbatch")) == 1
    sbatch.write_text(counted)
    process = login.start("minke", "sweep", "resume", "s", env=login.environment | quick)
    poll(lambda: process.poll() is not None or len({trial for trial, _, _ in ran()}) >= 3, 60, "three trials")
    assert process.poll() is None, process.communicate()
    process.kill()
    process.communicate()
    (login.work / "go-on").touch()
    said = login.run("minke", "sweep", "resume", "s", env=quick, check=0, timeout=300).stdout
    assert "ended as FAILED, and goes on" in said and "loss 0.25" in said
    found = json.loads(login.run("minke", "sweep", "status", "s", "--json", env=quick, check=0).stdout)["trials"]
    assert [(one["state"], one["value"], len(one["jobs"])) for one in found] == [("COMPLETED", 0.25, 1 + (one["trial"] == 2)) for one in found]
    assert sorted((trial, done) for trial, _, done in ran()) == [("1", "0"), ("2", "0"), ("2", "2"), ("3", "0"), ("4", "0")]
    assert sorted(int(job) for _, job, _ in ran()) == sorted(job for one in found for job in one["jobs"])
    # One question for all of its trials, and again only after the period of answers.
    assert len(login.asked("sbatch")) == 5 and len(login.asked("squeue")) <= 8 + (time.monotonic() - began) / 5, login.asked()
    assert not login.has_own_cluster()


def test_the_examples_of_the_page(login):
    """docs/slurm.md, with this cluster's names and numbers in place of those on the page."""
    page = (ROOT / "docs/slurm.md").read_text().split("## Minke on your Slurm cluster")[1]
    example = re.search(r"^```console skip needs-a-slurm-cluster\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]
    job = login.sbatch("-J", "train", "--gres=gpu:1", "-t", "2:00:00", "-c", "2", "--mem=1G", "--wrap", "sleep 600")
    poll(lambda: login.run("squeue", "-h", "-j", job, "-o", "%t").stdout.strip() == "R", what="a start")
    poll(lambda: login.run("sacct", "-n", "-X", "-j", job, "-o", "state").stdout.strip() == "RUNNING", what="its record")
    (login.home / "bin").mkdir()
    (login.home / "bin/minke").symlink_to(pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke")))
    script = "".join(f"{line[2:]}\n" for line in example.splitlines() if line.startswith("$ ")).replace("4711", str(job))
    shown = login.run("bash", "-e", input=script, check=0).stdout
    for line in example.splitlines():
        if line.startswith("$ ") or line == "…":
            continue
        words = [r"\S+" if re.search(r"[\d/]", word) or word in ("campus", "ann", "physics", "train") else re.escape(word) for word in line.split()]
        assert re.search(r"^\s*" + r"\s+".join(words) + r"\s*$", shown, re.MULTILINE), (line, shown)


def test_minkes_own_cluster_stays_what_it_was(login, new_cluster):
    done = login.run("minke", "squeue", env={"MINKE_CLUSTER": "mainframe"})
    assert done.returncode == 1 and "embedded, slurm" in done.stderr
    own = new_cluster("own")
    assert own.run("squeue", "-h", env={"SLURM_CONF": login.environment["SLURM_CONF"]}, check=0).stdout == ""
    assert own.pid() is not None
    # Somebody's own, without any variable, goes on although a Slurm is there.
    environment = login.environment | {"MINKE_HOME": str(login.home / ".local/state/minke")}
    login.run("minke", "up", env=environment, check=0)
    try:
        login.count.write_text("")
        assert "daemon pid" in login.run("minke", "doctor").stdout
        assert login.run("minke", "squeue", "-h", check=0).stdout == "" and login.asked() == []
        assert "runs Slurm" in login.run("minke", "doctor", env={"MINKE_CLUSTER": "slurm"}).stdout
        (login.home / "choice.toml").write_text('[cluster]\nengine = "slurm"\n')
        assert "runs Slurm" in login.run("minke", "doctor", env={"MINKE_CONFIG": str(login.home / "choice.toml")}).stdout
        # Who names a slurmrestd means Slurm; that it does not answer is no harm.
        (login.home / "rest.toml").write_text('[cluster]\nrest = "/nowhere/socket"\n')
        assert "queue comes from squeue" in login.run("minke", "doctor", env={"MINKE_CONFIG": str(login.home / "rest.toml")}).stdout
    finally:
        login.run("minke", "down", "--cancel-jobs", env=environment)


def test_a_dead_slurmctld_is_named(login):
    conf = login.directory / "slurm.conf"
    text = pathlib.Path(login.environment["SLURM_CONF"]).read_text()
    conf.write_text(re.sub(r"SlurmctldPort=\d+", "SlurmctldPort=1", text) + "MessageTimeout=5\n")
    for name in ("cgroup.conf", "gres.conf"):
        shutil.copy(pathlib.Path(login.environment["SLURM_CONF"]).parent / name, login.directory)
    silent = {"SLURM_CONF": str(conf)}
    done = login.run("minke", "squeue", env=silent)
    assert done.returncode == 1 and "slurmctld does not answer" in done.stderr, done.stderr
    assert "slurmctld does not answer" in login.run("minke", "doctor", env=silent).stdout
    # What was not sent is in no doubt.
    refused = login.run("minke", "sbatch", "--wrap", "true", env=silent)
    assert refused.returncode == 1 and "slurmctld does not answer" in refused.stderr and "is not known" not in refused.stderr, refused.stderr
    # It was not asked again at once.
    before = len(login.asked())
    assert "slurmctld does not answer" in login.run("minke", "squeue", env=silent).stderr
    assert len(login.asked()) <= before + 1
    assert not login.has_own_cluster()


def test_slurmctld_dies_while_it_is_asked(login):
    """The command ends with the culprit's name; afterwards everything is as before."""
    job = login.sbatch("-t", "5", "-o", "/dev/null", "--wrap", "true")
    poll(lambda: "COMPLETED" in login.run("sacct", "-n", "-X", "-j", job, "-o", "state").stdout, 60, "its record")
    conf = login.directory / "slurm.conf"
    conf.write_text(pathlib.Path(login.environment["SLURM_CONF"]).read_text() + "MessageTimeout=5\n")
    for name in ("cgroup.conf", "gres.conf"):
        shutil.copy(pathlib.Path(login.environment["SLURM_CONF"]).parent / name, login.directory)
    daemon = next(one for one in login.slurm.daemons if "slurmctld" in one.args[0])
    os.kill(daemon.pid, signal.SIGSTOP)
    asking = login.start("minke", "squeue", env=login.environment | {"SLURM_CONF": str(conf)}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    poll(lambda: login.asked("scontrol"), what="a question")
    daemon.kill()
    daemon.wait()
    login.slurm.daemons.remove(daemon)
    try:
        error = asking.communicate(timeout=90)[1]
        assert asking.returncode == 1 and "slurmctld does not answer" in error, error
        # What does not need it goes on.
        assert login.run("minke", "sacct", "-n", "-X", "-o", "JobID").returncode == 0
        assert "Cluster: loopback\n" in login.run("minke", "seff", job, env={"SLURM_CONF": str(conf)}, check=0).stdout
    finally:
        LoopbackSlurm.start_daemon(login.slurm, "slurmctld", "-D")
        poll(lambda: "is UP" in login.slurm.command("scontrol", "ping").stdout, 60, "slurmctld")
    login.forget()
    assert login.run("minke", "squeue", "-h", "-o", "%i", check=0).stdout == login.run("squeue", "-h", "-o", "%i", check=0).stdout


def test_slurmdbd_dies_and_what_does_not_need_it_goes_on(login):
    running = login.sbatch("-p", "short", "-N", "2", "--exclusive", "-t", "60", "--wrap", "sleep 600")
    poll(lambda: login.run("squeue", "-h", "-j", running, "-o", "%t").stdout.strip() == "R", what="a start")
    ended = login.sbatch("-t", "5", "-o", "/dev/null", "--wrap", "exit 3")
    poll(lambda: "FAILED" in login.run("scontrol", "show", "job", ended).stdout, what="an end")
    job = login.sbatch("-p", "short", "-t", "10", "--wrap", "true")
    daemon = next(one for one in login.slurm.daemons if "slurmdbd" in one.args[0])
    daemon.kill()
    daemon.wait()
    login.slurm.daemons.remove(daemon)
    try:
        # What slurmctld still has of a job that has ended it tells.
        assert f"Job {ended} (wrap) of " in login.run("minke", "why", ended, check=0).stdout
        for command in (("seff", job), ("sacct",), ("simulate", "cluster"), ("why", "999999")):
            done = login.run("minke", *command)
            assert done.returncode == 1 and "slurmdbd, which keeps the accounting, does not answer" in done.stderr, done.stderr
        assert str(job) in login.run("minke", "squeue", "-h", "-o", "%i", check=0).stdout.split()
        report = login.run("minke", "why", job, check=0).stdout
        assert "Expected start: " in report and "how long your jobs have run: slurmdbd" in report, report
        assert "slurmdbd, which keeps the accounting, does not answer" in login.run("minke", "doctor", check=0).stdout
    finally:
        LoopbackSlurm.start_daemon(login.slurm, "slurmdbd", "-D")
        poll(lambda: login.slurm.command("sacctmgr", "-n", "show", "cluster").returncode == 0, 60, "slurmdbd")


def questions(login: OnSlurm) -> dict[str, int]:
    """How often slurmctld was asked for jobs, nodes and partitions, as it counts itself."""
    told = re.findall(r"^\s*(REQUEST_\w*INFO\w*) .*?count:(\d+)", login.slurm.command("sdiag").stdout, re.M)
    return {kind: int(count) for kind, count in told if re.search("JOB|NODE|PARTITION", kind) and "STEP" not in kind}


def test_a_farm_runs_in_slurms_jobs(login):
    """Two jobs, one of which loses its worker; slurmctld is asked once in 30 s, however many cases there are."""
    (login.work / "cases").write_text("echo began >> first; [ $(wc -l < first) -gt 1 ] || kill -9 $PPID\n" + "sleep 0.02; echo $SLURM_JOB_ID >> ran\n" * 600)
    before, began = questions(login), time.monotonic()
    done = login.run("minke", "farm", "run", "cases", "--jobs=2", "--at-once=2", "-c1", "-t5", "--mem=100", timeout=100)
    asked = {kind: count - before.get(kind, 0) for kind, count in questions(login).items()}
    took = time.monotonic() - began
    assert (done.returncode, done.stdout) == (0, "601 cases: 601 ok, 0 failed\n"), done.stderr
    assert len((login.work / "ran").read_text().split()) == 600 and (login.work / "first").read_text() == "began\n" * 2
    # squeue and scontrol show node ask for the partitions, too.
    once = {"REQUEST_PARTITION_INFO": 3}
    assert all(count <= once.get(kind, 1) * (1 + took // 30) for kind, count in asked.items()), (asked, took)
    rows = login.run("minke", "farm", "result", check=0).stdout.splitlines()
    assert len(rows) == 602 and rows[1].startswith("1,ok,exit code 0,2,")
    login.forget()
    for _ in range(5):
        assert "ok        601" in login.run("minke", "farm", "status", check=0).stdout
    assert login.asked() == []  # a status is read from the farm's own files
    assert not login.has_own_cluster()


def test_a_meta_farm_runs_in_slurms_jobs(login):
    """With -auto, and a case that never leaves a status."""
    shell = lambda words: login.run("bash", "-c", f'eval "$(minke env)"; cd {login.work}; {words}', check=0).stdout
    assert shell("farm_init.run farm") == "Success!\n"
    farm = login.work / "farm"
    for script in ("job_script.sh", "resubmit_script.sh"):
        text = (farm / script).read_text()
        (farm / script).write_text(text.replace("#SBATCH -A Your_account_name\n", "").replace("--mem=4G", "--mem=100M"))
    (farm / "config.h").write_text((farm / "config.h").read_text().replace("dt_failed=5", "dt_failed=0"))
    (farm / "table.dat").write_text("true\n" * 20 + "exit 3\n")
    assert "Submitting 21 cases from table.dat as 2 jobs using META mode" in shell("cd farm; submit.run 2 -auto")
    poll(lambda: (farm / "farm.log").exists() and "Only failed cases left" in (farm / "farm.log").read_text(), 60, "the end of the farm")
    assert shell("cd farm; Status.run").splitlines() == [f"{i} 0" for i in range(1, 21)]
    assert "Processed cases, globally: 21/21" in shell("cd farm; query.run")
