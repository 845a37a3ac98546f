"""The documents of --json on both systems: for the jobs of states.py, every value by its path.

A document is made flat: {record: {path: text}}. A number that may be missing is a number, "unset" or "infinite"; an array
of words is one text; records within a record are counted ("steps.0.time.start"), unless something names them. Numbers
that are moments are written as times, so that compare.py gives them their tolerance.
"""
import json
import time

from systems import Pair

# name: the command, where its records are, and what names one. {running} is a job of states.py.
DOCUMENTS = {
    "json sinfo": ("sinfo --json", "sinfo", lambda one: "/".join((one["partition"]["name"], one["nodes"]["nodes"][0]))),
    "json sinfo by node": ("sinfo -N --json", "sinfo", lambda one: "/".join((one["partition"]["name"], one["nodes"]["nodes"][0]))),
    "json node": ("scontrol show node --json", "nodes", lambda one: one["name"]),
    "json partition": ("scontrol show partition --json", "partitions", lambda one: one["name"]),
    "json reservation": ("scontrol show reservation --json", "reservations", lambda one: one["name"]),
    "json licenses": ("scontrol show licenses --json", "licenses", lambda one: one["LicenseName"]),
    "json ping": ("scontrol ping --json", "pings", lambda one: "primary"),
    "json squeue": ("squeue --json", "jobs", lambda one: str(one["job_id"])),
    "json squeue of a state": ("squeue -t running --json", "jobs", lambda one: str(one["job_id"])),
    "json job": ("scontrol show job {running} --json", "jobs", lambda one: str(one["job_id"])),
    "json job states": ("squeue --only-job-state --json", "jobs", lambda one: one["job_id"]),
    "json steps": ("squeue -s --json", "steps", lambda one: one["id"]),
    "json step": ("scontrol show step --json", "steps", lambda one: one["id"]),
    "json sacct": ("sacct --json -j {jobs}", "jobs", lambda one: f"{one['job_id']}/{one['restart_cnt']}"),
    "json sshare": ("sshare -a --json", "shares.shares", lambda one: f"{one['parent']}/{one['name']}"),
    "json sdiag": ("sdiag --json", "statistics", lambda one: ""),
    "json qos": ("sacctmgr show qos --json", "qos", lambda one: one["name"]),
    "json tres": ("sacctmgr show tres --json", "TRES", lambda one: f"{one['type']}/{one['name']}"),
    "json account": ("sacctmgr show account --json", "accounts", lambda one: one["name"]),
    "json user": ("sacctmgr show user --json", "users", lambda one: one["name"]),
    "json association": ("sacctmgr show association --json", "associations", lambda one: f"{one['account']}/{one['user']}"),
    "json cluster": ("sacctmgr show cluster --json", "clusters", lambda one: one["name"]),
}
# They are looked at before a job is suspended, as in states.py.
OF_NODES = [name for name in DOCUMENTS if name.startswith(("json sinfo", "json node", "json partition"))]
RESERVATION = "reservationname=later starttime=2035-06-01T10:00:00 duration=60 users=root nodes=n1,n5"
# What is of the moment, or of each system alone, by the beginning of its path.
OF_THE_MOMENT = {"json sdiag": ("rpcs_", "schedule_", "bf_", "jobs_", "job_states_ts", "req_time", "pending_rpcs")}
# Records within a record that have names.
NAMED = {"allocation": "name", "allocated": "type", "requested": "type"}
OLDEST_MOMENT, LATEST_MOMENT = 1_500_000_000, 2_300_000_000


def is_number(value) -> bool:
    return isinstance(value, dict) and value.keys() == {"set", "infinite", "number"}


def text_of(value) -> str:
    """A value without parts."""
    if is_number(value):
        if value["infinite"]:
            return "infinite"
        return text_of(value["number"]) if value["set"] else "unset" if value["number"] == 0 else f"unset {value['number']}"
    if isinstance(value, bool) or value is None:
        return json.dumps(value)
    if isinstance(value, int) and OLDEST_MOMENT < value < LATEST_MOMENT:
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(value))
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)


def flat(value, path: str = "") -> dict[str, str]:
    if isinstance(value, dict) and not is_number(value) and value:
        parts = value.items()
    elif isinstance(value, list) and any(isinstance(one, (dict, list)) for one in value):
        name = NAMED.get(path.rsplit(".", 1)[-1])
        parts = ((one.get(name, str(at)) if name and isinstance(one, dict) else str(at), one) for at, one in enumerate(value))
    elif isinstance(value, list):
        return {path: "[" + ", ".join(sorted(map(text_of, value))) + "]"}
    else:
        return {path: text_of(value)}
    found = {}
    for key, one in parts:
        found |= flat(one, f"{path}.{key}".lstrip("."))
    return found


def document(system, numbers: dict[str, int], name: str, named) -> dict[str, dict[str, str]]:
    """{record: {path: text}}; the jobs have names, and records of other jobs are left out."""
    command, where, key = DOCUMENTS[name]
    line = command.format(**numbers, jobs=",".join(map(str, numbers.values())))
    done = system.run("bash", "-c", line)
    assert done.returncode == 0, f"{system.name}: {line}: {done.stderr}"
    answer = json.loads(done.stdout)
    for part in where.split("."):
        answer = answer[part]
    found = {}
    for one in answer if isinstance(answer, list) else [answer]:
        # An amount of time is no job's number, even where it happens to be the same.
        row = {path: text if path.endswith("seconds") else named(text, system, numbers) for path, text in flat(one).items()
               if not path.startswith(OF_THE_MOMENT.get(name, ()) or "\0")}
        found[named(key(one), system, numbers)] = row
    of_jobs = name in ("json squeue", "json squeue of a state", "json job states", "json steps", "json step", "json sacct")
    return {record: row for record, row in found.items() if not of_jobs or record.startswith("<")}


def documents_of(system, numbers: dict[str, int], names, named) -> dict[str, dict]:
    return {name: document(system, numbers, name, named) for name in names}
