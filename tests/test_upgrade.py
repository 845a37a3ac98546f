"""A cluster of an earlier version is taken over as it is: its database, its journal, and a launcher that still runs."""
import contextlib
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import struct
import zlib

import pytest

from cluster import ROOT, Cluster, Machine, poll
from processes import has_ended
from wire import protocol

MINKE_ONLY = True
# What clusters left when they were killed, by the schema of their databases. A new schema gets a file here, and keeps all others.
FIXTURES = pathlib.Path(__file__).parent / "upgrade"
KILLED_CLUSTER = FIXTURES / "killed_cluster.sql"
SCHEMAS = {3: KILLED_CLUSTER} | {number: FIXTURES / f"schema_{number}.sql" for number in (1, 2, 4, 5, 6, 7)}
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="the jobs in the fixture are root's")


def boot_id() -> bytes:
    return pathlib.Path("/proc/sys/kernel/random/boot_id").read_bytes()


def fill(home: pathlib.Path, schema: int) -> None:
    """Makes the home's database from the fixture, as of this boot of the machine."""
    with contextlib.closing(sqlite3.connect(home / "minke.db")) as database:
        database.executescript(SCHEMAS[schema].read_text())
        if schema < 4:
            database.execute("UPDATE settings SET value = ? WHERE name = 'boot_id'", (boot_id(),))
        else:
            machine = protocol().MachineState.FromString(database.execute("SELECT record FROM machine").fetchone()[0])
            machine.boot_id = boot_id()
            database.execute("UPDATE machine SET record = ?", (machine.SerializeToString(),))
        database.commit()
    os.chmod(home / "minke.db", 0o600)


def test_there_is_a_fixture_of_every_schema():
    known = int(re.search(r"kSchema = (\d+);", (ROOT / "src/store/schema.h").read_text())[1])
    assert sorted(SCHEMAS) == list(range(1, known + 1))
    for schema, path in SCHEMAS.items():
        assert f"user_version = {schema};" in path.read_text()


@needs_root
@pytest.mark.parametrize("schema", sorted(SCHEMAS))
@pytest.mark.machine(nodes=1, cpus=4, memory=4000)
def test_a_database_of_an_earlier_version_is_taken_over(cluster, schema):
    fill(cluster.home, schema)
    poll(lambda: sorted(cluster.queue()) == ["2_[1-5] PENDING", "3 RUNNING"], 60, "the queue")
    assert ["1", "COMPLETED", "0:0"] in cluster.sacct("-S", "2020-01-01")
    assert "lab" in cluster.run("sacctmgr", "-nP", "show", "account", check=0).stdout
    # Its script was never launched, by the launcher's journal. Its next steps have numbers of their own.
    poll(lambda: {row[0] for row in cluster.sacct("-j", 3, "-S", "2020-01-01")} >= {f"3.{i}" for i in range(4)}, 60, "steps")
    cluster.run("scancel", 3, check=0)
    cluster.run("scontrol", "release", 2, check=0)
    poll(lambda: cluster.queue() == [], 60, "the end")
    assert [row[1] for row in cluster.sacct("-X", "-j", 2)] == ["COMPLETED"] * 5
    assert cluster.submit("true", "--account=lab") == 8  # no number is given out twice


def test_a_database_of_a_later_version_is_refused(cluster):
    """With the reason, and before anything changes."""
    later = max(SCHEMAS) + 1
    fill(cluster.home, max(SCHEMAS))
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute(f"PRAGMA user_version = {later}")
    before = (cluster.home / "minke.db").read_bytes()
    refused = cluster.run("squeue")
    assert refused.returncode != 0 and cluster.pid() is None
    assert f"was written by a newer version (schema {later}, this program knows {later - 1})" in refused.stdout + refused.stderr, refused
    assert (cluster.home / "minke.db").read_bytes() == before


def without_journal_id(record: bytes) -> bytes:
    """The header's body without its third field, which earlier versions do not write."""
    kept, at = b"", 0
    while at < len(record):
        begin, tag = at, record[at]
        at += 1
        if tag & 7 == 2:
            at += 1 + record[at]
        else:
            while record[at] & 0x80:
                at += 1
            at += 1
        if tag >> 3 != 3:
            kept += record[begin:at]
    return kept


def test_a_journal_of_an_earlier_version_is_taken_over(cluster):
    """It has no name. What it remembers is known; what ran is lost with its launcher, once, as ever."""
    job = cluster.submit("echo $$ >> runs; while [ ! -e finish ]; do sleep 0.05; done", "--requeue")
    poll(lambda: (cluster.work / "runs").exists() and (cluster.work / "runs").read_text())
    cluster.kill()
    cluster.kill("launcher")
    path = cluster.home / "launcher.journal"
    text = path.read_bytes()
    length, = struct.unpack_from("<I", text, 8)
    outer = text[16:16 + length]
    header = without_journal_id(outer[2:])
    assert len(header) < length - 2
    body = outer[:1] + bytes([len(header)]) + header
    path.write_bytes(text[:8] + struct.pack("<II", len(body), zlib.crc32(body)) + body + text[16 + length:])
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database, database:
        row, = database.execute("SELECT record FROM machine").fetchone()
        machine = protocol().MachineState.FromString(row)
        machine.journal_id = b""
        database.execute("UPDATE machine SET record = ?", (machine.SerializeToString(),))
    poll(lambda: cluster.queue() and cluster.job(job)["Restarts"] == "1", 60, "the second run")
    assert "lost its journal" not in (cluster.home / "minked.log").read_text()
    (cluster.work / "finish").touch()
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert len((cluster.work / "runs").read_text().split()) == 2


@pytest.mark.skipif("MINKE_EARLIER" not in os.environ, reason="MINKE_EARLIER names no earlier program")
def test_a_running_launcher_of_an_earlier_program_is_taken_over(tmp_path):
    """Nothing that runs is disturbed; the next launcher is the new program's."""
    program = tmp_path / "minke"
    shutil.copy(os.environ["MINKE_EARLIER"], program)
    cluster = Cluster(tmp_path / "cluster", Machine(nodes=1, cpus=4, memory=4000), program=program)
    try:
        script = "srun true; touch started.$SLURM_JOB_ID; while [ ! -e finish ]; do sleep 0.05; done; srun true; exit 3"
        jobs = [cluster.submit(script, option, "--mem=10") for option in ("--requeue", "--no-requeue")]
        step = cluster.start("srun", "--mem=10", "sh", "-c", "touch begun; while [ ! -e finish ]; do sleep 0.05; done; exit 4")
        for name in [f"started.{job}" for job in jobs] + ["begun"]:
            poll(lambda: (cluster.work / name).exists(), 30, name)
        launcher = cluster.pid("launcher")
        os.kill(step.pid, signal.SIGSTOP)  # or it would start the earlier program's daemon again
        cluster.kill()
        fresh = tmp_path / "fresh"
        shutil.copy(Cluster(tmp_path / "other").program, fresh)
        fresh.rename(program)
        assert cluster.run("squeue").returncode == 0
        os.kill(step.pid, signal.SIGCONT)
        assert cluster.pid("launcher") == launcher
        assert {cluster.state(job) for job in jobs} == {"RUNNING"}
        (cluster.work / "finish").touch()
        assert step.wait(60) == 4
        for job in jobs:
            assert cluster.wait_end(job)["ExitCode"] == "3:0"
            assert {row[0] for row in cluster.sacct("-j", job)} == {f"{job}", f"{job}.batch", f"{job}.0", f"{job}.1"}
        cluster.kill("launcher")
        poll(lambda: cluster.pid("launcher") not in (None, launcher), 30, "another launcher")
        assert cluster.output(cluster.submit("echo new")) == "new\n"
        assert has_ended(launcher)
    finally:
        cluster.close()
