"""The packages for AArch64, on a machine of that kind: Debian 12 with systemd, emulated from its first instruction on.

./dev package --machine arm64 makes them; MINKE_PACKAGES names another directory of theirs."""
import os
import pathlib
import shutil
import tempfile

import pytest

import image
from guest import Guest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
RECIPE = image.Recipe("arm64", "bookworm", ("python3", "python3-venv"), "2G", architecture="arm64", masked=("ssh.service",))

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(3600), pytest.mark.xdist_group("arm64")]


@pytest.fixture(scope="module")
def arm64():
    packages = pathlib.Path(os.environ.get("MINKE_PACKAGES", REPOSITORY / "build/packages-arm64"))
    files = [*packages.glob("*_arm64.deb"), *packages.glob("*aarch64.whl")]
    if len(files) != 3:
        pytest.skip("./dev package --machine arm64 makes its packages")
    try:
        made = image.make(REPOSITORY / "build" / "vm", RECIPE)
    except image.Unavailable as reason:
        pytest.skip(str(reason))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-vm-"))
    machine = None
    try:
        machine = Guest(made, directory / "machine", {file.name: file for file in files}, architecture="arm64")
        yield machine
    finally:
        if machine:
            machine.close()
        shutil.rmtree(directory, ignore_errors=True)


def test_installed_it_runs_jobs_under_systemd_and_goes_again(arm64):
    assert arm64.run("uname -m").split() == ["aarch64"]
    arm64.run("dpkg -i /opt/minke/*.deb")
    arm64.run("useradd -m -s /bin/bash ada; printf '[accounting]\\nenforce = []\\n' >/etc/minke.toml; systemctl start minke", seconds=900)
    assert arm64.run("systemctl is-active minke minke-launcher").split() == ["active", "active"]
    arm64.until("minke sinfo")
    assert "confined by control groups (version 2: cpuset, memory, pids)" in arm64.run("minke doctor", None)
    user = "runuser -u ada -- env -C /home/ada HOME=/home/ada "
    arm64.run(user + "minke sbatch --wait -n1 --mem=50M -o out --wrap 'uname -m; cat /proc/self/cgroup; srun hostname'", seconds=600)
    told = arm64.run("cat /home/ada/out")
    assert told.startswith("aarch64\n0::/system.slice/minke-launcher.service/minke+") and told.endswith("\nmachine\n"), told
    assert "COMPLETED" in arm64.run(user + "minke sacct -X -n -o state")
    arm64.run(user + "minke sbatch --wait -n1 --mem=50M -o big --wrap 'python3 -c \"x = bytearray(200 << 20)\"'", None, seconds=600)
    assert "OUT_OF_ME" in arm64.run(user + "minke sacct -X -n -o state -j 2")
    arm64.run("dpkg -r minke-server minke && ! test -e /usr/bin/minke && ! pgrep minke")


def test_pip_installs_it(arm64):
    arm64.run("python3 -m venv /root/venv && /root/venv/bin/pip -q install --no-index /opt/minke/*.whl", seconds=900)
    assert arm64.run("/root/venv/bin/minke --version").startswith("minke ")
    told = arm64.run("cd /root && export MINKE_HOME=/root/own && /root/venv/bin/minke sbatch --wait -o out --wrap 'echo it runs' && "
                     "cat out; /root/venv/bin/minke down --cancel-jobs", seconds=600)
    assert "it runs\n" in told, told
