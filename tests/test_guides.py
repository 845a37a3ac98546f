"""Job scripts of the clusters' guides, as they are written there: nothing is put in but names of people and files. What they
install is made here, so that no network is needed."""
import os
import pathlib
import re
import shutil
import subprocess
import zipfile

import pytest

from cluster import Machine, poll
from test_mail import Post, mail
from test_wheels import make_wheel, seeds  # noqa: F401

MINKE_ONLY = True
pytestmark = [pytest.mark.skipif(not pathlib.Path("/usr/share/lmod/lmod").is_dir(), reason="Lmod is not installed"),
              pytest.mark.xdist_group("wheels"), pytest.mark.timeout(1800)]

NARVAL = """#!/bin/bash
#SBATCH --account=rrg-bengioy-ad            # Yoshua pays for your job
#SBATCH --cpus-per-task=12                  # Ask for 12 CPUs
#SBATCH --gres=gpu:1                        # Ask for 1 GPU
#SBATCH --mem=124G                          # Ask for 124 GB of RAM
#SBATCH --time=03:00:00                     # The job will run for 3 hours
#SBATCH -o <scratch>/slurm-%j.out           # Write the log in $SCRATCH
# 1. Create your environement locally
module load StdEnv/2023 python/3.12
virtualenv --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
pip install --no-index torch torchvision
# 2. Copy your dataset on the compute node, simultaneously unpacking if
# needed (Zip, tar); Alternatively, copy the dataset if it's in an
# advanced format like HDF5, or if you can use Zip directly.
unzip $SCRATCH/DATASET_CHANGEME.zip -d $SLURM_TMPDIR
# 3. Launch your job, tell it to save the model in $SLURM_TMPDIR
# and look for the dataset into $SLURM_TMPDIR
python main.py --path $SLURM_TMPDIR --data_path $SLURM_TMPDIR
# 4. Copy whatever you want to save on $SCRATCH
cp $SLURM_TMPDIR/RESULTS_CHANGEME $SCRATCH
"""
MAIN = """import sys
import torch, torchvision
path, data = sys.argv[2], sys.argv[4]
open(path + "/RESULTS_CHANGEME", "w").write(torch.version + " " + torchvision.version + " " + open(data + "/digits.txt").read())
"""

LOGIN_SIDE = """eval "$(minke env --over-slurm)"
module avail python
module load python/3.11
virtualenv --no-download venv
source venv/bin/activate
pip install --no-index --upgrade pip
pip install --no-index -r requirements.txt
deactivate
avail_wheels torch
"""
HUGGING_FACE = """#!/bin/bash

#SBATCH --mail-user=<your_email>        # Email where you want to receive notifications of jobs starting/ending
#SBATCH --mail-type=ALL                 # Remove these two lines if you don't want to receive email notifications

#SBATCH --job-name=<your_job_name>      # Name of the job
#SBATCH --output=outputs/%j_%x.out      # Where to save and name the jobs output logs (%j is the job ID and %x is the job name)

#SBATCH --time=0-01:00:00               # Time limit in the format D-HH:MM:SS
#SBATCH --gpus-per-node=1               # Number of GPUs to request (there are 4 A100 40GB GPUs per node)
#SBATCH --cpus-per-task=1               # Number of CPUs to request (there are 48 CPU cores per node)
#SBATCH --mem=16G                       # Memory to request (there is 510G of memory per node)

module load python/3.11
source venv/bin/activate
python -c 'import torch; print("torch", torch.version)'
"""

ALEX = """#!/bin/bash -l
#SBATCH --job-name=run_experiment   # Name of Job
#SBATCH --output=results_%A.out     # File where outputs/errors will be saved
#SBATCH --time=00:59:00             # Time limit (hh:mm:ss)
#SBATCH --ntasks=1                  # Number of tasks
#SBATCH --gres=gpu:a40:1            # Request 1 GPU
#SBATCH --nodes=1                   # Request 1 node

module purge
module load python # load preinstalled python module (includes conda)

python -c "import torch; print('cuda available:', torch.cuda.is_available())"
"""
ALEX_ARRAY = """#!/bin/bash -l
#SBATCH --job-name=run_experiment
#SBATCH --output=results_%A_%a.out
#SBATCH --time=00:59:00
#SBATCH --array=0-4
#SBATCH --ntasks=1
#SBATCH --gres=gpu:a40:1
#SBATCH --nodes=1

# Define parameters for each task
LEARNING_RATES=("0.01" "0.001" "0.0001" "0.00001" "0.000001")
LR=${LEARNING_RATES[$SLURM_ARRAY_TASK_ID]}

# Run the program with the specified parameter
python3 experiment.py --lr=$LR
"""

FOUR_GPUS = """#!/bin/bash
#SBATCH --account=def-someuser
#SBATCH --time=02:00:00
#SBATCH --gpus-per-node=a100:4
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
cat params.input | parallel -j4 'CUDA_VISIBLE_DEVICES=$(({%} - 1)) python3 {} &> {#}.out'
"""
PARALLEL = """#!/bin/bash
#SBATCH --account=def-someuser
#SBATCH --time=24:00:00
#SBATCH --cpus-per-task=4
#SBATCH --mem-per-cpu=500M
parallel --joblog parallel.log -j $SLURM_CPUS_PER_TASK < my_commands.txt
parallel -j $SLURM_CPUS_PER_TASK echo {1} {2} ::: a b ::: 1 2 | sort
"""

GLOST = """#!/bin/bash
#SBATCH --ntasks=4
#SBATCH --time=00-02:00
#SBATCH --mem-per-cpu=200M

module load StdEnv/2023 gcc/12.3 openmpi/4.1.5 glost/0.3.1

echo "Starting run at: `date`"
srun glost_launch list_glost_tasks.txt
echo "GLOST finished with exit code $? at: `date`"
"""

TORCHRUN = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=1500M
#SBATCH --time=00:10:00
export MASTER_ADDR=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)
srun torchrun --nnodes=$SLURM_NNODES --nproc_per_node=2 --rdzv_id=$SLURM_JOB_ID --rdzv_backend=c10d \\
     --redirects=1 --tee=1 --rdzv_endpoint=$MASTER_ADDR:$((20000 + SLURM_JOB_ID % 20000)) main.py
"""


@pytest.fixture
def site(new_cluster, tmp_path, seeds):  # noqa: F811
    """A function that makes a cluster with Narval's tiers and `torch` in the wheelhouse."""
    def make(machine: Machine):
        machine.extra += f'\n[storage]\nprofile = "narval"\nroot = "{tmp_path}/tiers"\n'
        cluster = new_cluster("c", machine)
        made = tmp_path / "made"
        made.mkdir()
        make_wheel(made, "torch", "2.6.0")
        make_wheel(made, "torchvision", "0.21.0", requires=["torch==2.6.0"])
        cluster.environment |= {"HOME": str(tmp_path / "me")}
        (tmp_path / "me").mkdir()
        cluster.run("minke", "software", "scan", check=0)
        cluster.run("minke", "wheels", "add", "--python", "3.11", "torch", "torchvision", timeout=300, check=0,
                    env={"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": f"{seeds} {made}"})
        return cluster
    return make


def ended(cluster, job, path: pathlib.Path) -> str:
    cluster.wait_end(job, seconds=120)
    text = path.read_text()
    assert cluster.state(job) == "COMPLETED", text
    return text


@pytest.mark.skipif(not shutil.which("unzip"), reason="unzip is not installed")
def test_training_on_narval(site):
    cluster = site(Machine(nodes=1, cpus=12, memory=130000, gpus="a100:4"))
    done = cluster.run("bash", "-c", 'eval "$(minke env --over-slurm)"; echo $SCRATCH', check=0)
    scratch = pathlib.Path(done.stdout.strip())
    scratch.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(scratch / "DATASET_CHANGEME.zip", "w") as archive:
        archive.writestr("digits.txt", "0123456789")
    (cluster.work / "main.py").write_text(MAIN)
    job = cluster.sbatch(cluster.script(NARVAL.replace("<scratch>", str(scratch))))
    text = ended(cluster, job, scratch / f"slurm-{job}.out")
    assert "minke: python/3.12 is not here: python/3.11" in text and "Successfully installed torch-2.6.0 torchvision-0.21.0" in text
    assert (scratch / "RESULTS_CHANGEME").read_text() == "2.6.0 0.21.0 0123456789"


def test_inference_with_hugging_face(site):
    """The environment is made on the login side; the job tells by mail how it went."""
    post = Post()
    try:
        cluster = site(Machine(nodes=1, cpus=2, memory=20000, gpus="a100:4", extra=mail(f"smtp://127.0.0.1:{post.port}")))
        (cluster.work / "requirements.txt").write_text("torch\n")
        (cluster.work / "outputs").mkdir()
        done = cluster.run("bash", "-c", "set -e\n" + LOGIN_SIDE, timeout=120, check=0)
        assert "python/3.11" in done.stdout + done.stderr and "Successfully installed torch-2.6.0" in done.stdout
        assert "torch   2.6.0      py3       generic" in done.stdout
        text = HUGGING_FACE.replace("<your_email>", "me@example.org").replace("<your_job_name>", "llm")
        job = cluster.sbatch(cluster.script(text))
        assert "torch 2.6.0\n" in ended(cluster, job, cluster.work / f"outputs/{job}_llm.out")
        began, end = post.wait(2)
        assert "Began" in began["Subject"] and "COMPLETED" in end["Subject"] and end["To"] == "me@example.org"
        assert "| torch 2.6.0" in end.get_content()
        assert cluster.run("sq").stdout.startswith("          JOBID")
    finally:
        post.close()


def test_jobs_of_alex(site):
    cluster = site(Machine(nodes=2, cpus=16, memory=2000, gpus="a40:8"))
    (cluster.work / "torch.py").write_text("class cuda:\n    is_available = staticmethod(lambda: True)\n")
    (cluster.work / "experiment.py").write_text("import sys\nprint(sys.argv[1])\n")
    job = cluster.sbatch(cluster.script(ALEX))
    assert "cuda available: True\n" in ended(cluster, job, cluster.work / f"results_{job}.out")
    array = cluster.sbatch(cluster.script(ALEX_ARRAY))
    cluster.wait_end(array)
    assert [(cluster.work / f"results_{array}_{i}.out").read_text() for i in range(5)] == [
        f"--lr={rate}\n" for rate in ("0.01", "0.001", "0.0001", "0.00001", "0.000001")]
    assert cluster.run("srun", "--gres=gpu:a40:1", "--pty", "/bin/bash", "-l", "-c", "module load python; python -V",
                       check=0).stdout.startswith("Python 3")


@pytest.mark.skipif(not shutil.which("parallel"), reason="GNU Parallel is not installed")
@pytest.mark.machine(nodes=1, cpus=4, memory=10000, gpus="a100:4")
def test_gnu_parallel(cluster):
    cluster.environment["HOME"] = str(cluster.directory)  # its notice about citations is written there
    names = []
    for i in range(8):
        names.append(f"run{i}.py")
        (cluster.work / names[-1]).write_text(f"import os\nprint({i}, os.environ['CUDA_VISIBLE_DEVICES'])\n")
    (cluster.work / "params.input").write_text("\n".join(names) + "\n")
    job = cluster.sbatch("-o", "four.out", cluster.script(FOUR_GPUS))
    ended(cluster, job, cluster.work / "four.out")
    said = [(cluster.work / f"{i + 1}.out").read_text().split() for i in range(8)]
    assert [int(number) for number, _ in said] == list(range(8)) and {gpu for _, gpu in said} <= set("0123")
    (cluster.work / "my_commands.txt").write_text("".join(f"echo {i} > done.{i}\n" for i in range(6)))
    job = cluster.sbatch("-o", "plain.out", cluster.script(PARALLEL))
    assert ended(cluster, job, cluster.work / "plain.out").endswith("a 1\na 2\nb 1\nb 2\n")
    assert len((cluster.work / "parallel.log").read_text().splitlines()) == 7 and (cluster.work / "done.5").exists()


def test_glost(cluster):
    """Each line runs once, on tasks of both nodes; what became of it is told as GLOST tells it."""
    cluster.environment["HOME"] = str(cluster.directory)
    cluster.run("minke", "software", "scan", check=0)
    lines = [f"cd . && echo {i} $SLURMD_NODENAME >> ran; sleep 0.1" for i in range(20)]
    (cluster.work / "list_glost_tasks.txt").write_text("\n".join([*lines[:5], "", "exit 3", "kill -9 $$", *lines[5:]]) + "\n")
    job = cluster.sbatch("-o", "glost.out", cluster.script(GLOST))
    text = ended(cluster, job, cluster.work / "glost.out")
    ran = [line.split() for line in (cluster.work / "ran").read_text().splitlines()]
    assert sorted(int(number) for number, _ in ran) == list(range(20)) and {node for _, node in ran} == {"n1", "n2"}
    assert re.search(r"^#executed by process\t[0-3] in 0\.\d\ds\twith status\t3 : exit 3$", text, re.MULTILINE), text
    assert "killed by signal\t9 : kill -9 $$" in text and text.count("#executed by process") == 22
    assert "GLOST finished with exit code 0" in text
    if shutil.which("mpirun"):
        cluster.environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        again = cluster.submit("module load glost; mpirun -n 2 --oversubscribe glost_launch list_glost_tasks.txt\n"
                               "glost_launch -x; echo $?", "-o", "again.out")
        assert ended(cluster, again, cluster.work / "again.out").endswith("\n2\n")
        assert len((cluster.work / "ran").read_text().splitlines()) == 40


def test_what_glost_has_left(cluster):
    """glost_filter.sh on a log: by status, whole reports, and the commands of a list that are left."""
    cluster.environment["HOME"] = str(cluster.directory)
    cluster.run("minke", "software", "scan", check=0)
    reports = [(0, "a"), (3, "b : c"), (10, "d"), (0, "e # 2")]
    log = "".join(f"#executed by process\t1 in 0.10s\twith status\t{status} : {command}\n" for status, command in reports)
    (cluster.work / "log").write_text("master is 0 , nb slaves: 2\n" + log + "#executed by process\t2 in 1s\tkilled by signal\t9 : f\n")
    (cluster.work / "list").write_text("a\nb : c\nd\ne # 1\ne # 2\nf\n")
    arguments = ["log", "-n log", "-s 10 log", "-nA log", "-R list log", "-s 0 -R list log"]
    job = cluster.submit("module load glost\n" + "".join(f"glost_filter.sh {one}; echo --\n" for one in arguments) + "glost_filter.sh -z log; echo $?")
    said = cluster.output(job).split("--\n")
    assert said[:3] == ["a\nb : c\nd\ne # 2\nf\n", "b : c\nd\nf\n", "d\n"]
    assert said[3].count("#executed by process") == 3 and said[4:6] == ["e # 1\n", "b : c\nd\ne # 1\nf\n"]
    assert said[6].endswith("2\n") and "usage: glost_filter.sh" in said[6]


@pytest.mark.machine(nodes=2, cpus=2, memory=3000)
def test_torchrun(cluster):
    """Four processes on two nodes find each other, and add up their ranks. Debian's torch starts them with --redirects alone."""
    here = subprocess.run(["/usr/bin/python3", "-c", "import torch"], capture_output=True).returncode == 0
    if not here or not shutil.which("torchrun"):
        pytest.skip("there is no torch (Debian: python3-torch)")
    if os.geteuid() != 0:
        pytest.skip("virtual nodes' names resolve where root gives jobs an /etc/hosts; docs/steps.md has the way without")
    (cluster.work / "main.py").write_text("""import os, torch, torch.distributed as distributed
distributed.init_process_group("gloo")
value = torch.tensor([float(distributed.get_rank())])
distributed.all_reduce(value)
print("sum", int(value), "of", distributed.get_world_size(), "on", os.environ["SLURMD_NODENAME"], flush=True)
""")
    job = cluster.sbatch("-o", "run.out", cluster.script(TORCHRUN))
    text = ended(cluster, job, cluster.work / "run.out")
    for node in ("n1", "n2"):
        assert text.count(f"sum 6 of 4 on {node}\n") == 2, text  # each with its rank before it
    poll(lambda: not cluster.queue())
