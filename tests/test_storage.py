"""What is on the disks: minke storage. Needs no cluster."""
import json
import os
import pathlib
import subprocess

import pytest

from cluster import PATIENCE, ROOT, plain_environment

MINKE = os.environ.get("MINKE", str(ROOT / "build/minke"))


def minke(*arguments, code=0, **options):
    done = subprocess.run([MINKE, *map(str, arguments)], env=plain_environment(), capture_output=True, text=True,
                          timeout=60 * PATIENCE, **options)
    assert done.returncode == code, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def set_attribute(path, value: bytes) -> bool:
    """Whether the file system has attributes of users: an older tmpfs has none."""
    try:
        os.setxattr(path, "user.note", value)
    except OSError:
        return False
    return True


@pytest.fixture
def tree(tmp_path) -> pathlib.Path:
    """Some of everything that a tree may hold."""
    root = tmp_path / "tree"
    for number in range(300):
        directory = root / f"d{number % 7}" / f"e{number % 3}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{number}").write_bytes(os.urandom(number * 37))
    (root / "new\nline").write_text("x")
    os.link(root / "new\nline", root / "d1/again")
    (root / "link").symlink_to("/usr")
    with open(root / "sparse", "wb") as file:
        file.truncate(1 << 24)
    return root


def test_scan_counts_as_du_does(tree):
    shown = json.loads(minke("storage", "scan", "--json", tree).stdout)
    du = subprocess.run(["du", "-s", "--block-size=1", tree], capture_output=True, text=True, check=True).stdout
    inodes = subprocess.run(["du", "-s", "--inodes", tree], capture_output=True, text=True, check=True).stdout
    assert shown["space"] == int(du.split()[0])
    assert shown["entries"] == int(inodes.split()[0])
    assert shown["extra_names"] == 1
    assert shown["symbolic_links"] == 1
    assert sum(owner["entries"] for owner in shown["owners"]) == shown["entries"]


def test_scan_names_the_directories_with_most_files(tree):
    (tree / "many").mkdir()
    for number in range(50):
        (tree / "many" / str(number)).touch()
    shown = json.loads(minke("storage", "scan", "--json", "--top", 1, tree).stdout)
    assert [(heavy["path"], heavy["entries"]) for heavy in shown["heaviest"]] == [(str(tree / "many"), 51)]


def test_scan_follows_a_link_that_the_user_names(tree, tmp_path):
    (tmp_path / "scratch").symlink_to(tree)
    direct, linked = (json.loads(minke("storage", "scan", "--json", path).stdout)
                      for path in (tree, tmp_path / "scratch"))
    assert direct["entries"] == linked["entries"] > 300


def test_scan_says_what_it_could_not_read(tree, tmp_path):
    assert "No such file" in minke("storage", "scan", tmp_path / "nothing", code=1).stderr
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    closed = tree / "closed"
    closed.mkdir(mode=0o700)
    for path in (tree, tmp_path, *tmp_path.parents):
        if path != pathlib.Path("/") and path.stat().st_uid == os.geteuid() and path != pathlib.Path("/tmp"):
            path.chmod(path.stat().st_mode | 0o055)
    done = minke("storage", "scan", tree, code=1, user=65534, group=65534, extra_groups=[])
    assert str(closed) + ": Permission denied" in done.stderr
    assert "1 path failed" in done.stderr
