"""sbatch: every way to hand in a job, and what becomes of its options."""
import getpass
import os
import re
import socket

import pytest

from cluster import poll


@pytest.mark.minke_only  # Slurm is slower than that
@pytest.mark.parametrize("options", [[], ["--no-requeue"], ["--array=0-1"]], ids=["job", "no-requeue", "array"])
def test_directory_of_the_output_made_after_the_submission(cluster, options):
    """submitit makes it once it knows the job's number."""
    array = bool(options) and options[0].startswith("--array")
    job = cluster.sbatch(*options, "--output=%A/out.%a" if array else "--output=%j/out", "--wrap", "echo there")
    (cluster.work / str(job)).mkdir()
    cluster.wait_end(job)
    outputs = [path.read_text() for path in (cluster.work / str(job)).iterdir()]
    assert outputs == ["there\n"] * (2 if array else 1)


def test_prints_the_job_number_as_programs_parse_it(cluster):
    done = cluster.run("sbatch", cluster.script("true"), check=0)
    assert re.fullmatch(r"Submitted batch job \d+\n", done.stdout)
    assert done.stderr == ""
    assert re.fullmatch(r"\d+\n", cluster.run("sbatch", "--parsable", cluster.script("true"), check=0).stdout)


def test_script_gets_its_arguments(cluster):
    job = cluster.sbatch(cluster.script('printf "%s|" "$@"'), "one", "two three", "--four", "*")
    assert cluster.output(job) == "one|two three|--four|*|"


def test_options_after_the_script_are_its_arguments(cluster):
    job = cluster.sbatch("--job-name=mine", cluster.script("echo $SLURM_JOB_NAME $1"), "--job-name=other")
    assert cluster.output(job) == "mine --job-name=other\n"


def test_script_on_stdin(cluster):
    job = cluster.sbatch(input="#!/bin/sh\n#SBATCH --job-name=fromstdin\necho $SLURM_JOB_NAME\n")
    assert cluster.output(job) == "fromstdin\n"


def test_script_on_stdin_is_named_sbatch(cluster):
    job = cluster.sbatch(input="#!/bin/sh\ntrue\n")
    assert cluster.job(job)["JobName"] == "sbatch"


def test_wrap(cluster):
    job = cluster.sbatch("--wrap", "echo $0 wrapped; echo \"$SLURM_JOB_NAME\"")
    text = cluster.output(job)
    assert "wrapped" in text and text.endswith("wrap\n")


def test_script_is_named_after_its_file(cluster):
    job = cluster.sbatch("--hold", cluster.script("true", "my job.sh"))
    assert cluster.job(job)["JobName"] == "my job.sh"


def test_script_is_taken_as_it_was_at_submission(cluster):
    script = cluster.script("echo before")
    job = cluster.sbatch("--hold", script)
    script.write_text("#!/bin/bash\necho after\n")
    cluster.run("scontrol", "release", job, check=0)
    assert cluster.output(job) == "before\n"


def test_another_interpreter(cluster):
    job = cluster.sbatch(cluster.script("#!/usr/bin/python3\nimport sys\nprint('python', len(sys.argv))\n"), "x")
    assert cluster.output(job) == "python 2\n"


def test_directives(cluster):
    job = cluster.submit("#SBATCH --job-name=named -c 2\n#SBATCH --time=00:07:00 # a remark\n#SBATCH --comment='two words'\n"
                         "\n# a comment\n#SBATCH --mem=100M\necho done\n", "--hold")
    fields = cluster.job(job)
    assert fields["JobName"] == "named"
    assert fields["TimeLimit"] == "00:07:00"
    assert fields["Comment"] == "two words"
    assert fields["CPUs/Task"] == "2"


def test_directives_end_where_the_script_begins(cluster):
    job = cluster.submit("#SBATCH --job-name=before\necho\n#SBATCH --job-name=after\n", "--hold")
    assert cluster.job(job)["JobName"] == "before"


def test_command_line_beats_environment_beats_directive(cluster):
    script = cluster.script("#SBATCH --job-name=script\n#SBATCH --time=1\n#SBATCH --comment=script\ntrue\n")
    job = cluster.sbatch("--hold", "--job-name=line", script,
                         env={"SBATCH_JOB_NAME": "environment", "SBATCH_TIMELIMIT": "2"})
    fields = cluster.job(job)
    assert (fields["JobName"], fields["TimeLimit"], fields["Comment"]) == ("line", "00:02:00", "script")


def test_abbreviated_options(cluster):
    job = cluster.sbatch("--hold", "--job-n", "short", "--comm=3", cluster.script("true"))
    assert cluster.job(job)["JobName"] == "short" and cluster.job(job)["Comment"] == "3"


def test_ambiguous_abbreviations_are_refused(cluster):
    done = cluster.run("sbatch", "--tim=3", cluster.script("true"))
    assert done.returncode == 255
    assert done.stderr.startswith("sbatch: option '--tim=3' is ambiguous; possibilities: '--time' '--time-min'")


@pytest.mark.parametrize("given, shown", [
    ("5", "00:05:00"), ("1:30", "00:02:00"), ("01:02:00", "01:02:00"), ("2-0", "2-00:00:00"), ("1-2:3", "1-02:03:00"),
    ("1-2:3:0", "1-02:03:00"), ("UNLIMITED", "UNLIMITED"), ("infinite", "UNLIMITED"), ("0", "UNLIMITED")])
def test_time_forms(cluster, given, shown):
    job = cluster.sbatch("--hold", f"--time={given}", cluster.script("true"))
    assert cluster.job(job)["TimeLimit"] == shown


@pytest.mark.parametrize("given, shown", [("100", "100M"), ("100M", "100M"), ("1G", "1G"), ("2048K", "2M"), ("1500m", "1500M")])
def test_memory_forms(cluster, given, shown):
    job = cluster.sbatch("--hold", f"--mem={given}", cluster.script("true"))
    assert cluster.job(job)["MinMemoryNode"] == shown


def test_chdir(cluster):
    (cluster.work / "elsewhere").mkdir()
    job = cluster.sbatch("--chdir=elsewhere", cluster.script("pwd"))
    assert cluster.output(job, "elsewhere/slurm-{}.out") == f"{cluster.work}/elsewhere\n"


def test_runs_where_it_was_submitted(cluster):
    (cluster.work / "below").mkdir()
    job = cluster.sbatch(cluster.script("pwd; echo $SLURM_SUBMIT_DIR"), cwd=cluster.work / "below")
    assert cluster.output(job, "below/slurm-{}.out") == f"{cluster.work}/below\n" * 2


def test_output_patterns(cluster):
    name = "o_%j_%4j_%x_%u_%%_%n_%t_%N.txt"
    job = cluster.sbatch(f"--output={name}", "--job-name=named", cluster.script("echo here"))
    node = cluster.wait_end(job)["NodeList"]
    found = next(cluster.work.glob("o_*.txt")).name
    # %N of a batch script is the host's name on some versions, the node's on others.
    assert re.fullmatch(rf"o_{job}_{job:04}_named_{getpass.getuser()}_%_0_0_({node}|{socket.gethostname()})\.txt", found)


def test_array_output_patterns(cluster):
    job = cluster.sbatch("--array=3,5", "--output=a_%A_%a_%2a.txt", cluster.script("echo $SLURM_ARRAY_TASK_ID"))
    cluster.wait_end(job)
    assert (cluster.work / f"a_{job}_3_03.txt").read_text() == "3\n"
    assert (cluster.work / f"a_{job}_5_05.txt").read_text() == "5\n"


def test_error_file_apart(cluster):
    job = cluster.sbatch("--output=out.txt", "--error=err.txt", cluster.script("echo out; echo err >&2"))
    assert cluster.output(job, "out.txt") == "out\n"
    assert (cluster.work / "err.txt").read_text() == "err\n"


def test_error_goes_with_output(cluster):
    job = cluster.submit("echo out; echo err >&2")
    assert cluster.output(job) == "out\nerr\n"


def test_input_file(cluster):
    (cluster.work / "input.txt").write_text("from a file\n")
    job = cluster.sbatch("--input=input.txt", cluster.script("cat"))
    assert cluster.output(job) == "from a file\n"


def test_input_is_empty_by_default(cluster):
    assert cluster.output(cluster.submit("cat; echo read")) == "read\n"


@pytest.mark.parametrize("mode, expected", [("truncate", "new\n"), ("append", "old\nnew\n")])
def test_open_mode(cluster, mode, expected):
    (cluster.work / "log.txt").write_text("old\n")
    job = cluster.sbatch("--output=log.txt", f"--open-mode={mode}", cluster.script("echo new"))
    assert cluster.output(job, "log.txt") == expected


def test_output_is_truncated_by_default(cluster):
    (cluster.work / "log.txt").write_text("old and longer\n")
    assert cluster.output(cluster.sbatch("--output=log.txt", cluster.script("echo new")), "log.txt") == "new\n"


def test_environment_is_exported(cluster):
    script = cluster.script('echo "${MINE-unset} ${YOURS-unset}"')
    env = {"MINE": "a b\nc", "YOURS": "d"}
    assert cluster.output(cluster.sbatch(script, env=env)) == "a b\nc d\n"
    assert cluster.output(cluster.sbatch("--export=ALL,YOURS=e", script, env=env)) == "a b\nc e\n"
    assert cluster.output(cluster.sbatch("--export=YOURS,MINE=f", script, env=env)) == "f d\n"
    assert cluster.output(cluster.sbatch("--export=NIL", script, env=env)).endswith("unset unset\n")


def test_export_none_still_has_slurms_variables(cluster):
    job = cluster.sbatch("--export=NONE", cluster.script('echo "${MINE-unset} $SLURM_JOB_ID"'), env={"MINE": "x"})
    assert cluster.output(job) == f"unset {job}\n"


def test_umask_and_limits_travel(cluster):
    script = cluster.script("umask; ulimit -Sn; touch made; stat -c %a made")
    done = cluster.run("bash", "-c", f"umask 0027; ulimit -Sn 512; sbatch --parsable {script}", check=0)
    assert cluster.output(int(done.stdout)) == "0027\n512\n640\n"


@pytest.mark.minke_only
def test_waiting_for_an_array_that_has_ended(cluster):
    """sbatch --wait may ask after the last task: the highest exit code is told all the same."""
    job = cluster.sbatch("--array=0-2", cluster.script("exit $SLURM_ARRAY_TASK_ID"))
    cluster.wait_end(job)
    with cluster.wire() as wire:
        wait = wire.messages.WaitJobRequest(job_id=job, until=wire.messages.WaitJobRequest.ENDED)
        assert wire.ask(wait_job=wait).wait_job.job.exit_code == 2 << 8


def test_wait_returns_the_exit_code(cluster):
    assert cluster.run("sbatch", "--wait", cluster.script("exit 9")).returncode == 9
    assert cluster.run("sbatch", "--wait", cluster.script("exit 0")).returncode == 0
    assert cluster.run("sbatch", "--wait", "--array=0-2", cluster.script("exit $SLURM_ARRAY_TASK_ID")).returncode == 2


def test_test_only_submits_nothing(cluster):
    done = cluster.run("sbatch", "--test-only", cluster.script("true"), check=0)
    assert re.match(r"sbatch: Job \d+ to start at \S+ using 1 processors on nodes n1 in partition main", done.stderr)
    assert cluster.queue("--states=all") == []


def test_hold_and_release(cluster):
    job = cluster.submit("true", "--hold")
    assert cluster.job(job)["Reason"] == "JobHeldUser"
    assert cluster.job(job)["JobState"] == "PENDING"
    cluster.run("scontrol", "release", job, check=0)
    cluster.wait_state(job, "COMPLETED")


def test_begin(cluster):
    job = cluster.submit("true", "--begin=now+1hour")
    fields = cluster.job(job)
    assert fields["JobState"] == "PENDING" and fields["StartTime"] == fields["EligibleTime"] > fields["SubmitTime"]
    soon = cluster.submit("true", "--begin=now+2")
    assert cluster.state(soon) == "PENDING"
    cluster.wait_state(soon, "COMPLETED")
    assert cluster.state(job) == "PENDING"


def test_mail_options_are_accepted(cluster):
    job = cluster.submit("true", "--mail-type=END,FAIL", "--mail-user=someone@example.org", "--hold")
    assert cluster.state(job) == "PENDING"


def test_account_is_accepted_and_shown(cluster):
    job = cluster.submit("true", "--account=def-someprof", "--hold")
    assert cluster.job(job)["Account"] == "def-someprof"


def test_large_script_and_environment(cluster):
    script = cluster.script("wc -c <$0\necho ${#BULK}\n: " + "x" * 3_000_000 + "\n")
    size = os.path.getsize(script)
    assert cluster.output(cluster.sbatch(script, env={"BULK": "y" * 100_000})) == f"{size}\n100000\n"


def test_gpus_are_counted_and_named(cluster_with_gpus):
    cluster = cluster_with_gpus
    one = cluster.submit("echo $SLURM_GPUS_ON_NODE $SLURM_JOB_GPUS; sleep 3000", "--gres=gpu:3", "--output=one.out")
    two = cluster.submit("true", "--gpus=2")
    cluster.wait_state(one, "RUNNING")
    assert cluster.job(two)["Reason"] in ("Resources", "Priority", "None")
    assert "gres/gpu=3" in cluster.job(one)["AllocTRES"]
    poll(lambda: (cluster.work / "one.out").exists() and (cluster.work / "one.out").read_text())
    cluster.run("scancel", one, check=0)
    cluster.wait_state(two, "COMPLETED")
    assert (cluster.work / "one.out").read_text().splitlines()[0] == "3 0,1,2"


@pytest.fixture
def cluster_with_gpus(new_cluster):
    from cluster import Machine
    return new_cluster("gpus", Machine(nodes=1, gpus="a100:4"))


def test_typed_gpus(cluster_with_gpus):
    cluster = cluster_with_gpus
    job = cluster.submit("true", "--gres=gpu:a100:1")
    cluster.wait_state(job, "COMPLETED")
    refused = cluster.run("sbatch", "--gres=gpu:h100:1", cluster.script("true"))
    assert refused.returncode == 1 and "Batch job submission failed" in refused.stderr


def test_components_on_the_command_line(cluster):
    done = cluster.run("sbatch", "-n1", "--comment=both", ":", "-n2", "--mem=50M", "--hold", "--wrap", "true", check=0)
    first = int(done.stdout.split()[-1])
    fields = cluster.job(first + 1)
    assert (fields["NumTasks"], fields["MinMemoryNode"], fields["Comment"]) == ("2", "50M", "both")
    assert cluster.run("sbatch", "-n1", "-a1-3", ":", "-n2", "--wrap", "true").returncode == 1


def test_lines_of_pbs_and_lsf(cluster):
    text = "#PBS -N named\n#PBS -l walltime=20,mem=100mb\n#BSUB -n 2\n#SBATCH --job-name=lesser --comment=kept\ntrue"
    fields = cluster.job(cluster.submit(text, "--hold"))
    assert (fields["JobName"], fields["TimeLimit"], fields["MinMemoryNode"]) == ("named", "00:20:00", "100M")
    assert (fields["NumTasks"], fields["Comment"]) == ("2", "kept")
    assert cluster.job(cluster.submit(text, "--hold", "--ignore-pbs"))["JobName"] == "lesser"
    done = cluster.run("sbatch", cluster.script("#PBS -P x\ntrue"))
    assert done.returncode == 1 and "invalid option -- 'P'" in done.stderr


def test_file_of_host_names(cluster):
    (cluster.work / "hosts").write_text("n2  # the second\n")
    for option in (["-F", "hosts"], ["-w", "./hosts"]):
        job = cluster.sbatch(*option, "--wrap", "true")
        assert cluster.wait_end(job)["NodeList"] == "n2"
    done = cluster.run("sbatch", "-F", "none", "--wrap", "true")
    assert done.returncode == 255 and "error opening file none, No such file or directory" in done.stderr


@pytest.mark.minke_only
def test_salloc_no_shell_leaves_the_allocation(cluster):
    done = cluster.run("salloc", "--no-shell", "-n2", check=0)
    job = int(re.search(r"Granted job allocation (\d+)", done.stderr)[1])
    assert cluster.state(job) == "RUNNING"
    assert cluster.run("srun", f"--jobid={job}", "-n2", "echo", "here", check=0).stdout == "here\nhere\n"
    cluster.kill()
    assert cluster.state(job) == "RUNNING"
    cluster.run("scancel", job, check=0)
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    done = cluster.run("salloc", "--no-shell", "-n100")
    assert done.returncode == 1 and "salloc: error: " in done.stderr


def test_immediate_has_an_exit_code_of_its_own(cluster):
    cluster.wait_state(cluster.sbatch("--exclusive", "-N2", "--wrap", "sleep 1000"), "RUNNING")
    for command in ("salloc", "srun"):
        done = cluster.run(command, "-I", "true", env={"SLURM_EXIT_IMMEDIATE": "77", "SLURM_EXIT_ERROR": "78"})
        assert done.returncode == 77, done.stderr


def test_step_number_of_the_batch_script_in_file_names(cluster):
    job = cluster.sbatch("--output=o-%s-%3j-%5q", "--wrap", "true")
    cluster.wait_end(job)
    assert (cluster.work / f"o-batch-{job:03}-5q").exists()


def test_amounts_that_follow_from_others(cluster):
    fields = cluster.job(cluster.sbatch("-H", "-w", "n[1-2]", "--wrap", "true"))
    assert fields["NumNodes"] in ("2", "2-2")
    assert cluster.job(cluster.sbatch("-H", "-B1:2:1", "--wrap", "true"))["NumTasks"] == "2"
    done = cluster.run("sbatch", "-w", "n[1-2]", "-N1", "--wrap", "true")
    assert done.returncode == 0, done.stderr
    job = int(done.stdout.split()[-1])
    assert cluster.wait_end(job)["NodeList"] in ("n1", "n2")  # one of them


def test_a_job_of_ones_own_name(cluster):
    job = cluster.sbatch(f"--uid={getpass.getuser()}", f"--gid={os.getgid()}", "--wrap", "true")
    assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    assert cluster.run("sbatch", "--uid=daemon", "--wrap", "true").returncode != 0


def test_overcommit_takes_a_processor_a_node(cluster):
    job = cluster.sbatch("-n20", "-N2", "-O", "--wrap", "echo $SLURM_NTASKS $SLURM_JOB_CPUS_PER_NODE")
    assert cluster.output(job) == "20 1(x2)\n"


def test_test_only_promises_nothing_behind_a_job_without_a_limit(cluster):
    endless = cluster.submit("sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(endless, "RUNNING")
    done = cluster.run("sbatch", "--test-only", "--time=5", cluster.script("true"), check=0)
    assert "to start at Unknown using 1 processors on nodes n" in done.stderr, done.stderr


def test_test_only_of_srun_runs_nothing(cluster):
    done = cluster.run("srun", "--test-only", "-N2", "touch", "ran", check=0)
    assert re.fullmatch(r"srun: Job \d+ to start at \S+ using 2 processors on nodes n\[1-2\] in partition \S+\n",
                        done.stderr)
    refused = cluster.run("srun", "--test-only", "-N9", "true")
    assert refused.returncode == 1 and refused.stderr.startswith("allocation failure: ")
    assert not (cluster.work / "ran").exists() and not cluster.queue()


def test_a_job_that_may_not_wait_can_not_be_held(cluster):
    for command in (["srun", "-H", "-I1", "true"], ["salloc", "-I1", "-b", "now+1hour", "true"]):
        done = cluster.run(*command)
        assert done.returncode == 1 and "Job dependency problem" in done.stderr
    assert not cluster.queue()


def test_salloc_looks_for_its_command(cluster):
    done = cluster.run("salloc", "nosuchcommand")
    assert done.returncode == 1
    assert 'salloc: error: _fork_command: Unable to find command "nosuchcommand"\n' in done.stderr
    poll(lambda: not cluster.queue(), what="the end of the allocation")


@pytest.mark.minke_only
def test_clusters_are_looked_for(cluster):
    name = cluster.run("scontrol", "show", "config").stdout.split("ClusterName")[1].split("=")[1].split()[0]
    done = cluster.run("sbatch", "-M", name, "--hold", "--wrap=true", check=0)
    assert re.fullmatch(rf"Submitted batch job \d+ on cluster {name}\n", done.stdout)
    done = cluster.run("sbatch", "--parsable", "-M", name, "--hold", "--wrap=true", check=0)
    assert re.fullmatch(rf"\d+;{name}\n", done.stdout)
    for command in (["sbatch", "--wrap=true"], ["srun", "true"], ["salloc", "true"]):
        done = cluster.run(command[0], "-M", "nosuch", *command[1:])
        assert done.returncode == 1 and "error: No cluster 'nosuch' known by database.\n" in done.stderr


@pytest.mark.machine(gpus="a100:2")
@pytest.mark.minke_only
def test_the_kinds_of_gres_are_told(cluster):
    done = cluster.run("sbatch", "--gres=help", "--wrap=true", check=0)
    assert done.stdout == "Valid gres options are:\ngpu[[:type]:count]\n"
    job = cluster.submit("true", "--hold", "--gres=gpu")
    assert cluster.job(job)["TresPerNode"] == "gres/gpu"
    assert not cluster.run("scancel", job, check=0).stderr


def test_texts_of_requests_have_a_length(cluster):
    done = cluster.run("sbatch", "--comment=" + "x" * 5000, "--wrap=true")
    assert done.returncode == 1
    assert "Pathname of a file, directory or other parameter too long" in done.stderr


def test_features_of_the_node_that_runs_the_script(new_cluster):
    from cluster import Machine
    extra = """
[[node]]
name = "z1"
cpus = 2
memory = "1G"
features = ["big"]
[[partition]]
name = "all"
nodes = "n[1-2],z1"
"""
    cluster = new_cluster("batch", Machine(nodes=2, cpus=2, features="fast", extra=extra))
    script = "echo $SLURMD_NODENAME $SLURM_JOB_NODELIST; srun -n1 -N1 hostname >/dev/null; scontrol show job $SLURM_JOB_ID"
    job = cluster.submit(script, "-p", "all", "-N3", "-C", "fast|big", "--batch=big")
    said = cluster.output(job)
    assert said.startswith("z1 n[1-2],z1\n") and "BatchHost=z1\n" in said
    cluster.wait_end(job)
    assert ["batch", "z1"] in cluster.sacct("-j", str(job), format="JobName,NodeList")
    for options in (("--batch=big",), ("-C", "fast", "--batch=fast&big")):
        refused = cluster.run("sbatch", *options, "--wrap=true", check=1)
        assert refused.stderr == ("sbatch: error: Batch job submission failed: "
                                  "Job --batch option is invalid or not a subset of --constraint\n")


@pytest.mark.parametrize("options", [["-n1", "-w", "n1,n2"], ["-n1", "-N1-2", "-w", "n[1-2]"], ["-n1", "-N2"]])
def test_fewer_tasks_than_nodes_that_are_asked_for(cluster, options):
    done = cluster.run("sbatch", "--hold", "--parsable", *options, "--wrap=true", check=0)
    assert ("can't run 1 processes on 2 nodes, setting nnodes to 1" in done.stderr) == ("-N1-2" not in options)
    assert cluster.job(int(done.stdout))["NumNodes"].split("-")[0] == "1"


@pytest.mark.minke_only
@pytest.mark.machine(settings='enforce_part_limits = "ALL"\n')
@pytest.mark.parametrize("limit", ["MaxMemPerNode=1", "ReqResv=YES", "DenyQos=normal"])
def test_every_partition_of_a_list_must_take_the_job(cluster, limit):
    cluster.run("scontrol", "create", "partitionname=small", "nodes=n1", limit, check=0)
    for partitions in "small,main", "main,small":
        refused = cluster.run("sbatch", "-p", partitions, "--mem=100", "--wrap=true", check=1)
        assert "partition small" in refused.stderr
    # One that takes no jobs for a while does not count.
    cluster.run("scontrol", "update", "partitionname=small", "state=drain", check=0)
    cluster.run("sbatch", "--hold", "-p", "small,main", "--mem=100", "--wrap=true", check=0)
