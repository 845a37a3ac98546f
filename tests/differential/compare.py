"""How two answers are compared: what differs by nature is made equal first, what is left must be equal or excused.

By nature differ: the jobs' numbers where one system refused what the other took, and times by some seconds. Minke may
add an explanation to Slurm's error. Any other difference is excused by an entry of differences.toml alone, which gives
the reason.
"""
import dataclasses
import fnmatch
import pathlib
import re
import time
import tomllib

DIFFERENCES = pathlib.Path(__file__).with_name("differences.toml")
TIMESTAMP = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\b")
CLOCK = re.compile(r"(?<![\d:])\d+:\d\d(?![\d:])")  # a time used, in a listing
TOLERANCE = 30  # seconds between the two systems' times of one event, on a loaded machine


def matches(patterns: str | list[str], text: str) -> bool:
    return any(fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))
               for pattern in ([patterns] if isinstance(patterns, str) else patterns))


@dataclasses.dataclass
class Difference:
    """One excuse: it holds where the place, the field, the case and both values match."""
    reason: str
    place: str | list[str] = "*"  # patterns: "show job", "squeue", "answer", …
    field: str | list[str] = "*"
    case: str | list[str] = "*"   # as in names of files, but brackets stand for themselves
    slurm: str = r"(?s).*"  # whole values, as regular expressions
    minke: str = r"(?s).*"
    release: str | list[str] = "*"  # of Slurm: "22.05", "24.11", "26.05"
    sometimes: bool = False         # it depends on the moment: it may be absent from a run
    used: bool = False

    def excuses(self, place: str, field: str, case: str, slurm: str, minke: str) -> bool:
        return (matches(self.place, place) and matches(self.field, field) and matches(self.case, case)
                and re.fullmatch(self.slurm, slurm) is not None and re.fullmatch(self.minke, minke) is not None)


def load_differences(release: str | None = None) -> list[Difference]:
    """Those of a release, or all."""
    entries = [Difference(**entry) for entry in tomllib.loads(DIFFERENCES.read_text())["difference"]]
    return [one for one in entries if release is None or matches(one.release, release)]


def open_cases(release: str) -> list[str]:
    """Cases that are known to differ from this release and should not."""
    return tomllib.loads(DIFFERENCES.read_text())["open"].get(release, [])


def seconds_of(stamp: str) -> float:
    return time.mktime(time.strptime(stamp, "%Y-%m-%dT%H:%M:%S"))


def same(slurm: str, minke: str) -> bool:
    """Equal, or equal but for times that are a few seconds apart."""
    if slurm == minke:
        return True
    theirs, ours = TIMESTAMP.findall(slurm), TIMESTAMP.findall(minke)
    return (bool(theirs) and len(theirs) == len(ours) and TIMESTAMP.sub("T", slurm) == TIMESTAMP.sub("T", minke)
            and all(abs(seconds_of(a) - seconds_of(b)) <= TOLERANCE for a, b in zip(theirs, ours)))


def without_number(text: str, number: str | None) -> str:
    """JOB instead of the job's own number, but not within a time."""
    return re.sub(rf"(?<![0-9A-Za-z:]){number}(?![0-9A-Za-z:])(?!-\d\dT)", "JOB", text) if number else text


def explains(slurm: str, minke: str) -> bool:
    """Whether Minke's error is Slurm's, with no more than an explanation in parentheses at the end of a line."""
    theirs, ours = slurm.splitlines(), minke.splitlines()
    return len(theirs) == len(ours) and all(other == one or (other.startswith(one + " (") and other.endswith(")"))
                                            for one, other in zip(theirs, ours))


class Comparison:
    """What differs in one case, a line for each difference that has no excuse."""

    def __init__(self, differences: list[Difference], case: str, numbers: tuple[str | None, str | None] = (None, None)):
        self.differences, self.case, self.numbers = differences, case, numbers
        self.compared = 0
        self.lines: list[str] = []

    def value(self, place: str, field: str, slurm: str, minke: str) -> None:
        self.compared += 1
        plain = [without_number(text, number) for text, number in zip((slurm, minke), self.numbers)]
        if same(slurm, minke) or same(*plain) or (field == "stderr" and explains(*plain)):
            return
        for one in self.differences:
            if one.excuses(place, field, self.case, *plain):
                one.used = True
                return
        self.lines.append(f"{place}: {field}: Slurm {plain[0]!r}, Minke {plain[1]!r}")

    def fields(self, place: str, slurm: dict[str, str], minke: dict[str, str]) -> None:
        for name in [*slurm, *(name for name in minke if name not in slurm)]:
            self.value(place, name, slurm.get(name, "<absent>"), minke.get(name, "<absent>"))

    def text(self, place: str, slurm: str, minke: str) -> None:
        """Line by line where there are as many lines, so that each difference stands alone."""
        theirs, ours = ([CLOCK.sub("M:SS", line) for line in text.splitlines()] for text in (slurm, minke))
        if len(theirs) != len(ours):
            return self.value(place, "text", "\n".join(theirs), "\n".join(ours))
        for one, other in zip(theirs, ours):
            self.value(place, "line", one, other)

    def rows(self, place: str, slurm: dict[str, dict[str, str]], minke: dict[str, dict[str, str]]) -> None:
        """Tables: rows by their names."""
        self.value(place, "rows", "\n".join(sorted(slurm)), "\n".join(sorted(minke)))
        for name in slurm.keys() & minke.keys():
            row = Comparison(self.differences, self.case or name, self.numbers)
            row.fields(place, slurm[name], minke[name])
            self.compared += row.compared
            self.lines += [f"{name}: {line}" for line in row.lines]

    def records(self, place: str, slurm: list[dict[str, str]], minke: list[dict[str, str]]) -> None:
        self.value(place, "records", str(len(slurm)), str(len(minke)))
        for theirs, ours in zip(slurm, minke):
            self.fields(place, theirs, ours)


def page() -> str:
    """The list of differences as a page for users."""
    def words(text: str) -> str:
        return text.replace("|", "\\|").replace("*", "\\*").replace("_", "\\_").replace("<", "&lt;")

    def where(one: Difference) -> str:
        fields = [one.field] if isinstance(one.field, str) else one.field
        places = [one.place] if isinstance(one.place, str) else one.place
        cases = [one.case] if isinstance(one.case, str) else one.case
        named = [", ".join(values) for values in (places, fields, cases) if values != ["*"]]
        return words("; ".join(named))

    def releases(one: Difference) -> str:
        return "all" if one.release == "*" else one.release if isinstance(one.release, str) else ", ".join(one.release)
    lines = [
        "# Differences from Slurm", "",
        "The tests ask Slurm 22.05, 24.11 and 26.05, and a Minke that speaks that release, the same questions: submissions,",
        "listings, jobs in every state, and what jobs find in their environment. This page lists every answer that differs, and",
        "why. `tests/differential/compare.py` makes it from `tests/differential/differences.toml`.", "",
        "| what | Slurm | where |", "|---|---|---|"]
    lines += [f"| {words(one.reason)} | {releases(one)} | {where(one)} |" for one in load_differences()]
    for release in tomllib.loads(DIFFERENCES.read_text())["open"]:
        if cases := open_cases(release):
            lines += ["", f"## Not yet the same as {release}", "",
                      "In these cases something of the answer differs, and should not.", "",
                      "```text", *cases, "```"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(), end="")
