"""What the pages tell a user to type is accepted, and their links lead somewhere."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from ge_harness.cli import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
_COMMAND = re.compile(r"^ *(?:\$ )?python -m ge_harness (.*)$", re.M)
_LINK = re.compile(r"\]\(([^)#:]+)\)")
# Words of a synopsis, which is no command.
_SYNOPSIS = re.compile(r"\[-|\]\.\.\.|\bSTRING$|\bDUMP$|\bNAME$")


def _commands():
    for page in PAGES:
        text = page.read_text(encoding="utf-8").replace("\\\n", " ")
        for line in _COMMAND.findall(text):
            if not _SYNOPSIS.search(line):
                yield pytest.param(line, id=f"{page.name}: {line[:60]}")


COMMANDS = tuple(_commands())


def test_the_pages_hold_commands():
    assert len(COMMANDS) > 30


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_of_a_page_is_accepted(line):
    words = shlex.split(line, comments=True)
    arguments = main._parse(["ge_harness", *words])
    assert arguments.command == words[0]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page):
    for target in _LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_map_names_every_page():
    text = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in PAGES[1:]:
        assert page.name == "README.md" or f"({page.name})" in text
