"""The wheelhouse: pip and virtualenv without an index, in jobs."""
import base64
import hashlib
import pathlib
import shutil
import subprocess
import zipfile

import pytest

MINKE_ONLY = True
pytestmark = [pytest.mark.skipif(not pathlib.Path("/usr/share/lmod/lmod").is_dir(), reason="Lmod is not installed"),
              pytest.mark.xdist_group("wheels"), pytest.mark.timeout(1800)]
GUIDE = """
module load python/3.11
virtualenv --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
pip install --no-index --upgrade pip
pip install --no-index -r requirements.txt
"""


def make_wheel(directory: pathlib.Path, name: str, version: str, tag: str = "py3-none-any", requires=()) -> pathlib.Path:
    """A wheel with a module and a command, both of which tell its version."""
    path = directory / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f"version = '{version}'\n\n\ndef main():\n    print('{name}', version)\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
                            + "".join(f"Requires-Dist: {one}\n" for one in requires),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name}-tells = {name}:main\n",
    }
    record = ""
    for file, text in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        record += f"{file},sha256={digest},{len(text)}\n"
    with zipfile.ZipFile(path, "w") as archive:
        for file, text in (files | {f"{info}/RECORD": record + f"{info}/RECORD,,\n"}).items():
            archive.writestr(file, text)
    return path


def fetch_wheels(directory: pathlib.Path) -> pathlib.Path:
    """Wheels of pip, virtualenv and what they need, below this directory."""
    venv = directory / "venv"
    try:
        subprocess.run(["/usr/bin/python3", "-m", "venv", venv], check=True, capture_output=True)
        subprocess.run([venv / "bin/pip", "download", "-q", "--dest", directory / "wheels", "pip", "setuptools", "wheel",
                        "virtualenv"], check=True, capture_output=True, timeout=300)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"pip and virtualenv cannot be had from the package registry: {error}")
    return directory / "wheels"


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    """Fetched once for all these tests."""
    return fetch_wheels(tmp_path_factory.mktemp("seeds"))


@pytest.fixture
def site(cluster, seeds):
    """A cluster with a wheelhouse: `outer` needs `inner`. Nothing here reaches the network."""
    (cluster.directory / "me").mkdir()
    wheels = cluster.directory / "made"
    wheels.mkdir()
    make_wheel(wheels, "inner", "1.5")
    cluster.outer = make_wheel(wheels, "outer", "2.0", requires=["inner>=1"])
    cluster.wheels = wheels
    cluster.environment |= {"HOME": str(cluster.directory / "me"), "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{seeds} {wheels}"}
    cluster.run("minke", "software", "scan", check=0)
    cluster.add = lambda *what, **more: cluster.run("minke", "wheels", "add", "--python", "3.11.2", *what, timeout=300, **more)
    house, filled = cluster.home / "software/wheels", seeds.parent / "filled"
    if filled.exists():  # the same, made once
        shutil.copytree(filled, house, dirs_exist_ok=True, ignore=lambda *_: ["pip.conf"])
        for wheel in (house / "index").iterdir():  # two names of one file, as it was
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            wheel.unlink()
            wheel.hardlink_to(house / "store" / digest)
    else:
        cluster.add("outer", check=0)
        shutil.copytree(house, filled)
    cluster.index = house / "index"
    # Jobs and shells have what the cluster gives them.
    for name in ("PIP_NO_INDEX", "PIP_FIND_LINKS"):
        del cluster.environment[name]
    (cluster.work / "requirements.txt").write_text("outer==2.0  # ours\n")
    return cluster


def job(site, text: str, *options) -> str:
    id = site.submit(text, *options)
    output = site.output(id, seconds=120)
    assert site.state(id) == "COMPLETED", output
    return output


def test_the_guides_environment(site):
    """As it is written for the national systems; the second time it is linked, and is the same."""
    first = job(site, GUIDE + "outer-tells; pip list; pip check\nfind $SLURM_TMPDIR/env -type f | sort | sed s,$SLURM_TMPDIR,T,")
    second = job(site, GUIDE + "outer-tells; pip list; pip check\nfind $SLURM_TMPDIR/env -type f | sort | sed s,$SLURM_TMPDIR,T,")
    assert "Successfully installed inner-1.5 outer-2.0\n" in first and "linked from" not in first
    assert "Successfully installed inner-1.5 outer-2.0 (linked from" in second
    for text in (first, second):
        assert "\nouter 2.0\n" in text and "No broken requirements found" in text
    ours = [text[text.index("outer 2.0"):].replace("(linked", "") for text in (first, second)]
    assert ours[0].splitlines() == ours[1].splitlines()


def test_a_linked_environment_can_be_changed(site):
    job(site, GUIDE)
    text = job(site, GUIDE + """
head -1 $VIRTUAL_ENV/bin/outer-tells; chmod u+w $VIRTUAL_ENV/bin/outer-tells
pip uninstall -y inner; pip install --no-index inner; outer-tells; python -c 'import inner; print(inner.__file__)'
""")
    assert "Successfully uninstalled inner-1.5" in text and "#!/" in text and "env/bin/python" in text
    assert "outer 2.0\n" in job(site, GUIDE + "outer-tells")


def test_what_is_in_the_cache_and_was_changed_is_made_anew(site):
    job(site, GUIDE)
    [changed] = [file for file in (site.home / "software/cache").glob("*/*/*")
                 if file.name != "manifest" and b"print('inner'" in file.read_bytes()]
    changed.chmod(0o644)
    changed.write_text("raise SystemExit('changed')\n")
    assert "outer 2.0" in job(site, GUIDE + "python -c 'import inner'; outer-tells")


def test_new_wheels_count(site):
    job(site, GUIDE)
    make_wheel(site.wheels, "inner", "1.6")
    site.add(site.wheels / "inner-1.6-py3-none-any.whl", check=0, env={"PIP_FIND_LINKS": f"{site.index}", "PIP_NO_INDEX": "1"})
    assert "inner-1.6 outer-2.0\n" in job(site, GUIDE)


def test_pip_without_an_environment_of_ours(site):
    """python -m venv has pip's own way; what is not there is an error, as on any cluster."""
    text = job(site, """
python3 -m venv $SLURM_TMPDIR/env; source $SLURM_TMPDIR/env/bin/activate
pip install --no-index outer; outer-tells; pip install --no-index nowhere || echo "failed: $?"
pip download --no-index --no-deps -d $SLURM_TMPDIR/d outer
""")
    assert "outer 2.0\n" in text and "failed: 1" in text
    assert "ERROR: No matching distribution found for nowhere" in text


def test_a_failed_installation_fails_the_second_time_too(site):
    for _ in range(2):
        id = site.submit("set -e\n" + GUIDE + "pip install --no-index nowhere")
        assert "No matching distribution found for nowhere" in site.output(id) and site.state(id) == "FAILED"


def test_avail_wheels(site):
    make_wheel(site.wheels, "inner", "1.4")
    site.add(site.wheels / "inner-1.4-py3-none-any.whl", check=0, env={"PIP_FIND_LINKS": f"{site.index}", "PIP_NO_INDEX": "1"})
    assert site.run("avail_wheels", "inner", "OUTER", check=0).stdout == (
        "name    version    python    arch\n------  ---------  --------  -------\n"
        "inner   1.5        py3       generic\nouter   2.0        py3       generic\n")
    assert "1.4" in site.run("avail_wheels", "inner", "--all-versions", check=0).stdout
    assert site.run("avail_wheels", "inner<1.5", "--column", "name", "version", check=0).stdout.splitlines()[2:] == ["inner   1.4"]
    assert site.run("avail_wheels", "-v", "1.4", "--raw", check=0).stdout == "inner-1.4-py3-none-any.whl\n"
    assert site.run("avail_wheels", "nowhere", check=0).stdout.count("\n") == 2
    (site.work / "r.txt").write_text("outer>=1\nnowhere\n")
    assert site.run("avail_wheels", "-r", "r.txt", "--not-available-only", "--format", "csv", "--column", "name", check=0).stdout == "name\nnowhere\n"
    assert site.run("avail_wheels", "-v", "1.4", "--all_versions").returncode == 2
    assert site.run("avail_wheels", "--column", "nme").returncode == 1
    assert "inner" in job(site, "module load python/3.11; avail_wheels 'in*'")


@pytest.mark.parametrize("case", ["platform", "broken", "unknown", "missing file", "wrong python"])
def test_what_cannot_be_added_changes_nothing(site, case):
    before = sorted(site.index.iterdir())
    if case == "platform":
        what = [make_wheel(site.wheels, "mac", "1.0", "cp311-cp311-macosx_11_0_arm64")]
        words = "is not a supported wheel on this platform"
    elif case == "broken":
        what = [site.wheels / "broken-1.0-py3-none-any.whl"]
        what[0].write_bytes(b"PK\3\4 is not all")
        words = "broken"
    elif case == "unknown":
        what, words = ["inner", "nowhere-at-all"], "No matching distribution found for nowhere-at-all"
    elif case == "missing file":
        what, words = ["-r", "missing.txt"], "missing.txt: No such file or directory"
    else:
        what, words = ["--python", "3.2", "inner"], "python/3.2 is not here"
    done = site.add(*what, env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(site.index)})
    assert done.returncode == 1 and words in done.stderr, done.stderr
    assert sorted(site.index.iterdir()) == before
    assert not list((site.home / "software/wheels").glob("stage*"))


def test_without_a_network_it_is_said_what_needs_one(site):
    done = site.add("nowhere-at-all", env={"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "PIP_RETRIES": "1"})
    assert done.returncode == 1 and "the package index cannot be reached; this needs the internet" in done.stderr


def test_removing(site):
    store = site.home / "software/wheels/store"
    before = len(list(store.iterdir()))
    site.run("minke", "wheels", "remove", "outer-2.0-py3-none-any.whl", check=0)
    assert site.run("avail_wheels", "outer").stdout.count("\n") == 2 and len(list(store.iterdir())) == before - 1
    assert site.run("minke", "wheels", "remove", "../store/x-1-py3-none-any.whl").returncode == 1


def test_without_wheels_virtualenv_says_what_to_do(cluster):
    if shutil.which("virtualenv", path="/usr/bin"):
        pytest.skip("the system has virtualenv")
    cluster.run("minke", "software", "scan", check=0)
    id = cluster.submit("module load python/3.11; virtualenv env")
    assert "minke wheels add virtualenv" in cluster.output(id)


def test_the_second_time_takes_less_than_half_of_pips(site):
    """Side by side, so that a busy machine slows both; ./dev bench environments measures large packages, and the seconds."""
    job(site, GUIDE)

    def seconds(**variables) -> float:
        text = job(site, "begin=$EPOCHREALTIME\n" + GUIDE + "end=$EPOCHREALTIME\necho took ${begin/./} ${end/./}\n",
                   "--export=ALL" + "".join(f",{name}={value}" for name, value in variables.items()))
        begin, end = text.split("took ")[1].split()
        assert ("linked from" in text) == (not variables), text
        return (int(end) - int(begin)) / 1e6
    pairs = []
    while len(pairs) < 3 or len(pairs) < 15 and min(pairs)[0] >= min(plain for _, plain in pairs) / 2:
        pairs.append((seconds(), seconds(MINKE_PIP="plain")))
    linked, plain = zip(*pairs)
    assert min(linked) < min(plain) / 2, (plain, linked)
