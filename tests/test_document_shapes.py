"""The documents of --json and --yaml have the fields, types and words of real Slurms' (data/document_shapes.txt), in each version
that can be asked for."""
import functools
import getpass
import json
import pathlib

import pytest

from cluster import Machine, poll

USER = getpass.getuser()
pytestmark = pytest.mark.minke_only
VERSIONS = range(40, 46)

# What Minke's documents have otherwise: (document, path, why). One that no longer occurs fails.
EXCUSED = [
    ("/slurm/jobs", "jobs[].job_resources", "without an allocation it is null, as in real answers; {} in v0.0.40"),
]


def in_range(words: str, version: int) -> bool:
    return not words or int(words[:2]) <= version <= int(words[3:])


@functools.cache
def facts(version: int) -> dict:
    """{document: {path: (type, words)}} of one version."""
    documents: dict = {}
    fields: dict = {}
    words: set | None = None
    for line in (pathlib.Path(__file__).parent / "data" / "document_shapes.txt").read_text().splitlines():
        if line.startswith("= "):
            fields = documents.setdefault(line[2:], {})
        elif line.startswith("  "):
            if words is not None:
                words.update(word for word, _, known in (one.partition("@") for one in line[2:].split("|")) if in_range(known, version))
        elif not line.startswith("#"):
            path, kind, *known = line.split(" ")
            words = None
            if in_range("".join(known), version):
                words = set()
                fields[path] = (kind, words)
    ends = {path: kind for path, kind in documents["/slurm/ping"].items() if path.split(".")[0] in ("meta", "errors[]", "warnings[]")}
    return {name: fields | ends for name, fields in documents.items() if fields}


@functools.cache
def tree(version: int, name: str) -> dict:
    """The same as nested objects: {key: (type, words) or {...}}; "[]" is the item of an array."""
    root: dict = {}
    for path, leaf in facts(version)[name].items():
        keys = path.replace("[]", ".[]").split(".")
        at = root
        for key in keys[:-1]:
            at = at.setdefault(key, {})
        at[keys[-1]] = leaf
    return root


def is_number(value, real: bool) -> bool:
    return (isinstance(value, dict) and list(value) == ["set", "infinite", "number"] and isinstance(value["set"], bool)
            and isinstance(value["infinite"], bool) and type(value["number"]) in ((int, float) if real else (int,)))


LEAVES = {"string": lambda value, _: isinstance(value, str), "boolean": lambda value, _: isinstance(value, bool),
          "integer": lambda value, _: type(value) is int, "real": lambda value, _: type(value) in (int, float),
          "number": lambda value, _: is_number(value, False), "real-number": lambda value, _: is_number(value, True),
          "array": lambda value, _: isinstance(value, list), "object": lambda value, _: isinstance(value, dict),
          "word": lambda value, words: value in words,
          "words": lambda value, words: isinstance(value, list) and set(value) <= words}


def wrong(value, shape, path: str):
    """Yields (path, what is wrong) of a value."""
    if isinstance(shape, tuple):
        if not LEAVES[shape[0]](value, shape[1]):
            yield path, f"{value!r} is no {shape[0]}"
    elif list(shape) == ["[]"]:
        if not isinstance(value, list):
            yield path, f"{value!r} is no array"
            return
        for one in value:
            yield from wrong(one, shape["[]"], path + "[]")
    elif not isinstance(value, dict):
        yield path, f"{value!r} is no object"
    elif not value and shape:
        yield path, "is empty"
    else:
        for key in sorted(set(shape) - set(value)):
            yield f"{path}.{key}".lstrip("."), "is missing"
        for key, one in value.items():
            if key in shape:
                yield from wrong(one, shape[key], f"{path}.{key}".lstrip("."))
            else:
                yield f"{path}.{key}".lstrip("."), "is unknown"


# The document of each command.
COMMANDS = [
    ("squeue", "/slurm/jobs"), ("squeue -r", "/slurm/jobs"), ("squeue --start", "/slurm/jobs"), ("squeue -t all", "/slurm/jobs"),
    ("squeue --steps", "squeue --steps"), ("squeue --only-job-state", "squeue --only-job-state"),
    ("sinfo", "sinfo"), ("sinfo -N", "sinfo"), ("sinfo -R", "sinfo"),
    ("scontrol show job", "/slurm/jobs"), ("scontrol show node", "/slurm/nodes"), ("scontrol show partition", "/slurm/partitions"),
    ("scontrol show step", "squeue --steps"), ("scontrol show reservation", "/slurm/reservations"),
    ("scontrol show licenses", "/slurm/licenses"), ("scontrol show config", "/slurm/conf"), ("scontrol ping", "/slurm/ping"),
    ("scontrol listpids", "scontrol listpids"), ("scontrol listjobs", "scontrol listjobs"), ("scontrol liststeps", "scontrol liststeps"),
    ("sacctmgr ping", "/slurmdb/ping"), ("sacct -a", "/slurmdb/jobs"), ("sacct -a -X", "/slurmdb/jobs"), ("sshare -a", "/slurm/shares"), ("sdiag", "/slurm/diag"),
    ("sacctmgr show account withassoc", "/slurmdb/accounts"), ("sacctmgr show user withassoc", "/slurmdb/users"),
    ("sacctmgr show association", "/slurmdb/associations"), ("sacctmgr show qos", "/slurmdb/qos"),
    ("sacctmgr show tres", "/slurmdb/tres"), ("sacctmgr show cluster", "/slurmdb/clusters"),
    ("sacctmgr show wckey", "/slurmdb/wckeys"), ("sacctmgr show instance", "/slurmdb/instances"),
    ("sacctmgr show stats", "/slurmdb/diag"), ("sacctmgr show configuration", "/slurmdb/conf"),
]
# Slurm prints these as text, whatever is asked for.
TEXTS = ["scontrol show hostnames n[1-2]", "scontrol show assoc_mgr", "scontrol show topology", "scontrol version",
         "sacctmgr show resource", "sacctmgr show runawayjobs", "sacctmgr show federation"]


@pytest.fixture
def busy(new_cluster):
    """A cluster in which there is one of everything."""
    cluster = new_cluster("one", Machine(nodes=2, gpus="a100:2", extra="[licenses]\nmatlab = 4\n"))
    for words in (("account", "physics", "fairshare=3", "maxjobs=50"), ("user", USER, "account=physics"), ("wckey", "w", f"user={USER}"),
                  ("qos", "high", "priority=7", "maxtresperuser=cpu=4,gres/gpu=2", "flags=DenyOnLimit")):
        cluster.run("sacctmgr", "-i", "add", *words)
    running = cluster.submit("srun -n1 sleep 600 & exec sleep 600", "--gres=gpu:1", "-L", "matlab:1", "--mail-type=END", "--time=30")
    poll(lambda: f"{running}.0" in cluster.run("squeue", "-s", "-h", "-o", "%i").stdout)
    cluster.wait_end(cluster.submit("exit 3"))
    cluster.submit("true", "--hold", "--array=1-3%2", "--exclusive")
    cluster.sbatch("--hold", "--ntasks=1", ":", "--ntasks=2", "--wrap=true")
    cluster.run("scontrol", "create", "reservation", "reservationname=r", "starttime=now+3600", "duration=10", f"users={USER}",
                "nodes=n2", "flags=maint", check=0)
    cluster.run("scontrol", "update", "nodename=n2", "state=drain", "reason=broken", check=0)
    return cluster


def test_every_command_in_every_version(busy):
    found = []
    excused = set()
    for command, name in COMMANDS:
        for version in VERSIONS:
            if name not in facts(version):
                continue
            answer = busy.run(*command.split(), f"--json=v0.0.{version}", check=0)
            for path, what in wrong(json.loads(answer.stdout), tree(version, name), ""):
                reason = next(((name, one) for where, one, _ in EXCUSED if where == name and path == one), None)
                if reason:
                    excused.add(reason)
                else:
                    found.append(f"{command} (v0.0.{version}): {path} {what}")
    assert not found, "\n".join(sorted(set(found))[:60])
    assert excused == {(name, path) for name, path, _ in EXCUSED}, "these excuses are no longer needed"


def test_text_where_slurm_has_no_document(busy):
    for command in TEXTS:
        with_option, without = busy.run(*command.split(), "--json").stdout, busy.run(*command.split()).stdout
        assert with_option.splitlines()[:2] == without.splitlines()[:2]
    configuration = busy.run("scontrol", "show", "config", "--json=v0.0.44", check=0).stdout
    assert configuration.startswith("Configuration data as of")


def test_yaml_is_the_same(busy):
    yaml = pytest.importorskip("yaml")
    for command, name in COMMANDS:
        as_yaml = yaml.safe_load(busy.run(*command.split(), "--yaml", check=0).stdout)
        assert list(wrong(as_yaml, tree(45, name), "")) == [] or name == "/slurm/jobs"
