"""Several virtual machines with Debian 13 and systemd on one wire: a head and nodes, reached by name and by ssh from the head,
whose home directories the head serves by NFS. The packages that minke grow asks for are there, switched off.

Emulated, each is slow, and they share this machine's processors: nothing here takes less than a second.
"""
import pathlib
import random

import image
from guest import Guest

NETWORK = "10.213.8"
NAMES = ("head", "n1", "n2")
MEMORY = {"head": 2048}  # MiB
NODES_MEMORY = 1400  # MPI needs it
PATIENCE = 5  # how much longer than elsewhere something may take
SERVICES = "slurmctld slurmd slurmdbd slurmrestd munge mariadb nfs-server nfs-client.target tinyproxy"

# Its name is from the kernel's command line. The address that /etc/hosts has for it is its own at each boot.
WIRE = """[Unit]
Description=The wire to the other machines
Wants=network-pre.target sys-subsystem-net-devices-eth0.device
After=network-pre.target sys-subsystem-net-devices-eth0.device
Before=network.target network-online.target
[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/sh -c 'ip addr add "$(sed -n "s/ $(hostname)$//p" /etc/hosts)/24" dev eth0 && ip link set eth0 up'
[Install]
WantedBy=multi-user.target network-online.target
"""
HOMES = f"/home {NETWORK}.0/24(rw,no_root_squash,async,no_subtree_check)\n"
SCRIPT = f"""touch /etc/.updated /var/.updated  # nothing to bring up to date at the first boot
systemctl disable {SERVICES} 2>/dev/null || :
systemctl enable wire ssh
mkdir -p /root/.ssh
ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
cp /root/.ssh/id_ed25519.pub /root/.ssh/authorized_keys
chmod -R go= /root/.ssh
"""
RECIPE = image.Recipe(
    "many", "trixie",
    ("slurmctld", "slurmd", "slurm-client", "slurmdbd", "slurmrestd", "munge", "slurm-wlm-basic-plugins", "slurm-wlm-mysql-plugin",
     "slurm-wlm-jwt-plugin", "mariadb-server", "nfs-kernel-server", "nfs-common", "openmpi-bin", "python3-mpi4py", "nftables"),
    "4G", masked=("wtmpdb-update-boot.service", "rpc-statd-notify.service", "nfs-blkmap.service", "logrotate.timer", "man-db.timer"),
    files=(("etc/hosts", "127.0.0.1 localhost\n" + "".join(f"{NETWORK}.{i + 1} {name}\n" for i, name in enumerate(NAMES))),
           ("etc/systemd/system/wire.service", WIRE), ("etc/exports", HOMES),
           ("root/.ssh/config", "Host *\n  StrictHostKeyChecking accept-new\n")),
    script=SCRIPT)


class Member(Guest):
    """One of them."""

    def run(self, script: str, code: int | None = 0, seconds: float = 2400, user: str | None = None) -> str:
        if user:
            script = f"cat >/run/theirs <<'END OF THEIRS'\n{script}\nEND OF THEIRS\nrunuser -u {user} -- bash /run/theirs"
        return super().run(script, code, seconds)

    def until(self, script: str, seconds: float = 120) -> str:
        return super().until(script, seconds * PATIENCE)

    def put(self, source: pathlib.Path, target: str) -> None:
        """As hosts.Host has it; here the programs are on the other disk."""
        self.run(f"cp /opt/minke/{source.name} {target}")

    def unplug(self) -> None:
        self.control('set_link {"name": "wire", "up": false}')

    def plug_in(self) -> None:
        self.control('set_link {"name": "wire", "up": true}')


class Guests:
    """By name, as guests["n1"]. Nothing of them is left when close() has returned."""

    def __init__(self, made: pathlib.Path, directory: pathlib.Path, minke: pathlib.Path):
        # A group and a port of this machine alone; another run beside has another.
        wire = f"socket,id=wire,mcast=230.{random.randrange(1, 255)}.{random.randrange(1, 255)}.1:{random.randrange(20000, 30000)},localaddr=127.0.0.1"
        self.hosts: dict[str, Member] = {}
        try:
            for i, name in enumerate(NAMES):
                self.hosts[name] = Member(
                    made, directory / name, {minke.name: minke}, memory=MEMORY.get(name, NODES_MEMORY), processors=2,
                    kernel_options=f"systemd.hostname={name} net.ifnames=0 selinux=0", wait=False,
                    devices=("-netdev", wire, "-device", f"virtio-net-pci,netdev=wire,mac=52:54:00:00:08:{i + 1:02x}"))
            for member in self.hosts.values():
                member.wait_ready()
            self.head.run("systemctl enable -q --now nfs-server")
            for node in self.nodes:
                node.run("echo 'head:/home /home nfs vers=4.2,_netdev 0 0' >>/etc/fstab; systemctl daemon-reload")
                node.until("mount /home || mountpoint -q /home")
        except BaseException:
            self.close()
            raise

    def __getitem__(self, name: str) -> Member:
        return self.hosts[name]

    @property
    def head(self) -> Member:
        return self.hosts["head"]

    @property
    def nodes(self) -> list[Member]:
        return [self.hosts[name] for name in NAMES[1:]]

    def close(self) -> None:
        for member in self.hosts.values():
            member.close()
