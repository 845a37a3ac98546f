"""--mail-type and --mail-user, against a real SMTP server that the test starts."""
import email
import email.policy
import pathlib
import socket
import ssl
import subprocess
import time

import pytest

from cluster import Machine, Ports, poll
from webhook_server import WebhookServer

aiosmtpd_controller = pytest.importorskip("aiosmtpd.controller", reason="Debian's python3-aiosmtpd is not installed")
from aiosmtpd.smtp import AuthResult  # noqa: E402

MINKE_ONLY = True


class Post:
    """A mail server on a port of its own. `answer(envelope)` is what it says to a message."""

    def __init__(self, certificate=None, password=None, answer=None, from_the_first_byte=False):
        self.messages, self.seen = [], []
        self.answer = answer or (lambda envelope: "250 taken")
        options = {}
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
            options |= {"ssl_context": context} if from_the_first_byte else {"tls_context": context, "require_starttls": True}
        if password:
            def check(server, session, envelope, mechanism, data):
                self.seen.append(data.login)
                return AuthResult(success=data.password == password, handled=False)
            options |= {"authenticator": check, "auth_required": True, "auth_require_tls": bool(certificate)}
        self.ports = Ports()  # its own also while it is away
        self.port = self.ports.take()
        self.controller = aiosmtpd_controller.Controller(self, hostname="127.0.0.1", port=self.port, **options)
        self.controller.start()

    async def handle_DATA(self, server, session, envelope):
        answer = self.answer(envelope)
        if answer.startswith("250"):
            message = email.message_from_bytes(envelope.content, policy=email.policy.default)
            message.envelope = envelope
            self.messages.append(message)
        return answer

    def wait(self, count: int, seconds: float = 30) -> list:
        poll(lambda: len(self.messages) >= count, seconds, f"message {count} of {[m['Subject'] for m in self.messages]}")
        return self.messages

    def subjects(self) -> list[str]:
        return [message["Subject"] for message in self.messages]

    def close(self):
        self.controller.stop()


@pytest.fixture
def post():
    """A function that makes servers."""
    made = []

    def make(**options) -> Post:
        made.append(Post(**options))
        return made[-1]

    yield make
    for one in made:
        try:
            one.close()
        except (AssertionError, RuntimeError):
            pass  # closed by the test
        one.ports.close()


@pytest.fixture
def certificate(tmp_path):
    directory = tmp_path / "certificate"
    directory.mkdir()
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", directory / "key.pem", "-out",
                    directory / "cert.pem", "-days", "2", "-subj", "/CN=localhost", "-addext",
                    "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    return directory


def mail(server: str, **keys) -> str:
    values = {"server": server, "tls": "none", "from": "cluster@example.org", "domain": "example.org", "retry": 1} | keys
    return "[mail]\n" + "\n".join(f"{key} = {value if isinstance(value, int) else chr(34) + str(value) + chr(34)}"
                                  for key, value in values.items())


def log(cluster) -> str:
    return (cluster.home / "minked.log").read_text()


def body(message) -> str:
    return message.get_content().replace("\r\n", "\n")


def test_unconfigured_is_said(cluster):
    done = cluster.run("sbatch", "--parsable", "--mail-type=END", "--wrap=true", check=0)
    assert "no mail will be sent" in done.stderr and done.stdout.strip().isdigit()
    assert cluster.run("sbatch", "--mail-type=NONE", "--wrap=true", check=0).stderr == ""


def test_begin_and_end(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    job = cluster.submit("echo the very last line", "--mail-type=ALL", "--mail-user=me", "--job-name=train")
    begin, end = server.wait(2)
    assert begin["Subject"].startswith(f"Slurm Job_id={job} Name=train Began, Queued time 00:0")
    assert end["Subject"].startswith(f"Slurm Job_id={job} Name=train Ended, Run time 00:0")
    assert end["Subject"].endswith(", COMPLETED, ExitCode 0")
    assert end["To"] == "me@example.org" and "cluster@example.org" in end["From"]
    assert end.envelope.rcpt_tos == ["me@example.org"] and end.envelope.mail_from == "cluster@example.org"
    assert end["Auto-Submitted"] == "auto-generated" and begin["References"] == end["References"]
    text = body(end)
    assert f"Job {job} (train) on minke has completed." in text
    assert "| the very last line" in text and "CPU Efficiency:" in text and str(cluster.work) in text
    assert "the very last line" not in body(begin)
    poll(lambda: f"about job {job} was sent" in log(cluster), 10)
    # Nothing is left to be sent.
    cluster.kill()
    cluster.run("squeue", check=0)
    assert len(server.messages) == 2


def test_failure_says_why_and_what_to_change(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    cluster.submit("echo RuntimeError: CUDA out of memory. >&2; printf '10%%\\r50%%\\rdone\\n\\033[31mred\\033[0m\\n'; exit 3",
                   "--mail-type=FAIL")
    cluster.submit("true", "--mail-type=FAIL")
    cluster.submit("kill -11 $$", "--mail-type=END")
    messages = server.wait(2)
    failed = next(one for one in messages if "ExitCode 3" in one["Subject"])
    text = body(failed)
    assert " Failed, Run time" in failed["Subject"] and "has failed with exit code 3" in text
    assert "gradient checkpointing" in text
    assert "| done\n" in text and "50%" not in text and "| red\n" in text
    killed = next(one for one in messages if "Signal" in one["Subject"])
    assert " Ended, " in killed["Subject"] and "FAILED, Signal 11" in killed["Subject"]
    assert "was ended by signal 11" in body(killed) and "segmentation fault" in body(killed)
    assert "@example.org" in killed["To"]  # the user's own name


def test_arrays_are_told_of_as_a_whole(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    job = cluster.submit("exit $((SLURM_ARRAY_TASK_ID == 2 ? 7 : 0))", "--array=1-4", "--mail-type=ALL", "--job-name=sweep")
    begin, end = server.wait(2)
    assert f"_* (" in end["Subject"] or f"Array Summary Job_id={job}_*" in end["Subject"]
    assert "Began" in begin["Subject"]
    assert "Failed" in end["Subject"] and end["Subject"].endswith("Mixed, ExitCode [0-7]")
    assert "1 of 4 tasks did not succeed" in body(end) and f"{job}_2  FAILED, exit code 7" in body(end)
    time.sleep(0.5)
    assert len(server.messages) == 2
    tasks = cluster.submit("true", "--array=1-3", "--mail-type=END,ARRAY_TASKS", "--job-name=each")
    server.wait(5)
    assert sorted(one.split()[3].split("=")[1] for one in server.subjects()[2:]) == [f"{tasks}_{i}" for i in (1, 2, 3)]


def test_requeue_dependency_and_heterogeneous(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    job = cluster.submit("[ $SLURM_RESTART_COUNT ] && exit 0; touch started; sleep 600", "--mail-type=REQUEUE", "--requeue")
    poll(lambda: (cluster.work / "started").exists(), 20)
    cluster.run("scontrol", "requeue", job, check=0)
    assert f"Job_id={job} " in server.wait(1)[0]["Subject"] and "Requeued, Run time" in server.subjects()[0]
    bad = cluster.submit("exit 1")
    waits = cluster.sbatch("--mail-type=INVALID_DEPEND", f"--dependency=afterok:{bad}", "--wrap=true")
    message = server.wait(2)[1]
    assert message["Subject"] == f"Slurm Job_id={waits} Name=wrap Invalid dependency"
    assert f"scancel {waits}" in body(message)
    first = cluster.sbatch("--mail-type=END", "-n1", ":", "-n1", "--wrap=true")
    assert f"Job_id={first} " in server.wait(3)[2]["Subject"]
    cluster.wait_end(first)
    time.sleep(0.5)
    assert len(server.messages) == 3


def test_only_what_was_asked_for_is_sent(new_cluster, post):
    """ALL is not the marks of the time limit; NONE is nothing; a type that is unknown is refused."""
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    for types in ("NONE", "BEGIN", "FAIL", "STAGE_OUT", "TIME_LIMIT_80,REQUEUE", "ALL", "END,NONE"):
        job = cluster.submit("true", f"--mail-type={types}", f"--job-name={types}")
        assert cluster.wait_end(job)["JobState"] == "COMPLETED"
    cluster.submit("true", "--mail-type=END", "--job-name=last")
    poll(lambda: any("Name=last" in one for one in server.subjects()))
    told = [one.split("Name=")[1].replace(",", " ").split()[:2] for one in server.subjects()]
    assert sorted(told) == [["ALL", "Began"], ["ALL", "Ended"], ["BEGIN", "Began"], ["last", "Ended"]]
    refused = cluster.run("sbatch", "--mail-type=SOMETIMES", "--wrap=true")
    assert refused.returncode != 0 and "mail-type" in refused.stderr


def test_marks_of_the_time_limit(new_cluster, post):
    """A limit of one minute: half of it is used up after thirty seconds, and so on. A daemon that is killed tells nothing
    twice, but what its mailer was just sending: that has the same name."""
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    job = cluster.submit("echo so far; sleep 600", "--time=1",
                         "--mail-type=TIME_LIMIT_50,TIME_LIMIT_80,TIME_LIMIT_90,TIME_LIMIT,FAIL")
    assert "Reached 50% of time limit" in server.wait(1, 60)[0]["Subject"]
    cluster.kill()
    cluster.run("squeue", check=0)
    poll(lambda: len({one["Message-ID"] for one in server.messages}) == 5, 90, "the five messages")
    half, *more, reached, failed = {one["Message-ID"]: one for one in server.messages}.values()
    assert [f"Reached {percent}% of time limit" in one["Subject"] for one, percent in zip(more, (80, 90))] == [True, True]
    assert "has used 50% of its time limit" in body(half) and "| so far" in body(half)
    assert "Reached time limit" in reached["Subject"] and failed["Subject"].endswith(", TIMEOUT, ExitCode 0")
    assert "minke chain" in body(failed) and f"Job_id={job} " in failed["Subject"]


def test_encryption_and_login(new_cluster, post, certificate, tmp_path):
    server = post(certificate=certificate, password=b"secret")
    (tmp_path / "password").write_text("secret\n")
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://localhost:{server.port}", tls="required", user="minke",
                                                  ca_file=certificate / "cert.pem", password_file=tmp_path / "password")))
    cluster.submit("true", "--mail-type=END")
    server.wait(1)
    assert server.seen == [b"minke"]
    # A server whose certificate nobody vouches for gets neither the message nor the password.
    other = new_cluster("other", Machine(extra=mail(f"smtp://localhost:{server.port}", tls="required", user="minke",
                                                    password_file=tmp_path / "password")))
    other.submit("true", "--mail-type=END")
    poll(lambda: "could not be sent, try 1" in log(other), 20)
    assert "certificate" in log(other) and len(server.messages) == 1 and server.seen == [b"minke"]


def test_encryption_from_the_first_byte(new_cluster, post, certificate):
    server = post(certificate=certificate, from_the_first_byte=True)
    cluster = new_cluster("c", Machine(extra=mail(f"smtps://localhost:{server.port}", tls="required",
                                                  ca_file=certificate / "cert.pem")))
    job = cluster.submit("true", "--mail-type=END")
    assert f"Job_id={job} " in server.wait(1)[0]["Subject"]
    # Neither is it sent to a server whose certificate nobody vouches for, nor to one that speaks plainly.
    plain = post()
    for name, port in (("unknown", server.port), ("plain", plain.port)):
        other = new_cluster(name, Machine(extra=mail(f"smtps://localhost:{port}", tls="required")))
        other.submit("true", "--mail-type=END")
        poll(lambda: "could not be sent, try 1" in log(other), 20)
    assert len(server.messages) == 1 and plain.messages == []


def test_no_message_without_the_encryption_asked_for(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}", tls="required")))
    cluster.submit("true", "--mail-type=END")
    poll(lambda: "could not be sent" in log(cluster), 20)
    assert server.messages == []


def test_wrong_password_is_tried_again(new_cluster, post, certificate, tmp_path):
    server = post(certificate=certificate, password=b"secret")
    (tmp_path / "password").write_text("wrong")
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://localhost:{server.port}", tls="required", user="minke",
                                                  ca_file=certificate / "cert.pem", password_file=tmp_path / "password")))
    cluster.submit("true", "--mail-type=END")
    poll(lambda: "could not be sent, try 1" in log(cluster), 20)
    (tmp_path / "password").write_text("secret")
    server.wait(1)


def test_refused_for_good_and_for_now(new_cluster, post):
    answers = ["451 come back later", "250 taken", "554 never"]
    server = post(answer=lambda envelope: answers.pop(0))
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    cluster.submit("true", "--mail-type=END")
    server.wait(1)
    assert "could not be sent, try 1" in log(cluster) and "451" in log(cluster)
    cluster.submit("true", "--mail-type=END")
    poll(lambda: "was refused" in log(cluster) and "554" in log(cluster), 20)
    assert answers == []
    assert len(server.messages) == 1


def test_messages_outlive_servers_and_daemons(new_cluster, post):
    """While the mail server is away a daemon is killed; the next one sends what waited. What its mailer was just sending may
    arrive twice, under one name."""
    server = post()
    port = server.port
    server.close()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{port}")))
    jobs = [cluster.submit("true", "--mail-type=END") for _ in range(3)]
    for job in jobs:
        cluster.wait_end(job)
    poll(lambda: "could not be sent" in log(cluster), 20)
    cluster.kill()
    server.controller = aiosmtpd_controller.Controller(server, hostname="127.0.0.1", port=port)
    server.controller.start()
    cluster.run("squeue", check=0)
    poll(lambda: len({one["Message-ID"] for one in server.messages}) == 3, 30, "the three messages")
    assert {one.split()[1] for one in server.subjects()} == {f"Job_id={job}" for job in jobs}


def test_a_slow_server_delays_no_job(new_cluster, post):
    listener = socket.create_server(("127.0.0.1", 0))  # takes connections and says nothing
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{listener.getsockname()[1]}", timeout=600)))
    for _ in range(5):
        assert cluster.wait_end(cluster.submit("true", "--mail-type=ALL"))["JobState"] == "COMPLETED"
    listener.close()


def test_names_cannot_forge_heads(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    done = cluster.run("sbatch", "--mail-type=END", "--mail-user=me\r\nBcc: you@example.org", "--wrap=true")
    assert done.returncode != 0 and "mail-user" in done.stderr
    cluster.sbatch("--mail-type=END", "--job-name=a\r\nBcc: everybody@example.org\r\n\r\nbuy", "--wrap=true")
    message = server.wait(1)[0]
    assert "Bcc" not in message and message.envelope.rcpt_tos == [message["To"]]
    assert "a??Bcc: everybody@example.org????buy" in message["Subject"]
    cluster.sbatch("--mail-type=END", "--job-name=café", "--mail-user=<me>,x y", "--wrap=true")
    poll(lambda: "is no mail address" in log(cluster), 20)
    cluster.sbatch("--mail-type=END", "--job-name=café", "--wrap=true")
    assert "Name=café Ended" in server.wait(2)[1]["Subject"]


def test_limit_per_user(new_cluster, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}", max_per_hour=3)))
    job = cluster.sbatch("--array=1-10", "--mail-type=END,ARRAY_TASKS", "--wrap=true")
    cluster.wait_end(job)
    server.wait(3)
    time.sleep(0.5)
    assert len(server.messages) == 3


def test_sendmail(new_cluster, tmp_path):
    """The system's sendmail gets the addresses as arguments, and the message on its standard input."""
    program = tmp_path / "sendmail"
    program.write_text(f'#!/bin/bash\n[ -e {tmp_path}/broken ] && exit 75\nprintf "%s\\n" "$@" > {tmp_path}/arguments\n'
                       f'cat > {tmp_path}/message.part && mv {tmp_path}/message.part {tmp_path}/message\n')
    program.chmod(0o755)
    (tmp_path / "broken").touch()
    extra = f'[mail]\nprogram = "{program}"\ndomain = "example.org"\nretry = 1\n'
    cluster = new_cluster("c", Machine(extra=extra))
    cluster.submit("echo .; echo last", "--mail-type=END", "--mail-user=me,you@b")
    poll(lambda: "ended with code 75" in log(cluster), 20)
    (tmp_path / "broken").unlink()
    poll(lambda: (tmp_path / "message").exists(), 20)
    assert (tmp_path / "arguments").read_text().split() == ["-oi", "-f", "minke@example.org", "--", "me@example.org", "you@b"]
    message = email.message_from_bytes((tmp_path / "message").read_bytes(), policy=email.policy.default)
    assert message["To"] == "me@example.org, you@b" and "| last" in message.get_content()


def test_mailprog_of_slurm_conf(new_cluster, tmp_path):
    """It is called as Slurm calls it, and told of the job by variables; no user's text is a command of mail(1)'s."""
    program = tmp_path / "mailprog"
    program.write_text(f'#!/bin/bash\nkind=$SLURM_JOB_MAIL_TYPE\n{{ printf "%s\\n" "$@"; env | grep ^SLURM_ | sort; cat; }} '
                       f'> {tmp_path}/$kind.part && mv {tmp_path}/$kind.part {tmp_path}/$kind\n')
    program.chmod(0o755)
    cluster = new_cluster("c", Machine())
    (cluster.home / "slurm.conf").write_text(f"MailProg={program}\nMailDomain=example.org\n")
    shown = cluster.run("scontrol", "show", "config", check=0).stdout
    assert f"MailProg                = {program}" in shown and "MailDomain              = example.org" in shown
    job = cluster.submit("exit 3", "--mail-type=ALL", "-J", "train\n~!touch it")
    user = cluster.run("id", "-un").stdout.strip()
    assert f"MailUser={user}@example.org MailType=" in cluster.run("scontrol", "show", "job", job, check=0).stdout
    poll(lambda: (tmp_path / "Began").exists() and (tmp_path / "Failed").exists(), 30)
    began, failed = ((tmp_path / kind).read_text().splitlines() for kind in ("Began", "Failed"))
    assert began[0] == "-s" and began[1].startswith(f"Slurm Job_id={job} Name=train") and began[2] == f"{user}@example.org"
    assert f"SLURM_JOB_ID={job}" in began and any(line.startswith("SLURM_JOB_QUEUED_TIME=") for line in began)
    assert "Failed, Run time 00:00:0" in failed[1] and failed[1].endswith("FAILED, ExitCode 3")
    assert "SLURM_JOB_EXIT_CODE_MAX=3" in failed and "SLURM_JOB_STATE=FAILED" in failed
    assert not any(line.startswith("~") for line in began[3:] + failed[3:])


@pytest.fixture
def hooks():
    made = WebhookServer({"/busy": [503, 503], "/gone": [404], "/moved": [302]})
    yield made
    made.close()


def with_webhooks(new_cluster, tmp_path, words: str, names: dict, more: str = ""):
    """A cluster that sends to web hooks, and the file with their names in a home of its own."""
    file = tmp_path / ".config" / "minke" / "webhooks.toml"
    file.parent.mkdir(parents=True)
    file.write_text("".join(f'{name} = "{address}"\n' for name, address in names.items()))
    cluster = new_cluster("c", Machine(extra=f"[mail]\nwebhooks = {words}\nretry = 1\n" + more))
    cluster.environment["HOME"] = str(tmp_path)
    return cluster


def test_web_hooks_are_told_while_nobody_waits(new_cluster, tmp_path, hooks):
    cluster = with_webhooks(new_cluster, tmp_path, '"any"', {"chat": f"{hooks.address}/chat", "busy": f"{hooks.address}/busy"})
    job = cluster.submit("exit 3", "--mail-type=FAIL", "--mail-user=chat@webhook", "--job-name=train")
    [(path, document, _)] = hooks.wait(1)
    assert path == "/chat" and document["text"] == document["content"]
    assert document["text"].startswith(f"Slurm Job_id={job} Name=train Failed, Run time 00:0") and document["text"].endswith("ExitCode 3")
    assert {key: document[key] for key in ("event", "job", "name", "state", "exit_status")} == {
        "event": "FAIL", "job": str(job), "name": "train", "state": "FAILED", "exit_status": 3}
    assert "webhook" not in str(document) and hooks.address not in cluster.run("scontrol", "show", "job", job).stdout
    # Each of several is tried again alone.
    both = cluster.submit("true", "--mail-type=END", "--mail-user=chat@webhook,busy@webhook")
    hooks.wait(5)
    assert sorted(path for path, *_ in hooks.got[1:]) == ["/busy", "/busy", "/busy", "/chat"]
    poll(lambda: f"mail to busy@webhook about job {both} was sent" in log(cluster), 30, "the log")


@pytest.mark.parametrize("words, name, reason", [
    ('"public"', "chat", 'its host has no public address, and [mail] webhooks is "public"'),
    ('"hooks.example.org"', "chat", "[mail] webhooks does not name the host 127.0.0.1"),
    ('"any"', "phone", 'webhooks.toml has no phone = "https://…"'), ('"any"', "gone", "it answered 404"),
    ('"any"', "moved", "it answered 302"), ('"any"', "file", "a web hook is http://HOST/… or https://HOST/…")])
def test_web_hooks_that_are_refused(new_cluster, tmp_path, hooks, words, name, reason):
    cluster = with_webhooks(new_cluster, tmp_path, words, {"chat": f"{hooks.address}/chat", "gone": f"{hooks.address}/gone",
                                                           "moved": f"{hooks.address}/moved", "file": "file:///etc/passwd"})
    job = cluster.submit("true", "--mail-type=END", f"--mail-user={name}@webhook")
    poll(lambda: f"mail to {name}@webhook about job {job} was refused: " in log(cluster), 60, "the log")
    assert reason in log(cluster)
    assert [path for path, *_ in hooks.got] == [f"/{name}"] * (name in ("gone", "moved"))


def test_a_named_host_may_be_inside(new_cluster, tmp_path, hooks):
    cluster = with_webhooks(new_cluster, tmp_path, '["hooks.example.org", "localhost"]', {"chat": f"http://localhost:{hooks.port}/in"})
    cluster.submit("true", "--mail-type=END", "--mail-user=chat@webhook")
    assert hooks.wait(1)[0][0] == "/in"


def test_who_asks_for_a_web_hook_where_there_are_none_is_told(new_cluster, tmp_path, post):
    server = post()
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{server.port}")))
    assert "nothing will be sent to chat@webhook" in cluster.run("sbatch", "--mail-type=END", "--mail-user=chat@webhook,me",
                                                                 "--wrap=true", check=0).stderr
    assert server.wait(1)[0]["To"] == "me@example.org"
    alone = with_webhooks(lambda _, machine: new_cluster("d", machine), tmp_path, '"any"', {})
    assert "no mail will be sent to me:" in alone.run("sbatch", "--mail-type=END", "--mail-user=me", "--wrap=true", check=0).stderr
    assert "write --mail-user=NAME@webhook" in alone.run("sbatch", "--mail-type=END", "--wrap=true", check=0).stderr


def with_commands(new_cluster, tmp_path, commands: str, more: str = ""):
    """A cluster that runs its user's commands, with their file in a home of its own."""
    file = tmp_path / ".config" / "minke" / "commands.toml"
    file.parent.mkdir(parents=True)
    file.write_text(commands)
    cluster = new_cluster("c", Machine(extra="[mail]\ncommands = true\nretry = 1\n" + more))
    cluster.environment["HOME"] = str(tmp_path)
    return cluster


def script(path: pathlib.Path, text: str) -> pathlib.Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("#!/bin/bash\n" + text)
    path.chmod(0o755)
    return path


def test_a_command_of_the_user_is_told(new_cluster, tmp_path):
    """It gets its words as they stand in the file, and the job's facts as variables; no text of the job is a word of it."""
    told = tmp_path / "told"
    script(tmp_path / "bin" / "tell", f'{{ printf "%s\\n" "$@"; env | grep ^MINKE_ | sort; pwd; }} > {told}.part; mv {told}.part {told}\n')
    cluster = with_commands(new_cluster, tmp_path, 'phone = ["~/bin/tell", "a b", "$(touch evil)", "; touch evil"]\n')
    job = cluster.sbatch("--mail-type=FAIL", "--mail-user=phone@command", "--job-name=$(touch evil)`touch evil`", "--wrap=exit 3")
    poll(told.exists, 30, "the command")
    lines = told.read_text().splitlines()
    assert lines[:3] == ["a b", "$(touch evil)", "; touch evil"] and lines[-1] == str(tmp_path)
    facts = dict(line.split("=", 1) for line in lines if line.startswith("MINKE_"))
    assert {key: facts[key] for key in ("MINKE_JOB_ID", "MINKE_JOB_NAME", "MINKE_JOB_STATE", "MINKE_JOB_EXIT_STATUS", "MINKE_EVENT")} == {
        "MINKE_JOB_ID": str(job), "MINKE_JOB_NAME": "$(touch evil)`touch evil`", "MINKE_JOB_STATE": "FAILED",
        "MINKE_JOB_EXIT_STATUS": "3", "MINKE_EVENT": "FAIL"}
    assert facts["MINKE_TEXT"].startswith(f"Slurm Job_id={job} Name=") and facts["MINKE_TEXT"].endswith("ExitCode 3")
    poll(lambda: f"mail to phone@command about job {job} was sent" in log(cluster), 30, "the log")
    assert not list(tmp_path.rglob("evil"))


@pytest.mark.parametrize("name, reason", [
    ("gone", "/nonexist/tell cannot be run: No such file or directory"), ("plain", "cannot be run: Permission denied"),
    ("fails", "it ended with code 3"), ("signal", "it ended with signal 9"), ("hangs", "it took too long, and was ended"),
    ("other", 'commands.toml has no other = ["PROGRAM", "ARGUMENT", …]'),
    ("line", 'commands.toml has no line = ["PROGRAM", "ARGUMENT", …]')])
def test_commands_that_fail(new_cluster, tmp_path, name, reason):
    """They are told in the log and not tried again. One that hangs ends; what it writes fills nothing."""
    (tmp_path / "plain").touch()
    pid = tmp_path / "pid"
    script(tmp_path / "bin" / "hang", f"echo $$ > {pid}; exec yes\n")
    cluster = with_commands(new_cluster, tmp_path, f"""gone = ["/nonexist/tell"]
plain = ["~/plain"]
fails = ["sh", "-c", "exit 3"]
signal = ["sh", "-c", "kill -9 $$"]
hangs = ["~/bin/hang"]
line = "touch {tmp_path}/evil"
""")
    job = cluster.submit("true", "--mail-type=END", f"--mail-user={name}@command")
    poll(lambda: f"mail to {name}@command about job {job} was refused: " in log(cluster), 60, "the log")
    assert reason in log(cluster) and not (tmp_path / "evil").exists()
    if name == "hangs":
        process = pathlib.Path(f"/proc/{pid.read_text().strip()}/cmdline")
        poll(lambda: not process.exists() or process.read_bytes() == b"", 10, "its end")  # nobody may have asked how it ended
        assert (cluster.home / "minked.log").stat().st_size < 100_000


def test_a_command_may_ask_for_another_try(new_cluster, tmp_path):
    script(tmp_path / "bin" / "tell", "[ -e ~/tried ] || { touch ~/tried; exit 75; }\n")
    cluster = with_commands(new_cluster, tmp_path, 'phone = ["~/bin/tell"]\n')
    job = cluster.submit("true", "--mail-type=END", "--mail-user=phone@command")
    poll(lambda: f"mail to phone@command about job {job} was sent" in log(cluster), 60, "the log")
    assert "it ended with code 75" in log(cluster)


def test_who_asks_for_a_command_where_there_are_none_is_told(new_cluster, tmp_path, post):
    cluster = new_cluster("c", Machine(extra=mail(f"smtp://127.0.0.1:{post().port}")))
    assert "nothing will be sent to phone@command: [mail] of minke.toml has no commands = true" in cluster.run(
        "sbatch", "--mail-type=END", "--mail-user=phone@command", "--wrap=true", check=0).stderr
    alone = with_commands(lambda _, machine: new_cluster("d", machine), tmp_path, "")
    assert "write --mail-user=NAME@command" in alone.run("sbatch", "--mail-type=END", "--wrap=true", check=0).stderr


@pytest.mark.parametrize("text, problem", [
    ("commands = 'yes'", "true or false"), ("commands = false", "or webhooks or commands"),
    ("webhooks = 'https://a'", "a list of host names"), ("webhooks = ['any', 'a.org']", "stand alone"), ("webhooks = 'none'", "or webhooks"),
    ("server = 'smtp://a'\nprogram = '/b'", "program or server"), ("", "program or server"),
    ("server = 'http://a'", "smtp://HOST:PORT"), ("program = 'sendmail'", "absolute path"),
    ("server = 'smtp://a'\ntls = 'maybe'", "required, if-offered or none"), ("servre = 'smtp://a'", "servre is not known")])
def test_wrong_settings_are_named(new_cluster, text, problem):
    cluster = new_cluster("c", Machine())
    path = pathlib.Path(cluster.environment["MINKE_CONFIG"])
    path.write_text(path.read_text() + "\n[mail]\n" + text + "\n")
    done = cluster.run("minke", "up")
    assert done.returncode == 1 and problem in done.stderr
