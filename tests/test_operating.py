"""scontrol on nodes and partitions: states, properties, what becomes of jobs, and that it lasts."""
import re

import pytest

from cluster import poll


def node(cluster, name: str = "n1") -> str:
    return cluster.run("scontrol", "-o", "show", "node", name, check=0).stdout


def field(text: str, name: str) -> str:
    return re.search(rf"(?:^| ){name}=(\S*)", text).group(1)


def partition(cluster, name: str = "main") -> str:
    return cluster.run("scontrol", "-o", "show", "partition", name, check=0).stdout


def update(cluster, *words, check=0):
    return cluster.run("scontrol", "update", *words, check=check)


def test_a_node_that_goes_down_ends_its_jobs(cluster):
    again = cluster.submit("sleep 1000", "-w", "n1", "--mem=10")
    once = cluster.submit("sleep 1000", "-w", "n1", "--no-requeue", "--mem=10")
    other = cluster.submit("sleep 1000", "-w", "n2", "--mem=10")
    for job in again, once, other:
        cluster.wait_state(job, "RUNNING")
    update(cluster, "nodename=n1", "state=down", "reason=broken")
    lost = cluster.wait_state(once, "NODE_FAIL")
    assert lost["Reason"] == "NodeDown"
    waiting = cluster.wait_state(again, "PENDING")
    assert waiting["Restarts"] == "1"
    assert cluster.state(other) == "RUNNING"
    poll(lambda: "DUE TO NODE FAILURE" in (cluster.work / f"slurm-{once}.out").read_text())


@pytest.mark.minke_only
def test_a_requeued_job_runs_again_when_its_node_is_back(cluster):
    job = cluster.submit("sleep 1000", "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    update(cluster, "nodename=n1", "state=down", "reason=broken")
    cluster.wait_state(job, "PENDING")
    poll(lambda: cluster.queue(format="%r") == ["ReqNodeNotAvail, UnavailableNodes:n1"] or
         "ReqNodeNotAvail" in cluster.queue(format="%r")[0])
    assert cluster.sacct("-j", job, "--duplicates", "-X", format="State")[0] == ["NODE_FAIL"]
    update(cluster, "nodename=n1", "state=resume")
    cluster.wait_state(job, "RUNNING")


@pytest.mark.minke_only
def test_no_kill_survives_the_loss_of_one_node(cluster):
    job = cluster.submit("sleep 1000", "-N2", "--no-kill")
    cluster.wait_state(job, "RUNNING")
    update(cluster, "nodename=n2", "state=down", "reason=broken")
    fields = cluster.job(job)  # the node is no longer its own
    assert (fields["JobState"], fields["NodeList"], fields["NumNodes"]) == ("RUNNING", "n1", "1")
    update(cluster, "nodename=n2", "state=resume")
    cluster.wait_state(cluster.submit("true", "-w", "n2"), "COMPLETED")


@pytest.mark.minke_only
def test_a_step_loses_the_tasks_on_a_lost_node(cluster):
    srun = cluster.start("srun", "--no-kill", "-N2", "sh", "-c", "echo $SLURMD_NODENAME; [ $SLURM_PROCID = 1 ] || sleep 3; sleep 1000")
    assert sorted(srun.stdout.readline() for _ in range(2)) == ["n1\n", "n2\n"]
    [job] = cluster.queue(format="%i")
    update(cluster, "nodename=n1", "state=down", "reason=broken")
    assert cluster.job(job)["NodeList"] == "n2" and cluster.state(job) == "RUNNING"
    cluster.run("scancel", job, check=0)
    srun.communicate(timeout=120)


@pytest.mark.minke_only
def test_nodes_that_cannot_be_changed_do_not_keep_others_from_it(cluster):
    """As in Slurm: all are resumed where some are idle already. What was refused is told."""
    states = lambda: [line.split() for line in cluster.run("sinfo", "-hN", "-o", "%N %T").stdout.splitlines()]
    update(cluster, "nodename=n2", "state=down", "reason=broken")
    refused = cluster.run("scontrol", "update", "nodename=ALL", "state=resume", check=1)
    assert "Invalid node state specified" in refused.stderr and "n1: State=resume" in refused.stderr
    assert states() == [["n1", "idle"], ["n2", "idle"]]
    refused = cluster.run("scontrol", "update", "nodename=nosuch,n2", "state=drain", "reason=disk", check=1)
    assert "Invalid node name specified" in refused.stderr
    assert states() == [["n1", "idle"], ["n2", "drained"]]


@pytest.mark.minke_only
def test_an_allocation_loses_its_node(cluster):
    salloc = cluster.start("salloc", "-w", "n1", "sleep", "1000")
    poll(lambda: cluster.queue(format="%T") == ["RUNNING"])
    job = int(cluster.queue(format="%i")[0])
    update(cluster, "nodename=n1", "state=down", "reason=broken")
    cluster.wait_state(job, "NODE_FAIL")
    assert "revoked" in salloc.communicate(timeout=120)[1]


@pytest.mark.minke_only
def test_states_of_nodes(cluster):
    steps = [(("drain", "x"), "IDLE+DRAIN"), (("down", "x"), "DOWN+DRAIN"), (("undrain", ""), "DOWN"),
             (("drain", "x"), "DOWN+DRAIN"), (("resume", ""), "IDLE"), (("fail", "x"), "IDLE+FAIL"),
             (("undrain", ""), "IDLE"), (("down", "x"), "DOWN"), (("idle", ""), "IDLE")]
    for (state, reason), shown in steps:
        words = ["nodename=n1", f"state={state}"] + ([f"reason={reason}"] if reason else [])
        update(cluster, *words)
        assert field(node(cluster), "State") == shown, state
    assert "Reason=" not in node(cluster)
    update(cluster, "nodename=n2", "state=fail", "reason=fan")
    assert cluster.run("sinfo", "-hN", "-o", "%N %t %T").stdout.split("\n")[1].strip() == "n2 fail fail"
    update(cluster, "nodename=n2", "state=future")
    assert cluster.run("sinfo", "-hN", "-o", "%N").stdout.split() == ["n1"]
    assert cluster.run("scontrol", "show", "node", "n2").stdout == "Node n2 not found\n"
    update(cluster, "nodename=n2", "state=resume")
    for state in "resume", "power_down", "power_up":
        refused = update(cluster, "nodename=n2", f"state={state}", check=1)
        assert "Invalid node state specified" in refused.stderr
    refused = update(cluster, "nodename=n2", "state=bogus", check=1)
    assert refused.stderr.startswith("Invalid input: state=bogus\nRequest aborted\nValid states are: NoResp DRAIN FAIL")


def test_properties_of_nodes(cluster):
    update(cluster, "nodename=n2", "weight=5", "comment=hello", "extra=ex")
    update(cluster, "nodename=n2", "features=a,b")
    shown = node(cluster, "n2")
    for name, value in {"Weight": "5", "Comment": "hello", "Extra": "ex", "AvailableFeatures": "a,b",
                        "ActiveFeatures": "a,b"}.items():
        assert field(shown, name) == value
    refused = update(cluster, "nodename=n2", "activefeatures=c", check=1)
    assert refused.stderr.startswith("slurm_update error: Active features not subset of available features")
    refused = update(cluster, "nodename=n2", "weight=abc", check=1)
    assert refused.stderr == "scontrol: error: Weight value (abc) is not a valid number\nNo changes specified\n"
    refused = update(cluster, "nodename=n9", "state=drain", "reason=x", check=1)
    assert refused.stderr.startswith("slurm_update error: Invalid node name specified")
    # They count at once, for what waits and for what comes.
    job = cluster.submit("sleep 1000", "--constraint=a")
    assert cluster.wait_state(job, "RUNNING")["NodeList"] == "n2"


@pytest.mark.minke_only
def test_changes_outlive_the_daemon(cluster):
    running = cluster.submit("sleep 1000", "-w", "n1")
    cluster.wait_state(running, "RUNNING")
    update(cluster, "nodename=n2", "weight=5", "features=a,b", "comment=hello")
    update(cluster, "nodename=n2", "state=fail", "reason=fan")
    update(cluster, "partitionname=main", "maxtime=10", "hidden=yes", "prioritytier=7")
    cluster.run("scontrol", "create", "partitionname=new", "nodes=n1", "default=yes", check=0)
    cluster.kill()
    shown = node(cluster, "n2")
    assert (field(shown, "Weight"), field(shown, "ActiveFeatures"), field(shown, "State")) == ("5", "a,b", "IDLE+FAIL")
    shown = partition(cluster)
    assert (field(shown, "MaxTime"), field(shown, "Hidden"), field(shown, "PriorityTier")) == ("00:10:00", "YES", "7")
    assert field(shown, "Default") == "NO" and field(partition(cluster, "new"), "Default") == "YES"
    assert cluster.state(running) == "RUNNING"
    # What the file says counts where it has changed since; the rest stays as it was changed here.
    path = cluster.directory / "minke.toml"
    path.write_text(path.read_text().replace("default = true", 'default = true\nmax_time = "20"'))
    cluster.kill()
    shown = partition(cluster)
    assert (field(shown, "MaxTime"), field(shown, "PriorityTier")) == ("00:20:00", "7")
    update(cluster, "partitionname=main", "allowaccounts=lab", "maxtime=5")
    cluster.run("scontrol", "reconfigure", check=0)
    shown = partition(cluster)
    assert (field(shown, "MaxTime"), field(shown, "AllowAccounts")) == ("00:05:00", "lab")
    assert (field(node(cluster, "n2"), "Weight"), field(node(cluster, "n2"), "State")) == ("5", "IDLE+FAIL")
    path.write_text(path.read_text().replace('max_time = "20"', 'max_time = "30"'))
    cluster.run("scontrol", "reconfigure", check=0)
    shown = partition(cluster)
    assert (field(shown, "MaxTime"), field(shown, "AllowAccounts")) == ("00:30:00", "lab")


def test_properties_of_partitions(cluster):
    update(cluster, "partitionname=main", "maxtime=10", "defaulttime=5", "maxnodes=1", "minnodes=1", "hidden=yes",
           "prioritytier=7", "priorityjobfactor=9", "defmempercpu=10", "rootonly=no", "gracetime=10")
    shown = partition(cluster)
    for name, value in {"MaxTime": "00:10:00", "DefaultTime": "00:05:00", "MaxNodes": "1", "Hidden": "YES",
                        "PriorityTier": "7", "PriorityJobFactor": "9", "DefMemPerCPU": "10", "GraceTime": "10"}.items():
        assert field(shown, name) == value
    # They hold for what comes.
    assert cluster.job(cluster.submit("true", "--hold"))["TimeLimit"] == "00:05:00"
    update(cluster, "partitionname=main", "hidden=no")
    refusals = {
        "maxtime=bogus": "scontrol: error: Invalid input maxtime=bogus\n",
        "default=maybe": "scontrol: error: Invalid input: default=maybe\n"
                         "scontrol: error: Acceptable Default values are YES and NO\n",
        "state=weird": "scontrol: error: Invalid input: state=weird\nscontrol: error: Acceptable State values are UP, "
                       "DOWN, DRAIN and INACTIVE\n",
        "priority=high": "scontrol: error: Invalid Priority value: high\n",
        "maxnodes=-1": 'scontrol: error: Invalid numeric value "-1" for MaxNodes.\n',
        "defmempercpu=UNLIMITED": "scontrol: error: Invalid DefMemPerCPU value: UNLIMITED\n",
        "foo=1": "scontrol: error: Update of this parameter is not supported: foo=1\n\n"
                 "scontrol: error: Request aborted\n"}
    for word, text in refusals.items():
        assert update(cluster, "partitionname=main", word, check=1).stderr == text
    refused = update(cluster, "partitionname=none", "state=up", check=1)
    assert refused.stderr.startswith("slurm_update error: Invalid partition name specified")
    refused = update(cluster, "partitionname=main", "nodes=n9", check=1)
    assert refused.stderr.startswith("slurm_update error: Invalid node name specified")


@pytest.mark.minke_only
def test_partitions_take_and_refuse_jobs(cluster):
    def refusal(*options) -> str:
        return cluster.run("sbatch", *options, "--wrap", "true", check=1).stderr

    update(cluster, "partitionname=main", "state=drain")
    assert "Required partition not available (inactive or drain)" in refusal()
    update(cluster, "partitionname=main", "state=down")
    job = cluster.submit("true")
    assert cluster.queue(format="%r") == ["PartitionDown"]
    update(cluster, "partitionname=main", "state=up")
    cluster.wait_state(job, "COMPLETED")
    update(cluster, "partitionname=main", "allowaccounts=def-x")
    assert "Invalid account or account/partition combination specified" in refusal("--account=def-y")
    cluster.run("scontrol", "create", "partitionname=other", "nodes=n1", check=0)
    job = cluster.submit("true", "-p", "main,other", "--account=def-y")
    assert cluster.wait_end(job)["Partition"] == "other"


def test_partitions_are_created_and_deleted(cluster):
    cluster.run("scontrol", "create", "partitionname=new", "nodes=n1", "maxtime=5", check=0)
    assert field(partition(cluster, "new"), "MaxTime") == "00:05:00"
    again = cluster.run("scontrol", "create", "partitionname=new", "nodes=n1", check=1)
    assert again.stderr.startswith("Error creating the partition: Invalid partition name specified")
    job = cluster.submit("sleep 1000", "-p", "new", "-t", "3")
    assert cluster.wait_state(job, "RUNNING")["NodeList"] == "n1"
    refused = cluster.run("scontrol", "delete", "partitionname=new", check=1)
    assert "Partition is in use" in refused.stderr
    cluster.run("scancel", job, check=0)
    cluster.wait_state(job, "CANCELLED")
    poll(lambda: cluster.run("scontrol", "delete", "partitionname=new").returncode == 0)
    gone = cluster.run("scontrol", "delete", "partitionname=new", check=1)
    assert gone.stderr.startswith("delete_partition partitionname=new: Invalid partition name specified")
    for words, text in ((("delete", "foo=1"), "Invalid deletion entity: foo=1\n"),
                        (("create", "foo=1"), "scontrol: error: Invalid creation entity: foo=1\n"),
                        (("create",), "too few arguments for create keyword\n")):
        assert cluster.run("scontrol", *words, check=1).stderr == text


@pytest.mark.minke_only
def test_a_partition_gets_other_nodes(cluster):
    update(cluster, "partitionname=main", "nodes=n1")
    first = cluster.submit("sleep 1000", "--exclusive")
    cluster.wait_state(first, "RUNNING")
    second = cluster.submit("sleep 1000")
    assert poll(lambda: cluster.queue("-t", "PD", format="%r")) == ["Resources"]
    update(cluster, "partitionname=main", "nodes=ALL")
    assert cluster.wait_state(second, "RUNNING")["NodeList"] == "n2"
    assert cluster.state(first) == "RUNNING"


@pytest.mark.minke_only
def test_reconfigure_brings_partitions(cluster):
    cluster.run("sinfo", check=0)
    path = cluster.directory / "minke.toml"
    before = path.read_text()
    path.write_text(before + '\n[[partition]]\nname = "more"\nnodes = "n2"\n')
    cluster.run("scontrol", "reconfigure", check=0)
    job = cluster.submit("true", "-p", "more")
    assert cluster.wait_end(job)["NodeList"] == "n2"
    path.write_text(before)
    poll(lambda: cluster.run("scontrol", "reconfigure", check=0) and
         cluster.run("scontrol", "show", "partition", "more").returncode == 1)


def test_small_words(cluster):
    job = cluster.submit("scontrol pidinfo $$; sleep 1000", "-t", "5", "-J", "mine")
    cluster.wait_state(job, "RUNNING")
    out = cluster.work / f"slurm-{job}.out"
    text = poll(lambda: out.exists() and out.read_text().endswith("seconds\n") and out.read_text())
    assert re.fullmatch(rf"Slurm JobId={job} ends at .*\nJob remaining time is (300|2\d\d) seconds\n", text)
    assert cluster.run("scontrol", "pidinfo", 1, check=1).stderr == "Failed to locate job for requested pid\n"
    for what, count in ("partition", 1), ("node", 2), ("job", 1), ("reservation", 0):
        first = cluster.run("scontrol", "-v", "show", what, check=0).stdout.splitlines()[0]
        assert re.fullmatch(rf"last_update_time=\S+, records={count}", first)
    missing = update(cluster, "jobname=nosuch", "priority=5", check=1)
    assert missing.stderr == "scontrol: error: No jobs with name 'nosuch'\n"
    missing = update(cluster, "jobname=mine", "userid=1", "priority=5", check=1)
    assert missing.stderr == "scontrol: error: No jobs with user ID 1 and name 'mine'\n"
    update(cluster, "jobname=mine", "priority=77")
    assert cluster.job(job)["Priority"] == "77"
    refused = update(cluster, f"jobid={job}", "priority=0", check=1)
    assert refused.stderr == f"Job has already finished for job {job}\n"
    update(cluster, f"jobid={job}", "nice=5")
    assert cluster.job(job)["Nice"] == "5"
    said = cluster.run("scancel", "--verbose", "--batch", "--signal=CONT", job, check=0).stderr
    assert f"scancel: Signal 18 to batch job {job}\n" in said
    gone = cluster.run("scancel", "--interactive", 9999, check=1)
    assert gone.stderr == "scancel: error: Kill job error on job id 9999: Invalid job id specified\n"


def test_limits_of_memory_of_a_partition(cluster):
    """Who asks for more memory for each CPU than there may be gets CPUs for it; more than a node may give is refused."""
    cluster.run("scontrol", "update", "partitionname=main", "maxmempercpu=500", check=0)
    assert "MaxMemPerCPU=500" in partition(cluster)
    job = cluster.job(cluster.submit("true", "--hold", "--mem-per-cpu=900M"))
    assert (job["CPUs/Task"], job["MinMemoryCPU"]) == ("2", "450M")
    cluster.run("scontrol", "update", "partitionname=main", "maxmempernode=1024", check=0)
    assert "MaxMemPerNode=1024" in partition(cluster)
    refused = cluster.run("sbatch", "--mem=1500M", "--wrap=true", check=1)
    assert "Memory required by task is not available" in refused.stderr
    cluster.run("scontrol", "update", "partitionname=main", "maxmempernode=UNLIMITED", check=0)
    cluster.run("sbatch", "--hold", "--mem=1500M", "--wrap=true", check=0)


def test_time_beyond_the_limit(cluster):
    """A job whose partition has OverTimeLimit runs on past its time limit."""
    update(cluster, "partitionname=main", "overtimelimit=UNLIMITED")
    assert field(partition(cluster), "OverTimeLimit") == "UNLIMITED"
    job = cluster.submit("sleep 1000", "--time=1")
    cluster.wait_state(job, "RUNNING")
    cluster.kill()
    assert field(partition(cluster), "OverTimeLimit") == "UNLIMITED"
    poll(lambda: cluster.job(job)["RunTime"] >= "00:01:03", 90, "a minute, and more")
    assert cluster.state(job) == "RUNNING"
    update(cluster, "partitionname=main", "overtimelimit=0")
    cluster.wait_state(job, "TIMEOUT")


def test_billing_weights_of_a_partition(cluster):
    update(cluster, "partitionname=main", "tresbillingweights=CPU=2,Mem=1G")
    assert "TRESBillingWeights=CPU=2,Mem=1G" in partition(cluster)
    job = cluster.submit("sleep 600", "--mem=1G")
    cluster.wait_state(job, "RUNNING")
    assert "billing=3" in cluster.job(job)["ReqTRES"]
    cluster.kill()
    assert "TRESBillingWeights=CPU=2,Mem=1G" in partition(cluster)
    wrong = cluster.run("scontrol", "update", "partitionname=main", "tresbillingweights=cpu=abc", check=1)
    assert "slurm_update error" in wrong.stderr
    update(cluster, "partitionname=main", "tresbillingweights=")
    assert "TRESBillingWeights" not in partition(cluster)


@pytest.mark.minke_only
def test_a_configuration_made_after_the_start_is_read(new_cluster):
    """The daemon began without one; reconfigure reads what has been made since, and what is taken away is gone."""
    cluster = new_cluster("late")
    cluster.run("sinfo", check=0)
    path = cluster.home / "minke.toml"
    path.write_text("min_job_age = 77\n")
    doctor = cluster.run("minke", "doctor").stdout
    assert re.search(rf"problem +{path} has been made since the daemon read its configuration\n +-> scontrol reconfigure", doctor)
    cluster.run("scontrol", "reconfigure", check=0)
    assert "MinJobAge               = 77 sec" in cluster.run("scontrol", "show", "config", check=0).stdout
    assert "since the daemon read" not in cluster.run("minke", "doctor").stdout
    assert f"configuration  {path}\n" in cluster.run("minke", "status", check=0).stdout
    path.write_text("min_job_age = 78\n")
    assert f"{path} has changed since" in cluster.run("minke", "doctor").stdout
    path.unlink()
    assert f"{path} is gone since" in cluster.run("minke", "doctor").stdout
    cluster.run("scontrol", "reconfigure", check=0)
    assert "MinJobAge               = 300 sec" in cluster.run("scontrol", "show", "config", check=0).stdout
    assert "since the daemon read" not in cluster.run("minke", "doctor").stdout


@pytest.mark.minke_only
def test_doctor_tells_of_another_minke_config(cluster):
    cluster.run("sinfo", check=0)
    other = cluster.work / "other.toml"
    other.write_text(cluster.directory.joinpath("minke.toml").read_text())
    assert "the daemon goes by" not in cluster.run("minke", "doctor").stdout
    told = cluster.run("minke", "doctor", env={"MINKE_CONFIG": str(other)}).stdout
    assert f"MINKE_CONFIG is {other} here, but the daemon goes by {cluster.directory}/minke.toml" in told
