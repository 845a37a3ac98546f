"""What daemon and launcher make of what they find: after a kill between two writes, another boot, a damaged file."""
import contextlib
import fcntl
import os
import pathlib
import random
import sqlite3
import time

import pytest

from cluster import poll, written
from processes import command_line, has_ended
from wire import protocol

MINKE_ONLY = True


@contextlib.contextmanager
def locked_database(cluster):
    """While it lasts, nothing can be stored."""
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db", isolation_level=None, timeout=120)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield other


@contextlib.contextmanager
def no_launcher(cluster):
    """While it lasts, no launcher can start: somebody else has its lock."""
    cluster.kill("launcher")
    with open(cluster.home / "launcher.lock", "r+") as file:
        poll(lambda: take_lock(file), 30, "the launcher's lock")
        yield


def take_lock(file) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except OSError:
        return False


def kill_everything(cluster):
    """As a power cut does: daemon, launcher and what they had running."""
    cluster.kill()
    poll(cluster.kill_all, 30, "the end of every process")


def stored_boot(cluster) -> bytes:
    """What the machine was last started as, by its record."""
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db", timeout=120)) as database:
        row = database.execute("SELECT record FROM machine").fetchone()
        return protocol().MachineState.FromString(row[0]).boot_id if row else b""


def change_stored_boot(cluster, boot_id: bytes):
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db", timeout=120)) as database, database:
        row, = database.execute("SELECT record FROM machine").fetchone()
        machine = protocol().MachineState.FromString(row)
        machine.boot_id = boot_id
        database.execute("UPDATE machine SET record = ?", (machine.SerializeToString(),))


@pytest.mark.timeout(1200)
@pytest.mark.machine(nodes=1, cpus=8, memory=8000)
def test_an_array_goes_on_when_its_launcher_is_killed(cluster):
    """Ends that the killed launcher had not been told to forget are told once more: they hold nothing up."""
    job = cluster.submit("true", "--array=1-600", "--mem=10M", "--output=/dev/null")
    for _ in range(4):
        time.sleep(random.uniform(0.2, 0.6))
        before = poll(lambda: cluster.pid("launcher"), 30, "a launcher")
        cluster.kill("launcher")
        poll(lambda: cluster.pid("launcher") not in (None, before), 30, "another launcher")
    poll(lambda: cluster.queue() == [], 120, "the end of the array")
    states = {row[0]: row[1] for row in cluster.sacct("-X", "-j", job)}
    assert states == {f"{job}_{i}": "COMPLETED" for i in range(1, 601)}


def test_srun_fails_when_its_step_is_lost_with_the_launcher(cluster):
    step = cluster.start("srun", "sh", "-c", "touch started; sleep 600")
    poll(lambda: (cluster.work / "started").exists())
    cluster.kill("launcher")
    _, err = step.communicate(timeout=240)
    assert step.returncode == 1 and "srun: error: Node failure on n1" in err, (step.returncode, err)
    poll(lambda: cluster.queue() == [])
    assert [row[1] for row in cluster.sacct("-j", "1")] == ["FAILED", "NODE_FAIL"]


def test_the_log_says_what_became_of_jobs_when_a_launcher_dies(cluster):
    again = cluster.submit("touch started.$SLURM_JOB_ID; sleep 600", "--requeue")
    gone = cluster.submit("touch started.$SLURM_JOB_ID; sleep 600", "--no-requeue")
    for job in (again, gone):
        poll(lambda: (cluster.work / f"started.{job}").exists())
    cluster.kill("launcher")
    cluster.wait_state(gone, "NODE_FAIL")
    poll(lambda: cluster.job(again)["Restarts"] == "1")
    log = (cluster.home / "minked.log").read_text()
    assert f"job {again} was lost with the launcher; it goes back to the queue" in log
    assert f"job {gone} was lost with the launcher; it ends as NODE_FAIL" in log


ENFORCED = """
[accounting]
enforce = ["limits"]
"""


@pytest.mark.machine(nodes=1, cpus=4, memory=4000, extra=ENFORCED)
def test_limits_and_usage_count_a_job_whose_start_was_found_again(cluster):
    """Its start was not durable when the daemon was killed."""
    for line in ("add account lab", f"add user root account=lab defaultaccount=lab", "modify account lab set grptres=cpu=1"):
        cluster.run("sacctmgr", "-i", *line.split(), check=0)
    first = cluster.submit("touch started; while [ ! -e finish ]; do sleep 0.05; done", "--account=lab", "--hold", "--mem=10")
    with locked_database(cluster):
        release = cluster.start("scontrol", "release", first)
        poll(lambda: (cluster.work / "started").exists())
        cluster.kill()
        release.kill()
        release.communicate()
    assert cluster.state(first) == "RUNNING"
    second = cluster.submit("true", "--account=lab", "--mem=10")
    poll(lambda: cluster.queue("-j", second, format="%T %r") == ["PENDING AssocGrpCpuLimit"], 30, "the limit")
    time.sleep(3.5)  # what it uses is counted in whole seconds, and decays
    (cluster.work / "finish").touch()
    cluster.wait_end(first)
    cluster.wait_end(second)
    told = cluster.run("sshare", "-n", "-P", "-A", "lab", "-o", "Account,RawUsage", check=0).stdout.split()
    assert int(told[0].split("|")[1]) >= 2, told


def test_directories_that_a_power_cut_left_are_removed(cluster):
    """The launcher does not know of them: its last records never reached the disk, or the removal did not."""
    cluster.output(cluster.submit("true"))
    left = [cluster.home / f"tmp/job{number}" for number in (1, 7)]
    poll(lambda: not left[0].exists())
    kill_everything(cluster)
    change_stored_boot(cluster, b"another boot")
    for one in left:
        (one / "some").mkdir(parents=True)
        (one / "some/file").touch()
    job = cluster.submit("ls -A $SLURM_TMPDIR")
    assert cluster.output(job) == ""
    poll(lambda: [path for path in (cluster.home / "tmp").iterdir() if "job" in path.name] == [])


def test_a_job_that_may_not_run_twice_does_not_after_a_boot(cluster):
    """The daemon that came up after the boot is killed before it has settled what ran. The next one still knows."""
    job = cluster.submit("echo x >> runs; sleep 600", "--no-requeue")
    poll(lambda: written(cluster.work / "runs"))
    poll(lambda: stored_boot(cluster))
    kill_everything(cluster)
    change_stored_boot(cluster, b"another boot")
    (cluster.home / "launcher.journal").unlink()  # as where its last records never reached the disk
    with no_launcher(cluster):
        up = cluster.start("squeue")
        pid = poll(daemon_of(cluster), 30, "the daemon")
        poll(lambda: is_waiting_for_its_launcher(cluster), 30, "the daemon's search for a launcher")
        os.kill(pid, 9)
        poll(lambda: has_ended(pid))
        up.kill()
        up.communicate()
    cluster.run("squeue", check=0)
    assert cluster.wait_end(job)["JobState"] == "NODE_FAIL"
    assert (cluster.work / "runs").read_text() == "x\n"


def daemon_of(cluster):
    """Its process, also before it has told anybody its number."""
    def find():
        return next((pid for pid in cluster.processes() if command_line(pid)[1:2] == ["daemon"]), None)
    return find


def is_waiting_for_its_launcher(cluster) -> bool:
    return "another launcher serves" in (cluster.home / "launcher.log").read_text()


def damage_in_the_middle(path: pathlib.Path):
    text = bytearray(path.read_bytes())
    text[len(text) // 2] ^= 0x55
    path.write_bytes(text)


def damage_the_end(path: pathlib.Path):
    os.truncate(path, path.stat().st_size - 7)


def remove(path: pathlib.Path):
    path.unlink()


def fill_with_zeros(path: pathlib.Path):
    path.write_bytes(bytes(path.stat().st_size))


@pytest.mark.parametrize("damage", [damage_in_the_middle, damage_the_end, remove, fill_with_zeros])
def test_a_damaged_journal_lets_nothing_run_twice(cluster, damage):
    """What the launcher cannot know any more is lost, and killed; not taken for what was never launched."""
    script = 'echo $$ >> "runs.$SLURM_JOB_ID"; exec sleep 600'
    once = cluster.submit(script, "--no-requeue", "--mem=10")
    often = cluster.submit(script, "--requeue", "--mem=10")
    for job in (once, often):
        poll(lambda: written(cluster.work / f"runs.{job}"))
    cluster.kill()
    cluster.kill("launcher")
    damage(cluster.home / "launcher.journal")
    cluster.run("squeue", check=0)
    assert cluster.wait_end(once)["JobState"] == "NODE_FAIL"
    pid, = (cluster.work / f"runs.{once}").read_text().split()
    poll(lambda: has_ended(int(pid)), 30, "the end of what ran")
    poll(lambda: len((cluster.work / f"runs.{often}").read_text().split()) == 2, 30, "the second run")
    assert cluster.job(often)["Restarts"] == "1"
    first, _ = (cluster.work / f"runs.{often}").read_text().split()
    poll(lambda: has_ended(int(first)), 30, "the end of the first run")
    assert "journal" in (cluster.home / "minked.log").read_text()


def test_every_step_is_accounted_for_when_the_daemon_is_killed(cluster):
    """No number is used twice."""
    job = cluster.submit("for i in $(seq 1 24); do srun --job-name=step$i true || echo failed; touch done.$i; done", "--mem=10")
    for i in range(4, 24, 4):
        poll(lambda: (cluster.work / f"done.{i}").exists(), 60, f"step {i}")
        cluster.kill()
        cluster.run("squeue", check=0)
    assert cluster.output(job) == ""
    told = cluster.sacct("-j", job, format="JobID,JobName,State")
    steps = [row for row in told if row[1].startswith("step")]
    assert sorted(row[0] for row in steps) == sorted({f"{job}.{i}" for i in range(24)})
    assert [row[1] for row in steps] == [f"step{i}" for i in range(1, 25)]
    assert {row[2] for row in steps} == {"COMPLETED"}
    assert [f"{job}.batch", "batch", "COMPLETED"] in told


@pytest.mark.parametrize("contents", [b"", b"#!/bin/sh\necho another; exit 3\n"])
def test_a_spooled_script_that_lost_its_contents_is_not_run(cluster, contents):
    """A power cut may leave a file by its name, and nothing in it."""
    held = cluster.submit("echo right", "--hold")
    first = cluster.submit("while [ ! -e finish ]; do sleep 0.05; done; echo right", "--job-name=again")
    poll(lambda: list((cluster.home / "spool").rglob("slurm_script")))
    (cluster.work / "finish").touch()
    cluster.wait_end(first)
    again = cluster.sbatch("--hold", "--job-name=again", cluster.work / "job.sh")
    kept = cluster.submit("while [ ! -e finish ]; do sleep 0.05; done; echo right", "--hold")
    kill_everything(cluster)
    scripts = list((cluster.home / "spool").rglob("slurm_script"))
    assert scripts
    for path in scripts:
        path.write_bytes(contents)
    for job in (held, again, kept):
        cluster.run("scontrol", "release", job, check=0)
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"
        assert (cluster.work / f"slurm-{job}.out").read_text() == "right\n"


def stop(cluster):
    cluster.run("minke", "down", check=0)


def test_damaged_accounts_are_named_and_set_aside(cluster):
    """The rest of the tree is there, and stays."""
    for words in ("add account lab", "add account other", "add user root account=lab,other", "add qos fast"):
        cluster.run("sacctmgr", "-i", *words.split(), check=0)
    stop(cluster)
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database, database:
        database.execute("UPDATE accounts SET record = x'ffffffff' WHERE name = 'lab'")
        association, = database.execute("SELECT max(id) FROM assoc").fetchone()
        database.execute("UPDATE assoc SET record = x'ffffffff' WHERE id = ?", (association,))
        fast, = database.execute("SELECT max(id) FROM qos").fetchone()
        database.execute("UPDATE qos SET record = (SELECT record FROM accounts WHERE name = 'other') WHERE id = ?", (fast,))
    for _ in range(2):
        cluster.run("squeue", check=0)
        told = cluster.run("minke", "status").stdout
        for name in ("account lab", f"qos {fast}", f"association {association}"):
            assert name in told
        assert "account lab" in cluster.run("minke", "doctor").stdout
        accounts = cluster.run("sacctmgr", "-nP", "show", "account", "format=account", check=0).stdout.split()
        assert {"lab", "other", "root"} <= set(accounts)
        assert cluster.output(cluster.submit("echo ran")) == "ran\n"
        stop(cluster)


def test_a_damaged_job_is_named_and_the_others_wait_on(cluster):
    first, second, third = (cluster.submit("echo ran", "--hold") for _ in range(3))
    stop(cluster)
    with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database, database:
        database.execute("UPDATE jobs SET record = x'ffffffff' WHERE run >> 31 = ?", (second,))
    assert sorted(cluster.queue(format="%i")) == [str(first), str(third)]
    assert f"job {second}" in cluster.run("minke", "status").stdout
    cluster.run("scontrol", "release", third, check=0)
    assert cluster.output(third) == "ran\n"


def test_a_damaged_database_is_repaired(cluster):
    """Every page is damaged in its turn: the rest is saved, and the cluster starts again."""
    held = [cluster.submit("echo ran", "--hold", f"--comment={'x' * 1000}") for _ in range(12)]
    stop(cluster)
    sound = (cluster.home / "minke.db").read_bytes()
    page = 4096
    saved = 0
    for number in range(0, len(sound) // page, 3):
        (cluster.home / "minke.db").write_bytes(sound[:number * page] + bytes([0xa5]) * page + sound[(number + 1) * page:])
        for name in ("minke.db-wal", "minke.db-shm"):
            (cluster.home / name).unlink(missing_ok=True)
        done = cluster.run("minke", "doctor", "--repair")
        assert done.returncode == 0 and ("repaired" in done.stdout or "sound" in done.stdout), done
        with contextlib.closing(sqlite3.connect(cluster.home / "minke.db")) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            saved += database.execute("SELECT count(*) FROM jobs").fetchone()[0]
    assert saved > 0
    assert list(cluster.home.glob("minke.db.damaged-*"))
    assert cluster.run("squeue").returncode == 0
    assert set(cluster.queue(format="%i")) <= {str(job) for job in held}
    assert cluster.output(cluster.submit("echo again")) == "again\n"


def test_a_database_that_was_cut_off_is_repaired(cluster):
    """What is before the cut is saved. Until then each command says what to do."""
    held = [cluster.submit("echo ran", "--hold", f"--comment={'x' * 1000}") for _ in range(12)]
    stop(cluster)
    os.truncate(cluster.home / "minke.db", (cluster.home / "minke.db").stat().st_size - 5000)
    done = cluster.run("squeue")
    assert done.returncode == 1 and "minke doctor --repair" in done.stderr, done
    told = cluster.run("minke", "doctor", "--repair", check=0).stdout
    assert "lost     the end of the database" in told and "repaired" in told, told
    assert set(cluster.queue(format="%i")) <= {str(job) for job in held}
    assert cluster.output(cluster.submit("echo again")) == "again\n"


def test_a_sound_database_is_left_alone_and_not_repaired_under_a_daemon(cluster):
    cluster.submit("true", "--hold")
    done = cluster.run("minke", "doctor", "--repair")
    assert done.returncode == 1 and "stop the daemon" in done.stderr
    stop(cluster)
    before = (cluster.home / "minke.db").read_bytes()
    assert "is sound" in cluster.run("minke", "doctor", "--repair", check=0).stdout
    assert (cluster.home / "minke.db").read_bytes() == before


@pytest.mark.parametrize("what, says", [
    ("other", "is no backup of a cluster"), ("text", "is damaged, or no database"), ("later", "was written by a newer version (schema 99,"),
    ("cut", "is damaged, or no database"), ("nothing", "No such file")])
def test_what_is_no_sound_backup_is_not_restored(cluster, what, says):
    """And the cluster stays as it is."""
    job = cluster.submit("true", "--hold")
    copy = cluster.work / "copy.db"
    cluster.run("minke", "backup", copy, check=0)
    cluster.run("minke", "down", check=0)
    if what == "other":
        copy.unlink()
        with contextlib.closing(sqlite3.connect(copy)) as database:
            database.execute("CREATE TABLE mine(a)")
    elif what == "text":
        copy.write_text("no database at all\n" * 500)
    elif what == "later":
        with contextlib.closing(sqlite3.connect(copy)) as database:
            database.execute("PRAGMA user_version = 99")
    elif what == "cut":
        whole = copy.read_bytes()
        copy.write_bytes(whole[:len(whole) // 2])
    else:
        copy.unlink()
    refused = cluster.run("minke", "backup", "--restore", copy, check=1)
    assert says in refused.stderr, refused.stderr
    assert not [path.name for path in cluster.home.iterdir() if "before" in path.name or "restored" in path.name]
    assert f"{job} PENDING" in cluster.queue()


def test_a_backup_is_what_the_cluster_was(cluster):
    """Made while it runs; another cluster goes on from it."""
    job = cluster.submit("echo from the copy", "--hold")
    ran = {}
    for rule in ("--no-requeue", "--requeue"):
        ran[rule] = cluster.submit(f"echo begun >> {cluster.work}/begun{rule}; sleep 300", rule)
        poll((cluster.work / f"begun{rule}").exists, what="the start")
    copy = cluster.work / "copy.db"
    cluster.run("minke", "backup", copy, check=0)
    assert copy.stat().st_mode & 0o777 == 0o600
    again = cluster.run("minke", "backup", copy)
    assert again.returncode == 1 and "File exists" in again.stderr
    cluster.run("scancel", job, *ran.values(), check=0)
    assert "stop the daemon first" in cluster.run("minke", "backup", "--restore", copy, check=1).stderr
    stop(cluster)
    done = cluster.run("minke", "backup", "--restore", copy, check=0).stdout
    kept, = cluster.home.glob("minke.db.before-*[0-9]")
    assert f"what it was until now is kept as {kept}" in done and not (cluster.home / "minke.db-wal").exists()
    assert f"{job} PENDING" in cluster.queue()  # which starts the daemon
    # What ran then may have ended since: it runs again only where it may be requeued.
    poll(lambda: (cluster.work / "begun--requeue").read_text().count("\n") == 2, what="another run")
    assert sorted(cluster.queue()) == sorted([f"{job} PENDING", f"{ran['--requeue']} RUNNING"])
    assert (cluster.work / "begun--no-requeue").read_text() == "begun\n"
    assert cluster.state(ran["--no-requeue"]) == "NODE_FAIL"
    cluster.run("scancel", ran["--requeue"], check=0)
    cluster.run("scontrol", "release", job, check=0)
    assert cluster.output(job) == "from the copy\n"
