"""Makes the packages of a built program: a relocatable archive, Debian's packages, a wheel, their checksums, and what is in
the program (bill_of_materials.py). Equal programs make equal packages, byte for byte: times are SOURCE_DATE_EPOCH's, by
default those of the last commit; files are sorted, and root's.

./dev package builds the program first, and calls this.
"""
import argparse
import base64
import gzip
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile

import bill_of_materials

ROOT = pathlib.Path(__file__).resolve().parent.parent
NEWEST_GLIBC = (2, 28)  # that the program may ask for; older_glibc.c
STRIP = ["strip", "--strip-unneeded", "--remove-section=.comment"]
MACHINES = {"Advanced Micro Devices X86-64": ("x86_64", "amd64"), "AArch64": ("aarch64", "arm64")}  # of readelf; Debian's
SUMMARY = "GPU research cluster in one program, in Slurm's words"
DESCRIPTION = """Runs jobs on a laptop or a shared GPU server with the commands of Slurm:
sbatch, srun, squeue, sacct and the others. Says why a job waits and when it
will start, measures what it uses, and has pages for a browser. On a real
Slurm cluster it adds what the cluster lacks."""
MAINTAINER = "The developers of Minke <maintainers@users.noreply.example.org>"


def run(*command, **options) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True, **options).stdout


def commit_time() -> int:
    return int(os.environ.get("SOURCE_DATE_EPOCH") or run("git", "-C", ROOT, "log", "-1", "--format=%ct"))


class Program:
    """The built program, and what it says of itself. One of another machine is run by qemu-user-static, in the tree whose
    libraries it was linked with."""

    def __init__(self, path: pathlib.Path, tree: str):
        self.path = path
        found = re.search(r"Machine:\s+(.+)", run("readelf", "-h", path))
        self.machine, self.debian_machine = MACHINES[found[1].strip()]
        is_of_another = self.machine != platform.machine()
        self.words = [f"qemu-{self.machine}-static", "-L", tree, path] if is_of_another else [path]
        self.binutils = f"{self.machine}-linux-gnu-" if is_of_another else ""
        self.version = self.told("--version").split()[-1]

    def told(self, *words: str) -> str:
        return run(*self.words, *words)

    def glibc(self) -> tuple[int, ...]:
        """The newest version of glibc that a symbol of it is of."""
        found = re.findall(r"GLIBC_(\d+(?:\.\d+)+)", run(f"{self.binutils}objdump", "-T", self.path))
        return max(tuple(int(part) for part in one.split(".")) for one in found)

    def manual_pages(self) -> dict[str, str]:
        """By file name. As git's: minke-sbatch(1), since a real Slurm has sbatch(1)."""
        told = subprocess.run([*self.words, "man", "?"], capture_output=True, text=True, check=False).stderr
        names = told.partition("there are those of ")[2].split()
        assert "sbatch" in names, told
        pages = {}
        for name in names:
            page = self.told("man", name)
            title, section = re.match(r"\.TH (.+) (\d)\n", page).groups()
            full = title.replace(" ", "-") if title.startswith("minke") else f"minke-{title}"
            page = page.replace(f".TH {title} ", f".TH {full} ", 1).replace(f".SH NAME\n{title} ", f".SH NAME\n{full} ", 1)
            pages[f"man{section}/{full}.{section}.gz"] = page
        return pages

    def units(self) -> dict[str, str]:
        """Of systemd, by name, for a program in /usr/bin."""
        printed = self.told("up", "--print-units") + "\n" + self.told("portal", "--print-unit")
        parts = re.split(r"^# /etc/systemd/system/(\S+)\n", printed.replace(str(self.path), "/usr/bin/minke"), flags=re.MULTILINE)
        return {name: text.strip() + "\n" for name, text in zip(parts[1::2], parts[2::2])}


def put(path: pathlib.Path, content: str | bytes, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)


def compressed(text: str) -> bytes:
    return gzip.compress(text.encode(), 9, mtime=0)


def stage(program: Program, prefix: pathlib.Path, materials: str) -> None:
    """What every package has, below a prefix such as /usr."""
    put(prefix / "bin/minke", program.path.read_bytes(), 0o755)
    subprocess.run([program.binutils + STRIP[0], *STRIP[1:], prefix / "bin/minke"], check=True)
    for name, page in program.manual_pages().items():
        put(prefix / "share/man" / name, compressed(page))
    for shell, path in (("bash", "bash-completion/completions/minke"), ("zsh", "zsh/vendor-completions/_minke"),
                        ("fish", "fish/vendor_completions.d/minke.fish")):
        put(prefix / "share" / path, program.told("completion", shell))
    documents = prefix / "share/doc/minke"
    put(documents / "LICENSE", (ROOT / "LICENSE").read_text())
    put(documents / "changelog.gz", compressed((ROOT / "CHANGELOG.md").read_text()))
    put(documents / "materials.cdx.json.gz", compressed(materials))


def archive(program: Program, tree: pathlib.Path, output: pathlib.Path, when: int) -> pathlib.Path:
    name = f"minke-{program.version}-linux-{program.machine}"
    tree.rename(tree.with_name(name))
    path = output / f"{name}.tar.gz"
    # GNU tar's own order and owner: nothing of who packs it.
    packed = subprocess.run(["tar", "--sort=name", f"--mtime=@{when}", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu",
                             "-C", tree.parent, "-c", name], check=True, capture_output=True).stdout
    path.write_bytes(gzip.compress(packed, 9, mtime=0))
    tree.with_name(name).rename(tree)
    return path


# ---- Debian ------------------------------------------------------------------------------------------
def control(program: Program, package: str, depends: str, more: str, description: str, tree: pathlib.Path) -> str:
    size = sum(path.stat().st_size for path in tree.rglob("*") if path.is_file()) // 1024
    words = "\n".join(f" {line}" for line in description.splitlines())
    return (f"Package: {package}\nVersion: {program.version}-1\nArchitecture: {program.debian_machine}\nMaintainer: {MAINTAINER}\n"
            f"Installed-Size: {size}\nDepends: {depends}\n{more}Section: science\nPriority: optional\n"
            f"Description: {SUMMARY if package == 'minke' else SUMMARY + ': the service'}\n{words}\n")


def package_tree(program: Program, package: str, tree: pathlib.Path, output: pathlib.Path, when: int, depends: str, more: str,
                 description: str) -> pathlib.Path:
    scripts = ROOT / "packaging" / package
    documents = tree / "usr/share/doc" / package
    (documents / "LICENSE").unlink(missing_ok=True)  # Debian's own copy is named instead
    put(documents / "copyright", (ROOT / "packaging/copyright").read_text())
    date = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(when))
    put(documents / "changelog.Debian.gz", compressed(
        f"{package} ({program.version}-1) unstable; urgency=medium\n\n  * changelog.gz says what is new.\n\n -- {MAINTAINER}  {date}\n"))
    put(tree / "DEBIAN/control", control(program, package, depends, more, description, tree))
    for script in ("postinst", "prerm", "postrm"):
        if (scripts / script).exists():
            put(tree / "DEBIAN" / script, (scripts / script).read_text(), 0o755)
    if (tree / "etc").exists():
        kept = sorted(f"/{path.relative_to(tree)}" for path in (tree / "etc").rglob("*") if path.is_file())
        put(tree / "DEBIAN/conffiles", "".join(f"{path}\n" for path in kept))
    put(tree / f"usr/share/lintian/overrides/{package}", (scripts / "lintian-overrides").read_text())
    sums = [f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in sorted(tree.rglob("*"))
            if path.is_file() and "DEBIAN" not in path.parts]
    put(tree / "DEBIAN/md5sums", "".join(sums))
    for path in [tree, *tree.rglob("*")]:
        if path.is_dir():
            path.chmod(0o755)
    made = output / f"{package}_{program.version}-1_{program.debian_machine}.deb"
    run("dpkg-deb", "--root-owner-group", "--build", "-Zxz", tree, made, env={**os.environ, "SOURCE_DATE_EPOCH": str(when)})
    return made


def debian_packages(program: Program, tree: pathlib.Path, work: pathlib.Path, output: pathlib.Path, when: int) -> list[pathlib.Path]:
    glibc = ".".join(str(part) for part in program.glibc())
    one = work / "minke"
    shutil.copytree(tree, one / "usr", symlinks=True)
    server = work / "minke-server"
    for name, text in program.units().items():
        put(server / "lib/systemd/system" / name, text)
    put(server / "usr/lib/sysusers.d/minke.conf",
        'u minke-helper - "Minke\'s helpers" -\nu minke-portal - "Minke\'s portal" -\n')
    put(server / "etc/pam.d/minke-portal", (ROOT / "packaging/minke-server/minke-portal.pam").read_text())
    put(server / "usr/share/doc/minke-server/changelog.gz", (one / "usr/share/doc/minke/changelog.gz").read_bytes())
    suggests = "Suggests: lmod, virtualenv, crun, squashfs-tools, tinyproxy-bin\n"
    return [package_tree(program, "minke", one, output, when, f"libc6 (>= {glibc})", suggests, DESCRIPTION),
            package_tree(program, "minke-server", server, output, when, f"minke (= {program.version}-1), systemd, libpam0g, libpam-runtime",
                         "", "One cluster for all users of a machine, and its pages: systemd's units, the\n"
                         "accounts of its helpers, and how people log in. Nothing starts by itself:\n"
                         "systemctl enable --now minke")]


# ---- Python ------------------------------------------------------------------------------------------
def wheel(program: Program, binary: bytes, output: pathlib.Path, when: int) -> pathlib.Path:
    """Python's package with the program beside it, which pip puts on PATH."""
    major, minor = NEWEST_GLIBC
    name, tag = f"minke-{program.version}", f"py3-none-manylinux_{major}_{minor}_{program.machine}"
    information = f"{name}.dist-info"
    readme = (ROOT / "python/README.md").read_text()
    files = {f"{name}.data/scripts/minke": (binary, 0o755)}
    for path in sorted((ROOT / "python/minke").iterdir()):
        if path.suffix == ".py" or path.name == "py.typed":
            files[f"minke/{path.name}"] = (path.read_bytes(), 0o644)
    metadata = (f"Metadata-Version: 2.4\nName: minke\nVersion: {program.version}\nSummary: {SUMMARY}\nLicense-Expression: Apache-2.0\n"
                f"License-File: LICENSE\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n{readme}")
    files[f"{information}/METADATA"] = (metadata.encode(), 0o644)
    files[f"{information}/WHEEL"] = (f"Wheel-Version: 1.0\nGenerator: minke\nRoot-Is-Purelib: false\nTag: {tag}\n".encode(), 0o644)
    files[f"{information}/licenses/LICENSE"] = ((ROOT / "LICENSE").read_bytes(), 0o644)
    record = "".join(f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b'=').decode()},{len(content)}\n"
                     for path, (content, _) in files.items())
    files[f"{information}/RECORD"] = (f"{record}{information}/RECORD,,\n".encode(), 0o644)
    date = max(time.gmtime(when)[:6], (1980, 1, 1, 0, 0, 0))
    made = output / f"{name}-{tag}.whl"
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path, (content, mode) in files.items():
            entry = zipfile.ZipInfo(path, date)
            entry.external_attr, entry.compress_type, entry.create_system = (0o100000 | mode) << 16, zipfile.ZIP_DEFLATED, 3
            packed.writestr(entry, content)
    return made


def make(program: Program, build: pathlib.Path, output: pathlib.Path) -> list[pathlib.Path]:
    when = commit_time()
    output.mkdir(parents=True, exist_ok=True)
    materials = bill_of_materials.text(ROOT, build, program.version, when)
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        tree = work / "tree"
        stage(program, tree, materials)
        made = [archive(program, tree, output, when), *debian_packages(program, tree, work, output, when),
                wheel(program, (tree / "bin/minke").read_bytes(), output, when)]
    bill = output / f"minke-{program.version}.cdx.json"
    bill.write_text(materials)
    made.append(bill)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    (output / "SHA256SUMS").write_text(sums)
    return [*made, output / "SHA256SUMS"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the directory in which ninja linked it")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--output", type=pathlib.Path, help="where the packages go")
    where.add_argument("--stage", type=pathlib.Path, help="no packages: their files go below this prefix")
    parser.add_argument("--any-glibc", action="store_true", help="also of a program that runs on this machine's glibc alone")
    options = parser.parse_args()
    program = Program(options.program.resolve(), bill_of_materials.setting(options.build, "MINKE_SYSROOT"))
    if options.stage:
        return stage(program, options.stage, bill_of_materials.text(ROOT, options.build, program.version, commit_time()))
    if program.glibc() > NEWEST_GLIBC and not options.any_glibc:
        sys.exit(f"{options.program} asks for glibc {'.'.join(map(str, program.glibc()))}: packaging/older_glibc.c lacks a function. "
                 f"objdump -T {options.program} names it.")
    for path in make(program, options.build, options.output):
        print(f"{path.stat().st_size / 1e6:8.1f} MB  {path}")


if __name__ == "__main__":
    main()
