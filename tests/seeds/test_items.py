"""The list of items is complete: each has a case here, another test that shows it, or a line in docs/seeds.md that says why
it cannot be tried."""
import pathlib
import re
import tomllib

from cluster import ROOT

MINKE_ONLY = True
HERE = pathlib.Path(__file__).parent
LIST = tomllib.loads((HERE / "items.toml").read_text())
COUNTS = (55, 59, 28, 33, 58)  # of each guide


def cases() -> set[str]:
    """Numbers of the items that have a case: test_0_07_… is one of 0-07, test_0_07_0_08_… of both."""
    found = set()
    for path in HERE.glob("test_seed_*.py"):
        for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M):
            numbers = re.match(r"test(?:_\d_\d\d)+_", name)
            assert numbers, f"{path.name}: {name} names no item"
            found |= {f"{guide}-{item}" for guide, item in re.findall(r"_(\d)_(\d\d)", numbers[0])}
    return found


def excused() -> dict[str, str]:
    """Why an item cannot be tried, by its number."""
    rows = re.findall(r"^\| (\d-\d\d) \| .+ \| (.+) \|$", (ROOT / "docs/seeds.md").read_text(), re.M)
    assert len(dict(rows)) == len(rows)
    return dict(rows)


def test_the_list_has_every_number():
    assert list(LIST["items"]) == [f"{guide}-{item:02}" for guide, count in enumerate(COUNTS) for item in range(1, count + 1)]


def test_every_item_is_shown_or_excused_once():
    ways = (cases(), set(LIST["shown_by"]), set(excused()))
    assert not set.union(*ways) - set(LIST["items"])
    counted = {item: sum(item in way for way in ways) for item in LIST["items"]}
    assert {item: count for item, count in counted.items() if count != 1} == {}


def test_what_shows_an_item_is_there():
    for item, place in LIST["shown_by"].items():
        file, name = place.split("::")
        assert re.search(rf"^def {name}\(", (ROOT / "tests" / file).read_text(), re.M), f"{item}: {place}"
