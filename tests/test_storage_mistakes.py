"""What is asked for by mistake: a copy into itself, two sources of one name, a place that is none, an archive that was
cut off. Each is refused before anything is lost. Needs no cluster."""
import io
import os
import pathlib
import shutil
import subprocess
import tarfile
import zipfile

import pytest

from test_storage import minke
from test_storage_attacks import contents


@pytest.fixture
def place(tmp_path):
    for name, text in (("one/file", "1"), ("one/sub/below", "2"), ("two/file", "3"), ("two/sub/below", "4")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
        os.utime(tmp_path / name, (1, 1))
    return tmp_path


@pytest.mark.parametrize("words", [("cp", "one", "one/copy"), ("cp", "one", "one/sub/copy"), ("sync", "one", "one/sub"),
                                   ("cp", ".", "two/copy"), ("stage", "one", "--to", "one"),
                                   ("cp", "one", "way/copy")])
def test_nothing_is_copied_into_itself(place, words):
    (place / "way").symlink_to("one/sub")
    before = contents(place)
    done = minke(*words, cwd=place, code=1)
    assert "copied into itself" in done.stderr
    assert contents(place) == before


@pytest.mark.parametrize("option", [[], ["--delete"]])
def test_nothing_is_made_what_a_part_of_it_is(place, option):
    before = contents(place)
    assert "it lies in" in minke("sync", *option, "one/sub", "one", cwd=place, code=1).stderr
    assert contents(place) == before
    for words in (("sync", *option, "one", "one/."), ("cp", "one", ".")):
        assert "itself" in minke(*words, cwd=place, code=1).stderr
    assert contents(place) == before


@pytest.fixture
def mounted(place):
    """one/there is `two`, by a mount that another directory has, too."""
    (place / "one/there").mkdir()
    if subprocess.run(["mount", "--bind", place / "two", place / "one/there"], capture_output=True).returncode != 0:
        pytest.skip("nothing can be mounted here")
    yield place / "one/there"
    subprocess.run(["umount", place / "one/there"], check=True)


def test_a_copy_does_not_find_itself_behind_a_mount(place, mounted):
    before = contents(place / "two")
    assert "the copy itself is there" in minke("cp", "one", "two/copy", cwd=place, code=1).stderr
    assert not (place / "two/copy").exists()
    shutil.rmtree(place / "two/.copy.minke-partial")
    done = minke("pack", "--format", "tar", "one/there", "--to", "two/x.tar", cwd=place, code=1)
    assert "it would lie in the directory" in done.stderr and contents(place / "two") == before


def test_what_is_mounted_below_a_copy_is_not_removed(place, mounted):
    before = contents(place / "two")
    (place / "empty").mkdir()
    done = minke("sync", "--delete", "empty", "one", cwd=place, code=1)
    assert "there: something is mounted there" in done.stderr
    assert contents(place / "two") == before


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, for files that cannot be removed")
def test_what_stays_of_what_is_to_go_is_said(place):
    (place / "empty").mkdir()
    if subprocess.run(["chattr", "+i", place / "one/file"], capture_output=True).returncode != 0:
        pytest.skip("no file can be made immutable here")
    try:
        done = minke("sync", "--delete", "empty", "one", cwd=place, code=1)
        assert "file: its copy cannot be removed: Operation not permitted" in done.stderr
        assert contents(place / "one") == {"file": b"1"}
    finally:
        subprocess.run(["chattr", "-i", place / "one/file"], check=True)


def test_files_that_say_they_are_empty(tmp_path):
    """As the kernel's do."""
    minke("cp", "/proc/version", tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == pathlib.Path("/proc/version").read_bytes() != b""
    done = minke("pack", "--format", "tar", "/proc/sys/kernel/random", "--to", tmp_path / "x.tar", code=1)
    assert "it does not tell how large it is" in done.stderr and not (tmp_path / "x.tar").exists()


def test_what_fails_in_staging_is_named_and_counted(place):
    for number in range(30):
        os.symlink("x" * 100, place / f"one/{number}")
    (place / "into/one").mkdir(parents=True)
    for number in range(30):
        (place / f"into/one/{number}").mkdir()
    done = minke("stage", "one", "--to", "into", cwd=place, code=1)
    assert "error: : " not in done.stderr and "30 paths failed" in done.stderr


def test_sources_of_one_name_are_refused(place):
    """Both files have the same size and time: one would pass for the copy of the other."""
    (place / "into").mkdir()
    done = minke("cp", "one/file", "two/file", "into", cwd=place, code=1)
    assert "one/file and two/file would have the same place in into" in done.stderr
    assert "two/sub" in minke("cp", "one/sub/", "two/sub/.", "into", cwd=place, code=1).stderr
    assert os.listdir(place / "into") == []
    minke("cp", "one/file", "two/sub", "into", cwd=place)
    assert contents(place / "into") == {"file": b"1", "sub/below": b"4"}


def test_a_directory_that_is_not_there_is_no_file(place):
    for words in (("cp", "one/file", "none/"), ("pack", "one", "--format", "tar", "--to", "none/")):
        assert "none/" in minke(*words, cwd=place, code=1).stderr
        assert not (place / "none").exists()
    minke("cp", "one", "none/", cwd=place)
    assert contents(place / "none") == contents(place / "one")


def test_each_source_that_fails_is_named_once(place):
    (place / "into").mkdir()
    done = minke("cp", "none", "one/file", "neither", "into", cwd=place, code=1)
    assert done.stderr.count("No such file") == 2 and done.stderr.count("none:") == done.stderr.count("neither:") == 1
    assert contents(place / "into") == {"file": b"1"}


@pytest.mark.parametrize("command", ["unpack", "stage"])
def test_an_archive_that_was_cut_off_between_two_files(tmp_path, command):
    """tar takes it for a whole one."""
    with tarfile.open(tmp_path / "whole.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
        for number in range(30):
            member = tarfile.TarInfo(f"f{number}")
            member.size = 512
            archive.addfile(member, io.BytesIO(os.urandom(512)))
    whole = (tmp_path / "whole.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(whole[:20 * 1024])
    subprocess.run(["tar", "-tf", tmp_path / "cut.tar"], check=True, stdout=subprocess.DEVNULL)
    done = minke(command, tmp_path / "cut.tar", "--to", tmp_path / "to", code=1)
    assert "may have been cut off" in done.stderr
    assert not (tmp_path / "to/f1").exists() and not (tmp_path / "to/cut").exists()
    minke("unpack", tmp_path / "whole.tar", "--to", tmp_path / "all")
    assert len(os.listdir(tmp_path / "all")) == 30


def test_an_empty_archive_is_an_empty_directory(tmp_path):
    tarfile.open(tmp_path / "empty.tar", "w").close()
    minke("unpack", tmp_path / "empty.tar", "--to", tmp_path / "empty")
    assert os.listdir(tmp_path / "empty") == []


def test_of_files_of_one_name_the_last_counts(tmp_path):
    with pytest.warns(UserWarning), zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("file", "first")
        archive.writestr("file", "last")
    minke("unpack", tmp_path / "x.zip", "--to", tmp_path / "zip")
    assert (tmp_path / "zip/file").read_text() == "last"


def test_a_program_that_fails_says_why(tmp_path):
    with tarfile.open(tmp_path / "x.tar", "w") as archive:
        for name in ("../out", "in"):
            archive.addfile(tarfile.TarInfo(name))
    done = minke("unpack", tmp_path / "x.tar", "--to", tmp_path / "to", code=1)
    assert "'..'" in done.stderr and "Exiting" not in done.stderr
    assert sorted(os.listdir(tmp_path)) == ["x.tar"]



def test_what_is_staged_has_a_name_of_its_own(place):
    done = minke("stage", "one/sub", "two/sub", "--to", "into", cwd=place, code=1)
    assert "would have the same name, sub" in done.stderr and not list((place / "into").iterdir())
    minke("pack", "-q", "--format", "tar", "--to", "sub.tar", "one", cwd=place)
    assert "the same name" in minke("stage", "sub.tar", "two/sub", "--to", "into", cwd=place, code=1).stderr
    minke("stage", "one/sub", "two", "--to", "into", cwd=place)
    assert contents(place / "into") == {"sub/below": b"2", "two/file": b"3", "two/sub/below": b"4"}


def test_what_is_named_twice_is_counted_once(place):
    counted = {minke("storage", "scan", "--json", *words, cwd=place).stdout.split('"space"')[1]
               for words in (["one"], ["one", "one"], ["one", "one/sub"], ["one/sub", "one/", "-x", "one"])}
    assert len(counted) == 1


@pytest.mark.parametrize("kind", ["tar", "tar.zst"])
def test_an_archive_is_known_by_what_it_is(place, kind):
    """Whatever it is called."""
    minke("pack", "-q", "--format", kind, "--to", "archive", "one", cwd=place)
    minke("unpack", "archive", "--to", "out", cwd=place)
    assert contents(place / "out/one") == contents(place / "one")
