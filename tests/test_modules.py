"""Modules in jobs: the commands that job scripts and guides of clusters use, in every shell."""
import json
import pathlib
import re
import shutil
import time

import pytest

from cluster import Machine

MINKE_ONLY = True
pytestmark = pytest.mark.skipif(not pathlib.Path("/usr/share/lmod/lmod").is_dir(), reason="Lmod is not installed")


@pytest.fixture
def site(cluster):
    """A cluster with modules, of the machine's own and of two Pythons that are made up."""
    cluster.user = cluster.directory / "me"
    cluster.user.mkdir()
    cluster.environment |= {"HOME": str(cluster.user), "USER": "me"}
    for name in [name for name in cluster.environment if name.startswith(("LMOD", "MODULE", "PYENV", "BASH_ENV"))]:
        del cluster.environment[name]
    for version in ("3.9.1", "3.98.7", "3.98.10"):
        program = cluster.directory / f"opt/python-{version}/bin/python3"
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho Python {version}\n")
        program.chmod(0o755)
    nvcc = cluster.directory / "opt/cuda-12.2/bin/nvcc"
    nvcc.parent.mkdir(parents=True)
    nvcc.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 12.2, V12.2.140'\n")
    nvcc.chmod(0o755)
    (cluster.directory / "opt/cuda-12.2/lib64").mkdir()
    cluster.scan = lambda *more: cluster.run(
        "minke", "software", "scan", *more, *(f"--path={one}" for one in (cluster.directory / "opt").iterdir()), check=0)
    cluster.scan()
    return cluster


def job(site, text: str, *options, shell: str = "#!/bin/bash") -> str:
    """What a job with this script prints; it must end well."""
    id = site.submit(f"{shell}\n{text}", *options)
    output = site.output(id)
    assert site.state(id) == "COMPLETED", output
    return output


def test_a_script_of_another_cluster(site):
    """The example of Narval's guide, as far as it goes without a network."""
    text = job(site, """
module load StdEnv/2020 python/3.97 cuda/11.4
python --version; echo $EBROOTCUDA; which nvcc; module list
""")
    assert "minke: StdEnv/2020 is not here: StdEnv/2023 instead\n" in text
    assert "minke: python/3.97 is not here: python/3.98.7 instead\n" in text
    assert "minke: cuda/11.4 is not here: cuda/12.2.140 instead\n" in text
    assert "Python 3.98.7\n" in text and f"{site.directory}/opt/cuda-12.2/bin/nvcc\n" in text
    assert "StdEnv/2023" in text and "(S)" in text


def test_what_is_here_is_loaded_without_a_word(site):
    text = job(site, "module load StdEnv/2023 python/3.98; python --version; module load python/3.9.1; python --version")
    assert text.startswith("Python 3.98.10\n") and text.endswith("Python 3.9.1\n")
    assert "instead" not in text
    assert "The following have been reloaded with a version change:\n  1) python/3.98.10 => python/3.9.1" in text


@pytest.mark.parametrize("shell", ["#!/bin/bash", "#!/bin/bash -l", "#!/bin/sh", "#!/bin/dash", "#!/bin/zsh", "#!/bin/tcsh",
                                   "#!/usr/bin/env bash"])
def test_every_shell(site, shell):
    """Nothing needs to be sourced; $0 and the arguments are what they are without modules."""
    if not shutil.which(shell.split()[0][2:]):
        pytest.skip(f"{shell[2:]} is not installed")
    if shell.endswith("tcsh"):
        script = 'module load python/3.9\npython --version\necho "first: $1, of $#argv"\nml -python\nmodule list\nexit 3\n'
    else:
        script = 'module load python/3.9\npython --version\necho "first: $1, of $#; ${0##*/}"\nml -python\nmodule list\nexit 3\n'
    id = site.sbatch(site.script(f"{shell}\n{script}"), "a b", "c")
    text = site.output(id)
    assert site.job(id)["ExitCode"] == "3:0", text
    assert "Python 3.9.1\nfirst: a b, of 2" in text
    if "tcsh" not in shell:
        assert "; slurm_script\n" in text
    assert "StdEnv/2023" in text and "python/3.9.1 " not in text


def test_steps_and_allocations(site):
    assert "Python 3.9.1" in job(site, "srun bash -c 'module load python/3.9; python --version'")
    assert "Python 3.9.1" in job(site, "module load python/3.9; srun -n2 --label python --version", "--ntasks=2")
    assert "Python 3.9.1" in site.run("srun", "bash", "-c", "module load python/3.9; python --version", check=0).stdout
    done = site.run("salloc", "-n1", "bash", "-c", "module load python/3.9; srun python --version", check=0)
    assert "Python 3.9.1" in done.stdout


def test_no_environment_is_needed(site):
    assert "Python 3.9.1" in job(site, "module load python/3.9; python --version", "--export=NONE")


@pytest.mark.parametrize("shell, profile, line", [
    ("bash", ".profile", 'eval "$(minke env --over-slurm)"'), ("dash", ".profile", 'eval "$(minke env --over-slurm)"'),
    ("zsh", ".zprofile", 'eval "$(minke env --over-slurm)"'), ("tcsh", ".login", 'eval "`minke env --over-slurm --csh`"')])
@pytest.mark.parametrize("way", ["login", "login and interactive", "in a line"])
def test_login_shells(site, shell, profile, line, way):
    """With the documented line in the file that the shell reads at login, or given in a line of one's own."""
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    begin = line + "\n" if way == "in a line" else ""
    if not begin:
        (site.user / profile).write_text(f"set path = ( {site.home}/bin $path )\n{line}\n" if shell == "tcsh" else
                                         f"PATH={site.home}/bin:$PATH\n{line}\n")
    commands = begin + "module load python/3.9\npython --version\nmodule list\nwhich squeue\nprintenv PIP_CONFIG_FILE\nml\n"
    options = {"login": ["-l"], "login and interactive": ["-l", "-i"], "in a line": []}[way]
    if shell == "tcsh" and way == "login and interactive":
        options = ["-l"]  # tcsh takes -l alone; it is interactive by what it reads from
        commands = "set prompt = '> '\n" + commands
    done = site.run(shell, *options, input=commands, env={"TERM": "dumb"})
    said = done.stdout + done.stderr
    assert "Python 3.9.1" in done.stdout and said.count("StdEnv/2023") == 2, said
    assert str(site.home / "bin/squeue") in done.stdout and f"{site.home}/software/wheels/pip.conf" in done.stdout


def test_avail_is_grouped(site):
    mine = site.user / "modulefiles/tool"
    mine.mkdir(parents=True)
    (mine / "1.0.lua").write_text('setenv("TOOL", "1.0")\n')
    ours = site.home / "software/local/matlab"
    ours.mkdir(parents=True)
    (ours / "2024a.lua").write_text('help("MATLAB")\nsetenv("MLM_LICENSE_FILE", "27000@licence")\n')
    text = job(site, "module avail; module load tool matlab; echo $TOOL $MLM_LICENSE_FILE; module --terse avail python")
    order = [text.index(title) for title in ("- Your personal modules -", "- Cluster specific modules -", "- Core Modules -")]
    assert order == sorted(order)
    assert re.search(r"StdEnv/2023 +\(S,L\)", text) and "python/3.98.10" in text
    assert "1.0 27000@licence\n" in text


@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/dash", "/bin/zsh", "/bin/tcsh"])
def test_every_command_in_every_shell(site, shell):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    text = job(site, """
module purge; module list; module -t list
module spider python; module spider python/3.9.1; module keyword CUDA; module whatis python/3.9.1; module help python/3.9.1
module load python/3.9 cuda; module save mine; module savelist
module unload python; echo unloaded; module -t list; module swap cuda python/3.98; echo swapped; module -t list
module restore mine; echo restored; module -t list; module --terse avail python
ml; ml -cuda; ml python/3.98; module show python/3.98.10; module is-loaded python && echo is-loaded
module --force purge; module list
""", shell=f"#!{shell}")
    assert "The following modules were not unloaded:\n  (Use \"module --force purge\" to unload all):" in text
    assert "     Versions:\n" in text and "python/3.98.10" in text
    assert "This module can be loaded directly: module load python/3.9.1" in text
    assert 'Saved current collection of modules to: "mine"' in text
    unloaded, swapped, restored = (text.split(f"{word}\n")[1] for word in ("unloaded", "swapped", "restored"))
    assert "python/" not in unloaded.split("swapped")[0] and "cuda/12.2.140\n" in unloaded
    assert "python/3.98.10\n" in swapped.split("Restoring")[0] and "cuda/" not in swapped.split("Restoring")[0]
    assert "Restoring modules from user's mine" in text and "cuda/12.2.140\n" in restored and "python/3.9.1\n" in restored
    assert "python/3.98.7\n" in restored
    assert "is-loaded\n" in text
    assert text.rstrip().endswith("No modules loaded")


def test_the_users_default_collection_is_loaded(site):
    job(site, "module load python/3.9; module save")
    text = job(site, "module list; python --version")
    assert "python/3.9.1" in text and "Python 3.9.1" in text


def test_sticky(site):
    assert "StdEnv/2023" in job(site, "module purge 2>/dev/null; module list")
    assert "StdEnv/2023" in job(site, "module unload StdEnv; module list")


def test_aliases(site):
    site.run("minke", "software", "alias", "labstack/7", "python/3.9", "cuda", check=0)
    site.run("minke", "software", "alias", "licence", check=0)
    assert site.run("minke", "software", "alias", check=0).stdout == "labstack/7 = python/3.9 cuda\nlicence =\n"
    text = job(site, "module load labstack/7 licence; python --version; echo $CUDA_HOME")
    assert "labstack/7 is not here: python/3.9 instead" in text and "licence: nothing to load here" in text
    assert f"Python 3.9.1\n{site.directory}/opt/cuda-12.2\n" in text
    site.run("minke", "software", "alias", "--remove", "labstack/7", check=0)
    assert site.run("minke", "software", "alias", "--remove", "labstack/7").returncode == 1
    assert site.run("minke", "software", "alias", "a;b", "c").returncode == 1
    assert site.run("minke", "software", "alias", check=0).stdout == "licence =\n"


def test_an_unknown_module_fails_and_changes_nothing(site):
    text = job(site, """
module load python/3.9
module load nowhere/1.0 cuda || echo "failed: $?"
module load python/4 || echo "failed: $?"
module -t list
bash -ec "module load nowhere; echo not reached" || echo "failed: $?"
""")
    assert 'The following module(s) are unknown:\n"nowhere/1.0"' in text
    assert text.count("failed: 1\n") == 3 and "not reached" not in text and "cuda/12.2" not in text and "python/3.9.1\n" in text


def test_a_broken_module_file(site):
    broken = site.home / "software/local/broken"
    broken.mkdir(parents=True)
    (broken / "1.lua").write_text("setenv('A', \n")
    text = job(site, "module load broken || echo failed; module load python/3.9; module avail 2>&1 | grep -c broken; python --version")
    assert "Unable to load module because of error when evaluating modulefile:" in " ".join(text.split()) and "failed\n" in text
    assert "Python 3.9.1" in text


def test_conda_that_is_not_here_can_be_asked_for(site):
    assert "minke software request conda" in job(site, "module load conda && echo goes on")


def test_conda_is_said_to_fill_homes(site):
    """Until it is told to keep its files elsewhere."""
    conda = site.directory / "opt/miniforge/bin/conda"
    conda.parent.mkdir(parents=True)
    conda.write_text("#!/bin/sh\necho conda 24.9.2\n")
    conda.chmod(0o755)
    site.scan()
    assert "may fill its quota" in job(site, "module load conda; conda --version")
    (site.user / ".condarc").write_text("pkgs_dirs: [/scratch/pkgs]\nenvs_dirs: [/scratch/envs]\n")
    assert job(site, "module load conda/24.9; conda --version") == "conda 24.9.2\n"


def test_an_unused_proxy_module_says_so(site):
    text = job(site, "module load httpproxy; echo ${http_proxy-unset}; module load httpproxy/1.0")
    assert "no proxy is needed" in text and "unset\n" in text


def test_a_trace_stays_readable(site):
    text = job(site, "set -x; module load python/3.9; echo on")
    assert "+ echo on" in text and "_ModuleTable" not in text


def test_a_new_scan_sees_what_is_new_and_what_is_gone(site):
    shutil.rmtree(site.directory / "opt/python-3.9.1")
    names = [one["module"] for one in json.loads(site.scan("--json").stdout)]
    assert "python/3.98.10" in names and "python/3.9.1" not in names and names == sorted(names, key=lambda n: n.split("/")[0])
    assert "python/3.98.7 instead" in job(site, "module load python/3.97")
    assert not [one for one in (site.home / "software").iterdir() if re.search(r"\.\d+$", one.name)]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("shell", ["/bin/bash", "/bin/sh"])
def test_what_is_not_used_delays_no_job(new_cluster, shell):
    """One job after another, on a cluster with modules, wheels, mail and a proxy, and on one without, by turns."""
    extra = '[mail]\nprogram = "/bin/false"\n[proxy]\nallow = ["example.org"]\n'
    clusters = [new_cluster("plain", Machine(nodes=1, cpus=1)), new_cluster("full", Machine(nodes=1, cpus=1, extra=extra))]
    clusters[1].run("minke", "software", "scan", check=0)
    jobs = 10

    def seconds(cluster) -> float:
        script = cluster.script(f"#!{shell}\ntrue\n")
        begin = time.monotonic()
        cluster.run("sbatch", "--wait", f"--array=1-{jobs}", "-o", "/dev/null", script, check=0)
        return (time.monotonic() - begin) / jobs
    pairs = []
    while len(pairs) < 6 or len(pairs) < 40 and min(full for _, full in pairs) - min(pairs)[0] >= 0.05:
        pairs.append([seconds(one) for one in clusters])
    plain, full = zip(*pairs)
    assert min(full) - min(plain) < 0.05, (plain, full)


def test_without_a_scan_jobs_have_nothing_more(cluster):
    id = cluster.submit("env; type module")
    text = cluster.output(id)
    assert "BASH_FUNC_module" not in text and "software/init" not in text


def test_its_scripts_are_shown_as_they_were(site):
    text = "#!/bin/dash\nmodule load python/3.9\n"
    id = site.submit(text)
    site.wait_end(id)
    assert site.run("scontrol", "write", "batch_script", id, "-", check=0).stdout.rstrip("\n") == text.rstrip("\n")
