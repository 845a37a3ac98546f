"""A cluster of root's that serves all users: whose jobs run as whom, and who may do what."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess

import pytest

from cluster import ROOT, plain_environment, poll
from shared import NEEDS_ROOT, Shared, passable_directory

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]


@pytest.fixture
def private():
    one = Shared("private_jobs = true\n")
    yield one
    one.close()


LOOK = """id -u; id -g; id -G | tr ' ' '\\n' | sort -n | tr '\\n' ' '; echo; umask; ulimit -n; pwd
echo "$HOME $USER"; grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs)' /proc/self/status; ls -l /proc/self/fd | wc -l"""


def test_job_runs_as_its_user(shared):
    user = shared.otto
    job = user.submit(LOOK, env={"OF_HIS_OWN": "1"})
    lines = user.output(job).splitlines()
    groups = " ".join(str(one) for one in sorted([user.gid, *user.groups])) + " "
    assert lines[:4] == [str(user.uid), str(user.gid), groups, "0022"]
    assert lines[5:7] == [str(user.work), f"{user.work} {user.name}"]
    assert [line.split()[1] for line in lines[7:12]] == ["0" * 16] * 4 + ["0"]
    output = user.work / f"slurm-{job}.out"
    assert (output.stat().st_uid, output.stat().st_gid, output.stat().st_mode & 0o777) == (user.uid, user.gid, 0o644)


def test_step_runs_as_its_user(shared):
    lines = shared.bob.run("srun", "bash", "-c", LOOK, check=0).stdout.splitlines()
    assert lines[:4] == [str(shared.bob.uid), str(shared.bob.gid), f"{shared.bob.gid} ", "0022"]
    assert [line.split()[1] for line in lines[7:12]] == ["0" * 16] * 4 + ["0"]


def test_allocation_of_a_user(shared):
    done = shared.bob.run("salloc", "-n1", "bash", "-c",
                          "id -u; srun id -u; touch $SLURM_TMPDIR/mine; ls -ld $SLURM_TMPDIR")
    lines = done.stdout.splitlines()
    assert lines[:2] == [str(shared.bob.uid)] * 2, done.stderr
    assert lines[2].startswith("drwx------ ") and lines[2].split()[2] == shared.bob.name


def test_root_runs_jobs_of_its_own(shared):
    assert shared.root_run("srun", "id", "-u").stdout == "0\n"


def test_limits_and_umask_are_the_submitters(shared):
    command = "umask 077; ulimit -S -c 0 -n 321; sbatch --parsable -o out --wrap 'umask; ulimit -n'"
    job = shared.alice.run("bash", "-c", command, check=0).stdout.strip()
    shared.alice.wait_end(job)
    assert (shared.alice.work / "out").read_text() == "0077\n321\n"
    assert (shared.alice.work / "out").stat().st_mode & 0o777 == 0o600


def test_everybody_sees_the_queue(shared):
    job = shared.alice.submit("sleep 1000")
    assert shared.bob.run("squeue", "-h", "-j", job, "-o", "%u", check=0).stdout.strip() == shared.alice.name
    shared.alice.run("scancel", job, check=0)


def test_private_jobs(private):
    job = private.alice.submit("sleep 1000", "--job-name=secret")
    private.alice.wait_state(job, "RUNNING")
    for command in (["squeue", "-h"], ["sacct", "-n", "-a"], ["scontrol", "show", "job", job],
                    ["sacct", "-n", "-j", job], ["squeue", "-h", "-u", private.alice.name], ["squeue", "-h", "-s"],
                    ["sstat", "-n", "-a", job]):
        done = private.bob.run(*command)
        assert "secret" not in done.stdout and private.alice.name not in done.stdout, (command, done.stdout)
    for user in (private.alice, private.otto):
        assert "secret" in user.run("squeue", "-h", "-j", job, "-o", "%j", check=0).stdout
    waiting = private.bob.submit("true", "--exclusive", "-N2")
    assert private.bob.run("minke", "why", job).returncode != 0
    explained = private.bob.run("minke", "why", waiting, check=0).stdout
    assert f"{waiting}" in explained and private.alice.name not in explained
    private.bob.run("scancel", waiting, check=0)
    private.alice.run("scancel", job, check=0)
    private.alice.wait_end(job)
    assert "secret" not in private.bob.run("sacct", "-n", "-a", "-S", "now-1hour", "-o", "jobname").stdout
    assert "PrivateData             = jobs" in private.bob.run("scontrol", "show", "config").stdout


def test_operators_operate(shared):
    job = shared.alice.submit("sleep 1000")
    shared.alice.wait_state(job, "RUNNING")
    assert "sleep 1000" in shared.otto.run("scontrol", "write", "batch_script", job, "-", check=0).stdout
    shared.otto.run("scancel", job, check=0)
    assert shared.alice.wait_end(job)["JobState"] == "CANCELLED"
    shared.otto.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=looking", check=0)
    shared.otto.run("scontrol", "update", "NodeName=n2", "State=RESUME", check=0)
    assert shared.otto.run("minke", "down").returncode != 0  # an administrator's to do


def test_admin_levels(shared):
    """Who has one may operate; only administrators give them away."""
    assert shared.otto.run("sacctmgr", "-i", "add", "account", "lab").returncode == 0
    for user, level in ((shared.otto.name, "administrator"), (shared.bob.name, "operator")):
        shared.otto.run("sacctmgr", "-i", "add", "user", user, "account=lab")
        shared.otto.run("sacctmgr", "-i", "modify", "user", user, "set", f"adminlevel={level}")
    assert shared.otto.run("minke", "down").returncode != 0
    assert shared.bob.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=x").returncode != 0
    shared.root_run("sacctmgr", "-i", "modify", "user", shared.bob.name, "set", "adminlevel=operator")
    shared.bob.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=x", check=0)
    shared.bob.run("scontrol", "update", "NodeName=n2", "State=RESUME", check=0)
    shared.root_run("sacctmgr", "-i", "modify", "user", shared.bob.name, "set", "adminlevel=none")
    assert shared.bob.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=x").returncode != 0


def test_exclusive_to_a_user_is_whole_nodes(shared):
    """Nodes are not shared out by user: who shuts out others' jobs has the nodes alone, and is told so."""
    done = shared.alice.run("sbatch", "--exclusive=user", "--hold", "--wrap=true", check=0)
    assert "the job gets whole nodes" in done.stderr
    job = done.stdout.split()[-1]
    cpus = shared.alice.run("sinfo", "-h", "-o", "%c", check=0).stdout.split()[0]
    shared.alice.run("scontrol", "release", job, check=0)
    poll(lambda: shared.alice.run("squeue", "-h", "-j", job).stdout == "", 30, "its end")
    row = shared.alice.run("sacct", "-nPXj", job, "-o", "AllocCPUS", check=0).stdout.strip()
    assert row == cpus


def test_temporary_directory_is_private(shared):
    job = shared.alice.submit("echo secret > $SLURM_TMPDIR/file; echo $SLURM_TMPDIR > where\n"
                              "while sleep 0.1; do :; done")
    path = poll(lambda: (shared.alice.work / "where").exists() and (shared.alice.work / "where").read_text().strip())
    assert shared.bob.run("ls", path).returncode != 0
    assert shared.bob.run("cat", f"{path}/file").returncode != 0
    assert shared.bob.run("ls", pathlib.Path(path).parent).returncode != 0
    assert shared.bob.run("mkdir", f"{pathlib.Path(path).parent}/job{int(job) + 1}").returncode != 0
    shared.alice.run("scancel", job, check=0)
    shared.alice.wait_end(job)
    poll(lambda: not pathlib.Path(path).exists(), what="the end of the job's directory")


@pytest.mark.parametrize("name", ["minke.toml", "slurm.conf"])
@pytest.mark.parametrize("mode, owner", [(0o666, 0), (0o644, 65534)])
def test_configuration_that_others_may_write_to(mode, owner, name):
    directory = passable_directory()
    (directory / name).write_text("")
    (directory / name).chmod(mode)
    os.chown(directory / name, owner, 0)
    environment = plain_environment() | {"MINKE_HOME": str(directory / "home"),
                                         "MINKE_CONFIG": str(directory / name)}
    program = os.environ.get("MINKE", ROOT / "build/minke")
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "nobody else may write" in done.stderr
    directory.joinpath("home").chmod(0o777)
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "nobody else may write" in done.stderr
    shutil.rmtree(directory)


def nobody_listens(path) -> bool:
    with socket.socket(socket.AF_UNIX) as one:
        return one.connect_ex(str(path)) != 0


def test_jobs_survive_the_daemon():
    one = Shared()
    try:
        job = one.alice.submit("while [ ! -e go ]; do sleep 0.05; done; id -u")
        one.alice.wait_state(job, "RUNNING")
        os.kill(one.pid(), signal.SIGKILL)
        poll(lambda: nobody_listens(one.home / "minked.sock"))
        done = one.alice.run("squeue")
        assert done.returncode != 0 and "an administrator can start it" in done.stderr
        one.minke("up", "--shared")
        (one.alice.work / "go").touch()
        assert one.alice.output(job) == f"{one.alice.uid}\n"
        next_job = one.bob.submit("id -u")
        assert one.bob.output(next_job) == f"{one.bob.uid}\n"
    finally:
        one.close()


def test_states_of_programs_are_not_kept_for_others(shared):
    """CRIU would open a user's files with root's rights: nobody but root has --checkpoint=auto, and the reason is said."""
    script = shared.alice.script("true")
    done = shared.alice.run("minke", "chain", "--checkpoint=auto", "--total=2", "--each=1", script)
    assert done.returncode == 1 and "is for root's own jobs" in done.stderr
    assert not shared.alice.queue()


def test_a_partition_that_gives_nodes_to_one_user(shared):
    shared.otto.run("scontrol", "create", "partitionname=alone", "nodes=ALL", "exclusiveuser=yes", check=0)
    assert "Exclusive=USER" in shared.bob.run("scontrol", "show", "partition", "alone").stdout
    node = shared.alice.run("sinfo", "-hNo", "%N").stdout.split()[0]
    jobs = [shared.alice.submit("sleep 1000", "-palone", "-w", node) for _ in range(2)]
    for job in jobs:
        shared.alice.wait_state(job, "RUNNING")
        assert shared.alice.job(job)["NodeList"] == node
        shared.alice.run("scancel", job, check=0)
        if job == jobs[0]:
            waiting = shared.bob.submit("sleep 1000", "-w", node)  # in the other partition
            shared.alice.wait_end(job)
            assert shared.bob.wait_state(waiting, "PENDING")["Reason"] == "Resources"
    shared.bob.wait_state(waiting, "RUNNING")
    mine = shared.alice.submit("true", "-palone", "-w", node)
    theirs = shared.alice.submit("true", "-w", node)
    shared.alice.wait_end(theirs)
    assert shared.alice.state(mine) == "PENDING"
    shared.bob.run("scancel", waiting, check=0)
    shared.alice.wait_end(mine)
    shared.otto.run("scontrol", "delete", "partitionname=alone", check=0)


def test_doctor_and_log_do_not_call_roots_files_broken(shared):
    """Who may not read them is told so; what is wrong is for root to mend."""
    done = shared.alice.run("minke", "doctor", check=0)
    assert "Permission denied" not in done.stdout and "problem" not in done.stdout, done.stdout
    log = shared.alice.run("minke", "log")
    assert log.returncode == 1 and "the log of a shared cluster is root's to read" in log.stderr, log.stderr
    for command in (("backup", "copy.db"), ("doctor", "--repair")):
        done = shared.alice.run("minke", *command)
        assert done.returncode == 1 and "the database of a shared cluster is root's" in done.stderr, done
    config = shared.directory / "minke.toml"
    for mode in (0o600, 0o644):
        config.chmod(mode)
        told = shared.alice.run("minke", "doctor", check=0, env={"MINKE_CONFIG": str(config)}).stdout
        assert ("note     the configuration is root's to read, and to check" in told) == (mode == 0o600), told
    assert (shared.home / "slurm.conf").stat().st_mode & 0o777 == 0o644


def in_private_etc(shared, script: str) -> str:
    """Runs a shell as root in which /etc/profile.d and /usr/local/bin are its own."""
    prepare = "mount -t tmpfs none /etc/profile.d && mount -t tmpfs none /usr/local/bin && "
    done = subprocess.run(["unshare", "--mount", "bash", "-c", prepare + script, shared.program], env=shared.root,
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_root_installs_the_commands_for_all(shared):
    """In profile.d; a user's login shell has them, and a job's in front of a real Slurm's."""
    done = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    if done.returncode != 0:
        pytest.skip("no mount namespaces here")
    as_alice = f"runuser -u {shared.alice.name} -- env -i HOME=/ "
    text = in_private_etc(shared, f"""set -e; chmod 755 /etc/profile.d
        for real in sbatch squeue; do [ ! -e /usr/bin/$real ] || mount --bind /dev/null /usr/bin/$real; done
        "$0" env --install
        cat /etc/profile.d/minke.sh > /dev/null
        {as_alice} bash -lc 'command -v sbatch; echo $MINKE_HOME'
        mkdir -p /usr/local/bin; printf '#!/bin/sh\n' > /usr/local/bin/sbatch; chmod 755 /usr/local/bin /usr/local/bin/sbatch
        {as_alice} bash -lc 'command -v sbatch'
        {as_alice} SLURM_JOB_ID=1 MINKE_HOME={shared.home} bash -lc 'command -v sbatch'
        "$0" env --uninstall; ls /etc/profile.d""")
    ours = f"{shared.home}/bin/sbatch"
    assert text.split("\n") == ["/etc/profile.d/minke.sh", ours, str(shared.home), "/usr/local/bin/sbatch", ours,
                                "/etc/profile.d/minke.sh", ""]
    refused = shared.alice.run("minke", "env", "--install")
    assert refused.returncode == 1 and "sudo minke env --install" in refused.stderr
