"""What was measured: collected, judged against its budget, printed as a table and written as JSON."""
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Comparison:
    """One line of the table. `ratio` is how many times better Minke is than the peer, or than a fixed bound; none where
    either is 0. `budget` is the least ratio asked for, where one is; `passed` the verdict on it."""
    what: str
    minke: str
    peer: str
    peer_value: str
    ratio: float | None = None
    budget: float | None = None
    passed: bool | None = None

    @property
    def verdict(self) -> str:
        return {None: "", True: "pass", False: "MISS"}[self.passed]


class Report:
    def __init__(self):
        self.comparisons: list[Comparison] = []
        self.samples: dict[str, list[float]] = {}
        self.skipped: list[str] = []

    def sample(self, name: str, value: float) -> None:
        """One measured value: rates in 1/s, times in s, memory in KiB; the name says which."""
        self.samples.setdefault(name, []).append(value)
        print(f"    {name:<52} {value:>14,.4g}", flush=True)

    def median(self, name: str) -> float | None:
        values = self.samples.get(name)
        return statistics.median(values) if values else None

    def skip(self, what: str, why: str) -> None:
        self.skipped.append(f"{what}: {why}")
        print(f"    skipped: {what}: {why}", flush=True)

    def compare(self, what: str, mine: str, theirs: str, peer: str, unit: str, budget: float | None = None,
                smaller_is_better: bool = False) -> None:
        """Adds the line that sets two medians side by side; the ones not measured are left out."""
        a, b = self.median(mine), self.median(theirs)
        if a is None or b is None:
            return
        ratio = (b / a if smaller_is_better else a / b) if a and b else None
        passed = None if budget is None or ratio is None else ratio >= budget
        self.comparisons.append(Comparison(what, f"{a:,.4g} {unit}", peer, f"{b:,.4g} {unit}", ratio, budget, passed))

    def limit(self, what: str, mine: str, unit: str, bound: float, at_least: bool = False) -> None:
        """Adds the line that sets a median against a fixed bound."""
        a = self.median(mine)
        if a is None:
            return
        ratio = (a / bound if at_least else bound / a) if a and bound else None
        self.comparisons.append(Comparison(what, f"{a:,.4g} {unit}", "a fixed bound",
                                           f"{'>=' if at_least else '<='} {bound:,.4g} {unit}", ratio, None,
                                           a >= bound if at_least else a <= bound))

    def table(self) -> str:
        rows = [("what", "Minke", "against", "", "ratio", "budget", "")]
        for line in self.comparisons:
            ratio = "" if line.ratio is None else f"{line.ratio:,.2f} x"
            budget = "" if line.budget is None else f">= {line.budget:g} x"
            rows.append((line.what, line.minke, line.peer, line.peer_value, ratio, budget, line.verdict))
        widths = [max(len(row[column]) for row in rows) for column in range(7)]
        lines = []
        for number, row in enumerate(rows):
            cells = [cell.rjust(width) if column in (1, 3, 4, 5) else cell.ljust(width)
                     for column, (cell, width) in enumerate(zip(row, widths))]
            lines.append("  ".join(cells).rstrip())
            if number == 0:
                lines.append("-" * len(lines[0]))
        lines += [f"  skipped: {text}" for text in self.skipped]
        missed = [f"{line.what} against {line.peer}" for line in self.comparisons if line.passed is False]
        judged = sum(line.passed is not None for line in self.comparisons)
        lines += ["", f"{judged - len(missed)} of {judged} budgets met", *(f"  missed: {text}" for text in missed)]
        return "\n".join(lines)

    def write(self, options: dict) -> pathlib.Path:
        def output(*command: str) -> str:
            return subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()

        model = [line.split(":", 1)[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")]
        now = datetime.datetime.now().astimezone()
        document = {
            "time": now.isoformat(timespec="seconds"), "revision": output("git", "rev-parse", "--short", "HEAD"),
            "machine": {"processor": model[0] if model else platform.processor(), "cores": os.cpu_count(),
                        "kernel": platform.release(), "file_system": output("stat", "-f", "-c", "%T", str(ROOT))},
            "options": options, "skipped": self.skipped, "samples": self.samples,
            "comparisons": [dataclasses.asdict(line) | {"verdict": line.verdict} for line in self.comparisons]}
        path = ROOT / "bench/results" / f"{now:%Y%m%d-%H%M%S}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(document, indent=1) + "\n")
        return path
