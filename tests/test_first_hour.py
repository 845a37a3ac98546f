"""What a newcomer types without having read anything: minke alone, help, the everyday commands, words of other programs."""
import json
import os
import re
import shutil
import stat
import subprocess

import pytest

from cluster import Cluster, poll

MINKE_ONLY = True


def told(cluster, *words, **options) -> str:
    return cluster.run("minke", *words, check=0, **options).stdout


def test_minke_alone_says_how_things_stand(cluster):
    text = told(cluster)
    assert "the cluster is down" in text and "sbatch job.sh" in text and cluster.pid() is None
    assert len([line for line in text.splitlines() if line.startswith("  ")]) == 6
    running = cluster.submit("sleep 600", "--job-name=train", "--time=10")
    cluster.wait_state(running, "RUNNING")
    waiting = cluster.submit("true", "--job-name=later", "--hold")
    failed = cluster.submit("exit 3", "--job-name=broken")
    cluster.wait_end(failed)
    text = told(cluster)
    assert re.search(r"^Cluster \S+ is up: 1 of 4 processors in use\.$", text, re.MULTILINE), text
    assert re.search(rf"^{running} +train +RUNNING +0:\d\d +(?:10:00|9:\d\d) +n1$", text, re.MULTILINE), text
    assert re.search(rf"^{waiting} +later +PENDING +0:00 +\(JobHeldUser\)$", text, re.MULTILINE), text
    assert re.search(rf"^{failed} +broken +FAILED +0:0\d +exit code 3, just now$", text, re.MULTILINE), text
    assert "minke why JOB" in text and "\x1b" not in text


def test_my_jobs(cluster):
    assert told(cluster, "jobs") == "You have no jobs.\n"
    first = cluster.submit("true", "--job-name=one")
    cluster.wait_end(first)
    second = cluster.submit("true", "--job-name=two", "--hold")
    lines = told(cluster, "jobs").splitlines()
    assert [line.split()[:3] for line in lines[1:3]] == [[str(second), "two", "PENDING"], [str(first), "one", "COMPLETED"]]
    assert lines[-1] == "1 waiting; ended: 1 completed"
    assert json.loads(told(cluster, "jobs", "--json")) == [{"job_id": str(first), "name": "one", "state": "COMPLETED", "metrics": {}}]
    assert "no time" in cluster.run("minke", "jobs", "--since", "whenever", check=1).stderr


def test_colour_is_for_terminals_and_for_whoever_asks(cluster):
    job = cluster.submit("true")
    cluster.wait_end(job)
    plain = {"NO_COLOR": None}
    green = "\x1b[32mCOMPLETED\x1b[0m"
    assert green not in told(cluster, "jobs", env=plain)
    assert green in told(cluster, "jobs", "--color=always") and green in told(cluster, "--color=always", "jobs")
    assert green in told(cluster, "jobs", env=plain | {"CLICOLOR_FORCE": "1"})
    assert green not in told(cluster, "jobs", "--color=never", env=plain | {"CLICOLOR_FORCE": "1"})
    assert green not in told(cluster, "jobs", env={"NO_COLOR": "1", "CLICOLOR_FORCE": "1"})
    assert "auto, always or never" in cluster.run("minke", "jobs", "--color=blue", check=2).stderr


def test_help_by_topic(cluster):
    topics = re.findall(r"^  (\w+) ", told(cluster, "help"), re.MULTILINE)
    assert {"submit", "look", "why", "stop", "arrays", "gpus", "data", "python", "setup"} == set(topics)
    for topic in topics:
        assert "  $ " in told(cluster, "help", topic), topic
    assert told(cluster, "help", "cancel") == told(cluster, "help", "stop") == told(cluster, "help", "Stop")
    assert "--follow" in told(cluster, "help", "tail") and "--array" in told(cluster, "help", "sbatch")
    assert "the topics are submit" in cluster.run("minke", "help", "nonsense", check=1).stderr
    assert re.fullmatch(r"minke \d+\.\d+\.\d+, speaks Slurm \d\d\.\d\d\.\d+\n", told(cluster, "version"))


def test_every_example_of_the_help_topics_names_a_command_that_there_is(cluster):
    commands = set(re.findall(r"^  (\S+)", told(cluster, "--help").partition("Subcommands:")[2], re.MULTILINE))
    for topic in re.findall(r"^  (\w+) ", told(cluster, "help"), re.MULTILINE):
        for command in re.findall(r"^  \$ minke (\S+)", told(cluster, "help", topic), re.MULTILINE):
            assert command.rstrip(",") in commands, f"{topic}: minke {command}"


@pytest.mark.parametrize("word, meant", [("ps", "minke jobs"), ("start", "sbatch job.sh"), ("stop", "scancel JOB"), ("logs", "minke tail JOB"),
                                         ("kill", "scancel JOB"), ("rm", "scancel JOB"), ("stauts", "status"), ("sbacth", "sbatch"),
                                         ("dockter", "doctor")])
def test_words_of_other_programs(cluster, word, meant):
    assert f"there is no command {word}; did you mean {meant}" in cluster.run("minke", word, check=2).stderr


@pytest.mark.parametrize("words, says", [
    (["tail", "--folow", "1"], "there is no option --folow; did you mean --follow?"),
    (["top", "--ones"], "there is no option --ones; did you mean --once?"),
    (["simulate", "x", "--by=usre"], "did you mean user?"),
    (["accounting", "exprot"], "there is no exprot here; did you mean export?"),
    (["status", "now"], '"now" is one word too many'),
    (["tail"], "job is required\nFor example: minke tail 12\n"),
    (["tail", "-n", "-5", "1"], "--lines: write a number from 0 to 1000000, not -5"),
    (["tail", "-n", "few", "1"], "--lines: write a number from 0 to 1000000, not few"),
    (["estimate", "8B", "--for=trainig"], "--for: write inference, full, lora or qlora, not trainig"),
    (["completion", "tcsh"], "shell: write bash, zsh or fish, not tcsh"),
    (["simulate", "x", "--top=many"], "--top: \"many\" is no number"),
    (["accounting"], "what is to be done? import, export or purge\n"),
    (["setup", "--users="], "--users needs a value"),
    (["cp", "one"], "2 are needed, there is 1"),
])
def test_mistakes_in_options(cluster, words, says):
    """What is wrong, and what to write: no word of the library that reads them."""
    error = cluster.run("minke", *words, check=2).stderr
    assert says in error and f"More: minke {words[0]}" in error, error
    assert not re.search(r"not in (range|\{)|Could not convert|required but|subcommand", error), error


def test_what_a_job_writes(cluster):
    gate = cluster.work / "gate"
    job = cluster.submit(f"for i in 1 2 3; do echo line $i; done; until [ -e {gate} ]; do sleep 0.1; done; echo end", "--error=err.txt")
    cluster.wait_state(job, "RUNNING")
    poll(lambda: "line 3" in cluster.run("minke", "tail", job).stdout)
    assert told(cluster, "tail", "-n", "1", job) == "line 3\n"
    following = cluster.start("minke", "tail", "-f", "-n", "2", str(job))
    assert [following.stdout.readline() for _ in range(2)] == ["line 2\n", "line 3\n"]
    gate.touch()
    assert following.stdout.read() == "end\n" and following.wait(60) == 0
    assert told(cluster, "tail", "-e", job) == ""
    assert "there is no job 999" in cluster.run("minke", "tail", "999", check=1).stderr
    assert "no job id" in cluster.run("minke", "tail", "x", check=1).stderr


def test_a_job_that_waits_is_followed_once_it_writes(cluster):
    job = cluster.submit("echo at last", "--hold")
    assert "waits (JobHeldUser), and has written nothing" in cluster.run("minke", "tail", job, check=1).stderr
    following = cluster.start("minke", "tail", "-f", str(job))
    cluster.run("scontrol", "release", job, check=0)
    assert following.stdout.read() == "at last\n" and following.wait(60) == 0


def test_a_job_again(cluster):
    script = cluster.script("echo $1 $TEXT $SLURM_JOB_NAME")
    job = cluster.sbatch("--job-name=first", "--time=7", "--comment=mine", script, "word")
    cluster.wait_end(job)
    script.write_text("#!/bin/bash\necho changed\n")  # the job's own script counts
    elsewhere = cluster.work / "elsewhere"
    elsewhere.mkdir()
    again = int(re.fullmatch(r"Submitted batch job (\d+)\n", told(cluster, "redo", job, cwd=elsewhere, env={"TEXT": "now"}))[1])
    assert cluster.output(again) == "word now first\n"
    fields = cluster.job(again)
    assert fields["TimeLimit"] == "00:07:00" and fields["Comment"] == "mine" and fields["WorkDir"] == str(cluster.work)
    assert cluster.output(int(told(cluster, "redo", again, env={"TEXT": "x"}).split()[-1])) == "word x first\n"
    assert "there is no job 999" in cluster.run("minke", "redo", "999", check=1).stderr
    interactive = cluster.run("srun", "--job-name=mine", "true")
    assert interactive.returncode == 0
    last = cluster.run("sacct", "-nXP", "-o", "jobid", "--name=mine").stdout.split()[0]
    assert "type that command again: srun --job-name=mine true" in cluster.run("minke", "redo", last, check=1).stderr


def test_what_failed_of_an_array_again(cluster):
    script = "[ -e ok ] || [ $SLURM_ARRAY_TASK_ID = 1 ] || [ $SLURM_ARRAY_TASK_ID = 4 ] || exit 2"
    job = cluster.submit(script, "--array=1-6%3", "--output=/dev/null")
    cluster.wait_end(job)
    (cluster.work / "ok").touch()
    again = int(told(cluster, "redo", "--failed", job).split()[-1])
    cluster.wait_end(again)
    assert sorted(one["ArrayTaskId"] for one in cluster.jobs(again)) == ["2", "3", "5", "6"]
    assert {one["JobState"] for one in cluster.jobs(again)} == {"COMPLETED"}
    assert "no task of" in cluster.run("minke", "redo", "--failed", again, check=1).stderr
    one = int(told(cluster, "redo", f"{job}_4").split()[-1])
    cluster.wait_end(one)
    assert [task["ArrayTaskId"] for task in cluster.jobs(one)] == ["4"]


def editor(cluster, change: str) -> dict[str, str]:
    path = cluster.work / "editor.sh"
    path.write_text(f"#!/bin/sh\n{change}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return {"VISUAL": str(path)}


def test_a_waiting_job_in_an_editor(cluster):
    job = cluster.submit("true", "--hold", "--time=10", "--job-name=old", "--mem=100M")
    change = "sed -i -e 's/^TimeLimit=.*/TimeLimit=2:00:00/' -e 's/^JobName=.*/JobName=new/' -e 's/^MinMemoryNode=.*/MinMemoryNode=200M/' \"$1\""
    assert told(cluster, "edit", job, env=editor(cluster, change)) == "JobName=new\nTimeLimit=2:00:00\nMinMemoryNode=200M\n"
    fields = cluster.job(job)
    assert (fields["TimeLimit"], fields["JobName"], fields["MinMemoryNode"]) == ("02:00:00", "new", "200M")
    assert told(cluster, "edit", job, env=editor(cluster, ":")) == "nothing was changed\n"
    wrong = editor(cluster, "sed -i 's/^TimeLimit=/TimeLimt=/' \"$1\"")
    assert "there is no setting TimeLimt; did you mean TimeLimit?" in cluster.run("minke", "edit", job, env=wrong, check=1).stderr
    refused = editor(cluster, "sed -i 's/^Partition=.*/Partition=nowhere/' \"$1\"")
    assert "nothing was changed: " in cluster.run("minke", "edit", job, env=refused, check=1).stderr
    cluster.run("scontrol", "release", job, check=0)
    cluster.wait_end(job)
    assert "minke redo" in cluster.run("minke", "edit", job, check=1).stderr or "does not wait any more" in \
        cluster.run("minke", "edit", job, check=1).stderr
    assert not [name for name in os.listdir(cluster.environment.get("TMPDIR", "/tmp")) if name.startswith("minke-job-")]


def test_the_whole_queue_pauses(cluster):
    runs = cluster.submit("sleep 600")
    cluster.wait_state(runs, "RUNNING")
    assert told(cluster, "pause").startswith("paused: nothing new starts in main; what runs goes on.")
    waits = cluster.submit("true")
    cluster.wait_state(waits, "PENDING")
    poll(lambda: cluster.job(waits)["Reason"] == "PartitionDown")
    assert cluster.state(runs) == "RUNNING" and "Paused" in told(cluster)
    assert told(cluster, "pause").startswith("paused already")
    assert told(cluster, "resume") == "jobs start again in main\n"
    cluster.wait_end(waits)
    assert told(cluster, "resume") == "nothing was paused\n"
    told(cluster, "pause", "--running")
    cluster.wait_state(runs, "SUSPENDED")
    told(cluster, "resume")
    cluster.wait_state(runs, "RUNNING")
    assert "there is no partition nowhere" in cluster.run("minke", "pause", "nowhere", check=1).stderr


def test_ones_own_waiting_jobs_pause(cluster):
    job = cluster.submit("true", "--begin=now+1hour")
    assert "1 waiting job of yours held" in told(cluster, "pause", "--mine")
    assert cluster.job(job)["Reason"] == "JobHeldUser"
    assert told(cluster, "resume", "--mine") == "1 waiting job of yours may start again\n"
    poll(lambda: cluster.job(job)["Reason"] == "BeginTime")


def test_every_command_has_a_manual_page_and_examples(cluster):
    names = cluster.run("minke", "man", "?", check=1).stderr.partition("there are those of ")[2].split()
    listed = told(cluster, "--help").partition("Subcommands:")[2].partition("--color")[0]
    commands = set(re.findall(r"^  ([a-z]\S*)", listed, re.MULTILINE))
    assert commands <= set(names) and {"minke", "sbatch", "squeue", "seff", "sq", "avail_wheels", "minke.toml"} <= set(names)
    lacking = []
    for name in names:
        page = told(cluster, "man", name)
        assert page.startswith(".TH ") and ".SH NAME" in page and ".SH SYNOPSIS" in page or name == "minke.toml", name
        if ".SH EXAMPLES" not in page:
            lacking.append(name)
    assert set(lacking) <= {"minke", "daemon", "launcher", "mailer", "minke.toml"}, lacking


def shown_options(text: str) -> set[str]:
    """The long options that --help lists: those in front of a line's words."""
    lines = re.findall(r"^ {1,8}(-\S.*)", text, re.MULTILINE)
    return {name for line in lines for name in re.findall(r"(?<![\w-])--[a-zA-Z][\w-]*", re.split(r"\s{2,}", line)[0])}


def test_manual_pages_list_the_options_that_help_lists(cluster):
    names = cluster.run("minke", "man", "?", check=1).stderr.partition("there are those of ")[2].split()
    lacking, found = {}, 0
    for name in names:
        if name == "minke.toml":
            continue
        shown = shown_options(cluster.run("minke", *([] if name == "minke" else [name]), "--help").stdout)
        page = re.sub(r"\\f[RBI]", "", told(cluster, "man", name)).replace("\\-", "-")
        found += len(shown)
        if missing := [one for one in sorted(shown) if not re.search(re.escape(one) + r"(?![\w-])", page)]:
            lacking[name] = missing
    assert found > 500 and not lacking, lacking
    assert "how long before its end" in told(cluster, "man", "chain") and "where the farm is kept" in told(cluster, "man", "farm")


@pytest.mark.parametrize("name", ["sbatch", "squeue", "scancel", "tail", "redo", "jobs", "cp", "restore"])
def test_examples_stand_in_help_and_use_options_that_there_are(cluster, name):
    words = [name] if name in ("sbatch", "squeue", "scancel") else ["minke", name]
    text = cluster.run(*words, "--help", check=0).stdout
    examples = text.partition("Examples:\n")[2]
    assert examples, text
    for option in re.findall(r" (--[a-z-]+)", examples):
        assert option in text.partition("Examples:\n")[0], option


def test_manual_pages_are_sound(cluster):
    if subprocess.run(["sh", "-c", "command -v mandoc"], capture_output=True).returncode:
        pytest.skip("mandoc is not installed")
    for name in ("minke", "tail", "accounting", "cp", "grow", "minke.toml"):
        done = cluster.run("mandoc", "-T", "lint", "-W", "error", input=told(cluster, "man", name))
        assert done.returncode == 0, f"{name}: {done.stdout}"


SETUP = ["setup", "--name=lab1", "--users=daemon,bin", "--max-time=2-0", "--memory=100M", "--mail=none", "--max-jobs=3"]


def test_a_machine_for_several_people(tmp_path):
    """Shown first, then done; what is there already is not overwritten."""
    one = Cluster(tmp_path)
    try:
        shown = told(one, *SETUP, "--show")
        assert 'cluster_name = "lab1"' in shown and "sacctmgr -i add user daemon,bin account=lab" in shown
        assert not (one.home / "minke.toml").exists() and one.pid() is None
        refused = one.run("minke", *SETUP, check=1)
        assert "--yes has it done" in refused.stdout and one.pid() is None
        done = told(one, *SETUP, "--yes")
        assert "Done. Tell your users:" in done and "Each person runs 3 jobs at a time at most." in done
        assert one.run("scontrol", "show", "config", check=0).stdout.count("lab1") >= 1
        limits = one.run("sacctmgr", "-nP", "show", "assoc", "user=daemon", "format=account,maxjobs", check=0).stdout
        assert limits == "lab|3\n"
        partition = one.run("scontrol", "show", "partition", "main", check=0).stdout
        assert "MaxTime=2-00:00:00" in partition and "DefaultTime=01:00:00" in partition and "DefMemPerCPU=100" in partition
        if os.getuid() == 0:
            assert one.wait_end(one.submit("true", "--mem=50M"))["JobState"] == "COMPLETED"
        assert "--replace keeps it" in one.run("minke", *SETUP, "--yes", check=1).stderr
        told(one, *SETUP, "--yes", "--replace")
        assert (one.home / "minke.toml.before").exists()
    finally:
        one.close()


@pytest.mark.parametrize("option, says", [("--max-time=soon", "no time (write 1:00:00"), ("--users=a b;c", "no name of a user"),
                                          ("--memory=lots", "no size (write 2G"), ("--mail=mail.example.org", "begins with smtp://"),
                                          ("--default-time=9-0", "over the largest")])
def test_wrong_answers_of_setup(cluster, option, says):
    usual = {"--users": "none", "--name": "x", "--memory": "1G", "--mail": "none", "--default-time": "1:00:00"}
    name, value = option.split("=")
    words = [f"{name}={value}" for name, value in (usual | {name: value}).items()]
    done = cluster.run("minke", "setup", "--show", *words, check=1)
    assert says in done.stderr, done.stderr


def test_the_program_installs_updates_and_removes_itself(cluster):
    home = cluster.work / "me"
    home.mkdir()
    here = {"HOME": str(home), "SHELL": "/bin/bash"}
    text = told(cluster, "self", "install", "--to", home / "bin", env=here)
    assert f"is in {home}/bin/minke" in text and "is not on PATH" in text
    program = home / "bin/minke"
    before = program.stat().st_ino
    tree = cluster.work / "minke-0.0.0-linux-x86_64" / "bin"
    tree.mkdir(parents=True)
    (tree / "minke").write_bytes(program.read_bytes())
    (tree / "minke").chmod(0o755)
    subprocess.run(["tar", "-czf", "minke.tar.gz", tree.parent.name], cwd=cluster.work, check=True)
    done = cluster.run(program, "self", "update", "minke.tar.gz", env=here, check=0).stdout
    assert f"is in {program}" in done and program.stat().st_ino != before
    (cluster.work / "other").write_text("#!/bin/sh\necho other 1\n")
    assert "it is not minke" in cluster.run(program, "self", "update", "other", env=here, check=1).stderr
    assert cluster.run(program, "version", check=0).stdout.startswith("minke ")
    job = cluster.submit("true")
    cluster.wait_end(job)
    assert "stop it first: minke down" in cluster.run(program, "self", "uninstall", env=here, check=1).stderr
    told(cluster, "down")
    done = cluster.run(program, "self", "uninstall", env=here, check=0).stdout
    assert f"removed {program}" in done and "records and settings are still in" in done and not program.exists()


@pytest.mark.parametrize("version, warns", [("0.0.9", True), ("0.1.0", False), ("0.10.0", False), ("1.0", False)])
def test_an_older_program_says_how_to_go_back(cluster, version, warns):
    here = {"HOME": str(cluster.work), "MINKE_HOME": str(cluster.work / "none")}
    place = cluster.work / f"put {version}"
    told(cluster, "self", "install", place, env=here)
    program, other = place / "minke", cluster.work / f"other-{version}"
    other.write_text(f"#!/bin/sh\necho minke {version}\n")
    done = cluster.run(program, "self", "update", other, env=here, check=0)
    assert done.stdout == f"minke {version} is in {program}\n"
    assert done.stderr.startswith(f"minke: warning: minke {version} is older than minke ") == warns, done.stderr
    assert (f"'{program}' self update FILE" in done.stderr and f"'{program}' backup --restore FILE" in done.stderr) == warns


def test_the_program_is_put_where_names_have_blanks(cluster):
    home = cluster.work / "a home"
    here = {"HOME": str(home), "MINKE_HOME": str(home / "the cluster")}
    place = cluster.work / "some programs"
    text = told(cluster, "self", "install", place, env=here)
    assert f"in every shell: '{place}/minke' env --install" in text
    (home / "the cluster").mkdir(parents=True)
    done = cluster.run(place / "minke", "self", "uninstall", env=here, check=0).stdout
    assert f"rm -r '{home}/the cluster'" in done


@pytest.mark.skipif(subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0, reason="mounts need root")
@pytest.mark.parametrize("options, command, says", [
    ("ro", "self update {program}", "cannot be written to by you; minke self install --to DIRECTORY puts it elsewhere"),
    ("ro", "self uninstall", "cannot be removed by you: Read-only file system"),
    ("full", "self update {program}", "has no room for the program; what is there is as it was")])
def test_a_disk_that_takes_no_program(cluster, options, command, says):
    """What was there works as before, and no shell is changed."""
    place, home = cluster.work / f"disk {options}", cluster.work / "home of this"
    place.mkdir(exist_ok=True)
    home.mkdir(exist_ok=True)
    program = shutil.which("minke", path=cluster.environment["PATH"])
    size = os.stat(program).st_size
    then = {"ro": "mount -o remount,ro \"$1\"", "full": "true"}[options]
    words = command.format(program=program)
    done = cluster.run("unshare", "-m", "sh", "-c",
                       f'mount -t tmpfs -o size={size * 3 // 2} none "$1" && cp "$2" "$1/minke" && "$1/minke" env --install --over-slurm >/dev/null'
                       f' && {then} && ! "$1/minke" {words} && "$1/minke" version && ls "$1"',
                       "sh", place, program, env={"HOME": str(home), "MINKE_HOME": str(home / "c")}, check=0)
    assert says in done.stderr and done.stdout.endswith("\nminke\n"), done.stderr + done.stdout
    assert ">>> minke >>>" in (home / ".bashrc").read_text()


def test_the_end_of_a_job_is_told_elsewhere(cluster):
    """To a web hook, to a command; the exit code says whether all went well."""
    import http.server
    import threading
    got = []

    class Hook(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200 if self.path == "/hook" else 404)
            self.end_headers()

        def log_message(self, *_):
            pass
    server = http.server.HTTPServer(("127.0.0.1", 0), Hook)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    good, bad = cluster.submit("sleep 1", "--job-name=good"), cluster.submit("exit 3", "--job-name=bad")
    done = cluster.run("minke", "wait", good, "--webhook", f"{address}/hook", check=0)
    assert re.fullmatch(rf"job {good} \(good\) COMPLETED, after 0:0\d\n", done.stdout)
    assert got[0]["text"] in done.stdout and (got[0]["job"], got[0]["state"], got[0]["exit_status"]) == (str(good), "COMPLETED", "0")
    done = cluster.run("minke", "wait", "-q", good, bad, "--command", "echo $MINKE_JOB_NAME $MINKE_JOB_EXIT_STATUS", check=1)
    assert done.stdout == "good 0\nbad 3\n"
    assert "curl" in cluster.run("minke", "wait", good, "--webhook", f"{address}/nowhere", check=1).stderr
    assert "there is no job 999" in cluster.run("minke", "wait", "999", check=1).stderr
    server.shutdown()
