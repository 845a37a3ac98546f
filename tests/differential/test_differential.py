"""A real Slurm and Minke are asked the same; what they answer must agree, or stand in differences.toml."""
import re

import pytest

from cluster import ROOT
from compare import Comparison, load_differences, open_cases, page
from commands import COMMANDS, run_commands
from corpus import CASES
from environments import JOBS as ENVIRONMENTS, run_environments
from states import LISTINGS, TABLES, look
from submissions import run_corpus
from systems import Pair, missing_program

# One Slurm for all: with `-n`, use `--dist loadgroup`.
pytestmark = [pytest.mark.xdist_group("slurm"), pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    if program := missing_program():
        pytest.skip(f"there is no {program} to compare with; ./dev setup test installs it")
    one = Pair(tmp_path_factory.mktemp("differential"))
    yield one
    one.close()


@pytest.fixture(scope="module")
def differences():
    return load_differences()


@pytest.fixture(scope="module")
def seen(pair):
    return run_corpus(pair, CASES)


@pytest.fixture(scope="module")
def looked(pair, seen):
    return look(pair)


@pytest.fixture(scope="module")
def commanded(pair, looked):
    return run_commands(pair)


@pytest.fixture(scope="module")
def environments(pair, commanded):
    return run_environments(pair)


def test_cases_have_names_of_their_own():
    names = {case.name for case in CASES}
    assert len(names) == len(CASES) >= 300
    names |= set(LISTINGS) | set(TABLES) | set(COMMANDS) | {f"environment: {options}" for options in ENVIRONMENTS}
    assert set(open_cases()) <= names


OPEN = set(open_cases())


def listed(names):
    return [pytest.param(name, marks=[pytest.mark.xfail(reason="a known defect")] * (name in OPEN)) for name in names]


@pytest.mark.parametrize("case", listed(case.name for case in CASES))
def test_submission(case, seen, differences):
    slurm, minke = seen[case]
    comparison = Comparison(differences, case, (slurm.number, minke.number))
    comparison.value("answer", "exit code", str(slurm.answer.code), str(minke.answer.code))
    comparison.value("answer", "stdout", slurm.answer.out, minke.answer.out)
    comparison.value("answer", "stderr", slurm.answer.err, minke.answer.err)
    if slurm.number and minke.number:
        comparison.records("show job", slurm.show, minke.show)
        comparison.records("squeue", slurm.queue, minke.queue)
        assert slurm.show and slurm.queue
    assert not comparison.lines, "\n".join(comparison.lines)


@pytest.mark.parametrize("name", listed(LISTINGS))
def test_listing(name, looked, differences):
    slurm, minke = looked[name]
    comparison = Comparison(differences, name)
    comparison.value(name, "exit code", slurm[0], minke[0])
    comparison.text(name, slurm[1], minke[1])
    comparison.value(name, "stderr", slurm[2], minke[2])
    assert not comparison.lines, "\n".join(comparison.lines)


@pytest.mark.parametrize("name", listed(TABLES))
def test_fields(name, looked, differences):
    comparison = Comparison(differences, "")
    comparison.rows(name, *looked[name])
    assert not comparison.lines, "\n".join(comparison.lines)


@pytest.mark.parametrize("name", listed(COMMANDS))
def test_command(name, commanded, differences):
    comparison = Comparison(differences, name)
    for field, slurm, minke in zip(("exit code", "stdout", "stderr"), *commanded[name]):
        comparison.value("command", field, slurm, minke)
    assert not comparison.lines, "\n".join(comparison.lines)


@pytest.mark.parametrize("name", listed(f"environment: {options}" for options in ENVIRONMENTS))
def test_environment(name, environments, differences):
    comparison = Comparison(differences, name)
    comparison.rows("environment", *environments[name.removeprefix("environment: ")])
    assert not comparison.lines, "\n".join(comparison.lines)


def test_the_page_of_differences_is_up_to_date():
    """python3 tests/differential/compare.py > docs/differences.md"""
    assert (ROOT / "docs/differences.md").read_text() == page()


def test_configuration_has_slurms_parameters(pair):
    theirs, ours = (re.findall(r"^(\S+) += ", answer.out.split("\n\n")[0], re.MULTILINE)
                    for answer in pair.ask("scontrol", "show", "config"))
    assert len(ours) > 150 and ours == theirs
