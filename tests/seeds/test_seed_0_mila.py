"""Seed 0: Mila's page on the Alliance's clusters. Cases have the numbers of items.toml."""
import re
import shutil
import zipfile

import pytest

from cluster import SYSTEM_PATH, Cluster, poll
from sites import types

MINKE_ONLY = True
CLUSTERS = ("fir", "nibi", "rorqual", "trillium", "narval", "tamia")

JOB = "#!/bin/bash\necho ran as $SLURM_JOB_ACCOUNT on $(nproc)\n"
SCRIPT = """#!/bin/bash
#SBATCH --account=rrg-bengioy-ad            # Yoshua pays for your job
#SBATCH --cpus-per-task=12                # Ask for 12 CPUs
#SBATCH --gres=gpu:1                      # Ask for 1 GPU
#SBATCH --mem=124G                        # Ask for 124 GB of RAM
#SBATCH --time=03:00:00                   # The job will run for 3 hours
#SBATCH -o <scratch>/slurm-%j.out         # Write the log in $SCRATCH

# 1. Create your environement locally
module load StdEnv/2023 python/3.12
virtualenv --no-download $SLURM_TMPDIR/env
source $SLURM_TMPDIR/env/bin/activate
pip install --no-index torch torchvision

# 2. Copy your dataset on the compute node, simultaneously unpacking if
# needed (Zip, tar); Alternatively, copy the dataset if it's in an
# advanced format like HDF5, or if you can use Zip directly.
unzip $SCRATCH/DATASET_CHANGEME.zip -d $SLURM_TMPDIR
# tar -xf $SCRATCH/DATASET_CHANGEME.tar.gz -C $SLURM_TMPDIR
# cp $SCRATCH/DATASET_CHANGEME.hdf5 $SLURM_TMPDIR

# 3. Launch your job, tell it to save the model in $SLURM_TMPDIR
# and look for the dataset into $SLURM_TMPDIR
python main.py --path $SLURM_TMPDIR --data_path $SLURM_TMPDIR

# 4. Copy whatever you want to save on $SCRATCH
cp $SLURM_TMPDIR/RESULTS_CHANGEME $SCRATCH
"""
MAIN = """import sys, torch, torchvision
path, data = sys.argv[2], sys.argv[4]
open(path + "/RESULTS_CHANGEME", "w").write(f"{torch.version} {sys.prefix} " + open(data + "/digits.txt").read())
"""


def resources(user, job) -> str:
    return user.run("sacct", "-nXP", "-j", job, "-o", "AllocTRES", check=0).stdout.strip()


def ran(user, text: str, *options) -> str:
    """What a job of this script writes."""
    return user.output(user.submit(text, "--output=slurm-%j.out", *options))


@pytest.fixture(scope="module")
def scratch(narval):
    return narval.disks / "scratch" / narval.reader.name


@pytest.fixture(scope="module")
def example(wheelhouse, scratch):
    """The whole script as it stands there, but for <user>, and what is there when it has ended."""
    if not shutil.which("unzip"):
        pytest.skip("unzip is not installed")
    reader = wheelhouse.reader
    with zipfile.ZipFile(reader.work / "DATASET_CHANGEME.zip", "w") as archive:
        archive.writestr("digits.txt", "0123456789")
    (reader.work / "main.py").write_text(MAIN)
    types(reader, "cp DATASET_CHANGEME.zip $SCRATCH")
    job = reader.sbatch(reader.script(SCRIPT.replace("<scratch>", str(scratch))))
    fields = reader.wait_end(job, seconds=120)
    return fields, (scratch / f"slurm-{job}.out").read_text(), (scratch / "RESULTS_CHANGEME").read_text(), \
        resources(reader, job)


@pytest.mark.parametrize("name", CLUSTERS)
def test_0_01_a_cluster_to_aim_at(tmp_path, name):
    one = Cluster(tmp_path)
    one.environment |= {"MINKE_CONFIG": str(tmp_path / "minke.toml"), "HOME": str(tmp_path)}
    (tmp_path / "minke.toml").write_text(f'[storage]\nprofile = "{name}"\nroot = "{tmp_path}/disks"\n')
    assert "scratch" in one.run("minke", "storage", "usage", check=0).stdout


def test_0_02_an_allocation_is_an_amount_for_a_year(narval):
    said = types(narval.reader, "minke usage")
    assert re.match(r"From 20\d\d-04-01T00:00:00 to ", said) and "% of the year" in said


def test_0_03_several_accounts_of_one_user(narval):
    reader = narval.reader
    accounts = types(reader, "sacctmgr -nP show assoc user=$USER format=account").split()
    assert {"rrg-bengioy-ad_cpu", "rrg-bengioy-ad_gpu", "def-prof_cpu", "def-prof_gpu"} <= set(accounts)
    for account in ("rrg-bengioy-ad", "def-prof"):
        assert f"ran as {account}_cpu" in ran(reader, JOB, f"--account={account}")


def test_0_04_the_table_of_allocations(narval):
    rows = {line.split()[0]: line.split() for line in types(narval.reader, "minke usage").splitlines() if "rrg-" in line}
    assert rows["rrg-bengioy-ad_cpu"][1] == "193.0000" and "2000.0000" in rows["rrg-bengioy-ad_gpu"]


def test_0_05_an_allocation_as_gpus(narval):
    assert re.search(r"rrg-bengioy-ad_gpu .*\b16[45](\.\d+)?\b", types(narval.reader, "minke usage --gpu h100"))


def test_0_06_the_type_of_a_gpu_is_h100(tamia):
    job = tamia.submit("echo $CUDA_VISIBLE_DEVICES", f"--account={tamia.account}", "--gpus=h100:4")
    assert tamia.output(job) == "0,1,2,3\n"
    refused = tamia.run("sbatch", f"--account={tamia.account}", "--gpus=h1000:4", "--wrap=true")
    assert refused.returncode == 1 and "h1000" in refused.stderr and "gpu:h100" in refused.stderr


def test_0_07_default_accounts_of_a_professor(narval):
    said = types(narval.reader, "sbatch --account=def-prof-gpu --wrap true", check=1)
    assert "You cannot use this account" in said and "RAS default accounts: def-prof," in said


def test_0_08_a_professor_adds_a_collaborator(narval):
    narval.sacctmgr("add", "coordinator", "account=def-prof_gpu,def-prof_cpu", f"names={narval.professor.name}")
    types(narval.professor, f"sacctmgr -i add user {narval.bob.name} account=def-prof_cpu")
    assert "ran as def-prof_cpu" in ran(narval.bob, JOB, "--account=def-prof")


def test_0_09_an_allocation_is_a_weight_and_no_cap(narval):
    """Shares follow from the award; who has none gets what is left of the cluster, and is served."""
    reader = narval.reader
    job = reader.submit("#!/bin/bash\nsshare -nP -o Account,RawShares,User\n", "--account=def-prof")
    shares = {row[0].strip(): int(row[1]) for line in reader.output(job).splitlines() if not (row := line.split("|"))[2]
              and row[0] != "root"}
    assert (shares["rrg-bengioy-ad_cpu"], shares["rrg-bengioy-ad_gpu"]) == (193000, 2000000)
    assert 1 < shares["def-prof_cpu"] < 193000


def test_0_14_nibi_keeps_its_file_systems(tmp_path):
    one = Cluster(tmp_path)
    one.environment |= {"MINKE_CONFIG": str(tmp_path / "minke.toml"), "HOME": str(tmp_path)}
    (tmp_path / "minke.toml").write_text(f'[storage]\nprofile = "nibi"\nroot = "{tmp_path}/disks"\n')
    assert "project" in one.run("minke", "storage", "usage", check=0).stdout


@pytest.mark.offline
def test_0_15_no_internet_on_compute_nodes(narval):
    said = ran(narval.reader, "#!/bin/bash\ngrep -c : /proc/net/dev\npython3 -c 'import socket; "
               "socket.create_connection((\"198.51.100.1\", 80), 5)' 2>&1 | tail -1\n", "--account=def-prof")
    assert said.startswith("1\n") and "Network is unreachable" in said


def test_0_16_nodes_are_assigned_as_a_whole(tamia):
    job = tamia.submit("true", f"--account={tamia.account}", "--ntasks=1", "--gpus=h100:1")
    tamia.wait_end(job)
    assert "cpu=48" in resources(tamia, job)


def test_0_16_a_quarter_of_a_node_for_each_gpu(tmp_path):
    one = Cluster(tmp_path)
    (tmp_path / "slurm.conf").write_text(
        "ClusterName=trillium\nNodeName=trig1 CPUs=96 RealMemory=767000 Gres=gpu:h100:4\n"
        "PartitionName=compute Nodes=trig1 Default=YES DefCpuPerGPU=24 DefMemPerGPU=191750\n")
    one.environment["MINKE_CONFIG"] = str(tmp_path / "slurm.conf")
    try:
        job = one.submit("true", "--gpus-per-node=1")
        one.wait_end(job)
        assert "cpu=24" in resources(one, job)
    finally:
        one.close()


def test_0_17_an_a100(narval):
    job = narval.reader.submit(JOB, "--account=def-prof", "--gpus-per-node=a100:1")
    assert "gres/gpu:a100:1" in narval.reader.wait_end(job)["TresPerNode"]
    assert "gres/gpu=1" in resources(narval.reader, job)


def test_0_18_whole_nodes_with_h100_or_h200(tamia):
    for gpus, cpus in (("h100:4", 48), ("h200:8", 64)):
        job = tamia.submit("true", f"--account={tamia.account}", f"--gpus-per-node={gpus}")
        tamia.wait_end(job)
        assert f"cpu={cpus},gres/gpu={gpus[-1]}" in resources(tamia, job)


def test_0_19_refused_until_the_professor_has_added_you(tamia):
    tamia.run("sacctmgr", "-i", "add", "account", "aip-prof", check=0)
    command = ("sbatch", "--account=aip-prof", "--gpus=h100:4", "--wrap=true")
    refused = tamia.run(*command)
    assert refused.returncode == 1 and "Invalid account or account/partition combination" in refused.stderr
    tamia.run("sacctmgr", "-i", "add", "user", tamia.name, "account=aip-prof", check=0)
    assert re.match(r"Submitted batch job \d+\n", tamia.run(*command, check=0).stdout)


def test_0_20_an_account_must_be_named(narval):
    said = types(narval.reader, "sbatch --time=1:00:00 --wrap true", check=1)
    assert "Please specify one of the following accounts" in said
    assert "RAS default accounts: def-prof,\n" in said and "RAC accounts: rrg-bengioy-ad,\n" in said


def test_0_21_a_job_on_cpus(narval):
    reader = narval.reader
    reader.script(JOB, "cpu.sh")
    said = types(reader, "sbatch --wait --account=rrg-bengioy-ad --time=1:00:00 cpu.sh")
    job = re.search(r"Submitted batch job (\d+)", said)[1]
    assert reader.output(job) == "ran as rrg-bengioy-ad_cpu on 1\n"


def test_0_22_a_job_on_a_gpu(narval):
    reader = narval.reader
    reader.script("#!/bin/bash\necho gpu $CUDA_VISIBLE_DEVICES\n", "gpu.sh")
    said = types(reader, "sbatch --wait --account=rrg-bengioy-ad --time=1:00:00 --gres=gpu:1 gpu.sh")
    job = re.search(r"Submitted batch job (\d+)", said)[1]
    assert re.fullmatch(r"gpu \S+\n", reader.output(job))
    assert types(reader, f"sacct -nXP -j {job} -o Account,AllocTRES").startswith("rrg-bengioy-ad_gpu|")


def test_0_23_an_interactive_session(narval):
    done = narval.reader.run("salloc", "--time=1:00:00", "--account=rrg-bengioy-ad", "--gres=gpu:1",
                             input="echo on $SLURMD_NODENAME with ${CUDA_VISIBLE_DEVICES:-none}\n")
    assert re.search(r"on ng30101 with \d", done.stdout)


def test_0_24_the_home_is_the_home(narval):
    assert ran(narval.reader, "#!/bin/bash\necho $HOME\n", "--account=def-prof") == f"{narval.reader.work}\n"


def test_0_25_projects_in_the_home(narval):
    where = types(narval.reader, f"realpath ~/projects/{narval.rrg}")
    assert where == f"{narval.disks}/project/{narval.rrg}\n"


def test_0_26_scratch(narval, scratch):
    assert types(narval.reader, "echo $SCRATCH; cd $SCRATCH && pwd") == f"{scratch}\n{scratch}\n"
    assert ran(narval.reader, "#!/bin/bash\necho $SCRATCH\n", "--account=def-prof") == f"{scratch}\n"


def test_0_27_a_directory_on_the_node(narval):
    look = "echo $SLURM_TMPDIR; touch $SLURM_TMPDIR/file && ls $SLURM_TMPDIR"
    said = ran(narval.reader, f"#!/bin/bash\n{look}\nsrun sh -c '{look}'\n", "--account=def-prof").splitlines()
    assert said[0] == said[2] and said[1] == said[3] == "file"


def test_0_28_what_each_tier_is_for(narval):
    said = types(narval.reader, "minke storage usage").lower()
    assert "code" in said and "results" in said and re.search("data ?sets", said)


def test_0_29_a_limit_on_the_number_of_files_in_a_project(narval):
    loner = narval.alice
    narval.minke("storage", "init", "--user", loner.name)
    types(loner, "cd $PROJECT && mkdir -p many && touch many/{1..80}")
    blocker = narval.reader.sbatch("--account=def-prof", "--nodelist=nc10101", "--exclusive", "--time=60", "--wrap=sleep 600")
    narval.reader.wait_state(blocker, "RUNNING")
    held = loner.sbatch("--nodelist=nc10101", "--time=60", "--wrap=true")
    reason = poll(lambda: (said := loner.job(held)["Reason"]).startswith("DiskQuota") and said, what="the reason")
    assert "of_60_files" in reason
    types(loner, "rm -r $PROJECT/many; scancel --me")
    types(narval.reader, f"scancel {blocker}")


def test_0_30_a_data_set_for_the_group(narval, scratch):
    said = types(narval.reader, f"cd $SCRATCH && mkdir dataset && touch dataset/1 && chgrp -R {narval.rrg} dataset && "
                                "stat -c %G dataset dataset/1")
    assert said.split() == [narval.rrg] * 2


def test_0_32_what_is_on_the_node_goes_with_the_job(narval):
    directory = ran(narval.reader, "#!/bin/bash\ntouch $SLURM_TMPDIR/left\necho $SLURM_TMPDIR\n", "--account=def-prof").strip()
    assert directory.startswith("/")
    poll(lambda: narval.root_run("test", "-e", directory).returncode == 1, what="the removal")


def test_0_34_module_avail(narval):
    said = types(narval.reader, "module avail")
    assert "Core Modules" in said and "python/3.11" in said and "gcc/" in said


def test_0_34_module_avail_before_any_scan(tamia):
    tamia.run("bash", "-c", 'eval "$(minke env --over-slurm)"; module avail', check=0)


def test_0_35_module_load(narval):
    assert "Python 3.11" in types(narval.reader, "module load python/3.11; python --version")


def test_0_36_module_spider(narval):
    assert "This module can be loaded directly" in types(narval.reader, "module spider python")


@pytest.mark.skipif(bool(shutil.which("python3.12", path=SYSTEM_PATH)), reason="there is a Python 3.12 here")
def test_0_36_module_spider_of_a_version_that_is_not_here(narval):
    assert "python/3.11" in types(narval.reader, "module spider python/3.12")


def test_0_37_python_3_12(narval):
    said = types(narval.reader, "module load python/3.12; python --version")
    assert "Python 3.12" in said or re.search(r"python/3.12 is not here: python/3\.\d+\S* instead\n.*Python 3\.", said)


def test_0_38_browse_the_wheels(wheelhouse):
    lines = types(wheelhouse.reader, "avail_wheels").splitlines()
    assert lines[0].split() == ["name", "version", "python", "arch"] and set(lines[1]) == {"-", " "}
    assert ["torch", "2.6.0", "py3", "generic"] in [line.split() for line in lines]


def test_0_39_the_environment_is_in_the_job(example):
    assert re.search(r"created virtual environment .*dest=\S+/env", example[1]) or "/env" in example[2]


def test_0_40_the_whole_script(example):
    assert example[0]["JobState"] == "COMPLETED" and example[2].endswith(" 0123456789")


def test_0_41_the_log_in_scratch(example, narval):
    assert "Successfully installed" in example[1]
    warned = types(narval.reader, "sbatch --account=def-prof -o /scratch/<user>/slurm-%j.out --wrap true".replace("<user>", "nobody-here"))
    assert "warning: --output /scratch/nobody-here/: No such file or directory" in warned


def test_0_42_stdenv_and_python(example):
    assert "StdEnv" not in example[1] and ("python/3.12 is not here" in example[1] or "python3.12" in example[1])


def test_0_43_virtualenv_without_a_download(example):
    assert example[2].split()[1].endswith("/env")


def test_0_44_packages_without_an_index(example):
    assert "Successfully installed torch-2.6.0 torchvision-0.21.0" in example[1]


def test_0_45_data_comes_to_the_node(example, narval):
    assert "inflating: " in example[1] or "extracting: " in example[1]
    said = ran(narval.reader, "#!/bin/bash\nunzip -q DATASET_CHANGEME.zip -d $SLURM_TMPDIR && tar -czf DATASET_CHANGEME.tar.gz "
               "-C $SLURM_TMPDIR digits.txt\nmkdir $SLURM_TMPDIR/2 && tar -xf DATASET_CHANGEME.tar.gz -C $SLURM_TMPDIR/2 && "
               "cp main.py $SLURM_TMPDIR && ls $SLURM_TMPDIR/2 $SLURM_TMPDIR/main.py\n", "--account=def-prof")
    assert "digits.txt" in said and "main.py" in said


def test_0_46_results_go_to_scratch(example):
    assert example[2].startswith("2.6.0 ")


@pytest.mark.offline
def test_0_49_wandb_is_offline_where_nodes_are(narval):
    said = ran(narval.reader, "#!/bin/bash\necho $WANDB_MODE $COMET_START_ONLINE $HF_HUB_OFFLINE\n", "--account=def-prof")
    assert said == "offline 0 1\n"


def test_0_50_an_a100_has_4_rgu(narval):
    assert "16.00 RGU-hours an hour" in types(narval.reader, "minke estimate 70B --cluster narval")  # of four


def test_0_50_an_h100_has_12_15_rgu(narval):
    """So 2000 RGU are 164.6 of them."""
    assert "164.6" in types(narval.reader, "minke usage --gpu h100")


def test_0_50_an_h200_has_rgu_too(tamia):
    job = tamia.submit("sleep 1.1", f"--account={tamia.account}", "--gpus=h200:8")  # usage is of seconds
    tamia.wait_end(job)
    assert '"gpus_without_rgu": []' in tamia.run("minke", "usage", "--json", check=0).stdout


def test_0_51_setrpaths(narval):
    types(narval.reader, "mkdir -p binaries && cp /bin/true binaries && setrpaths.sh --path binaries && binaries/true")


def test_0_52_files_of_the_wrong_group_in_a_project(narval):
    project = narval.disks / "project" / narval.rrg
    narval.root_run("install", "-d", "-m", "2770", "-g", narval.rrg, project)
    types(narval.reader, f"mkdir {project}/mine && touch {project}/mine/1 && chgrp -R $(id -gn) {project}/mine")
    assert f"{project}/mine" in types(narval.reader, "minke storage doctor", check=None)
    types(narval.reader, "minke storage doctor --mend", check=None)
    assert (project / "mine/1").group() == narval.rrg


def test_0_53_many_jobs_several_nodes_and_gpus(narval):
    reader = narval.reader
    array = reader.submit("echo", "--account=def-prof", "--array=1-50", "--output=/dev/null")
    wide = reader.submit("#!/bin/bash\nsrun sh -c 'echo $SLURMD_NODENAME $CUDA_VISIBLE_DEVICES'\n", "--account=rrg-bengioy-ad",
                         "--nodes=2", "--ntasks-per-node=1", "--gpus-per-node=a100:4", "--time=7-0", "--output=wide.out")
    reader.wait_end(wide)
    assert sorted((reader.work / "wide.out").read_text().splitlines()) == ["ng10101 0,1,2,3", "ng10102 0,1,2,3"]
    assert reader.wait_end(array)["JobState"] == "COMPLETED"


def test_0_54_the_whole_node_is_charged(tamia):
    job = tamia.submit("true", f"--account={tamia.account}", "--ntasks=1", "--gpus=h100:1")
    tamia.wait_end(job)
    assert "billing=48" in resources(tamia, job)


def test_0_55_memory_of_a_job(example):
    assert "mem=124G" in example[3] and "cpu=12" in example[3]
