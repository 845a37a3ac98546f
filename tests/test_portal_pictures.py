"""The pictures of docs/portal.md. `MINKE_PICTURES=docs/pictures pytest tests/test_portal_pictures.py` makes them anew."""
import getpass
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import tempfile

import pytest

from cluster import ROOT, Cluster, Machine, poll, written
from portal_client import ACCOUNTED, Portal

pytestmark = pytest.mark.minke_only
PAGE = ROOT / "docs" / "portal.md"
NAMES = ("home", "job", "jobs", "new", "compare", "accounts", "storage", "cluster")
MOST_BYTES = 60 * 1024


def test_each_page_has_its_pictures():
    named = re.findall(r'(?:srcset|src)="(pictures/[^"]+)"', PAGE.read_text())
    assert sorted(named) == sorted(f"pictures/{name}-{colours}.webp" for name in NAMES for colours in ("light", "dark"))
    for name in named:
        content = (ROOT / "docs" / name).read_bytes()
        assert content[:4] == b"RIFF" and content[8:12] == b"WEBP", f"{name} is no WebP"
        assert struct.unpack("<I", content[4:8])[0] + 8 == len(content) <= MOST_BYTES, f"{name} is cut, or too large"
    texts = re.findall(r'<img alt="([^"]+)"', PAGE.read_text())
    assert len(texts) == len(set(texts)) == len(NAMES), "each picture says in words what it shows"
    assert {one.name for one in (ROOT / "docs" / "pictures").glob("*.webp")} == {pathlib.Path(name).name for name in named}


CONFIGURATION = ACCOUNTED + """
[portal]
messages = ["Maintenance on 2 December, from 9:00"]

[storage]
profile = "narval"
root = "{place}/disks"
"""
TRAIN = """echo step,loss,val_acc >log-$SLURM_JOB_ID.csv
for step in 1 2 3 4 5 6 7 8; do echo $step,0.$((9 - step))$1,0.$((step + 1))$1 >>log-$SLURM_JOB_ID.csv; echo "epoch $step: loss 0.$((9 - step))$1"; done
true --lr 0.$1 --batch-size 64
"""


def fill(cluster) -> dict:
    """Jobs of each kind. Returns the pages to look at, by name."""
    for words in (("add", "account", "def-curie", "fairshare=3"), ("add", "user", getpass.getuser(), "account=def-curie"),
                  ("modify", "account", "def-curie", "set", "coreyears=40")):
        cluster.run("sacctmgr", "-i", *words, check=0)
    runs, script = [], cluster.script(TRAIN)
    for digit in (3, 5, 7):
        (cluster.work / f"run{digit}").mkdir()
        runs.append(cluster.sbatch("-D", cluster.work / f"run{digit}", "-J", f"lr-0.{digit}", "--gres=gpu:1", "--cpus-per-task=4", "--mem=8G",
                                   "--time=30", "--account=def-curie", script, digit))
    runs.append(cluster.submit("no-such-program", "--job-name=preprocess", "--time=30", "--account=def-curie"))
    for job in runs:
        cluster.wait_end(job)
    running = cluster.submit("for epoch in 1 2 3 4; do echo epoch $epoch: loss 0.$((9 - epoch))4; done; exec sleep 600", "--job-name=train-resnet", "--gres=gpu:2",
                             "--cpus-per-task=8", "--mem=32G", "--time=600", "--account=def-curie", f"--output={cluster.work}/train.out")
    cluster.submit("exec sleep 600", "--job-name=evaluate", "--cpus-per-task=4", "--mem=4G", "--time=60", "--account=def-curie")
    cluster.submit("true", "--job-name=sweep", "--array=1-20", "--gres=gpu:4", "--nodes=4", "--exclusive", "--time=120", "--account=def-curie")
    cluster.submit("true", "--job-name=report", f"--dependency=afterok:{running}", "--time=10", "--account=def-curie")
    cluster.wait_state(running, "RUNNING")
    told = lambda: json.loads(cluster.run("minke", "jobs", "--metric", "val_acc", "--json", check=0).stdout)
    poll(lambda: sum("val_acc" in one["metrics"] for one in told()) == 3, what="the metrics of three runs")
    poll(lambda: written(cluster.work / "train.out"))
    return {"home": "/", "job": f"/jobs/{running}", "jobs": "/jobs", "new": "/new", "accounts": "/accounts", "storage": "/storage",
            "cluster": "/cluster", "compare": "/compare?metric=val_acc&jobs=" + "%2C".join(str(job) for job in runs[:3])}


@pytest.mark.skipif("MINKE_PICTURES" not in os.environ, reason="pictures are made when asked for: see CONTRIBUTING.md")
def test_make_them():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:  # a cluster with tiers gives jobs a /tmp of their own
        make_them(pathlib.Path(place))


def make_them(tmp_path):
    into = pathlib.Path(os.environ["MINKE_PICTURES"]).resolve()
    into.mkdir(exist_ok=True)
    for name in ("package.json", "package-lock.json", "pictures.mjs"):
        shutil.copy(ROOT / "web" / "tests" / name, tmp_path)
    subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=tmp_path, check=True, capture_output=True)
    home = tmp_path / "me"
    home.mkdir()
    cluster = Cluster(tmp_path / "c", Machine(nodes=4, cpus=16, memory=64000, gpus="a100:4", extra=CONFIGURATION.format(place=tmp_path)))
    cluster.environment["HOME"] = str(home)
    cluster.run("minke", "storage", "init", check=0)
    pages = fill(cluster)
    portal = Portal(cluster)
    names = [[str(cluster.work), "/home/ada"], [str(home), "/home/ada"], [str(tmp_path), ""],
             [f"/scratch/{getpass.getuser()}", "/scratch/ada"], [f'"{getpass.getuser()}"', '"ada"']]
    try:
        done = subprocess.run(["node", "pictures.mjs", portal.url, str(into), json.dumps(pages), json.dumps(names)], cwd=tmp_path, capture_output=True,
                              text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        made = json.loads(done.stdout)
    finally:
        portal.close()
        cluster.close()
    assert set(made) == {f"{name}-{colours}" for name in NAMES for colours in ("light", "dark")}
    assert max(made.values()) <= MOST_BYTES, made
