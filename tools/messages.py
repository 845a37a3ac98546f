#!/usr/bin/env python3
"""Brings po/fr.po up to date with the texts that the source marks for translation (src/text/translate.h).

Texts that are new come without a translation; those that are gone go; the rest stays as it is. xgettext reads the same
marks: xgettext --keyword=tr --keyword=marked --keyword=tr_count:1,2.
"""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FRENCH = ROOT / "po/fr.po"
LITERALS = r'((?:"(?:[^"\\]|\\.)*"\s*)+)'
MARK = re.compile(r"\b(?:tr|marked)\(\s*" + LITERALS)
COUNT = re.compile(r"\btr_count\(\s*" + LITERALS + r",\s*" + LITERALS)
HEAD = '''# What Minke's own commands say in French. The source has the English text (src/text/translate.h); tools/messages.py
# brings this list up to date with it.
msgid ""
msgstr ""
"Project-Id-Version: minke\\n"
"Language: fr\\n"
"MIME-Version: 1.0\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Content-Transfer-Encoding: 8bit\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"
'''


def text_of(literals: str) -> str:
    """What C++ makes of string literals, one after the other."""
    return "".join(ast.literal_eval(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', literals))


def marked() -> dict[str, tuple[str | None, list[str]]]:
    """The texts that are marked, in the source's order: their plural, and the files that have them."""
    found: dict[str, tuple[str | None, list[str]]] = {}
    for path in sorted(path for path in (ROOT / "src").rglob("*") if path.suffix in (".cpp", ".h")):
        if path.name.endswith("_test.cpp") or path.parts[-2:-1] == ("text",) and path.stem == "translate":
            continue
        source = re.sub(r"^\s*//.*$", "", path.read_text(), flags=re.M)
        texts = [(match.start(), text_of(match[1]), None) for match in MARK.finditer(source)]
        texts += [(match.start(), text_of(match[1]), text_of(match[2])) for match in COUNT.finditer(source)]
        for _, text, plural in sorted(texts, key=lambda one: one[0]):
            known = found.setdefault(text, (plural, []))
            if plural and known[0] is None:
                found[text] = known = (plural, known[1])
            if str(path.relative_to(ROOT)) not in known[1]:
                known[1].append(str(path.relative_to(ROOT)))
    return found


def translations() -> dict[str, tuple[str, ...]]:
    """Of each text, what FRENCH has: one, or two where there is a plural."""
    found = {}
    for block in re.split(r"\n\s*\n", FRENCH.read_text() if FRENCH.exists() else ""):
        fields = {"msgid": "", "msgstr": "", "msgstr[0]": "", "msgstr[1]": ""}
        name = None
        for line in block.splitlines():
            if line.startswith("#"):
                continue
            if match := re.match(r"(msg\S+) ", line):
                name = match[1]
            if name in fields:
                fields[name] += text_of(line)
        if fields["msgid"]:
            found[fields["msgid"]] = (fields["msgstr[0]"], fields["msgstr[1]"]) if "msgstr[0] " in block else (fields["msgstr"],)
    return found


def quoted(text: str) -> str:
    def one(part: str) -> str:
        return '"' + part.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t") + '"'
    lines = text.splitlines(keepends=True)
    return one(text) if len(lines) <= 1 else '""\n' + "\n".join(map(one, lines))


def entry(text: str, plural: str | None, files: list[str], french: tuple[str, ...]) -> str:
    lines = [f"#: {' '.join(files)}"] + (["#, python-brace-format"] if "{" in text else []) + [f"msgid {quoted(text)}"]
    if plural is None:
        return "\n".join([*lines, f"msgstr {quoted(french[0])}"])
    forms = french if len(french) == 2 else (french[0], french[0])
    return "\n".join([*lines, f"msgid_plural {quoted(plural)}", f"msgstr[0] {quoted(forms[0])}", f"msgstr[1] {quoted(forms[1])}"])


def main() -> int:
    known = translations()
    texts = marked()
    FRENCH.parent.mkdir(exist_ok=True)
    FRENCH.write_text("\n".join([HEAD, *(entry(text, plural, files, known.get(text, ("",))) + "\n"
                                         for text, (plural, files) in texts.items())]))
    missing = [text for text in texts if not any(known.get(text, ()))]
    print(f"{len(texts)} texts, {len(missing)} without French")
    return 0


if __name__ == "__main__":
    sys.exit(main())
