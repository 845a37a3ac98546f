"""A Minke of the benchmark's own: one daemon in one directory, beside whatever else the machine runs."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from peers.slurm import PATH
from wire import Wire

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class Minke:
    """Use as a context manager. `environment` is what its commands need; `stub` launches nothing."""
    name = "Minke"

    def __init__(self, program: pathlib.Path, stub: bool = False, configuration: str = "", shared: bool = False,
                 directory: pathlib.Path | None = None):
        self.program = program.resolve()
        self.stub = stub
        self.shared = shared  # a cluster of root's, that serves all users
        base = ROOT / ".minke/bench"  # on the disk that the repository is on, not in memory
        base.mkdir(parents=True, exist_ok=True)
        # One that is given others pass through; the program is copied there, so that they reach it as well.
        self.directory = directory or pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=base))
        if directory:
            self.program = pathlib.Path(shutil.copy(self.program, directory / "minke"))
        self.home = self.directory / "cluster"
        if not shared:
            self.home.mkdir(mode=0o700)
        if configuration:
            (self.directory / "minke.toml").write_text(configuration)
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith(("SLURM_", "SBATCH_", "SRUN_", "SQUEUE_", "MINKE_"))}
        environment |= {"MINKE_HOME": str(self.home), "PATH": PATH}
        if configuration:
            environment["MINKE_CONFIG"] = str(self.directory / "minke.toml")
        self.environment = environment
        self.daemon: subprocess.Popen | None = None

    def __enter__(self) -> "Minke":
        up = [str(self.program), "up"]
        if self.shared:
            subprocess.run([*up, "--shared"], env=self.environment, check=True, stdout=subprocess.DEVNULL)
        shell = 'set -e; lines=$("$0" env --over-slurm); eval "$lines"; env -0'
        lines = subprocess.run(["bash", "-c", shell, str(self.program)], env=self.environment, stdout=subprocess.PIPE,
                               check=True).stdout
        self.environment = dict(entry.split("=", 1) for entry in os.fsdecode(lines).split("\0") if "=" in entry)
        if self.stub:
            log = open(self.directory / "daemon.out", "ab")
            self.daemon = subprocess.Popen([str(self.program), "daemon", "--stub-launch"], env=self.environment,
                                           stdin=subprocess.DEVNULL, stdout=log, stderr=log)
            deadline = time.monotonic() + 20
            while not (self.home / "minked.sock").exists():
                if time.monotonic() > deadline or self.daemon.poll() is not None:
                    raise RuntimeError((self.directory / "daemon.out").read_text()[-2000:])
                time.sleep(0.01)
        elif not self.shared:
            subprocess.run(up, env=self.environment, check=True, stdout=subprocess.DEVNULL)
        return self

    def command(self, *arguments: str, **options) -> subprocess.CompletedProcess:
        options = {"capture_output": True, "text": True, "env": self.environment, "cwd": self.directory} | options
        return subprocess.run([shutil.which(arguments[0], path=self.environment["PATH"]), *arguments[1:]], **options)

    def wire(self) -> Wire:
        return Wire(self.home)

    def pid(self, daemon: str = "minked") -> int:
        return int((self.home / f"{daemon}.pid").read_text())

    def __exit__(self, *_) -> None:
        subprocess.run([str(self.program), "down", "--cancel-jobs"], env=self.environment, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        if self.daemon and self.daemon.poll() is None:
            self.daemon.kill()
        if self.daemon:
            self.daemon.wait()
        shutil.rmtree(self.directory, ignore_errors=True)
