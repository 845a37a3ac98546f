"""The portal's pages of runs, accounts, storage and what was: each figure is the one that a command prints."""
import getpass
import json
import os
import time

import pytest

from cluster import Cluster, Machine, poll
from portal_client import ACCOUNTED, Portal

pytestmark = pytest.mark.minke_only
USER = getpass.getuser()
ACCOUNTS = ACCOUNTED + """
[portal]
messages = ["<b>Maintenance</b> on Tuesday", "second"]
core_hour = 2
kwh = 10.5
"""
CSV = "echo step,val_acc > log.csv; for i in 1 2 3; do echo $i,0.$i$1 >> log.csv; done"


@pytest.fixture
def portal(cluster):
    one = Portal(cluster)
    yield one
    one.close()


def test_runs_are_ranked_as_minke_jobs_ranks_them(cluster, portal):
    script, jobs = cluster.script(CSV + "\ntrue --lr 0.$1 --batch-size=64\n"), []
    for name, digit in (("a", 5), ("b", 9), ("c", 7)):
        (cluster.work / name).mkdir()
        jobs.append(cluster.sbatch("-D", cluster.work / name, script, digit))
    for job in jobs:
        cluster.wait_end(job)
    told = json.loads(cluster.run("minke", "jobs", "--metric", "val_acc", "--sort", "--json", check=0).stdout)
    page = portal.program("/api/v1/runs?metric=val_acc")
    assert [run["job"]["id"] for run in page["runs"]] == [one["job_id"] for one in told] == [str(jobs[at]) for at in (1, 2, 0)]
    assert [run["metrics"]["val_acc"] for run in page["runs"]] == [one["metrics"]["val_acc"] for one in told]
    assert page["names"] == ["val_acc"] and page["total"] == 3
    other = portal.program("/api/v1/runs?metric=val_acc&value=least&order=ascending&limit=1")
    assert [run["job"]["job_id"] for run in other["runs"]] == [jobs[0]] and other["total"] == 3
    pair = portal.program(f"/api/v1/compare?jobs={jobs[0]},{jobs[1]},999999")
    assert pair["missing"] == ["999999"]
    assert [{one["name"]: one["value"] for one in run["parameters"]} for run in pair["runs"]] == [
        {"lr": "0.5", "batch-size": "64"}, {"lr": "0.9", "batch-size": "64"}]
    portal.program("/api/v1/compare?jobs=" + ",".join("123456789abcd"), status=400)
    portal.program("/api/v1/runs?value=middle", status=400)


@pytest.mark.machine(nodes=1, cpus=4, memory=4000, extra=ACCOUNTS)
def test_accounts_are_those_of_the_commands(cluster, portal):
    for words in (("add", "account", "physics", "fairshare=3"), ("add", "account", "theory", "parent=physics"),
                  ("add", "user", USER, "account=theory"), ("modify", "account", "physics", "set", "coreyears=2")):
        cluster.run("sacctmgr", "-i", *words, check=0)
    job = cluster.submit("while [ $SECONDS -lt 2 ]; do :; done", "--account=theory", "--cpus-per-task=2", "--mem=100")
    cluster.wait_end(job)
    told = json.loads(cluster.run("minke", "usage", "--json", check=0).stdout)
    page = portal.program("/api/v1/usage")
    for one in (told, page):
        assert [account["account"] for account in one["accounts"]] == ["theory"] and one["allocations"][0]["allocated_core_years"] == 2
    assert page["accounts"][0]["core_years"] == told["accounts"][0]["core_years"] == pytest.approx(sum(told["accounts"][0]["core_years_by_twelfths"]))
    assert page["accounts"][0]["users"][0]["user"] == USER

    lines = [line.split("|") for line in cluster.run("sshare", "-a", "-n", "-P", "-o", "account,user,normshares,normusage,fairshare", check=0).stdout.splitlines()]
    shown = portal.program("/api/v1/shares")["shares"]
    assert [(" " * one["depth"] + one["account"], one["user"]) for one in shown] == [tuple(line[:2]) for line in lines]
    assert [f"{one['norm_shares']:.6f}" for one in shown] == [line[2] for line in lines]
    assert [f"{one['fair_share']:.6f}" for one in shown if one["user"]] == [line[4] for line in lines if line[1]]

    seff = dict(line.split(": ", 1) for line in cluster.run("seff", job, check=0).stdout.splitlines() if ": " in line)
    waste = portal.program("/api/v1/waste?account=theory")
    assert waste["all"]["jobs"] == 1 and waste["rows"][0]["user"] == USER
    held, used = waste["all"]["core_hours"], waste["all"]["core_hours_used"]
    assert seff["CPU Efficiency"].startswith(f"{100 * used / held if held else 0:.2f}%")
    assert held * 3600 == pytest.approx(int(cluster.sacct("-X", "-j", job, format="CPUTimeRAW")[0][0]))
    assert portal.program("/api/v1/waste?account=physics")["rows"] == []

    print_ = portal.program(f"/api/v1/jobs/{job}/footprint")
    assert print_["core_hours"] == pytest.approx(held) and print_["has_own_costs"]
    assert print_["cost"] == pytest.approx(2 * held + print_["electricity_cost"])
    assert print_["constants"]["kwh"] == 10.5 and print_["constants"]["gpu_hour"] == 0.314
    month = portal.program("/api/v1/footprint")
    assert month["jobs"] == 1 and month["cost"] == pytest.approx(print_["cost"])
    assert [one["text"] for one in portal.program("/api/v1/messages")["messages"]] == ["<b>Maintenance</b> on Tuesday", "second"]


def test_what_was_is_told(cluster, portal):
    bad = cluster.submit("nosuchprogram", "--job-name=bad", "--time=30")
    good = cluster.submit("true", "--time=600")
    for job in (bad, good):
        cluster.wait_end(job)
    failures = portal.program("/api/v1/failures")
    why = json.loads(cluster.run("minke", "why", "--json", bad, check=0).stdout)
    assert [(one["job"]["job_id"], one["why"]) for one in failures["failures"]] == [(bad, why["ended"])] and failures["total"] == 1
    node = cluster.sacct("-X", "-j", good, format="NodeList")[0][0]
    mine, there = portal.program("/api/v1/timeline"), portal.program(f"/api/v1/timeline?node={node}")
    assert {bar["job_id"] for bar in mine["bars"]} == {bad, good} and good in {bar["job_id"] for bar in there["bars"]}
    assert {bar["state"] for bar in mine["bars"]} == {"FAILED", "COMPLETED"}
    for line in (mine, there):
        assert line["held"]["cpus"][-1] == 0 and len(line["held"]["time"]) == len(line["held"]["gpus"])
    assert portal.program("/api/v1/timeline?user=nobody")["bars"] == []
    kinds = portal.program("/api/v1/waits")["kinds"]
    assert [(kind["limit_minutes"], kind["jobs"], kind["completed"]) for kind in kinds] == [(180, 1, 0), (720, 1, 1)]
    cluster.run("scontrol", "create", "reservation", "reservationname=works", "starttime=now+1hour", "duration=60", "nodes=ALL",
                f"users={USER}", "flags=maint,ignore_jobs", check=0)
    one, = portal.program("/api/v1/reservations")["reservations"]
    assert (one["name"], one["users"], one["end"] - one["start"]) == ("works", [USER], 3600) and "MAINT" in one["flags"]
    message, = portal.program("/api/v1/messages")["messages"]
    assert (message["kind"], message["text"], message["time"]) == ("maintenance", "works", one["start"])


@pytest.fixture
def kept(tmp_path):
    """A cluster with tiers of storage."""
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=(
        f'[storage]\nprofile = "narval"\nroot = "{tmp_path}/disks"\npurge = true\nsnapshots = true\n')))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    cluster.run("minke", "storage", "init", check=0)
    yield cluster
    cluster.close()


def keep(cluster, now):
    cluster.run("minke", "storage-keep", cluster.home, cluster.environment["MINKE_CONFIG"], int(now), check=0)


def test_storage_is_counted_purged_and_restored(kept):
    portal = Portal(kept)
    try:
        browser = portal.log_in()
        project = next((kept.directory / "disks/project").iterdir())
        work = project / USER / "work"
        work.mkdir()
        (work / "file").write_text("before")
        (work / "gone").write_text("gone")
        keep(kept, time.time() + 86400)  # the daemon's own keeper may have made one of today
        (work / "file").write_text("after")
        (work / "gone").unlink()
        tier, = [one for one in browser.ask("/api/v1/storage/snapshots")["tiers"] if one["name"] == "project"]
        version = max(tier["snapshots"], key=lambda one: one["time"])
        path = f"{tier['path']}/{USER}/work"
        listed = browser.ask(f"/api/v1/storage/files?path={path}&snapshot={version['time']}")["files"]
        assert [(one["name"], one["is_there"]) for one in listed] == [("file", True), ("gone", False)]
        assert [one["name"] for one in browser.ask(f"/api/v1/storage/files?path={path}")["files"]] == ["file"]
        found = browser.ask(f"/api/v1/storage/versions?path={path}/file")["versions"]
        told = json.loads(kept.run("minke", "restore", "--json", f"{path}/file", check=0).stdout)
        assert [(one["version"], one["bytes"], one["changed"]) for one in found] == [(one["version"], one["size"], one["changed"]) for one in told]
        browser.ask("/api/v1/storage/restore", "POST", {"path": f"{path}/gone", "version": version["version"]})
        assert (work / "gone").read_text() == "gone"
        refused = browser.ask("/api/v1/storage/restore", "POST", {"path": f"{path}/file", "version": version["version"]}, status=400)
        assert "is there" in refused["error"]["message"] and (work / "file").read_text() == "after"
        browser.ask("/api/v1/storage/restore", "POST", {"path": f"{path}/file", "version": version["version"], "to": f"{path}/beside"})
        assert (work / "beside").read_text() == "before"

        owners = browser.ask("/api/v1/storage/owners?tier=project")["tiers"][0]["owners"]
        report = kept.run("diskusage_report", "--project", "--per_user", "--all_users", check=0).stdout.splitlines()
        row, = [line.split() for line in report if line.split()[:1] == [USER] and line.endswith("On disk")]
        assert [(one["user"], one["files"]) for one in owners] == [(USER, int(row[1]))]

        (work / "link").symlink_to("/etc")
        for path, status in (("/etc", 404), (f"{path}/link", 404), (f"{path}/../..", 400), ("relative", 400), (f"{tier['path']}x", 404)):
            browser.ask(f"/api/v1/storage/files?path={path}", status=status)
        browser.ask("/api/v1/storage/restore", "POST", {"path": "/etc/passwd", "version": version["version"]}, status=404)
        browser.ask("/api/v1/storage/restore", "POST", {"path": f"{tier['path']}/x", "version": version["version"], "to": "/tmp/x"}, status=404)

        old = kept.directory / "disks/scratch" / USER / "<b>old"
        old.write_text("x" * 1000)
        long_ago = time.time() - 90 * 86400
        os.utime(old, (long_ago, long_ago))
        first = time.mktime((2031, 11, 1, 12, 0, 0, 0, 0, -1))
        keep(kept, first)
        purge, = [one for one in browser.ask("/api/v1/storage/purges")["purges"] if one["files"]]
        assert (purge["tier"], purge["files"]) == ("scratch", 1) and purge["bytes"] in (1000, old.stat().st_blocks * 512)
        assert [file["path"].rpartition("/")[2] for file in purge["listed"]] == ["<b>old"]
        assert purge["removal"] == int(time.mktime((2031, 11, 16, 0, 0, 0, 0, 0, -1)))
        assert [one["kind"] for one in browser.ask("/api/v1/messages")["messages"]] == ["purge"]
    finally:
        portal.close()


def test_a_cluster_without_tiers_says_so(cluster, portal):
    assert portal.program("/api/v1/storage/snapshots") == {"are_made": False, "tiers": []}
    assert portal.program("/api/v1/storage/purges")["purges"] == []
    portal.program("/api/v1/storage/files?path=/home", status=501)
    assert poll(lambda: portal.program("/api/v1/shares")["shares"] == [])
