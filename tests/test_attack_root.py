"""What a user tries so that root does something for him: opens, writes, removes, executes or waits for what he chose."""
import datetime
import os
import pathlib
import pwd
import shutil
import subprocess

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared
from test_attacks import ended, process_with
from webhook_server import WebhookServer
from wire import frame, greeting, protocol

MINKE_ONLY = True
pytestmark = NEEDS_ROOT


@pytest.fixture(autouse=True)
def serves(request):
    """After each test the cluster runs as before, and serves others."""
    yield
    if "shared" in request.fixturenames:
        one = request.getfixturevalue("shared")
        assert one.bob.run("srun", "echo", "served", check=0).stdout == "served\n"


def request_bytes(fill) -> str:
    """A request, as it goes over the wire, in hexadecimal."""
    message = protocol().ClientMessage(request_id=1)
    fill(message)
    return (greeting() + frame(message.SerializeToString())).hex()


def submission(user, **fields):
    """Fills in a submission that no command would send."""
    def fill(message):
        message.submit.key = os.urandom(16)
        message.submit.script = b"" if fields.get("interactive") else b"#!/bin/sh\ntrue\n"
        message.submit.environment = b"PATH=/bin:/usr/bin\0"
        spec = message.submit.spec
        spec.work_dir, spec.stdout_path = str(user.work).encode(), b"/dev/null"
        for name, value in fields.items():
            setattr(spec, name, value)
    return fill


SENDS = """
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(bytes.fromhex(sys.argv[2]))
answer = s.recv(65536)
while len(answer) < 16:
    answer += s.recv(65536)
print(answer.hex())
"""


def send(shared, user, request: str) -> bytes:
    """The answer to it, undecoded."""
    return bytes.fromhex(user.python(SENDS, shared.home / "minked.sock", request).stdout.strip())


# ---- notices on the standard error of a process --------------------------------------------------------


class Allocation:
    """An salloc of a user's whose standard error is what the shell's `redirection` says."""

    def __init__(self, user, name: str, redirection: str):
        self.user = user
        command = f"exec salloc -J {name} -n1 -Q sleep 1000 {redirection}"
        self.process = subprocess.Popen(["sh", "-c", command], cwd=user.work, env=user.environment, **user.rights(),
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.job = poll(lambda: user.run("squeue", "-h", "--me", "-n", name, "-t", "R", "-o", "%A").stdout.strip(),
                        20, "the allocation")

    def close(self):
        self.user.run("scancel", self.job)
        self.process.kill()
        self.process.wait()


def test_a_notice_is_written_with_the_rights_of_who_gets_it(shared):
    """A file that the user may only read, as salloc's standard error, stays as it is."""
    target = shared.directory / "roots"
    target.write_text("root's\n")
    target.chmod(0o644)
    attack = Allocation(shared.alice, "attack", f"2< {target}")
    control = Allocation(shared.alice, "control", "2>> said")
    try:
        shared.alice.run("scontrol", "notify", attack.job, "planted", check=0)
        shared.alice.run("scontrol", "notify", control.job, "hello", check=0)
        # One user's notices are written one after the other.
        poll(lambda: "salloc: hello\n" in (shared.alice.work / "said").read_text(), 20, "the second notice")
        assert target.read_text() == "root's\n"
    finally:
        attack.close()
        control.close()


def test_a_pipe_that_nobody_reads_keeps_no_notice_back(shared):
    os.mkfifo(shared.alice.work / "full")
    os.chown(shared.alice.work / "full", shared.alice.uid, shared.alice.gid)
    pipe = Allocation(shared.alice, "pipe", "2<> full")
    control = Allocation(shared.bob, "control", "2>> said")
    try:
        filled = os.open(shared.alice.work / "full", os.O_WRONLY | os.O_NONBLOCK)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(filled, b"x" * 65536)
        for _ in range(3):
            shared.alice.run("scontrol", "notify", pipe.job, "x" * 4000, check=0)
        shared.bob.run("scontrol", "notify", control.job, "hello", check=0)
        poll(lambda: "hello" in (shared.bob.work / "said").read_text(), 20, "bob's notice")
        os.close(filled)
    finally:
        pipe.close()
        control.close()


# ---- the process at the other end of a connection ------------------------------------------------------

LENDS = """
import os, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
print(os.getpid(), flush=True)
if os.fork():
    os._exit(0)
os.setsid()
sys.stdin.readline()
s.sendall(bytes.fromhex(sys.argv[2]))
s.recv(65536)
print("sent", flush=True)
sys.stdin.readline()
"""


def test_a_connection_does_not_stand_for_who_has_the_number_now(shared):
    """Who connected has ended, and a process of bob's has its number: the allocation is not bob's process's, and alice
    writes nothing to its standard error."""
    alice, bob = shared.alice, shared.bob
    request = request_bytes(submission(alice, interactive=True, name=b"stale"))
    client = subprocess.Popen(["python3", "-c", LENDS, shared.home / "minked.sock", request], text=True, cwd=alice.work,
                              env=alice.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **alice.rights())
    victim = None
    try:
        pid = int(client.stdout.readline())
        client.wait()
        poll(lambda: ended(pid), 10, "its end")
        victim = process_with(pid, bob)
        client.stdin.write("\n")
        client.stdin.flush()
        assert client.stdout.readline() == "sent\n"
        job = poll(lambda: alice.run("sacct", "-n", "-X", "-P", "-o", "JobID", "--name=stale").stdout.strip(), 20,
                   "the allocation's record")
        # Nobody owns it, so it ends at once.
        poll(lambda: alice.run("squeue", "-h", "-j", job).stdout == "", 20, "the allocation's end")
        assert alice.run("scontrol", "notify", job, "planted").returncode != 0
        assert victim.poll() is None
    finally:
        client.stdin.close()
        client.stdout.close()
        if victim is not None:
            victim.kill()
            victim.wait()
        alice.run("scancel", "-n", "stale", "--me")


# ---- mail ----------------------------------------------------------------------------------------------

# A mail(1) that does what others do: "|command" is a command, and what has a slash, or begins with "=", a file.
MAIL = """#!/bin/bash
text=$(cat)
shift 2
{{ id -un; printf '%s\\n' "$@"; }} >> {log}
for one; do
  case $one in
    "|"*) sh -c "${{one#|}}" <<< "$text";;
    "="*) echo "$text" >> "${{one#=}}";;
    */*) echo "$text" >> "$one";;
  esac
done
"""


@pytest.fixture(scope="module")
def mailing():
    one = Shared()
    program, log = one.directory / "mail", one.directory / "mail.log"
    log.touch()
    log.chmod(0o666)
    program.write_text(MAIL.format(log=log))
    program.chmod(0o755)
    one.minke("down")
    (one.home / "slurm.conf").write_text(f"MailProg={program}\n")
    one.minke("up", "--shared")
    one.log = log
    yield one
    one.close()


@pytest.mark.parametrize("address", ["|touch {place}", "{place}", "={place}", "me,|touch {place}", "me, ={place}", "+{place}",
                                     "-s{place}", "`touch {place}`", "$(touch {place})@x/y"])
def test_an_address_is_no_command_and_no_file(mailing, address):
    """Neither by sbatch, nor by a request that no command would send."""
    alice, place = mailing.alice, mailing.directory / "planted"
    address = address.format(place=place)
    alice.run("sbatch", "--mail-type=END", f"--mail-user={address}", "--wrap=true")
    send(mailing, alice, request_bytes(submission(alice, mail_type=b"END", mail_user=address.encode(), name=b"forged")))
    held = alice.submit("true", "--hold", "--mail-type=END")
    alice.run("scontrol", "update", f"JobId={held}", f"MailUser={address}")
    alice.run("scontrol", "release", held, check=0)
    control = alice.submit("true", "--mail-type=END", f"--mail-user=after{held}@example.org")
    alice.wait_end(control)
    poll(lambda: f"after{held}@example.org" in mailing.log.read_text(), 60, "the last message")
    assert not place.exists() and str(place) not in mailing.log.read_text()


def test_a_mail_program_has_not_roots_rights(mailing):
    mailing.alice.submit("true", "--mail-type=END", "--mail-user=rights@example.org")
    poll(lambda: "rights@example.org" in mailing.log.read_text(), 60, "the message")
    lines = mailing.log.read_text().splitlines()
    assert lines[lines.index("rights@example.org") - 1] == pwd.getpwuid(65534).pw_name


def test_scripts_with_a_place_for_an_address_are_taken(mailing):
    """As Slurm takes them; no mail is sent, and sbatch says so."""
    done = mailing.alice.run("sbatch", "--mail-type=END", "--mail-user=<Your Email>", "--wrap=true", check=0)
    assert "no mail will be sent" in done.stderr and "<Your Email>" in done.stderr


# ---- waiting -------------------------------------------------------------------------------------------

STOPS = """
import os, signal, sys, time
until = time.monotonic() + float(sys.argv[1])
while time.monotonic() < until:
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                if b"storage-keep" in open(f"/proc/{name}/cmdline", "rb").read():
                    os.kill(int(name), signal.SIGSTOP)
                    print("stopped", flush=True)
            except OSError:
                pass
"""


@pytest.fixture
def storage():
    disks = pathlib.Path(subprocess.run(["mktemp", "-d", "/tmp/minke-disks-XXXXXX"], check=True, text=True,
                                        capture_output=True).stdout.strip())
    disks.chmod(0o755)
    one = Shared(tables=f'\n[storage]\nprofile = "narval"\nroot = "{disks}"\npurge = true\nsnapshots = true\n')
    one.disks = disks
    for user in (one.alice, one.bob):
        one.minke("storage", "init", "--user", user.name)
    yield one
    one.close()
    shutil.rmtree(disks, ignore_errors=True)


def local(month, day, hour=12):
    return str(int(datetime.datetime(2031, month, day, hour).timestamp()))


def test_a_user_who_stops_what_works_for_him_keeps_nobody_waiting(storage):
    """The keeper's child that has the user's rights is the user's to stop; others' turn comes all the same."""
    alice, bob = storage.alice, storage.bob
    makes = "import os, sys\nfor i in range(int(sys.argv[2])): open(f'{sys.argv[1]}/{i}', 'w').close()"
    alice.python(makes, storage.disks / "scratch" / alice.name, 20000)
    bob.python(makes, storage.disks / "scratch" / bob.name, 3)
    attack = subprocess.Popen(["python3", "-c", STOPS, "60"], env=alice.environment, stdout=subprocess.PIPE, text=True,
                              **alice.rights())
    keeper = subprocess.Popen([storage.program, "storage-keep", storage.home, storage.root["MINKE_CONFIG"], local(11, 1)],
                              env=storage.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        said = keeper.communicate(timeout=40)[1]
        assert "took too long" in said or "looked through" in said, said
        assert (storage.disks / "scratch/to_delete" / bob.name).exists()
    finally:
        attack.kill()
        attack.communicate()
        subprocess.run(["pkill", "-KILL", "-U", str(alice.uid)], check=False)
        keeper.kill()
        keeper.communicate()


# ---- snapshots -----------------------------------------------------------------------------------------


def keep(storage, now: int) -> str:
    done = subprocess.run([storage.program, "storage-keep", storage.home, storage.root["MINKE_CONFIG"], str(now)],
                          env=storage.root, capture_output=True, text=True, timeout=120)
    return done.stderr


def test_a_snapshot_takes_nothing_with_it_that_was_moved_into_it(storage):
    """A directory of bob's that his group may write to, moved into a snapshot of alice's, with things in it that she could
    not remove."""
    alice, bob = storage.alice, storage.bob
    common = storage.directory / "common"
    common.mkdir()
    common.chmod(0o777)
    alice.python("import os; os.makedirs('own/deep'); open('own/deep/file', 'w').write('x')")
    bob.python("import os, sys; os.chdir(sys.argv[1]); os.makedirs('bobs/private'); open('bobs/private/thesis', 'w').write('x')\n"
               "os.chmod('bobs/private', 0o700); os.chmod('bobs', 0o777)", common)
    day, now = 86400, int(subprocess.run(["date", "+%s"], capture_output=True, text=True, check=True).stdout)
    keep(storage, now)
    snapshot, = (alice.work / ".snapshots").glob("@GMT-*")
    alice.python("import os, sys; os.rename(sys.argv[1], sys.argv[2])", common / "bobs", snapshot / "own/taken")
    said = ""
    for i in range(1, 34):
        said += keep(storage, now + i * day)
    assert not snapshot.exists(), "the snapshot has expired"
    thesis = list(alice.work.glob(".snapshots/**/thesis")) + list(common.glob("**/thesis"))
    assert len(thesis) == 1 and thesis[0].read_text() == "x"
    # What was the snapshot's own is gone, and the keeper does not stumble over the rest for ever.
    assert not list(alice.work.glob(".snapshots/left-*/own/deep"))
    assert said.count("left-") == 1 and "left-" not in keep(storage, now + 40 * day)


@pytest.mark.parametrize("name", [".making", ".removing"])
def test_directories_with_names_of_the_keepers_are_not_emptied(storage, name):
    """A .snapshots of the user's own, with what a killed keeper would have left."""
    alice, bob = storage.alice, storage.bob
    alice.python("import os, sys; os.makedirs('.snapshots/' + sys.argv[1]); os.makedirs('.snapshots/@GMT-2001.01.01-00.00.00')\n"
                 "os.chmod('.snapshots/' + sys.argv[1], 0o777); os.chmod('.', 0o755)", name)
    bob.python("import os, sys; os.makedirs(sys.argv[1] + '/bobs'); open(sys.argv[1] + '/bobs/file', 'w').write('x')\n"
               "os.chmod(sys.argv[1] + '/bobs', 0o755)", alice.work / ".snapshots" / name)
    keep(storage, 1763000000)
    keep(storage, 1763000000 + 86400 * 40)
    assert (alice.work / ".snapshots" / name / "bobs/file").read_text() == "x"


# ---- the cache of staged data --------------------------------------------------------------------------

ASKS = """
import os, socket, sys
root, source, directory = sys.argv[1:4]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.settimeout(120)
s.connect(root + "/.stage.sock")
socket.send_fds(s, [os.path.basename(source).encode()], [os.open(source, os.O_RDONLY), os.open(directory, os.O_RDONLY | os.O_DIRECTORY)])
print(s.recv(9999).decode())
"""


@pytest.fixture(scope="module")
def staging():
    one = Shared(tables='\n[storage]\ncache_quota = "64M"\n')
    poll((one.home / "tmp/.stage.sock").exists, what="the server of staged data")
    yield one
    one.close()


def cached_bytes(cluster) -> int:
    return sum(path.lstat().st_blocks * 512 for path in (cluster.home / "tmp/.stage-cache").rglob("*"))


def test_archives_that_become_much_are_stopped(staging):
    """Each of them is small, and becomes a gigabyte: all of them together take no more of the disk than the user's part."""
    alice = staging.alice
    alice.python("import tarfile, io\n"
                 "class Zeros:\n"
                 "    def __init__(self, n): self.n = n\n"
                 "    def read(self, n=-1):\n"
                 "        n = min(self.n, n); self.n -= n; return bytes(n)\n"
                 "for i in range(3):\n"
                 "    with tarfile.open(f'bomb{i}.tar.gz', 'w:gz') as t:\n"
                 "        info = tarfile.TarInfo('zeros'); info.size = 400 << 20; t.addfile(info, Zeros(info.size))\n")
    job = alice.submit("echo $SLURM_TMPDIR > where; mv where there; sleep 1000")
    directory = poll(lambda: (alice.work / "there").exists() and (alice.work / "there").read_text().strip(), 20, "the job")
    for i in range(3):
        alice.python(ASKS, staging.home / "tmp", alice.work / f"bomb{i}.tar.gz", directory)
    assert cached_bytes(staging) < 200 << 20
    # Others have their own part.
    staging.bob.python("import os; open('small', 'w').write('x' * 1000); os.chmod('.', 0o755)")
    told = staging.bob.output(staging.bob.submit(f"minke stage -q {staging.bob.work}/small && readlink $SLURM_TMPDIR/small"))
    assert ".stage-cache" in told
    alice.run("scancel", job, check=0)


def test_an_entry_stays_for_jobs_alone(staging):
    """The directory of a user's own cache lies beside those of jobs, and stays: it is no job."""
    alice = staging.alice
    alice.output(alice.submit("#!/bin/bash\n#MINKE stage=/etc/hostname\ntrue"))
    own = staging.home / "tmp" / f"stage-cache-{alice.uid}"
    assert own.exists()
    alice.python("open('data', 'w').write('x')")
    assert "no directory of a job" in alice.python(ASKS, staging.home / "tmp", alice.work / "data", own).stdout


# ---- web hooks -----------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def hooking():
    one = Shared(tables="[mail]\nwebhooks = [\"localhost\"]\nretry = 1\n")
    one.hooks = WebhookServer()
    yield one
    one.close()
    one.hooks.close()


def named_hooks(user) -> pathlib.Path:
    """The file of a user's web hooks, which is not there yet."""
    file = user.work / ".config" / "minke" / "webhooks.toml"
    user.run("mkdir", "-p", file.parent, check=0)
    user.run("rm", "-rf", file, check=0)
    return file


def said_of(machine, job: int) -> str:
    def lines() -> list[str]:
        return [line for line in (machine.home / "minked.log").read_text().splitlines()
                if f"mail to chat@webhook about job {job} " in line]
    poll(lines, 60, "the log")
    return lines()[0]


def test_a_web_hook_is_asked_for_as_its_owner(hooking):
    alice, hooks = hooking.alice, hooking.hooks
    file = named_hooks(alice)
    alice.python(f"open({str(file)!r}, 'w').write('chat = \"http://localhost:{hooks.port}/alice\"')")
    alice.run("chmod", "600", file, check=0)
    job = alice.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    assert said_of(hooking, job).endswith(" was sent")
    [(path, document, uid)] = hooks.got
    assert (path, document["user"]) == ("/alice", alice.name) and uid == alice.uid
    # The same name of another user leads to that user's own file.
    other = hooking.bob.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    assert "cannot be read: " in said_of(hooking, other) and len(hooks.got) == 1


@pytest.mark.parametrize("trick", ["a link to root's file", "a pipe", "a directory", "an endless file"])
def test_a_file_of_web_hooks_reaches_none_of_roots(hooking, trick):
    alice, hooks = hooking.alice, hooking.hooks
    secret = hooking.directory / "roots.toml"
    secret.write_text(f'chat = "http://localhost:{hooks.port}/secret"\n')
    secret.chmod(0o600)
    file = named_hooks(alice)
    make = {"a link to root's file": ("ln", "-s", secret), "a pipe": ("mkfifo",), "a directory": ("mkdir",),
            "an endless file": ("ln", "-s", "/dev/zero")}[trick]
    alice.run(*make, file, check=0)
    job = alice.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    assert "was sent" not in said_of(hooking, job)
    assert "/secret" not in [path for path, *_ in hooks.got]
    named_hooks(alice)


def test_a_slow_web_hook_delays_nobody_elses(hooking):
    alice, bob, hooks = hooking.alice, hooking.bob, hooking.hooks
    alice.run("mkfifo", named_hooks(alice), check=0)  # nobody writes to it
    own = named_hooks(bob)
    bob.python(f"open({str(own)!r}, 'w').write('chat = \"http://localhost:{hooks.port}/bob\"')")
    for _ in range(3):
        alice.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    bob.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    poll(lambda: "/bob" in [path for path, *_ in hooks.got], 60, "bob's web hook")
    named_hooks(alice)


# ---- commands ------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def commanding():
    one = Shared(tables="[mail]\ncommands = true\nretry = 1\n")
    yield one
    one.close()


def command(user, name: str, *words) -> None:
    """Gives the user's command that name and these words."""
    file = user.work / ".config" / "minke" / "commands.toml"
    user.run("mkdir", "-p", file.parent, check=0)
    user.python(f"import json; open({str(file)!r}, 'w').write({name!r} + ' = ' + json.dumps({[str(word) for word in words]!r}) + chr(10))")


def became(machine, name: str, job: int) -> str:
    def lines() -> list[str]:
        return [line for line in (machine.home / "minked.log").read_text().splitlines()
                if f"mail to {name}@command about job {job} " in line]
    poll(lines, 60, "the log")
    return lines()[0]


LOOKS = """
import json, os, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
json.dump({"uid": os.getresuid(), "gid": os.getresgid(), "groups": os.getgroups(), "caps": status["CapPrm"].strip() + status["CapAmb"].strip(),
           "environment": dict(os.environ), "cwd": os.getcwd(),
           "open": [os.readlink(f"/proc/self/fd/{fd}") for fd in (0, 1, 2)], "more": [fd for fd in range(3, 256) if os.path.exists(f"/proc/self/fd/{fd}")]},
          open(sys.argv[1] + ".part", "w"))
os.rename(sys.argv[1] + ".part", sys.argv[1])
"""


def test_a_command_is_its_owner_and_has_nothing_of_roots(commanding):
    alice = commanding.alice
    told = alice.work / "told.json"
    command(alice, "look", "python3", "-c", LOOKS, told)
    job = alice.submit("true", "--mail-type=END", "--mail-user=look@command")
    assert became(commanding, "look", job).endswith(" was sent")
    import json
    seen = json.loads(told.read_text())
    assert seen["uid"] == [alice.uid] * 3 and 0 not in seen["gid"] + seen["groups"] and set(seen["caps"]) == {"0"}
    assert seen["open"] == ["/dev/null"] * 3 and len(seen["more"]) <= 1  # its own look at the directory
    assert set(seen["environment"]) - {"LC_CTYPE"} == {"HOME", "USER", "LOGNAME", "SHELL", "PATH", "MINKE_HOME", "MINKE_JOB_ID", "MINKE_JOB_NAME",
                                       "MINKE_JOB_STATE", "MINKE_JOB_EXIT_STATUS", "MINKE_EVENT", "MINKE_CLUSTER", "MINKE_TEXT"}
    # The same name of another user is that user's own, who has none.
    other = commanding.bob.submit("true", "--mail-type=END", "--mail-user=look@command")
    assert "commands.toml cannot be read" in became(commanding, "look", other)


HIDES = """
import os, signal, sys, time
for name in ("SIGTERM", "SIGHUP", "SIGINT"):
    signal.signal(getattr(signal, name), signal.SIG_IGN)
for _ in range(200):
    try:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                break
            os._exit(0)
    except OSError:
        break
print("x" * 1000000, flush=True)
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("trick", ["forks and hides", "forks and ends", "stops itself", "ends its keeper", "reads a pipe"])
def test_no_command_outlives_its_time(commanding, trick):
    """Whatever it does, it ends with all that it started, and nobody else waits for it."""
    alice, bob = commanding.alice, commanding.bob
    mark = f"command-{os.getpid()}-{trick.replace(' ', '-')}"
    words = {"forks and hides": ("python3", "-c", HIDES, mark),
             "forks and ends": ("sh", "-c", f"setsid sh -c 'sleep 600; : {mark}' & exit 0"),
             "stops itself": ("sh", "-c", f"kill -STOP $$; : {mark}"),
             "ends its keeper": ("sh", "-c", f"kill -9 1; kill -STOP 1; kill -9 $PPID; sleep 600; : {mark}"),
             "reads a pipe": ("cat", alice.work / mark)}[trick]
    if trick == "reads a pipe":
        alice.run("mkfifo", alice.work / mark, check=0)
    command(alice, "trick", *words)
    command(bob, "note", "touch", bob.work / mark)
    job = alice.submit("true", "--mail-type=END", "--mail-user=trick@command")
    bob.submit("true", "--mail-type=END", "--mail-user=note@command")
    poll((bob.work / mark).exists, 60, "bob's command")
    end = became(commanding, "trick", job)
    assert end.endswith(" was sent") if trick == "forks and ends" else "was refused: it took too long" in end, end
    left = lambda: [one for one in pathlib.Path("/proc").glob("[0-9]*/cmdline") if mark in read(one)]
    poll(lambda: not left(), 10, "their end")
    assert alice.run("srun", "echo", "served", check=0).stdout == "served\n"


def read(path: pathlib.Path) -> str:
    try:
        return path.read_bytes().decode(errors="replace")
    except OSError:
        return ""


@pytest.mark.parametrize("trick", ["a link to root's file", "a pipe", "an endless file"])
def test_a_file_of_commands_reaches_none_of_roots(commanding, trick):
    alice = commanding.alice
    secret = commanding.directory / "roots-commands.toml"
    secret.write_text(f'steal = ["touch", "{alice.work}/stolen"]\n')
    secret.chmod(0o600)
    command(alice, "steal", "true")
    file = alice.work / ".config" / "minke" / "commands.toml"
    alice.run("rm", file, check=0)
    make = {"a link to root's file": ("ln", "-s", secret), "a pipe": ("mkfifo",), "an endless file": ("ln", "-s", "/dev/zero")}[trick]
    alice.run(*make, file, check=0)
    job = alice.submit("true", "--mail-type=END", "--mail-user=steal@command")
    assert "was sent" not in became(commanding, "steal", job)
    assert not (alice.work / "stolen").exists()
    alice.run("rm", file, check=0)
