"""What the documentation names exists: files, links, functions, commands."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Files of the op that the recipe writes, and a file that a command makes.
INVENTED = re.compile(r"swish|<|\*|out\.json")
PATH = re.compile(r"`((?:cpp|python|tests|tools|docs|examples)/[\w./<>*-]*)`")
SYMBOL = re.compile(r"`(\w+)(?:\(\))?` (?:in|\() ?`((?:cpp|python|tests|tools)/[\w./]+)`")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_paths_and_links_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    missing = [path for path in PATH.findall(text) if not INVENTED.search(path) and not (ROOT / path).exists()]
    links = re.findall(r"\]\(([\w./-]+)\)", text)
    missing += [link for link in links if not (page.parent / link).exists()]
    assert not missing


def test_symbols_stand_in_the_files_named_with_them():
    found = [pair for page in PAGES for pair in SYMBOL.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 8
    for name, path in found:
        assert name in (ROOT / path).read_text(encoding="utf-8"), f"{path} has no {name}"


def test_commands_run_tools_and_targets_that_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for tool in re.findall(r"python (tools/[\w/]+\.py)", text):
            assert (ROOT / tool).exists(), f"{page.name}: {tool}"
        for target in re.findall(r"\bmake ([a-z-]+)`?", "".join(re.findall(r"`[^`]+`|```sh.*?```", text, re.S))):
            assert re.search(rf"^{target}\b.*:", makefile, re.M), f"{page.name}: make {target}"
