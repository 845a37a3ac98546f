"""Counting from the tables of an ext4, XFS or btrfs, and purging from an ext4's, on images. Needs root and a loop device."""
import json
import os
import pathlib
import shutil
import subprocess
import time

import pytest

from cluster import poll
from test_storage import MINKE, minke

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to mount an image")
EXT4 = [f"mkfs.ext4 -q -N 8192 {options}"
        for options in ("", "-O inline_data -I 256", "-O ^extent,^64bit -b 1024 -I 128")]
OTHERS = ["mkfs.xfs -q", "mkfs.btrfs -q"]


@pytest.fixture(params=EXT4)
def disk(tmp_path, request) -> pathlib.Path:
    image, place = tmp_path / "image", tmp_path / "disk"
    command = request.param.split()
    if not shutil.which(command[0]):
        pytest.skip(f"{command[0]} is not installed")
    with open(image, "wb") as file:
        file.truncate((96 if "ext4" in command[0] else 400) << 20)
    subprocess.run([*command, image], check=True)
    place.mkdir()
    if subprocess.run(["mount", "-o", "loop", image, place], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


def fill(place: pathlib.Path) -> None:
    for number in range(600):
        directory = place / f"d{number % 7}" / ("deep" * 10) / f"e{number % 3}"
        directory.mkdir(parents=True, exist_ok=True)
        (directory / f"f{number}").write_bytes(b"x" * (number * 17))
        if number % 5 == 0:
            os.chown(directory / f"f{number}", 1234, 200_000)
    many = place / "many"
    many.mkdir()
    for number in range(1500):  # so that the directory has a tree of its own
        (many / f"a long name that fills blocks {number:06d}").touch()
    (place / "new\nline\xff").write_text("x")
    os.link(place / "new\nline\xff", place / "d1/again")
    (place / "link").symlink_to("/usr")
    (place / "long link").symlink_to("/" + "x" * 200)
    os.mkfifo(place / "pipe")
    with open(place / "sparse", "wb") as file:
        file.truncate(1 << 24)
    (place / "gone").write_text("x")
    (place / "gone").unlink()


def scan(place, *options) -> dict:
    return json.loads(minke("storage", "scan", "--json", *options, place).stdout)


@pytest.mark.parametrize("disk", [*EXT4, *OTHERS], indirect=True)
def test_the_tables_say_what_du_says(disk):
    fill(disk)
    tables, walk = scan(disk), scan(disk, "--walk")
    assert tables == walk
    assert tables["space"] == int(subprocess.run(["du", "-s", "--block-size=1", disk], capture_output=True,
                                                 text=True, check=True).stdout.split()[0])
    # What has just changed counts, on the disk or not.
    (disk / "late").write_bytes(b"x" * 100_000)
    assert scan(disk)["bytes"] == tables["bytes"] + 100_000
    assert scan(disk) == scan(disk, "--walk")


@pytest.mark.parametrize("disk", OTHERS[1:], indirect=True)
def test_subvolumes_of_a_btrfs(disk):
    """Those in it count as a walk counts them, snapshots too; with --one-file-system neither does."""
    fill(disk)
    for command in (["create", disk / "d1/sub"], ["snapshot", "-r", disk / "d1/sub", disk / "snap"]):
        subprocess.run(["btrfs", "-q", "subvolume", *command], check=True)
        (disk / "d1/sub/file").write_text("x" * 5000)
    whole, alone = scan(disk), scan(disk, "-x")
    assert whole == scan(disk, "--walk") and alone == scan(disk, "-x", "--walk")
    assert whole["entries"] == alone["entries"] + 4

@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
@pytest.mark.parametrize("disk", [*EXT4, *OTHERS], indirect=True)
def test_the_program_reads_tables_where_it_can(disk):
    """Counting without asking for a single file: else the test above would prove nothing."""
    fill(disk)
    for option, asked in (((), False), (("--walk",), True)):
        traced = subprocess.run(["strace", "-f", "-e", "trace=statx,newfstatat,getdents64", MINKE, "storage", "scan",
                                 *option, disk], capture_output=True, text=True)
        assert ("f599" in traced.stderr) == asked


def old_list(place, record, *options) -> list[str]:
    record.unlink(missing_ok=True)
    minke("storage", "purge", place, "--days", 0, "--record", record, *options)
    return sorted(record.read_text().splitlines())


def test_the_list_is_that_of_a_walk(disk, tmp_path):
    fill(disk)
    time.sleep(1.1)  # --days 0: what nobody used in this second
    tables, walk = (old_list(disk, tmp_path / "list", *option) for option in ((), ("--walk",)))
    assert len(tables) > 2100 and tables == walk
    said = {minke("storage", "purge", disk, "--days", 0, *option).stdout for option in ((), ("--walk",))}
    assert len(said) == 1, said  # its space, too
    # Of a directory in it, too.
    tables, walk = (old_list(disk / "d1", tmp_path / "list", *option) for option in ((), ("--walk",)))
    assert len(tables) > 80 and tables == walk


def make_old(place: pathlib.Path, image: pathlib.Path, names: list[str]) -> None:
    """Times of change are the kernel's: they are set in the image. Whoever looks at loop devices may hold this one open
    after umount; `mount` would take it again, with what it remembers of the image."""
    subprocess.run(["umount", place], check=True)
    poll(lambda: not subprocess.run(["losetup", "-j", image], capture_output=True, check=True).stdout, what="a free device")
    commands = "".join(f'set_inode_field "{name}" {field} 20200101\n' for name in names for field in ("ctime", "atime"))
    subprocess.run(["debugfs", "-w", "-f", "-", image], input=commands, capture_output=True, text=True, check=True)
    subprocess.run(["mount", "-o", "loop", image, place], check=True)


def test_what_is_old_goes_and_nothing_else(disk, tmp_path):
    for name in ("old", "also old", "young", "old but used"):
        (disk / name).write_text("x")
    (disk / "way").mkdir()
    (disk / "way/old").write_text("x")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "old").write_text("x")
    make_old(disk, tmp_path / "image", ["/old", "/also old", "/way/old", "/old but used"])
    (disk / "old but used").read_text()
    os.utime(disk / "old but used")
    done = minke("storage", "purge", disk, "--delete", "--record", tmp_path / "log")
    assert "3 files" in done.stdout
    assert sorted(os.listdir(disk)) == ["lost+found", "old but used", "way", "young"]
    assert os.listdir(disk / "way") == [] and os.listdir(outside) == ["old"]
    assert len((tmp_path / "log").read_text().splitlines()) == 3
