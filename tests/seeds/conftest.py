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


def closed_at_the_end(site):
    yield site
    site.close()


@pytest.fixture(scope="session")
def narval():
    yield from closed_at_the_end(sites.Narval())


@pytest.fixture(scope="session")
def alex():
    yield from closed_at_the_end(sites.Alex())


@pytest.fixture(scope="session")
def sharcnet():
    yield from closed_at_the_end(sites.Sharcnet())


@pytest.fixture(scope="session")
def tamia(tmp_path_factory):
    """Of a user's own."""
    one = sites.tamia(tmp_path_factory.mktemp("tamia"))
    yield one
    one.close()


@pytest.fixture(scope="session")
def wheelhouse(narval, tmp_path_factory):
    """Narval with the wheels that its guides install. What they do is told by what they are here: their version."""
    made = tmp_path_factory.mktemp("wheels")
    fetched = fetch_wheels(made)
    for name in ("transformers", "accelerate", "torch"):
        make_wheel(made, name, "2.6.0")
    make_wheel(made, "torchvision", "0.21.0", requires=["torch==2.6.0"])
    done = subprocess.run([narval.program, "wheels", "add", "--python", "3.11", "torch", "torchvision", "transformers",
                           "accelerate"], capture_output=True, text=True, timeout=600,
                          env=narval.root | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{fetched} {made}"})
    assert done.returncode == 0, done.stderr
    return narval


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """All cases of a site on one worker, so that it is made once."""
    for item in items:
        if "seeds" not in item.path.parts:
            continue
        for site in ("narval", "alex", "sharcnet", "tamia"):
            if site in item.fixturenames:
                item.add_marker(pytest.mark.xdist_group(f"seeds-{site}"))
        if {"narval", "alex", "sharcnet"} & set(item.fixturenames):
            item.add_marker(pytest.mark.skipif(os.geteuid() != 0, reason="only root can serve others and make users"))
            item.add_marker(pytest.mark.skipif(not LMOD.is_dir(), reason="Lmod is not installed"))
        if item.get_closest_marker("offline"):
            item.add_marker(pytest.mark.skipif(not sites.OFFLINE, reason="there are no network namespaces here"))
