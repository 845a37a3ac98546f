"""What cannot be done is refused in one go: Slurm's words on stderr, Slurm's exit code, and nothing half submitted."""
import os
import pathlib

import pytest


def refused(cluster, *command, code: int, says: str, **options):
    done = cluster.run(*command, **options)
    assert done.returncode == code, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}"
    # Minke says what to do in parentheses behind Slurm's words.
    assert says.removesuffix("\n") in done.stderr, done.stderr
    assert done.stdout == ""
    return done.stderr


@pytest.mark.parametrize("option, code, says", [
    ("--foo", 255, "sbatch: unrecognized option '--foo'\nTry \"sbatch --help\" for more information\n"),
    ("-%", 255, "sbatch: invalid option -- '%'\nTry \"sbatch --help\" for more information\n"),
    ("--mem=abc", 255, "sbatch: error: Invalid --mem specification\n"),
    ("--time=abc", 255, "sbatch: error: Invalid --time specification\n"),
    ("--signal=FOO", 255, "sbatch: error: Invalid --signal specification\n"),
    ("--mail-type=BOGUS", 255, "sbatch: error: Invalid --mail-type specification\n"),
    ("--open-mode=x", 255, "sbatch: error: Invalid --open-mode specification\n"),
    ("--begin=nonsense", 255, "sbatch: error: Invalid --begin specification\n"),
    ("--ntasks=0", 1, 'sbatch: error: Invalid numeric value "0" for --ntasks.\n'),
    ("--cpus-per-task=x", 1, 'sbatch: error: Invalid numeric value "x" for --cpus-per-task.\n'),
    ("--array=a-b", 1, "sbatch: error: Batch job submission failed: Invalid job array specification\n"),
    ("--dependency=bogus:1", 1, "sbatch: error: Batch job submission failed: Job dependency problem\n"),
    ("--partition=nosuch", 1, "sbatch: error: Batch job submission failed: Invalid partition name specified"),
    ("--nodelist=nosuch", 1, "sbatch: error: Batch job submission failed: Invalid node name specified"),
    ("--constraint=nosuch", 1, "sbatch: error: Batch job submission failed: Invalid feature specification"),
    ("--gres=gpu:1", 1, "Invalid generic resource (gres) specification"),
    ("--mem=10T", 1, "sbatch: error: Batch job submission failed: Requested node configuration is not available"),
])
def test_sbatch_options(cluster, option, code, says):
    refused(cluster, "sbatch", option, cluster.script("true"), code=code, says=says)
    assert cluster.queue("--states=all") == [] or cluster.is_reference  # Slurm keeps a record of some


TOO_MANY, NODES, NO_NODE = ("More processors requested than permitted", "Node count specification invalid",
                            "Requested node configuration is not available")


@pytest.mark.parametrize("option, says", [
    ("--nodes=3", NODES), ("--nodes=99", TOO_MANY), ("--nodes=2000000", TOO_MANY), ("--ntasks=99", TOO_MANY),
    ("--ntasks=4000000", TOO_MANY), ("--cpus-per-task=3", NO_NODE), ("--cpus-per-task=1000", TOO_MANY),
    ("--cpus-per-task=4000000", TOO_MANY), ("--ntasks-per-node=70000", TOO_MANY), ("--nodes=1 --ntasks=4", NO_NODE),
    ("--mincpus=3", NO_NODE), ("--mem=99999999999999", NO_NODE), ("--mem-per-cpu=99999999999999", NO_NODE),
    ("--tmp=99999999999999", NO_NODE)])
@pytest.mark.minke_only  # as Slurm does with EnforcePartLimits; without, it queues them for ever
def test_impossible_requests_are_refused_at_once(cluster, option, says):
    """What the whole partition does not have is told otherwise than what none of its nodes has."""
    refused(cluster, "sbatch", *option.split(), cluster.script("true"), code=1, says="Batch job submission failed: " + says)
    assert cluster.queue("--states=all") == []


@pytest.mark.parametrize("content, says", [
    (b"", "sbatch: error: Batch script is empty!"),
    (b"echo hello\n", "sbatch: error: This does not look like a batch script.  The first\n"
                      "sbatch: error: line must start with #! followed by the path to an interpreter.\n"
                      "sbatch: error: For instance: #!/bin/sh\n"),
    (pathlib.Path("/bin/true").read_bytes(), "sbatch: error: This does not look like a batch script."),
    (b"#!/bin/sh\r\ntrue\r\n", "sbatch: error: Batch script contains DOS line breaks (\\r\\n)\n"
                               "sbatch: error: instead of expected UNIX line breaks (\\n).\n"),
    (b"#!/bin/sh\n" + b"#" * (5 << 20) + b"\n", "sbatch: error: "),
], ids=["empty", "no #!", "binary", "CRLF", "over 4 MiB"])
def test_scripts(cluster, content, says):
    path = cluster.work / "script"
    path.write_bytes(content)
    refused(cluster, "sbatch", path, code=1, says=says)
    assert cluster.queue("--states=all") == []


def test_null_bytes_in_a_script(cluster):
    path = cluster.work / "script"
    path.write_bytes(b"#!/bin/sh\nprintf one\\n\n\0\0\nprintf two\n")
    done = cluster.run("sbatch", path)
    assert done.returncode in (0, 1)
    if done.returncode == 1:
        assert "sbatch: error: " in done.stderr
        assert cluster.queue("--states=all") == []


def test_files_that_are_not_there(cluster):
    refused(cluster, "sbatch", "nosuchfile.sh", code=1, says="sbatch: error: Unable to open file nosuchfile.sh\n")
    refused(cluster, "sbatch", "/tmp", code=1, says="sbatch: error: ")


def test_wrap_takes_no_arguments(cluster):
    refused(cluster, "sbatch", "--wrap=true", "extra", code=1,
            says="sbatch: error: Script arguments not permitted with --wrap option\n")
    refused(cluster, "sbatch", "--wrap", code=255, says="sbatch: option '--wrap' requires an argument\n")


def test_bad_directive_is_refused(cluster):
    refused(cluster, "sbatch", cluster.script("#SBATCH --foo\ntrue\n"), code=255, says="unrecognized option '--foo'")
    refused(cluster, "sbatch", cluster.script("#SBATCH --time=soon\ntrue\n"), code=255, says="Invalid --time specification")
    assert cluster.queue("--states=all") == []


def test_output_that_cannot_be_written(cluster):
    """A directory may yet be made."""
    if not cluster.is_reference:
        warned = cluster.run("sbatch", "--output=/nonexistent/directory/out", cluster.script("true"), check=0)
        assert "warning: --output /nonexistent/directory/: No such file or directory" in warned.stderr
        tested = cluster.run("sbatch", "--test-only", "--output=/nonexistent/directory/out", cluster.script("true"), check=0)
        assert "to start at" in tested.stderr
    done = cluster.run("sbatch", "--parsable", "--hold", "--output=logs/out", cluster.script("true"), check=0)
    job, warned = done.stdout.strip(), cluster.run("sbatch", "-o", "logs/%j", cluster.script("true"), check=0)
    if not cluster.is_reference:
        assert done.stderr == "" and warned.stderr.startswith("sbatch: warning: --output ") and "logs/" in warned.stderr
    cluster.run("scontrol", "release", job, check=0)
    fields = cluster.wait_state(job, "FAILED")
    assert fields["Reason"] in ("JobLaunchFailure", "NonZeroExitCode", "RaisedSignal:53(Real-time_signal_19)")


def test_directory_that_is_gone(cluster):
    job = cluster.sbatch("--chdir=/nonexistent", f"--output={cluster.work}/out.txt", cluster.script("pwd"))
    text = cluster.output(job, "out.txt")
    assert "error: couldn't chdir to `/nonexistent': No such file or directory: going to /tmp instead" in text
    assert text.endswith("\n/tmp\n")


def test_interpreter_that_is_not_there(cluster):
    job = cluster.sbatch(cluster.script("#!/nonexistent/interpreter\ntrue\n"))
    assert cluster.wait_end(job)["JobState"] == "FAILED"
    text = (cluster.work / f"slurm-{job}.out").read_text()
    assert "No such file or directory" in text


def test_array_too_large(cluster):
    refused(cluster, "sbatch", "--array=0-99999999", cluster.script("true"), code=1,
            says="sbatch: error: Batch job submission failed: Invalid job array specification\n")


@pytest.mark.parametrize("command, code, says", [
    ("scancel abc", 1, "scancel: error: Invalid job id abc"),
    ("scancel", 1, "scancel: error: No job identification provided\n"),
    ("squeue -j 99999", 1, "slurm_load_jobs error: Invalid job id specified\n"),
    ("squeue -j abc", 1, "squeue: error: Invalid job id: abc"),
    ("squeue --foo", 1, "squeue: unrecognized option '--foo'\nTry \"squeue --help\" for more information\n"),
    ("sinfo --foo", 1, "sinfo: unrecognized option '--foo'\nTry \"sinfo --help\" for more information\n"),
    ("scontrol show job 99999", 1, "slurm_load_jobs error: Invalid job id specified"),
    ("scontrol hold 99999", 1, "Invalid job id specified"),
    ("scontrol release 99999", 1, "Invalid job id specified"),
    ("scontrol requeue 99999", 1, "Invalid job id specified for job 99999\n"),
    ("scontrol update jobid=99999 timelimit=5", 1, "Invalid job id specified for job 99999\n"),
    ("scontrol bogus", 1, "invalid keyword: bogus\n"),
    ("srun --jobid=99999 true", 1, "Invalid job id specified"),
    ("srun --mem=10T true", 1, "srun: error: Unable to allocate resources: Requested node configuration is not available"),
    ("srun", 1, "No command given to execute."),
    ("salloc --mem=10T true", 1, "salloc: error: Job submit/allocate failed: Requested node configuration is not available"),
    ("salloc --bogus", 255, "salloc: unrecognized option '--bogus'\nTry \"salloc --help\" for more information\n"),
])
def test_other_commands(cluster, command, code, says):
    done = cluster.run(*command.split())
    assert done.returncode == code, done.stdout + done.stderr
    assert says in done.stderr, done.stderr


@pytest.mark.parametrize("what", ["node", "partition"])
def test_showing_what_is_not_there(cluster, what):
    done = cluster.run("scontrol", "show", what, "nosuch")
    assert done.returncode == 1
    assert f"{what.capitalize()} nosuch not found" in done.stdout + done.stderr


def test_cancelling_what_is_not_there_is_no_error(cluster):
    assert cluster.run("scancel", "99999").returncode == 0


def test_updating_what_cannot_be(cluster):
    job = cluster.submit("true", "--hold")
    done = cluster.run("scontrol", "update", f"jobid={job}", "bogus=1")
    assert done.returncode == 1
    assert "Update of this parameter is not supported: bogus=1" in done.stderr
    done = cluster.run("scontrol", "update", f"jobid={job}", "timelimit=never")
    assert done.returncode == 1
    cluster.run("scancel", job)


@pytest.mark.minke_only
def test_minke_suggests_what_was_meant(cluster):
    done = cluster.run("minke", "statsu")
    assert done.returncode != 0 and "status" in done.stderr


def test_text_that_is_not_utf8_comes_through(cluster):
    name = os.fsdecode(b"caf\xe9-\xff")
    done = cluster.run("bash", "-c", 'sbatch --parsable --job-name="$1" --comment="$1" --wrap "printf %s \\"$1\\""', "-", name)
    job = int(done.stdout)
    cluster.wait_end(job)
    assert (cluster.work / f"slurm-{job}.out").read_bytes() == b"caf\xe9-\xff"


def test_a_dash_from_a_web_page_on_the_command_line_is_named(cluster):
    done = cluster.run("sbatch", "\u2013n", "2", cluster.script("true"))
    assert done.returncode == 1 and "Unable to open file \u2013n" in done.stderr
    if not cluster.is_reference:
        assert '"\u2013" is not the "-" of the keyboard' in done.stderr


def test_scancel_full_of_a_job_that_nobody_knows_is_no_failure(cluster):
    done = cluster.run("scancel", "-f", "999999", check=0)
    assert done.stdout + done.stderr == ""
    cluster.run("scancel", "--full", "--signal=USR1", "999999", check=1)
    cluster.run("scancel", "--batch", "--signal=USR1", "999999", check=1)
