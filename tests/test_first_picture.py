"""The picture of README.md: a terminal in which a job is submitted, followed, and its end explained.

The commands run on a cluster of the test, and what they print is drawn as SVG, so that the picture cannot tell what the
program does not do. `MINKE_PICTURES=docs/pictures python3 -m pytest tests/test_first_picture.py` draws it anew.
"""
import html
import os
import pathlib
import re

import pytest

from cluster import ROOT

MINKE_ONLY = True
SCRIPT = """#!/bin/bash
#SBATCH --time=10
for epoch in 1 2 3; do echo "epoch $epoch: loss 0.$((9 - epoch * 2))"; done
python3 -c 'import torchvision_extra'
"""
COMMANDS = ["sbatch --wait train.sh", "minke jobs", "minke tail -n 3 1", "minke why 1", "minke redo 1"]
WIDTH, LINE, LEFT, TOP = 920, 19, 16, 46
COLOURS = {"32": "#7ee787", "33": "#e3b341", "31": "#ff7b72", "36": "#79c0ff", "2": "#8b949e", "1": "#ffffff"}


def spans(line: str) -> str:
    """A line with the terminal's codes as SVG's spans."""
    out, colour = "", None
    for part in re.split(r"(\x1b\[\d*m)", line):
        if code := re.fullmatch(r"\x1b\[(\d*)m", part):
            colour = COLOURS.get(code[1])
        elif part:
            text = html.escape(part).replace(" ", "\u00a0")
            out += f'<tspan fill="{colour}">{text}</tspan>' if colour else f"<tspan>{text}</tspan>"
    return out


def drawn(lines: list[str]) -> str:
    height = TOP + LINE * len(lines) + 8
    rows = "\n".join(f'<text x="{LEFT}" y="{TOP + LINE * number}">{spans(line)}</text>' for number, line in enumerate(lines))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img" '
            'aria-label="A terminal: a job is submitted, followed, and its end explained">\n'
            f'<rect width="{WIDTH}" height="{height}" rx="8" fill="#0d1117"/>\n'
            '<circle cx="20" cy="18" r="6" fill="#ff5f56"/><circle cx="40" cy="18" r="6" fill="#ffbd2e"/>'
            '<circle cx="60" cy="18" r="6" fill="#27c93f"/>\n'
            '<g font-family="ui-monospace, DejaVu Sans Mono, Menlo, monospace" font-size="14" fill="#e6edf3">\n'
            f'{rows}\n</g>\n</svg>\n')


def recorded(cluster) -> list[str]:
    cluster.script(SCRIPT, "train.sh")
    lines = []
    for command in COMMANDS:
        done = cluster.run(*command.split(), env={"NO_COLOR": None, "CLICOLOR_FORCE": "1", "SLURM_TIME_FORMAT": "%H:%M"})
        text = (done.stdout + done.stderr).replace(str(cluster.work), "/home/ada").replace(os.environ.get("USER", "root") + ":", "ada:")
        user = cluster.run("id", "-un").stdout.strip()
        text = text.replace(f" of {user}:", " of ada:")
        lines += [f"\x1b[36m$\x1b[0m \x1b[1m{command}\x1b[0m", *text.rstrip("\n").split("\n"), ""]
    return [line[:110] for line in lines[:-1]]


@pytest.mark.machine(nodes=1, cpus=4)
def test_the_picture_of_the_first_page(cluster):
    lines = recorded(cluster)
    text = "\n".join(re.sub(r"\x1b\[\d*m", "", line) for line in lines)
    assert "FAILED" in text and "epoch 3: loss 0.3" in text and "avail_wheels torchvision_extra" in text and "Submitted batch job 2" in text, text
    place = pathlib.Path(os.environ.get("MINKE_PICTURES", cluster.work)) / "first-job.svg"
    place.write_text(drawn(lines))
    shown = (ROOT / "docs/pictures/first-job.svg").read_text()
    plain = lambda svg: html.unescape(re.sub(r"<[^>]+>", "", svg)).replace("\u00a0", " ")
    for command in COMMANDS:
        assert f"$ {command}" in plain(shown), f"the picture lacks {command}: draw it anew"
    assert "first-job.svg" in (ROOT / "README.md").read_text()
