"""What happened to a cluster: sacctmgr's events of nodes and its transactions."""
import re

import pytest

from cluster import Cluster

MINKE_ONLY = True


def events(cluster: Cluster, *conditions: str) -> list[str]:
    shown = cluster.run("sacctmgr", "-nP", "list", "event", "format=nodename,timeend,state,stateraw,reason,user", *conditions, check=0).stdout
    return [re.sub(r"\|20[0-9T:-]+\|", "|ended|", line) for line in shown.splitlines()]


def update(cluster: Cluster, *words: str) -> None:
    cluster.run("scontrol", "update", *words, check=0)


@pytest.mark.machine(nodes=2, cpus=2, memory=1000)
def test_a_node_has_an_event_for_each_state_it_was_in(cluster):
    update(cluster, "nodename=n1", "state=drain", "reason=first one")
    update(cluster, "nodename=n1", "reason=second")  # as in Slurm: no other event
    update(cluster, "nodename=n2", "state=fail", "reason=worn")
    cluster.run("minke", "down", check=0)  # a restarted daemon goes on with them
    drained = "n1|Unknown|DRAIN|514|first one|root(0)"
    worn = "n2|Unknown|FAIL|8194|worn|root(0)"
    assert events(cluster) == [drained, worn]
    update(cluster, "nodename=n1", "state=resume")
    assert events(cluster) == [drained.replace("Unknown", "ended"), worn]
    assert events(cluster, "condflags=open") == [worn]
    assert events(cluster, "nodes=n1") == events(cluster, "states=drain") == events(cluster, "reason=first one")
    assert events(cluster, "nodes=n1") == [drained.replace("Unknown", "ended")]
    assert events(cluster, "user=nobody") == events(cluster, "end=2020-01-01") == []
    assert events(cluster, "all_time", "event=node") == events(cluster, "start=2020-01-01") == events(cluster)
    refused = cluster.run("sacctmgr", "list", "event", "states=bogus")
    assert refused.returncode == 1 and "Invalid state: bogus" in refused.stdout + refused.stderr


def transactions(cluster: Cluster, *conditions: str) -> list[str]:
    shown = cluster.run("sacctmgr", "-nP", "list", "transaction", "format=action,actor,where,info", *conditions, check=0).stdout
    return shown.splitlines()


@pytest.mark.machine(nodes=1, cpus=2, memory=1000)
def test_who_changed_the_accounts_is_kept(cluster):
    def change(*words: str) -> None:
        cluster.run("sacctmgr", "-i", *words, check=0)

    change("add", "account", "hx", "description=Dee", "organization=Oo")
    change("modify", "account", "hx", "set", "description=Neu")
    change("add", "user", "nobody", "account=hx")
    change("modify", "user", "nobody", "set", "maxjobs=4")
    change("add", "coordinator", "account=hx", "user=nobody")
    change("modify", "user", "nobody", "set", "adminlevel=operator")
    change("delete", "user", "nobody")
    change("add", "qos", "hq", "priority=5")
    change("modify", "qos", "hq", "set", "maxwall=10")
    cluster.run("minke", "down", check=0)
    kept = transactions(cluster)
    lines = [line for line in kept if not line.startswith("Add Associations") and not line.startswith("Add QOS")]
    assert lines == [
        "Add Accounts|root|hx|description='dee', organization='oo'",
        "Modify Accounts|root|(name='hx')|description='neu'",
        "Add Users|root|nobody|",
        next(line for line in lines if line.startswith("Modify Associations")),
        "Add Account Coord|root|nobody|hx",
        "Modify Users|root|(name='nobody')|admin_level=2",
        "Remove Users|root|name in('nobody')|",
        "Remove Account Coords|root|(user='nobody') && (acct='hx')|",
        "Modify QOS|root|(name='hq')|max_wall_duration_per_job=10",
    ]
    assert re.fullmatch(r"Modify Associations\|root\|\(id_assoc=\d+\)\|max_jobs=4", lines[3])
    assert transactions(cluster, "actor=root") == kept and transactions(cluster, "actor=bob") == []
    assert transactions(cluster, "action=Add Users") == ["Add Users|root|nobody|"]
    assert "Add QOS" not in "".join(transactions(cluster, "account=hx"))
    assert transactions(cluster, "start=now+1hour") == transactions(cluster, "end=2020-01-01") == []
