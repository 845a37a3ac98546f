"""What is in the program, as CycloneDX: the static libraries that it was linked with and the headers that it was compiled
with, by Debian's packages, and the packages of npm that its pages are made of.

The libraries of a program for another machine are those of a tree (sysroot.py); its compiler is this machine's."""
import json
import pathlib
import re
import subprocess
import time

# Libraries that are headers alone, or whose code the compiler brings.
HEADERS = ("libboost-dev", "libfmt-dev", "libspdlog-dev", "libtomlplusplus-dev", "libcli11-dev", "libexpected-dev", "nlohmann-json3-dev")


def run(*command) -> str:
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def setting(build: pathlib.Path, name: str) -> str:
    """Of CMake; empty where it has none."""
    found = re.search(rf"^{name}:\w+=(.*)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


def owners(root: pathlib.Path, paths: set[str]) -> set[str]:
    return {line.partition(":")[0] for line in run("dpkg", f"--root={root}", "-S", *sorted(paths)).splitlines()}


def linked_packages(build: pathlib.Path, tree: pathlib.Path) -> set[str]:
    link = run("ninja", "-C", build, "-t", "commands", "minke").splitlines()[-1]
    words = (pathlib.Path(word) for word in link.split() if word.endswith(".a"))
    return owners(tree, {f"/{word.resolve().relative_to(tree)}" for word in words if word.is_relative_to(tree / "usr")})


def compilers_packages(build: pathlib.Path) -> set[str]:
    machine = setting(build, "MINKE_MACHINE")
    compiler = f"{machine}-linux-gnu-g++" if machine else "g++"
    names = ("libstdc++.a", "libgcc_eh.a")
    return owners(pathlib.Path("/"), {str(pathlib.Path(run(compiler, f"-print-file-name={name}").strip()).resolve()) for name in names})


def licences(package: str, tree: pathlib.Path) -> list[str]:
    text = (tree / f"usr/share/doc/{package}/copyright").read_text(errors="replace")
    return sorted(set(re.findall(r"^License: *(\S[^\n]*)", text, re.MULTILINE)))


def of_debian(package: str, tree: pathlib.Path) -> dict:
    version, source = run("dpkg-query", f"--root={tree}", "-W", "-f", "${Version}\t${source:Package}", package).split("\t")
    one = {"type": "library", "name": source, "version": version, "purl": f"pkg:deb/debian/{package}@{version}"}
    names = licences(package, tree)
    return one | ({"licenses": [{"license": {"name": name}} for name in names]} if names else {})


def of_pages(root: pathlib.Path) -> list[dict]:
    lock = json.loads((root / "web/package-lock.json").read_text())
    wanted = [f"node_modules/{name}" for name in lock["packages"][""]["dependencies"]]
    found = {"node_modules/svelte": lock["packages"]["node_modules/svelte"]}  # its part that runs; what it compiles with is not
    while wanted:
        path = wanted.pop()
        if path in found or path not in lock["packages"]:
            continue
        found[path] = lock["packages"][path]
        wanted += [f"node_modules/{name}" for name in found[path].get("dependencies", {})]
    return [{"type": "library", "name": path.removeprefix("node_modules/"), "version": one["version"],
             "purl": f"pkg:npm/{path.removeprefix('node_modules/')}@{one['version']}",
             "licenses": [{"license": {"name": one.get("license", "unknown")}}]} for path, one in sorted(found.items())]


def text(root: pathlib.Path, build: pathlib.Path, version: str, when: int) -> str:
    return json.dumps(document(root, build, version, when), indent=1, sort_keys=True) + "\n"


def document(root: pathlib.Path, build: pathlib.Path, version: str, when: int) -> dict:
    machine, tree = pathlib.Path("/"), pathlib.Path(setting(build, "MINKE_SYSROOT") or "/")
    libraries = {package: tree for package in linked_packages(build, tree) | set(HEADERS)}
    parts = libraries | {package: machine for package in compilers_packages(build)}
    return {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
            "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(when)),
                         "component": {"type": "application", "name": "minke", "version": version,
                                       "licenses": [{"license": {"id": "Apache-2.0"}}]}},
            "components": [of_debian(package, where) for package, where in sorted(parts.items())] + of_pages(root)}
