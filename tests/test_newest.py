"""What came with the newest releases of Slurm: ids that sort by time, what runs on a node, words about jobs that run."""
import re

import pytest

from cluster import poll


def test_a_sluid_names_its_job(cluster):
    first = cluster.sbatch("--hold", "--wrap=true")
    later = cluster.submit("echo $SLURM_JOB_SLUID; sleep 600")
    cluster.wait_state(later, "RUNNING")
    ids = dict(line.split() for line in cluster.queue(format="%i %s"))
    assert all(re.fullmatch("s[0-9A-HJKMNP-TV-Z]{13}", one) for one in ids.values())
    assert ids[str(first)] < ids[str(later)]
    assert cluster.job(ids[str(first)])["JobId"] == str(first)
    assert cluster.queue("-j", ids[str(later)], format="%A") == [str(later)]
    written = cluster.work / f"slurm-{later}.out"
    poll(lambda: written.exists() and written.read_text().startswith("s"), 60, "the job's own line")
    cluster.run("scancel", ids[str(later)], check=0)
    assert cluster.output(later).splitlines()[0] == ids[str(later)]
    shown = cluster.run("sacct", "-nXP", "-j", ids[str(later)], "-o", "jobid,sluid,originalsluid", check=0).stdout
    assert shown == f"{later}|{ids[str(later)]}|{ids[str(later)]}\n"


def test_what_runs_on_a_node(cluster):
    assert cluster.run("scontrol", "listjobs", check=1).stderr == "No slurmstepd's found on this node\n"
    job = cluster.submit("srun sleep 600", "-w", "n1")
    cluster.wait_state(f"{job}", "RUNNING")
    step = f"{job:<8} 0       \n"
    assert poll(lambda: step in (told := cluster.run("scontrol", "liststeps", "n1").stdout) and told) == f"JOBID    STEPID  \n{job:<8} batch   \n" + step
    assert cluster.run("scontrol", "listjobs", "n1", check=0).stdout == f"JOBID\n{job:<8}\n"
    assert cluster.run("scontrol", "listjobs", "n2", check=1).stdout == ""
    user = cluster.run("id", "-un").stdout.strip()
    assert f"JobId={job}.0:\nUser:\n{user}:*:" in cluster.run("scontrol", "getent", "n1", check=0).stdout
    assert re.fullmatch(r"n1: \S+:\d+\nn2: \S+:\d+\n", cluster.run("scontrol", "getaddrs", "n[1-2],x", check=0).stdout)
    assert "- topology: default\n" in cluster.run("scontrol", "show", "topoconf", check=0).stdout


def test_the_accounts_answer(cluster):
    host = re.search(r"AccountingStorageHost *= (\S+)", cluster.run("scontrol", "show", "config", check=0).stdout)[1]
    assert cluster.run("sacctmgr", "ping", check=0).stdout == f"slurmdbd(primary) at {host} is UP\n"
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=disk", check=0)
    own = cluster.run("sacctmgr", "-nP", "show", "cluster", "format=cluster", check=0).stdout.strip()
    for name, nodes in {own: ["n1"], "nosuch": []}.items():
        events = cluster.run("sacctmgr", "-nP", "list", "events", f"cluster={name}", "event=node", "format=nodename", check=0)
        assert events.stdout.split() == nodes, name
    cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=0)
    shown = cluster.run("sacctmgr", "-P", "show", "instance", check=0).stdout
    assert shown == "Cluster|NodeName|TimeStart|TimeEnd|InstanceId|InstanceType|Extra\n"


def test_a_running_job_may_be_nicer(cluster):
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", f"jobid={job}", "nice=50", "extra=a=1", check=0)
    assert (cluster.job(job)["Nice"], cluster.job(job)["Extra"]) == ("50", "a=1")
    cluster.run("scancel", "--admin-comment=was in the way", job, check=0)
    shown = cluster.run("sacct", "-nXP", "-j", job, "-o", "admincomment,extra", check=0).stdout
    assert shown == "was in the way|a=1\n"


def test_fields_of_records(cluster):
    job = cluster.sbatch("--hold", "--exclusive=user", "--segment=1", "--wrap=true")
    cluster.run("scancel", job, check=0)
    shown = cluster.run("sacct", "-nXP", "-j", job, "-o", "exclusive,oversubscribe,segmentsize,reqreservation", check=0).stdout
    assert shown == "USER|NO|1|\n"


def test_helps(cluster):
    assert cluster.run("sprio", "--helpformat", check=0).stdout.split()[:4] == ["%a", "%A", "%b", "%B"]
    assert "pending\n" in cluster.run("squeue", "--helpstate", check=0).stdout
    assert "drained\n" in cluster.run("sinfo", "--helpstate", check=0).stdout
    assert cluster.run("sacct", "--helpstate", check=0).stdout.split()[0] == "PENDING"


def test_options_of_others(cluster):
    assert cluster.run("sacct", "--completion", check=1).stderr == "Slurm job completion is disabled\n"
    cluster.run("sdiag", "--no-trunc", check=0)


def test_words_of_scripts(cluster):
    job = cluster.submit("#!/bin/sh\n#SBATCH --hold --comment=a\\ b\ntrue\n")
    assert cluster.job(job)["Comment"] == "a b"


def test_a_task_runs_though_more_nodes_are_named(cluster):
    for options in (("-n1",), ("-n1", "-N1")):
        done = cluster.run("srun", *options, "-w", "n1,n2", "printenv", "SLURM_STEP_NODELIST", check=0)
        assert done.stdout == "n1\n"


def test_accounts_and_qos_are_found_however_they_are_written(cluster):
    user = cluster.run("id", "-un").stdout.strip()
    cluster.run("sacctmgr", "-i", "add", "account", "Physics", check=0)
    cluster.run("sacctmgr", "-i", "add", "user", user, "account=PHYSICS", check=0)
    job = cluster.sbatch("--hold", "-A", "physics", "--wrap=true")
    assert cluster.queue("-A", "nosuch,PHYSICS", "-q", "NORMAL", format="%i") == [str(job)]
    assert "physics|" in cluster.run("sshare", "-nP", "-A", "PHYSICS", check=0).stdout
    cluster.run("scancel", "-A", "PHYSICS", "-q", "Normal", check=0)
    assert cluster.job(job)["JobState"] == "CANCELLED"
    assert cluster.run("sacct", "-nXP", "-j", job, "-A", "Physics", "-o", "jobid", check=0).stdout == f"{job}\n"


def test_the_least_limit_alone_is_the_limit(cluster):
    job = cluster.sbatch("--hold", "-t", "60", "--wrap=true")
    cluster.run("scancel", job, check=0)
    found = [cluster.run("sacct", "-nXP", "-j", job, *limits, "-o", "jobid", check=0).stdout.strip()
             for limits in (("-k", "60"), ("-k", "59"), ("-k", "59", "-K", "60"), ("-K", "60"))]
    assert found == [str(job), "", str(job), str(job)]


def test_a_job_that_has_ended_is_not_held(cluster):
    job = cluster.sbatch("--hold", "--wrap=true")
    cluster.run("scancel", job, check=0)
    for verb in ("hold", "uhold", "release"):
        done = cluster.run("scontrol", verb, job, check=1)
        assert done.stderr.startswith(f"Job has already finished for job {job}\n"), verb


def test_debug_flags_are_spelt_right(cluster):
    for words in (("+backfill", "-Gres"), ("+",), ("+Steps,cpu_bind", "nodes=n1")):
        cluster.run("scontrol", "setdebugflags", *words, check=0)
    wrong = cluster.run("scontrol", "setdebugflags", "+backfill,odd", check=1)
    assert wrong.stderr == "scontrol: error: Invalid DebugFlag: odd\ninvalid debug flag: +backfill,odd\n"
    assert "Usage: setdebugflags" in cluster.run("scontrol", "setdebugflags", "odd", check=1).stderr


def test_partitions_that_scontrol_creates(cluster):
    cluster.run("scontrol", "create", "partitionname=extra", check=0)
    shown = cluster.run("scontrol", "-o", "show", "partition", "extra", check=0).stdout
    assert " MinNodes=1 " in shown and shown.endswith(" TRES=(null)\n")
    refused = cluster.run("scontrol", "update", "partitionname=extra", "preemptmode=gang", check=1)
    assert refused.stderr == "scontrol: error: PreemptMode=GANG is a cluster-wide option and cannot be set at partition level\n"


def test_several_components_are_not_asynchronous(cluster):
    job = cluster.submit("srun --async -n1 true : -n1 true; echo $?", "-n2")
    assert cluster.output(job) == "srun: error: --async is for a step of one component: give each component an srun of its own\n1\n"


def test_states_alone_are_asked_for_alone(cluster):
    job = cluster.sbatch("--hold", "--wrap=true")
    assert cluster.run("squeue", "--only-job-state", "-h", "-j", job, "-o", "%i %T", check=0).stdout == f"{job} PENDING\n"
    for other in (("-l",), ("-u", "root"), ("-p", "main"), ("--me",), ("--start",)):
        assert "only works alone" in cluster.run("squeue", "--only-job-state", *other, check=1).stderr, other


def test_ports_of_a_job_take_its_step_manager(cluster):
    for command in (("sbatch", "--hold", "--wrap=true"), ("salloc", "true")):
        refused = cluster.run(command[0], "--resv-ports=2", *command[1:], check=1)
        assert "Slurmstepd step management must be enabled" in refused.stderr
    cluster.sbatch("--hold", "--resv-ports", "--stepmgr", "--wrap=true")
    cluster.run("srun", "--resv-ports", "true", check=0)


def test_sstat_begins_with_what_a_step_has(cluster):
    job = cluster.submit("sleep 600")
    cluster.wait_state(job, "RUNNING")
    assert cluster.run("sstat", "-P", "-a", "-j", job, check=0).stdout.startswith("JobID|AllocTRES|MaxVMSize|")
    sluid = cluster.queue("-j", str(job), format="%s")[0]
    assert cluster.run("sstat", "-nP", "-a", "-j", job, "-o", "jobid,sluid", check=0).stdout == f"{job}.batch|{sluid}\n"
    assert "SLUID" in cluster.run("sstat", "--helpformat", check=0).stdout.split()


@pytest.mark.minke_only
@pytest.mark.machine(nodes=5, cpus=1)
def test_a_job_may_have_one_of_several_numbers_of_nodes(cluster):
    for words, pending, running in (("1,3", "1,3", "3"), ("1-2,9", "1-2,9", "2"), ("2-5:2", "2,4", "4"), ("3,1,2", "1-3", "3")):
        held = cluster.sbatch("--hold", "--mem=10", "-N", words, "--wrap=true")
        assert cluster.job(held)["NumNodes"] == pending, words
        cluster.run("scontrol", "release", held, check=0)
        assert cluster.wait_end(held)["NumNodes"] == running, words
    cluster.run("srun", "--mem=10", "-N", "2-3:1", "true", check=0)
    held = cluster.sbatch("--hold", "-N", "2,5", "--mem=10", "--wrap=true")
    assert cluster.run("squeue", "-h", "-j", held, "-O", "numnodes:.2,maxnodes:.2", check=0).stdout == " 2 5\n"
    cluster.run("scontrol", "update", f"jobid={held}", "numnodes=2", check=0)
    assert cluster.job(held)["NumNodes"] == "2-2"
    assert "can't run 3 processes on 4 nodes" in cluster.run("sbatch", "--hold", "-N", "4,5", "-n", "3", "--wrap=true", check=0).stderr
    for words in ("1,x", "1,3%2", "2-3:0"):
        assert cluster.run("sbatch", "-N", words, "--wrap=true").returncode == 255, words


def test_what_is_said_of_new_associations(cluster):
    def said(*words, status=0):
        return cluster.run("sacctmgr", "-i", "add", *words, check=status).stdout
    name = cluster.run("scontrol", "show", "config").stdout.split("ClusterName ")[1].split()[1]
    assert said("account", "aa").endswith(f" Associations =\n  C = {name:<10} A = {'aa':<20}\n")
    assert said("account", "aa", status=1) == f" Already existing account aa on cluster {name}\n"
    assert said("user", "daemon", "account=aa", "partition=main") == (
        f" Adding User(s)\n  daemon\n Settings\n Associations =\n  C = {name:<10} A = {'aa':<20} U = {'daemon':<9} P = main\n")
