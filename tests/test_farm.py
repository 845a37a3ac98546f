"""minke farm: many cases as one piece of work."""
import contextlib
import csv
import io
import json
import os
import re
import signal
import subprocess

import pytest

from cluster import poll
import processes

MINKE_ONLY = True
pytestmark = pytest.mark.machine(nodes=2, cpus=2)


def farm(cluster, *options, check=0, command=None, input=None):
    words = ["minke", "farm", "run", *options, *(["--", *command] if command else [])]
    done = cluster.run(*words, input=input)
    assert done.returncode == check, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def table(cluster, lines, name="cases") -> str:
    (cluster.work / name).write_text("".join(f"{line}\n" for line in lines))
    return name


def results(cluster, *arguments) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(cluster.run("minke", "farm", "result", *arguments, check=0).stdout)))


@contextlib.contextmanager
def large_farm(cluster, *options):
    """More than seven minutes of work, and what is said when the first cases have told that."""
    running = cluster.start("minke", "farm", "run", table(cluster, ["sleep 0.5"] * 740), "--at-once=1", "-c1", *options)
    said = []
    while "of work for one job" not in (line := running.stderr.readline()):
        assert line, said
        said.append(line)
    yield running, line
    running.kill()
    running.wait()


def workers(cluster) -> list[int]:
    return [pid for pid in processes.all_processes() if "farm-worker" in processes.command_line(pid)
            and processes.environment(pid).get("MINKE_HOME") == str(cluster.home)]


def test_each_case_runs_once(cluster):
    done = farm(cluster, table(cluster, range(1, 501)), "--jobs", "3", command=["sh", "-c", 'echo "$0" >> ran; echo out $0', "{}"])
    assert done.stdout == "500 cases: 500 ok, 0 failed\n"
    assert sorted((cluster.work / "ran").read_text().split(), key=int) == [str(i) for i in range(1, 501)]
    assert cluster.run("minke", "farm", "log", "77", check=0).stdout == "out 77\n"
    rows = results(cluster)
    assert len(rows) == 500 and rows[76]["case"] == "77" and rows[76]["state"] == "ok" and rows[76]["attempts"] == "1"
    assert len(list((cluster.work / "cases.farm").iterdir())) < 40  # packed, not a file for each


def test_failures_are_told_by_kind(cluster):
    done = farm(cluster, table(cluster, ["exit 0", "exit 3", "kill -9 $$", "exit 3"]), "--jobs", "1", check=1)
    assert done.stdout == "4 cases: 1 ok, 3 failed\n"
    said = cluster.run("minke", "farm", "status", check=0).stdout
    assert "exit code 2, signal 1" in said
    assert [row["end"] for row in results(cluster)] == ["exit code 0", "exit code 3", "signal 9", "exit code 3"]
    assert "case 3: signal 9" in cluster.run("minke", "farm", "log", "3").stderr


def test_no_shell_reads_what_a_table_says(cluster):
    wild = ["$(touch hacked)", "; touch hacked", "`touch hacked`", "' \" \\", "-n", "*"]
    farm(cluster, table(cluster, wild), "--jobs=1", command=["printf", "%s\\n", "[{}]"])
    assert [cluster.run("minke", "farm", "log", str(i + 1)).stdout for i in range(len(wild))] == [f"[{one}]\n" for one in wild]
    assert not (cluster.work / "hacked").exists()


@pytest.mark.parametrize("name, lines", [
    ("t.csv", ["lr,name", '0.1,"a, b"', "0.2,c"]), ("t.tsv", ["lr\tname", "0.1\ta, b", "0.2\tc"]),
    ("t.jsonl", [json.dumps({"lr": 0.1, "name": "a, b"}), json.dumps({"name": "c", "lr": 0.2})])])
def test_columns_have_names(cluster, name, lines):
    farm(cluster, table(cluster, lines, name), "--jobs=1", command=["echo", "{#} {name} at {lr}"])
    assert cluster.run("minke", "farm", "log", "1").stdout == "1 a, b at 0.1\n"
    rows = results(cluster)
    assert [(row["lr"], row["name"]) for row in rows] == [("0.1", "a, b"), ("0.2", "c")]


def test_cases_are_files_or_standard_input(cluster):
    (cluster.work / "in").mkdir()
    for name in ("a.txt", "b.txt"):
        (cluster.work / "in" / name).touch()
    farm(cluster, "--glob", "in/*.txt", "--jobs=1", "--dir=files", command=["echo", "{/.}"])
    assert cluster.run("minke", "farm", "log", "2", "files").stdout == "b\n"
    farm(cluster, "-", "--jobs=1", "--dir=given", command=["echo", "got", "{}"], input="x\ny z\n")
    assert cluster.run("minke", "farm", "log", "2", "given").stdout == "got y z\n"


def test_retries_follow_their_rule(cluster):
    """Case 1 succeeds the third time; case 2 fails with a code that is not named."""
    lines = ["n=$(cat tries 2>/dev/null || echo 0); echo $((n+1)) > tries; [ $n -ge 2 ] || exit 75", "exit 1"]
    done = farm(cluster, table(cluster, lines), "--jobs=1", "--retry", "5", "--retry-codes", "75", check=1)
    assert done.stdout == "2 cases: 1 ok, 1 failed\n"
    assert [(row["state"], row["attempts"]) for row in results(cluster)] == [("ok", "3"), ("failed", "1")]


def test_failed_cases_run_again_when_asked(cluster):
    farm(cluster, table(cluster, ["test -e mended", "true", "false"]), "--jobs=1", check=1)
    (cluster.work / "mended").touch()
    assert "2 cases run again" in cluster.run("minke", "farm", "retry", check=0).stdout
    for words, problem in ((["2"], "case 2 has ended well"), (["9"], "no case 9"), (["cases.farm", "x"], "this is none: x"), (["3", "0"], "this is none: 0")):
        assert problem in cluster.run("minke", "farm", "retry", *words, check=1).stderr
    poll(lambda: [row["state"] for row in results(cluster)] == ["ok", "ok", "failed"]
         and [row["attempts"] for row in results(cluster)] == ["2", "1", "2"], 30, "the second run")
    assert "ok        2\nfailed    1\n" in cluster.run("minke", "farm", "status").stdout


def test_single_cases_run_again(cluster):
    farm(cluster, table(cluster, ["false"] * 6), "--jobs=1", check=1)
    assert "3 cases run again" in cluster.run("minke", "farm", "retry", "cases.farm", "2", "4-5", check=0).stdout
    poll(lambda: [row["attempts"] for row in results(cluster)] == ["1", "2", "1", "2", "2", "1"], 30, "the second run")
    assert "1 cases run again" in cluster.run("minke", "farm", "retry", "6", check=0).stdout
    poll(lambda: results(cluster)[5]["attempts"] == "2", 30, "the last case")


def test_only_what_runs_is_told_to_run(cluster):
    """Three of four slots have nothing to do any more."""
    farm(cluster, table(cluster, ["true"] * 3 + ["sleep 600"]), "--jobs=1", "--at-once=4", "--detach")
    poll(lambda: "ok        3" in cluster.run("minke", "farm", "status").stdout, 30, "the short ones")
    for _ in range(20):
        assert "running   1\n" in cluster.run("minke", "farm", "status").stdout


def test_cases_are_added(cluster):
    farm(cluster, table(cluster, ["a", "b"]), "--jobs=1", command=["echo", "{}"])
    table(cluster, ["c"], "more")
    assert "1 cases more" in cluster.run("minke", "farm", "add", "more", check=0).stdout
    poll(lambda: [row["state"] for row in results(cluster)] == ["ok"] * 3, 30, "the third case")


def test_a_stopped_farm_goes_on(cluster):
    farm(cluster, table(cluster, ["sleep 600"] + ["true"] * 5), "--jobs=1", "--at-once=1", "--detach")
    poll(lambda: "running   1" in cluster.run("minke", "farm", "status").stdout, 30, "the first case")
    cluster.run("minke", "farm", "stop", "--now", check=0)
    poll(lambda: not workers(cluster), 30, "the end of the worker")
    (cluster.work / "cases.farm/table").write_text("true\n" * 6)
    cluster.run("minke", "farm", "retry", check=0)
    poll(lambda: [row["state"] for row in results(cluster)] == ["ok"] * 6, 30, "the rest")


def test_the_number_of_jobs_is_found(cluster):
    done = farm(cluster, table(cluster, ["sleep 0.3"] * 60))
    assert "cases are" in done.stderr and "of work for one job" in done.stderr and done.stdout == "60 cases: 60 ok, 0 failed\n"


@pytest.mark.machine(nodes=2, cpus=4, extra='[[partition]]\nname = "short"\nnodes = "n1"\nmax_time = "0:20:00"\n')
def test_limits_are_heeded_and_told(cluster):
    """More than seven minutes of work would be seven jobs; the account lets this user have three. The partition's limit is less than an hour."""
    user = cluster.run("id", "-un").stdout.strip()
    cluster.run("sacctmgr", "-i", "add", "account", "lab", check=0)
    cluster.run("sacctmgr", "-i", "add", "user", user, "account=lab", "maxsubmitjobs=3", check=0)
    with large_farm(cluster, "-pshort", "-Alab") as (running, line):
        assert "20:00" in cluster.queue(format="%l")  # the first job, beside the others by now
        assert "account lab (MaxSubmitJobs) lets you have so many jobs: 3" in line and "3 jobs of" in line, line
        poll(lambda: len(cluster.queue()) == 3, 30, "the other jobs")


@pytest.mark.machine(nodes=2, cpus=4, memory=4000, extra='[[partition]]\nname = "large"\nnodes = "n1"\ndefault_mem_per_cpu = "1900M"\n')
@pytest.mark.parametrize("memory, jobs", [((), 2), (("--mem=0",), 1), (("--mem=1G",), 3)])
def test_memory_says_how_many_jobs_fit(cluster, memory, jobs):
    with large_farm(cluster, "-plarge", *memory) as (running, line):
        assert f"{jobs} jobs fit on the cluster at once" in line and f"; {jobs} job{'s' * (jobs > 1)} of" in line, line


@pytest.mark.machine(nodes=2, cpus=4, extra='[accounting]\nenforce = ["limits"]\n')
@pytest.mark.parametrize("most", [1, 2])
def test_fewer_jobs_where_a_cluster_refuses_so_many(cluster, most):
    """A limit of the account's group is none that a farm looks for. How many it wants depends on what a case took."""
    user = cluster.run("id", "-un").stdout.strip()
    cluster.run("sacctmgr", "-i", "add", "account", "lab", f"grpsubmitjobs={most}", check=0)
    cluster.run("sacctmgr", "-i", "add", "user", user, "account=lab", check=0)
    with large_farm(cluster, "-Alab") as (running, line):
        more = int(re.search(r"; (\d+) jobs of", line)[1]) - 1
        assert more > 2, line
        while more + 1 > most and more > 0:
            told = f"{more} jobs more are refused" if more > 1 else "one job more is refused"
            while told not in (said := running.stderr.readline()):
                assert said, told
            more //= 2
        assert most > 1 or "goes on alone" in said
        poll(lambda: len(cluster.queue()) == most, 30, "the jobs that are let in")


@pytest.mark.parametrize("victim", ["worker", "job"])
def test_what_is_killed_runs_again(cluster, victim):
    """kill -9 of a worker, and of its whole job, while it runs a case; the farm's own process sees that others follow."""
    lines = ["echo began >> first; [ $(wc -l < first) -gt 1 ] || sleep 600"] + [f"echo {i} >> ran" for i in range(50)]
    running = cluster.start("minke", "farm", "run", table(cluster, lines), "--jobs=1", "--at-once=1")
    poll(lambda: (cluster.work / "first").exists(), 30, "the first case")
    if victim == "worker":
        os.kill(workers(cluster)[0], signal.SIGKILL)
    else:
        cluster.run("scancel", cluster.queue(format="%i")[0], check=0)
    out, errors = running.communicate(timeout=200)
    assert out == "51 cases: 51 ok, 0 failed\n", errors
    assert sorted((cluster.work / "ran").read_text().split(), key=int) == [str(i) for i in range(50)]
    assert results(cluster)[0]["attempts"] == "2"


@pytest.mark.parametrize("how", ["kill -9 $$", "kill -TERM $$", "kill -INT $$", "exit 143", "exit 1"])
def test_a_case_that_is_ended_just_before_its_worker_is_not_failed(cluster, how):
    """As by who ends a job process by process. A case may also end in its own way when it is told to."""
    worker = "-9" if "-9" in how else "-TERM"
    if how == "exit 1":  # nothing tells that it was told to end: the worker has been told by then
        line = "[ -e once ] && exit; touch once; kill -TERM $PPID; exit 1"
    else:
        (cluster.work / "killer").write_text(f"touch ready; while kill -0 $1; do :; done 2>/dev/null; sleep 0.5; kill {worker} $2")
        line = f"[ -e once ] && exit; touch once; setsid sh ./killer $$ $PPID & until [ -e ready ]; do sleep 0.01; done; {how}"
    out, errors = cluster.start("minke", "farm", "run", table(cluster, [line]), "--jobs=1", "--at-once=1").communicate(timeout=200)
    assert out == "1 cases: 1 ok, 0 failed\n", errors
    assert results(cluster)[0]["attempts"] == "2"


def test_jobs_that_are_lost_are_replaced(cluster):
    """While others run, too: or a farm would have ever fewer."""
    running = cluster.start("minke", "farm", "run", table(cluster, ["while [ ! -e over ]; do sleep 0.1; done"] * 200), "--jobs=3", "--at-once=1", "-c1")
    poll(lambda: len(workers(cluster)) == 6, 30, "three workers, each with its keeper")
    cluster.run("scancel", cluster.queue(format="%i")[0], check=0)
    poll(lambda: len(cluster.queue(format="%i")) == 2, 30, "the end of one")
    poll(lambda: len(cluster.queue(format="%i")) == 3, 60, "another one in its place")
    assert len(cluster.run("sacct", "-nX", "-o", "jobid", check=0).stdout.split()) == 4
    (cluster.work / "over").touch()
    assert running.communicate(timeout=200)[0] == "200 cases: 200 ok, 0 failed\n"


def test_a_farm_needs_nobody_who_watches_it(cluster):
    farm(cluster, table(cluster, ["sleep 0.05"] * 60), "--jobs=2", "--detach")
    poll(lambda: len([row for row in results(cluster) if row["state"] == "ok"]) == 60, 60, "the end")


def test_a_lost_case_is_left_alone_where_the_rule_says_so(cluster):
    lines = ["echo began >> first; sleep 600"] + ["true"] * 5
    running = cluster.start("minke", "farm", "run", table(cluster, lines), "--jobs=1", "--at-once=1", "--no-retry-lost")
    poll(lambda: (cluster.work / "first").exists(), 30, "the first case")
    os.kill(workers(cluster)[0], signal.SIGKILL)
    assert running.communicate(timeout=200)[0] == "6 cases: 5 ok, 1 failed\n"
    assert (cluster.work / "first").read_text() == "began\n" and results(cluster)[0]["end"] == "lost with its job"


def test_memory_is_doubled(cluster):
    """As the kernel's killer leaves it: the case ends by SIGKILL, and its control group has counted it. What fails in spite
    of more memory keeps that when it is put back by hand."""
    findings = json.loads(cluster.run("minke", "doctor", "--json").stdout)["findings"]
    groups = next(one["what"] for one in findings if "control groups" in one["what"])
    if not groups.startswith("jobs are confined"):
        pytest.skip(groups)
    hog = 'python3 -c "x = bytearray(150 << 20); print(len(x))"'
    done = farm(cluster, table(cluster, [hog, "true", hog + " && exit 3"]), "--jobs=1", "--mem=100M", "--at-once=1", "--more-memory=2", check=1)
    assert done.stdout == "3 cases: 2 ok, 1 failed\n", done.stderr
    assert [(row["end"], row["attempts"]) for row in results(cluster)] == [("exit code 0", "2"), ("exit code 0", "1"), ("exit code 3", "2")]
    cluster.run("minke", "farm", "retry", check=0)
    poll(lambda: (row := results(cluster)[2])["attempts"] == "3" and row["end"] == "exit code 3", 60, "the third time")


def test_a_node_that_fails_is_avoided(cluster):
    """The job is not requeued; the case runs again on the other node, and the others where there is room."""
    lines = ["echo $SLURMD_NODENAME >> nodes; [ $(wc -l < nodes) -gt 1 ] || sleep 600"] + ["true"] * 3
    running = cluster.start("minke", "farm", "run", table(cluster, lines), "--jobs=1", "--at-once=1", "--no-requeue")
    first = poll(lambda: (cluster.work / "nodes").exists() and (cluster.work / "nodes").read_text().strip(), 30, "the first case")
    cluster.run("scontrol", "update", f"nodename={first}", "state=down", "reason=broken", check=0)
    # It is back at once: what runs again must shun it by itself.
    poll(lambda: not workers(cluster), 30, "the end of the worker")
    cluster.run("scontrol", "update", f"nodename={first}", "state=resume", check=0)
    out, errors = running.communicate(timeout=200)
    assert out == "4 cases: 4 ok, 0 failed\n", errors
    nodes = (cluster.work / "nodes").read_text().split()
    assert len(nodes) == 2 and nodes[0] != nodes[1] and results(cluster)[0]["node"] == nodes[1]
    assert "run again: 1" in cluster.run("minke", "farm", "status").stdout


# What a case may have started: in its group, in a session of its own, and without a parent that waits for it.
OFFSPRING = """sleep 600 & echo $! >> pids
setsid sh -c 'echo $$ >> pids; exec sleep 601' &
(setsid sh -c 'trap "" TERM HUP; echo $$ >> pids; exec sleep 602' & ) &
while [ $(wc -l < pids) -lt 3 ]; do sleep 0.02; done; echo $$ >> pids; exec sleep 603
"""


@pytest.mark.parametrize("victim", ["keeper", "worker"])
def test_nothing_of_a_worker_outlives_it(cluster, victim):
    """Outside of a job, where nobody else clears away. A worker is alive as long as anything of it is."""
    (cluster.work / "offspring").write_text(OFFSPRING)
    farm(cluster, table(cluster, ["sh ./offspring"]), "--jobs=1", "--hold", "--detach")
    keeper = cluster.start("minke", "farm-worker", str(cluster.work / "cases.farm"), "0")
    path = cluster.work / "pids"
    pids = poll(lambda: path.exists() and len(found := [int(pid) for pid in path.read_text().split()]) == 4 and found, 30, "the case")
    worker = poll(lambda: [pid for pid in processes.children_of(keeper.pid) if "farm-worker" in processes.command_line(pid)], 10, "the worker")[0]
    assert not any(processes.has_ended(pid) for pid in pids)
    os.kill(keeper.pid if victim == "keeper" else worker, signal.SIGKILL)
    keeper.communicate(timeout=60)
    poll(lambda: all(processes.has_ended(pid) for pid in (*pids, worker)), 10, "the end of all of it")


@pytest.mark.parametrize("options, command, problem", [
    (["nowhere"], ["echo"], "nowhere: No such file or directory"),
    ([], ["echo"], "which cases?"),
    (["cases", "--jobs=0"], ["echo"], "--jobs is a number from 1 to"),
    (["cases", "--retry-codes=x", "--jobs=1"], ["echo"], "exit codes are numbers up to 255"),
    (["cases", "--array=1-3"], ["echo"], "--array is not for farms"),
    (["cases", "--nonsense"], ["echo"], "--nonsense"),
    (["cases", "--form=xml"], ["echo"], "a table is lines, csv, tsv or jsonl"),
    (["cases"], ["echo", "{lr"], "a { without its }"),
    (["empty"], ["echo"], "empty has no cases"),
    (["t.csv"], ["echo"], "t.csv, line 3: it has 1 columns, and the first line has 2"),
    (["t.jsonl"], ["echo"], "t.jsonl, line 2: it is not JSON"),
    (["cases", "--detach"], ["echo"], "--detach needs --jobs"),
    (["cases", "--time=24h"], ["echo"], "Invalid --time specification (write 24:00:00"),
    (["long"], ["echo"], "long, line 2: it is longer than 1 MiB"),
    (["cases", "t.csv"], ["echo"], "one table, and not also t.csv")])
def test_wrong_requests_are_named(cluster, options, command, problem):
    table(cluster, ["a"])
    table(cluster, [], "empty")
    table(cluster, ["a,b", "1,2", "3"], "t.csv")
    table(cluster, ["{}", "{"], "t.jsonl")
    table(cluster, ["short", "x" * 3_000_000], "long")
    assert problem in farm(cluster, *options, check=1, command=command).stderr
    assert not cluster.queue() and not list(cluster.work.glob("*.farm*"))


@pytest.mark.parametrize("words, problem", [
    (["status", "--jso"], "minke farm status has no option --jso"),
    (["result", "cases.farm", "--format=parquet"], "minke farm result has no option --format=parquet"),
    (["stop", "--noww"], "minke farm stop has no option --noww"),
    (["wait", "cases.farm", "more"], '"more" is one word too many'),
    (["log", "1", "cases.farm", "3"], '"3" is one word too many'),
    (["log", "--dir=cases.farm"], "which case?"),
    (["status", "--dir", "nowhere"], "nowhere is no farm's directory")])
def test_wrong_words_behind_a_command_are_named(cluster, words, problem):
    farm(cluster, table(cluster, ["true"]))
    assert problem in cluster.run("minke", "farm", *words, check=1).stderr


def test_programs_read_a_farms_state(cluster):
    farm(cluster, table(cluster, ["true", "exit 3", "kill -9 $$"]), check=1)
    told = json.loads(cluster.run("minke", "farm", "status", "--json", "--dir", "cases.farm", check=0).stdout)
    assert told["ends"] == {"exit code": 1, "signal": 1}
    assert {name: told[name] for name in ("cases", "ok", "failed", "waiting", "running", "workers", "stopped", "run_again")} == {
        "cases": 3, "ok": 1, "failed": 2, "waiting": 0, "running": 0, "workers": 0, "stopped": False, "run_again": 0}
    assert 0 <= told["mean_seconds"] <= told["longest_seconds"] and told["directory"] == str(cluster.work / "cases.farm")


NO_ROOM = """#include <errno.h>
#include <unistd.h>
static int left = 3;
pid_t vfork(void) {
  if (left-- > 0) return errno = EAGAIN, -1;
  return fork();
}
"""


def test_a_case_waits_for_room_for_its_process(cluster):
    """A machine that is full for a moment is no fault of the case."""
    (cluster.work / "room.c").write_text(NO_ROOM)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", cluster.work / "room.so", cluster.work / "room.c"], check=True)
    farm(cluster, table(cluster, ["true"]), "--jobs=1", "--hold", "--detach")
    worker = cluster.start("minke", "farm-worker", str(cluster.work / "cases.farm"), "0",
                           env=cluster.environment | {"LD_PRELOAD": str(cluster.work / "room.so")})
    said = worker.communicate(timeout=120)
    assert [(row["state"], row["attempts"]) for row in results(cluster)] == [("ok", "1")], said


def test_a_column_that_is_missing_fails_its_case(cluster):
    farm(cluster, table(cluster, ['{"a": 1}', '{"b": 2}'], "t.jsonl"), "--jobs=1", check=1, command=["echo", "{a}"])
    assert [row["state"] for row in results(cluster)] == ["ok", "failed"]
    log = "".join(path.read_text() for path in (cluster.work / "t.farm/jobs").iterdir())
    assert "case 2 has no column a; it has b" in log


def test_a_program_that_is_not_there_fails_every_case(cluster):
    done = farm(cluster, table(cluster, ["a", "b"]), "--jobs=1", check=1, command=["./nowhere", "{}"])
    assert done.stdout == "2 cases: 0 ok, 2 failed\n"
    assert results(cluster)[0]["end"] == "cannot be started: No such file or directory"


def test_a_farm_is_named_where_it_is_not_clear(cluster):
    assert "there is no farm in this directory" in cluster.run("minke", "farm", "status").stderr
    for name in ("one", "two"):
        farm(cluster, table(cluster, ["a"]), "--jobs=1", f"--dir={name}", command=["echo"])
    assert "several farms" in cluster.run("minke", "farm", "status").stderr
    assert "1 of 1 cases" in cluster.run("minke", "farm", "status", "two", check=0).stdout
    assert "is there already" in farm(cluster, "cases", "--dir=one", check=1, command=["echo"]).stderr
    assert "no case 7" in cluster.run("minke", "farm", "log", "7", "one").stderr
