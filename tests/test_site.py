"""The web site of the pages: ./dev docs makes it of the same files."""
import json
import re
import shutil
import subprocess

import pytest

from cluster import ROOT, SYSTEM_PATH

MINKE_ONLY = True


@pytest.mark.skipif(not shutil.which("mkdocs", path=SYSTEM_PATH), reason="mkdocs is not installed")
def test_the_site_has_every_page_search_and_a_dark_mode(tmp_path):
    """--strict: a link that leads nowhere is an error."""
    done = subprocess.run(["/usr/bin/python3", ROOT / "tools/site.py", "--output", tmp_path / "site"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    first = (tmp_path / "site/index.html").read_text()
    assert 'data-md-color-scheme="slate"' in first and "first-job.svg" in first
    for page in (ROOT / "docs").glob("*.md"):
        html = (tmp_path / "site" / page.stem / "index.html").read_text()
        assert not re.search(r"<p>```|console skip", html), page.name
        assert f'href="{page.stem}/"' in first or f'href="./{page.stem}/"' in first, f"{page.name} is not in the menu"
    found = json.loads((tmp_path / "site/search/search_index.json").read_text())
    assert any("minke tail" in one["text"] for one in found["docs"])
    assert not re.search(r'(?:src|href)="https?://(?:fonts|cdn)', first)
