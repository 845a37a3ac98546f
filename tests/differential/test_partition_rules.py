"""What partitions say of all their jobs: a QOS, CPUs of a node, one user for a node. Both systems do the same."""
import pytest

from cluster import poll
from systems import MINKE_CONFIGURATION, Pair, missing_program

# One pair of systems for all of them, in this order: what one sets, the next takes back.
pytestmark = [pytest.mark.skipif(missing_program() is not None, reason=f"there is no {missing_program()}"),
              pytest.mark.xdist_group("partition_rules")]

ACCOUNTS = (["add", "account", "lab"], ["add", "user", "root", "account=lab"],
            ["add", "qos", "few", "set", "maxjobspu=1", "maxwall=2:00:00"],
            ["add", "qos", "over", "set", "flags=OverPartQOS", "maxjobspu=3"],
            ["modify", "user", "root", "set", "qos+=few,over"])
SHOWN = ("QoS", "MaxCPUsPerNode", "ExclusiveUser")


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    both = Pair(tmp_path_factory.mktemp("rules"),
                minke=MINKE_CONFIGURATION + '\n[accounting]\nenforce = ["limits", "qos"]\n',
                slurm={"settings": ("AccountingStorageEnforce=limits,qos",)})
    try:
        both.each(lambda system: [system.run("sacctmgr", "-i", *words) for words in ACCOUNTS])
        yield both
    finally:
        both.close()


def queue(system, *submissions):
    """What becomes of them; "" where one is refused."""
    jobs = [system.run("sbatch", "--parsable", *words, "--wrap=sleep 300").stdout.strip() for words in submissions]

    def states():
        listed = dict(line.split(" ", 1) for line in system.queue(format="%i %T %r"))
        return [listed.get(job, "") for job in jobs]
    settled = ("None", "QOSMaxJobsPerUserLimit", "QOSMaxWallDurationPerJobLimit", "Resources", "")
    poll(lambda: all(state.split(" ")[-1] in settled and "PENDING None" != state for state in states()), 40, "a pass")
    found = states()
    system.clear()
    return found


def rule(system, *words):
    changed = system.run("scontrol", "update", "partitionname=main", *words)
    shown = system.run("scontrol", "show", "partition", "main").stdout.split()
    return changed.returncode, changed.stderr, [one for one in shown if one.startswith(SHOWN)]


def same(pair, what):
    slurm, minke = pair.each(what)
    assert minke == slurm
    return slurm


@pytest.mark.parametrize("words", [
    ["maxcpuspernode=2"], ["maxcpuspernode=x"], ["maxcpuspernode=unlimited"], ["exclusiveuser=yes"],
    ["exclusiveuser=maybe"], ["exclusiveuser=no"], ["qos=nosuch"], ["qos=few"], ["qos="], ["qos=N/A"]],
    ids=lambda words: words[0])
def test_settings(pair, words):
    same(pair, lambda system: rule(system, *words))


def test_cpus_of_a_node(pair):
    same(pair, lambda system: rule(system, "maxcpuspernode=2"))
    states = same(pair, lambda system: queue(
        system, ["-N1", "-n4"], ["-c4"], ["-N1", "--exclusive"], ["-wn1", "-c2"], ["-wn1"]))
    assert states == ["", "", "", "RUNNING None", "PENDING Resources"]
    same(pair, lambda system: rule(system, "maxcpuspernode=unlimited"))


def test_qos(pair):
    same(pair, lambda system: rule(system, "qos=few"))
    states = same(pair, lambda system: queue(
        system, ["-t10"], ["-t10"], ["-t180"], ["-t10", "-qover"], ["-t10", "-qover"], ["-t10", "-pshort"]))
    assert states == ["RUNNING None", *["PENDING QOSMaxJobsPerUserLimit"] * 2, *["RUNNING None"] * 3]
    same(pair, lambda system: rule(system, "qos="))
