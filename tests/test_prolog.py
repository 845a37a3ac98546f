"""Prologs and epilogs: when they run, what they are told, what follows from their failure, and that none is lost."""
import os
import pathlib
import re
import subprocess

import pytest

from cluster import Commands, LoopbackSlurm, plain_environment, poll
from processes import has_ended
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True

KINDS = ("prolog", "epilog", "prolog_slurmctld", "epilog_slurmctld")
# What each kind is called where it runs, as Slurm has it in SLURM_SCRIPT_CONTEXT.
CONTEXT = {"prolog": "prolog_slurmd", "epilog": "epilog_slurmd",
           "prolog_slurmctld": "prolog_slurmctld", "epilog_slurmctld": "epilog_slurmctld"}


class Hooks:
    """One program for all of them. It notes when it begins and ends, keeps its environment, and does in between what
    the test has written down for its kind."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory
        directory.mkdir(mode=0o755)
        directory.chmod(0o755)
        self.program = directory / "hook"
        self.program.write_text(
            "#!/bin/bash\n"
            f"cd {directory}\n"
            'me="${SLURM_SCRIPT_CONTEXT} ${SLURM_JOB_ID}${SLURMD_NODENAME:+ $SLURMD_NODENAME}"\n'
            'env -0 > "env ${me}"; id -u > "uid ${me}"; echo $$ > "pid ${me}"\n'
            'echo "begin $me" >> log\n'
            '[ -f "do.$SLURM_SCRIPT_CONTEXT" ] && . "./do.$SLURM_SCRIPT_CONTEXT"\n'
            'echo "end $me" >> log\n')
        self.program.chmod(0o755)

    def table(self, *kinds: str, **more) -> str:
        """For minke.toml."""
        lines = ["[prolog]", *[f'{kind} = "{self.program}"' for kind in kinds or KINDS],
                 *[f"{name} = {value}" for name, value in more.items()]]
        return "\n".join(lines) + "\n"

    def configure(self, cluster, *kinds: str, **more) -> None:
        path = pathlib.Path(cluster.environment["MINKE_CONFIG"])
        path.write_text(path.read_text() + self.table(*kinds, **more))

    def does(self, kind: str, text: str | None) -> None:
        path = self.directory / f"do.{CONTEXT[kind]}"
        path.unlink(missing_ok=True)
        if text is not None:
            written = self.directory / "new"
            written.write_text(text + "\n")
            written.rename(path)

    def log(self) -> list[str]:
        path = self.directory / "log"
        return path.read_text().splitlines() if path.exists() else []

    def wait(self, line: str, count: int = 1) -> None:
        poll(lambda: self.log().count(line) >= count, what=f"{line!r} in {self.log()}")

    def told(self, kind: str, job: int, node: str = "", what: str = "env") -> str:
        return (self.directory / f"{what} {CONTEXT[kind]} {job}{' ' + node if node else ''}").read_text()

    def environment(self, kind: str, job: int, node: str = "") -> dict[str, str]:
        return dict(entry.split("=", 1) for entry in self.told(kind, job, node).split("\0") if entry)


@pytest.fixture
def hooks(tmp_path):
    return Hooks(tmp_path / "hooks")


def node_state(cluster, node: str) -> str:
    return cluster.run("sinfo", "-hN", "-n", node, "-o", "%T %E", check=0).stdout.strip()


def test_a_job_from_its_first_prolog_to_its_last_epilog(cluster, hooks):
    hooks.configure(cluster)
    job = cluster.submit("echo script; srun -N1 -n1 -w n1 echo first; srun -N2 -n2 echo second; exit 3", "-N", "2")
    cluster.wait_end(job)
    log = hooks.log()
    assert log[:4] == [f"begin prolog_slurmctld {job}", f"end prolog_slurmctld {job}",
                       f"begin prolog_slurmd {job} n1", f"end prolog_slurmd {job} n1"]
    assert log[4:6] == [f"begin prolog_slurmd {job} n2", f"end prolog_slurmd {job} n2"]  # the second step's
    assert sorted(log[6:]) == sorted(f"{when} {who}" for when in ("begin", "end") for who in
                                     (f"epilog_slurmctld {job}", f"epilog_slurmd {job} n1", f"epilog_slurmd {job} n2"))
    assert cluster.output(job).splitlines() == ["script", "first", "second", "second"]
    assert cluster.job(job)["JobState"] == "FAILED" and cluster.job(job)["ExitCode"] == "3:0"
    told = hooks.environment("epilog", job, "n2")
    assert told["SLURM_JOB_EXIT_CODE"] == str(3 << 8) and told["SLURM_JOB_EXIT_CODE2"] == "3:0"
    assert "SLURM_JOB_EXIT_CODE" not in hooks.environment("prolog", job, "n1")


@pytest.mark.machine(gpus="a100:2")
def test_what_they_are_told(cluster, hooks):
    hooks.configure(cluster)
    job = cluster.submit("true", "--gpus=1", "--job-name=na me", "--comment=a 'comment'; x", "-w", "n2",
                         env={"EVIL": "1", "LD_PRELOAD": ""})
    cluster.wait_end(job)
    user = cluster.run("id", "-un").stdout.strip()
    for kind, node in (("prolog", "n2"), ("epilog", "n2"), ("prolog_slurmctld", ""), ("epilog_slurmctld", "")):
        told = hooks.environment(kind, job, node)
        assert "EVIL" not in told and "LD_PRELOAD" not in told
        expected = {"SLURM_JOB_ID": str(job), "SLURM_JOBID": str(job), "SLURM_JOB_USER": user,
                    "SLURM_JOB_UID": str(os.getuid()), "SLURM_JOB_GID": str(os.getgid()),
                    "SLURM_JOB_NAME": "na me", "SLURM_JOB_COMMENT": "a 'comment'; x", "SLURM_JOB_NODELIST": "n2",
                    "SLURM_JOB_PARTITION": "main", "SLURM_JOB_NUM_NODES": "1", "SLURM_CLUSTER_NAME": "minke",
                    "SLURM_SCRIPT_CONTEXT": CONTEXT[kind], "SLURM_JOB_WORK_DIR": str(cluster.work),
                    "SLURM_JOB_RESTART_COUNT": "0"}
        assert {name: told.get(name) for name in expected} == expected
        assert told.get("SLURM_JOB_GPUS") == ("0" if node else None)
        assert told.get("CUDA_VISIBLE_DEVICES") == ("0" if node else None)
        assert told.get("SLURMD_NODENAME") == (node or None)


def test_an_allocation_has_its_prolog_before_its_first_step(cluster, hooks):
    hooks.configure(cluster, "prolog", "epilog")
    script = cluster.script("echo $SLURM_JOB_ID; cat " + str(hooks.directory / "log") + "; srun true; srun true\n")
    script.chmod(0o755)
    done = cluster.run("salloc", "-N1", script, check=0)
    job, *log = done.stdout.split("\n")
    assert log == [""]  # none had run by then
    hooks.wait(f"end epilog_slurmd {job} n1")
    assert hooks.log() == [f"{when} {kind}_slurmd {job} n1" for kind in ("prolog", "epilog") for when in ("begin", "end")]


def test_alloc_runs_it_on_all_nodes_first(cluster, hooks):
    hooks.configure(cluster, "prolog", flags='"Alloc"')
    done = cluster.run("salloc", "-N2", "bash", "-c", f"echo $SLURM_JOB_ID; sort {hooks.directory}/log", check=0)
    job, *log = done.stdout.splitlines()
    assert log == [f"{when} prolog_slurmd {job} {node}" for when in ("begin", "end") for node in ("n1", "n2")]
    flags = [line for line in cluster.run("scontrol", "show", "config").stdout.splitlines() if "PrologFlags" in line]
    assert flags == ["PrologFlags             = Alloc"]


def test_a_job_that_ends_in_its_prolog(cluster, hooks):
    hooks.configure(cluster, "prolog", "epilog")
    hooks.does("prolog", f"until [ -e {hooks.directory}/go ]; do sleep 0.05; done")
    job = cluster.submit("echo never")
    hooks.wait(f"begin prolog_slurmd {job} n1")
    cluster.run("scancel", job, check=0)
    poll(lambda: cluster.queue(format="%i %t") == [f"{job} CG"], what="that it ends")
    (hooks.directory / "go").touch()
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    assert [line.split()[:2] for line in hooks.log()] == [
        ["begin", "prolog_slurmd"], ["end", "prolog_slurmd"], ["begin", "epilog_slurmd"], ["end", "epilog_slurmd"]]
    assert not (cluster.work / f"slurm-{job}.out").exists()
    assert cluster.run("srun", "echo", "next", check=0).stdout == "next\n"


def test_what_the_queue_shows_meanwhile(cluster, hooks):
    hooks.configure(cluster, flags='"Alloc"')
    for kind in ("prolog_slurmctld", "prolog"):
        hooks.does(kind, f"until [ -e {hooks.directory}/go.$SLURM_SCRIPT_CONTEXT ]; do sleep 0.05; done")
    job = cluster.submit("echo ran")
    hooks.wait(f"begin prolog_slurmctld {job}")
    assert cluster.queue(format="%i %T %t %r") == [f"{job} CONFIGURING CF None"]
    assert cluster.job(job)["JobState"] == "CONFIGURING"
    assert cluster.queue("-t", "CF", format="%i") == cluster.queue("-t", "PD,CF", format="%i") == [str(job)]
    assert cluster.queue("-t", "PD") == []
    document = cluster.run("squeue", "--json", check=0).stdout
    assert re.search(r'"job_state": \[\s*"RUNNING",\s*"CONFIGURING"\s*\]', document)
    cluster.kill()
    poll(lambda: cluster.queue(format="%t %r") == ["CF None"])
    (hooks.directory / "go.prolog_slurmctld").touch()
    hooks.wait(f"begin prolog_slurmd {job} n1")
    assert cluster.queue(format="%T %r") == ["RUNNING Prolog"]
    assert not (cluster.work / f"slurm-{job}.out").exists()
    (hooks.directory / "go.prolog_slurmd").touch()
    assert cluster.wait_end(job)["Reason"] == "None"


def test_nodes_are_kept_until_the_epilog_is_over(cluster, hooks):
    hooks.configure(cluster, "epilog")
    hooks.does("epilog", f"until [ -e {hooks.directory}/go ]; do sleep 0.05; done")
    job = cluster.submit("exit 0", "-N2", "--exclusive")
    hooks.wait(f"begin epilog_slurmd {job} n2")
    follower = cluster.submit("true", f"--dependency=afterok:{job}")
    other = cluster.submit("true")
    assert cluster.job(job)["JobState"] == "COMPLETING"
    assert cluster.queue(format="%i %t %r") == [f"{follower} PD Dependency", f"{other} PD Resources", f"{job} CG None"] \
        or {line.split()[1] for line in cluster.queue()} == {"PENDING", "COMPLETING"}
    assert cluster.run("sinfo", "-hN", "-o", "%T", check=0).stdout.split()[0] in ("completing", "allocated")
    (hooks.directory / "go").touch()
    for one in (job, follower, other):
        assert cluster.wait_end(one)["JobState"] == "COMPLETED"


def test_a_prolog_that_fails_drains_its_node_and_holds_the_job(cluster, hooks):
    hooks.configure(cluster)
    hooks.does("prolog", "exit 7")
    job = cluster.submit("echo never", "-w", "n2")
    poll(lambda: cluster.queue(format="%i %t %r") == [f"{job} PD launch failed requeued held"], what="that it is held")
    assert node_state(cluster, "n2") == "drained Prolog error"
    assert node_state(cluster, "n1") == "idle none"
    shown = cluster.job(job)
    assert (shown["Restarts"], shown["Priority"]) == ("1", "0")
    assert f"end epilog_slurmd {job} n2" in hooks.log()  # which always runs
    assert not (cluster.work / f"slurm-{job}.out").exists()
    hooks.does("prolog", None)
    cluster.run("scontrol", "update", "nodename=n2", "state=resume", check=0)
    cluster.run("scontrol", "release", job, check=0)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "never\n"


@pytest.mark.parametrize("front", ["farm", "sweep"])
def test_who_follows_jobs_of_his_own_releases_those_whose_launch_failed(cluster, hooks, front):
    """The first launch fails, and drains its node; without a release nobody would end."""
    hooks.configure(cluster)
    hooks.does("prolog", "[ -e failed ] || { touch failed; exit 7; }")
    if front == "farm":
        (cluster.work / "cases").write_text("true\n" * 3)
        done = cluster.run("minke", "farm", "run", "cases", "--jobs=1", check=0)
        assert done.stdout == "3 cases: 3 ok, 0 failed\n"
    else:
        (cluster.work / "s.yaml").write_text("method: grid\nparameters: {x: {values: [1]}}\ncommand: [\"true\"]\n")
        cluster.run("minke", "sweep", "run", "s.yaml", check=0)
    assert (hooks.directory / "failed").exists()
    assert sorted(node_state(cluster, node) for node in ("n1", "n2")) == ["drained Prolog error", "idle none"]


@pytest.mark.machine(nodes=4)
def test_a_farm_does_not_drain_all_nodes(cluster, hooks):
    hooks.configure(cluster)
    hooks.does("prolog", "exit 7")
    (cluster.work / "cases").write_text("true\n" * 3)
    farm = cluster.start("minke", "farm", "run", "cases", "--jobs=1")
    while "waits held, because its launch has failed again and again" not in (line := farm.stderr.readline()):
        assert line
    assert [node_state(cluster, f"n{i}") for i in range(1, 5)].count("idle none") == 1
    hooks.does("prolog", None)
    cluster.run("scontrol", "release", line.split()[line.split().index("job") + 1], check=0)
    assert farm.communicate(timeout=120)[0] == "3 cases: 3 ok, 0 failed\n"


def test_what_a_user_writes_drains_no_node(cluster, hooks):
    """The kernel executes nothing that has a variable of more than 128 KiB."""
    hooks.configure(cluster)
    long = "x" * 1000
    jobs = [cluster.submit("true", "-w", "n1", "-J", long, "-o", "/tmp/" + "%x" * 300),
            cluster.submit("true", "-w", "n2", "-J", long, "-e", "/tmp/" + "%x/" * 300, "-o", "out"),
            cluster.submit("true", "-w", "n1", "--comment", "c" * 1000)]
    for job in jobs:
        cluster.wait_end(job)
    assert cluster.job(jobs[2])["JobState"] == "COMPLETED"
    assert [node_state(cluster, node) for node in ("n1", "n2")] == ["idle none", "idle none"]
    told = hooks.environment("prolog", jobs[0], "n1")
    assert told["SLURM_JOB_NAME"] == long and "SLURM_JOB_STDOUT" not in told
    for kind, node in (("prolog", "n1"), ("epilog", "n1"), ("prolog_slurmctld", ""), ("epilog_slurmctld", "")):
        assert set(hooks.environment(kind, jobs[2], node)["SLURM_JOB_COMMENT"]) == {"c"}


@pytest.mark.machine(settings="requeue_delay = 1")
def test_it_goes_elsewhere_where_it_is_not_to_be_held(cluster, hooks):
    hooks.configure(cluster, "prolog", hold_when_failed="false")
    hooks.does("prolog", "[ $SLURMD_NODENAME = n2 ] || exit 7")
    job = cluster.submit("echo $SLURMD_NODENAME")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "n2\n" and node_state(cluster, "n1") == "drained Prolog error"


def test_a_step_whose_nodes_fail_their_prolog(cluster, hooks):
    hooks.configure(cluster, "prolog", "epilog")
    hooks.does("prolog", "[ $SLURMD_NODENAME = n1 ] || exit 7")
    job = cluster.submit("srun -N2 -n2 echo never; sleep 600", "-N2")
    poll(lambda: cluster.queue(format="%i %t %r") == [f"{job} PD launch failed requeued held"], what="that it is held")
    said = (cluster.work / f"slurm-{job}.out").read_text()
    assert "Job prolog failed" in said and "never" not in said
    assert node_state(cluster, "n2") == "drained Prolog error" and node_state(cluster, "n1") == "idle none"


def test_srun_where_the_prolog_fails(cluster, hooks):
    hooks.configure(cluster, "prolog")
    hooks.does("prolog", "exit 7")
    done = cluster.run("srun", "echo", "never")
    assert done.returncode != 0 and done.stdout == "" and "Job prolog failed" in done.stderr
    poll(lambda: cluster.queue() == [], what="that it has ended")
    assert node_state(cluster, "n1") == "drained Prolog error"


@pytest.mark.machine(settings="requeue_delay = 1")
def test_a_prolog_slurmctld_that_fails_requeues(cluster, hooks):
    hooks.configure(cluster)
    hooks.does("prolog_slurmctld", '[ "$SLURM_JOB_RESTART_COUNT" != 0 ] || exit 7')
    job = cluster.submit("echo then")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "then\n" and cluster.job(job)["Restarts"] == "1"
    assert {node_state(cluster, node) for node in ("n1", "n2")} == {"idle none"}
    first = hooks.log()[:3]
    assert first == [f"begin prolog_slurmctld {job}", f"begin epilog_slurmctld {job}", f"end epilog_slurmctld {job}"]
    hooks.does("prolog_slurmctld", "exit 7")
    done = cluster.run("salloc", "-N1", "echo", "never")
    assert done.returncode != 0 and "never" not in done.stdout


def test_an_epilog_that_fails_drains_its_node(cluster, hooks):
    hooks.configure(cluster)
    hooks.does("epilog", "[ $SLURMD_NODENAME = n1 ] || exit 9")
    hooks.does("epilog_slurmctld", "exit 9")
    job = cluster.submit("true", "-N2")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert node_state(cluster, "n2") == "drained Epilog error" and node_state(cluster, "n1") == "idle none"
    log = (cluster.home / "minked.log").read_text()
    assert re.search(rf"Epilog of job {job} on n2: \S+ failed with 9:0", log)
    assert re.search(rf"EpilogSlurmctld of job {job}: \S+ failed with 9:0", log)


def test_time_limit_and_output(cluster, hooks):
    hooks.configure(cluster, timeout=1)
    hooks.does("prolog", "echo health: fine; echo two >&2")
    hooks.does("epilog", "sleep 600 & echo $! > child; wait")
    job = cluster.submit("true")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert node_state(cluster, "n1") == "drained Epilog error"
    poll(lambda: has_ended(int((hooks.directory / "child").read_text())), what="the end of what it had started")
    log = (cluster.home / "minked.log").read_text()
    assert f"Prolog of job {job} on n1: health: fine" in log and f"Prolog of job {job} on n1: two" in log
    assert re.search(rf"Epilog of job {job} on n1: \S+ took too long", log)


def test_several(cluster, hooks, tmp_path):
    directory = tmp_path / "prolog.d"
    directory.mkdir()
    for name, text in (("10-one", "echo one >> $log"), ("20-two", "echo two >> $log; exit 4"), ("30-three", "echo three >> $log")):
        (directory / name).write_text(f"#!/bin/bash\nlog={hooks.directory}/said\n{text}\n")
        (directory / name).chmod(0o755)
    config = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    config.write_text(config.read_text() + f'[prolog]\nprolog = ["{hooks.program}", "{directory}/*"]\n')
    job = cluster.submit("true")
    poll(lambda: cluster.queue(format="%t %r") == ["PD launch failed requeued held"], what="that it is held")
    assert (hooks.directory / "said").read_text() == "three\ntwo\n"  # from z to a; none follows one that failed
    assert hooks.log() == [f"begin prolog_slurmd {job} n1", f"end prolog_slurmd {job} n1"]


def test_a_daemon_that_is_killed_in_a_prolog(cluster, hooks):
    hooks.configure(cluster)
    wait = f"until [ -e {hooks.directory}/go.$SLURM_SCRIPT_CONTEXT ]; do sleep 0.05; done"
    job = None
    for kind in KINDS[::-1]:
        hooks.does(kind, wait)
    job = cluster.submit("echo ran", "-N2")
    for kind, nodes in (("prolog_slurmctld", [""]), ("prolog", [" n1"]), ("epilog", [" n1", " n2"])):
        for node in nodes:
            hooks.wait(f"begin {CONTEXT[kind]} {job}{node}")
        old = [int(hooks.told(kind, job, node.strip(), "pid")) for node in nodes]
        cluster.kill()
        poll(lambda: all(has_ended(pid) for pid in old), what="the end of what the daemon had run")
        assert cluster.queue(format="%i") == [str(job)]
        for node in nodes:
            hooks.wait(f"begin {CONTEXT[kind]} {job}{node}", 2)
            assert f"end {CONTEXT[kind]} {job}{node}" not in hooks.log()
        (hooks.directory / f"go.{CONTEXT[kind]}").touch()
        if kind == "epilog":
            (hooks.directory / "go.epilog_slurmctld").touch()
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.output(job) == "ran\n"
    for line in (f"end prolog_slurmctld {job}", f"end prolog_slurmd {job} n1", f"end epilog_slurmd {job} n1",
                 f"end epilog_slurmd {job} n2", f"end epilog_slurmctld {job}"):
        assert hooks.log().count(line) == 1
    assert cluster.sacct("-X", format="State,ExitCode") == [["COMPLETED", "0:0"]]


def test_a_job_that_ends_while_no_daemon_runs(cluster, hooks):
    hooks.configure(cluster, "prolog", "epilog")
    job = cluster.submit("echo began; until [ -e go ]; do sleep 0.05; done; exit 4")
    output = cluster.work / f"slurm-{job}.out"
    poll(lambda: output.exists() and output.read_text() == "began\n", what="that it runs")
    cluster.kill()
    (cluster.work / "go").touch()
    assert hooks.log()[-1] == f"end prolog_slurmd {job} n1"
    assert cluster.wait_end(job)["ExitCode"] == "4:0"
    assert hooks.log().count(f"end epilog_slurmd {job} n1") == 1
    assert hooks.environment("epilog", job, "n1")["SLURM_JOB_EXIT_CODE2"] == "4:0"
    assert hooks.log().count(f"begin prolog_slurmd {job} n1") == 1


def test_none_is_lost_whenever_the_daemon_is_killed(cluster, hooks):
    hooks.configure(cluster)
    ran = cluster.work / "ran"
    for kind in KINDS:
        hooks.does(kind, "sleep 0.1")
    jobs = [cluster.submit(f'grep -qx "end prolog_slurmd $SLURM_JOB_ID $SLURMD_NODENAME" {hooks.directory}/log && '
                           f"echo $SLURM_JOB_ID >> {ran}; sleep 0.1", "--no-requeue" if number % 2 else "--requeue")
            for number in range(16)]
    for share in range(1, 8):
        poll(lambda: ran.exists() and len(ran.read_text().splitlines()) >= share * 2)
        cluster.kill()
        cluster.run("squeue")
    for job in jobs:
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert sorted(map(int, ran.read_text().split())) == jobs  # each once, and after its prolog
    log = hooks.log()
    for job in jobs:
        own = [line.split()[:2] for line in log if line.split()[2] == str(job)]
        for one in (["end", "prolog_slurmctld"], ["end", "prolog_slurmd"], ["end", "epilog_slurmd"], ["end", "epilog_slurmctld"]):
            assert one in own, own
        # A job that the launcher never had gives its nodes back, with their epilogs, and begins again.
        last = {kind: max(at for at, line in enumerate(own) if line == ["begin", kind]) for kind in ("prolog_slurmd", "epilog_slurmd")}
        assert last["prolog_slurmd"] < last["epilog_slurmd"], own
    assert {node_state(cluster, node) for node in ("n1", "n2")} == {"idle none"}


TASK_PROLOG = """#!/bin/bash
echo "prolog $SLURM_SCRIPT_CONTEXT $SLURM_STEP_ID $(id -u)" >> {log}
echo export HOOKED=a=b c
echo print hello there
echo unset GONE
echo "export  SPACED=1"
echo "  export INDENTED=2"
echo junk
echo "print  two"
"""
TASK_EPILOG = """#!/bin/bash
echo "epilog $SLURM_SCRIPT_CONTEXT $SLURM_STEP_ID" >> {log}
"""
TASK_JOB = """export GONE=1
echo batch HOOKED=$HOOKED SPACED=$SPACED INDENTED=$INDENTED
srun -n1 bash -c 'echo step HOOKED=$HOOKED GONE=$GONE SPACED=$SPACED; exit 5'
echo rc $?
"""


def task_programs(directory: pathlib.Path) -> dict[str, pathlib.Path]:
    programs = {}
    for name, text in (("task_prolog", TASK_PROLOG), ("task_epilog", TASK_EPILOG)):
        programs[name] = directory / name
        programs[name].write_text(text.format(log=directory / "log"))
        programs[name].chmod(0o755)
    return programs


def test_task_prolog_and_epilog(cluster, hooks):
    config = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    programs = task_programs(hooks.directory)
    config.write_text(config.read_text() + "[prolog]\n" +
                      "".join(f'{name} = "{path}"\n' for name, path in programs.items()))
    job = cluster.submit(TASK_JOB)
    cluster.wait_end(job)
    lines = cluster.output(job).splitlines()
    assert [line for line in lines if not line.startswith("srun:")] == [
        "hello there", "two", "batch HOOKED=a=b c SPACED=1 INDENTED=", "hello there", "two",
        "step HOOKED=a=b c GONE= SPACED=1", "rc 5"]
    uid = os.getuid()
    assert hooks.log() == [f"prolog prolog_task -5 {uid}", f"prolog prolog_task 0 {uid}", "epilog epilog_task 0",
                           "epilog epilog_task -5"]
    # Its failure is the task's.
    programs["task_prolog"].write_text("#!/bin/bash\nexit 6\n")
    done = cluster.run("srun", "echo", "never")
    assert done.returncode == 6 and done.stdout == "" and "TaskProlog failed status=6" in done.stderr
    # A script's shell gets its signals, though it is not the first process any more.
    programs["task_prolog"].write_text("#!/bin/bash\n")
    job = cluster.submit("trap 'echo got; exit 0' USR1\necho ready\nwhile :; do sleep 0.05; done")
    poll(lambda: (cluster.work / f"slurm-{job}.out").exists() and "ready" in (cluster.work / f"slurm-{job}.out").read_text())
    cluster.run("scancel", "--batch", "--signal=USR1", job, check=0)
    cluster.wait_end(job)
    assert cluster.output(job) == "ready\ngot\n"


def test_srun_prolog_and_epilog(cluster, hooks):
    programs = {}
    for name in ("srun_prolog", "srun_epilog", "own"):
        programs[name] = hooks.directory / name
        programs[name].write_text(f'#!/bin/bash\necho "{name} $SLURM_SCRIPT_CONTEXT $*" >> {hooks.directory}/log\n')
        programs[name].chmod(0o755)
    config = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    config.write_text(config.read_text() + f'[prolog]\nsrun_prolog = "{programs["srun_prolog"]}"\n'
                      f'srun_epilog = "{programs["srun_epilog"]}"\n')
    assert cluster.run("srun", "echo", "a", "b", check=0).stdout == "a b\n"
    assert hooks.log() == ["srun_prolog prolog_srun echo a b", "srun_epilog epilog_srun echo a b"]
    cluster.run("srun", f"--prolog={programs['own']}", "--epilog=none", "true", check=0)
    assert hooks.log()[2:] == ["own prolog_srun true"]


def test_slurm_conf(cluster, hooks, tmp_path):
    (cluster.home / "slurm.conf").write_text(
        f"Prolog={hooks.program}\nEpilog={hooks.program}\nEpilog=/not/there\nPrologSlurmctld=/not/there\n"
        "PrologEpilogTimeout=60\nPrologFlags=Alloc,Serial\nSchedulerParameters=nohold_on_prolog_fail\n")
    job = cluster.submit("true")
    cluster.wait_end(job)
    assert hooks.log() == [f"{when} {kind}_slurmd {job} n1" for kind in ("prolog", "epilog") for when in ("begin", "end")]
    shown = dict(re.split(r"\s*= ?", line, maxsplit=1)
                 for line in cluster.run("scontrol", "show", "config", check=0).stdout.splitlines() if "=" in line)
    assert shown["Prolog"] == shown["Epilog"] == str(hooks.program) and shown["PrologSlurmctld"] == "(null)"
    assert (shown["PrologFlags"], shown["PrologEpilogTimeout"]) == ("Alloc,Serial", "60")
    assert shown["SchedulerParameters"] == "nohold_on_prolog_fail"
    doctor = cluster.run("minke", "doctor").stdout
    assert "slurm.conf:3: Epilog" in doctor and "slurm.conf:4: PrologSlurmctld" in doctor
    assert "slurm.conf:1" not in doctor and "slurm.conf:6" not in doctor


@pytest.mark.parametrize("table, problem", [
    ('prolog = "relative"', "must be absolute paths"), ('prolog = "/not/there"', "/not/there cannot be executed"),
    ('flags = "Alloc,Nonsense"', "Nonsense is no flag of PrologFlags"), ('task_prolog = "/not/there"', "cannot be executed"),
    ("timeout = -1", "must be a number")])
def test_what_is_refused(cluster, table, problem):
    config = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    config.write_text(config.read_text() + f"[prolog]\n{table}\n")
    done = cluster.run("minke", "up")
    assert done.returncode == 1 and problem in done.stderr + done.stdout


# ---- in a shared cluster ------------------------------------------------------------------------------


@pytest.fixture
def root_hooks():
    directory = pathlib.Path("/var/lib") / f"minke-test-hooks-{os.getpid()}"
    yield Hooks(directory)
    subprocess.run(["rm", "-rf", directory], check=True)


@NEEDS_ROOT
def test_as_root_and_as_the_user(root_hooks):
    programs = task_programs(root_hooks.directory)
    (root_hooks.directory / "log").touch()
    (root_hooks.directory / "log").chmod(0o666)
    more = {name: f'"{path}"' for name, path in programs.items()}
    one = Shared(tables=root_hooks.table(*KINDS, **more))
    try:
        job = one.alice.submit("echo $HOOKED")
        one.alice.wait_end(job)
        assert one.alice.output(job) == "hello there\ntwo\na=b c\n"
        for kind, node in (("prolog", "n1"), ("epilog", "n1"), ("prolog_slurmctld", ""), ("epilog_slurmctld", "")):
            assert root_hooks.told(kind, job, node, "uid") == "0\n"
            told = root_hooks.environment(kind, job, node)
            assert (told["SLURM_JOB_USER"], told["SLURM_JOB_UID"]) == (one.alice.name, str(one.alice.uid))
        assert f"prolog prolog_task -5 {one.alice.uid}" in root_hooks.log()
        # What anybody else could change is not run as root, whenever it came to be so.
        os.chown(root_hooks.program, one.alice.uid, one.alice.gid)
        before = len(root_hooks.log())
        held = one.bob.submit("echo never")
        poll(lambda: "PD" in one.bob.run("squeue", "-h", "-o", "%t").stdout, what="that it waits again")
        assert len(root_hooks.log()) == before
        log = (one.home / "minked.log").read_text()
        assert "must be root's, and nobody else may write to it" in log
        assert "must be root's" in one.root_run("scontrol", "reconfigure").stderr
        os.chown(root_hooks.program, 0, 0)
        assert one.root_run("scontrol", "reconfigure").returncode == 0
        one.bob.run("scancel", held)
    finally:
        os.chown(root_hooks.program, 0, 0)
        one.close()


@NEEDS_ROOT
def test_what_others_may_write_to_is_refused(root_hooks):
    directory = pathlib.Path("/tmp")  # anybody could put another program in its place
    program = directory / f"minke-test-hook-{os.getpid()}"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    one = Shared()
    try:
        config = pathlib.Path(one.root["MINKE_CONFIG"])
        text = config.read_text()
        link = root_hooks.directory / "link"
        link.symlink_to(program)
        for path in (program, link):
            config.write_text(text + f'[prolog]\nepilog = "{path}"\n')
            done = one.root_run("scontrol", "reconfigure")
            assert done.returncode != 0 and "/tmp must be root's" in done.stderr
        config.write_text(text)
        assert one.root_run("scontrol", "reconfigure").returncode == 0
    finally:
        program.unlink()
        one.close()


# ---- beside a real Slurm ------------------------------------------------------------------------------

# What Minke adds: by which the cluster is found, and what newer Slurm tells, or the manual promises.
ADDED = {"MINKE_HOME", "MINKE_CLUSTER", "PATH", "SLURM_JOB_USER", "SLURM_JOB_NAME", "SLURM_JOB_NODELIST", "SLURM_JOB_GROUP",
         "SLURM_JOB_START_TIME", "SLURM_JOB_END_TIME", "SLURM_CONF"}
# What names this run of this system; an account that there is none of; a path with its pattern.
ITS_OWN = {"SLURM_CLUSTER_NAME", "SLURM_CONF", "SLURM_JOB_WORK_DIR", "SLURM_JOB_ACCOUNT", "SLURM_JOB_STDOUT", "PWD",
           "OLDPWD", "SHLVL", "_"}


class Slurm(Commands):
    def __init__(self, hooks: Hooks):
        programs = {"Prolog": "prolog", "Epilog": "epilog", "PrologSlurmctld": "", "EpilogSlurmctld": ""}
        lines = [f"{name}={hooks.program}" for name in programs]
        lines += [f"{name}={path}" for name, path in
                  zip(("TaskProlog", "TaskEpilog"), task_programs(hooks.directory).values())]
        self.slurm = LoopbackSlurm(cpus=4, nodes=2, memory=2000, extra="\n".join(lines)).__enter__()
        self.work = self.slurm.directory / "work"
        self.work.mkdir()
        self.environment = plain_environment() | {"SLURM_CONF": self.slurm.environment["SLURM_CONF"]}

    def close(self):
        self.run("scancel", "--me")
        self.slurm.__exit__(None, None, None)


@NEEDS_ROOT
@pytest.mark.xdist_group("prologs")
def test_they_are_told_what_slurm_tells(cluster, tmp_path):
    from peers.slurm import missing_program
    if missing_program():
        pytest.skip(f"{missing_program()} is not installed")
    ours, theirs = Hooks(tmp_path / "ours"), Hooks(tmp_path / "theirs")
    ours.configure(cluster, *KINDS, **{name: f'"{path}"' for name, path in task_programs(ours.directory).items()})
    slurm = Slurm(theirs)
    try:
        outputs = []
        for system in (cluster, slurm):
            job = system.submit(TASK_JOB + "exit 3\n", "-N1", "-wn2", "--comment=a comment", "--job-name=na me")
            system.wait_end(job)
            outputs.append([line for line in system.output(job).splitlines() if not line.startswith("srun:")])
        theirs.wait(f"end epilog_slurmd {job} n2")
        theirs.wait(f"end epilog_slurmctld {job}")
        assert outputs[0] == outputs[1]
        for kind, node in (("prolog", "n2"), ("epilog", "n2"), ("prolog_slurmctld", ""), ("epilog_slurmctld", "")):
            own, others = (hooks.environment(kind, job, node) for hooks in (ours, theirs))
            assert set(others) - ITS_OWN - set(own) == set(), kind
            assert set(own) - set(others) - ADDED - ITS_OWN == set(), kind
            same = set(own) & set(others) - ITS_OWN
            assert {name: own[name] for name in same} == {name: others[name] for name in same}, kind
    finally:
        slurm.close()
