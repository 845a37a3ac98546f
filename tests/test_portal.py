"""minke portal: what a browser and programs are told is what the commands print; logging in; what is done with jobs."""
import http.client
import json
import os
import signal

import pytest

from cluster import Machine, poll
from portal_client import Portal
from test_document_shapes import facts, tree, wrong

pytestmark = [pytest.mark.minke_only, pytest.mark.machine(nodes=2, gpus="a100:2")]


@pytest.fixture
def portal(cluster):
    one = Portal(cluster)
    yield one
    one.close()


def test_an_address_lets_one_browser_in(portal):
    path = portal.url.partition(f":{portal.port}")[2]
    browser = portal.log_in()
    assert "HttpOnly" in browser.set_cookie and "SameSite=Strict" in browser.set_cookie
    assert browser.ask("/api/v1/session")["csrf"]
    assert portal.ask(path)[0] == 403
    other = portal.log_in()
    sessions = other.ask("/api/v1/sessions")["sessions"]
    assert len(sessions) == 2
    other.ask("/api/v1/sessions/" + next(one["id"] for one in sessions if not one["is_this"]), "DELETE")
    browser.ask("/api/v1/session", status=401)
    other.ask("/api/v1/logout", "POST")
    other.ask("/api/v1/session", status=401)


def test_its_token_is_one_s_own_and_ends_with_it(portal):
    assert portal.token_path.stat().st_mode & 0o777 == 0o600
    assert portal.program("/api/v1/session", headers={"Authorization": f"Bearer {portal.token}"})["user"]
    portal.process.send_signal(signal.SIGINT)
    portal.process.wait(timeout=60)
    assert not portal.token_path.exists()


def test_jobs_are_those_of_squeue(cluster, portal):
    running = cluster.submit("exec sleep 600", "--gres=gpu:1", "--job-name=runs", "--time=30")
    waiting = cluster.submit("true", "--hold", "--job-name=waits", "--array=1-3")
    cluster.wait_state(running, "RUNNING")
    answer = poll(lambda: (found := portal.program("/api/v1/jobs?sort=id"))["jobs"][0]["state"] == "RUNNING" and found)
    told = [(job["id"], job["state"], job["name"], job["partition"], str(job["cpus"])) for job in answer["jobs"]]
    assert told == [tuple(line.split("|")) for line in cluster.queue("-S", "i", format="%i|%T|%j|%P|%C")]
    assert answer["counts"] == {"PENDING": 3, "RUNNING": 1}
    assert [job["gpus"] for job in answer["jobs"]] == [1, 0]
    assert [job["job_id"] for job in portal.program("/api/v1/jobs?search=WAIT")["jobs"]] == [waiting]
    assert portal.program("/api/v1/jobs?state=RUNNING&limit=1&offset=1")["jobs"] == []
    home = portal.program("/api/v1/home")
    assert (home["running_count"], home["waiting_count"], home["ended_count"]) == (1, 1, 0)


def test_ended_jobs_come_by_the_page_and_all_once(cluster, portal):
    ended = [cluster.submit("true", f"--job-name=e{number}") for number in range(5)]
    for job in ended:
        cluster.wait_end(job)
    seen, query = [], ""
    while True:
        page = portal.program("/api/v1/jobs/ended?limit=2" + query)
        seen += [job["job_id"] for job in page["jobs"]]
        if not page["more"]:
            break
        query = f"&before={page['before']}&before_id={page['before_id']}"
    assert sorted(seen) == ended and len(set(seen)) == 5


def test_ended_jobs_are_those_of_sacct_newest_first(cluster, portal):
    """By state and name, page by page, also where most jobs do not fit; and what is filtered by whose they are."""
    jobs = [cluster.submit("false" if number % 3 == 0 else "true", f"--job-name=n{number % 2}") for number in range(9)]
    array = cluster.submit("true", "--array=1-3", "--job-name=tasks")
    for job in (*jobs, array):
        cluster.wait_end(job)

    def pages(words, size=2):
        seen, query = [], ""
        for _ in range(30):
            page = portal.program(f"/api/v1/jobs/ended?limit={size}&{words}{query}")
            seen += page["jobs"]
            assert len(page["jobs"]) <= size
            if not page["more"]:
                return seen
            query = f"&before={page['before']}&before_id={page['before_id']}"
        raise AssertionError("the pages have no end")

    told = [line.split("|") for line in cluster.run("sacct", "-X", "-n", "-P", "-o", "JobID,State,JobIDRaw,JobName", check=0).stdout.splitlines()]
    everything = pages("")
    assert sorted((job["id"], job["state"], str(job["job_id"]), job["name"]) for job in everything) == sorted(tuple(line) for line in told)
    places = [(job["end"], job["job_id"]) for job in everything]
    assert places == sorted(places, reverse=True) and len(places) == len(set(places)) == 12
    assert pages("", 100) == everything and pages("user=me", 5) == everything
    assert {job["job_id"] for job in pages("state=FAILED")} == set(jobs[::3])
    assert {job["job_id"] for job in pages("search=N1", 1)} == set(jobs[1::2])
    assert pages("user=nobody") == [] and pages("account=nosuch") == [] and pages(f"since={2**40 - 1}") == []
    home = portal.program("/api/v1/home")
    assert (home["ended_count"], home["ended_more"], [job["job_id"] for job in home["ended"]]) == (12, False, [job["job_id"] for job in everything])
    assert portal.program("/api/v1/failures")["total"] == 3


def test_a_job_s_page_has_the_numbers_of_the_commands(cluster, portal):
    job = cluster.submit("echo said; srun true\nsleep 0\nexit 3", "--mem=100", "--job-name=three")
    cluster.wait_end(job)
    page = portal.program(f"/api/v1/jobs/{job}")
    lines = dict(line.split(": ", 1) for line in cluster.run("seff", job, check=0).stdout.splitlines() if ": " in line)
    assert lines["State"] == f"{page['job']['state']} (exit code 3)" and page["job"]["exit_code"] == "3:0"
    assert lines["Memory Efficiency"].startswith(f"{page['efficiency']['memory_percent']:.2f}%")
    assert [step["id"] for step in page["steps"]] == [row[0] for row in cluster.sacct("-j", job)][1:]
    assert "echo said" in portal.program(f"/api/v1/jobs/{job}/script")["script"]
    assert portal.program(f"/api/v1/jobs/{job}/output")["text"] == "said\n"
    why = json.loads(cluster.run("minke", "why", "--json", job, check=0).stdout)
    assert portal.program(f"/api/v1/jobs/{job}/why")["ended"] == why["ended"]
    assert {(one["rule"], one["numbers"].get("line")) for one in page["advice"]} >= {("sleep", 3)}


def test_output_is_followed_byte_by_byte(cluster, portal):
    os.mkfifo(cluster.work / "go")
    job = cluster.submit("printf 'caf\\303\\251 \\377\\033[1m<script>'; read line < go; echo end", "--error=err.txt")
    first = poll(lambda: (found := portal.program(f"/api/v1/jobs/{job}/output"))["size"] and found)
    assert first["text"].startswith("café \ufffd") and first["text"].endswith("<script>") and not first["same_file"]
    at = portal.program(f"/api/v1/jobs/{job}/output?offset=0")
    middle = portal.program(f"/api/v1/jobs/{job}/output?offset=4")  # within é
    assert at["next"] == first["size"] and middle["next"] == first["size"]
    (cluster.work / "go").write_text("go\n")
    cluster.wait_end(job)
    assert portal.program(f"/api/v1/jobs/{job}/output?offset={first['next']}")["text"] == "end\n"
    assert portal.program(f"/api/v1/jobs/{job}/output?stream=stderr")["text"] == ""
    assert portal.program(f"/api/v1/jobs/{job}/output?offset=99999999")["text"] == ""


def test_what_is_done_on_the_page_is_done(cluster, portal):
    browser = portal.log_in()
    job = cluster.submit("exec sleep 600", "--begin=now+3600", "--time=30")
    assert set(browser.ask(f"/api/v1/jobs/{job}")["actions"]) == {"cancel", "hold", "limit"}
    browser.ask(f"/api/v1/jobs/{job}/hold", "POST")
    assert cluster.job(job)["Priority"] == "0"
    browser.ask(f"/api/v1/jobs/{job}/release", "POST")
    assert cluster.job(job)["Priority"] != "0"
    browser.ask(f"/api/v1/jobs/{job}/limit", "POST", {"time_limit": "10:00"})
    assert cluster.job(job)["TimeLimit"] == "00:10:00"
    browser.ask(f"/api/v1/jobs/{job}/limit", "POST", {"time_limit": "soon"}, status=409)
    browser.ask(f"/api/v1/jobs/{job}/limit", "POST", {}, status=400)
    browser.ask(f"/api/v1/jobs/{job}/cancel", "POST")
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    browser.ask("/api/v1/jobs/999999/cancel", "POST", status=404)


def test_changes_are_told_as_they_happen(cluster, portal):
    connection = http.client.HTTPConnection("localhost", portal.port, timeout=120)
    connection.request("GET", "/api/v1/events", headers={"X-SLURM-USER-TOKEN": portal.token})
    stream = connection.getresponse()
    assert stream.status == 200 and stream.headers["Content-Type"] == "text/event-stream"
    job = cluster.submit("exec sleep 600")
    told = []
    while not any(one["job_id"] == job and one["state"] == "RUNNING" for one in told):
        line = stream.fp.readline()
        if line.startswith(b"data: "):
            told += json.loads(line[6:]).get("jobs", [])
    connection.close()


def test_every_answer_has_its_schema(cluster, portal):
    ended = cluster.submit('for i in 1 2 3; do echo "{\\"step\\": $i, \\"loss\\": 0.$i, \\"timestamp\\": $((1795219200 + i))}"; done >metrics.jsonl')
    cluster.wait_end(ended)
    metrics = portal.program(f"/api/v1/jobs/{ended}/metrics")  # of a file that no other job may have written
    job = cluster.submit("exec sleep 600", "--array=1-2")
    cluster.wait_state(f"{job}_1", "RUNNING")
    waiting = cluster.submit("true", "--hold")
    described = portal.program("/openapi/v3")
    schemas = described["components"]["schemas"]
    types = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}

    def check(value, schema, where):
        if "$ref" in schema:
            schema = schemas[schema["$ref"].rpartition("/")[2]]
        if value is None and schema.get("nullable") or "type" not in schema:
            return
        assert isinstance(value, types[schema["type"]]), f"{where}: {value!r} is no {schema['type']}"
        if schema["type"] == "array":
            for one in value:
                check(one, schema["items"], where + "[]")
        if "properties" in schema:
            assert set(schema["required"]) <= set(value) <= set(schema["properties"]), where
            for name, one in value.items():
                check(one, schema["properties"][name], f"{where}.{name}")

    asked = 0
    for path, methods in described["paths"].items():
        if not path.startswith("/api/v1") or "get" not in methods or path.endswith(("/events", "/open")):
            continue
        answer = portal.program(path.replace("{job}", f"{job}_1").replace("{name}", "n1"))
        check(answer, methods["get"]["responses"]["200"]["content"]["application/json"]["schema"], path)
        asked += 1
    assert asked > 15
    check(metrics, {"$ref": "/metrics"}, "metrics")
    curve, = [one for one in metrics["metrics"] if one["name"] == "loss"]
    assert len(curve["curve"]) == len(curve["times"])
    for one, has in ((waiting, "waits_for"), (ended, "ended"), (job, "expected_end")):
        answer = portal.program(f"/api/v1/jobs/{one}{'_1' if one == job else ''}/why")
        check(answer, {"$ref": "/why"}, "why")
        assert has in answer


SLURM_PAGES = {"/slurm": ["jobs", "nodes", "partitions", "reservations", "licenses", "ping", "diag", "shares", "conf"],
               "/slurmdb": ["jobs", "accounts", "users", "associations", "qos", "tres", "clusters", "wckeys", "instances", "ping", "diag", "conf"]}


def test_slurm_s_pages_have_slurm_s_shapes(cluster, portal):
    cluster.wait_end(cluster.submit("true"))
    job = cluster.submit("exec sleep 600", "--gres=gpu:1")
    cluster.wait_state(job, "RUNNING")
    found = []
    for version in (40, 42, 45):
        for part, names in SLURM_PAGES.items():
            for name in names:
                shape = f"{part}/{name}"
                if shape not in facts(version):
                    continue
                answer = portal.program(f"{part}/v0.0.{version}/{name}")
                found += [f"v0.0.{version} {shape}: {path} {what}" for path, what in wrong(answer, tree(version, shape), "")
                          if path != "jobs[].job_resources"]
                assert answer["meta"]["plugin"]["type"] == "openapi/" + {"/slurm": "slurmctld", "/slurmdb": "slurmdbd"}[part]
    assert not found, "\n".join(sorted(set(found))[:40])
    assert portal.program(f"/slurm/v0.0.42/job/{job}")["jobs"][0]["job_id"] == job
    assert portal.program(f"/slurm/v0.0.42/jobs/")["jobs"]


def test_slurm_s_pages_fail_as_slurm_s(cluster, portal):
    unknown = portal.program("/slurm/v0.0.45/job/99999", status=404)
    assert unknown["errors"][0]["error_number"] == 2017 and "jobs" not in unknown
    assert portal.program("/slurm/v0.0.42/job/99999", status=404)["jobs"] == []
    assert portal.program("/slurm/v0.0.45/node/nosuch")["errors"][0]["description"] == "Failure to query node nosuch"
    assert portal.program("/slurm/v0.0.45/partition/nosuch")["warnings"]
    assert portal.program("/slurmdb/v0.0.45/job/99999")["warnings"]
    portal.program("/slurm/v0.0.45/job/abc", status=422)
    assert portal.ask("/slurm/v0.0.45/jobs")[0] == 401
    assert portal.ask("/slurm/v0.0.99/jobs", headers={"X-SLURM-USER-TOKEN": portal.token})[0] == 404
    job = cluster.submit("exec sleep 600", "--hold")
    assert portal.program(f"/slurm/v0.0.45/job/{job}", "POST", {"time_limit": {"set": True, "number": 9}, "comment": "c", "x": 1})["warnings"]
    assert (cluster.job(job)["TimeLimit"], cluster.job(job)["Comment"]) == ("00:09:00", "c")
    refused = portal.program(f"/slurm/v0.0.45/job/{job}", "POST", {"partition": "nosuch"}, status=None)
    assert 2000 in [one.get("error_code", one.get("error_number")) for one in refused.get("results", []) + refused["errors"]]
    portal.program(f"/slurm/v0.0.45/job/{job}", "POST", {"x": 1}, status=422)
    states = portal.program(f"/slurm/v0.0.45/jobs/state?job_id={job}")["jobs"]
    assert states == [{"job_id": str(job), "state": ["PENDING"]}]
    assert portal.program("/slurm/v0.0.45/jobs/state?job_id=x", status=404)["errors"][0]["error_number"] == 2017
    assert portal.program(f"/slurm/v0.0.45/job/{job}", "DELETE")["status"][0]["error"]["code"] == 0
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"


def test_nodes_and_lists_of_jobs_are_changed_by_slurmrestd_s_clients(cluster, portal):
    body = {"state": ["DRAIN"], "reason": "looked at", "comment": "c", "nosuch": 1}
    assert portal.program("/slurm/v0.0.45/node/n1", "POST", body)["warnings"][0]["description"] == 'Ignoring unknown field "nosuch"'
    node = portal.program("/slurm/v0.0.45/node/n1")["nodes"][0]
    assert "DRAIN" in node["state"] and (node["reason"], node["comment"]) == ("looked at", "c")
    portal.program("/slurm/v0.0.45/node/n1", "POST", {"state": ["RESUME"]})
    assert "DRAIN" not in portal.program("/slurm/v0.0.45/node/n1")["nodes"][0]["state"]
    for body in ({}, [], {"nosuch": 1}, {"state": ["NONSENSE"]}):
        assert portal.program("/slurm/v0.0.45/node/n1", "POST", body, status=None)["errors"], body
    cluster.run("scontrol", "create", "reservation", "reservationname=r1", "starttime=now+3600", "duration=10", "nodes=n1", "users=root", check=0)
    portal.program("/slurm/v0.0.45/reservation/r1", "DELETE")
    assert portal.program("/slurm/v0.0.45/reservations")["reservations"] == []
    assert portal.program("/slurm/v0.0.45/reservation/r1", "DELETE", status=None)["errors"]
    jobs = [cluster.submit("exec sleep 600", "--hold") for _ in range(2)]
    portal.program("/slurm/v0.0.45/jobs", "DELETE", {"jobs": [str(jobs[0]), jobs[1]]})
    assert [cluster.wait_end(job)["JobState"] for job in jobs] == ["CANCELLED"] * 2
    for body in ({}, {"jobs": []}, {"jobs": ["x"]}, {"jobs": [[1]]}, {"jobs": [1], "signal": "NOSUCH"}):
        portal.program("/slurm/v0.0.45/jobs", "DELETE", body, status=422)


def test_a_body_with_other_types_is_refused_in_words(cluster, portal):
    for path, body in (("/slurm/v0.0.45/job/submit", {"script": "#!/bin/sh\n", "job": {"current_working_directory": "/", "tasks": {"set": "x"}}}),
                       ("/slurm/v0.0.45/job/submit", {"script": "#!/bin/sh\n", "job": {"current_working_directory": "/", "time_limit": {"set": 1}}})):
        portal.program(path, "POST", body, status=422)


def test_a_lost_daemon_is_told_and_found_again(cluster, portal):
    assert portal.program("/api/v1/cluster")["nodes"] == 2
    cluster.run("minke", "down", check=0)
    assert poll(lambda: portal.ask("/api/v1/cluster", headers={"X-SLURM-USER-TOKEN": portal.token})[0] in (200, 503))
    cluster.run("minke", "up", check=0)
    assert poll(lambda: portal.ask("/api/v1/cluster", headers={"X-SLURM-USER-TOKEN": portal.token})[0] == 200)


def test_scontrol_token_is_for_one_s_own_portal(cluster, portal):
    token = cluster.run("scontrol", "token", "lifespan=60", check=0).stdout.strip().removeprefix("SLURM_JWT=")
    assert portal.ask("/slurm/v0.0.45/ping", headers={"X-SLURM-USER-TOKEN": token})[0] == 200
    assert portal.ask("/api/v1/session", headers={"Authorization": f"Bearer {token}"})[0] == 200
    assert portal.ask("/api/v1/session", headers={"X-SLURM-USER-TOKEN": token[:-3] + "AAA"})[0] == 401
    for words, said in [("lifespan=0", 'Invalid numeric value "0" for lifespan.'), ("username=nobody", "Invalid user id"),
                        ("nonsense", "Invalid option: `nonsense`"), ("lifespan=99999999999", "too large for lifespan.")]:
        refused = cluster.run("scontrol", "token", words)
        assert refused.returncode == 1 and said in refused.stderr


def test_a_job_is_submitted_as_sbatch_would(cluster, portal):
    browser = portal.log_in()
    script = "#!/bin/bash\n#SBATCH --job-name=posted\necho $GREETING from $SLURM_JOB_NAME\n"
    told = browser.ask("/api/v1/jobs", "POST", {"script": script, "options": ["--time=5"], "test": True})
    assert told["job_id"] == 0 and "to start at" in told["notes"]
    job = browser.ask("/api/v1/jobs", "POST", {"script": script, "options": ["--time=5", "--hold"]})["job_id"]
    assert (cluster.job(job)["JobName"], cluster.job(job)["TimeLimit"]) == ("posted", "00:05:00")
    refused = browser.ask("/api/v1/jobs", "POST", {"script": script, "options": ["--partition=nosuch"]}, status=409)
    assert refused["error"]["code"] == 2000 and "invalid partition" in refused["error"]["message"]
    assert "script" in browser.ask("/api/v1/jobs", "POST", {"options": []}, status=400)["error"]["message"]
    for body in ({"script": script, "options": ["-t5"]}, {"script": script, "options": [1]}, {"script": 1}, {"script": script, "x": 1}, []):
        browser.ask("/api/v1/jobs", "POST", body, status=400)


def test_slurmrestd_s_clients_submit(cluster, portal):
    script = "#!/bin/bash\necho $GREETING\n"
    body = {"script": script, "job": {"name": "posted", "current_working_directory": str(cluster.work), "environment": ["GREETING=hello, you", "PATH=/usr/bin:/bin"],
                                      "time_limit": {"set": True, "infinite": False, "number": 7}, "memory_per_node": {"set": True, "number": 100},
                                      "tasks": 1, "cpus_per_task": 2, "tres_per_node": "gres/gpu:1", "standard_output": "out-%j", "nosuch": 1}}
    answer = portal.program("/slurm/v0.0.45/job/submit", "POST", body)
    job = answer["job_id"]
    assert answer["step_id"] == "batch" and [one["description"] for one in answer["warnings"]] == ['Ignoring unknown field "nosuch"']
    cluster.wait_end(job)
    fields = cluster.job(job)
    assert (fields["JobName"], fields["TimeLimit"], fields["CPUs/Task"], fields["TresPerNode"]) == ("posted", "00:07:00", "2", "gres/gpu:1")
    assert (cluster.work / f"out-{job}").read_text() == "hello, you\n"
    held = portal.program("/slurm/v0.0.43/job/submit", "POST", {"script": script, "job": {
        "current_working_directory": str(cluster.work), "hold": True, "minimum_nodes": 1, "maximum_nodes": 2, "open_mode": ["APPEND"],
        "kill_warning_signal": "USR1", "kill_warning_delay": {"set": True, "number": 90}, "kill_warning_flags": ["BATCH_JOB"],
        "flags": ["SPREAD_JOB"], "cpus_per_tres": "gres/gpu:2", "tres_per_job": "gres/gpu:1", "profile": ["TASK"], "network": "ib"}})
    assert not held["warnings"]
    shown, = json.loads(cluster.run("squeue", "--json", "-j", held["job_id"], check=0).stdout)["jobs"]
    assert (shown["max_nodes"]["number"], shown["cpus_per_tres"], shown["profile"], shown["network"]) == (1, "gres/gpu:2", ["TASK"], "ib")
    assert "SPREAD_JOB" in shown["flags"] and shown["hold"]
    for part, number in ({"partition": "nosuch"}, 2000), ({"current_working_directory": None}, 0):
        refused = portal.program("/slurm/v0.0.45/job/submit", "POST", {"script": script, "job": body["job"] | part}, status=422 if number else 200)
        assert not number or refused["errors"][0]["error_number"] == number
    missing = portal.program("/slurm/v0.0.45/job/submit", "POST", {"script": script, "job": {}}, status=422)
    assert missing["errors"][0]["error_number"] == 2063
    portal.program("/slurm/v0.0.45/job/submit", "POST", {"job": {"current_working_directory": "/"}}, status=422)


@pytest.mark.machine(nodes=1, extra='[storage]\nprofile = "narval"\nroot = "/nonexistent-disks"\n')
def test_storage_is_that_of_minke_storage(cluster, portal):
    def differ():
        """Both are asked until nobody wrote in between."""
        told = json.loads(cluster.run("minke", "storage", "usage", "--json").stdout)
        tiers = portal.program("/api/v1/storage")["tiers"]
        return told, tiers, [tier["name"] for tier, one in zip(tiers, told)
                             if tier["is_counted"] and (tier["bytes"], tier["files"]) != (one["space"], one["files"])]
    told, tiers, _ = poll(lambda: (seen := differ()) and not seen[2] and seen, 60, "the same amounts")
    assert [(one["name"], one["bytes_limit"], one["files_limit"], one["purge_days"], one["is_backed_up"]) for one in tiers] == [
        (one["tier"], one["space_limit"], one["files_limit"], one["purge_days"], one["backup"]) for one in told]
    assert "scratch" in [one["name"] for one in tiers]
    for tier in tiers:
        assert tier["is_counted"] or tier["problem"]
