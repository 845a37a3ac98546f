"""Tiers of storage, and the commands that say what one has in them."""
import getpass
import json

import pytest

from cluster import Cluster, Machine


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
    assert "must be one of narval" in done.stderr
