"""Makes a web site of README.md, docs/*.md and docs/fr/*.md, with search and a dark mode: ./dev docs.

The pages stay as they are for who reads them in the repository. This makes copies that MkDocs understands: README.md is the
first page, links lead to pages of the site, and the words behind the backticks of a block (docs are tests, see
tests/test_docs.py) become its language and its title. The menu is README.md's own list of pages.
"""
import argparse
import json
import pathlib
import posixpath
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# A link or an image: "](target)".
LINK = re.compile(r"\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```(\S+)[ \t]+(\S.*)$", re.MULTILINE)
CONFIGURATION = {
    "site_name": "Minke",
    "site_description": "A GPU research cluster in one program, with Slurm's commands",
    "theme": {
        "name": "material",
        "font": False,  # nothing is fetched from elsewhere
        "features": ["navigation.sections", "search.highlight", "content.code.annotate"],
        "palette": [
            {"media": "(prefers-color-scheme: light)", "scheme": "default",
             "toggle": {"icon": "material/weather-night", "name": "dark"}},
            {"media": "(prefers-color-scheme: dark)", "scheme": "slate",
             "toggle": {"icon": "material/weather-sunny", "name": "light"}}]},
    "plugins": ["search"],
    "markdown_extensions": ["tables", "attr_list", {"toc": {"permalink": True}}, "pymdownx.highlight", "pymdownx.superfences"],
}


def block(match: re.Match) -> str:
    """```console skip why: a console. ```toml NAME: a file of that name."""
    language, rest = match[1], match[2]
    return f"```{language}" if language == "console" else f'```{language} title="{rest.split()[0]}"'


def link(page: str, target: str, pages: set[str]) -> str:
    """A link as it is from the site's copy of the page. What is no page of the site stays a name in the repository."""
    if re.match(r"[a-z]+:|#", target):
        return target
    path, _, anchor = target.partition("#")
    base = pathlib.PurePosixPath(page).parent
    parts: list[str] = []
    for part in (base / path).parts:
        parts = parts[:-1] if part == ".." else parts + [part] if part != "." else parts
    inside = "/".join(parts)
    name = {"README.md": "index.md"}.get(inside, inside.removeprefix("docs/"))
    if name not in pages and not name.startswith("pictures/"):
        return f"repository/{inside}" + (f"#{anchor}" if anchor else "")
    here = posixpath.dirname(page.removeprefix("docs/"))
    return posixpath.relpath(name, here or ".") + (f"#{anchor}" if anchor else "")


def menu(readme: str, pages: set[str]) -> list:
    """README.md's lists of pages, by the lines above them; the rest last."""
    sections, current, listed = [{"Minke": ["index.md"]}], None, {"index.md"}
    for line in readme.partition("## What to read next")[2].partition("\n## ")[0].splitlines():
        if line.startswith("For "):
            current = {line.removesuffix(":").removeprefix("For ").split(",")[0].capitalize(): []}
            sections.append(current)
        for target in LINK.findall(line) if line.startswith("- ") else []:
            name = link("README.md", target.partition("#")[0], pages)
            if current is not None and name in pages and name not in listed:
                listed.add(name)
                next(iter(current.values())).append(name)
    rest = sorted(pages - listed)
    return sections + ([{"More": rest}] if rest else [])


def stage(source: pathlib.Path) -> set[str]:
    texts = {"index.md": ("README.md", (ROOT / "README.md").read_text()), "CONTRIBUTING.md": ("README.md", (ROOT / "CONTRIBUTING.md").read_text()),
             "CHANGELOG.md": ("README.md", (ROOT / "CHANGELOG.md").read_text())}
    for path in [*sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/fr").glob("*.md"))]:
        texts[str(path.relative_to(ROOT / "docs"))] = (str(path.relative_to(ROOT)), path.read_text())
    pages = set(texts)
    shutil.copytree(ROOT / "docs/pictures", source / "pictures")
    for name, (page, text) in texts.items():
        text = FENCE.sub(block, text)
        text = LINK.sub(lambda match: f"]({link(page, match[1], pages)})", text)
        # What is in the repository and not on the site is named without a link.
        text = re.sub(r"\[([^\]]+)\]\(repository/([^)#]+)[^)]*\)", r"\1 (`\2`)", text)
        (source / name).parent.mkdir(exist_ok=True)
        (source / name).write_text(text)
    return pages


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", type=pathlib.Path, default=ROOT / "build/site")
    arguments = parser.parse_args()
    source = arguments.output.with_name(arguments.output.name + "-source")
    for directory in (source, arguments.output):
        shutil.rmtree(directory, ignore_errors=True)
    (source / "pages").mkdir(parents=True)
    pages = stage(source / "pages")
    configuration = CONFIGURATION | {"docs_dir": str(source / "pages"), "site_dir": str(arguments.output),
                                     "nav": menu((ROOT / "README.md").read_text(), pages)}
    (source / "mkdocs.yml").write_text(json.dumps(configuration, indent=1))  # JSON is YAML
    done = subprocess.run(["mkdocs", "build", "--strict", "--quiet", "-f", source / "mkdocs.yml"], check=False)
    if done.returncode == 0:
        print(arguments.output / "index.html")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
