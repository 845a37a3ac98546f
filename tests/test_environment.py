"""What a job and its steps find in their environment, as the programs that run in them read it."""
import os
import pathlib
import shutil

import pytest

PRINT = "env -0 > environment"


def environment_of(cluster, *options, script=PRINT, name="environment") -> dict[str, str]:
    job = cluster.submit(script, *options)
    assert cluster.wait_end(job)["JobState"] == "COMPLETED", (cluster.work / f"slurm-{job}.out").read_text()
    pairs = (cluster.work / name).read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair) | {"id": str(job)}


def test_batch_script(cluster):
    found = environment_of(cluster, "--job-name=named", "--ntasks=2", "--nodes=2", "--ntasks-per-node=1",
                           "--cpus-per-task=2", "--mem=100M")
    job = found["id"]
    expected = {
        "SLURM_JOB_ID": job, "SLURM_JOBID": job, "SLURM_JOB_NAME": "named", "SLURM_JOB_NUM_NODES": "2",
        "SLURM_NNODES": "2", "SLURM_NTASKS": "2", "SLURM_NPROCS": "2", "SLURM_NTASKS_PER_NODE": "1",
        "SLURM_CPUS_PER_TASK": "2", "SLURM_JOB_CPUS_PER_NODE": "2(x2)", "SLURM_TASKS_PER_NODE": "1(x2)",
        "SLURM_JOB_NODELIST": "n[1-2]", "SLURM_NODELIST": "n[1-2]", "SLURM_SUBMIT_DIR": str(cluster.work),
        "SLURM_JOB_PARTITION": "main", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NODEID": "0",
        "SLURMD_NODENAME": "n1", "SLURM_CPUS_ON_NODE": "2", "SLURM_MEM_PER_NODE": "100", "SLURM_JOB_UID": str(os.getuid()),
        "SLURM_GTIDS": "0"}
    assert {name: found.get(name) for name in expected} == expected
    assert found["SLURM_CLUSTER_NAME"] and found["SLURM_SUBMIT_HOST"] and found["SLURM_JOB_USER"]
    assert "SLURM_RESTART_COUNT" not in found and "SLURM_ARRAY_JOB_ID" not in found


def test_single_task(cluster):
    """Lightning takes SLURM_NTASKS for a sign of several processes: without --ntasks it must not be there."""
    found = environment_of(cluster)
    assert "SLURM_NTASKS" not in found and "SLURM_CPUS_PER_TASK" not in found
    assert found["SLURM_TASKS_PER_NODE"] == "1" and found["SLURM_JOB_CPUS_PER_NODE"] == "1"


def test_array_task(cluster):
    found = environment_of(cluster, "--array=4-8:4", script='env -0 > "environment.$SLURM_ARRAY_TASK_ID"', name="environment.8")
    expected = {"SLURM_ARRAY_JOB_ID": found["id"], "SLURM_ARRAY_TASK_ID": "8", "SLURM_ARRAY_TASK_COUNT": "2",
                "SLURM_ARRAY_TASK_MIN": "4", "SLURM_ARRAY_TASK_MAX": "8", "SLURM_ARRAY_TASK_STEP": "4"}
    assert {name: found.get(name) for name in expected} == expected
    assert found["SLURM_JOB_ID"] == found["SLURM_JOBID"]


def test_step(cluster):
    found = environment_of(cluster, "--ntasks=3", "--nodes=2", script='srun sh -c \'env -0 > "environment.$SLURM_PROCID"\'',
                           name="environment.2")
    expected = {"SLURM_PROCID": "2", "SLURM_STEP_ID": "0", "SLURM_STEPID": "0", "SLURM_NTASKS": "3",
                "SLURM_STEP_NUM_TASKS": "3", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "n[1-2]",
                "SLURM_JOB_ID": found["id"]}
    assert {name: found.get(name) for name in expected} == expected
    pairs = [(cluster.work / f"environment.{rank}").read_text() for rank in range(3)]
    seen = [(value["SLURM_NODEID"], value["SLURM_LOCALID"], value["SLURMD_NODENAME"])
            for value in (dict(pair.split("=", 1) for pair in text.split("\0") if pair) for text in pairs)]
    assert sorted(seen) in ([("0", "0", "n1"), ("0", "1", "n1"), ("1", "0", "n2")],
                            [("0", "0", "n1"), ("1", "0", "n2"), ("1", "1", "n2")])


def test_mem_per_cpu(cluster):
    found = environment_of(cluster, "--mem-per-cpu=50M")
    assert found["SLURM_MEM_PER_CPU"] == "50" and "SLURM_MEM_PER_NODE" not in found


def test_restart_count(cluster):
    job = cluster.submit("if [ -z \"$SLURM_RESTART_COUNT\" ]; then touch first; sleep 600; fi; echo $SLURM_RESTART_COUNT",
                         "--requeue", "--output=out.txt")
    from cluster import poll
    poll(lambda: (cluster.work / "first").exists())
    cluster.run("scontrol", "requeue", job, check=0)
    if cluster.is_reference:
        pytest.skip("Slurm waits two minutes before it starts a requeued job again")
    assert cluster.output(job, "out.txt").endswith("1\n")


@pytest.mark.minke_only
def test_tmpdir_is_private_and_gone_afterwards(cluster):
    job = cluster.submit('echo "$SLURM_TMPDIR"; stat -c %a "$SLURM_TMPDIR"; echo data > "$SLURM_TMPDIR/file"; '
                         'srun cat "$SLURM_TMPDIR/file"')
    path, mode, data = cluster.output(job).splitlines()
    assert mode == "700" and data == "data"
    from cluster import poll
    poll(lambda: not pathlib.Path(path).exists(), what="the end of the job's directory")


@pytest.mark.minke_only
@pytest.mark.parametrize("ending", ["exit 3", "kill -9 $$", "cd \"$SLURM_TMPDIR\"; mkdir -p a/b; chmod 0 a; sleep 600"])
def test_tmpdir_is_gone_however_the_job_ends(cluster, ending):
    job = cluster.submit('echo "$SLURM_TMPDIR"; touch "$SLURM_TMPDIR/file"\n' + ending, "--output=out.txt")
    from cluster import poll
    path = poll(lambda: (cluster.work / "out.txt").exists() and (cluster.work / "out.txt").read_text().strip())
    if "sleep" in ending:
        cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    poll(lambda: not pathlib.Path(path).exists(), what="the end of the job's directory")


@pytest.mark.minke_only
def test_each_job_has_its_own_tmpdir(cluster):
    job = cluster.submit('echo "$SLURM_TMPDIR"; touch "$SLURM_TMPDIR/x" && ls "$SLURM_TMPDIR" | wc -l', "--array=0-3")
    cluster.wait_end(job)
    texts = [(cluster.work / f"slurm-{job}_{index}.out").read_text().split() for index in range(4)]
    assert len({path for path, _ in texts}) == 4 and {count for _, count in texts} == {"1"}


def test_a_job_that_a_job_submits_has_its_own_number(cluster):
    job = cluster.submit("sbatch --parsable --wait -o inner.out --wrap 'echo $SLURM_JOB_ID'", "--ntasks=1")
    assert cluster.output(job) == (cluster.work / "inner.out").read_text() != f"{job}\n"


def test_what_was_asked_for(cluster):
    found = environment_of(cluster, "-n4", "-N2", "-m", "plane=2", "-O", "--threads-per-core=1", "--profile=task",
                           "--gpu-bind=closest", "--gpu-freq=high", "--hint=nomultithread", "--mem-bind=local",
                           "--ntasks-per-core=1", "--ntasks-per-socket=4", "--open-mode=append")
    expected = {"SLURM_DISTRIBUTION": "plane", "SLURM_DIST_PLANESIZE": "2", "SLURM_OVERCOMMIT": "1",
                "SLURM_THREADS_PER_CORE": "1", "SLURM_GPU_BIND": "closest", "SLURM_GPU_FREQ": "high",
                "SLURM_MEM_BIND": "local", "SLURM_MEM_BIND_VERBOSE": "quiet", "SLURM_NTASKS_PER_CORE": "1",
                "SLURM_NTASKS_PER_SOCKET": "4", "SLURM_OPEN_MODE": "a"}
    assert {name: found.get(name) for name in expected} == expected
    assert found["SLURM_PROFILE"].lower() == "task"


def test_what_was_not_asked_for_is_not_there(cluster):
    found = environment_of(cluster)
    for name in ("DISTRIBUTION", "OVERCOMMIT", "THREADS_PER_CORE", "GPU_BIND", "HINT", "MEM_BIND", "NTASKS",
                 "OPEN_MODE", "PROFILE", "CPUS_PER_TASK", "TRES_PER_TASK", "JOB_LICENSES", "HET_SIZE"):
        assert f"SLURM_{name}" not in found


def test_cpus_per_task_goes_on_to_steps(cluster):
    """As in Slurm since 23.11."""
    job = cluster.submit("srun bash -c 'echo $SLURM_PROCID/$SLURM_CPUS_PER_TASK'", "-n2", "-c2")
    assert sorted(cluster.output(job).split()) == ["0/2", "1/2"]


def test_umask_variable(cluster):
    job = cluster.sbatch("--output=o", "--wrap", "umask; touch made", env={"SLURM_UMASK": "0027"})
    assert cluster.output(job, "o").strip() == "0027"
    assert (cluster.work / "made").stat().st_mode & 0o777 == 0o640
    assert (cluster.work / "o").stat().st_mode & 0o777 == 0o640


def test_get_user_env(cluster, tmp_path):
    (tmp_path / "plain").mkdir()
    job = cluster.sbatch("--output=o", "--wrap", "echo $HOME $FROM_SUBMITTER",
                         env={"FROM_SUBMITTER": "yes", "SBATCH_GET_USER_ENV": "5L"})
    assert cluster.output(job, "o").split()[-1] == "yes"


def test_components_of_a_heterogeneous_job(cluster):
    job = cluster.submit("#!/bin/bash\n#SBATCH -n1 --mem=100M\n#SBATCH hetjob\n#SBATCH -n2 --mem=50M\n" + PRINT)
    cluster.wait_end(job)
    pairs = (cluster.work / "environment").read_bytes().decode().split("\0")
    found = dict(pair.split("=", 1) for pair in pairs if pair)
    assert found["SLURM_HET_SIZE"] == "2"
    assert found["SLURM_JOB_ID_HET_GROUP_0"] == str(job) and found["SLURM_JOB_ID_HET_GROUP_1"] == str(job + 1)
    assert (found["SLURM_MEM_PER_NODE_HET_GROUP_0"], found["SLURM_MEM_PER_NODE_HET_GROUP_1"]) == ("100", "50")
    assert (found["SLURM_NTASKS_HET_GROUP_1"], found["SLURM_NTASKS"]) == ("2", "1")


def test_steps_run_in_the_component_that_is_named(cluster):
    text = ("#!/bin/bash\n#SBATCH -n1\n#SBATCH hetjob\n#SBATCH -n2\n"
            "srun bash -c 'echo first $SLURM_NTASKS'; srun --het-group=1 bash -c 'echo second $SLURM_NTASKS'")
    assert cluster.output(cluster.submit(text)).splitlines() == ["first 1", "second 2", "second 2"]


def test_the_directory_of_the_submission_is_not_that_of_the_job(cluster):
    (cluster.work / "below").mkdir()
    job = cluster.submit("echo $PWD $SLURM_SUBMIT_DIR; srun -D / sh -c 'echo $PWD $SLURM_SUBMIT_DIR'", "--chdir=below",
                         f"--output={cluster.work}/out")
    assert cluster.output(job, "out").splitlines() == [f"{cluster.work}/below {cluster.work}", f"/ {cluster.work}"]
    for command in ("srun", "salloc"):
        done = cluster.run(command, "-Q", "-D", "below", "sh", "-c", "echo $(pwd) $SLURM_SUBMIT_DIR", check=0)
        assert done.stdout == f"{cluster.work}/below {cluster.work}\n"


def test_a_job_submitted_by_a_job_has_nothing_of_it(cluster):
    told = "echo ${SLURM_CPUS_PER_TASK:-none} ${SLURM_GPUS_ON_NODE:-none} ${SLURM_JOB_GPUS:-none}"
    stale = {"SLURM_CPUS_PER_TASK": "7", "SLURM_GPUS_ON_NODE": "7", "SLURM_JOB_GPUS": "7"}
    assert cluster.output(cluster.submit(told, env=stale)) == "1 none none\n"
    assert cluster.output(cluster.submit(told, "-c2", env=stale)) == "2 none none\n"
    assert cluster.output(cluster.submit(told)) == "none none none\n"


def test_salloc_goes_to_its_directory_or_ends(cluster):
    refused = cluster.run("salloc", "-D", "/nosuch", "true", check=1)
    assert refused.stderr == "salloc: error: chdir(/nosuch): No such file or directory\n"
    assert cluster.queue("--states=all") == []


def test_the_asked_frequency_is_told_in_slurms_words(cluster):
    job = cluster.submit("echo $SLURM_CPU_FREQ_REQ; srun printenv SLURM_CPU_FREQ_REQ", "--cpu-freq=low-HIGHM1:ondemand")
    assert cluster.output(job) == "Low-Highm1:OnDemand\n" * 2


@pytest.fixture
def home(tmp_path):
    """A user's directory whose profile, like many a cluster's, sets PATH anew, with a real Slurm's commands in front."""
    slurm = tmp_path / "user/slurm"
    slurm.mkdir(parents=True)
    for name in ("sbatch", "squeue", "scontrol"):
        (slurm / name).write_text("#!/bin/sh\necho the real one\n")
        (slurm / name).chmod(0o755)
    for name in (".bash_profile", ".profile", ".zprofile"):
        (tmp_path / "user" / name).write_text(
            f"export PATH={slurm}:/usr/local/bin:/usr/bin:/bin MINKE_HOME=/nonexistent BASH_ENV=/nonexistent PROFILE={name}\n")
    return tmp_path / "user"


@pytest.mark.minke_only
@pytest.mark.parametrize("line,profile", [
    ("#!/bin/bash -l", ".bash_profile"), ("#!/bin/bash --login", ".bash_profile"), ("#! /bin/bash -le", ".bash_profile"),
    ("#!/usr/bin/env -S bash -l", ".bash_profile"), ("#!/bin/sh -l", ".profile"), ("#!/usr/bin/zsh -l", ".zprofile")])
def test_login_shells_keep_the_clusters_commands(cluster, home, line, profile):
    """As MyQueue and Cylc begin their scripts: the profile is read, and sbatch is still the job's cluster's."""
    if "zsh" in line and not os.path.exists("/usr/bin/zsh"):
        pytest.skip("there is no zsh")
    script = cluster.script(line + """
        echo "$PROFILE $0 $# $1|$2"
        command -v sbatch; command -v squeue
        squeue -h -j $SLURM_JOB_ID -o %i
        sbatch --parsable -o /dev/null --wrap true
        while read -r word; do echo "read $word"; done <<< "x" 2> /dev/null || echo read x
        sh -c 'command -v scontrol'; trap 'echo trapped' EXIT; (exit 3); exit 7""".replace("\n        ", "\n"))
    if "-le" in line:
        script.write_text(script.read_text().replace("(exit 3); ", "").replace("exit 7", "false; echo never"))
    if "sh -l" in line and "bash" not in line and "zsh" not in line:
        script.write_text("\n".join(one if "<<<" not in one else "echo read x" for one in script.read_text().split("\n")))
    job = cluster.sbatch(script, "a b", "c", env={"HOME": str(home), "ZDOTDIR": None})
    lines = cluster.output(job).splitlines()
    commands = cluster.home / "bin"
    assert lines[0].startswith(f"{profile} /") and lines[0].endswith("slurm_script 2 a b|c"), lines
    assert lines[1:] == [f"{commands}/sbatch", f"{commands}/squeue", str(job), str(job + 1), "read x", f"{commands}/scontrol",
                         "trapped"], lines
    assert cluster.job(job)["ExitCode"] == ("1:0" if "-le" in line else "7:0")


@pytest.mark.minke_only
def test_login_shells_inside_a_job_keep_the_clusters_commands(cluster, home):
    """`bash -lc sbatch`, and scripts of others that are login shells; what the user has bash read himself is left to him."""
    profile = home / ".bash_profile"
    profile.write_text(profile.read_text().replace(" BASH_ENV=/nonexistent", ""))
    inner = cluster.script("#!/bin/bash -l\ncommand -v squeue; sh -c 'command -v scontrol'\n", "inner.sh")
    inner.chmod(0o755)
    job = cluster.submit("bash -lc 'echo $PROFILE; command -v sbatch; echo $MINKE_HOME'; ./inner.sh; bash -c 'command -v squeue'\n"
                         "PATH=$HOME/slurm:$PATH bash -c 'command -v squeue'\n"
                         f"srun --ntasks=1 bash -lc 'command -v sinfo sbatch'; BASH_ENV={home}/own bash -lc 'command -v sbatch'",
                         env={"HOME": str(home), "MODULEPATH_ROOT": "/nonexistent", "BASH_ENV": None})  # or Lmod's profile sets BASH_ENV
    ours, real = cluster.home / "bin", home / "slurm"
    assert cluster.output(job).splitlines() == [
        ".bash_profile", f"{ours}/sbatch", str(cluster.home), f"{ours}/squeue", f"{ours}/scontrol", f"{ours}/squeue",
        f"{real}/squeue", f"{ours}/sinfo", f"{ours}/sbatch", f"{real}/sbatch"]


CYLC = """#!/bin/bash -l
# ++++ THIS IS A CYLC JOB SCRIPT ++++
export CYLC_TASK_JOB=1/foo/01
if [[ $- == *i* ]]; then echo interactive; fi
cylc__job__main() { set -euo pipefail; trap 'echo "failed/ERR" >&2' ERR; sacct -n -X -j "$SLURM_JOB_ID" -o jobid; echo succeeded; }
. <(echo 'sourced=yes')
cylc__job__main; echo "${sourced} ${BASH_SOURCE[0]##*/} ${0##*/}"
[[ ${BASH_SOURCE[0]} == "$0" ]] && echo main
"""


@pytest.mark.minke_only
def test_a_script_as_cylc_writes_it(cluster, home):
    job = cluster.submit(CYLC, env={"HOME": str(home)})
    assert [line.strip() for line in cluster.output(job).splitlines()] == \
        [str(job), "succeeded", "yes slurm_script slurm_script", "main"]


@pytest.mark.minke_only
def test_the_commands_are_installed_for_every_shell(cluster, home):
    """Outside of jobs behind what is there, in jobs in front; `ssh host sbatch` finds them, too; and all of it can go."""
    bashrc = home / ".bashrc"
    bashrc.write_text("case $- in *i*) ;; *) return ;; esac\n")
    (home / ".bash_profile").write_text("PATH=/usr/local/bin:/usr/bin:/bin\n")
    before = {path: path.read_text() for path in home.glob(".*") if path.is_file()}
    environment = {"HOME": str(home), "MINKE_HOME": None, "PATH": "/usr/local/bin:/usr/bin:/bin", "XDG_STATE_HOME": None}
    minke = cluster.home / "bin/minke"

    def bash(*options, **more):
        return cluster.run("bash", *options, "-c", "command -v sbatch squeue; echo $MINKE_HOME", env=environment | more).stdout

    def install(*options):
        return cluster.run("env", "MINKE_HOME=" + str(cluster.home), minke, "env", *options, env=environment, check=0).stdout
    ours = f"{cluster.home}/bin/sbatch\n{cluster.home}/bin/squeue\n{cluster.home}\n"
    real = shutil.which("sbatch", path="/usr/local/bin:/usr/bin:/bin")  # the Slurm that the tests compare with
    outside = f"{real}\n{real.replace('sbatch', 'squeue')}\n{cluster.home}\n" if real else ours
    assert bash("-l") != outside
    assert str(bashrc) in install("--install")
    assert install("--install") == "there already\n"
    ssh = {"SSH_CLIENT": "192.0.2.1 1 22", "SHLVL": "0"}  # by which bash knows that it is sshd's
    assert bash("-l") == outside and bash(**ssh) == outside
    slurm = str(home / "slurm")
    environment["PATH"] = f"{slurm}:/usr/bin:/bin"
    assert bash(**ssh) == f"{slurm}/sbatch\n{slurm}/squeue\n{cluster.home}\n"
    (home / ".bash_profile").write_text(f"PATH={slurm}:/usr/bin:/bin\n" + (home / ".bash_profile").read_text())
    job = cluster.sbatch("--wrap", "bash -lc 'command -v sbatch squeue; echo $MINKE_HOME'", env={"HOME": str(home)})
    assert cluster.output(job) == ours
    (home / ".bash_profile").write_text("\n".join((home / ".bash_profile").read_text().split("\n")[1:]))
    install("--uninstall")
    assert {path: path.read_text() for path in home.glob(".*") if path.is_file()} == before
    assert install("--uninstall") == "nothing was installed\n"
