"""What must hold whatever happens: names of any bytes, full disks, kills, files that change, trees that move."""
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import pytest

from cluster import plain_environment
from test_storage import MINKE, minke, set_attribute

root_only = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


def facts(root: bytes) -> dict:
    found = {}
    for directory, names, files in os.walk(root):
        for name in names + files:
            path = os.path.join(directory, name)
            status = os.lstat(path)
            found[os.path.relpath(path, root)] = (status.st_mode, status.st_size, status.st_mtime_ns, status.st_nlink
                                                  if not os.path.isdir(path) else 0)
    return found


def test_every_name_and_kind_arrives(tmp_path):
    tree = os.fsencode(tmp_path / "tree")
    os.mkdir(tree)
    names = [bytes([byte]) * 3 for byte in range(1, 256) if byte not in b"/."]
    names += [b"-rf", b"a\nb", b"\xff\xfe", b"x" * 255, b" "]
    for number, name in enumerate(names):
        with open(os.path.join(tree, name), "wb") as file:
            file.write(b"%d" % number)
    deep = tree
    for _ in range(30):
        deep = os.path.join(deep, b"d\n" * 50)
        os.mkdir(deep)
    os.link(os.path.join(tree, b"a\nb"), os.path.join(deep, b"linked"))
    os.symlink(b"/no\xffwhere", os.path.join(tree, b"link\n"))
    os.mkfifo(os.path.join(tree, b"pipe"))
    with open(os.path.join(tree, b"sparse"), "wb") as file:
        file.truncate(1 << 30)
        file.seek(1 << 29)
        file.write(b"x" * 4096)
    attributes = set_attribute(os.path.join(tree, b"a\nb"), b"kept\0\xff")
    odd = os.path.join(tree, b"-rf")
    acl = shutil.which("setfacl") and subprocess.run(["setfacl", "-m", "u:65534:r", odd]).returncode == 0
    minke("cp", "--verify", tmp_path / "tree", tmp_path / "copy")
    copy = os.fsencode(tmp_path / "copy")
    assert facts(tree) == facts(copy)
    assert not attributes or os.getxattr(os.path.join(copy, b"a\nb"), "user.note") == b"kept\0\xff"
    assert os.stat(os.path.join(copy, b"sparse")).st_blocks * 512 < 1 << 20
    if acl:
        shown = [subprocess.run(["getfacl", "-cn", os.path.join(path, b"-rf")], capture_output=True).stdout
                 for path in (tree, copy)]
        assert shown[0] == shown[1] and b"65534" in shown[1]
    # The same by an archive, both kinds.
    for kind in ("tar", "tar.zst"):
        minke("pack", "--format", kind, "--to", tmp_path / f"x.{kind}", tmp_path / "tree")
        (tmp_path / kind).mkdir()
        minke("unpack", tmp_path / f"x.{kind}", "--to", tmp_path / kind / "tree")
        unpacked = facts(os.fsencode(tmp_path / kind / "tree"))
        expected = {name: fact[:3] for name, fact in facts(tree).items()}
        assert {name: fact[:3] for name, fact in unpacked.items()} == expected


@pytest.mark.parametrize("sync", [False, True])
def test_killed_copies_go_on(tmp_path, sync):
    tree = tmp_path / "tree"
    tree.mkdir()
    for number in range(40):
        (tree / str(number)).write_bytes(os.urandom(1 << 20))
    copy = tmp_path / "copy"

    def begin() -> None:
        shutil.rmtree(copy, ignore_errors=True)
        if sync:
            copy.mkdir()
            (copy / "0").write_bytes(b"old")

    begin()
    killed, wait = 0, -1
    while killed < 8 and wait < 200:
        # Each goes on from what the one before it left. One that came to its end is looked at, and the next begins anew.
        wait += 1
        copying = subprocess.Popen([MINKE, "sync" if sync else "cp", "-q", tree, copy])
        time.sleep(wait % 15 * 0.01)
        copying.send_signal(signal.SIGKILL)
        killed += copying.wait() != 0
        # The old or the new, never a half.
        if sync:
            for path in copy.iterdir():
                if not path.name.startswith("."):
                    assert path.read_bytes() in (b"old", (tree / path.name).read_bytes())
        elif copy.exists():
            assert facts(os.fsencode(tree)) == facts(os.fsencode(copy))
        if copying.returncode == 0 or not sync and copy.exists():
            begin()
    assert killed >= 8
    minke(*(["sync", "--delete"] if sync else ["cp"]), tree, copy)
    assert facts(os.fsencode(tree)) == facts(os.fsencode(copy))


def test_a_file_that_changes_is_reported(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    with open(tree / "log", "wb") as file:
        file.truncate(1 << 30)
        file.seek(0)
        file.write(b"x" * (64 << 20))
    stop = threading.Event()

    def write() -> None:
        with open(tree / "log", "r+b") as changing:
            while not stop.is_set():
                changing.seek(100)
                changing.write(os.urandom(10))
                changing.flush()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(50):  # on a busy machine a whole copy may be made without a write beside it
            done = subprocess.run([MINKE, "cp", tree, tmp_path / "copy"], capture_output=True, text=True)
            if done.returncode != 0:
                break
            shutil.rmtree(tmp_path / "copy")
    finally:
        stop.set()
        writer.join()
    assert done.returncode == 1 and "log: it changed while it was read" in done.stderr
    assert not (tmp_path / "copy").exists()


@root_only
@pytest.mark.parametrize("kind", ["tar", "tar.zst", "webdataset"])
def test_a_full_disk_leaves_no_half_archive(tmp_path, kind):
    small, tree = tmp_path / "small", tmp_path / "tree"
    for directory in (small, tree):
        directory.mkdir()
    for number in range(20):
        (tree / str(number)).write_bytes(os.urandom(1 << 20))
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", small], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        done = minke("pack", "--format", kind, "--to", small / "x", tree, code=1)
        assert "No space left on device" in done.stderr
        assert os.listdir(small) == []
    finally:
        subprocess.run(["umount", small], check=True)


def test_memory_does_not_grow_with_the_tree(tmp_path):
    """Eight times the files, and about the same memory."""
    def made(count: int) -> pathlib.Path:
        tree = tmp_path / str(count)
        for number in range(count):
            if number % 500 == 0:
                (tree / str(number // 500)).mkdir(parents=True)
            os.close(os.open(tree / str(number // 500) / str(number), os.O_CREAT | os.O_WRONLY))
        return tree

    def most(tree: pathlib.Path, *command) -> int:
        child = os.fork()
        if child == 0:
            os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
            os.execve(MINKE, [MINKE, *(str(word).format(tree=tree) for word in command)], plain_environment())
        _, status, usage = os.wait4(child, 0)
        assert status == 0
        return usage.ru_maxrss

    trees = made(5_000), made(40_000)

    for command in (("storage", "scan", "{tree}"), ("storage", "scan", "--top", 5, "{tree}"),
                    ("cp", "{tree}", "{tree}.copy"), ("pack", "--format", "tar", "{tree}", "--to", "{tree}.tar"),
                    ("storage", "purge", "{tree}")):
        few, many = (most(tree, *command) for tree in trees)
        assert many < few + 24_000, (command, few, many)  # KiB; what threads hand on to each other is some
