"""A virtual machine that runs one script after the other for the tests. Emulated: nothing in it is fast.

What it writes to its disk is gone with the machine; a second, read-only disk has the program under test.
"""
import base64
import pathlib
import socket
import subprocess
import time

# For each architecture: the emulator, and its machine. Of the processors that can be emulated, Nehalem takes the least
# time: later ones have wider registers and deeper page tables.
EMULATED = {"amd64": ("qemu-system-x86_64", "-machine", "q35", "-cpu", "Nehalem"),
            "arm64": ("qemu-system-aarch64", "-machine", "virt,gic-version=3", "-cpu", "cortex-a57")}
CONSOLES = {"amd64": "ttyS0", "arm64": "ttyAMA0"}
# Disks of NVMe need no module. The rest leaves out what costs time and shows nothing here.
KERNEL_OPTIONS = ("root=/dev/nvme0n1 rw quiet panic=-1 audit=0 mitigations=off no_timer_check nowatchdog "
                  "init_on_alloc=0 apparmor=0 rcupdate.rcu_expedited=1")


class Guest:
    def __init__(self, image: pathlib.Path, directory: pathlib.Path, programs: dict[str, pathlib.Path], memory: int = 1024,
                 processors: int = 2, kernel_options: str = "", devices: tuple[str, ...] = (), wait: bool = True, architecture: str = "amd64"):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        tree = directory / "tree"
        tree.mkdir()
        for name, program in programs.items():
            (tree / name).write_bytes(program.read_bytes())
            (tree / name).chmod(0o755)
        subprocess.run(["mke2fs", "-q", "-t", "ext4", "-L", "minke", "-d", tree, directory / "minke.ext4", "64M"],
                       check=True, stdout=subprocess.DEVNULL)
        self.console = directory / "console.log"
        self.machine = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL",  # it ends with the tests, however they end
             *EMULATED[architecture], "-nodefaults", "-no-user-config", "-display", "none",
             "-accel", "tcg,thread=multi", "-smp", str(processors), "-m", str(memory),
             "-kernel", str(image / "vmlinuz"),
             "-append", f"console={CONSOLES[architecture]} {KERNEL_OPTIONS} {kernel_options}",
             "-device", "nvme,id=disks,serial=disks",
             "-drive", f"file={image}/disk.ext4,if=none,id=root,format=raw,snapshot=on",
             "-device", "nvme-ns,drive=root,bus=disks,nsid=1",
             "-drive", f"file={directory}/minke.ext4,if=none,id=minke,format=raw,readonly=on",
             "-device", "nvme-ns,drive=minke,bus=disks,nsid=2",
             "-device", "virtio-serial", "-chardev", f"socket,id=agent,path={directory}/agent,server=on,wait=off",
             "-device", "virtserialport,chardev=agent,name=agent", "-device", "virtio-rng-pci",
             *devices, "-serial", f"file:{self.console}",
             "-qmp", f"unix:{directory}/qmp,server=on,wait=off"],
            stdin=subprocess.DEVNULL, stdout=(directory / "qemu.log").open("w"), stderr=subprocess.STDOUT)
        self._agent = self._connect("agent")
        self._unread = b""
        if wait:
            self.wait_ready()

    def _connect(self, name: str) -> socket.socket:
        end = time.monotonic() + 30
        while True:
            if self.machine.poll() is not None:
                raise RuntimeError("qemu ended: " + (self.directory / "qemu.log").read_text())
            connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                connection.connect(str(self.directory / name))
                return connection
            except OSError:
                connection.close()
                if time.monotonic() > end:
                    raise
                time.sleep(0.05)

    def _line(self, seconds: float) -> str:
        end = time.monotonic() + seconds
        while b"\n" not in self._unread:
            left = end - time.monotonic()
            if left <= 0:
                raise TimeoutError(f"no answer in {seconds} s; the console's end: " + self.console.read_text()[-2000:])
            self._agent.settimeout(left)
            try:
                some = self._agent.recv(1 << 16)
            except TimeoutError:
                continue
            if not some:
                raise RuntimeError("the machine is gone: " + self.console.read_text()[-2000:])
            self._unread += some
        line, _, self._unread = self._unread.partition(b"\n")
        return line.decode()

    def wait_ready(self, seconds: float = 600) -> None:
        while self._line(seconds) != "ready":
            pass

    def run(self, script: str, code: int | None = 0, seconds: float = 300) -> str:
        """What a script of bash printed as root. Its exit code must be `code`, unless that is None."""
        self._agent.sendall(base64.b64encode(script.encode()) + b"\n")
        answered, _, output = self._line(seconds).partition(" ")
        text = base64.b64decode(output).decode(errors="replace")
        assert code is None or int(answered) == code, f"exit code {answered}:\n{script}\n{text}"
        return text

    def until(self, script: str, seconds: float = 180) -> str:
        """The output of a script once it ends with 0; tried again and again until then."""
        return self.run(f"end=$((SECONDS + {int(seconds)}))\nwhile [ $SECONDS -lt $end ]; do\n"
                        f"output=$({script}\n) && echo \"$output\" && exit 0\nsleep 0.2\ndone\n"
                        "echo it did not come true; echo \"$output\"; exit 1", seconds=seconds + 300)

    def control(self, *commands: str) -> None:
        """Says them to qemu, as QMP has them: names, or names with their arguments."""
        with self._connect("qmp") as control:
            stream = control.makefile("rw")
            stream.readline()
            for command in ("qmp_capabilities", *commands):
                name, _, arguments = command.partition(" ")
                stream.write(f'{{"execute": "{name}", "arguments": {arguments or "{}"}}}\n')
                stream.flush()
                while '"return"' not in (line := stream.readline()):
                    assert '"error"' not in line, line

    def cut_power(self) -> None:
        """As when the plug is pulled; the machine starts again."""
        self.control("system_reset")
        self._unread = b""
        self.wait_ready()

    def reboot(self) -> None:
        self._agent.sendall(base64.b64encode(b"systemctl reboot --no-block; sleep 600") + b"\n")
        self.wait_ready()

    def close(self) -> None:
        self.machine.kill()
        self.machine.wait()
        self._agent.close()
