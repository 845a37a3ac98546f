"""minke grow where systemd keeps the services, Minke's own among them."""
import os
import pathlib
import subprocess

import pytest

import hosts

pytestmark = [pytest.mark.xdist_group("grow"), pytest.mark.timeout(300)]
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
SERVICES = "for unit in minke minke-launcher munge mariadb slurmd slurmctld slurmdbd; do echo $unit $(systemctl is-enabled $unit) $(systemctl is-active $unit); done"


OUTSIDE = "10.213.7.250"
# Prints what is reached: a host outside, the head's sshd, and through the proxy a host that is allowed and one that is not.
REACHES = """import os, socket, urllib.request
def reached(host, port):
    try:
        socket.create_connection((host, port), timeout=5).close()
        return "yes"
    except OSError as problem:
        return type(problem).__name__
def fetched(host):
    try:
        proxy = urllib.request.ProxyHandler({"http": os.environ["MINKE_HTTP_PROXY"]})
        return urllib.request.build_opener(proxy).open(f"http://{host}/", timeout=10).status
    except (OSError, KeyError) as problem:
        return getattr(problem, "code", type(problem).__name__)
print(reached("10.213.7.250", 80), reached("head", 22), fetched("outside.example"), fetched("other.example"))
"""


def jobs_without_a_network_reach_the_cluster_and_what_the_proxy_allows(head) -> None:
    head.run(f"cat >/home/alice/reaches.py <<'END'\n{REACHES}END\nfor i in $(seq 50); do python3 -c \"import socket; socket.create_connection(('{OUTSIDE}', 80))\" && break; sleep 0.1; done 2>/dev/null")
    for node in ("n1", "head"):
        told = [head.run(f"cd; srun -Q -p {partition} -w {node} python3 reaches.py", user="alice").strip() for partition in ("main", "closed")]
        assert told == ["yes yes KeyError KeyError", "ConnectionRefusedError yes 200 403"], (node, told)
    # Each step of a job, also between two; nothing is left of its rules.
    said = head.run("cd; salloc -Q -p closed -w n1 sh -c 'srun python3 reaches.py; sleep 1; srun python3 reaches.py'", user="alice").split("\n")
    assert said[:2] == ["ConnectionRefusedError yes 200 403"] * 2, said
    head.until("[ -z \"$(squeue -h)\" ] && ! nft list table inet minke_offline 2>/dev/null")


def who_is_over_quota_waits_until_there_is_less(head) -> None:
    """Only what the agent has held it releases."""
    head.run("mkdir -p /srv/tiers/scratch/alice; dd if=/dev/zero of=/srv/tiers/scratch/alice/large bs=1M count=3 status=none; chown -R alice /srv/tiers/scratch/alice")
    later = head.run("cd; sbatch --parsable --begin=now+1hour -o /dev/null --wrap true", user="alice").strip()
    own = head.run("cd; sbatch --parsable --hold -o /dev/null --wrap true", user="alice").strip()
    others = head.run("cd /; sbatch --parsable --begin=now+1hour -o /dev/null --wrap true", user="bob").strip()
    head.until(f"scontrol show job {later} | grep -q Reason=JobHeldAdmin")
    told = head.run(f"XDG_RUNTIME_DIR=$(mktemp -d) minke why {later}", user="alice")
    assert "It is held until there is less on the disk: DiskQuotaExceeded: 3.00 MiB of " in told, told
    head.run("rm /srv/tiers/scratch/alice/large")
    head.until(f"scontrol show job {later} | grep -q Reason=BeginTime && ! scontrol show job {later} | grep -q DiskQuota")
    assert head.run(f"squeue -h -j {own},{others} -o '%i %r' --sort=i").splitlines() == [f"{own} JobHeldUser", f"{others} BeginTime"]
    head.run(f"scancel {later} {own} {others}")


def services(machine) -> str:
    machine.until("! systemctl list-units --no-legend --state=activating | grep -q service")
    return machine.run(SERVICES)


def test_services_are_systemds_and_stand_as_before_after_undo(systemd_machines):
    head, node = systemd_machines["head"], systemd_machines["n1"]
    for machine in (head, node):  # started by their packages, without a configuration
        machine.run("systemctl stop slurmd; systemctl reset-failed")
    hosts.start_minke(head, pathlib.Path(os.environ.get("MINKE", REPOSITORY / "build/minke")))
    head.run("printf '[storage]\\nprofile = \"rorqual\"\\nroot = \"/srv/tiers\"\\npurge = true\\ncount_interval = 1\\n[storage.scratch]\\nspace = \"1M\"\\n' >>/etc/minke.toml; mkdir -p /srv/tiers")
    # A partition without a network, with a proxy to one host; there is one outside of the cluster.
    outside = ["nsenter", "-t", str(systemd_machines.switch.pid), "-n"]
    subprocess.run([*outside, "sh", "-c", f"ip addr add {OUTSIDE}/24 dev br0"], check=True)
    head.run(f"echo '{OUTSIDE} outside.example other.example' >>/etc/hosts; printf '[proxy]\\nallow = [\"outside.example\"]\\n[[partition]]\\nname = \"main\"\\ndefault = true\\n"
             "[[partition]]\\nname = \"closed\"\\noffline = true\\n' >>/etc/minke.toml")
    head.run("minke down; minke up --print-units | awk '/^# [/]/ { file = $2 } file { print >file }' && systemctl daemon-reload && "
             "systemctl enable -q --now minke")
    head.until("minke status")
    head.run("cd; minke sbatch --hold -J held --wrap 'hostname >where'", user="alice")
    before = {machine.name: services(machine) for machine in (head, node)}
    assert "minke enabled active" in before["head"]
    head.run("minke grow apply n1")
    grown = services(head)
    assert "minke disabled inactive" in grown and "minke-launcher static inactive" in grown, grown
    head.run("systemctl is-active minke-proxy")
    for machine in (head, node):
        machine.run("systemctl is-active minke-agent && systemctl is-enabled minke-agent")
    for unit in ("slurmctld", "slurmdbd", "slurmd", "munge", "mariadb"):
        assert f"{unit} enabled active" in grown, grown
    assert "slurmd enabled active" in services(node)
    # What the daemon did for storage goes on.
    head.run("systemctl is-active minke-agent && systemctl is-enabled minke-agent")
    head.until("systemctl status minke-agent | grep -q ' storage-watch '")
    who_is_over_quota_waits_until_there_is_less(head)
    head.run("scontrol update JobId=1 ReqNodeList=n1 && scontrol release 1")
    head.until("[ \"$(cat /home/alice/where)\" = n1 ]")
    with subprocess.Popen([*outside, "python3", "-m", "http.server", "80", "--bind", OUTSIDE, "--directory", str(systemd_machines.directory / "home")],
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            jobs_without_a_network_reach_the_cluster_and_what_the_proxy_allows(head)
        finally:
            server.kill()
    # A service that has been stopped is started by apply.
    node.run("systemctl stop slurmd")
    head.run("minke grow apply n1")
    assert "slurmd enabled active" in services(node)
    head.until("[ -z \"$(squeue -h)\" ]")
    # As slurmd keeps one for its jobs where the control groups have controllers.
    scope = "$(hostname)_slurmstepd.scope"
    for machine in (head, node):
        machine.run(f"systemd-run -q --scope --unit={scope} sleep 1000 </dev/null >/dev/null 2>&1 &")
        machine.until(f"systemctl is-active -q {scope}")
    head.run("minke grow undo --discard")
    for machine in (head, node):
        assert services(machine) == before[machine.name]
        machine.run(f"! systemctl is-active -q {scope}")
    assert head.run("minke squeue -h") == ""
    for machine in (head, node):
        machine.run("! nft list table inet minke_offline; for one in /etc/systemd/system/minke-agent.service /etc/systemd/system/minke-proxy.service "
                    "/etc/slurm/minke-proxy.sh /var/lib/minke-agent /usr/local/bin/minke.minke-grow; do [ ! -e $one ] || { echo $one; exit 1; }; done")
    head.run("! systemctl is-active -q minke-agent && ! ls /etc/systemd/system/*/minke-agent.service /etc/systemd/system/minke-agent.service")
