"""Hosts for the tests of minke grow. All of them run on one worker: they share hosts, which take turns."""
import os
import pathlib
import shutil
import tempfile

import pytest

import hosts
import larger

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
TREES = pathlib.Path(os.environ.get("MINKE_TREES", REPOSITORY / "build" / "hosts"))


def made_hosts(suite: str, names: list[str], systemd: bool = False, more: tuple[str, ...] = ()):
    directory = None
    try:
        tree = hosts.make_tree(TREES, suite, more)
        directory = pathlib.Path(tempfile.mkdtemp(prefix="minke-grow-", dir=TREES))
        return directory, hosts.Hosts(directory, tree, names, systemd)
    except hosts.Unavailable as reason:
        if directory:
            shutil.rmtree(directory, ignore_errors=True)
        pytest.skip(str(reason))


@pytest.fixture(scope="module")
def machines(request):
    """A head with a Minke of root's, and three nodes with nothing of ours."""
    directory, made = made_hosts(os.environ.get("MINKE_SUITE", "trixie"), ["head", "n1", "n2", "n3"])
    try:
        hosts.start_minke(made["head"], pathlib.Path(os.environ.get("MINKE", REPOSITORY / "build" / "minke")))
        yield made
    finally:
        made.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="module")
def systemd_machines():
    """The same with systemd: a head and a node."""
    directory, made = made_hosts(os.environ.get("MINKE_SUITE", "trixie"), ["head", "n1"], systemd=True)
    try:
        yield made
    finally:
        made.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def grown(request):
    """A cluster that has grown from one machine, with people, a past and waiting jobs, to a head and two nodes, which have
    systemd. With --vm or --long they are 200 jobs; with --long the nodes have torch, too."""
    if os.environ.get("MINKE_SUITE", "trixie") == "bookworm":
        pytest.skip("Slurm 22.05 takes no waiting jobs with their numbers")
    long, vm = (request.config.getoption(name) for name in ("--long", "--vm"))
    more = hosts.TORCH if long else ()
    directory, made = made_hosts(os.environ.get("MINKE_SUITE", "trixie"), ["head", "n1", "n2"], systemd=True, more=more)
    try:
        program = pathlib.Path(os.environ.get("MINKE", REPOSITORY / "build" / "minke"))
        yield larger.Grown(made, program, waiting=200 if long or vm else 50)
    finally:
        made.close()
        shutil.rmtree(directory, ignore_errors=True)
