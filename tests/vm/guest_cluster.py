"""The cluster that systemd starts in the virtual machine, and how its users' commands are run there.

Every process costs an emulated machine a tenth of a second and more: users get no login that logs in, and what is
waited for is asked as root.
"""
CONFIGURATION = """
max_pids = 60
kill_wait = 2
[gpus]
library = "/srv/gpus/libnvidia-ml.so.1"
device_directory = "/srv/gpus"
[[node]]
name = "machine"
cpus = 2
memory = 400
[[partition]]
name = "main"
default_mem_per_cpu = 100
"""

# Devices that do nothing when they are opened stand for two GPUs.
SETUP = f"""set -e
ln -sf /opt/minke/minke /usr/local/bin/minke
mkdir /srv/gpus
cp /opt/minke/libnvidia-ml.so.1 /srv/gpus
printf '0 0 GPU-aaa 81559 NVIDIA H100\\n1 1 GPU-bbb 81559 NVIDIA H100\\n' >/srv/gpus/libnvidia-ml.so.1.gpus
mknod -m 666 /srv/gpus/nvidia0 c 1 7
mknod -m 666 /srv/gpus/nvidia1 c 1 8
for user in alice bob; do useradd --create-home --shell /bin/bash $user; done
cat >/etc/minke.toml <<'END'
{CONFIGURATION}
END
cd /etc/systemd/system
minke up --print-units >/run/units
awk '/^# / {{ file = $2; next }} file {{ print > file }}' /run/units
systemctl daemon-reload
systemctl enable --quiet --now minke
minke env >/srv/commands
"""

HOG = """#!/usr/bin/env python3
import sys, time
mine = bytearray(int(sys.argv[1]) << 20)
for at in range(0, len(mine), 4096):
    mine[at] = 1
print("had", sys.argv[1], flush=True)
time.sleep(float(sys.argv[2]))
"""

ESCAPE = """#!/usr/bin/env python3
import os, sys, time
if os.fork():
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
os.closerange(0, 64)
os.environ.clear()
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
os.execve("/bin/sleep", ["sleep", "1000"], {})
"""


OPEN = "for i in 0 1; do (exec </srv/gpus/nvidia$i) 2>/dev/null && echo opened || echo refused; done"


def quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# What a login does, without one.
LOGIN = f"systemd-run --quiet --wait --pipe --slice=user.slice --uid=bob bash -c {quote(OPEN)}"


def as_user(user: str, script: str) -> str:
    """In the user's home directory, with Minke's commands."""
    return f"runuser {user} -c {quote('set -e; cd; . /srv/commands; ' + script)}"


def set_up(guest) -> None:
    guest.run(SETUP, seconds=600)
    for user in ("alice", "bob"):
        for name, text in (("hog", HOG), ("escape", ESCAPE)):
            guest.run(f"cat >/home/{user}/{name} <<'END'\n{text}END\nchmod 755 /home/{user}/{name}")
    guest.until("test -S /run/minke/minked.sock")


def submit(machine, user: str, script: str, *options: str) -> str:
    return machine.run(as_user(user, f"sbatch --parsable {' '.join(options)} --wrap {quote(script)}")).strip()


def wait_state(machine, job: str, state: str, seconds: float = 180) -> None:
    try:
        machine.until(f"minke scontrol show job {job} | grep -q JobState={state}", seconds)
    except AssertionError as error:
        told = machine.run(f"minke scontrol show job {job}; tail -n 20 /var/lib/minke/*.log", None)
        raise AssertionError(f"job {job} is not {state}:\n{told}") from error


def fields(machine, job: str) -> dict[str, str]:
    text = machine.run(f"minke scontrol -o show job {job}")
    return dict(word.split("=", 1) for word in text.split() if "=" in word)
