"""minke cp and minke sync. Need no cluster."""
import os
import pathlib
import pty
import re
import shutil
import subprocess

import pytest

from test_storage import MINKE, minke, tree  # noqa: F401


def listing(root: pathlib.Path) -> str:
    """Everything that rsync would see: names, kinds, sizes, modes, times."""
    return subprocess.run(["find", ".", "-printf", "%P %y %s %m %T@ %l\\n"], cwd=root, capture_output=True,
                          check=True).stdout.decode(errors="surrogateescape")


def test_cp_makes_what_cp_a_makes(tree, tmp_path):  # noqa: F811
    minke("cp", "--verify", tree, tmp_path / "ours")
    subprocess.run(["cp", "-a", tree, tmp_path / "theirs"], check=True)
    assert sorted(listing(tmp_path / "ours").splitlines()) == sorted(listing(tmp_path / "theirs").splitlines())


def test_cp_into_a_directory_and_several_sources(tree, tmp_path):  # noqa: F811
    (tmp_path / "into").mkdir()
    minke("cp", tree, tree / "sparse", tmp_path / "into")
    assert sorted(os.listdir(tmp_path / "into")) == ["sparse", "tree"]
    assert "must be a directory" in minke("cp", tree, tree / "sparse", tmp_path / "none", code=1).stderr


def test_sync_is_what_the_directory_is(tree, tmp_path):  # noqa: F811
    minke("sync", tree, tmp_path / "copy")
    shutil.rmtree(tree / "d1")
    (tree / "new").write_text("x")
    (tmp_path / "copy/other").write_text("x")
    done = minke("sync", "--delete", tree, tmp_path / "copy")
    assert "1 file copied" in done.stdout
    assert listing(tree).count("\n") == listing(tmp_path / "copy").count("\n")


def test_what_cannot_be_read_is_named_and_nothing_appears(tree, tmp_path):  # noqa: F811
    if os.geteuid() != 0:
        pytest.skip("needs root, to become somebody else")
    (tree / "secret").write_text("x")
    (tree / "secret").chmod(0o600)
    for path in (tmp_path, *tmp_path.parents):
        if path not in (pathlib.Path("/"), pathlib.Path("/tmp")):
            path.chmod(path.stat().st_mode | 0o055)
    work = tmp_path / "work"
    work.mkdir()
    os.chown(work, 65534, 65534)
    done = minke("cp", tree, work / "copy", code=1, user=65534, group=65534, extra_groups=[])
    assert f"{tree}/secret: Permission denied" in done.stderr
    assert not (work / "copy").exists()


def test_a_full_disk_is_named(tree, tmp_path):  # noqa: F811
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "none", small], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        done = minke("cp", tree, small / "copy", code=1)
        assert "No space left on device" in done.stderr
        assert not (small / "copy").exists()
    finally:
        subprocess.run(["umount", small], check=True)


def test_another_machine_is_reached_by_rsync(tree, tmp_path):  # noqa: F811
    if not shutil.which("rsync"):
        pytest.skip("rsync is not installed")
    # A shell that ignores the machine's name takes the place of ssh.
    shell = tmp_path / "ssh"
    shell.write_text('#!/bin/sh\nwhile [ "$1" != machine ]; do shift; done\nshift\nexec "$@"\n')
    shell.chmod(0o755)
    for command, to in (("cp", "far"), ("sync", "exact")):
        done = subprocess.run([MINKE, command, tree, f"machine:{tmp_path}/{to}"],
                              env=os.environ | {"RSYNC_RSH": str(shell)}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "far/tree/sparse").stat().st_size == 1 << 24
    assert (tmp_path / "exact/sparse").stat().st_size == 1 << 24


def test_the_progress_line_is_ended_before_the_summary(tmp_path):
    """On a terminal, whatever it makes of control characters."""
    source = tmp_path / "many"
    for number in range(40):
        (source / str(number)).mkdir(parents=True)
        for name in range(250):
            (source / str(number) / str(name)).write_bytes(b"x" * 1000)
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(MINKE, ["minke", "cp", "--threads", "1", str(source), str(tmp_path / "copy")])
    shown = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError:
            break
        shown += piece
        if not piece:
            break
    assert os.waitpid(pid, 0)[1] == 0
    os.close(terminal)
    text = re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", shown.decode())
    summary = text.index("10,000 files copied")
    assert summary == 0 or text[summary - 1] == "\n", text
