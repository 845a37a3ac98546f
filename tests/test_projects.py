"""Projects are groups: each group of a user has a directory in the tiers of groups."""
import os
import shutil
import subprocess

import pytest

from shared import NEEDS_ROOT, Shared, make_account, passable_directory

pytestmark = NEEDS_ROOT


@pytest.fixture(scope="module")
def site():
    disks, groups = passable_directory("/var/tmp"), [f"{name}{os.getpid()}" for name in ("rrg-b", "def-a", "club")]
    for group in groups:
        make_account("groupadd", group)
    rrg, default, club = groups
    one = Shared(parent="/var/tmp", tables=(
        f'\n[storage]\nprofile = "narval"\nroot = "{disks}"\nproject_groups = ["def-*", "rrg-*"]\n'
        f'[storage.project.groups.{default}]\nspace = "40T"\n[storage.scratch]\nspace = "10T"\n'))
    one.disks, one.rrg, one.default = disks, rrg, default
    one.member = lambda name: one.user(one.directory / "users", name, *groups)
    yield one
    one.close()
    for group in groups:
        subprocess.run(["groupdel", "-f", group], check=False)
    shutil.rmtree(disks, ignore_errors=True)


@pytest.fixture
def ann(site):
    ann = site.member("ann")
    ann.environment["MINKE_CONFIG"] = site.root["MINKE_CONFIG"]
    site.minke("storage", "init", "--user", ann.name)
    return ann


def test_each_project_has_a_directory_and_a_link(site, ann):
    for group in (site.rrg, site.default):
        project = site.disks / "project" / group
        assert (oct(project.stat().st_mode & 0o7777), project.group()) == ("0o2770", group)
        member = project / ann.name
        assert (oct(member.stat().st_mode & 0o7777), member.owner(), member.group()) == ("0o2750", ann.name, group)
        assert (ann.work / "projects" / group).readlink() == project
        assert (ann.work / "nearline" / group).readlink() == site.disks / "nearline" / group
    assert (ann.work / "scratch").readlink() == site.disks / "scratch" / ann.name
    assert (ann.work / "scratch").lstat().st_uid == ann.uid
    assert sorted(entry.name for entry in (site.disks / "project").iterdir()) == sorted([site.rrg, site.default])
    said = ann.run("bash", "-c", 'eval "$(minke env --over-slurm)"; echo $PROJECT', check=0).stdout
    assert said == f"{site.disks}/project/{site.default}\n"


def test_a_job_has_the_project_of_its_account(site, ann):
    """Of its group, if there is one of this name that the user is in; what the user has chosen stays."""
    def project(account: str, before: str = "") -> str:
        submitted = ann.run("bash", "-c", f'eval "$(minke env --over-slurm)"; {before} sbatch --parsable --account={account} '
                            "--wrap='echo $PROJECT; srun sh -c \"echo \\$PROJECT\"'", check=0)
        first, of_step = ann.output(int(submitted.stdout)).splitlines()
        assert first == of_step
        return first.removeprefix(f"{site.disks}/project/")
    assert project(site.rrg) == project(f"{site.rrg}_gpu") == site.rrg
    assert project(site.default) == project("other") == site.default
    assert project(site.rrg, "export PROJECT=/mine;") == "/mine"


def test_who_is_in_no_project_has_one_alone(site):
    alice = site.alice
    site.minke("storage", "init", "--user", alice.name)
    own = alice.run("id", "-gn").stdout.strip()
    assert (site.disks / "project" / own / alice.name).is_dir() and (alice.work / "projects" / own).is_symlink()
    shutil.rmtree(site.disks / "project" / own)
    shutil.rmtree(site.disks / "nearline" / own)


def test_what_has_a_links_name_stays(site):
    bob = site.member("bobby")
    (bob.work / "scratch").mkdir()
    site.minke("storage", "init", "--user", bob.name)
    assert not (bob.work / "scratch").is_symlink() and (bob.work / "projects" / site.rrg).is_symlink()


def test_links_are_made_with_the_users_rights(site):
    """~/projects leads where only root may write."""
    mallory = site.member("mallory")
    roots = site.directory / "roots"
    roots.mkdir(mode=0o755, exist_ok=True)
    mallory.python("import os, sys; os.symlink(sys.argv[1], 'projects')", roots)
    assert "Permission denied" in site.minke("storage", "init", "--user", mallory.name, check=1).stderr
    assert not list(roots.iterdir())
    assert (site.disks / "project" / site.rrg / mallory.name).is_dir()


def test_reports_have_a_line_for_each_project(site, ann):
    report = ann.run("diskusage_report", check=0).stdout
    project = {group: line for line in report.splitlines() for group in (site.rrg, site.default)
               if f"/project (project {group})" in line}
    assert "/  44TB" in project[site.default] and "/1000GB" in project[site.rrg]  # 40 TiB
    breakdown = ann.run("diskusage_report", "--per_user", "--all_users", check=0).stdout
    assert all(f"Breakdown for project {group} " in breakdown for group in project)
    usage = ann.run("minke", "storage", "usage", check=0).stdout
    assert usage.count(f"{site.disks}/project/") == 2 and "data sets" in usage


def test_files_of_the_wrong_group_are_mended_in_each_project(site, ann):
    for group in (site.rrg, site.default):
        ann.python("import os, sys; os.chdir(sys.argv[1]); os.mkdir('old'); open('old/file', 'w').close()\n"
                   "[os.chown(path, -1, os.getgid()) for path in ('old', 'old/file')]", site.disks / "project" / group / ann.name)
    said = ann.run("minke", "storage", "doctor", check=1).stdout
    assert said.count("2 files of another group") == 2
    ann.run("minke", "storage", "doctor", "--mend", check=0)
    for group in (site.rrg, site.default):
        assert (site.disks / "project" / group / ann.name / "old/file").group() == group
