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
