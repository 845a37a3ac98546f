"""srun and its kin at their edges: what Slurm's own programs say and do there, as scripts have come to rely on."""
import os
import re
import signal

import pytest

from cluster import Cluster, Machine, poll
from processes import name_and_state


def test_labels_in_output_files(cluster):
    cluster.run("srun", "-n2", "-l", "-o", "each.%t", "echo", "hi", check=0)
    assert [(cluster.work / f"each.{task}").read_text() for task in (0, 1)] == ["0: hi\n", "1: hi\n"]
    cluster.run("srun", "-n2", "-l", "-o", "shared", "sh", "-c", "echo out; echo err >&2", check=0)
    assert sorted((cluster.work / "shared").read_text().splitlines()) == ["0: err", "0: out", "1: err", "1: out"]
    again = cluster.run("srun", "-l", "-o", "/nosuch/directory/file", "true")
    assert again.returncode != 0 and "srun: error: Could not open stdout file: No such file or directory" in again.stderr


@pytest.mark.minke_only
def test_components_share_options_and_files(cluster):
    done = cluster.run("srun", "-n1", "-l", "-o", "both", "echo", "one", ":", "-n1", "echo", "two", check=0)
    assert sorted((cluster.work / "both").read_text().splitlines()) == ["0: one", "1: two"]
    [job] = re.findall(r"srun: job (\d+) queued and waiting for resources\n", done.stderr)
    assert f"srun: job {job} has been allocated resources\n" in done.stderr


@pytest.mark.machine(nodes=2, cpus=4)
def test_components_within_a_plain_job(cluster):
    def run(*line):
        return cluster.run("salloc", "-Q", "-N2", "srun", "-l", *line)
    assert sorted(run("echo", "a", ":", "echo", "b").stdout.splitlines()) == ["0: a", "1: b"]
    name = ("printenv", "SLURMD_NODENAME")
    assert sorted(run("-w", "n2", *name, ":", *name).stdout.splitlines()) == ["0: n2", "1: n1"]
    assert "Allocation failure of 2 nodes: job size of 2, already allocated 1 nodes to previous components." in (
        run("-n1", "true", ":", "-n2", "true").stderr)
    assert "Requested nodelist n1 overlaps with excluded n1." in run("-w", "n1", "true", ":", "-w", "n1", "true").stderr


@pytest.mark.machine(nodes=2, cpus=4)
def test_as_many_tasks_as_the_cpus_serve(cluster):
    def tasks(*command):
        return len(cluster.run(*command, "printenv", "SLURM_PROCID", check=0).stdout.split())
    assert tasks("srun", "-Q", "-N1", "--exclusive", "-c2") == 2
    assert tasks("srun", "-Q", "-N2", "--exclusive", "-c2") == 4
    assert tasks("srun", "-Q", "-N1", "-c2") == 1
    assert tasks("salloc", "-Q", "-N1", "-c4", "srun", "-c1") == 4
    assert tasks("salloc", "-Q", "-N1", "-c4", "srun") == 1
    assert tasks("salloc", "-Q", "-N1", "-n1", "-c4", "srun", "-c2") == 1


@pytest.mark.machine(nodes=2, cpus=4)
def test_pack_and_nopack(cluster):
    def nodes(*options):
        done = cluster.run("srun", "-O", "-N2", "--exclusive", "-l", *options, "printenv", "SLURM_NODEID", check=0)
        return [line.split()[1] for line in sorted(done.stdout.splitlines())]
    assert nodes("-n4", "-m", "pack") == ["0", "0", "0", "1"]
    assert nodes("-n6", "-m", "block,pack") == ["0", "0", "0", "0", "1", "1"]
    assert nodes("-n4", "-m", "nopack") == nodes("-n4", "-m", "block") == ["0", "0", "1", "1"]


@pytest.mark.parametrize("asked, told", [
    ("*", "block"), ("*:*", "block:cyclic"), ("*:*:*", "block:cyclic:cyclic"), ("*:block:*", "block:block:block"),
    ("*,pack", "block,pack"), ("cyclic,NoPack", "cyclic,nopack")])
def test_distribution_in_full(cluster, asked, told):
    done = cluster.run("srun", "-n1", "-m", asked, "printenv", "SLURM_DISTRIBUTION", check=0)
    assert done.stdout == told + "\n"


def test_the_default_distribution_is_told_within_a_job_only(cluster):
    assert cluster.run("srun", "-n1", "printenv", "SLURM_DISTRIBUTION").stdout == ""
    assert cluster.run("salloc", "-Q", "-n2", "srun", "printenv", "SLURM_DISTRIBUTION", check=0).stdout == "block\n" * 2
    assert cluster.run("salloc", "-Q", "-n1", "srun", "printenv", "SLURM_DISTRIBUTION", check=0).stdout == "cyclic\n"


@pytest.mark.machine(nodes=3, cpus=2)
def test_host_file_alone_places_the_tasks(cluster):
    (cluster.work / "hosts").write_text("n3\nn1\nn2\n")
    done = cluster.run("salloc", "-Q", "-N3", "srun", "-l", "-O", "printenv", "SLURMD_NODENAME",
                       env={"SLURM_HOSTFILE": cluster.work / "hosts"}, check=0)
    assert sorted(done.stdout.splitlines()) == ["0: n3", "1: n1", "2: n2"]


def test_bcast_runs_a_copy(cluster):
    script = cluster.script("echo $0", "original")
    script.chmod(0o755)
    copy = cluster.work / "copy"
    for _ in range(2):  # it replaces what is there
        assert cluster.run("srun", f"--bcast={copy}", script, check=0).stdout == f"{copy}\n"
    assert copy.read_text() == script.read_text() and os.access(copy, os.X_OK)


@pytest.mark.minke_only
def test_debugger_test_tells_and_stops_the_tasks(cluster):
    process = cluster.start("srun", "-n2", "--overcommit", "--debugger-test", "touch", "ran")
    lines = [process.stderr.readline() for _ in range(2)]
    found = [re.fullmatch(rf"srun: task:{rank}, host:n1, pid:(\d+), executable:touch\n", line)
             for rank, line in enumerate(lines)]
    assert all(found), lines
    for one in found:
        poll(lambda: name_and_state(int(one[1]))[1] == "T", 10, "a stopped task")
    process.terminate()
    assert process.wait(120) == 137 and not (cluster.work / "ran").exists()


def test_messages_of_the_node(cluster):
    told = cluster.run("srun", "--slurmd-debug=debug2", "true").stderr
    assert "slurmstepd: debug:  task 0 is process " in told and "slurmstepd: debug2: " in told
    assert "slurmstepd" not in cluster.run("srun", "--slurmd-debug=info", "true").stderr
    told = cluster.run("srun", "--slurmd-debug=verbose", "sh", "-c", "exit 3").stderr
    told = re.sub(r"slurmstepd-n\d:", "slurmstepd:", told)
    for line in (r"slurmstepd: debug levels are stderr='verbose', logfile='info', syslog='quiet'",
                 r"slurmstepd: starting 1 tasks", r"slurmstepd: task 0 \(\d+\) started \S+",
                 r"slurmstepd: task 0 \(\d+\) exited with exit code 3\."):
        assert re.search(f"^{line}$", told, re.MULTILINE), told


def test_tasks_know_a_port_of_sruns(cluster):
    done = cluster.run("srun", "sh", "-c", "echo $SLURM_SRUN_COMM_PORT $SLURM_STEP_LAUNCHER_PORT", check=0)
    first, second = map(int, done.stdout.split())
    assert 0 < first < 65536 and first == second


@pytest.mark.parametrize("end, code, lines", [
    ("kill -9 $$", 137, ["task 0: Killed", "Force Terminated StepId="]),
    ("kill -TERM $$", 143, ["task 0: Terminated", "Force Terminated StepId="])])
def test_a_step_that_was_killed(cluster, end, code, lines):
    done = cluster.run("srun", "sh", "-c", end)
    assert done.returncode == code
    assert all(line in told for line, told in zip(lines, done.stderr.splitlines(), strict=True))


@pytest.mark.minke_only  # on Slurm the order of the lines is not always the same
@pytest.mark.machine(nodes=1, cpus=2)
def test_what_ends_a_step_before_its_tasks(cluster):
    done = cluster.run("srun", "-n2", "-K", "sh", "-c", "test $SLURM_PROCID = 0 && exec sleep 600; exit 3")
    assert done.returncode == 143
    order = ["task 1: Exited with exit code 3", "srun: Terminating StepId=", "*** STEP", "task 0: Terminated",
             "Force Terminated StepId="]
    assert all(line in told for line, told in zip(order, done.stderr.splitlines(), strict=True)), done.stderr
    done = cluster.run("srun", "-n2", "-W1", "sh", "-c", "test $SLURM_PROCID = 0 || exec sleep 600")
    assert done.returncode == 137
    order = ["First task exited 1s ago", "task 1: running", "task 0: exited", "srun: Terminating StepId=", "*** STEP",
             "Job step aborted: Waiting up to", "task 1: Killed"]
    assert all(line in told for line, told in zip(order, done.stderr.splitlines(), strict=True)), done.stderr


def test_scancel_of_a_step_kills_it(cluster):
    job = cluster.submit("srun sh -c \"trap 'echo never' TERM; touch up; while :; do sleep 0.1; done\"; echo status $?")
    poll((cluster.work / "up").exists)
    cluster.run("scancel", f"{job}.0", check=0)
    text = cluster.output(job)
    assert "task 0: Killed" in text and "status 137" in text and "never" not in text


def test_two_interrupts_at_once_end_a_step_that_gets_them_itself(cluster):
    process = cluster.start("srun", "-X", "sh", "-c", "trap 'touch got' INT; touch up; while :; do sleep 0.1; done")
    poll((cluster.work / "up").exists)
    process.send_signal(signal.SIGINT)
    poll((cluster.work / "got").exists)
    # A busy machine may deliver two as one.
    poll(lambda: process.poll() is not None or process.send_signal(signal.SIGINT), what="the end of an interrupted step")
    told = process.communicate(timeout=120)[1]
    assert process.returncode != 0 and "forcing job termination" in told


def test_epilog_that_fails_is_told(cluster):
    epilog = cluster.script("exit 3", "epilog")
    epilog.chmod(0o755)
    done = cluster.run("srun", f"--task-epilog={epilog}", "true")
    assert done.returncode == 0 and "error: TaskEpilog failed status=768" in done.stderr


@pytest.mark.parametrize("command, words", [
    (("sbatch", "-t5", "--time-min=10", "--wrap=true"), "Batch job submission failed: Invalid time-min specification"),
    (("sbatch", "--deadline=now+1hour", "--time-min=120", "--wrap=true"), "Invalid time-min specification"),
    (("srun", "-t5", "--time-min=10", "true"), "Invalid time-min specification"),
    (("sbatch", "-p", "nosuch", "--wrap=true"), "error: invalid partition specified: nosuch\n"),
    (("srun", "-p", "nosuch", "true"), "srun: error: Unable to allocate resources: Invalid partition name specified\n"),
    (("salloc", "-p", "nosuch", "true"), "salloc: error: invalid partition specified: nosuch\n"),
    (("sbatch", "-S1", "--thread-spec=1", "--wrap=true"), "sbatch: fatal: -S/--core-spec and "),
    (("salloc", "-H", "-I", "true"), "salloc: error: Job submit/allocate failed: Job dependency problem\n"),
    (("salloc", "-H", "-I3", "true"), "salloc: error: Unable to allocate resources: Connection timed out\n")])
def test_refused_in_slurms_words(cluster, command, words):
    done = cluster.run(*command)
    assert done.returncode == 1 and words.removesuffix("\n") in done.stderr


@pytest.mark.minke_only  # Slurm refuses it where EnforcePartLimits is set
def test_more_nodes_than_anybody_has(cluster):
    done = cluster.run("sbatch", "-N1000000k", "--wrap=true")
    assert done.returncode == 1 and "More processors requested than permitted" in done.stderr


@pytest.fixture(scope="module")
def older(tmp_path_factory):
    """A cluster that speaks an older release."""
    one = Cluster(tmp_path_factory.mktemp("older"), Machine(extra='[compatibility]\nslurm = "22.05"\n'))
    yield one
    one.close()


@pytest.mark.minke_only
def test_deadline_that_the_limit_does_not_keep(cluster, older):
    """Refused; by older releases accepted, and over."""
    words = ("--deadline=now+1hour", "-t120", "--wrap=true")
    refused = cluster.run("sbatch", *words)
    assert refused.returncode == 1 and "the deadline comes before the end of the time limit" in refused.stderr
    older.wait_state(older.sbatch(*words), "DEADLINE", seconds=90)


@pytest.mark.minke_only  # Slurm has removed it after a minute at most
def test_salloc_whose_job_is_removed_while_it_waits(older):
    done = older.run("salloc", "--deadline=now+1hour", "-t120", "true")
    assert done.returncode == 1 and "salloc: Job has been cancelled\n" in done.stderr
    assert done.stderr.endswith("salloc: error: Job submit/allocate failed: Job/step already completing or completed\n")


def test_burst_buffer_file_begins_the_script(cluster):
    (cluster.work / "before").write_text("echo before\n")
    job = cluster.submit("echo after", "--bbf=before")
    assert cluster.output(job) == "before\nafter\n"


@pytest.mark.parametrize("words", ["noon-tomorrow", "tomorrownoon", "12:00-tomorrow"])
def test_day_and_time_in_one_word(cluster, words):
    job = cluster.sbatch("-H", f"--begin={words}", "--wrap=true")
    assert cluster.job(job)["EligibleTime"].endswith("T12:00:00")


@pytest.mark.minke_only  # the reference has no GPUs
@pytest.mark.machine(nodes=2, cpus=4, gpus="a100:1")
def test_no_more_tasks_than_a_nodes_gpus_serve(cluster):
    done = cluster.run("salloc", "-Q", "-N2", "--ntasks-per-gpu=2", "--gres=gpu:1", "printenv", "SLURM_TASKS_PER_NODE")
    assert done.stdout == "2(x2)\n"


def test_interactive_scancel_of_what_is_over(cluster):
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    assert "Cancel job_id=" in cluster.run("scancel", "-i", job, input="n\n").stdout
    assert cluster.state(job) == "RUNNING"
    cluster.run("scancel", "-i", job, input="y\n", check=0)
    cluster.wait_state(job, "CANCELLED")
    assert f"Kill job error on job id {job}" in cluster.run("scancel", "-i", job, input="y\n").stderr


def test_components_of_an_allocation_by_their_old_names(cluster):
    done = cluster.run("salloc", "-Q", "-N1", ":", "-N1", "env", check=0)
    for name in ("JOBID", "NNODES", "NODELIST"):
        assert f"\nSLURM_{name}_HET_GROUP_1=" in done.stdout


@pytest.mark.minke_only  # Debian's Slurm has no NUMA support
def test_memory_is_bound_and_told(cluster):
    done = cluster.run("srun", "--mem-bind=verbose,map_mem:0", "grep", "Mems_allowed_list", "/proc/self/status", check=0)
    assert re.fullmatch(r"mem-bind=MAP  - n1, task  0  0 \[\d+\]: mask 0x1 set\n", done.stderr)
    assert cluster.run("srun", "--mem-bind=local", "true", check=0).stderr == ""
    policy = cluster.run("srun", "--mem-bind=map_mem:0", "cat", "/proc/self/numa_maps", check=0).stdout
    assert " bind:0 " in policy
    missing = cluster.run("srun", "--mem-bind=v,map_mem:999", "true", check=0).stderr
    assert "set_mempolicy(0x8" in missing and not missing.endswith(" set\n")
    for given, says in {"mask_mem": 'missing list for "--mem-bind=mask_mem:<list>"',
                        "local,nosuch": 'unrecognized --mem-bind argument "nosuch"',
                        "map_mem:x": "Failed to validate number: x, the offending character is x"}.items():
        assert f"srun: error: {says}\n" in cluster.run("srun", f"--mem-bind={given}", "true").stderr


@pytest.mark.minke_only  # the reference has no GPUs
@pytest.mark.machine(nodes=1, cpus=4, gpus="a100:2")
def test_binding_to_gpus_is_told(cluster):
    def told(*options):
        done = cluster.run("srun", "-n2", "-l", *options, "printenv", "CUDA_VISIBLE_DEVICES", "MINKE_GPU_BIND")
        return sorted(done.stderr.splitlines()), sorted(done.stdout.splitlines())
    line = "{}: gpu-bind: usable_gres=0x{}; bit_alloc=0x3; local_inx=0; global_list={}; local_list={}"
    lines, devices = told("--gpus=2", "--gpu-bind=verbose,single:1")
    assert [text for text in lines if "gpu-bind" in text] == [line.format(0, 1, 0, 0), line.format(1, 2, 1, 1)]
    assert devices == ["0: 0", "1: 1"]
    lines, _ = told("--gpus=2", "--gpu-bind=verbose,map_gpu:1,0")
    assert [text for text in lines if "gpu-bind" in text] == [line.format(0, 2, 1, 1), line.format(1, 1, 0, 0)]
    assert not [text for text in told("--gpus=2", "--gpu-bind=verbose,none")[0] if "gpu-bind" in text]
    # A whole node's GPUs count for memory by GPU.
    shown = cluster.run("srun", "--exclusive", "--gres=gpu:1", "--mem-per-gpu=100", "scontrol", "show", "job", check=0)
    assert "mem=200M" in shown.stdout
