"""Modules, wheels and metrics where one cluster serves several users."""
import json
import pathlib
import subprocess

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared
from test_wheels import make_wheel, seeds  # noqa: F401

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.xdist_group("wheels"), pytest.mark.timeout(1800),
              pytest.mark.skipif(not pathlib.Path("/usr/share/lmod/lmod").is_dir(), reason="Lmod is not installed")]


@pytest.fixture(scope="module")
def machine():
    # Homes are not below /tmp, which users of modules find in their paths.
    one = Shared(parent="/var/tmp")
    one.minke("software", "scan", "--path", "/usr/bin")
    yield one
    one.close()


def job(user, text: str, *options) -> str:
    number = user.submit(text, "--mem=200M", *options)
    output = user.output(number, seconds=120)
    assert user.state(number) == "COMPLETED", output
    return output


def test_every_user_has_the_modules(machine):
    for user in (machine.alice, machine.bob):
        text = job(user, "module load StdEnv/2020 python/3.11; python --version; module -t list")
        assert "minke: StdEnv/2020 is not here: StdEnv/2023 instead\n" in text and "Python 3.11" in text
        assert "module load" in job(user, "module avail; echo module load; module --terse avail httpproxy")
    done = machine.alice.run("bash", "-c", 'eval "$(minke env --over-slurm)"; module load python/3.11; python --version', check=0)
    assert done.stdout.startswith("Python 3.11")


def test_only_root_changes_what_all_have(machine):
    for command in (("software", "scan"), ("software", "alias", "a/1", "gcc"), ("wheels", "add", "numpy"),
                    ("wheels", "remove", "numpy-1-py3-none-any.whl")):
        done = machine.alice.run("minke", *command)
        assert done.returncode == 1 and "root's to change" in done.stderr, (command, done.stderr)
    machine.minke("software", "alias", "labstack/7", "python/3.11")
    assert "labstack/7 is not here: python/3.11" in job(machine.bob, "module load labstack/7; python --version")
    software = machine.home / "software"
    done = machine.alice.python(f"""
import os
for top, directories, files in os.walk({str(software)!r}):
    for name in directories + files:
        path = os.path.join(top, name)
        if not os.path.islink(path) and os.access(path, os.W_OK):
            print(path)
""")
    assert [line for line in done.stdout.splitlines() if not line.endswith("software/cache")] == []


def test_modules_of_ones_own_are_ones_own(machine):
    module = machine.alice.work / "modulefiles/tool"
    module.mkdir(parents=True)
    (module / "1.lua").write_text('setenv("TOOL", "hers")\n')
    assert job(machine.alice, "module load tool; echo $TOOL").endswith("hers\n")
    assert "unknown" in job(machine.bob, "module load tool || true")
    local = machine.home / "software/local/site"
    local.mkdir()
    (local / "3.lua").write_text('setenv("SITE", "ours")\n')
    for user in (machine.alice, machine.bob):
        assert job(user, "module load site; echo $SITE").endswith("ours\n")


def test_wheels_for_all_and_a_cache_for_each(machine, seeds, tmp_path):  # noqa: F811
    made = make_wheel(tmp_path, "shared", "1.0")
    done = subprocess.run([machine.program, "wheels", "add", "--python", "3.11", "shared"], capture_output=True, text=True,
                          timeout=300, env=machine.root | {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{seeds} {made.parent}"})
    assert done.returncode == 0, done.stderr
    text = ("module load python/3.11; virtualenv --no-download $SLURM_TMPDIR/env > /dev/null\n"
            "source $SLURM_TMPDIR/env/bin/activate; pip install --no-index shared; shared-tells; avail_wheels shared")
    for user in (machine.alice, machine.bob):  # the second one has nothing of the first one's
        first = job(user, text)
        assert "linked from" not in first and "shared 1.0\n" in first and "1.0        py3       generic" in first
        assert "linked from" in job(user, text)
    caches = list((machine.home / "software/cache").iterdir())
    assert {(one.stat().st_uid, one.stat().st_mode & 0o777) for one in caches} == {(machine.alice.uid, 0o700),
                                                                                   (machine.bob.uid, 0o700)}


def test_metrics_are_kept_with_their_owners_rights(machine):
    """Of a directory that nobody else may enter; what a job names of another user's is not read."""
    machine.alice.script("echo epoch,secret > log.csv; sleep 6; echo 1,0.5 >> log.csv; chmod 600 log.csv")
    hers = machine.alice.sbatch("--mem=50M", machine.alice.work / "job.sh")
    his = machine.bob.submit(f"ln -s {machine.alice.work} there; sleep 6; echo epoch,own > own.csv; echo 1,0.25 >> own.csv",
                             "--mem=50M")
    for user, number in ((machine.alice, hers), (machine.bob, his)):
        user.wait_end(number)

    def kept(number) -> dict:
        done = machine.root_run(machine.program, "metrics", str(number), "--json")
        return {one["name"]: one["last"] for one in json.loads(done.stdout)["metrics"]}
    assert poll(lambda: kept(hers)) == {"secret": 0.5}
    assert poll(lambda: kept(his)) == {"own": 0.25}
