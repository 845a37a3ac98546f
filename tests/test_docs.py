"""Every example in README.md and docs/ is run, and must print what it is said to print.

A fenced block says what it is by the words after its backticks:
- `console`: lines with `$ ` are commands, run by one bash for the whole page in an empty directory; the lines behind
  are what it prints. `…` stands for any text within a line, a line of `…` alone for any lines. A command that fails
  shows its exit code as `[1]` in a line of its own.
- `bash NAME`, `toml NAME`, `yaml NAME`, `python NAME`: a file, written before the next command runs. ~/ stands for the page's own home. A
  file with an absolute name is shown, and not written: whoever runs the tests may be root.
- `console skip REASON`: shown, not run. `text`: no example.

~/minke stands for this repository.
"""
import os
import pathlib
import re
import subprocess

import pytest

from cluster import ROOT, poll

MINKE_ONLY = True
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/fr").glob("*.md")), *sorted((ROOT / "examples").glob("*/*.md"))]
FOR_DEVELOPERS = {"architecture.md"}  # drawings and excerpts, no examples
LONG_YET = {"architecture.md", "security.md"}  # pages that still have sentences of more than MOST_WORDS
MOST_WORDS = 35
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
END = "__end_of_command__"


def blocks(page: pathlib.Path):
    """(line number, words after the backticks, content) of each fenced block."""
    text = page.read_text()
    for match in FENCE.finditer(text):
        yield text[:match.start()].count("\n") + 1, match[1].split(), match[2]


def file_of_block(work: pathlib.Path, name: str) -> pathlib.Path | None:
    """Where a page's file is written, always below `work`; None: nowhere, for its name is absolute. The
    /etc/minke.toml of a page must not become the machine's."""
    if name.startswith("/"):
        return None
    path = pathlib.Path(os.path.normpath(work / name.removeprefix("~/")))
    assert path.is_relative_to(work), f"{name} leads out of the page's directory"
    return path


def commands(content: str):
    """(command, expected output) of each command of a console block."""
    pairs = []
    for line in content.splitlines():
        if line.startswith("$ "):
            pairs.append([line[2:], []])
        elif line.startswith("> ") and pairs and not pairs[-1][1]:
            pairs[-1][0] += "\n" + line[2:]
        else:
            pairs[-1][1].append(line)
    return pairs


def pattern_of(expected: list[str]) -> str:
    parts = [r"(?:.*\n)*?" if line.strip() in ("…", "...") else
             re.escape(line.rstrip()).replace("…", ".*?") + r"[ ]*\n" for line in map(at_leisure, expected)]
    return "".join(parts)


def at_leisure(text: str) -> str:
    """What takes no time on a machine at rest takes seconds on a busy one."""
    return re.sub(r"\b0:0\d\b(?!:)", "0:00", text)


class Shell:
    """One bash for all commands of a page. They come through a descriptor of their own, so that none of them reads the
    next one for its input."""
    LOOP = ('while IFS= read -r -d "" -u "$0" command; do eval "$command" </dev/null; code=$?; '
            f'echo; echo {END} $code; done')

    def __init__(self, cluster):
        given, self.commands = os.pipe()
        self.process = subprocess.Popen(["bash", "--norc", "-c", self.LOOP, str(given)], cwd=cluster.work, pass_fds=[given],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        env=cluster.environment | {"HOME": str(cluster.work), "USER": "me"})
        os.close(given)
        # Where the tests run, a real Slurm may be on PATH, which a reader without one need not think of.
        self.run('minke() { if [ "$1" = env ]; then command minke env --over-slurm "${@:2}"; else command minke "$@"; fi; }')

    def run(self, command: str) -> str:
        os.write(self.commands, command.encode() + b"\0")
        text = ""
        for line in self.process.stdout:
            if line.startswith(END):
                code = int(line.split()[1])
                text = text.removesuffix("\n")
                return text + (f"[{code}]\n" if code else "")
            text += line
        raise AssertionError(f"the shell ended during: {command}\n{text}")

    def close(self):
        os.close(self.commands)
        self.process.wait(120)
        self.process.stdout.close()


def daemons_below(directory: pathlib.Path) -> list[int]:
    """Of clusters that a page makes besides the one that the tests close."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = entry.name.isdigit() and (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if words and b"daemon" in words and any(word.startswith(os.fsencode(directory)) for word in words):
            found.append(int(entry.name))
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if page.name not in FOR_DEVELOPERS],
                         ids=lambda page: str(page.relative_to(ROOT)))
def test_examples(page, new_cluster):
    cluster = new_cluster(page.stem)
    (cluster.work / "minke").symlink_to(ROOT)  # where a reader has this repository
    cluster.environment["PATH"] = f"{ROOT / 'build'}:{cluster.environment['PATH']}"
    shell = Shell(cluster)
    try:
        for line, words, content in blocks(page):
            where = f"{page.name}:{line}"
            assert words, f"{where}: a block must say what it is"
            if words[0] in ("bash", "toml", "yaml", "ini", "python") and len(words) == 2:
                if path := file_of_block(cluster.work, words[1]):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content)
            elif words[0] == "console" and words[1:2] != ["skip"]:
                for command, expected in commands(content):
                    printed = shell.run(command)
                    assert re.fullmatch(pattern_of(expected), at_leisure(printed)), \
                        f"{where}: $ {command}\nprinted:\n{printed}\nexpected:\n" + "\n".join(expected)
            else:
                assert words[0] in ("console", "text", "python"), f"{where}: {words} is no kind of block"
                assert words[:2] != ["console", "skip"] or len(words) > 2, f"{where}: why is it not run?"
        poll(lambda: not daemons_below(cluster.work), 10, f"the end of every cluster of {page.name}")
    finally:
        shell.close()


def test_no_file_of_a_page_is_written_outside_of_its_directory(tmp_path):
    """Not one of those that there are, and none with an odd name."""
    for page in PAGES:
        for _, words, _ in blocks(page):
            if words[:1] in (["bash"], ["toml"], ["yaml"], ["ini"], ["python"]) and len(words) == 2:
                path = file_of_block(tmp_path, words[1])
                assert path is None or path.is_relative_to(tmp_path), words[1]
    assert file_of_block(tmp_path, "/etc/minke.toml") is None
    assert file_of_block(tmp_path, "~/a/minke.toml") == tmp_path / "a/minke.toml"
    for name in ("~//etc/minke.toml", "../minke.toml", "~/../minke.toml", "a/../../minke.toml"):
        with pytest.raises(AssertionError):
            file_of_block(tmp_path, name)


def test_there_are_examples():
    assert sum(words[:1] == ["console"] for page in PAGES for _, words, _ in blocks(page)) >= 20


def paragraphs(page: pathlib.Path):
    """(line number, text) of each paragraph, item of a list and cell of a table. Examples are left out."""
    text = FENCE.sub(lambda block: "\n" * block[0].count("\n"), page.read_text())
    begin, lines = 0, []
    for number, line in enumerate([*text.splitlines(), ""], 1):
        line = line.strip()
        new = re.match(r"#+ |- |\d+\. |\||$", line)
        if new and lines:
            yield begin, " ".join(lines)
            lines = []
        if line.startswith("|"):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            # The second column of that page is a list of cases.
            yield from ((number, cell) for cell in (cells[:1] if page.name == "differences.md" else cells))
        elif line:
            begin = number if not lines else begin
            lines.append(line[new.end():] if new else line)


def sentences(text: str):
    """What is in backticks counts as one word, whatever stands in it."""
    text = re.sub(r"``.+?``|`[^`]*`", "Code", text)
    text = re.sub(r"\]\([^)]*\)", "]", text)
    return re.split(r"(?<=[.!?])[)\"*]*\s+(?=[^a-z\s])", text)


def test_sentences_are_short():
    long = [f"{page.name}:{line}: {words} words: {sentence}" for page in PAGES if page.name not in LONG_YET
            for line, text in paragraphs(page) for sentence in sentences(text)
            if (words := len(re.findall(r"\S*\w\S*", sentence))) > MOST_WORDS]
    assert not long, "\n".join(long)


def test_words_of_a_sentence_are_counted():
    assert len(sentences("It ends here. `This` too! Is it (1.5 GB)? Yes.")) == 4
    assert len(sentences("Versions 1.5 e.g. of `a. B. c`, and [a link](x.md#y).")) == 1


def anchors(page: pathlib.Path) -> set[str]:
    """Of its headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere():
    for page in PAGES:
        for target, anchor in re.findall(r"\]\(([^)#]*)(?:#([^)]*))?\)", FENCE.sub("", page.read_text())):
            if not re.match(r"https?://", target):
                there = page.parent / target if target else page
                assert there.exists(), f"{page.name}: {target}"
                assert not anchor or anchor in anchors(there), f"{page.name}: {target}#{anchor}"


def test_every_page_is_named_in_the_readme():
    text = (ROOT / "README.md").read_text()
    assert not [page.name for page in (ROOT / "docs").glob("*.md") if f"(docs/{page.name})" not in text]
    french = ROOT / "docs/fr"
    assert "(docs/fr/index.md)" in text
    assert [page.name for page in french.glob("*.md") if f"({page.name})" not in (french / "index.md").read_text()] == ["index.md"]


def test_commands_named_are_there():
    """./dev commands that the pages name exist."""
    offered = subprocess.run([str(ROOT / "dev"), "help"], capture_output=True, text=True, env=os.environ).stdout
    for page in PAGES:
        for name in re.findall(r"\./dev ([a-z]+)", page.read_text()):
            assert re.search(rf"^  {name}\b", offered, re.MULTILINE), f"{page.name}: ./dev {name}"
