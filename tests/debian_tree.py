"""A Debian in a directory, made by mmdebstrap from the packages that a mirror has. Takes root, a minute, and 400 to 700 MB."""
import contextlib
import pathlib
import re
import shutil
import subprocess

from cluster import SYSTEM_PATH

# The mirror's clock may be ahead of the machine's, or its lists older than they say.
UNDATED = ("Acquire::Check-Valid-Until=false", "Acquire::Check-Date=false")
# libmariadb 11.8.9 ends slurmdbd: "Number of columns in result (=1) set execeeds maxmimum allowed number of columns (=0)".
DEFECT = b"execeeds maxmimum allowed number of columns"
LIBRARY = "usr/lib/x86_64-linux-gnu/libmariadb.so.3"

# The header of an ELF program for AArch64 (64 bits, little endian, machine 183; executable or position-independent), as the
# kernel's binfmt_misc is told of it, and the names of that entry: that of Debian's packages, and ours.
ARM64_HEADER = rb"\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
ARM64_MASK = rb"\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
OF_DEBIAN, OF_TESTS = "qemu-aarch64", "minke-tests-aarch64"


class Unavailable(Exception):
    """Why there can be no such tree here."""


def make(tree: pathlib.Path, suite: str, packages) -> None:
    """One process at a time makes a tree; a half-made one is made anew."""
    if not shutil.which("mmdebstrap", path=SYSTEM_PATH):
        raise Unavailable("mmdebstrap is not installed; ./dev setup vm installs it")
    tree.parent.mkdir(parents=True, exist_ok=True)
    half = tree.with_name(f"{tree.name}.new")
    shutil.rmtree(half, ignore_errors=True)
    options = [f'--aptopt={one.replace("=", " ")}' for one in UNDATED]
    made = subprocess.run(["timeout", "600", "mmdebstrap", "--quiet", "--variant=minbase", "--mode=root", *options,
                           f"--include={','.join(packages)}", suite, str(half)],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Unavailable(f"Debian {suite} cannot be had here: {made.stderr.strip()[-500:]}")
    mend_database_library(half)
    shutil.rmtree(half / "var/cache/apt", ignore_errors=True)
    half.rename(tree)


@contextlib.contextmanager
def programs_of_arm64():
    """Programs for AArch64 run on this machine meanwhile, wherever they are: the kernel starts them with qemu-user-static."""
    emulator = shutil.which("qemu-aarch64-static", path=SYSTEM_PATH)
    if not emulator:
        raise Unavailable("qemu-aarch64-static is not installed; ./dev package --machine arm64 installs it")
    formats = pathlib.Path("/proc/sys/fs/binfmt_misc")
    if not (formats / "register").exists():
        subprocess.run(["mount", "-t", "binfmt_misc", "none", str(formats)], check=True)
    if any((formats / name).exists() for name in (OF_DEBIAN, OF_TESTS)):
        yield
        return
    # F: the emulator is opened now, so that a tree needs none of its own.
    (formats / "register").write_bytes(b":".join([b"", OF_TESTS.encode(), b"M", b"", ARM64_HEADER, ARM64_MASK, emulator.encode(), b"F"]))
    try:
        yield
    finally:
        (formats / OF_TESTS).write_text("-1")


def has_defect(tree: pathlib.Path) -> bool:
    library = tree / LIBRARY
    return library.exists() and DEFECT in library.read_bytes()


def mend_database_library(tree: pathlib.Path) -> None:
    """Where a tree's libmariadb ends slurmdbd, it gets Debian 12's, which nothing else in a tree uses."""
    if not has_defect(tree):
        return
    apt = tree / "etc/apt"
    lists = "\n".join(path.read_text() for path in [apt / "sources.list", *(apt / "sources.list.d").glob("*.list")] if path.exists())
    mirror = re.search(r"^deb (?:\[[^]]*\] )?(\S+) \S+ main\b", lists, re.MULTILINE)
    (apt / "sources.list.d/older.list").write_text(f"deb {mirror[1] if mirror else 'http://deb.debian.org/debian'} bookworm main\n")
    (apt / "preferences.d/older").write_text("Package: *\nPin: release n=bookworm\nPin-Priority: 1\n")
    options = " ".join(f"-o {one}" for one in (*UNDATED, "APT::Sandbox::User=root"))
    script = (f"apt-get -qq {options} update; rm -rf /tmp/older; mkdir /tmp/older; cd /tmp/older;"
              f"apt-get -qq {options} download libmariadb3/bookworm; dpkg -x libmariadb3*.deb .; cp {LIBRARY} /{LIBRARY}; rm -r /tmp/older")
    done = subprocess.run(["chroot", str(tree), "sh", "-ec", script], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0 or has_defect(tree):
        raise Unavailable(f"Debian has no database library that slurmdbd can use: {done.stderr.strip()[-500:]}")
