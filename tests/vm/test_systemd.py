"""A shared cluster as systemd starts it, with control groups of version 2, and after the plug was pulled."""
import pytest

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800)]

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

COMMANDS = 'eval "$(minke env)"; '


def as_user(user: str, script: str) -> str:
    """As a login of the user's that has Minke's commands."""
    return f"runuser -l {user} -c {quote('set -e; ' + COMMANDS + script)}"


def quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


@pytest.fixture(scope="module")
def machine(guest):
    guest.run(SETUP, seconds=300)
    for user in ("alice", "bob"):
        for name, text in (("hog", HOG), ("escape", ESCAPE)):
            guest.run(f"cat >/home/{user}/{name} <<'END'\n{text}END\nchmod 755 /home/{user}/{name}")
    guest.until("test -S /run/minke/minked.sock")
    return guest


@pytest.fixture(autouse=True)
def nothing_runs_afterwards(machine):
    yield
    machine.run('eval "$(minke env)"; scancel -u alice; scancel -u bob; true', None)


def submit(machine, user: str, script: str, *options: str) -> str:
    return machine.run(as_user(user, f"sbatch --parsable {' '.join(options)} --wrap {quote(script)}")).strip()


def wait_state(machine, job: str, state: str, seconds: float = 180) -> None:
    try:
        machine.until(as_user("alice", f"scontrol show job {job} | grep -q JobState={state}"), seconds)
    except AssertionError as error:
        told = machine.run(f"minke scontrol show job {job}; tail -n 20 /var/lib/minke/*.log", None)
        raise AssertionError(f"job {job} is not {state}:\n{told}") from error


def fields(machine, job: str) -> dict[str, str]:
    text = machine.run(as_user("alice", f"scontrol -o show job {job}"))
    return dict(word.split("=", 1) for word in text.split() if "=" in word)


def test_systemd_has_both_units_running(machine):
    assert machine.run("systemctl is-active minke minke-launcher").split() == ["active", "active"]
    told = machine.run("minke doctor", None)
    assert "systemd keeps the launcher, as minke-launcher.service" in told, told
    assert "confined by control groups (version 2: cpuset, memory, pids)" in told, told


def test_jobs_run_in_groups_of_the_launchers_unit(machine):
    job = submit(machine, "alice", "cat /proc/self/cgroup; nproc; id -un", "-o", "where", "--wait")
    group, processors, user = machine.run("cat /home/alice/where").split()
    assert group.startswith("0::/system.slice/minke-launcher.service/minke+") and f"job_{job}.0" in group
    assert (processors, user) == ("1", "alice")


def test_memory_beyond_the_limit(machine):
    job = submit(machine, "alice", "./hog 120 0; echo went on", "--mem=60M", "-o", "out")
    wait_state(machine, job, "OUT_OF_MEMORY")
    text = machine.until("grep oom_kill /home/alice/out && cat /home/alice/out")
    assert f"Detected 1 oom_kill event in StepId={job}.batch" in text and "had" not in text
    other = submit(machine, "alice", "./hog 40 0", "--mem=100M", "-o", "fits", "--wait")
    assert machine.run("cat /home/alice/fits") == "had 40\n" and fields(machine, other)["ExitCode"] == "0:0"


def test_step_has_its_own_limit(machine):
    machine.run(as_user("alice", "sbatch --wait --mem=150M -o steps --wrap "
                        "'srun --mem=40M ./hog 80 0; echo step $?; ./hog 80 0' || true"))
    text = machine.run("cat /home/alice/steps")
    assert "step 0" not in text and text.endswith("had 80\n"), text


def test_nothing_escapes_the_end(machine):
    job = submit(machine, "alice", "./escape escaped; while [ ! -s escaped ]; do sleep 0.1; done", "--wait")
    machine.until("! kill -0 $(cat /home/alice/escaped)")
    assert fields(machine, job)["JobState"] == "COMPLETED"


def test_fork_bomb_disturbs_nobody(machine):
    other = submit(machine, "bob", "sleep 300", "-n1")
    bomb = submit(machine, "alice", "bomb() { bomb | bomb & }; bomb; sleep 300", "-o", "/dev/null")
    wait_state(machine, other, "RUNNING")
    wait_state(machine, bomb, "RUNNING")
    group = f"/sys/fs/cgroup/system.slice/minke-launcher.service/minke+*/job_{bomb}.0/pids.current"
    machine.until(f"test $(cat {group}) -ge 55")  # of 60: some have just ended
    machine.run(as_user("alice", f"scancel {bomb}"))
    wait_state(machine, bomb, "CANCELLED")
    machine.until("! pgrep -u alice")
    assert fields(machine, other)["JobState"] == "RUNNING"
    machine.run(as_user("bob", f"scancel {other}"))


def test_jobs_go_on_while_the_daemon_is_restarted(machine):
    job = submit(machine, "alice", "echo $$ >pid; sleep 300")
    pid = machine.until("cat /home/alice/pid 2>/dev/null").strip()
    machine.run("systemctl restart minke")
    machine.until("test -S /run/minke/minked.sock")
    wait_state(machine, job, "RUNNING")
    assert machine.run(f"kill -0 {pid}; echo $?").strip() == "0"
    machine.run(as_user("alice", f"scancel {job}"))
    wait_state(machine, job, "CANCELLED")


def test_launcher_that_is_killed_comes_back(machine):
    machine.run("rm -f /home/alice/escaped")
    job = submit(machine, "alice", "./escape escaped; sleep 300", "--no-requeue")
    machine.until("test -s /home/alice/escaped")
    machine.run("systemctl kill --kill-whom=main --signal=KILL minke-launcher")
    wait_state(machine, job, "NODE_FAIL")
    machine.until("! kill -0 $(cat /home/alice/escaped)")
    after = submit(machine, "alice", "echo goes on; cat /proc/self/cgroup", "-o", "after", "--wait")
    text = machine.run("cat /home/alice/after")
    assert text.startswith("goes on\n") and "/minke-launcher.service/" in text, text
    assert fields(machine, after)["ExitCode"] == "0:0"
    assert machine.run("systemctl is-active minke minke-launcher").split() == ["active", "active"]


def test_a_job_opens_its_gpus_and_no_others(machine):
    """By a filter that the launcher loads into the kernel (eBPF)."""
    assert "jobs cannot open GPUs of others" in machine.run("minke doctor", None)
    for options, seen in (((), ["refused", "refused"]), (("--gpus=1",), ["opened", "refused"])):
        submit(machine, "alice", OPEN, "--wait", "-o", "opened", *options)
        assert machine.run("cat /home/alice/opened").split() == seen


# What a login does, without one.
LOGIN = f"systemd-run --quiet --wait --pipe --slice=user.slice --uid=bob bash -c {quote(OPEN)}"


def test_guard_of_all_logins(machine):
    assert machine.run(LOGIN).split() == ["opened", "opened"]
    assert "on: processes of user.slice cannot open the GPUs' 2 device files" in machine.run("minke guard on")
    assert machine.run(LOGIN).split() == ["refused", "refused"]
    submit(machine, "alice", OPEN, "--wait", "-o", "opened", "--gpus=2")
    assert machine.run("cat /home/alice/opened").split() == ["opened", "opened"]
    machine.run("minke guard on; minke guard off")
    assert machine.run(LOGIN).split() == ["opened", "opened"]


SSH = """set -e
mkdir -p /run/sshd /root/.ssh
systemd-run --quiet --unit=logins /usr/sbin/sshd -D
[ -e /root/.ssh/id_ed25519 ] || ssh-keygen -q -t ed25519 -N '' -f /root/.ssh/id_ed25519
for user in alice bob; do
  install -d -m 700 -o $user -g $user /home/$user/.ssh
  install -m 600 -o $user -g $user /root/.ssh/id_ed25519.pub /home/$user/.ssh/authorized_keys
done
grep -q adopt /etc/pam.d/sshd || cat >>/etc/pam.d/sshd <<'END'
account  required  pam_exec.so quiet stdout /usr/local/bin/minke adopt
session  required  pam_exec.so quiet stdout /usr/local/bin/minke adopt
END
"""


def ssh(user: str, command: str) -> str:
    return ("timeout 100 ssh -o StrictHostKeyChecking=accept-new -o BatchMode=yes "
            f"{user}@127.0.0.1 {quote(command)} 2>&1")


@pytest.mark.xfail(reason="not settled: what a login that is refused is told, and whether another is in the job")
def test_login_by_ssh_is_in_the_users_job(machine):
    machine.run(SSH)
    refused = machine.run(ssh("alice", "echo in"), None, seconds=150)
    assert "alice has no running job on this machine" in refused and "in\n" not in refused, refused
    job = submit(machine, "alice", "sleep 500", "--gpus=1")
    wait_state(machine, job, "RUNNING")
    text = machine.run(ssh("alice", "cat /proc/self/cgroup; " + OPEN), seconds=150)
    assert f"/job_{job}.0/login" in text and text.split()[-2:] == ["opened", "refused"], text
    # It ends with the job.
    machine.run(f"({ssh('alice', 'echo $$ >login; exec sleep 800')}) >/dev/null 2>&1 &")
    machine.until("test -s /home/alice/login")
    machine.run(as_user("alice", f"scancel {job}"))
    machine.until("! kill -0 $(cat /home/alice/login) 2>/dev/null")
    machine.run("sed -i /adopt/d /etc/pam.d/sshd; systemctl stop logins")


def test_reboot(machine):
    """In good order: what ran begins again where it may, and has failed for its node where not."""
    lost = submit(machine, "alice", "sleep 1000", "--no-requeue")
    again = submit(machine, "bob", 'echo "run $SLURM_RESTART_COUNT" >>rebooted; sleep 1000', "--requeue")
    wait_state(machine, lost, "RUNNING")
    machine.until("test -s /home/bob/rebooted")
    machine.reboot()
    machine.until("test -S /run/minke/minked.sock")
    wait_state(machine, lost, "NODE_FAIL")
    machine.until("grep -q 'run 1' /home/bob/rebooted")
    wait_state(machine, again, "RUNNING")
    assert machine.run("systemctl is-active minke minke-launcher").split() == ["active", "active"]


@pytest.mark.xfail(reason="not settled: passes alone, not on a busy machine after a launcher was killed")
def test_power_cut(machine):
    """Nothing that was acknowledged is lost, nothing is run twice that may not be, nothing is left lying about."""
    done = submit(machine, "alice", "true", "--wait")
    lost = submit(machine, "alice", "touch $SLURM_TMPDIR/left; sleep 1000", "--no-requeue", "-J", "lost")
    again = submit(machine, "bob", 'echo "run $SLURM_RESTART_COUNT" >>runs; sleep 1000', "--requeue", "-J", "again")
    wait_state(machine, lost, "RUNNING")
    wait_state(machine, again, "RUNNING")
    waiting = submit(machine, "bob", "true", "--hold")
    machine.until("test -s /home/bob/runs")
    machine.run("minke guard on; sync")
    machine.cut_power()
    machine.until("test -S /run/minke/minked.sock")
    wait_state(machine, lost, "NODE_FAIL")
    wait_state(machine, again, "RUNNING")
    machine.until("grep -q 'run 1' /home/bob/runs")
    assert fields(machine, waiting)["JobState"] == "PENDING"
    assert machine.run(as_user("alice", f"sacct -nXj {done} -o state")).split() == ["COMPLETED"]
    assert machine.run(f"ls /var/lib/minke/tmp | grep -w {lost} || true") == ""
    machine.run(as_user("bob", f"scancel {again} {waiting}"))
    assert machine.run(LOGIN).split() == ["refused", "refused"]
    machine.run("minke guard off")


def test_without_systemds_delegation(machine):
    """Started from a root shell: the groups are made below the root of the mount."""
    machine.run("systemctl stop minke minke-launcher; mkdir -p /srv/minke; chmod 755 /srv/minke")
    own = "export MINKE_HOME=/srv/minke; cp -n /etc/minke.toml /srv/minke/ 2>/dev/null; "
    machine.run(own + "minke up --shared")
    job = machine.run(as_user("alice", own + "sbatch --parsable --mem=60M -o own --wrap 'cat /proc/self/cgroup; "
                                             "./hog 120 0'")).strip()
    machine.until(as_user("alice", own + f"scontrol show job {job} | grep JobState=OUT_OF_MEMORY"))
    assert machine.run("cat /home/alice/own").startswith("0::/minke+")
    machine.run(own + "minke down --cancel-jobs")
    machine.until("! ls -d /sys/fs/cgroup/minke+*")
