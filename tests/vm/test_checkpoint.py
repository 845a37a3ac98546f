"""Programs that cannot save their state go on in the next part of a chain, by CRIU; on Debian's own kernel."""
import pytest

pytestmark = [pytest.mark.minke_only, pytest.mark.timeout(1800), pytest.mark.xdist_group("second")]

COUNTER = """#!/bin/bash
for ((i = 1; i <= 40; i++)); do echo "count $i of $1, part $MINKE_CHAIN_PART"; sleep 0.5; done
"""
NUMPY = """#!/usr/bin/python3
import sys, time
import numpy
values = numpy.arange(100000, dtype=float)
print("begun", flush=True)
for step in range(40):
    values += 1
    print("sum", step, int(values.sum() - values.size * (values.size - 1) / 2), flush=True)
    time.sleep(0.5)
"""
OWN = ('export MINKE_HOME=/srv/chains; mkdir -p $MINKE_HOME; eval "$(/opt/minke/minke env --over-slurm)"; '
       "cd /srv/chains; ")


@pytest.fixture(scope="module")
def machine(guest):
    for name, text in (("counter.sh", COUNTER), ("sums.py", NUMPY)):
        guest.run(f"mkdir -p /srv/chains; cat >/srv/chains/{name} <<'END'\n{text}END\nchmod 755 /srv/chains/{name}")
    yield guest
    guest.run(OWN + "minke down --cancel-jobs", None)


def chain(machine, script: str, *arguments: str) -> list[str]:
    """Its log, after it has ended well. The state is kept ten seconds after each part began."""
    job = machine.run(OWN + "minke chain --checkpoint=auto --total=10 --each=1 --warn=50s --parsable -o log-%j "
                      + " ".join([script, *arguments]), seconds=120).strip()
    machine.until(OWN + f"sacct -nXj {job} -o state | grep -q -e COMPLETED -e FAILED", 400)
    log = machine.run(f"cat /srv/chains/log-{job}")
    assert "COMPLETED" in machine.run(OWN + f"sacct -nXj {job} -o state"), log
    assert machine.run(f"ls -d /srv/chains/.minke-chain-{job} || true").startswith("ls: ")  # nothing is left
    return log.splitlines()


def test_criu_works_here(machine):
    assert "Looks good" in machine.run("criu check 2>&1")


def test_a_counter_goes_on(machine):
    lines = chain(machine, "counter.sh", "'a b'")
    counts = [line for line in lines if line.startswith("count")]
    assert counts == [f"count {i} of a b, part 1" for i in range(1, 41)], "\n".join(lines)  # it never began anew
    assert "minke chain: the program's state is kept" in lines and lines[-1].startswith("minke chain: done in part ")
    assert lines[-1] != "minke chain: done in part 1"


def test_numpy_goes_on(machine):
    lines = chain(machine, "sums.py")
    assert lines.count("begun") == 1
    assert [line for line in lines if line.startswith("sum")] == [f"sum {i} {(i + 1) * 100000}" for i in range(40)]


SLOW_CRIU = """#!/bin/bash
if [ "$1" = dump ]; then until grep -q "^State:.Z" "/proc/$3/status"; do sleep 0.1; done; fi
exec /usr/sbin/criu.real "$@"
"""


def test_a_program_that_ends_while_its_state_is_kept_is_done(machine):
    machine.run(f"mv /usr/sbin/criu /usr/sbin/criu.real; cat >/usr/sbin/criu <<'END'\n{SLOW_CRIU}END\n"
                "chmod 755 /usr/sbin/criu; cd /srv/chains; printf '%s\\n' '#!/bin/sh' 'echo begun' 'sleep 12' >short.sh; "
                "chmod 755 short.sh")
    try:
        lines = chain(machine, "short.sh")
    finally:
        machine.run("mv /usr/sbin/criu.real /usr/sbin/criu")
    assert lines.count("begun") == 1 and "minke chain: done in part 1" in lines, "\n".join(lines)


def test_users_without_the_right_are_refused(machine):
    machine.run("id carol >/dev/null 2>&1 || useradd --create-home carol")
    chain_of_hers = "/opt/minke/minke chain --checkpoint=auto --total=10 --each=1 /bin/true"
    said = machine.run(f"runuser -l carol -c '{chain_of_hers}' 2>&1; true")
    assert "--checkpoint=auto is not to be had here: criu check: " in said and "is for root's own jobs" in said
