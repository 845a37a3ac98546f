"""Where clients are installed: once for each list of versions, below build/clients/, where no other Python sees them."""
import fcntl
import hashlib
import pathlib
import shutil
import subprocess

import pytest

from cluster import ROOT

HERE = pathlib.Path(__file__).parent
JAVA = ("lang", "io", "nio", "net", "util")


def install_python(requirements: pathlib.Path, directory: pathlib.Path) -> None:
    subprocess.run(["/usr/bin/python3", "-m", "venv", directory], check=True, capture_output=True, text=True)
    subprocess.run([directory / "bin/pip", "install", "--quiet", "--disable-pip-version-check", "-r", requirements],
                   check=True, capture_output=True, text=True, timeout=500)


def install_java(project: pathlib.Path, directory: pathlib.Path) -> None:
    """The program and all that it needs; a launcher with Nextflow's own name."""
    for program in ("mvn", "java"):
        if not shutil.which(program):
            pytest.skip(f"{program} is not installed")
    (directory / "bin").mkdir(parents=True)
    subprocess.run(["mvn", "-q", "-B", "-f", project, "dependency:copy-dependencies", f"-DoutputDirectory={directory}/lib"],
                   check=True, capture_output=True, text=True, timeout=500, stdin=subprocess.DEVNULL)
    opened = " ".join(f"--add-opens=java.base/java.{one}=ALL-UNNAMED" for one in JAVA)
    (directory / "bin/nextflow").write_text(
        "#!/bin/sh\nexport NXF_OFFLINE=true NXF_ENABLE_VIRTUAL_THREADS=false\n"
        f"exec java {opened} --add-opens=java.base/sun.nio.ch=ALL-UNNAMED --add-opens=java.base/sun.nio.fs=ALL-UNNAMED "
        f"-cp '{directory}/lib/*' nextflow.cli.Launcher \"$@\"\n")
    (directory / "bin/nextflow").chmod(0o755)


def installed(name: str) -> pathlib.Path:
    """The directory of the programs of NAME.txt (PyPI) or NAME.xml (Maven). Skips where the registry is not reached."""
    wanted = next(path for path in (HERE / f"{name}.txt", HERE / f"{name}.xml") if path.exists())
    directory = ROOT / "build/clients" / hashlib.sha256(wanted.read_bytes()).hexdigest()[:12]
    directory.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{directory}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (directory / "complete").exists():
            shutil.rmtree(directory, ignore_errors=True)
            try:
                (install_java if wanted.suffix == ".xml" else install_python)(wanted, directory)
            except (subprocess.SubprocessError, OSError) as error:
                lines = (getattr(error, "stderr", None) or getattr(error, "stdout", None) or str(error)).strip().splitlines()
                pytest.skip(f"{name} cannot be installed from its registry: {lines[-1] if lines else error}")
            (directory / "complete").touch()
    return directory / "bin"
