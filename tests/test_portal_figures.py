"""The truth of the portal's pages: every number that they are given is the one that a command prints. portal_figures.py has the
table of which is which, and the few that no command prints."""
import getpass
import json
import os
import re

import pytest

from cluster import Cluster, Machine, poll
from portal_client import ACCOUNTED, Portal
from portal_figures import FIGURES, LIVE, RESTLESS, UNPRINTED, Printed, Walk, gres_count, moment

pytestmark = pytest.mark.minke_only
USER = getpass.getuser()
CONFIGURATION = ACCOUNTED + """
[measuring]
interval = 1
"""


def test_the_table_is_of_figures_that_there_are():
    assert not set(FIGURES) & set(UNPRINTED) and all(UNPRINTED.values())
    assert {figure.count(".") for figure in (*FIGURES, *UNPRINTED)} == {1}
    assert len(UNPRINTED) < len(FIGURES) / 2, "what no command prints is the exception"


def of_jobs(printed, name, value, where, above):
    """Rows about one job, or a part of it."""
    parents = dict(above)
    if name == "job":
        if value["state"] not in LIVE:
            return {"sacct": printed.record.get(value["job_id"])}
        has_forecast = value["state"] == "PENDING" and where.startswith(("/api/v1/home", "/api/v1/forecast"))
        queue = printed.starts if has_forecast else printed.queue
        return {"squeue": queue.get(value["job_id"]), "sprio": printed.prio.get(value["id"])}
    job = parents.get("job_page", {}).get("job", {})
    if name == "job_details":
        return {"squeue": printed.queue.get(job["job_id"]), "sacct": job["state"] not in LIVE and printed.record.get(job["job_id"])}
    if name == "efficiency":
        return {"seff": printed.seff(job["job_id"]) if job["state"] != "PENDING" else None}
    if name == "node_allocation":
        return {"scontrol show job": printed.allocation(job["job_id"], value["node"])}
    if name == "step":
        return {"sacct": printed.steps.get(value["id"])}
    if name in ("task", "bar"):
        return {"sacct": printed.record.get(value["job_id"])}
    if name == "related_job":
        page = int(re.search(r"/jobs/(\d+)/", where)[1])
        waits, other = (value["job_id"], page) if "dependents" in where else (page, value["job_id"])
        section = re.search(rf"JobId={waits} .*?(?=\nJobId=|\Z)", printed.detailed, re.DOTALL)[0]
        named = re.findall(r"after\w+:(\d+)", re.search(r"Dependency=(\S*)", section)[1])
        return {"scontrol show job": {"named": value["job_id"] if str(other) in named else None}}
    if name == "wasted_job":
        return {"seff": printed.seff(value["job_id"])}
    return None


def of_sums(printed, name, value, where, above):
    """Rows of what is counted, or summed up."""
    mine = printed.queue.values()
    states = [row["State"] for row in mine]
    if name in ("home", "jobs", "forecast", "failures"):
        counts = {state: sum(tasks_of(row) for row in mine if row["State"] == state) for state in states}
        ended = [row["State"].split()[0] for row in printed.record.values() if row["State"].split()[0] not in LIVE]
        expected = [moment(row["StartTime"])[0] for row in printed.starts.values() if moment(row["StartTime"])[0]]
        return {"squeue": {"lines": len(states), "counts": counts, "running": states.count("RUNNING"), "waiting": states.count("PENDING")},
                "sacct": {"ended": len(ended), "failed": sum(state in ("FAILED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY") for state in ended)},
                "squeue --start": {"forecast": len(expected), "last": max(expected, default=0)}}
    if name == "footprint":
        one = re.search(r"/jobs/(\d+)/footprint", where)
        hours = printed.hours([int(one[1])] if one else [job for job, row in printed.record.items() if row["State"] != "PENDING"])
        return {"sacct": hours}
    if name == "waste":
        wasted = dict(above).get("wasted_job")
        ended = [wasted["job_id"]] if wasted else [job for job, row in printed.record.items() if row["State"].split()[0] not in LIVE]
        return {"seff": printed.waste(ended), "sacct": printed.hours(ended)}
    if name == "wait_kind":
        return {"sacct": printed.waits(value["partition"], value["has_gpus"], value["limit_minutes"])}
    if name == "usage":
        return {"minke usage": printed.usage}
    return None


def tasks_of(row):
    """An array's waiting tasks are one line of squeue: 12_[1-3,7]."""
    found = re.search(r"_\[([\d,-]+)", row["JobArrayID"])
    return sum(int(part.partition("-")[2] or part) - int(part.partition("-")[0]) + 1 for part in found[1].split(",")) if found else 1


def of_the_machine(printed, name, value, where, above):
    if name == "cluster":
        rows = printed.nodes.values()
        aiot = [row["cpusstate"].split("/") for row in rows]
        states = [row["statecomplete"].upper() for row in rows]
        return {"sinfo": {"nodes": len(rows), "cpus": sum(int(one[3]) for one in aiot), "allocated_cpus": sum(int(one[0]) for one in aiot),
                          "memory_mib": sum(int(row["memory"]) for row in rows), "allocated_memory_mib": sum(int(row["allocmem"]) for row in rows),
                          "gpus": sum(gres_count(row["gres"])[0] for row in rows), "allocated_gpus": sum(gres_count(row["gresused"])[0] for row in rows),
                          "states": {state: states.count(state) for state in states}}}
    if name == "node":
        jobs = sum(row["State"] == "RUNNING" and row["NodeList"] == value["name"] for row in printed.queue.values())
        return {"sinfo": printed.nodes[value["name"]], "scontrol show node": printed.node_facts[value["name"]], "squeue": {"jobs": jobs}}
    if name == "partition":
        rows = printed.nodes.values()
        return {"sinfo": printed.partitions[value["name"]] | {"memory": sum(int(row["memory"]) for row in rows),
                                                              "gpus": sum(gres_count(row["gres"])[0] for row in rows)}}
    if name == "reservation":
        return {"scontrol show reservation": printed.reservations[value["name"]]}
    if name == "node_event":
        return {"sacctmgr show event": printed.events[value["node"]]}
    if name in ("share", "share_line"):
        return {"sshare": printed.shares[value["account"], value["user"]]}
    return {"scontrol show config": printed.config} if name == "share_tree" else None


def rows_of(printed, *about):
    for rows in (of_jobs, of_sums, of_the_machine):
        if (found := rows(printed, *about)) is not None:
            return found
    return {}


def schema_of(described, path):
    plain = path.partition("?")[0]
    for template, methods in described["paths"].items():
        if "get" in methods and re.fullmatch(re.sub(r"\{\w+\}", "[^/]+", template), plain):
            found = methods["get"]["responses"]["200"]["content"]["application/json"]["schema"]
            if "{" not in template or plain not in described["paths"]:
                return found
    raise AssertionError(f"{path} is not described")


def compare_all(portal, paths, print_now, rows):
    """Asks for the paths between two looks at the commands, until they agree: some figures move. Returns what was compared."""
    described = portal.program("/openapi/v3")
    schemas = described["components"]["schemas"]
    last, compared, agreed = [], set(), set()

    def agrees():
        before = print_now()
        answers = {path: portal.program(path) for path in paths}
        walk = Walk(schemas, before, print_now(), rows)
        for path, answer in answers.items():
            walk.answer(path, answer, schema_of(described, path))
        agreed.update(place for place in walk.agreed if place[0].endswith(RESTLESS))
        last[:] = [words for place, words in walk.differences.items() if place not in agreed]
        compared.update(walk.compared)
        return not last
    try:
        poll(agrees)
    except AssertionError:
        assert not last, "\n".join(last)
        raise
    return compared


STORED = ("tier.", "owner.", "owned_tier.", "purge.")


@pytest.mark.machine(nodes=3, cpus=4, memory=4000, gpus="a100:2", extra=CONFIGURATION)
def test_every_figure_is_that_of_a_command(cluster):
    for words in (("add", "account", "physics", "fairshare=3"), ("add", "account", "theory", "parent=physics"), ("add", "user", USER, "account=theory"),
                  ("modify", "account", "physics", "set", "coreyears=2")):
        cluster.run("sacctmgr", "-i", *words, check=0)
    hold = bytes(30 << 20)
    (cluster.work / "ballast").write_bytes(hold)
    ended = [cluster.submit("while [ $SECONDS -lt 2 ]; do :; done; srun -n1 true", "--cpus-per-task=2", "--mem=200", "--time=30"),
             cluster.submit("exit 3", "--gres=gpu:1", "--mem=100", "--time=600"),
             cluster.submit("srun -n2 sh -c 'head -c 20000000 ballast | sort -z >/dev/null'", "--ntasks=2", "--mem=300", "--time=1-0"),
             cluster.submit("true", "--array=1-2", "--mem=50")]
    for job in ended:
        cluster.wait_end(job)
    tasks = cluster.sacct("-X", "-j", ended[3], format="JobIDRaw")
    assert len(tasks) == 2
    running = cluster.submit("exec sleep 6000", "--gres=gpu:a100:1", "--cpus-per-task=2", "--mem=500", "--time=90", "--nodelist=n1")
    cluster.wait_state(running, "RUNNING")
    whole = cluster.submit("exec sleep 6000", "--nodes=1", "--exclusive", "--mem=1000", "--time=2:00:00", "--nodelist=n2")
    cluster.wait_state(whole, "RUNNING")
    cluster.run("scontrol", "update", "nodename=n3", "state=drain", "reason=fan", check=0)
    waiting, never_began = (cluster.submit("true", "--cpus-per-task=4", "--time=20", "--mem=100", "--nodelist=n1") for _ in range(2))
    cluster.run("scancel", never_began, check=0)
    cluster.wait_end(never_began)
    cluster.submit("true", "--array=1-3", "--hold", "--gres=gpu:2")
    cluster.submit("true", f"--dependency=afterok:{running}", "--time=5")
    cluster.run("scontrol", "create", "reservation", "reservationname=works", "starttime=now+3days", "duration=60", "nodes=n3", f"users={USER}", check=0)
    portal = Portal(cluster)
    try:
        jobs = [*ended[:3], int(tasks[0][0]), never_began, running, whole, waiting]
        dependent = max(Printed(cluster).queue)
        paths = ["/api/v1/home", "/api/v1/failures", "/api/v1/footprint", "/api/v1/timeline?user=me", "/api/v1/messages",
                 "/api/v1/jobs?limit=100", "/api/v1/jobs/ended?limit=100", f"/api/v1/jobs/{ended[3]}/tasks",
                 f"/api/v1/jobs/{running}/related", f"/api/v1/jobs/{dependent}/related",
                 *(f"/api/v1/jobs/{job}" for job in jobs), f"/api/v1/jobs/{ended[0]}/footprint", f"/api/v1/jobs/{ended[1]}/footprint",
                 "/api/v1/usage", "/api/v1/shares", "/api/v1/waste", "/api/v1/levels",
                 "/api/v1/cluster", "/api/v1/nodes", "/api/v1/nodes/n1", "/api/v1/partitions", "/api/v1/forecast", "/api/v1/waits",
                 "/api/v1/timeline?everyone=1", "/api/v1/reservations", "/api/v1/node_events"]
        compared = compare_all(portal, paths, lambda: Printed(cluster), rows_of)
    finally:
        portal.close()
    never = {(figure, command) for figure, commands in FIGURES.items() if not figure.startswith(STORED) for command in commands} - compared
    # Nothing failed with its node here; a job that starts again, tests of requeueing have.
    assert never <= {("node_event.time", "sacct"), ("node_event.end", "sacct"), ("node_event.job_id", "sacct")}, f"no answer had them: {sorted(never)}"


class Stored:
    """What the commands print of the tiers of storage."""

    def __init__(self, cluster):
        report = cluster.run("diskusage_report", check=0).stdout.splitlines()
        self.report = {}
        for line in report:
            if found := re.match(r"\s*/(\w+) \((?:user|project) [^)]+\)", line):
                space, files = (line[start:end].split("/") for start, end in ((40, 60), (61, 79)))
                self.report[found[1]] = {"bytes": space[0], "bytes_limit": space[1], "files": files[0], "files_limit": files[1]}
        self.usage = {one["tier"]: one for one in json.loads(cluster.run("minke", "storage", "usage", "--json", check=0).stdout)}
        people = cluster.run("diskusage_report", "--project", "--per_user", "--all_users", check=0).stdout.splitlines()
        self.people = {words[0]: {"files": words[1], "gib": words[2]} for words in map(str.split, people) if words[-2:] == ["On", "disk"]}


def rows_of_tiers(stored, name, value, where, above):
    if name == "tier" and not value["is_counted"]:
        return {"minke storage usage": {key: one for key, one in stored.usage[value["name"]].items()} | {"space": 0, "files": 0}}
    if name in ("tier", "owned_tier"):
        return {"diskusage_report": stored.report.get(value["name"]), "minke storage usage": stored.usage[value["name"]]}
    if name == "owner":
        return {"diskusage_report --per_user": stored.people.get(value["user"])}
    return {"minke storage usage": stored.usage[value["tier"]]} if name == "purge" else {}


def test_every_figure_of_storage_is_that_of_a_command(tmp_path):
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=f'[storage]\nprofile = "narval"\nroot = "{tmp_path}/disks"\npurge = true\nsnapshots = true\n'))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    cluster.run("minke", "storage", "init", check=0)
    project = next((tmp_path / "disks/project").iterdir()) / USER
    (project / "data").write_bytes(os.urandom(3 << 20))
    for number in range(20):
        (tmp_path / "disks/scratch" / USER / f"part{number}").write_bytes(bytes(5000))
    portal = Portal(cluster)
    try:
        poll(lambda: any(tier["is_counted"] for tier in portal.program("/api/v1/storage")["tiers"]), what="a count of the tiers")
        compared = compare_all(portal, ["/api/v1/storage", "/api/v1/storage/owners?tier=project", "/api/v1/storage/purges", "/api/v1/storage/snapshots"],
                               lambda: Stored(cluster), rows_of_tiers)
    finally:
        portal.close()
        cluster.close()
    never = {(figure, command) for figure, commands in FIGURES.items() if figure.startswith(STORED) for command in commands} - compared
    assert not never, f"no answer had them: {sorted(never)}"
