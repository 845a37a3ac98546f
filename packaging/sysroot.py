"""A tree with the libraries of another machine, to link a program with and to run it in (by qemu-user-static): packages of
this Debian for that machine, unpacked by mmdebstrap. Nothing of the tree runs meanwhile. dpkg can be asked about it
(`dpkg --root`), as bill_of_materials.py does.

./dev package --machine arm64 makes one in half a minute, for each list of packages once, and keeps it. It takes 500 MB.
"""
import argparse
import hashlib
import pathlib
import shlex
import shutil
import subprocess
import sys

# What links any program; and what the program in the tree is tried with.
ALSO = ("libc6-dev", "libstdc++-12-dev", "bash", "dash", "coreutils", "grep", "sed")


def run(*command) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def record(tree: pathlib.Path) -> None:
    """Tells dpkg of the packages that were unpacked. mmdebstrap calls this while it still has them."""
    told = tree / "var/lib/dpkg"
    (told / "info").mkdir(exist_ok=True)
    for package in sorted((tree / "var/cache/apt/archives").glob("*.deb")):
        fields = run("dpkg-deb", "-f", package)
        name = run("dpkg-deb", "-f", package, "Package").strip()
        with (told / "status").open("a") as status:
            status.write(fields.replace("\n", "\nStatus: install ok installed\n", 1) + "\n")
        paths = [line.split(maxsplit=5)[5].partition(" -> ")[0].removeprefix(".").rstrip("/") or "/."
                 for line in run("dpkg-deb", "-c", package).splitlines()]
        (told / f"info/{name}.list").write_text("\n".join(paths) + "\n")


def make(tree: pathlib.Path, machine: str, suite: str, packages: list[str]) -> None:
    half = tree.with_name(f"{tree.name}.new")
    shutil.rmtree(half, ignore_errors=True)
    tree.parent.mkdir(parents=True, exist_ok=True)
    # The mirror's clock may be ahead of the machine's, or its lists older than they say.
    undated = [f"--aptopt=Acquire::{check} false" for check in ("Check-Valid-Until", "Check-Date")]
    hook = f'{shlex.join([sys.executable, str(pathlib.Path(__file__).resolve())])} --record "$1"'
    subprocess.run(["mmdebstrap", "--quiet", "--variant=extract", f"--architectures={machine}", *undated, f"--extract-hook={hook}",
                    f"--include={','.join(packages)}", suite, half], stdin=subprocess.DEVNULL, stdout=sys.stderr, check=True)
    half.rename(tree)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", type=pathlib.Path, help=argparse.SUPPRESS)
    parser.add_argument("--machine", help="as Debian names it")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--trees", type=pathlib.Path, default=pathlib.Path("~/.cache/minke-sysroots").expanduser())
    parser.add_argument("packages", nargs="*")
    options = parser.parse_args()
    if options.record:
        return record(options.record)
    packages = sorted({*ALSO, *options.packages})
    key = hashlib.sha256(" ".join([options.machine, options.suite, *packages]).encode()).hexdigest()[:8]
    tree = options.trees.resolve() / f"{options.suite}-{options.machine}-{key}"
    if not tree.exists():
        make(tree, options.machine, options.suite, packages)
    print(tree)


if __name__ == "__main__":
    main()
