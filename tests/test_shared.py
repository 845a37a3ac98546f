"""A cluster of root's that serves all users: real users, made by the tests, with the rights that they have. Half of
what is tried here is an attack, and must be refused with everybody else undisturbed."""
import grp
import itertools
import json
import os
import pathlib
import pwd
import re
import shutil
import signal
import socket
import subprocess
import tempfile

import pytest

from cluster import Commands, Machine, ROOT, configuration, plain_environment, poll
from wire import frame, generated, greeting

MINKE_ONLY = True
NEEDS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can serve others and make users")
pytestmark = NEEDS_ROOT

NAMES = itertools.count()


class User(Commands):
    """A user of the machine, with a directory of his own, who drives the cluster by its commands."""

    def __init__(self, directory: pathlib.Path, name: str, groups: tuple[str, ...], environment: dict[str, str]):
        self.entry = pwd.getpwnam(name)
        self.name, self.uid, self.gid = name, self.entry.pw_uid, self.entry.pw_gid
        self.groups = [grp.getgrnam(one).gr_gid for one in groups]
        self.work = directory / name
        self.work.mkdir()
        os.chown(self.work, self.uid, self.gid)
        self.work.chmod(0o700)
        self.environment = environment | {"HOME": str(self.work), "USER": name, "LOGNAME": name}

    def rights(self) -> dict:
        return {"user": self.uid, "group": self.gid, "extra_groups": [self.gid, *self.groups], "umask": 0o022}

    def run(self, *command, input=None, cwd=None, env=None, check=None, timeout=60):
        environment = {name: value for name, value in (self.environment | (env or {})).items() if value is not None}
        arguments = [str(argument) for argument in command]
        done = subprocess.run(arguments, executable=shutil.which(arguments[0], path=environment["PATH"]),
                              cwd=cwd or self.work, env=environment, timeout=timeout, text=True,
                              errors="surrogateescape", capture_output=True, **self.rights(),
                              **({"stdin": subprocess.DEVNULL} if input is None else {"input": input}))
        if check is not None:
            assert done.returncode == check, f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def python(self, text: str, *arguments, check=0):
        """Runs a program of his own."""
        return self.run("python3", "-c", text, *arguments, check=check)

    def script(self, text: str, name: str = "job.sh") -> pathlib.Path:
        path = super().script(text, name)
        os.chown(path, self.uid, self.gid)
        return path


def passable_directory(parent: str = "/tmp") -> pathlib.Path:
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-shared-", dir=parent))
    directory.chmod(0o755)
    return directory


class Shared:
    """The cluster, and its users: alice, bob and otto, who is an operator."""

    def __init__(self, extra: str = "", parent: str = "/tmp", tables: str = ""):
        # Nobody else may pass through pytest's own.
        self.directory = passable_directory(parent)
        self.accounts: list[str] = []
        self.group = f"mkops{os.getpid()}{next(NAMES)}"
        subprocess.run(["groupadd", self.group], check=True)
        self.home = self.directory / "home"
        config = self.directory / "minke.toml"
        config.write_text(f'operators = "{self.group}"\n' + extra +
                          configuration(Machine(nodes=2, cpus=2, memory=2000)) + tables)
        self.program = self.directory / "minke"
        shutil.copy(os.environ.get("MINKE", ROOT / "build/minke"), self.program)
        self.environment = plain_environment() | {"MINKE_HOME": str(self.home)}
        self.root = self.environment | {"MINKE_CONFIG": str(config)}
        self.minke("up", "--shared")
        self.environment["PATH"] = f"{self.home}/bin:" + self.environment["PATH"]
        users = self.directory / "users"
        users.mkdir(mode=0o755)
        self.alice, self.bob = self.user(users, "alice"), self.user(users, "bob")
        self.otto = self.user(users, "otto", self.group)

    def user(self, directory, name: str, *groups: str) -> User:
        account = f"mk{name}{os.getpid()}{next(NAMES)}"
        subprocess.run(["useradd", "--no-create-home", "--home-dir", directory / account, "--shell", "/bin/bash",
                        *(["--groups", ",".join(groups)] if groups else []), account], check=True)
        self.accounts.append(account)
        return User(directory, account, groups, self.environment)

    def minke(self, *arguments, check=0):
        done = subprocess.run([self.program, *arguments], env=self.root, capture_output=True, text=True, timeout=60)
        assert done.returncode == check, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    def root_run(self, *command):
        return subprocess.run(command, env=self.root | {"PATH": self.environment["PATH"]}, capture_output=True,
                              text=True, timeout=60)

    def pid(self, name: str = "minked") -> int:
        return int((self.home / f"{name}.pid").read_text())

    def close(self):
        self.minke("down", "--cancel-jobs")
        for account in self.accounts:
            subprocess.run(["pkill", "-KILL", "-U", str(pwd.getpwnam(account).pw_uid)], check=False)
            poll(lambda: subprocess.run(["userdel", "-f", account], capture_output=True).returncode == 0, 10,
                 "the removal of a user")
        subprocess.run(["groupdel", "-f", self.group], check=False)
        shutil.rmtree(self.directory, ignore_errors=True)


@pytest.fixture(scope="module")
def shared():
    one = Shared()
    yield one
    one.close()


@pytest.fixture(autouse=True)
def undisturbed(shared, request):
    """After each test the cluster runs as before, under the same process, and serves."""
    before = shared.pid()
    yield
    os.kill(before, 0)
    assert shared.pid() == before
    assert shared.alice.run("srun", "echo", "served", check=0).stdout == "served\n"


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
    job = shared.alice.submit("sleep 100")
    assert shared.bob.run("squeue", "-h", "-j", job, "-o", "%u", check=0).stdout.strip() == shared.alice.name
    shared.alice.run("scancel", job, check=0)


def test_private_jobs(private):
    job = private.alice.submit("sleep 100", "--job-name=secret")
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


# What others may not do to a job of alice's. Each is refused, and the job goes on.
MEDDLING = [
    "scancel {job}", "scancel -s KILL {job}", "scancel -b -s TERM {job}", "scontrol hold {job}",
    "scontrol suspend {job}", "scontrol requeue {job}", "scontrol requeuehold {job}",
    "scontrol update JobId={job} TimeLimit=1",
    "scontrol update JobId={job} Comment=mine", "scontrol top {job}", "scontrol notify {job} hello",
    "scontrol write batch_script {job} -", "srun --overlap --jobid={job} id", "sattach {job}.0",
    "scancel -u {alice}", "scancel --me -u {alice}",
]


@pytest.mark.parametrize("command", MEDDLING)
def test_a_job_is_its_owners_alone(shared, command):
    job = shared.alice.submit("trap 'touch signalled' TERM USR1 CONT\nsrun sleep 100 &\nwhile sleep 0.05; do :; done",
                              "--comment=hers")
    shared.alice.wait_state(job, "RUNNING")
    poll(lambda: f"{job}.0" in shared.alice.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout)
    done = shared.bob.run(*command.format(job=job, alice=shared.alice.name).split())
    if not command.startswith("scancel -u") and "--me" not in command:
        assert done.returncode != 0, (done.stdout, done.stderr)
    assert "sleep 100" not in done.stdout and f"uid={shared.alice.uid}" not in done.stdout
    fields = shared.alice.job(job)
    assert (fields["JobState"], fields["Comment"], fields["TimeLimit"]) == ("RUNNING", "hers", "UNLIMITED")
    assert not (shared.alice.work / "signalled").exists()
    shared.alice.run("scancel", job, check=0)
    shared.alice.wait_end(job)
    (shared.alice.work / "signalled").unlink(missing_ok=True)


# What only operators may do, and administrators.
OPERATING = ["scontrol update NodeName=n1 State=DRAIN Reason=mine", "scontrol update PartitionName=main State=DOWN",
             "scontrol create reservation=r starttime=now duration=1 nodes=ALL user={bob}",
             "scontrol reconfigure", "minke down --cancel-jobs", "scontrol shutdown", "minke up", "minke up --shared",
             "sacctmgr -i add account mine", "sacctmgr -i modify user {bob} set adminlevel=administrator"]


@pytest.mark.parametrize("command", OPERATING)
def test_users_do_not_operate(shared, command):
    done = shared.bob.run(*command.format(bob=shared.bob.name).split())
    assert done.returncode != 0, (done.stdout, done.stderr)
    shown = shared.bob.run("sinfo", "-h", "-o", "%t %a", check=0).stdout.splitlines()
    assert set(shown) <= {"idle up", "mix up", "alloc up"}
    assert "No reservations" in shared.bob.run("scontrol", "show", "reservation").stdout


@pytest.mark.parametrize("options", ["--nice=-5", "--priority=4000000000"])
def test_users_do_not_raise_their_jobs(shared, options):
    assert shared.bob.run("sbatch", options, "--wrap", "true").returncode != 0
    job = shared.bob.submit("true", "--hold")
    field = options.removeprefix("--").replace("nice", "Nice").replace("priority", "Priority")
    assert shared.bob.run("scontrol", "update", f"JobId={job}", field).returncode != 0
    shared.bob.run("scancel", job, check=0)


def test_operators_operate(shared):
    job = shared.alice.submit("sleep 100")
    shared.alice.wait_state(job, "RUNNING")
    assert "sleep 100" in shared.otto.run("scontrol", "write", "batch_script", job, "-", check=0).stdout
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


def test_hold_by_an_operator_is_not_the_users_to_release(shared):
    job = shared.alice.submit("true", "--begin=now+1hour")
    shared.otto.run("scontrol", "hold", job, check=0)
    assert shared.alice.job(job)["Reason"] == "JobHeldAdmin"
    assert "denied" in shared.alice.run("scontrol", "release", job, check=1).stderr
    assert "denied" in shared.alice.run("scontrol", "update", f"jobid={job}", "priority=100", check=1).stderr
    assert shared.alice.job(job)["Reason"] == "JobHeldAdmin"
    shared.otto.run("scontrol", "release", job, check=0)
    shared.alice.run("scontrol", "hold", job, check=0)
    shared.alice.run("scontrol", "release", job, check=0)
    shared.alice.run("scancel", job, check=0)


def test_what_would_take_from_others_is_the_operators(shared):
    job = shared.alice.submit("sleep 100", "--time=5")
    shared.alice.wait_state(job, "RUNNING")
    assert "denied" in shared.alice.run("scontrol", "suspend", job, check=1).stderr
    assert "denied" in shared.alice.run("scontrol", "update", f"jobid={job}", "timelimit=60", check=1).stderr
    shared.alice.run("scontrol", "update", f"jobid={job}", "timelimit=4", check=0)
    shared.otto.run("scontrol", "update", f"jobid={job}", "timelimit=60", check=0)
    assert shared.alice.job(job)["TimeLimit"] == "01:00:00"
    shared.alice.run("scancel", job, check=0)


def accounts_of_the_machine() -> list[bytes]:
    """But the users that tests beside this one make and remove."""
    lines = [line for name in ("passwd", "shadow") for line in pathlib.Path("/etc", name).read_bytes().splitlines()]
    return [line for line in lines if not re.match(rb"mk[a-z]+\d+:", line)]


# Paths that a user may not write to, or read, and through which he would have the daemon do it.
@pytest.mark.parametrize("option", ["--output=/root/planted", "--output={alice}/planted", "--error=/etc/planted",
                                    "--output={home}/planted", "--output={home}/minke.db", "--output=/etc/passwd",
                                    "--output={home}/launcher.journal", "--input={home}/minke.db",
                                    "--input=/etc/shadow", "--output=/proc/1/mem", "--input={alice}/private"])
def test_paths_are_opened_with_the_users_rights(shared, option):
    secret = shared.alice.work / "private"
    secret.write_text("secret\n")
    secret.chmod(0o600)
    option = option.format(alice=shared.alice.work, home=shared.home)
    before = accounts_of_the_machine()
    # As a program of his own would ask, without the command's own look at the path.
    done = shared.bob.run("sbatch", "--parsable", option, "--wrap", "cat; echo planted")
    if done.returncode == 0:
        job = done.stdout.strip()
        assert shared.bob.wait_end(job)["JobState"] == "FAILED"
        output = shared.bob.work / f"slurm-{job}.out"
        assert not output.exists() or "secret" not in output.read_text()
    stepped = shared.bob.run("srun", option, "bash", "-c", "cat; echo planted")
    assert stepped.returncode != 0 and "secret" not in stepped.stdout
    assert accounts_of_the_machine() == before
    for path in ("/root/planted", "/etc/planted", shared.alice.work / "planted", shared.home / "planted"):
        assert not pathlib.Path(path).exists()


def test_streams_do_not_name_the_launchers_descriptors(shared):
    """/proc/self/fd and /dev/stderr are the job's own, whatever the launcher has open."""
    for number in range(3, 30):
        done = shared.bob.run("srun", f"--output=/proc/self/fd/{number}", "echo", "planted")
        assert done.returncode != 0 and "Could not open" in done.stderr, (number, done.stderr)
    for path in ("/dev/stderr", "/proc/self/fd/2", "/dev/fd/1"):
        shared.bob.run("srun", f"--output={path}", "echo", "planted")
    assert "planted" not in (shared.home / "launcher.log").read_text()
    assert "planted" not in (shared.home / "minked.log").read_text()


def test_symlink_race_on_the_output(shared):
    """The output's name is changed between a file of his and a link to one of root's, as fast as it goes."""
    target = shared.directory / "roots"
    target.write_text("root's\n")
    target.chmod(0o644)
    racer = subprocess.Popen(["python3", "-c", """
import os
open("own", "w").close()
while True:
    for source in ("own", %r):
        os.symlink(source, "next")
        os.rename("next", "raced")
""" % str(target)], cwd=shared.bob.work, **shared.bob.rights())
    try:
        for _ in range(30):
            shared.bob.run("sbatch", "-W", "-o", "raced", "--wrap", "echo planted", timeout=30)
            shared.bob.run("srun", "-o", "raced", "echo", "planted")
    finally:
        racer.kill()
        racer.wait()
    assert target.read_text() == "root's\n"


def test_hard_link_to_anothers_file_is_not_truncated(shared):
    hers = shared.alice.work.parent / "hers"
    hers.write_text("hers\n")
    os.chown(hers, shared.alice.uid, shared.alice.gid)
    hers.chmod(0o644)
    try:
        os.link(hers, shared.bob.work / "linked")
        shared.bob.run("sbatch", "-W", "-o", "linked", "--wrap", "echo planted")
        assert hers.read_text() == "hers\n"
    finally:
        hers.unlink()


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
    assert not pathlib.Path(path).exists()


def test_removal_of_the_temporary_directory_stays_in_it(shared):
    victim = shared.directory / "victim"
    victim.mkdir()
    (victim / "file").write_text("root's")
    job = shared.bob.submit(f"""cd $SLURM_TMPDIR
ln -s {victim} link; ln -s {victim}/file flink; mkdir -p a/b/c; chmod 000 a/b; mkfifo pipe
mkdir d; ( cd d; ln -s {victim} . ); mkdir -m 0 locked""")
    shared.bob.wait_end(job)
    assert (victim / "file").read_text() == "root's"
    assert not list((shared.home / "tmp").glob("job*"))


def test_removal_does_not_remove_for_the_user_what_he_could_not(shared):
    """A directory that he may rename, but whose contents are another's, is moved to where it will be removed."""
    group = subprocess.run(["id", "-gn", shared.bob.name], capture_output=True, text=True).stdout.strip()
    common = shared.home / "tmp" / "common"
    common.mkdir()
    os.chown(common, 0, grp.getgrnam(group).gr_gid)
    common.chmod(0o775)
    hers = common / "hers"
    (hers / "deep").mkdir(parents=True)
    (hers / "deep" / "file").write_text("hers")
    for path in (hers, hers / "deep", hers / "deep" / "file"):
        os.chown(path, shared.alice.uid, grp.getgrnam(group).gr_gid)
    hers.chmod(0o775)
    job = shared.bob.submit(f"mv {hers} $SLURM_TMPDIR/ && touch moved")
    shared.bob.wait_end(job)
    assert (shared.bob.work / "moved").exists()
    left = list((shared.home / "tmp").rglob("file"))
    assert len(left) == 1 and left[0].read_text() == "hers"
    shutil.rmtree(left[0].parent.parent.parent)
    shutil.rmtree(common)


def test_keys_of_root_are_not_the_jobs(shared):
    """The session keyring of whoever started the launcher."""
    look = "import ctypes; print(ctypes.CDLL(None).syscall(250, 0, -3, 0))"  # keyctl(2): the session keyring's number
    mine = int(subprocess.run(["python3", "-c", look], capture_output=True, text=True).stdout)
    jobs = [int(shared.bob.run("srun", "python3", "-c", look, check=0).stdout) for _ in range(2)]
    assert jobs[0] != jobs[1] and mine not in jobs


def forge(shared, user, fill):
    """What the daemon answers when a program of this user's sends a message that no command of ours would. `fill`: sets
    the fields of a ClientMessage."""
    messages = generated("rpc.messages")
    message = messages.ClientMessage(request_id=1)
    fill(message)
    program = """
import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(20); s.connect(sys.argv[1])
s.sendall(bytes.fromhex(sys.argv[2]))
got = b""
while len(got) < 7 + 8 or len(got) < 15 + struct.unpack("<I", got[7:11])[0]:
    more = s.recv(65536)
    if not more: break
    got += more
print(got[15:].hex())
"""
    sent = greeting() + frame(message.SerializeToString())
    answer = user.python(program, shared.home / "minked.sock", sent.hex()).stdout
    return messages.ServerMessage.FromString(bytes.fromhex(answer.strip()))


def test_forged_requests(shared):
    """The protocol itself, with another's job in it: the identity is the kernel's."""
    job = shared.alice.submit("sleep 100", "--comment=hers")
    shared.alice.wait_state(job, "RUNNING")
    held = shared.alice.submit("true", "--hold")

    def step(message):
        message.create_step.job_id = job
        message.create_step.key = b"k" * 16
        message.create_step.spec.argv.extend([b"touch", str(shared.alice.work / "planted").encode()])
        message.create_step.spec.work_dir = b"/tmp"

    def update(message):
        message.update_job.job.job_id = held
        field = message.update_job.fields.add()
        field.name, field.value = b"Comment", b"forged"

    def complete(message):
        message.complete_allocation.job_id = job

    def signal_it(message):
        message.signal.filter.jobs.add().job_id = job
        message.signal.signal = signal.SIGKILL

    def release(message):
        message.hold.jobs.add().job_id = held
        message.hold.kind = 2

    def attach(message):
        message.attach_step.job_id = job

    def metrics(message):
        message.keep_metrics.job_id = job

    def shut_down(message):
        message.shutdown.mode = 2

    def script(message):
        message.query_script.job_id = job

    for fill in (step, update, complete, signal_it, release, attach, metrics, shut_down, script):
        answer = forge(shared, shared.bob, fill)
        refused = answer.error.code or [one.code for one in answer.action.failures]
        assert refused, (fill.__name__, answer)
    fields = shared.alice.job(job)
    assert (fields["JobState"], fields["Comment"]) == ("RUNNING", "hers")
    assert shared.alice.job(held)["Reason"] == "JobHeldUser" and "Comment" not in shared.alice.job(held)
    assert not (shared.alice.work / "planted").exists()
    shared.alice.run("scancel", job, held, check=0)


def test_forged_submission_is_the_senders(shared):
    """Whatever it says of itself, and whatever paths it has that no command would let through."""
    def submit(message):
        message.submit.key = os.urandom(16)
        message.submit.script = b"#!/bin/sh\nid -u > $HOME/ran; id -u\n"
        environment = f"HOME={shared.bob.work}\0PATH=/bin:/usr/bin\0USER=root\0SLURM_JOB_UID=0\0"
        message.submit.environment = environment.encode()
        spec = message.submit.spec
        spec.name, spec.work_dir = b"root", str(shared.bob.work).encode()
        spec.stdout_path = b"../../../../../../etc/minke-planted-%u"
        spec.stderr_path = str(shared.home / "minke.db").encode()
        limit = spec.resource_limits.add()
        limit.name, limit.soft = b"NOFILE", 2 ** 64 - 1
    answer = forge(shared, shared.bob, submit)
    assert answer.submit.job_id, answer
    job = answer.submit.job_id
    assert shared.alice.job(job)["UserId"].startswith(shared.bob.name)
    assert shared.bob.wait_end(job)["JobState"] == "FAILED"
    assert not list(pathlib.Path("/etc").glob("minke-planted*")) and not (shared.bob.work / "ran").exists()


def test_answers_that_nobody_reads_are_bounded(shared):
    program = """
import socket, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(60); s.connect(sys.argv[1])
one = bytes.fromhex(sys.argv[3])
s.sendall(bytes.fromhex(sys.argv[2]))
try:
    for _ in range(1000): s.sendall(one * 100)
    print("all")
except OSError: print("cut off")
"""
    messages = generated("rpc.messages")
    request = messages.ClientMessage(request_id=1)
    request.query_config.SetInParent()
    said = shared.bob.python(program, shared.home / "minked.sock", greeting().hex(),
                             frame(request.SerializeToString()).hex()).stdout
    assert said == "cut off\n"


def test_fork_bomb_leaves_room(shared):
    findings = json.loads(shared.root_run("minke", "doctor", "--json").stdout)["findings"]
    if not any(one["what"].startswith("jobs are confined") for one in findings):
        pytest.skip("no control groups: " + str(findings))
    job = shared.bob.submit("sleep 100")
    shared.bob.wait_state(job, "RUNNING")
    pid = shared.bob.run("scontrol", "listpids", job, check=0).stdout.split("\n")[1].split()[0]
    own = re.search(r"(?:pids|0:):(\S*/minke\+[^/\n]+/[^/\n]+)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[1]
    limits = [path for path in pathlib.Path("/sys/fs/cgroup").rglob(f"{own.lstrip('/')}/pids.max")]
    assert [path.read_text().strip() for path in limits] == ["16384"]
    shared.bob.run("scancel", job, check=0)


def test_users_reset_no_statistics(shared):
    assert shared.bob.run("sdiag", "--reset").returncode != 0
    assert shared.bob.run("sdiag", check=0).stdout


@pytest.mark.parametrize("mode, owner", [(0o666, 0), (0o644, 65534)])
def test_configuration_that_others_may_write_to(mode, owner):
    directory = passable_directory()
    (directory / "minke.toml").write_text("")
    (directory / "minke.toml").chmod(mode)
    os.chown(directory / "minke.toml", owner, 0)
    environment = plain_environment() | {"MINKE_HOME": str(directory / "home"),
                                         "MINKE_CONFIG": str(directory / "minke.toml")}
    program = os.environ.get("MINKE", ROOT / "build/minke")
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "nobody else may write" in done.stderr
    directory.joinpath("home").chmod(0o777)
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "nobody else may write" in done.stderr
    shutil.rmtree(directory)


def test_script_and_environment_are_the_users_alone(shared):
    job = shared.alice.submit("# secret words\necho $SECRET > seen; while sleep 0.1; do :; done",
                              env={"SECRET": "in the air"})
    poll(lambda: (shared.alice.work / "seen").exists())
    assert (shared.alice.work / "seen").read_text() == "in the air\n"
    (shared.alice.work / "seen").unlink()
    for directory in ("", "spool", f"spool/{shared.alice.uid}", "tmp"):
        assert shared.bob.run("ls", shared.home / directory).returncode != 0, directory
    scripts = list((shared.home / "spool" / str(shared.alice.uid)).rglob("slurm_script"))
    assert scripts
    for script in scripts:
        assert shared.bob.run("cat", script).returncode != 0
    for name in ("minke.db", "minke.db-wal", "minked.log", "launcher.log", "launcher.journal"):
        assert shared.bob.run("cat", shared.home / name).returncode != 0, name
    pids = shared.alice.run("scontrol", "listpids", job).stdout.split()
    for pid in [one for one in pids if one.isdigit() and pathlib.Path(f"/proc/{one}/environ").exists()]:
        assert shared.bob.run("cat", f"/proc/{pid}/environ").returncode != 0
    for pid in (shared.pid(), shared.pid("launcher")):
        for file in ("environ", "mem", "maps", "fd/0"):
            assert shared.bob.run("cat", f"/proc/{pid}/{file}").returncode != 0
    shared.alice.run("scancel", job, check=0)


def test_spooled_script_cannot_be_replaced(shared):
    job = shared.bob.submit("sleep 100 # spooled")
    shared.bob.wait_state(job, "RUNNING")
    directory = next(path.parent for path in (shared.home / "spool" / str(shared.bob.uid)).rglob("slurm_script"))
    assert shared.bob.run("ln", "-sf", "/etc/shadow", directory / "slurm_script").returncode != 0
    assert shared.bob.run("touch", directory / "more").returncode != 0
    assert shared.bob.run("mv", directory, str(directory) + "x").returncode != 0
    shared.bob.run("scancel", job, check=0)


def test_other_sockets_are_closed(shared):
    done = shared.bob.python("import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])",
                             shared.home / "launcher.sock", check=1)
    assert done.stderr.endswith("PermissionError: [Errno 13] Permission denied\n")


def test_another_users_home_is_not_taken_for_a_shared_one(shared):
    """A directory that looks shared but is not root's is nobody's cluster."""
    trap = shared.bob.work.parent / f"trap{next(NAMES)}"
    trap.mkdir()
    (trap / "shared").touch()
    os.chown(trap, shared.bob.uid, shared.bob.gid)
    done = shared.alice.run("squeue", env={"MINKE_HOME": str(trap)})
    assert done.returncode != 0 and "belongs to another user" in done.stderr
    trap.rmdir() if not list(trap.iterdir()) else shutil.rmtree(trap)


def test_forged_messages(shared):
    """Sizes, kinds and bytes that no command sends; the sender alone is cut off."""
    program = """
import os, random, socket, struct, sys
random.seed(1)
for attempt in range(60):
    s = socket.socket(socket.AF_UNIX); s.settimeout(2); s.connect(sys.argv[1])
    try:
        kind = attempt % 4
        if kind == 0: s.sendall(os.urandom(2000))
        elif kind == 1: s.sendall(struct.pack("<I", 0xffffffff) + b"x" * 1000)
        elif kind == 2:
            greeting = s.recv(100); s.sendall(greeting)
            for _ in range(20):
                body = bytes(random.randrange(256) for _ in range(random.randrange(200)))
                s.sendall(struct.pack("<I", len(body)) + body)
        else:
            greeting = s.recv(100); s.sendall(greeting)
            socket.send_fds(s, [b"x" * 50], [0, 1, 2] * 20)
    except OSError: pass
    s.close()
"""
    shared.bob.python(program, shared.home / "minked.sock")


def test_too_many_connections_are_the_senders_trouble_alone(shared):
    program = """
import resource, socket, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (4000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
held = []
for _ in range(3000):
    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); held.append(s)
print("all", flush=True); sys.stdin.read()
"""
    greedy = subprocess.Popen(["python3", "-c", program, str(shared.home / "minked.sock")], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, **shared.bob.rights())
    try:
        assert greedy.stdout.readline() == b"all\n"
        shared.alice.run("sinfo", check=0)
    finally:
        greedy.communicate()


def test_environment_does_not_reach_the_daemons_programs(shared):
    job = shared.bob.submit("id -u", env={"LD_PRELOAD": "/nonexistent.so", "BASH_ENV": "/etc/passwd",
                                          "MINKE_LAUNCH": "forged/1.0", "IFS": "x"})
    shared.bob.wait_end(job)
    for pid in (shared.pid(), shared.pid("launcher")):
        assert b"LD_PRELOAD" not in pathlib.Path(f"/proc/{pid}/environ").read_bytes()


def test_log_keeps_its_lines(shared):
    shared.bob.run("sbatch", "-J", "x\n[forged] root did it\x1b[2J", "-o", "/nowhere\nforged/o", "--wrap", "true")
    shared.bob.run("scontrol", "update", "JobId=1", "Comment=a\nforged")
    for name in ("minked.log", "launcher.log"):
        assert not re.search(r"^.?forged|\x1b", (shared.home / name).read_text(errors="replace"), re.M)


ESCAPES = {
    "control group": "for f in $(find /sys/fs/cgroup -name cgroup.procs 2>/dev/null); do echo $$ > $f && echo in $f\n"
                     "done 2>/dev/null",
    "other processors": "taskset -p ffffffff $$ >/dev/null 2>&1; [ $(nproc) -gt $SLURM_CPUS_ON_NODE ] && echo in",
    "ptrace": "python3 - <<'P'\nimport ctypes, os, sys\nfor pid in map(int, os.environ['PIDS'].split()):\n"
              "    if ctypes.CDLL(None).ptrace(16, pid, 0, 0) == 0: print('in', pid)\nP",
    "signal": "for p in $PIDS; do kill -0 $p 2>/dev/null && echo in $p; done",
    "device": "mknod disk b 8 0 2>/dev/null && echo in",
    "raw memory": "head -c1 /dev/mem >/dev/null 2>&1 && echo in",
    "mount": "mount -t tmpfs none /mnt 2>/dev/null && echo in",
    "chroot": "chroot / true 2>/dev/null && echo in",
    "set user": "python3 -c 'import os; os.setuid(0)' 2>/dev/null && echo in",
    "set groups": "python3 -c 'import os; os.setgroups([0])' 2>/dev/null && echo in",
    "nice": "nice -n -5 sh -c '[ $(nice) -lt 0 ]' 2>/dev/null && echo in",
    "descriptors": "for f in /proc/self/fd/*; do case $(readlink $f) in *journal*|*.db*|*socket*|*launcher*)\n"
                   "echo in $f;;\n"
                   "esac; done",
}


@pytest.mark.parametrize("name", ESCAPES)
def test_nothing_of_root_is_left_to_a_job(shared, name):
    pids = f"{shared.pid()} {shared.pid('launcher')}"
    for command in (["srun"], ["salloc", "-Q", "srun"]):
        done = shared.bob.run(*command, "bash", "-c", ESCAPES[name] + "\ntrue", env={"PIDS": pids}, check=0)
        assert "in" not in done.stdout, done.stdout
    job = shared.bob.submit(ESCAPES[name], env={"PIDS": pids})
    assert "in" not in shared.bob.output(job)


def test_unreadable_directory_stays_unreadable(shared):
    (shared.alice.work / "closed").mkdir(mode=0o700, exist_ok=True)
    done = shared.bob.run("srun", "--chdir", shared.alice.work / "closed", "pwd")
    assert done.returncode != 0 or done.stdout == "/tmp\n"


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


def test_time_limit_is_told_with_the_users_rights(shared):
    """The line for a job's standard error goes through the job's own descriptor: one that was opened for reading, of a
    file that only root may write to, stays as it is."""
    target = shared.directory / "readable"
    target.write_text("root's\n")
    target.chmod(0o644)
    job = shared.bob.submit(f"touch runs; exec 2< {target}; while sleep 0.1; do :; done")
    poll(lambda: (shared.bob.work / "runs").exists())
    shared.bob.run("scancel", job, check=0)
    shared.bob.wait_end(job)
    assert target.read_text() == "root's\n"
    (shared.bob.work / "runs").unlink()


@pytest.fixture
def with_private_tmp():
    one = Shared("private_tmp = true\n", parent="/var/tmp")
    yield one
    one.close()


def test_private_directories(with_private_tmp):
    """/tmp and /dev/shm are each job's own, the same to all its steps, and gone with it."""
    one = with_private_tmp
    marks = {directory: pathlib.Path(directory) / f"mark{os.getpid()}" for directory in ("/tmp", "/dev/shm")}
    script = "\n".join(f"ls -A {directory}; echo hers > {mark}; srun cat {mark}; srun cp {mark} {mark}.step\n"
                       f"cat {mark}.step; stat -c %U:%a {directory}" for directory, mark in marks.items())
    job = one.alice.submit(script + "\ntouch there; while [ ! -e go ]; do sleep 0.05; done")
    poll(lambda: (one.alice.work / "there").exists())
    for directory, mark in marks.items():
        assert not mark.exists()
        assert one.bob.run("srun", "ls", "-A", directory, check=0).stdout == ""
        assert one.alice.run("srun", "--overlap", f"--jobid={job}", "cat", mark, check=0).stdout == "hers\n"
    for hidden in (one.home / "shm", one.home / "tmp" / f"job{job}.tmp"):
        assert one.bob.run("ls", hidden).returncode != 0
    (one.alice.work / "go").touch()
    assert one.alice.output(job).splitlines() == ["hers", "hers", f"{one.alice.name}:700"] * 2
    assert not list((one.home / "tmp").glob("job*"))
    poll(lambda: not list((one.home / "shm").iterdir()), what="the end of what was kept for her next job")
    assert one.bob.run("srun", "bash", "-c", "umount /tmp 2>/dev/null && echo in; true", check=0).stdout == ""


def test_private_directories_are_removed_after_a_crash(with_private_tmp):
    one = with_private_tmp
    job = one.alice.submit("echo left > /tmp/left; echo left > /dev/shm/left; touch there; sleep 100", "--no-requeue")
    poll(lambda: (one.alice.work / "there").exists())
    os.kill(one.pid("launcher"), signal.SIGKILL)
    assert one.alice.wait_end(job)["JobState"] == "NODE_FAIL"
    assert not list((one.home / "tmp").glob("job*")) and not list((one.home / "shm").iterdir())
    assert one.bob.run("srun", "ls", "-A", "/tmp", "/dev/shm", check=0).stdout == "/dev/shm:\n\n/tmp:\n"


def test_home_below_a_private_tmp_is_refused():
    directory = passable_directory()
    (directory / "minke.toml").write_text("private_tmp = true\n")
    environment = plain_environment() | {"MINKE_HOME": str(directory / "home"),
                                         "MINKE_CONFIG": str(directory / "minke.toml")}
    program = os.environ.get("MINKE", ROOT / "build/minke")
    done = subprocess.run([program, "up", "--shared"], env=environment, capture_output=True, text=True)
    assert done.returncode == 1 and "neither the home nor tmp_root may be there" in done.stderr
    shutil.rmtree(directory)
