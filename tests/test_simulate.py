"""minke simulate: job for job what a slow, independent scheduler decides, and what published studies say."""
import contextlib
import dataclasses
import gzip
import json
import os
import pathlib
import pty
import random
import re
import subprocess
import xml.etree.ElementTree

import pytest

import plain_scheduler
from cluster import ROOT, Machine

MINKE_ONLY = True
MINKE = os.environ.get("MINKE", str(ROOT / "build/minke"))
POLICIES = ("fcfs", "easy", "easy-sjbf", "conservative")
# Public traces are not part of the project: MINKE_TRACES names their directory, or they lie somewhere beside it.
KTH_NAME = "KTH-SP2-1996-2.2-log.swf.gz"
TRACES = pathlib.Path(os.environ.get("MINKE_TRACES") or next(ROOT.parent.glob(f"*/*/{KTH_NAME}"), ROOT / "none").parent)
KTH = TRACES / KTH_NAME
KTH_WAITS = {"fcfs": "fcfs", "easy": "easy", "easy-sjbf": "sjbf", "conservative": "cons"}
KTH_MEANS = {"fcfs": (353_776, 6815.0), "easy": (6836.9, 92.577), "easy-sjbf": (5904.1, 69.405),
             "conservative": (7310.6, 88.997)}
KTH_EXACT_MEANS = {"easy": (6327.7, 71.722), "easy-sjbf": (5436.0, 49.848)}
needs_kth = pytest.mark.skipif(not KTH.exists(), reason=f"{KTH} is not there; MINKE_TRACES names its directory")


def simulate(*arguments, code=0):
    done = subprocess.run([MINKE, "simulate", *map(str, arguments)], capture_output=True, text=True, timeout=120)
    assert done.returncode == code, done.stderr
    return done


def waits_of(lines):
    return {int(job): int(wait) for job, wait in (line.split() for line in lines)}


def synthetic_trace(seed, jobs=600, processors=48):
    """Bursts of like jobs, many narrow ones, times that coincide, limits far above the run times."""
    dice = random.Random(seed)
    lines = [f"; MaxProcs: {processors}", "; Note: made by a test"]
    now = 0
    while len(lines) < jobs + 2:
        now += dice.choice((0, 0, 1, 30, 60, 600, 3000))
        width = min(processors, dice.choice((1, 1, 1, 2, 3, 4, 8, 16, 24, processors)))
        asks = dice.choice((1, 59, 60, 61, 600, 3600, 7200, 36_000))
        for _ in range(dice.choice((1, 1, 1, 4, 20))):
            runs = dice.choice((asks, asks + 5, max(1, asks // 2), dice.randint(1, asks), 0))
            lines.append(f"{len(lines) - 1} {now} -1 {runs} {width} -1 -1 {dice.choice((width, -1))} {asks} -1 1 "
                         f"{dice.randint(1, 9)} {dice.randint(1, 3)} -1 -1 -1 -1 -1")
    return "\n".join(lines[:jobs + 2]) + "\n"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(6))
def test_as_the_plain_scheduler(tmp_path, policy, seed):
    text = synthetic_trace(seed)
    (tmp_path / "trace.swf").write_text(text)
    simulate(tmp_path / "trace.swf", "--policy", policy, "--waits", tmp_path / "waits")
    expected = plain_scheduler.replay(plain_scheduler.read_swf(text.splitlines()), 48, policy)
    assert waits_of((tmp_path / "waits").read_text().splitlines()) == expected
    assert any(expected.values())


def odd_trace(seed, jobs=400, processors=64):
    """What logs of real clusters contain beside good lines; the header says nodes first, and comes again in the middle."""
    dice = random.Random(seed)
    lines = [";  Computer: odd ", f";MaxNodes: {processors // 4}", ";  MaxProcs:   7", ""]
    now = 1_000_000
    for number in range(1, jobs + 1):
        now += dice.choice((0, 0, 0, 1, 10, 400, 2000))
        submit = now - dice.choice((0, 0, 0, 0, 7, 5000))  # not in order
        used = dice.choice((1, 1, 2, 3, 5, 16, 33, processors, processors + 1, 1000, -1, 0))
        wanted = dice.choice((used, used, -1, 0, max(1, used // 2), processors * 2 if dice.random() < 0.1 else used))
        asks = dice.choice((-1, 0, 1, 30, 60, 61, 3600, 3601, 86_400, 500_000))
        runs = dice.choice((-1, 0, 1, max(1, asks), asks + 100, max(1, asks // 3), dice.randint(1, max(1, asks))))
        blank = dice.choice((" ", "  ", "\t"))
        fields = [number, submit, dice.choice((-1, 5)), runs, used, -1, -1, wanted, asks, -1, dice.choice((0, 1, 5, -1)), -1, -1]
        line = blank.join(map(str, fields + [-1] * 5))
        lines.append(dice.choice(("", " ")) + line + dice.choice(("", " ", "\r")))
        if dice.random() < 0.03:
            lines.append(dice.choice(("; a word in the middle", ";", "", f"; MaxProcs: {processors}")))
    lines.append(f"; MaxProcs: {processors}")
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(5))
def test_odd_traces_as_the_plain_scheduler(tmp_path, policy, seed):
    text = odd_trace(seed)
    (tmp_path / "trace.swf").write_text(text)
    jobs = plain_scheduler.read_swf(text.splitlines())
    jobs.sort(key=lambda job: job.submit)  # stable: those of one time as they stand in the log
    for processors in (64, 16):
        simulate(tmp_path / "trace.swf", "--policy", policy, "--waits", tmp_path / "waits",
                 *([] if processors == 64 else ["--processors", processors]))
        fitting = [dataclasses.replace(job) for job in jobs if job.processors <= processors]
        expected = plain_scheduler.replay(fitting, processors, policy)
        assert waits_of((tmp_path / "waits").read_text().splitlines()) == expected
        assert 0 < len(fitting) < len(jobs) and any(expected.values())


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("seed", range(4))
def test_dependencies_as_the_plain_scheduler(tmp_path, policy, seed):
    dice = random.Random(seed)
    lines = []
    for line in synthetic_trace(seed).splitlines():
        fields = line.split()
        if not line.startswith(";") and dice.random() < 0.5:  # some name themselves, later ones, or what never ran
            fields[16] = str(int(fields[0]) - dice.choice((1, 1, 1, 5, 50, 0, -3)))
            fields[17] = str(dice.choice((-1, 0, 1, 60, 1000)))
        lines.append(" ".join(fields))
    (tmp_path / "trace.swf").write_text("\n".join(lines) + "\n")
    for options in ([], ["--dependencies"]):
        simulate(tmp_path / "trace.swf", "--policy", policy, "--waits", tmp_path / "waits", *options)
        jobs = plain_scheduler.read_swf(lines)
        expected = plain_scheduler.replay(jobs, 48, policy, dependencies=bool(options))
        assert waits_of((tmp_path / "waits").read_text().splitlines()) == expected
        assert any(expected.values())
    apart = json.loads(simulate(tmp_path / "trace.swf", "--policy", f"{policy},fcfs", "--dependencies", "--json").stdout)["policies"]
    assert apart[0]["mean_wait"] == pytest.approx(sum(expected.values()) / len(expected))


@needs_kth
@pytest.mark.parametrize("policy", POLICIES)
def test_kth_job_for_job(tmp_path, policy):
    simulate(KTH, "--policy", policy, "--processors", 100, "--waits", tmp_path / "waits")
    published = waits_of(gzip.open(TRACES / f"KTH-SP2.{KTH_WAITS[policy]}.waits.gz", "rt"))
    assert len(published) == 28_481
    assert waits_of((tmp_path / "waits").read_text().splitlines()) == published


@needs_kth
@pytest.mark.parametrize("means, extra", [(KTH_MEANS, []), (KTH_EXACT_MEANS, ["--exact"])])
def test_kth_means(means, extra):
    answer = json.loads(simulate(KTH, "--policy", ",".join(means), "--json", *extra).stdout)
    assert (answer["jobs"], answer["left_out"], answer["processors"]) == (28_481, 8, 100)
    for one in answer["policies"]:
        wait, slowdown = means[one["policy"]]
        assert one["mean_wait"] == pytest.approx(wait, abs=0.5 if wait > 1e5 else 0.05)
        assert one["mean_bounded_slowdown"] == pytest.approx(slowdown, abs=0.05 if slowdown > 1e3 else 5e-4)


@needs_kth
def test_kth_forecasts():
    answer = json.loads(simulate(KTH, "--forecast", "--json").stdout)["policies"][0]
    assert answer["mean_wait"] == pytest.approx(KTH_MEANS["easy"][0], abs=0.05)  # forecasting disturbs nothing
    assert answer["forecast"]["jobs"] == 28_481
    assert answer["forecast"]["error_by_wait"] <= 0.45
    assert 0.75 <= answer["forecast"]["coverage"] <= 0.85
    assert answer["forecast_by_limits"]["error_by_wait"] == pytest.approx(0.61, abs=0.01)


def test_by_group_plots_and_gzip(tmp_path):
    (tmp_path / "trace.swf.gz").write_bytes(gzip.compress(synthetic_trace(7).encode()))
    done = simulate(tmp_path / "trace.swf.gz", "--policy", "easy,conservative", "--by", "user", "--top", 3, "--plot",
                    "--svg", tmp_path / "course.svg")
    assert "… and 6 more (--top 0 shows all)" in done.stdout
    assert done.stdout.count("in use   ") == 2
    drawing = xml.etree.ElementTree.parse(tmp_path / "course.svg").getroot()
    assert len(drawing.findall("{http://www.w3.org/2000/svg}polyline")) == 4
    answer = json.loads(simulate(tmp_path / "trace.swf.gz", "--by", "group", "--json").stdout)
    groups = answer["policies"][0]["by_group"]
    assert sum(group["jobs"] for group in groups) == answer["jobs"]
    assert groups == sorted(groups, key=lambda group: -group["processor_seconds"])


SACCT = """JobID|User|Account|Partition|Submit|Start|Elapsed|Timelimit|AllocTRES|State
1|ann|def-a|gpu|2026-03-01T10:00:00|2026-03-01T10:00:00|01:00:00|02:00:00|cpu=4,gres/gpu:a100=2,mem=8G,node=1|COMPLETED
1.batch||def-a||2026-03-01T10:00:00|2026-03-01T10:00:00|01:00:00||cpu=4,mem=8G,node=1|COMPLETED
2|ann|def-a|gpu|2026-03-01T10:00:01|2026-03-01T10:00:01|01:00:00|02:00:00|cpu=8,gres/gpu:a100=4,mem=8G,node=2|COMPLETED
3|bob|def-b|gpu|2026-03-01T10:00:02|2026-03-01T10:00:02|01:00:00|01:59:58|cpu=1,mem=1G,node=1|COMPLETED
4|bob|def-b|gpu|2026-03-01T10:00:03|2026-03-01T10:00:03|00:10:00|02:00:00|cpu=1,gres/gpu:a100=1,mem=1G,node=1|COMPLETED
5|bob|def-b|gpu|2026-03-01T10:00:04|2026-03-01T10:00:04|00:10:00|02:00:00|cpu=64,mem=1G,node=1|COMPLETED
"""
TWO_NODES = """[[node]]
name = "g[1-2]"
cpus = 8
memory = "16G"
gpus = "a100:2"

[[partition]]
name = "gpu"
default = true
"""


def test_sacct_on_nodes(tmp_path):
    (tmp_path / "dump").write_text(SACCT)
    (tmp_path / "minke.toml").write_text(TWO_NODES)
    done = simulate(tmp_path / "dump", "--config", tmp_path / "minke.toml", "--waits", tmp_path / "waits")
    # 2 needs both nodes' GPUs until 1 has ended; 3 fits beside it on CPUs; 4 would take a GPU that 2 has reserved.
    assert waits_of((tmp_path / "waits").read_text().splitlines()) == {1: 0, 2: 3599, 3: 0, 4: 7197}
    assert "minke: 1 jobs are refused: " in done.stderr
    assert "5 jobs, 0 left out; 16 processors" in done.stdout
    answer = json.loads(simulate(tmp_path / "dump", "--config", tmp_path / "minke.toml", "--by", "account", "--json",
                                 "--forecast").stdout)["policies"][0]
    assert {one["name"]: one["jobs"] for one in answer["by_account"]} == {"def-a": 2, "def-b": 2}
    (tmp_path / "minke.toml").write_text("nodes = 3\n")
    assert "minke.toml:1" in simulate(tmp_path / "dump", "--config", tmp_path / "minke.toml", code=1).stderr


def test_priorities_of_the_configuration(tmp_path):
    """Four jobs that each take the node for an hour: in order of submission, by use, by use and shares."""
    rows = [f"{job}|{user}|{account}|2026-03-01T10:00:0{job}|01:00:00|02:00:00|cpu=16,node=2"
            for job, user, account in ((1, "ann", "def-a"), (2, "ann", "def-a"), (3, "bob", "def-b"), (4, "bob", "def-b"))]
    (tmp_path / "dump").write_text("JobID|User|Account|Submit|Elapsed|Timelimit|AllocTRES\n" + "\n".join(rows) + "\n")
    (tmp_path / "plain.toml").write_text(TWO_NODES)
    fair = '[priority]\ntype = "multifactor"\nweight_fair_share = 1000\ncalc_period = 60\n'
    (tmp_path / "fair.toml").write_text(TWO_NODES + fair)
    (tmp_path / "accounts").write_text("Cluster - 'one'\nParent - 'root'\nAccount - 'def-b':Fairshare=9\n")

    def order(config, *more):
        simulate(tmp_path / "dump", "--config", tmp_path / config, "--waits", tmp_path / "waits", *more)
        waits = waits_of((tmp_path / "waits").read_text().splitlines())
        return sorted(waits, key=lambda job: waits[job] + job)
    assert order("plain.toml") == [1, 2, 3, 4]
    assert order("fair.toml")[:2] == [1, 3]
    assert order("fair.toml", "--accounts", tmp_path / "accounts") == [1, 3, 4, 2]
    (tmp_path / "accounts").write_text("Account - 'def-a':Fairshare=9\n")
    assert order("fair.toml", "--accounts", tmp_path / "accounts") == [1, 3, 2, 4]
    refused = simulate(tmp_path / "dump", "--config", tmp_path / "plain.toml", "--accounts", tmp_path / "accounts", code=1)
    assert "multifactor" in refused.stderr
    (tmp_path / "accounts").write_text("Parent - 'nobody'\n")
    refused = simulate(tmp_path / "dump", "--config", tmp_path / "fair.toml", "--accounts", tmp_path / "accounts", code=1)
    assert "accounts: line 1: the account nobody has had no line before" in refused.stderr
    simulate(tmp_path / "dump", "--accounts", tmp_path / "accounts", code=2)


def test_jobs_give_way(tmp_path):
    """A job of the higher tier takes the node from the one that began last; that runs anew when there is room."""
    rows = ["1|a|low|2026-03-01T10:00:00|02:00:00|03:00:00|cpu=8,node=1",
            "2|a|low|2026-03-01T10:30:00|02:00:00|03:00:00|cpu=8,node=1",
            "3|b|high|2026-03-01T11:00:00|01:00:00|01:00:00|cpu=8,node=1"]
    (tmp_path / "dump").write_text("JobID|User|Partition|Submit|Elapsed|Timelimit|AllocTRES\n" + "\n".join(rows) + "\n")
    tiers = ('[[partition]]\nname = "low"\npriority_tier = 1\n'
             '[[partition]]\nname = "high"\npriority_tier = 2\n')

    def waits(preemption):
        (tmp_path / "it.toml").write_text(TWO_NODES + tiers + preemption)
        done = simulate(tmp_path / "dump", "--config", tmp_path / "it.toml", "--waits", tmp_path / "waits")
        return waits_of((tmp_path / "waits").read_text().splitlines()), done.stdout
    assert waits("")[0] == {1: 0, 2: 0, 3: 3600}
    seen, told = waits('[preemption]\ntype = "partition"\nmode = "requeue"\n')
    assert seen == {1: 0, 2: 5400, 3: 0}
    assert "jobs gave way to others 1 times" in told
    (tmp_path / "it.toml").write_text(TWO_NODES + tiers + '[preemption]\ntype = "partition"\nmode = "suspend"\n')
    assert "not replayed" in simulate(tmp_path / "dump", "--config", tmp_path / "it.toml", code=1).stderr


@pytest.mark.minke_only
def test_limits_of_the_cluster(new_cluster, tmp_path):
    """The accounts, QOS and limits of a running cluster, on jobs of the past: two at a time of one account."""
    extra = ('[accounting]\nenforce = ["limits"]\n[priority]\ntype = "multifactor"\nweight_qos = 1000\n'
             'weight_age = 1\n')
    cluster = new_cluster("limits", Machine(nodes=1, cpus=16, memory=4000, extra=extra))
    for words in (["add", "account", "def-a", "grptres=cpu=8"], ["add", "account", "def-b"],
                  ["add", "qos", "urgent", "priority=5"], ["modify", "qos", "urgent", "set", "maxsubmitjobsperuser=1"]):
        cluster.run("sacctmgr", "-i", *words, check=0)
    rows = [f"{job}|{user}|{account}|{qos}|2026-03-01T10:00:00|01:00:00|02:00:00|cpu={cpus},node=1"
            for job, user, account, qos, cpus in ((1, "ann", "def-a", "normal", 4), (2, "ann", "def-a", "normal", 4),
                                                  (3, "ann", "def-a", "normal", 4), (4, "bob", "def-b", "", 8),
                                                  (5, "bob", "def-b", "normal", 16), (6, "bob", "def-b", "urgent", 16),
                                                  (7, "bob", "def-b", "urgent", 16))]
    (tmp_path / "dump").write_text("JobID|User|Account|QOS|Submit|Elapsed|Timelimit|AllocTRES\n" + "\n".join(rows))
    config = cluster.directory / "minke.toml"

    def waits(*more):
        done = cluster.run("minke", "simulate", tmp_path / "dump", "--config", config, "--waits", tmp_path / "waits",
                           *more, check=0)
        return waits_of((tmp_path / "waits").read_text().splitlines()), done.stderr
    free, _ = waits()
    assert [free[job] for job in (1, 2, 3)] == [0, 0, 0]
    held, told = waits("--accounts", "cluster")
    # The urgent one is first; of the others the account has two running at a time, and another goes past the third.
    assert held == {6: 0, 1: 3600, 2: 3600, 4: 3600, 3: 7200, 5: 10800}
    assert "1 jobs are refused: QOSMaxSubmitJobPerUserLimit" in told


def test_twice_the_same(tmp_path):
    (tmp_path / "trace").write_text(synthetic_trace(8))
    outputs = {simulate(tmp_path / "trace", "--policy", "easy", "--by", "user", "--forecast", "--waits", "-").stdout
               for _ in range(3)}
    assert len(outputs) == 1


def test_what_it_refuses(tmp_path):
    (tmp_path / "trace").write_text("1 0 -1 10 4 -1 -1 4 60\n2 0 what\n")
    assert "trace: line 2 is no job" in simulate(tmp_path / "trace", code=1).stderr
    (tmp_path / "trace").write_text("1 0 -1 10 4 -1 -1 4 60\n2 0 -1 10 9 -1 -1 9 60\n")
    assert "give --processors" in simulate(tmp_path / "trace", code=1).stderr
    assert "1 jobs ask for more than there is" in simulate(tmp_path / "trace", "--processors", 4).stdout
    assert "No such file" in simulate(tmp_path / "none", code=1).stderr
    simulate(tmp_path / "trace", "--policy", "random", code=2)
    simulate(tmp_path / "trace", "--policy", "easy,fcfs", "--waits", "x", code=2)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(synthetic_trace(1).encode())[:300])
    assert "cut.gz" in simulate(tmp_path / "cut.gz", code=1).stderr


def test_a_terminal_sees_how_far_it_is(tmp_path):
    """The whole, the rate and the rest. A pipe sees nothing of it, and standard output is the same."""
    trace = tmp_path / "queue.swf"
    trace.write_text("".join(f"{i} {i * 300} -1 {60 + i * 7919 % 14000} -1 -1 -1 {1 + i * 31 % 12} 14400 -1 1 {i % 5}\n"
                             for i in range(1, 5001)))
    words = [MINKE, "simulate", trace, "--processors", "32", "--policy", "conservative"]
    quiet = subprocess.run(words, capture_output=True, text=True, check=True, timeout=120)
    assert quiet.stderr == ""
    reader, terminal = pty.openpty()
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=terminal, text=True) as shown:
        os.close(terminal)
        seen = b""
        with contextlib.suppress(OSError):  # the terminal's end
            while part := os.read(reader, 65536):
                seen += part
        assert shown.stdout.read() == quiet.stdout
    os.close(reader)
    lines = seen.decode().replace("\x1b[K", "").replace("\r\n", "\n").split("\r")
    assert any(re.fullmatch(r"conservative: [\d,]+ of 5,000 jobs \(\d+ %\)(, [\d,]+ jobs/s)?(, [\d:]+ left)?\s*", line) for line in lines), lines
    assert "5,000 of 5,000 jobs (100 %)" in lines[-1]
