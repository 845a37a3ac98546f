"""Storage of a cluster that serves all users: what is done for them is done with their rights, and to nobody else."""
import ctypes
import datetime
import os
import pathlib
import shutil
import subprocess

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared, passable_directory

pytestmark = [NEEDS_ROOT, pytest.mark.minke_only]


@pytest.fixture
def shared(request):
    disks = passable_directory()
    cluster = Shared(tables=f'\n[storage]\nprofile = "narval"\nroot = "{disks}"\npurge = true\ncount_interval = 1\n'
                            "[storage.scratch]\nfiles = 20\n" + getattr(request, "param", ""))
    cluster.disks = disks
    for user in (cluster.alice, cluster.bob):
        cluster.minke("storage", "init", "--user", user.name)
    yield cluster
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        if line.split()[1].startswith(f"{cluster.home}/tmp/.stage-cache/"):
            subprocess.run(["umount", "-l", line.split()[1]], check=True)
    cluster.close()
    subprocess.run(["rm", "-rf", disks], check=True)


def local(month, day, hour=12):
    return str(int(datetime.datetime(2031, month, day, hour).timestamp()))


def test_one_users_quota_holds_nobody_else(shared):
    alice, bob = shared.alice, shared.bob
    scratch = shared.disks / "scratch" / alice.name
    alice.python("import sys, pathlib\nfor n in range(50): pathlib.Path(sys.argv[1], str(n)).touch()", scratch)
    blocker = bob.sbatch("--exclusive", "--nodes=2", "--wrap", "sleep 1000")
    bob.wait_state(blocker, "RUNNING")
    held, other = alice.sbatch("--wrap", "true"), bob.sbatch("--wrap", "echo $SCRATCH")
    poll(lambda: "DiskQuotaExceeded" in alice.job(held)["Reason"], what="the reason")
    bob.run("scancel", blocker, check=0)
    assert bob.output(other) == f"{shared.disks}/scratch/{bob.name}\n"
    assert alice.state(held) == "PENDING"
    alice.python("import sys, pathlib\nfor n in range(50): pathlib.Path(sys.argv[1], str(n)).unlink()", scratch)
    alice.wait_state(held, "COMPLETED")


@pytest.mark.parametrize("shared", ['[storage.project]\nin_jobs = "read-only"\n'], indirect=True)
def test_what_jobs_see_of_the_tiers(shared):
    """Nearline not at all, by the profile; projects as they are told to; for scripts, steps and new steps alike."""
    alice = shared.alice
    group = alice.run("id", "-gn").stdout.strip()
    projects, nearline = shared.disks / "project" / group / alice.name, shared.disks / "nearline" / group
    alice.python("import sys; open(sys.argv[1], 'w').write('data\\n')", projects / "file")
    assert alice.run("ls", nearline).returncode == 0
    look = f"cat {projects}/file; touch {projects}/new; ls {shared.disks}/nearline; touch {shared.disks}/nearline/new"
    told = alice.output(alice.sbatch("--wrap", f"{look}; srun sh -c '{look}'; touch $SCRATCH/new && echo scratch"))
    assert told.count("data\n") == 2 and told.count("Read-only file system") == 4 and "scratch\n" in told, told
    assert group not in "".join(line for line in told.splitlines(True) if "touch" not in line), told
    usage = alice.run(shared.program, "storage", "usage", check=0,
                      env={"MINKE_CONFIG": shared.root["MINKE_CONFIG"]}).stdout
    assert "read-only in jobs\n" in usage and "backed up; not in jobs\n" in usage
    assert not (projects / "new").exists() and nearline.is_dir()


def test_purge_has_no_more_rights_than_the_owner(shared):
    alice, bob = shared.alice, shared.bob
    scratch = shared.disks / "scratch"
    own = scratch / alice.name / "own"
    alice.python("import sys; open(sys.argv[1], 'w').write('x')", own)
    of_root = scratch / alice.name / "of-root"
    of_root.mkdir()
    (of_root / "file").touch()
    victim = bob.work / "victim"
    bob.python("import sys; open(sys.argv[1], 'w').write('x')", victim)
    alice.python("import os, sys; os.symlink(sys.argv[1], sys.argv[2])", bob.work, scratch / alice.name / "link")
    # Nobody's directory: it is not that of the user whose name it has.
    (scratch / "daemon").mkdir()
    (scratch / "daemon/file").touch()
    config = shared.root["MINKE_CONFIG"]
    for day in (1, 12):
        shared.minke("storage-keep", shared.home, config, local(11, day))
    listed = scratch / "to_delete" / alice.name
    assert str(own) in listed.read_text() and listed.stat().st_uid == alice.uid
    assert alice.run("cat", listed, check=0).stdout and bob.run("cat", listed).returncode != 0
    done = subprocess.run([shared.program, "storage-keep", shared.home, config, local(11, 16)], env=shared.root,
                          capture_output=True, text=True, timeout=60)
    assert "of-root/file: Permission denied" in done.stderr
    assert not own.exists() and (of_root / "file").exists() and victim.exists() and (scratch / "daemon/file").exists()
    assert str(own) in (shared.home / "purge.log").read_text()


@pytest.fixture
def silent_server(tmp_path):
    """Mounts at a path a network file system whose server answers nothing."""
    mounted = []

    def mount(path):
        fuse = os.open("/dev/fuse", os.O_RDWR)
        mounted.append((path, fuse))
        options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"far", bytes(path), b"fuse.sshfs", 0, options.encode()) != 0:
            pytest.skip(f"no FUSE here: {os.strerror(ctypes.get_errno())}")

    yield mount
    for path, fuse in mounted:
        subprocess.run(["umount", "-l", path], check=False)
        os.close(fuse)


@pytest.mark.skipif(not os.path.exists("/dev/fuse"), reason="no FUSE here")
def test_a_machine_that_is_not_the_keeper_leaves_network_file_systems_alone(shared, silent_server):
    """It does not even look at one: its server may be gone. What is on its own disks it keeps."""
    alice, config = shared.alice, pathlib.Path(shared.root["MINKE_CONFIG"])
    keeps = lambda: subprocess.run([shared.program, "storage-keep", shared.home, config, local(11, 1)],
                                   env=shared.root, capture_output=True, text=True, timeout=60)
    scratch = shared.disks / "scratch"
    alice.python("import sys; open(sys.argv[1], 'w').write('x')", scratch / alice.name / "old")
    config.write_text(config.read_text().replace("[storage]\n", '[storage]\nkeeper = "another"\n', 1))
    assert "keeper" not in shared.minke("doctor", check=1).stdout
    own = keeps()
    assert own.returncode == 0 and (scratch / "to_delete" / alice.name).exists(), own.stderr
    (scratch / "to_delete" / alice.name).unlink()
    for state in (shared.home / "storage-state").glob("purge-*"):
        state.unlink()
    silent_server(scratch)
    done = keeps()
    assert done.returncode == 0 and done.stderr == "" and int(done.stdout) > 0
    told = shared.minke("doctor", check=1).stdout
    assert f"{scratch}/ is on a network file system, which another keeps" in told, told


STAGES = "#!/bin/bash\n#MINKE stage={}\n"


def entries(shared) -> list[pathlib.Path]:
    return sorted(path.parent for path in (shared.home / "tmp/.stage-cache").glob("*/content"))


def served(shared) -> None:
    poll((shared.home / "tmp/.stage.sock").exists, what="the server of staged data")


def test_one_copy_of_common_data_for_all_users(shared):
    served(shared)
    alice, bob = shared.alice, shared.bob
    alice.python("import os, pathlib, tarfile\nos.makedirs('cats')\npathlib.Path('cats/1').write_text('meow')\n"
                 "os.chmod('.', 0o755); t = tarfile.open('cats.tar', 'w')\nt.add('cats')\nt.close()\n"
                 "os.chmod('cats.tar', 0o644)")
    told = []
    for user in (alice, bob):
        for source in ("cats", "cats.tar"):
            job = user.submit(STAGES.format(alice.work / source) +
                              "cat $SLURM_TMPDIR/cats/1; realpath $SLURM_TMPDIR/cats\n"
                              "touch $SLURM_TMPDIR/cats/2 2>/dev/null || echo; echo read-only")
            told.append(user.output(job))
            assert told[-1].startswith("meow") and "read-only" in told[-1]
    assert told[0] == told[2] and told[1] == told[3] and len(entries(shared)) == 2
    for entry in entries(shared):
        assert all((path.lstat().st_uid, path.lstat().st_mode & 0o7222) == (0, 0)
                   for path in [entry / "content", *(entry / "content").rglob("*")])


def test_who_may_not_read_a_source_does_not_get_its_copy(shared):
    served(shared)
    alice, bob = shared.alice, shared.bob
    alice.python("import os, pathlib, tarfile\nos.makedirs('cats')\npathlib.Path('cats/1').write_text('secret')\n"
                 "t = tarfile.open('cats.tar', 'w')\nt.add('cats')\nt.close()\nos.chmod('cats.tar', 0o640)\n"
                 "os.chmod('.', 0o711)")
    job = alice.submit(STAGES.format(alice.work / "cats.tar") +
                       "cat $SLURM_TMPDIR/cats/1; realpath $SLURM_TMPDIR/cats\n"
                       "touch begun; while [ ! -e end ]; do sleep 0.1; done")
    poll((alice.work / "begun").exists, what="the job")
    entry, = entries(shared)
    # With the path, and with a request of his own: what he cannot open he cannot hand over.
    for path in (entry, entry / "content/1", entry / "source", entry.parent):
        assert bob.run("ls", path).returncode != 0
    attack = bob.submit(STAGES.format(alice.work / "cats.tar") + f"cat {entry}/content/1")
    assert "Permission denied" in bob.output(attack)
    forged = bob.submit("#!/bin/bash\npython3 - <<'EOF'\n"
                        "import os, socket\n"
                        f"for flags in (os.O_PATH, os.O_PATH | os.O_NOFOLLOW):\n"
                        "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
                        f"    s.connect('{shared.home}/tmp/.stage.sock')\n"
                        f"    source = os.open('{alice.work}/cats.tar', flags)\n"
                        "    own = os.open(os.environ['SLURM_TMPDIR'], os.O_RDONLY)\n"
                        "    socket.send_fds(s, [b'cats.tar'], [source, own])\n"
                        "    print(s.recv(9999).decode())\n"
                        "EOF\n"
                        f"cat {entry}/content/1")
    told = bob.output(forged)
    assert told.count("not open for reading") == 2 and "secret" not in told
    (alice.work / "end").touch()
    assert alice.output(job).startswith("secret")


def test_a_private_part_of_a_tree_keeps_it_private(shared):
    served(shared)
    alice = shared.alice
    alice.python("import os, pathlib\nos.makedirs('cats')\npathlib.Path('cats/1').write_text('meow')\n"
                 "pathlib.Path('cats/2').write_text('secret')\nos.chmod('cats/2', 0o600)\nos.chmod('.', 0o755)")
    job = alice.submit(STAGES.format("cats") + "cat $SLURM_TMPDIR/cats/2")
    assert alice.output(job) == "secret"
    assert entries(shared) == []


def test_what_pretends_to_be_a_jobs_directory_is_refused(shared):
    served(shared)
    alice = shared.alice
    done = alice.python(
        "import os, socket, sys\n"
        "open('data', 'w').write('x')\n"
        "os.makedirs('own')\n"
        "for directory in ('own', '/tmp', sys.argv[1]):\n"
        "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "    s.connect(sys.argv[1] + '/.stage.sock')\n"
        "    socket.send_fds(s, [b'data'], [os.open('data', os.O_RDONLY), os.open(directory, os.O_PATH)])\n"
        "    print(s.recv(9999).decode())\n"
        "for name in (b'', b'..', b'a/b', b'x' * 5000):\n"
        "    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "    s.connect(sys.argv[1] + '/.stage.sock')\n"
        "    s.sendall(name or b'x')\n"
        "    print(s.recv(9999).decode())\n", shared.home / "tmp")
    assert done.stdout.count("no directory of a job") == 3 and done.stdout.count("no request") == 4
    assert entries(shared) == []


def test_access_ends_with_the_job(shared):
    served(shared)
    alice, bob = shared.alice, shared.bob
    alice.python("import os\nopen('data', 'w').write('x' * 1000)\nos.chmod('data', 0o644)\nos.chmod('.', 0o755)")
    alice.output(alice.submit(STAGES.format(alice.work / "data") + "wc -c < $SLURM_TMPDIR/data"))
    entry, = entries(shared)
    assert alice.run("cat", entry / "content").returncode == 0
    bob.output(bob.submit(STAGES.format(alice.work / "data") + "wc -c < $SLURM_TMPDIR/data"))
    assert alice.run("cat", entry / "content").returncode != 0


def mounted(shared) -> list[str]:
    return [line.split()[1] for line in pathlib.Path("/proc/self/mounts").read_text().splitlines()
            if line.split()[1].startswith(f"{shared.home}/tmp/.stage-cache/")]


@pytest.mark.skipif(not shutil.which("mksquashfs"), reason="squashfs-tools is not installed")
def test_a_users_images_take_few_loop_devices_and_none_when_its_job_is_gone(shared):
    most = 16
    served(shared)
    alice = shared.alice
    alice.python("import os\nos.makedirs('cats')\nopen('cats/1', 'w').write('meow')\nos.chmod('.', 0o755)")
    alice.run("minke", "pack", "-q", "--format", "squashfs", "cats", check=0)
    alice.python("import shutil, os\nfor n in range(40): shutil.copy('cats.sqfs', f'{n}.sqfs'); os.chmod(f'{n}.sqfs', 0o644)")
    job = alice.submit("#!/bin/bash\nminke stage -q {0..39}.sqfs; cat $SLURM_TMPDIR/*/1; touch staged\n"
                       "while [ ! -e end ]; do sleep 0.1; done")
    poll((alice.work / "staged").exists, what="the images")
    assert 0 < len(mounted(shared)) <= most
    (alice.work / "end").touch()
    assert alice.output(job) == "meow" * 40
    poll(lambda: mounted(shared) == [], what="the end of the mounts")
    # What is left where all were killed goes with the next start.
    (alice.work / "end").unlink()
    (alice.work / "staged").unlink()
    job = alice.submit("#!/bin/bash\nminke stage -q 1.sqfs 2.sqfs; touch staged; while [ ! -e end ]; do sleep 0.1; done",
                       "--no-requeue")
    poll((alice.work / "staged").exists, what="the images")
    assert len(mounted(shared)) == 2
    subprocess.run(["kill", "-9", str(shared.pid()), str(shared.pid("launcher"))], check=True)
    (alice.work / "end").touch()
    poll(lambda: not (shared.home / "minked.pid").exists() or not pathlib.Path(f"/proc/{shared.pid()}").exists())
    shared.minke("up", "--shared")
    alice.wait_end(job)
    poll(lambda: mounted(shared) == [], what="the end of the mounts")


@pytest.mark.skipif(not shutil.which("mksquashfs"), reason="squashfs-tools is not installed")
def test_images_are_mounted_not_unpacked(shared):
    served(shared)
    alice, bob = shared.alice, shared.bob
    alice.python("import os\nos.makedirs('cats')\nopen('cats/1', 'w').write('meow')\nos.chmod('.', 0o755)")
    alice.run("minke", "pack", "-q", "--format", "squashfs", "cats", check=0)
    image = alice.work / "cats.sqfs"
    image.chmod(0o644)
    script = STAGES.format(image) + ("cat $SLURM_TMPDIR/cats/1; stat -f -c %T $SLURM_TMPDIR/cats/\n"
                                     "touch $SLURM_TMPDIR/cats/2 || echo read-only; srun cat $SLURM_TMPDIR/cats/1")
    for user in (alice, bob, alice):
        told = user.output(user.submit(script))
        assert told.startswith("meowsquashfs\n") and told.endswith("read-only\nmeow"), told
    # A step that runs already has it, too: another image, which nobody has used.
    alice.run("cp", image, "more.sqfs", check=0)
    (alice.work / "more.sqfs").chmod(0o644)
    told = alice.output(alice.submit(
        "srun --overlap sh -c 'touch up; until [ -e end ]; do sleep 0.1; done; cat $SLURM_TMPDIR/more/1' &\n"
        "until [ -e up ]; do sleep 0.1; done; minke stage -q more.sqfs; touch end; wait"))
    assert told == "meow", told
    entry, = (entry for entry in entries(shared) if "more" not in (entry / "source").read_text())
    assert (entry / "image").stat().st_uid == 0
    image.chmod(0o600)
    assert "Permission denied" in bob.output(bob.submit(STAGES.format(image) + "echo ran"))
    # Nobody uses it any more; who does has it mounted again.
    poll(lambda: mounted(shared) == [], what="the end of the mounts")
    assert alice.output(alice.submit(STAGES.format(image) + "cat $SLURM_TMPDIR/cats/1")) == "meow"
