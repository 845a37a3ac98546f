"""Tests in a virtual machine with Debian's own kernel: control groups of version 2, systemd, power cuts.

Run by `./dev test --vm` alone, in two machines side by side, which the tests' groups name: emulated, a boot takes half
a minute. What ends a machine's cluster comes last in its group. Those of several machines have three, of their own (guests.py).
"""
import os
import pathlib
import shutil
import subprocess
import tempfile

import pytest

import guest_cluster
import image
from guest import Guest

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def pytest_ignore_collect(collection_path, config):
    return True if collection_path.name.startswith("test_") and not config.getoption("--vm") else None


@pytest.fixture(scope="session")
def guest():
    try:
        made = image.make(REPOSITORY / "build" / "vm")
    except image.Unavailable as reason:
        pytest.skip(str(reason))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-vm-"))
    minke = pathlib.Path(os.environ.get("MINKE", REPOSITORY / "build" / "minke"))
    library = directory / "libnvidia-ml.so.1"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, REPOSITORY / "tests/fake_nvml.c"], check=True)
    machine = None
    try:
        machine = Guest(made, directory / "machine", {"minke": minke, library.name: library})
        yield machine
    finally:
        if machine:
            machine.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def cluster_machine(guest):
    guest_cluster.set_up(guest)
    return guest


@pytest.fixture
def machine(cluster_machine):
    """The guest with a shared cluster; no job is left when the test ends."""
    yield cluster_machine
    cluster_machine.run("minke scancel -u alice; minke scancel -u bob; true", None)
