"""strigger: programs that run when something happens to a job or to nodes."""
import os
import re

import pytest

from cluster import poll
from shared import NEEDS_ROOT

MINKE_ONLY = True


def program(cluster, name: str) -> tuple:
    """A program that notes what it was told, and the file that it notes it in."""
    told = cluster.work / f"{name}.told"
    path = cluster.script(f'echo "$@" >> {told}\n', f"{name}.sh")
    path.chmod(0o755)
    return path, told


def set_trigger(cluster, *options, check=0):
    return cluster.run("strigger", "--set", "-v", *options, check=check)


def triggers(cluster, *options) -> list[list[str]]:
    done = cluster.run("strigger", "--get", "--noheader", *options, check=0)
    return [line.split() for line in done.stdout.splitlines()]


def wait_told(told, text: str) -> None:
    poll(lambda: told.exists() and told.read_text() == text, 30, f"{text!r} in {told}")


def test_the_end_of_a_job(cluster):
    path, told = program(cluster, "end")
    job = cluster.submit("sleep 1000")
    other = cluster.submit("sleep 1000")
    done = set_trigger(cluster, "--fini", f"--jobid={job}", f"--program={path} with words")
    assert done.stderr == "strigger: trigger set\n"
    set_trigger(cluster, "--time", f"--jobid={job}", f"--program={path}")
    listing = cluster.run("strigger", "--get", check=0).stdout.splitlines()
    user = cluster.run("id", "-un").stdout.strip()
    assert listing[0] == "TRIG_ID RES_TYPE   RES_ID TYPE                                OFFSET USER     FLAGS PROGRAM"
    assert listing[1] == f"{1:7} job       {job:7} {'fini':35} {0:6} {user:8} {'':5} {path} with words"
    assert [line[0] for line in triggers(cluster, "--time", f"--jobid={job}")] == ["2"]
    cluster.run("scancel", other, check=0)
    cluster.wait_end(other)
    cluster.run("scancel", job, check=0)
    wait_told(told, f"with words {job}\n")  # and not of the other one
    assert triggers(cluster) == []
    assert set_trigger(cluster, "--fini", f"--jobid={job}", f"--program={path}", check=1).stderr == \
        "slurm_set_trigger: Job/step already completing or completed\n"


def test_the_time_limit_of_a_job(cluster):
    path, told = program(cluster, "time")
    job = cluster.submit("sleep 1000", "--time=2")
    cluster.wait_state(job, "RUNNING")
    set_trigger(cluster, "--time", f"--jobid={job}", "--offset=-32000", f"--program={path}")  # as good as at once
    wait_told(told, f"{job}\n")
    set_trigger(cluster, "--time", f"--jobid={job}", "--offset=-60", f"--program={path}")
    assert told.read_text() == f"{job}\n"
    cluster.run("scontrol", "update", f"jobid={job}", "timelimit=1", check=0)
    wait_told(told, f"{job}\n{job}\n")


def test_a_trigger_outlives_the_daemon_and_may_wait(cluster):
    path, told = program(cluster, "later")
    job = cluster.submit("sleep 1000")
    cluster.wait_state(job, "RUNNING")
    set_trigger(cluster, "--fini", f"--jobid={job}", "--offset=2", f"--program={path}")
    cluster.kill()
    assert len(triggers(cluster)) == 1
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    cluster.kill()
    poll(lambda: triggers(cluster) == [], what="that it is gone")
    wait_told(told, f"{job}\n")


def test_nodes(cluster):
    once, told_once = program(cluster, "once")
    always, told_always = program(cluster, "always")
    drained, told_drained = program(cluster, "drained")
    cluster.run("scontrol", "update", "nodename=n2", "state=down", "reason=x", check=0)
    set_trigger(cluster, "--down", f"--program={once}")  # one that is down already pulls nothing
    set_trigger(cluster, "--up", "--node=n2", "--flags=PERM", f"--program={always}")
    set_trigger(cluster, "--drained", f"--program={drained}")
    assert triggers(cluster, "--up") == [["2", "node", "n2", "up", "0", triggers(cluster)[0][5], "PERM", str(always)]]
    for count in (1, 2):
        cluster.run("scontrol", "update", "nodename=n2", "state=resume", check=0)
        wait_told(told_always, "n2\n" * count)
        cluster.run("scontrol", "update", "nodename=n[1-2]", "state=down", "reason=x", check=0)
        cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=0)
    wait_told(told_once, "n[1-2]\n" if told_once.read_text().startswith("n[") else "n2\n")
    job = cluster.submit("sleep 1000", "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=x", check=0)
    assert [line[3] for line in triggers(cluster)] == ["up", "drained"]  # the job is still there
    assert not told_drained.exists()
    cluster.run("scancel", job, check=0)
    wait_told(told_drained, "n1\n")


def test_idle_nodes(cluster):
    path, told = program(cluster, "idle")
    job = cluster.submit("sleep 1000", "-N", "2")
    cluster.wait_state(job, "RUNNING")
    set_trigger(cluster, "--idle", "--offset=1", f"--program={path}")
    assert not told.exists()
    cluster.run("scancel", job, check=0)
    wait_told(told, "n[1-2]\n")
    assert triggers(cluster) == []


def test_the_configuration(cluster):
    path, told = program(cluster, "configuration")
    set_trigger(cluster, "--reconfig", f"--program={path}")
    cluster.run("scontrol", "reconfigure", check=0)
    wait_told(told, "*\n")


def test_clearing(cluster):
    path, _ = program(cluster, "cleared")
    job = cluster.submit("sleep 1000")
    for event in ("--down", "--up", "--fail"):
        set_trigger(cluster, event, f"--program={path}")
    set_trigger(cluster, "--fini", f"--jobid={job}", f"--program={path}")
    assert set_trigger(cluster, "--down", f"--program={path}", check=1).stderr == \
        "slurm_set_trigger: Duplicate event trigger\n"
    assert cluster.run("strigger", "--clear", "-v", "--id=2", check=0).stderr == "strigger: trigger 2 cleared\n"
    assert cluster.run("strigger", "--clear", "-v", f"--jobid={job}", check=0).stderr == \
        f"strigger: triggers for job {job} cleared\n"
    assert [line[0] for line in triggers(cluster)] == ["1", "3"]
    uid = os.getuid()
    assert cluster.run("strigger", "--clear", "-v", f"--user={uid}", check=0).stderr == \
        f"strigger: triggers for user {uid} cleared\n"
    assert cluster.run("strigger", "--clear", f"--user={uid}", check=1).stderr == "slurm_clear_trigger: No such process\n"
    assert cluster.run("strigger", "--clear", "--quiet", f"--user={uid}", check=0).stderr == ""


@pytest.mark.parametrize(("options", "message"), [
    ("--set --down --get", "You must use exactly one of the following options: --set, --get or --clear"),
    ("--clear", "You must specify a --id, --jobid, or --user to clear"),
    ("--set --program=/bin/true", r"You must specify a trigger \(.*"),
    ("--set --down", "You must specify a --program value"),
    ("--set --fini --program=/bin/true", "You must specify a --jobid value"),
    ("--set --down --program=true", 'The --program value must start with "/"'),
    ("--set --down --program=/nosuch", "Invalid --program value, file not found"),
    ("--set --down --program=/bin", "Invalid --program value, not regular file"),
    ("--set --down --program=/bin/true --offset=40000", r"The --offset parameter must be between \+/-32000"),
    ("--set --down --program=/bin/true --flags=x", "Invalid flags x"),
    ("--set --primary_slurmctld_failure --program=/bin/true", "there is one daemon, .*"),
])
def test_refusals(cluster, options, message):
    done = cluster.run("strigger", *options.split(), check=1)
    assert re.fullmatch(f"strigger: error: {message}\n", done.stderr)


@pytest.mark.parametrize(("options", "message"), [
    ("--fini --jobid=77", "Invalid job id specified"),
    ("--down --node=n[1-9]", "Invalid node name specified"),
])
def test_refusals_of_the_daemon(cluster, options, message):
    assert set_trigger(cluster, *options.split(), "--program=/bin/true", check=1).stderr.startswith(
        f"slurm_set_trigger: {message}")


@NEEDS_ROOT
def test_only_operators_set_them_on_a_shared_cluster(shared):
    """Their programs are outside the limits of all jobs, and outside the guard of the GPUs."""
    path = shared.otto.script("id -un > TOLD\necho $HOME $1 >> TOLD\n", "told.sh")
    told = shared.otto.work / "told"
    path.write_text(path.read_text().replace("TOLD", str(told)))
    path.chmod(0o755)
    job = shared.bob.submit("sleep 1000")
    for options in (("--fini", f"--jobid={job}"), ("--down",)):
        assert "Access/permission denied" in set_trigger(shared.bob, *options, "--program=/bin/true", check=1).stderr
    set_trigger(shared.otto, "--fini", f"--jobid={job}", f"--program={path}")
    assert [line[2] for line in triggers(shared.otto)] == [str(job)] and triggers(shared.bob) == []
    assert "Access/permission denied" in shared.bob.run("strigger", "--clear", f"--jobid={job}", check=1).stderr
    shared.bob.run("scancel", job, check=0)
    wait_told(told, f"{shared.otto.name}\n{shared.otto.entry.pw_dir} {job}\n")


@pytest.mark.parametrize("changed", [{"event": 99}, {"event": 0}, {"offset": -2**31}, {"offset": 32001}, {"program": b"true"}])
def test_what_no_strigger_sends(cluster, changed):
    job = cluster.submit("sleep 1000")
    cluster.wait_state(job, "RUNNING")
    with cluster.wire() as wire:
        request = wire.messages.SetTriggersRequest()
        request.triggers.add(**{"event": 1, "job_id": job, "program": b"/bin/true"} | changed)
        assert wire.ask(set_triggers=request).error.code == 2036
    assert triggers(cluster) == []
