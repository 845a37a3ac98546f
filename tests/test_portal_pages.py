"""The portal's pages in a browser. It needs Debian's chromium, Node, and the packages that web/tests/package-lock.json pins."""
import getpass
import json
import os
import pathlib
import re
import shutil
import subprocess

import pytest

from cluster import ROOT, poll, written
from portal_client import Portal
from shared import NEEDS_ROOT, Shared
from test_shared_portal import CAN_MOUNT, SharedPortal

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.minke_only, pytest.mark.skipif(not CHROMIUM or not shutil.which("npm"), reason="no chromium, or no npm")]
NAME = "<b>bold</b><script>alert(1)</script>\u202egnp\x1b[31m"
SHOWN = re.sub("[\u202e\x1b]", "?", NAME)


@pytest.fixture(scope="module")
def packages(tmp_path_factory) -> pathlib.Path:
    """web/tests with its packages beside it."""
    place = tmp_path_factory.mktemp("pages")
    for name in ("package.json", "package-lock.json", "pages.mjs", "login.mjs", "records.mjs", "interactive.mjs", "trouble.mjs"):
        shutil.copy(ROOT / "web" / "tests" / name, place)
    done = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place, capture_output=True, text=True)
    if done.returncode != 0:
        pytest.skip("the packages cannot be had: " + done.stderr[:200])
    return place


def test_the_sources_have_no_mistakes_of_types():
    built = ROOT / "build/web"
    if not (built / "node_modules/svelte-check").is_dir():
        pytest.skip("the pages' packages are not in build/web")
    done = subprocess.run(["node", "node_modules/svelte-check/bin/svelte-check", "--fail-on-warnings", "--output", "human"], cwd=built,
                          capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_person_looks_and_acts(cluster, packages):
    running = cluster.submit("echo '<script>alert(2)</script>'; exec sleep 600", f"--job-name={NAME}")
    waiting = cluster.submit("true", "--hold")
    cluster.wait_state(running, "RUNNING")
    portal = Portal(cluster)
    if b"no pages" in portal.ask("/")[2]:
        portal.close()
        pytest.skip("this build has no pages")
    try:
        done = subprocess.run(["node", "pages.mjs", portal.url, str(running), str(waiting)], cwd=packages, capture_output=True, text=True,
                              timeout=300, env=os.environ | {"CHROMIUM": CHROMIUM})
        assert done.returncode == 0, f"{done.stderr}\nthe portal: {portal.process.poll()}"
        seen = json.loads(done.stdout)
        assert seen["said"] == [] and seen["dialogs"] == 0
        assert "token" not in seen["address"]
        assert set(map(tuple, seen["asked"].values())) == {(1, 1)}, seen["asked"]
        assert seen["title"] == SHOWN and seen["made_of_names"] == 0
        assert seen["output"] == "<script>alert(2)</script>\n"
        assert seen["listed"] == [str(waiting), str(running)]
        assert seen["script"] == "#!/bin/bash\n#SBATCH --job-name=written\n#SBATCH --time=5\n#SBATCH --mem=50\n\necho written by a form\n"
        assert seen["barriers"] == []
        assert (seen["language_en-CA"], seen["language_fr-CA"]) == ("Home", "Accueil")
        assert cluster.wait_end(running)["JobState"] == "CANCELLED" and cluster.wait_end(waiting)["JobState"] == "COMPLETED"
    finally:
        portal.close()


def test_a_person_opens_a_terminal(cluster, packages):
    cluster.environment["XDG_DATA_HOME"] = str(cluster.work / "data")
    portal = Portal(cluster)
    if b"no pages" in portal.ask("/")[2]:
        portal.close()
        pytest.skip("this build has no pages")
    try:
        done = subprocess.run(["node", "interactive.mjs", portal.url, str(cluster.work)], cwd=packages, capture_output=True, text=True, timeout=300,
                              env=os.environ | {"CHROMIUM": CHROMIUM})
        assert done.returncode == 0, f"{done.stderr}\nthe portal: {portal.process.poll()}"
        seen = json.loads(done.stdout)
        assert seen["barriers"] == [] and (seen["place"], seen["title"], seen["sessions"]) == ("127.0.0.1", "Terminal · Minke", 1)
        assert seen["stolen"] == ["refused", 401, ""]
        poll(lambda: written(cluster.work / "typed") and written(cluster.work / "size"))
        assert (cluster.work / "typed").read_text() == "42\n" and (cluster.work / "size").read_text() != "24 80\n"
    finally:
        portal.close()


def test_what_goes_wrong_is_told_in_plain_words_and_passes(cluster, packages):
    job = cluster.submit("echo begun; exec sleep 6000", "--job-name=looked-at", "--time=300")
    cluster.wait_state(job, "RUNNING")
    portal = Portal(cluster)
    if b"no pages" in portal.ask("/")[2]:
        portal.close()
        pytest.skip("this build has no pages")
    config = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    commands = {"lose": f"cp {config} {config}.kept; echo '[[' >{config}; kill -KILL $(cat {cluster.home}/minked.pid)", "find": f"mv {config}.kept {config}",
                "end": f"scancel {job}"}
    try:
        looks = subprocess.Popen(["node", "trouble.mjs", portal.url, str(job), json.dumps(commands)], cwd=packages, text=True, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=cluster.environment | {"CHROMIUM": CHROMIUM})
        with looks:
            told, problems = looks.communicate(portal.next_url() + "\n", timeout=600)
        assert looks.returncode == 0, f"{problems}\nthe portal: {portal.process.poll()}"
        seen = json.loads(told)
        assert seen["said"] == []
        assert seen["unknown"] == ["There is no job 999999", "There is no job <b>bold", "There is no node nosuch"]
        assert "NONSENSE" in seen["bad_filter"] and seen["filter_again"] == 0
        assert seen["lost"].startswith("The cluster does not answer: ") and seen["title_while_lost"] == "looked-at"
        assert seen["away"].startswith("The portal does not answer.") and seen["program_came"] == "Compare"
        assert seen["where_again"] == f"/jobs/{job}"
        assert (seen["ended"], seen["state"]) == ("It has ended while you looked: cancelled.", "cancelled") and seen["can"] == "Requeue"
    finally:
        portal.close()


@NEEDS_ROOT
@pytest.mark.skipif(not CAN_MOUNT, reason="no private mounts here")
def test_a_person_logs_in_at_a_shared_portal(packages):
    shared = Shared()
    portal = SharedPortal(shared)
    try:
        if portal.ask("/")[0] == 404:
            pytest.skip("this build has no pages")
        done = subprocess.run(["node", "login.mjs", f"http://localhost:{portal.port}/", shared.alice.name], cwd=packages, capture_output=True,
                              text=True, timeout=300, env=os.environ | {"CHROMIUM": CHROMIUM})
        assert done.returncode == 0, done.stderr
        seen = json.loads(done.stdout)
        assert seen == {"said": [], "barriers": [], "asked": ["Password:", "Code:"] * 2, "refused": "the log-in was refused",
                        "user": shared.alice.name}
    finally:
        portal.close()
        shared.close()


def test_runs_accounts_and_storage_are_looked_at(cluster, packages):
    script = cluster.script("echo step,val_acc > log.csv; for i in 1 2 3; do echo $i,0.$i$1 >> log.csv; done; true --lr 0.$1")
    runs = []
    for digit in (3, 7):
        (cluster.work / f"run{digit}").mkdir()
        runs.append(cluster.sbatch("-D", cluster.work / f"run{digit}", "-J", NAME, script, digit))
    for job in runs:
        cluster.wait_end(job)
    # Texts of people are on every page: names, comments, reasons, notes.
    cluster.sbatch("--hold", f"--job-name={NAME}", f"--comment={NAME}", f"--dependency=afterok:{runs[0]}", "--wrap=true")
    cluster.run("scontrol", "update", "nodename=n1", f"comment={NAME}", check=0)
    (cluster.work / "elsewhere").mkdir()  # or the runs' files could be its
    cluster.submit("exec sleep 600", f"--job-name={NAME}", "-D", cluster.work / "elsewhere")
    portal = Portal(cluster)
    if b"no pages" in portal.ask("/")[2]:
        portal.close()
        pytest.skip("this build has no pages")
    try:
        done = subprocess.run(["node", "records.mjs", portal.url, "n1", str(runs[0]), getpass.getuser()], cwd=packages, capture_output=True, text=True,
                              timeout=300, env=os.environ | {"CHROMIUM": CHROMIUM})
        assert done.returncode == 0, f"{done.stderr}\nthe portal: {portal.process.poll()}"
        seen = json.loads(done.stdout)
        assert seen["said"] == [] and seen["dialogs"] == 0 and seen["barriers"] == [] and seen["too_wide"] == []
        assert seen["ranked"] == [str(runs[1]), str(runs[0])] and seen["best"] == "0.37"
        assert seen["rows"]["lr"] == ["0.7", "0.3"] and seen["made_of_names"] == 0 and seen["obeyed"] == []
        assert f"jobs={runs[1]}%2C{runs[0]}" in seen["address"]
    finally:
        portal.close()
