"""Options and commands of the newest releases: completion by the commands themselves, steps that are left to themselves, either license."""
import os
import pathlib
import pty
import re
import signal
import time

import pytest

from cluster import poll


def listed(cluster, command: str, begun: str) -> list[str]:
    return cluster.run(command, f"--autocomplete={begun}", check=0).stdout.split("\n")


def test_every_command_lists_the_options_that_begin_so(cluster):
    wanted = ["--no-kill=", "--no-kill ", "--no-requeue", "--nodefile=", "--nodelist=", "--nodes="]
    assert [name for name in listed(cluster, "sbatch", "--no") if "container" not in name] == [*wanted, "", ""]
    assert listed(cluster, "srun", "--pt") == ["--pty=", "--pty ", "", ""]
    assert listed(cluster, "squeue", "me")[0] == "--me"
    for command in ("salloc", "sinfo", "scontrol", "sacct", "sacctmgr", "sprio", "sshare", "sdiag", "scancel", "sstat", "sreport", "strigger", "sbcast",
                    "sattach"):
        names = listed(cluster, command, "--")
        assert "--autocomplete=" in names and any(name.startswith("--ver") for name in names), command
    assert "-N" in listed(cluster, "srun", "-") and listed(cluster, "srun", "-N") == ["-N", "", ""]
    assert listed(cluster, "sinfo", "") == [""]
    assert "requires an argument" in cluster.run("sinfo", "--autocomplete").stderr


def test_an_asynchronous_step_is_left_to_itself(cluster):
    job = cluster.submit("""
srun --async --overlap -n1 bash -c 'until [ -e go ]; do sleep 0.05; done; echo done; echo wrong >&2; exit 3'; echo $?
srun --async --overlap --parsable -o other.out hostname; srun --async --overlap -Q true
srun --async --pty true; echo $?
srun --async --mpi=pmi2 true; echo $?
srun --parsable true; echo $?
touch here; until [ -e end ]; do sleep 0.05; done
""", "-n2", "-N1", "-o", "out")
    poll(lambda: (cluster.work / "here").exists(), 60)
    lines = (cluster.work / "out").read_text().splitlines()
    assert lines[:3] == [f"Submitted step {job}.0", "0", f"{job}.1"]
    assert lines[3:5] == ["srun: error: --async and --pty are mutually exclusive.", "1"]
    assert "--async does not support MPI type 'pmi2'" in lines[5]
    assert lines[7:9] == ["srun: error: --parsable requires --async.", "1"]
    assert cluster.queue("-s", "-j", str(job), format="%i").count(f"{job}.0") == 1
    (cluster.work / "go").touch()
    poll(lambda: f"{job}.0" not in cluster.queue("-s", "-j", str(job), format="%i"))
    assert (cluster.work / f"slurm-{job}.0.out").read_text() == "done\nwrong\n"
    (cluster.work / "end").touch()
    cluster.wait_end(job)
    outside = cluster.run("srun", "--async", "true", check=1).stderr
    assert outside == "srun: error: --async is only valid for steps submitted within an existing job allocation.\n"


@pytest.mark.parametrize("value, status, says", [
    ("KILL", 1, "Signal KILL cannot be ignored"), ("", 255, "--ignore-signals requires at least one signal"),
    ("foo", 255, "Invalid signal name or number: foo"), ("WINCH", 255, "Invalid signal name or number: WINCH")])
def test_signals_that_nobody_can_ignore(cluster, value, status, says):
    assert cluster.run("srun", f"--ignore-signals={value}", "true", check=status).stderr == f"srun: error: {says}\n"


def test_srun_ignores_signals(cluster):
    process = cluster.start("srun", "--ignore-signals=TERM,usr1", "bash", "-c", "touch begun; until [ -e go ]; do sleep 0.05; done")
    poll(lambda: (cluster.work / "begun").exists())
    process.send_signal(signal.SIGTERM)
    process.send_signal(signal.SIGUSR1)
    (cluster.work / "go").touch()
    assert process.communicate(timeout=120)[1] == "" and process.returncode == 0


def test_a_terminal_by_its_descriptor(cluster):
    master, slave = pty.openpty()
    os.set_inheritable(slave, True)
    process = cluster.start("srun", f"--pty={slave}", "bash", "-c", "stty size", pass_fds=[slave])
    out, _ = process.communicate(timeout=120)
    assert out.split() == ["0", "0"] and process.returncode == 0
    os.close(master), os.close(slave)
    assert cluster.run("srun", "--pty=x", "true", check=1).stderr == "srun: fatal: --pty=x must be numeric file descriptor\n"


@pytest.mark.machine(settings="", extra="[licenses]\nmatlab = 2\nansys = 3\n")
def test_either_license_will_do(cluster):
    first = cluster.sbatch("-L", "matlab:2|ansys", "--wrap", "sleep 600")
    cluster.wait_state(first, "RUNNING")
    second = cluster.sbatch("-L", "matlab:2|ansys:2", "--wrap", "sleep 600")
    cluster.wait_state(second, "RUNNING")
    third = cluster.sbatch("-L", "matlab|ansys:2", "--wrap", "true")
    poll(lambda: cluster.job(third)["Reason"] == "Licenses")
    assert cluster.queue("-h", "-j", f"{first},{second}", "-S", "i", format="%W") == ["matlab:2|ansys", "matlab:2|ansys:2"]
    held = cluster.run("squeue", "-h", "-t", "R", "-S", "i", "-O", "LicensesAlloc:20", check=0).stdout.split()
    assert held == ["matlab:2", "ansys:2"]
    assert [line.split()[3] for line in cluster.run("scontrol", "-o", "show", "lic").stdout.splitlines()] == ["Free=0", "Free=1"] \
        or "Used=2" in cluster.run("scontrol", "-o", "show", "lic", "ansys").stdout
    cluster.run("minke", "down", "--keep-jobs", check=0)  # what each holds lasts
    assert "Used=2" in cluster.run("scontrol", "-o", "show", "lic", "ansys", check=0).stdout
    cluster.run("scancel", first, check=0)
    cluster.wait_end(third)
    for wrong in ("matlab|ansys,matlab", "matlab|nosuch", "matlab:9|ansys"):
        assert "Invalid license specification" in cluster.run("sbatch", "-L", wrong, "--wrap", "true", check=1).stderr
    assert cluster.queue("-h", "-L", "ansys", format="%i") == [str(second)]
    assert cluster.run("scontrol", "show", "lic", "nosuch", check=1).stderr == 'scontrol: error: query "nosuch" matched zero licenses.\n'


@pytest.mark.parametrize("words, says", [
    (["create", "nodename=n9"], "Only State=FUTURE, CLOUD, or EXTERNAL allowed for nodes created by scontrol\nError creating node(s): Invalid node state"),
    (["create", "nodename=n1", "state=cloud"], "Node already exists in the node table (n1)\nError creating node(s): Node already exists"),
    (["create", "nodename=n9", "state=future"], "Unable to add node, node table is full (n9)\nError creating node(s): Unable to add node"),
    (["create", "nodename=n9", "state=cloud", "cpus=x"], "Failed to parse nodeline 'nodename=n9 state=cloud cpus=x'\n"),
    (["delete", "nodename=n1"], "failed to delete nodes n1\ndelete_node nodename=n1: Invalid node state specified"),
    (["delete", "node", "n1"], "failed to delete nodes n1\ndelete_node node: Invalid node state specified"),
    (["delete", "nodename=nosuch"], "failed to delete nodes nosuch\ndelete_node nodename=nosuch: Invalid node name specified\n"),
])
def test_nodes_are_declared(cluster, words, says):
    assert cluster.run("scontrol", *words, check=1).stderr.startswith("scontrol: error: " + says)


def test_a_report_by_qos(cluster):
    job = cluster.sbatch("--wrap", "sleep 1")
    cluster.wait_end(job)
    lines = cluster.run("sreport", "-P", "cluster", "AccountUtilizationByQOS", "start=now-1hour", "end=now+1hour", check=0).stdout.splitlines()
    assert lines[1].startswith("Cluster/Account/QOS Utilization ") and lines[4] == "Cluster|Account|QOS|Used|Energy"
    assert re.fullmatch(r"[^|]*\|root\|normal\|\d+\|0", lines[5])


def test_sacct_tells_each_task_of_a_waiting_array(cluster):
    job = cluster.submit("true", "--hold", "-a", "1-5:2%2")
    assert cluster.sacct("-X", "-j", job, format="JobID,State") == [[f"{job}_[1,3,5%2]", "PENDING"]]
    assert cluster.sacct("-X", "--array", "-j", job, format="JobID,JobIDRaw,State") == [
        [f"{job}_{task}", str(job), "PENDING"] for task in (1, 3, 5)]
    cluster.run("scancel", job)


def test_a_report_covers_an_hour_at_least(cluster):
    lines = cluster.run("sreport", "cluster", "utilization", "start=2026-11-01", "end=2026-11-01", check=0).stdout.splitlines()
    assert lines[1] == "Cluster Utilization 2026-11-01T00:00:00 - 2026-11-01T00:59:59"
    later = cluster.run("sreport", "cluster", "utilization", "start=today", "end=now+10days", check=0).stdout.splitlines()[1]
    assert later.endswith(":59:59") and later.split(" - ")[1] <= time.strftime("%Y-%m-%dT%H:59:59")


def test_the_record_tells_files_as_they_were_asked_for(cluster):
    plain = cluster.submit("true")
    named = cluster.submit("true", "-o", "out-%j.%x", "-e", f"{cluster.work}/e-%5j", "-J", "na")
    array = cluster.submit("true", "-a", "3")
    for job in (plain, named, array):
        cluster.wait_end(job)
    work, ids = cluster.work, f"{plain},{named},{array}"
    assert cluster.sacct("-X", "-j", ids, format="StdOut,StdErr,StdIn") == [
        ["slurm-%j.out", "", "/dev/null"], [f"{work}/out-%j.%x", f"{work}/e-%5j", "/dev/null"],
        ["slurm-%A_%a.out", "", "/dev/null"]]  # the usual name has no directory, as in 26.05
    assert cluster.sacct("-X", "-j", ids, "--expand-patterns", format="StdOut,StdErr,StdIn") == [
        [f"{work}/slurm-{plain}.out", "", "/dev/null"], [f"{work}/out-{named}.na", f"{work}/e-{named:05}", "/dev/null"],
        [f"{work}/slurm-{array}_3.out", "", "/dev/null"]]


def test_copies_without_a_job(cluster):
    (cluster.work / "from").write_text("text\n")
    assert "--nodelist/-w is required with --no-allocation/-Z." in cluster.run("sbcast", "-Z", "from", "to", check=1).stderr
    assert "there is no node x" in cluster.run("sbcast", "-Z", "-w", "n1,x", "from", "to", check=1).stderr
    cluster.run("sbcast", "--no-allocation", "--nodelist=n[1-2]", "from", "to", check=0)
    assert (cluster.work / "to").read_text() == "text\n"


def test_processes_of_a_step(cluster):
    job = cluster.submit("srun -n2 sleep 600", "-N2", "-n2")
    poll(lambda: f"{job}.0" in cluster.queue("-s", "-j", str(job), format="%i"))
    shown = poll(lambda: cluster.run("sattach", "--debugger-test", f"{job}.0").stderr)
    assert re.fullmatch(r"sattach: task:0, host:n1, pid:\d+, executable:sleep\nsattach: task:1, host:n2, pid:\d+, executable:sleep\n", shown)


def test_nodes_that_drain_and_resume_pull_triggers(cluster):
    told = cluster.work / "told"
    program = cluster.script(f'echo "$1" >>{told}', "program")
    program.chmod(0o755)
    for event in ("--draining", "--resume"):
        cluster.run("strigger", "--set", event, "--node=n1", f"--program={program}", check=0)
    assert [line.split()[3] for line in cluster.run("strigger", "--get", "-N", check=0).stdout.splitlines()] == ["draining", "resume"]
    job = cluster.submit("sleep 600", "-w", "n1")
    cluster.wait_state(job, "RUNNING")
    cluster.run("scontrol", "update", "nodename=n1", "state=drain", "reason=an odd one", check=0)
    poll(lambda: told.exists() and told.read_text() == "n1\n")
    events = cluster.run("sacctmgr", "-nP", "list", "event", "format=nodename,timeend,state,reason", check=0).stdout
    assert events == "n1|Unknown|DRAIN|an odd one\n"
    cluster.run("scontrol", "update", "nodename=n1", "state=resume", check=0)
    poll(lambda: told.read_text() == "n1\nn1\n")
    events = cluster.run("sacctmgr", "-nP", "list", "event", "format=nodename,timeend,state,reason", check=0).stdout
    assert re.fullmatch(r"n1\|20[^|]*\|DRAIN\|an odd one\n", events)
    assert cluster.run("sacctmgr", "-nP", "list", "event", "condflags=open", check=0).stdout == ""


def test_tables_beside_the_accounts(cluster):
    assert cluster.run("sacctmgr", "-P", "list", "transaction", check=0).stdout == "Time|Action|Actor|Where|Info\n"
    cluster.run("scontrol", "create", "reservation", "reservationname=odd", "starttime=now", "duration=10", "nodes=n2", "users=root", check=0)
    shown = cluster.run("sacctmgr", "-P", "list", "reservation", check=0).stdout
    assert re.fullmatch(r"Cluster\|Name\|TRES\|TimeStart\|TimeEnd\|UnusedWall\n[^|]*\|odd\|cpu=2\|20[^|]*\|20[^|]*\|0.000000\n", shown)
    assert cluster.run("sacctmgr", "-P", "list", "resource", check=0).stdout == "Name|Server|Type|Count|LastConsumed|Allocated|ServerType|Flags\n"


def test_programs_of_a_pattern_run_from_z_to_a_and_those_of_reservations(cluster):
    told = cluster.work / "told"
    (cluster.work / "d").mkdir()
    for name in ("9c", "B2", "a1", "z0"):
        cluster.script(f"echo {name} >>{told}", f"d/{name}").chmod(0o755)
    cluster.script(f'echo "begins $1" >>{told}', "begins").chmod(0o755)
    cluster.script(f'echo "ends $1" >>{told}', "ends").chmod(0o755)
    configuration = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    at = cluster.work
    configuration.write_text(configuration.read_text() + f"""
[prolog]
prolog = "{at}/d/*"
resv_prolog = "{at}/begins"
resv_epilog = "{at}/ends"
""")
    cluster.run("srun", "true", check=0)
    assert told.read_text().split() == ["z0", "a1", "B2", "9c"]
    told.unlink()
    cluster.run("scontrol", "create", "reservation", "reservationname=odd", "starttime=now", "duration=60", "nodes=n2", "users=root", check=0)
    poll(lambda: told.exists() and told.read_text() == "begins odd\n")
    cluster.run("scontrol", "update", "reservationname=odd", "endtime=now+1", check=0)
    poll(lambda: told.read_text() == "begins odd\nends odd\n")
    cluster.run("scontrol", "create", "reservation", "reservationname=odder", "starttime=now", "duration=60", "nodes=n2", "users=root", check=0)
    poll(lambda: "begins odder" in told.read_text())
    cluster.run("scontrol", "delete", "reservationname=odder", check=0)
    assert "ends odder" not in told.read_text()
    assert f"ResvProlog              = {at}/begins" in cluster.run("scontrol", "show", "config").stdout


def test_a_slurm_conf_may_say_its_release(new_cluster):
    one = new_cluster("one")
    path = one.work / "slurm.conf"
    path.write_text("# SLURM_VERSION = 24.11.3\nClusterName=odd\nNodeName=n1 CPUs=1\nPartitionName=main Nodes=n1 Default=YES\n")
    env = {"MINKE_CONFIG": str(path)}
    assert one.run("sinfo", "--version", env=env, check=0).stdout == "slurm 24.11.5\n"
    one.environment |= env
    one.run("srun", "true", check=0)
    assert "SLURM_VERSION           = 24.11.5" in one.run("scontrol", "show", "config", check=0).stdout
