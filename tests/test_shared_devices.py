"""What a shared cluster keeps its jobs from: devices of others, the network; and the names that they see. With real
character devices in the place of GPUs."""
import json
import os
import pathlib
import re
import socket
import stat
import subprocess

import pytest

from cluster import poll
from test_gpus import Driver, H100
from shared import NEEDS_ROOT, Shared, passable_directory

MINKE_ONLY = True
pytestmark = NEEDS_ROOT

# Opens what it is told to, and says what came of it.
OPENER = """import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
        print("opened")
    except OSError as error:
        print(error.strerror)
"""
# Devices that every kernel has and that do nothing when they are opened, but none that programs need.
STAND_INS = (os.makedev(1, 5), os.makedev(1, 7), os.makedev(1, 8))  # zero, full, random


@pytest.fixture(scope="module")
def machine():
    """A cluster of root's on a machine with three GPUs, which are other devices in truth, and two virtual nodes."""
    directory = passable_directory("/var/tmp")
    driver = Driver(directory)
    driver.devices.chmod(0o755)
    for minor, device in enumerate(STAND_INS):
        path = driver.devices / f"nvidia{minor}"
        os.mknod(path, 0o666 | stat.S_IFCHR, device)
        path.chmod(0o666)
    driver.tell(*(f"{i} {i} GPU-{i} 81559 {H100}" for i in range(3)))
    one = Shared(parent="/var/tmp", tables=driver.configuration() + '[[partition]]\nname = "off"\noffline = true\n')
    one.driver = driver
    yield one
    one.close()


def devices(machine) -> list[str]:
    return [str(machine.driver.devices / f"nvidia{i}") for i in range(3)]


@pytest.fixture
def hiding(machine):
    found = json.loads(machine.root_run(machine.program, "doctor", "--json").stdout)["findings"]
    if not any(one["what"] == "jobs cannot open GPUs of others" for one in found):
        pytest.skip(str(found))
    return machine


def opened(user, machine, *options) -> list[str]:
    user.script(OPENER, "opener.py")
    job = user.submit(f"echo $CUDA_VISIBLE_DEVICES; exec python3 opener.py {' '.join(devices(machine))}", "--mem=100M",
                      *options)
    return user.output(job).splitlines()


def test_a_job_opens_its_gpus_and_no_others(hiding):
    no = "Operation not permitted"
    # All three are n1's.
    assert opened(hiding.alice, hiding) == ["", no, no, no]
    assert opened(hiding.alice, hiding, "--gpus=1") == ["0", "opened", no, no]
    assert opened(hiding.alice, hiding, "--gpus=3") == ["0,1,2", "opened", "opened", "opened"]
    # Outside of jobs they are as they were.
    assert hiding.alice.python(OPENER, *devices(hiding)).stdout.split() == ["opened"] * 3


def test_the_second_job_counts_its_own_from_zero(hiding):
    first = hiding.alice.submit("sleep 1000", "--gpus=1", "--mem=100M")
    hiding.alice.wait_state(first, "RUNNING")
    no = "Operation not permitted"
    assert opened(hiding.bob, hiding, "--gpus=1") == ["0", no, "opened", no]
    hiding.alice.run("scancel", first, check=0)


def test_steps_and_what_escapes_are_kept_from_them_too(hiding):
    hiding.alice.script(OPENER, "opener.py")
    paths = " ".join(devices(hiding))
    job = hiding.alice.submit(f"srun --mem=50M python3 opener.py {paths}\n"
                              f"setsid --wait env -i /usr/bin/python3 opener.py {paths}\n"
                              f"CUDA_VISIBLE_DEVICES=2 /usr/bin/python3 opener.py {paths}", "--gpus=1", "--mem=100M")
    assert hiding.alice.output(job).split("\n")[:-1] == ["opened", *["Operation not permitted"] * 2] * 3


def test_a_job_cannot_make_itself_a_device_or_leave_its_group(hiding):
    minor = os.minor(STAND_INS[1])
    job = hiding.alice.submit(
        f"mknod $SLURM_TMPDIR/gpu c 1 {minor}; ls $SLURM_TMPDIR\n"
        "unshare --user --map-root-user mknod $SLURM_TMPDIR/gpu c 1 7; ls $SLURM_TMPDIR\n"
        "for file in $(find /sys/fs/cgroup -maxdepth 2 -name 'cgroup.procs' -o -maxdepth 2 -name devices.allow); do\n"
        "  echo 0 > $file && echo left by $file\n  echo 'a *:* rwm' > $file && echo allowed by $file\n"
        "done 2> /dev/null\n"
        f"python3 opener.py {devices(hiding)[1]}", "--mem=100M")
    hiding.alice.script(OPENER, "opener.py")
    said = hiding.alice.output(job)
    assert said.endswith("Operation not permitted\n") and "left" not in said and "allowed" not in said, said


def test_names_of_nodes(machine):
    job = machine.alice.submit("hostname; srun --mem=50M -N2 -n2 bash -c 'hostname; getent hosts n1 n2'", "-N2",
                               "--mem=100M")
    lines = sorted(machine.alice.output(job).splitlines())
    assert [line for line in lines if line.startswith("n")] == ["n1", "n1", "n2"]
    assert len([line for line in lines if re.fullmatch(r"127\.0\.0\.1 +n[12]", line)]) == 4
    assert socket.gethostname() not in ("n1", "n2")  # the machine's own name is what it was
    resolve = "import socket, sys; print(socket.gethostbyname(sys.argv[1]))"
    master = machine.alice.submit('MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)\n'
                                  f'python3 -c "{resolve}" $MASTER_ADDR', "-N2", "--mem=100M")
    assert machine.alice.output(master).strip() == "127.0.0.1"


def test_a_user_cannot_change_what_others_resolve(machine):
    job = machine.alice.submit("echo 1.2.3.4 n1 >> /etc/hosts; umount /etc/hosts; getent hosts n1", "--mem=50M")
    assert machine.alice.output(job).split()[-2:] == ["127.0.0.1", "n1"]
    assert "n1" not in pathlib.Path("/etc/hosts").read_text().split()


NETWORK = """import socket, sys
print([name for _, name in socket.if_nameindex()])
server = socket.create_server(("127.0.0.1", 0))
socket.create_connection(server.getsockname(), 60).close()
print("loopback works")
try:
    socket.create_connection(("127.0.0.1", int(sys.argv[1])), 60)
    print("reached the machine")
except OSError as error:
    print(error.strerror)
"""


def test_an_offline_partition(machine):
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port = outside.getsockname()[1]
        machine.alice.script(NETWORK, "network.py")
        ask = f"python3 network.py {port}"
        offline = ["['lo']", "loopback works", "Connection refused"]
        job = machine.alice.submit(f"{ask}; srun --mem=50M {ask}", "-p", "off", "--mem=100M")
        assert machine.alice.output(job).splitlines() == offline * 2
        job = machine.alice.submit(ask, "-p", "main", "--mem=100M")
        assert machine.alice.output(job).splitlines()[1:] == ["loopback works", "reached the machine"]
        # A step of an allocation, without a batch script.
        done = machine.alice.run("srun", "-p", "off", "--mem=50M", "python3", "network.py", port, check=0)
        assert done.stdout.splitlines() == offline


def test_steps_of_an_offline_job_share_one_loopback(machine):
    serve = ("import socket; one = socket.create_server(('127.0.0.1', 4711)); open('up', 'w'); "
             "one.accept()[0].sendall(b'met')")
    meet = "import socket; print(socket.create_connection(('127.0.0.1', 4711), 120).recv(10).decode())"
    job = machine.alice.submit(f'srun --mem=30M --overlap -n1 python3 -c "{serve}" &\n'
                               "until [ -e up ]; do sleep 0.05; done\n"
                               f'srun --mem=30M --overlap -n1 python3 -c "{meet}"\nwait', "-p", "off", "--mem=100M")
    assert machine.alice.output(job).strip() == "met"


def test_nothing_of_networks_is_left(machine):
    def networks() -> int:
        listed = subprocess.run(["ls", "-l", f"/proc/{machine.pid('launcher')}/fd"], capture_output=True, text=True)
        return listed.stdout.count("net:[")
    poll(lambda: networks() == 0, what="the end of those before")
    jobs = [machine.alice.submit("true", "-p", "off", "--mem=50M") for _ in range(5)]
    for job in jobs:
        machine.alice.wait_end(job)
    poll(lambda: networks() == 0, what="the end of the networks")


@pytest.fixture
def group():
    """A control group of the machine's own, as systemd's user.slice is, and one below it."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()]
    of_devices = [at for _, at, kind, options, *_ in mounts if kind == "cgroup" and "devices" in options.split(",")]
    mount = pathlib.Path((of_devices or [at for _, at, kind, *_ in mounts if kind == "cgroup2"])[0])
    made = mount / f"logins{os.getpid()}"
    (made / "session").mkdir(parents=True)
    yield made
    for one in (made / "session", made):
        poll(lambda: not (one / "cgroup.procs").read_text(), what="the end of the group's processes")
        one.rmdir()


def opened_in(group, machine) -> list[str]:
    return subprocess.run(["python3", "-c", OPENER, *devices(machine)], capture_output=True, text=True, check=True,
                          preexec_fn=lambda: (group / "cgroup.procs").write_text("0")).stdout.splitlines()


def guard(machine, *options):
    return machine.root_run(machine.program, "guard", *options)


def test_guard_keeps_other_processes_from_the_gpus(hiding, group):
    no, session = "Operation not permitted", group / "session"
    assert opened_in(session, hiding) == ["opened"] * 3
    assert guard(hiding, "status").stdout == "off: processes outside of jobs can use the GPUs\n"
    done = guard(hiding, "on", "--group", group.name)
    assert done.stdout == f"on: processes of {group.name} cannot open the GPUs' 3 device files\n", done
    try:
        assert opened_in(session, hiding) == opened_in(group, hiding) == [no] * 3
        assert guard(hiding, "on", "--group", group.name).stdout == done.stdout  # twice is as good as once
        # Jobs are elsewhere.
        assert opened(hiding.alice, hiding, "--gpus=1") == ["0", "opened", no, no]
        told = json.loads(hiding.root_run(hiding.program, "doctor", "--json").stdout)["findings"]
        assert any(one["what"] == f"outside of jobs, no process of {group.name} can open GPUs" for one in told)
    finally:
        done = guard(hiding, "off")
    assert done.stdout == "off: processes outside of jobs can use the GPUs\n", done
    assert opened_in(session, hiding) == ["opened"] * 3


def test_guard_is_put_in_force_again_after_a_reboot(hiding, group):
    """By what systemd runs before it starts the launcher."""
    guard(hiding, "on", "--group", group.name)
    try:
        other = group.with_name(group.name + "b")
        group.rename(other)  # the kernel's groups are new ones
        (group / "session").mkdir(parents=True)
    except OSError:
        guard(hiding, "off")
        pytest.skip("this kernel does not rename control groups")
    try:
        assert opened_in(group, hiding) == ["opened"] * 3
        assert hiding.root_run(hiding.program, "up", "--shared", "--prepare").returncode == 0
        assert opened_in(group, hiding) == ["Operation not permitted"] * 3
    finally:
        guard(hiding, "off")
        for one in (other / "session", other):
            one.rmdir()


def test_guard_is_refused_where_it_would_hit_the_cluster_or_nobody(hiding):
    done = guard(hiding, "on", "--group", "no/such/group")
    assert done.returncode == 1 and "there is no control group" in done.stderr
    done = guard(hiding, "on", "--group", "../devices")
    assert done.returncode == 1 and "is no path of a control group" in done.stderr
    mine = hiding.alice.run(str(hiding.program), "guard", "on")
    assert mine.returncode == 1 and "it is for root" in mine.stderr
    lines = pathlib.Path(f"/proc/{hiding.pid()}/cgroup").read_text().splitlines()
    own = next((line.split(":", 2)[2] for line in lines if line.split(":", 2)[1] in ("devices", "")), "/")
    if own != "/":
        done = guard(hiding, "on", "--group", own.strip("/"))
        assert done.returncode == 1 and "the cluster itself runs in" in done.stderr


def adopt(machine, user: str, pid: int, *options):
    return machine.root_run(machine.program, "adopt", "--user", user, "--pid", str(pid), *options)


def groups(pid: int) -> set[str]:
    """The control groups of jobs that a process is in."""
    return set(re.findall(r":(\S*/minke\+\S+)", pathlib.Path(f"/proc/{pid}/cgroup").read_text()))


def jobs_of(groups: set[str]) -> set[str]:
    """The groups of the jobs themselves, of which these are parts: in version 2 a group with parts holds no processes."""
    return {re.match(r".*?/minke\+[^/]+/[^/]+", one)[0] for one in groups}


def groups_of_job(user, job: int) -> set[str]:
    pids = user.run("scontrol", "listpids", job).stdout.split("\n")[1:]  # none: it is just beginning
    return set().union(*(groups(int(line.split()[0])) for line in pids if line[:1].isdigit()))


def test_a_login_is_put_into_the_users_job_or_refused(hiding):
    # What others run shall not be taken for alice's.
    other = hiding.bob.submit("sleep 1000", "--mem=50M")
    hiding.bob.wait_state(other, "RUNNING")
    with subprocess.Popen(["sleep", "1000"]) as login:
        try:
            refused = adopt(hiding, hiding.alice.name, login.pid)
            assert refused.returncode == 1
            assert refused.stdout == f"Access denied: {hiding.alice.name} has no running job on this machine\n"
            assert adopt(hiding, hiding.otto.name, login.pid, "--allow", hiding.group).returncode == 0
            assert adopt(hiding, "root", login.pid).returncode == 0
            assert adopt(hiding, "nosuchuser", login.pid).returncode == 1
            assert not groups(login.pid)
            job = hiding.alice.submit("sleep 1000", "--mem=50M")
            hiding.alice.wait_state(job, "RUNNING")
            done = poll(lambda: (one := adopt(hiding, hiding.alice.name, login.pid)).returncode == 0 and one,
                        what="the job")
            assert done.stdout == ""
            own = groups_of_job(hiding.alice, job)
            assert own and jobs_of(groups(login.pid)) == jobs_of(own)
            # It is the administrator's to ask for.
            mine = hiding.alice.run(str(hiding.program), "adopt", "--user", hiding.bob.name, "--pid", login.pid)
            assert mine.returncode == 1
            assert jobs_of(groups(login.pid)) == jobs_of(own)
            hiding.alice.run("scancel", job, check=0)
            poll(lambda: login.poll() is not None, what="the end of the login")
        finally:
            login.kill()
    hiding.bob.run("scancel", other, check=0)


@pytest.mark.parametrize("with_group", [False, True], ids=["in no group", "in a group of the same name"])
def test_a_login_is_not_drawn_into_what_looks_like_the_job(hiding, with_group):
    """A user's process outside of jobs may say that it is of one, and a part of the hierarchy may be his to divide."""
    alice = hiding.alice
    before = alice.submit("sleep 1000", "--mem=50M")
    alice.wait_state(before, "RUNNING")
    own = poll(lambda: groups_of_job(alice, before), what="the job's groups")
    home_id, name = re.search(r"minke\+([^/]+)/([^/]+)", next(iter(own))).groups()
    alice.run("scancel", before, check=0)
    poll(lambda: not groups_of_job(alice, before), what="the end of the job")
    job = before + 1  # the false one comes first, so it has the lower number
    made = []
    if with_group:
        line = next(one for one in pathlib.Path("/proc/self/cgroup").read_text().splitlines()
                    if one.split(":")[1] in ("freezer", ""))
        mount = "/sys/fs/cgroup" + ("/freezer" if line.split(":")[1] else "")
        mine = pathlib.Path(mount + line.split(":", 2)[2]) / f"mine{os.getpid()}"
        made = [mine, mine / f"minke+{home_id}", mine / f"minke+{home_id}" / name.replace(str(before), str(job))]
        for one in made:
            one.mkdir()
            os.chown(one, alice.uid, alice.gid)
    try:
        claim = {"MINKE_LAUNCH": f"{home_id}/{job}.0"}
        with subprocess.Popen(["sleep", "1000"]) as login, \
                subprocess.Popen(["sleep", "1000"], env=claim, user=alice.uid) as false:
            try:
                if made:
                    (made[-1] / "cgroup.procs").write_text(str(false.pid))
                assert alice.submit("sleep 1000", "--mem=50M") == job
                alice.wait_state(job, "RUNNING")
                poll(lambda: adopt(hiding, alice.name, login.pid).returncode == 0, what="the job")
                true = groups_of_job(alice, job) - groups(false.pid)  # it is listed, too
                assert true and jobs_of(groups(login.pid)) == jobs_of(true)
            finally:
                false.kill()
                login.kill()
    finally:
        alice.run("scancel", "-u", alice.name)
        for one in reversed(made):
            one.rmdir()
