"""The plain ways to run many scripts on one machine: xargs, GNU parallel, task-spooler. None keeps a record."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

from peers.slurm import PATH

ENVIRONMENT = {"PATH": PATH, "HOME": os.environ.get("HOME", "/"), "LC_ALL": "C"}


class Spawner:
    """Runs `script` `count` times in `directory`, as many at once as there are cores. Returns seconds."""
    name = ""
    program = ""

    def missing(self) -> str | None:
        return None if shutil.which(self.program, path=PATH) else f"{self.program} is not installed"

    def run(self, script: pathlib.Path, count: int, directory: pathlib.Path) -> float:
        began = time.monotonic()
        self.spawn(script, count, directory)
        return time.monotonic() - began

    def spawn(self, script: pathlib.Path, count: int, directory: pathlib.Path) -> None:
        raise NotImplementedError


def shell(command: str, directory: pathlib.Path, **environment: str) -> None:
    subprocess.run(["sh", "-c", command], cwd=directory, env=ENVIRONMENT | environment, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Xargs(Spawner):
    """Spawning and nothing else: the script is executed, its output goes where xargs's own goes."""
    name, program = "xargs -P", "xargs"

    def spawn(self, script, count, directory):
        shell(f"seq {count} | xargs -P {os.cpu_count()} -n 1 {script}", directory)


class XargsWithFiles(Spawner):
    """With an output file for each, as batch jobs have one: a shell opens it and becomes the script."""
    name, program = "xargs -P, a file each", "xargs"

    def spawn(self, script, count, directory):
        shell(f"seq {count} | xargs -P {os.cpu_count()} -n 1 sh -c 'exec {script} >$0.out'", directory)


class GnuParallel(Spawner):
    name, program = "GNU parallel", "parallel"

    def spawn(self, script, count, directory):
        (directory / "home/.parallel").mkdir(parents=True, exist_ok=True)
        (directory / "home/.parallel/will-cite").touch()
        shell(f"seq {count} | parallel -j {os.cpu_count()} '{script} >{{}}.out'", directory,
              HOME=str(directory / "home"))


class TaskSpooler(Spawner):
    """One tsp call for each; the last one waits for its turn at the end of the queue."""
    name, program = "task-spooler", "tsp"

    def spawn(self, script, count, directory):
        with tempfile.TemporaryDirectory(prefix="tsp-", dir="/tmp") as place:
            environment = {"TS_SOCKET": f"{place}/socket", "TMPDIR": place, "TS_MAXFINISHED": "10"}
            try:
                shell(f"tsp -S {os.cpu_count()}; i=0; while [ $i -lt {count} ]; do tsp {script} >/dev/null; i=$((i+1)); "
                      "done; tsp -w $(tsp true); while tsp | grep -qE '^[0-9]+ +(running|queued)'; do :; done",
                      directory, **environment)
            finally:
                shell("tsp -K || true", directory, **environment)
