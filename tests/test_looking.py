"""squeue, sinfo, scontrol show, sacct, seff: what they print, in Slurm's columns."""
import getpass
import json
import re
import time

import pytest

from cluster import poll

USER = getpass.getuser()


def seconds_of(text: str) -> float:
    """Of a time as scontrol shows it."""
    return time.mktime(time.strptime(text, "%Y-%m-%dT%H:%M:%S"))


def test_queue_as_first_seen(cluster):
    job = cluster.submit("true", "--hold", "--job-name=a-rather-long-name")
    assert cluster.run("squeue", check=0).stdout.splitlines() == [
        "             JOBID PARTITION     NAME     USER ST       TIME  NODES NODELIST(REASON)",
        f"{job:>18}      main a-rather {USER[:8]:>8} PD       0:00      1 (JobHeldUser)"]


def test_long_queue_format(cluster):
    job = cluster.submit("true", "--hold", "--time=5", "--job-name=x")
    lines = cluster.run("squeue", "--long", check=0).stdout.splitlines()
    assert re.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}$", lines[0])
    assert lines[1] == "             JOBID PARTITION     NAME     USER    STATE       TIME TIME_LIMI  NODES NODELIST(REASON)"
    assert lines[2] == f"{job:>18}      main        x {USER[:8]:>8}  PENDING       0:00      5:00      1 (JobHeldUser)"


def test_queue_formats(cluster):
    job = cluster.submit("true", "--hold", "--job-name=x", "--time=1-2:3:4", "--comment=why", "--mem=100M", "--ntasks=2")
    assert cluster.queue(format="%i|%.10j|%5t|%T|%r|%R|%u|%P|%C|%D|%l|%M|%m|%k|%Z") == [
        f"{job}|         x|PD   |PENDING|JobHeldUser|(JobHeldUser)|{USER}|main|2|1|1-02:04:00|0:00|100M|why|{cluster.work}"] or \
        cluster.is_reference
    done = cluster.run("squeue", "-h", "-O", "jobid:8,name:.5,state:10,reasonlist", check=0)
    assert done.stdout.startswith(f"{job:<8}    xPENDING   (JobHeldUser)")
    separated = cluster.run("squeue", "-h", "-O", "jobid:###,name:###,state:###", check=0)
    assert separated.stdout.strip() == f"{job}###x###PENDING###"


def test_queue_selection(cluster):
    one = cluster.submit("true", "--hold", "--job-name=one")
    two = cluster.submit("true", "--hold", "--job-name=two")
    assert cluster.queue("--name=two", format="%i") == [str(two)]
    assert cluster.queue(f"--jobs={one},{two}", format="%i") != []
    assert cluster.queue("--me", format="%j") in (["one", "two"], ["two", "one"])
    assert cluster.queue("--user=nobody") == []
    assert cluster.queue("--states=RUNNING") == []
    assert cluster.queue("-t", "PD", "--partition=main", "--sort=i", format="%i") == [str(one), str(two)]
    assert cluster.queue("--sort=-i", format="%i") == [str(two), str(one)]


def test_ended_jobs_are_shown_on_request(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    assert cluster.queue() == []
    assert cluster.queue("--states=all") == [f"{job} COMPLETED"]
    assert cluster.queue("--states=CD") == [f"{job} COMPLETED"]


def test_queue_environment(cluster):
    job = cluster.submit("true", "--hold")
    assert cluster.run("squeue", env={"SQUEUE_FORMAT": "%i %T"}, check=0).stdout == f"JOBID STATE\n{job} PENDING\n"


def test_expected_starts(cluster):
    holder = cluster.submit("sleep 600", "--nodes=2", "--exclusive", "--time=10")
    cluster.wait_state(holder, "RUNNING")
    cluster.submit("true", "--nodes=2", "--exclusive")
    lines = cluster.run("squeue", "--start", check=0).stdout.splitlines()
    assert lines[0].split() == ["JOBID", "PARTITION", "NAME", "USER", "ST", "START_TIME", "NODES", "SCHEDNODES", "NODELIST(REASON)"]
    assert len(lines) == 2


@pytest.mark.machine(nodes=2, cpus=2, memory=2000, features="fast")
@pytest.mark.minke_only
def test_nodes_with_features(cluster):
    assert cluster.run("sinfo", "-h", "-o", "%f", check=0).stdout == "fast\n"
    job = cluster.submit("true", "--constraint=fast")
    cluster.wait_state(job, "COMPLETED")


def test_sinfo(cluster):
    assert cluster.run("sinfo", check=0).stdout == ("PARTITION AVAIL  TIMELIMIT  NODES  STATE NODELIST\n"
                                                    "main*        up   infinite      2   idle n[1-2]\n")
    assert cluster.run("sinfo", "-s", check=0).stdout == ("PARTITION AVAIL  TIMELIMIT   NODES(A/I/O/T) NODELIST\n"
                                                          "main*        up   infinite          0/2/0/2 n[1-2]\n")
    assert cluster.run("sinfo", "-aho", "%F/%C", check=0).stdout == "0/2/0/2/0/4/0/4\n"
    assert cluster.run("sinfo", "-hN", "-o", "%N %t %c %m %P", check=0).stdout == "n1 idle 2 2000 main*\nn2 idle 2 2000 main*\n"


def test_sinfo_under_load(cluster):
    one = cluster.submit("sleep 600", "--nodelist=n1", "--exclusive")
    two = cluster.submit("sleep 600", "--nodelist=n2", "--ntasks=1", "--mem=100M")
    cluster.wait_state(one, "RUNNING")
    cluster.wait_state(two, "RUNNING")
    assert cluster.run("sinfo", "-hN", "-o", "%N %t %T %C", check=0).stdout == "n1 alloc allocated 2/0/0/2\nn2 mix mixed 1/1/0/2\n"
    shown = cluster.run("scontrol", "-o", "show", "node", "n2", check=0).stdout
    assert "State=MIXED" in shown and "CPUAlloc=1" in shown and "AllocMem=100" in shown


def test_show_job(cluster):
    job = cluster.submit("exit 3", "--job-name=named", "--time=5", "--mem=100M")
    cluster.wait_end(job)
    fields = cluster.job(job)
    expected = {"JobId": str(job), "JobName": "named", "JobState": "FAILED", "Reason": "NonZeroExitCode", "ExitCode": "3:0",
                "TimeLimit": "00:05:00", "Partition": "main", "NodeList": "n1", "BatchHost": "n1", "NumNodes": "1",
                "NumCPUs": "1", "MinMemoryNode": "100M", "WorkDir": str(cluster.work), "Requeue": "1", "Restarts": "0",
                "Command": f"{cluster.work}/job.sh", "StdOut": f"{cluster.work}/slurm-{job}.out",
                "StdErr": "", "StdIn": "/dev/null", "BatchFlag": "1"}
    assert {name: fields.get(name) for name in expected} == expected
    assert re.match(rf"{USER}\(\d+\)", fields["UserId"])
    assert re.search(r"cpu=1,mem=100M,node=1,billing=1", fields["AllocTRES"])
    assert cluster.run("scontrol", "show", "job", job, check=0).stdout.startswith(f"JobId={job} JobName=named\n   UserId=")


def test_show_job_script(cluster):
    script = cluster.script("echo the script")
    job = cluster.sbatch("--hold", script)
    assert "echo the script" in cluster.run("scontrol", "write", "batch_script", job, "-", check=0).stdout


def test_show_node_and_partition(cluster):
    node = cluster.run("scontrol", "show", "node", "n1", check=0).stdout
    for part in ("NodeName=n1 ", "CPUAlloc=0 ", "CPUTot=2 ", "RealMemory=2000 ", "State=IDLE ", "Partitions=main "):
        assert part in node
    partition = cluster.run("scontrol", "show", "partition", "main", check=0).stdout
    for part in ("PartitionName=main", "Default=YES", "Nodes=n[1-2]", "State=UP", "TotalCPUs=4", "TotalNodes=2", "MaxTime=UNLIMITED"):
        assert part in partition


def test_show_config(cluster):
    lines = cluster.run("scontrol", "show", "config", check=0).stdout.splitlines()
    values = dict(re.split(r"\s*=\s*", line, maxsplit=1) for line in lines if "=" in line)
    assert values["MinJobAge"] == "300 sec" and values["KillWait"] == "2 sec"
    assert int(values["MaxArraySize"]) > 1000 and values["ClusterName"]


def test_hostnames(cluster):
    assert cluster.run("scontrol", "show", "hostnames", "a[1-3,5],b", check=0).stdout == "a1\na2\na3\na5\nb\n"
    assert cluster.run("scontrol", "show", "hostnames", env={"SLURM_NODELIST": "n[08-10]"}, check=0).stdout == "n08\nn09\nn10\n"
    assert cluster.run("scontrol", "show", "hostlist", "a1,a2,a3", check=0).stdout == "a[1-3]\n"


def test_ping_and_version(cluster):
    assert "is UP" in cluster.run("scontrol", "ping", check=0).stdout
    for command in ("sbatch", "srun", "squeue", "sinfo", "scontrol", "scancel", "salloc", "sacct"):
        assert re.match(r"slurm\S* \d+\.\d+", cluster.run(command, "--version", check=0).stdout), command


@pytest.mark.minke_only
def test_sacct(cluster):
    job = cluster.submit("srun true; srun false; exit 3", "--job-name=named", "--account=def-prof")
    cluster.wait_end(job)
    lines = cluster.run("sacct", "-j", job, check=0).stdout.splitlines()
    assert lines[0] == "JobID           JobName  Partition    Account  AllocCPUS      State ExitCode "
    assert lines[1] == "------------ ---------- ---------- ---------- ---------- ---------- -------- "
    assert lines[2] == f"{job:<12}      named       main   def-prof          1     FAILED      3:0 "
    rows = cluster.sacct("-j", job, format="JobID,JobName,State,ExitCode")
    assert rows == [[f"{job}", "named", "FAILED", "3:0"], [f"{job}.batch", "batch", "FAILED", "3:0"],
                    [f"{job}.extern", "extern", "COMPLETED", "0:0"], [f"{job}.0", "true", "COMPLETED", "0:0"],
                    [f"{job}.1", "false", "FAILED", "1:0"]] or \
        rows == [[f"{job}", "named", "FAILED", "3:0"], [f"{job}.batch", "batch", "FAILED", "3:0"],
                 [f"{job}.0", "true", "COMPLETED", "0:0"], [f"{job}.1", "false", "FAILED", "1:0"]]
    assert cluster.sacct("-X", "-j", job) == [[str(job), "FAILED", "3:0"]]


@pytest.mark.minke_only
def test_sacct_measures(cluster):
    job = cluster.submit("/usr/bin/python3 -c 'x = bytearray(100 << 20)\nfor i in range(0, len(x), 4096): x[i] = 1\n"
                         "import time; t = time.process_time()\nwhile time.process_time() - t < 1: pass\n"
                         "print(time.process_time())'")
    used = float(cluster.output(job))
    batch, = [row for row in cluster.sacct("-j", job, format="JobID,MaxRSS,TotalCPU,ElapsedRaw") if row[0].endswith(".batch")]
    # In MiB where it is a whole number of them.
    assert 100 << 10 <= int(batch[1][:-1]) * {"K": 1, "M": 1024}[batch[1][-1]] <= 200 << 10
    # Beside Python's own, the shell's and of what was before and after it.
    minutes, seconds = re.fullmatch(r"(\d\d):(\d\d\.\d{3})", batch[2]).groups()
    assert used - 0.01 <= int(minutes) * 60 + float(seconds) <= used + 3
    times = cluster.job(job)
    assert 1 <= int(batch[3]) <= seconds_of(times["EndTime"]) - seconds_of(times["StartTime"]) + 1


@pytest.mark.minke_only
def test_sacct_of_an_array(cluster):
    job = cluster.submit("exit $SLURM_ARRAY_TASK_ID", "--array=0-2")
    cluster.wait_end(job)
    assert sorted(cluster.sacct("-X", "-j", job)) == [
        [f"{job}_0", "COMPLETED", "0:0"], [f"{job}_1", "FAILED", "1:0"], [f"{job}_2", "FAILED", "2:0"]]
    assert cluster.sacct("-X", "-j", f"{job}_1") == [[f"{job}_1", "FAILED", "1:0"]]


@pytest.mark.minke_only
def test_sacct_selection(cluster):
    good, bad = cluster.submit("true", "--job-name=good"), cluster.submit("false", "--job-name=bad")
    cluster.wait_end(good)
    cluster.wait_end(bad)
    waiting = cluster.submit("true", "--hold", "--job-name=later")
    ids = lambda *options: sorted(int(row[0]) for row in cluster.sacct("-X", *options))  # noqa: E731
    assert ids() == [good, bad]  # what was never eligible is not shown unless asked for, as in Slurm
    assert ids("-j", waiting) == [waiting]
    assert ids("--state=FAILED", "-S", "now-1hour", "-E", "now") == [bad]
    assert ids("--name=good") == [good]
    assert ids("-S", "now-1hour", "-E", "now-30minutes") == []
    assert ids("-u", USER) == [good, bad]


@pytest.mark.minke_only
def test_sacct_of_cancelled_jobs(cluster):
    import os
    job = cluster.submit("true", "--hold")
    cluster.run("scancel", job, check=0)
    assert cluster.sacct("-X", "-j", job, format="State") == [[f"CANCELLED by {os.getuid()}"]]


@pytest.mark.minke_only
def test_seff(cluster):
    job = cluster.submit("/usr/bin/python3 -c 'import time; t = time.process_time()\nwhile time.process_time() - t < 1: pass'",
                         "--mem=100M")
    cluster.wait_end(job)
    lines = cluster.run("seff", job, check=0).stdout.splitlines()
    assert lines[0] == f"Job ID: {job}"
    assert re.match(r"Cluster: \S+$", lines[1])
    assert re.match(r"User/Group: \S+/\S+$", lines[2])
    assert lines[3:5] == ["State: COMPLETED (exit code 0)", "Cores: 1"]
    assert re.match(r"CPU Utilized: 00:00:0[1-4]$", lines[5])
    assert re.match(r"CPU Efficiency: \d+\.\d\d% of 00:0\d:\d\d core-walltime$", lines[6])
    assert re.match(r"Job Wall-clock time: 00:0\d:\d\d$", lines[7]) and lines[7].split()[-1] == lines[6].split()[-2]
    assert re.match(r"Memory Utilized: \d+\.\d\d [KM]B$", lines[8])
    assert re.match(r"Memory Efficiency: \d+\.\d\d% of 100\.00 MB", lines[9])


@pytest.mark.minke_only
def test_reason_says_what_is_missing(cluster):
    holder = cluster.submit("sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    job = cluster.submit("true")
    poll(lambda: cluster.queue("-j", str(job), format="%r") == ["Resources"])
    behind = cluster.submit("true", "--nice=100")
    poll(lambda: cluster.queue("-j", str(behind), format="%r") in (["Priority"], ["Resources"]))


def test_monitors_command_lines(cluster):
    """Lines of collectors in use: telegraf scripts, pestat and the like."""
    job = cluster.submit("true", "--hold", "--job-name=x")
    done = cluster.run("squeue", "-rh", "-O", "state,username,Partition,Account,Qos,NumTasks,tres-alloc:70,Reason:70", check=0)
    assert done.stdout.split()[0] == "PENDING" and "JobHeldUser" in done.stdout
    lines = cluster.run("sinfo", "-h", "-e", "-o", "%R %m %c %f %G %T %D %C", check=0).stdout.splitlines()
    assert lines == ["main 2000 2 (null) (null) idle 2 0/4/0/4"]
    lines = cluster.run("sinfo", "-Nh", "-O", "NodeHost,StateLong,SocketCoreThread,CPUsState,CPUsLoad,Memory,AllocMem,FreeMem,Disk,"
                        "Weight,Features:100,Gres:100,GresUsed:100,Reason:50", check=0).stdout.splitlines()
    assert len(lines) == 2 and all(line.split()[1] == "idle" and line.split()[3] == "0/2/0/2" for line in lines)
    assert cluster.queue("-j", str(job), format="%A|%u|%T|%C") == [f"{job}|{USER}|PENDING|1"]


@pytest.mark.minke_only
def test_clusters_have_names(cluster):
    cluster.submit("true", "--hold")
    assert cluster.run("squeue", "-M", "minke", "-o", "%T", check=0).stdout == "CLUSTER: minke\nSTATE\nPENDING\n"
    assert cluster.run("squeue", "-h", "-M", "all", "-o", "%T", check=0).stdout == "PENDING\n"
    assert cluster.run("sinfo", "-M", "minke", "-o", "%R", check=0).stdout == "CLUSTER: minke\nPARTITION\nmain\n"
    for command in ("squeue", "sinfo", "sprio", "sshare", "sdiag"):
        done = cluster.run(command, "-M", "elsewhere")
        assert done.returncode == 1 and done.stdout == ""
        assert done.stderr.splitlines()[0] == f"{command}: error: No cluster 'elsewhere' known by database."
    job = cluster.submit("true", "--hold")
    for command in (("scancel", job), ("scontrol", "release", job), ("scontrol", "show", "job", job)):
        for done in (cluster.run(command[0], "-M", "elsewhere", *command[1:]), cluster.run(*command, env={"SLURM_CLUSTERS": "elsewhere"})):
            assert done.returncode == 1 and done.stdout == "" and f"{command[0]}: error: No cluster 'elsewhere' known by database." in done.stderr, (command, done)
    assert cluster.run("squeue", "-h", "-j", job, "-o", "%r", check=0).stdout == "JobHeldUser\n"
    cluster.run("scancel", "-M", "minke", job, check=0)
    assert cluster.run("squeue", env={"SLURM_CLUSTERS": "elsewhere"}).returncode == 1
    assert cluster.run("sacct", "-n", "-M", "elsewhere", check=0).stdout == ""


@pytest.mark.minke_only
def test_newer_options(cluster):
    cluster.submit("true", "--hold", "--wckey=w1", "--comment=c")
    assert cluster.queue("--notme") == []
    assert cluster.run("squeue", "--only-job-state", "-h", check=0).stdout.split() == ["1", "PD"]
    assert "jobarrayid" in cluster.run("squeue", "--helpFormat", check=0).stdout.split()
    letters = cluster.run("squeue", "--helpformat", check=0).stdout
    assert letters.splitlines()[0] == "%a    %F    %K    %B    %o    %k    %O    %I    " and len(letters.split()) == 51
    assert "nodehost" in cluster.run("sinfo", "--helpFormat", check=0).stdout.split()
    assert cluster.run("sinfo", "-h", "-O", "all", check=0).stdout.count("|") > 30
    assert len(cluster.sacct("-X", "-W", "w1", "-j", "1")) == 1 and cluster.sacct("-X", "-W", "w2", "-j", "1") == []
    assert cluster.run("sacct", "-F", "SchedMain").returncode == 1
    assert cluster.run("sacct", "--env-vars", "-j", "1", check=0).stdout == (
        "Environment used for 1 (must be batch to display)\n" + "-" * 80 + "\nNONE\n\n")


def test_iterating_tells_the_time(cluster):
    import signal
    cluster.submit("true", "--hold", "--job-name=x")
    for command in (("squeue", "-i", "1", "-o", "%j"), ("sinfo", "-i", "1", "-o", "%R")):
        process = cluster.start(*command)
        lines = [process.stdout.readline() for _ in range(8)]
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=120)
        dates = [line for line in lines if re.match(r"[A-Z][a-z]{2} [A-Z][a-z]{2} +\d+ \d\d:\d\d:\d\d \d{4}$", line)]
        assert lines[0] in dates and len(dates) == 2, lines


def test_a_reader_that_leaves_early(cluster):
    cluster.submit("true", "--hold", "--array=0-9999") if not cluster.is_reference else cluster.submit("true", "--hold", "--array=0-999")
    shown = cluster.run("bash", "-c", "squeue -r -h -o %i | head -n 2; echo ${PIPESTATUS[0]}", check=0)
    assert shown.stdout.splitlines()[0].endswith("_0") and shown.stderr == ""


def test_names_in_other_alphabets(cluster):
    cluster.submit("true", "--hold", "--job-name=\u9be8\u9be8")
    assert cluster.queue(format="%j|%.8j|%7j|") == ["\u9be8\u9be8|  \u9be8\u9be8|\u9be8\u9be8 |"]


def test_show_takes_an_entity_and_its_name_with_an_equals_sign(cluster):
    job = cluster.submit("true", "--hold")
    assert cluster.run("scontrol", "show", f"jobid={job}", check=0).stdout.startswith(f"JobId={job} ")
    assert cluster.run("scontrol", "show", "partitionname=main", check=0).stdout.startswith("PartitionName=main\n")
    cluster.run("scancel", job, check=0)


def test_a_node_tells_of_its_daemon(cluster):
    text = cluster.run("srun", "scontrol", "show", "slurmd", check=0).stdout
    assert re.search(r"^Active Steps +=.* ?\d+\.0$", text, re.M), text
    assert re.search(r"^Hostname +=", text, re.M) and re.search(r"^Actual CPUs +=", text, re.M)


def test_the_configuration_can_be_written_for_a_real_slurm(cluster):
    said = cluster.run("scontrol", "write", "config", cluster.work / "out.conf", check=0).stdout
    path = re.fullmatch(r"Slurm config saved to (\S*out\.conf\.\d{4}-\S+)\n", said)[1]
    lines = open(path).read().splitlines()
    assert any(line.startswith("ClusterName=") for line in lines)
    assert any(re.match(r"NodeName=\S+ .*RealMemory=\d+", line) for line in lines)
    assert any(re.match(r"PartitionName=main .*State=UP", line) for line in lines)
    assert any(re.fullmatch(r"KillWait=\d+", line) for line in lines)


def test_verbose_says_what_was_asked(cluster):
    for command in ("squeue", "sinfo"):
        text = cluster.run(command, "--verbose", check=0).stdout
        assert re.search(r"^iterate +=", text, re.M) and re.search(r"^verbose +=", text, re.M)
        assert text.startswith("-----")


def test_an_accounted_step_knows_which_of_its_tasks_used_the_most(cluster):
    job = cluster.submit("srun -n2 sh -c 'test $SLURM_PROCID = 0 || head -c 3000000 /dev/zero > big'", "--ntasks=2")
    cluster.wait_end(job)
    fields = "MaxDiskWrite,MaxDiskWriteTask,MaxDiskWriteNode,AveDiskWrite,MaxRSSTask,TRESUsageOutTot"
    def step():
        out = cluster.run("sacct", "-n", "-P", "-j", f"{job}.0", "-o", fields, "--noconvert", check=0).stdout.strip()
        return out.split("|") if out else None
    most, task, node, average, largest, total = poll(step)
    if cluster.is_reference:
        return  # it samples, and a step this short is over before
    assert int(most) >= 3000000 and task == "1" and node and int(average) < int(most) and largest in "01"
    assert int(total.removeprefix("fs/disk=")) >= 3000000


def test_lines_by_partition_sort_by_its_tier(cluster):
    for name, priority in (("low", 1), ("high", 9)):
        cluster.run("scontrol", "create", f"partitionname={name}", f"priority={priority}", "nodes=ALL", check=0)
    try:
        job = cluster.submit("true", "--begin=now+1hour", "--partition=low,high")
        assert cluster.queue("--priority", "--sort=p", format="%P") == ["low", "high"]
        assert cluster.queue("--priority", "--sort=-p", format="%P") == ["high", "low"]
        cluster.run("scancel", job, check=0)
    finally:
        for name in ("low", "high"):
            cluster.run("scontrol", "delete", f"partitionname={name}", check=0)


def test_job_zero_is_none_in_particular(cluster):
    first, second = (cluster.sbatch("--hold", f"--array={tasks}", "--wrap=true") for tasks in ("1-2", "2-3"))
    for given in ("0_2", "_2"):
        assert [one["ArrayJobId"] for one in cluster.jobs(given)] == [str(first), str(second)]
    assert len(cluster.jobs("0")) == 2
    assert cluster.run("scontrol", "show", "job", "0_9", check=1).stdout == "Job 0_9 not found\n"


def test_a_filter_without_a_name_in_it_means_no_job(cluster):
    """As in a script whose variable is not set."""
    cluster.submit("true", "--hold")
    for option in ("--users=", "--name=", "--partition=", "--account=", "--jobs=", "--jobs=,", "--nodelist="):
        assert cluster.queue(option) == [], option
    assert cluster.run("squeue", "-h", env={"SQUEUE_NAMES": ""}, check=0).stdout == ""


def test_squeue_takes_what_slurm_takes(cluster):
    job = cluster.submit("true", "--hold", "--array=1-2", "--job-name=x")
    assert cluster.queue("--array-unique", format="%i") == [f"{job}_[1-2]"]
    environment = {"SQUEUE_FORMAT": "%j", "SQUEUE_FORMAT2": "jobid"}
    assert cluster.run("squeue", "-h", env=environment, check=0).stdout == "x\n"
    assert cluster.run("squeue", "-h", "-O", "name:-30,state", check=0).stdout == "x PENDING             \n"
    cluster.run("squeue", "--steps", "--sort=t", check=0)


def test_sacct_fields_as_people_write_them(cluster):
    job = cluster.submit("exit 3")
    cluster.wait_end(job)

    def told(*options):
        return cluster.run("sacct", "-n", "-X", "-P", "-j", job, *options, check=0).stdout
    assert told("--format=JobID, State,  ExitCode") == f"{job}|FAILED|3:0\n"
    assert told("-o", "jobid", "--format", "state") == f"{job}|FAILED\n"
    assert told("-b", "-o", "state") == f"FAILED|{job}|FAILED|3:0\n"
    refused = cluster.run("sacct", "-l", "-o", "jobid", check=1).stderr
    assert "Options -o(--format) and -l(--long) are mutually exclusive" in refused
    assert cluster.run("sacct", "-B", "-j", "99999").stdout == ""


@pytest.mark.minke_only  # the nodes of the reference share their host's name
def test_a_declared_node_is_its_own_host(cluster):
    names = cluster.run("sinfo", "-ho", "%n", check=0).stdout.split()
    assert sorted(names) == ["n1", "n2"]
    shown = cluster.run("scontrol", "show", "node", "n1", check=0).stdout
    assert " NodeHostName=n1 " in shown
    assert cluster.run("srun", "-Q", "-w", names[0], "printenv", "SLURMD_NODENAME", check=0).stdout == f"{names[0]}\n"


def test_all_partitions_and_some_contradict_each_other(cluster):
    told = "Conflicting options, {} and {}, specified. Please choose one or the other.\n"
    refused = cluster.run("sinfo", "-a", "-p", "main", check=1)
    assert refused.stderr == "sinfo: error: " + told.format("-a", "-p") and not refused.stdout
    both = {"SINFO_ALL": "1", "SINFO_PARTITION": "main"}
    assert cluster.run("sinfo", env=both, check=1).stderr.endswith(told.format("SINFO_ALL", "SINFO_PARTITION"))
    assert cluster.run("sinfo", "-h", "-p", "main", env={"SINFO_ALL": "1"}, check=0).stdout


@pytest.mark.minke_only
def test_a_nodes_address_can_be_connected_to(cluster):
    """Where a node is declared, its name need not resolve; as a real Slurm on one machine, Minke tells 127.0.0.1."""
    shown = cluster.run("scontrol", "show", "node", "n1", check=0).stdout
    assert " NodeAddr=127.0.0.1 NodeHostName=n1 " in shown
    assert cluster.run("sinfo", "-h", "-O", "nodeaddr", check=0).stdout.split() == ["127.0.0.1"]
    assert json.loads(cluster.run("scontrol", "show", "node", "n2", "--json").stdout)["nodes"][0]["address"] == "127.0.0.1"


def cpu_ids(cluster, job) -> dict[str, set[int]]:
    """By node, as `scontrol show job -d` tells them."""
    found = {}
    for nodes, ids in re.findall(r"Nodes=(\S+) CPU_IDs=(\S+) Mem=", cluster.run("scontrol", "show", "job", "-d", job).stdout):
        numbers = set()
        for part in ids.split(","):
            first, _, last = part.partition("-")
            numbers |= set(range(int(first), int(last or first) + 1))
        for node in cluster.run("scontrol", "show", "hostnames", nodes).stdout.split():
            found[node] = numbers
    return found


@pytest.mark.machine(nodes=2, cpus=4)
def test_jobs_of_a_node_have_numbers_of_their_own(cluster):
    """CPU_IDs are within the node's, nobody else's while the job runs, and outlive the daemon."""
    jobs = [cluster.submit("sleep 600", "-w", "n1", "-c", "1"), cluster.submit("sleep 600", "-w", "n1", "-c", "2"),
            cluster.submit("sleep 600", "--nodes=2", "--ntasks-per-node=1")]
    for job in jobs:
        cluster.wait_state(job, "RUNNING")
    before = [cpu_ids(cluster, job) for job in jobs]
    assert [{node: len(ids) for node, ids in one.items()} for one in before] == [{"n1": 1}, {"n1": 2}, {"n1": 1, "n2": 1}]
    assert set.union(*(one["n1"] for one in before)) == {0, 1, 2, 3}
    if not cluster.is_reference:
        cluster.kill()
        assert [cpu_ids(cluster, job) for job in jobs] == before
    cluster.run("scancel", jobs[0], check=0)
    cluster.wait_end(jobs[0])
    next_job = cluster.submit("sleep 600", "-w", "n1")
    cluster.wait_state(next_job, "RUNNING")
    assert cpu_ids(cluster, next_job) == before[0] and cpu_ids(cluster, jobs[1]) == before[1]


@pytest.mark.machine(nodes=1, cpus=4, gpus="a100:2")
@pytest.mark.minke_only
def test_gpus_are_listed_once(cluster):
    """Who adds up gres/gpu and gres/gpu:a100 counts no GPU twice: AccountingStorageTRES names the first only."""
    job = cluster.submit("sleep 600", "--gpus=2")
    cluster.wait_state(job, "RUNNING")
    shown = cluster.job(job)["AllocTRES"], cluster.run("squeue", "-h", "-O", "tres-alloc:100").stdout, \
        cluster.run("scontrol", "show", "node").stdout, cluster.run("sacct", "-nP", "-o", "reqtres,alloctres").stdout
    for text in shown:
        assert "gres/gpu=2" in text and "gres/gpu:" not in text, text
    tres = json.loads(cluster.run("sacct", "--json", "-j", job).stdout)["jobs"][0]["tres"]["allocated"]
    assert [one["count"] for one in tres if one["type"] == "gres"] == [2]
    typed = cluster.run("sacct", "-nXP", "-o", "alloctres", env={"MINKE_TYPED_TRES": "1"}).stdout
    assert "gres/gpu:a100=2,gres/gpu=2" in typed
    assert "AccountingStorageTRES   = cpu,mem,energy,node,billing,fs/disk,vmem,pages,gres/gpu\n" in \
        cluster.run("scontrol", "show", "config").stdout


def test_steps_that_are_named(cluster):
    """-X shows their job; without it the job is shown where it is named, too, and of its steps those that are."""
    job = cluster.submit("srun true; srun true", "-J", "steps")
    cluster.wait_end(job)

    def shown(which, *options):
        told = cluster.run("sacct", "-nP", *options, "-o", "JobID", "-j", which, check=0).stdout
        return [line.replace(f"{job}", "J", 1) for line in told.split()]
    assert shown(f"{job}.batch", "-X") == shown(f"{job}.9", "-X") == ["J"]
    assert shown(f"{job}.batch") == ["J.batch"] and shown(f"{job}.9") == []
    assert shown(f"{job}.1,{job}") == ["J", "J.1"]


def test_long_lists_have_a_format_of_their_own(cluster):
    for command in ("squeue", "sinfo"):
        refused = cluster.run(command, "-l", "-o", "%P", check=1)
        assert "-o(--format) and -l(--long) are mutually exclusive" in refused.stderr
        assert "specification: NoSuch\n" in cluster.run(command, "-h", "-O", "NoSuch:5").stderr
