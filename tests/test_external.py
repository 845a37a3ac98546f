"""sbatch --external: an allocation without a script, which others fill."""
MINKE_ONLY = True


def test_it_runs_without_a_script_until_it_is_cancelled(cluster):
    job = cluster.sbatch("--external", "-n2", "-t5")
    shown = cluster.wait_state(job, "RUNNING")
    assert (shown["JobName"], shown["BatchFlag"], shown["Command"], shown["NumCPUs"]) == ("external", "0", "(null)", "2")
    assert "StdOut" not in shown
    refused = cluster.run("srun", f"--jobid={job}", "--overlap", "true", check=1)
    assert "Requested operation not supported on this system" in refused.stderr
    assert "Only batch jobs are accepted or processed" in cluster.run("scontrol", "requeue", job, check=1).stderr
    cluster.run("scancel", job, check=0)
    assert cluster.wait_end(job)["JobState"] == "CANCELLED"
    assert cluster.run("sacct", "-n", "-P", "-j", job, "-o", "jobname,state", check=0).stdout.split("|")[0] == "external"


def test_it_takes_no_script(cluster):
    for arguments, message in (
            (["--external", cluster.script("true")], "sbatch: error: Script arguments not permitted with --external option\n"),
            (["--external", "--wrap", "true"], "sbatch: error: --wrap option not permitted with --external option\n")):
        assert cluster.run("sbatch", *arguments, check=1).stderr == message
    held = cluster.sbatch("--external", "--hold", "-J", "mine")
    assert cluster.job(held)["JobState"] == "PENDING" and cluster.job(held)["JobName"] == "mine"
