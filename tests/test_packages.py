"""The packages that ./dev package makes: of the program under test, and with --long on other releases of Debian.

packaging/package.py makes them. MINKE_PACKAGES names a directory of packages that are there already."""
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

import debian_tree
from cluster import ROOT, SYSTEM_PATH, Cluster

sys.path.insert(0, str(ROOT / "packaging"))
import package

MINKE_ONLY = True
PROGRAM = pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke")).resolve()
PYTHON = "/usr/bin/python3"


def make_packages(output: pathlib.Path) -> pathlib.Path:
    subprocess.run([PYTHON, "-B", ROOT / "packaging/package.py", "--program", PROGRAM, "--build", PROGRAM.parent, "--output", output,
                    "--any-glibc"], check=True, capture_output=True, env=dict(os.environ, SOURCE_DATE_EPOCH="1790000000"))
    return output


def sums(directory: pathlib.Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in directory.iterdir()}


def the(directory: pathlib.Path, pattern: str) -> pathlib.Path:
    found, = directory.glob(pattern)
    return found


@pytest.fixture(scope="module")
def packages(tmp_path_factory):
    if "MINKE_PACKAGES" in os.environ:
        return pathlib.Path(os.environ["MINKE_PACKAGES"])
    return make_packages(tmp_path_factory.mktemp("packages"))


def test_one_program_makes_the_same_packages_twice(packages, tmp_path):
    told = dict(line.split("  ")[::-1] for line in (packages / "SHA256SUMS").read_text().splitlines())
    found = sums(packages)
    found.pop("SHA256SUMS")
    assert told == found and len(found) == 5
    if "MINKE_PACKAGES" not in os.environ:
        assert sums(make_packages(tmp_path / "again")) == sums(packages)


NAMELESS = """
#include <cstdio>
#include <string>
namespace {
const std::string made_before_main = __FILE__;
}
#include "main.inc"
"""


def test_the_directory_of_a_build_leaves_no_trace(tmp_path):
    """With the options of ./dev package, and package.py's strip: the same sources in two directories, the same program."""
    flags = re.search(r"maps=\"(\S+)\"", (ROOT / "dev").read_text())[1]
    made = []
    for name in ("one", "another one, deeper"):
        directory = tmp_path / name / "src"
        directory.mkdir(parents=True)
        (directory / "a.cpp").write_text(NAMELESS)
        (directory / "main.inc").write_text("int main() { std::puts((made_before_main + __FILE__).c_str()); }\n")
        source = tmp_path / name
        mapped = flags.replace("$PWD", str(source))
        subprocess.run(["g++", "-O2", mapped, "-c", source / "src/a.cpp", "-o", source / "a.o"], check=True)
        subprocess.run(["g++", "-Wl,--build-id", source / "a.o", "-o", source / "a"], check=True)
        subprocess.run(package.STRIP + [source / "a"], check=True)
        made.append((source / "a").read_bytes())
    assert made[0] == made[1] and str(tmp_path).encode() not in made[0]
    assert subprocess.check_output([tmp_path / "one/a"], text=True) == "./src/a.cpp./src/main.inc\n"


@pytest.mark.timeout(4 * 3600)
def test_two_builds_make_the_same_packages(tmp_path, pytestconfig):
    """Of one commit in two directories, byte for byte. Two builds: it takes the better part of an hour."""
    if not pytestconfig.getoption("--long"):
        pytest.skip("two builds are made with --long")
    made = []
    for name in ("one", "another"):
        directory = tmp_path / name / "minke"
        subprocess.run(["git", "clone", "-q", ROOT, directory], check=True)
        subprocess.run(["./dev", "package"], cwd=directory, check=True, timeout=7200, env=dict(os.environ, CCACHE_DISABLE="1"))
        made.append(sums(directory / "build/packages"))
        shutil.rmtree(directory / "build-package")
    assert len(made[0]) == 6 and made[0] == made[1]


def test_the_archive_runs_where_it_is_unpacked(packages, tmp_path):
    with tarfile.open(the(packages, "*.tar.gz")) as packed:
        assert {(one.uid, one.gid, one.mtime) for one in packed} == {(0, 0, next(iter(packed)).mtime)}
        packed.extractall(tmp_path / "some where")
    prefix = the(tmp_path / "some where", "minke-*-linux-*")
    with contextlib.closing(Cluster(tmp_path / "c", program=prefix / "bin/minke")) as cluster:
        job = cluster.submit("echo it runs")
        cluster.wait_end(job)
        assert cluster.output(job) == "it runs\n"
    page = prefix / "share/man/man1/minke-sbatch.1.gz"
    assert ".TH minke-sbatch 1\n" in subprocess.check_output(["zcat", page], text=True)
    assert "_minke" in (prefix / "share/bash-completion/completions/minke").read_text()


def test_debians_packages(packages, tmp_path):
    one, server = the(packages, "minke_*.deb"), the(packages, "minke-server_*.deb")
    subprocess.run(["dpkg-deb", "-x", one, tmp_path], check=True)
    subprocess.run(["dpkg-deb", "-x", server, tmp_path], check=True)
    version = subprocess.check_output([tmp_path / "usr/bin/minke", "--version"], text=True).split()[-1]
    field = lambda package, name: subprocess.check_output(["dpkg-deb", "-f", package, name], text=True).strip()
    assert field(one, "Version") == f"{version}-1" and field(server, "Depends").startswith(f"minke (= {version}-1)")
    units = {path.name: path.read_text() for path in (tmp_path / "lib/systemd/system").iterdir()}
    assert set(units) == {"minke.service", "minke-launcher.service", "minke-helpers.service", "minke-portal.service"}
    for text in units.values():
        assert "ExecStart=/usr/bin/minke " in text and str(PROGRAM) not in text
    assert "minke-helper" in (tmp_path / "usr/lib/sysusers.d/minke.conf").read_text()
    assert subprocess.check_output(["dpkg-deb", "--info", server, "conffiles"], text=True) == "/etc/pam.d/minke-portal\n"
    for script in ("postinst", "prerm", "postrm"):
        subprocess.run(["sh", "-n"], input=subprocess.check_output(["dpkg-deb", "--info", server, script]), check=True)


@pytest.mark.skipif(not shutil.which("lintian", path=SYSTEM_PATH), reason="lintian is not installed")
def test_lintian_finds_nothing(packages):
    told = subprocess.run(["lintian", "--allow-root", "--fail-on", "error,warning", *packages.glob("*.deb")], capture_output=True, text=True,
                          check=False)
    assert (told.returncode, told.stdout) == (0, "")


def test_the_wheel(packages, tmp_path):
    """pip puts the program on PATH, and Python's package beside it finds it there."""
    subprocess.run([PYTHON, "-m", "venv", tmp_path / "venv"], check=True)
    wheel = the(packages, "*.whl")
    subprocess.run([tmp_path / "venv/bin/pip", "--quiet", "install", "--no-index", "--no-deps", wheel], check=True)
    with contextlib.closing(Cluster(tmp_path / "c", program=tmp_path / "venv/bin/minke")) as cluster:
        code = "import minke; print(minke.submit(sum, [20, 22]).result(), minke.__file__)"
        path = f"{tmp_path}/venv/bin:{cluster.environment['PATH']}"
        done = cluster.run(str(tmp_path / "venv/bin/python"), "-c", code, env={"PATH": path}, check=0)
        value, place = done.stdout.split()
        assert value == "42" and place.startswith(str(tmp_path / "venv"))


def test_what_is_in_the_program(packages):
    bill = json.loads(the(packages, "*.cdx.json").read_text())
    parts = {part["name"]: part for part in bill["components"]}
    assert bill["bomFormat"] == "CycloneDX" and {"protobuf", "sqlite3", "nettle", "svelte", "uplot"} <= set(parts)
    for part in parts.values():
        assert part["version"] and part["purl"].startswith("pkg:")


OLD_STYLE = """
#include <sys/stat.h>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>

static const std::string set_before_main = "set before main";

int main(int count, char** arguments) {
  struct stat info;
  std::mutex lock;
  std::condition_variable condition;
  double sum = 0;
  std::thread other([&] { sum = std::pow(std::exp(std::log(double(count + 1))), 2); });
  other.join();
  try {
    throw std::runtime_error("caught");
  } catch (const std::exception& error) {
    std::unique_lock<std::mutex> guard(lock);
    const auto begun = std::chrono::steady_clock::now();
    const bool late = condition.wait_until(guard, begun + std::chrono::milliseconds(20)) == std::cv_status::timeout;
    const bool waited = std::chrono::steady_clock::now() - begun >= std::chrono::milliseconds(20);
    std::printf("%s %s %d %d %d %.0f\\n", set_before_main.c_str(), error.what(), late, waited, stat(arguments[0], &info), sum);
  }
}
"""


def test_each_newer_function_of_glibcs_has_an_older_one():
    """What the program under test asks for beyond glibc 2.28, packaging/older_glibc.c has: packages are made by hand, seldom."""
    told = subprocess.check_output(["objdump", "-T", PROGRAM], text=True)
    newer = {name for minor, name in re.findall(r"\(?GLIBC_2\.(\d+)(?:\.\d+)?\)?\s+(\S+)$", told, re.M) if int(minor) > 28}
    source = (ROOT / "packaging/older_glibc.c").read_text()
    own = set(re.findall(r"^FORWARD\(\w+, [^,]+, (\w+),", source, re.M)) | set(re.findall(r"^HIDDEN [\w ]+?\**(\w+)(?:\(| = )", source, re.M))
    assert {"forkpty", "stat", "_dl_find_object", "__libc_single_threaded"} <= own
    assert newer - own == set()


@pytest.mark.parametrize("machine, runner", [
    ("", []), ("aarch64-linux-gnu-", ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"])], ids=["this machine", "arm64"])
def test_a_program_of_debian_12_for_older_systems(tmp_path, machine, runner):
    """packaging/older_glibc.c, linked as CMakeLists.txt does it."""
    if lacking := [name for name in (f"{machine}g++", *runner[:1]) if not shutil.which(name, path=SYSTEM_PATH)]:
        pytest.skip(f"{lacking[0]} is not installed; ./dev package --machine arm64 installs it")
    (tmp_path / "a.cpp").write_text(OLD_STYLE)
    subprocess.run([f"{machine}gcc", "-O2", "-fPIE", "-c", ROOT / "packaging/older_glibc.c", "-o", tmp_path / "older.o"], check=True, capture_output=True)
    subprocess.run([f"{machine}g++", "-std=c++20", "-O2", tmp_path / "a.cpp", tmp_path / "older.o", "-static-libstdc++", "-static-libgcc", "-o", tmp_path / "a",
                    "-Wl,--no-as-needed", "-l:libpthread.so.0", "-l:libdl.so.2", "-l:libutil.so.1"], check=True)
    needed = subprocess.check_output([f"{machine}objdump", "-T", tmp_path / "a"], text=True)
    assert not [line for line in needed.splitlines() if any(f"GLIBC_2.{minor})" in line for minor in range(29, 60))]
    assert subprocess.check_output([*runner, tmp_path / "a"], text=True) == "set before main caught 1 1 0 4\n"


@pytest.mark.parametrize("suite", ["bullseye", "bookworm", "trixie"])
def test_on_other_releases_of_debian(packages, suite, pytestconfig):
    if not pytestconfig.getoption("--long") or os.geteuid() != 0:
        pytest.skip("trees of other releases are made with --long, by root")
    sys.path.insert(0, str(ROOT / "tests/differential"))
    from releases import Namespace
    tree = ROOT / "build/packages-trees" / suite
    if not (tree / "usr/bin/python3").exists():
        try:
            debian_tree.make(tree, suite, ("systemd", "python3", "python3-venv", "libpam0g", "libpam-runtime"))
        except debian_tree.Unavailable as reason:
            pytest.skip(str(reason))
    shutil.rmtree(tree / "packages", ignore_errors=True)
    shutil.copytree(packages, tree / "packages")
    namespace = Namespace(tree)
    try:
        run = lambda *words: subprocess.run(namespace.words(*words), capture_output=True, text=True, check=False, env={
            "PATH": SYSTEM_PATH, "HOME": "/root", "MINKE_HOME": f"/tmp/minke-packages-{suite}"})
        done = run("sh", "-ec", "dpkg -i /packages/*.deb && minke --version && minke sbatch --wait -o /root/out --wrap 'echo it runs' && cat /root/out")
        try:
            assert done.returncode == 0 and done.stdout.endswith("it runs\n"), done.stdout + done.stderr
            assert "minke-helper" in run("cat", "/etc/passwd").stdout
        finally:
            run("minke", "down", "--cancel-jobs")
            shutil.rmtree(f"/tmp/minke-packages-{suite}", ignore_errors=True)
        done = run("sh", "-ec", "cd /root && rm -rf venv && python3 -m venv venv && venv/bin/pip -q install --no-index /packages/*.whl && venv/bin/minke --version")
        assert done.returncode == 0 and done.stdout.startswith("minke "), done.stdout + done.stderr
        done = run("sh", "-ec", "dpkg -r minke-server minke && ! test -e /usr/bin/minke")
        assert done.returncode == 0, done.stdout + done.stderr
    finally:
        namespace.close()
