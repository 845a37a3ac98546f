"""A real Slurm of each release and a Minke that speaks it are asked the same; what they answer must agree, or stand in
differences.toml. `--slurm` names the releases."""
import re

import pytest

from cluster import ROOT
from compare import Comparison, load_differences, open_cases, page
from commands import COMMANDS, run_commands
from corpus import CASES
from documents import DOCUMENTS
from environments import JOBS as ENVIRONMENTS, run_environments
from releases import RELEASES, Unavailable
from states import DOCUMENTED, LISTINGS, TABLES, look
from submissions import run_corpus
from systems import Pair

pytestmark = pytest.mark.timeout(1800)


SINCE = {case.name: case.since for case in CASES}


def pytest_generate_tests(metafunc):
    """One Slurm of a release for all of its tests: with `-n`, use `--dist loadgroup`."""
    if "release" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--slurm").split(",")
        metafunc.parametrize("release", [pytest.param(one, marks=pytest.mark.xdist_group(f"slurm-{one}"))
                                         for one in RELEASES if one in wanted], scope="module")


@pytest.fixture(scope="module")
def pair(release, tmp_path_factory):
    try:
        one = Pair(tmp_path_factory.mktemp("differential"), release=release)
    except Unavailable as why:
        pytest.skip(str(why))
    yield one
    one.close()


@pytest.fixture(scope="module")
def differences(release):
    return load_differences(release)


class Judge:
    """Whether a comparison found nothing, or only what is known to be open."""
    asked = 0  # in this process, of one release

    def __init__(self, release: str):
        self.open = set(open_cases(release))

    def __call__(self, case: str, comparison: Comparison) -> None:
        Judge.asked += 1
        if comparison.lines and case in self.open:
            pytest.xfail("a known defect")
        assert not comparison.lines, "\n".join(comparison.lines)


@pytest.fixture(scope="module")
def judge(release):
    Judge.asked = 0
    return Judge(release)


@pytest.fixture(scope="module")
def seen(pair):
    return run_corpus(pair, CASES)


@pytest.fixture(scope="module")
def looked(pair, seen):
    return look(pair)


@pytest.fixture(scope="module")
def commanded(pair, looked, release, judge):
    def differ(line: str, slurm, minke) -> bool:
        return line not in judge.open and bool(compared(load_differences(release), line, slurm, minke).lines)
    return run_commands(pair, differ)


@pytest.fixture(scope="module")
def environments(pair, commanded):
    return run_environments(pair)


def all_names() -> set[str]:
    return ({case.name for case in CASES} | set(LISTINGS) | set(TABLES) | set(COMMANDS)
            | {f"environment: {options}" for options in ENVIRONMENTS})


def test_cases_have_names_of_their_own():
    names = {case.name for case in CASES}
    assert len(names) == len(CASES) >= 300
    assert all(set(open_cases(release)) <= all_names() for release in RELEASES)


@pytest.mark.parametrize("case", [case.name for case in CASES])
def test_submission(case, seen, differences, judge, release):
    if release < SINCE[case]:
        Judge.asked += 1
        pytest.skip("a question to newer releases")
    slurm, minke = seen[case]
    comparison = Comparison(differences, case, (slurm.number, minke.number))
    comparison.value("answer", "exit code", str(slurm.answer.code), str(minke.answer.code))
    comparison.value("answer", "stdout", slurm.answer.out, minke.answer.out)
    comparison.value("answer", "stderr", slurm.answer.err, minke.answer.err)
    if slurm.number and minke.number:
        comparison.records("show job", slurm.show, minke.show)
        comparison.records("squeue", slurm.queue, minke.queue)
        assert slurm.show and slurm.queue
    judge(case, comparison)


@pytest.mark.parametrize("name", list(LISTINGS))
def test_listing(name, looked, differences, judge):
    slurm, minke = looked[name]
    comparison = Comparison(differences, name)
    comparison.value(name, "exit code", slurm[0], minke[0])
    comparison.text(name, slurm[1], minke[1])
    comparison.value(name, "stderr", slurm[2], minke[2])
    judge(name, comparison)


@pytest.mark.parametrize("name", list(TABLES))
def test_fields(name, looked, differences, judge, release):
    if name in DOCUMENTS and release < DOCUMENTED:
        Judge.asked += 1
        pytest.skip("its documents have other shapes")
    comparison = Comparison(differences, "")
    comparison.rows(name, *looked[name])
    judge(name, comparison)


def compared(differences, line: str, slurm, minke) -> Comparison:
    comparison = Comparison(differences, line)
    for field, theirs, ours in zip(("exit code", "stdout", "stderr"), slurm, minke):
        comparison.value("command", field, theirs, ours)
    return comparison


@pytest.mark.parametrize("name", list(COMMANDS))
def test_command(name, commanded, differences, judge):
    judge(name, compared(differences, name, *commanded[name]))


@pytest.mark.parametrize("name", [f"environment: {options}" for options in ENVIRONMENTS])
def test_environment(name, environments, differences, judge):
    comparison = Comparison(differences, name)
    comparison.rows("environment", *environments[name.removeprefix("environment: ")])
    judge(name, comparison)


def test_the_page_of_differences_is_up_to_date():
    """python3 tests/differential/compare.py > docs/differences.md"""
    assert (ROOT / "docs/differences.md").read_text() == page()


def test_configuration_has_slurms_parameters(pair, differences):
    theirs, ours = (set(re.findall(r"^(\S+) += ", answer.out.split("\n\n")[0], re.MULTILINE))
                    for answer in pair.ask("scontrol", "show", "config"))
    assert len(ours) > 150
    comparison = Comparison(differences, "")
    for name in sorted(theirs ^ ours):
        comparison.value("show config", name, *("there" if name in keys else "<absent>" for keys in (theirs, ours)))
    assert not comparison.lines, "\n".join(comparison.lines)


@pytest.mark.looks_back
def test_every_excuse_still_occurs(differences, judge):
    """It runs last, and tells only where all others ran in this process."""
    if Judge.asked < len(all_names()):
        pytest.skip("not all cases were asked")
    unused = [one.reason for one in differences if not one.used and not one.sometimes]
    assert not unused, "these no longer occur:\n" + "\n".join(unused)
