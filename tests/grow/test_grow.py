"""minke grow, from a one-machine cluster with people, history and waiting jobs to a real Slurm on several hosts, which are
namespaces here (hosts.py)."""
import os
import pathlib
import random
import re
import shutil
import subprocess
import time

import pytest

pytestmark = [pytest.mark.xdist_group("grow"), pytest.mark.timeout(600)]

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
CARRIES_WAITING = os.environ.get("MINKE_SUITE", "trixie") != "bookworm"  # 22.05 does not take jobs with their numbers

SUBMIT = """cd; set -e
for i in 1 2 3; do minke sbatch --parsable --wrap "echo hi $i"; done
minke sbatch --parsable --hold -J held --wrap "echo held"
minke sbatch --parsable -J after -d afterok:4 --wrap "echo after"
minke sbatch --parsable --array=1-5 --begin=now+1hour -J tasks --wrap true
"""
# What grow may write, but for what it says it keeps: backups of the tables of users, caches and logs.
PRINT = ("find /etc /usr/local /opt \\( -type f -o -type l \\) ! -name '*-' ! -name ld.so.cache ! -name '.pwd.lock' "
         "-printf '%p %m %U %G ' -exec sh -c 'sha256sum <\"$1\"' sh {} \\; 2>/dev/null | sort")


def record(head, command="sacct") -> str:
    """Ended jobs, as the record has them."""
    return head.run(f"{command} -a -X -n -P -S 2020-01-01 -E now -s CD,F,CA,TO -o JobID,JobName,User,Account,State,ExitCode")


def queue(head, command="squeue", format="%i|%j|%u|%a|%r") -> list[str]:
    return sorted(head.run(f"{command} -h -a -t PD -o '{format}'").split())


def submitted(head) -> None:
    head.run(SUBMIT, user="alice")
    head.run("cd; minke sbatch -J fail --wrap 'exit 3'; minke sbatch --hold -L matlab:2 -J licensed --wrap true; "
             "minke sbatch --begin=now+1hour -J dropped --wrap true", user="bob")
    head.until("[ $(minke sacct -a -X -n -S 2020-01-01 -E now -s CD,F | wc -l) = 4 ]")


@pytest.fixture(scope="module")
def before(machines):
    """What is there before anything grows."""
    head = machines["head"]
    submitted(head)
    head.run("minke scontrol create reservation ReservationName=course StartTime=2040-01-01T00:00:00 Duration=60 Users=alice Nodes=head")
    return {"files": {name: machines[name].run(PRINT) for name in machines.hosts}, "record": record(head, "minke sacct"),
            "queue": queue(head, "minke squeue"), "shares": head.run("minke sshare -a -n -P -o Account,User,RawShares")}


def grown(head, *hosts) -> str:
    return head.run("minke grow apply " + " ".join(hosts))


def test_a_plan_shows_machines_files_and_steps_and_changes_nothing(machines, before):
    text = machines["head"].run("minke grow plan n1 root@n2")
    for words in ("n1 (n1)", "n2 (root@n2)", "10.213.7.2", "--- /etc/slurm/slurm.conf", "PartitionName=main Nodes=head,n[1-2]",
                  "StoragePass=(made by apply)", "slurmd n2", "NOT AS BEFORE", "mpi_default", "Nothing has been changed"):
        assert words in text, text
    for name, files in before["files"].items():
        assert machines[name].run(PRINT) == files
    assert machines["head"].run("minke grow status") == "nothing is under way: this is a cluster of one machine\n"


def test_two_clusters_of_such_hosts_at_once_have_control_groups_of_their_own(machines):
    if machines.old_groups:
        assert machines.directory.name in machines["head"].run("cat /proc/$(pgrep -f '^/usr/local/bin/minke daemon' | head -n 1)/cgroup")


@pytest.mark.parametrize("words, said", [
    ("plan 'n1; reboot'", "is no name of a host"), ("plan -- -oProxyCommand=reboot", "is no name of a host"),
    ("plan 10.213.7.99", "10.213.7.99 cannot be reached"), ("plan", "name the hosts"), ("apply", "name the hosts"),
    ("undo", "nothing is under way"), ("confirm", "nothing is under way"), ("add n1", "minke grow apply HOST"),
    ("status n1", "takes no hosts"), ("remove", "takes one machine")])
def test_what_cannot_be_done_is_said(machines, words, said):
    assert said in machines["head"].run("minke grow " + words, code=1)


def test_a_user_with_another_number_there_stands_in_the_way(machines, before):
    machines["n3"].run("useradd -u 2077 alice")
    assert "n3: user alice is 2077 there and 2001 on the head" in machines["head"].run("minke grow plan n3", code=1)
    machines["n3"].run("userdel alice")


def test_all_that_minke_knew_is_in_slurm_and_jobs_run_on_all_hosts(machines, before):
    head = machines["head"]
    grown(head, "n1", "n2")
    assert record(head) == before["record"]
    if CARRIES_WAITING:
        assert [line.split("|")[:4] for line in queue(head)] == [line.split("|")[:4] for line in before["queue"]]
    shares = head.run("sshare -a -n -P -o Account,User,RawShares")
    assert sorted(shares.split()) == sorted(before["shares"].split())
    assert re.search("Nodes=head .*\n(?s:.*)Users=alice", head.run("scontrol show reservation course"))
    checked = head.run("minke grow check", code=0 if CARRIES_WAITING else 1)
    assert "4 of 4 ended jobs" in checked, checked
    names = head.run("cd /tmp; srun -N3 --ntasks-per-node=1 sh -c 'hostname; test -O \"$SLURM_TMPDIR\" && echo own'", user="alice")
    assert sorted(names.split()) == ["head", "n1", "n2", "own", "own", "own"]
    job = int(head.run("cd; sbatch --parsable -N2 --wrap 'srun hostname'", user="alice"))
    assert job > 9
    if CARRIES_WAITING:
        # The held one runs under its number, and then the one that waits for it.
        head.run("scontrol release 4", user="alice")
        head.until("[ \"$(sacct -n -X -P -j 5 -o State)\" = COMPLETED ]")
        head.run("scancel -n dropped", user="bob")
    assert "cluster lab runs Slurm" in head.run("minke doctor")
    assert "minke grow confirm keeps it" in head.run("minke grow status")


AGENTS = "ps -eo args | grep -c '^/usr/local/bin/minke agent'"
# Each time asked anew, as the answers of Slurm's programs are kept for half a minute.
TOP = "d=$(mktemp -d); cd; XDG_RUNTIME_DIR=$d MINKE_POLLED=/nowhere MINKE_CLUSTER=slurm minke top --once; rm -r $d"


def test_jobs_are_measured_on_all_machines_and_one_without_an_agent_is_named(machines):
    """After the test above."""
    head = machines["head"]
    for name in ("head", "n1", "n2"):
        assert machines[name].run(AGENTS) == "1\n", name
        assert machines[name].run("sha256sum </usr/local/bin/minke") == head.run("sha256sum </usr/local/bin/minke")
    job = head.run("cd; sbatch --parsable -N2 -w n1,n2 --wrap 'srun sleep 600'", user="alice").strip()
    head.until(f"[ \"$(squeue -h -j {job} -o %t)\" = R ]")  # minke top shows jobs that wait, too
    # On each of the two: srun's child, and what slurmstepd started.
    head.until(f"runuser -u alice -- sh -c '{TOP}' >/tmp/top; cat /tmp/top; grep -qE '^ *{job} ' /tmp/top && ! grep -q 'not measured' /tmp/top", 40)
    machines["n2"].run("kill $(cat /run/minke-agent.pid)")
    machines["n2"].until(f"[ $({AGENTS}) = 0 ]")
    assert "not measured on n2: " in head.run(TOP, user="alice")
    # The same program and agent everywhere, by one command.
    assert "agent n2: once more" in head.run("minke grow agents")
    head.until(f"runuser -u alice -- sh -c '{TOP}' >/tmp/top; cat /tmp/top; ! grep -q 'not measured' /tmp/top", 40)
    head.run(f"scancel {job}")
    head.until(f"[ -z \"$(squeue -h -j {job})\" ]")


ENVIRONMENT = """#!/bin/bash
# What virtualenv makes, with a pip that counts how often it is called.
env=$SLURM_TMPDIR/env; site=$env/lib/$(python3 -c 'import sys; print("python%d.%d" % sys.version_info[:2])')/site-packages
mkdir -p $env/bin $site ~/wheels/index; touch ~/wheels/pip.conf; ln -s /usr/bin/python3 $env/bin/python; echo 'home = /usr/bin' >$env/pyvenv.cfg
cp -r ~/parts/* $site; echo 'import _minke_pip' >$site/_minke_pip.pth
export PIP_CONFIG_FILE=$HOME/wheels/pip.conf MINKE_WHEEL_CACHE=$HOME/cache
$env/bin/python -m pip install --no-index thing
$env/bin/python -c 'import os, thing; print(os.uname().nodename, thing.__file__, os.stat(thing.__file__).st_nlink > 1)' >>~/used
"""
PIP = r"""import os
site = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
open(os.path.expanduser("~/pipped"), "a").write(os.uname().nodename + "\n")
open(site + "/thing.py", "w").write("x = 1\n")
os.mkdir(site + "/thing-1.dist-info")
open(site + "/thing-1.dist-info/RECORD", "w").write("thing.py,,\nthing-1.dist-info/RECORD,,\n")
"""


def test_a_node_makes_an_environment_of_python_once(machines):
    """After the tests above. Homes are on another file system than $SLURM_TMPDIR, where nothing can be linked from."""
    head, home = machines["head"], machines.directory / "home/alice"
    (home / "parts/pip").mkdir(parents=True)
    (home / "parts/pip/__init__.py").write_text("")
    (home / "parts/pip/__main__.py").write_text(PIP)
    shutil.copy(REPOSITORY / "src/software/python/_minke_pip.py", home / "parts")
    (home / "env.sh").write_text(ENVIRONMENT)
    head.run("chown -R alice: ~alice")
    for node in ("n1", "n1", "n2", "n1"):
        head.run(f"cd; sbatch -W -w {node} -o out env.sh || {{ cat out; exit 1; }}", user="alice")
    assert (home / "pipped").read_text().split() == ["n1", "n2"]
    used = [line.split() for line in (home / "used").read_text().splitlines()]
    assert [(node, linked) for node, _, linked in used] == [("n1", "True"), ("n1", "True"), ("n2", "True"), ("n1", "True")]
    assert not (home / "cache").exists()


def test_a_machine_joins_and_leaves_while_jobs_run(machines):
    head = machines["head"]
    job = head.run("cd; sbatch --parsable -w n1 --wrap 'sleep 600'", user="alice").strip()
    head.until(f"[ \"$(squeue -h -j {job} -o %T)\" = RUNNING ]")
    head.run("minke grow add n3")
    assert head.run("cd /tmp; srun -w n3 hostname", user="alice").strip() == "n3"
    assert head.run(f"squeue -h -j {job} -o %T").strip() == "RUNNING"
    assert machines["n3"].run(AGENTS) == "1\n"
    there = machines["n3"].run("cat /etc/slurm/slurm.conf")
    assert all(machines[name].run("cat /etc/slurm/slurm.conf") == there for name in machines.hosts)
    head.run("minke grow remove n3")
    assert head.run("sinfo -h -N -o %N").split() == ["head", "n1", "n2"]
    assert machines["n3"].run(f"{AGENTS}; ls /usr/local/bin", code=None) == "0\n"
    assert "NodeName=n3" not in machines["n1"].run("cat /etc/slurm/slurm.conf")
    assert head.run(f"squeue -h -j {job} -o %T").strip() == "RUNNING"
    head.run(f"scancel {job}")
    head.until(f"[ -z \"$(squeue -h -j {job})\" ]")


def test_undo_gives_back_what_was_there_and_nothing_runs_twice(machines, before):
    head = machines["head"]
    assert "were submitted to Slurm since" in head.run("minke grow undo", code=1)
    # Past a machine that cannot be reached; a later call finishes it.
    machines["n2"].run("ip link set eth0 down")
    said = head.run("minke grow undo --discard", code=1)
    assert "on n2 this is left: agent n2, program n2, slurmd n2, number n2, files n2, munge n2" in said, said
    head.run("MINKE_CLUSTER=embedded minke status")
    assert machines["n1"].run(PRINT) == before["files"]["n1"]
    machines["n2"].run("ip link set eth0 up")
    head.run("minke grow undo --discard")
    for name, files in before["files"].items():
        assert machines[name].run(PRINT) == files, name
        assert not machines[name].run("for name in slurm munged mariadbd; do pgrep -l $name; done", code=None), name
        assert machines[name].run(AGENTS, code=1) == "0\n", name
    # 4 ran in Slurm, and 5 after it; one was cancelled there.
    waiting = [line for line in before["queue"] if not CARRIES_WAITING or line.split("|")[0] not in ("4", "5") and "|dropped|" not in line]
    assert queue(head, "minke squeue") == waiting
    head.run("cd; minke sbatch --wrap true", user="alice")
    head.until("[ -z \"$(minke squeue -h -t R)\" ]")


def test_what_runs_may_end_under_minke_while_new_jobs_go_to_slurm(machines, before):
    head, waiting = machines["head"], queue(machines["head"], "minke squeue")
    head.run("cd; mkfifo go; minke sbatch -J stays --wrap 'read word <go; srun echo step >stays'", user="alice")
    head.until("[ \"$(minke squeue -h -t R -o %j)\" = stays ]")
    stays = head.run("minke squeue -h -t R -o %i").strip()
    awaits = head.run(f"cd; minke sbatch --parsable -J awaits -d afterok:{stays} --wrap true", user="alice").strip()
    head.run("minke grow apply --leave n1")
    assert head.run("sinfo -h -N -o '%N %T'").split() == ["head", "drained", "n1", "idle"]
    assert head.run("cd; minke srun hostname", user="alice") == "n1\n"
    assert head.run("MINKE_CLUSTER=embedded minke squeue -h -t R -o %i").strip() == stays
    assert "jobs still run under Minke" in head.run("minke grow confirm", code=1)
    assert re.search("(?m)^later +stop", head.run("minke grow status"))
    head.run("cd; echo on >go", user="alice")
    head.until("[ \"$(sinfo -h -n head -o %T)\" = idle ] && minke grow status | grep -q 'minke grow confirm keeps it'", 90)
    assert head.run("cat /home/alice/stays") == "step\n"
    assert head.run(f"sacct -X -n -P -j {stays} -o JobName,State,NodeList").strip() == "stays|COMPLETED|head"
    if CARRIES_WAITING:
        head.until(f"[ \"$(sacct -n -X -P -j {awaits} -o State)\" = COMPLETED ]")
    head.run("rm /home/alice/go; minke grow undo --discard")
    for name, files in before["files"].items():
        assert machines[name].run(PRINT) == files, name
    assert {line.split("|")[0] for line in queue(head, "minke squeue")} - {awaits} == {line.split("|")[0] for line in waiting}
    head.run(f"minke scancel {awaits}", code=None)


def step_of(line: str) -> str:
    """The step that a line of apply begins."""
    found = re.match(r"(?:\S+: )?([a-z]+(?: \w+)?): \S", line) if not line.startswith(" ") else None
    return found[1] if found else ""


def test_apply_that_is_killed_at_its_steps_and_repeated_gives_the_same(machines, request):
    """At each of them with --vm; else at one in four, other ones each time."""
    head = machines["head"]
    spared = 0 if request.config.getoption("--vm") else 0.75
    ended, waiting = record(head, "minke sacct"), queue(head, "minke squeue")
    met = set()
    while True:
        process = subprocess.Popen(head.command("sh", "-c", "echo $$ >/run/grow.pid; exec minke grow apply n1"),
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, text=True)
        said = ""
        for line in process.stdout:
            said += line
            if (step := step_of(line)) and step not in met:
                met.add(step)
                if random.random() < spared:
                    continue
                time.sleep(random.choice((0, 0.02, 0.1, 0.3)))  # somewhere in it
                head.run("kill -9 $(cat /run/grow.pid)", code=None)
        if process.wait() == 0:
            break
        assert "error" not in said, said
    assert {"packages n1", "files head", "close", "snapshot", "stop", "accounts", "usage", "record", "slurmd n1", "waiting"} <= met
    assert record(head) == ended
    if CARRIES_WAITING:
        assert [line.split("|")[:4] for line in queue(head)] == [line.split("|")[:4] for line in waiting]
    assert head.run("cd /tmp; srun -N2 --ntasks-per-node=1 hostname | sort", user="alice").split() == ["head", "n1"]
    conf = head.run("cat /etc/slurm/slurm.conf")
    assert conf == machines["n1"].run("cat /etc/slurm/slurm.conf")
    planned = re.sub(r"(?m)^FirstJobId=.*$", "FirstJobId=1", conf)
    assert "PartitionName=main Nodes=head,n1 Default=YES" in planned


def test_what_is_confirmed_cannot_be_undone(machines):
    head = machines["head"]
    head.run("minke grow confirm")
    assert "minke grow shrink" in head.run("minke grow undo", code=1)
    assert "minke grow add HOST" in head.run("minke grow apply n2", code=1)


def test_back_on_one_machine_the_record_and_waiting_jobs_are_there(machines, before):
    head = machines["head"]
    done = head.run("cd; sbatch --parsable -W -J grown --wrap true", user="alice").strip()
    held = head.run("cd; sbatch --parsable --hold -J later --wrap 'echo later >later'", user="alice").strip()
    said = head.run("minke grow shrink")
    assert f"job {held} of alice is job " in said
    assert head.run(f"minke sacct -X -n -P -j {done} -o JobName,State") == "grown|COMPLETED\n"
    assert "later" in head.run("minke squeue -h -o %j")
    assert {line.split("|")[0] for line in queue(head, "minke squeue")} >= {"6_[1-5]"}
    for name, files in before["files"].items():
        assert machines[name].run(PRINT) == files, name
    head.run("minke squeue -h -n later -o %i | xargs minke scontrol release")
    head.until("[ \"$(cat /home/alice/later)\" = later ]")
    assert "one machine" in head.run("minke grow status")
