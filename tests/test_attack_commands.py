"""Every command with what is another's, and with numbers and words beyond all bounds: by a user who has no rights."""
import re
import subprocess

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]


@pytest.fixture(scope="module")
def hers(shared):
    """What alice has: a job that runs with a step, one that waits, and an array."""
    running = shared.alice.submit("trap '' TERM; srun sleep 1000", "--comment=hers", "--time=60", "--no-requeue")
    held = shared.alice.submit("true", "--hold", "--comment=hers", "--time=60")
    array = shared.alice.submit("true", "--hold", "--comment=hers", "--array=1-5", "--time=60")
    shared.alice.wait_state(running, "RUNNING")
    poll(lambda: f"{running}.0" in shared.alice.run("squeue", "-h", "-s", "-j", running, "-o", "%i").stdout)
    yield {"running": running, "held": held, "array": array}
    shared.alice.run("scancel", "-f", running, held, array)


def picture(shared, hers) -> list:
    """All that scontrol says of them, but for the times that pass."""
    return [{name: value for name, value in fields.items() if name not in ("RunTime", "LastSchedEval", "Priority", "StartTime", "EndTime")}
            for job in hers.values() for fields in shared.alice.jobs(job)]


# Every field that scontrol changes, as a user would take what is another's, or hurt him.
FIELDS = ["Nice=100", "Priority=1", "Partition=main", "QOS=normal", "Account=none", "NumNodes=2", "NumCPUs=4", "NumTasks=4",
          "MinMemoryNode=1", "MinMemoryCPU=1", "Dependency=singleton", "StartTime=now+1day", "EndTime=now", "EndTime=now+1minute",
          "JobName=mine", "Requeue=1", "MailUser=root", "MailType=ALL", "StdOut=/tmp/mine", "StdErr=/tmp/mine", "StdIn=/etc/passwd",
          "WorkDir=/tmp", "UserID=0", "UserID={bob}", "ReqNodeList=n2", "ExcNodeList=n1", "ArrayTaskThrottle=1", "Licenses=x:1",
          "Deadline=now+1minute", "ReservationName=mine", "Features=x", "Gres=gpu:1", "OverSubscribe=YES", "TimeLimit=1", "TimeMin=1",
          "Comment=mine", "AdminComment=mine", "SystemComment=mine", "ExtraInfo=mine", "WCKey=mine", "Contiguous=1", "CoreSpec=1",
          "BurstBuffer=x", "ClusterFeatures=x", "DelayBoot=1", "Switches=1", "Shared=YES", "TasksPerNode=1", "SiteFactor=1",
          "SuspendTime=1", "ResetAccruetime", "Name=mine", "Command=/bin/id", "EligibleTime=now"]


@pytest.mark.parametrize("field", FIELDS)
def test_no_field_of_anothers_job_is_changed(shared, hers, field):
    before = picture(shared, hers)
    for job in (*hers.values(), f"{hers['array']}_2", f"{hers['running']}.0"):
        done = shared.bob.run("scontrol", "update", f"JobId={job}", field.format(bob=shared.bob.name))
        assert done.returncode != 0, (job, done.stdout, done.stderr)
    assert picture(shared, hers) == before


# Each in every way in which a job can be named.
NAMED = ["scancel {}", "scancel -s KILL {}", "scancel -s STOP {}", "scancel -s USR1 -b {}", "scancel --full -s TERM {}", "scancel -H {}", "scancel -n job.sh {}",
         "scontrol hold {}", "scontrol uhold {}", "scontrol release {}", "scontrol requeue {}", "scontrol requeuehold {}",
         "scontrol suspend {}", "scontrol resume {}", "scontrol notify {} x", "scontrol top {}", "scontrol write batch_script {} -",
         "scontrol listpids {}", "scontrol requeue Incomplete {}", "scontrol requeue State=SpecialExit {}",
         "srun --overlap --jobid={} id -un", "sattach {}.0", "sbcast -f -j {} /etc/hostname {work}/sent", "sstat -j {}"]
FORMS = {"an array": "array", "a task": "{array}_2", "tasks": "{array}_[1-3]", "a step": "{running}.0", "the batch step": "{running}.batch",
         "many at once": "{held},{array},{running}", "the extern step": "{running}.extern"}


@pytest.mark.parametrize("command", NAMED)
def test_no_way_to_name_a_job_gives_rights_to_it(shared, hers, command):
    before = picture(shared, hers)
    for form in FORMS.values():
        job = str(hers[form]) if form in hers else form.format(**hers)
        done = shared.bob.run("bash", "-c", command.replace("{}", job).format(work=shared.bob.work), timeout=30)
        assert f"{shared.alice.name}\n" not in done.stdout and "sleep 1000" not in done.stdout, (job, done.stdout)
    assert picture(shared, hers) == before
    steps = shared.alice.run("squeue", "-h", "-s", "-j", hers["running"], "-o", "%i").stdout
    assert f"{hers['running']}.0" in steps


# Whole queues, in the words in which others' jobs are chosen.
CHOSEN = ["scancel -u {alice}", "scancel -u root", "scancel -t PENDING", "scancel -t RUNNING", "scancel -p main", "scancel -w n1", "scancel -w n2",
          "scancel -n job.sh", "scancel -A none", "scancel -q normal", "scancel --me", "scancel -u {bob},{alice}", "scancel -R none",
          "scontrol hold jobname=job.sh", "scontrol release jobname=job.sh", "scontrol hold name=job.sh", "scancel -s KILL -u {alice}", "scancel --ctld -u {alice}"]


@pytest.mark.parametrize("command", CHOSEN)
def test_a_choice_of_jobs_is_of_ones_own(shared, hers, command):
    before = picture(shared, hers)
    shared.bob.run(*command.format(alice=shared.alice.name, bob=shared.bob.name).split(), input="y\ny\ny\n")
    assert picture(shared, hers) == before


# What is administrators' and operators': refused, and nothing of it done.
FORBIDDEN = [
    "sacctmgr -i add user {bob} account=root adminlevel=administrator", "sacctmgr -i add qos mine", "sacctmgr -i add cluster mine",
    "sacctmgr -i modify qos normal set priority=1000", "sacctmgr -i modify account root set fairshare=1000", "sacctmgr -i delete user {alice}",
    "sacctmgr -i delete account root", "sacctmgr -i delete qos normal", "sacctmgr -i add coordinator account=root names={bob}",
    "sacctmgr -i modify user {bob} set maxjobs=-1", "sacctmgr -i modify job where jobid=1 set comment=mine", "sacctmgr -i load file={work}/load",
    "sacctmgr -i archive dump", "sacctmgr -i clear stats", "sacctmgr -i add resource name=x count=9 server=y", "sacctmgr -i modify user {alice} set defaultaccount=x",
    "scontrol update NodeName=n1 State=DOWN Reason=x", "scontrol update NodeName=n1 State=RESUME", "scontrol update NodeName=n1 Weight=5",
    "scontrol update NodeName=n1 Features=x", "scontrol update NodeName=n1 Comment=x", "scontrol update NodeName=n[1-2] CpuBind=none",
    "scontrol update PartitionName=main MaxTime=1", "scontrol update PartitionName=main AllowGroups=root", "scontrol update PartitionName=main Default=NO",
    "scontrol update PartitionName=main PriorityJobFactor=100", "scontrol create PartitionName=mine Nodes=n1", "scontrol delete PartitionName=main",
    "scontrol create reservation=r starttime=now duration=UNLIMITED nodes=n1 user={bob} flags=maint", "scontrol update reservation=r nodes=n1",
    "scontrol delete reservation=r", "scontrol reconfigure", "scontrol takeover", "scontrol reboot n1",
    "scontrol power down n1", "scontrol cancel_reboot n1", "scontrol fsdampeningfactor 1", "scontrol token username=root", "scontrol shutdown",
    "strigger --set --node --down --program=/bin/true", "strigger --set --reconfig --program=/bin/true", "strigger --clear --id=1",
    "minke down", "minke down --keep-jobs", "minke down --cancel-jobs", "minke up --shared --prepare", "minke accounting import {work}/load",
    "minke accounting purge --before now", "minke guard on", "minke guard off", "minke log", "minke daemon --home {home}", "minke launcher --home {home}",
    "minke adopt --user {alice} --pid 1", "minke storage-keep {home} /etc/minke.toml", "minke stage-server {home}/tmp",
    "minke metrics-server --home {home} --listen 127.0.0.1:1", "sdiag --reset",
    "minke accounting export {home}/bin/squeue", "minke software alias --remove cuda"]


@pytest.mark.parametrize("command", FORBIDDEN)
def test_what_is_administrators_is_refused(shared, hers, command):
    (shared.bob.work / "load").write_text("Cluster - 'minke'\nParent - 'root'\nUser - 'root':Fairshare=1000\n")
    def machine():
        return [shared.alice.run(*words).stdout for words in (
            ["sinfo", "-h", "-N", "-o", "%N %a %T %f %w"], ["scontrol", "show", "partition"], ["scontrol", "show", "reservation"],
            ["sacctmgr", "-nP", "show", "assoc"], ["sacctmgr", "-nP", "show", "qos"], ["sacctmgr", "-nP", "show", "user"], ["strigger", "--get"])]
    shared.bob.run("scancel", "--me")  # what an earlier test left may end meanwhile
    poll(lambda: not shared.bob.queue("--me", format="%i"), 60)
    before, jobs = machine(), picture(shared, hers)
    words = command.format(alice=shared.alice.name, bob=shared.bob.name, work=shared.bob.work, home=shared.home).split()
    try:
        done = shared.bob.run(*words, timeout=10)
        assert done.returncode != 0 or words[0] in ("sdiag",), (done.stdout, done.stderr)
    except subprocess.TimeoutExpired:
        raise AssertionError(f"{command} waits") from None
    assert machine() == before and picture(shared, hers) == jobs


# Numbers at and beyond their bounds. Taken or refused, quickly; and nobody else notices.
NUMBERS = ["-n 4294967295", "-n 4294967296", "-n -1", "-n 2147483648", "-N 2147483647", "-N 1-4294967295", "-N 9-1", "-c 4294967295", "-c 65536", "-c 0",
           "--mem=99999999T", "--mem=18446744073709551615", "--mem=-1", "--mem-per-cpu=18014398509481983M", "--mem-per-gpu=999999T", "--tmp=99999999T",
           "--array=0-4294967294", "--array=4294967294", "--array=1-10%4294967295", "--array=1-10%0", "--array=0-100000:1", "--array=1,1,1,1", "--array=9-1",
           "--array=0-10:0", "--array=-5", "--time=4294967295", "--time=99999999999999999999", "--time=-1", "--time=0", "--time-min=4294967294", "--begin=now+99999999999999",
           "--begin=now-99999999999999", "--begin=9999-12-31", "--begin=0000-01-01", "--deadline=now+9223372036854775807", "--nice=2147483647", "--nice=2147483648",
           "--nice=4294967296", "--gres=gpu:4294967295", "--gres=gpu:18446744073709551615", "--gpus=99999999999", "--gpus-per-task=4294967295 -n 4294967295",
           "--licenses=x:4294967295", "--licenses=x:-5", "--licenses=x:99999999999999999999", "--ntasks-per-node=4294967295", "--ntasks-per-core=4294967295",
           "--ntasks-per-gpu=4294967295", "--signal=99@60", "--signal=USR1@4294967295", "--signal=USR1@99999999999", "--switches=4294967295@99999999-00",
           "--core-spec=65535", "--thread-spec=65535", "--sockets-per-node=65535", "--threads-per-core=4294967295", "-B 65535:65535:65535", "--exclude=n[1-4000000000]",
           "--nodelist=n[0-99999999999999999999]", "--nodelist=n[1-1000000][1-1000000]", "--dependency=afterok:4294967295", "--dependency=afterany:99999999999999999999",
           "--dependency=afterok:1+4294967295", "--delay-boot=99999999999", "--comment=" + "x" * 60000, "--job-name=" + "x" * 60000, "--wckey=" + "x" * 60000,
           "--constraint=" + "(" * 5000, "--constraint=" + "a&" * 20000 + "a", "--mail-user=" + "a," * 30000, "--reservation=" + "r," * 30000,
           "--partition=" + "main," * 10000 + "main", "--prefer=" + "x|" * 20000 + "x", "--export=" + "A=1," * 20000 + "B=2", "--segment=4294967295", "--oom-kill-step=7"]


@pytest.mark.parametrize("options", NUMBERS, ids=[one[:40] for one in NUMBERS])
def test_numbers_beyond_all_bounds_disturb_nobody(shared, options):
    words = options.split() if len(options) < 1000 else [options]
    for hold in ("--hold", "--comment=free"):
        done = shared.bob.run("sbatch", "--parsable", hold, "-o", "/dev/null", *words, "--wrap", "true", timeout=20)
        assert done.returncode in (0, 1, 255), done.stderr[-500:]
    for command in (["squeue", "-a", "-r", "-o", "%all"], ["squeue", "--start"], ["scontrol", "show", "jobs"], ["sprio"], ["sinfo"]):
        assert shared.alice.run(*command, timeout=20).returncode == 0, command
    shared.bob.run("scancel", "--me", check=0)
    poll(lambda: not shared.bob.queue("--me", format="%i"), 60, "the end of bob's jobs")


IDS = ["0", "-1", "4294967295", "4294967296", "99999999999999999999", "1_4294967295", "1_[0-4294967295]", "1_[0-4294967294:1]", "1.4294967295", "1.-5", "1+4294967295", "_1",
       "1_", "1_[", "1_[5-1]", "1_[1-2,1-2,1-2]", "1.0.0", "a", "\x1b[2J", "1\n2", "[1-1000000000]", ",".join(["1"] * 5000), "%j", "$(id)", "1_*"]
ASKING = ["scancel", "scontrol show job", "scontrol hold", "scontrol release", "scontrol requeue", "squeue -j", "sacct -j", "sstat -j", "minke why", "sprio -j", "seff", "sattach"]


@pytest.mark.parametrize("number", range(len(IDS)), ids=[repr(one[:30]) for one in IDS])
def test_numbers_of_jobs_that_are_none_disturb_nobody(shared, number):
    for command in ASKING:
        done = shared.bob.run(*command.split(), IDS[number], timeout=20)
        assert done.returncode >= 0 and done.returncode < 128, (command, done.returncode, done.stderr[-300:])


# ---- limits of accounts

LIMITED = """[accounting]
enforce = ["associations", "limits", "qos", "safe"]
"""


@pytest.fixture(scope="module")
def limited():
    one = Shared(tables=LIMITED)
    one.root_run("sacctmgr", "-iQ", "add", "account", "rich")
    one.root_run("sacctmgr", "-iQ", "add", "account", "poor", "maxwall=10", "grptres=cpu=1")
    one.root_run("sacctmgr", "-iQ", "add", "user", one.alice.name, "account=rich")
    one.root_run("sacctmgr", "-iQ", "add", "user", one.bob.name, "account=poor")
    one.root_run("sacctmgr", "-iQ", "add", "qos", "express", "priority=1000")
    one.root_run("sacctmgr", "-iQ", "modify", "user", one.bob.name, "set", "maxsubmitjobs=3", "maxjobs=1")
    yield one
    one.close()


PASSING_LIMITS = {
    "another's account": "sbatch -A rich --wrap true", "a QOS that is not his": "sbatch -q express --wrap true", "root's account": "sbatch -A root --wrap true",
    "an account that there is not": "sbatch -A nowhere --wrap true", "more tasks than he may submit": "sbatch --array=1-4 --wrap true",
    "components": "sbatch : : : : --wrap true", "longer than he may": "sbatch -t 11 --wrap true",
    "many tasks, one at a time": "sbatch --array=1-100%1 --wrap true",
    "update of the account": "job=$(sbatch --parsable -H --wrap true); scontrol update JobId=$job Account=rich",
    "update of the QOS": "job=$(sbatch --parsable -H --wrap true); scontrol update JobId=$job QOS=express",
    "update of the time": "job=$(sbatch --parsable -H -t 5 --wrap true); scontrol update JobId=$job TimeLimit=60",
    "update of the user": "job=$(sbatch --parsable -H --wrap true); scontrol update JobId=$job UserID={alice}",
    "variables": "SBATCH_ACCOUNT=rich sbatch --wrap true", "a directive": "printf '#!/bin/sh\\n#SBATCH -A rich\\n' | sbatch",
    "salloc": "salloc -A rich true", "srun": "srun -A rich true", "case": "sbatch -A RICH --wrap true", "a list": "sbatch -A poor,rich --wrap true",
    "as another user": "sbatch --uid={alice} -A rich --wrap true", "as root": "sbatch --uid=0 --gid=0 -A rich --wrap true",
    "without an account": "SBATCH_ACCOUNT= sbatch -A '' -t 60 --wrap true",
}


@pytest.mark.parametrize("way", PASSING_LIMITS)
def test_no_way_leads_past_the_limits_of_an_account(limited, way):
    done = limited.bob.run("bash", "-c", PASSING_LIMITS[way].format(alice=limited.alice.name))
    try:
        queue = [line.split("|") for line in limited.bob.queue("--me", "-r", format="%a|%q|%u|%l|%t")]
        assert len(queue) <= 3
        for account, qos, user, limit, state in queue:
            assert (account, qos, user) == ("poor", "normal", limited.bob.name), done.stderr
            assert limit in ("10:00", "5:00", "UNLIMITED", "N/A") or state == "PD"
        ran = limited.root_run("sacct", "-anX", "-u", limited.bob.name, "-o", "account%20,elapsedraw").stdout.splitlines()
        assert {line.split()[0] for line in ran} <= {"poor"}, ran
    finally:
        limited.bob.run("scancel", "--me")
        poll(lambda: not limited.bob.queue("--me", format="%i"), 60)
