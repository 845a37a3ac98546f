"""Fixtures. A test that asks for `cluster` gets one of its own; nothing of it is left when the test ends."""
import os
import shutil
import signal

import pytest

from cluster import Cluster, Machine, Reference
from shared import Shared

# Who starts the tests in the background, or by nohup, may have had them ignore or block signals, and every command that
# they start with them. Those of PYTHONS Python itself ignores, and gives back to what it starts.
PYTHONS = {signal.SIGPIPE, signal.SIGXFSZ}
for one in signal.valid_signals() - PYTHONS:
    if signal.getsignal(one) == signal.SIG_IGN:
        signal.signal(one, signal.default_int_handler if one == signal.SIGINT else signal.SIG_DFL)
signal.pthread_sigmask(signal.SIG_SETMASK, [])


def pytest_addoption(parser):
    parser.addoption("--reference", action="store_true", help="run what is Slurm's on a real Slurm, not on Minke")
    parser.addoption("--slurm", default="22.05,24.11", help="the releases of Slurm to compare with: 22.05,24.11,26.05")
    parser.addoption("--clients", action="store_true", help="run the recipes of docs/clients.md, with clients from their registries")
    parser.addoption("--vm", action="store_true", help="run the tests in the virtual machine")
    parser.addoption("--long", action="store_true", help="more of what takes long: larger numbers, other seeds")


def pytest_collection_modifyitems(config, items):
    # What takes long, and runs on one worker, begins first.
    items.sort(key=lambda item: item.get_closest_marker("xdist_group") is None)
    if config.getoption("--reference"):
        for item in items:
            own = item.get_closest_marker("minke_only") or getattr(item.module, "MINKE_ONLY", False)
            if own or "cluster" not in item.fixturenames:
                item.add_marker(pytest.mark.skip(reason="about Minke itself"))


class LastOrder:
    """Releases of Slurm one after the other, and at the end of each what looks back at all of its tests. pytest has its own
    idea of their order, and applies it after the hooks of this file."""
    @staticmethod
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(items):
        def place(item):
            release = getattr(item, "callspec", None) and item.callspec.params.get("release")
            return release or "", item.get_closest_marker("looks_back") is not None
        items.sort(key=place)


def pytest_configure(config):
    config.addinivalue_line("markers", "looks_back: runs behind all other tests of its release of Slurm")
    config.pluginmanager.register(LastOrder(), "last-order")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    item.failed = getattr(item, "failed", False) or report.failed


@pytest.fixture(autouse=True)
def room(request):
    """What a test leaves in its directory is kept only where it failed: all of them leave some ten gigabytes."""
    yield
    if "tmp_path" in request.fixturenames and not request.node.failed:
        shutil.rmtree(request.node.funcargs["tmp_path"], ignore_errors=True)


def machine_of(request) -> Machine:
    marker = request.node.get_closest_marker("machine")
    return Machine(**(marker.kwargs if marker else {}))


@pytest.fixture
def cluster(request, tmp_path):
    """Two nodes of two processors and 2000 MiB each, unless @pytest.mark.machine says otherwise."""
    if request.config.getoption("--reference"):
        one = Reference(machine_of(request))
    else:
        one = Cluster(tmp_path, machine_of(request))
    yield one
    one.close()


@pytest.fixture
def daemon(cluster):
    """A cluster whose daemon must be the same process at the end, and still answer."""
    cluster.run("minke", "up", check=0)
    pid = cluster.pid()
    yield cluster
    assert cluster.pid() == pid
    with cluster.wire() as wire:
        assert wire.ask(status=wire.messages.StatusRequest()).status.pid == pid


@pytest.fixture
def new_cluster(tmp_path):
    """A function that makes more clusters: new_cluster("name", Machine(...))."""
    made = []

    def make(name: str, machine: Machine | None = None) -> Cluster:
        made.append(Cluster(tmp_path / name, machine))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture(scope="module")
def shared():
    one = Shared()
    yield one
    one.close()


@pytest.fixture
def undisturbed(shared, request):
    """After each test the cluster runs as before, under the same process, and serves."""
    before = shared.pid()
    yield
    os.kill(before, 0)
    assert shared.pid() == before
    assert shared.alice.run("srun", "echo", "served", check=0).stdout == "served\n"
