"""swait: blocks until no step of a job runs."""
MINKE_ONLY = True


def test_a_script_waits_for_the_steps_that_it_began(cluster):
    job = cluster.submit("srun -n1 --overlap sleep 1 &\nwhile [ -z \"$(squeue -h -s -j $SLURM_JOB_ID -o %i | grep '\\.0')\" ]; do :; done\n"
                         "swait; echo over $?; swait --timeout=1; echo none $?\nwait\n")
    assert cluster.output(job).splitlines() == ["over 0", "none 0"]


def test_it_gives_up_when_its_time_is_over(cluster):
    job = cluster.submit("srun --overlap sleep 600")
    cluster.wait_state(job, "RUNNING")
    assert cluster.run("bash", "-c", f"until squeue -h -s -j {job} | grep -q '{job}\\.0 '; do :; done; exec swait --timeout=1 -Q {job}").returncode == 1
    cluster.run("scancel", job, check=0)
    cluster.wait_end(job)
    cluster.run("swait", job, check=0)


def test_what_is_wrong_is_told(cluster):
    for arguments, message in (
            ([], "no job id given and SLURM_JOB_SLUID/SLURM_JOB_ID are not set"),
            (["999999"], "cannot load JobId=999999: Invalid job id specified"),
            (["abc"], "abc: cannot parse job id"),
            (["1", "2"], "too many positional arguments (expected at most one job id)"),
            (["--timeout=x", "1"], "--timeout: invalid value 'x' (must be a non-negative integer)"),
            (["-Q", "-v", "1"], "--verbose (-v) and --quiet (-Q) are mutually exclusive"),
            (["5_[1-3]"], "5_[1-3]: array-task ranges are not supported, pass one task offset"),
            (["5+1"], "5+1: het-job offsets are not supported")):
        assert cluster.run("swait", *arguments, check=2).stderr == f"swait: error: {message}\n"
