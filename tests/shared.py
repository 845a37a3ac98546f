"""A cluster of root's that serves all users, and real users, made by the tests, with the rights that they have."""
import grp
import itertools
import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile

import pytest

from cluster import Commands, Machine, PATIENCE, ROOT, configuration, plain_environment, poll

NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can serve others and make users")


NAMES = itertools.count()


def make_account(*command: str) -> None:
    """By useradd or groupadd: one of tests beside this one may hold the lock, and a killed test have left the name."""
    def made() -> bool:
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode == 9:
            subprocess.run([command[0].replace("add", "del"), "-f", command[-1]], capture_output=True)
        return done.returncode == 0
    poll(made, 60, " ".join(map(str, command)))


class User(Commands):
    """A user of the machine, with a directory of his own, who drives the cluster by its commands."""

    def __init__(self, directory: pathlib.Path, name: str, groups: tuple[str, ...], environment: dict[str, str]):
        self.entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, self.entry.pw_uid, self.entry.pw_gid
        self.groups = [grp.getgrnam(one).gr_gid for one in groups]
        self.work = directory / name
        self.work.mkdir()
        os.chown(self.work, self.uid, self.gid)
        self.work.chmod(0o700)
        self.environment = environment | {"HOME": str(self.work), "USER": name, "LOGNAME": name}

    def rights(self) -> dict:
        return {"user": self.uid, "group": self.gid, "extra_groups": [self.gid, *self.groups], "umask": 0o022}

    def run(self, *command, input=None, cwd=None, env=None, check=None, timeout=60):
        environment = {name: value for name, value in (self.environment | (env or {})).items() if value is not None}
        arguments = [str(argument) for argument in command]
        done = subprocess.run(arguments, executable=shutil.which(arguments[0], path=environment["PATH"]),
                              cwd=cwd or self.work, env=environment, timeout=timeout * PATIENCE, text=True,
                              errors="surrogateescape", capture_output=True, **self.rights(),
                              **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}))
        if check is not None:
            assert done.returncode == check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def python(self, text: str, *arguments, check=0):
        """Runs a program of his own."""
        return self.run("python3", "-c", text, *arguments, check=check)

    def script(self, text: str, name: str = "job.sh") -> pathlib.Path:
        path = super().script(text, name)
        os.chown(path, self.uid, self.gid)
        return path


def passable_directory(parent: str = "/tmp") -> pathlib.Path:
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-shared-", dir=parent))
    directory.chmod(0o755)
    return directory


class Shared:
    """The cluster, and its users: alice, bob and otto, who is an operator."""

    def __init__(self, extra: str = "", parent: str = "/tmp", tables: str = "", machine: str | None = None):
        """`machine`: nodes and partitions; of its own it has two nodes and one partition."""
        # Nobody else may pass through pytest's own.
        self.directory = passable_directory(parent)
        self.accounts: list[str] = []
        self.group = f"mkops{os.getpid()}{next(NAMES)}"
        make_account("groupadd", self.group)
        self.home = self.directory / "home"
        config = self.directory / "minke.toml"
        if machine is None:
            machine = configuration(Machine(nodes=2, cpus=2, memory=2000))
        config.write_text(f'operators = "{self.group}"\n' + extra + machine + tables)
        self.program = self.directory / "minke"
        shutil.copy(os.environ.get("MINKE", ROOT / "build/minke"), self.program)
        self.environment = plain_environment() | {"MINKE_HOME": str(self.home)}
        self.root = self.environment | {"MINKE_CONFIG": str(config)}
        self.prepare()
        self.start()
        users = self.directory / "users"
        users.mkdir(mode=0o755)
        self.alice, self.bob = self.user(users, "alice"), self.user(users, "bob")
        self.otto = self.user(users, "otto", self.group)

    def prepare(self) -> None:
        """What is to be there before it starts."""

    def start(self) -> None:
        self.minke("up", "--shared")
        self.environment["PATH"] = f"{self.home}/bin:" + self.environment["PATH"]

    def stop(self) -> None:
        self.minke("down", "--cancel-jobs")

    def user(self, directory, name: str, *groups: str) -> User:
        account = f"mk{name}{os.getpid()}{next(NAMES)}"
        make_account("useradd", "--no-create-home", "--home-dir", directory / account, "--shell", "/bin/bash",
                     *(["--groups", ",".join(groups)] if groups else []), account)
        self.accounts.append(account)
        return User(directory, account, groups, self.environment)

    def minke(self, *arguments, check=0):
        done = subprocess.run([self.program, *arguments], env=self.root, capture_output=True, text=True,
                              timeout=60 * PATIENCE)
        assert done.returncode == check, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def root_run(self, *command):
        return subprocess.run(command, env=self.root | {"PATH": self.environment["PATH"]}, capture_output=True,
                              text=True, timeout=60 * PATIENCE)

    def pid(self, name: str = "minked") -> int:
        return int((self.home / f"{name}.pid").read_text())

    def close(self):
        self.stop()
        for account in self.accounts:
            subprocess.run(["pkill", "-KILL", "-U", str(pwd.getpwnam(account).pw_uid)], check=False)
            poll(lambda: subprocess.run(["userdel", "-f", account], capture_output=True).returncode == 0, 10,
                 "the removal of a user")
        subprocess.run(["groupdel", "-f", self.group], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)
