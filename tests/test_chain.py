"""minke chain: a job script in parts, until it is done or its total is used up."""
import re
import shutil
import subprocess

import pytest

from cluster import poll

MINKE_ONLY = True

SAVES = """n=$(cat state 2>/dev/null || echo 0)
trap 'echo $((n+1)) > state; echo saved; exit 0' USR1
echo "part $MINKE_CHAIN_PART restart ${SLURM_RESTART_COUNT:-0} argument $1"
[ $n = PARTS ] && exit 0
while :; do sleep 0.2; done
"""
REQUEUES_ITSELF = """import os, signal, subprocess, sys, time
if os.environ.get("SLURM_RESTART_COUNT", "0") != "0":
    print("resumed")
    sys.exit(0)
def requeue(*_):
    subprocess.run(["scontrol", "requeue", os.environ["SLURM_JOB_ID"]])
    time.sleep(5)
signal.signal(signal.SIGUSR1, requeue)
signal.signal(signal.SIGTERM, lambda *_: None)
while True:
    time.sleep(0.1)
"""


def chain(cluster, text, *options, arguments=()) -> int:
    done = cluster.run("minke", "chain", *options, "--parsable", cluster.script(text), *arguments, check=0)
    return int(done.stdout)


def ended(cluster, job):
    fields = cluster.wait_state(job, "COMPLETED", "FAILED", "TIMEOUT", seconds=100)
    return fields, (cluster.work / f"slurm-{job}.out").read_text()


def test_it_goes_on_until_it_is_done(cluster):
    """Warned five seconds after it began, a part saves its state and ends; the third one has nothing left to do."""
    job = chain(cluster, SAVES.replace("PARTS", "2"), "--total=10", "--each", "1", "--warn=55s", arguments=["a b"])
    fields, text = ended(cluster, job)
    assert fields["JobState"] == "COMPLETED" and text.count("saved") == 2
    assert "part 1 restart 0 argument a b" in text and "part 3 restart 2 argument a b" in text
    assert "done in part 3" in text


def test_the_part_is_told_everywhere(cluster):
    """At the submission, in the queue, in one's own list, in the log and to the program."""
    gate = cluster.work / "gate"
    script = cluster.script(f"echo $MINKE_CHAIN_PART/$MINKE_CHAIN_PARTS; while [ ! -e {gate} ]; do sleep 0.1; done; rm {gate}; exit 75")
    done = cluster.run("minke", "chain", "--total=3m", "--each=1m", "--comment=mine", script, check=0)
    assert "00:03:00 in 3 parts of 00:01:00" in done.stdout
    job = int(done.stdout.split()[3].rstrip(":"))
    told = lambda: cluster.run("squeue", "-h", "-j", job, "-O", "comment:50").stdout.strip()
    assert told() == "part 1 of 3; mine"
    cluster.wait_state(job, "RUNNING")
    assert re.search(rf"^{job} .* n\d, part 1 of 3$", cluster.run("minke", "jobs").stdout, re.MULTILINE)
    gate.touch()
    poll(lambda: told().startswith("part 2 of "), 100, "the second part")
    comment = cluster.job(job)["Comment"]
    # The first part was short: there is time for three more. On a machine that stood still, for two.
    assert comment in ("part 2 of 4; mine", "part 2 of 3; mine")
    cluster.run("scancel", job, check=0)
    text = (cluster.work / f"slurm-{job}.out").read_text()
    assert "minke chain: part 1 of 3: 00:00:00 of 00:03:00 used" in text and "1/3\n" in text and comment.replace("; mine", ": ") in text


def test_it_says_itself_that_it_is_done(cluster):
    job = chain(cluster, 'touch "$MINKE_CHAIN_DONE"; exit 75', "--total=10", "--each=1")
    assert ended(cluster, job)[0]["JobState"] == "COMPLETED"


def test_one_can_wait_for_its_end(cluster):
    script = cluster.script("echo part $MINKE_CHAIN_PART >> parts; [ $MINKE_CHAIN_PART = 2 ] && exit 0; exit 75")
    cluster.run("minke", "chain", "--total=10", "--each=1", "--wait", script, check=0)
    assert (cluster.work / "parts").read_text() == "part 1\npart 2\n"


def test_exit_code_75_asks_for_another_part(cluster):
    job = chain(cluster, "[ ${SLURM_RESTART_COUNT:-0} = 2 ] || exit 75", "--total=10", "--each=1")
    fields, text = ended(cluster, job)
    assert fields["JobState"] == "COMPLETED" and "done in part 3" in text


def test_a_failure_ends_it(cluster):
    fields, _ = ended(cluster, chain(cluster, "exit 3", "--total=10", "--each=1"))
    assert fields["JobState"] == "FAILED" and fields["ExitCode"] == "3:0" and fields["Restarts"] == "0"


def test_the_total_ends_it(cluster):
    job = chain(cluster, SAVES.replace("PARTS", "99"), "--total=1", "--each=1", "--warn=55s")
    fields, text = ended(cluster, job)
    assert fields["ExitCode"] == "75:0" and "the work is not done" in text


def test_what_does_not_heed_the_warning_is_requeued_before_its_limit(cluster):
    job = chain(cluster, "[ ${SLURM_RESTART_COUNT:-0} = 1 ] && exit 0\nsleep 600", "--total=10", "--each=1", "--warn=55s")
    fields, text = ended(cluster, job)
    assert fields["JobState"] == "COMPLETED" and "part 1 does not end by itself" in text


def test_a_step_that_requeues_its_job_when_warned(cluster):
    """As PyTorch Lightning does: the script's own --signal, to its steps."""
    (cluster.work / "train.py").write_text(REQUEUES_ITSELF)
    job = chain(cluster, "#SBATCH --signal=USR1@55\nsrun python3 train.py", "--total=10", "--each=1")
    fields, text = ended(cluster, job)
    assert fields["JobState"] == "COMPLETED" and text.count("resumed") == 1


@pytest.mark.parametrize("options, problem", [
    (["--total=1"], "--total and --each are needed"), (["--total=1", "--each=x"], "invalid time"),
    (["--total=1", "--each=3"], "is less than one part of --each"), (["--total=1m", "--each=3m"], "--time=00:01:00 does it, without a chain"),
    (["--total=soon", "--each=1"], "invalid time: soon; write"),
    (["--total=2", "--each=1", "--time=3"], "leave --time out"),
    (["--total=2", "--each=1", "--no-requeue"], "it cannot be with --no-requeue"),
    (["--total=2", "--each=1", "--warn=2"], "--warn must be shorter")])
def test_wrong_requests_are_named(cluster, options, problem):
    done = cluster.run("minke", "chain", *options, cluster.script("true"))
    assert done.returncode == 1 and problem in done.stderr


def test_states_are_kept_only_where_criu_works(cluster):
    """Elsewhere it is refused, in CRIU's words; tests/vm/test_checkpoint.py has where it works."""
    done = cluster.run("minke", "chain", "--checkpoint=auto", "--total=2", "--each=1", "-H", cluster.script("true"))
    checked = subprocess.run(["criu", "check"], capture_output=True, text=True) if shutil.which("criu") else None
    if checked and checked.returncode == 0:
        assert done.returncode == 0
    else:
        reason = "criu check: " if checked else "criu is not installed"
        assert done.returncode == 1 and f"--checkpoint=auto is not to be had here: {reason}" in done.stderr
        assert not cluster.queue()
    assert "it is --checkpoint=auto" in cluster.run("minke", "chain", "--checkpoint=5").stderr
