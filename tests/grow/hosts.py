"""Hosts in one machine: each has its own file system (an overlay over one Debian tree), network, name, processes and
sshd, and the daemons that are installed in it. They reach each other over a bridge that is theirs alone.

Needs root. Nothing of it is left when close() has returned, and nothing outside of the directory is changed.
"""
import dataclasses
import hashlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import debian_tree
from debian_tree import Unavailable
from processes import children_of

NETWORK = "10.213.7"
PACKAGES = ("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurmrestd", "munge", "slurm-wlm-basic-plugins",
            "slurm-wlm-mysql-plugin", "slurm-wlm-jwt-plugin", "mariadb-server", "openssh-server", "openssh-client", "iproute2",
            "procps", "sysvinit-utils", "init-system-helpers", "systemd-sysv", "dbus", "python3-minimal", "openmpi-bin",
            "python3-mpi4py", "python3-numpy", "faketime", "nftables", "tinyproxy-bin")
TORCH = ("python3-torch",)
SUITES = {"trixie": "24.11", "bookworm": "22.05", "sid": "26.05"}

# The first process of a host is systemd, or starts nothing but sshd.
INIT = r"""
set -e
root=$1 name=$2
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$3,upperdir=$4,workdir=$5" "$root"
mount --bind "$SHARED" "$root/home"
mount -t proc proc "$root/proc"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t tmpfs -o mode=755 tmpfs "$root/run"
mount -t tmpfs -o mode=755 tmpfs "$root/dev"
mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/run/sshd" "$root/run/lock" "$root/root/.ssh"
mount -t tmpfs -o mode=1777 tmpfs "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
ln -s pts/ptmx "$root/dev/ptmx"; ln -s /proc/self/fd "$root/dev/fd"
for device in "null 1 3" "zero 1 5" "full 1 7" "random 1 8" "urandom 1 9" "tty 5 0"; do
  set -- $device; mknod -m 666 "$root/dev/$1" c "$2" "$3"
done
hostname "$name"
echo "$name" >"$root/etc/hostname"
ip link set lo up
cp "$KEYS/key" "$root/root/.ssh/id_ed25519"; cp "$KEYS/key.pub" "$root/root/.ssh/authorized_keys"
chmod 700 "$root/root/.ssh"; chmod 600 "$root/root/.ssh/id_ed25519"
printf 'Host *\n  StrictHostKeyChecking accept-new\n' >"$root/root/.ssh/config"
printf '127.0.0.1 localhost\n%s' "$HOSTS" >"$root/etc/hosts"
if [ -n "$SYSTEMD" ]; then
  mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
  exec chroot "$root" env -i container=lxc PATH=/usr/sbin:/usr/bin:/sbin:/bin /sbin/init
fi
mount --rbind /sys/fs/cgroup "$root/sys/fs/cgroup" || :  # Slurm 22.05 looks for one in any case
exec chroot "$root" /bin/bash -c '/usr/sbin/sshd -o UsePAM=no; while :; do sleep 600 & wait $!; done'
"""


def make_tree(directory: pathlib.Path, suite: str, more: tuple[str, ...] = ()) -> pathlib.Path:
    """A Debian with all that the hosts run, and more. Made once for each list of packages."""
    packages = PACKAGES + more
    tree = directory / f"hosts-{suite}-{hashlib.sha256(' '.join(packages).encode()).hexdigest()[:8]}"
    if not (tree / "usr/sbin").is_dir():
        debian_tree.make(tree, suite, packages)
    debian_tree.mend_database_library(tree)
    return tree


def groups_of_systemd(name: str) -> pathlib.Path:
    """Where the hosts' control groups are: version 2, beside whatever this machine has."""
    for root in (pathlib.Path("/sys/fs/cgroup/unified"), pathlib.Path("/sys/fs/cgroup")):
        if (root / "cgroup.controllers").exists():
            try:
                (root / name).mkdir()
            except OSError as problem:
                raise Unavailable(f"control groups of version 2 cannot be made: {problem}") from None
            return root / name
    raise Unavailable("this machine has no control groups of version 2")


# A process enters its host's groups of version 1: Minke's groups lie below those of who starts it, and two tests at once
# would share them else, as their Minkes have the same home.
ENTER = 'for group in /sys/fs/cgroup/*/"$0"; do echo $$ >"$group/cgroup.procs"; done 2>/dev/null; exec "$@"'


def make_old_groups(name: str) -> list[pathlib.Path]:
    """One in each hierarchy of version 1 that this machine has."""
    made = []
    for procs in pathlib.Path("/sys/fs/cgroup").glob("*/cgroup.procs"):
        if (procs.parent / "cgroup.controllers").exists():
            continue
        group = procs.parent / name
        try:
            group.mkdir()
            for setting in ("cpuset.cpus", "cpuset.mems"):
                if (group / setting).exists():
                    (group / setting).write_text((procs.parent / setting).read_text())
        except OSError:
            continue
        made.append(group)
    return made


def remove_group(group: pathlib.Path) -> None:
    """Its processes have been killed; the last may still be on their way."""
    end = time.monotonic() + 10
    while time.monotonic() < end:
        try:
            return group.rmdir()
        except FileNotFoundError:
            return None
        except OSError:
            time.sleep(0.05)


def remove_groups(top: pathlib.Path) -> None:
    for group in sorted(top.rglob("*"), key=lambda path: -len(path.parts)):
        if group.is_dir():
            remove_group(group)
    remove_group(top)


@dataclasses.dataclass
class Host:
    name: str
    address: str
    root: pathlib.Path
    process: subprocess.Popen
    init: int  # its first process, as it is called outside
    groups: str = ""  # the name of its control groups of version 1; empty: it has none

    def command(self, *words) -> list[str]:
        enter = ["sh", "-c", ENTER, self.groups] if self.groups else []
        return [*enter, "nsenter", "-t", str(self.init), "-m", "-u", "-n", "-p", "-i", "-r", "-w", "env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root", "LC_ALL=C.UTF-8",
                *map(str, words)]

    def run(self, script: str, code: int | None = 0, seconds: float = 300, user: str | None = None) -> str:
        """What a script prints. Its exit code must be `code`, unless that is None."""
        words = ["bash", "-c", script]
        if user:
            words = ["runuser", "-u", user, "--", *words]
        done = subprocess.run(self.command(*words), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=seconds)
        assert code is None or done.returncode == code, f"{self.name}: exit code {done.returncode}:\n{script}\n{done.stdout}"
        return done.stdout

    def put(self, source: pathlib.Path, target: str) -> None:
        """A program, also in the place of one that runs."""
        with source.open("rb") as program:
            subprocess.run(self.command("sh", "-c", f"cat >{target}.new && chmod 755 {target}.new && mv {target}.new {target}"), stdin=program,
                           check=True)

    def until(self, script: str, seconds: float = 60) -> str:
        end = time.monotonic() + seconds
        while True:
            done = subprocess.run(self.command("bash", "-c", script), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, timeout=seconds)
            if done.returncode == 0:
                return done.stdout
            assert time.monotonic() < end, f"{self.name}: it did not come true: {script}\n{done.stdout}"
            time.sleep(0.1)


class Hosts:
    """head, n1, n2 …: by name, as hosts["n1"]."""

    def __init__(self, directory: pathlib.Path, tree: pathlib.Path, names: list[str], systemd: bool = False):
        if os.geteuid() != 0:
            raise Unavailable("hosts in namespaces need root")
        self.directory = directory
        self.groups = groups_of_systemd(directory.name) if systemd else None
        self.old_groups = [] if systemd else make_old_groups(directory.name)
        self.hosts: dict[str, Host] = {}
        self.plugged: dict[str, tuple] = {}  # what each was started with
        directory.mkdir(parents=True, exist_ok=True)
        keys = directory / "keys"
        keys.mkdir(exist_ok=True)
        if not (keys / "key").exists():
            subprocess.run(["chroot", str(tree), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", "/tmp/key"], check=True)
            shutil.move(tree / "tmp/key", keys / "key")
            shutil.move(tree / "tmp/key.pub", keys / "key.pub")
        (directory / "home").mkdir(exist_ok=True)  # as from a file server
        self.switch = subprocess.Popen(["unshare", "-n", "sh", "-c", "ip link add br0 type bridge && ip link set br0 up && "
                                        "echo up && exec sleep infinity"], stdout=subprocess.PIPE)
        self.switch.stdout.readline()
        table = "".join(f"{NETWORK}.{i + 1} {name}\n" for i, name in enumerate(names))
        try:
            for i, name in enumerate(names):
                self.plugged[name] = (name, f"{NETWORK}.{i + 1}", tree, {"KEYS": str(keys), "HOSTS": table, "SHARED": str(directory / "home"), "SYSTEMD": "yes" if systemd else ""})
                self.start(*self.plugged[name])
        except BaseException:
            self.close()
            raise

    def start(self, name: str, address: str, tree: pathlib.Path, environment: dict[str, str]) -> None:
        place = self.directory / name
        for part in ("upper", "work", "root"):
            (place / part).mkdir(parents=True, exist_ok=True)
        enter = []
        if self.groups:  # one for each host, of which its systemd is the root
            (self.groups / name).mkdir()
            enter = ["sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', str(self.groups / name)]
        elif self.old_groups:
            enter = ["sh", "-c", ENTER, self.directory.name]
        process = subprocess.Popen(
            [*enter, "unshare", "-n", "-m", "-u", "-p", "-i", *(["-C"] if self.groups else []), "--fork", "--kill-child", "bash", "-c", INIT, "init", str(place / "root"), name,
             str(tree), str(place / "upper"), str(place / "work")],
            env=os.environ | environment, stdin=subprocess.DEVNULL, start_new_session=True)
        end = time.monotonic() + 30
        while not (found := children_of(process.pid)):
            assert time.monotonic() < end and process.poll() is None, f"{name} does not start"
            time.sleep(0.01)
        host = Host(name, address, place / "root", process, found[0], self.directory.name if self.old_groups else "")
        self.hosts[name] = host
        wire = f"v{name}"[:12]
        subprocess.run(["nsenter", "-t", str(self.switch.pid), "-n", "sh", "-c",
                        f"ip link add {wire} type veth peer name eth0 netns {host.init} && ip link set {wire} master br0 up"], check=True)
        subprocess.run(["nsenter", "-t", str(host.init), "-n", "sh", "-c",
                        f"ip addr add {address}/24 dev eth0 && ip link set eth0 up"], check=True)
        ready = '[ "$(cat /proc/1/comm)" = systemd ] && systemctl is-active -q dbus ssh' if self.groups else "pgrep -x sshd >/dev/null"
        host.until(f'[ "$(cat /etc/hostname)" = {name} ] && {ready}', 60)

    def __getitem__(self, name: str) -> Host:
        return self.hosts[name]

    def cut_power(self, name: str) -> None:
        """All its processes are gone at once; its disk has what was written."""
        host = self.hosts[name]
        host.process.kill()
        host.process.wait()
        end = time.monotonic() + 30
        while pathlib.Path(f"/proc/{host.init}/task").exists():
            assert time.monotonic() < end, f"{name} does not end"
            time.sleep(0.01)
        if self.groups:
            remove_groups(self.groups / name)
        subprocess.run(["nsenter", "-t", str(self.switch.pid), "-n", "ip", "link", "del", f"v{name}"[:12]], check=False, capture_output=True)

    def power_on(self, name: str) -> None:
        self.start(*self.plugged[name])

    def close(self) -> None:
        for host in self.hosts.values():
            host.process.kill()
            host.process.wait()
        self.switch.kill()
        self.switch.wait()
        for group in [*self.old_groups, *([self.groups] if self.groups else [])]:
            remove_groups(group)


CONFIGURATION = """\
cluster_name = "lab"
kill_wait = 2
min_job_age = 600

[accounting]
enforce = ["associations", "limits"]

[priority]
type = "multifactor"
weight_fair_share = 10000
weight_age = 100

[licenses]
matlab = 4
"""
PEOPLE = """
minke sacctmgr -i add account physics fairshare=3 && minke sacctmgr -i add account maths &&
minke sacctmgr -i add qos long priority=10 &&
minke sacctmgr -i add user alice account=physics && minke sacctmgr -i add user bob account=maths &&
minke sacctmgr -i modify user alice set maxjobs=50
"""


def start_minke(head: Host, program: pathlib.Path) -> None:
    """A cluster of root's with two people; each has an account."""
    head.put(program, "/usr/local/bin/minke")
    head.run("useradd -m -u 2001 alice; useradd -m -u 2002 bob")
    head.run(f"cat >/etc/minke.toml <<'END'\n{CONFIGURATION}END\nminke up --shared")
    head.run(PEOPLE)


if __name__ == "__main__":  # hosts to try things out: hosts.py DIRECTORY TREE NAME…
    import sys
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    tried = Hosts(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3:])
    for one in tried.hosts.values():
        print(one.name, one.init, flush=True)
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    tried.close()
