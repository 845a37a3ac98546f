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
    job = cluster.submit("sleep 100")
    other = cluster.submit("sleep 100")
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
    job = cluster.submit("sleep 100", "--time=2")
    cluster.wait_state(job, "RUNNING")
    set_trigger(cluster, "--time", f"--jobid={job}", "--offset=-32000", f"--program={path}")  # as good as at once
    wait_told(told, f"{job}\n")
    set_trigger(cluster, "--time", f"--jobid={job}", "--offset=-60", f"--program={path}")
    assert told.read_text() == f"{job}\n"
    cluster.run("scontrol", "update", f"jobid={job}", "timelimit=1", check=0)
    wait_told(told, f"{job}\n{job}\n")


def test_a_trigger_outlives_the_daemon_and_may_wait(cluster):
    path, told = program(cluster, "later")
    job = cluster.submit("sleep 100")
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
    job = cluster.submit("sleep 100", "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=x", check=0)
    assert [line[3] for line in triggers(cluster)] == ["up", "drained"]  # the job is still there
    assert not told_drained.exists()
    cluster.run("scancel", job, check=0)
    wait_told(told_drained, "n1\n")


def test_idle_nodes(cluster):
    path, told = program(cluster, "idle")
    job = cluster.submit("sleep 100", "-N", "2")
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
    job = cluster.submit("sleep 100")
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
def test_users_set_them_for_their_own_jobs_and_they_run_as_them(shared):
    path = shared.bob.script("id -un > told\necho $HOME $1 >> told\n", "told.sh")
    path.write_text(path.read_text().replace("told\n", f"{shared.bob.work}/told\n"))
    path.chmod(0o755)
    hers, his = shared.alice.submit("sleep 100"), shared.bob.submit("sleep 100")
    for options, message in ((f"--fini --jobid={hers}", "Access/permission denied"), ("--down", "Access/permission denied")):
        assert message in set_trigger(shared.bob, *options.split(), f"--program={path}", check=1).stderr
    set_trigger(shared.bob, "--fini", f"--jobid={his}", f"--program={path}")
    set_trigger(shared.alice, "--fini", f"--jobid={hers}", "--program=/bin/true")
    assert [line[2] for line in triggers(shared.bob)] == [str(his)]
    assert "Access/permission denied" in shared.bob.run("strigger", "--clear", f"--jobid={hers}", check=1).stderr
    shared.bob.run("scancel", his, check=0)
    wait_told(shared.bob.work / "told", f"{shared.bob.name}\n{shared.bob.entry.pw_dir} {his}\n")
    assert (shared.bob.work / "told").stat().st_uid == shared.bob.uid
    shared.alice.run("scancel", hers, check=0)


@pytest.mark.parametrize("changed", [{"event": 99}, {"event": 0}, {"offset": -2**31}, {"offset": 32001}, {"program": b"true"}])
def test_what_no_strigger_sends(cluster, changed):
    job = cluster.submit("sleep 100")
    cluster.wait_state(job, "RUNNING")
    with cluster.wire() as wire:
        request = wire.messages.SetTriggersRequest()
        request.triggers.add(**{"event": 1, "job_id": job, "program": b"/bin/true"} | changed)
        assert wire.ask(set_triggers=request).error.code == 2036
    assert triggers(cluster) == []
