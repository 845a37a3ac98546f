"""The disk of a virtual machine: a Debian with systemd, made once from the packages that apt is set up for.

Kept in a directory of the build, under a name that follows from what it is made of, so that it is made again when
that changes. Needs root, as mmdebstrap does where it may not map users; no network but apt's, no service, and it
leaves nothing else behind.
"""
import contextlib
import dataclasses
import fcntl
import hashlib
import os
import pathlib
import shutil
import subprocess

import debian_tree

# The kernel has what it needs to mount its root file system: no first root in memory. Its package wants something that
# makes one; tiny-initramfs is done at once.
BASE = ("systemd", "systemd-sysv", "dbus", "udev", "kmod", "procps", "tiny-initramfs",
        "python3-minimal", "libpam-modules", "libpam-systemd", "util-linux", "iproute2", "openssh-server", "openssh-client")

# Runs what the tests send, one script after the other, as root. Its pipe is a virtio port.
AGENT = r"""#!/bin/bash
exec 3<>/dev/virtio-ports/agent
echo ready >&3
while IFS= read -r -u 3 line; do
  printf %s "$line" | base64 -d >/run/agent.script
  bash /run/agent.script >/run/agent.output 2>&1 </dev/null 3>&-
  code=$?
  printf '%s %s\n' "$code" "$(base64 -w0 /run/agent.output)" >&3
done
"""

# Its processes are the tests'; they outlive it, and each script that wants a session of its own makes one.
AGENT_UNIT = r"""[Unit]
Description=Runs the tests' scripts
Requires=dev-virtio\x2dports-agent.device
After=multi-user.target dev-virtio\x2dports-agent.device
[Service]
ExecStart=/usr/local/sbin/agent
KillMode=process
[Install]
WantedBy=multi-user.target
"""

# What starts by itself and is of no use here; each costs an emulated machine seconds. The users' own systemd would be
# started at each of their logins.
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
          "e2scrub_reap.service", "systemd-timesyncd.service", "getty@tty1.service", "serial-getty@ttyS0.service",
          "systemd-update-utmp.service", "user@.service", "modprobe@drm.service",
          "modprobe@dm_mod.service", "modprobe@configfs.service", "modprobe@efi_pstore.service",
          "modprobe@fuse.service", "systemd-binfmt.service", "systemd-sysusers.service", "kmod-static-nodes.service",
          "systemd-journal-flush.service", "dev-hugepages.mount", "sys-kernel-debug.mount",
          "sys-kernel-tracing.mount", "sys-kernel-config.mount")


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What is on the disk, beside BASE."""
    name: str
    suite: str
    packages: tuple[str, ...]
    disk: str  # its size
    architecture: str = "amd64"  # as Debian names it
    masked: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()  # paths, and their text
    script: str = ""  # of a shell, in the file system


ONE_MACHINE = Recipe("image", "bookworm", ("xfsprogs", "criu", "python3-numpy", "squashfs-tools", "squashfuse", "fuse3"), "2G",
                     masked=("ssh.service",))


class Unavailable(Exception):
    """Why there can be no image here."""


EMULATORS = {"amd64": "qemu-system-x86_64", "arm64": "qemu-system-aarch64"}


def needed_programs(recipe: Recipe) -> list[str]:
    needed = ["mmdebstrap", "mke2fs", EMULATORS[recipe.architecture]] + ["arch-test"] * (recipe.architecture != "amd64")
    return [name for name in needed if not shutil.which(name)]


def make(directory: pathlib.Path, recipe: Recipe = ONE_MACHINE) -> pathlib.Path:
    """The directory of the image: disk.ext4, vmlinuz. Raises Unavailable with the reason. One makes it, others wait."""
    if missing := needed_programs(recipe):
        raise Unavailable(f"{', '.join(missing)} not installed")
    if os.geteuid() != 0:
        raise Unavailable("making the image needs root")
    sum_of = hashlib.sha256(pathlib.Path(__file__).read_bytes() + repr(recipe).encode()).hexdigest()[:12]
    image = directory / f"{recipe.name}-{sum_of}"
    directory.mkdir(parents=True, exist_ok=True)
    with (directory / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not image.is_dir():
            try:
                with debian_tree.programs_of_arm64() if recipe.architecture == "arm64" else contextlib.nullcontext():
                    make_anew(directory, image, recipe)
            except debian_tree.Unavailable as reason:
                raise Unavailable(str(reason)) from None
    return image


def make_anew(directory: pathlib.Path, image: pathlib.Path, recipe: Recipe) -> None:
    for old in directory.glob(f"{recipe.name}-*"):
        shutil.rmtree(old)
    made = directory / f"making-{os.getpid()}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir()
    try:
        root = made / "root"
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root",
                               *(f"--aptopt={one.replace('=', ' ')}" for one in debian_tree.UNDATED),
                               f"--architectures={recipe.architecture}",
                               f"--include={','.join(BASE + recipe.packages + (f'linux-image-cloud-{recipe.architecture}',))}", "--dpkgopt=force-unsafe-io",
                               *(f"--dpkgopt=path-exclude=/usr/share/{name}/*" for name in ("doc", "man", "locale")),
                               recipe.suite, str(root)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable("mmdebstrap: " + done.stderr.strip()[-400:])
        configure(root, recipe)
        kernels = sorted((root / "boot").glob("vmlinuz-*"))
        if not kernels:
            raise Unavailable("there is no kernel among Debian's packages")
        shutil.copy(kernels[-1], made / "vmlinuz")
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(made / "disk.ext4"), recipe.disk],
                       check=True)
        shutil.rmtree(root)
        made.rename(image)
    finally:
        shutil.rmtree(made, ignore_errors=True)


def configure(root: pathlib.Path, recipe: Recipe) -> None:
    debian_tree.mend_database_library(root)
    agent = root / "usr/local/sbin/agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    units = root / "etc/systemd/system"
    (units / "agent.service").write_text(AGENT_UNIT)
    wants = units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "agent.service").symlink_to("../agent.service")
    for name in MASKED + recipe.masked:
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    (root / "etc/fstab").write_text("LABEL=root / ext4 rw,noatime 0 1\n"
                                    "LABEL=minke /opt/minke ext4 ro 0 0\n")
    (root / "opt/minke").mkdir(exist_ok=True)
    manager = root / "etc/systemd/system.conf.d"
    manager.mkdir(exist_ok=True)
    (manager / "patient.conf").write_text("[Manager]\nDefaultTimeoutStartSec=10min\nDefaultTimeoutStopSec=5min\n"
                                          "DefaultDeviceTimeoutSec=10min\n")
    (root / "etc/hostname").write_text("machine\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost machine\n")
    (root / "etc/machine-id").write_text("0123456789abcdef0123456789abcdef\n")  # without one, each boot is the first
    for path, text in recipe.files:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    if recipe.script:
        subprocess.run(["chroot", str(root), "sh", "-ec", recipe.script], stdin=subprocess.DEVNULL, check=True)
    for cache in ("var/cache/apt", "var/lib/apt/lists"):
        shutil.rmtree(root / cache, ignore_errors=True)
