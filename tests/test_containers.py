"""OCI bundles (--container) and images (pyxis' options): what runs in them, and what they leave behind."""
import hashlib
import io
import json
import os
import pathlib
import shutil
import subprocess
import tarfile

import pytest

from cluster import Cluster, Machine, poll
from processes import command_line, has_ended
from shared import NEEDS_ROOT, Shared

MINKE_ONLY = True
NAMESPACES = subprocess.run(["unshare", "-Urm", "true"], capture_output=True).returncode == 0
RUNTIMES = [name for name in ("crun", "runc") if shutil.which(name, path=os.environ["PATH"] + ":/usr/sbin")]
pytestmark = pytest.mark.skipif(not NAMESPACES, reason="the kernel makes no user namespaces for containers")
NEEDS_RUNTIME = pytest.mark.skipif(not RUNTIMES, reason="neither crun nor runc is installed")
NEEDS_SQUASHFS = pytest.mark.skipif(shutil.which("mksquashfs") is None, reason="needs squashfs-tools")
PROGRAMS = ["sh", "bash", "cat", "ls", "id", "sleep", "env", "touch", "mkdir", "rm"]


def root_file_system(at: pathlib.Path, says: str) -> pathlib.Path:
    """A root directory with a shell, some programs and their libraries."""
    for name in ("bin", "etc", "proc", "dev", "sys", "tmp", "root", "run"):
        (at / name).mkdir(parents=True)
    for name in PROGRAMS:
        program = os.path.realpath(shutil.which(name))
        shutil.copy(program, at / "bin" / name)
        for line in subprocess.run(["ldd", program], capture_output=True, text=True).stdout.splitlines():
            for word in line.split():
                if word.startswith("/"):
                    (at / word[1:]).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(os.path.realpath(word), at / word[1:])
    (at / "etc/os-release").write_text(f'NAME="{says}"\n')
    (at / "etc/passwd").write_text("root:x:0:0:root:/root:/bin/sh\n")
    return at


def bundle(at: pathlib.Path, **process) -> pathlib.Path:
    """As `runc spec --rootless` makes it."""
    root_file_system(at / "rootfs", "Bundle")
    mounts = [("/proc", "proc", "proc", []), ("/dev", "tmpfs", "tmpfs", ["nosuid", "mode=755", "size=65536k"]),
              ("/dev/pts", "devpts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666", "mode=0620", "gid=5"]),
              ("/dev/shm", "tmpfs", "shm", ["nosuid", "noexec", "nodev", "mode=1777", "size=65536k"]),
              ("/sys", "sysfs", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
              ("/sys/fs/cgroup", "cgroup", "cgroup", ["nosuid", "noexec", "nodev", "relatime", "ro"])]
    config = {"ociVersion": "1.0.0",
              "process": {"terminal": True, "user": {"uid": 0, "gid": 0}, "args": ["sh"], "cwd": "/",
                          "env": ["PATH=/bin", "OF_BUNDLE=yes"], "noNewPrivileges": True,
                          "rlimits": [{"type": "RLIMIT_NOFILE", "hard": 1024, "soft": 1024}], **process},
              "root": {"path": "rootfs", "readonly": True}, "hostname": "inside",
              "mounts": [{"destination": to, "type": kind, "source": of, "options": options}
                         for to, kind, of, options in mounts],
              "linux": {"resources": {"devices": [{"allow": False, "access": "rwm"}]},
                        "namespaces": [{"type": kind} for kind in
                                       ("pid", "network", "ipc", "uts", "user", "mount", "cgroup")],
                        "uidMappings": [{"containerID": 0, "hostID": 1000, "size": 1}]}}
    (at / "config.json").write_text(json.dumps(config))
    return at


def layout(at: pathlib.Path, *layers) -> pathlib.Path:
    """An OCI layout with the tag v1. A layer is a function that adds to an archive."""
    blobs = at / "blobs/sha256"
    blobs.mkdir(parents=True)

    def blob(content: bytes) -> dict:
        digest = hashlib.sha256(content).hexdigest()
        (blobs / digest).write_bytes(content)
        return {"digest": f"sha256:{digest}", "size": len(content)}

    def packed(fill) -> dict:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz", compresslevel=1) as archive:
            fill(archive)
        return blob(data.getvalue())

    config = blob(json.dumps({"config": {"Env": ["PATH=/bin", "OF_IMAGE=yes"], "WorkingDir": "/etc"}}).encode())
    manifest = blob(json.dumps({"schemaVersion": 2, "config": config, "layers": [packed(one) for one in layers]}).encode())
    manifest["annotations"] = {"org.opencontainers.image.ref.name": "v1"}
    (at / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}))
    return at


def add(archive, name: str, content: bytes = b"", **of):
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = len(content), 0o755
    for attribute, value in of.items():
        setattr(entry, attribute, value)
    archive.addfile(entry, io.BytesIO(content))


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A bundle and images that no test changes."""
    at = tmp_path_factory.mktemp("containers")
    bundle(at / "bundle")
    root_file_system(at / "root", "Image")
    if shutil.which("mksquashfs"):
        (at / "root/etc/environment").write_text('OF_IMAGE="from enroot"\n')
        subprocess.run(["mksquashfs", at / "root", at / "image.sqsh", "-quiet", "-no-progress", "-noI", "-noD", "-noF"],
                       check=True, stdout=subprocess.DEVNULL)
        (at / "root/etc/environment").unlink()
    layout(at / "layout", lambda archive: (archive.add(at / "root", arcname="."), add(archive, "etc/gone", b"x"),
                                           add(archive, "full", type=tarfile.DIRTYPE), add(archive, "full/old", b"x")),
           lambda archive: (add(archive, "etc/.wh.gone"), add(archive, "full/.wh..wh..opq"), add(archive, "full/new", b"x")))
    return at


def mounts() -> list[str]:
    """Of containers, where others see them."""
    return [line for line in pathlib.Path("/proc/mounts").read_text().splitlines() if "/.container" in line]


# ---- bundles

@NEEDS_RUNTIME
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_step_runs_in_its_bundle(cluster, made, runtime):
    done = cluster.run("srun", f"--container={made}/bundle", "sh", "-c",
                       "cat /etc/os-release; echo $SLURM_PROCID $OF_BUNDLE $SLURM_CONTAINER $GIVEN; exit 3",
                       env={"GIVEN": "given", "MINKE_CONTAINER_RUNTIME": runtime})
    assert done.stdout == f'NAME="Bundle"\n0 yes {made}/bundle given\n', done.stderr
    assert done.returncode == 3
    assert mounts() == []


@NEEDS_RUNTIME
def test_a_batch_script_runs_in_its_bundle(cluster, made):
    job = cluster.submit("cat /etc/os-release\necho $0 $1\necho in > /tmp/file; cat $SLURM_TMPDIR/file",
                         f"--container={made}/bundle", env={"LC_ALL": "C"})
    assert cluster.output(job) == 'NAME="Bundle"\n/tmp/slurm/startup\nin\n'
    assert sorted(os.listdir(made / "bundle/rootfs/tmp")) == []
    assert cluster.sacct("-X", "-j", str(job), format="Container%100")[0][0].strip() == f"{made}/bundle"


@NEEDS_RUNTIME
def test_salloc_hands_its_bundle_to_its_steps(cluster, made):
    done = cluster.run("salloc", f"--container={made}/bundle", "srun", "cat", "/etc/os-release", check=0)
    assert done.stdout == 'NAME="Bundle"\n'


@NEEDS_RUNTIME
def test_streams_of_a_bundle(cluster, made):
    done = cluster.run("srun", "-n2", "-l", f"--container={made}/bundle", "cat", input="some\n", check=0)
    assert sorted(done.stdout.splitlines()) == ["0: some", "1: some"]


@NEEDS_RUNTIME
def test_a_killed_step_leaves_nothing_of_its_container(cluster, made):
    job = cluster.submit(f"srun --container={made}/bundle sh -c 'touch /tmp/runs; sleep 77.25'\nsleep 600")
    sleeping = lambda: [pid for pid in cluster.processes()  # noqa: E731
                        if "77.25" in " ".join(command_line(pid))]
    poll(sleeping, what="the container's process")
    pids = sleeping()
    cluster.run("scancel", f"{job}.0", check=0)
    poll(lambda: all(has_ended(pid) for pid in pids), what="the end of the container")
    assert cluster.state(job) == "RUNNING" and mounts() == []
    cluster.run("scancel", str(job))
    cluster.wait_end(job)


@NEEDS_RUNTIME
def test_the_launchers_death_ends_containers(cluster, made):
    """Those of a bundle, whose processes have a namespace of their own."""
    cluster.submit("sleep 77.5", f"--container={made}/bundle")
    sleeping = lambda: [pid for pid in cluster.processes()  # noqa: E731
                        if "77.5" in " ".join(command_line(pid))]
    poll(sleeping, what="the container's process")
    pids = sleeping()
    cluster.kill("launcher")
    cluster.run("squeue")
    poll(lambda: all(has_ended(pid) for pid in pids), what="the end of the container")
    assert mounts() == []


def test_what_is_wrong_with_a_bundle_is_said(cluster, tmp_path):
    done = cluster.run("srun", "--container=nosuch", "true")
    assert done.returncode == 1 and f"{cluster.work}/nosuch/config.json: No such file" in done.stderr
    (tmp_path / "config.json").write_text("no json")
    done = cluster.run("srun", f"--container={tmp_path}", "true")
    assert done.returncode == 1 and "is no JSON object" in done.stderr or not RUNTIMES


# ---- images

def test_a_step_runs_in_an_oci_layout(cluster, made):
    done = cluster.run("srun", "-n2", "-l", f"--container-image=oci:{made}/layout:v1", "sh", "-c",
                       "cat /etc/os-release; ls /etc/gone /full; echo $OF_IMAGE $SLURM_NTASKS $GIVEN; ls $SLURM_TMPDIR",
                       env={"GIVEN": "given"})
    lines = ['NAME="Image"', "/full:", "new", "yes 2 given"]
    assert sorted(done.stdout.splitlines()) == sorted(f"{task}: {line}" for task in (0, 1) for line in lines)
    assert done.stderr.count("/etc/gone") == 2 and mounts() == []


def test_a_layer_that_leads_out_of_its_image_fails(cluster, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    layout(tmp_path / "layout", lambda archive: add(archive, "way", type=tarfile.SYMTYPE, linkname=str(outside)),
           lambda archive: add(archive, "way/file", b"x"))
    done = cluster.run("srun", f"--container-image=oci:{tmp_path}/layout", "true")
    assert done.returncode == 1 and "Read-only file system" in done.stderr, done.stderr
    assert list(outside.iterdir()) == []


@NEEDS_SQUASHFS
def test_mounts_and_directory_of_a_squashfs_image(cluster, made, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data/file").write_text("content\n")
    done = cluster.run("srun", f"--container-image={made}/image.sqsh", "--container-workdir=/data",
                       f"--container-mounts={tmp_path}/data:/data:ro,{tmp_path}", "sh", "-c",
                       f"cat file; touch new; touch {tmp_path}/new; touch /etc/new && echo $OF_IMAGE; id -u")
    assert done.stdout == f"content\nfrom enroot\n{os.getuid()}\n", done.stderr
    assert "SLURM_CONTAINER" not in cluster.run("srun", f"--container-image={made}/image.sqsh", "env", check=0).stdout
    assert "Read-only file system" in done.stderr
    assert sorted(os.listdir(tmp_path / "data")) == ["file"] and (tmp_path / "new").exists()


@NEEDS_SQUASHFS
def test_a_sif_file(cluster, made, tmp_path):
    content = (made / "image.sqsh").read_bytes()
    begin = 4096
    header = bytearray(begin)
    header[32:41] = b"SIF_MAGIC"
    header[88:96], header[96:104] = (1).to_bytes(8, "little"), (128).to_bytes(8, "little")
    header[128:133] = (0x4004).to_bytes(4, "little") + b"\1"
    header[145:153] = begin.to_bytes(8, "little")
    header[329:333] = (1).to_bytes(4, "little")
    (tmp_path / "image.sif").write_bytes(bytes(header) + content)
    done = cluster.run("srun", f"--container-image={tmp_path}/image.sif", "cat", "/etc/os-release")
    assert done.stdout == 'NAME="Image"\n', done.stderr


def test_a_named_container_is_kept_until_its_job_ends(cluster, made):
    job = cluster.submit(f"srun --container-image=oci:{made}/layout --container-name=box sh -c 'echo kept > /etc/kept'\n"
                         "srun --container-name=box cat /etc/kept\nls -d $SLURM_TMPDIR/.container/name-box\n"
                         "srun --container-name=box --container-readonly touch /etc/other\necho $?")
    output = cluster.output(job)
    assert output.startswith("kept\n") and "Read-only file system" in output and output.endswith("1\n"), output
    directory = next(line for line in output.splitlines() if line.endswith("name-box"))
    poll(lambda: not os.path.exists(directory), what="the removal of the container")


def test_a_batch_script_in_an_image(cluster, made):
    job = cluster.submit("cat /etc/os-release\npwd", f"--container-image=oci:{made}/layout", "--container-remap-root",
                         env={"LC_ALL": "C"})
    assert cluster.output(job) == 'NAME="Image"\n/etc\n'


@pytest.mark.parametrize("options, says", [
    (["--container-image=ubuntu:24.04"], "skopeo copy docker://"),
    (["--container-image=docker://x"], "skopeo copy docker://"),
    (["--container-mounts=/a:/b"], "need --container-image"),
    (["--container-image=/x", "--container-mounts=/a:b"], "must be absolute"),
    (["--container-image=/x", "--container-mounts=/a:/b:fast"], 'the flag "fast" is not known'),
    (["--container-image=/x", "--container=/y"], "mutually exclusive"),
    (["--container-image=/nosuch.sqsh"], "/nosuch.sqsh: No such file or directory"),
    (["--container-name=box"], "gives --container-image too")])
def test_what_cannot_be_had_is_refused(cluster, options, says):
    done = cluster.run("srun", *options, "true")
    assert done.returncode != 0 and says in done.stderr, done.stderr


# ---- users of a shared cluster

@pytest.fixture(scope="module")
def shared():
    cluster = Shared()
    yield cluster
    cluster.close()


@NEEDS_ROOT
def test_containers_have_their_users_rights_alone(shared, made):
    """Neither bundle nor image is read with more, and root in a container is the user."""
    public = shared.directory / "public"
    if not public.exists():
        public.mkdir(mode=0o755)
        bundle(public / "bundle")
        layout(public / "layout", lambda archive: archive.add(public / "bundle/rootfs", arcname="."))
        subprocess.run(["chmod", "-R", "a+rX", public], check=True)
    alice, bob = shared.alice, shared.bob
    secret = alice.work / "secret"
    secret.write_text("secret\n")
    os.chown(secret, alice.uid, alice.gid)
    secret.chmod(0o600)
    commands = [(f"--container-image=oci:{public}/layout", "--container-remap-root", f"--container-mounts={alice.work}:/mnt")]
    if RUNTIMES:
        alice.run("cp", "-r", public / "bundle", alice.work / "bundle", check=0)
        done = bob.run("srun", f"--container={alice.work}/bundle", "true")
        assert done.returncode == 1 and "Permission denied" in done.stderr
        done = alice.run("srun", f"--container={alice.work}/bundle", "sh", "-c", "id -u; cat /etc/os-release")
        assert done.stdout == '0\nNAME="Bundle"\n', done.stderr
    for options in commands:
        done = alice.run("srun", *options, "cat", "/mnt/secret")
        assert done.stdout == "secret\n", done.stderr
        alice.run("chmod", "755", alice.work, check=0)
        done = bob.run("srun", *options, "cat", "/mnt/secret")
        assert done.returncode != 0 and "Permission denied" in done.stderr
        done = bob.run("srun", *options, "sh", "-c", "id -u; cat /etc/shadow; touch /etc/new /proc/1/comm")
        assert done.stdout.startswith("0\n"), done.stderr


def test_tasks_in_images_share_their_user_namespace(cluster, made):
    """So that an MPI library's tasks reach each other's memory."""
    done = cluster.run("srun", "-n2", f"--container-image=oci:{made}/layout", "sh", "-c",
                       "touch $SLURM_TMPDIR/$SLURM_PROCID; until [ -e $SLURM_TMPDIR/0 -a -e $SLURM_TMPDIR/1 ]; do "
                       "sleep 0.05; done; ls -l /proc/self/ns/user; touch $SLURM_TMPDIR/seen$SLURM_PROCID; "
                       "until [ -e $SLURM_TMPDIR/seen0 -a -e $SLURM_TMPDIR/seen1 ]; do sleep 0.05; done", check=0)
    first, second = (line.split("user:")[1] for line in done.stdout.splitlines())
    assert first == second and first != os.readlink("/proc/self/ns/user").removeprefix("user:")
    after = cluster.run("srun", "-n1", f"--container-image=oci:{made}/layout", "id", "-u", check=0)
    assert after.stdout == f"{os.getuid()}\n"


@NEEDS_RUNTIME
def test_a_full_disk_leaves_nothing_of_a_container(cluster, made):
    """A job that cannot write to its directory is told so."""
    job = cluster.submit("rm -r $SLURM_TMPDIR; touch $SLURM_TMPDIR\n"
                         f"srun --container={made}/bundle true\necho $?\n"
                         f"srun --container-image=oci:{made}/layout true\necho $?")
    output = cluster.output(job)
    assert output.count("slurmstepd: error: container: ") == 2 and output.count("\n1\n") == 2, output
    assert mounts() == []


@pytest.fixture
def configured(tmp_path, tmp_path_factory):
    (tmp_path / "site").mkdir()
    (tmp_path / "site/file").write_text("of the site\n")
    cluster = Cluster(tmp_path_factory.mktemp("configured"), Machine(extra=(
        f'[containers]\nruntime = "/nosuch/crun"\nmounts = ["{tmp_path}/site:/site:ro", "/nosuch"]\n')))
    yield cluster
    cluster.close()


def test_what_the_administrator_sets(configured, made):
    done = configured.run("srun", f"--container-image=oci:{made}/layout", "sh", "-c",
                          "cat /site/file; env; touch /site/file", check=1)
    assert done.stdout.startswith("of the site\n") and "MINKE_CONTAINER" not in done.stdout
    assert "Read-only file system" in done.stderr
    done = configured.run("srun", f"--container={made}/bundle", "true")
    assert done.returncode == 1 and "/nosuch/crun: No such file or directory" in done.stderr
