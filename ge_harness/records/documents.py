"""The kinds of JSON documents, and the records that say what stands in each.

docs/json.md is made from this table (scripts/update_json_docs.py), and a test holds
real documents against that page. Annotations are read as text: Python 3.7 cannot
evaluate them.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import re
import sys
from dataclasses import dataclass
from typing import Mapping

from ge_harness.records.bisection import Bisection
from ge_harness.records.compare_document import CompareDocument, ComparePair
from ge_harness.records.comparison import TensorComparison
from ge_harness.records.doctor import DoctorReport
from ge_harness.records.experiment import ExperimentReport, ExperimentsDocument
from ge_harness.records.flags import FlagsReport
from ge_harness.records.inspect_asked import InspectAsked
from ge_harness.records.inspect_document import (
    InspectChanges,
    InspectDocument,
    PassesDocument,
)
from ge_harness.records.inspect_parts import HloCounts
from ge_harness.records.pack import PackReport
from ge_harness.records.report import RunReport

_FIELD = re.compile(r"    (?P<name>\w+): (?P<words>.*)")
_MAP = re.compile(r"Mapping\[str, (?P<value>.+)\]")
_LIST = re.compile(r"tuple\[(?P<item>.+), \.\.\.\]")
_TUPLE = re.compile(r"tuple\[(?P<items>.+)\]")
_TYPES = {"str": "text", "int": "integer", "float": "number", "bool": "true or false",
          "None": "null", "object": "any", "Any": "any"}


@dataclass(frozen=True)
class ListDocument:
    """What `list` prints.

    Attributes:
        what: what is listed.
        items: a map for each line, from the heading of a column (blanks as "_") to
            what stands there. subgraphs: name, what_it_is. backends: name, state,
            needs, what_it_is. experiments: name, what_it_tests, state. stages: order,
            stage, component, after, level_1, level_2. passes: family, name, level,
            class, certainty, what_it_does. standards: name, rule, why.
    """

    what: str
    items: tuple[Mapping[str, object], ...]


@dataclass(frozen=True)
class RunsDocument:
    """What `run` prints of several runs.

    Attributes:
        runs: every finished run, as in the kind `run`.
        skipped: a sentence for each run that could not be begun.
    """

    runs: tuple[RunReport, ...]
    skipped: tuple[str, ...]


@dataclass(frozen=True)
class ReportDocument:
    """What `report` prints.

    Attributes:
        report: the page.
        runs: how many runs are on it.
    """

    report: str
    runs: int


@dataclass(frozen=True)
class Kind:
    """One kind of document.

    Attributes:
        name: as in its schema, "ge_harness/<name>/1".
        printed_by: the command that prints it, and the files that hold it.
        record: what stands in it.
    """

    name: str
    printed_by: str
    record: type


KINDS = (
    Kind("list", "`list --json`", ListDocument),
    Kind("run", "`run --json`; also `run.json` in the folder of a run", RunReport),
    Kind("runs", "`run --json` of several runs (`run all`, several backends)",
         RunsDocument),
    Kind("experiment", "`experiment --json`; also `experiment-BACKEND.json` in the "
         "folder of an experiment", ExperimentReport),
    Kind("experiments", "`experiment --json` of several experiments or backends; also "
         "`experiments.json` in the folder of a call", ExperimentsDocument),
    Kind("compare", "`compare --json`", CompareDocument),
    Kind("inspect", "`inspect --json`", InspectDocument),
    Kind("bisect", "`bisect --json`; also `bisect.json` in the folder of a bisection",
         Bisection),
    Kind("passes", "`passes --json`", PassesDocument),
    Kind("flags", "`flags --json`", FlagsReport),
    Kind("doctor", "`doctor --json`; also `doctor.json` in what `pack` makes",
         DoctorReport),
    Kind("report", "`report --json`", ReportDocument),
    Kind("pack", "`pack --json`; also `MANIFEST.json` in the archive", PackReport),
)
# Fields that a document has only sometimes, beside those of its record.
SOMETIMES: Mapping[type, type] = {
    InspectDocument: InspectAsked, InspectChanges: HloCounts,
}
# Records whose undescribed fields mean what they mean in another.
_WORDS_OF: Mapping[type, type] = {ComparePair: TensorComparison}


@dataclass(frozen=True)
class Field:
    """One field of a record, for documentation.

    Attributes:
        name: its key.
        words: what it means.
        kind: its type in words of JSON.
        record: what its value, its items or the values of its map are; None where they
            hold no record.
        choices: the values of an enum, () for others.
    """

    name: str
    words: str
    kind: str
    record: type | None
    choices: tuple[str, ...]


def fields_of(record: type) -> tuple[Field, ...]:
    """Return every field of a record as its docstring explains it.

    Raises:
        KeyError: a field that no docstring explains.
    """
    more = SOMETIMES.get(record)
    return (*_fields(record), *(_fields(more) if more else ()))


def summary(record: type) -> str:
    """Return the first paragraph of a record's docstring in one line."""
    return " ".join((inspect.getdoc(record) or "").split("\n\n")[0].split())


def _fields(record: type) -> list[Field]:
    words = {**_words(_WORDS_OF.get(record, record)),
             **_words(record)}
    found = []
    for field in dataclasses.fields(record):
        text = str(field.type)
        known = [value for value in (_resolve(record, name)
                                     for name in re.findall(r"\w+", text))
                 if value is not None]
        inner = next((value for value in known if not issubclass(value, enum.Enum)),
                     None)
        choices = tuple(str(item.value) for value in known
                        if issubclass(value, enum.Enum) for item in value)
        found.append(Field(field.name, words[field.name],
                           "text" if choices else _spell(text), inner, choices))
    return found


def _words(record: type) -> dict[str, str]:
    """Return field -> words from the docstring of a record."""
    _, _, attributes = (inspect.getdoc(record) or "").partition("Attributes:\n")
    found: dict[str, str] = {}
    last = ""
    for line in attributes.split("\n"):
        match = _FIELD.fullmatch(line)
        if match:
            last = match["name"]
            found[last] = match["words"]
        elif line.strip() and last:
            found[last] += " " + line.strip()
    return found


def _resolve(record: type, name: str) -> type | None:
    """Return the record or enum that a name of an annotation stands for, else None."""
    value = vars(sys.modules[record.__module__]).get(name)
    if isinstance(value, type) and (dataclasses.is_dataclass(value)
                                    or issubclass(value, enum.Enum)):
        return value
    return None


def _spell(text: str) -> str:
    """Return an annotation in words of JSON."""
    parts = _split(text, " | ")
    if len(parts) > 1:
        return " or ".join(_spell(part) for part in parts)
    for pattern, words in ((_MAP, "map of {}"), (_LIST, "list of {}")):
        match = pattern.fullmatch(text)
        if match:
            inner = _spell(match[1])
            return words.format(f"({inner})" if " or " in inner else inner)
    match = _TUPLE.fullmatch(text)
    if match:
        return f"[{', '.join(_spell(part) for part in _split(match[1], ', '))}]"
    return _TYPES.get(text, text)


def _split(text: str, separator: str) -> list[str]:
    """Split where no bracket is open."""
    parts = [""]
    for piece in text.split(separator):
        whole = parts[-1].count("[") == parts[-1].count("]")
        if parts[-1] and whole:
            parts.append(piece)
        else:
            parts[-1] += (separator if parts[-1] else "") + piece
    return parts
