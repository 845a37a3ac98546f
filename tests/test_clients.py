"""The command lines of programs that drive Slurm, as they send them, and what they read from the answers."""
import getpass
import re

import pytest

from cluster import poll

USER = getpass.getuser()
US, RS = "\x1f", "\x1e"


def test_submitit(cluster):
    script = cluster.script("#SBATCH --signal=USR2@90\n#SBATCH --open-mode=append\n#SBATCH --wckey=submitit\n#SBATCH --time=5\n"
                            "#SBATCH --output=%j_0_log.out\n#SBATCH --error=%j_0_log.err\n"
                            "srun --unbuffered --output %j_%t_log.out --error %j_%t_log.err echo works\n")
    text = cluster.run("sbatch", script, check=0).stdout
    job = re.search(r"job (?P<id>[0-9]+)", text)["id"]
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / f"{job}_0_log.out").read_text() == "works\n"
    if not cluster.is_reference:
        lines = cluster.run("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", job, check=0).stdout.splitlines()
        assert lines[0] == "JobID|State|NodeList" and f"{job}|COMPLETED|n1" in lines


@pytest.mark.minke_only
def test_submitit_arrays(cluster):
    job = cluster.submit("sleep 600", "--array=0-3%2")
    poll(lambda: len(cluster.queue("-t", "R")) == 2)
    ids = {line.split("|")[0] for line in
           cluster.run("sacct", "-o", "JobID,State,NodeList", "--parsable2", "-j", job, check=0).stdout.splitlines()[1:]}
    assert {f"{job}_0", f"{job}_1", f"{job}_[2-3%2]"} <= {one for one in ids if "." not in one}
    cluster.run("scancel", job, check=0)


@pytest.mark.minke_only
def test_snakemake(cluster):
    text = cluster.run("sbatch", "--parsable", "--job-name", "a-uuid", "--output", "%j.log", "--export=ALL", "--comment",
                       "rule_x_wildcards_y", "-A", "def-prof", "-p", "main", "-t", "10", "--mem", "100", "--ntasks=1",
                       "--cpus-per-task=1", "-D", str(cluster.work), "--wrap=echo snake", check=0).stdout
    job = text.strip().split(";")[0]
    cluster.wait_state(job, "COMPLETED")
    sacct = cluster.run("sacct", "-X", "--parsable2", "--clusters", "all", "--noheader", "--format=JobIdRaw,State",
                        "--starttime", "now-2days", "--endtime", "now", "--name", "a-uuid", check=0)
    assert sacct.stdout == f"{job}|COMPLETED\n"
    squeue = cluster.run("squeue", "--format=%i|%T", "--states=all", "--noheader", "--name", "a-uuid", check=0)
    assert squeue.stdout == f"{job}|COMPLETED\n"
    config = cluster.run("scontrol", "show", "config", check=0).stdout
    assert re.search(r"MinJobAge\s+= 300 sec", config) and re.search(r"MaxArraySize\s+= \d+", config)


def test_nextflow(cluster):
    script = cluster.script("#SBATCH -J nf-task\n#SBATCH -o .command.log\n#SBATCH --no-requeue\n#SBATCH --signal B:USR2@30\n"
                            "#SBATCH -t 00:05:00\ntrap 'true' USR2\necho flows\n", ".command.run")
    text = cluster.run("sbatch", script, check=0).stdout
    job = re.search(r"Submitted batch job (\d+)", text)[1]
    cluster.wait_state(job, "COMPLETED")
    assert (cluster.work / ".command.log").read_text() == "flows\n"
    lines = cluster.run("squeue", "--noheader", "-o", "%i %t", "-t", "all", "-u", USER, check=0).stdout.splitlines()
    assert f"{job} CD" in lines


def test_batchspawner(cluster):
    text = cluster.run("sbatch", "--parsable", input="#!/bin/bash\nsleep 60\n", check=0).stdout
    job = text.strip()
    cluster.wait_state(job, "RUNNING")
    line = cluster.run("squeue", "-h", "-j", job, "-o", "%T %B", check=0).stdout.rstrip("\n")
    assert line.startswith("RUNNING")
    assert re.search(r"\s+((?:[\w_-]+\.?)+)$", line)[1] == "n1"


def test_dask_jobqueue(cluster):
    script = cluster.script("#SBATCH -J dask-worker\n#SBATCH -n 1\n#SBATCH --cpus-per-task=2\n#SBATCH --mem=200M\n#SBATCH -t 00:30:00\n"
                            "#SBATCH -o dask-%J.out\necho worker\n")
    job = re.search(r"\d+", cluster.run("sbatch", script, check=0).stdout)[0]
    cluster.wait_state(job, "COMPLETED")
    assert [path.read_text() for path in cluster.work.glob("dask-*.out")] == ["worker\n"]


def test_editor_helpers(cluster):
    job = cluster.submit("true", "--hold", "--job-name=x")
    done = cluster.run("squeue", "--me", "--states=R,PD,S,CF,RF,RH,RQ", "-h", "-O", "JobId: ,Name: ,State: ,NodeList: ", check=0)
    assert done.stdout.split() == [str(job), "x", "PENDING"]


OPEN_ONDEMAND = ("Account JobID BatchHost MinCpus NumCPUs MinTmpDisk NumNodes EndTime Dependency Feature ArrayJobID GroupName "
                 "GroupID OverSubscribe Sockets JobArrayID Cores Name Threads Comment ArrayTaskID TimeLimit TimeLeft MinMemory "
                 "TimeUsed ReqNodes NodeList Command Contiguous QOS Partition PriorityLong Reason StartTime StateCompact State "
                 "UserName UserID Reservation SubmitTime WCKey Licenses ExcNodes CoreSpec Nice SchedNodes SCT WorkDir "
                 "tres-alloc tres-per-node").split()


def test_open_ondemand(cluster):
    job = cluster.submit("true", "--hold", "--job-name=portal", "--account=def-prof")
    fields = ",".join(f"{name}:{US}" for name in OPEN_ONDEMAND)
    done = cluster.run("squeue", "--all", "--states=all", "--noconvert", "-O", fields, "-j", job, check=0)
    header, row = done.stdout.split("\n")[:2]
    assert header.endswith(US) and row.endswith(US)
    values = dict(zip(OPEN_ONDEMAND, row.split(US)))
    assert len(row.split(US)) == len(OPEN_ONDEMAND) + 1 == len(header.split(US))
    expected = {"JobID": str(job), "Name": "portal", "StateCompact": "PD", "UserName": USER, "Partition": "main",
                "Reason": "JobHeldUser", "NumNodes": "1", "WorkDir": str(cluster.work), "Account": "def-prof"}
    assert {name: values[name] for name in expected} == expected
    assert cluster.run("sinfo", "-aho", "%F/%C", check=0).stdout == "0/2/0/2/0/4/0/4\n"
    lines = cluster.run("sinfo", "-ahNO", "nodehost:100,gres:512,gresused:512,statelong", check=0).stdout.splitlines()
    assert len(lines) == 2
    assert cluster.run("scontrol", "show", "part", "-o", check=0).stdout.startswith("PartitionName=main ")
    cluster.run("scontrol", "release", job, check=0)
    cluster.wait_state(job, "COMPLETED")


@pytest.mark.minke_only
def test_open_ondemand_history(cluster):
    job = cluster.submit("true", "--job-name=portal")
    cluster.wait_end(job)
    names = ("User,Group,JobId,JobName,Elapsed,ReqMem,AllocCPUS,ReqCPUS,Timelimit,State,TotalCPU,MaxRSS,Partition,Submit,Start,"
             "End,ReqTRES")
    done = cluster.run("sacct", "-P", "--delimiter", US, "-n", "--units", "G", "--allocations", "-o", names, "-j", job, check=0)
    row, = done.stdout.splitlines()
    values = dict(zip(names.split(","), row.split(US)))
    assert values["JobId"] == str(job) and values["State"] == "COMPLETED" and values["AllocCPUS"] == "1"


@pytest.mark.minke_only
def test_jobstats_and_xdmod(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    names = ("jobidraw,start,end,cluster,alloctres,admincomment,user,account,state,nnodes,ncpus,reqmem,qos,partition,"
             "timelimitraw,jobname")
    row, = cluster.run("sacct", "-P", "-X", "-n", "-o", names, "-j", job, check=0).stdout.splitlines()
    assert len(row.split("|")) == len(names.split(",")) and row.startswith(f"{job}|")
    names = ("jobid,jobidraw,cluster,partition,qos,account,group,gid,user,uid,submit,eligible,start,end,elapsed,exitcode,state,"
             "nnodes,ncpus,reqcpus,reqmem,reqtres,alloctres,timelimit,nodelist,jobname")
    done = cluster.run("sacct", "--allusers", "--parsable2", "--noheader", "--allocations", "--duplicates", "--format", names,
                       "--starttime", "now-1hour", "--endtime", "now", check=0)
    values = dict(zip(names.split(","), done.stdout.splitlines()[0].split("|")))
    assert values["jobid"] == str(job) and values["exitcode"] == "0:0" and values["nodelist"] == "n1"


@pytest.mark.minke_only
def test_reportseff(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    offered = cluster.run("sacct", "--helpformat", check=0).stdout.split()
    assert {"JobID", "State", "Elapsed", "TotalCPU", "REQMEM", "MaxRSS", "Timelimit"} <= set(offered) | {"REQMEM"}
    done = cluster.run("sacct", "--parsable", "-n", "--delimiter=^|^", "--format=JobID,State,Elapsed", "--jobs", job, check=0)
    assert done.stdout.splitlines()[0].startswith(f"{job}^|^COMPLETED^|^00:00:")


def test_exporters_and_viewers(cluster):
    job = cluster.submit("true", "--hold", "--job-name=x")
    done = cluster.run("squeue", "-h", "-o", " %A|%u|%T|%C", check=0)
    assert done.stdout.strip() == f"{job}|{USER}|PENDING|1"
    fields = "jobid,name,username,state,reason,partition,timeused,timelimit,stdout,stderr,workdir"
    form = ",".join(f"{name}:###turm###" for name in fields.split(","))
    row = cluster.run("squeue", "--array", "--noheader", "--Format", form, check=0).stdout.rstrip("\n")
    values = dict(zip(fields.split(","), row.split("###turm###")))
    assert values["jobid"] == str(job) and values["workdir"] == str(cluster.work)


def test_prrte(cluster):
    """Open MPI's runtime asks for one daemon on each node of the allocation."""
    job = cluster.submit("srun --ntasks-per-node=1 --kill-on-bad-exit --mpi=none --cpu-bind=none --nodes=2 --nodelist=n1,n2 "
                         "--ntasks=2 sh -c 'echo $SLURM_NODEID'", "--nodes=2", "--ntasks=4")
    assert sorted(line for line in cluster.output(job).splitlines() if line.isdigit()) == ["0", "1"]


def test_milatools(cluster):
    done = cluster.run("salloc", "true", check=0)
    assert re.search(r"job allocation [0-9]+", done.stderr)


def test_skypilot(cluster):
    """What its adaptor of 0.14.1 sends over ssh, and what it reads from the answers."""
    script = cluster.script("#SBATCH --nodes=2\n#SBATCH --time=10\nsleep 600\n")
    text = cluster.run("sbatch", "--partition=main", "--job-name=sky", script, check=0).stdout
    job = re.search(r"Submitted batch job (\d+)", text)[1]
    cluster.wait_state(job, "RUNNING")
    ask = lambda *words: cluster.run(*words, check=0).stdout.split()
    assert ask("squeue", "-h", "--only-job-state", "--jobs", job, "-o", "%T") == ["RUNNING"]
    assert ask("squeue", "-h", "--name", "sky", "-o", "%T") == ["RUNNING"]
    assert ask("squeue", "-h", "--jobs", job, "--states", "all", "-o", "%r") == ["None"]
    assert ask("squeue", "-h", "--jobs", job, "-o", "%N") == ["n[1-2]"]
    assert ask("sinfo", "-h", "--Node", "-o", f"%N{US}%t{US}%P")[0].split(US)[0] == "n1"
    assert any(word.startswith("NodeAddr=") for word in ask("scontrol", "show", "node=n1"))
    assert f"StepId={job}.batch" in poll(lambda: ask("scontrol", "-o", "show", "step", job))
    assert ask("srun", "--unbuffered", "--overlap", f"--jobid={job}", "--nodes=1", "--ntasks=1", "--nodelist=n2",
               "printenv", "SLURM_NODEID", "SLURM_JOB_ID") == ["0", job]
    cluster.run("scancel", "--name", "sky", check=0)
    cluster.wait_end(job)
    gone = cluster.run("scancel", "--full", "--signal", "TERM", "99999999", check=1)
    assert "Invalid job id specified" in gone.stderr
