"""minke grow undo --gone and shrink --gone: a machine is broken for good while the cluster goes back to one machine."""
import pytest

import faults

pytestmark = [pytest.mark.xdist_group("grow"), pytest.mark.timeout(600)]


def gone(machine) -> None:
    faults.pull_cable(machine)


def is_one_machine_again(head) -> None:
    assert "one machine" in head.run("minke grow status")
    head.run("cd; minke sbatch -W -o /dev/null --wrap true", user="alice")
    assert not head.run("for name in slurm mariadbd; do pgrep -l $name; done; ls /etc/slurm/slurm.conf 2>/dev/null", code=None)


def test_a_machine_that_is_gone_does_not_hold_up_the_way_back(machines):
    head = machines["head"]
    held = head.run("cd; minke sbatch --parsable --hold -o /dev/null --wrap true", user="alice").strip()
    head.run("minke grow apply n1 n2")
    gone(machines["n2"])
    assert "or with --gone to leave it so" in head.run("minke grow undo", code=1)
    assert "Say it again" in head.run("minke grow undo", code=1)
    said = head.run("minke grow undo --gone")
    assert "on n2 this is left: " in said and "slurmd n2" in said, said
    is_one_machine_again(head)
    assert head.run("minke squeue -h -o %i").split() == [held]
    assert not machines["n1"].run("pgrep -l slurm; ls /etc/slurm/slurm.conf 2>/dev/null", code=None)
    assert "nothing is under way" in head.run("minke grow undo --gone", code=1)
    # What is left there is minke grow's own, so that it may join again.
    faults.plug_in(machines["n2"])
    head.run("minke grow plan n2")


def test_a_cluster_that_is_confirmed_shrinks_without_it(machines):
    """After the test above."""
    head = machines["head"]
    head.run("minke grow apply n1 n3")
    head.run("minke grow confirm")
    done = head.run("cd; sbatch --parsable -W -w n3 -o /dev/null -J there --wrap true", user="alice").strip()
    head.until("[ -z \"$(squeue -h -t CG,R)\" ]")  # a job is COMPLETING until its node has said that it has cleared up
    gone(machines["n3"])
    said = head.run("minke grow shrink", code=1)
    assert "or with --gone to leave it so" in said, said
    said = head.run("minke grow shrink --gone")
    assert "on n3 this is left: " in said, said
    is_one_machine_again(head)
    assert head.run(f"minke sacct -X -n -P -j {done} -o JobName,State") == "there|COMPLETED\n"
    assert not machines["n1"].run("pgrep -l slurm; ls /etc/slurm/slurm.conf 2>/dev/null", code=None)
