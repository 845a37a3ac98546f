"""What a malicious user tries on a cluster of root's: refused, with everybody else undisturbed."""
import grp
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import pytest

from cluster import ROOT, poll
from shared import NAMES, NEEDS_ROOT, Shared, passable_directory
from wire import frame, greeting, protocol

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]


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
    job = shared.alice.submit("trap 'touch signalled' TERM USR1 CONT\nsrun sleep 1000 &\nwhile sleep 0.05; do :; done",
                              "--comment=hers")
    shared.alice.wait_state(job, "RUNNING")
    poll(lambda: f"{job}.0" in shared.alice.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout)
    done = shared.bob.run(*command.format(job=job, alice=shared.alice.name).split())
    if not command.startswith("scancel -u") and "--me" not in command:
        assert done.returncode != 0, (done.stdout, done.stderr)
    assert "sleep 1000" not in done.stdout and f"uid={shared.alice.uid}" not in done.stdout
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
    job = shared.alice.submit("sleep 1000", "--time=5")
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
        done = shared.bob.run("srun", f"--output=/proc/self/fd/{number}", "echo", "said-by-bob")
        assert done.returncode != 0 and "Could not open" in done.stderr, (number, done.stderr)
    for path in ("/dev/stderr", "/proc/self/fd/2", "/dev/fd/1"):
        shared.bob.run("srun", f"--output={path}", "echo", "said-by-bob")
    assert "said-by-bob" not in (shared.home / "launcher.log").read_text()
    assert "said-by-bob" not in (shared.home / "minked.log").read_text()


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


def test_removal_of_the_temporary_directory_stays_in_it(shared):
    victim = shared.directory / "victim"
    victim.mkdir()
    (victim / "file").write_text("root's")
    job = shared.bob.submit(f"""cd $SLURM_TMPDIR
ln -s {victim} link; ln -s {victim}/file flink; mkdir -p a/b/c; chmod 000 a/b; mkfifo pipe
mkdir d; ( cd d; ln -s {victim} . ); mkdir -m 0 locked""")
    shared.bob.wait_end(job)
    assert (victim / "file").read_text() == "root's"
    poll(lambda: not list((shared.home / "tmp").glob("job*")), what="the end of the job's directory")


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
    messages = protocol()
    message = messages.ClientMessage(request_id=1)
    fill(message)
    program = """
import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(120); s.connect(sys.argv[1])
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
    job = shared.alice.submit("sleep 1000", "--comment=hers")
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
    messages = protocol()
    request = messages.ClientMessage(request_id=1)
    request.query_config.SetInParent()
    said = shared.bob.python(program, shared.home / "minked.sock", greeting().hex(),
                             frame(request.SerializeToString()).hex()).stdout
    assert said == "cut off\n"


def test_fork_bomb_leaves_room(shared):
    findings = json.loads(shared.root_run("minke", "doctor", "--json").stdout)["findings"]
    if not any(one["what"].startswith("jobs are confined") for one in findings):
        pytest.skip("no control groups: " + str(findings))
    job = shared.bob.submit("sleep 1000")
    shared.bob.wait_state(job, "RUNNING")
    pid = shared.bob.run("scontrol", "listpids", job, check=0).stdout.split("\n")[1].split()[0]
    own = re.search(r"(?:pids|0:):(\S*/minke\+[^/\n]+/[^/\n]+)", pathlib.Path(f"/proc/{pid}/cgroup").read_text())[1]
    limits = [pathlib.Path(above) / "pids.max" for above, _, files in os.walk("/sys/fs/cgroup")
              if "pids.max" in files and above.endswith(own)]
    assert [path.read_text().strip() for path in limits] == ["16384"]
    shared.bob.run("scancel", job, check=0)


def test_users_reset_no_statistics(shared):
    assert shared.bob.run("sdiag", "--reset").returncode != 0
    assert shared.bob.run("sdiag", check=0).stdout


def spooled(shared, user) -> list[pathlib.Path]:
    """The scripts of this user's jobs. os.walk does not mind that one is removed meanwhile."""
    return [pathlib.Path(above) / "slurm_script" for above, _, files in os.walk(shared.home / "spool" / str(user.uid))
            if "slurm_script" in files]


def test_script_and_environment_are_the_users_alone(shared):
    job = shared.alice.submit("# secret words\necho $SECRET > seen; while sleep 0.1; do :; done",
                              env={"SECRET": "in the air"})
    seen = shared.alice.work / "seen"
    assert poll(lambda: seen.exists() and seen.read_text()) == "in the air\n"
    (shared.alice.work / "seen").unlink()
    for directory in ("", "spool", f"spool/{shared.alice.uid}", "tmp"):
        assert shared.bob.run("ls", shared.home / directory).returncode != 0, directory
    scripts = spooled(shared, shared.alice)
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
    job = shared.bob.submit("sleep 1000 # spooled")
    shared.bob.wait_state(job, "RUNNING")
    directory = spooled(shared, shared.bob)[0].parent
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


def process_with(pid: int, user) -> subprocess.Popen:
    """A process of the user's that has the number of one that has ended."""
    def attempt():
        pathlib.Path("/proc/sys/kernel/ns_last_pid").write_text(str(pid - 1))
        child = subprocess.Popen(["sleep", "1000"], user=user.uid, group=user.gid, extra_groups=[])
        if child.pid == pid:
            return child
        child.kill()
        child.wait()
    return poll(attempt, 30, f"a process with the number {pid}")


def ended(pid: int) -> bool:
    return not pathlib.Path(f"/proc/{pid}").exists()


def test_number_of_an_ended_process_is_anothers_now(shared):
    """What is signalled is the job's process, not whoever has its number: neither when the job is cancelled..."""
    job = shared.alice.submit("(echo $BASHPID >left; exec sleep 0.1) & wait; touch ready; exec sleep 1000")
    poll(lambda: (shared.alice.work / "ready").exists(), 20, "the script's last line")
    left = process_with(int((shared.alice.work / "left").read_text()), shared.bob)
    shared.alice.run("scancel", "--full", job, check=0)
    shared.alice.wait_state(job, "CANCELLED")
    # ... nor when its script has been killed behind the launcher's back.
    job = shared.alice.submit("echo $$ >pid; touch started; exec sleep 1000", "--no-requeue")
    poll(lambda: (shared.alice.work / "started").exists(), 20, "the second script's last line")
    pid = int((shared.alice.work / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    poll(lambda: ended(pid), 10, "its end")
    other = process_with(pid, shared.bob)
    shared.alice.run("scancel", "-s", "KILL", job)
    shared.alice.run("scancel", job)
    shared.alice.wait_end(job)
    for process in (left, other):
        assert process.poll() is None
        process.kill()
        process.wait()


def test_number_of_a_client_that_was_killed(shared):
    """A step ends with its srun, also when another process has srun's number at once."""
    with subprocess.Popen(["srun", "sleep", "1000"], cwd=shared.alice.work, env=shared.alice.environment,
                          executable=shutil.which("srun", path=shared.alice.environment["PATH"]),
                          **shared.alice.rights()) as client:
        try:
            job = poll(lambda: shared.alice.run("squeue", "-h", "--me", "-n", "sleep", "-t", "R", "-o", "%A").stdout.strip(),
                       20, "the job")
            poll(lambda: shared.alice.run("squeue", "-h", "-s", "-j", job).stdout.strip(), 20, "the step")
        finally:
            client.kill()
        client.wait()
        other = process_with(client.pid, shared.bob)
    try:
        shared.alice.wait_end(job)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_pipes_that_nobody_reads_hold_nobody_up(shared):
    os.mkfifo(shared.alice.work / "pipe")
    os.chown(shared.alice.work / "pipe", shared.alice.uid, shared.alice.gid)
    jobs = [shared.alice.submit("true", "--output=pipe", "--input=pipe"), shared.alice.submit("true", "--output=pipe")]
    assert shared.bob.output(shared.bob.submit("echo mine")) == "mine\n"
    shared.alice.run("scancel", *jobs, check=0)
    for job in jobs:
        shared.alice.wait_end(job)


@pytest.fixture
def small():
    """A cluster whose jobs have their directories on the disk that it keeps its own records and program on, with 4 MiB left."""
    disk = passable_directory()
    program = pathlib.Path(os.environ.get("MINKE", ROOT / "build/minke"))
    size = program.stat().st_size + (4 << 20)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0755", "tmpfs", str(disk)], check=True)
    one = None
    try:
        one = Shared(parent=str(disk))
        yield one
    finally:
        if one is not None:
            one.close()
        subprocess.run(["umount", "-l", str(disk)], check=True)
        disk.rmdir()


def test_disk_that_is_filled(small):
    """Others are told why they have to wait, nothing is lost, and who fills it can be stopped."""
    kept = small.bob.submit("echo kept", "--hold")
    job = small.alice.submit("cd $SLURM_TMPDIR; dd if=/dev/zero of=all bs=1M 2>/dev/null; dd if=/dev/zero of=rest bs=1 "
                             "2>/dev/null; touch ~/full; sleep 1000")
    poll(lambda: (small.alice.work / "full").exists(), 30, "the disk is full")
    refused = small.bob.run("sbatch", "--wrap", "true", check=1)
    assert "No space left on device" in refused.stderr
    assert small.bob.state(kept) == "PENDING"
    assert small.otto.run("scancel", job).returncode == 0
    small.alice.wait_state(job, "CANCELLED")
    small.bob.run("scontrol", "release", kept, check=0)
    assert small.bob.output(kept) == "kept\n"
