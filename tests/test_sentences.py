"""The pages are written in short sentences: none has more than 35 words."""
import re

from cluster import ROOT

MOST_WORDS = 35
PAGES = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "python/README.md", "docs/*.md", "docs/fr/*.md"]


def sentences(text: str):
    """Of paragraphs and items of lists; tables and blocks of code have none."""
    text = re.sub(r"^```.*?^```", "", text, flags=re.DOTALL | re.MULTILINE)
    for part in re.split(r"\n\s*\n|\n(?=\s*(?:[-*|#]|\d+\.) )", text):
        if not part.lstrip().startswith("|"):
            yield from re.split(r"(?<=[.!?:])\s+", " ".join(part.split()))


def test_no_sentence_is_long():
    pages = [page for pattern in PAGES for page in ROOT.glob(pattern)]
    assert len(pages) > 20
    long = [f"{page.name}: {len(one.split())} words: {one[:80]}…" for page in pages for one in sentences(page.read_text())
            if len(one.split()) > MOST_WORDS]
    assert not long, "\n".join(long)
