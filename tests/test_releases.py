"""Which release of Slurm is spoken, and what a cluster does that newer releases do."""
import pytest

OLD = '[compatibility]\nslurm = "22.05"\n'
MEMORY = 'select_type_parameters = "CR_Core_Memory"'


def test_the_newest_is_spoken(cluster):
    assert cluster.run("squeue", "--version", check=0).stdout == "slurm 26.05.5\n"
    job = cluster.job(cluster.sbatch("--hold", "-n4", "-c1", "--wrap=true"))
    assert (job["NumNodes"], job["AllocTRES"], job["TresPerTask"]) == ("2-4", "(null)", "cpu=1")
    assert "Version=26.05.5" in cluster.run("scontrol", "show", "node", "n1").stdout
    assert cluster.output(cluster.submit("echo $SLURM_JOB_EXCLUSIVE $SLURM_TRES_PER_TASK", "-c2")) == "NO cpu=2\n"


@pytest.mark.machine(extra=OLD)
def test_an_older_one_is_spoken_on_demand(cluster):
    assert cluster.run("squeue", "--version", check=0).stdout == "slurm 22.05.8\n"
    job = cluster.job(cluster.sbatch("--hold", "-n2", "-c1", "--wrap=true"))
    assert job["TRES"].startswith("cpu=2,") and "AllocTRES" not in job and "TresPerTask" not in job
    assert cluster.output(cluster.submit("echo ${SLURM_TRES_PER_TASK-none}", "-c2")) == "none\n"
    assert cluster.output(cluster.submit("echo runs", "--dependency=afterok:987654")) == "runs\n"


@pytest.mark.machine(extra='[compatibility]\nslurm = "21.08"\n')
def test_others_are_not_spoken(cluster):
    refused = cluster.run("minke", "up")
    assert refused.returncode != 0 and 'must be "22.05", "24.11" or "26.05"' in refused.stdout + refused.stderr


@pytest.mark.machine(nodes=1, settings=MEMORY)
def test_a_job_without_memory_has_its_nodes_whole(cluster):
    assert "SelectTypeParameters    = CR_CORE_MEMORY\n" in cluster.run("scontrol", "show", "config").stdout
    first, second = (cluster.submit("sleep 600", "-n1") for _ in range(2))
    job = cluster.wait_state(first, "RUNNING")
    assert (job["MinMemoryNode"], job["AllocTRES"]) == ("0", "cpu=1,mem=2000M,node=1,billing=1")
    assert cluster.wait_state(second, "PENDING")["Reason"] in ("Resources", "None", "Priority")
    cluster.run("scancel", first, check=0)
    cluster.wait_state(second, "RUNNING")


def test_without_that_jobs_share_memory(cluster):
    assert "SelectTypeParameters    = CR_CPU\n" in cluster.run("scontrol", "show", "config").stdout
    for job in [cluster.submit("sleep 600", "-n1", "-wn1") for _ in range(2)]:
        cluster.wait_state(job, "RUNNING")


def test_what_nothing_can_run_may_be_held(cluster):
    held = cluster.run("sbatch", "--parsable", "--hold", "--mincpus=99", "--wrap=true", check=0)
    assert "sbatch: warning: nothing here can run this job as it is: --mincpus=99" in held.stderr
    assert cluster.job(int(held.stdout))["Reason"] == "JobHeldUser"
    cluster.run("scontrol", "release", held.stdout.strip(), check=0)
    assert cluster.wait_state(int(held.stdout), "PENDING")["Reason"] == "BadConstraints"
    assert cluster.run("sbatch", "--mincpus=99", "--wrap=true").returncode == 1
    later = cluster.run("sbatch", "--parsable", "--begin=now+1hour", "-N9", "--wrap=true", check=0)
    assert "warning: nothing here can run this job as it is" in later.stderr


def test_more_names_than_nodes(cluster):
    for names in ("n1,n2", "n2,n1"):
        assert cluster.wait_end(cluster.submit("true", "-w", names, "-N1"))["NumNodes"] == "1"


def test_tasks_that_share_a_processor(cluster):
    """As many tasks on a node as it has processors, whatever they share."""
    job = cluster.job(cluster.sbatch("--hold", "-O", "--ntasks-per-node=2", "-N1", "--wrap=true"))
    assert (job["NumCPUs"], job["MinCPUsNode"]) == ("1", "1")
    assert cluster.run("sbatch", "-O", "--ntasks-per-node=3", "-N1", "--wrap=true").returncode == 1


def test_an_unknown_preference_is_refused(cluster):
    refused = cluster.run("sbatch", "--prefer=nosuch", "--wrap=true", check=1)
    assert "Batch job submission failed: Invalid preferred feature specification" in refused.stderr


def test_patterns_and_names_of_files(cluster):
    job = cluster.sbatch("--hold", "-o", "x-%j", "--wrap=true")
    shown = ("squeue", "-h", "-O", "stdout:.|,stderr:.")
    assert cluster.run(*shown).stdout == f"{cluster.work}/x-%j|(null)\n"
    assert cluster.run(*shown, "--expand-patterns").stdout == f"{cluster.work}/x-{job}|(null)\n"


@pytest.mark.machine(extra="[licenses]\nmatlab = 4\n")
def test_licenses_are_selected_by_their_names(cluster):
    for asked in ("matlab", "matlab:2"):
        cluster.sbatch("--hold", "-L", asked, "--wrap=true")
    assert len(cluster.queue("-L", "matlab")) == 2 and cluster.queue("-L", "matlab:2") == []


@pytest.mark.machine(settings='[priority]\ntype = "multifactor"\nweight_job_size = 100000\n')
def test_who_waits_for_something_has_a_priority_too(cluster):
    """The one that the job would have now; sprio compares only what is eligible."""
    later = cluster.sbatch("--begin=now+1hour", "--wrap=true")
    after = cluster.sbatch(f"--dependency=afterany:{later}", "--wrap=true")
    assert all(int(cluster.wait_state(job, "PENDING")["Priority"]) > 1 for job in (later, after))
    assert cluster.run("sprio", "-h").stdout == ""
