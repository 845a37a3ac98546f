"""What a shared cluster keeps when its daemon, its launcher or the machine ends. The last test stops it for good."""
import pytest

from guest_cluster import LOGIN, as_user, fields, submit, wait_state

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800), pytest.mark.xdist_group("second")]


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
