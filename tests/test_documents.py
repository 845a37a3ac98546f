"""--json and --yaml of the commands that look: the shape of Slurm's data_parser v0.0.45, and older ones on demand."""
import getpass
import json
import os

import pytest

from cluster import Machine, poll

USER = getpass.getuser()
pytestmark = pytest.mark.minke_only


def number(value):
    return {"set": True, "infinite": False, "number": value}


NOT_SET = {"set": False, "infinite": False, "number": 0}
ENDLESS = {"set": False, "infinite": True, "number": 0}


def document(cluster, *command) -> dict:
    return json.loads(cluster.run(*command, check=0).stdout)


def test_squeue(cluster):
    job = cluster.submit("true", "--hold", "--job-name=x", "--time=90", "--comment=\u00fc \"q\"", "--mem=100M", "--array=2-8:3%2",
                         "--nice=7")
    read = document(cluster, "squeue", "--json")
    assert list(read) == ["jobs", "last_backfill", "last_update", "meta", "errors", "warnings"]
    assert read["meta"]["plugin"]["data_parser"] == "data_parser/v0.0.45"
    assert read["meta"]["command"] == ["squeue", "--json"] and read["meta"]["client"]["user"] == USER
    assert read["errors"] == read["warnings"] == []
    one, = read["jobs"]
    expected = {"job_id": job, "name": "x", "user_name": USER, "user_id": os.getuid(), "job_state": ["PENDING"], "partition": "main",
                "time_limit": number(90), "comment": "\u00fc \"q\"", "array_job_id": number(job), "array_task_id": NOT_SET,
                "array_task_string": "2,5,8%2", "array_max_tasks": number(2), "state_reason": "JobHeldUser", "hold": True,
                "priority": number(0), "memory_per_node": number(100), "memory_per_cpu": NOT_SET, "node_count": number(1),
                "cpus": number(1), "nodes": "", "nice": 7, "current_working_directory": str(cluster.work), "batch_flag": True,
                "requeue": True, "standard_input": "/dev/null", "tres_alloc_str": ""}
    assert {name: one[name] for name in expected} == expected
    assert one["exit_code"] == {"status": ["SUCCESS"], "return_code": number(0),
                                "signal": {"id": NOT_SET, "name": ""}}
    assert document(cluster, "squeue", "--json", "--user", "nosuchuser")["jobs"] == []
    assert [task["array_task_id"] for task in document(cluster, "squeue", "--json", "-r")["jobs"]] == [
        number(2), number(5), number(8)]


def test_running_job(cluster):
    job = cluster.submit("sleep 600", "--ntasks=2", "--nodes=2", "--time=UNLIMITED")
    cluster.wait_state(job, "RUNNING")
    one, = document(cluster, "squeue", "--json", "-j", str(job))["jobs"]
    assert one["job_state"] == ["RUNNING"] and one["nodes"] == "n[1-2]" and one["time_limit"] == ENDLESS
    assert one["start_time"]["set"] and one["start_time"]["number"] > 1_700_000_000
    nodes = one["job_resources"]["nodes"]
    assert nodes["count"] == 2 and [node["name"] for node in nodes["allocation"]] == ["n1", "n2"]
    assert nodes["allocation"][0]["cpus"]["count"] == 1
    assert one["tres_alloc_str"].startswith("cpu=2,")
    cores = [core["status"] for socket in nodes["allocation"][0]["sockets"] for core in socket["cores"]]
    assert sorted(cores) == [["ALLOCATED", "IN_USE"], ["UNALLOCATED"]]
    assert {"JOB_WAS_RUNNING", "EXACT_TASK_COUNT_REQUESTED", "USING_DEFAULT_QOS"} <= set(one["flags"])
    assert one["tasks_per_core"] == ENDLESS and one["cpus_per_task"] == number(1) and one["mail_user"] == USER
    listed = poll(lambda: document(cluster, "scontrol", "listpids", str(job), "--json")["pids"])  # RUNNING comes first
    assert {(one["job_id"], one["step_id"]) for one in listed} == {(job, "batch")}
    assert document(cluster, "scontrol", "listjobs", "--json")["jobs"] == [{"job_id": job}]
    lines = document(cluster, "sinfo", "--json")["sinfo"]
    assert [(line["node"]["state"], line["nodes"]["nodes"], line["cpus"]["allocated"]) for line in lines] == [
        (["MIXED"], ["n1", "n2"], 2)]
    cluster.run("scancel", job, check=0)


def test_sinfo(cluster):
    line, = document(cluster, "sinfo", "--json")["sinfo"]
    assert line["partition"]["name"] == "main" and line["partition"]["maximums"]["time"] == ENDLESS
    assert line["partition"]["partition"]["state"] == ["UP"]
    assert line["node"]["state"] == ["IDLE"]
    assert line["nodes"] == {"allocated": 0, "idle": 2, "other": 0, "total": 2, "hostnames": line["nodes"]["hostnames"],
                             "addresses": line["nodes"]["addresses"], "nodes": ["n1", "n2"]}
    assert line["cpus"]["total"] == 4 and line["cpus"]["minimum"] == 2
    assert line["memory"]["minimum"] == 2000 and line["memory"]["free"]["minimum"]["set"] is True
    each = document(cluster, "sinfo", "-N", "--json")["sinfo"]
    assert [line["nodes"]["nodes"] for line in each] == [["n1"], ["n2"]]


def test_sacct(cluster):
    job = cluster.submit("srun false; exit 3", "--job-name=bad")
    cluster.wait_end(job)
    one, = document(cluster, "sacct", "--json", "-j", str(job))["jobs"]
    assert one["job_id"] == job and one["name"] == "bad" and one["state"] == {"current": ["FAILED"], "reason": "NonZeroExitCode"}
    assert one["exit_code"] == {"status": ["ERROR"], "return_code": number(3), "signal": {"id": NOT_SET, "name": ""}}
    assert [step["step"]["name"] for step in one["steps"]] == ["batch", "false"]
    assert one["steps"][1]["step"]["id"] == f"{job}.0"
    assert one["time"]["end"] >= one["time"]["start"] >= one["time"]["submission"] > 0
    assert {"type": "cpu", "name": "", "id": 1, "count": 1} in one["tres"]["allocated"]
    assert document(cluster, "sacct", "--json", "-X", "-j", str(job))["jobs"][0]["steps"] == []


def test_yaml_says_the_same(cluster):
    yaml = pytest.importorskip("yaml")
    cluster.submit("true", "--hold", "--job-name=- a: 'b' \"c\" #d", "--comment=yes")
    for command in (["squeue"], ["sinfo"], ["sacct", "-S", "now-1hour"], ["sshare"]):
        as_json = document(cluster, *command, "--json")
        as_yaml = yaml.safe_load(cluster.run(*command, "--yaml", check=0).stdout)
        for volatile in ("meta", "last_update"):
            as_json.pop(volatile, None), as_yaml.pop(volatile, None)
        if command != ["sinfo"]:  # load and free memory move
            assert as_yaml == as_json
        else:
            assert as_yaml["sinfo"][0]["partition"] == as_json["sinfo"][0]["partition"]


def test_versions(cluster):
    versions = "".join(f"data_parser/v0.0.{version}\n" for version in range(45, 39, -1))
    told = cluster.run("squeue", "--json=list", check=0)
    assert (told.stdout, told.stderr) == (versions, "Possible data_parser plugins:\n")
    assert "jobs" in document(cluster, "squeue", "--json=v0.0.42+complex")
    cluster.run("sbatch", "--hold", "--wrap=true", check=0)
    since = {"licenses_allocated": 43, "segment_size": 43, "stdout_expanded": 43, "submit_line": 44, "step_id": 44, "container_type": 45}
    for version in range(40, 46):
        read = document(cluster, "squeue", f"--json=v0.0.{version}")
        assert read["meta"]["plugin"]["data_parser"] == f"data_parser/v0.0.{version}"
        one, = read["jobs"]
        assert {name for name in since if name in one} == {name for name, first in since.items() if first <= version}
        assert ("power" in one) == (version < 45) and ("required_switches" in one) == (version >= 42)
    refused = cluster.run("squeue", "--json=v0.0.39")
    assert refused.returncode == 1 and "Invalid data_parser plugin requested: v0.0.39" in refused.stderr


def test_what_is_no_utf8(cluster):
    cluster.run("sbatch", "--hold", "--comment=a\udcffb", "--wrap=true", check=0)
    one, = document(cluster, "squeue", "--json")["jobs"]
    assert one["comment"] == "a\ufffdb"


def test_scontrol(cluster):
    job = cluster.submit("true", "--hold", "--job-name=x")
    one, = document(cluster, "scontrol", "--json", "show", "job", str(job))["jobs"]
    assert one["job_id"] == job and one["job_state"] == ["PENDING"]
    nodes = document(cluster, "scontrol", "show", "nodes", "--json")["nodes"]
    assert [(node["name"], node["state"], node["cpus"]) for node in nodes] == [("n1", ["IDLE"], 2), ("n2", ["IDLE"], 2)]
    assert nodes[0]["partitions"] == ["main"] and nodes[0]["real_memory"] == 2000
    assert len(document(cluster, "scontrol", "--json", "show", "node", "n2")["nodes"]) == 1
    partition, = document(cluster, "scontrol", "--json", "show", "partition", "main")["partitions"]
    assert partition["name"] == "main" and partition["nodes"]["configured"] == "n[1-2]" and partition["cpus"]["total"] == 4
    refused = cluster.run("scontrol", "--json", "show", "job", "999")
    assert refused.returncode == 1 and refused.stderr == "slurm_load_jobs error: Invalid job id specified\n"
    assert cluster.run("scontrol", "--json", "show", "node", "nosuch").stderr == "Node nosuch not found\n"


def test_configuration(cluster):
    read = document(cluster, "scontrol", "show", "config", "--json")
    configuration = read["slurm_conf"]
    assert configuration["ClusterName"] and configuration["GresTypes"] == [] and configuration["MinJobAge"] > 0
    assert configuration["PreemptMode"] == ["DISABLED"] and configuration["PreemptType"] == "" and configuration["SlurmUserId"] == os.getuid()
    assert read["slurm_conf_meta"]["SLURM_VERSION"].startswith("26.")
    assert document(cluster, "sacctmgr", "show", "configuration", "--json")["slurmdbd_conf"]["DbdHost"] == "localhost"


def test_sprio(cluster):
    holder = cluster.submit("sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    job = cluster.submit("true")
    one, = document(cluster, "sprio", "--json")["jobs"]
    assert one["job_id"] == job and one["priority"] == int(cluster.job(job)["Priority"]) and one["partition"] == "main"
    cluster.run("scancel", holder, check=0)


def test_components_of_heterogeneous_jobs(cluster):
    job = cluster.sbatch("--hold", "--job-name=het", "--ntasks=1", ":", "--ntasks=2", "--wrap=true")
    assert sorted(cluster.queue("-j", str(job), format="%i %C")) == [f"{job}+0 1", f"{job}+1 2"]
    assert [(one["het_job_id"], one["het_job_offset"]) for one in document(cluster, "squeue", "--json")["jobs"]] == [
        (number(job), number(0)), (number(job), number(1))]
    assert [row[0] for row in cluster.sacct("-X", "-j", str(job), format="JobID")] == [f"{job}+0", f"{job}+1"]


def test_scontrol_steps_reservations_licenses_ping(new_cluster):
    cluster = new_cluster("one", Machine(nodes=2, extra="[licenses]\nmatlab = 4\n"))
    job = cluster.submit("srun --job-name=inner sleep 600", "-L", "matlab:3")
    poll(lambda: f"{job}.0" in cluster.run("squeue", "-s", "-h", "-o", "%i").stdout)
    step, = [one for one in document(cluster, "scontrol", "show", "step", f"{job}", "--json")["steps"]
             if one["id"] == f"{job}.0"]
    assert step["state"] == ["RUNNING"] and step["number_tasks"] == 1 and step["name"] == "inner" and step["user"] == USER
    assert f"{job}.0" in [one["id"] for one in document(cluster, "squeue", "-s", "--json")["steps"]]
    assert document(cluster, "squeue", "--only-job-state", "--json")["jobs"] == [{"job_id": str(job), "state": ["RUNNING"]}]
    cluster.run("scontrol", "create", "reservation", "reservationname=r", "starttime=now+3600", "duration=10",
                f"users={USER}", "nodes=n2", "flags=maint", check=0)
    reserved, = document(cluster, "scontrol", "--json", "show", "reservation")["reservations"]
    assert (reserved["name"], reserved["node_list"], reserved["users"]) == ("r", "n2", USER)
    assert "MAINT" in reserved["flags"]
    assert reserved["end_time"]["number"] - reserved["start_time"]["number"] == 600
    unknown = cluster.run("scontrol", "--json", "show", "reservation", "nosuch", check=1)
    assert unknown.stdout == "" and unknown.stderr == "Reservation nosuch not found\n"
    licenses, = document(cluster, "scontrol", "show", "licenses", "--json")["licenses"]
    assert (licenses["LicenseName"], licenses["Total"], licenses["Used"], licenses["Free"]) == ("matlab", 4, 3, 1)
    ping, = document(cluster, "scontrol", "ping", "--json")["pings"]
    assert ping["status"] == "No error" and ping["responding"] is True


def test_sacctmgr(cluster):
    for words in (("account", "physics", "fairshare=3", "maxjobs=5"), ("account", "theory", "parent=physics"),
                  ("user", USER, "account=theory"), ("qos", "high", "priority=7", "maxtresperuser=cpu=4,gres/gpu=2")):
        cluster.run("sacctmgr", "-i", "add", *words, check=0)
    one, = document(cluster, "sacctmgr", "--json", "show", "assoc", f"user={USER}", "account=theory")["associations"]
    assert (one["account"], one["user"], one["lineage"]) == ("theory", USER, f"/physics/theory/0-{USER}/")
    assert one["max"]["jobs"]["active"] == number(5) and one["max"]["jobs"]["per"]["count"] == ENDLESS
    accounts = document(cluster, "sacctmgr", "--json", "show", "account", "physics", "withassoc")["accounts"]
    assert [(one["name"], [place["account"] for place in one["associations"]]) for one in accounts] == [
        ("physics", ["physics"])]
    users = document(cluster, "sacctmgr", "show", "user", USER, "--json")["users"]
    assert [(one["name"], one["administrator_level"]) for one in users] == [(USER, ["Administrator"])]
    high, = document(cluster, "sacctmgr", "--json", "show", "qos", "high")["qos"]
    assert high["priority"] == number(7) and high["limits"]["max"]["tres"]["per"]["user"] == [
        {"type": "cpu", "name": "", "id": 1, "count": 4}, {"type": "gres", "name": "gpu", "id": 1001, "count": 2}]
    assert {"type": "cpu", "name": "", "id": 1, "count": 0} in document(cluster, "sacctmgr", "--json", "show", "tres")["TRES"]
    assert cluster.run("sacctmgr", "--json", "show", "problem").stdout == cluster.run("sacctmgr", "show", "problem").stdout
    old = cluster.run("sacctmgr", "-nP", "show", "account", "physics", "withassoc", "format=account,maxjobs,grpcpus").stdout
    assert old == "physics|5|\n"


def test_json_is_laid_out_as_a_variable_says(cluster):
    def lines(value: str) -> int:
        text = cluster.run("scontrol", "ping", "--json", env={"SLURM_JSON": value}, check=0).stdout
        assert json.loads(text)["pings"][0]["primary"] is True and text.endswith("\n")
        return text.count("\n")
    assert lines("compact") == lines("pretty,COMPACT") == 1
    assert lines("pretty") > 10 < lines("")
