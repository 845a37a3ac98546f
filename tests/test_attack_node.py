"""Attacks on what starts and holds jobs, and on what starts that: each gets nothing of another's, of the machine's, or of
a job's cage."""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cluster import configuration, Machine, plain_environment, poll, ROOT
from shared import make_account, NAMES, NEEDS_ROOT, passable_directory, Shared, User

MINKE_ONLY = True

# What a process can do to another one of its user's: read its environment, list its root, take its descriptor.
LOOK = """
import ctypes, os, sys
other = int(sys.argv[1])
libc = ctypes.CDLL(None, use_errno=True)
def environment(): open(f"/proc/{other}/environ", "rb").read()
def root(): os.listdir(f"/proc/{other}/root/tmp")
def descriptor():
    PIDFD_OPEN, PIDFD_GETFD = 434, 438
    handle = libc.syscall(PIDFD_OPEN, other, 0)
    if libc.syscall(PIDFD_GETFD, handle, 0, 0) < 0: raise OSError(ctypes.get_errno(), "pidfd_getfd")
def trace():
    ATTACH, DETACH = 16, 17
    if libc.ptrace(ATTACH, other, 0, 0) < 0: raise OSError(ctypes.get_errno(), "ptrace")
    os.waitpid(other, 0)
    libc.ptrace(DETACH, other, 0, 0)
for one in (environment, root, descriptor, trace):
    try:
        one()
        print(one.__name__)
    except PermissionError:
        pass
"""


@NEEDS_ROOT
def test_closed_jobs_do_not_look_into_their_users_other_processes():
    disks = passable_directory()
    shared = Shared(tables=f'[[partition]]\nname = "off"\noffline = true\n[storage]\nprofile = "narval"\nroot = "{disks}"\n')
    alice = shared.alice
    outside = subprocess.Popen(["sleep", "1000"], **alice.rights())
    (alice.work / "look.py").write_text(LOOK)
    within = "sleep 100 & python3 look.py $!; kill $!\n"
    look = f"python3 look.py {outside.pid}\n" + within
    try:
        # Outside, and within a job, all is had that this kernel allows.
        usual = alice.run("bash", "-c", within, check=0).stdout.split()
        assert {"environment", "root"} <= set(usual)
        assert {"environment", "root"} <= set(alice.run("python3", "look.py", outside.pid, check=0).stdout.split())
        for partition in ("main", "off"):
            told = alice.output(alice.submit(look + f"srun sh -c '{look}'", "-p", partition)).split()
            assert told == usual * 2, told
    finally:
        outside.kill()
        outside.wait()
        shared.close()
        subprocess.run(["rm", "-rf", disks], check=True)


@NEEDS_ROOT
def test_hard_limits_of_whoever_starts_the_cluster_are_not_the_jobs():
    raised = ["prlimit", "--nofile=600:600", "prlimit", "--nofile=700:700", "true"]
    if subprocess.run(raised, capture_output=True).returncode != 0:
        pytest.skip("root may not raise a hard limit here")
    shared = Shared()
    try:
        shared.minke("down")
        subprocess.run(["prlimit", "--nofile=600:600", "--core=0:0", "--memlock=65536:65536", shared.program, "up", "--shared"],
                       env=shared.root, check=True, capture_output=True)
        told = shared.alice.output(shared.alice.submit("ulimit -Hn; ulimit -Hc; ulimit -Hl; ulimit -Sn")).split()
        assert int(told[0]) > 600 and told[1:3] == ["unlimited", "unlimited"]
        soft = shared.alice.run("bash", "-c", "ulimit -Sn 300; sbatch --parsable --wrap 'ulimit -Sn; ulimit -Hn'", check=0)
        told = shared.alice.output(int(soft.stdout)).split()
        assert told[0] == "300" and int(told[1]) > 600
    finally:
        shared.close()


@NEEDS_ROOT
@pytest.mark.skipif(not shutil.which("setpriv"), reason="util-linux is not installed")
def test_who_comes_with_a_subordinate_uid_is_no_user():
    shared = Shared()
    try:
        ranges = [line.split(":") for line in pathlib.Path("/etc/subuid").read_text().splitlines()]
        first = next((int(start) for name, start, count in ranges if name == shared.alice.name), None)
        if first is None:
            pytest.skip("useradd gives no subordinate uids here")
        anybodys = shared.directory / "anybodys"
        anybodys.mkdir()
        anybodys.chmod(0o777)
        for uid in (first, first + 7):
            done = subprocess.run(["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "sbatch", "--wrap", "true"],
                                  env=shared.environment, cwd=anybodys, capture_output=True, text=True)
            assert done.returncode != 0 and "Submitted" not in done.stdout, done
        assert shared.alice.output(shared.alice.submit("echo in")) == "in\n"
    finally:
        shared.close()


def places(pid: int) -> dict[str, str]:
    """Where a process is, as far as a job changes that."""
    names = {kind: os.readlink(f"/proc/{pid}/ns/{kind}") for kind in ("uts", "mnt", "net", "user", "ipc")}
    limits = [line.split() for line in pathlib.Path(f"/proc/{pid}/limits").read_text().splitlines()]
    files = next(words for words in limits if words[:3] == ["Max", "open", "files"])
    return names | {"cpus": str(sorted(os.sched_getaffinity(pid))), "files": files[3], "at": os.readlink(f"/proc/{pid}/cwd"),
                    "group": str("job_" in (text := pathlib.Path(f"/proc/{pid}/cgroup").read_text()) or "spare_" in text),
                    "nice": pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[16]}


@pytest.mark.parametrize("killed", [["minked"], ["minked", "launcher"]], ids=["daemon", "both"])
@pytest.mark.machine(nodes=2, cpus=1, memory=1000)
def test_a_daemon_that_a_job_brings_back_is_outside_of_it(cluster, killed):
    cluster.run("sinfo", check=0)
    before = places(cluster.pid()), places(cluster.pid("launcher"))
    # The script itself dies with its launcher; what it has started is ended by the next one. The daemon dies first, for
    # it would start that next one at once.
    cluster.script("touch runs\nwhile [ ! -e go ]; do sleep 0.02; done\nsqueue -h -o %T > told; sleep 100", "child.sh")
    job = cluster.submit("ulimit -Sn 200; export OF_THE_JOB=yes; bash child.sh & wait", "--mem=50M", "--no-requeue")
    poll(lambda: (cluster.work / "runs").exists(), what="the job")
    for name in killed:
        cluster.kill(name)
    (cluster.work / "go").touch()
    poll(lambda: cluster.pid() and cluster.pid("launcher"), what="a daemon and a launcher")
    poll(lambda: (cluster.work / "told").exists() or cluster.state(job) == "NODE_FAIL", what="an answer")
    assert (places(cluster.pid()), places(cluster.pid("launcher"))) == before
    assert b"OF_THE_JOB" not in pathlib.Path(f"/proc/{cluster.pid()}/environ").read_bytes() or "launcher" in killed


def without_launcher(cluster) -> None:
    """From now on none can start."""
    lock = cluster.home / "launcher.lock"
    lock.rename(cluster.home / "aside")
    lock.mkdir()


def test_a_launcher_that_cannot_start_is_tried_ever_later_and_told_of(cluster):
    cluster.run("sinfo", check=0)
    without_launcher(cluster)
    cluster.kill("launcher")
    job = cluster.submit("echo ran")
    reason = "the launcher is gone: it does not start: "
    poll(lambda: reason in cluster.run("squeue", "-h", "-o", "%r").stdout, what="the reason")
    assert "Is a directory" in cluster.run("squeue", "-h", "-o", "%r").stdout
    assert "Is a directory" in cluster.run("minke", "why", job, check=0).stdout
    assert "Is a directory" in cluster.run("minke", "doctor").stdout
    assert "NodeNotAvail" in cluster.job(job)["Reason"]
    # Tries double the time between them: in the first minute there are a dozen.
    tries = (cluster.home / "launcher.log").read_text().count("Is a directory")
    assert 1 <= tries <= 12
    assert len(re.findall("the launcher is gone", (cluster.home / "minked.log").read_text())) <= 3
    (cluster.home / "launcher.lock").rmdir()
    assert cluster.output(job) == "ran\n"


def test_a_daemon_whose_launcher_cannot_start_says_so(cluster):
    cluster.run("sinfo", check=0)
    cluster.run("minke", "down", check=0)
    without_launcher(cluster)
    done = cluster.run("squeue")
    assert done.returncode != 0 and "the launcher cannot be started" in done.stderr and "Is a directory" in done.stderr
    (cluster.home / "launcher.lock").rmdir()
    assert cluster.output(cluster.submit("echo ran")) == "ran\n"


def test_the_log_tells_of_another_launcher_and_what_became_of_what_ran(cluster):
    job = cluster.submit("touch runs; sleep 1000", "--no-requeue")
    poll((cluster.work / "runs").exists, what="the job")
    cluster.kill("launcher")
    assert cluster.wait_end(job)["JobState"] == "NODE_FAIL"
    log = (cluster.home / "minked.log").read_text()
    assert re.search(rf"a launcher was started anew, pid {cluster.pid('launcher')}: 1 launch of the one before \(of jobs {job}\)", log), log


@NEEDS_ROOT
def test_declared_nodes_have_addresses_for_jobs_of_who_is_not_root(tmp_path):
    """As every recipe for torchrun asks: MASTER_ADDR is the first node's name."""
    if subprocess.run(["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "unshare", "-Urm", "true"],
                      capture_output=True).returncode != 0:
        pytest.skip("users may not make namespaces here")
    directory = passable_directory()
    account = f"mkown{os.getpid()}{next(NAMES)}"
    make_account("useradd", "--no-create-home", "--home-dir", directory / account, "--shell", "/bin/bash", account)
    program = directory / "minke"
    shutil.copy(os.environ.get("MINKE", ROOT / "build/minke"), program)
    config = directory / "minke.toml"
    config.write_text(configuration(Machine()))
    user = User(directory, account, (), plain_environment() | {"MINKE_CONFIG": str(config)})
    user.environment |= {"MINKE_HOME": str(user.work / "home"), "PATH": f"{user.work}/home/bin:" + user.environment["PATH"]}
    try:
        user.run(program, "up", check=0)
        script = ('MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
                  'python3 -c "import socket, sys; print(socket.getaddrinfo(sys.argv[1], 29500)[0][4][0])" $MASTER_ADDR\n'
                  "srun -N2 -n2 sh -c 'getent hosts n2; id -u; touch by.$SLURM_PROCID'")
        told = user.output(user.submit(script, "-N2")).split("\n")
        assert told[0] == "127.0.0.1" and sum(line.startswith("127.0.0.1") and "n2" in line for line in told[1:]) == 2, told
        assert told.count(str(user.uid)) == 2
        assert (user.work / "by.1").stat().st_uid == user.uid
        # Steps of a job are in one: what exchanges memory between tasks still does (as MPI does).
        (user.work / "look.py").write_text(LOOK)
        told = user.output(user.submit("srun sleep 100 & until pid=$(pgrep -f '^[^ ]*sleep 100$' -u $UID -n); do sleep 0.1; done\n"
                                       "srun --overlap python3 look.py $pid; kill $pid; wait"))
        assert {"environment", "root"} <= set(told.split())
    finally:
        user.run(program, "down", "--cancel-jobs")
        subprocess.run(["userdel", account], check=False)
        subprocess.run(["rm", "-rf", directory], check=True)
