"""Limits that XFS and ext4 hold themselves: project quotas, which a kernel without them cannot try."""
import pytest

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800), pytest.mark.xdist_group("first")]

CONFIGURATION = """[storage]
profile = "narval"
root = "/disk/{kind}"
[storage.scratch]
space = "20M"
files = 50
"""


# XFS has these words for a project that is full.
@pytest.mark.parametrize("kind, make, refused", [
    ("ext4", "mkfs.ext4 -q -O quota,project -E quotatype=prjquota", "Disk quota exceeded"),
    ("xfs", "mkfs.xfs -q", "No space left on device")])
def test_project_quotas(guest, kind, make, refused):
    guest.run(f"""set -e
ln -sf /opt/minke/minke /usr/local/bin/minke
id carol 2>/dev/null || useradd --create-home carol
mkdir -p /disk/{kind}
truncate -s 400M /var/tmp/{kind}.image
{make} /var/tmp/{kind}.image
mount -o loop,prjquota /var/tmp/{kind}.image /disk/{kind}
cat >/disk/{kind}.toml <<'END'
{CONFIGURATION.format(kind=kind)}END
""", seconds=300)
    init = f"MINKE_HOME=/disk/home-{kind} MINKE_CONFIG=/disk/{kind}.toml minke storage init --user carol"
    told = guest.run(init)
    line, = (line for line in told.splitlines() if line.startswith("scratch"))
    assert line.endswith("(limits by the file system)"), told
    scratch = f"/disk/{kind}/scratch/carol"
    many = f"for n in $(seq 100); do touch {scratch}/$n || exit 9; done"
    assert refused in guest.run(f"runuser -u carol -- bash -c '{many}'", 9)
    made = int(guest.run(f"ls {scratch} | wc -l"))
    assert 40 <= made < 50
    # What is there already counts; what is taken away, too.
    guest.run(f"{init} && runuser -u carol -- rm -r {scratch}/1 && runuser -u carol -- touch {scratch}/again")
    guest.run(f"runuser -u carol -- bash -c 'rm {scratch}/*'")
    large = f"dd if=/dev/zero of={scratch}/large bs=1M count=40 conv=fsync"
    assert refused in guest.run(f"runuser -u carol -- bash -c '{large}'", 1)
    # Others have their own limits.
    guest.run(f"dd if=/dev/zero of=/disk/{kind}/other bs=1M count=40 conv=fsync status=none")


SCRIPT = """#!/bin/bash
#MINKE stage=cats.sqfs
trap 'cat $SLURM_TMPDIR/cats/3; exit' TERM
cat $SLURM_TMPDIR/cats/1
touch $SLURM_TMPDIR/cats/new
srun cat $SLURM_TMPDIR/cats/2
minke stage cats.sqfs
grep -c $SLURM_TMPDIR/cats /proc/self/mounts
touch begun
while [ "$1" = waits ]; do sleep 0.1; done
"""


def test_images_are_mounted_in_personal_clusters(guest):
    """By squashfuse, as long as the job is there: until its end it serves who saves work in time."""
    guest.run("modprobe fuse; ln -sf /opt/minke/minke /usr/local/bin/minke; id dora 2>/dev/null || useradd --create-home dora")

    def dora(script: str) -> str:
        return guest.run("runuser -u dora -- bash <<'END'\nset -e; cd; export MINKE_HOME=~/.minke\n" + script + "\nEND")

    dora(f"cat >job.sh <<'SCRIPT'\n{SCRIPT}SCRIPT\n"
         "mkdir cats; for n in 1 2 3; do echo image $n >cats/$n; done; minke pack -q --format squashfs cats; minke up")
    lines = dora("minke sbatch -Q --wait -o out job.sh; cat out").splitlines()
    assert lines[0] == "image 1" and "Read-only file system" in lines[1], lines
    assert lines[2] == "image 2" and "it was there" in lines[3] and lines[4] == "1", lines
    told = dora("rm begun; id=$(minke sbatch --parsable -o told job.sh waits)\n"
                "for n in $(seq 300); do [ -e begun ] && break; sleep 0.1; done\n"
                "minke scancel $id; for n in $(seq 300); do [ -d ~/.minke/tmp/job$id ] || break; sleep 0.1; done; cat told")
    assert told.splitlines()[-1] == "image 3", told
    # With the jobs their mounts are gone, and their directories; the image is kept.
    kept = dora("grep -c .minke/tmp /proc/self/mounts || true; ls ~/.minke/tmp ~/.minke/tmp/stage-cache-*/*")
    assert kept.startswith("0\n") and "job" not in kept and "image" in kept and "content" not in kept, kept
    dora("minke down")
