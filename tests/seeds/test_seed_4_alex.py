"""Seed 4: a tutorial on working with Alex. Cases have the numbers of items.toml."""
import os
import re
import shutil
import signal

import pytest

from cluster import ENDED, SYSTEM_PATH, poll
from processes import has_ended
from shared import User
from sites import on_a_terminal, types

MINKE_ONLY = True
SQUEUE = "    JOBID PARTITION NAME                 USER     ST       TIME  TIME_LIMIT  NODES CPUS NODELIST(REASON)"

JOB = """#!/bin/bash -l
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
ARRAY = """#!/bin/bash -l
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
python experiment.py --lr=$LR
"""
RATES = ("0.01", "0.001", "0.0001", "0.00001", "0.000001")


@pytest.fixture(scope="module")
def student(alex):
    return alex.reader


@pytest.fixture(scope="module", params=["shared", "own"])
def reader(request):
    """The student of the shared cluster; and who has a cluster of his own, set up as Alex."""
    one = request.getfixturevalue({"shared": "student", "own": "own_alex"}[request.param])
    (one.work / "torch.py").write_text("class cuda:\n    is_available = staticmethod(lambda: True)\n")
    (one.work / "experiment.py").write_text(
        "import os, sys\nprint(sys.argv[1], os.environ['SLURM_ARRAY_TASK_ID'], 'of', os.environ['SLURM_ARRAY_TASK_COUNT'])\n")
    return one


@pytest.fixture(scope="module")
def ended(reader):
    """The job file as it stands there, when it has ended: what was said, its number, and its fields."""
    reader.script(JOB, "my_job_file.job")
    said = types(reader, "sbatch my_job_file.job")
    job = re.search(r"Submitted batch job (\d+)", said)[1]
    return said, job, reader.wait_end(job)


@pytest.fixture(scope="module")
def array(reader):
    """The array's script with the python module, which it needs where there is no `python` without."""
    job = reader.submit(ARRAY.replace("\n# Run", "\nmodule load python\n# Run"))
    reader.wait_end(job)
    return job


@pytest.fixture
def running(reader):
    job = reader.submit("sleep 600", "--gres=gpu:a40:1", "--time=10")
    reader.wait_state(job, "RUNNING")
    yield job
    types(reader, f"scancel {job}")
    reader.wait_end(job)


def resources(user, job) -> str:
    return user.run("sacct", "-nXP", "-j", job, "-o", "AllocTRES", check=0).stdout.strip()


def test_4_03_priority_by_what_is_asked_for(reader):
    blocker = reader.submit("sleep 600", "-w", "a0603", "--exclusive")
    reader.wait_state(blocker, "RUNNING")
    small, large = (reader.sbatch("-w", "a0603", f"--cpus-per-task={cpus}", "--wrap=true") for cpus in (1, 100))
    columns = types(reader, "sprio -l").split("\n")[0].split()
    sizes = dict(line.split() for line in types(reader, "sprio -h -o '%i %J'").splitlines())
    types(reader, "scancel --me")
    assert columns[:7] == ["JOBID", "PARTITION", "USER", "ACCOUNT", "PRIORITY", "SITE", "AGE"]
    assert int(sizes[str(small)]) > int(sizes[str(large)])


def test_4_04_the_nodes(reader):
    assert types(reader, "sinfo -h -o '%D %c %m %G %d'") == "10 128 512000 gpu:a40:8 7000000\n"


def test_4_05_what_comes_with_a_gpu(reader):
    job = reader.submit("true", "--gres=gpu:a40:1")
    reader.wait_end(job)
    assert {"cpu=16", "mem=60000M"} <= set(resources(reader, job).split(","))


def test_4_06_users_share_a_node(alex, student):
    seen = []
    jobs = [user.submit("#!/bin/bash\necho $SLURM_JOB_GPUS on $SLURMD_NODENAME > share; mv share shared\n"
                        "until [ -e go ]; do sleep 0.05; done\n", "--gres=gpu:a40:1", "-w", "a0129")
            for user in (student, alex.other)]
    for user in (student, alex.other):
        seen.append(poll(lambda: (user.work / "shared").exists() and (user.work / "shared").read_text(), what="the output"))
    for user, job in zip((student, alex.other), jobs):
        types(user, "touch go")
        user.wait_end(job)
    assert len(set(seen)) == 2 and all(line.endswith(" on a0129\n") for line in seen)


def test_4_07_one_file_system_for_all_nodes(reader):
    said = reader.output(reader.submit("#!/bin/bash\necho written > $WORK/shared\nsrun -N2 -n2 cat $WORK/shared\n", "-N2"))
    assert said == "written\n" * 2 and types(reader, "cat $WORK/shared") == "written\n"


@pytest.fixture(scope="module")
def snapshots(alex, student):
    """A folder with a file that is snapshot, and overwritten."""
    types(student, "mkdir -p your-folder && echo good > your-folder/file && ln your-folder/file your-folder/link")
    now = student.run("date", "+%s").stdout.strip()
    keep = [alex.program, "storage-keep", alex.home, alex.root["MINKE_CONFIG"], str(int(now) + 86400)]
    poll(lambda: alex.root_run(*keep).returncode == 0, what="a keeper beside the daemon's own")
    types(student, "echo bad > your-folder/file")


def quotas(reader) -> list[list[str]]:
    return [line.split() for line in types(reader, "shownicerquota.pl").splitlines()]


def test_4_08_home_of_50_gb_with_snapshots(student, snapshots):
    assert quotas(student)[1][:4:3] == [str(student.work), "100.0G"] and quotas(student)[1][2] == "50.0G"
    assert re.search(r"^@GMT-20\d\d\.\d\d\.\d\d-\d\d\.\d\d\.\d\d$", types(student, "ls $HOME/.snapshots"), re.M)


def test_4_08_snapshots_keep_hard_links(student, snapshots):
    assert len(set(types(student, "stat -c %i $HOME/.snapshots/$(ls $HOME/.snapshots | tail -1)/your-folder/*").split())) == 1


def test_4_09_hpcvault_of_500_gb(reader):
    assert quotas(reader)[2][2:4] == ["500.0G", "1000.0G"] and "/vault/" in quotas(reader)[2][0]


def test_4_10_work_of_1000_gb(reader):
    assert quotas(reader)[3][2:4] == ["1000.0G", "1500.0G"] and "/woody/" in quotas(reader)[3][0]


def test_4_11_tmpdir_is_the_jobs(reader):
    directory = reader.output(reader.submit("echo $TMPDIR; touch $TMPDIR/file")).strip()
    assert directory.startswith("/") and directory != "/tmp"
    poll(lambda: not os.path.exists(directory), what="the removal")


def test_4_12_cd(alex, student):
    said = types(student, "cd $WORK; pwd; cd $HPCVAULT; pwd").splitlines()
    assert [re.search("woody|vault", line)[0] for line in said] == ["woody", "vault"]
    assert all(line.startswith(str(alex.disks)) for line in said)


def test_4_13_environ_of_python(reader):
    text = ("import os\n\n# Get the path to your $HOME directory\nhome_path = os.environ.get(\"HOME\")\n"
            "print(f\"Home directory: {home_path}\")\n")
    (reader.work / "where.py").write_text(text)
    assert reader.output(reader.submit("module load python; python where.py")).endswith(f"Home directory: {reader.work}\n")


def test_4_14_staging_to_tmpdir(reader):
    types(reader, "mkdir -p $WORK/data && touch $WORK/data/{1..3} && tar -cf $WORK/data.tar -C $WORK data")
    assert reader.output(reader.submit("tar -xf $WORK/data.tar -C $TMPDIR && ls $TMPDIR/data | xargs")) == "1 2 3\n"


def test_4_15_shownicerquota(reader):
    assert quotas(reader)[0] == "Path Used SoftQ HardQ Gracetime Filec FileQ FiHaQ FileGrace".split()


def test_4_17_a_folder_with_snapshots_of_its_own(student, snapshots):
    """There is no .snapshots in it by itself (docs/seeds.md, 4-16)."""
    assert "@GMT-" in types(student, "minke restore --links your-folder; ls -l $HOME/your-folder/.snapshots/")
    types(student, "minke restore --links your-folder")
    assert types(student, "at=$(ls your-folder/.snapshots | tail -1); cat your-folder/.snapshots/$at/file") == "good\n"


def test_4_17_a_file_comes_back(student, snapshots):
    assert types(student, "at=$(ls $HOME/.snapshots | tail -1); cp $HOME/.snapshots/$at/your-folder/file your-folder/back; "
                         "cat your-folder/file your-folder/back") == "bad\ngood\n"


def test_4_23_push_by_git(reader):
    said = types(reader, "git init -q --bare there.git && git clone -q there.git here 2>&1 && cd here && touch x && git add x && "
                         "git -c user.name=me -c user.email=me@example.org commit -qm x && git push -q origin HEAD && "
                         "git --git-dir ../there.git log --all --oneline")
    assert len(said.splitlines()) >= 1


def test_4_25_module_avail(reader):
    assert re.search(r"python/3\.\d+", types(reader, "module avail"))


def test_4_26_module_load_and_unload(reader):
    said = types(reader, "module load python; module -t list; echo; module unload python; module -t list")
    before, after = said.split("\n\n", 1)
    assert "python/3" in before and "python/3" not in after


def test_4_27_module_list(reader):
    assert "Currently Loaded Modules:" in types(reader, "module load python; module list")


def test_4_28_module_purge(reader):
    assert "python/3" not in types(reader, "module load python; module purge; module -t list").split("unload all", 1)[1]


def test_4_33_sinfo(alex, student):
    for words in (("create", "reservation", "reservationname=m", "nodes=a0121", "starttime=now", "duration=60", "users=root",
                   "flags=maint"),
                  ("create", "reservation", "reservationname=r", "nodes=a0122", "starttime=now", "duration=60", "users=root")):
        assert alex.root_run("scontrol", *words).returncode == 0
    poll(lambda: not student.queue() and not alex.other.queue(), what="the end of all jobs")
    mixed = student.submit("sleep 600", "-w", "a0123")
    whole = student.submit("sleep 600", "-w", "a0124", "--exclusive")
    for job in (mixed, whole):
        student.wait_state(job, "RUNNING")
    lines = types(student, "sinfo").splitlines()
    types(student, f"scancel {mixed} {whole}")
    for name in ("m", "r"):
        alex.root_run("scontrol", "delete", f"reservation={name}")
    assert lines[0] == "PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST"
    assert {line.rsplit(" ", 1)[0] for line in lines[1:]} == {f"a40*         up 1-00:00:00 {count:>6} {state:>6}" for count, state in (
        (1, "maint"), (1, "resv"), (1, "mix"), (1, "alloc"), (6, "idle"))}
    assert lines[-1].endswith("idle a[0125-0129,0603]")


def test_4_34_squeue_shows_ones_own_jobs(alex, student):
    job = student.sbatch("--hold", "--wrap=true")
    assert str(job) in types(student, "squeue").split() and str(job) not in types(alex.other, "squeue").split()
    types(student, f"scancel {job}")


def test_4_34_squeue_with_time_limit_and_cpus(reader, running):
    lines = types(reader, "SQUEUE_FORMAT='%.9i %9P %20j %8u %.2t %.10M %.11l %.6D %.4C %R' squeue").splitlines()
    assert "TIME_LIMIT" in lines[0] and re.search(r" 10:00 +1 +16 a0", lines[1])


def test_4_34_squeue_in_the_sites_columns(reader):
    assert types(reader, "squeue").splitlines()[0].rstrip() == SQUEUE


def test_4_35_sbatch(ended):
    assert re.fullmatch(r"Submitted batch job \d+\n", ended[0])


def test_4_36_scancel(reader, running):
    types(reader, f"scancel {running}")
    assert reader.wait_end(running)["JobState"] == "CANCELLED"


def test_4_37_the_job_file(ended, reader):
    assert ended[2]["JobState"] == "COMPLETED" and (ended[2]["JobName"], ended[2]["TimeLimit"]) == ("run_experiment", "00:59:00")
    assert (reader.work / f"results_{ended[1]}.out").is_file()


def test_4_38_a_gpu_of_a_type(ended, reader):
    assert ended[2]["TresPerNode"] == "gres/gpu:a40:1" and "gres/gpu=1" in resources(reader, ended[1])


def test_4_39_its_line_of_python_runs(ended, reader):
    """There is no GPU here, and no torch: what stands in for it says that there is one."""
    assert (reader.work / f"results_{ended[1]}.out").read_text().endswith("cuda available: True\n")


def test_4_40_more_gpus_and_nodes(reader):
    for options, amount in (("--gres=gpu:a40:4", 4), ("--nodes=2 --gres=gpu:a40:8", 16)):
        job = reader.submit("true", *options.split())
        reader.wait_end(job)
        assert f"gres/gpu={amount}" in resources(reader, job).split(",")
    assert "sbatch: error: " in types(reader, "sbatch --gres=gpu:a40:9 --wrap true", check=1)


@pytest.mark.skipif(bool(shutil.which("python", path=SYSTEM_PATH)), reason="there is a `python` here")
def test_4_41_an_array_without_the_python_module(reader):
    job = reader.submit(ARRAY)
    reader.wait_end(job)
    said = (reader.work / f"results_{job}_0.out").read_text() + types(reader, f"minke why {job}", check=None)
    assert RATES[0] in said or "module load python" in said


def test_4_42_each_task_has_its_number(array, reader):
    for task, rate in enumerate(RATES):
        assert f"--lr={rate} {task} of" in (reader.work / f"results_{array}_{task}.out").read_text()


def test_4_43_the_number_of_tasks(array, reader):
    assert (reader.work / f"results_{array}_0.out").read_text().endswith(" of 5\n")


def test_4_44_some_at_a_time(reader):
    job = reader.submit("sleep 600", "--array=0-7%4", "--output=/dev/null")
    poll(lambda: reader.queue("-j", job, "-t", "R").__len__() == 4, what="four tasks")
    said = types(reader, f"squeue -j {job} -o '%i %R'")  # the site's column of numbers is too narrow
    types(reader, f"scancel {job}")
    assert f"{job}_[4-7%4]" in said and "(JobArrayTaskLimit)" in said


def test_4_45_a_file_for_each_task(array, reader):
    assert sorted(path.name for path in reader.work.glob(f"results_{array}_*.out")) == [
        f"results_{array}_{task}.out" for task in range(5)]


def test_4_46_a_sweep_from_a_file(reader):
    (reader.work / "parameters.txt").write_text("--lr=0.1 --depth=2\n--lr=0.2 --depth=3\n")
    job = reader.submit("#!/bin/bash\necho run $(sed -n ${SLURM_ARRAY_TASK_ID}p parameters.txt)\n", "--array=1-2", "-osweep_%a.out")
    reader.wait_end(job)
    assert (reader.work / "sweep_2.out").read_text() == "run --lr=0.2 --depth=3\n"


SALLOC = "salloc --gres=gpu:a40:1 --time=3:59:00"


def test_4_47_an_interactive_session(reader):
    done = reader.run(*SALLOC.split(), input="squeue --me -h -o '%l %b %T'\n", check=0)
    assert "Granted job allocation" in done.stderr and "3:59:00 gres/gpu:a40:1 RUNNING" in done.stdout


def test_4_48_one_is_connected_to_the_node(reader):
    done = reader.run(*SALLOC.split(), input="echo on $SLURMD_NODENAME $(hostname) with $CUDA_VISIBLE_DEVICES\n")
    assert re.search(r"on (a0\d\d\d) \1 with \d", done.stdout)


@pytest.fixture
def session(reader):
    """A session on a terminal that is closed: its job, and a process that was left in the background."""
    at = types(reader, "rm -f left job; command -v script").split()
    rights = {"user": reader.uid, "group": reader.gid, "extra_groups": [reader.gid]} if isinstance(reader, User) else {}
    terminal = reader.start(at[0], "-qec", SALLOC, "/dev/null", stdin=-1, start_new_session=True, **rights)
    terminal.stdin.write("nohup sleep 4711 > /dev/null & echo $! > left; echo $SLURM_JOB_ID > job\n")
    terminal.stdin.flush()
    poll(lambda: (reader.work / "job").exists() and (reader.work / "job").read_text().strip(), what="the session")
    job = (reader.work / "job").read_text().split()[0]
    left = int((reader.work / "left").read_text())
    yield terminal, job, left
    terminal.kill()
    terminal.wait()
    for stream in (terminal.stdin, terminal.stdout, terminal.stderr):
        stream.close()
    if not has_ended(left):
        os.kill(left, signal.SIGKILL)


def test_4_49_a_session_ends_with_its_connection(reader, session):
    terminal, job, _ = session
    assert reader.state(job) == "RUNNING"
    terminal.kill()
    assert reader.wait_end(job)["JobState"] in ENDED


def test_4_49_so_does_what_was_begun_in_it(reader, session):
    terminal, job, left = session
    terminal.kill()
    reader.wait_end(job)
    poll(lambda: has_ended(left), 0.5, "the end of what was left in the background")


def test_4_50_a_session_goes_on_when_its_program_has_ended(reader):
    done = reader.run(*SALLOC.split(), input="python3 -c 'print(1)'\nsqueue --me -h -o %T\n", check=0)
    assert done.stdout.endswith("RUNNING\n")


ATTACH = "srun --jobid={} --overlap --pty /bin/bash -l"


def test_4_51_attach_to_a_running_job(reader, running):
    said = types(reader, f"echo 'echo $SLURMD_NODENAME has $CUDA_VISIBLE_DEVICES; exit' | script -qec '{ATTACH.format(running)}' /dev/null",
                 check=None)
    assert re.search(r"a0\d\d\d has \d\r?\n", said)


def test_4_52_look_at_what_it_uses(reader, running):
    """There is no GPU here: nvidia-smi is a program that tells what it is given."""
    types(reader, "mkdir -p bin; printf '#!/bin/sh\\necho sees $CUDA_VISIBLE_DEVICES\\n' > bin/nvidia-smi; chmod +x bin/nvidia-smi")
    assert re.search(r"sees \d\r?\n", on_a_terminal(reader, f"PATH=$PWD/bin:$PATH srun --jobid={running} --overlap --pty nvidia-smi"))
    assert "load average" in on_a_terminal(reader, f"srun --jobid={running} --overlap --pty top -bn1")


def test_4_57_data_is_staged_in_the_job(reader):
    types(reader, "mkdir -p $WORK/set && echo cat > $WORK/set/1 && chmod -R a+rX $WORK/set")
    work = types(reader, "echo $WORK").strip()
    job = reader.submit(f"#!/bin/bash\n#MINKE stage={work}/set\ncat $TMPDIR/set/1\n")
    assert reader.output(job) == "cat\n"


def test_4_58_a_partitions_time_limit(reader):
    refused = types(reader, "sbatch --time=25:00:00 --wrap true", check=1)
    assert "Requested time limit is invalid" in refused and "a40 allows at most 1440 min" in refused
