"""Tiers of storage, and the commands that say what one has in them."""
import getpass
import json
import os
import pathlib
import sqlite3
import subprocess

import pytest

from cluster import Cluster, Machine, plain_environment, poll
from test_storage import MINKE
from wire import protocol


@pytest.fixture
def cluster(tmp_path, request):
    profile = getattr(request, "param", "narval")
    cluster = Cluster(tmp_path, Machine(nodes=1, extra=f'[storage]\nprofile = "{profile}"\nroot = "{tmp_path}/disks"'))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    yield cluster
    cluster.close()


def fill(cluster):
    cluster.run("minke", "storage", "init", check=0)
    scratch = cluster.directory / "disks/scratch" / getpass.getuser()
    for number in range(4):
        (scratch / f"{number}").write_bytes(b"x" * 4096 * 1000)
    return scratch


def test_init_makes_the_directories(cluster):
    scratch = fill(cluster)
    assert scratch.stat().st_mode & 0o7777 == 0o700
    project, = (cluster.directory / "disks/project").iterdir()
    assert project.stat().st_mode & 0o7777 == 0o2770
    assert (project / getpass.getuser()).stat().st_mode & 0o7777 == 0o2750
    scratch.chmod(0o750)
    cluster.run("minke", "storage", "init", check=0)  # again: what is there is left as it is
    assert scratch.stat().st_mode & 0o7777 == 0o750


def test_diskusage_report(cluster):
    fill(cluster)
    lines = cluster.run("diskusage_report", check=0).stdout.splitlines()
    user = getpass.getuser()
    assert lines[0] == f'{"Description":>39} {"Space":>20} {"# of files":>18}'
    assert lines[2] == f'{f"/scratch (user {user})":>39} {"  16MB/  20TB":>20} {"   5 /1000K":>18}'
    assert lines[-2] == "--" and lines[-1].endswith("'--per_user'.")
    assert len(cluster.run("diskusage_report", "--scratch", check=0).stdout.splitlines()) == 4
    lines = cluster.run("diskusage_report", "--project", "--per_user", "--all_users", check=0).stdout.splitlines()
    assert f'{"User":>15} {"File count":>15} {"Size":>20} {"Location":>20}' in lines and "-" * 73 in lines
    assert any(line.split()[:2] == ["Total", "2"] for line in lines)


@pytest.mark.parametrize("cluster", ["alex"], indirect=True)
def test_shownicerquota(cluster):
    cluster.run("minke", "storage", "init", check=0)
    lines = cluster.run("shownicerquota.pl", check=0).stdout.splitlines()
    assert lines[0] == ("    Path                 Used     SoftQ    HardQ    Gracetime  Filec    FileQ    FiHaQ    "
                        "FileGrace    ")
    work, = (line for line in lines if "/home/woody/" in line)
    assert work.split()[2:] == ["1000.0G", "1500.0G", "N/A", "1", "5,000K", "7,500K", "N/A"]


def test_usage_for_people(cluster):
    fill(cluster)
    scratch, = (tier for tier in json.loads(cluster.run("minke", "storage", "usage", "--json", check=0).stdout)
                if tier["tier"] == "scratch")
    assert scratch["files"] == 5 and scratch["space"] >= 16_384_000
    shown = cluster.run("minke", "storage", "usage", check=0).stdout
    assert "of 18.2 TiB" in shown and "[#" in shown


def test_a_cluster_without_tiers_says_so(tmp_path):
    cluster = Cluster(tmp_path, Machine())
    assert "has no tiers" in cluster.run("minke", "storage", "usage", check=1).stderr
    assert "Did not find any supported filesystems" in cluster.run("diskusage_report", check=1).stdout
    bad = tmp_path / "bad.toml"
    bad.write_text('[storage]\nprofile = "nowhere"\n')
    done = cluster.run("minke", "storage", "usage", env={"MINKE_CONFIG": str(bad)}, check=1)
    assert "must be one of fir, narval" in done.stderr


def test_jobs_and_shells_know_where_the_tiers_are(cluster):
    user = getpass.getuser()
    scratch = str(cluster.directory / "disks/scratch" / user)
    job = cluster.submit('echo "$SCRATCH|$PROJECT|$LOCAL_SCRATCH|$SLURM_TMPDIR"; srun -n1 bash -c \'echo "$SCRATCH"\'')
    first, second = cluster.output(job).splitlines()
    own, project, local, tmp = first.split("|")
    assert own == second == scratch and project.startswith(f"{cluster.directory}/disks/project/")
    assert local == tmp != ""
    # What the user has set stays.
    job = cluster.submit('echo "$SCRATCH"', env={"SCRATCH": "/elsewhere"})
    assert cluster.output(job) == "/elsewhere\n"
    shell = 'eval "$("$0" env --over-slurm)"; echo "$SCRATCH"'
    program = str(cluster.program)
    assert cluster.run("bash", "-c", shell, program, check=0).stdout == scratch + "\n"
    assert cluster.run("bash", "-c", shell, program, env={"SCRATCH": "/mine"}, check=0).stdout == "/mine\n"


@pytest.mark.parametrize("cluster", ["alex"], indirect=True)
def test_another_clusters_variables(cluster):
    job = cluster.submit('echo "$WORK|$HPCVAULT|$TMPDIR|$SLURM_TMPDIR"', env={"TMPDIR": "/tmp"})
    work, vault, local, tmp = cluster.output(job).strip().split("|")
    assert "/home/woody/" in work and "/home/vault/" in vault and local == tmp


LIMITED = """count_interval = 1
grace = 1440
[storage.scratch]
files = 6
hard_files = 20
"""


@pytest.fixture
def limited(tmp_path):
    cluster = Cluster(tmp_path, Machine(
        nodes=1, cpus=1, extra=f'[storage]\nprofile = "narval"\nroot = "{tmp_path}/disks"\n{LIMITED}'))
    (tmp_path / "me").mkdir()
    cluster.environment["HOME"] = str(tmp_path / "me")
    yield cluster
    cluster.close()


def test_over_quota_new_jobs_wait_until_there_is_less(limited):
    scratch = fill(limited)  # five entries
    running = limited.submit("sleep 1000")
    limited.wait_state(running, "RUNNING")
    for number in range(30):
        (scratch / f"more-{number}").touch()
    waiting = limited.submit("true")
    poll(lambda: "DiskQuotaExceeded" in limited.job(waiting)["Reason"], what="the reason")
    reason, = limited.queue("-j", str(waiting), format="%r")
    assert f"of 6 files in {scratch}" in reason and f"minke storage scan --top 10 {scratch}" in reason
    assert "less on the disk" in limited.run("minke", "why", waiting, check=0).stdout
    assert limited.state(running) == "RUNNING"
    limited.run("scancel", running, check=0)
    limited.wait_state(running, "CANCELLED")
    # A daemon that is killed still knows.
    limited.kill()
    assert limited.state(waiting) == "PENDING" and "DiskQuotaExceeded" in limited.job(waiting)["Reason"]
    for number in range(30):
        (scratch / f"more-{number}").unlink()
    limited.wait_state(waiting, "COMPLETED")


def test_over_a_soft_limit_jobs_wait_when_the_grace_is_over(limited):
    scratch = fill(limited)
    for number in range(5):
        (scratch / f"more-{number}").touch()  # ten entries: over the soft limit, not the hard one
    blocker = limited.submit("sleep 1000")
    waiting = limited.submit("true")
    def counted():
        with sqlite3.connect(f"file:{limited.home}/minke.db?mode=ro", uri=True) as database:
            row = database.execute("SELECT record FROM quotas WHERE path = ?", (str(scratch),)).fetchone()
        count = protocol().QuotaCount.FromString(row[0]) if row else None
        return count if count and count.files == 10 else None
    count = poll(counted, what="the count")
    assert count.files_over > 0 and limited.job(waiting)["Reason"] in ("Resources", "Priority")
    # The grace of a day is over.
    limited.run("minke", "down", "--keep-jobs", check=0)
    count.files_over -= 2 * 86400
    with sqlite3.connect(f"{limited.home}/minke.db") as database:
        database.execute("UPDATE quotas SET record = ? WHERE path = ?", (count.SerializeToString(), str(scratch)))
    poll(lambda: "DiskQuotaExceeded" in limited.job(waiting)["Reason"], what="the reason")
    limited.run("scancel", blocker, waiting, check=0)


def test_limits_of_its_own_are_checked(tmp_path):
    cluster = Cluster(tmp_path, Machine())
    bad = tmp_path / "bad.toml"
    for text, message in (("[storage.scratch]\nspace = 'much'\n", "must be a size"),
                          ("[storage.scratch]\nfiles = 10\nhard_files = 5\n", "below the soft one"),
                          ("[storage.nearby]\nfiles = 10\n", "not known"),
                          ("grace = 'long'\n", "grace")):
        bad.write_text(f'[storage]\nprofile = "narval"\n{text}')
        done = cluster.run("minke", "storage", "usage", env={"MINKE_CONFIG": str(bad)}, check=1)
        assert message in done.stderr, (text, done.stderr)


def test_doctor_finds_and_mends_what_does_not_hand_down_the_group(cluster):
    cluster.run("minke", "storage", "init", check=0)
    project, = (cluster.directory / "disks/project").iterdir()
    assert "stays so" in cluster.run("minke", "storage", "doctor", check=0).stdout
    copied = project / getpass.getuser() / "copied"
    copied.mkdir()
    copied.chmod(0o755)  # as scp -r leaves it
    found = cluster.run("minke", "storage", "doctor", check=1).stdout
    assert "1 directory without setgid" in found and str(copied) in found and "--mend" in found
    assert "mended: 1 of 1" in cluster.run("minke", "storage", "doctor", "--mend", check=0).stdout
    assert copied.stat().st_mode & 0o7777 == 0o2755
    assert json.loads(cluster.run("minke", "storage", "doctor", "--json", check=0).stdout)[0]["without_setgid"] == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become somebody else")
def test_what_could_not_be_looked_at_is_said(tmp_path):
    for path in (tmp_path, *tmp_path.parents):
        if path not in (pathlib.Path("/"), pathlib.Path("/tmp")):
            path.chmod(path.stat().st_mode | 0o055)
    disks = tmp_path / "disks"
    disks.mkdir()
    os.chown(disks, 65534, 65534)
    (tmp_path / "minke.toml").write_text(f'[storage]\nprofile = "narval"\nroot = "{disks}"\n')
    environment = plain_environment() | {"MINKE_CONFIG": str(tmp_path / "minke.toml"), "MINKE_HOME": str(disks / "home"),
                                         "HOME": str(disks)}

    def storage(*words, program="storage"):
        return subprocess.run([MINKE, program, *words], env=environment, capture_output=True, text=True, timeout=60,
                              user=65534, group=65534, extra_groups=[])
    assert storage("init").returncode == 0
    project, = (disks / "project").iterdir()
    assert storage("doctor").returncode == 0
    (project / "closed").mkdir(mode=0o2700)
    os.chmod(project / "closed", 0o2700)
    os.chown(project / "closed", 0, 65534)
    for option in ((), ("--json",), ("--mend",)):
        done = storage("doctor", *option)
        assert done.returncode == 1 and f"{project}/closed: Permission denied" in done.stderr, (done.stdout, done.stderr)
    # Nor do figures hide it.
    for command in (("usage",), ("usage", "--json")):
        done = storage(*command)
        assert done.returncode == 1 and f"{project}/closed: Permission denied" in done.stderr, done.stderr
    assert "closed: Permission denied" in storage("--project", program="diskusage_report").stderr
    (disks / "scratch").chmod(0o700)
    os.chown(disks / "scratch", 0, 0)
    assert "(Permission denied)" in storage("usage").stdout
