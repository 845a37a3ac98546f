"""A shared cluster as systemd starts it, with control groups of version 2, device filters and logins by ssh."""
import pytest

from guest_cluster import LOGIN, OPEN, as_user, fields, quote, submit, wait_state

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800), pytest.mark.xdist_group("first")]


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
    """Swapping does not help."""
    machine.run("dd if=/dev/zero of=/var/tmp/swap bs=1M count=200 status=none; chmod 600 /var/tmp/swap; "
                "mkswap -q /var/tmp/swap; swapon /var/tmp/swap")
    job = submit(machine, "alice", "./hog 120 0; echo went on", "--mem=60M", "-o", "out")
    wait_state(machine, job, "OUT_OF_MEMORY")
    text = machine.until("grep oom_kill /home/alice/out && cat /home/alice/out")
    assert f"Detected 1 oom_kill event in StepId={job}.batch" in text and "had" not in text
    other = submit(machine, "alice", "./hog 40 0", "--mem=100M", "-o", "fits", "--wait")
    assert machine.run("cat /home/alice/fits") == "had 40\n" and fields(machine, other)["ExitCode"] == "0:0"
    machine.run("swapoff /var/tmp/swap")


def test_step_has_its_own_limit(machine):
    machine.run(as_user("alice", "sbatch --wait --mem=150M -o steps --wrap "
                        "'srun --mem=40M ./hog 80 0; echo step $?; ./hog 80 0' || true"))
    text = machine.run("cat /home/alice/steps")
    assert "step 0" not in text and text.endswith("had 80\n"), text


def test_nothing_escapes_the_end(machine):
    job = submit(machine, "alice", "./escape escaped; while [ ! -s escaped ]; do sleep 0.1; done", "--wait")
    machine.until("! kill -0 $(cat /home/alice/escaped)")
    assert fields(machine, job)["JobState"] == "COMPLETED"


# Everything of the groups that lets out, raises a limit, or ends or stops others. What the launcher made cannot be
# listed: the job knows its own.
MEDDLE = r"""names='cgroup.procs cgroup.threads cgroup.kill cgroup.freeze cgroup.subtree_control memory.max pids.max'
tried=0
for group in $OWN $OWN/.. $OWN/../.. $(find /sys/fs/cgroup -type d 2>/dev/null); do
  for name in $names; do
    for word in 0 $$ 1 max +memory; do
      { echo $word >$group/$name; } 2>/dev/null && echo wrote $word to $group/$name
    done
    [ ! -e $group/$name ] || tried=$((tried + 1))
  done
  mkdir $group/own 2>/dev/null && echo made $group/own
done
[ $tried -gt 30 ] && echo tried
cut -d: -f3 /proc/self/cgroup
"""


def test_a_job_cannot_leave_or_change_its_group(machine):
    machine.run(f"cat >/home/alice/meddle <<'END'\n{MEDDLE}END")
    own = "export OWN=/sys/fs/cgroup$(cut -d: -f3 /proc/self/cgroup); "
    for way in ("", "unshare --user --map-root-user --cgroup --mount "):
        job = submit(machine, "alice", f"{own}{way}bash meddle", "-o", "meddled", "--wait")
        tried, group = machine.run("cat /home/alice/meddled").splitlines()
        assert tried == "tried" and (f"/job_{job}.0" in group or way and group == "/"), group


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


def test_a_job_opens_its_gpus_and_no_others(machine):
    """By a filter that the launcher loads into the kernel (eBPF)."""
    assert "jobs cannot open GPUs of others" in machine.run("minke doctor", None)
    for options, seen in (((), ["refused", "refused"]), (("--gpus=1",), ["opened", "refused"])):
        submit(machine, "alice", OPEN, "--wait", "-o", "opened", *options)
        assert machine.run("cat /home/alice/opened").split() == seen


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
