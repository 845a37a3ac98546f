"""Sweeps: searches for hyperparameters, as jobs. Trainings here are shell scripts that write a CSV."""
import json
import os
import pathlib
import re
import signal
import sqlite3
import statistics

import pytest

from cluster import ROOT, Machine, poll

TRAIN = """#!/usr/bin/python3
import os, sys, time
lr, where = 0.0, os.environ["MINKE_TRIAL_DIR"]
given = dict(word.lstrip("-").split("=", 1) for word in sys.argv[1:])
with open("ran.txt", "a") as file:
    print(os.environ["MINKE_TRIAL"], os.environ["SLURM_JOB_ID"], *sys.argv[1:], file=file)
done = 0
checkpoint = os.environ["MINKE_CHECKPOINT_DIR"] + "/epoch"
if os.path.exists(checkpoint):
    done = int(open(checkpoint).read())
with open(where + "/log.csv", "a", buffering=1) as file:
    if not done:
        print("epoch,loss,other", file=file)
    for epoch in range(done + 1, int(given.get("epochs", 3)) + 1):
        print(f"{epoch},{abs(float(given['lr']) - 0.3) + 1 / epoch},7", file=file)
        open(checkpoint, "w").write(str(epoch))
        open("epochs.txt", "a").write(os.environ["MINKE_TRIAL"] + "\\n")
        time.sleep(float(given.get("pause", 0)))
"""

FILE = """
program: train.py
method: {method}
metric: {{name: {metric}, goal: minimize}}
run_cap: 6
parameters:
  lr: {{min: 0.0, max: 1.0}}
  epochs: {{value: 3}}
{more}"""


@pytest.fixture
def work(cluster):
    path = cluster.work / "train.py"
    path.write_text(TRAIN)
    path.chmod(0o755)
    return cluster


def sweep_file(work, method="random", metric="loss", more="", name="s.yaml") -> pathlib.Path:
    path = work.work / name
    path.write_text(FILE.format(method=method, metric=metric, more=more))
    return path


def trials(work, directory="sweeps/s") -> list[dict]:
    return json.loads(work.run("minke", "sweep", "status", directory, "--json", check=0).stdout)["trials"]


def lines(path: pathlib.Path) -> list[str]:
    return path.read_text().splitlines() if path.exists() else []


def test_a_file_of_wandbs_is_run_as_it_is(work):
    done = work.run("minke", "sweep", "run", sweep_file(work, "bayes"), check=0)
    assert re.search(r"^Trial \d: loss 0\.", done.stdout, re.M), done.stdout
    found = trials(work)
    assert [one["trial"] for one in found] == [1, 2, 3, 4, 5, 6]
    assert all(one["state"] == "COMPLETED" and len(one["jobs"]) == 1 for one in found)
    for one in found:
        assert one["value"] == pytest.approx(abs(one["parameters"]["lr"] - 0.3) + 1 / 3)
        assert one["parameters"]["epochs"] == 3
    best = json.loads(work.run("minke", "sweep", "best", "s", "--json", check=0).stdout)
    assert best["value"] == min(one["value"] for one in found)
    assert len(lines(work.work / "ran.txt")) == 6
    # Each report, and the pictures.
    status = work.run("minke", "sweep", "status", "s", check=0).stdout
    assert "6 of 6 trials, 6 COMPLETED" in status and "lr=" in status
    assert "lr" in work.run("minke", "sweep", "importance", "s", check=0).stdout
    assert "●" in work.run("minke", "sweep", "parallel", "s", check=0).stdout
    assert "trial " in work.run("minke", "sweep", "curves", "s", check=0).stdout
    for picture in ("curves", "parallel", "importance"):
        work.run("minke", "sweep", picture, "s", "--svg", f"{picture}.svg", check=0)
        text = (work.work / f"{picture}.svg").read_text()
        assert text.startswith("<svg") and text.endswith("</svg>\n") and "nan" not in text
    assert len(re.findall("<polyline", (work.work / "curves.svg").read_text())) == 6
    work.run("minke", "sweep", "export", "s", "--csv", "t.csv", check=0)
    assert lines(work.work / "t.csv")[0] == "trial,state,value,lr,epochs" and len(lines(work.work / "t.csv")) == 7
    # The same again does nothing more.
    work.run("minke", "sweep", "run", work.work / "s.yaml", check=0)
    assert len(lines(work.work / "ran.txt")) == 6


def test_a_study_of_optunas(work):
    """Optuna itself opens it in docs/sweeps.md's bench; here its tables are looked at."""
    more = "  kind: {values: [a, 2, null]}\n  n: {min: 1, max: 9}\n  rate: {distribution: log_uniform_values, min: 1.0e-5, max: 1}\n"
    work.run("minke", "sweep", "run", sweep_file(work, more=more), check=0)
    said = work.run("minke", "sweep", "export", "s", "--optuna", "o.db", check=0).stdout
    assert 'study_name="sweep"' in said
    database = sqlite3.connect(work.work / "o.db")
    assert database.execute("SELECT count(*) FROM trials WHERE state = 'COMPLETE'").fetchone() == (6,)
    values = sorted(value for value, in database.execute("SELECT value FROM trial_values"))
    assert values == pytest.approx(sorted(one["value"] for one in trials(work)))
    shapes = {name: json.loads(text) for name, text in database.execute("SELECT param_name, distribution_json FROM trial_params")}
    assert shapes["rate"] == {"name": "FloatDistribution", "attributes": {"step": None, "low": 1e-5, "high": 1.0, "log": True}}
    assert shapes["kind"]["attributes"]["choices"] == ["a", 2, None]
    assert shapes["n"] == {"name": "IntDistribution", "attributes": {"log": False, "step": 1, "low": 1, "high": 9}}
    assert database.execute("SELECT version_num FROM alembic_version").fetchone() == ("v3.2.0.a",)
    again = work.run("minke", "sweep", "export", "s", "--optuna", "o.db", check=1)
    assert "is there already" in again.stderr


def test_parameters_without_a_file_and_macros(work):
    command = ["--", "python3", "-c", "import sys, os; open(os.environ['MINKE_TRIAL_DIR'] + '/m.jsonl', 'w').write("
               "'{\"step\": 1, \"loss\": %s}\\n' % sys.argv[1].split('=')[1]); print(sys.argv)"]
    work.run("minke", "sweep", "run", "--param", "lr=log:1e-5..1e-1", "--param", "flag=true", "--metric", "loss", "-n", 3, *command, check=0)
    found = trials(work, "sweep")
    assert len(found) == 3 and all(one["value"] == pytest.approx(one["parameters"]["lr"]) for one in found)
    assert "'--flag=True'" in (work.work / "sweeps/sweep/trials/1/output.log").read_text()
    (work.work / "m.yaml").write_text("""
method: grid
parameters:
  a: {values: [1, 2]}
  on: {value: true}
  off: {value: false}
  nested: {parameters: {b: {value: "it's"}}}
command: ["printf", "[%s]", "${args_no_hyphens}", "${args_no_boolean_flags}", "${args_json}", "${args_flat}", "t=${trial}", "${envvar:WHAT}"]
""")
    work.run("minke", "sweep", "run", "m.yaml", check=0, env={"WHAT": "a b"})
    said = (work.work / "sweeps/m/trials/2/output.log").read_text()
    assert said == ("[a=2][on=True][off=False][nested={'b': \"it's\"}]"
                    "[--a=2][--on][--nested={'b': \"it's\"}]"
                    '[{"a":2,"on":true,"off":false,"nested":{"b":"it\'s"}}]'
                    "[--a=2][--on=True][--off=False][--nested.b=it's][t=2][a b]")


@pytest.mark.parametrize("kind", ["asha", "hyperband"])
def test_successive_halving_carries_checkpoints_on(work, kind):
    stop = f"early_terminate: {{type: {kind}, min_iter: 1, max_iter: 9, eta: 3, resource: epochs}}\n"
    text = FILE.format(method="random", metric="loss", more=stop).replace("  epochs: {value: 3}\n", "").replace("run_cap: 6", "run_cap: 9")
    (work.work / "s.yaml").write_text(text)
    work.run("minke", "sweep", "run", "s.yaml", check=0, timeout=120)
    found = trials(work)
    assert len(found) == 9
    budgets = [one["epochs"] for one in found]
    asked = [json.loads(line) for line in lines(work.work / "sweeps/s/journal.jsonl") if '"ask"' in line]
    firsts = [next(piece["budget"] for piece in asked if piece["trial"] == one["trial"]) for one in found]
    assert any(first < budget for first, budget in zip(firsts, budgets))
    if kind == "asha":
        assert set(firsts) == {1} and set(budgets) == {1, 3, 9}
        assert 3 <= len(budgets) - budgets.count(1) <= 6 and budgets.count(9) <= 2
    else:  # brackets that begin with more
        assert set(firsts) == {1, 3, 9}
    # Nobody trains an epoch twice.
    epochs = lines(work.work / "epochs.txt")
    for one in found:
        assert epochs.count(str(one["trial"])) == one["epochs"]
        assert len(one["jobs"]) == sum(piece["trial"] == one["trial"] for piece in asked)


def test_hyperband_stops_those_that_run(work):
    more = "  pause: {value: 0.2}\nearly_terminate: {type: hyperband, min_iter: 3, eta: 2}\n"
    text = FILE.format(method="grid", metric="loss", more=more).replace("{min: 0.0, max: 1.0}", "{values: [0.3, 0.9, 0.8]}")
    (work.work / "s.yaml").write_text(text.replace("epochs: {value: 3}", "epochs: {value: 60}"))
    work.run("minke", "sweep", "run", "s.yaml", "-j", 3, check=0, timeout=120)
    found = {one["parameters"]["lr"]: one for one in trials(work)}
    assert found[0.3]["state"] == "COMPLETED" and {found[0.8]["state"], found[0.9]["state"]} == {"STOPPED"}
    assert all(0.5 < found[lr]["value"] < 1.5 for lr in (0.8, 0.9))


def test_population_goes_on_from_the_best(work):
    text = FILE.format(method="random", metric="loss", more="population: {size: 4, interval: 2, max: 6, resource: epochs}\n")
    (work.work / "s.yaml").write_text(text.replace("  epochs: {value: 3}\n", "").replace("run_cap: 6\n", ""))
    work.run("minke", "sweep", "run", "s.yaml", check=0, timeout=120)
    found = trials(work)
    assert len(found) == 4 and all(one["epochs"] == 6 and len(one["jobs"]) == 3 for one in found)
    asked = [json.loads(line) for line in lines(work.work / "sweeps/s/journal.jsonl")]
    assert sum("source" in one for one in asked if one["event"] == "ask") == 2
    assert len(lines(work.work / "epochs.txt")) == 4 * 6


def test_a_trial_that_the_cluster_ends_goes_on_and_counts_once(work):
    """Exit code 75, as chains have it, and a job that is gone."""
    (work.work / "train.py").write_text(TRAIN + """
    if not os.path.exists(where + "/again"):
        open(where + "/again", "w")
        sys.exit(75)
""")
    work.run("minke", "sweep", "run", sweep_file(work), "-n", 2, check=0)
    found = trials(work)
    assert [one["state"] for one in found] == ["COMPLETED"] * 2 and all(len(one["jobs"]) == 2 for one in found)
    assert len(lines(work.work / "epochs.txt")) == 6


# Three epochs, then nothing until the cluster ends it; the state of the third is saved at SIGTERM, and slowly.
ENDED = """#!/usr/bin/python3
import fcntl, os, signal, sys, time
trial, where, checkpoint = os.environ["MINKE_TRIAL"], os.environ["MINKE_TRIAL_DIR"], os.environ["MINKE_CHECKPOINT_DIR"] + "/epoch"
lock = open(checkpoint + ".lock", "w")
try:
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    open("overlap.txt", "a").write(trial + "\\n")
done = epoch = int(open(checkpoint).read()) if os.path.exists(checkpoint) else 0

def save():
    open(checkpoint + ".new", "w").write(str(epoch))
    os.replace(checkpoint + ".new", checkpoint)

def end(*_):
    time.sleep(1)
    save()
    sys.exit(0)

signal.signal(signal.SIGTERM, end)
with open(where + "/log.csv", "a", buffering=1) as file:
    if not done:
        print("epoch,loss", file=file)
    for epoch in range(done + 1, 7):
        print(f"{epoch},{1 / epoch}", file=file)
        if epoch == 3:
            open("begun.txt", "a").write(f"{trial} {os.environ['SLURM_JOB_ID']} {done}\\n")
            while not os.path.exists("go-on"):
                time.sleep(0.05)
        save()
open("done.txt", "a").write(f"{trial} {os.environ['SLURM_JOB_ID']} {done}\\n")
"""

TIERS = """
[preemption]
type = "partition"
mode = "{mode}"

[[partition]]
name = "low"
priority_tier = 1

[[partition]]
name = "high"
priority_tier = 2
"""


def preempt(cluster, _job) -> None:
    cluster.wait_end(cluster.submit("touch go-on", "-p", "high", "-w", "n1", "-c", "2"))


def reach_the_limit(cluster, job) -> None:
    """Sooner than in a minute: the end of its reservation is a job's limit too."""
    cluster.run("scontrol", "update", "reservationname=r", "endtime=now+2", check=0)
    cluster.wait_state(job, "TIMEOUT")
    (cluster.work / "go-on").touch()
    cluster.run("scontrol", "update", "reservationname=r", "starttime=now", check=0)


def lose_the_node(cluster, job) -> None:
    cluster.run("scontrol", "update", "nodename=n1", "state=down", "reason=broken", check=0)
    cluster.wait_state(job, "PENDING")
    (cluster.work / "go-on").touch()
    cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=0)


def lose_the_launcher(cluster, job) -> None:
    cluster.kill("launcher")
    poll(lambda: cluster.job(job)["Restarts"] == "1", 30, "its return to the queue")
    (cluster.work / "go-on").touch()


def stop_and_resume(cluster, _job) -> None:
    cluster.run("minke", "sweep", "stop", "s", check=0, timeout=120)
    poll(lambda: cluster.queue() == [], 60, "the end of its job")
    (cluster.work / "go-on").touch()


@pytest.mark.parametrize("end, state, jobs", [(preempt, "PREEMPTED", 2), (preempt, None, 1), (reach_the_limit, "TIMEOUT", 2),
                                              (lose_the_node, None, 1), (lose_the_launcher, None, 1), (stop_and_resume, None, 2)])
def test_a_trial_that_the_cluster_ends_goes_on_from_its_checkpoint(new_cluster, end, state, jobs):
    """Its job runs again, or another does. It is one trial, and its metric is whole."""
    mode = "cancel" if state == "PREEMPTED" else "requeue"
    cluster = new_cluster("ends", Machine(nodes=2, cpus=2, memory=2000, kill_wait=30, extra=TIERS.format(mode=mode)))
    (cluster.work / "train.py").write_text(ENDED)
    (cluster.work / "s.yaml").write_text("program: train.py\nmethod: random\nmetric: {name: loss}\nrun_cap: 1\nparameters: {lr: {min: 0.0, max: 1.0}}\n")
    options = ["--sbatch=--partition=low", "--sbatch=-wn1", "--sbatch=-c2"]
    if end == reach_the_limit:
        user = cluster.run("id", "-un", check=0).stdout.strip()
        cluster.run("scontrol", "create", "reservationname=r", "starttime=now", "duration=60", f"users={user}", "nodes=n1", "flags=daily", check=0)
        options.append("--sbatch=--reservation=r")
    process = cluster.start("minke", "sweep", "run", "s.yaml", *options)
    begun, = poll(lambda: lines(cluster.work / "begun.txt"), 30, "its third epoch")
    end(cluster, begun.split()[1])
    out, err = process.communicate(timeout=240)
    assert process.returncode == 0, out + err
    if end == stop_and_resume:
        cluster.run("minke", "sweep", "resume", "s", check=0, timeout=120)
    assert not (cluster.work / "overlap.txt").exists()
    found, = trials(cluster)
    assert found["state"] == "COMPLETED" and found["value"] == pytest.approx(1 / 6)
    assert len(found["jobs"]) == jobs
    if state:
        assert cluster.job(found["jobs"][0])["JobState"] == state and f"ended as {state}, and goes on" in out
    # It went on: with the state that was saved at the end, where there was time for that.
    trial, job, done = lines(cluster.work / "done.txt")[0].split()
    assert (trial, int(job)) == ("1", found["jobs"][-1]) and len(lines(cluster.work / "done.txt")) == 1
    assert done == "3" if end in (reach_the_limit, stop_and_resume) else done in ("2", "3")
    assert {int(line.split(",")[0]) for line in lines(cluster.work / "sweeps/s/trials/1/log.csv")[1:]} == set(range(1, 7))


def test_kill_minus_nine_loses_nothing(work):
    """The steering process is killed again and again, the daemon too: each trial runs once."""
    path = sweep_file(work, more="  pause: {value: 0.05}\n")
    command = ["run", path, "-j", 2]
    for round in range(6):
        process = work.start("minke", "sweep", *command)
        wanted = min(6, round + 1)
        poll(lambda: process.poll() is not None or len(lines(work.work / "ran.txt")) >= wanted, 30, "a trial")
        process.send_signal(signal.SIGKILL)
        process.communicate()
        if round == 2:
            work.kill()
        command = ["resume", "s"]
    # A line that a crash cut off.
    with open(work.work / "sweeps/s/journal.jsonl", "a") as file:
        file.write('{"event":"as')
    work.run("minke", "sweep", "resume", "s", check=0, timeout=120)
    found = trials(work)
    assert len(found) == 6 and all(one["state"] == "COMPLETED" for one in found), found
    ran = [line.split()[0] for line in lines(work.work / "ran.txt")]
    assert sorted(ran) == ["1", "2", "3", "4", "5", "6"]
    assert sum(len(one["jobs"]) for one in found) == 6


def test_stop_and_resume(work):
    path = sweep_file(work, more="  pause: {value: 30}\n")
    process = work.start("minke", "sweep", "run", path, "-j", 2)
    poll(lambda: len(lines(work.work / "ran.txt")) == 2, 30, "two trials")
    second = work.run("minke", "sweep", "resume", "s", check=1)
    assert "another minke sweep steers" in second.stderr
    work.run("minke", "sweep", "stop", "s", check=0)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0 and "is stopped" in out
    poll(lambda: work.queue() == [], 30, "an empty queue")
    (work.work / "train.py").write_text(TRAIN.replace('time.sleep(float(given.get("pause", 0)))', "pass"))
    work.run("minke", "sweep", "resume", "s", check=0, timeout=120)
    assert all(one["state"] == "COMPLETED" for one in trials(work)) and len(trials(work)) == 6
    assert len(lines(work.work / "epochs.txt")) == 18  # from their checkpoints


def test_no_trial_takes_the_values_of_others(work):
    """Other jobs wrote metrics below the same directory, in the same second."""
    (work.work / "nan.yaml").write_text("""
method: grid
metric: {name: loss}
parameters: {x: {values: [1, 2]}}
command: [bash, -c, "printf 'step,loss\\\\n1,nan\\\\n' > $MINKE_TRIAL_DIR/l.csv"]
""")
    (work.work / "silent.yaml").write_text(
        "method: grid\nmetric: {name: loss}\nparameters: {x: {values: [1, 2]}}\ncommand: [\"true\"]\n")
    script = work.script("mkdir -p other; while :; do printf 'step,loss\\n1,0.5\\n' > other/log.csv; sleep 0.1; done\n")
    other = work.sbatch("-n", 1, script)
    work.wait_state(other, "RUNNING")
    poll((work.work / "other/log.csv").exists, 30, "the other job's file")
    for name in ("nan", "silent"):
        done = work.run("minke", "sweep", "run", f"{name}.yaml", "-j", 1, check=1)
        assert "no trial has a value" in done.stderr, done.stdout + done.stderr
        assert all("it wrote no finite value of loss" in one["reason"] for one in trials(work, name))
    work.run("scancel", other)


def test_what_is_wrong_is_told(work):
    def said(*words, **options) -> str:
        return work.run("minke", "sweep", *words, check=1, **options).stderr
    assert "there is no method gird; did you mean grid?" in said("run", sweep_file(work, "gird"))
    assert "s.yaml: line 3: " in said("run", sweep_file(work, "gird"))
    assert "there is no sweep nothing" in said("status", "nothing")
    (work.work / "idle.yaml").write_text("method: random\nparameters: {x: {value: 1}}\n")
    assert "it says nothing to run" in said("run", "idle.yaml")
    never = said("run", sweep_file(work, metric="accuracy", name="n.yaml"), "-j", 1)
    assert "none of the first 3 trials wrote a finite value of accuracy; they wrote loss, other: name one of these" in never
    assert len(trials(work, "n")) == 3
    (work.work / "nan.yaml").write_text("""
method: grid
metric: {name: loss}
parameters: {x: {values: [1, 2]}}
command: [bash, -c, "printf 'step,loss\\\\n1,nan\\\\n' > $MINKE_TRIAL_DIR/l.csv"]
""")
    assert "no trial has a value" in said("run", "nan.yaml")
    assert "it wrote no finite value of loss" in trials(work, "nan")[0]["reason"]
    (work.work / "options.yaml").write_text((work.work / "nan.yaml").read_text() + "sbatch: [--time=24h]\n")
    assert "options.yaml: sbatch's options: Invalid --time specification (write 24:00:00" in said("run", "options.yaml")
    assert "sbatch's options: Invalid --time" in said("run", "nan.yaml", "-d", "other", "--sbatch=--time=24h")
    assert not (work.work / "sweeps/options").exists() and not (work.work / "other").exists()
    (work.work / "fails.yaml").write_text("method: grid\nmetric: {name: l}\nparameters: {x: {values: [1, 2]}}\ncommand: [\"false\"]\n")
    said("run", "fails.yaml")
    assert all("FAILED, exit code 1:0" in one["reason"] for one in trials(work, "fails"))
    # Options that the cluster refuses cost nothing: the right ones go on.
    good = sweep_file(work, name="opt.yaml")
    assert "minke sweep resume" in said("run", good, "--sbatch=--partition=nowhere")
    work.run("minke", "sweep", "run", good, "-n", 2, check=0)
    assert len(trials(work, "opt")) == 2
    other = said("run", good, "-n", 3)
    assert "has another sweep, or the same with other options" in other


def test_a_loop_of_ones_own_asks_and_tells(work):
    """The Python client; a program that dies leaves its trial to the next one."""
    (work.work / "loop.py").write_text("""
import os, sys
import minke
space = {"name": "own", "method": "tpe", "metric": {"name": "y", "goal": "maximize"}, "run_cap": 20,
         "parameters": {"x": {"min": 0.0, "max": 1.0}, "kind": {"values": ["a", "b"]}}}
with minke.Sweep(space) as sweep:
    for trial in sweep:
        if trial.number == 5 and sys.argv[1] == "dies":
            os.kill(os.getpid(), 9)
        if trial.number == 7:
            sweep.tell(trial, failed="as it should")
            continue
        sweep.tell(trial, -abs(trial.parameters["x"] - 0.7) - (trial.parameters["kind"] == "a"))
    print(sweep.best()["value"])
    try:
        sweep.tell(trial, 1.0)
    except minke.Error as error:
        print(error)
""")
    environment = {"PYTHONPATH": str(ROOT / "python")}
    assert work.run("/usr/bin/python3", "loop.py", "dies", env=environment).returncode == -9
    done = work.run("/usr/bin/python3", "loop.py", "lives", env=environment, check=0)
    value, error = done.stdout.splitlines()
    assert -0.2 < float(value) <= 0 and "trial 20 is not being trained" in error
    found = trials(work, "own")
    assert len(found) == 20 and [one["trial"] for one in found if one["state"] == "FAILED"] == [7]
    assert json.loads(work.run("minke", "sweep", "best", "own", "--json", check=0).stdout)["value"] == pytest.approx(float(value))


@pytest.mark.machine(nodes=2, cpus=2, memory=4000)
def test_asha_finds_a_better_model_than_the_grid_in_half_the_epochs(cluster):
    """The example of the digits, over seeds; one trial after the other, so that a seed says all."""
    code = ROOT / "examples/digits"
    cluster.run("/usr/bin/python3", code / "prepare.py", cluster.work / "digits.tar", check=0)
    cluster.run("tar", "-xf", "digits.tar", check=0)
    (cluster.work / "train.py").symlink_to(code / "train.py")
    environment = {"DIGITS": str(cluster.work / "digits"), "PYTHON": "/usr/bin/python3", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

    def swept(file: str, *options) -> tuple[float, int]:
        """The best loss, and how many epochs were trained in all."""
        place = f"s{len(list(cluster.work.glob('s*')))}"
        cluster.run("minke", "sweep", "run", code / file, "--directory", place, *options, env=environment, check=0, timeout=300)
        found = trials(cluster, place)
        assert all(one["state"] in ("COMPLETED", "PAUSED") for one in found), found
        return min(one["value"] for one in found), sum(len(lines(path)) for path in (cluster.work / place).glob("trials/*/epochs.log"))

    grid, epochs = swept("grid.yaml")
    assert epochs == 135
    found = [swept("asha.yaml", "--jobs", "1", "--seed", seed) for seed in (1, 2, 3, 4, 5)]
    best, trained = (statistics.median(column) for column in zip(*found))
    assert trained <= epochs / 2 and best < 0.95 * grid, (grid, found)
