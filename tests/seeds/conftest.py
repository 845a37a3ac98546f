"""One cluster for all cases of a site; each is made when the first case asks for it."""
import os
import pathlib
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import sites  # noqa: E402
from test_wheels import fetch_wheels, make_wheel  # noqa: E402

LMOD = pathlib.Path("/usr/share/lmod/lmod")


def closed_at_the_end(make, needs_root: bool = True):
    if needs_root and os.geteuid() != 0:
        pytest.skip("only root can serve others and make users")
    if not LMOD.is_dir():
        pytest.skip("Lmod is not installed")
    site = make()
    yield site
    site.close()


@pytest.fixture(scope="session")
def narval():
    yield from closed_at_the_end(sites.Narval)


@pytest.fixture(scope="session")
def alex():
    yield from closed_at_the_end(sites.Alex)


@pytest.fixture(scope="session")
def sharcnet():
    yield from closed_at_the_end(sites.Sharcnet)


@pytest.fixture(scope="session")
def own_narval(tmp_path_factory):
    yield from closed_at_the_end(lambda: sites.own_narval(tmp_path_factory.mktemp("narval")), needs_root=False)


@pytest.fixture(scope="session")
def own_alex(tmp_path_factory):
    yield from closed_at_the_end(lambda: sites.own_alex(tmp_path_factory.mktemp("alex")), needs_root=False)


@pytest.fixture(scope="session")
def tamia(tmp_path_factory):
    yield from closed_at_the_end(lambda: sites.tamia(tmp_path_factory.mktemp("tamia")), needs_root=False)


@pytest.fixture(scope="session")
def wheels(tmp_path_factory):
    """What a function adds to a cluster's wheelhouse, given its program and environment: what the guides install. What these
    packages do is told by what they are here: their version."""
    made = tmp_path_factory.mktemp("wheels")
    fetched = fetch_wheels(made)
    for name in ("transformers", "accelerate", "torch"):
        make_wheel(made, name, "2.6.0")
    make_wheel(made, "torchvision", "0.21.0", requires=["torch==2.6.0"])

    def add(program, environment) -> None:
        done = subprocess.run([program, "wheels", "add", "--python", "3.11", "torch", "torchvision", "transformers", "accelerate"],
                              capture_output=True, text=True, timeout=600,
                              env=environment | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{fetched} {made}"})
        assert done.returncode == 0, done.stderr
    return add


@pytest.fixture(scope="session")
def wheelhouse(narval, wheels):
    """Narval with its wheels."""
    wheels(narval.program, narval.root)
    return narval


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """All cases of a site on one worker, so that it is made once: the first three guides are about Narval."""
    for item in items:
        if item.path.parent != pathlib.Path(__file__).parent:
            continue
        narval = item.path.name.startswith(("test_seed_0", "test_seed_1", "test_seed_2"))
        item.add_marker(pytest.mark.xdist_group("seeds-narval" if narval else item.path.stem))
        if item.get_closest_marker("offline"):
            item.add_marker(pytest.mark.skipif(not sites.OFFLINE, reason="there are no network namespaces here"))
