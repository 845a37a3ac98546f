"""srun and salloc: tasks, their streams, exit codes and signals."""
import fcntl
import os
import pty
import re
import select
import signal
import struct
import termios
import time

import pytest

from cluster import Machine, poll
from processes import has_ended


def test_srun_in_a_job(cluster):
    job = cluster.submit("srun -n2 sh -c 'echo $SLURM_PROCID'; srun -n1 echo again", "--ntasks=2")
    assert sorted(cluster.output(job).split()) == ["0", "1", "again"]


def test_srun_alone_makes_its_own_allocation(cluster):
    done = cluster.run("srun", "--ntasks=2", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_PROCID", check=0)
    lines = sorted(line.split() for line in done.stdout.splitlines())
    assert [rank for _, rank in lines] == ["0", "1"] and lines[0][0] == lines[1][0]
    poll(lambda: cluster.queue() == [])


def test_srun_takes_its_input(cluster):
    assert cluster.run("srun", "cat", input="some\ntext\n", check=0).stdout == "some\ntext\n"


def test_srun_input_reaches_every_task(cluster):
    done = cluster.run("srun", "--ntasks=2", "cat", input="text\n", check=0)
    assert done.stdout == "text\ntext\n"


def test_streams_stay_apart(cluster):
    done = cluster.run("srun", "sh", "-c", "echo out; echo err >&2", check=0)
    assert done.stdout == "out\n" and "err\n" in done.stderr


def test_labels(cluster):
    done = cluster.run("srun", "--label", "--ntasks=2", "sh", "-c", "echo task $SLURM_PROCID", check=0)
    assert sorted(done.stdout.splitlines()) == ["0: task 0", "1: task 1"]


def test_output_files_of_a_step(cluster):
    job = cluster.submit("srun --ntasks=2 --output=step_%j_%s_%t.txt sh -c 'echo $SLURM_PROCID'", "--ntasks=2")
    cluster.wait_end(job)
    assert (cluster.work / f"step_{job}_0_0.txt").read_text() == "0\n"
    assert (cluster.work / f"step_{job}_0_1.txt").read_text() == "1\n"


@pytest.mark.parametrize("script, code, says", [
    ("exit 3", 3, "srun: error: n1: task 0: Exited with exit code 3\n"),
    ("kill -9 $$", 137, "srun: error: n1: task 0: Killed\n"),
    ("kill -15 $$", 143, "srun: error: n1: task 0: Terminated\n")])
def test_exit_code(cluster, script, code, says):
    done = cluster.run("srun", "sh", "-c", script)
    assert done.returncode == code and says in done.stderr


def test_highest_exit_code_of_the_tasks(cluster):
    assert cluster.run("srun", "--ntasks=3", "sh", "-c", "exit $SLURM_PROCID").returncode == 2


def test_program_that_is_not_there(cluster):
    done = cluster.run("srun", "nosuchprogram")
    assert done.returncode == 2
    assert "error: execve(): nosuchprogram: No such file or directory" in done.stderr


def test_srun_finds_programs_where_the_job_runs(cluster):
    path = cluster.work / "here.sh"
    path.write_text("#!/bin/sh\npwd\n")
    path.chmod(0o755)
    assert cluster.run("srun", "./here.sh", check=0).stdout == f"{cluster.work}\n"
    assert cluster.run("srun", "--chdir=/usr", "pwd", check=0).stdout == "/usr\n"


def test_steps_at_once(cluster):
    """As torchrun and Ray recipes do: several sruns in the background, then wait."""
    job = cluster.submit("for i in 1 2 3; do srun --nodes=1 --ntasks=1 --mem=30M --exact sh -c 'touch up.'$i'; "
                         "while [ $(ls up.* | wc -l) -lt 3 ]; do sleep 0.1; done' & done; wait; echo all",
                         "--ntasks=3", "--mem=100M")
    assert cluster.output(job).endswith("all\n")


def test_steps_wait_for_each_other(cluster):
    job = cluster.submit("srun --ntasks=2 sleep 1 & sleep 0.2; srun --ntasks=2 echo second; wait", "--ntasks=2")
    text = cluster.output(job)
    assert text.count("second\n") == 2


def test_kill_on_bad_exit(cluster):
    done = cluster.run("srun", "--kill-on-bad-exit=1", "--ntasks=2", "sh", "-c",
                       "[ $SLURM_PROCID = 1 ] && exit 4; sleep 600; true")
    assert done.returncode != 0


def interrupt_twice(step) -> None:
    """Until it takes two for one within a second: a busy machine may deliver them later, or as one."""
    poll(lambda: step.poll() is not None or step.send_signal(signal.SIGINT), what="the end of an interrupted step")


def test_interrupt(cluster):
    """Ctrl-C twice within a second ends the tasks."""
    step = cluster.start("srun", "sh", "-c", "echo $$ > pid; exec sleep 600")
    pid = int(poll(lambda: (cluster.work / "pid").exists() and (cluster.work / "pid").read_text().strip()))
    interrupt_twice(step)
    assert step.returncode != 0
    poll(lambda: has_ended(pid), 20, "the end of the task")
    poll(lambda: cluster.queue() == [], 20)


def test_srun_that_is_killed_leaves_nothing(cluster):
    step = cluster.start("srun", "sh", "-c", "echo $$ > pid; exec sleep 600")
    pid = int(poll(lambda: (cluster.work / "pid").exists() and (cluster.work / "pid").read_text().strip()))
    step.kill()
    step.wait()
    if cluster.is_reference:
        pytest.skip("Slurm takes its time to notice")
    poll(lambda: has_ended(pid), 20, "the end of the task")
    poll(lambda: cluster.queue() == [], 20)


def test_terminal(cluster):
    """srun --pty: the task has a terminal, and it is srun's own."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cluster.work)
        os.execvpe("srun", ["srun", "--pty", "sh", "-c", "tty; stty size; read line; echo got $line"], cluster.environment)
    os.write(terminal, b"typed\n")
    text = b""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                chunk = os.read(terminal, 4096)
            except OSError:
                break
            if not chunk:
                break
            text += chunk
    assert os.waitpid(pid, 0)[1] == 0, text
    assert b"/dev/pts/" in text and b"got typed" in text, text


def test_salloc(cluster):
    done = cluster.run("salloc", "--ntasks=2", "sh", "-c", "echo $SLURM_JOB_ID $SLURM_NTASKS; srun sh -c 'echo $SLURM_PROCID'", check=0)
    job = done.stdout.split()[0]
    assert sorted(done.stdout.split()[1:]) == ["0", "1", "2"]
    assert re.search(rf"salloc: Granted job allocation {job}\n", done.stderr)
    assert re.search(rf"salloc: Relinquishing job allocation {job}\n", done.stderr)
    poll(lambda: cluster.queue() == [])
    assert cluster.job(job)["JobName"] in ("interactive", "sh")


@pytest.mark.minke_only
def test_the_shell_of_salloc_is_in_its_job(cluster):
    """It takes nothing from the steps that it begins, which have the job's size."""
    lines = "echo $SLURMD_NODENAME $SLURM_STEP_ID $(nproc)\nsrun sh -c 'echo task $SLURM_PROCID of $SLURM_NTASKS' < /dev/null\nsqueue -s -h -o %i\nexit 3\n"
    done = cluster.run("salloc", "--nodes=2", "--ntasks=4", "--ntasks-per-node=2", "--mem=100M", input=lines)
    assert done.returncode == 3, done.stderr
    job = re.search(r"Granted job allocation (\d+)\n", done.stderr)[1]
    said = done.stdout.splitlines()
    assert said[0] == "n1 4294967290 2"
    assert sorted(said[1:5]) == [f"task {rank} of 4" for rank in range(4)]
    assert said[5:] == [f"{job}.interactive"]
    steps = cluster.sacct("-j", job, format="JobID,State")
    assert [step[0] for step in steps] == [job, f"{job}.interactive", f"{job}.0"]


@pytest.mark.minke_only
def test_a_cluster_may_have_the_shell_of_salloc_outside(new_cluster):
    cluster = new_cluster("outside", Machine(settings="interactive_step = false\n"))
    assert cluster.run("salloc", input="echo ${SLURMD_NODENAME:-outside}\n", check=0).stdout == "outside\n"


def test_salloc_returns_the_commands_exit_code(cluster):
    assert cluster.run("salloc", "sh", "-c", "exit 4").returncode == 4


def test_salloc_waits_its_turn(cluster):
    holder = cluster.submit("touch started; sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    waiting = cluster.start("salloc", "true")
    lines = poll(lambda: waiting.stderr.readline(), 10)
    number = re.fullmatch(r"salloc: Pending job allocation (\d+)\n", lines)
    assert number
    assert waiting.stderr.readline() == f"salloc: job {number[1]} queued and waiting for resources\n"
    cluster.run("scancel", holder, check=0)
    rest = waiting.communicate(timeout=120)[1]
    assert f"salloc: job {number[1]} has been allocated resources\n" in rest and waiting.returncode == 0


def test_no_room_now(cluster):
    holder = cluster.submit("sleep 600", "--nodes=2", "--exclusive")
    cluster.wait_state(holder, "RUNNING")
    done = cluster.run("salloc", "--immediate=1", "true", timeout=30)
    assert done.returncode == 1


def test_joining_a_running_job(cluster):
    job = cluster.submit("touch started; sleep 600", "--job-name=host")
    poll(lambda: (cluster.work / "started").exists())
    done = cluster.run("srun", f"--jobid={job}", "--overlap", "sh", "-c", "echo $SLURM_JOB_ID", check=0)
    assert done.stdout == f"{job}\n"
    assert cluster.state(job) == "RUNNING"


def test_placement(cluster):
    script = "echo $SLURMD_NODENAME $SLURM_PROCID"
    spread = cluster.run("srun", "--nodes=2", "--ntasks=4", "sh", "-c", script, check=0).stdout.split()
    assert sorted(zip(spread[1::2], spread[::2])) == [("0", "n1"), ("1", "n1"), ("2", "n2"), ("3", "n2")]
    there = cluster.run("srun", "--nodelist=n2", "sh", "-c", script, check=0).stdout.split()
    assert there == ["n2", "0"]


@pytest.mark.minke_only
def test_large_output_is_whole(cluster):
    done = cluster.run("srun", "--ntasks=2", "--output=big_%t.txt", "seq", "300000", check=0)
    whole = "".join(f"{number}\n" for number in range(1, 300001))
    assert (cluster.work / "big_0.txt").read_text() == whole == (cluster.work / "big_1.txt").read_text()
    assert done.returncode == 0


def test_tasks_that_end_alike_are_told_in_one_line(cluster):
    """Those that end within the same moment, which a busy machine does not let every time."""
    def told() -> list[str]:
        done = cluster.run("srun", "-n4", "sh", "-c", "sleep 0.2; exit 3")
        assert done.returncode == 3
        return sorted(line for line in done.stderr.splitlines() if "error" in line)

    poll(lambda: told() == ["srun: error: n1: tasks 0-1: Exited with exit code 3",
                            "srun: error: n2: tasks 2-3: Exited with exit code 3"], 60, "a line for each node")


def test_multi_prog(cluster):
    (cluster.work / "who.conf").write_text("# who does what\n0 echo zero %t %o\n1-2 echo middle %t:%o 'two words'\n"
                                           "* echo rest %t\n")
    done = cluster.run("srun", "-n4", "--label", "--multi-prog", "who.conf", check=0)
    assert sorted(done.stdout.splitlines()) == ["0: zero 0 0", "1: middle 1:0 two words", "2: middle 2:1 two words",
                                                "3: rest 3"]
    (cluster.work / "who.conf").write_text("0 echo zero\n")
    done = cluster.run("srun", "-n2", "--multi-prog", "who.conf")
    assert done.returncode == 1
    assert "srun: error: Configuration file who.conf invalid, no record for task id 1\n" in done.stderr
    (cluster.work / "who.conf").write_text("0-1 echo zero\n1 echo one\n")
    done = cluster.run("srun", "-n2", "--multi-prog", "who.conf")
    assert done.returncode == 1 and done.stdout == ""
    assert done.stderr.endswith("srun: error: Duplicate record for task 1\n"
                                "srun: error: Line 2 of configuration file who.conf invalid\n")


def test_wait_for_the_others(cluster):
    done = cluster.run("srun", "-n4", "--wait=1", "sh", "-c", "[ $SLURM_PROCID = 1 ] || sleep 600; true")
    assert done.returncode != 0
    for text in ("srun: First task exited 1s ago\n", " tasks 0,2-3: running\n", " task 1: exited\n"):
        assert text in done.stderr


def test_first_interrupt_shows_the_tasks(cluster):
    with open(cluster.work / "err", "w") as errors:
        step = cluster.start("srun", "-n2", "sh", "-c", "touch up.$SLURM_PROCID; [ $SLURM_PROCID = 0 ] || "
                             "while [ ! -e go ]; do sleep 0.05; done", stderr=errors)
    poll(lambda: len(list(cluster.work.glob("up.*"))) == 2)
    told = (cluster.work / "err").read_text

    def shows_the_end() -> bool:
        """Asks once more, and no second time within the second after srun's answer: that would end the step."""
        before = told().count("running\n")
        step.send_signal(signal.SIGINT)
        poll(lambda: told().count("running\n") > before)
        time.sleep(1.5)
        return re.search(r"srun: StepId=\d+\.0 task 1: running\nsrun: StepId=\d+\.0 task 0: exited\n", told()) is not None
    poll(shows_the_end)
    (cluster.work / "go").touch()
    assert step.wait(120) == 0 and "srun: interrupt (one more within 1 sec to abort)\n" in told(), told()


def test_signals_are_handed_on(cluster):
    step = cluster.start("srun", "-n2", "sh", "-c", "trap 'echo got; exit 5' USR1; touch up.$SLURM_PROCID; "
                         "while :; do sleep 0.1; done")
    poll(lambda: len(list(cluster.work.glob("up.*"))) == 2)
    time.sleep(0.5)
    step.send_signal(signal.SIGUSR1)
    out, _ = step.communicate(timeout=120)
    assert out.count("got\n") == 2 and step.returncode == 5


def test_terminated_srun_kills_its_step(cluster):
    step = cluster.start("srun", "sh", "-c", "touch up; sleep 600")
    poll((cluster.work / "up").exists)
    time.sleep(0.5)
    step.send_signal(signal.SIGTERM)
    text = step.communicate(timeout=120)[1]
    assert step.returncode != 0
    assert "srun: forcing job termination\n" in text and "CANCELLED AT" in text


def in_allocation(cluster, script, *options):
    """The lines of stdout and stderr of commands inside an allocation of two nodes."""
    done = cluster.run("salloc", "-Q", "--nodes=2", "--ntasks=4", *options, "sh", "-c", script, timeout=90)
    return [line for line in (done.stdout + done.stderr).splitlines() if not line.startswith("salloc:")]


WHERE = "sh -c 'echo $SLURM_PROCID $SLURMD_NODENAME'"


@pytest.mark.parametrize("options, nodes", [
    ("-n3", ["n1", "n1", "n2"]), ("-n4 -m cyclic", ["n1", "n2", "n1", "n2"]),
    ("-n4 -m plane=1", ["n1", "n2", "n1", "n2"]), ("-n4 -m plane=2", ["n1", "n1", "n2", "n2"]),
    ("-n4 -m arbitrary -w n2,n1,n1,n2", ["n2", "n1", "n1", "n2"]),
    ("-Q -N1 -n1 -r1", ["n2"]), ("-Q -n1 -N1 -x n1", ["n2"]), ("-Q -n1 -N1 -w n2", ["n2"])])
def test_distribution(cluster, options, nodes):
    assert sorted(in_allocation(cluster, f"srun {options} {WHERE}")) == [
        f"{rank} {node}" for rank, node in enumerate(nodes)]


def test_host_file(cluster):
    said = in_allocation(cluster, "printf 'n2\\nn1\\nn2\\n' > hosts; export SLURM_HOSTFILE=hosts; "
                         f"srun -n3 -m arbitrary {WHERE}")
    assert sorted(said) == ["0 n2", "1 n1", "2 n2"]


@pytest.mark.parametrize("options, text", [
    ("-n8", "Unable to create step for job {}: More processors requested than permitted"),
    ("-c8", "Unable to create step for job {}: More processors requested than permitted"),
    ("-N3", "Only allocated 2 nodes asked for 3"),
    ("--mem=9000", "Unable to create step for job {}: Memory required by task is not available"),
    ("-w n3", "Unable to create step for job {}: Requested node configuration is not available"),
    ("-N1 -n1 -r2", "--relative and --nodes option incompatible with count of allocated nodes (2+1>2)")])
def test_steps_that_cannot_be(cluster, options, text):
    said = in_allocation(cluster, f"echo $SLURM_JOB_ID; srun {options} true", "--mem=1000")
    assert f"srun: error: {text.format(said[0])}" in said


def test_more_tasks_than_processors_by_overcommit(cluster):
    assert len(in_allocation(cluster, "srun -n8 -O echo x")) == 8


def test_memory_of_steps_is_counted(cluster):
    said = in_allocation(cluster, "srun -N1 -n1 -w n1 --exact --mem=1500 sh -c "
                         "'touch up; until grep -q retrying err; do sleep 0.05; done' & "
                         "while [ ! -e up ]; do sleep 0.05; done; "
                         "srun -N1 -n1 -w n1 --exact --mem=600 echo second 2> err; wait; cat err", "--mem=1800")
    assert "second" in said
    assert any("step creation temporarily disabled, retrying (Requested nodes are busy)" in line for line in said)


def test_no_such_job(cluster):
    done = cluster.run("srun", "--jobid=9999", "true")
    assert done.returncode == 1
    assert "srun: error: Unable to confirm allocation for job 9999: Invalid job id specified\n" in done.stderr
    assert "srun: Check SLURM_JOB_ID environment variable. Expired or invalid job 9999\n" in done.stderr


def test_prolog_and_epilog_of_tasks(cluster):
    for name, text in (("before", "echo export A=one two\necho unset B\necho print from prolog\necho noise\n"),
                       ("after", "echo epilog of $SLURM_PROCID\n")):
        path = cluster.work / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(0o755)
    done = cluster.run("srun", f"--task-prolog={cluster.work}/before", f"--task-epilog={cluster.work}/after",
                       "sh", "-c", "echo $A,$B.; exit 3", env={"B": "set"})
    assert done.returncode == 3
    assert done.stdout == "from prolog\none two,.\nepilog of 0\n"


def test_prolog_and_epilog_of_srun(cluster):
    for name in ("before", "after"):
        path = cluster.work / name
        path.write_text(f"#!/bin/sh\necho {name} $SLURM_JOB_ID >> told\n")
        path.chmod(0o755)
    done = cluster.run("srun", f"--prolog={cluster.work}/before", f"--epilog={cluster.work}/after", "sh", "-c",
                       "cat told; echo $SLURM_JOB_ID", check=0)
    job = done.stdout.split()[-1]
    assert done.stdout == f"before {job}\n{job}\n"
    assert (cluster.work / "told").read_text() == f"before {job}\nafter {job}\n"


@pytest.mark.minke_only
def test_binding_to_processors(cluster):
    """Slurm binds only with a task plugin, which the reference lacks."""
    usable = sorted(os.sched_getaffinity(0))
    done = cluster.run("srun", f"--cpu-bind=verbose,map_cpu:{usable[-1]}", "sh", "-c",
                       "grep Cpus_allowed_list /proc/self/status; echo $SLURM_CPU_BIND", check=0)
    assert done.stdout.split() == ["Cpus_allowed_list:", str(usable[-1]), f"verbose,map_cpu:{usable[-1]}"]
    assert re.search(rf"cpu-bind=MAP  - n1, task  0  0 \[\d+\]: mask {hex(1 << usable[-1])} set\n", done.stderr)
    assert cluster.run("srun", "--cpu-bind=foo", "true").returncode != 0


@pytest.mark.machine(nodes=1, cpus=4, gpus="a100:4")
@pytest.mark.minke_only
def test_gpus_of_steps(cluster):
    """A step sees the job's GPUs, or as many as it asks for; steps that ask get different ones."""
    show = "sh -c 'echo $SLURM_PROCID $CUDA_VISIBLE_DEVICES'"
    job = cluster.submit(f"srun -n1 {show}\n"
                         "for i in 1 2; do srun -n1 --exact --gres=gpu:2 sh -c "
                         "'touch up.$SLURM_STEP_ID; while [ $(ls up.* | wc -l) -lt 2 ]; do sleep 0.05; done; "
                         "echo part $CUDA_VISIBLE_DEVICES' & done; wait\n"
                         f"srun -n4 --gpus-per-task=1 {show}\nsrun -n2 --gpu-bind=single:1 {show}\n"
                         f"srun -n1 --gres=none {show}\nsrun -n1 --gpus=9 true",
                         "--ntasks=4", "--gres=gpu:4")
    text = cluster.output(job)
    said = text.splitlines()
    assert said[0] == "0 0,1,2,3"
    assert sorted(said[1:3]) == ["part 0,1", "part 2,3"]
    assert sorted(said[3:7]) == ["0 0", "1 1", "2 2", "3 3"]
    assert sorted(said[7:9]) == ["0 0", "1 1"]
    assert said[9] == "0"
    assert f"srun: error: Unable to create step for job {job}: Insufficient GRES available in allocation" in text


def test_preserved_environment(cluster):
    said = in_allocation(cluster, "srun -Q -E -N1 -n1 sh -c 'echo $SLURM_NNODES $SLURM_NTASKS'; "
                         "srun -Q -N1 -n1 sh -c 'echo $SLURM_NNODES $SLURM_NTASKS'")
    assert said == ["2 4", "1 1"]


def test_scancel_of_a_step(cluster):
    job = cluster.submit("srun --overlap sh -c 'touch up; sleep 600' || echo step $?; echo on", "--ntasks=1")
    poll((cluster.work / "up").exists)
    time.sleep(0.5)
    cluster.run("scancel", f"{job}.0", check=0)
    text = cluster.output(job)
    assert text.endswith("on\n") and "STEP" in text and "CANCELLED AT" in text


def test_output_patterns_and_words(cluster):
    cluster.run("srun", "-n2", "-o", "out.%t.%n.%s", "sh", "-c", "echo $SLURM_PROCID", check=0)
    assert sorted(path.name for path in cluster.work.glob("out.*")) == ["out.0.0.0", "out.1.0.0"]
    assert cluster.run("srun", "-n2", "-o", "none", "echo", "hi", check=0).stdout == ""
    assert cluster.run("srun", "-n4", "-o", "2", "sh", "-c", "echo $SLURM_PROCID", check=0).stdout == "2\n"
    done = cluster.run("srun", "-n2", "-i", "1", "sh", "-c", "read a; echo $SLURM_PROCID $a", input="abc\n", check=0)
    assert sorted(done.stdout.splitlines()) == ["0", "1 abc"]
    done = cluster.run("srun", "-n2", "-i", "none", "sh", "-c", "read a; echo $SLURM_PROCID $a", input="abc\n", check=0)
    assert sorted(done.stdout.splitlines()) == ["0", "1"]


@pytest.mark.minke_only
def test_sbcast_and_sgather(cluster):
    (cluster.work / "data").write_text("numbers\n")
    (cluster.work / "data").chmod(0o750)
    script = ("sbcast -p data copied && sbcast data copied; echo $?; sbcast -f --compress=lz4 -t 9 data copied; echo $?; "
              "cp data part; sgather -k part got; sgather -f part got; ls -1 got.* part 2>&1; sbcast data; echo $?")
    said = in_allocation(cluster, script)
    assert (cluster.work / "copied").read_text() == "numbers\n"
    assert (cluster.work / "copied").stat().st_mode & 0o777 == 0o750
    assert said[0:2] == ["1", "0"] and "got.n1" in said and "got.n2" in said and "part" not in said
    assert "sbcast: error: REQUEST_FILE_BCAST(n1): File exists" in said
    assert "Need two file names, have 1 names" in said
    done = cluster.run("sbcast", "data", "elsewhere")
    assert done.returncode == 1 and "Need a job id to run this command" in done.stderr


@pytest.mark.minke_only
def test_sgather_of_a_directory(cluster):
    part = cluster.work / "part"
    (part / "below").mkdir(parents=True, mode=0o750)
    (part / "below" / "data").write_text("numbers\n")
    (part / "link").symlink_to("below/data")
    script = "sgather part got; echo $?; sgather -r -k -p -v part got; sgather -r part other; sgather -r -f -k other.n1 got"
    said = in_allocation(cluster, script)
    assert said[0] == "1" and "sgather: error: part: not a regular file" in said
    assert "sgather: verbose     = 1" in said and "sgather: node_list   = n1,n2" in said
    for node in "n1", "n2":
        for name in "got", "other":
            copy = cluster.work / f"{name}.{node}"
            assert (copy / "below" / "data").read_text() == (copy / "link").read_text() == "numbers\n"
            assert (copy / "link").is_symlink() and (copy / "below").stat().st_mode & 0o777 == 0o750
    assert not part.exists()


def test_range_of_nodes(cluster):
    """Of a range, as many nodes as there are and as tasks can use; with --use-min-nodes, as few as will do."""
    def nodes(*options):
        poll(lambda: cluster.queue() == [], what="the end of the one before")
        return cluster.run("srun", *options, "printenv", "SLURM_NNODES", check=0).stdout.split()
    assert nodes("-N1-2", "-n2") == ["2"] * 2
    assert nodes("-N1-2") == ["2"] * 2
    assert nodes("-N1-2", "-n1") == ["1"]
    assert nodes("-N1-2", "-n2", "--use-min-nodes") == ["1"] * 2
    assert nodes("-n2", "--spread-job") == ["2"] * 2
    assert nodes("-N2", "-n5", "--overcommit") == nodes("-N1-2", "-n5", "--overcommit") == ["2"] * 5


def test_hostfile_of_the_environment(cluster):
    (cluster.work / "hosts").write_text("n2\nn1\n")
    done = cluster.run("srun", "-m", "arbitrary", "-l", "printenv", "SLURMD_NODENAME",
                       env={"SLURM_HOSTFILE": cluster.work / "hosts"}, check=0)
    assert sorted(done.stdout.splitlines()) == ["0: n2", "1: n1"]


def test_hosts_named_once_per_task(cluster):
    """Not in the nodes' order, and most often the last one."""
    (cluster.work / "hosts").write_text("n2\nn1\nn2\n")
    for options in (("-n3", "-m", "arbitrary", "-w", "n2,n1,n2"), ("-m", "arbitrary", "-w", "./hosts")):
        done = cluster.run("srun", *options, "-l", "printenv", "SLURMD_NODENAME", check=0)
        assert sorted(done.stdout.splitlines()) == ["0: n2", "1: n1", "2: n2"]


@pytest.mark.parametrize("command, words", [
    ("salloc", "salloc: Job allocation {0} has been revoked.\nsalloc: Job aborted due to signal\n"),
    ("srun", "srun: Job allocation {0} has been revoked\nsrun: Force Terminated JobId={0}\n")])
def test_interrupt_while_waiting_for_an_allocation(cluster, command, words):
    waiting = cluster.start(command, "--begin=now+1hour", "true")
    line = ""
    while "queued and waiting" not in line:
        line = waiting.stderr.readline()
    waiting.send_signal(signal.SIGINT)
    told = waiting.stderr.read()
    assert waiting.wait(120) == 1
    job = re.search(r"job (\d+) queued", line)[1]
    assert sorted(told.splitlines()) == sorted(words.format(job).splitlines())
    poll(lambda: cluster.queue() == [], 20)


def test_srun_reads_all_its_input(cluster):
    """The trap of "while read" loops: the first srun takes the lines that are left."""
    loop = "printf 'a\\nb\\nc\\n' | while read x; do srun -n1 --overlap {} bash -c 'cat > /dev/null; echo '$x; done"
    job = cluster.submit(loop.format(""), "-n1")
    assert cluster.output(job).split() == ["a"]
    job = cluster.submit(loop.format("-i none"), "-n1")
    assert cluster.output(job).split() == ["a", "b", "c"]


def test_lines_of_many_tasks_are_whole(cluster):
    """More tasks than descriptors can be passed on at once."""
    script = "for i in 1 2 3; do printf 'begin '; printf '%s end\\n' $SLURM_PROCID; done"
    done = cluster.run("srun", "-n150", "--overcommit", "--mem=100M", "--label", "sh", "-c", script, check=0)
    assert sorted(done.stdout.splitlines()) == sorted(f"{i:3}: begin {i} end" for i in range(150) for _ in range(3))
    done = cluster.run("srun", "-n4", "--overcommit", "--mem=100M", "sh", "-c", script, check=0)
    assert sorted(done.stdout.splitlines()) == sorted(f"begin {i} end" for i in range(4) for _ in range(3))


@pytest.mark.minke_only
def test_pty_follows_the_terminal(cluster):
    script = "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(cluster.work)
        os.execvpe("srun", ["srun", "--pty", "bash", "-c", script], cluster.environment)
    text, resized = b"", False
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                text += os.read(terminal, 4096)
            except OSError:
                break
        if b"ready" in text and not resized:
            resized = True
            fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    os.waitpid(pid, 0)
    assert b"33 77" in text, text
