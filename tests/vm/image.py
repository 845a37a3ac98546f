"""The disk of the virtual machine: a Debian with systemd, made once from the packages that apt is set up for.

Kept in a directory of the build, under a name that follows from what it is made of, so that it is made again when
that changes. Needs root, as mmdebstrap does where it may not map users; no network but apt's, no service, and it
leaves nothing else behind.
"""
import hashlib
import os
import pathlib
import shutil
import subprocess

PACKAGES = ["systemd", "systemd-sysv", "dbus", "udev", "kmod", "procps", "linux-image-cloud-amd64", "initramfs-tools",
            "python3-minimal", "libpam-modules", "libpam-systemd", "util-linux", "iproute2", "openssh-server",
            "openssh-client", "xfsprogs", "criu", "python3-numpy"]

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
AGENT_UNIT = """[Unit]
Description=Runs the tests' scripts
After=multi-user.target
[Service]
ExecStart=/usr/local/sbin/agent
KillMode=process
[Install]
WantedBy=multi-user.target
"""

# What starts by itself and is of no use here; each costs an emulated machine seconds.
MASKED = ["apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
          "e2scrub_reap.service", "systemd-timesyncd.service", "getty@tty1.service", "serial-getty@ttyS0.service",
          "systemd-update-utmp.service", "ssh.service"]


class Unavailable(Exception):
    """Why there can be no image here."""


def needed_programs() -> list[str]:
    return [name for name in ("mmdebstrap", "mke2fs", "qemu-system-x86_64") if not shutil.which(name)]


def make(directory: pathlib.Path) -> pathlib.Path:
    """The directory of the image: disk.ext4, vmlinuz, initrd.img. Raises Unavailable with the reason."""
    if missing := needed_programs():
        raise Unavailable(f"{', '.join(missing)} not installed")
    if os.geteuid() != 0:
        raise Unavailable("making the image needs root")
    recipe = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:12]
    image = directory / f"image-{recipe}"
    if image.is_dir():
        return image
    for old in directory.glob("image-*"):
        shutil.rmtree(old)
    made = directory / f"making-{os.getpid()}"
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    try:
        root = made / "root"
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", "--mode=root",
                               f"--include={','.join(PACKAGES)}", "bookworm", str(root)],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable("mmdebstrap: " + done.stderr.strip()[-400:])
        configure(root)
        for name, pattern in (("vmlinuz", "vmlinuz-*"), ("initrd.img", "initrd.img-*")):
            found = sorted((root / "boot").glob(pattern))
            if not found:
                raise Unavailable(f"there is no {pattern} among Debian's packages")
            shutil.copy(found[-1], made / name)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "root", "-d", str(root), str(made / "disk.ext4"), "2G"],
                       check=True)
        shutil.rmtree(root)
        made.rename(image)
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return image


def configure(root: pathlib.Path) -> None:
    agent = root / "usr/local/sbin/agent"
    agent.write_text(AGENT)
    agent.chmod(0o755)
    units = root / "etc/systemd/system"
    (units / "agent.service").write_text(AGENT_UNIT)
    wants = units / "multi-user.target.wants"
    wants.mkdir(exist_ok=True)
    (wants / "agent.service").symlink_to("../agent.service")
    for name in MASKED:
        (units / name).unlink(missing_ok=True)
        (units / name).symlink_to("/dev/null")
    (root / "etc/fstab").write_text("LABEL=root / ext4 rw,noatime 0 1\n"
                                    "LABEL=minke /opt/minke ext4 ro 0 0\n")
    (root / "opt/minke").mkdir(exist_ok=True)
    (root / "etc/hostname").write_text("machine\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost machine\n")
    # The identity is new at each boot of a copy; what was made on the way is of no use.
    (root / "etc/machine-id").write_text("")
    for cache in ("var/cache/apt", "var/lib/apt/lists", "usr/share/doc", "usr/share/man", "usr/share/locale"):
        shutil.rmtree(root / cache, ignore_errors=True)
