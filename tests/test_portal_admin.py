"""The portal's pages for administrators and people, the forecast, and what stands beside a job: each figure is the one that a command prints."""
import getpass
import json
import re
import time

import pytest

from cluster import ROOT, Cluster, poll
from portal_client import Portal

pytestmark = pytest.mark.minke_only
USER = getpass.getuser()
ACCOUNTS = '\n[accounting]\nenforce = ["limits", "qos"]\n'


@pytest.fixture
def portal(cluster):
    one = Portal(cluster)
    yield one
    one.close()


def test_a_job_is_shown_with_what_stands_beside_it(cluster, portal):
    first = cluster.submit("exec sleep 600", "--job-name=first")
    cluster.wait_state(first, "RUNNING")
    middle = cluster.submit("module load StdEnv/2023 python/3.11 2>&1\nsrun gmx mdrun -nt 99\nexec sleep 600", f"--dependency=afterok:{first}", "--job-name=<b>middle",
                            "--ntasks=2", "--exclusive")
    last = cluster.submit("true", f"--dependency=afterany:{middle},after:{first}+1", "--job-name=last")
    other = cluster.submit("true", "--dependency=singleton", "--begin=now+3600")
    related = portal.program(f"/api/v1/jobs/{middle}/related")
    assert [(one["job_id"], one["term"], one["status"], one["name"], one["state"]) for one in related["dependencies"]] == [
        (first, f"afterok:{first}", "unfulfilled", "first", "RUNNING")]
    assert [(one["job_id"], one["term"], one["state"]) for one in related["dependents"]] == [(last, f"afterany:{middle}", "PENDING")]
    assert cluster.job(last)["Dependency"].count("unfulfilled") == 2
    assert {one["job_id"] for one in portal.program(f"/api/v1/jobs/{first}/related")["dependents"]} == {middle, last}
    assert portal.program(f"/api/v1/jobs/{other}/related")["dependents"] == []
    page = portal.program(f"/api/v1/jobs/{middle}")
    assert [(one["name"], one["version"], one["line"]) for one in page["modules"]] == [("StdEnv", "2023", 2), ("python", "3.11", 2)]
    rules = {one["rule"]: one["numbers"] for one in page["advice"]}
    assert rules["gromacs_binary"]["tasks"] == 2 and rules["gromacs_binary"]["line"] == 3 and rules["gromacs_threads"]["threads"] == 99
    running = portal.program(f"/api/v1/jobs/{first}")
    detailed = cluster.run("scontrol", "show", "job", "-d", first, check=0).stdout
    held, = running["allocation"]
    assert f"Nodes={held['node']} CPU_IDs={held['cpu_ids']} Mem={held['memory_mib']}" in detailed
    assert held["cpus"] == running["job"]["cpus"] == int(cluster.job(first)["NumCPUs"])


def test_dependencies_on_many_waiting_jobs_stay_short(cluster, portal):
    first = cluster.submit("exec sleep 600")
    array = cluster.submit("true", "--array=1-3", "--hold")
    for _ in range(5):
        cluster.sbatch(f"--dependency=afterok:{array}_2", "--wrap=true")
    assert len(portal.program(f"/api/v1/jobs/{array}/related")["dependents"]) == 5
    assert portal.program(f"/api/v1/jobs/{first}/related")["dependents"] == []


def test_the_forecast_is_that_of_squeue(cluster, portal):
    nodes = [line.split() for line in cluster.run("sinfo", "-h", "-N", "-o", "%N %c", check=0).stdout.splitlines()]
    cpus = sum(int(count) for _, count in nodes)
    running = cluster.submit("exec sleep 600", f"--nodes={len(nodes)}", "--exclusive", "--time=60")
    cluster.wait_state(running, "RUNNING")
    waiting = cluster.submit("true", "--time=30", "--cpus-per-task=1")
    held = cluster.submit("true", "--hold")
    told = dict(line.split() for line in cluster.queue("--start", format="%i %S"))
    page = portal.program("/api/v1/forecast?hours=3")
    assert (page["running"], page["waiting"], page["forecast"], page["left_out"]) == (1, 2, 1, 0)
    start, = page["starts"]
    assert start["job_id"] == waiting and held not in [one["job_id"] for one in page["starts"]]
    assert told[str(waiting)] == time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(start["start"]))
    steps = list(zip(page["held"]["time"], page["held"]["cpus"]))
    assert steps[0] == (page["now"], cpus) and steps[-1] == (page["until"], 0)
    assert page["last_start"] == start["start"] and any(held == start["cpus"] and abs(moment - start["start"]) <= 60 for moment, held in steps)
    everyone = portal.program("/api/v1/timeline?everyone=1")
    assert everyone["bars"] == [] and max(everyone["held"]["cpus"]) == cpus == everyone["held"]["cpus"][-1]


@pytest.fixture
def measured(tmp_path):
    one = Cluster(tmp_path)
    path = one.directory / "minke.toml"
    path.write_text('[measuring]\ninterval = 1\n[[node]]\nname = "n1"\ncpus = 4\nmemory = "4000M"\n')
    one.environment["MINKE_CONFIG"] = str(path)
    yield one
    one.close()


def test_who_uses_what_is_that_of_minke_top(measured):
    (measured.work / "busy.py").write_text(
        "import threading\nfor _ in range(5): threading.Thread(target=threading.Event().wait, daemon=True).start()\nwhile True: sum(range(10000))\n")
    job = measured.submit("exec python3 busy.py", "--mem=400M", "-c2")
    portal = Portal(measured)
    try:
        def agree():
            row = portal.program("/api/v1/top")["rows"]
            told, = json.loads(measured.run("minke", "top", "--json", check=0).stdout)["jobs"] or [None]
            # Both are samples of moments: of a job that has begun all of its threads, and grows no more.
            return row and told and told["cores"] > 0.2 and told["threads"] >= 6 and row[0]["use"]["cores_used"] > 0.2 and \
                row[0]["use"]["memory_gib_peak"] * 2**20 == pytest.approx(told["peak_memory_kib"], rel=0.2) and (row[0], told)
        row, told = poll(agree, 60, "the job's use")
        use = row["use"]
        assert (row["user"], use["jobs"], use["measured_jobs"], use["cores"]) == (USER, 1, 1, told["cpus"])
        assert use["memory_gib"] == told["held_memory_kib"] / 2**20
        assert use["cores_used"] <= 4

        def threads():
            series = portal.program(f"/api/v1/jobs/{job}/measurements")["series"]
            return len(series["time"]) >= 2 and max(series["threads"]) >= 6 and series
        series = poll(threads, what="threads of two samples")
        assert all(0 <= running <= count for running, count in zip(series["running_threads"], series["threads"]))
    finally:
        portal.close()


@pytest.mark.machine(nodes=2, cpus=4, memory=4000, extra=ACCOUNTS)
def test_events_limits_notes_and_the_log_are_those_of_the_commands(cluster, portal):
    assert portal.program("/api/v1/rights") == {"is_operator": True}
    for words in (("add", "account", "physics", "set", "GrpTRES=cpu=3"), ("add", "user", USER, "account=physics", "MaxJobs=7"), ("add", "qos", "short", "set", "MaxWall=60")):
        cluster.run("sacctmgr", "-i", *words)
    told = cluster.run("sacctmgr", "-n", "-P", "show", "assoc", "format=account,user,grptres,maxjobs", check=0).stdout.split()
    limits = portal.program("/api/v1/limits")
    shown = {(one["account"], one["user"]): {setting["name"]: setting["value"] for setting in one["settings"]} for one in limits["associations"]}
    for line in told:
        account, user, tres, jobs = line.split("|")
        assert shown.get((account, user), {}).get("GrpTRES", "") == tres and shown.get((account, user), {}).get("MaxJobs", "") == jobs
    short, = [one for one in limits["qos"] if one["name"] == "short"]
    assert {one["name"]: one["value"] for one in short["settings"]}["MaxWall"] == cluster.run(
        "sacctmgr", "-n", "-P", "show", "qos", "short", "format=maxwall", check=0).stdout.strip()

    node = portal.program("/api/v1/nodes")["nodes"][1]["name"]
    cluster.run("scontrol", "update", f"nodename={node}", "state=drain", "reason=<b>fan</b>", check=0)
    event, = portal.program("/api/v1/node_events")["events"]
    line = cluster.run("sacctmgr", "-n", "-P", "show", "event", "format=nodename,state,reason,user", check=0).stdout.strip().split("|")
    assert [event["node"], event["state"], event["reason"]] == line[:3] == [node, "DRAIN", "<b>fan</b>"] and line[3].startswith(event["user"])
    assert portal.program(f"/api/v1/node_events?node={node}")["events"] == [event] and event["end"] == 0
    # What is over stays known.
    cluster.run("scontrol", "update", f"nodename={node}", "state=resume", check=0)
    over, = portal.program(f"/api/v1/node_events?node={node}")["events"]
    assert over == event | {"end": over["end"]} and over["end"] >= over["time"]

    browser = portal.log_in()
    browser.ask("/api/v1/notes", "POST", {"about": "node", "name": node, "note": "<b>ordered</b>"})
    assert "Comment=<b>ordered</b>" in cluster.run("scontrol", "show", "node", node, check=0).stdout
    ended = cluster.submit("true", "--account=physics")
    cluster.wait_end(ended)
    running = cluster.submit("exec sleep 600", "--account=physics")
    cluster.wait_state(running, "RUNNING")
    for job in (ended, running):
        browser.ask("/api/v1/notes", "POST", {"about": "job", "name": str(job), "note": f"of {job}"})
    assert poll(lambda: cluster.sacct("-X", "-j", ended, format="AdminComment") == [[f"of {ended}"]])
    notes = {(one["about"], one["job_id"]): one["note"] for one in portal.program("/api/v1/notes")["notes"]}
    assert notes == {("node", 0): "<b>ordered</b>", ("job", ended): f"of {ended}", ("job", running): f"of {running}"}
    assert "nosuch" in portal.program("/api/v1/notes", "POST", {"about": "node", "name": "nosuch", "note": "x"}, status=409)["error"]["message"]
    browser.ask("/api/v1/notes", "POST", {"about": "job", "name": "x;y", "note": "x"}, status=400)
    browser.ask("/api/v1/notes", "POST", {"about": "job", "name": str(ended), "note": "x" * 1025}, status=400)

    browser.ask(f"/api/v1/jobs/{running}/cancel", "POST")
    cluster.wait_end(running)
    lines = portal.program("/api/v1/log")["lines"]
    assert {"accounts", "cancel", "node_drain", "portal"} == {line["what"] for line in lines}
    changed = [(line["user"], line["to"]) for line in lines if line["what"] == "accounts"]
    assert (USER, "Add Accounts: physics") in changed, changed
    assert f"POST /api/v1/jobs/{running}/cancel" in [line["to"] for line in lines if line["what"] == "portal"]
    cancelled, = [line for line in lines if line["what"] == "cancel"]
    assert (cancelled["user"], cancelled["job_id"]) == (USER, running)
    assert [line["time"] for line in lines] == sorted((line["time"] for line in lines), reverse=True)


def test_templates_are_files_of_one_s_own(cluster, portal):
    browser = portal.log_in()
    script = "#!/bin/bash\n#SBATCH --time=5\n<script>é\n"
    browser.ask("/api/v1/templates", "POST", {"name": "my run", "script": script})
    assert portal.program("/api/v1/templates")["templates"] == [{"name": "my run", "script": script}]
    kept = cluster.work / ".config/minke/templates/my run.sh"
    assert kept.read_text() == script and kept.stat().st_mode & 0o777 == 0o600
    for name in ("../x", ".x", "", "a/b", "x\x1b", "x\u202e"):
        browser.ask("/api/v1/templates", "POST", {"name": name, "script": "x"}, status=400)
    browser.ask("/api/v1/templates", "POST", {"name": "x", "script": "x" * 70000}, status=400)
    browser.ask("/api/v1/templates/my%20run", "DELETE")
    browser.ask("/api/v1/templates/my%20run", "DELETE", status=404)
    assert portal.program("/api/v1/templates")["templates"] == [] and not kept.exists()
    for number in range(100):
        browser.ask("/api/v1/templates", "POST", {"name": f"t{number}", "script": "x"})
    assert "100 templates" in portal.program("/api/v1/templates", "POST", {"name": "one more", "script": "x"}, status=400)["error"]["message"]


def test_jobs_are_found_by_lists_of_numbers(cluster, portal):
    jobs = [cluster.submit("true", f"--job-name=n{number}") for number in range(4)]
    for job in jobs:
        cluster.wait_end(job)
    found = portal.program(f"/api/v1/jobs/ended?search={jobs[0]},{jobs[2]}-{jobs[3]}")
    assert {one["job_id"] for one in found["jobs"]} == {jobs[0], jobs[2], jobs[3]} and not found["more"]
    assert {one["job_id"] for one in portal.program(f"/api/v1/jobs?search={jobs[1]}-{jobs[2]}")["jobs"]} == {jobs[1], jobs[2]}
    assert portal.program("/api/v1/jobs/ended?search=1-4000000000")["jobs"] != []
    assert portal.program("/api/v1/jobs/ended?search=9-1")["jobs"] == []


def test_metrics_with_times_are_drawn_over_time(cluster, portal):
    job = cluster.submit('for i in 1 2 3; do echo "{\\"step\\": $i, \\"loss\\": 0.$i, \\"timestamp\\": $((1795219200 + i))}"; done >metrics.jsonl')
    cluster.wait_end(job)
    metric, = [one for one in portal.program(f"/api/v1/jobs/{job}/metrics")["metrics"] if one["name"] == "loss"]
    assert metric["times"] == [1795219201, 1795219202, 1795219203] and [point[0] for point in metric["curve"]] == [1, 2, 3]


ENTRY = re.compile(r'^  "([\w.]+)": \[\s*"((?:[^"\\]|\\.)*)",\s*"((?:[^"\\]|\\.)*)"\],?$', re.MULTILINE)


def test_each_text_is_there_in_both_languages():
    entries = {}
    for file in sorted((ROOT / "web" / "src").glob("texts*.ts")):
        found = ENTRY.findall(file.read_text())
        assert len(found) == len(re.findall(r'^  "[\w.]+": \[', file.read_text(), re.MULTILINE)) > 10, file
        assert not {key for key, _, _ in found} & set(entries), "a text stands there twice"
        entries |= {key: (english, french) for key, english, french in found}
    for key, (english, french) in entries.items():
        assert english and french, key
        assert set(re.findall(r"\{\w+\}", english)) == set(re.findall(r"\{\w+\}", french)), key
    rules = set()
    for name in ("advice.cpp", "program_advice.cpp"):
        rules |= set(re.findall(r'\{?"([a-z_]+)",\s*(?:percent < 10 \? )?Weight::', (ROOT / "src" / "view" / name).read_text()))
    assert len(rules) > 20 and {f"rule.{rule}" for rule in rules} <= set(entries)
