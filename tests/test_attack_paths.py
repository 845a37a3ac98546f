"""Paths that a user names, in every option that takes one, and what he may see and change of the cluster's own directories."""
import io
import os
import pathlib
import socket
import stat
import subprocess
import tarfile
import time

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]

SECRET = "the secret of root's"


@pytest.fixture(scope="module")
def secret(shared):
    """A file that only root reads, and one that everybody reads and only root writes."""
    place = shared.directory / "roots"
    place.mkdir(mode=0o755)
    (place / "secret").write_text(SECRET + "\n")
    (place / "secret").chmod(0o600)
    (place / "public").write_text("root's\n")
    (place / "public").chmod(0o644)
    (place / "closed").mkdir(mode=0o700)
    return place


# PATH is the file of root's that is read; each prints, or leaves in out, whatever it came by.
READING = {
    "input": "srun -i PATH cat", "input of a batch job": "sbatch -W -i PATH -o out --wrap cat", "script": "sbatch PATH", "standard input": "sbatch <PATH",
    "multi-prog": "srun --multi-prog PATH", "export file": "sbatch --export-file=PATH --wrap 'env >out'", "bcast": "srun --bcast=$PWD/got PATH; cat got",
    "sbcast": "salloc -Q sbcast -f PATH $PWD/got; cat got", "chain": "minke chain PATH", "stage": "srun minke stage PATH; cat $SLURM_TMPDIR/*",
    "directive": "printf '#!/bin/sh\\n#MINKE stage PATH\\ncat $SLURM_TMPDIR/*\\n' | sbatch -W -o out", "pack": "minke pack PATH --to got.tar; tar xOf got.tar",
    "cp": "minke cp PATH got; cat got", "sync": "minke sync PATH got; cat got", "unpack": "minke unpack PATH got", "data": "minke data PATH",
    "task prolog": "srun --task-prolog=PATH true", "nodefile": "sbatch -F PATH --wrap true", "node list": "sbatch -w PATH --wrap true",
    "metrics": "minke metrics 1 PATH", "usage": "minke storage scan PATH", "simulate": "minke simulate PATH", "import": "minke accounting import PATH",
    "load": "sacctmgr -i load file=PATH", "estimate": "minke estimate PATH", "wheels": "minke wheels add -r PATH", "software": "minke software scan --path PATH",
    "a link": "ln -sf PATH link; srun -i link cat", "a link in a directory": "ln -sfn $(dirname PATH) dir; srun -i dir/$(basename PATH) cat",
    "work directory": "srun -D $(dirname PATH)/closed sh -c 'pwd; cat ../secret'", "through /proc": "srun -i /proc/self/root/PATH cat",
    "through the launcher": "srun -i /proc/LAUNCHER/root/PATH cat", "through the daemon": "srun -i /proc/DAEMON/root/PATH cat",
    "batch script of nobody": "scontrol write batch_script 0 out",
}


@pytest.mark.parametrize("way", READING)
def test_no_option_reads_what_the_user_may_not(shared, secret, way):
    command = READING[way].replace("PATH", str(secret / "secret"))
    command = command.replace("LAUNCHER", str(shared.pid("launcher"))).replace("DAEMON", str(shared.pid()))
    done = shared.bob.run("bash", "-c", f"rm -rf out got got.tar; {{ {command}; }} 2>&1; cat out slurm-*.out 2>/dev/null; rm -f slurm-*.out")
    # A message may quote a word of a list that it could not read the file of; it could, if that is the file's.
    assert SECRET not in done.stdout and "secret of" not in done.stdout, done.stdout


# PATH is a file of root's that everybody reads, CLOSED a directory that nobody else enters: neither may change.
WRITING = {
    "output": "srun -o PATH echo planted", "appended": "srun --open-mode=append -o PATH echo planted", "errors": "srun -e PATH sh -c 'echo planted >&2'",
    "batch output": "sbatch -W -o PATH --wrap 'echo planted'", "batch errors": "sbatch -W -e PATH --wrap 'echo planted >&2'",
    "in a closed directory": "sbatch -W -o CLOSED/planted --wrap true", "pattern": "sbatch -W -J PATH -o %x --wrap 'echo planted'",
    "pattern with a slash": "sbatch -W -J ../../../../../../PATH -o $PWD/%x --wrap 'echo planted'", "pattern of the user": "USER=PATH sbatch -W -o %u --wrap 'echo planted'",
    "bcast": "srun --bcast=PATH --bcast -f /bin/true", "sbcast": "salloc -Q sbcast -f /etc/hostname PATH", "sbcast, closed": "salloc -Q sbcast -f /etc/hostname CLOSED/planted",
    "pack": "minke pack $PWD --to PATH", "cp": "minke cp /etc/hostname PATH", "cp, closed": "minke cp /etc/hostname CLOSED/planted", "sync": "minke sync /etc/default $(dirname PATH)",
    "unpack": "tar cf a.tar -C /etc hostname; minke unpack a.tar CLOSED", "script written": "job=$(sbatch --parsable -H --wrap true); scontrol write batch_script $job PATH",
    "export": "minke accounting export PATH", "waits": "minke simulate --waits PATH /dev/null", "dump": "sacctmgr dump x file=PATH",
    "a link": "ln -sf PATH link; sbatch -W -o link --wrap 'echo planted'", "links in a row": "ln -sf PATH l1; ln -sf l1 l2; sbatch -W -o l2 --wrap 'echo planted'",
    "through /proc": "sbatch -W -o /proc/self/root/PATH --wrap 'echo planted'", "through the launcher": "sbatch -W -o /proc/LAUNCHER/root/PATH --wrap 'echo planted'",
    "update of the output": "job=$(sbatch --parsable -H -o out --wrap 'echo planted'); scontrol update JobId=$job StdOut=PATH; scontrol release $job; sleep 1",
    "stage out": "printf '#!/bin/sh\\n#MINKE results CLOSED\\necho planted >$SLURM_TMPDIR/planted\\n' | sbatch -W -o /dev/null",
    "slurmd-style log": "srun --slurmd-debug=9 -o PATH true", "mail file": "sbatch -W --mail-type=ALL --mail-user==PATH --wrap true",
    "mail program": "sbatch -W --mail-type=ALL --mail-user='|touch CLOSED/planted' --wrap true", "a trigger": "strigger --set --jobid=1 --fini --program='/usr/bin/touch CLOSED/planted'",
    "temporary directory": "TMPDIR=CLOSED SLURM_TMPDIR=CLOSED srun sh -c 'touch $TMPDIR/planted'", "profile": "srun --profile=all -o /dev/null --acctg-freq=1 true",
}


@pytest.mark.parametrize("way", WRITING)
def test_no_option_writes_where_the_user_may_not(shared, secret, way):
    command = WRITING[way].replace("PATH", str(secret / "public")).replace("CLOSED", str(secret / "closed"))
    command = command.replace("LAUNCHER", str(shared.pid("launcher")))
    shared.bob.run("bash", "-c", f"rm -rf link l1 l2 out a.tar; {command}", timeout=60)
    shared.bob.run("scancel", "--me")
    assert (secret / "public").read_text() == "root's\n"
    assert (secret / "public").stat().st_uid == 0 and stat.S_IMODE((secret / "public").stat().st_mode) == 0o644
    assert not list((secret / "closed").iterdir())


# What is not a file, where one is expected: nobody waits for it but the job itself.
ODD = {"a pipe": "mkfifo odd", "a directory": "mkdir odd", "a loop of links": "ln -s odd odd", "a socket": "python3 -c 'import socket; socket.socket(1).bind(\"odd\")'",
       "a terminal": "ln -s /dev/tty odd", "a device without end": "ln -s /dev/zero odd", "a full device": "ln -s /dev/full odd",
       "a dangling link": "ln -s nowhere/at/all odd", "a name of 255 letters": "", "a name that is too long": "", "a line feed": "", "a name of bytes": "",
       "the memory of a process": "ln -s /proc/self/mem odd", "an empty name": ""}
NAMES = {"a name of 255 letters": "x" * 255, "a name that is too long": "x" * 5000, "a line feed": "odd\nname", "a name of bytes": "\udcff\udcfe", "an empty name": ""}


@pytest.mark.parametrize("kind", ODD)
def test_what_is_no_file_keeps_nobody_waiting(shared, kind):
    name = NAMES.get(kind, "odd")
    shared.bob.run("bash", "-c", f"rm -rf odd; {ODD[kind] or 'true'}")
    for option in ("--output", "--error", "--input", "--chdir"):
        shared.bob.run("sbatch", f"{option}={name}", *(() if option == "--output" else ("-o", "/dev/null")), "--wrap", "true", timeout=20)
    began = time.monotonic()
    assert shared.alice.run("srun", "echo", "mine", check=0).stdout == "mine\n"
    assert time.monotonic() - began < 60
    shared.bob.run("scancel", "--me", check=0)
    poll(lambda: not shared.bob.queue("--me", format="%i"), 60, "the end of bob's jobs")
    shared.bob.run("rm", "-rf", "odd")


# ---- what belongs to the cluster

def entries(home: pathlib.Path) -> list[pathlib.Path]:
    return [home, *(path for path in home.rglob("*") if not path.is_symlink())]


def test_nothing_of_the_home_is_others_to_write_or_read(shared):
    """But for what they need: the commands, module files, the socket; and what is a job's own."""
    job = shared.alice.submit("sleep 1000")
    held = shared.alice.submit("true", "--hold")
    shared.alice.wait_state(job, "RUNNING")
    for path in entries(shared.home):
        status = path.lstat()
        mode = stat.S_IMODE(status.st_mode)
        owned = status.st_uid in (0, shared.alice.uid, shared.bob.uid, shared.otto.uid)
        assert owned, path
        if stat.S_ISSOCK(mode) or stat.S_ISSOCK(status.st_mode):
            assert path.name in ("minked.sock", ".stage.sock") or mode & 0o077 == 0, path
        else:
            assert mode & 0o022 == 0, (path, oct(mode))
            assert not mode & 0o6000, (path, oct(mode))
        if path.name in ("minke.db", "minke.db-wal", "minke.db-shm", "launcher.journal") or path.suffix == ".log" or path.suffix == ".lock":
            assert (status.st_uid, mode & 0o077) == (0, 0), (path, oct(mode))
    shared.alice.run("scancel", job, held, check=0)


FILES = ["minke.db", "minke.db-wal", "minked.log", "launcher.log", "launcher.journal", "mailer.log", "storage.log", "metrics.log", "minked.lock", "launcher.lock", "slurm.conf",
         "minked.pid", "shared", "hosts", "spool", "tmp", "spool/job{job}", "tmp/job{job}", "tmp/.stage-cache", "launcher.sock", "helpers.sock", "storage-live"]


@pytest.mark.parametrize("name", FILES)
def test_a_user_changes_no_file_of_the_clusters(shared, name):
    job = shared.alice.submit("sleep 1000")
    shared.alice.wait_state(job, "RUNNING")
    path = shared.home / name.format(job=job)
    before = path.lstat() if path.exists() else None
    program = """
import os, sys
p = sys.argv[1]
def attempt(what, do):
    try: do(); print("did", what)
    except OSError: pass
attempt("write", lambda: os.close(os.open(p, os.O_WRONLY)))
attempt("make", lambda: os.close(os.open(p + "-own", os.O_WRONLY | os.O_CREAT)))
attempt("remove", lambda: os.unlink(p))
attempt("remove directory", lambda: os.rmdir(p))
attempt("rename", lambda: os.rename(p, p + "2"))
attempt("link", lambda: os.symlink("/etc/passwd", p + ".link"))
attempt("make in it", lambda: os.mkdir(p + "/own"))
attempt("list", lambda: os.listdir(p) and p.endswith(("spool", "/tmp", "cache")) or (_ for _ in ()).throw(OSError()))
attempt("mode", lambda: os.chmod(p, 0o777))
attempt("owner", lambda: os.chown(p, os.getuid(), -1))
attempt("truncate", lambda: os.truncate(p, 0))
attempt("lock", lambda: __import__("fcntl").flock(os.open(p, os.O_RDONLY), 2 | 4) if p.endswith(".lock") else (_ for _ in ()).throw(OSError()))
"""
    assert shared.bob.python(program, path).stdout == ""
    if before:
        after = path.lstat()
        assert (before.st_ino, before.st_mode, before.st_uid) == (after.st_ino, after.st_mode, after.st_uid)
    shared.alice.run("scancel", job, check=0)
    shared.alice.wait_end(job)


@pytest.mark.parametrize("name", ["job{next}", "job{next}.img", "job{next}.disk", ".stage.sock", ".stage-cache", "job0", "../spool/job{next}"])
def test_nobody_is_there_before_the_jobs_directory(shared, name):
    """What is made before the job's own directory is, at its name, would be taken for it."""
    following = shared.alice.submit("true", "--hold") + 1
    place = shared.home / "tmp" / name.format(next=following)
    done = shared.bob.run("mkdir", place)
    assert done.returncode != 0
    assert shared.bob.run("ln", "-s", "/etc", place).returncode != 0
    shared.alice.run("scancel", "--me", check=0)


def test_a_jobs_directory_is_closed_to_others_and_gone_afterwards(shared):
    job = shared.alice.submit("echo hers >$SLURM_TMPDIR/file; chmod 777 $SLURM_TMPDIR/file; echo $SLURM_TMPDIR >dir.new; mv dir.new dir; sleep 1000")
    poll((shared.alice.work / "dir").exists)
    place = (shared.alice.work / "dir").read_text().strip()
    for command in (["cat", f"{place}/file"], ["ls", place], ["touch", f"{place}/planted"], ["srun", "cat", f"{place}/file"]):
        assert shared.bob.run(*command).returncode != 0, command
    shared.alice.run("scancel", job, check=0)
    shared.alice.wait_end(job)
    poll(lambda: not pathlib.Path(place).exists(), 60, "its end")
    (shared.alice.work / "dir").unlink()


# ---- archives, as whoever unpacks them for everybody gets them

def hostile_archive(kind: str) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        def add(name: str, type_=tarfile.REGTYPE, mode=0o644, link="", text=b"", **more):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode, entry.linkname, entry.size = type_, mode, link, len(text)
            for key, value in more.items():
                setattr(entry, key, value)
            tar.addfile(entry, io.BytesIO(text))
        add("good", text=b"good")
        if kind == "above":
            add("../../planted", text=b"x")
        elif kind == "absolute":
            add("/tmp/minke-planted", text=b"x")
        elif kind == "setuid":
            add("program", mode=0o6755, text=b"#!/bin/sh\n", uid=0, gid=0)
        elif kind == "link out":
            add("out", tarfile.SYMTYPE, link="/tmp")
            add("out/minke-planted", text=b"x")
        elif kind == "hard link out":
            add("hard", tarfile.LNKTYPE, link="/etc/shadow")
        elif kind == "hard link above":
            add("hard", tarfile.LNKTYPE, link="../../../../../../etc/shadow")
        elif kind == "device":
            add("disk", tarfile.BLKTYPE, mode=0o666, devmajor=8, devminor=0)
        elif kind == "character device":
            add("mem", tarfile.CHRTYPE, mode=0o666, devmajor=1, devminor=1)
        elif kind == "pipe":
            add("pipe", tarfile.FIFOTYPE, mode=0o666)
        elif kind == "link to a secret":
            add("shadow", tarfile.SYMTYPE, link="/etc/shadow")
        elif kind == "closed directory":
            add("closed", tarfile.DIRTYPE, mode=0)
            add("closed/file", text=b"x")
        elif kind == "sticky":
            add("open", tarfile.DIRTYPE, mode=0o7777)
        elif kind == "twice":
            add("good", tarfile.SYMTYPE, link="/tmp/minke-planted")
            add("good", text=b"x")
    return out.getvalue()


ARCHIVES = ["above", "absolute", "setuid", "link out", "hard link out", "hard link above", "device", "character device", "pipe", "link to a secret", "closed directory",
            "sticky", "twice"]


@pytest.fixture(scope="module")
def caching():
    one = Shared()
    yield one
    one.close()


@pytest.mark.parametrize("kind", ARCHIVES)
def test_an_archive_in_the_common_cache_does_no_harm(caching, kind):
    archive = caching.bob.work / f"{kind.replace(' ', '-')}.tar"
    archive.write_bytes(hostile_archive(kind))
    os.chown(archive, caching.bob.uid, caching.bob.gid)
    archive.chmod(0o644)
    planted = pathlib.Path("/tmp/minke-planted")
    planted.unlink(missing_ok=True)
    job = caching.bob.submit(f"minke stage {archive}; find -L $SLURM_TMPDIR -maxdepth 3 | head -50; cat $SLURM_TMPDIR/*/shadow $SLURM_TMPDIR/*/hard 2>/dev/null | head -c 100; "
                             "touch $SLURM_TMPDIR/*/planted 2>/dev/null && echo planted; true")
    said = caching.bob.output(job)
    assert "root:" not in said
    assert not planted.exists()
    cache = caching.home / "tmp" / ".stage-cache"
    for path in (entries(cache) if cache.exists() else []):
        status = path.lstat()
        if "content" not in path.parts:
            continue
        assert not stat.S_ISBLK(status.st_mode) and not stat.S_ISCHR(status.st_mode), path
        if not stat.S_ISDIR(status.st_mode):
            assert stat.S_IMODE(status.st_mode) & 0o6000 == 0, (path, oct(status.st_mode))
        if not stat.S_ISLNK(status.st_mode):  # a pipe is a way from one user to another
            assert status.st_uid != 0 or stat.S_IMODE(status.st_mode) & 0o222 == 0, (path, oct(status.st_mode))
        if stat.S_ISREG(status.st_mode):
            assert status.st_uid != caching.bob.uid and stat.S_IMODE(status.st_mode) & 0o222 == 0, (path, oct(status.st_mode))
            assert not os.path.samefile(path, "/etc/shadow"), path


REQUESTS = [b"", b"/", b"..", b"a/b", b"x" * 8000, b"\0", b"name\0more", b"\xff\xfe", b"-rf", b"$(id)"]


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=[repr(one[:12]) for one in REQUESTS])
def test_requests_to_the_cache_that_are_none(caching, number):
    """With descriptors of what is not the user's, or of another kind than it expects; and without."""
    program = """
import array, os, socket, sys
def ask(text, files):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); s.settimeout(60); s.connect(sys.argv[1])
    ancillary = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))] if files else []
    try:
        s.sendmsg([text or b"."], ancillary)
        return s.recv(9000)
    except OSError as error: return str(error).encode()
text = bytes.fromhex(sys.argv[2])
null, etc, passwd, tmp = (os.open(p, os.O_RDONLY) for p in ("/dev/null", "/etc", "/etc/passwd", sys.argv[3]))
path = os.open("/etc/shadow", os.O_PATH)
r, w = os.pipe()
for files in ([], [null], [null, null], [passwd, etc], [passwd, tmp], [etc, tmp], [path, tmp], [r, tmp], [w, tmp], [passwd, tmp, null], [null] * 200):
    answer = ask(text, files)
    if answer[:1] == b"1": print("staged", files, answer)
print("asked")
"""
    socket_path = caching.home / "tmp" / ".stage.sock"
    poll(socket_path.exists, 30, "the stage server's socket")
    done = caching.bob.python(program, socket_path, REQUESTS[number].hex(), caching.bob.work)
    assert done.stdout == "asked\n", (done.stdout, done.stderr)


# ---- sockets

SOCKETS = ["launcher.sock", "helpers.sock"]


@pytest.mark.parametrize("name", SOCKETS)
def test_inner_sockets_take_nobodys_connection(shared, name):
    path = shared.home / name
    if not path.exists():
        pytest.skip("there is none here")
    assert shared.bob.python("""
import socket, sys
for kind in (socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        s = socket.socket(socket.AF_UNIX, kind); s.connect(sys.argv[1]); print("in")
    except OSError: pass
""", path).stdout == ""


def test_a_socket_in_the_daemons_place_is_not_trusted(shared):
    """A user's own "cluster" in a directory of his is not taken for root's by others."""
    fake = shared.bob.work / "fake"
    fake.mkdir()
    fake.chmod(0o777)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(fake / "minked.sock"))
    listener.listen()
    (fake / "minked.sock").chmod(0o777)
    shared.bob.work.chmod(0o755)
    try:
        for command in (["squeue"], ["sbatch", "--wrap", "true"]):
            done = shared.alice.run(*command, env={"MINKE_HOME": str(fake)}, timeout=20)
            assert done.returncode != 0, done.stdout
    finally:
        shared.bob.work.chmod(0o700)
        listener.close()


def test_races_between_names_do_not_lead_out_of_the_users_rights(shared, secret):
    """Directory, file and link change places at the output's name while jobs open it."""
    racer = subprocess.Popen(["python3", "-c", """
import os, sys
target, closed = sys.argv[1:]
os.makedirs("real", exist_ok=True)
while True:
    for source in ("real", closed, os.path.dirname(target)):
        try:
            os.symlink(source, "next"); os.rename("next", "raced")
        except OSError: pass
""", str(secret / "public"), str(secret / "closed")], cwd=shared.bob.work, **shared.bob.rights())
    try:
        for _ in range(15):
            shared.bob.run("sbatch", "-W", "-o", "raced/public", "--wrap", "echo planted", timeout=30)
            shared.bob.run("sbatch", "-W", "-D", "raced", "-o", "planted", "-e", "public", "--wrap", "echo planted >&2", timeout=30)
            shared.bob.run("srun", "-o", "raced/public", "echo", "planted")
    finally:
        racer.kill()
        racer.wait()
    assert (secret / "public").read_text() == "root's\n" and not list((secret / "closed").iterdir())
