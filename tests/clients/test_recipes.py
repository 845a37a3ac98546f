"""The recipes of docs/clients.md: each section is run as the page has it, with the client from its registry.

They download some hundred megabytes once, and take minutes: only with `--clients` (./dev test --clients, ./dev test --long).
"""
import pathlib
import re
import shutil

import pytest

from cluster import ROOT, poll
from client_environments import installed
from test_docs import Shell, commands, daemons_below, file_of_block, pattern_of

MINKE_ONLY = True
PAGE = ROOT / "docs/clients.md"
# Each section, and what it needs: a list of packages beside this file, or None.
NEEDS = {"submitit": "requirements", "Snakemake": "requirements", "Nextflow": "nextflow", "Parsl": "parsl",
         "dask-jobqueue": "requirements", "PSI/J": "psij", "executorlib": "executorlib", "torchx": "torchx", "Cylc": "cylc",
         "AiiDA": "aiida", "Ray": "ray", "Jupyter": "jupyter", "VS Code": None}
NOT_RUN = {"SkyPilot"}
pytestmark = [pytest.mark.timeout(1800), pytest.mark.xdist_group("recipes")]


def sections() -> dict[str, str]:
    parts = re.split(r"^## (.*)$", PAGE.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2]))


def blocks(text: str):
    """(words after the backticks, content) of each fenced block."""
    for match in re.finditer(r"^```([^\n]*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield match[1].split(), match[2]


def test_every_section_is_run_or_says_that_it_is_not():
    assert set(sections()) == set(NEEDS) | NOT_RUN
    assert all("Not run" in sections()[name] for name in NOT_RUN)


@pytest.mark.parametrize("name", [name for name, needs in NEEDS.items() if needs])
def test_the_page_names_the_version_that_is_run(name):
    pinned = (pathlib.Path(__file__).with_name(f"{NEEDS[name]}.txt"))
    if not pinned.exists():
        assert re.search(r"<version>([\d.]+)", pinned.with_suffix(".xml").read_text())[1] in sections()[name]
        return
    versions = {one.partition("==")[0].lower().replace("_", "-"): one.partition("==")[2] for one in pinned.read_text().split()}
    named = re.findall(r"([a-z][\w-]*) (\d+\.\d+[\d.]*\d)(?=[ ,:]| from)", sections()[name])
    assert named and all(versions[package] == version for package, version in named if package in versions)
    assert any(package in versions for package, _ in named)


@pytest.mark.parametrize("name", list(NEEDS))
def test_recipe(name, new_cluster, request):
    if not request.config.getoption("--clients"):
        pytest.skip("recipes with clients from their registries run with --clients")
    if name == "VS Code" and not (pathlib.Path("/usr/sbin/sshd").exists() and shutil.which("ssh-keygen")):
        pytest.skip("there is no sshd")
    cluster = new_cluster(re.sub(r"\W", "", name.lower()))
    if NEEDS[name]:
        cluster.environment["PATH"] = f"{installed(NEEDS[name])}:{cluster.environment['PATH']}"
    cluster.environment |= {"PYTHONDONTWRITEBYTECODE": "1", "AIIDA_PATH": str(cluster.work), "USER": "root"}
    if name == "VS Code":
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # where root's sshd works
        program = cluster.work / "bin"
        program.mkdir()
        (program / "ssh").write_text(f'#!/bin/sh\nexec /usr/bin/ssh -F "{cluster.work}/.ssh/config" "$@"\n')
        (program / "ssh").chmod(0o755)
        cluster.environment["PATH"] = f"{program}:{cluster.environment['PATH']}"
    shell = Shell(cluster)
    shell.run("export USER=$(id -un)")  # who is in the password file
    try:
        for words, content in blocks(sections()[name]):
            if words[0] != "console":
                path = file_of_block(cluster.work, words[1])
                path.parent.mkdir(parents=True, exist_ok=True)
                # ssh asks the password file for ~, not HOME.
                path.write_text(content.replace("~/", f"{cluster.work}/") if name == "VS Code" else content)
                if path.name == "sshd_config":  # whose directory here is in one that everybody may write
                    path.write_text(path.read_text() + "StrictModes no\n")
                continue
            for command, expected in commands(content):
                printed = shell.run(command)
                assert re.fullmatch(pattern_of(expected), printed), f"$ {command}\nprinted:\n{printed}\nexpected:\n" + "\n".join(expected)
        cluster.run("scancel", "--me")
        poll(lambda: not cluster.queue("-t", "PD,R"), 60, "the end of the jobs")
    finally:
        shell.close()
        assert not [pid for pid in daemons_below(cluster.work) if pid == cluster.pid()]
