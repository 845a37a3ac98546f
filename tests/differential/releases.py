"""Releases of Slurm, and where each is had: from this machine's own packages, or from those of another Debian in a tree of its own.

A tree is made once for a machine (mmdebstrap, about a minute, 400 to 700 MB) and kept in MINKE_SLURM_TREES, by default
~/.cache/minke-slurm. Its programs run in a mount and a process namespace, with the machine's network, /tmp and /dev:
ending the namespace's first process ends all of them, and nothing of a tree stays mounted. That takes root.
"""
import dataclasses
import fcntl
import functools
import os
import pathlib
import re
import shutil
import signal
import subprocess

import debian_tree
from cluster import SYSTEM_PATH, poll
from debian_tree import Unavailable
from processes import children_of

PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmdbd", "mariadbd", "mariadb-install-db", "my_print_defaults", "mariadb", "sbatch")
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurmrestd", "munge", "slurm-wlm-basic-plugins",
            "slurm-wlm-mysql-plugin", "mariadb-server-core", "mariadb-client-core", "procps")


def program_missing(programs=PROGRAMS) -> str | None:
    return next((program for program in programs if not shutil.which(program, path=SYSTEM_PATH)), None)


def version_of(*prefix: str) -> str:
    """As "24.11"."""
    told = subprocess.run([*prefix, "slurmctld", "-V"], capture_output=True, text=True, check=False,
                          env={"PATH": SYSTEM_PATH}).stdout
    found = re.search(r"\d\d\.\d\d", told)
    return found[0] if found else "none"


@dataclasses.dataclass(frozen=True)
class Release:
    version: str
    suite: str  # of Debian

    @functools.cached_property
    def installed(self) -> bool:
        """Whether the machine's own packages are of this release."""
        return program_missing() is None and version_of() == self.version

    @property
    def tree(self) -> pathlib.Path:
        return pathlib.Path(os.environ.get("MINKE_SLURM_TREES") or "~/.cache/minke-slurm").expanduser() / f"slurm-{self.version}"

    def made_tree(self) -> pathlib.Path:
        """The tree, which is made where there is none; one process makes it, the others wait."""
        if os.geteuid() != 0:
            raise Unavailable(f"a tree of Slurm {self.version} takes root")
        self.tree.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{self.tree}.lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.lexists(self.tree / "usr/sbin/slurmctld"):  # a link from the root, which is another here
                debian_tree.make(self.tree, self.suite, PACKAGES)
            debian_tree.mend_database_library(self.tree)
        if (found := version_of("chroot", str(self.tree))) != self.version:
            raise Unavailable(f"Debian {self.suite} has Slurm {found} now, not {self.version}; keep a tree in {self.tree}")
        return self.tree


RELEASES = {one.version: one for one in (Release("22.05", "bookworm"), Release("24.11", "trixie"), Release("26.05", "sid"))}


class Namespace:
    """The programs of a tree see it as their root, with this machine's /tmp."""

    def __init__(self, tree: pathlib.Path):
        shutil.copy("/etc/hosts", tree / "etc/hosts")
        script = ('mount --bind "$0" "$0"; mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; mount --rbind /sys "$0/sys";'
                  'mount --bind /tmp "$0/tmp"; mount -t tmpfs none "$0/run"; mkdir -p "$0/run/munge";'
                  'exec chroot "$0" bash -c "while :; do sleep 3600 & wait; done"')
        self.process = subprocess.Popen(["unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child",
                                         "sh", "-ec", script, str(tree)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.tree = tree
        self.first = poll(self.first_process, 20, "the namespace's first process")

    def first_process(self) -> int | None:
        try:
            child = children_of(self.process.pid)
            return child[0] if child and os.readlink(f"/proc/{child[0]}/root") == str(self.tree.resolve()) else None
        except OSError:
            return None

    def words(self, *command: str, directory: str = "/tmp") -> list[str]:
        return ["nsenter", "-t", str(self.first), "-m", "-p", "-r", "-W", str(directory), *command]

    def close(self) -> None:
        os.kill(self.first, signal.SIGKILL)  # and with it all that runs inside
        self.process.kill()
        self.process.wait()
