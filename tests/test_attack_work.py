"""What a user of a shared cluster tries with requests alone: work without bounds, others' records, others' terminals.

Where time is the matter, the daemon's own processor time is counted, and compared with that for half as much.
"""
import os
import pathlib
import pty
import re
import select
import subprocess

import pytest

from cluster import poll
from shared import NEEDS_ROOT, Shared
from wire import Wire, frame, greeting, protocol

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT]

# A program of a user's own that speaks the daemon's protocol: sends messages, one after another, and prints the answers
# in hexadecimal, the last part of each.
SPEAKER = """
import socket, struct, sys
s = socket.socket(socket.AF_UNIX); s.settimeout(600); s.connect(sys.argv[1])
got = b""
def read(size):
    global got
    while len(got) < size:
        more = s.recv(1 << 20)
        if not more: raise SystemExit("closed")
        got += more
    answer, got = got[:size], got[size:]
    return answer
s.sendall(bytes.fromhex(sys.argv[2]))
read(7)
for line in sys.stdin:
    s.sendall(bytes.fromhex(line.strip()))
    size, _ = struct.unpack("<II", read(8))
    print(read(size).hex(), flush=True)
"""


def ask_all(shared, user, *messages):
    """What the daemon answers this user's program: the first message of each answer."""
    lines = "\n".join(frame(message.SerializeToString()).hex() for message in messages)
    done = user.run("python3", "-c", SPEAKER, shared.home / "minked.sock", greeting().hex(), input=lines, check=0,
                    timeout=300)
    answers = [protocol().ServerMessage.FromString(bytes.fromhex(line))
               for line in done.stdout.split()]
    assert len(answers) == len(messages), done.stderr
    return answers


def message(**fields):
    """A ClientMessage: message(query_steps={...})."""
    one = protocol().ClientMessage(request_id=1)
    for name, fill in fields.items():
        getattr(one, name).SetInParent()
        if fill:
            fill(getattr(one, name))
    return one


def ask(shared, user, **fields):
    return ask_all(shared, user, message(**fields))[0]


def processor_seconds(pid: int) -> float:
    """Of the daemon's own thread."""
    fields = pathlib.Path(f"/proc/{pid}/task/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cost(shared, work) -> float:
    """Processor seconds that the daemon spends on it."""
    before = processor_seconds(shared.pid())
    work()
    return processor_seconds(shared.pid()) - before


def assert_about_linear(half: float, whole: float, least: float = 0.3) -> None:
    """Twice as much may cost twice as much, and something; four times and more is what this is about. Small amounts
    say nothing."""
    assert whole < max(least, 3 * half), (half, whole)


@pytest.fixture(autouse=True)
def unharmed(shared):
    before = shared.pid()
    yield
    assert shared.pid() == before
    assert shared.alice.run("squeue", "-h", "-j", "1").returncode in (0, 1)
    for user in (shared.alice, shared.bob):
        user.run("scancel", "--me")


def running(user, *options, command: str = "sleep 1000") -> int:
    job = user.submit(command, *options)
    user.wait_state(job, "RUNNING")
    return job


# ---- secrets ----------------------------------------------------------------------------------------------


def test_the_key_of_a_step_is_told_to_nobody(shared):
    job = running(shared.alice, command="srun sleep 1000")
    poll(lambda: f"{job}.0" in shared.bob.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout)

    def of_job(request):
        request.filter.jobs.add().job_id = job

    def accounted(request):
        of_job(request)
        request.with_steps = True

    answers = ask_all(shared, shared.bob, message(query_steps=of_job), message(query_step_usage=of_job),
                      message(query_accounting=accounted))
    steps = [*answers[0].steps.steps, *(one.step for one in answers[1].step_usage.steps),
             *(step for one in answers[2].accounting.jobs for step in one.steps)]
    assert [step for step in steps if step.kind == 0] and not [step for step in steps if step.key]


def test_a_stranger_who_knows_a_steps_key_does_not_part_it_from_its_srun(shared):
    """He sends it with another job's number and goes away."""
    with subprocess.Popen([shared.home / "bin/srun", "sleep", "1000"], cwd=shared.alice.work,
                          env=shared.alice.environment, stderr=subprocess.PIPE, text=True,
                          **shared.alice.rights()) as srun:
        job = int(poll(lambda: shared.alice.run("squeue", "-h", "--me", "-t", "R", "-o", "%i").stdout.strip()))
        poll(lambda: f"{job}.0" in shared.alice.run("squeue", "-h", "-s", "-j", job, "-o", "%i").stdout)
        database = subprocess.run(["sqlite3", shared.home / "minke.db", f"select hex(record) from steps"],
                                  capture_output=True, text=True)
        keys = {b""}
        records = [protocol().StepRecord.FromString(bytes.fromhex(line))
                   for line in database.stdout.split()]
        keys |= {record.key for record in records if record.job_id == job}
        with Wire(shared.home) as wire:  # as root sees it, whatever the daemon tells
            request = wire.messages.QueryStepsRequest()
            keys |= {step.key for step in wire.ask(query_steps=request).steps.steps if step.job_id == job}

        def create(key, of_job):
            def fill(request):
                request.key, request.job_id = key, of_job
                request.spec.argv.append(b"true")
            return fill
        for key in keys:
            for of_job in (0, job, job + 1000000):
                answer = ask(shared, shared.bob, create_step=create(key, of_job))
                assert answer.error.code, answer
        shared.alice.run("scancel", "--signal=USR1", f"{job}.0", check=0)
        assert srun.wait(timeout=120) != 0  # it is told what becomes of its step
    shared.alice.run("scancel", job)


def test_a_submissions_key_is_its_owners(shared):
    def submit(request):
        request.key = b"0123456789abcdef"
        request.script = b"#!/bin/sh\n"
        request.spec.work_dir, request.spec.name, request.spec.hold = b"/tmp", b"hers", True
    hers = ask(shared, shared.alice, submit=submit)
    assert hers.submit.job_id
    assert ask(shared, shared.alice, submit=submit).submit.job_id == hers.submit.job_id
    his = ask(shared, shared.bob, submit=submit)
    assert his.error.code and not his.submit.job_id


def test_what_an_allocation_is_told_is_its_owners(shared):
    job = running(shared.alice)
    def wait(request):
        request.job_id = job
    hers = ask(shared, shared.alice, wait_job=wait)
    assert hers.wait_job.job.job_id == job and hers.wait_job.environment
    his = ask(shared, shared.bob, wait_job=wait)
    assert not his.wait_job.environment


# ---- bounds of steps --------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", ["--overlap -n 100000", "-O -n 100000", "--overlap -n 4000000000",
                                     "--overlap --ntasks-per-node=70000"])
def test_a_step_of_very_many_tasks_is_refused_at_once(shared, options):
    job = running(shared.bob)
    spent = cost(shared, lambda: shared.bob.run("srun", f"--jobid={job}", *options.split(), "true"))
    done = shared.bob.run("srun", f"--jobid={job}", *options.split(), "true")
    assert done.returncode != 0, done
    assert spent < 3, spent


def test_patterns_that_grow_are_cut(shared):
    """A name of 1,000 characters a thousand times in each path of a step."""
    job = shared.bob.submit("srun --overlap -n 400 -o /tmp/" + "%x" * 2000 + " true; echo $?", "-J", "x" * 1000,
                            "--output=out")
    spent = cost(shared, lambda: shared.bob.wait_end(job, 300))
    assert spent < 10, spent


# ---- rights before changes --------------------------------------------------------------------------------


def records_of(shared, user, array) -> int:
    """In how many records the daemon has the array."""
    def of_array(request):
        request.filter.jobs.add().job_id = array
    return len(ask(shared, user, query_jobs=of_array).jobs.jobs)


@pytest.mark.parametrize("command", ["scontrol hold {job}_[0-9999]", "scontrol release {job}_[0-9999]",
                                     "scontrol update JobId={job}_[0-9999] Comment=mine",
                                     "scontrol top {job}_5", "scontrol requeue {job}_[0-9999]",
                                     "scontrol suspend {job}_[0-9999]", "scancel {job}_[0-9999]",
                                     "scancel -s USR1 {job}_[0-9999]"])
def test_what_is_refused_leaves_anothers_array_as_it_was(shared, command):
    job = shared.alice.submit("true", "--array=0-19999", "--hold", "--output=/dev/null")
    spent = cost(shared, lambda: shared.bob.run(*command.format(job=job).split(), timeout=300))
    assert records_of(shared, shared.alice, job) == 1
    assert spent < 5, spent
    assert shared.alice.run("squeue", "-h", "-j", job, "-o", "%i").stdout.strip() == f"{job}_[0-19999]"


def test_what_is_refused_leaves_ones_own_array_as_it_was(shared):
    job = shared.bob.submit("true", "--array=0-999", "--hold", "--output=/dev/null")
    for command in (f"scontrol update JobId={job}_[5-500] NumNodes=9999",
                    f"scontrol update JobId={job}_7 Nothing=known", f"scancel -s USR1 {job}_[0-9]",
                    f"scontrol requeue {job}_[1-3]", f"scontrol notify {job}_4 word"):
        assert shared.bob.run(*command.split()).returncode != 0, command
        assert records_of(shared, shared.bob, job) == 1, command


def test_tasks_that_are_held_together_have_one_record(shared):
    job = shared.bob.submit("true", "--array=0-3999999", "--begin=now+1hour", "--output=/dev/null")
    ranges = ",".join(f"{first}-{first + 49999}" for first in range(0, 4000000, 100000))
    spent = cost(shared, lambda: shared.bob.run("scontrol", "hold", f"{job}_[{ranges}]", check=0, timeout=300))
    spent += cost(shared, lambda: shared.bob.run("scontrol", "release", f"{job}_[{ranges}]", check=0, timeout=300))
    assert spent < 5, spent
    assert records_of(shared, shared.bob, job) == 2
    shared.bob.run("scancel", job, check=0)


def test_tasks_of_a_held_part_run_when_they_are_released(shared):
    job = shared.bob.submit("echo $SLURM_ARRAY_TASK_ID >> ran", "--array=0-9", "--hold", "--output=/dev/null")
    shared.bob.run("scontrol", "release", f"{job}_[2-4,7]", check=0)
    ran = shared.bob.work / "ran"
    poll(lambda: ran.exists() and sorted(ran.read_text().split()) == ["2", "3", "4", "7"], 60, "their end")
    assert shared.bob.run("squeue", "-h", "-j", job, "-o", "%i %r").stdout.strip() == f"{job}_[0-1,5-6,8-9] JobHeldUser"
    shared.bob.run("scontrol", "release", job, check=0)
    poll(lambda: len(ran.read_text().split()) == 10, 60, "the end of the others")
    ran.unlink()


# ---- work in proportion -----------------------------------------------------------------------------------


def scattered(shared, tasks: int) -> float:
    """What it costs to cancel so many tasks of an array that are no range."""
    job = shared.bob.submit("true", f"--array=0-{2 * tasks + 1}", "--hold", "--output=/dev/null")

    def cancel(request):
        for index in range(0, 2 * tasks, 2):
            selector = request.filter.jobs.add()
            selector.job_id = job
            selector.tasks.add(first=index, last=index, step=1)
    spent = cost(shared, lambda: ask(shared, shared.bob, signal=cancel))
    shown = shared.bob.run("squeue", "-h", "-r", "-j", job, "-o", "%K").stdout.split()
    assert len(shown) == tasks + 2, len(shown)
    shared.bob.run("scancel", job, check=0)
    return spent


def test_scattered_tasks_are_cancelled_in_proportion(shared):
    assert_about_linear(scattered(shared, 8000), scattered(shared, 16000))


def test_a_task_that_is_named_twice_is_meant_once(shared):
    job = shared.bob.submit("true", "--array=0-9", "--hold", "--output=/dev/null")

    def hold(request):
        for first, last in ((3, 5), (5, 7), (5, 5), (3, 7)):
            selector = request.jobs.add()
            selector.job_id = job
            selector.tasks.add(first=first, last=last, step=1)
    answer = ask(shared, shared.bob, hold=hold)
    assert not answer.action.failures and not answer.error.code, answer
    assert records_of(shared, shared.bob, job) == 2


def submissions(count: int, **spec):
    """SubmitRequests for so many held jobs."""
    one = []
    for _ in range(count):
        def fill(request):
            request.key, request.script = os.urandom(16), b"#!/bin/sh\n"
            request.spec.work_dir, request.spec.hold = b"/tmp", True
            request.spec.stdout_path = b"/dev/null"
            request.spec.name = spec.get("name", b"job")
            if "after" in spec:
                request.spec.dependencies.add(type=0, job_id=spec["after"])
            if spec.get("singleton"):
                request.spec.dependencies.add(type=4)
        one.append(message(submit=fill))
    return one


def singletons(shared, count: int) -> float:
    ask_all(shared, shared.bob, *submissions(count, name=b"one", singleton=True))
    spent = cost(shared, lambda: shared.bob.run("scancel", "--me", check=0, timeout=300))
    poll(lambda: not shared.bob.queue("--me"), 60)
    return spent


def test_singletons_are_cancelled_in_proportion(shared):
    assert_about_linear(singletons(shared, 500), singletons(shared, 1000))


def dependants(shared, count: int) -> float:
    first = shared.bob.submit("true", "--hold", "--output=/dev/null")
    ask_all(shared, shared.bob, *submissions(count, after=first))
    spent = cost(shared, lambda: (shared.bob.run("scancel", first, check=0, timeout=300),
                                  poll(lambda: "Dependency" not in shared.bob.queue("--me", format="%r"), 60)))
    shared.bob.run("scancel", "--me", check=0, timeout=300)
    return spent


def test_dependants_are_released_in_proportion(shared):
    assert_about_linear(dependants(shared, 750), dependants(shared, 1500), least=1)


def test_a_long_chain_that_ends_at_once_does_not_end_the_daemon(shared):
    """Each cancels the next: that must not be a call within a call."""
    last = shared.bob.submit("true", "--hold", "--output=/dev/null")
    first = last
    with Wire(shared.home) as wire:
        for _ in range(3000):
            request = wire.submission(hold=False)
            request.spec.dependencies.add(type=1, job_id=last)
            request.spec.kill_on_invalid_dependency = True
            last = wire.ask(submit=request).submit.job_id
    assert last >= first + 3000
    shared.bob.run("scancel", first, check=0)
    poll(lambda: not shared.root_run("squeue", "-h", "-j", str(last)).stdout.strip(), 120, "the end of the chain")


def test_names_and_jobs_are_not_multiplied(shared):
    ask_all(shared, shared.bob, *submissions(500))

    def by_names(names):
        def fill(request):
            request.filter.names.extend(b"n%d" % number for number in range(names))
            request.signal = 0
        return fill
    half = cost(shared, lambda: ask(shared, shared.bob, signal=by_names(1)))
    whole = cost(shared, lambda: ask(shared, shared.bob, signal=by_names(100000)))
    assert whole < half + 1, (half, whole)


# ---- texts ------------------------------------------------------------------------------------------------


def text_fields():
    descriptor = protocol().JobSpec.DESCRIPTOR
    return [field.name for field in descriptor.fields if field.type == field.TYPE_BYTES]


def test_every_text_of_a_submission_has_a_limit(shared):
    long = b"x" * ((1 << 20) + 10)
    requests = []
    for name in text_fields():
        def fill(request, name=name):
            request.key, request.script = os.urandom(16), b"#!/bin/sh\n"
            request.spec.work_dir, request.spec.hold = b"/tmp", True
            field = getattr(request.spec, name)
            if isinstance(field, bytes):
                setattr(request.spec, name, long)
            else:
                field.append(long)
        requests.append(message(submit=fill))
    assert len(requests) > 45
    for name, answer in zip(text_fields(), ask_all(shared, shared.bob, *requests), strict=True):
        assert answer.error.code, name


def test_every_text_of_an_update_has_a_limit(shared):
    job = shared.bob.submit("true", "--hold")
    long = "x" * 100000
    for field in ("JobName", "Comment", "WCKey", "StdOut", "WorkDir", "MailUser", "Licenses", "Features", "TresBind"):
        done = shared.bob.run("scontrol", "update", f"JobId={job}", f"{field}={long}")
        assert done.returncode != 0, field
    fields = shared.bob.job(job)
    assert max(map(len, fields.values())) < 5000


def test_a_texts_limit_and_option_are_told(shared):
    done = shared.bob.run("sbatch", "-J", "x" * 1025, "--wrap", "true")
    assert done.returncode != 0 and "--job-name" in done.stderr and "1024" in done.stderr, done.stderr


def test_lines_that_are_long_do_not_make_lists_fail(shared):
    """The longest that pass, many times: everybody's lists still come, in several messages."""
    def fill(request):
        request.key, request.script = os.urandom(16), b"#!/bin/sh\n"
        request.spec.work_dir, request.spec.hold = b"/tmp", True
        request.spec.submit_line = b"x" * (1 << 20)
        request.spec.arguments.append(b"y" * ((1 << 20) - 10))
    answers = [ask(shared, shared.bob, submit=fill) for _ in range(40)]
    taken = [one.submit.job_id for one in answers if one.submit.job_id]
    for command in ("squeue -h -o %i", "scontrol -o show jobs", "sacct -a -X -n -o jobid", "minke usage"):
        done = shared.alice.run(*command.split(), timeout=300)
        assert done.returncode == 0, (command, done.stderr)
    shown = shared.alice.run("squeue", "-h", "-o", "%i").stdout.split()
    assert {str(job) for job in taken} <= set(shown)


# ---- other people's terminals -----------------------------------------------------------------------------


def on_a_terminal(user, *command) -> bytes:
    """What a command writes to a terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.setgroups([user.gid])
        os.setgid(user.gid)
        os.setuid(user.uid)
        os.chdir(user.work)
        os.execvpe(command[0], [str(word) for word in command], user.environment | {"TERM": "xterm"})
    out = b""
    while select.select([terminal], [], [], 120)[0]:
        try:
            got = os.read(terminal, 65536)
        except OSError:
            break
        if not got:
            break
        out += got
    os.close(terminal)
    os.waitpid(pid, 0)
    return out


EVIL = "a\x1b]0;owned\x07b\x1b[2Jc\x9bd\u202ee\nJobId=1 JobName=forged\r\x08f"


@pytest.mark.parametrize("command", ["squeue -o %all", "squeue --long", "squeue -O name:80,comment:80", "scontrol show job {job}",
                                     "scontrol -o show job {job}", "sacct -a -j {job} -o jobid,jobname%80,comment%80",
                                     "sacct -a -P -j {job} -o jobname,comment,submitline,workdir", "sqjobs -a", "sprio -l",
                                     "minke why {job}", "minke top --once", "sstat -a {job}"])
def test_a_name_writes_nothing_but_its_letters_to_a_terminal(shared, command):
    job = shared.bob.sbatch("--hold", "-J", EVIL, f"--comment={EVIL}", "--wrap", f"echo '{EVIL}'")
    words = command.format(job=job).split()
    shown = on_a_terminal(shared.alice, *words)
    piped = shared.alice.run(*words).stdout.encode("utf-8", "surrogateescape")
    for text in (shown, piped):
        plain = text.replace(b"\r\n", b"\n")
        assert b"\x1b]" not in plain and b"\x1b[2J" not in plain and b"\x07" not in plain, plain
        assert b"\x08" not in plain and b"\r" not in plain and "\u202e".encode() not in plain, plain
        assert b"\nJobId=1 " not in plain, plain


# ---- PrivateData ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def private():
    one = Shared(extra="private_jobs = true\n")
    yield one
    one.close()


def answers_about(shared, user, job) -> list[str]:
    """Everything that one may ask of a job, with the answer; its number made the same."""
    def named(request):
        request.filter.jobs.add().job_id = job

    def selector(request):
        request.jobs.add().job_id = job

    def task(request):
        one = request.jobs.add()
        one.job_id = job
        one.tasks.add(first=1, last=1, step=1)

    def number(request):
        request.job_id = job

    def of_one(request):
        request.job.job_id = job

    def attach(request):
        request.job_id, request.socket = job, b"/tmp/none"

    def step(request):
        request.job_id, request.key = job, os.urandom(16)
        request.spec.argv.append(b"true")

    def note(request):
        request.jobs.add().job_id = job
        field = request.fields.add()
        field.name, field.value = b"comment", b"x"

    kinds = {"query_jobs": named, "query_steps": named, "query_step_usage": named, "query_accounting": named,
             "query_pids": named, "query_priorities": named, "wait_job": number, "query_script": number,
             "complete_allocation": number, "keep_metrics": number, "attach_step": attach, "create_step": step,
             "hold": selector, "requeue": selector, "suspend": selector, "top": selector, "notify": of_one,
             "update_job": of_one, "explain_job": of_one, "update_records": note, "signal": named}
    requests = [message(**{kind: fill}) for kind, fill in kinds.items()]
    requests += [message(hold=task), message(requeue=task), message(top=task)]
    told = []
    for kind, answer in zip([*kinds, "hold task", "requeue task", "top task"], ask_all(shared, user, *requests),
                            strict=True):
        for body in ("jobs", "steps", "step_usage", "accounting", "explanation", "priorities", "pids"):
            if answer.HasField(body) and hasattr(getattr(answer, body), "now"):
                getattr(answer, body).now = 0
        told.append(f"{kind}: " + re.sub(rf'(job_id: |job: "){job}(?!\d)', r"\1JOB", str(answer)))
    return told


def test_a_job_that_is_not_to_be_seen_is_like_one_that_there_never_was(private):
    array = private.alice.submit("sleep 1000", "--array=1-2")
    private.alice.wait_state(f"{array}_1", "RUNNING")
    waiting = private.alice.submit("true", "--hold")
    ended = private.alice.submit("true")
    private.alice.wait_end(ended)
    ended_array = private.alice.submit("true", "--array=1-2")
    poll(lambda: private.alice.run("squeue", "-h", "-j", ended_array, "-t", "PD,R,CG", "-o", "%i").stdout == "", 60)
    unknown = answers_about(private, private.bob, 3999999)
    for job in (array, waiting, ended, ended_array):
        assert answers_about(private, private.bob, job) == unknown, job
    private.alice.run("scancel", "--me")


def test_what_others_ask_is_not_told(private):
    for user in (private.alice, private.bob):
        user.run("squeue", check=0)
    diagnostics = private.bob.run("sdiag", check=0).stdout
    assert private.alice.name not in diagnostics and private.bob.name in diagnostics


def test_a_dependency_does_not_tell_of_anothers_job(private):
    job = private.alice.submit("true", "--hold")
    own = private.bob.sbatch("--hold", f"--dependency=afterany:{job}", "--wrap", "true")
    never = private.bob.sbatch("--hold", "--dependency=afterany:3999999", "--wrap", "true")
    shown = [private.bob.job(one)["Dependency"].replace(str(job), "JOB").replace("3999999", "JOB") for one in (own, never)]
    assert shown[0] == shown[1], shown
    refused = [private.bob.run("sbatch", f"--dependency=afterok:{one}", "--wrap", "true") for one in (job, 3999999)]
    assert all(done.returncode == 1 for done in refused)
    assert refused[0].stderr.replace(str(job), "JOB") == refused[1].stderr.replace("3999999", "JOB")
    private.alice.run("scancel", job)
    private.bob.run("scancel", "--me")


# ---- limits on submissions --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def limited():
    one = Shared(tables='\n[accounting]\nenforce = ["limits", "qos"]\n')
    for words in ("add account lab", "add qos tiny", "modify qos tiny set maxsubmitjobsperuser=2",
                  f"add user {one.alice.name},{one.bob.name},{one.otto.name} account=lab qos=normal,tiny"):
        done = one.root_run("sacctmgr", "-i", *words.split())
        assert done.returncode == 0, (words, done.stdout, done.stderr)
    yield one
    one.close()


def test_a_limit_on_submissions_is_not_passed_by_an_update(limited):
    """Nor by a part of an array, which counts its tasks, nor by a job that has ended and is requeued."""
    bob = limited.bob
    assert bob.run("sbatch", "--qos=tiny", "--array=0-2", "--hold", "--wrap", "true").returncode != 0
    own = [bob.sbatch("--hold", "--qos=tiny", "--wrap", "true") for _ in range(2)]
    assert bob.run("sbatch", "--hold", "--qos=tiny", "--wrap", "true").returncode != 0
    other = bob.sbatch("--hold", "--qos=normal", "--wrap", "true")
    done = bob.run("scontrol", "update", f"JobId={other}", "QOS=tiny")
    assert done.returncode != 0 and bob.job(other)["QOS"] == "normal", (done, bob.job(other))
    array = bob.sbatch("--hold", "--qos=normal", "--array=0-9", "--wrap", "true")
    assert bob.run("scontrol", "update", f"JobId={array}_[0-2]", "QOS=tiny").returncode != 0
    assert "tiny" not in bob.run("squeue", "-h", "-j", array, "-o", "%q").stdout
    # One that makes room lets another in.
    bob.run("scancel", own[0], check=0)
    bob.run("scontrol", "update", f"JobId={other}", "QOS=tiny", check=0)
    bob.run("scancel", "--me", check=0)


def test_a_limit_on_submissions_is_not_passed_by_requeueing(limited):
    bob = limited.bob
    ended = [bob.sbatch("--qos=tiny", "--output=/dev/null", "--wrap", "true") for _ in range(1)]
    for job in ended:
        bob.wait_end(job)
    for _ in range(2):
        bob.sbatch("--hold", "--qos=tiny", "--wrap", "true")
    done = bob.run("scontrol", "requeuehold", ended[0])
    assert done.returncode != 0, done
    bob.run("scancel", "--me", check=0)


def test_operators_may_pass_a_limit_on_submissions(limited):
    bob = limited.bob
    for _ in range(2):
        bob.sbatch("--hold", "--qos=tiny", "--wrap", "true")
    other = bob.sbatch("--hold", "--qos=normal", "--wrap", "true")
    limited.otto.run("scontrol", "update", f"JobId={other}", "QOS=tiny", check=0)
    bob.run("scancel", "--me", check=0)
