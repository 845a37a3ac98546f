"""minke pack, unpack and data. Need no cluster."""
import json
import os
import shutil
import signal
import struct
import subprocess
import tarfile
import time
import zlib

import pytest

from test_copy import listing
from test_storage import MINKE, minke, set_attribute, tree  # noqa: F401

squashfs = pytest.mark.skipif(not shutil.which("mksquashfs"), reason="squashfs-tools is not installed")


def members(archive) -> dict[str, dict]:
    lines = minke("data", "list", "--json", archive).stdout.splitlines()
    return {entry["name"]: entry for entry in map(json.loads, lines)}


def test_a_tar_is_one_for_every_program(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar"
    (tree / ("long" * 60)).write_text("a name that no plain header holds")
    (tree / "old").write_text("x")
    os.utime(tree / "old", ns=(-1_500_000_000, -1_500_000_000))
    attributes = set_attribute(tree / "old", b"kept")
    minke("pack", "--format", "tar", "--to", archive, tree)
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "--xattrs", "-xpf", archive, "-C", tmp_path / "out"], check=True)
    assert sorted(listing(tmp_path / "out/tree").splitlines()) == sorted(listing(tree).splitlines())
    assert not attributes or os.getxattr(tmp_path / "out/tree/old", "user.note") == b"kept"
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
    assert "checksum" in minke("unpack", archive, "--to", tmp_path / "out", code=1).stderr
    assert not (tmp_path / "out").exists()
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
    for _ in range(50):  # on a busy machine all of it may be read without a change beside it
        packing = subprocess.Popen([MINKE, "pack", "-q", "--format", "tar", "--to", tmp_path / "x.tar", root],
                                   stderr=subprocess.PIPE, text=True)
        while packing.poll() is None:
            os.truncate(root / "large", (1 << 30) - 1)
            os.truncate(root / "large", 1 << 30)
            time.sleep(0.01)
        if packing.returncode != 0:
            break
        (tmp_path / "x.tar").unlink()
    assert packing.returncode == 1 and "changed" in packing.communicate(timeout=240)[1]
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


def test_compressed_is_a_tar_that_can_be_read_anywhere(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar.zst"
    text = b"".join(b"line %d of what compresses well\n" % number for number in range(60_000))
    (tree / "text").write_bytes(text)
    (tree / "note").write_text("a note")
    minke("pack", "--format", "tar.zst", "--to", archive, tree)
    assert archive.stat().st_size < sum(path.stat().st_size for path in tree.rglob("f*")) + len(text) / 2
    plain = subprocess.run(["zstd", "-dc", archive], capture_output=True, check=True).stdout
    found = members(archive)
    for name in ("tree/text", "tree/note", "tree/d5/e2/f299"):
        entry = found[name]
        assert plain[entry["offset"]:entry["offset"] + entry["size"]] == (tree.parent / name).read_bytes()
    assert minke("data", "cat", archive, "tree/note").stdout == "a note"
    (tmp_path / "out").mkdir()
    subprocess.run(["tar", "--zstd", "-xpf", archive, "-C", tmp_path / "out"], check=True)
    assert sorted(listing(tmp_path / "out/tree").splitlines()) == sorted(listing(tree).splitlines())
    (tmp_path / "again").mkdir()
    minke("unpack", archive, "--to", tmp_path / "again/tree")
    assert (tmp_path / "again/tree/text").read_bytes() == text


def seek_table(content: bytes) -> list[tuple[int, int]]:
    """The zstd seekable format, read as its specification says."""
    count, descriptor, magic = struct.unpack("<IBI", content[-9:])
    assert magic == 0x8F92EAB1 and descriptor & 0x7C == 0
    size = count * 8 + 9
    assert struct.unpack("<II", content[-size - 8:-size]) == (0x184D2A5E, size)
    return [struct.unpack("<II", content[at:at + 8]) for at in range(len(content) - size, len(content) - 9, 8)]


def test_its_table_is_one_that_others_read(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar.zst"
    minke("pack", "--format", "tar.zst", "--to", archive, tree)
    content = archive.read_bytes()
    plain = subprocess.run(["zstd", "-dc", archive], capture_output=True, check=True).stdout
    place = begin = 0
    for compressed, size in seek_table(content):
        frame = subprocess.run(["zstd", "-dc"], input=content[place:place + compressed], capture_output=True,
                               check=True).stdout
        assert frame == plain[begin:begin + size]
        place, begin = place + compressed, begin + size
    assert begin == len(plain) and place > 0


def test_damage_to_a_compressed_one_is_noticed(tree, tmp_path):  # noqa: F811
    archive = tmp_path / "x.tar.zst"
    minke("pack", "--format", "tar.zst", "--to", archive, tree)
    with open(archive, "r+b") as file:
        file.seek(100_000)
        file.write(b"damage")
    bad = [name for name in list(members(archive))[:40]
           if subprocess.run([MINKE, "data", "cat", archive, name], capture_output=True).returncode != 0]
    assert bad


def noted(notes) -> bytes:
    """How far a pack says that it is."""
    try:
        return notes.read_bytes()
    except FileNotFoundError:
        return b""


@pytest.mark.parametrize("kind", ["tar", "tar.zst", "webdataset"])
def test_a_killed_one_is_gone_on_with(tmp_path, kind):
    root = tmp_path / "set"
    root.mkdir()
    for number in range(60):
        (root / f"{number:03d}.bin").write_bytes(os.urandom(4 << 20))
    os.link(root / "000.bin", root / "again.bin")
    options = ["--shard-size", "50M"] if kind == "webdataset" else []
    begun = ["pack", "-q", "--format", kind, *options, "--to"]
    whole = tmp_path / "whole"
    minke(*begun, whole, root)
    # A slow disk's: it is killed when it has noted how far it is.
    packed = tmp_path / "packed"
    notes = tmp_path / ".packed.minke-partial-notes"
    kills = 0
    while kills < 4:
        before = noted(notes)
        packing = subprocess.Popen([MINKE, *map(str, begun), packed, root])
        while packing.poll() is None:
            if noted(notes) not in (b"", before):
                packing.kill()
                break
        if packing.wait() != 0:
            kills += 1
        elif packed.is_dir():  # it was done before anybody looked; the next begins anew
            shutil.rmtree(packed)
        else:
            packed.unlink()
    minke(*begun, packed, root)
    assert not [name for name in os.listdir(tmp_path) if "partial" in name]
    if kind == "webdataset":
        assert sorted(os.listdir(packed)) == sorted(os.listdir(whole))
        assert all((packed / name).read_bytes() == (whole / name).read_bytes() for name in os.listdir(whole))
    elif kind == "tar":
        assert packed.read_bytes() == whole.read_bytes()
    else:
        assert members(packed) == members(whole)
        assert minke("data", "measure", "--samples", 100, packed).stdout
        plain = [subprocess.run(["zstd", "-dc", path], capture_output=True, check=True).stdout
                 for path in (packed, whole)]
        assert plain[0] == plain[1]


def killed_in_shard(tmp_path, number: int):
    """What a pack into shards has left that was killed as soon as it had begun this one."""
    root, packed = tmp_path / "set", tmp_path / "packed"
    root.mkdir()
    for file in range(30):
        (root / f"{file:03d}.bin").write_bytes(os.urandom(4 << 20))
    begun = ["pack", "-q", "--format", "webdataset", "--shard-size", "40M", "--to", packed, root]
    shard = tmp_path / f".packed.minke-partial/{number:06d}.tar"
    for _ in range(100):  # until one is killed before it is done
        packing = subprocess.Popen([MINKE, *map(str, begun)])
        while packing.poll() is None and not shard.exists():
            pass
        packing.kill()
        if packing.wait() != 0:
            return root, packed, begun
        shutil.rmtree(packed)
    raise AssertionError("no pack could be killed")


def test_one_that_was_killed_early_in_a_shard_is_gone_on_with(tmp_path):
    """Its index was in the file that the shard before had used, and the notes were of that one."""
    root, packed, begun = killed_in_shard(tmp_path, 1)
    first = (tmp_path / ".packed.minke-partial/000000.tar").stat().st_ino
    minke(*begun)
    assert (packed / "000000.tar").stat().st_ino == first
    found = {name for shard in packed.iterdir() for name in members(shard)}
    assert found == {path.name for path in root.iterdir()}
    assert all(minke("data", "list", shard).returncode == 0 for shard in packed.iterdir())


def test_no_shards_stay_of_a_set_that_is_smaller_now(tmp_path):
    root, packed, begun = killed_in_shard(tmp_path, 2)
    for path in root.iterdir():
        path.unlink()
    (root / "one.bin").write_bytes(b"one")
    minke(*begun)
    assert os.listdir(packed) == ["000000.tar"] and list(members(packed / "000000.tar")) == ["one.bin"]


def test_what_changed_since_is_packed_anew(tmp_path):
    root = tmp_path / "set"
    root.mkdir()
    for number in range(30):
        (root / f"{number:03d}.bin").write_bytes(os.urandom(4 << 20))
    notes = tmp_path / ".x.tar.minke-partial-notes"
    for _ in range(100):  # until one is killed before it is done
        packing = subprocess.Popen([MINKE, "pack", "-q", "--format", "tar", "--to", tmp_path / "x.tar", root])
        while packing.poll() is None and not noted(notes):
            pass
        packing.kill()
        if packing.wait() != 0 and noted(notes):
            break
    assert noted(notes)
    (root / "000.bin").write_bytes(b"another")
    minke("pack", "--format", "tar", "--to", tmp_path / "x.tar", root)
    assert minke("data", "cat", tmp_path / "x.tar", "set/000.bin").stdout == "another"


def test_stripes_are_asked_for_where_lfs_is(tmp_path):
    """A program of that name takes the place of Lustre's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "lfs").write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\nexit 22\n')
    (programs / "lfs").chmod(0o755)
    root = tmp_path / "set"
    root.mkdir()
    (root / "small").write_text("x")
    path = f"{programs}:{os.environ['PATH']}"
    for size, stripes in ((1, 0), (1200, 4), (2500, 5)):
        (tmp_path / "calls").unlink(missing_ok=True)
        with open(root / "large", "wb") as file:
            file.truncate(size << 20)
        done = subprocess.run([MINKE, "pack", "--format", "tar.zst", "--to", tmp_path / "x.tar.zst", root],
                              env=os.environ | {"PATH": path}, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stderr
        calls = (tmp_path / "calls").read_text() if (tmp_path / "calls").exists() else ""
        assert (f"setstripe -S 1M -c {stripes} " in calls) == (stripes > 0), calls


def test_random_reads_are_measured(tree, tmp_path):  # noqa: F811
    for kind in ("tar", "tar.zst"):
        archive = tmp_path / f"x.{kind}"
        minke("pack", "--format", kind, "--to", archive, tree)
        told = json.loads(minke("data", "measure", "--json", "--samples", 500, archive).stdout)
        assert told["samples"] == 500 and told["seconds"] > 0 and (told["device_seconds"] > 0) == (kind == "tar")


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
