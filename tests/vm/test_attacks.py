"""Attacks on what only a machine under systemd has: control groups of version 2, device filters, units, logins by PAM."""
import pytest

from guest_cluster import as_user, fields, quote, submit, wait_state

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800), pytest.mark.xdist_group("first")]

UNIT = "/sys/fs/cgroup/system.slice/minke-launcher.service"


def job_says(machine, script: str, *options: str) -> str:
    """What a job of alice's printed."""
    submit(machine, "alice", script, "--wait", "-o", "said", *options)
    return machine.run("cat /home/alice/said")


# ---- the units' restrictions are in force

def status_of(machine, unit: str) -> dict[str, str]:
    text = machine.run(f"cat /proc/$(systemctl show -p MainPID --value {unit})/status")
    return {name: value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}


def test_the_daemon_has_what_its_unit_leaves_it(machine):
    status = status_of(machine, "minke")
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    kept = sum(1 << number for number in (0, 1, 3, 5, 6, 7, 19))  # CHOWN DAC_OVERRIDE FOWNER KILL SETGID SETUID SYS_PTRACE
    assert int(status["CapEff"], 16) == kept and int(status["CapBnd"], 16) == kept


# As the daemon would, if somebody had it do so.
IN_THE_DAEMONS_PLACE = {
    "write to the system": "touch /usr/planted", "write to /etc": "touch /etc/planted", "write to root's home": "touch /root/planted",
    "look into homes": "ls /home/alice", "a network": "ip link | grep -v 'lo:\\|link/loopback' | grep .", "a mount": "mount -t tmpfs none /mnt",
    "a device": "mknod /run/minke/disk b 8 0", "settings of the kernel": "echo 1 >/proc/sys/kernel/sysrq", "control groups": f"echo 0 >{UNIT}/cgroup.freeze",
    "the machine's /tmp": "ls /tmp/seen",
}


@pytest.mark.parametrize("what", IN_THE_DAEMONS_PLACE)
def test_the_daemons_view_is_closed(machine, what):
    """From within its namespaces, with its capabilities."""
    machine.run("touch /tmp/seen")
    inside = ("setpriv --bounding-set=-all,+chown,+dac_override,+fowner,+kill,+setgid,+setuid,+sys_ptrace --inh-caps=-all --no-new-privs "
              f"bash -c {quote(IN_THE_DAEMONS_PLACE[what] + ' 2>/dev/null && echo in')}")
    said = machine.run(f"nsenter -m -n -u -i -t $(systemctl show -p MainPID --value minke) {inside}; true")
    assert "in\n" not in said, said


def test_helpers_are_in_a_unit_of_their_own(machine):
    """What the daemon has started is not among its own processes, and not bound by its unit."""
    machine.run("id minke-helper")
    assert "helper-starter" in machine.run("tr '\\0' ' ' <$(systemctl show -p MainPID --value minke-helpers | sed 's|.*|/proc/&/cmdline|')")
    own = machine.run("cat /sys/fs/cgroup/system.slice/minke.service/cgroup.procs | while read pid; do tr '\\0' ' ' </proc/$pid/cmdline; echo; done")
    assert "stage-server" not in own and "storage-keep" not in own
    machine.until("cat /sys/fs/cgroup/system.slice/minke-helpers.service/cgroup.procs | while read pid; do tr '\\0' ' ' </proc/$pid/cmdline; echo; done "
                  "| grep stage-server")


def test_a_users_program_is_not_bound_by_the_units(machine):
    said = job_says(machine, "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status; readlink /proc/self/ns/mnt; touch /tmp/mine && echo wrote")
    assert said.split()[:4] == ["NoNewPrivs:", "0", "Seccomp:", "0"] and said.endswith("wrote\n"), said


def test_a_program_killed_for_want_of_memory_stops_no_unit(machine):
    before = machine.run("systemctl show -p MainPID --value minke minke-launcher minke-helpers")
    job = submit(machine, "alice", "./hog 200 0", "--mem=50M", "-o", "/dev/null")
    wait_state(machine, job, "OUT_OF_MEMORY")
    assert machine.run("systemctl is-active minke minke-launcher minke-helpers").split() == ["active"] * 3
    assert machine.run("systemctl show -p MainPID --value minke minke-launcher minke-helpers") == before


# ---- out of the job's control group

LEAVING = {
    "systemd-run": "systemd-run --user --scope true && echo out", "systemd-run of the system": "systemd-run --scope true && echo out",
    "a service of the system": "systemd-run --wait true && echo out", "machinectl": "machinectl shell .host /bin/true && echo out",
    "busctl": "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager StartTransientUnit 'ssa(sv)a(sa(sv))' "
              "x.scope fail 1 PIDs au 1 $$ 0 && echo out",
    "attach to a unit": "busctl call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager AttachProcessesToUnit ssau "
                        "minke.service '' 1 $$ && echo out",
    "stop the launcher": "systemctl stop minke-launcher && echo out", "kill the unit": "systemctl kill minke && echo out",
    "limits of the unit": "systemctl set-property minke-launcher.service MemoryMax=1M && echo out",
    "another hierarchy": "unshare --user --map-root-user --mount mount -t cgroup2 none /mnt && echo out",
    "a new namespace of groups": "unshare --user --map-root-user --cgroup --mount sh -c 'mount -t cgroup2 none /mnt && echo $$ >/mnt/../cgroup.procs' && echo out",
    "at": "echo true | at now && echo out", "cron": "echo '* * * * * true' | crontab - && echo out", "lingering": "loginctl enable-linger && echo out",
}


@pytest.mark.parametrize("way", LEAVING)
def test_no_way_leads_out_of_a_jobs_group(machine, way):
    said = job_says(machine, f"({LEAVING[way]}) 2>/dev/null; cut -d: -f3 /proc/self/cgroup")
    assert "out" not in said.split() and "/minke-launcher.service/" in said.splitlines()[-1], said
    assert machine.run("systemctl is-active minke minke-launcher").split() == ["active", "active"]


# Writing to the groups' own files, also where a descriptor is kept or the path is another.
GROUP_FILES = ["cgroup.procs", "cgroup.threads", "cgroup.kill", "cgroup.freeze", "cgroup.subtree_control", "cgroup.type", "cgroup.max.descendants",
               "memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "memory.reclaim", "pids.max", "cpuset.cpus", "cpu.weight", "io.max"]


def test_no_file_of_a_jobs_groups_is_its_to_write(machine):
    words = " ".join(GROUP_FILES)
    said = job_says(machine, f"group=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); for up in '' /.. /../.. /../../..; do for name in {words}; do "
                             "for value in $$ 0 1 max +pids threaded; do { echo $value >$group$up/$name; } 2>/dev/null && echo wrote $up/$name; done; done; "
                             "mkdir $group$up/x 2>/dev/null && echo made $up; done; echo tried")
    assert said == "tried\n", said


def test_a_threaded_group_does_not_hide_memory(machine):
    """What a user namespace makes of the group is still within it."""
    job = submit(machine, "alice", "unshare --user --map-root-user --pid --fork --mount ./hog 150 0; ./hog 150 0", "--mem=60M", "-o", "/dev/null")
    wait_state(machine, job, "OUT_OF_MEMORY")


# ---- devices

DEVICES = {"a node of his own": "mknod gpu c 1 8; (exec <gpu)", "in a namespace": "unshare --user --map-root-user sh -c 'mknod gpu c 1 8 && exec <gpu'",
           "through /proc": "(exec </proc/1/root/srv/gpus/nvidia1)", "a bind mount": "unshare --user --map-root-user --mount sh -c "
           "'mount --bind /srv/gpus /mnt && exec </mnt/nvidia1'", "a link": "ln -sf /srv/gpus/nvidia1 gpu; (exec <gpu)",
           "by name of the path": "python3 -c 'import os; os.open(\"/srv/gpus/nvidia1\", os.O_PATH); os.open(\"/proc/self/fd/3\", os.O_RDONLY)'",
           "for writing": "(exec >/srv/gpus/nvidia1)", "a step": "srun sh -c 'exec </srv/gpus/nvidia1'", "an overlapping step": "srun --overlap sh -c 'exec </srv/gpus/nvidia1'",
           "a program of its own session": "setsid -w sh -c 'exec </srv/gpus/nvidia1'",
           "bpf": "python3 -c 'import ctypes, sys; sys.exit(ctypes.CDLL(None).syscall(321, 5, 0, 0) != 0)'"}


@pytest.mark.parametrize("way", DEVICES)
def test_no_way_opens_the_gpu_of_another_job(machine, way):
    """nvidia0 is the job's, nvidia1 is not."""
    said = job_says(machine, f"(exec </srv/gpus/nvidia0) && echo own; {{ {DEVICES[way]}; }} 2>/dev/null && echo opened; rm -f gpu; true", "--gpus=1")
    assert said == "own\n", said


# ---- logins

def test_only_root_puts_processes_into_jobs(machine):
    job = submit(machine, "alice", "sleep 500")
    wait_state(machine, job, "RUNNING")
    for script in ("minke adopt --user alice --pid $$", "PAM_USER=alice minke adopt", "PAM_USER=alice PAM_TYPE=open_session minke adopt --pid 1"):
        machine.run(as_user("bob", f"{script} || true; grep -q minke-launcher /proc/self/cgroup && touch inside; true"))
    assert machine.run("ls /home/bob/inside", None).startswith("ls: cannot access")
    # Nor for themselves: into the launcher's groups only PAM's root puts somebody.
    machine.run(as_user("alice", "minke adopt --user alice --pid $$ || true; grep -q minke-launcher /proc/self/cgroup && touch inside; true"))
    assert machine.run("ls /home/alice/inside", None).startswith("ls: cannot access")
    machine.run(as_user("alice", f"scancel {job}"))
    wait_state(machine, job, "CANCELLED")


@pytest.mark.parametrize("name", ["root", "bob", "nobody-of-that-name", "", "alice\\nroot", "../alice", "0", "-1"])
def test_a_login_of_another_name_gets_into_no_job_of_alices(machine, name):
    """As pam_exec calls it, with the name that somebody typed."""
    job = submit(machine, "alice", "sleep 500")
    wait_state(machine, job, "RUNNING")
    said = machine.run(f"PAM_USER=$'{name}' PAM_TYPE=account bash -c 'minke adopt --pid $$; grep -c /job_{job} /proc/self/cgroup' 2>&1", None)
    assert said.split()[-1] == "0", said
    machine.run(as_user("alice", f"scancel {job}"))
    wait_state(machine, job, "CANCELLED")
    assert fields(machine, job)["JobState"] == "CANCELLED"
