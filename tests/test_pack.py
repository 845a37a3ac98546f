"""minke pack, unpack and data. Need no cluster."""
import json
import os
import shutil
import signal
import subprocess
import tarfile
import time
import zlib

import pytest

from test_copy import listing
from test_storage import MINKE, minke, tree  # noqa: F401

squashfs = pytest.mark.skipif(not shutil.which("mksquashfs"), reason="squashfs-tools is not installed")


def members(archive) -> dict[str, dict]:
    lines = minke("data", "list", "--json", archive).stdout.splitlines()
    return {entry["name"]: entry for entry in map(json.loads, lines)}


def test_a_tar_is_one_for_every_program(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar"
    (tree / ("long" * 60)).write_text("a name that no plain header holds")
    (tree / "old").write_text("x")
    os.utime(tree / "old", ns=(-1_500_000_000, -1_500_000_000))
    os.setxattr(tree / "old", "user.note", b"kept")
    minke("pack", "--format", "tar", "--to", archive, tree)
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "--xattrs", "-xpf", archive, "-C", tmp_path / "out"], check=True)
    assert sorted(listing(tmp_path / "out/tree").splitlines()) == sorted(listing(tree).splitlines())
    assert os.getxattr(tmp_path / "out/tree/old", "user.note") == b"kept"
    assert (tmp_path / "out/tree/d1/again").stat().st_nlink == 2
    with tarfile.open(archive) as opened:
        assert "tree/new\nline" in opened.getnames() or "tree/d1/again" in opened.getnames()


def test_the_index_says_where_each_file_is(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar"
    minke("pack", "--format", "tar", "--to", archive, tree)
    found = members(archive)
    content = archive.read_bytes()
    for number in (0, 1, 299):
        path = tree / f"d{number % 7}/e{number % 3}/f{number}"
        entry = found[str(path.relative_to(tree.parent))]
        assert content[entry["offset"]:entry["offset"] + entry["size"]] == path.read_bytes()
        assert entry["crc32"] == zlib.crc32(path.read_bytes())
    (tree / "d1/e1/f1").write_text("what was packed")
    minke("pack", "--format", "tar", "--to", archive, tree)  # takes the place of the other
    assert minke("data", "cat", archive, "tree/d1/e1/f1").stdout == "what was packed"
    assert "has no file" in minke("data", "cat", archive, "nothing", code=1).stderr


def test_damage_is_noticed(tree, tmp_path):  # noqa: F811
    (tree / "note").write_text("what was packed")
    archive = tmp_path / "x.tar"
    minke("pack", "--format", "tar", "--to", archive, tree)
    place = members(archive)["tree/note"]["offset"]
    with open(archive, "r+b") as file:
        file.seek(place)
        file.write(b"WHAT")
    assert "checksum" in minke("data", "cat", archive, "tree/note", code=1).stderr
    plain = tmp_path / "plain.tar"
    subprocess.run(["tar", "-cf", plain, "-C", tree, "."], check=True)
    assert "no index" in minke("data", "list", plain, code=1).stderr


def test_shards_keep_samples_together(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    for number in range(60):
        for suffix in ("cls", "jpg", "json"):
            (root / f"{number:04d}.{suffix}").write_bytes(os.urandom(5000))
    minke("pack", "--format", "webdataset", "--shard-size", "100K", "--to", tmp_path / "shards", root)
    shards = sorted((tmp_path / "shards").iterdir())
    assert len(shards) > 5 and shards[0].name == "000000.tar"
    seen = []
    for shard in shards:
        names = list(members(shard))
        assert {f"{name.split('.')[0]}.{suffix}" for name in names for suffix in ("cls", "jpg", "json")} == set(names)
        seen += names
    assert len(seen) == len(set(seen)) == 180
    assert "there already" in minke("pack", "--format", "webdataset", "--to", tmp_path / "shards", root, code=1).stderr


@squashfs
@pytest.mark.parametrize("suffix", ["sqfs", "tar", "tar.gz", "zip"])
def test_unpack(tree, tmp_path, suffix):  # noqa: F811
    archive = tmp_path / f"tree.{suffix}"
    if suffix == "sqfs":
        minke("pack", "--format", "squashfs", "--to", archive, tree)
        assert archive.read_bytes()[:4] == b"hsqs"
    elif suffix == "zip":
        if not shutil.which("zip") or not shutil.which("unzip"):
            pytest.skip("zip is not installed")
        (tree / "new\nline").unlink()
        subprocess.run(["zip", "-qry", archive, "tree"], cwd=tmp_path, check=True)
    else:
        subprocess.run(["tar", "-cf", archive, "--auto-compress", "tree"], cwd=tmp_path, check=True)
    (tmp_path / "out").mkdir()
    minke("unpack", archive, "--to", tmp_path / "out/tree")
    here, there = ({line.split()[0]: line.split()[2] for line in listing(root).splitlines() if " f " in line}
                   for root in (tree, tmp_path / "out/tree"))
    assert here == there
    assert sorted(os.listdir(tmp_path / "out")) == ["tree"]
    assert "there already" in minke("unpack", archive, "--to", tmp_path / "out/tree", code=1).stderr


def test_what_is_no_archive_is_not_unpacked(tmp_path):
    (tmp_path / "x.tar").write_text("no archive")
    assert "no archive" in minke("unpack", tmp_path / "x.tar", "--to", tmp_path / "out", code=1).stderr
    assert not (tmp_path / "out").exists()


def test_not_into_itself(tree):  # noqa: F811
    assert "would lie in" in minke("pack", "--to", tree / "x.tar", tree, code=1).stderr


def test_what_changes_while_it_is_read_is_not_packed(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    with open(root / "large", "wb") as file:
        file.truncate(1 << 30)
    packing = subprocess.Popen([MINKE, "pack", "--format", "tar", "--to", tmp_path / "x.tar", root],
                               stderr=subprocess.PIPE, text=True)
    for _ in range(2000):
        os.truncate(root / "large", (1 << 30) - 1)
        os.truncate(root / "large", 1 << 30)
        if packing.poll() is not None:
            break
        time.sleep(0.01)
    assert "changed" in packing.communicate(timeout=60)[1]
    assert packing.returncode == 1
    assert os.listdir(tmp_path) == ["set"]


def test_killed_at_any_time_there_is_the_old_or_the_new(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar"
    minke("pack", "--format", "tar", "--to", archive, tree)
    old = archive.read_bytes()
    (tree / "added").write_text("x")
    for wait in range(12):
        packing = subprocess.Popen([MINKE, "pack", "-q", "--format", "tar", "--to", archive, tree])
        time.sleep(wait * 0.02)
        packing.send_signal(signal.SIGKILL)
        packing.wait()
        if archive.read_bytes() != old:
            assert "tree/added" in members(archive)
            break
    minke("pack", "--format", "tar", "--to", archive, tree)
    assert "tree/added" in members(archive)
    assert sorted(os.listdir(tmp_path)) == ["tree", "x.tar"]


def advice(path) -> dict:
    return json.loads(minke("data", "advise", "--json", path).stdout)


def test_advice_follows_what_a_directory_is(tmp_path):
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    many.mkdir()
    with open(few / "weights.bin", "wb") as file:
        file.truncate(50_000_000_000)
    for number in range(1200):
        (many / f"{number}.jpg").write_bytes(b"x" * 2000)
    told = advice(few)
    assert "local disk" in told["read"] and told["command"] == "" and "minke cp" in told["in_job"]
    told = advice(many)
    assert told["many_small_files"] and "memory" in told["read"]
    assert told["command"].startswith("minke pack --format ") and "minke unpack many." in told["in_job"]
    with open(many / "more", "wb") as file:
        file.truncate(200_000_000_000)
    assert "shared storage" in advice(many)["read"]


def test_the_advised_commands_work(tmp_path):
    root = tmp_path / "set of images"
    root.mkdir()
    for number in range(1200):
        (root / f"{number}.png").write_bytes(os.urandom(100))
    told = advice(root)
    path = f"{os.path.dirname(MINKE)}:{os.environ['PATH']}"
    script = f"{told['command']} && SLURM_TMPDIR={tmp_path} && mkdir out && SLURM_TMPDIR=$PWD/out && {told['in_job']}"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=os.environ | {"PATH": path}, capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == 0, done.stderr
    assert len(os.listdir(tmp_path / "out/set of images")) == 1200
