"""Seed 1: an introductory guide to Narval. Cases have the numbers of items.toml."""
import re
import shutil

import pytest

from cluster import Cluster, poll
from sites import on_a_terminal, types

MINKE_ONLY = True

HEADER = """#!/bin/bash

#SBATCH --job-name=my_job                 # Name of the job
#SBATCH --output=outputs/%j_%x.out        # Where to save and name the jobs output logs (%j is the job ID and %x is the job name)

#SBATCH --time=0-01:00:00                 # Time limit in the format D-HH:MM:SS
#SBATCH --gpus-per-node=1                 # Number of GPUs to request (there are 4 A100 40GB GPUs per node)
#SBATCH --cpus-per-task=1                 # Number of CPUs to request (there are 48 CPU cores per node)
#SBATCH --mem=16G                         # Memory to request (there is 510G of memory per node)

nproc
until [ -e go ]; do sleep 0.05; done
"""
# As the guide tells of it: one GPU, 4 GB, five minutes; the model on the node's disk; results/<job_id>/responses.txt.
RUN_MAIN = """#!/bin/bash

#SBATCH --job-name=gemma3
#SBATCH --output=slurm_outputs/%j_%x.out
#SBATCH --time=0-0:05:00
#SBATCH --gpus-per-node=1
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G

repository=$project/workspace/compute-canada-intro
module load python/3.11 cuda cudnn
source $repository/venv/bin/activate
mkdir -p $SLURM_TMPDIR/models
cp -r $repository/models/google/gemma-3-1b-it $SLURM_TMPDIR/models
cd $SLURM_TMPDIR
python $repository/main.py --model_path $SLURM_TMPDIR/models/gemma-3-1b-it
mkdir -p $repository/results
cp -r $SLURM_TMPDIR/results $repository/results/$SLURM_JOB_ID
"""
MAIN = """import os, sys, torch, transformers, accelerate
os.makedirs("results")
open("results/responses.txt", "w").write(f"{transformers.version} {sys.prefix} {os.listdir(sys.argv[2])}")
"""


@pytest.fixture(scope="module")
def student(narval):
    """He has one account alone, as the guide's reader, whose scripts name none."""
    user = narval.member("student", narval.default)
    narval.sacctmgr("add", "user", user.name, "account=def-prof_cpu,def-prof_gpu")
    return user


@pytest.fixture(scope="module", params=["shared", "own"])
def reader(request):
    """The student of the shared cluster; and who has a cluster of his own, set up as Narval."""
    return request.getfixturevalue({"shared": "student", "own": "own_narval"}[request.param])


@pytest.fixture(scope="module")
def prepared(request, reader, wheels):
    """What is said while the environment of the guide is made, in a repository that was cloned."""
    if isinstance(reader, Cluster):
        wheels(reader.program, reader.environment)
    else:
        request.getfixturevalue("wheelhouse")
    (reader.work / "origin").mkdir()
    for name, text in (("run_main.sh", RUN_MAIN), ("main.py", MAIN), ("requirements.txt", "torch\ntransformers\naccelerate\n")):
        (reader.work / "origin" / name).write_text(text)
        shutil.chown(reader.work / "origin" / name, reader.name)
    shutil.chown(reader.work / "origin", reader.name)
    return types(reader, """set -e
(cd origin && git init -q && git add . && git -c user.name=me -c user.email=me@example.org commit -qm first)
export project=$PWD
mkdir -p $project/workspace
cd $project/workspace
git clone -q ../origin compute-canada-intro
cd compute-canada-intro
module load python/3.11
virtualenv --no-download venv
source venv/bin/activate
which python
pip install --no-index --upgrade pip
pip install --no-index -r requirements.txt
mkdir -p models/google/gemma-3-1b-it && echo {} > models/google/gemma-3-1b-it/config.json
deactivate
command -v python || echo no python any more
""", timeout=240)


@pytest.fixture(scope="module")
def inference(reader, prepared):
    """The directory after `sbatch run_main.sh`, the job's number, its fields, and what sq showed."""
    directory = reader.work / "workspace/compute-canada-intro"
    types(reader, f"mkdir -p {directory}/slurm_outputs")
    said = types(reader, f"export project=$PWD; cd {directory}; sbatch run_main.sh; sq")
    job = re.search(r"Submitted batch job (\d+)\n", said)[1]
    return directory, job, reader.wait_end(job), said


@pytest.fixture(scope="module")
def running(reader):
    """A job of the guide's header that runs until the end of these cases: its number, and what sq shows of it."""
    types(reader, "mkdir -p outputs")
    reader.script(HEADER, "header.sh")
    job = int(re.search(r"Submitted batch job (\d+)", types(reader, "sbatch header.sh"))[1])
    reader.wait_state(job, "RUNNING")
    yield job
    types(reader, "touch go")
    reader.wait_end(job)


def row(reader, job) -> dict[str, str]:
    """What sq shows of a job, by its columns."""
    lines = types(reader, "sq").splitlines()
    line, = (one for one in lines if one.split()[:1] == [str(job)])
    return dict(zip(lines[0].split(), line.split()))


def test_1_04_links_in_the_home(narval, student):
    said = types(student, f"readlink -f ~/nearline/{narval.default} ~/projects/{narval.default} ~/scratch; "
                         f"ls -d ~/projects/{narval.default}/$USER")
    assert said.splitlines() == [f"{narval.disks}/nearline/{narval.default}", f"{narval.disks}/project/{narval.default}",
                                 f"{narval.disks}/scratch/{student.name}", f"{student.work}/projects/{narval.default}/{student.name}"]


def test_1_05_sizes_of_the_tiers(narval):
    rows = {line.split()[0]: line for line in types(narval.reader, "diskusage_report").splitlines() if " (" in line}
    assert [re.search(r"/ *([\d.]+ ?[GT]B)", rows[tier])[1] for tier in ("/home", "/scratch", "/project", "/nearline")] == [
        "50GB", "20TB", "1000GB", "1000GB"]


def test_1_06_nearline_is_for_archives(narval, student):
    nearline = narval.disks / "nearline" / narval.default
    types(student, f"tar -cf {nearline}/{student.name}/old.tar --files-from /dev/null && ls {nearline}/{student.name}/old.tar")
    assert "no nearline" in student.output(student.submit(f"ls {nearline}/{student.name} || echo no nearline"))


def test_1_07_scratch_is_wiped_after_two_months(reader):
    assert "what nobody uses for 60 days goes" in types(reader, "minke storage usage").split("scratch", 1)[1]


def test_1_08_the_groups_directory(narval, student):
    said = types(student, f"stat -c '%A %G' {narval.disks}/project/{narval.default}; ls {narval.disks}/project/{narval.default}")
    assert said.splitlines()[0] == f"drwxrws--- {narval.default}" and student.name in said


def test_1_09_diskusage_report(reader):
    lines = types(reader, "diskusage_report").splitlines()
    assert lines[0] == f'{"Description":>39} {"Space":>20} {"# of files":>18}'
    assert re.fullmatch(rf" */home \(user {reader.name}\) +\S+ ?B/ +50GB +\d+ / 500K", lines[1])


def test_1_10_diskusage_report_per_user(narval, student):
    said = types(student, "diskusage_report --per_user --all_users")
    assert f"Breakdown for project {narval.default}" in said


def test_1_11_a_project_of_40_tb_on_request(narval, student):
    configuration = narval.directory / "minke.toml"
    configuration.write_text(configuration.read_text() + f'[storage.project.groups.{narval.default}]\nspace = "40T"\n')
    line, = [line for line in types(student, "diskusage_report").splitlines() if f"/project (project {narval.default})" in line]
    assert re.search(r"/ +44TB ", line)


def test_1_12_results_come_back_from_the_node(reader):
    job = reader.submit("#!/bin/bash\necho 42 > $SLURM_TMPDIR/answer\ncp $SLURM_TMPDIR/answer $SLURM_SUBMIT_DIR/answer.$SLURM_JOB_ID\n")
    reader.wait_end(job)
    assert (reader.work / f"answer.{job}").read_text() == "42\n"


def test_1_14_a_variable_of_the_log_in_shell_reaches_jobs(inference):
    assert inference[2]["JobState"] == "COMPLETED"  # its script finds all by $project


def test_1_15_the_supervisors_project_is_seen(narval, student):
    assert narval.default in types(student, "ls ~/projects").split()


def test_1_17_which_pythons_there_are(reader):
    assert re.search(r"python/3\.\d+\.\d+", types(reader, "module avail python"))


def test_1_18_load_python(reader):
    assert "Python 3.11" in types(reader, "module load python/3.11; python -V")


def test_1_19_virtualenv(prepared):
    assert "created virtual environment" in prepared


def test_1_20_activate(prepared, reader):
    assert f"{reader.work}/workspace/compute-canada-intro/venv/bin/python\n" in prepared


def test_1_21_a_newer_pip(prepared):
    assert re.search(r"Successfully installed pip-\d|Requirement already satisfied: pip", prepared)


def test_1_22_packages(prepared):
    assert re.search("Successfully installed .*accelerate-2.6.0 .*torch-2.6.0 .*transformers-2.6.0", prepared)


def test_1_23_deactivate(prepared):
    assert "/venv/" not in prepared.splitlines()[-1]


def test_1_24_available_wheels(prepared, reader):
    assert {line.split()[0] for line in types(reader, "avail_wheels").splitlines()} >= {"torch", "transformers", "accelerate"}
    assert types(reader, "avail_wheels torch").splitlines()[-1].split() == ["torch", "2.6.0", "py3", "generic"]


def test_1_25_a_package_can_be_asked_for(narval, student):
    number = re.match(r"Request (\d+): polars\.", types(student, "minke software request polars --reason 'large tables'"))[1]
    asked = narval.minke("software", "requests").stdout
    assert re.search(rf"^ +{number} open +{student.name} .* polars\n +reason: large tables$", asked, re.M)
    narval.minke("software", "requests", "--done", number, "--answer", "pip install --no-index polars")
    assert "answer: pip install --no-index polars\n" in types(student, "minke software requests")
    assert "polars" not in types(narval.fellow, "minke software requests")
    refused = types(narval.fellow, f"minke software requests --refused {number}", check=1)
    assert "only administrators answer requests for software" in refused


def test_1_25_a_package_is_asked_for_on_ones_own_cluster(own_narval):
    types(own_narval, "minke software request duckdb")
    assert "duckdb" in types(own_narval, "minke software request")


@pytest.mark.skipif(not shutil.which("tmux"), reason="tmux is not installed")
def test_1_26_tmux_keeps_a_session(reader):
    types(reader, "unset TMUX; TMUX_TMPDIR=$PWD tmux new-session -d -s work 'salloc --time=10'")
    job = poll(lambda: reader.queue("--me", "--name=interactive", "-t", "R", format="%i"), what="the session's job")[0]
    assert re.match(r"work: 1 windows", types(reader, "unset TMUX; TMUX_TMPDIR=$PWD tmux ls"))
    assert reader.state(job) == "RUNNING"
    types(reader, "unset TMUX; TMUX_TMPDIR=$PWD tmux kill-session -t work")
    assert reader.wait_end(job)["JobState"] in ("CANCELLED", "COMPLETED")


def test_1_28_squeue_shows_everybodys_jobs(narval, student):
    job = student.sbatch("--hold", "--wrap=true")
    assert str(job) in types(narval.fellow, "squeue").split() and str(job) not in types(narval.fellow, "sq").split()
    types(student, f"scancel {job}")


def test_1_29_sq_shows_ones_own(running, reader):
    assert types(reader, "sq").splitlines()[0].split()[:6] == ["JOBID", "USER", "ACCOUNT", "NAME", "ST", "TIME_LEFT"]
    assert row(reader, running)["ST"] == "R"


def test_1_30_sbatch(reader):
    reader.script("#!/bin/bash\n", "your_script_name.sh")
    assert re.fullmatch(r"Submitted batch job \d+\n", types(reader, "sbatch your_script_name.sh"))


def test_1_31_scancel(reader):
    job = reader.submit("sleep 600")
    assert types(reader, f"scancel {job}") == ""
    assert reader.wait_end(job)["JobState"] == "CANCELLED"


SALLOC = "salloc --time=0-01:00:00 --gpus-per-node=1 --cpus-per-task=1 --mem=16G"


def test_1_32_an_interactive_session(reader):
    done = reader.run(*SALLOC.split(), input="echo on $SLURMD_NODENAME with $(nproc) and gpu $CUDA_VISIBLE_DEVICES\n")
    assert re.search(r"on ng30101 with 1 and gpu \d", done.stdout)


def test_1_33_it_starts_in_the_terminal(reader):
    said = types(reader, f"echo exit | script -qec '{SALLOC}' /dev/null", check=None)
    granted = re.search(r"Granted job allocation \d+", said)
    # The terminal echoes what is typed before or after the shell's prompt, whichever comes first.
    assert granted and re.search(r"[$#] ", said[granted.end():]) and "Relinquishing job allocation" in said


def test_1_34_short_sessions_have_nodes_of_their_own(reader):
    for time, where in (("1:00:00", "gpubase_interac ng30101"), ("4:00:00", "gpubase_bygpu_b2 ng10")):
        said = types(reader, f"salloc --time={time} --gpus-per-node=a100:1 sh -c 'echo $SLURM_JOB_PARTITION $SLURM_JOB_NODELIST'")
        assert where in said


def on_a_part(reader, gpu: str) -> None:
    job = reader.submit("true", f"--gres=gpu:{gpu}:1")
    assert reader.wait_end(job)["NodeList"] == "ng20101" and reader.job(job)["TresPerNode"] == f"gres/gpu:{gpu}:1"


def test_1_37_a_seventh_of_a_gpu(reader):
    on_a_part(reader, "a100_1g.5gb")


def test_1_38_two_sevenths_of_a_gpu(reader):
    on_a_part(reader, "a100_2g.10gb")


def test_1_39_nvidia_smi_on_a_running_job(reader, running):
    """There is no GPU here: the program is one that tells what it is given."""
    types(reader, "mkdir -p bin; printf '#!/bin/sh\\necho $SLURMD_NODENAME has $CUDA_VISIBLE_DEVICES\\n' > bin/nvidia-smi; "
                  "chmod +x bin/nvidia-smi")
    assert re.search(r"ng\d+ has \S+\r?\n", on_a_terminal(reader, f"PATH=$PWD/bin:$PATH srun --jobid {running} --pty nvidia-smi"))


def test_1_40_top_on_a_running_job(reader, running):
    assert "load average" in on_a_terminal(reader, f"srun --jobid {running} --pty top -bn1")


def test_1_41_cpus_are_those_that_were_asked_for(reader, running):
    assert poll(lambda: (reader.work / f"outputs/{running}_my_job.out").read_text(), what="the output") == "1\n"


def test_1_43_the_jobs_name_and_log(reader, running):
    assert row(reader, running)["NAME"] == "my_job" and (reader.work / f"outputs/{running}_my_job.out").exists()
    warned = types(reader, "sbatch --output=nowhere/%j_%x.out --wrap true")
    assert "/nowhere/: No such file or directory; unless it is made before the job starts" in warned
    types(reader, "scancel " + re.search(r"Submitted batch job (\d+)", warned)[1])


def test_1_44_time(reader, running):
    assert re.fullmatch(r"5\d:\d\d|1:00:00", row(reader, running)["TIME_LEFT"])


def test_1_45_a_gpu_of_each_node(reader, running):
    assert row(reader, running)["TRES_PER_N"] == "gres/gpu:1"


def test_1_46_cpus_and_memory(reader, running):
    assert (row(reader, running)["CPUS"], row(reader, running)["MIN_MEM"]) == ("1", "16G")


@pytest.fixture(scope="module")
def published(reader):
    """Rows of the guide's three tables: what is published, and what minke computes."""
    rows = {}
    for line in types(reader, "minke estimate --published").splitlines()[1:]:
        words = re.split(r" {2,}", line.strip())
        table, model, column = words[0], *words[1].split()[:1], words[2] if len(words[1].split()) == 1 else words[1].split()[1]
        rows[table, model, column] = words[-2:] if len(words) < 6 else words[3:5]
    return rows


def test_1_47_memory_for_inference(published):
    expected = dict(zip(("8B", "70B", "405B"), ((16, 8, 4), (140, 70, 35), (810, 405, 203))))
    for model, sizes in expected.items():
        for column, size in zip(("FP16", "FP8", "INT4"), sizes):
            assert published["inference", model, column] == [f"{size} GB"] * 2


def test_1_48_memory_for_keys_and_values(published):
    expected = {"8B": (0.125, 1.95, 15.62), "70B": (0.313, 4.88, 39.06), "405B": (0.984, 15.38, 123.05)}
    for model, sizes in expected.items():
        for column, size in zip(("1k", "16k", "128k"), sizes):
            printed, computed = published["kv-cache", model, column]
            assert printed == f"{size} GB" and abs(float(computed.split()[0]) - size) < 0.02


def test_1_49_memory_for_training(published):
    expected = {"8B": ("60 GB", "16 GB", "6 GB"), "70B": ("500 GB", "160 GB", "48 GB"), "405B": ("3.25 TB", "950 GB", "250 GB")}
    for model, sizes in expected.items():
        for column, size in zip(("full", "LoRA", "QLoRA"), sizes):
            assert published["training", model, column][0] == size
    assert all(published["training", "8B", column][1] == size for column, size in zip(("full", "LoRA", "QLoRA"), expected["8B"]))


def test_1_50_gpus_of_8b_and_70b(reader):
    assert "a100:4\n" in types(reader, "minke estimate 70B --cluster narval")
    assert re.search(r"gpus-per-node=(a100|a100_3g.20gb):1\n", types(reader, "minke estimate 8B --cluster narval"))


def test_1_50_a_32b_model_on_two(reader):
    assert "a100:2\n" in types(reader, "minke estimate 32B --cluster narval")


def test_1_51_a_workspace_in_the_project(narval, student):
    where = f"~/projects/{narval.default}/{student.name}/workspace"
    said = types(student, f"set -e; ls -d ~/projects/{narval.default}; mkdir -p {where}; cd {where}; pwd -P")
    assert said.splitlines()[-1] == f"{narval.disks}/project/{narval.default}/{student.name}/workspace"


def test_1_52_clone(prepared, reader):
    assert (reader.work / "workspace/compute-canada-intro/.git").is_dir()


def test_1_53_the_examples_environment(prepared, reader):
    assert "created virtual environment" in prepared and "Successfully installed" in prepared
    assert (reader.work / "workspace/compute-canada-intro/venv/bin/activate").is_file()


def test_1_56_sbatch_run_main(inference):
    assert inference[2]["JobState"] == "COMPLETED" and inference[2]["TimeLimit"] == "00:05:00"


def test_1_57_sq_after_the_submission(inference):
    assert re.search(rf" {inference[1]} .* gemma3 +(R|PD|CG) +[45]:\d\d", inference[3])


def test_1_58_the_results(inference):
    directory, job, _, _ = inference
    assert (directory / f"results/{job}/responses.txt").read_text() == f"2.6.0 {directory}/venv ['config.json']"
    assert (directory / f"slurm_outputs/{job}_gemma3.out").is_file()
