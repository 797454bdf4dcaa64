"""The documents hold exactly the fields that their records explain."""

from __future__ import annotations

import dataclasses
import inspect
from pathlib import Path

import pytest

from ge_harness.catalogue.passes import everything
from ge_harness.cli import passes_command
from ge_harness.inspection.document import document
from ge_harness.inspection.gather import gather
from ge_harness.records import inspect_document as records

DATA = Path(__file__).resolve().parents[2] / "data" / "dumps"


def fields(record):
    return {field.name for field in dataclasses.fields(record)}


@pytest.fixture(scope="module")
def found():
    return document(gather(DATA))


def test_the_document_has_the_fields_of_its_record(found):
    assert set(found) == fields(records.InspectDocument)


def test_every_part_has_the_fields_of_its_record(found):
    assert found["graphs"]
    assert found["kernels"]
    for graph in found["graphs"]:
        assert set(graph) == fields(records.InspectGraph)
        for stage in graph["stages"]:
            assert set(stage) == fields(records.InspectStage)
            extra = {"instructions_added", "instructions_removed"}
            wanted = fields(records.InspectChanges)
            assert set(stage["changes"]) == wanted | (
                extra if stage["format"] == "hlo" and graph["format"] == "hlo"
                and extra <= set(stage["changes"]) else set())
    for each in found["active_passes"]:
        assert set(each) == fields(records.InspectPass)
    for each in found["kernels"]:
        assert set(each) == fields(records.InspectKernel)
    for each in found["warnings"]:
        assert set(each) == fields(records.InspectWarning)


def test_an_entry_of_the_catalogue_has_the_fields_of_its_record():
    entry = passes_command._plain(everything()[0])
    assert set(entry) == fields(records.CatalogueEntry)


def test_every_field_is_explained():
    for _, record in inspect.getmembers(records, dataclasses.is_dataclass):
        for name in fields(record):
            assert f"        {name}: " in record.__doc__
