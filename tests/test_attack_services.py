"""Reservations, licences, triggers, coordinators, /metrics and the job proxy, against who may only use them."""
import pathlib
import re
import socket
import subprocess
import urllib.request

import pytest

from cluster import poll
from processes import parent_of
from shared import NEEDS_ROOT, Shared
from test_attack_work import assert_about_linear, cost
from test_shared_proxy import HOST, job as proxied_job, machine, processes, relays  # noqa: F401  the fixture

MINKE_ONLY = True
pytestmark = [NEEDS_ROOT, pytest.mark.usefixtures("undisturbed")]


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.fixture(scope="module")
def shared():
    port = free_port()
    one = Shared(extra=f'metrics = "127.0.0.1:{port}"\n', tables='[licenses]\nmatlab = 2\n[accounting]\nenforce = ["associations", "limits"]\n')
    one.port = port
    for words in (["add", "account", "hers"], ["add", "account", "his"], ["add", "user", one.alice.name, "account=hers"], ["add", "user", one.bob.name, "account=his"],
                  ["add", "user", one.otto.name, "account=hers"], ["add", "coordinator", "account=his", f"names={one.bob.name}"]):
        done = one.root_run("sacctmgr", "-iQ", *words)
        assert done.returncode == 0, done.stderr
    done = one.root_run("scontrol", "create", "reservation", "reservationname=hers", "starttime=now+3600", "duration=60", "nodes=n2", f"users={one.alice.name}")
    assert done.returncode == 0, done.stderr
    yield one
    one.close()


def reservation(shared) -> str:
    return shared.alice.run("scontrol", "-o", "show", "reservation", "hers", check=0).stdout


RESERVED = ["sbatch --reservation=hers --wrap true", "srun --reservation=hers true", "salloc --reservation=hers true", "sbatch --reservation=hers,hers --wrap true",
            "job=$(sbatch --parsable -H --wrap true) && scontrol update JobId=$job ReservationName=hers", "SBATCH_RESERVATION=hers sbatch --wrap true",
            "scontrol update reservationname=hers users+={bob}", "scontrol update reservationname=hers users={bob}", "scontrol update reservationname=hers duration=1",
            "scontrol update reservationname=hers flags+=maint", "scontrol delete reservationname=hers", "scontrol create reservation reservationname=mine starttime=now "
            "duration=60 nodes=n1 users={bob}", "scontrol update reservationname=hers accounts=his", "scontrol update reservationname=hers nodes=ALL skip"]


@pytest.mark.parametrize("command", RESERVED)
def test_a_reservation_is_of_whom_it_names(shared, command):
    before = reservation(shared)
    done = shared.bob.run("bash", "-c", command.format(bob=shared.bob.name))
    assert done.returncode != 0, done.stdout
    assert reservation(shared) == before and "ReservationName=mine" not in shared.bob.run("scontrol", "show", "reservation").stdout
    assert not [line for line in shared.bob.queue("--me", format="%v") if "hers" in line]
    shared.bob.run("scancel", "--me")


TAKING = ["sbatch -L matlab:3 --wrap true", "sbatch -L matlab:-1 --wrap true", "sbatch -L matlab:2,matlab:2 --wrap true", "sbatch -L matlab:0 --wrap true",
          "sbatch -L 'matlab:1|matlab:9' --wrap true", "sbatch -L other:1 --wrap true", "sbatch -L matlab:4294967298 --wrap true",
          "job=$(sbatch --parsable -H -L matlab:1 --wrap true); scontrol update JobId=$job Licenses=matlab:9", "sbatch -L matlab@root:1 --wrap true"]


@pytest.mark.parametrize("command", TAKING)
def test_nobody_takes_more_licences_than_there_are(shared, command):
    shared.bob.run("bash", "-c", command)
    told = shared.alice.run("scontrol", "-o", "show", "licenses", check=0).stdout
    [used] = re.findall(r"LicenseName=matlab Total=2 Used=(\d+)", told.replace("\n   ", " "))
    assert int(used) <= 2
    done = shared.alice.run("srun", "-L", "matlab:1", "echo", "mine")
    assert done.stdout == "mine\n", done.stderr
    shared.bob.run("scancel", "--me")


# He is coordinator of `his`: that gives him no rights over other accounts, or over the machine.
COORDINATING = ["add user {bob} account=hers", "add user {alice} account=hers fairshare=1", "modify account hers set grpjobs=0", "modify user {alice} set maxjobs=0", "delete account hers",
                "delete user {alice} account=hers", "add coordinator account=hers names={bob}", "modify user {bob} set adminlevel=operator", "modify user {bob} set adminlevel=administrator",
                "add account mine parent=hers", "modify account his set parent=hers", "modify account root set fairshare=1", "add qos mine", "modify qos normal set priority=9",
                "delete user root", "modify cluster set fairshare=1", "modify user where account=hers set maxsubmitjobs=0", "modify user set maxsubmitjobs=0"]


@pytest.mark.parametrize("words", COORDINATING)
def test_a_coordinator_has_no_rights_beyond_his_account(shared, words):
    def hers():
        lines = shared.root_run("sacctmgr", "-nP", "show", "assoc", "format=account,user,parentname,fairshare,grpjobs,maxjobs,maxsubmitjobs").stdout.splitlines()
        return [line for line in lines if not line.startswith("his|")], shared.root_run("sacctmgr", "-nP", "show", "user", "format=user,adminlevel").stdout
    before = hers()
    shared.bob.run("sacctmgr", "-i", *words.format(alice=shared.alice.name, bob=shared.bob.name).split())
    assert hers() == before
    assert shared.alice.run("srun", "echo", "mine", check=0).stdout == "mine\n"


def members(*names: str, account: str = "his") -> list[str]:
    return ["sacctmgr", "-iQ", "add", "user", ",".join(names), f"account={account}"]


def test_what_a_coordinator_adds_is_bounded(shared):
    before = shared.root_run("sacctmgr", "-nP", "show", "user").stdout
    done = shared.bob.run(*members(*(f"u{i}" for i in range(5001))), check=1)
    assert "5000 users and accounts at most" in done.stdout + done.stderr
    chain = ["his", *(f"c{i}" for i in range(40))]
    made = [shared.bob.run("sacctmgr", "-iQ", "add", "account", name, f"parent={above}").returncode for above, name in zip(chain, chain[1:])]
    assert 0 < made.count(0) < 35 and made[-1] != 0
    assert shared.bob.run("sacctmgr", "-iQ", "delete", "account", "c0").returncode == 0
    assert shared.root_run("sacctmgr", "-nP", "show", "user").stdout == before


def test_changes_of_accounts_cost_in_proportion(shared):
    """One change of a coordinator's, in a tree with so many others."""
    spent = []
    for group in range(3):
        done = shared.root_run(*members(*(f"g{group}u{i}" for i in range(4000)), account="hers"))
        assert done.returncode == 0, done.stderr
        if group == 1:
            continue  # twice as many
        spent.append(cost(shared, lambda: [shared.bob.run("sacctmgr", "-iQ", "modify", "user", shared.bob.name, "where", "account=his", "set",
                                                          f"fairshare={share}", check=0) for share in (2, 3, 1)]))
    for group in range(3):
        done = shared.root_run("sacctmgr", "-iQ", "delete", "user", ",".join(f"g{group}u{i}" for i in range(4000)))
        assert done.returncode == 0, done.stderr
    assert_about_linear(2 * spent[0], spent[1], least=1)  # three times as many


# What /metrics may be sent. It answers or hangs up; the next one is served.
HTTP = {"another path": b"GET /../../etc/shadow HTTP/1.1\r\n\r\n", "an encoded path": b"GET /%2e%2e/%2e%2e/etc/shadow HTTP/1.1\r\n\r\n", "another method": b"POST /metrics HTTP/1.1\r\n\r\n",
        "deleting": b"DELETE /metrics HTTP/1.1\r\n\r\n", "a long line": b"GET /" + b"a" * 100_000, "many headers": b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 50_000,
        "no end": b"GET /metrics HTTP/1.1\r\n", "nothing": b"", "zeros": b"\0" * 5000, "two requests": b"GET /metrics HTTP/1.1\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
        "a length": b"GET /metrics HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n", "chunks": b"GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
        "a greeting of Minke's": b"MINKE\x01\x00", "formats": b"GET /%s%n%x HTTP/1.1\r\n\r\n", "another protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"}


def metrics(shared) -> bool:
    try:
        return b"slurm_" in urllib.request.urlopen(f"http://127.0.0.1:{shared.port}/metrics", timeout=60).read()
    except OSError:
        return False


@pytest.mark.parametrize("what", HTTP)
def test_what_is_sent_to_metrics_tells_and_breaks_nothing(shared, what):
    poll(lambda: metrics(shared), 60, "/metrics")
    said = b""
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", shared.port), timeout=60) as one:
            try:
                one.sendall(HTTP[what])
                one.shutdown(socket.SHUT_WR)
                while some := one.recv(65536):
                    said += some
            except OSError:  # it hangs up, in the middle of what is sent or before shutdown()
                pass
    assert b"root:" not in said
    assert metrics(shared)


def test_connections_that_say_nothing_keep_nobody_from_metrics(shared):
    poll(lambda: metrics(shared), 60, "/metrics")
    silent = [socket.create_connection(("127.0.0.1", shared.port), timeout=60) for _ in range(200)]
    try:
        assert metrics(shared)
    finally:
        for one in silent:
            one.close()


TRIGGERS = ["strigger --set --jobid={job} --fini --program=/bin/true", "strigger --set --node --up --program=/bin/true", "strigger --clear --id={id}", "strigger --clear --jobid={job}",
            "strigger --clear --user={otto}", "strigger --clear --user=root", "strigger --set --jobid={job} --time --program='/bin/sh -c id'"]


@pytest.mark.parametrize("command", TRIGGERS)
def test_triggers_are_operators_and_their_owners(shared, command):
    job = shared.otto.submit("sleep 1000", "--hold")
    shared.otto.run("strigger", "--set", f"--jobid={job}", "--fini", "--program=/bin/true", check=0)

    def listed():
        return shared.otto.run("strigger", "--get", "--noheader", check=0).stdout
    before = listed()
    number = [line.split()[0] for line in before.splitlines() if str(job) in line.split()][0]
    done = shared.bob.run(*command.format(job=job, id=number, otto=shared.otto.name).split())
    assert listed() == before, (done.stdout, done.stderr)
    shared.otto.run("strigger", "--clear", f"--jobid={job}")
    shared.otto.run("scancel", job, check=0)


# ---- the job proxy

def test_the_relay_of_a_job_has_no_rights_and_no_way_to_get_any(machine):  # noqa: F811
    number = machine.alice.submit(f"module load httpproxy; curl -s --max-time 60 http://{HOST}:{machine.http}/ >page; touch asked; sleep 1000", "-p", "off")
    poll((machine.alice.work / "asked").exists, 60, "the first request")
    mine = relays(machine)
    assert mine
    programs = [pid for pid in processes("/usr/bin/tinyproxy") if parent_of(pid) in mine]
    assert programs
    for pid in (*mine, *programs):
        status = dict(line.split(":\t", 1) for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":\t" in line)
        assert "0" not in status["Uid"].split() and "0" not in status["Gid"].split() and not status["Groups"].strip()
        assert {status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}
        assert (status["NoNewPrivs"].strip(), status["Seccomp"].strip()) == ("1", "2")
    machine.alice.run("scancel", number, check=0)
    machine.alice.wait_end(number)
    (machine.alice.work / "asked").unlink()


# Ways to other hosts than those allowed; {port} serves on every address of the machine.
AROUND = {"by address": "http://127.0.0.1:{port}/", "by another name": "http://localhost:{port}/", "a name that begins so": "http://{host}.example.org:{port}/",
          "a name that ends so": "http://x{host}:{port}/", "a user before it": "http://{host}@127.0.0.1:{port}/", "a password": "http://{host}:x@127.0.0.1:{port}/",
          "a number": "http://2130706433:{port}/", "a short number": "http://127.1:{port}/", "IPv6": "http://[::1]:{port}/", "IPv6 of IPv4": "http://[::ffff:127.0.0.1]:{port}/",
          "in octal": "http://0177.0.0.1:{port}/", "a fragment": "http://127.0.0.1:{port}#{host}/", "a question": "http://127.0.0.1:{port}?{host}", "all addresses": "http://0.0.0.0:{port}/",
          "the address of metadata": "http://169.254.169.254/latest/"}


@pytest.mark.parametrize("way", AROUND)
def test_no_name_leads_the_proxy_elsewhere(machine, way):  # noqa: F811
    url = AROUND[way].format(port=machine.http, host=HOST)
    said = proxied_job(machine, f"module load httpproxy; curl -g -s --noproxy '' --max-time 60 '{url}'; curl -g -s --noproxy '' -p --max-time 60 '{url}'; echo done")
    assert said == ["done"] or (said[-1] == "done" and "served" not in said), said


def test_a_job_without_the_proxy_has_no_way_out(machine):  # noqa: F811
    address = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
    program = ("import socket, sys\nfor host in sys.argv[2:]:\n  try: socket.create_connection((host, int(sys.argv[1])), 5); print('out', host)\n  except OSError: pass\nprint('done')")
    (machine.alice.work / "out.py").write_text(program)
    (machine.alice.work / "out.py").chmod(0o644)
    said = proxied_job(machine, f"python3 out.py {machine.http} 127.0.0.1 {' '.join(address)} {HOST}")
    assert said == ["done"], said
