"""The units that systemd runs a shared cluster by, and how little its helpers can do: judged by systemd itself, and by the kernel."""
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import urllib.request

import pytest

from cluster import ROOT, plain_environment, poll
from shared import NEEDS_ROOT, Shared, passable_directory

MINKE_ONLY = True
NEEDS_SYSTEMD = pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd-analyze is not installed")


def printed_units(directory: pathlib.Path, configuration: str = "") -> dict[str, pathlib.Path]:
    (directory / "minke.toml").write_text(configuration)
    minke = os.environ.get("MINKE", ROOT / "build/minke")
    text = subprocess.run([minke, "up", "--print-units"], capture_output=True, text=True, check=True,
                          env=plain_environment() | {"MINKE_CONFIG": str(directory / "minke.toml")}).stdout
    parts = re.split(r"^# /etc/systemd/system/(\S+)\n", text, flags=re.M)[1:]
    units = {name: directory / name for name in parts[::2]}
    for name, body in zip(parts[::2], parts[1::2]):
        (directory / name).write_text(body)
    return units


@pytest.fixture
def units(tmp_path):
    return printed_units(tmp_path)


def settings(unit: pathlib.Path) -> dict[str, str]:
    return dict(re.findall(r"^([A-Za-z]+)=(.*)$", unit.read_text(), re.M))


def test_the_units_are_those_that_the_pages_speak_of(units):
    assert set(units) == {"minke.service", "minke-launcher.service", "minke-helpers.service"}
    # Whoever splits the output at its comments, as the page says, gets whole units.
    assert not [line for unit in units.values() for line in unit.read_text().splitlines() if line.startswith("#")]


@NEEDS_SYSTEMD
def test_systemd_understands_every_line(units):
    for unit in units.values():
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", "--recursive-errors=no", unit], capture_output=True, text=True)
        assert "Unknown" not in done.stderr and "Failed to parse" not in done.stderr and "ignoring" not in done.stderr, done.stderr


@NEEDS_SYSTEMD
def test_the_daemons_unit_is_as_good_as_closed(units):
    """2.5 of 10, where 10 is everything."""
    done = subprocess.run(["systemd-analyze", "security", "--offline=true", "--threshold=25", "--no-pager", units["minke.service"]],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


# Users' programs inherit what a unit takes away: these would break setuid programs, debuggers, containers, checkpoints,
# programs of 32 bits, compilers at run time, directories that hand down their group, or hide what the launcher mounts.
HARMFUL_TO_JOBS = ("NoNewPrivileges", "SystemCallFilter", "SystemCallArchitectures", "RestrictNamespaces", "RestrictSUIDSGID",
                   "RestrictAddressFamilies", "MemoryDenyWriteExecute", "LockPersonality", "ProtectSystem", "ProtectHome",
                   "PrivateTmp", "PrivateDevices", "PrivateNetwork", "PrivateMounts", "PrivateUsers", "ProtectProc", "DeviceAllow",
                   "ProtectClock", "DevicePolicy", "ProtectKernelTunables", "IPAddressDeny", "User", "DynamicUser")


@pytest.mark.parametrize("name", ["minke-launcher.service", "minke-helpers.service"])
def test_jobs_inherit_nothing_that_breaks_users_programs(units, name):
    own = settings(units[name])
    assert not set(HARMFUL_TO_JOBS) & set(own)
    kept = {"CAP_SYS_ADMIN", "CAP_SETUID", "CAP_SETGID", "CAP_SYS_MODULE", "CAP_MKNOD", "CAP_SYS_CHROOT", "CAP_NET_RAW", "CAP_SYS_PTRACE",
            "CAP_AUDIT_WRITE", "CAP_BPF", "CAP_SETFCAP", "CAP_CHECKPOINT_RESTORE"}
    assert own["CapabilityBoundingSet"].startswith("~") and not kept & set(own["CapabilityBoundingSet"][1:].split())
    assert {"CAP_SYS_BOOT", "CAP_SYS_TIME", "CAP_MAC_ADMIN"} <= set(own["CapabilityBoundingSet"][1:].split())


def test_a_process_that_is_killed_for_want_of_memory_does_not_stop_a_unit(units):
    """By default systemd stops the whole unit, daemon or launcher, when the kernel kills one process in it."""
    assert {settings(unit)["OOMPolicy"] for unit in units.values()} == {"continue"}


@pytest.mark.parametrize("tmp_root, home, private_tmp", [("/scratch/jobs", "yes", "yes"), ("/home/jobs", "read-only", "yes"),
                                                         ("/var/tmp/jobs", "yes", "no")])
def test_the_daemon_may_write_where_jobs_have_their_directories(tmp_path, tmp_root, home, private_tmp):
    own = settings(printed_units(tmp_path, f'tmp_root = "{tmp_root}"\n')["minke.service"])
    assert own["ReadWritePaths"].split() == ["/var/lib/minke", tmp_root]
    assert (own["ProtectHome"], own["PrivateTmp"]) == (home, private_tmp)


# ---- what a helper is, as the kernel tells it

def status_of(pid: int) -> dict[str, str]:
    return dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)


def processes_of(cluster, word: str) -> list[int]:
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and words[1:2] == [word.encode()] and str(cluster.home).encode() in words:
            found.append(int(entry.name))
    return found


@pytest.fixture
def measured():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = Shared(extra=f'metrics = "127.0.0.1:{port}"\n')
    one.port = port
    yield one
    one.close()


@NEEDS_ROOT
def test_the_server_of_metrics_has_no_rights_and_no_way_to_get_any(measured):
    def served() -> bool:
        try:
            return b"slurm_" in urllib.request.urlopen(f"http://127.0.0.1:{measured.port}/metrics", timeout=30).read()
        except OSError:
            return False
    poll(served, 30, "/metrics")
    [pid] = processes_of(measured, "metrics-server")
    status = status_of(pid)
    assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split() and status["Groups"].strip() == ""
    assert {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
    assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")


# ---- the process that starts helpers under systemd

@pytest.fixture
def starter():
    minke = os.environ.get("MINKE", ROOT / "build/minke")
    place = passable_directory()  # nobody else passes through pytest's own
    (place / "home").mkdir(mode=0o755)
    ready = place / "notified"
    notified = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    notified.bind(str(ready))
    process = subprocess.Popen([minke, "helper-starter", "--home", place / "home"], env=plain_environment() | {"NOTIFY_SOCKET": str(ready)})
    notified.settimeout(120)
    assert notified.recv(100) == b"READY=1"
    notified.close()
    yield place / "home" / "helpers.sock"
    process.kill()
    process.wait()
    shutil.rmtree(place)


ASK = """
import array, os, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(120); s.connect(sys.argv[1])
reader, writer = os.pipe()
s.sendmsg([b"2\\0/dev/null\\0/usr/bin/id\\0-u\\0PATH=/bin\\0"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [writer]))])
os.close(writer)
answer = s.recv(1000); print(answer.decode(), os.read(reader, 100).decode().strip(), sep="|")
"""


@NEEDS_ROOT
def test_the_starter_of_helpers_starts_them_for_root_and_nobody_else(starter):
    asked = subprocess.run(["python3", "-c", ASK, starter], capture_output=True, text=True)
    assert asked.stdout == ".|0\n", asked.stderr
    assert starter.stat().st_mode & 0o777 == 0o600
    starter.chmod(0o666)  # even then
    refused = subprocess.run(["python3", "-c", ASK, starter], capture_output=True, text=True, user=65534, group=65534, extra_groups=[])
    # It hangs up without having read the request: the answer may be lost with it.
    assert "it starts nothing for others" in refused.stdout or refused.returncode != 0, refused.stdout
    assert "|0" not in refused.stdout and "|65534" not in refused.stdout


@NEEDS_ROOT
@pytest.mark.parametrize("text", [b"", b"\0", b"0\0\0", b"99\0log\0a\0", b"-1\0log\0a\0", b"1\0log\0a", b"1\0/dev/null\0/bin/true\0"],
                         ids=["empty", "a NUL", "no arguments", "too many", "negative", "not ended", "no output"])
def test_the_starter_outlives_what_is_no_request(starter, text):
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as one:
        one.settimeout(120)
        one.connect(str(starter))
        one.send(text)
        assert one.recv(1000) == b".that is no request"
    assert subprocess.run(["python3", "-c", ASK, starter], capture_output=True, text=True).stdout == ".|0\n"
