"""The list of ops in the documentation is the table."""

from __future__ import annotations

import re
from pathlib import Path

from ge_harness.interpreter.table import FAMILIES, OPS

PAGE = Path(__file__).resolve().parents[3] / "docs" / "interpreter.md"


def listed():
    text = PAGE.read_text(encoding="utf-8").split("\n## Ops\n", 1)[1]
    parts = re.split(r"^\*\*(.+)\*\*$", text, flags=re.MULTILINE)
    tables = [part.split("\n\n`Const`")[0] for part in parts[2::2]]
    return {name: set(re.findall(r"`(\w+)`", table))
            for name, table in zip(parts[1::2], tables)}


def test_every_op_stands_in_the_page_under_its_family():
    assert listed() == {name: set(table) for name, table in FAMILIES}


def test_no_op_stands_in_two_families():
    assert sum(len(table) for _, table in FAMILIES) == len(OPS)
