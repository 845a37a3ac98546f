"""Seed 3: slides on SHARCNET. Cases have the numbers of items.toml."""
import pathlib
import re
import shutil

import pytest

from cluster import Cluster, poll
from sites import types

MINKE_ONLY = True


def submitted(said: str) -> int:
    return int(re.search(r"as jobid (\d+)", said)[1])


def test_3_01_who_contributes_nothing_has_four_hours(sharcnet):
    student = sharcnet.student
    refused = types(student, "sqsub -r 5h -o log true", check=1)
    assert "is not for account" in refused or "Requested time limit is invalid" in refused
    assert "is not for account" in types(student, "sbatch -p contributed -A students -t 1-0 --wrap true", check=1)
    assert submitted(types(student, "sqsub -r 4h -o log true"))
    job = sharcnet.contributor.sbatch("-A", "contributors", "-t", "6-0", "--wrap=echo $SLURM_JOB_PARTITION")
    assert sharcnet.contributor.output(job) == "contributed\n"


def test_3_01_contributors_need_not_name_their_account(sharcnet):
    assert submitted(types(sharcnet.contributor, "sqsub -r 6d -o log true"))


def test_3_01_partitions_of_some_accounts_by_the_configuration(tmp_path):
    one = Cluster(tmp_path)
    (tmp_path / "minke.toml").write_text('[[partition]]\nname = "contributed"\nallow_accounts = "contributors"\n')
    one.environment["MINKE_CONFIG"] = str(tmp_path / "minke.toml")
    try:
        assert "AllowAccounts=contributors" in one.run("scontrol", "show", "partition", "contributed", check=0).stdout
    finally:
        one.close()


@pytest.mark.parametrize("command", [("scontrol", "reconfigure"), ("minke", "software", "scan")], ids=["reconfigure", "scan"])
def test_3_01_a_restricted_partition_stays_so(sharcnet, command):
    try:
        sharcnet.root_run(*command)
        assert "AllowAccounts=contributors" in types(sharcnet.student, "scontrol show partition contributed")
    finally:
        sharcnet.contributors_only()


def test_3_04_gpus_of_the_systems(sharcnet):
    kinds = types(sharcnet.student, "sinfo -h -p others -o %G").split()
    assert sorted(kinds) == ["gpu:k20:1", "gpu:k80:8", "gpu:m2070:2", "gpu:p100:4"]


@pytest.fixture(scope="module")
def tiers(sharcnet):
    """What minke storage usage says of each tier."""
    said = types(sharcnet.student, "minke storage usage; shownicerquota.pl")
    usage, table = said.split("    Path", 1)
    found = {}
    for line in usage.splitlines():
        found.setdefault(line.split()[0] if line[0] != " " else list(found)[-1], []).append(line)
    return {name: "\n".join(lines) for name, lines in found.items()}, table


def test_3_05_home_of_10_gb(tiers):
    assert "of 9.31 GiB" in tiers[0]["home"] and "backed up" in tiers[0]["home"] and " 10.0G " in tiers[1]


def test_3_06_work_of_1_tb(tiers, sharcnet):
    assert "of  931 GiB" in tiers[0]["work"] and "goes" not in tiers[0]["work"] and " 1000.0G " in tiers[1]
    assert types(sharcnet.student, "cd $WORK && pwd") == f"{sharcnet.disks}/work/{sharcnet.student.name}\n"


def test_3_07_scratch_without_a_quota_for_two_months(tiers):
    assert "what nobody uses for 60 days goes" in tiers[0]["scratch"]
    assert re.search(r"space +[\d.]+ KiB *\n", tiers[0]["scratch"])


def test_3_08_a_directory_in_tmp_of_each_node(sharcnet):
    job = sharcnet.student.submit("touch /tmp/$USER/file && stat -c %U /tmp/$USER")
    assert sharcnet.student.output(job) == f"{sharcnet.student.name}\n"


def test_3_08_it_goes_after_two_days(sharcnet):
    user = sharcnet.contributor
    types(user, "touch /tmp/$USER/file")
    now = int(user.run("date", "+%s").stdout)
    for days, there in ((1, True), (3, False)):
        keep = sharcnet.root_run(sharcnet.program, "storage-keep", sharcnet.home, sharcnet.root["MINKE_CONFIG"], str(now + days * 86400))
        assert keep.returncode == 0, keep.stderr
        assert pathlib.Path("/tmp", user.name, "file").exists() == there


def test_3_10_over_quota_no_job_starts(sharcnet):
    """The limit on files is 60 here, not a million."""
    user = sharcnet.alice
    types(user, "touch $WORK/{1..80}")
    blocker = sharcnet.student.sbatch("-w", "gp1", "--exclusive", "-t", "60", "--wrap=sleep 600")
    sharcnet.student.wait_state(blocker, "RUNNING")
    held = submitted(types(user, "sqsub -r 1h -o log -q gpu -f threaded -n 32 --gpp=4 true"))
    reason = poll(lambda: (said := user.job(held)["Reason"]).startswith("DiskQuota") and said, what="the reason")
    assert "80_of_60_files" in reason or "81_of_60_files" in reason
    assert re.search(rf"^ +{held} +gpu +\*?[QH] ", types(user, "sqjobs"), re.M)
    types(user, "rm $WORK/*")
    types(sharcnet.student, "scancel --me")
    assert user.wait_end(held)["JobState"] == "COMPLETED"


def test_3_11_sqsub(sharcnet):
    job = submitted(types(sharcnet.student, "sqsub -r 10m -o sq.%J.log /bin/echo trained with -r 1"))
    assert sharcnet.student.output(job, "sq.{}.log") == "trained with -r 1\n"


def test_3_12_run_time_and_log_are_required(sharcnet):
    assert "a run time must be given" in types(sharcnet.student, "sqsub -o log true", check=1)
    assert "a log file must be given" in types(sharcnet.student, "sqsub -r 1h true", check=1)


def test_3_13_run_times(sharcnet):
    student = sharcnet.student
    for words, time in (("4h", "04:00:00"), ("90", "01:30:00")):
        assert student.job(submitted(types(student, f"sqsub -r {words} -o log true")))["TimeLimit"] == time
    assert "jobid" not in types(student, "sqsub -r 8d -o log true", check=1)


def test_3_14_gpu_jobs(sharcnet):
    student = sharcnet.student
    job = submitted(types(student, "sqsub -r 1h -q gpu -f threaded -n 4 --gpp=2 --mpp=2g -o gpu.log "
                                   "sh -c 'echo $(nproc) $CUDA_VISIBLE_DEVICES'"))
    assert re.fullmatch(r"\d+ \d,\d\n", student.output(job, "gpu.log"))
    fields = student.job(job)
    assert (fields["NumTasks"], fields["CPUs/Task"], fields["TresPerNode"]) == ("1", "4", "gres/gpu:2")
    job = submitted(types(student, "sqsub -r 1h -q gpu -f mpi -n 2 --gpp=1 --nompirun -o mpi.log true"))
    assert student.wait_end(job)["NumTasks"] == "2"


def test_3_15_sqjobs(sharcnet):
    student = sharcnet.student
    job = submitted(types(student, "sqsub -r 1h -o log sleep 600"))
    student.wait_state(job, "RUNNING")
    lines = types(student, "sqjobs").splitlines()
    assert lines[0] == " jobid queue state ncpus prio  nodes time command"
    assert any(line.split()[:4] == [str(job), "serial", "R", "1"] for line in lines)
    types(student, f"sqkill {job}")


def test_3_16_sqkill(sharcnet):
    student = sharcnet.student
    running = submitted(types(student, "sqsub -r 1h -o log sleep 600"))
    queued = submitted(types(student, f"sqsub -r 1h -o log -w {running} sleep 600"))
    assert types(student, f"sqkill {queued} {running}").count("is being terminated") == 2
    assert {student.wait_end(job)["JobState"] for job in (running, queued)} == {"CANCELLED"}


@pytest.mark.offline
def test_3_18_only_the_log_in_side_has_internet(sharcnet):
    said = sharcnet.student.output(sharcnet.student.submit("cut -d: -f1 /proc/net/dev | tail -n +3"))
    assert said.split() == ["lo"] and types(sharcnet.student, "grep -c : /proc/net/dev").strip() != "1"


def test_3_19_software_by_modules(sharcnet):
    assert "Python 3" in sharcnet.student.output(sharcnet.student.submit("module load python; python --version 2>&1"))


def test_3_20_ask_for_no_more_than_is_needed(sharcnet):
    student = sharcnet.student
    job = student.submit("true", "--mem=4G", "--cpus-per-task=4")
    student.wait_end(job)
    said = types(student, f"seff {job}")
    assert "CPU Efficiency:" in said and re.search(r"Memory Efficiency: .* of 4.00 GB", said)


def test_3_22_several_gpus_of_a_node(sharcnet):
    """The training itself is in test_example_jobs.py: here each process has its GPU."""
    job = sharcnet.student.submit("#!/bin/bash\nsrun --gpus-per-task=1 sh -c 'echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES'\n",
                                  "--ntasks-per-node=2", "--gres=gpu:k80:2")
    seen = dict(line.split() for line in sharcnet.student.output(job).splitlines())
    assert set(seen) == {"0", "1"} and len(set(seen.values())) == 2


MPI = "#!/bin/bash\n#SBATCH --nodes=2 --ntasks-per-node=2 -t 5\n{}mpirun sh -c 'echo $SLURMD_NODENAME $OMPI_COMM_WORLD_RANK'\n"


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
def test_3_23_processes_on_several_nodes(sharcnet):
    seen = sharcnet.student.output(sharcnet.student.submit(MPI.format(""))).splitlines()
    assert sorted(line.split()[1] for line in seen) == list("0123") and len({line.split()[0] for line in seen}) == 2


@pytest.mark.skipif(not shutil.which("mpirun"), reason="Open MPI is not installed")
def test_3_23_the_same_by_the_module(sharcnet):
    seen = sharcnet.student.output(sharcnet.student.submit(MPI.format("module load openmpi\n"))).splitlines()
    assert sorted(line.split()[1] for line in seen) == list("0123")


LUSTRE = pytest.mark.skipif(bool(shutil.which("lfs")), reason="there is a Lustre here")


@LUSTRE
def test_3_27_setstripe_answers_plainly_off_lustre(sharcnet):
    said = types(sharcnet.student, "lfs setstripe -s 1m -c 8 striped", check=None)
    assert "Lustre" in said and "not found" not in said


@LUSTRE
def test_3_29_getstripe_answers_plainly_off_lustre(sharcnet):
    said = types(sharcnet.student, "touch striped; lfs getstripe striped", check=None)
    assert "Lustre" in said and "not found" not in said


def test_3_28_copy(sharcnet):
    assert types(sharcnet.student, "echo data > target; cp target file; cat file; minke cp -q target $WORK/; cat $WORK/target; "
                                   "rm $WORK/target") == "data\ndata\n"


def test_3_31_small_files_go_in_a_tar(sharcnet):
    types(sharcnet.student, "mkdir -p small && touch small/{1..500} && tar -cf small.tar small && rm -r small")
    job = sharcnet.student.submit("tar -xf small.tar -C $SLURM_TMPDIR && ls $SLURM_TMPDIR/small | wc -l")
    assert sharcnet.student.output(job) == "500\n"


def test_3_32_copies_of_common_data_stay_on_the_node(sharcnet):
    """The second job's set is there: the same files, by another name."""
    poll((sharcnet.home / "tmp/.stage.sock").exists, what="the server of staged data")
    student = sharcnet.student
    types(student, "mkdir -p common && echo meow > common/1 && chmod -R a+rX . common")
    script = "#!/bin/bash\n#MINKE stage=common\ncat $SLURM_TMPDIR/common/1; stat -L -c %i $SLURM_TMPDIR/common/1\n"
    first, second = (student.output(student.submit(script)) for _ in range(2))
    assert first == second and first.startswith("meow\n")
