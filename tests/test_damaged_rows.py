"""What of the database cannot be read is named, set aside and reported, until it is repaired; the rest goes on."""
import contextlib
import sqlite3

from cluster import poll

MINKE_ONLY = True
UNREADABLE = b"\xff\xff\xff\xff"
REPORTED = "damaged in the database, and set aside: "
# Of tables with more than a key and a record: which row is damaged, and what it is called then.
ROWS = {"jobs": ("run >> 31 = {pending}", "job {pending}"), "specs": ("spec_id = {unspecified}", "submission {unspecified}"),
        "steps": ("run >> 31 = {running} AND step = 0", "step {running}.0")}


@contextlib.contextmanager
def database_of(cluster):
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database, database:
        yield database


def tables_of_records(database) -> dict[str, str]:
    """Those of a key and a record, with the key's name."""
    columns = {name: [row[1] for row in database.execute(f"PRAGMA table_info({name})")]
               for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall()}
    # Nothing is ever read from the probe; a series is read when it is asked for.
    return {name: keys[0] for name, keys in columns.items()
            if len(keys) == 2 and keys[1] == "record" and name not in ("probe", "series")}


def log_of(cluster) -> str:
    return (cluster.home / "minked.log").read_text()


def test_a_damaged_row_of_every_kind_is_named_and_set_aside(cluster):
    for words in ("add account lab", "add user root account=lab", "add qos fast"):
        cluster.run("sacctmgr", "-i", *words.split(), check=0)
    cluster.run("scontrol", "create", "reservation", "reservationname=course", "starttime=now+1day", "duration=60", "users=root", "nodes=ALL", check=0)
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=kept", check=0)
    cluster.run("strigger", "--set", "--node", "--down", "--program=/bin/true", "--flags=PERM", check=0)
    held, pending, unspecified = (cluster.submit("echo ran", "--hold", "--time=10") for _ in range(3))
    running = cluster.submit("srun true; touch stepped; while [ ! -e finish ]; do sleep 0.05; done; echo ran", "--time=10")
    poll((cluster.work / "stepped").exists)
    ended = cluster.submit("true", "--nodelist=n2", "--time=10")
    cluster.wait_end(ended)
    cluster.run("minke", "down", "--keep-jobs", check=0)
    jobs = {"pending": pending, "unspecified": unspecified, "running": running}
    with database_of(cluster) as database:
        tables = tables_of_records(database)
        assert {"nodes", "trig", "pro", "mail", "quotas", "machine", "accounts", "plan"} <= set(tables), tables
        for table, key in tables.items():
            is_name = database.execute(f"SELECT type FROM pragma_table_info('{table}') WHERE name = ?", (key,)).fetchone()[0] == "TEXT"
            database.execute(f"INSERT OR REPLACE INTO {table} VALUES(?, ?)", ("nobody" if is_name else 1 if key == "id" and
                             table in ("machine", "usage_period") else 4000, UNREADABLE))
        for table, (where, _) in ROWS.items():
            assert database.execute(f"UPDATE {table} SET record = ? WHERE {where.format(**jobs)}", (UNREADABLE,)).rowcount == 1
    cluster.run("squeue", check=0)

    # Each is named (a report that was under way may name it, too), and is in its table no more.
    expected = len(tables) + len(ROWS) + 1  # the job without a specification, too
    named = {line.split("set aside: ")[1] for line in log_of(cluster).splitlines() if REPORTED in line}
    assert len(named) == expected, named
    lines = log_of(cluster).count(REPORTED)
    assert {name.format(**jobs) for _, name in ROWS.values()} | {f"job {unspecified}", "node nobody", "trigger 4000"} <= named
    for command in ("status", "doctor"):
        told = cluster.run("minke", command).stdout
        assert "account nobody" in told, told
        assert f"{expected - 20} more, named in minked.log" in told, told

    # The rest goes on.
    assert sorted(cluster.queue()) == [f"{held} PENDING", f"{running} RUNNING"]
    assert {"lab", "root"} <= set(cluster.run("sacctmgr", "-nP", "show", "account", "format=account", check=0).stdout.split())
    assert "course" in cluster.run("scontrol", "show", "reservation", check=0).stdout
    assert "kept" in cluster.run("scontrol", "show", "node", "n1", check=0).stdout
    assert "/bin/true" in cluster.run("strigger", "--get", check=0).stdout
    assert [f"{ended}", "COMPLETED"] in cluster.sacct("-X", format="JobID,State")
    (cluster.work / "finish").touch()
    assert cluster.wait_end(running)["JobState"] == "COMPLETED"
    cluster.run("scontrol", "release", held, check=0)
    assert cluster.output(held) == "ran\n"
    assert cluster.submit("true") == ended + 1, "no number is given out twice"

    # It is reported until it is repaired, and its bytes are kept.
    cluster.run("minke", "down", check=0)
    cluster.run("squeue", check=0)
    assert log_of(cluster).count(REPORTED) == lines
    assert REPORTED in cluster.run("minke", "doctor").stdout
    cluster.run("minke", "down", check=0)
    repaired = cluster.run("minke", "doctor", "--repair", check=0).stdout
    assert all(f"set aside {name}:" in repaired for name in named), repaired
    assert "nothing to repair" in cluster.run("minke", "doctor", "--repair", check=0).stdout
    with database_of(cluster) as database:
        assert database.execute("SELECT count(*) FROM set_aside WHERE record = ?", (UNREADABLE,)).fetchone() == (expected - 1,)
    cluster.run("squeue", check=0)
    assert REPORTED not in cluster.run("minke", "doctor").stdout
    assert cluster.submit("true") == ended + 2


def test_a_damaged_ended_job_is_passed_over_by_reports(cluster):
    """Its record is found to be damaged when it is asked for."""
    first, second = (cluster.submit("srun true") for _ in range(2))
    for job in (first, second):
        cluster.wait_end(job)
    cluster.run("minke", "down", check=0)
    with database_of(cluster) as database:
        database.execute("UPDATE jobs SET record = ? WHERE run >> 31 = ?", (UNREADABLE, first))
        database.execute("UPDATE steps SET record = ? WHERE run >> 31 = ? AND step >> 32 = 0", (UNREADABLE, second))
    assert [row[0] for row in cluster.sacct(format="JobID")] == [f"{second}", f"{second}.batch"]
    poll(lambda: f"job {first}" in cluster.run("minke", "status").stdout, what="the report")
    assert f"step {second}.0" in cluster.run("minke", "doctor").stdout
    assert cluster.sacct("-j", first, format="JobID") == []
