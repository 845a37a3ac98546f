"""Attacks on copies, archives and removals: names that collide, leftovers of others, directories that are swapped for
links while they are walked, attributes beyond what is usual."""
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import threading
import time

import pytest

from processes import children_of, has_ended, name_and_state
from test_storage import MINKE, minke
from test_storage_robustness import facts, root_only


def contents(root: pathlib.Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in root.rglob("*") if path.is_file()}


def test_long_names_with_the_same_beginning(tmp_path):
    """What a file is called while it is copied is nothing that another file is called meanwhile."""
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    tree.mkdir()
    copy.mkdir()
    for number in range(2500):  # more than one thread reads at once
        (tree / ("x" * 240 + f"{number:04d}")).write_bytes(b"%04d" % number * 5000)
    minke("sync", tree, copy)
    assert contents(tree) == contents(copy)


def test_names_like_those_of_what_is_being_copied(tmp_path):
    """A tree in which a killed copy has left something is copied with it."""
    tree, copy = tmp_path / "tree", tmp_path / "copy"
    tree.mkdir()
    copy.mkdir()
    for number in range(100):
        (tree / f"..f{number}.minke-partial.minke-partial").write_bytes(b"quarter %d" % number)
        (tree / f".f{number}.minke-partial").write_bytes(b"half %d" % number)
        (tree / f"f{number}").write_bytes(b"whole %d" % number)
    minke("sync", tree, copy)
    assert contents(tree) == contents(copy)


def test_what_another_copy_left_is_not_in_this_one(tmp_path):
    """One of `other` was killed where now one of `tree` is made."""
    tree, left = tmp_path / "tree", tmp_path / ".copy.minke-partial"
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "a").write_text("a")
    (tree / "file").write_text("x")
    (left / "d" / "deep").mkdir(parents=True)
    (left / "d" / "deep" / "stale").write_text("of another")
    (left / "stale").write_text("of another")
    (left / "file").mkdir()
    done = minke("cp", tree, tmp_path / "copy")
    assert contents(tmp_path / "copy") == contents(tree) and not (tmp_path / "copy/d/deep").exists()
    assert "2 files copied" in done.stdout and "removed" not in done.stdout


def test_archives_with_long_names(tmp_path):
    tree = tmp_path / "tree"
    tree.mkdir()
    (tree / "file").write_text("x")
    for number in range(2):
        name = "a" * 245 + f"{number}.tar"
        minke("pack", "--format", "tar", "--to", tmp_path / name, tree)
        minke("unpack", tmp_path / name, "--to", tmp_path / ("u" * 250 + str(number)))
        assert contents(tmp_path / ("u" * 250 + str(number)) / "tree") == contents(tree)


@root_only
def test_many_attributes(tmp_path):
    """More names of attributes than fit into a few kilobytes; tmpfs and XFS allow that, ext4 does not."""
    place = tmp_path / "place"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "none", place], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    try:
        (place / "tree").mkdir()
        for path in (place / "tree", place / "tree" / "file"):
            path.touch()
            try:
                for number in range(60):
                    os.setxattr(path, "user." + "n" * 200 + str(number), b"value %d" % number)
            except OSError:
                pytest.skip("a tmpfs without such attributes")
        minke("cp", place / "tree", place / "copied")
        for kind in ("tar", "tar.zst"):
            minke("pack", "--format", kind, "--to", place / f"x.{kind}", place / "tree")
            (place / kind).mkdir()
            minke("unpack", place / f"x.{kind}", "--to", place / kind / "tree")
        for copy in ("copied", "tar/tree", "tar.zst/tree"):
            for name in ("", "file"):
                path, original = place / copy / name, place / "tree" / name
                assert {key: os.getxattr(path, key) for key in os.listxattr(path)} == {
                    key: os.getxattr(original, key) for key in os.listxattr(original)}
    finally:
        subprocess.run(["umount", place], check=True)


def acl(*entries: tuple[int, int, int]) -> bytes:
    """As the kernel keeps it: of what, what is allowed, whose."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


@pytest.mark.parametrize("kind", ["tar", "tar.zst"])
def test_acls_come_out_of_archives(tmp_path, kind):
    tree, none = tmp_path / "tree", 0xFFFFFFFF
    (tree / "d").mkdir(parents=True)
    (tree / "d" / "file").write_text("x")
    (tree / "d" / "plain").write_text("x")  # older than what its directory hands down
    some = acl((1, 6, none), (2, 4, 65534), (4, 4, none), (16, 6, none), (32, 0, none))
    try:
        os.setxattr(tree / "d" / "file", "system.posix_acl_access", some)
        os.setxattr(tree / "d", "system.posix_acl_access", acl((1, 7, none), (2, 5, 65534), (4, 5, none),
                                                               (16, 7, none), (32, 0, none)))
        os.setxattr(tree / "d", "system.posix_acl_default", some)
    except OSError:
        pytest.skip("a file system without ACLs")
    minke("pack", "--format", kind, "--to", tmp_path / f"packed.{kind}", tree)
    (tmp_path / "again").mkdir()
    minke("unpack", tmp_path / f"packed.{kind}", "--to", tmp_path / "again" / "tree")
    for name in ("d", "d/file", "d/plain"):
        kept = [{key: os.getxattr(root / name, key) for key in os.listxattr(root / name)}
                for root in (tree, tmp_path / "again" / "tree")]
        assert kept[0] == kept[1] and ("system.posix_acl_access" in kept[0]) == (name != "d/plain")
        assert (tree / name).stat().st_mode == (tmp_path / "again" / "tree" / name).stat().st_mode


class Swapped:
    """A directory that is now itself, now a symbolic link to somewhere else, as fast as can be."""

    def __init__(self, directory: pathlib.Path, elsewhere: pathlib.Path):
        self.directory, self.elsewhere = directory, elsewhere
        self.aside = directory.parent.parent / "aside"
        self.stop, self.rounds = threading.Event(), 0
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        while not self.stop.is_set():
            os.rename(self.directory, self.aside)
            try:
                os.symlink(self.elsewhere, self.directory)
                os.unlink(self.directory)
                os.rename(self.aside, self.directory)
            except OSError:  # the program under test may remove or make what is of this name, only not elsewhere
                shutil.rmtree(self.directory, ignore_errors=True)
                if self.directory.is_symlink():
                    os.unlink(self.directory)
                os.rename(self.aside, self.directory)
            self.rounds += 1

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


@pytest.fixture
def secret(tmp_path) -> pathlib.Path:
    directory = tmp_path / "secret"
    (directory / "below").mkdir(parents=True)
    for name in ("file", "below/file"):
        (directory / name).write_text("classified")
    return directory


def test_a_copy_takes_nothing_from_where_a_link_leads(tmp_path, secret):
    tree = tmp_path / "tree" / "top"
    (tree / "d" / "below").mkdir(parents=True)
    for name in ("d/file", "d/below/file"):
        (tree / name).write_text("public")
    with Swapped(tree / "d", secret) as swapped:
        for number in range(40):
            copy, archive = tmp_path / f"copy{number}", tmp_path / f"{number}.tar"
            subprocess.run([MINKE, "cp", "-q", tree, copy], capture_output=True, timeout=60)
            subprocess.run([MINKE, "pack", "-q", "--format", "tar", "--to", archive, tree], capture_output=True,
                           timeout=60)
            for path in copy.rglob("*"):
                assert path.is_symlink() or not path.is_file() or path.read_text() == "public"
            assert not archive.exists() or b"classified" not in archive.read_bytes()
    assert swapped.rounds > 40


def test_nothing_is_removed_where_a_link_leads(tmp_path, secret):
    """By a copy that makes a directory what another is, while somebody swaps a directory in it."""
    source, place = tmp_path / "source", tmp_path / "tree" / "copy"
    source.mkdir()
    place.mkdir(parents=True)
    (place / "d").mkdir()
    with Swapped(place / "d", secret) as swapped:
        for number in range(40):
            inside = swapped.aside if swapped.aside.exists() else place / "d"
            try:
                (inside / "below").mkdir(exist_ok=True, parents=False)
            except OSError:
                pass
            (source / "d").mkdir(exist_ok=True)
            subprocess.run([MINKE, "sync", "-q", "--delete", source, place], capture_output=True, timeout=60)
    assert contents(secret) == {"file": b"classified", "below/file": b"classified"}


@pytest.mark.parametrize("command", [("cp", "{tree}", "{to}"), ("pack", "--format", "tar", "--to", "{to}.tar", "{tree}"),
                                     ("storage", "scan", "{tree}")])
def test_directories_deeper_than_a_path_can_be(tmp_path, command):
    deep, depth = tmp_path / "deep", 600
    deep.mkdir()
    here = os.open(deep, os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("a" * 20, dir_fd=here)
        below = os.open("a" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        done = minke(*(word.format(tree=deep, to=tmp_path / "to") for word in command))
        if command[0] == "cp":
            here = os.open(tmp_path / "to", os.O_RDONLY)
            for _ in range(depth):
                below = os.open("a" * 20, os.O_RDONLY, dir_fd=here)
                os.close(here)
                here = below
            assert os.listdir(here) == ["file"]
            os.close(here)
        elif command[0] == "pack":
            listed = subprocess.run(["tar", "-tf", tmp_path / "to.tar"], capture_output=True, text=True, check=True)
            assert len(listed.stdout.splitlines()) == depth + 2
        else:
            assert f"1 regular, {depth + 1} directories" in done.stdout
    finally:
        subprocess.run(["rm", "-rf", deep, tmp_path / "to"], check=True)


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_what_has_its_size_first_is_on_the_disk_before_its_time(tmp_path):
    """A file with holes has its size before its content. Were its time set before that is on the disk, a copy that a power
    cut ended would be gone on with as if all of it were there."""
    tree = tmp_path / "tree"
    tree.mkdir()
    with open(tree / "sparse", "wb") as file:
        file.truncate(1 << 20)
        file.write(b"x" * 5000)
    traced = subprocess.run(["strace", "-f", "-e", "trace=fdatasync,utimensat", MINKE, "cp", tree, tmp_path / "copy"],
                            capture_output=True, text=True, check=True).stderr
    assert -1 < traced.find("fdatasync(") < traced.find("utimensat(")


def test_kills_of_unpacking_leave_nothing_or_all(tmp_path):
    """Nor a program of another's that goes on writing, in the way of who unpacks again."""
    tree, to = tmp_path / "tree", tmp_path / "again" / "tree"
    to.parent.mkdir()
    for number in range(3000):
        (tree / str(number % 20)).mkdir(parents=True, exist_ok=True)
        (tree / str(number % 20) / str(number)).write_bytes(os.urandom(2000))
    minke("pack", "-q", "--format", "tar", "--to", tmp_path / "x.tar", tree)
    killed = 0
    while killed < 4:
        with subprocess.Popen([MINKE, "unpack", tmp_path / "x.tar", "--to", to]) as unpacking:
            deadline, program = time.monotonic() + 120, 0
            while unpacking.poll() is None and not program and time.monotonic() < deadline:
                program = next((child for child in children_of(unpacking.pid) if name_and_state(child)[0] == "tar"), 0)
            if program:
                try:
                    os.kill(program, signal.SIGSTOP)  # so that it does not end by itself
                except ProcessLookupError:
                    pass
            unpacking.kill()
        killed += unpacking.returncode != 0
        if program and unpacking.returncode != 0:
            try:
                while not has_ended(program) and time.monotonic() < deadline:
                    time.sleep(0.01)
                assert has_ended(program)
            finally:
                if not has_ended(program):
                    os.kill(program, signal.SIGKILL)
        assert unpacking.returncode == 0 or not to.exists()
        if to.exists():
            shutil.rmtree(to)
    minke("unpack", tmp_path / "x.tar", "--to", to)
    expected = {name: fact[:3] for name, fact in facts(os.fsencode(tree)).items()}
    assert {name: fact[:3] for name, fact in facts(os.fsencode(to)).items()} == expected
